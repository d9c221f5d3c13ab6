//! The exports, read back by other programs' rules.

use assay_timing::{
    Cause, CommandBufferId, CommandBufferSample, DispatchSample, Invalid, LabelId, Recorder,
    RecorderOptions, Sampling, Snapshot, Verdict,
};
use serde_json::Value;

/// Records dispatches of one kernel with these starts and ends.
fn record_dispatches(
    recorder: &Recorder,
    command_buffer: CommandBufferId,
    kernel: &str,
    label: LabelId,
    times: &[(u64, u64)],
) {
    let kernel = recorder.label(kernel);
    for (index, (start_ns, end_ns)) in times.iter().copied().enumerate() {
        recorder.record_dispatch(&DispatchSample {
            command_buffer,
            label,
            kernel,
            index: index as u32,
            start_ns,
            end_ns,
        });
    }
}

/// Three command buffers on two queues, two of them overlapping, with dispatches.
fn recorded() -> Snapshot {
    let recorder = Recorder::with_options(&RecorderOptions {
        process_name: Some("engine".into()),
        ..RecorderOptions::default()
    });
    let (attention, ffn) = (recorder.label("attention"), recorder.label("ffn"));
    let buffers = [
        (attention, 0, 1_000_000, 1_500_000),
        (ffn, 1, 1_400_000, 2_000_000),
        (attention, 0, 2_300_000, 2_800_000),
    ];
    for (label, queue, start_ns, end_ns) in buffers {
        let id = recorder.begin_command_buffer();
        let middle = (start_ns + end_ns) / 2;
        let halves = [(start_ns, middle), (middle, end_ns)];
        record_dispatches(&recorder, id, "matmul", label, &halves);
        recorder.record_command_buffer(&CommandBufferSample {
            queue,
            dispatches: Some(2),
            committed_ns: Some(start_ns - 100_000),
            completed_ns: Some(end_ns + 5_000),
            ..CommandBufferSample::new(id, label, start_ns, end_ns)
        });
    }
    recorder.record_invalid(ffn, Invalid::Failed);
    recorder.note("a remark");
    recorder.snapshot()
}

#[test]
fn the_text_shows_share_total_count_mean_percentiles_extremes_and_label() {
    let text = recorded().to_text();
    let expected = "\
[CB_PROFILE] total=1.60 ms across 2 labels
   share    total ms     count    mean µs     p50 µs     p99 µs     min µs     max µs  label
   62.5%        1.00         2      500.0      500.0      500.0      500.0      500.0  attention
   37.5%        0.60         1      600.0      600.0      600.0      600.0      600.0  ffn  (1 invalid)
";
    assert!(text.starts_with(expected), "{text}");
    assert!(text.contains("[TIMELINE] busy 1.50 of 1.80 ms (83.3 %) in 3 command buffers, 1 gaps of 0.30 ms together"), "{text}");
    assert!(
        text.contains("0.20 ms waiting for the host, 0.10 ms launch delay"),
        "{text}"
    );
    assert!(
        text.contains(
            "[CROSS_CHECK] dispatches 1.60 ms against command buffers 1.60 ms (+0.0 %): 3 agree"
        ),
        "{text}"
    );
    assert!(text.contains("[LOST] 1 samples invalid: failed"), "{text}");
    assert!(text.contains("[NOTE] a remark"), "{text}");
}

#[test]
fn the_json_carries_every_figure_and_its_schema() {
    let json: Value = serde_json::from_str(&recorded().to_json()).unwrap();
    assert_eq!(json["schema"]["name"], "assay.timing");
    assert_eq!(json["schema"]["version"], 1);
    assert_eq!(json["producer"]["name"], "assay-timing");
    assert_eq!(json["time_source"], "measured");
    assert_eq!(json["process"]["name"], "engine");
    assert_eq!(json["total_ns"], 1_600_000);
    let attention = &json["labels"][0];
    assert_eq!(
        (&attention["label"], &attention["count"]),
        (&"attention".into(), &2.into())
    );
    assert_eq!(attention["p99_ns"], 500_000);
    assert_eq!(json["labels"][1]["invalid"]["failed"], 1);
    assert_eq!(json["kernels"][0]["count"], 6);
    assert_eq!(json["timeline"]["busy_ns"], 1_500_000);
    assert_eq!(json["timeline"]["overlap_ns"], 100_000);
    assert_eq!(json["gaps"][0]["host_wait_ns"], 200_000);
    assert_eq!(json["cross_check"][0]["verdict"], "agrees");
    assert_eq!(json["losses"]["invalid"]["failed"], 1);
    assert_eq!(json["clock"]["quality"], "assumed_1_to_1");
    assert_eq!(json["notes"][0], "a remark");
}

#[test]
fn the_csv_has_a_header_and_as_many_cells_in_every_row() {
    for csv in [recorded().to_csv(), recorded().to_dispatch_csv()] {
        let columns = csv.lines().next().unwrap().split(',').count();
        assert!(csv.lines().count() > 3);
        assert!(
            csv.lines().all(|line| line.split(',').count() == columns),
            "{csv}"
        );
    }
    assert!(
        recorded()
            .to_csv()
            .contains("\ncommand_buffer,attention,2,1000000,500000.0,")
    );
}

#[test]
fn events_of_a_chrome_trace_never_overlap_within_a_thread() {
    let recorder = Recorder::new();
    let label = recorder.label("x");
    // Four in flight at any time, all on one queue.
    for n in 1..=50u64 {
        let id = recorder.begin_command_buffer();
        recorder.record_command_buffer(&CommandBufferSample::new(
            id,
            label,
            n * 1000,
            n * 1000 + 3999,
        ));
    }
    for snapshot in [recorder.snapshot(), recorded()] {
        let trace: Value = serde_json::from_str(&snapshot.to_chrome_trace()).unwrap();
        let events = trace["traceEvents"].as_array().unwrap();
        let mut spans: Vec<(u64, f64, f64)> = events
            .iter()
            .filter(|event| event["ph"] == "X")
            .map(|event| {
                let number = |name: &str| event[name].as_f64().unwrap();
                (
                    event["tid"].as_u64().unwrap(),
                    number("ts"),
                    number("ts") + number("dur"),
                )
            })
            .collect();
        assert_eq!(
            spans.len(),
            snapshot.command_buffers.len() + snapshot.dispatches.len()
        );
        spans.sort_by(|a, b| a.partial_cmp(b).unwrap());
        for pair in spans.windows(2) {
            assert!(
                pair[0].0 != pair[1].0 || pair[0].2 <= pair[1].1 + 1e-9,
                "{pair:?}"
            );
        }
        // Every thread that is drawn has a name.
        for (thread, ..) in spans {
            let named = |event: &Value| event["name"] == "thread_name" && event["tid"] == thread;
            assert!(events.iter().any(named));
        }
    }
}

#[test]
fn a_recording_carries_what_the_trace_reader_needs() {
    let json: Value = serde_json::from_str(&recorded().to_recording()).unwrap();
    assert_eq!(json["schema"]["name"], "assay.timing.recording");
    assert_eq!(json["process"]["name"], "engine");
    let buffer = &json["command_buffers"][1];
    assert_eq!(
        (&buffer["label"], &buffer["queue"]),
        (&"ffn".into(), &1.into())
    );
    assert_eq!(
        (&buffer["start_ns"], &buffer["committed_ns"]),
        (&1_400_000.into(), &1_300_000.into())
    );
    assert!(
        buffer.get("scheduled_ns").is_none(),
        "what is not known is left out"
    );
    let dispatch = &json["dispatches"][3];
    assert_eq!(
        (&dispatch["kernel"], &dispatch["index"]),
        (&"matmul".into(), &1.into())
    );
    assert_eq!(dispatch["command_buffer"], buffer["id"]);
}

#[cfg(feature = "serde")]
#[test]
fn a_recording_reads_back_as_it_was_written() {
    let snapshot = recorded();
    let back: assay_timing::Recording = serde_json::from_str(&snapshot.to_recording()).unwrap();
    assert_eq!(back, snapshot.recording());
}

/// One command buffer of 1 ms and its dispatches `(start, end)` in µs → the verdict.
fn verdict(sampling: Sampling, encoded: u32, pairs: u64, dispatches: &[(u64, u64)]) -> Verdict {
    let recorder = Recorder::new();
    let label = recorder.label("cb");
    for n in 1..=pairs {
        recorder.record_clock_pair(n * 1_000_000_000, n * 1_000_000_000 + 5);
    }
    let id = recorder.begin_command_buffer();
    let dispatches: Vec<(u64, u64)> = dispatches
        .iter()
        .map(|(start, end)| (start * 1000, end * 1000))
        .collect();
    record_dispatches(&recorder, id, "kernel", label, &dispatches);
    recorder.record_command_buffer(&CommandBufferSample {
        dispatches: Some(encoded),
        sampling,
        ..CommandBufferSample::new(id, label, 5_000_000, 6_000_000)
    });
    recorder.snapshot().cross_check().command_buffers[0].verdict
}

#[test]
fn the_cross_check_tells_lost_samples_from_serialisation() {
    use Sampling::{DispatchBoundary, EncoderPerDispatch};
    let missing = Verdict::SamplesMissing;
    let two = [(5_000, 5_500), (5_500, 6_000)];
    assert_eq!(verdict(DispatchBoundary, 2, 2, &two), Verdict::Agrees);
    assert_eq!(
        verdict(DispatchBoundary, 2, 2, &[(5_000, 5_480), (5_510, 5_990)]),
        Verdict::Agrees
    );
    // One of two dispatches has no sample.
    let dropped = Cause::DroppedSamples {
        found: 1,
        encoded: 2,
    };
    assert_eq!(verdict(DispatchBoundary, 2, 2, &two[..1]), missing(dropped));
    let dropped = Cause::DroppedSamples {
        found: 0,
        encoded: 2,
    };
    assert_eq!(verdict(DispatchBoundary, 2, 2, &[]), missing(dropped));
    // Half a scale: the dispatches end up somewhere else.
    assert_eq!(
        verdict(DispatchBoundary, 2, 2, &[(2_500, 2_750), (2_750, 3_000)]),
        missing(Cause::ClockDomain)
    );
    // In place but short, and ticks were never calibrated.
    let short = [(5_000, 5_250), (5_500, 5_750)];
    assert_eq!(
        verdict(DispatchBoundary, 2, 0, &short),
        missing(Cause::UncalibratedClock)
    );
    assert_eq!(
        verdict(DispatchBoundary, 2, 2, &short),
        missing(Cause::UnsampledWork)
    );
    // Above: what sampling costs; far above only with an encoder for each.
    assert_eq!(
        verdict(DispatchBoundary, 2, 2, &[(5_000, 5_500), (5_450, 6_000)]),
        Verdict::SerialisationCost
    );
    let far = [(5_000, 5_800), (5_200, 6_000)];
    assert_eq!(verdict(DispatchBoundary, 2, 2, &far), Verdict::SuspectClock);
    assert_eq!(
        verdict(EncoderPerDispatch, 2, 2, &far),
        Verdict::SerialisationCost
    );
}

#[test]
fn command_buffers_the_ring_forgot_in_part_are_not_blamed() {
    let recorder = Recorder::with_options(&RecorderOptions {
        dispatches: 8,
        ..RecorderOptions::default()
    });
    let label = recorder.label("cb");
    for buffer in 1..=5u64 {
        let id = recorder.begin_command_buffer();
        let times = [0, 100, 200].map(|at| (buffer * 1000 + at, buffer * 1000 + at + 100));
        record_dispatches(&recorder, id, "kernel", label, &times);
        recorder.record_command_buffer(&CommandBufferSample {
            dispatches: Some(3),
            sampling: Sampling::DispatchBoundary,
            ..CommandBufferSample::new(id, label, buffer * 1000, buffer * 1000 + 300)
        });
    }
    let check = recorder.snapshot().cross_check();
    // 15 recorded, 8 kept: the last two whole, two of the third.
    assert_eq!((check.command_buffers.len(), check.incomplete), (2, 3));
    assert_eq!(check.warnings().count(), 0);
}

/// What speaks against a value being an instance of a schema: the words of JSON Schema that ours are written in, and no others.
fn objections(schema: &Value, value: &Value, place: &str, found: &mut Vec<String>) {
    let is = |kind: &str| match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        other => panic!("unknown type {other}"),
    };
    for (word, wanted) in schema.as_object().expect("a schema") {
        let holds = match word.as_str() {
            "$schema" | "title" | "description" | "properties" | "items" => true,
            "type" => match wanted {
                Value::Array(kinds) => kinds.iter().any(|kind| is(kind.as_str().unwrap())),
                kind => is(kind.as_str().unwrap()),
            },
            "const" => value == wanted,
            "enum" => wanted.as_array().unwrap().contains(value),
            "minimum" => value
                .as_f64()
                .is_none_or(|number| number >= wanted.as_f64().unwrap()),
            "minItems" => value.as_array().unwrap().len() as u64 >= wanted.as_u64().unwrap(),
            "maxItems" => value.as_array().unwrap().len() as u64 <= wanted.as_u64().unwrap(),
            "required" => {
                let names = wanted.as_array().unwrap().iter();
                names
                    .map(|name| name.as_str().unwrap())
                    .all(|name| value.get(name).is_some())
            }
            "additionalProperties" => {
                let known = schema["properties"].as_object().unwrap();
                value
                    .as_object()
                    .unwrap()
                    .keys()
                    .all(|name| known.contains_key(name))
            }
            other => panic!("unknown word {other}"),
        };
        if !holds {
            found.push(format!("{place}: {word} {wanted}, but {value}"));
        }
    }
    for (name, inner) in value.as_object().into_iter().flatten() {
        if let Some(schema) = schema["properties"].get(name) {
            objections(schema, inner, &format!("{place}.{name}"), found);
        }
    }
    for (number, inner) in value.as_array().into_iter().flatten().enumerate() {
        if let Some(schema) = schema.get("items") {
            objections(schema, inner, &format!("{place}[{number}]"), found);
        }
    }
}

#[test]
fn documents_follow_their_schemas() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
    let schema = |name: &str| -> Value {
        let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).expect("a schema");
        serde_json::from_str(&text).expect("JSON")
    };
    let (report, recording) = (schema("assay.timing"), schema("assay.timing.recording"));
    let empty = Recorder::with_options(&RecorderOptions::default()).snapshot();
    let lost = Recorder::with_options(&RecorderOptions::default());
    let label = lost.label("lost \u{1b}[2J \"label\"");
    let id = lost.begin_command_buffer();
    record_dispatches(&lost, id, "k", label, &[(1_000, 1_100)]);
    lost.record_command_buffer(&CommandBufferSample {
        dispatches: Some(9),
        ..CommandBufferSample::new(id, label, 1_000, 900_000)
    });
    for snapshot in [recorded(), empty, lost.snapshot()] {
        for (schema, text) in [
            (&report, snapshot.to_json()),
            (&recording, snapshot.to_recording()),
        ] {
            let document: Value = serde_json::from_str(&text).expect("JSON");
            let mut found = Vec::new();
            objections(schema, &document, "$", &mut found);
            assert!(found.is_empty(), "{found:#?}\n{text}");
        }
    }
    // And a document that does not follow is told.
    let mut found = Vec::new();
    objections(
        &report,
        &serde_json::json!({ "schema": { "name": "other" }, "total_ns": -1 }),
        "$",
        &mut found,
    );
    assert!(
        found.iter().any(|one| one.contains("$.total_ns: minimum")),
        "{found:?}"
    );
    assert!(
        found.iter().any(|one| one.contains("$.schema.name: const")),
        "{found:?}"
    );
}
