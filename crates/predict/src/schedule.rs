//! The order in which an optimising compiler would issue the instructions of a block.
//!
//! Generated code saves registers: it makes addresses again in every turn of a loop, waits for
//! each load before the next one is sent, and keeps loops with a constant number of turns.
//! Apple's compiler does neither, and a simdgroup's time depends on it. So what is timed is the
//! block as scheduled here:
//!
//! - what gives the same result in every turn of a loop is not issued in it, unless a condition guards
//!   it ([`invariants`](crate::invariants)); a value that found no register is reloaded before its use;
//! - loads are sent together, as many as registers hold, before the first result is used, as far
//!   as their addresses allow and no store to the same memory, barrier or change of the
//!   execution mask lies between;
//! - a loop of one block with a constant bound is unrolled: its counter takes no instructions,
//!   and loads of several turns are sent together.

use crate::code::{Class, Instruction};
use crate::invariants::Fate;
use assay_agx::{Op, RegSet};

/// Words per lane that loads sent together may fill, by memory: what answers soon needs fewer.
const WORDS_IN_FLIGHT: [u32; MEMORIES] = [DEVICE_WORDS_IN_FLIGHT, 16, 16, 4];

/// The same for device memory.
pub(crate) const DEVICE_WORDS_IN_FLIGHT: u32 = 48;

/// Instructions of a loop's body at most for it to be unrolled, and the greatest bound.
const MOST_BODY: usize = 48;
const MOST_TURNS: i64 = 64;

/// Turns that are scheduled together.
const TURNS: usize = 4;

/// One issued instruction, or a wait.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// Index in the block; a wait has none.
    pub(crate) instruction: Option<u32>,
    /// Scoreboard slot of a load or a wait.
    pub(crate) slot: u8,
    /// Places whose results it reads.
    pub(crate) reads: Vec<u32>,
    /// Registers it reads whose values come from before the block.
    pub(crate) outside: RegSet,
    /// It reloads from the stack what the instruction loaded before the loop.
    pub(crate) reload: bool,
}

/// A block in issue order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schedule {
    pub(crate) places: Vec<Place>,
    /// Turns of the block's loop that the places are.
    pub(crate) turns: usize,
}

/// An instruction of a block on its way into the schedule.
#[derive(Clone, Debug)]
struct Item {
    instruction: u32,
    /// Items whose results it reads.
    reads: Vec<u32>,
    outside: RegSet,
    /// Items between which nothing changes the execution mask and no barrier stands.
    segment: u32,
    /// Stores to its memory before it.
    epoch: u32,
    kind: ItemKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ItemKind {
    Arithmetic,
    /// A load and the memory it reads.
    Load(Memory),
    Store(Memory),
    /// An atomic or another access that keeps its place.
    Fixed,
    /// A wait for a load of an earlier block.
    Wait,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Memory {
    Device,
    Threadgroup,
    Stack,
    /// The stack, for a value that has no register. The reload stands before its use.
    Spill,
}

const MEMORIES: usize = 4;

/// The block as it stands in the program.
pub(crate) fn in_order(block: &[Instruction]) -> Schedule {
    let all = vec![false; block.len()];
    let items = items(block, &all, 1, false);
    let places = items.into_iter().map(|item| Place {
        instruction: Some(item.instruction),
        slot: block[item.instruction as usize].slot.unwrap_or(0),
        reads: item.reads,
        outside: item.outside,
        reload: false,
    });
    Schedule {
        places: places.collect(),
        turns: 1,
    }
}

/// The block as an optimising compiler would issue it: `fates` of its instructions say what leaves
/// the loop around it. `alone` are the registers it writes, if it is the whole body of a loop.
pub(crate) fn optimised(block: &[Instruction], fates: &[Fate], alone: Option<RegSet>) -> Schedule {
    let mut free: Vec<bool> = fates.iter().map(|fate| *fate == Fate::Hoisted).collect();
    let mut turns = 1;
    if let Some(written) = alone.filter(|_| has_constant_bound(block)) {
        turns = TURNS;
        mark_counting(block, written, &mut free);
    }
    let mut items = items(block, &free, turns, true);
    for item in &mut items {
        if fates.get(item.instruction as usize) == Some(&Fate::Spilled) {
            item.kind = ItemKind::Load(Memory::Spill);
            item.reads.clear();
            item.outside = RegSet::EMPTY;
        }
    }
    Schedule {
        places: place(block, &items),
        turns,
    }
}

/// Turns of a loop that is this block alone that are issued together.
pub(crate) fn turns_together(block: &[Instruction]) -> usize {
    match has_constant_bound(block) {
        true => TURNS,
        false => 1,
    }
}

/// Returns true if the block ends in a comparison of a counter with a small constant.
fn has_constant_bound(block: &[Instruction]) -> bool {
    let compare = block.iter().rev().find(|i| i.op == Op::WhileIcmp);
    let bound = compare.and_then(|compare| compare.bound);
    let small = bound.is_some_and(|bound| (1..=MOST_TURNS).contains(&bound));
    let inside = |i: &Instruction| i.op.writes_exec_mask() || i.class == Class::Barrier;
    small && block.len() <= MOST_BODY && block.iter().filter(|i| inside(i)).count() == 1
}

/// Marks what an unrolled loop does not issue: its counter, whatever is made of nothing but
/// the counter and constants, sums of that and values from outside, and the loop's end.
fn mark_counting(block: &[Instruction], written: RegSet, free: &mut [bool]) {
    // Registers that only a constant is added to.
    let mut counters = RegSet::EMPTY;
    for half in written.iter() {
        let mut writers = block.iter().filter(|i| i.writes.contains(half));
        let counts =
            |i: &Instruction| matches!(i.op, Op::Iadd | Op::Isub) && i.reads == i.writes && i.pure;
        if writers.clone().count() == 1 && writers.all(counts) {
            counters.insert(half);
        }
    }
    let mut varying = written.difference(counters);
    let mut counted = counters;
    for (instruction, free) in block.iter().zip(free) {
        let steady = instruction.pure && !instruction.reads.intersects(&varying);
        let only_counter = instruction.reads.difference(counted).is_empty();
        let sum = matches!(instruction.op, Op::Iadd | Op::Isub);
        let ends = matches!(instruction.op, Op::WhileIcmp | Op::JmpExecAny);
        if ends || (steady && (only_counter || sum)) {
            *free = true;
        }
        if steady {
            varying = varying.difference(instruction.writes);
            if only_counter {
                counted = counted.union(instruction.writes);
            }
        } else {
            varying = varying.union(instruction.writes);
            counted = counted.difference(instruction.writes);
        }
    }
}

/// The instructions of so many turns, without those that are free, with what they read.
fn items(block: &[Instruction], free: &[bool], turns: usize, scheduled: bool) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::with_capacity(block.len() * turns);
    let mut writer: Vec<Option<u32>> = vec![None; usize::from(RegSet::CAPACITY)];
    let mut segment = 0;
    let mut epochs = [0u32; MEMORIES];
    // Loads sent since the last wait for their slot in this block, and whether there was one.
    let mut sent = [false; 2];
    for _ in 0..turns {
        for (index, instruction) in block.iter().enumerate() {
            if free[index] {
                for half in instruction.writes.iter() {
                    writer[usize::from(half)] = None;
                }
                continue;
            }
            let mut kind = kind_of(instruction);
            let slot = usize::from(instruction.slot.unwrap_or(0) & 1);
            if scheduled && kind == ItemKind::Wait {
                if std::mem::replace(&mut sent[slot], true) {
                    continue;
                }
            } else if instruction.class == Class::DeviceAccess {
                sent[slot] = true;
            }
            let hard = instruction.op.writes_exec_mask() || instruction.class == Class::Barrier;
            segment += u32::from(hard);
            if !scheduled && kind != ItemKind::Wait {
                kind = ItemKind::Fixed;
            }
            let mut reads: Vec<u32> = Vec::new();
            let mut outside = RegSet::EMPTY;
            for half in instruction.reads.iter() {
                match writer[usize::from(half)] {
                    Some(item) if reads.contains(&item) => {}
                    Some(item) => reads.push(item),
                    None => outside.insert(half),
                }
            }
            let number = items.len() as u32;
            for half in instruction.writes.iter() {
                writer[usize::from(half)] = Some(number);
            }
            let epoch = match kind {
                ItemKind::Load(memory) => epochs[memory as usize],
                ItemKind::Store(memory) => {
                    epochs[memory as usize] += 1;
                    0
                }
                _ => 0,
            };
            if kind == ItemKind::Fixed && scheduled {
                epochs.iter_mut().for_each(|epoch| *epoch += 1);
            }
            items.push(Item {
                instruction: index as u32,
                reads,
                outside,
                segment,
                epoch,
                kind,
            });
            segment += u32::from(hard);
        }
    }
    items
}

fn kind_of(instruction: &Instruction) -> ItemKind {
    match instruction.op {
        Op::Wait => ItemKind::Wait,
        Op::DeviceLoad => ItemKind::Load(Memory::Device),
        Op::ThreadgroupLoad => ItemKind::Load(Memory::Threadgroup),
        Op::StackLoad => ItemKind::Load(Memory::Stack),
        Op::DeviceStore => ItemKind::Store(Memory::Device),
        Op::ThreadgroupStore => ItemKind::Store(Memory::Threadgroup),
        Op::StackStore => ItemKind::Store(Memory::Stack),
        _ => match instruction.class {
            Class::DeviceAccess | Class::LocalLoad | Class::LocalOther => ItemKind::Fixed,
            _ => ItemKind::Arithmetic,
        },
    }
}

/// Puts items into issue order.
fn place(block: &[Instruction], items: &[Item]) -> Vec<Place> {
    let mut scheduler = Scheduler {
        block,
        items,
        loads: (0..items.len() as u32)
            .filter(|&n| matches!(items[n as usize].kind, ItemKind::Load(_)))
            .collect(),
        next_load: 0,
        place_of: vec![None; items.len()],
        slot_of: vec![None; items.len()],
        batch: 0,
        waited: Vec::new(),
        epochs: [0; MEMORIES],
        places: Vec::with_capacity(items.len()),
    };
    // What an earlier block sent is waited for first, whatever slot it was given.
    let waits = items.iter().any(|item| item.kind == ItemKind::Wait);
    if waits {
        scheduler.push_wait(0);
        scheduler.push_wait(1);
    }
    for number in 0..items.len() as u32 {
        if scheduler.place_of[number as usize].is_some() {
            continue;
        }
        match items[number as usize].kind {
            ItemKind::Wait => {}
            ItemKind::Load(_) => scheduler.send_loads(number),
            _ => scheduler.emit(number),
        }
    }
    scheduler.places
}

struct Scheduler<'a> {
    block: &'a [Instruction],
    items: &'a [Item],
    /// Loads in program order, and the first that may not have been sent.
    loads: Vec<u32>,
    next_load: usize,
    place_of: Vec<Option<u32>>,
    /// The batch that an access to device memory was sent with.
    slot_of: Vec<Option<u32>>,
    batch: u32,
    /// Batches that were waited for.
    waited: Vec<bool>,
    /// Stores issued so far.
    epochs: [u32; MEMORIES],
    places: Vec<Place>,
}

impl Scheduler<'_> {
    /// Sends a load and those after it that can go with it.
    fn send_loads(&mut self, first: u32) {
        let segment = self.items[first as usize].segment;
        self.batch += 1;
        let mut words = [0; MEMORIES];
        let done = |place: &Option<u32>| place.is_some();
        while let Some(&load) = self.loads.get(self.next_load) {
            if !done(&self.place_of[load as usize]) {
                break;
            }
            self.next_load += 1;
        }
        for at in self.next_load..self.loads.len() {
            let load = self.loads[at];
            let item = &self.items[load as usize];
            if item.segment != segment {
                break;
            }
            if load < first || self.place_of[load as usize].is_some() {
                continue;
            }
            let ItemKind::Load(memory) = item.kind else {
                continue;
            };
            let changed = memory != Memory::Spill && item.epoch != self.epochs[memory as usize];
            let memory = memory as usize;
            let full = words[memory] >= WORDS_IN_FLIGHT[memory];
            if full || changed || !self.reachable(load) {
                continue;
            }
            let instruction = &self.block[item.instruction as usize];
            words[memory] += instruction.writes.len().div_ceil(2);
            self.emit(load);
        }
        if self.place_of[first as usize].is_none() {
            self.emit(first);
        }
    }

    /// Returns true if the address of a load can be made without waiting for a load, and
    /// without what must keep its place.
    fn reachable(&self, load: u32) -> bool {
        let mut stack: Vec<u32> = self.items[load as usize].reads.clone();
        let mut seen = 0;
        while let Some(number) = stack.pop() {
            seen += 1;
            if seen > 256 {
                return false;
            }
            let item = &self.items[number as usize];
            match (self.place_of[number as usize], item.kind) {
                (Some(_), ItemKind::Load(Memory::Threadgroup)) => return false,
                (Some(_), _) => {
                    let pending = self.slot_of[number as usize];
                    if pending.is_some_and(|batch| !self.was_waited(batch)) {
                        return false;
                    }
                }
                (None, ItemKind::Arithmetic) => {
                    let segment = self.items[load as usize].segment;
                    if item.segment != segment {
                        return false;
                    }
                    stack.extend(&item.reads);
                }
                (None, _) => return false,
            }
        }
        true
    }

    fn was_waited(&self, batch: u32) -> bool {
        self.waited.get(batch as usize).copied().unwrap_or(false)
    }

    /// Issues an item after everything it reads.
    fn emit(&mut self, number: u32) {
        let mut stack = vec![number];
        while let Some(&top) = stack.last() {
            if self.place_of[top as usize].is_some() {
                stack.pop();
                continue;
            }
            let missing = self.items[top as usize].reads.iter();
            let missing = missing
                .copied()
                .find(|&read| self.place_of[read as usize].is_none());
            match missing {
                Some(read) => stack.push(read),
                None => {
                    stack.pop();
                    self.put(top);
                }
            }
        }
    }

    fn put(&mut self, number: u32) {
        let item = &self.items[number as usize];
        let instruction = &self.block[item.instruction as usize];
        for read in &item.reads {
            let pending = self.slot_of[*read as usize];
            if let Some(batch) = pending.filter(|&batch| !self.was_waited(batch)) {
                self.wait(batch);
            }
        }
        if let ItemKind::Store(memory) = item.kind {
            self.epochs[memory as usize] += 1;
        }
        if item.kind == ItemKind::Fixed {
            self.epochs.iter_mut().for_each(|epoch| *epoch += 1);
            self.batch += 1;
        }
        let reload = item.kind == ItemKind::Load(Memory::Spill);
        if (reload || instruction.class == Class::DeviceAccess) && !instruction.writes.is_empty() {
            self.slot_of[number as usize] = Some(self.batch);
        }
        let places = item
            .reads
            .iter()
            .filter_map(|&read| self.place_of[read as usize]);
        let place = Place {
            instruction: Some(item.instruction),
            slot: (self.batch & 1) as u8,
            reads: places.collect(),
            outside: item.outside,
            reload,
        };
        self.place_of[number as usize] = Some(self.places.len() as u32);
        self.places.push(place);
    }

    /// Waits for a batch, and so for all before it in its slot.
    fn wait(&mut self, batch: u32) {
        let end = self.waited.len().max(batch as usize + 1);
        self.waited.resize(end, false);
        let mut earlier = batch as usize;
        loop {
            self.waited[earlier] = true;
            match earlier.checked_sub(2) {
                Some(before) => earlier = before,
                None => break,
            }
        }
        self.push_wait((batch & 1) as u8);
    }

    fn push_wait(&mut self, slot: u8) {
        self.places.push(Place {
            instruction: None,
            slot,
            reads: Vec::new(),
            outside: RegSet::EMPTY,
            reload: false,
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::change::Change;
    use crate::code::Code;
    use crate::execution::{Run, Stop};
    use assay_agx::{Isa, Program, assemble};
    use assay_chip::{CostModel, CostTable};

    /// The runs of the largest block, and of how many turns they are.
    fn runs(source: &str, as_written: bool) -> (usize, Vec<Run>) {
        let program = Program {
            code: assemble(Isa::G13, source, 0).expect("assembles").code,
            ..Program::new(Isa::G13, "test")
        };
        let costs = CostTable::of(CostModel::Measured);
        let code = Code::new(&program, costs).expect("few blocks");
        let access_of = |offset: u32, reload: bool| Some(offset as u16 + u16::from(reload));
        let plan = (!as_written).then(|| code.plan());
        let executed = vec![true; code.block_count()];
        let taken = vec![1.0; code.instructions.len()];
        let optimised = plan.as_ref().map(|plan| (plan, taken.as_slice()));
        let mut blocks = code.runs(optimised, &executed, &Change::default(), access_of);
        let size = |runs: &[Run]| runs.iter().map(|run| run.instructions).sum::<u32>();
        let longest = (0..blocks.len()).max_by_key(|&n| size(&blocks[n].1));
        blocks.swap_remove(longest.expect("a block"))
    }

    fn waits(runs: &[Run]) -> usize {
        let waits = runs.iter();
        waits
            .filter(|run| matches!(run.stop, Stop::Wait { .. }))
            .count()
    }

    fn issued(runs: &[Run]) -> f32 {
        runs.iter().map(|run| run.issue).sum()
    }

    const LOADS: &str = "device_load 0, i32, x, r4, u0_u1, r1, unsigned\n\
        wait 0\n\
        fadd32 r8, r8, r4\n\
        device_load 0, i32, x, r4, u0_u1, r2, unsigned\n\
        wait 0\n\
        fadd32 r8, r8, r4\n\
        stop\n";

    #[test]
    fn loads_are_sent_together_before_the_first_is_used() {
        assert_eq!(waits(&runs(LOADS, true).1), 2);
        let (turns, scheduled) = runs(LOADS, false);
        assert_eq!((turns, waits(&scheduled)), (1, 1));
        let both = scheduled.iter().take(2);
        assert!(
            both.into_iter()
                .all(|run| matches!(run.stop, Stop::Access { .. }))
        );
    }

    #[test]
    fn a_load_stays_behind_a_store_and_behind_the_load_of_its_address() {
        let store = LOADS.replacen(
            "fadd32 r8, r8, r4\n",
            "device_store 1, i32, x, r4, u0_u1, r3, unsigned, 0\n",
            1,
        );
        assert_eq!(waits(&runs(&store, false).1), 2);
        let chain = LOADS.replacen("fadd32 r8, r8, r4\n", "iadd r2, r4, 1\n", 1);
        assert_eq!(waits(&runs(&chain, false).1), 2);
    }

    /// A loop of which one addition changes nothing.
    fn counted(bound: &str) -> String {
        format!(
            "mov_imm r1, 0, 0b0\n\
             mov_imm r0l, 0\n\
             top: imadd r5, r6, r7, r7\n\
             fadd32 r8, r8, r5\n\
             fadd32 r8, r8, r9\n\
             iadd r1, r1, 1\n\
             while_icmp r0l, nueq, r1, {bound}, 2\n\
             jmp_exec_any top\n\
             pop_exec r0l, 2\n\
             stop\n"
        )
    }

    #[test]
    fn what_a_loop_makes_anew_in_every_turn_is_not_issued_in_it() {
        let text = counted("u4");
        let (written, scheduled) = (runs(&text, true), runs(&text, false));
        assert_eq!(scheduled.0, 1);
        assert!(issued(&scheduled.1) <= issued(&written.1) - 1.0);
    }

    #[test]
    fn a_loop_with_a_constant_bound_has_no_counter() {
        let (turns, scheduled) = runs(&counted("32"), false);
        assert!(turns > 1);
        // Two additions a turn.
        assert!((issued(&scheduled) - 2.0 * turns as f32).abs() < 0.1);
    }

    /// A loop that loads `count` words from threadgroup memory at addresses that stay the same, and does
    /// something with each.
    fn loading(count: u32, inside: &str) -> String {
        let loads: String = (0..count)
            .map(|n| {
                format!(
                    "threadgroup_load i32, x, r{}, r2l, {n}\nfadd32 r8, r8, r{}\n",
                    10 + n % 8,
                    10 + n % 8
                )
            })
            .collect();
        format!(
            "mov_imm r1, 0, 0b0\n\
             mov_imm r0l, 0\n\
             top: {loads}{inside}\
             iadd r1, r1, 1\n\
             while_icmp r0l, nueq, r1, u4, 2\n\
             jmp_exec_any top\n\
             pop_exec r0l, 2\n\
             stop\n"
        )
    }

    /// Accesses of runs: those of loads, and reloads of what was spilled.
    fn accesses(runs: &[Run]) -> (usize, usize) {
        let of = |reload: bool| {
            let accesses = runs.iter().filter_map(|run| match run.stop {
                Stop::Access { access, .. } => Some(access % 2 == 1),
                _ => None,
            });
            accesses.filter(|odd| *odd == reload).count()
        };
        (of(false), of(true))
    }

    #[test]
    fn loads_that_stay_the_same_leave_the_loop_while_there_are_registers() {
        let text = loading(64, "");
        assert_eq!(accesses(&runs(&text, true).1), (64, 0));
        assert_eq!(accesses(&runs(&text, false).1), (0, 0));
    }

    #[test]
    fn what_finds_no_register_is_reloaded_in_every_turn() {
        let (_, runs) = runs(&loading(200, ""), false);
        let (loads, reloads) = accesses(&runs);
        assert_eq!(loads, 0);
        assert!((60..100).contains(&reloads), "{reloads}");
        // Four words at a time: registers are scarce.
        assert!(waits(&runs) >= reloads / 4, "{}", waits(&runs));
    }

    #[test]
    fn loads_from_memory_that_the_loop_writes_stay() {
        let store = "threadgroup_store i32, x, r8, r2l, 0\n";
        assert_eq!(accesses(&runs(&loading(64, store), false).1), (65, 0));
        let barrier = "threadgroup_barrier\n";
        assert_eq!(accesses(&runs(&loading(64, barrier), false).1), (64, 0));
    }

    #[test]
    fn a_loop_longer_than_the_instruction_cache_is_fetched_in_every_turn() {
        let fetched = |adds: usize| {
            let (_, runs) = runs(&loading(1, &"fadd32 r8, r8, r9\n".repeat(adds)), false);
            runs.iter().map(|run| run.fetched).sum::<f32>()
        };
        assert_eq!(fetched(1000), 0.0);
        // Six bytes each, 128 a line.
        assert!((90.0..150.0).contains(&fetched(2300)), "{}", fetched(2300));
    }
}
