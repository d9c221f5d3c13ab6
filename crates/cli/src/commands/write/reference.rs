//! The specification that a reference Metal kernel is: its arguments and launch, its results as the oracle.
//!
//! A buffer that starts as zeros is an output, every other an input; factors of a shape are its axes. Sizes besides the
//! launch's own are small ones at which the reference is clean.

use crate::commands::tune::file::FileLaunch;
use crate::failure::Failure;
use crate::launch::{self, Launched};
use crate::prediction::task;
use crate::source::ThisMachine;
use assay_front::{Library, Source, SourceOptions};
use assay_launch::contents::{Contents, Values, Word};
use assay_launch::element::Element;
use assay_launch::inputs::of_buffer;
use assay_launch::template::Grid;
use assay_launch::{Dtype, Formula, Sizes, Written};
use assay_ssa::{Argument as Parameter, Binding};
use assay_tune::knobs::Knobs;
use assay_tune::workbench::{Launch as _, Origin, Plan, Subject, suitable};
use std::fmt::Write as _;
use std::path::Path;

/// Sizes for finalists that a description lists.
const LISTED: usize = 4;

/// The reference's name in the folder of the kernel.
pub(super) const FILE: &str = "reference.metal";

/// A reference, read.
pub(super) struct Reference {
    /// Its source.
    pub(super) text: String,
    /// Its kernel.
    pub(super) function: String,
    /// Its dispatch, which a copy of it has, too: grid in threads, grid in threadgroups, threadgroup.
    pub(super) geometry: [Vec<String>; 3],
    /// The element type of the first output, which names of functions end with.
    pub(super) dtype: Dtype,
    /// The description that it is.
    pub(super) specification: String,
}

impl Reference {
    /// Reads a Metal file; its kernel is named where there are several.
    pub(super) fn read(
        path: &Path,
        text: &str,
        function: Option<&str>,
    ) -> Result<Reference, Failure> {
        let options = SourceOptions::default();
        let source = Source {
            path,
            text: text.as_bytes(),
        };
        let library = Library::compile(source, &ThisMachine, &options)
            .map_err(|error| crate::source::failure(path, error))?;
        let chosen = library.choose(function);
        let chosen = chosen.map_err(|error| crate::source::failure(path, error))?;
        let [kernel] = chosen else {
            let names: Vec<&str> = chosen.iter().take(20).map(|it| it.name.as_str()).collect();
            return Err(
                Failure::usage(format!("{} has {} kernels", path.display(), chosen.len()))
                    .advice(format!("say which with -f: {}", names.join(", "))),
            );
        };
        let function = kernel.name.clone();
        let origin = Origin::Source(text.to_owned(), options);
        let subject = Subject::new(
            &ThisMachine,
            origin,
            &function,
            Vec::new(),
            Knobs::default(),
        );
        let signature = subject.arguments();
        let signature = signature.map_err(|failure| Failure::input(failure.why))?;
        let found = Launched::find(
            Some(text),
            &function,
            &signature,
            Written::default(),
            &launch::files(),
        )?;
        let found = found.ok_or_else(task::no_launch)?;
        let arguments = arguments(&found)?;
        let launch = FileLaunch::new(found, None)?;
        if launch.timed().is_empty() {
            return Err(Failure::usage("the reference's launch is in plain numbers")
                .advice("name sizes, so that others can be tried: --size N=1024 --grid N"));
        }
        let plan = suitable(&subject, &launch, &[]);
        let mut plan = plan.map_err(|failure| {
            Failure::input(format!("{function}: {}", failure.why))
                .advice("a reference says what is right: repair it first")
        })?;
        plan.full.truncate(LISTED);
        plan.held_out.truncate(LISTED / 2);
        let outputs = arguments.iter().filter(|it| it.role == "output");
        let Some(first) = outputs.clone().next() else {
            return Err(Failure::usage("the reference's launch has no output")
                .advice("a buffer that starts as zeros is one: --buffer 0=zeros:f32:N"));
        };
        let dtype = first.dtype;
        let cost: Vec<String> = outputs.map(|it| it.shape.join(" * ")).collect();
        let sizes = sizes(launch.timed(), &plan)?;
        let texts = |formulas: Option<&[Formula; 3]>| {
            let formulas = formulas.into_iter().flatten();
            formulas.map(|it| it.text().to_owned()).collect()
        };
        let written = &launch.launched.launch;
        let (grid, groups) = match &written.grid {
            Some(Grid::Threads(threads)) => (Some(threads), None),
            Some(Grid::Groups(groups)) => (None, Some(groups)),
            None => (None, None),
        };
        let geometry = [
            texts(grid),
            texts(groups),
            texts(written.threadgroup.as_ref()),
        ];
        let specification = description(text, &function, &arguments, &sizes, &cost.join(" + "));
        Ok(Reference {
            text: text.to_owned(),
            function,
            geometry,
            dtype,
            specification,
        })
    }

    /// Its source with the kernel under another name: a start for whoever makes it faster.
    pub(super) fn renamed(&self, name: &str) -> String {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut text = String::new();
        let mut rest = self.text.as_str();
        while let Some((before, after)) = rest.split_once(&self.function) {
            let whole = !before.ends_with(is_word) && !after.starts_with(is_word);
            text += before;
            text += if whole { name } else { &self.function };
            rest = after;
        }
        text + rest
    }
}

/// An argument as a description has it.
struct Argument {
    name: String,
    role: &'static str,
    dtype: Dtype,
    /// Axes of a buffer, or the value of a number.
    shape: Vec<String>,
    /// Of indices: all are below this.
    below: Option<String>,
}

/// The arguments in the order of their indices, which a description counts from 0.
fn arguments(launched: &Launched) -> Result<Vec<Argument>, Failure> {
    let launch = &launched.launch;
    let buffers = launched.arguments.iter();
    let count = buffers.filter(|it| matches!(it.binding, Binding::Buffer(_)));
    (0..count.count() as u32)
        .map(|index| {
            let argument = of_buffer(&launched.arguments, index).ok_or_else(|| {
                Failure::usage(format!(
                    "the reference binds nothing to {index}, and its arguments are counted from 0"
                ))
            })?;
            let mut buffers = launch.buffers.iter().filter(|it| it.index() == Some(index));
            let mut bytes = launch.bytes.iter().filter(|it| it.index() == Some(index));
            let (described, text) = match (buffers.next(), bytes.next()) {
                (Some(bound), _) => (buffer(argument, &bound.value), bound.value.to_string()),
                (None, Some(bound)) => (number(argument, &bound.value), bound.value.to_string()),
                (None, None) => (None, "bound to nothing".to_owned()),
            };
            described.ok_or_else(|| {
                Failure::usage(format!("the reference's \"{}\" is {text}", argument.name)).advice(
                    "a reference's arguments are random:TYPE:SHAPE, index:TYPE:SHAPE:BOUND, zeros:TYPE:SHAPE and single numbers",
                )
            })
        })
        .collect()
}

fn buffer(argument: &Parameter, contents: &Contents) -> Option<Argument> {
    let Contents::Made(made) = contents else {
        return None;
    };
    let (role, below) = match &made.word {
        Word::Zeros | Word::Empty | Word::Out => ("output", None),
        Word::Random => ("input", None),
        Word::Index(bound) => ("input", Some(bound.text().to_owned())),
        Word::Iota => return None,
    };
    let element = made.element.or(Element::in_metal(&argument.type_name))?;
    Some(Argument {
        name: argument.name.clone(),
        role,
        dtype: Dtype::named(element.name)?,
        shape: made.shape.as_ref()?.formulas(),
        below,
    })
}

fn number(argument: &Parameter, values: &Values) -> Option<Argument> {
    let text = values.to_string();
    let (element, value) = text.split_once(':')?;
    if value.contains(',') {
        return None;
    }
    Some(Argument {
        name: argument.name.clone(),
        role: "scalar",
        dtype: Dtype::named(Element::named(element)?.name)?,
        shape: vec![value.to_owned()],
        below: None,
    })
}

/// Size sets by name.
fn sizes(timed: &Sizes, plan: &Plan) -> Result<Vec<(&'static str, Sizes)>, Failure> {
    let few = || {
        Failure::usage("the reference is clean at too few sizes").advice(
            "its launch names sizes that grid and buffers follow; assay run --check at another --size says what it does there",
        )
    };
    let quick = plan.quick.first().ok_or_else(few)?;
    let odd = plan.quick.get(1).unwrap_or(quick);
    let held_out = plan.held_out.first().ok_or_else(few)?;
    Ok(vec![
        ("reference", timed.clone()),
        ("quick", quick.clone()),
        ("odd", odd.clone()),
        ("held_out", held_out.clone()),
    ])
}

/// How far a kernel's results may be from the reference's, relative to the largest magnitude of their buffer.
const fn tolerance(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::F32 => "1e-5",
        Dtype::F16 | Dtype::Bf16 => "1e-2",
        Dtype::U32 | Dtype::I32 => "0",
    }
}

fn description(
    text: &str,
    function: &str,
    arguments: &[Argument],
    sizes: &[(&str, Sizes)],
    cost: &str,
) -> String {
    let comment = text.lines().next().and_then(|line| line.strip_prefix("//"));
    let summary = comment.map_or_else(
        || format!("What {function} computes"),
        |it| it.trim().to_owned(),
    );
    let quoted = |words: &[String]| {
        let words = words.iter().map(|word| format!("{word:?}"));
        words.collect::<Vec<_>>().join(", ")
    };
    let dtype = arguments.iter().find(|it| it.role == "output");
    let dtype = dtype.map_or(Dtype::F32, |it| it.dtype);
    let mut spec = format!(
        "summary = {summary:?}\noracle = {{ program = \"assay run {FILE} -f {function} --serve\" }}\ndtypes = [\"{dtype}\"]\narguments = [\n"
    );
    for argument in arguments {
        let Argument {
            name, role, dtype, ..
        } = argument;
        let _ = write!(
            spec,
            "  {{ name = {name:?}, role = \"{role}\", dtype = \"{dtype}\", "
        );
        let _ = match role {
            &"scalar" => write!(spec, "value = {}", quoted(&argument.shape)),
            _ => write!(spec, "shape = [{}]", quoted(&argument.shape)),
        };
        let _ = match (&argument.below, role) {
            (Some(bound), _) => write!(spec, ", values = \"index\", below = {bound:?}"),
            (None, &"input") if dtype.is_float() => write!(spec, ", values = \"uniform\""),
            _ => Ok(()),
        };
        spec += " },\n";
    }
    spec += "]\n\n[sizes]\n";
    for (name, sizes) in sizes {
        let pairs: Vec<String> = sizes
            .iter()
            .map(|(name, value)| format!("{name} = {value}"))
            .collect();
        let _ = writeln!(spec, "{name} = {{ {} }}", pairs.join(", "));
    }
    let _ = write!(
        spec,
        "\n[tolerance.{dtype}]\nrelative = {}\nabsolute = 0\nreason = \"relative to the largest magnitude of the reference's output, which has rounding errors of its own\"\n\n[cost]\nflops = {cost:?}\n",
        tolerance(dtype)
    );
    spec
}

#[cfg(test)]
mod tests {
    use super::{Contents, Parameter, Reference, Values, buffer, number};
    use assay_launch::Dtype;
    use assay_ssa::Binding;

    #[test]
    fn contents_say_what_an_argument_is() {
        let argument = Parameter::new("x", Binding::Buffer(0));
        let buffer = |text: &str| buffer(&argument, &text.parse::<Contents>().unwrap());
        let x = buffer("random:f16:R*C:7").unwrap();
        assert_eq!((x.role, x.dtype), ("input", Dtype::F16));
        assert_eq!(x.shape, ["R", "C"]);
        assert_eq!(buffer("zeros:f32:R").unwrap().role, "output");
        let ids = buffer("index:u32:N:V").unwrap();
        assert_eq!(ids.below.as_deref(), Some("V"));
        let two = Values::new("u32:1,2", None);
        assert!(buffer("x.npy").is_none() && number(&argument, &two).is_none());
        let axes = |shape: &str| buffer(&format!("zeros:f32:{shape}")).unwrap().shape;
        assert_eq!(axes("R*(C+1)"), ["R", "(C+1)"]);
        assert_eq!(axes("(R+1)*C+R"), ["(R+1)*C+R"]);
        assert_eq!(axes("(R*C+1)"), ["(R*C+1)"]);
    }

    #[test]
    fn a_copy_has_another_name_and_its_helpers_keep_theirs() {
        let reference = Reference {
            text: "float sum_of(float a);\nkernel void sum() { sum_of(1); }\n// assay: launch sum --grid 1".to_owned(),
            function: "sum".to_owned(),
            geometry: Default::default(),
            dtype: Dtype::F32,
            specification: String::new(),
        };
        assert_eq!(
            reference.renamed("k_f32"),
            "float sum_of(float a);\nkernel void k_f32() { sum_of(1); }\n// assay: launch k_f32 --grid 1"
        );
    }
}
