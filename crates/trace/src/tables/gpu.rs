//! What ran on the GPU.

use super::{Cells, TableSpec};
use crate::events::{Events, GpuInterval, Maybe, Named, ShaderSample, Spill};

pub(crate) const TABLES: &[TableSpec] = &[
    TableSpec {
        schema: "metal-gpu-intervals",
        columns: &[
            "start",
            "duration",
            "channel-name",
            "start-latency",
            "event-label",
            "state",
            "process",
            "bytes",
            "cmdbuffer-id",
            "encoder-id",
            "gpu",
        ],
        display_labels: false,
        read: interval,
    },
    TableSpec {
        schema: "metal-shader-profiler-intervals",
        columns: &[
            "start",
            "duration",
            "name",
            "pso-label",
            "percent-of-kick",
            "process",
        ],
        display_labels: false,
        read: shader,
    },
    TableSpec {
        schema: "metal-shader-profiler-shader-list",
        columns: &["name", "process"],
        display_labels: false,
        read: |cells, events| {
            let name = cells.text(0);
            events.shader_names.push((name, cells.process(1)));
            Ok(())
        },
    },
    TableSpec {
        schema: "graphics-compiler-spill-events",
        columns: &["timestamp", "encoder-id", "spilled-bytes", "process"],
        display_labels: false,
        read: |cells, events| {
            events.spills.push(Spill {
                time: cells.required(0)?,
                encoder: cells.number(1)?.unwrap_or(0),
                bytes: cells.required(2)?,
                pid: cells.process(3),
            });
            Ok(())
        },
    },
    TableSpec {
        schema: "graphics-compiler-activity-intervals",
        columns: &["start", "duration", "compiler", "program-type", "process"],
        display_labels: false,
        read: |cells, events| {
            let named = Named {
                span: cells.span(0, 1)?,
                kind: cells.text(2),
                label: cells.text(3),
                pid: cells.process(4),
                thread: None,
                bytes: Maybe::UNKNOWN,
            };
            events.compilations.push(named);
            Ok(())
        },
    },
    TableSpec {
        schema: "metal-gpu-info",
        columns: &["gpu-name"],
        display_labels: false,
        read: gpu_name,
    },
    TableSpec {
        schema: "device-gpu-info",
        columns: &["device-name"],
        display_labels: false,
        read: gpu_name,
    },
];

fn interval(cells: &mut Cells<'_>, events: &mut Events) -> Result<(), String> {
    let span = cells.span(0, 1)?;
    let state = cells.text(5);
    let interval = GpuInterval {
        span,
        channel: cells.text(2),
        latency: cells.number(3)?.into(),
        label: cells.text(4),
        active: state == crate::TextId::EMPTY || cells.is(state, "Active"),
        pid: cells.process(6),
        command_buffer: cells.number(8)?.unwrap_or(0),
        encoder: cells.number(9)?.unwrap_or(0),
    };
    if let Some(bytes) = cells.number(7)?.filter(|&bytes| bytes > 0) {
        events.gpu_bytes.insert(interval.encoder, bytes);
    }
    events.gpu.push(interval);
    let gpu = cells.text(10);
    if events.gpus.last() != Some(&gpu) {
        note_gpu(gpu, events);
    }
    Ok(())
}

fn shader(cells: &mut Cells<'_>, events: &mut Events) -> Result<(), String> {
    let sample = ShaderSample {
        span: cells.span(0, 1)?,
        name: cells.text(2),
        pipeline: cells.text(3),
        percent: cells.float(4),
        pid: cells.process(5),
    };
    events.shaders.push(sample);
    Ok(())
}

fn gpu_name(cells: &mut Cells<'_>, events: &mut Events) -> Result<(), String> {
    let name = cells.text(0);
    note_gpu(name, events);
    Ok(())
}

fn note_gpu(name: crate::TextId, events: &mut Events) {
    if name != crate::TextId::EMPTY && !events.gpus.contains(&name) {
        events.gpus.push(name);
    }
}
