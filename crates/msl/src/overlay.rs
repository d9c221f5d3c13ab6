//! The part of the file system that a confined compiler sees, as an overlay of clang's virtual file system.
//!
//! An overlay that only redirects is the whole world to clang: a path outside it is not found, however it is spelt and whatever
//! asks for it, an include, a question whether a file exists, or a pragma. It is clang that looks, so no reading of the source is
//! needed to know what it would look for.

use crate::beneath::plain;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Folders as clang names them, and where they really are.
#[derive(Debug, Default)]
pub(crate) struct Overlay {
    folders: BTreeMap<PathBuf, PathBuf>,
}

impl Overlay {
    /// Shows the folders that really lie in one of `allowed`, under the names given.
    pub(crate) fn show<'p>(
        &mut self,
        named: impl IntoIterator<Item = &'p Path>,
        allowed: &[PathBuf],
    ) {
        for name in named {
            let Ok(real) = name.canonicalize() else {
                continue;
            };
            if real.is_dir() && allowed.iter().any(|folder| real.starts_with(folder)) {
                self.folders.insert(plain(name), real);
            }
        }
    }

    /// The overlay as clang reads it.
    pub(crate) fn text(&self) -> String {
        let roots = self.folders.iter().map(|(name, real)| {
            format!(
                "{{\"type\": \"directory-remap\", \"name\": {}, \"external-contents\": {}}}",
                quoted(name),
                quoted(real)
            )
        });
        let roots: Vec<String> = roots.collect();
        format!(
            "{{\"version\": 0, \"case-sensitive\": \"true\", \"use-external-names\": \"false\", \
             \"redirecting-with\": \"redirect-only\", \"roots\": [{}]}}\n",
            roots.join(", ")
        )
    }
}

fn quoted(path: &Path) -> String {
    let mut text = String::from('"');
    for c in path.to_string_lossy().chars() {
        match c {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            c if c.is_control() => text.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_inside_the_allowed_ones_are_shown() {
        let folder = tempfile::tempdir().expect("a folder");
        let base = folder.path().canonicalize().expect("a folder");
        for name in ["in", "in/a \"b\"", "out"] {
            std::fs::create_dir(base.join(name)).expect("a folder");
        }
        let allowed = [base.join("in")];
        let named = [
            base.join("in"),
            base.join("out/../in/a \"b\""),
            base.join("out"),
            base.join("in/missing"),
        ];
        let mut overlay = Overlay::default();
        overlay.show(named.iter().map(PathBuf::as_path), &allowed);
        let shown: Vec<_> = overlay.folders.keys().cloned().collect();
        assert_eq!(shown, [base.join("in"), base.join("in/a \"b\"")]);
        assert!(overlay.text().contains("/in/a \\\"b\\\"\""));
    }
}
