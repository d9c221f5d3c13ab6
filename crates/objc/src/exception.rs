//! Exceptions: `@throw`, `@catch` and `@finally` over the unwinder that C++ and Rust use too (the Itanium C++ ABI, level 1).
//!
//! An exception is an object behind the unwinder's header. [`personality`](__objc_personality_v0) reads the tables that clang writes
//! for a function and says where in it an exception goes on: a `@catch` whose class it has, `@catch (...)` and `@finally`, which take
//! everything, or code that cleans up. Exceptions of C++ are left to C++'s personality where the process has one, since one function of
//! Objective-C++ may catch both kinds; in C++ frames ours are foreign, and `catch (...)` takes them.

use crate::class::Class;
use crate::diagnostics::fatal;
use crate::message::send;
use crate::object::{Id, class_of};
use crate::pool::{objc_release, objc_retain};
use crate::selector::Sel;
use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

mod tables;

/// The unwinder's part of an exception.
#[repr(C, align(16))]
struct Header {
    class: u64,
    cleanup: Option<unsafe extern "C-unwind" fn(c_int, *mut Header)>,
    private: [u64; 2],
}

#[repr(C)]
struct Exception {
    header: Header,
    object: Id,
}

/// Whose exceptions these are: `ASSYOBJC`.
const OURS: u64 = u64::from_be_bytes(*b"ASSYOBJC");
/// Exceptions of C++ end with these letters and a number; what is before them names the compiler.
const CPP: u64 = u64::from_be_bytes(*b"\0\0\0\0C++\0");
const CPP_MASK: u64 = 0xffff_ff00;

/// An exception whose `@catch` runs.
struct Caught {
    exception: *mut Header,
    handlers: u32,
    /// It was thrown again: it is no longer this handler's to free.
    is_rethrown: bool,
}

thread_local! {
    /// Innermost last.
    static CAUGHT: RefCell<Vec<Caught>> = const { RefCell::new(Vec::new()) };
}

// What a personality is asked, and what it answers.
const SEARCH_PHASE: c_int = 1;
const HANDLER_FRAME: c_int = 4;
const FORCED: c_int = 8;
const HANDLER_FOUND: c_int = 6;
const INSTALL_CONTEXT: c_int = 7;
const CONTINUE: c_int = 8;

unsafe extern "C-unwind" {
    fn _Unwind_RaiseException(exception: *mut Header) -> c_int;
    fn _Unwind_Resume_or_Rethrow(exception: *mut Header) -> c_int;
    fn _Unwind_DeleteException(exception: *mut Header);
    fn _Unwind_SetGR(context: *mut c_void, register: c_int, value: usize);
    fn _Unwind_SetIP(context: *mut c_void, address: usize);
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// `objc_exception_throw`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_exception_throw(object: Id) -> ! {
    // SAFETY: the caller's object is alive, or nil; the exception is the unwinder's until it is caught.
    unsafe {
        let exception = Box::into_raw(Box::new(Exception {
            header: Header {
                class: OURS,
                cleanup: Some(free),
                private: [0; 2],
            },
            object: objc_retain(object),
        }));
        _Unwind_RaiseException(exception.cast());
        // It comes back only if nobody catches it, and then the stack is as it was.
        uncaught(object)
    }
}

/// Frees an exception when its last `@catch` ends.
unsafe extern "C-unwind" fn free(_reason: c_int, exception: *mut Header) {
    // SAFETY: the unwinder passes an exception of ours.
    unsafe {
        let exception = Box::from_raw(exception.cast::<Exception>());
        objc_release(exception.object);
    }
}

static HANDLER: AtomicUsize = AtomicUsize::new(0);

/// `NSSetUncaughtExceptionHandler`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn NSSetUncaughtExceptionHandler(handler: *const c_void) {
    HANDLER.store(handler as usize, Relaxed);
}

/// `NSGetUncaughtExceptionHandler`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn NSGetUncaughtExceptionHandler() -> *const c_void {
    HANDLER.load(Relaxed) as *const c_void
}

unsafe fn uncaught(object: Id) -> ! {
    let handler = HANDLER.load(Relaxed);
    // SAFETY: the program has set a function that takes an object; the object is alive.
    unsafe {
        if handler != 0 {
            let handler: extern "C-unwind" fn(Id) = std::mem::transmute(handler);
            handler(object);
        }
        fatal(
            &format!("{} was thrown and not caught", describe(object)),
            &[],
        )
    }
}

/// Its class and what it says about itself.
unsafe fn describe(object: Id) -> String {
    if object.is_null() {
        return "nil".to_owned();
    }
    // SAFETY: the caller's object is alive; `description` gives a string or nil.
    unsafe {
        let class = class_of(object);
        let says = |of: Id, name: &CStr| class_of(of).method(Sel::new(name)).is_some();
        let mut text = format!("a {class:?}");
        for part in [c"name", c"reason", c"description"] {
            let said: Id = match says(object, part) {
                true => send(object, Sel::new(part)),
                false => continue,
            };
            if !said.is_null() && says(said, c"UTF8String") {
                let bytes: *const c_char = send(said, Sel::new(c"UTF8String"));
                text.push_str(&format!(": {}", CStr::from_ptr(bytes).to_string_lossy()));
            }
            if part == c"reason" {
                break;
            }
        }
        text
    }
}

/// `objc_begin_catch`: the object of an exception of ours, nil for another's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_begin_catch(exception: *mut c_void) -> Id {
    let exception: *mut Header = exception.cast();
    CAUGHT.with_borrow_mut(|caught| match caught.last_mut() {
        Some(last) if last.exception == exception => {
            last.handlers += 1;
            last.is_rethrown = false;
        }
        _ => caught.push(Caught {
            exception,
            handlers: 1,
            is_rethrown: false,
        }),
    });
    // SAFETY: the unwinder has brought the exception here.
    unsafe {
        match (*exception).class == OURS {
            true => (*exception.cast::<Exception>()).object,
            false => std::ptr::null_mut(),
        }
    }
}

/// `objc_end_catch`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_end_catch() {
    let ended = CAUGHT.with_borrow_mut(|caught| {
        let last = caught.last_mut()?;
        last.handlers -= 1;
        if last.handlers > 0 {
            return None;
        }
        caught.pop().filter(|last| !last.is_rethrown)
    });
    if let Some(ended) = ended {
        // SAFETY: nobody else catches it.
        unsafe { _Unwind_DeleteException(ended.exception) };
    }
}

/// `objc_exception_rethrow`: `@throw;`, and the end of a `@finally`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_exception_rethrow() -> ! {
    let again = CAUGHT.with_borrow_mut(|caught| {
        let last = caught.last_mut()?;
        last.is_rethrown = true;
        Some(last.exception)
    });
    let Some(exception) = again else {
        fatal("@throw without an exception outside of a @catch", &[])
    };
    // SAFETY: the exception was caught, so it is whole; it comes back if nobody catches it again.
    unsafe {
        _Unwind_Resume_or_Rethrow(exception);
        match (*exception).class == OURS {
            true => uncaught((*exception.cast::<Exception>()).object),
            false => fatal(
                "an exception of another language was thrown and not caught",
                &[],
            ),
        }
    }
}

/// `objc_terminate`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn objc_terminate() -> ! {
    fatal("an exception was thrown where none may be", &[])
}

/// What is thrown as `@catch` names it, as clang writes it.
#[repr(C)]
struct CaughtType {
    table: *const c_void,
    name: *const c_char,
    class: *const Class,
}

/// An answer of a C++ type that catches nothing.
extern "C-unwind" fn no() -> usize {
    0
}

/// The functions of C++'s `std::type_info` for a type that `@catch` names: C++'s personality asks it whether it catches an exception of
/// C++. Types refer to the third word.
#[unsafe(export_name = "objc_ehtype_vtable")]
pub static EXCEPTION_TYPES: [Option<extern "C-unwind" fn() -> usize>; 10] = [
    None,
    None,
    Some(no),
    Some(no),
    Some(no),
    Some(no),
    Some(no),
    Some(no),
    Some(no),
    Some(no),
];

/// The type of `@catch (id …)`.
#[repr(C)]
#[derive(Debug)]
pub struct AnyObject(&'static Option<extern "C-unwind" fn() -> usize>, [usize; 2]);

/// `OBJC_EHTYPE_id`.
#[unsafe(export_name = "OBJC_EHTYPE_id")]
pub static EXCEPTION_ID: AnyObject = AnyObject(&EXCEPTION_TYPES[2], [0; 2]);

/// Whether a `@catch` takes an exception: no type is `@catch (...)`.
unsafe fn catches(caught: *const CaughtType, exception: *mut Header) -> bool {
    if caught.is_null() {
        return true;
    }
    // SAFETY: the exception is the unwinder's; if it is ours, the tables of the function name types as clang writes them.
    unsafe {
        if (*exception).class != OURS {
            return false;
        }
        let object = (*exception.cast::<Exception>()).object;
        if std::ptr::eq(caught.cast(), &raw const EXCEPTION_ID) {
            return true;
        }
        // A class of C++ in a function of Objective-C++ has another table of functions.
        let is_class = std::ptr::eq((*caught).table.cast(), &raw const EXCEPTION_TYPES[2]);
        let class = if is_class {
            (*caught).class.as_ref()
        } else {
            None
        };
        !object.is_null() && class.is_some_and(|class| class_of(object).inherits(class))
    }
}

/// C++'s personality, where the process has one.
fn of_cpp() -> Option<Personality> {
    static FOUND: AtomicUsize = AtomicUsize::new(usize::MAX);
    let mut found = FOUND.load(Relaxed);
    if found == usize::MAX {
        // SAFETY: null stands for all that is loaded.
        found = unsafe { dlsym(std::ptr::null_mut(), c"__gxx_personality_v0".as_ptr()) } as usize;
        FOUND.store(found, Relaxed);
    }
    // SAFETY: that is what the symbol is.
    (found != 0).then(|| unsafe { std::mem::transmute::<usize, Personality>(found) })
}

type Personality =
    unsafe extern "C-unwind" fn(c_int, c_int, u64, *mut c_void, *mut c_void) -> c_int;

/// `__objc_personality_v0`: where in a function an exception goes on.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __objc_personality_v0(
    version: c_int,
    actions: c_int,
    class: u64,
    exception: *mut c_void,
    context: *mut c_void,
) -> c_int {
    // SAFETY: the unwinder calls this for a frame of its own, with its exception.
    unsafe {
        if class & CPP_MASK == CPP
            && let Some(of_cpp) = of_cpp()
        {
            return of_cpp(version, actions, class, exception, context);
        }
        let Some(place) = tables::landing_pad(context) else {
            return CONTINUE;
        };
        let may_catch = actions & FORCED == 0;
        let found = place.actions.iter().find(|action| match action.filter {
            0 => false,
            filter => filter > 0 && may_catch && catches(action.caught.cast(), exception.cast()),
        });
        let has_cleanup =
            place.actions.is_empty() || place.actions.iter().any(|action| action.filter == 0);
        let selector = match found {
            Some(_) if actions & SEARCH_PHASE != 0 => return HANDLER_FOUND,
            Some(action) if actions & HANDLER_FRAME != 0 => action.filter as usize,
            _ if actions & SEARCH_PHASE != 0 || !has_cleanup => return CONTINUE,
            _ => 0,
        };
        // The two registers in which landing pads expect these have the numbers 0 and 1 on x86-64 and arm64 both.
        _Unwind_SetGR(context, 0, exception as usize);
        _Unwind_SetGR(context, 1, selector);
        _Unwind_SetIP(context, place.address);
        INSTALL_CONTEXT
    }
}
