//! Machine code from Apple's compilers, on a Mac that has them.

use crate::commands::compile::show;
use crate::failure::{Failure, Kind};
use crate::generate;
use crate::source::{self, SourceArgs};
use assay_air::GivenConstant;
use assay_container::Extracted;
use assay_device::apple::{self, Ran, Route, Tools};
use assay_device::{CompileOptions, Error, GpuDevice, MetalSettings, Source};
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

/// Whose compiler makes the machine code of source and metallibs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Compiler {
    /// Apple's on a Mac that has it, else ours
    #[default]
    Auto,
    /// Ours, anywhere
    Assay,
    /// Apple's, on a Mac with Xcode's Metal toolchain
    Apple,
}

/// What is compiled, and how.
pub(crate) struct Request<'a> {
    pub(crate) path: &'a Path,
    pub(crate) bytes: &'a [u8],
    pub(crate) function: Option<&'a str>,
    pub(crate) constants: &'a [GivenConstant],
    pub(crate) source: &'a SourceArgs,
}

/// The system's `xcrun`.
struct Xcrun;

impl Tools for Xcrun {
    fn xcrun(&self, arguments: &[OsString]) -> Option<Ran> {
        let mut command = Command::new("xcrun");
        let output = command.args(arguments).stdin(Stdio::null()).output().ok()?;
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.push_str(&String::from_utf8_lossy(&output.stderr));
        Some(Ran {
            success: output.status.success(),
            output: text,
        })
    }
}

/// Apple's code for the kernels asked for, each with what to say about it. `None` when ours is wanted, and, unless
/// Apple's was asked for by name, when it cannot be had here; the text says why.
pub(crate) fn programs(
    compiler: Compiler,
    request: &Request<'_>,
    note: impl Fn(&str),
) -> Result<Option<Vec<(Extracted, Route)>>, Failure> {
    let wanted = match compiler {
        Compiler::Assay => false,
        Compiler::Apple => true,
        Compiler::Auto => cfg!(target_os = "macos"),
    };
    let is_source = source::is_source(request.path, request.bytes);
    if !wanted || !(is_source || request.bytes.starts_with(b"MTLB")) {
        return Ok(None);
    }
    match compile(request, is_source) {
        Ok(programs) => Ok(Some(programs)),
        Err(failure) if failure.kind == Kind::Missing && compiler == Compiler::Auto => {
            note(&format!(
                "Apple's compiler is not used: {}",
                failure.message
            ));
            Ok(None)
        }
        Err(failure) => Err(failure),
    }
}

fn compile(request: &Request<'_>, is_source: bool) -> Result<Vec<(Extracted, Route)>, Failure> {
    let shown = request.path.display().to_string();
    let fail = |error: Error| failure(request.path, error);
    let made;
    let library = if is_source {
        let text = String::from_utf8_lossy(request.bytes);
        let options = CompileOptions::from(request.source);
        let source = Source {
            path: source::shown_name(request.path),
            text: &text,
        };
        made = apple::metallib(&Xcrun, source, &options).map_err(fail)?;
        made.as_slice()
    } else {
        request.bytes
    };
    let mut gpu = readable_gpu();
    let mut found = Vec::new();
    for kernel in generate::kernels(&shown, library, request.function)? {
        let gpu = gpu.as_mut().map(|gpu| &mut **gpu as &mut dyn GpuDevice);
        let code = apple::machine_code(&Xcrun, gpu, library, &kernel.name, request.constants);
        let code = code.map_err(fail)?;
        let contents = assay_container::open(&code.bytes);
        let contents = contents.map_err(|error| Failure::input(format!("{shown}: {error}")))?;
        let mut program = contents
            .program(None)
            .map_err(|error| Failure::input(format!("{shown}: {error}")))?;
        program.program.name.clone_from(&kernel.name);
        found.push((program, code.route));
    }
    Ok(found)
}

/// This machine's GPU, if its machine code can be read: an M1 or M2.
fn readable_gpu() -> Option<Box<dyn GpuDevice>> {
    let gpu = assay_device::open_metal(MetalSettings::default()).ok()?;
    let name = gpu.facts().name.clone();
    ["Apple M1", "Apple M2"]
        .iter()
        .any(|known| name.starts_with(known))
        .then_some(gpu)
}

fn failure(path: &Path, error: Error) -> Failure {
    match error {
        Error::Source(errors) => show::failure(path, &assay_msl::Error::Source(errors)),
        Error::Compiler(_) | Error::NoDevice(_) => Failure::new(Kind::Missing, error.to_string())
            .advice("--compiler assay generates code anywhere; Apple's may differ from it"),
        other => Failure::input(other.to_string()),
    }
}

#[cfg(all(test, not(target_os = "macos")))]
mod tests {
    use super::{Compiler, Request, programs};
    use crate::failure::Kind;
    use clap::Parser;
    use std::path::Path;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        source: crate::source::SourceArgs,
    }

    #[test]
    fn without_a_mac_apples_compiler_is_missing_and_ours_is_offered() {
        let line = Line::parse_from(["test"]);
        let request = Request {
            path: Path::new("k.metal"),
            bytes: b"kernel void k() {}",
            function: None,
            constants: &[],
            source: &line.source,
        };
        let Err(failure) = programs(Compiler::Apple, &request, |_| {}) else {
            panic!("there is no Xcode here");
        };
        assert_eq!(failure.kind, Kind::Missing);
        assert!(failure.message.contains("Xcode"), "{}", failure.message);
        assert!(
            failure
                .advice
                .is_some_and(|advice| advice.contains("--compiler assay"))
        );
        for compiler in [Compiler::Auto, Compiler::Assay] {
            let none = programs(compiler, &request, |_| {});
            assert!(none.is_ok_and(|programs| programs.is_none()));
        }
    }
}
