//! Formulas over numbered values, for those who evaluate one formula a million times.
//!
//! A restriction says which values of knobs go together. While some knobs are still open, interval arithmetic tells
//! whether any values of those could satisfy it, so that a search for valid configurations turns back early.

use super::{Error, Formula, Function, Kind, Node, error};

/// A formula whose names are places in a list of values.
///
/// ```
/// use assay_launch::formula::{Formula, Range, Restriction};
/// let formula = Formula::parse("tm * tn * 4 <= 1024")?;
/// let restriction = Restriction::new(&formula, &["tm", "tn"])?;
/// // tm is 64 and tn still open between 1 and 32: it may hold. With tm = 512 it cannot.
/// assert!(restriction.may_hold(&[Range::only(64), Range::new(1, 32)])?);
/// assert!(!restriction.may_hold(&[Range::only(512), Range::new(1, 32)])?);
/// # Ok::<(), assay_launch::formula::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Restriction {
    root: Numbered,
    places: Vec<usize>,
}

/// The values a number may have: all from `low` to `high`. Restrictions compute with negative numbers too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    low: i128,
    high: i128,
}

#[derive(Clone, Debug, PartialEq)]
struct Numbered {
    column: usize,
    kind: Value,
}

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Number(Range),
    Place(usize),
    Apply(Function, Vec<Numbered>),
}

/// Sums and products beyond this are as good as infinite.
const FAR: i128 = 1 << 100;

impl Range {
    /// One value.
    pub fn only(value: u64) -> Range {
        Range::new(value, value)
    }

    /// All values between two.
    pub fn new(low: u64, high: u64) -> Range {
        Range {
            low: low.into(),
            high: high.into(),
        }
    }

    fn between(low: i128, high: i128) -> Range {
        Range {
            low: low.clamp(-FAR, FAR),
            high: high.clamp(-FAR, FAR),
        }
    }

    fn is_one(self) -> bool {
        self.low == self.high
    }

    fn truth(can: bool, must: bool) -> Range {
        Range::between(must.into(), can.into())
    }

    fn can_be_true(self) -> bool {
        self.low != 0 || self.high != 0
    }

    fn must_be_true(self) -> bool {
        self.low > 0 || self.high < 0
    }
}

impl Restriction {
    /// A formula over the names of a list.
    pub fn new(formula: &Formula, names: &[&str]) -> Result<Restriction, Error> {
        let mut places = Vec::new();
        let root = number(&formula.root, names, &mut places)?;
        places.sort_unstable();
        places.dedup();
        Ok(Restriction { root, places })
    }

    /// The places it looks at, in order.
    pub fn places(&self) -> &[usize] {
        &self.places
    }

    /// Returns false if no values within the ranges satisfy it. With one value per range the answer is exact.
    pub fn may_hold(&self, ranges: &[Range]) -> Result<bool, Error> {
        self.root.range(ranges).map(Range::can_be_true)
    }
}

fn number(node: &Node, names: &[&str], places: &mut Vec<usize>) -> Result<Numbered, Error> {
    let kind = match &node.kind {
        Kind::Integer(value) => Value::Number(Range::only(*value)),
        Kind::Real(_) => return Err(error(node.column, "a whole number is needed here")),
        Kind::Name(name) => {
            let place = names.iter().position(|known| known == name);
            let place = place.ok_or_else(|| {
                let known = names.join(", ");
                error(
                    node.column,
                    format!("there is no \"{name}\"; there are {known}"),
                )
            })?;
            places.push(place);
            Value::Place(place)
        }
        Kind::Apply(Function::Sqrt, _) => {
            return Err(error(node.column, "sqrt is not for whole numbers"));
        }
        Kind::Apply(function, operands) => {
            let operands = operands.iter().map(|node| number(node, names, places));
            Value::Apply(*function, operands.collect::<Result<_, Error>>()?)
        }
    };
    Ok(Numbered {
        column: node.column,
        kind,
    })
}

impl Numbered {
    fn range(&self, ranges: &[Range]) -> Result<Range, Error> {
        let (function, operands) = match &self.kind {
            Value::Number(range) => return Ok(*range),
            Value::Place(place) => {
                let range = ranges.get(*place).copied();
                return range.ok_or_else(|| error(self.column, "a value is missing here"));
            }
            Value::Apply(function, operands) => (*function, operands),
        };
        let mut values = operands.iter().map(|operand| operand.range(ranges));
        let zero = Range::between(0, 0);
        let a = values.next().transpose()?.unwrap_or(zero);
        let b = values.next().transpose()?.unwrap_or(zero);
        let divides = matches!(
            function,
            Function::Divide | Function::Remainder | Function::CeilDiv | Function::RoundUp
        );
        if divides && b.low <= 0 {
            return match b.is_one() && b.low == 0 {
                true => Err(error(self.column, "division by zero")),
                // Nothing is known of the quotient.
                false => Ok(Range::between(-FAR, FAR)),
            };
        }
        Ok(interval(function, a, b))
    }
}

/// All values a function may have on ranges. Divisors are positive.
fn interval(function: Function, a: Range, b: Range) -> Range {
    let corners = |of: fn(i128, i128) -> i128| {
        let all = [
            of(a.low, b.low),
            of(a.low, b.high),
            of(a.high, b.low),
            of(a.high, b.high),
        ];
        let low = all.iter().copied().fold(FAR, i128::min);
        let high = all.iter().copied().fold(-FAR, i128::max);
        Range::between(low, high)
    };
    match function {
        Function::Add => Range::between(a.low + b.low, a.high + b.high),
        Function::Subtract => Range::between(a.low - b.high, a.high - b.low),
        Function::Multiply => corners(|x, y| x.saturating_mul(y)),
        Function::Divide => corners(i128::div_euclid),
        Function::CeilDiv => corners(ceil_div),
        Function::Remainder if a.is_one() && b.is_one() => {
            let value = a.low.rem_euclid(b.low);
            Range::between(value, value)
        }
        Function::Remainder => Range::between(0, b.high - 1),
        Function::RoundUp if b.is_one() => {
            let up = |x: i128| ceil_div(x, b.low) * b.low;
            Range::between(up(a.low), up(a.high))
        }
        Function::RoundUp => Range::between(a.low, a.high.saturating_add(b.high - 1)),
        Function::Min => Range::between(a.low.min(b.low), a.high.min(b.high)),
        Function::Max => Range::between(a.low.max(b.low), a.high.max(b.high)),
        Function::Pow2 => Range::between(next_power(a.low), next_power(a.high)),
        Function::Less => Range::truth(a.low < b.high, a.high < b.low),
        Function::LessEqual => Range::truth(a.low <= b.high, a.high <= b.low),
        Function::Greater => Range::truth(a.high > b.low, a.low > b.high),
        Function::GreaterEqual => Range::truth(a.high >= b.low, a.low >= b.high),
        Function::Equal => {
            let can = a.low <= b.high && b.low <= a.high;
            Range::truth(can, can && a.is_one() && b.is_one())
        }
        Function::NotEqual => {
            let apart = a.high < b.low || b.high < a.low;
            Range::truth(apart || !a.is_one() || !b.is_one(), apart)
        }
        Function::And => Range::truth(
            a.can_be_true() && b.can_be_true(),
            a.must_be_true() && b.must_be_true(),
        ),
        Function::Or => Range::truth(
            a.can_be_true() || b.can_be_true(),
            a.must_be_true() || b.must_be_true(),
        ),
        Function::Not => Range::truth(!a.must_be_true(), !a.can_be_true()),
        // Not for whole numbers, and refused before.
        Function::Sqrt => Range::between(-FAR, FAR),
    }
}

fn ceil_div(a: i128, b: i128) -> i128 {
    -(-a).div_euclid(b)
}

fn next_power(value: i128) -> i128 {
    u128::try_from(value.clamp(1, FAR)).map_or(1, |value| value.next_power_of_two() as i128)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMULAS: [&str; 12] = [
        "a * b <= 40",
        "a + b == 7",
        "a % b == 0",
        "a / b > 1",
        "ceil_div(a, b) == 2",
        "round_up(a, b) <= 8",
        "pow2(a) == 8 && a != b",
        "a - b >= 0",
        "!(a < b) || b == 6",
        "min(a, b) * max(a, b) > 20",
        "(a > 3) + (b > 3) == 1",
        "a && b - 1",
    ];

    fn restriction(text: &str) -> Restriction {
        Restriction::new(&Formula::parse(text).unwrap(), &["a", "b"]).unwrap()
    }

    #[test]
    fn on_single_values_ranges_agree_with_whole_numbers() {
        for text in FORMULAS {
            let formula = Formula::parse(text).unwrap();
            for (a, b) in (1..12).flat_map(|a| (1..12).map(move |b| (a, b))) {
                let sizes = super::super::Sizes::from([("a".to_owned(), a), ("b".to_owned(), b)]);
                let ranges = [Range::only(a), Range::only(b)];
                let held = restriction(text).may_hold(&ranges).unwrap();
                // Whole numbers refuse results below zero; restrictions compare them.
                let expected = formula.integer(&sizes).is_ok_and(|value| value != 0);
                assert_eq!(held, expected, "{text} at {a}, {b}");
            }
        }
    }

    #[test]
    fn a_range_that_is_refused_holds_no_value_that_satisfies() {
        for text in FORMULAS {
            let restriction = restriction(text);
            let hold = |a, b| {
                restriction
                    .may_hold(&[Range::only(a), Range::only(b)])
                    .unwrap()
            };
            for (low, high) in (1..12).flat_map(|low| (low..12).map(move |high| (low, high))) {
                for a in 1..12 {
                    let may = restriction.may_hold(&[Range::only(a), Range::new(low, high)]);
                    let any = (low..=high).any(|b| hold(a, b));
                    assert!(may.unwrap() || !any, "{text} at {a}, {low}..={high}");
                }
            }
        }
    }

    #[test]
    fn names_and_divisors_are_checked() {
        let formula = Formula::parse("a < c").unwrap();
        let unknown = Restriction::new(&formula, &["a", "b"]).unwrap_err();
        assert_eq!(
            unknown.to_string(),
            "column 5: there is no \"c\"; there are a, b"
        );
        let zero = restriction("a / b > 1").may_hold(&[Range::only(1), Range::only(0)]);
        assert_eq!(zero.unwrap_err().to_string(), "column 3: division by zero");
    }
}
