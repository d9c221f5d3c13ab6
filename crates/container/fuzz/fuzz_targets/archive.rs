//! Fat archives.
#![no_main]

use assay_container::{View, fat::Archive};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(archive) = Archive::read(View::new(bytes)) {
        for image in archive.images() {
            for function in &image.functions {
                let _ = function.to_program();
            }
        }
        let _ = archive.metallibs().count();
    }
});
