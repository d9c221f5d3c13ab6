//! The control tree as blocks with mask instructions.

pub(super) mod cost;
pub(super) mod emit;
pub(super) mod exits;
pub(super) mod shape;
