//! Waits for what memory delivers late.
//!
//! Loads, atomics and stores report to one of two slots; `wait` lets one slot drain.
//! A register that something is still to be delivered to may be neither read nor
//! written. What is outstanding flows along the order of execution, which is not a
//! lane's own path: code that a lane skips runs for the others, so a block's state is
//! the union over every block that can run just before it.
//!
//! Slots are chosen so that what is used together is waited for together, and what is
//! used much later does not hold up what is used now. Stores keep away from loads, but where a loop's stores would need a
//! wait of their own they share the one for its loads.

use super::machine::{Code, Machine};
use assay_agx::{Field, Op, Operand, RegSet};
use assay_ssa::id::Id;

/// More than this must not be outstanding in one slot.
const OUTSTANDING: u8 = 8;

/// How far ahead a first use is looked for; beyond that it is merely far away.
const HORIZON: usize = 96;

/// Uses no further apart than this are served by one wait.
const TOGETHER: usize = 6;

/// In how many blocks it is tried whether stores had better report with loads.
const MOST_JOINED: usize = 16;

/// The slot of each instruction of each block that reports to one.
type Slots = Vec<Vec<Option<u8>>>;

/// What has been asked of memory and not been waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct State {
    slots: [Slot; 2],
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Slot {
    /// Registers that something is still to be delivered to.
    pending: RegSet,
    /// How many accesses are outstanding, at most.
    count: u8,
}

impl State {
    /// Becomes the union of both; says whether anything was new.
    fn join(&mut self, other: &State) -> bool {
        let mut grew = false;
        for (mine, theirs) in self.slots.iter_mut().zip(&other.slots) {
            let joined = Slot {
                pending: mine.pending.union(theirs.pending),
                count: mine.count.max(theirs.count),
            };
            grew |= joined != *mine;
            *mine = joined;
        }
        grew
    }

    /// The slots to wait for before an instruction that reports to `slot`, if to any.
    fn needed(&self, inst: &Machine, slot: Option<u8>) -> [bool; 2] {
        let fence = matches!(inst.op, Op::ThreadgroupBarrier | Op::MemoryBarrier);
        let touched = inst.reads.union(inst.writes);
        let mut needed = [false; 2];
        for ((number, state), needed) in (0u8..).zip(&self.slots).zip(&mut needed) {
            let full = slot == Some(number) && state.count >= OUTSTANDING;
            let drained = fence && state.count != 0;
            *needed = full || drained || state.pending.intersects(&touched);
        }
        needed
    }

    fn drain(&mut self, slots: [bool; 2]) {
        for (state, drain) in self.slots.iter_mut().zip(slots) {
            if drain {
                *state = Slot::default();
            }
        }
    }

    fn issue(&mut self, inst: &Machine, slot: Option<u8>) {
        let state = slot.and_then(|slot| self.slots.get_mut(usize::from(slot)));
        if let Some(state) = state {
            state.pending = state.pending.union(inst.writes);
            state.count = (state.count + 1).min(OUTSTANDING);
        }
    }
}

/// Gives every asynchronous instruction its slot and puts waits where they are needed.
pub(crate) fn insert_waits(code: &mut Code) {
    let mut slots: Slots = code.iter().map(|block| choose_slots(block)).collect();
    let entries = join_stores(code, &mut slots);
    for ((block, slots), mut state) in code.iter_mut().zip(&slots).zip(entries) {
        if block.iter().all(|inst| !may_wait(inst)) && state == State::default() {
            continue;
        }
        let mut out = Vec::with_capacity(block.len() + 4);
        for (mut inst, slot) in block.drain(..).zip(slots) {
            let needed = state.needed(&inst, *slot);
            for (number, _) in (0..).zip(needed).filter(|(_, needed)| *needed) {
                let wait = Machine::new(Op::Wait, inst.loc);
                out.push(wait.with(Field::Slot, Operand::Imm(number)));
            }
            state.drain(needed);
            state.issue(&inst, *slot);
            if let Some(slot) = slot {
                let slot = Operand::Imm(i64::from(*slot));
                inst.operands.push((Field::Slot, slot));
            }
            out.push(inst);
        }
        *block = out;
    }
}

/// Stores that a loop would wait for only so that they do not pile up report to the slot of the loop's loads instead, if
/// that saves a wait: the loads of the next iteration are waited for anyway. Returns the state at the start of every
/// block.
fn join_stores(code: &Code, slots: &mut Slots) -> Vec<State> {
    let mut entries = solve(code, slots);
    let (mut waits, full) = count_waits(code, slots, &entries);
    for index in full.into_iter().take(MOST_JOINED) {
        move_stores(&code[index], &mut slots[index]);
        let found = solve(code, slots);
        let (fewer, _) = count_waits(code, slots, &found);
        if fewer < waits {
            (entries, waits) = (found, fewer);
        } else {
            move_stores(&code[index], &mut slots[index]);
        }
    }
    entries
}

/// Lets the stores of a block report to the other slot. Done twice, nothing has changed.
fn move_stores(block: &[Machine], slots: &mut [Option<u8>]) {
    for (inst, slot) in block.iter().zip(slots) {
        if inst.writes.is_empty() {
            *slot = slot.map(|slot| 1 - slot);
        }
    }
}

/// How many waits there will be, and the blocks that wait because a slot is full.
fn count_waits(code: &Code, slots: &Slots, entries: &[State]) -> (usize, Vec<usize>) {
    let (mut waits, mut full) = (0, Vec::new());
    for (index, ((block, slots), entry)) in code.iter().zip(slots).zip(entries).enumerate() {
        let mut state = *entry;
        for (inst, slot) in block.iter().zip(slots) {
            let needed = state.needed(inst, *slot);
            waits += needed.iter().filter(|needed| **needed).count();
            let is_full =
                slot.is_some_and(|slot| state.slots[usize::from(slot & 1)].count >= OUTSTANDING);
            if is_full && full.last() != Some(&index) {
                full.push(index);
            }
            state.drain(needed);
            state.issue(inst, *slot);
        }
    }
    (waits, full)
}

fn may_wait(inst: &Machine) -> bool {
    inst.is_asynchronous() || matches!(inst.op, Op::ThreadgroupBarrier | Op::MemoryBarrier)
}

/// The state at the start of every block. A block is looked at again only if its state has grown.
fn solve(code: &Code, slots: &Slots) -> Vec<State> {
    let mut entries = vec![State::default(); code.len()];
    let mut grown = vec![true; code.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for (index, (block, slots)) in code.iter().zip(slots).enumerate() {
            if !std::mem::take(&mut grown[index]) {
                continue;
            }
            let mut state = entries[index];
            let mut reach = |to: usize, state: &State| {
                if entries.get_mut(to).is_some_and(|entry| entry.join(state)) {
                    grown[to] = true;
                    changed |= to <= index;
                }
            };
            for (inst, slot) in block.iter().zip(slots) {
                state.drain(state.needed(inst, *slot));
                state.issue(inst, *slot);
                if let Some(target) = inst.target {
                    reach(target.index(), &state);
                }
            }
            if block.last().is_none_or(|inst| inst.op != Op::Stop) {
                reach(index + 1, &state);
            }
        }
    }
    entries
}

/// What is outstanding in a slot while slots are chosen.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    pending: RegSet,
    loads: u8,
    stores: u8,
    /// Where the first of them is used.
    used: usize,
}

/// The slot of each instruction of a block that reports to one.
fn choose_slots(block: &[Machine]) -> Vec<Option<u8>> {
    let mut groups = [Group::default(); 2];
    let mut slots = Vec::with_capacity(block.len());
    for (at, inst) in block.iter().enumerate() {
        let touched = inst.reads.union(inst.writes);
        for group in &mut groups {
            if group.pending.intersects(&touched) {
                *group = Group::default();
            }
        }
        if !inst.is_asynchronous() {
            slots.push(None);
            continue;
        }
        let delivers = !inst.writes.is_empty();
        let used = first_use(block, at);
        let slot = match delivers {
            true => slot_of_load(&groups, used),
            false => slot_of_store(&groups),
        };
        let group = &mut groups[slot];
        if group.loads + group.stores >= OUTSTANDING {
            *group = Group::default();
        }
        if delivers {
            let earliest = if group.loads == 0 { used } else { group.used };
            group.used = earliest.min(used);
            group.loads += 1;
            group.pending = group.pending.union(inst.writes);
        } else {
            group.stores += 1;
        }
        slots.push(Some(slot as u8));
    }
    slots
}

/// With those that are used at about the same time, else alone, else with the nearest.
fn slot_of_load(groups: &[Group; 2], used: usize) -> usize {
    let rank = |group: &Group| {
        let full = group.loads + group.stores >= OUTSTANDING;
        let apart = group.used.abs_diff(used);
        match (group.loads, apart) {
            (1.., apart) if apart <= TOGETHER => (full, 0, apart),
            (0, _) => (full, 1, usize::from(group.stores)),
            (_, apart) => (full, 2, apart),
        }
    };
    usize::from(rank(&groups[1]) < rank(&groups[0]))
}

/// Away from loads, so that waiting for a load does not wait for stores.
fn slot_of_store(groups: &[Group; 2]) -> usize {
    let rank = |group: &Group| {
        let full = group.loads + group.stores >= OUTSTANDING;
        (full, group.loads)
    };
    usize::from(rank(&groups[1]) <= rank(&groups[0]))
}

/// Where in the block the result of an instruction is first touched.
fn first_use(block: &[Machine], at: usize) -> usize {
    let Some(inst) = block.get(at) else { return at };
    let after = block.iter().enumerate().skip(at + 1).take(HORIZON);
    let mut touching = after.filter(|(_, other)| {
        other.reads.intersects(&inst.writes) || other.writes.intersects(&inst.writes)
    });
    touching.next().map_or(block.len() + HORIZON, |(at, _)| at)
}
