//! Functions of one lane applied to 32, in vector code where the CPU has it.
//!
//! [`each_lane!`] writes a function once for each [`Level`] of vector instructions and gives a pointer to the
//! one this CPU can run. All inline the same `assay-num` function, so the bits are the same.

/// 32 values of up to 32 bits, one per lane; narrower ones have their upper bits zero.
pub(crate) type Narrow = [u32; 32];
/// 32 values of 64 bits (integers and pointers), one per lane.
pub(crate) type Wide = [u64; 32];

/// A function over lanes. `unsafe`: one made for a CPU's features must run on such a CPU.
pub(crate) type N1 = unsafe fn(&mut Narrow, &Narrow);
pub(crate) type N2 = unsafe fn(&mut Narrow, &Narrow, &Narrow);
pub(crate) type N3 = unsafe fn(&mut Narrow, &Narrow, &Narrow, &Narrow);
pub(crate) type W1 = unsafe fn(&mut Wide, &Wide);
pub(crate) type W2 = unsafe fn(&mut Wide, &Wide, &Wide);
pub(crate) type Widen = unsafe fn(&mut Wide, &Narrow);
pub(crate) type Narrowing = unsafe fn(&mut Narrow, &Wide);
pub(crate) type Compare = unsafe fn(&mut Narrow, &Wide, &Wide);

/// A lane function of any shape.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LaneFn {
    N1(N1),
    N2(N2),
    N3(N3),
    W1(W1),
    W2(W2),
    Widen(Widen),
    Narrowing(Narrowing),
    Compare(Compare),
}

/// Which vector instructions code was compiled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Those every CPU of the architecture has.
    Portable,
    /// AVX2, FMA and F16C.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 as server CPUs have had it since 2017.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    /// The highest this CPU can run.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(crate) fn of_this_cpu() -> Self {
        use std::arch::is_x86_feature_detected as has;
        if !(has!("avx2") && has!("fma") && has!("f16c")) {
            return Self::Portable;
        }
        if has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl") {
            return Self::Avx512;
        }
        Self::Avx2
    }

    /// The highest this CPU can run.
    #[cfg(not(target_arch = "x86_64"))]
    #[inline]
    pub(crate) fn of_this_cpu() -> Self {
        Self::Portable
    }
}

/// `each_lane!(N2 |a: u32, b: u32| -> u32 { … })`: a [`LaneFn`] of the named shape. The body may use no local variables of its surroundings.
macro_rules! each_lane {
    ($shape:ident |$($x:ident : $t:ty),*| -> $d:ty $body:block) => {{
        #[inline(always)]
        fn one($($x: $t),*) -> $d $body
        #[inline(always)]
        fn all(result: &mut [$d; 32], $($x: &[$t; 32]),*) {
            for lane in 0..32 {
                result[lane] = one($($x[lane]),*);
            }
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,f16c")]
        fn avx2(result: &mut [$d; 32], $($x: &[$t; 32]),*) {
            all(result, $($x),*);
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl")]
        fn avx512(result: &mut [$d; 32], $($x: &[$t; 32]),*) {
            all(result, $($x),*);
        }
        fn portable(result: &mut [$d; 32], $($x: &[$t; 32]),*) {
            all(result, $($x),*);
        }
        let chosen: $crate::lanes::$shape = match $crate::lanes::Level::of_this_cpu() {
            $crate::lanes::Level::Portable => portable,
            #[cfg(target_arch = "x86_64")]
            $crate::lanes::Level::Avx2 => avx2,
            #[cfg(target_arch = "x86_64")]
            $crate::lanes::Level::Avx512 => avx512,
        };
        $crate::lanes::LaneFn::$shape(chosen)
    }};
}
pub(crate) use each_lane;

/// The lanes whose truth value holds.
#[inline(always)]
pub(crate) fn ballot(values: &Narrow) -> u32 {
    let mut mask = 0;
    for (lane, &value) in values.iter().enumerate() {
        mask |= (value & 1) << lane;
    }
    mask
}

/// The set lanes of a mask, lowest first.
#[inline(always)]
pub(crate) fn lanes_of(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        if mask == 0 {
            return None;
        }
        let lane = mask.trailing_zeros() as usize;
        mask &= mask - 1;
        Some(lane)
    })
}
