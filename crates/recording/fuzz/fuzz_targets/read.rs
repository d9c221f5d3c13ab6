//! Recordings: the bytes as they are, and as the records of a frame whose checksum is right.
#![no_main]

use assay_recording::{MAGIC, Reader, VERSION};
use libfuzzer_sys::fuzz_target;

fn read(file: &[u8]) {
    if let Ok(mut reader) = Reader::new(file) {
        while let Ok(Some(_)) = reader.next_event() {}
    }
}

fuzz_target!(|data: &[u8]| {
    read(data);
    let hash = data.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let checksum = (hash ^ hash >> 32) as u32;
    let length = (data.len() as u32).to_le_bytes();
    let head: [&[u8]; 4] = [MAGIC, &[VERSION], &length, &checksum.to_le_bytes()];
    read(&[&head.concat(), data].concat());
});
