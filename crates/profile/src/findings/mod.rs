//! Findings: what to look at, with the numbers that say so.
//!
//! One rule, one file. The module comment of a rule's file is its manual page, shown by
//! `assay explain RULE`; the function `check` looks for it. To add a rule, write its
//! file and add it to [`RULES`]; the file tests under `tests/filetests` then demand a
//! program that triggers it, one that almost does, and a repaired one whose profile
//! shows the promised gain.

mod carried_chain;
mod complex_in_loop;
mod conversion_in_loop;
mod early_wait;
mod exec_mask_overhead;
mod half_registers;
mod half_storage;
mod invariant_work;
mod look;
mod low_occupancy;
mod narrow_loads;
mod occupancy_step;
mod prefetch;
mod reduction_in_loop;
mod serial_loads;
mod short_branch;
mod spilling;
mod threadgroup_traffic;
mod tile_loads;
mod uniform_load;
mod uniform_work;
mod unknown_instruction;
mod weight;

use crate::InsnId;
use crate::profile::{Options, Profile};
use assay_agx::Program;
pub use assay_report::rule::{Rule, Severity};
pub use look::Look;
pub use weight::{Cure, Seen, TimeGain};

/// What a gain is counted in. Each is a figure of the profile, so that the repaired
/// program shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Issue slots of the program.
    Issue,
    /// Issue slots of one iteration, summed over loops.
    LoopIssue,
    /// Cycles of the complex unit of one iteration, summed over loops.
    LoopComplex,
    /// Cycles of the memory unit.
    Memory,
    /// Cycles one simdgroup takes alone.
    Alone,
    /// Cycles one simdgroup alone takes for one iteration, summed over loops.
    LoopAlone,
    /// Threads per core; a gain is more of them.
    Threads,
    /// Half-registers live at the peak.
    HalfRegisters,
}

impl Metric {
    /// In a few words, after a number.
    pub const fn words(self) -> &'static str {
        match self {
            Metric::Issue => "issue slots",
            Metric::LoopIssue => "issue slots per iteration",
            Metric::LoopComplex => "complex-unit cycles per iteration",
            Metric::Memory => "memory-unit cycles",
            Metric::Alone => "cycles of a simdgroup alone",
            Metric::LoopAlone => "cycles per iteration of a simdgroup alone",
            Metric::Threads => "threads per core",
            Metric::HalfRegisters => "half-registers",
        }
    }

    /// The metric's value in a profile.
    pub fn of(self, profile: &Profile) -> f64 {
        let main = &profile.main;
        let loops = |value: &dyn Fn(&crate::LoopReport) -> f64| main.loops.iter().map(value).sum();
        match self {
            Metric::Issue => main.weighted.issue.known,
            Metric::LoopIssue => loops(&|report| report.costs.issue.known),
            Metric::LoopComplex => loops(&|report| report.costs.ic.known),
            Metric::Memory => main.weighted.memory.known,
            Metric::Alone => main.bounds.alone.known,
            Metric::LoopAlone => loops(&|report| report.bounds.alone.known),
            Metric::Threads => f64::from(profile.occupancy.threads),
            Metric::HalfRegisters => f64::from(main.peak_half_registers),
        }
    }
}

/// An estimated improvement.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gain {
    /// What improves.
    pub metric: Metric,
    /// By how much.
    pub amount: f64,
}

/// Where the source of an instruction is.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SourceLine {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
}

/// One thing found.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// The rule's id.
    pub rule: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// What was seen, with numbers.
    pub message: String,
    /// Byte offsets of the first instruction and after the last.
    pub range: (u32, u32),
    /// The source line of the first, when known.
    pub source: Option<SourceLine>,
    /// What doing something about it would bring, by the model.
    pub gain: Option<Gain>,
    /// Recipes of `assay rewrite` that may answer it.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub recipes: &'static [&'static str],
    /// Every source line it is about, the heaviest first, when known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<u32>,
    /// What was seen, in numbers, where a launch was executed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<Seen>,
    /// The predicted time that goes away with it, where a launch was executed. Severity follows from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<TimeGain>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cure: Option<Cure>,
}

/// Rules whose findings recipes of `assay rewrite` may answer, those of executed launches behind those of code.
const RECIPES: &[(&str, &[&str])] = &[
    ("tile-loads", &["stage", "block", "matrices"]),
    ("narrow-loads", &["coarsen", "vectorize"]),
    ("carried-chain", &["simdgroup-rows", "coarsen"]),
    ("serial-loads", &["coarsen", "specialize"]),
    ("uniform-work", &["coarsen"]),
    (
        "scattered-access",
        &["interleave", "swap-axes", "simdgroup-rows", "stage"],
    ),
    ("bank-conflicts", &["pad"]),
    (
        "redundant-loads",
        &["block", "matrices", "coarsen", "stage"],
    ),
    ("serial-threads", &["share-branch"]),
    ("atomics-contention", &["combine-atomics"]),
    ("needless-barriers", &["relax-barrier"]),
    ("partial-simdgroups", &["threadgroup"]),
    ("too-few-threadgroups", &["threadgroup", "simdgroup-rows"]),
];

/// The recipes of `assay rewrite` that may answer a rule's findings.
pub fn recipes(rule: &str) -> &'static [&'static str] {
    let known = RECIPES.iter().find(|(id, _)| *id == rule);
    known.map_or(&[], |(_, recipes)| recipes)
}

/// What looks for a rule's findings.
type Check = fn(&Look<'_>, &mut Vec<Finding>);

macro_rules! rules {
    ($($id:literal => $module:ident,)*) => {
        /// Every rule, in the order of the manual.
        pub const RULES: &[Rule] = &[
            $(Rule::new($id, include_str!(concat!(stringify!($module), ".rs"))),)*
        ];

        /// The checks, in the order of the rules.
        const CHECKS: &[Check] = &[$($module::check,)*];
    };
}

rules! {
    "unknown-instruction" => unknown_instruction,
    "spilling" => spilling,
    "low-occupancy" => low_occupancy,
    "occupancy-step" => occupancy_step,
    "tile-loads" => tile_loads,
    "prefetch" => prefetch,
    "serial-loads" => serial_loads,
    "early-wait" => early_wait,
    "narrow-loads" => narrow_loads,
    "carried-chain" => carried_chain,
    "reduction-in-loop" => reduction_in_loop,
    "complex-in-loop" => complex_in_loop,
    "conversion-in-loop" => conversion_in_loop,
    "invariant-work" => invariant_work,
    "uniform-load" => uniform_load,
    "uniform-work" => uniform_work,
    "short-branch" => short_branch,
    "exec-mask-overhead" => exec_mask_overhead,
    "threadgroup-traffic" => threadgroup_traffic,
    "half-registers" => half_registers,
    "half-storage" => half_storage,
}

/// The rule with this id.
///
/// ```
/// let rule = assay_profile::rule("spilling").expect("a rule");
/// assert!(rule.page().contains("## Why it matters"));
/// ```
pub fn rule(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id)
}

/// Applies every rule; most severe first, then in order of address.
pub(crate) fn find(profile: &Profile, program: &Program, options: &Options) -> Vec<Finding> {
    let look = Look::new(profile, program, options);
    let mut all = Vec::new();
    for (rule, check) in RULES.iter().zip(CHECKS) {
        let before = all.len();
        check(&look, &mut all);
        for finding in all.iter_mut().skip(before) {
            finding.rule = rule.id;
            finding.recipes = recipes(rule.id);
        }
    }
    all.sort_by_key(|finding| (finding.severity, finding.range.0));
    all
}

/// A count with its noun, which is given for one: `1 load`, `2 loads`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

/// A verb after a count, given for one: `1 load reads`, `2 loads read`.
pub(crate) fn does(count: usize, verb: &str) -> &str {
    match count {
        1 => verb,
        _ => verb.strip_suffix('s').unwrap_or(verb),
    }
}

/// A finding about a stretch of instructions; its rule is filled in by [`find`].
pub(crate) fn finding(
    look: &Look<'_>,
    severity: Severity,
    (first, last): (InsnId, InsnId),
    message: String,
    gain: Option<(Metric, f64)>,
) -> Finding {
    let main = &look.profile.main;
    let start = main.offset(first);
    let end = main
        .code
        .get(last)
        .map_or(start, |entry| entry.offset + u32::from(entry.len));
    let source = look
        .program
        .line_at(start)
        .filter(|line| line.line != 0)
        .map(|line| {
            let file = look.program.files.get(line.file as usize);
            SourceLine {
                file: file.cloned().unwrap_or_default(),
                line: line.line,
            }
        });
    Finding {
        rule: "",
        severity,
        message,
        range: (start, end),
        source,
        gain: gain.map(|(metric, amount)| Gain { metric, amount }),
        recipes: &[],
        lines: Vec::new(),
        seen: Vec::new(),
        weight: None,
        cure: None,
    }
}
