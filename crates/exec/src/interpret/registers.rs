//! Register files: for each register 32 lanes of each simdgroup of a batch.

use super::address_range::{AddressRange, IndexRange, SimdgroupRange};
use super::affine::Affine;
use super::lazy::{LazyRegisters, MATERIALISED, PREDICATE, UNIFORM};
use crate::code::{Program, Reg};
use crate::lanes::{Narrow, Wide};
use std::hash::{Hash, Hasher};

/// A register at the start of a cache line: vector loads across two lines cost twice, and a load of what was just stored
/// more than that.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Aligned<T>([T; 32]);

/// The number of one lane.
pub(super) trait Lane: Copy + Default {
    /// What is found out about a register's lanes as indices or addresses.
    type Range: Copy;
    const NO_RANGE: Self::Range;

    fn from_bits(bits: u64) -> Self;

    /// Writes an affine value's lanes.
    fn materialise(affine: &Affine, registers: &mut [[Self; 32]]);
}

impl Lane for u32 {
    type Range = IndexRange;
    const NO_RANGE: IndexRange = IndexRange::UNKNOWN;

    #[inline(always)]
    fn from_bits(bits: u64) -> Self {
        bits as Self
    }

    #[inline(always)]
    fn materialise(affine: &Affine, registers: &mut [Narrow]) {
        affine.materialise_narrow(registers, 0);
    }
}

impl Lane for u64 {
    type Range = AddressRange;
    const NO_RANGE: AddressRange = AddressRange::UNKNOWN;

    #[inline(always)]
    fn from_bits(bits: u64) -> Self {
        bits
    }

    #[inline(always)]
    fn materialise(affine: &Affine, registers: &mut [Wide]) {
        affine.materialise_wide(registers, 0);
    }
}

/// All registers of one width. A register's lanes hold its numbers only if its [lazy](super::lazy) state says so.
#[derive(Debug)]
pub(super) struct RegisterFile<T: Lane> {
    /// For each register those of all simdgroups.
    lanes: Vec<Aligned<T>>,
    pub(super) lazy: LazyRegisters,
    /// For each register, if its state says so, the range of its lanes.
    pub(super) ranges: Vec<T::Range>,
    simdgroups: usize,
}

impl<T: Lane> RegisterFile<T> {
    /// # Safety
    /// Every register given to a method must be less than `registers`, every simdgroup less than `simdgroups`: methods do
    /// not check them.
    unsafe fn new(registers: u32, simdgroups: usize) -> Self {
        let registers = registers as usize;
        Self {
            lanes: vec![Aligned([T::default(); 32]); registers * simdgroups],
            // SAFETY: as the caller promises.
            lazy: unsafe { LazyRegisters::new(registers) },
            ranges: vec![T::NO_RANGE; registers],
            simdgroups,
        }
    }

    /// Returns true if the file has so many registers of so many simdgroups.
    pub(super) fn has_size(&self, registers: u32, simdgroups: usize) -> bool {
        let registers = registers as usize;
        self.simdgroups == simdgroups
            && self.lanes.len() == registers * simdgroups
            && self.ranges.len() == registers
            && self.lazy.len() == registers
    }

    /// Gives a register the same number in all lanes, from the start of every threadgroup on.
    fn set_constant(&mut self, index: u32, bits: u64) {
        let number = T::from_bits(bits);
        self.all_mut(index).fill([number; 32]);
        self.lazy.set_constant(index, bits);
    }

    /// The registers of one simdgroup alone. All must be materialised.
    fn split(&self, simdgroup: usize) -> Self {
        let own = self.lanes.iter().skip(simdgroup).step_by(self.simdgroups);
        Self {
            lanes: own.copied().collect(),
            lazy: self.lazy.split(),
            ranges: vec![T::NO_RANGE; self.ranges.len()],
            simdgroups: 1,
        }
    }

    /// Where the lanes of a register lie, for the simdgroups from `first` on.
    #[inline(always)]
    fn at(&self, index: u32, first: usize) -> usize {
        debug_assert!(first < self.simdgroups);
        index as usize * self.simdgroups + first
    }

    /// Where the file begins.
    #[cfg(feature = "native")]
    pub(super) fn start(&mut self) -> *mut [T; 32] {
        self.lanes.as_mut_ptr().cast()
    }

    /// A register of a simdgroup.
    #[inline(always)]
    pub(super) fn of(&self, index: u32, simdgroup: usize) -> &[T; 32] {
        debug_assert!(self.lazy.state(index) & MATERIALISED != 0);
        let at = self.at(index, simdgroup);
        debug_assert!(at < self.lanes.len());
        // SAFETY: the register exists, by the contract of `new`.
        unsafe { &self.lanes.get_unchecked(at).0 }
    }

    /// A register of a simdgroup, to be written in all simdgroups. Its formula is dropped.
    #[inline(always)]
    pub(super) fn of_mut(&mut self, index: u32, simdgroup: usize) -> &mut [T; 32] {
        self.lazy.set(index, MATERIALISED);
        let at = self.at(index, simdgroup);
        debug_assert!(at < self.lanes.len());
        // SAFETY: the register exists, by the contract of `new`. Not by indexing, which would borrow all other registers too: addresses of a load may
        // be borrowed from one of them.
        unsafe { &mut (*self.lanes.as_mut_ptr().add(at)).0 }
    }

    /// The lanes of all simdgroups.
    #[inline(always)]
    fn all_mut(&mut self, index: u32) -> &mut [[T; 32]] {
        let (start, count) = (index as usize * self.simdgroups, self.simdgroups);
        let own = self.lanes.get_mut(start..start + count).unwrap_or_default();
        let (first, count) = (own.as_mut_ptr(), own.len());
        // SAFETY: a register's size is a multiple of its alignment, so lanes of neighbouring simdgroups touch.
        unsafe { std::slice::from_raw_parts_mut(first.cast(), count) }
    }

    /// A register of some simdgroups; empty if they do not exist.
    #[inline(always)]
    pub(super) fn slice(&self, index: u32, (first, count): SimdgroupRange) -> &[[T; 32]] {
        let start = index as usize * self.simdgroups + usize::from(first);
        let own = self.lanes.get(start..start + usize::from(count));
        let own = own.unwrap_or_default();
        // SAFETY: as in `all_mut`.
        unsafe { std::slice::from_raw_parts(own.as_ptr().cast(), own.len()) }
    }

    /// The lanes of a register from a simdgroup on.
    #[inline(always)]
    pub(super) fn ptr(&self, index: u32, first: usize) -> *const [T; 32] {
        debug_assert!(self.lazy.state(index) & MATERIALISED != 0);
        self.lanes
            .as_ptr()
            .wrapping_add(self.at(index, first))
            .cast()
    }

    /// The lanes of a register from a simdgroup on, to be written. Its formula is dropped.
    #[inline(always)]
    pub(super) fn ptr_mut(&mut self, index: u32, first: usize) -> *mut [T; 32] {
        let at = self.at(index, first);
        self.lazy.set(index, MATERIALISED);
        self.lanes.as_mut_ptr().wrapping_add(at).cast()
    }

    /// Makes the lanes of a register hold its numbers: this is where an affine value becomes lanes.
    #[inline(always)]
    pub(super) fn materialise(&mut self, index: u32) {
        if self.lazy.state(index) & MATERIALISED == 0 {
            self.write_lanes(index);
        }
    }

    #[inline(never)]
    fn write_lanes(&mut self, index: u32) {
        let (state, formula) = (self.lazy.state(index), *self.lazy.affine(index));
        let registers = self.all_mut(index);
        if state & PREDICATE != 0 {
            for (register, mask) in registers.iter_mut().zip(formula.strides.of_bit) {
                for (lane, number) in register.iter_mut().enumerate() {
                    *number = T::from_bits(u64::from(mask as u32 >> lane & 1));
                }
            }
        } else if state & UNIFORM != 0 {
            registers.fill([T::from_bits(formula.base); 32]);
        } else {
            T::materialise(&formula, registers);
        }
        self.lazy.set(index, state | MATERIALISED);
    }

    /// Adds the numbers of all lanes to a hash. All must be materialised.
    fn hash(&self, hasher: &mut impl Hasher)
    where
        T: Hash,
    {
        for register in &self.lanes {
            register.0.hash(hasher);
        }
    }

    fn materialise_all(&mut self) {
        for index in 0..self.lazy.len() as u32 {
            self.materialise(index);
        }
    }
}

/// Room for one simdgroup's operands and result.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Scratch {
    pub(super) narrow: [Narrow; 4],
    pub(super) wide: [Wide; 3],
}

impl Scratch {
    const EMPTY: Self = Self {
        narrow: [[0; 32]; 4],
        wide: [[0; 32]; 3],
    };
}

/// The registers of a batch.
#[derive(Debug)]
pub(super) struct Registers {
    pub(super) narrow: RegisterFile<u32>,
    pub(super) wide: RegisterFile<u64>,
    pub(super) scratch: Box<Scratch>,
}

impl Registers {
    /// # Safety
    /// Only registers of the program may be accessed, of `simdgroups` simdgroups. A compiled program names no others
    /// (`compile::verify`).
    pub(super) unsafe fn new(
        program: &Program,
        pointers: &[(u32, u64)],
        simdgroups: usize,
    ) -> Self {
        let mut registers = Self {
            // SAFETY: as the caller promises.
            narrow: unsafe { RegisterFile::new(program.narrow, simdgroups) },
            // SAFETY: as above.
            wide: unsafe { RegisterFile::new(program.wide, simdgroups) },
            scratch: Box::new(Scratch::EMPTY),
        };
        registers.set_constants(program, pointers);
        registers
    }

    fn set_constants(&mut self, program: &Program, pointers: &[(u32, u64)]) {
        for &(reg, bits) in &program.constants {
            if reg.wide {
                self.wide.set_constant(reg.index, bits);
            } else {
                self.narrow.set_constant(reg.index, u64::from(bits as u32));
            }
        }
        for &(index, address) in pointers {
            self.wide.set_constant(index, address);
        }
    }

    /// Prepares for a new threadgroup.
    pub(super) fn start(&mut self, program: &Program, pointers: &[(u32, u64)]) {
        if program.reads_inactive {
            // Shuffles can read inactive lanes, which must not hold numbers of the threadgroup before.
            self.narrow.lanes.fill(Aligned([0; 32]));
            self.wide.lanes.fill(Aligned([0; 32]));
            self.set_constants(program, pointers);
        }
        self.narrow.lazy.restart();
        self.wide.lazy.restart();
    }

    /// The registers of one simdgroup alone. All must be materialised.
    pub(super) fn split(&self, simdgroup: usize) -> Self {
        Self {
            narrow: self.narrow.split(simdgroup),
            wide: self.wide.split(simdgroup),
            scratch: Box::new(Scratch::EMPTY),
        }
    }

    /// Makes the lanes of a register hold its numbers.
    #[inline(always)]
    pub(super) fn materialise(&mut self, reg: Reg) {
        if reg.wide {
            self.wide.materialise(reg.index);
        } else {
            self.narrow.materialise(reg.index);
        }
    }

    /// Adds the numbers of all lanes to a hash. All must be materialised.
    pub(super) fn hash(&self, hasher: &mut impl Hasher) {
        self.narrow.hash(hasher);
        self.wide.hash(hasher);
    }

    /// Makes the lanes of all registers hold their numbers.
    #[inline(never)]
    pub(super) fn materialise_all(&mut self) {
        self.narrow.materialise_all();
        self.wide.materialise_all();
    }
}
