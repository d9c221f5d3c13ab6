//! Time along dependences: in-order issue of one simdgroup, critical paths, and the
//! chain a loop carries from one iteration to the next.
//!
//! The machine issues a simdgroup's instructions in order; one waits until its operands
//! are ready, a `wait` until its slot has drained. Latencies come from the cost table;
//! an unknown one counts as its issue slot and is counted as unknown.

use crate::InsnId;
use crate::code::Code;
use crate::cost::{Charges, Cycles};
use assay_agx::Op;
use assay_chip::Unit;

/// Which latencies a simulation includes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Arithmetic only: memory answers at once.
    Arithmetic,
    /// Memory only: arithmetic results are ready at once.
    Memory,
    /// Both: what one simdgroup alone takes.
    Both,
}

/// What the schedule needs to know of the code.
#[derive(Clone, Copy)]
pub struct Timing<'a> {
    /// The instructions.
    pub code: &'a Code,
    /// Their costs.
    pub charges: &'a Charges,
    /// Latency of device loads to use instead of the table's.
    pub memory_latency: Option<f64>,
}

impl Timing<'_> {
    /// Cycles from issue until the result is there, as far as known.
    pub fn latency(&self, id: InsnId) -> Option<f64> {
        let op = self.code.get(id)?.op();
        let charge = self.charges.get(id.index())?;
        match op {
            Op::DeviceLoad | Op::StackLoad if self.memory_latency.is_some() => self.memory_latency,
            _ => charge.latency.map(f64::from),
        }
    }
}

const HALVES: usize = 256;

/// The machine's state while instructions issue.
struct Pipeline {
    now: f64,
    ready: [f64; HALVES],
    slots: [f64; 2],
    complex_free: f64,
    unknown: u32,
}

impl Pipeline {
    fn new() -> Pipeline {
        Pipeline {
            now: 0.0,
            ready: [0.0; HALVES],
            slots: [0.0; 2],
            complex_free: 0.0,
            unknown: 0,
        }
    }

    fn issue(&mut self, timing: &Timing<'_>, mode: Mode, id: InsnId) {
        let Some(entry) = timing.code.get(id) else {
            return;
        };
        let Some(charge) = timing.charges.get(id.index()) else {
            return;
        };
        let op = entry.op();
        if op == Op::Unknown {
            self.unknown += 1;
            return;
        }
        let mut start = self.now;
        for half in entry.reads.iter() {
            start = start.max(self.ready.get(usize::from(half)).copied().unwrap_or(0.0));
        }
        if op == Op::Wait {
            let slot = usize::from(entry.slot().unwrap_or(0));
            start = start.max(self.slots.get(slot).copied().unwrap_or(0.0));
        }
        let slots = charge.issue.map_or(1.0, f64::from);
        if charge.unit == Unit::Ic && mode != Mode::Memory {
            start = start.max(self.complex_free);
            self.complex_free = start + charge.cycles.map_or(slots, f64::from);
        }
        let memory = charge.unit == Unit::Memory || op == Op::ThreadgroupBarrier;
        let counts = match mode {
            Mode::Arithmetic => !memory,
            Mode::Memory => memory,
            Mode::Both => true,
        };
        let writes = entry.writes;
        let latency = timing.latency(id);
        if counts && latency.is_none() && !writes.is_empty() && charge.unit != Unit::Control {
            self.unknown += 1;
        }
        let latency = match latency {
            Some(latency) if counts => latency.max(slots),
            _ => slots,
        };
        self.now = start + slots;
        if op == Op::ThreadgroupBarrier {
            self.now = start + latency;
        }
        for half in writes.iter() {
            if let Some(ready) = self.ready.get_mut(usize::from(half)) {
                *ready = start + latency;
            }
        }
        if op != Op::Wait
            && let Some(slot) = entry.slot()
            && let Some(slot) = self.slots.get_mut(usize::from(slot))
        {
            *slot = slot.max(start + latency);
        }
    }
}

/// Cycles one simdgroup takes for a sequence, from an empty machine to the last issue.
pub(crate) fn serial(timing: &Timing<'_>, mode: Mode, ids: impl Iterator<Item = InsnId>) -> Cycles {
    let mut pipeline = Pipeline::new();
    for id in ids {
        pipeline.issue(timing, mode, id);
    }
    Cycles {
        known: pipeline.now,
        unknown: pipeline.unknown,
    }
}

/// Cycles that each instruction waits for results of arithmetic before it, in a simdgroup that runs alone through
/// a sequence; by instruction.
pub(crate) fn raw_penalties(timing: &Timing<'_>, ids: impl Iterator<Item = InsnId>) -> Vec<f64> {
    let mut pipeline = Pipeline::new();
    let mut found = vec![0.0; timing.code.len()];
    for id in ids {
        let reads = timing.code.get(id).map(|entry| entry.reads);
        let ready = reads.iter().flat_map(|reads| reads.iter());
        let ready = ready.filter_map(|half| pipeline.ready.get(usize::from(half)));
        let penalty = ready.fold(0.0, |most: f64, &ready| most.max(ready - pipeline.now));
        if let Some(slot) = found.get_mut(id.index()) {
            *slot = penalty;
        }
        pipeline.issue(timing, Mode::Arithmetic, id);
    }
    found
}

/// Iterations until a loop's rhythm is steady, and as many to measure it.
const WARM: usize = 2;

/// Cycles per iteration of a loop, once it is steady.
pub(crate) fn steady(timing: &Timing<'_>, mode: Mode, body: &[InsnId]) -> Cycles {
    let mut pipeline = Pipeline::new();
    let mut warm = 0.0;
    for iteration in 0..2 * WARM {
        if iteration == WARM {
            warm = pipeline.now;
        }
        pipeline.unknown = 0;
        for &id in body {
            pipeline.issue(timing, mode, id);
        }
    }
    Cycles {
        known: (pipeline.now - warm) / WARM as f64,
        unknown: pipeline.unknown,
    }
}

/// A chain of dependent instructions.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Chain {
    /// Latency along it; for a loop, per iteration.
    pub cycles: f64,
    /// Its instructions, in order of execution.
    pub instructions: Vec<InsnId>,
}

const NONE: u32 = u32::MAX;

/// Arrival times along dependences alone: unlimited issue.
struct Arrivals {
    time: Vec<f32>,
    before: Vec<u32>,
    writer: [u32; HALVES],
}

impl Arrivals {
    fn new(capacity: usize) -> Arrivals {
        Arrivals {
            time: Vec::with_capacity(capacity),
            before: Vec::with_capacity(capacity),
            writer: [NONE; HALVES],
        }
    }

    fn time_of(&self, at: u32) -> f32 {
        self.time.get(at as usize).copied().unwrap_or(0.0)
    }

    /// `merges`: only some lanes write, so the old value may still be the later one.
    fn step(&mut self, timing: &Timing<'_>, id: InsnId, merges: bool) {
        let at = self.time.len() as u32;
        let Some(entry) = timing.code.get(id).filter(|entry| !entry.is_unknown()) else {
            self.time.push(0.0);
            self.before.push(NONE);
            return;
        };
        let (mut start, mut before) = (0.0, NONE);
        for half in entry.reads.iter() {
            let writer = self.writer.get(usize::from(half)).copied().unwrap_or(NONE);
            if writer != NONE && (before == NONE || self.time_of(writer) > start) {
                start = self.time_of(writer);
                before = writer;
            }
        }
        let latency = timing.latency(id).or_else(|| {
            let charge = timing.charges.get(id.index())?;
            charge.issue.map(f64::from)
        });
        self.time.push(start + latency.unwrap_or(0.0) as f32);
        self.before.push(before);
        // The execution mask orders instructions by issue, not by latency.
        if entry.op().writes_exec_mask() {
            return;
        }
        for half in entry.writes.iter() {
            if let Some(writer) = self.writer.get_mut(usize::from(half)) {
                let old = self.time.get(*writer as usize).copied().unwrap_or(0.0);
                let new = self.time.get(at as usize).copied().unwrap_or(0.0);
                if !merges || *writer == NONE || new >= old {
                    *writer = at;
                }
            }
        }
    }

    /// From an arrival back to where its chain began.
    fn walk(&self, from: u32) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors((from != NONE).then_some(from), |&at| {
            self.before
                .get(at as usize)
                .copied()
                .filter(|&before| before != NONE)
        })
    }
}

/// The longest chain of dependent instructions in a straight sequence.
pub(crate) fn critical_path(
    timing: &Timing<'_>,
    ids: impl ExactSizeIterator<Item = InsnId>,
) -> Chain {
    let mut arrivals = Arrivals::new(ids.len());
    let mut sequence = Vec::with_capacity(ids.len());
    for id in ids {
        arrivals.step(timing, id, false);
        sequence.push(id);
    }
    let last = (0..arrivals.time.len() as u32).reduce(|best, at| {
        match arrivals.time_of(at) > arrivals.time_of(best) {
            true => at,
            false => best,
        }
    });
    let Some(last) = last else {
        return Chain::default();
    };
    let mut instructions: Vec<InsnId> = arrivals
        .walk(last)
        .filter_map(|at| sequence.get(at as usize).copied())
        .collect();
    instructions.reverse();
    Chain {
        cycles: f64::from(arrivals.time_of(last)),
        instructions,
    }
}

/// Iterations followed when looking for a loop-carried chain.
const ROUNDS: usize = 6;

/// The chain that each iteration of a loop hands to the next: dependences followed over
/// several iterations until one repeats an instruction. `merges` says which writes
/// happen under an `if` of the loop.
pub(crate) fn carried_chain(
    timing: &Timing<'_>,
    body: &[InsnId],
    merges: impl Fn(usize) -> bool,
) -> Option<Chain> {
    let length = body.len();
    if length == 0 || length > u32::MAX as usize / ROUNDS / 2 {
        return None;
    }
    let mut arrivals = Arrivals::new(length * ROUNDS);
    let mut half_way = [0.0_f32; HALVES];
    for round in 0..ROUNDS {
        if round == ROUNDS / 2 {
            for (slot, &writer) in half_way.iter_mut().zip(&arrivals.writer) {
                *slot = arrivals.time_of(writer);
            }
        }
        for (place, &id) in body.iter().enumerate() {
            arrivals.step(timing, id, merges(place));
        }
    }
    // The register whose arrival grows fastest hangs on the slowest chain.
    let growth = |half: usize| {
        let writer = arrivals.writer.get(half).copied().unwrap_or(NONE);
        match writer {
            NONE => 0.0,
            writer => arrivals.time_of(writer) - half_way.get(half).copied().unwrap_or(0.0),
        }
    };
    let fastest = (0..HALVES).reduce(|best, half| match growth(half) > growth(best) {
        true => half,
        false => best,
    })?;
    if growth(fastest) <= 0.0 {
        return None;
    }
    let chain: Vec<u32> = arrivals.walk(*arrivals.writer.get(fastest)?).collect();
    let mut seen: Vec<Option<usize>> = vec![None; length];
    for (position, &at) in chain.iter().enumerate() {
        let slot = seen.get_mut(at as usize % length)?;
        let Some(later) = *slot else {
            *slot = Some(position);
            continue;
        };
        let newer = *chain.get(later)?;
        let rounds = (newer as usize / length).checked_sub(at as usize / length)?;
        if rounds == 0 {
            return None;
        }
        let cycles = f64::from(arrivals.time_of(newer) - arrivals.time_of(at)) / rounds as f64;
        let mut instructions: Vec<InsnId> = chain
            .get(later..position)?
            .iter()
            .filter_map(|&at| body.get(at as usize % length).copied())
            .collect();
        instructions.reverse();
        return Some(Chain {
            cycles,
            instructions,
        });
    }
    None
}
