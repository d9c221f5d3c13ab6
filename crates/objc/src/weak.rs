//! Weak references: places that become nil when their object is deallocated.

use crate::lock::lock;
use crate::object::{self, Id, class_of, header};
use crate::pool::{autorelease, objc_release};
use std::collections::HashMap;
use std::ptr::null_mut;
use std::sync::{LazyLock, Mutex};

/// The places that refer to an object weakly. One lock for all: a load must see an object either whole or gone.
static PLACES: LazyLock<Mutex<HashMap<usize, Vec<usize>>>> = LazyLock::new(Mutex::default);

fn forget(places: &mut HashMap<usize, Vec<usize>>, object: Id, place: *mut Id) {
    if let Some(known) = places.get_mut(&(object as usize)) {
        known.retain(|&one| one != place as usize);
        if known.is_empty() {
            places.remove(&(object as usize));
        }
    }
}

/// Makes a place refer to an object; nil if that is being deallocated. Objects whose classes do not count are never freed.
unsafe fn store(places: &mut HashMap<usize, Vec<usize>>, place: *mut Id, object: Id) {
    // SAFETY: the caller's place is writable, the object alive.
    unsafe {
        if object.is_null() || !class_of(object).counts_itself() {
            *place = object;
            return;
        }
        let header = header(object);
        // The mark comes first: a release after this sees it and waits for the lock.
        header.mark(object::WEAKLY_REFERENCED);
        if header.marks() & object::DEALLOCATING != 0 {
            *place = null_mut();
            return;
        }
        places
            .entry(object as usize)
            .or_default()
            .push(place as usize);
        *place = object;
    }
}

/// Makes all places that refer to an object nil.
pub(crate) fn clear(object: Id) {
    let mut all = lock(&PLACES);
    for place in all.remove(&(object as usize)).unwrap_or_default() {
        // SAFETY: places are registered as long as they exist.
        unsafe { *(place as *mut Id) = null_mut() };
    }
}

/// `objc_initWeak`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_initWeak(place: *mut Id, object: Id) -> Id {
    // SAFETY: the caller's promise.
    unsafe {
        store(&mut lock(&PLACES), place, object);
        *place
    }
}

/// `objc_storeWeak`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_storeWeak(place: *mut Id, object: Id) -> Id {
    let mut places = lock(&PLACES);
    // SAFETY: the caller's promise.
    unsafe {
        forget(&mut places, *place, place);
        store(&mut places, place, object);
        *place
    }
}

/// `objc_loadWeakRetained`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_loadWeakRetained(place: *mut Id) -> Id {
    let _held = lock(&PLACES);
    // SAFETY: the place is the caller's; while the lock is held, what it names is not freed.
    unsafe {
        let object = *place;
        if object.is_null() || !class_of(object).counts_itself() {
            return object;
        }
        match header(object).try_retain() {
            true => object,
            false => null_mut(),
        }
    }
}

/// `objc_loadWeak`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_loadWeak(place: *mut Id) -> Id {
    // SAFETY: the caller's promise.
    let object = unsafe { objc_loadWeakRetained(place) };
    match object.is_null() {
        true => object,
        false => autorelease(object),
    }
}

/// `objc_destroyWeak`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_destroyWeak(place: *mut Id) {
    // SAFETY: the caller's promise.
    unsafe { forget(&mut lock(&PLACES), *place, place) };
}

/// `objc_copyWeak`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_copyWeak(to: *mut Id, from: *mut Id) {
    // SAFETY: the caller's promise.
    unsafe {
        let object = objc_loadWeakRetained(from);
        objc_initWeak(to, object);
        objc_release(object);
    }
}

/// `objc_moveWeak`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_moveWeak(to: *mut Id, from: *mut Id) {
    // SAFETY: the caller's promise.
    unsafe {
        objc_copyWeak(to, from);
        objc_destroyWeak(from);
    }
}
