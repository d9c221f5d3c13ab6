//! Any bytes as somebody's results: read without a panic, and the same bytes give the same claims.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(read) = assay_board::import::read(bytes) {
        assert_eq!(assay_board::import::read(bytes).ok(), Some(read));
    }
});
