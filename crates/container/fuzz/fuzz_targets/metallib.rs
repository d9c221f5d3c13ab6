//! Metallibs: every range that is handed out lies inside the file.
#![no_main]

use assay_container::mtlb::Metallib;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(library) = Metallib::parse(bytes) else {
        return;
    };
    for function in library.functions() {
        if let Some(bitcode) = function.bitcode {
            let start = function.bitcode_offset as usize;
            assert_eq!(&bytes[start..start + bitcode.len()], bitcode);
        }
        let _ = function.public_metadata().map(Iterator::count);
        let _ = function.private_metadata().map(Iterator::count);
        let _ = function.source_path();
    }
    let _ = (library.uuid(), library.sources(), library.extension().count());
});
