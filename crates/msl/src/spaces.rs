//! Address-space keywords: what becomes of each.
//!
//! Pointers lose their address space here and get it back after compilation, from
//! the objects they point to. `constant` also means `const`. A variable declared
//! `threadgroup` becomes a static one in a section of its own: Apple's compiler does
//! the same. It is marked `used`, because an optimiser that may assume to see every
//! access shrinks a flag to one bit and splits arrays.

use crate::kernel_info::THREADGROUP_SECTION;
use crate::lexer::{Kind, Tokens};
use crate::outline::{Item, Outline, Shape};

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
    if !starts || !declares_object(tokens, index + 1) {
        Fate::Remove
    } else if has_static {
        Fate::ThreadgroupOfStatic
    } else {
        Fate::Threadgroup
    }
}

/// Whether only specifiers stand between the start of a statement and `index`, and
/// whether `static` is among them.
fn starts_statement(tokens: &Tokens<'_>, index: usize) -> (bool, bool) {
    let mut at = index;
    let mut has_static = false;
    while let Some(before) = at.checked_sub(1) {
        if tokens.kind(before) == Kind::Directive {
            at = before;
            continue;
        }
        match tokens.get(before) {
            "{" | "}" | ";" => return (true, has_static),
            "static" => has_static = true,
            "volatile" | "const" | "constexpr" => {}
            ")" => {
                // Perhaps the end of `alignas(…)`.
                let Some(open) = tokens.group_start(before) else {
                    return (false, has_static);
                };
                match open.checked_sub(1) {
                    Some(word) if tokens.is(word, "alignas") => {
                        at = word;
                        continue;
                    }
                    _ => return (false, has_static),
                }
            }
            _ => return (false, has_static),
        }
        at = before;
    }
    (true, has_static)
}

/// Whether the declaration whose type starts at `start` declares an object, not a
/// pointer, reference or function.
fn declares_object(tokens: &Tokens<'_>, start: usize) -> bool {
    let end = tokens.len();
    let mut at = start;
    let mut words = 0usize;
    while at < end {
        match tokens.get(at) {
            "*" | "&" | "&&" => return false,
            "[" if words >= 2 => return true,
            ";" | "," | "=" | "{" => return words >= 2,
            "<" => match tokens.after_angles(at, end) {
                Some(after) => {
                    at = after;
                    continue;
                }
                None => return false,
            },
            "alignas" | "decltype" if tokens.is(at + 1, "(") => {
                words += usize::from(tokens.is(at, "decltype"));
                at = tokens.after_group(at + 1, end);
                continue;
            }
            "::" => words = words.saturating_sub(1),
            "const" | "volatile" | "typename" | "struct" | "unsigned" | "signed" => {
                words += usize::from(matches!(tokens.get(at), "unsigned" | "signed"));
            }
            word if is_space(word) => {}
            _ if tokens.is_word(at) => words += 1,
            _ => return false,
        }
        at += 1;
    }
    false
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
