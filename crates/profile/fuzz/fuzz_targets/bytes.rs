//! Any bytes as a program.
#![no_main]

mod check;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, u16, &[u8], &[u8])| {
    let (choices, entry, constant_program, code) = input;
    let entry = if choices & 128 != 0 { u32::from(entry) } else { 0 };
    check::check(choices, code, constant_program, entry);
});
