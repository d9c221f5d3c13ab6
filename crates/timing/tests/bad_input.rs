//! What a program may do wrong: counted, shown, never a panic and never unbounded memory.

use assay_timing::{
    CommandBufferId, CommandBufferSample, DispatchSample, Invalid, LabelId, OVERFLOW_LABEL,
    Recorder, RecorderOptions,
};

#[test]
fn ten_million_labels_share_the_overflow_label() {
    let recorder = Recorder::new();
    let mut text = String::new();
    for n in 0..10_000_000u32 {
        use std::fmt::Write;
        text.clear();
        let _ = write!(text, "label {n}");
        recorder.record(&text, 1);
    }
    let snapshot = recorder.snapshot();
    assert_eq!(snapshot.labels.len(), 1025);
    assert_eq!(&*snapshot.labels[0].label, OVERFLOW_LABEL);
    assert_eq!(snapshot.labels[0].count, 10_000_000 - 1024);
    assert_eq!(snapshot.losses.labels.overflowed, 10_000_000 - 1024);
    assert_eq!(snapshot.total_ns(), 10_000_000, "not one sample is lost");
    let text = snapshot.to_text();
    assert!(
        text.contains("lookups found the label table full"),
        "{text}"
    );
}

#[test]
fn durations_near_the_end_of_the_range_are_counted_exactly() {
    let recorder = Recorder::new();
    for ns in [u64::MAX - 1, u64::MAX - 1, 1 << 63, u64::MAX, 0] {
        recorder.record("huge", ns);
    }
    let snapshot = recorder.snapshot();
    let label = &snapshot.labels[0];
    assert_eq!((label.count, label.max_ns), (3, u64::MAX - 1));
    assert_eq!(label.total_ns, 2 * u128::from(u64::MAX - 1) + (1 << 63));
    assert_eq!(label.invalid.get(Invalid::AllOnes), 1);
    assert_eq!(label.invalid.get(Invalid::Zero), 1);
    assert_eq!(snapshot.losses.implausible, 3);
    assert!(label.percentile(100.0).unwrap() >= (u64::MAX / 128) * 127);
    // The old interface's sum has 64 bits only.
    assert_eq!(recorder.dump()[0].1.total_ns, u64::MAX);
    for report in [snapshot.to_text(), snapshot.to_json(), snapshot.to_csv()] {
        assert!(report.contains("huge"));
    }
}

#[test]
fn command_buffers_with_impossible_times_are_counted_by_reason() {
    let recorder = Recorder::new();
    let label = recorder.label("cb");
    let bad = [(0, 0), (5, 5), (20, 10), (u64::MAX, 10), (10, u64::MAX)];
    for (start, end) in bad {
        let id = recorder.begin_command_buffer();
        recorder.record_command_buffer(&CommandBufferSample::new(id, label, start, end));
    }
    let id = recorder.begin_command_buffer();
    recorder.fail_command_buffer(id, label, Invalid::Failed);
    recorder.begin_command_buffer();
    let snapshot = recorder.snapshot();
    let reasons: Vec<_> = snapshot.labels[0].invalid.iter().collect();
    let expected = [
        (Invalid::AllOnes, 2),
        (Invalid::Zero, 2),
        (Invalid::EndBeforeStart, 1),
        (Invalid::Failed, 1),
    ];
    assert_eq!(reasons, expected);
    assert_eq!(snapshot.labels[0].count, 0);
    assert_eq!(snapshot.losses.pending, 1);
    assert!(snapshot.command_buffers.is_empty());
    let text = snapshot.to_text();
    assert!(
        text.contains("end before start") && text.contains("1 command buffers still pending"),
        "{text}"
    );
    assert!(
        recorder.dump().is_empty(),
        "a label without a valid sample has no figures"
    );
}

#[test]
fn numbers_no_label_has_go_to_the_overflow_label() {
    let recorder = Recorder::new();
    recorder.record_id(LabelId::from_raw(u32::MAX), 5);
    recorder.record_invalid(LabelId::from_raw(u32::MAX), Invalid::Failed);
    let sample = DispatchSample {
        command_buffer: CommandBufferId::from_raw(u64::MAX),
        label: LabelId::from_raw(u32::MAX - 1),
        kernel: LabelId::from_raw(u32::MAX),
        index: u32::MAX,
        start_ns: 0,
        end_ns: u64::MAX - 1,
    };
    recorder.record_dispatch(&sample);
    let snapshot = recorder.snapshot();
    assert_eq!(&*snapshot.labels[0].label, OVERFLOW_LABEL);
    assert_eq!(&*snapshot.dispatches[0].kernel, OVERFLOW_LABEL);
    assert_eq!(snapshot.dispatches[0].index, u32::MAX);
    let _ = (
        snapshot.to_json(),
        snapshot.to_chrome_trace(),
        snapshot.to_recording(),
        snapshot.cross_check(),
    );
}

#[test]
fn a_recorder_without_room_still_counts() {
    let recorder = Recorder::with_options(&RecorderOptions {
        labels: 0,
        dispatches: 0,
        command_buffers: 0,
        threads: 0,
        ..RecorderOptions::default()
    });
    for n in 1..=10 {
        recorder.record("anything", n);
        let id = recorder.begin_command_buffer();
        recorder.record_command_buffer(&CommandBufferSample::new(
            id,
            recorder.label("b"),
            n,
            n + 1,
        ));
    }
    let snapshot = recorder.snapshot();
    assert_eq!((snapshot.labels.len(), snapshot.labels[0].count), (1, 20));
    assert_eq!(
        snapshot.command_buffers.len() as u64 + snapshot.losses.command_buffers_dropped,
        10
    );
}

#[test]
fn a_recorder_asked_for_too_much_is_cut_to_size() {
    // Rings take their memory with the first sample, so this is cheap.
    let recorder = Recorder::with_options(&RecorderOptions {
        labels: usize::MAX,
        dispatches: usize::MAX,
        command_buffers: usize::MAX,
        ..RecorderOptions::default()
    });
    recorder.record("x", 1);
    assert_eq!(recorder.snapshot().labels[0].count, 1);
}

#[test]
fn clocks_that_go_backwards_are_counted_and_shown() {
    let recorder = Recorder::new();
    for n in 1..=10u64 {
        recorder.record_clock_pair(n * 1_000_000_000, n * 24_000_000);
    }
    recorder.record_clock_pair(4_000_000_000, 264_000_000);
    recorder.record_clock_pair(11_000_000_000, 24_000_000);
    let snapshot = recorder.snapshot();
    assert_eq!(snapshot.clock.counts.outliers, 2);
    assert_eq!(
        recorder.convert_gpu_ticks_to_ns(288_000_000),
        12_000_000_000
    );
    assert!(snapshot.to_text().contains("2 pairs that did not fit"));
}

#[test]
fn odd_labels_survive_every_export() {
    let recorder = Recorder::new();
    let odd = [
        "",
        "a,b",
        "say \"hi\"",
        "two\nlines",
        "\u{0}",
        "\u{1b}[31mred",
        "\u{202e}rtl",
        "🦀",
    ];
    for label in odd {
        recorder.record(label, 1_000);
        let id = recorder.begin_command_buffer();
        recorder.record_command_buffer(&CommandBufferSample::new(
            id,
            recorder.label(label),
            10,
            20,
        ));
    }
    let snapshot = recorder.snapshot();
    for json in [
        snapshot.to_json(),
        snapshot.to_chrome_trace(),
        snapshot.to_recording(),
    ] {
        serde_json::from_str::<serde_json::Value>(&json).unwrap();
    }
    let json: serde_json::Value = serde_json::from_str(&snapshot.to_json()).unwrap();
    for label in odd {
        let rows = json["labels"].as_array().unwrap();
        assert!(rows.iter().any(|row| row["label"] == label), "{label:?}");
    }
    let text = snapshot.to_text();
    assert!(
        !text.contains('\u{1b}') && !text.contains('\u{0}'),
        "a terminal is not to be written to by labels"
    );
}
