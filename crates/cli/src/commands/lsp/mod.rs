//! `assay lsp`: Metal sources in an editor.
//!
//! Three threads share the open documents (`assay_lsp::server`): the one that reads messages never waits for anything
//! ([`server`]), one compiles and profiles the newest version of a document when it has been left alone for a moment
//! ([`analyst`]), and one does what the user asks for: runs with checks and rewritings ([`errands`]). What is shown is made by
//! the crate `assay-lsp`.

mod analyse;
mod analyst;
mod errands;
mod pages;
mod server;

use crate::context::Context;
use crate::failure::{CommandResult, Outcome};

/// Serve Metal sources to an editor (Language Server Protocol, on standard input and output)
///
/// For .metal files: errors of the compiler, findings of the profile with their manual pages, share of cost and live registers
/// at ends of lines, registers, occupancy and predicted time at the kernel's name, instructions of a line when the cursor
/// rests, a lens that runs the kernel with checks, and actions that apply recipes. A comment `// assay: launch KERNEL …`
/// gives predicted times, runs and recipes. All costs are modelled.
///
/// Settings (section assay): chip, launch, defines, includeFolders, hints.kernels, hints.lines, maxKernels,
/// debounceMilliseconds. The guide shows how Neovim, Helix, Zed, Emacs and VS Code start it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  assay lsp

Neovim:
  vim.lsp.config('assay', { cmd = { 'assay', 'lsp' }, filetypes = { 'metal' } })

Helix says with hx --health metal whether it found the program.")]
pub(crate) struct Args {
    /// Accepted because editors add it: there is no other way
    #[arg(long)]
    stdio: bool,
}

pub(crate) fn run(_: &Args, _: &Context) -> CommandResult {
    server::serve()?;
    Ok(Outcome::Fine)
}
