//! Group 2: compare and select, minimum and maximum, comparisons to a predicate.
//!
//! Integer or float is decided twice: by the condition for what is compared, by bit 18 for
//! what is selected. A 32-bit destination that starts in the middle of a register is a
//! predicate.

use super::super::{Field, Form, Role, Spec, hidden, plain};
use super::{VarSource, var_source};
use crate::bits::bits;
use crate::kind::Kind;
use crate::names::List;
use crate::op::{Class, Op};
use crate::standing::Standing;

/// A bit of the opcode that is zero, and one that is set.
const NO: u8 = 0;

const fn dest(high: u8, uniform: u8, top: u8) -> Spec {
    Spec {
        role: Role::Dest,
        ..plain(
            Field::Dest,
            Kind::SelectDst,
            bits(&[
                (3, 3),
                (4, 7),
                (22, 23),
                (high, high),
                (17, 17),
                (21, 21),
                (uniform, uniform),
                (top, top),
            ]),
        )
    }
}

/// A compared value: low bit, eighth bit, uniform, negate, absolute, brain float, and the bit
/// that says integer.
const fn compared(field: Field, more: [u8; 7]) -> Spec {
    let [low, high, uniform, negate, absolute, brain, integer] = more;
    let (register, cache, discard, wide) = match field {
        Field::A => (9, 15, 19, 8),
        _ => (25, 31, 20, 24),
    };
    var_source(VarSource {
        field,
        register,
        low,
        high,
        cache,
        discard,
        wide,
        uniform,
        negate,
        absolute,
        brain,
        integer,
    })
}

/// A selected value, as wide as the destination.
const fn selected(field: Field) -> Spec {
    selected_of(field, 17)
}

/// A selected value and the bit that says it is 32 bits wide.
const fn selected_of(field: Field, wide: u8) -> Spec {
    let register = match field {
        Field::X => 41,
        _ => 73,
    };
    Spec {
        role: Role::Source,
        ..plain(
            field,
            Kind::VarSrc,
            bits(&[
                (register - 1, register - 1),
                (register, register + 5),
                (register - 3, register - 3),
                (register + 6, register + 6),
                (register - 2, register - 2),
                (wide, wide),
                (register - 4, register - 4),
                (register - 5, register - 5),
                (register - 6, register - 6),
                (NO, NO),
                (18, 18),
            ]),
        )
    }
}

/// What is selected is integers.
const fn integers(usually: u64) -> Spec {
    hidden(Field::Mode, Kind::Int, bits(&[(18, 18)])).usually(usually)
}

const WAIT_45: Spec = plain(Field::Wait, Kind::WaitSlot, bits(&[(45, 47)]));
const WAIT_61: Spec = plain(Field::Wait, Kind::WaitSlot, bits(&[(61, 63)]));
const WAIT_61_93: Spec = plain(Field::Wait, Kind::WaitMask, bits(&[(61, 63), (93, 95)]));

const D6: Spec = dest(44, 38, NO);
const A6: Spec = compared(Field::A, [35, 40, 39, NO, NO, NO, 34]);
const B6: Spec = compared(Field::B, [36, 42, 41, 43, NO, NO, 34]);
const MINMAX_INT: &[Spec] = &[D6, A6, B6, WAIT_45, integers(1)];
const MINMAX_FLOAT: &[Spec] = &[D6, A6, B6, WAIT_45, integers(0)];
const COMPARE_6: &[Spec] = &[
    plain(
        Field::Condition,
        Kind::Choice(List::ConditionG15),
        bits(&[(32, 34)]),
    ),
    D6,
    A6,
    B6,
    WAIT_45,
    integers(0),
];

const D8: Spec = dest(60, 54, NO);
const D14: Spec = dest(60, 54, 82);
const A8: Spec = compared(Field::A, [51, 56, 55, NO, NO, NO, 50]);
const A10: Spec = compared(Field::A, [51, 56, 55, 65, NO, NO, 50]);
const A14: Spec = compared(Field::A, [51, 56, 55, 65, 96, 87, 50]);
const B8: Spec = compared(Field::B, [52, 58, 57, 59, NO, NO, 50]);
const B14: Spec = compared(Field::B, [52, 58, 57, 59, 97, 88, 50]);
const CONDITION: Spec = plain(
    Field::Condition,
    Kind::Choice(List::ConditionG15),
    bits(&[(48, 50), (34, 34)]),
);
const CMOV: &[Spec] = &[
    plain(
        Field::Condition,
        Kind::Choice(List::CmovCondition),
        bits(&[(48, 50), (34, 34), (32, 32)]),
    ),
    Spec {
        role: Role::Both,
        ..D8
    },
    A8,
    B8,
    selected(Field::X),
    WAIT_61,
    integers(1),
];
const SELECT_10: &[Spec] = &[
    CONDITION,
    D8,
    A10,
    B8,
    selected(Field::X),
    selected(Field::Y),
    WAIT_61,
    integers(1),
];
/// Half values to a predicate: not zero is set.
const SELECT_PREDICATE: &[Spec] = &[
    CONDITION,
    D8,
    A10,
    B8,
    selected_of(Field::X, NO),
    selected_of(Field::Y, NO),
    WAIT_61,
    integers(0),
];
const SELECT_14: &[Spec] = &[
    CONDITION,
    D14,
    A14,
    B14,
    selected(Field::X),
    selected(Field::Y),
    WAIT_61_93,
    integers(1),
];
const COMPARE_10: &[Spec] = &[CONDITION, D8, A10, B8, WAIT_61, integers(0)];
const COMPARE_14: &[Spec] = &[CONDITION, D14, A14, B14, WAIT_61_93, integers(0), FIRST_104];
/// Set in the first instruction of a block that is jumped to.
const FIRST_104: Spec = hidden(Field::Schedule, Kind::Int, bits(&[(104, 104)]));

const GROUP: u128 = 0b010;
/// Bits 3 and 17: the destination is a predicate; bit 4 clear: of the comparison itself.
const PREDICATE: (u128, u128) = (1 << 3 | 1 << 17, 0b11 << 3 | 1 << 17);

const fn minmax(name: &'static str, code: u128, specs: &'static [Spec]) -> Form {
    let fixed = (GROUP | code << 32, 0b111 | 1 << 16 | 0b111 << 32);
    Form::fixed(name, Op::Minmax, Class::Select, 6, fixed, specs).standing(Standing::Read)
}

const fn select(name: &'static str, op: Op, length: u8, specs: &'static [Spec]) -> Form {
    let (value, mask): (u128, u128) = match length {
        8 => (1 << 16, 1 << 16 | 1 << 33),
        10 => (1 << 16 | 0b10 << 32, 1 << 16 | 0b11 << 32),
        _ => (1 << 16 | 0b11 << 32, 1 << 16 | 0b11 << 32),
    };
    let fixed = (GROUP | value, 0b111 | mask);
    Form::fixed(name, op, Class::Select, length, fixed, specs).standing(Standing::Read)
}

/// The same with a predicate for destination.
const fn to_predicate(mut form: Form) -> Form {
    form.value |= PREDICATE.0;
    form.mask |= PREDICATE.1;
    form
}

/// The same with the value chosen, not the comparison.
const fn from_value(form: Form) -> Form {
    let mut form = to_predicate(form);
    form.value |= 1 << 4;
    form
}

pub(super) const FORMS: &[Form] = &[
    to_predicate(Form::fixed(
        "cmp",
        Op::Cmpsel,
        Class::Select,
        6,
        (GROUP, 0b111 | 1 << 16),
        COMPARE_6,
    ))
    .standing(Standing::Read),
    to_predicate(select("cmp", Op::Cmpsel, 10, COMPARE_10)),
    to_predicate(select("cmp", Op::Cmpsel, 14, COMPARE_14)),
    from_value(select("cmpsel", Op::Cmpsel, 10, SELECT_PREDICATE)),
    minmax("fmax", 0, MINMAX_FLOAT),
    minmax("fmin", 1, MINMAX_FLOAT),
    minmax("fmaxsse", 2, MINMAX_FLOAT),
    minmax("fminsse", 3, MINMAX_FLOAT),
    minmax("umax", 4, MINMAX_INT),
    minmax("umin", 5, MINMAX_INT),
    minmax("smax", 6, MINMAX_INT),
    minmax("smin", 7, MINMAX_INT),
    select("cmov", Op::Cmov, 8, CMOV),
    select("cmpsel", Op::Cmpsel, 10, SELECT_10),
    select("cmpsel", Op::Cmpsel, 14, SELECT_14),
];
