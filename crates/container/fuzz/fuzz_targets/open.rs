//! Anything at all, and everything that can be asked of what it turns out to be.
#![no_main]

use assay_container::open;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let contents = match open(bytes) {
        Ok(contents) => contents,
        Err(error) => {
            assert!(error.offset <= bytes.len() as u64, "{error}");
            let _ = (error.to_string(), error.advice());
            return;
        }
    };
    for metallib in contents.metallibs() {
        let _ = (metallib.uuid(), metallib.sources());
        for function in metallib.functions() {
            let _ = function.source_path();
            let _ = function.public_metadata().map(Iterator::count);
        }
    }
    let _ = (contents.program(None), contents.program(Some("add")));
    for function in contents.compiled() {
        let _ = function.to_program();
        for part in &function.parts {
            assert_eq!(function.bytes_of(part).len(), part.range.len());
        }
    }
});
