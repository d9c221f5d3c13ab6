//! Functions of one lane applied to 32, in vector code where the CPU has it.
//!
//! [`each_lane!`] writes a function twice: for any CPU, and compiled with AVX2, FMA and F16C, and
//! gives a pointer to the one this CPU can run. Both inline the same `assay-num` function, so
//! the bits are the same.

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

/// Whether the vector versions can run here.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn has_vector_features() -> bool {
    std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("fma")
        && std::arch::is_x86_feature_detected!("f16c")
}

/// `each_lane!(N2 |a: u32, b: u32| -> u32 { … })`: a [`LaneFn`] of the named shape. The body may use no local variables of its surroundings.
macro_rules! each_lane {
    ($shape:ident |$($x:ident : $t:ty),*| -> $d:ty $body:block) => {{
        #[inline(always)]
        fn one($($x: $t),*) -> $d $body
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,f16c")]
        fn vector(result: &mut [$d; 32], $($x: &[$t; 32]),*) {
            for lane in 0..32 {
                result[lane] = one($($x[lane]),*);
            }
        }
        fn portable(result: &mut [$d; 32], $($x: &[$t; 32]),*) {
            for lane in 0..32 {
                result[lane] = one($($x[lane]),*);
            }
        }
        let chosen: $crate::lanes::$shape = {
            #[cfg(target_arch = "x86_64")]
            if $crate::lanes::has_vector_features() { vector } else { portable }
            #[cfg(not(target_arch = "x86_64"))]
            portable
        };
        $crate::lanes::LaneFn::$shape(chosen)
    }};
}
pub(crate) use each_lane;

/// The lanes whose truth value holds.
#[inline]
pub(crate) fn ballot(values: &Narrow) -> u32 {
    let mut mask = 0;
    for (lane, &value) in values.iter().enumerate() {
        mask |= (value & 1) << lane;
    }
    mask
}

/// The set lanes of a mask, lowest first.
#[inline]
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
