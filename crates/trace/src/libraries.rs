//! Versions of libraries: from what a package manager writes, and from paths.
//!
//! Exported tables say which files a process loaded, not which versions they are of. A lock
//! file does, and sometimes a path.

use crate::error::Error;
use serde::Deserialize;

/// A library whose version is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenLibrary {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Where that comes from: `given`, or a file's name.
    pub source: String,
}

/// Larger files are refused.
const LARGEST: usize = 64 << 20;

/// Packages of a lock file that matter for GPU work; a lock file lists hundreds.
const RELEVANT: [&str; 16] = [
    "mlx", "metal", "candle", "burn", "cubecl", "wgpu", "ggml", "llama", "torch", "tch", "jax",
    "tinygrad", "numpy", "onnx", "whisper", "gemm",
];

/// Reads what `pip freeze`, `pip list --format json` or Cargo (`Cargo.lock`) write, or lines
/// of NAME=VERSION. Of a lock file, packages that have to do with GPU work are taken.
///
/// ```
/// let libraries = assay_trace::read_libraries("requirements.txt", b"mlx==0.29.1\nmlx-lm==0.27.0\n")?;
/// assert_eq!((libraries[0].name.as_str(), libraries[0].version.as_str()), ("mlx", "0.29.1"));
/// # Ok::<(), assay_trace::Error>(())
/// ```
pub fn read_libraries(file: &str, bytes: &[u8]) -> Result<Vec<GivenLibrary>, Error> {
    let bad = |what: String| Error::Inconsistent(format!("{file}: {what}"));
    if bytes.len() > LARGEST {
        return Err(bad(format!("more than {LARGEST} bytes")));
    }
    let text = String::from_utf8_lossy(bytes);
    let library = |name: &str, version: &str| GivenLibrary {
        name: name.trim().to_owned(),
        version: version.trim().to_owned(),
        source: file.to_owned(),
    };
    if text.trim_start().starts_with('[') && !text.contains("[[package]]") {
        let packages: Vec<Package> =
            serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
        let packages = packages.iter();
        return Ok(packages.map(|p| library(&p.name, &p.version)).collect());
    }
    if text.contains("[[package]]") {
        return Ok(locked(&text)
            .filter(|(name, _)| is_relevant(name))
            .map(|(name, version)| library(name, version))
            .collect());
    }
    let mut out = Vec::new();
    for line in text.lines() {
        let line = line.split(['#', ';']).next().unwrap_or("").trim();
        let pair = line.split_once("==").or_else(|| line.split_once('='));
        if let Some((name, version)) = pair
            && !name.trim().is_empty()
        {
            out.push(library(name, version));
        }
    }
    if out.is_empty() {
        return Err(bad(
            "no versions found: expected Cargo.lock, pip freeze, or lines of NAME=VERSION"
                .to_owned(),
        ));
    }
    Ok(out)
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
}

fn is_relevant(name: &str) -> bool {
    RELEVANT.iter().any(|word| {
        name.split(['-', '_'])
            .any(|part| part == *word || part.starts_with(word) && word.len() > 3)
    })
}

/// Names and versions of the packages in a Cargo.lock.
fn locked(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split("[[package]]").skip(1).filter_map(|package| {
        let value = |key: &str| {
            let mut lines = package.lines();
            lines.find_map(|line| {
                line.strip_prefix(key)?
                    .trim()
                    .strip_prefix('=')?
                    .trim()
                    .strip_prefix('"')?
                    .strip_suffix('"')
            })
        };
        value("name").zip(value("version"))
    })
}

/// The version a path tells: of a Homebrew cellar, a wheel or a folder `name-1.2.3`.
pub(crate) fn version_in_path(path: &str) -> Option<&str> {
    let parts: Vec<&str> = path.split('/').collect();
    let cellar = parts.iter().position(|part| *part == "Cellar");
    if let Some(version) = cellar.and_then(|at| parts.get(at + 2)) {
        return Some(version);
    }
    parts.iter().rev().find_map(|part| {
        let part = part.strip_suffix(".dist-info").unwrap_or(part);
        let part = part.strip_suffix(".dylib").unwrap_or(part);
        let bytes = part.as_bytes();
        let at = (1..bytes.len()).find(|&at| {
            matches!(bytes.get(at - 1), Some(b'-' | b'_' | b'.'))
                && bytes.get(at).is_some_and(u8::is_ascii_digit)
        })?;
        let version = part.get(at..)?;
        let version = version.split(['-', '+']).next()?;
        let plausible = version.contains('.')
            && version
                .split('.')
                .all(|piece| !piece.is_empty() && piece.bytes().all(|b| b.is_ascii_alphanumeric()));
        plausible.then_some(version)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_files_give_what_has_to_do_with_gpus() {
        let lock = "[[package]]\nname = \"candle-metal-kernels\"\nversion = \"0.9.1\"\n\n[[package]]\nname = \"serde\"\nversion = \"1.0.0\"\n\n[[package]]\nname = \"metal\"\nversion = \"0.32.0\"\n";
        let found = read_libraries("Cargo.lock", lock.as_bytes()).expect("a lock file");
        let names: Vec<(&str, &str)> = found
            .iter()
            .map(|l| (l.name.as_str(), l.version.as_str()))
            .collect();
        assert_eq!(
            names,
            [("candle-metal-kernels", "0.9.1"), ("metal", "0.32.0")]
        );
        let list = br#"[{"name": "mlx", "version": "0.29.1"}]"#;
        assert_eq!(read_libraries("pip.json", list).expect("a list").len(), 1);
        assert!(read_libraries("notes.txt", b"hello\n").is_err());
    }

    #[test]
    fn paths_tell_versions_only_where_they_hold_one() {
        for (path, expected) in [
            (
                "/opt/homebrew/Cellar/llama.cpp/6100/lib/libllama.dylib",
                Some("6100"),
            ),
            (
                "/x/site-packages/mlx_metal-0.29.1.dist-info/libmlx.dylib",
                Some("0.29.1"),
            ),
            ("/x/libtorch-2.3.0/lib/libtorch.dylib", Some("2.3.0")),
            ("/x/lib/libonnxruntime.1.17.1.dylib", Some("1.17.1")),
            ("/x/site-packages/mlx/lib/libmlx.dylib", None),
            ("/Users/me/m1-max/build/app", None),
        ] {
            assert_eq!(version_in_path(path), expected, "{path}");
        }
    }
}
