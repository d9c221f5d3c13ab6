//! Lets all threads share a loop that only one of them goes through.
//!
//! ## What it does
//! `if (tid == 0) for (uint k = 0; k < n; k++) …` becomes `for (uint k = tid; k < n; k += threads) …`. Where the loop adds up,
//! the first simdgroup goes through it, a 32nd per lane, `simd_sum` (`simd_max`, `simd_min`) puts the parts together, and the
//! first thread does the rest.
//!
//! ## When it applies
//! To branches on the first thread of a threadgroup, `if (tid == 0) { … }` or `if (tid != 0) return;`, with one counting loop.
//! A sum has to begin with 0 there. A threadgroup has at least 32 threads.
//!
//! ## When it hurts
//! Loops of few rounds gain nothing.
//!
//! ## Example
//! `share-branch:line=12` where thread 0 adds up 256 partial sums: eight rounds instead of 256.
//!
//! Sums of floats are added in another order; other results are bit-identical.

use super::changes::Changes;
use super::source::{For, Source, Span};
use super::thread::{self, Scope, Thread};
use super::{Original, at_lines, not_of_programs, nothing, refuse};
use crate::recipe::{Class, Parameter, Recipe, Refusal, RefusalKind, Step};

pub(in crate::recipe) const RECIPE: Recipe = Recipe {
    id: "share-branch",
    class: Class::Reassociating,
    usage: "[line=LINE]",
    parameters: &[Parameter::Number("line")],
    file: include_str!("share_branch.rs"),
    apply: not_of_programs,
    propose: nothing,
};

/// Lanes of a simdgroup.
const LANES: u32 = 32;

/// A branch that one thread takes.
struct Branch {
    thread: Thread,
    /// The test between the parentheses.
    test: Span,
    statement: Span,
    /// What one thread does.
    inside: Span,
    /// The others return.
    returns: bool,
}

pub(super) fn edit(
    source: &Source<'_>,
    original: &Original<'_>,
    step: &Step,
) -> Result<(Changes, Class), Refusal> {
    let line = step.number("line");
    let threads = thread::threads(source);
    let branches: Vec<Branch> = source
        .body
        .clone()
        .filter(|&at| source.word(at) == "if")
        .filter_map(|at| branch(source, &threads, at))
        .filter(|branch| {
            let first = source.line(branch.statement.start);
            let last = source.line(
                branch
                    .statement
                    .end
                    .max(branch.inside.end)
                    .saturating_sub(1),
            );
            line.is_none_or(|line| (first..=last).contains(&line))
        })
        .collect();
    let Some(branch) = branches.first() else {
        return refuse(
            RefusalKind::NothingToDo,
            "no branch here is taken by the first thread of a threadgroup alone",
        );
    };
    let threads = original.geometry.plain_threadgroup();
    if threads.is_none_or(|threads| threads[0] < LANES || !threads[0].is_multiple_of(LANES)) {
        return refuse(
            RefusalKind::Geometry,
            "the threadgroup is not of whole simdgroups",
        );
    }
    let control = |why: &str| Refusal::new(RefusalKind::Control, why);
    let statements = source
        .statements(&branch.inside)
        .ok_or_else(|| control("the branch is not of a known form"))?;
    let loops: Vec<(usize, For)> = statements
        .iter()
        .enumerate()
        .filter_map(|(place, statement)| {
            let word = source.word(statement.start);
            (word == "for")
                .then(|| Some((place, source.counting(statement.start)?)))
                .flatten()
        })
        .collect();
    let [(place, looped)] = loops.as_slice() else {
        return Err(control("the branch has not one counting loop"));
    };
    match accumulator(source, looped) {
        Some(sum) => reduced(source, branch, (&statements, *place), (looped, &sum)),
        None if statements.len() == 1 && !branch.returns => {
            spread(source, original, branch, looped)
        }
        None => Err(control("there is more in the branch than a loop")),
    }
}

fn branch(source: &Source<'_>, threads: &[Thread], at: usize) -> Option<Branch> {
    let close = source.matching(at + 1)?;
    let test = at + 2..close;
    let (left, right) = (test.start..test.end - 2, test.end - 1..test.end);
    let thread = thread::of(source, threads, &left)
        .filter(|thread| thread.scope == Scope::Threadgroup && !thread.text.contains(['y', 'z']))?;
    let zero = source.joined(&right).trim_end_matches(['u', 'U']) == "0";
    let end = source.statement(at)?;
    let body = close + 1..end;
    let is_return = source.joined(&source.inside(&body)) == "return;";
    let (inside, returns) = match source.word(test.end - 2) {
        "==" if source.word(end) != "else" => (source.inside(&body), false),
        "!=" | ">" if is_return => (end..source.body.end, true),
        _ => return None,
    };
    zero.then(|| Branch {
        thread: thread.clone(),
        test,
        statement: at..end,
        inside,
        returns,
    })
}

/// A variable that a loop collects in, and what puts parts together.
struct Sum {
    name: String,
    together: &'static str,
}

fn accumulator(source: &Source<'_>, looped: &For) -> Option<Sum> {
    let inside = source.inside(&looped.body);
    let statements = source.statements(&inside)?;
    let last = statements.last()?;
    let (name, operator) = (source.word(last.start), source.word(last.start + 1));
    let together = match operator {
        "+=" => "simd_sum",
        "=" => {
            let call = source.word(last.start + 2);
            let arguments = source.split(&(last.start + 4..last.end.checked_sub(2)?), &[","]);
            let own = arguments
                .iter()
                .any(|argument| source.joined(argument) == name);
            match call {
                "max" | "fmax" if own => "simd_max",
                "min" | "fmin" if own => "simd_min",
                _ => return None,
            }
        }
        _ => return None,
    };
    Some(Sum {
        name: name.to_owned(),
        together,
    })
}

/// Iterations that have nothing to do with each other.
fn spread(
    source: &Source<'_>,
    original: &Original<'_>,
    branch: &Branch,
    looped: &For,
) -> Result<(Changes, Class), Refusal> {
    let mut changes = Changes::default();
    let count = thread::count(source, &branch.thread, original.geometry, &mut changes);
    let count = count
        .ok_or_else(|| Refusal::new(RefusalKind::Geometry, "the number of threads is not known"))?;
    stride(source, looped, &branch.thread, &count, &mut changes);
    // The loop takes the place of the branch around it.
    let bytes = source.bytes(&branch.statement);
    let kept = source.bytes(&(looped.at..looped.body.end));
    changes.replace(bytes.start..kept.start, "");
    changes.replace(kept.end..bytes.end, "");
    Ok((changes, Class::Exact))
}

/// From a thread's place on, by the number of threads.
fn stride(source: &Source<'_>, looped: &For, thread: &Thread, by: &str, changes: &mut Changes) {
    let begin = source.joined(&looped.init);
    let begin = match begin.trim_end_matches(['u', 'U']) {
        "0" => thread.text.clone(),
        _ => format!("{} + {}", source.slice(&looped.init), thread.text),
    };
    changes.replace(source.bytes(&looped.init), begin);
    changes.replace(
        source.bytes(&looped.step),
        format!("{} += {by}", looped.variable),
    );
}

/// The first simdgroup collects, a 32nd of the rounds per lane.
fn reduced(
    source: &Source<'_>,
    branch: &Branch,
    (statements, place): (&[Span], usize),
    (looped, sum): (&For, &Sum),
) -> Result<(Changes, Class), Refusal> {
    if sum.together == "simd_sum" && !begins_with_zero(source, &statements[..place], &sum.name) {
        return refuse(
            RefusalKind::Control,
            "the sum does not begin with 0 in the branch",
        );
    }
    let text = &branch.thread.text;
    let mut changes = Changes::default();
    let test = match branch.returns {
        true => format!("{text} >= {LANES}"),
        false => format!("{text} < {LANES}"),
    };
    changes.replace(source.bytes(&branch.test), test);
    stride(
        source,
        looped,
        &branch.thread,
        &LANES.to_string(),
        &mut changes,
    );
    let indent = source.indent(looped.at);
    let together = format!("\n{indent}{0} = {1}({0});", sum.name, sum.together);
    changes.insert(source.bytes(&looped.body).end, together);
    // Declarations are for all; what writes is for the first thread.
    for rest in &statements[place + 1..] {
        if declares(source, rest) {
            continue;
        }
        changes.insert(source.bytes(rest).start, format!("if ({text} == 0) "));
    }
    let class = match sum.together {
        "simd_sum" => Class::Reassociating,
        _ => Class::Exact,
    };
    Ok((changes, class))
}

/// Returns true if one of some statements gives a variable 0.
fn begins_with_zero(source: &Source<'_>, statements: &[Span], name: &str) -> bool {
    let zeros = ["0", "0.0", "0.", "0.0f", "0u", "0.f", "0.0h", "0.h"];
    statements.iter().any(|statement| {
        statement.clone().any(|at| {
            source.word(at) == name
                && source.word(at + 1) == "="
                && zeros.contains(&source.word(at + 2))
                && matches!(source.word(at + 3), ";" | ",")
        })
    })
}

/// Returns true for `float mean = …;`
fn declares(source: &Source<'_>, statement: &Span) -> bool {
    let word = |at: usize| source.word(statement.start + at);
    let is_name =
        |text: &str| text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    is_name(word(0)) && is_name(word(1)) && !matches!(word(0), "return" | "if" | "for" | "else")
}

pub(super) fn proposed(lines: &[u32]) -> Vec<Step> {
    at_lines(RECIPE.id, false, lines, &[])
}
