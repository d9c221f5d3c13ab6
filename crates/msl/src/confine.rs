//! Which files a source may make the compiler read.
//!
//! Whoever compiles sources of strangers allows some folders. Of the file system the compiler sees those folders and our own
//! headers ([`crate::overlay`]), so that a question about any other file has one answer whether it exists or not. Links inside
//! the folders may lead out of them: every file that takes part in a compilation stands in a line marker of the preprocessor's
//! output, and so does every file that a `#line` pretends to be. One that lies elsewhere, by its real path, refuses the source
//! before anything of it is shown, whether it exists or not.

use crate::beneath::{Folders, plain};
use crate::diagnostic::Raw;
use std::path::{Component, Path, PathBuf};

/// Folders that may be read, by their real paths.
#[derive(Debug)]
pub(crate) struct Allowed<'a> {
    pub(crate) folders: Folders,
    /// The source itself, whatever it is called.
    main: &'a Path,
    /// Our own headers.
    own: &'a Path,
}

impl<'a> Allowed<'a> {
    pub(crate) fn new(folders: &[PathBuf], main: &'a Path, own: &'a Path) -> Allowed<'a> {
        Allowed {
            folders: Folders::new(folders),
            main,
            own,
        }
    }

    /// The first file of the preprocessor's output that lies elsewhere.
    pub(crate) fn first_outside(&self, preprocessed: &[u8]) -> Option<PathBuf> {
        let mut last = PathBuf::new();
        for name in marked_files(preprocessed) {
            if name != last && !self.allows(&name) {
                return Some(name);
            }
            last = name;
        }
        None
    }

    /// The first file of diagnostics that lies elsewhere, or whose name cannot be read.
    pub(crate) fn first_blamed_outside(&self, diagnostics: &[Raw<'_>]) -> Option<PathBuf> {
        let files = diagnostics.iter().filter_map(|raw| raw.place);
        let mut files = files.map(|(file, _, _)| Path::new(file));
        let unreadable = |file: &Path| file.to_string_lossy().contains(char::REPLACEMENT_CHARACTER);
        let outside = |file: &&Path| !self.allows(file) || *file != self.main && unreadable(file);
        files.find(outside).map(Path::to_owned)
    }

    fn allows(&self, file: &Path) -> bool {
        file == self.main
            || in_brackets(file)
            || plain(file).starts_with(self.own)
            || self.folders.holds(file) && self.goes_up_plainly(file)
    }

    /// Returns true if a path goes up in the folders alone and never behind a link, where `..` leads elsewhere than its text
    /// says.
    fn goes_up_plainly(&self, file: &Path) -> bool {
        let whole = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        let mut below = PathBuf::new();
        whole.components().all(|component| {
            let fine = component != Component::ParentDir
                || self.folders.holds(&below)
                    && !below.symlink_metadata().is_ok_and(|it| it.is_symlink());
            below.push(component);
            fine
        })
    }

    /// The files that the preprocessor has read, by its output.
    pub(crate) fn read_files(preprocessed: &[u8]) -> Vec<PathBuf> {
        let files = marked_files(preprocessed).filter(|file| !in_brackets(file));
        let mut files: Vec<PathBuf> = files.collect();
        files.sort();
        files.dedup();
        files
    }
}

/// Returns true for what clang calls texts that are not files.
fn in_brackets(file: &Path) -> bool {
    let names = ["<stdin>", "<built-in>", "<command line>", "<scratch space>"];
    names.iter().any(|name| file == Path::new(name))
}

/// The files of line markers, `# 12 "file" 1`.
fn marked_files(preprocessed: &[u8]) -> impl Iterator<Item = PathBuf> {
    preprocessed
        .split(|byte| *byte == b'\n')
        .filter_map(marked_file)
}

fn marked_file(line: &[u8]) -> Option<PathBuf> {
    let rest = line.strip_prefix(b"# ")?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let name = rest.get(digits..)?.strip_prefix(b" \"")?;
    let end = name.iter().rposition(|byte| *byte == b'"')?;
    (digits > 0).then(|| path_of(unescaped(name.get(..end)?)))?
}

/// A name as the preprocessor quotes it: bytes that are not printable ASCII may stand there in octal.
fn unescaped(name: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'\\' {
            bytes.push(first);
            continue;
        }
        let octal = rest
            .iter()
            .take(3)
            .take_while(|it| (b'0'..b'8').contains(it));
        let digits = octal.count();
        if digits > 0 {
            let (number, after) = rest.split_at(digits);
            let value = number
                .iter()
                .fold(0u32, |all, digit| all * 8 + u32::from(digit - b'0'));
            bytes.push((value & 0xff) as u8);
            rest = after;
        } else if let Some((&escaped, after)) = rest.split_first() {
            bytes.push(match escaped {
                b'n' => b'\n',
                b't' => b'\t',
                other => other,
            });
            rest = after;
        }
    }
    bytes
}

/// The preprocessor's output with the names of files in its line markers as people write them: of a name that is text and has
/// no control characters only quotation marks and backslashes stay escaped.
pub(crate) fn readable_names(output: &[u8]) -> String {
    let mut text = String::with_capacity(output.len());
    for line in output.split_inclusive(|byte| *byte == b'\n') {
        match readable_marker(line) {
            Some(marker) => text.push_str(&marker),
            None => text.push_str(&String::from_utf8_lossy(line)),
        }
    }
    text
}

fn readable_marker(line: &[u8]) -> Option<String> {
    if !line.starts_with(b"# ") || !line.contains(&b'\\') {
        return None;
    }
    let open = line.iter().position(|byte| *byte == b'"')? + 1;
    let close = line.iter().rposition(|byte| *byte == b'"')?;
    let name = String::from_utf8(unescaped(line.get(open..close)?)).ok()?;
    if name.chars().any(char::is_control) {
        return None;
    }
    let name = name.replace('\\', "\\\\").replace('"', "\\\"");
    let around = |part: &[u8]| String::from_utf8_lossy(part).into_owned();
    Some(around(line.get(..open)?) + &name + &around(line.get(close..)?))
}

#[cfg(unix)]
fn path_of(name: Vec<u8>) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    Some(std::ffi::OsString::from_vec(name).into())
}

#[cfg(not(unix))]
fn path_of(name: Vec<u8>) -> Option<PathBuf> {
    Some(String::from_utf8_lossy(&name).into_owned().into())
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
        let check =
            |name: String| allowed.first_outside(format!("# 1 \"{name}\" 1\nint y;\n").as_bytes());
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

    #[test]
    fn names_of_files_are_shown_as_people_write_them() {
        let readable = |line: &str| readable_names(line.as_bytes());
        for (marker, shown) in [
            (r#"# 1 "/\303\251/k.metal" 2"#, "# 1 \"/\u{e9}/k.metal\" 2"),
            (r#"# 1 "a\\b\"c""#, r#"# 1 "a\\b\"c""#),
            (r#"# 1 "a\012b""#, r#"# 1 "a\012b""#),
            (r#"# 1 "\377""#, r#"# 1 "\377""#),
            (r#"s = "\303\251";"#, r#"s = "\303\251";"#),
        ] {
            assert_eq!(readable(marker), shown);
        }
        assert_eq!(readable("# 1 \"x\"\nint y;\n"), "# 1 \"x\"\nint y;\n");
    }

    /// Links lead out of the folder, whatever bytes their names are made of and however clang spells them.
    #[cfg(unix)]
    #[test]
    fn links_with_odd_names_are_followed() {
        use std::os::unix::ffi::OsStrExt;
        let made = tempfile::tempdir().unwrap();
        let base = made.path().canonicalize().unwrap();
        let (inside, outside) = (base.join("in"), base.join("out"));
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::create_dir_all(outside.join("deep")).unwrap();
        std::fs::write(outside.join("x.h"), "int x;\n").unwrap();
        std::os::unix::fs::symlink(outside.join("deep"), inside.join("folder")).unwrap();
        let folders = [inside.clone()];
        let allowed = Allowed::new(&folders, Path::new("k.metal"), Path::new("/own"));
        let names: [(&[u8], &[u8]); 7] = [
            (b"l\xff.h", b"l\\377.h"),
            (b"l\xfe.h", b"l\xfe.h"),
            ("\u{e9}.h".as_bytes(), b"\\303\\251.h"),
            (b"a\"b.h", b"a\\\"b.h"),
            (b"a\\b.h", b"a\\\\b.h"),
            (b"a\nb.h", b"a\\nb.h"),
            (b"<x>", b"<x>"),
        ];
        for (name, marked) in names {
            let link = inside.join(std::ffi::OsStr::from_bytes(name));
            std::os::unix::fs::symlink(outside.join("x.h"), link).unwrap();
            let folder = inside.as_os_str().as_bytes();
            let marker = [b"# 1 \"", folder, b"/", marked, b"\" 1\n"].concat();
            assert!(allowed.first_outside(&marker).is_some(), "{marked:?}");
        }
        let around = format!("# 1 \"{}/folder/../x.h\" 1\n", inside.display());
        assert!(allowed.first_outside(around.as_bytes()).is_some());
    }
}
