//! How many threads fit on a core.
//!
//! Three things limit them, and each is a pure function of the kernel's needs:
//!
//! 1. **Registers.** The register file is divided in steps: a kernel that uses up to
//!    104 half-registers (16 bits each) per thread gets 1024 threads, one that uses
//!    113 only 832. The steps are hardware facts found by Mesa's developers; using
//!    more registers within a step costs nothing.
//! 2. **Threadgroup memory.** A core has about 60 KiB; threadgroups that together
//!    need more do not fit at once.
//! 3. **Threadgroup size.** Threadgroups start whole: with 896 threads available and
//!    threadgroups of 512, only one fits.
//!
//! Kernels with few registers can have more than 1024 threads on a core when several
//! threadgroups share it (up to [`crate::Parameter::MaxResidentThreads`]); the steps
//! above 1024 are not published, so 1024 is full occupancy here, as in Mesa's
//! statistics.
//!
//! ```
//! use assay_chip::occupancy::{Demand, Limit, occupancy};
//! use assay_chip::Chip;
//!
//! let chip = Chip::named("m1")?;
//! let found = occupancy(&chip, &Demand { half_registers: 113, ..Demand::default() })?;
//! assert_eq!((found.threads, found.limit), (832, Limit::Registers));
//! let step = found.next.expect("a better step exists");
//! assert_eq!((step.threads, step.free_half_registers), (896, Some(1)));
//! # Ok::<(), assay_chip::Error>(())
//! ```

use crate::{Chip, Error, Parameter};

/// Threads of a simdgroup.
pub const SIMD_WIDTH: u32 = 32;

/// Threads at full occupancy.
pub const FULL: u32 = 1024;

/// Half-registers a thread can address.
pub const MOST_HALF_REGISTERS: u32 = 256;

/// A step of the register file: a thread with at most so many half-registers leaves
/// room for so many threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Most half-registers per thread.
    pub half_registers: u32,
    /// Threads per core.
    pub threads: u32,
}

/// The steps of families 7 and 8. Source: Mesa, `src/asahi/compiler`.
pub const STEPS: [Step; 10] = [
    step(104, 1024),
    step(112, 896),
    step(128, 832),
    step(136, 768),
    step(144, 704),
    step(160, 640),
    step(184, 576),
    step(208, 512),
    step(232, 448),
    step(256, 384),
];

const fn step(half_registers: u32, threads: u32) -> Step {
    Step {
        half_registers,
        threads,
    }
}

/// Threads per core that so many half-registers per thread allow; `None` above 256,
/// which no thread can have.
///
/// ```
/// use assay_chip::occupancy::threads_for_half_registers;
/// assert_eq!(threads_for_half_registers(0), Some(1024));
/// assert_eq!(threads_for_half_registers(256), Some(384));
/// assert_eq!(threads_for_half_registers(257), None);
/// ```
pub fn threads_for_half_registers(half_registers: u32) -> Option<u32> {
    STEPS
        .iter()
        .find(|step| half_registers <= step.half_registers)
        .map(|step| step.threads)
}

/// What a kernel needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// 16-bit registers per thread.
    pub half_registers: u32,
    /// Threadgroup memory per threadgroup, in bytes.
    pub threadgroup_bytes: u32,
    /// Threads per threadgroup, when known.
    pub threadgroup_threads: Option<u32>,
}

/// What keeps more threads away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(rename_all = "kebab-case")
)]
pub enum Limit {
    /// Nothing: occupancy is full.
    Nothing,
    /// Registers.
    Registers,
    /// Threadgroup memory.
    ThreadgroupMemory,
    /// Threadgroups that start whole.
    ThreadgroupSize,
}

/// Threads on a core, and why not more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// Threads per core. 0 when a threadgroup does not fit at all, so that Metal
    /// refuses to launch it.
    pub threads: u32,
    /// What limits them.
    pub limit: Limit,
    /// Threads that registers allow.
    pub by_registers: u32,
    /// Threads that threadgroup memory allows; `None` when the kernel uses none, or
    /// the size of its threadgroups or of the core's memory is unknown.
    pub by_threadgroup_memory: Option<u32>,
    /// Threads in whole threadgroups, as far as registers allow.
    pub by_threadgroup_size: Option<u32>,
    /// What it takes to have more threads.
    pub next: Option<NextStep>,
}

impl Occupancy {
    /// Whole simdgroups per core.
    pub fn simdgroups(&self) -> u32 {
        self.threads / SIMD_WIDTH
    }

    /// Threads as a share of [`FULL`], from 0 to 1.
    pub fn share(&self) -> f64 {
        f64::from(self.threads) / f64::from(FULL)
    }
}

/// The nearest improvement of what limits occupancy now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextStep {
    /// Threads per core after it.
    pub threads: u32,
    /// Half-registers to free, when registers limit.
    pub free_half_registers: Option<u32>,
    /// Bytes of threadgroup memory to free, when that limits.
    pub free_threadgroup_bytes: Option<u32>,
    /// A threadgroup size that fits better, when size limits.
    pub threadgroup_threads: Option<u32>,
}

/// Occupancy of a kernel on a core of `chip`.
///
/// The register steps of families 7 and 8 do not hold for later ones, whose steps are
/// not published: asking for them is an error.
pub fn occupancy(chip: &Chip, demand: &Demand) -> Result<Occupancy, Error> {
    if !chip.has_costs() {
        return Err(Error::NoOccupancy {
            chip: chip.title,
            family: chip.family,
        });
    }
    let mut found = bounds(chip, demand);
    found.next = next_step(chip, demand, &found);
    Ok(found)
}

fn bounds(chip: &Chip, demand: &Demand) -> Occupancy {
    let by_registers = threads_for_half_registers(demand.half_registers).unwrap_or(0);
    let group = demand.threadgroup_threads.map(whole_simdgroups);
    let by_size = group.map(|group| whole_groups(by_registers, group));
    let by_memory = group.and_then(|group| memory_bound(chip, demand, group));
    let mut threads = by_registers;
    let mut limit = match by_registers {
        FULL.. => Limit::Nothing,
        _ => Limit::Registers,
    };
    if let Some(by_size) = by_size.filter(|&by_size| by_size < threads) {
        threads = by_size;
        // Registers are to blame when full occupancy would hold more such groups.
        let group = group.unwrap_or(FULL);
        limit = match whole_groups(FULL, group) > by_size {
            true => Limit::Registers,
            false => Limit::ThreadgroupSize,
        };
    }
    if let Some(by_memory) = by_memory.filter(|&by_memory| by_memory < threads) {
        threads = by_memory;
        limit = Limit::ThreadgroupMemory;
    }
    Occupancy {
        threads,
        limit,
        by_registers,
        by_threadgroup_memory: by_memory,
        by_threadgroup_size: by_size,
        next: None,
    }
}

/// A partly filled simdgroup takes the place of a whole one.
fn whole_simdgroups(threads: u32) -> u32 {
    threads
        .max(1)
        .div_ceil(SIMD_WIDTH)
        .saturating_mul(SIMD_WIDTH)
}

fn whole_groups(threads: u32, group: u32) -> u32 {
    threads / group.max(1) * group
}

fn memory_bound(chip: &Chip, demand: &Demand, group: u32) -> Option<u32> {
    if demand.threadgroup_bytes == 0 {
        return None;
    }
    let needed = u64::from(demand.threadgroup_bytes);
    let limit = kib(chip, Parameter::ThreadgroupLimitKib)?;
    if needed > limit {
        return Some(0);
    }
    let groups = kib(chip, Parameter::ThreadgroupMemoryKib)? / needed;
    let threads = groups.saturating_mul(u64::from(group));
    Some(u32::try_from(threads).unwrap_or(u32::MAX))
}

fn kib(chip: &Chip, parameter: Parameter) -> Option<u64> {
    // Figures are positive and below 1e9, so the conversion is exact enough.
    chip.get(parameter).map(|kib| (kib * 1024.0) as u64)
}

fn next_step(chip: &Chip, demand: &Demand, now: &Occupancy) -> Option<NextStep> {
    match now.limit {
        Limit::Nothing => None,
        Limit::Registers => fewer_registers(chip, demand, now),
        Limit::ThreadgroupMemory => less_memory(chip, demand, now),
        Limit::ThreadgroupSize => another_size(chip, demand, now),
    }
}

/// The fewest half-registers to free for more threads.
fn fewer_registers(chip: &Chip, demand: &Demand, now: &Occupancy) -> Option<NextStep> {
    STEPS
        .iter()
        .rev()
        .filter(|step| step.half_registers < demand.half_registers)
        .find_map(|step| {
            let trial = Demand {
                half_registers: step.half_registers,
                ..*demand
            };
            let better = bounds(chip, &trial);
            (better.threads > now.threads).then_some(NextStep {
                threads: better.threads,
                free_half_registers: Some(demand.half_registers - step.half_registers),
                free_threadgroup_bytes: None,
                threadgroup_threads: None,
            })
        })
}

/// The fewest bytes to free for one more threadgroup.
fn less_memory(chip: &Chip, demand: &Demand, now: &Occupancy) -> Option<NextStep> {
    let group = whole_simdgroups(demand.threadgroup_threads?);
    let core = kib(chip, Parameter::ThreadgroupMemoryKib)?;
    let limit = kib(chip, Parameter::ThreadgroupLimitKib)?;
    let groups = u64::from(now.threads / group) + 1;
    let most = u32::try_from((core / groups).min(limit)).ok()?;
    let trial = Demand {
        threadgroup_bytes: most,
        ..*demand
    };
    let better = bounds(chip, &trial);
    (better.threads > now.threads).then_some(NextStep {
        threads: better.threads,
        free_half_registers: None,
        free_threadgroup_bytes: demand.threadgroup_bytes.checked_sub(most),
        threadgroup_threads: None,
    })
}

/// The largest smaller threadgroup that fits more threads.
fn another_size(chip: &Chip, demand: &Demand, now: &Occupancy) -> Option<NextStep> {
    let group = whole_simdgroups(demand.threadgroup_threads?);
    let sizes = (1..group / SIMD_WIDTH)
        .rev()
        .map(|count| count * SIMD_WIDTH);
    sizes.take(FULL as usize).find_map(|size| {
        let trial = Demand {
            threadgroup_threads: Some(size),
            ..*demand
        };
        let better = bounds(chip, &trial);
        (better.threads > now.threads).then_some(NextStep {
            threads: better.threads,
            free_half_registers: None,
            free_threadgroup_bytes: None,
            threadgroup_threads: Some(size),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_m1(half_registers: u32, bytes: u32, threads: Option<u32>) -> Occupancy {
        let demand = Demand {
            half_registers,
            threadgroup_bytes: bytes,
            threadgroup_threads: threads,
        };
        occupancy(&Chip::named("m1").unwrap(), &demand).unwrap()
    }

    #[test]
    fn every_step_starts_and_ends_where_the_table_says() {
        let mut below = 0;
        for step in STEPS {
            assert_eq!(threads_for_half_registers(below), Some(step.threads));
            assert_eq!(
                threads_for_half_registers(step.half_registers),
                Some(step.threads)
            );
            below = step.half_registers + 1;
        }
    }

    #[test]
    fn each_resource_limits_in_turn() {
        assert_eq!(on_m1(32, 0, Some(256)).limit, Limit::Nothing);
        assert_eq!(on_m1(32, 0, Some(256)).threads, 1024);
        assert_eq!(on_m1(200, 0, Some(256)).limit, Limit::Registers);
        let memory = on_m1(32, 24 * 1024, Some(128));
        assert_eq!(
            (memory.threads, memory.limit),
            (256, Limit::ThreadgroupMemory)
        );
        let size = on_m1(32, 0, Some(768));
        assert_eq!((size.threads, size.limit), (768, Limit::ThreadgroupSize));
    }

    #[test]
    fn groups_start_whole() {
        let found = on_m1(110, 0, Some(512));
        assert_eq!((found.threads, found.by_registers), (512, 896));
        assert_eq!(found.limit, Limit::Registers);
        let step = found.next.unwrap();
        assert_eq!((step.threads, step.free_half_registers), (1024, Some(6)));
        assert_eq!(on_m1(32, 0, Some(33)).threads, 1024);
    }

    #[test]
    fn what_does_not_fit_has_no_threads() {
        assert_eq!(on_m1(256, 0, Some(512)).threads, 0);
        let too_much = on_m1(16, 40 * 1024, Some(64));
        assert_eq!(
            (too_much.threads, too_much.limit),
            (0, Limit::ThreadgroupMemory)
        );
        let step = too_much.next.unwrap();
        assert_eq!(step.free_threadgroup_bytes, Some(8 * 1024));
    }

    #[test]
    fn the_next_step_is_the_smallest_that_helps() {
        let found = on_m1(200, 0, None);
        assert_eq!((found.threads, found.simdgroups()), (512, 16));
        let step = found.next.unwrap();
        assert_eq!((step.threads, step.free_half_registers), (576, Some(16)));
        let memory = on_m1(32, 24 * 1024, Some(128)).next.unwrap();
        assert_eq!(memory.threads, 384);
        assert_eq!(memory.free_threadgroup_bytes, Some(4 * 1024));
        let size = on_m1(32, 0, Some(768)).next.unwrap();
        assert_eq!((size.threads, size.threadgroup_threads), (1024, Some(512)));
        assert_eq!(on_m1(16, 0, None).next, None);
    }

    #[test]
    fn steps_of_newer_families_are_not_invented() {
        let m3 = Chip::named("m3").unwrap();
        let error = occupancy(&m3, &Demand::default()).unwrap_err();
        assert!(error.to_string().contains("family 9"), "{error}");
    }

    #[test]
    fn no_demand_makes_it_panic() {
        for half_registers in [0, 255, 256, 257, u32::MAX] {
            for bytes in [0, 1, 32 * 1024, u32::MAX] {
                for threads in [None, Some(0), Some(1), Some(1024), Some(u32::MAX)] {
                    let found = on_m1(half_registers, bytes, threads);
                    assert!(found.threads <= FULL);
                    if let Some(step) = found.next {
                        assert!(step.threads > found.threads);
                    }
                }
            }
        }
    }
}
