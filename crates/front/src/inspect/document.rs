//! What `assay inspect` found, as data: the JSON document is this.

use assay_air::llvm;
use assay_container::fat::SliceContent;
use assay_container::gpu::Target;
use assay_container::image::{CompiledFunction, Image};
use assay_container::mtlb::{Function, FunctionKind, Metallib};
use assay_container::{Contents, Error};
use assay_ssa::Binding;
use serde::Serialize;

#[cfg(feature = "schema")]
use schemars::JsonSchema;

/// What a file is and what is inside it.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Document {
    /// The file itself.
    pub file: File,
    /// Code for one target each, in archives.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slices: Vec<Slice>,
    /// Metallibs, wherever in the file they lie.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub metallibs: Vec<Library>,
    /// Compute kernels; null when this kind of file was recognised but not read further.
    pub kernels: Option<Vec<Kernel>>,
    /// Functions that are no kernels: vertex, fragment, visible functions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<Kernel>,
}

/// The file itself.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct File {
    /// Its name, as it was given.
    pub path: String,
    /// How long it is.
    pub bytes: u64,
    /// What it is, in words.
    pub kind: String,
}

/// Code for one target.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Slice {
    /// The member of a capture that holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
    /// `G13G`, `AIR 2.6`, or the numbers in the file where they have no name.
    pub target: String,
    /// Where it starts in the file.
    pub offset: u64,
    /// How long it is.
    pub bytes: u64,
    /// How many functions it has.
    pub functions: u64,
    /// Whether Assay can read the code.
    pub decodable: bool,
    /// What to do when it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

/// A metallib.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Library {
    /// The member of a capture that holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
    /// Where it starts in the file.
    pub offset: u64,
    /// How long it is.
    pub bytes: u64,
    /// Section of the Mach-O that holds it, when found inside one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// The system it is for.
    pub platform: String,
    /// Oldest system that loads it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Version of the file format.
    pub format: String,
    /// What kind of library it is.
    pub kind: String,
    /// Its identifier, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// How many functions it has.
    pub functions: u64,
    /// Archives of sources inside it.
    pub source_archives: u64,
}

/// A function, as AIR or as machine code.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Kernel {
    /// Null when the file does not tell: machine code is anonymous.
    pub name: Option<String>,
    /// `kernel`, `vertex`, …; `compute` for machine code.
    #[serde(rename = "type")]
    pub kind: String,
    /// `air` or `agx`.
    pub form: &'static str,
    /// Index in `metallibs`, for AIR.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metallib: Option<u64>,
    /// Version of the AIR dialect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub air: Option<String>,
    /// Version of the Metal language.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metal: Option<String>,
    /// The compiler, in its own words, when the bitcode was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compiler: Option<String>,
    /// Where the bitcode or the machine code lies; null when only declared.
    pub offset: Option<u64>,
    /// How long it is.
    pub bytes: Option<u64>,
    /// SHA-256 of the bitcode, as the file states it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Where its source was, as the file states it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Machine code only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
    /// Most threads of a threadgroup, if the kernel declares that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_threads: Option<u32>,
    /// Arguments, when the bitcode was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Vec<Argument>>,
}

/// An argument of a kernel.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Argument {
    /// Its name, where the file tells.
    pub name: Option<String>,
    /// `buffer`, `threadgroup`, `texture`, a position, …
    pub kind: String,
    /// Binding index, for what is bound.
    pub index: Option<u32>,
    /// `read`, `write`, `read-write`.
    pub access: Option<String>,
    /// The type as Metal spells it.
    #[serde(rename = "type")]
    pub type_name: Option<String>,
}

/// What is known of machine code.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Machine {
    /// The GPU it is for.
    pub gpu: String,
    /// True if Assay can read the code.
    pub decodable: bool,
    /// Bytes of the main program; null when there is none.
    pub main_bytes: Option<u64>,
    /// Bytes of the program that runs once per dispatch.
    pub constant_program_bytes: Option<u64>,
    /// Symbols of functions called from the others.
    pub helpers: Vec<String>,
    /// Registers per thread in 32-bit units, as the compiler stated; null when it did not.
    pub registers: Option<u32>,
    /// Bytes per thread that did not fit into registers, as the compiler stated.
    pub spill_bytes: Option<u32>,
    /// Uniform registers, in a unit that is not established.
    pub uniform_registers: Option<u32>,
    /// Spilled values that all threads share.
    pub thread_invariant_spill_bytes: Option<u32>,
    /// Statically sized threadgroup memory.
    pub threadgroup_bytes: Option<u32>,
    /// Why the metadata could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata_error: Option<String>,
}

impl Document {
    /// Everything found in `contents`.
    pub fn new(path: &str, bytes: u64, contents: &Contents<'_>) -> Result<Self, Error> {
        let mut document = Document {
            file: File {
                path: path.to_owned(),
                bytes,
                kind: contents.describe().to_owned(),
            },
            ..Document::default()
        };
        document.add_slices(contents);
        let sections: Vec<Option<String>> = match contents {
            Contents::Embedded(found) => found.iter().map(|found| found.section.clone()).collect(),
            _ => Vec::new(),
        };
        let mut kernels = Vec::new();
        for (index, metallib) in contents.metallibs().into_iter().enumerate() {
            let section = sections.get(index).cloned().flatten();
            document.metallibs.push(library(metallib, section)?);
            for function in metallib.functions() {
                let entry = air(function, index as u64);
                match function.kind {
                    FunctionKind::Kernel => kernels.push(entry),
                    _ => document.functions.push(entry),
                }
            }
        }
        kernels.extend(contents.compiled().into_iter().map(machine));
        let listed = !matches!(contents, Contents::Source(_) | Contents::Code(_));
        document.kernels = listed.then_some(kernels);
        Ok(document)
    }

    /// What the members of a `.gputrace` capture hold: each is opened like a file of its own.
    pub fn of_capture(path: &str, members: &[(String, Vec<u8>)]) -> Self {
        let mut document = Document {
            file: File {
                path: path.to_owned(),
                bytes: members.iter().map(|(_, bytes)| bytes.len() as u64).sum(),
                kind: "code of a .gputrace capture".to_owned(),
            },
            kernels: Some(Vec::new()),
            ..Document::default()
        };
        for (name, bytes) in members {
            let opened = assay_container::open(bytes).ok();
            let inside =
                opened.and_then(|contents| Document::new(name, bytes.len() as u64, &contents).ok());
            if let Some(inside) = inside {
                document.absorb(name, inside);
            }
        }
        document
    }

    /// Adds what a member holds.
    fn absorb(&mut self, member: &str, inside: Document) {
        let before = self.metallibs.len() as u64;
        let shifted = |mut kernel: Kernel| {
            kernel.metallib = kernel.metallib.map(|index| index + before);
            kernel
        };
        let slices = inside.slices.into_iter();
        self.slices.extend(slices.map(|slice| Slice {
            member: Some(member.to_owned()),
            ..slice
        }));
        let libraries = inside.metallibs.into_iter();
        self.metallibs.extend(libraries.map(|library| Library {
            member: Some(member.to_owned()),
            ..library
        }));
        let kernels = inside.kernels.into_iter().flatten().map(shifted);
        self.kernels.get_or_insert_default().extend(kernels);
        self.functions
            .extend(inside.functions.into_iter().map(shifted));
    }

    fn add_slices(&mut self, contents: &Contents<'_>) {
        match contents {
            Contents::Archive(archive) => {
                for part in &archive.slices {
                    let range = part.view.range();
                    let bytes = range.end - range.start;
                    self.slices.push(match &part.content {
                        SliceContent::Image(image) => code_slice(image, range.start, bytes),
                        SliceContent::Metallib(library) => {
                            let functions = library.functions().len();
                            slice(part.target, range.start, bytes, functions)
                        }
                        _ => slice(part.target, range.start, bytes, 0),
                    });
                }
            }
            Contents::Image(image) => {
                let slice = code_slice(image, image.offset, self.file.bytes);
                self.slices.push(slice);
            }
            _ => {}
        }
    }

    /// Adds the kernels of LLVM bitcode with their arguments. `metal` is the version of the
    /// language, where the bitcode was made of source just now.
    pub fn add_bitcode(
        &mut self,
        bitcode: &[u8],
        metal: Option<&str>,
    ) -> Result<(), assay_air::Error> {
        let kernels = self.kernels.get_or_insert_default();
        for module in llvm::read(bitcode)? {
            let versions = assay_air::versions(&module);
            for signature in assay_air::signatures(&module) {
                kernels.push(Kernel {
                    air: versions.air.clone(),
                    metal: versions.metal.clone().or(metal.map(str::to_owned)),
                    compiler: versions.compiler.clone(),
                    ..Kernel::described(signature)
                });
            }
        }
        Ok(())
    }

    /// Reads the arguments of the kernels of a metallib, as far as they are few.
    pub fn add_arguments(&mut self, contents: &Contents<'_>, most: usize) {
        let Some(kernels) = self.kernels.as_mut().filter(|list| list.len() <= most) else {
            return;
        };
        for kernel in kernels {
            let libraries = contents.metallibs();
            let library = kernel
                .metallib
                .and_then(|index| libraries.get(index as usize));
            let name = kernel.name.as_deref();
            let bitcode = library.and_then(|library| {
                let mut functions = library.functions().iter();
                let found = functions.find(|function| Some(&*function.name) == name)?;
                found.bitcode
            });
            // What cannot be read is left without arguments; other commands say why.
            let modules = bitcode.and_then(|bitcode| llvm::read(bitcode).ok());
            for module in modules.into_iter().flatten() {
                let signatures = assay_air::signatures(&module);
                if let Some(one) = signatures.into_iter().find(|s| Some(&*s.name) == name) {
                    kernel.compiler = assay_air::versions(&module).compiler;
                    let described = Kernel::described(one);
                    kernel.arguments = described.arguments;
                    kernel.max_threads = described.max_threads;
                }
            }
        }
    }

    /// Every function, kernels first.
    pub fn all(&self) -> impl Iterator<Item = &Kernel> {
        self.kernels.iter().flatten().chain(&self.functions)
    }

    /// Keeps only the functions named `name`; false when there are none.
    pub fn keep_only(&mut self, name: &str) -> bool {
        let named = |kernel: &Kernel| kernel.name.as_deref() == Some(name);
        if let Some(kernels) = &mut self.kernels {
            kernels.retain(named);
        }
        self.functions.retain(named);
        self.all().next().is_some()
    }
}

/// A slice of machine code, named by what its code is when the GPU's number is not published.
fn code_slice(image: &Image<'_>, offset: u64, bytes: u64) -> Slice {
    let target = Target::AppleGpu(image.gpu);
    let named = slice(target, offset, bytes, image.functions.len());
    if image.isa().is_none() {
        return named;
    }
    Slice {
        target: image.target(),
        decodable: true,
        advice: None,
        ..named
    }
}

fn slice(target: Target, offset: u64, bytes: u64, functions: usize) -> Slice {
    let (decodable, advice) = match target {
        Target::AppleGpu(gpu) => (gpu.is_decodable(), gpu.advice().map(str::to_owned)),
        Target::Air(_) => (true, None),
        _ => (false, Some("only Apple GPUs are supported".to_owned())),
    };
    Slice {
        member: None,
        target: target.to_string(),
        offset,
        bytes,
        functions: functions as u64,
        decodable,
        advice,
    }
}

fn library(metallib: &Metallib<'_>, section: Option<String>) -> Result<Library, Error> {
    let header = metallib.header();
    Ok(Library {
        member: None,
        offset: metallib.offset(),
        bytes: metallib.bytes().len() as u64,
        section,
        platform: header.platform.to_string(),
        target: header.target.map(|version| version.to_string()),
        format: header.format.to_string(),
        kind: header.kind.to_string(),
        uuid: metallib.uuid().map(|uuid| hex(&uuid)),
        functions: metallib.functions().len() as u64,
        source_archives: metallib.sources()?.len() as u64,
    })
}

fn air(function: &Function<'_>, metallib: u64) -> Kernel {
    let bitcode = function.bitcode;
    Kernel {
        name: Some(function.name.clone().into_owned()),
        kind: function.kind.to_string(),
        form: "air",
        metallib: Some(metallib),
        air: function.air.map(|version| version.to_string()),
        metal: function.language.map(|version| version.to_string()),
        offset: bitcode.map(|_| function.bitcode_offset),
        bytes: bitcode.map(|bitcode| bitcode.len() as u64),
        hash: function.hash.map(|hash| hex(hash)),
        source: function
            .source_path()
            .map(|(path, line)| format!("{path}:{line}")),
        ..Kernel::default()
    }
}

impl Kernel {
    /// What a module says about a kernel.
    fn described(signature: assay_air::Signature) -> Self {
        let arguments = signature.arguments.iter().map(Argument::new);
        Kernel {
            name: Some(signature.name),
            kind: FunctionKind::Kernel.to_string(),
            form: "air",
            max_threads: signature.max_threads,
            arguments: Some(arguments.collect()),
            ..Kernel::default()
        }
    }
}

impl Argument {
    fn new(argument: &assay_ssa::Argument) -> Self {
        let (kind, index) = match argument.binding {
            Binding::Buffer(index) => ("buffer", Some(index)),
            Binding::Threadgroup(index) => ("threadgroup", Some(index)),
            Binding::Texture(index) => ("texture", Some(index)),
            Binding::Sampler(index) => ("sampler", Some(index)),
            Binding::StageIn(index) => ("stage_in", Some(index)),
            Binding::Builtin(builtin) => (builtin.info().name, None),
            Binding::Other => ("other", None),
        };
        let stated = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let access = match argument.access {
            assay_ssa::ArgumentAccess::Unknown => None,
            assay_ssa::ArgumentAccess::ReadWrite => Some("read-write".to_owned()),
            access => Some(access.name().to_owned()),
        };
        Argument {
            name: stated(&argument.name),
            kind: kind.to_owned(),
            index,
            access,
            type_name: stated(&argument.type_name),
        }
    }
}

fn machine(function: &CompiledFunction<'_>) -> Kernel {
    let size = |part: &assay_container::image::CodePart<'_>| part.range.len() as u64;
    let metadata = function.metadata.as_ref();
    Kernel {
        name: function.name.clone().map(Into::into),
        kind: function.stage.to_string(),
        form: "agx",
        offset: Some(function.code_offset),
        bytes: Some(function.code.len() as u64),
        machine: Some(Machine {
            gpu: function.gpu.to_string(),
            decodable: function.isa().is_some(),
            main_bytes: function.main().map(size),
            constant_program_bytes: function.constant_program().map(size),
            helpers: function
                .helpers()
                .map(|part| part.name.clone().into_owned())
                .collect(),
            registers: metadata.and_then(|metadata| metadata.registers),
            spill_bytes: metadata.and_then(|metadata| metadata.spill_bytes),
            uniform_registers: metadata.and_then(|metadata| metadata.uniform_registers),
            thread_invariant_spill_bytes: metadata
                .and_then(|metadata| metadata.thread_invariant_spill_bytes),
            threadgroup_bytes: metadata.and_then(|metadata| metadata.threadgroup_bytes),
            metadata_error: function.metadata_error.as_ref().map(ToString::to_string),
        }),
        ..Kernel::default()
    }
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| char::from(DIGITS[usize::from(value & 15)]);
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(*byte)])
        .collect()
}
