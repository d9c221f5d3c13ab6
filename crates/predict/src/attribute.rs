//! Which instructions the time belongs to.
//!
//! A replay says for every *place* in the code (a run of instructions of a block) how long
//! simdgroups issued it or were held up by it. An [`Execution`] keeps runs without their
//! addresses, but in order and with their lengths: walking a block's runs again from the
//! block's offset gives each its instructions back.

use crate::caches;
use crate::code::Code;
use crate::constants::Constants;
use crate::core::{Doing, NO_PLACE, REASONS, Reason, Watch};
use crate::error::Error;
use crate::execution::{Execution, Step};
use crate::machine::Machine;
use crate::predict::{Cache, CommandBuffer, Timed};
use assay_agx::Program;
use assay_chip::{Chip, CostModel, CostTable};

/// What one instruction takes of a command buffer's time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InstructionTime {
    /// Byte offset of the instruction.
    pub offset: u32,
    /// Microseconds by reason, as [`Reason`] counts them: for issuing it, and for waiting for
    /// what it loads.
    pub us: [f64; REASONS],
}

impl InstructionTime {
    /// Microseconds for all reasons.
    pub fn total(&self) -> f64 {
        self.us.iter().sum()
    }
}

/// Cycles by place.
#[derive(Default)]
struct Sums {
    places: Vec<[f64; REASONS]>,
    all: f64,
}

impl Watch for Sums {
    fn doing(&mut self, doing: Doing) {
        self.all += doing.cycles;
        if doing.place == NO_PLACE {
            return;
        }
        let place = doing.place as usize;
        if self.places.len() <= place {
            self.places.resize(place + 1, [0.0; REASONS]);
        }
        let reason = doing.held_by.unwrap_or(Reason::Issue);
        self.places[place][reason as usize] += doing.cycles;
    }
}

/// The time of each instruction of each dispatch of a command buffer, ascending by offset. What
/// belongs to no instruction (launches, the time between dispatches) is not among them.
///
/// `programs` are those of the dispatches, in the same order.
pub fn by_instruction(
    buffer: &CommandBuffer<'_>,
    programs: &[&Program],
    chip: &Chip,
    constants: &Constants,
    state: Cache,
) -> Result<Vec<Vec<InstructionTime>>, Error> {
    let machine = Machine::new(chip, constants)?;
    let total = caches::together(&buffer.executions());
    let times = f64::from(buffer.times.max(1));
    let mut found = Vec::new();
    for (repeated, program) in buffer.dispatches.iter().zip(programs) {
        let execution = repeated.execution;
        if let Some(why) = execution.fault() {
            return Err(Error::BadExecution(why));
        }
        let mut sums = Sums::default();
        let timed = Timed::new(execution, &machine, constants, (total, state), &mut sums)?;
        let us = timed.cycles / (machine.clock_ghz * 1e3);
        let us = us * f64::from(repeated.times.max(1)) * times;
        let scale = us / sums.all.max(f64::MIN_POSITIVE);
        found.push(spread(&sums, execution, program, scale)?);
    }
    Ok(found)
}

/// Divides the time of places among their instructions.
fn spread(
    sums: &Sums,
    execution: &Execution,
    program: &Program,
    scale: f64,
) -> Result<Vec<InstructionTime>, Error> {
    let costs = CostTable::of(CostModel::Measured);
    let code = Code::new(program, costs).map_err(|_| Error::TooManyBlocks)?;
    let mut times: Vec<InstructionTime> = code
        .instructions
        .iter()
        .map(|instruction| InstructionTime {
            offset: instruction.offset,
            ..InstructionTime::default()
        })
        .collect();
    let mut first_leaf = 0;
    for block in &execution.blocks {
        let mut walk = Walk {
            execution,
            next: code.at(block.offset).unwrap_or(usize::MAX),
            ranges: Vec::new(),
        };
        let end = walk.steps(&block.steps, first_leaf);
        for (leaf, ranges) in walk.by_leaf(first_leaf, end) {
            let Some(held) = sums.places.get(leaf as usize) else {
                continue;
            };
            let share = scale / ranges.len().max(1) as f64;
            for range in ranges {
                charge(&code, &mut times, range, held, share);
            }
        }
        first_leaf = end;
    }
    times.retain(|time| time.total() > 0.0);
    Ok(times)
}

/// Charges one run: issue and dependences to all of its instructions, waits for answers and for
/// others to the last one, which is the access or the barrier.
fn charge(
    code: &Code,
    times: &mut [InstructionTime],
    range: std::ops::Range<usize>,
    held: &[f64; REASONS],
    scale: f64,
) {
    const OF_ALL: [Reason; 3] = [Reason::Issue, Reason::Complex, Reason::Dependence];
    let Some(instructions) = code.instructions.get(range.clone()) else {
        return;
    };
    let whole: f32 = instructions.iter().map(|one| one.issue_slots()).sum();
    for (index, &cycles) in held.iter().enumerate() {
        if cycles <= 0.0 {
            continue;
        }
        if OF_ALL.iter().any(|reason| *reason as usize == index) && whole > 0.0 {
            for (one, time) in instructions.iter().zip(&mut times[range.clone()]) {
                let share = f64::from(one.issue_slots() / whole);
                time.us[index] += cycles * scale * share;
            }
        } else if let Some(time) = range.end.checked_sub(1).and_then(|n| times.get_mut(n)) {
            time.us[index] += cycles * scale;
        }
    }
}

/// Walks the runs of a block in the order of its code.
struct Walk<'a> {
    execution: &'a Execution,
    /// The next instruction.
    next: usize,
    /// Leaf and instructions of every run.
    ranges: Vec<(u32, std::ops::Range<usize>)>,
}

/// Runs of a block that are walked at most: folded code may claim any number.
const MOST_RUNS: usize = 1 << 20;

impl Walk<'_> {
    /// Walks steps whose first leaf is `leaf`; gives the leaf after the last.
    fn steps(&mut self, steps: &[Step], leaf: u32) -> u32 {
        let mut leaf = leaf;
        for step in steps {
            let (Step::Block(_, count) | Step::Loop(count, _)) = step;
            let turns = count.round().clamp(1.0, MOST_RUNS as f32) as usize;
            let mut after = leaf + 1;
            for _ in 0..turns {
                if self.ranges.len() >= MOST_RUNS {
                    break;
                }
                match step {
                    Step::Block(run, _) => {
                        let run = self.execution.runs.get(usize::from(*run));
                        let count = run.map_or(0, |run| run.instructions as usize);
                        let end = self.next.saturating_add(count);
                        self.ranges.push((leaf, self.next..end));
                        self.next = end;
                    }
                    Step::Loop(_, body) => after = self.steps(body, leaf),
                }
            }
            leaf = after;
        }
        leaf
    }

    /// The runs that each leaf from `first` to `end` stands for.
    fn by_leaf(self, first: u32, end: u32) -> Vec<(u32, Vec<std::ops::Range<usize>>)> {
        let mut found: Vec<(u32, Vec<_>)> = (first..end).map(|leaf| (leaf, Vec::new())).collect();
        for (leaf, range) in self.ranges {
            if let Some((_, ranges)) = found.get_mut((leaf - first) as usize) {
                ranges.push(range);
            }
        }
        found
    }
}
