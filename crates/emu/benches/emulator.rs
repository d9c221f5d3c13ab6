//! How many lane-instructions per second the emulator executes, on one thread.
//!
//! `cargo bench -p assay-emu` prints the median of several runs for each loop. With the
//! name of a loop, `cargo bench -p assay-emu -- 'half add'`, it runs that one alone, once
//! and strictly, for a tool that counts the host's instructions; `nothing` is the rest.
#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

use assay_agx::{Isa, Program, assemble};
use assay_emu::{DeviceMemory, Launch, run};
use std::time::Instant;

/// Iterations of each loop.
const ITERATIONS: u32 = 300_000;

/// Runs of each loop; the median counts.
const RUNS: usize = 7;

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

/// Lane-instructions per second of processor time: the median of the runs.
fn rate(body: &[&str], lenient: bool) -> f64 {
    let program = program(body);
    let memory = DeviceMemory::new();
    let mut launch = Launch::new([32, 1, 1], [32, 1, 1]);
    launch.uniforms.set_u32(0, ITERATIONS).expect("u0 exists");
    launch.lenient = lenient;
    let origin = Instant::now();
    let mut rates: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = processor_seconds(origin);
            let outcome = run(&program, &launch, &memory).expect("the benchmark runs");
            outcome.lane_instructions as f64 / (processor_seconds(origin) - start)
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// A loop: its name and body.
type Shape = (&'static str, &'static [&'static str]);

const SHAPES: &[Shape] = &[
    ("nothing", &[]),
    (
        "fused multiply-add",
        &[
            "fmadd32 r2, r3, r4, r2",
            "fmadd32 r5, r6, r7, r5",
            "fmadd32 r8, r9, r10, r8",
            "fmadd32 r11, r12, r13, r11",
            "fmadd32 r14, r15, r16, r14",
            "fmadd32 r17, r18, r19, r17",
            "fmadd32 r20, r21, r22, r20",
            "fmadd32 r23, r24, r25, r23",
        ],
    ),
    (
        "float add and multiply",
        &[
            "fadd32 r2, r3, r4",
            "fmul32 r5, r6, r7",
            "fadd32 r8, r9, r10",
            "fmul32 r11, r12, r13",
            "fadd32 r14, r15, r16",
            "fmul32 r17, r18, r19",
        ],
    ),
    (
        "float with modifiers",
        &[
            "fmadd32 r2, r3.neg, r4, r2",
            "fadd32 r8, r9.abs, r10",
            "fmul32.sat r11, r12, r13",
            "fmadd32 r5, r6l, r7h, r5",
            "fadd32 r14l, r15, r16",
        ],
    ),
    (
        "integer and logic",
        &[
            "iadd r2, r3, r2",
            "xor r4, r2, r5",
            "imadd r6, r7, r8, r6",
            "iadd r9, r10, r11, lsl 2",
            "bfeil r12, 0, r13, 5",
            "and r14, r15, r16",
            "icmpsel ult, r17, r18, r19, r20, r21",
            "mov r22, r23",
        ],
    ),
    (
        "integer add",
        &[
            "iadd r2, r3, r2",
            "isub r4, r5, r6",
            "iadd r9, r10, r11, lsl 2",
        ],
    ),
    (
        "integer multiply-add",
        &[
            "imadd r2, r3, r4, r2",
            "imadd r5, r6, r7, r5",
            "imsub r8, r9, r10, r8",
        ],
    ),
    (
        "shifts and fields",
        &[
            "bfi r2, 0, r3, 5",
            "bfeil r4, 0, r5, r6",
            "asr r7, r8, 3",
            "shrhi r9, r10, r11, 3",
        ],
    ),
    (
        "bit functions",
        &[
            "and r2, r3, r4",
            "or r5, r6, r7",
            "xor r8, r9, r10",
            "nand r11, r12, r13",
        ],
    ),
    (
        "16-bit integers",
        &[
            "iadd r2l, r3l, r4h",
            "imadd r5h, r6l, r7l, r8h",
            "and r9l, r10h, r11l",
        ],
    ),
    (
        "compare and select",
        &[
            "icmpsel ult, r17, r18, r19, r20, r21",
            "fcmpsel lt, r2, r3, r4, r5, r6",
            "icmpsel slt, r7, r8, r9, r10, r11",
        ],
    ),
    (
        "half add and multiply",
        &[
            "fadd16 r5h, r6l, r7l",
            "fmul16 r8l, r9h, r10l",
            "fadd16 r11l, r12h, r13h",
            "fmul16 r14h, r15l, r16l",
        ],
    ),
    (
        "half multiply-add",
        &[
            "fmadd16 r2l, r3l, r4h, r2l",
            "fmadd16 r5h, r6l, r7l, r5h",
            "fmadd16 r8l, r9h, r10l, r8l",
        ],
    ),
    (
        "conversions",
        &[
            "convert s32_to_f, r2, r3, rte",
            "convert u32_to_f, r4, r5, rte",
            "convert f_to_s32, r6, r7, rtz",
            "convert f_to_u32, r8, r9, rte",
            "convert s16_to_f, r10l, r11h, rte",
        ],
    ),
    ("rounding", &["floor r2, r3", "rint r4, r5", "trunc r6, r7"]),
    (
        "transcendental",
        &["rcp r2, r3", "exp2 r4, r5", "rsqrt r6, r7", "log2 r8, r9"],
    ),
];

/// Runs one loop once.
fn once(body: &[&str]) {
    let mut launch = Launch::new([32, 1, 1], [32, 1, 1]);
    launch
        .uniforms
        .set_u32(0, ITERATIONS / 10)
        .expect("u0 exists");
    let outcome = run(&program(body), &launch, &DeviceMemory::new()).expect("the benchmark runs");
    println!("{} lane-instructions", outcome.lane_instructions);
}

fn main() {
    let wanted = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with("--"));
    if let Some(wanted) = wanted {
        for (_, body) in SHAPES.iter().filter(|(name, _)| *name == wanted) {
            once(body);
        }
        return;
    }
    println!("lane-instructions per second on one core of this host (median of {RUNS})");
    for (name, body) in SHAPES {
        let strict = rate(body, false) / 1e9;
        let lenient = rate(body, true) / 1e9;
        println!("{name:<24} strict {strict:>6.2} G/s   lenient {lenient:>6.2} G/s");
    }
}
