//! Labels of declarations that name a builtin of Apple's compiler: `__asm("air.simdgroup_async_copy_2d.p3i8.p1i8")`.
//!
//! Such a builtin has a name for every address space, and Metal overloads of the same function carry one each. Without address
//! spaces the overloads are one declaration, which has one label: address spaces in labels become that of device memory, and
//! those of the pointers are found again after compilation.

use crate::lexer::{Kind, Tokens};
use crate::patch::Patch;

/// Makes labels that differ in address spaces equal.
pub(crate) fn rewrite(tokens: &Tokens<'_>, patch: &mut Patch) {
    for at in 0..tokens.len() {
        let begins =
            matches!(tokens.get(at), "asm" | "__asm" | "__asm__") && tokens.is(at + 1, "(");
        if begins && tokens.kind(at + 2) == Kind::Literal {
            let label = tokens.get(at + 2);
            let plain = without_spaces(label);
            if plain != label {
                patch.replace(at + 2, plain);
            }
        }
    }
}

/// `"air.f.p3i8.p1i8"` is `"air.f.p1i8.p1i8"`.
fn without_spaces(label: &str) -> String {
    let parts = label.split('.').map(|part| {
        let mut letters = part.chars();
        let is_pointer = letters.next() == Some('p')
            && letters.next().is_some_and(|space| space.is_ascii_digit())
            && letters
                .next()
                .is_some_and(|kind| matches!(kind, 'i' | 'f' | 'b' | 'v'));
        match is_pointer {
            true => format!("p1{}", &part[2..]),
            false => part.to_owned(),
        }
    });
    match label.starts_with("\"air.") {
        true => parts.collect::<Vec<_>>().join("."),
        false => label.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_the_same_for_all_address_spaces() {
        for (text, expected) in [
            (
                "\"air.simdgroup_async_copy_1d.p3i8.p1i8\"",
                "\"air.simdgroup_async_copy_1d.p1i8.p1i8\"",
            ),
            (
                "\"air.simdgroup_matrix_8x8_load.v64f32.p3f32\"",
                "\"air.simdgroup_matrix_8x8_load.v64f32.p1f32\"",
            ),
            ("\"air.popcount.i32\"", "\"air.popcount.i32\""),
            ("\"my.p3i8\"", "\"my.p3i8\""),
        ] {
            assert_eq!(without_spaces(text), expected);
        }
    }
}
