//! What was found, as text and as JSON.

use crate::commands::board::save;
use crate::context::Context;
use crate::failure::Failure;
use assay_bench::gate::{Finding, Tried, Verdict};
use assay_bench::measure::Measurement;
use assay_bench::registry::{Case, CaseExtent, CaseRole, Kernel, Registry, Resolved};
use assay_bench::stats::Stop;
use assay_board::Recorded;
use assay_report::number;
use assay_report::style::Role;
use assay_report::table::{Cell, Column, Table};
use assay_report::wrap::wrap;
use serde::Serialize;
use std::fmt::Write as _;

/// What was found about all kernels.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Report {
    /// Where all random inputs came from: `--seed` with it gives the same ones.
    seed: u64,
    /// How many rows are right.
    right: usize,
    /// How many are wrong.
    wrong: usize,
    /// One per kernel and element type.
    kernels: Vec<Row>,
    /// What went on the board, for people.
    #[serde(skip)]
    saved: Option<String>,
}

/// What was found about a kernel in an element type.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Row {
    /// Its name.
    name: String,
    /// Its set.
    set: &'static str,
    /// The element type.
    dtype: &'static str,
    /// The source file.
    source: String,
    /// The hash of what was compiled, headers included.
    source_hash: String,
    /// Whether nothing is wrong.
    right: bool,
    /// What is wrong.
    findings: Vec<String>,
    /// How many outputs were compared, each in every element.
    comparisons: usize,
    /// Errors of the comparison with the largest.
    #[serde(skip_serializing_if = "Option::is_none")]
    worst: Option<Worst>,
    /// How long it takes, where it was timed.
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<Time>,
    /// Where it stands on the board, where it was saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    board: Option<OnBoard>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct OnBoard {
    /// The number of the run.
    run: i64,
    /// `first` at its place, `again` the source that holds the record, a new `record`, a `tie` with the record, or
    /// `slower`.
    standing: &'static str,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Worst {
    /// At which sizes.
    sizes: String,
    /// The largest error.
    max_absolute: f64,
    /// The largest error relative to the size of what went into the element.
    max_relative: f64,
    /// Half of the elements are this near, in units of the last place.
    ulps_half: u64,
    /// 99.9 % of the elements are this near.
    ulps_most: u64,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Time {
    /// `measured` is a GPU's clock, `host` this CPU's, which says nothing about a GPU.
    origin: &'static str,
    /// At which sizes.
    sizes: String,
    median_ms: f64,
    /// Ends of the interval that holds the true median at 95 %.
    median_low_ms: f64,
    median_high_ms: f64,
    least_ms: f64,
    /// Standard deviation, estimated from the median distance to the median.
    deviation_ms: f64,
    outliers: usize,
    /// `precise`, `samples` or `time`: why there are no more samples.
    stop: &'static str,
    /// What the samples say against themselves.
    remarks: Vec<String>,
    /// Every sample, in order.
    samples_ms: Vec<f64>,
    /// Runs before the first sample.
    warm_up: usize,
    /// Sets of buffers that took turns.
    buffer_sets: usize,
    /// Floating-point operations at these sizes.
    flops: u64,
    /// Bytes that must move at these sizes.
    bytes: u64,
}

impl Report {
    pub(super) fn new(seed: u64, kernels: Vec<Row>, saved: Option<String>) -> Self {
        let right = kernels.iter().filter(|row| row.right).count();
        Self {
            seed,
            right,
            wrong: kernels.len() - right,
            kernels,
            saved,
        }
    }

    pub(super) fn is_right(&self) -> bool {
        self.wrong == 0
    }

    pub(super) fn text(&self, context: &Context) -> String {
        let mut table = Table::new([
            Column::left("kernel"),
            Column::left("type"),
            Column::left("result"),
            Column::right("ulp 50 %"),
            Column::right("99.9 %"),
            Column::right("time (host)"),
            Column::right("±"),
        ])
        .painter(context.painter);
        for row in &self.kernels {
            table.row(row.cells());
        }
        let mut text = table.render(context.width);
        if !text.ends_with('\n') {
            text.push('\n');
        }
        for row in &self.kernels {
            let findings = row.findings.iter().map(|finding| (Role::Bad, finding));
            let remarks = row
                .time
                .iter()
                .flat_map(|time| &time.remarks)
                .map(|remark| (Role::Warn, remark));
            for (role, line) in findings.chain(remarks) {
                let name = context
                    .painter
                    .paint(role, &format!("{} {}", row.name, row.dtype));
                let pieces = wrap(&format!("{name}: {line}"), context.width, 0);
                let _ = writeln!(text, "\n{}", pieces.join("\n      "));
            }
        }
        let _ = write!(
            text,
            "\n{} right, {} wrong; seed {}",
            self.right, self.wrong, self.seed
        );
        if self.kernels.iter().any(|row| row.time.is_some()) {
            text.push_str(
                "\nTimes are this CPU's, at the sizes of --sizes. They say nothing about a GPU.",
            );
        }
        text.push('\n');
        if let Some(saved) = &self.saved {
            text += &wrap(saved, context.width, 0).join("\n      ");
            text.push('\n');
        }
        text
    }
}

impl Row {
    pub(super) fn new(
        kernel: &Kernel,
        source: &Resolved,
        case: &Case,
        verdict: &Verdict,
        time: Option<&Measurement>,
    ) -> Self {
        Self {
            name: kernel.name.clone(),
            set: kernel.set.name(),
            dtype: case.dtype.name(),
            source: source.path.clone(),
            source_hash: source.hash.clone(),
            right: verdict.is_right(),
            findings: verdict.findings.iter().map(Finding::to_string).collect(),
            comparisons: verdict.tried.len(),
            worst: verdict.worst().map(Worst::new),
            time: time.map(|time| Time::new(case, time)),
            board: None,
        }
    }

    /// What the samples say against themselves.
    pub(super) fn remarks(&self) -> Vec<String> {
        let time = self.time.as_ref();
        time.map_or_else(Vec::new, |time| time.remarks.clone())
    }

    /// Where the run stands on the board.
    pub(super) fn set_saved(&mut self, saved: Option<Recorded>) {
        self.board = saved.map(|saved| OnBoard {
            run: saved.run,
            standing: save::word(saved.standing),
        });
    }

    fn cells(&self) -> Vec<Cell> {
        let result = match self.right {
            true => Cell::new("right", Role::Good),
            false => Cell::new("WRONG", Role::Bad),
        };
        let ulps = |f: fn(&Worst) -> u64| match &self.worst {
            Some(worst) if self.right => number::grouped(f(worst)),
            _ => String::new(),
        };
        let time = |f: fn(&Time) -> String| self.time.as_ref().map_or(String::new(), f);
        vec![
            self.name.clone().into(),
            self.dtype.into(),
            result,
            ulps(|worst| worst.ulps_half).into(),
            ulps(|worst| worst.ulps_most).into(),
            time(|time| number::nanoseconds(time.median_ms * 1e6)).into(),
            time(|time| {
                format!(
                    "{:.1} %",
                    (time.median_high_ms - time.median_low_ms) / time.median_ms * 50.0
                )
            })
            .into(),
        ]
    }
}

impl Worst {
    fn new(tried: &Tried) -> Self {
        let comparison = &tried.comparison;
        Self {
            sizes: tried.size_set.clone(),
            max_absolute: comparison.max_absolute,
            max_relative: comparison.max_relative,
            ulps_half: comparison.ulps.covering(0.5),
            ulps_most: comparison.ulps.covering(0.999),
        }
    }
}

impl Time {
    fn new(case: &Case, measured: &Measurement) -> Self {
        let remarks = remarks(measured);
        let summary = measured.summary;
        let ms = |seconds: f64| seconds * 1e3;
        Self {
            origin: measured.origin.name(),
            sizes: case.size_set.clone(),
            median_ms: ms(summary.median.value),
            median_low_ms: ms(summary.median.low),
            median_high_ms: ms(summary.median.high),
            least_ms: ms(summary.min),
            deviation_ms: ms(summary.deviation),
            outliers: summary.outliers,
            stop: match measured.stop {
                Stop::Precise => "precise",
                Stop::Samples => "samples",
                Stop::Time => "time",
            },
            remarks,
            samples_ms: measured
                .samples
                .iter()
                .map(|seconds| ms(*seconds))
                .collect(),
            warm_up: measured.warm_up,
            buffer_sets: measured.sets,
            flops: case.flops,
            bytes: case.bytes,
        }
    }
}

/// What the samples say against themselves.
fn remarks(measured: &Measurement) -> Vec<String> {
    let mut remarks = Vec::new();
    if !measured.steady_results {
        remarks.push(
            "results changed while it was timed: the times are of another computation".to_owned(),
        );
    }
    if let Some(drift) = measured.drift {
        let percent = drift.change.abs() * 100.0;
        if drift.is_slowing() {
            remarks.push(format!("times grew by {percent:.0} % while it was timed"));
        } else if drift.is_warming_up() {
            remarks.push(format!("times shrank by {percent:.0} % while it was timed"));
        }
    }
    if let Some(modes) = measured.modes {
        let (low, high) = (
            number::nanoseconds(modes.low * 1e9),
            number::nanoseconds(modes.high * 1e9),
        );
        let part = modes.part_high * 100.0;
        remarks.push(format!(
            "two kinds of times, {low} and {high} ({part:.0} %): the median says little"
        ));
    }
    remarks
}

pub(super) fn list(kernels: &[&Kernel], context: &Context) -> String {
    let mut table = Table::new([
        Column::left("kernel"),
        Column::left("set"),
        Column::left("types"),
        Column::left("what it computes").shrink(),
    ])
    .painter(context.painter);
    for kernel in kernels {
        let types: Vec<&str> = kernel.dtypes.iter().map(|dtype| dtype.name()).collect();
        table.row([
            kernel.name.clone(),
            kernel.set.name().to_owned(),
            types.join(" "),
            kernel.summary.clone(),
        ]);
    }
    table.render(context.width)
}

/// Arguments, sizes and geometry of kernels.
pub(super) fn describe(kernels: &[&Kernel], registry: &Registry) -> Result<String, Failure> {
    let mut text = String::new();
    for kernel in kernels {
        let source = registry
            .source(kernel, None)
            .map_err(|error| Failure::input(error.to_string()))?;
        let _ = writeln!(
            text,
            "{}: {}\n  source {} ({})",
            kernel.name, kernel.summary, source.path, source.hash
        );
        for dtype in &kernel.dtypes {
            if let Some(tolerance) = kernel.tolerance(*dtype) {
                let (relative, absolute) = (tolerance.relative, tolerance.absolute);
                let _ = writeln!(
                    text,
                    "  {dtype}: within {relative:e} × scale + {absolute:e}: {}",
                    tolerance.reason
                );
            }
        }
        for set in &kernel.sizes {
            let sizes: Vec<String> = set
                .sizes
                .iter()
                .map(|(name, value)| format!("{name} {value}"))
                .collect();
            let _ = writeln!(text, "  sizes {:9} {}", set.name, sizes.join(", "));
        }
        let Some(dtype) = kernel.dtypes.first() else {
            continue;
        };
        let case = Case::new(kernel, "reference", *dtype)
            .map_err(|error| Failure::input(error.to_string()))?;
        describe_case(&case, &mut text);
    }
    Ok(text)
}

/// Arguments and passes at the reference sizes.
fn describe_case(case: &Case, text: &mut String) {
    for argument in &case.arguments {
        let extents = |shape: &[usize]| {
            shape
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(" × ")
        };
        let what = match &argument.role {
            CaseRole::Input { shape, values, .. } => {
                format!("input {} {}, {values:?}", argument.dtype, extents(shape))
            }
            CaseRole::Output { shape } => format!("output {} {}", argument.dtype, extents(shape)),
            CaseRole::Scratch { shape } => format!("scratch {} {}", argument.dtype, extents(shape)),
            CaseRole::Scalar { value } => format!("scalar {} {value}", argument.dtype),
        };
        let _ = writeln!(text, "  {:16} {what}", argument.name);
    }
    for pass in &case.passes {
        let bindings = pass.bindings.iter().map(|binding| match binding {
            assay_bench::registry::CaseBinding::Argument(place) => case
                .arguments
                .get(*place)
                .map_or("?", |argument| argument.name.as_str())
                .to_owned(),
            assay_bench::registry::CaseBinding::Number(value) => value.to_string(),
        });
        let bindings: Vec<String> = bindings.collect();
        let extent = match pass.extent {
            CaseExtent::Threads([x, y, z]) => format!("{x} × {y} × {z} threads"),
            CaseExtent::Groups([x, y, z]) => format!("{x} × {y} × {z} groups"),
        };
        let [x, y, z] = pass.threadgroup;
        let _ = writeln!(
            text,
            "  {}({})\n    {extent} of {x} × {y} × {z}",
            pass.function,
            bindings.join(", ")
        );
    }
    let _ = writeln!(
        text,
        "  {} operations, {} bytes",
        number::grouped(case.flops),
        number::grouped(case.bytes)
    );
}
