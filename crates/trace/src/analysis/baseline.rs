//! This run beside another engine's.

use super::document::{Analysis, Baseline, BaselineRow};
use super::stats::rounded;

type Figure = (&'static str, &'static str, fn(&Analysis) -> Option<f64>);

/// The figures compared: name, unit, value.
const FIGURES: [Figure; 14] = [
    ("Run time", "ms", |a| Some(a.window.span_ms)),
    ("GPU busy time", "ms", |a| Some(a.gpu.busy_ms)),
    ("GPU utilisation", "%", |a| Some(a.gpu.utilization * 100.0)),
    ("Idle time in gaps", "ms", |a| Some(a.gaps.total_ms)),
    ("Waiting for the host", "ms", |a| Some(a.gaps.host_wait_ms)),
    ("Encoder executions", "", |a| {
        Some(a.intervals.rows_target as f64)
    }),
    ("Command buffers", "", |a| {
        Some(a.intervals.command_buffers as f64)
    }),
    ("Mean execution", "µs", |a| a.intervals.mean_us),
    ("Median execution", "µs", |a| a.intervals.median_us),
    ("Mean gap", "µs", |a| a.gaps.mean_us),
    ("Commit to start, median", "µs", |a| a.latency.median_us),
    ("Strong synchronisation points", "", |a| {
        Some(a.synchronisation.strong as f64)
    }),
    ("Copies' share of GPU time", "%", |a| {
        Some(a.transfers.blit_share * 100.0)
    }),
    ("Peak allocated", "MiB", |a| {
        a.memory
            .peak_bytes
            .map(|bytes| bytes as f64 / f64::from(1 << 20))
    }),
];

pub(crate) fn beside(analysis: &Analysis, name: &str, other: &Analysis) -> Baseline {
    let row = |&(metric, unit, value): &Figure| {
        let (measured, baseline) = (value(analysis), value(other));
        let ratio = measured.zip(baseline).filter(|&(_, other)| other > 0.0);
        BaselineRow {
            metric: metric.to_owned(),
            unit: unit.to_owned(),
            measured: measured.map(rounded),
            baseline: baseline.map(rounded),
            ratio: ratio.map(|(own, other)| rounded(own / other)),
        }
    };
    Baseline {
        name: name.to_owned(),
        gpu: other.recording.gpu.clone(),
        rows: FIGURES.iter().map(row).collect(),
    }
}
