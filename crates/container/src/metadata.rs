//! What the compiler wrote beside the code: registers, spills, memory.
//!
//! The section `__GPU_METADATA` of a nested Mach-O is a FlatBuffer whose schema is
//! not public. Its root's field 0 is the table of the kernel; these fields of it
//! were identified by others who compiled kernels with known needs:
//!
//! | field | meaning |
//! |---|---|
//! | 0 | registers, in 32-bit units |
//! | 4 | buffer bindings: tables of (1) index, (2) place, (3) whether written |
//! | 9 | threadgroup memory |
//! | 14, 41 | scratch (spill) bytes per thread |
//! | 31 | uniform bytes |
//!
//! FlatBuffers leave out a field that has its default value, so a figure that is not
//! stated is usually 0; it is reported as not stated all the same.

use crate::error::Error;
use crate::flatbuffer::{self, Table};
use crate::view::View;

/// Needs of a compiled function, as the compiler stated them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata<'a> {
    /// Registers per thread, in 32-bit units.
    pub registers: Option<u32>,
    /// Scratch memory per thread, in bytes; more than 0 means values were spilled.
    pub spill_bytes: Option<u32>,
    /// Uniform registers, in bytes.
    pub uniform_bytes: Option<u32>,
    /// Threadgroup memory declared by the kernel, in bytes.
    pub threadgroup_bytes: Option<u32>,
    /// Buffers, in the compiler's order.
    pub bindings: Vec<Binding>,
    buffer: View<'a>,
}

/// A buffer the function uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The index it is bound to.
    pub index: u32,
    /// The compiler's place for it, in units the public notes do not state.
    pub place: u32,
    /// Whether the function writes it.
    pub written: bool,
}

mod field {
    pub(super) const KERNEL: u16 = 0;
    pub(super) const REGISTERS: u16 = 0;
    pub(super) const BINDINGS: u16 = 4;
    pub(super) const THREADGROUP: u16 = 9;
    pub(super) const SPILL: [u16; 2] = [14, 41];
    pub(super) const UNIFORMS: u16 = 31;
    pub(super) const BINDING_INDEX: u16 = 1;
    pub(super) const BINDING_PLACE: u16 = 2;
    pub(super) const BINDING_WRITTEN: u16 = 3;
}

impl<'a> Metadata<'a> {
    /// Reads the section `__GPU_METADATA`.
    pub fn read(buffer: View<'a>) -> Result<Self, Error> {
        let root = Table::root(buffer)?;
        let kernel = root.table(field::KERNEL).ok_or_else(|| {
            Error::malformed(buffer.offset(0), "GPU metadata without a kernel table")
        })?;
        let spill = field::SPILL.iter().filter_map(|&field| kernel.uint(field));
        let bindings = kernel.tables(field::BINDINGS).unwrap_or_default();
        Ok(Metadata {
            registers: kernel.uint(field::REGISTERS),
            spill_bytes: spill.max(),
            uniform_bytes: kernel.uint(field::UNIFORMS),
            threadgroup_bytes: kernel.uint(field::THREADGROUP),
            bindings: bindings.iter().map(binding).collect(),
            buffer,
        })
    }

    /// Strings in the metadata; the function's name is among them.
    pub fn strings(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        flatbuffer::strings(self.buffer)
    }
}

/// A field left out of a binding has its default value, 0.
fn binding(table: &Table<'_>) -> Binding {
    Binding {
        index: table.uint(field::BINDING_INDEX).unwrap_or(0),
        place: table.uint(field::BINDING_PLACE).unwrap_or(0),
        written: table.uint(field::BINDING_WRITTEN).unwrap_or(0) != 0,
    }
}
