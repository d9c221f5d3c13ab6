//! Streaming: kernels whose threads have nothing to do with each other, over whole rows of the grid.
//!
//! The interpreter runs a few simdgroups at a time, and copies what it loads into registers. A kernel such as `y = a x + y` spends
//! most of its time on that. Where [`plan`] can prove that every thread reads and writes consecutive numbers that no other
//! thread writes, the order of threads does not matter: rows of the grid are cut into chunks of many simdgroups, and lane functions work on
//! buffers where they lie. Lane functions are those of the interpreter, so results have the same bits.
//!
//! A dispatch that could fault is not streamed: the interpreter says in which thread.

mod form;
mod plan;
mod steps;
#[cfg(test)]
mod tests;

use crate::code::Cell;
use crate::dispatch::Job;
use crate::error::{Fault, FaultKind};
use crate::lanes::{Lanes, Narrow, one_simdgroup};
use crate::memory::{Region, View};
use crate::simd::{Simd, SimdLevel, simd_variants};
use rayon::prelude::*;
use std::sync::atomic::Ordering;
use steps::{Action, Home, Operand, Placed, PlacedStep, Stream};

/// Simdgroups of a chunk, at most: operands of a step should still be in the nearest cache when the next one reads them.
const MOST_SIMDGROUPS: u32 = 64;
/// Bytes of scratch memory that stay in the nearest cache.
const CACHE: u32 = 24 << 10;
/// Threads of a row that a worker runs without a break.
const SEGMENT: u32 = 1 << 15;

/// A dispatch that can be streamed.
pub(crate) struct Plan<'a> {
    job: &'a Job<'a>,
    placed: Placed,
    streams: Vec<Stream>,
    level: SimdLevel,
    /// Threads of a chunk.
    chunk: u32,
}

// SAFETY: the streams point into the job's regions, which workers may share; no two threads access what one of them writes.
unsafe impl Sync for Plan<'_> {}

/// A worker's scratch memory: a simdgroup of lanes for each constant, then slots of as many lanes as a chunk has.
struct Scratch(Vec<Aligned>);

/// Lanes at the start of a cache line: vector loads across two lines cost twice.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Aligned(Narrow);

/// Some threads of a row.
#[derive(Clone, Copy)]
struct Segment {
    start: [u32; 3],
    threads: u32,
}

impl<'a> Plan<'a> {
    /// The plan of a dispatch; nothing if it has to be interpreted.
    pub(crate) fn of(job: &'a Job<'a>) -> Option<Self> {
        let nothing = Region::nothing();
        let view = View {
            shared: &job.regions,
            threadgroup: &nothing,
            thread: &nothing,
        };
        let found = plan::find(job, view)?;
        let placed = steps::place(&found);
        let simdgroups = (CACHE / 128 / placed.used.max(1)).clamp(8, MOST_SIMDGROUPS);
        Some(Self {
            job,
            placed,
            streams: found.streams,
            level: job.program.level,
            chunk: simdgroups * 32,
        })
    }

    /// Runs all threads.
    pub(crate) fn run(&self) -> Result<(), Box<Fault>> {
        let [width, height, depth] = self.job.grid.threads;
        let per_row = width.div_ceil(SEGMENT);
        let rows = u64::from(height) * u64::from(depth);
        let segments = u64::from(per_row) * rows;
        let run = |scratch: &mut Scratch, number: usize| {
            let number = number as u64;
            let (row, at) = (number / u64::from(per_row), number % u64::from(per_row));
            let x = at as u32 * SEGMENT;
            let (y, z) = (row % u64::from(height), row / u64::from(height));
            self.run_segment(
                scratch,
                Segment {
                    start: [x, y as u32, z as u32],
                    threads: SEGMENT.min(width - x),
                },
            )
        };
        let all = 0..segments as usize;
        // Waking another thread takes as long as tens of thousands of lanes.
        let fault = if rayon::current_num_threads() == 1 {
            let mut scratch = self.scratch();
            all.map(|number| run(&mut scratch, number))
                .find_map(Result::err)
        } else {
            all.into_par_iter()
                .with_min_len((SEGMENT / width.min(SEGMENT)).clamp(1, 1024) as usize)
                .map_init(|| self.scratch(), run)
                .find_map_any(Result::err)
        };
        fault.map_or(Ok(()), Err)
    }

    fn scratch(&self) -> Scratch {
        let constants = self
            .placed
            .constants
            .iter()
            .map(|&bits| Aligned([bits; 32]));
        let slots = self.placed.slots as usize * (self.chunk / 32) as usize;
        let empty = std::iter::repeat_n(Aligned([0; 32]), slots);
        Scratch(constants.chain(empty).collect())
    }

    fn run_segment(&self, scratch: &mut Scratch, segment: Segment) -> Result<(), Box<Fault>> {
        let cancel = self.job.limits.cancel;
        if cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
            return Err(Box::new(Fault {
                kernel: self.job.program.name.clone(),
                kind: FaultKind::Cancelled,
                place: None,
                thread: segment.start,
            }));
        }
        let variants = simd_variants!(
            [] (plan: &Plan<'_>, scratch: &mut Scratch, segment: Segment),
            |simd| plan.run_segment_at(simd, scratch, segment)
        );
        // SAFETY: a level exists only where the CPU has its instructions.
        unsafe { variants.select(self.level)(self, scratch, segment) };
        Ok(())
    }

    #[inline(always)]
    fn run_segment_at<S: Simd>(&self, _simd: S, scratch: &mut Scratch, segment: Segment) {
        let mut done = 0;
        while done < segment.threads {
            let left = segment.threads - done;
            // The last lanes of a row that are no whole simdgroup are a chunk by themselves.
            let threads = match left.min(self.chunk) {
                few @ ..32 => few,
                many => many & !31,
            };
            let [x, y, z] = segment.start;
            let chunk = Segment {
                start: [x + done, y, z],
                threads,
            };
            for step in &self.placed.steps {
                self.run_step(scratch, step, chunk);
            }
            done += threads;
        }
    }

    #[inline(always)]
    fn run_step(&self, scratch: &mut Scratch, step: &PlacedStep, chunk: Segment) {
        let whole = chunk.threads.is_multiple_of(32);
        if whole && step.elided {
            return;
        }
        let count = chunk.threads.div_ceil(32) as usize;
        let result = self.home(scratch, step.result, chunk);
        let operand = |at: usize| match step.operands[at] {
            Operand::Home(home) => Lanes::each(self.home(scratch, home, chunk).cast_const()),
            Operand::Constant(at) => {
                Lanes::same(scratch.0.as_ptr().wrapping_add(at as usize).cast())
            }
        };
        // SAFETY: `result` and operands are slots or streams with so many whole simdgroups: a stream is used directly only by
        // whole chunks, inside the addresses that `plan` has checked, and aligned. No other thread accesses what is written (`Plan`).
        // Lane functions are those for the program's level.
        unsafe {
            match step.action {
                Action::N1(f) => f(result, operand(0), count),
                Action::N2(f) => f(result, operand(0), operand(1), count),
                Action::N3(f) => f(result, operand(0), operand(1), operand(2), count),
                Action::Select => {
                    let (cond, yes, no) = (operand(0), operand(1), operand(2));
                    for at in 0..count {
                        one_simdgroup();
                        let (cond, yes, no) = (*cond.at(at), *yes.at(at), *no.at(at));
                        let to = &mut *result.add(at);
                        for lane in 0..32 {
                            to[lane] = if cond[lane] & 1 != 0 {
                                yes[lane]
                            } else {
                                no[lane]
                            };
                        }
                    }
                }
                Action::Positions(form) => {
                    let (first, stride) = (form.at(chunk.start) as u32, form.step[0] as u32);
                    for at in 0..count {
                        one_simdgroup();
                        let to = &mut *result.add(at);
                        for (lane, number) in to.iter_mut().enumerate() {
                            let index = (at * 32 + lane) as u32;
                            *number = first.wrapping_add(index.wrapping_mul(stride));
                        }
                    }
                }
                Action::Load(stream) => {
                    let stream = &self.streams[stream];
                    load(stream, chunk, result.cast());
                }
                Action::Store(stream) => store(&self.streams[stream], chunk, operand(0)),
            }
        }
    }

    #[inline(always)]
    fn home(&self, scratch: &Scratch, home: Home, chunk: Segment) -> *mut Narrow {
        match home.direct {
            Some(stream) if chunk.threads.is_multiple_of(32) => {
                self.streams[stream].at(chunk.start).cast()
            }
            _ => {
                let at = home.slot as usize * (self.chunk / 32) as usize;
                let slots = scratch.0.as_ptr().wrapping_add(self.placed.constants.len());
                slots.wrapping_add(at).cast_mut().cast()
            }
        }
    }
}

/// Copies a chunk's numbers from a stream to a slot.
///
/// # Safety
/// The chunk lies in the grid, and the slot has room for it.
#[inline(always)]
unsafe fn load(stream: &Stream, chunk: Segment, to: *mut u32) {
    let from = stream.at(chunk.start);
    let threads = chunk.threads as usize;
    // SAFETY: the numbers of all threads are in memory and aligned; no other thread writes them.
    unsafe {
        match stream.cell {
            Cell::Word => std::ptr::copy_nonoverlapping(from.cast(), to, threads),
            Cell::Short => {
                for at in 0..threads {
                    *to.add(at) = u32::from(*from.cast::<u16>().add(at));
                }
            }
            Cell::Truth => {
                for at in 0..threads {
                    *to.add(at) = u32::from(*from.add(at) != 0);
                }
            }
            Cell::Byte | Cell::Long => {
                for at in 0..threads {
                    *to.add(at) = u32::from(*from.add(at));
                }
            }
        }
    }
}

/// Copies a chunk's numbers to a stream: whole simdgroups, or some lanes of one.
///
/// # Safety
/// As for [`load`].
#[inline(always)]
unsafe fn store(stream: &Stream, chunk: Segment, from: Lanes<Narrow>) {
    let to = stream.at(chunk.start);
    let threads = chunk.threads as usize;
    // SAFETY: as above; no other thread accesses them. `from` may be the same memory or another stream that does not overlap.
    unsafe {
        if threads < 32 {
            let lanes = *from.at(0);
            return store_lanes(stream.cell, to, &lanes[..threads]);
        }
        for at in 0..threads / 32 {
            let lanes = *from.at(at);
            let distance = at * 32 * stream.cell.bytes() as usize;
            store_lanes(stream.cell, to.add(distance), &lanes);
        }
    }
}

/// # Safety
/// There is memory for the lanes, aligned as their cells are.
#[inline(always)]
unsafe fn store_lanes(cell: Cell, to: *mut u8, lanes: &[u32]) {
    // SAFETY: as the caller promises.
    unsafe {
        match cell {
            Cell::Word => std::ptr::copy_nonoverlapping(lanes.as_ptr(), to.cast(), lanes.len()),
            Cell::Short => {
                for (at, &number) in lanes.iter().enumerate() {
                    *to.cast::<u16>().add(at) = number as u16;
                }
            }
            Cell::Truth => {
                for (at, &number) in lanes.iter().enumerate() {
                    *to.add(at) = number as u8 & 1;
                }
            }
            Cell::Byte | Cell::Long => {
                for (at, &number) in lanes.iter().enumerate() {
                    *to.add(at) = number as u8;
                }
            }
        }
    }
}
