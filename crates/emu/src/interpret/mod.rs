//! The interpreter: runs a simdgroup until it ends, waits for others, or fails.
//!
//! One function holds the loop and every hot operation, inlined. It is compiled twice,
//! for any processor and for one with AVX2 and FMA, so that a row of 32 lanes is four
//! vector instructions and a fused multiply-add is one.

mod arithmetic;
mod calls;
mod checks;
mod mask;
mod rare;

use crate::arith;
use crate::counts::CountTable;
use crate::device::DeviceMemory;
use crate::fault::FaultKind;
use crate::lower::Lowered;
use crate::nesting::Misuse;
use crate::op::{Arith, BitField, MicroOp, NOWHERE, OpIndex, Operation};
use crate::ops::access::GroupMemory;
use crate::ops::float::{write_halves, write_singles};
use crate::ops::{compare, integer};
use crate::poison::BadRead;
use crate::simdgroup::{Simdgroup, write_lanes};
use crate::trace::Tracer;
use crate::uniforms::Uniforms;
use checks::{check, check_select, suspend};
use mask::mask_operation;
pub(crate) use mask::nesting_fault;
use rare::rare;

/// The world around a simdgroup.
#[derive(Debug)]
pub(crate) struct Machine<'a> {
    pub(crate) code: &'a Lowered,
    pub(crate) device: &'a DeviceMemory,
    pub(crate) group: GroupMemory,
    /// The uniforms, while the constant program may still write them.
    pub(crate) uniforms: Option<&'a mut Uniforms>,
    pub(crate) counts: Option<CountTable>,
    pub(crate) tracer: Option<Tracer>,
    pub(crate) max_steps: u64,
    pub(crate) strict: bool,
}

/// Why the interpreter came back.
#[derive(Debug)]
pub(crate) enum Exit {
    /// The simdgroup has ended.
    Stopped,
    /// It waits at a barrier.
    Barrier,
    /// Its turn is over.
    Paused,
    /// The constant program has set a uniform.
    UniformsChanged,
    /// It has failed at an operation.
    Failed(Box<Failure>),
}

/// A failure, with operations instead of texts.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) op: OpIndex,
    pub(crate) lane: Option<u32>,
    pub(crate) trouble: Trouble,
}

/// What failed.
#[derive(Debug)]
pub(crate) enum Trouble {
    Fault(FaultKind),
    BadRead(BadRead),
    PendingWrite(BadRead),
    Nesting(Misuse),
}

/// Runs `simdgroup` for at most `turn` instructions.
pub(crate) fn run(simdgroup: &mut Simdgroup, machine: &mut Machine<'_>, turn: u64) -> Exit {
    #[cfg(target_arch = "x86_64")]
    if crate::host::has_avx2_and_fma() {
        // SAFETY: the processor has the features the function is compiled for.
        return unsafe { run_avx2(simdgroup, machine, turn) };
    }
    run_anywhere(simdgroup, machine, turn)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn run_avx2(simdgroup: &mut Simdgroup, machine: &mut Machine<'_>, turn: u64) -> Exit {
    if machine.strict {
        run_loop::<true>(simdgroup, machine, turn)
    } else {
        run_loop::<false>(simdgroup, machine, turn)
    }
}

fn run_anywhere(simdgroup: &mut Simdgroup, machine: &mut Machine<'_>, turn: u64) -> Exit {
    if machine.strict {
        run_loop::<true>(simdgroup, machine, turn)
    } else {
        run_loop::<false>(simdgroup, machine, turn)
    }
}

#[cold]
fn failed(op: OpIndex, lane: Option<u32>, trouble: Trouble) -> Exit {
    Exit::Failed(Box::new(Failure { op, lane, trouble }))
}

/// What an operation did to control.
enum Next {
    /// On to the next operation.
    On,
    /// To this one.
    To(OpIndex),
    Leave(Exit),
}

#[inline(always)]
fn run_loop<const STRICT: bool>(
    simdgroup: &mut Simdgroup,
    machine: &mut Machine<'_>,
    turn: u64,
) -> Exit {
    let code = machine.code;
    let watched = machine.counts.is_some() || machine.tracer.is_some();
    let end = simdgroup.steps.saturating_add(turn).min(machine.max_steps);
    loop {
        let index = simdgroup.pc;
        let Some(op) = code.ops.get(index as usize) else {
            return failed(index, None, Trouble::Fault(FaultKind::RanOffTheEnd));
        };
        if simdgroup.steps >= end {
            return pause(simdgroup, machine.max_steps, index);
        }
        simdgroup.steps += 1;
        simdgroup.lane_steps += u64::from(simdgroup.exec.count_ones());
        if STRICT
            && !op.touches.checks_itself
            && let Some(exit) = check(simdgroup, op, index)
        {
            return exit;
        }
        if watched {
            watch(simdgroup, machine, op, index);
        }
        simdgroup.pc = index + 1;
        let active = simdgroup.exec;
        match execute::<STRICT>(simdgroup, machine, op, index) {
            Next::On => {
                if STRICT {
                    simdgroup.poison.retire(&op.touches, active, index);
                    suspend(simdgroup, op, active, index);
                }
            }
            Next::To(target) => simdgroup.pc = target,
            Next::Leave(exit) => return exit,
        }
        if watched && let Some(tracer) = &mut machine.tracer {
            tracer.after(simdgroup, op);
        }
    }
}

#[cold]
fn pause(simdgroup: &Simdgroup, max_steps: u64, index: OpIndex) -> Exit {
    if simdgroup.steps < max_steps {
        return Exit::Paused;
    }
    let kind = FaultKind::TooManySteps { limit: max_steps };
    failed(index, None, Trouble::Fault(kind))
}

#[inline(never)]
fn watch(simdgroup: &Simdgroup, machine: &mut Machine<'_>, op: &MicroOp, index: OpIndex) {
    if let Some(counts) = &mut machine.counts {
        counts.add(simdgroup, op, index);
    }
    if let Some(tracer) = &mut machine.tracer {
        tracer.before(simdgroup, op);
    }
}

#[inline(always)]
fn execute<const STRICT: bool>(
    simdgroup: &mut Simdgroup,
    machine: &mut Machine<'_>,
    op: &MicroOp,
    index: OpIndex,
) -> Next {
    match op.operation {
        Operation::Fma {
            to,
            a,
            b,
            c,
            saturate,
        } => {
            write_singles!(simdgroup, to, [a, b, c], saturate, |a, b, c| arith::fma(
                a, b, c
            ));
        }
        Operation::Float {
            op: Arith::Add,
            to,
            a,
            b,
            saturate,
        } => {
            write_singles!(simdgroup, to, [a, b, b], saturate, |a, b, _c| arith::add(
                a, b
            ));
        }
        Operation::Float {
            op: Arith::Mul,
            to,
            a,
            b,
            saturate,
        } => {
            write_singles!(simdgroup, to, [a, b, b], saturate, |a, b, _c| arith::mul(
                a, b
            ));
        }
        Operation::Move { to, a } => {
            let a = simdgroup.operand(a, 0);
            write_lanes!(simdgroup, to, [a, a, a], |a, _b, _c| a);
        }
        Operation::Add {
            to,
            a,
            b,
            shift,
            negate,
        } => {
            let (a, b) = (simdgroup.operand(a, 0), simdgroup.operand(b, 1));
            if shift == 0 && !negate {
                write_lanes!(simdgroup, to, [a, b, b], |a, b, _c| a.wrapping_add(b));
            } else {
                write_lanes!(simdgroup, to, [a, b, b], |a, b, _c| {
                    a.wrapping_add(integer::term(b, shift, negate))
                });
            }
        }
        Operation::MulAdd {
            to,
            a,
            b,
            c,
            shift,
            negate,
        } => {
            let (a, b) = (simdgroup.operand(a, 0), simdgroup.operand(b, 1));
            let c = simdgroup.operand(c, 2);
            write_lanes!(simdgroup, to, [a, b, c], |a, b, c| {
                a.wrapping_mul(b)
                    .wrapping_add(integer::term(c, shift, negate))
            });
        }
        Operation::Bitwise { to, a, b, table } => {
            let (a, b) = (simdgroup.operand(a, 0), simdgroup.operand(b, 1));
            let masks = integer::truth_masks(table);
            write_lanes!(simdgroup, to, [a, b, b], |a, b, _c| integer::bitwise(
                masks, a, b
            ));
        }
        Operation::Field {
            op: BitField::Insert,
            to,
            a,
            b,
            c,
            mask,
        } => {
            let (a, b) = (simdgroup.operand(a, 0), simdgroup.operand(b, 1));
            let c = simdgroup.operand(c, 2);
            write_lanes!(simdgroup, to, [a, b, c], |a, b, c| {
                integer::field(BitField::Insert, a, b, c & 0x7f, mask)
            });
        }
        Operation::Field {
            op: BitField::Extract,
            to,
            a,
            b,
            c,
            mask,
        } => {
            let (a, b) = (simdgroup.operand(a, 0), simdgroup.operand(b, 1));
            let c = simdgroup.operand(c, 2);
            write_lanes!(simdgroup, to, [a, b, c], |a, b, c| {
                integer::field(BitField::Extract, a, b, c & 0x7f, mask)
            });
        }
        Operation::Select {
            to,
            condition,
            compared,
            x,
            y,
        } => {
            compare::compare(simdgroup, condition, compared);
            if STRICT && let Some(exit) = check_select(simdgroup, op, index) {
                return Next::Leave(exit);
            }
            let (x, y) = (simdgroup.operand(x, 0), simdgroup.operand(y, 1));
            write_lanes!(simdgroup, to, [simdgroup.outcome(), x, y], |holds, x, y| {
                x & holds | y & !holds
            });
        }
        Operation::Half {
            op: Arith::Add,
            to,
            a,
            b,
            saturate,
        } => {
            write_halves!(simdgroup, to, [a, b, b], saturate, |a, b, _c| {
                arith::half_add(a, b)
            });
        }
        Operation::Half {
            op: Arith::Mul,
            to,
            a,
            b,
            saturate,
        } => {
            write_halves!(simdgroup, to, [a, b, b], saturate, |a, b, _c| {
                arith::half_mul(a, b)
            });
        }
        Operation::HalfFma {
            to,
            a,
            b,
            c,
            saturate,
        } => {
            write_halves!(simdgroup, to, [a, b, c], saturate, |a, b, c| {
                arith::half_fma(a, b, c)
            });
        }
        Operation::If { .. }
        | Operation::Else { .. }
        | Operation::While { .. }
        | Operation::Pop { .. } => {
            return match mask_operation::<STRICT>(simdgroup, op, index) {
                Ok(()) => Next::On,
                Err(exit) => Next::Leave(exit),
            };
        }
        Operation::JumpIfAny { target, to } => return jump(simdgroup.exec != 0, target, to, index),
        Operation::JumpIfNone { target, to } => {
            return jump(simdgroup.exec == 0, target, to, index);
        }
        _ => return rare::<STRICT>(simdgroup, machine, op, index),
    }
    Next::On
}

#[inline(always)]
fn jump(taken: bool, target: OpIndex, to: i64, index: OpIndex) -> Next {
    match (taken, target) {
        (false, _) => Next::On,
        (true, NOWHERE) => {
            let kind = FaultKind::NoInstruction { target: to };
            Next::Leave(failed(index, None, Trouble::Fault(kind)))
        }
        (true, target) => Next::To(target),
    }
}
