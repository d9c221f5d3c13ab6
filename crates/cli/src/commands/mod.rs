//! One file per command.
//!
//! A command is a clap `Args` struct, whose comments are its help, and a function
//! `run(&Args, &Context) -> CommandResult`. [`crate::app`] lists them.

pub(crate) mod asm;
pub(crate) mod attempts;
pub(crate) mod bench;
pub(crate) mod board;
pub(crate) mod calibrate;
pub(crate) mod chips;
pub(crate) mod compile;
pub(crate) mod completions;
pub(crate) mod decompile;
pub(crate) mod diff;
pub(crate) mod disasm;
pub(crate) mod doctor;
pub(crate) mod emu;
pub(crate) mod explain;
#[cfg(feature = "fleet")]
pub(crate) mod fleet;
pub(crate) mod gate;
pub(crate) mod inspect;
pub(crate) mod ir;
pub(crate) mod launch;
pub(crate) mod lsp;
pub(crate) mod man;
#[cfg(feature = "mcp")]
pub(crate) mod mcp;
pub(crate) mod metal;
pub(crate) mod predict;
pub(crate) mod profile;
pub(crate) mod rewrite;
pub(crate) mod run;
pub(crate) mod trace;
pub(crate) mod tune;
pub(crate) mod write;
