//! `assay gate` on repositories that are made here: thirty kernels, and pull requests that make one of them worse, wrong
//! or racy.

use crate::repository::{ROWS, TILED, assay, clone, edit, elementwise, git, text, write};
use serde_json::Value;
use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};

/// Changes a clone as a pull request would, and gates it.
fn pull_request(change: impl FnOnce(&Path)) -> Option<(Output, Value)> {
    let clone = clone()?;
    let work = clone.path().join("work");
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
    let work = clone.path().join("work");
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
    let work = clone.path().join("work");
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
    let work = full.path().join("work");
    edit(
        &work,
        "kernels/rows.metal",
        "sum += x[r * n + i]",
        "sum -= x[r * n + i]",
    );
    git(&work, &["commit", "-q", "-a", "-m", "A change"]);
    // A commit names its parents: only what lies further back is not known.
    git(&work, &["commit", "-q", "--allow-empty", "-m", "Another"]);
    git(full.path(), &["clone", "-q", "--bare", "work", "bare"]);
    let bare = format!("file://{}", full.path().join("bare").display());
    git(
        full.path(),
        &[
            "clone", "-q", "--depth", "1", "--branch", "change", &bare, "shallow",
        ],
    );
    let shallow = full.path().join("shallow");
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
    let work = clone.path().join("work");
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
    let work = clone.path().join("work");
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
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
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
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
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
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
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
            "\"rows\" = \"--size R=64 --size n=64 --grid R --threadgroup 256 --arg y=zeros:R*n --arg x=random:R*n --arg n=n"
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

/// Buffers that say no seed hold different numbers: with the same in both, `a - b` and `b - a` are zero.
#[test]
fn operands_the_wrong_way_round_are_caught_with_the_launches_that_init_writes() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let kernel = "kernel void minus(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]],\n\
                  device float *y [[buffer(2)]], uint i [[thread_position_in_grid]]) { y[i] = a[i] - b[i]; }\n";
    write(at, "minus.metal", kernel);
    git(at, &["init", "-q"]);
    let made = assay(at, &["gate", "init"]);
    if made.status.code() == Some(4) {
        assay_fixtures::skip(assay_fixtures::Tool::Clang);
        return;
    }
    assert!(text(&made).contains("1 guessed"), "{}", text(&made));
    git(at, &["add", "-A"]);
    git(at, &["commit", "-q", "-m", "A difference"]);
    edit(at, "minus.metal", "a[i] - b[i]", "b[i] - a[i]");
    let output = assay(at, &["gate", "--against", "HEAD", "--format", "json"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    let rules: Vec<String> = problems(&report)
        .into_iter()
        .map(|(rule, _)| rule)
        .collect();
    assert_eq!(rules, ["wrong-result"]);
}

/// A shape is one whichever way its product is written, for every command that takes an oracle.
#[test]
fn one_launch_with_one_oracle_is_right_in_tune_and_in_gate() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let oracle = "y[r, c] = x[r, c] * (r + 1)";
    write(
        at,
        "assay.toml",
        &format!("[[kernels]]\nfiles = ['*.metal']\n[oracle]\nscale = '{oracle}'\n"),
    );
    for shape in ["R*C", "RxC"] {
        let kernel = format!(
            "// assay: launch scale --size R=8 --size C=64 --grid C,R --threadgroup 64 --buffer 0=random:f32:{shape} \
             --buffer 1=zeros:f32:{shape} --bytes 2=u32:C\n\
             kernel void scale(device const float *x [[buffer(0)]], device float *y [[buffer(1)]],\n\
             constant uint &n [[buffer(2)]], uint2 i [[thread_position_in_grid]]) {{\n\
             y[i.y * n + i.x] = x[i.y * n + i.x] * (i.y + 1); }}\n"
        );
        write(at, "scale.metal", &kernel);
        let gate = assay(at, &["gate"]);
        if gate.status.code() == Some(4) {
            assay_fixtures::skip(assay_fixtures::Tool::Clang);
            return;
        }
        assert_eq!(gate.status.code(), Some(0), "{shape}: {}", text(&gate));
        let search = ["--evaluations", "2", "--attempts", "attempts.db"];
        let line = [&["tune", "scale.metal", "--oracle", oracle][..], &search].concat();
        let tune = assay(at, &line);
        assert_eq!(tune.status.code(), Some(0), "{shape}: {}", text(&tune));
    }
}

/// A file of NumPy with some numbers.
fn array(numbers: &[f32]) -> Vec<u8> {
    let shape = format!(
        "{{'descr': '<f4', 'fortran_order': False, 'shape': ({},), }}",
        numbers.len()
    );
    let header = format!("{shape:<117}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(118u16.to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    bytes
}

/// The inputs lie in the repository, too: a launch is another when its file is.
#[test]
fn arrays_of_a_launch_are_the_same_or_said_to_be_others() {
    let place = tempfile::tempdir().expect("a folder");
    let work = place.path();
    let kernel = "#include <metal_stdlib>\n\
        // assay: launch twice --grid 4 --threadgroup 4 --buffer 0=data/x.npy --buffer 1=zeros:f32:4\n\
        kernel void twice(device const float *x [[buffer(0)]], device float *y [[buffer(1)]],\n\
        \x20                 uint i [[thread_position_in_grid]]) { y[i] = 2 * x[i]; }\n";
    write(work, "twice.metal", kernel);
    write(work, "assay.toml", "[[kernels]]\nfiles = ['*.metal']\n");
    std::fs::create_dir(work.join("data")).expect("a folder");
    let numbers = work.join("data/x.npy");
    std::fs::write(&numbers, array(&[1.0, 2.0, 3.0, 4.0])).expect("a file");
    git(work, &["init", "-q"]);
    git(work, &["add", "-A"]);
    git(work, &["commit", "-q", "-m", "A kernel and its input"]);
    let gate = || assay(work, &["gate", "--against", "HEAD", "--format", "json"]);
    let rules = |output: &Output| -> Vec<String> {
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let problems = report["problems"].as_array().expect("problems").iter();
        problems
            .map(|it| it["rule"].as_str().expect("a rule").to_owned())
            .collect()
    };
    let first = gate();
    if first.status.code() == Some(4) {
        return assay_fixtures::skip(assay_fixtures::Tool::Clang);
    }
    assert_eq!(first.status.code(), Some(0), "{}", text(&first));
    edit(work, "twice.metal", "2 * x[i]", "3 * x[i]");
    assert_eq!(rules(&gate()), ["wrong-result"]);
    std::fs::write(&numbers, array(&[0.0; 4])).expect("a file");
    let hidden = gate();
    let found = rules(&hidden);
    assert!(
        found.iter().any(|rule| rule == "configuration-weakened"),
        "{}",
        text(&hidden)
    );
}
