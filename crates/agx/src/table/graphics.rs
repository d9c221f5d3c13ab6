//! Tile buffer, interpolators, vertex outputs, fragment output.

use super::{Field, Form, Spec, dest, plain, source};
use crate::bits::bits;
use crate::kind::Kind;
use crate::names::List;
use crate::op::{Class, Op};

const TILE_FORMAT: Spec = plain(Field::Format, Kind::Choice(List::Format), bits(&[(24, 27)]));
const EXPLICIT: Spec = plain(Field::ExplicitCoordinates, Kind::Int, bits(&[(35, 35)]));
const TILE_MASK: Spec = plain(Field::Mask, Kind::Choice(List::Mask), bits(&[(36, 39)]));
const TILE_OFFSET: Spec = plain(Field::TileOffset, Kind::Int, bits(&[(28, 34), (40, 41)]));
const SAMPLES: Spec = source(
    Field::Samples,
    Kind::ImmOrHalf,
    bits(&[(42, 47), (56, 57), (22, 22)]),
);
/// A pair of registers when bit 55 is set, which applegpu does not look at.
const TILE_COORDINATES: Spec = source(
    Field::Coordinates,
    Kind::TileCoordinates,
    bits(&[(16, 21), (58, 59), (55, 55)]),
);

const INTERPOLATED: Spec = dest(
    Field::Dest,
    Kind::Interpolated(1),
    bits(&[(8, 14), (56, 57), (30, 31)]),
);
const COEFFICIENT: Spec = source(
    Field::Coefficient,
    Kind::Coefficient,
    bits(&[(16, 21), (58, 59), (23, 23)]),
);
const SAMPLE_ID: Spec = source(Field::SampleId, Kind::SampleId, bits(&[(32, 39), (48, 49)]));
const FORWARD: Spec = plain(
    Field::Forward,
    Kind::Choice(List::Forward),
    bits(&[(22, 22)]),
);
const ELIDE: Spec = plain(Field::Elide, Kind::Choice(List::Elide), bits(&[(46, 46)]));
const INTERPOLATION: Spec = plain(
    Field::Interpolation,
    Kind::Choice(List::Interpolation),
    bits(&[(48, 49)]),
);
const KILL: Spec = plain(Field::Kill, Kind::Binary(1), bits(&[(52, 52)]));
const ITER_U1: Spec = plain(Field::U1, Kind::Int, bits(&[(40, 45)]));
const ITER_U2: Spec = plain(Field::U2, Kind::Int, bits(&[(47, 47)]));
const ITER_U3: Spec = plain(Field::U3, Kind::Int, bits(&[(50, 51)]));
const ITER_U4: Spec = plain(Field::U4, Kind::Int, bits(&[(53, 55)]));
const ITER_U5: Spec = plain(Field::U5, Kind::Int, bits(&[(62, 63)]));

const OUTPUT: &[Spec] = &[
    plain(Field::U0, Kind::Int, bits(&[(31, 31)])).usually(1),
    source(Field::Data, Kind::Word, bits(&[(10, 14), (24, 25)])),
    source(
        Field::OutputIndex,
        Kind::HalfOrImm,
        bits(&[(16, 21), (26, 27), (23, 23)]),
    ),
];
const SAMPLE_TARGETS: Spec = source(
    Field::Samples,
    Kind::HalfOrImm,
    bits(&[(9, 14), (24, 25), (8, 8)]),
);

const fn output(name: &'static str, op: Op, value: u128) -> Form {
    Form::fixed(name, op, Class::Varying, 4, (value, 0x40_03ff), OUTPUT)
}

const MAP: &[Spec] = &[
    plain(
        Field::MapTarget,
        Kind::Choice(List::MapTarget),
        bits(&[(36, 36)]),
    ),
    source(Field::Data, Kind::Word, bits(&[(11, 15), (40, 41)])),
    plain(
        Field::Imm,
        Kind::Signed16,
        bits(&[(20, 23), (32, 35), (56, 63)]),
    ),
    plain(Field::U1, Kind::Binary(2), bits(&[(8, 9)])),
    plain(Field::U2, Kind::Binary(1), bits(&[(30, 30)])),
    plain(Field::U3, Kind::Binary(3), bits(&[(37, 39)])),
    plain(Field::U4, Kind::Binary(5), bits(&[(42, 46)])).usually(0b10000),
    plain(Field::U5, Kind::Binary(8), bits(&[(48, 55)])).usually(0b0001_0000),
];

/// `op` is bits 16:19 of the form both share.
const fn map(name: &'static str, op: Op, code: u128) -> Form {
    let fixed = (0x8000_0100_0075 | code << 16, 0x8000_bb0f_04ff);
    Form::fixed(name, op, Class::Other, 8, fixed, MAP)
}

pub(super) const FORMS: &[Form] = &[
    Form::sized(
        "ld_tile",
        Op::LdTile,
        Class::Tile,
        (8, 10, 15),
        (0x49, 0x7f),
        &[
            dest(
                Field::Data,
                Kind::Vector,
                bits(&[(9, 14), (60, 61), (8, 8), (36, 39)]),
            ),
            TILE_FORMAT,
            EXPLICIT,
            TILE_MASK,
            TILE_OFFSET,
            SAMPLES,
            TILE_COORDINATES,
        ],
    ),
    Form::sized(
        "st_tile",
        Op::StTile,
        Class::Tile,
        (8, 10, 15),
        (0x9, 0x7f),
        &[
            source(
                Field::Data,
                Kind::Vector,
                bits(&[(9, 14), (60, 61), (8, 8), (36, 39)]),
            ),
            TILE_FORMAT,
            EXPLICIT,
            TILE_MASK,
            TILE_OFFSET,
            SAMPLES,
            TILE_COORDINATES,
        ],
    ),
    Form::sized(
        "iter",
        Op::Iter,
        Class::Varying,
        (4, 8, 15),
        (0x21, 0xff),
        &[
            INTERPOLATED,
            COEFFICIENT,
            SAMPLE_ID,
            FORWARD,
            ELIDE,
            INTERPOLATION,
            KILL,
            ITER_U1,
            ITER_U2,
            ITER_U3,
            ITER_U4,
            ITER_U5,
        ],
    ),
    Form::sized(
        "iterproj",
        Op::IterProj,
        Class::Varying,
        (4, 8, 15),
        (0x61, 0xff),
        &[
            INTERPOLATED,
            COEFFICIENT,
            source(
                Field::Perspective,
                Kind::Perspective,
                bits(&[(24, 29), (60, 61)]),
            ),
            SAMPLE_ID,
            FORWARD,
            ELIDE,
            INTERPOLATION,
            KILL,
            ITER_U1,
            ITER_U2,
            ITER_U3,
            ITER_U4,
            ITER_U5,
        ],
    ),
    Form::sized(
        "TODO.ldcf",
        Op::Ldcf,
        Class::Varying,
        (4, 8, 15),
        (0xa1, 0xff),
        &[
            dest(
                Field::Dest,
                Kind::Interpolated(3),
                bits(&[(8, 14), (56, 57), (30, 31)]),
            ),
            COEFFICIENT,
        ],
    ),
    output("no_var", Op::NoVar, 0x51),
    output("st_var", Op::StVar, 0x11),
    output("st_var_final", Op::StVarFinal, 0x91),
    map("unmap", Op::Unmap, 0),
    map("map", Op::Map, 1),
    Form::fixed(
        "TODO.map",
        Op::Unknown,
        Class::Other,
        8,
        (0x8000_0100_0075, 0x8000_bb00_04ff),
        &[
            plain(Field::Op1, Kind::Int, bits(&[(16, 19)])),
            plain(
                Field::MapTarget,
                Kind::Choice(List::MapTarget),
                bits(&[(36, 36)]),
            ),
            source(Field::Data, Kind::Word, bits(&[(11, 15), (40, 41)])),
            plain(
                Field::Imm,
                Kind::Signed16,
                bits(&[(20, 23), (32, 35), (56, 63)]),
            ),
            plain(Field::U1, Kind::Binary(2), bits(&[(8, 9)])),
            plain(Field::U2, Kind::Binary(1), bits(&[(30, 30)])),
            plain(Field::U3, Kind::Binary(3), bits(&[(37, 39)])),
            plain(Field::U4, Kind::Binary(5), bits(&[(42, 46)])),
            plain(Field::U5, Kind::Binary(8), bits(&[(48, 55)])),
        ],
    ),
    Form::fixed(
        "TODO.unk75_alt",
        Op::Unknown,
        Class::Other,
        8,
        (0x8000_0000_0075, 0x8000_0000_04ff),
        &[
            plain(Field::Op1, Kind::Int, bits(&[(16, 19)])),
            plain(Field::U2, Kind::Int, bits(&[(24, 25)])),
            plain(Field::U3, Kind::Int, bits(&[(27, 29)])),
            plain(Field::U4, Kind::Int, bits(&[(31, 31)])),
            source(Field::Data, Kind::Word, bits(&[(11, 15), (40, 41)])),
            plain(
                Field::Imm,
                Kind::Signed16,
                bits(&[(20, 23), (32, 35), (56, 63)]),
            ),
            plain(Field::U1, Kind::Binary(2), bits(&[(8, 9)])),
        ],
    ),
    Form::fixed(
        "sample_mask",
        Op::SampleMask,
        Class::Tile,
        4,
        (0xc1, 0x80ff),
        &[
            SAMPLE_TARGETS,
            source(
                Field::Mask,
                Kind::HalfOrImm,
                bits(&[(16, 21), (26, 27), (23, 23)]),
            ),
        ],
    ),
    Form::fixed(
        "zs_emit",
        Op::ZsEmit,
        Class::Tile,
        4,
        (0x41, 0x80ff),
        &[
            SAMPLE_TARGETS,
            source(
                Field::DepthStencil,
                Kind::DepthStencil,
                bits(&[(16, 21), (26, 27), (29, 29), (30, 30)]),
            ),
            plain(Field::U0, Kind::Int, bits(&[(22, 23)])),
        ],
    ),
];
