//! Programs whose GPU time is held: what of them is asked for, what was found out about one tree's, and whether it holds.
//!
//! A program is run, unlike a kernel: what it may do is what whoever runs the gate may do. So it is named by the command line or
//! by the configuration of the base, and only run where that is asked for.

use crate::report::{Difference, Level, Outcome, Problem, ProgramVerdict, Report, Standing};
use crate::rules;
use crate::snapshot::Place;
use serde::{Deserialize, Serialize};

/// A program to hold.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// What the report calls it.
    pub name: String,
    /// The command line that runs it, for a shell in the folder of the configuration.
    pub run: String,
    /// The command line that builds it before, in each tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    /// What may grow by how much; those of [`Limit::usual`] where nothing is said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fail_on: Vec<Limit>,
    /// Run with every access of every kernel checked.
    #[serde(default, skip_serializing_if = "is_false")]
    pub check: bool,
    /// Run the kernels whose results the program does not read, too.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub execute: bool,
    /// Seconds that building and running may take, each.
    #[serde(default = "ten_minutes")]
    pub max_seconds: f64,
}

fn yes() -> bool {
    true
}

fn is_true(value: &bool) -> bool {
    *value
}

fn is_false(value: &bool) -> bool {
    !*value
}

fn ten_minutes() -> f64 {
    600.0
}

/// How much a figure of a program may grow.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// As written: `bytes:1%`.
    pub text: String,
    /// The figure.
    pub figure: &'static str,
    /// As a fraction.
    pub fraction: f64,
}

const TIME: &str = "time";
const DISPATCHES: &str = "dispatches";
const BYTES: &str = "bytes";
const FAULTS: &str = "faults";

/// Names of limits, as `assay trace compare --fail-on` has them, and the figures they are about.
const LIMITS: [(&str, &str); 4] = [
    (TIME, TIME),
    ("slower", TIME),
    (DISPATCHES, DISPATCHES),
    (BYTES, BYTES),
];

impl std::str::FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Limit, String> {
        let names = LIMITS.map(|(name, _)| name);
        let (at, fraction) = assay_report::limit::parse(text, &names)?;
        Ok(Limit {
            text: text.to_owned(),
            figure: LIMITS[at].1,
            fraction,
        })
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Limit, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl Serialize for Limit {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.text)
    }
}

impl Limit {
    /// The limits of a program that names none.
    pub fn usual() -> Vec<Limit> {
        let limit = |figure: &'static str, per_cent: f64| Limit {
            text: format!("{figure}:{per_cent}%"),
            figure,
            fraction: per_cent / 100.0,
        };
        vec![limit(TIME, 5.0), limit(DISPATCHES, 0.0), limit(BYTES, 1.0)]
    }
}

impl Program {
    /// A program of a name and a command line, `NAME=COMMAND`.
    pub fn named(text: &str) -> Result<Program, String> {
        let (name, run) = text
            .split_once('=')
            .filter(|(name, run)| !name.trim().is_empty() && !run.trim().is_empty())
            .ok_or("write NAME=COMMAND, as in infer='./infer --tokens 16'")?;
        Ok(Program {
            name: name.trim().to_owned(),
            run: run.to_owned(),
            build: None,
            fail_on: Vec::new(),
            check: false,
            execute: true,
            max_seconds: ten_minutes(),
        })
    }

    /// Checks what the type cannot say.
    pub(crate) fn check(&self) -> Result<(), String> {
        let name = &self.name;
        if name.trim().is_empty() || self.run.trim().is_empty() {
            return Err("program: name and run must say something".to_owned());
        }
        if self.check && !self.execute {
            return Err(format!(
                "program {name}: check = true runs every kernel, execute = false does not"
            ));
        }
        if !(self.max_seconds > 0.0 && self.max_seconds < 1e6) {
            return Err(format!("program {name}: max_seconds: a number above 0"));
        }
        Ok(())
    }

    /// Per cent that a figure may grow by.
    fn allowed(&self, figure: &str) -> Option<f64> {
        let usual;
        let limits = match self.fail_on.as_slice() {
            [] => {
                usual = Limit::usual();
                usual.as_slice()
            }
            own => own,
        };
        let limits = limits.iter().filter(|limit| limit.figure == figure);
        limits.map(|limit| limit.fraction * 100.0).reduce(f64::min)
    }
}

/// A predicted time of a whole program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProgramTime {
    /// The chip.
    pub chip: String,
    /// Microseconds.
    pub us: f64,
    /// The ends of the band.
    pub band: [f64; 2],
}

/// What was found out about a program of one tree.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// Predicted GPU times.
    pub times: Vec<ProgramTime>,
    /// Dispatches.
    pub dispatches: u64,
    /// Bytes that dispatches and copies read and write.
    pub bytes: u64,
    /// What was done wrong, in words; of a checked run accesses and missing orders, too.
    pub faults: Vec<String>,
    /// Kernels without a predicted time, with the reason.
    pub unpredicted: Vec<String>,
}

/// A program with what was found out in both trees; an error is why nothing was, in words.
#[derive(Clone, Debug)]
pub struct Held<'a> {
    /// The program.
    pub program: &'a Program,
    /// Where it is named.
    pub place: Place,
    /// In the tree that is compared with; none where there is none.
    pub base: Option<Result<Measured, String>>,
    /// In this tree.
    pub head: Result<Measured, String>,
}

impl Report {
    /// Adds a program, judged.
    pub fn hold(&mut self, held: &Held<'_>) {
        let mut problems = Vec::new();
        let verdict = examined(held, &mut problems);
        self.passed &= problems.is_empty();
        self.problems.append(&mut problems);
        self.summary.programs += 1;
        self.summary.failed_programs += usize::from(!verdict.passed);
        self.programs.push(verdict);
    }
}

fn examined(held: &Held<'_>, problems: &mut Vec<Problem>) -> ProgramVerdict {
    let program = held.program;
    let mut add = |rule: &'static str, message: String, advice: &str| {
        problems.push(Problem {
            rule,
            level: Level::Error,
            function: Some(program.name.clone()),
            place: held.place.clone(),
            message,
            advice: advice.to_owned(),
        });
    };
    let mut verdict = ProgramVerdict {
        name: program.name.clone(),
        run: program.run.clone(),
        outcome: Outcome::Alone,
        passed: false,
        differences: Vec::new(),
        notes: Vec::new(),
    };
    let head = match &held.head {
        Ok(head) => head,
        Err(why) => {
            add(rules::PROGRAM_FAILS, why.clone(), FAILS);
            return verdict;
        }
    };
    let base = match &held.base {
        Some(Ok(base)) => Some(base),
        Some(Err(why)) => {
            verdict.outcome = Outcome::BrokenBefore;
            verdict.notes.push(format!("before, {why}"));
            None
        }
        None => None,
    };
    verdict.differences = differences(program, base, head);
    for one in &verdict.differences {
        if one.standing == Standing::Worse {
            let rule = match one.figure {
                TIME => rules::PROGRAM_SLOWER,
                FAULTS => rules::PROGRAM_FAULTS,
                _ => rules::PROGRAM_GREW,
            };
            let advice = if rule == rules::PROGRAM_FAULTS {
                FAULTED
            } else {
                GREW
            };
            add(rule, grown(one, base, head), advice);
        }
    }
    let known = base.map_or(0, |base| base.unpredicted.len());
    if base.is_some() && head.unpredicted.len() > known {
        let all = head.unpredicted.join("; ");
        add(
            rules::HIDDEN,
            format!("kernels without a predicted time, whose time is not compared: {all}"),
            "mend what stands in the way, or leave the kernel out of the program",
        );
    } else {
        let notes = head.unpredicted.iter();
        let notes = notes.map(|why| format!("without a predicted time: {why}"));
        verdict.notes.extend(notes);
    }
    if base.is_some() {
        let changed = verdict.differences.iter().any(Difference::is_change);
        verdict.outcome = if changed {
            Outcome::Changed
        } else {
            Outcome::Same
        };
    }
    verdict.passed = problems.is_empty();
    verdict
}

/// The rules that are about programs.
pub(crate) const RULES: [&str; 5] = [
    rules::PROGRAM_FAILS,
    rules::PROGRAM_SLOWER,
    rules::PROGRAM_GREW,
    rules::PROGRAM_FAULTS,
    rules::HIDDEN,
];

const FAILS: &str = "the command lines are in [[program]] of assay.toml, or on the gate's own; they run in a shell, in the folder \
                     of assay.toml";
const FAULTED: &str =
    "assay metal run --check -- PROGRAM says where, with the calls that led there";
const GREW: &str = "assay metal run --record FILE -- PROGRAM in both checkouts, then assay trace compare --full, names the kernels; \
                    if it is meant to be: fail_on of the program in the base's assay.toml";

/// The figures of a program, before and now.
fn differences(program: &Program, base: Option<&Measured>, head: &Measured) -> Vec<Difference> {
    let judged = |figure, chip: Option<&str>, before: Option<f64>, after: f64, band| {
        let allowed = match figure {
            FAULTS => Some(0.0),
            figure => program.allowed(figure),
        };
        // Without a tree to compare with, only faults are wrong in themselves.
        let from = if base.is_none() && figure == FAULTS {
            Some(0.0)
        } else {
            before
        };
        let standing = match from.zip(allowed) {
            Some((from, allowed)) if after > from * (1.0 + allowed / 100.0) + 1e-9 => {
                Standing::Worse
            }
            _ if before.is_some_and(|before| after < before) => Standing::Better,
            _ if allowed.is_none() => Standing::Shown,
            _ => Standing::Fine,
        };
        Difference {
            figure,
            chip: chip.map(str::to_owned),
            sizes: None,
            before,
            after: Some(after),
            band,
            allowed,
            standing,
        }
    };
    let mut all: Vec<Difference> = Vec::new();
    for time in &head.times {
        let known = base.and_then(|base| base.times.iter().find(|one| one.chip == time.chip));
        let before = known.map(|one| one.us);
        all.push(judged(
            TIME,
            Some(&time.chip),
            before,
            time.us,
            Some(time.band),
        ));
    }
    let mut count = |figure, of: fn(&Measured) -> f64| {
        all.push(judged(figure, None, base.map(of), of(head), None));
    };
    count(DISPATCHES, |one| one.dispatches as f64);
    count(BYTES, |one| one.bytes as f64);
    count(FAULTS, |one| one.faults.len() as f64);
    all
}

/// A figure that grew, in words.
fn grown(one: &Difference, base: Option<&Measured>, head: &Measured) -> String {
    let number = |value: Option<f64>| value.map_or("nothing".to_owned(), crate::examine::number);
    if one.figure == FAULTS {
        let known = |fault: &&String| base.is_none_or(|base| !base.faults.contains(fault));
        let first = head.faults.iter().find(known).or(head.faults.first());
        let first = first.map_or(String::new(), |first| format!(": {first}"));
        let before = one
            .before
            .map_or(String::new(), |before| format!(", {before} before"));
        let plural = if one.after == Some(1.0) { "" } else { "s" };
        return format!("{} report{plural}{before}{first}", number(one.after));
    }
    let what = match one.figure {
        TIME => "; modelled: GPU time, µs",
        BYTES => "; modelled: bytes read and written",
        _ => "",
    };
    let per_cent = one.per_cent().unwrap_or(f64::INFINITY);
    format!(
        "{} grew from {} to {} ({per_cent:+.1} %, allowed {} %{what})",
        one.title(),
        number(one.before),
        number(one.after),
        number(one.allowed),
    )
}

#[cfg(test)]
mod tests;
