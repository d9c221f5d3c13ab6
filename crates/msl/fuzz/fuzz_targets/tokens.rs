//! Any text through the pass over tokens: no panic, whatever is unbalanced or cut off.
//!
//! ```text
//! cp tests/kernels/*.metal fuzz/corpus/tokens/ && cargo +nightly fuzz run tokens
//! ```

#![no_main]

use assay_msl::rewritten_tokens;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = rewritten_tokens(text);
});
