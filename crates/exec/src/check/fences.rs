//! What fences and atomic operations order between threadgroups.
//!
//! Metal's atomic operations are relaxed: they order nothing but themselves. A fence (`atomic_thread_fence`) before an atomic
//! write *releases* what its thread did before; a fence after an atomic read of the same object *acquires* what was
//! released there (Metal Shading Language Specification, "Fence Functions", which takes the rules of C++ 17, 32.9 [atomics.fences]).
//! So the last threadgroup to count itself may read what all others have left: each stores, fences, counts; the last
//! counts, fences, reads. Between the threads of one threadgroup a barrier carries both on.
//!
//! Threadgroups are run one after the other, so what was released to an object when another threadgroup reads it was
//! released before, in this order of the atomic operations.

use super::record::Mark;
use super::{Checker, MEM_DEVICE, Space};
use crate::interpret::Batch;
use crate::interpret::observer::AccessEvent;
use crate::lanes::lanes_of;
use crate::memory::Action;
use std::collections::HashMap;

/// The bit of [`Op::Order`](crate::code::Op::Order)'s flags that says that it is a fence, which orders no lanes.
pub(crate) const FENCE: u8 = 0x80;

/// Most objects and releases that are remembered.
const MOST: usize = 1 << 22;

/// What one threadgroup released to an object.
#[derive(Clone, Copy, Debug)]
struct Release {
    /// The number of the threadgroup, in the order in which they started.
    group: u32,
    /// The thread, and when it fenced: what it did before is released.
    thread: u32,
    fenced: u32,
    /// When the threadgroup last met before that: what any of its threads did before is released.
    met: u32,
}

/// An object whose releases the threadgroup acquired.
#[derive(Clone, Copy, Debug)]
struct Acquire {
    object: u64,
    thread: u32,
    time: u32,
}

/// Fences of all threadgroups so far.
#[derive(Debug, Default)]
pub(super) struct Fences {
    /// By the address of an object; in the order of threadgroups.
    released: HashMap<u64, Vec<Release>>,
    count: usize,
    /// The last fence of each thread of the threadgroup that runs, and when it had met then.
    last: HashMap<u32, (u32, u32)>,
    /// Objects it has read atomically since: object, thread, when.
    read: Vec<Acquire>,
    acquired: Vec<Acquire>,
}

impl Fences {
    pub(super) fn start(&mut self) {
        self.last.clear();
        self.read.clear();
        self.acquired.clear();
    }

    /// A thread accesses an object atomically.
    pub(super) fn access(
        &mut self,
        object: u64,
        thread: u32,
        now: u32,
        group: u32,
        writes: bool,
        reads: bool,
    ) {
        if reads && self.read.len() < MOST {
            let known = self.read.last();
            if known.is_none_or(|last| (last.object, last.thread) != (object, thread)) {
                self.read.push(Acquire {
                    object,
                    thread,
                    time: now,
                });
            }
        }
        let Some(&(fenced, met)) = self.last.get(&thread) else {
            return;
        };
        if writes && self.count < MOST {
            self.count += 1;
            self.released.entry(object).or_default().push(Release {
                group,
                thread,
                fenced,
                met,
            });
        }
    }

    /// A thread fences; `met`: when the threadgroup last met at a barrier of device memory, and at any.
    fn fence(&mut self, thread: u32, now: u32, met: (u32, u32)) {
        self.last.insert(thread, (now, met.0));
        let own = |read: &&Acquire| read.thread == thread || read.time < met.1;
        let acquired = self.read.iter().filter(own);
        let acquired = acquired.map(|read| Acquire {
            thread,
            time: now,
            ..*read
        });
        let acquired: Vec<Acquire> = acquired.collect();
        for one in acquired {
            let known = |other: &Acquire| other.object == one.object && other.thread == thread;
            if !self.acquired.iter().any(known) && self.acquired.len() < MOST {
                self.acquired.push(one);
            }
        }
    }

    /// Returns true if an access by a thread of an earlier threadgroup is ordered before one of this thread.
    fn order(&self, of: Mark, group: u32, thread: u32, met: u32) -> bool {
        self.acquired
            .iter()
            .filter(|acquire| acquire.thread == thread || acquire.time < met)
            .filter_map(|acquire| self.released.get(&acquire.object))
            .any(|releases| {
                let first = releases.partition_point(|release| release.group < group);
                let own = releases.iter().skip(first);
                own.take_while(|release| release.group == group)
                    .any(|release| {
                        of.time() < release.met
                            || of.thread() == release.thread && of.time() < release.fenced
                    })
            })
    }
}

impl Checker<'_> {
    /// The number of the threadgroup of a mark, in the order in which they started.
    fn group_of(&self, mark: Mark) -> u32 {
        let started = self.starts.partition_point(|&start| start <= mark.time());
        started as u32
    }

    /// Lanes of the running simdgroups fence.
    pub(super) fn on_fence(&mut self, batch: &Batch, flags: u8) {
        if flags & MEM_DEVICE == 0 {
            return;
        }
        let now = self.tick();
        let met = (self.times.met(Space::Device), self.times.met_at_all());
        for at in batch.running() {
            let first = (batch.first_simdgroup + at) as u32 * 32;
            for lane in lanes_of(batch.mask_of(at)) {
                self.fences.fence(first + lane as u32, now, met);
            }
        }
    }

    /// Lanes access device memory atomically.
    pub(super) fn note_atomic(&mut self, event: &AccessEvent<'_>, mask: u32) {
        let first = event.context.grid_position.simdgroup * 32;
        let group = self.starts.len() as u32;
        let writes = event.action != Action::Read;
        let reads = event.action != Action::Write;
        for lane in lanes_of(mask) {
            let (object, thread) = (event.address(lane), first + lane as u32);
            self.fences
                .access(object, thread, self.now, group, writes, reads);
        }
    }

    /// Returns true if fences order an access of another threadgroup before one of a thread of this one.
    pub(super) fn is_acquired(&self, other: Mark, thread: u32) -> bool {
        let (group, met) = (self.group_of(other), self.times.met_at_all());
        self.fences.order(other, group, thread, met)
    }
}
