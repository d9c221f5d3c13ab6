//! `objc_msgSend` and its kin: they save the argument registers, find the function, restore the registers and jump.
//!
//! A message to nil answers zero in every register a result can be in; where a result is written to memory, compilers check for
//! nil themselves.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub use aarch64::*;
#[cfg(target_arch = "x86_64")]
pub use x86_64::*;

use crate::class::{Class, Imp, find};
use crate::diagnostics;
use crate::object::{Id, class_of};
use crate::selector::Sel;

/// What a message to `super` is sent to: the receiver, and the class whose superclass is searched.
#[repr(C)]
#[derive(Debug)]
pub struct Super {
    receiver: Id,
    class: *mut Class,
}

/// The function for a message to an object that is not nil.
pub(crate) unsafe extern "C-unwind" fn lookup(receiver: Id, selector: Sel) -> Imp {
    // SAFETY: who sends a message promises that the receiver is alive.
    let class = unsafe { class_of(receiver) };
    match find(class, selector) {
        Some(imp) => imp,
        None => diagnostics::unrecognised(receiver, class, selector),
    }
}

/// The function for a message to `super`.
pub(crate) unsafe extern "C-unwind" fn lookup_super(target: *const Super, selector: Sel) -> Imp {
    // SAFETY: compilers pass a pair that lives during the call.
    let (receiver, class) = unsafe { ((*target).receiver, (*target).class.as_ref()) };
    match class.and_then(Class::superclass) {
        Some(above) => match find(above, selector) {
            Some(imp) => imp,
            None => diagnostics::unrecognised(receiver, above, selector),
        },
        None => diagnostics::fatal("a message to super from a class that has none", &[]),
    }
}

/// Answers zero, whatever it is sent.
extern "C-unwind" fn nothing() -> usize {
    0
}

/// `objc_msg_lookup`, by which objc2 sends messages where the runtime is not Apple's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_msg_lookup(receiver: Id, selector: Sel) -> Imp {
    match receiver.is_null() {
        true => answer_zero as Imp,
        // SAFETY: the caller's promise.
        false => unsafe { lookup(receiver, selector) },
    }
}

/// `objc_msg_lookup_super`, whose pair has the class to search itself.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_msg_lookup_super(target: *const Super, selector: Sel) -> Imp {
    // SAFETY: as in `lookup_super`.
    let (receiver, class) = unsafe { ((*target).receiver, (*target).class.as_ref()) };
    if receiver.is_null() {
        return nothing as Imp;
    }
    match class.and_then(|class| find(class, selector)) {
        Some(imp) => imp,
        // SAFETY: the receiver is alive.
        None => diagnostics::unrecognised(receiver, unsafe { class_of(receiver) }, selector),
    }
}

/// Sends a message without arguments to an object that is not nil.
///
/// # Safety
/// The object must be alive, and its method have this type.
pub unsafe fn send<R>(receiver: Id, selector: Sel) -> R {
    // SAFETY: the caller's promise.
    unsafe {
        let imp = lookup(receiver, selector);
        let method: unsafe extern "C-unwind" fn(Id, Sel) -> R = std::mem::transmute(imp);
        method(receiver, selector)
    }
}

/// Sends a message with one argument to an object that is not nil.
///
/// # Safety
/// As for [`send`].
pub unsafe fn send_with<A, R>(receiver: Id, selector: Sel, argument: A) -> R {
    // SAFETY: the caller's promise.
    unsafe {
        let imp = lookup(receiver, selector);
        let method: unsafe extern "C-unwind" fn(Id, Sel, A) -> R = std::mem::transmute(imp);
        method(receiver, selector, argument)
    }
}
