//! The example kernels, compiled from source and compared with plain references.

mod common;
mod elementwise;
mod faults;
mod groups;
mod integers;
mod matrices;
mod more;
