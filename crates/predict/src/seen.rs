//! What a sample did, one access, branch and barrier at a time: what findings are made of.

use crate::execution::{Access, Kind, Space};
use crate::record::{Record, Sums, average};
use crate::sampled::Sampled;
use std::collections::BTreeMap;

/// Everything seen, as averages over threadgroups.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// Memory instructions, ascending by offset.
    pub accesses: Vec<SeenAccess>,
    /// Branches that masked lanes, the one that masked most issue slots first.
    pub branches: Vec<SeenBranch>,
    /// Threadgroup barriers.
    pub barriers: Vec<SeenBarrier>,
    /// Share of the lanes of launched simdgroups that have a thread.
    pub filled: f64,
    /// Simdgroups of a threadgroup.
    pub simdgroups: f64,
}

/// A memory instruction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeenAccess {
    /// Index of the instruction.
    pub(crate) instruction: u32,
    /// Executions by the simdgroups of a threadgroup.
    pub executions: f64,
    /// Bytes, lines, passes and the rest, per execution.
    pub access: Access,
    /// Bytes of distinct addresses, per execution.
    pub distinct_bytes: f64,
    /// Distinct bytes that a threadgroup touches with it; none of threadgroup memory.
    pub touched_bytes: f64,
    /// Distinct lines that a threadgroup touches with it.
    pub touched_lines: f64,
    /// Bytes from lane to lane, where that is one number in most executions.
    pub stride: Option<i64>,
}

impl SeenAccess {
    /// Byte offset of the instruction.
    pub fn offset(&self) -> u32 {
        self.access.offset
    }

    /// Lines that would do: what the lanes ask for, side by side.
    pub fn lines_needed(&self) -> f64 {
        let issued = f64::from(self.access.issued.min(self.access.taken));
        (self.distinct_bytes / crate::execution::LINE as f64).max(issued.min(1.0) * ONE_LINE)
    }

    /// Lines of an execution that touches memory at all.
    pub fn lines(&self) -> f64 {
        f64::from(self.access.lines)
    }

    /// Share of executions in which a lane takes part.
    pub fn executions_taken(&self) -> f64 {
        f64::from(self.access.taken)
    }

    /// Returns true if it goes to device memory and is not atomic.
    pub fn is_device(&self) -> bool {
        self.access.space == Space::Device && self.access.kind != Kind::Atomic
    }

    /// Returns true if it goes to threadgroup memory and is not atomic.
    pub fn is_local(&self) -> bool {
        self.access.space == Space::Threadgroup && self.access.kind != Kind::Atomic
    }
}

/// An access touches a line at least.
const ONE_LINE: f64 = 1.0;

/// A branch, and what it kept lanes from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeenBranch {
    /// Byte offset of the instruction that masked the lanes.
    pub offset: u32,
    /// Instructions and the lanes it kept from them, per execution of those.
    pub(crate) lost: BTreeMap<u32, f64>,
    /// Lanes that are active behind it, on average over issue slots.
    pub active: f64,
    /// Share of the threadgroup's issue slots that it masked.
    pub masked: f64,
    /// Share of the threadgroup's issue slots that are issued behind it.
    pub behind: f64,
}

impl SeenBranch {
    /// Byte offset of the instruction behind it that takes most issue slots.
    pub fn heaviest(&self, sampled: &Sampled) -> Option<u32> {
        let slots =
            |at: u32| sampled.slots(at) * sampled.mean(|record| record.observed.executed(at));
        let most = self
            .lost
            .keys()
            .copied()
            .max_by(|a, b| slots(*a).total_cmp(&slots(*b)));
        Some(sampled.code.instructions.get(most? as usize)?.offset)
    }
}

/// A threadgroup barrier.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SeenBarrier {
    pub(crate) instruction: u32,
    /// Byte offset.
    pub offset: u32,
    /// How often a threadgroup passes it.
    pub times: f64,
    /// How often something crosses: one simdgroup relies on what another did before.
    pub needed: f64,
}

impl Sampled {
    /// What the sample did, one by one.
    pub fn seen(&self) -> Seen {
        let threads: f64 = self.mean(|record| {
            let first = record
                .observed
                .lanes
                .iter()
                .find(|lanes| lanes.executed > 0);
            first.map_or(0.0, |lanes| lanes.threads as f64 / lanes.executed as f64)
        });
        Seen {
            accesses: self.seen_accesses(),
            branches: self.seen_branches(),
            barriers: self.seen_barriers(),
            filled: threads / 32.0,
            simdgroups: self.mean(|record| record.streams.len() as f64),
        }
    }

    pub(crate) fn mean(&self, value: impl Fn(&Record) -> f64) -> f64 {
        let parts = self.records.iter().zip(&self.shares);
        let (sum, shares) = parts.fold((0.0, 0.0), |(sum, all), (record, share)| {
            (sum + share * value(record), all + share)
        });
        sum / f64::max(shares, f64::MIN_POSITIVE)
    }

    fn seen_accesses(&self) -> Vec<SeenAccess> {
        let mut parts: BTreeMap<u32, Vec<(f64, &Sums)>> = BTreeMap::new();
        for (record, &share) in self.records.iter().zip(&self.shares) {
            for (instruction, sums) in &record.accesses {
                parts.entry(*instruction).or_default().push((share, sums));
            }
        }
        let seen = |(instruction, parts): (u32, Vec<(f64, &Sums)>)| {
            let offset = self.code.instructions.get(instruction as usize)?.offset;
            let sum = |value: &dyn Fn(&Sums) -> f64| -> f64 {
                parts.iter().map(|(share, sums)| share * value(sums)).sum()
            };
            let executions = sum(&|sums| sums.executions as f64);
            let shaped = sum(&|sums| sums.shaped as f64);
            let regular = sum(&|sums| sums.regular as f64);
            let stride = parts.last().map(|(_, sums)| sums.stride);
            Some(SeenAccess {
                instruction,
                executions,
                access: average(offset, &parts),
                distinct_bytes: sum(&|sums| sums.distinct as f64) / shaped.max(f64::MIN_POSITIVE),
                touched_bytes: sum(&|sums| sums.touched.bytes() as f64),
                touched_lines: sum(&|sums| sums.touched.lines() as f64),
                stride: stride.filter(|_| regular > 0.5 * shaped),
            })
        };
        parts.into_iter().filter_map(seen).collect()
    }

    /// Issue slots of an instruction, as far as it is not moved out of loops.
    pub(crate) fn slots(&self, instruction: u32) -> f64 {
        let stays = self.plan.as_ref().is_none_or(|plan| {
            let fate = plan.fates.get(instruction as usize);
            fate.is_none_or(|fate| *fate != crate::invariants::Fate::Hoisted)
        });
        let found = self.code.instructions.get(instruction as usize);
        found
            .filter(|_| stays)
            .map_or(0.0, |one| f64::from(one.issue_slots()))
    }

    fn seen_branches(&self) -> Vec<SeenBranch> {
        let count = self.code.instructions.len();
        let mut executed = vec![0.0; count];
        let mut active = vec![0.0; count];
        let mut lost: BTreeMap<u32, BTreeMap<u32, f64>> = BTreeMap::new();
        for (record, &share) in self.records.iter().zip(&self.shares) {
            for (index, lanes) in record.observed.lanes.iter().enumerate() {
                executed[index] += share * lanes.executed as f64;
                active[index] += share * lanes.active as f64;
            }
            for &(branch, instruction, lanes) in &record.observed.lost {
                let behind = lost.entry(branch).or_default();
                *behind.entry(instruction).or_default() += share * lanes as f64;
            }
        }
        let all: f64 = (0..count)
            .map(|at| executed[at] * self.slots(at as u32))
            .sum();
        let all = all.max(f64::MIN_POSITIVE);
        let branch = |(branch, lost): (u32, BTreeMap<u32, f64>)| {
            let (mut masked, mut behind, mut lanes) = (0.0, 0.0, 0.0);
            for (&at, &lanes_lost) in &lost {
                let slots = self.slots(at);
                masked += slots * lanes_lost / 32.0;
                behind += slots * executed[at as usize];
                lanes += slots * active[at as usize];
            }
            let per_execution = |(at, lanes): (u32, f64)| {
                (at, lanes / executed[at as usize].max(f64::MIN_POSITIVE))
            };
            SeenBranch {
                offset: self
                    .code
                    .instructions
                    .get(branch as usize)
                    .map_or(0, |one| one.offset),
                lost: lost.into_iter().map(per_execution).collect(),
                active: lanes / f64::max(behind, f64::MIN_POSITIVE),
                masked: masked / all,
                behind: behind / all,
            }
        };
        let mut found: Vec<SeenBranch> = lost.into_iter().map(branch).collect();
        found.sort_by(|a, b| b.masked.total_cmp(&a.masked).then(a.offset.cmp(&b.offset)));
        found
    }

    fn seen_barriers(&self) -> Vec<SeenBarrier> {
        let mut found: BTreeMap<u32, SeenBarrier> = BTreeMap::new();
        for (record, &share) in self.records.iter().zip(&self.shares) {
            for passed in &record.observed.barriers {
                let barrier = found.entry(passed.instruction).or_default();
                barrier.times += share * passed.times as f64;
                barrier.needed += share * passed.needed as f64;
            }
        }
        // Only the first barriers were followed: the others are taken to be like them.
        let named = |(instruction, followed): (u32, SeenBarrier)| {
            let known = self.code.instructions.get(instruction as usize);
            let passed = |record: &Record| {
                record.observed.executed(instruction) / record.streams.len().max(1) as f64
            };
            let times = self.mean(passed);
            SeenBarrier {
                instruction,
                offset: known.map_or(0, |one| one.offset),
                times,
                needed: times * followed.needed / followed.times.max(f64::MIN_POSITIVE),
            }
        };
        found.into_iter().map(named).collect()
    }

    /// Lanes that execute an instruction, per execution.
    pub(crate) fn active_lanes(&self, instruction: u32) -> f64 {
        let of = |value: fn(&crate::observe::Lanes) -> u64| {
            self.mean(|record| {
                let lanes = record.observed.lanes.get(instruction as usize);
                lanes.map_or(0.0, |lanes| value(lanes) as f64)
            })
        };
        of(|lanes| lanes.active) / of(|lanes| lanes.executed).max(f64::MIN_POSITIVE)
    }
}
