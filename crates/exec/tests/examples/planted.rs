//! The planted faults of `examples/faults`: each is caught at the line that says so, and nothing else is reported.
//!
//! A line with a fault ends in `// fault: RULE`, or `// fault: RULE in KERNEL` where it is a helper's. Kernels are
//! launched as the comment `// assay: launch …` of their file says.

use crate::common::compiler;
use assay_exec::{Bindings, BoundTexture, Buffer, Grid, Limits, Options, Program, Report, Target};
use assay_front::{Checks, Clang, Library, Source, SourceOptions};
use assay_launch::texture::{self, Declared};
use assay_launch::{Sizes, contents};
use assay_ssa::Binding;
use assay_texture::Sampler;
use std::path::{Path, PathBuf};

/// A fault: rule, line, kernel.
struct Fault {
    rule: String,
    line: usize,
    kernel: String,
}

/// How the kernels of a file are launched.
#[derive(Default)]
struct Launch {
    grid: u32,
    threadgroup: u32,
    buffers: Vec<(u32, Vec<u8>)>,
    threadgroup_memory: Vec<(u32, u32)>,
    textures: Vec<(u32, String)>,
    samplers: Vec<(u32, Sampler)>,
    /// Members of argument buffers: index, path, contents.
    members: Vec<(u32, String, String)>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/faults")
}

fn files() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder()).expect("the folder");
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

fn launch(text: &str) -> Launch {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("// assay: launch "));
    let words: Vec<&str> = line.expect("a launch").split_whitespace().collect();
    let mut launch = Launch::default();
    for pair in words.chunks(2) {
        let [flag, value] = pair else {
            panic!("{pair:?}")
        };
        let (index, rest) = value.split_once('=').unwrap_or(("0", value));
        if let (Some((index, path)), "--argument") = (index.split_once('.'), *flag) {
            let index = index.parse().expect("an index");
            launch
                .members
                .push((index, path.to_owned(), rest.to_owned()));
            continue;
        }
        let index = index.parse().expect("an index");
        match *flag {
            "--grid" => launch.grid = value.parse().expect("threads"),
            "--threadgroup" => launch.threadgroup = value.parse().expect("threads"),
            "--tgmem" => {
                let bytes = rest.parse().expect("bytes");
                launch.threadgroup_memory.push((index, bytes));
            }
            "--buffer" => {
                let filled = contents::fill(rest, &Sizes::new()).expect("contents");
                launch.buffers.push((index, filled.expect("contents").1));
            }
            "--texture" => launch.textures.push((index, rest.to_owned())),
            "--sampler" => launch
                .samplers
                .push((index, rest.parse().expect("a sampler"))),
            other => panic!("{other}"),
        }
    }
    launch
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

fn check(library: &Library, kernel: &str, launch: &Launch) -> Vec<Report> {
    let checks = Checks { arithmetic: true };
    let module = library.kernel(kernel).expect("a kernel");
    let module = module.checked_program(&[], checks).expect("a program");
    let options = Options {
        guards: true,
        ..Options::default()
    };
    let program = Program::compile(&module, kernel, &options).expect("runs");
    let mut bindings = Bindings::new();
    for (index, bytes) in &launch.buffers {
        bindings.set(*index, Buffer::from_bytes(bytes));
    }
    for &(index, bytes) in &launch.threadgroup_memory {
        bindings.set_threadgroup_memory(index, bytes);
    }
    for (index, text) in &launch.textures {
        bind_texture(&program, &mut bindings, *index, text);
    }
    for (at, (index, path, text)) in (65536..).zip(&launch.members) {
        bind_member(&program, &mut bindings, *index, (path, text), at);
    }
    for &(index, sampler) in &launch.samplers {
        bindings.set_sampler(index, sampler);
    }
    let limits = Limits {
        max_steps: 1_000_000,
        ..Limits::default()
    };
    let grid = Grid::line(launch.grid, launch.threadgroup);
    let reports = program.check(&grid, &mut bindings, &limits);
    // A kernel that does not run to its end reports nothing, and its fault counts as missed.
    reports.unwrap_or_default()
}

/// Binds a pointer or texture of an argument buffer behind the indices of arguments.
fn bind_member(
    program: &Program,
    bindings: &mut Bindings,
    index: u32,
    (path, text): (&str, &str),
    at: u32,
) {
    let mut arguments = program.arguments().iter();
    let argument = arguments.find(|argument| argument.binding == Binding::Buffer(index));
    let argument = argument.expect("an argument buffer");
    let member = argument.members.iter().find(|member| member.path == path);
    let member = member.expect("a member");
    if bindings.get(index).is_none() {
        bindings.set(index, Buffer::zeroed(argument.size as usize));
    }
    let target = match Declared::parse(&member.type_name) {
        Some(declared) => {
            let filled = texture::fill(text, &declared, &Sizes::new()).expect("a texture");
            let filled = filled.expect("a described one");
            let bound = BoundTexture {
                layout: filled.layout,
                texels: Buffer::from_bytes(&filled.data),
                undefined: filled.undefined,
            };
            bindings.set_texture(at, bound);
            Target::Texture(at)
        }
        None => {
            let filled = contents::fill(text, &Sizes::new()).expect("contents");
            bindings.set(at, Buffer::from_bytes(&filled.expect("contents").1));
            Target::Buffer(at)
        }
    };
    bindings.set_member(index, member.offset.into(), target, path);
}

fn bind_texture(program: &Program, bindings: &mut Bindings, index: u32, text: &str) {
    let mut arguments = program.arguments().iter();
    let argument = arguments.find(|argument| argument.binding == Binding::Texture(index));
    let Some(declared) = argument.and_then(|argument| Declared::parse(&argument.type_name)) else {
        return;
    };
    let filled = texture::fill(text, &declared, &Sizes::new()).expect("a texture");
    let filled = filled.expect("a described one");
    bindings.set_texture(
        index,
        BoundTexture {
            layout: filled.layout,
            texels: Buffer::from_bytes(&filled.data),
            undefined: filled.undefined,
        },
    );
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
    for path in files() {
        let text = std::fs::read_to_string(&path).expect("a text");
        let Some(library) = compile(&path, &text) else {
            return;
        };
        let (name, launch) = (path.file_name().expect("a name").display(), launch(&text));
        for Fault { rule, line, kernel } in faults(&text) {
            let reports = check(&library, &kernel, &launch);
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
    assert!(all >= 120, "{all} faults");
    assert!(
        caught * 100 >= all * 95,
        "{caught} of {all}; missed: {missed:#?}; reported besides: {besides:#?}"
    );
}
