//! Runs the bytecode of simdgroups.
//!
//! | file | what it does |
//! |---|---|
//! | `batch` | [`Batch`]: simdgroups that run in step, made of `registers`, `masks` and their progress |
//! | `control_ops` | where lanes diverge and meet again: the operations that change a mask |
//! | `lazy`, `affine`, `strides` | registers kept as formulas; `registers` materialises them |
//! | `lane_ops`, `lazy_ops`, `lane_interval` | arithmetic on lanes, and on formulas instead of lanes |
//! | `moves` | moves, selections, pointer arithmetic |
//! | `transfer`, `contiguous`, `lane_copy` | loads and stores |
//! | `addresses`, `address_range` | addresses of loads and stores: where an affine address becomes lanes |
//! | `cold_ops`, `matrix_ops`, `bulk_copy`, `texture_ops`, `texture_plan` | operations that are too rare for the loop |
//! | `native_ops` | single operations, for machine code |
//! | `observer`, `events` | hooks for checking and counting |
//!
//! The loop in [`Batch::run`] is compiled once for each [level](crate::simd) of vector instructions and each observer, with
//! loads, stores and pointer arithmetic inside it; arithmetic is called through the pointers of [`crate::lanes`], which were
//! selected for the same level.

mod address_range;
mod addresses;
mod affine;
mod batch;
mod bulk_copy;
mod cold_ops;
mod contiguous;
mod control_ops;
mod events;
mod lane_copy;
mod lane_interval;
mod lane_ops;
mod lazy;
mod lazy_ops;
mod masks;
mod matrix_ops;
mod moves;
#[cfg(feature = "native")]
mod native_ops;
pub(crate) mod observer;
mod registers;
mod strides;
mod texture_ops;
mod texture_plan;
mod transfer;

pub(crate) use batch::{Batch, MAX_SIMDGROUPS};
pub(crate) use lazy_ops::decide;

use crate::code::{Op, Program};
use crate::error::{Fault, FaultKind, Forgiven};
use crate::memory::{Action, Region, View};
use crate::position::GridPosition;
use crate::simd::{Simd, simd_variants};
use observer::Observer;
use std::sync::atomic::AtomicBool;
use transfer::Access;

/// Why a batch stopped running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// All simdgroups of the batch that have not ended stand at a barrier.
    Barrier,
    /// Some of them do: the batch must be split.
    Parted,
    /// The batch is in a loop, and its turn is over.
    TurnOver,
    Finished,
}

/// A fault with the operation and lane it happened in.
#[derive(Debug)]
pub(crate) struct Trap {
    pub(crate) kind: FaultKind,
    pub(crate) position: usize,
    pub(crate) lane: usize,
}

/// The execution context of a batch: its program, memory, place in the grid and limits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExecutionContext<'a> {
    pub(crate) program: &'a Program,
    pub(crate) memory: View<'a>,
    /// Thread memory of each simdgroup of the threadgroup.
    pub(crate) frames: &'a [Region],
    pub(crate) grid_position: GridPosition<'a>,
    /// True if the batch is the whole threadgroup.
    pub(crate) alone: bool,
    pub(crate) max_steps: u64,
    pub(crate) cancel: Option<&'a AtomicBool>,
    pub(crate) forgiven: Option<&'a Forgiven>,
}

impl ExecutionContext<'_> {
    /// A fault of a lane of the simdgroup that the context is of.
    pub(crate) fn fault(&self, kind: FaultKind, position: usize, lane: usize) -> Fault {
        Fault {
            kernel: self.program.name.clone(),
            kind,
            place: self.program.place(position),
            thread: self.grid_position.thread(lane as u32),
        }
    }

    /// The context of the current simdgroup of a batch.
    pub(crate) fn of(&self, batch: &Batch) -> Self {
        self.of_simdgroup(batch.first_simdgroup + batch.progress.current)
    }

    /// The context of a simdgroup of the threadgroup.
    pub(crate) fn of_simdgroup(&self, number: usize) -> Self {
        let thread = self.frames.get(number).unwrap_or(self.memory.thread);
        Self {
            memory: View {
                thread,
                ..self.memory
            },
            grid_position: self.grid_position.of_simdgroup(number as u32),
            ..*self
        }
    }
}

impl Batch {
    /// Runs until a barrier or the end.
    pub(crate) fn run<O: Observer>(
        &mut self,
        context: &ExecutionContext<'_>,
        observer: &mut O,
    ) -> Result<Stop, Trap> {
        let (program, simdgroups) = (context.program, self.simdgroups);
        assert!(
            self.registers.narrow.has_size(program.narrow, simdgroups)
                && self.registers.wide.has_size(program.wide, simdgroups)
                && self.masks.slots.len() == program.slots as usize,
            "a batch runs the program it was made for"
        );
        let variants = simd_variants!(
            [O: Observer] (batch: &mut Batch, context: &ExecutionContext<'_>, observer: &mut O) -> Result<Stop, Trap>,
            |simd| batch.run_at(simd, context, observer)
        );
        // SAFETY: a level exists only where the CPU has its instructions.
        unsafe { variants.select(program.level)(self, context, observer) }
    }

    /// The interpreter's loop: a flat match over operations.
    #[inline(always)]
    fn run_at<O: Observer, S: Simd>(
        &mut self,
        simd: S,
        context: &ExecutionContext<'_>,
        observer: &mut O,
    ) -> Result<Stop, Trap> {
        let program = context.program;
        let mut next = self.progress.next;
        loop {
            let position = next;
            let Some(op) = program.ops.get(position) else {
                self.progress.finished = true;
                return Ok(Stop::Finished);
            };
            next += 1;
            if O::OBSERVES {
                observer.before_operation(position, self);
            }
            match *op {
                Op::N1 { f, d, a } => self.apply_n1::<O>(f, d, a),
                Op::N2 { f, rule, d, a, b } => {
                    self.apply_n2::<O, S>(simd, op, (f, rule), [d, a, b]);
                }
                Op::N3 { f, d, a, b, c } => self.apply_n3::<O>(f, d, [a, b, c]),
                Op::W1 { f, d, a } => self.apply_w1::<O>(f, d, a),
                Op::W2 { f, d, a, b, .. } => self.apply_w2::<O, S>(simd, op, f, [d, a, b]),
                Op::Widen { f, d, a, .. } => self.apply_widen::<O, S>(simd, op, f, [d, a]),
                Op::Narrowing { f, d, a, .. } => self.apply_narrowing::<O, S>(simd, op, f, [d, a]),
                Op::Compare { f, d, a, b, .. } => {
                    self.apply_compare::<O, S>(simd, op, f, [d, a, b]);
                }
                Op::SelectNarrow { d, cond, yes, no } => {
                    if !O::LAZY || !self.try_lazy(simd, op) {
                        self.select_narrow::<O>(d, cond, yes, no);
                    }
                }
                Op::SelectWide { d, cond, yes, no } => {
                    if !O::LAZY || !self.try_lazy(simd, op) {
                        self.select_wide::<O>(d, cond, yes, no);
                    }
                }
                Op::PtrAdd {
                    d,
                    base,
                    index,
                    kind,
                    scale,
                    offset,
                } => {
                    self.apply_ptr_add::<O, S>(simd, op, [d, base, index], kind, (scale, offset));
                }
                Op::Load { transfer } => {
                    let transfer = &program.transfers[transfer as usize];
                    self.load_or_store::<O, S>(
                        simd,
                        context,
                        observer,
                        Access {
                            transfer,
                            action: Action::Read,
                            position,
                        },
                    )?;
                }
                Op::Store { transfer } => {
                    let transfer = &program.transfers[transfer as usize];
                    self.load_or_store::<O, S>(
                        simd,
                        context,
                        observer,
                        Access {
                            transfer,
                            action: Action::Write,
                            position,
                        },
                    )?;
                }
                Op::MoveNarrow { d, a } => self.move_narrow::<O>(d, a),
                Op::MoveWide { d, a } => self.move_wide::<O>(d, a),
                Op::Moves { list, wide } => self.moves::<O>(program.list(list), wide),
                Op::If {
                    cond,
                    wanted,
                    slot,
                    target,
                } => {
                    if self.begin_if(simd, cond, wanted, slot) {
                        next = target as usize;
                    }
                }
                Op::Else { slot, target } => {
                    if !self.begin_else(slot) {
                        // No lane waits for the second arm: past the end of the if.
                        next = target as usize + 1;
                    }
                }
                Op::EndIf { slot } => self.join(slot + 1),
                Op::EndThen { slot } | Op::ScopeEnd { slot } => self.join(slot),
                Op::ScopeBegin { slot } => self.begin_scope(slot),
                Op::LoopEnd { slot, target } => {
                    if self.end_iteration(slot) {
                        next = target as usize;
                        if self.count_iteration(context, observer, position, next)? {
                            self.progress.next = next;
                            return Ok(Stop::TurnOver);
                        }
                    }
                }
                Op::Leave { slot } => self.leave(slot),
                Op::SkipIfNone { target } => {
                    if self.masks.is_idle() {
                        next = target as usize;
                    }
                }
                Op::Return => self.return_active(),
                Op::Unreachable => {
                    if !self.masks.is_idle() {
                        return Err(self.trap(FaultKind::Unreachable, position));
                    }
                }
                Op::Barrier { .. } => {
                    if let Some(stop) = self.stop_at_barrier::<O>(context, next) {
                        return Ok(stop);
                    }
                }
                Op::Order { flags, .. } => {
                    if O::OBSERVES {
                        observer.on_simdgroup_barrier(self, flags, position);
                    }
                }
                Op::End => {
                    self.progress.finished = true;
                    return Ok(Stop::Finished);
                }
                ref cold => self.run_cold(context, observer, cold, position)?,
            }
        }
    }
}
