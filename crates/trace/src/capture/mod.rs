//! `.gputrace` capture bundles.

pub(crate) mod text;

/// A capture.
#[derive(Clone, Debug, Default)]
pub struct Capture {}
