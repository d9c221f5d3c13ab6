//! Apple's own compilers: source to metallib, metallib to machine code.
//!
//! Two ways lead to machine code. `metal-tt` compiles one kernel for one GPU whose instructions are known (M1's) on any
//! Mac; where it cannot, the GPU itself compiles into a binary archive, which can be read when that GPU is an M1 or M2.
//! A GPU *family* is not named to `metal-tt`: it would compile for every GPU of the family, M1 to M5, and pack all of the
//! metallib with each. Programs are run through [`Tools`], so the way is the same on a machine that has none of them: it says
//! what is missing. Everything happens in a folder of its own, which is gone afterwards whatever happens.

use crate::error::Error;
use crate::message;
use crate::metal::GpuDevice;
use crate::source::{CompileOptions, Source};
use crate::{Constant, ConstantKey, Standard};
use assay_ssa::Scalar;
use std::ffi::OsString;
use std::path::Path;

/// The GPU that is compiled for: M1's, whose instruction set Assay reads.
pub const ARCHITECTURE: &str = "applegpu_g13g";

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
    /// Runs a program with these arguments: `xcrun`, or one of Apple's by its path. `None` when there is no such program.
    fn run(&self, program: &Path, arguments: &[OsString]) -> Option<Ran>;
}

/// Which way the machine code came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// `metal-tt`, for [`ARCHITECTURE`].
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
    let mut arguments: Vec<OsString> = vec!["-gline-tables-only".into()];
    // Without a wish the compiler takes its newest language, which knows everything that a kernel may use.
    if options.standard != Standard::default() {
        arguments.push(format!("-std={}", standard_name(options.standard)).into());
    }
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
    arguments.extend(options.link_files.iter().map(Into::into));
    let ran = developer_tool(tools, "metal", &arguments)?;
    if ran.success {
        return read(&library);
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
    let by_tool = translate(tools, metallib, function, constants, folder.path());
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

/// What `-std=` calls a version of the language: before 3.0 each system had its own.
fn standard_name(standard: Standard) -> String {
    match standard.version() {
        ..300 => format!("macos-{}", standard.name()),
        _ => standard.name().to_owned(),
    }
}

/// Metallib to machine code of [`ARCHITECTURE`].
fn translate(
    tools: &dyn Tools,
    metallib: &[u8],
    function: &str,
    constants: &[Constant],
    folder: &Path,
) -> Result<Vec<u8>, Error> {
    let library = folder.join("library.metallib");
    write(&library, metallib)?;
    let script = folder.join("pipeline.mtlp-json");
    write(
        &script,
        pipeline_script(function, constants, &library)?.as_bytes(),
    )?;
    let out = folder.join("kernel.gpubin");
    let mut arguments: Vec<OsString> = ["-arch", ARCHITECTURE, "-o"].map(OsString::from).to_vec();
    arguments.extend([out.clone().into(), script.into(), library.into()]);
    let ran = developer_tool(tools, "metal-tt", &arguments)?;
    if ran.success {
        return read(&out);
    }
    Err(Error::Pipeline {
        function: function.to_owned(),
        why: format!("metal-tt failed: {}", ran.output.trim()),
    })
}

/// A script of one pipeline, in the form of the manual page metal-pipelines-script(5). A kernel with values for its function
/// constants is a function of a library of its own, named by an `alias:`.
fn pipeline_script(
    function: &str,
    constants: &[Constant],
    library: &Path,
) -> Result<String, Error> {
    let pipelines = |function: &str| serde_json::json!({ "compute_pipelines": [{ "compute_function": function }] });
    let script = match constants {
        [] => serde_json::json!({ "pipelines": pipelines(function) }),
        _ => {
            let values = constants.iter().map(constant_value);
            let values = values.collect::<Result<Vec<_>, Error>>()?;
            serde_json::json!({
                "libraries": {
                    "paths": [{ "label": "library", "path": library.display().to_string() }],
                    "specialized_functions": [{
                        "label": "specialized",
                        "function": format!("alias:library#{function}"),
                        "specialized_name": "kernel",
                        "constant_values": values,
                    }],
                },
                "pipelines": pipelines("alias:specialized#kernel"),
            })
        }
    };
    Ok(script.to_string())
}

/// A function constant as a script has it.
fn constant_value(constant: &Constant) -> Result<serde_json::Value, Error> {
    let refuse = |why: &str| {
        Err(Error::Compiler(format!(
            "function constant {} is not given to metal-tt: {why}",
            constant.key
        )))
    };
    let ConstantKey::Index(index) = constant.key else {
        return refuse(
            "its scripts are written with numbers here; give the constant by its number",
        );
    };
    let [bits] = constant.elements[..] else {
        return refuse("only scalars are");
    };
    // Signs make no difference to bits of a known width.
    let (name, value) = match constant.ty.element() {
        Some(Scalar::I1 | Scalar::I8) => ("ConstantUChar", serde_json::json!(bits as u8)),
        Some(Scalar::I16) => ("ConstantUShort", serde_json::json!(bits as u16)),
        Some(Scalar::I32) => ("ConstantUInt", serde_json::json!(bits as u32)),
        Some(Scalar::F32) => match f32::from_bits(bits as u32) {
            value if value.is_finite() => ("ConstantFloat", serde_json::json!(value)),
            _ => return refuse("JSON has no infinities and no NaN"),
        },
        _ => return refuse("only types of 8, 16 and 32 bits are, and no half"),
    };
    Ok(serde_json::json!({
        "id_type": "FunctionConstantIndex",
        "id": { "data": index },
        "value_type": name,
        "value": { "data": value },
    }))
}

/// Runs one of Apple's compilers. Where `xcrun` does not know it, the toolchain that is downloaded apart is asked for by
/// its name, and then the folder where `metal` lies.
fn developer_tool(tools: &dyn Tools, name: &str, arguments: &[OsString]) -> Result<Ran, Error> {
    let xcrun = Path::new("xcrun");
    let with = |first: &[&str]| -> Vec<OsString> {
        let first = first.iter().map(OsString::from);
        first.chain(arguments.iter().cloned()).collect()
    };
    let here = |ran: &Ran| ran.success || !is_missing_tool(&ran.output);
    let ran = tools
        .run(xcrun, &with(&["-sdk", "macosx", name]))
        .ok_or_else(missing)?;
    if here(&ran) {
        return Ok(ran);
    }
    let ran = tools.run(xcrun, &with(&["--toolchain", "Metal", name]));
    if let Some(ran) = ran.filter(here) {
        return Ok(ran);
    }
    let metal = tools.run(xcrun, &["-f".into(), "metal".into()]);
    let metal = metal.filter(|ran| ran.success).ok_or_else(missing)?;
    let beside = Path::new(metal.output.trim()).with_file_name(name);
    let ran = tools.run(&beside, arguments).filter(here);
    ran.ok_or_else(missing)
}

fn missing() -> Error {
    Error::Compiler(ADVICE.to_owned())
}

/// Words of `xcrun` when it does not know a tool or a toolchain, of the stub when the toolchain is not downloaded, and of
/// `xcode-select` when there are no developer tools.
fn is_missing_tool(output: &str) -> bool {
    let words = [
        "unable to find utility",
        "unable to find toolchain",
        "missing Metal Toolchain",
        "invalid active developer path",
        "No developer tools were found",
    ];
    words.iter().any(|words| output.contains(words))
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
        script: RefCell<String>,
    }

    impl Xcode {
        fn new(metal: Option<Ran>, translate: Option<Ran>) -> Xcode {
            Xcode {
                metal,
                translate,
                seen: RefCell::default(),
                folder: RefCell::default(),
                script: RefCell::default(),
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
        fn run(&self, program: &Path, arguments: &[OsString]) -> Option<Ran> {
            let words = std::iter::once(program.as_os_str())
                .chain(arguments.iter().map(OsString::as_os_str))
                .map(|word| word.to_string_lossy().into_owned());
            let words: Vec<String> = words.collect();
            let Some(out) = words.iter().position(|word| word == "-o") else {
                return bad("unable to find utility");
            };
            let out = Path::new(&words[out + 1]);
            *self.folder.borrow_mut() = out.parent().map(Path::to_owned);
            let ran = match words.contains(&"metal-tt".to_owned()) {
                true => self.translate.clone(),
                false => self.metal.clone(),
            };
            if ran.as_ref().is_some_and(|ran| ran.success) {
                std::fs::write(out, b"MTLB made by a test").expect("writable");
            }
            let script = words.iter().find(|word| word.ends_with(".mtlp-json"));
            if let Some(script) = script {
                *self.script.borrow_mut() = std::fs::read_to_string(script).expect("a script");
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
        for word in ["-fno-fast-math", "-DN=4", "kernels"] {
            assert!(metal.contains(&word.to_owned()), "{word}: {metal:?}");
        }
        assert!(
            !metal.iter().any(|word| word.starts_with("-std")),
            "{metal:?}"
        );
        let arch = ["-arch", "applegpu_g13g"].map(str::to_owned);
        assert!(translate.windows(2).any(|words| words == arch));
        assert!(!translate.contains(&"-gpu-family".to_owned()));
        assert_eq!(
            *tools.script.borrow(),
            r#"{"pipelines":{"compute_pipelines":[{"compute_function":"add \"quoted\""}]}}"#
        );
        assert!(tools.is_clean());
    }

    #[test]
    fn errors_are_at_the_users_file() {
        struct Compiler;
        impl Tools for Compiler {
            fn run(&self, _: &Path, arguments: &[OsString]) -> Option<Ran> {
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
    fn versions_before_3_have_the_systems_name() {
        for (asked, named) in [
            ("metal2.4", "-std=macos-metal2.4"),
            ("metal3.2", "-std=metal3.2"),
        ] {
            let tools = Xcode::new(good(), good());
            let options = CompileOptions {
                standard: asked.parse().expect("a version"),
                ..CompileOptions::default()
            };
            metallib(&tools, source(), &options).expect("compiles");
            let seen = tools.seen.borrow();
            assert!(seen[0].contains(&named.to_owned()), "{seen:?}");
        }
    }

    fn constant(key: ConstantKey, ty: assay_ssa::Type, bits: u64) -> Constant {
        Constant {
            key,
            ty,
            elements: vec![bits],
        }
    }

    #[test]
    fn function_constants_are_in_the_script() {
        let tools = Xcode::new(good(), good());
        let constants = [
            constant(ConstantKey::Index(3), assay_ssa::Type::I8, 1),
            constant(
                ConstantKey::Index(4),
                assay_ssa::Type::F32,
                f32::to_bits(0.5).into(),
            ),
        ];
        machine_code(&tools, None, LIBRARY, "add", &constants).expect("works");
        let script: serde_json::Value =
            serde_json::from_str(&tools.script.borrow()).expect("a script");
        let pipeline = &script["pipelines"]["compute_pipelines"][0]["compute_function"];
        assert_eq!(pipeline, "alias:specialized#kernel");
        let function = &script["libraries"]["specialized_functions"][0];
        assert_eq!(function["function"], "alias:library#add");
        let label = &script["libraries"]["paths"][0]["label"];
        assert_eq!(label, "library");
        let expected = serde_json::json!([
            {"id_type": "FunctionConstantIndex", "id": {"data": 3}, "value_type": "ConstantUChar", "value": {"data": 1}},
            {"id_type": "FunctionConstantIndex", "id": {"data": 4}, "value_type": "ConstantFloat", "value": {"data": 0.5}},
        ]);
        assert_eq!(function["constant_values"], expected);
    }

    #[test]
    fn function_constants_a_script_cannot_have_need_the_gpu() {
        let name = ConstantKey::Name("scale".to_owned());
        for (given, why) in [
            (constant(name, assay_ssa::Type::I8, 1), "number"),
            (
                constant(ConstantKey::Index(3), assay_ssa::Type::F16, 1),
                "half",
            ),
            (
                constant(
                    ConstantKey::Index(3),
                    assay_ssa::Type::F32,
                    f32::to_bits(f32::INFINITY).into(),
                ),
                "infinities",
            ),
        ] {
            let tools = Xcode::new(good(), good());
            let given = [given];
            let refused = machine_code(&tools, None, LIBRARY, "increment", &given);
            let said = refused.expect_err("not in a script").to_string();
            assert!(said.contains(why), "{said}");
            let mut gpu = test_gpu();
            let made = machine_code(&tools, Some(&mut gpu), LIBRARY, "increment", &given);
            assert_eq!(made.map(|made| made.route), Ok(Route::BinaryArchive));
        }
    }

    /// A Mac whose `xcrun` finds `metal` only, or finds the compilers in the toolchain downloaded apart only.
    struct Partial {
        toolchain: bool,
        ran: RefCell<Vec<PathBuf>>,
    }

    impl Tools for Partial {
        fn run(&self, program: &Path, arguments: &[OsString]) -> Option<Ran> {
            self.ran.borrow_mut().push(program.to_owned());
            if arguments.first().is_some_and(|word| word == "-f") {
                return Some(Ran {
                    success: true,
                    output: "/tools/usr/bin/metal\n".to_owned(),
                });
            }
            let named = arguments.first().is_some_and(|word| word == "--toolchain");
            if program == Path::new("xcrun") && !(named && self.toolchain) {
                return bad("xcrun: error: unable to find utility \"metal-tt\"");
            }
            let out = arguments.iter().position(|word| word == "-o")?;
            std::fs::write(arguments.get(out + 1)?, b"code").expect("writable");
            good()
        }
    }

    #[test]
    fn metal_tt_is_found_in_a_downloaded_toolchain_or_beside_metal() {
        for (toolchain, last) in [(true, "xcrun"), (false, "/tools/usr/bin/metal-tt")] {
            let tools = Partial {
                toolchain,
                ran: RefCell::default(),
            };
            let made = machine_code(&tools, None, LIBRARY, "add", &[]).expect("works");
            assert_eq!(made.bytes, b"code");
            assert_eq!(tools.ran.borrow().last(), Some(&PathBuf::from(last)));
        }
    }
}
