//! Runs the bytecode of one simdgroup.
//!
//! The loop in [`Simdgroup::run`] is compiled once for each level of vector instructions, with the loads, stores and
//! pointer arithmetic inside it; arithmetic is called through the pointers of [`crate::lanes`], chosen for the same level.

mod rare;
pub(crate) mod span;
mod transfer;
pub(crate) mod watch;

use crate::code::{Index, Op, Program, Reg};
use crate::error::FaultKind;
use crate::lanes::{Level, Narrow, Wide, ballot};
use crate::memory::View;
use crate::position::Standpoint;
use span::{Indices, Span};
use std::sync::atomic::{AtomicBool, Ordering};
use watch::Watch;

/// A register at the start of a cache line: vector loads across two lines cost twice, and a load of what was just stored
/// more than that.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Aligned<T>(T);

/// The registers and the control state of one simdgroup.
#[derive(Debug)]
pub(crate) struct Simdgroup {
    narrow: Vec<Aligned<Narrow>>,
    wide: Vec<Aligned<Wide>>,
    /// What is known about the narrow registers as indices.
    indices: Vec<Indices>,
    /// What is known about the wide registers as addresses.
    spans: Vec<Span>,
    slots: Vec<u32>,
    /// Active lanes.
    mask: u32,
    /// Lanes that have a thread.
    present: u32,
    position: usize,
    pub(crate) steps: u64,
    pub(crate) finished: bool,
}

/// Why a simdgroup stopped running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    Barrier,
    Finished,
}

/// A fault with the operation and lane it happened in.
#[derive(Debug)]
pub(crate) struct Trap {
    pub(crate) kind: FaultKind,
    pub(crate) position: usize,
    pub(crate) lane: usize,
}

/// What a simdgroup runs in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surroundings<'a> {
    pub(crate) program: &'a Program,
    pub(crate) memory: View<'a>,
    pub(crate) standpoint: Standpoint<'a>,
    pub(crate) max_steps: u64,
    pub(crate) cancel: Option<&'a AtomicBool>,
}

impl Simdgroup {
    pub(crate) fn new(program: &Program, pointers: &[(u32, u64)]) -> Self {
        let mut group = Self {
            narrow: vec![Aligned([0; 32]); program.narrow as usize],
            wide: vec![Aligned([0; 32]); program.wide as usize],
            indices: vec![Indices::UNKNOWN; program.narrow as usize],
            spans: vec![Span::UNKNOWN; program.wide as usize],
            slots: vec![0; program.slots as usize],
            mask: 0,
            present: 0,
            position: 0,
            steps: 0,
            finished: true,
        };
        group.fill_constants(program, pointers);
        group
    }

    fn fill_constants(&mut self, program: &Program, pointers: &[(u32, u64)]) {
        for &(reg, bits) in &program.constants {
            if reg.wide {
                self.wide[reg.index as usize].0 = [bits; 32];
            } else {
                self.narrow[reg.index as usize].0 = [bits as u32; 32];
            }
        }
        for &(index, address) in pointers {
            self.wide[index as usize].0 = [address; 32];
        }
        self.spans.fill(Span::UNKNOWN);
        self.indices.fill(Indices::UNKNOWN);
    }

    /// Prepares for the threads of a new threadgroup.
    pub(crate) fn start(&mut self, program: &Program, pointers: &[(u32, u64)], threads: u32) {
        if program.reads_inactive {
            // Shuffles can see registers of inactive lanes; those must not hold what was run before.
            self.narrow.fill(Aligned([0; 32]));
            self.wide.fill(Aligned([0; 32]));
            self.fill_constants(program, pointers);
        }
        self.present = if threads >= 32 {
            !0
        } else {
            (1 << threads) - 1
        };
        self.mask = self.present;
        self.position = 0;
        self.steps = program.ops.len() as u64;
        self.finished = self.present == 0;
    }

    #[inline(always)]
    pub(crate) fn n(&self, index: u32) -> &Narrow {
        debug_assert!((index as usize) < self.narrow.len());
        // SAFETY: all registers of a program exist (`compile::verify`), and the file has the program's size (`run`).
        unsafe { &self.narrow.get_unchecked(index as usize).0 }
    }

    /// A register to be written; what was known about it as an index is forgotten.
    #[inline(always)]
    fn n_mut(&mut self, index: u32) -> &mut Narrow {
        debug_assert!((index as usize) < self.narrow.len());
        // SAFETY: as above; there are as many indices.
        unsafe {
            self.indices.get_unchecked_mut(index as usize).form = span::Form::Unknown;
            &mut self.narrow.get_unchecked_mut(index as usize).0
        }
    }

    #[inline(always)]
    pub(crate) fn w(&self, index: u32) -> &Wide {
        debug_assert!((index as usize) < self.wide.len());
        // SAFETY: as above.
        unsafe { &self.wide.get_unchecked(index as usize).0 }
    }

    /// A register to be written; what was known about it as an address is forgotten.
    #[inline(always)]
    fn w_mut(&mut self, index: u32) -> &mut Wide {
        debug_assert!((index as usize) < self.wide.len());
        // SAFETY: as above; there are as many spans.
        unsafe {
            self.spans.get_unchecked_mut(index as usize).form = span::Form::Unknown;
            &mut self.wide.get_unchecked_mut(index as usize).0
        }
    }

    #[inline]
    pub(crate) fn get(&self, reg: Reg, lane: usize) -> u64 {
        if reg.wide {
            self.w(reg.index)[lane & 31]
        } else {
            u64::from(self.n(reg.index)[lane & 31])
        }
    }

    #[inline]
    fn set(&mut self, reg: Reg, lane: usize, value: u64) {
        if reg.wide {
            self.w_mut(reg.index)[lane & 31] = value;
        } else {
            self.n_mut(reg.index)[lane & 31] = value as u32;
        }
    }

    /// The lanes that are active, and those that have a thread.
    pub(crate) fn lanes(&self) -> (u32, u32) {
        (self.mask, self.present)
    }

    /// The barrier the simdgroup stands at; nothing if it has ended.
    pub(crate) fn barrier(&self) -> Option<usize> {
        (!self.finished).then(|| self.position.saturating_sub(1))
    }

    /// A narrow register that lives on while others are written.
    ///
    /// # Safety
    /// The register must not be written as long as the reference lives; an operation writes none of the registers it
    /// reads (`compile::verify`).
    #[inline(always)]
    unsafe fn held_n<'b>(&self, index: u32) -> &'b Narrow {
        // SAFETY: registers stay where they are, and the caller promises not to write this one.
        unsafe { &*std::ptr::from_ref(self.n(index)) }
    }

    /// The same for a wide register.
    ///
    /// # Safety
    /// As for [`Simdgroup::held_n`].
    #[inline(always)]
    unsafe fn held_w<'b>(&self, index: u32) -> &'b Wide {
        // SAFETY: as above.
        unsafe { &*std::ptr::from_ref(self.w(index)) }
    }

    /// Runs until a barrier or the end.
    pub(crate) fn run<W: Watch>(
        &mut self,
        around: &Surroundings<'_>,
        watch: &mut W,
    ) -> Result<Stop, Trap> {
        let program = around.program;
        assert!(
            self.narrow.len() == program.narrow as usize
                && self.wide.len() == program.wide as usize
                && self.slots.len() == program.slots as usize,
            "a simdgroup runs the program it was made for"
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
                watch.step(position, self.mask);
            }
            match *op {
                // SAFETY (all of these): the functions were chosen for this CPU, and no operation writes what it reads.
                Op::N1 { f, d, a } => {
                    // SAFETY: see above.
                    unsafe {
                        let a = self.held_n(a);
                        f(self.n_mut(d), a);
                    }
                }
                Op::N2 { f, d, a, b } => {
                    // SAFETY: see above.
                    unsafe {
                        let (a, b) = (self.held_n(a), self.held_n(b));
                        f(self.n_mut(d), a, b);
                    }
                }
                Op::N3 { f, d, a, b, c } => {
                    // SAFETY: see above.
                    unsafe {
                        let (a, b, c) = (self.held_n(a), self.held_n(b), self.held_n(c));
                        f(self.n_mut(d), a, b, c);
                    }
                }
                Op::W1 { f, d, a } => {
                    // SAFETY: see above.
                    unsafe {
                        let a = self.held_w(a);
                        f(self.w_mut(d), a);
                    }
                }
                Op::W2 { f, d, a, b } => {
                    // SAFETY: see above.
                    unsafe {
                        let (a, b) = (self.held_w(a), self.held_w(b));
                        f(self.w_mut(d), a, b);
                    }
                }
                Op::Widen { f, d, a } => {
                    // SAFETY: see above.
                    unsafe {
                        let a = self.held_n(a);
                        f(self.w_mut(d), a);
                    }
                }
                Op::Narrowing { f, d, a } => {
                    // SAFETY: see above.
                    unsafe {
                        let a = self.held_w(a);
                        f(self.n_mut(d), a);
                    }
                }
                Op::Compare { f, d, a, b } => {
                    // SAFETY: see above.
                    unsafe {
                        let (a, b) = (self.held_w(a), self.held_w(b));
                        f(self.n_mut(d), a, b);
                    }
                }
                Op::SelectNarrow { d, cond, yes, no } => {
                    // SAFETY: see above.
                    unsafe {
                        let (cond, yes, no) =
                            (self.held_n(cond), self.held_n(yes), self.held_n(no));
                        select(self.n_mut(d), cond, yes, no);
                    }
                }
                Op::SelectWide { d, cond, yes, no } => {
                    // SAFETY: see above.
                    unsafe {
                        let (cond, yes, no) =
                            (self.held_n(cond), self.held_w(yes), self.held_w(no));
                        select(self.w_mut(d), cond, yes, no);
                    }
                }
                Op::PtrAdd {
                    d,
                    base,
                    index,
                    kind,
                    scale,
                    offset,
                } => self.pointer(d, base, index, kind, scale, offset),
                Op::Load { transfer } => {
                    let transfer = &program.transfers[transfer as usize];
                    self.load::<W, VECTOR>(around, watch, transfer, position)?;
                }
                Op::Store { transfer } => {
                    let transfer = &program.transfers[transfer as usize];
                    self.store::<W, VECTOR>(around, watch, transfer, position)?;
                }
                Op::MoveNarrow { d, a } => {
                    let mask = self.mask;
                    // SAFETY: see above.
                    let a = unsafe { self.held_n(a) };
                    blend(self.n_mut(d), a, mask);
                }
                Op::MoveWide { d, a } => {
                    let mask = self.mask;
                    // SAFETY: see above.
                    let a = unsafe { self.held_w(a) };
                    blend(self.w_mut(d), a, mask);
                }
                Op::Moves { list, wide } => {
                    let mask = self.mask;
                    for pair in program.list(list).chunks_exact(2) {
                        let (d, a) = (pair[0].index, pair[1].index);
                        // SAFETY: see above; each is a move to another register.
                        unsafe {
                            if wide {
                                let a = self.held_w(a);
                                blend(self.w_mut(d), a, mask);
                            } else {
                                let a = self.held_n(a);
                                blend(self.n_mut(d), a, mask);
                            }
                        }
                    }
                }
                Op::If { cond, slot, target } => {
                    let holds = ballot(self.n(cond)) & self.mask;
                    self.slots[slot as usize] = self.mask & !holds;
                    self.mask = holds;
                    if holds == 0 {
                        next = target as usize;
                    }
                }
                Op::Else { slot, target } => {
                    let others = self.slots[slot as usize];
                    if others == 0 {
                        // Nobody to wait for: past the end of the if.
                        next = target as usize + 1;
                    } else {
                        self.slots[slot as usize + 1] = self.mask;
                        self.mask = others;
                    }
                }
                Op::EndIf { slot } => self.mask |= self.slots[slot as usize + 1],
                Op::EndThen { slot } => self.mask |= self.slots[slot as usize],
                Op::ScopeBegin { slot } => self.slots[slot as usize] = 0,
                Op::ScopeEnd { slot } => self.mask |= self.slots[slot as usize],
                Op::LoopEnd { slot, target } => {
                    self.mask |= std::mem::take(&mut self.slots[slot as usize]);
                    if self.mask != 0 {
                        next = target as usize;
                        self.again(around, position, next)?;
                    }
                }
                Op::Leave { slot } => {
                    self.slots[slot as usize] |= self.mask;
                    self.mask = 0;
                }
                Op::SkipIfNone { target } => {
                    if self.mask == 0 {
                        next = target as usize;
                    }
                }
                Op::Return => self.mask = 0,
                Op::Unreachable => {
                    if self.mask != 0 {
                        return Err(self.trap(FaultKind::Unreachable, position));
                    }
                }
                Op::Barrier { .. } => {
                    self.position = next;
                    return Ok(Stop::Barrier);
                }
                Op::Order { flags } => {
                    if W::ACTIVE {
                        watch.order(around, flags);
                    }
                }
                Op::End => {
                    self.finished = true;
                    return Ok(Stop::Finished);
                }
                ref rare => self.rare(around, watch, rare, position)?,
            }
        }
    }

    #[cold]
    fn trap(&self, kind: FaultKind, position: usize) -> Trap {
        Trap {
            kind,
            position,
            lane: self.mask.trailing_zeros() as usize & 31,
        }
    }

    /// Counts a return to the start of a loop; an error if that was often enough.
    #[inline(always)]
    fn again(
        &mut self,
        around: &Surroundings<'_>,
        position: usize,
        target: usize,
    ) -> Result<(), Trap> {
        self.steps += (position - target) as u64 + 1;
        if self.steps > around.max_steps {
            let kind = FaultKind::TooManySteps { steps: self.steps };
            return Err(self.trap(kind, position));
        }
        if around
            .cancel
            .is_some_and(|flag| flag.load(Ordering::Relaxed))
        {
            return Err(self.trap(FaultKind::Cancelled, position));
        }
        Ok(())
    }

    #[inline(always)]
    fn pointer(&mut self, d: u32, base: u32, index: u32, kind: Index, scale: u32, offset: i64) {
        let scale = u64::from(scale);
        // SAFETY: an operation writes none of the registers it reads.
        let base = unsafe { self.held_w(base) };
        match kind {
            Index::None => {
                let d = self.w_mut(d);
                for lane in 0..32 {
                    d[lane] = base[lane].wrapping_add_signed(offset);
                }
            }
            Index::Wide => {
                // SAFETY: as above.
                let index = unsafe { self.held_w(index) };
                let d = self.w_mut(d);
                for lane in 0..32 {
                    let distance = index[lane].wrapping_mul(scale);
                    d[lane] = base[lane]
                        .wrapping_add(distance)
                        .wrapping_add_signed(offset);
                }
            }
            Index::Narrow { bits, signed } => {
                // SAFETY: as above.
                let index = unsafe { self.held_n(index) };
                let d = self.w_mut(d);
                if !signed {
                    for lane in 0..32 {
                        let distance = u64::from(index[lane]).wrapping_mul(scale);
                        d[lane] = base[lane]
                            .wrapping_add(distance)
                            .wrapping_add_signed(offset);
                    }
                    return;
                }
                let shift = 32 - u32::from(bits.clamp(1, 32));
                for lane in 0..32 {
                    let number = i64::from((index[lane] << shift) as i32 >> shift) as u64;
                    d[lane] = base[lane]
                        .wrapping_add(number.wrapping_mul(scale))
                        .wrapping_add_signed(offset);
                }
            }
        }
    }
}

/// One of two by a truth value.
#[inline(always)]
fn select<T: Copy>(d: &mut [T; 32], cond: &Narrow, yes: &[T; 32], no: &[T; 32]) {
    for lane in 0..32 {
        d[lane] = if cond[lane] & 1 != 0 {
            yes[lane]
        } else {
            no[lane]
        };
    }
}

/// Takes over the numbers of the lanes in the mask.
#[inline(always)]
fn blend<T: Copy>(d: &mut [T; 32], a: &[T; 32], mask: u32) {
    if mask == !0 {
        *d = *a;
        return;
    }
    for lane in 0..32 {
        d[lane] = if mask >> lane & 1 != 0 {
            a[lane]
        } else {
            d[lane]
        };
    }
}
