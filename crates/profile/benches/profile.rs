//! How long profiling takes, and that it grows with the code and no faster.
//!
//! `cargo bench -p assay-profile`. The kernel is a tiled product written for this: loops,
//! loads, waits, branches; larger programs are that kernel again and again.

use assay_agx::{Isa, Program, assemble};
use assay_chip::Chip;
use assay_profile::{Options, Profile, render};
use std::fmt::Write;

fn main() {
    divan::main();
}

/// About 60 instructions: a loop with two loads, arithmetic and a branch.
fn chunk() -> Vec<u8> {
    let mut text = String::from(
        "mov_imm r0l, 0
         mov_imm r1, 0, 0b0
         top: device_load 0, i32, xy, r4_r5, u0_u1, r1, unsigned
         device_load 1, i32, xy, r6_r7, u2_u3, r1, unsigned
         wait 0
         wait 1
         if_icmp r0l, ult, r1, 5, 1
         rcp r8, r4
         fmul32 r4, r4, r8
         pop_exec r0l, 1\n",
    );
    for index in 0..44 {
        let _ = writeln!(
            text,
            "fmadd32 r{}, r{}, r{}, r{}",
            10 + index % 22,
            4 + index % 2,
            6 + index % 2,
            10 + index % 22
        );
    }
    text += "iadd r1, r1, 1
         while_icmp r0l, ult, r1, u4, 2
         jmp_exec_any top
         pop_exec r0l, 2
         device_store 0, i32, xy, r10_r11, u4_u5, r1, unsigned, 0";
    assemble(Isa::G13, &text, 0)
        .map(|assembly| assembly.code)
        .unwrap_or_default()
}

fn program(bytes: usize) -> Program {
    let chunk = chunk();
    let mut code = Vec::with_capacity(bytes + chunk.len());
    while code.len() + chunk.len() / 2 < bytes {
        code.extend_from_slice(&chunk);
    }
    code.extend_from_slice(&[0x88, 0x00]);
    Program {
        code,
        ..Program::new(Isa::G13, "bench")
    }
}

fn options() -> Option<Options> {
    Some(Options::new(Chip::named("m1").ok()?))
}

/// 1,900 bytes are about 250 instructions.
#[divan::bench(args = [1_900, 10_000, 100_000, 1_000_000])]
fn profile(bencher: divan::Bencher<'_, '_>, bytes: usize) {
    let (program, options) = (program(bytes), options());
    bencher
        .counter(divan::counter::BytesCount::new(program.code.len()))
        .bench(|| Profile::new(&program, options.as_ref()?).ok());
}

#[divan::bench]
fn profile_and_text_of_250_instructions(bencher: divan::Bencher<'_, '_>) {
    let (program, options) = (program(1_900), options());
    bencher.bench(|| {
        let profile = Profile::new(&program, options.as_ref()?).ok()?;
        Some(render::text(&profile, &render::Style::default()))
    });
}
