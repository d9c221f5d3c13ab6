//! Cutting paths short: a loop of a thousand turns becomes a few that each stand for
//! many.
//!
//! A turn that stands for ten has ten times the work. It has ten times the latency too if the
//! simdgroup waits in every turn; accesses that nothing waits for between them are under
//! way together, however many there are.

use crate::core::PathRun;
use crate::execution::{Execution, Step, Stop};

/// Runs of a path at most, unless its code alone has more.
const MOST_RUNS: f64 = 20_000.0;

/// Cuts the paths of an execution.
pub(crate) struct Cutter<'a> {
    execution: &'a Execution,
    /// Which runs end in a wait.
    run_waits: Vec<bool>,
    /// Which blocks have one.
    block_waits: Vec<bool>,
    /// Of each block, how many leaves the blocks before it have: places are counted through.
    first_leaf: Vec<u32>,
}

/// How many leaves steps have.
pub(crate) fn leaves(steps: &[Step]) -> u32 {
    let leaf = |step: &Step| match step {
        Step::Block(..) => 1,
        Step::Loop(_, body) => leaves(body),
    };
    steps.iter().map(leaf).sum()
}

/// What steps are over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Over {
    Blocks,
    Runs,
}

/// How many times a run's work and latency count.
#[derive(Clone, Copy)]
struct Scale {
    work: f64,
    latency: f64,
}

impl<'a> Cutter<'a> {
    pub(crate) fn new(execution: &'a Execution) -> Cutter<'a> {
        let waits = |stop: Stop| {
            matches!(
                stop,
                Stop::Wait { .. } | Stop::UseLocal { .. } | Stop::Barrier
            )
        };
        let runs = execution.runs.iter();
        let run_waits: Vec<bool> = runs.map(|run| waits(run.stop)).collect();
        let blocks = execution.blocks.iter();
        let block_waits = blocks
            .map(|block| any_waits(&block.steps, &run_waits))
            .collect();
        let mut next = 0;
        let blocks = execution.blocks.iter();
        let first_leaf = blocks
            .map(|block| {
                let first = next;
                next += leaves(&block.steps);
                first
            })
            .collect();
        Cutter {
            execution,
            run_waits,
            block_waits,
            first_leaf,
        }
    }

    /// A path with its loops cut so that it has about `room` runs.
    pub(crate) fn cut(&self, steps: &[Step], room: usize) -> Vec<PathRun> {
        const TURNS: [f64; 8] = [1e9, 64.0, 32.0, 16.0, 10.0, 6.0, 4.0, 3.0];
        let fits = |turns: &&f64| self.length(steps, Over::Blocks, **turns) <= room as f64;
        // Two turns show what one hands to the next; a path that is too long for that has one.
        let two = self.length(steps, Over::Blocks, 2.0) <= MOST_RUNS;
        let fewest = if two { 2.0 } else { 1.0 };
        let turns = TURNS.iter().find(fits).copied().unwrap_or(fewest);
        let mut runs = Vec::new();
        let once = Scale {
            work: 1.0,
            latency: 1.0,
        };
        self.unroll(steps, (Over::Blocks, 0), turns, once, &mut runs);
        runs
    }

    /// The steps of a block; none when there is no such block.
    fn inside(&self, block: u16) -> &'a [Step] {
        let block = self.execution.blocks.get(usize::from(block));
        block.map_or(&[], |block| block.steps.as_slice())
    }

    /// How many runs are left.
    fn length(&self, steps: &[Step], over: Over, most: f64) -> f64 {
        let step = |step: &Step| {
            let (Step::Block(_, count) | Step::Loop(count, _)) = step;
            let inner = match (step, over) {
                (Step::Loop(_, body), _) => self.length(body, over, most),
                (Step::Block(block, _), Over::Blocks) => {
                    self.length(self.inside(*block), Over::Runs, most)
                }
                (Step::Block(..), Over::Runs) => 1.0,
            };
            turns_of(*count, most).0 * inner
        };
        steps.iter().map(step).sum()
    }

    /// Appends the runs of steps; `place` is that of their first leaf.
    fn unroll(
        &self,
        steps: &[Step],
        (over, mut place): (Over, u32),
        most: f64,
        scale: Scale,
        runs: &mut Vec<PathRun>,
    ) {
        for step in steps {
            let (Step::Block(_, count) | Step::Loop(count, _)) = step;
            let (turns, factor) = turns_of(*count, most);
            let waits = match over {
                Over::Blocks => any_waits(std::slice::from_ref(step), &self.block_waits),
                Over::Runs => any_waits(std::slice::from_ref(step), &self.run_waits),
            };
            let scale = Scale {
                work: scale.work * factor,
                latency: scale.latency * if waits || factor < 1.0 { factor } else { 1.0 },
            };
            for _ in 0..turns as u64 {
                match (step, over) {
                    (Step::Loop(_, body), _) => self.unroll(body, (over, place), most, scale, runs),
                    (Step::Block(block, _), Over::Blocks) => {
                        let first = self.first_leaf.get(usize::from(*block));
                        let first = first.copied().unwrap_or(0);
                        self.unroll(self.inside(*block), (Over::Runs, first), most, scale, runs);
                    }
                    (Step::Block(run, _), Over::Runs) => runs.push(PathRun {
                        run: u32::from(*run),
                        place,
                        work: scale.work as f32,
                        latency: scale.latency as f32,
                    }),
                }
            }
            place += leaves(std::slice::from_ref(step));
        }
    }
}

/// Turns of a loop that are simulated, and how many each stands for.
fn turns_of(count: f32, most: f64) -> (f64, f64) {
    let count = f64::from(count);
    let turns = count.min(most).floor().max(1.0);
    (turns, count / turns)
}

/// Returns true if a leaf of these steps waits.
fn any_waits(steps: &[Step], waits: &[bool]) -> bool {
    steps.iter().any(|step| match step {
        Step::Block(leaf, _) => waits.get(usize::from(*leaf)).copied().unwrap_or(false),
        Step::Loop(_, body) => any_waits(body, waits),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execution::{Block, Run};

    fn execution(stop: Stop) -> Execution {
        let load = Run {
            stop: Stop::Access { access: 0, slot: 0 },
            ..Run::default()
        };
        let wait = Run {
            stop,
            ..Run::default()
        };
        Execution {
            runs: vec![load, wait],
            blocks: vec![Block {
                offset: 0,
                steps: vec![Step::Block(0, 8.0), Step::Block(1, 1.0)],
            }],
            ..Execution::default()
        }
    }

    #[test]
    fn work_is_kept_and_loads_under_way_together_keep_their_latency() {
        let execution = execution(Stop::Wait { slot: 0 });
        let cutter = Cutter::new(&execution);
        let path = [Step::Block(0, 100.0)];
        let whole = cutter.cut(&path, 10_000);
        assert_eq!(whole.len(), 900);
        let short = cutter.cut(&path, 20);
        assert!(short.len() <= 20, "{}", short.len());
        let work: f32 = short.iter().map(|run| run.work).sum();
        assert!((work - 900.0).abs() < 0.1, "{work}");
        // A load stands for many turns and several loads of a turn; only turns wait.
        let load = short[0];
        assert!(load.work > load.latency && load.latency > 10.0);
    }
}
