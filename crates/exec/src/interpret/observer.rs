//! Observers: hooks the interpreter calls before each operation, access and barrier.
//!
//! The interpreter is compiled once for each kind of observer; without one, none of the hooks is left in it.

use super::address_range::RunShape;
use super::{Batch, ExecutionContext};
use crate::code::{Cell, Reg, Transfer};
use crate::collective::Collective;
use crate::lanes::{Wide, lanes_of};
use crate::memory::Action;
use crate::position::GridPosition;
use crate::texture::TextureError;

pub(crate) use super::addresses::{Addresses, AffineAddresses};

/// Watches what simdgroups are about to do.
pub(crate) trait Observer {
    /// True if the hooks are called.
    const OBSERVES: bool;

    /// True if registers may be [lazy](super::lazy).
    const LAZY: bool;

    /// True if the observer never keeps lanes from an access inside its region.
    const NEVER_MASKS: bool = false;

    /// An operation is about to run with the lanes that are active.
    #[inline(always)]
    fn before_operation(&mut self, _position: usize, _batch: &Batch) {}

    /// A simdgroup is about to access memory. Returns the lanes that may; the others skip the access and read zero.
    #[inline(always)]
    fn on_access(&mut self, event: &AccessEvent<'_>) -> u32 {
        event.mask
    }

    /// All lanes of the simdgroups that run are about to access one region; the event is that of the first simdgroup.
    /// Returns true if [`on_access`](Self::on_access) need not be called for each simdgroup.
    #[inline(always)]
    fn on_batch_access(&mut self, _event: &AccessEvent<'_>) -> bool {
        false
    }

    /// Returns true if the run is to be stopped when a loop starts over.
    #[inline(always)]
    fn wants_stop(&self) -> bool {
        false
    }

    /// A simdgroup's barrier: the accesses of its lanes before and after it are ordered, to the memory that the flags name.
    #[inline(always)]
    fn on_simdgroup_barrier(&mut self, _batch: &Batch, _flags: u8, _position: usize) {}

    /// The current simdgroup is about to work on a matrix that all its lanes hold together.
    #[inline(always)]
    fn on_matrix(&mut self, _context: &ExecutionContext<'_>, _batch: &Batch, _position: usize) {}

    /// Lanes of the current simdgroup are about to exchange numbers.
    #[inline(always)]
    fn on_collective(
        &mut self,
        _context: &ExecutionContext<'_>,
        _batch: &Batch,
        _collective: &Collective,
        _position: usize,
    ) {
    }

    /// Lanes of the current simdgroup do not meet what the program expects.
    #[inline(always)]
    fn on_broken_expectation(
        &mut self,
        _context: &ExecutionContext<'_>,
        _lanes: u32,
        _position: usize,
    ) {
    }

    /// A lane accesses a texture in a way that it must not; the access does not happen.
    #[inline(always)]
    fn on_texture_error(&mut self, _event: &TextureEvent<'_>) {}

    /// The active lanes order their accesses to a texture.
    #[inline(always)]
    fn on_texture_fence(&mut self, _batch: &Batch) {}

    /// A threadgroup starts.
    #[inline(always)]
    fn on_threadgroup_start(&mut self, _number: u64) {}

    /// All simdgroups of a threadgroup stand at a barrier or have ended.
    #[inline(always)]
    fn on_threadgroup_barrier(&mut self, _batches: &[Batch], _grid_position: &GridPosition<'_>) {}
}

/// A lane's access to a texture that is wrong.
#[derive(Debug)]
pub(crate) struct TextureEvent<'a> {
    pub(crate) context: &'a ExecutionContext<'a>,
    /// The position of the operation in the program.
    pub(crate) position: usize,
    pub(crate) lane: usize,
    pub(crate) error: TextureError,
    /// What is wrong, in words.
    pub(crate) message: &'a str,
}

/// An access of a simdgroup's lanes, before it happens.
#[derive(Debug)]
pub(crate) struct AccessEvent<'a> {
    pub(crate) context: &'a ExecutionContext<'a>,
    pub(crate) batch: &'a Batch,
    /// The simdgroup of the batch.
    pub(crate) simdgroup: usize,
    /// The position of the operation in the program.
    pub(crate) position: usize,
    /// The lanes that access memory.
    pub(crate) mask: u32,
    pub(crate) addresses: Addresses<'a>,
    /// The addresses of all simdgroups, if they are affine.
    pub(crate) affine: Option<AffineAddresses>,
    /// The runs of the addresses, as far as they are known.
    pub(crate) runs: RunShape,
    /// True if all addresses, also of inactive lanes, are known to be in one region and aligned to their numbers.
    pub(crate) inside: bool,
    /// Bytes each lane accesses: numbers of one kind that follow each other.
    pub(crate) size: u32,
    /// Bytes that the program declares the addresses to be multiples of.
    pub(crate) align: u32,
    pub(crate) cell: Cell,
    /// The registers that are loaded or stored, where there are any.
    pub(crate) regs: &'a [Reg],
    /// The load or store, if it is one.
    pub(crate) transfer: Option<&'a Transfer>,
    pub(crate) action: Action,
}

impl<'a> AccessEvent<'a> {
    /// An access by lanes of the current simdgroup of a batch: `size` bytes, of numbers that lie in cells. The addresses may be
    /// anywhere. All other events are made from this one.
    #[inline(always)]
    pub(super) fn new(
        context: &'a ExecutionContext<'a>,
        batch: &'a Batch,
        position: usize,
        (addresses, mask): (Addresses<'a>, u32),
        (action, cell, size): (Action, Cell, u32),
    ) -> Self {
        Self {
            context,
            batch,
            simdgroup: batch.progress.current,
            position,
            mask,
            addresses,
            affine: None,
            runs: RunShape::SCATTERED,
            inside: false,
            size,
            align: cell.bytes(),
            cell,
            regs: &[],
            transfer: None,
            action,
        }
    }

    /// The address a lane accesses.
    #[inline(always)]
    pub(crate) fn address(&self, lane: usize) -> u64 {
        self.addresses.at(lane & 31)
    }

    /// The address a lane of another simdgroup accesses by the same load or store.
    #[inline(always)]
    pub(crate) fn address_of(&self, transfer: &Transfer, simdgroup: usize, lane: usize) -> u64 {
        match &self.affine {
            Some(affine) => affine.address(simdgroup, lane),
            None => self.batch.addresses(transfer, simdgroup).at(lane & 31),
        }
    }

    /// The addresses of all lanes.
    #[inline(always)]
    pub(crate) fn all_addresses(&self) -> Wide {
        std::array::from_fn(|lane| self.addresses.at(lane))
    }

    /// The number of the simdgroup in its threadgroup.
    #[inline(always)]
    pub(crate) fn simdgroup_in_threadgroup(&self) -> usize {
        self.batch.first_simdgroup + self.simdgroup
    }

    /// Returns true if all addresses are multiples of the declared alignment.
    #[inline(always)]
    pub(crate) fn is_aligned(&self) -> bool {
        if self.inside && self.align <= self.cell.bytes() {
            return true;
        }
        let mut bits = 0;
        for lane in lanes_of(self.mask) {
            bits |= self.address(lane);
        }
        bits & (u64::from(self.align) - 1) == 0
    }

    /// Bytes of each lane that matter: bytes of a load that nothing depends on, such as padding, do not.
    #[inline(always)]
    pub(crate) fn observed_bytes(&self) -> u32 {
        match self.transfer {
            Some(transfer) if self.action == Action::Read => transfer.observed_bytes,
            _ => self.size,
        }
    }

    /// The access as others see it that access the same memory: an atomic load or store is an atomic access.
    #[inline(always)]
    pub(crate) fn effect(&self) -> Action {
        match self.transfer {
            Some(transfer) if transfer.atomic => Action::Atomic,
            _ => self.action,
        }
    }

    /// Returns true if lane `other` of simdgroup `at` stores the same numbers to the same address as a lane of this simdgroup.
    pub(crate) fn stores_the_same(&self, (at, other): (usize, usize), lane: usize) -> bool {
        let Some(transfer) = self.transfer else {
            return false;
        };
        let batch = self.batch;
        let equal =
            |&reg: &Reg| batch.get_of(reg, at, other) == batch.get_of(reg, self.simdgroup, lane);
        batch.mask_of(at) >> (other & 31) & 1 != 0
            && self.address_of(transfer, at, other) == self.address(lane)
            && self.regs.iter().all(equal)
    }
}

/// No observer: a plain run.
#[derive(Debug)]
pub(crate) struct NoObserver;

impl Observer for NoObserver {
    const OBSERVES: bool = false;
    const LAZY: bool = true;
}
