//! Turns: threadgroups and simdgroups that wait for each other all get on.
//!
//! A lock, or a barrier over the whole grid that is made of an atomic counter, is a loop that ends when somebody else
//! has done something. Metal does not promise that threadgroups run at the same time, but GPUs keep as many as fit, and
//! kernels rely on it. So a batch that has run for a [`TURN`] lets the other batches of its threadgroup run, and a
//! threadgroup that waits keeps its memory while others run; those that wait take turns.
//!
//! Some wait for ever. What a batch does next depends on its registers, its masks, and memory. If all of these, of
//! everything that still runs, are at the end of a turn what they were before, every later turn is the same one: the
//! dispatch ends with [`FaultKind::NoProgress`]. Nothing is guessed: a loop that counts is a loop that gets on, and ends by
//! the limit on steps.

use crate::code::{Op, Program};
use crate::dispatch::{Job, Worker};
use crate::error::{Fault, FaultKind};
use crate::group_batching::GroupBatches;
use crate::interpret::observer::{NoObserver, Observer};
use rayon::prelude::*;
use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;
use std::ops::Range;
use std::sync::Mutex;

/// Operations of a batch before others get a turn, counted when a loop starts over.
pub(crate) const TURN: u64 = 1 << 16;

/// Bytes that threadgroups which wait may keep; a GPU does not keep more of them either.
const MOST_WAITING: u64 = 512 << 20;

/// How far a threadgroup came in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Finished,
    /// It has not ended.
    Over,
}

/// Threadgroups that have had a turn and have not ended.
struct Waiting {
    first: u64,
    count: u64,
    worker: Worker,
}

/// Notices that nothing changes any more.
#[derive(Default)]
pub(crate) struct Stall {
    turns: u64,
    /// What everything was after a turn whose number is a power of two.
    before: Option<u64>,
}

impl Stall {
    /// After a turn of everything that runs: returns true if everything is as it was before. Looks rarely: memory may
    /// be large.
    pub(crate) fn is_proved(&mut self, state: impl FnOnce() -> u64) -> bool {
        self.turns += 1;
        let stands = self.turns.is_power_of_two() || (self.turns - 1).is_power_of_two();
        if !stands {
            return false;
        }
        let now = state();
        let same = self.before == Some(now);
        self.before = Some(now);
        same
    }
}

impl Program {
    /// Returns true if a loop of the program may wait for another thread: it looks at memory atomically, or takes a lock.
    pub(crate) fn may_spin(&self) -> bool {
        let atomic = |op: &Op| match *op {
            Op::Atomic { .. } | Op::CompareExchange { .. } => true,
            Op::Load { transfer } => {
                let transfer = self.transfers.get(transfer as usize);
                transfer.is_some_and(|transfer| transfer.atomic || transfer.volatile)
            }
            _ => false,
        };
        self.ops.iter().enumerate().any(|(end, op)| match *op {
            Op::LoopEnd { target, .. } => {
                let body = self.ops.get(target as usize..end).unwrap_or_default();
                body.iter().any(atomic)
            }
            _ => false,
        })
    }
}

impl Job<'_> {
    /// Runs one threadgroup to its end, beside others.
    pub(crate) fn run_group<O: Observer>(
        &self,
        worker: &mut Worker,
        number: u64,
        observer: &mut O,
    ) -> Result<(), Box<Fault>> {
        self.start_groups(worker, number, 1, observer)?;
        while self.take_turn(worker, number, 1, observer)? == Turn::Over {}
        Ok(())
    }

    /// Runs one threadgroup to its end, while no other runs.
    pub(crate) fn run_group_alone<O: Observer>(
        &self,
        worker: &mut Worker,
        number: u64,
        observer: &mut O,
    ) -> Result<(), Box<Fault>> {
        self.start_groups(worker, number, 1, observer)?;
        let mut stall = Stall::default();
        while self.take_turn(worker, number, 1, observer)? == Turn::Over {
            if stall.is_proved(|| self.state(std::iter::once(&mut *worker))) {
                return Err(self.no_progress(worker, number));
            }
        }
        Ok(())
    }

    /// Runs all threadgroups, in batches; several at the same time unless they are to run in order.
    pub(crate) fn run_batches(
        &self,
        batches: &GroupBatches,
        mut which: Range<u64>,
    ) -> Result<(), Box<Fault>> {
        let waiting = Mutex::new((0, Vec::new()));
        let backwards = self.limits.backwards;
        let run = |worker: &mut Worker, batch: u64| {
            let (first, count) = batches.get(match backwards {
                true => batches.count() - 1 - batch,
                false => batch,
            });
            self.start_groups(worker, first, count, &mut NoObserver)?;
            while self.take_turn(worker, first, count, &mut NoObserver)? == Turn::Over {
                let Ok(mut waiting) = waiting.lock() else {
                    continue;
                };
                let (kept, list) = &mut *waiting;
                let bytes = self.worker_bytes(batches.size);
                if *kept + bytes <= MOST_WAITING.min(self.limits.max_memory / 2) {
                    *kept += bytes;
                    let worker = std::mem::replace(worker, self.batching_worker(batches));
                    list.push(Waiting {
                        first,
                        count,
                        worker,
                    });
                    break;
                }
            }
            Ok(())
        };
        let alone = self.program.in_order || backwards || which.end - which.start == 1;
        let fault = if alone {
            let mut worker = self.batching_worker(batches);
            which.find_map(|at| run(&mut worker, at).err())
        } else {
            which
                .into_par_iter()
                .map_init(|| self.batching_worker(batches), run)
                .find_map_first(Result::err)
        };
        if let Some(fault) = fault {
            return Err(fault);
        }
        let (_, waiting) = waiting.into_inner().unwrap_or_default();
        self.finish(waiting)
    }

    /// Lets threadgroups that wait take turns until all have ended.
    fn finish(&self, mut waiting: Vec<Waiting>) -> Result<(), Box<Fault>> {
        waiting.sort_by_key(|of| of.first);
        let mut stall = Stall::default();
        while !waiting.is_empty() {
            let turn = |of: &mut Waiting| {
                self.take_turn(&mut of.worker, of.first, of.count, &mut NoObserver)
            };
            let turns: Vec<Result<Turn, Box<Fault>>> = match self.program.in_order {
                true => waiting.iter_mut().map(turn).collect(),
                false => waiting.par_iter_mut().map(turn).collect(),
            };
            let turns: Vec<Turn> = turns.into_iter().collect::<Result<_, _>>()?;
            let none_ended = turns.iter().all(|&turn| turn == Turn::Over);
            let mut turns = turns.into_iter();
            waiting.retain(|_| turns.next() == Some(Turn::Over));
            let state = || self.state(waiting.iter_mut().map(|of| &mut of.worker));
            if none_ended && stall.is_proved(state) {
                let first = &mut waiting[0];
                return Err(self.no_progress(&mut first.worker, first.first));
            }
        }
        Ok(())
    }

    /// A number for the whole state of threadgroups between turns, and of the memory they share.
    fn state<'w>(&self, workers: impl Iterator<Item = &'w mut Worker>) -> u64 {
        let mut hasher = DefaultHasher::new();
        for worker in workers {
            worker.hash(&mut hasher);
        }
        for region in self.regions.iter().filter(|region| region.writable) {
            // SAFETY: no threadgroup runs between turns.
            hasher.write(unsafe { region.bytes() });
        }
        hasher.finish()
    }

    #[cold]
    fn no_progress(&self, worker: &mut Worker, number: u64) -> Box<Fault> {
        let group = self.grid.group(number);
        let stands = worker.stands_at();
        Box::new(Fault {
            kernel: self.program.name.clone(),
            kind: FaultKind::NoProgress,
            place: stands.and_then(|(_, position)| self.program.place(position)),
            thread: group.position(stands.map_or(0, |(thread, _)| thread)),
        })
    }
}
