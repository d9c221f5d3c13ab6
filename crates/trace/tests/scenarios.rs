//! Made-up runs with a known cause get the right verdict, and their figures agree with
//! a plain count.

#[allow(missing_docs)]
mod support;

use assay_trace::synth::{Scenario, Table, Trace, write_table};
use assay_trace::{
    Analysis, CompareOptions, GivenLibrary, Options, Recording, VerdictKind, analyze, compare,
    read_work, report_markdown,
};

fn played(scenario: &Scenario) -> (Trace, Recording) {
    played_with(scenario, &Table::ALL)
}

fn played_with(scenario: &Scenario, tables: &[Table]) -> (Trace, Recording) {
    let trace = Trace::new(scenario);
    let texts: Vec<String> = tables
        .iter()
        .map(|&table| {
            let mut bytes = Vec::new();
            write_table(&trace, table, &mut bytes).expect("memory to write to");
            String::from_utf8(bytes).expect("UTF-8")
        })
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let recording = support::load_texts(&texts);
    (trace, recording)
}

fn analyzed(scenario: &Scenario) -> (Trace, Analysis) {
    let (trace, recording) = played(scenario);
    let analysis = analyze(&recording, &Options::default()).expect("an analysis");
    (trace, analysis)
}

#[test]
fn each_scenario_gets_its_verdict() {
    for (name, scenario, expected) in [
        ("eager", Scenario::eager(4), VerdictKind::LaunchBound),
        ("compiled", Scenario::compiled(20), VerdictKind::KernelBound),
        (
            "transfers",
            Scenario::transfer_heavy(60),
            VerdictKind::TransferBound,
        ),
        ("contended", Scenario::contended(60), VerdictKind::Contended),
        (
            "queues",
            Scenario::multi_queue(60),
            VerdictKind::KernelBound,
        ),
        (
            "synchronised",
            Scenario::synchronised(60),
            VerdictKind::SynchronisationBound,
        ),
    ] {
        let (_, analysis) = analyzed(&scenario);
        assert_eq!(
            analysis.verdict.kind, expected,
            "{name}: utilisation {}, evidence {:#?}",
            analysis.gpu.utilization, analysis.verdict.evidence
        );
        assert!(!analysis.verdict.evidence.is_empty(), "{name}");
    }
}

/// Busy time by sweeping over all starts and ends, written independently of the library.
fn swept(spans: &[(u64, u64)]) -> u64 {
    let mut edges: Vec<(u64, i32)> = Vec::new();
    for &(start, end) in spans {
        edges.push((start, 1));
        edges.push((end, -1));
    }
    edges.sort_unstable_by_key(|&(time, change)| (time, -change));
    let (mut depth, mut busy, mut since) = (0, 0, 0);
    for (time, change) in edges {
        if depth == 0 && change > 0 {
            since = time;
        }
        depth += change;
        if depth == 0 {
            busy += time - since;
        }
    }
    busy
}

#[test]
fn figures_agree_with_a_plain_count() {
    for seed in 1..8 {
        for scenario in [
            Scenario::eager(2),
            Scenario::multi_queue(40),
            Scenario::contended(30),
        ] {
            let (trace, a) = analyzed(&Scenario { seed, ..scenario });
            let spans: Vec<(u64, u64)> = trace
                .executions()
                .iter()
                .map(|e| (e.span.start, e.span.end))
                .collect();
            let first = spans.iter().map(|s| s.0).min().expect("work");
            let last = spans.iter().map(|s| s.1).max().expect("work");
            let busy = swept(&spans);
            assert_eq!(a.intervals.rows_target, spans.len() as u64);
            assert_eq!(a.intervals.rows_total, trace.all().len() as u64);
            assert_eq!((a.gpu.busy_ms * 1e6).round() as u64, busy);
            assert_eq!((a.window.span_ms * 1e6).round() as u64, last - first);
            let idle = ((last - first - busy) as f64 / 1e6 * 1e6).round() / 1e6;
            assert!(
                (a.gaps.total_ms - idle).abs() < 1e-6,
                "{} {idle}",
                a.gaps.total_ms
            );
            let parts = a.gaps.host_wait_ms + a.gaps.launch_ms;
            assert!(
                (parts - a.gaps.total_ms).abs() < 1e-4,
                "{parts} {}",
                a.gaps.total_ms
            );
            let everybody: Vec<(u64, u64)> = trace
                .all()
                .iter()
                .map(|e| (e.span.start, e.span.end))
                .collect();
            assert_eq!(
                (a.gpu.machine_busy_ms * 1e6).round() as u64,
                swept(&everybody)
            );
        }
    }
}

#[test]
fn overlapping_queues_are_counted_once() {
    let (_, a) = analyzed(&Scenario::multi_queue(50));
    assert!(
        a.gpu.summed_ms > a.gpu.busy_ms * 1.2,
        "{} {}",
        a.gpu.summed_ms,
        a.gpu.busy_ms
    );
    assert!(a.queue.max_depth >= Some(2));
}

#[test]
fn host_samples_during_gaps_name_the_function() {
    let (_, a) = analyzed(&Scenario::synchronised(40));
    let activity = a.cpu.while_gpu_waits.expect("samples");
    assert!(activity.samples > 0);
    assert!(activity.functions[0].function.contains("encode_kernel"));
    let callers: Vec<&str> = activity
        .callers
        .iter()
        .map(|f| f.function.as_str())
        .collect();
    assert!(callers.contains(&"main"), "{callers:?}");
    assert_eq!(activity.threads[0].thread, "Main Thread (0x1f6b2d)");
}

#[test]
fn eager_against_compiled_shows_working_fusion() {
    let (_, eager) = played(&Scenario::eager(30));
    let (_, compiled) = played(&Scenario::compiled(30));
    let result = compare(&eager, &compiled, &CompareOptions::default()).expect("a comparison");
    assert_eq!(result.normalised, "per step", "{}", result.normalised_by);
    assert_eq!(result.before.steps, Some(30.0));
    assert_eq!(result.after.steps, Some(30.0));
    assert_eq!(
        result.fusion.state, "working",
        "{}",
        result.fusion.explanation
    );
    let metric = |name: &str| {
        let found = result.metrics.iter().find(|m| m.metric == name);
        found.unwrap_or_else(|| panic!("no {name}"))
    };
    assert_eq!(metric("executions").before, Some(490.0));
    assert_eq!(metric("executions").after, Some(70.0));
    assert!(metric("time").change < Some(-0.3), "{:?}", metric("time"));
    assert_eq!(metric("time").significant, Some(true));
}

#[test]
fn a_run_against_itself_shows_no_change_and_passes_every_gate() {
    let (_, run) = played(&Scenario::compiled(20));
    let options = CompareOptions {
        gates: vec![
            "slower:0%".parse().expect("a gate"),
            "idle:0%".parse().expect("a gate"),
        ],
        ..CompareOptions::default()
    };
    let result = compare(&run, &run, &options).expect("a comparison");
    assert!(
        result
            .metrics
            .iter()
            .all(|m| m.change == Some(0.0) || m.change.is_none())
    );
    assert!(result.gates.iter().all(|gate| !gate.failed));
}

#[test]
fn the_same_scenario_with_another_seed_differs_within_its_noise() {
    let (_, one) = played(&Scenario::eager(40));
    let (_, two) = played(&Scenario {
        seed: 77,
        ..Scenario::eager(40)
    });
    let result = compare(&one, &two, &CompareOptions::default()).expect("a comparison");
    let busy = result
        .metrics
        .iter()
        .find(|m| m.metric == "busy")
        .expect("busy");
    assert!(busy.change.expect("a change").abs() < 0.02, "{busy:?}");
    assert!(busy.noise.expect("noise") < 0.05, "{busy:?}");
}

#[test]
fn phases_split_at_long_pauses_and_one_can_be_chosen() {
    let scenario = Scenario {
        pause: Some((10, 300_000_000)),
        ..Scenario::compiled(20)
    };
    let (_, recording) = played(&scenario);
    let whole = analyze(&recording, &Options::default()).expect("an analysis");
    assert_eq!(whole.window.phases.len(), 2);
    assert!(whole.findings.iter().any(|f| f.rule == "idle-phases"));
    let options = Options {
        phase: Some(2),
        ..Options::default()
    };
    let second = analyze(&recording, &options).expect("an analysis");
    assert_eq!(
        second.intervals.rows_target,
        whole.window.phases[1].executions
    );
    assert!(second.gpu.utilization > whole.gpu.utilization);
    let missing = Options {
        phase: Some(3),
        ..Options::default()
    };
    assert!(analyze(&recording, &missing).is_err());
}

#[test]
fn a_given_window_clips_what_crosses_its_edges() {
    let (trace, recording) = played(&Scenario::synchronised(20));
    let executions = trace.executions();
    let middle = executions[5].span;
    let options = Options {
        from: Some(middle.start + 1000),
        to: Some(middle.end - 1000),
        ..Options::default()
    };
    let a = analyze(&recording, &options).expect("an analysis");
    assert_eq!(a.intervals.rows_target, 1);
    assert_eq!(a.gpu.utilization, 1.0);
    assert_eq!(
        (a.gpu.busy_ms * 1e6).round() as u64,
        middle.duration() - 2000
    );
}

#[test]
fn another_process_can_be_examined_by_name_or_id() {
    let (trace, recording) = played(&Scenario::compiled(10));
    let others = trace.all().iter().filter(|e| !e.target).count() as u64;
    for options in [
        Options {
            process: Some("WindowServer".to_owned()),
            ..Options::default()
        },
        Options {
            pid: Some(420),
            ..Options::default()
        },
    ] {
        let a = analyze(&recording, &options).expect("an analysis");
        assert_eq!(a.intervals.rows_target, others);
        assert_eq!(a.recording.target.name.as_deref(), Some("WindowServer"));
        assert_eq!(a.recording.target.exit_status, None);
    }
    let unknown = Options {
        process: Some("nobody".to_owned()),
        ..Options::default()
    };
    let error = analyze(&recording, &unknown)
        .expect_err("no such process")
        .to_string();
    assert!(error.contains("nobody"), "{error}");
}

/// The tables of a made-up run with memory and clock.
fn every_table() -> Vec<Table> {
    Table::ALL.into_iter().chain(Table::MORE).collect()
}

fn rules(analysis: &Analysis) -> Vec<&str> {
    analysis.findings.iter().map(|f| f.rule.as_str()).collect()
}

#[test]
fn fusion_is_told_from_work_left_out() {
    // No eager and compiled run of one program is public: these are made up, in the real format.
    let (_, eager) = played(&Scenario::eager(30));
    let (_, compiled) = played(&Scenario::compiled(30));
    let result = compare(&eager, &compiled, &CompareOptions::default()).expect("a comparison");
    assert_eq!(
        result.fusion.happened, "yes",
        "{:?}",
        result.fusion.evidence
    );
    assert_eq!(
        result.fusion.evidence[0],
        "490 encoder executions per step before, 70 after: 0.14 times as many"
    );
    let kernel = |name: &str| {
        let found = result.fusion.kernels.iter().find(|k| k.kernel == name);
        found.map(|k| (k.before, k.after))
    };
    assert_eq!(kernel("fused_mlp"), Some((None, Some(35.0))));
    assert_eq!(kernel("matmul"), Some((Some(70.0), None)));
    let backwards = compare(&compiled, &eager, &CompareOptions::default()).expect("a comparison");
    assert_eq!(backwards.fusion.happened, "no");
    // A third of the same kernels: fewer dispatches, but nothing is fused.
    let whole = Scenario::eager(30);
    let kernels = whole.kernels.iter().step_by(3).cloned().collect();
    let (_, less) = played(&Scenario { kernels, ..whole });
    let result = compare(&eager, &less, &CompareOptions::default()).expect("a comparison");
    assert_eq!(
        (
            result.fusion.happened.as_str(),
            result.fusion.state.as_str()
        ),
        ("no", "no")
    );
}

#[test]
fn copies_have_bytes_and_bandwidth_when_a_work_file_says_them() {
    let (trace, recording) = played(&Scenario::transfer_heavy(60));
    let plain = analyze(&recording, &Options::default()).expect("an analysis");
    assert_eq!(
        (plain.transfers.blit_bytes, plain.transfers.blit_gbs),
        (None, None)
    );
    assert_eq!(
        plain.recording.chip.as_ref().map(|c| c.bandwidth_gbs),
        Some(Some(68.25))
    );
    let options = Options {
        work: read_work("work.csv", b"Blit Command 0,-,1000000\nscale,2e6,8e6\n").expect("work"),
        ..Options::default()
    };
    let a = analyze(&recording, &options).expect("an analysis");
    assert_eq!(a.transfers.blit_bytes, Some(120 * 1_000_000));
    assert_eq!(a.transfers.blit_bytes_from.as_deref(), Some("work file"));
    let blits = trace
        .executions()
        .into_iter()
        .filter(|e| e.label.contains("Blit"));
    let time: u64 = blits.map(|e| e.span.duration()).sum();
    let gbs = 120e6 / time as f64;
    assert!((a.transfers.blit_gbs.expect("a rate") - gbs).abs() < 1e-5);
    let part = a.transfers.blit_of_bandwidth.expect("a part");
    assert!((part - 2.0 * gbs / 68.25).abs() < 1e-5);
    assert!(rules(&a).contains(&"slow-copies"), "{:?}", rules(&a));
    let scale = a
        .throughput
        .iter()
        .find(|t| t.operation == "scale")
        .expect("scale");
    assert_eq!((scale.count, scale.nearer.as_deref()), (60, Some("memory")));
    // 8 MB in 50 µs is more than an M1 can move.
    assert!(
        rules(&a).contains(&"impossible-throughput"),
        "{:?}",
        rules(&a)
    );
}

#[test]
fn memory_that_is_never_freed_is_found_with_its_caller() {
    let (_, recording) = played_with(&Scenario::leaking(80), &every_table());
    let a = analyze(&recording, &Options::default()).expect("an analysis");
    assert_eq!(a.memory.growing, Some(true));
    // Buffers allocated between the first and the last execution.
    let unfreed = a.memory.unfreed.expect("allocations");
    assert!((70..=80).contains(&unfreed), "{unfreed}");
    assert_eq!(a.memory.unfreed_bytes, Some(unfreed * (4 << 20)));
    assert_eq!(
        a.memory.unfreed_groups[0].caller.as_deref(),
        Some("grow_cache")
    );
    assert_eq!(a.memory.allocators[0].function, "grow_cache");
    assert!(rules(&a).contains(&"memory-growth"), "{:?}", rules(&a));
    assert!(rules(&a).contains(&"unfreed-resources"), "{:?}", rules(&a));
    let reused = Scenario {
        allocates: Some((4 << 20, true)),
        ..Scenario::leaking(80)
    };
    let (_, recording) = played_with(&reused, &every_table());
    let a = analyze(&recording, &Options::default()).expect("an analysis");
    assert_eq!(a.memory.growing, Some(false));
    assert!(a.memory.unfreed <= Some(1), "{:?}", a.memory.unfreed);
    assert!(!rules(&a).contains(&"memory-growth"));
}

#[test]
fn hot_functions_are_those_of_the_whole_window() {
    let (_, a) = analyzed(&Scenario::compiled(30));
    let hot = a.cpu.hot.expect("samples");
    let waits = a.cpu.while_gpu_waits.expect("samples");
    assert!(
        hot.samples > waits.samples,
        "{} {}",
        hot.samples,
        waits.samples
    );
    assert!(hot.functions[0].function.contains("encode_kernel"));
    let share: f64 = hot.functions.iter().map(|f| f.share).sum();
    assert!((share - 1.0).abs() < 1e-3, "{share}");
    let missing: Vec<&str> = a
        .recording
        .missing
        .iter()
        .map(|m| m.table.as_str())
        .collect();
    assert!(
        !missing.contains(&"time-profile") && missing.contains(&"Leaks"),
        "{missing:?}"
    );
    let leaks = a
        .recording
        .missing
        .iter()
        .find(|m| m.table == "Leaks")
        .expect("leaks");
    assert_eq!(
        leaks.record.as_deref(),
        Some("xctrace record --instrument 'Leaks' …")
    );
    assert_eq!(
        leaks.export,
        "xctrace export --input RUN.trace --xpath '/trace-toc/run[@number=\"1\"]/tracks/track[@name=\"Leaks\"]/details/detail[@name=\"Leaks\"]' --output leaks.xml"
    );
}

#[test]
fn gaps_are_called_regular_or_not() {
    let regular = Scenario {
        launch: 100_000,
        ..Scenario::synchronised(120)
    };
    let (_, a) = analyzed(&regular);
    let found = a.gaps.regularity.expect("enough gaps");
    assert!(found.spread < 1.0, "{found:?}");
    assert_ne!(found.kind, "irregular");
    let (_, few) = analyzed(&Scenario::synchronised(5));
    assert_eq!(few.gaps.regularity, None);
}

#[test]
fn a_host_that_is_away_for_any_time_makes_irregular_gaps() {
    let finds = |a: &Analysis| {
        let mut findings = a.findings.iter();
        findings.any(|finding| finding.rule == "irregular-gaps")
    };
    let waits = Scenario::synchronised(120);
    let away = Scenario {
        stalls: 20_000_000,
        ..waits.clone()
    };
    let (_, a) = analyzed(&away);
    let found = a.gaps.regularity.clone().expect("enough gaps");
    assert_eq!(found.kind, "irregular", "{found:?}");
    assert!(found.spread >= 1.0, "{found:?}");
    assert!(finds(&a));
    let text = report_markdown(&a);
    assert!(text.contains("Gaps are irregular"), "{text}");
    // As long away on average, but never for very long or very short.
    let (_, even) = analyzed(&Scenario {
        encode: 5_000_000,
        ..waits
    });
    let found = even.gaps.regularity.clone().expect("enough gaps");
    assert_ne!(found.kind, "irregular", "{found:?}");
    assert!(!finds(&even));
}

#[test]
fn the_results_document_has_versions_and_a_column_for_another_engine() {
    let (_, mine) = played(&Scenario::eager(4));
    let (_, theirs) = played(&Scenario::compiled(4));
    let theirs = analyze(&theirs, &Options::default()).expect("an analysis");
    let options = Options {
        libraries: vec![GivenLibrary {
            name: "candle-metal-kernels".to_owned(),
            version: "0.9.1".to_owned(),
            source: "Cargo.lock".to_owned(),
        }],
        baseline: Some(("MLX".to_owned(), Box::new(theirs.clone()))),
        ..Options::default()
    };
    let a = analyze(&mine, &options).expect("an analysis");
    let markdown = report_markdown(&a);
    for part in [
        "| candle-metal-kernels | 0.9.1 (Cargo.lock) |",
        "| metric | this run | MLX | ratio |",
        "| Encoder executions | 1960 | 280 | 7.00 × |",
    ] {
        assert!(markdown.contains(part), "{part} in {markdown}");
    }
    let row = &a.baseline.as_ref().expect("a baseline").rows[1];
    assert_eq!(row.baseline, Some(theirs.gpu.busy_ms));
}
