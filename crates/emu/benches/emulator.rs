//! How many lane-instructions per second the emulator executes, on one thread.
//!
//! `cargo bench -p assay-emu` prints the median of several runs for each loop.
#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

use assay_agx::{Isa, Program, assemble};
use assay_emu::{DeviceMemory, Launch, run};
use std::time::Instant;

/// Iterations of each loop.
const ITERATIONS: u32 = 50_000;

/// A loop around `body`, counted in r1 against u0.
fn program(body: &[&str]) -> Program {
    let mut text = vec!["mov_imm r0l, 0".to_owned(), "mov_imm r1, 0, 0b0".to_owned()];
    for register in 2..32 {
        text.push(format!(
            "mov_imm r{register}, {}, 0b0",
            0x3f80_0000u32 + register
        ));
    }
    text.push("top:".to_owned());
    text.extend(body.iter().map(|line| (*line).to_owned()));
    text.push("iadd r1, 1, r1".to_owned());
    text.push("while_icmp r0l, nueq, r1, u0, 2".to_owned());
    text.push("jmp_exec_any top".to_owned());
    text.push("pop_exec r0l, 2".to_owned());
    text.push("stop".to_owned());
    let assembly = assemble(Isa::G13, &text.join("\n"), 0).expect("the benchmark assembles");
    Program {
        code: assembly.code,
        ..Program::new(Isa::G13, "bench")
    }
}

/// Seconds this thread has had a processor; the wall clock where that is not known.
/// Other programs on the machine then count less.
fn processor_seconds(start: Instant) -> f64 {
    let schedule = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = schedule
        .split(' ')
        .next()
        .and_then(|text| text.parse::<f64>().ok());
    nanoseconds.map_or_else(|| start.elapsed().as_secs_f64(), |time| time / 1e9)
}

/// Lane-instructions per second of processor time: the median of nine runs.
fn rate(body: &[&str], lenient: bool) -> f64 {
    let program = program(body);
    let memory = DeviceMemory::new();
    let mut launch = Launch::new([32, 1, 1], [32, 1, 1]);
    launch.uniforms.set_u32(0, ITERATIONS).expect("u0 exists");
    launch.lenient = lenient;
    let origin = Instant::now();
    let mut rates: Vec<f64> = (0..9)
        .map(|_| {
            let start = processor_seconds(origin);
            let outcome = run(&program, &launch, &memory).expect("the benchmark runs");
            outcome.lane_instructions as f64 / (processor_seconds(origin) - start)
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

fn main() {
    let fma = [
        "fmadd32 r2, r3, r4, r2",
        "fmadd32 r5, r6, r7, r5",
        "fmadd32 r8, r9, r10, r8",
        "fmadd32 r11, r12, r13, r11",
        "fmadd32 r14, r15, r16, r14",
        "fmadd32 r17, r18, r19, r17",
        "fmadd32 r20, r21, r22, r20",
        "fmadd32 r23, r24, r25, r23",
    ];
    let float = [
        "fadd32 r2, r3, r4",
        "fmul32 r5, r6, r7",
        "fadd32 r8, r9, r10",
        "fmul32 r11, r12, r13",
        "fadd32 r14, r15, r16",
        "fmul32 r17, r18, r19",
    ];
    let integer = [
        "iadd r2, r3, r2",
        "xor r4, r2, r5",
        "imadd r6, r7, r8, r6",
        "iadd r9, r10, r11, lsl 2",
        "bfeil r12, 0, r13, 5",
        "and r14, r15, r16",
        "icmpsel ult, r17, r18, r19, r20, r21",
        "mov r22, r23",
    ];
    let half = [
        "fadd16 r5h, r6l, r7l",
        "fmul16 r8l, r9h, r10l",
        "fadd16 r11l, r12h, r13h",
        "fmul16 r14h, r15l, r16l",
    ];
    let half_fma = [
        "fmadd16 r2l, r3l, r4h, r2l",
        "fmadd16 r5h, r6l, r7l, r5h",
        "fmadd16 r8l, r9h, r10l, r8l",
    ];
    let select = [
        "icmpsel ult, r17, r18, r19, r20, r21",
        "fcmpsel lt, r2, r3, r4, r5, r6",
        "icmpsel slt, r7, r8, r9, r10, r11",
    ];
    let special = ["rcp r2, r3", "exp2 r4, r5", "rsqrt r6, r7", "log2 r8, r9"];
    let shapes = [
        ("fused multiply-add", fma.as_slice()),
        ("float add and multiply", float.as_slice()),
        ("integer and logic", integer.as_slice()),
        ("compare and select", select.as_slice()),
        ("half add and multiply", half.as_slice()),
        ("half multiply-add", half_fma.as_slice()),
        ("transcendental", special.as_slice()),
    ];
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(name) = arguments.first().filter(|name| !name.starts_with("--")) {
        for (shape, body) in shapes {
            if shape == name {
                let memory = DeviceMemory::new();
                let mut launch = Launch::new([32, 1, 1], [32, 1, 1]);
                launch.uniforms.set_u32(0, 10000).expect("u0 exists");
                let o = run(&program(body), &launch, &memory).expect("runs");
                println!("{}", o.lane_instructions);
            }
        }
        return;
    }
    println!("lane-instructions per second on one core of this host (median of 9)");
    for (name, body) in shapes {
        let strict = rate(body, false) / 1e9;
        let lenient = rate(body, true) / 1e9;
        println!("{name:<24} strict {strict:>6.2} G/s   lenient {lenient:>6.2} G/s");
    }
}
