//! `assay emu`: arguments, arrays, counts, traces, faults and exit codes.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn assay(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_assay"))
        .current_dir(folder)
        .args(arguments)
        .output()
        .expect("assay starts")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// y[i] = a x[i] + y[i] for i < n, as a listing. Arguments: y 0, x 4, a 8, n 10.
const SAXPY: &str = "# offset\thex\ttext
0\t72051004\tget_sr r1, thread_position_in_grid.x
4\t62000000\tmov_imm r0l, 0
8\t522842a21800\tif_icmp r0l, ult, r1, u5, 1
e\t0511240e00c01200\tdevice_load 0, i32, x, r2, u2_u3, r1, unsigned
16\t0519204e00c01200\tdevice_load 1, i32, x, r3, u0_u1, r1, unsigned
1e\t3800\twait 0
20\t3801\twait 1
22\t3a89884124460200\tfmadd32 r2, u4, r2, r3
2a\t4511200e00c01200\tdevice_store 0, i32, x, r2, u0_u1, r1, unsigned, 0
32\t3800\twait 0
34\t520e00000000\tpop_exec r0l, 1
3a\t8800\tstop
";

/// The bytes of the listing.
fn saxpy_code() -> Vec<u8> {
    let hex: String = SAXPY
        .lines()
        .skip(1)
        .map(|line| line.split('\t').nth(1).unwrap())
        .collect();
    (0..hex.len() / 2)
        .map(|n| u8::from_str_radix(&hex[2 * n..2 * n + 2], 16).unwrap())
        .collect()
}

/// An array file as NumPy writes it.
fn npy(values: &[f32]) -> Vec<u8> {
    let mut header = format!(
        "{{'descr': '<f4', 'fortran_order': False, 'shape': ({},), }}",
        values.len()
    );
    while (header.len() + 11) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    bytes
}

fn floats(path: &Path) -> Vec<f32> {
    let bytes = std::fs::read(path).expect("the array is written");
    let header = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let words = bytes[header..].chunks_exact(4);
    words
        .map(|word| f32::from_le_bytes(word.try_into().unwrap()))
        .collect()
}

struct Folder(tempfile::TempDir);

impl Folder {
    /// The program and its arrays.
    fn new() -> Folder {
        let folder = Folder(tempfile::tempdir().expect("a folder"));
        std::fs::write(folder.path("saxpy.tsv"), SAXPY).expect("written");
        let x: Vec<f32> = (0..40).map(|i| i as f32).collect();
        std::fs::write(folder.path("x.npy"), npy(&x)).expect("written");
        std::fs::write(folder.path("y.npy"), npy(&[1.0; 40])).expect("written");
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn saxpy(&self, more: &[&str]) -> Output {
        let mut arguments = vec![
            "emu",
            "saxpy.tsv",
            "--grid",
            "64",
            "--threadgroup",
            "32,1,1",
            "--arg",
            "0=buffer:y.npy",
            "--arg",
            "4=buffer:x.npy",
            "--arg",
            "8=f32:0.5",
            "--arg",
            "10=u32:40",
        ];
        arguments.extend(more);
        assay(self.0.path(), &arguments)
    }
}

#[test]
fn buffers_go_in_and_come_out_as_arrays() {
    let folder = Folder::new();
    let output = folder.saxpy(&["--out", "0=result.npy"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let expected: Vec<f32> = (0..40).map(|i| 1.0 + 0.5 * i as f32).collect();
    assert_eq!(floats(&folder.path("result.npy")), expected);
    assert!(
        stdout(&output).contains("24 instructions by simdgroups"),
        "{}",
        stdout(&output)
    );
}

#[test]
fn raw_code_and_hexadecimal_uniforms_do_the_same() {
    let folder = Folder::new();
    std::fs::write(folder.path("saxpy.bin"), saxpy_code()).expect("written");
    let output = assay(
        folder.0.path(),
        &[
            "emu",
            "saxpy.bin",
            "--grid",
            "40",
            "--threadgroup",
            "32",
            "--arg",
            "0=buffer:y.npy",
            "--arg",
            "4=buffer:x.npy",
            "--uniforms",
            "8=0000003f28000000",
            "--out",
            "0=r.npy",
        ],
    );
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(floats(&folder.path("r.npy"))[39], 20.5);
}

#[test]
fn counts_show_lanes_lines_and_divergence() {
    let folder = Folder::new();
    let text = stdout(&folder.saxpy(&["--counts"]));
    let row = |offset: &str| -> Vec<String> {
        let line = text
            .lines()
            .find(|line| line.split_whitespace().next() == Some(offset))
            .unwrap_or_else(|| panic!("{text}"));
        line.split_whitespace().map(str::to_owned).collect()
    };
    // Two simdgroups, 32 and 8 active lanes, one line each.
    assert_eq!(row("e")[1..7], ["2", "40", "62", "%", "1", "2"]);
    assert_eq!(row("0")[1..5], ["2", "64", "100", "%"]);
    let json = stdout(&folder.saxpy(&["--counts", "--format", "json"]));
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["schema"]["name"], "assay.emu");
    assert_eq!(json["counts"][3]["lanes"], 40);
}

#[test]
fn a_trace_follows_one_thread() {
    let folder = Folder::new();
    let text = stdout(&folder.saxpy(&["--trace", "33"]));
    let line = text
        .lines()
        .find(|line| line.contains("fmadd32"))
        .expect("traced");
    assert!(
        line.ends_with(&format!("r2={:#x}", 17.5f32.to_bits())),
        "{line}"
    );
}

#[test]
fn a_missing_wait_is_a_verdict() {
    let folder = Folder::new();
    let broken = SAXPY.replace("20\t3801\twait 1", "20\t3800\twait 0");
    std::fs::write(folder.path("saxpy.tsv"), broken).expect("written");
    let output = folder.saxpy(&["--out", "0=never.npy"]);
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    for expected in ["at 0x22", "at 0x16", "wait 1", "lane 0"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert!(!folder.path("never.npy").exists());
    assert_eq!(folder.saxpy(&["--lenient"]).status.code(), Some(0));
}

#[test]
fn an_access_outside_is_a_verdict() {
    let folder = Folder::new();
    std::fs::write(folder.path("x.npy"), npy(&[1.0; 10])).expect("written");
    let output = folder.saxpy(&[]);
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    assert!(
        text.contains("byte 40 of buffer 1") && text.contains("lane 10"),
        "{text}"
    );
}

#[test]
fn bad_command_lines_and_files_say_what_is_wrong() {
    let folder = Folder::new();
    let cases: [(&[&str], i32, &str); 9] = [
        (&["--arg", "600=u32:1"], 2, "511"),
        (&["--arg", "4=u32:x"], 2, "`x` is not of type u32"),
        (&["--arg", "4=double:1"], 2, "TYPE:VALUE"),
        (&["--uniforms", "4=abc"], 2, "hexadecimal"),
        (&["--out", "8=a.npy"], 2, "no buffer"),
        (&["--trace", "64"], 2, "no thread"),
        (&["--tgmem", "70000"], 2, "16 bits"),
        (&["--arg", "0=buffer:saxpy.tsv"], 3, "not an array"),
        (&["--arg", "0=buffer:absent.npy"], 3, "absent.npy"),
    ];
    for (arguments, code, message) in cases {
        let output = folder.saxpy(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        assert!(
            stderr(&output).contains(message),
            "{arguments:?}: {}",
            stderr(&output)
        );
    }
    let geometry = assay(
        folder.0.path(),
        &["emu", "saxpy.tsv", "--grid", "64", "--threadgroup", "0"],
    );
    assert_eq!(geometry.status.code(), Some(2));
    let unset = assay(
        folder.0.path(),
        &["emu", "saxpy.tsv", "--grid", "64", "--threadgroup", "32"],
    );
    assert_eq!(unset.status.code(), Some(1));
    assert!(
        stderr(&unset).contains("half uniform 11"),
        "{}",
        stderr(&unset)
    );
}

#[test]
fn the_report_can_go_to_a_file() {
    let folder = Folder::new();
    let output = folder.saxpy(&["-o", "report.txt", "-o", "0=y2.npy"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).is_empty());
    let report = std::fs::read_to_string(folder.path("report.txt")).expect("written");
    assert!(report.contains("instructions"));
    assert_eq!(floats(&folder.path("y2.npy")).len(), 40);
}

#[test]
fn an_endless_loop_ends() {
    let folder = Folder::new();
    let text = "0\t62000000\tmov_imm r0l, 0\n4\t00c000000000\tjmp_exec_any 0x4\n";
    std::fs::write(folder.path("loop.tsv"), text).expect("written");
    let output = assay(
        folder.0.path(),
        &[
            "emu",
            "loop.tsv",
            "--grid",
            "1",
            "--threadgroup",
            "1",
            "--max-steps",
            "1000",
        ],
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("1000 instructions"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_function_of_an_archive_runs_by_name() {
    use assay_container::builder::{ArchiveBuilder, FunctionBuilder, image_with_descriptor};
    use assay_container::gpu::Gpu;
    let folder = Folder::new();
    let gpu = Gpu::named("g13g").expect("known");
    let newer = Gpu::named("g16p").expect("known");
    let function = FunctionBuilder::new(gpu).main(&saxpy_code()).build();
    let other = FunctionBuilder::new(newer).main(&[0; 8]).build();
    let archive = ArchiveBuilder::new()
        .gpu(newer, &image_with_descriptor(newer, &other, "saxpy"))
        .gpu(gpu, &image_with_descriptor(gpu, &function, "saxpy"))
        .build();
    std::fs::write(folder.path("archive"), archive).expect("written");
    let go = |name: &str| {
        assay(
            folder.0.path(),
            &[
                "emu",
                "archive",
                "-f",
                name,
                "--grid",
                "40",
                "--threadgroup",
                "32",
                "--arg",
                "0=buffer:y.npy",
                "--arg",
                "4=buffer:x.npy",
                "--arg",
                "8=f32:2",
                "--arg",
                "10=u32:40",
                "--out",
                "0=r.npy",
            ],
        )
    };
    let output = go("saxpy");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(floats(&folder.path("r.npy"))[3], 7.0);
    let missing = go("saypx");
    assert_eq!(missing.status.code(), Some(2));
    assert!(stderr(&missing).contains("saxpy"), "{}", stderr(&missing));
}
