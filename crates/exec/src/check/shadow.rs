//! The records of all memory, and the comparison of accesses with them.

use super::mark::{Mark, Record};
use super::{Asker, Checker, ReportKind, Space, Wrong};
use crate::code::Padding;
use crate::dispatch::Job;
use crate::interpret::watch::Seen;
use crate::lanes::lanes_of;
use crate::memory::{Action, OFFSET_BITS, OFFSET_MASK, Region, THREAD, THREADGROUP};

/// Records of all writable memory.
#[derive(Debug)]
pub(super) struct Shadow {
    /// Bytes of a record's piece of memory, as a power of two.
    shift: u32,
    /// By region.
    shared: Vec<Vec<Record>>,
    threadgroup: Vec<Record>,
    /// Which pieces of thread memory were written: by simdgroup, then by piece, a bit for each lane.
    threads: Vec<Vec<u32>>,
}

fn pieces(bytes: u64, granule: u32) -> u64 {
    bytes.div_ceil(granule.into())
}

fn watched(region: &Region) -> u64 {
    if region.writable { region.len } else { 0 }
}

impl Shadow {
    /// Bytes of memory the records of a job take.
    pub(super) fn memory(job: &Job<'_>, granule: u32) -> u64 {
        let shared = job.regions.iter().map(watched);
        let bytes = shared
            .chain([u64::from(job.threadgroup_bytes)])
            .fold(0u64, u64::saturating_add);
        let frames = u64::from(job.program.frame) * job.simdgroups();
        let records = pieces(bytes, granule).saturating_mul(size_of::<Record>() as u64);
        records.saturating_add(pieces(frames, granule).saturating_mul(4))
    }

    pub(super) fn new(job: &Job<'_>, granule: u32) -> Self {
        let records = |bytes: u64| vec![Record::default(); pieces(bytes, granule) as usize];
        let frame = pieces(job.program.frame.into(), granule) as usize;
        Self {
            shift: granule.trailing_zeros(),
            shared: job.regions.iter().map(|r| records(watched(r))).collect(),
            threadgroup: records(job.threadgroup_bytes.into()),
            threads: vec![vec![0; frame]; job.simdgroups() as usize],
        }
    }

    /// Forgets what threads wrote to their own memory. What they did to the threadgroup's is too old by itself. Padding
    /// counts as written.
    pub(super) fn start(&mut self, padding: &Padding, time: u32) {
        for frame in &mut self.threads {
            frame.fill(0);
            for pieces in Padding::pieces(&padding.thread, self.shift) {
                frame.get_mut(pieces).unwrap_or_default().fill(!0);
            }
        }
        for pieces in Padding::pieces(&padding.threadgroup, self.shift) {
            for record in self.threadgroup.get_mut(pieces).unwrap_or_default() {
                record.writer = Mark::new(time, usize::MAX, 0);
            }
        }
    }
}

impl Checker<'_> {
    /// Compares an access with the records; gives the lanes that may go on.
    pub(super) fn check_access(&mut self, seen: &Seen<'_>) -> u32 {
        if seen.size == 0 || seen.mask == 0 {
            return seen.mask;
        }
        let (mut first, mut last, mut bits) = (!0, 0, 0);
        for lane in lanes_of(seen.mask) {
            let address = seen.address(lane);
            first = first.min(address);
            last = last.max(address);
            bits |= address;
        }
        if bits & (u64::from(seen.align) - 1) != 0 {
            self.misaligned(seen);
        }
        let memory = &seen.around.memory;
        let together = memory
            .stretch(first, last, seen.size, seen.action)
            .is_some();
        let mut allowed = seen.mask;
        if !together {
            for lane in lanes_of(seen.mask) {
                let place = memory.place(seen.address(lane), seen.size, lane, seen.action);
                if place.is_err() {
                    self.report(ReportKind::OutOfBounds, seen, lane, None);
                    allowed &= !(1 << lane);
                }
            }
        }
        let number = first >> OFFSET_BITS;
        let one_region = number == last >> OFFSET_BITS;
        if one_region {
            self.check_region(seen, number, allowed);
        } else {
            for lane in lanes_of(allowed) {
                self.check_region(seen, seen.address(lane) >> OFFSET_BITS, 1 << lane);
            }
        }
        allowed
    }

    #[cold]
    fn misaligned(&mut self, seen: &Seen<'_>) {
        let wrong = |lane: &usize| seen.address(*lane) & (u64::from(seen.align) - 1) != 0;
        if let Some(lane) = lanes_of(seen.mask).find(wrong) {
            self.report(ReportKind::Misaligned, seen, lane, None);
        }
    }

    /// Lanes that access one region, in bounds.
    fn check_region(&mut self, seen: &Seen<'_>, number: u64, mask: u32) {
        match number {
            THREAD => self.check_thread(seen, mask),
            THREADGROUP => {
                let mut records = std::mem::take(&mut self.shadow.threadgroup);
                self.check_records(seen, mask, &mut records, Space::Threadgroup);
                self.shadow.threadgroup = records;
            }
            _ => {
                let shared = self.shadow.shared.get_mut(number as usize);
                let mut records = shared.map(std::mem::take).unwrap_or_default();
                if !records.is_empty() {
                    self.check_records(seen, mask, &mut records, Space::Device);
                    self.shadow.shared[number as usize] = records;
                }
            }
        }
    }

    fn check_records(&mut self, seen: &Seen<'_>, mask: u32, records: &mut [Record], space: Space) {
        let shift = self.shadow.shift;
        let simdgroup = seen.around.standpoint.simdgroup;
        let ordered = self.times.ordered(simdgroup as usize, space);
        let mut asker = Asker {
            mark: Mark::NONE,
            space,
            started: self.started,
            met: self.times.met(space),
            ordered: ordered.unwrap_or(self.started),
        };
        let (reads, effect) = (seen.action == Action::Read, seen.effect());
        let (mut before, mut repeats) = (u64::MAX, 0);
        for lane in lanes_of(mask) {
            let offset = seen.address(lane) & OFFSET_MASK;
            // Of lanes that read the same, the first two say it all.
            repeats = if effect == Action::Read && offset == before {
                repeats + 1
            } else {
                0
            };
            if repeats >= 2 {
                continue;
            }
            before = offset;
            let (start, end) = (
                offset >> shift,
                (offset + u64::from(seen.size) - 1) >> shift,
            );
            asker.mark = Mark::new(self.now, seen.position, simdgroup * 32 + lane as u32);
            let pieces = records.get_mut(start as usize..=end as usize);
            for record in pieces.unwrap_or_default() {
                let written = record.writer.time() >= self.started;
                if reads && space == Space::Threadgroup && !written {
                    self.report(ReportKind::Uninitialised, seen, lane, None);
                }
                let wrong: Wrong = match effect {
                    Action::Read => asker.read(record),
                    Action::Write => {
                        let changes = changes(seen, lane, record.writer, asker.mark);
                        asker.write(record, changes, false)
                    }
                    Action::Atomic => asker.write(record, true, true),
                };
                if let Some((kind, mark, action)) = wrong {
                    self.report(kind, seen, lane, Some((mark, action)));
                }
            }
        }
    }

    /// Thread memory: only what was never written matters.
    fn check_thread(&mut self, seen: &Seen<'_>, mask: u32) {
        let shift = self.shadow.shift;
        let simdgroup = seen.around.standpoint.simdgroup as usize;
        for lane in lanes_of(mask) {
            let offset = seen.address(lane) & OFFSET_MASK;
            let (start, end) = (
                offset >> shift,
                (offset + u64::from(seen.size) - 1) >> shift,
            );
            let frame = self.shadow.threads.get_mut(simdgroup);
            let Some(pieces) = frame.and_then(|f| f.get_mut(start as usize..=end as usize)) else {
                continue;
            };
            if seen.action == Action::Read {
                let missing = pieces.iter().any(|written| written >> lane & 1 == 0);
                if missing {
                    self.report(ReportKind::Uninitialised, seen, lane, None);
                }
            } else {
                pieces.iter_mut().for_each(|written| *written |= 1 << lane);
            }
        }
    }
}

/// Whether a store gives the memory another value than it has, or than a lane before gives it in the same operation. One
/// whose values are not in registers is taken to.
fn changes(seen: &Seen<'_>, lane: usize, writer: Mark, own: Mark) -> bool {
    let address = seen.address(lane);
    if seen.regs.is_empty() {
        return true;
    }
    let before = writer.thread() as usize % 32;
    let same_access = writer.time() == own.time()
        && writer.position() == own.position()
        && writer.simdgroup() == own.simdgroup()
        && before < lane
        && seen.mask >> before & 1 != 0
        && seen.address(before) == address;
    if same_access {
        let differs = |&reg| seen.group.get(reg, before) != seen.group.get(reg, lane);
        return seen.regs.iter().any(differs);
    }
    let memory = &seen.around.memory;
    let Ok(mut place) = memory.place(address, seen.size, lane, seen.action) else {
        return true;
    };
    seen.regs.iter().any(|&reg| {
        let differs = place.read(seen.cell) != seen.group.get(reg, lane);
        place = place.at(seen.cell.bytes());
        differs
    })
}
