//! Programs in SSA form, without a Metal compiler.

mod apple_builtins;
mod author;
mod differ;
mod folding;
mod random;
