//! `.gputrace` capture bundles.

/// A capture.
#[derive(Clone, Debug, Default)]
pub struct Capture {}
