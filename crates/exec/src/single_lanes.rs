//! Single-precision lane functions that leave ordinary numbers to one instruction of the CPU.
//!
//! Apple GPUs flush denormals and know one NaN, CPUs do neither: a sum by `assay-num` takes ten vector instructions. AVX-512 tells
//! classes of numbers apart with one. Where no operand of a simdgroup is denormal and no result is denormal or NaN, flushing
//! changes nothing, and the CPU's results are the right ones; other simdgroups, and other levels, are computed by `assay-num`.

#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::{Operand, denormals_and_nans};

/// `single_lanes!(N2 |a, b| single::add, _mm512_add_ps, denormals in [a, b])`: a [`LaneFn`](crate::lanes::LaneFn) of the named shape
/// that computes `single::add`. The instruction must give the same result for operands that are not denormal, unless that
/// is denormal or NaN; only the listed operands may be denormal.
macro_rules! single_lanes {
    ($shape:ident |$($x:ident),+| $exact:path, $instruction:ident, denormals in [$($checked:ident),*]) => {{
        use $crate::lanes::{Lanes, Narrow};

        /// # Safety
        /// See the shapes.
        #[inline(always)]
        unsafe fn exact(result: *mut Narrow, $($x: Lanes<Narrow>,)+ count: usize) {
            for at in 0..count {
                $crate::lanes::one_simdgroup();
                let mut lanes = [0; 32];
                // SAFETY: the caller promises that the registers are there.
                unsafe {
                    for (lane, bits) in lanes.iter_mut().enumerate() {
                        *bits = $exact($(f32::from_bits((*$x.at(at))[lane])),+).to_bits();
                    }
                    *result.add(at) = lanes;
                }
            }
        }

        /// [`exact`] as a function of its own: the loop over ordinary numbers saves no registers and makes no constants ready for it.
        ///
        /// # Safety
        /// See the shapes.
        #[cfg(target_arch = "x86_64")]
        #[cold]
        #[inline(never)]
        unsafe fn rest(level: $crate::SimdLevel, result: *mut Narrow, $($x: Lanes<Narrow>,)+ count: usize) {
            let variants = $crate::simd::simd_variants!(
                [] (result: *mut Narrow, $($x: Lanes<Narrow>,)+ count: usize),
                // SAFETY: as the caller promises.
                |_simd| unsafe { exact(result, $($x,)+ count) }
            );
            // SAFETY: as the caller promises; a level exists only where the CPU has its instructions.
            unsafe { variants.select(level)(result, $($x,)+ count) };
        }

        /// Simdgroups up to the first one with a special number; that one and what follows by `rest`.
        ///
        /// # Safety
        /// See the shapes; and the CPU must have the features.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx512dq")]
        #[inline]
        unsafe fn ordinary(level: $crate::SimdLevel, mut result: *mut Narrow, $($x: Lanes<Narrow>,)+ mut count: usize) {
            use std::arch::x86_64::{_mm512_storeu_ps, $instruction};
            use $crate::single_lanes::{Operand, denormals_and_nans};
            // SAFETY: as the caller promises.
            unsafe {
                $(let mut $x = Operand::of($x);)+
                while count > 0 {
                    let (low, high) = ($instruction($($x.low()),+), $instruction($($x.high()),+));
                    let special = denormals_and_nans(low, high) $(| $checked.denormals())*;
                    if special != 0 {
                        return rest(level, result, $($x.lanes,)+ count);
                    }
                    _mm512_storeu_ps(result.cast(), low);
                    _mm512_storeu_ps(result.cast::<f32>().add(16), high);
                    (result, count) = (result.add(1), count - 1);
                    $($x.lanes = $x.lanes.from(1);)+
                }
            }
        }

        /// # Safety
        /// See the shapes.
        #[inline(always)]
        unsafe fn each<S: $crate::simd::Simd>(_simd: S, result: *mut Narrow, $($x: Lanes<Narrow>,)+ count: usize) {
            // SAFETY: the caller promises that the registers are there; the token proves the features.
            unsafe {
                #[cfg(target_arch = "x86_64")]
                if S::VECTOR_BYTES == 64 {
                    return ordinary(_simd.level(), result, $($x,)+ count);
                }
                exact(result, $($x,)+ count);
            }
        }
        $crate::lanes::LaneFn::$shape($crate::simd::simd_variants!(
            [] (result: *mut Narrow, $($x: Lanes<Narrow>,)+ count: usize),
            // SAFETY: as the caller promises.
            |simd| unsafe { each(simd, result, $($x,)+ count) }
        ))
    }};
}
pub(crate) use single_lanes;

/// Classes of numbers in vector registers.
#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use crate::lanes::{Lanes, Narrow};
    use std::arch::x86_64::{__m512, _mm512_fpclass_ps_mask, _mm512_loadu_ps};

    const DENORMAL: i32 = 0x20;
    const NAN: i32 = 0x81;

    /// An operand, at some simdgroup. Its register must exist wherever a method is called.
    #[derive(Clone, Copy)]
    pub(crate) struct Operand {
        pub(crate) lanes: Lanes<Narrow>,
        /// Whether a number may be denormal: one register for all simdgroups is looked at once.
        may_be_denormal: bool,
    }

    impl Operand {
        #[target_feature(enable = "avx512f,avx512dq")]
        #[inline]
        pub(crate) unsafe fn of(lanes: Lanes<Narrow>) -> Self {
            let may_be_denormal = true;
            let all = Self {
                lanes,
                may_be_denormal,
            };
            Self {
                // SAFETY: as the caller promises.
                may_be_denormal: !lanes.is_same() || unsafe { all.denormals() } != 0,
                ..all
            }
        }

        /// The first sixteen lanes.
        #[target_feature(enable = "avx512f")]
        #[inline]
        pub(crate) unsafe fn low(self) -> __m512 {
            // SAFETY: as the caller promises.
            unsafe { _mm512_loadu_ps(self.lanes.at(0).cast()) }
        }

        /// The other sixteen.
        #[target_feature(enable = "avx512f")]
        #[inline]
        pub(crate) unsafe fn high(self) -> __m512 {
            // SAFETY: as the caller promises.
            unsafe { _mm512_loadu_ps(self.lanes.at(0).cast::<f32>().add(16)) }
        }

        /// Not 0 if a number is denormal.
        #[target_feature(enable = "avx512f,avx512dq")]
        #[inline]
        pub(crate) unsafe fn denormals(self) -> u16 {
            if !self.may_be_denormal {
                return 0;
            }
            let class = |lanes| _mm512_fpclass_ps_mask::<DENORMAL>(lanes);
            // SAFETY: as the caller promises.
            unsafe { class(self.low()) | class(self.high()) }
        }
    }

    /// Not 0 if a number is denormal or NaN.
    #[target_feature(enable = "avx512f,avx512dq")]
    #[inline]
    pub(crate) fn denormals_and_nans(low: __m512, high: __m512) -> u16 {
        let class = |lanes| _mm512_fpclass_ps_mask::<{ DENORMAL | NAN }>(lanes);
        class(low) | class(high)
    }
}

#[cfg(test)]
mod tests {
    use crate::SimdLevel;
    use crate::lanes::{LaneFn, Lanes, Narrow};
    use assay_num::single;
    use assay_ssa::{BinaryOp, Builtin, Scalar, TernaryOp};

    /// Zeros, the smallest and largest of each class, NaNs of several kinds, ordinary numbers.
    const NUMBERS: [u32; 20] = [
        0,
        1,
        0x007f_ffff,
        0x0080_0000,
        0x0080_0001,
        0x00ff_ffff,
        0x3380_0000,
        0x3f7f_ffff,
        0x3f80_0000,
        0x3fc0_0000,
        0x4b00_0001,
        0x7f00_0000,
        0x7f7f_ffff,
        0x7f80_0000,
        0x7f80_0001,
        0x7fbf_ffff,
        0x7fc0_0000,
        0x7fff_ffff,
        0x2000_0000,
        0x1fff_ffff,
    ];

    fn operand(seed: u32) -> f32 {
        let sign = (seed & 1) << 31;
        f32::from_bits(NUMBERS[(seed >> 1) as usize % NUMBERS.len()] | sign)
    }

    /// Runs a lane function on every pair of numbers beside a third: a simdgroup of one kind, of another, and mixed ones.
    #[track_caller]
    fn same(name: &str, function: Option<LaneFn>, exact: impl Fn(f32, f32, f32) -> f32) {
        let function = function.expect("f32 has it");
        let pairs: Vec<(u32, u32)> = (0..40).flat_map(|a| (0..40).map(move |b| (a, b))).collect();
        for level in SimdLevel::available() {
            for (at, group) in pairs.chunks_exact(32).enumerate() {
                let lanes = |pick: &dyn Fn(usize) -> f32| -> Narrow {
                    std::array::from_fn(|lane| pick(lane).to_bits())
                };
                let a = lanes(&|lane| operand(group[lane].0));
                let b = lanes(&|lane| operand(group[lane].1));
                // Some simdgroups have nothing special in any lane.
                let ordinary = lanes(&|lane| 1.5 + lane as f32);
                let c = lanes(&|lane| operand((lane + at) as u32));
                // One call: what comes after a special simdgroup is right too.
                let all = [
                    [ordinary, a, ordinary, a],
                    [ordinary, ordinary, b, b],
                    [ordinary, c, c, c],
                ];
                check(name, function, level, all, &exact);
                // One operand is the same for all simdgroups: a special one, or an ordinary one.
                for (which, register) in [a, b, c, ordinary, ordinary, ordinary].iter().enumerate()
                {
                    let mut one = all;
                    one[which % 3] = [*register; 4];
                    check(name, function, level, one, &exact);
                }
            }
            // A pair in one lane: nothing else sends its simdgroup to `assay-num`.
            for (at, &(first, second)) in pairs.iter().enumerate() {
                let ordinary: Narrow = std::array::from_fn(|lane| (1.5 + lane as f32).to_bits());
                let with = |seed: u32| {
                    let mut lanes = ordinary;
                    lanes[at % 32] = operand(seed).to_bits();
                    lanes
                };
                let [a, b] = [with(first), with(second)];
                let all = [
                    [ordinary, a, ordinary, a],
                    [ordinary, b, ordinary, b],
                    [ordinary; 4],
                ];
                check(name, function, level, all, &exact);
            }
        }
    }

    /// Runs a lane function on four simdgroups. An operand whose registers are all equal is passed as one register.
    #[track_caller]
    fn check(
        name: &str,
        function: LaneFn,
        level: SimdLevel,
        operands: [[Narrow; 4]; 3],
        exact: &impl Fn(f32, f32, f32) -> f32,
    ) {
        let [a, b, c] = operands.each_ref().map(|registers| {
            let first = registers.as_ptr();
            if registers.iter().all(|register| *register == registers[0]) {
                Lanes::same(first)
            } else {
                Lanes::each(first)
            }
        });
        let mut results = [[0; 32]; 4];
        let to = results.as_mut_ptr();
        // SAFETY: the registers are there, and the level is one of this CPU's.
        unsafe {
            match function {
                LaneFn::N2(f) => f.select(level)(to, a, b, 4),
                LaneFn::N3(f) => f.select(level)(to, a, b, c, 4),
                _ => panic!("{name} has two or three operands"),
            }
        }
        for (simdgroup, result) in results.iter().enumerate() {
            for lane in 0..32 {
                let [a, b, c] = operands.map(|all| f32::from_bits(all[simdgroup][lane]));
                let (is, wanted) = (result[lane], exact(a, b, c).to_bits());
                let level = level.name();
                assert_eq!(is, wanted, "{name}({a:e}, {b:e}, {c:e}) at {level}");
            }
        }
    }

    #[test]
    fn every_level_flushes_and_has_one_nan() {
        use crate::arithmetic::{binary, ternary};
        let f32 = Scalar::F32;
        same("add", binary(BinaryOp::FAdd, f32), |a, b, _| {
            single::add(a, b)
        });
        same("sub", binary(BinaryOp::FSub, f32), |a, b, _| {
            single::sub(a, b)
        });
        same("mul", binary(BinaryOp::FMul, f32), |a, b, _| {
            single::mul(a, b)
        });
        same("fma", ternary(TernaryOp::Fma, f32), single::fma);
        let choosing = crate::builtins::choosing;
        same("min", choosing(Builtin::Fmin, f32), |a, b, _| {
            single::min(a, b)
        });
        same("max", choosing(Builtin::Fmax, f32), |a, b, _| {
            single::max(a, b)
        });
    }
}
