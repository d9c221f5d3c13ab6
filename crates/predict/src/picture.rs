//! The simulated core as a picture: what every simdgroup did, cycle by cycle.
//!
//! The same replay that gives the time, under an observer. Loops that were cut short appear
//! as cut: each turn shown stands for several, with their work.

use crate::caches;
use crate::constants::Constants;
use crate::core::{Doing, Reason, Watch};
use crate::error::Error;
use crate::machine::Machine;
use crate::predict::{Cache, CommandBuffer, Timed};
use assay_chip::Chip;
use serde::Serialize;

/// What a simdgroup does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum Activity {
    /// Its instructions are issued.
    Issue,
    /// Its scheduler or the complex unit serves another simdgroup.
    UnitBusy,
    /// It waits for results of its own arithmetic.
    Dependence,
    /// It waits for the load/store unit, a cache or DRAM.
    Memory,
    /// It waits for threadgroup memory.
    ThreadgroupMemory,
    /// It waits for others at a barrier.
    Barrier,
    /// Its threadgroup is being launched.
    Launch,
    /// The core has no room for its threadgroup yet.
    NoSlot,
}

impl Activity {
    /// All of them, in the order of legends.
    pub const ALL: [Activity; 8] = [
        Activity::Issue,
        Activity::UnitBusy,
        Activity::Dependence,
        Activity::Memory,
        Activity::ThreadgroupMemory,
        Activity::Barrier,
        Activity::Launch,
        Activity::NoSlot,
    ];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Activity::Issue => "issue",
            Activity::UnitBusy => "unit busy",
            Activity::Dependence => "dependence",
            Activity::Memory => "memory",
            Activity::ThreadgroupMemory => "threadgroup memory",
            Activity::Barrier => "barrier",
            Activity::Launch => "launch",
            Activity::NoSlot => "no slot",
        }
    }

    fn of(reason: Reason) -> Activity {
        match reason {
            Reason::Issue | Reason::Complex => Activity::UnitBusy,
            Reason::Dependence => Activity::Dependence,
            Reason::Fetch
            | Reason::LoadStore
            | Reason::L2
            | Reason::Slc
            | Reason::Dram
            | Reason::Latency => Activity::Memory,
            Reason::ThreadgroupMemory => Activity::ThreadgroupMemory,
            Reason::Barrier => Activity::Barrier,
            Reason::Launch => Activity::Launch,
        }
    }
}

/// A stretch of time, in cycles from the start of the dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Stretch {
    /// When it begins.
    pub from: f64,
    /// When it ends.
    pub to: f64,
    /// What the simdgroup does.
    pub activity: Activity,
}

/// A simdgroup of the simulated core.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Row {
    /// Its threadgroup, counted in the order of launch on this core.
    pub threadgroup: u32,
    /// Its scheduler.
    pub scheduler: u8,
    /// What it does, in order and without gaps that matter.
    pub stretches: Vec<Stretch>,
}

/// One core during a dispatch.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Picture {
    /// The kernel.
    pub kernel: String,
    /// Cycles until the last simulated threadgroup ends.
    pub cycles: f64,
    /// Cycles in a microsecond.
    pub cycles_per_us: f64,
    /// Threadgroups that were simulated.
    pub simulated: u32,
    /// Threadgroups that a core gets.
    pub per_core: u64,
    /// The simdgroups, in the order of launch.
    pub rows: Vec<Row>,
}

impl Picture {
    /// Cycles of all simdgroups by what they did.
    pub fn totals(&self) -> Vec<(Activity, f64)> {
        let mut totals = Activity::ALL.map(|activity| (activity, 0.0));
        for stretch in self.rows.iter().flat_map(|row| &row.stretches) {
            totals[stretch.activity as usize].1 += stretch.to - stretch.from;
        }
        totals.to_vec()
    }
}

/// Records everything.
#[derive(Default)]
struct Recorder {
    rows: Vec<Row>,
    end: f64,
}

impl Watch for Recorder {
    fn launched(&mut self, _simdgroup: u32, threadgroup: u32, scheduler: u8) {
        self.rows.push(Row {
            threadgroup,
            scheduler,
            stretches: Vec::new(),
        });
    }

    fn doing(&mut self, doing: Doing) {
        let Some(row) = self.rows.get_mut(doing.simdgroup as usize) else {
            return;
        };
        let activity = doing.held_by.map_or(Activity::Issue, Activity::of);
        if activity == Activity::Launch && row.stretches.is_empty() && doing.from > 0.0 {
            row.stretches.push(Stretch {
                from: 0.0,
                to: doing.from,
                activity: Activity::NoSlot,
            });
        }
        let to = doing.from + doing.cycles;
        if doing.cycles <= 0.0 {
            return;
        }
        self.end = self.end.max(to);
        match row.stretches.last_mut() {
            // Fractions of a cycle between two stretches are rounding.
            Some(last) if last.activity == activity && doing.from - last.to < 0.5 => last.to = to,
            _ => row.stretches.push(Stretch {
                from: doing.from,
                to,
                activity,
            }),
        }
    }
}

/// The simulated core, for each dispatch of a command buffer.
pub fn pictures(
    buffer: &CommandBuffer<'_>,
    chip: &Chip,
    constants: &Constants,
    state: Cache,
) -> Result<Vec<Picture>, Error> {
    let machine = Machine::new(chip, constants)?;
    let total = caches::together(&buffer.executions());
    let mut pictures = Vec::new();
    for repeated in &buffer.dispatches {
        let execution = repeated.execution;
        if let Some(why) = execution.fault() {
            return Err(Error::BadExecution(why));
        }
        let mut recorder = Recorder::default();
        Timed::new(
            execution,
            &machine,
            constants,
            (total, state),
            &mut recorder,
        )?;
        let simulated = recorder.rows.last().map_or(0, |row| row.threadgroup + 1);
        pictures.push(Picture {
            kernel: execution.kernel.clone(),
            cycles: recorder.end,
            cycles_per_us: machine.clock_ghz * 1e3,
            simulated,
            per_core: (execution.threadgroups() as f64 / machine.cores).ceil() as u64,
            rows: recorder.rows,
        });
    }
    Ok(pictures)
}
