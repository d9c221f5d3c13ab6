//! One file per command.
//!
//! A command is a clap `Args` struct, whose comments are its help, and a function
//! `run(&Args, &Context) -> CommandResult`. [`crate::app`] lists them.

pub(crate) mod chips;
pub(crate) mod completions;
pub(crate) mod inspect;
pub(crate) mod ir;
pub(crate) mod man;
