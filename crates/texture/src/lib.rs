//! Textures as Metal defines them: pixel formats, layouts, samplers, addressing and filtering.
//!
//! Whoever runs a program holds the bytes of a texture; this crate says what they mean. A [`Format`] turns the bits of a
//! texel into four numbers and back, a [`Shape`] says which texels there are and in which order they lie in memory, a
//! [`Sampler`] and a [`Query`] name the texels a sample is made of and their weights ([`taps`]). Nothing here accesses memory, so that
//! an interpreter can report each texel to whoever watches it before it reads.
//!
//! Chosen where the specification leaves a choice: weights of filtering are single-precision numbers (a GPU's have some eight bits
//! behind the point), a sample without a level in a kernel reads level 0, layers are clamped to those there are, cubes are filtered
//! across their edges, and texels lie row by row (a GPU's order is its own).
//!
//! ```
//! use assay_texture::{Format, Query, Sampler, Shape, taps};
//! let format = Format::named("rgba8Unorm").unwrap();
//! assert_eq!(format.decode(0xff00_0080).map(f32::from_bits), [128.0 / 255.0, 0.0, 0.0, 1.0]);
//!
//! // Half way between the two texels of a row.
//! let shape = Shape::flat(2, 1);
//! let sampler: Sampler = "linear,clamp_to_edge".parse()?;
//! let taps = taps(&shape, &sampler, &Query::at([0.5, 0.5, 0.0]));
//! let weights: Vec<(u32, f32)> = taps.iter().filter_map(|tap| Some((tap.texel?.x, tap.weight))).collect();
//! assert_eq!(weights, [(0, 0.5), (1, 0.5)]);
//! # Ok::<(), String>(())
//! ```

// Library code returns errors; tests may panic.
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

mod address;
mod cube;
mod format;
mod layout;
mod sample;
mod sampler;
mod shape;
mod small_float;

pub use format::{Class, Format, PlainChannel};
pub use layout::Layout;
pub use sample::{Lod, Query, Tap, Taps, gather, taps};
pub use sampler::{Address, Border, Compare, Filter, Mip, Reduction, Sampler};
pub use shape::{Dimension, MAX_TEXELS, Shape, Texel};
