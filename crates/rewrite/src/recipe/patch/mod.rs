//! Recipes that edit the source itself: whatever an edit does not name stays as its author wrote it, so that the result is
//! a patch of a few lines.
//!
//! An edit goes by the form of the text. It is proposed at lines that a finding names, and holds only once it is proven:
//! compiled, run beside the original, checked for races. [`edit`] makes the new text of a [`Step`], or says why not.

mod changes;
mod combine_atomics;
mod interleave;
mod pad;
mod regroup;
mod relax_barrier;
mod share_branch;
mod source;
mod thread;
mod tokens;

use super::{Applied, Candidate, Class, Geometry, Recipe, Refusal, RefusalKind, Step};
use changes::Changes;
use source::Source;

pub(super) use combine_atomics::RECIPE as COMBINE_ATOMICS;
pub(super) use interleave::RECIPE as INTERLEAVE;
pub(super) use pad::RECIPE as PAD;
pub(super) use relax_barrier::RECIPE as RELAX_BARRIER;
pub(super) use share_branch::RECIPE as SHARE_BRANCH;

/// A kernel in the source that its author wrote.
#[derive(Clone, Copy, Debug)]
pub struct Original<'a> {
    /// The file.
    pub text: &'a str,
    /// The kernel's name.
    pub kernel: &'a str,
    /// How it is dispatched.
    pub geometry: &'a Geometry,
}

/// An edited source.
#[derive(Clone, Debug)]
pub struct Edited {
    /// The file.
    pub text: String,
    /// How the kernel is dispatched now.
    pub geometry: Geometry,
    /// How its result compares with the original's.
    pub class: Class,
}

/// Changes the text of a kernel.
type Edit = fn(&Source<'_>, &Original<'_>, &Step) -> Result<(Changes, Class), Refusal>;

/// Steps that may apply to a kernel with these lines.
type Propose = fn(&[u32]) -> Vec<Step>;

/// Lines of a kernel that edits are proposed at.
const MOST_LINES: usize = 400;

/// Recipes that are edits and nothing else.
const EDITS: &[(&str, Edit, Propose)] = &[
    (INTERLEAVE.id, interleave::edit, interleave::proposed),
    (PAD.id, pad::edit, pad::proposed),
    (
        COMBINE_ATOMICS.id,
        combine_atomics::edit,
        combine_atomics::proposed,
    ),
    (SHARE_BRANCH.id, share_branch::edit, share_branch::proposed),
    (
        RELAX_BARRIER.id,
        relax_barrier::edit,
        relax_barrier::proposed,
    ),
];

/// Returns true if a recipe is an edit of source and nothing else.
pub fn is_edit(recipe: &Recipe) -> bool {
    EDITS.iter().any(|(id, ..)| *id == recipe.id)
}

/// Edits the source of a kernel.
pub fn edit(original: &Original<'_>, step: &Step) -> Result<Edited, Refusal> {
    let id = step.recipe().id;
    let Some((_, edit, _)) = EDITS.iter().find(|(known, ..)| *known == id) else {
        return refuse(
            RefusalKind::Program,
            "the recipe rewrites programs, not their source",
        );
    };
    let source = Source::of(original)?;
    let (changes, class) = edit(&source, original, step)?;
    let text = changes.applied(original.text);
    if text == original.text {
        return refuse(RefusalKind::NothingToDo, "nothing here is of its kind");
    }
    Ok(Edited {
        text,
        geometry: original.geometry.clone(),
        class,
    })
}

/// The source of a kernel to which a recipe of programs was applied, where that is the old source with few changes: another
/// geometry, or positions exchanged.
pub fn as_edit(original: &Original<'_>, step: &Step, applied: &Applied) -> Option<Edited> {
    let source = Source::of(original).ok()?;
    let changes = regroup::changes(&source, original, step)?;
    Some(Edited {
        text: changes.applied(original.text),
        geometry: applied.candidate.geometry.clone(),
        class: applied.class,
    })
}

/// Steps of an edit that apply to a source, each with another result.
pub fn proposals(original: &Original<'_>, recipe: &str) -> Vec<Step> {
    let Some((_, edit, propose)) = EDITS.iter().find(|(known, ..)| *known == recipe) else {
        return Vec::new();
    };
    let Ok(source) = Source::of(original) else {
        return Vec::new();
    };
    let mut lines: Vec<u32> = source.body.clone().map(|at| source.line(at)).collect();
    lines.dedup();
    lines.truncate(MOST_LINES);
    let mut texts = Vec::new();
    let mut steps = propose(&lines);
    steps.retain(|step| {
        let text = edit(&source, original, step).map(|(changes, _)| changes.applied(original.text));
        let is_new = text
            .as_ref()
            .is_ok_and(|text| text != original.text && !texts.contains(text));
        texts.extend(text.ok().filter(|_| is_new));
        is_new
    });
    steps
}

/// What an edit says of a program.
fn not_of_programs(_: &Candidate, _: &Step) -> Result<Applied, Refusal> {
    refuse(
        RefusalKind::Program,
        "it edits source, so it comes before recipes that rewrite the program, and needs Metal source",
    )
}

/// Edits are proposed at lines, not for programs.
fn nothing(_: &Candidate) -> Vec<Step> {
    Vec::new()
}

fn refuse<T>(kind: RefusalKind, why: &str) -> Result<T, Refusal> {
    Err(Refusal::new(kind, why))
}

/// Steps everywhere, if the recipe may go without a line, then at each line.
fn at_lines(recipe: &'static str, everywhere: bool, lines: &[u32], words: &[&str]) -> Vec<Step> {
    let everywhere = everywhere.then_some(None);
    let places = everywhere
        .into_iter()
        .chain(lines.iter().copied().map(Some));
    places
        .filter_map(|line| step(recipe, line, words))
        .collect()
}

/// A step at a line, or everywhere.
fn step(recipe: &'static str, line: Option<u32>, words: &[&str]) -> Option<Step> {
    let line = line.map(|line| ("line", line));
    let words = words.iter().map(|word| (*word, 1));
    let given: Vec<(&str, u32)> = line.into_iter().chain(words).collect();
    Step::new(recipe, &given)
}

#[cfg(test)]
mod tests;
