//! Device and threadgroup memory, atomics, barriers.
//!
//! Addresses are `base + (index << shift) + offset`, in bytes. A store has the fields of a
//! load from bit 72 on, two bits further down: it has no slot.

use super::super::{Field, Form, Spec, dest as written, hidden, plain, source as read};
use super::{NO, SCHEDULE, WAIT, wide};
use crate::bits::bits;
use crate::kind::Kind;
use crate::names::List;
use crate::op::{Class, Op};

const DATA: crate::bits::Bits = bits(&[(24, 31), (68, 69), (64, 67)]);
const FORMAT: Spec = plain(
    Field::Format,
    Kind::Choice(List::FormatG15),
    bits(&[(68, 69)]),
);
const MASK: Spec = plain(Field::Mask, Kind::Choice(List::MaskG15), bits(&[(64, 67)]));

const fn address(register: u8) -> Spec {
    read(
        Field::Base,
        Kind::Address,
        bits(&[(32, 38), (register, register)]),
    )
}

/// The index: its discard bit, the bit for sign extension, the two that tell its kind.
const fn index(discard: u8, sign: u8, kind: u8) -> Spec {
    read(
        Field::Index,
        Kind::ElementIndex(discard),
        bits(&[(39, 46), (47, 54), (sign, sign), (kind, kind + 1)]),
    )
}

const fn flag(field: Field, bit: u8, usually: u64) -> Spec {
    plain(field, Kind::Int, bits(&[(bit, bit)])).usually(usually)
}

const LOAD: &[Spec] = &[
    plain(Field::Slot, Kind::Int, bits(&[(70, 72)])),
    FORMAT,
    MASK,
    written(Field::Data, Kind::Data, DATA),
    address(101),
    index(8, 75, 102),
    plain(Field::Shift, Kind::AddressShift, bits(&[(97, 99)])),
    plain(Field::Offset, Kind::Signed16, bits(&[(77, 92)])),
    WAIT,
    flag(Field::Coherency, 94, 1),
    flag(Field::U0, 20, 1),
    hidden(Field::Schedule, Kind::Int, bits(&[(18, 19), (21, 23)])).usually(0b01001),
    hidden(Field::U1, Kind::Int, bits(&[(74, 74)])),
];
const STORE: &[Spec] = &[
    FORMAT,
    MASK,
    read(Field::Data, Kind::Data, DATA),
    address(99),
    index(9, 73, 100),
    plain(Field::Shift, Kind::AddressShift, bits(&[(95, 97)])),
    plain(Field::Offset, Kind::Signed16, bits(&[(75, 90)])),
    WAIT,
    flag(Field::Coherency, 92, 1),
    flag(Field::U0, 20, 1),
    hidden(Field::Schedule, Kind::Int, bits(&[(18, 19), (21, 23)])).usually(0b01001),
    hidden(Field::U1, Kind::Int, bits(&[(70, 72)])),
];

// Threadgroup memory: index and data description two bits further up than in device memory.
const GROUP_DATA: crate::bits::Bits = bits(&[(24, 31), (70, 71), (66, 69)]);
const GROUP_FORMAT: Spec = plain(
    Field::Format,
    Kind::Choice(List::FormatG15),
    bits(&[(70, 71)]),
);
const GROUP_MASK: Spec = plain(Field::Mask, Kind::Choice(List::MaskG15), bits(&[(66, 69)]));

const fn group_index(register: u8) -> Spec {
    read(
        Field::Index,
        Kind::GroupIndex,
        bits(&[(41, 48), (register, register)]),
    )
}

const GROUP_LOAD: &[Spec] = &[
    plain(Field::Slot, Kind::Int, bits(&[(72, 74)])),
    GROUP_FORMAT,
    GROUP_MASK,
    written(Field::Data, Kind::Data, GROUP_DATA),
    group_index(99),
    plain(Field::Shift, Kind::AddressShift, bits(&[(94, 96)])),
    WAIT,
    plain(Field::U0, Kind::Int, bits(&[(32, 40)])),
    plain(Field::U1, Kind::Int, bits(&[(49, 63)])),
    plain(Field::U2, Kind::Int, bits(&[(75, 93)])),
    SCHEDULE,
];
const GROUP_STORE: &[Spec] = &[
    GROUP_FORMAT,
    GROUP_MASK,
    read(Field::Data, Kind::Data, GROUP_DATA),
    group_index(97),
    plain(Field::Shift, Kind::AddressShift, bits(&[(92, 94)])),
    WAIT,
    plain(Field::U0, Kind::Int, bits(&[(32, 40)])),
    plain(Field::U1, Kind::Int, bits(&[(49, 63)])),
    plain(Field::U2, Kind::Int, bits(&[(72, 91)])),
    SCHEDULE,
];

/// The value is combined with memory; the value found is taken by `atomic_result`.
const ATOMIC: &[Spec] = &[
    plain(
        Field::AtomicOp,
        Kind::Choice(List::AtomicOpG15),
        bits(&[(97, 100)]),
    ),
    read(Field::Value, Kind::AtomicWord, bits(&[(47, 53), (97, 100)])),
    read(Field::Base, Kind::Address, bits(&[(32, 38), (NO, NO)])),
    read(
        Field::Index,
        Kind::AtomicIndex,
        bits(&[(54, 61), (63, 63), (64, 64), (102, 102)]),
    ),
    plain(Field::Offset, Kind::Signed16, bits(&[(80, 95)])),
    WAIT,
    plain(Field::U0, Kind::Int, bits(&[(73, 73)])),
    plain(Field::U1, Kind::Int, bits(&[(78, 78)])).usually(1),
    SCHEDULE,
    hidden(Field::U2, Kind::Int, bits(&[(101, 101)])).usually(1),
    hidden(Field::U3, Kind::Int, bits(&[(105, 105)])),
];

/// In threadgroup memory the value found has a register of its own. Where an address other than 0 is encoded no program shows.
const GROUP_ATOMIC: &[Spec] = &[
    plain(Field::Slot, Kind::Int, bits(&[(72, 74)])),
    plain(
        Field::AtomicOp,
        Kind::Choice(List::AtomicOpG15),
        bits(&[(86, 89)]),
    ),
    written(Field::Dest, Kind::Word, bits(&[(24, 30)])),
    read(Field::Value, Kind::AtomicWord, bits(&[(40, 46), (86, 89)])),
    WAIT,
    plain(Field::U0, Kind::Int, bits(&[(69, 69)])),
    SCHEDULE,
    hidden(Field::U1, Kind::Int, bits(&[(65, 65)])).usually(1),
    hidden(Field::U2, Kind::Int, bits(&[(90, 90)])).usually(1),
    hidden(Field::U3, Kind::Int, bits(&[(47, 63)])),
];

const BARRIER: &[Spec] = &[
    plain(Field::BarrierA, Kind::Int, bits(&[(24, 31)])),
    plain(Field::BarrierB, Kind::Int, bits(&[(32, 47)])),
    WAIT,
    SCHEDULE,
];

const DEVICE: Class = Class::DeviceMemory;
const GROUP: Class = Class::ThreadgroupMemory;

pub(super) const FORMS: &[Form] = &[
    wide("device_load", Op::DeviceLoad, DEVICE, 14, 0x067, LOAD),
    wide("device_store", Op::DeviceStore, DEVICE, 14, 0x0e7, STORE),
    wide(
        "threadgroup_load",
        Op::ThreadgroupLoad,
        GROUP,
        14,
        0x267,
        GROUP_LOAD,
    ),
    wide(
        "threadgroup_store",
        Op::ThreadgroupStore,
        GROUP,
        14,
        0x2e7,
        GROUP_STORE,
    ),
    wide("atomic", Op::Atomic, DEVICE, 14, 0x167, ATOMIC),
    wide(
        "threadgroup_atomic",
        Op::ThreadgroupAtomic,
        GROUP,
        12,
        0x367,
        GROUP_ATOMIC,
    ),
    wide(
        "threadgroup_barrier",
        Op::ThreadgroupBarrier,
        Class::Synchronisation,
        6,
        0x407,
        BARRIER,
    ),
];
