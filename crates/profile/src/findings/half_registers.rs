//! Half-precision values are widened for nothing.
//!
//! ## What it does
//! Finds single-precision arithmetic whose register operands are all 16 bits wide and
//! whose result is 32 bits wide.
//!
//! ## Why it matters
//! The operands have half precision already. A 16-bit result takes half a register,
//! and fewer registers let more threads fit; the arithmetic itself is as fast.
//!
//! ## What to do
//! Keep intermediate values in `half` where their range and error allow it; keep long
//! sums in `float`.
//!
//! ## Gain
//! The half-registers saved where most registers are live.

use super::{Finding, Look, Metric, Severity, counted, does, finding};
use crate::InsnId;
use assay_agx::{Class, Instruction, Op, Operand, Width};

pub(super) fn check(look: &Look<'_>, out: &mut Vec<Finding>) {
    let found: Vec<InsnId> = look
        .executed()
        .filter(|(_, insn)| widens(insn))
        .map(|(id, _)| id)
        .collect();
    let (Some(&first), Some(&last)) = (found.first(), found.last()) else {
        return;
    };
    let peak = look.main().peak_half_registers;
    // Results alive where pressure peaks: from their definition to their last use.
    let at_peak = found.iter().filter(|&&id| spans_peak(look, id)).count();
    // One may be the widening that was wanted.
    if at_peak < 2 {
        return;
    }
    let message = format!(
        "{} {} on half-precision values only; {at_peak} of the results {} live at the peak of {peak} \
         half-registers",
        counted(found.len(), "single-precision operation"),
        does(found.len(), "works"),
        if at_peak == 1 { "is" } else { "are" }
    );
    let gain = Some((Metric::HalfRegisters, at_peak as f64));
    out.push(finding(look, Severity::Low, (first, last), message, gain));
}

fn widens(insn: &Instruction) -> bool {
    if insn.class() != Class::Float32 {
        return false;
    }
    // Adding zero is how a half becomes a float on purpose.
    let zero =
        |operand: Operand| matches!(operand, Operand::Float(value, _) if value.to_f32() == 0.0);
    if insn.op() == Op::Fadd32 && insn.sources().any(zero) {
        return false;
    }
    let wide = |operand: Operand| operand.reg().is_some_and(|reg| reg.width == Width::W32);
    let mut registers = 0;
    for operand in insn.sources() {
        match operand {
            Operand::Reg(_) if wide(operand) => return false,
            Operand::Uniform(uniform) if uniform.width != Width::W16 => return false,
            Operand::Reg(_) => registers += 1,
            _ => {}
        }
    }
    registers > 0 && insn.dest().is_some_and(wide)
}

/// Whether a result is still needed at the peak, looking ahead in its block.
fn spans_peak(look: &Look<'_>, id: InsnId) -> bool {
    let main = look.main();
    let block = main.cfg.block_of(id);
    let Some(block) = block.and_then(|block| main.cfg.block(block)) else {
        return false;
    };
    let result = look.writes(id);
    let mut last_use = id;
    for next in block.ids().filter(|&next| next > id) {
        if look.insn(next).is_none() {
            break;
        }
        if look.reads(next).intersects(&result) {
            last_use = next;
        }
        if look.writes(next).intersects(&result) {
            break;
        }
    }
    let peak = main.peak_half_registers;
    block
        .ids()
        .any(|at| at > id && at <= last_use && main.liveness.at(at) == peak)
}
