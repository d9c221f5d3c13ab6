//! Strides of affine values, and what follows from them.

use super::address_range::{RunShape, SimdgroupRange};

/// Bits of a lane's index in its batch: five for the lane, three for the simdgroup.
pub(super) const BITS: usize = 8;

/// The stride of each bit of a lane's index, and what follows from the strides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Strides {
    pub(crate) of_bit: [i32; BITS],
    /// The least and the most that strides add within a simdgroup.
    low: i64,
    high: i64,
    /// Length of the runs of lanes that follow each other in steps of the first stride, if that is at most 8: 32, 16, 8 or 0.
    length: u8,
    /// True if simdgroups follow each other in even steps.
    even: bool,
    /// True if the numbers of all lanes of the batch are one arithmetic progression.
    pub(super) progression: bool,
    /// True if all strides are zero.
    pub(super) uniform: bool,
}

impl Strides {
    pub(super) const UNIFORM: Self = Self {
        of_bit: [0; BITS],
        low: 0,
        high: 0,
        length: 32,
        even: true,
        progression: true,
        uniform: true,
    };

    #[inline(always)]
    pub(crate) fn of(of_bit: [i32; BITS]) -> Self {
        let (mut low, mut high) = (0, 0);
        for stride in of_bit.into_iter().take(5).map(i64::from) {
            low += stride.min(0);
            high += stride.max(0);
        }
        let follows = |bit: usize| of_bit[bit] == of_bit[bit - 1].wrapping_mul(2);
        let in_runs = (0..=8).contains(&of_bit[0]) && follows(1) && follows(2);
        let length = match (in_runs, follows(3), follows(4)) {
            (false, ..) => 0,
            (_, false, _) => 8,
            (_, _, false) => 16,
            (true, true, true) => 32,
        };
        let even = [5, 6].map(|bit| i64::from(of_bit[bit]) * 2)
            == [6, 7].map(|bit| i64::from(of_bit[bit]));
        Self {
            of_bit,
            low,
            high,
            length,
            even,
            progression: length == 32 && even && follows(5),
            uniform: of_bit == [0; BITS],
        }
    }

    /// What the bits of a simdgroup's number add: the distance of its first lane from the batch's.
    #[inline(always)]
    pub(super) fn of_simdgroup(&self, simdgroup: usize) -> i64 {
        if self.even {
            return i64::from(self.of_bit[5]) * simdgroup as i64;
        }
        let mut sum = 0;
        for bit in 0..3 {
            let taken = -((simdgroup >> bit & 1) as i64);
            sum += i64::from(self.of_bit[5 + bit]) & taken;
        }
        sum
    }

    /// The least and the most that strides add within some simdgroups.
    #[inline(always)]
    pub(super) fn bounds(&self, (first, count): SimdgroupRange) -> (i64, i64) {
        let (first, last) = (usize::from(first), usize::from(first + count.max(1) - 1));
        let (one, other) = (self.of_simdgroup(first), self.of_simdgroup(last));
        let (mut least, mut most) = (one.min(other), one.max(other));
        if !self.even {
            for at in first..last {
                let more = self.of_simdgroup(at);
                (least, most) = (least.min(more), most.max(more));
            }
        }
        (self.low + least, self.high + most)
    }

    /// The runs of a simdgroup's numbers.
    #[inline(always)]
    pub(super) fn runs(&self) -> RunShape {
        match self.length {
            0 => RunShape::SCATTERED,
            length => RunShape {
                length: length.into(),
                step: self.of_bit[0] as u32,
            },
        }
    }
}
