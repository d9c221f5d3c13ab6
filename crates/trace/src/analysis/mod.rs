//! From a recording to figures, a verdict and findings.

mod baseline;
mod chip;
pub mod document;
mod flow;
pub(crate) mod gaps;
mod host;
pub(crate) mod labels;
mod libraries;
mod memory;
mod missing;
mod regularity;
pub(crate) mod stats;
mod surroundings;
mod throughput;
mod transfers;
pub(crate) mod verdict;
pub(crate) mod view;

use crate::error::Error;
use crate::events::Pid;
use crate::findings;
use crate::libraries::GivenLibrary;
use crate::recording::{Origin, Recording};
use crate::work::Work;
use assay_chip::Chip;
use document::*;
use stats::{RunningUnion, fraction, ms};
use view::{ChosenBy, View};

/// What to examine.
#[derive(Clone, Debug)]
pub struct Options {
    /// This process, instead of the recording's target.
    pub pid: Option<Pid>,
    /// The process or processes of this name.
    pub process: Option<String>,
    /// Start of the window, in nanoseconds from the recording's start.
    pub from: Option<u64>,
    /// End of the window.
    pub to: Option<u64>,
    /// Only this phase, counted from 1.
    pub phase: Option<u32>,
    /// A gap of at least this many nanoseconds separates two phases.
    pub phase_gap: u64,
    /// Operations whose FLOPs and bytes are known.
    pub work: Vec<Work>,
    /// Libraries whose version is known.
    pub libraries: Vec<GivenLibrary>,
    /// The chip, when the recording's name of the GPU does not tell.
    pub chip: Option<Chip>,
    /// The run of another engine: its name, and what was found in it.
    pub baseline: Option<(String, Box<Analysis>)>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            pid: None,
            process: None,
            from: None,
            to: None,
            phase: None,
            phase_gap: 50_000_000,
            work: Vec::new(),
            libraries: Vec::new(),
            chip: None,
            baseline: None,
        }
    }
}

/// Examines a recording.
pub fn analyze(recording: &Recording, options: &Options) -> Result<Analysis, Error> {
    let view = View::new(recording, options)?;
    Ok(analyze_view(&view, options))
}

pub(crate) fn analyze_view(view: &View<'_>, options: &Options) -> Analysis {
    let gaps = gaps::find(view);
    let labels = labels::of(view);
    let events = &view.recording.events;
    let recording = recording_info(view, options);
    let label_table = labels::table(view, &labels, str::to_owned);
    let kernels = labels::kernels(view);
    let mut analysis = Analysis {
        throughput: throughput::table(
            &options.work,
            &label_table,
            &kernels,
            recording.chip.as_ref(),
        ),
        transfers: transfers::report(view, &labels, &options.work, recording.chip.as_ref()),
        memory: memory::report(view),
        recording,
        window: Window {
            start_ms: ms(view.window.start),
            end_ms: ms(view.window.end),
            span_ms: ms(view.window.duration()),
            chosen_by: view.window_chosen_by.clone(),
            phase_gap_ms: ms(options.phase_gap),
            phases: view.phases.clone(),
        },
        gpu: gpu(view),
        intervals: labels::intervals(view),
        gaps: gaps::report(view, &gaps),
        latency: flow::latency(view),
        completion: flow::completion(view),
        synchronisation: flow::synchronisation(view, &gaps),
        queue: flow::queue(view),
        cpu: host::report(view, &gaps),
        labels: label_table,
        families: labels::table(view, &labels, labels::label_family),
        kernels,
        other_processes: surroundings::other_processes(view),
        counters: surroundings::counters(view),
        shaders: surroundings::shaders(view),
        clock_states: surroundings::states(view, &events.clock_states),
        thermal_states: surroundings::states(view, &events.thermal_states),
        program: view.recording.program.as_deref().cloned(),
        verdict: Verdict {
            kind: VerdictKind::Mixed,
            confidence: Confidence::Low,
            summary: String::new(),
            evidence: Vec::new(),
            also: Vec::new(),
        },
        findings: Vec::new(),
        baseline: None,
    };
    let has_intervals = view.recording.origin != Origin::Instruments
        || view.recording.has_table("metal-gpu-intervals");
    analysis.verdict = verdict::judge(&analysis, has_intervals);
    analysis.findings = findings::check(&findings::Facts {
        analysis: &analysis,
        view,
        gaps: &gaps,
    });
    if let Some((name, other)) = &options.baseline {
        analysis.baseline = Some(baseline::beside(&analysis, name, other));
    }
    analysis
}

fn gpu(view: &View<'_>) -> Gpu {
    let busy = RunningUnion::of(view.target.iter().filter_map(|i| i.span.clip(view.window)));
    let summed: u64 = view.target.iter().map(|i| i.span.duration()).sum();
    let (machine, from) = surroundings::machine_busy(view);
    let utilization = fraction(busy as f64, view.window.duration() as f64);
    Gpu {
        busy_ms: ms(busy),
        utilization,
        summed_ms: ms(summed),
        machine_busy_ms: ms(machine),
        machine_busy_from: from.to_owned(),
        others_busy_ms: ms(stats::covered(&view.others, view.window)),
        launch_efficiency: utilization,
    }
}

fn recording_info(view: &View<'_>, options: &Options) -> RecordingInfo {
    let recording = view.recording;
    let toc = recording.toc.as_ref();
    let toc_target = toc.and_then(|toc| toc.target.as_ref());
    let pid = view.pids.first().copied();
    // The table of contents describes its own target, not one chosen by the user.
    let same = toc_target.filter(|target| target.pid == pid);
    let name = pid
        .and_then(|pid| recording.process_name(pid))
        .map(str::to_owned)
        .or_else(|| same.map(|target| target.name.clone()));
    let gpus: Vec<&str> = recording
        .events
        .gpus
        .iter()
        .map(|&gpu| view.text(gpu))
        .collect();
    RecordingInfo {
        origin: match recording.origin {
            Origin::Instruments => "instruments",
            Origin::Capture => "capture",
            Origin::Timing => "timing",
            Origin::Program => "program",
        }
        .to_owned(),
        time_source: recording.time_source.clone(),
        target: Target {
            name,
            pid,
            pids: view.pids.clone(),
            exit_status: same.and_then(|target| target.exit_status),
            termination: same.and_then(|target| target.termination.clone()),
            arguments: same.and_then(|target| target.arguments.clone()),
            chosen_by: match view.chosen_by {
                ChosenBy::Toc => "table of contents",
                ChosenBy::User => "given",
                ChosenBy::MostGpuTime => "most GPU time",
                ChosenBy::Nothing => "nothing to choose from",
            }
            .to_owned(),
        },
        model: toc.and_then(|toc| toc.model.clone()),
        gpu: (!gpus.is_empty()).then(|| gpus.join(", ")),
        os_version: toc.and_then(|toc| toc.os_version.clone()),
        instruments_version: toc.and_then(|toc| toc.instruments_version.clone()),
        template: toc.and_then(|toc| toc.template.clone()),
        start_date: toc.and_then(|toc| toc.start_date.clone()),
        duration_s: toc.and_then(|toc| toc.duration_s),
        end_reason: toc.and_then(|toc| toc.end_reason.clone()),
        run: recording.run,
        runs: recording.runs.clone(),
        chip: options
            .chip
            .clone()
            .or_else(|| gpus.first().and_then(|gpu| chip::of(gpu)))
            .map(|chip| chip::describe(&chip)),
        libraries: libraries::list(view, &options.libraries),
        tables: tables(recording),
        missing: missing::list(recording),
        warnings: warnings(view),
    }
}

fn tables(recording: &Recording) -> Vec<TableInfo> {
    let table = |table: &crate::recording::TableRead| TableInfo {
        schema: table.schema.clone(),
        input: table.input.clone(),
        rows: table.rows,
        unusable: table.unusable,
        used: table.understood,
    };
    let mut tables: Vec<TableInfo> = recording.tables.iter().map(table).collect();
    tables.sort_by(|a, b| (&a.schema, &a.input).cmp(&(&b.schema, &b.input)));
    tables
}

fn warnings(view: &View<'_>) -> Vec<String> {
    let recording = view.recording;
    let mut out: Vec<String> = Vec::new();
    for warning in &recording.warnings {
        let at = match warning.problem.offset {
            Some(offset) => format!(" at byte {offset}"),
            None => String::new(),
        };
        out.push(format!(
            "{}{at}: {}",
            warning.input, warning.problem.message
        ));
    }
    if recording.runs.len() > 1 {
        out.push(format!(
            "the recording has runs {:?}; this is run {} (--run shows another)",
            recording.runs, recording.run
        ));
    }
    if view.chosen_by == ChosenBy::MostGpuTime {
        out.push(
            "no target is named in the inputs: the process with the most GPU time was taken (--pid or --process name another)"
                .to_owned(),
        );
    }
    out
}
