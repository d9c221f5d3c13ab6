//! Operand encodings: how the bits of one operand spell a register, a uniform, an
//! immediate.
//!
//! A kind reads a field already concatenated by [`crate::bits::Bits`], so bit numbers
//! here are inside the field, not inside the instruction. A field includes every bit
//! its meaning depends on: a load's data register carries the mask that says how many
//! registers there are.

mod decode;
mod encode;

pub(crate) use encode::Placed;

use crate::names::List;

/// An operand encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    Special,
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
}
