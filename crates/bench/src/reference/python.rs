//! The references that come with the project, and the caller of oracles in Python: small programs, carried in this one.

use super::{Error, Process};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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

    /// What installs it, on a Mac or elsewhere.
    pub const fn package(self, on_mac: bool) -> &'static str {
        match self {
            Self::Mlx if on_mac => "mlx",
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

/// The oracle's side: calls a NumPy function.
const ORACLE: (&str, &str) = (
    "numpy_oracle.py",
    include_str!("../../runner/numpy_oracle.py"),
);

/// The Python that can import a module: the one of `ASSAY_PYTHON`, or the first on the path that can.
pub fn interpreter(module: &str) -> Option<PathBuf> {
    let candidates: Vec<PathBuf> = match std::env::var_os("ASSAY_PYTHON") {
        Some(given) => vec![PathBuf::from(given)],
        None => {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
            let named = |name: &'static str| folders.iter().map(move |folder| folder.join(name));
            let mut found = named("python3").chain(named("python"));
            found.by_ref().filter(|path| path.is_file()).collect()
        }
    };
    candidates.into_iter().find(|python| {
        let mut probe = inline(python, &format!("import {module}"));
        let probe = probe.stdin(Stdio::null()).stdout(Stdio::null());
        let status = probe.stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    })
}

/// Python with a line of its own. It looks for modules in the folder where it stands first, which may be a stranger's:
/// it stands at the root.
pub fn inline(python: &Path, line: &str) -> Command {
    // A name without a folder is looked for on the path.
    let is_path = python.components().count() > 1;
    let whole = std::path::absolute(python).ok().filter(|_| is_path);
    let mut command = Command::new(whole.unwrap_or_else(|| python.to_owned()));
    command.args(["-c", line]);
    if cfg!(unix) {
        command.current_dir("/");
    }
    command
}

/// Starts an oracle: the text of a Python file that defines `oracle(…)`.
pub(crate) fn start_oracle(file: &str, text: &str, folder: &Path) -> Result<Process, Error> {
    let gone = |why: String| Error::Gone {
        name: file.to_owned(),
        why,
    };
    let python = interpreter("numpy").ok_or_else(|| {
        gone("no Python here can import numpy: pip install numpy, or ASSAY_PYTHON=…".to_owned())
    })?;
    let own = ("oracle.py", text);
    for (name, text) in [PROTOCOL, ORACLE, own] {
        std::fs::write(folder.join(name), text).map_err(|error| gone(error.to_string()))?;
    }
    let mut command = Command::new(python);
    command
        .arg("-B")
        .arg(folder.join(ORACLE.0))
        .arg(folder.join(own.0));
    Process::start(command, folder)
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

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn modules_are_not_looked_for_where_this_program_stands() {
        let line = "import os, sys; print(os.getcwd(), sys.path[0] in ('', '/'))";
        let output = inline(Path::new("python3"), line).output();
        // Not every machine has one.
        let Ok(output) = output else { return };
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.starts_with("/ "), "{said}");
    }
}
