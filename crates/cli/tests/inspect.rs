//! `assay inspect` from the outside.

mod common;

use assay_container::builder::{
    ArchiveBuilder, FunctionBuilder, MetadataBuilder, MetallibBuilder, image,
};
use assay_container::gpu::Gpu;
use assay_container::mtlb::FunctionKind;
use common::Folder;
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};

const STOP: &[u8] = &[0x88, 0x00];

fn inspect(path: &PathBuf, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_assay"))
        .arg("inspect")
        .arg(path)
        .args(arguments)
        .output()
        .expect("assay runs")
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn library() -> Vec<u8> {
    MetallibBuilder::new()
        .kernel("softmax_f32", b"module")
        .kernel("softmax_f16", b"other")
        .function("shade", FunctionKind::Fragment, b"third")
        .build()
}

fn archive(gpus: &[&str]) -> Vec<u8> {
    let mut archive = ArchiveBuilder::new().air(&library());
    for name in gpus {
        let gpu = Gpu::named(name).expect("known");
        let metadata = MetadataBuilder::new()
            .registers(20)
            .name("softmax_f32")
            .build();
        let code = FunctionBuilder::new(gpu)
            .constant_program(STOP)
            .main(STOP)
            .metadata(&metadata)
            .build();
        archive = archive.gpu(gpu, &image(gpu, &[code]));
    }
    archive.build()
}

#[test]
fn a_metallib_lists_its_kernels() {
    let folder = Folder::new();
    let path = folder.file("no-extension", &library());
    let document = json(&inspect(&path, &["--format", "json"]));
    assert_eq!(document["schema"]["name"], "assay.inspect");
    assert_eq!(document["file"]["kind"], "metallib");
    let names: Vec<_> = document["kernels"]
        .as_array()
        .expect("kernels")
        .iter()
        .map(|kernel| kernel["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(names, ["softmax_f32", "softmax_f16"]);
    let first = &document["kernels"][0];
    assert_eq!(first["type"], "kernel");
    assert_eq!(
        (&first["air"], &first["metal"]),
        (&"2.6".into(), &"3.1".into())
    );
    assert_eq!(first["bytes"], 6);
    assert_eq!(first["hash"].as_str().map(str::len), Some(64));
    assert_eq!(document["functions"][0]["type"], "fragment");
    let text = stdout(&inspect(&path, &[]));
    assert!(text.contains("macOS 14.0"), "{text}");
    assert!(text.contains("softmax_f16"), "{text}");
}

#[test]
fn standard_input_is_a_file_too() {
    use std::io::Write;
    let mut child = Command::new(env!("CARGO_BIN_EXE_assay"))
        .args(["inspect", "-"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("assay runs");
    let mut stdin = child.stdin.take().expect("stdin");
    stdin.write_all(&library()).expect("written");
    drop(stdin);
    let output = child.wait_with_output().expect("ends");
    assert!(stdout(&output).contains("softmax_f32"));
}

#[test]
fn an_archive_shows_slices_code_and_what_was_stated() {
    let folder = Folder::new();
    let path = folder.file("kernels.gpubin", &archive(&["G13G", "G12P", "G15G"]));
    let document = json(&inspect(&path, &["--format", "json"]));
    let slices = document["slices"].as_array().expect("slices");
    let targets: Vec<_> = slices.iter().map(|slice| &slice["target"]).collect();
    assert_eq!(targets, ["AIR 2.6", "G13G", "G12P", "G15G"]);
    assert_eq!(slices[2]["decodable"], false);
    assert_eq!(slices[3]["decodable"], true);
    let machine: Vec<_> = document["kernels"]
        .as_array()
        .expect("kernels")
        .iter()
        .filter(|kernel| kernel["form"] == "agx")
        .collect();
    assert_eq!(machine.len(), 3);
    assert_eq!(machine[0]["name"], "softmax_f32");
    assert_eq!(machine[0]["machine"]["registers"], 20);
    assert_eq!(machine[0]["machine"]["spill_bytes"], Value::Null);
    let text = stdout(&inspect(&path, &[]));
    assert!(text.contains("cannot be decoded: G12P"), "{text}");
    assert!(text.contains("-arch applegpu_g13g"), "{text}");
    assert!(text.contains("not stated"), "{text}");
}

#[test]
fn metallibs_inside_a_program_are_found() {
    let folder = Folder::new();
    let mut bytes = b"\x7fELF\0\xFF\xFF\xFF".to_vec();
    bytes.extend(library());
    let path = folder.file("program", &bytes);
    let document = json(&inspect(&path, &["--format", "json"]));
    assert_eq!(document["metallibs"][0]["offset"], 8);
    assert_eq!(document["kernels"].as_array().map(Vec::len), Some(2));
}

#[test]
fn one_function_can_be_asked_for_and_a_wrong_name_gets_suggestions() {
    let folder = Folder::new();
    let path = folder.file("lib.metallib", &library());
    let text = stdout(&inspect(&path, &["-f", "softmax_f16"]));
    assert!(text.contains("softmax_f16") && !text.contains("softmax_f32"));
    let output = inspect(&path, &["-f", "sofmax_f16"]);
    assert_eq!(output.status.code(), Some(2));
    let message = stderr(&output);
    assert!(
        message.contains("no function named sofmax_f16"),
        "{message}"
    );
    assert!(
        message.contains("nearest first: softmax_f16, softmax_f32"),
        "{message}"
    );
}

#[test]
fn bad_input_is_exit_code_three_with_an_offset() {
    let folder = Folder::new();
    let whole = archive(&["G13G"]);
    for length in [3, 9, 40, whole.len() / 2, whole.len() - 1] {
        let path = folder.file("cut.gpubin", &whole[..length]);
        let output = inspect(&path, &[]);
        assert_eq!(output.status.code(), Some(3), "{length}");
        assert!(stderr(&output).contains("offset 0x"), "{}", stderr(&output));
    }
    let path = folder.file("text.metallib", b"not a metallib at all");
    let output = inspect(&path, &["--format", "json"]);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(json(&output)["error"]["kind"], "input");
}

#[test]
fn a_file_without_functions_is_a_failure() {
    let folder = Folder::new();
    let path = folder.file("empty.metallib", &MetallibBuilder::new().build());
    let output = inspect(&path, &[]);
    assert_eq!(output.status.code(), Some(3));
    let message = stderr(&output);
    assert!(message.contains("holds no functions"), "{message}");
    assert!(message.contains("offset 0x"), "{message}");
}

#[test]
fn an_unknown_gpu_is_listed_by_number() {
    let folder = Folder::new();
    let gpu = Gpu { subtype: 4711 };
    let code = FunctionBuilder::new(gpu).main(STOP).build();
    let bytes = ArchiveBuilder::new().gpu(gpu, &image(gpu, &[code])).build();
    let path = folder.file("future.gpubin", &bytes);
    let output = inspect(&path, &[]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).contains("cpusubtype 4711"));
}

const SOURCE: &[u8] = b"#include <metal_stdlib>
using namespace metal;
kernel void scale(device float *out [[buffer(1)]], const device half *in [[buffer(0)]],
                  constant uint &n [[buffer(3)]], threadgroup float *tile [[threadgroup(2)]],
                  uint i [[thread_position_in_grid]]) { if (i < n) { tile[0] = in[i]; out[i] = tile[0]; } }
";

fn has_clang() -> bool {
    let doctor = Command::new(env!("CARGO_BIN_EXE_assay"))
        .arg("doctor")
        .output();
    let found = doctor.is_ok_and(|output| output.status.success());
    if !found {
        assay_fixtures::skip(assay_fixtures::Tool::Clang);
    }
    found
}

/// Name, kind, index, access and type of each argument.
fn arguments(document: &Value) -> Vec<[Value; 5]> {
    let list = document["kernels"][0]["arguments"].as_array();
    let list = list.expect("arguments").iter();
    list.map(|one| ["name", "kind", "index", "access", "type"].map(|key| one[key].clone()))
        .collect()
}

#[test]
fn source_and_bitcode_list_kernels_with_arguments() {
    if !has_clang() {
        return;
    }
    let folder = Folder::new();
    let source = folder.file("k.txt", SOURCE);
    let bitcode = folder.0.path().join("k.bc");
    let compiled = Command::new(env!("CARGO_BIN_EXE_assay"))
        .arg("compile")
        .args([&source, &PathBuf::from("-o"), &bitcode])
        .status();
    assert!(compiled.is_ok_and(|status| status.success()));
    for (path, kind) in [(&source, "Metal source"), (&bitcode, "LLVM bitcode")] {
        let document = json(&inspect(path, &["--format", "json"]));
        assert_eq!(document["file"]["kind"], kind);
        assert_eq!(document["kernels"][0]["name"], "scale");
        let found = arguments(&document);
        let expected = serde_json::json!([
            ["out", "buffer", 1, "read-write", "float"],
            ["in", "buffer", 0, "read", "const half"],
            ["n", "buffer", 3, "read", "uint"],
            ["tile", "threadgroup", 2, "read-write", "float"],
            ["i", "thread_position_in_grid", null, null, "uint"],
        ]);
        assert_eq!(serde_json::json!(found), expected, "{kind}");
    }
    let text = stdout(&inspect(&source, &[]));
    assert!(text.contains("Metal 3.1"), "{text}");
    assert!(
        text.contains("2  threadgroup              read-write  float"),
        "{text}"
    );
    let output = inspect(&bitcode, &["-f", "scal"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("scale"));
}

#[test]
fn code_of_a_capture_is_named_by_its_chip() {
    let folder = Folder::new();
    let capture = folder.0.path().join("kernel.gputrace");
    std::fs::create_dir(&capture).expect("a folder");
    let members = assay_trace::synth::bundle::example("relu_f32", 1).expect("a bundle");
    for (name, bytes) in members {
        std::fs::write(capture.join(name), bytes).expect("a file");
    }
    std::fs::write(capture.join("7A0C"), archive(&["G16P"])).expect("a file");
    let output = inspect(&capture, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    for part in ["code of a .gputrace capture", "G16P", "7A0C", "softmax_f32"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let document = json(&inspect(&capture, &["--format", "json"]));
    let slices = document["slices"].as_array().expect("slices");
    let code = slices.iter().find(|slice| slice["target"] == "G16P");
    assert_eq!(code.expect("a slice")["member"], "7A0C");
    let report = Command::new(env!("CARGO_BIN_EXE_assay"))
        .args(["trace", "report"])
        .arg(&capture)
        .output()
        .expect("assay runs");
    assert!(stdout(&report).contains("G16P"), "{}", stdout(&report));
}
