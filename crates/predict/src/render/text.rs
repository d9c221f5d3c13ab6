//! Predictions in words: a time, a headline, what it was made from.

use super::comparison::call;
use crate::compare::Compared;
use crate::document::{LineTime, Predicted};
use assay_report::number;

/// A time with a unit that suits it.
pub fn time(us: f64) -> String {
    number::nanoseconds(us * 1e3)
}

/// Kernel, chip, time, band and reason in one line.
pub fn headline(predicted: &Predicted) -> String {
    format!(
        "{} on {} ({} cores): {} ({} to {}), limited by {}",
        predicted.kernel,
        predicted.chip,
        predicted.cores,
        time(predicted.time_us),
        time(predicted.low_us),
        time(predicted.high_us),
        predicted.limited_by
    )
}

/// What the prediction was made from, in one line.
pub fn origin(predicted: &Predicted) -> String {
    format!(
        "modelled ({}), {} caches, class {}, {} of {} threadgroups executed, code: {}",
        predicted.model,
        predicted.state,
        predicted.class,
        predicted.sampled,
        number::grouped(predicted.threadgroups),
        predicted.code
    )
}

/// Work of the whole launch, and the rates at which it is done.
pub fn work_line(predicted: &Predicted) -> String {
    let (work, rates) = (&predicted.work, &predicted.rates);
    let percent = |share: Option<f64>, of: &str| {
        let share = share.map(|share| format!(" ({:.1} % of {of})", 100.0 * share));
        share.unwrap_or_default()
    };
    let mut parts = Vec::new();
    if let Some((flops, gflops)) = work.flops.zip(rates.gflops) {
        let peak = percent(rates.peak_share, "the peak");
        parts.push(format!("{} at {gflops} GFLOP/s{peak}", number::flop(flops)));
    }
    if let Some(gbs) = rates.gbs {
        let memory = percent(rates.bandwidth_share, "the memory's bandwidth");
        let touched = number::bytes(work.touched_bytes as u64);
        parts.push(format!("{touched} touched at {gbs} GB/s{memory}"));
    }
    if let Some(intensity) = rates.flops_per_byte {
        parts.push(format!("{intensity} FLOP per byte"));
    }
    parts.join("; ")
}

/// The resources of which twice as much would help.
pub(super) fn useful(predicted: &Predicted) -> Vec<&crate::document::Doubled> {
    let doubled = predicted.doubled.iter();
    doubled
        .filter(|doubled| doubled.time_us < 0.97 * predicted.time_us)
        .take(4)
        .collect()
}

/// Lines that take at least half a per cent of the time, the dearest first.
pub(super) fn shown(predicted: &Predicted) -> impl Iterator<Item = &LineTime> {
    let least = 0.005 * predicted.time_us;
    predicted.lines.iter().filter(move |line| line.us >= least)
}

pub(super) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The reasons of a line that matter, the largest first.
pub fn reasons(line: &LineTime) -> String {
    let share = |us: f64| 100.0 * us / line.us.max(f64::MIN_POSITIVE);
    let named = line.reasons.iter().take(3);
    let named = named.filter(|reason| share(reason.us) >= 5.0);
    let named: Vec<String> = named
        .map(|reason| format!("{} {:.0} %", reason.name, share(reason.us)))
        .collect();
    named.join(", ")
}

/// Both times, the ratio and the call.
pub(super) fn verdict(compared: &Compared) -> String {
    let (before, after) = (&compared.before, &compared.after);
    let names = match before.kernel == after.kernel {
        true => after.kernel.clone(),
        false => format!("{} → {}", before.kernel, after.kernel),
    };
    let reason = compared.reason;
    let reason = reason.map_or(String::new(), |reason| format!(" ({reason})"));
    format!(
        "{names} on {} ({} cores): {} → {}, {}{reason}",
        after.chip,
        after.cores,
        time(before.time_us),
        time(after.time_us),
        call(compared)
    )
}
