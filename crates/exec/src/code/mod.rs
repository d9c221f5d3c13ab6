//! The bytecode: small operations over dense registers.
//!
//! A value is one register per number it is made of: a vector has as many as it has elements, a
//! matrix two, a struct those of its fields. Numbers of up to 32 bits live in *narrow* registers, 64-bit
//! integers and pointers in *wide* ones. Jump targets are positions of operations.

mod objects;
mod op;

pub(crate) use objects::{Guarded, Objects};
pub(crate) use op::{BulkCopy, Cell, Index, List, Op, Reg, Scaled, Transfer};

use crate::builtins::{LaneCall, LaneKernel};
use crate::class::Class;
use crate::collective::Collective;
use crate::matrix::{MatrixOp, Product};
use crate::simd::SimdLevel;
use crate::texture::TextureOp;
use assay_ssa::{Argument, Binding};
use std::ops::Range;

/// A call computed lane by lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PerLane {
    pub(crate) kernel: LaneKernel,
    pub(crate) call: LaneCall,
    pub(crate) args: List,
    pub(crate) results: List,
}

/// Data a program brings along.
#[derive(Clone, Debug)]
pub(crate) struct ConstantData {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

/// Bytes of declared memory that are no part of any number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Padding {
    pub(crate) thread: Vec<Range<u32>>,
    pub(crate) threadgroup: Vec<Range<u32>>,
}

impl Padding {
    /// The pieces of `1 << shift` bytes that are padding only.
    pub(crate) fn pieces(ranges: &[Range<u32>], shift: u32) -> impl Iterator<Item = Range<usize>> {
        let first = move |at: u32| at.div_ceil(1 << shift) as usize;
        ranges
            .iter()
            .map(move |range| first(range.start)..(range.end >> shift) as usize)
    }
}

/// How a kernel parameter or global gets its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pointer {
    /// The buffer of this index.
    Buffer(u32),
    /// Threadgroup memory of this index, sized at dispatch.
    Threadgroup(u32),
    /// Threadgroup memory of the program at this offset.
    Static(u32),
    /// Constant data of the program.
    Constant(u32),
    /// The texture of this index.
    Texture(u32),
    /// The sampler of this index.
    Sampler(u32),
}

/// A place in the user's source.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// `file:line`.
    pub(crate) line: String,
    /// From 1; 0 when it is not known.
    pub(crate) column: u32,
    /// The functions it was inlined through, the kernel first, with ` > ` between them.
    pub(crate) chain: String,
    /// The lines that called its function, from the inside out.
    pub(crate) callers: Vec<String>,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.column {
            0 => f.write_str(&self.line),
            column => write!(f, "{}:{column}", self.line),
        }
    }
}

/// A kernel compiled for the executor.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) name: String,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) max_threads: Option<u32>,
    pub(crate) ops: Vec<Op>,
    /// Where each operation came from: an index into `places`, or `u32::MAX`.
    pub(crate) origins: Vec<u32>,
    pub(crate) places: Vec<Place>,
    /// What kind of instruction each operation stands for.
    pub(crate) classes: Vec<Class>,
    /// Floating-point operations of an active lane: those of an instruction, at the first of its operations.
    pub(crate) flops: Vec<u16>,
    pub(crate) lists: Vec<Reg>,
    pub(crate) transfers: Vec<Transfer>,
    pub(crate) collectives: Vec<Collective>,
    pub(crate) matrices: Vec<MatrixOp>,
    pub(crate) products: Vec<Product>,
    pub(crate) per_lane: Vec<PerLane>,
    pub(crate) copies: Vec<BulkCopy>,
    pub(crate) textures: Vec<TextureOp>,
    pub(crate) narrow: u32,
    pub(crate) wide: u32,
    pub(crate) slots: u32,
    /// Registers with the same value in all lanes from the start.
    pub(crate) constants: Vec<(Reg, u64)>,
    pub(crate) pointers: Vec<(u32, Pointer)>,
    pub(crate) data: Vec<ConstantData>,
    /// Bytes of thread memory.
    pub(crate) frame: u32,
    /// Bytes of threadgroup memory the program declares.
    pub(crate) static_threadgroup: u32,
    /// Where the dispatch may place more of it: behind what is declared and its guard zones.
    pub(crate) threadgroup_end: u32,
    /// The objects of thread and threadgroup memory, if guard zones lie between them.
    pub(crate) guarded: Option<Guarded>,
    pub(crate) padding: Padding,
    /// Device atomics whose outcome depends on order.
    pub(crate) in_order: bool,
    /// Atomics of any memory whose outcome depends on order: simdgroups run one after the other.
    pub(crate) in_turn: bool,
    /// The vector instructions its functions were chosen for.
    pub(crate) level: SimdLevel,
    /// True if it uses a pointer or handle that it found in memory.
    pub(crate) follows_pointers: bool,
    /// True if registers of inactive lanes can be read.
    pub(crate) reads_inactive: bool,
    /// Machine code, or what it can be made of.
    #[cfg(feature = "native")]
    pub(crate) native: crate::native::Slot,
}

impl Program {
    /// The kernel's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What a dispatch binds, in source order.
    pub fn arguments(&self) -> &[Argument] {
        &self.arguments
    }

    /// Returns true if the kernel uses pointers or handles that it finds in memory, such as those of argument buffers.
    pub fn follows_pointers(&self) -> bool {
        self.follows_pointers
    }

    /// The bindings the kernel cannot run without: arguments that nothing reads or writes are not among them.
    pub fn required(&self) -> impl Iterator<Item = Binding> + '_ {
        self.pointers
            .iter()
            .filter_map(|(_, pointer)| match pointer {
                Pointer::Buffer(index) => Some(Binding::Buffer(*index)),
                Pointer::Threadgroup(index) => Some(Binding::Threadgroup(*index)),
                Pointer::Texture(index) => Some(Binding::Texture(*index)),
                Pointer::Sampler(index) => Some(Binding::Sampler(*index)),
                Pointer::Static(_) | Pointer::Constant(_) => None,
            })
    }

    /// Threadgroup memory the kernel declares, in bytes, without what a dispatch adds.
    pub fn static_threadgroup_memory(&self) -> u32 {
        self.static_threadgroup
    }

    /// The kernel's own limit on threads of a threadgroup.
    pub fn max_threads(&self) -> Option<u32> {
        self.max_threads
    }

    /// Returns true if threadgroups run one after the other, because atomics on device memory make the result depend on order.
    pub fn runs_in_order(&self) -> bool {
        self.in_order
    }

    /// Number of operations.
    pub fn operations(&self) -> usize {
        self.ops.len()
    }

    fn origin(&self, position: usize) -> Option<&Place> {
        let origin = *self.origins.get(position)?;
        self.places.get(origin as usize)
    }

    /// Where in the source an operation comes from, if that is known.
    pub(crate) fn place(&self, position: usize) -> Option<String> {
        self.origin(position).map(Place::to_string)
    }

    /// The lines that called the function an operation comes from, from the inside out.
    pub(crate) fn callers(&self, position: usize) -> Vec<String> {
        let place = self.origin(position);
        place.map_or(Vec::new(), |place| place.callers.clone())
    }

    /// The same without the column.
    pub(crate) fn line(&self, position: usize) -> Option<String> {
        self.origin(position).map(|place| place.line.clone())
    }

    /// The chain of inlined calls that an operation comes from; the kernel alone if nothing is known.
    pub(crate) fn chain(&self, position: usize) -> &str {
        self.origin(position)
            .map_or(&self.name, |place| &place.chain)
    }

    /// What kind of instruction an operation stands for.
    #[inline(always)]
    pub(crate) fn class(&self, position: usize) -> Class {
        self.classes
            .get(position)
            .copied()
            .unwrap_or(Class::Bookkeeping)
    }

    /// Returns true if an operation gets a number from memory.
    pub(crate) fn loads(&self, op: &Op) -> bool {
        match op {
            Op::Load { .. } | Op::Atomic { .. } | Op::CompareExchange { .. } => true,
            Op::Matrix { index } => {
                let op = self.matrices.get(*index as usize);
                matches!(op, Some(MatrixOp::Load { .. }))
            }
            Op::Texture { index } => {
                let op = self.textures.get(*index as usize);
                op.is_some_and(TextureOp::loads)
            }
            _ => false,
        }
    }

    /// The entries of a list.
    #[inline]
    pub(crate) fn list(&self, list: List) -> &[Reg] {
        let start = list.start as usize;
        self.lists
            .get(start..start + list.len as usize)
            .unwrap_or(&[])
    }
}
