//! Runs a few instructions, written as text, in one simdgroup.

use assay_agx::{Isa, Program, assemble};
use assay_emu::{DeviceMemory, EmuError, Fault, Launch, run};

/// The code of a text.
pub(crate) fn code(text: &str) -> Vec<u8> {
    match assemble(Isa::G13, text, 0) {
        Ok(assembly) => assembly.code,
        Err(error) => panic!("{error}\n{text}"),
    }
}

/// What `lines` leave in register `r` of every lane, given registers r8... to start
/// with: row `n` of `inputs` is in r(8 + n).
#[track_caller]
pub(crate) fn registers(lines: &str, inputs: &[[u32; 32]], r: &str) -> [u32; 32] {
    try_registers(lines, inputs, r, 32, false).unwrap_or_else(|error| panic!("{error}"))
}

/// The same for a simdgroup of `threads`, and perhaps an error.
pub(crate) fn try_registers(
    lines: &str,
    inputs: &[[u32; 32]],
    r: &str,
    threads: u32,
    lenient: bool,
) -> Result<[u32; 32], EmuError> {
    let mut text = String::from("get_sr r7, sr52 (thread_index_in_simdgroup)\nmov_imm r0l, 0\n");
    for n in 0..inputs.len() {
        let (first, register) = (4 + 4 * n, 8 + n);
        let base = format!("u{}_u{}", first / 2, first / 2 + 1);
        text += &format!("device_load 0, i32, x, r{register}, {base}, r7, unsigned\n");
    }
    text += &format!("wait 0\n{lines}\n");
    text += &format!("device_store 0, i32, x, {r}, u0_u1, r7, unsigned, 0\nstop\n");
    let mut memory = DeviceMemory::new();
    let mut launch = Launch::new([threads, 1, 1], [32, 1, 1]);
    launch.lenient = lenient;
    let output = memory.add(&[0; 128]).unwrap();
    launch.uniforms.set_u64(0, memory.address(output)).unwrap();
    for (n, row) in inputs.iter().enumerate() {
        let bytes: Vec<u8> = row.iter().flat_map(|word| word.to_le_bytes()).collect();
        let buffer = memory.add(&bytes).unwrap();
        let place = 4 + 4 * n as u16;
        launch
            .uniforms
            .set_u64(place, memory.address(buffer))
            .unwrap();
    }
    let program = Program {
        code: code(&text),
        ..Program::new(Isa::G13, "test")
    };
    run(&program, &launch, &memory)?;
    let bytes = memory.bytes(output);
    Ok(std::array::from_fn(|lane| {
        u32::from_le_bytes(bytes[4 * lane..4 * lane + 4].try_into().unwrap())
    }))
}

/// Runs a whole program of text with nothing but uniforms u0.. of 32 bits.
pub(crate) fn fault(text: &str, uniforms: &[u32]) -> Fault {
    match outcome(text, uniforms, [32, 1, 1]) {
        Err(EmuError::Fault(fault)) => *fault,
        other => panic!("no fault but {other:?}\n{text}"),
    }
}

/// Runs a whole program of text.
pub(crate) fn outcome(
    text: &str,
    uniforms: &[u32],
    grid: [u32; 3],
) -> Result<assay_emu::Outcome, EmuError> {
    let memory = DeviceMemory::new();
    let mut launch = Launch::new(grid, [32, 1, 1]);
    launch.max_steps = 100_000;
    for (n, value) in uniforms.iter().enumerate() {
        launch.uniforms.set_u32(2 * n as u16, *value).unwrap();
    }
    let program = Program {
        code: code(text),
        ..Program::new(Isa::G13, "test")
    };
    run(&program, &launch, &memory)
}
