//! Events of recordings and what kernels did, made by hand: for the tests of this folder and those inside the crate.

use assay_predict::execution::{
    Block, BufferFootprint, Execution, Footprint, Group, Path, Run as Instructions, Step as Turn,
    VERSION,
};
use assay_recording::*;

/// Kernels by name, in order of their numbers, and buffers 1 to 9 at addresses apart.
pub(crate) fn head(kernels: &[&str]) -> Vec<Event> {
    let library = Library {
        id: 0,
        form: Form::Compiled,
        hash: [0; 32],
        contents: Contents::Unknown,
    };
    let pipelines = kernels.iter().enumerate().map(|(id, name)| {
        Event::Pipeline(Pipeline {
            id: id as u32,
            library: 0,
            function: (*name).into(),
            constants: Vec::new(),
            threadgroup_memory: 0,
            made_ns: [0, 1_000_000],
        })
    });
    let buffers = (1..10).map(|id| {
        Event::Buffer(Buffer {
            id,
            bytes: 1 << 20,
            address: id << 32,
            ..Buffer::default()
        })
    });
    let device = Event::Device(Device {
        name: "Apple M2".into(),
        chip: "m2".into(),
    });
    let process = Event::Process(Process {
        pid: 7,
        arguments: vec!["/opt/infer".into(), "-n".into(), "4".into()],
        executed: false,
    });
    [process, device, Event::Library(library)]
        .into_iter()
        .chain(pipelines)
        .chain(buffers)
        .collect()
}

/// A dispatch of a kernel that reads and writes buffers (index 0 and 1).
pub(crate) fn dispatch(pipeline: u32, from: u64, to: u64) -> Command {
    let bound = |buffer| Binding::Buffer { buffer, offset: 0 };
    Command::Dispatch(Box::new(Dispatch {
        pipeline,
        extent: Extent::Groups([64, 1, 1]),
        threadgroup: [256, 1, 1],
        bindings: vec![(0, bound(from)), (1, bound(to))],
        memory: Vec::new(),
        label: "layer".into(),
        group: "".into(),
        encoded_ns: 0,
    }))
}

pub(crate) fn encoder(kind: EncoderKind) -> Command {
    Command::Encoder(Encoder {
        kind,
        label: "layer".into(),
        created_ns: 0,
    })
}

/// A command buffer with its commands.
pub(crate) fn committed(id: u64, commands: Vec<Command>) -> Vec<Event> {
    let head = Event::CommandBuffer(CommandBuffer {
        id,
        label: "token".into(),
        created_ns: 1000,
        committed_ns: 5000,
        commands: commands.len() as u64,
        ..CommandBuffer::default()
    });
    let commands = commands.into_iter().map(Event::Command);
    std::iter::once(head).chain(commands).collect()
}

/// An execution that takes some cycles and touches some lines of two buffers, reading the first and writing the second.
pub(crate) fn execution(instructions: u32, lines: f64) -> Execution {
    let footprint = |buffer, read, written| BufferFootprint {
        buffer,
        read,
        written,
    };
    Execution {
        version: VERSION,
        kernel: "k".to_owned(),
        grid: [64 * 256, 1, 1],
        threadgroup: [256, 1, 1],
        sampled: 1,
        half_registers: 16,
        instructions: f64::from(instructions) * 8.0,
        active_lanes: 32.0,
        runs: vec![Instructions {
            instructions,
            issue: instructions as f32,
            alone: instructions as f32,
            ..Instructions::default()
        }],
        blocks: vec![Block {
            offset: 0,
            steps: vec![Turn::Block(0, 1.0)],
        }],
        paths: vec![Path {
            steps: vec![Turn::Block(0, 1.0)],
        }],
        groups: vec![Group {
            share: 1.0,
            simdgroups: vec![(0, 8)],
        }],
        footprint: Footprint {
            curve: vec![(1, lines / 64.0), (64, lines)],
            buffers: vec![
                footprint(0, lines / 2.0, 0.0),
                footprint(1, 0.0, lines / 2.0),
            ],
            verified: 1.0,
        },
        ..Execution::default()
    }
}
