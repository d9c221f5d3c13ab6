//! Takes out a barrier that nothing crosses, or lets a simdgroup wait for itself alone.
//!
//! ## What it does
//! Removes a `threadgroup_barrier`, or with `simdgroup` puts a `simdgroup_barrier` in its place: with `line` the one in that
//! line, without it every barrier of the kernel.
//!
//! ## When it applies
//! To any kernel. That no value crosses the barrier is not seen in the text: the result is run at several sizes with
//! every access checked for races, and only one without is offered.
//!
//! ## When it hurts
//! A kernel may rely on a barrier for sizes or contents that were not tried.
//!
//! ## Example
//! `relax-barrier:line=12,simdgroup` where each simdgroup exchanges values through a row of its own.
//!
//! The result is bit-identical.

use super::changes::Changes;
use super::source::Source;
use super::{Original, at_lines, not_of_programs, nothing, refuse};
use crate::recipe::{Class, Parameter, Recipe, Refusal, RefusalKind, Step};

pub(in crate::recipe) const RECIPE: Recipe = Recipe {
    id: "relax-barrier",
    class: Class::Exact,
    usage: "[line=LINE][,simdgroup]",
    parameters: &[Parameter::Number("line"), Parameter::Word("simdgroup")],
    file: include_str!("relax_barrier.rs"),
    apply: not_of_programs,
    propose: nothing,
};

pub(super) fn edit(
    source: &Source<'_>,
    _: &Original<'_>,
    step: &Step,
) -> Result<(Changes, Class), Refusal> {
    let mut changes = Changes::default();
    let line = step.number("line");
    let barriers = source
        .body
        .clone()
        .filter(|&at| source.word(at) == "threadgroup_barrier")
        .filter(|&at| line.is_none_or(|line| source.line(at) == line));
    let mut found = false;
    for at in barriers {
        found = true;
        if step.has("simdgroup") {
            changes.replace(source.bytes(&(at..at + 1)), "simdgroup_barrier");
            continue;
        }
        let Some(end) = source.statement(at) else {
            return refuse(
                RefusalKind::Control,
                "the barrier is not a statement of its own",
            );
        };
        match source.word(at.wrapping_sub(1)) {
            ")" | "else" => changes.replace(source.bytes(&(at..end)), ";"),
            _ => changes.remove(source.text, source.bytes(&(at..end))),
        }
    }
    match found {
        true => Ok((changes, Class::Exact)),
        false => refuse(
            RefusalKind::NothingToDo,
            "there is no threadgroup_barrier here",
        ),
    }
}

pub(super) fn proposed(lines: &[u32]) -> Vec<Step> {
    let mut steps = at_lines(RECIPE.id, true, lines, &[]);
    steps.extend(at_lines(RECIPE.id, true, lines, &["simdgroup"]));
    steps
}
