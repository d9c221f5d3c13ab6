//! Integers of up to 32 bits.

pub(super) mod arithmetic;
pub(super) mod bits;
pub(super) mod builtins;
pub(super) mod divide;
pub(super) mod overflow;
