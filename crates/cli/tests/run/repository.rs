//! A repository with thirty kernels, made for tests of `assay gate`.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

pub(crate) fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("gate-cache")
}

pub(crate) fn assay(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_assay"))
        .args(arguments)
        .current_dir(folder)
        .env("ASSAY_CACHE", cache())
        .env("NO_COLOR", "1")
        .env("COLUMNS", "200")
        .output()
        .expect("assay runs")
}

pub(crate) fn git(folder: &Path, arguments: &[&str]) {
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

pub(crate) fn text(output: &Output) -> String {
    let parts = [&output.stdout, &output.stderr];
    parts
        .map(|part| String::from_utf8_lossy(part).into_owned())
        .concat()
}

pub(crate) const TILED: &str = r"#include <metal_stdlib>
using namespace metal;
// assay: launch --size N=512 --grid N,N --threadgroup 16,16 --buffer 0=zeros:f32:NxN --buffer 1=random:f32:NxN:1 --buffer 2=random:f32:NxN:2 --bytes 3=u32:N
kernel void tiled(device float *C [[buffer(0)]], device const float *A [[buffer(1)]],
                  device const float *B [[buffer(2)]], constant uint &n [[buffer(3)]],
                  uint2 l [[thread_position_in_threadgroup]], uint2 g [[threadgroup_position_in_grid]]) {
    threadgroup float a[16][16], b[16][17];
    uint row = g.y * 16 + l.y, col = g.x * 16 + l.x;
    float sum = 0;
    for (uint t = 0; t < n; t += 16) {
        a[l.y][l.x] = A[row * n + t + l.x];
        b[l.y][l.x] = B[(t + l.y) * n + col];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint k = 0; k < 16; ++k)
            sum = fma(a[l.y][k], b[k][l.x], sum);
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    C[row * n + col] = sum;
}
";

pub(crate) const ROWS: &str = r"#include <metal_stdlib>
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
pub(crate) fn elementwise(number: usize) -> String {
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

pub(crate) const CONFIG: &str = r#"chips = ["m1", "m2"]

[[kernels]]
files = ["kernels/{tiled,matmul}.metal"]
run_sizes = ["N=64"]

[[kernels]]
files = ["kernels/*.metal"]
include = ["include"]

[launch]
rows = "--size R=256 --size N=256 --grid R --threadgroup 64 --buffer 0=zeros:f32:R --buffer 1=random:f32:RxN --bytes 2=u32:N"

[oracle]
map1 = "y[i] = max(x[i], 0)"
"#;

pub(crate) fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    std::fs::write(path, text).expect("written");
}

fn files() -> Vec<(String, String)> {
    let maps = (0..28).map(|number| (format!("kernels/map{number}.metal"), elementwise(number)));
    let others = [
        ("kernels/tiled.metal", TILED),
        ("kernels/rows.metal", ROWS),
        ("include/scale.h", "#pragma once\n#define SCALE 2\n"),
        ("assay.toml", CONFIG),
    ];
    let others = others.map(|(name, text)| (name.to_owned(), text.to_owned()));
    maps.chain(others).collect()
}

/// A repository with thirty kernels, committed on `main`; made once, and looked at once.
pub(crate) fn origin() -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        // Tests may run in processes of their own: each makes the folder under another name, and the first one gives it its own.
        let mut hasher = DefaultHasher::new();
        files().hash(&mut hasher);
        let parent = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let folder = parent.join(format!("gate-origin-{:016x}", hasher.finish()));
        if !folder.exists() {
            let making = tempfile::tempdir_in(parent).expect("a folder");
            for (name, text) in files() {
                write(making.path(), &name, &text);
            }
            git(making.path(), &["init", "-q"]);
            git(making.path(), &["add", "-A"]);
            git(making.path(), &["commit", "-q", "-m", "Thirty kernels"]);
            let renamed = std::fs::rename(making.path(), &folder);
            assert!(renamed.is_ok() || folder.exists(), "{renamed:?}");
        }
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
pub(crate) fn clone() -> Option<tempfile::TempDir> {
    let folder = tempfile::tempdir().expect("a folder");
    let source = origin().display().to_string();
    let probe = assay(origin(), &["gate", "-q"]);
    if probe.status.code() == Some(4) {
        return None;
    }
    git(folder.path(), &["clone", "-q", &source, "work"]);
    git(
        &folder.path().join("work"),
        &["checkout", "-q", "-b", "change"],
    );
    Some(folder)
}

/// Replaces text of a file, which must be there.
pub(crate) fn edit(work: &Path, file: &str, from: &str, to: &str) {
    let path = work.join(file);
    let before = std::fs::read_to_string(&path).expect("a file");
    assert!(before.contains(from), "{file} has no {from}");
    std::fs::write(path, before.replacen(from, to, 1)).expect("written");
}
