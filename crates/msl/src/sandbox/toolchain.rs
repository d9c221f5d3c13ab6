//! The files a compiler is made of: its program, what loads it, and its libraries.

use crate::compiler::Compiler;
use std::path::{Path, PathBuf};

/// Where libraries lie that programs of any prefix load, and what finds them.
const LIBRARIES: [&str; 14] = [
    "/lib",
    "/lib32",
    "/lib64",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/local/lib",
    "/nix/store",
    "/gnu/store",
    "/etc/ld.so.cache",
    "/etc/ld.so.preload",
    "/etc/clang",
    "/dev/null",
    "/dev/urandom",
];

/// What a compiler reads of itself, and what of that is run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Toolchain {
    pub(super) read: Vec<PathBuf>,
    pub(super) run: Vec<PathBuf>,
}

impl Toolchain {
    pub(super) fn of(compiler: &Compiler) -> Toolchain {
        let mut chain = Toolchain {
            read: LIBRARIES.iter().map(PathBuf::from).collect(),
            run: compiler.toolchain.clone(),
        };
        let program = &started(&compiler.program);
        let real = program.canonicalize().unwrap_or_else(|_| program.clone());
        for program in [program, &real] {
            chain.program(program);
            let prefix = program.parent().and_then(Path::parent);
            for name in ["lib", "lib64", "pyvenv.cfg"] {
                let part = prefix.map(|prefix| prefix.join(name));
                let part = part.filter(|part| part.exists());
                // What an interpreter runs for the compiler lies among its packages.
                let run = part
                    .clone()
                    .filter(|part| !compiler.arguments.is_empty() && part.is_dir());
                chain.read.extend(part);
                chain.run.extend(run);
            }
        }
        if let Some(script) = interpreter_of_script(&real) {
            // What a script goes on to is known to the script alone.
            chain.program(&script);
            chain
                .run
                .extend(["/bin", "/usr/bin", "/usr/lib"].map(PathBuf::from));
        }
        chain.read.extend(chain.run.iter().cloned());
        for list in [&mut chain.read, &mut chain.run] {
            list.sort();
            list.dedup();
        }
        chain
    }

    fn program(&mut self, program: &Path) {
        self.run.push(program.to_owned());
        self.run.extend(loader(program));
    }
}

/// The file that is started for a name: of one without a folder the standard library goes through `PATH`, and so must we.
fn started(program: &Path) -> PathBuf {
    let plain = program.components().count() == 1 && !program.has_root();
    let folders = plain.then(|| std::env::var_os("PATH")).flatten();
    let folders: Vec<PathBuf> = folders.iter().flat_map(std::env::split_paths).collect();
    let found = crate::find::on_path(&folders, &program.to_string_lossy());
    found.unwrap_or_else(|| program.to_owned())
}

/// Bytes in which a program says who runs it.
const HEAD: u64 = 1 << 12;

fn head(program: &Path) -> Option<Vec<u8>> {
    use std::io::Read;
    let mut head = Vec::new();
    let file = std::fs::File::open(program).ok()?;
    file.take(HEAD).read_to_end(&mut head).ok()?;
    Some(head)
}

/// The program after `#!`.
fn interpreter_of_script(script: &Path) -> Option<PathBuf> {
    let head = head(script)?;
    let line = head
        .strip_prefix(b"#!")?
        .split(|byte| *byte == b'\n')
        .next()?;
    let line = std::str::from_utf8(line).ok()?;
    line.split_whitespace().next().map(PathBuf::from)
}

/// The loader that a program of 64 bits in ELF names.
fn loader(program: &Path) -> Option<PathBuf> {
    /// The type of the entry that names it.
    const INTERPRETER: u32 = 3;
    let head = head(program)?;
    head.strip_prefix(b"\x7fELF\x02\x01")?;
    let short = |at: usize| Some(u16::from_le_bytes(head.get(at..at + 2)?.try_into().ok()?));
    let word = |at: usize| Some(u32::from_le_bytes(head.get(at..at + 4)?.try_into().ok()?));
    let long = |at: usize| {
        let bytes = head.get(at..at.checked_add(8)?)?;
        usize::try_from(u64::from_le_bytes(bytes.try_into().ok()?)).ok()
    };
    let (table, size, count) = (long(32)?, usize::from(short(54)?), usize::from(short(56)?));
    (0..count).find_map(|index| {
        let entry = table.checked_add(index * size)?;
        if word(entry)? != INTERPRETER {
            return None;
        }
        let (offset, length) = (long(entry + 8)?, long(entry + 32)?);
        let name = head.get(offset..offset.checked_add(length)?)?;
        let name = std::str::from_utf8(name).ok()?;
        Some(PathBuf::from(name.trim_end_matches('\0')))
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_run_with_its_loader() {
        let shell = Toolchain::of(&Compiler::new("/bin/sh"));
        assert!(shell.run.iter().any(|path| path.ends_with("sh")));
        let loads = |path: &PathBuf| {
            path.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("ld-"))
        };
        assert!(shell.run.iter().any(loads), "{shell:?}");
        assert!(!shell.run.contains(&PathBuf::from("/usr/bin")));
    }

    #[test]
    fn a_script_may_run_the_programs_of_the_system() {
        let folder = tempfile::tempdir().expect("a folder");
        let script = folder.path().join("clang");
        std::fs::write(&script, "#!/bin/sh -e\nexec clang-19 \"$@\"\n").expect("a file");
        let chain = Toolchain::of(&Compiler::new(&script));
        for path in [script, "/bin/sh".into(), "/usr/bin".into()] {
            assert!(chain.run.contains(&path), "{path:?}");
        }
        assert!(!chain.read.contains(&PathBuf::from("/")));
    }
}
