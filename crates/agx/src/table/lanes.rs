//! Instructions that look at other lanes: ballots, shuffles, reductions, matrices.

use super::{Field, Form, Spec, dest, plain, source};
use crate::bits::bits;
use crate::kind::Kind;
use crate::names::List;
use crate::op::{Class, Op};

const D44: Spec = dest(Field::Dest, Kind::Dst32, bits(&[(7, 14), (44, 45)]));

const ICMP: &[Spec] = &[
    D44,
    plain(
        Field::Condition,
        Kind::Choice(List::IntegerCondition),
        bits(&[(61, 63), (47, 47)]),
    ),
    source(Field::A, Kind::Src32, bits(&[(16, 25), (42, 43)])),
    source(Field::B, Kind::Src32, bits(&[(28, 37), (40, 41)])),
];
const FCMP: &[Spec] = &[
    D44,
    plain(
        Field::Condition,
        Kind::Choice(List::FloatCondition),
        bits(&[(61, 63), (47, 47)]),
    ),
    source(Field::A, Kind::SrcFloat, bits(&[(16, 27), (42, 43)])),
    source(Field::B, Kind::SrcFloat, bits(&[(28, 39), (40, 41)])),
];
/// A lane index is 16 bits in a shuffle over the simdgroup.
const SIMD_SHUFFLE: &[Spec] = &[
    D44,
    source(Field::A, Kind::Src32, bits(&[(16, 25), (42, 43)])),
    source(Field::B, Kind::Src16, bits(&[(28, 37), (40, 41)])),
];
const QUAD_SHUFFLE: &[Spec] = &[
    D44,
    source(Field::A, Kind::Src64, bits(&[(16, 25), (42, 43)])),
    source(Field::B, Kind::Src64, bits(&[(28, 37), (40, 41)])),
];
const REDUCE: &[Spec] = &[
    D44,
    source(Field::A, Kind::Src64, bits(&[(16, 25), (42, 43)])),
];
const MATRIX: &[Spec] = &[
    dest(Field::Dest, Kind::DstPair, bits(&[(7, 14), (60, 61)])),
    source(
        Field::A,
        Kind::SrcPair,
        bits(&[(16, 25), (52, 53), (58, 59)]),
    ),
    source(Field::B, Kind::SrcPair, bits(&[(28, 39), (56, 57)])),
    source(Field::C, Kind::SrcPair, bits(&[(40, 51), (54, 55)])),
];

/// `scope` is bit 48: 1 for the simdgroup, 0 for the quad.
const fn icmp_ballot(name: &'static str, op: Op, scope: u128, mask: u128) -> Form {
    let fixed = (0x32 | scope << 48, mask);
    Form::fixed(name, op, Class::CrossLane, 8, fixed, ICMP)
}

const fn fcmp_ballot(name: &'static str, op: Op, scope: u128) -> Form {
    let fixed = (0x22 | scope << 48, 0x1fff_0000_0000_007f);
    Form::fixed(name, op, Class::CrossLane, 8, fixed, FCMP)
}

/// `scope` (bits 26:27) is 1 for the simdgroup, 0 for the quad; `how` is 38:39.
const fn shuffle(
    name: &'static str,
    scope: u128,
    how: u128,
    rotate: u128,
    specs: &'static [Spec],
) -> Form {
    let value = 0x6f | scope << 26 | how << 38 | rotate << 47;
    let fixed = (value, 0x80c0_0c00_807f);
    Form::fixed(name, Op::Shuffle, Class::CrossLane, 6, fixed, specs)
}

const fn matrix(name: &'static str, op: Op, value: u128) -> Form {
    let fixed = (value, 0x8000_0000_0c00_807f);
    Form::fixed(name, op, Class::Matrix, 8, fixed, MATRIX)
}

/// A reduction: its operation is spread over bit 47 (`integer`) and bits 26:41 (`code`).
const fn reduce(name: &'static str, integer: u128, code: u128) -> Form {
    let fixed = (0x806f | integer << 47 | code << 26, 0x83ff_fc00_807f);
    Form::fixed(name, Op::Reduce, Class::Reduction, 6, fixed, REDUCE)
}

const SIMD: u128 = 1;
const QUAD: u128 = 0;
const EXACT_ICMP: u128 = 0x1fff_00c0_0c00_007f;
/// Mesa's pattern leaves the bits between the operands free.
const LOOSE_ICMP: u128 = 0x1fff_0000_0000_007f;

pub(super) const FORMS: &[Form] = &[
    icmp_ballot("icmp_ballot", Op::IcmpBallot, SIMD, EXACT_ICMP),
    icmp_ballot("icmp_quad_ballot", Op::IcmpQuadBallot, QUAD, EXACT_ICMP),
    fcmp_ballot("fcmp_ballot", Op::FcmpBallot, SIMD),
    fcmp_ballot("fcmp_quad_ballot", Op::FcmpQuadBallot, QUAD),
    icmp_ballot("icmp_ballot", Op::IcmpBallot, SIMD, LOOSE_ICMP),
    icmp_ballot("icmp_quad_ballot", Op::IcmpQuadBallot, QUAD, LOOSE_ICMP),
    shuffle("simd_shuffle", SIMD, 0b00, 0, SIMD_SHUFFLE),
    shuffle("simd_shuffle_down", SIMD, 0b11, 0, SIMD_SHUFFLE),
    shuffle("simd_shuffle_up", SIMD, 0b10, 0, SIMD_SHUFFLE),
    shuffle("simd_shuffle_rotate_up", SIMD, 0b10, 1, SIMD_SHUFFLE),
    shuffle("simd_shuffle_xor", SIMD, 0b01, 0, SIMD_SHUFFLE),
    matrix(
        "simd_matrix_fmadd32",
        Op::SimdMatrixFmadd32,
        0x8000_0000_0c00_006f,
    ),
    matrix(
        "simd_matrix_fmadd16",
        Op::SimdMatrixFmadd16,
        0x8000_0000_0800_006f,
    ),
    shuffle("quad_shuffle", QUAD, 0b00, 0, QUAD_SHUFFLE),
    shuffle("quad_shuffle_down", QUAD, 0b11, 0, QUAD_SHUFFLE),
    shuffle("quad_shuffle_up", QUAD, 0b10, 0, QUAD_SHUFFLE),
    shuffle("quad_shuffle_rotate_up", QUAD, 0b10, 1, QUAD_SHUFFLE),
    shuffle("quad_shuffle_xor", QUAD, 0b01, 0, QUAD_SHUFFLE),
    Form::fixed(
        "simd_shuf_op",
        Op::Shuffle,
        Class::CrossLane,
        6,
        (0x6f, 0x807f),
        &[
            plain(Field::Op1, Kind::Binary(1), bits(&[(47, 47)])),
            plain(Field::Op2, Kind::Binary(2), bits(&[(38, 39)])),
            plain(Field::Op3, Kind::Binary(2), bits(&[(26, 27)])),
            D44,
            source(Field::A, Kind::Src64, bits(&[(16, 25), (42, 43)])),
            source(Field::B, Kind::Src64, bits(&[(28, 37), (40, 41)])),
        ],
    ),
    reduce("quad_and", 0, 0b0000_0000_0000_0000),
    reduce("quad_or", 0, 0b0001_0000_0000_0000),
    reduce("quad_xor", 0, 0b0010_0000_0000_0000),
    reduce("quad_iadd", 1, 0b0000_0000_0000_0000),
    reduce("quad_fadd", 0, 0b0000_0000_0000_0100),
    reduce("quad_fmul", 0, 0b0001_0000_0000_0100),
    reduce("quad_prefix_iadd", 1, 0b0000_0000_0001_0000),
    reduce("quad_prefix_fadd", 0, 0b0000_0000_0001_0100),
    reduce("quad_prefix_fmul", 0, 0b0001_0000_0001_0100),
    reduce("quad_min.u", 1, 0b0110_0000_0000_0000),
    reduce("quad_max.u", 1, 0b0111_0000_0000_0000),
    reduce("quad_min.s", 1, 0b0010_0000_0000_0000),
    reduce("quad_max.s", 1, 0b0011_0000_0000_0000),
    reduce("quad_min.f", 0, 0b0010_0000_0000_0100),
    reduce("quad_max.f", 0, 0b0011_0000_0000_0100),
    reduce("simd_and", 0, 0b0000_0000_0000_1000),
    reduce("simd_or", 0, 0b0001_0000_0000_1000),
    reduce("simd_xor", 0, 0b0010_0000_0000_1000),
    reduce("simd_iadd", 1, 0b0000_0000_0000_1000),
    reduce("simd_fadd", 0, 0b0000_0000_0000_1100),
    reduce("simd_fmul", 0, 0b0001_0000_0000_1100),
    reduce("simd_prefix_iadd", 1, 0b0000_0000_0001_1000),
    reduce("simd_prefix_fadd", 0, 0b0000_0000_0001_1100),
    reduce("simd_prefix_fmul", 0, 0b0001_0000_0001_1100),
    reduce("simd_prefix_and", 0, 0b0000_0000_0001_1000),
    reduce("simd_prefix_or", 0, 0b0001_0000_0001_1000),
    reduce("simd_prefix_xor", 0, 0b0010_0000_0001_1000),
    reduce("simd_prefix_min.s", 1, 0b0010_0000_0001_1000),
    reduce("simd_prefix_min.u", 1, 0b0110_0000_0001_1000),
    reduce("simd_prefix_max.s", 1, 0b0011_0000_0001_1000),
    reduce("simd_prefix_max.u", 1, 0b0111_0000_0001_1000),
    reduce("simd_min.u", 1, 0b0110_0000_0000_1000),
    reduce("simd_max.u", 1, 0b0111_0000_0000_1000),
    reduce("simd_min.s", 1, 0b0010_0000_0000_1000),
    reduce("simd_max.s", 1, 0b0011_0000_0000_1000),
    reduce("simd_min.f", 0, 0b0010_0000_0000_1100),
    reduce("simd_max.f", 0, 0b0011_0000_0000_1100),
    Form::fixed(
        "simd_op",
        Op::Reduce,
        Class::Reduction,
        6,
        (0x806f, 0x807f),
        &[
            plain(Field::Op1, Kind::Binary(1), bits(&[(47, 47)])),
            plain(Field::Op2, Kind::Binary(16), bits(&[(26, 41)])),
            D44,
            source(Field::A, Kind::Src64, bits(&[(16, 25), (42, 43)])),
        ],
    ),
];

/// The bits that tell reductions apart, in every form: Mesa's operation number, and
/// whether it scans and over which lanes.
pub(crate) mod reduction_bits {
    use crate::bits::{Bits, bits};

    pub(crate) const OPERATION: Bits = bits(&[(28, 28), (38, 40), (47, 47)]);
    pub(crate) const PREFIX: Bits = bits(&[(30, 30)]);
    pub(crate) const SIMD: Bits = bits(&[(29, 29)]);
    /// Zero in every reduction whose meaning is known.
    pub(crate) const REST: Bits = bits(&[(26, 27), (31, 37), (41, 41)]);
}

/// The bits that tell shuffles apart, in every form.
pub(crate) mod shuffle_bits {
    use crate::bits::{Bits, bits};

    pub(crate) const HOW: Bits = bits(&[(38, 39)]);
    pub(crate) const ROTATE: Bits = bits(&[(47, 47)]);
    pub(crate) const SCOPE: Bits = bits(&[(26, 27)]);
}
