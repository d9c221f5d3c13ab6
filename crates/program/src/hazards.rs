//! What dispatches read and write, and what of their order memory asks for.
//!
//! A buffer counts from the bound offset to its end, by its address, and what is not known to be only read counts as written: an
//! order that this calls needless is needless.

use crate::kernels::Kernels;
use crate::recorded::{Dispatched, Given, Recorded, Step};
use crate::simulate::{Run, SlotKind};
use assay_recording::EncoderKind;
use assay_trace::document::{NeedlessWaits, Overwritten};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A range of addresses, and whether it is read and written.
#[derive(Clone, Copy, Debug)]
struct Touched {
    place: (u64, u64),
    range: [u64; 2],
    reads: bool,
    writes: bool,
}

fn touched(recorded: &Recorded, kernels: &Kernels, dispatch: &Dispatched) -> Vec<Touched> {
    let Some(launch) = recorded.launches.get(dispatch.launch as usize) else {
        return Vec::new();
    };
    let executed = kernels.of(dispatch.launch);
    let access = |index: u32| {
        let known =
            executed.and_then(|one| one.accesses.iter().find(|(known, ..)| *known == index));
        known.map_or((true, true), |&(_, reads, writes)| (reads, writes))
    };
    let places = launch.arguments.iter().filter_map(|(index, given)| {
        let Given::Buffer(place) = given else {
            return None;
        };
        let place = *dispatch.bound.get(*place as usize)?;
        let (reads, writes) = access(*index);
        Some(Touched {
            place,
            range: range(recorded, place),
            reads,
            writes,
        })
    });
    places.collect()
}

fn range(recorded: &Recorded, (buffer, offset): (u64, u64)) -> [u64; 2] {
    let buffer = recorded.buffers.get(&buffer);
    buffer.map_or([0, u64::MAX], |buffer| {
        let start = buffer.address.saturating_add(offset);
        [
            start,
            buffer.address.saturating_add(buffer.bytes).max(start),
        ]
    })
}

fn conflict(one: &[Touched], other: &[Touched]) -> bool {
    one.iter().any(|a| {
        other
            .iter()
            .any(|b| (a.writes || b.writes) && a.range[0] < b.range[1] && b.range[0] < a.range[1])
    })
}

/// Members of a group of dispatches that are compared at most: beyond that an order counts as needed.
const MOST: usize = 64;

/// Dispatches that nothing orders among themselves.
#[derive(Default)]
struct Group {
    touched: Vec<Touched>,
    members: usize,
    /// The step of the first, which has the gap before the group.
    first: u32,
}

impl Group {
    fn add(&mut self, step: u32, touched: Vec<Touched>) {
        if self.members == 0 {
            self.first = step;
        }
        self.members += 1;
        self.touched.extend(touched);
    }

    /// Returns true if it need not have waited for the group before it.
    fn is_independent_of(&self, before: &Group) -> bool {
        let few = |group: &Group| (1..=MOST).contains(&group.members);
        few(self) && few(before) && !conflict(&before.touched, &self.touched)
    }
}

/// Orders between dispatches that memory does not ask for.
pub(crate) fn needless(recorded: &Recorded, kernels: &Kernels, run: &Run) -> NeedlessWaits {
    let gaps = run.slots.iter().map(|slot| (slot.step, slot.gap_us));
    let gaps: FxHashMap<u32, f64> = gaps.collect();
    let mut found = NeedlessWaits {
        barriers: 0,
        serial: 0,
        gaps_ms: 0.0,
    };
    let mut concurrent = false;
    let (mut before, mut group) = (Group::default(), Group::default());
    let mut close = |before: &Group, group: &Group, concurrent: bool| {
        if group.is_independent_of(before) {
            let count = if concurrent {
                &mut found.barriers
            } else {
                &mut found.serial
            };
            *count += 1;
            found.gaps_ms += gaps.get(&group.first).copied().unwrap_or(0.0) / 1e3;
        }
    };
    for (at, step) in recorded.steps.iter().enumerate() {
        let ends = match step {
            Step::Dispatch(dispatch) => {
                group.add(at as u32, touched(recorded, kernels, dispatch));
                !concurrent
            }
            Step::Barrier(_) => concurrent,
            Step::Encoder(_) | Step::CommandBuffer(_) => true,
            _ => false,
        };
        if ends {
            close(&before, &group, concurrent);
            before = std::mem::take(&mut group);
        }
        if let Step::Encoder(encoder) = step {
            concurrent = encoder.kind == EncoderKind::Concurrent;
            before = Group::default();
        }
    }
    close(&before, &group, concurrent);
    found
}

/// Results that were written again before anything read them.
pub(crate) fn overwritten(recorded: &Recorded, kernels: &Kernels, run: &Run) -> Overwritten {
    let times: FxHashMap<u32, f64> = run
        .slots
        .iter()
        .filter(|slot| matches!(slot.kind, SlotKind::Dispatch(_)))
        .map(|slot| (slot.step, slot.end_us - slot.start_us))
        .collect();
    // Places whose last write nothing has read: who wrote, and how many of its places wait to be read or overwritten.
    let mut pending: FxHashMap<(u64, u64), (u32, [u64; 2])> = FxHashMap::default();
    let mut waiting: FxHashMap<u32, u32> = FxHashMap::default();
    let mut found = Overwritten {
        writes: 0,
        ms: 0.0,
        kernel: None,
    };
    let mut by_kernel: BTreeMap<std::sync::Arc<str>, u64> = BTreeMap::new();
    for (at, step) in recorded.steps.iter().enumerate() {
        let at = at as u32;
        let all = match step {
            Step::Dispatch(dispatch) => touched(recorded, kernels, dispatch),
            Step::Copy {
                from: Some(from), ..
            } => vec![Touched {
                place: (*from, 0),
                range: range(recorded, (*from, 0)),
                reads: true,
                writes: false,
            }],
            Step::Waited(_) => {
                pending.clear();
                waiting.clear();
                continue;
            }
            _ => continue,
        };
        for one in all.iter().filter(|one| one.reads) {
            pending.retain(|_, (writer, range)| {
                let read = range[0] < one.range[1] && one.range[0] < range[1];
                if read {
                    waiting.remove(writer);
                }
                !read
            });
        }
        let writes = all.iter().filter(|one| one.writes && !one.reads);
        let writes: Vec<&Touched> = writes.collect();
        for one in &writes {
            let Some((writer, _)) = pending.insert(one.place, (at, one.range)) else {
                continue;
            };
            let Some(left) = waiting.get_mut(&writer) else {
                continue;
            };
            *left -= 1;
            if *left == 0
                && let Some(Step::Dispatch(dispatch)) = recorded.steps.get(writer as usize)
            {
                found.writes += 1;
                found.ms += times.get(&writer).copied().unwrap_or(0.0) / 1e3;
                *by_kernel
                    .entry(recorded.kernel(dispatch.launch))
                    .or_default() += 1;
            }
        }
        // What also writes where it reads may hand on what it computed there.
        if !writes.is_empty() && !all.iter().any(|one| one.writes && one.reads) {
            waiting.insert(at, writes.len() as u32);
        }
        if pending.len() > 4096 {
            pending.clear();
            waiting.clear();
        }
    }
    let most = by_kernel.into_iter().max_by_key(|(_, count)| *count);
    found.kernel = most.map(|(kernel, _)| kernel.to_string());
    found
}
