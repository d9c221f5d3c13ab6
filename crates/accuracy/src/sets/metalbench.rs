//! MetalBench on an M2: GPU time of one command buffer with one dispatch.

use crate::case::{Argument, Buffer, Case, Cases, Pass, Set, Source};
use crate::contents::{NORMAL, ZEROS};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
pub(super) struct File {
    kernels: BTreeMap<String, Row>,
}

#[derive(Deserialize)]
struct Row {
    function: String,
    grid: [u32; 3],
    threadgroup: [u32; 3],
    input_shapes: Vec<Vec<u64>>,
    output_shape: Vec<u64>,
    scalars: Vec<Scalar>,
    flops: f64,
    bytes: f64,
    best_time_ms: f64,
    iters: f64,
    tg_static_mem_bytes: u32,
    source_sha256: String,
}

#[derive(Deserialize)]
struct Scalar {
    binding: u32,
    dtype: String,
    value: f64,
}

/// The recorded time is 150 times that of the same convolution without the bias, from
/// a source that does nothing else: it is not the time of this source.
const NOT_OF_THIS_SOURCE: &str = "conv2d_relu_bias";

/// A record whose runs keep the GPU busy for less than this, all together, was taken before its
/// clock had risen.
const RAMP_MS: f64 = 1.0;

/// By how much records of few runs are slow, in the median, by the measurements' reference.
const RAMP: f64 = 1.39;

/// The time at full clock.
fn time_us(row: &Row) -> f64 {
    let measured = row.best_time_ms * 1000.0;
    if row.best_time_ms * row.iters < RAMP_MS {
        measured / RAMP
    } else {
        measured
    }
}

pub(super) fn read(file: &File) -> Cases {
    let mut all = Cases::default();
    for (name, row) in &file.kernels {
        if name == NOT_OF_THIS_SOURCE {
            let reason = "518 ms for what conv2d does in 3.5: not the time of this source";
            all.exclude(Set::MetalBench, name, reason);
            continue;
        }
        all.cases.push(case(name, row));
    }
    all
}

fn case(name: &str, row: &Row) -> Case {
    let bytes = |shape: &[u64]| 4 * shape.iter().product::<u64>();
    let mut buffers: Vec<Buffer> = row
        .input_shapes
        .iter()
        .map(|shape| Buffer {
            bytes: bytes(shape),
            contents: NORMAL,
        })
        .collect();
    buffers.push(Buffer {
        bytes: bytes(&row.output_shape),
        contents: ZEROS,
    });
    let mut arguments: Vec<(u32, Argument)> = (0..buffers.len())
        .map(|index| (index as u32, Argument::Buffer(index)))
        .collect();
    arguments.extend(row.scalars.iter().map(|scalar| {
        let value = match scalar.dtype.as_str() {
            "f32" => Argument::f32(scalar.value as f32),
            _ => Argument::u32(scalar.value as u32),
        };
        (scalar.binding, value)
    }));
    Case {
        id: format!("{}/{name}", Set::MetalBench),
        set: Set::MetalBench,
        group: name.to_owned(),
        family: family(row),
        source: Source::Session {
            name: name.to_owned(),
            sha256: row.source_sha256.clone(),
        },
        measured_us: time_us(row),
        work: Some((row.flops, row.bytes)),
        buffers,
        passes: vec![Pass {
            function: row.function.clone(),
            grid: row.grid,
            threadgroup: row.threadgroup,
            threadgroup_memory: Vec::new(),
            arguments,
        }],
        repeat: 1,
        recorded_threadgroup_bytes: Some(row.tg_static_mem_bytes),
    }
}

/// Kernels of one geometry over one set of shapes are near relatives (17 activations
/// over 16 × 16384, the normalisations over 1024 × 1024): they stay in one fold.
fn family(row: &Row) -> String {
    format!(
        "{:?} {:?} {:?}",
        row.grid, row.threadgroup, row.input_shapes
    )
}
