//! Commands on Macs as they come: with Xcode 16, with Xcode 26 and without its Metal toolchain, with the command line tools
//! alone, with nothing. Stand-ins play Apple's programs; the words they say are those of public reports.
#![cfg(unix)]

#[path = "five_macs/walk.rs"]
mod walk;

use assay_agx::{Isa, assemble};
use assay_container::builder::{
    ArchiveBuilder, FunctionBuilder, MetadataBuilder, MetallibBuilder, image,
};
use assay_container::gpu::Gpu;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const NO_TOOLCHAIN: &str = "error: cannot execute tool 'metal' due to missing Metal Toolchain; use: xcodebuild -downloadComponent MetalToolchain";

/// A Mac, as far as its `xcrun` tells.
struct Mac {
    name: &'static str,
    /// What `xcrun` does: `$@` are its arguments, `compile` and `translate` are Apple's compilers when they work.
    xcrun: &'static str,
    /// What `assay doctor` says, of `Metal compiler` and in all.
    has_compiler: bool,
    advice: &'static str,
    /// What `assay profile` notes.
    noted: &'static str,
}

const MACS: [Mac; 5] = [
    Mac {
        name: "Xcode 16",
        xcrun: r#"case "$*" in
--find*) echo /Applications/Xcode.app/bin/$2 ;;
*metal-tt*) translate "$@" ;;
*metal*) compile "$@" ;;
xctrace*) echo xctrace version 16.0 ;;
esac"#,
        has_compiler: true,
        advice: "",
        noted: "Apple's compiler, for M1: 4 bytes of code, 48 half registers, threadgroups of at most 1024 threads",
    },
    Mac {
        name: "Xcode 26 with its Metal toolchain",
        xcrun: r#"case "$*" in
--find*) echo /private/var/run/com.apple.security.cryptexd/Metal.xctoolchain/usr/bin/$2 ;;
metal*|*"-sdk macosx metal -"*) compile "$@" ;;
"--toolchain Metal metal-tt"*) translate "$@" ;;
xctrace*) echo xctrace version 26.0 ;;
*) echo 'xcrun: error: unable to find utility "metal-tt", not a developer tool or in PATH' >&2; exit 72 ;;
esac"#,
        has_compiler: true,
        advice: "",
        noted: "Apple's compiler, for M1: 4 bytes of code",
    },
    Mac {
        name: "Xcode 26 without its Metal toolchain",
        xcrun: r#"case "$*" in
--find*|-f*) echo /Applications/Xcode.app/bin/$2 ;;
*metal*) echo "$NO_TOOLCHAIN" >&2; exit 1 ;;
xctrace*) echo xctrace version 26.0 ;;
esac"#,
        has_compiler: false,
        advice: "xcodebuild -downloadComponent MetalToolchain",
        noted: "xcodebuild -downloadComponent MetalToolchain",
    },
    Mac {
        name: "the command line tools alone",
        xcrun: r#"echo "xcrun: error: unable to find utility \"metal\", not a developer tool or in PATH" >&2; exit 72"#,
        has_compiler: false,
        advice: "install Xcode",
        noted: "comes with Xcode",
    },
    Mac {
        name: "no developer tools",
        xcrun: r#"echo "xcrun: error: invalid active developer path (/Library/Developer/CommandLineTools), missing xcrun" >&2; exit 1"#,
        has_compiler: false,
        advice: "install Xcode",
        noted: "comes with Xcode",
    },
];

/// A folder with the tools of a Mac.
struct Tools {
    folder: tempfile::TempDir,
}

impl Tools {
    fn new(xcrun: &str) -> Tools {
        let folder = tempfile::tempdir().expect("a folder");
        let tools = Tools { folder };
        let place = tools.folder.path().display().to_string();
        std::fs::write(tools.path("library"), metallib()).expect("written");
        std::fs::write(tools.path("code"), machine_code()).expect("written");
        tools.program(
            "xcrun",
            &format!(
                r#"NO_TOOLCHAIN="{NO_TOOLCHAIN}"
deliver() {{
  file=$1; shift
  while [ $# -gt 0 ]; do
    if [ "$1" = -o ]; then cp "{place}/$file" "$2"; fi
    shift
  done
}}
compile() {{ deliver library "$@"; }}
translate() {{ deliver code "$@"; }}
{xcrun}"#
            ),
        );
        tools.program(
            "sysctl",
            r#"case "$2" in
machdep.cpu.brand_string) echo "Apple M2 Max" ;;
hw.memsize) echo 34359738368 ;;
kern.osproductversion) echo 26.1 ;;
*) exit 1 ;;
esac"#,
        );
        tools.program("ioreg", r#"echo '      "gpu-core-count" = 38'"#);
        tools
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn program(&self, name: &str, script: &str) {
        let path = self.path(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))
            .expect("executable");
    }

    fn assay(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_assay"))
            .args(arguments)
            .env("ASSAY_PLATFORM", "macos")
            .env("HOME", self.folder.path())
            .env("PATH", self.search_path())
            .output()
            .expect("assay runs")
    }

    fn search_path(&self) -> OsString {
        let rest = std::env::var_os("PATH").unwrap_or_default();
        let first = std::iter::once(self.folder.path().to_owned());
        std::env::join_paths(first.chain(std::env::split_paths(&rest))).expect("a path")
    }
}

fn example() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/kernels/saxpy.metal");
    root.display().to_string()
}

/// The example as a metallib, compiled here.
fn metallib() -> Vec<u8> {
    MetallibBuilder::new()
        .kernel("saxpy", &bitcode_of_example())
        .build()
}

fn bitcode_of_example() -> Vec<u8> {
    let out = tempfile::NamedTempFile::new().expect("a file");
    let status = Command::new(env!("CARGO_BIN_EXE_assay"))
        .args(["compile", &example(), "--quiet", "-o"])
        .arg(out.path())
        .status();
    assert!(status.is_ok_and(|status| status.success()));
    std::fs::read(out.path()).expect("bitcode")
}

/// What metal-tt leaves: code without a name, in slices for two GPUs.
fn machine_code() -> Vec<u8> {
    let code = assemble(Isa::G13, "wait 0\n stop", 0).expect("code").code;
    let metadata = MetadataBuilder::new().registers(24).build();
    let slice = |gpu| {
        let function = FunctionBuilder::new(gpu)
            .main(&code)
            .metadata(&metadata)
            .build();
        image(gpu, &[function])
    };
    ["G14G", "G13G"]
        .iter()
        .map(|name| Gpu::named(name).expect("a GPU"))
        .fold(ArchiveBuilder::new(), |builder, gpu| {
            builder.gpu(gpu, &slice(gpu))
        })
        .build()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn doctor_says_what_each_mac_has_and_lacks() {
    for mac in MACS {
        let output = Tools::new(mac.xcrun).assay(&["doctor", "--format", "json"]);
        let document: serde_json::Value =
            serde_json::from_slice(&output.stdout).expect("a document");
        assert_eq!(output.status.code(), Some(0), "{}", mac.name);
        let capabilities = document["capabilities"].as_array().expect("a list");
        let find = |name: &str| {
            let mut all = capabilities.iter();
            all.find(|it| it["name"] == name).expect("it is listed")
        };
        let chip = find("Apple chip")["detail"].as_str().unwrap_or_default();
        assert_eq!(
            chip, "Apple M2 Max, 38 GPU cores, 32 GB, macOS 26.1; --chip m2-max",
            "{}",
            mac.name
        );
        let compiler = find("Metal compiler");
        assert_eq!(
            compiler["present"], mac.has_compiler,
            "{}: {compiler}",
            mac.name
        );
        let fix = compiler["fix"].as_str().unwrap_or_default();
        assert!(fix.contains(mac.advice), "{}: {compiler}", mac.name);
    }
}

/// The report is ours, with source lines, whatever Apple's compilers do; what they state or say is a note.
fn profiles_with_note(tools: &Tools, name: &str, noted: &str) {
    let output = tools.assay(&["profile", &example(), "--format", "json"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{name}: {said}");
    assert!(said.contains(noted), "{name}: {said}");
    let shown = text(&output.stdout);
    assert!(shown.contains("saxpy.metal"), "{name}: {shown}");
    let lines = shown.matches("\"line\":").count();
    assert!(lines > 3, "{name}: source lines");
}

#[test]
fn profile_is_ours_with_apples_figures_beside_it() {
    for mac in MACS {
        profiles_with_note(&Tools::new(mac.xcrun), mac.name, mac.noted);
    }
}

#[test]
fn trouble_of_apples_compilers_is_a_note() {
    for (name, xcrun, noted) in [
        (
            "metal-tt crashes",
            r#"case "$*" in
*metal-tt*) echo "LLVM ERROR: cannot select: %2:gpr(s32) = 116 intrinsic" >&2; exit 134 ;;
*) compile "$@" ;;
esac"#,
            "LLVM ERROR",
        ),
        (
            "metal refuses what clang takes",
            r#"for file; do :; done; echo "$file:3:1: error: unknown attribute" >&2; exit 1"#,
            "error",
        ),
        (
            "metal-tt writes nothing that can be read",
            r#"case "$*" in
*metal-tt*) deliver xcrun "$@" ;;
*) compile "$@" ;;
esac"#,
            "saxpy.metal",
        ),
        (
            "metal-tt writes nothing",
            r#"case "$*" in
*metal-tt*) ;;
*) compile "$@" ;;
esac"#,
            "kernel.gpubin",
        ),
    ] {
        profiles_with_note(&Tools::new(xcrun), name, noted);
    }
}

#[test]
fn nothing_is_said_about_files_of_several_kernels() {
    let tools = Tools::new(MACS[0].xcrun);
    let kernels = tools.path("two.metal");
    let text_of_two = "kernel void a(device float* x) { x[0] = 1; }\nkernel void b(device float* x) { x[0] = 2; }\n";
    std::fs::write(&kernels, text_of_two).expect("written");
    let library = MetallibBuilder::new()
        .kernel("a", &bitcode_of_example())
        .kernel("b", &bitcode_of_example())
        .build();
    std::fs::write(tools.path("library"), library).expect("written");
    let output = tools.assay(&["profile", &kernels.display().to_string(), "--all"]);
    let said = text(&output.stderr);
    assert!(!said.contains("Apple"), "{said}");
}

#[test]
fn apples_code_is_shown_when_it_is_asked_for() {
    let tools = Tools::new(MACS[0].xcrun);
    let output = tools.assay(&["profile", &example(), "--compiler", "apple"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("made by Apple's metal-tt for M1"), "{said}");
    // Two instructions, without lines of the source.
    let shown = text(&output.stdout);
    assert!(!shown.contains("saxpy.metal:"), "{shown}");

    let without = Tools::new(MACS[3].xcrun).assay(&["profile", &example(), "--compiler", "apple"]);
    assert_eq!(without.status.code(), Some(4));
    assert!(text(&without.stderr).contains("--compiler assay"));
}
