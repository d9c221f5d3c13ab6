//! Protocols: names that classes adopt. Methods of protocols are not kept: nothing on Linux asks for them.

use crate::class::Class;
use crate::lock::lock;
use crate::object::Bool;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char};
use std::ptr::null;
use std::sync::{LazyLock, Mutex};

/// A protocol, as compilers lay it out: the fields that are read.
#[repr(C)]
#[derive(Debug)]
pub struct Protocol {
    isa: *const Class,
    name: *const c_char,
}

// SAFETY: a protocol is never changed or freed.
unsafe impl Send for Protocol {}
// SAFETY: as above.
unsafe impl Sync for Protocol {}

static PROTOCOLS: LazyLock<Mutex<HashMap<&'static CStr, &'static Protocol>>> =
    LazyLock::new(Mutex::default);

impl Protocol {
    /// Its name.
    pub fn name(&self) -> &'static CStr {
        // SAFETY: names are kept for ever.
        unsafe { CStr::from_ptr(self.name) }
    }
}

/// Makes a protocol known by its name.
pub(crate) fn declare(name: &str) -> Option<&'static Protocol> {
    let name = CString::new(name).ok()?;
    let mut all = lock(&PROTOCOLS);
    if let Some(known) = all.get(name.as_c_str()) {
        return Some(known);
    }
    let name: &'static CStr = Box::leak(name.into_boxed_c_str());
    let protocol: &'static Protocol = Box::leak(Box::new(Protocol {
        isa: null(),
        name: name.as_ptr(),
    }));
    all.insert(name, protocol);
    Some(protocol)
}

/// Makes a compiler's protocol known.
pub(crate) fn publish(protocol: &'static Protocol) {
    lock(&PROTOCOLS).entry(protocol.name()).or_insert(protocol);
}

impl Class {
    /// Returns true if the class or one it inherits from adopts a protocol.
    pub fn adopts(&'static self, protocol: &str) -> bool {
        self.chain().any(|class| {
            let adopted = crate::lock::read(&class.realised().protocols);
            adopted.iter().any(|name| name == protocol)
        })
    }
}

/// `objc_getProtocol`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_getProtocol(name: *const c_char) -> *const Protocol {
    if name.is_null() {
        return null();
    }
    // SAFETY: the caller's name ends with NUL.
    let name = unsafe { CStr::from_ptr(name) };
    let known = lock(&PROTOCOLS).get(name).copied();
    known.map_or(null(), std::ptr::from_ref)
}

/// `protocol_getName`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn protocol_getName(protocol: *const Protocol) -> *const c_char {
    // SAFETY: the caller's protocol is one, or null.
    unsafe { protocol.as_ref() }.map_or(c"nil".as_ptr(), |protocol| protocol.name)
}

/// `protocol_isEqual`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn protocol_isEqual(a: *const Protocol, b: *const Protocol) -> Bool {
    // SAFETY: as above.
    let (a, b) = unsafe { (a.as_ref(), b.as_ref()) };
    Bool::from(a.map(Protocol::name) == b.map(Protocol::name))
}

/// `class_conformsToProtocol`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn class_conformsToProtocol(
    class: *const Class,
    protocol: *const Protocol,
) -> Bool {
    // SAFETY: both are what they say, or null; classes are never freed.
    let (class, protocol) = unsafe { (class.as_ref(), protocol.as_ref()) };
    let name = protocol.and_then(|protocol| protocol.name().to_str().ok());
    Bool::from(
        class
            .zip(name)
            .is_some_and(|(class, name)| class.adopts(name)),
    )
}

/// `class_addProtocol`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn class_addProtocol(
    class: *const Class,
    protocol: *const Protocol,
) -> Bool {
    // SAFETY: as above.
    let (class, protocol) = unsafe { (class.as_ref(), protocol.as_ref()) };
    let Some((class, protocol)) = class.zip(protocol) else {
        return crate::NO;
    };
    let name = protocol.name().to_string_lossy().into_owned();
    let mut adopted = crate::lock::write(&class.realised().protocols);
    let is_new = !adopted.contains(&name);
    if is_new {
        adopted.push(name);
    }
    Bool::from(is_new)
}
