//! Mesa-compiled integer kernels.
#![allow(clippy::needless_range_loop, reason = "threads and lanes are numbers")]

mod common;
use common::{Kernel, Random, UNTOUCHED};

#[test]
fn bitfield_expands_a_pixel() {
    let mut k = Kernel::open("bitfield");
    let x = Random::new(20).u32s(64);
    let out = k.out("o", 64);
    k.u32s("x", &x);
    k.run([64, 1, 1]);
    let expected: Vec<u32> = x
        .iter()
        .map(|&v| {
            let mut r = (v & 0x1f) * 8;
            r |= ((v >> 5 & 0x3f) * 4) << 8;
            r |= ((v >> 11 & 0x1f) * 8) << 16;
            r |= (((v << 3) as i32 >> 20) as u32) << 24;
            r ^ v >> 31 ^ (v as i32 >> 7) as u32
        })
        .collect();
    assert_eq!(k.read_u32(out), expected);
}

#[test]
fn int_ops_wraps_like_c() {
    let mut k = Kernel::open("int_ops");
    let mut random = Random::new(21);
    // mul24 is defined for 24-bit operands only.
    let mut narrow = || random.i32s(64).into_iter().map(|v| v >> 9).collect();
    let (mut x, mut y): (Vec<i32>, Vec<i32>) = (narrow(), narrow());
    x[..4].copy_from_slice(&[-0x80_0000, 0x7f_ffff, 0, -1]);
    y[..4].copy_from_slice(&[-1, 0x7f_ffff, -0x80_0000, 1]);
    let out = k.out("o", 64);
    k.i32s("x", &x);
    k.i32s("y", &y);
    k.run([64, 1, 1]);
    let found = k.read_i32(out);
    let low24 = |v: i32| v << 8 >> 8;
    for i in 0..64 {
        let (a, b) = (x[i], y[i]);
        let mut r = a.wrapping_mul(b).wrapping_add(a << 3).wrapping_sub(b >> 2);
        r ^= a & !b;
        r |= !(a ^ b);
        let sum = a
            .min(b)
            .wrapping_add(a.max(b))
            .wrapping_add(a.wrapping_abs());
        r = r.wrapping_add(sum).wrapping_add(a.clamp(-5, 77));
        let product = low24(a).wrapping_mul(low24(b));
        let high = ((i64::from(a) * i64::from(b)) >> 32) as i32;
        r = r
            .wrapping_add(product)
            .wrapping_add(product.wrapping_add(r))
            .wrapping_add(high);
        r = r.wrapping_add(a.min(b));
        assert_eq!(found[i], r, "{a} {b}");
    }
}

#[test]
fn uint_bit_counts_rotates_and_saturates() {
    let mut k = Kernel::open("uint_bit");
    let mut random = Random::new(22);
    let (mut x, mut y) = (random.u32s(64), random.u32s(64));
    x[..4].copy_from_slice(&[0, u32::MAX, 1, 0x8000_0000]);
    y[..4].copy_from_slice(&[0, u32::MAX, 32, 31]);
    let out = k.out("o", 64);
    k.u32s("x", &x);
    k.u32s("y", &y);
    k.run([64, 1, 1]);
    let expected: Vec<u32> = x
        .iter()
        .zip(&y)
        .map(|(&a, &b)| {
            let lowest = (a & a.wrapping_neg()).wrapping_sub(1);
            let mut r = a.count_ones() + b.leading_zeros() + lowest.count_ones();
            let add = |r: u32, v: u32| r.wrapping_add(v);
            r = add(r, a.rotate_left(b % 32));
            r = add(r, a.rotate_left(7));
            r = add(r, a >> (b & 31));
            r = add(r, a << (b & 31));
            r ^= (a >> 5 & 0x3ff) | (b & 0xff) << 12;
            let average = |up: u64| ((u64::from(a) + u64::from(b) + up) >> 1) as u32;
            for v in [
                a.saturating_add(b),
                a.saturating_sub(b),
                average(0),
                average(1),
                a.abs_diff(b),
            ] {
                r = add(r, v);
            }
            r & !b | a & b
        })
        .collect();
    assert_eq!(k.read_u32(out), expected);
}

#[test]
fn short_arith_wraps_at_16_bits() {
    let mut k = Kernel::open("short_arith");
    let mut random = Random::new(23);
    let a: Vec<u16> = (0..64).map(|_| random.u32() as u16).collect();
    let b: Vec<u16> = (0..64).map(|_| random.u32() as u16).collect();
    let out = k.u16s("o", &[0; 64]);
    k.u16s("a", &a);
    k.u16s("b", &b);
    k.run([64, 1, 1]);
    let expected: Vec<u16> = a
        .iter()
        .zip(&b)
        .map(|(&a, &b)| {
            let (x, y) = (i32::from(a as i16), i32::from(b as i16));
            let doubled = (y << 1) as i16;
            let r = (x * y + (x >> 2) - i32::from(doubled)) as i16;
            let r = r.max(x as i16).min((y | 3) as i16);
            (r ^ (x & y) as i16) as u16
        })
        .collect();
    assert_eq!(k.read_u16(out), expected);
}

#[test]
fn int_div_mod_truncates() {
    let mut k = Kernel::open("int_div_mod");
    let mut random = Random::new(24);
    let mut x = random.i32s(64);
    let mut y: Vec<i32> = (0..64).map(|i| random.u32() as i32 >> (i / 2)).collect();
    x[..3].copy_from_slice(&[i32::MAX, i32::MIN, -7]);
    y[..3].copy_from_slice(&[i32::MIN, 3, 2]);
    y.iter_mut().filter(|y| **y == 0).for_each(|y| *y = 5);
    let out = k.out("o", 256);
    k.i32s("x", &x);
    k.i32s("y", &y);
    k.run([64, 1, 1]);
    let found = k.read_i32(out);
    for i in 0..64 {
        let (a, b) = (x[i], y[i]);
        let expected = [
            a.wrapping_div(b),
            a.wrapping_rem(b),
            (a as u32 / 7) as i32,
            a % 10,
        ];
        assert_eq!(found[4 * i..4 * i + 4], expected, "{a} / {b}");
    }
}

#[test]
fn int64_div_is_exact() {
    let mut random = Random::new(25);
    for divisor in [1, 3, 10_000_000_007, 1 << 40, u64::MAX, 0x1_0000_0001] {
        let mut k = Kernel::open("int64_div");
        let mut x: Vec<u64> = (0..64).map(|i| random.u64() >> (i / 2)).collect();
        x[..3].copy_from_slice(&[0, u64::MAX, divisor]);
        let out = k.u64s("o", &[0; 64]);
        k.u64s("x", &x);
        k.u64("k", divisor);
        k.run([64, 1, 1]);
        let expected: Vec<u64> = x.iter().map(|x| x / divisor).collect();
        assert_eq!(k.read_u64(out), expected, "by {divisor}");
    }
}

#[test]
fn int64_mulhi_multiplies_128_bits() {
    let mut k = Kernel::open("int64_mulhi");
    let mut random = Random::new(26);
    let mut x: Vec<u64> = (0..64).map(|_| random.u64()).collect();
    x[..3].copy_from_slice(&[0, u64::MAX, 1 << 63]);
    let factor = 0xfedc_ba98_7654_3210;
    let out = k.u64s("o", &[0; 64]);
    k.u64s("x", &x);
    k.u64("k", factor);
    k.run([64, 1, 1]);
    let expected: Vec<u64> = x
        .iter()
        .map(|&x| {
            let product = u128::from(x) * u128::from(factor);
            (product >> 64) as u64 ^ product as u64
        })
        .collect();
    assert_eq!(k.read_u64(out), expected);
}

#[test]
fn morton_interleaves_coordinates() {
    let mut k = Kernel::open("morton");
    let out = k.out("o", 0x10_0000 + 512);
    k.u32("w", 16);
    k.run([16, 16, 1]);
    let found = k.read_u32(out);
    let spread = |v: u32| (0..16).fold(0, |s, bit| s | (v >> bit & 1) << (2 * bit));
    for y in 0..16 {
        for x in 0..16 {
            let code = (spread(x) | spread(y) << 1) as usize;
            assert_eq!(found[code], x + y * 16);
            let mut a = x;
            a = (a | a << 8) & 0x00ff_00ff;
            a = (a | a << 4) & 0x0f0f_0f0f;
            assert_eq!(found[(y * 16 + x) as usize | 0x10_0000], a);
        }
    }
}

#[test]
fn bitrev_fft_idx_reverses_addresses() {
    let mut k = Kernel::open("bitrev_fft_idx");
    let x: Vec<f32> = (0..256).map(|i| i as f32).collect();
    let out = k.out("o", 256);
    k.f32s("x", &x);
    k.u32("bits", 7);
    k.run([128, 1, 1]);
    let found = k.read_f32(out);
    for i in 0..128u32 {
        let r = (i.reverse_bits() >> 25) as usize;
        assert_eq!(
            found[2 * r..2 * r + 2],
            x[2 * i as usize..2 * i as usize + 2]
        );
    }
}

#[test]
fn char4_dot_accumulates_bytes() {
    let mut k = Kernel::open("char4_dot");
    let mut random = Random::new(27);
    let n = 9;
    let a: Vec<u8> = (0..64 * n * 4).map(|_| random.u32() as u8).collect();
    let b: Vec<u8> = (0..n * 4).map(|_| random.u32() as u8).collect();
    let out = k.out("o", 64);
    k.bytes("a", &a);
    k.bytes("b", &b);
    k.u32("n", n as u32);
    k.run([64, 1, 1]);
    let expected: Vec<i32> = a
        .chunks(4 * n)
        .map(|row| {
            let products = row.iter().zip(&b);
            products
                .map(|(&p, &q)| i32::from(p as i8) * i32::from(q as i8))
                .sum()
        })
        .collect();
    assert_eq!(k.read_i32(out), expected);
}

#[test]
fn sysvals_tell_where_a_thread_is() {
    let mut k = Kernel::open("sysvals");
    let groups = [2u32, 3, 2];
    let words = (7 + 11 * 1000 + 7 * 100_000 + 1) * 8;
    let out = k.out("o", words);
    for (axis, count) in groups.into_iter().enumerate() {
        k.uniform(4 + 2 * axis as u16, count);
    }
    k.run([8, 12, 8]);
    let found = k.read_u32(out);
    let mut written = 0;
    for z in 0..8 {
        for y in 0..12 {
            for x in 0..8 {
                let local = [x % 4, y % 4, z % 4];
                let group = [x / 4, y / 4, z / 4];
                let index = local[0] + local[1] * 4 + local[2] * 16;
                let at = (x + y * 1000 + z * 100_000) as usize * 8;
                let expected = [
                    local.iter().sum(),
                    group[0] + group[1] * 3 + group[2] * 5,
                    4,
                    groups[0],
                    index % 32,
                    index / 32,
                    index,
                    2 + 12,
                ];
                assert_eq!(found[at..at + 8], expected, "({x}, {y}, {z})");
                written += 8;
            }
        }
    }
    assert_eq!(
        found.iter().filter(|word| **word != UNTOUCHED).count(),
        written
    );
}
