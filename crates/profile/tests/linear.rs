//! Twice the code is twice the work, to a megabyte of it.
//!
//! Where valgrind is installed, the test runs itself under it and compares instructions
//! executed, which are the same every time. Elsewhere it compares the shortest of several
//! times, with more room for the machine's noise.
#![allow(clippy::print_stderr, reason = "the figures help when it fails")]

use assay_agx::{Isa, Program, assemble};
use assay_chip::Chip;
use assay_profile::{Options, Profile};
use std::process::Command;
use std::time::Instant;

/// Set to the shape and the size of the program to profile, by the run that counts.
const CHILD: &str = "ASSAY_PROFILE_LINEAR";

/// What the code is made of, again and again.
const SHAPES: [(&str, &str); 3] = [
    // Loops with loads, waits and a branch.
    (
        "loops",
        "mov_imm r1, 0, 0b0
         top: device_load 0, i32, xy, r4_r5, u0_u1, r1, unsigned
         device_load 1, i32, xy, r6_r7, u2_u3, r1, unsigned
         wait 0
         wait 1
         if_icmp r0l, ult, r1, 5, 1
         rcp r8, r4
         fmul32 r4, r4, r8
         pop_exec r0l, 1
         fmadd32 r10, r4, r6, r10
         fmadd32 r11, r5, r7, r11
         fmadd32 r12, r4, r7, r12
         iadd r1, r1, 1
         while_icmp r0l, ult, r1, u4, 2
         jmp_exec_any top
         pop_exec r0l, 2
         device_store 0, i32, xy, r10_r11, u4_u5, r1, unsigned, 0",
    ),
    // One long block: chains, and accesses that nothing waits for at once.
    (
        "straight",
        "device_load 1, i32, x, r4, u0_u1, r1, unsigned
         fmadd32 r2, r3, r4, r2
         fmadd16 r5l, r6l, r7l, r5l
         wait 0
         device_store 0, i32, x, r2, u4_u5, r1, unsigned, 0
         rcp r8, r2",
    ),
    // Branches without loops; one way waits, the other does not.
    (
        "branches",
        "device_load 1, i32, x, r4, u0_u1, r1, unsigned
         if_icmp r0l, ult, r1, 5, 1
         jmp_exec_none skip
         wait 1
         fadd32 r2, r4, r2
         skip: pop_exec r0l, 1
         device_load 0, i32, x, r6, u0_u1, r2, unsigned
         wait 0
         fadd32 r3, r6, r3",
    ),
];

fn program(shape: &str, bytes: usize) -> Program {
    let text = SHAPES
        .iter()
        .find(|(name, _)| *name == shape)
        .expect("a shape")
        .1;
    let chunk = assemble(Isa::G13, text, 0).expect("it assembles").code;
    let mut code = assemble(Isa::G13, "mov_imm r0l, 0", 0)
        .expect("it assembles")
        .code;
    while code.len() < bytes {
        code.extend_from_slice(&chunk);
    }
    code.extend_from_slice(&[0x88, 0x00]);
    Program {
        code,
        ..Program::new(Isa::G13, "linear")
    }
}

fn profile(program: &Program) -> Profile {
    let options = Options::new(Chip::named("m1").expect("m1"));
    Profile::new(program, &options).expect("a profile")
}

/// Instructions that this test executes under valgrind for one profile; `None` without it.
fn instructions(shape: &str, bytes: usize) -> Option<f64> {
    let output = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=no", "--log-fd=1"])
        .arg("--cachegrind-out-file=/dev/null")
        .arg(std::env::current_exe().ok()?)
        .args(["--exact", "--ignored", "--test-threads=1", "one_profile"])
        .env(CHILD, format!("{shape} {bytes}"))
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let line = text.lines().find(|line| line.contains("refs:"))?;
    let digits: String = line
        .rsplit(' ')
        .next()?
        .chars()
        .filter(char::is_ascii_digit)
        .collect();
    digits.parse().ok()
}

/// The shortest of several times, in seconds.
fn seconds(shape: &str, bytes: usize) -> f64 {
    let program = program(shape, bytes);
    let once = || {
        let start = Instant::now();
        assert!(!profile(&program).main.blocks.is_empty());
        start.elapsed().as_secs_f64()
    };
    (0..5).map(|_| once()).fold(f64::MAX, f64::min)
}

#[test]
#[ignore = "run by the others, under valgrind"]
fn one_profile() {
    let asked = std::env::var(CHILD).unwrap_or_default();
    if let Some((shape, bytes)) = asked.split_once(' ') {
        let bytes: usize = bytes.parse().expect("a number");
        let program = program(shape, bytes.max(1));
        if bytes > 0 {
            assert!(!profile(&program).main.blocks.is_empty());
        }
    }
}

fn check(shape: &str) {
    let start = instructions(shape, 0);
    let per_byte = |bytes: usize| match start {
        Some(start) => {
            (instructions(shape, bytes).expect("valgrind ran before") - start) / bytes as f64
        }
        None => seconds(shape, bytes) / bytes as f64,
    };
    let [small, medium, large] = [10_000, 100_000, 1_000_000].map(per_byte);
    let unit = if start.is_some() {
        "instructions"
    } else {
        "seconds"
    };
    eprintln!("{shape}: {small:.3e}, {medium:.3e}, {large:.3e} {unit} per byte");
    // Caches slow down what is timed, but not what is counted.
    let room = if start.is_some() { 1.1 } else { 4.0 };
    assert!(medium < small * room, "{shape}: {small:e}, {medium:e}");
    assert!(large < medium * room, "{shape}: {medium:e}, {large:e}");
}

#[test]
fn more_loops_are_as_much_more_work() {
    check("loops");
}

#[test]
fn a_longer_block_is_as_much_more_work() {
    check("straight");
}

#[test]
fn more_branches_are_as_much_more_work() {
    check("branches");
}
