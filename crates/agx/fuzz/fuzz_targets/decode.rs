//! Any bytes: a walk covers them all, and every question has an answer.
#![no_main]

use assay_agx::{Isa, Item, walk};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|code: &[u8]| {
    for isa in [Isa::G13, Isa::G15] {
        check(isa, code);
    }
});

fn check(isa: Isa, code: &[u8]) {
    let mut covered = 0;
    for (offset, item) in walk(isa, code) {
        assert_eq!(offset, covered);
        covered += item.len() as u64;
        if let Item::Known(insn) = item {
            assert_eq!(insn.bytes(), &code[offset as usize..][..insn.len()]);
            let touched = insn.reads().union(insn.writes());
            assert!(insn.discards().difference(touched).is_empty());
            let _ = (insn.memory(), insn.flow(offset), insn.exec_effect(), insn.condition());
            let _ = (insn.shuffle(), insn.reduction(), insn.convert_mode(), insn.bit_mask());
            let _ = (insn.uniforms_read(), insn.uniforms_written(), insn.words(offset));
        }
    }
    assert_eq!(covered, code.len() as u64);
}
