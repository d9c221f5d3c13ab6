//! Functions of one lane applied to 32, in vector code where the CPU has it.
//!
//! [`each_lane!`] writes a function once for each [`Level`] of vector instructions and gives a pointer to the
//! one this CPU can run. All inline the same `assay-num` function, so the bits are the same.

use assay_ssa::IntCond;

/// 32 values of up to 32 bits, one per lane; narrower ones have their upper bits zero.
pub(crate) type Narrow = [u32; 32];
/// 32 values of 64 bits (integers and pointers), one per lane.
pub(crate) type Wide = [u64; 32];

/// A function over lanes: of the registers of some simdgroups, one after the other in memory, whose number comes last.
/// Each simdgroup's numbers are read before its result is written, so a register may be both.
/// `unsafe`: all registers must be there, and one made for a CPU's features must run on such a CPU.
pub(crate) type N1 = unsafe fn(*mut Narrow, *const Narrow, usize);
pub(crate) type N2 = unsafe fn(*mut Narrow, *const Narrow, *const Narrow, usize);
pub(crate) type N3 = unsafe fn(*mut Narrow, *const Narrow, *const Narrow, *const Narrow, usize);
pub(crate) type W1 = unsafe fn(*mut Wide, *const Wide, usize);
pub(crate) type W2 = unsafe fn(*mut Wide, *const Wide, *const Wide, usize);
pub(crate) type Widen = unsafe fn(*mut Wide, *const Narrow, usize);
pub(crate) type Narrowing = unsafe fn(*mut Narrow, *const Wide, usize);
pub(crate) type Compare = unsafe fn(*mut Narrow, *const Wide, *const Wide, usize);

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

/// What a lane function does to integers, for those that know more about their numbers than 32 of them: `N2` of 32 bits,
/// `W2` of 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Something else.
    Other,
    Add,
    Sub,
    Mul,
    Shl,
    LShr,
    And,
    Or,
    Xor,
    Compare(IntCond),
    /// Of a narrow number to 64 bits.
    ZeroExtend,
    /// Of a 32-bit number to 64 bits.
    SignExtend,
    /// Of a 64-bit number to 32 bits.
    Truncate,
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
///
/// With `unless |a| { … } then { … }` a simdgroup of which the condition holds for a lane is done by the second body,
/// one lane after the other: what is rare need not be in the vector code.
macro_rules! each_lane {
    ($shape:ident |$($x:ident : $t:ty),*| -> $d:ty $body:block) => {
        $crate::lanes::each_lane!(@all $shape |$($x: $t),*| -> $d {
            #[inline(always)]
            fn one($($x: $t),*) -> $d $body
            let mut result = [0; 32];
            for lane in 0..32 {
                result[lane] = one($($x[lane]),*);
            }
            result
        })
    };
    ($shape:ident |$x:ident : $t:ty| -> $d:ty $body:block,
     unless |$same:ident| $rare:block then $other:block) => {
        $crate::lanes::each_lane!(@all $shape |$x: $t| -> $d {
            #[inline(always)]
            fn one($x: $t) -> $d $body
            #[inline(always)]
            fn is_rare($same: $t) -> bool $rare
            #[cold]
            #[inline(never)]
            fn rarely($x: &[$t; 32]) -> [$d; 32] {
                $x.map(|$x| $other)
            }
            let mut rare = false;
            for lane in 0..32 {
                rare |= is_rare($x[lane]);
            }
            if rare {
                return rarely($x);
            }
            let mut result = [0; 32];
            for lane in 0..32 {
                result[lane] = one($x[lane]);
            }
            result
        })
    };
    (@all $shape:ident |$($x:ident : $t:ty),*| -> $d:ty $all:block) => {{
        #[inline(always)]
        fn all($($x: &[$t; 32]),*) -> [$d; 32] $all
        /// # Safety
        /// See the shapes.
        #[inline(always)]
        unsafe fn each(result: *mut [$d; 32], $($x: *const [$t; 32],)* count: usize) {
            for at in 0..count {
                $crate::lanes::one_simdgroup();
                // SAFETY: the caller promises that they are there.
                unsafe { *result.add(at) = all($(&*$x.add(at)),*) };
            }
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,f16c")]
        unsafe fn avx2(result: *mut [$d; 32], $($x: *const [$t; 32],)* count: usize) {
            // SAFETY: as the caller promises.
            unsafe { each(result, $($x,)* count) };
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl")]
        unsafe fn avx512(result: *mut [$d; 32], $($x: *const [$t; 32],)* count: usize) {
            // SAFETY: as the caller promises.
            unsafe { each(result, $($x,)* count) };
        }
        unsafe fn portable(result: *mut [$d; 32], $($x: *const [$t; 32],)* count: usize) {
            // SAFETY: as the caller promises.
            unsafe { each(result, $($x,)* count) };
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

/// Stands in loops over simdgroups: lanes of one fill vector registers as they lie, and the compiler is not to gather those of
/// several instead.
#[inline(always)]
pub(crate) fn one_simdgroup() {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    // SAFETY: no instruction at all.
    unsafe {
        std::arch::asm!("", options(nomem, nostack, preserves_flags));
    }
}

/// `apart! { fn name[VECTOR, W: Watch](&mut self, x: T) -> R = body }`: a method that calls another of the same parameters,
/// whose last generic parameter is the bytes of vector registers, as a function of its own that is compiled for them.
macro_rules! apart {
    ($(#[$doc:meta])* fn $name:ident [$($g:ident : $bound:path)?] (&mut self $(, $x:ident : $t:ty)* $(,)?) -> $r:ty = $body:ident) => {
        $(#[$doc])*
        #[inline(always)]
        pub(super) fn $name<$($g: $bound,)? const VECTOR: usize>(&mut self $(, $x: $t)*) -> $r {
            use $crate::interpret::Batch;
            #[inline(never)]
            fn portable<$($g: $bound)?>(batch: &mut Batch $(, $x: $t)*) -> $r {
                batch.$body::<$($g,)? 0>($($x),*)
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,f16c")]
            #[inline(never)]
            fn avx2<$($g: $bound)?>(batch: &mut Batch $(, $x: $t)*) -> $r {
                batch.$body::<$($g,)? 32>($($x),*)
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl")]
            #[inline(never)]
            fn avx512<$($g: $bound)?>(batch: &mut Batch $(, $x: $t)*) -> $r {
                batch.$body::<$($g,)? 64>($($x),*)
            }
            #[cfg(target_arch = "x86_64")]
            match VECTOR {
                // SAFETY: the CPU has such registers, and the instructions that go with them.
                64 => return unsafe { avx512::<$($g)?>(self $(, $x)*) },
                // SAFETY: as above.
                32 => return unsafe { avx2::<$($g)?>(self $(, $x)*) },
                _ => {}
            }
            portable::<$($g)?>(self $(, $x)*)
        }
    };
}
pub(crate) use apart;

/// The lanes whose truth value holds. `VECTOR`: bytes of the vector registers there are, or 0.
#[inline(always)]
pub(crate) fn ballot<const VECTOR: usize>(values: &Narrow) -> u32 {
    #[cfg(target_arch = "x86_64")]
    match VECTOR {
        // SAFETY: the CPU has such registers, and the instructions that go with them.
        64 => return unsafe { ballot_64(values) },
        // SAFETY: as above.
        32 => return unsafe { ballot_32(values) },
        _ => {}
    }
    let mut mask = 0;
    for (lane, &value) in values.iter().enumerate() {
        mask |= (value & 1) << lane;
    }
    mask
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
fn ballot_64(values: &Narrow) -> u32 {
    use std::arch::x86_64::{_mm512_loadu_si512, _mm512_set1_epi32, _mm512_test_epi32_mask};
    let start = values.as_ptr();
    // SAFETY: sixteen lanes each.
    let (low, high) = unsafe {
        (
            _mm512_loadu_si512(start.cast()),
            _mm512_loadu_si512(start.add(16).cast()),
        )
    };
    let one = _mm512_set1_epi32(1);
    let bits = |lanes| u32::from(_mm512_test_epi32_mask(lanes, one));
    bits(low) | bits(high) << 16
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
fn ballot_32(values: &Narrow) -> u32 {
    use std::arch::x86_64::{
        _mm256_castsi256_ps, _mm256_loadu_si256, _mm256_movemask_ps, _mm256_slli_epi32,
    };
    let mut mask = 0;
    for at in 0..4 {
        // SAFETY: eight lanes.
        let lanes = unsafe { _mm256_loadu_si256(values.as_ptr().add(at * 8).cast()) };
        let signs = _mm256_castsi256_ps(_mm256_slli_epi32::<31>(lanes));
        mask |= (_mm256_movemask_ps(signs) as u32) << (at * 8);
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
