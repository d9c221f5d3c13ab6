//! `assay asm`: text in, bytes out, and messages that point at the mistake.

use std::io::Write;
use std::process::{Command, Output, Stdio};

fn assay(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_assay"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("assay starts");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(input.as_bytes()).expect("written");
    drop(stdin);
    child.wait_with_output().expect("assay ends")
}

fn asm(source: &str) -> String {
    let output = assay(&["asm", "-"], source);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{message}");
    String::from_utf8_lossy(&output.stdout)
        .trim_end()
        .to_owned()
}

fn mistake(source: &str) -> String {
    let output = assay(&["asm", "-"], source);
    assert_eq!(output.status.code(), Some(3));
    assert!(output.stdout.is_empty());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn labels_comments_and_data() {
    let source = "
        ; a loop
        top:  wait 0          // twice
              jmp_exec_any top
        .short 0x1234, 0xffff # data
        .byte 7
        stop";
    assert_eq!(asm(source), "380000c0feffffff3412ffff078800");
}

#[test]
fn a_forward_label_and_a_relative_target_agree() {
    let by_label = asm("jmp_exec_none out\nwait 1\nout: stop");
    assert_eq!(by_label, asm("jmp_exec_none pc+8\nwait 1\nstop"));
    assert_eq!(by_label, asm("jmp_exec_none pc+out\nwait 1\nout: stop"));
    assert_eq!(by_label, asm("jmp_exec_none 0x8\nwait 1\nstop"));
}

#[test]
fn a_listing_gives_back_its_bytes() {
    // Words that do not show the register, unnamed bits, a long form, a cut instruction.
    let code = "c5c4e03d0a01299101021400000000c0feffffffffff0a201903e245a0f3";
    let listing = assay(&["disasm", "--all", "--hex", code], "");
    let listing = String::from_utf8_lossy(&listing.stdout).into_owned();
    assert_eq!(asm(&listing), code);
}

#[test]
fn edited_words_win_over_the_old_bytes() {
    let output = assay(&["asm", "-"], "0: 3800 wait 1\n2: 8800 stop\n");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "38018800\n");
    assert!(String::from_utf8_lossy(&output.stderr).contains("first: line 1"));
}

#[test]
fn a_mistake_is_shown_with_line_column_and_what_was_expected() {
    let message = mistake("stop\n  fadd32 r1, r2, 0.1\n");
    assert!(
        message.contains("standard input:2:18: expected"),
        "{message}"
    );
    assert!(message.contains("found `0.1`"), "{message}");
    assert!(message.contains(" 2 |   fadd32 r1, r2, 0.1\n   |                  ^"));
}

#[test]
fn mistakes_of_every_kind_are_located() {
    let cases = [
        ("fad32 r1, r2, 1.0", ":1:1:", "did you mean `fadd32`?"),
        ("wait 2", ":1:6:", "expected an integer"),
        ("wait", ":1:5:", "found the end"),
        ("wait 0, 1", ":1:9:", "expected the end"),
        ("iadd r300, r1, r2", ":1:6:", "destination register"),
        ("iadd r1, r2, 256", ":1:14:", "0 to 255"),
        (
            "icmpsel ueq, r1, r2, r3, r4l, 0",
            ":1:",
            "destination's size",
        ),
        (
            "device_load 0, i32, xy, r1, u0_u1, 0, signed",
            ":1:25:",
            "as many as the mask",
        ),
        ("stop.sat", ":1:1:", "cannot saturate"),
        ("jmp_exec_any nowhere", ":1:14:", "branch target"),
        (".short 65536", ":1:8:", "expected a number"),
        ("a: stop\na: stop", ":2:1:", "already defined"),
        ("wait 0 {zz}", ":1:9:", "hexadecimal digits"),
        ("wait 0 {3801}", ":1:7:", "`wait 1`"),
    ];
    for (source, place, reason) in cases {
        let message = mistake(source);
        assert!(message.contains(place), "{source}: {message}");
        assert!(message.contains(reason), "{source}: {message}");
    }
}

#[test]
fn a_binary_goes_to_the_file_named_by_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("code.bin");
    let out = path.to_str().expect("a plain path");
    let output = assay(&["asm", "-", "-o", out], "wait 1\nstop");
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stdout.is_empty());
    assert_eq!(std::fs::read(&path).expect("written"), [0x38, 1, 0x88, 0]);
}

#[test]
fn an_empty_source_is_an_error() {
    assert!(mistake("; nothing\n").contains("holds no instruction"));
}
