//! `make demo`, `make test` and `make mac-report` on each Mac: green, or a sentence that says what to do. The tools of the system are stand-ins or
//! the plain ones; its clang is this machine's under the name and with the refusals that the Mac's has. Building is left out:
//! what is run is the program that was built here.

use super::{MACS, Tools, text};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What recipes and scripts call and every Mac has.
const PLAIN: [&str; 25] = [
    "basename", "bash", "cat", "cmp", "cp", "cut", "date", "dirname", "env", "grep", "head", "id",
    "make", "mkdir", "mktemp", "mv", "perl", "rm", "sed", "sh", "sort", "tail", "tr", "uniq", "wc",
];

/// The clang of a Mac without an LLVM of its own.
#[derive(Clone, Copy)]
enum Clang {
    /// Xcode 16 and newer.
    New,
    /// Xcode 15: LLVM 16, which refuses an option.
    Old,
    /// The stub that asks for developer tools.
    Stub,
}

/// Mac, its clang, whether Homebrew is there, what `make demo` ends with and says.
const WALKS: [(usize, Clang, bool, bool, &str); 5] = [
    (0, Clang::New, false, true, "setup: clang: clang"),
    (1, Clang::New, false, true, "setup: clang: clang"),
    (
        2,
        Clang::New,
        false,
        true,
        "xcodebuild -downloadComponent MetalToolchain",
    ),
    (
        3,
        Clang::Old,
        true,
        true,
        "setup: installing llvm with brew",
    ),
    (
        4,
        Clang::Stub,
        false,
        false,
        "on a Mac: brew install llvm, or a newer Xcode",
    ),
];

fn on_path(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found = std::env::split_paths(&path).map(|folder| folder.join(name));
    found
        .find(|file| file.is_file())
        .unwrap_or_else(|| panic!("{name} is not on the path"))
}

/// The clang of this machine.
fn real_clang() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).unwrap_or_default();
    let found = assay_msl::find::find(Some(&variable("ASSAY_CLANG")), &variable("PATH"))?;
    Some(found.program)
}

/// A checkout on a Mac: scripts and examples of this one, the program built here, and nothing on the path but what the Mac has.
struct Walk {
    tools: Tools,
    checkout: tempfile::TempDir,
}

impl Walk {
    fn new(xcrun: &str, clang: Clang, brew: bool, real: &Path) -> Walk {
        let tools = Tools::new(xcrun);
        for name in PLAIN {
            symlink(on_path(name), tools.path(name)).expect("linked");
        }
        let real = real.display();
        let refuse = |why: &str| format!("echo {why:?} >&2; exit 1");
        tools.program(
            "clang",
            &match clang {
                Clang::New => format!(r#"exec {real} "$@""#),
                Clang::Old => format!(
                    r#"case "$*" in *-fbfloat16-excess-precision*) {} ;; esac
case "$1" in --version|-v) echo "Apple clang version 15.0.0 (clang-1500.3.9.4)"; exit 0 ;; esac
exec {real} "$@""#,
                    refuse("clang: error: unknown argument: '-fbfloat16-excess-precision=none'")
                ),
                Clang::Stub => {
                    refuse("xcode-select: note: No developer tools were found, requesting install.")
                }
            },
        );
        tools.program("uname", "echo Darwin");
        tools.program(
            "python3",
            "echo 'error: externally-managed-environment' >&2; exit 1",
        );
        let prefix = tools.path("homebrew").display().to_string();
        if brew {
            tools.program(
                "brew",
                &format!(
                    r#"mkdir -p {prefix}/opt/llvm/bin
printf '#!/bin/sh\nexec {real} "$@"\n' >{prefix}/opt/llvm/bin/clang
chmod +x {prefix}/opt/llvm/bin/clang"#
                ),
            );
            symlink(on_path("chmod"), tools.path("chmod")).expect("linked");
        }
        let log = tools.path("cargo.log").display().to_string();
        tools.program("cargo", &format!(r#"echo "$*" >>{log}"#));
        Walk {
            tools,
            checkout: checkout(),
        }
    }

    fn make(&self, target: &str) -> Output {
        let folder = self.tools.folder.path();
        Command::new(on_path("make"))
            .arg(target)
            .current_dir(self.checkout.path())
            .env_clear()
            .env("PATH", folder)
            .env("HOME", folder)
            .env("HOMEBREW_PREFIX", self.tools.path("homebrew"))
            .env("ASSAY_PLATFORM", "macos")
            .env("ASSAY", self.checkout.path().join("target/debug/assay"))
            .env("BRIEF", "1")
            .output()
            .expect("make runs")
    }
}

fn checkout() -> tempfile::TempDir {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["Makefile", "scripts", "examples"] {
        symlink(root.join(name), folder.path().join(name)).expect("linked");
    }
    // Scripts change to the folder above their own, so they must lie in this one.
    std::fs::remove_file(folder.path().join("scripts")).expect("removed");
    std::fs::create_dir_all(folder.path().join("scripts")).expect("made");
    for name in [
        "setup.sh",
        "demo.sh",
        "skipped.sh",
        "mac-report.sh",
        "smoke-metal.sh",
    ] {
        let copy = folder.path().join("scripts").join(name);
        std::fs::copy(root.join("scripts").join(name), copy).expect("copied");
    }
    std::fs::create_dir_all(folder.path().join("target/debug")).expect("made");
    let built = folder.path().join("target/debug/assay");
    symlink(env!("CARGO_BIN_EXE_assay"), built).expect("linked");
    folder
}

#[test]
fn make_demo_is_green_or_says_what_to_do() {
    let Some(real) = real_clang() else {
        assay_fixtures::skip(assay_fixtures::Tool::Clang);
        return;
    };
    std::thread::scope(|scope| {
        for (index, clang, brew, green, said) in WALKS {
            let real = &real;
            scope.spawn(move || {
                let mac = &MACS[index];
                let output = Walk::new(mac.xcrun, clang, brew, real).make("demo");
                let shown = text(&output.stdout) + &text(&output.stderr);
                assert_eq!(output.status.success(), green, "{}: {shown}", mac.name);
                assert!(shown.contains(said), "{}: {shown}", mac.name);
                let advice = ["brew install llvm", "assay doctor"];
                if green {
                    // Each of its parts was shown, to the last line.
                    assert!(
                        shown.contains("hot_cycles_per_float"),
                        "{}: {shown}",
                        mac.name
                    );
                    assert!(shown.contains("For daily use"), "{}: {shown}", mac.name);
                } else {
                    let told = advice.iter().all(|words| shown.contains(words));
                    assert!(told && !shown.contains("panicked"), "{}: {shown}", mac.name);
                }
            });
        }
    });
}

/// What cargo does with the tests is another matter: here it is called with them, after the preparation, and what was skipped is told.
#[test]
fn make_test_prepares_runs_all_and_counts_what_was_skipped() {
    let Some(real) = real_clang() else {
        assay_fixtures::skip(assay_fixtures::Tool::Clang);
        return;
    };
    for (index, clang, brew, ..) in WALKS {
        let mac = &MACS[index];
        let walk = Walk::new(mac.xcrun, clang, brew, &real);
        let output = walk.make("test");
        let shown = text(&output.stdout) + &text(&output.stderr);
        assert!(output.status.success(), "{}: {shown}", mac.name);
        assert!(shown.contains("skipped: no test"), "{}: {shown}", mac.name);
        let called =
            std::fs::read_to_string(walk.tools.path("cargo.log")).expect("cargo was called");
        assert_eq!(called, "test --workspace --quiet\n", "{}", mac.name);
    }
}

/// The file that a Mac's owner sends: every part is there, whatever is missing, and nothing in it says who or where they are.
#[test]
fn make_mac_report_says_what_it_could_not_show() {
    let Some(real) = real_clang() else {
        assay_fixtures::skip(assay_fixtures::Tool::Clang);
        return;
    };
    std::thread::scope(|scope| {
        for (index, compared, said) in [
            (0, true, "there is no Metal GPU here"),
            (4, false, "GPU and CPU were not compared"),
        ] {
            let real = &real;
            scope.spawn(move || {
                let mac = &MACS[index];
                let (_, clang, brew, ..) = WALKS[index];
                let walk = Walk::new(mac.xcrun, clang, brew, real);
                walk.tools.program("sw_vers", "echo ProductVersion: 26.1");
                walk.tools.program("hostname", "echo bernoulli.local");
                // Where somebody lives, and their name, as a tool may say it.
                walk.tools.program(
                    "xcodebuild",
                    r#"echo "$(id -un)/$(id -un) has $HOME/Xcode on bernoulli""#,
                );
                let output = walk.make("mac-report");
                let shown = text(&output.stdout) + &text(&output.stderr);
                assert_eq!(output.status.success(), compared, "{}: {shown}", mac.name);
                assert!(shown.contains(said), "{}: {shown}", mac.name);
                let report = walk.checkout.path().join("target/mac-report.txt");
                let report = std::fs::read_to_string(report).expect("a report");
                for part in [
                    "System",
                    "What this machine can do",
                    "GPU against CPU",
                    "Registers: Apple's compiler and ours",
                    "Examinations on the GPU",
                    "A recording",
                ] {
                    let title = format!("\n## {part}\n");
                    assert!(report.contains(&title), "{}: {part}: {report}", mac.name);
                }
                assert!(
                    report.contains("USER/USER has HOME/Xcode on HOST"),
                    "{report}"
                );
                assert!(report.contains("M2 Max"), "{}: {report}", mac.name);
                let registers = report.matches("assay: half registers").count();
                assert_eq!(
                    registers,
                    if compared { 20 } else { 0 },
                    "{}: {report}",
                    mac.name
                );
                let beside = report.contains("Apple's compiler, for M1: 4 bytes of code");
                assert_eq!(beside, compared, "{}: {report}", mac.name);
                for private in [walk.tools.folder.path(), walk.checkout.path()] {
                    let private = private.display().to_string();
                    assert!(!report.contains(&private), "{private}: {report}");
                }
            });
        }
    });
}
