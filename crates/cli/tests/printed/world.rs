//! Folders with the files that lines name, and how a line is run there.

use super::{Group, Line, root, table};
use assay_container::builder::{
    ArchiveBuilder, FunctionBuilder, MetadataBuilder, image_with_descriptor,
};
use assay_container::gpu::Gpu;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;

/// Seconds that a line may take; those marked slow wait for each other where they measure.
fn longest() -> &'static str {
    match super::runs_all() {
        true => "1200",
        false => "120",
    }
}

/// Programs of others that lines name.
const OTHERS: &[&str] = &[
    "cargo", "clang", "cmake", "ctest", "jq", "man", "openssl", "python3", "zstdcat",
];

/// A shell in a folder, with this build of the program first on the path and nothing of the user's.
fn shell(line: &str, folder: &Path) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_assay"));
    let programs = program.parent().expect("a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let tools = kept("printed-tools");
    let home = std::env::var("HOME").unwrap_or_default();
    let of_rust =
        |name: &str, usual: &str| std::env::var(name).unwrap_or(format!("{home}/{usual}"));
    Command::new("timeout")
        .args([longest(), "sh", "-c", line])
        .current_dir(folder)
        .env(
            "PATH",
            format!("{}:{}:{path}", programs.display(), tools.display()),
        )
        .env("RUSTUP_HOME", of_rust("RUSTUP_HOME", ".rustup"))
        .env("CARGO_HOME", of_rust("CARGO_HOME", ".cargo"))
        .env("ASSAY_METAL_LIBRARY", programs.join(METAL))
        .env("ROOT", root())
        .env("HOME", folder)
        .env("COLUMNS", "400")
        .env("ASSAY_CACHE", kept("printed-cache"))
        .env("ASSAY_BOARD", folder.join("own-board.db"))
        .env("ASSAY_ATTEMPTS", folder.join("own-attempts.db"))
        .env("ASSAY_CHIPS", folder.join("own-chips"))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdin(Stdio::null())
        .output()
        .expect("a shell")
}

/// Metal's library for Linux, beside the program, where a build of all tests puts it.
const METAL: &str = "deps/libassay_metal_api.so";

/// A folder that later runs find again.
fn kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// The program with the words of a line.
pub(crate) fn assay(line: &str, folder: &Path) -> Output {
    shell(&format!("assay {line}"), folder)
}

/// Files that commands make: each once, for all groups.
pub(crate) struct Made {
    folder: tempfile::TempDir,
    done: Mutex<BTreeMap<String, ()>>,
}

impl Made {
    pub(crate) fn new() -> Made {
        let tools = kept("printed-tools");
        std::fs::create_dir_all(&tools).expect("a folder");
        // Lines say `clang` for whatever clang there is.
        const CLANG: &str = "printf '#!/bin/sh\nexec %s \"$@\"\n' \"$(assay doctor --json | sed -n 's/^  \"compiler\": \"\\(.*\\)\",/\\1/p')\" > clang \
            && chmod +x clang";
        let output = shell(CLANG, &tools);
        assert!(output.status.success(), "{output:?}");
        Made {
            folder: tempfile::tempdir().expect("a folder"),
            done: Mutex::default(),
        }
    }

    /// The file of a name that a command makes.
    fn file(&self, name: &str, command: &str) -> PathBuf {
        let mut done = self.done.lock().expect("not poisoned");
        if done.insert(command.to_owned(), ()).is_none() {
            let output = shell(command, self.folder.path());
            assert!(output.status.success(), "files.tsv: {command}: {output:?}");
        }
        self.folder.path().join(name)
    }
}

/// Where the lines of a group run.
pub(crate) struct Folder {
    folder: tempfile::TempDir,
}

impl Folder {
    pub(crate) fn new(group: &Group, made: &Made) -> Folder {
        let folder = tempfile::tempdir().expect("a folder");
        let here = folder.path();
        if group.name == "errors" {
            copy(&root().join("crates/cli/tests/wrong_inputs"), here);
        }
        for name in ["examples", "fixtures"] {
            std::os::unix::fs::symlink(root().join(name), here.join(name)).expect("a link");
        }
        for row in table("files.tsv") {
            let [scope, name, origin] = &row[..] else {
                panic!("files.tsv: {row:?}");
            };
            let of_group = *scope == group.name;
            let is_named = scope == "*" && group.lines.iter().any(|line| names(&line.text, name));
            let to = here.join(name);
            if (!of_group && !is_named) || to.exists() {
                continue;
            }
            if let Some(above) = to.parent() {
                std::fs::create_dir_all(above).expect("a folder");
            }
            match origin.split_once(": ") {
                Some(("once", command)) => copy(&made.file(name, command), &to),
                Some(("here", command)) => {
                    let output = shell(command, here);
                    assert!(output.status.success(), "files.tsv: {command}: {output:?}");
                }
                Some(("archive", kernels)) => {
                    std::fs::write(&to, archive(kernels)).expect("written");
                }
                Some(("capture", kernel)) => capture(kernel, &to),
                _ => copy(&root().join(origin), &to),
            }
        }
        Folder { folder }
    }

    /// Runs a line; says what is wrong with it.
    pub(crate) fn run(&self, line: &Line) -> Result<(), String> {
        let started = std::time::Instant::now();
        let output = shell(&line.text, self.folder.path());
        if std::env::var_os("ASSAY_PRINTED_TIMES").is_some() {
            println!("{:6} ms  {}", started.elapsed().as_millis(), line.text);
        }
        let code = output.status.code();
        let row = row("codes.tsv", &line.text);
        let expected = row.map_or("0".to_owned(), |row| row[1].clone());
        let mut codes = expected.split(' ').map(|code| code.parse().ok());
        if codes.any(|expected| expected == code) {
            return Ok(());
        }
        let said = [&output.stdout, &output.stderr].map(|bytes| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            let start = text.char_indices().rev().nth(600).map_or(0, |(at, _)| at);
            text[start..].to_owned()
        });
        Err(format!(
            "$ {}\n  of {}, ended with {code:?}, not {expected}\n{}",
            line.text,
            line.from,
            said.concat()
        ))
    }
}

/// Returns true if a line has a word that is a file, one of its folders, or lies in a folder of this name.
fn names(line: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | '*');
    let words = line.split(|c| !is_part(c));
    let of = |word: &str| {
        let word = word.trim_start_matches("./").trim_end_matches('/');
        let inside = |word: &str, name: &str| word.starts_with(&format!("{name}/"));
        let matches = word.split_once('*').is_some_and(|(start, end)| {
            word.len() > 1 && name.starts_with(start) && name.ends_with(end)
        });
        word == name || inside(word, name) || inside(name, word) || matches
    };
    words.into_iter().any(of)
}

/// An archive with machine code of a kernel under two names, one for each GPU.
fn archive(names: &str) -> Vec<u8> {
    const CODE: &str = "
        device_load 0, i32, x, r5, u2_u3, r1, unsigned
        wait 0
        fmadd32 r7, r5, r5, r7
        device_store 0, i32, x, r7, u0_u1, r1, unsigned, 0
        stop";
    let code = assay_agx::assemble(assay_agx::Isa::G13, CODE, 0)
        .expect("it assembles")
        .code;
    let mut archive = ArchiveBuilder::new();
    for (gpu, name) in ["G13G", "G13S"].into_iter().zip(names.split(' ')) {
        let gpu = Gpu::named(gpu).expect("known");
        let metadata = MetadataBuilder::new().registers(20).build();
        let function = FunctionBuilder::new(gpu)
            .main(&code)
            .metadata(&metadata)
            .build();
        archive = archive.gpu(gpu, &image_with_descriptor(gpu, &function, name));
    }
    archive.build()
}

/// A capture of a dispatch.
fn capture(kernel: &str, to: &Path) {
    std::fs::create_dir(to).expect("a folder");
    let files = assay_trace::synth::bundle::example(kernel, 2).expect("a bundle");
    for (name, bytes) in files {
        std::fs::write(to.join(name), bytes).expect("written");
    }
}

/// Copies a file, or a folder with what is in it.
fn copy(from: &Path, to: &Path) {
    if !from.is_dir() {
        std::fs::copy(from, to).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
        return;
    }
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        copy(&entry.path(), &to.join(entry.file_name()));
    }
}

/// The row of a line in a table; one that ends with `…` is of all lines that begin so.
fn row(name: &str, line: &str) -> Option<Vec<String>> {
    table(name).into_iter().find(|row| is_of(&row[0], line))
}

fn is_of(row: &str, line: &str) -> bool {
    match row.strip_suffix('…') {
        Some(start) => line.starts_with(start),
        None => row == line,
    }
}

/// Why a line is not run here.
pub(crate) fn mark(line: &Line, all: bool) -> Option<String> {
    if let Some(row) = row("marks.tsv", &line.text) {
        return (row[1] != "slow" || !all).then(|| row[1].clone());
    }
    let words: Vec<&str> = line.text.split([' ', '/']).collect();
    let is_missing = |program: &&&str| words.contains(program) && !is_there(program);
    if let Some(program) = OTHERS.iter().find(is_missing) {
        return Some(format!("{program} is not on this machine"));
    }
    let is_of_metal = |start: &str| line.text.contains(start);
    let program = Path::new(env!("CARGO_BIN_EXE_assay"));
    let has_metal = program
        .parent()
        .is_some_and(|folder| folder.join(METAL).exists());
    (!has_metal
        && ["assay metal ", "assay trace record"]
            .into_iter()
            .any(is_of_metal))
    .then(|| "Metal's library for Linux is not built (cargo test --workspace does)".to_owned())
}

fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    program == "clang" || std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Rows of tables that no line needs any more.
pub(crate) fn unused(lines: &[&Line]) -> Vec<String> {
    let mut unused = Vec::new();
    for name in ["codes.tsv", "marks.tsv"] {
        for row in table(name) {
            if !lines.iter().any(|line| is_of(&row[0], &line.text)) {
                unused.push(format!("{name}: {}", row[0]));
            }
        }
    }
    unused
}
