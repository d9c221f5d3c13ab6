//! Mesa-compiled kernels whose lanes talk to each other.
#![allow(clippy::needless_range_loop, reason = "threads and lanes are numbers")]

mod common;
use common::{Kernel, Random, close, doubles, from_half, to_half};

#[test]
fn subgroup_shuffle_moves_values_between_lanes() {
    let mut k = Kernel::open("subgroup_shuffle");
    let x = Random::new(60).f32s(64, -1.0, 1.0);
    let out = k.out("o", 64);
    k.f32s("x", &x);
    k.run([64, 1, 1]);
    let found = k.read_f32(out);
    for group in 0..2 {
        let mut v: Vec<f32> = x[32 * group..32 * group + 32].to_vec();
        let mut step = |from: &dyn Fn(i32) -> i32| {
            let old = v.clone();
            for lane in 0..32 {
                let from = from(lane);
                // OpenCL leaves lanes outside undefined; Mesa's code takes the first
                // lane of the quad that the number names modulo 32.
                let from = if (0..32).contains(&from) {
                    from
                } else {
                    from & 28
                };
                v[lane as usize] = old[lane as usize] + old[from as usize];
            }
        };
        step(&|lane| lane ^ 16);
        step(&|lane| lane ^ 8);
        step(&|lane| lane + 4);
        step(&|lane| lane - 2);
        step(&|lane| lane ^ 5);
        step(&|_| 0);
        assert_eq!(found[32 * group..32 * group + 32], v);
    }
}

#[test]
fn reduce_minmax_int_finds_both_ends() {
    let mut k = Kernel::open("reduce_minmax_int");
    let x = Random::new(61).i32s(96);
    let out = k.out("o", 6);
    k.i32s("x", &x);
    k.run([96, 1, 1]);
    let expected: Vec<i32> = x
        .chunks(32)
        .flat_map(|group| [*group.iter().min().unwrap(), *group.iter().max().unwrap()])
        .collect();
    assert_eq!(k.read_i32(out), expected);
}

#[test]
fn scan_subgroup_adds_what_is_before() {
    let mut k = Kernel::open("scan_subgroup");
    let mut random = Random::new(62);
    let (x, fx) = (random.u32s(64), random.f32s(64, -1.0, 1.0));
    let (out, floats) = (k.out("o", 64), k.out("fo", 64));
    k.u32s("x", &x);
    k.f32s("fx", &fx);
    k.run([64, 1, 1]);
    let before = |i: usize| i / 32 * 32..i;
    let expected: Vec<u32> = (0..64)
        .map(|i| before(i).fold(0u32, |sum, j| sum.wrapping_add(x[j])))
        .collect();
    assert_eq!(k.read_u32(out), expected);
    let expected: Vec<f64> = (0..64)
        .map(|i| doubles(&fx[i / 32 * 32..=i]).iter().sum())
        .collect();
    close("fo", &k.read_f32(floats), &expected, 1e-5, 1e-5);
}

#[test]
fn subgroup_arith_reduces_every_way() {
    let mut k = Kernel::open("subgroup_arith");
    let mut random = Random::new(63);
    // As floats, near one: their product stays finite.
    let x: Vec<u32> = (0..32).map(|_| random.f32(-1.5, 1.5).to_bits()).collect();
    let (out, ints, floats) = (k.out("o", 64), k.out("s", 32), k.out("f", 32));
    k.u32s("x", &x);
    k.run([32, 1, 1]);
    let fold = |f: fn(u32, u32) -> u32| x.iter().copied().reduce(f).unwrap();
    let bits = fold(|a, b| a & b) ^ fold(|a, b| a | b) ^ fold(|a, b| a ^ b);
    let signed = |max: bool| {
        let values = x.iter().map(|v| *v as i32);
        if max { values.max() } else { values.min() }.unwrap()
    };
    let sum = [
        fold(u32::min) as i32,
        fold(u32::max) as i32,
        signed(false),
        signed(true),
    ]
    .into_iter()
    .fold(0i32, i32::wrapping_add);
    assert_eq!(k.read_i32(ints), [sum; 32]);
    let f: Vec<f64> = x.iter().map(|v| f64::from(f32::from_bits(*v))).collect();
    let extremes =
        f.iter().copied().fold(f64::MAX, f64::min) + f.iter().copied().fold(f64::MIN, f64::max);
    let expected = extremes + f.iter().product::<f64>();
    close("f", &k.read_f32(floats), &[expected; 32], 1e-5, 1e-6);
    let found = k.read_u32(out);
    for i in 0..32 {
        assert_eq!(found[i], bits);
        let xor = x[..i].iter().fold(0, |a, b| a ^ b);
        let or = x[..=i].iter().fold(0, |a, b| a | b);
        let max = x[..i].iter().copied().max().unwrap_or(0);
        assert_eq!(
            found[i + 32],
            xor.wrapping_add(or).wrapping_add(max),
            "lane {i}"
        );
    }
}

#[test]
fn quad_ops_stay_inside_their_quad() {
    let mut k = Kernel::open("quad_ops");
    let mut random = Random::new(64);
    let (x, y) = (random.f32s(32, -2.0, 2.0), random.u32s(32));
    let (out, uints) = (k.out("o", 64), k.out("u", 32));
    k.f32s("x", &x);
    k.u32s("y", &y);
    k.run([32, 1, 1]);
    let quad = |i: usize| i & !3..(i & !3) + 4;
    let d = doubles(&x);
    let expected: Vec<f64> = (0..64)
        .map(|n| {
            let i = n % 32;
            if n < 32 {
                d[quad(i)].iter().sum::<f64>() + d[quad(i)].iter().product::<f64>()
            } else {
                d[i ^ 1] + d[i ^ 2] * d[i ^ 3] - d[(i & !3) + 2]
            }
        })
        .collect();
    close("o", &k.read_f32(out), &expected, 1e-5, 1e-5);
    let expected: Vec<u32> = (0..32)
        .map(|i| {
            let q = &y[quad(i)];
            let (max, min) = (q.iter().max().unwrap(), q.iter().min().unwrap());
            max.wrapping_add(*min)
                .wrapping_add(q.iter().fold(0, |a, b| a ^ b))
        })
        .collect();
    assert_eq!(k.read_u32(uints), expected);
}

fn softmax(x: &[f32]) -> Vec<f64> {
    let d = doubles(x);
    let max = d.iter().copied().fold(f64::MIN, f64::max);
    let sum: f64 = d.iter().map(|v| (v - max).exp()).sum();
    d.iter().map(|v| (v - max).exp() / sum).collect()
}

#[test]
fn softmax_kernels_sum_to_one() {
    for (name, threads) in [("softmax", 256), ("softmax_subgroup", 32)] {
        let mut k = Kernel::open(name);
        let n = 300;
        let x = Random::new(65).f32s(2 * n, -4.0, 4.0);
        let out = k.out("o", 2 * n);
        k.f32s("x", &x);
        k.u32("n", n as u32);
        k.run([2 * threads, 1, 1]);
        let found = k.read_f32(out);
        for row in 0..2 {
            let row = row * n..(row + 1) * n;
            close(name, &found[row.clone()], &softmax(&x[row]), 1e-4, 1e-7);
        }
    }
}

#[test]
fn attention_row_keeps_a_running_maximum() {
    let mut k = Kernel::open("attention_row");
    let mut random = Random::new(66);
    let (rows, n, scale) = (3, 17, 0.17677669f32);
    let q = random.f32s(rows * 32, -2.0, 2.0);
    let (kk, v) = (
        random.f32s(n * 32, -2.0, 2.0),
        random.f32s(n * 32, -2.0, 2.0),
    );
    let out = k.out("o", rows * 32);
    k.f32s("q", &q);
    k.f32s("kk", &kk);
    k.f32s("v", &v);
    k.u32("n", n as u32);
    k.f32("scale", scale);
    k.run([rows as u32 * 32, 1, 1]);
    let mut expected = Vec::new();
    for row in 0..rows {
        let scores: Vec<f32> = (0..n)
            .map(|j| {
                let dot: f64 = (0..32)
                    .map(|d| f64::from(q[row * 32 + d]) * f64::from(kk[j * 32 + d]))
                    .sum();
                (dot * f64::from(scale)) as f32
            })
            .collect();
        let weights = softmax(&scores);
        for d in 0..32 {
            expected.push((0..n).map(|j| weights[j] * f64::from(v[j * 32 + d])).sum());
        }
    }
    close("o", &k.read_f32(out), &expected, 1e-4, 1e-5);
}

#[test]
fn gemv_q4_reduces_across_lanes() {
    let mut k = Kernel::open("gemv_q4");
    let mut random = Random::new(67);
    let (rows, blocks) = (5, 40);
    let q = random.u32s(rows * blocks * 4);
    let scales: Vec<u16> = random
        .f32s(rows * blocks, -1.0, 1.0)
        .into_iter()
        .map(to_half)
        .collect();
    let x = random.f32s(blocks * 32, -1.0, 1.0);
    let out = k.out("y", rows);
    k.u32s("q", &q);
    k.u16s("sc", &scales);
    k.f32s("x", &x);
    k.u32("nblk", blocks as u32);
    k.run([rows as u32 * 32, 1, 1]);
    let expected: Vec<f64> = (0..rows)
        .map(|r| {
            (0..blocks * 32)
                .map(|e| {
                    let block = r * blocks + e / 32;
                    let word = q[block * 4 + e % 32 / 8];
                    let weight = f64::from(word >> (4 * (e % 8)) & 15) - 8.0;
                    f64::from(from_half(scales[block])) * weight * f64::from(x[e])
                })
                .sum()
        })
        .collect();
    close("y", &k.read_f32(out), &expected, 1e-4, 1e-3);
}

#[test]
fn layernorm_normalises_rows() {
    let mut k = Kernel::open("layernorm");
    let mut random = Random::new(68);
    let n = 600;
    let x = random.f32s(2 * n, -3.0, 5.0);
    let (g, b) = (random.f32s(n, 0.5, 1.5), random.f32s(n, -1.0, 1.0));
    let out = k.out("o", 2 * n);
    k.f32s("x", &x);
    k.f32s("g", &g);
    k.f32s("b", &b);
    k.u32("n", n as u32);
    k.f32("eps", 1e-5);
    k.run([512, 1, 1]);
    let mut expected = Vec::new();
    for row in x.chunks(n) {
        let d = doubles(row);
        let mean = d.iter().sum::<f64>() / n as f64;
        let variance = d.iter().map(|v| v * v).sum::<f64>() / n as f64 - mean * mean;
        let inverse = 1.0 / (variance + 1e-5).sqrt();
        expected
            .extend((0..n).map(|i| (d[i] - mean) * inverse * f64::from(g[i]) + f64::from(b[i])));
    }
    close("o", &k.read_f32(out), &expected, 1e-4, 1e-4);
}

#[test]
fn rmsnorm_half_normalises_halves() {
    let mut k = Kernel::open("rmsnorm_half");
    let mut random = Random::new(69);
    let n = 100;
    let x: Vec<u16> = random
        .f32s(2 * n, -3.0, 3.0)
        .into_iter()
        .map(to_half)
        .collect();
    let g: Vec<u16> = random.f32s(n, 0.5, 1.5).into_iter().map(to_half).collect();
    let out = k.u16s("o", &vec![0; 2 * n]);
    k.u16s("x", &x);
    k.u16s("g", &g);
    k.u32("n", n as u32);
    k.f32("eps", 1e-5);
    k.run([64, 1, 1]);
    let found: Vec<f32> = k.read_u16(out).into_iter().map(from_half).collect();
    for row in 0..2 {
        let d: Vec<f64> = (0..n)
            .map(|i| f64::from(from_half(x[row * n + i])))
            .collect();
        let mean = d.iter().map(|v| v * v).sum::<f64>() / n as f64;
        let inverse = 1.0 / (mean + 1e-5).sqrt();
        let expected: Vec<f64> = (0..n)
            .map(|i| d[i] * inverse * f64::from(from_half(g[i])))
            .collect();
        close("o", &found[row * n..(row + 1) * n], &expected, 1e-3, 1e-6);
    }
}
