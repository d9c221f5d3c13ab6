//! The commands of the `assay` program, as a library with one entry: [`run`]. Programs in other languages call commands
//! as functions through [`api`].
//!
//! Everything that touches the terminal lives in this crate: arguments, files,
//! colour, progress and exit codes. What a command *does* is in a library crate;
//! a file under `commands/` turns arguments into a library call and the result
//! into text, JSON or HTML.
//!
//! Start reading at `app`, the table of commands, then `context`, what a
//! command is given, then any file under `commands`.

pub mod api;
mod app;
mod apple;
#[cfg(any(feature = "mcp", feature = "fleet"))]
mod child;
mod commands;
mod configuration;
mod confine;
mod context;
mod cures;
mod failure;
mod folders;
mod generate;
mod help;
mod input;
mod interrupt;
mod launch;
mod load;
mod machine;
mod model;
mod native;
mod oracle;
mod output;
mod phases;
mod platform;
mod prediction;
mod progress;
#[cfg(test)]
mod same_bytes;
#[cfg(test)]
mod schema;
mod shorthand;
mod source;
mod terminal;
mod toolchain;

pub use app::{run, status};
