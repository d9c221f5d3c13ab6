//! Metal source to AIR-like bitcode, without a Mac.
//!
//! Apple's Metal compiler is clang with a library of its own. So is this one: a
//! [`Compiler`] (a clang that someone found), our own `metal_stdlib` whose functions
//! carry Apple's `air.*` names, and between them a pass over tokens that turns what
//! only Metal knows (address spaces, attributes, kernels, function constants) into C++.
//!
//! ```text
//! source ──clang -E──▶ tokens ──rewrite──▶ C++ ──clang + precompiled library──▶ bitcode
//! ```
//!
//! - [`compile`] does all of it; [`Error::Source`] holds errors at the user's own
//!   file, line and column.
//! - [`kernel_info`] defines how the bitcode describes its kernels.
//! - The files under `include/` are the library.
//!
//! What differs from Apple's AIR: pointers have no address space (it is inferred later
//! from what they point to), matrices are two scalars per thread instead of a
//! 64-element vector, positions are builtin calls instead of parameters.

// Library code returns errors; tests may panic.
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

pub mod apple_rules;
mod arguments;
mod attributes;
pub mod beneath;
mod cache;
mod casts;
mod compiler;
mod components;
mod confine;
mod constants;
mod diagnostic;
mod dispatch;
mod driver;
pub mod find;
mod flags;
mod headers;
pub mod kernel_info;
mod kernels;
mod labels;
mod lexer;
mod limits;
mod link;
mod literals;
mod locate;
mod members;
#[cfg(target_arch = "wasm32")]
pub mod memory;
mod outline;
mod overlay;
mod overloads;
mod parameter;
mod patch;
mod pragmas;
mod program_scope;
mod rewrite;
mod sandbox;
mod spaces;
mod specification;
mod stages;
mod standard;
mod templates;
mod text_rules;
mod turn;
mod vector_sizes;

pub use arguments::is_macro;
pub use compiler::{Compiler, Refusal};
pub use diagnostic::{Diagnostic, Note, Place};
pub use driver::{
    Compiled, Emit, Error, Options, Source, compile, rewritten_text, rewritten_tokens,
};
pub use headers::is_own_header;
pub use limits::Limits;
pub use sandbox::{Sandbox, sandbox};
pub use stages::StageFunction;
pub use standard::Standard;
