//! What an instruction does: one variant per operation, and its functional class.

/// An operation.
///
/// Encodings that do the same thing share a variant: the short and long forms, a
/// `mov_imm` of 16 or 32 bits, a `device_load` with ordinary or unusual control bits.
/// What varies further is asked of the instruction: [`crate::Instruction::condition`],
/// [`crate::Instruction::shuffle`], [`crate::Instruction::reduction`],
/// [`crate::Instruction::atomic_op`], [`crate::Instruction::convert_mode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each variant is named after its mnemonic")]
#[non_exhaustive]
pub enum Op {
    MovImm,
    GetSr,
    /// The other flavour of special-register read; what differs is unknown.
    GetSrUnknown,
    Iadd,
    Isub,
    Imadd,
    Imsub,
    Convert,
    Bfi,
    Bfeil,
    Extr,
    Shlhi,
    Shrhi,
    Asr,
    Asrh,
    /// Any bitwise function of two sources: `and`, `or`, `xor`, `not`, `mov`...
    Bitop,
    Bitrev,
    Popcount,
    Intl,
    Ffs,
    /// An integer unary operation no decoder knows.
    IntegerUnaryUnknown,
    Fmadd32,
    Fmadd16,
    Fadd32,
    Fadd16,
    Fmul32,
    Fmul16,
    Floor,
    Ceil,
    Trunc,
    Rint,
    Rcp,
    Rsqrt,
    RsqrtSpecial,
    SinPt1,
    SinPt2,
    Log2,
    Exp2,
    Dfdx,
    Dfdy,
    /// A float unary operation no decoder knows.
    FloatUnaryUnknown,
    Icmpsel,
    Fcmpsel,
    IcmpBallot,
    IcmpQuadBallot,
    FcmpBallot,
    FcmpQuadBallot,
    /// Every shuffle: see [`crate::Instruction::shuffle`].
    Shuffle,
    /// Every reduction and prefix scan: see [`crate::Instruction::reduction`].
    Reduce,
    SimdMatrixFmadd32,
    SimdMatrixFmadd16,
    Stop,
    Trap,
    Ret,
    /// Call to the address in a register.
    CallReg,
    Call,
    JmpIncomplete,
    JmpExecAny,
    JmpExecNone,
    JmpIfSkippingDoorbell,
    PopExec,
    /// The other flavour of `pop_exec`; what differs is unknown.
    PopExecUnknown,
    IfIcmp,
    IfFcmp,
    ElseIcmp,
    ElseFcmp,
    WhileIcmp,
    WhileFcmp,
    Wait,
    ThreadgroupBarrier,
    MemoryBarrier,
    DeviceLoad,
    DeviceStore,
    ThreadgroupLoad,
    ThreadgroupStore,
    StackLoad,
    StackStore,
    StackAdjust,
    StackGetPtr,
    UniformStore,
    Atomic,
    ThreadgroupAtomic,
    AsyncLoad,
    AsyncStore,
    TextureSample,
    TextureLoad,
    ImageWrite,
    ImageWriteBlock,
    TexStateStore,
    SamplerStateStore,
    LdTile,
    StTile,
    Iter,
    IterProj,
    Ldcf,
    StVar,
    StVarFinal,
    NoVar,
    WaitPix,
    SignalPix,
    SampleMask,
    ZsEmit,
    Doorbell,
    Map,
    Unmap,
    /// Compare and select with integer and float sides chosen apart (G15).
    Cmpsel,
    /// The same, keeping the destination where the other value is not chosen (G15).
    Cmov,
    /// A select of the values compared: minimum and maximum (G15).
    Minmax,
    /// Any bitwise function of one source or none: `mov`, `zero` (G15).
    BitopUnary,
    /// Packs floats into normalised integers (G15).
    Pack,
    /// Unpacks normalised integers into floats (G15).
    Unpack,
    /// A ballot of a comparison (G15).
    Ballot,
    /// Makes ready for the value an atomic will find (G15).
    ClearResult,
    /// Takes the value an atomic found (G15).
    AtomicResult,
    /// Execution-mask instructions that read a predicate (G15).
    IfPredicate,
    ElsePredicate,
    WhilePredicate,
    /// An instruction of known length and unknown meaning.
    Unknown,
}

impl Op {
    /// Whether it writes the nesting counters (`r0l` on G13), and with them the execution mask.
    pub const fn writes_exec_mask(self) -> bool {
        matches!(
            self,
            Op::IfIcmp
                | Op::IfFcmp
                | Op::ElseIcmp
                | Op::ElseFcmp
                | Op::WhileIcmp
                | Op::WhileFcmp
                | Op::PopExec
                | Op::PopExecUnknown
                | Op::IfPredicate
                | Op::ElsePredicate
                | Op::WhilePredicate
        )
    }
}

/// The part of the machine an instruction occupies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Single-precision add, multiply, multiply-add.
    Float32,
    /// Half-precision add, multiply, multiply-add.
    Float16,
    /// Moves, immediates, bitwise operations.
    Logic,
    /// Integer add and subtract.
    IntegerAdd,
    /// Integer multiply-add.
    IntegerMultiply,
    /// Shifts and bit fields.
    BitField,
    /// Bit counting, reversal, interleaving.
    BitCount,
    /// Compare and select.
    Select,
    /// Conversions between integers and floats.
    Convert,
    /// Rounding to an integral float.
    Round,
    /// Reciprocal, square root, logarithm, exponential, sine.
    Transcendental,
    /// Screen-space derivatives.
    Derivative,
    /// Reads of special registers.
    SpecialRegister,
    /// Shuffles and ballots.
    CrossLane,
    /// Reductions and scans over a quad or a simdgroup.
    Reduction,
    /// 8x8 matrix multiply-add.
    Matrix,
    /// Device memory.
    DeviceMemory,
    /// Threadgroup memory.
    ThreadgroupMemory,
    /// Stack (scratch) memory.
    StackMemory,
    /// Texture sampling and loading.
    Texture,
    /// Image writes.
    Image,
    /// Tile buffer and fragment output.
    Tile,
    /// Vertex outputs and interpolated inputs.
    Varying,
    /// Writes to uniforms and state registers, as preambles do.
    UniformStore,
    /// Jumps, calls, the execution-mask stack.
    Control,
    /// Waits and barriers.
    Synchronisation,
    /// Anything else.
    Other,
}
