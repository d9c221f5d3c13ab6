//! `assay trace` as a user runs it.

use assay_trace::synth::{Scenario, Table, Trace, bundle, write_table};
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn assay(arguments: &[&str]) -> Output {
    command(arguments).output().expect("assay runs")
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command
        .arg("trace")
        .args(arguments)
        .env_remove("COLUMNS")
        .env("NO_COLOR", "1")
        .stdin(Stdio::null());
    command
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn fixture(name: &str) -> String {
    let path = assay_fixtures::path("xctrace").join(name);
    path.into_os_string().into_string().expect("UTF-8")
}

/// A folder with the tables of a made-up run.
fn tables(scenario: &Scenario) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = Trace::new(scenario);
    for table in Table::ALL {
        let mut bytes = Vec::new();
        write_table(&trace, table, &mut bytes).expect("memory");
        std::fs::write(folder.path().join(table.file_name()), bytes).expect("a file");
    }
    folder
}

fn path(folder: &tempfile::TempDir) -> String {
    folder.path().to_string_lossy().into_owned()
}

#[test]
fn json_has_the_fixed_names_and_the_golden_numbers() {
    let folder = fixture("baseline");
    let output = assay(&["report", "--format", "json", &folder]);
    assert_eq!(output.status.code(), Some(0));
    let document = json(&output);
    assert_eq!(document["schema"]["name"], "assay.trace");
    let number = |pointer: &str| document.pointer(pointer).and_then(Value::as_f64);
    for (pointer, expected) in [
        ("/recording/target/pid", 42209.0),
        ("/recording/target/exit_status", 0.0),
        ("/window/span_ms", 250.249292),
        ("/gpu/busy_ms", 7.20829),
        ("/gpu/utilization", 0.028804),
        ("/gpu/machine_busy_ms", 56.190553),
        ("/intervals/rows_total", 2819.0),
        ("/intervals/rows_target", 1000.0),
        ("/intervals/mean_us", 7.20829),
        ("/intervals/median_us", 6.291),
        ("/intervals/max_us", 316.625),
        ("/gaps/count", 999.0),
        ("/gaps/median_us", 199.25),
        ("/gaps/max_us", 4037.625),
        ("/gaps/host_late", 999.0),
        ("/latency/median_us", 91.3955),
        ("/completion/joined", 1000.0),
        ("/labels/0/count", 1000.0),
        ("/labels/0/share", 1.0),
    ] {
        assert_eq!(number(pointer), Some(expected), "{pointer}");
    }
    for (pointer, digits, expected) in [
        ("/gaps/mean_us", 3, "243.284"),
        ("/gaps/host_wait_ms", 3, "135.805"),
        ("/gaps/launch_ms", 3, "107.236"),
        ("/latency/mean_us", 3, "107.652"),
        ("/completion/gpu_end_to_completed_mean_us", 3, "97.771"),
        ("/labels/0/total_ms", 3, "7.208"),
        ("/labels/0/mean_us", 3, "7.208"),
    ] {
        let value = number(pointer).unwrap_or(f64::NAN);
        assert_eq!(format!("{value:.digits$}"), expected, "{pointer}");
    }
    assert_eq!(
        document["recording"]["target"]["name"],
        "sm_apple_metal_probe_host"
    );
    assert_eq!(
        document["labels"][0]["label"],
        "Command Buffer 0:Compute Command 0"
    );
    assert_eq!(document["verdict"]["kind"], "launch-bound");
    assert_eq!(document["verdict"]["confidence"], "high");
    assert!(document["verdict"]["evidence"][0].is_string());
}

#[test]
fn a_target_without_gpu_work_is_exit_1() {
    let folder = fixture("no-gpu-work");
    let output = assay(&["report", &folder]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("no-gpu-work"));
    let output = assay(&["report", "--full", &folder]);
    assert!(stdout(&output).contains("exited with status 4"));
    let output = assay(&["report", "--format", "json", &folder]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(json(&output)["verdict"]["kind"], "no-gpu-work");
}

#[test]
fn a_folder_several_files_and_standard_input_give_the_same() {
    let folder = tables(&Scenario::synchronised(30));
    let whole = json(&assay(&["report", "--format", "json", &path(&folder)]));
    let files: Vec<String> = Table::ALL
        .iter()
        .map(|table| {
            folder
                .path()
                .join(table.file_name())
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    let mut arguments = vec!["report", "--format", "json"];
    arguments.extend(files.iter().rev().map(String::as_str));
    let separate = json(&assay(&arguments));
    assert_eq!(whole["gpu"], separate["gpu"]);
    assert_eq!(whole["gaps"], separate["gaps"]);

    // Only the intervals, on standard input, under no name at all.
    let intervals =
        std::fs::File::open(folder.path().join("metal-gpu-intervals.xml")).expect("a file");
    let output = command(&[
        "report",
        "--format",
        "json",
        "--process",
        "model_runner",
        "-",
    ])
    .stdin(Stdio::from(intervals))
    .output()
    .expect("assay runs");
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    assert_eq!(whole["intervals"], json(&output)["intervals"]);
}

#[test]
fn text_markdown_and_html_say_the_verdict() {
    let folder = tables(&Scenario::compiled(20));
    for format in ["text", "markdown", "html"] {
        let output = assay(&["report", "--format", format, &path(&folder)]);
        assert_eq!(output.status.code(), Some(0));
        assert!(stdout(&output).contains("kernel-bound"), "{format}");
    }
    let markdown = stdout(&assay(&["report", "--format", "markdown", &path(&folder)]));
    for heading in [
        "## Configuration",
        "## Key findings",
        "## GPU utilisation",
        "## Memory patterns",
        "## Optimisation opportunities",
        "## Metrics",
    ] {
        assert!(markdown.contains(heading), "{heading}");
    }
}

#[test]
fn text_fits_a_narrow_terminal() {
    let folder = tables(&Scenario::eager(2));
    let output = command(&["report", &path(&folder)])
        .env("COLUMNS", "80")
        .output()
        .expect("assay runs");
    for line in stdout(&output).lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn compare_exits_with_1_when_a_limit_is_exceeded() {
    let eager = tables(&Scenario::eager(20));
    let compiled = tables(&Scenario::compiled(20));
    let (eager, compiled) = (path(&eager), path(&compiled));
    let better = assay(&["compare", &eager, &compiled, "--fail-on", "slower:5%"]);
    assert_eq!(better.status.code(), Some(0), "{}", stdout(&better));
    assert!(stdout(&better).contains("passed"), "{}", stdout(&better));
    let full = stdout(&assay(&["compare", &eager, &compiled, "--full"]));
    assert!(full.contains("Fusion working"), "{full}");
    let worse = assay(&["compare", &compiled, &eager, "--fail-on", "slower:5%"]);
    assert_eq!(worse.status.code(), Some(1));
    assert!(stdout(&worse).contains("FAILED"));
    let document = json(&assay(&[
        "compare", "--format", "json", &eager, &compiled, "--steps", "20",
    ]));
    assert_eq!(document["schema"]["name"], "assay.trace.compare");
    assert_eq!(document["normalised_by"], "steps given");
    let bad = assay(&["compare", &eager, &compiled, "--fail-on", "faster:5%"]);
    assert_eq!(bad.status.code(), Some(2));
}

#[test]
fn real_runs_compare_per_step() {
    let (before, after) = (fixture("baseline"), fixture("threadgroup_heavy"));
    let output = assay(&[
        "compare",
        "--format",
        "json",
        &before,
        &after,
        "--fail-on",
        "busy:5%",
    ]);
    assert_eq!(output.status.code(), Some(1));
    let document = json(&output);
    let metrics = document["metrics"].as_array().expect("metrics");
    let busy = metrics
        .iter()
        .find(|m| m["metric"] == "busy")
        .expect("busy");
    assert_eq!(
        format!("{:.2}", busy["change"].as_f64().expect("a change")),
        "0.74"
    );
    assert_eq!(busy["significant"], true);
    // The run is 12.2 % longer, which is within its noise of 12.4 %.
    let noise = assay(&["compare", &before, &after, "--fail-on", "slower:5%"]);
    assert_eq!(noise.status.code(), Some(0), "{}", stdout(&noise));
    let same = assay(&["compare", &before, &before, "--fail-on", "slower:0%"]);
    assert_eq!(same.status.code(), Some(0));
    let page = assay(&["compare", "--format", "html", &before, &after]);
    assert!(stdout(&page).contains("id=\"align\""));
}

/// Another seed of the same scenario: what differs is noise, and no gate fails on it.
#[test]
fn a_gate_does_not_fail_on_noise_unless_it_is_strict() {
    let one = tables(&Scenario::eager(12));
    let two = tables(&Scenario {
        seed: 77,
        ..Scenario::eager(12)
    });
    let (mut one, mut two) = (path(&one), path(&two));
    let time = |before: &str, after: &str| {
        let document = json(&assay(&["compare", "--format", "json", before, after]));
        let metrics = document["metrics"].as_array().cloned().expect("metrics");
        metrics
            .into_iter()
            .find(|m| m["metric"] == "time")
            .expect("time")
    };
    if time(&one, &two)["change"].as_f64() < Some(0.0) {
        std::mem::swap(&mut one, &mut two);
    }
    let change = time(&one, &two);
    assert_eq!(change["significant"], false, "{change}");
    assert!(change["change"].as_f64() > Some(0.0));
    let lenient = assay(&["compare", &one, &two, "--fail-on", "slower:0%"]);
    assert_eq!(lenient.status.code(), Some(0), "{}", stdout(&lenient));
    assert!(stdout(&lenient).contains("not more than its noise"));
    let strict = assay(&["compare", &one, &two, "--fail-on", "slower:0%", "--strict"]);
    assert_eq!(strict.status.code(), Some(1));
}

/// Complete events of one lane must nest: that is what viewers rely on.
fn assert_nested(events: &[Value]) {
    let mut lanes: std::collections::BTreeMap<(u64, u64), Vec<(f64, f64)>> = Default::default();
    for event in events.iter().filter(|event| event["ph"] == "X") {
        let key = (
            event["pid"].as_u64().expect("pid"),
            event["tid"].as_u64().expect("tid"),
        );
        let start = event["ts"].as_f64().expect("ts");
        let end = start + event["dur"].as_f64().expect("dur");
        lanes.entry(key).or_default().push((start, end));
    }
    for (lane, mut spans) in lanes {
        spans.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
        let mut open: Vec<f64> = Vec::new();
        for (start, end) in spans {
            while open.last().is_some_and(|&last| last <= start + 1e-6) {
                open.pop();
            }
            if let Some(&last) = open.last() {
                assert!(
                    end <= last + 1e-3,
                    "{lane:?}: {start} to {end} crosses {last}"
                );
            }
            open.push(end);
        }
    }
}

#[test]
fn chrome_traces_are_well_formed_and_nested() {
    let folder = tables(&Scenario::multi_queue(50));
    let output = assay(&["export", &path(&folder)]);
    assert_eq!(output.status.code(), Some(0));
    let document = json(&output);
    let events = document["traceEvents"].as_array().expect("events");
    let named = |name: &str| events.iter().filter(|e| e["name"] == name).count();
    assert!(named("process_name") >= 2 && named("thread_name") >= 3);
    let gpu = events
        .iter()
        .filter(|event| event["cat"] == "gpu" && event["name"] == "left:gemm");
    assert_eq!(gpu.count(), 50);
    assert_nested(events);
    let document = json(&assay(&["export", &fixture("baseline")]));
    assert_nested(document["traceEvents"].as_array().expect("events"));
}

#[test]
fn arrows_lead_from_commits_to_executions_and_values_have_tracks() {
    let folder = tables(&Scenario::multi_queue(50));
    let trace = Trace::new(&Scenario::multi_queue(50));
    for table in Table::MORE {
        let mut bytes = Vec::new();
        write_table(&trace, table, &mut bytes).expect("memory");
        std::fs::write(folder.path().join(table.file_name()), bytes).expect("a file");
    }
    let document = json(&assay(&["export", &path(&folder)]));
    let events = document["traceEvents"].as_array().expect("events");
    let of = |ph: &str| events.iter().filter(|e| e["ph"] == ph).collect::<Vec<_>>();
    let (starts, ends) = (of("s"), of("f"));
    assert_eq!((starts.len(), ends.len()), (100, 100));
    // Each end of an arrow lies inside an event of its lane, and time runs forward.
    let inside = |point: &Value| {
        events.iter().any(|e| {
            let start = e["ts"].as_f64().unwrap_or(f64::NAN);
            let time = point["ts"].as_f64().unwrap_or(f64::NAN);
            e["ph"] == "X"
                && (&e["pid"], &e["tid"]) == (&point["pid"], &point["tid"])
                && start <= time
                && time < start + e["dur"].as_f64().unwrap_or(0.0)
        })
    };
    for end in &ends {
        let start = starts
            .iter()
            .find(|s| s["id"] == end["id"])
            .expect("a start");
        assert!(start["ts"].as_f64() < end["ts"].as_f64());
        assert!(inside(start) && inside(end), "{start} {end}");
    }
    let tracks: std::collections::BTreeSet<&str> =
        of("C").iter().filter_map(|e| e["name"].as_str()).collect();
    for track in [
        "utilisation (%)",
        "command buffers in flight",
        "clock (1 minimum, 2 medium, 3 maximum)",
    ] {
        assert!(tracks.contains(track), "{track} in {tracks:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_reader_that_has_seen_enough_ends_a_command_silently() {
    let folder = tables(&Scenario::eager(6));
    let (folder, real) = (path(&folder), fixture("baseline"));
    for arguments in [
        vec!["export", &folder],
        vec!["export", "--format", "csv", &folder],
        vec!["export", "--table", "metal-gpu-intervals", &folder],
        vec!["report", "--format", "html", &folder],
        vec!["report", &folder],
        vec!["compare", "--format", "html", &real, &real],
    ] {
        let mut child = command(&arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("assay runs");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert_eq!(stderr(&output), "", "{arguments:?}");
    }
}

#[test]
fn work_versions_and_another_engine_are_joined_with_a_recording() {
    let folder = tables(&Scenario::transfer_heavy(40));
    let other = tables(&Scenario::compiled(4));
    let files = tempfile::tempdir().expect("a folder");
    let work = files.path().join("work.csv");
    std::fs::write(
        &work,
        "label,flops,bytes\nscale,2e6,2e6\nBlit *,-,4000000\n",
    )
    .expect("a file");
    let lock = files.path().join("Cargo.lock");
    std::fs::write(
        &lock,
        "[[package]]\nname = \"candle-core\"\nversion = \"0.9.1\"\n",
    )
    .expect("a file");
    let leaks = folder.path().join("leaks.xml");
    let row = "<row leaked-object=\"MTLTextureDescriptor\" size=\"64\" responsible-frame=\"encode\" count=\"3\" responsible-library=\"app\" address=\"0x1\"/>";
    std::fs::write(&leaks, format!("<?xml version=\"1.0\"?>\n<trace-query-result>\n<node xpath='//trace-toc[1]/run[1]/tracks[1]/track[2]/details[1]/detail[1]'>{row}</node></trace-query-result>\n")).expect("a file");
    let text = |p: &Path| p.to_string_lossy().into_owned();
    let baseline = format!("MLX={}", path(&other));
    let (folder, work, lock) = (path(&folder), text(&work), text(&lock));
    let arguments = |format: &'static str| {
        assay(&[
            "report",
            "--full",
            "--format",
            format,
            &folder,
            "--work",
            &work,
            "--libraries",
            &lock,
            "--library",
            "mlx=0.29.1",
            "--baseline",
            &baseline,
        ])
    };
    let document = json(&arguments("json"));
    assert_eq!(document["transfers"]["blit_bytes"], 80 * 4_000_000);
    assert_eq!(document["throughput"][0]["count"], 80);
    assert_eq!(
        document["memory"]["leaks"][0]["object"],
        "MTLTextureDescriptor"
    );
    assert_eq!(document["baseline"]["name"], "MLX");
    let libraries = document["recording"]["libraries"]
        .as_array()
        .expect("libraries");
    assert_eq!(libraries[0]["name"], "mlx");
    assert_eq!(libraries[1]["version"], "0.9.1");
    let page = stdout(&arguments("text"));
    for part in [
        "Throughput of operations",
        "Beside MLX",
        "[leaked-objects]",
        "GB/s",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
    let bad = assay(&["report", &folder, "--work", &lock]);
    assert_eq!(bad.status.code(), Some(3));
    assert!(
        stderr(&bad).contains("Cargo.lock: JSON"),
        "{}",
        stderr(&bad)
    );
    let bad = assay(&["report", &folder, "--chip", "m99"]);
    assert_eq!(bad.status.code(), Some(2));
}

#[test]
fn csv_has_a_line_per_row() {
    let scenario = Scenario::transfer_heavy(10);
    let folder = tables(&scenario);
    let rows = |kind: &str| {
        let output = assay(&["export", "--format", "csv", "--rows", kind, &path(&folder)]);
        assert_eq!(output.status.code(), Some(0));
        stdout(&output).lines().count() - 1
    };
    assert_eq!(rows("intervals"), Trace::new(&scenario).all().len());
    assert_eq!(rows("labels"), 3);
    assert_eq!(rows("buffers"), 10);
    let raw = assay(&[
        "export",
        "--table",
        "metal-gpu-state-intervals",
        &path(&folder),
    ]);
    assert!(stdout(&raw).starts_with("start,duration,state\n"));
    let missing = assay(&["export", "--table", "no-such-table", &path(&folder)]);
    assert_eq!(missing.status.code(), Some(3));
}

#[test]
fn captures_are_reported_and_their_members_taken_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let capture = folder.path().join("kernel.gputrace");
    std::fs::create_dir(&capture).expect("a folder");
    for (name, bytes) in bundle::example("relu_f32", 2).expect("a bundle") {
        std::fs::write(capture.join(name), bytes).expect("a file");
    }
    let capture = capture.to_string_lossy().into_owned();
    let output = assay(&["report", &capture]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    for part in [
        "relu_f32",
        "65536×1×1 threads",
        "instructions 33",
        "waited for 2 of 2",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let document = json(&assay(&["report", "--format", "json", &capture]));
    assert_eq!(
        document["capture"]["pipelines"][0]["statistics"]["temporary_registers"],
        12
    );
    assert_eq!(document["verdict"]["kind"], "no-times");
    let member = assay(&["export", "--member", "B85FF6B0D0E4C838", &capture]);
    assert_eq!(member.stdout, b"MTLB made up");
}

#[test]
fn bad_input_is_exit_3_and_says_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("notes.txt");
    std::fs::write(&file, "hello").expect("a file");
    let file = file.to_string_lossy().into_owned();
    let output = assay(&["report", &file]);
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("help:"), "{}", stderr(&output));
    let output = assay(&["report", "--format", "json", &file]);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(json(&output)["error"]["exit_code"], 3);
    let output = assay(&["report", &path(&folder)]);
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("xctrace export"));
    let output = assay(&["report", "/nonexistent"]);
    assert_eq!(output.status.code(), Some(3));
    let tables = tables(&Scenario::compiled(3));
    let output = assay(&["report", "--process", "nobody", &path(&tables)]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("model_runner (4242)"),
        "{}",
        stderr(&output)
    );
    let output = assay(&["report", "--from", "2", &path(&tables)]);
    assert_eq!(output.status.code(), Some(2));
}

/// A folder with a program called xcrun in it.
fn fake_xcrun(script: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("xcrun");
    let mut out = std::fs::File::create(&file).expect("a file");
    writeln!(out, "#!/bin/sh\n{script}").expect("written");
    drop(out);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755))
            .expect("executable");
    }
    folder
}

fn search_path(first: &Path) -> std::ffi::OsString {
    let rest = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = vec![first.to_owned()];
    folders.extend(std::env::split_paths(&rest));
    std::env::join_paths(folders).expect("a path")
}

#[test]
fn recording_without_a_mac_is_exit_4_with_the_two_commands() {
    let empty = tempfile::tempdir().expect("a folder");
    let output = command(&[
        "record",
        "--time-limit",
        "10s",
        "--",
        "./my prog",
        "--n",
        "5",
    ])
    .env("PATH", empty.path())
    .env("ASSAY_METAL_LIBRARY", empty.path().join("nothing"))
    .output()
    .expect("assay runs");
    assert_eq!(output.status.code(), Some(4));
    let text = stderr(&output);
    assert!(text.contains("xctrace record --template 'Metal System Trace' --output run.trace --time-limit 10s --launch -- './my prog' --n 5"), "{text}");
    assert!(
        text.contains("xctrace export --input run.trace --toc"),
        "{text}"
    );
    let bundle = empty.path().join("run.trace");
    std::fs::create_dir(&bundle).expect("a folder");
    let output = command(&["report", &bundle.to_string_lossy()])
        .env("PATH", empty.path().join("nowhere"))
        .output()
        .expect("assay runs");
    assert_eq!(output.status.code(), Some(4));
}

/// A stand-in for xctrace that hands out made-up tables. `record` is what it does once its output is `$2`; `export` is what
/// it does before an export, whose path is `$xpath`.
#[cfg(unix)]
fn fake_xctrace(tables: &Path, record: &str, export: &str) -> tempfile::TempDir {
    fake_xcrun(&format!(
        r#"shift
case "$1" in
record)
  while [ "$1" != "--output" ]; do shift; done
  {record} ;;
export)
  xpath=
  while [ $# -gt 0 ]; do
    case "$1" in
      --xpath) xpath=$2; shift ;;
      --output) out=$2; shift ;;
    esac
    shift
  done
  {export}
  if [ -z "$xpath" ]; then cp "{0}/toc.xml" "$out"; exit; fi
  echo '<?xml version="1.0"?><trace-query-result>' > "$out"
  for table in $(echo "$xpath" | grep -o 'schema="[^"]*"' | sed 's/schema="//; s/"//'); do
    sed -e '1,/<trace-query-result>/s/.*<trace-query-result>//' -e 's/<?xml[^>]*>//' -e 's/<.trace-query-result>//' "{0}/$table.xml" >> "$out"
  done
  echo '</trace-query-result>' >> "$out" ;;
esac"#,
        tables.display()
    ))
}

/// The whole way is walked: record, table of contents, tables, report.
#[cfg(unix)]
#[test]
fn recording_exports_the_tables_in_one_go_and_reports() {
    let tables = tables(&Scenario::eager(3));
    let exports = tables.path().join("exports");
    let count = format!("echo x >> {}", exports.display());
    let tools = fake_xctrace(tables.path(), "mkdir -p \"$2\"", &count);
    let output = command(&["record", "--format", "json", "--", "./program"])
        .env("PATH", search_path(tools.path()))
        .output()
        .expect("assay runs");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let document = json(&output);
    assert_eq!(document["intervals"]["rows_target"], 3 * 490);
    assert!(document["cpu"]["while_gpu_waits"]["samples"].as_u64() > Some(0));
    let exports = std::fs::read_to_string(&exports).expect("a count");
    assert_eq!(exports.lines().count(), 2, "table of contents, tables");
}

#[cfg(unix)]
#[test]
fn tables_are_exported_alone_where_they_cannot_be_together() {
    let tables = tables(&Scenario::eager(3));
    let refuse = "case \"$xpath\" in *' or '*) echo 'unexpected token' >&2; exit 1;; esac";
    let tools = fake_xctrace(tables.path(), "mkdir -p \"$2\"", refuse);
    let output = command(&["record", "--format", "json", "--", "./program"])
        .env("PATH", search_path(tools.path()))
        .output()
        .expect("assay runs");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(json(&output)["intervals"]["rows_target"], 3 * 490);
}

/// The output of the program is seen, and does not mix with the report.
#[cfg(unix)]
#[test]
fn what_the_recorded_program_prints_is_seen() {
    let tables = tables(&Scenario::eager(3));
    let record = "mkdir -p \"$2\"; echo '64 tokens in 2 s'; echo 'log archive' >&2; exit 3";
    let tools = fake_xctrace(tables.path(), record, "");
    let output = command(&["record", "--format", "json", "--", "./program"])
        .env("PATH", search_path(tools.path()))
        .output()
        .expect("assay runs");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let seen = stderr(&output);
    assert!(
        seen.contains("64 tokens in 2 s") && seen.contains("log archive"),
        "{seen}"
    );
    assert!(!stdout(&output).contains("tokens"));
}

#[cfg(unix)]
#[test]
fn an_existing_recording_is_not_shown_for_a_new_one() {
    let tables = tables(&Scenario::eager(3));
    let tools = fake_xctrace(tables.path(), "exit 1", "");
    let keep = tools.path().join("old.trace");
    std::fs::create_dir(&keep).expect("a folder");
    let output = command(&[
        "record",
        "--keep",
        &keep.to_string_lossy(),
        "--",
        "./program",
    ])
    .env("PATH", search_path(tools.path()))
    .output()
    .expect("assay runs");
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    let said = stderr(&output);
    assert!(said.contains("old.trace exists"), "{said}");
}

/// Ctrl-C goes to the whole group: xctrace stops and saves, and the report follows. No folder is left behind.
#[cfg(unix)]
#[test]
fn ctrl_c_ends_the_recording_and_not_the_report() {
    use std::os::unix::process::CommandExt;
    let tables = tables(&Scenario::eager(3));
    let started = tables.path().join("started");
    let record = format!(
        "out=$2; trap 'mkdir -p \"$out\"; exit 130' INT; touch {}; while :; do sleep 0.1; done",
        started.display()
    );
    let tools = fake_xctrace(tables.path(), &record, "");
    let scratch = tempfile::tempdir().expect("a folder");
    let child = command(&["record", "--format", "json", "--", "./program"])
        .env("PATH", search_path(tools.path()))
        .env("TMPDIR", scratch.path())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .process_group(0)
        .spawn()
        .expect("assay runs");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !started.exists() && std::time::Instant::now() < deadline {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let group = format!("-{}", child.id());
    let killed = std::process::Command::new("kill")
        .args(["-INT", "--", &group])
        .status();
    assert!(killed.is_ok_and(|status| status.success()));
    let output = child.wait_with_output().expect("assay ends");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(json(&output)["intervals"]["rows_target"], 3 * 490);
    assert!(
        stderr(&output).contains("recorded until then"),
        "{}",
        stderr(&output)
    );
    let left = std::fs::read_dir(scratch.path()).expect("a folder").count();
    assert_eq!(left, 0, "folders left behind");
}

#[cfg(unix)]
#[test]
fn without_xcode_it_is_said_where_xctrace_comes_from() {
    let tools = fake_xcrun(
        "echo 'xcrun: error: unable to find utility \"xctrace\", not a developer tool or in PATH' >&2; exit 72",
    );
    let output = command(&["record", "--", "./program"])
        .env("PATH", search_path(tools.path()))
        .output()
        .expect("assay runs");
    assert_eq!(output.status.code(), Some(4));
    let said = stderr(&output);
    assert!(said.contains("xcode-select -s"), "{said}");
}

#[cfg(unix)]
#[test]
fn a_refused_permission_is_said_plainly() {
    let tools = fake_xcrun("echo 'Operation not permitted' >&2; exit 2");
    let output = command(&["record", "--", "./program"])
        .env("PATH", search_path(tools.path()))
        .output()
        .expect("assay runs");
    assert_eq!(output.status.code(), Some(4));
    assert!(
        stderr(&output).contains("DevToolsSecurity"),
        "{}",
        stderr(&output)
    );
}
