//! Device, threadgroup, stack and uniform memory; atomics; asynchronous copies.

use super::{Field, Form, Prefer, Spec, dest, hidden, plain, source};
use crate::bits::bits;
use crate::kind::Kind;
use crate::names::List;
use crate::op::{Class, Op};

const SLOT: Spec = plain(Field::Slot, Kind::Int, bits(&[(30, 30)]));
const FORMAT: Spec = plain(
    Field::Format,
    Kind::Choice(List::Format),
    bits(&[(7, 9), (48, 48)]),
);
const MASK: Spec = plain(Field::Mask, Kind::Choice(List::Mask), bits(&[(52, 55)]));
const LOADED: Spec = dest(
    Field::Data,
    Kind::Vector,
    bits(&[(10, 15), (40, 41), (49, 49), (52, 55)]),
);
const STORED: Spec = source(
    Field::Data,
    Kind::Vector,
    bits(&[(10, 15), (40, 41), (49, 49), (52, 55)]),
);
const BASE: Spec = source(
    Field::Base,
    Kind::Base,
    bits(&[(16, 19), (36, 39), (27, 27)]),
);
const INDEX: Spec = source(
    Field::Index,
    Kind::Index,
    bits(&[(20, 23), (32, 35), (56, 63), (24, 24)]),
);
const INDEX_SIGN: Spec = plain(
    Field::IndexSign,
    Kind::Choice(List::Sign),
    bits(&[(25, 25)]),
);
const SHIFT: Spec = plain(Field::Shift, Kind::Shift, bits(&[(42, 43)]));
const COHERENCY: Spec = hidden(Field::Coherency, Kind::Int, bits(&[(44, 45)]));
const ORDER: Spec = plain(Field::Order, Kind::Int, bits(&[(44, 44)]));
const U1: Spec = plain(Field::U1, Kind::Int, bits(&[(26, 26)])).usually(1);
const U3: Spec = plain(Field::U3, Kind::Int, bits(&[(28, 29)]));
const U5: Spec = plain(Field::U5, Kind::Int, bits(&[(50, 51)]));

const DEVICE_SIZE: (u8, u8, u8) = (6, 8, 47);
const LOCAL_SIZE: (u8, u8, u8) = (6, 8, 15);

const LOCAL_FORMAT: Spec = plain(Field::Format, Kind::Choice(List::Format), bits(&[(24, 27)]));
const LOCAL_MASK: Spec = plain(Field::Mask, Kind::Choice(List::Mask), bits(&[(36, 39)]));
const LOCAL_BASE: Spec = source(
    Field::Base,
    Kind::LocalBase,
    bits(&[(16, 21), (58, 59), (22, 23)]),
);
const LOCAL_INDEX: Spec = source(
    Field::Index,
    Kind::LocalIndex,
    bits(&[(28, 33), (48, 57), (34, 34)]),
);

const STACK_FORMAT: Spec = plain(
    Field::Format,
    Kind::Choice(List::Format),
    bits(&[(8, 9), (50, 51)]),
);
const STACK_U1: Spec = plain(Field::U1, Kind::Int, bits(&[(26, 26)])).usually(1);
const STACK_U2: Spec = plain(Field::U2, Kind::Int, bits(&[(36, 38)]));
const STACK_U5: Spec = plain(Field::U5, Kind::Int, bits(&[(44, 46)])).usually(4);
const STACK_SHIFT: Spec = hidden(Field::Shift, Kind::Shift, bits(&[(42, 43)]));
const STACK_SIGN: Spec = hidden(
    Field::IndexSign,
    Kind::Choice(List::Sign),
    bits(&[(25, 25)]),
);

const STACK_LOAD: &[Spec] = &[
    LOADED,
    STACK_FORMAT,
    STACK_U1,
    STACK_U2,
    MASK,
    STACK_U5,
    INDEX,
    SLOT,
    STACK_SHIFT,
    STACK_SIGN,
];

const fn copy(name: &'static str, op: Op, value: u128) -> Form {
    const SPECS: &[Spec] = &[
        plain(
            Field::Shape,
            Kind::Choice(List::CopyShape),
            bits(&[(47, 47)]),
        ),
        source(Field::Local, Kind::CopyLocal, bits(&[(9, 14), (8, 8)])),
        source(
            Field::Base,
            Kind::CopyDevice,
            bits(&[(16, 19), (36, 39), (25, 25), (47, 47)]),
        ),
    ];
    Form::fixed(name, op, Class::ThreadgroupMemory, 8, (value, 0x7f), SPECS)
}

pub(super) const FORMS: &[Form] = &[
    Form::sized(
        "uniform_store",
        Op::UniformStore,
        Class::UniformStore,
        DEVICE_SIZE,
        (0x3800_0045, 0xc_00f0_380f_027f),
        &[
            plain(Field::U0, Kind::Int, bits(&[(25, 26)])).usually(2),
            plain(Field::Format, Kind::Choice(List::Format), bits(&[(7, 8)])),
            MASK,
            plain(Field::U1, Kind::Int, bits(&[(44, 46)])),
            STORED,
            INDEX,
            SHIFT,
        ],
    ),
    copy("async_store", Op::AsyncStore, 0x65),
    copy("async_load", Op::AsyncLoad, 0x25),
    Form::sized(
        "device_load",
        Op::DeviceLoad,
        Class::DeviceMemory,
        DEVICE_SIZE,
        (0x4000_0400_0005, 0xc_7000_3400_007f),
        &[
            SLOT, FORMAT, MASK, LOADED, BASE, INDEX, INDEX_SIGN, SHIFT, COHERENCY,
        ],
    ),
    Form::sized(
        "device_store",
        Op::DeviceStore,
        Class::DeviceMemory,
        DEVICE_SIZE,
        (0x4000_0400_0045, 0xc_6000_3400_007f),
        &[
            SLOT, FORMAT, MASK, STORED, BASE, INDEX, INDEX_SIGN, SHIFT, ORDER, COHERENCY,
        ],
    ),
    Form::sized(
        "device_load.TODO",
        Op::DeviceLoad,
        Class::DeviceMemory,
        DEVICE_SIZE,
        (0x5, 0x7f),
        &[
            SLOT,
            FORMAT,
            MASK,
            LOADED,
            BASE,
            INDEX,
            INDEX_SIGN,
            SHIFT,
            U1,
            U3,
            plain(Field::U4, Kind::Int, bits(&[(44, 46)])).usually(4),
            U5,
            COHERENCY,
        ],
    ),
    Form::sized(
        "device_store.TODO",
        Op::DeviceStore,
        Class::DeviceMemory,
        DEVICE_SIZE,
        (0x45, 0x7f),
        &[
            SLOT,
            FORMAT,
            MASK,
            STORED,
            BASE,
            INDEX,
            INDEX_SIGN,
            SHIFT,
            ORDER,
            U1,
            U3,
            plain(Field::U4, Kind::Int, bits(&[(45, 46)])).usually(2),
            U5,
            COHERENCY,
        ],
    ),
    // applegpu reads this as a `stack_store` with unnamed bits left over.
    Form::sized(
        "stack_adjust",
        Op::StackAdjust,
        Class::StackMemory,
        DEVICE_SIZE,
        (0x20_0401_00b5, 0x7070_0401_00ff),
        &[INDEX],
    ),
    Form::sized(
        "stack_store",
        Op::StackStore,
        Class::StackMemory,
        DEVICE_SIZE,
        (0xb5, 0xff),
        &[
            STACK_FORMAT,
            STACK_U1,
            STACK_U2,
            MASK,
            STACK_U5,
            STORED,
            INDEX,
            SLOT,
            STACK_SHIFT,
            STACK_SIGN,
        ],
    )
    .prefer(Prefer::Long),
    // The ordinary load stands before `stack_get_ptr`, whose fixed bits it can share.
    Form::sized(
        "stack_load",
        Op::StackLoad,
        Class::StackMemory,
        DEVICE_SIZE,
        (0x4000_0400_0035, 0x7070_0400_00ff),
        STACK_LOAD,
    )
    .prefer(Prefer::Long),
    Form::sized(
        "stack_get_ptr",
        Op::StackGetPtr,
        Class::StackMemory,
        DEVICE_SIZE,
        (0x2_0000_0001_0035, 0x3_0000_000f_00ff),
        &[
            plain(Field::U0, Kind::Int, bits(&[(8, 9)])),
            STACK_U1,
            STACK_U2,
            plain(Field::U4, Kind::Int, bits(&[(50, 55)])),
            plain(Field::U3, Kind::Int, bits(&[(44, 46)])),
            dest(Field::Dest, Kind::WordByHalf, bits(&[(10, 15), (40, 41)])),
        ],
    ),
    Form::sized(
        "stack_load",
        Op::StackLoad,
        Class::StackMemory,
        DEVICE_SIZE,
        (0x35, 0xff),
        STACK_LOAD,
    ),
    Form::sized(
        "threadgroup_load",
        Op::ThreadgroupLoad,
        Class::ThreadgroupMemory,
        LOCAL_SIZE,
        (0x69, 0x6f),
        &[
            LOCAL_FORMAT,
            LOCAL_MASK,
            dest(
                Field::Data,
                Kind::Vector,
                bits(&[(9, 14), (60, 61), (8, 8), (36, 39)]),
            ),
            LOCAL_BASE,
            LOCAL_INDEX,
        ],
    )
    .prefer(Prefer::LongAtIndexZero),
    Form::sized(
        "threadgroup_store",
        Op::ThreadgroupStore,
        Class::ThreadgroupMemory,
        LOCAL_SIZE,
        (0x29, 0x6f),
        &[
            LOCAL_FORMAT,
            LOCAL_MASK,
            source(
                Field::Data,
                Kind::Vector,
                bits(&[(9, 14), (60, 61), (8, 8), (36, 39)]),
            ),
            LOCAL_BASE,
            LOCAL_INDEX,
        ],
    )
    .prefer(Prefer::LongAtIndexZero),
    Form::fixed(
        "atomic",
        Op::Atomic,
        Class::DeviceMemory,
        8,
        (0x15, 0x3f),
        &[
            plain(
                Field::AtomicOp,
                Kind::Choice(List::AtomicOp),
                bits(&[(6, 9)]),
            ),
            SLOT,
            dest(
                Field::Dest,
                Kind::AtomicDest,
                bits(&[(10, 15), (40, 41), (47, 47)]),
            ),
            BASE,
            INDEX,
            INDEX_SIGN,
            source(Field::Value, Kind::AtomicValue, bits(&[(48, 55), (6, 9)])),
            plain(Field::U1, Kind::Int, bits(&[(26, 26)])).usually(1),
            plain(Field::U2, Kind::Int, bits(&[(28, 29)])),
            plain(Field::U3, Kind::Int, bits(&[(31, 31)])).usually(1),
            plain(Field::U4, Kind::Int, bits(&[(42, 44)])).usually(4),
            plain(Field::U5, Kind::Int, bits(&[(45, 46)])).usually(2),
            COHERENCY,
        ],
    ),
    Form::sized(
        "threadgroup_atomic",
        Op::ThreadgroupAtomic,
        Class::ThreadgroupMemory,
        (6, 10, 15),
        (0x19, 0x3f),
        &[
            plain(
                Field::AtomicOp,
                Kind::Choice(List::AtomicOp),
                bits(&[(24, 27)]),
            ),
            dest(
                Field::Dest,
                Kind::OptionalReg,
                bits(&[(9, 14), (60, 61), (8, 8), (38, 38)]),
            ),
            LOCAL_BASE,
            LOCAL_INDEX,
            source(Field::Value, Kind::AtomicValue, bits(&[(64, 71), (24, 27)])),
            plain(Field::U1, Kind::Int, bits(&[(6, 7)])),
            plain(Field::U3, Kind::Int, bits(&[(35, 37)])).usually(2),
            plain(Field::U4, Kind::Int, bits(&[(40, 47)])).usually(0x80),
            plain(Field::U5, Kind::Int, bits(&[(72, 79)])),
        ],
    ),
];
