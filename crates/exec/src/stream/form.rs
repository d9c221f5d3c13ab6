//! Affine forms over the grid: `base + Σ step·position`, one step per axis.
//!
//! A form stands for a register by its residue: a narrow register holds the form modulo 2³², a wide one modulo 2⁶⁴. Sums and products
//! keep that, whatever wraps around; whoever needs the number itself asks for the form's [bounds](Form::bounds) first.

/// An affine form over positions in the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) base: i64,
    pub(super) step: [i64; 3],
}

impl Form {
    /// The same number in all threads.
    pub(super) const fn uniform(base: i64) -> Self {
        Self { base, step: [0; 3] }
    }

    /// The position along an axis.
    pub(super) fn position(axis: usize) -> Self {
        let mut form = Self::uniform(0);
        form.step[axis.min(2)] = 1;
        form
    }

    pub(super) fn is_uniform(&self) -> bool {
        self.step == [0; 3]
    }

    pub(super) fn plus(self, other: Self) -> Option<Self> {
        let mut sum = Self::uniform(self.base.checked_add(other.base)?);
        for axis in 0..3 {
            sum.step[axis] = self.step[axis].checked_add(other.step[axis])?;
        }
        Some(sum)
    }

    pub(super) fn times(self, factor: i64) -> Option<Self> {
        let mut product = Self::uniform(self.base.checked_mul(factor)?);
        for axis in 0..3 {
            product.step[axis] = self.step[axis].checked_mul(factor)?;
        }
        Some(product)
    }

    /// The product of two forms, if one of them is uniform.
    pub(super) fn product(self, other: Self) -> Option<Self> {
        match (self.is_uniform(), other.is_uniform()) {
            (_, true) => self.times(other.base),
            (true, _) => other.times(self.base),
            _ => None,
        }
    }

    /// The least and the greatest number in a grid whose last thread is at `last`.
    pub(super) fn bounds(&self, last: [u32; 3]) -> Option<(i64, i64)> {
        let (mut least, mut greatest) = (self.base, self.base);
        for (step, last) in self.step.into_iter().zip(last) {
            let far = step.checked_mul(i64::from(last))?;
            least = least.checked_add(far.min(0))?;
            greatest = greatest.checked_add(far.max(0))?;
        }
        Some((least, greatest))
    }

    /// The form of a narrow register's numbers as signed or unsigned integers, if it has one: no wrapping inside the grid.
    pub(super) fn as_32(self, signed: bool, last: [u32; 3]) -> Option<Self> {
        if self.is_uniform() {
            let bits = self.base as u32;
            let number = if signed {
                i64::from(bits as i32)
            } else {
                i64::from(bits)
            };
            return Some(Self::uniform(number));
        }
        let (least, greatest) = self.bounds(last)?;
        let (low, high) = if signed {
            (i64::from(i32::MIN), i64::from(i32::MAX))
        } else {
            (0, i64::from(u32::MAX))
        };
        (low <= least && greatest <= high).then_some(self)
    }

    /// The number of the thread at a position.
    pub(super) fn at(&self, [x, y, z]: [u32; 3]) -> i64 {
        let part = |axis: usize, at: u32| self.step[axis].wrapping_mul(i64::from(at));
        self.base
            .wrapping_add(part(0, x))
            .wrapping_add(part(1, y))
            .wrapping_add(part(2, z))
    }

    /// Returns true if ranges of `size` bytes that start at the form's numbers do not overlap for different threads of the grid.
    pub(super) fn is_injective(&self, size: i64, last: [u32; 3]) -> bool {
        let mut axes: Vec<(i64, i64)> = (0..3)
            .filter(|&axis| last[axis] > 0)
            .map(|axis| (self.step[axis].saturating_abs(), i64::from(last[axis])))
            .collect();
        axes.sort_unstable();
        let mut span = size;
        axes.iter().all(|&(step, last)| {
            let apart = step >= span;
            span = span.saturating_add(step.saturating_mul(last));
            apart
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_touch_do_not_overlap() {
        let row_major = Form {
            base: 64,
            step: [4, 400, 0],
        };
        assert!(row_major.is_injective(4, [99, 9, 0]));
        assert!(!row_major.is_injective(4, [100, 9, 0]));
        assert!(!Form::position(1).is_injective(1, [7, 7, 0]));
        assert!(Form::position(1).is_injective(1, [0, 7, 0]));
    }

    #[test]
    fn a_register_read_as_a_number_must_not_wrap_around() {
        let last = [99, 0, 0];
        let before = Form::position(0).plus(Form::uniform(-1)).unwrap();
        assert_eq!(before.as_32(false, last), None);
        assert_eq!(before.as_32(true, last), Some(before));
        assert_eq!(
            Form::uniform(-1).as_32(false, last).unwrap().base,
            0xffff_ffff
        );
        assert_eq!(before.bounds(last), Some((-1, 98)));
    }
}
