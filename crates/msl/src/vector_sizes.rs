//! Templates over the size of a vector: `template <typename T, uint N> void f(vec<T, N> x)`.
//!
//! In Metal a size is deduced whatever integer type the parameter has. Our vectors are classes, and C++ deduces an
//! argument of a class template only if the types agree: such a parameter becomes an `int`.

use crate::lexer::Tokens;
use crate::outline::Outline;
use crate::parameter;
use crate::patch::Patch;
use std::ops::Range;

const INTEGERS: [&str; 8] = [
    "uint", "unsigned", "size_t", "short", "ushort", "uint32_t", "uchar", "ulong",
];

/// Rewrites the parameters of templates that are sizes of vectors.
pub(crate) fn rewrite(tokens: &Tokens<'_>, outline: &Outline, patch: &mut Patch) {
    for item in &outline.items {
        let open = item.head.start + 1;
        if item.declaration == item.head.start || !tokens.is(open, "<") {
            continue;
        }
        let Some(after) = tokens.after_angles(open, item.head.end) else {
            continue;
        };
        for range in parameter::split(tokens, open + 1..after.saturating_sub(1)) {
            let integer = range.start;
            let name = range.start + 1;
            let plain = INTEGERS.contains(&tokens.get(integer)) && tokens.is_word(name);
            if plain && is_size(tokens, item.declaration..item.head.end, tokens.get(name)) {
                patch.replace(integer, "int");
            }
        }
    }
}

/// Whether `vec<…, name>` stands in a declaration.
fn is_size(tokens: &Tokens<'_>, head: Range<usize>, name: &str) -> bool {
    head.clone().any(|at| {
        let vector = matches!(tokens.get(at), "vec" | "packed_vec") && tokens.is(at + 1, "<");
        let end = match vector {
            true => tokens.after_angles(at + 1, head.end),
            false => None,
        };
        end.is_some_and(|end| tokens.is(end - 2, name) && tokens.is(end - 3, ","))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sizes_of_vectors_become_ints() {
        let text =
            "template <typename T, uint N, uint M> void f(device const vec<T, N> (&x)[M]) { }";
        let tokens = Tokens::new(text);
        let mut patch = Patch::default();
        rewrite(&tokens, &Outline::new(&tokens), &mut patch);
        assert_eq!(patch.apply(&tokens).text, text.replace("uint N", "int N"));
    }
}
