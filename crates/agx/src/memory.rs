//! Memory accesses, described once for everything that touches memory.

use crate::instruction::Instruction;
use crate::isa::Family;
use crate::op::Op;
use crate::operand::{Operand, Reg};
use crate::semantics::{AtomicOp, Format};
use crate::table::Field;

/// Which memory is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Buffers: `device_load`, `device_store`, `atomic`.
    Device,
    /// Threadgroup memory.
    Threadgroup,
    /// Per-thread stack.
    Stack,
    /// The uniform registers, written by preambles.
    Uniform,
    /// Textures: `texture_sample`, `texture_load`.
    Texture,
    /// Images: `image_write`, `image_write_block`.
    Image,
    /// The tile buffer.
    Tile,
}

/// What is done to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// Memory to registers.
    Load,
    /// Registers to memory.
    Store,
    /// Read, combine, write.
    Atomic(AtomicOp),
    /// Device memory to threadgroup memory, asynchronously.
    CopyIn,
    /// Threadgroup memory to device memory, asynchronously.
    CopyOut,
}

/// One memory access.
///
/// For device, stack and threadgroup memory the address is
/// `base + (index << shift) * element`, on G15 `base + (index << shift) + offset`, with
/// `element` the byte size of [`Format::element_bytes`] (4 for atomics); component `i` of the mask adds `i`
/// elements more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryAccess {
    /// Which memory.
    pub space: Space,
    /// What is done.
    pub kind: AccessKind,
    /// Conversion between memory and registers; `None` where the instruction has none.
    pub format: Option<Format>,
    /// Components moved: bit 0 is x. 1 for atomics.
    pub mask: u8,
    /// Registers loaded or stored; the result of an atomic when it is wanted.
    pub data: Option<Reg>,
    /// The value an atomic combines with memory.
    pub value: Option<Reg>,
    /// Where the address starts: register, uniform, or immediate 0 for none.
    pub base: Operand,
    /// Added to the base, in elements: register or immediate.
    pub index: Operand,
    /// Whether a register index is zero-extended rather than sign-extended.
    pub index_unsigned: bool,
    /// Left shift of the index.
    pub shift: u8,
    /// Added to the address, in bytes (G15).
    pub offset: i32,
    /// The shift makes bytes of the index, not elements (G15).
    pub byte_address: bool,
    /// Coherency bits; 0 is ordinary.
    pub coherency: u8,
    /// Scoreboard slot; `None` when the access completes in order.
    pub slot: Option<u8>,
}

impl MemoryAccess {
    /// How many components are moved.
    pub const fn components(&self) -> u32 {
        self.mask.count_ones()
    }

    /// Bytes of memory touched by one lane, when the format is known: packed formats
    /// touch four, whatever the mask.
    pub fn bytes_per_lane(&self) -> Option<u32> {
        if matches!(self.kind, AccessKind::Atomic(_)) {
            return Some(4);
        }
        let format = self.format?;
        if format.is_packed() {
            return Some(4);
        }
        Some(u32::from(format.element_bytes()?) * self.components())
    }
}

impl Instruction {
    /// The memory access, when the instruction makes one.
    pub fn memory(&self) -> Option<MemoryAccess> {
        let (space, kind) = self.memory_kind()?;
        let is_atomic = matches!(kind, AccessKind::Atomic(_));
        let reg = |field| self.get(field).and_then(Operand::reg);
        Some(MemoryAccess {
            space,
            kind,
            format: self.format(),
            mask: if is_atomic {
                1
            } else {
                self.mask().unwrap_or(0b1111)
            },
            data: reg(if is_atomic { Field::Dest } else { Field::Data }),
            value: reg(Field::Value),
            base: self.get(Field::Base).unwrap_or(Operand::Imm(0)),
            index: self.index_operand(),
            index_unsigned: self.index_is_unsigned(),
            shift: self.get_int(Field::Shift).unwrap_or(0) as u8,
            offset: self.get_int(Field::Offset).unwrap_or(0) as i32,
            byte_address: self.family() == Family::G15,
            coherency: self.get_int(Field::Coherency).unwrap_or(0) as u8,
            slot: self.slot(),
        })
    }

    fn memory_kind(&self) -> Option<(Space, AccessKind)> {
        use AccessKind::{Atomic, CopyIn, CopyOut, Load, Store};
        let atomic = || Some(Atomic(self.atomic_op()?));
        Some(match self.op() {
            Op::DeviceLoad => (Space::Device, Load),
            Op::DeviceStore => (Space::Device, Store),
            Op::Atomic => (Space::Device, atomic()?),
            Op::ThreadgroupLoad => (Space::Threadgroup, Load),
            Op::ThreadgroupStore => (Space::Threadgroup, Store),
            Op::ThreadgroupAtomic => (Space::Threadgroup, atomic()?),
            Op::AsyncLoad => (Space::Threadgroup, CopyIn),
            Op::AsyncStore => (Space::Threadgroup, CopyOut),
            Op::StackLoad => (Space::Stack, Load),
            Op::StackStore => (Space::Stack, Store),
            Op::UniformStore => (Space::Uniform, Store),
            Op::TextureSample | Op::TextureLoad => (Space::Texture, Load),
            Op::ImageWrite | Op::ImageWriteBlock => (Space::Image, Store),
            Op::LdTile => (Space::Tile, Load),
            Op::StTile => (Space::Tile, Store),
            _ => return None,
        })
    }

    fn index_is_unsigned(&self) -> bool {
        match (self.family(), self.get(Field::Index)) {
            (Family::G15, Some(Operand::Reg(reg))) => !reg.mods.sx,
            (Family::G15, Some(Operand::Uniform(uniform))) => !uniform.mods.sx,
            (Family::G15, _) => true,
            (Family::G13, _) => self.get_int(Field::IndexSign) == Some(1),
        }
    }

    /// The index; an immediate is 16 bits, signed or unsigned like a register would be.
    fn index_operand(&self) -> Operand {
        match self.get(Field::Index) {
            Some(Operand::Imm(value)) if self.get_int(Field::IndexSign) == Some(1) => {
                Operand::Imm(value & 0xffff)
            }
            Some(operand) => operand,
            None => Operand::Imm(0),
        }
    }
}
