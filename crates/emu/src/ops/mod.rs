//! What the operations do, on rows of 32 lanes.

pub(crate) mod access;
pub(crate) mod compare;
pub(crate) mod float;
#[cfg(target_arch = "x86_64")]
pub(crate) mod half;
pub(crate) mod integer;
pub(crate) mod lanes;
pub(crate) mod packed;
pub(crate) mod special;
