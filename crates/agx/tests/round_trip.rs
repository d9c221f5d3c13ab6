//! Bytes → instruction → bytes, and bytes → text → bytes, on every line of the corpora.

mod common;

use assay_agx::{Family, Instruction, Isa, Item, SpecialRegister, assemble, walk};
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

/// A line as `disasm` prints it, applegpu's own words included, assembles to its bytes.
#[test]
fn every_listing_line_assembles_to_its_bytes() {
    for case in all_cases() {
        let hex: String = case.bytes.iter().map(|b| format!("{b:02x}")).collect();
        let words = match walk(Isa::G13, &case.bytes).next() {
            Some((_, Item::Known(insn))) => insn.words(case.offset),
            Some((_, Item::Truncated { instruction, .. })) => instruction.words(case.offset),
            other => panic!("{case:?} decodes to {other:?}"),
        };
        let line = format!("{:x}: {hex:<20} {words}", case.offset);
        let assembly = assemble(Isa::G13, &line, 0).expect(&line);
        assert_eq!(assembly.code, case.bytes, "{line}");
        assert!(assembly.edited_lines.is_empty(), "{line}");
    }
}

#[test]
fn words_of_g15_read_as_applegpu_writes_them() {
    for (hex, words) in [
        ("1ca01006", "get_sr 0, r1, sr32 (thread_position_in_grid.x)"),
        (
            "6710540001012000510100404600",
            "device_load 5, i32, x, r0, u2_u3, r1, lsl 2, 0, wait 0, 1, 1",
        ),
        ("1f0156080300008c1104", "isub r4.cache, 0, r0.cache, wait 5"),
        (
            "4281278a81040602",
            "cmov sgt, r4.cache, r0.cache, 10, r2.discard",
        ),
        (
            "098526 0b210e02c2",
            "ffma r0.cache, r2.cache, u5, u7, wait 5",
        ),
        (
            "118435030d20c000",
            "fmul r1h.cache.bfloat, r2h.cache.bfloat, r1.discard, wait 0",
        ),
        ("0a852380060007020000", "cmp ieq, p0, r2.cache, 0"),
        ("0f055421", "if !p0, 1"),
        ("0f05541a", "if always, 2"),
        ("8f045426", "while !p1, 2"),
        (
            "bf01560403001609",
            "simd_iadd r2.cache, r0.cache, prefix, wait 5",
        ),
        (
            "c704540803080 22c0200",
            "simd_shuffle_xor r4.cache, r2.cache, 1",
        ),
    ] {
        let bytes = common::unhex(&hex.replace(' ', ""));
        let insn = Instruction::decode(Isa::G15, &bytes).expect(words);
        assert_eq!(insn.words(0), words);
        assert_eq!(insn.bytes(), bytes);
    }
}

/// Each family numbers special registers in its own way.
#[test]
fn special_registers_have_the_names_of_their_family() {
    for number in 0..128u8 {
        let register = SpecialRegister::new(Family::G15, number);
        let plain = format!("get_sr 0, r1, sr{number}");
        let insn = Instruction::parse(Isa::G15, &plain, 0).expect("every number can be read");
        let expected = match register.name() {
            Some(name) => format!("{plain} ({name})"),
            None => plain,
        };
        assert_eq!(insn.words(0), expected);
        let again = Instruction::parse(Isa::G15, &expected, 0).expect("the words are read back");
        assert_eq!(again.bytes(), insn.bytes());
    }
    let g13_name = "get_sr 0, r1, sr80 (thread_position_in_grid.x)";
    assert!(Instruction::parse(Isa::G15, g13_name, 0).is_err());
    let by_name = Instruction::parse(Isa::G15, "get_sr 0, r1, thread_position_in_grid.x", 0);
    assert_eq!(
        by_name,
        Instruction::parse(Isa::G15, "get_sr 0, r1, sr32", 0)
    );
}
