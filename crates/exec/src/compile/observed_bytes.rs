//! Observed bytes: how much of a load something depends on.
//!
//! A `float3` in memory is loaded as four numbers, and compilers go on to calculate with all four, but no store, branch or address
//! depends on the fourth. Checking ignores races on such numbers, and whether they were ever written.

use crate::code::{Op, Program, Reg};
use crate::operands::{Role, for_each_register};

/// Sets for each load the bytes up to the last number that is observed. Registers must not have been allocated yet.
pub(super) fn observed_bytes(program: &mut Program) -> Result<(), &'static str> {
    let narrow = program.narrow as usize;
    let number = |reg: Reg| reg.index as usize + if reg.wide { narrow } else { 0 };
    let mut makers: Vec<Vec<u32>> = vec![Vec::new(); narrow + program.wide as usize];
    let mut work: Vec<usize> = Vec::new();
    for (position, op) in (0u32..).zip(&program.ops) {
        let pure = is_pure(op);
        for_each_register(program, op, &mut |reg, role| match role {
            Role::Reads if !pure => work.push(number(reg)),
            Role::Writes if pure => {
                if let Some(makers) = makers.get_mut(number(reg)) {
                    makers.push(position);
                }
            }
            _ => {}
        })?;
    }
    let mut known = vec![false; makers.len()];
    while let Some(register) = work.pop() {
        match known.get_mut(register) {
            Some(known) if !*known => *known = true,
            _ => continue,
        }
        for &maker in makers.get(register).into_iter().flatten() {
            let Some(op) = program.ops.get(maker as usize) else {
                continue;
            };
            if let Op::Moves { list, .. } = *op {
                let pairs = program.list(list).chunks_exact(2);
                let into = pairs.filter(|pair| number(pair[0]) == register);
                work.extend(into.map(|pair| number(pair[1])));
                continue;
            }
            for_each_register(program, op, &mut |reg, role| {
                if role == Role::Reads {
                    work.push(number(reg));
                }
            })?;
        }
    }
    for op in &program.ops {
        let Op::Load { transfer } = *op else { continue };
        let Some(transfer) = program.transfers.get_mut(transfer as usize) else {
            continue;
        };
        let (start, len) = (transfer.regs.start as usize, transfer.regs.len as usize);
        let regs = program.lists.get(start..start + len).unwrap_or(&[]);
        let is_observed = |reg: &Reg| known.get(number(*reg)) != Some(&false);
        // A load of which nothing is observed was not made for its padding.
        if let Some(last) = regs.iter().rposition(is_observed) {
            transfer.observed_bytes = (last as u32 + 1) * transfer.cell.bytes();
        }
    }
    Ok(())
}

/// Returns true if all an operation does is to make numbers of others.
fn is_pure(op: &Op) -> bool {
    matches!(
        op,
        Op::N1 { .. }
            | Op::N2 { .. }
            | Op::N3 { .. }
            | Op::W1 { .. }
            | Op::W2 { .. }
            | Op::Widen { .. }
            | Op::Narrowing { .. }
            | Op::Compare { .. }
            | Op::SelectNarrow { .. }
            | Op::SelectWide { .. }
            | Op::PtrAdd { .. }
            | Op::Pick { .. }
            | Op::Repack { .. }
            | Op::PerLane { .. }
            | Op::MoveNarrow { .. }
            | Op::MoveWide { .. }
            | Op::Moves { .. }
            | Op::Position { .. }
    )
}
