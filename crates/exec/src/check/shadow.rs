//! The records of all memory, and the comparison of accesses with them.

use super::race::Asker;
use super::record::{Atomics, Mark, Record};
use super::{Checker, ReportKind, Space};
use crate::code::{Cell, Op, Padding, Program};
use crate::dispatch::Job;
use crate::interpret::observer::AccessEvent;
use crate::lanes::lanes_of;
use crate::memory::{Action, OFFSET_BITS, OFFSET_MASK, Place, Region, THREAD, THREADGROUP};
use crate::texture::{Resource, What};

/// Records of all writable memory.
#[derive(Debug)]
pub(super) struct Shadow {
    /// Bytes of a record's piece of memory, as a power of two.
    shift: u32,
    /// By region.
    shared: Vec<Records>,
    threadgroup: Records,
    /// Which pieces of thread memory were written: by simdgroup, then by piece, a bit for each lane.
    threads: Vec<Vec<u32>>,
}

/// The records of one region.
#[derive(Debug, Default)]
struct Records {
    pieces: Vec<Record>,
    /// As many, in a program that has atomic operations.
    atomics: Vec<Atomics>,
}

impl Records {
    fn new(pieces: usize, atomics: bool) -> Self {
        let with_atomics = if atomics { pieces } else { 0 };
        Self {
            pieces: vec![Record::default(); pieces],
            atomics: vec![Atomics::default(); with_atomics],
        }
    }

    /// Bytes for each piece.
    fn size(atomics: bool) -> u64 {
        let with_atomics = if atomics { size_of::<Atomics>() } else { 0 };
        (size_of::<Record>() + with_atomics) as u64
    }
}

/// Returns true if a program has atomic operations.
fn has_atomics(program: &Program) -> bool {
    let texture_atomic = |index: u32| {
        let op = program.textures.get(index as usize);
        op.is_some_and(|op| op.what == What::Atomic)
    };
    let atomic = |op: &Op| match op {
        Op::Atomic { .. } | Op::CompareExchange { .. } => true,
        Op::Texture { index } => texture_atomic(*index),
        _ => false,
    };
    program.transfers.iter().any(|t| t.atomic) || program.ops.iter().any(atomic)
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
        let size = Records::size(has_atomics(job.program));
        let records = pieces(bytes, granule).saturating_mul(size);
        records.saturating_add(pieces(frames, granule).saturating_mul(4))
    }

    pub(super) fn new(job: &Job<'_>, granule: u32) -> Self {
        let atomics = has_atomics(job.program);
        let records = |bytes: u64| Records::new(pieces(bytes, granule) as usize, atomics);
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
            for record in self.threadgroup.pieces.get_mut(pieces).unwrap_or_default() {
                record.writer = Mark::new(time, usize::MAX, 0);
            }
        }
    }
}

impl Checker<'_> {
    /// Compares an access with the records; gives the lanes that may go on.
    pub(super) fn check_access(&mut self, event: &AccessEvent<'_>) -> u32 {
        if event.size == 0 || event.mask == 0 {
            return event.mask;
        }
        let (mut first, mut last, mut bits) = (!0, 0, 0);
        for lane in lanes_of(event.mask) {
            let address = event.address(lane);
            first = first.min(address);
            last = last.max(address);
            bits |= address;
        }
        let mut aligned = event.mask;
        if bits & (u64::from(event.align) - 1) != 0 {
            self.misaligned(event);
            // Nothing says what an atomic operation does there.
            if event.action == Action::Atomic {
                let right = |lane: &usize| event.address(*lane) & (u64::from(event.align) - 1) == 0;
                let lanes = lanes_of(event.mask).filter(right);
                aligned = lanes.fold(0, |mask, lane| mask | 1 << lane);
            }
        }
        let memory = &event.context.memory;
        let together = memory
            .check_range(first, last, event.size, event.action)
            .is_some();
        let mut allowed = event.mask;
        let number = first >> OFFSET_BITS;
        let one_region = number == last >> OFFSET_BITS;
        if one_region && self.objects(number).is_some() {
            allowed = self.in_objects(event, number);
        } else if !together {
            for lane in lanes_of(event.mask) {
                let place = memory.place(event.address(lane), event.size, lane, event.action);
                if place.is_err() {
                    self.report(ReportKind::OutOfBounds, event, lane, None);
                    allowed &= !(1 << lane);
                }
            }
        }
        allowed &= aligned;
        if one_region {
            self.check_region(event, number, allowed);
        } else {
            for lane in lanes_of(allowed) {
                self.check_region(event, event.address(lane) >> OFFSET_BITS, 1 << lane);
            }
        }
        allowed
    }

    /// Reports lanes that access memory of no object. Returns the others.
    fn in_objects(&mut self, event: &AccessEvent<'_>, region: u64) -> u32 {
        let mut allowed = event.mask;
        for lane in lanes_of(event.mask) {
            let address = event.address(lane);
            let memory = &event.context.memory;
            let inside = memory
                .place(address, event.size, lane, event.action)
                .is_ok();
            let objects = self.objects(region);
            let held = objects.is_none_or(|all| all.hold(address & OFFSET_MASK, event.size));
            if !(inside && held) {
                self.report(ReportKind::OutOfBounds, event, lane, None);
                allowed &= !(1 << lane);
            }
        }
        allowed
    }

    #[cold]
    fn misaligned(&mut self, event: &AccessEvent<'_>) {
        let wrong = |lane: &usize| event.address(*lane) & (u64::from(event.align) - 1) != 0;
        if let Some(lane) = lanes_of(event.mask).find(wrong) {
            self.report(ReportKind::Misaligned, event, lane, None);
        }
    }

    /// Lanes that access one region, in bounds.
    fn check_region(&mut self, event: &AccessEvent<'_>, number: u64, mask: u32) {
        match number {
            THREAD => self.check_thread(event, mask),
            THREADGROUP => {
                let mut records = std::mem::take(&mut self.shadow.threadgroup);
                self.check_records(event, mask, &mut records, Space::Threadgroup);
                self.shadow.threadgroup = records;
            }
            _ => {
                let shared = self.shadow.shared.get_mut(number as usize);
                let mut records = shared.map(std::mem::take).unwrap_or_default();
                if !records.pieces.is_empty() {
                    let texture = event.context.memory.is_texture(number);
                    let space = if texture {
                        Space::Texture
                    } else {
                        Space::Device
                    };
                    self.check_records(event, mask, &mut records, space);
                    self.shadow.shared[number as usize] = records;
                }
            }
        }
    }

    fn check_records(
        &mut self,
        event: &AccessEvent<'_>,
        mask: u32,
        records: &mut Records,
        space: Space,
    ) {
        let shift = self.shadow.shift;
        let simdgroup = event.context.grid_position.simdgroup;
        let ordered = self.times.ordered(simdgroup as usize, space);
        let program = self.program;
        let mut asker = Asker {
            program,
            size: event.size,
            met_at_all: self.times.met_at_all(),
            mark: Mark::NONE,
            space,
            started: self.started,
            met: self.times.met(space),
            ordered: ordered.unwrap_or(self.started),
        };
        let (reads, effect) = (event.action == Action::Read, event.effect());
        if effect == Action::Atomic && space == Space::Device {
            self.note_atomic(event, mask);
        }
        let depends =
            reads || effect == Action::Atomic && self.program.reads_memory(event.position);
        let region = event
            .context
            .memory
            .locate(event.address(mask.trailing_zeros() as usize))
            .0;
        let undefined = region.is_some_and(|region| {
            let texels = matches!(
                region.resource,
                Some(Resource::Texture {
                    undefined: true,
                    ..
                })
            );
            region.unwritten || texels
        });
        let fenced = self.fenced.get(simdgroup as usize).copied();
        let fenced = fenced.unwrap_or(0).max(asker.met).max(asker.started);
        let (mut before, mut repeats) = (u64::MAX, 0);
        for lane in lanes_of(mask) {
            let offset = event.address(lane) & OFFSET_MASK;
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
                (offset + u64::from(event.observed_bytes()) - 1) >> shift,
            );
            asker.mark = Mark::new(self.now, event.position, simdgroup * 32 + lane as u32);
            let stored = Stored::by(event, lane);
            let Records { pieces, atomics } = &mut *records;
            let mut none = Atomics::default();
            for piece in start..=end {
                let Some(record) = pieces.get_mut(piece as usize) else {
                    break;
                };
                let atomics = atomics.get_mut(piece as usize).unwrap_or(&mut none);
                let written = asker.is_written(record, *atomics);
                let never = undefined && record.writer.is_none() && atomics.last.is_none();
                if depends && (space == Space::Threadgroup && !written || never) {
                    self.report(ReportKind::Uninitialised, event, lane, None);
                }
                let own = record.writer.thread() == asker.mark.thread();
                if reads && space == Space::Texture && own && record.writer.time() >= fenced {
                    let writer = Some((record.writer, Action::Write));
                    self.report(ReportKind::MissingFence, event, lane, writer);
                }
                let wrong = match effect {
                    Action::Read => asker.read(record, *atomics),
                    Action::Atomic if reads => asker.read_atomic(record),
                    Action::Atomic => asker.write_atomic(record, atomics),
                    Action::Write => {
                        // Memory that was never written is not known to be the same.
                        let unknown = space == Space::Threadgroup && !written;
                        let bytes = (piece << shift, (piece + 1) << shift);
                        let changes = unknown || stored.changes(bytes, record.writer, asker.mark);
                        asker.write(record, *atomics, changes)
                    }
                };
                if let Some((kind, mark, action)) = wrong {
                    if kind == ReportKind::GroupRace && self.is_acquired(mark, asker.mark.thread())
                    {
                        continue;
                    }
                    self.report(kind, event, lane, Some((mark, action)));
                }
            }
        }
    }

    /// Thread memory: only what was never written matters.
    fn check_thread(&mut self, event: &AccessEvent<'_>, mask: u32) {
        let shift = self.shadow.shift;
        let simdgroup = event.context.grid_position.simdgroup as usize;
        for lane in lanes_of(mask) {
            let offset = event.address(lane) & OFFSET_MASK;
            let (start, end) = (
                offset >> shift,
                (offset + u64::from(event.observed_bytes()) - 1) >> shift,
            );
            let frame = self.shadow.threads.get_mut(simdgroup);
            let Some(pieces) = frame.and_then(|f| f.get_mut(start as usize..=end as usize)) else {
                continue;
            };
            if event.action == Action::Read {
                let missing = pieces.iter().any(|written| written >> lane & 1 == 0);
                if missing {
                    self.report(ReportKind::Uninitialised, event, lane, None);
                }
            } else {
                pieces.iter_mut().for_each(|written| *written |= 1 << lane);
            }
        }
    }
}

/// What a lane stores, and where.
struct Stored<'a> {
    event: &'a AccessEvent<'a>,
    lane: usize,
    /// Where it goes, if the values are in registers.
    place: Option<Place<'a>>,
}

impl<'a> Stored<'a> {
    fn by(event: &'a AccessEvent<'a>, lane: usize) -> Self {
        let known = event.action == Action::Write && !event.regs.is_empty();
        let place = || {
            let memory = &event.context.memory;
            let place = memory.place(event.address(lane), event.size, lane, event.action);
            place.ok()
        };
        Self {
            event,
            lane,
            place: known.then(place).flatten(),
        }
    }

    /// Returns true if the store gives a range of the region's bytes other values than they have, or than a lane before gives them
    /// in the same operation. One whose values are not in registers is taken to.
    fn changes(&self, (start, end): (u64, u64), writer: Mark, own: Mark) -> bool {
        let (event, lane) = (self.event, self.lane);
        let Some(place) = self.place else {
            return true;
        };
        let offset = event.address(lane) & OFFSET_MASK;
        let (start, end) = (start.max(offset), end.min(offset + u64::from(event.size)));
        let before = writer.thread() as usize % 32;
        let same_access = writer.time() == own.time()
            && writer.position() == own.position()
            && writer.simdgroup() == own.simdgroup()
            && before < lane
            && event.mask >> before & 1 != 0;
        let of_before = event.address(before) & OFFSET_MASK;
        let covered = of_before <= start && end <= of_before + u64::from(event.size);
        (start..end).any(|byte| {
            let there = match same_access && covered {
                true => self.byte(before, byte - of_before),
                false => Some(place.at((byte - offset) as u32).read(Cell::Byte) as u8),
            };
            there != self.byte(lane, byte - offset)
        })
    }

    /// A byte a lane stores.
    fn byte(&self, lane: usize, at: u64) -> Option<u8> {
        let size = u64::from(self.event.cell.bytes());
        let reg = *self.event.regs.get((at / size) as usize)?;
        let number = self.event.batch.get(reg, lane);
        let number = match self.event.cell {
            Cell::Truth => number & 1,
            _ => number,
        };
        Some((number >> (at % size * 8)) as u8)
    }
}
