//! The two passes over a source and what lies between them.

use crate::arguments;
use crate::cache::Cache;
use crate::compiler::{Compiler, Run};
use crate::confine::{Allowed, readable_names};
use crate::diagnostic::{self, Diagnostic, Note, Place, Raw, source_line};
use crate::flags;
use crate::headers::{self, Part};
use crate::kernel_info::KernelInfo;
use crate::link::Linked;
use crate::locate::Locator;
use crate::overlay::Overlay;
use crate::patch::Patched;
use crate::pragmas;
use crate::rewrite::{self, ModuleRecord, Rewritten};
use crate::sandbox::Access;
use crate::specification;
use crate::standard::Standard;
use crate::text_rules::{self, Author, Refused};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// A source to compile.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Its name in messages; quoted includes are searched beside it first.
    pub path: &'a Path,
    /// Its text.
    pub text: &'a [u8],
}

/// How to compile.
#[derive(Clone, Debug)]
pub struct Options {
    /// Folders for `#include`, in order (`-I`).
    pub include_folders: Vec<PathBuf>,
    /// Files that stand before the source, in order, as a host program puts them there (`-include`).
    pub include_files: Vec<PathBuf>,
    /// Other sources of the same library, compiled with the same options and linked: a kernel may call their functions.
    pub link_files: Vec<PathBuf>,
    /// Macros, `NAME` or `NAME=VALUE` (`-D`).
    pub defines: Vec<String>,
    /// The version of the language.
    pub standard: Standard,
    /// Metal's default arithmetic; off for `-fno-fast-math`.
    pub fast_math: bool,
    /// Whether instructions carry the line of the source they came from.
    pub debug_lines: bool,
    /// Make a program to be checked: nothing is optimised away, and clang warns.
    pub checked: bool,
    /// What to produce.
    pub emit: Emit,
    /// The folders whose files may be read, for sources of strangers; everywhere when there are none.
    pub within: Option<Vec<PathBuf>>,
    /// A folder of ours to keep precompiled headers and bitcode in.
    pub cache: PathBuf,
}

/// The form of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emit {
    /// LLVM bitcode.
    Bitcode,
    /// The same as LLVM's text, for people and tests.
    Text,
}

/// A compiled source.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// Bitcode, or LLVM's text as bytes.
    pub code: Vec<u8>,
    /// The kernels by the names a host program uses, in source order. Sizes and types of
    /// arguments are in the bitcode, see [`crate::kernel_info`].
    pub kernels: Vec<KernelInfo>,
    /// Functions of other stages, which are not compiled.
    pub others: Vec<crate::StageFunction>,
    /// What clang warns of in the user's files, if the program is to be checked.
    pub warnings: Vec<Diagnostic>,
}

impl Compiled {
    /// The functions of other stages in words, for a source without kernels; nothing if there are none.
    ///
    /// ```
    /// # use assay_msl::{Compiled, StageFunction};
    /// let others = ["corner", "edge"].map(|name| StageFunction { stage: "vertex", name: name.to_owned() });
    /// let compiled = Compiled { code: Vec::new(), kernels: Vec::new(), others: others.to_vec(), warnings: Vec::new() };
    /// assert_eq!(compiled.other_functions().unwrap(), "vertex: corner, edge");
    /// ```
    pub fn other_functions(&self) -> Option<String> {
        let mut stages: Vec<(&str, Vec<&str>)> = Vec::new();
        for function in &self.others {
            match stages
                .iter_mut()
                .find(|(stage, _)| *stage == function.stage)
            {
                Some((_, names)) => names.push(&function.name),
                None => stages.push((function.stage, vec![&function.name])),
            }
        }
        let texts = stages
            .into_iter()
            .map(|(stage, names)| format!("{stage}: {}", names.join(", ")));
        let texts: Vec<String> = texts.collect();
        (!texts.is_empty()).then(|| texts.join("; "))
    }
}

/// Why a source did not compile.
#[derive(Debug)]
pub enum Error {
    /// The source has errors.
    Source(Vec<Diagnostic>),
    /// The compiler does not run.
    CannotRun {
        /// Its command line.
        compiler: String,
        /// Why.
        error: std::io::Error,
    },
    /// The compiler does not accept our own library: its first words.
    Library(String),
    /// The cache folder cannot be used.
    Cache {
        /// The folder.
        folder: PathBuf,
        /// Why.
        error: std::io::Error,
    },
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Source(diagnostics) => match diagnostics.first() {
                Some(first) => write!(f, "{first}"),
                None => write!(f, "the compiler failed without saying why"),
            },
            Error::CannotRun { compiler, error } => write!(f, "cannot run {compiler}: {error}"),
            Error::Library(first) => {
                write!(
                    f,
                    "the compiler does not accept Assay's Metal headers: {first}"
                )
            }
            Error::Cache { folder, error } => {
                write!(
                    f,
                    "cannot keep compiled headers in {}: {error}",
                    folder.display()
                )
            }
        }
    }
}

impl std::error::Error for Error {}

impl Options {
    /// Metal's defaults: Metal 3.1, fast math, lines recorded, bitcode.
    pub fn new(cache: impl Into<PathBuf>) -> Self {
        Options {
            include_folders: Vec::new(),
            include_files: Vec::new(),
            link_files: Vec::new(),
            defines: Vec::new(),
            standard: Standard::default(),
            fast_math: true,
            debug_lines: true,
            checked: false,
            emit: Emit::Bitcode,
            within: None,
            cache: cache.into(),
        }
    }
}

/// Compiles `source` with `compiler`.
///
/// ```no_run
/// use assay_msl::{Compiler, Options, Source, compile};
/// use std::path::Path;
///
/// let text = b"kernel void twice(device float* x, uint i [[thread_position_in_grid]]) { x[i] *= 2; }";
/// let source = Source { path: Path::new("twice.metal"), text };
/// let compiled = compile(source, &Compiler::new("clang-19"), &Options::new("/tmp/assay"))?;
/// assert_eq!(compiled.kernels[0].name, "twice");
/// # Ok::<(), assay_msl::Error>(())
/// ```
pub fn compile(
    source: Source<'_>,
    compiler: &Compiler,
    options: &Options,
) -> Result<Compiled, Error> {
    refuse_defines(&options.defines)?;
    let mut session = Session::new(compiler, options);
    let text = text_of(source);
    refuse_embedding(source.path, &text)?;
    let preprocessed = session.preprocess(source.path, &text)?;
    session.fast_operators &= !pragmas::begins_safe(&preprocessed);
    session.part = Part::of(&preprocessed);
    text_rules::check(&preprocessed, Author::User).map_err(|refused| {
        let unchanged = Patched::unchanged("");
        let locator = Locator {
            path: source.path,
            source: &text,
            within: options.within.as_deref(),
            preprocessed: &preprocessed,
            patched: &unchanged,
        };
        against_the_rules(&refused, refused.offset, &locator)
    })?;
    let preprocessed = session.expand_pragmas(source.path, &text, preprocessed)?;
    let rewritten = session.rewrite(source.path, &preprocessed);
    let locator = Locator {
        path: source.path,
        source: &text,
        within: options.within.as_deref(),
        preprocessed: &preprocessed,
        patched: &rewritten.patched,
    };
    if !rewritten.problems.is_empty() {
        return Err(Error::Source(problems(&rewritten, &locator)));
    }
    let patched = &rewritten.patched;
    // What clang is given is looked at as it is, whatever the rewriting has made of it.
    text_rules::check(&patched.text, Author::Rewriting)
        .map_err(|refused| against_the_rules(&refused, patched.origin(refused.offset), &locator))?;
    session.linked = Linked::new(compiler, options)?;
    let run = session.compile(&patched.text)?;
    session.confine_diagnostics(source.path, &run)?;
    if !run.success {
        return Err(failure(&run, &locator));
    }
    let mut compiled = Compiled {
        warnings: warnings(&run, &locator),
        code: run.stdout,
        kernels: rewritten.kernels,
        others: rewritten.others,
    };
    session.linked.add_to(&mut compiled);
    Ok(compiled)
}

/// Refuses what is given as a macro and is something else to clang.
fn refuse_defines(defines: &[String]) -> Result<(), Error> {
    let wrong = defines.iter().find(|define| !arguments::is_macro(define));
    wrong.map_or(Ok(()), |define| {
        Err(Error::Source(vec![Diagnostic {
            message: format!(
                "-D {}: not a macro: expected NAME or NAME=VALUE, in one line, as in -D TILE=16",
                define.escape_debug()
            ),
            place: None,
            source_line: None,
            notes: Vec::new(),
        }]))
    })
}

/// Refuses a source that embeds a file.
fn refuse_embedding(path: &Path, text: &str) -> Result<(), Error> {
    let Some(line) = text_rules::embeds(text) else {
        return Ok(());
    };
    let place = Place {
        file: path.to_owned(),
        line: u32::try_from(line).unwrap_or(u32::MAX),
        column: 0,
    };
    Err(Error::Source(vec![Diagnostic {
        message: text_rules::EMBED.to_owned(),
        source_line: source_line(&place, (path, text), Some(&[])),
        place: Some(place),
        notes: Vec::new(),
    }]))
}

fn against_the_rules(refused: &Refused, offset: usize, locator: &Locator<'_>) -> Error {
    let place = locator.of_preprocessed(offset);
    Error::Source(vec![Diagnostic {
        message: refused.message.to_owned(),
        source_line: place.as_ref().and_then(|place| locator.line(place)),
        place,
        notes: Vec::new(),
    }])
}

/// The text clang is given for `source`, for looking at when something is wrong.
pub fn rewritten_text(
    source: Source<'_>,
    compiler: &Compiler,
    options: &Options,
) -> Result<String, Error> {
    refuse_defines(&options.defines)?;
    let session = Session::new(compiler, options);
    let text = text_of(source);
    let preprocessed = session.preprocess(source.path, &text)?;
    Ok(session.rewrite(source.path, &preprocessed).patched.text)
}

/// The pass over tokens alone, for text without macros or includes: no compiler is called.
///
/// ```
/// let text = assay_msl::rewritten_tokens("kernel void k(device float* x [[buffer(0)]]) { x[0] = 1; }");
/// assert!(!text.contains("[[buffer"));
/// ```
pub fn rewritten_tokens(preprocessed: &str) -> String {
    let record = ModuleRecord {
        language: Standard::default().name(),
        fast_math: true,
        source: "",
    };
    rewrite::rewrite(preprocessed, &record).patched.text
}

/// The source, without the mark some editors put before it.
fn text_of(source: Source<'_>) -> Cow<'_, str> {
    let text = source.text;
    String::from_utf8_lossy(text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text))
}

struct Session<'a> {
    compiler: &'a Compiler,
    options: &'a Options,
    /// Operators carry fast-math flags unless a pragma says otherwise. Which version an unqualified function is depends
    /// on the options alone.
    fast_operators: bool,
    /// The part of the library that the source includes.
    part: Part,
    /// The other files of the library.
    linked: Linked,
}

impl<'a> Session<'a> {
    fn new(compiler: &'a Compiler, options: &'a Options) -> Session<'a> {
        Session {
            compiler,
            options,
            fast_operators: options.fast_math,
            part: Part::Common,
            linked: Linked::default(),
        }
    }

    /// Expands macros and includes. Of the library only macros are visible here, so
    /// that the precompiled header can do its work in the next pass.
    fn preprocess(&self, path: &Path, text: &str) -> Result<String, Error> {
        let run = self.first_pass(path, text)?;
        let stubs = self.stubs()?;
        self.confine(path, &stubs, &run)?;
        if !run.success {
            let mut errors = preprocessor_errors(&run, path, text, self.options);
            if let Some(folders) = &self.options.within {
                errors
                    .iter_mut()
                    .for_each(|error| name_folders(error, folders));
            }
            return Err(Error::Source(errors));
        }
        let output = readable_names(&run.stdout);
        for file in Allowed::read_files(&run.stdout) {
            let own = file.starts_with(&stubs);
            if !own
                && file != path
                && let Some(read) = diagnostic::text_of_file(&file, None)
            {
                refuse_embedding(&file, &read)?;
            }
        }
        // Where the cache is must not show in the result.
        let stubs = format!("\"{}/", in_line_marker(&stubs));
        let own = format!("\"{}", headers::OWN_PREFIX);
        Ok(plain_spaces(&output.replace(&stubs, &own)))
    }

    fn stubs(&self) -> Result<PathBuf, Error> {
        self.cache(Cache::new(&self.options.cache).stubs())
    }

    /// Metal's words as C++ that clang compiles.
    fn rewrite(&self, path: &Path, preprocessed: &str) -> Rewritten {
        let record = ModuleRecord {
            language: self.options.standard.name(),
            fast_math: self.options.fast_math,
            source: &path.display().to_string(),
        };
        rewrite::rewrite(preprocessed, &record)
    }

    /// The text with the macros that pragmas mention expanded: the preprocessor leaves pragmas alone, and no macro is left for
    /// the next pass.
    fn expand_pragmas(
        &self,
        path: &Path,
        text: &str,
        preprocessed: String,
    ) -> Result<String, Error> {
        let open = pragmas::open(&preprocessed);
        if open.is_empty() {
            return Ok(preprocessed);
        }
        // Behind the source every macro is what it is last.
        let text = format!("{text}{}", pragmas::questions(&open));
        let answers = self.preprocess(path, &text)?;
        Ok(pragmas::expanded(&preprocessed, &open, &answers))
    }

    fn first_pass(&self, path: &Path, text: &str) -> Result<Run, Error> {
        let stubs = self.stubs()?;
        let mut arguments: Vec<String> = flags::of(flags::COMMON).map(str::to_owned).collect();
        arguments.extend(["-E", "-x", "c++"].map(str::to_owned));
        arguments.extend(flags::UNDEFINED.iter().map(|name| format!("-U{name}")));
        arguments.push(format!(
            "-D__METAL_VERSION__={}",
            self.options.standard.version()
        ));
        arguments.push(format!(
            "-D__METAL_FAST={}",
            u8::from(self.options.fast_math)
        ));
        if self.options.fast_math {
            arguments.push("-D__FAST_MATH__=1".to_owned());
        }
        arguments.extend(["-imacros".to_owned(), word_of(&stubs.join("metal_macros"))]);
        arguments.extend(
            self.options
                .defines
                .iter()
                .map(|define| format!("-D{define}")),
        );
        arguments.push(format!("-iquote{}", word_of(folder_of(path))));
        for folder in &self.options.include_folders {
            arguments.push(format!("-I{}", word_of(folder)));
        }
        arguments.extend(["-isystem".to_owned(), word_of(&stubs), "-".to_owned()]);
        let mut whole = String::new();
        for file in &self.options.include_files {
            whole.push_str(&format!("#include \"{}\"\n", in_line_marker(file)));
        }
        whole.push_str(&format!("# 1 \"{}\"\n{text}", in_line_marker(path)));
        let access = match &self.options.within {
            None => Access::Everything,
            Some(folders) => {
                let overlay = self.overlay(folders, path, &stubs)?;
                arguments.extend(["-ivfsoverlay".to_owned(), word_of(&overlay)]);
                let own = [stubs, folder_of(&overlay).to_owned()];
                Access::Only(folders.iter().cloned().chain(own).collect())
            }
        };
        self.run(&arguments, whole.as_bytes(), access)
    }

    /// The file system as a confined compiler sees it.
    fn overlay(&self, folders: &[PathBuf], path: &Path, stubs: &Path) -> Result<PathBuf, Error> {
        let own = self.cache(stubs.canonicalize())?;
        let mut allowed = Allowed::new(folders, path, stubs).folders.paths().to_vec();
        allowed.push(own);
        let before = self.options.include_files.iter();
        let named = [folder_of(path), stubs].into_iter();
        let named = named
            .chain(folders.iter().map(PathBuf::as_path))
            .chain(self.options.include_folders.iter().map(PathBuf::as_path))
            .chain(before.map(|file| folder_of(file)));
        let mut overlay = Overlay::default();
        overlay.show(named, &allowed);
        self.cache(Cache::new(&self.options.cache).overlay(&overlay.text()))
    }

    /// Refuses a source that has made the compiler read a file outside the allowed folders.
    fn confine(&self, path: &Path, stubs: &Path, run: &Run) -> Result<(), Error> {
        let Some(folders) = &self.options.within else {
            return Ok(());
        };
        let allowed = Allowed::new(folders, path, stubs);
        let outside = allowed.first_outside(&run.stdout);
        let outside =
            outside.or_else(|| allowed.first_blamed_outside(&diagnostic::parse(&run.stderr)));
        outside.map_or(Ok(()), |file| Err(is_outside(&file)))
    }

    /// The same for the messages of the second pass.
    fn confine_diagnostics(&self, path: &Path, run: &Run) -> Result<(), Error> {
        let Some(folders) = &self.options.within else {
            return Ok(());
        };
        let mut raw = diagnostic::parse(&run.stderr);
        raw.extend(diagnostic::parse_warnings(&run.stderr));
        let ours = |file: &str| headers::is_own_header(file);
        let theirs: Vec<Raw<'_>> = raw
            .into_iter()
            .filter(|raw| !raw.place.is_some_and(|(file, _, _)| ours(file)))
            .collect();
        let stubs = self.stubs()?;
        let outside = Allowed::new(folders, path, &stubs).first_blamed_outside(&theirs);
        outside.map_or(Ok(()), |file| Err(is_outside(&file)))
    }

    /// Compiles the rewritten text, with the precompiled header.
    fn compile(&self, text: &str) -> Result<Run, Error> {
        let library = headers::library(self.part);
        let options = self.compile_options();
        let cache = Cache::new(&self.options.cache);
        let header = cache.precompiled(self.compiler, &options, &library);
        let kept = self.kept(&cache, &header, text);
        if let Some((code, output)) = kept.as_deref().and_then(Cache::kept) {
            return Ok(Run {
                success: true,
                ended: "exit status: 0".to_owned(),
                stdout: code,
                stderr: output,
            });
        }
        let run = self.compile_afresh(&cache, &header, &options, &library, text)?;
        if let Some(path) = kept.filter(|_| run.success) {
            cache.keep(&path, &run.stdout, &run.stderr);
        }
        Ok(run)
    }

    /// Where the bitcode of a text is kept. A compiler without identity may change unnoticed: nothing of it is kept.
    fn kept(&self, cache: &Cache<'_>, header: &Path, text: &str) -> Option<PathBuf> {
        let bitcode = self.options.emit == Emit::Bitcode && !self.compiler.identity.is_empty();
        bitcode.then(|| cache.bitcode(header, &self.code_arguments(), text))
    }

    fn compile_afresh(
        &self,
        cache: &Cache<'_>,
        header: &Path,
        options: &[String],
        library: &str,
        text: &str,
    ) -> Result<Run, Error> {
        if !Cache::has(header) {
            self.precompile(cache, header, options, library)?;
        }
        let run = self.compile_with(header, options, text)?;
        if run.success || !blames_header(&run.stderr) {
            return Ok(run);
        }
        // The file is damaged or of another build of the compiler.
        self.precompile(cache, header, options, library)?;
        self.compile_with(header, options, text)
    }

    fn compile_with(&self, header: &Path, options: &[String], text: &str) -> Result<Run, Error> {
        let mut arguments = options.to_vec();
        if self.options.checked {
            arguments.retain(|argument| argument != "-w");
        }
        // Of preprocessed text clang expands no macro.
        let clang = "-Xclang".to_owned();
        arguments.extend([
            clang.clone(),
            "-include-pch".to_owned(),
            clang,
            word_of(header),
        ]);
        arguments.extend(self.code_arguments());
        self.run(
            &arguments,
            text.as_bytes(),
            // The folder: another process may put a new header in the place of this one.
            Access::Only(self.folders_of(header)),
        )
    }

    /// The folders of our own files that a compilation reads.
    fn folders_of(&self, header: &Path) -> Vec<PathBuf> {
        let linked = self.linked.bitcode.first();
        let files = [Some(header), linked.map(PathBuf::as_path)];
        let folders = files.into_iter().flatten().map(folder_of);
        folders.map(Path::to_owned).collect()
    }

    /// What code is made, and of which language.
    fn code_arguments(&self) -> Vec<String> {
        let form = match self.options.emit {
            Emit::Bitcode => "-c",
            Emit::Text => "-S",
        };
        let lines = self.options.debug_lines.then(|| flags::of(flags::LINES));
        let lines = lines.into_iter().flatten();
        let checked = self.options.checked.then(|| flags::of(flags::CHECKED));
        let lines = lines.chain(checked.into_iter().flatten());
        let first = ["-x", "c++-cpp-output", form].into_iter().chain(lines);
        let all = first.chain(["-emit-llvm", "-o", "-", "-"]);
        let all = all.map(str::to_owned);
        all.chain(self.linked.arguments()).collect()
    }

    fn precompile(
        &self,
        cache: &Cache<'_>,
        header: &Path,
        options: &[String],
        library: &str,
    ) -> Result<(), Error> {
        let mut arguments = options.to_vec();
        arguments.extend(["-x", "c++-header", "-o", "-", "-"].map(str::to_owned));
        let run = self.run(&arguments, library.as_bytes(), Access::Only(Vec::new()))?;
        if !run.success {
            let first = diagnostic::parse(&run.stderr)
                .first()
                .map(|raw| raw.message.to_owned());
            return Err(Error::Library(first.unwrap_or(run.stderr)));
        }
        self.cache(cache.keep_header(header, &run.stdout))
    }

    fn compile_options(&self) -> Vec<String> {
        let math = match self.fast_operators {
            true => flags::FAST_MATH,
            false => flags::PRECISE_MATH,
        };
        let tensors = match (self.part, self.options.checked) {
            (Part::Common, _) => [].as_slice(),
            (Part::Tensors, false) => flags::TENSORS,
            (Part::Tensors, true) => flags::CHECKED_TENSORS,
        };
        flags::of(flags::COMMON)
            .chain(flags::of(flags::COMPILE))
            .chain(math.iter().copied())
            .chain(tensors.iter().copied())
            .map(str::to_owned)
            .chain([format!(
                "-D__METAL_FAST={}",
                u8::from(self.options.fast_math)
            )])
            .chain(self.logging())
            .collect()
    }

    /// The macro with which the library's `os_log` writes: of the user's macros the library sees no other.
    fn logging(&self) -> Option<String> {
        let mut all = self.options.defines.iter();
        all.find(|define| define.split('=').next() == Some(LOGGING))
            .map(|define| format!("-D{define}"))
    }

    fn run(&self, arguments: &[String], input: &[u8], access: Access) -> Result<Run, Error> {
        self.compiler
            .run(arguments, input, access)
            .map_err(|error| Error::CannotRun {
                compiler: self.compiler.command_line(),
                error,
            })
    }

    fn cache<T>(&self, result: std::io::Result<T>) -> Result<T, Error> {
        result.map_err(|error| Error::Cache {
            folder: self.options.cache.clone(),
            error,
        })
    }
}

/// Defined where kernels are to write logs.
const LOGGING: &str = "__ASSAY_LOGGING";

/// A path as it stands between the quotes of a line marker.
fn in_line_marker(path: &Path) -> String {
    let name = path.display().to_string();
    let name = name.replace(['\n', '\r'], " ");
    name.replace('\\', "\\\\").replace('"', "\\\"")
}

/// A path in clang's command line.
fn word_of(path: &Path) -> String {
    arguments::path(path).display().to_string()
}

/// The folder a file lies in.
fn folder_of(file: &Path) -> &Path {
    let parent = file.parent();
    let parent = parent.filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// A text of the preprocessor whose spaces and ends of lines are those of ASCII, at the same places: what else clang takes for
/// one, nobody can see.
fn plain_spaces(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        let space = c != '\n' && c != '\t' && (c.is_control() || c.is_whitespace());
        match space {
            true => plain.extend(std::iter::repeat_n(' ', c.len_utf8())),
            false => plain.push(c),
        }
    }
    plain
}

/// Says where a file may lie that was not found: in other folders none is looked for.
fn name_folders(error: &mut Diagnostic, folders: &[PathBuf]) {
    if error.message.ends_with("file not found") {
        let names: Vec<String> = folders.iter().map(|f| f.display().to_string()).collect();
        let message = match names.is_empty() {
            true => "only Metal's own headers may be included here".to_owned(),
            false => format!(
                "only files inside {} may be included here",
                names.join(", ")
            ),
        };
        error.notes.push(Note {
            message,
            place: None,
            source_line: None,
        });
    }
}

fn is_outside(file: &Path) -> Error {
    Error::Source(vec![Diagnostic {
        message: format!("{} is outside the allowed folders", file.display()),
        place: None,
        source_line: None,
        notes: Vec::new(),
    }])
}

fn blames_header(stderr: &str) -> bool {
    [
        "PCH file",
        "precompiled header",
        "AST file",
        "malformed or corrupted",
    ]
    .iter()
    .any(|text| stderr.contains(text))
}

/// Errors of the first pass have exact places already.
fn preprocessor_errors(run: &Run, path: &Path, text: &str, options: &Options) -> Vec<Diagnostic> {
    let empty = Patched::unchanged("");
    let locator = Locator {
        path,
        source: text,
        within: options.within.as_deref(),
        preprocessed: "",
        patched: &empty,
    };
    let mut diagnostics = locator.exact(&diagnostic::parse(&run.stderr));
    diagnostics.iter_mut().for_each(explain);
    or_last_words(diagnostics, run)
}

/// The diagnostics, or where a compiler that failed gave none, what it said or how it ended.
fn or_last_words(mut diagnostics: Vec<Diagnostic>, run: &Run) -> Vec<Diagnostic> {
    if diagnostics.is_empty() {
        let message = match run.stderr.lines().find(|line| !line.trim().is_empty()) {
            Some(line) => line.to_owned(),
            None => format!(
                "the compiler said nothing and ended with {}; it may have run out of memory",
                run.ended
            ),
        };
        diagnostics.push(Diagnostic {
            message,
            place: None,
            source_line: None,
            notes: Vec::new(),
        });
    }
    diagnostics
}

/// Says what a message about a missing name comes from: a feature that is not supported, or something that the host
/// program puts in front of the source.
fn explain(diagnostic: &mut Diagnostic) {
    let message = &mut diagnostic.message;
    if let Some(feature) = specification::missing_feature(message) {
        message.push_str(&format!("; {feature}: not supported"));
        return;
    }
    // A type, or a name written like a macro; any other name is more likely misspelt.
    let types = ["unknown type name '", "no template named '"];
    let starts = types.iter().find_map(|start| message.strip_prefix(start));
    let name = starts.or_else(|| {
        let rest = message.strip_prefix("use of undeclared identifier '")?;
        (!rest.contains(char::is_lowercase)).then_some(rest)
    });
    let name = name.and_then(|rest| rest.strip_suffix('\''));
    if let Some(name) = name.filter(|name| !name.contains(['\'', ':', '<'])) {
        let advice = format!(
            "if the host program puts '{name}' before this source, give it with -D {name}=VALUE, or the file that \
             declares it with -include FILE"
        );
        diagnostic.notes.push(Note {
            message: advice,
            place: None,
            source_line: None,
        });
    }
}

fn problems(rewritten: &Rewritten, locator: &Locator<'_>) -> Vec<Diagnostic> {
    rewritten
        .problems
        .iter()
        .map(|problem| {
            let place = locator.of_preprocessed(problem.offset);
            let notes = problem.note.iter().map(|(offset, message)| {
                let place = locator.of_preprocessed(*offset);
                Note {
                    message: message.clone(),
                    source_line: place.as_ref().and_then(|place| locator.line(place)),
                    place,
                }
            });
            Diagnostic {
                message: problem.message.clone(),
                source_line: place.as_ref().and_then(|place| locator.line(place)),
                notes: notes.collect(),
                place,
            }
        })
        .collect()
}

/// The warnings about the user's files, each once: a template warns wherever it is instantiated.
fn warnings(run: &Run, locator: &Locator<'_>) -> Vec<Diagnostic> {
    let mut warnings = locator.diagnostics(&diagnostic::parse_warnings(&run.stderr));
    let own = |place: &diagnostic::Place| place.file.starts_with(headers::OWN_PREFIX);
    warnings.retain(|warning| warning.place.as_ref().is_some_and(|place| !own(place)));
    for warning in &mut warnings {
        // Clang names the option that asked for it.
        if let Some((message, _)) = warning.message.rsplit_once(" [-W") {
            warning.message = message.to_owned();
        }
        warning.notes.clear();
    }
    let mut known = Vec::new();
    warnings.retain(|warning| {
        let key = (warning.place.clone(), warning.message.clone());
        let new = !known.contains(&key);
        known.push(key);
        new
    });
    warnings
}

fn failure(run: &Run, locator: &Locator<'_>) -> Error {
    let mut diagnostics = locator.diagnostics(&diagnostic::parse(&run.stderr));
    if diagnostics
        .iter()
        .any(|diagnostic| diagnostic.place.is_some())
    {
        // What the driver adds about itself explains nothing.
        diagnostics.retain(|diagnostic| diagnostic.place.is_some());
    }
    diagnostics.iter_mut().for_each(explain);
    Error::Source(or_last_words(diagnostics, run))
}
