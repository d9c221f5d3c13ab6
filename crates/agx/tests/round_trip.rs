//! Bytes → instruction → bytes, and bytes → text → bytes, on every line of the corpora.

mod common;

use assay_agx::{Instruction, Isa, Item, walk};
use common::Case;

fn all_cases() -> Vec<Case> {
    let mut cases = common::vectors();
    cases.extend(common::mesa_cases());
    cases.extend(common::listings().into_iter().flatten());
    cases
}

#[test]
fn every_line_encodes_to_its_own_bytes() {
    for case in all_cases() {
        match walk(Isa::G13, &case.bytes).next() {
            Some((_, Item::Known(insn))) => assert_eq!(insn.bytes(), case.bytes, "{case:?}"),
            Some((_, Item::Truncated { instruction, .. })) => {
                assert!(instruction.bytes().starts_with(&case.bytes), "{case:?}");
            }
            other => panic!("{case:?} decodes to {other:?}"),
        }
    }
}

#[test]
fn exact_text_parses_to_the_same_bytes() {
    let mut failures = Vec::new();
    for case in all_cases() {
        let Ok(insn) = Instruction::decode(Isa::G13, &case.bytes) else {
            continue;
        };
        let text = insn.text(case.offset);
        match Instruction::parse(Isa::G13, &text, case.offset) {
            Ok(back) if back == insn => {}
            other => failures.push(format!("{}: {text}: {other:?}", case.place)),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The words of compiled code say everything, but for two habits of Mesa's compiler.
#[test]
fn words_alone_are_enough_for_compiled_programs() {
    /// Mnemonic, what the words do not show.
    const HABITS: &[(&str, &str)] = &[
        ("simd_shuffle", "the lane index is marked 32 bits wide"),
        (
            "stack_adjust",
            "the long form although the short one would do",
        ),
    ];
    let mut braces = Vec::new();
    for case in common::listings().into_iter().flatten() {
        let Ok(insn) = Instruction::decode(Isa::G13, &case.bytes) else {
            continue;
        };
        let text = insn.text(case.offset);
        let known = HABITS.iter().any(|(name, _)| *name == insn.mnemonic());
        if text.ends_with('}') && !known {
            braces.push(format!("{}: {text}", case.place));
        }
    }
    assert!(braces.is_empty(), "{}", braces.join("\n"));
}
