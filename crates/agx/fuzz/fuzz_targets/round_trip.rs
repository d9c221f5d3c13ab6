//! Any bytes: their exact text and their listing assemble to the same bytes.
#![no_main]

use assay_agx::{Instruction, Isa, Item, assemble, walk};
use libfuzzer_sys::fuzz_target;
use std::fmt::Write;

fuzz_target!(|code: &[u8]| {
    for isa in [Isa::G13, Isa::G15] {
        check(isa, code);
    }
});

fn check(isa: Isa, code: &[u8]) {
    let mut listing = String::new();
    for (offset, item) in walk(isa, code) {
        let _ = write!(listing, "{offset:x}: ");
        for byte in &code[offset as usize..][..item.len()] {
            let _ = write!(listing, "{byte:02x}");
        }
        let _ = match item {
            Item::Known(insn) => {
                let text = insn.text(offset);
                assert_eq!(Instruction::parse(isa, &text, offset), Ok(insn), "{text}");
                writeln!(listing, " {}", insn.words(offset))
            }
            Item::Truncated { instruction, .. } => {
                writeln!(listing, " {}", instruction.words(offset))
            }
            Item::Unknown(parcel) => writeln!(listing, " .short {parcel:#06x}"),
            Item::Odd(byte) => writeln!(listing, " .byte {byte:#04x}"),
        };
    }
    let assembly = assemble(isa, &listing, 0).expect("a listing assembles");
    assert_eq!(assembly.code, code, "{listing}");
}
