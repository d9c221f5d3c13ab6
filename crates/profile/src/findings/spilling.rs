//! Registers are spilled to the stack.
//!
//! ## What it does
//! Finds `stack_load` and `stack_store`: values that did not fit into registers, or
//! arrays indexed with a value that is not a constant.
//!
//! ## Why it matters
//! The stack lies in device memory. Each access moves 32 lanes' worth of bytes and a
//! load stalls like any other.
//!
//! ## What to do
//! Keep fewer values alive at once: split the kernel, shrink tiles per thread, use
//! half-precision. Index private arrays with constants (unrolled loops) or put them in
//! threadgroup memory.
//!
//! ## Gain
//! The memory-unit cycles of the stack accesses.

use super::{Finding, Look, Metric, Severity, does, finding};
use crate::cost::number;
use assay_agx::Op;

pub(super) fn check(look: &Look<'_>, out: &mut Vec<Finding>) {
    let accesses: Vec<_> = look
        .executed()
        .filter(|(_, insn)| matches!(insn.op(), Op::StackLoad | Op::StackStore))
        .map(|(id, _)| id)
        .collect();
    let (Some(&first), Some(&last)) = (accesses.first(), accesses.last()) else {
        return;
    };
    let cycles: f64 = accesses
        .iter()
        .map(|&id| look.cycles(id) * look.weight(id))
        .sum();
    let in_loop = accesses.iter().any(|&id| {
        let block = look.main().cfg.block_of(id);
        block.is_some_and(|block| look.main().loop_nest.depth(block) > 0)
    });
    let severity = match in_loop {
        true => Severity::High,
        false => Severity::Medium,
    };
    let message = format!(
        "{}{} {} {} memory-unit cycles' worth of data",
        match accesses.len() {
            1 => "1 stack access".to_owned(),
            count => format!("{count} stack accesses"),
        },
        if in_loop { ", some in a loop," } else { "" },
        does(accesses.len(), "moves"),
        number(cycles)
    );
    let gain = Some((Metric::Memory, cycles));
    out.push(finding(look, severity, (first, last), message, gain));
}
