//! Selectors: names of messages, each kept once, so that two are equal if their addresses are.

use crate::lock::{read, write};
use crate::object::Bool;
use std::collections::HashSet;
use std::ffi::{CStr, CString, c_char};
use std::fmt;
use std::sync::{LazyLock, RwLock};

/// A selector: the address of its name, which is kept for ever.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sel(*const c_char);

// SAFETY: the name is never changed or freed.
unsafe impl Send for Sel {}
// SAFETY: as above.
unsafe impl Sync for Sel {}

static NAMES: LazyLock<RwLock<HashSet<&'static CStr>>> = LazyLock::new(RwLock::default);

impl Sel {
    /// The selector of a name.
    pub fn new(name: &CStr) -> Self {
        if let Some(known) = read(&NAMES).get(name) {
            return Self(known.as_ptr());
        }
        let mut names = write(&NAMES);
        if let Some(known) = names.get(name) {
            return Self(known.as_ptr());
        }
        let kept: &'static CStr = Box::leak(CString::from(name).into_boxed_c_str());
        names.insert(kept);
        Self(kept.as_ptr())
    }

    /// The selector of a name without a NUL; what follows a NUL is left out.
    pub fn of(name: &str) -> Self {
        let upto = name.split('\0').next().unwrap_or_default();
        Self::new(&CString::new(upto).unwrap_or_default())
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        if self.0.is_null() {
            return "<null selector>";
        }
        // SAFETY: selectors point to names that end with NUL: `new` made it, or a compiler did.
        unsafe { CStr::from_ptr(self.0) }
            .to_str()
            .unwrap_or("<selector that is not UTF-8>")
    }

    /// Returns true if there is no selector.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    pub(crate) fn address(self) -> usize {
        self.0 as usize
    }

    /// The same selector as the runtime keeps it, for one that came from a compiler's table.
    pub(crate) fn unique(self) -> Self {
        if self.0.is_null() {
            return self;
        }
        // SAFETY: as in `name`.
        Self::new(unsafe { CStr::from_ptr(self.0) })
    }
}

impl fmt::Debug for Sel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// `sel_registerName`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sel_registerName(name: *const c_char) -> Sel {
    Sel(name).unique()
}

/// `sel_getUid`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sel_getUid(name: *const c_char) -> Sel {
    Sel(name).unique()
}

/// `sel_getName`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn sel_getName(selector: Sel) -> *const c_char {
    match selector.is_null() {
        true => c"<null selector>".as_ptr(),
        false => selector.0,
    }
}

/// `sel_isEqual`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn sel_isEqual(a: Sel, b: Sel) -> Bool {
    Bool::from(a == b)
}

/// `sel_isMapped`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn sel_isMapped(selector: Sel) -> Bool {
    Bool::from(!selector.is_null())
}
