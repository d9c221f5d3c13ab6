//! Intrinsics on integers of widths that no type of Metal has: clang makes them of shifts and masks.

use crate::{LANES, run};
use assay_exec::Buffer;

/// An intrinsic, how it is called with `x`, `y` and `z`, and what it means for the integers `width` bits wide
/// that these are, with sign and without.
struct Intrinsic {
    name: &'static str,
    arguments: &'static str,
    meaning: fn(Operands) -> i128,
}

#[derive(Clone, Copy)]
struct Operands {
    width: u32,
    x: i128,
    y: i128,
    z: i128,
}

impl Operands {
    fn signed(self, value: i128) -> i128 {
        let shift = 128 - self.width;
        value << shift >> shift
    }

    fn clamped(self, value: i128) -> i128 {
        let half = 1 << (self.width - 1);
        value.clamp(-half, half - 1)
    }

    fn funnel(self) -> i128 {
        (self.x << self.width) | self.y
    }
}

const INTRINSICS: &[Intrinsic] = &[
    Intrinsic {
        name: "bitreverse",
        arguments: "x",
        meaning: |o| (o.x as u128).reverse_bits() as i128 >> (128 - o.width),
    },
    Intrinsic {
        name: "ctpop",
        arguments: "x",
        meaning: |o| i128::from(o.x.count_ones()),
    },
    Intrinsic {
        name: "ctlz",
        arguments: "x, false",
        meaning: |o| i128::from((o.x as u128).leading_zeros() + o.width) - 128,
    },
    Intrinsic {
        name: "cttz",
        arguments: "x, false",
        meaning: |o| i128::from(o.x.trailing_zeros().min(o.width)),
    },
    Intrinsic {
        name: "abs",
        arguments: "x, false",
        meaning: |o| o.signed(o.x).abs(),
    },
    Intrinsic {
        name: "umin",
        arguments: "x, y",
        meaning: |o| o.x.min(o.y),
    },
    Intrinsic {
        name: "smin",
        arguments: "x, y",
        meaning: |o| o.signed(o.x).min(o.signed(o.y)),
    },
    Intrinsic {
        name: "smax",
        arguments: "x, y",
        meaning: |o| o.signed(o.x).max(o.signed(o.y)),
    },
    Intrinsic {
        name: "uadd.sat",
        arguments: "x, y",
        meaning: |o| (o.x + o.y).min((1 << o.width) - 1),
    },
    Intrinsic {
        name: "usub.sat",
        arguments: "x, y",
        meaning: |o| (o.x - o.y).max(0),
    },
    Intrinsic {
        name: "sadd.sat",
        arguments: "x, y",
        meaning: |o| o.clamped(o.signed(o.x) + o.signed(o.y)),
    },
    Intrinsic {
        name: "ssub.sat",
        arguments: "x, y",
        meaning: |o| o.clamped(o.signed(o.x) - o.signed(o.y)),
    },
    Intrinsic {
        name: "fshl",
        arguments: "x, y, z",
        meaning: |o| o.funnel() << (o.z % i128::from(o.width)) >> o.width,
    },
    Intrinsic {
        name: "fshr",
        arguments: "x, y, z",
        meaning: |o| o.funnel() >> (o.z % i128::from(o.width)),
    },
];

/// What an operation gives if all numbers fit.
type Exact = fn(i128, i128) -> i128;

/// Operations that also say whether the result fitted; they have builtins of clang's.
const OVERFLOWS: [(&str, Exact); 3] = [
    ("add", |a, b| a + b),
    ("sub", |a, b| a - b),
    ("mul", |a, b| a * b),
];

fn wild(lane: u32, salt: u64) -> u64 {
    match lane {
        0 => 0,
        1 => u64::MAX,
        _ => (u64::from(lane) + salt)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29),
    }
}

fn source(width: u32) -> String {
    let mut before = format!("using U = unsigned _BitInt({width}); using S = _BitInt({width});\n");
    let mut body = String::new();
    for (at, intrinsic) in INTRINSICS.iter().enumerate() {
        let (name, arguments) = (intrinsic.name, intrinsic.arguments);
        let types = arguments.replace("false", "bool");
        let types = types.replace(['x', 'y', 'z'], "U");
        before += &format!("U call{at}({types}) __asm(\"llvm.{name}.i{width}\");\n");
        body += &format!("o[32 * {at} + i] = ulong(call{at}({arguments}));\n");
    }
    let mut at = INTRINSICS.len();
    for (name, _) in OVERFLOWS {
        for ty in ["U", "S"] {
            body += &format!(
                "{{ {ty} r; bool over = __builtin_{name}_overflow({ty}(x), {ty}(y), &r);\n\
                 o[32 * {at} + i] = ulong(U(r)); o[32 * {} + i] = over; }}\n",
                at + 1
            );
            at += 2;
        }
    }
    format!(
        "#include <metal_stdlib>\nusing namespace metal;\n{before}\
         kernel void k(device ulong *o, device const ulong *a, uint i [[thread_position_in_grid]]) {{\n\
         U x = U(a[i]), y = U(a[32 + i]), z = U(a[64 + i]);\n{body}}}\n"
    )
}

fn expected(width: u32, input: &[u64]) -> Vec<u64> {
    let mask = (1u64 << width) - 1;
    let rows: Vec<Operands> = (0..LANES as usize)
        .map(|lane| {
            let [x, y, z] = [0, 32, 64].map(|row| i128::from(input[row + lane] & mask));
            Operands { width, x, y, z }
        })
        .collect();
    let mut all = Vec::new();
    for intrinsic in INTRINSICS {
        let results = rows
            .iter()
            .map(|&row| (intrinsic.meaning)(row) as u64 & mask);
        all.extend(results);
    }
    for (_, exact) in OVERFLOWS {
        for signed in [false, true] {
            let results = rows.iter().map(|&row| match signed {
                true => exact(row.signed(row.x), row.signed(row.y)),
                false => exact(row.x, row.y),
            });
            let results: Vec<i128> = results.collect();
            all.extend(results.iter().map(|&exact| exact as u64 & mask));
            all.extend(rows.iter().zip(&results).map(|(row, &exact)| match signed {
                true => u64::from(row.clamped(exact) != exact),
                false => u64::from(!(0..=i128::from(mask)).contains(&exact)),
            }));
        }
    }
    all
}

#[test]
fn intrinsics_mean_the_same_at_every_width() {
    let input: Vec<u64> = (0..3)
        .flat_map(|salt| (0..LANES).map(move |lane| wild(lane, salt * 77)))
        .collect();
    for width in [2, 3, 4, 5, 7, 12, 15, 24, 31, 33, 48, 63] {
        let expected = expected(width, &input);
        let buffers = vec![
            Buffer::from_slice(&vec![0u64; expected.len()]),
            Buffer::from_slice(&input),
        ];
        let Some(buffers) = run(&source(width), "k", buffers) else {
            return;
        };
        let got = buffers[0].to_vec::<u64>();
        for (at, (got, expected)) in got.iter().zip(&expected).enumerate() {
            assert_eq!(got, expected, "i{width}, row {}, lane {}", at / 32, at % 32);
        }
    }
}

/// What this is about: a swap of two bits.
#[test]
fn two_bits_trade_places() {
    let source = "#include <metal_stdlib>\nusing namespace metal;\n\
        kernel void k(device uint *o, uint i [[thread_position_in_grid]]) { \
        uint x = i & 3u; o[i] = ((x & 1u) << 1) | (x >> 1); }";
    let zeros = Buffer::from_slice(&[0u32; LANES as usize]);
    let Some(buffers) = run(source, "k", vec![zeros]) else {
        return;
    };
    let expected: Vec<u32> = (0..LANES).map(|i| [0, 2, 1, 3][i as usize % 4]).collect();
    assert_eq!(buffers[0].to_vec::<u32>(), expected);
}

/// A conversion that saturates does so at the odd width; bytes are swapped in six of them.
#[test]
fn conversions_and_byte_swaps() {
    let source = "#include <metal_stdlib>\nusing namespace metal;\n\
        _BitInt(5) to_signed(float) __asm(\"llvm.fptosi.sat.i5.f32\");\n\
        unsigned _BitInt(5) to_unsigned(float) __asm(\"llvm.fptoui.sat.i5.f32\");\n\
        unsigned _BitInt(48) swapped(unsigned _BitInt(48)) __asm(\"llvm.bswap.i48\");\n\
        kernel void k(device int *o, device ulong *w, uint i [[thread_position_in_grid]]) { \
        o[i] = int(to_signed(float(i) * 2.0f - 32.0f)) * 100 + int(to_unsigned(float(i) * 2.0f - 16.0f)); \
        w[i] = ulong(swapped((unsigned _BitInt(48))(w[i]))); }";
    let words: Vec<u64> = (0..LANES)
        .map(|i| 0x0102_0304_0500 + u64::from(i))
        .collect();
    let zeros = Buffer::from_slice(&[0i32; LANES as usize]);
    let Some(buffers) = run(source, "k", vec![zeros, Buffer::from_slice(&words)]) else {
        return;
    };
    let expected: Vec<i32> = (0..LANES as i32)
        .map(|i| (i * 2 - 32).clamp(-16, 15) * 100 + (i * 2 - 16).clamp(0, 31))
        .collect();
    assert_eq!(buffers[0].to_vec::<i32>(), expected);
    let expected: Vec<u64> = words.iter().map(|word| word.swap_bytes() >> 16).collect();
    assert_eq!(buffers[1].to_vec::<u64>(), expected);
}
