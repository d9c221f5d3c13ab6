//! Profiles as a few figures, and two of them side by side.

use crate::LoopReport;
use crate::cost::LANES;
use crate::profile::Profile;
use std::collections::BTreeMap;

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Less.
    Less,
    /// More.
    More,
}

/// What a figure is good for when two kernels are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Weight {
    /// Per unit of work, or a limit of the core: better here is better.
    Decides,
    /// Of the program as a whole: a kernel that does more per thread has more of it.
    Explains,
}

/// A figure that is compared.
#[derive(Clone, Copy)]
pub struct Figure {
    /// Its name in JSON and tables.
    pub name: &'static str,
    /// What it is.
    pub meaning: &'static str,
    /// Which way is better.
    pub better: Better,
    value: fn(&Profile) -> Option<f64>,
}

impl std::fmt::Debug for Figure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Figure").field(&self.name).finish()
    }
}

macro_rules! figures {
    ($($name:literal, $meaning:literal, $better:ident, $value:expr;)*) => {
        /// Every figure, in the order of the tables.
        pub const FIGURES: &[Figure] = &[$(Figure {
            name: $name,
            meaning: $meaning,
            better: Better::$better,
            value: $value,
        },)*];
    };
}

figures! {
    "instructions", "instructions that can be executed", Less, |p| Some(f64::from(p.main.instructions));
    "code_bytes", "bytes of those", Less, |p| Some(f64::from(p.main.code_bytes));
    "half_registers", "half-registers a thread is given", Less, |p| Some(f64::from(p.occupancy.half_registers));
    "peak_half_registers", "half-registers live at once", Less, |p| Some(f64::from(p.main.peak_half_registers));
    "threads", "threads per core", More, |p| Some(f64::from(p.occupancy.threads));
    "issue", "issue slots, by known trip counts", Less, |p| p.main.weighted.issue.exact();
    "complex", "complex-unit cycles, by known trip counts", Less, |p| p.main.weighted.ic.exact();
    "memory", "memory-unit cycles, by known trip counts", Less, |p| p.main.weighted.memory.exact();
    "device_bytes", "bytes of device memory per simdgroup", Less, |p| {
        let costs = &p.main.weighted;
        (costs.unsized_accesses == 0).then_some(costs.device_bytes)
    };
    "shortest_issue", "issue slots of the shortest path", Less, |p| p.main.paths.shortest.issue.exact();
    "longest_issue", "issue slots of the longest path", Less, |p| p.main.paths.longest.issue.exact();
    "alone", "cycles of a simdgroup alone", Less, |p| p.main.bounds.alone.exact();
    "hot_estimate", "modelled cycles of what limits the kernel", Less, |p| p.verdict().0.estimate;
    "hot_cycles_per_float", "modelled cycles per float instruction where time goes", Less,
        |p| per_float(p, |hot| hot.bounds.estimate);
    "hot_bytes_per_float", "device bytes per thread and float instruction where time goes", Less,
        |p| per_float(p, |hot| Some(hot.costs.device_bytes / LANES));
    "scratch_bytes", "bytes of thread memory: arrays and spilled registers", Less,
        |p| p.scratch_bytes.map(f64::from);
    "constant_program_instructions", "instructions of the constant program", Less,
        |p| Some(p.constant_program.as_ref().map_or(0.0, |part| f64::from(part.instructions)));
    "findings", "findings", Less, |p| Some(p.findings.len() as f64);
}

/// Something of the loop where time goes, for each of its float instructions: what makes a
/// loop comparable with the same loop unrolled or tiled. Inner loops of known length count
/// with the loop around them.
fn per_float(profile: &Profile, value: fn(&LoopReport) -> Option<f64>) -> Option<f64> {
    let mut hot = profile.main.hot_loop()?;
    while hot.trips.is_some()
        && let Some(parent) = hot.parent
    {
        hot = profile.main.loops.get(parent.index())?;
    }
    let floats = hot.costs.f32.known + hot.costs.f16.known;
    value(hot)
        .filter(|_| floats > 0.0)
        .map(|value| value / floats)
}

/// A kernel's figures by name; unknown ones are absent.
pub type Figures = BTreeMap<String, f64>;

/// The figures of a profile. Rounded to 1/1000, so that they survive being written.
pub fn figures(profile: &Profile) -> Figures {
    FIGURES
        .iter()
        .filter_map(|figure| {
            let value = (figure.value)(profile)?;
            Some((figure.name.to_owned(), (value * 1000.0).round() / 1000.0))
        })
        .collect()
}

/// Figures that decide in place of others that are not known on both sides.
const STAND_INS: &[(&str, &str)] = &[
    ("hot_cycles_per_float", "hot_estimate"),
    ("hot_bytes_per_float", "device_bytes"),
];

/// Figures that decide.
const DECIDE: &[&str] = &[
    "threads",
    "hot_cycles_per_float",
    "hot_bytes_per_float",
    "scratch_bytes",
];

/// What a figure is good for, given what is known of both kernels.
fn weight(name: &str, before: &Figures, after: &Figures) -> Weight {
    let known = |name: &str| before.contains_key(name) && after.contains_key(name);
    let stands_in = |&(missing, stand_in): &(&str, &str)| stand_in == name && !known(missing);
    match DECIDE.contains(&name) || STAND_INS.iter().any(stands_in) {
        true => Weight::Decides,
        false => Weight::Explains,
    }
}

/// How a figure changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// For the better.
    Helped,
    /// For the worse.
    Hurt,
    /// Not beyond the tolerance.
    Same,
    /// Known before, unknown now, or the other way round.
    Unknown,
}

impl Change {
    /// In a word.
    pub const fn name(self) -> &'static str {
        match self {
            Change::Helped => "helped",
            Change::Hurt => "hurt",
            Change::Same => "same",
            Change::Unknown => "unknown",
        }
    }
}

/// A figure before and after.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Difference {
    /// Which figure.
    pub figure: &'static str,
    /// Before.
    pub before: Option<f64>,
    /// After.
    pub after: Option<f64>,
    /// Change relative to before; absent when that was 0 or something is unknown.
    pub relative: Option<f64>,
    /// What it amounts to.
    pub change: Change,
    /// What that is worth.
    pub weight: Weight,
}

/// Compares every figure; changes up to `tolerance` (0.01 is 1 %) count as none.
///
/// ```
/// use assay_profile::{Change, compare};
/// let before = [("threads".to_owned(), 512.0), ("issue".to_owned(), 100.0)].into();
/// let after = [("threads".to_owned(), 640.0), ("issue".to_owned(), 100.5)].into();
/// let found = compare(&before, &after, 0.01);
/// let change = |name| found.iter().find(|d| d.figure == name).map(|d| d.change);
/// assert_eq!(change("threads"), Some(Change::Helped));
/// assert_eq!(change("issue"), Some(Change::Same));
/// ```
pub fn compare(before: &Figures, after: &Figures, tolerance: f64) -> Vec<Difference> {
    FIGURES
        .iter()
        .filter_map(|figure| {
            let (old, new) = (before.get(figure.name), after.get(figure.name));
            let (old, new) = (old.copied(), new.copied());
            let change = match (old, new) {
                (None, None) => return None,
                (Some(old), Some(new)) => {
                    let limit = old.abs() * tolerance;
                    match (new - old, figure.better) {
                        (delta, _) if delta.abs() <= limit => Change::Same,
                        (delta, Better::Less) if delta < 0.0 => Change::Helped,
                        (delta, Better::More) if delta > 0.0 => Change::Helped,
                        _ => Change::Hurt,
                    }
                }
                _ => Change::Unknown,
            };
            let relative = old
                .zip(new)
                .filter(|(old, _)| *old != 0.0)
                .map(|(old, new)| (new - old) / old);
            Some(Difference {
                figure: figure.name,
                before: old,
                after: new,
                relative,
                change,
                weight: weight(figure.name, before, after),
            })
        })
        .collect()
}
