//! As much of Foundation as engines with a Metal back end call, for Linux: strings, data, numbers, collections, URLs, errors,
//! bundles, processes and files; `dispatch` has queues, groups, semaphores and data, `system` the C functions of macOS that
//! such programs ask about the machine.
//!
//! Each class is one table of selector, type encoding and function ([`assay_objc::class!`]). Strings are kept as UTF-8. Values
//! are immutable after `init`; mutable collections are guarded by locks. On macOS, where the system has all this, the crate is empty.

#![cfg(not(target_os = "macos"))]
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]
// The functions of the C ABI are documented by what they implement; their contract is Apple's.
#![allow(non_snake_case, non_upper_case_globals, clippy::missing_safety_doc)]

pub mod collections;
pub mod data;
pub mod dispatch;
pub mod error;
pub mod files;
pub mod format;
pub mod number;
pub mod process;
pub mod scanner;
pub mod string;
pub mod system;

pub use data::bytes;
pub use error::{error, no_error, set_error};
pub use string::{string, text};

use assay_objc::Declaration;

/// All classes, those that others inherit from first.
pub static CLASSES: &[&Declaration] = &[
    &string::NSSTRING,
    &string::NSMUTABLESTRING,
    &string::CONSTANT,
    &data::NSDATA,
    &data::NSMUTABLEDATA,
    &number::NSVALUE,
    &number::NSNUMBER,
    &collections::NSARRAY,
    &collections::NSMUTABLEARRAY,
    &collections::NSDICTIONARY,
    &collections::NSMUTABLEDICTIONARY,
    &collections::NSSET,
    &collections::NSMUTABLESET,
    &scanner::NSCHARACTERSET,
    &scanner::NSSCANNER,
    &error::NSERROR,
    &error::NSEXCEPTION,
    &files::NSURL,
    &files::NSBUNDLE,
    &files::NSFILEMANAGER,
    &process::NSPROCESSINFO,
    &process::NSAUTORELEASEPOOL,
    &process::NSLOCK,
    &process::NSDATE,
    &process::NSTHREAD,
    &dispatch::QUEUE,
    &dispatch::GROUP,
    &dispatch::SEMAPHORE,
];

/// Makes all classes known to the runtime.
pub fn register() {
    assay_objc::diagnostics::set_exception_maker(|name, reason| {
        error::exception(name, reason).autoreleased()
    });
    assay_objc::root::register();
    for class in CLASSES {
        class.register();
    }
    assay_objc::root::NSOBJECT
        .class
        .add_rows(string::DESCRIPTIONS);
    format::register();
    system::register();
}
