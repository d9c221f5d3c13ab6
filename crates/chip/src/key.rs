//! The rows of a cost table.
//!
//! Instructions that cost the same share a key, and one operation may have several:
//! a 16-bit select is not a 32-bit one, a sum of halves not a sum of floats.

macro_rules! keys {
    ($($variant:ident = $name:literal,)*) => {
        /// What an instruction is charged as.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "each variant is named after its row")]
        pub enum Key {
            $($variant,)*
        }

        impl Key {
            /// Every key, in the order of the tables.
            pub const ALL: &'static [Key] = &[$(Key::$variant,)*];

            /// The name used in tables and reports.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Key::$variant => $name,)*
                }
            }
        }
    };
}

keys! {
    Fadd32 = "fadd32",
    Fmul32 = "fmul32",
    Fmadd32 = "fmadd32",
    Fadd16 = "fadd16",
    Fmul16 = "fmul16",
    Fmadd16 = "fmadd16",
    MovImm = "mov_imm",
    Bitop = "bitop",
    GetSr = "get_sr",
    Iadd16 = "iadd.16",
    Iadd32 = "iadd.32",
    Iadd64 = "iadd.64",
    Cmpsel16 = "cmpsel.16",
    Cmpsel32 = "cmpsel.32",
    Imad16 = "imad.16",
    Imad32 = "imad.32",
    Imad64 = "imad.64",
    Bfi = "bfi",
    Bfeil = "bfeil",
    Extr = "extr",
    Shlhi = "shlhi",
    Shrhi = "shrhi",
    Asr = "asr",
    Asrh = "asrh",
    Bitrev = "bitrev",
    Popcount = "popcount",
    Intl = "intl",
    Ffs = "ffs",
    Convert = "convert",
    Floor = "floor",
    Ceil = "ceil",
    Trunc = "trunc",
    Rint = "rint",
    Rcp = "rcp",
    Rsqrt16 = "rsqrt.16",
    Rsqrt32 = "rsqrt.32",
    RsqrtSpecial = "rsqrt_special",
    SinPt1 = "sin_pt_1",
    SinPt2 = "sin_pt_2",
    Log216 = "log2.16",
    Log232 = "log2.32",
    Exp216 = "exp2.16",
    Exp232 = "exp2.32",
    Derivative = "derivative",
    SimdBallot = "simd_ballot",
    QuadBallot = "quad_ballot",
    SimdShuffle = "simd_shuffle",
    SimdShuffleBy = "simd_shuffle_by",
    QuadShuffle = "quad_shuffle",
    QuadShuffleBy = "quad_shuffle_by",
    SimdReduceAddF16 = "simd_reduce.add.f16",
    SimdReduceAddF32 = "simd_reduce.add.f32",
    SimdReduceAddI16 = "simd_reduce.add.i16",
    SimdReduceAddI32 = "simd_reduce.add.i32",
    SimdReduceMulF16 = "simd_reduce.mul.f16",
    SimdReduceMulF32 = "simd_reduce.mul.f32",
    SimdReduceBit16 = "simd_reduce.bit.16",
    SimdReduceBit32 = "simd_reduce.bit.32",
    SimdReduceMinmaxF16 = "simd_reduce.minmax.f16",
    SimdReduceMinmaxF32 = "simd_reduce.minmax.f32",
    SimdReduceMinmaxI16 = "simd_reduce.minmax.i16",
    SimdReduceMinmaxI32 = "simd_reduce.minmax.i32",
    SimdPrefixF32 = "simd_prefix.f32",
    SimdPrefixI32 = "simd_prefix.i32",
    SimdPrefixF16 = "simd_prefix.f16",
    SimdPrefixI16 = "simd_prefix.i16",
    SimdPrefixOther = "simd_prefix.other",
    QuadReduceAddF16 = "quad_reduce.add.f16",
    QuadReduceAddF32 = "quad_reduce.add.f32",
    QuadReduceAddI16 = "quad_reduce.add.i16",
    QuadReduceAddI32 = "quad_reduce.add.i32",
    QuadReduceMulF16 = "quad_reduce.mul.f16",
    QuadReduceMulF32 = "quad_reduce.mul.f32",
    QuadReduceBit16 = "quad_reduce.bit.16",
    QuadReduceBit32 = "quad_reduce.bit.32",
    QuadReduceMinmaxF16 = "quad_reduce.minmax.f16",
    QuadReduceMinmaxF32 = "quad_reduce.minmax.f32",
    QuadReduceMinmaxI16 = "quad_reduce.minmax.i16",
    QuadReduceMinmaxI32 = "quad_reduce.minmax.i32",
    QuadPrefixF32 = "quad_prefix.f32",
    QuadPrefixI32 = "quad_prefix.i32",
    QuadPrefixF16 = "quad_prefix.f16",
    QuadPrefixI16 = "quad_prefix.i16",
    QuadPrefixOther = "quad_prefix.other",
    SimdMatrixFmadd16 = "simd_matrix_fmadd16",
    SimdMatrixFmadd32 = "simd_matrix_fmadd32",
    DeviceLoad = "device_load",
    DeviceStore = "device_store",
    DeviceAtomic = "device_atomic",
    ThreadgroupLoad = "threadgroup_load",
    ThreadgroupStore = "threadgroup_store",
    ThreadgroupAtomic = "threadgroup_atomic",
    StackLoad = "stack_load",
    StackStore = "stack_store",
    StackAdjust = "stack_adjust",
    StackGetPtr = "stack_get_ptr",
    AsyncCopy = "async_copy",
    TextureSample = "texture_sample",
    TextureLoad = "texture_load",
    ImageWrite = "image_write",
    UniformStore = "uniform_store",
    StateStore = "state_store",
    Tile = "tile",
    Varying = "varying",
    FragmentControl = "fragment_control",
    Jump = "jump",
    Call = "call",
    ExecMask = "exec_mask",
    Stop = "stop",
    Trap = "trap",
    Wait = "wait",
    ThreadgroupBarrier = "threadgroup_barrier",
    MemoryBarrier = "memory_barrier",
    Unknown = "unknown",
}

impl Key {
    /// The key with this name.
    ///
    /// ```
    /// use assay_chip::Key;
    /// assert_eq!(Key::named("cmpsel.32"), Some(Key::Cmpsel32));
    /// ```
    pub fn named(name: &str) -> Option<Key> {
        Key::ALL.iter().copied().find(|key| key.name() == name)
    }

    /// Its position in [`Key::ALL`].
    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
