//! Across the threads of a simdgroup or quad.

pub(super) mod fill;
pub(super) mod matrix;
pub(super) mod reduce;
pub(super) mod shuffle;
pub(super) mod steps;
pub(super) mod vote;
