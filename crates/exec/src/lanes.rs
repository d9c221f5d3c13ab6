//! Functions of one lane applied to 32, in vector code where the CPU has it.
//!
//! [`each_lane!`] compiles a function once for each [level](crate::simd) of vector instructions. All variants inline the same
//! `assay-num` function, so the bits are the same.

use crate::simd::{Simd, Variants};
use assay_ssa::IntCond;

/// 32 values of up to 32 bits, one per lane; narrower ones have their upper bits zero.
pub(crate) type Narrow = [u32; 32];
/// 32 values of 64 bits (integers and pointers), one per lane.
pub(crate) type Wide = [u64; 32];

/// The registers of an operand, of one simdgroup after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lanes<T> {
    first: *const T,
    /// Bytes to the next simdgroup's register; 0 if all simdgroups have the same lanes.
    stride: usize,
}

impl<T: Copy> Lanes<T> {
    /// Each simdgroup has a register of its own.
    #[inline(always)]
    pub(crate) fn each(first: *const T) -> Self {
        let stride = size_of::<T>();
        Self { first, stride }
    }

    /// One register for all simdgroups.
    #[inline(always)]
    pub(crate) fn same(register: *const T) -> Self {
        let (first, stride) = (register, 0);
        Self { first, stride }
    }

    #[inline(always)]
    pub(crate) fn at(self, simdgroup: usize) -> *const T {
        self.first.wrapping_byte_add(simdgroup * self.stride)
    }

    /// Returns true if there is one register for all simdgroups.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn is_same(self) -> bool {
        self.stride == 0
    }

    /// Without the first simdgroups.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn from(self, simdgroup: usize) -> Self {
        let first = self.at(simdgroup);
        Self { first, ..self }
    }
}

/// A function over lanes: of the registers of `count` (the last parameter) simdgroups. Those of the result follow each other in memory.
/// Each simdgroup's operands are read before its result is written, so an operand may be the result's register.
///
/// # Safety
/// All registers must exist, and the CPU must have the features the variant was compiled for.
pub(crate) type N1 = unsafe fn(*mut Narrow, Lanes<Narrow>, usize);
pub(crate) type N2 = unsafe fn(*mut Narrow, Lanes<Narrow>, Lanes<Narrow>, usize);
pub(crate) type N3 = unsafe fn(*mut Narrow, Lanes<Narrow>, Lanes<Narrow>, Lanes<Narrow>, usize);
pub(crate) type W1 = unsafe fn(*mut Wide, Lanes<Wide>, usize);
pub(crate) type W2 = unsafe fn(*mut Wide, Lanes<Wide>, Lanes<Wide>, usize);
pub(crate) type Widen = unsafe fn(*mut Wide, Lanes<Narrow>, usize);
pub(crate) type Narrowing = unsafe fn(*mut Narrow, Lanes<Wide>, usize);
pub(crate) type Compare = unsafe fn(*mut Narrow, Lanes<Wide>, Lanes<Wide>, usize);

/// A lane function of any shape, in its variants. `N`: narrow operands and result, `W`: wide ones.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LaneFn {
    N1(Variants<N1>),
    N2(Variants<N2>),
    N3(Variants<N3>),
    W1(Variants<W1>),
    W2(Variants<W2>),
    Widen(Variants<Widen>),
    Narrowing(Variants<Narrowing>),
    Compare(Variants<Compare>),
}

/// The integer operation a lane function performs (`N2` on 32 bits, `W2` on 64): what affine operands need to know to give an
/// affine result.
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

/// `each_lane!(N2 |a: u32, b: u32| -> u32 { … })`: a [`LaneFn`] of the named shape. The body sees only its parameters.
///
/// With `unless |a| { … } then { … }` a simdgroup with a lane for which the condition holds is computed by the second body,
/// lane by lane: the cold case stays out of the vector code.
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
        unsafe fn each(result: *mut [$d; 32], $($x: $crate::lanes::Lanes<[$t; 32]>,)* count: usize) {
            for at in 0..count {
                $crate::lanes::one_simdgroup();
                // SAFETY: the caller promises that the registers are there.
                unsafe { *result.add(at) = all($(&*$x.at(at)),*) };
            }
        }
        $crate::lanes::LaneFn::$shape($crate::simd::simd_variants!(
            [] (result: *mut [$d; 32], $($x: $crate::lanes::Lanes<[$t; 32]>,)* count: usize),
            // SAFETY: as the caller promises.
            |_simd| unsafe { each(result, $($x,)* count) }
        ))
    }};
}
pub(crate) use each_lane;

/// A barrier for the loop vectoriser, in loops over simdgroups: the lanes of one simdgroup fill whole vector registers as they
/// lie in memory; without it the compiler vectorises across simdgroups and gathers.
#[inline(always)]
pub(crate) fn one_simdgroup() {
    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
    // SAFETY: no instruction at all.
    unsafe {
        std::arch::asm!("", options(nomem, nostack, preserves_flags));
    }
}

/// The lanes whose truth value holds.
#[inline(always)]
pub(crate) fn ballot<S: Simd>(_simd: S, values: &Narrow) -> u32 {
    #[cfg(target_arch = "x86_64")]
    match S::VECTOR_BYTES {
        // SAFETY: the token proves that the CPU has such registers, and the instructions that go with them.
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
