//! Rules about arithmetic.

use super::{Case, LANES, Rule, Seen, Without, floats, last, words};
use assay_exec::Buffer;
use assay_num::{bf16_to_f32, brain, f16_to_f32, f32_to_bf16, f32_to_f16, half};

/// Numbers around one whose products lose bits.
fn odd_numbers(factor: f32) -> Vec<f32> {
    (0..LANES)
        .map(|i| 1.0 + factor * (2 * i + 1) as f32)
        .collect()
}

fn bfloats() -> Vec<u16> {
    odd_numbers(0.017).into_iter().map(f32_to_bf16).collect()
}

/// The cubes of numbers rounded after every product, which are not those rounded once.
fn cubes(bits: &[u16], each: impl Fn(u16) -> u16, once: impl Fn(u16) -> u16) -> Buffer {
    let expected: Vec<u16> = bits.iter().map(|&a| each(a)).collect();
    assert_ne!(expected, bits.iter().map(|&a| once(a)).collect::<Vec<_>>());
    Buffer::from_slice(&expected)
}

fn bfloat_cubes() -> Buffer {
    let once = |a| {
        let x = bf16_to_f32(a);
        f32_to_bf16(x * x * x)
    };
    cubes(&bfloats(), |a| brain::mul(brain::mul(a, a), a), once)
}

const BFLOAT_CUBE: &str = "kernel void k(device bfloat *o, uint i [[thread_position_in_grid]]) { \
                           bfloat a = o[i]; o[i] = a * a * a; }";

pub(super) fn cases() -> Vec<Case> {
    let halves: Vec<u16> = odd_numbers(0.003).into_iter().map(f32_to_f16).collect();
    let half_cubes = {
        let once = |a| {
            let x = f16_to_f32(a);
            f32_to_f16(x * x * x)
        };
        cubes(&halves, |a| half::mul(half::mul(a, a), a), once)
    };
    vec![
        // clang 16 cannot multiply `__bf16`.
        Case {
            rule: Rule::Probe,
            name: "probe",
            source: BFLOAT_CUBE,
            fast_math: false,
            buffers: vec![Buffer::from_slice(&bfloats())],
            expected: last(&bfloat_cubes()),
            without: Without::Compiler("clang-16"),
        },
        // x86 computes half in float and rounds the result only.
        Case {
            rule: Rule::Target,
            name: "target",
            source: "kernel void k(device half *o, uint i [[thread_position_in_grid]]) { \
                     half a = o[i]; o[i] = a * a * a; }",
            fast_math: false,
            buffers: vec![Buffer::from_slice(&halves)],
            expected: last(&half_cubes),
            without: Without::Options(&[(
                "--target=aarch64-linux-gnu",
                "--target=x86_64-linux-gnu",
            )]),
        },
        // The same happens to bfloat.
        Case {
            rule: Rule::BfloatPrecision,
            name: "bfloat16-excess-precision",
            source: BFLOAT_CUBE,
            fast_math: false,
            buffers: vec![Buffer::from_slice(&bfloats())],
            expected: last(&bfloat_cubes()),
            without: Without::Options(&[(
                "-fbfloat16-excess-precision=none",
                "-fbfloat16-excess-precision=standard",
            )]),
        },
        // On Arm `char` has no sign.
        Case {
            rule: Rule::SignedChar,
            name: "signed-char",
            source: "kernel void k(device int *o, uint i [[thread_position_in_grid]]) { \
                     char c = char(o[i]); o[i] = c; }",
            fast_math: true,
            buffers: vec![words(|i| i * 8)],
            expected: last(&words(|i| (i * 8) as u8 as i8 as i32 as u32)),
            without: Without::Options(&[("-fsigned-char", "")]),
        },
        // At run time a conversion saturates; of a constant it must not become anything else.
        Case {
            rule: Rule::Saturation,
            name: "constant-conversions",
            source: "kernel void k(device int *o, uint i [[thread_position_in_grid]]) { \
                     o[i] = i == 0 ? int(1e20f) : i == 1 ? int(uchar(300.0f)) : \
                     i == 2 ? int(uint(5e9f)) : i == 3 ? int(-1e20f) : int(NAN); }",
            fast_math: true,
            buffers: vec![words(|_| 5)],
            expected: last(&words(|i| match i {
                0 => i32::MAX as u32,
                1 => 255,
                2 => u32::MAX,
                3 => i32::MIN as u32,
                _ => 0,
            })),
            without: Without::Options(&[("-fno-strict-float-cast-overflow", "")]),
        },
        // `-INFINITY` for masked lanes is assumed away: all are multiplied as if they were inside.
        Case {
            rule: Rule::Infinities,
            name: "honor-infinities",
            source: "kernel void k(constant uint &n, device float *o, \
                     uint i [[thread_index_in_threadgroup]]) { \
                     float x = (i < n ? o[i] : -INFINITY) * 0.5f; \
                     o[i] = x == -INFINITY ? -5 : x; }",
            fast_math: true,
            buffers: vec![Buffer::from_slice(&[7u32]), floats(|_| 2.0)],
            expected: last(&floats(|i| if i < 7 { 1.0 } else { -5.0 })),
            without: Without::Options(&[("-fhonor-infinities", ""), ("-fhonor-nans", "")]),
        },
        // No result depends on it, but every address costs 64-bit arithmetic.
        Case {
            rule: Rule::NarrowCounters,
            name: "indvars-widen-indvars",
            source: "kernel void k(constant int &n, device float *o, \
                     uint i [[thread_position_in_grid]]) { float s = 0; \
                     for (int j = 0; j < n; ++j) s += o[j * 3]; o[i] = s; }",
            fast_math: false,
            buffers: vec![Buffer::from_slice(&[1u32]), floats(|_| 0.0)],
            expected: Ok(Seen::WideCounter(false)),
            without: Without::Options(&[(
                "-indvars-widen-indvars=false",
                "-indvars-widen-indvars=true",
            )]),
        },
    ]
}
