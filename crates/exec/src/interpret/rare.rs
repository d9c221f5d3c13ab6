//! Operations that are not worth being in the loop itself.

use super::copy::Addresses;
use super::pointer::blend;
use super::span::Form;
use super::watch::{Seen, Watch};
use super::{Batch, Surroundings, Trap};
use crate::code::{Cell, Op, PerLane, Program, Reg};
use crate::collective::{Collective, Operands};
use crate::error::FaultKind;
use crate::lanes::{Narrow, lanes_of};
use crate::matrix::{self, MatrixOp, Origin};
use crate::memory::{Action, Number, Stretch};
use assay_num::matrix::element_of_lane;
use assay_ssa::Scalar;

impl Batch {
    fn all(&self, reg: Reg) -> [u64; 32] {
        std::array::from_fn(|lane| self.get(reg, lane))
    }

    #[inline(never)]
    pub(super) fn rare<W: Watch>(
        &mut self,
        around: &Surroundings<'_>,
        watch: &mut W,
        op: &Op,
        position: usize,
    ) -> Result<(), Trap> {
        let program = around.program;
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
                if W::ACTIVE {
                    mask &= self.watch_bytes(around, watch, src, size, position, Action::Read);
                    mask &= self.watch_bytes(around, watch, dst, size, position, Action::Write);
                }
                self.copy(around, mask, dst, src, size, position)?;
            }
            Op::BulkCopy { index } => {
                let copy = program.copies[index as usize];
                self.bulk_copy(around, watch, copy, position)?;
            }
            Op::MemSet { dst, byte, size } => {
                let mut mask = self.mask();
                if W::ACTIVE {
                    mask = self.watch_bytes(around, watch, dst, size, position, Action::Write);
                }
                self.fill(around, mask, dst, byte, size, position)?;
            }
            Op::Atomic { ptr, cell, d, .. } | Op::CompareExchange { ptr, cell, d, .. } => {
                let mut mask = self.mask();
                if W::ACTIVE {
                    let bytes = cell.bytes();
                    let seen = Seen {
                        around,
                        group: self,
                        at: self.current,
                        position,
                        mask,
                        addresses: Addresses::Pointers(self.w(ptr), 0),
                        sum: None,
                        form: Form::SCATTERED,
                        inside: false,
                        size: bytes,
                        align: bytes,
                        cell,
                        regs: &[],
                        transfer: None,
                        action: Action::Atomic,
                    };
                    mask = watch.access(&seen);
                    for lane in lanes_of(self.mask() & !mask) {
                        self.set(d, lane, 0);
                    }
                }
                self.atomic(around, mask, op, position)?;
            }
            Op::PerLane { index } => {
                self.per_lane(program, &program.per_lane[index as usize]);
            }
            Op::Position { which, axis, d } => {
                let value = around
                    .standpoint
                    .value(which, axis.into())
                    .unwrap_or([0; 32]);
                for (lane, value) in value.into_iter().enumerate() {
                    self.set(d, lane, u64::from(value));
                }
            }
            Op::Collective { index } => {
                let collective = &program.collectives[index as usize];
                if W::ACTIVE {
                    watch.collective(around, self, collective, position);
                }
                self.collective(collective);
            }
            Op::Matrix { index } => {
                let op = &program.matrices[index as usize];
                if W::ACTIVE && !matches!(op, MatrixOp::Diagonal { .. }) {
                    watch.matrix(around, self, position);
                }
                if W::ACTIVE && !self.watch_matrix(around, watch, op, position) {
                    return Ok(());
                }
                self.matrix(around, op, position)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Tells the watch about the bytes each lane copies or fills; gives the lanes that may.
    fn watch_bytes<W: Watch>(
        &self,
        around: &Surroundings<'_>,
        watch: &mut W,
        ptr: u32,
        size: Reg,
        position: usize,
        action: Action,
    ) -> u32 {
        let mut allowed = 0;
        for lane in lanes_of(self.mask()) {
            allowed |= watch.access(&Seen {
                around,
                group: self,
                at: self.current,
                position,
                mask: 1 << lane,
                addresses: Addresses::Pointers(self.w(ptr), 0),
                sum: None,
                form: Form::SCATTERED,
                inside: false,
                size: u32::try_from(self.get(size, lane)).unwrap_or(u32::MAX),
                align: 1,
                cell: Cell::Byte,
                regs: &[],
                transfer: None,
                action,
            });
        }
        allowed
    }

    /// Tells the watch about a matrix in memory; whether all lanes may go on.
    fn watch_matrix<W: Watch>(
        &self,
        around: &Surroundings<'_>,
        watch: &mut W,
        op: &MatrixOp,
        position: usize,
    ) -> bool {
        let (regs, scalar, at, action) = match op {
            MatrixOp::Load { d, scalar, at } => (d, *scalar, at, Action::Read),
            MatrixOp::Store { a, scalar, at } => (a, *scalar, at, Action::Write),
            _ => return true,
        };
        let tile = self.tile(at, scalar);
        let inside = tile.stretch(around, action).is_some();
        let mut allowed = !0;
        for (which, &index) in regs.iter().enumerate() {
            let addresses = std::array::from_fn(|lane| tile.address(lane, which));
            allowed &= watch.access(&Seen {
                around,
                group: self,
                at: self.current,
                position,
                mask: !0,
                addresses: Addresses::Pointers(&addresses, 0),
                sum: None,
                form: Form::SCATTERED,
                inside,
                size: scalar.bytes(),
                align: scalar.bytes(),
                cell: Cell::of(scalar),
                regs: &[Reg { index, wide: false }],
                transfer: None,
                action,
            });
        }
        allowed == !0
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

    fn copy(
        &mut self,
        around: &Surroundings<'_>,
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
            let (to, from) = (self.w(dst)[lane], self.w(src)[lane]);
            let read = around
                .memory
                .place(from, size, lane, Action::Read)
                .map_err(trap)?;
            let write = around
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

    fn fill(
        &mut self,
        around: &Surroundings<'_>,
        mask: u32,
        dst: u32,
        byte: u32,
        size: Reg,
        position: usize,
    ) -> Result<(), Trap> {
        for lane in lanes_of(mask) {
            let size = u32::try_from(self.get(size, lane)).unwrap_or(u32::MAX);
            let place = around
                .memory
                .place(self.w(dst)[lane], size, lane, Action::Write);
            let place = place.map_err(|kind| Trap {
                kind,
                position,
                lane,
            })?;
            for index in 0..size {
                place
                    .at(index)
                    .write(Cell::Byte, u64::from(self.n(byte)[lane]));
            }
        }
        Ok(())
    }

    /// Atomic operations happen lane by lane, lowest first.
    fn atomic(
        &mut self,
        around: &Surroundings<'_>,
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
            let (address, size) = (self.w(ptr)[lane], cell.bytes());
            let place = around
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
        let narrow = |reg: Reg| (!reg.wide).then(|| self.n(reg.index));
        if let (false, Some(a)) = (collective.d.wide, narrow(collective.a)) {
            let result = collective.apply_narrow(a, collective.b.and_then(narrow), self.mask());
            if let Some(result) = result {
                let mask = self.mask();
                blend(self.n_mut(collective.d.index), &result, mask);
                return;
            }
        }
        let operands = self.operands(collective);
        let result = collective.apply(&operands, self.mask());
        for lane in lanes_of(self.mask()) {
            self.set(collective.d, lane, result[lane]);
        }
    }

    fn pair(&self, [first, second]: [u32; 2]) -> [Narrow; 2] {
        [*self.n(first), *self.n(second)]
    }

    fn matrix(
        &mut self,
        around: &Surroundings<'_>,
        op: &MatrixOp,
        position: usize,
    ) -> Result<(), Trap> {
        match *op {
            MatrixOp::Load { d, scalar, at } => {
                let tile = self.tile(&at, scalar);
                if let Some(stretch) = tile.stretch(around, Action::Read) {
                    for (which, reg) in d.into_iter().enumerate() {
                        tile.fetch(stretch, which, self.n_mut(reg));
                    }
                    return Ok(());
                }
                for lane in 0..32 {
                    for (which, reg) in d.into_iter().enumerate() {
                        let (address, bytes) = (tile.address(lane, which), scalar.bytes());
                        let place = around.memory.place(address, bytes, lane, Action::Read);
                        let place = place.map_err(|kind| Trap {
                            kind,
                            position,
                            lane,
                        })?;
                        self.n_mut(reg)[lane] = place.read(Cell::of(scalar)) as u32;
                    }
                }
            }
            MatrixOp::Store { a, scalar, at } => {
                let tile = self.tile(&at, scalar);
                for lane in 0..32 {
                    for (which, reg) in a.into_iter().enumerate() {
                        let (address, bytes) = (tile.address(lane, which), scalar.bytes());
                        let place = around.memory.place(address, bytes, lane, Action::Write);
                        let place = place.map_err(|kind| Trap {
                            kind,
                            position,
                            lane,
                        })?;
                        place.write(Cell::of(scalar), u64::from(self.n(reg)[lane]));
                    }
                }
            }
            MatrixOp::Diagonal { d, value } => {
                for lane in 0..32 {
                    let (row, column) = element_of_lane(lane);
                    for (which, reg) in d.into_iter().enumerate() {
                        let value = self.n(value)[lane];
                        let on = row == column + which;
                        self.n_mut(reg)[lane] = if on { value } else { 0 };
                    }
                }
            }
            MatrixOp::Product { index } => {
                let of = &around.program.products[index as usize];
                let (a, b) = (self.pair(of.a.0), self.pair(of.b.0));
                let c = of.c.map(|(c, _)| self.pair(c));
                let [first, second] = matrix::multiply(&a, &b, c.as_ref(), of);
                *self.n_mut(of.d[0]) = first;
                *self.n_mut(of.d[1]) = second;
            }
        }
        Ok(())
    }

    /// Where a matrix lies. Pointer and origin are those of the first active lane.
    fn tile(&self, at: &Origin, scalar: Scalar) -> Tile {
        let first = self.mask().trailing_zeros() as usize & 31;
        let wide = |index: u32| self.number(Reg { index, wide: true }, first);
        let (stride, bytes) = (wide(at.stride), u64::from(scalar.bytes()));
        let (row, column) = (wide(at.row), wide(at.column));
        let index = row.wrapping_mul(stride).wrapping_add(column);
        Tile {
            start: wide(at.ptr).wrapping_add(index.wrapping_mul(bytes)),
            stride,
            bytes,
            transposed: self.number(at.transposed, first) & 1 != 0,
        }
    }
}

/// Eight by eight numbers in memory.
#[derive(Clone, Copy, Debug)]
struct Tile {
    start: u64,
    /// Numbers from one row to the next.
    stride: u64,
    bytes: u64,
    transposed: bool,
}

impl Tile {
    fn element(&self, row: u64, column: u64) -> u64 {
        let index = row.wrapping_mul(self.stride).wrapping_add(column);
        self.start.wrapping_add(index.wrapping_mul(self.bytes))
    }

    /// The address of one of a lane's two elements.
    #[inline(always)]
    fn address(&self, lane: usize, which: usize) -> u64 {
        let (row, column) = element_of_lane(lane);
        let (row, column) = (row as u64, (column + which) as u64);
        if self.transposed {
            self.element(column, row)
        } else {
            self.element(row, column)
        }
    }

    /// Reads one element for each lane. The stretch must be this tile's.
    fn fetch(&self, stretch: Stretch, which: usize, numbers: &mut Narrow) {
        let words = self.bytes == 4;
        let (mut across, mut down) = (self.bytes as usize, (self.stride * self.bytes) as usize);
        if self.transposed {
            std::mem::swap(&mut across, &mut down);
        }
        let start = stretch.at(self.start);
        for (lane, number) in numbers.iter_mut().enumerate() {
            let (row, column) = element_of_lane(lane);
            let place = start.wrapping_add(row * down + (column + which) * across);
            *number = if words {
                // SAFETY: an element of the tile, which lies in the stretch, aligned.
                unsafe { u32::get(place) }
            } else {
                // SAFETY: as above.
                u32::from(unsafe { u16::get(place) })
            };
        }
    }

    /// Where all elements lie, if they are 16 or 32 bits wide, aligned and inside one region.
    fn stretch(&self, around: &Surroundings<'_>, action: Action) -> Option<Stretch> {
        if self.stride >= 1 << 24 || !matches!(self.bytes, 2 | 4) {
            return None;
        }
        let (first, last) = (self.start, self.element(7, 7));
        let stretch = around
            .memory
            .stretch(first, last, self.bytes as u32, action)?;
        let bits = first | stretch.at(0) as u64;
        (bits & (self.bytes - 1) == 0).then_some(stretch)
    }
}
