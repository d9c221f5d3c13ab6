//! `assay board` as a user meets it, and what `assay bench` puts on it.

#[path = "board/told.rs"]
mod told;

use assay_board::{Board, Filter};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn program(board: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command.args(arguments);
    command.env("ASSAY_BOARD", board);
    command.env(
        "ASSAY_CACHE",
        Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-cache"),
    );
    command.env("COLUMNS", "80").env_remove("NO_COLOR");
    command
}

fn assay(board: &Path, arguments: &[&str]) -> Output {
    program(board, arguments).output().expect("assay runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("board.db");
    (folder, path)
}

/// Whether the machine lacks a clang; the test then says so and passes.
fn no_clang(output: &Output) -> bool {
    let missing = output.status.code() == Some(4);
    if missing {
        assay_fixtures::skip(assay_fixtures::Tool::Clang);
    }
    missing
}

const SESSION: &str = r#"{"apple-m2": {"relu": {"best_time_ms": 0.0145, "speedup_vs_mlx": Infinity, "gflops": 18.1,
    "gbps": 144.6, "metal_source": "x", "max_err": NaN}}}"#;

#[test]
fn a_benchmark_goes_on_the_board_and_comes_back_in_every_format() {
    let (folder, board) = folder();
    let output = assay(
        &board,
        &[
            "bench",
            "relu",
            "softmax",
            "--quick",
            "--dtype",
            "f32",
            "--reference",
            "oracle",
        ],
    );
    if no_clang(&output) {
        return;
    }
    let shown = text(&output.stdout);
    assert!(shown.contains("2 new. assay board shows it."), "{shown}");
    assert!(shown.contains("Of 2 against oracle"), "{shown}");
    let shown = text(&assay(&board, &["board"]).stdout);
    assert!(
        shown.contains("relu f32") && shown.contains("softmax f32"),
        "{shown}"
    );
    // Where the line breaks depends on the name of the CPU.
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("which say nothing about a GPU"), "{shown}");
    assert!(shown.contains("speed-ups are over oracle"), "{shown}");
    let document = json(&assay(&board, &["board", "export", "--format", "json"]));
    assert_eq!(document["schema"]["name"], "assay.board");
    let relu = &document["results"][0];
    assert_eq!(relu["device"]["origin"], "host");
    assert!(
        relu["source"]
            .as_str()
            .is_some_and(|text| text.contains("relu_f32"))
    );
    assert!(
        relu["run"]["samples_ms"]
            .as_array()
            .is_some_and(|all| all.len() >= 5)
    );
    assert!(relu["run"]["environment"]["compiler"].is_string());
    assert_eq!(relu["run"]["reference"]["name"], "oracle");
    let markdown = text(&assay(&board, &["board", "export", "--format", "md"]).stdout);
    assert!(
        markdown.contains("| `softmax` | f32 quick | common |"),
        "{markdown}"
    );
    assert_eq!(markdown.matches("× over oracle)").count(), 2, "{markdown}");
    let csv = assay(
        &board,
        &["board", "export", "--format", "csv", "--kernel", "soft*"],
    );
    let csv = text(&csv.stdout);
    assert_eq!(csv.lines().count(), 2);
    assert_eq!(told::of_csv(&csv, "reference"), "oracle");
    let page = folder.path().join("board.html");
    let output = assay(
        &board,
        &[
            "board",
            "export",
            "--format",
            "html",
            "-o",
            &page.to_string_lossy(),
        ],
    );
    assert_eq!(output.status.code(), Some(0));
    let page = std::fs::read_to_string(&page).expect("written");
    assert!(page.contains("<svg") && page.contains("× over oracle</span>"));
}

#[test]
fn the_same_source_is_never_a_new_record_and_no_save_saves_nothing() {
    let (_folder, board) = folder();
    let bench = [
        "bench", "abs", "--quick", "--dtype", "f32", "--format", "json",
    ];
    let output = assay(&board, &bench);
    if no_clang(&output) {
        return;
    }
    assert_eq!(json(&output)["kernels"][0]["board"]["standing"], "first");
    assert_eq!(
        json(&assay(&board, &bench))["kernels"][0]["board"]["standing"],
        "again"
    );
    let unsaved = [&bench[..], &["--no-save"]].concat();
    assert_eq!(
        json(&assay(&board, &unsaved))["kernels"][0]["board"],
        Value::Null
    );
    let results = json(&assay(&board, &["board", "--format", "json"]));
    assert_eq!(results["results"][0]["runs"], 2);
}

#[test]
fn a_wrong_kernel_does_not_enter() {
    let (folder, board) = folder();
    let file = folder.path().join("wrong.metal");
    let source = "#include <metal_stdlib>\nusing namespace metal;\n\
        kernel void relu_f32(device const float *x [[buffer(0)]], device float *y [[buffer(1)]],\n\
        constant uint &n [[buffer(2)]], constant uint &size [[buffer(3)]], uint i [[thread_position_in_grid]]) {\n\
        for (uint e = i; e < n; e += size) y[e] = x[e];\n}\n";
    std::fs::write(&file, source).expect("written");
    let output = assay(
        &board,
        &[
            "bench",
            "relu",
            "--quick",
            "--source",
            &file.to_string_lossy(),
        ],
    );
    if no_clang(&output) {
        return;
    }
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    let shown = assay(&board, &["board"]);
    assert!(
        text(&shown.stdout).contains("The board is empty"),
        "{}",
        text(&shown.stdout)
    );
}

#[test]
fn a_record_is_run_again_and_compared() {
    let (_folder, board) = folder();
    let output = assay(&board, &["bench", "softsign", "--quick"]);
    if no_clang(&output) {
        return;
    }
    let output = assay(
        &board,
        &["board", "verify", "softsign", "--quick", "--format", "json"],
    );
    let document = json(&output);
    let result = &document["results"][0];
    assert_eq!(
        (&result["kernel"], &result["right"]),
        (&"softsign".into(), &true.into())
    );
    let compared = &result["compared"];
    let number = |name: &str| compared[name].as_f64().expect("a number");
    assert!(number("ratio_low") <= number("ratio") && number("ratio") <= number("ratio_high"));
    let slower = compared["answer"] == "slower";
    assert_eq!(output.status.code(), Some(i32::from(slower)), "{document}");
    let shown = json(&assay(&board, &["board", "--format", "json"]));
    assert_eq!(
        shown["results"][0]["runs"], 4,
        "the new runs are on the board"
    );
    let output = assay(&board, &["board", "verify", "nothing"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("nothing verified of nothing is on the board"));
}

#[test]
fn claims_are_shown_apart_and_bad_files_do_not_stop_the_others() {
    let (folder, board) = folder();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("written");
        path.to_string_lossy().into_owned()
    };
    let (good, bad, empty) = (
        file("a.json", SESSION),
        file("b.json", "{\n,"),
        file("c.json", ""),
    );
    let output = assay(&board, &["board", "import", &bad, &good, &empty]);
    assert_eq!(output.status.code(), Some(3));
    let (said, wrong) = (text(&output.stdout), text(&output.stderr));
    assert!(said.contains("1 claims are new"), "{said}");
    assert!(
        wrong.contains("b.json: line 2, column 1: key must be a string"),
        "{wrong}"
    );
    assert!(wrong.contains("c.json: the file is empty"), "{wrong}");
    let shown = text(&assay(&board, &["board"]).stdout);
    assert!(shown.contains("The board is empty"), "{shown}");
    assert!(
        shown.contains("1 claims of others are not shown: --claims"),
        "{shown}"
    );
    let shown = text(&assay(&board, &["board", "--claims"]).stdout);
    assert!(
        shown.contains("not verified and not ranked") && shown.contains("14.5 µs"),
        "{shown}"
    );
}

#[test]
fn what_is_no_board_has_its_own_message_and_exit_code_3() {
    let (folder, board) = folder();
    let fails = |board: &Path, arguments: &[&str], message: &str| {
        let output = assay(board, arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains(message) && said.contains("help:"), "{said}");
    };
    fails(&board, &["board"], "there is no board");
    std::fs::write(
        &board,
        "not a database at all, but long enough to look like one".repeat(20),
    )
    .expect("written");
    for arguments in [
        &["board"][..],
        &["bench", "relu"],
        &["board", "export", "--format", "csv"],
    ] {
        fails(
            &board,
            arguments,
            "this is no board: the file is not a database",
        );
    }
    fails(folder.path(), &["board"], "it is a folder");
    let newer = folder.path().join("newer.db");
    drop(Board::open(&newer).expect("a board"));
    let database = rusqlite::Connection::open(&newer).expect("opens");
    database
        .pragma_update(None, "user_version", 1000)
        .expect("written");
    fails(&newer, &["board"], "this board has form 1000");
    fails(&newer, &["bench", "relu"], "this board has form 1000");
    let output = assay(&newer, &["board", "--format", "json"]);
    assert_eq!(json(&output)["error"]["exit_code"], 3);
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_stops_only_who_asked_for_it() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let (folder, board) = folder();
    let mut open = Board::open(&board).expect("a board");
    open.import(&[], 0).expect("nothing");
    drop(open);
    let mode = |mode| std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(&board, mode(0o444)).expect("changed");
    std::fs::set_permissions(folder.path(), mode(0o555)).expect("changed");
    let nobody = |arguments: &[&str]| {
        let mut command = program(&board, arguments);
        // The rules of folders do not hold for root.
        let root = std::fs::metadata("/proc/self")
            .is_ok_and(|file| std::os::unix::fs::MetadataExt::uid(&file) == 0);
        if root {
            command.uid(65534);
        }
        command.output()
    };
    // Where another user cannot reach the program there is nothing to see.
    if let Ok(output) = nobody(&["board"]) {
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(text(&output.stdout).contains("The board is empty"));
        let output = nobody(&["bench", "relu"]).expect("runs");
        assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
        assert!(
            text(&output.stderr).contains("cannot be written"),
            "{}",
            text(&output.stderr)
        );
    }
    std::fs::set_permissions(folder.path(), mode(0o755)).expect("changed back");
}

/// Starts a benchmark of many kernels.
fn sweep(board: &Path, names: &[&str]) -> Child {
    let arguments = [&["bench"], names, &["--quick", "--dtype", "f32", "-q"]].concat();
    let mut command = program(board, &arguments);
    let command = command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("assay runs")
}

const HERS: [&str; 6] = ["relu", "abs", "clip", "exp", "tanh", "softmax"];
const HIS: [&str; 9] = [
    "gelu", "elu", "mish", "selu", "swish", "sigmoid", "softplus", "softsign", "hardtanh",
];

/// Two sweeps write one board; one of them is killed once it has written something.
#[test]
fn two_benchmarks_at_once_and_one_killed_lose_nothing() {
    let (_folder, board) = folder();
    let probe = assay(&board, &["bench", "log", "--quick", "--dtype", "f32"]);
    if no_clang(&probe) {
        return;
    }
    let names = |board: &Path| -> Vec<String> {
        let board = Board::open_to_read(board).expect("a board");
        let entries = board.entries(&Filter::default()).expect("whole");
        // Every result that is there is whole.
        for entry in &entries {
            assert!(entry.record && entry.run.samples_ms.len() >= 5, "{entry:?}");
            assert!(
                board
                    .source(&entry.source_hash)
                    .is_ok_and(|text| !text.is_empty())
            );
        }
        entries.into_iter().map(|entry| entry.kernel).collect()
    };
    let is_his = |name: &String| HIS.contains(&name.as_str());
    let (mut stays, mut dies) = (sweep(&board, &HERS), sweep(&board, &HIS));
    let start = Instant::now();
    let mut before = Vec::new();
    while !before.iter().any(is_his) && start.elapsed() < Duration::from_secs(120) {
        std::thread::sleep(Duration::from_millis(10));
        before = names(&board);
    }
    // SIGKILL: no handler runs, nothing is tidied up.
    dies.kill().expect("killed");
    dies.wait().expect("ended");
    assert!(stays.wait().expect("ended").success());
    let after = names(&board);
    assert!(
        before.iter().all(|name| after.contains(name)),
        "{before:?} {after:?}"
    );
    assert!(
        HERS.iter()
            .all(|name| after.iter().any(|other| other == name)),
        "{after:?}"
    );
    assert!(after.iter().any(is_his), "{after:?}");
    // And the board takes the rest: what was not finished is simply not there yet.
    let mut again = sweep(&board, &HIS);
    assert!(again.wait().expect("ended").success());
    assert_eq!(names(&board).len(), 1 + HERS.len() + HIS.len());
}

/// A relu that carries each number through so many steps, each of which needs the one before, and ends with the same.
fn relu_of(steps: u32, remark: &str) -> String {
    format!(
        "// {remark}\n#include <metal_stdlib>\nusing namespace metal;\n\
         kernel void relu_f32(device const float *x [[buffer(0)]], device float *y [[buffer(1)]],\n\
         constant uint &n [[buffer(2)]], constant uint &grid_size [[buffer(3)]],\n\
         uint i [[thread_position_in_grid]]) {{\n\
         const uint zero = n >> 31;\n\
         for (uint e = i; e < n; e += grid_size) {{\n\
         uint bits = as_type<uint>(max(x[e], 0.0f));\n\
         for (uint step = 0; step < {steps}u + zero; ++step) bits = (bits ^ zero) + zero;\n\
         y[e] = as_type<float>(bits); }} }}\n"
    )
}

/// The number an environment variable holds.
fn number_from(variable: &str) -> Option<usize> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Returns true if a challenger takes the record from a holder, each a run of the whole program.
fn takes_the_record(board: &Path, holder: Option<&str>, challenger: &str) -> Option<bool> {
    let path = board.with_extension("metal");
    let mut last = None;
    for text in holder.into_iter().chain([challenger]) {
        std::fs::write(&path, text).expect("written");
        let shown = path.to_string_lossy();
        let mut words = vec!["bench", "relu", "--source", &shown, "--reference", "none"];
        words.extend(["--format", "json"]);
        // Two runs are for every day, and need not be thorough.
        let thorough = number_from("RACES").is_some() || number_from("GAINS").is_some();
        words.extend((!thorough).then_some("--quick"));
        let output = assay(board, &words);
        if no_clang(&output) {
            return None;
        }
        let row = json(&output)["kernels"][0].clone();
        assert_eq!(row["right"], true, "{row}");
        last = Some(row["board"]["standing"] == "record");
    }
    last
}

/// `RACES=300` lets so many challengers run whose program is the holder's own, `GAINS=30` so many that do 5 % less. A
/// busy machine hides a gain; it must never make one up.
#[allow(clippy::print_stderr, reason = "the figures of a thorough run")]
#[test]
fn records_are_taken_by_gains_and_not_by_chance() {
    let races = number_from("RACES").unwrap_or(2);
    let (_folder, board) = folder();
    let mut made_up = 0;
    for number in 0..races {
        let holder = (number == 0).then(|| relu_of(200, "holder"));
        let challenger = relu_of(200, &format!("challenger {number}"));
        let Some(taken) = takes_the_record(&board, holder.as_deref(), &challenger) else {
            return;
        };
        made_up += usize::from(taken);
    }
    let mut found = 0;
    let gains = number_from("GAINS").unwrap_or(0);
    for number in 0..gains {
        let (_folder, board) = folder();
        let holder = relu_of(210, &format!("holder {number}"));
        let taken = takes_the_record(&board, Some(&holder), &relu_of(200, "less"));
        found += usize::from(taken == Some(true));
    }
    eprintln!("{made_up} of {races} false records; {found} of {gains} gains became one");
    assert!(made_up * 300 <= races.max(300), "{made_up} of {races}");
}
