//! Grids and threadgroups.

use crate::error::RunError;

/// What is dispatched: a number of threads and how they are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Threads in each direction.
    pub threads: [u32; 3],
    /// Threads of a threadgroup in each direction; those at the edges of the grid may be smaller.
    pub threadgroup: [u32; 3],
}

/// Most threads of a threadgroup on any Apple GPU.
const MAX_THREADS: u64 = 1024;

/// Threadgroups of a grid that are run; more would take months.
const MAX_GROUPS: u128 = 1 << 32;

impl Grid {
    /// So many threads (`dispatchThreads`).
    pub fn threads(threads: [u32; 3], threadgroup: [u32; 3]) -> Self {
        Self {
            threads,
            threadgroup,
        }
    }

    /// So many whole threadgroups (`dispatchThreadgroups`); nothing if that is more threads than 2³² in a direction.
    pub fn groups(groups: [u32; 3], threadgroup: [u32; 3]) -> Option<Self> {
        let mut threads = [0; 3];
        for axis in 0..3 {
            threads[axis] = groups[axis].checked_mul(threadgroup[axis])?;
        }
        Some(Self {
            threads,
            threadgroup,
        })
    }

    /// A row of threads.
    pub fn line(threads: u32, threadgroup: u32) -> Self {
        Self::threads([threads, 1, 1], [threadgroup, 1, 1])
    }

    /// Threadgroups in each direction.
    pub fn group_counts(&self) -> [u32; 3] {
        std::array::from_fn(|axis| self.threads[axis].div_ceil(self.threadgroup[axis].max(1)))
    }

    pub(crate) fn check(&self, limit: Option<u32>) -> Result<(), RunError> {
        let product = |extents: [u32; 3]| extents.iter().map(|&n| u128::from(n)).product::<u128>();
        let size = product(self.threadgroup);
        let limit = limit.map_or(MAX_THREADS, |limit| u64::from(limit).min(MAX_THREADS));
        let [x, y, z] = self.threadgroup;
        if self.threadgroup.contains(&0) || self.threads.contains(&0) {
            return Err(RunError::BadGrid(
                "a grid and its threadgroup have at least one thread in each direction".into(),
            ));
        }
        if size > u128::from(limit) {
            return Err(RunError::BadGrid(format!(
                "a threadgroup of {x} × {y} × {z} threads is too large: the kernel allows {limit}"
            )));
        }
        let groups = product(self.group_counts());
        if groups > MAX_GROUPS {
            return Err(RunError::BadGrid(format!(
                "the grid has {groups} threadgroups; at most 2^32 can be run"
            )));
        }
        Ok(())
    }

    /// Where a threadgroup (counted along x, then y, then z) stands, and its size, cut at the edges.
    pub(crate) fn group(&self, number: u64) -> Group {
        let counts = self.group_counts().map(u64::from);
        // Most grids are lines, and dividing costs more than many a kernel.
        let position = match number < counts[0] {
            true => [number, 0, 0],
            false => [
                number % counts[0],
                number / counts[0] % counts[1],
                number / counts[0] / counts[1],
            ],
        }
        .map(|n| n as u32);
        let origin: [u32; 3] = std::array::from_fn(|axis| position[axis] * self.threadgroup[axis]);
        let size = std::array::from_fn(|axis| {
            self.threadgroup[axis].min(self.threads[axis] - origin[axis])
        });
        Group {
            position,
            origin,
            size,
        }
    }
}

/// One threadgroup of a dispatch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub(crate) position: [u32; 3],
    pub(crate) origin: [u32; 3],
    pub(crate) size: [u32; 3],
}

impl Group {
    pub(crate) fn threads(&self) -> u32 {
        self.size.iter().product()
    }

    /// The position in the threadgroup of its thread number `index`.
    pub(crate) fn thread(&self, index: u32) -> [u32; 3] {
        let [width, height, _] = self.size;
        [
            index % width,
            index / width % height,
            index / width / height,
        ]
    }

    /// Position in the grid of a thread of the threadgroup.
    pub(crate) fn position(&self, index: u32) -> [u32; 3] {
        let local = self.thread(index);
        std::array::from_fn(|axis| self.origin[axis].wrapping_add(local[axis]))
    }
}

#[cfg(test)]
mod tests {
    use super::Grid;

    #[test]
    fn grids_beyond_any_machine_are_refused() {
        let most = [u32::MAX; 3];
        let refused = |grid: Grid| grid.check(None).unwrap_err().to_string();
        assert!(refused(Grid::threads(most, [32, 1, 1])).contains("at most 2^32"));
        assert!(refused(Grid::threads(most, most)).contains("too large"));
        assert!(Grid::line(u32::MAX, 1).check(None).is_ok());
    }
}
