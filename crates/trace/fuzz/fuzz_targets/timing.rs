//! JSON recordings of the timing library.
#![no_main]

use assay_trace::{LoadOptions, Loader, Options, analyze};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut loader = Loader::new(LoadOptions::default());
    if loader.add("input", &data, &mut |_| {}).is_ok()
        && let Ok(recording) = loader.finish()
    {
        let _ = analyze(&recording, &Options::default());
    }
});
