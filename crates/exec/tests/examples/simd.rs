//! Kernels give the same bytes at every SIMD level.

use crate::common::{compiler, f32s, program_with, random, random_bits, run_unchecked, u32s};
use assay_exec::{Buffer, Grid, Options, SimdLevel};

/// An example with its grid and buffers.
struct Case {
    file: &'static str,
    kernel: &'static str,
    grid: Grid,
    buffers: Vec<Buffer>,
}

fn cases() -> Vec<Case> {
    let floats = |seed, len| f32s(&random(seed, len));
    let word = |value| u32s(&[value]);
    let product = |n: u32| {
        let square = |seed| floats(seed, (n * n) as usize);
        vec![square(1), square(2), square(3), word(n), word(n), word(n)]
    };
    let case = |file, kernel, grid, buffers| Case {
        file,
        kernel,
        grid,
        buffers,
    };
    vec![
        case(
            "relu.metal",
            "relu",
            Grid::line(1000, 96),
            vec![floats(1, 1000), floats(2, 1000)],
        ),
        case(
            "softmax.metal",
            "softmax",
            Grid::line(4 * 256, 256),
            vec![floats(1, 4000), floats(2, 4000), word(1000)],
        ),
        case(
            "layernorm.metal",
            "layernorm",
            Grid::line(3 * 128, 128),
            vec![
                floats(1, 2100),
                floats(2, 2100),
                floats(3, 700),
                floats(4, 700),
                word(700),
                f32s(&[0.001]),
            ],
        ),
        case(
            "matmul_tiled.metal",
            "matmul_tiled",
            Grid::threads([48, 48, 1], [16, 16, 1]),
            product(48),
        ),
        case(
            "matmul_naive.metal",
            "matmul_naive",
            Grid::threads([40, 40, 1], [8, 8, 1]),
            product(40),
        ),
        case(
            "matmul_simdgroup.metal",
            "matmul_simdgroup_f32",
            Grid::threads([64, 2, 1], [32, 1, 1]),
            product(32).drain(..5).collect(),
        ),
        case(
            "bitonic_sort.metal",
            "bitonic_sort",
            Grid::line(256, 256),
            vec![u32s(&random_bits(1, 512))],
        ),
        case(
            "mandelbrot.metal",
            "mandelbrot",
            Grid::threads([40, 24, 1], [8, 8, 1]),
            vec![
                u32s(&[0; 960]),
                f32s(&[-2.0]),
                f32s(&[-1.2]),
                f32s(&[0.07]),
                word(40),
                word(60),
            ],
        ),
    ]
}

#[test]
fn examples_give_the_same_bytes_at_every_simd_level() {
    if compiler().is_none() {
        return;
    }
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/kernels/");
    for case in cases() {
        let text = std::fs::read_to_string(format!("{folder}{}", case.file)).expect("an example");
        let mut expected: Option<Vec<Buffer>> = None;
        for simd in SimdLevel::available() {
            let options = Options {
                simd,
                ..Options::default()
            };
            let Some(program) = program_with(&text, case.file, case.kernel, &options) else {
                return;
            };
            let found = run_unchecked(&program, case.grid, &case.buffers);
            let expected = expected.get_or_insert_with(|| found.clone());
            for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
                let same = found.bytes() == expected.bytes();
                assert!(same, "{}: buffer {index} at {}", case.kernel, simd.name());
            }
        }
    }
}
