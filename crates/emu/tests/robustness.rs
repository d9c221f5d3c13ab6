//! Random programs: a run ends with a result or an error, never with a panic.
#![allow(clippy::needless_range_loop, reason = "threads and lanes are numbers")]

use assay_agx::{Isa, Program, walk};
use assay_emu::{DeviceMemory, Launch, run};
use proptest::prelude::*;

/// Bytes that decode: random parcels with the first byte of a known instruction.
fn code() -> impl Strategy<Value = Vec<u8>> {
    const STARTS: &[u8] = &[
        0x62, 0x72, 0x0e, 0x1e, 0x3e, 0x2e, 0x7e, 0x3a, 0x36, 0x2a, 0x26, 0x1a, 0x16, 0x0a, 0x52,
        0x42, 0x12, 0x02, 0x32, 0x22, 0x6f, 0x38, 0x05, 0x45, 0x15, 0x19, 0x35, 0xb5, 0x69, 0x29,
        0x68, 0xf5, 0x14, 0x04, 0x00,
    ];
    let piece = (prop::sample::select(STARTS), any::<[u8; 9]>(), 1usize..6);
    prop::collection::vec(piece, 1..40).prop_map(|pieces| {
        let mut code = vec![0x62, 0x00, 0x00, 0x00];
        for (start, rest, parcels) in pieces {
            code.push(start);
            code.extend(&rest[..2 * parcels - 1]);
        }
        code.extend([0x88, 0x00]);
        code
    })
}

fn launch(threads: u32, lenient: bool, memory: &mut DeviceMemory) -> Launch {
    let buffer = memory.add(&[3; 4096]).unwrap();
    let mut launch = Launch::new([threads, 1, 1], [64, 1, 1]);
    for half in 0..512 {
        launch.uniforms.set(half, half * 77).unwrap();
    }
    for half in (0..64).step_by(4) {
        launch
            .uniforms
            .set_u64(half, memory.address(buffer))
            .unwrap();
    }
    launch.lenient = lenient;
    launch.count = true;
    launch.max_steps = 3000;
    launch
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn random_programs_end(code in code(), threads in 1u32..100, lenient: bool) {
        let mut memory = DeviceMemory::new();
        let launch = launch(threads, lenient, &mut memory);
        let program = Program { code, ..Program::new(Isa::G13, "random") };
        let _ = run(&program, &launch, &memory);
    }

    #[test]
    fn random_constant_programs_end(code in code(), lenient: bool) {
        let mut memory = DeviceMemory::new();
        let launch = launch(1, lenient, &mut memory);
        let program = Program {
            code: vec![0x88, 0x00],
            constant_program: code,
            ..Program::new(Isa::G13, "random")
        };
        let _ = run(&program, &launch, &memory);
    }

    #[test]
    fn random_programs_of_g15_end(
        words in prop::collection::vec(any::<(u8, [u8; 15])>(), 1..24),
        threads in 1u32..100,
        lenient: bool,
    ) {
        // Most first bytes of the set begin an instruction, and so does whatever follows it.
        let mut code = Vec::new();
        for (start, rest) in words {
            code.push(start);
            code.extend(rest);
        }
        code.extend([0x0e, 0, 0, 0]);
        let mut memory = DeviceMemory::new();
        let launch = launch(threads, lenient, &mut memory);
        let program = Program { code, ..Program::new(Isa::G15, "random") };
        let _ = run(&program, &launch, &memory);
    }

    /// One instruction of G15 at a time, lenient, so that most are executed.
    #[test]
    fn single_random_instructions_of_g15_end(word in any::<[u8; 16]>()) {
        let length = walk(Isa::G15, &word).next().map_or(2, |(_, item)| item.len());
        let mut code = word[..length].to_vec();
        code.extend([0x0e, 0, 0, 0]);
        let mut memory = DeviceMemory::new();
        let launch = launch(40, true, &mut memory);
        let program = Program { code, ..Program::new(Isa::G15, "one") };
        let _ = run(&program, &launch, &memory);
    }

    /// One instruction at a time, lenient, so that most are executed.
    #[test]
    fn single_random_instructions_end(word in any::<[u8; 12]>(), start in any::<u8>()) {
        let mut code = vec![0x62, 0x00, 0x00, 0x00];
        code.push(start);
        code.extend(word);
        code.extend([0x88, 0x00]);
        let mut memory = DeviceMemory::new();
        let launch = launch(40, true, &mut memory);
        let known = walk(Isa::G13, &code).count();
        prop_assert!(known > 0);
        let program = Program { code, ..Program::new(Isa::G13, "one") };
        let _ = run(&program, &launch, &memory);
    }
}
