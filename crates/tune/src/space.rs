//! Spaces: knobs with their values, and the configurations that restrictions leave.
//!
//! A configuration is one value per knob, stored as indices ([`Config`]). Those that satisfy every restriction are
//! enumerated once and numbered ([`Point`]); everything that searches speaks of points.

mod enumerate;

use assay_launch::formula::{self, Formula};
use rustc_hash::FxHashMap;

/// A parameter of a kernel with the values it may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Knob {
    /// Its name, as formulas and the source spell it.
    pub name: String,
    /// Its values, in the order they were written.
    pub values: Vec<Value>,
}

/// A value of a knob: text for the compiler, and a whole number for formulas where it is one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Value {
    /// As it was written.
    pub text: String,
    /// As formulas see it; `true` is 1.
    pub number: Option<u64>,
}

impl Value {
    /// A value as it is written.
    pub fn new(text: impl Into<String>) -> Value {
        let text = text.into();
        let number = match text.as_str() {
            "true" | "True" => Some(1),
            "false" | "False" => Some(0),
            text => text.parse().ok(),
        };
        Value { text, number }
    }
}

impl Knob {
    /// A knob with values as they are written.
    pub fn new<T: Into<String>>(
        name: impl Into<String>,
        values: impl IntoIterator<Item = T>,
    ) -> Knob {
        Knob {
            name: name.into(),
            values: values.into_iter().map(Value::new).collect(),
        }
    }
}

/// One value per knob, as indices into their lists.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Config(Box<[u16]>);

impl Config {
    /// A configuration of indices, one per knob.
    pub fn new(indices: impl Into<Box<[u16]>>) -> Config {
        Config(indices.into())
    }

    /// The indices, one per knob.
    pub fn indices(&self) -> &[u16] {
        &self.0
    }
}

/// A valid configuration, by its place in the space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Point(pub u32);

/// Why there is no space.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A restriction that means nothing here.
    #[error("restrict {restriction}: {error}")]
    Restriction {
        /// As it was written.
        restriction: String,
        /// What is wrong, and where.
        error: formula::Error,
    },
    /// A restriction over something that is no number.
    #[error(
        "restrict {restriction}: {knob} takes {value}, which is no whole number, so it cannot be compared"
    )]
    NoNumber {
        /// As it was written.
        restriction: String,
        /// The knob.
        knob: String,
        /// The value.
        value: String,
    },
    /// Two knobs of one name.
    #[error("the knob {0} is there twice")]
    Twice(String),
    /// A knob without values.
    #[error("the knob {0} has no values")]
    Empty(String),
    /// More than can be handled.
    #[error("{what}: at most {most}")]
    TooMany {
        /// Of what there is too much.
        what: &'static str,
        /// How many may be.
        most: usize,
    },
    /// Restrictions that contradict each other.
    #[error("no configuration satisfies {0}")]
    Impossible(String),
    /// A configuration that does not fit the knobs.
    #[error("configuration {0} does not fit the knobs")]
    Unfit(usize),
}

impl Error {
    /// What to do about it.
    pub fn advice(&self) -> &'static str {
        match self {
            Error::Restriction { .. } | Error::NoNumber { .. } => {
                "a restriction compares knobs and sizes, as in TM * TN * 4 <= 32768 && TM >= TN"
            }
            Error::Twice(_) => "give each knob one list: // assay: tune TM = 1,2,4",
            Error::Empty(_) => "list its values: // assay: tune TM = 1,2,4",
            Error::TooMany { .. } => "restrict the knobs, or give them fewer values",
            Error::Impossible(_) => {
                "loosen one of the restrictions, or give the knobs other values"
            }
            Error::Unfit(_) => "a row has one index per knob, then the time",
        }
    }
}

/// Knobs and their valid configurations.
///
/// ```
/// use assay_launch::Formula;
/// use assay_tune::space::{Knob, Space};
/// let knobs = vec![Knob::new("TM", ["1", "2", "4"]), Knob::new("TN", ["1", "2", "4"])];
/// let space = Space::new(knobs, &[Formula::parse("TM * TN <= 4")?])?;
/// assert_eq!(space.len(), 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Space {
    knobs: Vec<Knob>,
    valid: Vec<Config>,
    places: FxHashMap<Config, Point>,
    visited: usize,
}

/// Most knobs.
const MOST_KNOBS: usize = 64;
/// Most values of a knob.
const MOST_VALUES: usize = 4096;
/// Most valid configurations.
const MOST_VALID: usize = 1 << 20;

impl Space {
    /// Enumerates the configurations that satisfy every restriction, in the order of the knobs' values.
    pub fn new(knobs: Vec<Knob>, restrictions: &[Formula]) -> Result<Space, Error> {
        check(&knobs)?;
        let found = enumerate::valid(&knobs, restrictions, MOST_VALID)?;
        if found.valid.is_empty() {
            let all: Vec<&str> = restrictions.iter().map(Formula::text).collect();
            return Err(Error::Impossible(all.join(" and ")));
        }
        Ok(Space::with(knobs, found.valid, found.visited))
    }

    /// A space whose configurations are known.
    pub fn of(knobs: Vec<Knob>, valid: Vec<Config>) -> Result<Space, Error> {
        check(&knobs)?;
        let too_many = Error::TooMany {
            what: "valid configurations",
            most: MOST_VALID,
        };
        if valid.len() > MOST_VALID {
            return Err(too_many);
        }
        for (row, config) in valid.iter().enumerate() {
            let fits = config.0.len() == knobs.len();
            let mut pairs = config.0.iter().zip(&knobs);
            if !fits || !pairs.all(|(&index, knob)| usize::from(index) < knob.values.len()) {
                return Err(Error::Unfit(row));
            }
        }
        Ok(Space::with(knobs, valid, 0))
    }

    fn with(knobs: Vec<Knob>, valid: Vec<Config>, visited: usize) -> Space {
        let points = (0..).map(Point);
        let places = valid.iter().cloned().zip(points).collect();
        Space {
            knobs,
            valid,
            places,
            visited,
        }
    }

    /// The knobs.
    pub fn knobs(&self) -> &[Knob] {
        &self.knobs
    }

    /// How many configurations are valid.
    pub fn len(&self) -> usize {
        self.valid.len()
    }

    /// Returns true if no configuration is valid.
    pub fn is_empty(&self) -> bool {
        self.valid.is_empty()
    }

    /// Partial configurations that were looked at to enumerate the valid ones.
    pub fn visited(&self) -> usize {
        self.visited
    }

    /// All points.
    pub fn points(&self) -> impl Iterator<Item = Point> + use<> {
        (0..self.valid.len() as u32).map(Point)
    }

    /// The configuration of a point; empty for a point of another space.
    pub fn indices(&self, point: Point) -> &[u16] {
        self.valid.get(point.0 as usize).map_or(&[], |it| &it.0)
    }

    /// The point of a configuration, if it is valid.
    pub fn point(&self, config: &Config) -> Option<Point> {
        self.places.get(config).copied()
    }

    /// Names and values of a point's configuration.
    pub fn settings(&self, point: Point) -> impl Iterator<Item = (&str, &Value)> {
        let pairs = self.knobs.iter().zip(self.indices(point));
        pairs.filter_map(|(knob, &index)| {
            let value = knob.values.get(usize::from(index))?;
            Some((knob.name.as_str(), value))
        })
    }

    /// A point's configuration as text: `TM=4 TN=2`.
    pub fn describe(&self, point: Point) -> String {
        let settings = self.settings(point);
        let words = settings.map(|(name, value)| format!("{name}={}", value.text));
        words.collect::<Vec<_>>().join(" ")
    }

    /// Valid configurations that differ in one knob: those with the next value up or down first.
    pub fn neighbours(&self, point: Point) -> Vec<Point> {
        let centre = self.indices(point);
        let mut config = Config(centre.into());
        let mut near = Vec::new();
        let mut far = Vec::new();
        for (axis, knob) in self.knobs.iter().enumerate() {
            let Some(&own) = centre.get(axis) else {
                continue;
            };
            for value in (0..knob.values.len() as u16).filter(|&value| value != own) {
                config.0[axis] = value;
                let list = if value.abs_diff(own) == 1 {
                    &mut near
                } else {
                    &mut far
                };
                list.extend(self.point(&config));
            }
            config.0[axis] = own;
        }
        near.extend(far);
        near
    }
}

fn check(knobs: &[Knob]) -> Result<(), Error> {
    let too_many = |what, most| Error::TooMany { what, most };
    if knobs.len() > MOST_KNOBS {
        return Err(too_many("knobs", MOST_KNOBS));
    }
    for (place, knob) in knobs.iter().enumerate() {
        if knob.values.is_empty() {
            return Err(Error::Empty(knob.name.clone()));
        }
        if knob.values.len() > MOST_VALUES {
            return Err(too_many("values of a knob", MOST_VALUES));
        }
        let before = knobs.iter().take(place);
        if before.into_iter().any(|other| other.name == knob.name) {
            return Err(Error::Twice(knob.name.clone()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(knobs: &[(&str, &[u64])], restrictions: &[&str]) -> Result<Space, Error> {
        let knobs = knobs.iter().map(|(name, values)| {
            let values = values.iter().map(u64::to_string);
            Knob::new(*name, values)
        });
        let restrictions: Vec<Formula> = restrictions
            .iter()
            .map(|text| Formula::parse(text).unwrap())
            .collect();
        Space::new(knobs.collect(), &restrictions)
    }

    #[test]
    fn neighbours_differ_in_one_knob_nearest_first() {
        let space = space(&[("a", &[1, 2, 4, 8]), ("b", &[1, 2])], &["a * b <= 8"]).unwrap();
        let centre = space.point(&Config::new([1, 0])).unwrap();
        let near = space.neighbours(centre);
        let names: Vec<String> = near.iter().map(|&point| space.describe(point)).collect();
        assert_eq!(names, ["a=1 b=1", "a=4 b=1", "a=2 b=2", "a=8 b=1"]);
    }

    #[test]
    fn what_makes_no_space_says_why() {
        let why = |knobs: &[(&str, &[u64])], restrictions: &[&str]| {
            space(knobs, restrictions).unwrap_err().to_string()
        };
        assert_eq!(
            why(&[("a", &[1, 2])], &["a > 2", "a < 9"]),
            "no configuration satisfies a > 2 and a < 9"
        );
        assert_eq!(
            why(&[("a", &[1, 2])], &["a > c"]),
            "restrict a > c: column 5: there is no \"c\"; there are a"
        );
        assert_eq!(
            why(&[("a", &[]), ("b", &[1])], &[]),
            "the knob a has no values"
        );
        assert_eq!(
            why(&[("a", &[1]), ("a", &[1])], &[]),
            "the knob a is there twice"
        );
        let wide: Vec<u64> = (0..2048).collect();
        assert_eq!(
            why(&[("a", &wide), ("b", &wide)], &[]),
            "valid configurations: at most 1048576"
        );
        let text = Space::new(
            vec![Knob::new("t", ["float", "half"])],
            &[Formula::parse("t > 1").unwrap()],
        );
        assert_eq!(
            text.unwrap_err().to_string(),
            "restrict t > 1: t takes float, which is no whole number, so it cannot be compared"
        );
    }

    #[test]
    fn a_million_raw_configurations_are_searched_by_turning_back() {
        let ten: Vec<u64> = (0..10).map(|power| 1 << power).collect();
        let knobs: Vec<(&str, &[u64])> = ["a", "b", "c", "d", "e", "f"]
            .map(|name| (name, ten.as_slice()))
            .to_vec();
        // 10^6 raw. Each restriction spans all knobs, so only bounds on the open ones can turn back early.
        let restrictions = ["a * b * c * d * e * f == 32", "a + b + c + d + e + f <= 20"];
        let space = space(&knobs, &restrictions).unwrap();
        // Exponents that add up to 5: C(10, 5) = 252, less the 6 with a 32 and the 30 with a 16 and a 2.
        assert_eq!(space.len(), 216);
        assert!(space.visited() < 4_000, "{}", space.visited());
    }
}
