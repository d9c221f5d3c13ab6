//! Instructions that other static profilers do not know: products of 8 × 8 matrices,
//! texture sampling and loading, image writes.

use assay_agx::{Isa, Placeholder, Program, Unencoded, UnencodedKind, assemble};
use assay_chip::{Chip, CostModel, Key, Unit};
use assay_profile::render::{Style, lines, rows, text};
use assay_profile::{BoundKind, Options, Profile};

const SAMPLE: &str = "texture_sample 0, 0b1100, 0b0, none, xyzw, 0b00, r4_r5_r6_r7, None, ts2, \
                      ss2, tex_2d, r2_r3, auto_lod, 0";
const LOAD: &str = "texture_load 0, 0b1100, 0b0, none, xyzw, 0b00, r8_r9_r10_r11, None, ts2, \
                    ss2, tex_2d, r2_r3, lod_min, u1l";

fn profile_with(source: &str, costs: CostModel) -> Profile {
    let code = assemble(Isa::G13, source, 0).expect("it assembles").code;
    let program = Program {
        code,
        ..Program::new(Isa::G13, "test")
    };
    let options = Options {
        costs,
        ..Options::new(Chip::named("m1").expect("m1"))
    };
    Profile::new(&program, &options).expect("a profile")
}

fn profile(source: &str) -> Profile {
    profile_with(source, CostModel::Measured)
}

#[test]
fn a_matrix_product_costs_what_was_measured_and_not_one_cycle() {
    let profile = profile(
        "simd_matrix_fmadd32 r8_r9, r0_r1, r2_r3, r8_r9
         simd_matrix_fmadd16 r10l_r10h, r11l_r11h, r12l_r12h, r10l_r10h
         stop",
    );
    let main = &profile.main;
    assert_eq!(main.once.f32.exact(), Some(18.0));
    assert_eq!(main.once.f16.exact(), Some(17.0));
    assert_eq!(main.once.issue.exact(), Some(18.0 + 17.0 + 1.0));
    let keys: Vec<Key> = (0..2)
        .filter_map(|index| main.charges.get(index).map(|charge| charge.key))
        .collect();
    assert_eq!(keys, [Key::SimdMatrixFmadd32, Key::SimdMatrixFmadd16]);
    let report = text(&profile, &Style::default());
    assert!(report.contains("matri"), "{report}");
}

#[test]
fn both_registers_of_every_matrix_operand_are_read_and_written() {
    let profile = profile(
        "simd_matrix_fmadd32 r8_r9, r0_r1, r2_r3, r4_r5
         device_store 0, i32, xy, r8_r9, u0_u1, r6, unsigned, 0
         stop",
    );
    // Three operands of two registers and the index; then the result and the index.
    let live: Vec<u16> = rows(&profile.main).iter().map(|row| row.pressure).collect();
    assert_eq!(live, [14, 6, 0]);
}

#[test]
fn an_accumulated_matrix_product_is_a_carried_chain() {
    let profile = profile(
        "mov_imm r0l, 0
         top: simd_matrix_fmadd32 r8_r9, r2_r3, r4_r5, r8_r9
         iadd r1, r1, 1
         while_icmp r0l, ult, r1, u4, 2
         jmp_exec_any top
         pop_exec r0l, 2
         stop",
    );
    let report = &profile.main.loops[0];
    let chain = report.carried.as_ref().expect("a chain");
    assert_eq!(chain.instructions.len(), 1);
    assert_eq!(chain.cycles, 36.0);
    assert_eq!(report.costs.f32.exact(), Some(18.0));
}

#[test]
fn mesas_table_has_no_matrix_costs_and_counts_nothing() {
    let source = "simd_matrix_fmadd32 r8_r9, r0_r1, r2_r3, r8_r9\nstop";
    let profile = profile_with(source, CostModel::Mesa);
    assert_eq!(profile.main.once.f32.exact(), Some(0.0));
}

#[test]
fn a_sample_is_waited_for_like_a_load() {
    let profile = profile(&format!("{SAMPLE}\nwait 0\nfadd32 r1, r4, r7\nstop"));
    let main = &profile.main;
    let charge = main.charges.get(0).expect("a charge");
    assert_eq!(
        (charge.key, charge.unit),
        (Key::TextureSample, Unit::Memory)
    );
    let wait = &main.waits[0];
    assert_eq!((wait.slot, wait.producers.len()), (0, 1));
    assert_eq!(wait.stall, Some(111.0));
    // Four registers arrive, two of them to be used.
    let live: Vec<u16> = rows(main).iter().map(|row| row.pressure).collect();
    assert_eq!(live, [8, 4, 4, 0]);
}

#[test]
fn what_a_texture_moves_is_unknown_and_said_so() {
    let profile = profile(&format!("{SAMPLE}\nwait 0\nstop"));
    let main = &profile.main;
    assert!(
        main.charges
            .get(0)
            .is_some_and(|charge| charge.bytes_unknown)
    );
    assert_eq!(main.once.unsized_accesses, 1);
    assert!(
        main.bounds
            .get(BoundKind::DeviceBytes)
            .is_none_or(|bound| bound.cycles.unknown > 0)
    );
    assert!(text(&profile, &Style::default()).contains("unknown"));
}

#[test]
fn a_texture_load_has_no_measured_latency_so_its_wait_has_no_stall() {
    let profile = profile(&format!("{LOAD}\nwait 0\nfadd32 r1, r8, r9\nstop"));
    let wait = &profile.main.waits[0];
    assert_eq!((wait.slot, wait.producers.len()), (0, 1));
    assert_eq!(wait.stall, None);
}

#[test]
fn an_image_write_reads_its_data_and_its_place() {
    let profile = profile(
        "image_write r4_r5_r6_r7, r8, r0h, None, ts2, tex_1d, rte, 1, 0, 9, 0
         stop",
    );
    let main = &profile.main;
    assert_eq!(
        main.charges.get(0).map(|charge| charge.key),
        Some(Key::ImageWrite)
    );
    // Four registers of data, one of coordinates and a half.
    assert_eq!(rows(main)[0].pressure, 11);
    assert_eq!(main.once.issue.exact(), Some(2.0));
}

/// A load, a texture atomic of two half registers that gives two others, and their store; on line 7.
fn with_atomic(bytes: Option<u8>) -> Profile {
    let before = "get_sr r0, sr80\ndevice_load 0, i32, x, r1, u0_u1, r0, unsigned\nwait 0";
    let after = "device_store 0, i32, x, r2, u2_u3, r0, unsigned, 0\nstop";
    let bytes_of = |text: &str| assemble(Isa::G13, text, 0).expect("it assembles").code;
    let mut code = bytes_of(before);
    let offset = code.len() as u32;
    code.extend(Placeholder::PARCEL.to_le_bytes());
    code.extend(bytes_of(after));
    let program = Program {
        code,
        placeholders: vec![Placeholder {
            offset,
            operation: Unencoded {
                kind: UnencodedKind::TextureAtomic,
                bytes,
            },
            reads: vec![2, 3],
            writes: vec![4, 5],
        }],
        lines: vec![assay_agx::Line {
            offset: 0,
            file: 0,
            line: 7,
            column: 0,
            call: None,
        }],
        files: vec!["count.metal".to_owned()],
        ..Program::new(Isa::G13, "count")
    };
    Profile::new(&program, &Options::new(Chip::named("m1").expect("m1"))).expect("a profile")
}

#[test]
fn an_operation_without_an_encoding_is_a_memory_access_of_unknown_cost() {
    let profile = with_atomic(Some(4));
    let main = &profile.main;
    let charge = main.charges.get(3).expect("a charge");
    assert_eq!((charge.key, charge.unit), (Key::Unknown, Unit::Memory));
    assert_eq!(
        (charge.issue, charge.cycles, charge.latency),
        (None, None, None)
    );
    // The load, the texels and the store, of 32 threads.
    assert_eq!(main.once.device_bytes, 3.0 * 4.0 * 32.0);
    assert_eq!(main.once.unsized_accesses, 0);
    assert_eq!(main.once.memory.exact(), None);
    assert_eq!(main.once.issue.unknown, 1);
    assert_eq!(main.bounds.verdict, None);
}

#[test]
fn the_registers_of_an_operation_without_an_encoding_are_known() {
    let profile = with_atomic(Some(4));
    assert!(profile.main.registers_exact);
    assert_eq!(profile.main.trouble, []);
    // The position and what the atomic reads, then the position and what it gives.
    let live: Vec<u16> = rows(&profile.main).iter().map(|row| row.pressure).collect();
    assert_eq!(live[2..5], [4, 4, 4]);
}

#[test]
fn the_report_names_operations_without_an_encoding() {
    let profile = with_atomic(Some(4));
    let [operation] = &profile.unknown_operations[..] else {
        panic!("{:?}", profile.unknown_operations);
    };
    assert_eq!(operation.operation, "texture atomic");
    assert_eq!(operation.bytes_per_thread, Some(4));
    assert_eq!(operation.place.as_deref(), Some("count.metal:7"));
    let report = text(&profile, &Style::default());
    let report = report.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "unknown operations: texture atomic at count.metal:7 (4 bytes a thread)",
        "totals are lower bounds",
        "6 (1 unknown)",
    ] {
        assert!(report.contains(words), "{words}: {report}");
    }
    assert_eq!(lines(&profile)[0].unknown, 1);
    let row = &rows(&profile.main)[3];
    assert_eq!(
        row.text,
        "<texture atomic, 4 bytes a thread: encoding not publicly known>"
    );
    // It is not code of another chip, which the finding on unknown instructions warns of.
    let rules: Vec<&str> = profile
        .findings
        .iter()
        .map(|finding| finding.rule)
        .collect();
    assert!(!rules.contains(&"unknown-instruction"), "{rules:?}");
}

#[test]
fn an_operation_may_move_an_unknown_number_of_bytes() {
    let profile = with_atomic(None);
    assert_eq!(profile.main.once.unsized_accesses, 1);
    assert_eq!(profile.main.once.device_bytes, 2.0 * 4.0 * 32.0);
    assert_eq!(profile.unknown_operations[0].bytes_per_thread, None);
}
