//! Sweeps that are interrupted, killed and shared: what was finished is kept once.

use super::bench_common::{assay, command, no_clang, scratch, text};
use super::{entries, json, kill, until};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Starts something whose output nobody reads.
fn started(cache: &Path, arguments: &[&str]) -> Child {
    let mut command = command(cache, arguments);
    let command = command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("started")
}

#[test]
fn ctrl_c_ends_with_130_and_one_kernel_is_resumed() {
    let cache = scratch("sweep-interrupted");
    let arguments = ["softmax", "--quick", "--iters", "40", "--seed", "5"];
    if no_clang(&assay(&cache, &["relu", "--quick", "--no-time"])) {
        return;
    }
    let mut child = started(&cache, &[&arguments[..], &["--warmup", "2000"]].concat());
    until("one element type is finished", || entries(&cache) >= 2);
    let pid = child.id().to_string();
    let sent = Command::new("kill").args(["-INT", &pid]).status();
    assert!(sent.is_ok_and(|status| status.success()));
    let status = child.wait().expect("ended");
    if status.success() {
        // It was done before the signal came.
        return;
    }
    assert_eq!(status.code(), Some(130), "{status}");
    let resumed = [
        &arguments[..],
        &["--warmup", "2000", "--resume", "--format", "json"],
    ]
    .concat();
    let output = assay(&cache, &resumed);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report = json(&output);
    let types = report["kernels"].as_array().expect("rows");
    assert_eq!(types.len(), 3, "f32, f16 and bf16");
    assert_eq!(entries(&cache), 0);
    assert_eq!(runs(&cache).len(), 3, "each was saved once");
}

/// Kernel and type of each run on the board.
fn runs(cache: &Path) -> Vec<(String, String, String)> {
    let board = rusqlite::Connection::open(cache.join("board.db")).expect("a board");
    let sound: String = board
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .expect("checked");
    assert_eq!(sound, "ok");
    let query =
        "SELECT kernel, dtype, seed FROM run JOIN place ON place.id = run.place ORDER BY 1, 2";
    let mut statement = board.prepare(query).expect("a query");
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    rows.expect("rows").map(|row| row.expect("a row")).collect()
}

#[test]
fn two_resumed_sweeps_share_the_work() {
    let cache = scratch("sweep-shared");
    if no_clang(&assay(&cache, &["relu", "--quick", "--no-time"])) {
        return;
    }
    let kernels = ["relu", "cumsum", "softmax", "exp", "sqr_mm", "tanh"];
    let arguments = [&kernels[..], &["--quick", "--dtype", "f32", "--resume"]].concat();
    let mut both = [started(&cache, &arguments), started(&cache, &arguments)];
    for child in &mut both {
        assert_eq!(child.wait().expect("ended").code(), Some(0));
    }
    let names: Vec<String> = runs(&cache).into_iter().map(|(name, ..)| name).collect();
    assert_eq!(
        names,
        ["cumsum", "exp", "relu", "softmax", "sqr_mm", "tanh"]
    );
}

/// SIGKILL at random times, again and again, until the sweep is done; then the next one. `ROUNDS=200` kills more often.
#[allow(clippy::print_stderr, reason = "the figures of a thorough run")]
#[test]
fn a_benchmark_killed_at_any_time_loses_and_doubles_nothing() {
    let cache = scratch("sweep-killed");
    if no_clang(&assay(&cache, &["relu", "--quick", "--no-time"])) {
        return;
    }
    let rounds = std::env::var("ROUNDS").ok();
    let rounds: u32 = rounds.and_then(|text| text.parse().ok()).unwrap_or(5);
    let kernels = ["abs", "exp", "relu", "tanh"];
    let arguments = [
        &kernels[..],
        &["--quick", "--iters", "5", "--dtype", "f32", "--resume"],
    ]
    .concat();
    let (mut kills, mut sweeps, mut before) = (0, 0, Vec::new());
    let mut random = assay_bench::random::Random::new(u64::from(std::process::id()));
    while kills < rounds || sweeps == 0 {
        let mut child = started(&cache, &arguments);
        std::thread::sleep(Duration::from_millis(5 + random.below(700)));
        let ended = child.try_wait().expect("asked");
        if ended.is_none() {
            kill(child);
            kills += 1;
        } else {
            sweeps += usize::from(ended.is_some_and(|status| status.success()));
        }
        if kills >= rounds && sweeps == 0 {
            let mut last = started(&cache, &arguments);
            assert!(last.wait().expect("ended").success());
            sweeps += 1;
        }
        if !cache.join("board.db").exists() {
            continue;
        }
        let now = runs(&cache);
        assert!(
            before.iter().all(|run| now.contains(run)),
            "{before:?} {now:?}"
        );
        let mut distinct = now.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!(now.len(), distinct.len(), "twice from one sweep: {now:?}");
        before = now;
    }
    // What was finished is there for every kernel, by one seed.
    let whole = before.iter().filter(|(name, ..)| name == "tanh").count();
    assert!(whole >= sweeps, "{whole} of {sweeps}: {before:?}");
    eprintln!(
        "{kills} kills, {sweeps} sweeps finished, {} runs",
        before.len()
    );
}
