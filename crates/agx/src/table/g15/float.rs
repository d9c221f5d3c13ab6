//! Groups 0 and 1: float add, multiply and multiply-add.
//!
//! Group 1 works in single precision, each operand of 16 or 32 bits by a flag of its own;
//! group 0 in half precision, where the flag's bit is the half of the register instead. The
//! forms of 8 and more bytes add uniforms, modifiers, brain floats and waits.

use super::super::{Field, Form, Role, Spec, plain};
use super::{VarSource, var_dest, var_source};
use crate::bits::bits;
use crate::kind::Kind;
use crate::op::{Class, Op};
use crate::standing::Standing;

/// A bit of the opcode that is zero in both groups.
const NO: u8 = 1;

/// The first or second source of a form of four bytes, or of more with these further bits.
const fn operand(field: Field, low: u8, wide: u8, more: [u8; 5]) -> Spec {
    let [high, uniform, negate, absolute, brain] = more;
    let first = matches!(field, Field::A);
    var_source(VarSource {
        field,
        register: if first { 9 } else { 25 },
        low,
        high,
        cache: if first { 15 } else { 31 },
        discard: if first { 19 } else { 20 },
        wide,
        uniform,
        negate,
        absolute,
        brain,
        integer: NO,
    })
}

/// The third source.
const fn addend(wide: u8, more: [u8; 5]) -> Spec {
    let [high, uniform, negate, absolute, brain] = more;
    var_source(VarSource {
        field: Field::C,
        register: 41,
        low: 40,
        high,
        cache: 47,
        discard: 39,
        wide,
        uniform,
        negate,
        absolute,
        brain,
        integer: NO,
    })
}

const NONE: [u8; 5] = [NO; 5];
const WAIT_45: Spec = plain(Field::Wait, Kind::WaitSlot, bits(&[(45, 47)]));
const WAIT_61: Spec = plain(Field::Wait, Kind::WaitSlot, bits(&[(61, 63)]));
const WAIT_45_61: Spec = plain(Field::Wait, Kind::WaitMask, bits(&[(45, 47), (61, 63)]));
const WAIT_61_77: Spec = plain(Field::Wait, Kind::WaitMask, bits(&[(61, 63), (77, 79)]));
/// Set in the first instruction of a block that is jumped to.
const FIRST_88: Spec = super::super::hidden(Field::Schedule, Kind::Int, bits(&[(88, 88)]));

/// A source is 32 bits wide by a flag whose usual value is set, also in immediates.
const fn single(spec: Spec) -> Spec {
    spec.usually(1 << 10)
}

// Single precision: the low bit of a register is in the longer forms only.
const A4: Spec = single(operand(Field::A, NO, 8, NONE));
const B4: Spec = single(operand(Field::B, NO, 24, NONE));
const TWO_4: &[Spec] = &[var_dest(NO, NO, 3, NO, NO, NO), A4, B4];
const TWO_6: &[Spec] = &[
    var_dest(34, 44, 3, 38, NO, NO),
    single(operand(Field::A, 35, 8, [40, 39, NO, NO, NO])),
    single(operand(Field::B, 36, 24, [42, 41, 43, NO, NO])),
    WAIT_45,
];
const TWO_8: &[Spec] = &[
    var_dest(34, 44, 3, 38, 50, 54),
    single(operand(Field::A, 35, 8, [40, 39, 49, NO, 55])),
    single(operand(Field::B, 36, 24, [42, 41, 43, NO, 56])),
    WAIT_45_61,
];
const TWO_10: &[Spec] = &[
    var_dest(34, 44, 3, 38, 50, 54),
    single(operand(Field::A, 35, 8, [40, 39, 49, 64, 55])),
    single(operand(Field::B, 36, 24, [42, 41, 43, 65, 56])),
    WAIT_45_61,
];
/// Multiply by the second source and add the destination.
const ACCUMULATE: &[Spec] = &[
    Spec {
        role: Role::Both,
        ..var_dest(NO, NO, 3, NO, NO, NO)
    },
    A4,
    B4,
];
/// Multiply by the destination and add the second source, which is always 32 bits.
const SCALE: &[Spec] = &[
    Spec {
        role: Role::Both,
        ..var_dest(NO, NO, 3, NO, NO, NO)
    },
    A4,
    Spec {
        field: Field::C,
        ..operand(Field::B, NO, 0, NONE)
    },
    super::super::hidden(Field::Schedule, Kind::Int, bits(&[(24, 24)])),
];
const THREE_6: &[Spec] = &[
    var_dest(34, NO, 3, NO, NO, NO),
    single(operand(Field::A, 35, 8, NONE)),
    single(operand(Field::B, 36, 24, [38, 37, NO, NO, NO])),
    addend(0, NONE),
];
const THREE_8: &[Spec] = &[
    var_dest(50, 60, 3, 54, NO, NO),
    single(operand(Field::A, 51, 8, [56, 55, NO, NO, NO])),
    single(operand(Field::B, 52, 24, [58, 57, 59, NO, NO])),
    addend(49, [38, 37, 36, 35, 34]),
    WAIT_61,
];
const THREE_10: &[Spec] = &[
    var_dest(50, 60, 3, 54, 66, 70),
    single(operand(Field::A, 51, 8, [56, 55, 65, 80, 71])),
    single(operand(Field::B, 52, 24, [58, 57, 59, 81, 72])),
    addend(49, [38, 37, 36, 35, 34]),
    WAIT_61_77,
    FIRST_88,
];

// Half precision: where single precision has the width, here is the low bit.
const HALF_A4: Spec = operand(Field::A, 8, NO, NONE);
const HALF_B4: Spec = operand(Field::B, 24, NO, NONE);
const HALF_TWO_4: &[Spec] = &[var_dest(3, NO, NO, NO, NO, NO), HALF_A4, HALF_B4];
const HALF_TWO_6: &[Spec] = &[
    var_dest(3, 44, NO, 38, NO, NO),
    operand(Field::A, 8, NO, [40, 39, NO, NO, NO]),
    operand(Field::B, 24, NO, [42, 41, 43, NO, NO]),
    WAIT_45,
];
const HALF_TWO_8: &[Spec] = &[
    var_dest(3, 44, NO, 38, 50, NO),
    operand(Field::A, 8, NO, [40, 39, 49, NO, NO]),
    operand(Field::B, 24, NO, [42, 41, 43, NO, NO]),
    WAIT_45_61,
];
const HALF_TWO_10: &[Spec] = &[
    var_dest(3, 44, NO, 38, 50, NO),
    operand(Field::A, 8, NO, [40, 39, 49, 64, NO]),
    operand(Field::B, 24, NO, [42, 41, 43, 65, NO]),
    WAIT_45_61,
];
const HALF_ACCUMULATE: &[Spec] = &[
    Spec {
        role: Role::Both,
        ..var_dest(3, NO, NO, NO, NO, NO)
    },
    HALF_A4,
    HALF_B4,
];
const HALF_SCALE: &[Spec] = &[
    Spec {
        role: Role::Both,
        ..var_dest(3, NO, NO, NO, NO, NO)
    },
    HALF_A4,
    Spec {
        field: Field::C,
        ..HALF_B4
    },
];
const HALF_THREE_6: &[Spec] = &[
    var_dest(3, NO, NO, NO, NO, NO),
    operand(Field::A, 8, NO, NONE),
    operand(Field::B, 24, NO, [38, 37, NO, NO, NO]),
    addend(NO, NONE),
];
const HALF_THREE_8: &[Spec] = &[
    var_dest(3, 60, NO, 54, NO, NO),
    operand(Field::A, 8, NO, [56, 55, NO, NO, NO]),
    operand(Field::B, 24, NO, [58, 57, 59, NO, NO]),
    addend(NO, [38, 37, 36, 35, NO]),
    WAIT_61,
];
const HALF_THREE_10: &[Spec] = &[
    var_dest(3, 60, NO, 54, 66, NO),
    operand(Field::A, 8, NO, [56, 55, 65, 80, NO]),
    operand(Field::B, 24, NO, [58, 57, 59, 81, NO]),
    addend(NO, [38, 37, 36, 35, NO]),
    WAIT_61_77,
    FIRST_88,
];

/// Bits 16 and 17: what is computed. Bit 18: longer than four bytes.
const ADD: u128 = 0 << 16;
const MUL: u128 = 1 << 16;
const FMA: u128 = 2 << 16;
const LONG: u128 = 1 << 18;

const SINGLE: u128 = 1;
const HALF: u128 = 0;

/// A form of four bytes.
const fn short(
    name: &'static str,
    op: Op,
    group: u128,
    code: u128,
    specs: &'static [Spec],
) -> Form {
    let mask = 0b111 | 0b111 << 16;
    Form::fixed(name, op, class(group), 4, (group | code, mask), specs).standing(Standing::Read)
}

/// A form of 6 or 8 bytes, told apart by bits 32 and 33.
const fn long(
    name: &'static str,
    op: Op,
    group: u128,
    (length, code): (u8, u128),
    specs: &'static [Spec],
) -> Form {
    let value = group | code | LONG | if length == 8 { 1 << 32 } else { 0 };
    let mask = 0b111 | 0b111 << 16 | 0b11 << 32;
    Form::fixed(name, op, class(group), length, (value, mask), specs).standing(Standing::Read)
}

/// A form of 10 or 12 bytes, told apart by bit 32; a product has 12 either way.
const fn longest(
    name: &'static str,
    op: Op,
    group: u128,
    (code, saturate): (u128, u8),
    specs: &'static [Spec],
) -> Form {
    let lengths = match code {
        MUL => (12, 12, 32),
        _ => (10, 12, 32),
    };
    let value = group | code | LONG | 1 << 33;
    let mask = 0b111 | 0b111 << 16 | 1 << 33;
    Form::sized(name, op, class(group), lengths, (value, mask), specs)
        .saturating_by(saturate)
        .standing(Standing::Read)
}

const fn class(group: u128) -> Class {
    match group {
        SINGLE => Class::Float32,
        _ => Class::Float16,
    }
}

pub(super) const FORMS: &[Form] = &[
    short("fadd", Op::Fadd32, SINGLE, ADD, TWO_4),
    short("fmul", Op::Fmul32, SINGLE, MUL, TWO_4),
    short("ffma", Op::Fmadd32, SINGLE, FMA, ACCUMULATE),
    short("ffma", Op::Fmadd32, SINGLE, FMA | MUL, SCALE),
    long("fadd", Op::Fadd32, SINGLE, (6, ADD), TWO_6),
    long("fmul", Op::Fmul32, SINGLE, (6, MUL), TWO_6),
    long("ffma", Op::Fmadd32, SINGLE, (6, FMA), THREE_6),
    long("fadd", Op::Fadd32, SINGLE, (8, ADD), TWO_8).saturating_by(57),
    long("fmul", Op::Fmul32, SINGLE, (8, MUL), TWO_8).saturating_by(57),
    long("ffma", Op::Fmadd32, SINGLE, (8, FMA), THREE_8),
    longest("fadd", Op::Fadd32, SINGLE, (ADD, 57), TWO_10),
    longest("fmul", Op::Fmul32, SINGLE, (MUL, 57), TWO_10),
    longest("ffma", Op::Fmadd32, SINGLE, (FMA, 73), THREE_10),
    short("fadd16", Op::Fadd16, HALF, ADD, HALF_TWO_4),
    short("fmul16", Op::Fmul16, HALF, MUL, HALF_TWO_4),
    short("ffma16", Op::Fmadd16, HALF, FMA, HALF_ACCUMULATE),
    short("ffma16", Op::Fmadd16, HALF, FMA | MUL, HALF_SCALE),
    long("fadd16", Op::Fadd16, HALF, (6, ADD), HALF_TWO_6),
    long("fmul16", Op::Fmul16, HALF, (6, MUL), HALF_TWO_6),
    long("ffma16", Op::Fmadd16, HALF, (6, FMA), HALF_THREE_6),
    long("fadd16", Op::Fadd16, HALF, (8, ADD), HALF_TWO_8).saturating_by(57),
    long("fmul16", Op::Fmul16, HALF, (8, MUL), HALF_TWO_8).saturating_by(57),
    long("ffma16", Op::Fmadd16, HALF, (8, FMA), HALF_THREE_8),
    longest("fadd16", Op::Fadd16, HALF, (ADD, 57), HALF_TWO_10),
    longest("fmul16", Op::Fmul16, HALF, (MUL, 57), HALF_TWO_10),
    longest("ffma16", Op::Fmadd16, HALF, (FMA, 73), HALF_THREE_10),
];
