//! Conversions, roundings, transcendentals, packed formats.

use super::super::{Field, Form, Role, Spec, hidden, plain};
use super::{At, NO, SCHEDULE, WAIT, dest, dest_of, source, value_and, wide};
use crate::bits::bits;
use crate::kind::Kind;
use crate::names::List;
use crate::op::{Class, Op};

/// A float source: register, discard, 32 bits wide, negate, absolute, half.
const fn float(field: Field, value: u8, singles: [u8; 6]) -> Spec {
    let [register, discard, single, negate, absolute, half] = singles;
    Spec {
        role: Role::Source,
        ..plain(
            field,
            Kind::FixedFloatSrc,
            value_and(
                value,
                &[value + 8, register, discard, single, negate, absolute, half],
            ),
        )
    }
}

/// A bit that is always set.
const fn set(field: Field, bit: u8) -> Spec {
    hidden(field, Kind::Int, bits(&[(bit, bit)])).usually(1)
}

const A_UNARY: Spec = float(Field::A, 41, [62, 53, 52, 64, 63, 51]);
const UNARY: &[Spec] = &[
    dest_of(Kind::FixedFloatDst, 61, 50),
    A_UNARY,
    WAIT,
    SCHEDULE,
    set(Field::U0, 55),
];
const RECIPROCAL: &[Spec] = &[
    dest_of(Kind::FixedFloatDst, 68, 57),
    float(Field::A, 41, [69, 52, 59, 71, 70, 58]),
    WAIT,
    SCHEDULE,
    set(Field::U0, 62),
];
const FROM_FLOAT: &[Spec] = &[
    plain(
        Field::Mode,
        Kind::Choice(List::FromFloatG15),
        bits(&[(62, 63), (64, 64)]),
    ),
    dest(50),
    float(Field::A, 41, [59, 53, 52, 61, 60, 51]),
    WAIT,
    SCHEDULE,
    set(Field::U0, 55),
    set(Field::U1, 65),
];
const TO_FLOAT: &[Spec] = &[
    plain(
        Field::Mode,
        Kind::Choice(List::ToFloatG15),
        bits(&[(52, 52), (62, 62), (51, 51)]),
    ),
    dest(50),
    source(
        Field::A,
        At {
            value: 41,
            cache: 49,
            register: 61,
            discard: 53,
            size: 51,
            sign: NO,
        },
    ),
    plain(
        Field::Round,
        Kind::Choice(List::ImageRound),
        bits(&[(60, 60)]),
    ),
    WAIT,
    SCHEDULE,
    set(Field::U0, 55),
];
const PACK: &[Spec] = &[
    plain(Field::Mode, Kind::Choice(List::PackMode), bits(&[(77, 79)])),
    Spec {
        role: Role::Dest,
        ..plain(
            Field::Dest,
            Kind::PackDst,
            bits(&[(24, 31), (32, 32), (33, 33), (77, 79), (73, 73), (75, 75)]),
        )
    },
    float(Field::A, 41, [70, 63, 60, 72, 71, 59]),
    float(Field::B, 50, [73, 64, 62, 76, 74, 61]),
    WAIT,
    SCHEDULE,
    hidden(Field::U0, Kind::Int, bits(&[(75, 75)])),
    set(Field::U1, 66),
];
const UNPACK: &[Spec] = &[
    plain(Field::Mode, Kind::Choice(List::PackMode), bits(&[(60, 62)])),
    Spec {
        role: Role::Dest,
        ..plain(
            Field::Dest,
            Kind::UnpackDst,
            bits(&[(24, 31), (32, 32), (50, 50), (63, 63)]),
        )
    },
    Spec {
        role: Role::Source,
        ..plain(
            Field::A,
            Kind::UnpackSrc,
            bits(&[(41, 48), (49, 49), (52, 52), (51, 51)]),
        )
    },
    WAIT,
    SCHEDULE,
    hidden(Field::U0, Kind::Int, bits(&[(56, 59)])).usually(0b1010),
];

const fn rounding(name: &'static str, op: Op, mode: u128) -> Form {
    let mut form = wide(name, op, Class::Round, 10, 0x02f, UNARY);
    form.value |= mode << 65;
    form.mask |= 0b11 << 65;
    form
}

const fn unary(name: &'static str, op: Op, opcode: u128) -> Form {
    wide(name, op, Class::Transcendental, 10, opcode, UNARY)
}

pub(super) const FORMS: &[Form] = &[
    rounding("rint", Op::Rint, 0),
    rounding("floor", Op::Floor, 1),
    rounding("ceil", Op::Ceil, 2),
    rounding("trunc", Op::Trunc, 3),
    wide("rcp", Op::Rcp, Class::Transcendental, 10, 0x0af, RECIPROCAL),
    unary("rsqrt", Op::Rsqrt, 0x1af),
    unary("rsqrt_special", Op::RsqrtSpecial, 0x12f),
    unary("sinc", Op::SinPt2, 0x32f),
    unary("log2", Op::Log2, 0x22f),
    unary("exp2", Op::Exp2, 0x2af),
    wide(
        "convert",
        Op::Convert,
        Class::Convert,
        10,
        0x727,
        FROM_FLOAT,
    ),
    wide("convert", Op::Convert, Class::Convert, 8, 0x7a7, TO_FLOAT),
    wide("pack", Op::Pack, Class::Convert, 10, 0x497, PACK),
    wide("unpack", Op::Unpack, Class::Convert, 8, 0x417, UNPACK),
];
