//! Moves, integer arithmetic, bit fields, bitwise operations, selects.

use super::{Alias, Field, Form, Spec, dest, plain, source};
use crate::bits::bits;
use crate::isa::Family;
use crate::kind::Kind;
use crate::names::List;
use crate::op::{Class, Op};

/// The usual places of operands: the last 16 bits of the instruction hold the register
/// extensions in reverse order, so they depend on how many sources there are.
const D44: Spec = dest(Field::Dest, Kind::Dst32, bits(&[(7, 14), (44, 45)]));
const D60: Spec = dest(Field::Dest, Kind::Dst32, bits(&[(7, 14), (60, 61)]));
const D76: Spec = dest(Field::Dest, Kind::Dst32, bits(&[(7, 14), (76, 77)]));
const A42: Spec = source(Field::A, Kind::Src32, bits(&[(16, 25), (42, 43)]));
const B40: Spec = source(Field::B, Kind::Src32, bits(&[(28, 37), (40, 41)]));
const A58: Spec = source(Field::A, Kind::Src32, bits(&[(16, 25), (58, 59)]));
const B56: Spec = source(Field::B, Kind::Src32, bits(&[(28, 37), (56, 57)]));
const C54: Spec = source(Field::C, Kind::Src32, bits(&[(40, 49), (54, 55)]));
const X70: Spec = source(
    Field::X,
    Kind::SrcSelect,
    bits(&[(40, 48), (70, 71), (8, 8)]),
)
.usually(SELECT_ZERO);
const Y68: Spec = source(
    Field::Y,
    Kind::SrcSelect,
    bits(&[(52, 60), (68, 69), (8, 8)]),
)
.usually(SELECT_ZERO);
/// The immediate 0 of a select's value.
const SELECT_ZERO: u64 = 0b100 << 6;
const SHIFT: Spec = plain(Field::Shift, Kind::Shift, bits(&[(39, 39), (52, 53)]));
const BIT_MASK: Spec = plain(
    Field::BitMask,
    Kind::BitMask,
    bits(&[(38, 39), (50, 51), (63, 63)]),
);

const IADD: &[Spec] = &[
    dest(Field::Dest, Kind::Dst64, bits(&[(7, 14), (44, 45)])),
    source(Field::A, Kind::SrcAdd, bits(&[(16, 26), (42, 43)])),
    source(Field::B, Kind::SrcAdd, bits(&[(28, 38), (40, 41)])),
    SHIFT,
];
const IMADD: &[Spec] = &[
    dest(Field::Dest, Kind::Dst64, bits(&[(7, 14), (60, 61)])),
    source(Field::A, Kind::SrcMul, bits(&[(16, 26), (58, 59)])),
    source(Field::B, Kind::SrcMul, bits(&[(28, 38), (56, 57)])),
    source(Field::C, Kind::SrcAdd, bits(&[(40, 50), (54, 55)])),
    SHIFT,
];
const BIT_FIELD: &[Spec] = &[D60, A58, B56, C54, BIT_MASK];

/// Arithmetic shifts have the bit-field layout, but their last source and mask are not
/// part of the text; compilers leave them zero.
const SHIFT_RIGHT: &[Spec] = &[
    D60,
    A58,
    B56,
    Spec {
        hidden: true,
        ..source(Field::C, Kind::Src32, bits(&[(40, 49), (54, 55)]))
    },
    Spec {
        hidden: true,
        ..plain(
            Field::BitMask,
            Kind::BitMask,
            bits(&[(38, 39), (50, 51), (63, 63)]),
        )
    },
];
const UNARY: &[Spec] = &[D44, A42];

const fn bit_field(name: &'static str, op: Op, value: u128) -> Form {
    Form::fixed(name, op, Class::BitField, 8, (value, 0xc00807f), BIT_FIELD)
}

const fn shift_right(name: &'static str, op: Op, value: u128) -> Form {
    Form::fixed(
        name,
        op,
        Class::BitField,
        8,
        (value, 0xc00807f),
        SHIFT_RIGHT,
    )
}

const fn unary(name: &'static str, op: Op, value: u128) -> Form {
    Form::fixed(name, op, Class::BitCount, 6, (value, 0xff_fc00_807f), UNARY)
}

pub(super) const FORMS: &[Form] = &[
    Form::sized(
        "mov_imm",
        Op::MovImm,
        Class::Logic,
        (4, 6, 15),
        (0x62, 0x17f),
        &[D44, plain(Field::Imm, Kind::Int, bits(&[(16, 31)]))],
    ),
    Form::sized(
        "mov_imm",
        Op::MovImm,
        Class::Logic,
        (6, 8, 15),
        (0x162, 0x17f),
        &[
            D60,
            plain(Field::Imm, Kind::Int, bits(&[(16, 47)])),
            plain(Field::Kill, Kind::Binary(1), bits(&[(62, 62)])),
        ],
    ),
    Form::fixed(
        "get_sr",
        Op::GetSr,
        Class::SpecialRegister,
        4,
        (0x72, 0x807f),
        GET_SR,
    ),
    Form::fixed(
        "iadd",
        Op::Iadd,
        Class::IntegerAdd,
        8,
        (0xe, 0x800803f),
        IADD,
    )
    .saturating(),
    Form::fixed(
        "isub",
        Op::Isub,
        Class::IntegerAdd,
        8,
        (0x800000e, 0x800803f),
        IADD,
    )
    .saturating(),
    Form::fixed(
        "imadd",
        Op::Imadd,
        Class::IntegerMultiply,
        8,
        (0x1e, 0x800803f),
        IMADD,
    )
    .saturating(),
    Form::fixed(
        "imsub",
        Op::Imsub,
        Class::IntegerMultiply,
        8,
        (0x800001e, 0x800803f),
        IMADD,
    )
    .saturating(),
    Form::fixed(
        "convert",
        Op::Convert,
        Class::Convert,
        6,
        (0x803e, 0xcc0_03c0_807f),
        &[
            plain(
                Field::Mode,
                Kind::Choice(List::ConvertMode),
                bits(&[(16, 21)]),
            ),
            D44,
            source(Field::A, Kind::Src32, bits(&[(28, 37), (40, 41)])),
            plain(Field::Round, Kind::Choice(List::Round), bits(&[(26, 27)])),
        ],
    ),
    bit_field("bfi", Op::Bfi, 0x2e),
    bit_field("bfeil", Op::Bfeil, 0x802e),
    bit_field("extr", Op::Extr, 0x400002e),
    bit_field("shlhi", Op::Shlhi, 0x800002e),
    bit_field("shrhi", Op::Shrhi, 0x800802e),
    shift_right("asr", Op::Asr, 0x400802e),
    shift_right("asrh", Op::Asrh, 0xc00802e),
    Form::fixed(
        "bitop",
        Op::Bitop,
        Class::Logic,
        6,
        (0x7e, 0x807f),
        &[
            plain(
                Field::TruthTable,
                Kind::TruthTable,
                bits(&[(26, 27), (38, 39)]),
            ),
            D44,
            A42,
            B40,
        ],
    )
    .alias(Alias::Bitop),
    unary("bitrev", Op::Bitrev, 0x400003e),
    unary("popcount", Op::Popcount, 0x800003e),
    Form::fixed(
        "intl",
        Op::Intl,
        Class::BitCount,
        6,
        (0x3e, 0xc0_0c00_807f),
        &[D44, A42, B40],
    ),
    unary("ffs", Op::Ffs, 0xc00003e),
    Form::fixed(
        "iunop",
        Op::IntegerUnaryUnknown,
        Class::BitCount,
        6,
        (0x3e, 0x3f_f000_807f),
        &[
            D44,
            A42,
            plain(Field::Op1, Kind::Binary(2), bits(&[(38, 39)])),
            plain(Field::Op2, Kind::Binary(2), bits(&[(26, 27)])),
        ],
    ),
    Form::sized(
        "icmpsel",
        Op::Icmpsel,
        Class::Select,
        (8, 10, 15),
        (0x12, 0x7f),
        &[
            plain(
                Field::Condition,
                Kind::Choice(List::IntegerCondition),
                bits(&[(61, 63)]),
            ),
            D76,
            source(Field::A, Kind::Src32, bits(&[(16, 25), (74, 75)])),
            source(Field::B, Kind::Src32, bits(&[(28, 37), (72, 73)])),
            X70,
            Y68,
        ],
    ),
    Form::sized(
        "fcmpsel",
        Op::Fcmpsel,
        Class::Select,
        (8, 10, 15),
        (0x2, 0x7f),
        &[
            plain(
                Field::Condition,
                Kind::Choice(List::FloatCondition),
                bits(&[(61, 63)]),
            ),
            D76,
            source(Field::A, Kind::SrcFloat, bits(&[(16, 27), (74, 75)])),
            source(Field::B, Kind::SrcFloat, bits(&[(28, 39), (72, 73)])),
            X70,
            Y68,
        ],
    ),
    Form::fixed(
        "TODO.sr_thing",
        Op::GetSrUnknown,
        Class::SpecialRegister,
        4,
        (0x8072, 0x807f),
        GET_SR,
    ),
];

const GET_SR: &[Spec] = &[
    dest(Field::Dest, Kind::Dst32, bits(&[(7, 14), (28, 29)])),
    plain(
        Field::SpecialRegister,
        Kind::Special(Family::G13),
        bits(&[(16, 21), (26, 27)]),
    ),
];
