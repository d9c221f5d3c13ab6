//! Counts instructions, memory traffic and idle lanes of a kernel: see [`Program::count`].
//!
//! Numbers of operations, bytes, lines, sectors and lanes are exact for the threadgroups that were run. Three are models,
//! with what was chosen beside them in `model`: hits of the first-level cache (each threadgroup starts with
//! an empty one, has it to itself, and its simdgroups run until they must wait; stores go past it), passes over
//! the banks of threadgroup memory, and nothing else.

mod basic_block;
mod counter;
mod depth;
mod model;
mod pattern;
mod run_shape;

use crate::bindings::Bindings;
pub use crate::class::Class;
use crate::code::Program;
use crate::dispatch::Limits;
use crate::error::{Fault, RunError};
use crate::geometry::Grid;
use counter::Counter;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// Which threadgroups are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Sample {
    /// All of them.
    #[default]
    All,
    /// About so many, evenly spread over the grid.
    Threadgroups(u64),
}

/// What a dispatch did, summed over the threadgroups that were run.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Counts {
    /// Threadgroups of the grid, and those that were run.
    pub threadgroups: u64,
    /// Threadgroups that were run.
    pub sampled: u64,
    /// Simdgroups that were run.
    pub simdgroups: u64,
    /// Threads that were run.
    pub threads: u64,
    /// Instructions run by simdgroups, by kind. An instruction counts once for a simdgroup that runs it with any lane.
    pub instructions: Vec<(Class, u64)>,
    /// Instructions (without bookkeeping) of the simdgroup that ran fewest and of the one that ran most.
    pub fewest: u64,
    /// Instructions of the simdgroup that ran most.
    pub most: u64,
    /// Lanes that were active, over all those instructions; of 32 for each.
    pub active_lanes: u64,
    /// Floating-point operations of active lanes: a multiply-add is two, a function, comparison or step of a reduction
    /// one; signs, conversions and copies are none.
    pub flops: u64,
    /// Device memory: buffers and constant data.
    pub device: DeviceCounts,
    /// Threadgroup memory.
    pub threadgroup: ThreadgroupCounts,
    /// Loads and stores of thread memory: arrays the compiler could not keep in registers.
    pub thread_memory: Traffic,
    /// Texels that were read and written, each as an access of its bytes. How a GPU lays texels out in memory is its own, so lines
    /// are not counted.
    pub texture: Traffic,
    /// The longest chain of loads in which each address depends on the one before.
    pub load_depth: u32,
    /// Cost by source line, the most instructions first.
    pub lines: Vec<LineCounts>,
    /// The same by the chain of inlined calls, the kernel first, with ` > ` between functions.
    pub chains: Vec<LineCounts>,
}

/// Operations and the bytes the active lanes moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Traffic {
    /// Loads.
    pub loads: u64,
    /// Stores.
    pub stores: u64,
    /// Atomic operations.
    pub atomics: u64,
    /// Bytes the lanes asked for.
    pub bytes_loaded: u64,
    /// Bytes the lanes stored.
    pub bytes_stored: u64,
}

/// Device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct DeviceCounts {
    /// Operations and bytes.
    pub traffic: Traffic,
    /// Accesses of at most 16 bytes a lane: what wider loads and stores are split into.
    pub accesses: u64,
    /// Distinct 128-byte lines, summed over accesses.
    pub lines: u64,
    /// Distinct 32-byte sectors, summed over accesses.
    pub sectors: u64,
    /// Lines loaded that the modelled first-level cache (8 KB) had.
    pub cache_hits: u64,
    /// Lines loaded that it had not.
    pub cache_misses: u64,
    /// Distinct lines of a threadgroup, summed over threadgroups.
    pub threadgroup_lines: u64,
    /// Distinct lines of all.
    pub dispatch_lines: u64,
}

/// Threadgroup memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ThreadgroupCounts {
    /// Operations and bytes.
    pub traffic: Traffic,
    /// Accesses of a word (four bytes or less) for each lane.
    pub accesses: u64,
    /// Modelled passes over the banks; as many as accesses if no two lanes are in each other's way.
    pub bank_passes: u64,
}

/// Cost of one source line.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct LineCounts {
    /// File and line, or a chain of calls.
    pub place: String,
    /// Instructions run by simdgroups, without bookkeeping.
    pub instructions: u64,
    /// Loads, stores and atomics among them.
    pub memory_operations: u64,
    /// Bytes moved by lanes.
    pub bytes: u64,
    /// Lines of device memory, summed over accesses.
    pub lines: u64,
}

impl Traffic {
    fn add(&mut self, other: &Self) {
        self.loads += other.loads;
        self.stores += other.stores;
        self.atomics += other.atomics;
        self.bytes_loaded += other.bytes_loaded;
        self.bytes_stored += other.bytes_stored;
    }
}

impl Counts {
    /// Adds what was counted of other threadgroups; what is only known in the end stays as it is.
    fn add(&mut self, other: &Self) {
        self.simdgroups += other.simdgroups;
        self.threads += other.threads;
        self.fewest = self.fewest.min(other.fewest);
        self.most = self.most.max(other.most);
        self.load_depth = self.load_depth.max(other.load_depth);
        self.thread_memory.add(&other.thread_memory);
        self.texture.add(&other.texture);
        let (own, more) = (&mut self.device, &other.device);
        own.traffic.add(&more.traffic);
        own.accesses += more.accesses;
        own.lines += more.lines;
        own.sectors += more.sectors;
        own.cache_hits += more.cache_hits;
        own.cache_misses += more.cache_misses;
        own.threadgroup_lines += more.threadgroup_lines;
        let (own, more) = (&mut self.threadgroup, &other.threadgroup);
        own.traffic.add(&more.traffic);
        own.accesses += more.accesses;
        own.bank_passes += more.bank_passes;
    }

    /// Instructions of a kind.
    pub fn instructions(&self, class: Class) -> u64 {
        let found = self.instructions.iter().find(|(known, _)| *known == class);
        found.map_or(0, |(_, count)| *count)
    }
}

impl Program {
    /// Runs the kernel over a grid, or over some of its threadgroups, and counts what its simdgroups do.
    ///
    /// Addresses folded into loads and stores are no instructions of their own, as on a GPU that adds a scaled index in
    /// its load.
    pub fn count(
        &self,
        grid: &Grid,
        bindings: &mut Bindings,
        limits: &Limits<'_>,
        sample: Sample,
    ) -> Result<Counts, RunError> {
        grid.check(self.max_threads)?;
        let job = self.job(grid, bindings, limits)?;
        let groups = job.groups();
        let wanted = match sample {
            Sample::All => groups,
            Sample::Threadgroups(count) => count.clamp(1, groups),
        };
        // A threadgroup's counts do not depend on others, only the sum does on all.
        let workers = match self.in_order {
            true => 1,
            false => (rayon::current_num_threads() as u64).min(wanted),
        };
        job.check_memory(workers, 1, Counter::memory(&job).saturating_mul(workers))?;
        let next = AtomicU64::new(0);
        let work = |_| {
            let (mut counter, mut worker) = (Counter::new(&job), job.worker());
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= wanted {
                    return Ok(counter);
                }
                let group = (u128::from(number) * u128::from(groups) / u128::from(wanted)) as u64;
                if let Err(fault) = job.run_group(&mut worker, group, &mut counter) {
                    // All before this one have been given out, so the first fault is found by whichever worker.
                    next.store(wanted, Ordering::Relaxed);
                    return Err((group, fault));
                }
                counter.end_group(grid.group(group).threads());
            }
        };
        let done: Vec<_> = (0..workers).into_par_iter().map(work).collect();
        let mut sum: Option<Counter<'_>> = None;
        let mut first: Option<(u64, Box<Fault>)> = None;
        for one in done {
            match one {
                Ok(counter) => {
                    sum = Some(match sum {
                        Some(sum) => sum.merge(counter),
                        None => counter,
                    });
                }
                Err(found) if first.as_ref().is_none_or(|known| found.0 < known.0) => {
                    first = Some(found);
                }
                Err(_) => {}
            }
        }
        if let Some((_, fault)) = first {
            return Err(fault.into());
        }
        let counter = sum.unwrap_or_else(|| Counter::new(&job));
        Ok(counter.finish(groups, wanted))
    }
}
