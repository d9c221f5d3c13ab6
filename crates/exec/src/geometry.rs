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
        let size: u64 = self.threadgroup.iter().map(|&n| u64::from(n)).product();
        let limit = limit.map_or(MAX_THREADS, |limit| u64::from(limit).min(MAX_THREADS));
        let [x, y, z] = self.threadgroup;
        if self.threadgroup.contains(&0) || self.threads.contains(&0) {
            return Err(RunError::BadGrid(
                "a grid and its threadgroup have at least one thread in each direction".into(),
            ));
        }
        if size > limit || self.threadgroup.iter().any(|&n| u64::from(n) > MAX_THREADS) {
            return Err(RunError::BadGrid(format!(
                "a threadgroup of {x} × {y} × {z} threads is too large: the kernel allows {limit}"
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
}
