//! References: retain and release as compilers call them, and autorelease pools.
//!
//! A pool is a stretch of a list that each thread has; its token is the length of the list when it was pushed.

use crate::class::Class;
use crate::diagnostics;
use crate::message::{send, send_with};
use crate::object::{Id, class_of};
use crate::selector::Sel;
use std::cell::RefCell;
use std::sync::LazyLock;

/// The selectors the runtime itself sends.
struct Selectors {
    alloc: Sel,
    init: Sel,
    new: Sel,
    retain: Sel,
    release: Sel,
    autorelease: Sel,
    copy: Sel,
    dealloc: Sel,
    class: Sel,
    is_kind: Sel,
    responds: Sel,
}

static SELECTORS: LazyLock<Selectors> = LazyLock::new(|| Selectors {
    alloc: Sel::new(c"alloc"),
    init: Sel::new(c"init"),
    new: Sel::new(c"new"),
    retain: Sel::new(c"retain"),
    release: Sel::new(c"release"),
    autorelease: Sel::new(c"autorelease"),
    copy: Sel::new(c"copy"),
    dealloc: Sel::new(c"dealloc"),
    class: Sel::new(c"class"),
    is_kind: Sel::new(c"isKindOfClass:"),
    responds: Sel::new(c"respondsToSelector:"),
});

#[derive(Default)]
struct Pools {
    objects: Vec<usize>,
    depth: usize,
}

unsafe extern "C" {
    fn getpid() -> i32;
    fn gettid() -> i32;
}

impl Drop for Pools {
    /// A thread that ends gives back what it left in pools. The main thread ends with the process and gives back nothing, as on macOS:
    /// programs that never push a pool may have released such objects themselves.
    fn drop(&mut self) {
        // SAFETY: neither call has preconditions.
        if unsafe { getpid() == gettid() } {
            return;
        }
        let left = std::mem::take(&mut self.objects);
        for object in left.into_iter().rev() {
            // SAFETY: the pool owns a reference to each.
            unsafe { objc_release(object as Id) };
        }
    }
}

thread_local! {
    static POOLS: RefCell<Pools> = const { RefCell::new(Pools { objects: Vec::new(), depth: 0 }) };
}

/// `objc_autoreleasePoolPush`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn objc_autoreleasePoolPush() -> usize {
    let pushed = POOLS.try_with(|pools| {
        let mut pools = pools.borrow_mut();
        pools.depth += 1;
        pools.objects.len() + 1
    });
    pushed.unwrap_or(1)
}

/// `objc_autoreleasePoolPop`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_autoreleasePoolPop(token: usize) {
    let keep = token.saturating_sub(1);
    let take = |pools: &RefCell<Pools>| {
        let objects = &mut pools.borrow_mut().objects;
        if objects.len() > keep {
            objects.pop()
        } else {
            None
        }
    };
    // One at a time: what a deallocation autoreleases comes on top.
    while let Ok(Some(object)) = POOLS.try_with(take) {
        // SAFETY: the pool owns a reference to each.
        unsafe { objc_release(object as Id) };
    }
    let _ = POOLS.try_with(|pools| {
        let mut pools = pools.borrow_mut();
        pools.depth = pools.depth.saturating_sub(1);
    });
}

/// Runs a function in a pool of its own.
pub fn autoreleasepool<T>(function: impl FnOnce() -> T) -> T {
    let token = objc_autoreleasePoolPush();
    let result = function();
    // SAFETY: the token is of the pool pushed last.
    unsafe { objc_autoreleasePoolPop(token) };
    result
}

/// Gives a reference to the thread's pool.
pub(crate) fn autorelease(object: Id) -> Id {
    let added = POOLS.try_with(|pools| {
        let mut pools = pools.borrow_mut();
        if pools.depth == 0 {
            diagnostics::outside_pool();
        }
        pools.objects.push(object as usize);
    });
    if added.is_err() {
        diagnostics::outside_pool();
    }
    object
}

/// `objc_retain`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_retain(object: Id) -> Id {
    if object.is_null() {
        return object;
    }
    // SAFETY: the caller promises that the object is alive.
    unsafe {
        match class_of(object).counts_itself() {
            true => crate::object::retain(object),
            false => send(object, SELECTORS.retain),
        }
    }
}

/// `objc_release`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_release(object: Id) {
    if object.is_null() {
        return;
    }
    // SAFETY: the caller promises that the object is alive and the reference its own.
    unsafe {
        match class_of(object).counts_itself() {
            true => release(object),
            false => send(object, SELECTORS.release),
        }
    }
}

/// Gives a reference back, and deallocates with the last.
///
/// # Safety
/// As for [`crate::object::release`].
pub(crate) unsafe fn release(object: Id) {
    // SAFETY: the caller's promise; the last reference is the method's to end the object with.
    unsafe {
        if crate::object::release(object) {
            send::<()>(object, SELECTORS.dealloc);
        }
    }
}

/// `objc_autorelease`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_autorelease(object: Id) -> Id {
    if object.is_null() {
        return object;
    }
    // SAFETY: as for `objc_release`.
    unsafe {
        match class_of(object).counts_itself() {
            true => autorelease(object),
            false => send(object, SELECTORS.autorelease),
        }
    }
}

/// Functions of ARC that are retains, autoreleases or both.
macro_rules! arc {
    ($($name:ident ($object:ident) $body:expr;)*) => {$(
        #[doc = concat!("`", stringify!($name), "`.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($object: Id) -> Id {
            // SAFETY: ARC calls it with an object that is alive, or nil.
            unsafe { $body }
        }
    )*};
}
// An object that a method returns autoreleased stays in the pool: the caller takes a reference of its own. That is what Apple's
// runtime does where it does not recognise the caller's code.
arc! {
    objc_retainAutorelease(object) objc_autorelease(objc_retain(object));
    objc_autoreleaseReturnValue(object) objc_autorelease(object);
    objc_retainAutoreleaseReturnValue(object) objc_autorelease(objc_retain(object));
    objc_retainAutoreleasedReturnValue(object) objc_retain(object);
    objc_claimAutoreleasedReturnValue(object) objc_retain(object);
}

/// `objc_unsafeClaimAutoreleasedReturnValue`: the caller wants no reference.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn objc_unsafeClaimAutoreleasedReturnValue(object: Id) -> Id {
    object
}

/// `objc_opt_self`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn objc_opt_self(object: Id) -> Id {
    object
}

fn message(class: *mut Class, selector: Sel) -> Id {
    if class.is_null() {
        return std::ptr::null_mut();
    }
    // SAFETY: classes are never freed; the method has this type by convention.
    unsafe { send(class.cast(), selector) }
}

/// `objc_alloc`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn objc_alloc(class: *mut Class) -> Id {
    message(class, SELECTORS.alloc)
}

/// `objc_allocWithZone`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn objc_allocWithZone(class: *mut Class) -> Id {
    message(class, SELECTORS.alloc)
}

/// `objc_alloc_init`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn objc_alloc_init(class: *mut Class) -> Id {
    message(objc_alloc(class).cast(), SELECTORS.init)
}

/// `objc_opt_new`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn objc_opt_new(class: *mut Class) -> Id {
    message(class, SELECTORS.new)
}

/// `objc_opt_class`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn objc_opt_class(object: Id) -> Id {
    message(object.cast(), SELECTORS.class)
}

/// `objc_opt_isKindOfClass`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_opt_isKindOfClass(
    object: Id,
    class: *mut Class,
) -> crate::Bool {
    match object.is_null() {
        true => crate::NO,
        // SAFETY: the caller promises that the object is alive.
        false => unsafe { send_with(object, SELECTORS.is_kind, class) },
    }
}

/// `objc_opt_respondsToSelector`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_opt_respondsToSelector(
    object: Id,
    selector: Sel,
) -> crate::Bool {
    match object.is_null() {
        true => crate::NO,
        // SAFETY: as above.
        false => unsafe { send_with(object, SELECTORS.responds, selector) },
    }
}

/// The copy of an object that is not nil, by `-copy`.
///
/// # Safety
/// The object must be alive.
pub(crate) unsafe fn copy(object: Id) -> Id {
    // SAFETY: the caller's promise; the method has this type by convention.
    unsafe { send(object, SELECTORS.copy) }
}
