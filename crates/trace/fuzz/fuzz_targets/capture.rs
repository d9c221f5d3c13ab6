//! Capture bundles: the input is cut into the members of a bundle.
#![no_main]

use assay_trace::{Options, analyze, read_capture};
use libfuzzer_sys::fuzz_target;
use std::collections::BTreeMap;

const MEMBERS: [&str; 4] = ["index", "store0", "unsorted-capture", "device-resources-0x1"];

fuzz_target!(|data: &[u8]| {
    let mut bundle = BTreeMap::new();
    let mut rest = data;
    for name in MEMBERS {
        let Some((length, after)) = rest.split_first_chunk::<2>() else {
            break;
        };
        let length = usize::from(u16::from_le_bytes(*length)).min(after.len());
        let (bytes, next) = after.split_at(length);
        bundle.insert(name.to_owned(), bytes.to_vec());
        rest = next;
    }
    if let Ok(recording) = read_capture(&bundle) {
        let _ = analyze(&recording, &Options::default());
    }
});
