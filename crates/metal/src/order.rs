//! What orders the work of encoders, and pairs of dispatches that nothing orders although they touch the same bytes.
//!
//! An encoder's work is a pass. Passes are numbered as they run, and each knows what is sure to be before it:
//!
//! - what the program had seen complete when it committed: by `waitUntilCompleted`, a status, a handler, a value of an event;
//! - what its queue waited for by events, and what fences the encoder waited for, with all that was before those;
//! - of the same queue, all passes as far as tracked resources are concerned: Metal orders them by itself.
//!
//! Dispatches of one concurrent encoder are ordered by its barriers alone. That they happen to run in some order here says nothing: only
//! the order that the program asked for counts, so the same program has the same reports every time.
//!
//! Known limits: of each queue the passes that may still be unordered are kept, at most [`PASSES`] of them and [`MEMORY`] bytes; a fence
//! counts for its whole encoder; accesses of the program itself are not seen.

use crate::command::Origin;
use crate::queue::QUEUES;
use crate::resource::lock;
use assay_exec::Footprint;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, LazyLock, Mutex};

/// Most passes that are looked back to.
const PASSES: u64 = 1024;
/// Most bytes of footprints that are kept.
const MEMORY: usize = 256 << 20;
/// Most values of an event that are remembered.
const VALUES: usize = 64;

/// By queue the number of a pass: it and all before it in that queue.
pub(crate) type Clock = BTreeMap<u64, u64>;

fn join(clock: &mut Clock, other: &Clock) {
    for (queue, number) in other {
        let own = clock.entry(*queue).or_default();
        *own = (*own).max(*number);
    }
}

/// Passes that are before something.
#[derive(Clone, Debug, Default)]
pub(crate) struct Before {
    clock: Clock,
    /// Single passes, by fences.
    passes: BTreeSet<u64>,
}

impl Before {
    fn join(&mut self, other: &Self) {
        join(&mut self.clock, &other.clock);
        self.passes.extend(&other.passes);
    }

    fn has(&self, queue: u64, number: u64) -> bool {
        self.clock.get(&queue).is_some_and(|last| *last >= number) || self.passes.contains(&number)
    }
}

/// Work that ran: a dispatch, or a command of a blit encoder.
#[derive(Debug)]
struct Past {
    queue: u64,
    pass: u64,
    all: Footprint,
    /// The part in resources that Metal does not track; nothing if that is all.
    untracked: Option<Footprint>,
    origin: Arc<Origin>,
}

/// What a dispatch did, to be compared with what was before.
pub(crate) struct Work {
    pub(crate) all: Footprint,
    /// The part in resources that Metal does not track.
    pub(crate) untracked: Footprint,
    pub(crate) origin: Arc<Origin>,
}

/// A pair without an order.
#[derive(Debug)]
pub(crate) struct Race {
    pub(crate) rule: &'static str,
    pub(crate) first: Arc<Origin>,
    pub(crate) second: Arc<Origin>,
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    pub(crate) actions: [&'static str; 2],
}

#[derive(Debug, Default)]
struct Known {
    last: u64,
    past: VecDeque<Past>,
    size: usize,
    /// What the program has seen complete.
    seen: Clock,
    /// What queues waited for.
    waited: HashMap<u64, Clock>,
    /// The last pass of each queue.
    ran: Clock,
    fences: HashMap<u64, Before>,
    events: HashMap<u64, VecDeque<(u64, Clock)>>,
    /// What was before command buffers that have not ended.
    open: HashMap<usize, Clock>,
}

static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

/// A pass that runs.
#[derive(Debug, Default)]
pub(crate) struct Pass {
    queue: u64,
    number: u64,
    before: Before,
    is_concurrent: bool,
    /// What runs now is concurrent although the pass is not.
    overlaps: bool,
    /// What ran in it since the last barrier, if it is concurrent.
    window: Vec<Past>,
}

/// A command buffer is committed: what is before it by what the program has seen.
pub(crate) fn committed(buffer: usize) -> Clock {
    let mut known = lock(&KNOWN);
    let seen = known.seen.clone();
    known.open.insert(buffer, seen.clone());
    seen
}

/// A command buffer has ended.
pub(crate) fn ended(buffer: usize) {
    let mut known = lock(&KNOWN);
    known.open.remove(&buffer);
    // What is before all that will run needs no comparison any more.
    let known = &mut *known;
    let (open, seen) = (&known.open, &known.seen);
    let is_settled = |past: &Past| {
        let has = |clock: &Clock| {
            clock
                .get(&past.queue)
                .is_some_and(|last| *last >= past.pass)
        };
        has(seen) && open.values().all(has)
    };
    known.past.retain(|past| !is_settled(past));
    known.size = known.past.iter().map(Past::size).sum();
}

/// The program saw all passes of a queue up to this one complete.
pub(crate) fn saw(queue: u64, number: u64) {
    join(&mut lock(&KNOWN).seen, &Clock::from([(queue, number)]));
}

/// The program saw a value of an event.
pub(crate) fn saw_event(event: u64, value: u64) {
    let mut known = lock(&KNOWN);
    let values = known.events.get(&event).into_iter().flatten();
    let mut clock = Clock::new();
    for (_, reached) in values.filter(|(signalled, _)| *signalled <= value) {
        join(&mut clock, reached);
    }
    join(&mut known.seen, &clock);
}

/// The program set an event's value.
pub(crate) fn set_event(event: u64, value: u64) {
    let mut known = lock(&KNOWN);
    let seen = known.seen.clone();
    known.signal(event, value, seen);
}

/// An event or a fence is gone.
pub(crate) fn forget_object(object: u64) {
    let mut known = lock(&KNOWN);
    known.events.remove(&object);
    known.fences.remove(&object);
}

/// Memory is given back: what comes to lie there is not what was there.
pub(crate) fn forget_memory(range: Range<u64>) {
    let mut known = lock(&KNOWN);
    for past in &mut known.past {
        past.all.forget(range.clone());
        if let Some(untracked) = &mut past.untracked {
            untracked.forget(range.clone());
        }
    }
}

impl Past {
    fn size(&self) -> usize {
        self.all.size() + self.untracked.as_ref().map_or(0, Footprint::size)
    }
}

impl Known {
    fn signal(&mut self, event: u64, value: u64, clock: Clock) {
        let values = self.events.entry(event).or_default();
        values.push_back((value, clock));
        if values.len() > VALUES {
            values.pop_front();
        }
    }
}

/// The passes of a command buffer, in the order they run.
#[derive(Debug, Default)]
pub(crate) struct Course {
    queue: u64,
    /// What the program had seen at the commit.
    seen: Clock,
    pass: Pass,
}

impl Course {
    pub(crate) fn new(queue: u64, seen: Clock) -> Self {
        Self {
            queue,
            seen,
            ..Self::default()
        }
    }

    /// Returns true if what a dispatch of the pass touches may need an order that is not there: tracked resources of one queue in an
    /// encoder that is not concurrent need none.
    pub(crate) fn is_wanted(&self, has_untracked: impl FnOnce() -> bool) -> bool {
        self.pass.is_concurrent || self.pass.overlaps || QUEUES.load(Relaxed) > 1 || has_untracked()
    }

    /// The number of the last pass that ran.
    pub(crate) fn last(&self) -> u64 {
        self.pass.number
    }

    /// An encoder's work begins.
    pub(crate) fn begin(&mut self, is_concurrent: bool) {
        let mut known = lock(&KNOWN);
        self.finish(&mut known);
        known.last += 1;
        let number = known.last;
        known.ran.insert(self.queue, number);
        let mut clock = self.seen.clone();
        if let Some(waited) = known.waited.get(&self.queue) {
            join(&mut clock, waited);
        }
        let passes = BTreeSet::new();
        self.pass = Pass {
            queue: self.queue,
            number,
            before: Before { clock, passes },
            is_concurrent,
            overlaps: false,
            window: Vec::new(),
        };
    }

    /// Commands of an indirect command buffer begin, which are concurrent, or end.
    pub(crate) fn overlap(&mut self, does: bool) {
        if !self.pass.is_concurrent {
            self.barrier();
        }
        self.pass.overlaps = does;
    }

    /// The command buffer's work ends.
    pub(crate) fn end(&mut self) {
        self.finish(&mut lock(&KNOWN));
    }

    /// Keeps what the pass did, to be compared with other passes.
    fn finish(&mut self, known: &mut Known) {
        self.keep_window(known);
        let oldest = known.last.saturating_sub(PASSES);
        while known
            .past
            .front()
            .is_some_and(|past| known.size > MEMORY || past.pass < oldest)
        {
            if let Some(past) = known.past.pop_front() {
                known.size = known.size.saturating_sub(past.size());
            }
        }
    }

    fn keep_window(&mut self, known: &mut Known) {
        for past in self.pass.window.drain(..) {
            known.size += past.size();
            known.past.push_back(past);
        }
    }

    /// A barrier of the encoder: all before it is ordered with all after it.
    pub(crate) fn barrier(&mut self) {
        let mut known = lock(&KNOWN);
        self.keep_window(&mut known);
    }

    /// A barrier for some memory.
    pub(crate) fn barrier_for(&mut self, ranges: &[Range<u64>]) {
        // What is taken out of the window stays known to other passes.
        let mut known = lock(&KNOWN);
        for past in &mut self.pass.window {
            let mut rest = past.all.clone();
            ranges.iter().for_each(|range| rest.forget(range.clone()));
            let whole = std::mem::replace(&mut past.all, rest);
            let untracked = past.untracked.clone();
            let kept = Past {
                all: whole,
                untracked,
                origin: Arc::clone(&past.origin),
                ..*past
            };
            known.size += kept.size();
            known.past.push_back(kept);
        }
    }

    pub(crate) fn update_fence(&mut self, fence: u64) {
        let mut known = lock(&KNOWN);
        let mut reached = self.pass.before.clone();
        reached.passes.insert(self.pass.number);
        let oldest = known.last.saturating_sub(PASSES);
        let own = known.fences.entry(fence).or_default();
        own.join(&reached);
        own.passes = own.passes.split_off(&oldest);
    }

    pub(crate) fn wait_fence(&mut self, fence: u64) {
        if let Some(reached) = lock(&KNOWN).fences.get(&fence) {
            self.pass.before.join(reached);
        }
    }

    pub(crate) fn signal(&mut self, event: u64, value: u64) {
        let mut known = lock(&KNOWN);
        self.finish(&mut known);
        let mut clock = self.seen.clone();
        if let Some(waited) = known.waited.get(&self.queue) {
            join(&mut clock, waited);
        }
        if let Some(ran) = known.ran.get(&self.queue).copied() {
            join(&mut clock, &Clock::from([(self.queue, ran)]));
        }
        known.signal(event, value, clock);
    }

    /// The queue has waited for an event's value: for the first signal that reached it.
    pub(crate) fn wait(&mut self, event: u64, value: u64) {
        let mut known = lock(&KNOWN);
        let mut values = known.events.get(&event).into_iter().flatten();
        let Some((_, reached)) = values.find(|(signalled, _)| *signalled >= value).cloned() else {
            return;
        };
        join(known.waited.entry(self.queue).or_default(), &reached);
    }

    /// Compares a dispatch with all that nothing orders before it, and keeps it. Gives a race for each other dispatch.
    pub(crate) fn ran(&mut self, work: Work) -> Vec<Race> {
        let mut known = lock(&KNOWN);
        let pass = &mut self.pass;
        let race = |past: &Past, rule, found: Option<(u64, u64, [&'static str; 2])>| {
            let (address, bytes, actions) = found?;
            Some(Race {
                rule,
                first: Arc::clone(&past.origin),
                second: Arc::clone(&work.origin),
                address,
                bytes,
                actions,
            })
        };
        let mut races = Vec::new();
        for past in &pass.window {
            races.extend(race(past, "missing-barrier", past.all.conflict(&work.all)));
        }
        let others = known.past.iter().filter(|past| past.pass != pass.number);
        for past in others.filter(|past| !pass.before.has(past.queue, past.pass)) {
            if past.queue != pass.queue {
                races.extend(race(past, "missing-event", past.all.conflict(&work.all)));
            } else if let Some(untracked) = &past.untracked {
                races.extend(race(
                    past,
                    "missing-fence",
                    untracked.conflict(&work.untracked),
                ));
            }
        }
        let untracked = (!work.untracked.is_empty()).then_some(work.untracked);
        let past = Past {
            queue: pass.queue,
            pass: pass.number,
            all: work.all,
            untracked,
            origin: work.origin,
        };
        if pass.is_concurrent || pass.overlaps {
            pass.window.push(past);
        } else {
            known.size += past.size();
            known.past.push_back(past);
        }
        races
    }
}
