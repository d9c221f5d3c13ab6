//! Any bytes as a program: a run ends, with a result or an error, and ends the same
//! way again.
#![no_main]

use assay_agx::{Isa, Program};
use assay_emu::{DeviceMemory, Launch, run};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, u8, &[u8], &[u8])| {
    let (options, threads, code, constant_program) = input;
    let program = Program {
        code: code.to_vec(),
        constant_program: constant_program.to_vec(),
        ..Program::new(if options & 8 == 0 { Isa::G13 } else { Isa::G15 }, "fuzz")
    };
    let go = || {
        let mut memory = DeviceMemory::new();
        let buffer = memory.add(&[7; 512]).expect("one buffer");
        let threads = u32::from(threads % 70) + 1;
        let mut launch = Launch::new([threads, 2, 1], [threads.min(40), 1, 1]);
        for half in 0..128 {
            let _ = launch.uniforms.set(half, half);
        }
        for half in [0, 4, 16] {
            let _ = launch.uniforms.set_u64(half, memory.address(buffer));
        }
        launch.lenient = options & 1 != 0;
        launch.count = options & 2 != 0;
        launch.sequential = true;
        launch.max_steps = 2000;
        if options & 4 != 0 {
            launch.trace = launch.thread_at([0, 1, 0]);
        }
        let outcome = run(&program, &launch, &memory);
        let steps = outcome.map(|outcome| outcome.lane_instructions);
        (steps.map_err(|error| error.to_string()), memory.bytes(buffer))
    };
    assert_eq!(go(), go());
});
