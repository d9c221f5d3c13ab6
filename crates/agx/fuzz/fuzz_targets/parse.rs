//! Any text: bytes or an error inside the text, and bytes that read back.
#![no_main]

use assay_agx::{Instruction, Isa, assemble};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for isa in [Isa::G13, Isa::G15] {
        check(isa, text);
    }
});

fn check(isa: Isa, text: &str) {
    if let Ok(insn) = Instruction::parse(isa, text, 0) {
        assert_eq!(Instruction::parse(isa, &insn.text(0), 0), Ok(insn));
    }
    match assemble(isa, text, 0) {
        Ok(assembly) => assert!(assembly.code.len() <= text.len() * 16),
        Err(error) => assert!(error.line <= text.lines().count()),
    }
}
