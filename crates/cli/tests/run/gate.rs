//! `assay gate` on repositories that are made here: thirty kernels, and pull requests that make one of them worse, wrong
//! or racy.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("gate-cache")
}

fn assay(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_assay"))
        .args(arguments)
        .current_dir(folder)
        .env("ASSAY_CACHE", cache())
        .env("NO_COLOR", "1")
        .env("COLUMNS", "200")
        .output()
        .expect("assay runs")
}

fn git(folder: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=Gate", "-c", "user.email=gate@example.com"])
        .args([
            "-c",
            "protocol.file.allow=always",
            "-c",
            "init.defaultBranch=main",
        ])
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("git runs");
    assert!(output.status.success(), "git {arguments:?}: {output:?}");
}

fn text(output: &Output) -> String {
    let parts = [&output.stdout, &output.stderr];
    parts
        .map(|part| String::from_utf8_lossy(part).into_owned())
        .concat()
}

const TILED: &str = r"#include <metal_stdlib>
using namespace metal;
// assay: launch --size N=64 --grid N,N --threadgroup 8,8 --buffer 0=zeros:f32:NxN --buffer 1=random:f32:NxN:1 --buffer 2=random:f32:NxN:2 --bytes 3=u32:N
kernel void tiled(device float *C [[buffer(0)]], device const float *A [[buffer(1)]],
                  device const float *B [[buffer(2)]], constant uint &n [[buffer(3)]],
                  uint2 l [[thread_position_in_threadgroup]], uint2 g [[threadgroup_position_in_grid]]) {
    threadgroup float a[8][8], b[8][9];
    uint row = g.y * 8 + l.y, col = g.x * 8 + l.x;
    float sum = 0;
    for (uint t = 0; t < n; t += 8) {
        a[l.y][l.x] = A[row * n + t + l.x];
        b[l.y][l.x] = B[(t + l.y) * n + col];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint k = 0; k < 8; ++k)
            sum = fma(a[l.y][k], b[k][l.x], sum);
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    C[row * n + col] = sum;
}
";

const ROWS: &str = r"#include <metal_stdlib>
using namespace metal;
kernel void rows(device float *y [[buffer(0)]], device const float *x [[buffer(1)]], constant uint &n [[buffer(2)]],
                 uint r [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint i = 0; i < n; ++i)
        sum += x[r * n + i];
    y[r] = sum;
}
";

/// `y = f(x)` for a few functions, each in a file of its own.
fn elementwise(number: usize) -> String {
    let bodies = [
        "x[i] * SCALE + 1",
        "max(x[i], 0.0f)",
        "x[i] / (1 + exp(-x[i]))",
        "sqrt(abs(x[i]))",
        "x[i] * x[i] * x[i]",
        "sin(x[i]) * cos(x[i])",
    ];
    format!(
        "#include <metal_stdlib>\n#include \"scale.h\"\nusing namespace metal;\n\
         // assay: launch --size N=2000 --grid N --threadgroup 64 --buffer 0=zeros:f32:N --buffer 1=random:f32:N:{number}\n\
         kernel void map{number}(device float *y [[buffer(0)]], device const float *x [[buffer(1)]],\n\
         {indent}uint i [[thread_position_in_grid]]) {{\n    y[i] = {};\n}}\n",
        bodies[number % bodies.len()],
        indent = "                 ",
    )
}

const CONFIG: &str = r#"chips = ["m1", "m2"]

[[kernels]]
files = ["kernels/*.metal"]
include = ["include"]

[launch]
rows = "--size R=256 --size N=256 --grid R --threadgroup 64 --buffer 0=zeros:f32:R --buffer 1=random:f32:RxN --bytes 2=u32:N"

[oracle]
map1 = "y[i] = max(x[i], 0)"
"#;

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    std::fs::write(path, text).expect("written");
}

/// A repository with thirty kernels, committed on `main`; made once, and looked at once.
fn origin() -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("gate-origin");
        let _ = std::fs::remove_dir_all(&folder);
        write(&folder, "kernels/tiled.metal", TILED);
        write(&folder, "kernels/rows.metal", ROWS);
        write(
            &folder,
            "include/scale.h",
            "#pragma once\n#define SCALE 2\n",
        );
        for number in 0..28 {
            write(
                &folder,
                &format!("kernels/map{number}.metal"),
                &elementwise(number),
            );
        }
        write(&folder, "assay.toml", CONFIG);
        git(&folder, &["init", "-q"]);
        git(&folder, &["add", "-A"]);
        git(&folder, &["commit", "-q", "-m", "Thirty kernels"]);
        let first = assay(&folder, &["gate"]);
        if first.status.code() == Some(4) {
            assay_fixtures::skip(assay_fixtures::Tool::Clang);
        } else {
            assert_eq!(first.status.code(), Some(0), "{}", text(&first));
        }
        folder
    })
}

/// A clone on a branch of its own, which goes away; none without a clang.
fn clone() -> Option<crate::common::Folder> {
    let folder = crate::common::Folder::new();
    let source = origin().display().to_string();
    let probe = assay(origin(), &["gate", "-q"]);
    if probe.status.code() == Some(4) {
        return None;
    }
    git(folder.0.path(), &["clone", "-q", &source, "work"]);
    git(
        &folder.0.path().join("work"),
        &["checkout", "-q", "-b", "change"],
    );
    Some(folder)
}

/// Replaces text of a file, which must be there.
fn edit(work: &Path, file: &str, from: &str, to: &str) {
    let path = work.join(file);
    let before = std::fs::read_to_string(&path).expect("a file");
    assert!(before.contains(from), "{file} has no {from}");
    std::fs::write(path, before.replacen(from, to, 1)).expect("written");
}

/// Changes a clone as a pull request would, and gates it.
fn pull_request(change: impl FnOnce(&Path)) -> Option<(Output, Value)> {
    let clone = clone()?;
    let work = clone.0.path().join("work");
    change(&work);
    git(&work, &["add", "-A"]);
    git(&work, &["commit", "-q", "-m", "A change"]);
    let before = std::fs::read(work.join(".git/index")).expect("an index");
    let output = assay(
        &work,
        &["gate", "--against", "origin/main", "--format", "json"],
    );
    assert_eq!(
        before,
        std::fs::read(work.join(".git/index")).expect("an index")
    );
    let document = serde_json::from_slice(&output.stdout);
    let document = document.unwrap_or_else(|_| panic!("{}", text(&output)));
    Some((output, document))
}

/// Rule and place of every problem.
fn problems(report: &Value) -> Vec<(String, String)> {
    let problems = report["problems"].as_array().expect("problems").iter();
    let told = problems.map(|problem| {
        let place = &problem["place"];
        let file = place["file"].as_str().expect("a file");
        let rule = problem["rule"].as_str().expect("a rule");
        (rule.to_owned(), format!("{file}:{}", place["line"]))
    });
    told.collect()
}

#[track_caller]
fn caught(change: impl FnOnce(&Path), expected: &[(&str, &str)]) -> Option<Value> {
    let (output, report) = pull_request(change)?;
    let found = problems(&report);
    let found: Vec<(&str, &str)> = found
        .iter()
        .map(|(rule, place)| (rule.as_str(), place.as_str()))
        .collect();
    assert_eq!(found, expected, "{report:#}");
    let code = if expected.is_empty() { 0 } else { 1 };
    assert_eq!(output.status.code(), Some(code));
    Some(report)
}

#[test]
fn a_second_run_over_thirty_kernels_takes_less_than_five_seconds() {
    let Some(clone) = clone() else { return };
    let work = clone.0.path().join("work");
    for arguments in [&["gate"][..], &["gate", "--against", "origin/main"][..]] {
        let start = Instant::now();
        let output = assay(&work, arguments);
        let taken = start.elapsed();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        assert!(
            text(&output).contains("passed: 30 kernels"),
            "{}",
            text(&output)
        );
        assert!(taken < Duration::from_secs(5), "{taken:?}");
    }
}

#[test]
fn a_pull_request_that_makes_a_kernel_slower_is_caught_at_the_line() {
    // Every operand comes from memory instead of the tile; the results are the same.
    let slower = |work: &Path| {
        let (from, to) = (
            "fma(a[l.y][k], b[k][l.x], sum)",
            "fma(A[row * n + t + k], B[(t + k) * n + col], sum)",
        );
        edit(work, "kernels/tiled.metal", from, to);
    };
    let Some(report) = caught(slower, &[("slower", "kernels/tiled.metal:15")]) else {
        return;
    };
    let message = report["problems"][0]["message"]
        .as_str()
        .expect("a message");
    assert!(message.contains("allowed 5 %"), "{message}");
    assert_eq!(report["summary"]["same"], 29);
}

#[test]
fn a_pull_request_that_makes_a_kernel_wrong_is_caught_at_the_line() {
    let wrong = |work: &Path| {
        edit(
            work,
            "kernels/rows.metal",
            "uint i = 0; i < n",
            "uint i = 1; i < n",
        )
    };
    let Some(report) = caught(wrong, &[("wrong-result", "kernels/rows.metal:6")]) else {
        return;
    };
    let message = report["problems"][0]["message"]
        .as_str()
        .expect("a message");
    assert!(
        message.contains("buffer 0 (\"y\") differs at N = 256, R = 256: element 0 was "),
        "{message}"
    );
    // A kernel with an oracle is judged by it, whatever it computed before.
    let wrong = |work: &Path| {
        edit(
            work,
            "kernels/map1.metal",
            "max(x[i], 0.0f)",
            "max(x[i], 0.25f)",
        )
    };
    let report = caught(wrong, &[("wrong-result", "kernels/map1.metal:7")]).expect("clang");
    let message = report["problems"][0]["message"]
        .as_str()
        .expect("a message");
    assert!(
        message.starts_with("the oracle says otherwise at N = 2000"),
        "{message}"
    );
    let same = |work: &Path| {
        edit(
            work,
            "kernels/map1.metal",
            "max(x[i], 0.0f)",
            "x[i] > 0 ? x[i] : 0",
        )
    };
    caught(same, &[]);
}

#[test]
fn a_pull_request_that_makes_a_kernel_racy_is_caught_at_both_lines() {
    let racy = |work: &Path| {
        let barrier = "        threadgroup_barrier(mem_flags::mem_threadgroup);\n    }\n";
        edit(work, "kernels/tiled.metal", barrier, "    }\n");
    };
    let expected = [
        ("not-clean", "kernels/tiled.metal:11"),
        ("not-clean", "kernels/tiled.metal:12"),
    ];
    let Some(report) = caught(racy, &expected) else {
        return;
    };
    let text = |key: &str| {
        report["problems"][0][key]
            .as_str()
            .expect("a text")
            .to_owned()
    };
    assert!(
        text("message").contains("read at kernels/tiled.metal:15"),
        "{report:#}"
    );
    assert!(
        text("advice").starts_with("the kernel changed at kernels/tiled.metal:16"),
        "{report:#}"
    );
}

#[test]
fn a_header_that_changes_what_kernels_compute_is_named() {
    let change = |work: &Path| edit(work, "include/scale.h", "SCALE 2", "SCALE 3");
    let Some((_, report)) = pull_request(change) else {
        return;
    };
    let found = problems(&report);
    // Kernels 0, 6, 12, 18 and 24 use it.
    assert_eq!(found.len(), 5, "{report:#}");
    assert!(
        found.iter().all(|(rule, _)| rule == "wrong-result"),
        "{found:?}"
    );
}

#[test]
fn files_are_renamed_kernels_come_and_go_and_what_was_broken_is_mended() {
    let Some(clone) = clone() else { return };
    let work = clone.0.path().join("work");
    edit(&work, "kernels/rows.metal", "float sum", "flaot sum");
    git(&work, &["commit", "-q", "-a", "-m", "Break rows"]);
    edit(&work, "kernels/rows.metal", "flaot sum", "float sum");
    std::fs::rename(
        work.join("kernels/tiled.metal"),
        work.join("kernels/matmul.metal"),
    )
    .expect("renamed");
    std::fs::remove_file(work.join("kernels/map5.metal")).expect("removed");
    write(&work, "kernels/new.metal", &elementwise(100));
    // The work tree as it is, new files that nobody added too.
    let output = assay(&work, &["gate", "--against", "HEAD", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let kernel = |name: &str| {
        let mut kernels = report["kernels"].as_array().expect("kernels").iter();
        kernels
            .find(|kernel| kernel["function"] == name)
            .expect("there")
            .clone()
    };
    assert_eq!(kernel("rows")["outcome"], "broken-before");
    assert_eq!(kernel("tiled")["outcome"], "same");
    assert_eq!(kernel("tiled")["moved_from"], "kernels/tiled.metal");
    assert_eq!(kernel("map5")["outcome"], "deleted");
    assert_eq!(kernel("map100")["outcome"], "new");
    // And the other way round: it compiled before and does not any more.
    git(&work, &["add", "-A"]);
    git(&work, &["commit", "-q", "-m", "Mended"]);
    edit(&work, "kernels/rows.metal", "float sum", "flaot sum");
    let output = assay(&work, &["gate", "--against", "HEAD"]);
    assert_eq!(output.status.code(), Some(1));
    let text = text(&output);
    assert!(
        text.starts_with("kernels/rows.metal:5: error: unknown type name 'flaot'"),
        "{text}"
    );
}

#[test]
fn a_shallow_clone_is_compared_with_what_it_has() {
    let Some(full) = clone() else { return };
    let work = full.0.path().join("work");
    edit(
        &work,
        "kernels/rows.metal",
        "sum += x[r * n + i]",
        "sum -= x[r * n + i]",
    );
    git(&work, &["commit", "-q", "-a", "-m", "A change"]);
    git(full.0.path(), &["clone", "-q", "--bare", "work", "bare"]);
    let bare = format!("file://{}", full.0.path().join("bare").display());
    git(
        full.0.path(),
        &[
            "clone", "-q", "--depth", "1", "--branch", "change", &bare, "shallow",
        ],
    );
    let shallow = full.0.path().join("shallow");
    let output = assay(&shallow, &["gate", "--against", "origin/main"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    let fetch = "git fetch --depth=1 origin +refs/heads/main:refs/remotes/origin/main";
    assert!(text(&output).contains(fetch), "{}", text(&output));
    let words: Vec<&str> = fetch.split(' ').skip(1).collect();
    git(&shallow, &words);
    let output = assay(&shallow, &["gate", "--against", "origin/main"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(
        text(&output).contains("kernels/rows.metal:7: error: rows: computes something else"),
        "{}",
        text(&output)
    );
    assert!(
        text(&output).contains("a shallow clone"),
        "{}",
        text(&output)
    );
}

#[test]
fn a_baseline_is_written_compared_with_and_accepted_anew() {
    let Some(clone) = clone() else { return };
    let work = clone.0.path().join("work");
    let output = assay(&work, &["gate", "--update"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    edit(
        &work,
        "assay.toml",
        "chips",
        "baseline = \"figures.json\"\nchips",
    );
    assert!(text(&assay(&work, &["gate"])).contains("figures.json is not there yet"));
    assert_eq!(assay(&work, &["gate", "--update"]).status.code(), Some(0));
    let figures = std::fs::read_to_string(work.join("figures.json")).expect("figures");
    assert_eq!(figures.lines().count(), 30 + 5, "a line a kernel");
    let output = assay(&work, &["gate"]);
    assert!(
        text(&output).contains("30 kernels against figures.json: 30 the same"),
        "{}",
        text(&output)
    );
    edit(
        &work,
        "kernels/rows.metal",
        "sum += x[r * n + i]",
        "sum += sin(x[r * n + i])",
    );
    let output = assay(&work, &["gate"]);
    assert_eq!(output.status.code(), Some(1));
    let told = text(&output);
    assert!(
        told.contains("[wrong-result]") && told.contains("[hot-loop-grew]"),
        "{told}"
    );
    assert!(
        told.contains("if it is meant to be: assay gate --update"),
        "{told}"
    );
    assert_eq!(assay(&work, &["gate", "--update"]).status.code(), Some(0));
    let after = std::fs::read_to_string(work.join("figures.json")).expect("figures");
    let changed = figures
        .lines()
        .zip(after.lines())
        .filter(|(a, b)| a != b)
        .count();
    assert_eq!(changed, 1, "one kernel changed, one line did");
    assert_eq!(assay(&work, &["gate"]).status.code(), Some(0));
    write(&work, "figures.json", "<<<<<<< ours");
    let output = assay(&work, &["gate"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(
        text(&output).contains("assay gate --update writes it anew"),
        "{}",
        text(&output)
    );
}

#[test]
fn one_run_writes_every_form() {
    let Some(clone) = clone() else { return };
    let work = clone.0.path().join("work");
    edit(
        &work,
        "kernels/rows.metal",
        "uint i = 0; i < n",
        "uint i = 1; i < n",
    );
    let forms = [
        "sarif=r.sarif",
        "markdown=r.md",
        "junit=r.xml",
        "json=r.json",
        "text=r.txt",
    ];
    let also: Vec<&str> = forms.iter().flat_map(|form| ["--also", form]).collect();
    let arguments = [
        &["gate", "--against", "HEAD", "--format", "github"],
        &also[..],
    ]
    .concat();
    let output = assay(&work, &arguments);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let command = "::error file=kernels/rows.metal,line=6,title=rows%3A wrong-result::";
    assert!(text(&output).starts_with(command), "{}", text(&output));
    let read = |name: &str| std::fs::read_to_string(work.join(name)).expect("written");
    let sarif: Value = serde_json::from_str(&read("r.sarif")).expect("JSON");
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!(
        result["locations"][0]["physicalLocation"]["region"]["startLine"],
        6
    );
    assert!(read("r.md").starts_with("## ❌ assay gate failed"));
    assert!(read("r.xml").contains("tests=\"30\" failures=\"1\""));
    assert!(read("r.json").contains("\"assay.gate\""));
    assert!(read("r.txt").contains("failed: 30 kernels against HEAD"));
    // A part of the kernels, by file and by name.
    let output = assay(
        &work.join("kernels"),
        &[
            "gate",
            "--against",
            "HEAD",
            "map1.metal",
            "map2.metal",
            "-f",
            "map2*",
        ],
    );
    assert!(
        text(&output).contains("passed: 1 kernel against HEAD"),
        "{}",
        text(&output)
    );
}

#[test]
fn what_is_wrong_with_a_configuration_is_said() {
    let folder = crate::common::Folder::new();
    let at = folder.0.path();
    let code = |arguments: &[&str]| {
        let output = assay(at, arguments);
        (output.status.code(), text(&output))
    };
    let (status, told) = code(&["gate"]);
    assert!(
        status == Some(2) && told.contains("assay gate init"),
        "{told}"
    );
    write(
        at,
        "assay.toml",
        "[[kernels]]\nfiles = ['*.metal']\nchecks = true\n",
    );
    let (status, told) = code(&["gate"]);
    assert!(
        status == Some(3) && told.contains("line 3: unknown field `checks`"),
        "{told}"
    );
    write(
        at,
        "assay.toml",
        "chips = ['m77']\n[[kernels]]\nfiles = ['*.metal']\n",
    );
    assert_eq!(code(&["gate"]).0, Some(3));
    write(at, "assay.toml", "[[kernels]]\nfiles = ['*.metal']\n");
    let (status, told) = code(&["gate"]);
    assert!(
        status == Some(0) && told.contains("no file matches"),
        "{told}"
    );
    let (status, told) = code(&["gate", "--against", "HEAD"]);
    assert!(
        status == Some(2) && told.contains("no git repository"),
        "{told}"
    );
}

#[test]
fn an_endless_kernel_ends_and_a_launch_that_does_not_fit_is_told() {
    let folder = crate::common::Folder::new();
    let at = folder.0.path();
    write(
        at,
        "k.metal",
        "kernel void endless(device volatile uint *x [[buffer(0)]]) { while (x[0] == 0) {} }\n\
         kernel void unbound(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = i; }\n",
    );
    write(
        at,
        "assay.toml",
        "max_steps = 100000\n[[kernels]]\nfiles = ['*.metal']\n[launch]\n\
         endless = '--grid 1 --threadgroup 1 --buffer 0=zeros:u32:1'\n\
         unbound = '--grid 64 --threadgroup 32 --buffer 0=zeros:u32:16'\n",
    );
    let output = assay(at, &["gate"]);
    if output.status.code() == Some(4) {
        assay_fixtures::skip(assay_fixtures::Tool::Clang);
        return;
    }
    let told = text(&output);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("k.metal:1: error: endless: "), "{told}");
    assert!(
        told.contains("k.metal:2: error: unbound: out-of-bounds: "),
        "{told}"
    );
}

#[test]
fn init_writes_a_configuration_that_passes() {
    let folder = crate::common::Folder::new();
    let at = folder.0.path();
    write(at, "src/gpu/rows.metal", ROWS);
    write(at, "src/gpu/tiled.metal", TILED);
    write(at, "src/gpu/map.metal", &elementwise(2));
    write(at, "lib/headers/scale.h", "#define SCALE 2\n");
    write(
        at,
        "src/gpu/large.metal",
        &elementwise(1).replace("N=2000", "N=1000000"),
    );
    write(at, "src/gpu/broken.metal", "kernel void broken(\n");
    write(
        at,
        "src/gpu/given.metal",
        "struct S { float a; };\nkernel void given(constant S *s [[buffer(0)]]) {}\n",
    );
    let output = assay(at, &["gate", "init"]);
    if output.status.code() == Some(4) {
        assay_fixtures::skip(assay_fixtures::Tool::Clang);
        return;
    }
    let told = text(&output);
    assert!(
        told.contains("launches: 3 in comments, 1 guessed, 1 missing; 1 files do not compile"),
        "{told}"
    );
    let config = std::fs::read_to_string(at.join("assay.toml")).expect("written");
    assert!(config.contains("include = [\"lib/headers\"]"), "{config}");
    assert!(
        config.contains(
            "\"rows\" = \"--size N=64 --grid N --threadgroup 64 --buffer 0=zeros:f32:N*N"
        ),
        "{config}"
    );
    assert!(config.contains("run_sizes = [\"N=128\"]"), "{config}");
    let gate = assay(at, &["gate"]);
    assert_eq!(gate.status.code(), Some(0), "{}", text(&gate));
    assert!(text(&gate).contains("passed: 5 kernels"), "{}", text(&gate));
    let again = assay(at, &["gate", "init"]);
    assert!(
        again.status.code() == Some(2) && text(&again).contains("--force"),
        "{}",
        text(&again)
    );
}
