//! A launch at certain sizes: plain numbers.

use crate::template::Values;
use crate::{Dtype, Sizes};

/// What a kernel is given and how it is started.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Launch {
    /// All sizes, derived ones too.
    pub sizes: Sizes,
    /// Arguments.
    pub arguments: Vec<Argument>,
    /// Function constants: number, name, value.
    pub constants: Vec<(u32, String, u32)>,
    /// Dispatches, in order.
    pub passes: Vec<Pass>,
}

/// An argument in numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// Its name.
    pub name: String,
    /// Its element type.
    pub dtype: Dtype,
    /// What it is for.
    pub role: Role,
}

/// What an argument is for, in numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Role {
    /// Numbers the kernel reads.
    Input {
        /// Extents.
        shape: Vec<usize>,
        /// What the numbers are like.
        values: Values,
        /// All indices are below this.
        below: u64,
        /// A factor.
        scale: f64,
        /// Numbers the kernel must also get right.
        extremes: Vec<f64>,
    },
    /// Numbers the kernel writes.
    Output {
        /// Extents.
        shape: Vec<usize>,
    },
    /// Memory between passes.
    Scratch {
        /// Extents.
        shape: Vec<usize>,
    },
    /// One number.
    Scalar {
        /// Its value, rounded to its type.
        value: f64,
    },
}

impl Argument {
    /// Elements it has; a scalar has one.
    pub fn elements(&self) -> usize {
        match &self.role {
            Role::Input { shape, .. } | Role::Output { shape } | Role::Scratch { shape } => {
                shape.iter().product()
            }
            Role::Scalar { .. } => 1,
        }
    }
}

/// One dispatch in numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Pass {
    /// Name in the source.
    pub function: String,
    /// What is bound to 0, 1, 2, …
    pub bindings: Vec<Binding>,
    /// Threads or threadgroups of the grid.
    pub extent: Extent,
    /// Threads of a threadgroup.
    pub threadgroup: [u32; 3],
    /// Bytes of threadgroup memory 0, 1, 2, …
    pub threadgroup_memory: Vec<u32>,
    /// How often it is dispatched, one after the other.
    pub repeat: u32,
}

/// Extent of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// So many threads; threadgroups at the edges may be smaller.
    Threads([u32; 3]),
    /// So many whole threadgroups.
    Groups([u32; 3]),
}

impl Extent {
    /// Threads along each axis, in whole threadgroups if it is given in those; none if an axis has more than 2^32.
    pub fn threads(self, threadgroup: [u32; 3]) -> Option<[u32; 3]> {
        let groups = match self {
            Extent::Threads(threads) => return Some(threads),
            Extent::Groups(groups) => groups,
        };
        let mut threads = [0; 3];
        for (axis, place) in threads.iter_mut().enumerate() {
            *place = groups[axis].checked_mul(threadgroup[axis])?;
        }
        Some(threads)
    }

    /// Threadgroups of this size.
    pub fn groups(self, threadgroup: [u32; 3]) -> u64 {
        let along = |axis: usize| match self {
            Extent::Groups(groups) => groups[axis],
            Extent::Threads(threads) => threads[axis].div_ceil(threadgroup[axis].max(1)),
        };
        (0..3).fold(1u64, |product, axis| {
            product.saturating_mul(along(axis).into())
        })
    }
}

/// What a pass binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// An argument, by its place among [`Launch::arguments`].
    Argument(usize),
    /// A 32-bit whole number.
    Number(u32),
}

impl Pass {
    /// Threads of the grid along each axis, in whole threadgroups if it is given in those.
    pub fn threads(&self) -> [u32; 3] {
        let threads = self.extent.threads(self.threadgroup);
        threads.unwrap_or([u32::MAX; 3])
    }

    /// Threadgroups of the grid.
    pub fn groups(&self) -> u64 {
        self.extent.groups(self.threadgroup)
    }
}
