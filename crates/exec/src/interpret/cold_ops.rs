//! Cold operations: those that are too rare to be in the loop itself. They work on one simdgroup at a time.

use super::addresses::Addresses;
use super::moves::blend;
use super::observer::{AccessEvent, Observer};
use super::{Batch, ExecutionContext, Trap};
use crate::code::{Cell, Op, PerLane, Program, Reg};
use crate::collective::{Collective, Operands};
use crate::error::FaultKind;
use crate::lanes::lanes_of;
use crate::matrix::MatrixOp;
use crate::memory::Action;

impl Batch {
    fn all(&self, reg: Reg) -> [u64; 32] {
        std::array::from_fn(|lane| self.get(reg, lane))
    }

    /// Runs a cold operation for each simdgroup that has active lanes.
    #[inline(always)]
    pub(super) fn run_cold<O: Observer>(
        &mut self,
        context: &ExecutionContext<'_>,
        observer: &mut O,
        op: &Op,
        position: usize,
    ) -> Result<(), Trap> {
        if O::LAZY {
            if self.lazy_position(context, op) {
                return Ok(());
            }
            self.materialise_operands(context.program, op);
        }
        for at in self.masks.active.range() {
            if self.mask_of(at) != 0 {
                self.progress.current = at;
                self.cold_operation(&context.of(self), observer, op, position)?;
            }
        }
        self.progress.current = 0;
        Ok(())
    }

    #[inline(never)]
    pub(super) fn cold_operation<O: Observer>(
        &mut self,
        context: &ExecutionContext<'_>,
        observer: &mut O,
        op: &Op,
        position: usize,
    ) -> Result<(), Trap> {
        let program = context.program;
        match *op {
            Op::Pick { d, list, index } => {
                let list = program.list(list);
                for lane in 0..32 {
                    let which = self.get(index, lane) as usize;
                    let value = list.get(which).map_or(0, |&reg| self.get(reg, lane));
                    self.set(d, lane, value);
                }
            }
            Op::Repack {
                from,
                from_bytes,
                to,
                to_bytes,
            } => {
                let (from, to) = (program.list(from), program.list(to));
                self.repack(from, from_bytes.into(), to, to_bytes.into());
            }
            Op::MemCopy { dst, src, size } => {
                let mut mask = self.mask();
                if O::OBSERVES {
                    mask &= self.report_bytes(context, observer, src, size, position, Action::Read);
                    mask &=
                        self.report_bytes(context, observer, dst, size, position, Action::Write);
                }
                self.copy_bytes(context, mask, dst, src, size, position)?;
            }
            Op::BulkCopy { index } => {
                let copy = program.copies[index as usize];
                self.bulk_copy(context, observer, copy, position)?;
            }
            Op::MemSet { dst, byte, size } => {
                let mut mask = self.mask();
                if O::OBSERVES {
                    mask = self.report_bytes(context, observer, dst, size, position, Action::Write);
                }
                self.set_bytes(context, mask, dst, byte, size, position)?;
            }
            Op::Atomic { ptr, cell, d, .. } | Op::CompareExchange { ptr, cell, d, .. } => {
                let mut mask = self.mask();
                if O::OBSERVES {
                    let pointers = Addresses::Pointers(self.wide(ptr), 0);
                    let number = (Action::Atomic, cell, cell.bytes());
                    let event = AccessEvent::new(context, self, position, (pointers, mask), number);
                    mask = observer.on_access(&event);
                    for lane in lanes_of(self.mask() & !mask) {
                        self.set(d, lane, 0);
                    }
                }
                self.atomic(context, mask, op, position)?;
            }
            Op::PerLane { index } => {
                self.per_lane(program, &program.per_lane[index as usize]);
            }
            Op::Position { which, axis, d } => {
                let value = context
                    .grid_position
                    .value(which, axis.into())
                    .unwrap_or([0; 32]);
                for (lane, value) in value.into_iter().enumerate() {
                    self.set(d, lane, u64::from(value));
                }
            }
            Op::Collective { index } => {
                let collective = &program.collectives[index as usize];
                if O::OBSERVES {
                    observer.on_collective(context, self, collective, position);
                }
                self.collective(collective);
            }
            Op::Expect { cond, .. } => {
                let mut broken = 0;
                for lane in lanes_of(self.mask()) {
                    broken |= u32::from(self.narrow(cond)[lane] & 1 == 0) << lane;
                }
                if O::OBSERVES && broken != 0 {
                    observer.on_broken_expectation(context, broken, position);
                }
            }
            Op::Matrix { index } => {
                let op = &program.matrices[index as usize];
                if O::OBSERVES && !matches!(op, MatrixOp::Diagonal { .. }) {
                    observer.on_matrix(context, self, position);
                }
                if O::OBSERVES && !self.report_matrix(context, observer, op, position) {
                    return Ok(());
                }
                self.matrix(context, op, position)?;
            }
            Op::Texture { index } => {
                let op = program.textures[index as usize];
                self.texture(context, observer, &op, position)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Reports the bytes each lane copies or fills to the observer. Returns the lanes that may.
    fn report_bytes<O: Observer>(
        &self,
        context: &ExecutionContext<'_>,
        observer: &mut O,
        ptr: u32,
        size: Reg,
        position: usize,
        action: Action,
    ) -> u32 {
        let mut allowed = 0;
        for lane in lanes_of(self.mask()) {
            let bytes = u32::try_from(self.get(size, lane)).unwrap_or(u32::MAX);
            allowed |= observer.on_access(&AccessEvent::new(
                context,
                self,
                position,
                (Addresses::Pointers(self.wide(ptr), 0), 1 << lane),
                (action, Cell::Byte, bytes),
            ));
        }
        allowed
    }

    fn repack(&mut self, from: &[Reg], from_bytes: usize, to: &[Reg], to_bytes: usize) {
        for lane in 0..32 {
            let mut bytes = [0u8; 128];
            for (slot, &reg) in bytes.chunks_mut(from_bytes).zip(from) {
                slot.copy_from_slice(&self.get(reg, lane).to_le_bytes()[..from_bytes]);
            }
            for (slot, &reg) in bytes.chunks(to_bytes).zip(to) {
                let mut word = [0; 8];
                word[..to_bytes].copy_from_slice(slot);
                self.set(reg, lane, u64::from_le_bytes(word));
            }
        }
    }

    fn per_lane(&mut self, program: &Program, call: &PerLane) {
        let (args, results) = (program.list(call.args), program.list(call.results));
        let (mut given, mut made) = ([0u64; 64], [0u64; 16]);
        for lane in 0..32 {
            for (slot, &reg) in given.iter_mut().zip(args) {
                *slot = self.get(reg, lane);
            }
            let count = results.len().min(made.len());
            (call.kernel)(&call.call, &given[..args.len().min(64)], &mut made[..count]);
            for (&reg, &value) in results.iter().zip(&made) {
                self.set(reg, lane, value);
            }
        }
    }

    fn copy_bytes(
        &mut self,
        context: &ExecutionContext<'_>,
        mask: u32,
        dst: u32,
        src: u32,
        size: Reg,
        position: usize,
    ) -> Result<(), Trap> {
        for lane in lanes_of(mask) {
            let trap = |kind| Trap {
                kind,
                position,
                lane,
            };
            let size = u32::try_from(self.get(size, lane)).unwrap_or(u32::MAX);
            let (to, from) = (self.wide(dst)[lane], self.wide(src)[lane]);
            let read = context
                .memory
                .place(from, size, lane, Action::Read)
                .map_err(trap)?;
            let write = context
                .memory
                .place(to, size, lane, Action::Write)
                .map_err(trap)?;
            let backwards = to > from;
            for step in 0..size {
                let index = if backwards { size - 1 - step } else { step };
                write
                    .at(index)
                    .write(Cell::Byte, read.at(index).read(Cell::Byte));
            }
        }
        Ok(())
    }

    fn set_bytes(
        &mut self,
        context: &ExecutionContext<'_>,
        mask: u32,
        dst: u32,
        byte: u32,
        size: Reg,
        position: usize,
    ) -> Result<(), Trap> {
        for lane in lanes_of(mask) {
            let size = u32::try_from(self.get(size, lane)).unwrap_or(u32::MAX);
            let place = context
                .memory
                .place(self.wide(dst)[lane], size, lane, Action::Write);
            let place = place.map_err(|kind| Trap {
                kind,
                position,
                lane,
            })?;
            for index in 0..size {
                place
                    .at(index)
                    .write(Cell::Byte, u64::from(self.narrow(byte)[lane]));
            }
        }
        Ok(())
    }

    /// Atomic operations happen lane by lane, lowest first.
    fn atomic(
        &mut self,
        context: &ExecutionContext<'_>,
        mask: u32,
        op: &Op,
        position: usize,
    ) -> Result<(), Trap> {
        for lane in lanes_of(mask) {
            let (ptr, cell, d) = match *op {
                Op::Atomic { ptr, cell, d, .. } | Op::CompareExchange { ptr, cell, d, .. } => {
                    (ptr, cell, d)
                }
                _ => return Ok(()),
            };
            let trap = |kind| Trap {
                kind,
                position,
                lane,
            };
            let (address, size) = (self.wide(ptr)[lane], cell.bytes());
            let place = context
                .memory
                .place(address, size, lane, Action::Atomic)
                .map_err(trap)?;
            let old = match *op {
                Op::Atomic { update, value, .. } => {
                    let value = self.get(value, lane);
                    place.update(cell, |old| update.apply(cell, old, value))
                }
                Op::CompareExchange {
                    expected, desired, ..
                } => {
                    let (expected, desired) = (self.get(expected, lane), self.get(desired, lane));
                    place.update(cell, |old| if old == expected { desired } else { old })
                }
                _ => None,
            };
            let old = old.ok_or(trap(FaultKind::MisalignedAtomic { size, address }))?;
            self.set(d, lane, old);
        }
        Ok(())
    }

    /// The operands of a collective.
    fn operands(&self, collective: &Collective) -> Operands {
        let operand = |reg: Option<Reg>| reg.map(|reg| self.all(reg));
        Operands {
            a: self.all(collective.a),
            b: operand(collective.b).unwrap_or([0; 32]),
            c: operand(collective.c).unwrap_or([0; 32]),
            e: operand(collective.e),
        }
    }

    /// The first lane of the current simdgroup that shuffles in the number of one that is not active, or that does not
    /// exist.
    pub(crate) fn reads_inactive_lane(&self, collective: &Collective) -> Option<usize> {
        let mask = self.mask();
        if mask == !0 && !collective.names_lanes() || !collective.is_shuffle() {
            return None;
        }
        let operands = self.operands(collective);
        lanes_of(mask).find(|&lane| {
            let source = collective.source(&operands, lane);
            let inactive = source.is_some_and(|(_, source)| mask >> source & 1 == 0);
            inactive || collective.names_no_lane(&operands, lane)
        })
    }

    fn collective(&mut self, collective: &Collective) {
        let narrow = |reg: Reg| (!reg.wide).then(|| self.narrow(reg.index));
        if let (false, Some(a)) = (collective.d.wide, narrow(collective.a)) {
            let result = collective.apply_narrow(a, collective.b.and_then(narrow), self.mask());
            if let Some(result) = result {
                let mask = self.mask();
                blend(self.narrow_mut(collective.d.index), &result, mask);
                return;
            }
        }
        let operands = self.operands(collective);
        let result = collective.apply(&operands, self.mask());
        for lane in lanes_of(self.mask()) {
            self.set(collective.d, lane, result[lane]);
        }
    }
}
