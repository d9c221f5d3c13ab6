//! Ctrl-C: unfinished files are removed, then the program ends with status 130.
//!
//! Long work that wants to stop by itself asks [`requested`] instead: a second
//! Ctrl-C ends the program at once.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

static REQUESTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);
static COOPERATIVE: AtomicBool = AtomicBool::new(false);
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Status a shell expects of a program ended by Ctrl-C.
const STATUS: i32 = 130;

/// Installs the handler; without it Ctrl-C simply ends the program.
pub(crate) fn install() {
    // An error means a handler exists already, which only happens in odd hosts.
    let _ = ctrlc::set_handler(|| {
        let again = REQUESTED.swap(true, Ordering::SeqCst);
        if COOPERATIVE.load(Ordering::SeqCst) && !again {
            return;
        }
        if let Ok(paths) = UNFINISHED.lock() {
            for path in paths.iter() {
                let _ = std::fs::remove_file(path).or_else(|_| std::fs::remove_dir_all(path));
            }
        }
        #[allow(clippy::exit, reason = "the one place where a signal ends the program")]
        std::process::exit(STATUS);
    });
}

/// Removes `path`, a file or a folder, if the program is interrupted.
pub(crate) fn remove_on_interrupt(path: &Path) {
    if let Ok(mut paths) = UNFINISHED.lock() {
        paths.push(path.to_owned());
    }
}

/// From now on the first Ctrl-C only sets a flag that [`requested`] reads.
pub(crate) fn cooperate() {
    COOPERATIVE.store(true, Ordering::SeqCst);
}

/// From now on Ctrl-C ends the program again, and what was requested is forgotten.
pub(crate) fn stop_cooperating() {
    COOPERATIVE.store(false, Ordering::SeqCst);
    request(false);
}

/// Asks whatever looks at the flag to stop, or takes that back: for programs with a signal handler of their own.
pub(crate) fn request(stop: bool) {
    REQUESTED.store(stop, Ordering::SeqCst);
}

/// Whether Ctrl-C was pressed.
pub(crate) fn requested() -> bool {
    REQUESTED.load(Ordering::SeqCst)
}

/// The flag [`requested`] reads, for those who look at it themselves.
pub(crate) fn flag() -> Arc<AtomicBool> {
    Arc::clone(&REQUESTED)
}
