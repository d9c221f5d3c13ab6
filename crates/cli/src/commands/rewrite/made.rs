//! A kernel after some recipes: as its author's source as long as recipes only edited that, as a printed program afterwards.

use super::Args;
use crate::failure::{Failure, Kind};
use crate::prediction::Launched;
use crate::source::{self, ThisMachine};
use assay_front::{Form, Library, OpenConstants, Request, Source, SourceOptions};
use assay_rewrite::recipe::patch::{self, Original};
use assay_rewrite::recipe::{Applied, Class, RECIPES, Step, apply, choices};

/// A recipe, its class, and its steps or why it has none.
pub(super) type Offered = (&'static str, Class, Result<Vec<Step>, String>);

/// What recipes have made so far.
pub(super) struct Made {
    pub(super) applied: Applied,
    /// The author's source with edits; none once a program was rewritten.
    pub(super) text: Option<String>,
    /// An edit was applied, which holds only where it is proven.
    pub(super) is_edited: bool,
}

impl Made {
    /// The source as recipes that edit it see it.
    fn original(&self) -> Option<Original<'_>> {
        let candidate = &self.applied.candidate;
        self.text.as_deref().map(|text| Original {
            text,
            kernel: &candidate.kernel,
            geometry: &candidate.geometry,
        })
    }

    /// After one more step.
    pub(super) fn next(self, step: &Step, args: &Args) -> Result<Made, Failure> {
        let refused = |refusal: assay_rewrite::recipe::Refusal| {
            let message = format!("{step} does not apply: {}", refusal.why);
            let page = format!("`assay explain {}` says when it does", step.recipe().id);
            Failure::new(Kind::Verdict, message).advice(page)
        };
        if let Some(original) = self.original().filter(|_| patch::is_edit(step.recipe())) {
            let edited = patch::edit(&original, step).map_err(refused)?;
            let mut applied = self.applied.clone();
            applied.candidate.module = module(args, &applied.candidate.kernel, &edited.text)?;
            applied.candidate.geometry = edited.geometry;
            applied.class = applied.class.max(edited.class);
            return Ok(Made {
                applied,
                text: Some(edited.text),
                is_edited: true,
            });
        }
        let next = apply(&self.applied.candidate, step).map_err(refused)?;
        let next = Applied {
            class: self.applied.class.max(next.class),
            candidate: next.candidate,
        };
        let edited = self
            .original()
            .and_then(|it| patch::as_edit(&it, step, &next));
        Ok(Made {
            text: edited.map(|edited| edited.text),
            applied: next,
            is_edited: self.is_edited,
        })
    }

    /// What could be applied next: a recipe, its class, and its steps or why it has none.
    pub(super) fn choices(&self) -> Vec<Offered> {
        let of_program = choices(&self.applied.candidate).into_iter();
        let of_program = of_program.filter(|choice| !patch::is_edit(choice.recipe));
        let mut all: Vec<_> = of_program
            .map(|choice| {
                let steps = choice.steps.map_err(|refusal| refusal.why);
                (choice.recipe.id, choice.recipe.class, steps)
            })
            .collect();
        for recipe in RECIPES.iter().filter(|recipe| patch::is_edit(recipe)) {
            let steps = match self.original() {
                None => Err("it edits source, and this is no longer its author's".to_owned()),
                Some(original) => match patch::proposals(&original, recipe.id) {
                    steps if steps.is_empty() => {
                        Err("nothing in the source is of its kind".to_owned())
                    }
                    steps => Ok(steps),
                },
            };
            all.push((recipe.id, recipe.class, steps));
        }
        all
    }
}

/// How a text is compiled that came from a file.
pub(super) fn compiled(args: &Args, text: &str) -> Result<Library, Failure> {
    let options: SourceOptions = args.source.options(&args.file);
    let source = Source {
        path: &args.file,
        text: text.as_bytes(),
    };
    let library = Library::compile(source, &ThisMachine, &options);
    library.map_err(|error| source::failure(&args.file, error))
}

fn module(args: &Args, kernel: &str, text: &str) -> Result<assay_ssa::Module, Failure> {
    let fail = |error: assay_front::Error| source::failure(&args.file, error);
    let library = compiled(args, text)?;
    let kernel = library.kernel(kernel).map_err(fail)?;
    let request = Request {
        constants: &args.values.constants,
        open: OpenConstants::Zero,
        form: Form::LoopsKept,
    };
    Ok(kernel.program_as(&request).map_err(fail)?.module)
}

/// The author's source with another launch in its comment; where it has none, the comment is the first line.
pub(super) fn relaunched(text: &str, kernel: &str, before: &Launched, after: &Launched) -> String {
    if before.launch.to_string() == after.launch.to_string() {
        return text.to_owned();
    }
    let mut comments = assay_launch::comments(text);
    let found = comments.find(|comment| comment.kernel().is_none_or(|name| name == kernel));
    let Some(found) = found else {
        return format!("// {}\n{text}", after.launch.comment(kernel));
    };
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    if let Some(line) = lines.get_mut(found.line as usize - 1) {
        *line = with_shape(line, &after.launch.shape());
        let bytes = after.launch.bytes.iter().skip(before.launch.bytes.len());
        for bound in bytes {
            *line += &format!(" --bytes {bound}");
        }
    }
    lines.join("\n")
}

/// A launch comment with another grid and threadgroup.
fn with_shape(line: &str, shape: &str) -> String {
    let mut out: Vec<&str> = Vec::new();
    let mut words = line.split(' ');
    let mut place = None;
    while let Some(word) = words.next() {
        match word {
            "--grid" | "--groups" | "--threadgroup" => {
                words.next();
                place.get_or_insert(out.len());
            }
            _ => out.push(word),
        }
    }
    out.insert(place.unwrap_or(out.len()), shape);
    out.join(" ")
}

#[cfg(test)]
mod tests {
    use super::with_shape;

    #[test]
    fn only_the_shape_of_a_launch_comment_changes() {
        let line =
            "// assay: launch k --size N=64 --grid N,N --threadgroup 256,1 --arg y=zeros:f32:N";
        let expected =
            "// assay: launch k --size N=64 --grid N --threadgroup 32 --arg y=zeros:f32:N";
        assert_eq!(with_shape(line, "--grid N --threadgroup 32"), expected);
    }
}
