//! From executions and a chip to a time.

use crate::caches;
use crate::constants::Constants;
use crate::core::{
    PathRun, REASONS, Reason, Replay, TimedAccess, TimedRun, TimedStop, Workload, replay,
};
use crate::error::Error;
use crate::execution::{Access, Execution, Group, Kind, LINE, Run, Space, Step, Stop};
use crate::machine::Machine;
use assay_chip::Chip;
use serde::Serialize;

/// Version of the model, in every output.
pub const MODEL: &str = "core-1";

/// What caches hold when a command buffer starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Cache {
    /// What the same command buffer left there, as when it is repeated.
    #[default]
    Warm,
    /// Nothing of it.
    Cold,
}

/// A dispatch and how often it runs in a row.
#[derive(Clone, Debug)]
pub struct Repeated<'a> {
    /// The dispatch.
    pub execution: &'a Execution,
    /// How often.
    pub times: u32,
}

/// The dispatches of a command buffer.
#[derive(Clone, Debug, Default)]
pub struct CommandBuffer<'a> {
    /// In order.
    pub dispatches: Vec<Repeated<'a>>,
    /// How often the whole list runs.
    pub times: u32,
}

impl<'a> CommandBuffer<'a> {
    /// A command buffer with one dispatch.
    pub fn of(execution: &'a Execution) -> CommandBuffer<'a> {
        CommandBuffer {
            dispatches: vec![Repeated {
                execution,
                times: 1,
            }],
            times: 1,
        }
    }
}

/// A predicted time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// Microseconds from start to end of the command buffer.
    pub time_us: f64,
    /// Where the time goes; adds up to the whole.
    pub terms: Vec<Term>,
    /// The largest term besides overheads.
    pub limited_by: &'static str,
    /// What to expect of the prediction's error.
    pub class: Class,
    /// Of each dispatch of the list, once: microseconds without overheads.
    pub dispatches_us: Vec<f64>,
}

/// A part of the time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Term {
    /// What takes it.
    pub name: &'static str,
    /// Microseconds.
    pub us: f64,
}

/// Kernels whose predictions err alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Overheads are more than a quarter of the time.
    Short,
    /// One threadgroup at a time, or fewer than the chip has cores.
    FewThreadgroups,
    /// Products of simdgroup matrices.
    Matrix,
    /// Bandwidth of shared caches or DRAM.
    Bandwidth,
    /// Everything else: arithmetic, threadgroup memory, latency.
    Compute,
}

/// Events of a simulation at most; loops are cut shorter to keep to it.
const EVENTS: usize = 24_000;

/// The time of a command buffer on a chip.
pub fn predict(
    buffer: &CommandBuffer<'_>,
    chip: &Chip,
    constants: &Constants,
    state: Cache,
) -> Result<Prediction, Error> {
    let machine = Machine::new(chip, constants)?;
    let executions: Vec<&Execution> = buffer.dispatches.iter().map(|d| d.execution).collect();
    let total = caches::together(&executions);
    let mut held = [0.0; REASONS];
    let mut count = 0u64;
    let mut dispatched = 0.0;
    let mut dispatches_us = Vec::new();
    let list_times = u64::from(buffer.times.max(1));
    for repeated in &buffer.dispatches {
        let times = u64::from(repeated.times.max(1)) * list_times;
        let timed = Timed::new(repeated.execution, &machine, constants, total, state)?;
        let us = timed.cycles / (machine.clock_ghz * 1e3);
        dispatches_us.push(us);
        let sum: f64 = timed.held.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        for (all, own) in held.iter_mut().zip(timed.held) {
            *all += us * times as f64 * own / sum;
        }
        dispatched += us * times as f64;
        count += times;
    }
    let between = constants.between_us * count.saturating_sub(1) as f64;
    let time_us = constants.launch_us + between + dispatched;
    let mut terms = vec![Term {
        name: "launch",
        us: constants.launch_us + between,
    }];
    for (name, us) in REASON_NAMES.iter().zip(held) {
        terms.push(Term { name, us });
    }
    let limiting = terms.iter().skip(1).max_by(|a, b| a.us.total_cmp(&b.us));
    let limited_by = match limiting {
        Some(term) if term.us > constants.launch_us => term.name,
        _ => "launch",
    };
    Ok(Prediction {
        time_us,
        limited_by,
        class: class(&executions, &machine, &terms, time_us),
        terms,
        dispatches_us,
    })
}

/// Names of [`Reason`]s, in order.
const REASON_NAMES: [&str; REASONS] = [
    "arithmetic",
    "complex unit",
    "dependences",
    "load/store unit",
    "threadgroup memory",
    "L2 bandwidth",
    "SLC bandwidth",
    "DRAM bandwidth",
    "memory latency",
    "barriers",
    "threadgroup launch",
];

fn class(executions: &[&Execution], machine: &Machine, terms: &[Term], time_us: f64) -> Class {
    let us = |names: &[&str]| -> f64 {
        let chosen = terms.iter().filter(|term| names.contains(&term.name));
        chosen.map(|term| term.us).sum()
    };
    let groups = executions.iter().map(|e| e.threadgroups()).max();
    let matrices = executions.iter().flat_map(|e| &e.blocks).any(|block| {
        let mut runs = block.runs.iter();
        runs.any(|run| run.matrices16 + run.matrices32 > 0)
    });
    if us(&["launch"]) > 0.25 * time_us {
        Class::Short
    } else if groups.unwrap_or(0) < machine.cores as u64 {
        Class::FewThreadgroups
    } else if matrices {
        Class::Matrix
    } else if us(&["L2 bandwidth", "SLC bandwidth", "DRAM bandwidth"]) > 0.4 * time_us {
        Class::Bandwidth
    } else {
        Class::Compute
    }
}

/// A dispatch on a chip, in cycles.
struct Timed {
    cycles: f64,
    held: [f64; REASONS],
}

impl Timed {
    fn new(
        execution: &Execution,
        machine: &Machine,
        constants: &Constants,
        total: f64,
        state: Cache,
    ) -> Result<Timed, Error> {
        let groups = execution.threadgroups().max(1);
        let active = (groups as f64).min(machine.cores);
        let per_core = (groups as f64 / machine.cores).ceil() as u64;
        let fits = machine.resident_groups(execution, constants)? as u64;
        let resident = fits.min(per_core).max(1) as usize;
        let mut work = workload(execution, machine, constants, resident, per_core);
        let levels = Levels::new(execution, machine, constants, (total, state), resident);
        let accesses = execution.accesses.iter();
        work.accesses = accesses
            .map(|access| levels.cost(access, machine, constants, active))
            .collect();
        let replayed = replay(&work);
        Ok(Timed {
            cycles: finish(&replayed, groups, machine, resident),
            held: replayed.held,
        })
    }
}

/// When the last core is done. Cores that have one threadgroup less end earlier; where the
/// rate of shared memory counts, the others gain from that, so the last wave counts by its
/// share.
fn finish(replayed: &Replay, groups: u64, machine: &Machine, resident: usize) -> f64 {
    let cores = machine.cores as u64;
    let most = groups.div_ceil(cores.max(1));
    replayed.end_of(most, resident)
}

/// Shares of L1 misses that go beyond the shared caches.
struct Levels {
    beyond_l2: f64,
    beyond_slc: f64,
    l1_lines: f64,
}

impl Levels {
    fn new(
        execution: &Execution,
        machine: &Machine,
        constants: &Constants,
        (total, state): (f64, Cache),
        resident: usize,
    ) -> Levels {
        // Threadgroups on a core share its L1.
        let l1_lines = machine.l1_lines / (resident as f64).sqrt();
        let missed = missed_lines(execution, l1_lines).max(f64::MIN_POSITIVE);
        let crossing =
            |lines: f64| caches::traffic(&execution.footprint, lines, total, state, constants.knee);
        let beyond_l2 = (crossing(machine.l2_lines) / missed).min(1.0);
        let beyond_slc = (crossing(machine.slc_lines) / missed).min(beyond_l2);
        Levels {
            beyond_l2,
            beyond_slc,
            l1_lines,
        }
    }

    fn cost(
        &self,
        access: &Access,
        machine: &Machine,
        constants: &Constants,
        active: f64,
    ) -> TimedAccess {
        let lines = f64::from(access.lines);
        let posted = access.kind == Kind::Store;
        if access.space == Space::Threadgroup {
            let extra = (f64::from(access.passes) - lines).max(0.0);
            return TimedAccess {
                local: true,
                threadgroup: lines * constants.local_row_cycles
                    + extra * constants.local_conflict_cycles,
                latency: constants.local_latency,
                posted,
                ..TimedAccess::default()
            };
        }
        let missed = caches::misses(&access.misses, self.l1_lines);
        let bytes = missed * LINE as f64;
        let slc_rate = constants.slc_bytes_per_cycle.min(machine.slc_rate / active);
        let dram_rate = constants
            .slc_bytes_per_cycle
            .min(machine.dram_rate / active);
        let step = |share: f64, from: f64, to: f64| (missed * share).min(1.0) * (to - from);
        let atomic = access.kind == Kind::Atomic;
        let latency = match atomic {
            true => constants.atomic_latency,
            false => {
                constants.l1_latency
                    + step(1.0, constants.l1_latency, constants.l2_latency)
                    + step(self.beyond_l2, constants.l2_latency, machine.slc_latency)
                    + step(self.beyond_slc, machine.slc_latency, machine.dram_latency)
            }
        };
        let contended = if atomic {
            f64::from(access.passes) * constants.atomic_cycles
        } else {
            0.0
        };
        TimedAccess {
            load_store: constants.access_cycles + lines * constants.line_cycles + contended,
            l2: bytes / constants.l2_bytes_per_cycle,
            slc: bytes * self.beyond_l2 / slc_rate,
            dram: bytes * self.beyond_slc / dram_rate,
            latency,
            posted,
            ..TimedAccess::default()
        }
    }
}

/// Lines that miss an L1 of `l1_lines` lines in the whole dispatch.
fn missed_lines(execution: &Execution, l1_lines: f64) -> f64 {
    let by_block: Vec<f64> = execution
        .blocks
        .iter()
        .map(|block| {
            let stops = block.runs.iter().filter_map(|run| match run.stop {
                Stop::Access { access, .. } => execution.accesses.get(usize::from(access)),
                _ => None,
            });
            stops
                .map(|access| caches::misses(&access.misses, l1_lines))
                .sum()
        })
        .collect();
    let by_path: Vec<f64> = execution
        .paths
        .iter()
        .map(|path| sum_blocks(&path.steps, &by_block))
        .collect();
    let per_group: f64 = execution
        .groups
        .iter()
        .map(|group| {
            let simdgroups = group.simdgroups.iter();
            let lines = simdgroups.map(|&(path, count)| {
                by_path.get(usize::from(path)).copied().unwrap_or(0.0) * f64::from(count)
            });
            group.share * lines.sum::<f64>()
        })
        .sum();
    per_group * execution.threadgroups() as f64
}

/// A value per block, summed over a path.
fn sum_blocks(steps: &[Step], by_block: &[f64]) -> f64 {
    let step = |step: &Step| match step {
        Step::Block(block, count) => {
            by_block.get(usize::from(*block)).copied().unwrap_or(0.0) * f64::from(*count)
        }
        Step::Loop(count, body) => f64::from(*count) * sum_blocks(body, by_block),
    };
    steps.iter().map(step).sum()
}

/// The workload of a core, without the costs of accesses.
fn workload(
    execution: &Execution,
    machine: &Machine,
    constants: &Constants,
    resident: usize,
    per_core: u64,
) -> Workload {
    let mut first_run = Vec::with_capacity(execution.blocks.len());
    let mut runs = Vec::new();
    for block in &execution.blocks {
        first_run.push(runs.len() as u32);
        runs.extend(block.runs.iter().map(|run| timed_run(run, constants)));
    }
    first_run.push(runs.len() as u32);
    let simulated = per_core.min(3 * resident as u64).max(1) as usize;
    let sequence = sequence(&execution.groups, simulated);
    let groups: Vec<Vec<u16>> = execution.groups.iter().map(simdgroups).collect();
    let all: usize = sequence
        .iter()
        .map(|&kind| groups.get(usize::from(kind)).map_or(0, Vec::len))
        .sum();
    let room = EVENTS / 2 / all.max(1);
    let paths = execution
        .paths
        .iter()
        .map(|path| cut(&path.steps, &first_run, room))
        .collect();
    Workload {
        runs,
        accesses: Vec::new(),
        paths,
        groups,
        sequence,
        resident,
        schedulers: machine.schedulers,
        barrier: constants.barrier_cycles,
        group_launch: constants.group_cycles,
        simdgroup_launch: constants.simdgroup_cycles,
    }
}

fn timed_run(run: &Run, constants: &Constants) -> TimedRun {
    let special = f64::from(run.reductions) * constants.reduction_cycles
        + f64::from(run.prefixes) * constants.prefix_cycles
        + f64::from(run.shuffles) * constants.shuffle_cycles
        + f64::from(run.matrices32) * constants.matrix32_cycles
        + f64::from(run.matrices16) * constants.matrix16_cycles;
    let issue = (f64::from(run.issue) + special) / constants.issue_efficiency;
    TimedRun {
        issue,
        complex: f64::from(run.complex),
        alone: f64::from(run.alone).max(issue),
        stop: match run.stop {
            Stop::End => TimedStop::None,
            Stop::Access { access, slot } => TimedStop::Access(access, slot),
            Stop::Wait { slot } => TimedStop::Wait(slot),
            Stop::UseLocal { later } => TimedStop::UseLocal(later),
            Stop::Barrier => TimedStop::Barrier,
        },
    }
}

fn simdgroups(group: &Group) -> Vec<u16> {
    let runs = group.simdgroups.iter();
    runs.flat_map(|&(path, count)| std::iter::repeat_n(path, usize::from(count)))
        .collect()
}

/// Kinds of `count` threadgroups, each as often as its share says, evenly mixed.
fn sequence(groups: &[Group], count: usize) -> Vec<u16> {
    let mut owed = vec![0.0; groups.len()];
    (0..count)
        .map(|_| {
            for (owed, group) in owed.iter_mut().zip(groups) {
                *owed += group.share;
            }
            let most = (0..groups.len()).max_by(|&a, &b| {
                // Of equals the first.
                owed[a].total_cmp(&owed[b]).then(b.cmp(&a))
            });
            let most = most.unwrap_or(0);
            if let Some(owed) = owed.get_mut(most) {
                *owed -= 1.0;
            }
            most as u16
        })
        .collect()
}

/// A path with its loops cut so that it has about `room` runs.
fn cut(steps: &[Step], first_run: &[u32], room: usize) -> Vec<PathRun> {
    const TURNS: [f64; 8] = [1e9, 64.0, 32.0, 16.0, 10.0, 6.0, 4.0, 3.0];
    let fits = |turns: &&f64| length(steps, first_run, **turns) <= room as f64;
    let turns = TURNS.iter().find(fits).copied().unwrap_or(2.0);
    let mut runs = Vec::new();
    unroll(steps, first_run, turns, 1.0, &mut runs);
    runs
}

fn turns_of(count: f32, most: f64) -> (f64, f64) {
    let count = f64::from(count);
    let turns = count.min(most).floor().max(1.0);
    (turns, count / turns)
}

fn runs_of(block: u16, first_run: &[u32]) -> std::ops::Range<u32> {
    let at = usize::from(block);
    match (first_run.get(at), first_run.get(at + 1)) {
        (Some(&start), Some(&end)) => start..end,
        _ => 0..0,
    }
}

fn length(steps: &[Step], first_run: &[u32], most: f64) -> f64 {
    let step = |step: &Step| match step {
        Step::Block(block, count) => {
            turns_of(*count, most).0 * runs_of(*block, first_run).len() as f64
        }
        Step::Loop(count, body) => turns_of(*count, most).0 * length(body, first_run, most),
    };
    steps.iter().map(step).sum()
}

fn unroll(steps: &[Step], first_run: &[u32], most: f64, scale: f64, runs: &mut Vec<PathRun>) {
    for step in steps {
        match step {
            Step::Block(block, count) => {
                let (turns, factor) = turns_of(*count, most);
                for _ in 0..turns as u64 {
                    let block = runs_of(*block, first_run);
                    runs.extend(block.map(|run| PathRun {
                        run,
                        scale: (scale * factor) as f32,
                    }));
                }
            }
            Step::Loop(count, body) => {
                let (turns, factor) = turns_of(*count, most);
                for _ in 0..turns as u64 {
                    unroll(body, first_run, most, scale * factor, runs);
                }
            }
        }
    }
}

/// Names of the reasons that hold simdgroups up, for reports.
pub fn reason_name(reason: Reason) -> &'static str {
    REASON_NAMES[reason as usize]
}
