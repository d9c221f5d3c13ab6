//! Records what one threadgroup executes.

use crate::code::{Class, Code};
use crate::execution::{Access, CAPACITIES, Kind, LINE, Space, Step as PathStep};
use crate::fold::{Bodies, Folder};
use crate::observe::{Observed, Observing};
use crate::ranges::Ranges;
use crate::reuse::LruStack;
use crate::schedule::DEVICE_WORDS_IN_FLIGHT;
use crate::shape::Shape;
use assay_emu::{AccessKind, Memory, MemoryAccess, Observer, Step};
use std::collections::BTreeSet;

/// Lanes of a simdgroup.
const LANES: usize = 32;

/// Sums over the executions of one memory instruction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sums {
    pub(crate) executions: u64,
    /// Executions in which a lane takes part.
    pub(crate) taken: u64,
    /// Executions that a compiler which joins neighbouring elements would not have.
    pub(crate) joined: u64,
    pub(crate) lanes: u64,
    pub(crate) bytes: u64,
    pub(crate) lines: u64,
    pub(crate) passes: u64,
    pub(crate) misses: [u64; CAPACITIES],
    pub(crate) space: Space,
    pub(crate) kind: Kind,
    /// Bytes of device memory touched.
    pub(crate) touched: Ranges,
    /// Executions whose addresses were looked at lane by lane.
    pub(crate) shaped: u64,
    /// Bytes of distinct addresses of each of these, summed.
    pub(crate) distinct: u64,
    /// Those whose lanes are at equal distances, and the last such distance.
    pub(crate) regular: u64,
    pub(crate) stride: i64,
}

/// Follows the simdgroups of a threadgroup.
#[derive(Debug)]
pub(crate) struct Recorder<'a> {
    code: &'a Code,
    bodies: Bodies,
    simdgroups: Vec<Followed>,
    /// By instruction.
    sums: Vec<Option<Box<Sums>>>,
    cache: LruStack,
    /// Instructions in which a lane with a thread was inactive.
    divergent: u64,
    instructions: u64,
    lane_instructions: u64,
    flops: u64,
    /// Words of the stack that simdgroups touched.
    stack_rows: BTreeSet<u64>,
    /// By instruction.
    taken: Vec<Taken>,
    observing: Observing,
}

/// How often an instruction was executed, and how often by an active lane.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Taken {
    pub(crate) executed: u64,
    pub(crate) by_a_lane: u64,
}

/// What is known of one simdgroup.
#[derive(Debug, Default)]
struct Followed {
    folder: Folder,
    /// Accesses to device memory of the current block that a later one may continue.
    recent: Vec<Extent>,
    /// The same for threadgroup memory.
    recent_local: Vec<Extent>,
    /// Bytes of device memory that a lane has loaded since others last ran.
    in_flight: u32,
    /// The current block waited for something.
    waited: bool,
    /// The current block, and how many of its turns came before that are issued with this one.
    block: Option<u16>,
    turn: usize,
}

impl Followed {
    /// Nothing that was moved so far can be continued.
    fn forget(&mut self) {
        self.recent.clear();
        self.recent_local.clear();
    }
}

/// Bytes that the lanes of a simdgroup have moved, side by side in each lane.
#[derive(Clone, Debug)]
struct Extent {
    /// The first of them.
    instruction: usize,
    kind: AccessKind,
    active: u32,
    start: [u64; LANES],
    bytes: u32,
    /// Lines of device memory; rows and passes of threadgroup memory.
    lines: u64,
    passes: u64,
}

impl Extent {
    /// Returns true if each lane has what it loads already: a compiler loads it once, and keeps it in registers.
    fn holds(&self, access: &MemoryAccess) -> bool {
        self.kind == AccessKind::Load
            && self.active == access.active
            && access.active != 0
            && each_lane(access.active).all(|lane| {
                let offset = access.addresses[lane].wrapping_sub(self.start[lane]);
                offset.saturating_add(u64::from(access.bytes)) <= u64::from(self.bytes)
            })
    }
}

/// Executions of an instruction whose shape is looked at; of later ones one in so many is.
const SHAPED: u64 = 32;

/// Bytes per lane that one instruction moves at most.
const MOST_BYTES: u32 = 16;

/// Extents that are remembered: what a thread's registers hold of 16 bytes each, and no more than half of them.
const RECENT: usize = 16;

/// Bytes that loads sent together deliver to a lane at most.
const BYTES_IN_FLIGHT: u32 = 4 * DEVICE_WORDS_IN_FLIGHT;

/// What one threadgroup did.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) position: [u32; 3],
    /// The stream of each simdgroup.
    pub(crate) streams: Vec<Stream>,
    /// Memory instructions executed: index of the instruction and sums.
    pub(crate) accesses: Vec<(u32, Box<Sums>)>,
    pub(crate) instructions: u64,
    pub(crate) lane_instructions: u64,
    /// Float operations of all lanes.
    pub(crate) flops: u64,
    pub(crate) divergent: u64,
    /// Distinct words of the stack.
    pub(crate) stack_rows: u32,
    /// By instruction.
    pub(crate) taken: Vec<Taken>,
    /// Masks and barriers.
    pub(crate) observed: Observed,
}

/// The blocks a simdgroup executed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stream {
    pub(crate) steps: Vec<PathStep>,
    /// Executions of each block.
    pub(crate) counts: Vec<u64>,
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(code: &'a Code) -> Recorder<'a> {
        Recorder {
            code,
            bodies: Bodies::default(),
            simdgroups: Vec::new(),
            sums: vec![None; code.instructions.len()],
            cache: LruStack::new(),
            divergent: 0,
            instructions: 0,
            lane_instructions: 0,
            flops: 0,
            stack_rows: BTreeSet::new(),
            taken: vec![Taken::default(); code.instructions.len()],
            observing: Observing::new(code.instructions.len(), code.has_barriers()),
        }
    }

    pub(crate) fn finish(self, position: [u32; 3]) -> Record {
        let streams = self.simdgroups.iter().map(|followed| Stream {
            steps: followed.folder.finish(&self.bodies),
            counts: followed.folder.counts().to_vec(),
        });
        let streams = streams.collect();
        let sums = self.sums.into_iter().enumerate();
        let accesses = sums.filter_map(|(n, sums)| {
            let mut sums = sums?;
            sums.touched.merge();
            Some((n as u32, sums))
        });
        Record {
            position,
            streams,
            accesses: accesses.collect(),
            instructions: self.instructions,
            lane_instructions: self.lane_instructions,
            flops: self.flops,
            divergent: self.divergent,
            stack_rows: self.stack_rows.len() as u32,
            taken: self.taken,
            observed: self.observing.finish(),
        }
    }

    fn access(&mut self, index: usize, access: &MemoryAccess, simdgroup: u32) {
        let Some(place) = self.sums.get_mut(index) else {
            return;
        };
        let sums = place.get_or_insert_with(Box::default);
        let mut distinct = 0;
        if sums.executions <= SHAPED || sums.executions.is_multiple_of(SHAPED) {
            let shape = Shape::of(access);
            sums.shaped += 1;
            distinct = shape.distinct * u64::from(access.bytes);
            sums.distinct += distinct;
            if let Some(stride) = shape.stride {
                (sums.regular, sums.stride) = (sums.regular + 1, stride);
            }
        }
        sums.executions += 1;
        sums.taken += u64::from(access.active != 0);
        let lanes = u64::from(access.active.count_ones());
        sums.lanes += lanes;
        sums.bytes += lanes * u64::from(access.bytes);
        sums.kind = match access.kind {
            AccessKind::Load => Kind::Load,
            AccessKind::Store => Kind::Store,
            AccessKind::Atomic => Kind::Atomic,
        };
        let mut joined = None;
        match access.memory {
            Memory::Threadgroup => {
                sums.space = Space::Threadgroup;
                match self.simdgroups.get_mut(simdgroup as usize) {
                    Some(followed) => {
                        let recent = &mut followed.recent_local;
                        joined = join(recent, sums, index, access, bank_passes);
                    }
                    None => {
                        let (rows, passes) = bank_passes(access);
                        sums.lines += rows;
                        sums.passes += passes;
                    }
                }
            }
            Memory::Device => {
                sums.space = Space::Device;
                if access.kind == AccessKind::Atomic {
                    sums.passes += most_at_one_address(access);
                }
                let lines = device(sums, &mut self.cache, access);
                match self.simdgroups.get_mut(simdgroup as usize) {
                    Some(followed) => {
                        joined = join(&mut followed.recent, sums, index, access, |access| {
                            (distinct_lines(access), requests(access))
                        });
                    }
                    None => sums.lines += lines,
                }
            }
            Memory::Stack => {
                sums.space = Space::Stack;
                stack(
                    sums,
                    &mut self.cache,
                    &mut self.stack_rows,
                    access,
                    simdgroup,
                );
            }
        }
        // One access moves the bytes of both, and it is the first that has the lines.
        if let Some(head) = joined.filter(|head| *head != index) {
            sums.distinct -= distinct;
            if let Some(Some(head)) = self.sums.get_mut(head) {
                head.distinct += distinct;
            }
        }
    }
}

impl Observer for Recorder<'_> {
    fn step(&mut self, step: &Step<'_>) -> bool {
        let Some(index) = self.code.at(step.offset()) else {
            return false;
        };
        self.instructions += 1;
        if let Some(taken) = self.taken.get_mut(index) {
            taken.executed += 1;
            taken.by_a_lane += u64::from(step.active() != 0);
        }
        let lanes = step.active().count_ones();
        self.lane_instructions += u64::from(lanes);
        self.flops += u64::from(self.code.instructions[index].flops * lanes);
        self.divergent += u64::from(step.active() != step.threads());
        let simdgroup = step.simdgroup() as usize;
        if self.simdgroups.len() <= simdgroup {
            self.simdgroups
                .resize_with(simdgroup + 1, Followed::default);
        }
        let mut others_run = false;
        let followed = &mut self.simdgroups[simdgroup];
        if let Some(block) = self.code.block_started_by(index) {
            followed.turn += 1;
            if followed.block != Some(block) || followed.turn >= self.code.turns(block) {
                (followed.block, followed.turn) = (Some(block), 0);
                followed.forget();
            }
            followed.folder.push(block, &mut self.bodies);
            others_run = std::mem::take(&mut followed.waited);
        }
        if self.code.instructions[index].class == Class::Barrier {
            followed.forget();
        }
        self.observing
            .step(simdgroup, index as u32, step.active(), step.threads());
        if self.code.instructions[index].class == Class::Barrier {
            self.observing.barrier(simdgroup, index as u32);
        }
        if let Some(access) = step.access() {
            self.access(index, &access, step.simdgroup());
            self.observing.access(simdgroup, &access);
        }
        // Simdgroups run until they must wait: the order the hardware's caches see. Generated code waits for each load; an
        // optimising compiler sends those of a block together, as many as registers hold.
        if let Some(followed) = self.simdgroups.get_mut(simdgroup) {
            if let Some(access) = step.access()
                && access.memory == Memory::Device
                && access.kind == AccessKind::Load
            {
                followed.in_flight += access.bytes;
            }
            followed.waited |= self.code.waits(index);
            others_run |= followed.waited && followed.in_flight >= BYTES_IN_FLIGHT;
            if others_run {
                (followed.waited, followed.in_flight) = (false, 0);
            }
        }
        others_run
    }
}

/// The lanes that take part.
fn each_lane(active: u32) -> impl Iterator<Item = usize> {
    (0..LANES).filter(move |lane| active >> lane & 1 != 0)
}

/// Joins an access to one that ends where it starts, in all lanes: Apple's compiler loads
/// and stores neighbouring elements at once. Adds the lines and passes it takes, and whether it
/// was joined; returns the instruction that it was joined to.
fn join(
    recent: &mut Vec<Extent>,
    sums: &mut Sums,
    instruction: usize,
    access: &MemoryAccess,
    cost: impl Fn(&MemoryAccess) -> (u64, u64),
) -> Option<usize> {
    let continues = |extent: &&mut Extent| {
        extent.kind == access.kind
            && extent.active == access.active
            && extent.bytes + access.bytes <= MOST_BYTES
            && each_lane(access.active).all(|lane| {
                let end = extent.start[lane].wrapping_add(u64::from(extent.bytes));
                end == access.addresses[lane]
            })
    };
    let joinable = access.kind != AccessKind::Atomic && access.active != 0;
    if access.kind != AccessKind::Load {
        // What was loaded before may have changed.
        recent.retain(|extent| extent.kind != AccessKind::Load);
    } else if let Some(at) = recent.iter().position(|extent| extent.holds(access)) {
        sums.joined += 1;
        sums.bytes -= u64::from(access.active.count_ones() * access.bytes);
        let extent = recent.remove(at);
        recent.push(extent);
        return None;
    }
    if joinable && let Some(extent) = recent.iter_mut().find(continues) {
        extent.bytes += access.bytes;
        let (lines, passes) = cost(&MemoryAccess {
            addresses: extent.start,
            bytes: extent.bytes,
            ..*access
        });
        sums.joined += 1;
        sums.lines += lines.saturating_sub(extent.lines);
        sums.passes += passes.saturating_sub(extent.passes);
        (extent.lines, extent.passes) = (lines, passes);
        return Some(extent.instruction);
    }
    let (lines, passes) = cost(access);
    sums.lines += lines;
    sums.passes += passes;
    if recent.len() == RECENT {
        recent.remove(0);
    }
    recent.push(Extent {
        instruction,
        kind: access.kind,
        active: access.active,
        start: access.addresses,
        bytes: access.bytes,
        lines,
        passes,
    });
    None
}

/// Distinct lines that the lanes of an access touch.
fn distinct_lines(access: &MemoryAccess) -> u64 {
    let mut lines = [0u64; 2 * LANES];
    let mut count = 0;
    for lane in each_lane(access.active) {
        let start = access.addresses[lane];
        let last = start.wrapping_add(u64::from(access.bytes.max(1)) - 1);
        for line in [start / LINE, last / LINE] {
            if !lines[..count].contains(&line) {
                lines[count] = line;
                count += 1;
            }
        }
    }
    count as u64
}

/// Requests that an access to device memory becomes: neighbouring lanes share one if they want bytes of the same sector of 32.
/// An L1 line of 32 bytes was measured on an M1 Max (ferasboulala/G13), and 64 bytes per cycle from L1
/// (philipturner/metal-benchmarks): two sectors per cycle. What several neighbours share is delivered to other lanes that want
/// it as well; lanes of which each wants a sector of its own have nothing in common. Atomics are not counted here.
fn requests(access: &MemoryAccess) -> u64 {
    const SECTOR: u64 = 32;
    if access.kind == AccessKind::Atomic {
        return 0;
    }
    let mut shared = [0u64; LANES];
    let (mut shares, mut count) = (0, 0);
    let mut lanes = each_lane(access.active).peekable();
    while let Some(lane) = lanes.next() {
        let sector = access.addresses[lane] / SECTOR;
        let last = access.addresses[lane].wrapping_add(u64::from(access.bytes.max(1)) - 1) / SECTOR;
        count += last.wrapping_sub(sector).min(8);
        let mut neighbours = 1;
        while lanes
            .next_if(|&next| access.addresses[next] / SECTOR == sector)
            .is_some()
        {
            neighbours += 1;
        }
        if neighbours == 1 {
            count += 1;
        } else if !shared[..shares].contains(&sector) {
            shared[shares] = sector;
            shares += 1;
            count += 1;
        }
    }
    count
}

/// Looks up the lines of an access to device memory in caches; gives how many there are.
fn device(sums: &mut Sums, cache: &mut LruStack, access: &MemoryAccess) -> u64 {
    let mut lines = [0u64; 2 * LANES];
    let mut count = 0;
    for lane in each_lane(access.active) {
        let start = access.addresses[lane];
        let end = start.wrapping_add(u64::from(access.bytes));
        sums.touched.add(start, end.max(start));
        for line in [start / LINE, end.wrapping_sub(1) / LINE] {
            if !lines[..count].contains(&line) {
                lines[count] = line;
                count += 1;
            }
        }
    }
    for &line in &lines[..count] {
        let missing = cache.touch(line);
        for misses in &mut sums.misses[..missing] {
            *misses += 1;
        }
    }
    count as u64
}

/// Stack words of the lanes of a simdgroup lie side by side: lanes at the same offset share a
/// line, lanes at different ones do not.
fn stack(
    sums: &mut Sums,
    cache: &mut LruStack,
    touched: &mut BTreeSet<u64>,
    access: &MemoryAccess,
    simdgroup: u32,
) {
    const STACKS: u64 = 1 << 62;
    let mut rows = [0u64; LANES];
    let mut count = 0;
    for lane in each_lane(access.active) {
        let row = (access.addresses[lane] & 0xff_ffff) / 4;
        if !rows[..count].contains(&row) {
            rows[count] = row;
            count += 1;
        }
    }
    let words = u64::from(access.bytes).div_ceil(4);
    for &row in &rows[..count] {
        for line in row..row + words {
            sums.lines += 1;
            touched.insert(line);
            let missing = cache.touch(STACKS | u64::from(simdgroup) << 32 | line);
            for misses in &mut sums.misses[..missing] {
                *misses += 1;
            }
        }
    }
}

/// The most lanes that meet at one address.
fn most_at_one_address(access: &MemoryAccess) -> u64 {
    let mut addresses = [0; LANES];
    let mut count = 0;
    for lane in each_lane(access.active) {
        addresses[count] = access.addresses[lane];
        count += 1;
    }
    let addresses = &mut addresses[..count];
    addresses.sort_unstable();
    let runs = addresses.chunk_by(|a, b| a == b);
    runs.map(|run| run.len() as u64).max().unwrap_or(0)
}

/// Rows of 32 words an access to threadgroup memory needs at least, and the passes it
/// takes when each of the 32 banks (a word wide) delivers one word per pass. Lanes that
/// read the same word share it; an atomic takes a pass for each lane at a word.
fn bank_passes(access: &MemoryAccess) -> (u64, u64) {
    const BANKS: usize = 32;
    const MOST_WORDS: usize = 8 * LANES;
    let mut words = [0u64; MOST_WORDS];
    let mut count = 0;
    let per_lane = u64::from(access.bytes.max(1));
    for lane in each_lane(access.active) {
        let start = access.addresses[lane] / 4;
        let last = (access.addresses[lane] + per_lane - 1) / 4;
        for word in start..=last.min(start + 7) {
            // Neighbours share a word of halves or bytes.
            if count > 0 && words[count - 1] == word && access.kind != AccessKind::Atomic {
                continue;
            }
            if count < MOST_WORDS {
                words[count] = word;
                count += 1;
            }
        }
    }
    let words = &mut words[..count];
    words.sort_unstable();
    let mut banks = [0u64; BANKS];
    let mut distinct = 0;
    let mut last = None;
    for &word in words.iter() {
        if last == Some(word) && access.kind != AccessKind::Atomic {
            continue;
        }
        last = Some(word);
        distinct += 1;
        banks[(word % BANKS as u64) as usize] += 1;
    }
    let passes = banks.into_iter().max().unwrap_or(0);
    (u64::div_ceil(distinct, BANKS as u64), passes)
}

/// An access as averages over the records of several threadgroups, each with its weight.
pub(crate) fn average(offset: u32, parts: &[(f64, &Sums)]) -> Access {
    let total = |value: fn(&Sums) -> u64| -> f64 {
        let parts = parts
            .iter()
            .map(|(weight, sums)| weight * value(sums) as f64);
        parts.sum()
    };
    let executions = total(|sums| sums.executions).max(f64::MIN_POSITIVE);
    let mean = |value: f64| (value / executions) as f32;
    let (space, kind) = parts
        .first()
        .map_or((Space::Device, Kind::Load), |(_, sums)| {
            (sums.space, sums.kind)
        });
    let misses = match space {
        Space::Threadgroup => Vec::new(),
        _ => (0..CAPACITIES)
            .map(|n| {
                let missed = parts.iter().map(|(w, sums)| w * sums.misses[n] as f64);
                mean(missed.sum())
            })
            .collect(),
    };
    Access {
        offset,
        space,
        kind,
        issued: 1.0 - mean(total(|sums| sums.joined)),
        taken: mean(total(|sums| sums.taken)),
        lanes: mean(total(|sums| sums.lanes)),
        bytes: mean(total(|sums| sums.bytes)),
        lines: mean(total(|sums| sums.lines)),
        passes: mean(total(|sums| sums.passes)),
        misses,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local(stride: u64, bytes: u32) -> MemoryAccess {
        MemoryAccess {
            memory: Memory::Threadgroup,
            kind: AccessKind::Load,
            active: u32::MAX,
            addresses: std::array::from_fn(|lane| lane as u64 * stride),
            bytes,
        }
    }

    #[test]
    fn banks_collide_at_strides_that_share_factors_with_32() {
        assert_eq!(bank_passes(&local(4, 4)), (1, 1));
        assert_eq!(bank_passes(&local(8, 4)), (1, 2));
        assert_eq!(bank_passes(&local(128, 4)), (1, 32));
        assert_eq!(bank_passes(&local(132, 4)), (1, 1));
        assert_eq!(bank_passes(&local(16, 16)), (4, 4));
        assert_eq!(bank_passes(&local(2, 2)), (1, 1));
        assert_eq!(bank_passes(&local(0, 4)), (1, 1));
    }
}
