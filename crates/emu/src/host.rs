//! What the host's processor can do.

/// Whether vector instructions with fused multiply-add can be used.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn has_avx2_and_fma() -> bool {
    std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
}
