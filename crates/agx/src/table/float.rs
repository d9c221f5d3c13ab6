//! Float arithmetic.

use super::{Field, Form, Spec, dest, hidden, plain, source};
use crate::bits::bits;
use crate::kind::Kind;
use crate::op::{Class, Op};

const D44: Spec = dest(Field::Dest, Kind::Dst32, bits(&[(7, 14), (44, 45)]));
const A42: Spec = source(Field::A, Kind::SrcFloat, bits(&[(16, 27), (42, 43)]));

const FMADD32: &[Spec] = &[
    dest(Field::Dest, Kind::Dst32, bits(&[(7, 14), (60, 61)])),
    source(Field::A, Kind::SrcFloat, bits(&[(16, 27), (58, 59)])),
    source(Field::B, Kind::SrcFloat, bits(&[(28, 39), (56, 57)])),
    source(Field::C, Kind::SrcFloat, bits(&[(40, 51), (54, 55)])),
];
const FMADD16: &[Spec] = &[
    dest(Field::Dest, Kind::Dst16, bits(&[(7, 14), (60, 61)])),
    source(Field::A, Kind::SrcHalf, bits(&[(16, 26), (58, 59)])),
    source(Field::B, Kind::SrcHalf, bits(&[(28, 38), (56, 57)])),
    source(Field::C, Kind::SrcHalf, bits(&[(40, 50), (54, 55)])),
];
const BINARY32: &[Spec] = &[
    D44,
    A42,
    source(Field::B, Kind::SrcFloat, bits(&[(28, 39), (40, 41)])),
];
const BINARY16: &[Spec] = &[
    dest(Field::Dest, Kind::Dst16, bits(&[(7, 14), (44, 45)])),
    source(Field::A, Kind::SrcHalf, bits(&[(16, 26), (42, 43)])),
    source(Field::B, Kind::SrcHalf, bits(&[(28, 38), (40, 41)])),
];
const UNARY: &[Spec] = &[D44, A42];
const DERIVATIVE: &[Spec] = &[D44, A42, hidden(Field::Kill, Kind::Int, bits(&[(46, 46)]))];

const fn three(
    name: &'static str,
    op: Op,
    class: Class,
    value: u128,
    specs: &'static [Spec],
) -> Form {
    Form::sized(name, op, class, (6, 8, 15), (value, 0x3f), specs).saturating()
}

const fn two(
    name: &'static str,
    op: Op,
    class: Class,
    value: u128,
    specs: &'static [Spec],
) -> Form {
    Form::sized(name, op, class, (4, 6, 15), (value, 0x3f), specs).saturating()
}

/// A unary operation: the six bits where a second source would be select it.
const fn one(name: &'static str, op: Op, class: Class, code: u128, specs: &'static [Spec]) -> Form {
    let fixed = (0xa | code << 28, 0x3ff_f000_003f);
    Form::sized(name, op, class, (4, 6, 15), fixed, specs).saturating()
}

pub(super) const FORMS: &[Form] = &[
    three("fmadd32", Op::Fmadd32, Class::Float32, 0x3a, FMADD32),
    three("fmadd16", Op::Fmadd16, Class::Float16, 0x36, FMADD16),
    two("fadd32", Op::Fadd32, Class::Float32, 0x2a, BINARY32),
    two("fadd16", Op::Fadd16, Class::Float16, 0x26, BINARY16),
    two("fmul32", Op::Fmul32, Class::Float32, 0x1a, BINARY32),
    two("fmul16", Op::Fmul16, Class::Float16, 0x16, BINARY16),
    one("floor", Op::Floor, Class::Round, 0b00_0000, UNARY),
    one("ceil", Op::Ceil, Class::Round, 0b01_0000, UNARY),
    one("trunc", Op::Trunc, Class::Round, 0b10_0000, UNARY),
    one("rint", Op::Rint, Class::Round, 0b11_0000, UNARY),
    one("rcp", Op::Rcp, Class::Transcendental, 0b00_1000, UNARY),
    one("rsqrt", Op::Rsqrt, Class::Transcendental, 0b00_1001, UNARY),
    one(
        "rsqrt_special",
        Op::RsqrtSpecial,
        Class::Transcendental,
        0b00_0001,
        UNARY,
    ),
    one(
        "sin_pt_1",
        Op::SinPt1,
        Class::Transcendental,
        0b00_1010,
        UNARY,
    ),
    one(
        "sin_pt_2",
        Op::SinPt2,
        Class::Transcendental,
        0b00_1110,
        UNARY,
    ),
    one("log2", Op::Log2, Class::Transcendental, 0b00_1100, UNARY),
    one("exp2", Op::Exp2, Class::Transcendental, 0b00_1101, UNARY),
    one("dfdx", Op::Dfdx, Class::Derivative, 0b00_0100, DERIVATIVE),
    one("dfdy", Op::Dfdy, Class::Derivative, 0b00_0110, DERIVATIVE),
    Form::sized(
        "funop",
        Op::FloatUnaryUnknown,
        Class::Transcendental,
        (4, 6, 15),
        (0xa, 0x3fc_0000_003f),
        &[
            D44,
            A42,
            plain(Field::Op1, Kind::Binary(6), bits(&[(28, 33)])),
        ],
    )
    .saturating(),
];
