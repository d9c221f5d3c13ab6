//! From executions and a chip to a time.

use crate::caches;
use crate::constants::Constants;
use crate::core::{
    REASONS, Reason, TimedRun, TimedStop, Unwatched, Watch, Workload, replay_watched,
};
use crate::cut::Cutter;
use crate::error::Error;
use crate::execution::{Access, Execution, Group, Run, Space, Step, Stop};
use crate::levels::Levels;
use crate::machine::{Machine, Residency};
use assay_chip::Chip;
use serde::Serialize;

/// Version of the model, in every output.
pub const MODEL: &str = "core-2";

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

impl CommandBuffer<'_> {
    /// The executions of its dispatches, in order.
    pub(crate) fn executions(&self) -> Vec<&Execution> {
        self.dispatches.iter().map(|d| d.execution).collect()
    }
}

/// A predicted time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// Microseconds from start to end of the command buffer.
    pub time_us: f64,
    /// Four of five kernels of its class lie between this and `high_us`.
    pub low_us: f64,
    /// See `low_us`.
    pub high_us: f64,
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

impl Class {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Class::Short => "short",
            Class::FewThreadgroups => "few threadgroups",
            Class::Matrix => "matrix",
            Class::Bandwidth => "bandwidth",
            Class::Compute => "compute",
        }
    }

    /// The factor that holds four of five kernels of this class.
    fn band(self, constants: &Constants) -> f64 {
        match self {
            Class::Short => constants.band_short,
            Class::FewThreadgroups => constants.band_few,
            Class::Matrix => constants.band_matrix,
            Class::Bandwidth => constants.band_bandwidth,
            Class::Compute => constants.band_compute,
        }
    }
}

/// Events of a simulation at most; loops are cut shorter to keep to it.
const EVENTS: usize = 40_000;

/// Threadgroups that are simulated even when few fit at once, if there are so many.
const FEWEST_GROUPS: u64 = 10;

/// Threadgroups that are simulated at most.
const MOST_GROUPS: u64 = 400;

/// The time of a command buffer on a chip.
pub fn predict(
    buffer: &CommandBuffer<'_>,
    chip: &Chip,
    constants: &Constants,
    state: Cache,
) -> Result<Prediction, Error> {
    let machine = Machine::new(chip, constants)?;
    let executions = buffer.executions();
    if let Some(why) = executions.iter().find_map(|execution| execution.fault()) {
        return Err(Error::BadExecution(why));
    }
    let total = caches::together(&executions);
    let mut held = [0.0; REASONS];
    let mut count = 0u64;
    let mut dispatched = 0.0;
    let mut dispatches_us = Vec::new();
    let list_times = u64::from(buffer.times.max(1));
    for repeated in &buffer.dispatches {
        let times = u64::from(repeated.times.max(1)) * list_times;
        let timed = Timed::new(
            repeated.execution,
            &machine,
            constants,
            (total, state),
            &mut Unwatched,
        )?;
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
    let class = class(&executions, &machine, &terms, time_us);
    let band = class.band(constants) * constants.band_chip;
    let gaps = (
        1.0 - 1.0 / constants.band_between,
        constants.band_between - 1.0,
    );
    Ok(Prediction {
        time_us,
        low_us: time_us / wider(band, time_us / (time_us - gaps.0 * between)),
        high_us: time_us * wider(band, (time_us + gaps.1 * between) / time_us),
        limited_by,
        class,
        terms,
        dispatches_us,
    })
}

/// Two doubts that have nothing to do with each other, as one factor.
fn wider(one: f64, other: f64) -> f64 {
    one.ln().hypot(other.ln()).exp()
}

/// Names of [`Reason`]s, in order.
const REASON_NAMES: [&str; REASONS] = [
    "arithmetic",
    "instruction cache",
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
    let mut runs = executions.iter().flat_map(|e| &e.runs);
    let matrices = runs.any(|run| run.matrices16 + run.matrices32 > 0);
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
pub(crate) struct Timed {
    pub(crate) cycles: f64,
    held: [f64; REASONS],
}

impl Timed {
    pub(crate) fn new(
        execution: &Execution,
        machine: &Machine,
        constants: &Constants,
        (total, state): (f64, Cache),
        watch: &mut impl Watch,
    ) -> Result<Timed, Error> {
        let groups = execution.threadgroups().max(1);
        let active = (groups as f64).min(machine.cores);
        let per_core = (groups as f64 / machine.cores).ceil() as u64;
        let fits = machine.residency(execution, constants)?;
        let resident = in_flight(execution, &fits).min(per_core).max(1) as usize;
        let mut work = workload(execution, machine, constants, &fits, per_core);
        let levels = Levels::new(execution, machine, constants, (total, state), resident);
        let accesses = execution.accesses.iter();
        work.accesses = accesses
            .map(|access| levels.cost(access, machine, constants, active))
            .collect();
        let replayed = replay_watched(&work, watch);
        Ok(Timed {
            cycles: replayed.end_of(per_core),
            held: replayed.held,
        })
    }
}

/// A value per access, summed over the whole dispatch.
pub(crate) fn over_accesses(execution: &Execution, value: impl Fn(&Access) -> f64) -> f64 {
    over_runs(execution, |run| {
        let access = match run.stop {
            Stop::Access { access, .. } => execution.accesses.get(usize::from(access)),
            _ => None,
        };
        access.map_or(0.0, &value)
    })
}

/// A value per run of instructions, summed over the whole dispatch.
pub(crate) fn over_runs(execution: &Execution, value: impl Fn(&Run) -> f64) -> f64 {
    let by_run: Vec<f64> = execution.runs.iter().map(value).collect();
    let by_block: Vec<f64> = execution
        .blocks
        .iter()
        .map(|block| sum_steps(&block.steps, &by_run))
        .collect();
    let by_path: Vec<f64> = execution
        .paths
        .iter()
        .map(|path| sum_steps(&path.steps, &by_block))
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

/// Bytes that the lanes of a whole dispatch move.
pub(crate) struct Moved {
    pub(crate) device: f64,
    pub(crate) threadgroup: f64,
}

impl Execution {
    /// Bytes that all lanes move, by memory.
    pub(crate) fn moved_bytes(&self) -> Moved {
        let of = |local: bool| {
            over_accesses(self, |access| {
                match (access.space == Space::Threadgroup) == local {
                    true => f64::from(access.bytes),
                    false => 0.0,
                }
            })
        };
        Moved {
            device: of(false),
            threadgroup: of(true),
        }
    }
}

/// A value per block or run, summed over steps.
fn sum_steps(steps: &[Step], values: &[f64]) -> f64 {
    let step = |step: &Step| match step {
        Step::Block(leaf, count) => {
            values.get(usize::from(*leaf)).copied().unwrap_or(0.0) * f64::from(*count)
        }
        Step::Loop(count, body) => f64::from(*count) * sum_steps(body, values),
    };
    steps.iter().map(step).sum()
}

/// The workload of a core, without the costs of accesses.
fn workload(
    execution: &Execution,
    machine: &Machine,
    constants: &Constants,
    fits: &Residency,
    per_core: u64,
) -> Workload {
    let runs = execution.runs.iter().map(|run| timed_run(run, constants));
    let runs = runs.collect();
    let resident = in_flight(execution, fits).min(per_core).max(1);
    // Where threadgroups differ by their place, all count.
    let wanted = match execution.order.len() {
        0 | 1 => (5 * resident).max(FEWEST_GROUPS),
        _ => MOST_GROUPS,
    };
    let simulated = per_core.min(wanted).max(1) as usize;
    let sequence = match execution.order.is_empty() {
        true => sequence(&execution.groups, simulated),
        false => in_order(&execution.order, simulated, machine.cores),
    };
    let groups: Vec<Vec<u16>> = execution.groups.iter().map(simdgroups).collect();
    let all: usize = sequence
        .iter()
        .map(|&kind| groups.get(usize::from(kind)).map_or(0, Vec::len))
        .sum();
    let room = EVENTS / 2 / all.max(1);
    let cutter = Cutter::new(execution);
    let paths = execution.paths.iter();
    let paths = paths.map(|path| cutter.cut(&path.steps, room)).collect();
    Workload {
        runs,
        accesses: Vec::new(),
        paths,
        groups,
        sequence,
        residency: *fits,
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
        fetch: f64::from(run.fetched) * constants.fetch_latency,
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

/// Threadgroups that are on a core together. Simdgroups that end soon make room for more than
/// whole threadgroups would have.
fn in_flight(execution: &Execution, fits: &Residency) -> u64 {
    let by_run: Vec<f64> = execution
        .runs
        .iter()
        .map(|run| f64::from(run.alone))
        .collect();
    let blocks = execution.blocks.iter();
    let by_block: Vec<f64> = blocks
        .map(|block| sum_steps(&block.steps, &by_run))
        .collect();
    let paths = execution.paths.iter();
    let lengths: Vec<f64> = paths
        .map(|path| sum_steps(&path.steps, &by_block))
        .collect();
    let most = lengths.iter().copied().fold(0.0, f64::max);
    let lasting = |group: &Group| -> f64 {
        let simdgroups = group.simdgroups.iter();
        let lasting = simdgroups.filter(|(path, _)| {
            let length = lengths.get(usize::from(*path)).copied().unwrap_or(0.0);
            length >= LASTING * most
        });
        group.share * lasting.map(|&(_, count)| f64::from(count)).sum::<f64>()
    };
    let per_group: f64 = execution.groups.iter().map(lasting).sum();
    let by_simdgroups = f64::from(fits.simdgroups) / per_group.max(1.0);
    let most = (by_simdgroups as u64).min(u64::from(fits.by_memory));
    most.clamp(
        u64::from(fits.groups),
        MOST_IN_FLIGHT.max(fits.groups.into()),
    )
}

/// A simdgroup lasts if it is at least this share of the longest.
const LASTING: f64 = 0.25;

/// Threadgroups in flight that are told apart.
const MOST_IN_FLIGHT: u64 = 48;

/// Kinds of the first `count` threadgroups of a core, when every core gets the next in turn.
fn in_order(order: &[(u64, u16)], count: usize, cores: f64) -> Vec<u16> {
    let mut ends = Vec::with_capacity(order.len());
    let mut end = 0;
    for &(count, kind) in order {
        end += count;
        ends.push((end, kind));
    }
    let kind_at = |place: u64| {
        let part = ends.partition_point(|&(end, _)| end <= place);
        let part = ends.get(part).or(ends.last());
        part.map_or(0, |&(_, kind)| kind)
    };
    (0..count as u64)
        .map(|n| kind_at((n as f64 * cores) as u64))
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

/// Names of the reasons that hold simdgroups up, for reports.
pub fn reason_name(reason: Reason) -> &'static str {
    REASON_NAMES[reason as usize]
}
