//! Any bytes as a random kernel: it computes the same optimised or not, at every SIMD level, checked or not.
#![no_main]

#[path = "../../tests/programs/author.rs"]
mod author;
#[path = "../../tests/programs/differ.rs"]
#[allow(dead_code, reason = "shared with the tests")]
mod differ;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = author::kernel(bytes);
    if let Err(what) = differ::difference(&text, author::OWN_WORDS, author::SHARED_WORDS) {
        panic!("{what}\n{text}");
    }
});
