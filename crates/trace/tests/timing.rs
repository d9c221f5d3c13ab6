//! Recordings of the timing library are read, and say the same as the library itself.

#[allow(missing_docs)]
mod support;

use assay_timing::{CommandBufferSample, DispatchSample, Recorder};
use assay_trace::{LoadOptions, Loader, Options, VerdictKind, analyze};

fn recorded() -> Recorder {
    let recorder = Recorder::new();
    let label = recorder.label("decode:layer");
    let kernel = recorder.label("matmul");
    for step in 0..200u64 {
        let committed = 5_000_000_000 + step * 300_000;
        let (start, end) = (committed + 100_000, committed + 130_000);
        let id = recorder.begin_command_buffer();
        recorder.record_command_buffer(&CommandBufferSample {
            committed_ns: Some(committed),
            completed_ns: Some(end + 90_000),
            ..CommandBufferSample::new(id, label, start, end)
        });
        recorder.record_dispatch(&DispatchSample {
            command_buffer: id,
            label,
            kernel,
            index: 0,
            start_ns: start + 1_000,
            end_ns: end - 1_000,
        });
    }
    recorder
}

#[test]
fn a_recording_is_read_and_agrees_with_its_own_timeline() {
    let snapshot = recorded().snapshot();
    let timeline = snapshot.timeline();
    let recording = support::load_texts(&[&snapshot.to_recording()]);
    let a = analyze(&recording, &Options::default()).expect("an analysis");
    assert_eq!(a.recording.origin, "timing");
    assert_eq!(a.recording.time_source, snapshot.time_source.name());
    assert_eq!(a.intervals.rows_target, 200);
    assert_eq!((a.gpu.busy_ms * 1e6).round() as u64, timeline.busy_ns);
    assert_eq!((a.window.span_ms * 1e6).round() as u64, timeline.span_ns);
    assert_eq!(
        (a.gaps.host_wait_ms * 1e6).round() as u64,
        timeline.host_wait_ns
    );
    assert_eq!((a.gaps.launch_ms * 1e6).round() as u64, timeline.launch_ns);
    assert_eq!(a.completion.joined, 200);
    assert_eq!(a.latency.median_us, Some(100.0));
    assert_eq!(a.verdict.kind, VerdictKind::LaunchBound);
    assert_eq!(a.kernels[0].label, "matmul");
    assert_eq!((a.kernels[0].count, a.kernels[0].mean_us), (200, 28.0));
}

#[test]
fn json_of_another_schema_is_refused_by_name() {
    let load = |text: &str| {
        let mut loader = Loader::new(LoadOptions::default());
        loader
            .add("input", &text.as_bytes(), &mut |_| {})
            .expect_err("not a recording")
            .to_string()
    };
    let other = load(r#"{"schema":{"name":"assay.profile","version":1}}"#);
    assert!(other.contains("assay.profile"), "{other}");
    let newer = load(r#"{"schema":{"name":"assay.timing.recording","version":9}}"#);
    assert!(newer.contains("version 9"), "{newer}");
    let cut =
        load(r#"{"schema":{"name":"assay.timing.recording","version":1},"command_buffers":[{"#);
    assert!(cut.contains("JSON"), "{cut}");
}

#[test]
fn times_that_run_backwards_are_left_out_and_said() {
    let text = r#"{"schema":{"name":"assay.timing.recording","version":1},"time_source":"host",
        "process":{"name":"p","pid":7},"losses":{"command_buffers_dropped":3},
        "command_buffers":[{"id":1,"label":"a","queue":0,"start_ns":100,"end_ns":50},
                           {"id":2,"label":"a","queue":0,"start_ns":200,"end_ns":18446744073709551615}]}"#;
    let recording = support::load_texts(&[text]);
    assert_eq!(recording.events.gpu.len(), 1);
    let messages: Vec<&str> = recording
        .warnings
        .iter()
        .map(|w| w.problem.message.as_str())
        .collect();
    assert!(
        messages.iter().any(|m| m.contains("end before they start")),
        "{messages:?}"
    );
    assert!(
        messages.iter().any(|m| m.starts_with("3 command buffers")),
        "{messages:?}"
    );
    let a = analyze(&recording, &Options::default()).expect("an analysis");
    assert_eq!(a.recording.time_source, "host");
}
