//! Parallel copies to moves, one after the other.
//!
//! A move may go once nobody needs what its target holds. What is left then are cycles;
//! exchanging two registers with three exclusive ors takes a step out of one.

use super::machine::Machine;
use assay_agx::{Field, Op, Operand, Reg, Uniform, Width};
use assay_ssa::Loc;

/// Truth tables of [`Op::Bitop`].
const FIRST: u8 = 0b1010;
const XOR: u8 = 0b0110;

/// Where a copied value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A half register, the first of the copied ones.
    Reg(u16),
    /// A half uniform, the first.
    Uniform(u16),
    /// A number.
    Imm(u64),
}

/// Copies `halves` consecutive half registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Copy {
    pub(crate) to: u16,
    pub(crate) from: Source,
    pub(crate) halves: u16,
}

/// A move of one or two half registers from registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    to: u16,
    from: u16,
    halves: u16,
}

/// The moves that do what the copies do at once.
pub(crate) fn sequentialise(copies: &[Copy], loc: Option<Loc>) -> Vec<Machine> {
    let mut pending = steps(copies);
    let mut moves = Vec::with_capacity(copies.len());
    while !pending.is_empty() {
        let ready = pending.iter().position(|step| {
            !pending
                .iter()
                .any(|other| other != step && reads(*other, step.to, step.halves))
        });
        if let Some(at) = ready {
            let step = pending.swap_remove(at);
            moves.push(register_move(step, loc));
            continue;
        }
        break_cycle(&mut pending, &mut moves, loc);
    }
    // Constants last: nothing reads their targets any more.
    for copy in copies {
        constant_moves(*copy, loc, &mut moves);
    }
    moves
}

/// The copies between registers, in steps of a word where both sides are words.
fn steps(copies: &[Copy]) -> Vec<Step> {
    let mut steps = Vec::new();
    for copy in copies {
        let Source::Reg(from) = copy.from else {
            continue;
        };
        let mut done = 0;
        while done < copy.halves {
            let (to, from) = (copy.to + done, from + done);
            let whole = to.is_multiple_of(2) && from.is_multiple_of(2) && copy.halves - done >= 2;
            let halves = if whole { 2 } else { 1 };
            if to != from {
                steps.push(Step { to, from, halves });
            }
            done += halves;
        }
    }
    steps
}

fn reads(step: Step, half: u16, halves: u16) -> bool {
    overlap(step.from, step.halves, half, halves)
}

/// Every pending step's target is read by another. Exchanges the two ends of one step,
/// which then is done; the others find their values where they went.
fn break_cycle(pending: &mut Vec<Step>, moves: &mut Vec<Machine>, loc: Option<Loc>) {
    // Words and halves do not mix in a cycle of exchanges.
    let pure = pending.iter().position(|step| {
        let same_size = |other: &Step| other.halves == step.halves || !meet(*other, *step);
        pending.iter().all(same_size)
    });
    match pure {
        Some(at) => {
            let step = pending.swap_remove(at);
            exchange(step, pending, moves, loc);
        }
        // Split, some may be ready.
        None => split_words(pending),
    }
}

/// Whether two steps name a half in common.
fn meet(a: Step, b: Step) -> bool {
    [a.to, a.from].into_iter().any(|half| {
        overlap(half, a.halves, b.to, b.halves) || overlap(half, a.halves, b.from, b.halves)
    })
}

fn overlap(a: u16, a_halves: u16, b: u16, b_halves: u16) -> bool {
    a < b + b_halves && b < a + a_halves
}

fn split_words(pending: &mut Vec<Step>) {
    let mut halves = Vec::with_capacity(pending.len() * 2);
    for step in pending.drain(..) {
        for n in 0..step.halves {
            halves.push(Step {
                to: step.to + n,
                from: step.from + n,
                halves: 1,
            });
        }
    }
    *pending = halves;
}

fn exchange(step: Step, pending: &mut Vec<Step>, moves: &mut Vec<Machine>, loc: Option<Loc>) {
    let (a, b) = (
        register(step.to, step.halves),
        register(step.from, step.halves),
    );
    moves.push(bitop(XOR, a, a, Some(b), loc));
    moves.push(bitop(XOR, b, a, Some(b), loc));
    moves.push(bitop(XOR, a, a, Some(b), loc));
    for other in pending.iter_mut() {
        if other.from == step.to {
            other.from = step.from;
        } else if other.from == step.from {
            other.from = step.to;
        }
    }
    pending.retain(|other| other.to != other.from);
}

fn register(half: u16, halves: u16) -> Reg {
    match halves {
        1 => Reg::half(half),
        _ => Reg::word(half / 2),
    }
}

fn bitop(table: u8, to: Reg, a: Reg, b: Option<Reg>, loc: Option<Loc>) -> Machine {
    let inst = Machine::new(Op::Bitop, loc)
        .with(Field::TruthTable, Operand::TruthTable(table))
        .writing(Field::Dest, to)
        .reading(Field::A, a);
    match b {
        Some(b) => inst.reading(Field::B, b),
        None => inst.with(Field::B, Operand::Imm(0)),
    }
}

fn register_move(step: Step, loc: Option<Loc>) -> Machine {
    let (to, from) = (
        register(step.to, step.halves),
        register(step.from, step.halves),
    );
    bitop(FIRST, to, from, None, loc)
}

fn constant_moves(copy: Copy, loc: Option<Loc>, moves: &mut Vec<Machine>) {
    let mut done = 0;
    while done < copy.halves {
        let to = copy.to + done;
        let mut halves = if to.is_multiple_of(2) && copy.halves - done >= 2 {
            2
        } else {
            1
        };
        match copy.from {
            Source::Reg(_) => return,
            Source::Uniform(first) => {
                let from = first + done;
                if from % 2 != 0 {
                    halves = 1;
                }
                moves.push(uniform_move(register(to, halves), from, loc));
            }
            Source::Imm(value) => {
                let bits = value.checked_shr(16 * u32::from(done)).unwrap_or(0);
                moves.push(immediate(register(to, halves), bits, loc));
            }
        }
        done += halves;
    }
}

fn uniform_move(to: Reg, from: u16, loc: Option<Loc>) -> Machine {
    let uniform = match to.width {
        Width::W16 => Uniform::half(from),
        _ => Uniform::word(from / 2),
    };
    Machine::new(Op::Bitop, loc)
        .with(Field::TruthTable, Operand::TruthTable(FIRST))
        .writing(Field::Dest, to)
        .with(Field::A, Operand::Uniform(uniform))
        .with(Field::B, Operand::Imm(0))
}

/// `mov_imm` of the low bits of `value`.
pub(crate) fn immediate(to: Reg, value: u64, loc: Option<Loc>) -> Machine {
    let value = match to.width {
        Width::W16 => value & 0xffff,
        _ => value & 0xffff_ffff,
    };
    Machine::new(Op::MovImm, loc)
        .writing(Field::Dest, to)
        .with(Field::Imm, Operand::Imm(value as i64))
}
