//! A CPU device with a clang, where there is one.

use assay_device::{Checks, CpuDevice, Settings};
use assay_front::Clang;
use assay_msl::Compiler;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// The newest clang that will do; without any, the test says so and does nothing.
fn compiler() -> Option<&'static Compiler> {
    static FOUND: OnceLock<Option<Compiler>> = OnceLock::new();
    let find = || {
        let variable = |name: &str| std::env::var_os(name).unwrap_or_default();
        let usable = assay_msl::find::find(Some(&variable("ASSAY_CLANG")), &variable("PATH"));
        if usable.is_none() {
            assay_fixtures::skip(assay_fixtures::Tool::Clang);
        }
        usable
    };
    FOUND.get_or_init(find).as_ref()
}

pub(crate) fn device() -> Option<CpuDevice> {
    with_checks(None)
}

/// One whose programs are made to be checked.
#[allow(dead_code, reason = "not every test binary checks")]
pub(crate) fn checking_device() -> Option<CpuDevice> {
    with_checks(Some(Checks {
        arithmetic: true,
        ..Checks::default()
    }))
}

fn with_checks(checks: Option<Checks>) -> Option<CpuDevice> {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("metal-headers");
    let settings = Settings {
        compiler: Some(Arc::new(Clang::new(compiler()?.clone(), cache))),
        max_steps: Some(200_000_000),
        checks,
        ..Settings::default()
    };
    Some(CpuDevice::new(settings).expect("a device"))
}
