//! Which registers an operation reads and writes.

use crate::code::{Index, Op, Program, Reg};
use crate::matrix::{MatrixOp, Origin};

/// What an operation does with a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Reads,
    Writes,
}

fn narrow(index: u32) -> Reg {
    Reg { index, wide: false }
}

fn wide(index: u32) -> Reg {
    Reg { index, wide: true }
}

/// Calls `visit` with every register of an operation, those read first. An index into a table of the program that has no
/// such entry is an error.
pub(crate) fn for_each_register(
    program: &Program,
    op: &Op,
    visit: &mut dyn FnMut(Reg, Role),
) -> Result<(), &'static str> {
    use Role::{Reads, Writes};
    let missing = "an operation without its entry in a table";
    let mut all = |reads: &[Reg], writes: &[Reg]| {
        reads.iter().for_each(|&reg| visit(reg, Reads));
        writes.iter().for_each(|&reg| visit(reg, Writes));
    };
    match *op {
        Op::N1 { d, a, .. } | Op::MoveNarrow { d, a } => all(&[narrow(a)], &[narrow(d)]),
        Op::N2 { d, a, b, .. } => all(&[narrow(a), narrow(b)], &[narrow(d)]),
        Op::N3 { d, a, b, c, .. } => all(&[narrow(a), narrow(b), narrow(c)], &[narrow(d)]),
        Op::W1 { d, a, .. } | Op::MoveWide { d, a } => all(&[wide(a)], &[wide(d)]),
        Op::W2 { d, a, b, .. } => all(&[wide(a), wide(b)], &[wide(d)]),
        Op::Widen { d, a, .. } => all(&[narrow(a)], &[wide(d)]),
        Op::Narrowing { d, a, .. } => all(&[wide(a)], &[narrow(d)]),
        Op::Compare { d, a, b, .. } => all(&[wide(a), wide(b)], &[narrow(d)]),
        Op::SelectNarrow { d, cond, yes, no } => {
            all(&[narrow(cond), narrow(yes), narrow(no)], &[narrow(d)]);
        }
        Op::SelectWide { d, cond, yes, no } => {
            all(&[narrow(cond), wide(yes), wide(no)], &[wide(d)]);
        }
        Op::PtrAdd {
            d,
            base,
            index,
            kind,
            ..
        } => match kind {
            Index::None => all(&[wide(base)], &[wide(d)]),
            Index::Wide => all(&[wide(base), wide(index)], &[wide(d)]),
            Index::Narrow { .. } => all(&[wide(base), narrow(index)], &[wide(d)]),
        },
        Op::Pick { d, list, index } => {
            all(program.list(list), &[]);
            all(&[index], &[d]);
        }
        Op::Repack { from, to, .. } => all(program.list(from), program.list(to)),
        Op::Load { transfer } | Op::Store { transfer } => {
            let transfer = program.transfers.get(transfer as usize).ok_or(missing)?;
            all(&[wide(transfer.base)], &[]);
            if let Some(index) = transfer.index {
                all(&[narrow(index.reg)], &[]);
            }
            let regs = program.list(transfer.regs);
            match op {
                Op::Load { .. } => all(&[], regs),
                _ => all(regs, &[]),
            }
        }
        Op::MemCopy { dst, src, size } => all(&[wide(dst), wide(src), size], &[]),
        Op::BulkCopy { index } => {
            let copy = program.copies.get(index as usize).ok_or(missing)?;
            all(program.list(copy.args), &[]);
        }
        Op::MemSet { dst, byte, size } => all(&[wide(dst), narrow(byte), size], &[]),
        Op::Atomic { d, ptr, value, .. } => all(&[wide(ptr), value], &[d]),
        Op::CompareExchange {
            d,
            ptr,
            expected,
            desired,
            ..
        } => all(&[wide(ptr), expected, desired], &[d]),
        Op::PerLane { index } => {
            let call = program.per_lane.get(index as usize).ok_or(missing)?;
            all(program.list(call.args), program.list(call.results));
        }
        Op::Position { d, .. } => all(&[], &[d]),
        Op::Collective { index } => {
            let of = program.collectives.get(index as usize).ok_or(missing)?;
            // One without operands names its result as the first.
            let a = Some(of.a).filter(|&a| a != of.d);
            for reg in [a, of.b, of.c, of.e].into_iter().flatten() {
                all(&[reg], &[]);
            }
            all(&[], &[of.d]);
        }
        Op::Matrix { index } => {
            let op = program.matrices.get(index as usize).ok_or(missing)?;
            matrix(program, op, &mut all).ok_or(missing)?;
        }
        Op::Texture { index } => {
            let of = program.textures.get(index as usize).ok_or(missing)?;
            all(program.list(of.args), program.list(of.results));
        }
        Op::Moves { list, wide } => {
            for pair in program.list(list).chunks(2) {
                match *pair {
                    [to, from] if to != from && to.wide == wide && from.wide == wide => {
                        all(&[from], &[]);
                    }
                    _ => return Err("a move of a register to itself or to another kind"),
                }
            }
            let to = program.list(list).iter().step_by(2);
            to.for_each(|&to| visit(to, Writes));
        }
        Op::If { cond, .. } | Op::Expect { cond, .. } => all(&[narrow(cond)], &[]),
        Op::Barrier { .. }
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
    Ok(())
}

fn matrix(program: &Program, op: &MatrixOp, all: &mut dyn FnMut(&[Reg], &[Reg])) -> Option<()> {
    let origin = |at: &Origin| {
        [
            wide(at.ptr),
            wide(at.stride),
            wide(at.column),
            wide(at.row),
            at.transposed,
        ]
    };
    match op {
        MatrixOp::Load { d, at, .. } => all(&origin(at), &d.map(narrow)),
        MatrixOp::Store { a, at, .. } => {
            all(&origin(at), &[]);
            all(&a.map(narrow), &[]);
        }
        MatrixOp::Diagonal { d, value } => all(&[narrow(*value)], &d.map(narrow)),
        MatrixOp::Product { index } => {
            let of = program.products.get(*index as usize)?;
            all(&of.a.0.map(narrow), &[]);
            all(&of.b.0.map(narrow), &[]);
            if let Some((c, _)) = of.c {
                all(&c.map(narrow), &[]);
            }
            all(&[], &of.d.map(narrow));
        }
    }
    Some(())
}
