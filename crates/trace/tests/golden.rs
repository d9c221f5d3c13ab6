//! Figures of real recordings, computed independently, to every printed digit.

#[allow(missing_docs)]
mod support;

use assay_trace::{Analysis, Options, VerdictKind, analyze};
use support::{fixture, load_folder};

/// One row of the table of golden numbers.
struct Golden {
    name: &'static str,
    pid: u32,
    rows: (u64, u64),
    span_ms: &'static str,
    busy_ms: &'static str,
    utilization_percent: &'static str,
    interval_us: [&'static str; 3],
    gap_us: [&'static str; 3],
    latency_us: [&'static str; 2],
    gaps: u64,
    host_wait_ms: &'static str,
    launch_ms: &'static str,
    joined: u64,
    completed_us: &'static str,
    encoders: u64,
}

const GOLDEN: [Golden; 3] = [
    Golden {
        name: "baseline",
        pid: 42209,
        rows: (2819, 1000),
        span_ms: "250.249292",
        busy_ms: "7.208290",
        utilization_percent: "2.880",
        interval_us: ["7.20829", "6.291", "316.625"],
        gap_us: ["243.284", "199.25", "4037.625"],
        latency_us: ["107.652", "91.3955"],
        gaps: 999,
        host_wait_ms: "135.805",
        launch_ms: "107.236",
        joined: 1000,
        completed_us: "97.771",
        encoders: 1000,
    },
    Golden {
        name: "register_pressure",
        pid: 42711,
        rows: (2349, 800),
        span_ms: "193.527459",
        busy_ms: "7.528094",
        utilization_percent: "3.890",
        interval_us: ["9.41012", "8.791", "154.666"],
        gap_us: ["232.790", "200.125", "3273.25"],
        latency_us: ["103.664", "89.958"],
        gaps: 799,
        host_wait_ms: "103.478",
        launch_ms: "82.521",
        joined: 800,
        completed_us: "97.213",
        encoders: 800,
    },
    Golden {
        name: "threadgroup_heavy",
        pid: 42411,
        rows: (2776, 800),
        span_ms: "224.673750",
        busy_ms: "10.030989",
        utilization_percent: "4.465",
        interval_us: ["12.53874", "11.083", "568.917"],
        gap_us: ["268.639", "240.667", "1612.833"],
        latency_us: ["117.098", "103.3125"],
        gaps: 799,
        host_wait_ms: "121.520",
        launch_ms: "93.123",
        joined: 800,
        completed_us: "103.871",
        encoders: 799,
    },
];

/// Compares to as many digits as `expected` shows.
fn assert_digits(what: &str, value: f64, expected: &str) {
    let digits = expected
        .split_once('.')
        .map_or(0, |(_, digits)| digits.len());
    assert_eq!(format!("{value:.digits$}"), expected, "{what}");
}

fn analyzed(name: &str) -> Analysis {
    let recording = load_folder(&fixture(name));
    assert!(recording.warnings.is_empty(), "{:?}", recording.warnings);
    analyze(&recording, &Options::default()).expect("an analysis")
}

#[test]
fn real_recordings_give_the_golden_numbers() {
    for golden in &GOLDEN {
        let a = analyzed(golden.name);
        let check = |what: &str, value: f64, expected: &str| {
            assert_digits(&format!("{} {what}", golden.name), value, expected);
        };
        assert_eq!(a.recording.target.pid, Some(golden.pid));
        assert_eq!(a.recording.target.exit_status, Some(0));
        assert_eq!(
            a.recording.target.name.as_deref(),
            Some("sm_apple_metal_probe_host")
        );
        assert_eq!(
            (a.intervals.rows_total, a.intervals.rows_target),
            golden.rows
        );
        check("span", a.window.span_ms, golden.span_ms);
        check("busy", a.gpu.busy_ms, golden.busy_ms);
        check(
            "utilisation",
            a.gpu.utilization * 100.0,
            golden.utilization_percent,
        );
        let i = &a.intervals;
        for (what, value, expected) in [
            ("mean", i.mean_us, golden.interval_us[0]),
            ("median", i.median_us, golden.interval_us[1]),
            ("max", i.max_us, golden.interval_us[2]),
            ("gap mean", a.gaps.mean_us, golden.gap_us[0]),
            ("gap median", a.gaps.median_us, golden.gap_us[1]),
            ("gap max", a.gaps.max_us, golden.gap_us[2]),
            ("latency mean", a.latency.mean_us, golden.latency_us[0]),
            ("latency median", a.latency.median_us, golden.latency_us[1]),
            (
                "completed",
                a.completion.gpu_end_to_completed_mean_us,
                golden.completed_us,
            ),
        ] {
            check(what, value.expect(what), expected);
        }
        assert_eq!((a.gaps.host_late, a.gaps.count), (golden.gaps, golden.gaps));
        check("host wait", a.gaps.host_wait_ms, golden.host_wait_ms);
        check("launch", a.gaps.launch_ms, golden.launch_ms);
        assert_eq!(a.completion.joined, golden.joined);
        assert_eq!(a.cpu.encoders, Some(golden.encoders));
        assert_eq!(a.verdict.kind, VerdictKind::LaunchBound);
        assert!(a.verdict.also.contains(&VerdictKind::SynchronisationBound));
        assert_eq!(a.synchronisation.strong, golden.gaps);
    }
}

#[test]
fn machine_wide_busy_time_comes_from_gpu_states_and_agrees_with_the_rows() {
    let folder = fixture("baseline");
    let mut recording = load_folder(&folder);
    let from_states = analyze(&recording, &Options::default()).expect("an analysis");
    assert_digits("states", from_states.gpu.machine_busy_ms, "56.190553");
    recording.events.gpu_states.clear();
    let from_rows = analyze(&recording, &Options::default()).expect("an analysis");
    assert_digits("rows", from_rows.gpu.machine_busy_ms, "56.231136");
}

#[test]
fn a_target_that_failed_before_using_the_gpu_is_said_to_have_done_nothing() {
    let a = analyzed("no-gpu-work");
    assert_eq!(a.verdict.kind, VerdictKind::NoGpuWork);
    assert_eq!(a.intervals.rows_total, 60);
    assert_eq!(a.intervals.rows_target, 0);
    assert_eq!(a.recording.target.exit_status, Some(4));
    assert!(
        a.verdict
            .evidence
            .iter()
            .any(|line| line.contains("status 4"))
    );
    assert_eq!(a.gpu.utilization, 0.0);
    assert_eq!(a.intervals.mean_us, None);
}
