//! Finding a clang that can compile Metal source.
//!
//! Candidates in order: `ASSAY_CLANG`, the newest `clang-NN` on the path, `clang`, the
//! Command Line Tools' clang, and the one inside Python's `ziglang` package. Each is
//! judged by compiling a probe, never by its version text. Verdicts are remembered in
//! the cache folder until the program's file changes.

use crate::failure::{Failure, Kind};
use assay_msl::{Compiler, Refusal};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// A compiler that may do, and where it was found.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) origin: &'static str,
    pub(crate) compiler: Compiler,
}

/// What the probe said: the version, or why not.
pub(crate) type Verdict = Result<String, String>;

/// How to get a compiler, per system.
pub(crate) fn install_advice() -> &'static str {
    if cfg!(target_os = "macos") {
        "xcode-select --install, or: python3 -m pip install ziglang"
    } else {
        "install clang 17 or newer (Debian, Ubuntu: apt install clang-19), \
         or: python3 -m pip install ziglang"
    }
}

/// The folder for compiled headers and verdicts.
pub(crate) fn cache_folder() -> PathBuf {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(folder) = variable("ASSAY_CACHE") {
        return folder.into();
    }
    let home = variable("HOME").map(PathBuf::from);
    let base = if cfg!(target_os = "macos") {
        home.map(|home| home.join("Library/Caches"))
    } else if cfg!(windows) {
        variable("LOCALAPPDATA").map(PathBuf::from)
    } else {
        variable("XDG_CACHE_HOME")
            .map(PathBuf::from)
            .or_else(|| home.map(|home| home.join(".cache")))
    };
    base.unwrap_or_else(std::env::temp_dir).join("assay")
}

/// The first candidate that passes the probe.
pub(crate) fn find() -> Result<Compiler, Failure> {
    let mut memory = Memory::load(&cache_folder());
    let mut refused = Vec::new();
    for candidate in candidates() {
        match memory.verdict(&candidate.compiler) {
            Ok(version) => {
                memory.save();
                return Ok(accepted(candidate.compiler, &version));
            }
            Err(reason) => {
                let line = format!("{} {reason}", candidate.compiler.command_line());
                if candidate.origin == FROM_ENVIRONMENT {
                    return Err(Failure::new(Kind::Missing, format!("ASSAY_CLANG: {line}"))
                        .advice("unset ASSAY_CLANG, or let it name another clang"));
                }
                refused.push(line);
            }
        }
    }
    memory.save();
    let mut message = "no clang on this machine can compile Metal source".to_owned();
    for line in &refused {
        message.push_str("\n  ");
        message.push_str(line);
    }
    Err(Failure::new(Kind::Missing, message).advice(install_advice()))
}

/// Every candidate with its verdict, probed afresh.
pub(crate) fn examine() -> Vec<(Candidate, Verdict)> {
    let mut memory = Memory::empty(&cache_folder());
    let verdicts = candidates()
        .into_iter()
        .map(|candidate| {
            let verdict = memory.verdict(&candidate.compiler);
            (candidate, verdict)
        })
        .collect();
    memory.save();
    verdicts
}

fn accepted(mut compiler: Compiler, version: &str) -> Compiler {
    compiler.identity = format!("{version} {}", stamp(&compiler.program));
    compiler
}

const FROM_ENVIRONMENT: &str = "ASSAY_CLANG";

/// Everything worth a probe, best first.
fn candidates() -> Vec<Candidate> {
    if let Some(chosen) = std::env::var_os("ASSAY_CLANG").filter(|value| !value.is_empty()) {
        return vec![Candidate {
            origin: FROM_ENVIRONMENT,
            compiler: chosen_compiler(&chosen),
        }];
    }
    let folders: Vec<PathBuf> = std::env::var_os("PATH")
        .map(|path| std::env::split_paths(&path).collect())
        .unwrap_or_default();
    let mut found = numbered(&folders);
    let plain = |origin, program: PathBuf| Candidate {
        origin,
        compiler: Compiler::new(program),
    };
    found.extend(on_path(&folders, "clang").map(|program| plain("path", program)));
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

/// `ASSAY_CLANG` names a program, or a program with arguments.
fn chosen_compiler(text: &OsStr) -> Compiler {
    let whole = Path::new(text);
    let Some(words) = text.to_str().filter(|_| !whole.is_file()) else {
        return Compiler::new(whole);
    };
    let mut words = words.split_whitespace().map(str::to_owned);
    let mut compiler = Compiler::new(words.next().unwrap_or_default());
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

/// A program of that name on the path.
pub(crate) fn on_path(folders: &[PathBuf], name: &str) -> Option<PathBuf> {
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    folders
        .iter()
        .map(|folder| folder.join(&name))
        .find(|path| path.is_file())
}

/// Size and time of a program's file: another build has others.
fn stamp(program: &Path) -> String {
    let Ok(metadata) = std::fs::metadata(program) else {
        return String::new();
    };
    let time = metadata
        .modified()
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    format!(
        "{} {}",
        metadata.len(),
        time.map_or(0, |time| time.as_nanos())
    )
}

/// Verdicts of earlier runs. A refusal is never remembered: what was missing may have
/// been installed since, and asking again costs little.
struct Memory {
    path: PathBuf,
    known: HashMap<String, String>,
    changed: bool,
}

impl Memory {
    fn empty(folder: &Path) -> Self {
        Memory {
            path: folder.join(concat!("compilers-", env!("CARGO_PKG_VERSION"))),
            known: HashMap::new(),
            changed: false,
        }
    }

    fn load(folder: &Path) -> Self {
        let mut memory = Memory::empty(folder);
        let text = std::fs::read_to_string(&memory.path).unwrap_or_default();
        memory.known = text
            .lines()
            .filter_map(|line| line.split_once('\t'))
            .map(|(key, version)| (key.to_owned(), version.to_owned()))
            .collect();
        memory
    }

    fn verdict(&mut self, compiler: &Compiler) -> Verdict {
        let key = format!("{} {}", compiler.command_line(), stamp(&compiler.program));
        if let Some(version) = self.known.get(&key) {
            return Ok(version.clone());
        }
        let version = compiler
            .version()
            .and_then(|version| compiler.probe().map(|()| version))
            .map_err(|refusal| refusal_text(compiler, &refusal))?;
        self.known.insert(key, version.replace(['\t', '\n'], " "));
        self.changed = true;
        Ok(version)
    }

    /// Writes what is known. Failure costs time on the next run, nothing else.
    fn save(&self) {
        let Some(folder) = self.path.parent().filter(|_| self.changed) else {
            return;
        };
        let mut lines: Vec<String> = self
            .known
            .iter()
            .map(|(key, version)| format!("{key}\t{version}\n"))
            .collect();
        lines.sort();
        let _ = std::fs::create_dir_all(folder)
            .and_then(|()| tempfile::NamedTempFile::new_in(folder))
            .and_then(|file| {
                std::fs::write(file.path(), lines.concat())?;
                file.persist(&self.path).map_err(|error| error.error)?;
                Ok(())
            });
    }
}

/// The refusal, worded for what was tried.
fn refusal_text(compiler: &Compiler, refusal: &Refusal) -> String {
    let zig = compiler
        .arguments
        .iter()
        .any(|argument| argument == "ziglang");
    match refusal {
        Refusal::CannotRun(_) if zig => "is not there (python3 -m pip install ziglang)".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_may_hold_arguments() {
        let compiler = chosen_compiler(OsStr::new("python3 -m ziglang clang"));
        assert_eq!(compiler.program, Path::new("python3"));
        assert_eq!(compiler.arguments, ["-m", "ziglang", "clang"]);
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
