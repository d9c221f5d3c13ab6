//! The one table of builtins, as data.
//!
//! A row: id, name, family, signature, effects, convergent or not, uniformity rule, folding.
//! The letters of a signature are explained at [`crate::builtin::signature`].

use super::{BuiltinInfo, Effects, Family, Fold, UniformityRule};
use crate::analysis::Uniformity;

macro_rules! builtins {
    ($($id:ident $name:literal $family:ident $signature:literal $effects:ident $conv:ident $uniform:expr, $fold:expr;)*) => {
        /// A builtin function, without the variations its call carries ([`BuiltinCall`](super::BuiltinCall)).
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u16)]
        #[allow(missing_docs, reason = "the names are Metal's, and the table below documents each")]
        pub enum Builtin { $($id,)* }

        impl Builtin {
            /// All builtins, in order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$id),*];
        }

        pub(super) static TABLE: &[BuiltinInfo] = &[$(BuiltinInfo {
            builtin: Builtin::$id,
            name: $name,
            family: Family::$family,
            signature: $signature,
            effects: Effects::$effects,
            convergent: convergent!($conv),
            uniformity: $uniform,
            fold: $fold,
        }),*];
    };
}

macro_rules! convergent {
    (conv) => {
        true
    };
    (free) => {
        false
    };
}

use Fold::{Constant, Never, Number, UniformIdentity};
use UniformityRule::{Broadcast, Fixed, Lane, Operands, QuadLocal, Reduction, Shuffle};

const DISPATCH: UniformityRule = Fixed(Uniformity::Dispatch);
const THREADGROUP: UniformityRule = Fixed(Uniformity::Threadgroup);
const SIMDGROUP: UniformityRule = Fixed(Uniformity::Simdgroup);

builtins! {
    // Float mathematics. Each exists as `precise` and as `fast`.
    Sin "sin" Math "F:F" Pure free Operands, Constant;
    Cos "cos" Math "F:F" Pure free Operands, Constant;
    Tan "tan" Math "F:F" Pure free Operands, Constant;
    Asin "asin" Math "F:F" Pure free Operands, Constant;
    Acos "acos" Math "F:F" Pure free Operands, Constant;
    Atan "atan" Math "F:F" Pure free Operands, Constant;
    Atan2 "atan2" Math "FF:F" Pure free Operands, Constant;
    Sinh "sinh" Math "F:F" Pure free Operands, Constant;
    Cosh "cosh" Math "F:F" Pure free Operands, Constant;
    Tanh "tanh" Math "F:F" Pure free Operands, Constant;
    Asinh "asinh" Math "F:F" Pure free Operands, Constant;
    Acosh "acosh" Math "F:F" Pure free Operands, Constant;
    Atanh "atanh" Math "F:F" Pure free Operands, Constant;
    Sinpi "sinpi" Math "F:F" Pure free Operands, Constant;
    Cospi "cospi" Math "F:F" Pure free Operands, Constant;
    Tanpi "tanpi" Math "F:F" Pure free Operands, Constant;
    Sincos "sincos" Math "Fp:F" WritesArgument free Operands, Never;
    Exp "exp" Math "F:F" Pure free Operands, Constant;
    Exp2 "exp2" Math "F:F" Pure free Operands, Constant;
    Exp10 "exp10" Math "F:F" Pure free Operands, Constant;
    Log "log" Math "F:F" Pure free Operands, Constant;
    Log2 "log2" Math "F:F" Pure free Operands, Constant;
    Log10 "log10" Math "F:F" Pure free Operands, Constant;
    Pow "pow" Math "FF:F" Pure free Operands, Constant;
    Powr "powr" Math "FF:F" Pure free Operands, Constant;
    Powi "powi" Math "Fd:F" Pure free Operands, Constant;
    Sqrt "sqrt" Math "F:F" Pure free Operands, Constant;
    Rsqrt "rsqrt" Math "F:F" Pure free Operands, Constant;
    Recip "recip" Math "F:F" Pure free Operands, Constant;
    Divide "divide" Math "FF:F" Pure free Operands, Constant;
    Fabs "fabs" Math "F:F" Pure free Operands, Constant;
    Floor "floor" Math "F:F" Pure free Operands, Constant;
    Ceil "ceil" Math "F:F" Pure free Operands, Constant;
    Trunc "trunc" Math "F:F" Pure free Operands, Constant;
    Round "round" Math "F:F" Pure free Operands, Constant;
    Rint "rint" Math "F:F" Pure free Operands, Constant;
    Fract "fract" Math "F:F" Pure free Operands, Constant;
    Fmod "fmod" Math "FF:F" Pure free Operands, Constant;
    Remainder "remainder" Math "FF:F" Pure free Operands, Constant;
    Fmin "fmin" Math "FF:F" Pure free Operands, Constant;
    Fmax "fmax" Math "FF:F" Pure free Operands, Constant;
    Fminimum "fminimum" Math "FF:F" Pure free Operands, Constant;
    Fmaximum "fmaximum" Math "FF:F" Pure free Operands, Constant;
    Fmin3 "fmin3" Math "FFF:F" Pure free Operands, Constant;
    Fmax3 "fmax3" Math "FFF:F" Pure free Operands, Constant;
    Fmedian3 "fmedian3" Math "FFF:F" Pure free Operands, Constant;
    Fclamp "fclamp" Math "FFF:F" Pure free Operands, Constant;
    Saturate "saturate" Math "F:F" Pure free Operands, Constant;
    Sign "sign" Math "F:F" Pure free Operands, Constant;
    Mix "mix" Math "FFF:F" Pure free Operands, Constant;
    Step "step" Math "FF:F" Pure free Operands, Constant;
    Smoothstep "smoothstep" Math "FFF:F" Pure free Operands, Constant;
    Copysign "copysign" Math "FF:F" Pure free Operands, Constant;
    Fdim "fdim" Math "FF:F" Pure free Operands, Constant;
    Nextafter "nextafter" Math "FF:F" Pure free Operands, Constant;
    Ldexp "ldexp" Math "FJ:F" Pure free Operands, Constant;
    Ilogb "ilogb" Math "F:J" Pure free Operands, Constant;
    Frexp "frexp" Math "Fp:F" WritesArgument free Operands, Never;
    Modf "modf" Math "Fp:F" WritesArgument free Operands, Never;

    // Classification.
    IsFinite "isfinite" Relational "F:C" Pure free Operands, Constant;
    IsInf "isinf" Relational "F:C" Pure free Operands, Constant;
    IsNan "isnan" Relational "F:C" Pure free Operands, Constant;
    IsNormal "isnormal" Relational "F:C" Pure free Operands, Constant;
    IsOrdered "isordered" Relational "FF:C" Pure free Operands, Constant;
    IsUnordered "isunordered" Relational "FF:C" Pure free Operands, Constant;
    SignBit "signbit" Relational "F:C" Pure free Operands, Constant;
    IsClass "is_fpclass" Relational "Fd:C" Pure free Operands, Constant;
    All "all" Relational "B:b" Pure free Operands, Constant;
    Any "any" Relational "B:b" Pure free Operands, Constant;

    // Integers; signed and unsigned by the call's sign.
    Abs "abs" Integer "I:I" Pure free Operands, Constant;
    AbsDiff "absdiff" Integer "II:I" Pure free Operands, Constant;
    AddSat "addsat" Integer "II:I" Pure free Operands, Constant;
    SubSat "subsat" Integer "II:I" Pure free Operands, Constant;
    HAdd "hadd" Integer "II:I" Pure free Operands, Constant;
    RHAdd "rhadd" Integer "II:I" Pure free Operands, Constant;
    Min "min" Integer "II:I" Pure free Operands, Constant;
    Max "max" Integer "II:I" Pure free Operands, Constant;
    Min3 "min3" Integer "III:I" Pure free Operands, Constant;
    Max3 "max3" Integer "III:I" Pure free Operands, Constant;
    Median3 "median3" Integer "III:I" Pure free Operands, Constant;
    Clamp "clamp" Integer "III:I" Pure free Operands, Constant;
    MulHi "mulhi" Integer "II:I" Pure free Operands, Constant;
    MadHi "madhi" Integer "III:I" Pure free Operands, Constant;
    MadSat "madsat" Integer "III:I" Pure free Operands, Constant;
    Mul24 "mul24" Integer "II:I" Pure free Operands, Constant;
    Mad24 "mad24" Integer "III:I" Pure free Operands, Constant;
    Rotate "rotate" Integer "II:I" Pure free Operands, Constant;
    FunnelLeft "fshl" Integer "III:I" Pure free Operands, Constant;
    FunnelRight "fshr" Integer "III:I" Pure free Operands, Constant;
    PopCount "popcount" Integer "I:I" Pure free Operands, Constant;
    Clz "clz" Integer "I?b:I" Pure free Operands, Constant;
    Ctz "ctz" Integer "I?b:I" Pure free Operands, Constant;
    ReverseBits "reverse_bits" Integer "I:I" Pure free Operands, Constant;
    ByteSwap "bswap" Integer "I:I" Pure free Operands, Constant;
    ExtractBits "extract_bits" Integer "Ixx:I" Pure free Operands, Constant;
    InsertBits "insert_bits" Integer "IIxx:I" Pure free Operands, Constant;
    Compare3 "cmp" Integer "II:K" Pure free Operands, Constant;
    AddOverflow "add_overflow" Integer "II:G" Pure free Operands, Never;
    SubOverflow "sub_overflow" Integer "II:G" Pure free Operands, Never;
    MulOverflow "mul_overflow" Integer "II:G" Pure free Operands, Never;

    // Across the elements of one vector.
    ReduceAdd "vector_reduce_add" Vector "I:i" Pure free Operands, Constant;
    ReduceMul "vector_reduce_mul" Vector "I:i" Pure free Operands, Constant;
    ReduceAnd "vector_reduce_and" Vector "I:i" Pure free Operands, Constant;
    ReduceOr "vector_reduce_or" Vector "I:i" Pure free Operands, Constant;
    ReduceXor "vector_reduce_xor" Vector "I:i" Pure free Operands, Constant;
    ReduceMin "vector_reduce_min" Vector "I:i" Pure free Operands, Constant;
    ReduceMax "vector_reduce_max" Vector "I:i" Pure free Operands, Constant;
    ReduceFadd "vector_reduce_fadd" Vector "fF:f" Pure free Operands, Constant;
    ReduceFmul "vector_reduce_fmul" Vector "fF:f" Pure free Operands, Constant;
    ReduceFmin "vector_reduce_fmin" Vector "F:f" Pure free Operands, Constant;
    ReduceFmax "vector_reduce_fmax" Vector "F:f" Pure free Operands, Constant;

    // Geometry.
    Dot "dot" Geometric "FF:f" Pure free Operands, Constant;
    Cross "cross" Geometric "FF:F" Pure free Operands, Constant;
    Length "length" Geometric "F:f" Pure free Operands, Constant;
    LengthSquared "length_squared" Geometric "F:f" Pure free Operands, Constant;
    Distance "distance" Geometric "FF:f" Pure free Operands, Constant;
    DistanceSquared "distance_squared" Geometric "FF:f" Pure free Operands, Constant;
    Normalize "normalize" Geometric "F:F" Pure free Operands, Constant;
    FaceForward "faceforward" Geometric "FFF:F" Pure free Operands, Constant;
    Reflect "reflect" Geometric "FF:F" Pure free Operands, Constant;
    Refract "refract" Geometric "FFf:F" Pure free Operands, Constant;

    // Packed formats.
    PackUnorm4x8 "pack_unorm4x8" Pack "F:d" Pure free Operands, Constant;
    PackSnorm4x8 "pack_snorm4x8" Pack "F:d" Pure free Operands, Constant;
    PackUnorm4x8Srgb "pack_unorm4x8_srgb" Pack "F:d" Pure free Operands, Constant;
    PackUnorm2x16 "pack_unorm2x16" Pack "F:d" Pure free Operands, Constant;
    PackSnorm2x16 "pack_snorm2x16" Pack "F:d" Pure free Operands, Constant;
    PackUnorm10A2 "pack_unorm10a2" Pack "F:d" Pure free Operands, Constant;
    PackUnorm565 "pack_unorm565" Pack "F:h" Pure free Operands, Constant;
    UnpackUnorm4x8 "unpack_unorm4x8" Pack "d:F" Pure free Operands, Constant;
    UnpackSnorm4x8 "unpack_snorm4x8" Pack "d:F" Pure free Operands, Constant;
    UnpackUnorm4x8Srgb "unpack_unorm4x8_srgb" Pack "d:F" Pure free Operands, Constant;
    UnpackUnorm2x16 "unpack_unorm2x16" Pack "d:F" Pure free Operands, Constant;
    UnpackSnorm2x16 "unpack_snorm2x16" Pack "d:F" Pure free Operands, Constant;
    UnpackUnorm10A2 "unpack_unorm10a2" Pack "d:F" Pure free Operands, Constant;
    UnpackUnorm565 "unpack_unorm565" Pack "h:F" Pure free Operands, Constant;

    // Across the threads of a simdgroup.
    SimdSum "simd_sum" Simd "A:A" Pure conv Reduction, Never;
    SimdProduct "simd_product" Simd "A:A" Pure conv Reduction, Never;
    SimdMin "simd_min" Simd "A:A" Pure conv Broadcast, UniformIdentity;
    SimdMax "simd_max" Simd "A:A" Pure conv Broadcast, UniformIdentity;
    SimdAnd "simd_and" Simd "I:I" Pure conv Broadcast, UniformIdentity;
    SimdOr "simd_or" Simd "I:I" Pure conv Broadcast, UniformIdentity;
    SimdXor "simd_xor" Simd "I:I" Pure conv Reduction, Never;
    SimdPrefixInclusiveSum "simd_prefix_inclusive_sum" Simd "A:A" Pure conv Lane, Never;
    SimdPrefixExclusiveSum "simd_prefix_exclusive_sum" Simd "A:A" Pure conv Lane, Never;
    SimdPrefixInclusiveProduct "simd_prefix_inclusive_product" Simd "A:A" Pure conv Lane, Never;
    SimdPrefixExclusiveProduct "simd_prefix_exclusive_product" Simd "A:A" Pure conv Lane, Never;
    SimdShuffle "simd_shuffle" Simd "Ax:A" Pure conv Shuffle, UniformIdentity;
    SimdShuffleUp "simd_shuffle_up" Simd "Ax:A" Pure conv QuadLocal, UniformIdentity;
    SimdShuffleDown "simd_shuffle_down" Simd "Ax:A" Pure conv QuadLocal, UniformIdentity;
    SimdShuffleXor "simd_shuffle_xor" Simd "Ax:A" Pure conv QuadLocal, UniformIdentity;
    SimdShuffleRotateUp "simd_shuffle_rotate_up" Simd "Ax:A" Pure conv QuadLocal, UniformIdentity;
    SimdShuffleRotateDown "simd_shuffle_rotate_down" Simd "Ax:A" Pure conv QuadLocal, UniformIdentity;
    SimdShuffleAndFillUp "simd_shuffle_and_fill_up" Simd "AAx?x:A" Pure conv Lane, Never;
    SimdShuffleAndFillDown "simd_shuffle_and_fill_down" Simd "AAx?x:A" Pure conv Lane, Never;
    SimdBroadcast "simd_broadcast" Simd "Ax:A" Pure conv Broadcast, UniformIdentity;
    SimdBroadcastFirst "simd_broadcast_first" Simd "A:A" Pure conv Broadcast, UniformIdentity;
    SimdBallot "simd_ballot" Simd "b:K" Pure conv SIMDGROUP, Never;
    SimdAll "simd_all" Simd "b:b" Pure conv Broadcast, UniformIdentity;
    SimdAny "simd_any" Simd "b:b" Pure conv Broadcast, UniformIdentity;
    SimdVoteAll "simd_vote_all" Simd "K:b" Pure conv SIMDGROUP, Never;
    SimdVoteAny "simd_vote_any" Simd "K:b" Pure conv SIMDGROUP, Never;
    SimdActiveThreadsMask "simd_active_threads_mask" Simd ":K" Pure conv SIMDGROUP, Never;
    SimdIsFirst "simd_is_first" Simd ":b" Pure conv Lane, Never;
    SimdIsHelperThread "simd_is_helper_thread" Simd ":b" Pure free DISPATCH, Number(0);
    IsUniform "is_uniform" Simd "V:b" Pure free Operands, Never;

    // Across the threads of a quadgroup.
    QuadSum "quad_sum" Quad "A:A" Pure conv Lane, Never;
    QuadProduct "quad_product" Quad "A:A" Pure conv Lane, Never;
    QuadMin "quad_min" Quad "A:A" Pure conv QuadLocal, UniformIdentity;
    QuadMax "quad_max" Quad "A:A" Pure conv QuadLocal, UniformIdentity;
    QuadAnd "quad_and" Quad "I:I" Pure conv QuadLocal, UniformIdentity;
    QuadOr "quad_or" Quad "I:I" Pure conv QuadLocal, UniformIdentity;
    QuadXor "quad_xor" Quad "I:I" Pure conv Lane, Never;
    QuadPrefixInclusiveSum "quad_prefix_inclusive_sum" Quad "A:A" Pure conv Lane, Never;
    QuadPrefixExclusiveSum "quad_prefix_exclusive_sum" Quad "A:A" Pure conv Lane, Never;
    QuadPrefixInclusiveProduct "quad_prefix_inclusive_product" Quad "A:A" Pure conv Lane, Never;
    QuadPrefixExclusiveProduct "quad_prefix_exclusive_product" Quad "A:A" Pure conv Lane, Never;
    QuadShuffle "quad_shuffle" Quad "Ax:A" Pure conv QuadLocal, UniformIdentity;
    QuadShuffleUp "quad_shuffle_up" Quad "Ax:A" Pure conv QuadLocal, UniformIdentity;
    QuadShuffleDown "quad_shuffle_down" Quad "Ax:A" Pure conv QuadLocal, UniformIdentity;
    QuadShuffleXor "quad_shuffle_xor" Quad "Ax:A" Pure conv QuadLocal, UniformIdentity;
    QuadShuffleRotateUp "quad_shuffle_rotate_up" Quad "Ax:A" Pure conv QuadLocal, UniformIdentity;
    QuadShuffleRotateDown "quad_shuffle_rotate_down" Quad "Ax:A" Pure conv QuadLocal, UniformIdentity;
    QuadShuffleAndFillUp "quad_shuffle_and_fill_up" Quad "AAx?x:A" Pure conv Lane, Never;
    QuadShuffleAndFillDown "quad_shuffle_and_fill_down" Quad "AAx?x:A" Pure conv Lane, Never;
    QuadBroadcast "quad_broadcast" Quad "Ax:A" Pure conv QuadLocal, UniformIdentity;
    QuadBroadcastFirst "quad_broadcast_first" Quad "A:A" Pure conv QuadLocal, UniformIdentity;
    QuadBallot "quad_ballot" Quad "b:K" Pure conv Lane, Never;
    QuadAll "quad_all" Quad "b:b" Pure conv QuadLocal, UniformIdentity;
    QuadAny "quad_any" Quad "b:b" Pure conv QuadLocal, UniformIdentity;
    QuadVoteAll "quad_vote_all" Quad "K:b" Pure conv Lane, Never;
    QuadVoteAny "quad_vote_any" Quad "K:b" Pure conv Lane, Never;
    QuadActiveThreadsMask "quad_active_threads_mask" Quad ":K" Pure conv Lane, Never;
    QuadIsFirst "quad_is_first" Quad ":b" Pure conv Lane, Never;
    QuadIsHelperThread "quad_is_helper_thread" Quad ":b" Pure free DISPATCH, Number(0);

    // Simdgroup matrices: pointer, elements per row, (column, row) origin, transposed.
    MatrixLoad "simdgroup_matrix_8x8_load" Matrix "plLb:M" ReadsArgument conv Lane, Never;
    MatrixStore "simdgroup_matrix_8x8_store" Matrix "MplLb:v" WritesArgument conv Lane, Never;
    MatrixFilled "simdgroup_matrix_8x8_init_filled" Matrix "m:M" Pure conv Lane, Never;
    MatrixDiagonal "simdgroup_matrix_8x8_init_diag" Matrix "m:M" Pure conv Lane, Never;
    MatrixMultiply "simdgroup_matrix_8x8_multiply" Matrix "##:#" Pure conv Lane, Never;
    MatrixMultiplyAdd "simdgroup_matrix_8x8_multiply_accumulate" Matrix "###:#" Pure conv Lane, Never;
    AsyncCopy1d "simdgroup_async_copy_1d" Matrix "*:R" ReadsWritesArguments conv Lane, Never;
    AsyncCopy2d "simdgroup_async_copy_2d" Matrix "*:R" ReadsWritesArguments conv Lane, Never;
    WaitEvents "wait_simdgroup_events" Matrix "*:R" Barrier conv Lane, Never;

    // Barriers: memory kinds, scope. A fence: memory kinds, ordering, scope.
    ThreadgroupBarrier "threadgroup_barrier" Barrier "d?d:v" Barrier conv DISPATCH, Never;
    SimdgroupBarrier "simdgroup_barrier" Barrier "d?d:v" Barrier conv DISPATCH, Never;
    QuadgroupBarrier "quadgroup_barrier" Barrier "d?d:v" Barrier conv DISPATCH, Never;
    AtomicFence "atomic_fence" Barrier "ddd:v" Barrier free DISPATCH, Never;

    // Positions and sizes: an integer, or a vector of two or three; narrower types are cut.
    ThreadPositionInGrid "thread_position_in_grid" Position ":P" Pure free Lane, Never;
    ThreadPositionInThreadgroup "thread_position_in_threadgroup" Position ":P" Pure free Lane, Never;
    ThreadIndexInThreadgroup "thread_index_in_threadgroup" Position ":P" Pure free Lane, Never;
    ThreadIndexInSimdgroup "thread_index_in_simdgroup" Position ":P" Pure free Lane, Never;
    ThreadIndexInQuadgroup "thread_index_in_quadgroup" Position ":P" Pure free Lane, Never;
    QuadgroupIndexInThreadgroup "quadgroup_index_in_threadgroup" Position ":P" Pure free Lane, Never;
    SimdgroupIndexInThreadgroup "simdgroup_index_in_threadgroup" Position ":P" Pure free SIMDGROUP, Never;
    ThreadgroupPositionInGrid "threadgroup_position_in_grid" Position ":P" Pure free THREADGROUP, Never;
    ThreadsPerThreadgroup "threads_per_threadgroup" Position ":P" Pure free THREADGROUP, Never;
    SimdgroupsPerThreadgroup "simdgroups_per_threadgroup" Position ":P" Pure free THREADGROUP, Never;
    QuadgroupsPerThreadgroup "quadgroups_per_threadgroup" Position ":P" Pure free THREADGROUP, Never;
    DispatchThreadsPerThreadgroup "dispatch_threads_per_threadgroup" Position ":P" Pure free DISPATCH, Never;
    DispatchSimdgroupsPerThreadgroup "dispatch_simdgroups_per_threadgroup" Position ":P" Pure free DISPATCH, Never;
    DispatchQuadgroupsPerThreadgroup "dispatch_quadgroups_per_threadgroup" Position ":P" Pure free DISPATCH, Never;
    ThreadsPerGrid "threads_per_grid" Position ":P" Pure free DISPATCH, Never;
    ThreadgroupsPerGrid "threadgroups_per_grid" Position ":P" Pure free DISPATCH, Never;
    ThreadsPerSimdgroup "threads_per_simdgroup" Position ":P" Pure free DISPATCH, Number(32);
    GridOrigin "grid_origin" Position ":P" Pure free DISPATCH, Never;
    GridSize "grid_size" Position ":P" Pure free DISPATCH, Never;

    // Function constants: whether one was given a value; one when the byte is not zero.
    IsFunctionConstantDefined "is_function_constant_defined" Query "p:b" Pure free DISPATCH, Never;
    NormalizePredicate "normalize_function_constant_predicate" Query "I:I" Pure free Operands, Constant;

    // Programs made to be checked: a variable's life begins, what it holds then, and what must be true (and which rule says so).
    LifetimeStart "lifetime_start" Query "p:v" WritesArgument free DISPATCH, Never;
    LifetimeEnd "lifetime_end" Query "p:v" WritesArgument free DISPATCH, Never;
    Uninitialised "uninitialised" Query ":R" Pure free Lane, Never;
    Expect "expect" Query "bd:v" WritesArgument free DISPATCH, Never;

    // Textures, by kind (see `TextureKind`); arguments are not checked.
    TextureSample "sample" Texture "*:R" ReadsTexture free Lane, Never;
    TextureSampleCompare "sample_compare" Texture "*:R" ReadsTexture free Lane, Never;
    TextureGather "gather" Texture "*:R" ReadsTexture free Lane, Never;
    TextureGatherCompare "gather_compare" Texture "*:R" ReadsTexture free Lane, Never;
    TextureRead "read" Texture "*:R" ReadsTexture free Lane, Never;
    TextureWrite "write" Texture "*:R" WritesTexture free Lane, Never;
    TextureFence "fence" Texture "*:R" Barrier free Lane, Never;
    TextureAtomic "texture_atomic" Texture "*:R" WritesTexture free Lane, Never;
    TextureGetWidth "get_width" Texture "*:R" Pure free Operands, Never;
    TextureGetHeight "get_height" Texture "*:R" Pure free Operands, Never;
    TextureGetDepth "get_depth" Texture "*:R" Pure free Operands, Never;
    TextureGetArraySize "get_array_size" Texture "*:R" Pure free Operands, Never;
    TextureGetNumMipLevels "get_num_mip_levels" Texture "*:R" Pure free Operands, Never;
    TextureGetNumSamples "get_num_samples" Texture "*:R" Pure free Operands, Never;
    TextureIsNull "is_null" Texture "*:R" Pure free Operands, Never;
}
