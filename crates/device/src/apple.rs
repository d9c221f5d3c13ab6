//! Apple's own compilers: source to metallib, metallib to machine code.
//!
//! Two ways lead to machine code. `metal-tt` compiles for a GPU family whose instructions are known (`apple7`, M1) on
//! any Mac; where it is missing, the GPU itself compiles into a binary archive, which can be read when that GPU is an
//! M1 or M2. Programs are run through [`Tools`], so the way is the same on a machine that has none of them: it says
//! what is missing. Everything happens in a folder of its own, which is gone afterwards whatever happens.

use crate::Constant;
use crate::error::Error;
use crate::message;
use crate::metal::GpuDevice;
use crate::source::{CompileOptions, Source};
use std::ffi::OsString;
use std::path::Path;

/// The GPU family that is compiled for: its instruction set is M1's, which Assay reads.
pub const FAMILY: &str = "apple7";

/// How to get what is missing.
pub const ADVICE: &str = "Apple's Metal compiler comes with Xcode: install it, then run `xcodebuild -downloadComponent MetalToolchain`";

/// What a program answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    /// Whether it ended with 0.
    pub success: bool,
    /// What it printed, both streams.
    pub output: String,
}

/// Runs programs. Only whoever talks to the system implements it.
pub trait Tools {
    /// Runs `xcrun` with these arguments; `None` when there is no `xcrun`.
    fn xcrun(&self, arguments: &[OsString]) -> Option<Ran>;
}

/// Which way the machine code came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// `metal-tt`, for [`FAMILY`].
    MetalTt,
    /// A binary archive, for this machine's GPU.
    BinaryArchive,
}

/// Machine code in a container that `assay-container` opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineCode {
    /// The file's bytes.
    pub bytes: Vec<u8>,
    /// How it was made.
    pub route: Route,
}

/// Compiles source to a metallib, with lines.
pub fn metallib(
    tools: &dyn Tools,
    source: Source<'_>,
    options: &CompileOptions,
) -> Result<Vec<u8>, Error> {
    let folder = folder()?;
    let text = folder.path().join("kernel.metal");
    write(&text, source.text.as_bytes())?;
    let library = folder.path().join("library.metallib");
    let mut arguments: Vec<OsString> = ["-sdk", "macosx", "metal", "-gline-tables-only"]
        .map(OsString::from)
        .to_vec();
    arguments.push(format!("-std={}", options.standard.name()).into());
    if !options.fast_math {
        arguments.push("-fno-fast-math".into());
    }
    // Quoted includes are searched beside the user's file, not beside our copy of it.
    let beside = source.path.parent().map(Path::to_owned);
    for include in beside.iter().chain(&options.include_folders) {
        arguments.push("-I".into());
        arguments.push(match include.as_os_str().is_empty() {
            true => ".".into(),
            false => include.into(),
        });
    }
    for file in &options.include_files {
        arguments.extend(["-include".into(), file.into()]);
    }
    for define in &options.defines {
        arguments.push(format!("-D{define}").into());
    }
    arguments.extend(["-o".into(), library.clone().into(), text.clone().into()]);
    let ran = tools.xcrun(&arguments).ok_or_else(missing)?;
    if ran.success {
        return read(&library);
    }
    if is_missing_tool(&ran.output) {
        return Err(missing());
    }
    let prefix = format!("{}:", text.display());
    Err(message::compile_error(&ran.output, &prefix, source))
}

/// Compiles a kernel of a metallib to machine code.
pub fn machine_code(
    tools: &dyn Tools,
    gpu: Option<&mut dyn GpuDevice>,
    metallib: &[u8],
    function: &str,
    constants: &[Constant],
) -> Result<MachineCode, Error> {
    let folder = folder()?;
    let by_tool = match constants {
        [] => translate(tools, metallib, function, folder.path()),
        [first, ..] => Err(Error::Compiler(format!(
            "metal-tt takes no function constants ({}); only a GPU that can be read compiles with them",
            first.key
        ))),
    };
    match (by_tool, gpu) {
        (Ok(bytes), _) => Ok(MachineCode {
            bytes,
            route: Route::MetalTt,
        }),
        (Err(_), Some(gpu)) => {
            let id = gpu.load(metallib.to_vec())?;
            let path = folder.path().join("kernel.archive");
            gpu.archive(id, function, constants, &path)?;
            Ok(MachineCode {
                bytes: read(&path)?,
                route: Route::BinaryArchive,
            })
        }
        (Err(error), None) => Err(error),
    }
}

/// A folder of our own, gone when the value is.
fn folder() -> Result<tempfile::TempDir, Error> {
    let made = tempfile::Builder::new().prefix("assay-").tempdir();
    made.map_err(|error| Error::Compiler(format!("no temporary folder: {error}")))
}

/// Metallib to machine code of [`FAMILY`].
fn translate(
    tools: &dyn Tools,
    metallib: &[u8],
    function: &str,
    folder: &Path,
) -> Result<Vec<u8>, Error> {
    let library = folder.join("library.metallib");
    write(&library, metallib)?;
    let script = folder.join("pipeline.mtlp-json");
    let pipelines = serde_json::json!({
        "pipelines": { "compute_pipelines": [{ "compute_function": function }] }
    });
    write(&script, pipelines.to_string().as_bytes())?;
    let out = folder.join("kernel.gpubin");
    let mut arguments: Vec<OsString> = ["metal-tt", "-gpu-family", FAMILY, "-o"]
        .map(OsString::from)
        .to_vec();
    arguments.extend([out.clone().into(), script.into(), library.into()]);
    let ran = tools.xcrun(&arguments).ok_or_else(missing)?;
    if ran.success {
        return read(&out);
    }
    if is_missing_tool(&ran.output) {
        return Err(missing());
    }
    Err(Error::Pipeline {
        function: function.to_owned(),
        why: format!("metal-tt failed: {}", ran.output.trim()),
    })
}

fn missing() -> Error {
    Error::Compiler(ADVICE.to_owned())
}

/// What `xcrun` says when it does not know a tool, and what the stub says when the toolchain is not downloaded.
fn is_missing_tool(output: &str) -> bool {
    ["unable to find utility", "missing Metal Toolchain"]
        .iter()
        .any(|words| output.contains(words))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    std::fs::write(path, bytes)
        .map_err(|error| Error::Compiler(format!("{}: {error}", path.display())))
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|error| Error::Compiler(format!("{}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::{ADVICE, Ran, Route, Tools, machine_code, metallib};
    use crate::metal::test_gpu;
    use crate::{CompileOptions, Constant, ConstantKey, Error, Source};
    use std::cell::RefCell;
    use std::ffi::OsString;
    use std::path::{Path, PathBuf};

    /// Answers for `metal` and `metal-tt`, and what they were asked.
    struct Xcode {
        metal: Option<Ran>,
        translate: Option<Ran>,
        seen: RefCell<Vec<Vec<String>>>,
        folder: RefCell<Option<PathBuf>>,
    }

    impl Xcode {
        fn new(metal: Option<Ran>, translate: Option<Ran>) -> Xcode {
            Xcode {
                metal,
                translate,
                seen: RefCell::default(),
                folder: RefCell::default(),
            }
        }

        /// Whether the folder everything happened in is gone.
        fn is_clean(&self) -> bool {
            !self
                .folder
                .borrow()
                .as_ref()
                .is_some_and(|path| path.exists())
        }
    }

    impl Tools for Xcode {
        fn xcrun(&self, arguments: &[OsString]) -> Option<Ran> {
            let words = arguments
                .iter()
                .map(|word| word.to_string_lossy().into_owned());
            let words: Vec<String> = words.collect();
            let out = words
                .iter()
                .position(|word| word == "-o")
                .expect("an output");
            let out = Path::new(&words[out + 1]);
            *self.folder.borrow_mut() = out.parent().map(Path::to_owned);
            let ran = match words.contains(&"metal-tt".to_owned()) {
                true => self.translate.clone(),
                false => self.metal.clone(),
            };
            if ran.as_ref().is_some_and(|ran| ran.success) {
                std::fs::write(out, b"MTLB made by a test").expect("writable");
            }
            self.seen.borrow_mut().push(words);
            ran
        }
    }

    fn good() -> Option<Ran> {
        Some(Ran {
            success: true,
            output: String::new(),
        })
    }

    fn bad(words: &str) -> Option<Ran> {
        Some(Ran {
            success: false,
            output: words.to_owned(),
        })
    }

    fn source() -> Source<'static> {
        Source {
            path: Path::new("kernels/add.metal"),
            text: "kernel void add() {}\nbroken\n",
        }
    }

    const LIBRARY: &[u8] = b"MTLB library";

    #[test]
    fn source_becomes_machine_code_in_two_steps() {
        let tools = Xcode::new(good(), good());
        let options = CompileOptions {
            fast_math: false,
            defines: vec!["N=4".to_owned()],
            ..CompileOptions::default()
        };
        let library = metallib(&tools, source(), &options).expect("compiles");
        assert!(tools.is_clean());
        let made = machine_code(&tools, None, &library, "add \"quoted\"", &[]).expect("works");
        assert_eq!(made.route, Route::MetalTt);
        let seen = tools.seen.borrow();
        let [metal, translate] = seen.as_slice() else {
            panic!("two programs: {seen:?}");
        };
        for word in ["-std=metal3.1", "-fno-fast-math", "-DN=4", "kernels"] {
            assert!(metal.contains(&word.to_owned()), "{word}: {metal:?}");
        }
        assert!(translate.contains(&"apple7".to_owned()));
        assert!(tools.is_clean());
    }

    #[test]
    fn errors_are_at_the_users_file() {
        struct Compiler;
        impl Tools for Compiler {
            fn xcrun(&self, arguments: &[OsString]) -> Option<Ran> {
                let file = arguments.last()?.to_string_lossy().into_owned();
                bad(&format!(
                    "{file}:2:1: error: unknown type name 'broken'\nbroken\n^\n1 error generated.\n"
                ))
            }
        }
        let made = metallib(&Compiler, source(), &CompileOptions::default());
        let Err(Error::Source(errors)) = made else {
            panic!("an error in the source");
        };
        let place = errors[0].place.as_ref().expect("a place");
        let file = place.file.as_path();
        assert_eq!((file, place.line), (Path::new("kernels/add.metal"), 2));
    }

    #[test]
    fn what_is_missing_is_said() {
        let not_found = "xcrun: error: unable to find utility \"metal\", not a developer tool";
        for tools in [
            Xcode::new(None, None),
            Xcode::new(bad(not_found), bad(not_found)),
        ] {
            let advice = Error::Compiler(ADVICE.to_owned());
            let error = metallib(&tools, source(), &CompileOptions::default());
            assert_eq!(error, Err(advice.clone()));
            let error = machine_code(&tools, None, LIBRARY, "add", &[]);
            assert_eq!(error, Err(advice));
            assert!(tools.is_clean());
        }
    }

    #[test]
    fn the_gpu_compiles_where_metal_tt_cannot() {
        let tools = Xcode::new(good(), bad("unable to find utility \"metal-tt\""));
        let mut gpu = test_gpu();
        let made = machine_code(&tools, Some(&mut gpu), LIBRARY, "increment", &[]).expect("works");
        assert_eq!(made.route, Route::BinaryArchive);
        assert_eq!(made.bytes, b"archive");
        let crashed = Xcode::new(good(), bad("LLVM ERROR"));
        let error = machine_code(&crashed, None, LIBRARY, "increment", &[]).expect_err("crashed");
        assert!(error.to_string().contains("LLVM ERROR"), "{error}");
        assert!(tools.is_clean() && crashed.is_clean());
    }

    #[test]
    fn function_constants_need_the_gpu() {
        let constants = [Constant {
            key: ConstantKey::Index(3),
            ty: assay_ssa::Type::I8,
            elements: vec![1],
        }];
        let tools = Xcode::new(good(), good());
        let refused = machine_code(&tools, None, LIBRARY, "increment", &constants);
        assert!(refused.is_err());
        let mut gpu = test_gpu();
        let made = machine_code(&tools, Some(&mut gpu), LIBRARY, "increment", &constants);
        assert_eq!(made.map(|made| made.route), Ok(Route::BinaryArchive));
    }
}
