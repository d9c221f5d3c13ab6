//! Registers read and written, against the registers Mesa's text names.

mod common;

use assay_agx::{Field, Instruction, Isa, Op, Operand, RegSet, UniformSet};
use common::Case;

/// The registers and uniforms a Mesa text names.
#[derive(Default, Debug, PartialEq)]
struct Named {
    registers: RegSet,
    uniforms: UniformSet,
}

fn named(text: &str) -> Named {
    let mut named = Named::default();
    let operands = text.split_once(' ').map_or("", |(_, operands)| operands);
    for operand in operands.split(',') {
        let operand = operand.trim().trim_start_matches(['$', '^']);
        let operand = operand.split('.').next().unwrap_or_default();
        for part in operand.split('_') {
            let (wide, part) = match part.strip_prefix('d') {
                Some(rest) => (true, rest),
                None => (false, part),
            };
            let mut characters = part.chars();
            let file = characters.next().unwrap_or(' ');
            let rest = characters.as_str();
            let digits = rest.trim_end_matches(['l', 'h']);
            let number = digits.parse::<u16>().ok();
            let Some(number) = number.filter(|_| matches!(file, 'r' | 'u')) else {
                continue;
            };
            let halves = match (wide, &rest[digits.len()..]) {
                (true, _) => number * 2..number * 2 + 4,
                (false, "") => number * 2..number * 2 + 2,
                (false, "l") => number * 2..number * 2 + 1,
                (false, _) => number * 2 + 1..number * 2 + 2,
            };
            match file {
                'r' => named.registers.insert_range(halves),
                'u' => named.uniforms.insert_range(halves),
                _ => {}
            }
        }
    }
    named
}

/// What Mesa's text leaves out or says otherwise, none of it a difference of opinion
/// about the encoding.
fn adjust(insn: &Instruction, mesa: &mut Named, ours: &mut Named) {
    match insn.op() {
        // The nesting counter is not part of Mesa's text.
        Op::IfIcmp
        | Op::IfFcmp
        | Op::ElseIcmp
        | Op::ElseFcmp
        | Op::WhileIcmp
        | Op::WhileFcmp
        | Op::PopExec => {
            ours.registers.remove(0);
            if insn.reads().contains(0) {
                mesa.registers.remove(0);
            }
        }
        Op::Call | Op::CallReg => ours.registers = insn.reads(),
        // Mesa writes the uniforms that a preamble stores as a destination.
        Op::UniformStore => ours.uniforms = insn.uniforms_written(),
        // A lane index is named by its 32-bit register when marked so.
        Op::Shuffle => {
            if let Some(Operand::Reg(reg)) = insn.get(Field::B) {
                ours.registers.insert(reg.half | 1);
                ours.registers.insert(reg.half & !1);
                mesa.registers.insert(reg.half | 1);
                mesa.registers.insert(reg.half & !1);
            }
        }
        // Mesa names the first coordinate, gradient and comparison registers only, and
        // neither the pixel nor the tile data of image writes by count.
        Op::TextureSample | Op::TextureLoad | Op::ImageWrite | Op::ImageWriteBlock => {
            for field in [Field::Coordinates, Field::Lod, Field::CompareOffset] {
                if let Some(operand) = insn.get(field) {
                    mesa.registers.insert_range(operand.half_range());
                    ours.registers.insert_range(operand.half_range());
                }
            }
        }
        _ => {}
    }
}

fn check(cases: &[Case]) {
    let mut failures = Vec::new();
    for case in cases {
        let Ok(insn) = Instruction::decode(Isa::G13, &case.bytes) else {
            continue;
        };
        if insn.len() != case.bytes.len() {
            failures.push(format!("{}: {} bytes: {insn}", case.place, insn.len()));
            continue;
        }
        let mut ours = Named {
            registers: insn.reads().union(insn.writes()),
            uniforms: insn.uniforms_read(),
        };
        let mut mesa = named(&case.mesa);
        adjust(&insn, &mut mesa, &mut ours);
        if ours != mesa {
            failures.push(format!(
                "{}: {insn}\n  mesa {}\n  ours {ours:?}\n  mesa {mesa:?}",
                case.place, case.mesa
            ));
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} differ:\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    );
}

#[test]
fn golden_encodings_touch_the_registers_mesa_names() {
    check(&common::mesa_cases());
}

#[test]
fn compiled_programs_touch_the_registers_mesa_names() {
    for program in common::listings() {
        check(&program);
    }
}

#[test]
fn single_instructions_touch_the_registers_mesa_names() {
    check(&common::vectors());
}

#[test]
fn the_exec_counter_is_read_and_written_by_mask_instructions() {
    for text in [
        "if_icmp r0l, ueq, r1, 0, 1",
        "else_fcmp r0l, eq, 0.0, 0.0, 1",
        "while_icmp r0l, ult, r1, u0, 2",
        "pop_exec r0l, 1",
        "push_exec r0l, 1",
        "update_exec r0l",
    ] {
        let insn = Instruction::parse(Isa::G13, text, 0).expect(text);
        assert!(insn.reads().contains(0), "{text}");
        assert_eq!(insn.writes().iter().collect::<Vec<_>>(), [0], "{text}");
    }
}

#[test]
fn calls_write_the_link_register_and_matrices_touch_pairs() {
    let call = Instruction::parse(Isa::G13, "call pc+16", 0).expect("call");
    assert_eq!(call.writes().iter().collect::<Vec<_>>(), [2, 3]);
    let ret = Instruction::parse(Isa::G13, "ret r1", 0).expect("ret");
    assert_eq!(ret.reads().iter().collect::<Vec<_>>(), [2, 3]);
    let text = "simd_matrix_fmadd32 r8_r9, r0l_r0h, r1l_r1h.discard, r8_r9.cache";
    let matrix = Instruction::parse(Isa::G13, text, 0).expect("matrix");
    assert_eq!(matrix.words(0), text);
    assert_eq!(matrix.writes().iter().collect::<Vec<_>>(), [16, 17, 18, 19]);
    assert_eq!(
        matrix.reads().iter().collect::<Vec<_>>(),
        [0, 1, 2, 3, 16, 17, 18, 19]
    );
    assert_eq!(matrix.discards().iter().collect::<Vec<_>>(), [2, 3]);
}
