//! Jumps, calls, the execution mask, waits, the end.
//!
//! The execution-mask stack works as on G13: each lane has a nesting counter, `if`, `else`
//! and `while` say how many levels they concern. Here the counters are in no register and
//! the comparison is another instruction's, in a predicate.

use super::super::{Field, Form, Spec, hidden, plain, source as read};
use super::{SCHEDULE, WAIT, wide};
use crate::bits::bits;
use crate::kind::Kind;
use crate::op::{Class, Op};
use crate::standing::Standing;

const PREDICATE: Spec = read(Field::Predicate, Kind::PredicateUse, bits(&[(26, 29)]));
const NEST: Spec = plain(Field::Nest, Kind::Int, bits(&[(24, 25)]));
/// As [`SCHEDULE`], where only its lowest bit is usual.
const FEW: Spec = hidden(Field::Schedule, Kind::Int, bits(&[(18, 23)])).usually(0b00_0001);
const MASK: &[Spec] = &[PREDICATE, NEST, WAIT, SCHEDULE];
const ELSE: &[Spec] = &[PREDICATE, NEST, WAIT, FEW];
const POP: &[Spec] = &[plain(Field::Nest, Kind::Int, bits(&[(24, 25)])), WAIT, FEW];
const TARGET: Spec = plain(
    Field::Target,
    Kind::Target(48),
    bits(&[(24, 55), (56, 63), (64, 71)]),
);
const JUMP: &[Spec] = &[TARGET, WAIT, SCHEDULE];
const RETURN: &[Spec] = &[WAIT, SCHEDULE];

pub(super) const FORMS: &[Form] = &[
    wide("if", Op::IfPredicate, Class::Control, 4, 0x50f, MASK),
    wide("else", Op::ElsePredicate, Class::Control, 4, 0x40f, ELSE),
    wide("while", Op::WhilePredicate, Class::Control, 4, 0x48f, MASK),
    wide("pop_exec", Op::PopExec, Class::Control, 6, 0x60f, POP),
    wide(
        "jmp_exec_any",
        Op::JmpExecAny,
        Class::Control,
        10,
        0x00f,
        JUMP,
    ),
    wide(
        "jmp_exec_none",
        Op::JmpExecNone,
        Class::Control,
        10,
        0x10f,
        JUMP,
    ),
    wide("call", Op::Call, Class::Control, 10, 0x08f, JUMP),
    wide("ret", Op::Ret, Class::Control, 4, 0x28f, RETURN),
    Form::fixed(
        "stop",
        Op::Stop,
        Class::Control,
        4,
        (0x0e, 0xffff_ffff),
        &[],
    )
    .standing(Standing::Read),
    Form::fixed("nop", Op::Wait, Class::Other, 2, (0x06, 0xffff), &[]).standing(Standing::Read),
    Form::fixed(
        "wait",
        Op::Wait,
        Class::Synchronisation,
        2,
        (0x06, 0x03ff),
        &[plain(Field::Wait, Kind::Binary(6), bits(&[(10, 15)]))],
    )
    .standing(Standing::Read),
];
