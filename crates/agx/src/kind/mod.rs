//! Operand encodings: how the bits of one operand spell a register, a uniform, an
//! immediate.
//!
//! A kind reads a field already concatenated by [`crate::bits::Bits`], so bit numbers
//! here are inside the field, not inside the instruction. A field includes every bit
//! its meaning depends on: a load's data register carries the mask that says how many
//! registers there are.

mod decode;
mod encode;
mod g15;

pub(crate) use encode::Placed;

use crate::isa::Family;
use crate::names::List;

/// An operand encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// Arithmetic destination: cache, size, register. At most 16, 32 or 64 bits.
    Dst16,
    Dst32,
    Dst64,
    /// A pair of registers written by a matrix instruction.
    DstPair,
    /// `r0l`; only the cache flag is encoded.
    ExecCounter,
    /// Arithmetic source: value, flags, extension.
    Src16,
    Src32,
    Src64,
    /// With a sign-extension flag before the extension.
    SrcMul,
    SrcAdd,
    /// With absolute-value and negate flags before the extension.
    SrcFloat,
    /// The same for 16-bit operations: one flag bit less.
    SrcHalf,
    /// A pair of registers read by a matrix instruction.
    SrcPair,
    /// A select's value; its size is the destination's.
    SrcSelect,
    /// Unsigned integer.
    Int,
    /// Integer written in binary with this many digits.
    Binary(u8),
    /// Signed 16-bit integer.
    Signed16,
    /// `lsl n`.
    Shift,
    /// `mask 0x..`.
    BitMask,
    TruthTable,
    /// Branch target, signed, of this many bits.
    Target(u8),
    /// A special register of this family.
    Special(Family),
    Choice(List),
    /// A 32-bit register by number.
    Word,
    /// A 32-bit register by half index.
    WordByHalf,
    /// A 16-bit register.
    Half,
    /// As many registers as the mask has bits: register, size, mask.
    Vector,
    /// A register when the top bit is set: register, size, present.
    OptionalReg,
    /// 64-bit address: register or uniform.
    Base,
    /// Element index: 32-bit register or signed 16-bit immediate.
    Index,
    /// Threadgroup address: 16-bit register, uniform or nothing.
    LocalBase,
    /// Threadgroup index: 16-bit register or signed 16-bit immediate.
    LocalIndex,
    /// An atomic's value; a pair for compare-and-exchange: register, operation.
    AtomicValue,
    /// The same on G15: register number (7 bits), operation.
    AtomicWord,
    /// An atomic's result, if wanted.
    AtomicDest,
    /// Threadgroup side of an asynchronous copy.
    CopyLocal,
    /// Device side: three or five registers.
    CopyDevice,
    /// Texture and sampler state registers that are written.
    TextureState,
    SamplerState,
    /// 64-bit uniform, aligned to four halves.
    UniformQuad,
    /// 32-bit register or 31-bit immediate.
    HeapOffset,
    Texture,
    Sampler,
    /// 64-bit uniform of a bindless heap, if used.
    Heap,
    /// Texture coordinates: register, discard, 16-bit flag, dimension.
    Coordinates,
    CompareOffset,
    /// Level of detail: register, mode, dimension.
    Lod,
    /// 16-bit register, or immediate when the top bit is set.
    HalfOrImm,
    /// Immediate, or 16-bit register when the top bit is set.
    ImmOrHalf,
    /// Immediate pixel coordinates, or two 16-bit registers when the top bit is set.
    TileCoordinates,
    DepthStencil,
    /// Interpolated values: size, register, count; times this many.
    Interpolated(u8),
    Coefficient,
    Perspective,
    SampleId,
    /// Four registers of an image write.
    Pixel,
    /// G15, arithmetic of variable length. Destination: half index (8 bits), 32 bits wide,
    /// cache, uniform, ninth bit of a uniform, brain float.
    VarDst,
    /// Source: seven bits of half index, eighth bit, cache, discard, 32 bits wide, uniform,
    /// negate or sign-extend, absolute, brain float, integer. A uniform with the cache bit is
    /// an immediate, whose eighth bit is the discard bit.
    VarSrc,
    /// Destination of a comparison: half index (8 bits), 32 bits wide, cache, uniform, ninth
    /// bit. An odd half 32 bits wide is a predicate.
    SelectDst,
    /// G15, arithmetic of fixed length. Destination: half index (8 bits), cache, register,
    /// size (2 bits).
    FixedDst,
    /// The same for floats: size 1 is 16 bits, and a bit says half rather than brain float.
    FixedFloatDst,
    /// Source: value (8 bits), cache, register, discard, size (2 bits), sign-extend. Neither
    /// register nor discard is an immediate, discard alone a uniform.
    FixedSrc,
    /// The same with one bit of size, then the size of the destination: the addend of a 64-bit
    /// sum is 64 bits wide itself when that is 3.
    FixedAddend,
    /// Float source: value, cache, register, discard, 32 bits wide, negate, absolute, half.
    FixedFloatSrc,
    /// Slots to wait for, one bit each.
    WaitMask,
    /// One slot to wait for, counted from 1, or none.
    WaitSlot,
    /// A predicate that is read: number (3 bits), inverted.
    PredicateUse,
    /// Loaded or stored registers: half index (8 bits), format (2), mask (4).
    Data,
    /// 64-bit address: number (7 bits), register rather than uniform.
    Address,
    /// Element index: value (8 bits), two flags of which this one is discard, 4 bits of an
    /// immediate, 32 bits wide, top bit of an immediate, sign-extend, kind (2 bits).
    ElementIndex(u8),
    /// Threadgroup index: half index or value (8 bits), register.
    GroupIndex,
    /// An atomic's index: half index (8 bits), 32 bits wide, discard, present.
    AtomicIndex,
    /// `lsl n` of an address: 0 is 4, else one more than the shift.
    AddressShift,
    /// `lsl n` of a sum's second term: 0 is 4.
    TermShift,
    /// Two registers of a matrix: number (7 bits), 32-bit.
    MatrixPair(bool),
    /// The same or nothing: number (7 bits), present.
    MatrixAddend(bool),
    /// Destination of a packing: half index, cache, register, mode (3 bits), two bits of which
    /// one is set when two values are packed.
    PackDst,
    /// Destination of an unpacking: half index, cache, 32 bits wide, two values.
    UnpackDst,
    /// Its source: half index, cache, discard, two halves.
    UnpackSrc,
}
