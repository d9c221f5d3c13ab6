//! The watch that counts.

use super::model::{Blocks, Cache, LINE, SECTOR, bank_passes};
use super::{Class, Counts, LineCounts, Traffic};
use crate::code::{Op, Program, Reg};
use crate::dispatch::Job;
use crate::interpret::watch::{Seen, Watch};
use crate::memory::{Action, OFFSET_BITS, OFFSET_MASK, THREAD, THREADGROUP};
use crate::operands::{Role, for_each_register};

/// What is counted for each operation of the program.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    runs: u64,
    lanes: u64,
    bytes: u64,
    lines: u64,
}

/// Registers an operation reads and writes, as one number each: wide ones follow the narrow ones.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    start: u32,
    reads: u16,
    writes: u16,
    loads: bool,
}

pub(super) struct Counter<'a> {
    program: &'a Program,
    counts: Counts,
    tallies: Vec<Tally>,
    flows: Vec<Flow>,
    registers: Vec<u32>,
    /// For each simdgroup, the loads each register's number depends on, one after the other.
    depths: Vec<Vec<u16>>,
    /// Instructions of each simdgroup of the threadgroup.
    own: Vec<u64>,
    current: usize,
    cache: Cache,
    /// By region and line, the number of the threadgroup (from 1) that touched it last.
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
        Self {
            program,
            counts: Counts {
                fewest: u64::MAX,
                ..Counts::default()
            },
            tallies: vec![Tally::default(); program.ops.len()],
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

    pub(super) fn finish(mut self, groups: u64, sampled: u64) -> Counts {
        let mut by_class = Class::ALL.map(|class| (class, 0));
        let mut lines: Vec<LineCounts> = Vec::new();
        let mut known = std::collections::BTreeMap::new();
        for (position, tally) in self.tallies.iter().enumerate().filter(|(_, t)| t.runs > 0) {
            let class = self.program.class(position);
            by_class[class as usize].1 += tally.runs;
            if class == Class::Bookkeeping {
                continue;
            }
            self.counts.active_lanes += tally.lanes;
            let place = self.program.line(position).unwrap_or_default();
            let index = *known.entry(place.clone()).or_insert_with(|| {
                lines.push(LineCounts {
                    place,
                    ..LineCounts::default()
                });
                lines.len() - 1
            });
            let line = &mut lines[index];
            line.instructions += tally.runs;
            line.memory_operations += if tally.bytes > 0 { tally.runs } else { 0 };
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
                let (region, inside) = (line * LINE >> OFFSET_BITS, line * LINE & OFFSET_MASK);
                let touched = self.touched.get_mut(region as usize);
                let touched = touched.and_then(|lines| lines.get_mut((inside / LINE) as usize));
                if let Some(touched) = touched {
                    counts.dispatch_lines += u64::from(*touched == 0);
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

    #[inline(always)]
    fn depth(&mut self, position: usize) {
        let flow = self.flows[position];
        let Some(depths) = self.depths.get_mut(self.current) else {
            return;
        };
        let start = flow.start as usize;
        let middle = start + usize::from(flow.reads);
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

impl Watch for Counter<'_> {
    const ACTIVE: bool = true;

    #[inline(always)]
    fn step(&mut self, position: usize, mask: u32) {
        if mask == 0 {
            return;
        }
        let tally = &mut self.tallies[position];
        tally.runs += 1;
        tally.lanes += u64::from(mask.count_ones());
        if self.program.class(position) != Class::Bookkeeping {
            self.own[self.current] += 1;
        }
        self.depth(position);
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
        }
    };
    (program.ops.iter().map(&mut flow_of).collect(), registers)
}
