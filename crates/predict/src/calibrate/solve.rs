//! From measured times of probes to constants: each is moved until the model gives the measured
//! time of its own probes, and all of them again until nothing moves.
//!
//! The model itself is the forward map, so what one probe costs besides its own constant is
//! accounted for by the others as they stand.

use super::probe::{Plan, Unknown};
use crate::constants::Constants;
use crate::error::Error;
use crate::execution::Execution;
use crate::predict::{Cache, CommandBuffer, Repeated, predict};
use assay_chip::{Chip, ModelConstant, Parameter};

/// A probe's execution, and what was measured.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The probe's name.
    pub probe: String,
    /// What it executes.
    pub execution: Execution,
    /// Dispatches in its command buffer.
    pub dispatches: u32,
    /// Microseconds of the command buffer.
    pub time_us: f64,
    /// Spread of the runs: half the distance of their quartiles, as a share of the time.
    pub spread: f64,
}

impl Measured {
    /// The time that the model gives.
    pub fn predicted(&self, chip: &Chip, constants: &Constants) -> Result<f64, Error> {
        let buffer = CommandBuffer {
            dispatches: vec![Repeated {
                execution: &self.execution,
                times: self.dispatches,
            }],
            times: 1,
        };
        Ok(predict(&buffer, chip, constants, Cache::Warm)?.time_us)
    }
}

/// What became of an unknown.
#[derive(Clone, Debug, PartialEq)]
pub struct Solved {
    /// The constant or figure.
    pub name: &'static str,
    /// What the tables say; none for a figure nobody has published.
    pub before: Option<f64>,
    /// The value.
    pub value: f64,
    /// Where it lies, by the spread of the runs.
    pub range: (f64, f64),
    /// How well it is known.
    pub how: How,
    /// Its probes.
    pub probes: Vec<String>,
}

/// How well a constant is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// The probes give their measured times with it.
    Found,
    /// The probes hardly depend on it: the value of the tables stays.
    Undetermined,
    /// No value that makes sense gives the measured times: the nearest one.
    AtTheEdge,
}

/// Rounds over all unknowns at most.
const ROUNDS: usize = 12;

/// A round that moves nothing by more than this ends the search.
const STILL: f64 = 0.001;

/// How far a value may lie outside the range that a fit may move it in.
const BEYOND: f64 = 2.5;

/// Probes whose time changes by less than this over the whole range say nothing.
const TELLING: f64 = 0.03;

/// Values assumed for figures nobody has published, until they are measured.
const FIRST_GUESSES: &[(Parameter, f64)] = &[
    (Parameter::Cores, 10.0),
    (Parameter::ClockGhz, 1.4),
    (Parameter::DramGbs, 120.0),
];

/// The chip and constants being solved for.
struct State<'a> {
    chip: Chip,
    constants: Constants,
    rows: Vec<ModelConstant>,
    measured: &'a [Measured],
}

/// Solves for the unknowns of a plan.
pub fn solve(
    plan: &Plan,
    chip: &Chip,
    constants: &Constants,
    measured: &[Measured],
) -> Result<Vec<Solved>, Error> {
    let mut state = State {
        chip: chip.clone(),
        constants: *constants,
        rows: Constants::rows(chip),
        measured,
    };
    for (parameter, guess) in FIRST_GUESSES {
        if state.chip.get(*parameter).is_none() {
            state.chip.set(*parameter, *guess);
        }
    }
    let mut solved = Vec::new();
    for _ in 0..ROUNDS {
        solved.clear();
        let mut moved: f64 = 0.0;
        for unknown in &plan.unknowns {
            let before = state.get(unknown.name);
            let one = state.one(unknown, chip, constants)?;
            moved = moved.max((one.value / before).ln().abs());
            state.set(unknown.name, one.value);
            solved.push(one);
        }
        if moved < STILL {
            break;
        }
    }
    Ok(solved)
}

impl State<'_> {
    fn get(&self, name: &str) -> f64 {
        let figure = || self.chip.get(Parameter::named(name).ok()?);
        self.constants.get(name).or_else(figure).unwrap_or(1.0)
    }

    fn set(&mut self, name: &str, value: f64) {
        if !self.constants.set(name, value)
            && let Ok(parameter) = Parameter::named(name)
        {
            self.chip.set(parameter, value);
        }
    }

    /// The mean logarithm of predicted over measured time, with a value for an unknown.
    fn error(&mut self, unknown: &Unknown, value: f64) -> Result<f64, Error> {
        let before = self.get(unknown.name);
        self.set(unknown.name, value);
        let (mut sum, mut count) = (0.0, 0.0);
        for measured in self.measured {
            if unknown.probes.contains(&measured.probe) {
                let predicted = measured.predicted(&self.chip, &self.constants)?;
                sum += (predicted / measured.time_us).ln();
                count += 1.0;
            }
        }
        self.set(unknown.name, before);
        Ok(if count > 0.0 { sum / count } else { 0.0 })
    }

    /// The range in which a value makes sense.
    fn range(&self, name: &str) -> (f64, f64) {
        let row = self.rows.iter().find(|row| row.name == name);
        match row {
            Some(row) => (row.range.0 / BEYOND, row.range.1 * BEYOND),
            None => (self.get(name) / 4.0, self.get(name) * 4.0),
        }
    }

    fn one(
        &mut self,
        unknown: &Unknown,
        chip: &Chip,
        constants: &Constants,
    ) -> Result<Solved, Error> {
        let name = unknown.name;
        let now = self.get(name);
        let (low, high) = self.range(name);
        let figure = || chip.get(Parameter::named(name).ok()?);
        let mut solved = Solved {
            name,
            before: constants.get(name).or_else(figure),
            value: now,
            range: (now, now),
            how: How::Found,
            probes: unknown.probes.clone(),
        };
        let (at_low, at_high) = (self.error(unknown, low)?, self.error(unknown, high)?);
        if (at_high - at_low).abs() < TELLING {
            solved.how = How::Undetermined;
            return Ok(solved);
        }
        if at_low * at_high > 0.0 {
            solved.how = How::AtTheEdge;
            solved.value = if at_low.abs() < at_high.abs() {
                low
            } else {
                high
            };
        } else {
            solved.value = self.root(unknown, (low, at_low), (high, at_high))?;
        }
        solved.range = self.spread(unknown, solved.value)?;
        Ok(solved)
    }

    /// The value at which predicted and measured times agree, between two at which they err in
    /// opposite directions: regula falsi in logarithms, with the bisection it needs to end.
    fn root(&mut self, unknown: &Unknown, low: (f64, f64), high: (f64, f64)) -> Result<f64, Error> {
        const EVALUATIONS: usize = 24;
        let (mut low, mut high) = ((low.0.ln(), low.1), (high.0.ln(), high.1));
        let now = self.get(unknown.name).ln();
        let mut next = now.clamp(low.0, high.0);
        for turn in 0..EVALUATIONS {
            let error = self.error(unknown, next.exp())?;
            if error.abs() < 1e-5 || high.0 - low.0 < 1e-5 {
                return Ok(next.exp());
            }
            if error * low.1 > 0.0 {
                low = (next, error);
            } else {
                high = (next, error);
            }
            let straight = low.0 - low.1 * (high.0 - low.0) / (high.1 - low.1);
            next = match turn % 3 {
                2 => f64::midpoint(low.0, high.0),
                _ => straight.clamp(low.0, high.0),
            };
        }
        Ok(next.exp())
    }

    /// The values between which the spread of the runs leaves a constant.
    fn spread(&mut self, unknown: &Unknown, value: f64) -> Result<(f64, f64), Error> {
        const STEP: f64 = 1.05;
        let slope = self.error(unknown, value * STEP)? - self.error(unknown, value / STEP)?;
        let slope = (slope / (2.0 * STEP.ln())).abs().max(0.02);
        let own = self.measured.iter();
        let own = own.filter(|measured| unknown.probes.contains(&measured.probe));
        let spread = own.map(|measured| measured.spread).fold(0.0, f64::max);
        let factor = (spread / slope).min(1.0).exp();
        Ok((value / factor, value * factor))
    }
}
