//! The watch that counts.

use super::model::{Blocks, Cache, LINE, SECTOR, bank_passes};
use super::{Class, Counts, LineCounts, Traffic};
use crate::code::{Op, Program, Reg};
use crate::dispatch::Job;
use crate::interpret::watch::{Seen, Watch};
use crate::memory::{Action, OFFSET_BITS, OFFSET_MASK, THREAD, THREADGROUP};
use crate::operands::{Role, for_each_register};

/// What is counted for each operation that accesses memory.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    bytes: u64,
    lines: u64,
}

/// Operations that follow each other and run with the same lanes: counted when the first of them runs.
#[derive(Clone, Copy, Debug, Default)]
struct Stretch {
    first: u32,
    end: u32,
    /// Those that are no bookkeeping.
    instructions: u64,
    runs: u64,
    lanes: u64,
}

/// Marks an operation that begins no stretch.
const WITHIN: u32 = u32::MAX;

/// Registers an operation reads and writes, as one number each: wide ones follow the narrow ones.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    start: u32,
    reads: u16,
    writes: u16,
    loads: bool,
    /// Each register read goes to the one written in its place, and to no other.
    pairs: bool,
}

pub(super) struct Counter<'a> {
    program: &'a Program,
    counts: Counts,
    tallies: Vec<Tally>,
    stretches: Vec<Stretch>,
    /// For each operation the stretch that begins with it.
    begins: Vec<u32>,
    flows: Vec<Flow>,
    registers: Vec<u32>,
    /// For each simdgroup, the loads each register's number depends on, one after the other.
    depths: Vec<Vec<u16>>,
    /// Instructions of each simdgroup of the threadgroup.
    own: Vec<u64>,
    current: usize,
    cache: Cache,
    /// By region and line, the number of the threadgroup (from 1, as they were counted here) that touched it last.
    touched: Vec<Vec<u32>>,
    group: u32,
}

impl<'a> Counter<'a> {
    pub(super) fn memory(job: &Job<'a>) -> u64 {
        let lines = job.regions.iter().map(|r| r.len.div_ceil(LINE) * 4);
        let registers = u64::from(job.program.narrow) + u64::from(job.program.wide);
        lines
            .fold(0, u64::saturating_add)
            .saturating_add(registers * 2 * job.simdgroups())
    }

    pub(super) fn new(job: &Job<'a>) -> Self {
        let program = job.program;
        let (flows, registers) = flows(program);
        let count = program.narrow as usize + program.wide as usize;
        let lines = |len: u64| vec![0; len.div_ceil(LINE) as usize];
        let simdgroups = job.simdgroups() as usize;
        let (stretches, begins) = stretches(program);
        Self {
            program,
            counts: Counts {
                fewest: u64::MAX,
                ..Counts::default()
            },
            tallies: vec![Tally::default(); program.ops.len()],
            stretches,
            begins,
            flows,
            registers,
            depths: vec![vec![0; count]; simdgroups],
            own: vec![0; simdgroups],
            current: 0,
            cache: Cache::new(),
            touched: job.regions.iter().map(|r| lines(r.len)).collect(),
            group: 0,
        }
    }

    /// Takes in the simdgroups of a threadgroup that has ended.
    pub(super) fn end_group(&mut self, threads: u32) {
        let simdgroups = threads.div_ceil(32) as usize;
        self.counts.simdgroups += simdgroups as u64;
        self.counts.threads += u64::from(threads);
        for &own in self.own.iter().take(simdgroups) {
            self.counts.fewest = self.counts.fewest.min(own);
            self.counts.most = self.counts.most.max(own);
        }
    }

    /// Takes in what another has counted of the same dispatch.
    pub(super) fn merge(mut self, other: Self) -> Self {
        self.counts.add(&other.counts);
        for (own, other) in self.tallies.iter_mut().zip(&other.tallies) {
            own.bytes += other.bytes;
            own.lines += other.lines;
        }
        for (own, other) in self.stretches.iter_mut().zip(&other.stretches) {
            own.runs += other.runs;
            own.lanes += other.lanes;
        }
        let lines = self.touched.iter_mut().flatten();
        for (own, other) in lines.zip(other.touched.iter().flatten()) {
            *own |= *other;
        }
        self
    }

    pub(super) fn finish(mut self, groups: u64, sampled: u64) -> Counts {
        let touched = self.touched.iter().flatten();
        self.counts.device.dispatch_lines = touched.filter(|&&group| group != 0).count() as u64;
        let mut by_class = Class::ALL.map(|class| (class, 0));
        let mut lines: Vec<LineCounts> = Vec::new();
        let mut known = std::collections::BTreeMap::new();
        let run = self.stretches.iter().filter(|stretch| stretch.runs > 0);
        for (stretch, position) in run.flat_map(|s| (s.first..s.end).map(move |at| (s, at))) {
            let position = position as usize;
            let (class, tally) = (self.program.class(position), self.tallies[position]);
            by_class[class as usize].1 += stretch.runs;
            if class == Class::Bookkeeping {
                continue;
            }
            self.counts.active_lanes += stretch.lanes;
            let place = self.program.line(position).unwrap_or_default();
            let index = *known.entry(place.clone()).or_insert_with(|| {
                lines.push(LineCounts {
                    place,
                    ..LineCounts::default()
                });
                lines.len() - 1
            });
            let line = &mut lines[index];
            line.instructions += stretch.runs;
            line.memory_operations += if tally.bytes > 0 { stretch.runs } else { 0 };
            line.bytes += tally.bytes;
            line.lines += tally.lines;
        }
        lines.sort_by(|a, b| {
            let most = b.instructions.cmp(&a.instructions);
            most.then_with(|| a.place.cmp(&b.place))
        });
        self.counts.instructions = by_class.to_vec();
        self.counts.lines = lines;
        self.counts.threadgroups = groups;
        self.counts.sampled = sampled;
        if self.counts.simdgroups == 0 {
            self.counts.fewest = 0;
        }
        self.counts
    }

    /// Device memory, in accesses of at most 16 bytes a lane.
    #[inline(never)]
    fn device(&mut self, seen: &Seen<'_>) {
        let counts = &mut self.counts.device;
        note(&mut counts.traffic, seen);
        let mut addresses = seen.addresses;
        let mut left = seen.size;
        while left > 0 {
            let size = u64::from(left.min(16));
            let lines = Blocks::of(&addresses, seen.mask, size, LINE);
            let sectors = Blocks::of(&addresses, seen.mask, size, SECTOR);
            counts.accesses += 1;
            counts.lines += lines.as_slice().len() as u64;
            counts.sectors += sectors.as_slice().len() as u64;
            self.tallies[seen.position].lines += lines.as_slice().len() as u64;
            for &line in lines.as_slice() {
                if seen.action == Action::Read {
                    let hit = self.cache.load(line);
                    counts.cache_hits += u64::from(hit);
                    counts.cache_misses += u64::from(!hit);
                }
                let address = line * LINE;
                let (region, inside) = (address >> OFFSET_BITS, address & OFFSET_MASK);
                let touched = self.touched.get_mut(region as usize);
                let touched = touched.and_then(|lines| lines.get_mut((inside / LINE) as usize));
                if let Some(touched) = touched {
                    counts.threadgroup_lines += u64::from(*touched != self.group);
                    *touched = self.group;
                }
            }
            left -= size as u32;
            for address in &mut addresses {
                *address = address.wrapping_add(size);
            }
        }
    }

    #[inline(never)]
    fn threadgroup(&mut self, seen: &Seen<'_>) {
        let counts = &mut self.counts.threadgroup;
        note(&mut counts.traffic, seen);
        for word in 0..seen.size.div_ceil(4) {
            counts.accesses += 1;
            let passes = bank_passes(&seen.addresses, seen.mask, u64::from(word) * 4);
            counts.bank_passes += u64::from(passes);
        }
    }

    /// Follows numbers through a stretch: how many loads each depends on.
    #[inline(always)]
    fn depth(&mut self, stretch: Stretch) {
        let Some(depths) = self.depths.get_mut(self.current) else {
            return;
        };
        for flow in &self.flows[stretch.first as usize..stretch.end as usize] {
            let start = flow.start as usize;
            let middle = start + usize::from(flow.reads);
            if flow.pairs {
                let (from, to) = self.registers[start..].split_at(usize::from(flow.reads));
                for (&from, &to) in from.iter().zip(to) {
                    depths[to as usize] = depths[from as usize];
                }
                continue;
            }
            let mut depth = 0;
            for &register in &self.registers[start..middle] {
                depth = depth.max(depths[register as usize]);
            }
            if flow.loads {
                depth = depth.saturating_add(1);
                self.counts.load_depth = self.counts.load_depth.max(depth.into());
            }
            for &register in &self.registers[middle..middle + usize::from(flow.writes)] {
                depths[register as usize] = depth;
            }
        }
    }
}

impl Watch for Counter<'_> {
    const ACTIVE: bool = true;

    #[inline(always)]
    fn step(&mut self, position: usize, mask: u32) {
        let begins = self.begins[position];
        if begins == WITHIN || mask == 0 {
            return;
        }
        let stretch = &mut self.stretches[begins as usize];
        stretch.runs += 1;
        stretch.lanes += u64::from(mask.count_ones());
        self.own[self.current] += stretch.instructions;
        let stretch = *stretch;
        self.depth(stretch);
    }

    fn access(&mut self, seen: &Seen<'_>) -> u32 {
        if seen.mask != 0 && seen.size != 0 {
            let lanes = u64::from(seen.mask.count_ones());
            self.tallies[seen.position].bytes += lanes * u64::from(seen.size);
            let first = seen.mask.trailing_zeros() as usize & 31;
            match seen.addresses[first] >> OFFSET_BITS {
                THREADGROUP => self.threadgroup(seen),
                THREAD => note(&mut self.counts.thread_memory, seen),
                _ => self.device(seen),
            }
        }
        seen.mask
    }

    fn start(&mut self, _number: u64) {
        self.group = self.group.saturating_add(1);
        self.cache = Cache::new();
        self.own.fill(0);
        for depths in &mut self.depths {
            depths.fill(0);
        }
    }

    #[inline(always)]
    fn turn(&mut self, simdgroup: usize) {
        self.current = simdgroup;
    }
}

/// The stretches of a program, and for each operation the one that begins with it. Whatever changes the mask, waits or is
/// jumped to bounds them.
fn stretches(program: &Program) -> (Vec<Stretch>, Vec<u32>) {
    let mut jumped_to = vec![false; program.ops.len() + 1];
    for op in &program.ops {
        let target = match *op {
            // Who takes the first arm of an if may go on behind its end.
            Op::Else { target, .. } => {
                jumped_to[target as usize] = true;
                target + 1
            }
            Op::If { target, .. } | Op::LoopEnd { target, .. } | Op::SkipIfNone { target } => {
                target
            }
            _ => continue,
        };
        jumped_to[target as usize] = true;
    }
    let mut stretches: Vec<Stretch> = Vec::new();
    let mut begins = vec![WITHIN; program.ops.len()];
    let mut goes_on = false;
    for (position, op) in program.ops.iter().enumerate() {
        let class = program.class(position);
        if !goes_on || jumped_to[position] {
            begins[position] = stretches.len() as u32;
            stretches.push(Stretch {
                first: position as u32,
                ..Stretch::default()
            });
        }
        if let Some(stretch) = stretches.last_mut() {
            stretch.end = position as u32 + 1;
            stretch.instructions += u64::from(class != Class::Bookkeeping);
        }
        goes_on = !op.is_control();
    }
    (stretches, begins)
}

/// Adds an access to sums.
fn note(traffic: &mut Traffic, seen: &Seen<'_>) {
    let bytes = u64::from(seen.mask.count_ones()) * u64::from(seen.size);
    match seen.action {
        Action::Read => {
            traffic.loads += 1;
            traffic.bytes_loaded += bytes;
        }
        Action::Write => {
            traffic.stores += 1;
            traffic.bytes_stored += bytes;
        }
        Action::Atomic => {
            traffic.atomics += 1;
            traffic.bytes_loaded += bytes;
            traffic.bytes_stored += bytes;
        }
    }
}

/// What flows through each operation. A value that is stored does not make what is loaded later depend on it.
fn flows(program: &Program) -> (Vec<Flow>, Vec<u32>) {
    let mut registers = Vec::new();
    let number = |reg: Reg| reg.index + if reg.wide { program.narrow } else { 0 };
    let mut flow_of = |op: &Op| {
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        let all = for_each_register(program, op, &mut |reg, role| match role {
            Role::Reads => reads.push(number(reg)),
            Role::Writes => writes.push(number(reg)),
        });
        let (Ok(()), Ok(read), Ok(written)) =
            (all, u16::try_from(reads.len()), u16::try_from(writes.len()))
        else {
            return Flow::default();
        };
        let start = registers.len() as u32;
        registers.extend(reads.into_iter().chain(writes));
        Flow {
            start,
            reads: read,
            writes: written,
            loads: program.loads(op),
            pairs: matches!(op, Op::Moves { .. }),
        }
    };
    (program.ops.iter().map(&mut flow_of).collect(), registers)
}
