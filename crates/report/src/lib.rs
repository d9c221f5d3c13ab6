//! How Assay's results look, whatever command they come from.
//!
//! The library crates produce plain values; this crate knows how such values are
//! laid out: the JSON envelope every command shares, text tables that fit the
//! terminal, bars, charts, self-contained HTML pages, and the rules behind findings. [`blocks`] is what a command answers, rendered
//! once each to a terminal, Markdown and HTML. This crate knows nothing about kernels, traces or chips, and it never prints.

// Library code returns errors; tests may panic.
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

pub mod bar;
pub mod blocks;
pub mod chart;
pub mod csv;
pub mod envelope;
pub mod html;
pub mod limit;
pub mod nearest;
pub mod number;
pub mod rule;
pub mod style;
pub mod table;
pub mod wrap;
