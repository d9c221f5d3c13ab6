//! What the host's processor can do.

/// Whether the vector instructions can be used that [`vectorised`] compiles for.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn has_vectors() -> bool {
    std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("fma")
        && std::arch::is_x86_feature_detected!("f16c")
        && std::arch::is_x86_feature_detected!("bmi1")
        && std::arch::is_x86_feature_detected!("bmi2")
        && std::arch::is_x86_feature_detected!("lzcnt")
        && std::arch::is_x86_feature_detected!("popcnt")
}

/// Other processors have one form of everything: the compiler knows their instructions.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(crate) fn has_vectors() -> bool {
    false
}

/// Defines a function twice, for any processor and for one with vectors, and a dispatcher
/// that takes the second if its first argument, `VECTOR`, is true: it must be true only
/// where [`has_vectors`] is. The body is an `#[inline(always)]` function with the same
/// arguments.
macro_rules! vectorised {
    (
        $(#[$meta:meta])*
        $visible:vis fn $name:ident<$($constant:ident),*>($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? = $body:ident;
    ) => {
        $(#[$meta])*
        #[inline(always)]
        $visible fn $name<const VECTOR: bool $(, const $constant: bool)*>($($argument: $type),*) $(-> $result)? {
            #[inline(never)]
            fn anywhere<$(const $constant: bool),*>($($argument: $type),*) $(-> $result)? {
                $body::<false $(, $constant)*>($($argument),*)
            }
            #[cfg(target_arch = "x86_64")]
            #[inline(never)]
            #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
            fn with_vectors<$(const $constant: bool),*>($($argument: $type),*) $(-> $result)? {
                $body::<true $(, $constant)*>($($argument),*)
            }
            #[cfg(target_arch = "x86_64")]
            if VECTOR {
                // SAFETY: `VECTOR` is true only where `has_vectors` was.
                return unsafe { with_vectors::<$($constant),*>($($argument),*) };
            }
            anywhere::<$($constant),*>($($argument),*)
        }
    };
}
pub(crate) use vectorised;
