//! Simdgroup matrices: two elements of a row per lane.

use crate::lower::memory::access::Direction;
use crate::lower::memory::address::{Address, Index, Term};
use crate::lower::operand::{FloatSrc, Src, used};
use crate::lower::select::{Done, Lowerer, NodeCode, element};
use crate::mir::{Inst, Operand, Slice};
use assay_agx::{Field, Op, Width};
use assay_ssa::builtin::Builtin;
use assay_ssa::{Access, IntCond, Scalar, Space, Value};

impl Lowerer<'_> {
    pub(in crate::lower) fn matrix(
        &mut self,
        builtin: Builtin,
        args: &[Value],
        result: Option<Value>,
    ) -> Done {
        match (builtin, args, result) {
            (Builtin::MatrixLoad, &[ptr, stride, origin, transposed], Some(result)) => {
                let scalar = self.scalar_type(result).unwrap_or(Scalar::F32);
                let Some((_, first)) = self.needed(result).first().copied() else {
                    return Ok(());
                };
                let data = Slice { count: 2, ..first };
                self.move_matrix(
                    Direction::Load,
                    scalar,
                    data,
                    [ptr, stride, origin, transposed],
                )
            }
            (Builtin::MatrixStore, &[matrix, ptr, stride, origin, transposed], _) => {
                let scalar = self.scalar_type(matrix).unwrap_or(Scalar::F32);
                let data = self.matrix_pair(matrix)?;
                self.move_matrix(
                    Direction::Store,
                    scalar,
                    data,
                    [ptr, stride, origin, transposed],
                )
            }
            (Builtin::MatrixMultiply, &[a, b], Some(result)) => self.product(a, b, None, result),
            (Builtin::MatrixMultiplyAdd, &[a, b, c], Some(result)) => {
                self.product(a, b, Some(c), result)
            }
            (Builtin::MatrixDiagonal, &[value], Some(result)) => self.diagonal(value, result),
            _ => self.unsupported(format!("the builtin {}", builtin.info().name)),
        }
    }

    /// The two elements of a matrix, side by side.
    fn matrix_pair(&mut self, matrix: Value) -> Done<Slice> {
        let sources = [self.src(matrix, 0)?, self.src(matrix, 1)?];
        Ok(self.side_by_side(&sources))
    }

    /// The same as singles, when they are of another type.
    fn single_pair(&mut self, matrix: Value) -> Done<Slice> {
        if self.scalar_type(matrix) != Some(Scalar::BF16) {
            return self.matrix_pair(matrix);
        }
        let pair = self.group(Width::W32, 2);
        for index in 0..2 {
            let src = self.src(matrix, u32::from(index))?;
            self.widen_brain_into(element(pair, index), src);
        }
        Ok(pair)
    }

    fn product(&mut self, a: Value, b: Value, c: Option<Value>, result: Value) -> Done {
        let types = [Some(a), Some(b), c, Some(result)];
        let half = |value: Value| self.scalar_type(value) == Some(Scalar::F16);
        let all_half = types.into_iter().flatten().all(half);
        let to = self.scalar_type(result).unwrap_or(Scalar::F32);
        let Some((_, first)) = self.needed(result).first().copied() else {
            return Ok(());
        };
        let dest = Slice { count: 2, ..first };
        let (x, y) = (self.single_pair(a)?, self.single_pair(b)?);
        let width = if all_half { Width::W16 } else { Width::W32 };
        let z = match c {
            Some(c) => {
                let z = self.single_pair(c)?;
                match z.width == width {
                    true => z,
                    // A half accumulator of a product in singles.
                    false => {
                        let wide = self.group(Width::W32, 2);
                        for index in 0..2 {
                            let src = FloatSrc::plain(Src::Reg(element(z, index)));
                            self.float_move(element(wide, index), src);
                        }
                        wide
                    }
                }
            }
            None => {
                let zero = Src::Const(0, width);
                self.side_by_side(&[zero, zero])
            }
        };
        let direct = dest.width == width && to != Scalar::BF16;
        let out = if direct { dest } else { self.group(width, 2) };
        let op = match all_half {
            true => Op::SimdMatrixFmadd16,
            false => Op::SimdMatrixFmadd32,
        };
        let mut inst = Inst::new(op)
            .with(Field::Dest, Operand::Def(out))
            .with(Field::A, used(x))
            .with(Field::B, used(y))
            .with(Field::C, used(z));
        inst.convergent = true;
        self.push(inst);
        if !direct {
            for index in 0..2 {
                let single = Src::Reg(element(out, index));
                self.narrow_into(element(dest, index), to, single);
            }
        }
        Ok(())
    }

    /// Row and first column of the lane's elements: the same everywhere, so they are computed
    /// once, at the start of the kernel.
    fn lane_place(&mut self) -> (Src, Src) {
        let (row, column) = match self.lane_place {
            Some(known) => known,
            None => {
                let fresh = (self.temp(Width::W32), self.temp(Width::W32));
                self.lane_place = Some(fresh);
                fresh
            }
        };
        (Src::Reg(row), Src::Reg(column))
    }

    /// `row · stride + column` of the lane's elements, for a stride that is a number: computed
    /// once as well.
    fn lane_index(&mut self, stride: u64, turned: bool) -> Option<Slice> {
        /// Each takes a register for the whole kernel.
        const MOST: usize = 4;
        self.lane_place();
        let known = self
            .lane_indices
            .iter()
            .find(|(key, _)| *key == (stride, turned));
        if let Some((_, index)) = known {
            return Some(*index);
        }
        if self.lane_indices.len() == MOST {
            return None;
        }
        let index = self.temp(Width::W32);
        self.lane_indices.push(((stride, turned), index));
        Some(index)
    }

    /// What [`Self::lane_place`] and [`Self::lane_index`] promised, to be run before everything
    /// else.
    pub(in crate::lower) fn lane_place_code(&mut self) -> Option<NodeCode> {
        let (row, column) = self.lane_place.take()?;
        self.loc = None;
        self.lane_place_into(row, column);
        for ((stride, turned), index) in std::mem::take(&mut self.lane_indices) {
            let (line, place) = if turned { (column, row) } else { (row, column) };
            let stride = Src::Const(stride, Width::W32);
            self.mul_add_into(index, Src::Reg(line), stride, Src::Reg(place));
        }
        Some(NodeCode {
            code: std::mem::take(&mut self.out),
            ..NodeCode::default()
        })
    }

    fn lane_place_into(&mut self, row: Slice, column: Slice) {
        let lane = self.temp(Width::W32);
        self.special_register(lane, 52);
        let lane = Src::Reg(lane);
        let by = |amount: u64| Src::Const(amount, Width::W16);
        // row = bit 4 · 4 + bits 1–2, column = bit 3 · 4 + bit 0 · 2
        let middle = self.temp(Width::W32);
        self.extract_into(middle, lane, by(1), 2);
        let top = self.temp(Width::W32);
        self.shr_into(top, lane, by(4));
        let (p, q) = (Self::bare(Src::Reg(middle)), Self::bare(Src::Reg(top)));
        let _ = self.sum(Op::Iadd, row, p, q, 2);
        let third = self.temp(Width::W32);
        self.extract_into(third, lane, by(3), 1);
        let lowest = self.temp(Width::W32);
        self.mask_into(lowest, lane, 1);
        let both = self.temp(Width::W32);
        let (p, q) = (Self::bare(Src::Reg(lowest)), Self::bare(Src::Reg(third)));
        let _ = self.sum(Op::Iadd, both, p, q, 1);
        self.shl_into(column, Src::Reg(both), by(1));
    }

    fn diagonal(&mut self, value: Value, result: Value) -> Done {
        let number = self.scalar(value)?;
        let (row, column) = self.lane_place();
        for (index, dest) in self.needed(result) {
            let at = self.temp(Width::W32);
            self.add_into(at, column, Src::Const(index.into(), Width::W32));
            let test = self.int_compare(IntCond::Eq, row, Src::Reg(at));
            self.select_into(dest, test, number, Src::Const(0, dest.width));
        }
        Ok(())
    }

    /// Loads or stores a matrix: element (r, c) is at `(origin + (r, c)) · (stride, 1)`.
    fn move_matrix(
        &mut self,
        direction: Direction,
        scalar: Scalar,
        data: Slice,
        [ptr, stride, origin, transposed]: [Value; 4],
    ) -> Done {
        let Some(turned) = self.src_if_known(transposed, 0)? else {
            return self.unsupported("a matrix transposed by a varying choice");
        };
        let space = self.space(ptr)?;
        let bytes = scalar.bytes();
        let base = self.address(ptr, bytes)?;
        let memory = self.memory(&base, space, Access::aligned(bytes));
        let stride = self.scalar(stride)?.low();
        let start = [self.src(origin, 0)?.low(), self.src(origin, 1)?.low()];
        let index = self.element_index(stride, start, turned & 1 != 0);
        if turned & 1 == 0 {
            return self.at_index(direction, space, &base, (index, bytes), data, memory);
        }
        let second = self.temp(Width::W32);
        self.add_into(second, Src::Reg(index), stride);
        for (number, index) in [(0, index), (1, second)] {
            let one = element(data, number);
            self.at_index(direction, space, &base, (index, bytes), one, memory)?;
        }
        Ok(())
    }

    /// `(row + origin row) · stride + column + origin column` of the lane's first element.
    fn element_index(&mut self, stride: Src, start: [Src; 2], turned: bool) -> Slice {
        let at_origin = start.iter().all(|start| start.known() == Some(0));
        if let (true, Some(stride)) = (at_origin, stride.known())
            && let Some(index) = self.lane_index(stride, turned)
        {
            return index;
        }
        let (row, column) = self.lane_place();
        let (row, column) = if turned { (column, row) } else { (row, column) };
        let line = match start[1].known() {
            Some(0) => row,
            _ => {
                let sum = self.temp(Width::W32);
                self.add_into(sum, row, start[1]);
                Src::Reg(sum)
            }
        };
        let place = match start[0].known() {
            Some(0) => column,
            _ => {
                let sum = self.temp(Width::W32);
                self.add_into(sum, column, start[0]);
                Src::Reg(sum)
            }
        };
        let index = self.temp(Width::W32);
        self.mul_add_into(index, line, stride, place);
        index
    }

    /// An access at an address plus an index that is a register.
    fn at_index(
        &mut self,
        direction: Direction,
        space: Space,
        base: &Address,
        (index, bytes): (Slice, u32),
        data: Slice,
        memory: crate::mir::Memory,
    ) -> Done {
        let mut address = base.clone();
        address.terms.push(Term {
            index: Index::Reg(index),
            scale: bytes,
            signed: false,
        });
        self.transfer(direction, space, &address, 0, (bytes, bytes), data, memory)
    }
}
