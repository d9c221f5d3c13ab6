//! Positions and sizes a thread can ask for.

use crate::geometry::{Grid, Group};
use assay_ssa::builtin::Builtin;

/// The position of a simdgroup in its grid.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GridPosition<'a> {
    pub(crate) grid: &'a Grid,
    pub(crate) group: Group,
    /// Number of the threadgroup in the grid.
    pub(crate) number: u64,
    /// Simdgroups of a whole threadgroup.
    pub(crate) simdgroups: u32,
    /// Number of the simdgroup in its threadgroup.
    pub(crate) simdgroup: u32,
}

impl GridPosition<'_> {
    /// The position of a simdgroup, counted from the first of this threadgroup on into those after it.
    pub(crate) fn of_simdgroup(&self, simdgroup: u32) -> Self {
        let mut grid_position = Self { simdgroup, ..*self };
        if simdgroup >= self.simdgroups {
            let further = simdgroup / self.simdgroups.max(1);
            grid_position.number += u64::from(further);
            grid_position.group = self.grid.group(grid_position.number);
            grid_position.simdgroup = simdgroup % self.simdgroups.max(1);
        }
        grid_position
    }

    /// The position in the grid of a lane's thread.
    pub(crate) fn thread(&self, lane: u32) -> [u32; 3] {
        self.group.position(self.simdgroup * 32 + lane)
    }

    /// The position in the threadgroup of each lane's thread along an axis, and so much more. Counted up lane by lane:
    /// dividing would cost more than a small kernel.
    fn local(&self, axis: usize, more: u32) -> [u32; 32] {
        let [width, height, _] = self.group.size;
        let mut at = self.group.thread(self.simdgroup * 32);
        let mut result = [0; 32];
        for slot in &mut result {
            *slot = at[axis].wrapping_add(more);
            at[0] += 1;
            if at[0] == width {
                at[0] = 0;
                at[1] += 1;
                if at[1] == height {
                    at[1] = 0;
                    at[2] += 1;
                }
            }
        }
        result
    }

    /// A builtin's value in so many simdgroups from this one on, as a base and the stride of each bit of the lane index; nothing if it is not affine. Several threadgroups follow each other along x, and have a
    /// power of two of simdgroups each.
    pub(crate) fn affine(
        &self,
        which: Builtin,
        axis: usize,
        simdgroups: usize,
    ) -> Option<(u32, [i32; 8])> {
        let own = self.simdgroups as usize;
        if simdgroups <= own {
            return self.in_group(which, axis, simdgroups);
        }
        let (base, mut strides) = self.in_group(which, axis, own)?;
        let step = match which {
            Builtin::ThreadgroupPositionInGrid if axis == 0 => 1,
            Builtin::ThreadPositionInGrid if axis == 0 => self.group.size[0] as i32,
            _ => 0,
        };
        let first = 5 + own.ilog2() as usize;
        for (bit, stride) in strides.iter_mut().skip(first).enumerate() {
            *stride = step << bit;
        }
        Some((base, strides))
    }

    /// The same for simdgroups of one threadgroup.
    fn in_group(&self, which: Builtin, axis: usize, simdgroups: usize) -> Option<(u32, [i32; 8])> {
        const LINE: [i32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
        let first = self.simdgroup * 32;
        let axis = axis.min(2);
        match which {
            Builtin::ThreadPositionInGrid => {
                let (base, strides) = self.side(axis, simdgroups)?;
                Some((base.wrapping_add(self.group.origin[axis]), strides))
            }
            Builtin::ThreadPositionInThreadgroup => self.side(axis, simdgroups),
            Builtin::ThreadIndexInThreadgroup => Some((first, LINE)),
            Builtin::ThreadIndexInSimdgroup => Some((0, [1, 2, 4, 8, 16, 0, 0, 0])),
            Builtin::ThreadIndexInQuadgroup => Some((0, [1, 2, 0, 0, 0, 0, 0, 0])),
            Builtin::QuadgroupIndexInThreadgroup => {
                Some((first / 4, LINE.map(|stride| stride / 4)))
            }
            Builtin::SimdgroupIndexInThreadgroup => {
                Some((self.simdgroup, LINE.map(|stride| stride / 32)))
            }
            _ => self.shared(which, axis).map(|value| (value, [0; 8])),
        }
    }

    /// The same for the position in the threadgroup along an axis: some of the bits of a thread's number, if the sides
    /// of the threadgroup are powers of two as far as they matter.
    fn side(&self, axis: usize, simdgroups: usize) -> Option<(u32, [i32; 8])> {
        let [width, height, depth] = self.group.size;
        let (before, own) = [(1, width), (width, height), (width * height, depth)][axis];
        if own == 1 {
            return Some((0, [0; 8]));
        }
        let first = self.simdgroup * 32;
        // True if threads never come to the end of this side and start over.
        let last = u64::from(before) * u64::from(own) >= self.group.threads().into();
        // Both are powers of two, or the result is not used.
        let (shift, mask) = (before.trailing_zeros() & 31, own.wrapping_sub(1));
        let of = |number: u32| match last {
            true => number >> shift,
            false => number >> shift & mask,
        };
        // True if the bits of a lane index are added to those of the first thread without a carry.
        let aligned = first.is_multiple_of((simdgroups as u32 * 32).next_power_of_two());
        let is_affine = before.is_power_of_two()
            && (last || own.is_power_of_two())
            && (aligned || last && first.is_multiple_of(before));
        is_affine.then(|| (of(first), std::array::from_fn(|bit| of(1 << bit) as i32)))
    }

    /// What a builtin gives in each lane; nothing if it is no position.
    pub(crate) fn value(&self, which: Builtin, axis: usize) -> Option<[u32; 32]> {
        let first = self.simdgroup * 32;
        let axis = axis.min(2);
        let each = |f: &dyn Fn(u32) -> u32| std::array::from_fn(|lane| f(lane as u32));
        Some(match which {
            Builtin::ThreadPositionInGrid => self.local(axis, self.group.origin[axis]),
            Builtin::ThreadPositionInThreadgroup => self.local(axis, 0),
            Builtin::ThreadIndexInThreadgroup => each(&|lane| first + lane),
            Builtin::ThreadIndexInSimdgroup => each(&|lane| lane),
            Builtin::ThreadIndexInQuadgroup => each(&|lane| lane & 3),
            Builtin::QuadgroupIndexInThreadgroup => each(&|lane| (first + lane) / 4),
            Builtin::SimdgroupIndexInThreadgroup => [self.simdgroup; 32],
            _ => [self.shared(which, axis)?; 32],
        })
    }

    /// What a builtin gives to all threads of a threadgroup alike; nothing if it is no such position or size.
    fn shared(&self, which: Builtin, axis: usize) -> Option<u32> {
        let of_size = |size: [u32; 3], unit: u32| size.iter().product::<u32>().div_ceil(unit);
        // Only the first component of a count means anything.
        let count = |value: u32| if axis == 0 { value } else { 1 };
        let (group, grid) = (&self.group, self.grid);
        Some(match which {
            Builtin::ThreadgroupPositionInGrid => group.position[axis],
            Builtin::ThreadsPerThreadgroup => group.size[axis],
            Builtin::SimdgroupsPerThreadgroup => count(of_size(group.size, 32)),
            Builtin::QuadgroupsPerThreadgroup => count(of_size(group.size, 4)),
            Builtin::DispatchThreadsPerThreadgroup => grid.threadgroup[axis],
            Builtin::DispatchSimdgroupsPerThreadgroup => count(of_size(grid.threadgroup, 32)),
            Builtin::DispatchQuadgroupsPerThreadgroup => count(of_size(grid.threadgroup, 4)),
            Builtin::ThreadsPerGrid | Builtin::GridSize => grid.threads[axis],
            Builtin::ThreadgroupsPerGrid => grid.group_counts()[axis],
            Builtin::ThreadsPerSimdgroup => 32,
            Builtin::GridOrigin => 0,
            _ => return None,
        })
    }
}
