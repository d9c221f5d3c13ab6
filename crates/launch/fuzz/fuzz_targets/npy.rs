//! Any bytes as a NumPy file: read without a panic, and an array that was read is written and read back the same.

#![no_main]

use assay_launch::npy::Array;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(array) = Array::parse(bytes) else {
        return;
    };
    let again = Array::parse(&array.to_bytes()).expect("the writer's own bytes");
    assert_eq!(again.to_bytes(), array.to_bytes());
});
