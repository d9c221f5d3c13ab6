//! `assay run --serve`: a Metal kernel as an oracle, asked by the protocol of references (`docs/references.md`).
//!
//! The launch gives the geometry and the type of every buffer, as formulas over sizes; a request gives sizes and contents, by
//! the names of the kernel's arguments. Rounding errors of a result are taken relative to the largest magnitude of its
//! buffer, since nothing tells what went into each element.

use super::Args;
use super::work::{Work, failure};
use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use assay_device::ArgumentBinding;
use assay_launch::element::Element;
use assay_launch::{Buffer, Dtype, Sizes, Start};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead as _, Write as _};
use std::path::{Path, PathBuf};

/// What the program is asked.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase")]
enum Request {
    Hello {},
    Prepare(Prepare),
    Run {},
    Outputs(Outputs),
    Forget {},
}

#[derive(Debug, Deserialize)]
struct Prepare {
    sizes: Sizes,
    scalars: BTreeMap<String, f64>,
    arguments: Vec<Argument>,
}

#[derive(Debug, Deserialize)]
struct Argument {
    name: String,
    role: String,
    dtype: String,
    file: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
struct Outputs {
    files: Vec<PathBuf>,
    #[serde(default)]
    scales: Vec<PathBuf>,
}

/// Numbers that a run left, and whether they travel in double precision.
struct Computed {
    values: Vec<f64>,
    dtype: Dtype,
    double: bool,
}

/// Answers requests until there are no more.
pub(super) fn run(args: &Args, context: &Context) -> CommandResult {
    let mut work = Work::new(args, context)?;
    let mut kept: Vec<Computed> = Vec::new();
    let stdin = std::io::stdin().lock();
    for line in stdin.lines() {
        let line = line.map_err(|error| Failure::input(format!("standard input: {error}")))?;
        let answered = serde_json::from_str(&line)
            .map_err(|error| error.to_string())
            .and_then(|request| answered(request, &mut work, &mut kept, context));
        let mut reply = match answered {
            Ok(reply) => reply,
            Err(why) => json!({"ok": false, "why": why}),
        };
        if let Some(fields) = reply.as_object_mut() {
            fields.entry("ok").or_insert(Value::Bool(true));
        }
        let mut stdout = std::io::stdout().lock();
        let written = writeln!(stdout, "{reply}").and_then(|()| stdout.flush());
        if written.is_err() {
            break;
        }
    }
    Ok(Outcome::Fine)
}

fn answered(
    request: Request,
    work: &mut Work<'_>,
    kept: &mut Vec<Computed>,
    context: &Context,
) -> Result<Value, String> {
    match request {
        Request::Hello {} => {
            return Ok(json!({"protocol": 1, "name": work.function(), "clock": "host"}));
        }
        Request::Prepare(prepare) => *kept = computed(&prepare, work, context)?,
        Request::Run {} => return Err("an oracle is not timed".to_owned()),
        Request::Outputs(outputs) => {
            for (at, computed) in kept.iter().enumerate() {
                if let Some(path) = outputs.files.get(at) {
                    write(path, &computed.bytes())?;
                }
                if let Some(path) = outputs.scales.get(at) {
                    write(path, &computed.scales())?;
                }
            }
        }
        Request::Forget {} => kept.clear(),
    }
    Ok(json!({}))
}

impl Computed {
    fn bytes(&self) -> Vec<u8> {
        match self.double {
            true => doubles(self.values.iter().copied()),
            false => self.dtype.encode(&self.values),
        }
    }

    fn scales(&self) -> Vec<u8> {
        let finite = self.values.iter().filter(|value| value.is_finite());
        let most = finite.fold(0.0, |most: f64, value| most.max(value.abs()));
        doubles(self.values.iter().map(|_| most))
    }
}

fn doubles(values: impl Iterator<Item = f64>) -> Vec<u8> {
    values.flat_map(f64::to_le_bytes).collect()
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    std::fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}

/// Runs the kernel on the contents of a request; the outputs in its order.
fn computed(
    prepare: &Prepare,
    work: &mut Work<'_>,
    context: &Context,
) -> Result<Vec<Computed>, String> {
    let names = work.names();
    let index_of = |name: &str| {
        let found = names.iter().find(|(_, known)| known == name);
        let found = found.map(|(index, _)| *index);
        found.ok_or_else(|| format!("the kernel has no argument \"{name}\""))
    };
    let mut given: Vec<(u32, Vec<f64>)> = Vec::new();
    for argument in &prepare.arguments {
        if let Some(path) = &argument.file {
            let bytes =
                std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
            given.push((index_of(&argument.name)?, decoded(&argument.dtype, &bytes)?));
        }
    }
    for (name, value) in &prepare.scalars {
        given.push((index_of(name)?, vec![*value]));
    }
    let after = work
        .computed(&prepare.sizes, &given, context)
        .map_err(|failure| failure.message)?;
    let outputs = prepare.arguments.iter().filter(|it| it.role == "output");
    outputs
        .map(|argument| {
            let index = index_of(&argument.name)?;
            let found = after.iter().find(|filled| filled.index == index);
            let found = found
                .ok_or_else(|| format!("the launch has no buffer for \"{}\"", argument.name))?;
            let dtype = dtype(found.element)?;
            Ok(Computed {
                values: dtype.decode(&found.data()),
                dtype,
                double: argument.dtype == "f64",
            })
        })
        .collect()
}

fn decoded(name: &str, bytes: &[u8]) -> Result<Vec<f64>, String> {
    if name == "f64" {
        let (numbers, _) = bytes.as_chunks();
        return Ok(numbers.iter().map(|one| f64::from_le_bytes(*one)).collect());
    }
    let found = Dtype::named(name).ok_or_else(|| format!("{name} is no type of numbers"))?;
    Ok(found.decode(bytes))
}

/// The type of a buffer's numbers.
fn dtype(element: &Element) -> Result<Dtype, String> {
    Dtype::named(element.name)
        .ok_or_else(|| format!("{} is no type that oracles know", element.name))
}

/// Replaces contents that a request gives; their lengths must be those of the launch.
fn replace(filled: &mut Buffer, values: &[f64]) -> Result<(), String> {
    let bytes = dtype(filled.element)?.encode(values);
    if bytes.len() as u64 != filled.size() {
        return Err(format!(
            "buffer {} has {} bytes by the launch and {} by the request",
            filled.index,
            filled.size(),
            bytes.len()
        ));
    }
    filled.start = Start::Bytes(bytes);
    Ok(())
}

impl Work<'_> {
    /// The kernel.
    fn function(&self) -> &str {
        &self.facts.function
    }

    /// Indices and names of the kernel's buffers.
    fn names(&self) -> Vec<(u32, String)> {
        let buffers = self.facts.arguments.iter().filter_map(|argument| {
            let ArgumentBinding::Buffer(index) = argument.binding else {
                return None;
            };
            Some((index, argument.name.clone()))
        });
        buffers.collect()
    }

    /// All buffers after a run at certain sizes, with these numbers in place of the launch's contents.
    fn computed(
        &mut self,
        sizes: &Sizes,
        given: &[(u32, Vec<f64>)],
        context: &Context,
    ) -> Result<Vec<Buffer>, Failure> {
        self.prepare(sizes)?;
        for (index, values) in given {
            let filled = self.inputs.buffers.iter_mut();
            let mut filled = filled.filter(|filled| filled.index == *index);
            let bytes = self.inputs.bytes.iter_mut();
            let mut bytes = bytes.filter(|(known, _)| known == index);
            match (filled.next(), bytes.next()) {
                (Some(filled), _) => replace(filled, values).map_err(Failure::usage)?,
                (None, Some((_, bytes))) => {
                    let argument = self.facts.arguments.iter();
                    let mut argument =
                        argument.filter(|it| it.binding == ArgumentBinding::Buffer(*index));
                    let element = argument
                        .next()
                        .and_then(|it| Element::in_metal(&it.type_name));
                    if let Some(dtype) = element.and_then(|element| dtype(element).ok()) {
                        *bytes = dtype.encode(values);
                    }
                }
                (None, None) => {}
            }
        }
        let pass = self.pass(sizes)?;
        let dispatch = self.dispatch(&pass)?;
        self.repeat(&dispatch, context)?;
        let mut after = Vec::new();
        let buffers = self.buffers.clone();
        for ((index, buffer), before) in buffers.into_iter().zip(&self.inputs.buffers) {
            let data = self.engine.device().contents(buffer).map_err(failure)?;
            after.push(Buffer {
                index,
                start: Start::Bytes(data),
                ..before.clone()
            });
        }
        Ok(after)
    }
}
