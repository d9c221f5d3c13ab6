//! What a finding needs to know of a threadgroup's run: which branch masked which lanes, and which barriers something
//! crossed.
//!
//! A lane that stops taking part was masked by the instruction its simdgroup executed last; it stays charged to that
//! instruction until it takes part again. A barrier is needed where one simdgroup comes to memory that another one wrote
//! before it, or overwrites what another one read.

use assay_emu::{AccessKind, Memory, MemoryAccess};
use rustc_hash::FxHashMap;

/// Executions of an instruction, by lanes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lanes {
    pub(crate) executed: u64,
    pub(crate) active: u64,
    /// Lanes that have a thread.
    pub(crate) threads: u64,
}

/// A barrier of the program: how often it was passed, and how often something crossed it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Passed {
    pub(crate) instruction: u32,
    pub(crate) times: u64,
    pub(crate) needed: u64,
}

/// What was observed of one threadgroup.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observed {
    /// By instruction.
    pub(crate) lanes: Vec<Lanes>,
    /// Branch, instruction, and the lanes that the branch kept from executing it.
    pub(crate) lost: Vec<(u32, u32, u64)>,
    pub(crate) barriers: Vec<Passed>,
}

impl Observed {
    /// Executions of an instruction.
    pub(crate) fn executed(&self, instruction: u32) -> f64 {
        let lanes = self.lanes.get(instruction as usize);
        lanes.map_or(0.0, |lanes| lanes.executed as f64)
    }
}

/// Observes one threadgroup.
#[derive(Debug)]
pub(crate) struct Observing {
    lanes: Vec<Lanes>,
    lost: FxHashMap<(u32, u32), u64>,
    simdgroups: Vec<Masks>,
    handed: Option<HandedOver>,
}

/// The mask of one simdgroup, and who masked what.
#[derive(Debug, Default)]
struct Masks {
    begun: bool,
    active: u32,
    last: u32,
    /// Branches and the lanes they masked.
    out: Vec<(u32, u32)>,
}

impl Masks {
    /// Follows the mask to what it is before the next instruction.
    fn follow(&mut self, index: u32, active: u32) {
        let gone = self.active & !active;
        let back = active & !self.active;
        if self.begun && gone | back != 0 {
            // An `else` swaps lanes: the new ones are masked by the branch that masked the old ones.
            let of_back = self.out.iter().find(|(_, lanes)| lanes & back != 0);
            let branch = of_back.map_or(self.last, |&(branch, _)| branch);
            for (_, lanes) in &mut self.out {
                *lanes &= !active;
            }
            self.out.retain(|(_, lanes)| *lanes != 0);
            if gone != 0 {
                match self.out.iter_mut().find(|(known, _)| *known == branch) {
                    Some((_, lanes)) => *lanes |= gone,
                    None => self.out.push((branch, gone)),
                }
            }
        }
        (self.begun, self.active, self.last) = (true, active, index);
    }
}

impl Observing {
    pub(crate) fn new(instructions: usize, has_barriers: bool) -> Observing {
        Observing {
            lanes: vec![Lanes::default(); instructions],
            lost: FxHashMap::default(),
            simdgroups: Vec::new(),
            handed: has_barriers.then(HandedOver::default),
        }
    }

    pub(crate) fn step(&mut self, simdgroup: usize, index: u32, active: u32, threads: u32) {
        if self.simdgroups.len() <= simdgroup {
            self.simdgroups.resize_with(simdgroup + 1, Masks::default);
        }
        let masks = &mut self.simdgroups[simdgroup];
        masks.follow(index, active);
        if let Some(lanes) = self.lanes.get_mut(index as usize) {
            lanes.executed += 1;
            lanes.active += u64::from(active.count_ones());
            lanes.threads += u64::from(threads.count_ones());
        }
        if active != threads {
            for &(branch, lanes) in &masks.out {
                *self.lost.entry((branch, index)).or_default() += u64::from(lanes.count_ones());
            }
        }
    }

    pub(crate) fn access(&mut self, simdgroup: usize, access: &MemoryAccess) {
        if let Some(handed) = &mut self.handed {
            handed.access(simdgroup as u32, access);
        }
    }

    pub(crate) fn barrier(&mut self, simdgroup: usize, index: u32) {
        if let Some(handed) = &mut self.handed {
            handed.barrier(simdgroup, index);
        }
    }

    pub(crate) fn finish(self) -> Observed {
        let lost = self.lost.into_iter();
        let mut lost: Vec<(u32, u32, u64)> = lost.map(|((b, i), lanes)| (b, i, lanes)).collect();
        lost.sort_unstable();
        Observed {
            lanes: self.lanes,
            lost,
            barriers: self.handed.map_or_else(Vec::new, HandedOver::finish),
        }
    }
}

/// Words of threadgroup memory that are followed: 64 KiB.
const WORDS: usize = 1 << 14;
/// Words of device memory that are followed; with more, every barrier counts as needed.
const MOST_DEVICE_WORDS: usize = 1 << 16;

/// Who came to a word last: a simdgroup, and the barriers it had passed.
#[derive(Clone, Copy, Debug, Default)]
struct Word {
    written: Option<(u32, u32)>,
    read: Option<(u32, u32)>,
    /// Several simdgroups read it since it was written.
    by_several: bool,
}

/// Follows what simdgroups hand to each other.
#[derive(Debug, Default)]
struct HandedOver {
    /// Barriers each simdgroup has passed.
    passed: Vec<u32>,
    /// The barriers in order: instruction, and whether something crossed.
    barriers: Vec<(u32, bool)>,
    local: Vec<Word>,
    device: FxHashMap<u64, Word>,
    too_many: bool,
    /// Accesses that were followed; none is after the last.
    accesses: u32,
}

/// Accesses of a threadgroup that are followed: enough to tell barriers apart that something crosses.
const MOST_ACCESSES: u32 = 2048;

impl HandedOver {
    fn passed_by(&self, simdgroup: u32) -> u32 {
        self.passed.get(simdgroup as usize).copied().unwrap_or(0)
    }

    /// Follows no further. Of the last barriers it is not known what would have crossed them.
    fn stop(&mut self) {
        let all = self.passed.iter().copied().min().unwrap_or(0);
        self.barriers.truncate(all.saturating_sub(1) as usize);
        self.too_many |= self.barriers.is_empty();
    }

    fn barrier(&mut self, simdgroup: usize, index: u32) {
        if self.accesses > MOST_ACCESSES {
            // Those that were not seen count as needed.
            if self.too_many && !self.barriers.iter().any(|(known, _)| *known == index) {
                self.barriers.push((index, true));
            }
            return;
        }
        if self.passed.len() <= simdgroup {
            self.passed.resize(simdgroup + 1, 0);
        }
        self.passed[simdgroup] += 1;
        if self.passed[simdgroup] as usize > self.barriers.len() {
            self.barriers.push((index, false));
        }
    }

    fn access(&mut self, simdgroup: u32, access: &MemoryAccess) {
        if self.accesses > MOST_ACCESSES {
            return;
        }
        self.accesses += 1;
        if self.accesses > MOST_ACCESSES {
            self.stop();
            return;
        }
        let now = self.passed_by(simdgroup);
        for (lane, &address) in access.addresses.iter().enumerate() {
            if access.active >> lane & 1 == 0 {
                continue;
            }
            let last = address.wrapping_add(u64::from(access.bytes.max(1)) - 1) / 4;
            for word in (address / 4..=last).take(8) {
                self.word(access.memory, access.kind, word, (simdgroup, now));
            }
        }
    }

    fn word(&mut self, memory: Memory, kind: AccessKind, word: u64, by: (u32, u32)) {
        let held = match memory {
            Memory::Threadgroup => {
                let at = word as usize;
                if at >= WORDS {
                    self.too_many = true;
                    return;
                }
                if self.local.len() <= at {
                    self.local.resize(at + 1, Word::default());
                }
                &mut self.local[at]
            }
            Memory::Device if kind == AccessKind::Load => match self.device.get_mut(&word) {
                Some(held) => held,
                None => return,
            },
            Memory::Device if self.device.len() < MOST_DEVICE_WORDS => {
                self.device.entry(word).or_default()
            }
            Memory::Device => {
                self.too_many = true;
                return;
            }
            Memory::Stack => return,
        };
        let mut before = held.written.filter(|written| written.0 != by.0);
        match kind {
            AccessKind::Load => {
                held.by_several |= held.read.is_some_and(|read| read.0 != by.0);
                held.read = Some(by);
            }
            AccessKind::Store | AccessKind::Atomic => {
                let read = held.read.filter(|read| held.by_several || read.0 != by.0);
                before = before.into_iter().chain(read).max_by_key(|other| other.1);
                *held = Word {
                    written: Some(by),
                    ..Word::default()
                };
            }
        }
        if let Some((_, then)) = before {
            self.crossed(then, by.1);
        }
    }

    /// Something that was done after `then` barriers is relied on after `now` of them.
    fn crossed(&mut self, then: u32, now: u32) {
        let between = self.barriers.get_mut(then as usize..now as usize);
        if let Some(between) = between
            && !between.iter().any(|(_, needed)| *needed)
            && let Some((_, needed)) = between.last_mut()
        {
            *needed = true;
        }
    }

    fn finish(self) -> Vec<Passed> {
        let mut found: Vec<Passed> = Vec::new();
        for (instruction, needed) in self.barriers {
            let needed = u64::from(needed || self.too_many);
            match found.iter_mut().find(|p| p.instruction == instruction) {
                Some(passed) => {
                    passed.times += 1;
                    passed.needed += needed;
                }
                None => found.push(Passed {
                    instruction,
                    times: 1,
                    needed,
                }),
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: u32 = u32::MAX;
    const LOW: u32 = 0xffff;

    #[test]
    fn both_arms_are_charged_to_the_branch_and_the_rest_to_nobody() {
        let mut observing = Observing::new(8, false);
        // 0: if, 1: arm, 2: else, 3: other arm, 4: end.
        for (index, active) in [(0, ALL), (1, LOW), (2, LOW), (3, !LOW), (3, !LOW), (4, ALL)] {
            observing.step(0, index, active, ALL);
        }
        let observed = observing.finish();
        assert_eq!(observed.lost, [(0, 1, 16), (0, 2, 16), (0, 3, 32)]);
        assert_eq!(observed.lanes[3].active, 32);
    }

    fn store(kind: AccessKind, base: u64) -> MemoryAccess {
        MemoryAccess {
            memory: Memory::Threadgroup,
            kind,
            active: ALL,
            addresses: std::array::from_fn(|lane| base + 4 * lane as u64),
            bytes: 4,
        }
    }

    #[test]
    fn only_a_barrier_that_something_crosses_is_needed() {
        let mut observing = Observing::new(8, true);
        for simdgroup in 0..2u64 {
            observing.access(
                simdgroup as usize,
                &store(AccessKind::Store, 128 * simdgroup),
            );
            observing.barrier(simdgroup as usize, 1);
        }
        for simdgroup in 0..2u64 {
            let other = 128 * (1 - simdgroup);
            observing.access(simdgroup as usize, &store(AccessKind::Load, other));
            observing.barrier(simdgroup as usize, 3);
        }
        // What each wrote itself.
        for simdgroup in 0..2u64 {
            observing.access(
                simdgroup as usize,
                &store(AccessKind::Load, 128 * simdgroup),
            );
        }
        let needed: Vec<(u32, u64)> = {
            let passed = observing.finish().barriers;
            passed.iter().map(|p| (p.instruction, p.needed)).collect()
        };
        assert_eq!(needed, [(1, 1), (3, 0)]);
    }
}
