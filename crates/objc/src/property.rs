//! What compilers call for instance variables, properties and `@synchronized`.

use crate::lock::lock;
use crate::object::{Bool, Id};
use crate::pool::{copy, objc_autorelease, objc_release, objc_retain};
use crate::selector::Sel;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Condvar, LazyLock, Mutex, PoisonError};
use std::thread::ThreadId;

/// Locks of atomic properties, chosen by address.
static ATOMIC: [Mutex<()>; 64] = [const { Mutex::new(()) }; 64];

fn guard(address: usize) -> &'static Mutex<()> {
    &ATOMIC[(address >> 4) % ATOMIC.len()]
}

/// `objc_storeStrong`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_storeStrong(place: *mut Id, value: Id) {
    // SAFETY: the caller promises that the place is a strong variable.
    unsafe {
        let old = *place;
        if old != value {
            objc_retain(value);
            *place = value;
            objc_release(old);
        }
    }
}

/// `objc_getProperty`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_getProperty(
    object: Id,
    _selector: Sel,
    offset: isize,
    atomic: Bool,
) -> Id {
    // SAFETY: compilers call it for a strong variable of the object.
    unsafe {
        let place = object.cast::<u8>().offset(offset).cast::<Id>();
        if !atomic.get() {
            return *place;
        }
        let held = lock(guard(place as usize));
        let value = objc_retain(*place);
        drop(held);
        objc_autorelease(value)
    }
}

unsafe fn set(object: Id, offset: isize, value: Id, atomic: bool, copies: bool) {
    // SAFETY: as in `objc_getProperty`.
    unsafe {
        let place = object.cast::<u8>().offset(offset).cast::<Id>();
        let new = match copies && !value.is_null() {
            true => copy(value),
            false => objc_retain(value),
        };
        let held = atomic.then(|| lock(guard(place as usize)));
        let old = std::mem::replace(&mut *place, new);
        drop(held);
        objc_release(old);
    }
}

/// `objc_setProperty`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_setProperty(
    object: Id,
    _selector: Sel,
    offset: isize,
    value: Id,
    atomic: Bool,
    copies: i8,
) {
    // SAFETY: the caller's promise.
    unsafe { set(object, offset, value, atomic.get(), copies == 1) };
}

macro_rules! setters {
    ($($name:ident, $atomic:literal, $copies:literal;)*) => {$(
        #[doc = concat!("`", stringify!($name), "`.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(object: Id, _selector: Sel, value: Id, offset: isize) {
            // SAFETY: the caller's promise.
            unsafe { set(object, offset, value, $atomic, $copies) };
        }
    )*};
}
setters! {
    objc_setProperty_atomic, true, false;
    objc_setProperty_nonatomic, false, false;
    objc_setProperty_atomic_copy, true, true;
    objc_setProperty_nonatomic_copy, false, true;
}

/// `objc_copyStruct`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_copyStruct(
    to: *mut c_void,
    from: *const c_void,
    bytes: isize,
    atomic: Bool,
    _strong: Bool,
) {
    // Both, in order of their addresses, so that two copies do not wait for each other.
    let (first, second) = (
        guard((to as usize).min(from as usize)),
        guard((to as usize).max(from as usize)),
    );
    let _first = atomic.get().then(|| lock(first));
    let _second = (atomic.get() && !std::ptr::eq(first, second)).then(|| lock(second));
    let bytes = usize::try_from(bytes).unwrap_or(0);
    // SAFETY: compilers pass variables of that size.
    unsafe { std::ptr::copy(from.cast::<u8>(), to.cast::<u8>(), bytes) };
}

/// Who holds an object's lock, and how often.
static HELD: LazyLock<Mutex<HashMap<usize, (ThreadId, usize)>>> = LazyLock::new(Mutex::default);
static FREED: Condvar = Condvar::new();

/// `objc_sync_enter`: `@synchronized`, which a thread may enter again.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn objc_sync_enter(object: Id) -> i32 {
    let this = std::thread::current().id();
    let mut held = lock(&HELD);
    loop {
        match held.get_mut(&(object as usize)) {
            None => {
                held.insert(object as usize, (this, 1));
                return 0;
            }
            Some((thread, times)) if *thread == this => {
                *times += 1;
                return 0;
            }
            Some(_) => held = FREED.wait(held).unwrap_or_else(PoisonError::into_inner),
        }
    }
}

/// `objc_sync_exit`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn objc_sync_exit(object: Id) -> i32 {
    let this = std::thread::current().id();
    let mut held = lock(&HELD);
    match held.get_mut(&(object as usize)) {
        Some((thread, times)) if *thread == this => {
            *times -= 1;
            if *times == 0 {
                held.remove(&(object as usize));
                FREED.notify_all();
            }
            0
        }
        _ => -1,
    }
}

/// `objc_enumerationMutation`: a collection was changed while a loop went over it.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_enumerationMutation(object: Id) {
    // SAFETY: the collection is alive.
    let class = unsafe { crate::object::class_of(object) };
    crate::diagnostics::fatal(
        &format!("a {class:?} at {object:p} was changed while a loop went over it"),
        &[],
    )
}
