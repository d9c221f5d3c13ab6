//! Launches that nobody wrote, and results beside what they should be.

use super::{command, json, stderr, stdout};
use std::path::{Path, PathBuf};
use std::process::Output;

const SCALE: &str = "#include <metal_stdlib>
using namespace metal;
kernel void scale(device const float *x, device float *y, constant float &a, constant uint &n,
                  uint i [[thread_position_in_grid]]) {
    if (i < n) y[i] = a * x[i];
}
kernel void doubled(device const float *x, device float *y, constant float &a, constant uint &n,
                    uint i [[thread_position_in_grid]]) {
    if (i < n) y[i] = a * x[i] + (i == 5 ? 1.0f : 0.0f);
}
";

/// A folder that is a repository, with a source in it.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new(source: &str) -> Folder {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join(".git")).expect("a repository");
        std::fs::write(folder.path().join("scale.metal"), source).expect("a source");
        Folder(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs a command line in the folder; none where there is no compiler.
    fn run(&self, words: &[&str]) -> Option<Output> {
        let output = command()
            .current_dir(self.0.path())
            .args(words)
            .output()
            .expect("assay runs");
        if output.status.code() == Some(4) {
            assay_fixtures::skip(assay_fixtures::Tool::Clang);
            return None;
        }
        Some(output)
    }
}

#[test]
fn without_a_launch_one_is_guessed_and_told() {
    let folder = Folder::new(SCALE);
    let Some(output) = folder.run(&["scale.metal", "-f", "scale"]) else {
        return;
    };
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let told = stderr(&output);
    assert!(
        told.contains(
            "// assay: launch scale --size n=262144 --grid n --threadgroup 256 --arg x=random:n --arg y=zeros:n \
             --arg a=0.5 --arg n=n"
        ),
        "{told}"
    );
    // A number that is given is the value of the size of that name.
    let output = folder.run(&["scale.metal", "-f", "scale", "--arg", "n=512"]);
    let output = output.expect("a compiler");
    assert!(
        stdout(&output).contains("scale: 512 × 1 × 1 threads"),
        "{}",
        stdout(&output)
    );
}

#[test]
fn an_oracle_an_array_and_another_kernel_say_what_is_right() {
    let folder = Folder::new(SCALE);
    let right = [
        "scale.metal",
        "-f",
        "scale",
        "--oracle",
        "y[i] = a * x[i]",
        "--out",
        "y=y.npy",
    ];
    let Some(output) = folder.run(&right) else {
        return;
    };
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
    assert!(
        text.starts_with("scale is right: all 262,144 elements of y"),
        "{text}"
    );

    let expect = |kernel| {
        folder
            .run(&["scale.metal", "-f", kernel, "--expect", "y=y.npy"])
            .expect("a compiler")
    };
    assert_eq!(expect("scale").status.code(), Some(0));
    let wrong = expect("doubled");
    let text = stdout(&wrong);
    assert_eq!(wrong.status.code(), Some(1), "{text}");
    assert!(
        text.starts_with("doubled is wrong: 1 of 262,144 elements of y differ from y.npy"),
        "{text}"
    );
    assert!(text.contains("y[5]"), "{text}");

    let words = [
        "scale.metal",
        "-f",
        "doubled",
        "--against",
        "scale.metal:scale",
        "--format",
        "json",
    ];
    let output = folder.run(&words).expect("a compiler");
    assert_eq!(output.status.code(), Some(1));
    let document = json(&output);
    assert_eq!(document["verdict"]["right"], false);
    assert_eq!(document["verdict"]["outputs"][0]["wrong"], 1);
    assert_eq!(
        document["verdict"]["outputs"][0]["worst"][0]["index"],
        serde_json::json!([5])
    );
    let loose = [
        "scale.metal",
        "-f",
        "doubled",
        "--against",
        "scale.metal:scale",
        "--atol",
        "2",
    ];
    assert_eq!(
        folder.run(&loose).expect("a compiler").status.code(),
        Some(0)
    );
}

#[test]
fn the_configuration_of_the_repository_compiles_launches_and_judges() {
    let folder = Folder::new(&SCALE.replace("a * x[i];", "FACTOR * x[i];"));
    let config = "[[kernels]]\nfiles = ['*.metal']\nfunctions = ['scale']\ndefines = ['FACTOR=3']\nrun_sizes = ['N=64']\n\
                  [launch]\nscale = '--size N=4096 --grid N --threadgroup 64 --arg x=random:N --arg y=out --arg a=2 --arg n=N'\n\
                  [oracle]\nscale = 'y[i] = a * x[i]'\n";
    std::fs::write(folder.path("assay.toml"), config).expect("a configuration");
    let Some(output) = folder.run(&["scale.metal", "-f", "scale"]) else {
        return;
    };
    let (text, told) = (stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(1), "{text}{told}");
    assert!(
        text.starts_with(
            "scale is wrong: 64 of 64 elements of y differ from the oracle of assay.toml"
        ),
        "{text}"
    );
    assert!(
        told.contains("assay.toml says how scale is launched"),
        "{told}"
    );

    // Programs that it names do not run.
    let marker = folder.path("ran");
    std::fs::write(
        folder.path("oracle.py"),
        format!(
            "open({:?}, 'w')\ndef oracle(x): return x\n",
            marker.display().to_string()
        ),
    )
    .expect("a program");
    let program = config.replace("y[i] = a * x[i]", "oracle.py");
    std::fs::write(folder.path("assay.toml"), program).expect("a configuration");
    let output = folder
        .run(&["scale.metal", "-f", "scale"])
        .expect("a compiler");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("runs only when it is asked for: --oracle oracle.py"));
    assert!(!Path::new(&marker).exists());

    // Files that it names lie in its folder.
    let outside = config.replace("x=random:N", "x=../x.npy");
    std::fs::write(folder.path("assay.toml"), outside).expect("a configuration");
    let output = folder
        .run(&["scale.metal", "-f", "scale"])
        .expect("a compiler");
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("is outside the allowed folders"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn faults_come_with_their_line_and_advice() {
    let source = SCALE.replace("if (i < n) y[i] = a * x[i];", "y[i] = a * x[i];");
    let folder = Folder::new(&source);
    let words = [
        "scale.metal",
        "-f",
        "scale",
        "--check",
        "--grid",
        "128",
        "--threadgroup",
        "64",
        "--arg",
        "x=random:100",
        "--arg",
        "y=zeros:100",
        "--arg",
        "a=2",
        "--arg",
        "n=100",
    ];
    let Some(output) = folder.run(&words) else {
        return;
    };
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.starts_with("scale: 2 faults\n"), "{text}");
    assert!(text.contains("out-of-bounds: scale.metal:5: "), "{text}");
    assert!(text.contains("\n5 | y[i] = a * x[i];\n"), "{text}");
    assert!(text.contains("help: guard the access"), "{text}");
    assert!(text.lines().count() <= 24, "{text}");
}
