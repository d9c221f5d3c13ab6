//! GPU metadata FlatBuffers.
#![no_main]

use assay_container::{View, metadata::Metadata};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(metadata) = Metadata::read(View::new(bytes)) {
        let _ = metadata.strings().count();
    }
});
