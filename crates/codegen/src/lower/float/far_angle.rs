//! The integer half of the exact reduction of large angles: `assay-num`'s `math::reduce`, as instructions.

use crate::lower::int64::arithmetic::word;
use crate::lower::operand::{FloatSrc, IntSrc, Src};
use crate::lower::select::Lowerer;
use crate::mir::Slice;
use assay_agx::Width;
use assay_num::math::expand::TWO_OVER_PI_BITS;
use assay_ssa::IntCond;

const fn number(value: u32) -> Src {
    Src::Const(value as u64, Width::W32)
}

const fn amount(value: u32) -> Src {
    Src::Const(value as u64, Width::W16)
}

impl Lowerer<'_> {
    /// Quarter turns modulo four of the magnitude of a single from 2¹⁷ on, and the rest as three integers, as floats.
    pub(in crate::lower) fn far_parts(&mut self, bits: Src) -> [FloatSrc; 4] {
        let fraction = self.made(|this, dest| this.mask_into(dest, bits, 0x007f_ffff));
        let mantissa = self.made(|this, dest| {
            let (a, b) = (this.operand(fraction), this.operand(number(0x0080_0000)));
            this.bitop(crate::lower::integer::arithmetic::OR, dest, a, b);
        });
        let exponent = self.made(|this, dest| this.extract_into(dest, bits, amount(23), 8));
        let first = self.made(|this, dest| this.sub_into(dest, exponent, number(120)));
        let index = self.made(|this, dest| this.shr_into(dest, first, amount(5)));
        let shift = self.made(|this, dest| this.mask_into(dest, first, 31));
        let up = self.made(|this, dest| this.sub_into(dest, number(32), shift));
        let words: [Src; 4] = std::array::from_fn(|at| self.table_word(index, at));
        let windows: [Src; 3] = std::array::from_fn(|at| {
            self.made(|this, dest| this.funnel(dest, words[at + 1], words[at], up))
        });
        // 96 bits of the product, from the lowest word on; each carries its upper half on.
        let [top, middle, last] = windows;
        let last = self.carried_product(mantissa, last, number(0));
        let middle = self.carried_product(mantissa, middle, Src::Reg(word(last, 1)));
        let top = self.carried_product(mantissa, top, Src::Reg(word(middle, 1)));
        let (top, low) = (Src::Reg(word(top, 0)), Src::Reg(word(middle, 0)));
        let nearer = self.made(|this, dest| this.add_into(dest, top, number(0x2000_0000)));
        let quarters = self.made(|this, dest| this.shr_into(dest, nearer, amount(30)));
        let whole = self.made(|this, dest| this.shl_into(dest, quarters, amount(30)));
        let rest = self.made(|this, dest| this.sub_into(dest, top, whole));
        let a = self.made(|this, dest| this.asr_into(dest, rest, amount(8)));
        let eight = self.made(|this, dest| this.mask_into(dest, rest, 0xff));
        let b = self.made(|this, dest| this.funnel(dest, low, eight, amount(16)));
        let c = self.made(|this, dest| this.mask_into(dest, low, 0xffff));
        [quarters, a, b, c].map(|integer| {
            let float = self.made(|this, dest| {
                let operand = this.operand(integer);
                // Signed: only `a` can be negative, and none has 31 bits.
                this.convert_inst(11, true, dest, operand);
            });
            FloatSrc::plain(float)
        })
    }

    fn made(&mut self, make: impl FnOnce(&mut Self, Slice)) -> Src {
        let dest = self.temp(Width::W32);
        make(self, dest);
        Src::Reg(dest)
    }

    /// The word of the table `at` places behind the index, which is at most 4.
    fn table_word(&mut self, index: Src, at: usize) -> Src {
        let mut chosen = number(TWO_OVER_PI_BITS[at + 4]);
        for step in (0..4).rev() {
            let (here, otherwise) = (number(TWO_OVER_PI_BITS[at + step]), chosen);
            let test = self.int_compare(IntCond::Eq, index, number(step as u32));
            chosen = self.made(|this, dest| this.select_into(dest, test, here, otherwise));
        }
        chosen
    }

    fn carried_product(&mut self, a: Src, b: Src, c: Src) -> Slice {
        let [a, b, c] = [a, b, c].map(|src| IntSrc { src, sx: false });
        let dest = self.temp(Width::W64);
        self.wide_mul_add(dest, a, b, c);
        dest
    }
}
