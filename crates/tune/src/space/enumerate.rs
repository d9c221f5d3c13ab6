//! Valid configurations by constraint backtracking.
//!
//! Knobs are assigned one after the other. After each assignment every restriction that looks at the knob is evaluated
//! over ranges: assigned knobs are single values, open ones lie between their least and greatest value. A restriction
//! that no values can satisfy turns the search back, so the full product is never walked.

use super::{Config, Error, Knob};
use assay_launch::formula::{Formula, Range, Restriction};

/// What was found, and at what cost.
pub(super) struct Found {
    pub(super) valid: Vec<Config>,
    /// Assignments tried.
    pub(super) visited: usize,
}

/// Assignments after which a space counts as too large to search.
const MOST_VISITED: usize = 1 << 26;

/// The valid configurations in the order of the knobs' values; an error when there are more than `most`.
pub(super) fn valid(knobs: &[Knob], restrictions: &[Formula], most: usize) -> Result<Found, Error> {
    let names: Vec<&str> = knobs.iter().map(|knob| knob.name.as_str()).collect();
    let mut search = Backtracking {
        knobs,
        formulas: restrictions,
        restrictions: Vec::new(),
        of_knob: vec![Vec::new(); knobs.len()],
        ranges: Vec::new(),
        config: vec![0; knobs.len()],
        valid: Vec::new(),
        visited: 0,
        most,
    };
    for (number, formula) in restrictions.iter().enumerate() {
        let restriction = Restriction::new(formula, &names);
        let restriction = restriction.map_err(|error| Error::Restriction {
            restriction: formula.text().to_owned(),
            error,
        })?;
        for &place in restriction.places() {
            numbers(&knobs[place], formula)?;
            search.of_knob[place].push(number);
        }
        search.restrictions.push(restriction);
    }
    search.ranges = knobs.iter().map(whole).collect();
    // What no knob decides is decided here.
    for number in 0..search.restrictions.len() {
        if !search.may_hold(number)? {
            return Ok(search.found());
        }
    }
    search.assign(0)?;
    Ok(search.found())
}

/// Makes sure that formulas can compute with every value of a knob.
fn numbers(knob: &Knob, formula: &Formula) -> Result<(), Error> {
    let text = knob.values.iter().find(|value| value.number.is_none());
    match text {
        None => Ok(()),
        Some(value) => Err(Error::NoNumber {
            restriction: formula.text().to_owned(),
            knob: knob.name.clone(),
            value: value.text.clone(),
        }),
    }
}

/// From the least to the greatest value of a knob.
fn whole(knob: &Knob) -> Range {
    let numbers = || knob.values.iter().filter_map(|value| value.number);
    Range::new(numbers().min().unwrap_or(0), numbers().max().unwrap_or(0))
}

struct Backtracking<'a> {
    knobs: &'a [Knob],
    formulas: &'a [Formula],
    restrictions: Vec<Restriction>,
    /// Restrictions that look at each knob.
    of_knob: Vec<Vec<usize>>,
    ranges: Vec<Range>,
    config: Vec<u16>,
    valid: Vec<Config>,
    visited: usize,
    most: usize,
}

impl Backtracking<'_> {
    fn found(self) -> Found {
        Found {
            valid: self.valid,
            visited: self.visited,
        }
    }

    fn may_hold(&self, number: usize) -> Result<bool, Error> {
        let restriction = &self.restrictions[number];
        restriction
            .may_hold(&self.ranges)
            .map_err(|error| Error::Restriction {
                restriction: self.formulas[number].text().to_owned(),
                error,
            })
    }

    /// Assigns the knobs from `place` on; bounded by the number of knobs.
    fn assign(&mut self, place: usize) -> Result<(), Error> {
        let knobs = self.knobs;
        let Some(knob) = knobs.get(place) else {
            if self.valid.len() == self.most {
                return Err(Error::TooMany {
                    what: "valid configurations",
                    most: self.most,
                });
            }
            self.valid.push(Config::new(self.config.as_slice()));
            return Ok(());
        };
        let open = self.ranges[place];
        for (index, value) in knob.values.iter().enumerate() {
            self.visited += 1;
            if self.visited > MOST_VISITED {
                return Err(Error::TooMany {
                    what: "partial configurations",
                    most: MOST_VISITED,
                });
            }
            self.config[place] = index as u16;
            self.ranges[place] = value.number.map_or(open, Range::only);
            if self.allowed(place)? {
                self.assign(place + 1)?;
            }
        }
        self.ranges[place] = open;
        Ok(())
    }

    fn allowed(&self, place: usize) -> Result<bool, Error> {
        for &number in &self.of_knob[place] {
            if !self.may_hold(number)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
