//! The execution-mask stack.

use super::checks::unread;
use super::{Exit, Trouble, failed};
use crate::fault::{NestingFault, Site};
use crate::host::vectorised;
use crate::nesting::Misuse;
use crate::op::{Compared, MicroOp, OpIndex, Operation, Row};
use crate::ops::compare;
use crate::simdgroup::Simdgroup;
use crate::touch::Touch;
use assay_agx::Condition;

pub(super) fn nesting(index: OpIndex, misuse: Misuse) -> Exit {
    failed(index, None, Trouble::Nesting(misuse))
}

/// All ones where a comparison holds.
#[inline(always)]
pub(super) fn holds<const VECTOR: bool>(
    simdgroup: &Simdgroup,
    condition: Condition,
    compared: Compared,
) -> Row {
    compare::compare::<VECTOR>(simdgroup, condition, compared);
    simdgroup.outcome_row()
}

vectorised! {
    /// The execution-mask stack: every thread's counter (on G13 in `r0l`), and who is active.
    pub(super) fn mask_operation<STRICT>(
        simdgroup: &mut Simdgroup,
        op: &MicroOp,
        index: OpIndex,
    ) -> Result<(), Exit> = mask_operation_body;
}

#[inline(always)]
fn mask_operation_body<const VECTOR: bool, const STRICT: bool>(
    simdgroup: &mut Simdgroup,
    op: &MicroOp,
    index: OpIndex,
) -> Result<(), Exit> {
    let row = simdgroup.counters;
    let counter = Touch { row, halves: 1 };
    let exists = simdgroup.exists;
    if STRICT && let Some(exit) = unread(simdgroup, &[counter], exists, index) {
        return Err(exit);
    }
    let counters = simdgroup.row(u16::from(row)).map(|word| word & 0xffff);
    // Lanes whose counter is below a limit.
    let below =
        |limit: u32| compare::to_bits(&counters.map(|counter| u32::from(counter < limit))) & exists;
    macro_rules! asked {
        ($condition:expr, $compared:expr, $lanes:expr) => {{
            let lanes = $lanes;
            if STRICT && let Some(exit) = unread(simdgroup, op.touches.reads(), lanes, index) {
                return Err(exit);
            }
            holds::<VECTOR>(simdgroup, $condition, $compared)
        }};
    }
    let opened = |result: Result<(), Misuse>| match result {
        Err(misuse) if STRICT => Err(nesting(index, misuse)),
        _ => Ok(()),
    };
    let new = match op.operation {
        Operation::If {
            condition,
            compared,
            levels,
        } => {
            let holds = asked!(condition, compared, below(1));
            let can_fail = op.touches.reads().len() > 1 || compare::to_bits(&holds) != u32::MAX;
            opened(simdgroup.nesting.open(index, levels, can_fail))?;
            let more = u32::from(levels);
            counters.zip(&holds, |v, holds| match v {
                0 => u32::from(holds == 0),
                v => v + more,
            })
        }
        Operation::Else {
            condition,
            compared,
            levels,
        } => {
            let holds = asked!(condition, compared, below(2) & !below(1));
            opened(simdgroup.nesting.alternate(index, levels))?;
            let count = u32::from(levels);
            counters.zip(&holds, |v, holds| match v {
                0 => count,
                1 => u32::from(holds == 0),
                v => v,
            })
        }
        Operation::While {
            condition,
            compared,
            levels,
        } => {
            let count = u32::from(levels);
            let holds = asked!(condition, compared, below(count));
            opened(simdgroup.nesting.raise(index, levels))?;
            counters.zip(&holds, |v, holds| match (v < count, holds) {
                (true, 0) => count,
                (true, _) => 0,
                (false, _) => v,
            })
        }
        Operation::Pop { levels } => {
            opened(simdgroup.nesting.close(levels))?;
            counters.map(|v| v.saturating_sub(u32::from(levels)))
        }
        _ => counters,
    };
    let register = simdgroup.row(u16::from(row));
    let register = register.zip(&new, |old, new| old & 0xffff_0000 | new & 0xffff);
    simdgroup.set_row(u16::from(row), &register);
    let active = compare::to_bits(&new.map(|v| u32::from(v & 0xffff == 0)));
    simdgroup.set_exec(active & exists);
    Ok(())
}

/// A misuse as a fault, once its instruction can be named.
pub(crate) fn nesting_fault(misuse: Misuse, site: impl Fn(OpIndex) -> Site) -> NestingFault {
    match misuse {
        Misuse::Simple(fault) => fault,
        Misuse::LeftOpen { open, opener } => NestingFault::LeftOpen {
            open,
            opener: site(opener),
        },
    }
}
