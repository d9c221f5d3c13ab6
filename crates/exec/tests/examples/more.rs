//! Further example kernels, and function constants.

use crate::common::{
    close, example, f32s, halves, program_with, random, random_bits, read_halves, run, u32s,
};
use assay_exec::{Buffer, Grid, Options};

fn exact(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| f64::from(value)).collect()
}

#[test]
fn indirect_loads_and_stores() {
    let Some(program) = example("gather_scatter.metal", "gather_scatter") else {
        return;
    };
    let (x, n) = (random(1, 50), 100usize);
    let from: Vec<u32> = random_bits(2, n + 1).iter().map(|v| v % 50).collect();
    let to: Vec<u32> = (0..n as u32).map(|i| (i * 37 + 11) % n as u32).collect();
    let result = run(
        &program,
        Grid::line(n as u32, 64),
        vec![Buffer::zeroed(n * 4), f32s(&x), u32s(&from), u32s(&to)],
    );
    let mut expected = vec![0.0; n];
    for i in 0..n {
        expected[to[i] as usize] =
            f64::from(x[from[i] as usize]) + f64::from(x[from[i + 1] as usize]);
    }
    close(&result[0].to_vec::<f32>(), &expected, 1e-6);
}

#[test]
fn a_stencil() {
    let Some(program) = example("stencil5.metal", "stencil5") else {
        return;
    };
    let (w, h) = (18usize, 11usize);
    let x = random(1, w * h);
    let buffers = vec![
        Buffer::zeroed(w * h * 4),
        f32s(&x),
        u32s(&[w as u32]),
        f32s(&[0.5]),
        f32s(&[0.125]),
    ];
    let result = run(
        &program,
        Grid::threads([w as u32 - 2, h as u32 - 2, 1], [8, 8, 1]),
        buffers,
    );
    let v = exact(&x);
    let inside = |p: usize| (1..w - 1).contains(&(p % w)) && (1..h - 1).contains(&(p / w));
    let value = |p: usize| 0.5 * v[p] + 0.125 * (v[p - 1] + v[p + 1] + v[p - w] + v[p + w]);
    let expected: Vec<f64> = (0..w * h)
        .map(|p| if inside(p) { value(p) } else { 0.0 })
        .collect();
    close(&result[0].to_vec::<f32>(), &expected, 1e-6);
}

#[test]
fn many_loads_in_flight() {
    let Some(program) = example("load16_burst.metal", "load16_burst") else {
        return;
    };
    let x = random(1, 16 * 1024 * 4);
    let result = run(
        &program,
        Grid::line(1024, 64),
        vec![Buffer::zeroed(16384), f32s(&x)],
    );
    let expected: Vec<f64> = (0..4096)
        .map(|i| (0..16).map(|k| f64::from(x[i + k * 4096])).sum())
        .collect();
    close(&result[0].to_vec::<f32>(), &expected, 1e-5);
}

#[test]
fn a_dot_product_of_vectors() {
    let Some(program) = example("dot_product.metal", "dot_product") else {
        return;
    };
    let n = 10_000usize;
    let (a, b) = (random(1, n * 4), random(2, n * 4));
    let buffers = vec![Buffer::zeroed(512), f32s(&a), f32s(&b), u32s(&[n as u32])];
    let result = run(&program, Grid::line(64 * 128, 64), buffers);
    let total: f32 = result[0].to_vec::<f32>().iter().sum();
    let expected: f64 = exact(&a).iter().zip(exact(&b)).map(|(a, b)| a * b).sum();
    close(&[total], &[expected], 1e-4);
}

#[test]
fn uniform_work() {
    let Some(program) = example("loop_unif_bounds.metal", "loop_unif_bounds") else {
        return;
    };
    let x: Vec<f32> = random(1, 150).iter().map(|v| v.abs() * 5.0).collect();
    let result = run(
        &program,
        Grid::line(70, 64),
        vec![Buffer::zeroed(280), f32s(&x), u32s(&[150])],
    );
    let end = exact(&x).iter().fold(0.0, |a, v| {
        let a = a * 0.99 + v;
        if a > 100.0 { a - 50.0 } else { a }
    });
    close(
        &result[0].to_vec::<f32>(),
        &(0..70).map(|i| end + f64::from(i)).collect::<Vec<_>>(),
        1e-4,
    );

    let Some(program) = example("uniform_math.metal", "uniform_math") else {
        return;
    };
    let buffers = vec![
        Buffer::zeroed(400),
        f32s(&[1.5]),
        f32s(&[2.0]),
        u32s(&[3]),
        u32s(&[6]),
    ];
    let result = run(&program, Grid::line(70, 64), buffers);
    let k = 2.5 + 1.5f64.exp2() * 21.0;
    let expected: Vec<f64> = (0..100)
        .map(|i| {
            if (19..89).contains(&i) {
                k * f64::from(i - 19)
            } else {
                0.0
            }
        })
        .collect();
    close(&result[0].to_vec::<f32>(), &expected, 1e-5);
}

#[test]
fn functions_of_a_half() {
    let Some(program) = example("half_math.metal", "half_math") else {
        return;
    };
    let (input, x) = halves(
        &random(1, 100)
            .iter()
            .map(|v| v.abs() * 4.0 + 0.5)
            .collect::<Vec<_>>(),
    );
    let result = run(
        &program,
        Grid::line(100, 64),
        vec![Buffer::zeroed(200), input],
    );
    let expected: Vec<f64> = x
        .iter()
        .map(|v| v.exp2() + 1.0 / v.sqrt() + v.floor() + 1.0 / v)
        .collect();
    close(&read_halves(&result[0]), &expected, 3e-3);
}

#[test]
fn a_step_of_a_sorting_network() {
    let Some(program) = example("bitonic_step.metal", "bitonic_step") else {
        return;
    };
    let mut expected = random_bits(1, 128);
    let mut keys = u32s(&expected);
    let steps = [2u32, 4, 8, 16, 32, 64, 128];
    for k in steps {
        for j in steps.into_iter().rev().map(|s| s / 2).filter(|&j| j < k) {
            keys = run(
                &program,
                Grid::line(128, 64),
                vec![keys, u32s(&[j]), u32s(&[k])],
            )
            .swap_remove(0);
        }
    }
    expected.sort_unstable();
    assert_eq!(keys.to_vec::<u32>(), expected);
}

#[test]
fn a_butterfly() {
    let Some(program) = example("fft_radix4.metal", "fft_radix4") else {
        return;
    };
    let stride = 32usize;
    let d = random(1, stride * 8);
    let result = run(
        &program,
        Grid::line(stride as u32, 32),
        vec![f32s(&d), u32s(&[stride as u32])],
    );
    let v = exact(&d);
    let mut expected = vec![0.0; stride * 8];
    for i in 0..stride {
        let angle = -std::f64::consts::TAU * i as f64 / (4 * stride) as f64;
        // Each output is the sum of the inputs turned by multiples of the angle and of a quarter.
        for out in 0..4 {
            for input in 0..4 {
                let turn =
                    angle * input as f64 - std::f64::consts::FRAC_PI_2 * (out * input) as f64;
                let (re, im) = (v[2 * (i + input * stride)], v[2 * (i + input * stride) + 1]);
                let at = 2 * (i + out * stride);
                expected[at] += re * turn.cos() - im * turn.sin();
                expected[at + 1] += re * turn.sin() + im * turn.cos();
            }
        }
    }
    close(&result[0].to_vec::<f32>(), &expected, 1e-4);
}

#[test]
fn function_constants_have_the_values_given() {
    let text = "#include <metal_stdlib>\nusing namespace metal;\n\
        constant uint factor [[function_constant(3)]];\n\
        kernel void k(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = i * factor; }";
    let options = Options {
        constants: vec![(3, vec![7])],
        ..Options::default()
    };
    let Some(program) = program_with(text, "k.metal", "k", &options) else {
        return;
    };
    let result = run(&program, Grid::line(10, 32), vec![Buffer::zeroed(40)]);
    assert_eq!(
        result[0].to_vec::<u32>(),
        (0..10).map(|i| i * 7).collect::<Vec<_>>()
    );
}
