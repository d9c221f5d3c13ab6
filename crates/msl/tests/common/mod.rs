//! Compilers and a cache folder for the tests.

use assay_msl::Compiler;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Every clang that will do: the one `ASSAY_CLANG` names, else all `clang-NN` and `clang`
/// on the path. Without any, the test says so and does nothing.
pub(crate) fn compilers() -> Vec<Compiler> {
    let mut programs: Vec<PathBuf> = std::env::var_os("ASSAY_CLANG")
        .map(PathBuf::from)
        .into_iter()
        .collect();
    if programs.is_empty() {
        let path = std::env::var_os("PATH").unwrap_or_default();
        for folder in std::env::split_paths(&path) {
            let names = (17..40)
                .map(|n| format!("clang-{n}"))
                .chain(["clang".to_owned()]);
            programs.extend(
                names
                    .map(|name| folder.join(name))
                    .filter(|path| path.is_file()),
            );
        }
    }
    let mut found: Vec<Compiler> = Vec::new();
    for program in programs {
        let mut compiler = Compiler::new(program);
        compiler.identity = compiler.version().unwrap_or_default();
        let known = found
            .iter()
            .any(|other| other.identity == compiler.identity);
        if !known && compiler.probe().is_ok() {
            found.push(compiler);
        }
    }
    if found.is_empty() {
        assay_fixtures::skip(assay_fixtures::Tool::Clang);
    }
    found
}

/// A cache folder that stays for the next run.
#[allow(dead_code, reason = "not every test file uses it")]
pub(crate) fn shared_cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("metal-headers")
}

/// A cache folder that goes away.
#[allow(dead_code, reason = "not every test file uses it")]
#[derive(Debug)]
pub(crate) struct Cache(PathBuf);

#[allow(dead_code, reason = "not every test file uses it")]
impl Cache {
    pub(crate) fn new() -> Cache {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("assay-msl-test-{}-{number}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).expect("a folder");
        Cache(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
