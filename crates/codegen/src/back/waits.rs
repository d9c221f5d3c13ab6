//! Waits for what memory delivers late.

use super::machine::{Code, Machine};
use assay_agx::{Field, Op, Operand};

/// More than this must not be outstanding in one slot.
const OUTSTANDING: u32 = 8;

/// Puts a wait after everything asynchronous that delivers something.
pub(crate) fn insert_waits(code: &mut Code) {
    let mut outstanding = 0;
    for block in code.iter_mut() {
        let mut out = Vec::with_capacity(block.len());
        for mut inst in block.drain(..) {
            let asynchronous = inst.is_asynchronous();
            if asynchronous {
                inst.operands.push((Field::Slot, Operand::Imm(0)));
                outstanding += 1;
            }
            let delivers = asynchronous && !inst.writes.is_empty();
            let fence = matches!(inst.op, Op::ThreadgroupBarrier | Op::MemoryBarrier);
            if fence && outstanding != 0 {
                out.push(wait(0, &inst));
                outstanding = 0;
            }
            let drain = delivers || outstanding >= OUTSTANDING;
            let after = drain.then(|| wait(0, &inst));
            out.push(inst);
            if let Some(wait) = after {
                out.push(wait);
                outstanding = 0;
            }
        }
        *block = out;
    }
}

fn wait(slot: u8, cause: &Machine) -> Machine {
    Machine::new(Op::Wait, cause.loc).with(Field::Slot, Operand::Imm(i64::from(slot)))
}
