//! Kernels from text, compiled and run.

use assay_agx::{Isa, Program};
use assay_codegen::mir::{Function, Kernel};
use assay_codegen::{Options, back};
use assay_emu::{DeviceMemory, Launch};
use assay_ssa::IdVec;

/// A kernel around a function.
pub(crate) fn kernel(text: &str, register_limit: u16) -> Kernel {
    let main: Function = text.parse().unwrap_or_else(|error| panic!("{error}"));
    main.verify()
        .unwrap_or_else(|problem| panic!("{problem}\n{main}"));
    Kernel {
        program: Program::new(Isa::G13, "test"),
        main,
        constant: None,
        lines: IdVec::new(),
        register_limit,
    }
}

/// The program of a function.
pub(crate) fn compile(text: &str, register_limit: u16) -> Program {
    let program = back::finish(kernel(text, register_limit), &Options::default())
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut items = program.walk();
    let unknown = items.find(|(offset, item)| {
        item.known().is_none() && program.placeholder_at(*offset as u32).is_none()
    });
    assert!(unknown.is_none(), "{unknown:?}");
    program
}

/// The instructions of a program up to its end, as text.
pub(crate) fn listing(program: &Program) -> String {
    let mut text = String::new();
    for (offset, item) in program.walk() {
        let words = match (item.known(), program.placeholder_at(offset as u32)) {
            (Some(insn), _) => insn.words(offset).to_string(),
            (None, Some(placeholder)) => format!(
                "{}, reads {:?}, writes {:?}",
                placeholder.operation, placeholder.reads, placeholder.writes
            ),
            (None, None) => "?".to_owned(),
        };
        if words == "trap" {
            break;
        }
        text += &format!("{offset:x}: {words}\n");
    }
    text
}

/// Runs 64 threads in two threadgroups; buffer `n` is the 64-bit uniform `n`.
pub(crate) fn run(program: &Program, buffers: &[Vec<u32>]) -> Result<Vec<Vec<u32>>, String> {
    let mut memory = DeviceMemory::new();
    let mut launch = Launch::new([64, 1, 1], [32, 1, 1]);
    launch.max_steps = 1_000_000;
    let mut ids = Vec::new();
    for (n, words) in buffers.iter().enumerate() {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let id = memory.add(&bytes).unwrap();
        let address = memory.address(id);
        launch.uniforms.set_u64(4 * n as u16, address).unwrap();
        ids.push(id);
    }
    assay_emu::run(program, &launch, &memory)
        .map_err(|error| format!("{error}\n{}", listing(program)))?;
    Ok(ids
        .into_iter()
        .map(|id| {
            let bytes = memory.bytes(id);
            let words = bytes.chunks_exact(4);
            words
                .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
                .collect()
        })
        .collect())
}
