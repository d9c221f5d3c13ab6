//! Which registers an operation reads and writes.

use crate::code::{Index, Op, Program, Reg};
use crate::matrix::{MatrixOp, Origin};

/// What an operation does with a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Reads,
    Writes,
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
        Op::N1 { d, a, .. } | Op::MoveNarrow { d, a } => all(&[Reg::narrow(a)], &[Reg::narrow(d)]),
        Op::N2 { d, a, b, .. } => all(&[Reg::narrow(a), Reg::narrow(b)], &[Reg::narrow(d)]),
        Op::N3 { d, a, b, c, .. } => all(
            &[Reg::narrow(a), Reg::narrow(b), Reg::narrow(c)],
            &[Reg::narrow(d)],
        ),
        Op::W1 { d, a, .. } | Op::MoveWide { d, a } => all(&[Reg::wide(a)], &[Reg::wide(d)]),
        Op::W2 { d, a, b, .. } => all(&[Reg::wide(a), Reg::wide(b)], &[Reg::wide(d)]),
        Op::Widen { d, a, .. } => all(&[Reg::narrow(a)], &[Reg::wide(d)]),
        Op::Narrowing { d, a, .. } => all(&[Reg::wide(a)], &[Reg::narrow(d)]),
        Op::Compare { d, a, b, .. } => all(&[Reg::wide(a), Reg::wide(b)], &[Reg::narrow(d)]),
        Op::SelectNarrow { d, cond, yes, no } => {
            all(
                &[Reg::narrow(cond), Reg::narrow(yes), Reg::narrow(no)],
                &[Reg::narrow(d)],
            );
        }
        Op::SelectWide { d, cond, yes, no } => {
            all(
                &[Reg::narrow(cond), Reg::wide(yes), Reg::wide(no)],
                &[Reg::wide(d)],
            );
        }
        Op::PtrAdd {
            d,
            base,
            index,
            kind,
            ..
        } => match kind {
            Index::None => all(&[Reg::wide(base)], &[Reg::wide(d)]),
            Index::Wide => all(&[Reg::wide(base), Reg::wide(index)], &[Reg::wide(d)]),
            Index::Narrow { .. } => all(&[Reg::wide(base), Reg::narrow(index)], &[Reg::wide(d)]),
        },
        Op::Pick { d, list, index } => {
            all(program.list(list), &[]);
            all(&[index], &[d]);
        }
        Op::Repack { from, to, .. } => all(program.list(from), program.list(to)),
        Op::Load { transfer } | Op::Store { transfer } => {
            let transfer = program.transfers.get(transfer as usize).ok_or(missing)?;
            all(&[Reg::wide(transfer.base)], &[]);
            if let Some(index) = transfer.index {
                all(&[Reg::narrow(index.reg)], &[]);
            }
            let regs = program.list(transfer.regs);
            match op {
                Op::Load { .. } => all(&[], regs),
                _ => all(regs, &[]),
            }
        }
        Op::MemCopy { dst, src, size } => all(&[Reg::wide(dst), Reg::wide(src), size], &[]),
        Op::BulkCopy { index } => {
            let copy = program.copies.get(index as usize).ok_or(missing)?;
            all(program.list(copy.args), &[]);
        }
        Op::MemSet { dst, byte, size } => all(&[Reg::wide(dst), Reg::narrow(byte), size], &[]),
        Op::Atomic { d, ptr, value, .. } => all(&[Reg::wide(ptr), value], &[d]),
        Op::CompareExchange {
            d,
            ptr,
            expected,
            desired,
            ..
        } => all(&[Reg::wide(ptr), expected, desired], &[d]),
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
        Op::If { cond, .. } | Op::Expect { cond, .. } => all(&[Reg::narrow(cond)], &[]),
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
            Reg::wide(at.ptr),
            Reg::wide(at.stride),
            Reg::wide(at.column),
            Reg::wide(at.row),
            at.transposed,
        ]
    };
    match op {
        MatrixOp::Load { d, at, .. } => all(&origin(at), &d.map(Reg::narrow)),
        MatrixOp::Store { a, at, .. } => {
            all(&origin(at), &[]);
            all(&a.map(Reg::narrow), &[]);
        }
        MatrixOp::Diagonal { d, value } => all(&[Reg::narrow(*value)], &d.map(Reg::narrow)),
        MatrixOp::Product { index } => {
            let of = program.products.get(*index as usize)?;
            all(&of.a.0.map(Reg::narrow), &[]);
            all(&of.b.0.map(Reg::narrow), &[]);
            if let Some((c, _)) = of.c {
                all(&c.map(Reg::narrow), &[]);
            }
            all(&[], &of.d.map(Reg::narrow));
        }
    }
    Some(())
}
