//! Matrix products of the examples against double precision.

use crate::common::{brains, close, example, f32s, halves, random, run, u32s};
use assay_exec::{Buffer, Grid};

fn product(a: &[f64], b: &[f64], [m, n, k]: [usize; 3]) -> Vec<f64> {
    let element =
        |row: usize, column: usize| (0..k).map(|i| a[row * k + i] * b[i * n + column]).sum();
    (0..m * n)
        .map(|index| element(index / n, index % n))
        .collect()
}

fn exact(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| f64::from(value)).collect()
}

#[test]
fn naive_with_ragged_edges() {
    let Some(program) = example("matmul_naive.metal", "matmul_naive") else {
        return;
    };
    let (m, n, k) = (19, 37, 23);
    let (a, b) = (random(1, m * k), random(2, k * n));
    let size = |n: usize| u32s(&[n as u32]);
    let buffers = vec![
        Buffer::zeroed(m * n * 4),
        f32s(&a),
        f32s(&b),
        size(m),
        size(n),
        size(k),
    ];
    let grid = Grid::threads([n as u32, m as u32, 1], [16, 16, 1]);
    let result = run(&program, grid, buffers);
    close(
        &result[0].to_vec::<f32>(),
        &product(&exact(&a), &exact(&b), [m, n, k]),
        1e-5,
    );
}

#[test]
fn simdgroup_matrices_of_three_types() {
    let (m, n, k) = (32, 48, 24);
    let (a, b) = (random(1, m * k), random(2, k * n));
    for (kernel, convert) in [
        ("matmul_simdgroup_f32", None),
        (
            "matmul_simdgroup_f16",
            Some(halves as fn(&[f32]) -> (Buffer, Vec<f64>)),
        ),
        (
            "matmul_simdgroup_bf16",
            Some(brains as fn(&[f32]) -> (Buffer, Vec<f64>)),
        ),
    ] {
        let Some(program) = example("matmul_simdgroup.metal", kernel) else {
            return;
        };
        let (a_bytes, a) = convert.map_or_else(|| (f32s(&a), exact(&a)), |f| f(&a));
        let (b_bytes, b) = convert.map_or_else(|| (f32s(&b), exact(&b)), |f| f(&b));
        let buffers = vec![
            Buffer::zeroed(m * n * 4),
            a_bytes,
            b_bytes,
            u32s(&[n as u32]),
            u32s(&[k as u32]),
        ];
        let grid = Grid::groups([n as u32 / 16, m as u32 / 16, 1], [32, 1, 1]).expect("small");
        let result = run(&program, grid, buffers);
        close(
            &result[0].to_vec::<f32>(),
            &product(&a, &b, [m, n, k]),
            1e-5,
        );
    }
}

#[test]
fn tiles_in_threadgroup_memory_and_blocks_in_registers() {
    let (m, n, k) = (64, 128, 32);
    let (a, b) = (random(1, m * k), random(2, k * n));
    let expected = product(&exact(&a), &exact(&b), [m, n, k]);
    let size = |n: usize| u32s(&[n as u32]);
    let start = || vec![Buffer::zeroed(m * n * 4), f32s(&a), f32s(&b)];
    let group = |tile: usize| {
        Grid::groups([(n / tile) as u32, (m / tile) as u32, 1], [16, 16, 1]).expect("small")
    };

    let Some(program) = example("matmul_tiled.metal", "matmul_tiled") else {
        return;
    };
    assert_eq!(
        program.static_threadgroup_memory(),
        16 * 16 * 4 + 16 * 17 * 4
    );
    let buffers = [start(), vec![size(m), size(n), size(k)]].concat();
    close(
        &run(&program, group(16), buffers)[0].to_vec::<f32>(),
        &expected,
        1e-5,
    );

    let Some(program) = example("matmul_reg4x4.metal", "matmul_reg4x4") else {
        return;
    };
    let buffers = [start(), vec![size(n), size(k)]].concat();
    close(
        &run(&program, group(64), buffers)[0].to_vec::<f32>(),
        &expected,
        1e-5,
    );
}
