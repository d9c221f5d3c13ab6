//! Exceptions: `@throw` reports and ends the process. `@try`, `@catch` and `@finally` compile and run as long as nothing is thrown;
//! C++ exceptions pass through frames of Objective-C and run their clean-ups.

use crate::diagnostics::fatal;
use crate::object::{Id, class_of};

/// `objc_exception_throw`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn objc_exception_throw(exception: Id) -> ! {
    let what = match exception.is_null() {
        true => "nil".to_owned(),
        // SAFETY: the caller promises that the object is alive.
        false => format!("a {:?}", unsafe { class_of(exception) }),
    };
    fatal(
        &format!("{what} was thrown: exceptions are not caught on Linux"),
        &[],
    )
}

/// `objc_exception_rethrow`.
#[unsafe(no_mangle)]
pub extern "C" fn objc_exception_rethrow() -> ! {
    fatal(
        "an exception was thrown again: exceptions are not caught on Linux",
        &[],
    )
}

/// `objc_begin_catch`: only a foreign exception can come here, and no `@catch` is for those.
#[unsafe(no_mangle)]
pub extern "C" fn objc_begin_catch(_exception: *mut u8) -> Id {
    std::ptr::null_mut()
}

/// `objc_end_catch`.
#[unsafe(no_mangle)]
pub extern "C" fn objc_end_catch() {}

/// `objc_terminate`.
#[unsafe(no_mangle)]
pub extern "C" fn objc_terminate() -> ! {
    fatal("an exception was thrown where none may be", &[])
}

/// What the types of caught exceptions refer to; nothing reads it.
#[unsafe(export_name = "objc_ehtype_vtable")]
pub static EXCEPTION_TYPES: [usize; 4] = [0; 4];
/// The type of `@catch (id …)`.
#[unsafe(export_name = "OBJC_EHTYPE_id")]
pub static EXCEPTION_ID: [usize; 3] = [0; 3];

unsafe extern "C" {
    fn __gcc_personality_v0();
}

/// `__objc_personality_v0`: C's, which runs clean-ups.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __objc_personality_v0() {
    std::arch::naked_asm!("jmp {personality}", personality = sym __gcc_personality_v0)
}

/// `__objc_personality_v0`: C's, which runs clean-ups.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __objc_personality_v0() {
    std::arch::naked_asm!("b {personality}", personality = sym __gcc_personality_v0)
}
