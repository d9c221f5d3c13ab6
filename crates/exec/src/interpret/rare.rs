//! Operations that are not worth being in the loop itself.

use super::watch::Watch;
use super::{Simdgroup, Surroundings, Trap};
use crate::code::{Cell, Op, PerLane, Program, Reg};
use crate::collective::{Collective, Operands};
use crate::error::FaultKind;
use crate::lanes::{Narrow, lanes_of};
use crate::matrix::{self, MatrixOp, Origin};
use crate::memory::Action;
use assay_num::matrix::element_of_lane;
use assay_ssa::Scalar;

impl Simdgroup {
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
            Op::MemCopy { dst, src, size } => self.copy(around, dst, src, size, position)?,
            Op::MemSet { dst, byte, size } => self.fill(around, dst, byte, size, position)?,
            Op::Atomic { .. } | Op::CompareExchange { .. } => {
                self.atomic(around, op, position)?;
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
            Op::Collective { index } => self.collective(&program.collectives[index as usize]),
            Op::Matrix { index } => {
                self.matrix(around, &program.matrices[index as usize], position)?;
            }
            _ => {}
        }
        let _ = watch;
        Ok(())
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
        dst: u32,
        src: u32,
        size: Reg,
        position: usize,
    ) -> Result<(), Trap> {
        for lane in lanes_of(self.mask) {
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
        dst: u32,
        byte: u32,
        size: Reg,
        position: usize,
    ) -> Result<(), Trap> {
        for lane in lanes_of(self.mask) {
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
    fn atomic(&mut self, around: &Surroundings<'_>, op: &Op, position: usize) -> Result<(), Trap> {
        for lane in lanes_of(self.mask) {
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

    fn collective(&mut self, collective: &Collective) {
        let operand = |reg: Option<Reg>| reg.map(|reg| self.all(reg));
        let operands = Operands {
            a: self.all(collective.a),
            b: operand(collective.b).unwrap_or([0; 32]),
            c: operand(collective.c).unwrap_or([0; 32]),
            e: operand(collective.e),
        };
        let result = collective.apply(&operands, self.mask);
        for lane in lanes_of(self.mask) {
            self.set(collective.d, lane, result[lane]);
        }
    }

    fn pair(&self, regs: [u32; 2]) -> [Narrow; 2] {
        regs.map(|reg| *self.n(reg))
    }

    fn matrix(
        &mut self,
        around: &Surroundings<'_>,
        op: &MatrixOp,
        position: usize,
    ) -> Result<(), Trap> {
        match *op {
            MatrixOp::Load { d, scalar, at } => {
                for lane in 0..32 {
                    for (which, reg) in d.into_iter().enumerate() {
                        let place = self.element(around, &at, scalar, (lane, which), Action::Read);
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
                for lane in 0..32 {
                    for (which, reg) in a.into_iter().enumerate() {
                        let place = self.element(around, &at, scalar, (lane, which), Action::Write);
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

    /// Where an element of a matrix lies. Pointer and origin are those of the first active lane.
    fn element(
        &self,
        around: &Surroundings<'_>,
        at: &Origin,
        scalar: Scalar,
        (lane, which): (usize, usize),
        action: Action,
    ) -> Result<crate::memory::Place, FaultKind> {
        let first = self.mask.trailing_zeros() as usize & 31;
        let (row, column) = element_of_lane(lane);
        let (mut row, mut column) = (row as u64, (column + which) as u64);
        if self.get(at.transposed, first) & 1 != 0 {
            std::mem::swap(&mut row, &mut column);
        }
        let row = row.wrapping_add(self.w(at.row)[first]);
        let column = column.wrapping_add(self.w(at.column)[first]);
        let index = row
            .wrapping_mul(self.w(at.stride)[first])
            .wrapping_add(column);
        let distance = index.wrapping_mul(scalar.bytes().into());
        let address = self.w(at.ptr)[first].wrapping_add(distance);
        around.memory.place(address, scalar.bytes(), lane, action)
    }
}
