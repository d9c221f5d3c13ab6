//! What each operation computes, in plain double precision.
//!
//! Written for reading, from the definition of the operation, in the order of the definition; nothing is shared with
//! the kernels. An oracle also says how large the numbers were that went into each element ([`Answer::scale`]): for a
//! sum, the sum of magnitudes. Rounding errors grow with that, not with the result, which may be small because large
//! numbers cancelled. So a tolerance relative to it is tight where the result is small and fair where it cancels.
//!
//! ```
//! use assay_bench::oracle::{self, Call, Tensor};
//! use assay_bench::formula::Sizes;
//! let sizes = Sizes::from([("n".to_owned(), 2)]);
//! let inputs = [Tensor::new(vec![2], vec![3.0, -4.0])?, Tensor::new(vec![2], vec![2.0, 1.0])?];
//! let call = Call { sizes: &sizes, scalars: &[], inputs: &inputs, rows: None };
//! let answers = oracle::named("dot_product").expect("known")(&call)?;
//! assert_eq!(answers[0].values, [2.0]);
//! assert_eq!(answers[0].scale, [10.0]);
//! # Ok::<(), oracle::Error>(())
//! ```
//!
//! A kernel may bring an oracle of its own instead ([`Definition`]): an [`expression`], a Python function or a program.

mod attention;
mod convolution;
mod definition;
mod elementwise;
pub mod expression;
pub mod launched;
mod matmul;
mod models;
mod pool;
mod program;
mod rows;

pub use definition::Definition;
pub use expression::Expression;
pub use program::{Language, Program};

use crate::formula::Sizes;
use crate::registry::Case;

/// Numbers with extents.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Extents, the last one contiguous.
    pub shape: Vec<usize>,
    /// As many numbers as the extents say.
    pub values: Vec<f64>,
}

impl Tensor {
    /// Numbers with extents that fit them.
    pub fn new(shape: Vec<usize>, values: Vec<f64>) -> Result<Self, Error> {
        let elements = shape
            .iter()
            .try_fold(1usize, |product, &extent| product.checked_mul(extent));
        if elements != Some(values.len()) {
            return Err(Error::Shape);
        }
        Ok(Self { shape, values })
    }

    /// A number by its place; NaN outside, which no result may be.
    fn at(&self, place: usize) -> f64 {
        self.values.get(place).copied().unwrap_or(f64::NAN)
    }

    /// The last extent.
    fn columns(&self) -> Result<usize, Error> {
        self.shape
            .last()
            .copied()
            .filter(|&columns| columns > 0)
            .ok_or(Error::Shape)
    }

    /// The rows, which lie along the last extent.
    fn rows(&self) -> Result<std::slice::ChunksExact<'_, f64>, Error> {
        Ok(self.values.chunks_exact(self.columns()?))
    }

    fn extents<const N: usize>(&self) -> Result<[usize; N], Error> {
        <[usize; N]>::try_from(self.shape.as_slice()).map_err(|_| Error::Shape)
    }
}

/// What an oracle is asked.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// All sizes.
    pub sizes: &'a Sizes,
    /// Scalars by name, as the kernel gets them.
    pub scalars: &'a [(String, f64)],
    /// Inputs, in order.
    pub inputs: &'a [Tensor],
    /// Rows of the output, along its last extent, in rising order, that are asked for; all of them if `None`. What an
    /// oracle says about other rows is nothing: long ones leave them out.
    pub rows: Option<&'a [usize]>,
}

/// Why an oracle has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Extents that do not fit each other.
    #[error("the extents of the inputs do not fit the operation")]
    Shape,
    /// A size, scalar or input the operation needs is missing.
    #[error("the operation needs \"{0}\", which the registry entry does not have")]
    Missing(&'static str),
    /// No oracle has this name.
    #[error("there is no oracle \"{0}\"")]
    Unknown(String),
    /// An expression that cannot be computed.
    #[error("the oracle's expression, {0}")]
    Expression(#[from] expression::Error),
    /// A program that gave no answer.
    #[error("the oracle {0}")]
    Program(String),
}

impl Call<'_> {
    /// The rows that are asked for, of so many.
    fn asked(&self, rows: usize) -> Vec<usize> {
        match self.rows {
            Some(asked) => asked.iter().copied().filter(|row| *row < rows).collect(),
            None => (0..rows).collect(),
        }
    }

    fn input(&self, place: usize) -> Result<&Tensor, Error> {
        self.inputs
            .get(place)
            .ok_or(Error::Missing("another input"))
    }

    fn size(&self, name: &'static str) -> Result<usize, Error> {
        let value = self.sizes.get(name).ok_or(Error::Missing(name))?;
        usize::try_from(*value).map_err(|_| Error::Shape)
    }

    fn scalar(&self, name: &'static str) -> Result<f64, Error> {
        let mut known = self.scalars.iter();
        let found = known.find(|(known, _)| known == name);
        found.map(|(_, value)| *value).ok_or(Error::Missing(name))
    }
}

/// What is right, for one output.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The numbers.
    pub values: Vec<f64>,
    /// For each, the size of what went into it: what rounding errors are relative to. Never below its magnitude.
    pub scale: Vec<f64>,
}

impl Answer {
    /// Numbers whose scale is their own magnitude.
    pub fn exact(values: Vec<f64>) -> Self {
        let scale = values.iter().map(|value| value.abs()).collect();
        Self { values, scale }
    }

    /// Numbers of which nothing tells what went into each: that is taken to be as large as the largest of them.
    pub fn of_buffer(values: Vec<f64>) -> Self {
        let finite = values
            .iter()
            .map(|value| value.abs())
            .filter(|it| it.is_finite());
        let largest = finite.fold(0.0, f64::max);
        let scale = vec![largest; values.len()];
        Self { values, scale }
    }

    fn new(values: Vec<f64>, scale: Vec<f64>) -> Self {
        Self { values, scale }
    }

    fn from_pairs(pairs: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let (values, scale) = pairs.into_iter().unzip();
        Self { values, scale }
    }

    /// A function of each number, by its place, which enlarges differences by no more than `slope`.
    fn then(self, slope: f64, function: impl Fn(usize, f64) -> f64) -> Self {
        let pairs = self.values.iter().zip(&self.scale).enumerate();
        Self::from_pairs(pairs.map(|(place, (&value, &scale))| {
            let value = function(place, value);
            (value, value.abs().max(slope * scale))
        }))
    }
}

/// What an oracle says: one answer per output.
pub type Answers = Result<Vec<Answer>, Error>;

/// What an operation computes.
pub type Oracle = fn(&Call<'_>) -> Answers;

/// Names and functions of a family.
type Family = &'static [(&'static str, Oracle)];

const FAMILIES: &[Family] = &[
    elementwise::FAMILY,
    rows::FAMILY,
    matmul::FAMILY,
    convolution::FAMILY,
    pool::FAMILY,
    attention::FAMILY,
    models::FAMILY,
];

/// What is right for a case with these inputs, one answer per output.
pub fn answers(case: &Case, inputs: &[Tensor]) -> Answers {
    answers_at(case, inputs, None)
}

/// The same, only for some rows of outputs; see [`Call::rows`].
pub fn answers_at(case: &Case, inputs: &[Tensor], rows: Option<&[usize]>) -> Answers {
    case.oracle.answers(case, inputs, rows)
}

/// The oracle of this name.
pub fn named(name: &str) -> Option<Oracle> {
    all()
        .find(|(known, _)| *known == name)
        .map(|(_, oracle)| oracle)
}

/// All oracles, with their names.
pub fn all() -> impl Iterator<Item = (&'static str, Oracle)> {
    FAMILIES.iter().flat_map(|family| family.iter().copied())
}
