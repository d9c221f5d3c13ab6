//! The simulated core as Chrome trace JSON, which Perfetto opens.
//!
//! A dispatch is a process, a simdgroup a thread; what it does are complete events that never
//! overlap. Times are microseconds of the simulated core, from the start of the dispatch.

use crate::document::Predicted;
use crate::picture::{Activity, Picture};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The trace.
pub fn timeline(predicted: &Predicted, pictures: &[Picture]) -> String {
    let about = json!({
        "producer": "assay",
        "basis": "modelled",
        "kernel": predicted.kernel,
        "chip": predicted.chip,
        "model": predicted.model,
        "time": "microseconds of one simulated core since the start of the dispatch",
    });
    let mut out = format!("{{\"displayTimeUnit\":\"ns\",\"otherData\":{about},\"traceEvents\":[");
    let mut first = true;
    let mut event = |event: Value| {
        let _ = write!(out, "{}{event}", if first { "\n" } else { ",\n" });
        first = false;
    };
    for (pid, picture) in (1..).zip(pictures) {
        let name = format!(
            "core of {} · {} · {} of {} threadgroups (modelled)",
            predicted.chip, picture.kernel, picture.simulated, picture.per_core
        );
        event(named("process_name", pid, 0, &name));
        for (tid, row) in (1..).zip(&picture.rows) {
            let name = format!(
                "threadgroup {} · simdgroup {tid} · scheduler {}",
                row.threadgroup, row.scheduler
            );
            event(named("thread_name", pid, tid, &name));
            event(json!({
                "ph": "M", "name": "thread_sort_index", "pid": pid, "tid": tid,
                "ts": 0.0, "args": { "sort_index": tid },
            }));
            for stretch in &row.stretches {
                let micros = |cycles: f64| cycles / picture.cycles_per_us.max(f64::MIN_POSITIVE);
                event(json!({
                    "ph": "X", "name": stretch.activity.name(), "cat": category(stretch.activity),
                    "pid": pid, "tid": tid, "ts": micros(stretch.from),
                    "dur": micros(stretch.to - stretch.from), "cname": colour(stretch.activity),
                    "args": { "cycles": (stretch.to - stretch.from).round() },
                }));
            }
        }
    }
    out.push_str("\n]}\n");
    out
}

fn named(what: &str, pid: u32, tid: u32, name: &str) -> Value {
    json!({ "ph": "M", "name": what, "pid": pid, "tid": tid, "ts": 0.0, "args": { "name": name } })
}

fn category(activity: Activity) -> &'static str {
    match activity {
        Activity::Issue => "issue",
        Activity::Launch | Activity::NoSlot => "launch",
        _ => "stall",
    }
}

/// Names of the trace viewer's own colours.
fn colour(activity: Activity) -> &'static str {
    match activity {
        Activity::Issue => "good",
        Activity::UnitBusy => "generic_work",
        Activity::Dependence => "vsync_highlight_color",
        Activity::Memory => "terrible",
        Activity::ThreadgroupMemory => "bad",
        Activity::Barrier => "yellow",
        Activity::Launch => "grey",
        Activity::NoSlot => "white",
    }
}
