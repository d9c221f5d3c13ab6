//! Example kernels whose threads work together: barriers, collectives, atomics.

use crate::common::{
    brains, close, example, f32s, halves, random, random_bits, read_halves, run, u32s,
};
use assay_exec::{Buffer, Grid};

fn softmax_rows(x: &[f64], n: usize) -> Vec<f64> {
    let mut result = Vec::new();
    for row in x.chunks(n) {
        let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = row.iter().map(|v| (v - top).exp()).sum();
        result.extend(row.iter().map(|v| (v - top).exp() / sum));
    }
    result
}

fn exact(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| f64::from(value)).collect()
}

fn rows(rows: u32, threads: u32) -> Grid {
    Grid::groups([rows, 1, 1], [threads, 1, 1]).expect("small")
}

#[test]
fn softmax_over_trees_in_threadgroup_memory() {
    let Some(program) = example("softmax.metal", "softmax") else {
        return;
    };
    let (count, n) = (5, 700);
    let x = random(1, count * n);
    let result = run(
        &program,
        rows(count as u32, 256),
        vec![Buffer::zeroed(count * n * 4), f32s(&x), u32s(&[n as u32])],
    );
    close(
        &result[0].to_vec::<f32>(),
        &softmax_rows(&exact(&x), n),
        1e-6,
    );
}

#[test]
fn softmax_of_half_and_brain_floats() {
    let (count, n) = (3, 100);
    let x = random(1, count * n);
    for (kernel, (input, x), digits) in [
        ("softmax_f16", halves(&x), 1e-3),
        ("softmax_bf16", brains(&x), 1e-2),
    ] {
        let Some(program) = example("softmax_typed.metal", kernel) else {
            return;
        };
        let result = run(
            &program,
            rows(count as u32, 32),
            vec![Buffer::zeroed(count * n * 2), input, u32s(&[n as u32])],
        );
        let got: Vec<f32> = match kernel {
            "softmax_f16" => read_halves(&result[0]),
            _ => result[0]
                .to_vec::<u16>()
                .into_iter()
                .map(assay_num::bf16_to_f32)
                .collect(),
        };
        close(&got, &softmax_rows(&x, n), digits);
    }
}

#[test]
fn layer_norm() {
    let Some(program) = example("layernorm.metal", "layernorm") else {
        return;
    };
    let (count, n) = (3, 500);
    let (x, g, b) = (random(1, count * n), random(2, n), random(3, n));
    let buffers = vec![
        Buffer::zeroed(count * n * 4),
        f32s(&x),
        f32s(&g),
        f32s(&b),
        u32s(&[n as u32]),
        f32s(&[1e-5]),
    ];
    let result = run(&program, rows(count as u32, 256), buffers);
    let mut expected = Vec::new();
    for row in exact(&x).chunks(n) {
        let mean = row.iter().sum::<f64>() / n as f64;
        let variance = row.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n as f64;
        let scale = 1.0 / (variance + 1e-5).sqrt();
        expected.extend(
            row.iter()
                .enumerate()
                .map(|(i, v)| (v - mean) * scale * f64::from(g[i]) + f64::from(b[i])),
        );
    }
    close(&result[0].to_vec::<f32>(), &expected, 1e-5);
}

#[test]
fn scan_of_a_block() {
    let Some(program) = example("scan_block.metal", "scan_block") else {
        return;
    };
    let n = 700;
    let x = random(1, n);
    let result = run(
        &program,
        Grid::line(768, 256),
        vec![Buffer::zeroed(n * 4), f32s(&x), u32s(&[n as u32])],
    );
    let mut expected = Vec::new();
    for block in exact(&x).chunks(256) {
        let mut sum = 0.0;
        expected.extend(block.iter().map(|v| {
            sum += v;
            sum
        }));
    }
    close(&result[0].to_vec::<f32>(), &expected, 1e-5);
}

#[test]
fn sums_and_largest_elements() {
    let Some(program) = example("reduce_sum.metal", "reduce_sum") else {
        return;
    };
    let n = 10_000;
    let x = random(1, n);
    let result = run(
        &program,
        Grid::line(512, 128),
        vec![Buffer::zeroed(16), f32s(&x), u32s(&[n as u32])],
    );
    let total: f32 = result[0].to_vec::<f32>().iter().sum();
    close(&[total], &[exact(&x).iter().sum()], 1e-4);

    let Some(program) = example("argmax.metal", "argmax") else {
        return;
    };
    let result = run(
        &program,
        rows(1, 128),
        vec![Buffer::zeroed(4), f32s(&x), u32s(&[n as u32])],
    );
    let best = (0..n).fold(0, |best, i| if x[i] > x[best] { i } else { best });
    assert_eq!(result[0].to_vec::<u32>(), [best as u32]);
}

#[test]
fn top_k_in_order() {
    let Some(program) = example("top_k.metal", "top_k") else {
        return;
    };
    let (count, n, k) = (2, 300, 7);
    let x = random(4, count * n);
    let buffers = vec![
        Buffer::zeroed(count * k * 4),
        Buffer::zeroed(count * k * 4),
        f32s(&x),
        u32s(&[n as u32]),
        u32s(&[k as u32]),
    ];
    let result = run(&program, rows(count as u32, 32), buffers);
    let mut expected = Vec::new();
    for row in x.chunks(n) {
        let mut order: Vec<u32> = (0..n as u32).collect();
        order.sort_by(|&a, &b| row[b as usize].total_cmp(&row[a as usize]));
        expected.extend_from_slice(&order[..k]);
    }
    assert_eq!(result[1].to_vec::<u32>(), expected);
}

#[test]
fn histograms_with_atomics() {
    let bytes: Vec<u8> = random_bits(3, 5000)
        .iter()
        .map(|&bits| bits as u8)
        .collect();
    let mut expected = [0u32; 256];
    bytes.iter().for_each(|&byte| expected[byte as usize] += 1);
    let Some(program) = example("histogram_local.metal", "histogram_local") else {
        return;
    };
    let result = run(
        &program,
        Grid::line(1024, 256),
        vec![
            Buffer::zeroed(1024),
            Buffer::from_bytes(&bytes),
            u32s(&[5000]),
        ],
    );
    assert_eq!(result[0].to_vec::<u32>(), expected);

    let Some(program) = example("histogram_global.metal", "histogram_global") else {
        return;
    };
    let words: Vec<u32> = bytes.iter().map(|&byte| u32::from(byte) << 24).collect();
    let result = run(
        &program,
        Grid::line(5056, 64),
        vec![Buffer::zeroed(1024), u32s(&words), u32s(&[5000])],
    );
    assert_eq!(result[0].to_vec::<u32>(), expected);
}

#[test]
fn float_atomics_run_in_order() {
    let Some(program) = example("atomic_float_sum.metal", "atomic_float_sum") else {
        return;
    };
    assert!(program.runs_in_order());
    let x = random(1, 3000);
    let result = run(
        &program,
        Grid::line(3008, 64),
        vec![Buffer::zeroed(4), f32s(&x), u32s(&[3000])],
    );
    close(&result[0].to_vec::<f32>(), &[exact(&x).iter().sum()], 1e-4);
}

#[test]
fn sorting_networks() {
    let Some(program) = example("bitonic_sort.metal", "bitonic_sort") else {
        return;
    };
    let keys = random_bits(7, 1024);
    let result = run(&program, rows(2, 256), vec![u32s(&keys)]);
    let mut expected = keys;
    expected.chunks_mut(512).for_each(<[u32]>::sort_unstable);
    assert_eq!(result[0].to_vec::<u32>(), expected);
}

#[test]
fn attention_of_a_row() {
    let Some(program) = example("attention_row.metal", "attention_row") else {
        return;
    };
    let (count, n) = (3, 50);
    let (q, k, v) = (random(1, count * 32), random(2, n * 32), random(3, n * 32));
    let buffers = vec![
        Buffer::zeroed(count * 128),
        f32s(&q),
        f32s(&k),
        f32s(&v),
        u32s(&[n as u32]),
        f32s(&[0.25]),
    ];
    let result = run(&program, rows(count as u32, 32), buffers);
    let mut expected = Vec::new();
    for row in exact(&q).chunks(32) {
        let score = |j: usize| {
            0.25 * (0..32)
                .map(|d| row[d] * f64::from(k[j * 32 + d]))
                .sum::<f64>()
        };
        let weights = softmax_rows(&(0..n).map(score).collect::<Vec<_>>(), n);
        expected.extend((0..32).map(|d| {
            (0..n)
                .map(|j| weights[j] * f64::from(v[j * 32 + d]))
                .sum::<f64>()
        }));
    }
    close(&result[0].to_vec::<f32>(), &expected, 1e-5);
}

#[test]
fn integer_minimum_and_maximum() {
    let Some(program) = example("reduce_minmax_int.metal", "reduce_minmax_int") else {
        return;
    };
    let bits = random_bits(5, 96);
    let result = run(
        &program,
        Grid::line(96, 32),
        vec![Buffer::zeroed(24), u32s(&bits)],
    );
    let signed: Vec<i32> = bits.iter().map(|&b| b as i32).collect();
    let expected: Vec<i32> = signed
        .chunks(32)
        .flat_map(|c| {
            [
                c.iter().copied().min().unwrap_or(0),
                c.iter().copied().max().unwrap_or(0),
            ]
        })
        .collect();
    assert_eq!(result[0].to_vec::<i32>(), expected);
}

#[test]
fn results_do_not_depend_on_the_number_of_workers() {
    let Some(program) = example("softmax.metal", "softmax") else {
        return;
    };
    let (count, n) = (16, 300);
    let x = random(9, count * n);
    let results: Vec<Vec<u8>> = [1, 2, 5]
        .into_iter()
        .map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .expect("a pool");
            let buffers = vec![Buffer::zeroed(count * n * 4), f32s(&x), u32s(&[n as u32])];
            pool.install(|| run(&program, rows(count as u32, 256), buffers))[0]
                .bytes()
                .to_vec()
        })
        .collect();
    assert!(results.iter().all(|result| *result == results[0]));
}

#[test]
fn prefix_sums_of_a_simdgroup() {
    let Some(program) = example("scan_subgroup.metal", "scan_subgroup") else {
        return;
    };
    let (x, fx) = (random_bits(1, 96), random(2, 96));
    let buffers = vec![
        Buffer::zeroed(384),
        u32s(&x),
        Buffer::zeroed(384),
        f32s(&fx),
    ];
    let result = run(&program, Grid::line(96, 32), buffers);
    let before = |i: usize| {
        x[i / 32 * 32..i]
            .iter()
            .fold(0u32, |sum, &v| sum.wrapping_add(v))
    };
    assert_eq!(
        result[0].to_vec::<u32>(),
        (0..96).map(before).collect::<Vec<_>>()
    );
    let up_to = |i: usize| {
        fx[i / 32 * 32..=i]
            .iter()
            .map(|&v| f64::from(v))
            .sum::<f64>()
    };
    close(
        &result[2].to_vec::<f32>(),
        &(0..96).map(up_to).collect::<Vec<_>>(),
        1e-5,
    );
}

#[test]
fn every_way_to_read_another_lane() {
    let Some(program) = example("subgroup_shuffle.metal", "subgroup_shuffle") else {
        return;
    };
    let x = random(1, 64);
    let result = run(
        &program,
        Grid::line(64, 32),
        vec![Buffer::zeroed(256), f32s(&x)],
    );
    let mut expected = Vec::new();
    for group in exact(&x).chunks(32) {
        let mut v = group.to_vec();
        let mut add = |source: &dyn Fn(usize) -> usize| {
            v = (0..32).map(|lane| v[lane] + v[source(lane)]).collect();
        };
        add(&|lane| lane ^ 16);
        add(&|lane| lane ^ 8);
        add(&|lane| if lane + 4 < 32 { lane + 4 } else { lane });
        add(&|lane| if lane >= 2 { lane - 2 } else { lane });
        add(&|lane| lane ^ 5);
        add(&|_| 0);
        expected.extend(v);
    }
    close(&result[0].to_vec::<f32>(), &expected, 1e-5);
}

#[test]
fn rms_norm_and_softmax_by_simdgroup() {
    let Some(program) = example("rmsnorm_half.metal", "rmsnorm_half") else {
        return;
    };
    let (count, n) = (3, 90);
    let ((input, x), (gain, g)) = (halves(&random(1, count * n)), halves(&random(2, n)));
    let buffers = vec![
        Buffer::zeroed(count * n * 2),
        input,
        gain,
        u32s(&[n as u32]),
        f32s(&[1e-5]),
    ];
    let result = run(&program, rows(count as u32, 32), buffers);
    let mut expected = Vec::new();
    for row in x.chunks(n) {
        let scale = 1.0 / (row.iter().map(|v| v * v).sum::<f64>() / n as f64 + 1e-5).sqrt();
        expected.extend(row.iter().zip(&g).map(|(v, g)| v * scale * g));
    }
    close(&read_halves(&result[0]), &expected, 1e-3);

    let Some(program) = example("softmax_subgroup.metal", "softmax_subgroup") else {
        return;
    };
    let x = random(3, count * n);
    let result = run(
        &program,
        rows(count as u32, 32),
        vec![Buffer::zeroed(count * n * 4), f32s(&x), u32s(&[n as u32])],
    );
    close(
        &result[0].to_vec::<f32>(),
        &softmax_rows(&exact(&x), n),
        1e-6,
    );
}
