//! Integer kernels, exactly.

use crate::common::{example, random_bits, run, u32s};
use assay_exec::{Buffer, Grid};

fn one_in_one_out(kernel: &str, reference: fn(u32) -> u32) {
    let Some(program) = example(&format!("{kernel}.metal"), kernel) else {
        return;
    };
    let x = random_bits(3, 200);
    let result = run(
        &program,
        Grid::line(200, 64),
        vec![Buffer::zeroed(800), u32s(&x)],
    );
    let expected: Vec<u32> = x.into_iter().map(reference).collect();
    assert_eq!(result[0].to_vec::<u32>(), expected, "{kernel}");
}

#[test]
fn bit_fields() {
    one_in_one_out("bitfield", |v| {
        let mut r = (v & 0x1f) * 8;
        r |= ((v >> 5 & 0x3f) * 4) << 8;
        r |= ((v >> 11 & 0x1f) * 8) << 16;
        r |= (((v << 3) as i32 >> 20) as u32) << 24;
        r ^ (v >> 31) ^ (v as i32 >> 7) as u32
    });
}

#[test]
fn every_kind_of_integer_arithmetic() {
    let Some(program) = example("int_ops.metal", "int_ops") else {
        return;
    };
    let (x, y) = (random_bits(1, 200), random_bits(2, 200));
    let result = run(
        &program,
        Grid::line(200, 64),
        vec![Buffer::zeroed(800), u32s(&x), u32s(&y)],
    );
    let low24 = |v: i32| v << 8 >> 8;
    let expected: Vec<i32> = x
        .iter()
        .zip(&y)
        .map(|(&a, &b)| {
            let (a, b) = (a as i32, b as i32);
            let mut r = a.wrapping_mul(b).wrapping_add(a << 3).wrapping_sub(b >> 2);
            r ^= a & !b;
            r |= !(a ^ b);
            r = r
                .wrapping_add(a.min(b))
                .wrapping_add(a.max(b))
                .wrapping_add(a.wrapping_abs())
                .wrapping_add(a.clamp(-5, 77));
            let product = low24(a).wrapping_mul(low24(b));
            let high = ((i64::from(a) * i64::from(b)) >> 32) as i32;
            r = r.wrapping_add(
                product
                    .wrapping_add(product.wrapping_add(r))
                    .wrapping_add(high),
            );
            r.wrapping_add(a.min(b))
        })
        .collect();
    assert_eq!(result[0].to_vec::<i32>(), expected);
}

#[test]
fn division_and_remainder() {
    let Some(program) = example("int_div_mod.metal", "int_div_mod") else {
        return;
    };
    let x = random_bits(1, 100);
    let y: Vec<u32> = random_bits(2, 100)
        .iter()
        .map(|&v| (v as i32 >> (v % 29)) as u32 | 1)
        .collect();
    let result = run(
        &program,
        Grid::line(100, 64),
        vec![Buffer::zeroed(1600), u32s(&x), u32s(&y)],
    );
    let expected: Vec<i32> = x
        .iter()
        .zip(&y)
        .flat_map(|(&a, &b)| {
            let (sa, sb) = (a as i32, b as i32);
            [
                sa.wrapping_div(sb),
                sa.wrapping_rem(sb),
                (a / 7) as i32,
                sa % 10,
            ]
        })
        .collect();
    assert_eq!(result[0].to_vec::<i32>(), expected);
}

#[test]
fn wide_products() {
    let Some(program) = example("int64_mulhi.metal", "int64_mulhi") else {
        return;
    };
    let words = random_bits(1, 200);
    let x: Vec<u64> = words
        .chunks(2)
        .map(|c| u64::from(c[0]) << 32 | u64::from(c[1]))
        .collect();
    let k = 0x9e37_79b9_7f4a_7c15u64;
    let buffers = vec![
        Buffer::zeroed(800),
        Buffer::from_slice(&x),
        Buffer::from_slice(&[k]),
    ];
    let result = run(&program, Grid::line(100, 64), buffers);
    let high = |a: u64| ((u128::from(a) * u128::from(k)) >> 64) as u64;
    let expected: Vec<u64> = x.iter().map(|&a| high(a) ^ a.wrapping_mul(k)).collect();
    assert_eq!(result[0].to_vec::<u64>(), expected);
}

#[test]
fn divergent_searches() {
    let Some(program) = example("binary_search.metal", "binary_search") else {
        return;
    };
    let mut a: Vec<i32> = random_bits(1, 500).iter().map(|&v| v as i32).collect();
    a.sort_unstable();
    let q: Vec<i32> = random_bits(2, 130).iter().map(|&v| v as i32).collect();
    let buffers = vec![
        Buffer::zeroed(520),
        Buffer::from_slice(&a),
        Buffer::from_slice(&q),
        u32s(&[500]),
    ];
    let result = run(&program, Grid::line(130, 64), buffers);
    let expected: Vec<u32> = q
        .iter()
        .map(|&key| a.partition_point(|&v| v < key) as u32)
        .collect();
    assert_eq!(result[0].to_vec::<u32>(), expected);
}

#[test]
fn loops_left_and_repeated_at_different_depths() {
    let Some(program) = example("nested_loops.metal", "nested_loops") else {
        return;
    };
    let (n, m) = (9, 12);
    let x: Vec<i32> = random_bits(6, n * m)
        .iter()
        .map(|&v| {
            if v % 11 == 0 {
                1000
            } else {
                (v % 60) as i32 - 12
            }
        })
        .collect();
    let buffers = vec![
        Buffer::zeroed(400),
        Buffer::from_slice(&x),
        u32s(&[n as u32]),
        u32s(&[m as u32]),
    ];
    let result = run(&program, Grid::line(100, 64), buffers);
    let reference = |i: i32| {
        let mut s = 0i32;
        for a in 0..n {
            for b in a..m {
                let v = x[a * m + b];
                if v < 0 {
                    continue;
                }
                if v == 1000 {
                    break;
                }
                s += (0..v).map(|c| c ^ i).sum::<i32>();
            }
            if s > 1_000_000 {
                break;
            }
        }
        s
    };
    assert_eq!(
        result[0].to_vec::<i32>(),
        (0..100).map(reference).collect::<Vec<_>>()
    );
}

#[test]
fn signed_bytes() {
    let Some(program) = example("char4_dot.metal", "char4_dot") else {
        return;
    };
    let (count, n) = (40, 6);
    let bytes =
        |seed, len: usize| -> Vec<i8> { random_bits(seed, len).iter().map(|&v| v as i8).collect() };
    let (a, b) = (bytes(1, count * n * 4), bytes(2, n * 4));
    let buffers = vec![
        Buffer::zeroed(count * 4),
        Buffer::from_slice(&a),
        Buffer::from_slice(&b),
        u32s(&[n as u32]),
    ];
    let result = run(&program, Grid::line(count as u32, 64), buffers);
    let expected: Vec<i32> = a
        .chunks(n * 4)
        .map(|row| {
            row.iter()
                .zip(&b)
                .map(|(&x, &y)| i32::from(x) * i32::from(y))
                .sum()
        })
        .collect();
    assert_eq!(result[0].to_vec::<i32>(), expected);
}

#[test]
fn counting_rotating_saturating() {
    let Some(program) = example("uint_bit.metal", "uint_bit") else {
        return;
    };
    let (x, y) = (random_bits(1, 200), random_bits(2, 200));
    let result = run(
        &program,
        Grid::line(200, 64),
        vec![Buffer::zeroed(800), u32s(&x), u32s(&y)],
    );
    let reference = |a: u32, b: u32| {
        let mut r = a.count_ones() + b.leading_zeros() + a.trailing_zeros();
        for term in [
            a.rotate_left(b & 31),
            a.rotate_left(7),
            a >> (b & 31),
            a << (b & 31),
        ] {
            r = r.wrapping_add(term);
        }
        r ^= (a >> 5 & 0x3ff) | (b & 0xff) << 12;
        let sum = u64::from(a) + u64::from(b);
        let terms = [
            a.saturating_add(b),
            a.saturating_sub(b),
            (sum >> 1) as u32,
            ((sum + 1) >> 1) as u32,
            a.abs_diff(b),
        ];
        r = terms.iter().fold(r, |r, &term| r.wrapping_add(term));
        r & !b | a & b
    };
    let expected: Vec<u32> = x.iter().zip(&y).map(|(&a, &b)| reference(a, b)).collect();
    assert_eq!(result[0].to_vec::<u32>(), expected);
}

#[test]
fn sixteen_bits() {
    let Some(program) = example("short_arith.metal", "short_arith") else {
        return;
    };
    let shorts = |seed| -> Vec<i16> { random_bits(seed, 200).iter().map(|&v| v as i16).collect() };
    let (a, b) = (shorts(1), shorts(2));
    let buffers = vec![
        Buffer::zeroed(400),
        Buffer::from_slice(&a),
        Buffer::from_slice(&b),
    ];
    let result = run(&program, Grid::line(200, 64), buffers);
    let reference = |x: i16, y: i16| {
        let sum =
            i32::from(x) * i32::from(y) + i32::from(x >> 2) - i32::from((i32::from(y) << 1) as i16);
        let r = (sum as i16).max(x).min(y | 3);
        r ^ (x & y)
    };
    let expected: Vec<i16> = a.iter().zip(&b).map(|(&x, &y)| reference(x, y)).collect();
    assert_eq!(result[0].to_vec::<i16>(), expected);
}
