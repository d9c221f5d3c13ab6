//! What a sweep needs of the machine it runs on.

use crate::{Environment, Failure};
use assay_board::Setting;
use assay_device::{Origin, Settings};
use assay_engine::Workspace;
use assay_front::Compiler;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Whoever hears how far a sweep is.
pub trait Listener {
    /// A remark for people.
    fn note(&self, text: &str);
    /// A kernel begins, so many of so many are finished.
    fn kernel(&self, name: &str, done: usize, total: usize);
}

/// A clang, and its identity.
pub type Clang = (Arc<dyn Compiler>, assay_msl::Compiler);

/// The surroundings of a sweep.
pub struct World<'a> {
    /// Compiles sources, and says whether to stop.
    pub workspace: Workspace,
    /// What sources are compiled with; asked for when a device needs it.
    pub clang: fn() -> Result<Clang, Failure>,
    /// Settings of a CPU device for the user's own kernels.
    pub cpu: fn() -> Settings,
    /// The folder of caches.
    pub cache: fn() -> PathBuf,
    /// The text of a file that a source includes.
    pub read: fn(&Path) -> Option<String>,
    /// Where a sweep on a device of this name runs.
    pub environment: fn(Origin, &str, Option<&assay_msl::Compiler>) -> Environment,
    /// The same in the words of the board.
    pub setting: fn(Origin, Option<&assay_msl::Compiler>) -> Setting,
    /// Seconds since 1970.
    pub now: fn() -> u64,
    /// Returns true on a Mac.
    pub is_mac: bool,
    /// Who hears how far it is.
    pub listener: &'a dyn Listener,
}

impl World<'_> {
    /// Returns true if the user wants it to stop.
    pub fn is_stopped(&self) -> bool {
        let cancel = self.workspace.cancel.as_ref();
        cancel.is_some_and(|flag| flag.load(Ordering::SeqCst))
    }

    /// The steps of making code, told as they begin.
    pub(crate) fn phases(&self) -> assay_engine::Phases {
        assay_engine::Phases::told(self.workspace.begun)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use assay_front::Clang as Child;
    use assay_launch::NoFiles;

    struct Silent;

    impl Listener for Silent {
        fn note(&self, _: &str) {}
        fn kernel(&self, _: &str, _: usize, _: usize) {}
    }

    fn clang() -> Result<(Arc<dyn Compiler>, assay_msl::Compiler), Failure> {
        let chosen = std::env::var_os(assay_msl::find::CHOSEN);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let found = assay_msl::find::find(chosen.as_deref(), &path);
        let found = found.ok_or_else(|| Failure::input("no clang"))?;
        Ok((Arc::new(Child::new(found.clone(), cache())), found))
    }

    fn cache() -> PathBuf {
        std::env::temp_dir().join("assay-sweep-tests")
    }

    /// What kernels are compiled and predicted with in tests.
    pub(crate) fn workspace() -> Workspace {
        Workspace::new(clang().unwrap().0, Arc::new(NoFiles))
    }

    /// A machine of which nothing is known.
    pub(crate) fn world() -> World<'static> {
        World {
            workspace: workspace(),
            clang,
            cpu: Settings::default,
            cache,
            read: |_| None,
            environment: |_, _, _| Environment::unknown(),
            setting: |_, _| unreachable!("nothing is saved"),
            now: || 0,
            is_mac: false,
            listener: &Silent,
        }
    }
}
