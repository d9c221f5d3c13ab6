//! Finding a clang that can compile Metal source.
//!
//! Candidates are those of [`assay_msl::find`], `ASSAY_CLANG` first. Verdicts of the probe are
//! remembered in the cache folder until the program's file changes.

use crate::failure::{Failure, Kind};
use crate::folders;
use crate::platform::Platform;
use assay_msl::find::CHOSEN;
pub(crate) use assay_msl::find::{Candidate, on_path};
use assay_msl::{Compiler, Refusal};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::UNIX_EPOCH;

/// A compiler that passed the probe.
#[derive(Clone, Debug)]
pub(crate) struct Passed {
    pub(crate) version: String,
    /// Whether it runs in the sandbox of the system.
    pub(crate) confined: bool,
}

/// What the probe said, or why not.
pub(crate) type Verdict = Result<Passed, String>;

/// How to get a compiler, per system.
pub(crate) fn install_advice() -> &'static str {
    if Platform::here().is_mac() {
        "brew install llvm, or Xcode 16 or newer, or ziglang of pip in a virtual environment"
    } else {
        "install clang 17 or newer (Debian, Ubuntu: apt install clang-19), \
         or: python3 -m pip install ziglang"
    }
}

/// The folder for compiled headers and verdicts: the one that was asked for if it can be written, otherwise one of this user
/// among the system's temporary files. A cache that cannot be kept costs time, not the answer.
pub(crate) fn cache_folder() -> PathBuf {
    static USED: OnceLock<PathBuf> = OnceLock::new();
    let choose = || {
        let wanted = wanted_cache_folder();
        let Err(error) = can_be_written(&wanted) else {
            return wanted;
        };
        let Some(instead) = own_temporary_folder() else {
            return wanted;
        };
        anstream::eprintln!(
            "note: {} cannot be written ({error}): compiled headers are kept in {}; ASSAY_CACHE names another folder",
            crate::terminal::visible(&wanted.display().to_string()),
            instead.display()
        );
        instead
    };
    USED.get_or_init(choose).clone()
}

fn can_be_written(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    tempfile::NamedTempFile::new_in(folder).map(drop)
}

/// A folder of this user alone: others may make files where temporary files lie, and what is compiled is trusted.
#[cfg(unix)]
fn own_temporary_folder() -> Option<PathBuf> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt};
    let user = rustix::process::getuid().as_raw();
    let folder = std::env::temp_dir().join(format!("assay-cache-{user}"));
    let made = std::fs::DirBuilder::new().mode(0o700).create(&folder);
    if let Err(error) = made
        && error.kind() != std::io::ErrorKind::AlreadyExists
    {
        return None;
    }
    let found = std::fs::symlink_metadata(&folder).ok()?;
    let is_own = found.is_dir() && found.uid() == user && found.mode() & 0o077 == 0;
    is_own.then_some(folder)
}

#[cfg(not(unix))]
fn own_temporary_folder() -> Option<PathBuf> {
    None
}

/// The folder that is asked for, by the environment or by the system's habits.
pub(crate) fn wanted_cache_folder() -> PathBuf {
    if let Some(folder) = folders::variable("ASSAY_CACHE") {
        return folder;
    }
    folders::cache()
        .unwrap_or_else(std::env::temp_dir)
        .join("assay")
}

/// The first candidate that passes the probe.
pub(crate) fn find() -> Result<Compiler, Failure> {
    let mut memory = Memory::load(&cache_folder());
    let mut refused = Vec::new();
    for candidate in candidates() {
        match memory.verdict(&candidate.compiler) {
            Ok(passed) => {
                memory.save();
                return Ok(accepted(candidate.compiler, &passed));
            }
            Err(reason) => {
                let line = format!("{} {reason}", candidate.compiler.command_line());
                if candidate.origin == CHOSEN {
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

fn accepted(mut compiler: Compiler, passed: &Passed) -> Compiler {
    compiler.identity = format!("{} {}", passed.version, stamp(&compiler.program));
    compiler.confined = passed.confined;
    compiler
}

/// Everything worth a probe, best first.
fn candidates() -> Vec<Candidate> {
    let variable = |name: &str| std::env::var_os(name).unwrap_or_default();
    let mut found = assay_msl::find::candidates(Some(&variable("ASSAY_CLANG")), &variable("PATH"));
    // Where `pip install --user` puts packages.
    let home = folders::variable("HOME").map(|home| home.join(".local/lib"));
    for candidate in &mut found {
        let packaged = !candidate.compiler.arguments.is_empty();
        candidate
            .compiler
            .toolchain
            .extend(home.clone().filter(|_| packaged));
    }
    // Homebrew need not be where it usually is; its shell set-up says where.
    let elsewhere = folders::variable("HOMEBREW_PREFIX").map(|it| it.join("opt/llvm/bin/clang"));
    let known = |program: &Path| found.iter().any(|it| it.compiler.program == program);
    let elsewhere = elsewhere.filter(|program| program.is_file() && !known(program));
    found.extend(elsewhere.map(|program| Candidate {
        origin: "Homebrew",
        compiler: Compiler::new(program),
    }));
    found
}

/// Size and time of a program's file: another build has others.
fn stamp(program: &Path) -> String {
    let program = match Platform::here().is_mac() {
        true => &behind_shim(program),
        false => program,
    };
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

/// Remembered of a compiler that does not run in the sandbox.
const UNCONFINED: &str = "unconfined";

/// The program that one of macOS's own runs: those in /usr/bin stay the same files whatever Xcode is chosen.
fn behind_shim(program: &Path) -> PathBuf {
    let shim = program.parent() == Some(Path::new("/usr/bin"));
    let name = program.file_name().filter(|_| shim);
    let found = name.and_then(|name| {
        let mut xcrun = std::process::Command::new("xcrun");
        let output = xcrun.arg("-f").arg(name).output().ok()?;
        let path = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| path.trim().into())
    });
    found.unwrap_or_else(|| program.to_owned())
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
            path: folder.join(concat!("compilers-2-", env!("CARGO_PKG_VERSION"))),
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
        if let Some(known) = self.known.get(&key) {
            let (version, unconfined) = match known.split_once('\t') {
                Some((version, word)) => (version, word == UNCONFINED),
                None => (known.as_str(), false),
            };
            return Ok(Passed {
                version: version.to_owned(),
                confined: !unconfined,
            });
        }
        let settled = compiler.clone().settled();
        let (settled, version) = settled.map_err(|refusal| refusal_text(compiler, &refusal))?;
        let version = version.replace(['\t', '\n'], " ");
        let known = match settled.confined {
            true => version.clone(),
            false => format!("{version}\t{UNCONFINED}"),
        };
        self.known.insert(key, known);
        self.changed = true;
        Ok(Passed {
            version,
            confined: settled.confined,
        })
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
