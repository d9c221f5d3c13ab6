//! Compiled GPU code: a Mach-O for an Apple GPU and the functions inside it.
//!
//! ```text
//! Mach-O (AppleGPU)                 one slice of a binary archive, or a .gpubin
//! ├─ __TEXT,__compute               also __vertex, __fragment, __object, __mesh, …
//! │   └─ Mach-O per function
//! │       ├─ __TEXT,__text          machine code, divided by symbols:
//! │       │                         _agc.main, _agc.main.constant_program, helpers
//! │       └─ __GPU_METADATA         registers, spills, memory
//! ├─ __TEXT,__descriptor            the pipeline, with the function's name
//! └─ __TEXT,__metallib              the AIR it was compiled from, sometimes
//! ```

use crate::descriptor;
use crate::error::{Error, Problem};
use crate::gpu::{Gpu, Target};
use crate::macho::{self, MachO};
use crate::metadata::Metadata;
use crate::mtlb::{self, FunctionKind, Metallib};
use crate::view::View;
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

/// Machine code for one GPU.
#[derive(Clone, Debug)]
pub struct Image<'a> {
    /// The GPU.
    pub gpu: Gpu,
    /// The functions, in the file's order.
    pub functions: Vec<CompiledFunction<'a>>,
    /// Metallibs stored beside the code.
    pub metallibs: Vec<Metallib<'a>>,
    /// Where the image starts in the file.
    pub offset: u64,
}

/// A pipeline stage, by the section that holds its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stage {
    /// A kernel.
    Compute,
    /// A vertex function.
    Vertex,
    /// A fragment function.
    Fragment,
    /// An object function.
    Object,
    /// A mesh function.
    Mesh,
    /// A tile function.
    Tile,
    /// Not stated: the Mach-O was found outside a stage's section.
    Unstated,
}

const STAGES: &[(&str, Stage)] = &[
    ("__compute", Stage::Compute),
    ("__vertex", Stage::Vertex),
    ("__fragment", Stage::Fragment),
    ("__object", Stage::Object),
    ("__mesh", Stage::Mesh),
    ("__tile", Stage::Tile),
];

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = STAGES.iter().find(|(_, stage)| stage == self);
        f.write_str(found.map_or("unstated", |(name, _)| name.trim_start_matches('_')))
    }
}

/// The machine code of one function.
#[derive(Clone)]
pub struct CompiledFunction<'a> {
    /// Its name, if the file tells it: machine code itself is anonymous.
    pub name: Option<Cow<'a, str>>,
    /// The stage it belongs to.
    pub stage: Stage,
    /// The GPU it was compiled for.
    pub gpu: Gpu,
    /// All its code: `__TEXT,__text`.
    pub code: &'a [u8],
    /// Where the code starts in the file.
    pub code_offset: u64,
    /// The code divided by symbols, in order of address.
    pub parts: Vec<CodePart<'a>>,
    /// What the compiler stated; `None` when the file has no metadata.
    pub metadata: Option<Metadata<'a>>,
    /// Why metadata that is there could not be read.
    pub metadata_error: Option<Error>,
}

impl fmt::Debug for CompiledFunction<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompiledFunction")
            .field("name", &self.name)
            .field("stage", &self.stage)
            .field("gpu", &self.gpu)
            .field("code_offset", &self.code_offset)
            .field("code_bytes", &self.code.len())
            .field("parts", &self.parts)
            .field("metadata", &self.metadata)
            .finish_non_exhaustive()
    }
}

/// A stretch of code under one symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodePart<'a> {
    /// The symbol.
    pub name: Cow<'a, str>,
    /// What it is.
    pub role: Role,
    /// Where it lies in [`CompiledFunction::code`].
    pub range: Range<usize>,
}

/// What a stretch of code is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Run by every thread.
    Main,
    /// Run once per dispatch; its results go to uniform registers. Mesa calls it
    /// the preamble.
    ConstantProgram,
    /// Called from the others.
    Helper,
}

impl Role {
    fn of(symbol: &str) -> Role {
        match symbol {
            "_agc.main" => Role::Main,
            _ if symbol.ends_with(".constant_program") => Role::ConstantProgram,
            _ => Role::Helper,
        }
    }
}

impl<'a> CompiledFunction<'a> {
    /// The code run by every thread.
    pub fn main(&self) -> Option<&CodePart<'a>> {
        self.part(Role::Main)
    }

    /// The code run once per dispatch.
    pub fn constant_program(&self) -> Option<&CodePart<'a>> {
        self.part(Role::ConstantProgram)
    }

    /// Functions called from the others.
    pub fn helpers(&self) -> impl Iterator<Item = &CodePart<'a>> {
        self.parts.iter().filter(|part| part.role == Role::Helper)
    }

    /// The bytes of a part.
    pub fn bytes_of(&self, part: &CodePart<'_>) -> &'a [u8] {
        self.code.get(part.range.clone()).unwrap_or_default()
    }

    /// An error unless the code can be decoded.
    pub fn check_decodable(&self) -> Result<(), Error> {
        if self.isa().is_some() {
            return Ok(());
        }
        let gpu = self.gpu.to_string();
        Err(Error::new(self.code_offset, Problem::Undecodable { gpu }))
    }

    fn part(&self, role: Role) -> Option<&CodePart<'a>> {
        self.parts.iter().find(|part| part.role == role)
    }
}

impl<'a> Image<'a> {
    /// Reads a Mach-O for an Apple GPU: an archive's slice, or a single function.
    pub fn read(view: View<'a>) -> Result<Self, Error> {
        let mut image = Image::read_anonymous(view)?;
        let names = Names::of(image.metallibs.iter());
        image.name_functions(&names);
        Ok(image)
    }

    /// The same without names, which an archive takes from all its slices.
    pub(crate) fn read_anonymous(view: View<'a>) -> Result<Self, Error> {
        let outer = MachO::read(view)?;
        let Target::AppleGpu(gpu) = outer.target else {
            return Err(Error::malformed(
                view.offset(4),
                format!("not code for an Apple GPU but for {}", outer.target),
            ));
        };
        let mut image = Image {
            gpu,
            functions: Vec::new(),
            metallibs: Vec::new(),
            offset: view.offset(0),
        };
        for section in &outer.sections {
            let stage = STAGES.iter().find(|(name, _)| *name == section.name);
            if let Some(&(_, stage)) = stage.filter(|_| section.segment == "__TEXT") {
                image.read_functions(section.data, stage)?;
            } else if section.data.bytes().starts_with(mtlb::MAGIC) {
                image.metallibs.push(Metallib::read(section.data)?);
            }
        }
        if image.functions.is_empty() && outer.section("__TEXT", "__text").is_some() {
            image
                .functions
                .push(function(&outer, gpu, Stage::Unstated)?);
        }
        image.name_by_descriptor(&outer);
        Ok(image)
    }

    /// With one function and one descriptor there is no doubt which describes which.
    fn name_by_descriptor(&mut self, outer: &MachO<'a>) {
        let mut sections = outer
            .sections
            .iter()
            .filter(|section| section.name == "__descriptor");
        if let ([function], Some(section), None) =
            (&mut self.functions[..], sections.next(), sections.next())
        {
            function.name = descriptor::function_name(section.data);
        }
    }

    /// A section holds one Mach-O per function, one after the other.
    fn read_functions(&mut self, section: View<'a>, stage: Stage) -> Result<(), Error> {
        let mut at = 0;
        while let Some(start) = next_macho(section, at) {
            let inner = MachO::read(section.tail(start, "a nested Mach-O")?)?;
            let gpu = match inner.target {
                Target::AppleGpu(gpu) => gpu,
                _ => self.gpu,
            };
            self.functions.push(function(&inner, gpu, stage)?);
            at = start.saturating_add(inner.extent);
        }
        if at == 0 && !section.is_empty() {
            return Err(Error::malformed(
                section.offset(0),
                format!("the {stage} section holds no Mach-O"),
            ));
        }
        Ok(())
    }

    /// Gives functions the names that metallibs in the same file tell.
    pub(crate) fn name_functions(&mut self, names: &Names<'a>) {
        let only_function = self.functions.len() == 1;
        for function in &mut self.functions {
            let stated = function
                .metadata
                .iter()
                .flat_map(Metadata::strings)
                .find(|text| names.all.contains(*text));
            function.name = function
                .name
                .take()
                .or(stated.map(Cow::Borrowed))
                .or_else(|| {
                    let only_kernel = names.only_kernel.clone();
                    only_kernel.filter(|_| only_function && function.stage == Stage::Compute)
                });
        }
    }
}

/// The function names that metallibs tell.
pub(crate) struct Names<'a> {
    all: HashSet<Cow<'a, str>>,
    /// The kernel's name, when there is exactly one.
    only_kernel: Option<Cow<'a, str>>,
}

impl<'a> Names<'a> {
    pub(crate) fn of<'m>(metallibs: impl Iterator<Item = &'m Metallib<'a>>) -> Self
    where
        'a: 'm,
    {
        let mut all = HashSet::new();
        let mut kernels = 0;
        let mut only_kernel = None;
        for function in metallibs.flat_map(Metallib::functions) {
            if function.kind == FunctionKind::Kernel && all.insert(function.name.clone()) {
                kernels += 1;
                only_kernel = (kernels == 1).then(|| function.name.clone());
            } else {
                all.insert(function.name.clone());
            }
        }
        Names { all, only_kernel }
    }
}

fn next_macho(section: View<'_>, from: u64) -> Option<u64> {
    let from = usize::try_from(from).ok()?;
    let rest = section.bytes().get(from..)?;
    let found = rest.windows(4).position(|window| window == macho::MAGIC)?;
    Some((from + found) as u64)
}

fn function<'a>(inner: &MachO<'a>, gpu: Gpu, stage: Stage) -> Result<CompiledFunction<'a>, Error> {
    let (index, text) = inner
        .sections
        .iter()
        .enumerate()
        .find(|(_, section)| section.segment == "__TEXT" && section.name == "__text")
        .ok_or_else(|| {
            Error::missing(inner.offset, "a GPU Mach-O without a section __TEXT,__text")
        })?;
    let metadata = inner
        .sections
        .iter()
        .find(|section| section.segment == "__GPU_METADATA" || section.name == "__GPU_METADATA")
        .map(|section| Metadata::read(section.data));
    let (metadata, metadata_error) = match metadata {
        None => (None, None),
        Some(Ok(metadata)) => (Some(metadata), None),
        Some(Err(error)) => (None, Some(error)),
    };
    Ok(CompiledFunction {
        name: None,
        stage,
        gpu,
        code: text.data.bytes(),
        code_offset: text.data.offset(0),
        parts: parts(inner, index, text.address, text.data.bytes().len()),
        metadata,
        metadata_error,
    })
}

/// Divides a text section by its symbols; without symbols all of it is main.
fn parts<'a>(inner: &MachO<'a>, text: usize, address: u64, size: usize) -> Vec<CodePart<'a>> {
    let mut starts: Vec<(usize, &Cow<'a, str>)> = inner
        .symbols
        .iter()
        .filter(|symbol| symbol.section == text && !is_label(&symbol.name))
        .filter_map(|symbol| {
            let start = usize::try_from(symbol.address.checked_sub(address)?).ok()?;
            (start < size).then_some((start, &symbol.name))
        })
        .collect();
    // Two names for one address: the shorter, `_agc.main`, is the one known elsewhere.
    starts.sort_by(|a, b| (a.0, a.1.len(), a.1).cmp(&(b.0, b.1.len(), b.1)));
    starts.dedup_by_key(|(start, _)| *start);
    let ends = starts
        .iter()
        .skip(1)
        .map(|&(start, _)| start)
        .chain([size])
        .collect::<Vec<_>>();
    let parts: Vec<_> = starts
        .iter()
        .zip(ends)
        .map(|(&(start, name), end)| CodePart {
            name: name.clone(),
            role: Role::of(name),
            range: start..end,
        })
        .collect();
    if parts.is_empty() && size > 0 {
        return vec![CodePart {
            name: Cow::Borrowed("_agc.main"),
            role: Role::Main,
            range: 0..size,
        }];
    }
    parts
}

/// Labels of the assembler, which divide nothing.
fn is_label(name: &str) -> bool {
    name.is_empty() || name.starts_with("ltmp") || name.starts_with('L')
}
