//! First screens: what commands answer on a terminal of 80×24 and of 120×40, as golden files under `screens/`.
//!
//! An answer leaves a line for the prompt. `BLESS=1` writes the files (`scripts/screens.sh` does so and shows them). Answers that
//! hold times of this machine, or say what it has, have no golden file; they only have to fit.

#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::Command;

const SIZES: [(usize, usize); 2] = [(80, 24), (120, 40)];

/// A name, a command line, and whether its answer is the same on every machine.
const SCREENS: &[(&str, &str, bool)] = &[
    ("bare", "", true),
    (
        "profile",
        "profile examples/kernels/matmul_naive.metal",
        true,
    ),
    (
        "profile-code",
        "profile examples/kernels/softmax.metal",
        true,
    ),
    (
        "profile-several",
        "profile examples/faults/races.metal",
        true,
    ),
    (
        "predict",
        "predict examples/kernels/matmul_tiled.metal --grid 1024,1024 --threadgroup 16,16 --bytes 3=u32:1024 \
         --bytes 4=u32:1024 --bytes 5=u32:1024",
        true,
    ),
    (
        "profile-cure",
        "profile examples/pairs/bank-conflicts/transpose_tile.faulty.metal",
        true,
    ),
    (
        "rewrite-edit",
        "rewrite examples/pairs/bank-conflicts/transpose_tile.faulty.metal --recipe pad:line=12",
        true,
    ),
    (
        "tune",
        "tune softmax_naive --llm replay:demo --attempts target/screens-attempts.db",
        false,
    ),
    ("gate", "gate --config examples/assay.toml", true),
    ("predict-chips", "predict softmax --chip all", true),
    (
        "diff",
        "diff examples/kernels/matmul_naive.metal examples/kernels/matmul_tiled.metal",
        true,
    ),
    (
        "diff-code",
        "diff examples/kernels/softmax.metal examples/kernels/matmul_tiled.metal",
        true,
    ),
    ("rewrite-list", "rewrite examples/naive/matmul.metal", true),
    ("launch", "launch examples/kernels/softmax.metal", true),
    (
        "run-check",
        "run examples/faults/races.metal -f lost_update --check",
        true,
    ),
    (
        "profile-all",
        "profile examples/faults/races.metal --all --keep-going",
        false,
    ),
    (
        "rewrite",
        "rewrite examples/naive/matmul.metal --recipe matrices:m=32,n=32,k=16",
        true,
    ),
    (
        "trace-report",
        "trace report fixtures/xctrace/baseline",
        true,
    ),
    (
        "trace-report-programs",
        "trace report examples/traces/eager.recording",
        true,
    ),
    (
        "trace-compare",
        "trace compare fixtures/xctrace/baseline fixtures/xctrace/register_pressure",
        true,
    ),
    ("inspect", "inspect examples/kernels/softmax.metal", false),
    (
        "inspect-several",
        "inspect examples/faults/races.metal",
        false,
    ),
    ("chips", "chips", true),
    ("chips-m2", "chips m2", true),
    ("explain", "explain", true),
    ("explain-word", "explain 'load/store unit'", true),
    ("explain-rule", "explain tile-loads", true),
    (
        "bench",
        "bench softmax --dtype f32 --quick --board target/screens.db",
        false,
    ),
    ("board", "board --board target/screens.db", false),
    ("doctor", "doctor", false),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What a terminal of a size shows; nothing if the command needs a clang and there is none.
fn screen(command: &str, (columns, rows): (usize, usize)) -> Option<String> {
    let line = format!(
        "stty cols {columns} rows {rows}; assay {command} 2>/dev/null || test $? -ne 4 || echo NO-CLANG"
    );
    let folder = Path::new(env!("CARGO_BIN_EXE_assay")).parent()?;
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .current_dir(root())
        .env("PATH", format!("{}:{path}", folder.display()))
        .env("NO_COLOR", "1")
        .env("TERM", "xterm")
        .env_remove("COLUMNS")
        .output()
        .expect("script(1) of util-linux makes the terminal");
    let text = String::from_utf8_lossy(&output.stdout).replace('\r', "");
    if text.contains("NO-CLANG") {
        assay_fixtures::skip(assay_fixtures::Tool::Clang);
        return None;
    }
    Some(text)
}

#[test]
fn every_answer_fits_its_screen_and_is_the_golden_one() {
    let mut wrong = Vec::new();
    for (name, command, is_golden) in SCREENS {
        for (columns, rows) in SIZES {
            let Some(text) = screen(command, (columns, rows)) else {
                continue;
            };
            // A command or comment to copy is not broken; the terminal does that.
            let is_command = |line: &&str| {
                let line = line.trim_start();
                line.starts_with("assay ") || line.starts_with("// assay: launch ")
            };
            let rows_of = |line: &str| line.chars().count().div_ceil(columns).max(1);
            let lines: usize = text.lines().map(rows_of).sum();
            if lines == 0 || lines >= rows {
                wrong.push(format!("{name} {columns}x{rows}: {lines} lines\n{text}"));
            }
            let mut others = text.lines().filter(|line| !is_command(line));
            if let Some(long) = others.find(|line| line.chars().count() > columns) {
                wrong.push(format!("{name}: wider than {columns} columns: {long}"));
            }
            if *is_golden {
                let path = root().join(format!(
                    "crates/cli/tests/screens/{name}-{columns}x{rows}.txt"
                ));
                if std::env::var_os("BLESS").is_some() {
                    std::fs::write(&path, &text).expect("writable");
                }
                let golden = std::fs::read_to_string(&path).unwrap_or_default();
                if golden != text {
                    wrong.push(format!(
                        "{name} {columns}x{rows} is not current (BLESS=1):\n{text}"
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
