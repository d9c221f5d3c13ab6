//! Bitcode wrappers.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(module) = assay_container::bitcode::parse(bytes) {
        let start = module.offset as usize;
        assert_eq!(&bytes[start..start + module.bitstream.len()], module.bitstream);
    }
});
