//! Source files: which one a chip gets, as one text without includes, and its hash.
//!
//! A GPU compiles source at run time from a single text, so `#include "…"` of the registry's own headers is replaced
//! here by their text, each once. The hash is of that text: whatever a measurement, a board or a cache says about a
//! kernel, it says about a hash, and two sources are the same if and only if their hashes are.

use super::error::Error;
use super::include::hidden_include;
use std::collections::{BTreeMap, BTreeSet};

/// Headers by name, `reduce.h`.
pub type Headers = BTreeMap<String, String>;

/// Other files of a kernel's folder, by name: what its oracle may be.
pub type Extras = BTreeMap<String, String>;

/// The source files of a kernel, as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// `NAME.metal`: for every chip without its own.
    pub(super) default: Option<(String, String)>,
    /// `NAME.CHIP.metal`: path and text by chip (`m2-max`) or generation (`m2`).
    pub(super) variants: BTreeMap<String, (String, String)>,
}

/// A source text ready to compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The file it comes from, in the registry.
    pub path: String,
    /// The text with the registry's headers in place.
    pub text: String,
    /// Of the text, 128 bits in hexadecimal.
    pub hash: String,
}

impl Sources {
    /// The source a chip gets: its own, its generation's, or the default.
    pub fn resolve(
        &self,
        name: &str,
        chip: Option<&str>,
        headers: &Headers,
    ) -> Result<Resolved, Error> {
        let own = chip.and_then(|chip| {
            let generation = chip.split('-').next().unwrap_or(chip);
            self.variants
                .get(chip)
                .or_else(|| self.variants.get(generation))
        });
        let (path, text) = own
            .or(self.default.as_ref())
            .ok_or_else(|| Error::Incomplete {
                name: name.to_owned(),
                missing: format!("{name}.metal"),
            })?;
        let text = flatten(path, text, headers)?;
        Ok(Resolved {
            path: path.clone(),
            hash: hash(&text),
            text,
        })
    }

    /// The chips and generations with their own source.
    pub fn chips(&self) -> impl Iterator<Item = &str> {
        self.variants.keys().map(String::as_str)
    }
}

/// Replaces includes of the registry's headers by their text, each once.
pub fn flatten(path: &str, text: &str, headers: &Headers) -> Result<String, Error> {
    let mut out = String::new();
    append(path, text, headers, &mut BTreeSet::new(), 0, &mut out)?;
    match hidden_include(&out, |_| true) {
        None => Ok(out),
        Some((_, include)) => Err(Error::Hidden {
            path: path.to_owned(),
            include,
        }),
    }
}

fn append(
    path: &str,
    text: &str,
    headers: &Headers,
    seen: &mut BTreeSet<String>,
    depth: usize,
    out: &mut String,
) -> Result<(), Error> {
    for (number, line) in text.lines().enumerate() {
        let Some(include) = quoted_include(line) else {
            if line.trim() != "#pragma once" {
                out.push_str(line);
                out.push('\n');
            }
            continue;
        };
        let wrong = |why| Error::Include {
            path: path.to_owned(),
            line: number + 1,
            include: include.to_owned(),
            why,
        };
        let header = headers
            .get(include)
            .ok_or_else(|| wrong("is not among the headers"))?;
        if depth > 16 {
            return Err(wrong("is nested too deeply"));
        }
        if seen.insert(include.to_owned()) {
            append(include, header, headers, seen, depth + 1, out)?;
        }
    }
    Ok(())
}

fn quoted_include(line: &str) -> Option<&str> {
    let rest = line
        .trim()
        .strip_prefix('#')?
        .trim_start()
        .strip_prefix("include")?;
    rest.trim().strip_prefix('"')?.strip_suffix('"')
}

/// A 128-bit hash (FNV-1a) in hexadecimal.
///
/// It names sources and is no defence: whoever wants two texts with one hash can make them.
pub fn hash(text: &str) -> String {
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let hash = text.bytes().fold(BASIS, |hash, byte| {
        (hash ^ u128::from(byte)).wrapping_mul(PRIME)
    });
    format!("{hash:032x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources() -> Sources {
        let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        Sources {
            default: Some(file("relu.metal", "default\n")),
            variants: BTreeMap::from([
                ("m2".to_owned(), file("relu.m2.metal", "m2\n")),
                ("m2-max".to_owned(), file("relu.m2-max.metal", "max\n")),
            ]),
        }
    }

    #[test]
    fn a_chip_gets_its_own_source_then_its_generations_then_the_default() {
        let text = |chip| {
            sources()
                .resolve("relu", chip, &Headers::new())
                .unwrap()
                .text
        };
        assert_eq!(text(Some("m2-max")), "max\n");
        assert_eq!(text(Some("m2-pro")), "m2\n");
        assert_eq!(text(Some("m3")), "default\n");
        assert_eq!(text(None), "default\n");
    }

    #[test]
    fn headers_are_put_in_once() {
        let headers = Headers::from([
            (
                "a.h".to_owned(),
                "#pragma once\n#include \"b.h\"\nA\n".to_owned(),
            ),
            (
                "b.h".to_owned(),
                "#pragma once\n# include \"a.h\"\nB\n".to_owned(),
            ),
        ]);
        let text = "#include <metal_stdlib>\n#include \"b.h\"\n#include \"a.h\"\nC\n";
        assert_eq!(
            flatten("x", text, &headers).unwrap(),
            "#include <metal_stdlib>\nA\nB\nC\n"
        );
        let error = flatten("x.metal", "\n#include \"c.h\"", &headers).unwrap_err();
        assert_eq!(
            error.to_string(),
            "x.metal:2: \"c.h\" is not among the headers"
        );
    }

    #[test]
    fn the_hash_is_fnv() {
        assert_eq!(hash(""), "6c62272e07bb014262b821756295c58d");
        assert_eq!(hash("a"), "d228cb696f1a8caf78912b704e4a8964");
    }
}
