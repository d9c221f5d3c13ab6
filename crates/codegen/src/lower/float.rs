//! Floats: arithmetic, their bits, composed mathematics.

pub(super) mod arithmetic;
pub(super) mod bits;
pub(super) mod far_angle;
pub(super) mod math;
pub(super) mod remainder;
