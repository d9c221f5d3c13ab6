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

/// What the probes of an unknown say about it over its whole range.
#[derive(Clone, Copy)]
struct Bounds {
    low: f64,
    high: f64,
    /// Change of the logarithm of the probes' time from one end to the other.
    effect: f64,
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
    let bounds: Result<Vec<Bounds>, Error> = plan
        .unknowns
        .iter()
        .map(|unknown| state.bounds(unknown))
        .collect();
    let bounds = bounds?;
    let mut how = vec![How::Found; plan.unknowns.len()];
    for _ in 0..ROUNDS {
        let mut moved: f64 = 0.0;
        for ((unknown, bounds), how) in plan.unknowns.iter().zip(&bounds).zip(&mut how) {
            let before = state.get(unknown.name);
            let (value, found) = state.one(unknown, bounds)?;
            *how = found;
            moved = moved.max((value / before).ln().abs());
            state.set(unknown.name, value);
        }
        if moved < STILL {
            break;
        }
    }
    let mut solved = Vec::new();
    for (unknown, how) in plan.unknowns.iter().zip(how) {
        let name = unknown.name;
        let figure = || chip.get(Parameter::named(name).ok()?);
        let value = state.get(name);
        solved.push(Solved {
            name,
            before: constants.get(name).or_else(figure),
            value,
            range: state.spread(unknown, value)?,
            how,
            probes: unknown.probes.clone(),
        });
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

    /// The range in which a value makes sense, and what moving through it does.
    fn bounds(&mut self, unknown: &Unknown) -> Result<Bounds, Error> {
        let now = self.get(unknown.name);
        let row = self.rows.iter().find(|row| row.name == unknown.name);
        let (low, high) = match row {
            Some(row) => (row.range.0 / BEYOND, row.range.1 * BEYOND),
            None => (now / 4.0, now * 4.0),
        };
        let effect = self.error(unknown, high)? - self.error(unknown, low)?;
        Ok(Bounds { low, high, effect })
    }

    /// Moves one unknown to where its probes take their measured time, the others as they are.
    fn one(&mut self, unknown: &Unknown, bounds: &Bounds) -> Result<(f64, How), Error> {
        /// An error of the logarithm that is none.
        const NONE: f64 = 1e-4;
        let now = self.get(unknown.name).clamp(bounds.low, bounds.high);
        if bounds.effect.abs() < TELLING {
            return Ok((self.get(unknown.name), How::Undetermined));
        }
        let error = self.error(unknown, now)?;
        if error.abs() < NONE {
            return Ok((now, How::Found));
        }
        // Towards the end that makes the error smaller, in growing steps, until its sign turns.
        let up = (error < 0.0) == (bounds.effect > 0.0);
        let mut near = (now, error);
        let mut step: f64 = 1.05;
        loop {
            let next = if up { near.0 * step } else { near.0 / step };
            let next = next.clamp(bounds.low, bounds.high);
            let error = self.error(unknown, next)?;
            if error * near.1 <= 0.0 {
                return Ok((self.root(unknown, near, (next, error))?, How::Found));
            }
            if next <= bounds.low || next >= bounds.high {
                return Ok((next, How::AtTheEdge));
            }
            near = (next, error);
            step = step.powf(1.8).min(2.0);
        }
    }

    /// The value at which predicted and measured times agree, between two at which they err in
    /// opposite directions: regula falsi in logarithms, with the bisection it needs to end.
    fn root(
        &mut self,
        unknown: &Unknown,
        one: (f64, f64),
        other: (f64, f64),
    ) -> Result<f64, Error> {
        const EVALUATIONS: usize = 16;
        let (mut one, mut other) = ((one.0.ln(), one.1), (other.0.ln(), other.1));
        let mut next = one.0;
        for turn in 0..EVALUATIONS {
            next = match turn % 3 {
                2 => f64::midpoint(one.0, other.0),
                _ => one.0 - one.1 * (other.0 - one.0) / (other.1 - one.1),
            };
            let error = self.error(unknown, next.exp())?;
            if error.abs() < 2e-5 || (other.0 - one.0).abs() < 1e-5 {
                break;
            }
            if error * one.1 > 0.0 {
                one = (next, error);
            } else {
                other = (next, error);
            }
        }
        Ok(next.exp())
    }

    /// The values between which the spread of the runs leaves a constant.
    fn spread(&mut self, unknown: &Unknown, value: f64) -> Result<(f64, f64), Error> {
        const STEP: f64 = 1.05;
        let own = self.measured.iter();
        let own = own.filter(|measured| unknown.probes.contains(&measured.probe));
        let spread = own.map(|measured| measured.spread).fold(0.0, f64::max);
        if spread == 0.0 {
            return Ok((value, value));
        }
        let slope = self.error(unknown, value * STEP)? - self.error(unknown, value / STEP)?;
        let slope = (slope / (2.0 * STEP.ln())).abs().max(0.02);
        let factor = (spread / slope).min(1.0).exp();
        Ok((value / factor, value * factor))
    }
}
