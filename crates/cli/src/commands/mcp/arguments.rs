//! From the parameters of a call to a command line.
//!
//! Parameters come from a model that may have been told anything: every value is bound to its flag in one word
//! (`--chip=m2`), so that none becomes a flag itself; paths must exist inside the allowed folders, by their real places, and
//! texts and files have a largest size.

use super::tools::{Kind, Own, Parameter, Tool};
use super::worker::{Input, Job};
use super::{LARGEST_FILE, LARGEST_TEXT, Limits};
use crate::failure::Failure;
use assay_launch::Written;
use assay_msl::beneath::Folders;
use rmcp::model::JsonObject;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A call, understood.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) job: Job,
    pub(super) timeout: Duration,
    /// Keep listings in the document.
    pub(super) listing: bool,
    /// Write the document's source to this new file.
    pub(super) output: Option<PathBuf>,
}

/// Understands the parameters of a call.
pub(super) fn call(tool: &Tool, given: &JsonObject, limits: &Limits) -> Result<Call, Failure> {
    refuse_unknown(tool, given)?;
    let mut reader = Reader {
        given,
        limits,
        line: tool.command.iter().map(|&word| word.to_owned()).collect(),
        after: tool.command.iter().map(|&word| word.to_owned()).collect(),
        files: Vec::new(),
        inputs: Vec::new(),
        buffers: Vec::new(),
    };
    let mut timeout = limits.timeout;
    let mut listing = false;
    let mut output = None;
    for parameter in tool.all_parameters() {
        match parameter.kind {
            Kind::Own(Own::Listing) => listing = reader.is_true(parameter)?,
            Kind::Own(Own::Timeout) => {
                if let Some(seconds) = reader.number(parameter)? {
                    timeout = timeout.min(Duration::from_secs(seconds));
                }
            }
            Kind::Own(Own::Output) => output = reader.output(parameter)?,
            _ => reader.parameter(parameter)?,
        }
    }
    if reader.buffers.is_empty() {
        reader.line.append(&mut reader.files);
        reader.after.clear();
    } else {
        // A comparison is two command lines with a file each.
        let lines = [&mut reader.line, &mut reader.after];
        for (line, file) in lines.into_iter().zip(reader.files) {
            line.push(file);
        }
    }
    Ok(Call {
        job: Job {
            roots: limits.roots.clone(),
            memory: limits.memory,
            line: reader.line,
            after: reader.after,
            buffers: reader.buffers,
            inputs: reader.inputs,
        },
        timeout,
        listing,
        output,
    })
}

fn refuse_unknown(tool: &Tool, given: &JsonObject) -> Result<(), Failure> {
    let mut names = Vec::new();
    for parameter in tool.all_parameters() {
        names.push(parameter.name.to_owned());
        if matches!(parameter.kind, Kind::Input(_) | Kind::InputFlag(_)) {
            names.push(parameter.text_name());
        }
    }
    match given.keys().find(|key| !names.contains(key)) {
        Some(unknown) => Err(
            Failure::usage(format!("{} has no parameter `{unknown}`", tool.name))
                .advice(format!("it has {}", names.join(", "))),
        ),
        None => Ok(()),
    }
}

struct Reader<'a> {
    given: &'a JsonObject,
    limits: &'a Limits,
    line: Vec<String>,
    /// The second command line of a comparison.
    after: Vec<String>,
    files: Vec<String>,
    inputs: Vec<Input>,
    buffers: Vec<u32>,
}

impl Reader<'_> {
    fn parameter(&mut self, parameter: &Parameter) -> Result<(), Failure> {
        match parameter.kind {
            Kind::Input(name) => self.input(parameter, name),
            Kind::InputFlag(flag) => {
                if let Some(file) = self.file(parameter, "source.metal")? {
                    self.line.push(format!("{flag}={file}"));
                }
                Ok(())
            }
            Kind::Word => match self.text(parameter)? {
                Some(word) => self.words(parameter, &[word]),
                None => Ok(()),
            },
            Kind::Words => {
                let words = self.texts(parameter)?;
                self.words(parameter, &words)
            }
            Kind::Switch(flag) => {
                if self.is_true(parameter)? {
                    self.both(flag.to_owned());
                }
                Ok(())
            }
            Kind::Text(flag) => {
                if let Some(text) = self.text(parameter)? {
                    self.sided(parameter, format!("{flag}={text}"));
                }
                Ok(())
            }
            Kind::Texts(flag) => {
                for text in self.texts(parameter)? {
                    self.both(joined(flag, &text));
                }
                Ok(())
            }
            Kind::Number(flag) => {
                if let Some(number) = self.number(parameter)? {
                    self.both(format!("{flag}={number}"));
                }
                Ok(())
            }
            Kind::Folders(flag) => {
                for text in self.texts(parameter)? {
                    let folder = self.inside(&text)?;
                    self.both(joined(flag, &folder.display().to_string()));
                }
                Ok(())
            }
            Kind::Launch => self.launch(parameter),
            Kind::Own(_) => self.indices(parameter),
        }
    }

    /// A word for both command lines of a comparison.
    fn both(&mut self, word: String) {
        self.after.push(word.clone());
        self.line.push(word);
    }

    /// A word for the second command line if the parameter is about it, where it replaces what both had; else for both.
    fn sided(&mut self, parameter: &Parameter, word: String) {
        let compares = !self.buffers.is_empty();
        if !compares || !parameter.name.starts_with("after_") {
            return self.both(word);
        }
        let flag = word.split('=').next().unwrap_or_default().to_owned();
        self.after
            .retain(|known| known.split('=').next() != Some(&*flag));
        self.after.push(word);
    }

    fn input(&mut self, parameter: &Parameter, name: &'static str) -> Result<(), Failure> {
        let Some(file) = self.file(parameter, name)? else {
            return Err(Failure::usage(format!(
                "`{}` or `{}` is needed",
                parameter.name,
                parameter.text_name()
            )));
        };
        self.files.push(file);
        Ok(())
    }

    /// The word of a command line for a file by path or as text.
    fn file(&mut self, parameter: &Parameter, name: &str) -> Result<Option<String>, Failure> {
        let text_name = parameter.text_name();
        let path = self.text(parameter)?;
        let text = match self.given.get(&text_name) {
            Some(Value::String(text)) => Some(text.clone()),
            None | Some(Value::Null) => None,
            Some(_) => return Err(wrong(&text_name, "a text")),
        };
        match (path, text) {
            (Some(_), Some(_)) => Err(Failure::usage(format!(
                "give `{}` or `{text_name}`, not both",
                parameter.name
            ))),
            (Some(path), None) => {
                let real = self.inside(&path)?;
                let size = real.metadata().map_or(0, |metadata| metadata.len());
                if !real.is_file() {
                    return Err(Failure::input(format!("{path} is no file")));
                }
                if size > LARGEST_FILE {
                    return Err(too_large(&path, size, LARGEST_FILE));
                }
                Ok(Some(real.display().to_string()))
            }
            (None, Some(text)) => {
                if text.len() > LARGEST_TEXT {
                    return Err(
                        too_large(&text_name, text.len() as u64, LARGEST_TEXT as u64).advice(
                            "put it in a file inside the allowed folders, and give its path",
                        ),
                    );
                }
                self.inputs.push(Input {
                    name: name.to_owned(),
                    text,
                });
                Ok(Some(name.to_owned()))
            }
            (None, None) => Ok(None),
        }
    }

    /// The real path of something inside the allowed folders; a relative path is looked for in each.
    fn inside(&self, path: &str) -> Result<PathBuf, Failure> {
        if path.is_empty() || path.contains('\0') {
            return Err(Failure::usage("a path is empty or has a NUL"));
        }
        let path = Path::new(path);
        let roots = Folders::new(&self.limits.roots);
        if path.is_absolute() {
            return Ok(roots.real(path)?);
        }
        let there = |root: &&PathBuf| roots.has(&root.join(path));
        let root = self.limits.roots.iter().find(there);
        match root.or(self.limits.roots.first()) {
            Some(root) => Ok(roots.real(&root.join(path))?),
            None => Ok(roots.real(path)?),
        }
    }

    /// A file to be made.
    fn output(&self, parameter: &Parameter) -> Result<Option<PathBuf>, Failure> {
        let Some(path) = self.text(parameter)? else {
            return Ok(None);
        };
        let real = self.inside(&path)?;
        if real
            .extension()
            .is_none_or(|extension| extension != "metal")
        {
            return Err(Failure::usage(format!(
                "{path}: its name must end in .metal"
            )));
        }
        if real.symlink_metadata().is_ok() {
            return Err(
                Failure::usage(format!("{path} exists, and is not replaced"))
                    .advice("name a new file"),
            );
        }
        Ok(Some(real))
    }

    fn words(&mut self, parameter: &Parameter, words: &[String]) -> Result<(), Failure> {
        for word in words {
            let plain = |c: char| c.is_ascii_alphanumeric() || "_-./ ".contains(c);
            if word.is_empty() || word.starts_with('-') || !word.chars().all(plain) {
                return Err(Failure::usage(format!(
                    "`{}`: `{word}` is no name",
                    parameter.name
                )));
            }
            self.both(word.clone());
        }
        Ok(())
    }

    /// The flags of a launch; no others.
    fn launch(&mut self, parameter: &Parameter) -> Result<(), Failure> {
        const FLAGS: [&str; 8] = [
            "--size",
            "--grid",
            "--groups",
            "--threadgroup",
            "--arg",
            "--buffer",
            "--bytes",
            "--tgmem",
        ];
        let Some(text) = self.text(parameter)? else {
            return Ok(());
        };
        let text = text.trim().trim_start_matches("//").trim_start();
        let text = text.strip_prefix("assay: launch").unwrap_or(text);
        let (_, written) = Written::parse(text).map_err(|mistake| {
            Failure::usage(format!("`{}`: {mistake}", parameter.name))
                .advice(format!("flags are {}", FLAGS.join(" ")))
        })?;
        let shown = written.to_string();
        let words: Vec<&str> = shown.split_whitespace().collect();
        let mut found = Vec::new();
        for pair in words.chunks(2) {
            if !FLAGS.contains(&pair[0]) {
                let (name, word) = (parameter.name, pair[0]);
                return Err(Failure::usage(format!(
                    "`{name}`: `{word}` is not a flag of a launch that is taken here"
                ))
                .advice(format!("flags are {}", FLAGS.join(" "))));
            }
            found.push(pair.join("="));
        }
        if self.buffers.is_empty() {
            found.into_iter().for_each(|word| self.both(word));
        } else if parameter.name.starts_with("after_") {
            // A launch of its own replaces the common one.
            let is_launch =
                |word: &String| FLAGS.iter().any(|f| word.starts_with(&format!("{f}=")));
            self.after.retain(|word| !is_launch(word));
            self.after.extend(found);
        } else {
            found.into_iter().for_each(|word| self.both(word));
        }
        Ok(())
    }

    fn indices(&mut self, parameter: &Parameter) -> Result<(), Failure> {
        let bad = || wrong(parameter.name, "a list of indices of buffers, one at least");
        let list = self.given.get(parameter.name).and_then(Value::as_array);
        for value in list.ok_or_else(bad)? {
            let index = value.as_u64().and_then(|index| index.try_into().ok());
            self.buffers.push(index.ok_or_else(bad)?);
        }
        if self.buffers.is_empty() || self.buffers.len() > 31 {
            return Err(bad());
        }
        Ok(())
    }

    fn text(&self, parameter: &Parameter) -> Result<Option<String>, Failure> {
        match self.given.get(parameter.name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.len() <= LARGEST_TEXT => Ok(Some(text.clone())),
            Some(Value::String(text)) => Err(too_large(
                parameter.name,
                text.len() as u64,
                LARGEST_TEXT as u64,
            )),
            Some(_) => Err(wrong(parameter.name, "a text")),
        }
    }

    fn texts(&self, parameter: &Parameter) -> Result<Vec<String>, Failure> {
        let bad = || wrong(parameter.name, "a list of texts");
        match self.given.get(parameter.name) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(list)) => list
                .iter()
                .map(|value| value.as_str().map(str::to_owned).ok_or_else(bad))
                .collect(),
            // One is as good as a list of one.
            Some(Value::String(text)) => Ok(vec![text.clone()]),
            Some(Value::Number(number)) => Ok(vec![number.to_string()]),
            Some(_) => Err(bad()),
        }
    }

    fn is_true(&self, parameter: &Parameter) -> Result<bool, Failure> {
        match self.given.get(parameter.name) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(value)) => Ok(*value),
            Some(_) => Err(wrong(parameter.name, "true or false")),
        }
    }

    fn number(&self, parameter: &Parameter) -> Result<Option<u64>, Failure> {
        match self.given.get(parameter.name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_u64() {
                Some(number) if number > 0 => Ok(Some(number)),
                _ => Err(wrong(parameter.name, "a whole number from 1")),
            },
        }
    }
}

/// A flag and its value in one word.
fn joined(flag: &str, value: &str) -> String {
    if flag.starts_with("--") {
        format!("{flag}={value}")
    } else {
        format!("{flag}{value}")
    }
}

fn wrong(name: &str, wanted: &str) -> Failure {
    Failure::usage(format!("`{name}` is {wanted}"))
}

fn too_large(name: &str, size: u64, most: u64) -> Failure {
    let mib = |bytes: u64| bytes.div_ceil(1 << 20);
    Failure::input(format!(
        "{name} has {} MiB; the most is {} MiB",
        mib(size),
        mib(most)
    ))
}
