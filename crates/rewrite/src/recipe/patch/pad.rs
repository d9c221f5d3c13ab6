//! Makes the rows of a threadgroup array longer, so that lanes meet in different banks.
//!
//! ## What it does
//! An array of rows, `tile[32][32]`, becomes `tile[32][33]`. A flat one that is indexed `row * 32 + column` gets rows of 33
//! in its declaration and in every index.
//!
//! ## When it applies
//! To arrays in threadgroup memory that are declared in the kernel and accessed in the line. A flat array must be indexed by
//! the length of its rows, written as a number, wherever it is used.
//!
//! ## When it hurts
//! The array grows by one element (two of 16 bits) in each row, which may cost a resident threadgroup.
//!
//! ## Example
//! `pad:line=12` in a transpose through a tile of 32 × 32 floats: a column lies in 32 banks instead of one.
//!
//! The result is bit-identical.

use super::changes::Changes;
use super::source::{Source, Span};
use super::{Original, at_lines, not_of_programs, nothing, refuse};
use crate::recipe::{Class, Parameter, Recipe, Refusal, RefusalKind, Step};

pub(in crate::recipe) const RECIPE: Recipe = Recipe {
    id: "pad",
    class: Class::Exact,
    usage: "line=LINE",
    parameters: &[Parameter::Number("line")],
    file: include_str!("pad.rs"),
    apply: not_of_programs,
    propose: nothing,
};

/// An array in threadgroup memory.
#[derive(Debug)]
struct Array {
    name: usize,
    /// The extents between brackets.
    extents: Vec<Span>,
    /// Elements that a row grows by.
    by: u64,
}

pub(super) fn edit(
    source: &Source<'_>,
    _: &Original<'_>,
    step: &Step,
) -> Result<(Changes, Class), Refusal> {
    let line = step.number("line");
    let is_used = |array: &Array| {
        let name = source.word(array.name);
        let mut uses = source.body.clone().filter(|&at| {
            at != array.name && source.word(at) == name && source.word(at + 1) == "["
        });
        uses.any(|at| line.is_none_or(|line| source.line(at) == line))
    };
    let arrays: Vec<Array> = arrays(source).into_iter().filter(is_used).collect();
    let mut changes = Changes::default();
    let mut refused = None;
    let mut done = false;
    for array in &arrays {
        let padded = match array.extents.len() {
            1 => flat(source, array, line, &mut changes),
            _ => {
                grow(
                    source,
                    &array.extents[array.extents.len() - 1],
                    array.by,
                    &mut changes,
                );
                Ok(())
            }
        };
        match padded {
            Ok(()) => done = true,
            Err(refusal) => refused = Some(refusal),
        }
    }
    match (done, refused) {
        (true, _) => Ok((changes, Class::Exact)),
        (false, Some(refusal)) => Err(refusal),
        (false, None) => refuse(
            RefusalKind::NothingToDo,
            "no threadgroup array of the kernel is accessed here",
        ),
    }
}

/// The arrays that the kernel declares in threadgroup memory.
fn arrays(source: &Source<'_>) -> Vec<Array> {
    let mut found = Vec::new();
    for at in source
        .body
        .clone()
        .filter(|&at| source.word(at) == "threadgroup")
    {
        let Some(end) = source.statement(at) else {
            continue;
        };
        let words: Vec<&str> = (at..end).map(|at| source.word(at)).collect();
        let is_narrow = words
            .iter()
            .any(|word| matches!(*word, "half" | "bfloat" | "short" | "ushort"));
        for part in source.split(&(at + 1..end - 1), &[","]) {
            let Some(open) = part.clone().find(|&at| source.word(at) == "[") else {
                continue;
            };
            let is_pointer =
                (part.start..open).any(|at| matches!(source.word(at), "*" | "&" | "="));
            if open <= part.start || is_pointer {
                continue;
            }
            let mut extents = Vec::new();
            let mut next = open;
            while source.word(next) == "[" {
                let Some(close) = source.matching(next) else {
                    break;
                };
                extents.push(next + 1..close);
                next = close + 1;
            }
            found.push(Array {
                name: open - 1,
                extents,
                by: if is_narrow { 2 } else { 1 },
            });
        }
    }
    found
}

/// Makes an extent longer.
fn grow(source: &Source<'_>, extent: &Span, by: u64, changes: &mut Changes) {
    let written = source.slice(extent);
    let longer = match written.trim().parse::<u64>() {
        Ok(number) => (number + by).to_string(),
        Err(_) => format!("{written} + {by}"),
    };
    changes.replace(source.bytes(extent), longer);
}

/// Rows of a flat array: the number that its declaration and every index multiply by.
fn flat(
    source: &Source<'_>,
    array: &Array,
    line: Option<u32>,
    changes: &mut Changes,
) -> Result<(), Refusal> {
    let access = |why: &str| Refusal::new(RefusalKind::Access, why);
    let name = source.word(array.name);
    let mut indices = Vec::new();
    for at in source.body.clone() {
        if at == array.name || source.word(at) != name || source.word(at.wrapping_sub(1)) == "." {
            continue;
        }
        let close = (source.word(at + 1) == "[")
            .then(|| source.matching(at + 1))
            .flatten();
        let close = close.ok_or_else(|| access("the array is used without an index"))?;
        indices.push((source.line(at), at + 2..close));
    }
    let rows: Vec<(u32, Vec<(u64, usize)>)> = indices
        .iter()
        .map(|(line, index)| (*line, numbers(source, index)))
        .collect();
    let here = rows
        .iter()
        .filter(|(at, _)| line.is_none_or(|line| *at == line));
    let candidates = here.flat_map(|(_, numbers)| numbers.iter().map(|(number, _)| *number));
    let row = candidates
        .filter(|number| *number > 1)
        .filter(|number| {
            rows.iter()
                .all(|(_, known)| known.iter().any(|(n, _)| n == number))
        })
        .max();
    let row = row.ok_or_else(|| access("not every index multiplies by the length of a row"))?;
    let extent = &array.extents[0];
    let factors = numbers_of(source, &source.factors(extent));
    let longer = row + array.by;
    let number = source.slice(extent).trim().parse::<u64>().ok();
    match (factors.iter().find(|(number, _)| *number == row), number) {
        (Some((_, at)), _) if factors.len() > 1 || number.is_none() => {
            changes.replace(source.bytes(&(*at..at + 1)), longer.to_string());
        }
        (_, Some(number)) if number % row == 0 => {
            changes.replace(source.bytes(extent), (number / row * longer).to_string());
        }
        _ => return Err(access("the declaration does not say how long a row is")),
    }
    for (_, at) in rows
        .iter()
        .flat_map(|(_, numbers)| numbers)
        .filter(|(n, _)| *n == row)
    {
        changes.replace(source.bytes(&(*at..at + 1)), longer.to_string());
    }
    Ok(())
}

/// Numbers that terms of an index multiply by, and their tokens.
fn numbers(source: &Source<'_>, index: &Span) -> Vec<(u64, usize)> {
    let terms = source.terms(index).unwrap_or_default();
    let products = terms.iter().map(|term| source.factors(term));
    let products = products.filter(|factors| factors.len() > 1);
    products
        .flat_map(|factors| numbers_of(source, &factors))
        .collect()
}

fn numbers_of(source: &Source<'_>, factors: &[Span]) -> Vec<(u64, usize)> {
    let number = |factor: &Span| {
        let text = source.joined(factor);
        let text = text.trim_end_matches(['u', 'U']);
        Some((text.parse().ok()?, factor.start))
    };
    factors
        .iter()
        .filter(|factor| factor.len() == 1)
        .filter_map(number)
        .collect()
}

pub(super) fn proposed(lines: &[u32]) -> Vec<Step> {
    at_lines(RECIPE.id, false, lines, &[])
}
