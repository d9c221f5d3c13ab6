//! Small formulas over named sizes: `ceil_div(rows, 64) * 2`.
//!
//! Registry files describe shapes, geometry and costs for any size. A formula has whole numbers, names, `+ - * / %`,
//! comparisons, `&& || !`, parentheses and a few functions ([`Function`]). Division rounds down; a comparison is 1 or 0. Whole-number evaluation checks for overflow,
//! for results below zero and for division by zero; evaluation in reals ([`Formula::real`]) exists for values such as
//! `1 / sqrt(depth)`. Every error has its place in the text.
//!
//! ```
//! use assay_launch::formula::{Formula, Sizes};
//! let groups = Formula::parse("ceil_div(rows, 64) * 2")?;
//! let sizes = Sizes::from([("rows".to_owned(), 130)]);
//! assert_eq!(groups.integer(&sizes)?, 6);
//!
//! let error = Formula::parse("rows +").unwrap_err();
//! assert_eq!(error.to_string(), "column 7: a number, a name or \"(\" is missing");
//! # Ok::<(), assay_launch::formula::Error>(())
//! ```

mod parse;
mod restriction;

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

pub use restriction::{Range, Restriction};

/// Names and their values.
pub type Sizes = BTreeMap<String, u64>;

/// What is wrong with a formula, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {what}")]
pub struct Error {
    /// Counted from 1, in characters.
    pub column: usize,
    /// What is wrong.
    pub what: String,
}

/// A formula that parsed.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    text: String,
    root: Node,
}

#[derive(Clone, Debug, PartialEq)]
struct Node {
    column: usize,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Integer(u64),
    Real(f64),
    Name(String),
    Apply(Function, Vec<Node>),
}

/// Everything that computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// `a + b`
    Add,
    /// `a - b`
    Subtract,
    /// `a * b`
    Multiply,
    /// `a / b`, rounded down in whole numbers
    Divide,
    /// `a % b`
    Remainder,
    /// `ceil_div(a, b)`: a / b rounded up
    CeilDiv,
    /// `round_up(a, b)`: the next multiple of b
    RoundUp,
    /// `min(a, b)`
    Min,
    /// `max(a, b)`
    Max,
    /// `pow2(a)`: the next power of two
    Pow2,
    /// `sqrt(a)`, in reals only
    Sqrt,
    /// `a < b`
    Less,
    /// `a <= b`
    LessEqual,
    /// `a > b`
    Greater,
    /// `a >= b`
    GreaterEqual,
    /// `a == b`
    Equal,
    /// `a != b`
    NotEqual,
    /// `a && b`: both are other than 0
    And,
    /// `a || b`: one is other than 0
    Or,
    /// `!a`: a is 0
    Not,
}

impl Function {
    /// The sign of a function that is written between its operands.
    const fn sign(self) -> Option<char> {
        Some(match self {
            Self::Add => '+',
            Self::Subtract => '-',
            Self::Multiply => '*',
            Self::Divide => '/',
            Self::Remainder => '%',
            _ => return None,
        })
    }

    const fn name(self) -> &'static str {
        match self {
            Self::RoundUp => "round_up",
            Self::Min => "min",
            Self::Max => "max",
            Self::Pow2 => "pow2",
            Self::Sqrt => "sqrt",
            _ => "ceil_div",
        }
    }

    /// The function of two formulas as text.
    fn text(self, a: &Formula, b: &Formula) -> String {
        let operand = |formula: &Formula| match formula.is_operand() {
            true => formula.text.clone(),
            false => format!("({})", formula.text),
        };
        match self.sign() {
            Some(sign) => format!("{} {sign} {}", operand(a), operand(b)),
            None => format!("{}({}, {})", self.name(), a.text, b.text),
        }
    }

    fn named(name: &str) -> Option<(Self, usize)> {
        Some(match name {
            "ceil_div" => (Self::CeilDiv, 2),
            "round_up" => (Self::RoundUp, 2),
            "min" => (Self::Min, 2),
            "max" => (Self::Max, 2),
            "pow2" => (Self::Pow2, 1),
            "sqrt" => (Self::Sqrt, 1),
            _ => return None,
        })
    }
}

impl Formula {
    /// Reads a formula.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let root = parse::parse(text)?;
        Ok(Self {
            text: text.to_owned(),
            root,
        })
    }

    /// A plain number.
    pub fn number(value: u64) -> Self {
        Self {
            text: value.to_string(),
            root: Node {
                column: 1,
                kind: Kind::Integer(value),
            },
        }
    }

    /// A function of two formulas: `a * b`, `ceil_div(a, b)`.
    ///
    /// ```
    /// use assay_launch::formula::{Formula, Function};
    /// let rows = Formula::parse("M + 1")?;
    /// let threads = Formula::of(Function::Multiply, &rows, &Formula::number(32));
    /// assert_eq!(threads.text(), "(M + 1) * 32");
    /// # Ok::<(), assay_launch::formula::Error>(())
    /// ```
    pub fn of(function: Function, a: &Formula, b: &Formula) -> Self {
        let text = function.text(a, b);
        let root = parse::parse(&text).unwrap_or_else(|_| Node {
            column: 1,
            kind: Kind::Apply(function, vec![a.root.clone(), b.root.clone()]),
        });
        Self { text, root }
    }

    /// Returns true if the text needs no parentheses as an operand.
    fn is_operand(&self) -> bool {
        let called =
            matches!(&self.root.kind, Kind::Apply(function, _) if function.sign().is_none());
        called
            || matches!(
                self.root.kind,
                Kind::Integer(_) | Kind::Real(_) | Kind::Name(_)
            )
    }

    /// Its text as one word, for flags and comments.
    pub fn word(&self) -> String {
        self.text.split_whitespace().collect()
    }

    /// The formula as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its value in whole numbers.
    pub fn integer(&self, sizes: &Sizes) -> Result<u64, Error> {
        integer(&self.root, sizes)
    }

    /// Its value in reals; division does not round.
    pub fn real(&self, sizes: &Sizes) -> Result<f64, Error> {
        real(&self.root, sizes)
    }

    /// The names it uses, each with its column.
    pub fn names(&self) -> Vec<(&str, usize)> {
        let mut names = Vec::new();
        let mut nodes = vec![&self.root];
        while let Some(node) = nodes.pop() {
            match &node.kind {
                Kind::Name(name) => names.push((name.as_str(), node.column)),
                Kind::Apply(_, operands) => nodes.extend(operands),
                Kind::Integer(_) | Kind::Real(_) => {}
            }
        }
        names
    }
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn error(column: usize, what: impl Into<String>) -> Error {
    Error {
        column,
        what: what.into(),
    }
}

fn lookup(name: &str, column: usize, sizes: &Sizes) -> Result<u64, Error> {
    sizes.get(name).copied().ok_or_else(|| {
        let known: Vec<&str> = sizes.keys().map(String::as_str).collect();
        let known = match known.is_empty() {
            true => "no size has a name".to_owned(),
            false => format!("there are {}", known.join(", ")),
        };
        error(column, format!("there is no size \"{name}\"; {known}"))
    })
}

fn integer(node: &Node, sizes: &Sizes) -> Result<u64, Error> {
    let (function, operands) = match &node.kind {
        Kind::Integer(value) => return Ok(*value),
        Kind::Real(_) => return Err(error(node.column, "a whole number is needed here")),
        Kind::Name(name) => return lookup(name, node.column, sizes),
        Kind::Apply(function, operands) => (*function, operands),
    };
    let mut values = operands.iter().map(|operand| integer(operand, sizes));
    let a = values.next().transpose()?.unwrap_or(0);
    let b = values.next().transpose()?.unwrap_or(0);
    let divides = matches!(
        function,
        Function::Divide | Function::Remainder | Function::CeilDiv | Function::RoundUp
    );
    if divides && b == 0 {
        return Err(error(node.column, "division by zero"));
    }
    let value = match function {
        Function::Add => a.checked_add(b),
        Function::Subtract => {
            let below = || error(node.column, format!("{a} - {b} is below zero"));
            return a.checked_sub(b).ok_or_else(below);
        }
        Function::Multiply => a.checked_mul(b),
        Function::Divide => a.checked_div(b),
        Function::Remainder => a.checked_rem(b),
        Function::CeilDiv => Some(a.div_ceil(b)),
        Function::RoundUp => a.checked_next_multiple_of(b),
        Function::Min => Some(a.min(b)),
        Function::Max => Some(a.max(b)),
        Function::Pow2 => a.checked_next_power_of_two(),
        Function::Sqrt => return Err(error(node.column, "sqrt is not for whole numbers")),
        condition => Some(u64::from(holds(condition, a.cmp(&b), (a != 0, b != 0)))),
    };
    value.ok_or_else(|| error(node.column, "the number is too large"))
}

fn real(node: &Node, sizes: &Sizes) -> Result<f64, Error> {
    let (function, operands) = match &node.kind {
        Kind::Integer(value) => return Ok(*value as f64),
        Kind::Real(value) => return Ok(*value),
        Kind::Name(name) => return lookup(name, node.column, sizes).map(|value| value as f64),
        Kind::Apply(function, operands) => (*function, operands),
    };
    let mut values = operands.iter().map(|operand| real(operand, sizes));
    let a = values.next().transpose()?.unwrap_or(0.0);
    let b = values.next().transpose()?.unwrap_or(0.0);
    let value = match function {
        Function::Add => a + b,
        Function::Subtract => a - b,
        Function::Multiply => a * b,
        Function::Divide => a / b,
        Function::Remainder => a % b,
        Function::CeilDiv => (a / b).ceil(),
        Function::RoundUp => (a / b).ceil() * b,
        Function::Min => a.min(b),
        Function::Max => a.max(b),
        Function::Pow2 => a.log2().ceil().exp2(),
        Function::Sqrt => a.sqrt(),
        condition => {
            let holds = holds(condition, a.total_cmp(&b), (a != 0.0, b != 0.0));
            f64::from(u8::from(holds))
        }
    };
    if value.is_finite() {
        Ok(value)
    } else {
        Err(error(node.column, "the result is not a finite number"))
    }
}

/// Returns true if a condition holds for operands that compare so and are, or are not, other than 0.
fn holds(condition: Function, order: Ordering, (a, b): (bool, bool)) -> bool {
    match condition {
        Function::Less => order.is_lt(),
        Function::LessEqual => order.is_le(),
        Function::Greater => order.is_gt(),
        Function::GreaterEqual => order.is_ge(),
        Function::Equal => order.is_eq(),
        Function::NotEqual => order.is_ne(),
        Function::And => a && b,
        Function::Or => a || b,
        Function::Not => !a,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<u64, String> {
        let sizes = Sizes::from([("n".to_owned(), 1000), ("big".to_owned(), u64::MAX)]);
        let formula = Formula::parse(text).map_err(|error| error.to_string())?;
        formula.integer(&sizes).map_err(|error| error.to_string())
    }

    #[test]
    fn products_bind_tighter_than_sums_and_group_to_the_left() {
        assert_eq!(value("2 + 3 * 4"), Ok(14));
        assert_eq!(value("(2 + 3) * 4"), Ok(20));
        assert_eq!(value("n - 1 - 2"), Ok(997));
        assert_eq!(value("n / 3 / 2"), Ok(166));
        assert_eq!(value("n % 7"), Ok(6));
        assert_eq!(value("0x10 + 1"), Ok(17));
    }

    #[test]
    fn functions_round_as_their_names_say() {
        assert_eq!(value("ceil_div(n, 64)"), Ok(16));
        assert_eq!(value("round_up(n, 256)"), Ok(1024));
        assert_eq!(value("min(n, max(3, pow2(5)))"), Ok(8));
    }

    #[test]
    fn comparisons_are_1_or_0_and_bind_less_than_sums() {
        assert_eq!(value("n + 1 > 1000"), Ok(1));
        assert_eq!(value("n <= 999"), Ok(0));
        assert_eq!(value("n == 1000 && n % 8 == 0"), Ok(1));
        assert_eq!(value("n < 10 || n != 1000 || !(n > 5)"), Ok(0));
        assert_eq!(value("64 * (n >= 512)"), Ok(64));
        assert_eq!(value("n > 1 || 0 && 0"), Ok(1));
    }

    #[test]
    fn what_cannot_be_computed_is_told_with_its_place() {
        for (text, expected) in [
            ("n / (5 - 5)", "column 3: division by zero"),
            ("1 + big", "column 3: the number is too large"),
            ("round_up(big, 2)", "column 1: the number is too large"),
            ("-n", "column 1: 0 - 1000 is below zero"),
            ("5 - n", "column 3: 5 - 1000 is below zero"),
            (
                "m + 1",
                "column 1: there is no size \"m\"; there are big, n",
            ),
            ("0.5 * n", "column 1: a whole number is needed here"),
            ("", "column 1: a number, a name or \"(\" is missing"),
            ("(n", "column 3: \")\" is missing"),
            ("n n", "column 3: nothing may follow here"),
            ("min(n)", "column 1: min takes 2 operands"),
            (
                "sin(n)",
                "column 1: there is no function \"sin\"; there are ceil_div, round_up, min, max, pow2, sqrt",
            ),
            ("1 < n < 5", "column 7: comparisons are joined by &&"),
            ("n = 2", "column 3: nothing may follow here"),
            ("n & 2", "column 3: nothing may follow here"),
            ("n $ 2", "column 3: \"$\" is not part of formulas"),
            ("99999999999999999999", "column 1: the number is too large"),
        ] {
            assert_eq!(value(text), Err(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn nesting_is_bounded() {
        let deep = "(".repeat(2000);
        assert_eq!(value(&deep), Err("column 33: nested too deeply".to_owned()));
        let long = vec!["1"; 10_000].join("+");
        assert_eq!(
            value(&long),
            Err("column 2049: the formula is too long".to_owned())
        );
    }

    #[test]
    fn reals_divide_without_rounding() {
        let sizes = Sizes::from([("d".to_owned(), 64)]);
        let formula = Formula::parse("1 / sqrt(d)").unwrap();
        assert_eq!(formula.real(&sizes), Ok(0.125));
        assert_eq!(Formula::parse("-1.5").unwrap().real(&sizes), Ok(-1.5));
        assert_eq!(Formula::parse("0.00001").unwrap().real(&sizes), Ok(1e-5));
        assert!(
            Formula::parse("1 / (d - 64)")
                .unwrap()
                .real(&sizes)
                .is_err()
        );
    }
}
