//! Two runs side by side: before and after, eager and compiled, ours and theirs.

pub mod document;
mod fusion;
mod gate;
mod noise;
mod steps;

pub use gate::Gate;

use crate::analysis::document::{Analysis, Label};
use crate::analysis::stats::rounded;
use crate::analysis::view::View;
use crate::analysis::{Options, analyze_view};
use crate::error::Error;
use crate::recording::Recording;
use document::{Comparison, LabelChange, Metric, Side};
use noise::Noise;
use std::collections::BTreeMap;
use steps::{Match, Steps};

/// How to compare.
#[derive(Clone, Debug, Default)]
pub struct CompareOptions {
    /// What to examine of both runs.
    pub examine: Options,
    /// Steps in the first run.
    pub steps_before: Option<u64>,
    /// Steps in the second run.
    pub steps_after: Option<u64>,
    /// Limits.
    pub gates: Vec<Gate>,
    /// Limits count for changes within the noise, too.
    pub strict: bool,
}

struct Run {
    analysis: Analysis,
    noise: Noise,
    steps: Option<Steps>,
}

impl Run {
    fn new(recording: &Recording, options: &Options, given: Option<u64>) -> Result<Self, Error> {
        let view = View::new(recording, options)?;
        let steps = match given {
            Some(count) => Some(Steps {
                count: count.max(1) as f64,
                period: None,
                pattern: Vec::new(),
            }),
            None => steps::find(&view),
        };
        Ok(Run {
            noise: noise::estimate(&view),
            steps,
            analysis: analyze_view(&view, options),
        })
    }
}

/// Compares two recordings.
pub fn compare(
    before: &Recording,
    after: &Recording,
    options: &CompareOptions,
) -> Result<Comparison, Error> {
    let a = Run::new(before, &options.examine, options.steps_before)?;
    let b = Run::new(after, &options.examine, options.steps_after)?;
    for (which, run) in [("first", &a), ("second", &b)] {
        if run.analysis.intervals.rows_target == 0 {
            return Err(Error::Inconsistent(format!(
                "the {which} recording has no GPU work of its target to compare"
            )));
        }
    }
    let given = options.steps_before.is_some() && options.steps_after.is_some();
    let (divisors, reason) = divisors(&a, &b, given);
    let scale = divisors.unwrap_or((1.0, 1.0));
    let metrics = metrics(&a, &b, scale, divisors.is_some());
    let fusion = fusion::judge(
        &metrics,
        &a.analysis,
        &b.analysis,
        scale,
        divisors.is_some(),
    );
    let gates = options
        .gates
        .iter()
        .map(|gate| gate::check(gate, &metrics, options.strict))
        .collect();
    let mut warnings = warnings(&a.analysis, &b.analysis);
    if divisors.is_none() {
        warnings.insert(
            0,
            format!("totals are compared as if both runs did the same work: {reason}"),
        );
    }
    let side = |run: &Run, count: f64| side(&run.analysis, divisors.is_some().then_some(count));
    Ok(Comparison {
        before: side(&a, scale.0),
        after: side(&b, scale.1),
        normalised: if divisors.is_some() {
            "per step"
        } else {
            "per run"
        }
        .to_owned(),
        normalised_by: reason,
        labels: labels(&a.analysis.families, &b.analysis.families, scale),
        metrics,
        fusion,
        warnings,
        gates,
    })
}

/// What to divide each run by, and why.
fn divisors(a: &Run, b: &Run, given: bool) -> (Option<(f64, f64)>, String) {
    let (Some(x), Some(y)) = (&a.steps, &b.steps) else {
        return (
            None,
            "no repeating pattern of labels was found; --steps says how many steps each run has"
                .to_owned(),
        );
    };
    let counts = Some((x.count, y.count));
    if given {
        return (counts, "steps given".to_owned());
    }
    match steps::compare(x, y) {
        Match::Same => (
            counts,
            format!(
                "both runs repeat the same pattern of {} executions",
                x.period.unwrap_or(1)
            ),
        ),
        Match::Assumed => (
            counts,
            format!(
                "one repetition ({} executions before, {} after) is taken as one step; --steps says otherwise",
                x.period.unwrap_or(1),
                y.period.unwrap_or(1)
            ),
        ),
        Match::None => (
            None,
            "labels do not show what one step is; --steps says how many steps each run has"
                .to_owned(),
        ),
    }
}

fn side(analysis: &Analysis, steps: Option<f64>) -> Side {
    let recording = &analysis.recording;
    Side {
        target: recording.target.name.clone(),
        model: recording.model.clone(),
        gpu: recording.gpu.clone(),
        os_version: recording.os_version.clone(),
        window_ms: analysis.window.span_ms,
        busy_ms: analysis.gpu.busy_ms,
        utilization: analysis.gpu.utilization,
        executions: analysis.intervals.rows_target,
        command_buffers: analysis.intervals.command_buffers,
        steps: steps.map(rounded),
        verdict: analysis.verdict.kind,
    }
}

/// One figure: its name, description and unit, what is better, whether it is a
/// total to divide by steps, and where it comes from.
struct Figure {
    name: &'static str,
    description: &'static str,
    unit: &'static str,
    lower_is_better: Option<bool>,
    total: bool,
    value: fn(&Analysis) -> Option<f64>,
    noise: fn(&Noise) -> Option<f64>,
}

const FIGURES: [Figure; 15] = [
    figure(
        "time",
        "run time",
        "µs",
        true,
        |a| Some(a.window.span_ms * 1e3),
        |n| n.time,
    ),
    figure(
        "busy",
        "GPU busy time",
        "µs",
        true,
        |a| Some(a.gpu.busy_ms * 1e3),
        |n| n.busy,
    ),
    figure(
        "idle",
        "idle time in gaps",
        "µs",
        true,
        |a| Some(a.gaps.total_ms * 1e3),
        |n| n.idle,
    ),
    figure(
        "host-wait",
        "idle time waiting for the host",
        "µs",
        true,
        |a| Some(a.gaps.host_wait_ms * 1e3),
        |n| n.idle,
    ),
    figure(
        "launch",
        "idle time from commit to start",
        "µs",
        true,
        |a| Some(a.gaps.launch_ms * 1e3),
        |n| n.idle,
    ),
    figure(
        "copies",
        "time in blits",
        "µs",
        true,
        |a| Some(a.transfers.blit_ms * 1e3),
        |n| n.busy,
    ),
    figure(
        "executions",
        "encoder executions",
        "",
        true,
        |a| Some(a.intervals.rows_target as f64),
        |_| Some(0.0),
    ),
    figure(
        "command-buffers",
        "command buffers",
        "",
        true,
        |a| Some(a.intervals.command_buffers as f64),
        |_| Some(0.0),
    ),
    figure(
        "dispatches",
        "dispatches",
        "",
        true,
        |a| Some(a.program.as_ref()?.dispatches as f64),
        |_| Some(0.0),
    ),
    figure(
        "bytes",
        "bytes read and written",
        "MB",
        true,
        |a| {
            let program = a.program.as_ref()?;
            Some((program.read_bytes + program.written_bytes) as f64 / 1e6)
        },
        |_| Some(0.0),
    ),
    Figure {
        lower_is_better: None,
        total: false,
        ..figure(
            "mean",
            "mean execution",
            "µs",
            true,
            |a| a.intervals.mean_us,
            |n| n.busy,
        )
    },
    Figure {
        lower_is_better: None,
        total: false,
        ..figure(
            "median",
            "median execution",
            "µs",
            true,
            |a| a.intervals.median_us,
            |n| n.busy,
        )
    },
    Figure {
        total: false,
        ..figure(
            "gap",
            "mean gap",
            "µs",
            true,
            |a| a.gaps.mean_us,
            |n| n.idle,
        )
    },
    Figure {
        total: false,
        ..figure(
            "latency",
            "median commit to start",
            "µs",
            true,
            |a| a.latency.median_us,
            |n| n.idle,
        )
    },
    Figure {
        lower_is_better: Some(false),
        total: false,
        ..figure(
            "utilisation",
            "busy fraction of the run",
            "",
            true,
            |a| Some(a.gpu.utilization),
            |n| n.time,
        )
    },
];

const fn figure(
    name: &'static str,
    description: &'static str,
    unit: &'static str,
    lower: bool,
    value: fn(&Analysis) -> Option<f64>,
    noise: fn(&Noise) -> Option<f64>,
) -> Figure {
    Figure {
        name,
        description,
        unit,
        lower_is_better: Some(lower),
        total: true,
        value,
        noise,
    }
}

fn metrics(a: &Run, b: &Run, scale: (f64, f64), per_step: bool) -> Vec<Metric> {
    let metric = |figure: &Figure| {
        let divide = |value: Option<f64>, by: f64| {
            value.map(|value| rounded(if figure.total { value / by } else { value }))
        };
        let before = divide((figure.value)(&a.analysis), scale.0);
        let after = divide((figure.value)(&b.analysis), scale.1);
        let change = change(before, after);
        let noise = (figure.noise)(&a.noise)
            .zip((figure.noise)(&b.noise))
            .map(|(x, y)| rounded(2.0 * (x * x + y * y).sqrt()));
        Metric {
            metric: figure.name.to_owned(),
            description: if per_step && figure.total {
                format!("{} per step", figure.description)
            } else {
                figure.description.to_owned()
            },
            unit: figure.unit.to_owned(),
            before,
            after,
            change,
            noise,
            significant: change
                .zip(noise)
                .map(|(change, noise)| change.abs() > noise),
            lower_is_better: figure.lower_is_better,
        }
    };
    // Only recordings of programs say what single dispatches are, and they say nothing of the host.
    let modelled = a.analysis.program.is_some() && b.analysis.program.is_some();
    let is_known = |metric: &Metric| {
        let of_programs = ["dispatches", "bytes"].contains(&metric.metric.as_str());
        let of_hosts = metric.metric == "latency";
        match of_programs {
            true => metric.before.is_some() || metric.after.is_some(),
            false => !(of_hosts && modelled),
        }
    };
    FIGURES.iter().map(metric).filter(is_known).collect()
}

/// `after` against `before`, as a fraction of `before`.
fn change(before: Option<f64>, after: Option<f64>) -> Option<f64> {
    let (before, after) = before.zip(after)?;
    if before == after {
        return Some(0.0);
    }
    (before != 0.0).then(|| rounded((after - before) / before))
}

fn labels(a: &[Label], b: &[Label], scale: (f64, f64)) -> Vec<LabelChange> {
    let mut rows: BTreeMap<&str, (Option<&Label>, Option<&Label>)> = BTreeMap::new();
    for label in a {
        rows.entry(&label.label).or_default().0 = Some(label);
    }
    for label in b {
        rows.entry(&label.label).or_default().1 = Some(label);
    }
    let mut changes: Vec<LabelChange> = rows
        .into_iter()
        .map(|(label, (x, y))| {
            let count = |l: Option<&Label>, by: f64| l.map(|l| rounded(l.count as f64 / by));
            let time = |l: Option<&Label>, by: f64| l.map(|l| rounded(l.total_ms * 1e3 / by));
            let (before_us, after_us) = (time(x, scale.0), time(y, scale.1));
            LabelChange {
                label: label.to_owned(),
                before_count: count(x, scale.0),
                after_count: count(y, scale.1),
                before_us,
                after_us,
                change: change(before_us, after_us),
            }
        })
        .collect();
    let weight = |c: &LabelChange| (c.after_us.unwrap_or(0.0) - c.before_us.unwrap_or(0.0)).abs();
    changes.sort_by(|x, y| weight(y).total_cmp(&weight(x)).then(x.label.cmp(&y.label)));
    changes
}

fn warnings(a: &Analysis, b: &Analysis) -> Vec<String> {
    let mut out = Vec::new();
    let mut differ = |what: &str, x: &Option<String>, y: &Option<String>| {
        if x != y {
            let text =
                |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
            out.push(format!(
                "{what} differs: {} before, {} after",
                text(x),
                text(y)
            ));
        }
    };
    let (x, y) = (&a.recording, &b.recording);
    differ("the GPU", &x.gpu, &y.gpu);
    differ("the machine", &x.model, &y.model);
    differ("the system", &x.os_version, &y.os_version);
    differ(
        "the version of Instruments",
        &x.instruments_version,
        &y.instruments_version,
    );
    differ("the template", &x.template, &y.template);
    let share = |analysis: &Analysis| {
        let states = &analysis.clock_states;
        let highest = states.iter().find(|state| state.state == "Maximum");
        (!states.is_empty()).then(|| highest.map_or(0.0, |state| state.share))
    };
    match (share(a), share(b)) {
        (Some(x), Some(y)) if (x - y).abs() > 0.1 => out.push(format!(
            "the clock state differs: at its highest for {:.0} % of the first run and {:.0} % of the second",
            x * 100.0,
            y * 100.0
        )),
        // A model has one clock.
        (None, None) if a.program.is_some() && b.program.is_some() => {}
        (None, None) => out.push(
            "the clock state is not known of either run (gpu-performance-state-intervals)".to_owned(),
        ),
        (None, _) | (_, None) => out.push("the clock state is known of only one run".to_owned()),
        _ => {}
    }
    if a.window.chosen_by != b.window.chosen_by {
        out.push(format!(
            "the windows were chosen differently: {} and {}",
            a.window.chosen_by, b.window.chosen_by
        ));
    }
    let ratio = a.window.span_ms / b.window.span_ms.max(f64::MIN_POSITIVE);
    if !(1.0 / 3.0..=3.0).contains(&ratio) {
        out.push(format!(
            "the windows differ in length: {:.3} ms and {:.3} ms",
            a.window.span_ms, b.window.span_ms
        ));
    }
    for (which, analysis) in [("first", a), ("second", b)] {
        let contended = analysis.gaps.contended_ms / analysis.window.span_ms.max(f64::MIN_POSITIVE);
        if contended > 0.05 {
            out.push(format!(
                "other processes held the GPU for {:.0} % of the {which} run while its work waited",
                contended * 100.0
            ));
        }
        for hot in analysis
            .thermal_states
            .iter()
            .filter(|s| s.state != "Nominal" && s.share > 0.05)
        {
            out.push(format!(
                "the {which} run was in thermal state {} for {:.0} %",
                hot.state,
                hot.share * 100.0
            ));
        }
    }
    out
}
