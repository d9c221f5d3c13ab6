//! The references that come with the project: small Python programs, carried in this one.

use super::{Error, Process};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The protocol's other side, shared by the programs.
const PROTOCOL: (&str, &str) = (
    "assay_reference.py",
    include_str!("../../runner/assay_reference.py"),
);

/// A library with operations of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// Apple's array framework.
    Mlx,
    /// PyTorch.
    Torch,
}

/// How a library is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// Which one.
    pub library: Library,
    /// Through its compiler (`mx.compile`, `torch.compile`) rather than operation by operation.
    pub compiled: bool,
    /// On the CPU, though there may be a GPU.
    pub cpu: bool,
}

impl Library {
    /// The module that Python must find.
    pub const fn module(self) -> &'static str {
        match self {
            Self::Mlx => "mlx.core",
            Self::Torch => "torch",
        }
    }

    /// What installs it.
    pub const fn package(self) -> &'static str {
        match self {
            Self::Mlx if cfg!(target_os = "macos") => "mlx",
            Self::Mlx => "'mlx[cpu]'",
            Self::Torch => "torch",
        }
    }

    const fn program(self) -> (&'static str, &'static str) {
        match self {
            Self::Mlx => (
                "mlx_reference.py",
                include_str!("../../runner/mlx_reference.py"),
            ),
            Self::Torch => (
                "torch_reference.py",
                include_str!("../../runner/torch_reference.py"),
            ),
        }
    }
}

/// Starts a library with a Python that has it. Programs and data are put into a folder, which must be there and ours.
pub fn start(python: &Path, use_: Use, folder: &Path) -> Result<Process, Error> {
    let (name, _) = use_.library.program();
    let path: PathBuf = folder.join(name);
    for (name, text) in [PROTOCOL, use_.library.program()] {
        std::fs::write(folder.join(name), text).map_err(|error| Error::Gone {
            name: name.to_owned(),
            why: error.to_string(),
        })?;
    }
    let mut command = Command::new(python);
    command.arg("-B").arg(path);
    command.args(use_.compiled.then_some("--compiled"));
    command.args(use_.cpu.then_some("--cpu"));
    Process::start(command, folder)
}
