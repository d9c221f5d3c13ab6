//! One core, replayed: an event simulation of its resident threadgroups.
//!
//! A core has schedulers, each with issue slots and a complex unit, and parts that
//! all simdgroups share: the unit of loads and stores, threadgroup memory, the way to L2 and beyond,
//! and the launcher of threadgroups. Each is a server: work arrives, waits its turn, takes its
//! cycles. A simdgroup issues a run of instructions on its scheduler, then does what
//! ends the run: sends an access on its way, waits for one, or for the others at a barrier.
//!
//! Loops are cut short: ten turns that are each a tenth of all turns, in work and in latency,
//! behave like all of them. Of many threadgroups the first five times as many as fit
//! are simulated; the rest follow at the rate of the middle ones.

use crate::machine::Residency;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What holds a simdgroup up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(usize)]
pub enum Reason {
    /// Issues, or waits for its scheduler while others issue.
    Issue,
    /// Waits for instructions that the instruction cache does not hold.
    Fetch,
    /// Waits for the complex unit.
    Complex,
    /// Waits for results of its own arithmetic.
    Dependence,
    /// Waits for the unit of loads and stores.
    LoadStore,
    /// Waits for threadgroup memory.
    ThreadgroupMemory,
    /// Waits for bandwidth of L2.
    L2,
    /// Waits for bandwidth of the system-level cache.
    Slc,
    /// Waits for bandwidth of DRAM.
    Dram,
    /// Waits for an answer, with nothing else in the way.
    Latency,
    /// Waits for other simdgroups at a barrier.
    Barrier,
    /// Waits to be launched.
    Launch,
}

impl Reason {
    /// All of them, in order.
    pub const ALL: [Reason; REASONS] = [
        Reason::Issue,
        Reason::Fetch,
        Reason::Complex,
        Reason::Dependence,
        Reason::LoadStore,
        Reason::ThreadgroupMemory,
        Reason::L2,
        Reason::Slc,
        Reason::Dram,
        Reason::Latency,
        Reason::Barrier,
        Reason::Launch,
    ];
}

/// How many reasons there are.
pub const REASONS: usize = 12;

/// A run of instructions in cycles.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TimedRun {
    pub(crate) issue: f64,
    pub(crate) complex: f64,
    /// Until its instructions are there.
    pub(crate) fetch: f64,
    /// What it takes alone.
    pub(crate) alone: f64,
    pub(crate) stop: TimedStop,
}

/// What ends a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum TimedStop {
    #[default]
    None,
    /// An access: index of its cost, slot of the scoreboard.
    Access(u16, u8),
    Wait(u8),
    UseLocal(u8),
    Barrier,
}

/// What an access costs, in cycles.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TimedAccess {
    pub(crate) local: bool,
    pub(crate) load_store: f64,
    pub(crate) threadgroup: f64,
    pub(crate) l2: f64,
    pub(crate) slc: f64,
    pub(crate) dram: f64,
    pub(crate) latency: f64,
    /// Nothing waits for its answer.
    pub(crate) posted: bool,
}

/// A run to execute, and how many times its work and its latency count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathRun {
    pub(crate) run: u32,
    /// Its place in the code: the leaves of all blocks' steps, counted through.
    pub(crate) place: u32,
    pub(crate) work: f32,
    pub(crate) latency: f32,
}

/// What a core executes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Workload {
    pub(crate) runs: Vec<TimedRun>,
    pub(crate) accesses: Vec<TimedAccess>,
    pub(crate) paths: Vec<Vec<PathRun>>,
    /// Kinds of threadgroups: the path of each simdgroup.
    pub(crate) groups: Vec<Vec<u16>>,
    /// The kind of the `n`th threadgroup to simulate.
    pub(crate) sequence: Vec<u16>,
    /// What fits at once.
    pub(crate) residency: Residency,
    pub(crate) schedulers: usize,
    pub(crate) barrier: f64,
    pub(crate) group_launch: f64,
    pub(crate) simdgroup_launch: f64,
}

/// What came out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Replay {
    /// When threadgroups ended, ascending.
    pub(crate) ends: Vec<f64>,
    /// Cycles simdgroups were held up, by reason, summed.
    pub(crate) held: [f64; REASONS],
    /// Cycles the shared parts were busy: load/store, threadgroup memory, L2, SLC, DRAM, launcher.
    pub(crate) busy: [f64; 6],
    /// Cycles of issue, summed over schedulers.
    pub(crate) issued: f64,
    pub(crate) complex: f64,
    pub(crate) events: u64,
}

/// What a simdgroup does for a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Doing {
    /// Number of the simdgroup, in order of launch.
    pub(crate) simdgroup: u32,
    /// Nothing while its instructions are issued.
    pub(crate) held_by: Option<Reason>,
    /// Place in the code: of instructions that are issued, or of the access that is waited for.
    pub(crate) place: u32,
    pub(crate) from: f64,
    pub(crate) cycles: f64,
}

/// Place of what belongs to no instruction: the launch.
pub(crate) const NO_PLACE: u32 = u32::MAX;

/// Observes a replay. What is not implemented costs nothing.
pub(crate) trait Watch {
    /// A simdgroup was given a place on a scheduler.
    #[inline]
    fn launched(&mut self, _simdgroup: u32, _threadgroup: u32, _scheduler: u8) {}

    /// A stretch of time; those of one simdgroup come in order.
    #[inline]
    fn doing(&mut self, _doing: Doing) {}
}

/// Observes nothing.
pub(crate) struct Unwatched;

impl Watch for Unwatched {}

/// Loads from threadgroup memory that are told apart.
const LOCAL_WINDOW: usize = 64;

#[derive(Clone, Debug)]
struct Simdgroup {
    path: u16,
    next: u32,
    group: u32,
    scheduler: u8,
    /// The event to come is the stop of the current run, not its issue.
    issued: bool,
    /// Place in the code of the run it is at, and when it arrived at a barrier.
    place: u32,
    arrived: f64,
    slots: [Pending; 2],
    local: [(f64, u32); LOCAL_WINDOW],
    local_loads: u32,
    /// Its stores: a simdgroup ends once the last has left.
    stores: Pending,
}

/// What a slot waits for: when, and why not earlier.
#[derive(Clone, Copy, Debug, Default)]
struct Pending {
    until: f64,
    queued: [f64; 4],
    latency: f64,
    /// Place of the access in the code.
    place: u32,
}

#[derive(Clone, Debug, Default)]
struct Resident {
    waiting: Vec<u32>,
    latest: f64,
    left: u32,
}

/// A time that can be ordered; times are never negative.
fn key(time: f64) -> u64 {
    time.max(0.0).to_bits()
}

struct Core<'a, W> {
    work: &'a Workload,
    watch: &'a mut W,
    simdgroups: Vec<Simdgroup>,
    groups: Vec<Resident>,
    events: BinaryHeap<Reverse<(u64, u32)>>,
    issue_free: Vec<f64>,
    complex_free: Vec<f64>,
    shared_free: [f64; 6],
    launched: usize,
    /// Simdgroups and threadgroups that have not ended.
    live_simdgroups: usize,
    live_groups: usize,
    replay: Replay,
}

const LOAD_STORE: usize = 0;
const THREADGROUP: usize = 1;
const L2: usize = 2;
const SLC: usize = 3;
const DRAM: usize = 4;
const LAUNCHER: usize = 5;

/// Replays a workload.
#[cfg(test)]
pub(crate) fn replay(work: &Workload) -> Replay {
    replay_watched(work, &mut Unwatched)
}

/// Replays a workload under an observer.
pub(crate) fn replay_watched<W: Watch>(work: &Workload, watch: &mut W) -> Replay {
    let mut core = Core {
        work,
        watch,
        simdgroups: Vec::new(),
        groups: Vec::new(),
        events: BinaryHeap::new(),
        issue_free: vec![0.0; work.schedulers.max(1)],
        complex_free: vec![0.0; work.schedulers.max(1)],
        shared_free: [0.0; 6],
        launched: 0,
        live_simdgroups: 0,
        live_groups: 0,
        replay: Replay::default(),
    };
    core.launch(0.0);
    while let Some(Reverse((time, simdgroup))) = core.events.pop() {
        core.replay.events += 1;
        core.step(f64::from_bits(time), simdgroup as usize);
    }
    core.replay.ends.sort_by(f64::total_cmp);
    core.replay
}

impl<W: Watch> Core<'_, W> {
    /// Launches threadgroups while there are some and they fit.
    fn launch(&mut self, now: f64) {
        while let Some(&kind) = self.work.sequence.get(self.launched) {
            let needed = self.work.groups[usize::from(kind)].len();
            let fits = self.live_groups < self.work.residency.by_memory as usize
                && self.live_simdgroups + needed <= self.work.residency.simdgroups as usize;
            if !fits && self.live_groups > 0 {
                return;
            }
            self.launched += 1;
            self.live_groups += 1;
            self.live_simdgroups += needed;
            self.launch_group(now, kind);
        }
    }

    fn launch_group(&mut self, now: f64, kind: u16) {
        let paths = &self.work.groups[usize::from(kind)];
        let group = self.groups.len() as u32;
        let start = self.shared(LAUNCHER, now, self.work.group_launch);
        self.groups.push(Resident {
            left: paths.len() as u32,
            ..Resident::default()
        });
        let mut start = start.1;
        for &path in paths {
            start = self.shared(LAUNCHER, start, self.work.simdgroup_launch).1;
            let index = self.simdgroups.len();
            let scheduler = (index % self.issue_free.len()) as u8;
            self.simdgroups.push(Simdgroup {
                path,
                next: 0,
                group,
                scheduler,
                issued: false,
                place: NO_PLACE,
                arrived: 0.0,
                slots: [Pending::default(); 2],
                local: [(0.0, NO_PLACE); LOCAL_WINDOW],
                local_loads: 0,
                stores: Pending::default(),
            });
            self.watch.launched(index as u32, group, scheduler);
            self.hold(index, Reason::Launch, NO_PLACE, (now, start));
            self.wake(start, index);
        }
        if paths.is_empty() {
            self.live_groups -= 1;
            self.replay.ends.push(start);
        }
    }

    fn wake(&mut self, time: f64, simdgroup: usize) {
        self.events.push(Reverse((key(time), simdgroup as u32)));
    }

    /// Work for a shared part: when it begins and when it is done.
    fn shared(&mut self, part: usize, arrival: f64, cycles: f64) -> (f64, f64) {
        let begin = self.shared_free[part].max(arrival);
        self.shared_free[part] = begin + cycles;
        self.replay.busy[part] += cycles;
        (begin, begin + cycles)
    }

    /// Counts the time from one moment to a later one as spent for a reason.
    fn hold(&mut self, index: usize, reason: Reason, place: u32, (from, to): (f64, f64)) {
        let cycles = (to - from).max(0.0);
        self.replay.held[reason as usize] += cycles;
        self.watch.doing(Doing {
            simdgroup: index as u32,
            held_by: Some(reason),
            place,
            from,
            cycles,
        });
    }

    /// Follows a simdgroup from `now` until it must wait, or others come first.
    fn step(&mut self, mut now: f64, index: usize) {
        loop {
            let simdgroup = &self.simdgroups[index];
            let path = &self.work.paths[usize::from(simdgroup.path)];
            let Some(&path_run) = path.get(simdgroup.next as usize) else {
                self.end_of_simdgroup(now, index);
                return;
            };
            let run = self.work.runs[path_run.run as usize];
            self.simdgroups[index].place = path_run.place;
            if self.simdgroups[index].issued {
                self.simdgroups[index].issued = false;
                self.simdgroups[index].next += 1;
                match self.stop(now, index, run.stop, &path_run) {
                    Some(time) => now = time,
                    None => return,
                }
            } else {
                let fetched = now + run.fetch * f64::from(path_run.latency);
                self.hold(index, Reason::Fetch, path_run.place, (now, fetched));
                now = self.issue(fetched, index, &run, f64::from(path_run.work));
                self.simdgroups[index].issued = true;
            }
            let first = self.events.peek();
            if first.is_some_and(|Reverse((time, _))| *time < key(now)) {
                self.wake(now, index);
                return;
            }
        }
    }

    /// Issues a run; gives when its results are there.
    fn issue(&mut self, now: f64, index: usize, run: &TimedRun, scale: f64) -> f64 {
        let scheduler = usize::from(self.simdgroups[index].scheduler);
        let place = self.simdgroups[index].place;
        let begin = self.issue_free[scheduler].max(now);
        let cycles = run.issue * scale;
        self.issue_free[scheduler] = begin + cycles;
        self.replay.issued += cycles;
        let mut done = begin + cycles;
        self.hold(index, Reason::Issue, place, (now, begin));
        self.replay.held[Reason::Issue as usize] += cycles;
        self.watch.doing(Doing {
            simdgroup: index as u32,
            held_by: None,
            place,
            from: begin,
            cycles,
        });
        if run.complex > 0.0 {
            let complex = run.complex * scale;
            let free = self.complex_free[scheduler].max(begin) + complex;
            self.complex_free[scheduler] = free;
            self.replay.complex += complex;
            self.hold(index, Reason::Complex, place, (done, free));
            done = done.max(free);
        }
        let alone = begin + run.alone * scale;
        self.hold(index, Reason::Dependence, place, (done, alone));
        done.max(alone)
    }

    /// Does what ends a run; gives when the simdgroup goes on, unless others decide.
    fn stop(&mut self, now: f64, index: usize, stop: TimedStop, run: &PathRun) -> Option<f64> {
        match stop {
            TimedStop::None => Some(now),
            TimedStop::Access(access, slot) => {
                self.access(now, index, usize::from(access), slot, run);
                Some(now)
            }
            TimedStop::Wait(slot) => {
                let pending = self.simdgroups[index].slots[usize::from(slot & 1)];
                self.stall(index, now, &pending);
                Some(now.max(pending.until))
            }
            TimedStop::UseLocal(later) => {
                let simdgroup = &self.simdgroups[index];
                let behind = u32::from(later) + 1;
                let place = simdgroup.local_loads.wrapping_sub(behind) as usize % LOCAL_WINDOW;
                let (until, place) = match simdgroup.local_loads >= behind {
                    true => simdgroup.local[place],
                    false => (0.0, NO_PLACE),
                };
                self.hold(index, Reason::ThreadgroupMemory, place, (now, until));
                Some(now.max(until))
            }
            TimedStop::Barrier => {
                self.arrive(now, index, f64::from(run.latency));
                None
            }
        }
    }

    /// Divides the time until an answer among what delayed it.
    fn stall(&mut self, index: usize, now: f64, pending: &Pending) {
        let held = pending.until - now;
        if held <= 0.0 {
            return;
        }
        let whole = pending.latency + pending.queued.iter().sum::<f64>();
        if whole <= 0.0 {
            self.hold(index, Reason::Latency, pending.place, (now, pending.until));
            return;
        }
        let share = held / whole;
        let mut at = now;
        let reasons = [Reason::LoadStore, Reason::L2, Reason::Slc, Reason::Dram];
        for (reason, queued) in reasons.into_iter().zip(pending.queued) {
            let until = at + queued * share;
            self.hold(index, reason, pending.place, (at, until));
            at = until;
        }
        let until = at + pending.latency * share;
        self.hold(index, Reason::Latency, pending.place, (at, until));
    }

    fn access(&mut self, now: f64, index: usize, access: usize, slot: u8, run: &PathRun) {
        let (work, delay) = (f64::from(run.work), f64::from(run.latency));
        let cost = self.work.accesses[access];
        if cost.local {
            let (_, done) = self.shared(THREADGROUP, now, cost.threadgroup * work);
            let simdgroup = &mut self.simdgroups[index];
            if !cost.posted {
                let place = simdgroup.local_loads as usize % LOCAL_WINDOW;
                simdgroup.local[place] = (done + cost.latency * delay, simdgroup.place);
                simdgroup.local_loads += 1;
            }
            return;
        }
        let mut at = now;
        let mut queued = [0.0; 4];
        let parts = [
            (LOAD_STORE, cost.load_store),
            (L2, cost.l2),
            (SLC, cost.slc),
            (DRAM, cost.dram),
        ];
        for ((part, cycles), queued) in parts.into_iter().zip(&mut queued) {
            if cycles > 0.0 {
                let (_, done) = self.shared(part, at, cycles * work);
                *queued = done - at;
                at = done;
            }
        }
        let simdgroup = &mut self.simdgroups[index];
        let place = simdgroup.place;
        let (latency, pending) = match cost.posted {
            true => (0.0, &mut simdgroup.stores),
            false => {
                let slot = &mut simdgroup.slots[usize::from(slot & 1)];
                (cost.latency * delay, slot)
            }
        };
        let until = at + latency;
        if until > pending.until {
            *pending = Pending {
                until,
                queued,
                latency,
                place,
            };
        }
    }

    fn arrive(&mut self, now: f64, index: usize, scale: f64) {
        let number = self.simdgroups[index].group as usize;
        let group = &mut self.groups[number];
        self.simdgroups[index].arrived = now;
        group.waiting.push(index as u32);
        group.latest = group.latest.max(now);
        if group.waiting.len() as u32 == group.left {
            self.pass_barrier(number, scale);
        }
    }

    fn pass_barrier(&mut self, number: usize, scale: f64) {
        let group = &mut self.groups[number];
        let waiting = std::mem::take(&mut group.waiting);
        let latest = std::mem::replace(&mut group.latest, 0.0);
        let passed = latest + self.work.barrier * scale;
        for simdgroup in waiting {
            let index = simdgroup as usize;
            let Simdgroup { arrived, place, .. } = self.simdgroups[index];
            self.hold(index, Reason::Barrier, place, (arrived, passed));
            self.wake(passed, index);
        }
    }

    fn end_of_simdgroup(&mut self, now: f64, index: usize) {
        let stores = self.simdgroups[index].stores;
        if stores.until > now {
            self.stall(index, now, &stores);
            self.simdgroups[index].stores = Pending::default();
            self.wake(stores.until, index);
            return;
        }
        let number = self.simdgroups[index].group as usize;
        let group = &mut self.groups[number];
        group.left -= 1;
        let left = group.left;
        let waiting = group.waiting.len() as u32;
        self.live_simdgroups -= 1;
        if left == 0 {
            self.live_groups -= 1;
            self.replay.ends.push(now);
        } else if waiting == left {
            // The others waited at a barrier that this one did not reach.
            self.groups[number].latest = now.max(self.groups[number].latest);
            self.pass_barrier(number, 1.0);
        }
        self.launch(now);
    }
}

impl Replay {
    /// When the last of `count` threadgroups ends, of which the first were simulated.
    pub(crate) fn end_of(&self, count: u64) -> f64 {
        let simulated = self.ends.len();
        let Some(&last) = self.ends.last() else {
            return 0.0;
        };
        if count <= simulated as u64 {
            let index = (count.max(1) - 1) as usize;
            return self.ends.get(index).copied().unwrap_or(last);
        }
        last + (count - simulated as u64) as f64 * self.interval()
    }

    /// Cycles from the end of one threadgroup to the end of the next, while the core is full: from
    /// the second to the fourth fifth of the ends. Means, since threadgroups end in bunches.
    fn interval(&self) -> f64 {
        let part = self.ends.len() / 5;
        let mean = |from: usize| {
            let ends = self.ends.iter().skip(from).take(part);
            ends.sum::<f64>() / part as f64
        };
        match part {
            0 => self.ends.last().copied().unwrap_or(0.0) / self.ends.len().max(1) as f64,
            _ => (mean(3 * part) - mean(part)) / (2 * part) as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(runs: Vec<TimedRun>, accesses: Vec<TimedAccess>, simdgroups: usize) -> Workload {
        let path = (0..runs.len() as u32).map(|run| PathRun {
            run,
            place: run,
            work: 1.0,
            latency: 1.0,
        });
        Workload {
            paths: vec![path.collect()],
            runs,
            accesses,
            groups: vec![vec![0; simdgroups]],
            sequence: vec![0],
            residency: Residency {
                groups: 1,
                by_memory: 1,
                simdgroups: simdgroups as u32,
            },
            schedulers: 4,
            ..Workload::default()
        }
    }

    fn run(issue: f64, stop: TimedStop) -> TimedRun {
        TimedRun {
            issue,
            alone: issue,
            stop,
            ..TimedRun::default()
        }
    }

    #[test]
    fn simdgroups_of_one_scheduler_take_turns() {
        let runs = || vec![run(100.0, TimedStop::None)];
        assert_eq!(replay(&work(runs(), Vec::new(), 4)).ends, [100.0]);
        assert_eq!(replay(&work(runs(), Vec::new(), 8)).ends, [200.0]);
    }

    #[test]
    fn loads_in_flight_together_share_their_latency() {
        let access = TimedAccess {
            load_store: 1.0,
            latency: 300.0,
            ..TimedAccess::default()
        };
        let load = || run(1.0, TimedStop::Access(0, 0));
        let wait = || run(1.0, TimedStop::Wait(0));
        let together = replay(&work(vec![load(), load(), wait()], vec![access], 1));
        let apart = replay(&work(vec![load(), wait(), load(), wait()], vec![access], 1));
        assert!(together.ends[0] < 310.0, "{:?}", together.ends);
        assert!(apart.ends[0] > 600.0, "{:?}", apart.ends);
    }

    #[test]
    fn phases_between_barriers_do_not_overlap() {
        let access = TimedAccess {
            local: true,
            threadgroup: 100.0,
            posted: true,
            ..TimedAccess::default()
        };
        let phases = vec![
            run(1.0, TimedStop::Access(0, 0)),
            run(1.0, TimedStop::Barrier),
            run(100.0, TimedStop::None),
        ];
        let mut work = work(phases, vec![access], 4);
        work.barrier = 30.0;
        let replayed = replay(&work);
        assert!(replayed.held[Reason::Barrier as usize] >= 120.0);
        assert_eq!(replayed.ends.len(), 1);
    }

    #[test]
    fn many_threadgroups_follow_at_the_rate_of_those_simulated() {
        let mut work = work(vec![run(100.0, TimedStop::None)], Vec::new(), 4);
        work.sequence = vec![0; 6];
        work.residency = Residency {
            groups: 2,
            by_memory: 2,
            simdgroups: 8,
        };
        let replayed = replay(&work);
        assert_eq!(replayed.end_of(6), 600.0);
        assert_eq!(replayed.end_of(1000), 100_000.0);
    }
}
