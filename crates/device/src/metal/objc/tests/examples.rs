//! Every example kernel, through Metal's calls and on the CPU device: the same bytes in every buffer.

use super::{alone, cpu, gpu, runtime};
use crate::{
    Argument, ArgumentBinding as Place, Binding, BufferId, CompileOptions, Device, Dispatch, Error,
    Extent, PipelineId, Source, Storage,
};
use std::path::Path;

const BYTES: usize = 1 << 16;

/// Bytes of an argument: numbers between 0 and 2 for floats, small ones for integers, so that they may be sizes and indices.
fn contents(type_name: &str, seed: u32) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 16
    };
    let word = |number: u32| match type_name {
        name if name.starts_with("float") => (number as f32 / 32768.0).to_bits(),
        // Two halves from 1 to 2.
        name if name.starts_with("half") => (number & 0x3ff | 0x3c00) * 0x1_0001,
        name if name.contains("char") || name.contains("short") => number & 0x0007_0007,
        _ => number % 64,
    };
    (0..BYTES / 4)
        .flat_map(|_| word(next()).to_le_bytes())
        .collect()
}

/// Runs a kernel in one threadgroup, since some of them race between several, and gives all its buffers.
fn run(
    device: &mut dyn Device,
    pipeline: PipelineId,
    threadgroup: [u32; 3],
    arguments: &[Argument],
) -> Result<Vec<Vec<u8>>, Error> {
    let mut dispatch = Dispatch::new(pipeline, Extent::Groups([1, 1, 1]), threadgroup);
    let mut buffers = Vec::new();
    for (seed, argument) in (1..).zip(arguments) {
        match argument.binding {
            Place::Buffer(index) => {
                let buffer = device.buffer(BYTES as u64, Storage::Shared)?;
                // A size in constant memory.
                let bytes = match argument.buffer_size {
                    Some(4) if argument.type_name.contains("int") => 64_u32.to_le_bytes().to_vec(),
                    _ => contents(&argument.type_name, seed),
                };
                device.write(buffer, 0, &bytes)?;
                buffers.push(buffer);
                dispatch = dispatch.bind(index, Binding::Buffer { buffer, offset: 0 });
            }
            Place::Threadgroup(index) => {
                dispatch = dispatch.bind(index, Binding::ThreadgroupMemory(4096));
            }
            _ => {}
        }
    }
    device.run(vec![dispatch])?;
    let read = |buffer: &BufferId| device.contents(*buffer);
    let contents = buffers.iter().map(read).collect();
    for buffer in buffers {
        device.release(buffer)?;
    }
    contents
}

#[test]
fn example_kernels_leave_the_same_bytes() {
    let _alone = alone();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/kernels");
    let (mut real, mut direct) = (gpu(false), cpu());
    let (mut equal, mut unsuited) = (0, Vec::new());
    let wrong = runtime::wrong_uses();
    let entries = std::fs::read_dir(folder).expect("the examples");
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    for path in paths
        .iter()
        .filter(|path| path.extension().is_some_and(|end| end == "metal"))
    {
        let text = std::fs::read_to_string(path).expect("an example");
        let source = Source { path, text: &text };
        let options = CompileOptions::default();
        let library = direct.compile(source, &options).expect("compiles");
        let through_metal = real
            .compile(source, &options)
            .expect("compiles through Metal");
        for kernel in direct.functions(library).expect("there") {
            let Ok(pipeline) = direct.pipeline(library, &kernel, &[]) else {
                unsuited.push(kernel);
                continue;
            };
            let Argued { most, arguments } = argued(&direct, pipeline);
            let sizes = [[most, 1, 1], [16, 16, 1], [8, 8, 1], [32, 1, 1]];
            let found = sizes.into_iter().find_map(|size| {
                let expected = run(&mut direct, pipeline, size, &arguments).ok()?;
                Some((size, expected))
            });
            let Some((size, expected)) = found else {
                unsuited.push(kernel);
                continue;
            };
            let pipeline = real
                .pipeline(through_metal, &kernel, &[])
                .expect("a pipeline through Metal");
            let got = run(&mut *real, pipeline, size, &arguments);
            let got = got.unwrap_or_else(|error| panic!("{kernel}: {error}"));
            assert!(
                got == expected,
                "{kernel} {size:?}: other bytes through Metal's calls"
            );
            equal += 1;
        }
    }
    println!("{equal} example kernels: the same bytes; not run at such sizes: {unsuited:?}");
    assert!(
        equal >= 50,
        "{equal} kernels were compared; not run: {unsuited:?}"
    );
    assert_eq!(runtime::wrong_uses(), wrong);
}

/// What a launch is made of.
struct Argued {
    most: u32,
    arguments: Vec<Argument>,
}

fn argued(device: &dyn Device, pipeline: PipelineId) -> Argued {
    let facts = device.pipeline_facts(pipeline).expect("there");
    Argued {
        most: facts.max_threads.min(256),
        arguments: facts.arguments.clone(),
    }
}
