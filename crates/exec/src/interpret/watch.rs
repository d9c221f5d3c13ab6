//! What can look over a simdgroup's shoulder.
//!
//! The interpreter is compiled once for each kind of watch; without one, nothing of this is left in it.

use super::{Batch, Surroundings};
use crate::code::{Cell, Reg};
use crate::collective::Collective;
use crate::lanes::Wide;
use crate::memory::Action;
use crate::position::Standpoint;

/// Is told what a simdgroup does before it does it.
pub(crate) trait Watch {
    /// Whether it wants to know.
    const ACTIVE: bool;

    /// An operation is about to run with these lanes.
    #[inline(always)]
    fn step(&mut self, _position: usize, _mask: u32) {}

    /// Memory is about to be accessed. Gives the lanes that may; the others skip it and get zero.
    #[inline(always)]
    fn access(&mut self, seen: &Seen<'_>) -> u32 {
        seen.mask
    }

    /// The accesses of a simdgroup's lanes before and after this are in order, as far as the flags say.
    #[inline(always)]
    fn order(&mut self, _around: &Surroundings<'_>, _flags: u8) {}

    /// Lanes are about to exchange numbers.
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

    /// A simdgroup of the threadgroup goes on.
    #[inline(always)]
    fn turn(&mut self, _simdgroup: usize) {}

    /// All simdgroups of a threadgroup stand at a barrier or have ended.
    #[inline(always)]
    fn meet(&mut self, _simdgroups: &[Batch], _standpoint: &Standpoint<'_>) {}
}

/// An access of a simdgroup's lanes.
#[derive(Debug)]
pub(crate) struct Seen<'a> {
    pub(crate) around: &'a Surroundings<'a>,
    pub(crate) group: &'a Batch,
    /// Of the operation.
    pub(crate) position: usize,
    pub(crate) mask: u32,
    pub(crate) addresses: Wide,
    /// Bytes each lane accesses: numbers of one kind that follow each other.
    pub(crate) size: u32,
    /// Bytes the addresses are multiples of, if the program is right.
    pub(crate) align: u32,
    pub(crate) cell: Cell,
    /// The registers that are read into or written from, where there are any.
    pub(crate) regs: &'a [Reg],
    pub(crate) action: Action,
}

/// Nobody is watching.
#[derive(Debug)]
pub(crate) struct Unwatched;

impl Watch for Unwatched {
    const ACTIVE: bool = false;
}
