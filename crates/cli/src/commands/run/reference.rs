//! What results are compared with besides oracles: arrays in files, and what another kernel computes.

use super::judge::Right;
use super::work::{Work, failure};
use crate::failure::Failure;
use crate::launch::Asked;
use crate::{input, source};
use assay_bench::oracle::Answer;
use assay_bench::oracle::launched::Expected;
use assay_engine::{Launched, Runner};
use assay_launch::contents::{Contents, Word, seed_of};
use assay_launch::element::Element;
use assay_launch::inputs::of_buffer;
use assay_launch::npy::Array;
use assay_launch::{Buffer, Dtype, Sizes, Target, Written};
use assay_ssa::{Argument, Binding};
use std::path::{Path, PathBuf};

/// As many elements as there are inputs for each output, where nothing else is known of what a kernel adds up.
fn inputs_per_output(work: &Work<'_>, output: Option<u32>) -> u64 {
    let count = |buffer: &Buffer| buffer.size() / buffer.element.size as u64;
    let largest = work.inputs.buffers.iter().map(count).max().unwrap_or(1);
    let own = output.and_then(|index| work.inputs.buffer(index));
    largest / own.map_or(1, count).max(1)
}

/// What arrays in files say.
pub(super) fn of_files(work: &Work<'_>, expect: &[String]) -> Result<Right, Failure> {
    let mut expected = Vec::new();
    let mut names = Vec::new();
    for text in expect {
        let (name, file) = text.split_once('=').ok_or_else(|| {
            Failure::usage(format!(
                "--expect {text}: expected the name of a buffer, = and a file"
            ))
            .advice("--expect y=FILE.npy")
        })?;
        let (index, own) = buffer_of(work, name)?;
        let array = Array::parse(&input::open(Path::new(file))?);
        let array = array.map_err(|why| {
            Failure::input(format!("{file}: {why}")).advice("numpy.save writes such files")
        })?;
        let values = numbers(&array).ok_or_else(|| {
            Failure::input(format!(
                "{file} holds `{}`: expected f64, f32, f16, i32 or u32",
                array.descr
            ))
            .advice("numpy's .astype('float32') makes it one that can be compared")
        })?;
        let buffer = work.inputs.buffer(index);
        let count = buffer.map_or(0, |buffer| buffer.size() / buffer.element.size as u64);
        if values.len() as u64 != count {
            return Err(Failure::usage(format!(
                "--expect {text}: {file} has {} elements, and {own} has {count}",
                values.len()
            ))
            .advice("the launch says how large a buffer is: --arg NAME=out, --size NAME=N"));
        }
        names.push(file.to_owned());
        expected.push(expected_of(work, index, own, values)?);
    }
    Ok(Right {
        by: names.join(", "),
        terms: inputs_per_output(work, expected.first().map(|it| it.index)),
        expected,
        own: None,
    })
}

/// A buffer of the launch by its name or index.
fn buffer_of(work: &Work<'_>, name: &str) -> Result<(u32, String), Failure> {
    let arguments = &work.facts.arguments;
    let bound = work.inputs.buffers.iter().map(|buffer| {
        let argument = of_buffer(arguments, buffer.index);
        let name = argument.map_or_else(|| buffer.index.to_string(), |it| it.name.clone());
        (buffer.index, name)
    });
    let bound: Vec<(u32, String)> = bound.collect();
    let index = name.parse::<u32>().ok();
    let found = bound
        .iter()
        .find(|(known, own)| own == name || index == Some(*known));
    found.cloned().ok_or_else(|| {
        let names: Vec<&str> = bound.iter().map(|(_, name)| name.as_str()).collect();
        Failure::usage(format!(
            "--expect {name}=…: the launch binds no buffer of that name"
        ))
        .advice(format!("it binds {}", names.join(", ")))
    })
}

fn expected_of(
    work: &Work<'_>,
    index: u32,
    name: String,
    values: Vec<f64>,
) -> Result<Expected, Failure> {
    let element = work.inputs.buffer(index).map(|buffer| buffer.element);
    let dtype = element.and_then(|element| Dtype::named(element.name));
    let dtype = dtype.ok_or_else(|| {
        Failure::usage(format!(
            "{name} holds {}: results are compared as f32, f16, bf16, u32 or i32",
            element.map_or("nothing", |element| element.name)
        ))
        .advice(format!(
            "assay run --out {index}=FILE.npy keeps it, for numpy.array_equal"
        ))
    })?;
    Ok(Expected {
        index,
        dtype,
        name,
        answer: Answer::of_buffer(values),
    })
}

/// The numbers of an array.
fn numbers(array: &Array) -> Option<Vec<f64>> {
    if array.descr == "<f8" {
        let chunks = array.data.as_chunks::<8>().0.iter();
        return Some(chunks.map(|bytes| f64::from_le_bytes(*bytes)).collect());
    }
    let element = Element::of_array(&array.descr)?;
    Some(Dtype::named(element.name)?.decode(&array.data))
}

/// What another kernel leaves in its buffers.
pub(super) fn of_kernel(work: &Work<'_>, sizes: &Sizes, text: &str) -> Result<Right, Failure> {
    let (path, wanted) = place(text);
    let bytes = input::open(&path)?;
    let file = source::open(&path, &bytes)?;
    let options = work.args.source.options(&path);
    let library = source::library_as(&path, &file, &options)?;
    let own = work.facts.function.as_str();
    let names: Vec<&str> = library
        .kernels()
        .iter()
        .map(|kernel| kernel.name.as_str())
        .collect();
    let kernel = match (&wanted, names.as_slice()) {
        (Some(wanted), _) => wanted.clone(),
        (None, [only]) => (*only).to_owned(),
        (None, all) if all.contains(&own) => own.to_owned(),
        (None, all) => {
            let message = format!(
                "--against {text}: {} has {} kernels, and none is {own}",
                path.display(),
                all.len()
            );
            let names = all.iter().take(8).copied().collect::<Vec<_>>().join(", ");
            return Err(Failure::usage(message).advice(format!(
                "name one: --against {}:NAME, of {names}",
                path.display()
            )));
        }
    };
    library
        .choose(Some(&kernel))
        .map_err(|error| source::failure(&path, error))?;
    let settings = assay_device::Settings {
        cancel: Some(crate::interrupt::flag()),
        max_steps: work.args.max_steps,
        ..assay_device::Settings::default()
    };
    let constants = &work.args.values.constants;
    let mut runner = Runner::new(&library, &kernel, constants, settings).map_err(failure)?;
    let arguments = runner.facts().arguments.clone();
    let asked = Asked {
        path: &path,
        bytes: &bytes,
        kernel: &kernel,
        arguments: &arguments,
        options,
        constants,
    };
    let launched = like(work, &asked)?;
    let (geometry, inputs) = launched.bound(sizes)?;
    let after = runner.run(geometry, &inputs).map_err(|error| {
        let failure = failure(error);
        Failure {
            message: format!("--against {text}: {}", failure.message),
            ..failure
        }
    })?;
    let mut expected = Vec::new();
    for output in work.inputs.outputs() {
        let name = of_buffer(&work.facts.arguments, output.index).map_or("", |it| it.name.as_str());
        let same = arguments
            .iter()
            .find(|it| it.name == name)
            .and_then(|it| match it.binding {
                Binding::Buffer(index) => Some(index),
                _ => None,
            });
        let is_named = arguments
            .iter()
            .any(|it| work.facts.arguments.iter().any(|own| own.name == it.name));
        let index = same.or((!is_named).then_some(output.index));
        let index = index.unwrap_or(u32::MAX);
        let held = after.iter().find(|(known, _)| *known == index);
        let dtype = inputs
            .buffer(index)
            .and_then(|it| Dtype::named(it.element.name));
        let Some(((_, held), dtype)) = held.zip(dtype) else {
            return Err(Failure::usage(format!(
                "--against {text}: {kernel} has no buffer for {name}"
            ))
            .advice("both kernels name or number their buffers alike"));
        };
        expected.push(expected_of(
            work,
            output.index,
            name.to_owned(),
            dtype.decode(held),
        )?);
    }
    if expected.is_empty() {
        return Err(Failure::usage(format!(
            "--against {text}: {own} writes no buffer of the launch"
        )));
    }
    Ok(Right {
        by: format!("{kernel} of {}", path.display()),
        terms: inputs_per_output(work, expected.first().map(|it| it.index)),
        expected,
        own: None,
    })
}

/// `FILE[:KERNEL]`; a file whose name has a colon wins.
fn place(text: &str) -> (PathBuf, Option<String>) {
    let whole = PathBuf::from(text);
    match text.rsplit_once(':') {
        Some((file, kernel)) if !whole.exists() && !kernel.is_empty() => {
            (PathBuf::from(file), Some(kernel.to_owned()))
        }
        _ => (whole, None),
    }
}

/// The launch of the other kernel: its own geometry where its source says one, and the inputs of this run.
fn like(work: &Work<'_>, asked: &Asked<'_>) -> Result<Launched, Failure> {
    let ours = &work.launched.launch;
    let own = asked.written(Written::default())?;
    let bindings = Written {
        sizes: ours.sizes.clone(),
        buffers: ours.buffers.clone(),
        bytes: ours.bytes.clone(),
        ..Written::default()
    };
    let bindings = by_name(bindings, &work.facts.arguments, asked.arguments);
    let geometry = Written {
        grid: ours.grid.clone(),
        threadgroup: ours.threadgroup.clone(),
        memory: ours.memory.clone(),
        memory_in_all: ours.memory_in_all.clone(),
        ..Written::default()
    };
    let files = &work.launched.files;
    let bindings = Launched::new(bindings, asked.kernel, asked.arguments, files)?;
    let rest = match own {
        Some(own) => own,
        None => Launched::new(geometry, asked.kernel, asked.arguments, files)?,
    };
    let origin = rest.origin;
    let files = bindings.files.clone();
    Ok(Launched {
        files,
        ..bindings.over(rest, origin)
    })
}

/// The same bindings by the names of arguments, where both kernels have them, with the numbers that they have here.
fn by_name(mut bindings: Written, ours: &[Argument], theirs: &[Argument]) -> Written {
    let renamed = |target: &Target| {
        let index = target.index()?;
        let name = &of_buffer(ours, index)?.name;
        theirs
            .iter()
            .any(|it| it.name == *name)
            .then(|| Target::Name(name.clone()))
    };
    for bound in &mut bindings.buffers {
        if let (Some(index), Contents::Made(made)) = (bound.index(), &mut bound.value) {
            made.seed = made
                .seed
                .or(matches!(made.word, Word::Random | Word::Index(_)).then(|| seed_of(index)));
            let element = of_buffer(ours, index);
            made.element = made.element.or(element
                .and_then(|it| Element::in_metal(&it.type_name))
                .filter(|_| element.is_some_and(|it| it.size as usize <= 4)));
        }
        if let Some(target) = renamed(&bound.target) {
            bound.target = target;
        }
    }
    for bound in &mut bindings.bytes {
        if let Some(target) = renamed(&bound.target) {
            bound.target = target;
        }
    }
    // Where names agree, what has no namesake there is not bound; otherwise indices decide.
    let named = |target: &Target| matches!(target, Target::Name(_));
    let is_named = bindings.buffers.iter().any(|bound| named(&bound.target));
    let known = |target: &Target| match target {
        Target::Name(_) => true,
        Target::Index(index) => !is_named && of_buffer(theirs, *index).is_some(),
    };
    bindings.buffers.retain(|bound| known(&bound.target));
    bindings.bytes.retain(|bound| known(&bound.target));
    bindings
}
