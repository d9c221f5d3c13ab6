//! Words of clang's command line that others have a say in: macros and paths.
//!
//! clang's driver starts its compiler proper, for which `-DTEXT` is two words, `-D` and `TEXT`, and so are `-I`, `-iquote` and
//! `-isystem` with their folders. A word that begins with `@` is a file of further arguments to it, wherever it stands: a macro
//! called `@file` could load a plugin. And what follows an end of line behind `-D NAME` is a line of the source.

use std::borrow::Cow;
use std::path::Path;

/// Returns true if a text is a macro as `-D` takes it: a name, perhaps its parameters, and behind a `=` what it stands for, in
/// one line.
///
/// ```
/// use assay_msl::is_macro;
/// assert!(is_macro("TILE=16") && is_macro("DEBUG") && is_macro("SQUARE(x)=((x) * (x))"));
/// assert!(!is_macro("@file") && !is_macro("A\n#include \"/etc/passwd\"") && !is_macro("=1"));
/// ```
pub fn is_macro(define: &str) -> bool {
    let (head, body) = define.split_once('=').unwrap_or((define, ""));
    let of_name = |c: char| c == '_' || c == '$' || c.is_alphanumeric();
    let (name, parameters) = head.split_at(head.find(|c| !of_name(c)).unwrap_or(head.len()));
    let named = name.starts_with(|c: char| of_name(c) && !c.is_numeric());
    let list = parameters
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'));
    let parameters = match list {
        Some(list) => list.chars().all(|c| of_name(c) || ",. ".contains(c)),
        None => parameters.is_empty(),
    };
    let one_line =
        !body.contains(|c: char| c.is_control() && c != '\t') && !body.trim_end().ends_with('\\');
    named && parameters && one_line
}

/// A path that is the same path to clang: one that begins with `@` is a file of arguments, and one that begins with `=` lies in
/// the folder of a system.
pub(crate) fn path(path: &Path) -> Cow<'_, Path> {
    let first = path.as_os_str().as_encoded_bytes().first();
    match first {
        Some(b'@' | b'=') => Path::new(".").join(path).into(),
        _ => path.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn macros_are_names_with_a_body_of_one_line() {
        for fine in [
            "A",
            "A=",
            "A=1",
            "_a$1=x = y",
            "F(x)=x",
            "F(a, b, ...)=a",
            "assert(condition)=",
            "\u{e9}=1",
            "A=\tb",
            "PATH=@x",
            "TEXT=\"a\\\\b\"",
        ] {
            assert!(is_macro(fine), "{fine}");
        }
        for bad in [
            "",
            "=",
            "@a",
            "@a=1",
            "1A",
            "A B",
            "A B=1",
            "-A",
            "A\n#include \"x\"",
            "A\n",
            "A=1\n#include \"x\"",
            "A=1\r#include \"x\"",
            "A=\\",
            "A=\\ ",
            "A(=1",
            "A(x)y=1",
            "A(\n)=1",
            "A=\0",
        ] {
            assert!(!is_macro(bad), "{bad:?}");
        }
    }

    #[test]
    fn no_path_is_a_file_of_arguments() {
        for (given, clang) in [
            ("@a", "./@a"),
            ("a/@b", "a/@b"),
            ("=a", "./=a"),
            (".", "."),
            ("../@a", "../@a"),
            ("/@a", "/@a"),
        ] {
            assert_eq!(path(Path::new(given)).as_os_str(), clang);
        }
    }
}
