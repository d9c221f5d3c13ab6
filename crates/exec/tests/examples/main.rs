//! The example kernels, compiled from source and compared with plain references.

mod check;
mod common;
mod copies;
mod count;
mod elementwise;
mod faults;
mod features;
mod groups;
mod integers;
mod matrices;
mod more;
mod planted;
mod races;
mod residents;
mod simd;
mod step;
mod sums;
mod tensors;
mod textures;
mod turns;
