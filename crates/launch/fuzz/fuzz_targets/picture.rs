//! Any bytes as a PNG file: read without a panic and within the limit of memory, and a picture that was read is written and
//! read back the same.

#![no_main]

use assay_launch::picture::Picture;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(picture) = Picture::parse(bytes) else {
        return;
    };
    let again = Picture::parse(&picture.to_bytes().expect("a picture that was read"));
    assert_eq!(again.expect("the writer's own bytes"), picture);
});
