//! Which files a source may make the compiler read.
//!
//! Whoever compiles sources of strangers allows some folders. Of the file system the compiler sees those folders and our own
//! headers ([`crate::overlay`]), so that a question about any other file has one answer whether it exists or not. Links inside
//! the folders may lead out of them: every file that takes part in a compilation stands in a line marker of the preprocessor's
//! output, and so does every file that a `#line` pretends to be. One that lies elsewhere, by its real path, refuses the source
//! before anything of it is shown, whether it exists or not.

use crate::diagnostic::Raw;
use std::path::{Component, Path, PathBuf};

/// Folders that may be read, by their real paths.
#[derive(Debug)]
pub(crate) struct Allowed<'a> {
    pub(crate) folders: Vec<PathBuf>,
    /// The source itself, whatever it is called.
    main: &'a Path,
    /// Our own headers.
    own: &'a Path,
}

impl<'a> Allowed<'a> {
    pub(crate) fn new(folders: &[PathBuf], main: &'a Path, own: &'a Path) -> Allowed<'a> {
        let real = |folder: &PathBuf| folder.canonicalize().ok();
        Allowed {
            folders: folders.iter().filter_map(real).collect(),
            main,
            own,
        }
    }

    /// The first file of the preprocessor's output that lies elsewhere.
    pub(crate) fn first_outside(&self, preprocessed: &str) -> Option<PathBuf> {
        let names = preprocessed.lines().filter_map(marked_file);
        let mut last = String::new();
        for name in names {
            if name != last && !self.allows(Path::new(&name)) {
                return Some(name.into());
            }
            last = name;
        }
        None
    }

    /// The first file of diagnostics that lies elsewhere.
    pub(crate) fn first_blamed_outside(&self, diagnostics: &[Raw<'_>]) -> Option<PathBuf> {
        let files = diagnostics.iter().filter_map(|raw| raw.place);
        let mut files = files.map(|(file, _, _)| Path::new(file));
        files.find(|file| !self.allows(file)).map(Path::to_owned)
    }

    fn allows(&self, file: &Path) -> bool {
        if file == self.main || in_brackets(file) {
            return true;
        }
        let plain = plain(file);
        plain.starts_with(self.own) || self.holds(&plain)
    }

    /// Returns true if a file lies in one of the folders, or would if it existed.
    fn holds(&self, plain: &Path) -> bool {
        let real = plain.ancestors().find_map(|there| {
            let real = there.canonicalize().ok()?;
            Some(real.join(plain.strip_prefix(there).ok()?))
        });
        // A link that leads nowhere may yet lead out.
        let dangles = || plain.symlink_metadata().is_ok() && !plain.exists();
        let inside = |real: &PathBuf| self.folders.iter().any(|folder| real.starts_with(folder));
        real.as_ref().is_some_and(inside) && !dangles()
    }

    /// The files that the preprocessor has read, by its output.
    pub(crate) fn read_files(preprocessed: &str) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = preprocessed
            .lines()
            .filter_map(marked_file)
            .map(PathBuf::from)
            .filter(|file| !in_brackets(file))
            .collect();
        files.sort();
        files.dedup();
        files
    }
}

/// A path from the root without `.` and `..`, as text alone.
pub(crate) fn plain(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut plain = PathBuf::new();
    for component in whole.components() {
        match component {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

/// Returns true for what clang calls texts that are not files.
fn in_brackets(file: &Path) -> bool {
    let names = ["<stdin>", "<built-in>", "<command line>", "<scratch space>"];
    names.iter().any(|name| file == Path::new(name))
}

/// The file of `# 12 "file" 1`.
fn marked_file(line: &str) -> Option<String> {
    let rest = line.strip_prefix("# ")?;
    let (number, rest) = rest.split_once(" \"")?;
    number.parse::<u32>().ok()?;
    let (name, _) = rest.rsplit_once('"')?;
    Some(name.replace("\\\"", "\"").replace("\\\\", "\\"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_by_their_real_paths() {
        let folder = std::env::temp_dir().join(format!("assay-confine-{}", std::process::id()));
        let (inside, outside) = (folder.join("in"), folder.join("out"));
        for folder in [&inside, &outside] {
            std::fs::create_dir_all(folder).unwrap();
            std::fs::write(folder.join("x.h"), "int x;\n").unwrap();
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink(outside.join("x.h"), inside.join("link.h")).unwrap();
        let folders = [inside.clone()];
        let allowed = Allowed::new(&folders, Path::new("k.metal"), Path::new("/own"));
        let check = |name: String| allowed.first_outside(&format!("# 1 \"{name}\" 1\nint y;\n"));
        for fine in ["k.metal", "<built-in>", "/own/metal_stdlib"] {
            assert_eq!(check(fine.to_owned()), None);
        }
        assert_eq!(check(inside.join("not/there").display().to_string()), None);
        for bad in [
            "/not/there",
            "/etc/passwd",
            "/own/../etc/passwd",
            "../not.h",
        ] {
            assert!(check(bad.to_owned()).is_some(), "{bad}");
        }
        assert_eq!(check(inside.join("x.h").display().to_string()), None);
        let around = inside.join("../out/x.h").display().to_string();
        assert!(check(around).is_some());
        if cfg!(unix) {
            assert!(check(inside.join("link.h").display().to_string()).is_some());
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
