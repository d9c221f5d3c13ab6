//! The planted faults of `examples/faults`: each is caught at the line that says so, and nothing else is reported.
//!
//! A line with a fault ends in `// fault: RULE`, or `// fault: RULE in KERNEL` where it is a helper's. Kernels are
//! launched as the comment `// assay: launch …` of their file says.

use crate::common::compiler;
use assay_exec::{Bindings, BoundTexture, Buffer, Grid, Limits, Options, Program, Report, Target};
use assay_front::{Checks, Clang, Library, Source, SourceOptions};
use assay_launch::inputs::NoFiles;
use assay_launch::resources::{self as bound, MemberContents};

use assay_launch::{Sizes, Written, comments, texture};
use std::path::{Path, PathBuf};

/// A fault: rule, line, kernel.
struct Fault {
    rule: String,
    line: usize,
    kernel: String,
}

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples")
        .join(folder);
    let entries = std::fs::read_dir(folder).expect("the folder");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    files
}

fn faults(text: &str) -> Vec<Fault> {
    let mut kernel = String::new();
    let mut faults = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        if let Some((_, rest)) = text.split_once("kernel void ") {
            kernel = rest.split('(').next().unwrap_or_default().to_owned();
        }
        let Some((_, fault)) = text.split_once("// fault: ") else {
            continue;
        };
        let (rule, of) = fault.split_once(" in ").unwrap_or((fault, &kernel));
        faults.push(Fault {
            rule: rule.to_owned(),
            line,
            kernel: of.to_owned(),
        });
    }
    faults
}

/// How the kernels of a file are launched.
fn launch(text: &str) -> Written {
    let comment = comments(text).next().expect("a launch");
    Written::parse(comment.words).expect("a launch").1
}

fn compile(path: &Path, text: &str) -> Option<Library> {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("metal-headers");
    let clang = Clang::new(compiler()?.clone(), cache);
    let name = path.file_name().expect("a name");
    let source = Source {
        path: Path::new(name),
        text: text.as_bytes(),
    };
    let options = SourceOptions {
        checked: true,
        ..SourceOptions::default()
    };
    Some(Library::compile(source, &clang, &options).expect("compiles"))
}

fn check(library: &Library, kernel: &str, launch: &Written, pedantic: bool) -> Vec<Report> {
    let checks = Checks {
        arithmetic: true,
        pedantic,
    };
    let module = library.kernel(kernel).expect("a kernel");
    let module = module.checked_program(&[], checks).expect("a program");
    let options = Options {
        guards: true,
        pedantic,
        ..Options::default()
    };
    let program = Program::compile(&module, kernel, &options).expect("runs");
    let mut bindings = bound(&program, launch);
    let limits = Limits {
        max_steps: 1_000_000,
        ..Limits::default()
    };
    let (extent, [threadgroup, ..]) = launch.geometry(&Sizes::new()).expect("a geometry");
    let [threads, ..] = extent.threads([threadgroup, 1, 1]).expect("threads");
    let grid = Grid::line(threads, threadgroup);
    let reports = program.check(&grid, &mut bindings, &limits);
    // A kernel that does not run to its end reports nothing, and its fault counts as missed.
    reports.unwrap_or_default()
}

/// What a launch binds.
fn bound(program: &Program, launch: &Written) -> Bindings {
    let (arguments, sizes) = (program.arguments(), Sizes::new());
    let mut bindings = Bindings::new();
    let inputs = launch.inputs(arguments, &sizes, &NoFiles).expect("inputs");
    for buffer in &inputs.buffers {
        bindings.set(buffer.index, Buffer::from_bytes(&buffer.data()));
        if buffer.is_unwritten {
            bindings.set_unwritten(buffer.index);
        }
    }
    for &(index, of) in &inputs.aliases {
        bindings.share(index, of, 0);
    }
    for &(index, bytes) in &inputs.memory {
        bindings.set_threadgroup_memory(index, bytes);
    }
    let resources = launch.resources(arguments, &sizes, &NoFiles);
    let resources = resources.expect("resources");
    for (index, texture) in resources.textures {
        let bound::BoundTexture::Contents(contents) = texture else {
            panic!("texture {index} is another's")
        };
        bindings.set_texture(index, texels(contents));
    }
    for (index, sampler) in resources.samplers {
        bindings.set_sampler(index, sampler);
    }
    for (index, bytes) in resources.argument_buffers {
        bindings.set(index, Buffer::from_bytes(&bytes));
    }
    // Members stand behind the indices of arguments.
    for (at, member) in (65536..).zip(resources.members) {
        let target = match member.contents {
            MemberContents::Buffer(_, bytes) => {
                bindings.set(at, Buffer::from_bytes(&bytes));
                Target::Buffer(at)
            }
            MemberContents::Texture(contents) => {
                bindings.set_texture(at, texels(contents));
                Target::Texture(at)
            }
            MemberContents::Sampler(_) => panic!("{}: a sampler", member.name),
        };
        bindings.set_member(member.index, member.offset, target, &member.name);
    }
    bindings
}

fn texels(contents: texture::Contents) -> BoundTexture {
    BoundTexture {
        layout: contents.layout,
        texels: Buffer::from_bytes(&contents.data),
        undefined: contents.undefined,
    }
}

/// Returns true if a report is about a line, or the other access of a race is.
fn is_about(report: &Report, line: usize) -> bool {
    let other = report
        .other
        .as_ref()
        .and_then(|other| other.place.as_deref());
    let places = report.place.as_deref().into_iter().chain(other);
    let mut lines = places.map(|place| place.split(':').nth(1).and_then(|l| l.parse().ok()));
    lines.any(|known: Option<usize>| known == Some(line))
}

#[test]
fn planted_faults_are_caught_at_their_line() {
    let (mut caught, mut all) = (0, 0);
    let (mut missed, mut besides) = (Vec::new(), Vec::new());
    for path in files("faults") {
        let text = std::fs::read_to_string(&path).expect("a text");
        let Some(library) = compile(&path, &text) else {
            return;
        };
        let (name, launch) = (path.file_name().expect("a name").display(), launch(&text));
        for Fault { rule, line, kernel } in faults(&text) {
            let reports = check(&library, &kernel, &launch, false);
            let is_it = |report: &Report| report.kind.name() == rule && is_about(report, line);
            all += 1;
            match reports.iter().any(is_it) {
                true => caught += 1,
                false => missed.push(format!("{name}:{line}: {rule} in {kernel}: {reports:?}")),
            }
            let others = reports.iter().filter(|report| !is_it(report));
            besides.extend(others.map(|report| format!("{name}:{line}: {report}")));
        }
    }
    assert!(all >= 200, "{all} faults");
    assert!(
        caught * 100 >= all * 97,
        "{caught} of {all}; missed: {missed:#?}; reported besides: {besides:#?}"
    );
}

#[test]
fn kernels_that_only_look_wrong_have_nothing_to_report() {
    let (mut alarms, mut all) = (Vec::new(), 0);
    for path in files("sound") {
        let text = std::fs::read_to_string(&path).expect("a text");
        let Some(library) = compile(&path, &text) else {
            return;
        };
        let launch = launch(&text);
        for kernel in library.kernels() {
            let reports = check(&library, &kernel.name, &launch, false).into_iter();
            alarms.extend(reports.map(|report| report.to_string()));
            all += 1;
        }
    }
    assert!(all >= 190, "{all} kernels");
    assert!(alarms.is_empty(), "{alarms:#?}");
}

/// What Metal's memory model alone does not order is reported at the pedantic level.
#[test]
fn the_pedantic_level_takes_no_read_for_done() {
    let mut sound = files("sound").into_iter();
    let path = sound.find(|path| path.ends_with("ordered.metal"));
    let path = path.expect("the file");
    let text = std::fs::read_to_string(&path).expect("a text");
    let Some(library) = compile(&path, &text) else {
        return;
    };
    for kernel in ["normalised_in_place", "summed_in_place", "decided_in_place"] {
        let reports = check(&library, kernel, &launch(&text), true);
        assert!(
            reports.iter().any(|report| report.kind.name() == "race"),
            "{kernel}: {reports:?}"
        );
    }
}
