//! Simdgroup matrices in memory, and their products.

use super::addresses::Addresses;
use super::observer::{AccessEvent, Observer};
use super::{Batch, ExecutionContext, Trap};
use crate::code::{Cell, Reg};
use crate::lanes::Narrow;
use crate::matrix::{self, MatrixOp, Origin};
use crate::memory::{Action, CheckedRange, Number};
use assay_num::matrix::element_of_lane;
use assay_ssa::Scalar;

impl Batch {
    /// Reports a matrix in memory to the observer. Returns true if all lanes may go on.
    pub(super) fn report_matrix<O: Observer>(
        &self,
        context: &ExecutionContext<'_>,
        observer: &mut O,
        op: &MatrixOp,
        position: usize,
    ) -> bool {
        let (regs, scalar, at, action) = match op {
            MatrixOp::Load { d, scalar, at } => (d, *scalar, at, Action::Read),
            MatrixOp::Store { a, scalar, at } => (a, *scalar, at, Action::Write),
            _ => return true,
        };
        let tile = self.tile(at, scalar);
        let inside = tile.check_range(context, action).is_some();
        let mut allowed = !0;
        for (which, &index) in regs.iter().enumerate() {
            let addresses = std::array::from_fn(|lane| tile.address(lane, which));
            allowed &= observer.on_access(&AccessEvent {
                inside,
                regs: &[Reg { index, wide: false }],
                ..AccessEvent::new(
                    context,
                    self,
                    position,
                    (Addresses::Pointers(&addresses, 0), !0),
                    (action, Cell::of(scalar), scalar.bytes()),
                )
            });
        }
        allowed == !0
    }

    fn pair(&self, [first, second]: [u32; 2]) -> [Narrow; 2] {
        [*self.narrow(first), *self.narrow(second)]
    }

    pub(super) fn matrix(
        &mut self,
        context: &ExecutionContext<'_>,
        op: &MatrixOp,
        position: usize,
    ) -> Result<(), Trap> {
        match *op {
            MatrixOp::Load { d, scalar, at } => {
                let tile = self.tile(&at, scalar);
                if let Some(range) = tile.check_range(context, Action::Read) {
                    for (which, reg) in d.into_iter().enumerate() {
                        // SAFETY: the range was checked for this tile.
                        unsafe { tile.load(range, which, self.narrow_mut(reg)) };
                    }
                    return Ok(());
                }
                for lane in 0..32 {
                    for (which, reg) in d.into_iter().enumerate() {
                        let (address, bytes) = (tile.address(lane, which), scalar.bytes());
                        let place = context.memory.place(address, bytes, lane, Action::Read);
                        let place = place.map_err(|kind| Trap {
                            kind,
                            position,
                            lane,
                        })?;
                        self.narrow_mut(reg)[lane] = place.read(Cell::of(scalar)) as u32;
                    }
                }
            }
            MatrixOp::Store { a, scalar, at } => {
                let tile = self.tile(&at, scalar);
                for lane in 0..32 {
                    for (which, reg) in a.into_iter().enumerate() {
                        let (address, bytes) = (tile.address(lane, which), scalar.bytes());
                        let place = context.memory.place(address, bytes, lane, Action::Write);
                        let place = place.map_err(|kind| Trap {
                            kind,
                            position,
                            lane,
                        })?;
                        place.write(Cell::of(scalar), u64::from(self.narrow(reg)[lane]));
                    }
                }
            }
            MatrixOp::Diagonal { d, value } => {
                for lane in 0..32 {
                    let (row, column) = element_of_lane(lane);
                    for (which, reg) in d.into_iter().enumerate() {
                        let value = self.narrow(value)[lane];
                        let on = row == column + which;
                        self.narrow_mut(reg)[lane] = if on { value } else { 0 };
                    }
                }
            }
            MatrixOp::Product { index } => {
                let of = &context.program.products[index as usize];
                let (a, b) = (self.pair(of.a.0), self.pair(of.b.0));
                let c = of.c.map(|(c, _)| self.pair(c));
                let [first, second] =
                    matrix::multiply(context.program.level, &a, &b, c.as_ref(), of);
                *self.narrow_mut(of.d[0]) = first;
                *self.narrow_mut(of.d[1]) = second;
            }
        }
        Ok(())
    }

    /// Where a matrix lies. Pointer and origin are those of the first active lane.
    fn tile(&self, at: &Origin, scalar: Scalar) -> MatrixTile {
        let first = self.mask().trailing_zeros() as usize & 31;
        let wide = |index: u32| self.evaluate(Reg { index, wide: true }, first);
        let (stride, bytes) = (wide(at.stride), u64::from(scalar.bytes()));
        let (row, column) = (wide(at.row), wide(at.column));
        let index = row.wrapping_mul(stride).wrapping_add(column);
        MatrixTile {
            start: wide(at.ptr).wrapping_add(index.wrapping_mul(bytes)),
            stride,
            bytes,
            transposed: self.evaluate(at.transposed, first) & 1 != 0,
        }
    }
}

/// Eight by eight numbers in memory.
#[derive(Clone, Copy, Debug)]
struct MatrixTile {
    start: u64,
    /// Numbers from one row to the next.
    stride: u64,
    bytes: u64,
    transposed: bool,
}

impl MatrixTile {
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

    /// Reads one element for each lane. The range must be this tile's.
    unsafe fn load(&self, range: CheckedRange<'_>, which: usize, numbers: &mut Narrow) {
        let words = self.bytes == 4;
        let (mut across, mut down) = (self.bytes as usize, (self.stride * self.bytes) as usize);
        if self.transposed {
            std::mem::swap(&mut across, &mut down);
        }
        let start = range.at(self.start);
        for (lane, number) in numbers.iter_mut().enumerate() {
            let (row, column) = element_of_lane(lane);
            let place = start.wrapping_add(row * down + (column + which) * across);
            *number = if words {
                // SAFETY: an element of the tile, which lies in the range, aligned.
                unsafe { u32::get(place) }
            } else {
                // SAFETY: as above.
                u32::from(unsafe { u16::get(place) })
            };
        }
    }

    /// Where all elements lie, if they are 16 or 32 bits wide, aligned and inside one region.
    fn check_range<'a>(
        &self,
        context: &ExecutionContext<'a>,
        action: Action,
    ) -> Option<CheckedRange<'a>> {
        if self.stride >= 1 << 24 || !matches!(self.bytes, 2 | 4) {
            return None;
        }
        let (first, last) = (self.start, self.element(7, 7));
        let range = context
            .memory
            .check_range(first, last, self.bytes as u32, action)?;
        let bits = first | range.at(0) as u64;
        (bits & (self.bytes - 1) == 0).then_some(range)
    }
}
