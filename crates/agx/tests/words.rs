//! The words of an instruction against applegpu's, on every line of the corpora.

mod common;

use assay_agx::{Field, Instruction, Isa, Item, Op, Operand, walk};
use common::Case;

/// A place where applegpu is wrong.
struct Exception {
    reason: &'static str,
    /// Whether the difference between our words and applegpu's is exactly this one.
    explains: fn(Instruction, words: &str, applegpu: &str) -> bool,
}

const EXCEPTIONS: &[Exception] = &[
    Exception {
        reason: "applegpu takes a stack adjustment for a `stack_store` without data and \
                 leaves bit 16 over; Mesa decodes it, and Apple's functions begin and end \
                 with it",
        explains: |insn, _, applegpu| {
            insn.op() == Op::StackAdjust && applegpu.starts_with("stack_store i8, 1, 2, 0, ")
        },
    },
    Exception {
        reason: "applegpu drops bit 8 of the index of a uniform that a select chooses \
                 (u33l for u161l), against its own description of the encoding",
        explains: |insn, words, applegpu| {
            let high = |field| match insn.get(field) {
                Some(Operand::Uniform(uniform)) if uniform.half >= 256 => Some(uniform.half / 2),
                _ => None,
            };
            let mut lowered = words.to_owned();
            for number in [Field::X, Field::Y].into_iter().filter_map(high) {
                lowered = lowered.replace(&format!("u{number}"), &format!("u{}", number - 128));
            }
            matches!(insn.op(), Op::Icmpsel | Op::Fcmpsel) && lowered == applegpu
        },
    },
];

fn decode(case: &Case) -> Result<Instruction, String> {
    match walk(Isa::G13, &case.bytes).next() {
        Some((_, Item::Known(insn))) if insn.len() == case.bytes.len() => Ok(insn),
        // Fifteen vectors stop before the zero bytes at their end.
        Some((_, Item::Truncated { instruction, .. })) => Ok(instruction),
        other => Err(format!("{other:?}")),
    }
}

fn check(cases: &[Case]) {
    let mut failures = Vec::new();
    let mut excepted = vec![0; EXCEPTIONS.len()];
    for case in cases {
        let (insn, words) = match decode(case) {
            Ok(insn) => (Some(insn), insn.words(case.offset)),
            Err(error) => (None, error),
        };
        if words == case.applegpu {
            continue;
        }
        let reason = insn.and_then(|insn| {
            EXCEPTIONS
                .iter()
                .position(|exception| (exception.explains)(insn, &words, &case.applegpu))
        });
        match reason {
            Some(index) => excepted[index] += 1,
            None => failures.push(format!(
                "{}: {:02x?}\n  ours     {words}\n  applegpu {}",
                case.place, case.bytes, case.applegpu
            )),
        }
    }
    for (exception, count) in EXCEPTIONS.iter().zip(excepted) {
        if count != 0 {
            println!("{count} lines excepted: {}", exception.reason);
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} lines differ:\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    );
}

#[test]
fn single_instructions_read_as_applegpu_prints_them() {
    check(&common::vectors());
}

#[test]
fn programs_read_as_applegpu_prints_them() {
    for program in common::listings() {
        check(&program);
    }
}
