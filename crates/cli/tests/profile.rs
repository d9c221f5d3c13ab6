//! `assay profile`, `assay diff` and `assay explain` from the outside.

use assay_agx::{Isa, assemble};
use assay_container::builder::{
    ArchiveBuilder, FunctionBuilder, MetadataBuilder, MetallibBuilder, image_with_descriptor,
};
use assay_container::gpu::Gpu;
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const LOOP: &str = "
    mov_imm r0l, 0
    mov_imm r1, 0, 0b0
    top: device_load 0, i32, x, r5, u2_u3, r1, unsigned
    wait 0
    fmadd32 r7, r5, r5, r7
    iadd r1, r1, 1
    while_icmp r0l, ult, r1, 100, 2
    jmp_exec_any top
    pop_exec r0l, 2
    device_store 0, i32, x, r7, u0_u1, r1, unsigned, 0
    stop";

const SHORTER: &str = "
    mov_imm r0l, 0
    mov_imm r1, 0, 0b0
    top: fmadd32 r7, r5, r5, r7
    iadd r1, r1, 1
    while_icmp r0l, ult, r1, 100, 2
    jmp_exec_any top
    pop_exec r0l, 2
    device_store 0, i32, x, r7, u0_u1, r1, unsigned, 0
    stop";

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Folder(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).expect("written");
        path
    }
}

fn code(source: &str) -> Vec<u8> {
    assemble(Isa::G13, source, 0).expect("it assembles").code
}

fn assay(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_assay"))
        .args(arguments)
        .env("COLUMNS", "120")
        .output()
        .expect("assay runs")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Two functions, named by the descriptors of their pipelines.
fn archive() -> Vec<u8> {
    let slice = |archive: ArchiveBuilder, gpu: &str, name: &str, source: &str| {
        let gpu = Gpu::named(gpu).expect("known");
        let metadata = MetadataBuilder::new().registers(20).build();
        let function = FunctionBuilder::new(gpu)
            .main(&code(source))
            .metadata(&metadata)
            .build();
        archive.gpu(gpu, &image_with_descriptor(gpu, &function, name))
    };
    let archive = slice(ArchiveBuilder::new(), "G13G", "first", LOOP);
    slice(archive, "G13S", "second", SHORTER).build()
}

#[test]
fn raw_code_gets_every_section() {
    let folder = Folder::new();
    let file = folder.file("kernel.bin", &code(LOOP));
    let output = assay(&["profile", text(&file), "--full", "--show", "asm"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let report = stdout(&output);
    for section in [
        "kernel  G13 code, costs measured on m2; all cycles are modelled",
        "Registers and occupancy",
        "Cycles by unit (modelled)",
        "Loops (per iteration, modelled)",
        "Waits (modelled; a device load takes at least 64 cycles)",
        "What limits an iteration of L0",
        "verdict: ",
        "Blocks (modelled)",
        "Instruction mix",
        "Findings",
        "Annotated listing",
        "◀ stalls 63 for 0xa",
    ] {
        assert!(report.contains(section), "no `{section}` in\n{report}");
    }
}

#[test]
fn standard_input_binary_and_listings_are_the_same_code() {
    let folder = Folder::new();
    let bytes = code(LOOP);
    let file = folder.file("kernel.bin", &bytes);
    let expected = stdout(&assay(&["profile", text(&file), "--disasm-only"]));
    assert!(expected.lines().count() == 12, "{expected}");
    let binary = assay(&["profile", "--binary", text(&file), "--disasm-only"]);
    assert_eq!(stdout(&binary), expected);
    let mut listing = String::from("# offset\thex\n");
    for (offset, item) in assay_agx::walk(Isa::G13, &bytes) {
        let start = offset as usize;
        let hex: String = bytes[start..start + item.len()]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        listing += &format!("{offset:x}\t{hex}\twhatever\n");
    }
    let file = folder.file("kernel.tsv", listing.as_bytes());
    let output = assay(&["profile", text(&file), "--disasm-only"]);
    assert_eq!(stdout(&output), expected);
    let file = folder.file("kernel.agx", LOOP.as_bytes());
    let output = assay(&["profile", text(&file), "--disasm-only"]);
    assert_eq!(stdout(&output), expected);
    let mut child = Command::new(env!("CARGO_BIN_EXE_assay"))
        .args(["profile", "-", "--disasm-only"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("assay runs");
    child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(&bytes)
        .expect("written");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(stdout(&output), expected);
}

#[test]
fn json_has_the_figures() {
    let folder = Folder::new();
    let file = folder.file("kernel.bin", &code(LOOP));
    let document = json(&assay(&[
        "profile",
        text(&file),
        "--format",
        "json",
        "--threadgroup",
        "16,16",
        "--tgmem",
        "30720",
    ]));
    assert_eq!(document["schema"]["name"], "assay.profile");
    let profile = &document["profiles"][0];
    assert_eq!(profile["figures"]["threads"], 512.0);
    assert_eq!(profile["occupancy"]["limit"], "threadgroup memory");
    assert_eq!(profile["main"]["loops"][0]["trips"], 100);
    assert_eq!(profile["listing"].as_array().map(Vec::len), Some(11));
    assert_eq!(document["profiles"][0]["main"]["waits"][0]["slot"], 0);
}

#[test]
fn an_archive_is_profiled_by_name_or_whole() {
    let folder = Folder::new();
    let file = folder.file("kernels.gpubin", &archive());
    let one = assay(&["profile", text(&file), "-f", "second"]);
    assert!(stdout(&one).starts_with("second on m2"), "{}", stderr(&one));
    let all = stdout(&assay(&["profile", text(&file)]));
    assert!(
        all.starts_with("2 kernels") && all.contains("first") && all.contains("second"),
        "{all}"
    );
    let wrong = assay(&["profile", text(&file), "-f", "secund"]);
    assert_eq!(wrong.status.code(), Some(3));
    assert!(stderr(&wrong).contains("second"), "{}", stderr(&wrong));
    let page = assay(&["profile", text(&file), "--format", "html"]);
    assert_eq!(page.status.code(), Some(2));
    let page = stdout(&assay(&[
        "profile",
        text(&file),
        "-f",
        "first",
        "--format",
        "html",
    ]));
    assert!(
        page.starts_with("<!doctype html>") && page.contains("<svg"),
        "{page}"
    );
    let graph = stdout(&assay(&[
        "profile",
        text(&file),
        "-f",
        "first",
        "--format",
        "dot",
    ]));
    assert!(
        graph.starts_with("digraph") && graph.contains("b2 -> b1"),
        "{graph}"
    );
}

#[test]
fn what_has_no_code_at_all_is_bad_input() {
    let folder = Folder::new();
    let library = MetallibBuilder::new().kernel("k", b"module").build();
    let file = folder.file("default.metallib", &library);
    let output = assay(&["profile", text(&file)]);
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("kernel k"), "{}", stderr(&output));
    let empty = folder.file("empty", b"");
    assert_eq!(assay(&["profile", text(&empty)]).status.code(), Some(3));
}

#[test]
fn newer_chips_are_estimates_and_unpublished_latencies_are_refused() {
    let folder = Folder::new();
    let file = folder.file("kernel.bin", &code(LOOP));
    for chip in ["m3-pro", "m4", "m5-max"] {
        let output = assay(&["profile", text(&file), "--chip", chip]);
        assert_eq!(output.status.code(), Some(0), "{chip}");
        let text = stdout(&output);
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(line.contains("an estimate: Apple M"), "{text}");
    }
    let output = assay(&["profile", text(&file), "--chip", "m2", "--latency", "dram"]);
    assert_eq!(output.status.code(), Some(2));
    let output = assay(&[
        "profile",
        text(&file),
        "--chip",
        "m1",
        "--latency",
        "dram",
        "--full",
    ]);
    assert!(
        stdout(&output).contains("at least 397.46 cycles"),
        "{}",
        stdout(&output)
    );
}

#[test]
fn a_baseline_passes_until_a_figure_changes() {
    let folder = Folder::new();
    let file = folder.file("kernel.bin", &code(LOOP));
    let stored = folder.path("costs.json");
    let made = assay(&[
        "profile",
        text(&file),
        "--format",
        "json",
        "-o",
        text(&stored),
    ]);
    assert!(made.status.success());
    let same = assay(&["profile", text(&file), "--baseline", text(&stored)]);
    assert_eq!(same.status.code(), Some(0), "{}", stdout(&same));
    folder.file("kernel.bin", &code(SHORTER));
    let changed = assay(&["profile", text(&file), "--baseline", text(&stored)]);
    assert_eq!(changed.status.code(), Some(1));
    let report = stdout(&changed);
    assert!(
        report.contains("instructions") && report.contains("helped"),
        "{report}"
    );
    assert!(
        report.contains("update the file:\n  assay profile"),
        "{report}"
    );
    let lenient = assay(&[
        "profile",
        text(&file),
        "--baseline",
        text(&stored),
        "--tolerance",
        "100000",
    ]);
    assert_eq!(lenient.status.code(), Some(0), "{}", stdout(&lenient));
    let other = assay(&[
        "profile",
        text(&file),
        "--baseline",
        text(&stored),
        "--chip",
        "m1",
    ]);
    assert_eq!(other.status.code(), Some(2));
    let broken = folder.file("broken.json", b"{}");
    let output = assay(&["profile", text(&file), "--baseline", text(&broken)]);
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn diff_says_helped_hurt_and_same() {
    let folder = Folder::new();
    let before = folder.file("before.bin", &code(LOOP));
    let after = folder.file("after.bin", &code(SHORTER));
    let report = stdout(&assay(&["diff", text(&before), text(&after)]));
    assert!(report.contains("before → after"), "{report}");
    assert!(
        report.contains("helped") && !report.contains("threads"),
        "{report}"
    );
    let hurt = assay(&["diff", text(&after), text(&before), "--fail-on", "hurt"]);
    assert_eq!(hurt.status.code(), Some(1));
    let same = assay(&["diff", text(&before), text(&before), "--fail-on", "change"]);
    assert_eq!(
        (same.status.code(), stdout(&same).as_str()),
        (Some(0), "no figure changed\n")
    );
    let document = json(&assay(&[
        "diff",
        text(&before),
        text(&after),
        "--format",
        "json",
    ]));
    assert_eq!(document["changed"], true);
    assert_eq!(
        document["kernels"][0]["figures"][0]["figure"],
        "instructions"
    );
}

#[test]
fn explain_in_json_has_every_rule_or_the_one_asked_for() {
    let document = |arguments: &[&str]| -> serde_json::Value {
        let output = assay(&[&["explain", "--format", "json"], arguments].concat());
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let all = document(&[]);
    assert_eq!(all["schema"]["name"], "assay.explain");
    let commands: Vec<&str> = all["rules"]
        .as_array()
        .expect("rules")
        .iter()
        .filter_map(|rule| rule["command"].as_str())
        .collect();
    assert!(commands.contains(&"profile") && commands.contains(&"trace"));
    let one = document(&["spilling"]);
    assert_eq!(one["rules"].as_array().map(Vec::len), Some(1));
    assert_eq!(one["rules"][0]["id"], "spilling");
    let page = one["rules"][0]["page"].as_str().expect("a page");
    assert!(page.contains("## What to do"));
}

#[test]
fn explain_lists_shows_and_suggests() {
    let all = stdout(&assay(&["explain"]));
    assert!(
        all.contains("narrow-loads") && all.contains("spilling"),
        "{all}"
    );
    let one = stdout(&assay(&["explain", "narrow-loads"]));
    assert!(
        one.contains("Why it matters") && one.contains("float4"),
        "{one}"
    );
    let wrong = assay(&["explain", "narow-loads"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        stderr(&wrong).contains("narrow-loads"),
        "{}",
        stderr(&wrong)
    );
}
