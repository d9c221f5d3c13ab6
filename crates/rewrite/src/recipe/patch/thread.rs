//! Which expressions say which thread this is, and how many threads there are.

use super::changes::Changes;
use super::source::{Source, Span};
use crate::recipe::{AXES, Geometry};

/// Among which threads a position counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Threadgroup,
    Grid,
}

/// An expression that is a thread's position along an axis.
#[derive(Clone, Debug)]
pub(super) struct Thread {
    /// `tid`, `at.x`.
    pub(super) text: String,
    pub(super) scope: Scope,
    axis: usize,
    /// It is the index in the whole threadgroup.
    linear: bool,
}

/// Parameters that are positions.
const POSITIONS: [(&str, Scope, bool); 3] = [
    ("thread_position_in_threadgroup", Scope::Threadgroup, false),
    ("thread_index_in_threadgroup", Scope::Threadgroup, true),
    ("thread_position_in_grid", Scope::Grid, false),
];

/// Every expression that is a position.
pub(super) fn threads(source: &Source<'_>) -> Vec<Thread> {
    let mut found = Vec::new();
    for parameter in source.parameters() {
        let position = POSITIONS
            .iter()
            .find(|(name, ..)| *name == parameter.attribute);
        let Some(&(_, scope, linear)) = position else {
            continue;
        };
        let thread = |text: String, axis| Thread {
            text,
            scope,
            axis,
            linear,
        };
        match axes(parameter.ty) {
            1 => found.push(thread(parameter.name.to_owned(), 0)),
            n => found.extend(
                (0..n).map(|axis| thread(format!("{}.{}", parameter.name, AXES[axis]), axis)),
            ),
        }
    }
    found
}

/// Components of a type of positions.
pub(super) fn axes(ty: &str) -> usize {
    let last = ty.chars().last().and_then(|last| last.to_digit(10));
    last.filter(|n| (2..=3).contains(n))
        .map_or(1, |n| n as usize)
}

/// The thread that an expression is.
pub(super) fn of<'t>(
    source: &Source<'_>,
    threads: &'t [Thread],
    span: &Span,
) -> Option<&'t Thread> {
    let direct = source.joined(&source.bare(span));
    let resolved = source.joined(&source.resolved(span));
    threads
        .iter()
        .find(|thread| thread.text == direct || thread.text == resolved)
}

/// An expression for how many threads there are. One for the grid may need another parameter.
pub(super) fn count(
    source: &Source<'_>,
    thread: &Thread,
    geometry: &Geometry,
    changes: &mut Changes,
) -> Option<String> {
    let wanted = match thread.scope {
        Scope::Threadgroup => "threads_per_threadgroup",
        Scope::Grid => "threads_per_grid",
    };
    let parameters = source.parameters();
    let group = geometry.plain_threadgroup();
    let flat = group.is_some_and(|[_, y, z]| y * z == 1);
    if thread.linear && !flat {
        return group.map(|group| group.iter().product::<u32>().to_string());
    }
    if let Some(known) = parameters
        .iter()
        .find(|parameter| parameter.attribute == wanted)
    {
        return Some(match axes(known.ty) {
            1 => known.name.to_owned(),
            _ => format!("{}.{}", known.name, AXES[thread.axis]),
        });
    }
    // Of a grid that is no multiple of it, the last threadgroups have fewer threads than the launch says.
    let own = parameters.iter().find(|parameter| {
        POSITIONS
            .iter()
            .any(|(name, _, linear)| *name == parameter.attribute && !linear)
    });
    let ty = own.map_or("uint", |own| own.ty);
    let name = source.fresh("threads");
    let end = source.bytes(&source.parameters).end;
    changes.insert(end, format!(", {ty} {name} [[{wanted}]]"));
    Some(match axes(ty) {
        1 => name,
        _ => format!("{name}.{}", AXES[thread.axis]),
    })
}
