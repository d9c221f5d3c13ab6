//! Texture sampling and loading, image writes, state registers.

use super::{Field, Form, Spec, dest, hidden, plain, source};
use crate::bits::bits;
use crate::kind::Kind;
use crate::names::List;
use crate::op::{Class, Op};

const COMPARE: Spec = plain(Field::Compare, Kind::Int, bits(&[(23, 23)]));
const SAMPLE: &[Spec] = &[
    COMPARE,
    plain(
        Field::SampleMode,
        Kind::Choice(List::SampleMode),
        bits(&[(30, 31)]),
    ),
    plain(Field::U0, Kind::Binary(4), bits(&[(43, 46)])).usually(0b1100),
    plain(Field::Slot, Kind::Binary(1), bits(&[(63, 63)])),
    plain(Field::Gather, Kind::Choice(List::Gather), bits(&[(86, 90)])),
    plain(
        Field::Mask,
        Kind::Choice(List::SampleMask),
        bits(&[(48, 51)]),
    ),
    plain(Field::Kill, Kind::Binary(2), bits(&[(69, 70)])),
    dest(
        Field::Data,
        Kind::Vector,
        bits(&[(9, 14), (72, 73), (8, 8), (48, 51)]),
    ),
    source(Field::Heap, Kind::Heap, bits(&[(64, 68), (39, 39)])),
    source(
        Field::Texture,
        Kind::Texture,
        bits(&[(32, 37), (78, 79), (38, 39)]),
    ),
    source(
        Field::Sampler,
        Kind::Sampler,
        bits(&[(56, 61), (92, 93), (62, 62)]),
    ),
    plain(
        Field::Dimension,
        Kind::Choice(List::Dimension),
        bits(&[(40, 42), (71, 71)]),
    ),
    source(
        Field::Coordinates,
        Kind::Coordinates,
        bits(&[(16, 21), (74, 75), (22, 22), (47, 47), (40, 42), (71, 71)]),
    ),
    plain(
        Field::LodMode,
        Kind::Choice(List::LodMode),
        bits(&[(52, 55)]),
    ),
    source(
        Field::Lod,
        Kind::Lod,
        bits(&[(24, 29), (76, 77), (52, 55), (40, 42), (71, 71)]),
    ),
    source(
        Field::CompareOffset,
        Kind::CompareOffset,
        bits(&[(80, 85), (94, 95), (23, 23), (91, 91)]),
    ),
];

const IMAGE_COORDINATES: Spec = source(
    Field::Coordinates,
    Kind::Coordinates,
    bits(&[(16, 21), (58, 59), (22, 22), (47, 47), (40, 42), (55, 55)]),
);
const IMAGE_LOD: Spec = source(
    Field::Lod,
    Kind::HalfOrImm,
    bits(&[(24, 29), (60, 61), (31, 31)]),
);
const IMAGE_HEAP: Spec = source(Field::Heap, Kind::Heap, bits(&[(48, 52), (39, 39)]));
const IMAGE_TEXTURE: Spec = source(
    Field::Texture,
    Kind::Texture,
    bits(&[(32, 37), (62, 63), (38, 39)]),
);
const IMAGE_DIMENSION: Spec = plain(
    Field::Dimension,
    Kind::Choice(List::Dimension),
    bits(&[(40, 42), (55, 55)]),
);
const IMAGE_ROUND: Spec = plain(
    Field::Round,
    Kind::Choice(List::ImageRound),
    bits(&[(53, 53)]),
);
const BLOCK_DATA: Spec = source(Field::Data, Kind::Half, bits(&[(9, 14), (56, 57)]));
const BLOCK_FORMAT: Spec = plain(
    Field::Format,
    Kind::Choice(List::Format),
    bits(&[(8, 8), (64, 66)]),
);
const BLOCK_U0: Spec = plain(Field::ExplicitCoordinates, Kind::Int, bits(&[(23, 23)]));
const BLOCK_U1: Spec = plain(Field::U1, Kind::Int, bits(&[(43, 46)])).usually(9);
const BLOCK_U2: Spec = plain(Field::U2, Kind::Int, bits(&[(67, 67)])).usually(1);

/// The base is aligned to four halves; the bit below it says whether the offset is an
/// immediate. applegpu takes that bit for part of the base.
const STATE_BASE: Spec = source(Field::Base, Kind::UniformQuad, bits(&[(59, 63)]));
const STATE_OFFSET: Spec = source(Field::Index, Kind::HeapOffset, bits(&[(26, 56), (58, 58)]));
const STATE_SLOT: Spec = hidden(Field::Slot, Kind::Int, bits(&[(16, 16)]));

pub(super) const FORMS: &[Form] = &[
    Form::fixed(
        "tex_state_store",
        Op::TexStateStore,
        Class::UniformStore,
        8,
        (0x10_00ed, 0x10_00ff),
        &[
            dest(Field::Texture, Kind::TextureState, bits(&[(8, 14)])),
            STATE_BASE,
            STATE_OFFSET,
            STATE_SLOT,
        ],
    ),
    Form::fixed(
        "sampler_state_store",
        Op::SamplerStateStore,
        Class::UniformStore,
        8,
        (0x10_00ad, 0x10_00ff),
        &[
            dest(Field::Sampler, Kind::SamplerState, bits(&[(8, 14)])),
            STATE_BASE,
            STATE_OFFSET,
            STATE_SLOT,
        ],
    ),
    Form::sized(
        "texture_sample",
        Op::TextureSample,
        Class::Texture,
        (8, 12, 15),
        (0x31, 0xff),
        SAMPLE,
    ),
    Form::sized(
        "texture_load",
        Op::TextureLoad,
        Class::Texture,
        (8, 12, 15),
        (0x71, 0xff),
        SAMPLE,
    ),
    Form::sized(
        "image_write_block",
        Op::ImageWriteBlock,
        Class::Image,
        (6, 10, 15),
        (0xb1, 0x3ff0_001f_0000_0000_00ff),
        &[
            BLOCK_DATA,
            IMAGE_COORDINATES,
            IMAGE_LOD,
            IMAGE_TEXTURE,
            IMAGE_DIMENSION,
            IMAGE_ROUND,
            BLOCK_FORMAT,
            BLOCK_U0,
            BLOCK_U1,
            BLOCK_U2,
        ],
    ),
    // With a bindless heap: known to Mesa only; written like `image_write`.
    Form::sized(
        "image_write_block",
        Op::ImageWriteBlock,
        Class::Image,
        (6, 10, 15),
        (0x8_0000_4800_0000_00b1, 0x3ff8_0000_4800_0000_00ff),
        &[
            BLOCK_DATA,
            IMAGE_COORDINATES,
            IMAGE_LOD,
            IMAGE_HEAP,
            IMAGE_TEXTURE,
            IMAGE_DIMENSION,
            IMAGE_ROUND,
            BLOCK_FORMAT,
            BLOCK_U0,
            BLOCK_U1,
            BLOCK_U2,
        ],
    ),
    Form::sized(
        "image_write",
        Op::ImageWrite,
        Class::Image,
        (6, 8, 15),
        (0xf1, 0xff),
        &[
            source(Field::Data, Kind::Pixel, bits(&[(9, 14), (56, 57), (8, 8)])),
            IMAGE_COORDINATES,
            IMAGE_LOD,
            IMAGE_HEAP,
            IMAGE_TEXTURE,
            IMAGE_DIMENSION,
            IMAGE_ROUND,
            plain(Field::U1, Kind::Int, bits(&[(23, 23)])).usually(1),
            plain(Field::U2, Kind::Int, bits(&[(30, 30)])),
            plain(Field::U3, Kind::Int, bits(&[(43, 46)])).usually(9),
            plain(Field::U5, Kind::Int, bits(&[(54, 54)])),
        ],
    ),
];
