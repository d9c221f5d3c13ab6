//! The kernel to tune, and what becomes of it with other values of its knobs.

use crate::attempts::{Failure, Genome, Stage};
use crate::knobs::{Knobs, defined, with_value};
use assay_agx::{Isa, Program};
use assay_codegen::Options;
use assay_device::Argument;
use assay_front::{
    Compiler, Form, GivenConstant, Kernel, Library, OpenConstants, Request, Source, SourceOptions,
};
use assay_launch::Sizes;
use assay_rewrite::PREAMBLE;
use assay_rewrite::recipe::{Applied, Candidate, Class, Geometry};
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Where a kernel comes from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// Metal source, compiled with these options.
    Source(String, SourceOptions),
    /// A library that was compiled elsewhere.
    Library(Library),
}

/// What messages call the source of a candidate.
const PRINTED: &str = "candidate.metal";

/// Names and values of knobs.
type Settings = [(String, String)];

/// Libraries by the values of all knobs.
type Libraries = FxHashMap<Vec<(String, String)>, Arc<Library>>;

/// The kernel to tune.
pub struct Subject<'a> {
    /// What compiles source.
    pub compiler: &'a dyn Compiler,
    /// Where the kernel comes from.
    pub origin: Origin,
    /// Where its source is, for messages.
    pub path: PathBuf,
    /// Its name.
    pub function: String,
    /// Values of function constants.
    pub constants: Vec<GivenConstant>,
    /// Its knobs.
    pub knobs: Knobs,
    libraries: Mutex<Libraries>,
}

/// What a knob is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// A function constant.
    Constant,
    /// A macro.
    Macro,
}

impl<'a> Subject<'a> {
    /// A kernel with its knobs.
    pub fn new(
        compiler: &'a dyn Compiler,
        origin: Origin,
        function: &str,
        constants: Vec<GivenConstant>,
        knobs: Knobs,
    ) -> Subject<'a> {
        Subject {
            compiler,
            origin,
            path: PathBuf::from("kernel.metal"),
            function: function.to_owned(),
            constants,
            knobs,
            libraries: Mutex::default(),
        }
    }

    /// The value of a knob that the original has: the source's own, else the first of its list.
    fn own_value(&self, name: &str) -> Option<String> {
        if let Origin::Source(text, _) = &self.origin
            && let Some(value) = defined(text, name)
        {
            return Some(value.to_owned());
        }
        let knob = self.knobs.knobs.iter().find(|knob| knob.name == name)?;
        knob.values.first().map(|value| value.text.clone())
    }

    /// All knobs with their values: those given, the others as in the original.
    fn settings(&self, given: &Settings) -> Vec<(String, String)> {
        let value = |name: &str| {
            let given = given.iter().find(|(known, _)| known == name);
            given
                .map(|(_, value)| value.clone())
                .or_else(|| self.own_value(name))
        };
        let knobs = self.knobs.knobs.iter();
        knobs
            .filter_map(|knob| Some((knob.name.clone(), value(&knob.name)?)))
            .collect()
    }

    /// The numbers of all knobs, as formulas see them.
    pub(super) fn numbers(&self, given: &Settings) -> Sizes {
        let number =
            |(name, value): (String, String)| Some((name, crate::space::Value::new(value).number?));
        self.settings(given)
            .into_iter()
            .filter_map(number)
            .collect()
    }

    /// The user's own source with other values of knobs; none of a library.
    pub(super) fn text(&self, given: &Settings) -> Option<String> {
        let Origin::Source(text, _) = &self.origin else {
            return None;
        };
        let mut text = text.clone();
        for (name, value) in self.settings(given) {
            if let Some(changed) = with_value(&text, &name, &value) {
                text = changed;
            }
        }
        Some(text)
    }

    /// How that source is compiled: macros that it does not define are given.
    fn options(&self, given: &Settings) -> SourceOptions {
        let Origin::Source(text, options) = &self.origin else {
            return SourceOptions::default();
        };
        let mut options = options.clone();
        for (name, value) in self.settings(given) {
            if defined(text, &name).is_none() && !is_function_constant(text, &name) {
                options
                    .defines
                    .retain(|define| define.split('=').next() != Some(name.as_str()));
                options.defines.push(format!("{name}={value}"));
            }
        }
        options
    }

    /// How the source of a stranger is compiled: as the user's own, but no file besides our headers can be read.
    pub(super) fn stranger_options(&self, checked: bool) -> SourceOptions {
        let own = match &self.origin {
            Origin::Source(_, options) => options.clone(),
            Origin::Library(_) => SourceOptions::default(),
        };
        SourceOptions {
            fast_math: own.fast_math,
            standard: own.standard,
            checked,
            within: Some(Vec::new()),
            ..SourceOptions::default()
        }
    }

    /// The program of a stranger's source, before any recipe.
    pub(super) fn stranger(&self, text: &str) -> Result<assay_front::Program, Failure> {
        let options = self.stranger_options(false);
        let library = self.compile(Path::new(PRINTED), text, &options)?;
        let kernel = library.kernel(&self.function).map_err(compile_failure)?;
        let request = Request {
            constants: &self.constants,
            open: OpenConstants::Zero,
            form: Form::LoopsKept,
        };
        kernel.program_as(&request).map_err(compile_failure)
    }

    /// The library with these values of knobs.
    fn library(&self, given: &Settings) -> Result<Arc<Library>, Failure> {
        if let Origin::Library(library) = &self.origin {
            return Ok(Arc::new(library.clone()));
        }
        let key = self.settings(given);
        let known = self.libraries.lock().ok();
        if let Some(found) = known.and_then(|known| known.get(&key).cloned()) {
            return Ok(found);
        }
        let text = self.text(given).unwrap_or_default();
        let library = Arc::new(self.compile(&self.path, &text, &self.options(given))?);
        if let Ok(mut known) = self.libraries.lock() {
            known.insert(key, Arc::clone(&library));
        }
        Ok(library)
    }

    fn compile(
        &self,
        path: &Path,
        text: &str,
        options: &SourceOptions,
    ) -> Result<Library, Failure> {
        let source = Source {
            path,
            text: text.as_bytes(),
        };
        Library::compile(source, self.compiler, options)
            .map_err(|error| Failure::new(Stage::Compile, first_line(&error.to_string())))
    }

    /// Values of function constants, those of knobs among them.
    fn given_constants(
        &self,
        kernel: &Kernel,
        given: &Settings,
    ) -> Result<Vec<GivenConstant>, Failure> {
        let mut constants = self.constants.clone();
        if self.knobs.knobs.is_empty() {
            return Ok(constants);
        }
        let request = Request {
            constants: &[],
            open: OpenConstants::Keep,
            form: Form::AsRead,
        };
        let module = kernel.program_as(&request).map_err(compile_failure)?.module;
        for (name, value) in self.settings(given) {
            let found = module
                .function_constants
                .iter()
                .find(|(_, constant)| constant.name == name);
            let Some((_, constant)) = found else { continue };
            let ty = match value.as_str() {
                "true" | "false" => "bool".to_owned(),
                _ => constant.ty.to_string(),
            };
            let text = format!("{name}={ty}:{value}");
            let parsed: GivenConstant = text
                .parse()
                .map_err(|error| Failure::new(Stage::Compile, format!("{error}")))?;
            constants.retain(|known| !known.key.is(constant.index, &constant.name));
            constants.push(parsed);
        }
        Ok(constants)
    }

    /// The program of the author's text with edits, with these values of knobs.
    pub(super) fn edited(
        &self,
        given: &Settings,
        text: &str,
        geometry: Geometry,
    ) -> Result<Applied, Failure> {
        let library = self.compile(&self.path, text, &self.options(given))?;
        let kernel = library.kernel(&self.function).map_err(compile_failure)?;
        self.applied(kernel, given, geometry)
    }

    /// The program with these values of knobs, before any recipe.
    pub(super) fn program(&self, given: &Settings, geometry: Geometry) -> Result<Applied, Failure> {
        let library = self.library(given)?;
        let kernel = library.kernel(&self.function).map_err(compile_failure)?;
        self.applied(kernel, given, geometry)
    }

    fn applied(
        &self,
        kernel: &Kernel,
        given: &Settings,
        mut geometry: Geometry,
    ) -> Result<Applied, Failure> {
        let constants = self.given_constants(kernel, given)?;
        let request = Request {
            constants: &constants,
            open: OpenConstants::Zero,
            form: Form::LoopsKept,
        };
        let module = kernel.program_as(&request).map_err(compile_failure)?.module;
        geometry.sizes.extend(self.numbers(given));
        Ok(Applied {
            candidate: Candidate {
                module,
                kernel: self.function.clone(),
                geometry,
            },
            class: Class::Exact,
        })
    }

    /// What runs for a genome: the library with the kernel, and values of function constants. `checked` asks for one that
    /// can be checked.
    pub(super) fn runs(
        &self,
        genome: &Genome,
        source: Option<&str>,
        checked: bool,
    ) -> Result<(Arc<Library>, Vec<GivenConstant>), Failure> {
        if genome.steps.is_empty() {
            let library = match (&self.origin, checked) {
                (Origin::Source(..), true) => {
                    let options = SourceOptions {
                        checked,
                        ..self.options(&genome.knobs)
                    };
                    let text = self.text(&genome.knobs).unwrap_or_default();
                    Arc::new(self.compile(&self.path, &text, &options)?)
                }
                _ => self.library(&genome.knobs)?,
            };
            let kernel = library.kernel(&self.function).map_err(compile_failure)?;
            let constants = self.given_constants(kernel, &genome.knobs)?;
            return Ok((library, constants));
        }
        let text = source.unwrap_or_default();
        let is_edited = !super::written::is_written(genome) && !text.starts_with(PREAMBLE);
        if is_edited {
            let options = SourceOptions {
                checked,
                ..self.options(&genome.knobs)
            };
            let library = Arc::new(self.compile(&self.path, text, &options)?);
            let kernel = library.kernel(&self.function).map_err(compile_failure)?;
            let constants = self.given_constants(kernel, &genome.knobs)?;
            return Ok((library, constants));
        }
        let options = match super::written::is_plain(genome) {
            true => self.stranger_options(checked),
            false => SourceOptions {
                checked,
                ..SourceOptions::default()
            },
        };
        let library = self.compile(Path::new(PRINTED), text, &options)?;
        Ok((Arc::new(library), Vec::new()))
    }

    /// The machine code of a genome.
    pub(super) fn code(
        &self,
        genome: &Genome,
        source: Option<&str>,
        threadgroup: [u32; 3],
    ) -> Result<Program, Failure> {
        let (library, constants) = self.runs(genome, source, false)?;
        self.generated(&library, &constants, threadgroup)
    }

    /// The same for several threadgroups.
    pub(super) fn codes(
        &self,
        genome: &Genome,
        source: Option<&str>,
        threadgroups: &[[u32; 3]],
    ) -> Result<Vec<Program>, Failure> {
        let (library, constants) = self.runs(genome, source, false)?;
        let mut made: Vec<([u32; 3], Program)> = Vec::new();
        let mut programs = Vec::new();
        for &threadgroup in threadgroups {
            let known = made.iter().find(|known| known.0 == threadgroup);
            let program = match known {
                Some((_, program)) => program.clone(),
                None => {
                    let program = self.generated(&library, &constants, threadgroup)?;
                    made.push((threadgroup, program.clone()));
                    program
                }
            };
            programs.push(program);
        }
        Ok(programs)
    }

    /// The machine code of the kernel in another text, compiled as the user's own.
    pub(super) fn code_of_text(
        &self,
        text: &str,
        knobs: &Settings,
        threadgroup: [u32; 3],
    ) -> Result<Program, Failure> {
        let library = self.compile(&self.path, text, &self.options(knobs))?;
        let kernel = library.kernel(&self.function).map_err(compile_failure)?;
        let constants = self.given_constants(kernel, knobs)?;
        self.generated(&library, &constants, threadgroup)
    }

    fn generated(
        &self,
        library: &Library,
        constants: &[GivenConstant],
        threadgroup: [u32; 3],
    ) -> Result<Program, Failure> {
        let kernel = library.kernel(&self.function).map_err(compile_failure)?;
        let request = Request {
            constants,
            open: OpenConstants::Zero,
            form: Form::Optimised,
        };
        let module = kernel.program_as(&request).map_err(compile_failure)?.module;
        let options = Options {
            isa: Isa::G13,
            threadgroup: Some(threadgroup),
        };
        assay_codegen::generate(&module, &self.function, &options)
            .map_err(|error| Failure::new(Stage::Limits, error.to_string()))
    }

    /// The arguments of the kernel.
    pub fn arguments(&self) -> Result<Vec<Argument>, Failure> {
        let applied = self.program(&[], Geometry::plain([1; 3], [1; 3]))?;
        let kernel = applied.candidate.declaration();
        let kernel = kernel.map_err(|refusal| Failure::new(Stage::Compile, refusal.why))?;
        Ok(kernel.arguments.clone())
    }

    /// A sentence about a knob that reaches nothing, if there is one: no function constant, no macro the source uses, no
    /// formula of the launch has its name.
    pub fn idle_knob(&self, geometry: &Geometry) -> Option<String> {
        let settings = self.settings(&[]);
        for (name, _) in &settings {
            let used = match self.place(name) {
                Some(Place::Constant) => true,
                Some(Place::Macro) => {
                    matches!(&self.origin, Origin::Source(text, _) if mentions(text, name))
                }
                None => false,
            };
            if !used && !in_formulas(geometry, name) {
                return Some(format!(
                    "the knob {name} is no function constant of {}, no macro of its source and no name in the launch",
                    self.function
                ));
            }
        }
        None
    }

    fn place(&self, name: &str) -> Option<Place> {
        let library = self.library(&[]).ok()?;
        let kernel = library.kernel(&self.function).ok()?;
        let request = Request {
            constants: &[],
            open: OpenConstants::Keep,
            form: Form::AsRead,
        };
        let module = kernel.program_as(&request).ok()?.module;
        let mut constants = module.function_constants.iter();
        if constants.any(|(_, constant)| constant.name == name) {
            return Some(Place::Constant);
        }
        matches!(self.origin, Origin::Source(..)).then_some(Place::Macro)
    }
}

/// Returns true if a source declares a function constant of a name: `constant int TM [[function_constant(0)]];`.
fn is_function_constant(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let alone = !text
            .get(..at)
            .is_some_and(|before| before.ends_with(is_word));
        let behind = text.get(at + name.len()..).unwrap_or_default().trim_start();
        let attribute = behind.strip_prefix("[[").map(str::trim_start);
        alone && attribute.is_some_and(|it| it.starts_with("function_constant"))
    })
}

/// Returns true if a source uses a name outside comments about knobs and launches.
fn mentions(text: &str, name: &str) -> bool {
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("// assay:"));
    let mut words =
        lines.flat_map(|line| line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')));
    words.any(|word| word == name)
}

fn in_formulas(geometry: &Geometry, name: &str) -> bool {
    let grid = geometry.grid_threads();
    let formulas = grid
        .iter()
        .chain(&geometry.threadgroup)
        .chain(&geometry.threadgroup_memory)
        .chain(geometry.numbers.iter().map(|number| &number.value));
    let mut names = formulas.flat_map(|formula| formula.names());
    names.any(|(known, _)| known == name)
}

fn compile_failure(error: assay_front::Error) -> Failure {
    Failure::new(Stage::Compile, first_line(&error.to_string()))
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_constant_of_a_source_is_no_macro() {
        let text = "// TM\nconstant int TM [[function_constant(0)]];\nconstant int N = TM;\n";
        assert!(is_function_constant(text, "TM"));
        assert!(!is_function_constant(text, "M") && !is_function_constant(text, "N"));
    }
}
