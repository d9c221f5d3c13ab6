//! Choosing the one function a command is about.

use crate::error::Error;
use crate::gpu::Gpu;
use crate::image::CompiledFunction;
use crate::open::Contents;
use crate::program::{Extracted, raw_program};
use assay_agx::{Family, Isa};
use assay_report::nearest::nearest;

/// Why no single program could be chosen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SelectError {
    /// The file has no machine code, only something else.
    #[error("this {kind} holds no machine code")]
    NoMachineCode {
        /// What the file is.
        kind: &'static str,
    },
    /// No function of that name.
    #[error("no function named {asked}; {}", choices(nearest, *functions))]
    NotFound {
        /// The name given.
        asked: String,
        /// Names like it, or the first names when none is.
        nearest: Vec<String>,
        /// How many functions there are.
        functions: usize,
    },
    /// No name given and several functions to choose from.
    #[error("several functions and none chosen; {}", choices(names, *functions))]
    Ambiguous {
        /// Some of the names; functions without one are `#0`, `#1`, …
        names: Vec<String>,
        /// How many functions there are.
        functions: usize,
    },
    /// The function was found and cannot be used.
    #[error(transparent)]
    Unusable(#[from] Error),
}

impl SelectError {
    /// What the user can do about it, where there is something to do.
    pub fn advice(&self) -> Option<&'static str> {
        match self {
            SelectError::NoMachineCode { .. } => Some(
                "on a Mac, `xcrun metal-tt -arch applegpu_g13g -o out.gpubin pipelines.mtlp-json \
                 lib.metallib` compiles a metallib to machine code",
            ),
            SelectError::NotFound { .. } => None,
            SelectError::Ambiguous { .. } => Some("name one with -f"),
            SelectError::Unusable(error) => error.advice(),
        }
    }
}

fn choices(names: &[String], functions: usize) -> String {
    let more = functions.saturating_sub(names.len());
    let list = names.join(", ");
    match more {
        0 => format!("there are {list}"),
        _ => format!("there are {list} and {more} more"),
    }
}

const MOST_LISTED: usize = 8;

impl<'a> Contents<'a> {
    /// The program a command is about: the function named `name`, or the only one.
    ///
    /// A function without a name is called `#0`, `#1`, … by its place in
    /// [`Contents::compiled`]. When an archive holds a function for several GPUs, the
    /// first that can be decoded is taken. Raw code needs no name and is read as G13.
    ///
    /// ```
    /// use assay_container::open;
    /// let contents = open(&[0x88, 0x00])?;
    /// assert_eq!(contents.program(None)?.program.code, [0x88, 0x00]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn program(&self, name: Option<&str>) -> Result<Extracted, SelectError> {
        if let Contents::Code(code) = self {
            return Ok(Extracted {
                program: raw_program(Isa::default(), name.unwrap_or_default(), code),
                symbols: Vec::new(),
                code_offset: 0,
                constant_program_offset: None,
            });
        }
        let functions = self.compiled();
        if functions.is_empty() {
            let kind = self.describe();
            return Err(SelectError::NoMachineCode { kind });
        }
        let labels: Vec<String> = functions
            .iter()
            .enumerate()
            .map(|(index, function)| label(index, function))
            .collect();
        let wanted = match name {
            Some(name) => name,
            None => only(&labels)?,
        };
        let mut found = functions
            .iter()
            .zip(&labels)
            .enumerate()
            .filter(|(index, (_, label))| *label == wanted || wanted == format!("#{index}"))
            .map(|(_, (function, _))| function)
            .peekable();
        let Some(first) = found.peek().copied() else {
            return Err(not_found(wanted, &labels));
        };
        // Code whose costs are known first.
        let found: Vec<_> = found.collect();
        let of = |family| {
            let matches = |isa: Isa| isa.family() == family;
            found
                .iter()
                .copied()
                .find(|function| function.isa().is_some_and(matches))
        };
        let chosen = of(Family::G13).or_else(|| of(Family::G15)).unwrap_or(first);
        Ok(chosen.to_program()?)
    }

    /// The first function compiled for this GPU, else the first that can be decoded, whatever it is called: compilers
    /// asked for one function may leave it without its name.
    pub fn first_program(&self, gpu: Gpu) -> Result<Extracted, SelectError> {
        let functions = self.compiled();
        let wanted = functions.iter().find(|function| function.gpu == gpu);
        let readable = || functions.iter().find(|function| function.isa().is_some());
        match wanted.or_else(readable).or(functions.first()) {
            Some(function) => Ok(function.to_program()?),
            None => self.program(None),
        }
    }
}

fn label(index: usize, function: &CompiledFunction<'_>) -> String {
    function
        .name
        .as_deref()
        .map_or_else(|| format!("#{index}"), str::to_owned)
}

/// The label, when all functions share it.
fn only(labels: &[String]) -> Result<&str, SelectError> {
    let mut names: Vec<&String> = labels.iter().collect();
    names.sort();
    names.dedup();
    match names[..] {
        [name] => Ok(name),
        _ => Err(SelectError::Ambiguous {
            functions: names.len(),
            names: names.into_iter().take(MOST_LISTED).cloned().collect(),
        }),
    }
}

fn not_found(asked: &str, labels: &[String]) -> SelectError {
    let all = || labels.iter().map(String::as_str);
    let mut near = nearest(all(), asked, MOST_LISTED);
    if near.is_empty() {
        near = all().take(MOST_LISTED).collect();
    }
    SelectError::NotFound {
        asked: asked.to_owned(),
        nearest: near.into_iter().map(str::to_owned).collect(),
        functions: labels.len(),
    }
}
