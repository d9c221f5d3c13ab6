//! Machine code from Apple's compilers, on a Mac that has them.

use crate::diagnostics;
use crate::failure::{Failure, Kind};
use crate::source::{self, SourceArgs};
use assay_container::Extracted;
use assay_device::apple::{self, Ran, Route, Tools};
use assay_device::{Error, GpuDevice, MetalSettings, Source};
use assay_front::{Bytes, File, GivenConstant, Library};
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
    pub(crate) file: &'a File<'a>,
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
    let is_source = request.file.is_source();
    if !wanted || !(is_source || request.file.bytes().starts_with(b"MTLB")) {
        return Ok(None);
    }
    match compile(request) {
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

fn compile(request: &Request<'_>) -> Result<Vec<(Extracted, Route)>, Failure> {
    let shown = request.path.display().to_string();
    let fail = |error: Error| failure(request.path, error);
    let metallib = if request.file.is_source() {
        let text = String::from_utf8_lossy(request.file.bytes());
        let source = Source {
            path: request.file.path(),
            text: &text,
        };
        let made = apple::metallib(&Xcrun, source, &request.source.options()).map_err(fail)?;
        Bytes::from(made)
    } else {
        request.file.bytes().clone()
    };
    let refuse = |error: assay_front::Error| source::failure(request.path, error);
    let library = Library::open(&metallib).map_err(refuse)?;
    let mut gpu = readable_gpu();
    let mut found = Vec::new();
    for kernel in library.choose(request.function).map_err(refuse)? {
        let gpu = gpu.as_mut().map(|gpu| &mut **gpu as &mut dyn GpuDevice);
        let code = apple::machine_code(&Xcrun, gpu, &metallib, &kernel.name, request.constants);
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
        Error::Source(errors) => diagnostics::failure(path, &assay_msl::Error::Source(errors)),
        Error::Compiler(_) | Error::NoDevice(_) => Failure::new(Kind::Missing, error.to_string())
            .advice("--compiler assay generates code anywhere; Apple's may differ from it"),
        other => Failure::input(other.to_string()),
    }
}

#[cfg(all(test, not(target_os = "macos")))]
mod tests {
    use super::{Compiler, Request, programs};
    use crate::failure::Kind;
    use assay_front::{Bytes, File};
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
        let path = Path::new("k.metal");
        let bytes = Bytes::from(b"kernel void k() {}".to_vec());
        let file = File::open(path, &bytes).expect("source");
        let request = Request {
            path,
            file: &file,
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
