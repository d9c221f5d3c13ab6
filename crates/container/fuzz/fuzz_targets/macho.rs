//! Mach-Os, and images of GPU code.
#![no_main]

use assay_container::{View, image::Image, macho::MachO};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let view = View::new(bytes);
    if let Ok(macho) = MachO::read(view) {
        assert!(macho.extent <= bytes.len() as u64);
        for section in &macho.sections {
            assert!(section.data.range().end <= bytes.len() as u64);
        }
    }
    let _ = Image::read(view);
});
