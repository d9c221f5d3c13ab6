//! What to run: the geometry and limits of a launch.

use crate::device::{DeviceMemory, TooManyBuffers};
use crate::fault::Thread;
use crate::uniforms::{NoSuchUniform, Uniforms};
use assay_agx::{Axis, BoundValue, Program, SystemValue};

/// Threads of a threadgroup at most.
pub const MAX_THREADS_PER_THREADGROUP: u32 = 1024;

/// Threadgroup memory at most, in bytes: its addresses have 16 bits.
pub const MAX_THREADGROUP_BYTES: u32 = 1 << 16;

/// Stack per thread at most, in bytes.
pub const MAX_STACK_BYTES: u32 = 1 << 20;

/// Threadgroup memory when neither the launch nor the program says.
const DEFAULT_THREADGROUP_BYTES: u32 = 32 << 10;

/// Stack per thread when neither says.
const DEFAULT_STACK_BYTES: u32 = 64 << 10;

/// What to run, and how.
///
/// ```
/// let mut launch = assay_emu::Launch::new([100, 1, 1], [64, 1, 1]);
/// launch.uniforms.set_u32(10, 100)?;
/// # Ok::<(), assay_emu::NoSuchUniform>(())
/// ```
#[derive(Clone, Debug)]
pub struct Launch {
    /// Threads along each axis. The last threadgroups of an axis are smaller when the
    /// size of threadgroups does not divide it.
    pub grid: [u32; 3],
    /// Threads of a threadgroup along each axis.
    pub threadgroup: [u32; 3],
    /// Arguments and other values placed in uniforms.
    pub uniforms: Uniforms,
    /// Threadgroup memory in bytes; what the program states when `None`.
    pub threadgroup_bytes: Option<u32>,
    /// Stack per thread in bytes; what the program states when `None`.
    pub stack_bytes: Option<u32>,
    /// Instructions one simdgroup may execute.
    pub max_steps: u64,
    /// Do not check waits, hints, unwritten registers, unset uniforms and the nesting
    /// of the execution mask.
    pub lenient: bool,
    /// Run threadgroups one after another, in order. Programs whose result depends on
    /// the order of atomics always are.
    pub sequential: bool,
    /// Count executions per instruction.
    pub count: bool,
    /// Follow this thread.
    pub trace: Option<Thread>,
}

/// Why a launch is not possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// An axis is zero.
    #[error("the {0} has no threads: every axis must be at least 1")]
    Empty(&'static str),
    /// A threadgroup is too large.
    #[error("a threadgroup of {0} threads is too large: the hardware has at most 1024")]
    ThreadgroupTooLarge(u64),
    /// The grid has too many threadgroups.
    #[error("the grid has {0} threadgroups; at most 2^32 can be run")]
    GridTooLarge(u128),
    /// Too much threadgroup memory.
    #[error("{0} bytes of threadgroup memory are too many: its addresses have 16 bits")]
    TooMuchThreadgroupMemory(u32),
    /// Too much stack.
    #[error("{0} bytes of stack per thread are too many: at most 1 MiB is given")]
    TooMuchStack(u32),
    /// A value of the program does not fit the uniforms.
    #[error("the program's constants do not fit: {0}")]
    Uniform(#[from] NoSuchUniform),
    /// There is no room for the program's constant data.
    #[error("the program's constant data cannot be placed: {0}")]
    Data(#[from] TooManyBuffers),
    /// The thread to follow is not in the grid.
    #[error("there is no such thread to follow: {0}")]
    NoSuchThread(Thread),
}

/// A launch whose limits are known to be sound.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Geometry {
    pub(crate) grid: [u32; 3],
    pub(crate) threadgroup: [u32; 3],
    /// Threadgroups along each axis.
    pub(crate) groups: [u32; 3],
    pub(crate) threadgroup_bytes: u32,
    pub(crate) stack_bytes: u32,
}

impl Launch {
    /// A strict launch with default limits: 100 million instructions per simdgroup.
    pub fn new(grid: [u32; 3], threadgroup: [u32; 3]) -> Launch {
        Launch {
            grid,
            threadgroup,
            uniforms: Uniforms::new(),
            threadgroup_bytes: None,
            stack_bytes: None,
            max_steps: 100_000_000,
            lenient: false,
            sequential: false,
            count: false,
            trace: None,
        }
    }

    /// The thread at a position in the grid, for [`Launch::trace`].
    pub fn thread_at(&self, position: [u32; 3]) -> Option<Thread> {
        let in_grid = position.iter().zip(&self.grid).all(|(at, end)| at < end);
        let sizes_sound = self.threadgroup.iter().all(|&size| size > 0);
        if !in_grid || !sizes_sound {
            return None;
        }
        let axis = |n: usize| position[n] / self.threadgroup[n];
        let threadgroup = [axis(0), axis(1), axis(2)];
        let size = edge_size(self.grid, self.threadgroup, threadgroup);
        let inside = |n: usize| u64::from(position[n] % self.threadgroup[n]);
        let row = inside(2) * u64::from(size[1]) + inside(1);
        let index = row * u64::from(size[0]) + inside(0);
        Some(Thread {
            threadgroup,
            simdgroup: (index / 32) as u32,
            lane: (index % 32) as u32,
        })
    }

    /// Adds the constant data of a program to the memory it will run on, and tells the
    /// program where it is.
    pub fn place_data(
        &mut self,
        program: &Program,
        memory: &mut DeviceMemory,
    ) -> Result<(), LaunchError> {
        if program.data.is_empty() {
            return Ok(());
        }
        let buffer = memory.add(&program.data)?;
        let start = memory.address(buffer);
        for binding in &program.bindings {
            if let BoundValue::DataAddress { offset } = binding.value {
                let bytes = (start + u64::from(offset)).to_le_bytes();
                self.uniforms.set_bytes(binding.first_half, &bytes)?;
            }
        }
        Ok(())
    }

    pub(crate) fn geometry(&self, program: &Program) -> Result<Geometry, LaunchError> {
        if self.grid.contains(&0) {
            return Err(LaunchError::Empty("grid"));
        }
        if self.threadgroup.contains(&0) {
            return Err(LaunchError::Empty("threadgroup"));
        }
        let threads = self.threadgroup.iter().fold(1u64, |product, &size| {
            product.saturating_mul(u64::from(size))
        });
        if threads > u64::from(MAX_THREADS_PER_THREADGROUP) {
            return Err(LaunchError::ThreadgroupTooLarge(threads));
        }
        let axis = |n: usize| self.grid[n].div_ceil(self.threadgroup[n]);
        let groups = [axis(0), axis(1), axis(2)];
        let count = groups.iter().map(|&axis| u128::from(axis)).product();
        if count > 1 << 32 {
            return Err(LaunchError::GridTooLarge(count));
        }
        let threadgroup_bytes = self
            .threadgroup_bytes
            .or(program.threadgroup_bytes)
            .unwrap_or(DEFAULT_THREADGROUP_BYTES);
        if threadgroup_bytes > MAX_THREADGROUP_BYTES {
            return Err(LaunchError::TooMuchThreadgroupMemory(threadgroup_bytes));
        }
        let stack_bytes = self
            .stack_bytes
            .or(program.scratch_bytes)
            .unwrap_or(DEFAULT_STACK_BYTES);
        if stack_bytes > MAX_STACK_BYTES {
            return Err(LaunchError::TooMuchStack(stack_bytes));
        }
        let geometry = Geometry {
            grid: self.grid,
            threadgroup: self.threadgroup,
            groups,
            threadgroup_bytes,
            stack_bytes,
        };
        match self.trace {
            Some(thread) if !geometry.contains(thread) => Err(LaunchError::NoSuchThread(thread)),
            _ => Ok(geometry),
        }
    }

    /// The uniforms with the program's own constants and the values of the dispatch
    /// that it expects added. What the caller has set stays.
    pub(crate) fn all_uniforms(&self, program: &Program) -> Result<Uniforms, LaunchError> {
        let mut uniforms = self.uniforms.clone();
        for constants in &program.constants {
            for (index, value) in constants.values.iter().enumerate() {
                let half = u64::from(constants.first_half) + index as u64;
                let narrow = u16::try_from(half).map_err(|_| NoSuchUniform(half))?;
                uniforms.set(narrow, *value)?;
            }
        }
        for binding in &program.bindings {
            if let BoundValue::System(value, axis) = binding.value
                && let Some(value) = self.system_value(value, axis)
                && uniforms.get(binding.first_half).is_none()
            {
                let halves = usize::from(binding.halves.min(4));
                let bytes = u64::from(value).to_le_bytes();
                uniforms.set_bytes(binding.first_half, &bytes[..2 * halves])?;
            }
        }
        Ok(uniforms)
    }

    /// A value of the dispatch that a program says it finds in uniforms.
    fn system_value(&self, value: SystemValue, axis: Axis) -> Option<u32> {
        let axis = match axis {
            Axis::X => 0,
            Axis::Y => 1,
            Axis::Z => 2,
        };
        let (grid, group) = (self.grid[axis], self.threadgroup[axis]);
        match value {
            SystemValue::ThreadsPerGrid => Some(grid),
            SystemValue::ThreadsPerThreadgroup => Some(group),
            SystemValue::ThreadgroupsPerGrid => Some(grid.div_ceil(group)),
            SystemValue::GridOrigin => Some(0),
            SystemValue::ThreadgroupOffset(_)
            | SystemValue::TextureSize(_)
            | SystemValue::TextureCounts(_) => None,
        }
    }
}

impl Geometry {
    /// How many threadgroups there are.
    pub(crate) fn count(&self) -> u64 {
        self.groups.iter().map(|&axis| u64::from(axis)).product()
    }

    /// Position of the `n`th threadgroup.
    pub(crate) fn group(&self, n: u64) -> [u32; 3] {
        let (x, y) = (u64::from(self.groups[0]), u64::from(self.groups[1]));
        [(n % x) as u32, (n / x % y) as u32, (n / x / y) as u32]
    }

    /// Threads of a threadgroup along each axis.
    pub(crate) fn size(&self, group: [u32; 3]) -> [u32; 3] {
        edge_size(self.grid, self.threadgroup, group)
    }

    fn contains(&self, thread: Thread) -> bool {
        let inside = thread
            .threadgroup
            .iter()
            .zip(&self.groups)
            .all(|(at, end)| at < end);
        let threads: u32 = match inside {
            true => self.size(thread.threadgroup).iter().product(),
            false => 0,
        };
        let index = u64::from(thread.simdgroup) * 32 + u64::from(thread.lane);
        thread.lane < 32 && index < u64::from(threads)
    }
}

/// The size of a threadgroup, smaller at the edges of the grid.
fn edge_size(grid: [u32; 3], full: [u32; 3], group: [u32; 3]) -> [u32; 3] {
    let axis = |n: usize| {
        let start = u64::from(group[n]) * u64::from(full[n]);
        (u64::from(grid[n]).saturating_sub(start)).min(u64::from(full[n])) as u32
    };
    [axis(0), axis(1), axis(2)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_at_the_edge_belong_to_smaller_threadgroups() {
        let launch = Launch::new([10, 5, 1], [8, 4, 1]);
        let thread = launch.thread_at([9, 4, 0]).unwrap();
        assert_eq!(thread.threadgroup, [1, 1, 0]);
        assert_eq!((thread.simdgroup, thread.lane), (0, 1));
        assert_eq!(launch.thread_at([10, 0, 0]), None);
        let inner = launch.thread_at([7, 3, 0]).unwrap();
        assert_eq!((inner.simdgroup, inner.lane), (0, 31));
    }

    #[test]
    fn absurd_geometry_is_refused() {
        let program = Program::default();
        let refused = |grid, threadgroup| {
            Launch::new(grid, threadgroup)
                .geometry(&program)
                .unwrap_err()
        };
        assert_eq!(refused([0, 1, 1], [1, 1, 1]), LaunchError::Empty("grid"));
        assert_eq!(
            refused([1, 1, 1], [u32::MAX; 3]),
            LaunchError::ThreadgroupTooLarge(u64::MAX)
        );
        assert!(matches!(
            refused([u32::MAX; 3], [1, 1, 1]),
            LaunchError::GridTooLarge(_)
        ));
    }
}
