//! The compiler in a sandbox of the operating system: it reads our headers, the files a source may include and what it is
//! itself made of, writes nothing but its pipes, starts no other program and has no network.
//!
//! On Linux these are Landlock (files) and seccomp (system calls), both set in the thread that starts the compiler
//! ([`linux`]); on macOS a profile for `sandbox-exec` ([`macos`]). Where a system has neither, the rules for texts
//! ([`crate::text_rules`], [`crate::overlay`]) hold alone, and [`sandbox`] says so.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(target_os = "macos", test))]
mod macos;
#[cfg(any(target_os = "linux", target_os = "macos", test))]
mod toolchain;

use crate::compiler::Compiler;
use std::path::PathBuf;
use std::process::{Child, Command};

/// What one run of the compiler may read beside itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Whatever its user may.
    Everything,
    /// Files and folders.
    Only(Vec<PathBuf>),
}

/// What the operating system offers to confine the compiler with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sandbox {
    /// In words: `Landlock (version 7) and seccomp`.
    Present(String),
    /// Why there is none.
    Missing(String),
}

/// The sandbox of this machine, tried once.
pub fn sandbox() -> &'static Sandbox {
    static FOUND: std::sync::OnceLock<Sandbox> = std::sync::OnceLock::new();
    FOUND.get_or_init(|| {
        #[cfg(target_os = "linux")]
        let found = linux::find();
        #[cfg(target_os = "macos")]
        let found = macos::find();
        #[cfg(not(any(target_os = "linux", target_os = "macos")))]
        let found = Sandbox::Missing("no sandbox of this system is known".to_owned());
        found
    })
}

/// Returns true if runs of this compiler are confined.
pub(crate) fn confines(compiler: &Compiler) -> bool {
    compiler.confined && matches!(sandbox(), Sandbox::Present(_))
}

/// Starts the compiler, confined where the system can.
pub(crate) fn spawn(
    mut command: Command,
    compiler: &Compiler,
    access: &Access,
) -> std::io::Result<Child> {
    if !confines(compiler) {
        return command.spawn();
    }
    #[cfg(target_os = "linux")]
    return linux::spawn(command, compiler, access);
    #[cfg(target_os = "macos")]
    return macos::confined(
        command,
        compiler,
        access,
        std::path::Path::new(macos::PROGRAM),
    )
    .spawn();
    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    {
        let _ = access;
        command.spawn()
    }
}
