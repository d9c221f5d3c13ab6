//! Programs with a fault: it is reported, at the right instruction.
#![allow(clippy::needless_range_loop, reason = "threads and lanes are numbers")]

mod common;
use assay_agx::{Isa, Placeholder, Program, Unencoded, UnencodedKind};
use assay_emu::{
    DeviceMemory, EmuError, FaultKind, Launch, LaunchError, Memory, NestingFault, run,
};
use common::Kernel;
use common::asm::{code, fault, outcome, try_registers};

/// `saxpy` with its `wait`s replaced, run on 70 elements.
fn saxpy(change: impl Fn(&mut Program)) -> Result<Vec<f32>, EmuError> {
    let mut k = Kernel::open("saxpy");
    let y = k.f32s("y", &[1.0; 70]);
    k.f32s("x", &[2.0; 70]);
    k.f32("a", 3.0);
    k.u32("n", 70);
    change(&mut k.program);
    k.try_run([128, 1, 1]).map(|_| k.read_f32(y))
}

fn the_fault(result: Result<Vec<f32>, EmuError>) -> assay_emu::Fault {
    match result {
        Err(EmuError::Fault(fault)) => *fault,
        other => panic!("no fault but {other:?}"),
    }
}

#[test]
fn a_missing_wait_names_the_load_and_the_reader() {
    // Offset 0x20: `wait 1`, for the load at 0x16. Waiting twice for slot 0 instead.
    let result = saxpy(|program| program.code[0x21] = 0);
    let fault = the_fault(result);
    assert_eq!(fault.at.offset, 0x22);
    let FaultKind::ReadBeforeWait { half, load, slot } = &fault.kind else {
        panic!("{fault}");
    };
    assert_eq!((*half, load.offset, *slot), (6, 0x16, 1));
    assert!(fault.to_string().contains("wait 1"), "{fault}");
    assert_eq!(fault.thread.unwrap().lane, 0);
}

#[test]
fn the_unchanged_program_has_no_fault() {
    let result = saxpy(|_| {});
    assert_eq!(result.unwrap(), [7.0; 70]);
}

#[test]
fn an_out_of_bounds_access_names_lane_and_buffer() {
    let mut k = Kernel::open("saxpy");
    k.f32s("y", &[1.0; 70]);
    k.f32s("x", &[2.0; 50]);
    k.f32("a", 3.0);
    k.u32("n", 70);
    let Err(EmuError::Fault(fault)) = k.try_run([128, 1, 1]) else {
        panic!("no fault");
    };
    assert_eq!(fault.at.offset, 0xe);
    let FaultKind::OutOfBounds {
        memory,
        place,
        bytes,
        ..
    } = fault.kind
    else {
        panic!("{fault}");
    };
    let place = place.unwrap();
    assert_eq!((memory, bytes), (Memory::Device, 4));
    assert_eq!((place.buffer, place.offset, place.bytes), (1, 200, 200));
    let thread = fault.thread.unwrap();
    assert_eq!((thread.simdgroup, thread.lane), (1, 18));
}

#[test]
fn an_early_discard_names_both_instructions() {
    let text = "mov_imm r1, 1, 0b0\n\
                iadd r2, r1.discard, 1\n\
                iadd r3, r1, 1\n\
                stop";
    let fault = fault(text, &[]);
    assert_eq!(fault.at.text, "iadd r3, r1, 1");
    let FaultKind::ReadAfterDiscard { half: 2, discard } = fault.kind else {
        panic!("{fault}");
    };
    assert_eq!(discard.text, "iadd r2, r1.discard, 1");
}

#[test]
fn a_discard_among_some_lanes_drops_the_register_of_all() {
    let text = "get_sr r1, sr52 (thread_index_in_simdgroup)\n\
                mov_imm r0l, 0\n\
                if_icmp r0l, ult, r1, 4, 1\n\
                iadd r2, r1.discard, 1\n\
                pop_exec r0l, 1\n\
                iadd r3, r1, 1\n\
                stop";
    let fault = fault(text, &[]);
    assert_eq!(fault.at.text, "iadd r3, r1, 1");
    assert!(
        matches!(fault.kind, FaultKind::ReadAfterDiscard { .. }),
        "{fault}"
    );
}

#[test]
fn a_register_that_was_never_written_is_not_read() {
    let fault = fault("mov_imm r1l, 1\niadd r2, r1, 1\nstop", &[]);
    assert_eq!(fault.kind, FaultKind::ReadUnwritten { half: 3 });
    assert!(fault.to_string().contains("r1h"), "{fault}");
}

#[test]
fn a_select_reads_only_what_it_takes() {
    let lanes: [u32; 32] = std::array::from_fn(|lane| lane as u32);
    let half = "mov_imm r0l, 0\nif_icmp r0l, ult, r8, 16, 1\nmov_imm r9, 5, 0b0\npop_exec r0l, 1\n";
    let good = format!("{half}icmpsel ult, r10, r8, 16, r9, r8");
    let found = try_registers(&good, &[lanes], "r10", 32, false).unwrap();
    assert_eq!((found[3], found[20]), (5, 20));
    let bad = format!("{half}icmpsel ult, r10, r8, 17, r9, r8");
    let error = try_registers(&bad, &[lanes], "r10", 32, false).unwrap_err();
    assert!(error.to_string().contains("lane 16"), "{error}");
}

#[test]
fn a_write_to_a_register_in_flight_is_reported() {
    let lanes = [0; 32];
    let text = "device_load 0, i32, x, r9, u2_u3, r7, unsigned\nmov_imm r9, 1, 0b0";
    let error = try_registers(text, &[lanes], "r9", 32, false).unwrap_err();
    assert!(error.to_string().contains("writes r9l"), "{error}");
    assert_eq!(
        try_registers(text, &[lanes], "r9", 32, true).unwrap(),
        [1; 32]
    );
}

#[test]
fn a_shuffle_from_a_lane_without_value_poisons_its_result() {
    let lanes: [u32; 32] = std::array::from_fn(|lane| lane as u32);
    let text = "mov_imm r0l, 0\nif_icmp r0l, ult, r8, 16, 1\nmov_imm r9, 5, 0b0\npop_exec r0l, 1\n\
                simd_shuffle_down r9, r9, 1\niadd r10, r9, 1";
    let error = try_registers(text, &[lanes], "r10", 32, false).unwrap_err();
    let EmuError::Fault(fault) = error else {
        panic!("{error}")
    };
    assert!(
        matches!(fault.kind, FaultKind::ReadOfUndefinedShuffle { .. }),
        "{fault}"
    );
    assert_eq!(fault.thread.unwrap().lane, 15);
    assert_eq!(fault.at.text, "iadd r10, r9, 1");
}

#[test]
fn a_shuffle_reads_zero_from_a_lane_without_a_thread() {
    let lanes: [u32; 32] = std::array::from_fn(|lane| lane as u32 + 1);
    let text = "simd_shuffle_down r9, r8, 1\niadd r10, r9, 1";
    let found = try_registers(text, &[lanes], "r10", 20, false).unwrap();
    assert_eq!((found[18], found[19]), (21, 1));
    let alone = try_registers(text, &[lanes], "r10", 1, false).unwrap();
    assert_eq!(alone[0], 1);
}

#[test]
fn a_stack_slot_gives_back_what_it_holds() {
    // Saving a register nobody wrote is fine; using it after restoring is not.
    let save = "stack_adjust 4\nstack_store i32, 1, 0, x, 4, r5, 0, 0\n\
                stack_load r6, i32, 1, 0, x, 4, 0, 0\nwait 0\n";
    assert!(outcome(&format!("{save}stop"), &[], [32, 1, 1]).is_ok());
    let fault = fault(&format!("{save}iadd r7, r6, 1\nstop"), &[]);
    assert_eq!(fault.kind, FaultKind::ReadUnwritten { half: 12 });
}

const START: &str = "get_sr r1, sr52 (thread_index_in_simdgroup)\nmov_imm r0l, 0\n";

fn nesting(body: &str) -> (String, NestingFault) {
    let fault = fault(&format!("{START}{body}"), &[]);
    match fault.kind {
        FaultKind::Nesting(nesting) => (fault.at.text, nesting),
        _ => panic!("{fault}"),
    }
}

#[test]
fn wrong_nesting_of_the_execution_mask() {
    let (at, kind) = nesting("if_icmp r0l, ult, r1, 4, 1\nstop");
    assert_eq!(at, "stop");
    let NestingFault::LeftOpen { open: 1, opener } = kind else {
        panic!("{kind}")
    };
    assert_eq!(opener.text, "if_icmp r0l, ult, r1, 4, 1");

    let (at, kind) = nesting("if_icmp r0l, ult, r1, 4, 1\npop_exec r0l, 2\nstop");
    assert_eq!(at, "pop_exec r0l, 2");
    assert_eq!(kind, NestingFault::PopsTooMany { levels: 2, open: 1 });

    let (_, kind) = nesting("else_fcmp r0l, eq, 0.0, 0.0, 1\nstop");
    assert_eq!(kind, NestingFault::ElseWithoutIf);

    let inner_pops_two = "if_icmp r0l, ult, r1, 9, 1\nif_icmp r0l, ult, r1, 4, 1\n\
                          pop_exec r0l, 2\npop_exec r0l, 1\nstop";
    let (at, _) = nesting(inner_pops_two);
    assert_eq!(at, "pop_exec r0l, 1");

    let missing_in_loop = "mov_imm r2, 0, 0b0\n\
        top: while_icmp r0l, ult, r2, 5, 1\n\
        if_icmp r0l, ult, r1, 4, 1\n\
        mov_imm r3, 1, 0b0\n\
        iadd r2, 1, r2\n\
        jmp_exec_any top\n\
        pop_exec r0l, 1\nstop";
    let (at, kind) = nesting(missing_in_loop);
    assert_eq!(at, "if_icmp r0l, ult, r1, 4, 1");
    assert_eq!(kind, NestingFault::OpenedTwice);
}

#[test]
fn an_uninitialised_mask_counter_is_reported() {
    let fault = fault(
        "get_sr r1, sr52 (thread_index_in_simdgroup)\nif_icmp r0l, ult, r1, 4, 1\nstop",
        &[],
    );
    assert_eq!(fault.kind, FaultKind::ReadUnwritten { half: 0 });
}

#[test]
fn lenient_runs_go_on() {
    let program = Program {
        code: code("iadd r1, r2.discard, r3\niadd r4, r2, u5\nstop"),
        ..Program::new(Isa::G13, "lenient")
    };
    let mut launch = Launch::new([32, 1, 1], [32, 1, 1]);
    launch.lenient = true;
    assert!(run(&program, &launch, &DeviceMemory::new()).is_ok());
    launch.lenient = false;
    assert!(run(&program, &launch, &DeviceMemory::new()).is_err());
}

#[test]
fn a_uniform_that_nothing_sets_is_named() {
    let fault = fault("mov_imm r1, 0, 0b0\niadd r2, r1, u5\nstop", &[1, 2]);
    assert_eq!(fault.kind, FaultKind::UnsetUniform { half: 11 });
}

#[test]
fn threadgroup_and_stack_bounds() {
    let mut launch = Launch::new([32, 1, 1], [32, 1, 1]);
    launch.threadgroup_bytes = Some(64);
    launch.stack_bytes = Some(16);
    let faults = |text: &str| {
        let program = Program {
            code: code(text),
            ..Program::new(Isa::G13, "bounds")
        };
        match run(&program, &launch, &DeviceMemory::new()) {
            Err(EmuError::Fault(fault)) => fault.to_string(),
            other => panic!("{other:?}"),
        }
    };
    let threadgroup = faults(
        "get_sr r1, sr52 (thread_index_in_simdgroup)\nbfi r2, 0, r1, 2\n\
         threadgroup_store i32, x, r1, r2l, 0\nstop",
    );
    assert!(
        threadgroup.contains("there are 64 bytes") && threadgroup.contains("lane 16"),
        "{threadgroup}"
    );
    let stack =
        faults("mov_imm r1, 0, 0b0\nstack_adjust 4\nstack_store i32, 1, 0, x, 4, r1, 16, 0\nstop");
    assert!(stack.contains("there are 16 bytes"), "{stack}");
    let too_much = faults("stack_adjust 5\nstop");
    assert!(too_much.contains("stack"), "{too_much}");
}

#[test]
fn code_that_goes_nowhere() {
    let outside = fault("mov_imm r0l, 0\njmp_exec_any 0x4000\nstop", &[]);
    assert_eq!(outside.kind, FaultKind::NoInstruction { target: 0x4000 });
    let end = fault("mov_imm r0l, 0", &[]);
    assert_eq!(end.kind, FaultKind::RanOffTheEnd);
    let forever = fault("mov_imm r0l, 0\ntop: jmp_exec_any top\nstop", &[]);
    assert_eq!(forever.kind, FaultKind::TooManySteps { limit: 100_000 });
    let recursion = fault("mov_imm r0l, 0\ntop: call top\nstop", &[]);
    assert!(
        matches!(recursion.kind, FaultKind::CallsTooDeep { .. }),
        "{recursion}"
    );
    assert_eq!(fault("trap\nstop", &[]).kind, FaultKind::Trap);
    let lost = fault(
        "get_sr r1, sr52 (thread_index_in_simdgroup)\nret r1\nstop",
        &[],
    );
    assert_eq!(lost.kind, FaultKind::DivergentTarget);
}

#[test]
fn what_is_not_known_stops_with_its_text() {
    let sample = fault("mov_imm r0l, 0\nmov_imm r1, 0, 0b0\ndfdx r2, r1\nstop", &[]);
    assert_eq!(sample.at.text, "dfdx r2, r1");
    assert!(
        matches!(sample.kind, FaultKind::Unsupported { .. }),
        "{sample}"
    );
    let sr = fault("get_sr r1, sr20 (core_index)\nstop", &[]);
    assert!(sr.to_string().contains("sr20"), "{sr}");
}

#[test]
fn a_placeholder_is_refused_by_what_it_stands_for() {
    let operation = Unencoded {
        kind: UnencodedKind::TextureAtomic,
        bytes: Some(4),
    };
    let program = Program {
        code: vec![0xff, 0xff, 0x88, 0],
        placeholders: vec![Placeholder {
            offset: 0,
            operation,
            reads: vec![0, 1],
            writes: vec![2, 3],
        }],
        ..Program::new(Isa::G13, "atomic")
    };
    let launch = Launch::new([32, 1, 1], [32, 1, 1]);
    let Err(EmuError::Fault(fault)) = run(&program, &launch, &DeviceMemory::new()) else {
        panic!("no fault");
    };
    let why = "the encoding of a texture atomic is not publicly known";
    assert_eq!(fault.kind, FaultKind::Unsupported { why });
}

#[test]
fn undecodable_bytes_matter_only_when_reached() {
    let launch = Launch::new([32, 1, 1], [32, 1, 1]);
    let reach = |code: Vec<u8>| {
        let program = Program {
            code,
            ..Program::new(Isa::G13, "bytes")
        };
        run(&program, &launch, &DeviceMemory::new())
    };
    let mut unreached = code("stop");
    unreached.extend([0xff, 0xff, 0xff]);
    assert!(reach(unreached).is_ok());
    let Err(EmuError::Fault(fault)) = reach(vec![0xff, 0xff, 0x88, 0]) else {
        panic!("no fault");
    };
    assert_eq!(fault.kind, FaultKind::Undecodable { parcel: 0xffff });
    assert!(matches!(reach(vec![]), Err(EmuError::Fault(_))));
    assert!(matches!(reach(vec![0x88]), Err(EmuError::Fault(_))));
    assert!(matches!(
        reach(vec![0x0e, 0x01, 0x40]),
        Err(EmuError::Fault(_))
    ));
}

#[test]
fn a_jump_into_an_instruction_runs_what_is_there() {
    // The immediate of the first instruction is `stop`.
    let text = "mov_imm r0l, 136\nmov_imm r0l, 0\njmp_exec_any 0x2\ntrap";
    assert!(outcome(text, &[], [32, 1, 1]).is_ok());
}

#[test]
fn the_first_threadgroup_that_fails_is_reported() {
    // Threadgroup 5 and later trap.
    let text = "get_sr r1, sr0 (threadgroup_position_in_grid.x)\nmov_imm r0l, 0\n\
                if_icmp r0l, ugt, r1, 4, 1\njmp_exec_none over\nget_sr r2, sr20 (core_index)\n\
                over: pop_exec r0l, 1\nstop";
    for _ in 0..20 {
        let Err(EmuError::Fault(fault)) = outcome(text, &[], [32 * 64, 1, 1]) else {
            panic!("no fault");
        };
        assert!(fault.thread.is_none_or(|thread| thread.threadgroup[0] == 5));
    }
}

#[test]
fn impossible_launches() {
    let program = Program {
        code: code("stop"),
        ..Program::new(Isa::G13, "launch")
    };
    let memory = DeviceMemory::new();
    let error = |change: &dyn Fn(&mut Launch)| {
        let mut launch = Launch::new([32, 1, 1], [32, 1, 1]);
        change(&mut launch);
        match run(&program, &launch, &memory) {
            Err(EmuError::Launch(error)) => error,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        error(&|launch| launch.grid[1] = 0),
        LaunchError::Empty("grid")
    );
    assert_eq!(
        error(&|launch| launch.threadgroup = [2048, 1, 1]),
        LaunchError::ThreadgroupTooLarge(2048)
    );
    assert_eq!(
        error(&|launch| launch.threadgroup_bytes = Some(1 << 20)),
        LaunchError::TooMuchThreadgroupMemory(1 << 20)
    );
    assert_eq!(
        error(&|launch| launch.stack_bytes = Some(u32::MAX)),
        LaunchError::TooMuchStack(u32::MAX)
    );
}

#[test]
fn results_do_not_depend_on_parallelism() {
    let run_histogram = |sequential: bool| {
        let mut k = Kernel::open("histogram_global");
        let x: Vec<u32> = (0..4096u32)
            .map(|i| i.wrapping_mul(2_654_435_761))
            .collect();
        let out = k.u32s("h", &[0; 256]);
        k.u32s("x", &x);
        k.u32("n", 4096);
        k.launch.sequential = sequential;
        let counts = k.counted([4096, 1, 1]);
        (k.read_u32(out), counts)
    };
    assert_eq!(run_histogram(true), run_histogram(false));
}

#[test]
fn a_followed_thread_shows_what_it_wrote() {
    let program = Program {
        code: code(
            "get_sr r1, sr52 (thread_index_in_simdgroup)\nmov_imm r0l, 0\n\
             if_icmp r0l, ult, r1, 4, 1\niadd r2, r1, 100\npop_exec r0l, 1\nstop",
        ),
        ..Program::new(Isa::G13, "trace")
    };
    let mut launch = Launch::new([64, 1, 1], [64, 1, 1]);
    launch.trace = launch.thread_at([34, 0, 0]);
    let outcome = run(&program, &launch, &DeviceMemory::new()).unwrap();
    let shown: Vec<(u32, bool, Option<u32>)> = outcome
        .trace
        .iter()
        .map(|entry| {
            (
                entry.offset,
                entry.active,
                entry.written.first().map(|w| w.value),
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            (0, true, Some(2)),
            (4, true, Some(0)),
            (8, true, Some(0)),
            (14, true, Some(102)),
            (22, true, Some(0)),
            (28, true, None),
        ]
    );
}

#[test]
fn values_of_the_dispatch_are_placed_where_the_program_expects_them() {
    use assay_agx::{Axis, Binding, BoundValue, SystemValue};
    let bind = |value, first_half| Binding {
        value: BoundValue::System(value, Axis::X),
        first_half,
        halves: 2,
    };
    let program = Program {
        code: code("mov r1, u4\niadd r2, r1, u5\nstop"),
        bindings: vec![
            bind(SystemValue::ThreadsPerGrid, 8),
            bind(SystemValue::ThreadgroupsPerGrid, 10),
        ],
        ..Program::new(Isa::G13, "dispatch")
    };
    let mut launch = Launch::new([100, 1, 1], [32, 1, 1]);
    launch.trace = launch.thread_at([0, 0, 0]);
    let outcome = run(&program, &launch, &DeviceMemory::new()).unwrap();
    assert_eq!(outcome.trace[1].written[0].value, 104);
}

/// A kernel for M3, M4 or A18: each thread stores its position.
fn positions_g15(wait: &str) -> Result<Vec<u8>, String> {
    let source = format!(
        "get_sr 0, r1, sr32\ndevice_store i32, x, r1, u0_u1, r1, lsl 2, 0{wait}, 1, 1\nstop"
    );
    let isa = assay_agx::Isa::G15;
    let code = assay_agx::assemble(isa, &source, 0).map_err(|error| error.to_string())?;
    let program = assay_agx::Program {
        code: code.code,
        ..assay_agx::Program::new(isa, "positions")
    };
    let mut memory = assay_emu::DeviceMemory::new();
    let output = memory
        .add(&[0; 4 * 40])
        .map_err(|error| error.to_string())?;
    let mut launch = assay_emu::Launch::new([40, 1, 1], [32, 1, 1]);
    let set = launch.uniforms.set_u64(0, memory.address(output));
    set.map_err(|error| error.to_string())?;
    match assay_emu::run(&program, &launch, &memory) {
        Ok(_) => Ok(memory.bytes(output)),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn special_registers_of_g15_are_there_once_their_slot_is_waited_for() {
    let bytes = positions_g15(", wait 0").expect("a right program");
    assert_eq!(bytes[4 * 39..], 39u32.to_le_bytes());
    let error = positions_g15("").expect_err("a wait is missing");
    assert!(error.contains("has not delivered"), "{error}");
}
