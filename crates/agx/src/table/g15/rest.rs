//! Instructions of known length and unknown meaning.
//!
//! Names are guesses from the programs they occur in; a listing continues behind them.

use super::super::Form;
use crate::op::{Class, Op};
use crate::standing::Standing;

const fn unknown(name: &'static str, class: Class, length: u8, opcode: u128, mask: u128) -> Form {
    Form::fixed(name, Op::Unknown, class, length, (opcode, mask), &[])
        .standing(Standing::LengthOnly)
}

/// A form of group 7.
const fn wide(name: &'static str, class: Class, length: u8, opcode: u128) -> Form {
    unknown(name, class, length, opcode, 0xfff)
}

pub(super) const FORMS: &[Form] = &[
    unknown("TODO.texture", Class::Texture, 14, 0b101, 0b111),
    // Group 4 beside immediates and special registers.
    unknown("TODO.move4", Class::Other, 4, 0x8004, 3 << 16 | 0x8007),
    unknown("TODO.move8", Class::Other, 8, 0x2_8004, 3 << 16 | 0x8007),
    unknown("TODO.move10", Class::Other, 10, 0x3_8004, 3 << 16 | 0x8007),
    wide("TODO.simd_shuffle_fill", Class::CrossLane, 12, 0x647),
    wide("TODO.simd_shuffle_fill_down", Class::CrossLane, 12, 0x6c7),
    wide("TODO.quad_ballot", Class::CrossLane, 10, 0x217),
    wide("TODO.quad_ballot2", Class::CrossLane, 12, 0x397),
    wide("TODO.simd_ballot2", Class::CrossLane, 12, 0x797),
    wide("TODO.unpack_float", Class::Convert, 8, 0x627),
    wide("TODO.pack_float", Class::Convert, 14, 0x6a7),
    wide("TODO.frame", Class::StackMemory, 6, 0x36f),
    wide("TODO.link", Class::StackMemory, 8, 0x007),
    wide("TODO.tile_setup", Class::Tile, 6, 0x087),
    wide("TODO.store_varying", Class::Varying, 8, 0x657),
    wide("TODO.image_store", Class::Image, 16, 0x0d7),
    wide("TODO.tile_load", Class::Tile, 12, 0xe67),
    wide("TODO.tile_load2", Class::Tile, 12, 0x667),
    wide("TODO.tile_store", Class::Tile, 12, 0x6e7),
    wide("TODO.ray", Class::Other, 14, 0x05f),
    wide("TODO.ray_load", Class::Other, 14, 0x0df),
    wide("TODO.jump", Class::Control, 6, 0x157),
    wide("TODO.op327", Class::Other, 10, 0x327),
    wide("TODO.op427", Class::Other, 10, 0x427),
    wide("TODO.op517", Class::Other, 12, 0x517),
    wide("TODO.op06f", Class::Other, 12, 0x06f),
];
