//! Objects that programs attach to others.

use crate::lock::lock;
use crate::object::{self, Id, class_of, header};
use crate::pool::{copy, objc_autorelease, objc_release, objc_retain};
use std::collections::HashMap;
use std::ptr::null_mut;
use std::sync::{LazyLock, Mutex};

/// What is attached under one key.
#[derive(Clone, Copy)]
struct Attached {
    value: usize,
    owned: bool,
}

type Table = HashMap<usize, HashMap<usize, Attached>>;

static ATTACHED: LazyLock<Mutex<Table>> = LazyLock::new(Mutex::default);

/// `OBJC_ASSOCIATION_ASSIGN`: no reference is taken. 1 and 0x301 retain, 3 and 0x303 copy.
const ASSIGN: usize = 0;

fn give_back(old: Option<Attached>) {
    if let Some(old) = old.filter(|old| old.owned) {
        // SAFETY: the table owned a reference.
        unsafe { objc_release(old.value as Id) };
    }
}

/// `objc_setAssociatedObject`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_setAssociatedObject(
    object: Id,
    key: usize,
    value: Id,
    policy: usize,
) {
    if object.is_null() {
        return;
    }
    // SAFETY: the caller promises that both are alive.
    let value = unsafe {
        if class_of(object).counts_itself() {
            header(object).mark(object::HAS_ASSOCIATIONS);
        }
        match policy & 0xff {
            ASSIGN => value,
            3 if !value.is_null() => copy(value),
            _ => objc_retain(value),
        }
    };
    let mut all = lock(&ATTACHED);
    let of_object = all.entry(object as usize).or_default();
    let old = match value.is_null() {
        true => of_object.remove(&key),
        false => of_object.insert(
            key,
            Attached {
                value: value as usize,
                owned: policy & 0xff != ASSIGN,
            },
        ),
    };
    drop(all);
    give_back(old);
}

/// `objc_getAssociatedObject`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_getAssociatedObject(object: Id, key: usize) -> Id {
    let all = lock(&ATTACHED);
    let found = all.get(&(object as usize)).and_then(|keys| keys.get(&key));
    let Some(found) = found.copied() else {
        return null_mut();
    };
    let value = found.value as Id;
    if !found.owned {
        return value;
    }
    // SAFETY: the table owns a reference while the lock is held.
    unsafe { objc_retain(value) };
    drop(all);
    // SAFETY: the reference was just taken.
    unsafe { objc_autorelease(value) }
}

/// `objc_removeAssociatedObjects`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn objc_removeAssociatedObjects(object: Id) {
    remove_all(object);
}

pub(crate) fn remove_all(object: Id) {
    let keys = lock(&ATTACHED).remove(&(object as usize));
    for old in keys.unwrap_or_default().into_values() {
        give_back(Some(old));
    }
}
