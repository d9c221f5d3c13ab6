//! Numbers as Apple GPUs treat them.

mod convert;

pub use convert::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};
