//! The observer that counts.

use super::basic_block::{BasicBlock, WITHIN, basic_blocks};
use super::depth::{Depths, State};
use super::model::{Blocks, Cache, LINE, Outcome, Recent, SECTOR, bank_passes};
use super::pattern::{Patterns, Scattered};
use super::run_shape::{ByteRuns, passes_by_form, passes_of_all};
use super::{Class, Counts, LineCounts, Traffic};
use crate::code::{Program, Transfer};
use crate::dispatch::Job;
use crate::interpret::Batch;
use crate::interpret::observer::{AccessEvent, AffineAddresses, Observer};
use crate::memory::{Action, OFFSET_BITS, OFFSET_MASK, THREAD, THREADGROUP};
use crate::position::GridPosition;
use std::collections::BTreeMap;
use std::ops::Range;

/// What is counted for each operation that accesses memory.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    bytes: u64,
    lines: u64,
}

pub(super) struct Counter<'a> {
    program: &'a Program,
    counts: Counts,
    tallies: Vec<Tally>,
    basic_blocks: Vec<BasicBlock>,
    /// For each operation the basic block that begins with it.
    begins: Vec<u32>,
    depths: Depths,
    /// For each simdgroup of the threadgroup, the loads each register's number depends on, its instructions, and what it
    /// loaded since it last waited.
    states: Vec<State>,
    own: Vec<u64>,
    recent: Vec<Recent>,
    cache: Cache,
    patterns: Patterns,
    /// By region and line, the number of the threadgroup (from 1, as they were counted here) that touched it last.
    touched: Vec<Vec<u32>>,
    group: u32,
}

impl<'a> Counter<'a> {
    pub(super) fn memory(job: &Job<'a>) -> u64 {
        let lines = job.regions.iter().map(|r| r.len.div_ceil(LINE) * 4);
        lines.fold(Depths::memory(), u64::saturating_add)
    }

    pub(super) fn new(job: &Job<'a>) -> Self {
        let program = job.program;
        let lines = |len: u64| vec![0; len.div_ceil(LINE) as usize];
        let simdgroups = job.simdgroups() as usize;
        let (basic_blocks, begins) = basic_blocks(program);
        Self {
            program,
            counts: Counts {
                fewest: u64::MAX,
                ..Counts::default()
            },
            tallies: vec![Tally::default(); program.ops.len()],
            depths: Depths::new(program, basic_blocks.len()),
            basic_blocks,
            begins,
            states: vec![Depths::START; simdgroups],
            own: vec![0; simdgroups],
            recent: vec![Recent::new(); simdgroups],
            cache: Cache::new(),
            patterns: Patterns::new(program.ops.len()),
            touched: job.regions.iter().map(|r| lines(r.len)).collect(),
            group: 0,
        }
    }

    /// Takes in the simdgroups of a threadgroup that has ended.
    pub(super) fn end_group(&mut self, threads: u32) {
        self.settle();
        self.counts.load_depth = self.depths.deepest();
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
        for (own, other) in self.basic_blocks.iter_mut().zip(&other.basic_blocks) {
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
        let (mut lines, mut chains) = (Sums::default(), Sums::default());
        let run = self
            .basic_blocks
            .iter()
            .filter(|basic_block| basic_block.runs > 0);
        for (basic_block, position) in run.flat_map(|s| (s.first..s.end).map(move |at| (s, at))) {
            let position = position as usize;
            let (class, tally) = (self.program.class(position), self.tallies[position]);
            by_class[class as usize].1 += basic_block.runs;
            let flops = self.program.flops.get(position).copied().unwrap_or(0);
            self.counts.flops += u64::from(flops) * basic_block.lanes;
            if class == Class::Bookkeeping {
                continue;
            }
            self.counts.active_lanes += basic_block.lanes;
            let place = self.program.line(position).unwrap_or_default();
            let chain = self.program.chain(position);
            for line in [lines.at(&place), chains.at(chain)] {
                line.instructions += basic_block.runs;
                line.memory_operations += if tally.bytes > 0 { basic_block.runs } else { 0 };
                line.bytes += tally.bytes;
                line.lines += tally.lines;
            }
        }
        self.counts.instructions = by_class.to_vec();
        self.counts.lines = lines.sorted();
        self.counts.chains = chains.sorted();
        self.counts.threadgroups = groups;
        self.counts.sampled = sampled;
        if self.counts.simdgroups == 0 {
            self.counts.fewest = 0;
        }
        self.counts
    }

    /// Lets the simdgroups have their turns at the cache.
    fn settle(&mut self) {
        for recent in &mut self.recent {
            let (hits, misses) = recent.settle(&mut self.cache);
            self.counts.device.cache_hits += hits;
            self.counts.device.cache_misses += misses;
        }
    }

    /// Device memory, in accesses of at most 16 bytes a lane.
    #[inline(always)]
    fn device(&mut self, event: &AccessEvent<'_>) {
        note(&mut self.counts.device.traffic, event, 1);
        let mut done = 0;
        while done < event.size {
            let size = (event.size - done).min(16);
            self.counts.device.accesses += 1;
            match ByteRuns::of(event, done, size) {
                Some(ByteRuns {
                    bytes: [(first, last), ..],
                    len: 1,
                }) => {
                    let sectors = last / SECTOR - first / SECTOR + 1;
                    self.lines(event, first / LINE..=last / LINE, sectors);
                }
                Some(runs) => {
                    let sectors = runs.blocks(SECTOR).as_slice().len();
                    let lines = runs.blocks(LINE);
                    self.lines(event, lines.as_slice().iter().copied(), sectors as u64);
                }
                None => self.scattered(event, done, size),
            }
            done += size;
        }
    }

    /// Lanes whose addresses follow no rule.
    #[inline(never)]
    fn scattered(&mut self, event: &AccessEvent<'_>, done: u32, size: u32) {
        let mut addresses = event.all_addresses();
        for address in &mut addresses {
            *address = address.wrapping_add(done.into());
        }
        let of = Scattered {
            addresses: &addresses,
            mask: event.mask,
            size,
        };
        let mut patterns = std::mem::take(&mut self.patterns);
        let blocks = |block| Blocks::of(&addresses, event.mask, size.into(), block);
        let (sectors, lines) = patterns.count(event.position, of, LINE, || {
            (blocks(SECTOR).as_slice().len() as u64, Some(blocks(LINE)))
        });
        let first = addresses[0] / LINE;
        let lines = lines.iter().map(|line| first.wrapping_add(*line));
        self.lines(event, lines, sectors);
        self.patterns = patterns;
    }

    /// Lines of device memory are accessed, and so many sectors of them.
    #[inline(always)]
    fn lines(&mut self, event: &AccessEvent<'_>, lines: impl Iterator<Item = u64>, sectors: u64) {
        let mut count = 0;
        for line in lines {
            self.line(event.action, event.simdgroup_in_threadgroup(), line);
            count += 1;
        }
        self.counts.device.lines += count;
        self.counts.device.sectors += sectors;
        self.tallies[event.position].lines += count;
    }

    /// A line of device memory is accessed.
    #[inline(always)]
    fn line(&mut self, action: Action, simdgroup: usize, line: u64) {
        let counts = &mut self.counts.device;
        if action == Action::Read {
            match self.recent[simdgroup].load(line) {
                Outcome::Hit => {
                    counts.cache_hits += 1;
                    return;
                }
                Outcome::Miss => counts.cache_misses += 1,
                Outcome::Later => {}
            }
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

    /// Rows of device memory, one for each simdgroup.
    #[inline(always)]
    fn device_rows(&mut self, event: &AccessEvent<'_>, transfer: &Transfer, running: Range<usize>) {
        let extent = u64::from(31 * event.runs.step + event.size - 1);
        let (mut lines, mut sectors) = (0, 0);
        for simdgroup in running {
            let first = event.address_of(transfer, simdgroup - event.batch.first_simdgroup, 0);
            let last = first + extent;
            sectors += last / SECTOR - first / SECTOR + 1;
            for line in first / LINE..=last / LINE {
                self.line(event.action, simdgroup, line);
                lines += 1;
            }
        }
        self.counts.device.lines += lines;
        self.counts.device.sectors += sectors;
        self.tallies[event.position].lines += lines;
    }

    /// Several rows of device memory for each simdgroup: those of a threadgroup sixteen or eight wide.
    #[inline(always)]
    fn device_short_rows(
        &mut self,
        event: &AccessEvent<'_>,
        sum: &AffineAddresses,
        running: Range<usize>,
    ) {
        let length = event.runs.length;
        let extent = u64::from((length - 1) * event.runs.step + event.size - 1);
        let (mut lines, mut sectors) = (0, 0);
        for simdgroup in running {
            let row = |lane: u32| {
                let first = sum.address(simdgroup - event.batch.first_simdgroup, lane as usize);
                (first, first + extent)
            };
            for lane in (0..32).step_by(length as usize) {
                let (first, last) = row(lane);
                // What a row before has touched is not touched again.
                let is_new = |number: &u64, block: u64| {
                    let mut before = (0..lane).step_by(length as usize).map(row);
                    !before.any(|(first, last)| (first / block..=last / block).contains(number))
                };
                let touched = first / SECTOR..=last / SECTOR;
                sectors += touched.filter(|sector| is_new(sector, SECTOR)).count() as u64;
                for line in (first / LINE..=last / LINE).filter(|line| is_new(line, LINE)) {
                    self.line(event.action, simdgroup, line);
                    lines += 1;
                }
            }
        }
        self.counts.device.lines += lines;
        self.counts.device.sectors += sectors;
        self.tallies[event.position].lines += lines;
    }

    #[inline(always)]
    fn threadgroup(&mut self, event: &AccessEvent<'_>) {
        let counts = &mut self.counts.threadgroup;
        note(&mut counts.traffic, event, 1);
        let words = event.size.div_ceil(4);
        counts.accesses += u64::from(words);
        if let Some(passes) = passes_by_form(event) {
            counts.bank_passes += u64::from(words * passes);
            return;
        }
        let addresses = event.all_addresses();
        let of = Scattered {
            addresses: &addresses,
            mask: event.mask,
            size: event.size,
        };
        let passes = |word| bank_passes(&addresses, event.mask, u64::from(word) * 4);
        let (passes, _) = self.patterns.count(event.position, of, 4, || {
            ((0..words).map(passes).map(u64::from).sum(), None)
        });
        counts.bank_passes += passes;
    }
}

impl Observer for Counter<'_> {
    const OBSERVES: bool = true;
    const LAZY: bool = true;
    const NEVER_MASKS: bool = true;

    #[inline(always)]
    fn before_operation(&mut self, position: usize, batch: &Batch) {
        let begins = self.begins[position];
        if begins == WITHIN {
            return;
        }
        let basic_block = &mut self.basic_blocks[begins as usize];
        let ops = basic_block.first..basic_block.end;
        if let Some(range) = batch.all_running() {
            basic_block.runs += range.len() as u64;
            basic_block.lanes += range.len() as u64 * 32;
            let states = &mut self.states[range.clone()];
            for own in &mut self.own[range] {
                *own += basic_block.instructions;
            }
            // Those that run in step mostly have loaded the same.
            if let [first, others @ ..] = states
                && others.iter().all(|state| state == first)
            {
                let next = self.depths.follow(*first, begins, ops);
                states.fill(next);
            } else {
                for state in states {
                    *state = self.depths.follow(*state, begins, ops.clone());
                }
            }
        } else {
            for at in batch.running() {
                let simdgroup = batch.first_simdgroup + at;
                basic_block.runs += 1;
                basic_block.lanes += u64::from(batch.mask_of(at).count_ones());
                self.own[simdgroup] += basic_block.instructions;
                let state = &mut self.states[simdgroup];
                *state = self.depths.follow(*state, begins, ops.clone());
            }
        }
        if self.depths.is_full() {
            self.depths.forget(&mut self.states);
        }
    }

    #[inline(always)]
    fn on_access(&mut self, event: &AccessEvent<'_>) -> u32 {
        if event.mask != 0 && event.size != 0 {
            let lanes = u64::from(event.mask.count_ones());
            self.tallies[event.position].bytes += lanes * u64::from(event.size);
            let first = event.mask.trailing_zeros() as usize;
            match event.address(first) >> OFFSET_BITS {
                THREADGROUP => self.threadgroup(event),
                THREAD => note(&mut self.counts.thread_memory, event, 1),
                number if event.context.memory.is_texture(number) => {
                    note(&mut self.counts.texture, event, 1);
                }
                _ => self.device(event),
            }
        }
        event.mask
    }

    #[inline(always)]
    fn on_batch_access(&mut self, event: &AccessEvent<'_>) -> bool {
        let (Some(running), Some(transfer)) = (event.batch.all_running(), event.transfer) else {
            return false;
        };
        let (count, words) = (running.len() as u64, u64::from(event.size.div_ceil(4)));
        let row = event.runs.length == 32;
        match event.address(0) >> OFFSET_BITS {
            THREADGROUP if row && event.runs.step <= 4 => {
                let counts = &mut self.counts.threadgroup;
                note(&mut counts.traffic, event, count);
                counts.accesses += words * count;
                counts.bank_passes += words * count;
            }
            THREADGROUP if event.runs.length == 16 && matches!(event.runs.step, 0 | 4) => {
                let Some(passes) = passes_of_all(event, transfer, running) else {
                    return false;
                };
                let counts = &mut self.counts.threadgroup;
                note(&mut counts.traffic, event, count);
                counts.accesses += words * count;
                counts.bank_passes += words * passes;
            }
            THREADGROUP | THREAD => return false,
            _ if row && event.size <= 16 && u64::from(event.runs.step) <= SECTOR => {
                note(&mut self.counts.device.traffic, event, count);
                self.counts.device.accesses += count;
                self.device_rows(event, transfer, running);
            }
            _ if event.size <= 16
                && u64::from(event.runs.step) <= SECTOR
                && event.affine.is_some() =>
            {
                let (Some(sum), 8 | 16) = (&event.affine, event.runs.length) else {
                    return false;
                };
                note(&mut self.counts.device.traffic, event, count);
                self.counts.device.accesses += count;
                self.device_short_rows(event, sum, running);
            }
            _ => return false,
        }
        self.tallies[event.position].bytes += count * 32 * u64::from(event.size);
        true
    }

    fn on_threadgroup_start(&mut self, _number: u64) {
        self.group = self.group.saturating_add(1);
        self.cache = Cache::new();
        self.own.fill(0);
        self.states.fill(Depths::START);
    }

    fn on_threadgroup_barrier(&mut self, _batches: &[Batch], _standpoint: &GridPosition<'_>) {
        self.settle();
    }
}

/// Adds an access, made alike by so many simdgroups, to the traffic.
#[inline(always)]
fn note(traffic: &mut Traffic, event: &AccessEvent<'_>, simdgroups: u64) {
    let bytes = u64::from(event.mask.count_ones()) * u64::from(event.size) * simdgroups;
    match event.action {
        Action::Read => {
            traffic.loads += simdgroups;
            traffic.bytes_loaded += bytes;
        }
        Action::Write => {
            traffic.stores += simdgroups;
            traffic.bytes_stored += bytes;
        }
        Action::Atomic => {
            traffic.atomics += simdgroups;
            traffic.bytes_loaded += bytes;
            traffic.bytes_stored += bytes;
        }
    }
}

/// Counts by place.
#[derive(Default)]
struct Sums(BTreeMap<String, LineCounts>);

impl Sums {
    fn at(&mut self, place: &str) -> &mut LineCounts {
        self.0.entry(place.to_owned()).or_default()
    }

    /// The places with most instructions first.
    fn sorted(self) -> Vec<LineCounts> {
        let named = self.0.into_iter();
        let named = named.map(|(place, counts)| LineCounts { place, ..counts });
        let mut all: Vec<LineCounts> = named.collect();
        all.sort_by_key(|row| std::cmp::Reverse(row.instructions));
        all
    }
}
