//! Example kernels whose threads do not talk to each other, against double precision.

use crate::common::{close, example, f32s, halves, random, random_bits, read_halves, run, u32s};
use assay_exec::{Buffer, Grid};

/// A kernel with its result in buffer 0 and one input in buffer 1, element by element.
fn one_in_one_out(kernel: &str, x: &[f32], tolerance: f64, reference: fn(f64) -> f64) {
    let Some(program) = example(&format!("{kernel}.metal"), kernel) else {
        return;
    };
    let len = x.len();
    let result = run(
        &program,
        Grid::line(len as u32, 64),
        vec![Buffer::zeroed(len * 4), f32s(x)],
    );
    let expected: Vec<f64> = x.iter().map(|&x| reference(f64::from(x))).collect();
    close(&result[0].to_vec::<f32>(), &expected, tolerance);
}

#[test]
fn relu() {
    let Some(program) = example("relu.metal", "relu") else {
        return;
    };
    let x = random(1, 1000);
    let result = run(
        &program,
        Grid::line(1000, 96),
        vec![f32s(&x), Buffer::zeroed(4000)],
    );
    let expected: Vec<f64> = x.iter().map(|&x| f64::from(x).max(0.0)).collect();
    close(&result[1].to_vec::<f32>(), &expected, 0.0);
}

#[test]
fn saxpy_leaves_what_is_beyond_alone() {
    let Some(program) = example("saxpy.metal", "saxpy") else {
        return;
    };
    let (y, x) = (random(1, 150), random(2, 150));
    let buffers = vec![f32s(&y), f32s(&x), f32s(&[2.5]), u32s(&[130])];
    let result = run(&program, Grid::line(192, 64), buffers);
    let sum = |i: usize| 2.5 * f64::from(x[i]) + f64::from(y[i]);
    let expected: Vec<f64> = (0..150)
        .map(|i| if i < 130 { sum(i) } else { f64::from(y[i]) })
        .collect();
    close(&result[0].to_vec::<f32>(), &expected, 1e-6);
}

#[test]
fn activations() {
    let x: Vec<f32> = random(1, 300).iter().map(|x| x * 5.0).collect();
    one_in_one_out("gelu_tanh", &x, 1e-5, |v| {
        0.5 * v * (1.0 + (0.7978845608 * (v + 0.044715 * v * v * v)).tanh())
    });
    // erf by its series, which converges for these arguments.
    one_in_one_out("erf_gelu", &x, 1e-5, |v| {
        let z = v * 0.5f64.sqrt();
        let (mut term, mut sum) = (z, z);
        for k in 1..120 {
            term *= -z * z / f64::from(k);
            sum += term / f64::from(2 * k + 1);
        }
        0.5 * v * (1.0 + sum * 2.0 / std::f64::consts::PI.sqrt())
    });
}

#[test]
fn vectors_of_half() {
    let (input, x) = halves(&random(1, 400).iter().map(|x| x * 4.0).collect::<Vec<_>>());
    for (kernel, reference) in [
        ("silu_half4", (|v| v / (1.0 + (-v).exp())) as fn(f64) -> f64),
        ("half4_poly", |v| {
            ((v * 0.5 + 1.0) * v + 0.25).clamp(0.0, 6.0)
        }),
    ] {
        let Some(program) = example(&format!("{kernel}.metal"), kernel) else {
            return;
        };
        let result = run(
            &program,
            Grid::line(100, 64),
            vec![Buffer::zeroed(800), input.clone()],
        );
        let expected: Vec<f64> = x.iter().map(|&x| reference(x)).collect();
        close(&read_halves(&result[0]), &expected, 4e-3);
    }
}

#[test]
fn mixed_half_and_float() {
    let Some(program) = example("mixed_hf.metal", "mixed_hf") else {
        return;
    };
    let (input, x) = halves(&random(1, 800));
    let w = random(2, 8);
    let result = run(
        &program,
        Grid::line(100, 64),
        vec![Buffer::zeroed(400), input, f32s(&w)],
    );
    let expected: Vec<f64> = x
        .chunks(8)
        .map(|row| row.iter().zip(&w).map(|(x, &w)| x * f64::from(w)).sum())
        .collect();
    close(&result[0].to_vec::<f32>(), &expected, 1e-6);
}

#[test]
fn convolutions() {
    let Some(program) = example("conv1d.metal", "conv1d") else {
        return;
    };
    let (x, f) = (random(1, 100), random(2, 9));
    let result = run(
        &program,
        Grid::line(100, 64),
        vec![Buffer::zeroed(400), f32s(&x), f32s(&f), u32s(&[100])],
    );
    let tap = |i: i64, k: i64| {
        f64::from(x[(i + k).clamp(0, 99) as usize]) * f64::from(f[(k + 4) as usize])
    };
    let expected: Vec<f64> = (0..100)
        .map(|i| (-4..=4).map(|k| tap(i, k)).sum())
        .collect();
    close(&result[0].to_vec::<f32>(), &expected, 1e-5);

    let Some(program) = example("conv2d_3x3.metal", "conv2d_3x3") else {
        return;
    };
    let (w, h) = (21, 13);
    let x = random(3, w * h);
    let buffers = vec![
        Buffer::zeroed(w * h * 4),
        f32s(&x),
        f32s(&f),
        u32s(&[w as u32]),
        u32s(&[h as u32]),
    ];
    let result = run(
        &program,
        Grid::threads([w as u32, h as u32, 1], [8, 8, 1]),
        buffers,
    );
    let element = |index: usize| {
        let (i, j) = (index % w, index / w);
        if i < 1 || j < 1 || i >= w - 1 || j >= h - 1 {
            return 0.0;
        }
        (0..9)
            .map(|t| f64::from(x[(j + t / 3 - 1) * w + i + t % 3 - 1]) * f64::from(f[t]))
            .sum()
    };
    close(
        &result[0].to_vec::<f32>(),
        &(0..w * h).map(element).collect::<Vec<f64>>(),
        1e-5,
    );
}

#[test]
fn an_array_in_thread_memory() {
    let Some(program) = example("private_array_dyn.metal", "private_array_dyn") else {
        return;
    };
    let (x, idx) = (random(1, 1600), random_bits(2, 16));
    let result = run(
        &program,
        Grid::line(100, 64),
        vec![Buffer::zeroed(400), f32s(&x), u32s(&idx)],
    );
    let expected: Vec<f64> = x
        .chunks(16)
        .map(|row| idx.iter().map(|&k| f64::from(row[k as usize & 15])).sum())
        .collect();
    close(&result[0].to_vec::<f32>(), &expected, 1e-5);
}

#[test]
fn divergent_escape_times() {
    let Some(program) = example("mandelbrot.metal", "mandelbrot") else {
        return;
    };
    let (w, h, most) = (40u32, 24u32, 60u32);
    let buffers = vec![
        Buffer::zeroed(w as usize * h as usize * 4),
        f32s(&[-2.0]),
        f32s(&[-1.2]),
        f32s(&[0.1]),
        u32s(&[w]),
        u32s(&[most]),
    ];
    let result = run(&program, Grid::threads([w, h, 1], [8, 8, 1]), buffers);
    let escape = |gx: u32, gy: u32| {
        let (cx, cy) = (-2.0 + f64::from(gx) * 0.1, -1.2 + f64::from(gy) * 0.1);
        let (mut x, mut y, mut it) = (0.0f64, 0.0f64, 0);
        while it < most && x * x + y * y <= 4.0 {
            (x, y) = (x * x - y * y + cx, 2.0 * x * y + cy);
            it += 1;
        }
        it
    };
    let got = result[0].to_vec::<u32>();
    // Single precision may escape a step apart where the orbit is chaotic.
    let apart = (0..w * h)
        .filter(|&i| got[i as usize] != escape(i % w, i / w))
        .count();
    assert!(apart * 50 < got.len(), "{apart} of {} differ", got.len());
}

#[test]
fn returns_from_three_places() {
    let Some(program) = example("early_return.metal", "early_return") else {
        return;
    };
    let n = 90;
    let x: Vec<f32> = random(5, n)
        .iter()
        .map(|v| if *v > 0.5 { 1.0 + v * 1e-3 } else { v * 100.0 })
        .collect();
    let result = run(
        &program,
        Grid::line(128, 64),
        vec![Buffer::zeroed(n * 10 * 4), f32s(&x), u32s(&[n as u32])],
    );
    let mut expected = vec![0.0; n];
    // Slot k of an element is written by later iterations too; only slot 0 is compared.
    for i in 0..n {
        let mut v = f64::from(x[i]);
        if v < 0.0 {
            continue;
        }
        expected[i] = f64::NAN;
        for k in 0..10 {
            v = v.sqrt();
            if v < 1.001 {
                expected[i] = f64::from(k);
                break;
            }
        }
        if expected[i].is_nan() {
            expected[i] = v;
        }
    }
    close(&result[0].to_vec::<f32>()[..n], &expected, 1e-4);
}

#[test]
fn eight_ways_through_a_switch() {
    let Some(program) = example("switch_case.metal", "switch_case") else {
        return;
    };
    let (a, b) = (random(1, 200), random(2, 200));
    let b: Vec<f32> = b.iter().map(|v| v.abs() * 4.0 + 1.0).collect();
    let op: Vec<u32> = random_bits(3, 200).iter().map(|v| v % 10).collect();
    let result = run(
        &program,
        Grid::line(200, 64),
        vec![Buffer::zeroed(8192), u32s(&op), f32s(&a), f32s(&b)],
    );
    let expected: Vec<f64> = (0..200)
        .map(|i| {
            let (x, y) = (f64::from(a[i]), f64::from(b[i]));
            match op[i] {
                0 => x + y,
                1 => x - y,
                2 => x * y,
                3 => x / y,
                4 => x.min(y),
                5 => x.max(y),
                6 => x.sin(),
                7 => (0..y as i32).fold(0.0, |r, _| r * x + 1.0),
                _ => 0.0,
            }
        })
        .collect();
    close(&result[0].to_vec::<f32>()[..200], &expected, 1e-5);
}

#[test]
fn packed_vectors_of_three() {
    let Some(program) = example("vec3_norm.metal", "vec3_norm") else {
        return;
    };
    let a = random(1, 210);
    let result = run(
        &program,
        Grid::line(70, 64),
        vec![Buffer::zeroed(840), f32s(&a)],
    );
    let mut expected = Vec::new();
    for v in a.chunks(3) {
        let length = v.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
        expected.extend(v.iter().map(|&x| f64::from(x) / length));
    }
    close(&result[0].to_vec::<f32>(), &expected, 1e-5);
}

#[test]
fn rotary_embedding() {
    let Some(program) = example("rope.metal", "rope") else {
        return;
    };
    let (dim, count) = (16usize, 9usize);
    let x = random(1, dim * count * 2);
    let pos: Vec<u32> = (0..count as u32).collect();
    let buffers = vec![f32s(&x), u32s(&pos), f32s(&[10000.0]), u32s(&[dim as u32])];
    let result = run(
        &program,
        Grid::threads([dim as u32, count as u32, 1], [16, 4, 1]),
        buffers,
    );
    let mut expected = Vec::new();
    for (index, v) in x.chunks(2).enumerate() {
        let f = 10000f64.powf(-((index % dim) as f64) / dim as f64) * (index / dim) as f64;
        let (x, y) = (f64::from(v[0]), f64::from(v[1]));
        expected.extend([x * f.cos() - y * f.sin(), x * f.sin() + y * f.cos()]);
    }
    close(&result[0].to_vec::<f32>(), &expected, 1e-4);
}

#[test]
fn transposition_both_ways() {
    let (w, h) = (37usize, 21usize);
    let x = random(1, w * h);
    let expected: Vec<f64> = (0..w * h)
        .map(|i| f64::from(x[i % h * w + i / h]))
        .collect();
    for (kernel, grid) in [
        (
            "transpose_naive",
            Grid::threads([w as u32, h as u32, 1], [8, 8, 1]),
        ),
        (
            "transpose_tiled",
            Grid::groups([3, 3, 1], [16, 16, 1]).expect("small"),
        ),
    ] {
        let Some(program) = example(&format!("{kernel}.metal"), kernel) else {
            return;
        };
        let buffers = vec![
            Buffer::zeroed(w * h * 4),
            f32s(&x),
            u32s(&[w as u32]),
            u32s(&[h as u32]),
        ];
        let result = run(&program, grid, buffers);
        close(&result[0].to_vec::<f32>(), &expected, 0.0);
    }
}

#[test]
fn sparse_rows() {
    let Some(program) = example("spmv_csr.metal", "spmv_csr") else {
        return;
    };
    let n = 80usize;
    let mut starts = vec![0u32];
    for bits in random_bits(1, n) {
        starts.push(starts[starts.len() - 1] + bits % 9);
    }
    let entries = starts[n] as usize;
    let columns: Vec<u32> = random_bits(2, entries)
        .iter()
        .map(|v| v % n as u32)
        .collect();
    let (v, x) = (random(3, entries), random(4, n));
    let buffers = vec![
        Buffer::zeroed(n * 4),
        u32s(&starts),
        u32s(&columns),
        f32s(&v),
        f32s(&x),
        u32s(&[n as u32]),
    ];
    let result = run(&program, Grid::line(128, 64), buffers);
    let term = |k: usize| f64::from(v[k]) * f64::from(x[columns[k] as usize]);
    let expected: Vec<f64> = (0..n)
        .map(|r| (starts[r] as usize..starts[r + 1] as usize).map(term).sum())
        .collect();
    close(&result[0].to_vec::<f32>(), &expected, 1e-5);
}

#[test]
fn four_bit_weights() {
    let Some(program) = example("dequant_q4.metal", "dequant_q4") else {
        return;
    };
    let q: Vec<u8> = random_bits(1, 160).iter().map(|&v| v as u8).collect();
    let (scales, s) = halves(&random(2, 10));
    let result = run(
        &program,
        Grid::line(160, 64),
        vec![Buffer::zeroed(1280), Buffer::from_bytes(&q), scales],
    );
    let expected: Vec<f64> = q
        .iter()
        .enumerate()
        .flat_map(|(i, &b)| [b & 15, b >> 4].map(|n| (f64::from(n) - 8.0) * s[i / 16]))
        .collect();
    close(&result[0].to_vec::<f32>(), &expected, 1e-6);

    let Some(program) = example("gemv_q4.metal", "gemv_q4") else {
        return;
    };
    let (rows, blocks) = (5usize, 40usize);
    let q = random_bits(3, rows * blocks * 4);
    let (scales, s) = halves(&random(4, rows * blocks));
    let x = random(5, blocks * 32);
    let buffers = vec![
        Buffer::zeroed(rows * 4),
        u32s(&q),
        scales,
        f32s(&x),
        u32s(&[blocks as u32]),
    ];
    let result = run(&program, Grid::line(rows as u32 * 32, 32), buffers);
    let weight = |r: usize, i: usize| {
        let nibble = q[r * blocks * 4 + i / 8] >> (4 * (i % 8)) & 15;
        (f64::from(nibble) - 8.0) * s[r * blocks + i / 32]
    };
    let expected: Vec<f64> = (0..rows)
        .map(|r| {
            (0..blocks * 32)
                .map(|i| weight(r, i) * f64::from(x[i]))
                .sum()
        })
        .collect();
    close(&result[0].to_vec::<f32>(), &expected, 1e-5);
}

#[test]
fn points_in_a_circle() {
    let Some(program) = example("xorshift_mc.metal", "xorshift_mc") else {
        return;
    };
    let (n, seed) = (200u32, 99u32);
    let result = run(
        &program,
        Grid::line(70, 64),
        vec![Buffer::zeroed(280), u32s(&[n]), u32s(&[seed])],
    );
    let pi = |g: u32| {
        let mut s = g.wrapping_mul(747796405).wrapping_add(seed);
        let mut hit = 0;
        for _ in 0..n {
            s ^= s << 13;
            s ^= s >> 17;
            s ^= s << 5;
            let (x, y) = (
                f64::from(s & 0xffff) / 65536.0,
                f64::from(s >> 16) / 65536.0,
            );
            hit += u32::from(x * x + y * y < 1.0);
        }
        4.0 * f64::from(hit) / f64::from(n)
    };
    // A point exactly on the circle may fall on either side in single precision.
    close(
        &result[0].to_vec::<f32>(),
        &(0..70).map(pi).collect::<Vec<_>>(),
        0.021,
    );
}

#[test]
fn polynomial_with_shared_coefficients() {
    let Some(program) = example("uniform_load.metal", "uniform_load") else {
        return;
    };
    let (c, x) = (random(1, 12), random(2, 100));
    let result = run(
        &program,
        Grid::line(100, 64),
        vec![Buffer::zeroed(400), f32s(&c), f32s(&x), u32s(&[2])],
    );
    let w: Vec<f64> = c[8..].iter().map(|&v| f64::from(v)).collect();
    let value = |v: f64| ((w[3] * v + w[2]) * v + w[1]) * v + w[0];
    close(
        &result[0].to_vec::<f32>(),
        &x.iter().map(|&v| value(f64::from(v))).collect::<Vec<_>>(),
        1e-5,
    );

    let Some(program) = example("vmul2.metal", "vmul2") else {
        return;
    };
    let (a, b) = (random(3, 100), random(4, 100));
    let result = run(
        &program,
        Grid::line(50, 64),
        vec![Buffer::zeroed(400), f32s(&a), f32s(&b)],
    );
    let expected: Vec<f64> = (0..100)
        .map(|i| f64::from(a[i]) * f64::from(b[i]) + [1.0, 2.0][i % 2])
        .collect();
    close(&result[0].to_vec::<f32>(), &expected, 1e-6);
}
