//! The example kernels, compiled from source and compared with plain references.

mod common;
mod elementwise;
mod matrices;
