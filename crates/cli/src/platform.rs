//! The system a command works on, as a value: what only a Mac does is tested on any machine with stand-ins for its tools.

use std::path::PathBuf;

/// Names the system in place of this one, for tests: `macos`, or anything else for a system without Apple's tools.
const VARIABLE: &str = "ASSAY_PLATFORM";

/// A system, as far as flows differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Platform {
    /// macOS, with Apple's tools or without.
    Mac,
    /// Any other.
    Other,
}

impl Platform {
    /// The one this process runs on.
    pub(crate) fn here() -> Platform {
        let mac = match std::env::var_os(VARIABLE) {
            Some(name) => name == "macos",
            None => cfg!(target_os = "macos"),
        };
        if mac { Platform::Mac } else { Platform::Other }
    }

    pub(crate) fn is_mac(self) -> bool {
        self == Platform::Mac
    }
}

/// A tool of the system: the one on the path, else where macOS has it, since services run with a path of their own.
pub(crate) fn system_tool(name: &str) -> PathBuf {
    let folders: Vec<PathBuf> = std::env::var_os("PATH")
        .map(|path| std::env::split_paths(&path).collect())
        .unwrap_or_default();
    assay_msl::find::on_path(&folders, name)
        .unwrap_or_else(|| PathBuf::from("/usr/sbin").join(name))
}
