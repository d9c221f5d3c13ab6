//! Puts values together within a simdgroup before one lane does the atomic operation.
//!
//! ## What it does
//! `atomic_fetch_add_explicit(sum, x, …)` by every lane becomes `simd_sum(x)` and one atomic operation; the same for
//! `max`, `min`, `or`, `and` and `xor`. With `loop` what a loop adds is kept in a variable first, and goes to memory once behind
//! the loop.
//!
//! ## When it applies
//! To atomic operations whose old value is not used, where all lanes of a simdgroup update the same place. That they do is
//! seen when the result is compared.
//!
//! ## When it hurts
//! Where lanes update different places the result is wrong, and it is not offered. Few atomics cost little.
//!
//! ## Example
//! `combine-atomics:line=7` in a count of pixels: an atomic operation for 32 pixels.
//!
//! Whole numbers are bit-identical; floats are added in another order.

use super::changes::Changes;
use super::source::{Source, Span};
use super::{Original, at_lines, not_of_programs, nothing, refuse};
use crate::recipe::{Class, Parameter, Recipe, Refusal, RefusalKind, Step};

pub(in crate::recipe) const RECIPE: Recipe = Recipe {
    id: "combine-atomics",
    class: Class::Reassociating,
    usage: "line=LINE[,loop]",
    parameters: &[Parameter::Number("line"), Parameter::Word("loop")],
    file: include_str!("combine_atomics.rs"),
    apply: not_of_programs,
    propose: nothing,
};

/// Atomic functions, the simdgroup's, and how a variable collects values.
const OPERATIONS: [(&str, &str, &str); 6] = [
    ("atomic_fetch_add_explicit", "simd_sum", "+="),
    ("atomic_fetch_max_explicit", "simd_max", ""),
    ("atomic_fetch_min_explicit", "simd_min", ""),
    ("atomic_fetch_or_explicit", "simd_or", "|="),
    ("atomic_fetch_and_explicit", "simd_and", ""),
    ("atomic_fetch_xor_explicit", "simd_xor", "^="),
];

/// `atomic_fetch_add_explicit(place, value, order);`
struct Atomic {
    statement: Span,
    place: Span,
    value: Span,
    together: &'static str,
    collects: &'static str,
}

pub(super) fn edit(
    source: &Source<'_>,
    _: &Original<'_>,
    step: &Step,
) -> Result<(Changes, Class), Refusal> {
    let line = step.number("line");
    let mut atomics = source
        .body
        .clone()
        .filter(|&at| line.is_none_or(|line| source.line(at) == line))
        .filter_map(|at| atomic(source, at));
    let Some(atomic) = atomics.next() else {
        return refuse(
            RefusalKind::NothingToDo,
            "no atomic operation here whose old value is not used",
        );
    };
    let changes = match step.has("loop") {
        true => behind_loop(source, &atomic)?,
        false => in_place(source, &atomic),
    };
    let is_float = source.text.contains("atomic_float") || source.text.contains("atomic<float>");
    let class = match is_float {
        true => Class::Reassociating,
        false => Class::Exact,
    };
    Ok((changes, class))
}

fn atomic(source: &Source<'_>, at: usize) -> Option<Atomic> {
    let name = source.word(at);
    let &(_, together, collects) = OPERATIONS.iter().find(|(known, ..)| *known == name)?;
    let is_statement = matches!(
        source.word(at.checked_sub(1)?),
        ";" | "{" | "}" | ")" | "else"
    );
    let close = source.matching(at + 1)?;
    let arguments = source.split(&(at + 2..close), &[","]);
    let [place, value, _] = arguments.as_slice() else {
        return None;
    };
    (is_statement && source.word(close + 1) == ";").then(|| Atomic {
        statement: at..close + 2,
        place: place.clone(),
        value: value.clone(),
        together,
        collects,
    })
}

/// A statement of one lane with a value of all.
fn by_one(source: &Source<'_>, atomic: &Atomic, value: &str) -> String {
    let bytes = source.bytes(&atomic.statement);
    let own = source.bytes(&atomic.value);
    let before = &source.text[bytes.start..own.start];
    let after = &source.text[own.end..bytes.end];
    format!("if (simd_is_first()) {before}{value}{after}")
}

/// Combines where the operation stands.
fn in_place(source: &Source<'_>, atomic: &Atomic) -> Changes {
    let mut changes = Changes::default();
    let name = source.fresh("combined");
    let value = source.slice(&atomic.value).trim();
    let indent = source.indent(atomic.statement.start);
    let first = format!("const auto {name} = {}({value});", atomic.together);
    let second = by_one(source, atomic, &name);
    let is_only = matches!(source.word(atomic.statement.start - 1), ")" | "else");
    let text = match is_only {
        true => format!("{{ {first} {second} }}"),
        false => format!("{first}\n{indent}{second}"),
    };
    changes.replace(source.bytes(&atomic.statement), text);
    changes
}

/// Collects in a variable, and combines behind the outermost loop.
fn behind_loop(source: &Source<'_>, atomic: &Atomic) -> Result<Changes, Refusal> {
    let no = |why: &str| Refusal::new(RefusalKind::Control, why);
    if atomic.collects.is_empty() {
        return Err(no("only sums, or and xor are collected in a variable"));
    }
    let loops = source
        .body
        .clone()
        .filter(|&at| matches!(source.word(at), "for" | "while"));
    let around = loops
        .filter_map(|at| Some(at..source.statement(at)?))
        .find(|span| span.contains(&atomic.statement.start))
        .ok_or_else(|| no("the atomic operation is in no loop"))?;
    let changed_inside = atomic.place.clone().any(|at| {
        let name = source.word(at);
        around.clone().any(|inside| {
            source.word(inside) == name
                && matches!(source.word(inside + 1), "=" | "+=" | "-=" | "++" | "--")
        })
    });
    if changed_inside {
        return Err(no("the place changes inside the loop"));
    }
    let mut changes = Changes::default();
    let name = source.fresh("own");
    let ty = match () {
        () if source.text.contains("atomic_float") => "float",
        () if source.text.contains("atomic_int") => "int",
        () => "uint",
    };
    let indent = source.indent(around.start);
    changes.insert(
        source.bytes(&around).start,
        format!("{ty} {name} = 0;\n{indent}"),
    );
    let value = source.slice(&atomic.value).trim();
    let collected = format!("{name} {} {value};", atomic.collects);
    changes.replace(source.bytes(&atomic.statement), collected);
    let behind = format!(
        "\n{indent}{name} = {}({name});\n{indent}{}",
        atomic.together,
        by_one(source, atomic, &name)
    );
    changes.insert(source.bytes(&around).end, behind);
    Ok(changes)
}

pub(super) fn proposed(lines: &[u32]) -> Vec<Step> {
    let mut steps = at_lines(RECIPE.id, false, lines, &["loop"]);
    steps.extend(at_lines(RECIPE.id, false, lines, &[]));
    steps
}
