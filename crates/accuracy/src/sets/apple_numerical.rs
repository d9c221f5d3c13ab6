//! AppleNumericalComputing on an M1: wall time of a command buffer; memcpy, saxpy, dot
//! products and prefix sums in variants of one or several passes.

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
    op: String,
    kernel: String,
    shape: Shape,
    threadgroups_reported: u32,
    wall_ms: f64,
}

#[derive(Deserialize)]
struct Shape {
    rows: u32,
}

const ROOT: &str = "AppleNumericalComputing@053f06c";
/// Threads of every threadgroup at the sizes that are used.
const THREADS: u32 = 1024;

pub(super) fn read(file: &File) -> Cases {
    let mut all = Cases::default();
    for row in &file.records {
        let groups = row.threadgroups_reported;
        let id = format!("{}/{}/{}/{groups}", row.op, row.kernel, row.shape.rows);
        if row.wall_ms <= 2.0 {
            let reason = "≤ 2 ms: submission weighs too much";
            all.exclude(Set::AppleNumerical, &id, reason);
        } else if row.kernel.starts_with("BLIT") {
            let reason = "a blit: Apple's code, no source";
            all.exclude(Set::AppleNumerical, &id, reason);
        } else if let Some(job) = job(row) {
            all.cases.push(case(&id, row, job));
        } else {
            let reason = "a kernel this program does not know";
            all.exclude(Set::AppleNumerical, &id, reason);
        }
    }
    all
}

/// What a row runs.
struct Job {
    path: &'static str,
    /// Sizes in words.
    words: Vec<u32>,
    passes: Vec<Pass>,
}

fn job(row: &Row) -> Option<Job> {
    let n = row.shape.rows;
    let groups = row.threadgroups_reported;
    match row.op.as_str() {
        "memcpy" => Some(Job {
            path: "01_memcpy/metal/memcpy.metal",
            words: vec![n, n],
            passes: vec![pass("my_memcpy", groups, &[0, 1], &[n])],
        }),
        "saxpy" => Some(saxpy(n, groups)),
        "dot" => dot(&row.kernel, n, groups),
        "prefix_sum" => prefix_sum(&row.kernel, n, groups),
        _ => None,
    }
}

/// A pass whose first arguments are buffers and whose next one holds `constants`.
fn pass(function: &str, groups: u32, buffers: &[usize], constants: &[u32]) -> Pass {
    let mut arguments: Vec<(u32, Argument)> = buffers
        .iter()
        .enumerate()
        .map(|(index, buffer)| (index as u32, Argument::Buffer(*buffer)))
        .collect();
    let bytes = constants.iter().flat_map(|word| word.to_le_bytes());
    arguments.push((arguments.len() as u32, Argument::Bytes(bytes.collect())));
    Pass {
        function: function.to_owned(),
        grid: [groups * THREADS, 1, 1],
        threadgroup: [THREADS, 1, 1],
        threadgroup_memory: Vec::new(),
        arguments,
    }
}

fn saxpy(n: u32, groups: u32) -> Job {
    let mut pass = pass("saxpy", groups, &[0, 1], &[]);
    pass.arguments[2] = (2, Argument::f32(0.5));
    pass.arguments.push((3, Argument::u32(n)));
    Job {
        path: "02_saxpy/metal/saxpy.metal",
        words: vec![n, n],
        passes: vec![pass],
    }
}

fn dot(variant: &str, n: u32, groups: u32) -> Option<Job> {
    // Buffers: X, Y, one partial sum per threadgroup, the result, partial sums per thread,
    // a counter.
    let words = vec![n, n, groups, 1, n, 1];
    let shared = |mut pass: Pass| {
        pass.threadgroup_memory = vec![(0, 4 * THREADS)];
        pass
    };
    let two = |first: &str, second: &str| {
        vec![
            shared(pass(first, groups, &[0, 1, 2], &[n])),
            shared(pass(second, 1, &[2, 3], &[groups])),
        ]
    };
    let passes = match variant {
        "TWO_PASS_DEVICE_MEMORY" => {
            let mut first = pass("dot_type1_pass1", groups, &[0, 1, 2], &[n]);
            first.arguments.push((4, Argument::Buffer(4)));
            let mut second = pass("dot_type1_pass2", 1, &[2, 3], &[groups]);
            second.arguments.push((3, Argument::Buffer(4)));
            vec![first, second]
        }
        "TWO_PASS_SHARED_MEMORY" => two(
            "dot_type2_threadgroup_memory_pass1",
            "dot_type2_threadgroup_memory_pass2",
        ),
        "TWO_PASS_SIMD_SHUFFLE" => two(
            "dot_type3_pass1_simd_shuffle",
            "dot_type3_pass2_simd_shuffle",
        ),
        "TWO_PASS_SIMD_SUM" => two("dot_type4_pass1_simd_add", "dot_type4_pass2_simd_add"),
        "ONE_PASS_ATOMIC_SIMD_SHUFFLE" => vec![shared(pass(
            "dot_type5_atomic_simd_shuffle",
            groups,
            &[0, 1, 3],
            &[n],
        ))],
        "ONE_PASS_ATOMIC_SIMD_SUM" => vec![shared(pass(
            "dot_type6_atomic_simd_add",
            groups,
            &[0, 1, 3],
            &[n],
        ))],
        "ONE_PASS_THREAD_COUNTER" => vec![pass(
            "dot_type7_atomic_thread_group_counter",
            groups,
            &[0, 1, 2, 3, 5],
            &[n],
        )],
        _ => return None,
    };
    Some(Job {
        path: "03_dot/metal/dot.metal",
        words,
        passes,
    })
}

fn prefix_sum(variant: &str, n: u32, groups: u32) -> Option<Job> {
    if variant == "MERRILL_AND_GRIMSHAW" {
        return Some(merrill_grimshaw(n, groups));
    }
    // Three layers, as for every size between 1024² and 1024³.
    let (second, third) = (n.div_ceil(1024), n.div_ceil(1 << 20));
    let words = vec![n, n, second, second, third, third, third];
    let top = |mut pass: Pass| {
        let threads = third.next_multiple_of(32);
        (pass.grid, pass.threadgroup) = ([threads, 1, 1], [threads, 1, 1]);
        pass
    };
    let scan = "scan_threadgroupwise_intermediate_32_X_int";
    let passes = match variant {
        "SCAN_THEN_FAN" => vec![
            pass(scan, second, &[0, 1, 2], &[n]),
            pass(scan, third, &[2, 3, 4], &[second]),
            top(pass(scan, 1, &[4, 5, 6], &[third])),
            pass("add_base_32_X_int", third, &[3, 5], &[second]),
            pass("add_base_32_X_int", second, &[1, 3], &[n]),
        ],
        "REDUCE_THEN_SCAN" => {
            let (sum, base) = (
                "sum_threadgroup_32_X_int",
                "scan_with_base_threadgroupwise_32_X_int",
            );
            vec![
                pass(sum, second, &[0, 2], &[n]),
                pass(sum, third, &[2, 4], &[second]),
                top(pass(scan, 1, &[4, 5, 6], &[third])),
                pass(base, third, &[2, 3, 5], &[second]),
                pass(base, second, &[0, 1, 3], &[n]),
            ]
        }
        _ => return None,
    };
    Some(Job {
        path: "04_prefix_sum/metal/prefix_sum_recursive.metal",
        words,
        passes,
    })
}

fn merrill_grimshaw(n: u32, partial_sums: u32) -> Job {
    let each = n.div_ceil(partial_sums).next_multiple_of(THREADS);
    let sums = n.div_ceil(each);
    let mut middle = pass("mg_scan_threadgroupwise_32_X_int", 1, &[2], &[sums, 0]);
    let threads = sums.next_multiple_of(32);
    (middle.grid, middle.threadgroup) = ([threads, 1, 1], [threads, 1, 1]);
    Job {
        path: "04_prefix_sum/metal/prefix_sum_merrill_grimshaw.metal",
        words: vec![n, n, sums],
        passes: vec![
            pass("mg_get_partial_sums_32_X_int", sums, &[0, 2], &[n, each]),
            middle,
            pass("mg_scan_final_32_X_int", sums, &[0, 1, 2], &[n, each]),
        ],
    }
}

fn case(id: &str, row: &Row, job: Job) -> Case {
    let buffer = |(index, words): (usize, u32)| Buffer {
        bytes: 4 * u64::from(words),
        contents: if index < 2 { uniform(-1.0, 1.0) } else { ZEROS },
    };
    Case {
        id: format!("{}/{id}", Set::AppleNumerical),
        set: Set::AppleNumerical,
        group: format!("{}/{}", row.op, row.shape.rows),
        family: row.op.clone(),
        source: Source::File {
            path: format!("{ROOT}/{}", job.path),
            replace: None,
        },
        measured_us: row.wall_ms * 1000.0 - SUBMISSION_US,
        work: None,
        buffers: job.words.into_iter().enumerate().map(buffer).collect(),
        passes: job.passes,
        repeat: 1,
        recorded_threadgroup_bytes: None,
    }
}
