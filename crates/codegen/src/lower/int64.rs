//! Integers of 64 bits, mostly made of instructions on 32.

pub(super) mod arithmetic;
pub(super) mod builtins;
pub(super) mod convert;
