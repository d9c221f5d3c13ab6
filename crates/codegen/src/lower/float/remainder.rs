//! The float remainder `a − b · trunc(a / b)`, exact.
//!
//! Twelve bits of the quotient are taken off at a time: with `d = b · 2^k` not more than
//! 2¹³ times smaller than what is left, the quotient by `d` is estimated from slightly
//! above; then `left − q · d` is exact, and one `d` too much is given back.

use crate::lower::operand::{FloatSrc, Src, float_code};
use crate::lower::select::{Code, Done, Lowerer, straight};
use crate::mir::Slice;
use assay_agx::{Op, Width};
use assay_ssa::{IntCond, Scalar, Value};

const fn constant(bits: u32) -> FloatSrc {
    FloatSrc::plain(Src::Const(bits as u64, Width::W32))
}

const ONE: FloatSrc = constant(0x3f80_0000);
const INFINITY: FloatSrc = constant(0x7f80_0000);
const ZERO: FloatSrc = constant(0);

impl Lowerer<'_> {
    /// One number of a remainder of any float type.
    pub(in crate::lower) fn remainder(
        &mut self,
        scalar: Scalar,
        args: [Value; 2],
        lane: u32,
        dest: Slice,
    ) -> Done {
        let (a, b) = (self.single(args[0], lane)?, self.single(args[1], lane)?);
        let nothing = FloatSrc::plain(crate::lower::float::arithmetic::NOTHING);
        let dividend = self.computed(Op::Fadd32, &[a, nothing]);
        let (x, y) = (
            self.computed(Op::Fadd32, &[a.magnitude(), nothing]),
            self.computed(Op::Fadd32, &[b.magnitude(), nothing]),
        );
        // What no quotient exists for goes through the loop as 0 / 1.
        let positive = self.chosen(float_code::LESS, (ZERO, y), y, ONE);
        let divisor = self.chosen(float_code::LESS, (y, INFINITY), positive, ONE);
        let finite = self.chosen(float_code::LESS, (x, INFINITY), x, ZERO);
        let start = self.chosen(float_code::LESS, (y, INFINITY), finite, ZERO);
        let left = self.temp(Width::W32);
        self.copy(left, start.src);
        self.take_off(left, divisor);
        let left = FloatSrc::plain(Src::Reg(left));
        let rest = self.chosen(float_code::LESS, (y, INFINITY), left, x);
        let signed = self.temp(Width::W32);
        self.insert_low(signed, dividend.src, rest.src, 31);
        let signed = FloatSrc::plain(Src::Reg(signed));
        let nan = constant(assay_num::NAN32.to_bits());
        let known = self.chosen(float_code::LESS, (x, INFINITY), signed, nan);
        let result = self.chosen(float_code::LESS, (ZERO, y), known, nan);
        self.narrow_into(dest, scalar, result.src);
        Ok(())
    }

    fn computed(&mut self, op: Op, sources: &[FloatSrc]) -> FloatSrc {
        let dest = self.temp(Width::W32);
        self.float_op(op, dest, sources);
        FloatSrc::plain(Src::Reg(dest))
    }

    fn chosen(
        &mut self,
        code: u8,
        (a, b): (FloatSrc, FloatSrc),
        yes: FloatSrc,
        no: FloatSrc,
    ) -> FloatSrc {
        let dest = self.temp(Width::W32);
        let test = self.float_compare(code, false, a, b);
        self.select_into(dest, test, yes.src, no.src);
        FloatSrc::plain(Src::Reg(dest))
    }

    /// Subtracts multiples of the divisor from `left` until it is smaller.
    fn take_off(&mut self, left: Slice, divisor: FloatSrc) {
        let before = std::mem::take(&mut self.out);
        let by = |amount: u64| Src::Const(amount, Width::W16);
        let word = |value: u64| Src::Const(value, Width::W32);
        // k = exponents' difference − 12, at least 0
        let (above, below) = (self.temp(Width::W32), self.temp(Width::W32));
        self.shr_into(above, Src::Reg(left), by(23));
        self.shr_into(below, divisor.src, by(23));
        let apart = self.temp(Width::W32);
        self.sub_into(apart, Src::Reg(above), Src::Reg(below));
        let more = self.temp(Width::W32);
        self.sub_into(more, Src::Reg(apart), word(12));
        let k = self.temp(Width::W32);
        let test = self.int_compare(IntCond::Sgt, Src::Reg(more), word(0));
        self.select_into(k, test, Src::Reg(more), word(0));
        let field = self.temp(Width::W32);
        self.shl_into(field, Src::Reg(k), by(23));
        let d = self.temp(Width::W32);
        self.add_into(d, divisor.src, Src::Reg(field));
        let (left_now, d) = (
            FloatSrc::plain(Src::Reg(left)),
            FloatSrc::plain(Src::Reg(d)),
        );
        // Very large numbers are scaled down, so that their reciprocals are not zero.
        let large = constant(0x5f80_0000);
        let scale = self.chosen(
            float_code::GREATER,
            (left_now, large),
            constant(0x1f80_0000),
            ONE,
        );
        let small_left = self.computed(Op::Fmul32, &[left_now, scale]);
        let small_d = self.computed(Op::Fmul32, &[d, scale]);
        let inverse = self.computed(Op::Rcp, &[small_d]);
        let ratio = self.computed(Op::Fmul32, &[small_left, inverse]);
        let above = self.computed(Op::Fmadd32, &[ratio, constant(0x3580_0000), ratio]);
        let q = self.computed(Op::Trunc, &[above]);
        let rest = self.computed(Op::Fmadd32, &[q.negated(), d, left_now]);
        let given_back = self.computed(Op::Fadd32, &[rest, d]);
        let test = self.float_compare(float_code::LESS, false, rest, ZERO);
        self.select_into(left, test, given_back.src, rest.src);
        let again = self.float_compare(float_code::GREATER_EQUAL, false, left_now, divisor);
        let body = std::mem::replace(&mut self.out, before);
        self.out.push(Code::Loop {
            body: straight(body),
            again,
            after: Vec::new(),
        });
    }
}
