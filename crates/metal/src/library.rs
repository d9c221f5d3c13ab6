//! Libraries, functions, function constants and compute pipelines.

use crate::argument_encoder;
use crate::constants::{CONSTANTS, Constants};
use crate::device;
use crate::log as kernel_log;
use crate::plain;
use crate::record;
use crate::reflection;
use crate::report::{log, wrong_use};
use crate::resource::lock;
use crate::service;
use crate::settings::{cache, settings};
use assay_device::CpuKernel;
use assay_foundation::collections::{array, pairs};
use assay_foundation::string::{description, string, text};
use assay_foundation::{no_error, set_error};
use assay_front::{Bytes, Checks, Clang, GivenConstant, Source, SourceOptions};
use assay_objc::root::NSOBJECT;
use assay_objc::{Bool, Id, Strong, class};
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

/// The clang of this machine, found once.
fn clang() -> Result<&'static Clang, String> {
    static CLANG: OnceLock<Option<Clang>> = OnceLock::new();
    let find = || {
        let variable = |name: &str| std::env::var_os(name).unwrap_or_default();
        let mut found = assay_msl::find::find(Some(&variable("ASSAY_CLANG")), &variable("PATH"))?;
        let stamp = std::fs::metadata(&found.program)
            .map(|file| file.len())
            .unwrap_or(0);
        found.identity = format!("{} {stamp}", found.identity);
        Some(Clang::new(found, cache()))
    };
    let missing = "no clang on this machine can compile Metal source: install clang 17 or newer, or set ASSAY_CLANG";
    CLANG
        .get_or_init(find)
        .as_ref()
        .ok_or_else(|| missing.to_owned())
}

/// Who makes machine code of kernels that run long; nobody if it is switched off or there is no clang.
fn native() -> Option<Arc<assay_native::Compiler>> {
    static NATIVE: OnceLock<Option<Arc<assay_native::Compiler>>> = OnceLock::new();
    let find = || {
        let found = &clang().ok().filter(|_| settings().native)?.program;
        let before = found.arguments.iter().map(Into::into).collect();
        let compiler = assay_native::Compiler::new(&found.program, before);
        Some(Arc::new(compiler.with_cache(cache().join("native"))))
    };
    NATIVE.get_or_init(find).clone()
}

/// Compiled code, and its source if it came from one.
#[derive(Debug, Default)]
pub struct Library {
    pub(crate) front: Option<assay_front::Library>,
    source: Option<(String, SourceOptions)>,
    /// The bytes of a compiled library, and their file.
    compiled: Option<(Bytes, Option<PathBuf>)>,
    pub(crate) number: record::Number,
    checked: OnceLock<Option<assay_front::Library>>,
    label: Mutex<Strong>,
}

impl Library {
    /// Its source and how that was compiled.
    pub(crate) fn source(&self) -> Option<&(String, SourceOptions)> {
        self.source.as_ref()
    }

    /// Its bytes and their file, if it came compiled.
    pub(crate) fn compiled(&self) -> Option<&(Bytes, Option<PathBuf>)> {
        self.compiled.as_ref()
    }

    /// The library made to be checked: source is compiled again for it.
    fn to_check(&self) -> Option<&assay_front::Library> {
        let Some((source, options)) = &self.source else {
            return self.front.as_ref();
        };
        let compile = || {
            let options = SourceOptions {
                checked: true,
                ..options.clone()
            };
            compile(source, &options)
                .map_err(|why| wrong_use(&format!("cannot be checked: {why}")))
                .ok()
        };
        self.checked.get_or_init(compile).as_ref()
    }
}

pub(crate) fn compile(text: &str, options: &SourceOptions) -> Result<assay_front::Library, String> {
    let source = Source {
        path: Path::new("program_source"),
        text: text.as_bytes(),
    };
    assay_front::Library::compile(source, clang()?, options).map_err(|error| match error {
        assay_front::Error::Compiler(assay_front::CompilerError::Failed(
            assay_msl::Error::Source(diagnostics),
        )) => words(&diagnostics),
        other => other.to_string(),
    })
}

/// Errors in the form of Metal's own, which programs show and parse.
fn words(errors: &[assay_msl::Diagnostic]) -> String {
    let mut words = "Compilation failed: \n\n".to_owned();
    let mut add =
        |severity: &str, place: Option<&assay_msl::Place>, message: &str, line: Option<&str>| {
            if let Some(place) = place {
                words += &format!("{place}: ");
            }
            words += &format!("{severity}: {message}\n");
            if let Some(line) = line {
                words += &format!("{line}\n");
            }
        };
    for error in errors {
        let line = error.source_line.as_deref();
        add("error", error.place.as_ref(), &error.message, line);
        for note in &error.notes {
            let line = note.source_line.as_deref();
            add("note", note.place.as_ref(), &note.message, line);
        }
    }
    words
}

fn make(
    front: Result<assay_front::Library, String>,
    source: Option<(String, SourceOptions)>,
    compiled: Option<(Bytes, Option<PathBuf>)>,
    error: *mut Id,
) -> Id {
    match front {
        Ok(front) => {
            let library = Library {
                front: Some(front),
                source,
                compiled,
                ..Library::default()
            };
            // SAFETY: `Library` is the state of the class; the caller's place is null or writable.
            unsafe {
                no_error(error);
                LIBRARY.make(library).into_owned()
            }
        }
        Err(why) => {
            log(1, || why.clone());
            // SAFETY: the caller's place is null or writable. 3 is `MTLLibraryErrorCompileFailure`.
            unsafe { set_error(error, "MTLLibraryErrorDomain", 3, &why) };
            null_mut()
        }
    }
}

/// A library of source with the options a program gives.
pub(crate) unsafe fn of_source(source: Id, options: Id, error: *mut Id) -> Id {
    let start = Instant::now();
    if source.is_null() {
        wrong_use("newLibraryWithSource: the source is nil");
    }
    // SAFETY: source and options are what the method's encoding says, or nil.
    unsafe {
        let fast: Option<Bool> = plain::get(options, c"fastMathEnabled");
        let version: u64 = plain::get(options, c"languageVersion").unwrap_or(0x30002);
        let standard = format!("metal{}.{}", version >> 16, version & 0xffff);
        let macros = plain::get::<Id>(options, c"preprocessorMacros").unwrap_or(null_mut());
        let defines = pairs(macros);
        let defines = defines
            .iter()
            .map(|(name, value)| format!("{}={}", text(name.id()), description(value.id())));
        let logging = plain::get::<Bool>(options, c"enableLogging").is_some_and(Bool::get);
        let logging = logging.then(|| kernel_log::MACRO.to_owned());
        let options = SourceOptions {
            fast_math: fast.is_none_or(Bool::get),
            standard: standard.parse().unwrap_or_default(),
            defines: defines.chain(logging).collect(),
            ..SourceOptions::default()
        };
        let source = text(source).to_owned();
        let front = compile(&source, &options);
        log(1, || {
            format!(
                "compiled {} bytes of source in {:.3} s",
                source.len(),
                start.elapsed().as_secs_f64()
            )
        });
        make(front, Some((source, options)), None, error)
    }
}

/// A library of a metallib's bytes.
pub(crate) fn of_bytes(bytes: Vec<u8>, error: *mut Id) -> Id {
    compiled(bytes, None, error)
}

fn compiled(bytes: Vec<u8>, path: Option<PathBuf>, error: *mut Id) -> Id {
    if let Some((source, options)) = service::source(&bytes) {
        let front = compile(&source, &options);
        return make(front, Some((source, options)), None, error);
    }
    let bytes = Bytes::from(bytes);
    let front = assay_front::Library::open(&bytes);
    let front = front.map_err(|why| why.to_string());
    make(front, None, Some((bytes, path)), error)
}

/// A library of a metallib.
pub(crate) fn of_file(path: &str, error: *mut Id) -> Id {
    match std::fs::read(path) {
        Ok(bytes) => compiled(bytes, Some(path.into()), error),
        Err(why) => make(Err(format!("{path}: {why}")), None, None, error),
    }
}

impl Library {
    fn function(&self, own: Id, name: &str, constants: Vec<GivenConstant>) -> Strong {
        if name.is_empty() {
            wrong_use("newFunctionWithName: the name is nil or empty");
        }
        let known = self
            .front
            .as_ref()
            .is_some_and(|front| front.kernel(name).is_ok());
        if !known {
            return Strong::nil();
        }
        // SAFETY: the library is alive; `Function` is the state of the class.
        unsafe {
            FUNCTION.make(Function {
                library: Strong::retain(own),
                name: name.to_owned(),
                constants,
                ..Function::default()
            })
        }
    }

    fn specialised(&self, own: Id, name: Id, values: Id, error: *mut Id) -> Id {
        // SAFETY: the method's encoding says what these are.
        unsafe {
            let constants = CONSTANTS
                .state::<Constants>(values)
                .map_or(Vec::new(), |own| lock(&own.0).clone());
            let found = self.function(own, text(name), constants);
            no_error(error);
            if found.is_nil() {
                // 5 is `MTLLibraryErrorFunctionNotFound`.
                set_error(
                    error,
                    "MTLLibraryErrorDomain",
                    5,
                    &format!("the library has no kernel named {}", text(name)),
                );
            }
            found.into_owned()
        }
    }
}

class! {
    /// `id<MTLLibrary>`.
    pub LIBRARY = "AssayMTLLibrary": NSOBJECT, Library, ["MTLLibrary"];
    - "functionNames" "@@:" (this) -> Id {
        let kernels = this.front.as_ref().map_or(&[][..], assay_front::Library::kernels);
        array(kernels.iter().map(|kernel| string(&kernel.name)).collect()).autoreleased()
    }
    - "newFunctionWithName:" "@@:@" (this, name: Id) -> Id { this.function(this.id, text(name), Vec::new()).into_owned() }
    - "newFunctionWithName:constantValues:error:" "@@:@@^@" (this, name: Id, values: Id, error: *mut Id) -> Id {
        this.specialised(this.id, name, values, error)
    }
    - "newFunctionWithDescriptor:error:" "@@:@^@" (this, descriptor: Id, error: *mut Id) -> Id {
        let name = plain::get::<Id>(descriptor, c"name").unwrap_or(null_mut());
        let values = plain::get::<Id>(descriptor, c"constantValues").unwrap_or(null_mut());
        this.specialised(this.id, name, values, error)
    }
    - "label" "@@:" (this) -> Id { lock(&this.label).clone().autoreleased() }
    - "setLabel:" "v@:@" (this, label: Id) { *lock(&this.label) = string(text(label)); }
    - "device" "@@:" (this) -> Id { device::shared() }
    - "type" "q@:" (this) -> i64 { 0 }
    - "installName" "@@:" (this) -> Id { null_mut() }
}

/// The function of a library, with its reference; nil with an error if there is none.
///
/// # Safety
/// All must be what they are called, or nil; the place null or writable.
pub(crate) unsafe fn function_of(library: Id, name: Id, values: Id, error: *mut Id) -> Id {
    // SAFETY: the caller's promise.
    match unsafe { LIBRARY.state::<Library>(library) } {
        Some(known) => known.specialised(library, name, values, error),
        None => {
            wrong_use("a function descriptor has no library");
            null_mut()
        }
    }
}

/// A kernel of a library, with the values of its function constants.
#[derive(Debug, Default)]
pub struct Function {
    library: Strong,
    pub(crate) name: String,
    constants: Vec<GivenConstant>,
    label: Mutex<Strong>,
}

impl Function {
    /// What it takes; nothing if it cannot be read.
    pub(crate) fn arguments(&self) -> Vec<assay_ssa::Argument> {
        // SAFETY: the function keeps its library.
        let library = unsafe { LIBRARY.state::<Library>(self.library.id()) };
        library.map_or_else(Vec::new, |library| {
            reflection::arguments(library, &self.name)
        })
    }
}

class! {
    /// `id<MTLFunction>`.
    pub FUNCTION = "AssayMTLFunction": NSOBJECT, Function, ["MTLFunction"];
    - "name" "@@:" (this) -> Id { string(&this.name).autoreleased() }
    - "functionType" "Q@:" (this) -> u64 { 3 }
    - "label" "@@:" (this) -> Id { lock(&this.label).clone().autoreleased() }
    - "setLabel:" "v@:@" (this, label: Id) { *lock(&this.label) = string(text(label)); }
    - "device" "@@:" (this) -> Id { device::shared() }
    - "options" "Q@:" (this) -> u64 { 0 }
    - "newArgumentEncoderWithBufferIndex:" "@@:Q" (this, index: u64) -> Id { argument_encoder::of_function(this.id, index).into_owned() }
    - "newArgumentEncoderWithBufferIndex:reflection:" "@@:Q^@" (this, index: u64, reflection: *mut Id) -> Id {
        if let Some(place) = reflection.as_mut() { *place = null_mut(); }
        argument_encoder::of_function(this.id, index).into_owned()
    }
    - "functionConstantsDictionary" "@@:" (this) -> Id {
        match LIBRARY.state::<Library>(this.library.id()) {
            Some(library) => reflection::function_constants(library, &this.name).autoreleased(),
            None => null_mut(),
        }
    }
}

/// A kernel ready to run.
#[derive(Debug, Default)]
pub struct Pipeline {
    pub(crate) name: String,
    pub(crate) plain: Option<CpuKernel>,
    checked: Option<CpuKernel>,
    most_threads: u64,
    label: Mutex<Strong>,
    indirect: bool,
    /// The library of the kernel.
    pub(crate) library: Strong,
    pub(crate) record: record::Made,
}

impl Pipeline {
    /// Returns true if its kernel may write logs.
    pub(crate) fn logs(&self) -> bool {
        // SAFETY: the reference keeps it.
        let library = unsafe { LIBRARY.state::<Library>(self.library.id()) };
        let source = library.and_then(|library| library.source.as_ref());
        source
            .is_some_and(|(_, options)| options.defines.iter().any(|one| one == kernel_log::MACRO))
    }

    /// The line of the source that a place, `program_source:LINE:COLUMN`, names.
    pub(crate) fn source_line(&self, place: &str) -> Option<String> {
        let mut parts = place.strip_prefix("program_source:")?.split(':');
        let line: usize = parts.next()?.parse().ok()?;
        // SAFETY: the reference keeps it.
        let library = unsafe { LIBRARY.state::<Library>(self.library.id()) }?;
        let (source, _) = library.source.as_ref()?;
        let line = source.lines().nth(line.checked_sub(1)?)?;
        Some(line.trim().chars().take(160).collect())
    }

    /// Returns true if indirect command buffers may use it.
    pub(crate) fn is_indirect(&self) -> bool {
        self.indirect
    }

    /// Bytes of threadgroup memory of the kernel itself.
    pub(crate) fn threadgroup_memory(&self) -> u64 {
        self.facts(|facts| u64::from(facts.threadgroup_memory))
    }

    /// The kernel to run, and whether it is made to be checked.
    pub(crate) fn kernel(&self) -> Option<(&CpuKernel, bool)> {
        match &self.checked {
            Some(kernel) => Some((kernel, true)),
            None => self.plain.as_ref().map(|kernel| (kernel, false)),
        }
    }

    fn facts<T: Default>(&self, get: impl Fn(&assay_device::PipelineFacts) -> T) -> T {
        self.plain
            .as_ref()
            .map_or(T::default(), |kernel| get(kernel.facts()))
    }

    /// Returns true if the kernel may read what is bound as a buffer at an index, and if it may write it.
    pub(crate) fn access(&self, index: u32) -> (bool, bool) {
        use assay_ssa::ArgumentAccess as Access;
        let place = assay_ssa::Binding::Buffer(index);
        let declared = self.plain.as_ref().and_then(|kernel| {
            let mut all = kernel.facts().arguments.iter();
            all.find(|argument| argument.binding == place)
        });
        match declared.map(|argument| argument.access) {
            Some(Access::Read) => (true, false),
            Some(Access::Write) => (false, true),
            _ => (true, true),
        }
    }

    pub(crate) fn most_threads(&self) -> u64 {
        let of_kernel = self.facts(|facts| u64::from(facts.max_threads));
        match self.most_threads {
            0 => of_kernel,
            wanted => wanted.min(of_kernel),
        }
    }
}

/// A pipeline of a function; `most_threads` of zero leaves the number of threads to the kernel.
pub(crate) unsafe fn pipeline(
    function: Id,
    most_threads: u64,
    label: Id,
    indirect: bool,
    error: *mut Id,
) -> Id {
    let start = Instant::now();
    let began = record::now();
    // SAFETY: the method's encoding says what these are.
    let made = unsafe {
        FUNCTION
            .state::<Function>(function)
            .ok_or_else(|| {
                wrong_use("newComputePipelineState: the function is nil");
                "there is no function".to_owned()
            })
            .and_then(|function| {
                let made = prepare(function).map_err(|why| format!("{}: {why}", function.name))?;
                log(1, || {
                    format!(
                        "pipeline {} in {:.3} s",
                        function.name,
                        start.elapsed().as_secs_f64()
                    )
                });
                Ok(made)
            })
    };
    match made {
        Ok(mut pipeline) => {
            pipeline.record.made_ns = [began, record::now()];
            // SAFETY: a label is a string or nil; `Pipeline` is the state of the class.
            unsafe {
                no_error(error);
                let label = Mutex::new(Strong::retain(label));
                PIPELINE
                    .make(Pipeline {
                        most_threads,
                        label,
                        indirect,
                        ..pipeline
                    })
                    .into_owned()
            }
        }
        Err(why) => {
            log(1, || why.clone());
            // SAFETY: the caller's place is null or writable. 3 is `MTLComputePipelineErrorCompilation…`'s number in the domain.
            unsafe { set_error(error, "AGXMetalG14G", 3, &why) };
            null_mut()
        }
    }
}

/// Gives the reflection of a pipeline to a caller who wants it.
///
/// # Safety
/// The pipeline must be nil or alive, the place null or writable.
pub(crate) unsafe fn reflect(pipeline: Id, place: *mut Id) {
    // SAFETY: the caller's promise.
    unsafe {
        let Some(place) = place.as_mut() else { return };
        let known = PIPELINE.state::<Pipeline>(pipeline);
        *place = known.map_or(null_mut(), |pipeline| {
            let arguments = pipeline.facts(|facts| facts.arguments.clone());
            reflection::reflection(&arguments).autoreleased()
        });
    }
}

fn prepare(function: &Function) -> Result<Pipeline, String> {
    // SAFETY: the function keeps its library.
    let library = unsafe { LIBRARY.state::<Library>(function.library.id()) };
    let library = library.ok_or("the library is gone")?;
    let front = library.front.as_ref().ok_or("the library is empty")?;
    // What is checked is run by the checker alone.
    let native = native().filter(|_| !settings().check);
    let (name, constants) = (&function.name, &function.constants);
    let (plain, open) = CpuKernel::forgiving(front, name, constants, None, native.is_some())
        .map_err(|why| why.to_string())?;
    if let Some(native) = native {
        plain.make_native_later(native);
    }
    for name in open {
        wrong_use(&format!(
            "{}: function constant {name} has no value; it is taken as zero",
            function.name
        ));
    }
    let checked = match settings().check {
        true => library.to_check().and_then(|front| {
            let made = CpuKernel::forgiving(
                front,
                &function.name,
                &function.constants,
                Some(Checks::default()),
                false,
            );
            made.map_err(|why| wrong_use(&format!("{}: cannot be checked: {why}", function.name)))
                .ok()
        }),
        false => None,
    };
    Ok(Pipeline {
        name: function.name.clone(),
        plain: Some(plain),
        checked: checked.map(|(kernel, _)| kernel),
        library: function.library.clone(),
        record: record::Made {
            constants: function.constants.clone(),
            ..record::Made::default()
        },
        ..Pipeline::default()
    })
}

/// Kernels call no functions through tables here, as the device says (`supportsFunctionPointers`).
fn no_tables(what: &str) -> Id {
    wrong_use(&format!(
        "{what} function tables are not available; nil is answered"
    ));
    null_mut()
}

class! {
    /// `id<MTLComputePipelineState>`.
    pub PIPELINE = "AssayMTLComputePipelineState": NSOBJECT, Pipeline, ["MTLComputePipelineState"];
    - "label" "@@:" (this) -> Id { lock(&this.label).clone().autoreleased() }
    - "device" "@@:" (this) -> Id { device::shared() }
    - "maxTotalThreadsPerThreadgroup" "Q@:" (this) -> u64 { this.most_threads() }
    - "threadExecutionWidth" "Q@:" (this) -> u64 { 32 }
    - "staticThreadgroupMemoryLength" "Q@:" (this) -> u64 { this.threadgroup_memory() }
    - "supportIndirectCommandBuffers" "B@:" (this) -> Bool { this.indirect.into() }
    - "newVisibleFunctionTableWithDescriptor:" "@@:@" (this, _descriptor: Id) -> Id { no_tables("newVisibleFunctionTableWithDescriptor:") }
    - "newIntersectionFunctionTableWithDescriptor:" "@@:@" (this, _descriptor: Id) -> Id { no_tables("newIntersectionFunctionTableWithDescriptor:") }
    - "functionHandleWithFunction:" "@@:@" (this, _function: Id) -> Id { no_tables("functionHandleWithFunction:") }
    - "imageblockMemoryLengthForDimensions:" "Q@:{?=QQQ}" (this, _size: crate::encoder::Size) -> u64 { 0 }
}
