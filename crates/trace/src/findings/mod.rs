//! Rules that look at an analysis and say what to do.
//!
//! One rule is one file. Its documentation comment has fixed headings and is the text
//! that `assay explain RULE` shows; [`rules`] lists all of them.

mod allocations_while_running;
mod below_roofline;
mod clock_ramp;
mod compiles_while_running;
mod contended_gpu;
mod conversions;
mod copies;
mod dominant_label;
mod failed_buffers;
mod few_encoders_per_buffer;
mod host_late;
mod idle_phases;
mod impossible_throughput;
mod irregular_gaps;
mod leaked_objects;
mod lost_rows;
mod memory_growth;
mod needless_waits;
mod overwritten_results;
mod register_spills;
mod remade_pipelines;
mod slow_copies;
mod slow_launch;
mod small_dispatches;
mod tail;
mod thermal_pressure;
mod tiny_encoders;
mod tune_first;
mod unfreed_resources;
mod unlabelled_work;
mod unpredicted_kernels;
mod waits_for_each_buffer;
mod wiring;

use crate::analysis::document::{Analysis, Finding, Severity};
use crate::analysis::gaps::Gap;
use crate::analysis::view::View;
pub use assay_report::rule::Rule;

/// What a rule may look at.
pub(crate) struct Facts<'a> {
    pub(crate) analysis: &'a Analysis,
    pub(crate) view: &'a View<'a>,
    #[allow(dead_code, reason = "for rules that look at single gaps")]
    pub(crate) gaps: &'a [Gap<'a>],
}

/// A rule and what looks for its findings.
#[derive(Clone, Copy)]
struct Entry {
    rule: Rule,
    check: fn(&Facts<'_>) -> Option<Finding>,
}

/// Declares a rule whose documentation comment is its manual page.
macro_rules! rule {
    ($(#[doc = $line:literal])+ $id:literal, $check:expr) => {
        $(#[doc = $line])+
        pub(super) const RULE: super::Entry = super::Entry {
            rule: super::Rule::new($id, concat!($($line, "\n"),+)),
            check: $check,
        };
    };
}
use rule;

/// The rules with their checks, the most important first.
const ENTRIES: &[Entry] = &[
    failed_buffers::RULE,
    unpredicted_kernels::RULE,
    tune_first::RULE,
    small_dispatches::RULE,
    needless_waits::RULE,
    overwritten_results::RULE,
    conversions::RULE,
    remade_pipelines::RULE,
    waits_for_each_buffer::RULE,
    few_encoders_per_buffer::RULE,
    tiny_encoders::RULE,
    host_late::RULE,
    slow_launch::RULE,
    copies::RULE,
    slow_copies::RULE,
    wiring::RULE,
    allocations_while_running::RULE,
    memory_growth::RULE,
    unfreed_resources::RULE,
    leaked_objects::RULE,
    compiles_while_running::RULE,
    contended_gpu::RULE,
    dominant_label::RULE,
    below_roofline::RULE,
    tail::RULE,
    irregular_gaps::RULE,
    register_spills::RULE,
    idle_phases::RULE,
    clock_ramp::RULE,
    thermal_pressure::RULE,
    unlabelled_work::RULE,
    impossible_throughput::RULE,
    lost_rows::RULE,
];

/// Every rule, the most important first.
///
/// ```
/// let rules = assay_trace::rules();
/// assert!(rules.iter().any(|rule| rule.id == "tiny-encoders"));
/// assert!(rules.iter().all(|rule| rule.page().contains("## Why it matters")));
/// ```
pub fn rules() -> Vec<Rule> {
    ENTRIES.iter().map(|entry| entry.rule).collect()
}

/// Runs every rule.
pub(crate) fn check(facts: &Facts<'_>) -> Vec<Finding> {
    if facts.analysis.intervals.rows_target == 0 {
        return Vec::new();
    }
    let entries = ENTRIES.iter();
    let mut findings: Vec<Finding> = entries.filter_map(|entry| (entry.check)(facts)).collect();
    findings.sort_by_key(|finding| finding.severity);
    findings
}

/// A finding of a rule, without a gain.
fn finding(
    entry: &Entry,
    severity: Severity,
    message: String,
    advice: &str,
    effort: &str,
) -> Option<Finding> {
    Some(Finding {
        rule: entry.rule.id.to_owned(),
        severity,
        message,
        advice: advice.to_owned(),
        effort: effort.to_owned(),
        gain: None,
    })
}

/// Adds what a change can bring at most.
fn with_gain(finding: Option<Finding>, gain: String) -> Option<Finding> {
    finding.map(|finding| Finding {
        gain: Some(gain),
        ..finding
    })
}

/// `12.3 ms of 45.6 ms (27 %)`.
fn part_of(part_ms: f64, whole_ms: f64) -> String {
    let percent = if whole_ms > 0.0 {
        part_ms / whole_ms * 100.0
    } else {
        0.0
    };
    format!("{part_ms:.1} ms of {whole_ms:.1} ms ({percent:.0} %)")
}
