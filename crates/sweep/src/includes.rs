//! A source file with everything it includes, as one text: what is compiled, hashed and kept.

use assay_bench::registry::{Headers, Resolved, hash, hidden_include};
use std::path::{Path, PathBuf};

/// Files that may include each other, one inside the other.
const DEEPEST: usize = 16;
/// Bytes of the whole text at most.
const LARGEST: usize = 16 << 20;

/// The text with its includes in place: headers of the registry by their names, others from beside the file that
/// includes them. An include that is found nowhere stays as it is, for the compiler to complain about if it is wanted.
pub fn whole(
    path: &Path,
    text: &str,
    headers: &Headers,
    read: fn(&Path) -> Option<String>,
) -> Result<Resolved, String> {
    let mut writer = Writer {
        headers,
        read,
        seen: Vec::new(),
        out: String::new(),
    };
    writer.append(path, text, 0)?;
    let is_file = |name: &str| writer.find(path, name).is_some();
    if let Some((line, include)) = hidden_include(&writer.out, is_file) {
        return Err(format!(
            "{}: #include {include} (line {line} with all includes in place): the text of this file would not be kept \
             with the result; name it in quotes, on a line of its own",
            path.display()
        ));
    }
    Ok(Resolved {
        path: path.display().to_string(),
        hash: hash(&writer.out),
        text: writer.out,
    })
}

struct Writer<'a> {
    headers: &'a Headers,
    /// The text of a file, if there is one.
    read: fn(&Path) -> Option<String>,
    /// Files that are put in once.
    seen: Vec<PathBuf>,
    out: String,
}

impl Writer<'_> {
    fn append(&mut self, path: &Path, text: &str, depth: usize) -> Result<(), String> {
        for (number, line) in text.lines().enumerate() {
            let wrong = |why: &str| format!("{}:{}: {why}", path.display(), number + 1);
            if line.trim() == "#pragma once" && depth > 0 {
                continue;
            }
            let found = quoted_include(line).and_then(|name| self.find(path, name));
            let Some((included, text)) = found else {
                self.out.push_str(line);
                self.out.push('\n');
                continue;
            };
            if depth >= DEEPEST {
                return Err(wrong("files include each other too deeply"));
            }
            let once = text.lines().any(|line| line.trim() == "#pragma once");
            if once && self.seen.contains(&included) {
                continue;
            }
            self.seen.push(included.clone());
            self.append(&included, &text, depth + 1)?;
            if self.out.len() > LARGEST {
                return Err(wrong("the source and what it includes are too large"));
            }
        }
        Ok(())
    }

    fn find(&self, from: &Path, name: &str) -> Option<(PathBuf, String)> {
        let beside = from.parent().unwrap_or(Path::new("")).join(name);
        if let Some(text) = (self.read)(&beside) {
            return Some((beside.canonicalize().unwrap_or(beside), text));
        }
        let text = self.headers.get(name)?;
        Some((PathBuf::from(name), text.clone()))
    }
}

fn quoted_include(line: &str) -> Option<&str> {
    let rest = line.trim().strip_prefix('#')?.trim_start();
    let rest = rest
        .strip_prefix("include")?
        .trim_start()
        .strip_prefix('"')?;
    rest.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &Path) -> Option<String> {
        std::fs::read_to_string(path).ok()
    }

    #[test]
    fn the_hash_is_of_every_included_file() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(
            "deep/constants.h",
            "#pragma once\nconstant float slope = 1;\n",
        );
        write("deep/a.h", "#include \"constants.h\"\nA\n");
        let main = folder.path().join("main.metal");
        let text = "#include <metal_stdlib>\n#include \"deep/a.h\"\n#include \"deep/constants.h\" // again\n\
                    #include \"reduce.h\"\n#include \"nowhere.h\"\n";
        let headers = Headers::from([("reduce.h".to_owned(), "R\n".to_owned())]);
        let before = whole(&main, text, &headers, read).unwrap();
        assert_eq!(
            before.text,
            "#include <metal_stdlib>\nconstant float slope = 1;\nA\nR\n#include \"nowhere.h\"\n"
        );
        write(
            "deep/constants.h",
            "#pragma once\nconstant float slope = 2;\n",
        );
        let after = whole(&main, text, &headers, read).unwrap();
        assert_ne!(before.hash, after.hash);
    }

    #[test]
    fn a_file_that_would_not_be_kept_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.h"), "A\n").unwrap();
        let main = folder.path().join("main.metal");
        let text = "#define H \"a.h\"\n#include H\n";
        let error = whole(&main, text, &Headers::new(), read).unwrap_err();
        assert!(error.contains("#include H (line 2"), "{error}");
    }

    #[test]
    fn a_file_that_includes_itself_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("loop.h");
        std::fs::write(&path, "#include \"loop.h\"\n").unwrap();
        let text = "#include \"loop.h\"\n";
        let error = whole(&folder.path().join("x.metal"), text, &Headers::new(), read).unwrap_err();
        assert!(error.contains("too deeply"), "{error}");
    }
}
