//! Any text as a program: read, verified, printed, read again and optimised without a panic.
//!
//! ```text
//! cp tests/filetests/*.ssa fuzz/corpus/text/ && cargo +nightly fuzz run text
//! ```

#![no_main]

use assay_ssa::{parse, print, verify};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(mut module) = parse(text) else {
        return;
    };
    let first = print(&module);
    if verify(&module).is_err() {
        return;
    }
    let again = parse(&first).expect("the printer's own text");
    assert_eq!(print(&again), first);
    let _ = assay_opt::pipeline::optimize(&mut module);
});
