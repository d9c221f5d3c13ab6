//! Cross-lane instructions: reductions, shuffles, ballots, matrices.

use super::super::{Field, Form, Meaning, Spec, dest as written, hidden, plain, source as read};
use super::{At, NO, SCHEDULE, WAIT, YES, dest, lone_source, source, wide};
use crate::bits::bits;
use crate::kind::Kind;
use crate::op::{Class, Op};
use crate::semantics::{ReduceOp, Scope, Shuffle, ShuffleKind};

const fn prefix(bit: u8) -> Spec {
    plain(
        Field::Prefix,
        Kind::Choice(crate::names::List::Prefix),
        bits(&[(bit, bit)]),
    )
}

const INTEGER: &[Spec] = &[
    dest(50),
    lone_source(52, 57, 56),
    prefix(59),
    WAIT,
    SCHEDULE,
];
const FLOAT: &[Spec] = &[
    dest(50),
    lone_source(52, 60, 57),
    prefix(61),
    WAIT,
    SCHEDULE,
];
/// Minimum and maximum of floats say their widths in other bits, of which one value is seen.
const EXTREME: &[Spec] = &[
    dest(YES),
    lone_source(YES, 60, 57),
    prefix(61),
    WAIT,
    SCHEDULE,
    hidden(Field::U0, Kind::Int, bits(&[(50, 53)])).usually(0b0010),
];

const fn reduce(name: &'static str, opcode: u128, op: ReduceOp, scope: Scope) -> Form {
    let specs = match op {
        ReduceOp::FloatAdd | ReduceOp::FloatMul => FLOAT,
        ReduceOp::FloatMin | ReduceOp::FloatMax => EXTREME,
        _ => INTEGER,
    };
    wide(name, Op::Reduce, Class::Reduction, 8, opcode, specs).meaning(Meaning::Reduce(op, scope))
}

const SHUFFLE: &[Spec] = &[
    dest(58),
    source(
        Field::A,
        At {
            value: 41,
            cache: 65,
            register: YES,
            discard: 66,
            size: 59,
            sign: NO,
        },
    ),
    source(
        Field::B,
        At {
            value: 49,
            cache: NO,
            register: 68,
            discard: 67,
            size: NO,
            sign: NO,
        },
    ),
    WAIT,
    SCHEDULE,
    hidden(Field::U0, Kind::Int, bits(&[(60, 63), (64, 64)])).usually(0b00010),
];

const fn shuffle(name: &'static str, opcode: u128, scope: Scope, kind: ShuffleKind) -> Form {
    wide(name, Op::Shuffle, Class::CrossLane, 10, opcode, SHUFFLE).meaning(Meaning::Shuffle(
        Shuffle {
            scope: Some(scope),
            kind,
            rotate: false,
        },
    ))
}

const BALLOT: &[Spec] = &[
    plain(Field::Mode, Kind::Int, bits(&[(73, 76)])),
    dest(59),
    lone_source(60, 62, 69),
    source(
        Field::B,
        At {
            value: 50,
            cache: 58,
            register: 70,
            discard: 63,
            size: 61,
            sign: NO,
        },
    ),
    WAIT,
    SCHEDULE,
    hidden(Field::U0, Kind::Int, bits(&[(65, 65)])).usually(1),
];

/// A matrix of 8 by 8: two values per lane, in registers that follow each other.
macro_rules! matrix {
    ($wide:literal) => {
        &[
            written(Field::Dest, Kind::MatrixPair($wide), bits(&[(24, 30)])),
            read(Field::A, Kind::MatrixPair($wide), bits(&[(41, 47)])),
            read(Field::B, Kind::MatrixPair($wide), bits(&[(49, 55)])),
            read(
                Field::C,
                Kind::MatrixAddend($wide),
                bits(&[(57, 63), (88, 88)]),
            ),
            WAIT,
            plain(Field::U0, Kind::Int, bits(&[(64, 87)])).usually(0x24_41d4),
            SCHEDULE,
        ]
    };
}
const MATRIX_32: &[Spec] = matrix!(true);
const MATRIX_16: &[Spec] = matrix!(false);

use ReduceOp::{
    And, FloatAdd, FloatMax, FloatMin, FloatMul, IntegerAdd, Or, SignedMax, SignedMin, UnsignedMax,
    UnsignedMin, Xor,
};
use Scope::{Quad, Simd};
use ShuffleKind::{Down, Index, Up};

pub(super) const FORMS: &[Form] = &[
    reduce("simd_and", 0x03f, And, Simd),
    reduce("simd_or", 0x0bf, Or, Simd),
    reduce("simd_xor", 0x13f, Xor, Simd),
    reduce("simd_iadd", 0x1bf, IntegerAdd, Simd),
    reduce("simd_smin", 0x23f, SignedMin, Simd),
    reduce("simd_smax", 0x2bf, SignedMax, Simd),
    reduce("simd_umin", 0x33f, UnsignedMin, Simd),
    reduce("simd_umax", 0x3bf, UnsignedMax, Simd),
    reduce("simd_fmin", 0x5bf, FloatMin, Simd),
    reduce("simd_fadd", 0x63f, FloatAdd, Simd),
    reduce("simd_fmul", 0x6bf, FloatMul, Simd),
    reduce("simd_fmax", 0x7bf, FloatMax, Simd),
    reduce("quad_and", 0x037, And, Quad),
    reduce("quad_or", 0x0b7, Or, Quad),
    reduce("quad_xor", 0x137, Xor, Quad),
    reduce("quad_iadd", 0x1b7, IntegerAdd, Quad),
    reduce("quad_smin", 0x237, SignedMin, Quad),
    reduce("quad_smax", 0x2b7, SignedMax, Quad),
    reduce("quad_umin", 0x337, UnsignedMin, Quad),
    reduce("quad_umax", 0x3b7, UnsignedMax, Quad),
    reduce("quad_fmin", 0x5b7, FloatMin, Quad),
    reduce("quad_fadd", 0x637, FloatAdd, Quad),
    reduce("quad_fmul", 0x6b7, FloatMul, Quad),
    reduce("quad_fmax", 0x7b7, FloatMax, Quad),
    shuffle("quad_shuffle", 0x047, Quad, Index),
    shuffle("quad_shuffle_xor", 0x0c7, Quad, ShuffleKind::Xor),
    shuffle("quad_shuffle_up", 0x147, Quad, Up),
    shuffle("quad_shuffle_down", 0x1c7, Quad, Down),
    shuffle("simd_shuffle", 0x447, Simd, Index),
    shuffle("simd_shuffle_xor", 0x4c7, Simd, ShuffleKind::Xor),
    shuffle("simd_shuffle_up", 0x547, Simd, Up),
    shuffle("simd_shuffle_down", 0x5c7, Simd, Down),
    wide(
        "simd_ballot",
        Op::Ballot,
        Class::CrossLane,
        10,
        0x717,
        BALLOT,
    ),
    wide(
        "simd_matrix_fmadd32",
        Op::SimdMatrixFmadd32,
        Class::Matrix,
        12,
        0x2cf,
        MATRIX_32,
    ),
    wide(
        "simd_matrix_fmadd16",
        Op::SimdMatrixFmadd16,
        Class::Matrix,
        12,
        0x0cf,
        MATRIX_16,
    ),
];
