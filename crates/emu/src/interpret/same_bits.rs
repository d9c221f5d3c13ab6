//! The interpreter gives the same bits compiled for any processor and for one with
//! vectors: registers of all kinds of numbers, all lanes active and some.

use super::{Exit, Machine, run_compiled};
use crate::device::DeviceMemory;
use crate::lower::lower;
use crate::op::Row;
use crate::ops::access::GroupMemory;
use crate::simdgroup::{Placement, Simdgroup, Stack};
use crate::uniforms::Uniforms;
use assay_agx::{Isa, assemble};

const BODY: &[&str] = &[
    "fmadd32 r2, r3, r4, r5",
    "fmadd32.sat r6, r7.neg, r8.abs, r9",
    "fmadd32 r10, r11l, r12h, r13.neg",
    "fmadd32 r14l, r15, r16, r17",
    "fadd32 r18, r19, r20",
    "fmul32 r21h, r22l.abs.neg, r23",
    "fadd16 r24l, r25l, r26h",
    "fadd16 r27h, r28h.neg, r29l.abs",
    "fmul16 r30l, r31l, r32l",
    "fmul16.sat r33h, r34h, r35l",
    "fmadd16 r36l, r37l, r38h, r39l",
    "fmadd16 r40h, r41l, r42l, r40h",
    "fmadd16.sat r43h, r44h, r45l.neg, r46l.abs",
    "iadd r47, r48l.sx, r49, lsl 2",
    "imadd r50, r51, r52, r53",
    "imsub r54l, r55h, r56l, r57",
    "and r58, r59, r60",
    "nor r61h, r62l, r63h",
    "bfi r64, r65, r66, r67",
    "bfeil r68, r69, r70, r71",
    "extr r72, r73, r74, r75",
    "shlhi r76, r77, r78, r79",
    "shrhi r80, r81, r82, r83",
    "asr r84, r85, r86",
    "icmpsel slt, r87, r88, r89, r90, r91",
    "fcmpsel lt, r92, r93, r94.neg, r95, r96",
    "fcmpsel gtn, r97l, r98l, r99h, r100l, r101h",
    "convert s32_to_f, r102, r103, rte",
    "convert u32_to_f, r104, r105, rtz",
    "convert u16_to_f, r106l, r107h, rtz",
    "convert f_to_s32, r108, r109, rtz",
    "convert f_to_u32, r110, r111l, rte",
    "convert f_to_s16, r112l, r113, rte",
    "rcp r114, r115",
    "rsqrt r116l, r117.abs",
    "exp2 r118, r119",
    "log2 r120, r121h",
    "floor r122, r123",
    "rint r124l, r125",
    "simd_matrix_fmadd32 r2_r3, r4_r5, r6_r7, r8_r9",
];

/// A loop body executed by all lanes, then by those whose r127 is not negative.
fn program() -> Vec<u8> {
    let mut text = vec!["mov_imm r0l, 0"];
    text.extend(BODY);
    text.push("if_icmp r0l, sgt, r127, r1, 1");
    text.extend(BODY.iter().filter(|line| !line.starts_with("simd_matrix")));
    text.extend(["pop_exec r0l, 1", "stop"]);
    assemble(Isa::G13, &text.join("\n"), 0)
        .expect("the program assembles")
        .code
}

/// Any bits, numbers of ordinary size, small integers, halves, and the odd ones.
fn number(state: &mut u64) -> u32 {
    const ODD: [u32; 12] = [
        0,
        0x8000_0000,
        1,
        0x007f_ffff,
        0x0080_0000,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_1234,
        0xff80_0001,
        0x7c00_fc00,
        0x7e01_0001,
        0x83ff_0400,
    ];
    *state = state
        .wrapping_mul(6364136223846793005)
        .wrapping_add(1442695040888963407);
    let bits = (*state >> 32) as u32;
    match *state >> 29 & 7 {
        0 | 1 => bits,
        2 | 3 => (bits as i32 as f32 / 1e8).to_bits(),
        4 => bits & 0x7f,
        5 | 6 => bits & 0x3fff_3fff,
        _ => ODD[bits as usize % ODD.len()],
    }
}

fn registers<const VECTOR: bool>(code: &[u8], seed: u64) -> Vec<Row> {
    let lowered = lower(Isa::G13, code, &Uniforms::new(), true);
    let placement = Placement {
        group: [0; 3],
        size: [32, 1, 1],
        full_size: [32, 1, 1],
        simdgroup: 0,
        threads: 32,
    };
    let mut simdgroup = Simdgroup::new(&lowered.pool, 0, placement, Stack::new(0, 0));
    let mut state = seed;
    for row in 0..128 {
        let mut values = Row::ZERO;
        values.0.fill_with(|| number(&mut state));
        simdgroup.set_row(row, &values);
    }
    let memory = DeviceMemory::new();
    let mut machine = Machine {
        code: &lowered,
        device: &memory,
        group: GroupMemory::new(0, 0),
        uniforms: None,
        counts: None,
        tracer: None,
        observer: None,
        max_steps: u64::MAX,
        strict: false,
    };
    let exit = run_compiled::<VECTOR, false, false>(&mut simdgroup, &mut machine, u64::MAX);
    assert!(matches!(exit, Exit::Stopped), "{exit:?}");
    (0..128).map(|row| simdgroup.row(row)).collect()
}

#[test]
fn vectors_change_no_bit() {
    if !crate::host::has_vectors() {
        return;
    }
    let code = program();
    for seed in 0..200 {
        let plain = registers::<false>(&code, seed);
        let vector = registers::<true>(&code, seed);
        for (row, (plain, vector)) in plain.iter().zip(&vector).enumerate() {
            assert_eq!(plain, vector, "r{row}, seed {seed}");
        }
    }
}
