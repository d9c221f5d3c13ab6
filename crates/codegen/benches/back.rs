//! How long the back end takes: unrolled matrix products of several sizes.
//!
//! ```text
//! cargo bench -p assay-codegen --bench back
//! ```
//!
//! Host time: the median of several runs.

#![allow(clippy::print_stdout, reason = "a program for people")]

use assay_agx::{Isa, Program};
use assay_codegen::mir::{Function, Kernel};
use assay_codegen::{Options, back};
use assay_ssa::IdVec;
use std::fmt::Write;
use std::time::{Duration, Instant};

/// A loop that loads rows and columns of a tile and multiplies them, unrolled.
fn text(unrolled: usize, tile: usize) -> String {
    let mut body = String::new();
    let mut registers = 3 + tile * tile;
    let accumulator = |row: usize, column: usize| 3 + row * tile + column;
    for _ in 0..unrolled {
        let mut loaded = Vec::new();
        for _ in 0..2 * tile / 4 {
            let (address, data) = (registers, registers + 1);
            registers += 2;
            writeln!(body, "  imadd %{address}, %1, 17, %0").unwrap();
            writeln!(
                body,
                "  device_load 0, i32, xyzw, %{data}[0:32x4], u0_u1, %{address}, unsigned !alias 0"
            )
            .unwrap();
            loaded.extend((0..4).map(|n| format!("%{data}[{}:32]", 2 * n)));
        }
        for row in 0..tile {
            for column in 0..tile {
                let sum = accumulator(row, column);
                let (a, b) = (&loaded[row], &loaded[tile + column]);
                writeln!(body, "  fmadd32 %{sum}, {a}, {b}, %{sum}").unwrap();
            }
        }
        writeln!(body, "  iadd %1, %1, 1").unwrap();
    }
    let mut text = "exec\n".to_owned();
    for reg in 0..registers {
        let loaded = reg >= 3 + tile * tile && (reg - 3 - tile * tile) % 2 == 1;
        writeln!(text, "%{reg}: {}", if loaded { 8 } else { 2 }).unwrap();
    }
    text += "mb0 -> mb1 depth 0\n  get_sr %0, sr80\n  copy %1 = 0\n";
    for reg in 3..3 + tile * tile {
        writeln!(text, "  copy %{reg} = 0").unwrap();
    }
    text += "mb1 -> mb1, mb2 depth 1\n";
    text += &body;
    text +=
        "  while_icmp r0l, ult, %1, u8, 1\n  jmp_exec_any mb1\nmb2 depth 0\n  pop_exec r0l, 1\n";
    for reg in 3..3 + tile * tile {
        writeln!(
            text,
            "  device_store 0, i32, x, %{reg}, u2_u3, {reg}, unsigned, 0 !alias 1"
        )
        .unwrap();
    }
    text + "  stop\n"
}

fn main() {
    for (unrolled, tile, limit) in [(4, 4, 256), (50, 4, 256), (300, 8, 256), (300, 8, 104)] {
        let main: Function = text(unrolled, tile).parse().unwrap();
        let count: usize = main.blocks.as_slice().iter().map(|b| b.insts.len()).sum();
        let kernel = Kernel {
            program: Program::new(Isa::G13, "speed"),
            main,
            constant: None,
            lines: IdVec::new(),
            register_limit: limit,
        };
        let mut times: Vec<Duration> = Vec::new();
        let mut halves = 0;
        for _ in 0..7 {
            let kernel = kernel.clone();
            let start = Instant::now();
            let program = back::finish(kernel, &Options::default()).unwrap();
            times.push(start.elapsed());
            halves = program.half_registers.unwrap_or(0);
        }
        times.sort();
        println!(
            "{count:6} instructions, {limit} half registers: {:8.2} ms (host), {halves} used",
            times[3].as_secs_f64() * 1e3
        );
    }
}
