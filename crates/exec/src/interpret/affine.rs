//! Affine values: `base + Σ bit · stride` over the bits of the lane index.
//!
//! Most of what a kernel computes about addresses is affine in the bits of a lane's index in its batch: a thread's position in
//! the threadgroup is (if the sides of the threadgroup are powers of two), and with it most indices and addresses. Affine values
//! are added, multiplied by a uniform number and compared with one in a few steps for all lanes of a batch at once, and tell the
//! range of memory they address without a look at any lane.

use super::address_range::{AddressRange, IndexRange, SimdgroupRange};
use super::strides::{BITS, Strides};
use crate::lanes::{Rule, one_simdgroup};

/// A number for each lane of a batch: `base`, and for each bit that is set in the lane's index the stride of that bit.
/// Numbers of narrow registers are meant modulo 2³² and have no upper bits in their base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub(crate) struct Affine {
    pub(crate) base: u64,
    pub(crate) strides: Strides,
}

/// How the bits of a number are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    Unsigned,
    Signed,
    /// 64 bits; with the sign bit set only if it is signed.
    Wide {
        signed: bool,
    },
}

impl Affine {
    /// The same number in all lanes.
    #[inline(always)]
    pub(crate) fn uniform(base: u64) -> Self {
        Self {
            base,
            strides: Strides::UNIFORM,
        }
    }

    #[inline(always)]
    pub(crate) fn new(base: u64, strides: [i32; BITS]) -> Self {
        Self {
            base,
            strides: Strides::of(strides),
        }
    }

    /// The number of one lane, as a 64-bit one.
    pub(super) fn at(&self, simdgroup: usize, lane: usize) -> u64 {
        let mut number = self
            .base
            .wrapping_add_signed(self.strides.of_simdgroup(simdgroup));
        for bit in (0..5).filter(|bit| lane >> bit & 1 != 0) {
            number = number.wrapping_add_signed(self.strides.of_bit[bit].into());
        }
        number
    }

    /// What strides add in each lane of a simdgroup.
    #[inline(always)]
    fn lanes(&self) -> [i64; 32] {
        let mut lanes = [0; 32];
        for bit in 0..5 {
            let half = 1 << bit;
            for lane in 0..half {
                lanes[half + lane] = lanes[lane] + i64::from(self.strides.of_bit[bit]);
            }
        }
        lanes
    }

    /// Writes the lanes of simdgroups from `first` on, as 32-bit numbers.
    #[inline(always)]
    pub(super) fn materialise_narrow(&self, registers: &mut [[u32; 32]], first: usize) {
        let mut lanes = [self.base as u32; 32];
        for bit in 0..5 {
            let half = 1 << bit;
            for lane in 0..half {
                lanes[half + lane] = lanes[lane].wrapping_add(self.strides.of_bit[bit] as u32);
            }
        }
        for (at, register) in registers.iter_mut().enumerate() {
            one_simdgroup();
            let more = self.strides.of_simdgroup(first + at) as u32;
            for lane in 0..32 {
                register[lane] = lanes[lane].wrapping_add(more);
            }
        }
    }

    /// Writes the lanes of simdgroups from `first` on, as 64-bit numbers.
    #[inline(always)]
    pub(super) fn materialise_wide(&self, registers: &mut [[u64; 32]], first: usize) {
        let lanes = self.lanes();
        for (at, register) in registers.iter_mut().enumerate() {
            one_simdgroup();
            let more = self
                .base
                .wrapping_add_signed(self.strides.of_simdgroup(first + at));
            for lane in 0..32 {
                register[lane] = more.wrapping_add_signed(lanes[lane]);
            }
        }
    }

    /// The lowest and highest number of some simdgroups; nothing if one of them wraps around.
    #[inline(always)]
    pub(crate) fn bounds(
        &self,
        simdgroups: SimdgroupRange,
        reading: Reading,
    ) -> Option<(i64, i64)> {
        let base = match reading {
            Reading::Unsigned => i64::from(self.base as u32),
            Reading::Signed => i64::from(self.base as i32),
            Reading::Wide { signed } => {
                Some(self.base as i64).filter(|&base| signed || base >= 0)?
            }
        };
        let (low, high) = self.strides.bounds(simdgroups);
        let (low, high) = (base.checked_add(low)?, base.checked_add(high)?);
        let fits = match reading {
            Reading::Unsigned => low >= 0 && high <= i64::from(u32::MAX),
            Reading::Signed => low >= i64::from(i32::MIN) && high <= i64::from(i32::MAX),
            Reading::Wide { signed } => signed || low >= 0,
        };
        fits.then_some((low, high))
    }

    /// The range of the numbers of some simdgroups as indices; nothing if one of them wraps around.
    #[inline(always)]
    pub(super) fn index_range(
        &self,
        simdgroups: SimdgroupRange,
        signed: bool,
    ) -> Option<IndexRange> {
        let reading = if signed {
            Reading::Signed
        } else {
            Reading::Unsigned
        };
        let (first, last) = self.bounds(simdgroups, reading)?;
        Some(IndexRange {
            first: first as u32,
            last: last as u32,
            runs: self.strides.runs(),
            signed,
            simdgroups,
        })
    }

    /// The range of the numbers of some simdgroups as addresses; nothing if one of them wraps around.
    #[inline(always)]
    pub(super) fn address_range(&self, simdgroups: SimdgroupRange) -> Option<AddressRange> {
        let (first, last) = self.bounds(simdgroups, Reading::Wide { signed: false })?;
        let bits = self
            .strides
            .of_bit
            .iter()
            .fold(0, |bits, stride| bits | stride);
        Some(AddressRange {
            first: first as u64,
            last: last as u64,
            runs: self.strides.runs(),
            bits: self.base | bits as u64,
            simdgroups,
        })
    }

    // ---- arithmetic ----

    /// An operation on two narrow values; nothing if the result is not affine.
    #[inline(always)]
    pub(super) fn narrow(rule: Rule, a: &Self, b: &Self) -> Option<Self> {
        let (first, second) = (a.base as u32, b.base as u32);
        if b.strides.uniform {
            // What most operations are: the same added to all lanes.
            let moved = |base: u32| Some(a.moved(base.into()));
            return match rule {
                Rule::Add => moved(first.wrapping_add(second)),
                Rule::Sub => moved(first.wrapping_sub(second)),
                Rule::Mul => Some(a.times(second)),
                Rule::Shl => Some(a.times(1 << (second & 31))),
                _ => a.bitwise(rule, second),
            };
        }
        match rule {
            Rule::Add => Some(a.plus(b)),
            Rule::Sub => Some(a.plus(&b.times(u32::MAX))),
            Rule::Mul if a.strides.uniform => Some(b.times(first)),
            Rule::Or if a.shares_no_bits_with(b) => Some(a.plus(b)),
            Rule::And | Rule::Or | Rule::Xor if a.strides.uniform => b.bitwise(rule, first),
            _ => None,
        }
    }

    /// The same strides from another base.
    #[inline(always)]
    fn moved(&self, base: u64) -> Self {
        Self {
            base,
            strides: self.strides,
        }
    }

    #[inline(always)]
    fn plus(&self, other: &Self) -> Self {
        let base = (self.base as u32).wrapping_add(other.base as u32).into();
        if self.strides.uniform {
            return other.moved(base);
        }
        let mut strides = self.strides.of_bit;
        for (stride, other) in strides.iter_mut().zip(other.strides.of_bit) {
            *stride = stride.wrapping_add(other);
        }
        Self::new(base, strides)
    }

    #[inline(always)]
    fn times(&self, factor: u32) -> Self {
        let base = (self.base as u32).wrapping_mul(factor);
        self.each_stride(base, |stride| stride.wrapping_mul(factor))
    }

    #[inline(always)]
    fn each_stride(&self, base: u32, stride: impl Fn(u32) -> u32) -> Self {
        if self.strides.uniform {
            return Self::uniform(base.into());
        }
        let strides = self.strides.of_bit.map(|bits| stride(bits as u32) as i32);
        Self::new(base.into(), strides)
    }

    /// The bits that numbers may have set, if each comes from the base or from one stride: then adding them never carries.
    #[inline(always)]
    fn disjoint_bits(&self) -> Option<u32> {
        let (mut bits, mut twice) = (self.base as u32, 0);
        for stride in self.strides.of_bit {
            twice |= bits & stride as u32;
            bits |= stride as u32;
        }
        (twice == 0).then_some(bits)
    }

    #[inline(always)]
    fn shares_no_bits_with(&self, other: &Self) -> bool {
        matches!((self.disjoint_bits(), other.disjoint_bits()), (Some(a), Some(b)) if a & b == 0)
    }

    /// A bitwise operation with a uniform number; nothing if the result is not affine.
    #[inline(always)]
    fn bitwise(&self, rule: Rule, with: u32) -> Option<Self> {
        if !self.strides.uniform {
            self.disjoint_bits()?;
        }
        let base = self.base as u32;
        let count = with & 31;
        match rule {
            Rule::And => Some(self.each_stride(base & with, |stride| stride & with)),
            Rule::Or => Some(self.each_stride(base | with, |stride| stride & !with)),
            // A flipped bit is `1 - bit`: its stride changes sign.
            Rule::Xor => {
                let flipped = |stride: u32| (stride & !with).wrapping_sub(stride & with);
                Some(self.each_stride(base ^ with, flipped))
            }
            Rule::LShr => Some(self.each_stride(base >> count, |stride| stride >> count)),
            _ => None,
        }
    }

    /// An operation on two wide values; nothing if the result is not affine.
    #[inline(always)]
    pub(super) fn wide(rule: Rule, a: &Self, b: &Self) -> Option<Self> {
        match rule {
            Rule::Add => a.plus_scaled(b, 1),
            Rule::Sub => a.plus_scaled(b, -1),
            Rule::Mul if b.strides.uniform => Self::uniform(0).plus_scaled(a, b.base as i64),
            Rule::Mul if a.strides.uniform => Self::uniform(0).plus_scaled(b, a.base as i64),
            Rule::Shl if b.strides.uniform => {
                Self::uniform(0).plus_scaled(a, 1i64 << (b.base & 63))
            }
            _ => None,
        }
    }

    /// `self + other * scale` of wide values; nothing if a stride gets too large.
    #[inline(always)]
    pub(super) fn plus_scaled(&self, other: &Self, scale: i64) -> Option<Self> {
        let base = self
            .base
            .wrapping_add(other.base.wrapping_mul(scale as u64));
        if other.strides.uniform {
            return Some(self.moved(base));
        }
        if self.strides.uniform && scale == 1 {
            return Some(other.moved(base));
        }
        let scale = i64::from(i32::try_from(scale).ok()?);
        let mut strides = [0; BITS];
        let mut lost = 0;
        for (bit, stride) in strides.iter_mut().enumerate() {
            let sum =
                i64::from(self.strides.of_bit[bit]) + i64::from(other.strides.of_bit[bit]) * scale;
            *stride = sum as i32;
            lost |= sum ^ i64::from(sum as i32);
        }
        (lost == 0).then(|| Self::new(base, strides))
    }

    /// A narrow value as a 64-bit one; nothing if it wraps around in some simdgroups.
    #[inline(always)]
    pub(super) fn widened(&self, simdgroups: SimdgroupRange, signed: bool) -> Option<Self> {
        let (reading, base) = if signed {
            (Reading::Signed, i64::from(self.base as i32) as u64)
        } else {
            (Reading::Unsigned, self.base)
        };
        if !self.strides.uniform {
            self.bounds(simdgroups, reading)?;
        }
        Some(self.moved(base))
    }

    /// A wide value modulo 2³².
    #[inline(always)]
    pub(super) fn narrowed(&self) -> Self {
        self.moved(u64::from(self.base as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::super::address_range::RunShape;
    use super::*;

    const RULES: [Rule; 8] = [
        Rule::Add,
        Rule::Sub,
        Rule::Mul,
        Rule::Shl,
        Rule::LShr,
        Rule::And,
        Rule::Or,
        Rule::Xor,
    ];

    fn one(rule: Rule, a: u64, b: u64, bits: u32) -> u64 {
        let shift = (b & u64::from(bits - 1)) as u32;
        let result = match rule {
            Rule::Add => a.wrapping_add(b),
            Rule::Sub => a.wrapping_sub(b),
            Rule::Mul => a.wrapping_mul(b),
            Rule::Shl => a << shift,
            Rule::LShr => a >> shift,
            Rule::And => a & b,
            Rule::Or => a | b,
            Rule::Xor => a ^ b,
            _ => 0,
        };
        if bits == 32 {
            result & 0xffff_ffff
        } else {
            result
        }
    }

    fn narrow(sum: &Affine) -> [[u32; 32]; 8] {
        let mut lanes = [[0; 32]; 8];
        sum.materialise_narrow(&mut lanes, 0);
        lanes
    }

    fn wide(sum: &Affine) -> [[u64; 32]; 8] {
        let mut lanes = [[0; 32]; 8];
        sum.materialise_wide(&mut lanes, 0);
        lanes
    }

    /// Positions, numbers all lanes share, and steps that are negative, large or wrap around.
    fn sums() -> Vec<Affine> {
        let line = [1, 2, 4, 8, 16, 32, 64, 128];
        let steps = [
            [0; 8],
            line,
            line.map(|stride| -stride),
            line.map(|stride| stride * 1024),
            [1, 2, 4, 8, 0, 0, 0, 0],
            [0, 0, 0, 0, 1, 2, 4, 8],
            [4, 8, 16, 32, 0, 7, -9, 100],
            [i32::MAX, i32::MIN, 3, 0, -1, 5, 6, 7],
            [0, 0, 0, 0, 0, 1 << 31, 0, 0],
        ];
        let bases = [0, 1, 5, 31, 96, 256, 0x7fff_fff0, 0xffff_ff00, 0xffff_ffff];
        let with = |strides: [i32; 8]| bases.map(|base| Affine::new(base, strides));
        steps.into_iter().flat_map(with).collect()
    }

    fn pairs() -> impl Iterator<Item = (Affine, Affine)> {
        let with = |a: Affine| sums().into_iter().map(move |b| (a, b));
        sums().into_iter().flat_map(with)
    }

    #[test]
    fn rules_mean_the_same_for_sums_as_for_lanes() {
        let mut found = 0;
        for rule in RULES {
            for (a, b) in pairs() {
                if let Some(sum) = Affine::narrow(rule, &a, &b) {
                    found += 1;
                    assert_eq!(sum, Affine::new(sum.base, sum.strides.of_bit));
                    let (first, second, result) = (narrow(&a), narrow(&b), narrow(&sum));
                    for (at, lane) in (0..256).map(|place| (place / 32, place % 32)) {
                        let (x, y) = (first[at][lane].into(), second[at][lane].into());
                        let expected = one(rule, x, y, 32);
                        assert_eq!(
                            u64::from(result[at][lane]),
                            expected,
                            "{rule:?} {a:?} {b:?}"
                        );
                    }
                }
                if let Some(sum) = Affine::wide(rule, &a, &b) {
                    let (first, second, result) = (wide(&a), wide(&b), wide(&sum));
                    for (at, lane) in (0..256).map(|place| (place / 32, place % 32)) {
                        let expected = one(rule, first[at][lane], second[at][lane], 64);
                        assert_eq!(result[at][lane], expected, "{rule:?} {a:?} {b:?}");
                    }
                }
            }
        }
        assert!(found > 15_000, "{found} of the results were sums");
    }

    #[test]
    fn bounds_hold_all_lanes_of_the_simdgroups_they_are_of() {
        for sum in sums() {
            let lanes = narrow(&sum);
            for part in [(0, 8), (0, 1), (2, 1), (1, 4), (5, 3), (7, 1)] {
                let own = &lanes[part.0 as usize..(part.0 + part.1) as usize];
                let numbers = || own.iter().flatten().copied();
                if let Some(found) = sum.bounds(part, Reading::Unsigned) {
                    let all = numbers().map(i64::from);
                    assert_eq!(Some(found), all.clone().min().zip(all.max()), "{sum:?}");
                }
                if let Some(found) = sum.bounds(part, Reading::Signed) {
                    let all = numbers().map(|number| i64::from(number as i32));
                    assert_eq!(Some(found), all.clone().min().zip(all.max()), "{sum:?}");
                }
                for signed in [false, true] {
                    let Some(widened) = sum.widened(part, signed) else {
                        continue;
                    };
                    let wide = wide(&widened);
                    for (at, lane) in (0..256).map(|place| (place / 32, place % 32)) {
                        let number = lanes[at][lane];
                        let expected = match signed {
                            true => i64::from(number as i32) as u64,
                            false => number.into(),
                        };
                        let looked_at = at >= part.0 as usize && at < (part.0 + part.1) as usize;
                        assert!(!looked_at || wide[at][lane] == expected, "{sum:?} {part:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn sums_have_the_form_their_lanes_have() {
        for sum in sums() {
            for part in [(0, 8), (3, 1), (2, 4)] {
                let lanes = narrow(&sum);
                let own = &lanes[part.0 as usize..(part.0 + part.1) as usize];
                let Some(found) = sum.index_range(part, false) else {
                    continue;
                };
                let RunShape { length, step } = found.runs;
                for lanes in own.iter().filter(|_| length != 0) {
                    for lane in 0..32 {
                        let start = lane / length as usize * length as usize;
                        let expected = lanes[start] + (lane - start) as u32 * step;
                        assert_eq!(lanes[lane], expected, "{sum:?}");
                    }
                }
            }
        }
    }
}
