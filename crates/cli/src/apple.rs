//! Machine code from Apple's compilers, on a Mac that has them.

use crate::failure::{Failure, Kind};
use crate::platform::Platform;
use crate::source::{self, SourceArgs};
use assay_chip::occupancy::threads_for_half_registers;
use assay_container::Extracted;
use assay_container::gpu::Gpu;
use assay_device::apple::{self, Ran, Route, Tools};
use assay_device::{Error, GpuDevice, MetalSettings, Source};
use assay_engine::diagnostics;
use assay_front::{Bytes, File, GivenConstant, Library};
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

/// Whose compiler makes the machine code of source and metallibs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Compiler {
    /// Ours, with source lines; on a Mac that has Apple's, its figures beside them
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
    fn run(&self, program: &Path, arguments: &[OsString]) -> Option<Ran> {
        let mut command = Command::new(program);
        let output = command.args(arguments).stdin(Stdio::null()).output().ok()?;
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.push_str(&String::from_utf8_lossy(&output.stderr));
        Some(Ran {
            success: output.status.success(),
            output: text,
        })
    }
}

/// Apple's code for the kernels asked for, when it is asked for by name.
///
/// Otherwise the code is ours, which has source lines and is the same on every machine. On a Mac Apple's compilers are
/// asked too, about a file with one kernel or one chosen: what they state is a note, and so is any trouble they have.
pub(crate) fn programs(
    compiler: Compiler,
    request: &Request<'_>,
    platform: Platform,
    note: impl Fn(&str),
) -> Result<Option<Vec<(Extracted, Route)>>, Failure> {
    if !(request.file.is_source() || request.file.bytes().starts_with(b"MTLB")) {
        return Ok(None);
    }
    match compiler {
        Compiler::Assay => {}
        Compiler::Apple => return compile(request, MOST_COMPILED).map(Some),
        Compiler::Auto if !platform.is_mac() => {}
        Compiler::Auto => match compile(request, 1) {
            Ok(programs) => programs
                .iter()
                .for_each(|(program, route)| note(&beside(program, *route))),
            // Several kernels: nothing was asked of it.
            Err(failure) if failure.kind == Kind::Usage => {}
            Err(failure) => {
                let first = failure.message.lines().find(|line| !line.is_empty());
                note(&format!(
                    "nothing from Apple's compiler to compare with: {}",
                    first.unwrap_or("it does not say why")
                ));
            }
        },
    }
    Ok(None)
}

/// What Apple's compiler states about a kernel, in one line.
fn beside(found: &Extracted, route: Route) -> String {
    let program = &found.program;
    let made_for = match route {
        Route::MetalTt => "M1",
        Route::BinaryArchive => "this machine's GPU",
    };
    let mut line = format!(
        "Apple's compiler, for {made_for}: {} bytes of code",
        program.code.len()
    );
    if let Some(registers) = program.half_registers {
        line.push_str(&format!(", {registers} half registers"));
        if let Some(threads) = threads_for_half_registers(u32::from(registers)) {
            line.push_str(&format!(", threadgroups of at most {threads} threads"));
        }
    }
    if let Some(scratch) = program.scratch_bytes.filter(|bytes| *bytes > 0) {
        line.push_str(&format!(", {scratch} bytes of stack per thread"));
    }
    line + "; --compiler apple shows it, without source lines"
}

/// More kernels than this are not compiled one by one unasked.
const MOST_COMPILED: usize = 64;

fn compile(request: &Request<'_>, most: usize) -> Result<Vec<(Extracted, Route)>, Failure> {
    let shown = request.path.display().to_string();
    let fail = |error: Error| failure(request.path, error);
    let metallib = if request.file.is_source() {
        let text = String::from_utf8_lossy(request.file.bytes());
        let source = Source {
            path: request.file.path(),
            text: &text,
        };
        let made =
            apple::metallib(&Xcrun, source, &request.source.options(request.path)).map_err(fail)?;
        Bytes::from(made)
    } else {
        request.file.bytes().clone()
    };
    let refuse = |error: assay_front::Error| source::failure(request.path, error);
    let library = Library::open(&metallib).map_err(refuse)?;
    let kernels = library.choose(request.function).map_err(refuse)?;
    if kernels.len() > most {
        let message = format!("{shown} holds {} kernels", kernels.len());
        return Err(Failure::usage(message).advice("choose one with -f NAME"));
    }
    let mut gpu = readable_gpu();
    let architecture = Gpu::named(apple::ARCHITECTURE);
    let mut found = Vec::new();
    for kernel in kernels {
        let gpu = gpu.as_mut().map(|gpu| &mut **gpu as &mut dyn GpuDevice);
        let code = apple::machine_code(&Xcrun, gpu, &metallib, &kernel.name, request.constants);
        let code = code.map_err(fail)?;
        let contents = assay_container::open(&code.bytes);
        let contents = contents.map_err(|error| Failure::input(format!("{shown}: {error}")))?;
        let program = match (code.route, architecture) {
            (Route::MetalTt, Some(gpu)) => contents.first_program(gpu),
            _ => contents.program(None),
        };
        let mut program = program.map_err(|error| Failure::input(format!("{shown}: {error}")))?;
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
    use crate::platform::Platform;
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
        let Err(failure) = programs(Compiler::Apple, &request, Platform::Mac, |_| {}) else {
            panic!("there is no Xcode here");
        };
        assert_eq!(failure.kind, Kind::Missing);
        assert!(failure.message.contains("Xcode"), "{}", failure.message);
        assert!(
            failure
                .advice
                .is_some_and(|advice| advice.contains("--compiler assay"))
        );
        for (compiler, platform) in [
            (Compiler::Auto, Platform::Other),
            (Compiler::Assay, Platform::Mac),
        ] {
            let silent = |text: &str| panic!("nothing to say: {text}");
            let none = programs(compiler, &request, platform, silent);
            assert!(none.is_ok_and(|programs| programs.is_none()));
        }
        let said = std::cell::RefCell::new(Vec::new());
        let note = |text: &str| said.borrow_mut().push(text.to_owned());
        let none = programs(Compiler::Auto, &request, Platform::Mac, note);
        assert!(none.is_ok_and(|programs| programs.is_none()));
        let said = said.into_inner();
        assert!(
            matches!(&said[..], [one] if one.contains("Xcode")),
            "{said:?}"
        );
    }
}
