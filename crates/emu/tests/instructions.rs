//! Single instructions at the edges of their definition. Expected values come from the
//! documented semantics, not from the emulator.
#![allow(clippy::needless_range_loop, reason = "threads and lanes are numbers")]

mod common;
use common::asm::registers;

const NAN: u32 = 0x7fc0_0000;
const INF: u32 = 0x7f80_0000;
const MINUS_ZERO: u32 = 0x8000_0000;
const TINY: u32 = 0x0080_0000;
const DENORMAL: u32 = 0x0000_0123;

/// Runs `instruction` on every case: operands in r8, r9, r10; result in r20.
#[track_caller]
fn check(instruction: &str, cases: &[(&[u32], u32)]) {
    let inputs: Vec<[u32; 32]> = (0..3)
        .map(|operand| {
            std::array::from_fn(|lane| {
                let operands = cases.get(lane).map_or([].as_slice(), |case| case.0);
                operands.get(operand).copied().unwrap_or(0)
            })
        })
        .collect();
    let lines = format!("mov_imm r20, 0, 0b0\n{instruction}");
    let found = registers(&lines, &inputs, "r20");
    for (lane, (operands, expected)) in cases.iter().enumerate() {
        assert_eq!(
            found[lane], *expected,
            "{instruction} of {operands:x?}: {:#x}, expected {expected:#x}",
            found[lane]
        );
    }
}

fn f(value: f32) -> u32 {
    value.to_bits()
}

#[test]
fn single_precision_flushes_and_has_one_nan() {
    check(
        "fmadd32 r20, r8, r9, r10",
        &[
            (&[f(2.0), f(3.0), f(4.0)], f(10.0)),
            (&[NAN | 5, f(1.0), f(1.0)], NAN),
            (&[0xff80_0001, f(1.0), f(1.0)], NAN),
            (&[INF, 0, f(1.0)], NAN),
            (&[INF, f(1.0), INF | MINUS_ZERO], NAN),
            (&[DENORMAL, f(1e30), 0], 0),
            (&[DENORMAL | MINUS_ZERO, f(1e30), MINUS_ZERO], MINUS_ZERO),
            (&[TINY, f(0.5), 0], 0),
            (&[f(f32::MAX), f(2.0), 0], INF),
            // Rounded once: (1 + 2⁻²³)² − (1 + 2⁻²²) = 2⁻⁴⁶.
            (&[0x3f80_0001, 0x3f80_0001, 0xbf80_0002], f(2f32.powi(-46))),
            (&[f(-1.0), 0, MINUS_ZERO], MINUS_ZERO),
        ],
    );
    check(
        "fadd32 r20, r8, r9",
        &[
            (&[DENORMAL, DENORMAL], 0),
            (&[f(1.0), f(-1.0)], 0),
            (&[MINUS_ZERO, MINUS_ZERO], MINUS_ZERO),
            (&[INF, INF | MINUS_ZERO], NAN),
        ],
    );
    check(
        "fmul32 r20, r8.neg, r9.abs",
        &[
            (&[f(3.0), f(-2.0)], f(-6.0)),
            (&[NAN, f(1.0)], NAN),
            (&[0, f(5.0)], MINUS_ZERO),
        ],
    );
}

#[test]
fn saturation_clears_nan_and_minus_zero() {
    check(
        "fadd32.sat r20, r8, r9",
        &[
            (&[f(0.25), f(0.5)], f(0.75)),
            (&[f(2.0), f(0.0)], f(1.0)),
            (&[f(-2.0), f(0.0)], 0),
            (&[NAN, f(0.0)], 0),
            (&[INF, f(0.0)], f(1.0)),
            (&[MINUS_ZERO, MINUS_ZERO], 0),
        ],
    );
}

#[test]
fn single_operations_that_write_halves_round_twice() {
    // Cases published with applegpu's hardware tests of this behaviour.
    check(
        "fmadd32 r20l, r8, r9, r10",
        &[
            (&[0x3f80_0000, 0x3f80_2fff, 0], 0x3c01),
            // Above halfway between halves, but halfway once rounded to single.
            (&[0x3f80_1000, 0x3f80_0000, 0x3380_0000], 0x3c00),
            (&[0x3f80_1000, 0x3f80_0000, 0x3380_0001], 0x3c01),
            (&[f(65520.0), f(1.0), 0], 0x7c00),
            (&[NAN, f(1.0), 0], 0x7e00),
            (&[f(6e-8), f(1.0), 0], 1),
        ],
    );
}

#[test]
fn half_precision_keeps_denormals_and_rounds_once() {
    check(
        "fmadd16 r20l, r8l, r9l, r10l",
        &[
            (&[1, 0x3c00, 1], 2),
            (&[0x7bff, 0x4000, 0], 0x7c00),
            (&[0x3e00, 0x7801, 0x8400], 0x7a01),
            (&[0x7c00, 0, 0], 0x7e00),
            (&[0x3c00, 0x8000, 0x8000], 0x8000),
        ],
    );
    check(
        "fadd16 r20h, r8l, r9h",
        &[
            (&[0x3c00, 0x3c00 << 16], 0x4000 << 16),
            (&[0x0001, 0x0001 << 16], 0x0002 << 16),
            (&[0x7c00, 0xfc00 << 16], 0x7e00 << 16),
        ],
    );
    check(
        "fmul16.sat r20l, r8l, r9l",
        &[
            (&[0x4000, 0x4000], 0x3c00),
            (&[0xc000, 0x4000], 0),
            (&[0x3800, 0x3c00], 0x3800),
        ],
    );
}

#[test]
fn rounding_to_integers() {
    let cases = [
        f(2.5),
        f(-2.5),
        f(-0.5),
        f(1e30),
        NAN,
        DENORMAL | MINUS_ZERO,
    ];
    let table: [(&str, [u32; 6]); 4] = [
        (
            "floor",
            [f(2.0), f(-3.0), f(-1.0), f(1e30), NAN, MINUS_ZERO],
        ),
        (
            "ceil",
            [f(3.0), f(-2.0), MINUS_ZERO, f(1e30), NAN, MINUS_ZERO],
        ),
        (
            "trunc",
            [f(2.0), f(-2.0), MINUS_ZERO, f(1e30), NAN, MINUS_ZERO],
        ),
        (
            "rint",
            [f(2.0), f(-2.0), MINUS_ZERO, f(1e30), NAN, MINUS_ZERO],
        ),
    ];
    for (name, expected) in table {
        let operands = cases.map(|case| [case]);
        let rows: Vec<(&[u32], u32)> = operands
            .iter()
            .zip(expected)
            .map(|(operand, expected)| (operand.as_slice(), expected))
            .collect();
        check(&format!("{name} r20, r8"), &rows);
    }
}

#[test]
fn transcendental_special_values() {
    check(
        "rcp r20, r8",
        &[
            (&[0], INF),
            (&[MINUS_ZERO], INF | MINUS_ZERO),
            (&[INF], 0),
            (&[f(4.0)], f(0.25)),
            (&[DENORMAL], INF),
            (&[NAN], NAN),
        ],
    );
    check(
        "rsqrt r20, r8",
        &[
            (&[f(4.0)], f(0.5)),
            (&[0], INF),
            (&[f(-1.0)], NAN),
            (&[INF], 0),
        ],
    );
    check(
        "exp2 r20, r8",
        &[
            (&[f(10.0)], f(1024.0)),
            (&[f(-126.0)], TINY),
            (&[f(-127.0)], 0),
            (&[f(128.0)], INF),
            (&[INF | MINUS_ZERO], 0),
            (&[NAN], NAN),
        ],
    );
    check(
        "log2 r20, r8",
        &[
            (&[f(1024.0)], f(10.0)),
            (&[0], INF | MINUS_ZERO),
            (&[f(-1.0)], NAN),
            (&[INF], INF),
            (&[f(1.0)], 0),
        ],
    );
    // sqrt as compilers write it.
    check(
        "rsqrt_special r20, r8\nfmul32 r20, r20, r8",
        &[
            (&[0], 0),
            (&[INF], INF),
            (&[f(9.0)], f(3.0)),
            (&[f(-1.0)], NAN),
        ],
    );
    // A quarter turn, in quarters: the two halves of sine multiply to one.
    check(
        "sin_pt_1 r20, r8\nsin_pt_2 r21, r20\nfmul32 r20, r20, r21",
        &[
            (&[f(1.0)], f(1.0)),
            (&[f(0.0)], f(0.0)),
            (&[f(2.0)], f(0.0)),
            (&[f(3.0)], f(-1.0)),
        ],
    );
}

#[test]
fn conversions_saturate_and_round() {
    check(
        "convert f_to_s32, r20, r8, rtz",
        &[
            (&[f(-1.9)], -1i32 as u32),
            (&[f(3e9)], i32::MAX as u32),
            (&[f(-3e9)], i32::MIN as u32),
            (&[NAN], 0),
            (&[INF], i32::MAX as u32),
        ],
    );
    check(
        "convert f_to_u32, r20, r8, rte",
        &[
            (&[f(2.5)], 2),
            (&[f(3.5)], 4),
            (&[f(-1.0)], 0),
            (&[f(5e9)], u32::MAX),
        ],
    );
    check(
        "convert f_to_s16, r20, r8, rtz",
        &[
            (&[f(40000.0)], 0x7fff),
            (&[f(-40000.0)], 0xffff_8000),
            (&[f(-1.5)], 0xffff_ffff),
        ],
    );
    check(
        "convert u32_to_f, r20, r8, rte",
        &[
            (&[u32::MAX], f(4294967296.0)),
            (&[0x0100_0001], f(16777216.0)),
            (&[0x0100_0003], f(16777220.0)),
        ],
    );
    check(
        "convert u32_to_f, r20, r8, rtz",
        &[
            (&[u32::MAX], f(4294967040.0)),
            (&[0x0100_0003], f(16777218.0)),
        ],
    );
    check(
        "convert s32_to_f, r20l, r8, rte",
        &[(&[(-2049i32) as u32], 0xe800), (&[70000], 0x7c00)],
    );
    check(
        "convert s8_to_f, r20, r8l, rte",
        &[(&[0x1280], f(-128.0)), (&[0x7f], f(127.0))],
    );
    check(
        "convert s16_to_f, r20, r8h, rte",
        &[(&[0x8000_1234], f(-32768.0))],
    );
}

#[test]
fn integer_sums_wrap_shift_and_saturate() {
    check(
        "iadd r20, r8, r9, lsl 3",
        &[(&[1, 2], 17), (&[u32::MAX, 0x2000_0001], 7)],
    );
    check("isub r20, r8, r9, lsl 4", &[(&[0, 1], (-16i32) as u32)]);
    check("iadd r20, r8l.sx, r9h", &[(&[0x8000, 0xffff_0000], 0x7fff)]);
    check("iadd r20l, r8, r9", &[(&[0x1_ffff, 2], 1)]);
    check(
        "iadd.sat r20, r8, r9",
        &[(&[u32::MAX, 1], u32::MAX), (&[5, 6], 11)],
    );
    check("isub.sat r20, r8, r9", &[(&[5, 6], 0)]);
    check(
        "iadd.sat r20, r8.sx, r9.sx",
        &[
            (&[i32::MAX as u32, 1], i32::MAX as u32),
            (&[i32::MIN as u32, u32::MAX], i32::MIN as u32),
            (&[5, (-6i32) as u32], (-1i32) as u32),
        ],
    );
    check("iadd.sat r20l, r8l, r9l", &[(&[0xffff, 2], 0xffff)]);
}

#[test]
fn wide_sums_and_products() {
    // r8_r9 is one 64-bit operand.
    check(
        "iadd r20_r21, r8_r9, r10, lsl 2",
        &[(&[0xffff_fffe, 7, 1], 2)],
    );
    check(
        "iadd r18_r19, r8_r9, r10, lsl 2\nmov r20, r19",
        &[(&[0xffff_fffe, 7, 1], 8)],
    );
    check(
        "iadd r18_r19, r8.sx, r9\nmov r20, r19",
        &[(&[u32::MAX, 0], u32::MAX)],
    );
    check(
        "imadd r20, r8, r9, r10",
        &[(&[0x1_0001, 0x1_0001, 5], 0x2_0006)],
    );
    check(
        "imadd r18_r19, r8, r9, r10\nmov r20, r19",
        &[(&[u32::MAX, u32::MAX, 1], 0xffff_fffe), (&[2, 3, 4], 0)],
    );
    check(
        "imadd r18_r19, r8.sx, r9.sx, 0\nmov r20, r19",
        &[(&[u32::MAX, 5], u32::MAX)],
    );
    check("imsub r20, r8, r9, r10", &[(&[3, 4, 5], 7)]);
    check(
        "imadd.sat r20, r8, r9, r10",
        &[(&[0x1_0000, 0x1_0000, 0], u32::MAX)],
    );
}

#[test]
fn shifts_beyond_the_width() {
    check(
        "bfi r20, 0, r8, r9",
        &[
            (&[1, 31], 0x8000_0000),
            (&[1, 32], 0),
            (&[1, 127], 0),
            (&[1, 128], 1),
        ],
    );
    check(
        "bfeil r20, 0, r8, r9",
        &[
            (&[0x8000_0000, 31], 1),
            (&[u32::MAX, 32], 0),
            (&[u32::MAX, 128 + 4], 0x0fff_ffff),
        ],
    );
    check(
        "bfi r20, r8, r9, r10, mask 0xFF",
        &[(&[u32::MAX, 0x12, 8], 0xffff_12ff)],
    );
    check(
        "bfeil r20, r8, r9, r10, mask 0xF",
        &[(&[0xabcd_0000, 0x1230, 4], 0xabcd_0003)],
    );
    check(
        "extr r20, r8, r9, r10",
        &[
            (&[0x1111_1111, 0x2222_2222, 16], 0x2222_1111),
            (&[0x1111_1111, 0x2222_2222, 64], 0),
        ],
    );
    check(
        "asr r20, r8, r9",
        &[
            (&[0x8000_0000, 31], u32::MAX),
            (&[0x8000_0000, 99], u32::MAX),
            (&[0x4000_0000, 99], 0),
        ],
    );
    check("asr r20, r8l, r9", &[(&[0x8000, 4], 0xffff_f800)]);
}

#[test]
fn bits() {
    check(
        "bitrev r20, r8",
        &[(&[1], 0x8000_0000), (&[0x8000_0001], 0x8000_0001)],
    );
    check("popcount r20, r8", &[(&[u32::MAX], 32), (&[0], 0)]);
    check(
        "ffs r20, r8",
        &[(&[0], u32::MAX), (&[1], 0), (&[0x8000_0001], 31)],
    );
    check(
        "intl r20, r8l, r9l",
        &[(&[0xffff, 0], 0x5555_5555), (&[0, 0xffff], 0xaaaa_aaaa)],
    );
    check("xnor r20, r8, r9", &[(&[0b1100, 0b1010], !0b0110)]);
    check("nand r20, r8, r9", &[(&[0b1100, 0b1010], !0b1000)]);
    check("bitop 0100, r20, r8, r9", &[(&[0b1100, 0b1010], 0b0100)]);
    check("not r20l, r8l", &[(&[0x1_00ff], 0xff00)]);
}

#[test]
fn selects_compare_as_they_say() {
    let select =
        |condition: &str, kind: &str| format!("{kind}cmpsel {condition}, r20, r8, r9, 1, 2");
    check(&select("ult", "i"), &[(&[1, u32::MAX], 1), (&[2, 2], 2)]);
    check(
        &select("slt", "i"),
        &[(&[1, u32::MAX], 2), (&[u32::MAX, 0], 1)],
    );
    check("icmpsel sgt, r20, r8l, r9l, 1, 2", &[(&[1, 0xffff], 1)]);
    check("icmpsel ugt, r20, r8l, r9l, 1, 2", &[(&[1, 0xffff], 2)]);
    check(
        &select("eq", "f"),
        &[(&[0, MINUS_ZERO], 1), (&[DENORMAL, 0], 1), (&[NAN, NAN], 2)],
    );
    check(
        &select("lt", "f"),
        &[(&[f(1.0), f(2.0)], 1), (&[f(1.0), NAN], 2)],
    );
    check(
        &select("gte", "f"),
        &[(&[f(2.0), f(2.0)], 1), (&[f(1.0), f(2.0)], 2)],
    );
    check(
        &select("lte", "f"),
        &[(&[f(1.0), f(2.0)], 1), (&[f(3.0), f(2.0)], 2)],
    );
    // Minimum and maximum: the second operand is NaN, or the first.
    check(
        "fcmpsel ltn, r20, r8, r9, r8, r9",
        &[
            (&[f(1.0), NAN], f(1.0)),
            (&[NAN, f(1.0)], f(1.0)),
            (&[f(2.0), f(1.0)], f(1.0)),
        ],
    );
    check(
        "fcmpsel gtn, r20, r8, r9, r8, r9",
        &[
            (&[f(1.0), NAN], f(1.0)),
            (&[NAN, f(1.0)], f(1.0)),
            (&[f(2.0), f(1.0)], f(2.0)),
        ],
    );
}

#[test]
fn eight_bit_float_immediates() {
    check("fadd32 r20, r8, 31.0", &[(&[f(0.0)], f(31.0))]);
    check("fadd32 r20, r8, 0.015625", &[(&[f(0.0)], f(1.0 / 64.0))]);
    check("fmul32 r20, r8, -0.5", &[(&[f(3.0)], f(-1.5))]);
}

#[test]
fn masked_lanes_keep_their_registers() {
    let lanes: [u32; 32] = std::array::from_fn(|lane| lane as u32);
    // Even lanes only, then none, then all again.
    let lines = "and r9, r8, 1\nmov r20, r8\n\
                 if_icmp r0l, ueq, r9, 0, 1\n\
                 iadd r20, r20, 100\n\
                 if_icmp r0l, ugt, r8, 200, 1\n\
                 mov_imm r20, 0, 0b0\n\
                 fmadd16 r20l, r8l, r8l, r8l\n\
                 pop_exec r0l, 1\n\
                 iadd r20, r20, 7\n\
                 pop_exec r0l, 1";
    let found = registers(lines, &[lanes], "r20");
    for lane in 0..32 {
        let expected = if lane % 2 == 0 { lane + 107 } else { lane };
        assert_eq!(found[lane as usize], expected);
    }
}

#[test]
fn nested_loops_break_out_of_two_levels() {
    let lanes: [u32; 32] = std::array::from_fn(|lane| lane as u32);
    // for (i = 0; i < 5; i++) for (j = 0; j < 4; j++) { n++; if (n == lane) goto out; }
    let lines = "mov_imm r20, 0, 0b0\nmov_imm r10, 0, 0b0\n\
        outer: while_icmp r0l, slt, r10, 5, 1\n\
        mov_imm r11, 0, 0b0\n\
        push_exec r0l, 1\n\
        inner: while_icmp r0l, slt, r11, 4, 1\n\
        iadd r20, r20, 1\n\
        iadd r11, r11, 1\n\
        icmpsel ueq, r0l, r20, r8, 2, r0l\n\
        pop_exec r0l, 0\n\
        jmp_exec_any inner\n\
        pop_exec r0l, 1\n\
        iadd r10, r10, 1\n\
        jmp_exec_any outer\n\
        pop_exec r0l, 1";
    let found = registers(lines, &[lanes], "r20");
    for lane in 0..32u32 {
        let expected = if (1..=20).contains(&lane) { lane } else { 20 };
        assert_eq!(found[lane as usize], expected, "lane {lane}");
    }
}

#[test]
fn else_takes_the_lanes_that_if_left() {
    let lanes: [u32; 32] = std::array::from_fn(|lane| lane as u32);
    let lines = "mov_imm r20, 0, 0b0\n\
        if_icmp r0l, ult, r8, 10, 1\n\
        iadd r20, r20, 1\n\
        else_icmp r0l, ult, r8, 20, 1\n\
        iadd r20, r20, 2\n\
        pop_exec r0l, 1\n\
        iadd r20, r20, 4";
    let found = registers(lines, &[lanes], "r20");
    for lane in 0..32 {
        let expected = match lane {
            0..10 => 5,
            10..20 => 6,
            _ => 4,
        };
        assert_eq!(found[lane], expected, "lane {lane}");
    }
}

#[test]
fn ballots_and_reductions_see_active_lanes_only() {
    let lanes: [u32; 32] = std::array::from_fn(|lane| lane as u32);
    let masked = |inner: &str| {
        let lines =
            format!("mov_imm r20, 0, 0b0\nif_icmp r0l, ugt, r8, 3, 1\n{inner}\npop_exec r0l, 1");
        registers(&lines, &[lanes], "r20")
    };
    let ballot = masked("icmp_ballot r20, ult, r8, 8");
    assert_eq!((ballot[0], ballot[4], ballot[31]), (0, 0xf0, 0xf0));
    let sum = masked("simd_iadd r20, r8");
    assert_eq!(sum[9], (4..32).sum::<u32>());
    let prefix = masked("simd_prefix_iadd r20, r8");
    assert_eq!((prefix[4], prefix[5], prefix[7]), (0, 4, 15));
    let none = masked("if_icmp r0l, ugt, r8, 100, 1\nsimd_iadd r20, r8\npop_exec r0l, 1");
    assert_eq!(none, [0; 32]);
}

#[test]
fn a_matrix_multiplies_tiles() {
    let place = |lane: usize| {
        let quarter = lane >> 3;
        (
            (quarter >> 1) * 4 + (lane >> 1 & 3),
            (quarter & 1) * 4 + (lane & 1) * 2,
        )
    };
    let a = |row: usize, column: usize| (row * 8 + column) as f32;
    let b = |row: usize, column: usize| row as f32 - column as f32;
    let tile = |f: &dyn Fn(usize, usize) -> f32, second: usize| -> [u32; 32] {
        std::array::from_fn(|lane| {
            let (row, column) = place(lane);
            f(row, column + second).to_bits()
        })
    };
    let inputs = [tile(&a, 0), tile(&a, 1), tile(&b, 0), tile(&b, 1)];
    let lines = "mov_imm r14, 1065353216, 0b0\nmov_imm r15, 1065353216, 0b0\n\
                 simd_matrix_fmadd32 r20_r21, r8_r9, r10_r11, r14_r15";
    for second in 0..2 {
        let found = registers(lines, &inputs, if second == 0 { "r20" } else { "r21" });
        for lane in 0..32 {
            let (row, column) = place(lane);
            let sum: f32 = (0..8).map(|k| a(row, k) * b(k, column + second)).sum();
            assert_eq!(f32::from_bits(found[lane]), sum + 1.0, "lane {lane}");
        }
    }
}
