//! Single-precision lane functions that leave ordinary numbers to one instruction of the CPU.
//!
//! Apple GPUs flush denormals and know one NaN, CPUs do neither: a sum by `assay-num` takes ten vector instructions. AVX-512 tells
//! classes of numbers apart with one. Where no operand of a simdgroup is denormal and no result is denormal or NaN, flushing
//! changes nothing, and the CPU's results are the right ones; other simdgroups, and other levels, are computed by `assay-num`.

/// `single_lanes!(N2 |a, b| single::add, _mm512_add_ps, denormals in [a, b])`: a [`LaneFn`](crate::lanes::LaneFn) of the named shape
/// that computes `single::add`. The instruction must give the same result for operands that are not denormal, unless that
/// is denormal or NaN; only the listed operands may be denormal.
macro_rules! single_lanes {
    ($shape:ident |$($x:ident),+| $exact:path, $instruction:ident, denormals in [$($checked:ident),*]) => {{
        use $crate::lanes::Narrow;

        /// Computes the lanes of a simdgroup; writes nothing and returns false if a number among them is special.
        ///
        /// # Safety
        /// All registers must exist, and the CPU must have the features.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx512dq")]
        #[inline]
        unsafe fn ordinary(result: *mut Narrow, $($x: *const Narrow),+) -> bool {
            use std::arch::x86_64::{_mm512_fpclass_ps_mask, _mm512_loadu_ps, _mm512_storeu_ps, $instruction};
            const DENORMAL: i32 = 0x20;
            const NAN: i32 = 0x81;
            // SAFETY: a simdgroup has two times sixteen lanes.
            let half = |first: usize| unsafe {
                $(let $x = _mm512_loadu_ps($x.cast::<f32>().add(first));)+
                let result = $instruction($($x),+);
                let special = _mm512_fpclass_ps_mask::<{ DENORMAL | NAN }>(result);
                $(let special = special | _mm512_fpclass_ps_mask::<DENORMAL>($checked);)*
                (result, special)
            };
            let (low, high) = (half(0), half(16));
            if low.1 | high.1 != 0 {
                return false;
            }
            // SAFETY: as above.
            unsafe {
                _mm512_storeu_ps(result.cast(), low.0);
                _mm512_storeu_ps(result.cast::<f32>().add(16), high.0);
            }
            true
        }

        /// # Safety
        /// See the shapes.
        #[inline(always)]
        unsafe fn exact(result: *mut Narrow, $($x: *const Narrow,)+ count: usize) {
            for at in 0..count {
                $crate::lanes::one_simdgroup();
                let mut lanes = [0; 32];
                // SAFETY: the caller promises that the registers are there.
                unsafe {
                    for (lane, bits) in lanes.iter_mut().enumerate() {
                        *bits = $exact($(f32::from_bits((*$x.add(at))[lane])),+).to_bits();
                    }
                    *result.add(at) = lanes;
                }
            }
        }

        /// # Safety
        /// See the shapes.
        #[inline(always)]
        unsafe fn each<S: $crate::simd::Simd>(simd: S, result: *mut Narrow, $($x: *const Narrow,)+ count: usize) {
            // A function of its own: the loop over ordinary numbers saves no registers and makes no constants ready for it.
            let rest = $crate::simd::simd_variants!(
                [] (result: *mut Narrow, $($x: *const Narrow,)+ count: usize),
                // SAFETY: as the caller promises.
                |_simd| unsafe { exact(result, $($x,)+ count) }
            );
            // SAFETY: the caller promises that the registers are there; the token proves the features.
            unsafe {
                #[cfg(target_arch = "x86_64")]
                if S::VECTOR_BYTES == 64 {
                    for at in 0..count {
                        if !ordinary(result.add(at), $($x.add(at)),+) {
                            return rest.select(simd.level())(result.add(at), $($x.add(at),)+ count - at);
                        }
                    }
                    return;
                }
                rest.select(simd.level())(result, $($x,)+ count);
            }
        }
        $crate::lanes::LaneFn::$shape($crate::simd::simd_variants!(
            [] (result: *mut Narrow, $($x: *const Narrow,)+ count: usize),
            // SAFETY: as the caller promises.
            |simd| unsafe { each(simd, result, $($x,)+ count) }
        ))
    }};
}
pub(crate) use single_lanes;

#[cfg(test)]
mod tests {
    use crate::SimdLevel;
    use crate::lanes::{LaneFn, Narrow};
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
                let [all_a, all_b] = [[ordinary, a, ordinary, a], [ordinary, ordinary, b, b]];
                let all_c = [ordinary, c, c, c];
                let mut results = [[0; 32]; 4];
                let (to, a, b, c) = (
                    results.as_mut_ptr(),
                    all_a.as_ptr(),
                    all_b.as_ptr(),
                    all_c.as_ptr(),
                );
                // SAFETY: the registers are there, and the level is one of this CPU's.
                unsafe {
                    match function {
                        LaneFn::N2(f) => f.select(level)(to, a, b, 4),
                        LaneFn::N3(f) => f.select(level)(to, a, b, c, 4),
                        _ => panic!("{name} has two or three operands"),
                    }
                }
                for (simdgroup, result) in results.iter().enumerate() {
                    let operands = [all_a, all_b, all_c].map(|all| all[simdgroup]);
                    for lane in 0..32 {
                        let [a, b, c] = operands.map(|bits| f32::from_bits(bits[lane]));
                        let (is, wanted) = (result[lane], exact(a, b, c).to_bits());
                        assert_eq!(
                            is,
                            wanted,
                            "{name}({a:e}, {b:e}, {c:e}) at {}",
                            level.name()
                        );
                    }
                }
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
