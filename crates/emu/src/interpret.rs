//! The interpreter: runs a simdgroup until it ends, waits for others, or fails.
//!
//! One function holds the loop and every hot operation, inlined. It is compiled twice,
//! for any processor and for one with AVX2 and FMA, so that a row of 32 lanes is four
//! vector instructions and a fused multiply-add is one.

use crate::arith;
use crate::counts::CountTable;
use crate::device::DeviceMemory;
use crate::fault::{FaultKind, Memory, NestingFault};
use crate::lower::Lowered;
use crate::nesting::Misuse;
use crate::op::{
    Arith, BitField, Compared, Dest, Extend, FloatSource, MatrixSource, MicroOp, NOWHERE, OpIndex,
    Operation, POOL, Part, Row, Source, Touch, WideSource,
};
use crate::ops::access::{self, GroupMemory, LaneFault};
use crate::ops::float::{write_halves, write_singles};
use crate::ops::integer::{Product, WideRow};
use crate::ops::{compare, float, integer, lanes, special};
use crate::poison::BadRead;
use crate::simdgroup::{CallFrame, Simdgroup, write_lanes};
use crate::trace::Tracer;
use crate::uniforms::Uniforms;
use assay_agx::{Condition, Scope};

/// How deep calls may nest.
const MAX_CALLS: usize = 1 << 14;

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

/// Marks what a load is still to deliver.
#[inline(always)]
fn suspend(simdgroup: &mut Simdgroup, op: &MicroOp, active: u32, index: OpIndex) {
    if let Operation::DeviceLoad { slot, .. } | Operation::DeviceAtomic { slot, .. } = op.operation
    {
        let poison = &mut simdgroup.poison;
        poison.suspend(op.touches.writes(), active, index, slot);
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

#[inline(always)]
fn check(simdgroup: &Simdgroup, op: &MicroOp, index: OpIndex) -> Option<Exit> {
    let poison = &simdgroup.poison;
    if !poison.all_good(op.touches.reads(), simdgroup.exec) {
        return bad_read(simdgroup, op.touches.reads(), simdgroup.exec, index);
    }
    if poison.any_pending() {
        return bad_write(simdgroup, op, index);
    }
    None
}

#[cold]
fn bad_read(simdgroup: &Simdgroup, reads: &[Touch], lanes: u32, index: OpIndex) -> Option<Exit> {
    let bad = simdgroup.poison.first_bad(reads, lanes)?;
    Some(failed(index, Some(bad.lane), Trouble::BadRead(bad)))
}

#[inline(never)]
fn bad_write(simdgroup: &Simdgroup, op: &MicroOp, index: OpIndex) -> Option<Exit> {
    let writes = op.touches.writes();
    let bad = simdgroup.poison.first_pending(writes, simdgroup.exec)?;
    Some(failed(index, Some(bad.lane), Trouble::PendingWrite(bad)))
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

/// All ones where a comparison holds.
#[inline(always)]
fn holds(simdgroup: &Simdgroup, condition: Condition, compared: Compared) -> Row {
    compare::compare(simdgroup, condition, compared);
    simdgroup.outcome_row()
}

/// The register halves of a source, if it is one.
fn touch(source: Source) -> Option<Touch> {
    (source.row < POOL).then_some(Touch {
        row: source.row as u8,
        halves: match source.part {
            Part::Whole => 0b11,
            Part::Low | Part::LowSigned => 0b01,
            Part::High | Part::HighSigned => 0b10,
        },
    })
}

/// A select reads of its two values, in each lane, only the one it takes.
#[inline(always)]
fn check_select(simdgroup: &Simdgroup, op: &MicroOp, index: OpIndex) -> Option<Exit> {
    if simdgroup
        .poison
        .all_good(op.touches.reads(), simdgroup.exec)
    {
        return match simdgroup.poison.any_pending() {
            true => bad_write(simdgroup, op, index),
            false => None,
        };
    }
    check_select_lanes(simdgroup, op, index)
}

#[cold]
fn check_select_lanes(simdgroup: &Simdgroup, op: &MicroOp, index: OpIndex) -> Option<Exit> {
    let Operation::Select { compared, x, y, .. } = op.operation else {
        return None;
    };
    let compared = match compared {
        Compared::Int(a, b) => [a, b],
        Compared::Float(a, b) => [a.source, b.source],
    };
    for touched in compared.into_iter().filter_map(touch) {
        let found = bad_read(simdgroup, &[touched], simdgroup.exec, index);
        if found.is_some() {
            return found;
        }
    }
    let chosen = compare::to_bits(&simdgroup.outcome_row());
    for (source, lanes) in [(x, chosen), (y, !chosen)] {
        if let Some(touched) = touch(source) {
            let found = bad_read(simdgroup, &[touched], simdgroup.exec & lanes, index);
            if found.is_some() {
                return found;
            }
        }
    }
    bad_write(simdgroup, op, index)
}

fn nesting(index: OpIndex, misuse: Misuse) -> Exit {
    failed(index, None, Trouble::Nesting(misuse))
}

/// The execution-mask stack: every thread's counter in `r0l`, and who is active.
fn mask_operation<const STRICT: bool>(
    simdgroup: &mut Simdgroup,
    op: &MicroOp,
    index: OpIndex,
) -> Result<(), Exit> {
    const COUNTER: Touch = Touch { row: 0, halves: 1 };
    let exists = simdgroup.exists;
    if STRICT && let Some(exit) = unread(simdgroup, &[COUNTER], exists, index) {
        return Err(exit);
    }
    let counters = simdgroup.row(0).map(|word| word & 0xffff);
    let lanes_with = |wanted: &dyn Fn(u32) -> bool| {
        compare::to_bits(&counters.map(|counter| u32::from(wanted(counter)))) & exists
    };
    let asked = |simdgroup: &Simdgroup, condition, compared, lanes| {
        if STRICT && let Some(exit) = unread(simdgroup, op.touches.reads(), lanes, index) {
            return Err(exit);
        }
        Ok(holds(simdgroup, condition, compared))
    };
    let opened = |result: Result<(), Misuse>| match result {
        Err(misuse) if STRICT => Err(nesting(index, misuse)),
        _ => Ok(()),
    };
    let new = match op.operation {
        Operation::If {
            condition,
            compared,
            levels,
        } => {
            let holds = asked(simdgroup, condition, compared, lanes_with(&|v| v == 0))?;
            let can_fail = op.touches.reads().len() > 1 || compare::to_bits(&holds) != u32::MAX;
            opened(simdgroup.nesting.open(index, levels, can_fail))?;
            let more = u32::from(levels);
            counters.zip(&holds, |v, holds| match v {
                0 => u32::from(holds == 0),
                v => v + more,
            })
        }
        Operation::Else {
            condition,
            compared,
            levels,
        } => {
            let holds = asked(simdgroup, condition, compared, lanes_with(&|v| v == 1))?;
            opened(simdgroup.nesting.alternate(index, levels))?;
            let count = u32::from(levels);
            counters.zip(&holds, |v, holds| match v {
                0 => count,
                1 => u32::from(holds == 0),
                v => v,
            })
        }
        Operation::While {
            condition,
            compared,
            levels,
        } => {
            let count = u32::from(levels);
            let holds = asked(simdgroup, condition, compared, lanes_with(&|v| v < count))?;
            opened(simdgroup.nesting.raise(index, levels))?;
            counters.zip(&holds, |v, holds| match (v < count, holds) {
                (true, 0) => count,
                (true, _) => 0,
                (false, _) => v,
            })
        }
        Operation::Pop { levels } => {
            opened(simdgroup.nesting.close(levels))?;
            counters.map(|v| v.saturating_sub(u32::from(levels)))
        }
        _ => counters,
    };
    let register = simdgroup.row(0);
    let register = register.zip(&new, |old, new| old & 0xffff_0000 | new & 0xffff);
    simdgroup.set_row(0, &register);
    let active = compare::to_bits(&new.map(|v| u32::from(v & 0xffff == 0)));
    simdgroup.set_exec(active & exists);
    Ok(())
}

fn unread(simdgroup: &Simdgroup, reads: &[Touch], lanes: u32, index: OpIndex) -> Option<Exit> {
    match simdgroup.poison.all_good(reads, lanes) {
        true => None,
        false => bad_read(simdgroup, reads, lanes, index),
    }
}

/// Everything that is not worth inlining into the loop.
#[inline(never)]
fn rare<const STRICT: bool>(
    simdgroup: &mut Simdgroup,
    machine: &mut Machine<'_>,
    op: &MicroOp,
    index: OpIndex,
) -> Next {
    let code = machine.code;
    let fault = |kind| Next::Leave(failed(index, None, Trouble::Fault(kind)));
    let done = |result: Result<(), LaneFault>| match result {
        Ok(()) => Next::On,
        Err((lane, kind)) => Next::Leave(failed(index, Some(lane), Trouble::Fault(kind))),
    };
    match op.operation {
        Operation::DeviceLoad { access, .. } => {
            return done(access::device_load(simdgroup, machine.device, &access));
        }
        Operation::DeviceStore { access } => {
            return done(access::device_store(simdgroup, machine.device, &access));
        }
        Operation::DeviceAtomic { atomic, .. } => {
            return done(access::device_atomic(simdgroup, machine.device, &atomic));
        }
        Operation::GroupLoad { access } => {
            return done(access::group_load(simdgroup, &machine.group, &access));
        }
        Operation::GroupStore { access } => {
            return done(access::group_store(simdgroup, &mut machine.group, &access));
        }
        Operation::GroupAtomic { atomic } => {
            return done(access::group_atomic(simdgroup, &mut machine.group, &atomic));
        }
        Operation::StackLoad { access, slot } => {
            return stack_load::<STRICT>(simdgroup, op, index, &access, slot);
        }
        Operation::StackStore { access } => {
            return stack_store::<STRICT>(simdgroup, op, index, &access);
        }
        Operation::StackAdjust { dwords } => {
            if let Err(bytes) = simdgroup.stack.adjust(dwords) {
                return fault(FaultKind::OutOfBounds {
                    memory: Memory::Stack,
                    address: bytes as u64,
                    bytes: 0,
                    place: None,
                    size: u64::from(simdgroup.stack.limit()),
                });
            }
        }
        Operation::Wait { slot } => simdgroup.poison.deliver(slot),
        Operation::Barrier => return Next::Leave(Exit::Barrier),
        Operation::Nothing => {}
        Operation::Stop => return Next::Leave(stop::<STRICT>(simdgroup, index)),
        Operation::Trap => return fault(FaultKind::Trap),
        Operation::Continue { target } => {
            // It stands for no instruction of its own.
            simdgroup.steps -= 1;
            simdgroup.lane_steps -= u64::from(simdgroup.exec.count_ones());
            return Next::To(target);
        }
        Operation::Call { target, to, back } => {
            if target == NOWHERE {
                return fault(FaultKind::NoInstruction { target: to });
            }
            return call::<STRICT>(simdgroup, op, index, target, back);
        }
        Operation::CallIndirect { row, back } => {
            let target = match common_target(simdgroup, code, row) {
                Ok(target) => target,
                Err(kind) => return fault(kind),
            };
            return call::<STRICT>(simdgroup, op, index, target, back);
        }
        Operation::Return { row } => return give_back::<STRICT>(simdgroup, code, op, index, row),
        Operation::UniformStore { access } => {
            return store_uniforms(simdgroup, machine, index, &access);
        }
        Operation::UnsetUniform { half } => return fault(FaultKind::UnsetUniform { half }),
        Operation::Unsupported { why } => return fault(FaultKind::Unsupported { why }),
        Operation::Undecodable { parcel } => return fault(FaultKind::Undecodable { parcel }),
        Operation::End => return fault(FaultKind::RanOffTheEnd),
        Operation::Shuffle { to, a, b, shuffle } => {
            let from = lanes::sources(shuffle, &simdgroup.read(b));
            let result = lanes::shuffle(&simdgroup.read(a), &from);
            if STRICT {
                return shuffle_strictly(simdgroup, op, index, (to, a, b), &from, &result);
            }
            simdgroup.write(to, &result);
        }
        Operation::Matrix { to, a, b, c } => {
            if STRICT {
                if simdgroup.exec != u32::MAX {
                    let active = simdgroup.exec;
                    return fault(FaultKind::PartialMatrix { active });
                }
                if let Some(exit) = check(simdgroup, op, index) {
                    return Next::Leave(exit);
                }
            }
            matrix(simdgroup, to, a, b, c);
        }
        _ => rare_arithmetic(simdgroup, op),
    }
    Next::On
}

/// Arithmetic that is rare enough not to be in the loop.
#[inline(never)]
fn rare_arithmetic(simdgroup: &mut Simdgroup, op: &MicroOp) {
    let get = |source| simdgroup.read(source);
    let get_float = |source: FloatSource| float::single(simdgroup, source);
    match op.operation {
        Operation::Special { to, register } => {
            let result = special::read(simdgroup, register);
            simdgroup.write(to, &result);
        }
        Operation::AddWide {
            to,
            a,
            b,
            shift,
            negate,
            clamp,
        } => {
            let (a, b) = (wide(simdgroup, a), wide(simdgroup, b));
            let (low, high) = integer::wide(Product::Term(&a), &b, shift, negate, clamp, to);
            simdgroup.write_wide(to, &low, &high);
        }
        Operation::MulAddWide {
            to,
            a,
            b,
            c,
            shift,
            negate,
            clamp,
        } => {
            let (a, b) = (wide(simdgroup, a), wide(simdgroup, b));
            let c = wide(simdgroup, c);
            let (low, high) = integer::wide(Product::Of(&a, &b), &c, shift, negate, clamp, to);
            simdgroup.write_wide(to, &low, &high);
        }
        Operation::Field {
            op,
            to,
            a,
            b,
            c,
            mask,
        } => {
            let (a, b, c) = (get(a), get(b), get(c));
            let mut result = Row::ZERO;
            for lane in 0..crate::op::LANES {
                let shift = c.0[lane] & 0x7f;
                result.0[lane] = integer::field(op, a.0[lane], b.0[lane], shift, mask);
            }
            simdgroup.write(to, &result);
        }
        Operation::ShiftRight { to, a, b, high } => {
            let result = integer::shift_right(&get(a), &get(b), high);
            simdgroup.write(to, &result);
        }
        Operation::Bits { op, to, a } => {
            let result = integer::bits(op, &get(a));
            simdgroup.write(to, &result);
        }
        Operation::Interleave { to, a, b } => {
            let result = integer::interleave(&get(a), &get(b));
            simdgroup.write(to, &result);
        }
        Operation::Unary {
            op,
            to,
            a,
            saturate,
        } => {
            let result = float::unary(op, &get_float(a));
            simdgroup.write(to, &float::finish(result, to, saturate));
        }
        Operation::ToFloat {
            to,
            a,
            bits,
            signed,
            nearest,
        } => {
            let result = float::from_int(&get(a), bits, signed, nearest, to);
            simdgroup.write(to, &result);
        }
        Operation::FromFloat {
            to,
            a,
            bits,
            signed,
            nearest,
        } => {
            let result = float::to_int(&get_float(a), bits, signed, nearest);
            simdgroup.write(to, &result);
        }
        Operation::Ballot {
            to,
            condition,
            compared,
            scope,
        } => {
            let holds = holds(simdgroup, condition, compared);
            let bits = compare::to_bits(&holds) & simdgroup.exec;
            let mut result = Row::splat(bits);
            if scope == Scope::Quad {
                for (lane, value) in result.0.iter_mut().enumerate() {
                    *value = bits >> (lane & !3) & 0xf;
                }
            }
            simdgroup.write(to, &result);
        }
        Operation::Reduce {
            to,
            a,
            op,
            scope,
            prefix,
        } => {
            let widths = lanes::Widths {
                half_source: a.part != Part::Whole,
                half_result: to.part != Part::Whole,
            };
            let result = lanes::reduce(&get(a), simdgroup.exec, op, scope, prefix, widths);
            simdgroup.write(to, &result);
        }
        _ => {}
    }
}

/// A source on 64 bits.
fn wide(simdgroup: &Simdgroup, from: WideSource) -> WideRow {
    let low = simdgroup.read(from.source);
    match from.extend {
        Extend::Zero => low.0.map(i64::from),
        Extend::Sign => low.0.map(|word| i64::from(word as i32)),
        Extend::Pair => {
            let high = simdgroup.row(from.source.row + 1);
            let mut out = [0; crate::op::LANES];
            for (lane, place) in out.iter_mut().enumerate() {
                *place = (u64::from(high.0[lane]) << 32 | u64::from(low.0[lane])) as i64;
            }
            out
        }
    }
}

/// The end of a simdgroup.
fn stop<const STRICT: bool>(simdgroup: &Simdgroup, index: OpIndex) -> Exit {
    match simdgroup.nesting.closed() {
        Err(misuse) if STRICT => nesting(index, misuse),
        _ => Exit::Stopped,
    }
}

fn call<const STRICT: bool>(
    simdgroup: &mut Simdgroup,
    op: &MicroOp,
    index: OpIndex,
    target: OpIndex,
    back: u32,
) -> Next {
    const LINK: Dest = Dest {
        row: 1,
        part: Part::Whole,
        pair: false,
    };
    if simdgroup.calls.len() >= MAX_CALLS {
        let kind = FaultKind::CallsTooDeep { limit: MAX_CALLS };
        return Next::Leave(failed(index, None, Trouble::Fault(kind)));
    }
    simdgroup.write(LINK, &Row::splat(back));
    if STRICT {
        let active = simdgroup.exec;
        simdgroup.poison.retire(&op.touches, active, index);
    }
    let nesting = simdgroup.nesting.enter();
    simdgroup.calls.push(CallFrame { back, nesting });
    Next::To(target)
}

/// The operation at the address that all active lanes have in a register.
fn common_target(simdgroup: &Simdgroup, code: &Lowered, row: u8) -> Result<OpIndex, FaultKind> {
    let addresses = simdgroup.row(u16::from(row));
    let mut active = (0..crate::op::LANES).filter(|lane| simdgroup.exec >> lane & 1 != 0);
    let address = match (active.next(), simdgroup.calls.last()) {
        (Some(lane), _) => addresses.0[lane],
        // No lane has an address; the call that is being returned from does.
        (None, Some(frame)) => frame.back,
        (None, None) => return Err(FaultKind::DivergentTarget),
    };
    if active.any(|lane| addresses.0[lane] != address) {
        return Err(FaultKind::DivergentTarget);
    }
    code.at(i64::from(address)).ok_or(FaultKind::NoInstruction {
        target: i64::from(address),
    })
}

fn give_back<const STRICT: bool>(
    simdgroup: &mut Simdgroup,
    code: &Lowered,
    op: &MicroOp,
    index: OpIndex,
    row: u8,
) -> Next {
    if STRICT && let Some(exit) = check(simdgroup, op, index) {
        return Next::Leave(exit);
    }
    let target = match common_target(simdgroup, code, row) {
        Ok(target) => target,
        Err(kind) => return Next::Leave(failed(index, None, Trouble::Fault(kind))),
    };
    if let Some(frame) = simdgroup.calls.pop()
        && let Err(misuse) = simdgroup.nesting.leave(frame.nesting)
        && STRICT
    {
        return Next::Leave(nesting(index, misuse));
    }
    Next::To(target)
}

fn store_uniforms(
    simdgroup: &Simdgroup,
    machine: &mut Machine<'_>,
    index: OpIndex,
    access: &crate::op::Access,
) -> Next {
    let Some(uniforms) = &mut machine.uniforms else {
        let why = "uniforms can be set by the constant program only";
        let kind = FaultKind::Unsupported { why };
        return Next::Leave(failed(index, None, Trouble::Fault(kind)));
    };
    for (half, value) in access::uniform_values(simdgroup, access) {
        let set = u16::try_from(half).is_ok_and(|half| uniforms.set(half, value).is_ok());
        if !set {
            let why = "it sets a uniform that does not exist";
            let kind = FaultKind::Unsupported { why };
            return Next::Leave(failed(index, None, Trouble::Fault(kind)));
        }
    }
    Next::Leave(Exit::UniformsChanged)
}

/// A load from the stack delivers values at its wait, except where there is none.
fn stack_load<const STRICT: bool>(
    simdgroup: &mut Simdgroup,
    op: &MicroOp,
    index: OpIndex,
    access: &crate::op::Access,
    slot: u8,
) -> Next {
    let active = simdgroup.exec;
    let empty = match access::stack_load(simdgroup, access) {
        Ok(empty) => empty,
        Err((lane, kind)) => {
            return Next::Leave(failed(index, Some(lane), Trouble::Fault(kind)));
        }
    };
    if !STRICT {
        return Next::On;
    }
    let poison = &mut simdgroup.poison;
    poison.retire(&op.touches, active, index);
    poison.suspend(op.touches.writes(), active, index, slot);
    for (register, lanes) in access::data_registers(access).zip(empty) {
        poison.unwrite(register_touch(register), lanes);
    }
    Next::To(index + 1)
}

/// A store to the stack may save a register that was never written: functions save
/// what their callers might need. What it stores has no value then either.
fn stack_store<const STRICT: bool>(
    simdgroup: &mut Simdgroup,
    op: &MicroOp,
    index: OpIndex,
    access: &crate::op::Access,
) -> Next {
    let mut empty = [0; 4];
    if STRICT
        && !simdgroup
            .poison
            .all_good(op.touches.reads(), simdgroup.exec)
    {
        for (register, lanes) in access::data_registers(access).zip(&mut empty) {
            let touched = register_touch(register);
            *lanes = match simdgroup.poison.only_unwritten(touched, simdgroup.exec) {
                Some(lanes) => lanes,
                None => return leave(bad_read(simdgroup, &[touched], simdgroup.exec, index)),
            };
        }
        if let crate::op::Index::Signed(source) | crate::op::Index::Unsigned(source) = access.index
            && let Some(touched) = touch(source)
            && let Some(exit) = unread(simdgroup, &[touched], simdgroup.exec, index)
        {
            return Next::Leave(exit);
        }
    }
    match access::stack_store(simdgroup, access, empty) {
        Ok(()) => Next::On,
        Err((lane, kind)) => Next::Leave(failed(index, Some(lane), Trouble::Fault(kind))),
    }
}

fn leave(exit: Option<Exit>) -> Next {
    exit.map_or(Next::On, Next::Leave)
}

fn register_touch(register: Dest) -> Touch {
    Touch {
        row: register.row,
        halves: match register.part {
            Part::Whole => 0b11,
            Part::Low | Part::LowSigned => 0b01,
            Part::High | Part::HighSigned => 0b10,
        },
    }
}

/// A shuffle reads lanes that may be inactive, and of the lane selectors those of whole
/// quads. A lane that copies a lane without value has none itself.
fn shuffle_strictly(
    simdgroup: &mut Simdgroup,
    op: &MicroOp,
    index: OpIndex,
    (to, a, b): (Dest, Source, Source),
    from: &[u8; crate::op::LANES],
    result: &Row,
) -> Next {
    let active = simdgroup.exec;
    let mut asked = active;
    for (lane, source) in from.iter().enumerate() {
        if active >> lane & 1 != 0 {
            asked |= 0xf << (source & !3);
        }
    }
    if let Some(selectors) = touch(b)
        && let Some(exit) = unread(simdgroup, &[selectors], asked, index)
    {
        return Next::Leave(exit);
    }
    let empty = touch(a).map_or(0, |touch| {
        simdgroup.poison.bad_lanes(touch.row, touch.halves)
    });
    let mut without = 0;
    for (lane, source) in from.iter().enumerate() {
        if active >> lane & 1 != 0 && empty >> source & 1 != 0 {
            without |= 1 << lane;
        }
    }
    if without == active && active != 0 {
        // Nothing of it is there: the shuffle itself reads too early.
        if let Some(exit) = unread(simdgroup, op.touches.reads(), active, index) {
            return Next::Leave(exit);
        }
    }
    if simdgroup.poison.any_pending()
        && let Some(exit) = bad_write(simdgroup, op, index)
    {
        return Next::Leave(exit);
    }
    simdgroup.write(to, result);
    simdgroup.poison.retire(&op.touches, active, index);
    if let Some(write) = op.touches.writes().first() {
        simdgroup.poison.spread(*write, without, index);
    }
    Next::To(index + 1)
}

fn matrix(simdgroup: &mut Simdgroup, to: Dest, a: MatrixSource, b: MatrixSource, c: MatrixSource) {
    let is_half = |source: MatrixSource| source.first.source.part != Part::Whole;
    let all_half = to.part != Part::Whole && is_half(a) && is_half(b) && is_half(c);
    let pair = |source: MatrixSource| {
        [source.first, source.second].map(|element| match all_half {
            true => float::half(simdgroup, element).0,
            false => float::single(simdgroup, element).0,
        })
    };
    let (a, b, c) = (pair(a), pair(b), pair(c));
    let [first, second] = match all_half {
        true => lanes::multiply_half(&a, &b, &c),
        false => lanes::multiply(&a, &b, &c),
    };
    let (first, second) = (Row(first), Row(second));
    let rounded = |value: Row| match all_half {
        true => value,
        false => float::finish(value, to, false),
    };
    let next = match to.part {
        Part::Whole => Dest {
            row: to.row + 1,
            ..to
        },
        Part::Low | Part::LowSigned => Dest {
            part: Part::High,
            ..to
        },
        Part::High | Part::HighSigned => Dest {
            row: to.row + 1,
            part: Part::Low,
            ..to
        },
    };
    simdgroup.write(to, &rounded(first));
    simdgroup.write(next, &rounded(second));
}

/// A misuse as a fault, once its instruction can be named.
pub(crate) fn nesting_fault(
    misuse: Misuse,
    site: impl Fn(OpIndex) -> crate::fault::Site,
) -> NestingFault {
    match misuse {
        Misuse::Simple(fault) => fault,
        Misuse::LeftOpen { open, opener } => NestingFault::LeftOpen {
            open,
            opener: site(opener),
        },
    }
}
