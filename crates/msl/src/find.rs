//! Looking for clangs: every one that may do, best first, from values that whoever knows the machine gives.
//!
//! In order: the one that was chosen, the newest `clang-NN` on the path, `clang`, Homebrew's, which is kept off the path, the
//! Command Line Tools' clang, and the one inside Python's `ziglang` package. A probe decides, never a version text.

use crate::compiler::Compiler;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A compiler that may do, and where it was found.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Where: `path`, `Command Line Tools`, …
    pub origin: &'static str,
    /// The compiler, not probed yet.
    pub compiler: Compiler,
}

/// The origin of a compiler that was chosen by name.
pub const CHOSEN: &str = "ASSAY_CLANG";

/// Everything worth a probe, best first. `chosen` names the only candidate; `path` is a list of folders as in `PATH`.
pub fn candidates(chosen: Option<&OsStr>, path: &OsStr) -> Vec<Candidate> {
    let folders: Vec<PathBuf> = std::env::split_paths(path).collect();
    if let Some(chosen) = chosen.filter(|value| !value.is_empty()) {
        return vec![Candidate {
            origin: CHOSEN,
            compiler: chosen_compiler(chosen, &folders),
        }];
    }
    let mut found = numbered(&folders);
    let plain = |origin, program: PathBuf| Candidate {
        origin,
        compiler: Compiler::new(program),
    };
    found.extend(on_path(&folders, "clang").map(|program| plain("path", program)));
    found.extend(homebrew(Path::new("/")).map(|program| plain("Homebrew", program)));
    let tools = Path::new("/Library/Developer/CommandLineTools/usr/bin/clang");
    if tools.is_file() {
        found.push(plain("Command Line Tools", tools.to_owned()));
    }
    if let Some(python) = on_path(&folders, "python3").or_else(|| on_path(&folders, "python")) {
        let mut compiler = Compiler::new(python);
        compiler.arguments = ["-m", "ziglang", "clang"].map(str::to_owned).to_vec();
        found.push(Candidate {
            origin: "Python package ziglang",
            compiler,
        });
    }
    found
}

/// The first candidate that passes the probe, with its version as identity.
pub fn find(chosen: Option<&OsStr>, path: &OsStr) -> Option<Compiler> {
    let candidates = candidates(chosen, path).into_iter();
    let mut settled = candidates.filter_map(|candidate| candidate.compiler.settled().ok());
    settled.next().map(|(mut compiler, version)| {
        compiler.identity = version;
        compiler
    })
}

/// A choice names a program, or a program with arguments.
fn chosen_compiler(text: &OsStr, folders: &[PathBuf]) -> Compiler {
    let whole = Path::new(text);
    let Some(words) = text.to_str().filter(|_| !whole.is_file()) else {
        return Compiler::new(whole);
    };
    let mut words = words.split_whitespace().map(str::to_owned);
    let program = words.next().unwrap_or_default();
    let plain = Path::new(&program).components().count() == 1;
    let found = plain.then(|| on_path(folders, &program)).flatten();
    let mut compiler = Compiler::new(found.unwrap_or_else(|| program.into()));
    compiler.arguments = words.collect();
    compiler
}

/// `clang-NN` on the path, newest first.
fn numbered(folders: &[PathBuf]) -> Vec<Candidate> {
    let mut found: Vec<(u32, PathBuf)> = Vec::new();
    for entry in folders
        .iter()
        .filter_map(|folder| std::fs::read_dir(folder).ok())
        .flatten()
    {
        let Ok(entry) = entry else { continue };
        let name = entry.file_name();
        let number = name
            .to_str()
            .and_then(|name| name.strip_suffix(std::env::consts::EXE_SUFFIX))
            .and_then(|name| name.strip_prefix("clang-"))
            .and_then(|number| number.parse().ok());
        if let Some(number) = number
            && !found.iter().any(|(known, _)| *known == number)
        {
            found.push((number, entry.path()));
        }
    }
    found.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
    found
        .into_iter()
        .map(|(_, program)| Candidate {
            origin: "path",
            compiler: Compiler::new(program),
        })
        .collect()
}

/// Homebrew's clangs under a root, newest first: `llvm`, then `llvm@NN`.
fn homebrew(root: &Path) -> impl Iterator<Item = PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = ["opt/homebrew/opt", "usr/local/opt"]
        .iter()
        .filter_map(|folder| std::fs::read_dir(root.join(folder)).ok())
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name();
            let version = match name.to_str()?.strip_prefix("llvm")? {
                "" => u32::MAX,
                number => number.strip_prefix('@')?.parse().ok()?,
            };
            let clang = entry.path().join("bin/clang");
            clang.is_file().then_some((version, clang))
        })
        .collect();
    found.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
    found.into_iter().map(|(_, clang)| clang)
}

/// A program of that name on the path.
pub fn on_path(folders: &[PathBuf], name: &str) -> Option<PathBuf> {
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    folders
        .iter()
        .map(|folder| folder.join(&name))
        .find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_may_hold_arguments() {
        let compiler = chosen_compiler(OsStr::new("python3 -m ziglang clang"), &[]);
        assert_eq!(compiler.program, Path::new("python3"));
        assert_eq!(compiler.arguments, ["-m", "ziglang", "clang"]);
    }

    #[test]
    fn homebrews_clang_is_found_off_the_path() {
        let root = tempfile::tempdir().expect("a folder");
        for folder in ["llvm@18", "llvm", "llvm@9", "lld", "llvmlite"] {
            let bin = root
                .path()
                .join("opt/homebrew/opt")
                .join(folder)
                .join("bin");
            std::fs::create_dir_all(&bin).expect("a folder");
            std::fs::write(bin.join("clang"), "").expect("a file");
        }
        let found: Vec<_> = homebrew(root.path())
            .filter_map(|clang| Some(clang.strip_prefix(root.path()).ok()?.to_owned()))
            .collect();
        let expected = ["llvm", "llvm@18", "llvm@9"]
            .map(|name| Path::new("opt/homebrew/opt").join(name).join("bin/clang"));
        assert_eq!(found, expected);
    }

    #[test]
    fn the_newest_numbered_clang_comes_first() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in [
            "clang-9",
            "clang-19",
            "clang-17",
            "clang-format-19",
            "clang-cpp-20",
        ] {
            std::fs::write(folder.path().join(name), "").expect("a file");
        }
        let names: Vec<_> = numbered(&[folder.path().to_owned()])
            .into_iter()
            .filter_map(|c| {
                Some(
                    c.compiler
                        .program
                        .file_name()?
                        .to_string_lossy()
                        .into_owned(),
                )
            })
            .collect();
        assert_eq!(names, ["clang-19", "clang-17", "clang-9"]);
    }
}
