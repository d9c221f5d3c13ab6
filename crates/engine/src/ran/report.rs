//! What a run gave, as text and as JSON.

use super::counts::Counted;
use super::faults::{self, ReadFile};
use super::verdict::Verdict;
use crate::diagnostics::ErrorEntry;
use assay_device::Origin;
use assay_launch::element::Element;
use assay_report::blocks::View;
use assay_report::style::Role;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

/// What a run gave.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    /// The kernel.
    pub kernel: String,
    /// Threads in each direction.
    pub grid: [u32; 3],
    /// The sizes that formulas of the launch used; empty for a launch in plain numbers.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sizes: BTreeMap<String, u64>,
    /// True if the geometry has no named size: what is found, or not, is known of this launch only.
    #[serde(skip)]
    pub plain: bool,
    /// Threads of a threadgroup in each direction.
    pub threadgroup: [u32; 3],
    /// Whether threadgroups ran one after the other, because device atomics make the result depend on order.
    pub in_order: bool,
    /// How long the runs took; not there when checking or counting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Times>,
    /// Whether the results are right; not there when nothing says what is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// What `--check` found; empty when the kernel is clean, not there when it was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked: Option<Vec<Finding>>,
    /// What clang warns of; empty when it warns of nothing, not there without `--check`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<ErrorEntry>>,
    /// What `--counts` counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts: Option<Counted>,
    /// Buffers that were asked for with `--print`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub buffers: Vec<Shown>,
    /// Files that were written with `--out`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Written>,
}

/// Times of all runs.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Times {
    /// `host`: this CPU's time for running the kernel itself, which says nothing about a GPU; `measured`: a GPU's.
    pub origin: &'static str,
    /// Threads of the CPU that ran it; null for a GPU.
    pub threads: Option<usize>,
    /// Milliseconds of each run.
    pub samples_ms: Vec<f64>,
    pub median_ms: f64,
    pub least_ms: f64,
    pub most_ms: f64,
}

/// Something the kernel must not do.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// What, such as `race` or `out-of-bounds`.
    pub kind: &'static str,
    /// `error`, or `warning` for what did no harm with these inputs.
    pub severity: &'static str,
    /// File, line and column, where known.
    pub place: Option<String>,
    /// Where the function of that line was called, from the inside out; not there for a line of the kernel itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub callers: Vec<String>,
    /// Position in the grid of the thread that did it.
    pub thread: [u32; 3],
    /// The buffer it is about, if it is one.
    buffer: Option<u32>,
    /// Offset in bytes in the buffer or other memory.
    offset: Option<i64>,
    /// The other access of a race.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other: Option<Party>,
    /// All of it in words.
    message: String,
    /// What it is, in words.
    #[serde(skip)]
    pub what: String,
    /// The access.
    #[serde(skip)]
    pub doing: String,
}

/// One access of a race.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Party {
    pub place: Option<String>,
    pub thread: [u32; 3],
    /// What it did.
    #[serde(skip)]
    pub action: String,
}

impl Finding {
    /// What was found, each mistake of a line once: a loop that was unrolled makes it several times. Of the pairs of threads
    /// that race, one of different simdgroups is told, which no lockstep can excuse.
    pub fn distinct(reports: &[assay_device::Report], group: [u32; 3]) -> Vec<Finding> {
        let mut known = BTreeSet::new();
        let mut sorted: Vec<&assay_device::Report> = reports.iter().collect();
        sorted.sort_by_key(|report| is_within_simdgroup(report, group));
        let mut all: Vec<Finding> = sorted.into_iter().map(Finding::new).collect();
        all.retain(|finding| {
            let other = finding.other.as_ref().map(|other| other.place.clone());
            let key = (finding.kind, finding.place.clone(), finding.buffer, other);
            finding.place.is_none() || known.insert(key)
        });
        all
    }

    fn new(report: &assay_device::Report) -> Finding {
        Finding {
            kind: report.kind.name(),
            severity: match report.kind.is_warning() {
                true => "warning",
                false => "error",
            },
            place: report.place.clone(),
            callers: report.callers.clone(),
            thread: report.thread,
            buffer: report.location.as_ref().and_then(|at| at.buffer),
            offset: report.location.as_ref().map(|at| at.offset),
            other: report.other.as_ref().map(|other| Party {
                place: other.place.clone(),
                thread: other.thread,
                action: other.action.to_owned(),
            }),
            message: report.to_string(),
            what: report.kind.sentence().to_owned(),
            doing: doing(report),
        }
    }
}

/// Returns true if both threads of a race are lanes of one simdgroup.
fn is_within_simdgroup(report: &assay_device::Report, group: [u32; 3]) -> bool {
    let [width, height, depth] = group.map(|extent| extent.max(1));
    let simdgroup = |[x, y, z]: [u32; 3]| {
        let within = u64::from(x % width)
            + u64::from(width) * (u64::from(y % height) + u64::from(height) * u64::from(z % depth));
        ([x / width, y / height, z / depth], within / 32)
    };
    let other = report.other.as_ref().map(|other| simdgroup(other.thread));
    other.is_some_and(|other| other == simdgroup(report.thread))
}

/// The access of a report, in words.
fn doing(report: &assay_device::Report) -> String {
    let mut words = match &report.location {
        Some(at) => match &at.texel {
            Some(texel) => format!("{} at {texel} of {}", at.action, at.target),
            None => format!(
                "{} of {} bytes at offset {} of {}",
                at.action, at.size, at.offset, at.target
            ),
        },
        None => report.kind.sentence().to_owned(),
    };
    if let Some(detail) = &report.detail {
        words += &format!(": {detail}");
    }
    words
}

/// A buffer after the run.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Shown {
    /// Its index.
    pub index: u32,
    /// The argument's name in the source.
    pub name: String,
    /// The type of its numbers.
    #[serde(rename = "type")]
    pub element: &'static str,
    /// How many numbers it has.
    pub length: usize,
    /// The first of them, integers exactly; null for infinities and NaN.
    pub values: Vec<Option<serde_json::Number>>,
    #[serde(skip)]
    pub texts: Vec<String>,
}

/// A file that was written.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Written {
    /// The index of the buffer or texture, or of the argument buffer.
    pub index: u32,
    /// The file.
    pub path: String,
    /// What was written, for people.
    #[serde(skip)]
    pub what: String,
}

impl Times {
    pub fn new(samples: &[Duration], origin: Origin, threads: Option<usize>) -> Times {
        let samples_ms: Vec<f64> = samples
            .iter()
            .map(|time| time.as_secs_f64() * 1e3)
            .collect();
        let mut sorted = samples_ms.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |index: usize| sorted.get(index).copied().unwrap_or_default();
        let middle = sorted.len() / 2;
        let median_ms = match sorted.len() % 2 {
            0 => (at(middle.saturating_sub(1)) + at(middle)) / 2.0,
            _ => at(middle),
        };
        Times {
            origin: origin.name(),
            threads,
            median_ms,
            least_ms: at(0),
            most_ms: at(sorted.len().saturating_sub(1)),
            samples_ms,
        }
    }
}

impl Shown {
    pub fn new(
        index: u32,
        name: &str,
        element: &'static Element,
        data: &[u8],
        most: usize,
    ) -> Shown {
        let numbers = data.chunks_exact(element.size).take(most);
        let (texts, values) = numbers.map(|bytes| element.show(bytes)).unzip();
        Shown {
            index,
            name: name.to_owned(),
            element: element.name,
            length: data.len() / element.size,
            values,
            texts,
        }
    }

    /// The numbers, as many to a line as fit.
    fn text(&self, view: &View) -> String {
        let title = format!(
            "{} ({}, {} × {})",
            self.name, self.index, self.length, self.element
        );
        let mut text = view.painter.paint(Role::Heading, &title).to_string();
        let widest = self.texts.iter().map(String::len).max().unwrap_or(0) + 2;
        let line = (view.width / widest).max(1);
        for (number, value) in self.texts.iter().enumerate() {
            if number % line == 0 {
                text.push('\n');
            }
            let _ = write!(text, "{value:>widest$}");
        }
        if self.texts.len() < self.length {
            let _ = write!(text, "\n  … and {} more", self.length - self.texts.len());
        }
        text.push('\n');
        text
    }
}

impl Report {
    /// Returns true if a check found something, or a result is wrong.
    pub fn found(&self) -> bool {
        let mut found = self.checked.iter().flatten();
        found.any(|finding| finding.severity == "error")
            || self.verdict.as_ref().is_some_and(|verdict| !verdict.right)
    }

    /// The verdict first, then what was asked to be seen, then the run.
    pub fn text(&self, view: &View, read: ReadFile) -> String {
        let mut text = String::new();
        if let Some(verdict) = &self.verdict {
            text += &verdict.text(&self.kernel, view);
        }
        if let Some(found) = &self.checked {
            text += &faults::verdict(&self.kernel, found, view);
            text += &faults::text(found, view, read);
        }
        for buffer in &self.buffers {
            text += &buffer.text(view);
        }
        text += &self.launch();
        if let Some(time) = &self.time {
            let _ = writeln!(text, "{time}");
        }
        let warns = |finding: &Finding| finding.severity == "warning";
        if self.checked.iter().flatten().any(warns) {
            text += "values happened to be equal: check with other inputs too, such as --buffer I=random:… in place of zeros\n";
        }
        if self.checked.is_some() && self.plain {
            text +=
                "known of this launch only: its geometry is numbers, not sizes named with --size\n";
        }
        if let Some(counts) = &self.counts {
            text += &counts.text(view);
        }
        for file in &self.files {
            let _ = writeln!(text, "{} → {}", file.what, file.path);
        }
        text
    }

    /// What ran.
    fn launch(&self) -> String {
        let [x, y, z] = self.grid;
        let [gx, gy, gz] = self.threadgroup;
        let sizes = match self.sizes.is_empty() {
            true => String::new(),
            false => format!(" at {}", assay_launch::describe(&self.sizes)),
        };
        let order = if self.in_order { ", in order" } else { "" };
        let kernel = &self.kernel;
        format!(
            "{kernel}: {x} × {y} × {z} threads in threadgroups of {gx} × {gy} × {gz}{sizes}{order}\n"
        )
    }
}

impl std::fmt::Display for Times {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.3} ms", self.median_ms)?;
        if self.samples_ms.len() > 1 {
            let (count, least, most) = (self.samples_ms.len(), self.least_ms, self.most_ms);
            write!(f, " median of {count} runs ({least:.3} to {most:.3})")?;
        }
        let origin = self.origin;
        match self.threads {
            Some(1) => write!(f, " ({origin}: 1 thread of this CPU, no GPU)"),
            Some(threads) => write!(f, " ({origin}: {threads} threads of this CPU, no GPU)"),
            None => write!(f, " ({origin} by the GPU)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Finding;
    use assay_device::{Report, ReportKind};

    #[test]
    fn a_mistake_of_a_line_is_told_once() {
        let at = |kind, place: Option<&str>, thread| Report {
            kind,
            kernel: "k".to_owned(),
            place: place.map(str::to_owned),
            callers: Vec::new(),
            thread: [thread, 0, 0],
            location: None,
            detail: None,
            other: None,
        };
        let (race, lane) = (ReportKind::Race, ReportKind::InactiveLane);
        let found = Finding::distinct(
            &[
                at(race, Some("k.metal:3"), 1),
                at(race, Some("k.metal:3"), 2),
                at(lane, Some("k.metal:3"), 3),
                at(race, Some("k.metal:4"), 4),
                at(race, None, 5),
                at(race, None, 6),
            ],
            [64, 1, 1],
        );
        let threads: Vec<u32> = found.iter().map(|finding| finding.thread[0]).collect();
        assert_eq!(threads, [1, 3, 4, 5, 6]);
    }
}
