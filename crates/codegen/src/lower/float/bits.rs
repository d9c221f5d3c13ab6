//! Builtins on the bits of floats: classes, exponents, neighbours.

use crate::lower::operand::{FloatSrc, Src, cut, float_code};
use crate::lower::select::{Done, Lowerer};
use crate::mir::Slice;
use assay_agx::{Op, Width};
use assay_ssa::{IntCond, Scalar, Value};

/// The classes of normal numbers, as `llvm.is.fpclass` counts them.
pub(in crate::lower) const NORMAL: u64 = 0x108;

/// Each class of LLVM by magnitude: its bit for negative numbers, and for positive ones.
const CLASSES: [(u64, u64); 6] = [
    (0x20, 0x40),  // zeros
    (0x10, 0x80),  // denormals
    (0x08, 0x100), // normal numbers
    (0x04, 0x200), // infinities
    (0x01, 0x01),  // signalling NaNs
    (0x02, 0x02),  // quiet NaNs
];

/// Bits from the first up to but without the second.
type Range = (u64, u64);

/// The ranges of numbers, read as unsigned, whose class is among these.
fn ranges(scalar: Scalar, classes: u64, negative: bool) -> Vec<Range> {
    let (infinity, fraction) = match scalar {
        Scalar::F16 => (0x7c00, 10),
        Scalar::BF16 => (0x7f80, 7),
        _ => (0x7f80_0000, 23),
    };
    let sign = 1 << (scalar.bits() - 1);
    let quiet = infinity | 1 << (fraction - 1);
    let starts = [0, 1, 1 << fraction, infinity, infinity + 1, quiet, sign];
    let base = if negative { sign } else { 0 };
    let mut found: Vec<Range> = Vec::new();
    let ends = starts.iter().skip(1);
    for ((start, end), (minus, plus)) in starts.iter().zip(ends).zip(CLASSES) {
        let bit = if negative { minus } else { plus };
        if classes & bit == 0 {
            continue;
        }
        match found.last_mut() {
            Some(last) if last.1 == base + start => last.1 = base + end,
            _ => found.push((base + start, base + end)),
        }
    }
    found
}

impl Lowerer<'_> {
    /// Whether a float is of one of some classes.
    pub(in crate::lower) fn class_test(
        &mut self,
        scalar: Scalar,
        x: Value,
        classes: u64,
        lane: u32,
        dest: Slice,
    ) -> Done {
        let mut bits = self.src(x, lane)?;
        let width = bits.width();
        let mut wanted = ranges(scalar, classes, false);
        let below = ranges(scalar, classes, true);
        let sign = 1 << (scalar.bits() - 1);
        let same = wanted.len() == below.len()
            && wanted
                .iter()
                .zip(&below)
                .all(|(plus, minus)| plus.0 + sign == minus.0 && plus.1 + sign == minus.1);
        let mut top = 2 * sign;
        if same {
            let magnitude = self.temp(width);
            self.mask_into(magnitude, bits, sign - 1);
            bits = Src::Reg(magnitude);
            top = sign;
        } else {
            wanted.extend(below);
        }
        let truth = |holds: bool| Src::Const(u64::from(holds), Width::W16);
        let mut found = truth(false);
        for (start, end) in wanted {
            let number = |value: u64| Src::Const(value, width);
            let test = if end == top {
                self.int_compare(IntCond::Uge, bits, number(start))
            } else if end == start + 1 {
                self.int_compare(IntCond::Eq, bits, number(start))
            } else {
                let from = match start {
                    0 => bits,
                    _ => {
                        let from = self.temp(width);
                        self.sub_into(from, bits, number(start));
                        Src::Reg(from)
                    }
                };
                self.int_compare(IntCond::Ult, from, number(end - start))
            };
            let either = self.temp(Width::W16);
            self.select_into(either, test, truth(true), found);
            found = Src::Reg(either);
        }
        self.copy(dest, found);
        Ok(())
    }

    /// The exponent of a number; the least integer for zeros, the largest for infinities
    /// and NaN.
    pub(in crate::lower) fn exponent(&mut self, x: Value, lane: u32, dest: Slice) -> Done {
        let word = |value: u64| Src::Const(value, Width::W32);
        let source = self.single(x, lane)?.magnitude();
        let bits = self.as_single(source);
        let biased = self.temp(Width::W32);
        self.shr_into(biased, bits, Src::Const(23, Width::W16));
        let exponent = self.temp(Width::W32);
        self.sub_into(exponent, Src::Reg(biased), word(127));
        let finite = self.temp(Width::W32);
        let test = self.int_compare(IntCond::Ult, Src::Reg(biased), word(255));
        self.select_into(finite, test, Src::Reg(exponent), word(0x7fff_ffff));
        let test = self.int_compare(IntCond::Eq, Src::Reg(biased), word(0));
        self.select_into(dest, test, word(0x8000_0000), Src::Reg(finite));
        Ok(())
    }

    /// The number next to the first one in the direction of the second.
    pub(in crate::lower) fn neighbour(
        &mut self,
        scalar: Scalar,
        [from, to]: [Value; 2],
        lane: u32,
        dest: Slice,
    ) -> Done {
        // Halves have denormals. A brain float's neighbour is a step in the upper half.
        let (width, smallest, step, nan) = match scalar {
            Scalar::F16 => (Width::W16, 1, 1, 0x7e00),
            Scalar::BF16 => (Width::W32, 0x0080_0000, 0x1_0000, 0x7fc0_0000),
            _ => (Width::W32, 0x0080_0000, 1, 0x7fc0_0000),
        };
        let number = |value: u64| Src::Const(value, width);
        let (from, to) = (self.single(from, lane)?, self.single(to, lane)?);
        let (from, to) = (self.flushed(width, from), self.flushed(width, to));
        let (x, y) = (FloatSrc::plain(from), FloatSrc::plain(to));
        let zero = FloatSrc::plain(Src::Const(0, Width::W32));
        // Away from zero if it is up and the number is positive, or neither.
        let (up, down) = (self.temp(width), self.temp(width));
        let higher = self.float_compare(float_code::GREATER, false, y, x);
        let (more, less) = (number(step), number(cut(u64::wrapping_neg(step), width)));
        self.select_into(up, higher, more, less);
        self.select_into(down, higher, less, more);
        let by = self.temp(width);
        let negative = self.float_compare(float_code::LESS, false, x, zero);
        self.select_into(by, negative, Src::Reg(down), Src::Reg(up));
        let next = self.temp(width);
        self.add_into(next, from, Src::Reg(by));
        let next = self.flushed(width, FloatSrc::plain(Src::Reg(next)));
        // Beside zero is the smallest number.
        let beside = self.temp(width);
        self.insert_low(beside, to, number(smallest), width.bits() - 1);
        let moved = self.temp(width);
        let test = self.float_compare(float_code::EQUAL, false, x, zero);
        self.select_into(moved, test, Src::Reg(beside), next);
        let there = self.temp(width);
        let test = self.float_compare(float_code::EQUAL, false, x, y);
        self.select_into(there, test, to, Src::Reg(moved));
        let mut result = Src::Reg(there);
        for x in [x, y] {
            let real = self.temp(width);
            let test = self.float_compare(float_code::EQUAL, false, x, x);
            self.select_into(real, test, result, number(nan));
            result = Src::Reg(real);
        }
        match scalar {
            Scalar::BF16 => self.copy(dest, result.part(1, Width::W16)),
            _ => self.copy(dest, result),
        }
        Ok(())
    }

    /// A number as instructions read it: denormal singles are zeros.
    fn flushed(&mut self, width: Width, source: FloatSrc) -> Src {
        if width == Width::W16 {
            return self.settled(source);
        }
        let flushed = self.temp(width);
        let nothing = FloatSrc::plain(crate::lower::float::arithmetic::NOTHING);
        self.float_op(Op::Fadd32, flushed, &[source, nothing]);
        Src::Reg(flushed)
    }
}
