//! Mesa-compiled kernels without communication between threads: arithmetic on
//! elements, conversions, gathers, stencils.
#![allow(clippy::needless_range_loop, reason = "threads and lanes are numbers")]

mod common;
use common::{Kernel, Random, UNTOUCHED, close, doubles, from_half, to_half};

#[test]
fn saxpy_stops_at_n() {
    let mut k = Kernel::open("saxpy");
    let mut random = Random::new(1);
    let (x, y) = (random.f32s(100, -4.0, 4.0), random.f32s(100, -4.0, 4.0));
    let out = k.f32s("y", &y);
    k.f32s("x", &x);
    k.f32("a", 1.75);
    k.u32("n", 77);
    k.run([128, 1, 1]);
    let expected: Vec<f32> = (0..100)
        .map(|i| {
            if i < 77 {
                1.75f32.mul_add(x[i], y[i])
            } else {
                y[i]
            }
        })
        .collect();
    assert_eq!(k.read_f32(out), expected);
}

#[test]
fn saxpy_nobound_is_a_fused_multiply_add() {
    let mut k = Kernel::open("saxpy_nobound");
    let mut random = Random::new(2);
    let (x, y) = (random.f32s(128, -4.0, 4.0), random.f32s(128, -4.0, 4.0));
    let out = k.f32s("y", &y);
    k.f32s("x", &x);
    k.f32("a", -0.3);
    k.run([128, 1, 1]);
    let expected: Vec<f32> = (0..128).map(|i| (-0.3f32).mul_add(x[i], y[i])).collect();
    assert_eq!(k.read_f32(out), expected);
}

#[test]
fn vmul2_adds_constants_to_products() {
    let mut k = Kernel::open("vmul2");
    let mut random = Random::new(3);
    let (a, b) = (random.f32s(256, -9.0, 9.0), random.f32s(256, -9.0, 9.0));
    let out = k.out("o", 256);
    k.f32s("a", &a);
    k.f32s("b", &b);
    k.run([128, 1, 1]);
    let expected: Vec<f64> = (0..256)
        .map(|i| f64::from(a[i]) * f64::from(b[i]) + [1.0, 2.0][i % 2])
        .collect();
    close("o", &k.read_f32(out), &expected, 1e-6, 1e-6);
}

#[test]
fn store_const_stores_the_promoted_constant() {
    let mut k = Kernel::open("store_const");
    let out = k.out("o", 130);
    k.run([128, 1, 1]);
    let mut expected = vec![0xdead_beef; 128];
    expected.extend([UNTOUCHED; 2]);
    assert_eq!(k.read_u32(out), expected);
}

#[test]
fn half4_poly_rounds_in_half_precision() {
    let mut k = Kernel::open("half4_poly");
    let mut random = Random::new(4);
    let x: Vec<u16> = random
        .f32s(512, -3.0, 4.0)
        .into_iter()
        .map(to_half)
        .collect();
    let out = k.u16s("y", &[0; 512]);
    k.u16s("x", &x);
    k.run([128, 1, 1]);
    for (index, (&found, &x)) in k.read_u16(out).iter().zip(&x).enumerate() {
        let v = from_half(x);
        let r = (v * 0.5 + 1.0) * v + 0.25;
        let expected = r.clamp(0.0, 6.0);
        let error = (from_half(found) - expected).abs();
        assert!(
            error <= 4e-3,
            "y[{index}]: {} for {expected}",
            from_half(found)
        );
    }
}

#[test]
fn half_conv_pack_converts_both_ways() {
    let mut k = Kernel::open("half_conv_pack");
    let mut random = Random::new(5);
    let mut x = random.f32s(128, -70000.0, 70000.0);
    x[..6].copy_from_slice(&[1e-8, -3e-7, 65519.9, f32::INFINITY, -0.0, 6.1e-5]);
    let p: Vec<u32> = random
        .u32s(64)
        .into_iter()
        .map(|bits| bits & 0x7bff_7bff)
        .collect();
    let packed = k.out("o", 64);
    let floats = k.out("f", 128);
    k.f32s("x", &x);
    k.u32s("p", &p);
    k.run([64, 1, 1]);
    let pack = |i: usize| u32::from(to_half(x[2 * i])) | u32::from(to_half(x[2 * i + 1])) << 16;
    assert_eq!(k.read_u32(packed), (0..64).map(pack).collect::<Vec<_>>());
    let unpack = |i: usize| from_half((p[i / 2] >> (16 * (i % 2))) as u16);
    assert_eq!(k.read_f32(floats), (0..128).map(unpack).collect::<Vec<_>>());
}

#[test]
fn mixed_hf_accumulates_halves_in_single_precision() {
    let mut k = Kernel::open("mixed_hf");
    let mut random = Random::new(6);
    let x: Vec<u16> = random
        .f32s(512, -2.0, 2.0)
        .into_iter()
        .map(to_half)
        .collect();
    let w = random.f32s(8, -1.0, 1.0);
    let out = k.out("o", 64);
    k.u16s("x", &x);
    k.f32s("w", &w);
    k.run([64, 1, 1]);
    let expected: Vec<f64> = (0..64)
        .map(|i| {
            (0..8)
                .map(|j| f64::from(from_half(x[i * 8 + j])) * f64::from(w[j]))
                .sum()
        })
        .collect();
    close("o", &k.read_f32(out), &expected, 1e-5, 1e-5);
}

#[test]
fn dequant_q4_unpacks_nibbles() {
    let mut k = Kernel::open("dequant_q4");
    let mut random = Random::new(7);
    let q: Vec<u8> = (0..128).map(|_| random.u32() as u8).collect();
    let scales: Vec<u16> = random.f32s(8, -2.0, 2.0).into_iter().map(to_half).collect();
    let out = k.out("o", 256);
    k.bytes("q", &q);
    k.u16s("sc", &scales);
    k.run([128, 1, 1]);
    let expected: Vec<f32> = (0..256)
        .map(|i| {
            let nibble = i32::from(q[i / 2] >> (4 * (i % 2)) & 15) - 8;
            nibble as f32 * from_half(scales[i / 2 / 16])
        })
        .collect();
    assert_eq!(k.read_f32(out), expected);
}

#[test]
fn convert_all_rounds_saturates_and_extends() {
    let mut k = Kernel::open("convert_all");
    let mut random = Random::new(8);
    let mut x = random.f32s(64, -2000.0, 70000.0);
    x[..8].copy_from_slice(&[2.5, 3.5, -2.5, 0.49, -0.5, 65535.5, 1e9, -1.0]);
    let y = random.i32s(64);
    let floats = k.out("f", 384);
    let ints = k.out("si", 192);
    let uints = k.out("ui", 128);
    k.f32s("x", &x);
    k.i32s("y", &y);
    k.run([64, 1, 1]);
    let (f, si, ui) = (k.read_f32(floats), k.read_i32(ints), k.read_u32(uints));
    for i in 0..64 {
        let (v, w) = (x[i], y[i]);
        assert_eq!(si[i], v as i32, "rtz {v}");
        if v >= 0.0 {
            assert_eq!(ui[i], v as u32, "unsigned rtz {v}");
        }
        assert_eq!(si[i + 64], v.round_ties_even() as i32, "rte {v}");
        assert_eq!(si[i + 128], (v * 1000.0) as i32, "saturated {v}");
        assert_eq!(ui[i + 64], u32::from(v as u16), "saturated ushort {v}");
        let expected = [
            w as f32,
            w as u32 as f32,
            f32::from(w as i8),
            f32::from(w as u8),
            f32::from(w as i16),
            f32::from(w as u16),
        ];
        for (n, expected) in expected.into_iter().enumerate() {
            assert_eq!(f[i + 64 * n], expected, "{w:#x} by way {n}");
        }
    }
}

#[test]
fn char_short_conv_extends_and_saturates() {
    let mut k = Kernel::open("char_short_conv");
    let mut random = Random::new(9);
    let x: Vec<u8> = (0..64).map(|_| random.u32() as u8).collect();
    let u: Vec<u8> = (0..64).map(|_| random.u32() as u8).collect();
    let shorts = k.u16s("o", &[0; 64]);
    k.bytes("x", &x);
    k.bytes("u", &u);
    let chars = k.bytes("oc", &[0; 64]);
    k.run([64, 1, 1]);
    let pairs = || {
        x.iter()
            .zip(&u)
            .map(|(&x, &u)| (i32::from(x as i8), i32::from(u)))
    };
    let expected: Vec<u16> = pairs().map(|(c, b)| (c * 3 + b) as u16).collect();
    assert_eq!(k.read_u16(shorts), expected);
    let expected: Vec<u8> = pairs().map(|(c, b)| (c + b).clamp(0, 255) as u8).collect();
    assert_eq!(k.read(chars), expected);
}

#[test]
fn load16_burst_sums_sixteen_vectors() {
    let mut k = Kernel::open("load16_burst");
    let mut random = Random::new(10);
    let x = random.f32s(4 * (64 + 15 * 1024), -1.0, 1.0);
    let out = k.out("o", 256);
    k.f32s("x", &x);
    k.run([64, 1, 1]);
    let expected: Vec<f32> = (0..256)
        .map(|i| (0..16).fold(0.0, |sum, n| sum + x[i + n * 4096]))
        .collect();
    close("o", &k.read_f32(out), &doubles(&expected), 1e-5, 1e-5);
}

#[test]
fn gather_scatter_follows_its_indices() {
    let mut k = Kernel::open("gather_scatter");
    let mut random = Random::new(11);
    let x = random.f32s(50, -1.0, 1.0);
    let gather: Vec<i32> = (0..65).map(|_| random.below(50) as i32).collect();
    let scatter: Vec<i32> = (0..64).map(|i| i * 37 % 64).collect();
    let out = k.out("o", 64);
    k.f32s("x", &x);
    k.i32s("gi", &gather);
    k.i32s("si", &scatter);
    k.run([64, 1, 1]);
    let mut expected = vec![0.0; 64];
    for i in 0..64 {
        expected[scatter[i] as usize] = x[gather[i] as usize] + x[gather[i + 1] as usize];
    }
    assert_eq!(k.read_f32(out), expected);
}

#[test]
fn transpose_naive_swaps_axes() {
    let mut k = Kernel::open("transpose_naive");
    let (w, h) = (13, 10);
    let x: Vec<f32> = (0..w * h).map(|i| i as f32).collect();
    let out = k.out("o", w * h);
    k.f32s("x", &x);
    k.u32("w", w as u32);
    k.u32("h", h as u32);
    k.run([16, 16, 1]);
    let expected: Vec<f32> = (0..w * h).map(|i| x[i % h * w + i / h]).collect();
    assert_eq!(k.read_f32(out), expected);
}

#[test]
fn stencil5_weighs_its_neighbours() {
    let mut k = Kernel::open("stencil5");
    let mut random = Random::new(12);
    let w = 18;
    let x = random.f32s(w * 18, -1.0, 1.0);
    let out = k.out("o", w * 18);
    k.f32s("x", &x);
    k.u32("w", w as u32);
    k.f32("c0", 0.5);
    k.f32("c1", 0.125);
    k.run([16, 16, 1]);
    let found = k.read_f32(out);
    for j in 1..17 {
        for i in 1..17 {
            let p = j * w + i;
            let around = x[p - 1] + x[p + 1] + x[p - w] + x[p + w];
            close(
                "o",
                &found[p..=p],
                &[f64::from(0.5 * x[p] + 0.125 * around)],
                1e-6,
                1e-6,
            );
        }
    }
    assert_eq!(found[0].to_bits(), UNTOUCHED);
}

#[test]
fn conv1d_clamps_at_the_ends() {
    let mut k = Kernel::open("conv1d");
    let mut random = Random::new(13);
    let (x, f) = (random.f32s(128, -1.0, 1.0), random.f32s(9, -1.0, 1.0));
    let out = k.out("o", 128);
    k.f32s("x", &x);
    k.f32s("f", &f);
    k.u32("n", 128);
    k.run([128, 1, 1]);
    let expected: Vec<f32> = (0..128)
        .map(|i: i32| {
            (-4..=4).fold(0.0, |sum, n: i32| {
                x[(i + n).clamp(0, 127) as usize].mul_add(f[(n + 4) as usize], sum)
            })
        })
        .collect();
    assert_eq!(k.read_f32(out), expected);
}

#[test]
fn conv2d_3x3_leaves_the_border() {
    let mut k = Kernel::open("conv2d_3x3");
    let mut random = Random::new(14);
    let (w, h) = (19, 11);
    let (x, f) = (random.f32s(w * h, -1.0, 1.0), random.f32s(9, -1.0, 1.0));
    let out = k.out("o", w * h);
    k.f32s("x", &x);
    k.f32s("f", &f);
    k.u32("w", w as u32);
    k.u32("h", h as u32);
    k.run([24, 16, 1]);
    let found = k.read_f32(out);
    for j in 0..h {
        for i in 0..w {
            let inner = i > 0 && j > 0 && i < w - 1 && j < h - 1;
            let mut sum = 0.0;
            for n in (0..9).filter(|_| inner) {
                sum = x[(j + n / 3 - 1) * w + i + n % 3 - 1].mul_add(f[n], sum);
            }
            let expected = if inner { sum.to_bits() } else { UNTOUCHED };
            assert_eq!(found[j * w + i].to_bits(), expected, "({i}, {j})");
        }
    }
}

#[test]
fn vec3_norm_has_unit_length() {
    let mut k = Kernel::open("vec3_norm");
    let mut random = Random::new(15);
    let a = random.f32s(192, -5.0, 5.0);
    let out = k.out("o", 192);
    k.f32s("a", &a);
    k.run([64, 1, 1]);
    let expected: Vec<f64> = (0..192)
        .map(|i| {
            let v = &doubles(&a)[i / 3 * 3..i / 3 * 3 + 3];
            v[i % 3] / v.iter().map(|x| x * x).sum::<f64>().sqrt()
        })
        .collect();
    close("o", &k.read_f32(out), &expected, 1e-5, 1e-6);
}

#[test]
fn uniform_load_reads_its_row_in_the_constant_program() {
    let mut k = Kernel::open("uniform_load");
    let mut random = Random::new(16);
    let (c, x) = (random.f32s(20, -1.0, 1.0), random.f32s(64, -2.0, 2.0));
    let out = k.out("o", 64);
    k.f32s("c", &c);
    k.f32s("x", &x);
    k.u32("row", 3);
    let outcome = k.run([64, 1, 1]);
    assert!(outcome.constant_instructions > 0);
    let expected: Vec<f64> = doubles(&x)
        .iter()
        .map(|v| {
            let w = doubles(&c[12..16]);
            ((w[3] * v + w[2]) * v + w[1]) * v + w[0]
        })
        .collect();
    close("o", &k.read_f32(out), &expected, 1e-5, 1e-5);
}

#[test]
fn uniform_math_computes_once_per_launch() {
    let mut k = Kernel::open("uniform_math");
    let out = k.out("o", 200);
    let (a, b, n, m) = (1.5f64, 2.25f64, 7u32, 5u32);
    k.f32("a", a as f32);
    k.f32("b", b as f32);
    k.u32("n", n);
    k.u32("m", m);
    k.run([64, 1, 1]);
    let factor = (a * a + b * b).sqrt() + a.exp2() * f64::from(n * m + 3);
    let offset = ((n * 17 + m) / 3) as usize;
    let expected: Vec<f64> = (0..64).map(|i| factor * f64::from(i)).collect();
    close(
        "o",
        &k.read_f32(out)[offset..offset + 64],
        &expected,
        1e-5,
        0.0,
    );
}
