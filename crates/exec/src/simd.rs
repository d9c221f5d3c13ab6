//! Levels of vector instructions, and functions compiled once for each of them.
//!
//! [`simd_variants!`] is the one place where code is compiled for several instruction sets, and [`Variants::select`] the one
//! place where a variant is chosen. Inside a variant, a token of type [`Simd`] stands for its level: a value of it exists
//! only where the CPU has the instructions, so functions that take a token may use them.
//!
//! All variants inline the same Rust code, which never fuses or reorders floating-point operations by itself: results have
//! the same bits at every level. Tests run programs at each level the CPU has and compare.
//!
//! Miri knows neither vector intrinsics nor inline assembly; under `cfg(miri)` only the portable level is available:
//! `cargo +nightly miri test -p assay-exec --lib`.

/// Which vector instructions the interpreter uses.
///
/// A value exists only for a level that this CPU can run.
///
/// ```
/// use assay_exec::SimdLevel;
/// assert!(SimdLevel::available().any(|level| level == SimdLevel::detect()));
/// assert_eq!(SimdLevel::named("portable"), Some(SimdLevel::PORTABLE));
/// assert_eq!(SimdLevel::named("sse9"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SimdLevel(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Portable,
    /// AVX2, FMA and F16C.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 as server CPUs have had it since 2017.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl SimdLevel {
    /// Only instructions that every CPU of the architecture has.
    pub const PORTABLE: Self = Self(Kind::Portable);

    /// The highest level this CPU can run.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    pub fn detect() -> Self {
        use std::arch::is_x86_feature_detected as has;
        if !(has!("avx2") && has!("fma") && has!("f16c")) {
            return Self::PORTABLE;
        }
        if has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl") {
            return Self(Kind::Avx512);
        }
        Self(Kind::Avx2)
    }

    /// The highest level this CPU can run.
    #[cfg(any(not(target_arch = "x86_64"), miri))]
    pub fn detect() -> Self {
        Self::PORTABLE
    }

    /// All levels this CPU can run, lowest first.
    pub fn available() -> impl Iterator<Item = Self> {
        let highest = Self::detect();
        let all = [
            Kind::Portable,
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2,
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512,
        ];
        all.into_iter()
            .map(Self)
            .filter(move |level| *level <= highest)
    }

    /// The level of a [name](Self::name), if this CPU can run it.
    pub fn named(name: &str) -> Option<Self> {
        Self::available().find(|level| level.name() == name)
    }

    /// `portable`, `avx2` or `avx512`.
    pub const fn name(self) -> &'static str {
        match self.0 {
            Kind::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => "avx512",
        }
    }
}

impl Default for SimdLevel {
    /// The highest level this CPU can run.
    fn default() -> Self {
        Self::detect()
    }
}

/// A token of a level. A value proves that the CPU has its instructions.
pub(crate) trait Simd: Copy {
    /// Bytes of the vector registers; 0 if they are not known.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        allow(dead_code, reason = "only x86-64 has levels to tell apart")
    )]
    const VECTOR_BYTES: usize;

    fn level(self) -> SimdLevel;
}

/// The token of [`SimdLevel::PORTABLE`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Portable;

impl Simd for Portable {
    const VECTOR_BYTES: usize = 0;

    #[inline(always)]
    fn level(self) -> SimdLevel {
        SimdLevel::PORTABLE
    }
}

#[cfg(target_arch = "x86_64")]
macro_rules! token {
    ($name:ident, $bytes:literal) => {
        #[doc = concat!("The token of the level `", stringify!($name), "`.")]
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $name(());

        impl $name {
            /// # Safety
            /// The CPU must have the instructions of the level.
            #[inline(always)]
            pub(crate) unsafe fn assume() -> Self {
                Self(())
            }
        }

        impl Simd for $name {
            const VECTOR_BYTES: usize = $bytes;

            #[inline(always)]
            fn level(self) -> SimdLevel {
                SimdLevel(Kind::$name)
            }
        }
    };
}
#[cfg(target_arch = "x86_64")]
token!(Avx2, 32);
#[cfg(target_arch = "x86_64")]
token!(Avx512, 64);

/// A function compiled once for each level.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variants<F> {
    pub(crate) portable: F,
    #[cfg(target_arch = "x86_64")]
    pub(crate) avx2: F,
    #[cfg(target_arch = "x86_64")]
    pub(crate) avx512: F,
}

impl<F: Copy> Variants<F> {
    /// The variant for a level. A level exists only where the CPU can run it, so the variant may be called.
    #[inline(always)]
    pub(crate) fn select(&self, level: SimdLevel) -> F {
        match level.0 {
            Kind::Portable => self.portable,
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => self.avx2,
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => self.avx512,
        }
    }
}

/// `simd_variants!([O: Observer] (x: T, y: U) -> R, |simd| body)`: [`Variants`] of an `unsafe fn(T, U) -> R` that evaluates the
/// body; `simd` is the token of the variant's level. The body sees only the parameters, and the generic one if there is any.
macro_rules! simd_variants {
    ([$($g:ident : $bound:path)?] ($($x:ident : $t:ty),* $(,)?) $(-> $r:ty)?, |$simd:ident| $body:expr) => {{
        #[inline(never)]
        unsafe fn at_portable<$($g: $bound)?>($($x: $t),*) $(-> $r)? {
            let $simd = $crate::simd::Portable;
            $body
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,f16c")]
        #[inline(never)]
        unsafe fn at_avx2<$($g: $bound)?>($($x: $t),*) $(-> $r)? {
            // SAFETY: this function runs only where the CPU has the features it is compiled for.
            let $simd = unsafe { $crate::simd::Avx2::assume() };
            $body
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl")]
        #[inline(never)]
        unsafe fn at_avx512<$($g: $bound)?>($($x: $t),*) $(-> $r)? {
            // SAFETY: as above.
            let $simd = unsafe { $crate::simd::Avx512::assume() };
            $body
        }
        $crate::simd::Variants::<unsafe fn($($t),*) $(-> $r)?> {
            portable: at_portable$(::<$g>)?,
            #[cfg(target_arch = "x86_64")]
            avx2: at_avx2$(::<$g>)?,
            #[cfg(target_arch = "x86_64")]
            avx512: at_avx512$(::<$g>)?,
        }
    }};
}
pub(crate) use simd_variants;

/// `outlined! { fn name [O: Observer] (&mut self, x: T) -> R = body }`: a method `name(simd, x)` of a
/// [`Batch`](crate::interpret::Batch) that calls its method `body(simd, x)` as a function of its own, compiled for the token's level.
/// The body is inlined into each of these outlined variants, and stays out of the interpreter's loop.
macro_rules! outlined {
    ($(#[$doc:meta])* fn $name:ident [$($g:ident : $bound:path)?] (&mut self $(, $x:ident : $t:ty)* $(,)?) -> $r:ty = $body:ident) => {
        $(#[$doc])*
        #[inline(always)]
        pub(super) fn $name<$($g: $bound,)? S: $crate::simd::Simd>(&mut self, simd: S $(, $x: $t)*) -> $r {
            let variants = $crate::simd::simd_variants!(
                [$($g: $bound)?] (batch: &mut $crate::interpret::Batch $(, $x: $t)*) -> $r,
                |simd| batch.$body::<$($g,)? _>(simd $(, $x)*)
            );
            // SAFETY: the token proves that the CPU has the instructions of its level.
            unsafe { variants.select(simd.level())(self $(, $x)*) }
        }
    };
}
pub(crate) use outlined;
