//! Any bytes as bitcode: read, lowered, verified and optimised without a panic.
//!
//! ```text
//! cp tests/fixtures/*.bc fuzz/corpus/bitcode/ && cargo +nightly fuzz run bitcode
//! ```

#![no_main]

use assay_air::{Options, llvm, lower};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(modules) = llvm::read(bytes) else {
        return;
    };
    for module in &modules {
        let Ok(mut program) = lower(module, &Options::default()) else {
            continue;
        };
        if assay_ssa::verify(&program).is_ok() && assay_opt::pipeline::optimize(&mut program).is_ok() {
            // A store to constant memory shows only when pointers have been traced.
            let _ = assay_ssa::verify(&program);
        }
    }
});
