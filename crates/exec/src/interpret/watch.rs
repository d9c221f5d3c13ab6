//! What can look over a simdgroup's shoulder.
//!
//! The interpreter is compiled once for each kind of watch; without one, nothing of this is left in it.

use super::copy::{Addresses, Runs};
use super::linear::Shape;
use super::span::Form;
use super::{Batch, Surroundings};
use crate::code::{Cell, Reg, Transfer};
use crate::collective::Collective;
use crate::lanes::{Wide, lanes_of};
use crate::memory::Action;
use crate::position::Standpoint;

/// Is told what simdgroups do before they do it.
pub(crate) trait Watch {
    /// Whether it wants to know.
    const ACTIVE: bool;

    /// Whether registers may be [described](super::known) instead of filled.
    const DESCRIBES: bool;

    /// Whether it never keeps lanes from an access inside its region.
    const ALLOWS: bool = false;

    /// An operation is about to run with the lanes that are active.
    #[inline(always)]
    fn step(&mut self, _position: usize, _group: &Batch) {}

    /// Memory is about to be accessed by a simdgroup. Gives the lanes that may; the others skip it and get zero.
    #[inline(always)]
    fn access(&mut self, seen: &Seen<'_>) -> u32 {
        seen.mask
    }

    /// All lanes of the simdgroups that run are about to access memory, in one region; `seen` is the first of them. Whether
    /// there is no need to hear about each of them.
    #[inline(always)]
    fn access_by_all(&mut self, _seen: &Seen<'_>) -> bool {
        false
    }

    /// Whether it has seen enough: then what runs is stopped when a loop starts over.
    #[inline(always)]
    fn stops(&self) -> bool {
        false
    }

    /// The accesses of each simdgroup's lanes before and after this are in order, as far as the flags say.
    #[inline(always)]
    fn order(&mut self, _group: &Batch, _flags: u8, _position: usize) {}

    /// The current simdgroup is about to work on a matrix all its lanes hold together.
    #[inline(always)]
    fn matrix(&mut self, _around: &Surroundings<'_>, _group: &Batch, _position: usize) {}

    /// Lanes of the current simdgroup are about to exchange numbers.
    #[inline(always)]
    fn collective(
        &mut self,
        _around: &Surroundings<'_>,
        _group: &Batch,
        _collective: &Collective,
        _position: usize,
    ) {
    }

    /// A threadgroup starts.
    #[inline(always)]
    fn start(&mut self, _number: u64) {}

    /// All simdgroups of a threadgroup stand at a barrier or have ended.
    #[inline(always)]
    fn meet(&mut self, _batches: &[Batch], _standpoint: &Standpoint<'_>) {}
}

/// An access of a simdgroup's lanes.
#[derive(Debug)]
pub(crate) struct Seen<'a> {
    pub(crate) around: &'a Surroundings<'a>,
    pub(crate) group: &'a Batch,
    /// The simdgroup of the batch.
    pub(crate) at: usize,
    /// Of the operation.
    pub(crate) position: usize,
    pub(crate) mask: u32,
    pub(crate) addresses: Addresses<'a>,
    /// All simdgroups' addresses as a sum, where they are one.
    pub(crate) sum: Option<Sum>,
    /// How they follow each other, as far as that is known.
    pub(crate) form: Form,
    /// Whether all of them, also of lanes that are not active, are known to be in one region and aligned to their numbers.
    pub(crate) inside: bool,
    /// Bytes each lane accesses: numbers of one kind that follow each other.
    pub(crate) size: u32,
    /// Bytes the addresses are multiples of, if the program is right.
    pub(crate) align: u32,
    pub(crate) cell: Cell,
    /// The registers that are read into or written from, where there are any.
    pub(crate) regs: &'a [Reg],
    /// The load or store, if it is one.
    pub(crate) transfer: Option<&'a Transfer>,
    pub(crate) action: Action,
}

/// The addresses of a batch as a sum of what the bits of a simdgroup's and a lane's number add.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sum {
    /// Those of the batch's first simdgroup.
    pub(super) runs: Runs,
    pub(super) shape: Shape,
    /// What the parts of the shape are multiplied by.
    pub(super) scale: i64,
}

impl Sum {
    /// The address a lane of a simdgroup accesses.
    #[inline(always)]
    pub(crate) fn address(&self, at: usize, lane: usize) -> u64 {
        let more = self.shape.group(at).wrapping_mul(self.scale);
        Addresses::Runs(self.runs)
            .at(lane & 31)
            .wrapping_add_signed(more)
    }

    /// Whether all simdgroups access the same.
    #[inline(always)]
    pub(crate) fn is_shared(&self) -> bool {
        self.shape.parts[5..] == [0; 3]
    }

    /// Whether simdgroups follow each other as their lanes do.
    #[inline(always)]
    pub(crate) fn is_row(&self) -> bool {
        self.shape.row
    }
}

impl Seen<'_> {
    /// The address a lane accesses.
    #[inline(always)]
    pub(crate) fn address(&self, lane: usize) -> u64 {
        self.addresses.at(lane & 31)
    }

    /// The address a lane of another simdgroup accesses by the same load or store.
    #[inline(always)]
    pub(crate) fn address_of(&self, transfer: &Transfer, at: usize, lane: usize) -> u64 {
        match &self.sum {
            Some(sum) => sum.address(at, lane),
            None => self.group.known_addresses(transfer, at).at(lane & 31),
        }
    }

    /// All addresses.
    #[inline(always)]
    pub(crate) fn all_addresses(&self) -> Wide {
        std::array::from_fn(|lane| self.addresses.at(lane))
    }

    /// The number of the simdgroup in its threadgroup.
    #[inline(always)]
    pub(crate) fn simdgroup(&self) -> usize {
        self.group.number + self.at
    }

    /// Whether all addresses are multiples of what they should be.
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

    /// Bytes of each lane that matter: those of a load that nobody looks at, such as padding, do not.
    #[inline(always)]
    pub(crate) fn wanted(&self) -> u32 {
        match self.transfer {
            Some(transfer) if self.action == Action::Read => transfer.wanted,
            _ => self.size,
        }
    }

    /// What it does in the eyes of whoever accesses the same memory: an atomic load or store is an atomic access.
    #[inline(always)]
    pub(crate) fn effect(&self) -> Action {
        match self.transfer {
            Some(transfer) if transfer.atomic => Action::Atomic,
            _ => self.action,
        }
    }

    /// Whether a lane of a simdgroup of the batch stores the same numbers to the same address as a lane of this one.
    pub(crate) fn stores_the_same(&self, (at, other): (usize, usize), lane: usize) -> bool {
        let Some(transfer) = self.transfer else {
            return false;
        };
        let group = self.group;
        group.mask_of(at) >> (other & 31) & 1 != 0
            && self.address_of(transfer, at, other) == self.address(lane)
            && self
                .regs
                .iter()
                .all(|&reg| group.get_of(reg, at, other) == group.get_of(reg, self.at, lane))
    }
}

/// Nobody is watching.
#[derive(Debug)]
pub(crate) struct Unwatched;

impl Watch for Unwatched {
    const ACTIVE: bool = false;
    const DESCRIBES: bool = true;
}
