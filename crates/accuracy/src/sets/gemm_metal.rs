//! gemm-metal on an M3: wall time of a command buffer with one product of square
//! matrices.

use super::SUBMISSION_US;
use crate::case::{Argument, Buffer, Case, Cases, Pass, Set, Source};
use crate::contents::{NORMAL, ZEROS};
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
    threadgroups: [u32; 3],
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
        let id = format!("{}/{}", row.kernel, row.shape.n);
        if row.shape.n < 2048 {
            let reason = "n < 2048: 0.1–0.3 ms of submission weigh too much";
            all.exclude(Set::GemmMetal, &id, reason);
        } else if row.shape.n > 4096 {
            let reason = "n > 4096: the fanless machine throttles";
            all.exclude(Set::GemmMetal, &id, reason);
        } else {
            all.cases.push(case(&id, row));
        }
    }
    all
}

/// Dynamic threadgroup memory by kernel, in bytes.
fn threadgroup_memory(kernel: &str) -> Vec<(u32, u32)> {
    match kernel {
        "sgemm_shared_mem_block" => vec![(0, 4096), (1, 4096)],
        "sgemm_1d_bt_64_64_8_8" | "sgemm_2d_bt_64_64_8_4_4" => vec![(0, 2048), (1, 2048)],
        _ => Vec::new(),
    }
}

fn case(id: &str, row: &Row) -> Case {
    let Shape { m, n, k } = row.shape;
    let buffer = |rows: u32, columns: u32, contents| Buffer {
        bytes: 4 * u64::from(rows) * u64::from(columns),
        contents,
    };
    // The fixture writes `path@commit`; checkouts are named `repository@commit`.
    let (path, commit) = row
        .source_file
        .split_once('@')
        .unwrap_or((&row.source_file, ""));
    let axis = |a: usize| row.threadgroups[a] * row.tg[a];
    Case {
        id: format!("{}/{id}", Set::GemmMetal),
        set: Set::GemmMetal,
        group: format!("n={n}"),
        family: row.kernel.clone(),
        source: Source::File {
            path: format!("gemm-metal@{commit}/{path}"),
            replace: None,
        },
        measured_us: row.time_us - SUBMISSION_US,
        work: Some(super::product_work(m, n, k)),
        buffers: vec![
            buffer(m, k, NORMAL),
            buffer(k, n, NORMAL),
            buffer(m, n, ZEROS),
        ],
        passes: vec![Pass {
            function: row.kernel.clone(),
            grid: [axis(0), axis(1), axis(2)],
            threadgroup: row.tg,
            threadgroup_memory: threadgroup_memory(&row.kernel),
            arguments: vec![
                (0, Argument::Buffer(0)),
                (1, Argument::Buffer(1)),
                (2, Argument::Buffer(2)),
                (3, Argument::u32(m)),
                (4, Argument::u32(n)),
                (5, Argument::u32(k)),
                (6, Argument::f32(1.0)),
                (7, Argument::f32(0.0)),
            ],
        }],
        repeat: 1,
        recorded_threadgroup_bytes: None,
    }
}
