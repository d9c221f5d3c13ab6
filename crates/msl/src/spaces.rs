//! Address-space keywords: what becomes of each.
//!
//! Pointers lose their address space here and get it back after compilation, from
//! the objects they point to. `constant` also means `const`. A variable declared
//! `threadgroup` becomes a static one in a section of its own: Apple's compiler does
//! the same. It is marked `used`, because an optimiser that may assume to see every
//! access shrinks a flag to one bit and splits arrays.

use crate::attributes;
use crate::kernel_info::THREADGROUP_SECTION;
use crate::lexer::{Kind, Tokens};
use crate::outline::{Item, Outline, Shape};
use crate::patch::Patch;

/// What becomes of an address-space keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Remove,
    Const,
    /// The declaration of threadgroup memory.
    Threadgroup,
    /// The same where `static` stands already.
    ThreadgroupOfStatic,
}

/// Whether a word names an address space.
pub(crate) fn is_space(word: &str) -> bool {
    matches!(
        word,
        "device"
            | "constant"
            | "thread"
            | "threadgroup"
            | "threadgroup_imageblock"
            | "ray_data"
            | "object_data"
    )
}

/// The fate of every token that is a keyword of Metal, by token.
pub(crate) fn fates(tokens: &Tokens<'_>, outline: &Outline) -> Vec<Option<Fate>> {
    let mut fates = vec![None; tokens.len()];
    for index in 0..tokens.len() {
        if !tokens.is_word(index) {
            continue;
        }
        if tokens.is(index, "coherent") {
            coherent(tokens, index, &mut fates);
            continue;
        }
        let fate = match tokens.get(index) {
            "constant" => Some(constant(tokens, index)),
            "threadgroup" => Some(threadgroup(tokens, index)),
            "kernel" | "vertex" | "fragment" => {
                let member = index > 0 && matches!(tokens.get(index - 1), "." | "->" | "::");
                (!member).then_some(Fate::Remove)
            }
            word if is_space(word) => Some(Fate::Remove),
            _ => None,
        };
        fates[index] = fate.or(fates[index]);
    }
    constructors(tokens, outline, &mut fates);
    fates
}

/// `coherent`, `coherent(device)`, `coherent(system)`: a word of its own only beside an
/// address space or with such an argument.
fn coherent(tokens: &Tokens<'_>, index: usize, fates: &mut [Option<Fate>]) {
    let with_scope = tokens.is(index + 1, "(")
        && matches!(
            tokens.get(index + 2),
            "device" | "system" | "threadgroup" | "simdgroup"
        )
        && tokens.is(index + 3, ")");
    let beside = is_space(tokens.get(index + 1))
        || index
            .checked_sub(1)
            .is_some_and(|before| is_space(tokens.get(before)));
    let last = match (with_scope, beside) {
        (true, _) => index + 3,
        (false, true) => index,
        (false, false) => return,
    };
    fates
        .iter_mut()
        .take(last + 1)
        .skip(index)
        .for_each(|fate| *fate = Some(Fate::Remove));
}

/// A constructor cannot be `const`: `constant` behind its parameters goes.
fn constructors(tokens: &Tokens<'_>, outline: &Outline, fates: &mut [Option<Fate>]) {
    for item in &outline.items {
        let class = outline
            .scopes
            .get(item.scope)
            .and_then(|s| s.class.as_deref());
        let Some(class) = class else { continue };
        let behind = match &item.shape {
            Shape::Function {
                name,
                parameters,
                body,
            } if tokens.get(*name) == class => parameters.end..body.start,
            Shape::Statement if is_constructor(tokens, item, class) => item.head.clone(),
            _ => continue,
        };
        for index in behind {
            if tokens.is(index, ":") {
                break;
            }
            let qualifier = index > 0 && tokens.is(index - 1, ")");
            if qualifier && tokens.is(index, "constant") {
                fates[index] = Some(Fate::Remove);
            }
        }
    }
}

/// Whether a declaration without a body declares a constructor of `class`.
fn is_constructor(tokens: &Tokens<'_>, item: &Item, class: &str) -> bool {
    let mut head = item.declaration..item.head.end;
    head.any(|index| {
        tokens.is(index, class)
            && tokens.is(index + 1, "(")
            && !matches!(tokens.get(index.wrapping_sub(1)), "*" | "&" | "::" | "new")
    })
}

fn constant(tokens: &Tokens<'_>, index: usize) -> Fate {
    let before = index.checked_sub(1).map_or("", |at| tokens.get(at));
    let ends_head = matches!(
        tokens.get(index + 1),
        "{" | ";" | ":" | "=" | "const" | "noexcept" | "override" | "->"
    );
    let qualifies_function = ends_head && matches!(before, ")" | "const" | "volatile");
    if qualifies_function && before != ")" {
        return Fate::Remove;
    }
    Fate::Const
}

fn threadgroup(tokens: &Tokens<'_>, index: usize) -> Fate {
    let (starts, has_static) = starts_statement(tokens, index);
    if !starts || !declares_object(tokens, index) {
        Fate::Remove
    } else if has_static {
        Fate::ThreadgroupOfStatic
    } else {
        Fate::Threadgroup
    }
}

/// Whether only specifiers, attributes and the name of a type stand between the start of a statement and `index`, and
/// whether `static` is among them.
fn starts_statement(tokens: &Tokens<'_>, index: usize) -> (bool, bool) {
    let mut at = index;
    let mut has_static = false;
    while let Some(before) = at.checked_sub(1) {
        match tokens.get(before) {
            _ if tokens.kind(before) == Kind::Directive => at = before,
            "{" | "}" | ";" | ":" => return (true, has_static),
            "return" | "typedef" | "using" | "else" | "goto" | "operator" => {
                return (false, has_static);
            }
            ")" | "]" | ">" => match group_before(tokens, before) {
                Some(start) => at = start,
                None => return (false, has_static),
            },
            word if tokens.is_word(before) || word == "::" => {
                has_static |= word == "static";
                at = before;
            }
            _ => return (false, has_static),
        }
    }
    (true, has_static)
}

/// Where an attribute, an alignment or the arguments of a template start that end at `last`.
fn group_before(tokens: &Tokens<'_>, last: usize) -> Option<usize> {
    match tokens.get(last) {
        ")" => {
            let word = tokens.group_start(last)?.checked_sub(1)?;
            let known = takes_group(tokens.get(word)) || tokens.is(word, "decltype");
            known.then_some(word)
        }
        "]" => {
            let open = tokens.group_start(last)?;
            attributes::opens(tokens, open).then_some(open)
        }
        _ => {
            // Angles have no partners in the text: the nearest `<` whose partner this is.
            let mut open = last;
            for _ in 0..MOST_ARGUMENT_TOKENS {
                open = open.checked_sub(1)?;
                if matches!(tokens.get(open), ";" | "{" | "}") {
                    return None;
                }
                if tokens.is(open, "<") && tokens.after_angles(open, last + 1) == Some(last + 1) {
                    return Some(open);
                }
            }
            None
        }
    }
}

/// Tokens between the angles of a template that is named in front of an address space.
const MOST_ARGUMENT_TOKENS: usize = 64;

/// Whether a word and the group behind it say something about a declaration, and name no type.
pub(crate) fn takes_group(word: &str) -> bool {
    matches!(
        word,
        "alignas" | "_Alignas" | "__attribute__" | "__declspec"
    )
}

/// Whether the declaration around the keyword at `index` declares an object, not a pointer, reference or function.
fn declares_object(tokens: &Tokens<'_>, index: usize) -> bool {
    let end = tokens.len();
    let mut at = index + 1;
    let mut words = usize::from(names_type_before(tokens, index));
    while at < end {
        match tokens.get(at) {
            "*" | "&" | "&&" => return false,
            "[" if attributes::opens(tokens, at) => {
                at = tokens.after_group(at, end);
                continue;
            }
            "[" if words >= 2 => return true,
            ";" | "," | "=" | "{" => return words >= 2,
            "<" => match tokens.after_angles(at, end) {
                Some(after) => {
                    at = after;
                    continue;
                }
                None => return false,
            },
            word if (takes_group(word) || word == "decltype") && tokens.is(at + 1, "(") => {
                words += usize::from(word == "decltype");
                at = tokens.after_group(at + 1, end);
                continue;
            }
            "::" => words = words.saturating_sub(1),
            "const" | "volatile" | "typename" | "struct" | "static" => {}
            word if is_space(word) => {}
            _ if tokens.is_word(at) => words += 1,
            _ => return false,
        }
        at += 1;
    }
    false
}

/// Whether the name of a type stands between the start of a statement and `index`.
fn names_type_before(tokens: &Tokens<'_>, index: usize) -> bool {
    let mut at = index;
    while let Some(before) = at.checked_sub(1) {
        match tokens.get(before) {
            _ if tokens.kind(before) == Kind::Directive => at = before,
            "{" | "}" | ";" | ":" => return false,
            "static" | "const" | "volatile" | "constexpr" | "inline" | "extern" => at = before,
            word if is_space(word) => at = before,
            ")" | "]" => match group_before(tokens, before) {
                Some(start) if !tokens.is(start, "decltype") => at = start,
                start => return start.is_some(),
            },
            _ => return true,
        }
    }
    false
}

/// Puts alignments behind an address space where C++ has them: in front of the declaration.
pub(crate) fn move_alignments(tokens: &Tokens<'_>, patch: &mut Patch) {
    for index in 0..tokens.len() {
        if !tokens.is(index, "alignas") || !tokens.is(index + 1, "(") {
            continue;
        }
        let mut start = index;
        while let Some(before) = start.checked_sub(1) {
            let word = tokens.get(before);
            let specifier = matches!(
                word,
                "static" | "const" | "volatile" | "constexpr" | "inline" | "extern"
            );
            if !specifier && !is_space(word) {
                break;
            }
            start = before;
        }
        if start < index {
            let behind = tokens.after_group(index + 1, tokens.len());
            patch.insert_before(start, &tokens.join(index..behind));
            (index..behind).for_each(|moved| patch.remove(moved));
        }
    }
}

/// What replaces a keyword with this fate.
pub(crate) fn spelling(fate: Fate) -> String {
    let section = format!("__attribute__((used, section(\"{THREADGROUP_SECTION}\")))");
    match fate {
        Fate::Remove => String::new(),
        Fate::Const => "const".to_owned(),
        Fate::Threadgroup => format!("static {section}"),
        Fate::ThreadgroupOfStatic => section,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[Fate]) {
        let tokens = Tokens::new(text);
        let outline = Outline::new(&tokens);
        let found: Vec<Fate> = fates(&tokens, &outline).into_iter().flatten().collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn only_objects_become_threadgroup_memory() {
        use Fate::{Remove, Threadgroup, ThreadgroupOfStatic};
        check("{ threadgroup float a[4]; }", &[Threadgroup]);
        check("{ threadgroup float a[4], b; }", &[Threadgroup]);
        check(
            "{ alignas(16) threadgroup metal::array<float, 2> a; }",
            &[Threadgroup],
        );
        check(
            "{ threadgroup alignas(16) unsigned char a[N * 2]; }",
            &[Threadgroup],
        );
        check(
            "{ static threadgroup typename X<T>::y z; }",
            &[ThreadgroupOfStatic],
        );
        for orders in [
            "{ threadgroup __attribute__((aligned(16))) float s[32]; }",
            "{ __attribute__((aligned(16))) threadgroup float s[32]; }",
            "{ threadgroup float __attribute__((aligned(16))) s[32]; }",
            "{ threadgroup [[clang::annotate(\"a\")]] float s; }",
            "{ float threadgroup s[32]; }",
            "{ const metal::vec<float, 4> threadgroup s[32]; }",
            "{ switch (x) { case 1: threadgroup float s[32]; } }",
        ] {
            check(orders, &[Threadgroup]);
        }
        for pointer in [
            "{ float threadgroup* s = t; }",
            "{ threadgroup __attribute__((aligned(16))) float* s = t; }",
            "{ const float threadgroup& s = t; }",
            "{ return (threadgroup float*)s; }",
            "{ using T = threadgroup float; }",
            "{ typedef threadgroup float T; }",
        ] {
            check(pointer, &[Remove]);
        }
        check("{ threadgroup float* a = b; }", &[Remove]);
        check("{ threadgroup const auto& a = b; }", &[Remove]);
        check("{ threadgroup float (&a)[4] = b; }", &[Remove]);
        check(
            "void f(threadgroup float* a, threadgroup float b[4]);",
            &[Remove, Remove],
        );
        check("{ x = (threadgroup T*)y; }", &[Remove]);
        check("threadgroup float* f() { }", &[Remove]);
    }

    #[test]
    fn constant_means_const_except_behind_constructors() {
        use Fate::{Const, Remove};
        check(
            "constant float x = 1; void f(constant T& y);",
            &[Const, Const],
        );
        check(
            "struct S { S(int) constant : a(1) {} S() constant = default; int g() constant { } };",
            &[Remove, Remove, Const],
        );
        check(
            "struct S { int g() const constant { } int h() const thread; };",
            &[Remove, Remove],
        );
    }
}
