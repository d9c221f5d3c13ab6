//! What the runtime has counted, for tests that load it as a shared object.

use crate::report;
use assay_objc::diagnostics;
use std::ffi::{CStr, c_char};

/// Objects that are alive: those of a class, or all for a null name.
///
/// # Safety
/// The name must be null or end with NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn assay_metal_alive(class: *const c_char) -> i64 {
    // SAFETY: the caller's promise.
    let wanted = (!class.is_null()).then(|| unsafe { CStr::from_ptr(class) });
    let all = diagnostics::alive().into_iter();
    let counted =
        all.filter(|(name, _)| wanted.is_none_or(|wanted| wanted.to_bytes() == name.as_bytes()));
    counted.map(|(_, count)| count).sum()
}

/// Objects that were autoreleased while their thread had no pool.
#[unsafe(no_mangle)]
pub extern "C" fn assay_metal_outside_pools() -> u64 {
    diagnostics::objects_outside_pools()
}

/// Compute encoders made so far.
#[unsafe(no_mangle)]
pub extern "C" fn assay_metal_encoders() -> u64 {
    report::encoders()
}

/// Calls that Metal's validation would refuse, so far.
#[unsafe(no_mangle)]
pub extern "C" fn assay_metal_wrong_uses() -> u64 {
    report::wrong_uses()
}
