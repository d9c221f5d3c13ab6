//! Any text as a kernel's description: read, and its sizes and geometry evaluated, without a panic.
//!
//! ```text
//! cp kernels/*/*/kernel.toml fuzz/corpus/description/ && cargo +nightly fuzz run description
//! ```

#![no_main]

use assay_bench::registry::{Case, Registry};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let files = [
        ("common/any/kernel.toml", text),
        ("common/any/any.metal", "kernel void any() {}"),
    ];
    let Ok(registry) = Registry::from_files(files) else {
        return;
    };
    for kernel in registry.kernels() {
        for set in ["quick", "odd", "reference", "held-out"] {
            for dtype in &kernel.dtypes {
                let _ = Case::new(kernel, set, *dtype);
            }
        }
    }
});
