//! Comparison as text.
