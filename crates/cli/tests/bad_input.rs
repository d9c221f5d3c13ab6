//! What is wrong with a kernel's file or with the machine, what is said about it, and the exit code.
//!
//! Tests that need a clang say so and pass when `assay doctor` finds none.

mod common;

use assay_container::builder::MetallibBuilder;
use common::Folder;
use std::path::Path;
use std::process::{Command, Output};

fn assay() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache");
    command.env("ASSAY_CACHE", cache).env("NO_COLOR", "1");
    command
}

fn run(command: &str, path: &Path, arguments: &[&str]) -> Output {
    let mut assay = assay();
    let output = assay.arg(command).arg(path).args(arguments).output();
    output.expect("assay runs")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The exit code is `code`, and standard error has all the texts.
fn refused(output: &Output, code: i32, texts: &[&str]) {
    let shown = stderr(output);
    assert_eq!(output.status.code(), Some(code), "{shown}");
    for text in texts {
        assert!(shown.contains(text), "no {text:?} in\n{shown}");
    }
}

fn has_clang() -> bool {
    let found = assay().arg("doctor").output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        assay_fixtures::skip(assay_fixtures::Tool::Clang);
    }
    found
}

fn fixture(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../air/tests/fixtures");
    std::fs::read(folder.join(name)).expect("the fixture")
}

/// Wrong sources, and what every command that reads source says about them.
const SOURCES: &[(&str, &str, &[&str])] = &[
    (
        "a missing include",
        "#include <metal_stdlib>\n#include \"mine.h\"\nkernel void k(device float* x) { x[0] = MINE; }\n",
        &[
            "bad.metal:2:10: 'mine.h' file not found",
            "2 | #include \"mine.h\"",
            "help: name the folder of mine.h with -I",
        ],
    ),
    (
        "an error inside a template",
        "#include <metal_stdlib>\nusing namespace metal;\n\
         template <typename T> T first(T v) { return v.none; }\n\
         kernel void k(device float4* a) { a[0] = first(a[1]); }\n",
        &[
            "bad.metal:3:47: no member named 'none' in 'float4'",
            "bad.metal:4:42: note: in instantiation of function template specialization",
        ],
    ),
    (
        "no overload",
        "#include <metal_stdlib>\nusing namespace metal;\n\
         kernel void k(device float* a) { a[0] = clamp(a[0]); }\n",
        &["bad.metal:3:41: no matching function for call to 'clamp'"],
    ),
    (
        "a brace left open",
        "kernel void k(device float* a) { if (a[0] > 0) { a[0] = 1; }\n",
        &["bad.metal:", "expected '}'"],
    ),
    (
        "constructors that only address spaces tell apart",
        "struct S { int n; S(device float* x) { n = 1; }\nS(threadgroup float* x) { n = 2; } };\n",
        &["bad.metal:2:1", "differ only in address spaces"],
    ),
];

#[test]
fn errors_in_a_source_are_shown_where_they_are() {
    if !has_clang() {
        return;
    }
    let folder = Folder::new();
    for (name, text, expected) in SOURCES {
        let path = folder.file("bad.metal", text.as_bytes());
        for command in ["compile", "ir", "inspect"] {
            let output = run(command, &path, &[]);
            let shown = stderr(&output);
            assert!(
                !shown.contains("<metal>"),
                "{name}: our headers in\n{shown}"
            );
            refused(&output, 3, expected);
        }
    }
}

#[test]
fn a_kernel_that_is_not_there_brings_the_nearest_first() {
    if !has_clang() {
        return;
    }
    let folder = Folder::new();
    let text: String = ["scale_f32", "softmax_f32", "softmax_f16", "rope"]
        .map(|name| format!("kernel void {name}(device float* x) {{ x[0] = 1; }}\n"))
        .concat();
    let path = folder.file("k.metal", text.as_bytes());
    let nearest = "softmax_f16, softmax_f32";
    refused(
        &run("ir", &path, &["-f", "sofmax_f16"]),
        2,
        &["sofmax_f16", nearest],
    );
    refused(
        &run("inspect", &path, &["-f", "sofmax_f16"]),
        2,
        &["sofmax_f16", nearest],
    );
    let run_arguments = ["-f", "sofmax_f16", "--grid", "1", "--threadgroup", "1"];
    refused(
        &run("run", &path, &run_arguments),
        2,
        &["sofmax_f16", nearest],
    );
}

#[cfg(unix)]
#[test]
fn a_compiler_that_fails_the_probe_is_named_with_the_reason() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let source = folder.file("k.metal", b"kernel void k(device float* x) { x[0] = 1; }");
    let old = folder.file(
        "clang-old",
        b"#!/bin/sh\necho 'error: unknown type name __bf16' >&2\nexit 1\n",
    );
    std::fs::set_permissions(&old, std::fs::Permissions::from_mode(0o755)).expect("executable");
    let with = |clang: &Path| {
        let mut assay = assay();
        assay.arg("ir").arg(&source).env("ASSAY_CLANG", clang);
        assay.output().expect("assay runs")
    };
    refused(
        &with(&old),
        4,
        &[
            "clang-old",
            "unknown type name __bf16",
            "help: unset ASSAY_CLANG",
        ],
    );
    refused(
        &with(Path::new("/nonexistent/clang")),
        4,
        &["/nonexistent/clang does not run", "help: unset ASSAY_CLANG"],
    );
    let mut nothing = assay();
    nothing.arg("ir").arg(&source).env("PATH", folder.0.path());
    let output = nothing
        .env_remove("ASSAY_CLANG")
        .output()
        .expect("assay runs");
    if !Path::new("/Library/Developer/CommandLineTools").exists() {
        refused(
            &output,
            4,
            &[
                "no clang on this machine can compile Metal source",
                "help: install clang 17",
            ],
        );
    }
}

/// Cut off at places all over the file; every byte is tried in `assay-air`, without a process for each.
#[test]
fn bitcode_that_is_cut_off_is_bad_input_with_a_place() {
    let folder = Folder::new();
    let files = [
        ("apple.bc", ["offset 0x8", "cut short"]),
        ("clang-22.bc", ["at byte 0x", "cut off"]),
    ];
    for (name, texts) in files {
        let whole = fixture(name);
        // Without its string table at the end bitcode has no names, hence no kernels.
        for part in 0..24 {
            let length = (whole.len() - 1024) * part / 24;
            let path = folder.file("cut.bc", &whole[..length]);
            let output = run("ir", &path, &["--stats"]);
            refused(&output, 3, &["error: "]);
        }
        let path = folder.file("cut.bc", &whole[..whole.len() / 2]);
        refused(&run("ir", &path, &[]), 3, &texts);
    }
}

/// Changed at places all over the file: read or refused, nothing else.
#[test]
fn bitcode_that_is_corrupted_is_read_or_refused() {
    let folder = Folder::new();
    let whole = fixture("clang-22.bc");
    for part in 0..48 {
        let mut bytes = whole.clone();
        let position = 16 + (whole.len() - 16) * part / 48;
        bytes[position] ^= 0xff;
        let output = run("ir", &folder.file("hurt.bc", &bytes), &["--stats"]);
        let shown = stderr(&output);
        assert!(
            matches!(output.status.code(), Some(0 | 1 | 3)),
            "byte {position}: {shown}"
        );
        assert!(!shown.contains("panicked"), "byte {position}: {shown}");
    }
}

/// Where the numbers of a metallib's header are: its size, then offset and size of four sections.
const HEADER_NUMBERS: [usize; 9] = [16, 24, 32, 40, 48, 56, 64, 72, 80];

#[test]
fn a_metallib_that_lies_about_sizes_is_bad_input() {
    let folder = Folder::new();
    let whole = MetallibBuilder::new()
        .kernel("multiply", &fixture("apple.bc"))
        .kernel("rest", &fixture("apple.bc"))
        .build();
    assert_eq!(
        run("ir", &folder.file("k.metallib", &whole), &["--stats"])
            .status
            .code(),
        Some(0)
    );
    let list = u64::from_le_bytes(whole[24..32].try_into().expect("eight bytes")) as usize;
    let lies = [u64::MAX, u64::MAX - 7, 1 << 40, whole.len() as u64 + 1];
    for place in HEADER_NUMBERS {
        for lie in lies {
            let mut bytes = whole.clone();
            bytes[place..place + 8].copy_from_slice(&lie.to_le_bytes());
            let path = folder.file("lie.metallib", &bytes);
            refused(&run("inspect", &path, &[]), 3, &["error: ", "offset 0x"]);
        }
    }
    // The number of functions, and the length of the first one's entry.
    for place in [list, list + 4] {
        let mut bytes = whole.clone();
        bytes[place..place + 4].copy_from_slice(&u32::MAX.to_le_bytes());
        let path = folder.file("lie.metallib", &bytes);
        for command in ["inspect", "ir"] {
            refused(&run(command, &path, &[]), 3, &["error: ", "offset 0x"]);
        }
    }
}

#[test]
fn a_source_without_kernels_is_said_to_have_none() {
    if !has_clang() {
        return;
    }
    let folder = Folder::new();
    let words = ["none.metal declares no kernels"];
    let grid = ["--grid", "1", "--threadgroup", "1"];
    for text in ["", "float twice(float x) { return 2 * x; }\n"] {
        let path = folder.file("none.metal", text.as_bytes());
        refused(&run("run", &path, &grid), 3, &words);
        refused(&run("ir", &path, &[]), 3, &words);
        refused(&run("compile", &path, &[]), 0, &words);
        if !text.is_empty() {
            refused(&run("emu", &path, &grid), 3, &words);
            refused(&run("profile", &path, &[]), 3, &words);
        }
    }
}

#[test]
fn a_source_of_other_stages_is_said_to_hold_them() {
    if !has_clang() {
        return;
    }
    let folder = Folder::new();
    let text = "#include <metal_stdlib>\nusing namespace metal;\n\
        vertex float4 corner(uint i [[vertex_id]]) { return float4(i); }\n";
    let path = folder.file("stages.metal", text.as_bytes());
    let words = ["stages.metal declares no kernels; it holds vertex: corner"];
    for command in ["ir", "profile", "inspect", "disasm"] {
        refused(&run(command, &path, &[]), 3, &words);
    }
}

#[test]
fn texture_atomics_are_listed_and_not_run() {
    if !has_clang() {
        return;
    }
    let folder = Folder::new();
    let text = "#include <metal_stdlib>\nusing namespace metal;\n\
        kernel void shade(texture2d<uint, access::read_write> t [[texture(0)]], uint2 g [[thread_position_in_grid]]) {\n\
        t.atomic_fetch_add(g, uint4(1)); }\n";
    let path = folder.file("shade.metal", text.as_bytes());
    let launch = ["--grid", "4", "--threadgroup", "4"];
    let unknown = "texture atomic, 4 bytes a thread: encoding not publicly known";
    let listed = run("disasm", &path, &[]);
    assert_eq!(listed.status.code(), Some(0));
    let listing = String::from_utf8_lossy(&listed.stdout);
    assert!(listing.contains(&format!("; {unknown}")), "{listing}");
    let rows = run("disasm", &path, &["--format", "json"]);
    let rows = String::from_utf8_lossy(&rows.stdout);
    assert!(
        rows.contains(&format!("\"stands_for\":\"{unknown}\"")),
        "{rows}"
    );
    let profiled = run("profile", &path, &["--format", "json"]);
    let profiled: serde_json::Value = serde_json::from_slice(&profiled.stdout).expect("JSON");
    let found = &profiled["profiles"][0]["unknown_operations"][0];
    assert_eq!(found["operation"], "texture atomic");
    assert_eq!(found["bytes_per_thread"], 4);
    let words = ["the encoding of a texture atomic is not publicly known"];
    refused(&run("emu", &path, &launch), 1, &words);
    refused(&run("predict", &path, &launch), 3, &words);
    let unbound = ["texture 0 (\"t\")", "--texture 0=zeros:rgba8Uint:WxH"];
    refused(&run("run", &path, &launch), 2, &unbound);
}

#[test]
fn streams_without_end_are_given_up() {
    let device = std::path::Path::new("/dev/zero");
    if device.exists() {
        let words = ["/dev/zero gives more than 512 MiB"];
        refused(&run("inspect", device, &[]), 3, &words);
    }
}

#[test]
fn comments_may_have_another_encoding() {
    if !has_clang() {
        return;
    }
    let folder = Folder::new();
    let text = b"// caf\xe9\nkernel void ones(device float* o, uint i [[thread_position_in_grid]]) { o[i] = 1; }\n";
    let path = folder.file("latin.metal", text);
    for command in ["inspect", "profile", "ir", "compile"] {
        let output = run(command, &path, &[]);
        assert!(output.status.success(), "{command}");
    }
}

#[test]
fn grids_beyond_any_machine_are_refused_alike() {
    if !has_clang() {
        return;
    }
    let folder = Folder::new();
    let text =
        b"kernel void ones(device float* o, uint i [[thread_position_in_grid]]) { o[i] = 1; }\n";
    let path = folder.file("ones.metal", text);
    let launch = [
        "--grid",
        "4294967295,4294967295,4294967295",
        "--threadgroup",
        "32",
        "--buffer",
        "0=zeros:f32:8",
    ];
    for command in ["run", "emu", "predict"] {
        refused(&run(command, &path, &launch), 2, &["at most 2^32"]);
    }
}

#[test]
fn arrays_that_no_thread_has_room_for_are_refused_alike() {
    if !has_clang() {
        return;
    }
    let folder = Folder::new();
    let text = b"kernel void k(device float* o, uint i [[thread_position_in_grid]]) {\n\
        float a[536870912];\nfor (int j = 0; j < int(o[1]); j++) a[int(o[j])] = o[j];\no[i] = a[int(o[i])]; }\n";
    let path = folder.file("large.metal", text);
    let launch = [
        "--grid",
        "1",
        "--threadgroup",
        "1",
        "--buffer",
        "0=zeros:f32:8",
    ];
    let words = ["2147483648 bytes of thread memory"];
    refused(&run("profile", &path, &[]), 3, &words);
    refused(&run("disasm", &path, &[]), 3, &words);
    refused(&run("emu", &path, &launch), 3, &words);
    refused(&run("predict", &path, &launch), 3, &words);
}

#[test]
fn a_constant_that_is_not_there_is_refused_by_every_command() {
    if !has_clang() {
        return;
    }
    let folder = Folder::new();
    let text = "constant int n [[function_constant(2)]];\n\
                kernel void k(device int* x [[buffer(0)]]) { x[0] = n; }\n";
    let path = folder.file("k.metal", text.as_bytes());
    let words = ["there is no function constant 7", "2 n"];
    let grid = ["--grid", "1", "--threadgroup", "1"];
    let given = |value| [&grid[..], &["--const", value]].concat();
    refused(&run("run", &path, &given("7=i32:1")), 2, &words);
    refused(&run("emu", &path, &given("7=i32:1")), 2, &words);
    refused(&run("profile", &path, &["--const", "7=i32:1"]), 2, &words);
    let output = run("profile", &path, &["--const", "n=i32:1"]);
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn emu_knows_the_buffers_of_a_kernel() {
    if !has_clang() {
        return;
    }
    let folder = Folder::new();
    let text = "kernel void k(device int* x [[buffer(0)]], device int* y [[buffer(3)]], device int* z [[buffer(4)]]) { x[0] = y[1]; }\n\
                kernel void none(device int* x [[buffer(0)]]) { }\n";
    let path = folder.file("k.metal", text.as_bytes());
    let emu = |rest: &[&str]| {
        let all = [&["--grid", "1", "--threadgroup", "1"], rest].concat();
        run("emu", &path, &all)
    };
    refused(
        &emu(&["-f", "k", "--arg", "b0=zeros:4"]),
        1,
        &["[[buffer(3)]]", "--arg b3="],
    );
    let all = ["--arg", "b0=zeros:4", "--arg", "b3=zeros:8"];
    let with = |more: &[&'static str]| emu(&[&["-f", "k"], &all[..], more].concat());
    refused(&with(&["--arg", "b4=zeros:4"]), 0, &[]);
    refused(
        &with(&["--arg", "b9=zeros:4"]),
        2,
        &["no [[buffer(9)]]", "b0, b3, b4"],
    );
    // Nothing of this kernel is left; its buffer comes back as it was.
    let result = folder.0.path().join("x.npy");
    let out = format!("b0={}", result.display());
    let output = emu(&["-f", "none", "--arg", "b0=zeros:16", "--out", &out]);
    refused(&output, 0, &[]);
    let bytes = std::fs::read(result).expect("the buffer");
    assert!(bytes.ends_with(&[0; 16]));
}

/// Runs a command that must end within a minute.
#[cfg(unix)]
fn ends(arguments: &[&str], folder: &Path) -> Output {
    let mut command = assay();
    command.args(arguments).arg(folder);
    command.stdout(std::process::Stdio::piped());
    command.stderr(std::process::Stdio::piped());
    let mut child = command.spawn().expect("assay runs");
    let start = std::time::Instant::now();
    while child.try_wait().expect("a status").is_none() {
        if start.elapsed() > std::time::Duration::from_secs(60) {
            let _ = child.kill();
            panic!("{arguments:?} does not end");
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    child.wait_with_output().expect("its output")
}

#[cfg(unix)]
#[test]
fn a_folder_of_kernels_may_hold_what_is_no_file() {
    use std::os::unix::fs::symlink;
    if !has_clang() {
        return;
    }
    let folder = Folder::new();
    let place = folder.file(
        "one.metal",
        b"kernel void k(device float* x) { x[0] = 1; }\n",
    );
    let place = place.parent().expect("a folder");
    for name in ["pipe.metal", "kernel.toml"] {
        let made = Command::new("mkfifo").arg(place.join(name)).status();
        assert!(made.expect("mkfifo").success());
    }
    symlink("/dev/zero", place.join("zero.metal")).expect("a link");
    symlink("/no/such/file", place.join("nowhere.metal")).expect("a link");
    symlink(".", place.join("again")).expect("a link");
    std::fs::create_dir(place.join("folder.metal")).expect("a folder");
    let compiled = ends(&["compile"], place);
    assert_eq!(compiled.status.code(), Some(0), "{}", stderr(&compiled));
    let shown = String::from_utf8_lossy(&compiled.stdout).into_owned();
    assert_eq!(shown.matches("one.metal").count(), 1, "{shown}");
    let listed = ends(&["bench", "--list", "--kernels"], place);
    // It has no kernels that are described.
    assert!(
        listed.status.code().is_some_and(|code| code <= 3),
        "{}",
        stderr(&listed)
    );
}
