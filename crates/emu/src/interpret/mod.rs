//! The interpreter: runs a simdgroup until it ends, waits for others, or fails.
//!
//! One function holds the loop and every hot operation, inlined. It is compiled twice,
//! for any processor and for one with AVX2, FMA and F16C, so that a row of 32 lanes is four
//! vector instructions, a fused multiply-add is one, and so is a conversion of halves.

mod arithmetic;
mod calls;
mod checks;
mod hot;
mod mask;
mod rare;
#[cfg(test)]
mod same_bits;

use crate::counts::CountTable;
use crate::device::DeviceMemory;
use crate::fault::FaultKind;
use crate::host::vectorised;
use crate::lower::Lowered;
use crate::nesting::Misuse;
use crate::observe::{Observer, Step};
use crate::op::{MicroOp, NOWHERE, OpIndex, Operation};
use crate::ops::access::GroupMemory;
use crate::ops::compare;
use crate::poison::BadRead;
use crate::simdgroup::{Simdgroup, write_lanes};
use crate::trace::Tracer;
use crate::uniforms::Uniforms;
use arithmetic::rare_arithmetic;
use checks::{check, check_select};
use hot::hot_arithmetic;
use mask::mask_operation;
pub(crate) use mask::nesting_fault;
use rare::rare;

/// The world around a simdgroup.
pub(crate) struct Machine<'a> {
    pub(crate) code: &'a Lowered,
    pub(crate) device: &'a DeviceMemory,
    pub(crate) group: GroupMemory,
    /// The uniforms, while the constant program may still write them.
    pub(crate) uniforms: Option<&'a mut Uniforms>,
    pub(crate) counts: Option<CountTable>,
    pub(crate) tracer: Option<Tracer>,
    pub(crate) observer: Option<&'a mut dyn Observer>,
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
    let watched =
        machine.counts.is_some() || machine.tracer.is_some() || machine.observer.is_some();
    match (machine.strict, watched) {
        (true, true) => run_on_host::<true, true>(simdgroup, machine, turn),
        (true, false) => run_on_host::<true, false>(simdgroup, machine, turn),
        (false, true) => run_on_host::<false, true>(simdgroup, machine, turn),
        (false, false) => run_on_host::<false, false>(simdgroup, machine, turn),
    }
}

fn run_on_host<const STRICT: bool, const WATCHED: bool>(
    simdgroup: &mut Simdgroup,
    machine: &mut Machine<'_>,
    turn: u64,
) -> Exit {
    if crate::host::has_vectors() {
        run_compiled::<true, STRICT, WATCHED>(simdgroup, machine, turn)
    } else {
        run_compiled::<false, STRICT, WATCHED>(simdgroup, machine, turn)
    }
}

vectorised! {
    fn run_compiled<STRICT, WATCHED>(
        simdgroup: &mut Simdgroup,
        machine: &mut Machine<'_>,
        turn: u64,
    ) -> Exit = run_loop;
}

#[cold]
fn failed(op: OpIndex, lane: Option<u32>, trouble: Trouble) -> Exit {
    Exit::Failed(Box::new(Failure { op, lane, trouble }))
}

/// What an operation did to control.
enum Next {
    /// On to the next operation.
    On,
    /// On to the next operation; what this one wrote is there once `slot` is waited for.
    OnceWaited {
        slot: u8,
    },
    /// To this one.
    To(OpIndex),
    Leave(Exit),
}

#[inline(always)]
fn run_loop<const VECTOR: bool, const STRICT: bool, const WATCHED: bool>(
    simdgroup: &mut Simdgroup,
    machine: &mut Machine<'_>,
    turn: u64,
) -> Exit {
    let code = machine.code;
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
        simdgroup.lane_steps += simdgroup.active_lanes;
        if STRICT
            && !op.touches.checks_itself
            && let Some(exit) = check(simdgroup, op, index)
        {
            return exit;
        }
        let turn_over = WATCHED && watch(simdgroup, machine, op, index);
        simdgroup.pc = index + 1;
        let active = simdgroup.exec;
        let next = execute::<VECTOR, STRICT>(simdgroup, machine, op, index);
        if STRICT && let Next::On | Next::OnceWaited { .. } = next {
            simdgroup.poison.retire(&op.touches, active, index);
        }
        match next {
            Next::On => {}
            Next::OnceWaited { slot } => {
                if STRICT {
                    let poison = &mut simdgroup.poison;
                    poison.suspend(op.touches.writes(), active, index, slot);
                }
            }
            Next::To(target) => simdgroup.pc = target,
            Next::Leave(exit) => return exit,
        }
        if WATCHED && let Some(tracer) = &mut machine.tracer {
            tracer.after(simdgroup, op);
        }
        if turn_over {
            return Exit::Paused;
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

/// Tells everyone who watches. Returns true if the simdgroup's turn ends after `op`.
#[inline(never)]
fn watch(simdgroup: &Simdgroup, machine: &mut Machine<'_>, op: &MicroOp, index: OpIndex) -> bool {
    if let Some(counts) = &mut machine.counts {
        counts.add(simdgroup, op, index);
    }
    if let Some(tracer) = &mut machine.tracer {
        tracer.before(simdgroup, op);
    }
    let is_part = op.operation.is_part();
    match &mut machine.observer {
        Some(observer) if !is_part => observer.step(&Step::new(simdgroup, op)),
        _ => false,
    }
}

#[inline(always)]
fn execute<const VECTOR: bool, const STRICT: bool>(
    simdgroup: &mut Simdgroup,
    machine: &mut Machine<'_>,
    op: &MicroOp,
    index: OpIndex,
) -> Next {
    match op.operation {
        Operation::If { .. }
        | Operation::Else { .. }
        | Operation::While { .. }
        | Operation::Pop { .. } => match mask_operation::<VECTOR, STRICT>(simdgroup, op, index) {
            Ok(()) => Next::On,
            Err(exit) => Next::Leave(exit),
        },
        Operation::JumpIfAny { target, to } => jump(simdgroup.exec != 0, target, to, index),
        Operation::JumpIfNone { target, to } => jump(simdgroup.exec == 0, target, to, index),
        Operation::Select {
            to,
            condition,
            compared,
            x,
            y,
        } => {
            compare::compare::<VECTOR>(simdgroup, condition, compared);
            if STRICT && let Some(exit) = check_select(simdgroup, op, index) {
                return Next::Leave(exit);
            }
            let (x, y) = (simdgroup.operand(x, 0), simdgroup.operand(y, 1));
            write_lanes!(simdgroup, to, [simdgroup.outcome(), x, y], |holds, x, y| {
                x & holds | y & !holds
            });
            Next::On
        }
        _ if hot_arithmetic::<VECTOR>(simdgroup, op) => Next::On,
        Operation::Unary { .. } | Operation::ToFloat { .. } | Operation::FromFloat { .. } => {
            rare_arithmetic::<VECTOR>(simdgroup, op);
            Next::On
        }
        _ => rare::<VECTOR, STRICT>(simdgroup, machine, op, index),
    }
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
