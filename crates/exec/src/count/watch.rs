//! The watch that counts.

use super::depth::{Depths, State};
use super::form::{Runs, passes_by_form, passes_of_all};
use super::model::{Blocks, Cache, LINE, Outcome, Recent, SECTOR, bank_passes};
use super::pattern::{Patterns, Scattered};
use super::stretch::{Stretch, WITHIN, stretches};
use super::{Class, Counts, LineCounts, Traffic};
use crate::code::{Program, Transfer};
use crate::dispatch::Job;
use crate::interpret::Batch;
use crate::interpret::watch::{Seen, Sum, Watch};
use crate::memory::{Action, OFFSET_BITS, OFFSET_MASK, THREAD, THREADGROUP};
use crate::position::Standpoint;
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
    stretches: Vec<Stretch>,
    /// For each operation the stretch that begins with it.
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
        let (stretches, begins) = stretches(program);
        Self {
            program,
            counts: Counts {
                fewest: u64::MAX,
                ..Counts::default()
            },
            tallies: vec![Tally::default(); program.ops.len()],
            depths: Depths::new(program, stretches.len()),
            stretches,
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
    fn device(&mut self, seen: &Seen<'_>) {
        note(&mut self.counts.device.traffic, seen, 1);
        let mut done = 0;
        while done < seen.size {
            let size = (seen.size - done).min(16);
            self.counts.device.accesses += 1;
            match Runs::of(seen, done, size) {
                Some(Runs {
                    bytes: [(first, last), ..],
                    len: 1,
                }) => {
                    let sectors = last / SECTOR - first / SECTOR + 1;
                    self.lines(seen, first / LINE..=last / LINE, sectors);
                }
                Some(runs) => {
                    let sectors = runs.blocks(SECTOR).as_slice().len();
                    let lines = runs.blocks(LINE);
                    self.lines(seen, lines.as_slice().iter().copied(), sectors as u64);
                }
                None => self.scattered(seen, done, size),
            }
            done += size;
        }
    }

    /// Lanes whose addresses follow no rule.
    #[inline(never)]
    fn scattered(&mut self, seen: &Seen<'_>, done: u32, size: u32) {
        let mut addresses = seen.all_addresses();
        for address in &mut addresses {
            *address = address.wrapping_add(done.into());
        }
        let of = Scattered {
            addresses: &addresses,
            mask: seen.mask,
            size,
        };
        let mut patterns = std::mem::take(&mut self.patterns);
        let blocks = |block| Blocks::of(&addresses, seen.mask, size.into(), block);
        let (sectors, lines) = patterns.count(seen.position, of, LINE, || {
            (blocks(SECTOR).as_slice().len() as u64, Some(blocks(LINE)))
        });
        let first = addresses[0] / LINE;
        let lines = lines.iter().map(|line| first.wrapping_add(*line));
        self.lines(seen, lines, sectors);
        self.patterns = patterns;
    }

    /// Lines of device memory are accessed, and so many sectors of them.
    #[inline(always)]
    fn lines(&mut self, seen: &Seen<'_>, lines: impl Iterator<Item = u64>, sectors: u64) {
        let mut count = 0;
        for line in lines {
            self.line(seen.action, seen.simdgroup(), line);
            count += 1;
        }
        self.counts.device.lines += count;
        self.counts.device.sectors += sectors;
        self.tallies[seen.position].lines += count;
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
    fn device_rows(&mut self, seen: &Seen<'_>, transfer: &Transfer, running: Range<usize>) {
        let extent = u64::from(31 * seen.form.step + seen.size - 1);
        let (mut lines, mut sectors) = (0, 0);
        for simdgroup in running {
            let first = seen.address_of(transfer, simdgroup - seen.group.number, 0);
            let last = first + extent;
            sectors += last / SECTOR - first / SECTOR + 1;
            for line in first / LINE..=last / LINE {
                self.line(seen.action, simdgroup, line);
                lines += 1;
            }
        }
        self.counts.device.lines += lines;
        self.counts.device.sectors += sectors;
        self.tallies[seen.position].lines += lines;
    }

    /// Several rows of device memory for each simdgroup: those of a threadgroup sixteen or eight wide.
    #[inline(always)]
    fn device_short_rows(&mut self, seen: &Seen<'_>, sum: &Sum, running: Range<usize>) {
        let length = seen.form.length;
        let extent = u64::from((length - 1) * seen.form.step + seen.size - 1);
        let (mut lines, mut sectors) = (0, 0);
        for simdgroup in running {
            let row = |lane: u32| {
                let first = sum.address(simdgroup - seen.group.number, lane as usize);
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
                    self.line(seen.action, simdgroup, line);
                    lines += 1;
                }
            }
        }
        self.counts.device.lines += lines;
        self.counts.device.sectors += sectors;
        self.tallies[seen.position].lines += lines;
    }

    #[inline(always)]
    fn threadgroup(&mut self, seen: &Seen<'_>) {
        let counts = &mut self.counts.threadgroup;
        note(&mut counts.traffic, seen, 1);
        let words = seen.size.div_ceil(4);
        counts.accesses += u64::from(words);
        if let Some(passes) = passes_by_form(seen) {
            counts.bank_passes += u64::from(words * passes);
            return;
        }
        let addresses = seen.all_addresses();
        let of = Scattered {
            addresses: &addresses,
            mask: seen.mask,
            size: seen.size,
        };
        let passes = |word| bank_passes(&addresses, seen.mask, u64::from(word) * 4);
        let (passes, _) = self.patterns.count(seen.position, of, 4, || {
            ((0..words).map(passes).map(u64::from).sum(), None)
        });
        counts.bank_passes += passes;
    }
}

impl Watch for Counter<'_> {
    const ACTIVE: bool = true;
    const DESCRIBES: bool = true;
    const ALLOWS: bool = true;

    #[inline(always)]
    fn step(&mut self, position: usize, group: &Batch) {
        let begins = self.begins[position];
        if begins == WITHIN {
            return;
        }
        let stretch = &mut self.stretches[begins as usize];
        let ops = stretch.first..stretch.end;
        if let Some(range) = group.all_running() {
            stretch.runs += range.len() as u64;
            stretch.lanes += range.len() as u64 * 32;
            let states = &mut self.states[range.clone()];
            for own in &mut self.own[range] {
                *own += stretch.instructions;
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
            for at in group.running() {
                let simdgroup = group.number + at;
                stretch.runs += 1;
                stretch.lanes += u64::from(group.mask_of(at).count_ones());
                self.own[simdgroup] += stretch.instructions;
                let state = &mut self.states[simdgroup];
                *state = self.depths.follow(*state, begins, ops.clone());
            }
        }
        if self.depths.is_full() {
            self.depths.forget(&mut self.states);
        }
    }

    #[inline(always)]
    fn access(&mut self, seen: &Seen<'_>) -> u32 {
        if seen.mask != 0 && seen.size != 0 {
            let lanes = u64::from(seen.mask.count_ones());
            self.tallies[seen.position].bytes += lanes * u64::from(seen.size);
            let first = seen.mask.trailing_zeros() as usize;
            match seen.address(first) >> OFFSET_BITS {
                THREADGROUP => self.threadgroup(seen),
                THREAD => note(&mut self.counts.thread_memory, seen, 1),
                _ => self.device(seen),
            }
        }
        seen.mask
    }

    #[inline(always)]
    fn access_by_all(&mut self, seen: &Seen<'_>) -> bool {
        let (Some(running), Some(transfer)) = (seen.group.all_running(), seen.transfer) else {
            return false;
        };
        let (count, words) = (running.len() as u64, u64::from(seen.size.div_ceil(4)));
        let row = seen.form.length == 32;
        match seen.address(0) >> OFFSET_BITS {
            THREADGROUP if row && seen.form.step <= 4 => {
                let counts = &mut self.counts.threadgroup;
                note(&mut counts.traffic, seen, count);
                counts.accesses += words * count;
                counts.bank_passes += words * count;
            }
            THREADGROUP if seen.form.length == 16 && matches!(seen.form.step, 0 | 4) => {
                let Some(passes) = passes_of_all(seen, transfer, running) else {
                    return false;
                };
                let counts = &mut self.counts.threadgroup;
                note(&mut counts.traffic, seen, count);
                counts.accesses += words * count;
                counts.bank_passes += words * passes;
            }
            THREADGROUP | THREAD => return false,
            _ if row && seen.size <= 16 && u64::from(seen.form.step) <= SECTOR => {
                note(&mut self.counts.device.traffic, seen, count);
                self.counts.device.accesses += count;
                self.device_rows(seen, transfer, running);
            }
            _ if seen.size <= 16 && u64::from(seen.form.step) <= SECTOR && seen.sum.is_some() => {
                let (Some(sum), 8 | 16) = (&seen.sum, seen.form.length) else {
                    return false;
                };
                note(&mut self.counts.device.traffic, seen, count);
                self.counts.device.accesses += count;
                self.device_short_rows(seen, sum, running);
            }
            _ => return false,
        }
        self.tallies[seen.position].bytes += count * 32 * u64::from(seen.size);
        true
    }

    fn start(&mut self, _number: u64) {
        self.group = self.group.saturating_add(1);
        self.cache = Cache::new();
        self.own.fill(0);
        self.states.fill(Depths::START);
    }

    fn meet(&mut self, _batches: &[Batch], _standpoint: &Standpoint<'_>) {
        self.settle();
    }
}

/// Adds the same access by so many simdgroups to sums.
#[inline(always)]
fn note(traffic: &mut Traffic, seen: &Seen<'_>, simdgroups: u64) {
    let bytes = u64::from(seen.mask.count_ones()) * u64::from(seen.size) * simdgroups;
    match seen.action {
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
