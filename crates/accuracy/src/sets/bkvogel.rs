//! metal_performance_testing on an M1 Max: wall time of a command buffer with one
//! product of matrices.

use super::SUBMISSION_US;
use crate::case::{Argument, Buffer, Case, Cases, Pass, Set, Source};
use crate::contents::{ZEROS, uniform};
use serde::Deserialize;

#[derive(Deserialize)]
pub(super) struct File {
    records: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    kernel: String,
    shape: Shape,
    source_file: String,
    tg: [u32; 3],
    time_us: f64,
}

#[derive(Deserialize)]
#[serde(rename_all = "UPPERCASE")]
struct Shape {
    m: u32,
    n: u32,
    k: u32,
}

pub(super) fn read(file: &File) -> Cases {
    let mut all = Cases::default();
    for row in &file.records {
        let Shape { m, n, k } = row.shape;
        let id = format!("{}/{m}x{n}x{k}/{}", row.kernel, row.tg[0]);
        if m.min(n).min(k) < 1024 {
            let reason = "n < 1024: submission weighs too much";
            all.exclude(Set::Bkvogel, &id, reason);
        } else if m == 20_000 {
            let reason = "20000³: minutes of heat and 4.8 GB of matrices";
            all.exclude(Set::Bkvogel, &id, reason);
        } else {
            all.cases.push(case(&id, row));
        }
    }
    all
}

/// Rows and columns of the result that one thread computes.
fn tile(kernel: &str) -> (u32, u32) {
    match kernel {
        "mat_mul_opt1" => (4, 4),
        "mat_mul_opt2" => (8, 4),
        _ => (1, 1),
    }
}

fn case(id: &str, row: &Row) -> Case {
    let Shape { m, n, k } = row.shape;
    let (rows, columns) = tile(&row.kernel);
    let buffer = |rows: u32, columns: u32, contents| Buffer {
        bytes: 4 * u64::from(rows) * u64::from(columns),
        contents,
    };
    let params: Vec<u8> = [m, n, k].into_iter().flat_map(u32::to_le_bytes).collect();
    // Whole threadgroups are dispatched.
    let threads = |work: u32, each: u32, group: u32| work.div_ceil(each).next_multiple_of(group);
    // The author sets the block size of this kernel in its source.
    let replace = (row.kernel == "mat_mul_optimized_nv" && row.tg[0] == 32)
        .then_some(("BLOCK_SIZE = 8", "BLOCK_SIZE = 32"));
    Case {
        id: format!("{}/{id}", Set::Bkvogel),
        set: Set::Bkvogel,
        group: format!("{m}x{n}x{k}"),
        family: row.kernel.clone(),
        source: Source::File {
            path: format!("metal_performance_testing@b467b4b/{}", row.source_file),
            replace,
        },
        measured_us: row.time_us - SUBMISSION_US,
        work: Some(super::product_work(m, n, k)),
        buffers: vec![
            buffer(m, k, uniform(-1.0, 1.0)),
            buffer(k, n, uniform(-1.0, 1.0)),
            buffer(m, n, ZEROS),
        ],
        passes: vec![Pass {
            function: row.kernel.clone(),
            grid: [
                threads(n, columns, row.tg[0]),
                threads(m, rows, row.tg[1]),
                1,
            ],
            threadgroup: row.tg,
            threadgroup_memory: Vec::new(),
            arguments: vec![
                (0, Argument::Buffer(0)),
                (1, Argument::Buffer(1)),
                (2, Argument::Buffer(2)),
                (3, Argument::Bytes(params)),
            ],
        }],
        repeat: 1,
        recorded_threadgroup_bytes: None,
    }
}
