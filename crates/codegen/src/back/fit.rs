//! Makes a function fit the registers there are.

use super::allocate::{Allocation, Bounds, allocate, beyond, left_over};
use super::coalesce::coalesce;
use super::dead::remove_dead;
use super::groups::Groups;
use super::liveness::Liveness;
use super::pressure::pressure;
use super::ranges::Ranges;
use super::reload::take_out;
use super::spill::{Costs, choose, these};
use crate::ErrorKind;
use crate::mir::Function;
use assay_ssa::id::Id;

/// Rounds after which registers that are still too few are too few.
const ROUNDS: u32 = 48;

/// In the first rounds a reloaded value is kept for this many instructions.
const WINDOW: usize = 12;
const ROUNDS_WITH_WINDOW: u32 = 3;

/// How far below what is there to aim, at least, when gaps are the trouble.
const STEP: u16 = 4;

/// Rounds with such a step. When gaps stay, what finds no place between them goes to the stack.
const ROUNDS_WITH_STEP: u32 = 1;

/// The frame cannot be larger: offsets are 16 bits, signed.
const MAX_STACK: u32 = 0x7f00;

/// Allocates, keeping registers elsewhere until the rest fits, on a stack of at most `most_stack` bytes.
pub(crate) fn fit(
    function: &mut Function,
    bounds: Bounds,
    most_stack: u32,
) -> Result<Allocation, ErrorKind> {
    let available = bounds.limit.saturating_sub(bounds.first);
    let mut target = available;
    let mut keep = Vec::new();
    let mut most = 0;
    // Rounds in which there were enough registers but for gaps.
    let mut gaps = 0;
    for round in 0..ROUNDS {
        let liveness = Liveness::new(function);
        let ranges = Ranges::new(function, &liveness);
        let pressure = pressure(function, &ranges);
        let needed = pressure.iter().copied().max().unwrap_or(0);
        most = most.max(needed);
        let mut unplaced = Vec::new();
        if needed <= available {
            let mut groups = Groups::new(function, &ranges);
            coalesce(function, &mut groups);
            if let Ok(found) = allocate(groups, needed, bounds) {
                return Ok(found);
            }
            // Joined registers are harder to place.
            let groups = match allocate(Groups::new(function, &ranges), needed, bounds) {
                Ok(found) => return Ok(found),
                Err(groups) => groups,
            };
            gaps += 1;
            if gaps > ROUNDS_WITH_STEP {
                let costs = Costs::new(function, &keep);
                unplaced = left_over(&groups, bounds, |reg| costs.of(reg));
            }
            // Gaps close as registers become fewer, so not all that is missing is taken at once.
            let step = (beyond(&groups, bounds) / 2).max(STEP);
            target = target.min(needed).saturating_sub(step);
        }
        keep.resize(function.vregs.len(), false);
        let chosen = if unplaced.is_empty() {
            choose(function, &ranges, &pressure, target, &keep)
        } else {
            these(function, &pressure, target, unplaced)
        };
        if chosen.is_empty() || function.stack_bytes > most_stack.min(MAX_STACK) {
            break;
        }
        let window = if round < ROUNDS_WITH_WINDOW {
            WINDOW
        } else {
            0
        };
        let temporaries = take_out(function, chosen, window);
        keep.resize(function.vregs.len(), false);
        for reg in temporaries {
            if let Some(keep) = keep.get_mut(reg.index()) {
                *keep = true;
            }
        }
        remove_dead(function);
    }
    Err(ErrorKind::TooLarge {
        what: "half registers",
        needed: u64::from(most.max(available + 1)),
        available: u64::from(available),
    })
}
