//! A CPU device with a clang, where there is one.

use assay_device::{CpuDevice, Settings};
use assay_front::Clang;
use assay_msl::Compiler;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The newest clang that will do; without any, the test says so and does nothing.
fn compiler() -> Option<&'static Compiler> {
    static FOUND: OnceLock<Option<Compiler>> = OnceLock::new();
    let find = || {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let names = (17..40).rev().map(|n| format!("clang-{n}"));
        let names: Vec<String> = names.chain(["clang".to_owned()]).collect();
        let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
        let on_path = names
            .iter()
            .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
        let given = std::env::var_os("ASSAY_CLANG").map(PathBuf::from);
        let found = given
            .into_iter()
            .chain(on_path)
            .filter(|path| path.is_file());
        let usable = found
            .map(|program| {
                let mut compiler = Compiler::new(program);
                compiler.identity = compiler.version().unwrap_or_default();
                compiler
            })
            .find(|compiler| compiler.probe().is_ok());
        if usable.is_none() {
            assay_fixtures::skip(assay_fixtures::Tool::Clang);
        }
        usable
    };
    FOUND.get_or_init(find).as_ref()
}

pub(crate) fn device() -> Option<CpuDevice> {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("metal-headers");
    let settings = Settings {
        compiler: Some(Arc::new(Clang::new(compiler()?.clone(), cache))),
        max_steps: Some(200_000_000),
        ..Settings::default()
    };
    Some(CpuDevice::new(settings).expect("a device"))
}
