//! Neighbouring loads could be one wide load.
//!
//! ## What it does
//! Finds device loads of one block with the same base and format whose indices are
//! consecutive constants, or the same register and that register plus one, and which
//! move fewer than four components together.
//!
//! ## Why it matters
//! A load moves up to four components for one issue slot. Separate loads take a slot
//! each and a place in the scoreboard, which holds eight per slot.
//!
//! ## What to do
//! Load a `float4` or `half4` through a vector pointer, with the address aligned.
//!
//! ## Gain
//! One issue slot for every load saved.

use super::{Finding, Look, Metric, Severity, finding};
use crate::InsnId;
use crate::cost::number;
use assay_agx::{Field, Instruction, Op, Operand};

/// A load and where it reads, as a base register or nothing plus a constant.
struct Load {
    id: InsnId,
    base: Operand,
    format: u8,
    register: Option<u16>,
    element: i64,
    components: i64,
}

pub(super) fn check(look: &Look<'_>, out: &mut Vec<Finding>) {
    for (_, insns) in look.blocks() {
        let mut loads: Vec<Load> = Vec::new();
        // Registers known to be another register plus a constant.
        let mut sums: Vec<(u16, u16, i64)> = Vec::new();
        for &(id, insn) in &insns {
            if insn.op() == Op::DeviceLoad {
                loads.extend(describe(id, insn, &sums));
            }
            let writes = look.writes(id);
            sums.retain(|&(sum, from, _)| !writes.contains(sum) && !writes.contains(from));
            sums.extend(sum_of(insn));
            // What a load reads from is another place once its index changed.
            loads.retain_mut(|load| {
                load.register.is_none_or(|half| !writes.contains(half)) || load.id == id
            });
            if matches!(
                insn.op(),
                Op::DeviceStore | Op::Atomic | Op::ThreadgroupBarrier | Op::MemoryBarrier
            ) {
                report(look, &mut loads, out);
            }
        }
        report(look, &mut loads, out);
    }
}

fn describe(id: InsnId, insn: &Instruction, sums: &[(u16, u16, i64)]) -> Option<Load> {
    let access = insn.memory()?;
    let (register, element) = match access.index {
        Operand::Imm(value) => (None, value),
        Operand::Reg(reg) => match sums.iter().find(|(sum, ..)| *sum == reg.half) {
            Some(&(_, from, plus)) => (Some(from), plus),
            None => (Some(reg.half), 0),
        },
        _ => return None,
    };
    // Contiguous components only, and no scaled index.
    if access.shift != 0 || access.mask.count_ones() != access.mask.trailing_ones() {
        return None;
    }
    Some(Load {
        id,
        base: access.base,
        format: access.format?.code(),
        register,
        element,
        components: i64::from(access.components()),
    })
}

fn sum_of(insn: &Instruction) -> Option<(u16, u16, i64)> {
    if insn.op() != Op::Iadd || insn.get_int(Field::Shift).is_some_and(|shift| shift != 0) {
        return None;
    }
    let dest = insn.dest()?.reg()?;
    let (reg, plus) = match (insn.source(0)?, insn.source(1)?) {
        (Operand::Reg(reg), Operand::Imm(plus)) | (Operand::Imm(plus), Operand::Reg(reg)) => {
            (reg, plus)
        }
        _ => return None,
    };
    (dest.half != reg.half).then_some((dest.half, reg.half, plus))
}

fn report(look: &Look<'_>, loads: &mut Vec<Load>, out: &mut Vec<Finding>) {
    let mut rest = std::mem::take(loads);
    rest.sort_by_key(|load| (load.format, load.register, load.element));
    let mut saved = 0;
    let mut touched: Vec<InsnId> = Vec::new();
    let mut at = 0;
    while let Some(first) = rest.get(at) {
        let mut width = first.components;
        let mut next = at + 1;
        while let Some(load) = rest.get(next)
            && load.base == first.base
            && load.format == first.format
            && load.register == first.register
            && load.element == first.element + width
            && width + load.components <= 4
        {
            width += load.components;
            next += 1;
        }
        if next - at > 1 {
            saved += next - at - 1;
            touched.extend(rest.iter().skip(at).take(next - at).map(|load| load.id));
        }
        at = next;
    }
    touched.sort();
    let (Some(&first), Some(&last)) = (touched.first(), touched.last()) else {
        return;
    };
    let gain: f64 = saved as f64 * look.issue(first) * look.weight(first);
    let message = format!(
        "{} loads of neighbouring elements could be {}; {} issue slots less",
        touched.len(),
        touched.len() - saved,
        number(gain)
    );
    out.push(finding(
        look,
        Severity::Medium,
        (first, last),
        message,
        Some((Metric::Issue, gain)),
    ));
}
