//! Groups 3 and 4, and the integer arithmetic of group 7.

use super::super::{Alias, Field, Form, Role, Spec, hidden, plain};
use super::{
    At, NO, SCHEDULE, VarSource, WAIT, dest, dest_of, lone_source, source, value_and, var_dest,
    var_source, wide,
};
use crate::bits::bits;
use crate::isa::Family;
use crate::kind::Kind;
use crate::op::{Class, Op};
use crate::standing::Standing;

// Group 3, bitwise functions. Bit 2 of the opcode is zero, bit 0 set.
const ZERO: u8 = 2;
const SET: u8 = 0;

const fn bit_dest(low: u8, high: u8, uniform: u8, top: u8) -> Spec {
    var_dest(low, high, 3, uniform, top, ZERO)
}

/// A source: register, low bit, eighth bit, width, uniform.
const fn bit_source(field: Field, register: u8, low: u8, high: u8, size: u8, uniform: u8) -> Spec {
    let (cache, discard) = match field {
        Field::A => (15, 19),
        _ => (31, 20),
    };
    Spec {
        // Immediates say 32 bits.
        default: 1 << 10,
        ..var_source(VarSource {
            field,
            register,
            low,
            high,
            cache,
            discard,
            wide: size,
            uniform,
            negate: ZERO,
            absolute: ZERO,
            brain: ZERO,
            integer: SET,
        })
    }
}

const BITOP_4: &[Spec] = &[
    bit_dest(ZERO, ZERO, ZERO, ZERO),
    bit_source(Field::A, 9, ZERO, ZERO, 8, ZERO),
    bit_source(Field::B, 25, ZERO, ZERO, 24, ZERO),
];
const MOV_4: &[Spec] = &[
    bit_dest(24, ZERO, 26, ZERO),
    bit_source(Field::A, 9, 8, ZERO, 3, 27),
    plain(Field::Wait, Kind::WaitSlot, bits(&[(29, 31)])),
];
const ZERO_4: &[Spec] = &[
    bit_dest(24, ZERO, 26, ZERO),
    plain(Field::Wait, Kind::WaitSlot, bits(&[(29, 31)])),
    hidden(Field::U0, Kind::Int, bits(&[(8, 15)])),
];
/// Makes the place an atomic's result comes from ready; writes no register.
const CLEAR_RESULT: &[Spec] = &[hidden(Field::U0, Kind::Int, bits(&[(4, 15)]))];
const CLEAR_RESULT_10: &[Spec] = &[
    WAIT_45_61,
    hidden(Field::U0, Kind::Int, bits(&[(4, 15)])),
    hidden(Field::U1, Kind::Int, bits(&[(48, 60)])).usually(0b1_0100_0000_0000),
];
const D10: Spec = bit_dest(34, 44, 38, 50);
const A10: Spec = bit_source(Field::A, 9, 35, 40, 8, 39);
const B10: Spec = bit_source(Field::B, 25, 36, 42, 24, 41);
const WAIT_45_61: Spec = plain(Field::Wait, Kind::WaitMask, bits(&[(45, 47), (61, 63)]));
/// Set in the first instruction of a block that is jumped to.
const FIRST_72: Spec = hidden(Field::Schedule, Kind::Int, bits(&[(72, 72)]));
const BITOP_10: &[Spec] = &[
    plain(
        Field::TruthTable,
        Kind::TruthTable,
        bits(&[(32, 33), (43, 43), (16, 16)]),
    ),
    D10,
    A10,
    B10,
    WAIT_45_61,
    FIRST_72,
];
/// No source at all.
const ZERO_10: &[Spec] = &[D10, WAIT_45_61, FIRST_72];
/// Functions of the first source alone: the second is `r0l` and is not read.
const UNARY_10: &[Spec] = &[D10, A10, WAIT_45_61, FIRST_72];
/// The bits of the truth table, and of the second source.
const TABLE: u128 = 0b11 << 32 | 1 << 43 | 1 << 16;
const SECOND: u128 = 0xff << 24 | 1 << 36 | 1 << 41 | 1 << 42 | 1 << 20;

const fn bitop(name: &'static str, op: Op, code: u128, specs: &'static [Spec]) -> Form {
    let fixed = (0b011 | code << 16, 0b111 | 0b111 << 16);
    Form::fixed(name, op, Class::Logic, 4, fixed, specs).standing(Standing::Read)
}

const fn bitop_10(
    name: &'static str,
    op: Op,
    (value, mask): (u128, u128),
    specs: &'static [Spec],
) -> Form {
    let fixed = (0b011 | 0b11 << 17 | value, 0b111 | 0b11 << 17 | mask);
    Form::fixed(name, op, Class::Logic, 10, fixed, specs).standing(Standing::Read)
}

// Group 4, immediates and special registers. Bit 0 of the opcode is zero.
const fn short_dest(low: u8, high: u8, extension: (u8, u8), cache: u8) -> Spec {
    Spec {
        role: Role::Dest,
        ..plain(
            Field::Dest,
            Kind::VarDst,
            bits(&[
                (low, low),
                (4, 7),
                (extension.0, extension.0),
                (extension.1, extension.1),
                (high, high),
                (3, 3),
                (cache, cache),
                (0, 0),
                (0, 0),
                (0, 0),
            ]),
        )
    }
}

const SLOT_29: Spec = plain(Field::Slot, Kind::Int, bits(&[(29, 31)]));

const MOV_2: &[Spec] = &[
    short_dest(0, 0, (0, 0), 0),
    plain(Field::Imm, Kind::Int, bits(&[(8, 14)])),
];
const MOV_8: &[Spec] = &[
    short_dest(18, 60, (22, 23), 21),
    plain(
        Field::Imm,
        Kind::Int,
        bits(&[(8, 14), (33, 36), (42, 43), (48, 59), (25, 31)]),
    ),
];
const GET_SR: &[Spec] = &[
    SLOT_29,
    short_dest(18, 60, (22, 23), 21),
    plain(
        Field::SpecialRegister,
        Kind::Special(Family::G15),
        bits(&[(8, 14)]),
    ),
    hidden(Field::Schedule, Kind::Int, bits(&[(24, 28)])).usually(0b00110),
    hidden(Field::U0, Kind::Int, bits(&[(32, 59)])),
];
const ATOMIC_RESULT: &[Spec] = &[
    SLOT_29,
    short_dest(18, 60, (22, 23), 21),
    hidden(Field::U0, Kind::Int, bits(&[(8, 14)])),
    hidden(Field::U1, Kind::Int, bits(&[(19, 19), (24, 28)])).usually(0b00_1111),
    hidden(Field::U2, Kind::Int, bits(&[(32, 59)])).usually(1 << 13),
];

const fn group_4(
    name: &'static str,
    op: Op,
    (value, mask): (u128, u128),
    length: u8,
    specs: &'static [Spec],
) -> Form {
    let fixed = (0b100 | value, 0b111 | mask);
    let class = match op {
        Op::GetSr => Class::SpecialRegister,
        Op::AtomicResult => Class::DeviceMemory,
        _ => Class::Logic,
    };
    Form::fixed(name, op, class, length, fixed, specs).standing(Standing::Read)
}

// Group 7.
const fn two(field: Field, value: u8, size: u8, discard: u8, register: u8) -> Spec {
    source(
        field,
        At {
            value,
            cache: value + 8,
            register,
            discard,
            size,
            sign: register + 1,
        },
    )
}

const A_ADD: Spec = two(Field::A, 41, 61, 65, 72);
const B_ADD: Spec = two(Field::B, 50, 63, 66, 74);
/// A bit that is always set in sums and products.
const SUM_68: Spec = hidden(Field::U0, Kind::Int, bits(&[(68, 68)])).usually(1);
const ADD: &[Spec] = &[dest(59), A_ADD, B_ADD, WAIT, SCHEDULE, SUM_68];
const ADD_SHIFTED: &[Spec] = &[
    dest(59),
    A_ADD,
    B_ADD,
    plain(Field::Shift, Kind::TermShift, bits(&[(62, 62), (76, 76)])),
    WAIT,
    SCHEDULE,
    SUM_68,
];
const fn term_64(field: Field, value: u8, size: (u8, u8), discard: u8, register: u8) -> Spec {
    Spec {
        role: Role::Source,
        ..plain(
            field,
            Kind::FixedSrc,
            value_and(
                value,
                &[value + 8, register, discard, size.0, size.1, register + 1],
            ),
        )
    }
}
const ADD_64: &[Spec] = &[
    dest_of(Kind::FixedDst, 59, 60),
    term_64(Field::A, 41, (61, 62), 65, 72),
    term_64(Field::B, 50, (63, 64), 66, 74),
    WAIT,
    SCHEDULE,
    SUM_68,
];
const MULTIPLY_ADD: &[Spec] = &[
    Spec {
        role: Role::Dest,
        ..plain(
            Field::Dest,
            Kind::FixedDst,
            bits(&[(24, 31), (32, 32), (33, 33), (68, 69)]),
        )
    },
    two(Field::A, 41, 70, 73, 81),
    two(Field::B, 50, 71, 74, 83),
    Spec {
        role: Role::Source,
        ..plain(
            Field::C,
            Kind::FixedAddend,
            value_and(59, &[67, 85, 75, 72, 86, 68, 69]),
        )
    },
    WAIT,
    SCHEDULE,
    hidden(Field::U0, Kind::Int, bits(&[(77, 77)])).usually(1),
];

const fn add(
    name: &'static str,
    op: Op,
    subtract: bool,
    (value, mask): (u128, u128),
    specs: &'static [Spec],
) -> Form {
    let opcode = 0x11f | if subtract { 0 } else { 0x80 };
    let fixed = (opcode | value, 0xfff | mask);
    Form::fixed(name, op, Class::IntegerAdd, 10, fixed, specs).standing(Standing::Read)
}

const fn multiply(name: &'static str, op: Op, opcode: u128) -> Form {
    wide(name, op, Class::IntegerMultiply, 12, opcode, MULTIPLY_ADD).saturating_by(87)
}

const UNARY: &[Spec] = &[
    dest(50),
    lone_source(51, 52, 58),
    WAIT,
    SCHEDULE,
    hidden(Field::U0, Kind::Int, bits(&[(54, 54)])).usually(1),
];
const SHIFT_RIGHT: &[Spec] = &[
    dest(59),
    source(
        Field::A,
        At {
            value: 41,
            cache: 49,
            register: 69,
            discard: 62,
            size: 60,
            sign: 70,
        },
    ),
    source(
        Field::B,
        At {
            value: 50,
            cache: 58,
            register: 71,
            discard: 63,
            size: 61,
            sign: NO,
        },
    ),
    WAIT,
    SCHEDULE,
    hidden(Field::U0, Kind::Int, bits(&[(65, 65)])).usually(1),
];
/// In G13's order: the field inserted into or extracted to comes first, though its bits are
/// last.
const BIT_FIELD: &[Spec] = &[
    dest(68),
    source(
        Field::A,
        At {
            value: 59,
            cache: 67,
            register: 83,
            discard: 74,
            size: 71,
            sign: NO,
        },
    ),
    source(
        Field::B,
        At {
            value: 41,
            cache: 49,
            register: 80,
            discard: 72,
            size: 69,
            sign: 81,
        },
    ),
    source(
        Field::C,
        At {
            value: 50,
            cache: 58,
            register: 82,
            discard: 73,
            size: 70,
            sign: NO,
        },
    ),
    plain(Field::BitMask, Kind::BitMask, bits(&[(84, 88)])),
    WAIT,
    SCHEDULE,
    hidden(Field::U0, Kind::Int, bits(&[(76, 76)])).usually(1),
];

pub(super) const FORMS: &[Form] = &[
    Form::fixed(
        "clear_result",
        Op::ClearResult,
        Class::DeviceMemory,
        4,
        (0b011 | 1 << 25, 0b111 | 0b111 << 16 | 1 << 25),
        CLEAR_RESULT,
    )
    .standing(Standing::Read),
    bitop("zero", Op::BitopUnary, 0, ZERO_4),
    bitop("mov", Op::BitopUnary, 1, MOV_4),
    bitop("mov5", Op::BitopUnary, 5, MOV_4),
    bitop("and", Op::Bitop, 2, BITOP_4),
    bitop("xor", Op::Bitop, 3, BITOP_4),
    bitop("or", Op::Bitop, 4, BITOP_4),
    bitop_10(
        "clear_result",
        Op::ClearResult,
        (1 << 37, TABLE | 1 << 37),
        CLEAR_RESULT_10,
    ),
    bitop_10("zero", Op::BitopUnary, (0, TABLE), ZERO_10),
    bitop_10(
        "mov",
        Op::BitopUnary,
        (1 << 33 | 1 << 16, TABLE | SECOND),
        UNARY_10,
    ),
    bitop_10(
        "not",
        Op::BitopUnary,
        (1 << 32 | 1 << 43, TABLE | SECOND),
        UNARY_10,
    ),
    bitop_10("bitop", Op::Bitop, (0, 0), BITOP_10).alias(Alias::BitopG15),
    group_4("mov_imm", Op::MovImm, (0, 1 << 15), 2, MOV_2),
    group_4(
        "mov_imm",
        Op::MovImm,
        (1 << 15 | 0b10 << 16, 1 << 15 | 0b11 << 16 | 1 << 20),
        8,
        MOV_8,
    ),
    group_4(
        "get_sr",
        Op::GetSr,
        (1 << 15 | 1 << 20, 1 << 15 | 0b11 << 16 | 1 << 20),
        4,
        GET_SR,
    ),
    group_4(
        "get_sr",
        Op::GetSr,
        (1 << 15 | 1 << 16 | 1 << 20, 1 << 15 | 0b11 << 16 | 1 << 20),
        8,
        GET_SR,
    ),
    group_4(
        "atomic_result",
        Op::AtomicResult,
        (1 << 15 | 1 << 16, 1 << 15 | 0b11 << 16 | 1 << 20),
        8,
        ATOMIC_RESULT,
    ),
    add("iadd", Op::Iadd, false, (1 << 64, 1 << 60 | 1 << 64), ADD).saturating_by(62),
    add("isub", Op::Isub, true, (1 << 64, 1 << 60 | 1 << 64), ADD).saturating_by(62),
    add("iadd", Op::Iadd, false, (0, 1 << 60 | 1 << 64), ADD_SHIFTED),
    add("isub", Op::Isub, true, (0, 1 << 60 | 1 << 64), ADD_SHIFTED),
    add("iadd", Op::Iadd, false, (0b10 << 59, 0b11 << 59), ADD_64),
    add("isub", Op::Isub, true, (0b10 << 59, 0b11 << 59), ADD_64),
    multiply("imadd", Op::Imadd, 0x09f),
    multiply("imsub", Op::Imsub, 0x01f),
    wide("bitrev", Op::Bitrev, Class::BitCount, 8, 0x4a7, UNARY),
    wide("popcount", Op::Popcount, Class::BitCount, 8, 0x527, UNARY),
    wide("ffs", Op::Ffs, Class::BitCount, 8, 0x5a7, UNARY),
    wide("asr", Op::Asr, Class::BitField, 10, 0x1a7, SHIFT_RIGHT),
    wide("asrh", Op::Asrh, Class::BitField, 10, 0x3a7, SHIFT_RIGHT),
    wide("bfi", Op::Bfi, Class::BitField, 12, 0x027, BIT_FIELD),
    wide("bfeil", Op::Bfeil, Class::BitField, 12, 0x0a7, BIT_FIELD),
    wide("extr", Op::Extr, Class::BitField, 12, 0x127, BIT_FIELD),
    wide("shlhi", Op::Shlhi, Class::BitField, 12, 0x227, BIT_FIELD),
    wide("shrhi", Op::Shrhi, Class::BitField, 12, 0x2a7, BIT_FIELD),
];
