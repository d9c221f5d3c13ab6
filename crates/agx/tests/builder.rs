//! Instructions built from operands, as a code generator does.

use assay_agx::{
    Builder, EncodeError, Field, Hint, Instruction, Isa, List, MiniFloat, Modifiers, Op, Operand,
    Reg, Uniform,
};

fn words(builder: &Builder) -> String {
    builder.build().expect("encodable").words(0)
}

#[test]
fn arithmetic_takes_registers_uniforms_and_immediates() {
    let add = Builder::new(Isa::G13, Op::Iadd)
        .dest(Reg::pair(4))
        .a(Reg::pair(0).hint(Hint::Discard))
        .b(Reg::word(2).mods(Modifiers {
            sx: true,
            ..Modifiers::NONE
        }))
        .set(Field::Shift, Operand::Shift(2));
    assert_eq!(words(&add), "iadd r4_r5, r0_r1.discard, r2.sx, lsl 2");
    let multiply = Builder::new(Isa::G13, Op::Fmul32)
        .dest(Reg::word(1).hint(Hint::Cache))
        .a(Uniform::word(130))
        .b(Operand::Float(MiniFloat(0x30), Modifiers::NONE))
        .saturate(true);
    assert_eq!(words(&multiply), "fmul32.sat r1.cache, u130, 1.0");
}

#[test]
fn the_shortest_encoding_is_chosen() {
    let length = |register| {
        Builder::new(Isa::G13, Op::MovImm)
            .dest(Reg::word(register))
            .set(Field::Imm, Operand::Imm(7))
            .build()
            .expect("encodable")
            .len()
    };
    assert_eq!(length(3), 6);
    assert_eq!(length(90), 8);
}

#[test]
fn a_load_gets_its_mask_from_the_registers() {
    let load = Builder::new(Isa::G13, Op::DeviceLoad)
        .set(Field::Data, Reg::word(4).times(2))
        .set(Field::Format, Operand::Choice(List::Format, 2))
        .set(Field::Base, Uniform::pair(0))
        .set(Field::Index, Reg::word(1))
        .set(Field::IndexSign, Operand::Choice(List::Sign, 1));
    assert_eq!(
        words(&load),
        "device_load 0, i32, xy, r4_r5, u0_u1, r1, unsigned"
    );
}

#[test]
fn selects_shuffles_and_reductions() {
    let select = Builder::new(Isa::G13, Op::Icmpsel)
        .set(Field::Condition, Operand::Choice(List::IntegerCondition, 1))
        .dest(Reg::word(0))
        .a(Reg::word(1))
        .b(Operand::Imm(5))
        .set(Field::X, Uniform::word(200))
        .set(Field::Y, Operand::Imm(0));
    assert_eq!(words(&select), "icmpsel ult, r0, r1, 5, u200, 0");
    let shuffle = Builder::new(Isa::G13, Op::Shuffle)
        .named("simd_shuffle_xor")
        .dest(Reg::word(0))
        .a(Reg::word(1))
        .b(Operand::Imm(16));
    assert_eq!(words(&shuffle), "simd_shuffle_xor r0, r1, 16");
    let sum = Builder::new(Isa::G13, Op::Reduce)
        .named("simd_fadd")
        .dest(Reg::word(0))
        .a(Reg::word(1));
    assert_eq!(words(&sum), "simd_fadd r0, r1");
}

#[test]
fn a_global_atomic_is_coherent_as_the_chip_wants() {
    let atomic = |isa| {
        Builder::new(isa, Op::Atomic)
            .set(Field::AtomicOp, Operand::Choice(List::AtomicOp, 0))
            .set(Field::Base, Uniform::pair(0))
            .set(Field::Index, Reg::word(1))
            .set(Field::Value, Reg::word(2))
            .build()
            .expect("encodable")
    };
    assert_eq!(
        atomic(Isa::G13).bytes(),
        [0x15, 0x00, 0x20, 0x8c, 0x00, 0x50, 0x04, 0x00]
    );
    assert_eq!(
        atomic(Isa::G13).words(0),
        "atomic add, 0, None, u0_u1, r1, signed, r2, 1, 0, 1, 4, 2"
    );
    let both = atomic(Isa::G13).word() ^ atomic(Isa::G13X).word();
    assert_eq!(both, 1 << 45);
}

#[test]
fn what_cannot_be_encoded_says_which_operand() {
    let wide = Builder::new(Isa::G13, Op::Fadd16)
        .dest(Reg::half(0))
        .a(Reg::word(1))
        .b(Reg::half(4))
        .build();
    assert_eq!(
        wide,
        Err(EncodeError::Unencodable {
            op: Op::Fadd16,
            field: Field::A,
            operand: Reg::word(1).into()
        })
    );
    let missing = Builder::new(Isa::G13, Op::Fadd16)
        .dest(Reg::half(0))
        .build();
    assert_eq!(
        missing,
        Err(EncodeError::Missing {
            op: Op::Fadd16,
            field: Field::A
        })
    );
    let high = Builder::new(Isa::G13, Op::DeviceLoad)
        .set(Field::Data, Reg::word(0))
        .set(Field::Base, Uniform::pair(130))
        .build();
    assert!(matches!(
        high,
        Err(EncodeError::Unencodable {
            field: Field::Base,
            ..
        })
    ));
    let clamp = Builder::new(Isa::G13, Op::Stop).saturate(true).build();
    assert_eq!(clamp, Err(EncodeError::CannotSaturate { op: Op::Stop }));
}

#[test]
fn an_instruction_is_rebuilt_from_its_own_arguments() {
    for text in [
        "fmadd32 r0, r1.discard.neg, u4.abs, -0.5",
        "bfi r1, 0, r2, 7, mask 0xFF",
        "while_icmp r0l, ult, r1, u4, 2",
        "threadgroup_store i16, xz, r10l_r10h, r22l, 59",
        "texture_sample 0, 0b1100, 0b0, none, xyzw, 0b00, r4_r5_r6_r7, None, ts2, ss2, \
         tex_2d, r2_r3.discard, auto_lod, 0",
        "stack_adjust -92",
    ] {
        let insn = Instruction::parse(Isa::G13, text, 0).expect(text);
        let mut builder = Builder::new(Isa::G13, insn.op()).saturate(insn.saturate());
        for argument in insn.arguments() {
            builder = builder.set(argument.field, argument.operand);
        }
        assert_eq!(words(&builder), text);
    }
}
