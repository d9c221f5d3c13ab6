//! Any bytes as bitcode: read, lowered and verified without a panic.
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
        if let Ok(program) = lower(module, &Options::default()) {
            let _ = assay_ssa::verify(&program);
        }
    }
});
