//! The same bits whatever instructions the compiler uses: plain, and with AVX2 and FMA.
#![cfg(target_arch = "x86_64")]

use assay_num::math::{fast, precise};
use assay_num::{hardware, map_lanes, matrix, reduce, single};

type Lanes = [f32; 32];

/// Everything that uses a fused multiply-add or might be reordered.
#[inline(always)]
fn everything(a: &Lanes, b: &Lanes, c: &Lanes) -> [Lanes; 14] {
    let tile = |lanes: &Lanes| matrix::gather(&[*lanes, *lanes]);
    [
        map_lanes!(single::fma, a, b, c),
        map_lanes!(single::add, a, b),
        map_lanes!(single::div, a, b),
        map_lanes!(hardware::exp2, a),
        map_lanes!(hardware::log2, a),
        map_lanes!(hardware::rsqrt, a),
        map_lanes!(precise::exp, a),
        map_lanes!(precise::log, a),
        map_lanes!(precise::sin, a),
        map_lanes!(precise::pow, a, b),
        map_lanes!(fast::cos, a),
        map_lanes!(precise::tanh, a),
        [reduce::reduce(a, !0, reduce::SUM_IDENTITY, single::add); 32],
        matrix::scatter(&matrix::multiply_add(&tile(a), &tile(b), &tile(c)))[1],
    ]
}

#[target_feature(enable = "avx2,fma")]
fn with_vectors(a: &Lanes, b: &Lanes, c: &Lanes) -> [Lanes; 14] {
    everything(a, b, c)
}

#[test]
fn vector_instructions_change_no_bit() {
    if !(std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma")) {
        return;
    }
    let mut state = 3u32;
    let mut next = || {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        let bits = state ^ state >> 15;
        // Half of the numbers are of ordinary size, half are any bits at all.
        if state & 0x1000 == 0 {
            f32::from_bits(bits)
        } else {
            bits as i32 as f32 / 1e8
        }
    };
    for round in 0..300 {
        let [a, b, c]: [Lanes; 3] = std::array::from_fn(|_| std::array::from_fn(|_| next()));
        let plain = everything(&a, &b, &c);
        // SAFETY: the features were detected above.
        let vector = unsafe { with_vectors(&a, &b, &c) };
        for (index, (plain, vector)) in plain.iter().zip(&vector).enumerate() {
            let bits = |lanes: &Lanes| lanes.map(f32::to_bits);
            assert_eq!(bits(plain), bits(vector), "function {index}, round {round}");
        }
    }
}
