//! Register coalescing: a value that is carried around a loop stays in its register.
//!
//! `sum = sum + x` in a loop makes a new value that is moved to the loop's parameter before the next iteration. If nothing
//! reads the parameter once the new value is made, both can be one register: the operation writes what it reads, and
//! the move is gone. But the move happens in the active lanes only, the operation in all. So this is done where no other
//! lane can still need the parameter: the operation is run by all lanes that are in the loop, nothing outside the loop
//! reads the parameter, and no lane waits for the next iteration when it is run.

use crate::code::{List, Op, Program, Reg};
use crate::operands::{Role, for_each_register};

/// Where a register is mentioned.
#[derive(Clone, Debug, Default)]
struct Mentions {
    reads: Vec<u32>,
    writes: Vec<u32>,
}

impl Mentions {
    fn reads_within(&self, first: u32, last: u32) -> bool {
        self.reads.iter().all(|&at| first <= at && at <= last)
    }
}

/// A loop, and where lanes begin to wait for its next iteration.
#[derive(Clone, Copy, Debug)]
struct Loop {
    first: u32,
    last: u32,
    repeats: u32,
}

/// Gives parameters of loops and the values passed to them one register where that is sound.
pub(super) fn coalesce(program: &mut Program) -> Result<(), &'static str> {
    if program.reads_inactive {
        return Ok(());
    }
    let homes = homes(program);
    let mentions = mentions(program)?;
    let key = |reg: Reg| reg.index as usize + if reg.wide { program.narrow as usize } else { 0 };
    let mut merged: Vec<(Reg, Reg)> = Vec::new();
    for (position, op) in (0u32..).zip(&program.ops) {
        for (to, from) in moves(program, op) {
            let taken = |reg: Reg| merged.iter().any(|&(a, b)| a == reg || b == reg);
            let (Some(parameter), Some(value)) = (mentions.get(key(to)), mentions.get(key(from)))
            else {
                continue;
            };
            let [made] = value.writes[..] else { continue };
            let Some(home) = homes.get(made as usize).copied().flatten() else {
                continue;
            };
            let inside = |at: u32| home.first <= at && at <= home.last;
            let sole = parameter.writes.iter().filter(|&&at| inside(at)).count() == 1;
            let sound = sole
                && made < position
                && position <= home.last
                && made < home.repeats
                && parameter.reads_within(home.first, made)
                && value.reads_within(made + 1, home.last);
            let in_place = !parameter.reads.contains(&made)
                || program
                    .ops
                    .get(made as usize)
                    .is_some_and(may_write_operand);
            if sound && in_place && !taken(to) && !taken(from) {
                merged.push((to, from));
            }
        }
    }
    merge(program, &merged);
    Ok(())
}

/// Returns true if an operation may write a register it reads.
pub(super) fn may_write_operand(op: &Op) -> bool {
    matches!(
        op,
        Op::N1 { .. } | Op::N2 { .. } | Op::N3 { .. } | Op::W1 { .. } | Op::W2 { .. }
    )
}

/// The moves of an operation, as pairs of target and source.
fn moves(program: &Program, op: &Op) -> Vec<(Reg, Reg)> {
    let reg = |index, wide| Reg { index, wide };
    match *op {
        Op::MoveNarrow { d, a } => vec![(reg(d, false), reg(a, false))],
        Op::MoveWide { d, a } => vec![(reg(d, true), reg(a, true))],
        Op::Moves { list, .. } => {
            let pairs = program.list(list).chunks_exact(2);
            pairs.map(|pair| (pair[0], pair[1])).collect()
        }
        _ => Vec::new(),
    }
}

fn mentions(program: &Program) -> Result<Vec<Mentions>, &'static str> {
    let count = program.narrow as usize + program.wide as usize;
    let mut mentions = vec![Mentions::default(); count];
    for (position, op) in (0u32..).zip(&program.ops) {
        for_each_register(program, op, &mut |reg, role| {
            let at = reg.index as usize + if reg.wide { program.narrow as usize } else { 0 };
            if let Some(of) = mentions.get_mut(at) {
                match role {
                    Role::Reads => of.reads.push(position),
                    Role::Writes => of.writes.push(position),
                }
            }
        })?;
    }
    Ok(mentions)
}

/// For each operation the loop in which it lies and in which nothing else lies around it; none if it is in
/// no loop or in a part of one that not all lanes need take.
fn homes(program: &Program) -> Vec<Option<Loop>> {
    // Ends of loops by their first operation.
    let mut ends = vec![None; program.ops.len()];
    for (position, op) in (0u32..).zip(&program.ops) {
        if let Op::LoopEnd { slot, target } = *op
            && let Some(end) = ends.get_mut(target as usize)
        {
            *end = Some((position, slot));
        }
    }
    let first_repeat = |first: u32, last: u32, slot: u32| {
        let leaves = |at: &u32| matches!(program.ops.get(*at as usize), Some(Op::Leave { slot: s }) if *s == slot);
        (first..last).find(leaves).unwrap_or(last)
    };
    let mut around: Vec<Option<Loop>> = Vec::new();
    let mut homes = Vec::with_capacity(program.ops.len());
    for (position, op) in (0u32..).zip(&program.ops) {
        if let Some(Some((last, slot))) = ends.get(position as usize) {
            around.push(Some(Loop {
                first: position,
                last: *last,
                repeats: first_repeat(position, *last, *slot),
            }));
        }
        homes.push(around.last().copied().flatten());
        match op {
            Op::If { .. } => around.push(None),
            Op::ScopeBegin { .. } if ends.get(position as usize + 1) == Some(&None) => {
                around.push(None);
            }
            Op::EndIf { .. } | Op::EndThen { .. } | Op::ScopeEnd { .. } | Op::LoopEnd { .. } => {
                around.pop();
            }
            _ => {}
        }
    }
    homes
}

/// Writes the first of each pair wherever the second stood, and drops the moves between them.
fn merge(program: &mut Program, merged: &[(Reg, Reg)]) {
    if merged.is_empty() {
        return;
    }
    for position in 0..program.ops.len() {
        let Some(op) = program.ops.get(position) else {
            continue;
        };
        let all = moves(program, op);
        let left: Vec<Reg> = all
            .iter()
            .filter(|pair| !merged.contains(pair))
            .flat_map(|&(to, from)| [to, from])
            .collect();
        if left.len() < all.len() * 2 {
            let wide = all.first().is_some_and(|(to, _)| to.wide);
            let list = List {
                start: program.lists.len() as u32,
                len: left.len() as u32,
            };
            program.lists.extend(left);
            if let Some(op) = program.ops.get_mut(position) {
                *op = Op::Moves { list, wide };
            }
        }
    }
    let mut maps = [program.narrow, program.wide].map(|count| (0..count).collect::<Vec<u32>>());
    for &(to, from) in merged {
        if let Some(number) = maps[usize::from(from.wide)].get_mut(from.index as usize) {
            *number = to.index;
        }
    }
    super::allocate::rename(program, &maps);
}
