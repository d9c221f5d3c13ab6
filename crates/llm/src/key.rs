//! Keys of providers, which cannot be shown by accident.

use std::fmt;
use std::path::Path;

/// A key. It has no `Display`, its `Debug` says nothing, and nothing serialises it.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// Why a key cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The file cannot be read.
    #[error("{path}: {why}")]
    Unreadable {
        /// The file.
        path: String,
        /// What the system says.
        why: String,
    },
    /// Others may read the file.
    #[error("{path}: others may read this key (mode {mode:03o})")]
    Open {
        /// The file.
        path: String,
        /// Its permissions.
        mode: u32,
    },
    /// There is no key in it.
    #[error("{from}: a key is one line of visible characters")]
    NoKey {
        /// Where it was looked for.
        from: String,
    },
}

/// Bytes of a key at most.
const LONGEST: usize = 4096;

impl Key {
    /// A key as a variable or a file holds it: one line of visible ASCII characters.
    ///
    /// ```
    /// use assay_llm::key::Key;
    /// let key = Key::new("ANTHROPIC_API_KEY", "sk-secret\n").unwrap();
    /// assert_eq!(format!("{key:?}"), "Key(…)");
    /// assert!(Key::new("ANTHROPIC_API_KEY", "two words").is_err());
    /// ```
    pub fn new(from: &str, text: &str) -> Result<Key, KeyError> {
        let text = text.trim();
        let visible = text.chars().all(|c| c.is_ascii_graphic());
        if text.is_empty() || !visible || text.len() > LONGEST {
            return Err(KeyError::NoKey {
                from: from.to_owned(),
            });
        }
        Ok(Key(text.to_owned()))
    }

    /// The key of a file that only its owner may read.
    pub fn of_file(path: &Path) -> Result<Key, KeyError> {
        let name = path.display().to_string();
        let unreadable = |error: std::io::Error| KeyError::Unreadable {
            path: path.display().to_string(),
            why: error.to_string(),
        };
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;
            let mode = std::fs::metadata(path).map_err(unreadable)?.mode() & 0o777;
            if mode & 0o077 != 0 {
                return Err(KeyError::Open { path: name, mode });
            }
        }
        let text = std::fs::read_to_string(path).map_err(unreadable)?;
        Key::new(&name, &text)
    }

    /// The key itself, for the header of a request and nothing else.
    #[cfg_attr(
        not(feature = "http"),
        allow(dead_code, reason = "only HTTP sends keys")
    )]
    pub(crate) fn secret(&self) -> &str {
        &self.0
    }

    /// A text without the key, whatever brought it there.
    pub fn redact(&self, text: &str) -> String {
        text.replace(&self.0, "[key]")
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_key_that_others_may_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, "sk-1\n").unwrap();
        let mode = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode));
        mode(0o644).unwrap();
        let error = Key::of_file(&path).unwrap_err().to_string();
        assert!(
            error.ends_with("others may read this key (mode 644)"),
            "{error}"
        );
        assert!(!error.contains("sk-1"));
        mode(0o600).unwrap();
        let key = Key::of_file(&path).unwrap();
        assert_eq!(key.redact("Bearer sk-1 is wrong"), "Bearer [key] is wrong");
    }
}
