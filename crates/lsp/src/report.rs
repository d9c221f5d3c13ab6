//! What a profile and a prediction say about the lines of one source file.

use assay_predict::{Predicted, render};
use assay_profile::Profile;
use assay_profile::render::{LineCost, ListingRow, lines, rows};
use assay_report::rule::Severity;
use std::collections::BTreeMap;

/// A kernel as an editor shows it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KernelReport {
    /// Its name.
    pub name: String,
    /// The verdict in a sentence.
    pub verdict: String,
    /// 32-bit registers of a thread.
    pub registers: u32,
    /// Threads that a core holds.
    pub threads: u32,
    /// Those as a share of all it could hold.
    pub occupancy: f64,
    /// What limits them.
    pub limit: &'static str,
    /// Instructions of the main program.
    pub instructions: u32,
    /// Bytes of memory that registers are spilled to.
    pub spilled: u32,
    /// The predicted time, when a launch is known.
    pub time: Option<Time>,
    /// Why there is none although a launch is there.
    pub not_timed: Option<String>,
    /// What was found.
    pub findings: Vec<Finding>,
    /// Lines of the file that have code, in order.
    pub lines: Vec<LineReport>,
}

/// A predicted time: modelled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Time {
    /// The chip.
    pub chip: String,
    /// Microseconds.
    pub us: f64,
    /// Four of five kernels lie between this and `high_us`.
    pub low_us: f64,
    /// See `low_us`.
    pub high_us: f64,
    /// What limits it.
    pub limited_by: String,
}

/// A finding of the profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its rule.
    pub rule: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// What was seen.
    pub message: String,
    /// The line from 0, where known and in this file.
    pub line: Option<u32>,
    /// Recipes that may answer it.
    pub recipes: &'static [&'static str],
}

/// What a line became.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LineReport {
    /// The line, from 0.
    pub line: u32,
    /// Its share of the kernel's predicted time, or without a launch of the modelled cycles of a simdgroup alone.
    pub share: f64,
    /// What its cost consists of, in words.
    pub why: String,
    /// Loops around it.
    pub loop_depth: u32,
    /// The most 32-bit registers live at once.
    pub live: u32,
    /// Its instructions, with unit and cycles.
    pub listing: Vec<String>,
    /// Instructions that are not in the listing.
    pub more: usize,
}

/// Instructions kept of a line.
const MOST_INSTRUCTIONS: usize = 40;

impl KernelReport {
    /// What is known about a kernel, for the lines of `file` as the code's line table calls it.
    pub fn new(profile: &Profile, predicted: Option<&Predicted>, file: &str) -> KernelReport {
        let occupancy = &profile.occupancy;
        KernelReport {
            name: profile.name.clone(),
            verdict: profile.verdict().0.sentence(),
            registers: occupancy.half_registers.div_ceil(2),
            threads: occupancy.threads,
            occupancy: occupancy.share,
            limit: occupancy.limit,
            instructions: profile.main.instructions,
            spilled: profile.scratch_bytes.unwrap_or(0),
            time: predicted.map(Time::new),
            not_timed: None,
            findings: findings(profile, file),
            lines: line_reports(profile, predicted, file),
        }
    }

    /// A kernel of which nothing but a reason is known.
    pub fn refused(name: &str, why: &str) -> KernelReport {
        KernelReport {
            name: name.to_owned(),
            verdict: why.to_owned(),
            ..KernelReport::default()
        }
    }

    /// The line's report.
    pub fn line(&self, line: u32) -> Option<&LineReport> {
        let place = self.lines.binary_search_by_key(&line, |report| report.line);
        place.ok().and_then(|place| self.lines.get(place))
    }
}

impl Time {
    fn new(predicted: &Predicted) -> Time {
        Time {
            chip: predicted.chip.clone(),
            us: predicted.time_us,
            low_us: predicted.low_us,
            high_us: predicted.high_us,
            limited_by: predicted.limited_by.clone(),
        }
    }

    /// Time and band: `8.1 ms (6.3 to 10.4 ms) on m2`.
    pub fn text(&self) -> String {
        format!(
            "{} ({} to {}) on {}",
            render::time(self.us),
            render::time(self.low_us),
            render::time(self.high_us),
            self.chip
        )
    }
}

fn findings(profile: &Profile, file: &str) -> Vec<Finding> {
    let found = profile.findings.iter().map(|finding| {
        let place = finding.source.as_ref();
        let place = place.filter(|place| place.file == file);
        Finding {
            rule: finding.rule,
            severity: finding.severity,
            message: finding.message.clone(),
            line: place.and_then(|place| place.line.checked_sub(1)),
            recipes: finding.recipes,
        }
    });
    found.collect()
}

fn line_reports(profile: &Profile, predicted: Option<&Predicted>, file: &str) -> Vec<LineReport> {
    let Some(index) = profile.main.files.iter().position(|name| name == file) else {
        return Vec::new();
    };
    let costs = lines(profile);
    let whole: f64 = costs.iter().map(LineCost::time).sum();
    let mut reports: BTreeMap<u32, LineReport> = BTreeMap::new();
    let own = costs.iter().filter(|cost| cost.file as usize == index);
    for cost in own.filter(|cost| cost.line > 0) {
        let report = reports.entry(cost.line - 1).or_default();
        report.loop_depth = cost.loop_depth;
        report.share = share(cost.time(), whole);
        report.why = parts_of(cost);
    }
    if let Some(predicted) = predicted {
        reports.values_mut().for_each(|report| report.share = 0.0);
        let own = predicted.lines.iter().filter(|line| line.file == file);
        for time in own.filter(|time| time.line > 0) {
            let report = reports.entry(time.line - 1).or_default();
            report.share = share(time.us, predicted.time_us);
            report.why = format!("{}: {}", render::time(time.us), render::reasons(time));
        }
    }
    for row in rows(&profile.main) {
        let Some(line) = row
            .line
            .filter(|_| row.file.is_some_and(|file| file as usize == index))
        else {
            continue;
        };
        if let Some(report) = line.checked_sub(1).and_then(|line| reports.get_mut(&line)) {
            add(report, &row);
        }
    }
    let reports = reports.into_iter();
    let reports = reports.map(|(line, report)| LineReport { line, ..report });
    reports
        .filter(|report| !report.listing.is_empty())
        .collect()
}

fn add(report: &mut LineReport, row: &ListingRow) {
    report.live = report.live.max(u32::from(row.pressure).div_ceil(2));
    if report.listing.len() >= MOST_INSTRUCTIONS {
        report.more += 1;
        return;
    }
    let mut text = format!("{:<52} {}", row.text, row.unit);
    let cycles = row.cycles.or(row.issue);
    if let Some(cycles) = cycles {
        text += &format!(" {cycles:.0}");
    }
    if let Some(stall) = row.stall.filter(|stall| *stall > 0.0) {
        text += &format!(", waits {stall:.0}");
    }
    report.listing.push(text.trim_end().to_owned());
}

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// The parts of a line's cost, the largest first.
fn parts_of(cost: &LineCost) -> String {
    let mut parts = [
        ("waiting for what it loads", cost.stall),
        ("memory unit", cost.memory),
        ("complex unit", cost.complex),
        ("issue", cost.issue),
    ];
    parts.sort_by(|a, b| b.1.total_cmp(&a.1));
    let parts = parts.iter().filter(|(_, cycles)| *cycles >= 0.5);
    let parts: Vec<String> = parts
        .map(|(name, cycles)| format!("{name} {cycles:.0}"))
        .collect();
    let known = match parts.is_empty() {
        true => "no modelled cycles".to_owned(),
        false => format!("{} cycles", parts.join(", ")),
    };
    match cost.unknown {
        0 => known,
        1 => format!("{known}; 1 instruction has an unknown cost"),
        unknown => format!("{known}; {unknown} instructions have unknown costs"),
    }
}
