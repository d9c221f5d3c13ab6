//! References that Rust code owns.

use crate::object::Id;
use crate::pool::{objc_autorelease, objc_release, objc_retain};

/// One reference to an object, or to none; given back when dropped.
#[derive(Debug)]
pub struct Strong(Id);

// SAFETY: counting references is atomic, and objects of this runtime's classes guard their state.
unsafe impl Send for Strong {}
// SAFETY: as above.
unsafe impl Sync for Strong {}

impl Strong {
    /// Takes a reference.
    ///
    /// # Safety
    /// The object must be alive, or null.
    pub unsafe fn retain(object: Id) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { objc_retain(object) })
    }

    /// Takes over a reference that the caller owns.
    ///
    /// # Safety
    /// As said; or null.
    pub unsafe fn owned(object: Id) -> Self {
        Self(object)
    }

    /// No object.
    pub const fn nil() -> Self {
        Self(std::ptr::null_mut())
    }

    /// The object, which lives at least as long as the reference.
    pub fn id(&self) -> Id {
        self.0
    }

    /// Returns true if there is no object.
    pub fn is_nil(&self) -> bool {
        self.0.is_null()
    }

    /// Gives the reference to the caller of a method whose name begins with `new`, `alloc`, `copy` or `init`.
    pub fn into_owned(self) -> Id {
        let object = self.0;
        std::mem::forget(self);
        object
    }

    /// Gives the reference to the autorelease pool, for the caller of any other method.
    pub fn autoreleased(self) -> Id {
        let object = self.into_owned();
        // SAFETY: the reference was this one's.
        unsafe { objc_autorelease(object) }
    }
}

impl Default for Strong {
    fn default() -> Self {
        Self::nil()
    }
}

impl Clone for Strong {
    fn clone(&self) -> Self {
        // SAFETY: this reference keeps the object alive.
        unsafe { Self::retain(self.0) }
    }
}

impl Drop for Strong {
    fn drop(&mut self) {
        // SAFETY: the reference is this one's.
        unsafe { objc_release(self.0) };
    }
}
