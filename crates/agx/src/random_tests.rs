//! Properties that hold for every encoding, tried on random ones.

use crate::{Family, Instruction, Isa, Item, assemble, dispatch, walk};
use proptest::prelude::*;

/// A random instruction of a random form: its fixed bits set, all others free.
fn valid_encoding() -> impl Strategy<Value = Instruction> {
    let of = |isa, family| dispatch::forms(family).map(move |form| (isa, form));
    let forms: Vec<_> = of(Isa::G13, Family::G13)
        .chain(of(Isa::G15, Family::G15))
        .collect();
    let sparse = (any::<u128>(), any::<u128>()).prop_map(|(a, b)| a & b);
    (0..forms.len(), prop_oneof![any::<u128>(), sparse]).prop_filter_map(
        "every form decodes",
        move |(index, random)| {
            let (isa, form) = forms.get(index)?;
            let word = random & !form.mask | form.value;
            Instruction::decode(*isa, &word.to_le_bytes()).ok()
        },
    )
}

/// One instruction set of each family.
fn any_isa() -> impl Strategy<Value = Isa> {
    prop_oneof![Just(Isa::G13), Just(Isa::G15)]
}

/// A generator that needs no seed from outside.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[test]
fn a_million_random_byte_strings_are_walked_to_their_end() {
    let mut state = 0x9e37_79b9_7f4a_7c15;
    for round in 0..1_000_000u64 {
        let mut code = [0; 40];
        for chunk in code.chunks_exact_mut(8) {
            chunk.copy_from_slice(&next(&mut state).to_le_bytes());
        }
        let length = (next(&mut state) % 41) as usize;
        let isa = if round % 4 == 0 { Isa::G13 } else { Isa::G15 };
        let mut expected = 0;
        for (offset, item) in walk(isa, &code[..length]) {
            assert_eq!(offset, expected);
            assert!(item.len() > 0);
            expected += item.len() as u64;
        }
        assert_eq!(expected, length as u64);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn exact_text_gives_back_the_instruction(insn in valid_encoding(), offset in 0..1u64 << 40) {
        let text = insn.text(offset);
        prop_assert_eq!(Instruction::parse(insn.isa(), &text, offset), Ok(insn), "{}", text);
    }

    #[test]
    fn relative_text_gives_back_the_instruction(insn in valid_encoding()) {
        let text = insn.to_string();
        prop_assert_eq!(Instruction::parse(insn.isa(), &text, 0), Ok(insn), "{}", text);
    }

    #[test]
    fn encoding_gives_back_the_bytes(insn in valid_encoding()) {
        let back = Instruction::decode(insn.isa(), &insn.bytes());
        prop_assert_eq!(back, Ok(insn));
        prop_assert!(matches!(insn.len(), 2 | 4 | 6 | 8 | 10 | 12 | 14 | 16));
    }

    #[test]
    fn properties_agree_with_the_operands(insn in valid_encoding(), offset in any::<u64>()) {
        let touched = insn.reads().union(insn.writes());
        for argument in insn.arguments() {
            if argument.role != crate::Role::Plain {
                for half in argument.operand.half_range() {
                    prop_assert!(touched.contains(half), "{} {:?}", insn, argument);
                }
            }
        }
        prop_assert!(insn.discards().difference(insn.reads()).is_empty());
        // None of these may panic, whatever the bits.
        let _ = (insn.memory().map(|access| access.bytes_per_lane()), insn.flow(offset));
        let _ = (insn.condition(), insn.shuffle(), insn.reduction(), insn.convert_mode());
        let _ = (insn.bit_mask(), insn.uniforms_read(), insn.uniforms_written());
        let _ = (insn.standing(), insn.standing_reason(), insn.waits());
    }

    #[test]
    fn a_walk_covers_every_byte_once(
        isa in any_isa(),
        code in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let mut expected = 0;
        let mut unknown = 0;
        let mut items = walk(isa, &code);
        for (offset, item) in items.by_ref() {
            prop_assert_eq!(offset, expected);
            expected += item.len() as u64;
            unknown += u64::from(item.known().is_none());
        }
        prop_assert_eq!(expected, code.len() as u64);
        prop_assert_eq!(unknown, items.unknown());
    }

    #[test]
    fn a_listing_assembles_to_the_code(
        isa in any_isa(),
        code in proptest::collection::vec(any::<u8>(), 0..60),
    ) {
        let mut listing = String::new();
        for (offset, item) in walk(isa, &code) {
            let words = match item {
                Item::Known(insn) => insn.words(offset),
                Item::Truncated { instruction, .. } => instruction.words(offset),
                Item::Unknown(parcel) => format!(".short {parcel:#06x}"),
                Item::Odd(byte) => format!(".byte {byte:#04x}"),
            };
            let start = offset as usize;
            let hex: String = code[start..start + item.len()]
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            listing += &format!("{offset:x}: {hex} {words}\n");
        }
        let assembly = assemble(isa, &listing, 0);
        prop_assert_eq!(assembly.map(|assembly| assembly.code), Ok(code), "{}", listing);
    }

    #[test]
    fn any_text_is_an_instruction_or_a_located_error(isa in any_isa(), text in "\\PC{0,60}") {
        if let Err(error) = Instruction::parse(isa, &text, 0) {
            prop_assert!(error.column <= text.chars().count() + 2);
            prop_assert!(!error.message.is_empty());
        }
        let _ = assemble(isa, &text, 0);
    }
}
