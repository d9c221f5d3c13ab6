//! The table of G15 and newer: M3 (G15), M4 (G16) and A18 (G17P).
//!
//! The low three bits of an instruction are its group. Groups 0 to 4 are arithmetic whose
//! longer forms add bits to the shorter ones: half arithmetic, float arithmetic, compare and
//! select, bitwise functions, immediates and special registers. Group 5 is textures, group 6
//! waits and the end, and group 7 everything else, with an opcode of twelve bits.
//!
//! What differs from G13: nearly every instruction can wait for scoreboard slots before it
//! reads, so that waits cost no instruction; special registers arrive in a slot like loads do;
//! addresses are bytes; comparisons write predicates, which alone decide the execution mask,
//! whose counters are in no register.
//!
//! Sources of the facts: TellowKrinkle's branch M3 of applegpu (operand encodings of most
//! forms), ADevWithAnIdea's agx-re (control flow, cross-lane, atomics, matrix: which bytes do
//! what), and the programs published there with their Metal source, which decided every
//! question the two left open. Seen on M4 (G16G) and A18 Pro (G17P) code.

mod control;
mod convert;
mod float;
mod integer;
mod lanes;
mod memory;
mod proofs;
mod rest;
mod select;

pub(crate) use proofs::{PROVEN, Proof};

use super::{Field, Form, Role, Spec, hidden, plain};
use crate::bits::{Bits, bits};
use crate::kind::Kind;
use crate::op::{Class, Op};
use crate::standing::Standing;

/// Every form, in the order they are tried.
pub(crate) const FORMS: &[&[Form]] = &[
    float::FORMS,
    select::FORMS,
    integer::FORMS,
    convert::FORMS,
    memory::FORMS,
    lanes::FORMS,
    control::FORMS,
    rest::FORMS,
];

/// Bit 11 of a twelve-bit opcode: zero in every one, so it stands for bits a form lacks.
const NO: u8 = 11;
/// Bit 0 of a twelve-bit opcode, for the same where the bit counts as set.
const YES: u8 = 0;

/// A form of group 7.
const fn wide(
    name: &'static str,
    op: Op,
    class: Class,
    length: u8,
    opcode: u128,
    operands: &'static [Spec],
) -> Form {
    Form::fixed(name, op, class, length, (opcode, 0xfff), operands).standing(Standing::Read)
}

/// Slots waited for, in group 7.
const WAIT: Spec = plain(Field::Wait, Kind::WaitMask, bits(&[(12, 17)]));
/// Bits that follow the wait mask; the compiler varies them with its schedule.
const SCHEDULE: Spec = hidden(Field::Schedule, Kind::Int, bits(&[(18, 23)])).usually(0b01_0101);

/// A destination of group 7, with one bit of size.
const fn dest(size: u8) -> Spec {
    dest_of(Kind::FixedDst, size, NO)
}

/// A destination of group 7: its kind and two bits that tell its width.
const fn dest_of(kind: Kind, first: u8, second: u8) -> Spec {
    Spec {
        role: Role::Dest,
        ..plain(
            Field::Dest,
            kind,
            bits(&[
                (24, 31),
                (32, 32),
                (33, 33),
                (first, first),
                (second, second),
            ]),
        )
    }
}

/// Where the bits of a source of groups 0 to 3 are, beside its six of register: see [`Kind::VarSrc`].
struct VarSource {
    field: Field,
    register: u8,
    low: u8,
    high: u8,
    cache: u8,
    discard: u8,
    wide: u8,
    uniform: u8,
    negate: u8,
    absolute: u8,
    brain: u8,
    integer: u8,
}

const fn var_source(at: VarSource) -> Spec {
    let ranges = [
        (at.low, at.low),
        (at.register, at.register + 5),
        (at.high, at.high),
        (at.cache, at.cache),
        (at.discard, at.discard),
        (at.wide, at.wide),
        (at.uniform, at.uniform),
        (at.negate, at.negate),
        (at.absolute, at.absolute),
        (at.brain, at.brain),
        (at.integer, at.integer),
    ];
    Spec {
        role: Role::Source,
        ..plain(at.field, Kind::VarSrc, bits(&ranges))
    }
}

/// A destination of groups 0, 1 and 3: see [`Kind::VarDst`].
const fn var_dest(low: u8, high: u8, wide: u8, uniform: u8, top: u8, brain: u8) -> Spec {
    Spec {
        role: Role::Dest,
        ..plain(
            Field::Dest,
            Kind::VarDst,
            bits(&[
                (low, low),
                (4, 7),
                (22, 23),
                (high, high),
                (wide, wide),
                (21, 21),
                (uniform, uniform),
                (top, top),
                (brain, brain),
            ]),
        )
    }
}

/// The one source of an instruction of group 7, an unsigned integer.
const fn lone_source(size: u8, discard: u8, register: u8) -> Spec {
    source(
        Field::A,
        At {
            value: 41,
            cache: 49,
            register,
            discard,
            size,
            sign: NO,
        },
    )
}

/// Where the bits of an integer source of group 7 are.
struct At {
    value: u8,
    cache: u8,
    register: u8,
    discard: u8,
    size: u8,
    sign: u8,
}

const fn source(field: Field, at: At) -> Spec {
    let At {
        value,
        cache,
        register,
        discard,
        size,
        sign,
    } = at;
    Spec {
        role: Role::Source,
        ..plain(
            field,
            Kind::FixedSrc,
            value_and(value, &[cache, register, discard, size, NO, sign]),
        )
    }
}

/// Eight bits from `value` on, then single ones. A range lies in one machine word, so the
/// eight are cut where they cross from one to the next.
const fn value_and(value: u8, singles: &[u8]) -> Bits {
    let mut ranges = [(0, 0); 13];
    let mut count = 0;
    if value < 64 && value + 7 >= 64 {
        ranges[0] = (value, 63);
        ranges[1] = (64, value + 7);
        count = 2;
    } else {
        ranges[0] = (value, value + 7);
        count += 1;
    }
    let mut i = 0;
    while i < singles.len() {
        ranges[count] = (singles[i], singles[i]);
        count += 1;
        i += 1;
    }
    bits(ranges.split_at(count).0)
}
