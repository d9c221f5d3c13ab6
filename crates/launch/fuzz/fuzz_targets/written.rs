//! Any text as a launch: read, shown, read again, and evaluated without a panic.

#![no_main]

use assay_launch::{NoFiles, Sizes, Written};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok((_, mut written)) = Written::parse(text) else {
        return;
    };
    let shown = written.to_string();
    let (_, again) = Written::parse(&shown).expect("what is shown is a launch");
    assert_eq!(shown, again.to_string());
    let sizes = written.first_sizes().unwrap_or_else(|_| Sizes::new());
    let _ = written.geometry(&sizes);
    let _ = written.resolve("kernel", &[]);
    if let Ok(inputs) = written.inputs(&[], &sizes, &NoFiles) {
        let _ = inputs.fits();
    }
});
