//! Mesa-compiled kernels that are about transcendental functions. The reference is
//! double precision; the bounds are what the hardware's helpers (about 22 bits) leave.
#![allow(clippy::needless_range_loop, reason = "threads and lanes are numbers")]

mod common;
use common::{Kernel, Random, close, doubles, from_half, to_half};

/// A kernel of one input and one output.
fn map(
    name: &str,
    x: &[f32],
    per_thread: usize,
    f: impl Fn(f64) -> Vec<f64>,
    relative: f64,
    absolute: f64,
) {
    let mut k = Kernel::open(name);
    let out = k.out("o", x.len() * per_thread);
    k.f32s("x", x);
    k.run([x.len() as u32, 1, 1]);
    let expected: Vec<f64> = x.iter().flat_map(|x| f(f64::from(*x))).collect();
    close(name, &k.read_f32(out), &expected, relative, absolute);
}

#[test]
fn transcendental_native_stays_close() {
    let x = Random::new(70).f32s(128, 0.2, 1.3);
    let all = |v: f64| {
        let first = v.exp() + v.ln() + v.sin() + v.cos();
        let second = 1.0 / v.sqrt() + v.sqrt() + 1.0 / v + v.powf(f64::from(1.7f32));
        vec![first + second + v.exp2() + v.log2() + v.tan() + 10f64.powf(v)]
    };
    map("transcendental_native", &x, 1, all, 2e-5, 1e-5);
}

#[test]
fn transcendental_precise_is_precise() {
    let mut x = Random::new(71).f32s(128, 0.001, 20.0);
    x[..4].copy_from_slice(&[1.0, 1e-20, 80.0, 1e-30]);
    let all = |v: f64| vec![v.exp(), v.ln(), v.tanh(), v.sqrt()];
    map("transcendental_precise", &x, 4, all, 2e-6, 1e-30);
}

#[test]
fn erf_gelu_is_close() {
    let x = Random::new(72).f32s(128, -6.0, 6.0);
    let gelu = |v: f64| vec![0.5 * v * (1.0 + libm::erf(v * std::f64::consts::FRAC_1_SQRT_2))];
    map("erf_gelu", &x, 1, gelu, 1e-5, 1e-6);
}

#[test]
fn gelu_tanh_is_close() {
    let x = Random::new(73).f32s(128, -5.0, 5.0);
    let gelu = |v: f64| {
        let u = 0.7978845608 * (v + 0.044715 * v * v * v);
        vec![0.5 * v * (1.0 + u.tanh())]
    };
    map("gelu_tanh", &x, 1, gelu, 1e-4, 1e-5);
}

#[test]
fn pow_atan_follows_the_quadrants() {
    let mut k = Kernel::open("pow_atan");
    let mut random = Random::new(74);
    let mut x = random.f32s(64, 0.01, 5.0);
    let mut y = random.f32s(64, -5.0, 5.0);
    x[..4].copy_from_slice(&[1.0, 2.0, 0.5, 3.0]);
    y[..4].copy_from_slice(&[0.0, 10.0, -2.0, -0.0]);
    let out = k.out("o", 128);
    k.f32s("x", &x);
    k.f32s("y", &y);
    k.run([64, 1, 1]);
    let expected: Vec<f64> = doubles(&x)
        .iter()
        .zip(doubles(&y))
        .flat_map(|(x, y)| [x.powf(y), x.atan2(y)])
        .collect();
    close("o", &k.read_f32(out), &expected, 1e-5, 1e-6);
}

#[test]
fn half_math_rounds_each_function() {
    let mut k = Kernel::open("half_math");
    let a: Vec<u16> = Random::new(75)
        .f32s(64, 0.3, 6.0)
        .into_iter()
        .map(to_half)
        .collect();
    let out = k.u16s("o", &[0; 64]);
    k.u16s("a", &a);
    k.run([64, 1, 1]);
    let found: Vec<f32> = k.read_u16(out).into_iter().map(from_half).collect();
    let expected: Vec<f64> = a
        .iter()
        .map(|a| {
            let x = f64::from(from_half(*a));
            x.exp2() + 1.0 / x.sqrt() + x.floor() + 1.0 / x
        })
        .collect();
    close("o", &found, &expected, 3e-3, 0.0);
}

#[test]
fn silu_half4_is_close() {
    let mut k = Kernel::open("silu_half4");
    let x: Vec<u16> = Random::new(76)
        .f32s(256, -8.0, 8.0)
        .into_iter()
        .map(to_half)
        .collect();
    let out = k.u16s("o", &[0; 256]);
    k.u16s("x", &x);
    k.run([64, 1, 1]);
    let found: Vec<f32> = k.read_u16(out).into_iter().map(from_half).collect();
    let expected: Vec<f64> = x
        .iter()
        .map(|x| {
            let v = f64::from(from_half(*x));
            v / (1.0 + (-v).exp())
        })
        .collect();
    close("o", &found, &expected, 1e-3, 1e-5);
}

#[test]
fn rope_rotates_pairs() {
    let mut k = Kernel::open("rope");
    let mut random = Random::new(77);
    let (half_dim, tokens) = (32usize, 4usize);
    let x = random.f32s(2 * half_dim * tokens, -1.0, 1.0);
    let positions = [0, 3, 17, 40];
    let out = k.f32s("x", &x);
    k.i32s("pos", &positions);
    k.f32("theta", 10000.0);
    k.u32("half_dim", half_dim as u32);
    k.run([half_dim as u32, tokens as u32, 1]);
    let mut expected = Vec::new();
    for (t, position) in positions.iter().enumerate() {
        for i in 0..half_dim {
            let angle = 10000f64.powf(-(i as f64) / half_dim as f64) * f64::from(*position);
            let (s, c) = angle.sin_cos();
            let at = 2 * (t * half_dim + i);
            let (a, b) = (f64::from(x[at]), f64::from(x[at + 1]));
            expected.extend([a * c - b * s, a * s + b * c]);
        }
    }
    close("x", &k.read_f32(out), &expected, 0.0, 3e-5);
}

#[test]
fn fft_radix4_is_one_butterfly() {
    let mut k = Kernel::open("fft_radix4");
    let stride = 64usize;
    let x = Random::new(78).f32s(8 * stride, -1.0, 1.0);
    let out = k.f32s("d", &x);
    k.u32("stride", stride as u32);
    k.run([stride as u32, 1, 1]);
    let found = k.read_f32(out);
    type Complex = (f64, f64);
    let times = |a: Complex, b: Complex| (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0);
    let plus = |a: Complex, b: Complex| (a.0 + b.0, a.1 + b.1);
    let minus = |a: Complex, b: Complex| (a.0 - b.0, a.1 - b.1);
    for i in 0..stride {
        let at = |n: usize| {
            let index = 2 * (i + n * stride);
            (f64::from(x[index]), f64::from(x[index + 1]))
        };
        let angle = -std::f64::consts::TAU * i as f64 / (4 * stride) as f64;
        let w1 = (angle.cos(), angle.sin());
        let w2 = times(w1, w1);
        let (b, c, e) = (
            times(at(1), w1),
            times(at(2), w2),
            times(at(3), times(w1, w2)),
        );
        let (s0, s1, s2, s3) = (plus(at(0), c), minus(at(0), c), plus(b, e), minus(b, e));
        let expected = [
            plus(s0, s2),
            (s1.0 + s3.1, s1.1 - s3.0),
            minus(s0, s2),
            (s1.0 - s3.1, s1.1 + s3.0),
        ];
        for (n, (real, imaginary)) in expected.into_iter().enumerate() {
            let index = 2 * (i + n * stride);
            close("d", &found[index..index + 2], &[real, imaginary], 0.0, 2e-5);
        }
    }
}
