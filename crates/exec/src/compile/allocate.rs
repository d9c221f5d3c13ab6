//! Register allocation.
//!
//! A threadgroup's simdgroups take turns, so all their registers should fit into the first-level cache. Operations lie
//! in the order of the control tree: a register is needed from its first to its last mention, and where a loop's edge
//! lies between the two, all through the loop. Lanes that wait, at the end of a scope or for the next iteration, need nothing
//! else: what they read later is mentioned later, or lives through the loop. (Operations run in all lanes and leave
//! garbage in those that wait; a value made in a loop and used behind it is therefore copied under the mask when it is
//! made, see [`escaping`].)

use crate::code::{Index, Op, Program, Reg};
use crate::matrix::MatrixOp;
use crate::operands::for_each_register;
use assay_ssa::analysis::{Cfg, Dominators, Loops};
use assay_ssa::{Function, IdSet, Value, ValueDef};

/// Values made by an instruction in a loop and used outside it.
pub(super) fn escaping(function: &Function, folded: &IdSet<Value>) -> IdSet<Value> {
    let cfg = Cfg::new(function);
    let dominators = Dominators::new(&cfg, function);
    let loops = Loops::new(&cfg, &dominators, function);
    let mut escaping = IdSet::new();
    if loops.is_empty() {
        return escaping;
    }
    let inst_blocks = function.inst_blocks();
    let home = |value: Value| match function.def(value) {
        ValueDef::Result(inst) => inst_blocks[inst].and_then(|block| loops.innermost(block)),
        _ => None,
    };
    for &block in function.blocks() {
        for &inst in function.insts(block) {
            function.for_each_operand(inst, |value| {
                if home(value).is_some_and(|home| !loops.contains(home, block)) {
                    escaping.insert(value);
                }
            });
        }
    }
    // A folded value has no register: those it is made of are read in its place.
    let mut work: Vec<Value> = escaping.iter().collect();
    while let Some(value) = work.pop() {
        if let (true, ValueDef::Result(inst)) = (folded.contains(value), function.def(value)) {
            function.for_each_operand(inst, |operand| {
                if escaping.insert(operand) {
                    work.push(operand);
                }
            });
        }
    }
    escaping
}

/// First and last mention of a register.
#[derive(Clone, Copy, Debug)]
struct Life {
    reg: Reg,
    start: u32,
    end: u32,
}

/// Renumbers the registers so that those that are not needed at the same time are the same.
pub(super) fn allocate(program: &mut Program) -> Result<(), &'static str> {
    let lives = lives(program)?;
    let mut map = [
        vec![u32::MAX; program.narrow as usize],
        vec![u32::MAX; program.wide as usize],
    ];
    let mut counts = [0u32; 2];
    let fixed = program.constants.iter().map(|(reg, _)| *reg);
    let pointers = program
        .pointers
        .iter()
        .map(|&(index, _)| Reg { index, wide: true });
    for reg in fixed.chain(pointers) {
        let (kind, index) = (usize::from(reg.wide), reg.index as usize);
        if map[kind][index] == u32::MAX {
            map[kind][index] = counts[kind];
            counts[kind] += 1;
        }
    }
    let mut free: [Vec<u32>; 2] = [Vec::new(), Vec::new()];
    // Registers in use, the one that is free again first on top.
    let mut active = std::collections::BinaryHeap::new();
    for life in lives {
        let (kind, index) = (usize::from(life.reg.wide), life.reg.index as usize);
        if map[kind][index] != u32::MAX {
            continue;
        }
        while let Some(&std::cmp::Reverse((end, kind, number))) = active.peek() {
            if end >= life.start {
                break;
            }
            active.pop();
            let list: &mut Vec<u32> = &mut free[kind];
            list.push(number);
        }
        let number = free[kind].pop().unwrap_or_else(|| {
            counts[kind] += 1;
            counts[kind] - 1
        });
        map[kind][index] = number;
        active.push(std::cmp::Reverse((life.end, kind, number)));
    }
    rename(program, &map);
    [program.narrow, program.wide] = counts;
    Ok(())
}

/// The lives of all registers that are mentioned, by their start.
fn lives(program: &Program) -> Result<Vec<Life>, &'static str> {
    let none = Life {
        reg: Reg {
            index: 0,
            wide: false,
        },
        start: u32::MAX,
        end: 0,
    };
    let mut lives = vec![none; program.narrow as usize + program.wide as usize];
    let mut loops: Vec<(u32, u32)> = Vec::new();
    for (position, op) in (0u32..).zip(&program.ops) {
        for_each_register(program, op, &mut |reg, _| {
            let slot = reg.index + if reg.wide { program.narrow } else { 0 };
            if let Some(life) = lives.get_mut(slot as usize) {
                life.reg = reg;
                life.start = life.start.min(position);
                life.end = life.end.max(position);
            }
        })?;
        if let Op::LoopEnd { target, .. } = *op {
            loops.push((target, position));
        }
    }
    lives.retain(|life| life.start != u32::MAX);
    // Loops end before those around them do, so one round is enough.
    for &(first, last) in &loops {
        for life in &mut lives {
            let apart = life.end < first || life.start > last;
            let inside = life.start >= first && life.end <= last;
            if !apart && !inside {
                life.start = life.start.min(first);
                life.end = life.end.max(last);
            }
        }
    }
    lives.sort_by_key(|life| (life.start, life.end, life.reg.wide, life.reg.index));
    Ok(lives)
}

/// Gives every mention of a register its new number.
pub(super) fn rename(program: &mut Program, map: &[Vec<u32>; 2]) {
    // One that no operation mentions has no new number, and needs none.
    let number = |index: u32, kind: usize| {
        let known = map[kind].get(index as usize).copied();
        known.filter(|&new| new != u32::MAX).unwrap_or(0)
    };
    let n = |index: &mut u32| *index = number(*index, 0);
    let w = |index: &mut u32| *index = number(*index, 1);
    let r = |reg: &mut Reg| reg.index = number(reg.index, usize::from(reg.wide));
    for op in &mut program.ops {
        rename_op(op, &n, &w, &r);
    }
    program.lists.iter_mut().for_each(r);
    for transfer in &mut program.transfers {
        w(&mut transfer.base);
        if let Some(index) = &mut transfer.index {
            n(&mut index.reg);
        }
    }
    for collective in &mut program.collectives {
        r(&mut collective.d);
        r(&mut collective.a);
        for operand in [&mut collective.b, &mut collective.c, &mut collective.e] {
            operand.iter_mut().for_each(r);
        }
    }
    for matrix in &mut program.matrices {
        let at = match matrix {
            MatrixOp::Load { d, at, .. } => {
                d.iter_mut().for_each(n);
                at
            }
            MatrixOp::Store { a, at, .. } => {
                a.iter_mut().for_each(n);
                at
            }
            MatrixOp::Diagonal { d, value } => {
                d.iter_mut().for_each(n);
                n(value);
                continue;
            }
            MatrixOp::Product { .. } => continue,
        };
        let places = [&mut at.ptr, &mut at.stride, &mut at.column, &mut at.row];
        places.into_iter().for_each(w);
        r(&mut at.transposed);
    }
    for product in &mut program.products {
        product.d.iter_mut().for_each(n);
        product.a.0.iter_mut().for_each(n);
        product.b.0.iter_mut().for_each(n);
        if let Some((c, _)) = &mut product.c {
            c.iter_mut().for_each(n);
        }
    }
    program.constants.iter_mut().for_each(|(reg, _)| r(reg));
    program.pointers.iter_mut().for_each(|(reg, _)| w(reg));
}

fn rename_op(op: &mut Op, n: &impl Fn(&mut u32), w: &impl Fn(&mut u32), r: &impl Fn(&mut Reg)) {
    match op {
        Op::N1 { d, a, .. } | Op::MoveNarrow { d, a } => [d, a].into_iter().for_each(n),
        Op::N2 { d, a, b, .. } => [d, a, b].into_iter().for_each(n),
        Op::N3 { d, a, b, c, .. } => [d, a, b, c].into_iter().for_each(n),
        Op::W1 { d, a, .. } | Op::MoveWide { d, a } => [d, a].into_iter().for_each(w),
        Op::W2 { d, a, b, .. } => [d, a, b].into_iter().for_each(w),
        Op::Widen { d, a, .. } => {
            w(d);
            n(a);
        }
        Op::Narrowing { d, a, .. } => {
            n(d);
            w(a);
        }
        Op::Compare { d, a, b, .. } => {
            n(d);
            [a, b].into_iter().for_each(w);
        }
        Op::SelectNarrow { d, cond, yes, no } => [d, cond, yes, no].into_iter().for_each(n),
        Op::SelectWide { d, cond, yes, no } => {
            n(cond);
            [d, yes, no].into_iter().for_each(w);
        }
        Op::PtrAdd {
            d,
            base,
            index,
            kind,
            ..
        } => {
            [d, base].into_iter().for_each(w);
            match kind {
                Index::None => {}
                Index::Wide => w(index),
                Index::Narrow { .. } => n(index),
            }
        }
        Op::Pick { d, index, .. } => [d, index].into_iter().for_each(r),
        Op::MemCopy { dst, src, size } => {
            [dst, src].into_iter().for_each(w);
            r(size);
        }
        Op::MemSet { dst, byte, size } => {
            w(dst);
            n(byte);
            r(size);
        }
        Op::Atomic { d, ptr, value, .. } => {
            w(ptr);
            [d, value].into_iter().for_each(r);
        }
        Op::CompareExchange {
            d,
            ptr,
            expected,
            desired,
            ..
        } => {
            w(ptr);
            [d, expected, desired].into_iter().for_each(r);
        }
        Op::Position { d, .. } => r(d),
        Op::If { cond, .. } | Op::Expect { cond, .. } => n(cond),
        Op::Repack { .. }
        | Op::Load { .. }
        | Op::Store { .. }
        | Op::PerLane { .. }
        | Op::BulkCopy { .. }
        | Op::Collective { .. }
        | Op::Matrix { .. }
        | Op::Texture { .. }
        | Op::Moves { .. }
        | Op::Barrier { .. }
        | Op::Order { .. }
        | Op::Else { .. }
        | Op::EndIf { .. }
        | Op::EndThen { .. }
        | Op::ScopeBegin { .. }
        | Op::ScopeEnd { .. }
        | Op::LoopEnd { .. }
        | Op::Leave { .. }
        | Op::SkipIfNone { .. }
        | Op::Return
        | Op::Unreachable
        | Op::End => {}
    }
}
