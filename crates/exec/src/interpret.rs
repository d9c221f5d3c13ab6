//! Runs the bytecode of one simdgroup.

use crate::code::{Cell, Index, Op, PerLane, Program, Reg, Transfer};
use crate::collective::{Collective, Operands};
use crate::error::FaultKind;
use crate::lanes::{Narrow, Wide, ballot, lanes_of};
use crate::matrix::{self, MatrixOp, Origin};
use crate::memory::{Action, View};
use crate::position::Standpoint;
use assay_num::matrix::element_of_lane;
use assay_ssa::Scalar;
use std::sync::atomic::{AtomicBool, Ordering};

/// The registers and the control state of one simdgroup.
#[derive(Debug)]
pub(crate) struct Simdgroup {
    narrow: Vec<Narrow>,
    wide: Vec<Wide>,
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
            narrow: vec![[0; 32]; program.narrow as usize],
            wide: vec![[0; 32]; program.wide as usize],
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
                self.wide[reg.index as usize] = [bits; 32];
            } else {
                self.narrow[reg.index as usize] = [bits as u32; 32];
            }
        }
        for &(index, address) in pointers {
            self.wide[index as usize] = [address; 32];
        }
    }

    /// Prepares for the threads of a new threadgroup.
    pub(crate) fn start(&mut self, program: &Program, pointers: &[(u32, u64)], threads: u32) {
        if program.has_collectives {
            // Shuffles can see registers of inactive lanes; those must not hold what was run before.
            self.narrow.fill([0; 32]);
            self.wide.fill([0; 32]);
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
    fn n(&self, index: u32) -> &Narrow {
        &self.narrow[index as usize]
    }

    #[inline(always)]
    fn w(&self, index: u32) -> &Wide {
        &self.wide[index as usize]
    }

    #[inline]
    fn get(&self, reg: Reg, lane: usize) -> u64 {
        if reg.wide {
            self.wide[reg.index as usize][lane]
        } else {
            u64::from(self.narrow[reg.index as usize][lane])
        }
    }

    #[inline]
    fn set(&mut self, reg: Reg, lane: usize, value: u64) {
        if reg.wide {
            self.wide[reg.index as usize][lane] = value;
        } else {
            self.narrow[reg.index as usize][lane] = value as u32;
        }
    }

    fn all(&self, reg: Reg) -> [u64; 32] {
        std::array::from_fn(|lane| self.get(reg, lane))
    }

    /// Runs until a barrier or the end.
    pub(crate) fn run(&mut self, around: &Surroundings<'_>) -> Result<Stop, Trap> {
        let ops = &around.program.ops[..];
        loop {
            let position = self.position;
            let Some(op) = ops.get(position) else {
                self.finished = true;
                return Ok(Stop::Finished);
            };
            self.position += 1;
            match *op {
                // SAFETY (all of these): the compiler gives a result a register of its own, never an operand's,
                // and the functions were chosen for this CPU.
                Op::N1 { f, d, a } => {
                    let (d, [a]) = split(&mut self.narrow, d, [a]);
                    // SAFETY: see above.
                    unsafe { f(d, a) }
                }
                Op::N2 { f, d, a, b } => {
                    let (d, [a, b]) = split(&mut self.narrow, d, [a, b]);
                    // SAFETY: see above.
                    unsafe { f(d, a, b) }
                }
                Op::N3 { f, d, a, b, c } => {
                    let (d, [a, b, c]) = split(&mut self.narrow, d, [a, b, c]);
                    // SAFETY: see above.
                    unsafe { f(d, a, b, c) }
                }
                Op::W1 { f, d, a } => {
                    let (d, [a]) = split(&mut self.wide, d, [a]);
                    // SAFETY: see above.
                    unsafe { f(d, a) }
                }
                Op::W2 { f, d, a, b } => {
                    let (d, [a, b]) = split(&mut self.wide, d, [a, b]);
                    // SAFETY: see above.
                    unsafe { f(d, a, b) }
                }
                Op::Widen { f, d, a } => {
                    // SAFETY: see above.
                    unsafe { f(&mut self.wide[d as usize], &self.narrow[a as usize]) }
                }
                Op::Narrowing { f, d, a } => {
                    // SAFETY: see above.
                    unsafe { f(&mut self.narrow[d as usize], &self.wide[a as usize]) }
                }
                Op::Compare { f, d, a, b } => {
                    let (a, b) = (&self.wide[a as usize], &self.wide[b as usize]);
                    // SAFETY: see above.
                    unsafe { f(&mut self.narrow[d as usize], a, b) }
                }
                Op::SelectNarrow { d, cond, yes, no } => {
                    let (d, [cond, yes, no]) = split(&mut self.narrow, d, [cond, yes, no]);
                    for lane in 0..32 {
                        d[lane] = if cond[lane] & 1 != 0 {
                            yes[lane]
                        } else {
                            no[lane]
                        };
                    }
                }
                Op::SelectWide { d, cond, yes, no } => {
                    let (d, [yes, no]) = split(&mut self.wide, d, [yes, no]);
                    let cond = &self.narrow[cond as usize];
                    for lane in 0..32 {
                        d[lane] = if cond[lane] & 1 != 0 {
                            yes[lane]
                        } else {
                            no[lane]
                        };
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
                    self.pointer(d, base, index, kind, scale, offset);
                }
                Op::Pick { d, list, index } => {
                    let list = around.program.list(list);
                    for lane in 0..32 {
                        let which = self.get(index, lane) as usize;
                        let value = list.get(which).map_or(0, |&reg| self.get(reg, lane));
                        self.set(d, lane, value);
                    }
                }
                Op::Repack {
                    from,
                    from_bytes,
                    to,
                    to_bytes,
                } => {
                    let (from, to) = (around.program.list(from), around.program.list(to));
                    self.repack(from, from_bytes.into(), to, to_bytes.into());
                }
                Op::Load(transfer) => self.load(around, transfer, position)?,
                Op::Store(transfer) => self.store(around, transfer, position)?,
                Op::MemCopy { dst, src, size } => self.copy(around, dst, src, size, position)?,
                Op::MemSet { dst, byte, size } => self.fill(around, dst, byte, size, position)?,
                Op::Atomic { .. } | Op::CompareExchange { .. } => {
                    self.atomic(around, op, position)?;
                }
                Op::PerLane { index } => {
                    let call = &around.program.per_lane[index as usize];
                    self.per_lane(around.program, call);
                }
                Op::Position { which, axis, d } => {
                    let value = around
                        .standpoint
                        .value(which, axis.into())
                        .unwrap_or([0; 32]);
                    for (lane, value) in value.into_iter().enumerate() {
                        self.set(d, lane, u64::from(value));
                    }
                }
                Op::Collective(ref collective) => self.collective(collective),
                Op::Matrix(ref op) => self.matrix(around, op, position)?,
                Op::Barrier => return Ok(Stop::Barrier),
                Op::MoveNarrow { d, a } => {
                    let (d, [a]) = split(&mut self.narrow, d, [a]);
                    masked(d, a, self.mask);
                }
                Op::MoveWide { d, a } => {
                    let (d, [a]) = split(&mut self.wide, d, [a]);
                    masked(d, a, self.mask);
                }
                Op::If { cond, slot, target } => {
                    let holds = ballot(self.n(cond)) & self.mask;
                    self.slots[slot as usize] = self.mask & !holds;
                    self.mask = holds;
                    if holds == 0 {
                        self.position = target as usize;
                    }
                }
                Op::Else { slot, target } => {
                    let others = self.slots[slot as usize];
                    self.slots[slot as usize + 1] = self.mask;
                    self.mask = others;
                    if others == 0 {
                        self.position = target as usize;
                    }
                }
                Op::EndIf { slot } => self.mask |= self.slots[slot as usize + 1],
                Op::ScopeBegin { slot } => self.slots[slot as usize] = 0,
                Op::ScopeEnd { slot } => self.mask |= self.slots[slot as usize],
                Op::LoopEnd { slot, target } => {
                    self.mask |= std::mem::take(&mut self.slots[slot as usize]);
                    if self.mask != 0 {
                        self.again(around, position, target as usize)?;
                    }
                }
                Op::Leave { slot } => {
                    self.slots[slot as usize] |= self.mask;
                    self.mask = 0;
                }
                Op::SkipIfNone { target } => {
                    if self.mask == 0 {
                        self.position = target as usize;
                    }
                }
                Op::Return => self.mask = 0,
                Op::Unreachable => {
                    if self.mask != 0 {
                        return Err(self.trap(FaultKind::Unreachable, position));
                    }
                }
                Op::End => {
                    self.finished = true;
                    return Ok(Stop::Finished);
                }
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

    /// Goes back to the start of a loop, unless that was often enough.
    #[inline]
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
        self.position = target;
        Ok(())
    }

    fn pointer(&mut self, d: u32, base: u32, index: u32, kind: Index, scale: u32, offset: i64) {
        let scale = u64::from(scale);
        match kind {
            Index::None => {
                let (d, [base]) = split(&mut self.wide, d, [base]);
                for lane in 0..32 {
                    d[lane] = base[lane].wrapping_add_signed(offset);
                }
            }
            Index::Wide => {
                let (d, [base, index]) = split(&mut self.wide, d, [base, index]);
                for lane in 0..32 {
                    let distance = index[lane].wrapping_mul(scale);
                    d[lane] = base[lane]
                        .wrapping_add(distance)
                        .wrapping_add_signed(offset);
                }
            }
            Index::Narrow { bits, signed } => {
                let (d, [base]) = split(&mut self.wide, d, [base]);
                let index = &self.narrow[index as usize];
                let shift = 32 - u32::from(bits.clamp(1, 32));
                for lane in 0..32 {
                    let number = if signed {
                        i64::from((index[lane] << shift) as i32 >> shift) as u64
                    } else {
                        u64::from(index[lane])
                    };
                    let distance = number.wrapping_mul(scale);
                    d[lane] = base[lane]
                        .wrapping_add(distance)
                        .wrapping_add_signed(offset);
                }
            }
        }
    }

    fn repack(&mut self, from: &[Reg], from_bytes: usize, to: &[Reg], to_bytes: usize) {
        for lane in 0..32 {
            let mut bytes = [0u8; 128];
            for (slot, &reg) in bytes.chunks_mut(from_bytes).zip(from) {
                slot.copy_from_slice(&self.get(reg, lane).to_le_bytes()[..from_bytes]);
            }
            for (slot, &reg) in bytes.chunks(to_bytes).zip(to) {
                let mut word = [0; 8];
                word[..to_bytes].copy_from_slice(slot);
                self.set(reg, lane, u64::from_le_bytes(word));
            }
        }
    }

    fn per_lane(&mut self, program: &Program, call: &PerLane) {
        let (args, results) = (program.list(call.args), program.list(call.results));
        let (mut given, mut made) = ([0u64; 64], [0u64; 16]);
        for lane in 0..32 {
            for (slot, &reg) in given.iter_mut().zip(args) {
                *slot = self.get(reg, lane);
            }
            let count = results.len().min(made.len());
            (call.kernel)(&call.call, &given[..args.len().min(64)], &mut made[..count]);
            for (&reg, &value) in results.iter().zip(&made) {
                self.set(reg, lane, value);
            }
        }
    }

    #[inline]
    fn load(
        &mut self,
        around: &Surroundings<'_>,
        t: Transfer,
        position: usize,
    ) -> Result<(), Trap> {
        let addresses = *self.w(t.ptr);
        let regs = around.program.list(t.regs);
        let size = t.cell.bytes() * regs.len() as u32;
        for lane in lanes_of(self.mask) {
            let address = addresses[lane].wrapping_add(u64::from(t.offset));
            let place = around.memory.place(address, size, lane, Action::Read);
            let mut place = place.map_err(|kind| Trap {
                kind,
                position,
                lane,
            })?;
            for &reg in regs {
                self.set(reg, lane, place.read(t.cell));
                place = place.at(t.cell.bytes());
            }
        }
        Ok(())
    }

    #[inline]
    fn store(
        &mut self,
        around: &Surroundings<'_>,
        t: Transfer,
        position: usize,
    ) -> Result<(), Trap> {
        let addresses = *self.w(t.ptr);
        let regs = around.program.list(t.regs);
        let size = t.cell.bytes() * regs.len() as u32;
        for lane in lanes_of(self.mask) {
            let address = addresses[lane].wrapping_add(u64::from(t.offset));
            let place = around.memory.place(address, size, lane, Action::Write);
            let mut place = place.map_err(|kind| Trap {
                kind,
                position,
                lane,
            })?;
            for &reg in regs {
                place.write(t.cell, self.get(reg, lane));
                place = place.at(t.cell.bytes());
            }
        }
        Ok(())
    }

    fn copy(
        &mut self,
        around: &Surroundings<'_>,
        dst: u32,
        src: u32,
        size: Reg,
        position: usize,
    ) -> Result<(), Trap> {
        for lane in lanes_of(self.mask) {
            let trap = |kind| Trap {
                kind,
                position,
                lane,
            };
            let size = u32::try_from(self.get(size, lane)).unwrap_or(u32::MAX);
            let (to, from) = (self.w(dst)[lane], self.w(src)[lane]);
            let read = around
                .memory
                .place(from, size, lane, Action::Read)
                .map_err(trap)?;
            let write = around
                .memory
                .place(to, size, lane, Action::Write)
                .map_err(trap)?;
            let backwards = to > from;
            for step in 0..size {
                let index = if backwards { size - 1 - step } else { step };
                write
                    .at(index)
                    .write(Cell::Byte, read.at(index).read(Cell::Byte));
            }
        }
        Ok(())
    }

    fn fill(
        &mut self,
        around: &Surroundings<'_>,
        dst: u32,
        byte: u32,
        size: Reg,
        position: usize,
    ) -> Result<(), Trap> {
        for lane in lanes_of(self.mask) {
            let size = u32::try_from(self.get(size, lane)).unwrap_or(u32::MAX);
            let place = around
                .memory
                .place(self.w(dst)[lane], size, lane, Action::Write);
            let place = place.map_err(|kind| Trap {
                kind,
                position,
                lane,
            })?;
            for index in 0..size {
                place
                    .at(index)
                    .write(Cell::Byte, u64::from(self.n(byte)[lane]));
            }
        }
        Ok(())
    }

    /// Atomic operations happen lane by lane, lowest first.
    fn atomic(&mut self, around: &Surroundings<'_>, op: &Op, position: usize) -> Result<(), Trap> {
        for lane in lanes_of(self.mask) {
            let (ptr, cell, d) = match *op {
                Op::Atomic { ptr, cell, d, .. } | Op::CompareExchange { ptr, cell, d, .. } => {
                    (ptr, cell, d)
                }
                _ => return Ok(()),
            };
            let trap = |kind| Trap {
                kind,
                position,
                lane,
            };
            let (address, size) = (self.w(ptr)[lane], cell.bytes());
            let place = around
                .memory
                .place(address, size, lane, Action::Atomic)
                .map_err(trap)?;
            let old = match *op {
                Op::Atomic { update, value, .. } => {
                    let value = self.get(value, lane);
                    place.update(cell, |old| update.apply(cell, old, value))
                }
                Op::CompareExchange {
                    expected, desired, ..
                } => {
                    let (expected, desired) = (self.get(expected, lane), self.get(desired, lane));
                    place.update(cell, |old| if old == expected { desired } else { old })
                }
                _ => None,
            };
            let old = old.ok_or(trap(FaultKind::MisalignedAtomic { size, address }))?;
            self.set(d, lane, old);
        }
        Ok(())
    }

    fn collective(&mut self, collective: &Collective) {
        let operand = |reg: Option<Reg>| reg.map(|reg| self.all(reg));
        let operands = Operands {
            a: self.all(collective.a),
            b: operand(collective.b).unwrap_or([0; 32]),
            c: operand(collective.c).unwrap_or([0; 32]),
            e: operand(collective.e),
        };
        let result = collective.apply(&operands, self.mask);
        for lane in lanes_of(self.mask) {
            self.set(collective.d, lane, result[lane]);
        }
    }

    fn pair(&self, regs: [u32; 2]) -> [Narrow; 2] {
        regs.map(|reg| *self.n(reg))
    }

    fn matrix(
        &mut self,
        around: &Surroundings<'_>,
        op: &MatrixOp,
        position: usize,
    ) -> Result<(), Trap> {
        match *op {
            MatrixOp::Load { d, scalar, at } => {
                for lane in 0..32 {
                    for (which, reg) in d.into_iter().enumerate() {
                        let place = self.element(around, &at, scalar, (lane, which), Action::Read);
                        let place = place.map_err(|kind| Trap {
                            kind,
                            position,
                            lane,
                        })?;
                        self.narrow[reg as usize][lane] = place.read(Cell::of(scalar)) as u32;
                    }
                }
            }
            MatrixOp::Store { a, scalar, at } => {
                for lane in 0..32 {
                    for (which, reg) in a.into_iter().enumerate() {
                        let place = self.element(around, &at, scalar, (lane, which), Action::Write);
                        let place = place.map_err(|kind| Trap {
                            kind,
                            position,
                            lane,
                        })?;
                        place.write(Cell::of(scalar), u64::from(self.n(reg)[lane]));
                    }
                }
            }
            MatrixOp::Diagonal { d, value } => {
                for lane in 0..32 {
                    let (row, column) = element_of_lane(lane);
                    for (which, reg) in d.into_iter().enumerate() {
                        let value = self.n(value)[lane];
                        let on = row == column + which;
                        self.narrow[reg as usize][lane] = if on { value } else { 0 };
                    }
                }
            }
            MatrixOp::Product { index } => {
                let of = &around.program.products[index as usize];
                let (a, b) = (self.pair(of.a.0), self.pair(of.b.0));
                let c = of.c.map(|(c, _)| self.pair(c));
                let [first, second] = matrix::multiply(&a, &b, c.as_ref(), of);
                self.narrow[of.d[0] as usize] = first;
                self.narrow[of.d[1] as usize] = second;
            }
        }
        Ok(())
    }

    /// Where an element of a matrix lies. Pointer and origin are those of the first active lane.
    fn element(
        &self,
        around: &Surroundings<'_>,
        at: &Origin,
        scalar: Scalar,
        (lane, which): (usize, usize),
        action: Action,
    ) -> Result<crate::memory::Place, FaultKind> {
        let first = self.mask.trailing_zeros() as usize & 31;
        let (row, column) = element_of_lane(lane);
        let (mut row, mut column) = (row as u64, (column + which) as u64);
        if self.get(at.transposed, first) & 1 != 0 {
            std::mem::swap(&mut row, &mut column);
        }
        let row = row.wrapping_add(self.w(at.row)[first]);
        let column = column.wrapping_add(self.w(at.column)[first]);
        let index = row
            .wrapping_mul(self.w(at.stride)[first])
            .wrapping_add(column);
        let distance = index.wrapping_mul(scalar.bytes().into());
        let address = self.w(at.ptr)[first].wrapping_add(distance);
        around.memory.place(address, scalar.bytes(), lane, action)
    }
}

/// A register to write and others to read, which are not it (the compiler sees to that; if it did not, this panics).
#[inline(always)]
fn split<T, const N: usize>(file: &mut [T], d: u32, reads: [u32; N]) -> (&mut T, [&T; N]) {
    let (d, len) = (d as usize, file.len());
    assert!(d < len && reads.iter().all(|&r| r as usize != d && (r as usize) < len));
    let base = file.as_mut_ptr();
    // SAFETY: all are inside the file, and what is written is none of those read.
    unsafe { (&mut *base.add(d), reads.map(|r| &*base.add(r as usize))) }
}

#[inline(always)]
fn masked<T: Copy>(d: &mut [T; 32], a: &[T; 32], mask: u32) {
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
