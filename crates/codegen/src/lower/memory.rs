//! Memory: where things are, how they are addressed, loads, stores and atomic operations.

pub(super) mod access;
pub(super) mod address;
pub(super) mod atomic;
pub(super) mod layout;
pub(super) mod merge;
pub(super) mod place;
