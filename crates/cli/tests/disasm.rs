//! `assay disasm`: lines, JSON, the edges of its input.

use std::io::Write;
use std::process::{Command, Output, Stdio};

fn assay(arguments: &[&str]) -> Output {
    assay_with_input(arguments, &[])
}

fn assay_with_input(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_assay"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("assay starts");
    let mut stdin = child.stdin.take().expect("piped");
    let input = input.to_vec();
    let writer = std::thread::spawn(move || {
        // A command that stops early closes its end.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().expect("assay ends");
    writer.join().expect("the writer ends");
    output
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn squeezed(output: &Output) -> Vec<String> {
    stdout(output)
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

#[test]
fn a_line_is_offset_hex_mnemonic_operands() {
    let output = assay(&["disasm", "--hex", "0e01401600000000 8800 0800"]);
    assert_eq!(
        squeezed(&output),
        ["0: 0e01401600000000 iadd r0, r0.sx, 1", "8: 8800 stop"]
    );
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn all_goes_on_after_stop_and_unknown_parcels_are_counted() {
    let output = assay(&["disasm", "--all", "--hex", "8800ffff3801"]);
    assert_eq!(
        squeezed(&output),
        ["0: 8800 stop", "2: ffff .short 0xffff", "4: 3801 wait 1"]
    );
    assert!(stderr(&output).contains("1 of 3 items are unknown"));
}

#[test]
fn offset_and_length_choose_a_window_and_targets_count_from_the_start() {
    let code = "3800380000c0feffffff8800";
    let output = assay(&["disasm", "--offset", "0x4", "--length", "6", "--hex", code]);
    assert_eq!(squeezed(&output), ["4: 00c0feffffff jmp_exec_any 0x2"]);
    let piped: Vec<u8> = (0..code.len() / 2)
        .map(|i| u8::from_str_radix(&code[2 * i..2 * i + 2], 16).expect("hex"))
        .collect();
    let streamed = assay_with_input(&["disasm", "--offset", "4", "--length", "6", "-"], &piped);
    assert_eq!(stdout(&streamed), stdout(&output));
}

#[test]
fn json_is_one_object_a_line_and_a_summary() {
    let output = assay(&[
        "disasm",
        "--format",
        "json",
        "--all",
        "--hex",
        "0529440e00c01200ffff",
    ]);
    let text = stdout(&output);
    let rows: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[0]["mnemonic"], "device_load");
    assert_eq!(rows[0]["bytes"], "0529440e00c01200");
    assert_eq!(rows[0]["operands"][3], "r5");
    assert_eq!(rows[0]["reads"], serde_json::json!(["r2l", "r2h"]));
    assert_eq!(rows[0]["writes"], serde_json::json!(["r5l", "r5h"]));
    assert_eq!(rows[1]["unknown"], true);
    assert_eq!(rows[2]["summary"]["unknown"], 1);
    assert_eq!(rows[2]["schema"]["name"], "assay.disasm");
}

#[test]
fn a_pipe_longer_than_one_piece_equals_the_file() {
    // Three megabytes of noise: pieces end inside instructions.
    let mut state = 1u64;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 56) as u8
    })
    .take(3 << 20)
    .collect();
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(&noise).expect("written");
    let path = file.path().to_str().expect("a plain path");
    let mapped = assay(&["disasm", "--all", path]);
    let piped = assay_with_input(&["disasm", "--all", "-"], &noise);
    assert_eq!(mapped.status.code(), Some(0), "{}", stderr(&mapped));
    assert!(mapped.stdout == piped.stdout);
    assert!(stderr(&mapped).contains("items are unknown"));
}

#[test]
fn bad_input_has_a_message_and_exit_code_three() {
    let empty = assay_with_input(&["disasm", "-"], &[]);
    assert_eq!(empty.status.code(), Some(3));
    assert!(stderr(&empty).contains("standard input is empty"));

    let odd = assay(&["disasm", "--hex", "380088"]);
    assert_eq!(squeezed(&odd), ["0: 3800 wait 0", "2: 88 .byte 0x88"]);
    assert_eq!(odd.status.code(), Some(3));
    assert!(stderr(&odd).contains("odd number of bytes"));
    let inside = assay(&["disasm", "--hex", "616263"]);
    assert_eq!(
        inside.status.code(),
        Some(3),
        "cut in the middle of a parcel"
    );
    assert!(stderr(&inside).contains("odd number of bytes"));

    let nothing = assay(&["disasm", "--hex", "ffffffff"]);
    assert_eq!(nothing.status.code(), Some(3));
    assert!(stderr(&nothing).contains("no known G13 instruction"));

    let beyond = assay(&["disasm", "--offset", "9", "--hex", "8800"]);
    assert_eq!(beyond.status.code(), Some(3));
}

#[test]
fn bad_usage_is_exit_code_two() {
    for arguments in [
        &["disasm", "--hex", "88g0"][..],
        &["disasm", "--hex", "880"],
        &["disasm"],
    ] {
        assert_eq!(assay(arguments).status.code(), Some(2), "{arguments:?}");
    }
    let older = assay(&["disasm", "--isa", "g12p", "--hex", "8800"]);
    assert_eq!(older.status.code(), Some(2));
    assert!(stderr(&older).contains("supported: G13 and G14"));
}

/// The end of a kernel for an M4, and an instruction of which only the length is known.
const NEWER: &str = "1ca01006 470654000000000000000000 0e000000";

#[test]
fn newer_code_says_how_well_each_instruction_is_known() {
    let output = assay(&["disasm", "--isa", "g16g", "--explain", "--hex", NEWER]);
    let text = stdout(&output);
    assert!(text.contains("get_sr"), "{text}");
    assert!(
        text.contains("TODO.simd_shuffle_fill  ; length only"),
        "{text}"
    );
    assert!(text.contains("; what is known"), "{text}");
    assert!(text.contains("give the bytes of their source"), "{text}");
    let output = assay(&["disasm", "--isa", "g15", "--format", "json", "--hex", NEWER]);
    let text = stdout(&output);
    assert!(text.contains("\"standing\":\"proven\""), "{text}");
    assert!(text.contains("\"standing\":\"length only\""), "{text}");
}

/// An archive of one function for a GPU whose number is not published, with the code of G15's family.
fn newer_archive() -> Vec<u8> {
    use assay_container::builder::{ArchiveBuilder, FunctionBuilder, image_with_descriptor};
    use assay_container::gpu::Gpu;
    const SOURCE: &str = "get_sr 0, r1, sr32\nmov r0.cache, r1, wait 0\nstop";
    let assembly = assay_agx::assemble(assay_agx::Isa::G15, SOURCE, 0).expect("right source");
    let gpu = Gpu { subtype: 4711 };
    let function = FunctionBuilder::new(gpu).main(&assembly.code).build();
    let image = image_with_descriptor(gpu, &function, "positions");
    ArchiveBuilder::new().gpu(gpu, &image).build()
}

#[test]
fn an_archive_is_listed_in_the_instruction_set_it_is_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("kernels.gpubin");
    std::fs::write(&path, newer_archive()).expect("a file");
    let path = path.to_str().expect("a plain path");
    let output = assay(&["disasm", path, "-f", "positions"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(
        squeezed(&output),
        [
            "0: 1ca01006 get_sr 0, r1, sr32 (thread_position_in_grid.x)",
            "4: 0b022120 mov r0.cache, r1, wait 0",
            "8: 0e000000 stop",
        ]
    );
    let output = assay(&["disasm", path, "-f", "position"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("positions"), "{}", stderr(&output));
    let output = assay(&["inspect", path]);
    let text = stdout(&output);
    assert!(
        text.contains("an Apple GPU with G15 code (cpusubtype 4711)"),
        "{text}"
    );
    assert!(!text.contains("cannot be decoded"), "{text}");
    // Bytes that are asked for by their place in the file are those of the file.
    let output = assay(&["disasm", path, "--offset", "0", "--length", "4"]);
    assert_eq!(
        squeezed(&output).first().map(String::as_str),
        Some("0: cbfe .short 0xfecb")
    );
}

#[test]
fn a_cut_instruction_is_shown_and_remarked() {
    let output = assay(&["disasm", "--hex", "e245a0f3"]);
    assert_eq!(
        squeezed(&output),
        ["0: e245a0f3 mov_imm r17.cache, 62368, 0b0"]
    );
    assert!(stderr(&output).contains("ends inside the last instruction"));
}

/// Every listing of the public corpora: `disasm` prints its words, `asm` gives the bytes.
#[test]
fn corpus_programs_survive_disasm_and_asm() {
    let folder = assay_fixtures::path("agx/apple");
    for entry in std::fs::read_dir(folder).expect("readable").flatten() {
        let text = std::fs::read_to_string(entry.path()).expect("readable");
        let rows = text.lines().filter(|line| !line.starts_with('#'));
        let hex: String = rows.filter_map(|line| line.split('\t').nth(1)).collect();
        let listing = assay(&["disasm", "--all", "--hex", &hex]);
        let back = assay_with_input(&["asm", "-"], &listing.stdout);
        assert_eq!(stdout(&back).trim_end(), hex, "{}", entry.path().display());
    }
}
