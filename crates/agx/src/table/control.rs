//! Jumps, calls, the execution-mask stack, waits and barriers.

use super::{Alias, Field, Form, Spec, both, plain, source};
use crate::bits::bits;
use crate::kind::Kind;
use crate::names::List;
use crate::op::{Class, Op};

const EXEC: Spec = both(Field::Exec, Kind::ExecCounter, bits(&[(7, 7)]));
const NEST: Spec = plain(Field::Nest, Kind::Int, bits(&[(11, 12)]));
const ADDRESS: Spec = source(Field::Address, Kind::Word, bits(&[(9, 15)]));

const ICMP: &[Spec] = &[
    EXEC,
    plain(
        Field::Condition,
        Kind::Choice(List::IntegerCondition),
        bits(&[(13, 15), (8, 8)]),
    ),
    source(Field::A, Kind::Src32, bits(&[(16, 25), (42, 43)])),
    source(Field::B, Kind::Src32, bits(&[(28, 37), (40, 41)])),
    NEST,
];
const FCMP: &[Spec] = &[
    EXEC,
    plain(
        Field::Condition,
        Kind::Choice(List::FloatCondition),
        bits(&[(13, 15), (8, 8)]),
    ),
    source(Field::A, Kind::SrcFloat, bits(&[(16, 27), (42, 43)])),
    source(Field::B, Kind::SrcFloat, bits(&[(28, 39), (40, 41)])),
    NEST,
];
const JUMP: &[Spec] = &[plain(Field::Target, Kind::Target(32), bits(&[(16, 47)]))];
const SHORT_JUMP: &[Spec] = &[plain(Field::Target, Kind::Target(8), bits(&[(16, 23)]))];

const fn icmp(name: &'static str, op: Op, value: u128) -> Form {
    let fixed = (value, 0x30c0_0c00_067f);
    Form::fixed(name, op, Class::Control, 6, fixed, ICMP)
}

const fn fcmp(name: &'static str, op: Op, value: u128) -> Form {
    let fixed = (value, 0x3000_0000_067f);
    Form::fixed(name, op, Class::Control, 6, fixed, FCMP)
}

const fn control(
    name: &'static str,
    op: Op,
    length: u8,
    fixed: (u128, u128),
    specs: &'static [Spec],
) -> Form {
    Form::fixed(name, op, Class::Control, length, fixed, specs)
}

const fn sync(
    name: &'static str,
    op: Op,
    length: u8,
    fixed: (u128, u128),
    specs: &'static [Spec],
) -> Form {
    Form::fixed(name, op, Class::Synchronisation, length, fixed, specs)
}

const fn unknown(name: &'static str, length: u8, fixed: (u128, u128)) -> Form {
    Form::fixed(name, Op::Unknown, Class::Other, length, fixed, &[])
}

pub(super) const FORMS: &[Form] = &[
    control("ret", Op::Ret, 2, (0x14, 0x7f), &[ADDRESS]),
    control("stop", Op::Stop, 2, (0x88, 0xffff), &[]),
    control("trap", Op::Trap, 2, (0x8, 0xffff), &[]),
    control("call", Op::CallReg, 2, (0x4, 0x7f), &[ADDRESS]),
    control(
        "jmp_incomplete",
        Op::JmpIncomplete,
        4,
        (0x0, 0xff00_ffff),
        SHORT_JUMP,
    ),
    control("jmp_exec_any", Op::JmpExecAny, 6, (0xc000, 0xffff), JUMP),
    control("jmp_exec_none", Op::JmpExecNone, 6, (0xc020, 0xffff), JUMP),
    control("call", Op::Call, 6, (0xc010, 0xffff), JUMP),
    control(
        "pop_exec",
        Op::PopExec,
        6,
        (0x652, 0xffff_ffff_e67f),
        &[EXEC, NEST],
    ),
    icmp("if_icmp", Op::IfIcmp, 0x52),
    fcmp("if_fcmp", Op::IfFcmp, 0x42).alias(Alias::PushExec),
    icmp("while_icmp", Op::WhileIcmp, 0x452),
    fcmp("while_fcmp", Op::WhileFcmp, 0x442),
    icmp("else_icmp", Op::ElseIcmp, 0x252),
    fcmp("else_fcmp", Op::ElseFcmp, 0x242),
    control(
        "TODO.pop_exec2",
        Op::PopExecUnknown,
        6,
        (0x800652, 0xffe67f),
        &[EXEC, NEST],
    ),
    sync(
        "wait_pix",
        Op::WaitPix,
        4,
        (0x48, 0xff),
        &[
            plain(Field::U0, Kind::Int, bits(&[(8, 17)])),
            plain(Field::U1, Kind::Int, bits(&[(22, 23)])),
        ],
    ),
    sync(
        "signal_pix",
        Op::SignalPix,
        4,
        (0x58, 0xff),
        &[
            plain(Field::U0, Kind::Int, bits(&[(8, 17)])),
            plain(Field::U1, Kind::Int, bits(&[(22, 23)])),
        ],
    ),
    sync(
        "wait",
        Op::Wait,
        2,
        (0x38, 0xff),
        &[plain(Field::Slot, Kind::Int, bits(&[(8, 8)]))],
    ),
    sync(
        "threadgroup_barrier",
        Op::ThreadgroupBarrier,
        2,
        (0x68, 0xff),
        &[],
    ),
    sync(
        "memory_barrier",
        Op::MemoryBarrier,
        2,
        (0xf5, 0xff),
        &[
            plain(Field::BarrierA, Kind::Int, bits(&[(10, 11)])),
            plain(Field::BarrierB, Kind::Int, bits(&[(8, 9)])),
            plain(Field::BarrierC, Kind::Int, bits(&[(12, 15)])),
        ],
    ),
    Form::fixed(
        "doorbell",
        Op::Doorbell,
        Class::Other,
        2,
        (0x28, 0xff),
        &[plain(Field::Imm, Kind::Int, bits(&[(8, 15)]))],
    ),
    control(
        "jmp_if_skipping_doorbell",
        Op::JmpIfSkippingDoorbell,
        4,
        (0x20, 0xff00_ffff),
        SHORT_JUMP,
    ),
    unknown("TODO.after_sampling1", 2, (0x101c, 0xffff)),
    unknown("TODO.after_sampling2", 2, (0x62cc, 0xffff)),
    Form::fixed(
        "TODO.unk30C0",
        Op::Unknown,
        Class::Other,
        6,
        (0xc030, 0xffff),
        &[plain(Field::Imm, Kind::Int, bits(&[(16, 47)]))],
    ),
    unknown("TODO.unk40C0", 6, (0xc040, 0xffff_ffff_ffff)),
    unknown("TODO.unkC0000000", 4, (0xc0, 0xffff_ffff)),
    unknown("TODO.unkE800", 2, (0xe8, 0xffff)),
    unknown("TODO.unk0C00", 2, (0xc, 0xffff)),
];
