//! metal-matmul on an M1 Max: wall time of a command buffer with one product of square matrices, the second one transposed; many
//! variants of tiles and unrolling.
//!
//! The sections of the publisher's table are states of the same files: each row is taken from the commit that made it.

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
    section: String,
    variant: String,
    shape: Shape,
    tg: [u32; 3],
    params: Option<Params>,
    time_us: f64,
}

#[derive(Clone, Copy, Deserialize)]
struct Shape {
    #[serde(rename = "N")]
    n: u32,
}

#[derive(Clone, Copy, Default, Deserialize)]
struct Params {
    unroll: Option<u32>,
    #[serde(rename = "BLOCK_K")]
    block_k: Option<u32>,
    #[serde(rename = "BLOCK_N")]
    block_n: Option<u32>,
}

/// What a row ran.
struct Job {
    family: &'static str,
    commit: &'static str,
    file: &'static str,
    function: String,
    replace: Option<(&'static str, &'static str)>,
    threadgroup_bytes: u32,
    /// Rows and columns of the result that a thread computes.
    tile: u32,
}

/// All threadgroup memory that Metal gives.
const MOST_BYTES: u32 = 32_768;

pub(super) fn read(file: &File) -> Cases {
    let mut all = Cases::default();
    for row in &file.records {
        let id = format!("{}/{}", row.variant, row.shape.n);
        let excluded = match row.shape.n {
            ..1024 => Some("n < 1024: submission weighs too much"),
            8192.. => Some("n > 4096: seconds of the same work, and heat"),
            _ if row.time_us < 2000.0 => Some("< 2 ms: submission weighs too much"),
            _ => None,
        };
        match (excluded, job(row)) {
            (Some(reason), _) => all.exclude(Set::Crynux, &id, reason),
            (None, Some(job)) => all.cases.push(case(&id, row, job)),
            (None, None) => {
                let reason = "the same as another row, or of a source that was never committed";
                all.exclude(Set::Crynux, &id, reason);
            }
        }
    }
    all
}

fn job(row: &Row) -> Option<Job> {
    let params = row.params.unwrap_or_default();
    let threads = row.tg[0] * row.tg[1];
    match (row.section.as_str(), row.variant.as_str()) {
        ("Naive", _) => Some(Job {
            family: "naive",
            commit: "8bbdea4",
            file: "0_naive.metal",
            function: "naive".to_owned(),
            replace: None,
            threadgroup_bytes: 0,
            tile: 1,
        }),
        // The row of 1x1 repeats the one without threadgroup memory.
        ("Threadgroup memory", _) if threads > 1 => Some(shared_memory(
            row.variant.contains("== 32768"),
            threads,
            params.unroll,
        )),
        ("Impl", _) => block_tiling("8144a4e", row.tg[0], params.block_k?, params.block_n?),
        ("Optimized code", "Optimized code: merge duplicated compute") => {
            block_tiling("a9df163", row.tg[0], 4, 4)
        }
        ("Optimized code", "Optimized code: read cache from registry") => {
            block_tiling("110110c", row.tg[0], 4, 4)
        }
        ("Optimized code", "Optimized code: unroll 4 on compute loop") => {
            block_tiling("599c320", row.tg[0], 4, 4)
        }
        ("Stats", "Stats: float4x4") => Some(Job {
            file: "3_float4x4.metal",
            function: "float4x4_kernel".to_owned(),
            ..block_tiling("8bbdea4", row.tg[0], 4, 4)?
        }),
        _ => None,
    }
}

fn shared_memory(all: bool, threads: u32, unroll: Option<u32>) -> Job {
    Job {
        family: "shared_mem",
        // The later file unrolls by a template argument, which the host code names.
        commit: if unroll.is_some() {
            "b8ae75c"
        } else {
            "3b34404"
        },
        file: "1_shared_mem.metal",
        function: match unroll {
            Some(2) => "shared_mem_4".to_owned(),
            Some(turns) => format!("shared_mem_{turns}"),
            None => "shared_mem".to_owned(),
        },
        replace: (unroll == Some(2)).then_some(("shared_mem<4>", "shared_mem<2>")),
        threadgroup_bytes: if all { MOST_BYTES } else { 8 * threads },
        tile: 1,
    }
}

fn block_tiling(commit: &'static str, width: u32, k: u32, n: u32) -> Option<Job> {
    let threadgroup_bytes = 8 * width * n * k;
    // The kernel is instantiated for no more.
    (threadgroup_bytes <= MOST_BYTES).then(|| Job {
        family: "block_tiling",
        commit,
        file: "2_block_tiling.metal",
        function: format!("block_tiling_{k}_{n}"),
        replace: None,
        threadgroup_bytes,
        tile: n,
    })
}

fn case(id: &str, row: &Row, job: Job) -> Case {
    let n = row.shape.n;
    let matrix = |contents| Buffer {
        bytes: 4 * u64::from(n) * u64::from(n),
        contents,
    };
    let params: Vec<u8> = [n, n, n].into_iter().flat_map(u32::to_le_bytes).collect();
    let threadgroup_memory = match job.threadgroup_bytes {
        0 => Vec::new(),
        bytes => vec![(0, bytes)],
    };
    Case {
        id: format!("{}/{id}", Set::Crynux),
        set: Set::Crynux,
        group: format!("n={n}"),
        family: job.family.to_owned(),
        source: Source::File {
            path: format!("metal-matmul@{}/metal/{}", job.commit, job.file),
            replace: job.replace,
        },
        measured_us: row.time_us - SUBMISSION_US,
        work: Some(super::product_work(n, n, n)),
        buffers: vec![
            matrix(uniform(-1.0, 1.0)),
            matrix(uniform(-1.0, 1.0)),
            matrix(ZEROS),
        ],
        passes: vec![Pass {
            function: job.function,
            grid: [n / job.tile, n / job.tile, 1],
            threadgroup: row.tg,
            threadgroup_memory,
            arguments: vec![
                (0, Argument::Bytes(params)),
                (1, Argument::Buffer(0)),
                (2, Argument::Buffer(1)),
                (3, Argument::Buffer(2)),
            ],
        }],
        repeat: 1,
        recorded_threadgroup_bytes: None,
    }
}
