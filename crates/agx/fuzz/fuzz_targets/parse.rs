//! Any text: bytes or an error inside the text, and bytes that read back.
#![no_main]

use assay_agx::{Instruction, Isa, assemble};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(insn) = Instruction::parse(Isa::G13, text, 0) {
        assert_eq!(Instruction::parse(Isa::G13, &insn.text(0), 0), Ok(insn));
    }
    match assemble(Isa::G13, text, 0) {
        Ok(assembly) => assert!(assembly.code.len() <= text.len() * 12),
        Err(error) => assert!(error.line <= text.lines().count()),
    }
});
