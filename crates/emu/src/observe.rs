//! Observers: hooks the interpreter calls before each instruction.
//!
//! The interpreter is compiled with and without them; a run that nobody observes pays
//! nothing.

use crate::fault::Memory;
use crate::op::{LANES, MicroOp, Operation};
use crate::ops::access;
use crate::simdgroup::Simdgroup;

/// Follows the simdgroups of a threadgroup, instruction by instruction.
pub trait Observer {
    /// Called before an instruction executes. Returns true to end the simdgroup's turn
    /// after it: the next simdgroup of the threadgroup continues.
    fn step(&mut self, step: &Step<'_>) -> bool;
}

/// An instruction about to be executed by a simdgroup.
#[derive(Clone, Copy)]
pub struct Step<'a> {
    simdgroup: &'a Simdgroup,
    op: &'a MicroOp,
}

impl std::fmt::Debug for Step<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Step")
            .field("offset", &self.offset())
            .field("simdgroup", &self.simdgroup())
            .field("active", &self.active())
            .finish()
    }
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Reads and writes at once.
    Atomic,
}

/// A memory access of a simdgroup.
#[derive(Clone, Copy, Debug)]
pub struct MemoryAccess {
    /// Which memory.
    pub memory: Memory,
    /// What it does there.
    pub kind: AccessKind,
    /// Lanes that take part.
    pub active: u32,
    /// First byte, by lane; without meaning in lanes that take no part.
    pub addresses: [u64; LANES],
    /// Bytes from the first to the last component of a lane.
    pub bytes: u32,
}

impl<'a> Step<'a> {
    #[inline(always)]
    pub(crate) fn new(simdgroup: &'a Simdgroup, op: &'a MicroOp) -> Step<'a> {
        Step { simdgroup, op }
    }

    /// Byte offset of the instruction in the program.
    #[inline]
    pub fn offset(&self) -> u32 {
        self.op.offset
    }

    /// Index of the simdgroup in its threadgroup.
    #[inline]
    pub fn simdgroup(&self) -> u32 {
        self.simdgroup.placement.simdgroup
    }

    /// Lanes that execute.
    #[inline]
    pub fn active(&self) -> u32 {
        self.simdgroup.exec
    }

    /// Lanes that have a thread.
    #[inline]
    pub fn threads(&self) -> u32 {
        self.simdgroup.exists
    }

    /// The memory access of the instruction, if it is one.
    pub fn access(&self) -> Option<MemoryAccess> {
        let simdgroup = self.simdgroup;
        let (memory, kind, (addresses, bytes)) = match &self.op.operation {
            Operation::DeviceLoad { access, .. } => {
                let span = access::device_span(simdgroup, access);
                (Memory::Device, AccessKind::Load, span)
            }
            Operation::DeviceStore { access } => {
                let span = access::device_span(simdgroup, access);
                (Memory::Device, AccessKind::Store, span)
            }
            Operation::DeviceAtomic { atomic, .. } => {
                let span = access::atomic_span(simdgroup, atomic);
                (Memory::Device, AccessKind::Atomic, span)
            }
            Operation::GroupLoad { access, .. } => {
                let span = access::group_span(simdgroup, access);
                (Memory::Threadgroup, AccessKind::Load, span)
            }
            Operation::GroupStore { access } => {
                let span = access::group_span(simdgroup, access);
                (Memory::Threadgroup, AccessKind::Store, span)
            }
            Operation::GroupAtomic { atomic, .. } => {
                let span = access::atomic_span(simdgroup, atomic);
                (Memory::Threadgroup, AccessKind::Atomic, span)
            }
            Operation::StackLoad { access, .. } => {
                let span = access::stack_span(simdgroup, access);
                (Memory::Stack, AccessKind::Load, span)
            }
            Operation::StackStore { access } => {
                let span = access::stack_span(simdgroup, access);
                (Memory::Stack, AccessKind::Store, span)
            }
            _ => return None,
        };
        Some(MemoryAccess {
            memory,
            kind,
            active: simdgroup.exec,
            addresses,
            bytes: bytes as u32,
        })
    }
}
