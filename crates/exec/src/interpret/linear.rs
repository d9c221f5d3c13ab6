//! Numbers that are described, not written down.
//!
//! Most of what a kernel computes about places is a sum: of what all threads share, and of what each bit of a thread's
//! number adds. A position in the threadgroup is such a sum (if the sides of the threadgroup are powers of two), and
//! with it most indices and addresses. Sums are added, multiplied by a number all threads share and compared with one
//! in a few steps for all lanes of a batch at once, and say by themselves which memory they mean.

use super::span::{Form, Indices, Part, Span};
use crate::lanes::{Rule, one_simdgroup};

/// Bits of a lane's place in its batch: five for the lane, three for the simdgroup.
const BITS: usize = 8;

/// A number for each lane of a batch: `base`, and for each bit that is set in the lane's place what that bit adds.
/// Those of narrow registers are meant modulo 2³² and have no upper bits in their base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub(crate) struct Linear {
    pub(crate) base: u64,
    pub(crate) shape: Shape,
}

/// What the bits of a lane's place add, and what follows from that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Shape {
    pub(crate) parts: [i32; BITS],
    /// The least and the most that the lanes of a simdgroup add.
    low: i64,
    high: i64,
    /// How many lanes follow each other in steps of the first part, if that is at most 8: 32, 16, 8 or 0.
    length: u8,
    /// Whether simdgroups follow each other in even steps.
    even: bool,
    /// Whether simdgroups follow each other as lanes do.
    pub(super) row: bool,
    pub(super) uniform: bool,
}

impl Shape {
    const UNIFORM: Self = Self {
        parts: [0; BITS],
        low: 0,
        high: 0,
        length: 32,
        even: true,
        row: true,
        uniform: true,
    };

    #[inline(always)]
    pub(crate) fn of(parts: [i32; BITS]) -> Self {
        let (mut low, mut high) = (0, 0);
        for part in parts.into_iter().take(5).map(i64::from) {
            low += part.min(0);
            high += part.max(0);
        }
        let follows = |bit: usize| parts[bit] == parts[bit - 1].wrapping_mul(2);
        let quick = (0..=8).contains(&parts[0]) && follows(1) && follows(2);
        let length = match (quick, follows(3), follows(4)) {
            (false, ..) => 0,
            (_, false, _) => 8,
            (_, _, false) => 16,
            (true, true, true) => 32,
        };
        let even =
            [5, 6].map(|bit| i64::from(parts[bit]) * 2) == [6, 7].map(|bit| i64::from(parts[bit]));
        Self {
            parts,
            low,
            high,
            length,
            even,
            row: length == 32 && even && follows(5),
            uniform: parts == [0; BITS],
        }
    }

    /// What the bits of a simdgroup's number add.
    #[inline(always)]
    pub(super) fn group(&self, simdgroup: usize) -> i64 {
        if self.even {
            return i64::from(self.parts[5]) * simdgroup as i64;
        }
        let mut sum = 0;
        for bit in 0..3 {
            let taken = -((simdgroup >> bit & 1) as i64);
            sum += i64::from(self.parts[5 + bit]) & taken;
        }
        sum
    }

    /// The least and the most the lanes of some simdgroups add.
    #[inline(always)]
    fn bounds(&self, (first, count): Part) -> (i64, i64) {
        let (first, last) = (usize::from(first), usize::from(first + count.max(1) - 1));
        let (one, other) = (self.group(first), self.group(last));
        let (mut least, mut most) = (one.min(other), one.max(other));
        if !self.even {
            for at in first..last {
                let more = self.group(at);
                (least, most) = (least.min(more), most.max(more));
            }
        }
        (self.low + least, self.high + most)
    }

    /// How the numbers of a simdgroup's lanes follow each other.
    #[inline(always)]
    fn form(&self) -> Form {
        match self.length {
            0 => Form::SCATTERED,
            length => Form {
                length: length.into(),
                step: self.parts[0] as u32,
            },
        }
    }
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

impl Linear {
    /// The same in all lanes.
    #[inline(always)]
    pub(crate) fn uniform(base: u64) -> Self {
        Self {
            base,
            shape: Shape::UNIFORM,
        }
    }

    #[inline(always)]
    pub(crate) fn new(base: u64, parts: [i32; BITS]) -> Self {
        Self {
            base,
            shape: Shape::of(parts),
        }
    }

    /// The number of one lane, as a wide one.
    pub(super) fn at(&self, simdgroup: usize, lane: usize) -> u64 {
        let mut number = self.base.wrapping_add_signed(self.shape.group(simdgroup));
        for bit in (0..5).filter(|bit| lane >> bit & 1 != 0) {
            number = number.wrapping_add_signed(self.shape.parts[bit].into());
        }
        number
    }

    /// What each lane of a simdgroup adds, modulo 2⁶⁴.
    #[inline(always)]
    fn lanes(&self) -> [i64; 32] {
        let mut lanes = [0; 32];
        for bit in 0..5 {
            let half = 1 << bit;
            for lane in 0..half {
                lanes[half + lane] = lanes[lane] + i64::from(self.shape.parts[bit]);
            }
        }
        lanes
    }

    /// Writes down narrow numbers.
    #[inline(always)]
    pub(super) fn write_narrow(&self, registers: &mut [[u32; 32]], first: usize) {
        let mut lanes = [self.base as u32; 32];
        for bit in 0..5 {
            let half = 1 << bit;
            for lane in 0..half {
                lanes[half + lane] = lanes[lane].wrapping_add(self.shape.parts[bit] as u32);
            }
        }
        for (at, register) in registers.iter_mut().enumerate() {
            one_simdgroup();
            let more = self.shape.group(first + at) as u32;
            for lane in 0..32 {
                register[lane] = lanes[lane].wrapping_add(more);
            }
        }
    }

    /// Writes down wide numbers.
    #[inline(always)]
    pub(super) fn write_wide(&self, registers: &mut [[u64; 32]], first: usize) {
        let lanes = self.lanes();
        for (at, register) in registers.iter_mut().enumerate() {
            one_simdgroup();
            let more = self.base.wrapping_add_signed(self.shape.group(first + at));
            for lane in 0..32 {
                register[lane] = more.wrapping_add_signed(lanes[lane]);
            }
        }
    }

    /// The lowest and highest number of some simdgroups; nothing if they go past what the type holds.
    #[inline(always)]
    pub(crate) fn bounds(&self, part: Part, reading: Reading) -> Option<(i64, i64)> {
        let base = match reading {
            Reading::Unsigned => i64::from(self.base as u32),
            Reading::Signed => i64::from(self.base as i32),
            Reading::Wide { signed } => {
                Some(self.base as i64).filter(|&base| signed || base >= 0)?
            }
        };
        let (low, high) = self.shape.bounds(part);
        let (low, high) = (base.checked_add(low)?, base.checked_add(high)?);
        let fits = match reading {
            Reading::Unsigned => low >= 0 && high <= i64::from(u32::MAX),
            Reading::Signed => low >= i64::from(i32::MIN) && high <= i64::from(i32::MAX),
            Reading::Wide { signed } => signed || low >= 0,
        };
        fits.then_some((low, high))
    }

    /// What they are as indices of some simdgroups.
    #[inline(always)]
    pub(super) fn indices(&self, part: Part, signed: bool) -> Option<Indices> {
        let reading = if signed {
            Reading::Signed
        } else {
            Reading::Unsigned
        };
        let (first, last) = self.bounds(part, reading)?;
        Some(Indices {
            first: first as u32,
            last: last as u32,
            form: self.shape.form(),
            signed,
            part,
        })
    }

    /// What they are as addresses of some simdgroups.
    #[inline(always)]
    pub(super) fn span(&self, part: Part) -> Option<Span> {
        let (first, last) = self.bounds(part, Reading::Wide { signed: false })?;
        let bits = self.shape.parts.iter().fold(0, |bits, part| bits | part);
        Some(Span {
            first: first as u64,
            last: last as u64,
            form: self.shape.form(),
            bits: self.base | bits as u64,
            part,
        })
    }

    // ---- arithmetic ----

    /// A rule applied to narrow numbers; nothing if the result is no such sum.
    #[inline(always)]
    pub(super) fn narrow(rule: Rule, a: &Self, b: &Self) -> Option<Self> {
        let (first, second) = (a.base as u32, b.base as u32);
        if b.shape.uniform {
            // What most operations are: all lanes moved alike.
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
            Rule::Mul if a.shape.uniform => Some(b.times(first)),
            Rule::Or if a.shares_no_bits_with(b) => Some(a.plus(b)),
            Rule::And | Rule::Or | Rule::Xor if a.shape.uniform => b.bitwise(rule, first),
            _ => None,
        }
    }

    /// The same steps from another number.
    #[inline(always)]
    fn moved(&self, base: u64) -> Self {
        Self {
            base,
            shape: self.shape,
        }
    }

    #[inline(always)]
    fn plus(&self, other: &Self) -> Self {
        let base = (self.base as u32).wrapping_add(other.base as u32).into();
        if self.shape.uniform {
            return other.moved(base);
        }
        let mut parts = self.shape.parts;
        for (part, other) in parts.iter_mut().zip(other.shape.parts) {
            *part = part.wrapping_add(other);
        }
        Self::new(base, parts)
    }

    #[inline(always)]
    fn times(&self, factor: u32) -> Self {
        let base = (self.base as u32).wrapping_mul(factor);
        self.each_part(base, |part| part.wrapping_mul(factor))
    }

    #[inline(always)]
    fn each_part(&self, base: u32, part: impl Fn(u32) -> u32) -> Self {
        if self.shape.uniform {
            return Self::uniform(base.into());
        }
        let parts = self.shape.parts.map(|bits| part(bits as u32) as i32);
        Self::new(base.into(), parts)
    }

    /// The bits that any number has, if each comes from one place: then the sum is one of bits, without carries.
    #[inline(always)]
    fn own_bits(&self) -> Option<u32> {
        let mut seen = self.base as u32;
        let mut twice = 0;
        for part in self.shape.parts {
            twice |= seen & part as u32;
            seen |= part as u32;
        }
        (twice == 0).then_some(seen)
    }

    #[inline(always)]
    fn shares_no_bits_with(&self, other: &Self) -> bool {
        matches!((self.own_bits(), other.own_bits()), (Some(a), Some(b)) if a & b == 0)
    }

    /// A rule on bits, with a number all lanes share.
    #[inline(always)]
    fn bitwise(&self, rule: Rule, with: u32) -> Option<Self> {
        if !self.shape.uniform {
            self.own_bits()?;
        }
        let base = self.base as u32;
        let count = with & 31;
        match rule {
            Rule::And => Some(self.each_part(base & with, |part| part & with)),
            Rule::Or => Some(self.each_part(base | with, |part| part & !with)),
            // A bit that is flipped is one less what it was.
            Rule::Xor => {
                let flipped = |part: u32| (part & !with).wrapping_sub(part & with);
                Some(self.each_part(base ^ with, flipped))
            }
            Rule::LShr => Some(self.each_part(base >> count, |part| part >> count)),
            _ => None,
        }
    }

    /// A rule applied to wide numbers; nothing if the result is no such sum.
    #[inline(always)]
    pub(super) fn wide(rule: Rule, a: &Self, b: &Self) -> Option<Self> {
        match rule {
            Rule::Add => a.plus_scaled(b, 1),
            Rule::Sub => a.plus_scaled(b, -1),
            Rule::Mul if b.shape.uniform => Self::uniform(0).plus_scaled(a, b.base as i64),
            Rule::Mul if a.shape.uniform => Self::uniform(0).plus_scaled(b, a.base as i64),
            Rule::Shl if b.shape.uniform => Self::uniform(0).plus_scaled(a, 1i64 << (b.base & 63)),
            _ => None,
        }
    }

    /// `self + other * scale` of wide numbers; nothing if a part gets too large.
    #[inline(always)]
    pub(super) fn plus_scaled(&self, other: &Self, scale: i64) -> Option<Self> {
        let base = self
            .base
            .wrapping_add(other.base.wrapping_mul(scale as u64));
        if other.shape.uniform {
            return Some(self.moved(base));
        }
        if self.shape.uniform && scale == 1 {
            return Some(other.moved(base));
        }
        let scale = i64::from(i32::try_from(scale).ok()?);
        let mut parts = [0; BITS];
        let mut lost = 0;
        for (bit, part) in parts.iter_mut().enumerate() {
            let sum = i64::from(self.shape.parts[bit]) + i64::from(other.shape.parts[bit]) * scale;
            *part = sum as i32;
            lost |= sum ^ i64::from(sum as i32);
        }
        (lost == 0).then(|| Self::new(base, parts))
    }

    /// Narrow numbers as 64-bit ones; nothing if they wrap around in some simdgroups.
    #[inline(always)]
    pub(super) fn widened(&self, part: Part, signed: bool) -> Option<Self> {
        let (reading, base) = if signed {
            (Reading::Signed, i64::from(self.base as i32) as u64)
        } else {
            (Reading::Unsigned, self.base)
        };
        if !self.shape.uniform {
            self.bounds(part, reading)?;
        }
        Some(self.moved(base))
    }

    /// Wide numbers modulo 2³².
    #[inline(always)]
    pub(super) fn narrowed(&self) -> Self {
        self.moved(u64::from(self.base as u32))
    }
}

#[cfg(test)]
mod tests {
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

    fn narrow(sum: &Linear) -> [[u32; 32]; 8] {
        let mut lanes = [[0; 32]; 8];
        sum.write_narrow(&mut lanes, 0);
        lanes
    }

    fn wide(sum: &Linear) -> [[u64; 32]; 8] {
        let mut lanes = [[0; 32]; 8];
        sum.write_wide(&mut lanes, 0);
        lanes
    }

    /// Positions, numbers all lanes share, and steps that are negative, large or wrap around.
    fn sums() -> Vec<Linear> {
        let line = [1, 2, 4, 8, 16, 32, 64, 128];
        let steps = [
            [0; 8],
            line,
            line.map(|part| -part),
            line.map(|part| part * 1024),
            [1, 2, 4, 8, 0, 0, 0, 0],
            [0, 0, 0, 0, 1, 2, 4, 8],
            [4, 8, 16, 32, 0, 7, -9, 100],
            [i32::MAX, i32::MIN, 3, 0, -1, 5, 6, 7],
            [0, 0, 0, 0, 0, 1 << 31, 0, 0],
        ];
        let bases = [0, 1, 5, 31, 96, 256, 0x7fff_fff0, 0xffff_ff00, 0xffff_ffff];
        let with = |parts: [i32; 8]| bases.map(|base| Linear::new(base, parts));
        steps.into_iter().flat_map(with).collect()
    }

    fn pairs() -> impl Iterator<Item = (Linear, Linear)> {
        let with = |a: Linear| sums().into_iter().map(move |b| (a, b));
        sums().into_iter().flat_map(with)
    }

    #[test]
    fn rules_mean_the_same_for_sums_as_for_lanes() {
        let mut found = 0;
        for rule in RULES {
            for (a, b) in pairs() {
                if let Some(sum) = Linear::narrow(rule, &a, &b) {
                    found += 1;
                    assert_eq!(sum, Linear::new(sum.base, sum.shape.parts));
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
                if let Some(sum) = Linear::wide(rule, &a, &b) {
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
                let Some(found) = sum.indices(part, false) else {
                    continue;
                };
                let Form { length, step } = found.form;
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
