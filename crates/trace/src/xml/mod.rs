//! `xctrace export` XML, read as a stream.
//!
//! An export is one or more tables. Each has a schema (its columns) and rows whose
//! cells stand in the order of the columns. A value is written out once, with an
//! `id`; later cells point back to it with `ref`. Ids run from 1 to N in document
//! order, so definitions are found by index. Most of them are never referred to
//! again: for large files a first pass ([`reader::referenced_ids`]) finds the ones
//! that are, and only those are kept.

pub(crate) mod builder;
mod fallback;
pub(crate) mod header;
pub(crate) mod reader;
mod scan;
pub(crate) mod slot;
mod tag;
pub(crate) mod text;
