//! `assay tune` and `assay attempts` from the outside.

use super::{json, stderr, stdout};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder with a database of attempts of its own.
struct Place(tempfile::TempDir);

impl Place {
    /// A place, if there is a clang.
    fn new() -> Option<Place> {
        let doctor = Command::new(env!("CARGO_BIN_EXE_assay"))
            .arg("doctor")
            .output();
        if !doctor.is_ok_and(|output| output.status.code() == Some(0)) {
            assay_fixtures::skip(assay_fixtures::Tool::Clang);
            return None;
        }
        Some(Place(tempfile::tempdir().expect("a folder")))
    }

    fn run(&self, arguments: &[&str]) -> Output {
        assay(self.0.path(), arguments)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).expect("written");
        path
    }

    /// Tunes a source; the exit code and what was said about it.
    fn refused(&self, text: &str, arguments: &[&str]) -> (Option<i32>, String) {
        let path = self.file("k.metal", text);
        let path = path.display().to_string();
        let mut all = vec!["tune", path.as_str()];
        all.extend(arguments);
        let output = self.run(&all);
        (output.status.code(), stderr(&output))
    }
}

fn assay(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_assay"))
        .env("NO_COLOR", "1")
        .env("COLUMNS", "120")
        .env("ASSAY_ATTEMPTS", folder.join("attempts.db"))
        .args(arguments)
        .output()
        .expect("assay runs")
}

fn example(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    root.join(name).display().to_string()
}

#[test]
fn a_thread_a_row_becomes_faster_and_everything_tried_is_kept() {
    let Some(place) = Place::new() else { return };
    let file = example("naive/row_sum.metal");
    let faster = place.0.path().join("faster.metal");
    let patch = place.0.path().join("faster.patch");
    let arguments = [
        "tune",
        &file,
        "--size",
        "R=512",
        "--size",
        "C=256",
        "--evaluations",
        "10",
        "--format",
        "json",
        "--source",
        &faster.display().to_string(),
        "--patch",
        &patch.display().to_string(),
    ];
    let output = place.run(&arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let document = json(&output);
    assert_eq!(document["schema"]["name"], "assay.tune");
    assert_eq!(document["improved"], true, "{document}");
    assert_eq!(document["evaluations"], 10);
    let number = |name: &str| document[name].as_f64().expect("a number");
    assert!(number("claimed_gain") > 1.15 && number("claimed_gain") < number("gain"));
    assert!(number("best_us") < number("original_us"));
    assert!(document["proof"]["full"]["checked"].as_u64() > Some(0));
    assert!(document["proof"]["held_out"].is_object());
    let patch = std::fs::read_to_string(&patch).expect("a patch");
    assert!(
        patch.starts_with("--- a/") && patch.contains("\n+// assay: launch row_sum --size R=512"),
        "{patch}"
    );

    // The new source carries its launch: every command takes it as it is.
    let faster = faster.display().to_string();
    let run = place.run(&["run", &faster, "--size", "R=7", "--size", "C=33", "--check"]);
    assert_eq!(run.status.code(), Some(0), "{}", stderr(&run));

    // Once more: the same, but for the session's number.
    let again = json(&place.run(&arguments));
    let without_session = |mut value: serde_json::Value| {
        value["session"] = 0.into();
        value
    };
    assert_eq!(without_session(again), without_session(document));

    queries(&place);
}

fn queries(place: &Place) {
    let listed = stdout(&place.run(&["attempts"]));
    assert_eq!(listed.lines().count(), 3, "{listed}");
    assert!(listed.contains("is kept"), "{listed}");
    let csv = stdout(&place.run(&["attempts", "--format", "csv"]));
    assert_eq!(csv.lines().count(), 11, "{csv}");
    let best = stdout(&place.run(&["attempts", "--session", "1", "--best", "3"]));
    assert_eq!(best.lines().count(), 4, "{best}");
    let tree = stdout(&place.run(&["attempts", "--tree"]));
    assert!(
        tree.starts_with("0 the original") && tree.contains("└─ "),
        "{tree}"
    );
    let t4 = place.run(&["attempts", "--format", "t4"]);
    assert_eq!(json(&t4)["results"].as_array().map(Vec::len), Some(10));
    let replayed = place.file("t4.json", &stdout(&t4));
    let replayed = replayed.display().to_string();
    let replay = place.run(&[
        "tune",
        "replay",
        &replayed,
        "--evaluations",
        "5",
        "--seeds",
        "2",
    ]);
    assert_eq!(replay.status.code(), Some(0), "{}", stderr(&replay));
    let all = json(&place.run(&["attempts", "--session", "1", "--format", "json"]));
    assert_eq!(all["schema"]["name"], "assay.attempts");
    let winner = all["sessions"][0]["decision"]["winner"].to_string();
    let source = stdout(&place.run(&["attempts", "show", &winner]));
    assert!(source.contains("kernel void row_sum"), "{source}");
    let diff = stdout(&place.run(&["attempts", "diff", "0", &winner]));
    assert!(diff.starts_with("--- a/") && diff.contains("\n-"), "{diff}");
    let page = stdout(&place.run(&["attempts", "--format", "html"]));
    for part in [
        "<svg",
        "Tree of attempts",
        "Where the time goes",
        "class=\"add\"",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let none = place.run(&["attempts", "--session", "9"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(stderr(&none).contains("there is no session 9"));
}

/// A map with a knob: how many elements a thread takes.
const KNOB: &str = "\
#include <metal_stdlib>
using namespace metal;
// assay: tune PER = 1,2,4
// assay: tune restrict PER != 2
// assay: launch scale --size N=65536 --grid ceil_div(N,PER) --threadgroup 32 --buffer 0=random:f32:N --bytes 1=u32:N
#define PER 1
kernel void scale(device float *x [[buffer(0)]], constant uint &n [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    for (uint k = 0; k < PER; k++) {
        uint at = i * PER + k;
        if (at < n) x[at] = x[at] * 2.0f + 1.0f;
    }
}
";

#[test]
fn knobs_are_searched_in_the_source_as_it_is() {
    let Some(place) = Place::new() else { return };
    let path = place.file("scale.metal", KNOB);
    let path = path.display().to_string();
    let output = place.run(&["tune", &path, "--only", "knobs", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    // The original, and the two configurations that the restriction leaves; one of them is the original again.
    assert_eq!(json(&output)["evaluations"], 3);
    let csv = stdout(&place.run(&["attempts", "--format", "csv"]));
    assert!(csv.contains("PER=4") && csv.contains("duplicate"), "{csv}");
    let changed = stdout(&place.run(&["attempts", "show", "2"]));
    assert!(changed.contains("#define PER 4\n"), "{changed}");
}

#[test]
fn what_cannot_be_tuned_says_why() {
    let Some(place) = Place::new() else { return };
    let open = "constant bool twice [[function_constant(0)]];\nkernel void scale(";
    let unknown = KNOB
        .replace("// assay: launch", "// launch")
        .replace("kernel void scale(", open)
        .replace("if (at < n)", "if (at < n && twice)");
    let (code, said) = place.refused(&unknown, &[]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("none can be guessed"), "{said}");

    let (code, said) = place.refused(KNOB, &["--restrict", "PER > 9"]);
    assert_eq!(code, Some(2));
    assert!(
        said.contains("no configuration satisfies PER != 2 and PER > 9"),
        "{said}"
    );

    let (code, said) = place.refused(KNOB, &["--knob", "TM=1,2"]);
    assert_eq!(code, Some(2));
    assert!(
        said.contains("the knob TM is no function constant"),
        "{said}"
    );

    let plain = KNOB
        .replace("// assay: tune", "// tune")
        .replace("PER != 2", "");
    let (code, said) = place.refused(&plain.replace("ceil_div(N,PER)", "N"), &["--only", "knobs"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("scale has no knobs"), "{said}");

    let outside = KNOB.replace("if (at < n) x", "x[n + 40000] = 0; if (at < n) x");
    let (code, said) = place.refused(&outside, &["--evaluations", "2"]);
    assert_eq!(code, Some(1));
    assert!(
        said.contains("the original does what no kernel may"),
        "{said}"
    );

    let endless = KNOB.replace("k < PER; k++", "n > 0; k += 0");
    let (code, said) = place.refused(&endless, &["--size", "N=64", "--evaluations", "2"]);
    assert_eq!(code, Some(3), "{said}");

    let unbound = KNOB.replace("--buffer 0=random:f32:N", "");
    let (code, said) = place.refused(&unbound, &["--evaluations", "2"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("every argument needs contents"), "{said}");

    let missing = place.run(&["tune", "no_such_kernel"]);
    assert_eq!(missing.status.code(), Some(2));
    let absent = place.run(&["attempts", "--attempts", "/nonexistent/a.db"]);
    assert_eq!(absent.status.code(), Some(3));
    assert!(stderr(&absent).contains("assay tune FILE starts one"));
}
