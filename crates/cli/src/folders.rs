//! Where a user's files are kept, by the conventions of the system.

use crate::platform::Platform;
use std::path::PathBuf;

/// An environment variable that is set to something.
pub(crate) fn variable(name: &str) -> Option<PathBuf> {
    let value = std::env::var_os(name).filter(|value| !value.is_empty());
    value.map(PathBuf::from)
}

/// The folder for what can be made again; `None` where there is no home.
pub(crate) fn cache() -> Option<PathBuf> {
    of("Library/Caches", "XDG_CACHE_HOME", ".cache")
}

/// The folder for what is to stay; `None` where there is no home.
pub(crate) fn data() -> Option<PathBuf> {
    of(
        "Library/Application Support",
        "XDG_DATA_HOME",
        ".local/share",
    )
}

fn of(macos: &str, xdg: &str, unix: &str) -> Option<PathBuf> {
    let home = variable("HOME");
    if Platform::here().is_mac() {
        home.map(|home| home.join(macos))
    } else if cfg!(windows) {
        variable("LOCALAPPDATA")
    } else {
        variable(xdg).or_else(|| home.map(|home| home.join(unix)))
    }
}
