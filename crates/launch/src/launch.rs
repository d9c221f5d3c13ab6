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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// In threads.
    Threads([u32; 3]),
    /// In threadgroups.
    Groups([u32; 3]),
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
        match self.extent {
            Extent::Threads(threads) => threads,
            Extent::Groups(groups) => {
                std::array::from_fn(|axis| groups[axis].saturating_mul(self.threadgroup[axis]))
            }
        }
    }

    /// Threadgroups of the grid.
    pub fn groups(&self) -> u64 {
        let count = |[x, y, z]: [u32; 3]| {
            u64::from(x)
                .saturating_mul(u64::from(y))
                .saturating_mul(u64::from(z))
        };
        match self.extent {
            Extent::Groups(groups) => count(groups),
            Extent::Threads(threads) => {
                let [x, y, z] = threads;
                let [a, b, c] = self.threadgroup.map(|extent| extent.max(1));
                count([x.div_ceil(a), y.div_ceil(b), z.div_ceil(c)])
            }
        }
    }
}
