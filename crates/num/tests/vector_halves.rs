//! The vector forms of half-precision arithmetic give the bits of the definitions in `half`.
#![cfg(target_arch = "x86_64")]

use assay_num::{half, vector};

type Eight = [u16; 8];

#[target_feature(enable = "avx2,fma,f16c")]
fn of_two(a: Eight, b: Eight) -> [Eight; 3] {
    let (a, b) = (
        vector::widen(vector::halves(a)),
        vector::widen(vector::halves(b)),
    );
    let sum = vector::add(a, b);
    [sum, vector::mul(a, b), vector::saturate(sum)]
        .map(|value| vector::from_halves(vector::narrow(value)))
}

#[target_feature(enable = "avx2,fma,f16c")]
fn of_three(a: Eight, b: Eight, c: Eight) -> [Eight; 2] {
    let [a, b, c] = [a, b, c].map(|value| vector::widen(vector::halves(value)));
    let result = vector::fma(a, b, c);
    [result, vector::saturate(result)].map(|value| vector::from_halves(vector::narrow(value)))
}

fn check_two(a: Eight, b: Eight) {
    // SAFETY: callers have asked `available`.
    let [sum, product, saturated] = unsafe { of_two(a, b) };
    for lane in 0..8 {
        let (x, y) = (a[lane], b[lane]);
        assert_eq!(sum[lane], half::add(x, y), "{x:#x} + {y:#x}");
        assert_eq!(product[lane], half::mul(x, y), "{x:#x} * {y:#x}");
        let expected = half::saturate(half::add(x, y));
        assert_eq!(saturated[lane], expected, "saturated {x:#x} + {y:#x}");
    }
}

fn check_three(a: Eight, b: Eight, c: Eight) {
    // SAFETY: callers have asked `available`.
    let [result, saturated] = unsafe { of_three(a, b, c) };
    for lane in 0..8 {
        let (x, y, z) = (a[lane], b[lane], c[lane]);
        let expected = half::fma(x, y, z);
        assert_eq!(result[lane], expected, "{x:#x} * {y:#x} + {z:#x}");
        let clamped = half::saturate(expected);
        assert_eq!(
            saturated[lane], clamped,
            "saturated {x:#x} * {y:#x} + {z:#x}"
        );
    }
}

/// Zeros, denormals, the smallest and largest normals, powers of two and their neighbours, infinities, both kinds of NaN.
fn corners() -> Vec<u16> {
    let mut values = vec![
        0, 1, 2, 3, 0x1ff, 0x200, 0x3fe, 0x3ff, 0x7c00, 0x7c01, 0x7dff, 0x7e00, 0x7fff,
    ];
    for exponent in 1..31u16 {
        let power = exponent << 10;
        values.extend([
            power,
            power + 1,
            power + 0x1ff,
            power + 0x200,
            power + 0x3fe,
            power + 0x3ff,
        ]);
    }
    let negative: Vec<u16> = values.iter().map(|value| value | 0x8000).collect();
    values.extend(negative);
    values
}

fn blocks_of_eight(values: &[u16]) -> impl Iterator<Item = Eight> {
    values
        .chunks(8)
        .map(|chunk| std::array::from_fn(|n| chunk[n % chunk.len()]))
}

#[target_feature(enable = "avx2,fma,f16c")]
fn there(halves: Eight) -> [u32; 8] {
    let wide = vector::canonical(vector::widen(vector::halves(halves)));
    vector::from_words(std::arch::x86_64::_mm256_castps_si256(wide))
}

#[target_feature(enable = "avx2,fma,f16c")]
fn back(singles: [u32; 8]) -> Eight {
    let singles = std::arch::x86_64::_mm256_castsi256_ps(vector::words(singles));
    vector::from_halves(vector::narrow(singles))
}

#[test]
fn conversions_are_as_defined() {
    if !vector::available() {
        return;
    }
    for first in (0..=u16::MAX).step_by(8) {
        let halves: Eight = std::array::from_fn(|n| first + n as u16);
        // SAFETY: asked above.
        let wide = unsafe { there(halves) };
        assert_eq!(
            wide,
            halves.map(|bits| assay_num::f16_to_f32(bits).to_bits())
        );
    }
    // Singles at and beside every half and every middle between two, and all over.
    let mut singles = Vec::new();
    for bits in 0..0x7fff_u16 {
        let single = assay_num::f16_to_f32(bits).to_bits();
        for middle in [single, single.wrapping_add(0x1000)] {
            singles.extend([middle.wrapping_sub(1), middle, middle.wrapping_add(1)]);
        }
    }
    singles.extend((0..=u32::MAX).step_by(4099));
    for &[a, b, c, d] in singles.as_chunks().0 {
        let eight = [
            a,
            b,
            c,
            d,
            a | 1 << 31,
            b | 1 << 31,
            c | 1 << 31,
            d | 1 << 31,
        ];
        // SAFETY: asked above.
        let halves = unsafe { back(eight) };
        let expected = eight.map(|bits| assay_num::f32_to_f16(f32::from_bits(bits)));
        assert_eq!(halves, expected, "{eight:x?}");
    }
}

#[test]
fn every_half_with_every_corner_adds_and_multiplies_as_defined() {
    if !vector::available() {
        return;
    }
    let all: Vec<u16> = (0..=u16::MAX).collect();
    for corner in corners() {
        for block in blocks_of_eight(&all) {
            check_two(block, [corner; 8]);
            check_two([corner; 8], block);
        }
    }
}

#[test]
fn corners_multiply_and_add_as_defined() {
    if !vector::available() {
        return;
    }
    let corners = corners();
    let few: Vec<u16> = corners.iter().copied().step_by(3).collect();
    for &a in &few {
        for &b in &few {
            for block in blocks_of_eight(&corners) {
                check_three([a; 8], [b; 8], block);
            }
        }
    }
}

/// Sums that lie at or just beside the middle between two halves, where rounding twice goes wrong.
#[test]
fn sums_near_halfway_points_are_rounded_once() {
    if !vector::available() {
        return;
    }
    let mut state = 7u64;
    let mut next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 45) as u16
    };
    for _ in 0..400_000 {
        let (mut a, mut b, mut c) = ([0; 8], [0; 8], [0; 8]);
        for lane in 0..8 {
            let (x, y) = (next(), next());
            // An addend some 8 to 16 binary orders from the product meets it at the rounding position.
            let product = half::mul(x, y);
            let distance = (next() % 9 + 8) << 10;
            let magnitude = product & 0x7fff;
            let moved = if next() & 1 == 0 {
                magnitude.saturating_add(distance).min(0x7bff)
            } else {
                magnitude.saturating_sub(distance)
            };
            (a[lane], b[lane], c[lane]) = (x, y, moved | next() & 0x8000);
        }
        check_three(a, b, c);
    }
}

#[test]
fn any_three_halves_multiply_and_add_as_defined() {
    if !vector::available() {
        return;
    }
    let mut state = 11u64;
    let mut next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 45) as u16
    };
    for _ in 0..1_000_000 {
        let [a, b, c]: [Eight; 3] = std::array::from_fn(|_| std::array::from_fn(|_| next()));
        check_three(a, b, c);
    }
}

/// All 2³² pairs; minutes. `cargo test --release -p assay-num --test vector_halves -- --ignored`
#[test]
#[ignore = "takes minutes"]
fn every_pair_adds_and_multiplies_as_defined() {
    if !vector::available() {
        return;
    }
    let all: Vec<u16> = (0..=u16::MAX).collect();
    for &other in &all {
        for block in blocks_of_eight(&all) {
            check_two(block, [other; 8]);
        }
    }
}
