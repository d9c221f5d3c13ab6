//! `NSError` and `NSException`.

use crate::collections::{array, dictionary};
use crate::string::{string, text};
use assay_objc::message::send_with;
use assay_objc::root::NSOBJECT;
use assay_objc::{Id, Sel, Strong, class};
use std::ffi::c_void;
use std::sync::OnceLock;

/// Domain, code and details of an error.
#[derive(Debug, Default)]
pub struct Failure(OnceLock<(Strong, isize, Strong)>);

/// The key of an error's text.
pub(crate) const DESCRIPTION: &str = "NSLocalizedDescription";

/// A new error with a text.
pub fn error(domain: &str, code: isize, why: &str) -> Strong {
    let details = dictionary(vec![(string(DESCRIPTION), string(why))]);
    // SAFETY: `Failure` is the state of the class.
    unsafe { NSERROR.make(Failure(OnceLock::from((string(domain), code, details)))) }
}

/// Gives an error to a caller who wants to know.
///
/// # Safety
/// `place` must be null or writable.
pub unsafe fn set_error(place: *mut Id, domain: &str, code: isize, why: &str) {
    if !place.is_null() {
        // SAFETY: the caller's promise.
        unsafe { *place = error(domain, code, why).autoreleased() };
    }
}

/// Tells a caller who wants to know that there is no error: some look at the place without having cleared it.
///
/// # Safety
/// `place` must be null or writable.
pub unsafe fn no_error(place: *mut Id) {
    if !place.is_null() {
        // SAFETY: the caller's promise.
        unsafe { *place = std::ptr::null_mut() };
    }
}

impl Failure {
    fn describe(&self) -> String {
        let Some((_, code, details)) = self.0.get() else {
            return "unknown error".to_owned();
        };
        // SAFETY: the details are a dictionary or nil.
        let found: Id = unsafe {
            match details.is_nil() {
                true => std::ptr::null_mut(),
                false => send_with(
                    details.id(),
                    Sel::new(c"objectForKey:"),
                    string(DESCRIPTION).id(),
                ),
            }
        };
        match found.is_null() {
            true => format!("The operation couldn’t be completed. (error {code})"),
            // SAFETY: the value of that key is a string.
            false => unsafe { text(found) }.to_owned(),
        }
    }
}

class! {
    /// `NSError`.
    pub NSERROR = "NSError": NSOBJECT, Failure, ["NSCopying"];
    + "errorWithDomain:code:userInfo:" "@@:@q@" (this, domain: Id, code: isize, details: Id) -> Id {
        let state = (Strong::retain(domain), code, Strong::retain(details));
        NSERROR.make(Failure(OnceLock::from(state))).autoreleased()
    }
    - "initWithDomain:code:userInfo:" "@@:@q@" (this, domain: Id, code: isize, details: Id) -> Id {
        let _ = this.0.set((Strong::retain(domain), code, Strong::retain(details)));
        this.id
    }
    - "domain" "@@:" (this) -> Id { this.0.get().map_or(std::ptr::null_mut(), |(domain, ..)| domain.id()) }
    - "code" "q@:" (this) -> isize { this.0.get().map_or(0, |(_, code, _)| *code) }
    - "userInfo" "@@:" (this) -> Id { this.0.get().map_or(std::ptr::null_mut(), |(.., details)| details.id()) }
    - "localizedDescription" "@@:" (this) -> Id { string(&this.describe()).autoreleased() }
    - "localizedFailureReason" "@@:" (this) -> Id { std::ptr::null_mut() }
    - "description" "@@:" (this) -> Id {
        let (domain, code) = this.0.get().map_or(("", 0), |(domain, code, _)| (text(domain.id()), *code));
        string(&format!("Error Domain={domain} Code={code} \"{}\"", this.describe())).autoreleased()
    }
    - "copyWithZone:" "@@:^v" (this, _zone: *mut c_void) -> Id { assay_objc::pool::objc_retain(this.id) }
}

/// Name, reason and details of an exception.
#[derive(Debug, Default)]
pub struct Exception(OnceLock<[Strong; 3]>);

impl Exception {
    fn part(&self, at: usize) -> Id {
        let parts = self.0.get();
        parts.map_or(std::ptr::null_mut(), |parts| parts[at].id())
    }
}

/// A new exception.
pub(crate) fn exception(name: &str, reason: &str) -> Strong {
    let parts = [string(name), string(reason), Strong::nil()];
    // SAFETY: `Exception` is the state of the class.
    unsafe { NSEXCEPTION.make(Exception(OnceLock::from(parts))) }
}

class! {
    /// `NSException`.
    pub NSEXCEPTION = "NSException": NSOBJECT, Exception, ["NSCopying"];
    + "exceptionWithName:reason:userInfo:" "@@:@@@" (this, name: Id, reason: Id, details: Id) -> Id {
        let made = Strong::owned(assay_objc::pool::objc_opt_new(this.cast()));
        if let Some(state) = NSEXCEPTION.state::<Exception>(made.id()) {
            let _ = state.0.set([name, reason, details].map(|part| Strong::retain(part)));
        }
        made.autoreleased()
    }
    + "raise:format:" "v@:@@" (this) { }
    - "initWithName:reason:userInfo:" "@@:@@@" (this, name: Id, reason: Id, details: Id) -> Id {
        let _ = this.0.set([name, reason, details].map(|part| Strong::retain(part)));
        this.id
    }
    - "raise" "v@:" (this) { assay_objc::exception::objc_exception_throw(this.id) }
    - "name" "@@:" (this) -> Id { this.part(0) }
    - "reason" "@@:" (this) -> Id { this.part(1) }
    - "userInfo" "@@:" (this) -> Id { this.part(2) }
    - "description" "@@:" (this) -> Id { this.part(1) }
    - "callStackSymbols" "@@:" (this) -> Id { array(Vec::new()).autoreleased() }
    - "callStackReturnAddresses" "@@:" (this) -> Id { array(Vec::new()).autoreleased() }
    - "copyWithZone:" "@@:^v" (this, _zone: *mut c_void) -> Id { assay_objc::pool::objc_retain(this.id) }
}
