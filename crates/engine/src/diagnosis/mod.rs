//! Findings of a launch: what an executed sample shows, ranked by the predicted time that goes away with it.
//!
//! One rule, one file; its module comment is the manual page that `assay explain RULE` shows. A rule names the places, the
//! numbers seen and the same execution without the effect ([`assay_predict::removal`]); predicted again, the difference is
//! the finding's weight, and severity follows from nothing else. Rules that look at code alone are
//! [`assay_profile::RULES`]: they are for code without a launch.

mod atomics_contention;
mod bank_conflicts;
mod barriers;
mod divergence;
mod look;
mod narrow_loads;
mod partial_simdgroups;
mod redundant_loads;
mod roof;
mod scattered_access;
mod serial_threads;
mod spilling;
mod too_few_threadgroups;

use crate::Error;
use crate::execution::Pass;
use assay_predict::{Cache, Predicted, Target};
use assay_profile::{Finding, Severity, TimeGain};
use assay_report::rule::Rule;
use look::{Found, Look};

/// Share of a kernel's time below which a removal is not worth a finding: the same program predicted twice differs by one
/// per cent.
pub const LEAST: f64 = 0.03;

/// What looks for a rule's findings.
type Check = fn(&Look<'_>, &mut Vec<Found>);

macro_rules! rules {
    ($($id:literal => $module:ident,)*) => {
        /// Rules that need an executed launch and are not also rules of code.
        pub const RULES: &[Rule] = &[
            $(Rule::new($id, include_str!(concat!(stringify!($module), ".rs"))),)*
        ];

        /// The checks, in the order of the rules.
        const CHECKS: &[(&str, Check)] = &[$(($id, $module::check),)*];
    };
}

rules! {
    "scattered-access" => scattered_access,
    "bank-conflicts" => bank_conflicts,
    "divergence" => divergence,
    "serial-threads" => serial_threads,
    "redundant-loads" => redundant_loads,
    "partial-simdgroups" => partial_simdgroups,
    "too-few-threadgroups" => too_few_threadgroups,
    "atomics-contention" => atomics_contention,
    "needless-barriers" => barriers,
    "at-the-roof" => roof,
}

/// Rules of code that weigh what they find where there is a launch.
const WEIGHED: &[(&str, Check)] = &[
    ("narrow-loads", narrow_loads::check),
    ("spilling", spilling::check),
];

/// The findings of a dispatch, the weightiest first. With the text of its source, findings of the kernel as a whole have a line.
pub fn findings(
    pass: &Pass,
    predicted: &Predicted,
    (target, state): (&Target, Cache),
    text: Option<&str>,
) -> Result<Vec<Finding>, Error> {
    let Some(sampled) = &pass.sampled else {
        return Ok(Vec::new());
    };
    let look = Look::new(pass, sampled, predicted, target, state, text)?;
    let mut all = Vec::new();
    for (rule, check) in CHECKS.iter().chain(WEIGHED) {
        let mut found = Vec::new();
        check(&look, &mut found);
        for one in found {
            all.extend(finding(&look, rule, one)?);
        }
    }
    all.sort_by(|a, b| {
        let us = |finding: &Finding| finding.weight.map_or(0.0, |weight| weight.us);
        us(b).total_cmp(&us(a)).then(a.range.cmp(&b.range))
    });
    if all.is_empty() {
        all.extend(roof::near(&look));
    }
    Ok(all)
}

/// A finding, if the time without its effect is that much shorter.
fn finding(look: &Look<'_>, rule: &'static str, found: Found) -> Result<Option<Finding>, Error> {
    let weight = match &found.without {
        Some(without) => {
            let gain = look.gain(without)?;
            if gain.share < LEAST {
                return Ok(None);
            }
            Some(gain)
        }
        None => None,
    };
    Ok(Some(look.finding(rule, found, weight)))
}

/// How much a gain matters.
fn severity(weight: Option<TimeGain>) -> Severity {
    match weight.map_or(0.0, |weight| weight.share) {
        0.2.. => Severity::High,
        0.1.. => Severity::Medium,
        _ => Severity::Low,
    }
}

/// The rule with this id.
///
/// ```
/// let rule = assay_engine::diagnosis::rule("scattered-access").expect("a rule");
/// assert!(rule.page().contains("## What to do"));
/// ```
pub fn rule(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id)
}
