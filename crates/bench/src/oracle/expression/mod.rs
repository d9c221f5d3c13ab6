//! Oracles as expressions over indices: `y[i, j] = max(x[i, j], 0)`.
//!
//! An operation that is not in this crate is defined in the kernel's own `kernel.toml`, one array a line:
//!
//! ```text
//! m[r < rows] = max(k < cols: x[r, k])
//! s[r < rows] = sum(k < cols: exp(x[r, k] - m[r]))
//! y[r, c] = exp(x[r, c] - m[r]) / s[r]
//! ```
//!
//! The left side names an output, whose indices run over its extents, or an array of the oracle's own, whose indices
//! carry their limits. The right side has numbers, sizes, scalars, indices, elements, `+ - * / %`, comparisons (1 or 0),
//! `if(condition, then, otherwise)`, the functions of [`Function`], and the reductions of [`Reduction`] over an index of
//! their own. Elements are computed in order, the last index fastest; an array may read its own earlier elements, which
//! makes running sums.
//!
//! Everything is in double precision, and every number carries its scale ([`super::Answer::scale`]): what went into it,
//! carried along by the derivative of each operation. A sum that cancels keeps the size of its terms.

mod arithmetic;
mod evaluate;
mod metal;
mod parse;

pub use metal::Plain;

pub(crate) use evaluate::answers;

use crate::registry::Case;
use std::fmt;

/// Longest text of an oracle.
const LONGEST: usize = 1 << 16;

/// The definitions of an oracle, read.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    text: String,
    definitions: Vec<Definition>,
}

/// What is wrong with an expression, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {what}")]
pub struct Error {
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in characters.
    pub column: usize,
    /// What is wrong.
    pub what: String,
}

/// A place in the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct At {
    line: usize,
    column: usize,
}

impl At {
    fn wrong(self, what: impl Into<String>) -> Error {
        Error {
            line: self.line,
            column: self.column,
            what: what.into(),
        }
    }
}

/// An array and the expression of its elements.
#[derive(Clone, Debug, PartialEq)]
struct Definition {
    at: At,
    array: String,
    /// Names of the indices, with their limits where they are written.
    indices: Vec<(String, Option<Node>)>,
    value: Node,
}

#[derive(Clone, Debug, PartialEq)]
struct Node {
    at: At,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Number(f64),
    /// A size, a scalar or an index.
    Name(String),
    Element(String, Vec<Node>),
    Apply(Function, Vec<Node>),
    Reduce {
        reduction: Reduction,
        index: String,
        limit: Box<Node>,
        body: Box<Node>,
    },
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $variant:ident = $word:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$of])* $variant),* }

        impl $name {
            /// All of them, by the word in expressions.
            pub const ALL: &[(&str, Self)] = &[$(($word, Self::$variant)),*];

            fn named(word: &str) -> Option<Self> {
                let found = Self::ALL.iter().find(|(known, _)| *known == word);
                found.map(|(_, this)| *this)
            }
        }
    };
}

words!(
    /// What is computed of numbers.
    Function {
        /// A sum.
        Add = "+",
        /// A difference, or a number with the other sign.
        Subtract = "-",
        /// A product.
        Multiply = "*",
        /// A quotient, not rounded: `floor(a / b)` is.
        Divide = "/",
        /// What a division leaves, with the divisor's sign.
        Remainder = "%",
        /// Less.
        Less = "<",
        /// Less or equal.
        LessEqual = "<=",
        /// Greater.
        Greater = ">",
        /// Greater or equal.
        GreaterEqual = ">=",
        /// Equal.
        Equal = "==",
        /// Not equal.
        NotEqual = "!=",
        /// `if(condition, then, otherwise)`; the side that is not taken is not computed.
        If = "if",
        /// The smaller of two.
        Min = "min",
        /// The larger of two.
        Max = "max",
        /// A power.
        Pow = "pow",
        /// Magnitude.
        Abs = "abs",
        /// -1, 0 or 1.
        Sign = "sign",
        /// Square root.
        Sqrt = "sqrt",
        /// One over the square root.
        Rsqrt = "rsqrt",
        /// Exponential.
        Exp = "exp",
        /// Natural logarithm.
        Log = "log",
        /// Sine.
        Sin = "sin",
        /// Cosine.
        Cos = "cos",
        /// Hyperbolic tangent.
        Tanh = "tanh",
        /// Error function.
        Erf = "erf",
        /// Rounded down.
        Floor = "floor",
        /// Rounded up.
        Ceil = "ceil",
        /// To the nearest whole number, ties to even.
        Rint = "rint",
    }
);

words!(
    /// What is made of the values of an expression for every value of an index: `sum(k < n: x[k])`.
    Reduction {
        /// Their sum; 0 of none.
        Sum = "sum",
        /// Their product; 1 of none.
        Product = "product",
        /// The smallest; infinity of none.
        Min = "min",
        /// The largest; minus infinity of none.
        Max = "max",
        /// The first index of the smallest.
        Argmin = "argmin",
        /// The first index of the largest.
        Argmax = "argmax",
    }
);

impl Function {
    /// How many numbers it takes: at least, at most.
    const fn arity(self) -> (usize, usize) {
        match self {
            Self::If => (3, 3),
            Self::Subtract => (1, 2),
            Self::Add
            | Self::Multiply
            | Self::Divide
            | Self::Remainder
            | Self::Less
            | Self::LessEqual
            | Self::Greater
            | Self::GreaterEqual
            | Self::Equal
            | Self::NotEqual
            | Self::Min
            | Self::Max
            | Self::Pow => (2, 2),
            _ => (1, 1),
        }
    }
}

impl Expression {
    /// Reads definitions. Names are looked up by [`Expression::check`].
    pub fn parse(text: &str) -> Result<Self, Error> {
        if text.len() > LONGEST {
            return Err(At { line: 1, column: 1 }.wrong(format!("longer than {LONGEST} bytes")));
        }
        Ok(Self {
            definitions: parse::definitions(text)?,
            text: text.to_owned(),
        })
    }

    /// The text it was read from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns true if a line defines an array of this name.
    pub fn defines(&self, array: &str) -> bool {
        self.definitions.iter().any(|it| it.array == array)
    }

    /// How many indices an array has where it first stands; none if it stands nowhere.
    pub fn rank(&self, array: &str) -> Option<usize> {
        let mut definitions = self.definitions.iter();
        definitions.find_map(|it| {
            let own = (it.array == array).then_some(it.indices.len());
            own.or_else(|| it.value.rank(array))
        })
    }

    /// Looks up every name and counts the indices of every element, without computing any.
    pub fn check(&self, case: &Case) -> Result<(), Error> {
        evaluate::Bound::new(self, case).map(|_| ())
    }
}

impl Node {
    fn rank(&self, array: &str) -> Option<usize> {
        match &self.kind {
            Kind::Number(_) | Kind::Name(_) => None,
            Kind::Element(name, indices) if name == array => Some(indices.len()),
            Kind::Element(_, parts) | Kind::Apply(_, parts) => {
                parts.iter().find_map(|part| part.rank(array))
            }
            Kind::Reduce { limit, body, .. } => limit.rank(array).or_else(|| body.rank(array)),
        }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text.trim())
    }
}
