//! Reductions and prefixes that the hardware has no instruction for, by shuffles.

use crate::lower::operand::{Condition, FloatSrc, Src, float_code, imm, used};
use crate::lower::select::{Done, Lowerer};
use crate::lower::simdgroup::reduce::Combine;
use crate::lower::simdgroup::shuffle::pick;
use crate::mir::Slice;
use assay_agx::{Op, Width};
use assay_ssa::{IntCond, Scalar};

/// A reduction or prefix the hardware does not have.
#[derive(Clone, Copy)]
pub(in crate::lower) struct Steps {
    pub(in crate::lower) combine: Combine,
    pub(in crate::lower) scalar: Scalar,
    pub(in crate::lower) signed: bool,
    pub(in crate::lower) quad: bool,
}

impl Steps {
    const fn lanes(self) -> u64 {
        if self.quad { 4 } else { 32 }
    }

    /// What changes nothing, as `num`'s reductions define it.
    const fn identity(self) -> u64 {
        let (mask, float) = (self.scalar.mask(), self.scalar.is_float());
        let (zero, one, nan) = match self.scalar {
            Scalar::F32 => (0x8000_0000, 0x3f80_0000, 0x7fc0_0000),
            Scalar::F16 => (0x8000, 0x3c00, 0x7e00),
            Scalar::BF16 => (0x8000, 0x3f80, 0x7fc0),
            _ => (0, 1, 0),
        };
        match self.combine {
            Combine::Sum => zero,
            Combine::Product => one,
            Combine::Min | Combine::Max if float => nan,
            Combine::Min if self.signed => mask >> 1,
            Combine::Max if self.signed => mask ^ mask >> 1,
            Combine::And | Combine::Min => mask,
            Combine::Or | Combine::Xor | Combine::Max => 0,
        }
    }

    /// What a prefix without lanes below is.
    fn start(self) -> u64 {
        match self.combine {
            Combine::Product => self.identity(),
            _ => 0,
        }
    }
}

impl Lowerer<'_> {
    /// `dest = a ∘ b` for a combination the hardware has no reduction for.
    pub(in crate::lower) fn combine_into(
        &mut self,
        steps: Steps,
        a: Src,
        b: Src,
        dest: Slice,
    ) -> Done<bool> {
        use assay_ssa::BinaryOp;
        let Steps {
            combine,
            scalar,
            signed,
            ..
        } = steps;
        let cond = match (combine, signed) {
            (Combine::Min, true) => Some(IntCond::Slt),
            (Combine::Min, false) => Some(IntCond::Ult),
            (Combine::Max, true) => Some(IntCond::Sge),
            (Combine::Max, false) => Some(IntCond::Uge),
            _ => None,
        };
        match scalar {
            Scalar::BF16 => {
                let (x, y) = (self.widen_brain(a), self.widen_brain(b));
                let (x, y) = (FloatSrc::plain(x), FloatSrc::plain(y));
                let op = match combine {
                    Combine::Sum => Op::Fadd32,
                    Combine::Product => Op::Fmul32,
                    Combine::Min | Combine::Max => {
                        let code = match combine {
                            Combine::Min => float_code::LESS_OR_NAN,
                            _ => float_code::GREATER_OR_NAN,
                        };
                        let test = self.float_compare(code, false, x, y);
                        self.select_into(dest, test, a, b);
                        return Ok(true);
                    }
                    _ => return Ok(false),
                };
                let single = self.temp(Width::W32);
                self.float_op(op, single, &[x, y]);
                self.round_to_brain(dest, Src::Reg(single));
            }
            Scalar::F16 | Scalar::F32 => {
                let half = scalar == Scalar::F16;
                let op = match (combine, half) {
                    (Combine::Sum, true) => Op::Fadd16,
                    (Combine::Sum, false) => Op::Fadd32,
                    (Combine::Product, true) => Op::Fmul16,
                    (Combine::Product, false) => Op::Fmul32,
                    _ => return Ok(false),
                };
                self.float_op(op, dest, &[FloatSrc::plain(a), FloatSrc::plain(b)]);
            }
            Scalar::I64 => match combine {
                Combine::Sum => {
                    self.wide_sum(Op::Iadd, dest, Self::bare(a), Self::bare(b), 0);
                }
                Combine::Product => self.wide_mul_into(dest, a, b),
                Combine::Min | Combine::Max => {
                    let test = self.wide_compare(cond.unwrap_or(IntCond::Ult), a, b);
                    self.choose_into(dest, test, a, b);
                }
                Combine::And => self.wide_logic(BinaryOp::And, dest, a, b),
                Combine::Or => self.wide_logic(BinaryOp::Or, dest, a, b),
                Combine::Xor => self.wide_logic(BinaryOp::Xor, dest, a, b),
            },
            _ => {
                let zero = Src::Const(0, dest.width);
                let whole = self.temp(dest.width);
                match combine {
                    Combine::Product => self.mul_add_into(whole, a, b, zero),
                    Combine::Sum => self.add_into(whole, a, b),
                    _ => return Ok(false),
                }
                match scalar {
                    Scalar::I16 | Scalar::I32 => self.copy(dest, Src::Reg(whole)),
                    _ => self.mask_into(dest, Src::Reg(whole), scalar.mask()),
                }
            }
        }
        Ok(true)
    }

    /// A shuffle by a known distance, of any width.
    pub(in crate::lower) fn shuffle_by(&mut self, name: &'static str, source: Src, by: u64) -> Src {
        let dest = self.temp(source.width());
        let parts: &[(u8, Width)] = match source.width() {
            Width::W64 => &[(0, Width::W32), (2, Width::W32)],
            width => &[(0, width)],
        };
        for &(half, width) in parts {
            let to = Slice {
                half: dest.half + half,
                width,
                ..dest
            };
            let from = used(self.reg(source.part(half, width)));
            self.cross_inst(Op::Shuffle, Some(name), to, &[from, imm(by as i64)]);
        }
        Src::Reg(dest)
    }

    /// Neighbours first, then pairs of pairs, towards the first lane of the group; the
    /// lanes that are missing are the last ones.
    pub(in crate::lower) fn reduce_in_steps(
        &mut self,
        steps: Steps,
        source: Src,
        dest: Slice,
    ) -> Done<bool> {
        if !self.together() {
            return self.reduce_one_by_one(steps, source, dest);
        }
        let quad = steps.quad;
        let active = self.active(quad);
        let place = self.place_in_group(quad);
        let mut value = source;
        let mut distance = 1;
        while distance < steps.lanes() {
            let down = pick(quad, "simd_shuffle_down", "quad_shuffle_down");
            let other = self.shuffle_by(down, value, distance);
            // Only if the other lane takes part: otherwise it has no value.
            let at = self.temp(Width::W32);
            let by = Src::Const(distance, Width::W32);
            self.add_into(at, Src::Reg(place), by);
            let bit = self.temp(Width::W32);
            self.extract_into(bit, Src::Reg(active), Src::Reg(at), 1);
            let test = self.int_compare(IntCond::Ne, Src::Reg(bit), Src::Const(0, Width::W32));
            let real = self.temp(dest.width);
            self.choose_into(real, test, other, value);
            let both = self.temp(dest.width);
            if !self.combine_into(steps, value, Src::Reg(real), both)? {
                return Ok(false);
            }
            let next = self.temp(dest.width);
            self.choose_into(next, test, Src::Reg(both), value);
            value = Src::Reg(next);
            distance *= 2;
        }
        let all = self.shuffle_by(pick(quad, "simd_shuffle", "quad_shuffle"), value, 0);
        self.copy(dest, all);
        Ok(true)
    }

    /// The number of the lane in its simdgroup or quad.
    fn place_in_group(&mut self, quad: bool) -> Slice {
        let own = self.temp(Width::W32);
        self.special_register(own, 52);
        if !quad {
            return own;
        }
        let inside = self.temp(Width::W32);
        self.mask_into(inside, Src::Reg(own), 3);
        inside
    }

    /// A reduction where lanes are masked off: those cannot hold what is combined on the
    /// way. So each lane's value is given to all, and all combine them in the same order.
    fn reduce_one_by_one(&mut self, steps: Steps, source: Src, dest: Slice) -> Done<bool> {
        let place = self.place_in_group(steps.quad);
        let active = self.active(steps.quad);
        let mut values = self.values_of_all(steps, place, active, source);
        while values.len() > 1 {
            let mut next = Vec::with_capacity(values.len() / 2);
            for pair in values.chunks(2) {
                let &[a, b] = pair else { continue };
                let both = self.temp(dest.width);
                if !self.combine_into(steps, a, b, both)? {
                    return Ok(false);
                }
                next.push(Src::Reg(both));
            }
            values = next;
        }
        if let Some(&all) = values.first() {
            self.copy(dest, all);
        }
        Ok(true)
    }

    /// Each lane's value, in all lanes; what changes nothing for those masked off.
    fn values_of_all(
        &mut self,
        steps: Steps,
        place: Slice,
        active: Slice,
        source: Src,
    ) -> Vec<Src> {
        let identity = steps.identity();
        let mut values = Vec::new();
        for lane in 0..steps.lanes() {
            let value = self.value_of_lane(steps, place, lane, source);
            if identity == 0 {
                values.push(value);
                continue;
            }
            let bit = self.temp(Width::W32);
            let number = Src::Const(lane, Width::W32);
            self.extract_into(bit, Src::Reg(active), number, 1);
            let test = self.int_compare(IntCond::Ne, Src::Reg(bit), Src::Const(0, Width::W32));
            let real = self.temp(value.width());
            let nothing = Src::Reg(self.reg(Src::Const(identity, value.width())));
            self.choose_into(real, test, value, nothing);
            values.push(Src::Reg(real));
        }
        values
    }

    /// The bits of one lane's value, in all lanes; zero if that lane is masked off.
    fn value_of_lane(&mut self, steps: Steps, place: Slice, lane: u64, source: Src) -> Src {
        let to = self.temp(source.width());
        let parts: &[(u8, Width)] = match to.width {
            Width::W64 => &[(0, Width::W32), (2, Width::W32)],
            width => &[(0, width)],
        };
        let number = Src::Const(lane, Width::W32);
        for &(half, width) in parts {
            let test = self.int_compare(IntCond::Eq, Src::Reg(place), number);
            let mine = self.temp(width);
            let part = source.part(half, width);
            self.select_into(mine, test, part, Src::Const(0, width));
            let whole = Slice {
                half: to.half + half,
                width,
                ..to
            };
            self.reduce_inst(
                pick(steps.quad, "simd_or", "quad_or"),
                whole,
                Src::Reg(mine),
            );
        }
        Src::Reg(to)
    }

    /// A prefix where lanes are masked off: all compute it for every lane, and each takes
    /// what is its own.
    fn scan_one_by_one(
        &mut self,
        steps: Steps,
        inclusive: bool,
        source: Src,
        dest: Slice,
    ) -> Done<bool> {
        let place = self.place_in_group(steps.quad);
        let active = self.active(steps.quad);
        let mut values = self.values_of_all(steps, place, active, source);
        if !self.accumulate(steps, &mut values, dest.width)? {
            return Ok(false);
        }
        let first = Src::Const(steps.start(), dest.width);
        let mut below = first;
        for (lane, &value) in (1..steps.lanes()).zip(&values) {
            let test = self.int_compare(IntCond::Eq, Src::Reg(place), Src::Const(lane, Width::W32));
            let chosen = self.temp(dest.width);
            self.choose_into(chosen, test, value, below);
            below = Src::Reg(chosen);
        }
        if steps.start() != steps.identity() {
            let test = self.any_below(place, active);
            let chosen = self.temp(dest.width);
            self.choose_into(chosen, test, below, first);
            below = Src::Reg(chosen);
        }
        if inclusive {
            return self.combine_into(steps, below, source, dest);
        }
        self.copy(dest, below);
        Ok(true)
    }

    /// Combines each value with those before it: floats in the order of a prefix, integers
    /// in the shortest.
    fn accumulate(&mut self, steps: Steps, values: &mut [Src], width: Width) -> Done<bool> {
        let mut distance = 1;
        while distance < values.len() {
            let before: Vec<Src> = values.to_vec();
            for lane in distance..values.len() {
                let other = match steps.scalar.is_float() {
                    true => before[lane - distance],
                    false => values[lane - 1],
                };
                let both = self.temp(width);
                if !self.combine_into(steps, other, values[lane], both)? {
                    return Ok(false);
                }
                values[lane] = Src::Reg(both);
            }
            if !steps.scalar.is_float() {
                break;
            }
            distance *= 2;
        }
        Ok(true)
    }

    /// Whether a lane below takes part.
    fn any_below(&mut self, place: Slice, active: Slice) -> Condition {
        let one = Src::Const(1, Width::W32);
        let (own, lower, below) = (
            self.temp(Width::W32),
            self.temp(Width::W32),
            self.temp(Width::W32),
        );
        self.shl_into(own, one, Src::Reg(place));
        self.sub_into(lower, Src::Reg(own), one);
        self.bitop(
            crate::lower::integer::arithmetic::AND,
            below,
            used(active),
            used(lower),
        );
        self.int_compare(IntCond::Ne, Src::Reg(below), Src::Const(0, Width::W32))
    }

    /// The value 1, 2, 4, … lanes below is added, where there is such a lane.
    pub(in crate::lower) fn scan_in_steps(
        &mut self,
        steps: Steps,
        inclusive: bool,
        source: Src,
        dest: Slice,
    ) -> Done<bool> {
        if !self.together() {
            return self.scan_one_by_one(steps, inclusive, source, dest);
        }
        let quad = steps.quad;
        let place = self.place_in_group(quad);
        let up = pick(quad, "simd_shuffle_up", "quad_shuffle_up");
        let mut value = source;
        let mut distance = 1;
        while distance < steps.lanes() {
            let other = self.shuffle_by(up, value, distance);
            let both = self.temp(dest.width);
            if !self.combine_into(steps, other, value, both)? {
                return Ok(false);
            }
            let by = Src::Const(distance, Width::W32);
            let test = self.int_compare(IntCond::Uge, Src::Reg(place), by);
            let next = self.temp(dest.width);
            self.choose_into(next, test, Src::Reg(both), value);
            value = Src::Reg(next);
            distance *= 2;
        }
        if inclusive && !steps.scalar.is_float() {
            self.copy(dest, value);
            return Ok(true);
        }
        let below = self.shuffle_by(up, value, 1);
        let start = Src::Const(steps.start(), dest.width);
        let start = match dest.width {
            Width::W64 => Src::Reg(self.reg(start)),
            _ => start,
        };
        let test = self.int_compare(IntCond::Eq, Src::Reg(place), Src::Const(0, Width::W32));
        if !inclusive {
            self.choose_into(dest, test, start, below);
            return Ok(true);
        }
        // The order of floats: what is below first, then the lane's own.
        let before = self.temp(dest.width);
        self.choose_into(before, test, start, below);
        self.combine_into(steps, Src::Reg(before), source, dest)
    }
}
