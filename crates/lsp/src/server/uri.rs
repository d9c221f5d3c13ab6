//! URIs of files.

use lsp_types::Uri;
use std::path::{Path, PathBuf};

/// The path of a document; one that is no file yet has its name only.
pub fn path(uri: &Uri) -> PathBuf {
    let text = uri.as_str();
    match text.strip_prefix("file://") {
        Some(path) => PathBuf::from(decoded(path)),
        None => {
            let name = text.rsplit(['/', ':']).next().unwrap_or_default();
            PathBuf::from(decoded(name)).with_extension("metal")
        }
    }
}

/// The URI of a path.
pub fn of(path: &Path) -> Option<Uri> {
    let mut text = String::from("file://");
    for byte in path.to_str()?.bytes() {
        let plain = byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
        match plain {
            true => text.push(char::from(byte)),
            false => text += &format!("%{byte:02X}"),
        }
    }
    text.parse().ok()
}

/// A text without percent signs before codes of bytes.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        let code = behind.get(..2).filter(|_| *first == b'%');
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        let code = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        match code {
            Some(byte) => {
                bytes.push(byte);
                rest = behind.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_survive_the_way_there_and_back() {
        for name in ["/a/k.metal", "/with blank/ü%.metal", "/a#b/c?d.metal"] {
            let uri = of(Path::new(name)).unwrap();
            assert_eq!(path(&uri), Path::new(name), "{}", uri.as_str());
        }
        assert_eq!(
            path(&"untitled:Untitled-1".parse().unwrap()),
            Path::new("Untitled-1.metal")
        );
    }
}
