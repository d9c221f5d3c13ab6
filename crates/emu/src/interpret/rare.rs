//! Operations that are not worth inlining into the loop: memory, control, other lanes.

use super::arithmetic::rare_arithmetic;
use super::calls::{call, common_target, give_back, stop};
use super::checks::{bad_read, bad_write, check, register_touch, touch, unread};
use super::mask::holds;
use super::{Exit, Machine, Next, Trouble, failed};
use crate::fault::{FaultKind, Memory};
use crate::op::{Access, Dest, Index, LANES, MicroOp, NOWHERE, OpIndex, Operation, Row, Source};
use crate::ops::access::{self, LaneFault};
use crate::ops::{lanes, special};
use crate::simdgroup::Simdgroup;

/// Everything that is not worth inlining into the loop.
#[inline(never)]
pub(super) fn rare<const VECTOR: bool, const STRICT: bool>(
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
        Operation::DeviceLoad { access, slot } => {
            let result = access::device_load(simdgroup, machine.device, &access);
            return pending(done(result), slot);
        }
        Operation::DeviceStore { access } => {
            return done(access::device_store(simdgroup, machine.device, &access));
        }
        Operation::DeviceAtomic { atomic, slot } => {
            let result = access::device_atomic(simdgroup, machine.device, &atomic);
            return pending(done(result), slot);
        }
        Operation::GroupLoad { access, slot } => {
            let next = done(access::group_load(simdgroup, &machine.group, &access));
            return match slot {
                Some(slot) => pending(next, slot),
                None => next,
            };
        }
        Operation::GroupStore { access } => {
            return done(access::group_store(simdgroup, &mut machine.group, &access));
        }
        Operation::GroupAtomic { atomic, slot } => {
            let next = done(access::group_atomic(simdgroup, &mut machine.group, &atomic));
            return match slot {
                Some(slot) => pending(next, slot),
                None => next,
            };
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
        Operation::Await { mask } => {
            part_of_another(simdgroup);
            for slot in (0..8).filter(|slot| mask >> slot & 1 != 0) {
                simdgroup.poison.deliver(slot);
            }
        }
        Operation::Widen { row, from } => {
            part_of_another(simdgroup);
            let wide = simdgroup.read(from).map(|half| half << 16);
            simdgroup.set_row(u16::from(row), &wide);
        }
        Operation::Narrow { to, row } => {
            part_of_another(simdgroup);
            let single = simdgroup.row(u16::from(row));
            simdgroup.write(to, &single.map(crate::arith::f32_to_bf16));
        }
        Operation::MoveLater { to, a, slot } => {
            let value = simdgroup.read(a);
            simdgroup.write(to, &value);
            return Next::OnceWaited { slot };
        }
        Operation::SpecialLater { to, register, slot } => {
            let value = special::read(simdgroup, register);
            simdgroup.write(to, &value);
            return Next::OnceWaited { slot };
        }
        Operation::Choose {
            to,
            condition,
            compared,
            x,
            y,
        } => {
            let holds = holds::<VECTOR>(simdgroup, condition, compared);
            let [x, y] = [x, y].map(|choice| {
                simdgroup
                    .read(choice.source)
                    .map(|value| value & choice.keep ^ choice.flip)
            });
            let mut chosen = Row::ZERO;
            for lane in 0..LANES {
                let from = if holds.0[lane] != 0 { &x } else { &y };
                chosen.0[lane] = from.0[lane];
            }
            simdgroup.write(to, &chosen);
        }
        Operation::Barrier => return Next::Leave(Exit::Barrier),
        Operation::Nothing => {}
        Operation::Stop => return Next::Leave(stop::<STRICT>(simdgroup, index)),
        Operation::Trap => return fault(FaultKind::Trap),
        Operation::Continue { target } => {
            part_of_another(simdgroup);
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
        Operation::Matrix { .. } => {
            if STRICT {
                if simdgroup.exec != u32::MAX {
                    let active = simdgroup.exec;
                    return fault(FaultKind::PartialMatrix { active });
                }
                if let Some(exit) = check(simdgroup, op, index) {
                    return Next::Leave(exit);
                }
            }
            rare_arithmetic::<VECTOR>(simdgroup, op);
        }
        _ => rare_arithmetic::<VECTOR>(simdgroup, op),
    }
    Next::On
}

/// Takes back the count of a step that stands for no instruction of its own.
fn part_of_another(simdgroup: &mut Simdgroup) {
    simdgroup.steps -= 1;
    simdgroup.lane_steps -= u64::from(simdgroup.exec.count_ones());
}

/// What was loaded is there once `slot` is waited for.
fn pending(next: Next, slot: u8) -> Next {
    match next {
        Next::On => Next::OnceWaited { slot },
        other => other,
    }
}

pub(super) fn store_uniforms(
    simdgroup: &Simdgroup,
    machine: &mut Machine<'_>,
    index: OpIndex,
    access: &Access,
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
pub(super) fn stack_load<const STRICT: bool>(
    simdgroup: &mut Simdgroup,
    op: &MicroOp,
    index: OpIndex,
    access: &Access,
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
pub(super) fn stack_store<const STRICT: bool>(
    simdgroup: &mut Simdgroup,
    op: &MicroOp,
    index: OpIndex,
    access: &Access,
) -> Next {
    let mut empty = [0; 4];
    if STRICT && !simdgroup.poison.reads_well(&op.touches, simdgroup.exec) {
        for (register, lanes) in access::data_registers(access).zip(&mut empty) {
            let touched = register_touch(register);
            *lanes = match simdgroup.poison.only_unwritten(touched, simdgroup.exec) {
                Some(lanes) => lanes,
                None => return leave(bad_read(simdgroup, &[touched], simdgroup.exec, index)),
            };
        }
        if let Index::Signed(source) | Index::Unsigned(source) = access.index
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

pub(super) fn leave(exit: Option<Exit>) -> Next {
    exit.map_or(Next::On, Next::Leave)
}

/// A shuffle reads lanes that may be inactive, and of the lane selectors those of whole
/// quads. A lane that copies a lane without value has none itself. Lanes without a thread
/// hold zeros: code for a part of a simdgroup shuffles among all its lanes.
pub(super) fn shuffle_strictly(
    simdgroup: &mut Simdgroup,
    op: &MicroOp,
    index: OpIndex,
    (to, a, b): (Dest, Source, Source),
    from: &[u8; LANES],
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
        && let Some(exit) = unread(simdgroup, &[selectors], asked & simdgroup.exists, index)
    {
        return Next::Leave(exit);
    }
    let empty = touch(a).map_or(0, |touch| {
        simdgroup.poison.bad_lanes(touch.row, touch.halves) & simdgroup.exists
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
