//! The report as HTML.
