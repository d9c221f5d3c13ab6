//! The board: `assay bench` saves to it.

pub(crate) mod location;
pub(crate) mod save;
pub(crate) mod setting;
