//! Objects: a class pointer and what follows it; in front of it, a count of references.
//!
//! ```text
//! -16  count of references   -8  marks (weakly referenced, has associations)   0  isa   8  instance variables
//! ```
//! Objects that a compiler lays out (constant strings, global blocks, classes) have nothing in front: their classes
//! do not count references.

use crate::class::{Class, Realised};
use crate::diagnostics;
use std::alloc::Layout;
use std::sync::atomic::{AtomicI64, AtomicPtr, AtomicU64, Ordering};

/// Objective-C's `BOOL`: `signed char` on x86-64, `bool` on arm64; one byte on both.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bool(u8);

/// `YES`.
pub const YES: Bool = Bool(1);
/// `NO`.
pub const NO: Bool = Bool(0);

impl From<bool> for Bool {
    fn from(value: bool) -> Self {
        Bool(value.into())
    }
}

impl Bool {
    /// Returns true for every value but `NO`.
    pub fn get(self) -> bool {
        self.0 != 0
    }
}

/// The start of every object.
#[repr(C)]
#[derive(Debug)]
pub struct Object {
    isa: AtomicPtr<Class>,
}

/// A pointer to an object, or null.
pub type Id = *mut Object;

/// What stands in front of an object.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Header {
    count: AtomicI64,
    marks: AtomicU64,
}

/// The object is referenced weakly.
pub(crate) const WEAKLY_REFERENCED: u64 = 1;
/// The object has associated objects.
pub(crate) const HAS_ASSOCIATIONS: u64 = 2;
/// The object is being deallocated: weak references to it are gone.
pub(crate) const DEALLOCATING: u64 = 4;
/// Objects begin with this alignment.
const ALIGNMENT: usize = 16;
const HEADER: usize = size_of::<Header>();

/// The class of an object that is not null.
///
/// # Safety
/// The object must be alive.
pub unsafe fn class_of(object: Id) -> &'static Class {
    // SAFETY: an object starts with the pointer to its class, and classes are never freed.
    unsafe { &*(*object).isa.load(Ordering::Relaxed) }
}

/// Changes the class of an object.
///
/// # Safety
/// The object must be alive and be laid out as the class has it.
pub unsafe fn set_class(object: Id, class: &'static Class) {
    // SAFETY: the caller's promise.
    unsafe { (*object).isa.store(class.as_ptr(), Ordering::Relaxed) }
}

/// The header of an object made by [`create`].
///
/// # Safety
/// The object must have been made by [`create`] and be alive.
pub(crate) unsafe fn header<'a>(object: Id) -> &'a Header {
    // SAFETY: `create` puts one there.
    unsafe { &*object.cast::<u8>().sub(HEADER).cast::<Header>() }
}

impl Header {
    pub(crate) fn mark(&self, mark: u64) -> u64 {
        self.marks.fetch_or(mark, Ordering::AcqRel)
    }

    pub(crate) fn marks(&self) -> u64 {
        self.marks.load(Ordering::Acquire)
    }

    /// Takes a reference unless the object is being deallocated.
    pub(crate) fn try_retain(&self) -> bool {
        let more = |count: i64| (count > 0).then_some(count + 1);
        let taken = self
            .count
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, more);
        taken.is_ok()
    }
}

fn layout(size: usize) -> Option<Layout> {
    Layout::from_size_align(size.checked_add(HEADER)?, ALIGNMENT).ok()
}

/// An object of a class with one reference and its variables zero (those of Rust classes by default). Null if there is no memory.
pub fn create(class: &'static Class, extra: usize) -> Id {
    let object = create_raw(class, extra);
    if let (false, Some(construct)) = (object.is_null(), class.realised().construct) {
        // SAFETY: the object is new and large enough for its class's state.
        unsafe { construct(state_address(object)) };
    }
    object
}

/// As [`create`], with the state of a Rust class not yet there.
pub(crate) fn create_raw(class: &'static Class, extra: usize) -> Id {
    let realised = class.realised();
    let size = realised.instance_size().saturating_add(extra);
    let Some(layout) = layout(size) else {
        return std::ptr::null_mut();
    };
    // SAFETY: the size is not zero: there is a header.
    let start = unsafe { std::alloc::alloc_zeroed(layout) };
    if start.is_null() {
        return std::ptr::null_mut();
    }
    realised.alive.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the memory begins with the header, and the class pointer follows.
    unsafe {
        (*start.cast::<Header>()).count.store(1, Ordering::Relaxed);
        (*start.cast::<Header>())
            .marks
            .store((extra as u64) << 32, Ordering::Relaxed);
        let object: Id = start.add(HEADER).cast();
        set_class(object, class);
        object
    }
}

/// Where the state of a Rust class lies in its objects.
pub(crate) const STATE: usize = 16;

pub(crate) fn state_address(object: Id) -> *mut u8 {
    object.cast::<u8>().wrapping_add(STATE)
}

/// Takes a reference.
///
/// # Safety
/// The object must have been made by [`create`] and be alive.
pub unsafe fn retain(object: Id) -> Id {
    // SAFETY: the caller's promise.
    unsafe { header(object) }
        .count
        .fetch_add(1, Ordering::Relaxed);
    object
}

/// Gives a reference back. Returns true if it was the last: the object must then be deallocated.
///
/// # Safety
/// As for [`retain`]; the reference must be the caller's.
pub unsafe fn release(object: Id) -> bool {
    // SAFETY: the caller's promise.
    let header = unsafe { header(object) };
    match header.count.fetch_sub(1, Ordering::AcqRel) {
        1 => {
            header.mark(DEALLOCATING);
            true
        }
        count if count < 1 => diagnostics::over_released(object),
        _ => false,
    }
}

/// The number of references.
///
/// # Safety
/// As for [`retain`].
pub unsafe fn retain_count(object: Id) -> usize {
    // SAFETY: the caller's promise.
    let count = unsafe { header(object) }.count.load(Ordering::Relaxed);
    usize::try_from(count).unwrap_or(0)
}

/// Ends an object: clears weak references, gives its associated objects back, drops its state, frees its memory.
///
/// # Safety
/// The object must have been made by [`create`]; nothing may use it afterwards.
pub unsafe fn dispose(object: Id) {
    // SAFETY: the caller's promise.
    let (class, marks) = unsafe { (class_of(object), header(object).marks()) };
    if marks & WEAKLY_REFERENCED != 0 {
        crate::weak::clear(object);
    }
    if marks & HAS_ASSOCIATIONS != 0 {
        crate::association::remove_all(object);
    }
    let realised: &Realised = class.realised();
    // SAFETY: the object has the instance variables of its classes; nothing uses it any more.
    unsafe {
        realised.destroy_ivars(object);
        if let Some(destroy) = realised.destroy {
            destroy(state_address(object));
        }
    }
    realised.alive.fetch_sub(1, Ordering::Relaxed);
    if diagnostics::keep_zombie(object, class) {
        return;
    }
    let extra = (marks >> 32) as usize;
    if let Some(layout) = layout(realised.instance_size().saturating_add(extra)) {
        // SAFETY: `create_raw` allocated it with this layout: sizes of classes with objects do not change.
        unsafe { std::alloc::dealloc(object.cast::<u8>().sub(HEADER), layout) };
    }
}

/// `class_createInstance`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn class_createInstance(class: *mut Class, extra: usize) -> Id {
    // SAFETY: classes are never freed; null is none.
    match unsafe { class.as_ref() } {
        Some(class) => create(class, extra.min(u32::MAX as usize)),
        None => std::ptr::null_mut(),
    }
}

/// `object_dispose`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn object_dispose(object: Id) -> Id {
    if !object.is_null() {
        // SAFETY: the caller's promise.
        unsafe { dispose(object) };
    }
    std::ptr::null_mut()
}
