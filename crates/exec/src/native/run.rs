//! Runs machine code over a grid.
//!
//! Whole threadgroups are run by it, those cut off at the grid's edges by the interpreter. A simdgroup is a call; where the code
//! has barriers, a coroutine that is resumed in turns with the others of its threadgroup.

use super::{Code, Source};
use crate::bindings::Bindings;
use crate::buffer::Buffer;
use crate::dispatch::{Job, Limits, Statistics, Worker};
use crate::error::{Fault, FaultKind, RunError};
use crate::geometry::Grid;
use crate::interpret::observer::NoObserver;
use crate::interpret::{Batch, ExecutionContext, Trap};
use crate::memory::{OFFSET_BITS, Region, THREADGROUP, View};
use crate::position::GridPosition;
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};

/// What the code of a simdgroup is given. Offsets are known to it.
#[repr(C)]
struct Context {
    table: *const [u64; 3],
    regions: u64,
    pointers: *const [u64; 5],
    frame: *mut u8,
    narrow: *mut u8,
    wide: *mut u8,
    bases: *const u32,
    lanes: *const [u32; 32],
    cancel: *const u8,
    max_steps: u64,
    mask: u32,
    simdgroup: u32,
    cold: unsafe extern "C" fn(*mut Context, u64) -> u32,
    stop: unsafe extern "C" fn(*mut Context, u64, u64) -> u32,
    allocate: unsafe extern "C" fn(*mut Context, u64) -> *mut u8,
    shared: *mut Shared,
    /// What it was stopped by.
    trap: Option<Trap>,
    arena: Buffer,
    handle: *mut u8,
}

/// Offsets of a context's fields.
pub(super) mod field {
    use super::Context;
    use std::mem::offset_of;

    pub(in crate::native) const TABLE: usize = offset_of!(Context, table);
    pub(in crate::native) const REGIONS: usize = offset_of!(Context, regions);
    pub(in crate::native) const POINTERS: usize = offset_of!(Context, pointers);
    pub(in crate::native) const FRAME: usize = offset_of!(Context, frame);
    pub(in crate::native) const NARROW: usize = offset_of!(Context, narrow);
    pub(in crate::native) const WIDE: usize = offset_of!(Context, wide);
    pub(in crate::native) const BASES: usize = offset_of!(Context, bases);
    pub(in crate::native) const LANES: usize = offset_of!(Context, lanes);
    pub(in crate::native) const CANCEL: usize = offset_of!(Context, cancel);
    pub(in crate::native) const MAX_STEPS: usize = offset_of!(Context, max_steps);
    pub(in crate::native) const MASK: usize = offset_of!(Context, mask);
    pub(in crate::native) const COLD: usize = offset_of!(Context, cold);
    pub(in crate::native) const STOP: usize = offset_of!(Context, stop);
    pub(in crate::native) const ALLOCATE: usize = offset_of!(Context, allocate);
}

/// What calls back into the interpreter need: its registers, and where the threadgroup stands.
struct Shared {
    batch: Batch,
    context: *const ExecutionContext<'static>,
}

/// The mode of the CPU's float instructions, which is what it was again when this is dropped.
///
/// Code counts denormal operands as zero by this mode; results it flushes itself, since the CPU would also flush what is rounded up to
/// the smallest normal number.
struct ControlWord {
    #[cfg(target_arch = "x86_64")]
    before: u32,
}

impl ControlWord {
    /// No exceptions, to the nearest, denormals as they are.
    const USUAL: u32 = 0x1f80;
    /// The same with denormal operands counted as zero.
    const DENORMALS_ARE_ZERO: u32 = 0x1fc0;

    #[cfg(target_arch = "x86_64")]
    fn set(word: u32) -> Self {
        let mut before = 0u32;
        // SAFETY: reads and writes the control word; whoever calls this does no float arithmetic until it is set back, but by code
        // that is made for the mode.
        unsafe {
            std::arch::asm!(
                "stmxcsr [{before}]", "ldmxcsr [{word}]",
                before = in(reg) &raw mut before, word = in(reg) &raw const word,
                options(nostack, preserves_flags)
            );
        }
        Self { before }
    }

    /// Code is made for x86-64 alone.
    #[cfg(not(target_arch = "x86_64"))]
    fn set(_word: u32) -> Self {
        Self {}
    }
}

impl Drop for ControlWord {
    fn drop(&mut self) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        unsafe {
            std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const self.before, options(nostack, preserves_flags));
        }
    }
}

/// Alignment of a coroutine's frame.
const FRAME_ALIGN: usize = 128;

/// Runs an operation by the interpreter. Returns 1 if it failed.
unsafe extern "C" fn cold(context: *mut Context, position: u64) -> u32 {
    // SAFETY: the code passes the context it was given, which is used by nothing else meanwhile; what it points to lives
    // as long as the threadgroup runs (`NativeWorker::run_group`).
    let (context, batch, execution) = unsafe {
        let shared = &mut *(*context).shared;
        (&mut *context, &mut shared.batch, &*shared.context)
    };
    let own = execution.of_simdgroup(context.simdgroup as usize);
    let result = {
        let _mode = ControlWord::set(ControlWord::USUAL);
        batch.run_one(&own, position as usize, context.mask)
    };
    match result {
        Ok(()) => 0,
        Err(trap) => {
            context.trap = Some(trap);
            1
        }
    }
}

/// Notes that a loop ran too long, or that someone asked for an end.
unsafe extern "C" fn stop(context: *mut Context, position: u64, steps: u64) -> u32 {
    // SAFETY: as above.
    let context = unsafe { &mut *context };
    let kind = match steps > context.max_steps {
        true => FaultKind::TooManySteps { steps },
        false => FaultKind::Cancelled,
    };
    context.trap = Some(Trap {
        kind,
        position: position as usize,
        lane: context.mask.trailing_zeros() as usize & 31,
    });
    1
}

/// Memory for the frame of a coroutine.
unsafe extern "C" fn allocate(context: *mut Context, bytes: u64) -> *mut u8 {
    // SAFETY: as above.
    let context = unsafe { &mut *context };
    let bytes = bytes as usize + FRAME_ALIGN;
    if context.arena.len() < bytes {
        context.arena = Buffer::zeroed(bytes);
    }
    let start = context.arena.as_mut_ptr();
    start.wrapping_add(start.align_offset(FRAME_ALIGN))
}

/// One worker's memory, kept from threadgroup to threadgroup.
struct NativeWorker {
    shared: Box<Shared>,
    contexts: Vec<Context>,
    frames: Vec<Buffer>,
    threadgroup: Buffer,
    pointers: Vec<[u64; 5]>,
    bases: Vec<Vec<u32>>,
    lanes: Vec<Vec<[u32; 32]>>,
    /// For threadgroups at the edges.
    interpreter: Option<Worker>,
}

/// Never set: for dispatches that nobody can cancel.
static NOT_CANCELLED: AtomicBool = AtomicBool::new(false);

/// A dispatch that is run by machine code.
struct NativeJob<'a> {
    job: &'a Job<'a>,
    code: &'a Code,
    source: &'a Source,
    table: Vec<[u64; 3]>,
}

/// Runs a program's code over a grid, from a threadgroup on. The interpreter's need for memory was found to be within the limit: this is of its order.
pub(super) fn run(
    source: &Source,
    (code, first): (&Code, u64),
    grid: &Grid,
    bindings: &mut Bindings,
    limits: &Limits<'_>,
) -> Result<Statistics, RunError> {
    let program = &source.program;
    let job = program.job(grid, bindings, limits)?;
    let workers = rayon::current_num_threads() as u64;
    let table = job.regions.iter().map(Region::row).collect();
    let native = NativeJob {
        job: &job,
        code,
        source,
        table,
    };
    let groups = job.groups();
    let fault = if program.in_order || workers == 1 || groups == 1 {
        let mut worker = native.worker();
        (first..groups).find_map(|number| native.run_group(&mut worker, number).err())
    } else {
        // Shares of several threadgroups: making a worker takes time.
        let left = groups.saturating_sub(first);
        let share = left.div_ceil(workers * 8).max(1);
        (0..left.div_ceil(share))
            .into_par_iter()
            .map_init(
                || native.worker(),
                |worker, at| {
                    let from = first + at * share;
                    (from..(from + share).min(groups))
                        .try_for_each(|number| native.run_group(worker, number))
                },
            )
            .find_map_first(Result::err)
    };
    match fault {
        Some(fault) => Err(fault.into()),
        None => Ok(Statistics {
            threadgroups: groups,
            threads: grid.threads.iter().map(|&n| u64::from(n)).product(),
        }),
    }
}

impl NativeJob<'_> {
    fn worker(&self) -> NativeWorker {
        let (job, program) = (self.job, &self.source.program);
        let simdgroups = job.simdgroups() as usize;
        let threads = self.job.grid.threadgroup.iter().product::<u32>();
        let mut batch = Batch::new(program, &job.pointers, 0, 1);
        batch.start(program, &job.pointers, 32);
        let mut worker = NativeWorker {
            shared: Box::new(Shared {
                batch,
                context: std::ptr::null(),
            }),
            contexts: Vec::new(),
            frames: Vec::new(),
            threadgroup: Buffer::zeroed(job.threadgroup_bytes as usize),
            pointers: Vec::new(),
            bases: Vec::new(),
            lanes: Vec::new(),
            interpreter: None,
        };
        let base = worker.threadgroup.as_mut_ptr() as u64;
        for &(_, address) in &job.pointers {
            let region = address >> OFFSET_BITS;
            let [base, len, writable] = match region {
                THREADGROUP => [base, worker.threadgroup.len() as u64, 1],
                _ => self.table.get(region as usize).copied().unwrap_or([0; 3]),
            };
            let start = region << OFFSET_BITS;
            worker.pointers.push([address, start, base, len, writable]);
        }
        let (narrow, wide) = worker.shared.batch.hold_all();
        let shared: *mut Shared = &mut *worker.shared;
        let count = self.source.positions.len();
        worker.bases = vec![vec![0; count]; simdgroups];
        worker.lanes = vec![vec![[0; 32]; count]; simdgroups];
        for simdgroup in 0..simdgroups {
            let mut frame = Buffer::zeroed(program.frame as usize * 32);
            let left = threads.saturating_sub(simdgroup as u32 * 32).min(32);
            worker.contexts.push(Context {
                table: self.table.as_ptr(),
                regions: self.table.len() as u64,
                pointers: worker.pointers.as_ptr(),
                frame: frame.as_mut_ptr(),
                narrow,
                wide,
                bases: worker.bases[simdgroup].as_ptr(),
                lanes: worker.lanes[simdgroup].as_ptr(),
                cancel: self
                    .job
                    .limits
                    .cancel
                    .unwrap_or(&NOT_CANCELLED)
                    .as_ptr()
                    .cast(),
                max_steps: self.job.limits.max_steps,
                mask: ((1u64 << left) - 1) as u32,
                simdgroup: simdgroup as u32,
                cold,
                stop,
                allocate,
                shared,
                trap: None,
                arena: Buffer::zeroed(0),
                handle: std::ptr::null_mut(),
            });
            worker.frames.push(frame);
        }
        worker
    }

    fn run_group(&self, worker: &mut NativeWorker, number: u64) -> Result<(), Box<Fault>> {
        let (job, program) = (self.job, &self.source.program);
        let group = job.grid.group(number);
        if group.size != job.grid.threadgroup {
            let interpreter = worker.interpreter.get_or_insert_with(|| job.worker());
            return job.run_group(interpreter, number, &mut NoObserver);
        }
        let cancelled = |cancel: &AtomicBool| cancel.load(Ordering::Relaxed);
        if job.limits.cancel.is_some_and(cancelled) {
            return Err(Box::new(Fault {
                kernel: program.name.clone(),
                kind: FaultKind::Cancelled,
                place: None,
                thread: group.origin,
            }));
        }
        worker.threadgroup.bytes_mut().fill(0);
        let (base, len) = (worker.threadgroup.as_mut_ptr(), worker.threadgroup.len());
        // SAFETY: the worker's memory is only accessed through regions, by code and interpreter in turns, until the threadgroup has ended.
        let threadgroup = unsafe { Region::shared(base, len, true, "threadgroup memory") };
        let frame_bytes = program.frame;
        let frames: Vec<Region> = worker
            .frames
            .iter_mut()
            .map(|frame| {
                frame.bytes_mut().fill(0);
                // SAFETY: as above; a frame has 32 times as many bytes.
                unsafe { Region::per_lane(frame.as_mut_ptr(), frame_bytes, "thread memory") }
            })
            .collect();
        let nothing = Region::nothing();
        let simdgroups = worker.contexts.len();
        let context = ExecutionContext {
            program,
            memory: View {
                shared: &job.regions,
                threadgroup: &threadgroup,
                thread: &nothing,
            },
            frames: &frames,
            grid_position: GridPosition {
                grid: job.grid,
                group,
                number,
                simdgroups: simdgroups as u32,
                simdgroup: 0,
            },
            alone: simdgroups == 1,
            max_steps: job.limits.max_steps,
            cancel: job.limits.cancel,
            forgiven: job.limits.forgiven,
        };
        worker.shared.context = (&raw const context).cast();
        let result = self.run_simdgroups(worker, &context);
        worker.shared.context = std::ptr::null();
        result?;
        if let Some(finished) = job.limits.finished {
            finished.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Runs the simdgroups of a threadgroup, each to its next barrier or its end, in turns.
    fn run_simdgroups(
        &self,
        worker: &mut NativeWorker,
        context: &ExecutionContext<'_>,
    ) -> Result<(), Box<Fault>> {
        let threads = self.job.grid.threadgroup.iter().product::<u32>();
        for simdgroup in 0..worker.contexts.len() {
            self.place(worker, context, simdgroup);
            let own = &mut worker.contexts[simdgroup];
            let left = threads.saturating_sub(simdgroup as u32 * 32).min(32);
            own.mask = ((1u64 << left) - 1) as u32;
            own.trap = None;
            own.handle = std::ptr::null_mut();
        }
        // Nothing between the calls of code is float arithmetic; the interpreter's functions set the usual mode for themselves.
        let mode = ControlWord::set(ControlWord::DENORMALS_ARE_ZERO);
        let faulty = self.run_in_turns(&mut worker.contexts);
        drop(mode);
        match faulty {
            Some(simdgroup) => self.check(&mut worker.contexts[simdgroup], context),
            None => Ok(()),
        }
    }

    /// Returns the simdgroup that was stopped, if one was.
    fn run_in_turns(&self, contexts: &mut [Context]) -> Option<usize> {
        let mut running = 0;
        for (simdgroup, own) in contexts.iter_mut().enumerate() {
            // SAFETY: the function is the code of this program, made for contexts of this layout; all that the context points
            // to lives until the threadgroup has ended.
            let handle = unsafe { self.code.start(std::ptr::from_mut(own).cast()) };
            if own.trap.is_some() {
                return Some(simdgroup);
            }
            // SAFETY: as above.
            if !handle.is_null() && !unsafe { self.code.is_done(handle) } {
                own.handle = handle;
                running += 1;
            }
        }
        while running > 0 {
            for (simdgroup, own) in contexts.iter_mut().enumerate() {
                if own.handle.is_null() {
                    continue;
                }
                // SAFETY: the coroutine is suspended at a barrier.
                let done = unsafe {
                    self.code.resume(own.handle);
                    self.code.is_done(own.handle)
                };
                if own.trap.is_some() {
                    return Some(simdgroup);
                }
                if done {
                    own.handle = std::ptr::null_mut();
                    running -= 1;
                }
            }
        }
        None
    }

    /// Writes down the positions that a simdgroup asks for.
    fn place(&self, worker: &mut NativeWorker, context: &ExecutionContext<'_>, simdgroup: usize) {
        let at = context.grid_position.of_simdgroup(simdgroup as u32);
        for (index, &(which, axis)) in self.source.positions.iter().enumerate() {
            if self.code.scalar_positions[index] {
                let affine = at.affine(which, axis.into(), 1);
                worker.bases[simdgroup][index] = affine.map_or(0, |(base, _)| base);
            } else {
                worker.lanes[simdgroup][index] = at.value(which, axis.into()).unwrap_or([0; 32]);
            }
        }
    }

    fn check(&self, own: &mut Context, context: &ExecutionContext<'_>) -> Result<(), Box<Fault>> {
        match own.trap.take() {
            None => Ok(()),
            Some(trap) => Err(self
                .job
                .fault(trap, &context.of_simdgroup(own.simdgroup as usize))),
        }
    }
}
