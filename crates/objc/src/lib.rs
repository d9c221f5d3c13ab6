//! An Objective-C runtime for Linux with the ABI that clang emits for `-fobjc-runtime=macosx-15` (Apple's non-fragile
//! Objective-C 2) on ELF, so that programs written for macOS find the functions and symbols they were compiled against.
//!
//! - `message`: `objc_msgSend` and its kin, which find a method and jump to it with all argument registers intact;
//! - [`mod@class`], [`selector`], [`protocol`](mod@protocol), `reflect`: what the runtime knows, and the C functions that ask it;
//! - [`object`], [`pool`], `weak`, `association`, `property`: lifetimes;
//! - [`image`]: classes and categories of compiled Objective-C files, which register themselves by a constructor;
//! - [`block`]: closures as clang lays them out;
//! - [`class!`] declares a class whose methods are Rust functions, as a table of selector, type encoding and function.
//!
//! Methods and what calls them are `extern "C-unwind"` functions, so that exceptions (`@throw`) pass through frames of Rust and run their
//! clean-ups. One that nobody catches is reported with a backtrace and ends the process. A panic in a method does so too: no frame of C
//! catches it.
//! On macOS, where the system has all this, the crate is empty.

#![cfg(not(target_os = "macos"))]
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]
// The functions of the C ABI are documented by what they implement; their contract is Apple's.
#![allow(non_snake_case, clippy::missing_safety_doc)]

pub mod association;
pub mod block;
pub mod class;
pub mod declared;
pub mod diagnostics;
pub mod exception;
pub mod image;
mod lock;
pub mod message;
pub mod object;
pub mod pool;
pub mod property;
pub mod protocol;
pub mod reflect;
pub mod root;
pub mod selector;
pub mod strong;
pub mod weak;

pub use class::{Class, Declaration, MethodRow};
pub use object::{Bool, Id, NO, Object, YES};
pub use selector::Sel;
pub use strong::Strong;

#[cfg(test)]
mod tests;
