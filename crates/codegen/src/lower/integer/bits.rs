//! Builtins that move the bits of integers: funnel shifts, bytes, bit fields.

use crate::lower::int64::arithmetic::word;
use crate::lower::operand::{Src, imm};
use crate::lower::select::Lowerer;
use crate::mir::Slice;
use assay_agx::{Op, Width};
use assay_ssa::{IntCond, Scalar};

/// Bits of a word: where they begin, how many there are from there to the top, and how many are meant.
struct Field {
    offset: Src,
    room: Slice,
    count: Src,
}

fn limit(value: u64) -> Src {
    Src::Const(value, Width::W32)
}

impl Lowerer<'_> {
    /// The word of `high:low` that a shift by the amount, modulo the width, leaves.
    pub(in crate::lower) fn funnel_shift(
        &mut self,
        scalar: Scalar,
        high: Src,
        low: Src,
        amount: Src,
        left: bool,
    ) -> Option<Src> {
        let bits = scalar.bits();
        if !bits.is_power_of_two() || bits < 8 {
            return None;
        }
        // The amount modulo the width; a left shift is a right one by what is left of it.
        let amount = match amount.known() {
            Some(known) => Src::Const(known & u64::from(bits - 1), Width::W32),
            None => {
                let cut = self.temp(Width::W32);
                self.mask_into(cut, amount, u64::from(bits - 1));
                Src::Reg(cut)
            }
        };
        let right = match (left, amount.known()) {
            (false, _) => amount,
            (true, Some(known)) => Src::Const(u64::from(bits) - known, Width::W32),
            (true, None) => {
                let rest = self.temp(Width::W32);
                self.sub_into(rest, Src::Const(u64::from(bits), Width::W32), amount);
                Src::Reg(rest)
            }
        };
        let dest = self.temp(Width::W32);
        if bits == 32 {
            let sources = [self.operand(low), self.operand(high), self.operand(right)];
            self.op(Op::Extr, dest, &sources);
        } else {
            let both = self.temp(Width::W32);
            let mask = self.temp(Width::W32);
            self.mask_into(mask, low, scalar.mask());
            let by = imm(i64::from(bits));
            let sources = [crate::lower::operand::used(mask), self.operand(high), by];
            self.op(Op::Bfi, both, &sources);
            self.shr_into(dest, Src::Reg(both), right);
        }
        Some(Src::Reg(dest))
    }

    pub(in crate::lower) fn byte_swapped(&mut self, a: Src, bits: u32) -> Src {
        // Bytes of halves exchanged, then the halves.
        let mask = Src::Const(0x00ff_00ff, Width::W32);
        let by = Src::Const(8, Width::W16);
        let down = self.temp(Width::W32);
        self.shr_into(down, a, by);
        let even = self.temp(Width::W32);
        let (p, q) = (self.operand(Src::Reg(down)), self.operand(mask));
        self.bitop(crate::lower::integer::arithmetic::AND, even, p, q);
        let odd = self.temp(Width::W32);
        let (p, q) = (self.operand(a), self.operand(mask));
        self.bitop(crate::lower::integer::arithmetic::AND, odd, p, q);
        let up = self.temp(Width::W32);
        self.shl_into(up, Src::Reg(odd), by);
        let swapped = self.temp(Width::W32);
        let (p, q) = (self.operand(Src::Reg(even)), self.operand(Src::Reg(up)));
        self.bitop(crate::lower::integer::arithmetic::OR, swapped, p, q);
        if bits == 16 {
            return Src::Reg(swapped);
        }
        let dest = self.temp(Width::W32);
        let sources = [
            crate::lower::operand::used(swapped),
            crate::lower::operand::used(swapped),
            imm(16),
        ];
        self.op(Op::Extr, dest, &sources);
        Src::Reg(dest)
    }

    /// Where `count` bits from `offset` on are, clamped to what there is.
    fn clamped_field(&mut self, offset: Src, count: Src) -> Field {
        let offset = self.extreme_word(true, false, offset, limit(32));
        let room = self.temp(Width::W32);
        self.sub_into(room, limit(32), offset);
        let count = self.extreme_word(true, false, count, Src::Reg(room));
        Field {
            offset,
            room,
            count,
        }
    }

    /// `count` bits from `offset` on, clamped to what there is.
    pub(in crate::lower) fn extracted(
        &mut self,
        a: Src,
        offset: Src,
        count: Src,
        signed: bool,
    ) -> Option<Src> {
        let Field { room, count, .. } = self.clamped_field(offset, count);
        // Up to the top, then down: shifts of 32 give zero or the sign.
        let above = self.temp(Width::W32);
        self.sub_into(above, Src::Reg(room), count);
        let up = self.temp(Width::W32);
        self.shl_into(up, a, Src::Reg(above));
        let rest = self.temp(Width::W32);
        self.sub_into(rest, limit(32), count);
        let field = self.temp(Width::W32);
        match signed {
            true => self.asr_into(field, Src::Reg(up), Src::Reg(rest)),
            false => self.shr_into(field, Src::Reg(up), Src::Reg(rest)),
        }
        let dest = self.temp(Width::W32);
        let none = self.int_compare(IntCond::Eq, count, limit(0));
        self.select_into(dest, none, limit(0), Src::Reg(field));
        Some(Src::Reg(dest))
    }

    /// `base` with `count` bits of `insert` from `offset` on.
    pub(in crate::lower) fn inserted(
        &mut self,
        base: Src,
        insert: Src,
        offset: Src,
        count: Src,
    ) -> Option<Src> {
        let Field { offset, count, .. } = self.clamped_field(offset, count);
        let rest = self.temp(Width::W32);
        self.sub_into(rest, limit(32), count);
        // Ones where the field is.
        let ones = self.temp(Width::W32);
        self.shr_into(ones, limit(0xffff_ffff), Src::Reg(rest));
        let mask = self.temp(Width::W32);
        self.shl_into(mask, Src::Reg(ones), offset);
        let moved = self.temp(Width::W32);
        self.shl_into(moved, insert, offset);
        let new = self.temp(Width::W32);
        let (p, q) = (self.operand(Src::Reg(moved)), self.operand(Src::Reg(mask)));
        self.bitop(crate::lower::integer::arithmetic::AND, new, p, q);
        let kept = self.temp(Width::W32);
        let (p, q) = (self.operand(base), self.operand(Src::Reg(mask)));
        self.bitop(crate::lower::integer::arithmetic::AND_NOT, kept, p, q);
        let dest = self.temp(Width::W32);
        let (p, q) = (self.operand(Src::Reg(new)), self.operand(Src::Reg(kept)));
        self.bitop(crate::lower::integer::arithmetic::OR, dest, p, q);
        Some(Src::Reg(dest))
    }

    /// [`Self::funnel_shift`] of 64-bit numbers: three words in a row, by bit 5 of the
    /// amount, and two of 32 bits out of those.
    pub(in crate::lower) fn wide_funnel_shift(
        &mut self,
        dest: Slice,
        high: Src,
        low: Src,
        amount: Src,
        left: bool,
    ) {
        let words = [low.low(), low.high(), high.low(), high.high()];
        if let Some(known) = amount.known() {
            let known = known & 63;
            let right = if left { 64 - known } else { known };
            return self.known_wide_funnel(dest, words, right);
        }
        let bits = amount.part(0, Width::W16);
        let five = self.temp(Width::W16);
        self.mask_into(five, bits, 32);
        let far = self.int_compare(IntCond::Ne, Src::Reg(five), Src::Const(0, Width::W16));
        let rest = self.temp(Width::W16);
        self.mask_into(rest, bits, 31);
        let mut by = rest;
        if left {
            // Up to 32, which leaves the upper word.
            by = self.temp(Width::W16);
            self.sub_into(by, Src::Const(32, Width::W16), Src::Reg(rest));
        }
        let mut three = [words[0]; 3];
        for at in 0..3 {
            let (above, below) = (words[at + 1], words[at]);
            // A rotation's third word is its first.
            if at == 2 && (above, below) == (words[1], words[0]) {
                three[2] = three[0];
                continue;
            }
            let (yes, no) = if left { (below, above) } else { (above, below) };
            let chosen = self.temp(Width::W32);
            self.select_into(chosen, far, yes, no);
            three[at] = Src::Reg(chosen);
        }
        for at in [0, 1] {
            let (low, high) = (three[usize::from(at)], three[usize::from(at) + 1]);
            self.funnel(word(dest, at), low, high, Src::Reg(by));
        }
    }

    /// Two words of four, from bit `right` on, which is at most 64.
    fn known_wide_funnel(&mut self, dest: Slice, words: [Src; 4], right: u64) {
        let (first, by) = (right as usize / 32, right % 32);
        let at = |index: usize| words.get(index).copied().unwrap_or(words[3]);
        if by == 0 {
            return self.copies(&[(word(dest, 0), at(first)), (word(dest, 1), at(first + 1))]);
        }
        for place in [0, 1] {
            let (low, high) = (
                at(first + usize::from(place)),
                at(first + usize::from(place) + 1),
            );
            self.funnel(word(dest, place), low, high, Src::Const(by, Width::W16));
        }
    }
}
