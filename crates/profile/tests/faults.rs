//! What metal-profiler 0.1.1 gets wrong, and the right answers.
//!
//! Its faults, each with the tests that show the right answer:
//!
//! * One destination per instruction, found in text:
//!   `every_register_of_a_vector_load_is_a_destination`,
//!   `a_mask_instruction_reads_what_it_compares_and_its_counter`.
//! * Liveness from first to last touch, whole registers:
//!   `a_register_is_free_between_its_last_use_and_its_next_definition`,
//!   `halves_of_a_register_live_on_their_own`, `lanes_that_skip_a_branch_keep_their_registers`.
//! * Loops only where `while` and jump touch, marks behind them:
//!   `a_loop_is_found_whatever_stands_between_its_test_and_its_jump`.
//! * One wait per loop, one slot, nothing carried, nests counted flat:
//!   `every_wait_of_a_loop_counts_and_slots_are_told_apart`,
//!   `a_loop_carried_chain_is_found_through_several_registers`, `nested_loops_multiply`.
//! * Unknown costs one cycle, or what begins alike; conversions, bit counts and matrices:
//!   `the_unknown_never_costs_one`, `a_name_that_begins_like_another_has_its_own_cost`,
//!   `conversions_and_bit_counts_have_their_costs`, and `matrix_and_texture.rs`.
//! * One latency, no bandwidth, no sharing of bytes, no hiding:
//!   `a_longer_latency_is_an_assumption_the_user_can_change`,
//!   `bytes_limit_a_loop_that_no_latency_does`, `lanes_that_read_one_place_share_its_bytes`,
//!   `other_simdgroups_fill_a_stall`. What caches do is not modelled, and the report says so.
//! * "Real" cycles: `cycles_are_called_modelled`, `the_report_states_the_models_error`.
//! * Ends at the first `stop`: `helper_functions_and_the_constant_program_are_seen`,
//!   `code_after_a_stop_is_seen_when_something_jumps_there`; textures in
//!   `matrix_and_texture.rs`.

mod common;

use assay_agx::{Isa, Program, assemble};
use assay_chip::{Chip, CostModel};
use assay_profile::render::{Style, rows, text};
use assay_profile::{BoundKind, Options, Profile, Trouble};

fn options() -> Options {
    Options::new(Chip::named("m1").expect("m1"))
}

fn program(source: &str) -> Program {
    let code = assemble(Isa::G13, source, 0).expect("it assembles").code;
    Program {
        code,
        ..Program::new(Isa::G13, "test")
    }
}

fn profile(source: &str) -> Profile {
    Profile::new(&program(source), &options()).expect("a profile")
}

#[test]
fn every_register_of_a_vector_load_is_a_destination() {
    let profile = profile(
        "device_load 0, i32, xyzw, r4_r5_r6_r7, u0_u1, r2, unsigned
         wait 0
         fadd32 r1, r7, r6
         device_store 0, i32, xy, r4_r5, u0_u1, r2, unsigned, 0
         stop",
    );
    // r4 to r7 and the index: ten halves, and the store reads both of its registers.
    assert_eq!(profile.main.peak_half_registers, 10);
    let live: Vec<u16> = rows(&profile.main).iter().map(|row| row.pressure).collect();
    assert_eq!(live, [10, 10, 10, 6, 0]);
}

#[test]
fn a_register_is_free_between_its_last_use_and_its_next_definition() {
    // First touch to last touch would call r1 and r2 live throughout: six halves.
    let profile = profile(
        "mov_imm r1, 1, 0b0
         device_store 0, i32, x, r1, u0_u1, 0, unsigned, 0
         mov_imm r2, 1, 0b0
         device_store 0, i32, x, r2, u0_u1, 0, unsigned, 0
         mov_imm r1, 2, 0b0
         device_store 0, i32, x, r1, u0_u1, 0, unsigned, 0
         stop",
    );
    assert_eq!(profile.main.peak_half_registers, 2);
}

#[test]
fn halves_of_a_register_live_on_their_own() {
    let profile = profile(
        "mov_imm r1l, 1
         mov_imm r1h, 2
         fadd16 r2l, r1l, r1l
         fadd16 r2l, r2l, r1h
         device_store 0, i16, x, r2l, u0_u1, 0, unsigned, 0
         stop",
    );
    // Two halves at a time, though three are named.
    assert_eq!(profile.main.peak_half_registers, 2);
    assert_eq!(profile.main.half_registers, 5);
}

#[test]
fn lanes_that_skip_a_branch_keep_their_registers() {
    // r1 is overwritten under a mask: the lanes that skip it still need the old r1, so
    // it is live between its definition and the branch. r2 is defined on both sides
    // before its use, so it is not live before the branch.
    let profile = profile(
        "mov_imm r0l, 0
         mov_imm r1, 5, 0b0
         if_icmp r0l, ult, r6, 5, 1
         mov_imm r1, 7, 0b0
         mov_imm r2, 1, 0b0
         else_icmp r0l, ueq, 0, 0, 1
         mov_imm r2, 2, 0b0
         pop_exec r0l, 1
         device_store 0, i32, xy, r1_r2, u0_u1, 0, unsigned, 0
         stop",
    );
    let live: Vec<u16> = rows(&profile.main).iter().map(|row| row.pressure).collect();
    // Before: r6. Then r6 + r0l, + r1 (5 halves) at the branch; in it r0l, r1 and r2.
    assert_eq!(live, [3, 5, 5, 3, 5, 5, 5, 5, 4, 0]);
}

#[test]
fn a_loop_is_found_whatever_stands_between_its_test_and_its_jump() {
    let profile = profile(
        "mov_imm r0l, 0
         top: while_icmp r0l, ult, r1, u4, 1
         iadd r1, r1, 1
         fadd32 r2, r2, r2
         jmp_exec_any top
         pop_exec r0l, 1
         stop",
    );
    let depths: Vec<u32> = rows(&profile.main)
        .iter()
        .map(|row| row.loop_depth)
        .collect();
    // The marks are on the loop, not after it.
    assert_eq!(depths, [0, 1, 1, 1, 1, 0, 0]);
}

#[test]
fn every_wait_of_a_loop_counts_and_slots_are_told_apart() {
    let profile = profile(
        "mov_imm r0l, 0
         top: device_load 0, i32, x, r5, u2_u3, r1, unsigned
         device_load 1, i32, x, r6, u4_u5, r1, unsigned
         wait 0
         fadd32 r7, r5, r5
         wait 1
         fadd32 r7, r7, r6
         iadd r1, r1, 1
         while_icmp r0l, ult, r1, u4, 2
         jmp_exec_any top
         pop_exec r0l, 2
         stop",
    );
    let waits = &profile.main.waits;
    assert_eq!(waits.len(), 2);
    let offsets = |index: usize| -> Vec<u32> {
        let producers = &waits[index].producers;
        producers
            .iter()
            .map(|&id| profile.main.offset(id))
            .collect()
    };
    assert_eq!((waits[0].slot, offsets(0)), (0, vec![4]));
    assert_eq!((waits[1].slot, offsets(1)), (1, vec![12]));
    // A device load takes 64 cycles: one is issued in between, so the first wait stands
    // 62; the second load was issued one slot later and two slots passed since.
    assert_eq!(waits[0].stall, Some(62.0));
    assert_eq!(waits[1].stall, Some(0.0));
}

#[test]
fn a_loop_carried_chain_is_found_through_several_registers() {
    let profile = profile(
        "mov_imm r0l, 0
         top: fadd32 r3, r2, r4
         fmul32 r2, r3, r5
         iadd r1, r1, 1
         while_icmp r0l, ult, r1, u4, 2
         jmp_exec_any top
         pop_exec r0l, 2
         stop",
    );
    let chain = profile.main.loops[0].carried.as_ref().expect("a chain");
    let offsets: Vec<u32> = chain
        .instructions
        .iter()
        .map(|&id| profile.main.offset(id))
        .collect();
    assert_eq!(offsets.len(), 2);
    assert!(
        (chain.cycles - (2.2 + 2.21)).abs() < 0.01,
        "{}",
        chain.cycles
    );
}

#[test]
fn nested_loops_multiply() {
    let profile = profile(
        "mov_imm r0l, 0
         mov_imm r1, 0, 0b0
         outer: mov_imm r2, 0, 0b0
         inner: fadd32 r3, r3, r4
         iadd r2, r2, 1
         while_icmp r0l, ult, r2, 10, 2
         jmp_exec_any inner
         pop_exec r0l, 2
         iadd r1, r1, 1
         while_icmp r0l, ult, r1, 5, 2
         jmp_exec_any outer
         pop_exec r0l, 2
         stop",
    );
    let trips: Vec<Option<u64>> = profile.main.loops.iter().map(|l| l.trips).collect();
    assert_eq!(trips, [Some(5), Some(10)]);
    assert_eq!(profile.main.weighted.f32.exact(), Some(50.0));
    assert_eq!(profile.main.loops[0].costs.f32.exact(), Some(10.0));
}

#[test]
fn the_unknown_never_costs_one() {
    let profile = profile("fadd32 r1, r2, r3\n.short 0xffff\nstop");
    let main = &profile.main;
    assert_eq!((main.once.issue.known, main.once.issue.unknown), (2.0, 1));
    assert_eq!(main.once.issue.exact(), None);
    assert_eq!(main.bounds.verdict, None);
    assert!(main.bounds.sentence().contains("no known cost"));
    assert!(!main.registers_exact);
    assert_eq!(main.trouble, [Trouble::UnknownInstruction { offset: 6 }]);
    assert!(text(&profile, &Style::default()).contains("≥ 2 (1 unknown)"));
}

#[test]
fn conversions_and_bit_counts_have_their_costs() {
    let profile = profile(
        "convert s32_to_f, r1, r2, rte
         popcount r3, r2
         stop",
    );
    assert_eq!(profile.main.once.ic.exact(), Some(8.0));
}

#[test]
fn other_simdgroups_fill_a_stall() {
    let source = |registers: &str| {
        format!(
            "mov_imm r0l, 0
             fadd32 {registers}, r1, r2
             top: device_load 0, i32, x, r5, u2_u3, r1, unsigned
             wait 0
             fadd32 r7, r5, r5
             fadd32 r8, r5, r5
             fadd32 r9, r5, r5
             fadd32 r10, r5, r5
             iadd r1, r1, 1
             while_icmp r0l, ult, r1, u4, 2
             jmp_exec_any top
             pop_exec r0l, 2
             fadd32 r3, {registers}, r2
             stop"
        )
    };
    let full = profile(&source("r20"));
    let few = profile(&source("r127"));
    // The same stall for one simdgroup; eight hide it, three do not.
    assert_eq!(full.main.waits[0].stall, few.main.waits[0].stall);
    assert_eq!((full.occupancy.threads, few.occupancy.threads), (1024, 384));
    assert_eq!(full.main.waits[0].exposed, Some(0.0));
    assert!(few.main.waits[0].exposed > Some(10.0));
    assert_ne!(
        full.main.loops[0].bounds.verdict,
        Some(BoundKind::MemoryLatency)
    );
    assert_eq!(
        few.main.loops[0].bounds.verdict,
        Some(BoundKind::MemoryLatency)
    );
}

#[test]
fn a_longer_latency_is_an_assumption_the_user_can_change() {
    let source = "device_load 0, i32, x, r5, u2_u3, r1, unsigned\nwait 0\nstop";
    let slow = Options {
        memory_latency: Some(400.0),
        ..options()
    };
    let slow = Profile::new(&program(source), &slow).expect("a profile");
    assert_eq!(profile(source).main.waits[0].stall, Some(63.0));
    assert_eq!(slow.main.waits[0].stall, Some(399.0));
}

#[test]
fn cycles_are_called_modelled() {
    let text = text(&profile("fadd32 r1, r2, r3\nstop"), &Style::default());
    assert!(text.contains("all cycles are modelled"));
    assert!(!text.contains("real"));
}

#[test]
fn helper_functions_and_the_constant_program_are_seen() {
    let mut program = program(
        "call helper
         stop
         trap
         helper: fadd32 r2, r3, r4
         rcp r2, r2
         ret r1",
    );
    program.constant_program = assemble(Isa::G13, "fadd32 r1, u1, u2\nstop", 0)
        .expect("it assembles")
        .code;
    let profile = Profile::new(&program, &options()).expect("a profile");
    assert_eq!(profile.main.functions.len(), 2);
    assert_eq!(profile.main.instructions, 5);
    assert_eq!(profile.main.paths.longest.ic.exact(), Some(6.0));
    // The arguments in r3 and r4 are live at the call, the link register in the helper.
    assert_eq!(rows(&profile.main)[0].pressure, 6);
    let constant = profile.constant_program.expect("a constant program");
    assert_eq!(constant.instructions, 2);
}

#[test]
fn apples_loop_of_multiply_adds() {
    let code = common::apple("fma_loop.main");
    let program = Program {
        code,
        ..Program::new(Isa::G13, "fma_loop")
    };
    let profile = Profile::new(&program, &options()).expect("a profile");
    let main = &profile.main;
    assert_eq!(main.loops.len(), 1);
    let report = &main.loops[0];
    // Counter, eight multiply-adds on as many accumulators, test, jump.
    assert_eq!((report.start, report.end), (0x68, 0xbc));
    assert_eq!(report.costs.f32.exact(), Some(8.0));
    assert_eq!(report.costs.issue.exact(), Some(11.0));
    // Each accumulator depends on itself alone: one multiply-add per iteration.
    let chain = report.carried.as_ref().expect("a chain");
    assert_eq!(chain.instructions.len(), 1);
    assert!((chain.cycles - 2.21).abs() < 0.001);
    assert_eq!(report.bounds.verdict, Some(BoundKind::Issue));
    // One wait, for all five loads; the last of them was issued just before.
    assert_eq!(main.waits.len(), 1);
    let wait = &main.waits[0];
    let loads: Vec<u32> = wait.producers.iter().map(|&id| main.offset(id)).collect();
    assert_eq!(loads, [0x34, 0x3c, 0x44, 0x4c, 0x54]);
    assert_eq!(wait.slowest.map(|id| main.offset(id)), Some(0x54));
    assert_eq!(wait.stall, Some(63.0));
}

#[test]
fn apples_helper_with_a_loop_and_recursion() {
    let code = common::apple("simple_call.helper");
    let program = Program {
        code,
        ..Program::new(Isa::G13, "helper")
    };
    let profile = Profile::new(&program, &options()).expect("a profile");
    let main = &profile.main;
    assert_eq!(main.loops.len(), 1);
    assert_eq!((main.loops[0].start, main.loops[0].end), (0x74, 0xca));
    // It calls itself: how deep is not in the code, so the longest way is a lower bound.
    assert!(main.paths.longest.issue.unknown > 0);
    assert_eq!(main.waits.len(), 3);
    // The last wait collects the five registers restored from the stack.
    assert_eq!(main.waits[2].producers.len(), 5);
}

#[test]
fn mesas_table_leaves_memory_out_on_purpose() {
    let options = Options {
        costs: CostModel::Mesa,
        ..options()
    };
    let source = "device_load 0, i32, x, r5, u2_u3, r1, unsigned\nwait 0\nstop";
    let profile = Profile::new(&program(source), &options).expect("a profile");
    assert_eq!(profile.main.once.issue.exact(), Some(0.0));
    assert_eq!(profile.main.waits[0].stall, None);
}

#[test]
fn newer_chips_get_an_estimate_from_the_costs_of_an_m2() {
    let source = "fadd32 r1, r2, r3\nstop";
    let of = |name: &str| {
        let options = Options::new(Chip::named(name).expect("a chip"));
        Profile::new(&program(source), &options).expect("a profile")
    };
    let (m2, m4) = (of("m2"), of("m4"));
    assert_eq!(m4.main.once.f32, m2.main.once.f32);
    assert_eq!(m4.occupancy.threads, m2.occupancy.threads);
    assert_eq!(m4.chip, "m4");
}

#[test]
fn a_mask_instruction_reads_what_it_compares_and_its_counter() {
    let profile = profile(
        "mov_imm r0l, 0
         if_icmp r0l, ult, r3, r4, 1
         fadd32 r5, r6, r6
         else_icmp r0l, ult, r3, r7, 1
         fadd32 r5, r8, r8
         pop_exec r0l, 1
         device_store 0, i32, x, r5, u0_u1, 0, unsigned, 0
         stop",
    );
    let entry = |index: usize| &profile.main.code.entries()[index];
    // The first register of the text is the counter, read and written; the others are
    // only read.
    for (index, compared) in [(1, [3_u16, 4]), (3, [3, 7])] {
        let reads: Vec<u16> = entry(index).reads.iter().collect();
        let [a, b] = compared;
        assert_eq!(reads, [0, 2 * a, 2 * a + 1, 2 * b, 2 * b + 1]);
        assert_eq!(entry(index).writes.iter().collect::<Vec<_>>(), [0]);
    }
    // r7 is needed until the else, r4 only until the if.
    let live: Vec<u16> = rows(&profile.main).iter().map(|row| row.pressure).collect();
    assert!(live[1] > live[2], "{live:?}");
}

#[test]
fn a_name_that_begins_like_another_has_its_own_cost() {
    use assay_chip::Key;
    let profile = profile(
        "rsqrt r1, r2
         rsqrt_special r1, r2
         fadd32 r1, r2, r3
         fadd16 r1l, r2l, r3l
         imadd r1, r2, r3, r4
         imadd r8_r9, r2, r3, r10_r11
         stop",
    );
    let keys: Vec<Key> = (0..6)
        .filter_map(|index| profile.main.charges.get(index).map(|charge| charge.key))
        .collect();
    for (index, key) in keys.iter().enumerate() {
        assert!(!keys[..index].contains(key), "{key:?} twice");
    }
    assert!(profile.main.once.issue.exact().is_some());
}

#[test]
fn bytes_limit_a_loop_that_no_latency_does() {
    let profile = profile(
        "mov_imm r0l, 0
         top: device_load 0, i32, xyzw, r4_r5_r6_r7, u0_u1, r1, unsigned
         device_load 0, i32, xyzw, r8_r9_r10_r11, u2_u3, r1, unsigned
         iadd r1, r1, 1
         while_icmp r0l, ult, r1, u4, 2
         jmp_exec_any top
         pop_exec r0l, 2
         stop",
    );
    let report = &profile.main.loops[0];
    // 32 lanes of two times 16 bytes.
    assert_eq!(report.costs.device_bytes, 1024.0);
    assert_eq!(report.bounds.verdict, Some(BoundKind::CoreBytes));
    // DRAM would take longer still, unless caches help: said, but not decided.
    let dram = report.bounds.get(BoundKind::DeviceBytes).expect("a bound");
    let core = report.bounds.get(BoundKind::CoreBytes).expect("a bound");
    assert!(dram.cycles.known > core.cycles.known);
    assert!(
        report
            .bounds
            .cache_share_needed
            .is_some_and(|share| share > 0.5)
    );
}

#[test]
fn lanes_that_read_one_place_share_its_bytes() {
    let bytes = |index: &str| {
        let load = format!("device_load 0, i32, x, r4, u0_u1, {index}, unsigned\nwait 0\nstop");
        profile(&load).main.once.device_bytes
    };
    assert_eq!((bytes("r1"), bytes("3")), (128.0, 4.0));
}

#[test]
fn the_report_states_the_models_error() {
    let text = text(&profile("fadd32 r1, r2, r3\nstop"), &Style::default());
    assert!(text.contains("known error of the model"), "{text}");
}

#[test]
fn code_after_a_stop_is_seen_when_something_jumps_there() {
    let profile = profile(
        "mov_imm r0l, 0
         if_icmp r0l, ult, r1, r2, 1
         jmp_exec_any more
         stop
         more: rcp r3, r4
         stop",
    );
    assert_eq!(profile.main.once.ic.exact(), Some(6.0));
    assert_eq!(profile.main.instructions, 6);
}
