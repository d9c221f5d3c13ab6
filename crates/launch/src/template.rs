//! A launch as it is written: every extent, size and value a formula over named sizes.

use crate::{Dtype, Formula};
use serde::Deserialize;

/// All that is written about a launch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Template<'a> {
    /// Sizes that follow from others, in order.
    pub derived: &'a [(String, Formula)],
    /// Arguments, inputs first.
    pub arguments: &'a [Argument],
    /// Function constants.
    pub constants: &'a [Constant],
    /// Dispatches, in order.
    pub passes: &'a [Pass],
}

/// An argument.
#[derive(Clone, Debug)]
pub struct Argument {
    /// Its name.
    pub name: String,
    /// Its element type; `None` stands for the variant's.
    pub dtype: Option<Dtype>,
    /// What it is for.
    pub role: Role,
}

/// What an argument is for.
#[derive(Clone, Debug)]
pub enum Role {
    /// Numbers the kernel reads.
    Input {
        /// Extents.
        shape: Vec<Formula>,
        /// What the numbers are like.
        values: Values,
        /// All indices are below this.
        below: Option<Formula>,
        /// A factor, in reals.
        scale: Option<Formula>,
        /// Numbers the kernel must also get right.
        extremes: Vec<f64>,
    },
    /// Numbers the kernel writes.
    Output {
        /// Extents.
        shape: Vec<Formula>,
    },
    /// Memory between passes.
    Scratch {
        /// Extents.
        shape: Vec<Formula>,
    },
    /// One number.
    Scalar {
        /// Its value; in reals for floating-point types.
        value: Formula,
    },
}

/// A function constant, always a 32-bit whole number.
#[derive(Clone, Debug)]
pub struct Constant {
    /// Its name.
    pub name: String,
    /// Its number.
    pub index: u32,
    /// Its value.
    pub value: Formula,
}

/// One dispatch.
#[derive(Clone, Debug)]
pub struct Pass {
    /// Name in the source without the element type.
    pub function: String,
    /// What is bound to 0, 1, 2, …
    pub bindings: Vec<Binding>,
    /// Grid.
    pub grid: Grid,
    /// Threads of a threadgroup.
    pub threadgroup: [Formula; 3],
    /// Bytes of threadgroup memory 0, 1, 2, …
    pub threadgroup_memory: Vec<Formula>,
    /// How often it is dispatched, one after the other; once when not said.
    pub repeat: Option<Formula>,
}

/// What a pass binds.
#[derive(Clone, Debug)]
pub enum Binding {
    /// An argument, by its place among [`Template::arguments`].
    Argument(usize),
    /// A 32-bit whole number.
    Number(Formula),
}

/// Extent of a grid.
#[derive(Clone, Debug, PartialEq)]
pub enum Grid {
    /// In threads.
    Threads([Formula; 3]),
    /// In threadgroups.
    Groups([Formula; 3]),
}

/// What the numbers of an input are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Values {
    /// Normally distributed.
    Normal,
    /// Evenly between −1 and 1.
    Uniform,
    /// Normally distributed, without sign and never nearer to 0 than 2⁻¹⁰.
    Positive,
    /// Numbers near 1, so that long products stay in range.
    NearOne,
    /// Whole numbers from 0, below a bound.
    Index,
    /// 0 or 1.
    Mask,
    /// 0 or minus infinity, at least one 0 in each row.
    AdditiveMask,
    /// One 1 in each row, otherwise 0.
    OneHot,
    /// −1 or 1.
    Sign,
    /// Not negative, each row adds up to 1.
    Probability,
    /// Logarithms of probabilities.
    LogProbability,
    /// No two numbers of a row are equal.
    Distinct,
}
