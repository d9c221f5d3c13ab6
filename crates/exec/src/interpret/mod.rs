//! Runs the bytecode of simdgroups.
//!
//! The loop in [`Batch::run`] is compiled once for each level of vector instructions, with the loads, stores and
//! pointer arithmetic inside it; arithmetic is called through the pointers of [`crate::lanes`], chosen for the same level.

mod batch;
mod bulk;
mod copy;
mod known;
mod linear;
mod pointer;
mod rare;
mod row;
mod rules;
pub(crate) mod span;
mod threshold;
mod told;
mod transfer;
pub(crate) mod watch;

pub(crate) use batch::{Batch, MOST};

use crate::code::{Index, Op, Program};
use crate::error::FaultKind;
use crate::lanes::{Level, Rule};
use crate::memory::{Action, Region, View};
use crate::position::Standpoint;
use batch::{both, without};
use std::sync::atomic::{AtomicBool, Ordering};
use watch::Watch;

/// Why a batch stopped running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// All simdgroups of the batch that have not ended stand at a barrier.
    Barrier,
    /// Some do: the batch must be split.
    Parted,
    Finished,
}

/// A fault with the operation and lane it happened in.
#[derive(Debug)]
pub(crate) struct Trap {
    pub(crate) kind: FaultKind,
    pub(crate) position: usize,
    pub(crate) lane: usize,
}

/// What a batch runs in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surroundings<'a> {
    pub(crate) program: &'a Program,
    pub(crate) memory: View<'a>,
    /// Thread memory of each simdgroup of the threadgroup.
    pub(crate) frames: &'a [Region],
    pub(crate) standpoint: Standpoint<'a>,
    /// Whether the batch is the whole threadgroup.
    pub(crate) alone: bool,
    pub(crate) max_steps: u64,
    pub(crate) cancel: Option<&'a AtomicBool>,
}

impl Surroundings<'_> {
    /// Those of the current simdgroup of a batch.
    pub(crate) fn of(&self, batch: &Batch) -> Self {
        self.of_simdgroup(batch.number + batch.current)
    }

    /// Those of a simdgroup of the threadgroup.
    pub(crate) fn of_simdgroup(&self, number: usize) -> Self {
        let thread = self.frames.get(number).unwrap_or(self.memory.thread);
        Self {
            memory: View {
                thread,
                ..self.memory
            },
            standpoint: self.standpoint.of_simdgroup(number as u32),
            ..*self
        }
    }
}

impl Batch {
    /// Runs until a barrier or the end.
    pub(crate) fn run<W: Watch>(
        &mut self,
        around: &Surroundings<'_>,
        watch: &mut W,
    ) -> Result<Stop, Trap> {
        let program = around.program;
        assert!(
            self.narrow.len() == program.narrow as usize * self.len
                && self.indices.len() == program.narrow as usize
                && self.known_n.len() == program.narrow as usize
                && self.wide.len() == program.wide as usize * self.len
                && self.spans.len() == program.wide as usize
                && self.known_w.len() == program.wide as usize
                && self.slots.len() == program.slots as usize,
            "a batch runs the program it was made for"
        );
        match program.level {
            Level::Portable => self.run_at::<W, 0>(around, watch),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the CPU has the features.
            Level::Avx2 => unsafe { self.run_avx2(around, watch) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the CPU has the features.
            Level::Avx512 => unsafe { self.run_avx512(around, watch) },
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,f16c")]
    fn run_avx2<W: Watch>(
        &mut self,
        around: &Surroundings<'_>,
        watch: &mut W,
    ) -> Result<Stop, Trap> {
        self.run_at::<W, 32>(around, watch)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl")]
    fn run_avx512<W: Watch>(
        &mut self,
        around: &Surroundings<'_>,
        watch: &mut W,
    ) -> Result<Stop, Trap> {
        self.run_at::<W, 64>(around, watch)
    }

    /// `VECTOR`: bytes of the vector registers it is compiled for; 0 if that is not known.
    #[inline(always)]
    fn run_at<W: Watch, const VECTOR: usize>(
        &mut self,
        around: &Surroundings<'_>,
        watch: &mut W,
    ) -> Result<Stop, Trap> {
        let program = around.program;
        let mut next = self.position;
        loop {
            let position = next;
            let Some(op) = program.ops.get(position) else {
                self.finished = true;
                return Ok(Stop::Finished);
            };
            next += 1;
            if W::ACTIVE {
                watch.step(position, self);
            }
            match *op {
                // SAFETY (all of these): the functions were chosen for this CPU, and the registers exist.
                Op::N1 { f, d, a } => {
                    if W::DESCRIBES {
                        if self.known_n1(f, d, a) {
                            continue;
                        }
                        self.need_n(a);
                    }
                    let a = self.ns(a);
                    let (d, count) = (self.ns_mut(d), self.active.count);
                    // SAFETY: see above.
                    unsafe { f(d, a, count) };
                }
                Op::N2 { f, rule, d, a, b } => {
                    if W::DESCRIBES {
                        if rule == Rule::Add && self.add_uniform(d, a, b) {
                            continue;
                        }
                        let known = self.known_n.described(a) && self.known_n.described(b);
                        if known
                            && (rule != Rule::Other && self.known::<VECTOR>(op)
                                || self.known_n2(f, d, a, b))
                        {
                            continue;
                        }
                        self.need_n(a);
                        self.need_n(b);
                    }
                    let (a, b) = (self.ns(a), self.ns(b));
                    let (d, count) = (self.ns_mut(d), self.active.count);
                    // SAFETY: see above.
                    unsafe { f(d, a, b, count) };
                }
                Op::N3 { f, d, a, b, c } => {
                    if W::DESCRIBES {
                        if self.known_n3(f, d, [a, b, c]) {
                            continue;
                        }
                        self.need_n(a);
                        self.need_n(b);
                        self.need_n(c);
                    }
                    let (a, b, c) = (self.ns(a), self.ns(b), self.ns(c));
                    let (d, count) = (self.ns_mut(d), self.active.count);
                    // SAFETY: see above.
                    unsafe { f(d, a, b, c, count) };
                }
                Op::W1 { f, d, a } => {
                    if W::DESCRIBES {
                        if self.known_w1(f, d, a) {
                            continue;
                        }
                        self.need_w(a);
                    }
                    let a = self.ws(a);
                    let (d, count) = (self.ws_mut(d), self.active.count);
                    // SAFETY: see above.
                    unsafe { f(d, a, count) };
                }
                Op::W2 { f, d, a, b, .. } => {
                    if W::DESCRIBES {
                        let known = self.known_w.described(a) && self.known_w.described(b);
                        if known && self.known::<VECTOR>(op) {
                            continue;
                        }
                        self.need_w(a);
                        self.need_w(b);
                    }
                    let (a, b) = (self.ws(a), self.ws(b));
                    let (d, count) = (self.ws_mut(d), self.active.count);
                    // SAFETY: see above.
                    unsafe { f(d, a, b, count) };
                }
                Op::Widen { f, d, a, .. } => {
                    if W::DESCRIBES {
                        if self.known_n.described(a) && self.known::<VECTOR>(op) {
                            continue;
                        }
                        self.need_n(a);
                    }
                    let a = self.ns(a);
                    let (d, count) = (self.ws_mut(d), self.active.count);
                    // SAFETY: see above.
                    unsafe { f(d, a, count) };
                }
                Op::Narrowing { f, d, a, .. } => {
                    if W::DESCRIBES {
                        if self.known_w.described(a) && self.known::<VECTOR>(op) {
                            continue;
                        }
                        self.need_w(a);
                    }
                    let a = self.ws(a);
                    let (d, count) = (self.ns_mut(d), self.active.count);
                    // SAFETY: see above.
                    unsafe { f(d, a, count) };
                }
                Op::Compare { f, d, a, b, .. } => {
                    if W::DESCRIBES {
                        let known = self.known_w.described(a) && self.known_w.described(b);
                        if known && self.known::<VECTOR>(op) {
                            continue;
                        }
                        self.need_w(a);
                        self.need_w(b);
                    }
                    let (a, b) = (self.ws(a), self.ws(b));
                    let (d, count) = (self.ns_mut(d), self.active.count);
                    // SAFETY: see above.
                    unsafe { f(d, a, b, count) };
                }
                Op::SelectNarrow { d, cond, yes, no } => {
                    if !W::DESCRIBES || !self.known::<VECTOR>(op) {
                        self.select_narrow::<W>(d, cond, yes, no);
                    }
                }
                Op::SelectWide { d, cond, yes, no } => {
                    if !W::DESCRIBES || !self.known::<VECTOR>(op) {
                        self.select_wide::<W>(d, cond, yes, no);
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
                    if W::DESCRIBES {
                        if self.known_w.described(base) && self.known::<VECTOR>(op) {
                            continue;
                        }
                        self.need_w(base);
                        match kind {
                            Index::None => {}
                            Index::Wide => self.need_w(index),
                            Index::Narrow { .. } => self.need_n(index),
                        }
                    }
                    self.pointer(d, base, index, kind, scale, offset);
                }
                Op::Load { transfer } => {
                    let t = &program.transfers[transfer as usize];
                    if W::ACTIVE || !self.row::<VECTOR>(around, t, Action::Read) {
                        self.transfer::<W, VECTOR>(around, watch, t, Action::Read, position)?;
                    }
                }
                Op::Store { transfer } => {
                    let t = &program.transfers[transfer as usize];
                    if W::ACTIVE || !self.row::<VECTOR>(around, t, Action::Write) {
                        self.transfer::<W, VECTOR>(around, watch, t, Action::Write, position)?;
                    }
                }
                Op::MoveNarrow { d, a } => self.move_narrow::<W>(d, a),
                Op::MoveWide { d, a } => self.move_wide::<W>(d, a),
                Op::Moves { list, wide } => {
                    for pair in program.list(list).chunks_exact(2) {
                        let (d, a) = (pair[0].index, pair[1].index);
                        if wide {
                            self.move_wide::<W>(d, a);
                        } else {
                            self.move_narrow::<W>(d, a);
                        }
                    }
                }
                Op::If {
                    cond,
                    wanted,
                    slot,
                    target,
                } => {
                    let masks = self.masks();
                    let rest = without(masks, self.holds::<VECTOR>(cond));
                    let others = if wanted { rest } else { without(masks, rest) };
                    self.slots[slot as usize] = others;
                    if others != [0; MOST] {
                        self.set_masks(without(masks, others));
                    }
                    if self.is_idle() {
                        next = target as usize;
                    }
                }
                Op::Else { slot, target } => {
                    let others = self.slots[slot as usize];
                    if others == [0; MOST] {
                        // Nobody to wait for: past the end of the if.
                        next = target as usize + 1;
                    } else {
                        self.slots[slot as usize + 1] = self.masks();
                        self.set_masks(others);
                    }
                }
                Op::EndIf { slot } => self.join(slot as usize + 1),
                Op::EndThen { slot } | Op::ScopeEnd { slot } => self.join(slot as usize),
                Op::ScopeBegin { slot } => self.slots[slot as usize] = [0; MOST],
                Op::LoopEnd { slot, target } => {
                    self.join(slot as usize);
                    self.slots[slot as usize] = [0; MOST];
                    if !self.is_idle() {
                        next = target as usize;
                        self.again(around, watch, position, next)?;
                    }
                }
                Op::Leave { slot } => {
                    self.slots[slot as usize] = both(self.slots[slot as usize], self.masks());
                    self.set_masks([0; MOST]);
                }
                Op::SkipIfNone { target } => {
                    if self.is_idle() {
                        next = target as usize;
                    }
                }
                Op::Return => self.return_active(),
                Op::Unreachable => {
                    if !self.is_idle() {
                        return Err(self.trap(FaultKind::Unreachable, position));
                    }
                }
                Op::Barrier { .. } => {
                    self.position = next;
                    if self.is_idle() {
                        continue;
                    }
                    if self.len > 1 && self.has_absent() {
                        return Ok(Stop::Parted);
                    }
                    if W::ACTIVE || !around.alone {
                        return Ok(Stop::Barrier);
                    }
                }
                Op::Order { flags, .. } => {
                    if W::ACTIVE {
                        watch.order(self, flags, position);
                    }
                }
                Op::End => {
                    self.finished = true;
                    return Ok(Stop::Finished);
                }
                ref rare => {
                    if W::DESCRIBES {
                        if self.known_position(around, rare) {
                            continue;
                        }
                        self.fill_operands(program, rare);
                    }
                    for at in self.active.range() {
                        if self.mask_of(at) != 0 {
                            self.current = at;
                            self.rare(&around.of(self), watch, rare, position)?;
                        }
                    }
                    self.current = 0;
                }
            }
        }
    }

    #[cold]
    fn trap(&mut self, kind: FaultKind, position: usize) -> Trap {
        self.current = self.active.first;
        Trap {
            kind,
            position,
            lane: self.mask().trailing_zeros() as usize & 31,
        }
    }

    /// The lanes that waited in a slot are active again.
    #[inline(always)]
    fn join(&mut self, slot: usize) {
        if self.slots[slot] != [0; MOST] {
            self.set_masks(both(self.masks(), self.slots[slot]));
        }
    }

    /// Counts a return to the start of a loop; an error if that was often enough.
    #[inline(always)]
    fn again<W: Watch>(
        &mut self,
        around: &Surroundings<'_>,
        watch: &W,
        position: usize,
        target: usize,
    ) -> Result<(), Trap> {
        self.steps += (position - target) as u64 + 1;
        if self.steps > around.max_steps {
            let kind = FaultKind::TooManySteps { steps: self.steps };
            return Err(self.trap(kind, position));
        }
        if watch.stops()
            || around
                .cancel
                .is_some_and(|flag| flag.load(Ordering::Relaxed))
        {
            return Err(self.trap(FaultKind::Cancelled, position));
        }
        Ok(())
    }
}
