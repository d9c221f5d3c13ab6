//! References: what a program must answer, and what MLX and PyTorch say about every kernel.
//!
//! `MLX_PYTHON=/path/to/python` and `TORCH_PYTHON=/path/to/python` ask the libraries these Pythons have, about every
//! kernel in every element type.

use assay_bench::Dtype;
use assay_bench::gate::Comparison;
use assay_bench::inputs::{self, Kind};
use assay_bench::oracle;
use assay_bench::reference::python::{self, Library, Use};
use assay_bench::reference::{Clock, Error, Process, Reference};
use assay_bench::registry::{Case, CaseRole, Registry, Tolerance};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// A reference that a few lines of shell make.
fn shell(name: &str, script: &str) -> Result<Process, Error> {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(script);
    Process::start_with(command, &folder(name), Duration::from_millis(1500))
}

const HELLO: &str = r#"read line; echo '{"ok":true,"protocol":1,"name":"shell","clock":"host"}';"#;

fn softmax() -> Case {
    let registry = Registry::embedded().expect("a registry");
    let kernel = registry.kernel("softmax").expect("softmax");
    Case::new(kernel, "quick", Dtype::F32).expect("a case")
}

#[test]
fn a_program_of_a_few_lines_is_a_reference() {
    let script = format!(
        r#"{HELLO} read line; echo '{{"ok":true}}'; read line; echo '{{"ok":true,"seconds":0.25}}'; read line"#
    );
    let mut reference = shell("few-lines", &script).expect("started");
    assert_eq!(
        (reference.name(), reference.clock()),
        ("shell", Clock::Host)
    );
    let case = softmax();
    let inputs = inputs::random(&case, 1, Kind::Usual);
    reference.prepare(0, &case, &inputs).expect("prepared");
    assert_eq!(reference.run(0, 4), Ok(0.25));
}

#[test]
fn what_a_program_does_wrong_is_told() {
    let told = |script: &str| shell("wrong", script).expect_err("refused").to_string();
    assert_eq!(
        told("echo hello; cat >/dev/null"),
        "/bin/sh: answered \"hello\\n\", which is no answer: expected value at line 1 column 1"
    );
    assert_eq!(
        told(r#"echo '{"ok":true,"protocol":7}'; cat >/dev/null"#),
        "/bin/sh: speaks version 7 of the protocol, not 1"
    );
    assert_eq!(
        told("cat >/dev/null"),
        "/bin/sh: gave no answer within 1.5 s"
    );
    assert_eq!(
        told("echo no such library >&2; exit 3"),
        "/bin/sh: ended (exit status: 3): no such library"
    );
    assert_eq!(
        told(r#"read line; echo '{"ok":false,"why":"no"}'; cat >/dev/null"#),
        "/bin/sh: no"
    );
}

#[test]
#[cfg(unix)]
fn a_hung_reference_ends_with_its_children() {
    let data = folder("hung");
    let pid = data.join("pid");
    let script = format!("sleep 1000 & echo $! > {}; wait", pid.display());
    let told = shell("hung", &script).expect_err("refused").to_string();
    assert!(told.contains("gave no answer within"), "{told}");
    let child = std::fs::read_to_string(&pid).expect("the child's number");
    let alive = || {
        let asked = Command::new("kill").args(["-0", child.trim()]).output();
        asked.is_ok_and(|output| output.status.success())
    };
    // Whoever adopts it takes a moment to notice.
    for _ in 0..100 {
        if !alive() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    // Where nobody collects the dead, a zombie still has its number.
    let state = std::fs::read_to_string(format!("/proc/{}/stat", child.trim()));
    assert!(
        state.is_ok_and(|state| state.contains(") Z ")),
        "the child lives on"
    );
}

#[test]
fn what_it_cannot_do_is_not_a_mistake() {
    let script = format!(
        r#"{HELLO} read line; echo '{{"ok":false,"unsupported":true,"why":"no softmax"}}'; read line"#
    );
    let mut reference = shell("unsupported", &script).expect("started");
    let case = softmax();
    let inputs = inputs::random(&case, 1, Kind::Usual);
    let refused = reference.prepare(0, &case, &inputs).expect_err("refused");
    assert!(matches!(refused, Error::Unsupported { .. }), "{refused}");
}

#[test]
fn times_and_outputs_that_cannot_be_are_refused() {
    let script = format!(
        r#"{HELLO} read line; echo '{{"ok":true}}'; read line; echo '{{"ok":true,"seconds":-1}}';
        read line; printf abc > "$0"; echo '{{"ok":true}}'; read line"#
    );
    let folder = folder("impossible");
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(script).arg(folder.join("output-0"));
    let mut reference = Process::start(command, &folder).expect("started");
    let case = softmax();
    let inputs = inputs::random(&case, 1, Kind::Usual);
    reference.prepare(0, &case, &inputs).expect("prepared");
    let told = reference.run(0, 1).expect_err("refused").to_string();
    assert_eq!(told, "shell: gave no time in seconds");
    let told = reference.outputs(0).expect_err("refused").to_string();
    assert_eq!(told, "shell: wrote 3 bytes where 3612 belong");
}

/// How far a library may be from the oracle: it adds up in an order of its own, approximates functions, and in types of
/// 16 bits rounds between its steps.
fn tolerance(dtype: Dtype) -> Tolerance {
    let (relative, absolute) = match dtype {
        Dtype::F16 => (4e-3, 2e-3),
        Dtype::Bf16 => (3e-2, 2e-2),
        _ => (2e-5, 1e-5),
    };
    Tolerance {
        relative,
        absolute,
        reason: String::new(),
    }
}

fn disagreement(reference: &mut Process, case: &Case) -> Option<String> {
    let given = inputs::random(case, 11, Kind::Usual);
    let answers = oracle::answers(case, &given).expect("an answer");
    let outputs = reference
        .prepare(0, case, &given)
        .and_then(|()| reference.run(0, 2))
        .and_then(|_| reference.outputs(0));
    let outputs = match outputs {
        Ok(outputs) => outputs,
        Err(error) => return Some(error.to_string()),
    };
    let wanted = case.arguments.iter();
    let wanted = wanted.filter(|argument| matches!(argument.role, CaseRole::Output { .. }));
    for ((argument, bytes), answer) in wanted.zip(&outputs).zip(&answers) {
        let allowed = tolerance(case.dtype);
        let comparison = Comparison::new(bytes, argument.dtype, answer, &allowed);
        if !comparison.is_right() {
            return Some(comparison.to_string());
        }
    }
    None
}

fn agrees_about_every_kernel(variable: &'static str, library: Library, compiled: bool) {
    let Some(python) = std::env::var_os(variable) else {
        assay_fixtures::skip(assay_fixtures::Tool::Variable(variable));
        return;
    };
    let use_ = Use {
        library,
        compiled,
        cpu: true,
    };
    let folder = folder(&format!("live-{library:?}-{compiled}"));
    let mut reference = python::start(Path::new(&python), use_, &folder).expect("started");
    let registry = Registry::embedded().expect("a registry");
    let (mut asked, mut wrong) = (0, Vec::new());
    for kernel in registry.kernels() {
        for dtype in &kernel.dtypes {
            let case = Case::new(kernel, "quick", *dtype).expect("a case");
            asked += 1;
            if let Some(why) = disagreement(&mut reference, &case) {
                wrong.push(format!("{} {dtype}: {why}", kernel.name));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {asked}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn the_installed_mlx_agrees_about_every_kernel() {
    agrees_about_every_kernel("MLX_PYTHON", Library::Mlx, false);
}

#[test]
fn the_installed_mlx_agrees_about_every_kernel_when_it_compiles() {
    agrees_about_every_kernel("MLX_PYTHON", Library::Mlx, true);
}

#[test]
fn the_installed_pytorch_agrees_about_every_kernel() {
    agrees_about_every_kernel("TORCH_PYTHON", Library::Torch, false);
}
