//! Helpers to read the public corpora of instructions and programs.

#![allow(dead_code, reason = "each test file uses a part")]

use std::path::{Path, PathBuf};

/// One line of a corpus.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// Where it comes from: `file:line`.
    pub(crate) place: String,
    /// Byte offset of the instruction in its program.
    pub(crate) offset: u64,
    /// The encoding.
    pub(crate) bytes: Vec<u8>,
    /// applegpu's text, blanks squeezed; empty when the corpus has none.
    pub(crate) applegpu: String,
    /// Mesa's text.
    pub(crate) mesa: String,
}

/// The folder of AGX fixtures.
pub(crate) fn folder() -> PathBuf {
    assay_fixtures::path("agx")
}

/// The single instructions of `vectors.tsv`.
pub(crate) fn vectors() -> Vec<Case> {
    let folder = folder();
    rows(&folder.join("vectors.tsv"))
        .map(|(place, columns)| Case {
            place,
            offset: 0,
            bytes: unhex(&columns[0]),
            applegpu: squeeze(&columns[1]),
            mesa: columns[2].clone(),
        })
        .collect()
}

/// The golden encodings of `mesa-cases.txt`.
pub(crate) fn mesa_cases() -> Vec<Case> {
    let folder = folder();
    let path = folder.join("mesa-cases.txt");
    let text = std::fs::read_to_string(&path).expect("readable fixture");
    text.lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(number, line)| {
            let (hex, text) = line.split_once(' ').expect("hex and text");
            Case {
                place: format!("mesa-cases.txt:{}", number + 1),
                offset: 0,
                bytes: unhex(hex),
                applegpu: String::new(),
                mesa: squeeze(text),
            }
        })
        .collect()
}

/// The listings of whole programs, one vector per program.
pub(crate) fn listings() -> Vec<Vec<Case>> {
    let folder = folder();
    let mut files = Vec::new();
    for sub in ["mesa", "apple"] {
        for entry in std::fs::read_dir(folder.join(sub)).expect("readable folder") {
            let path = entry.expect("readable entry").path();
            if path.extension().is_some_and(|ext| ext == "tsv") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
        .iter()
        .map(|file| {
            rows(file)
                .map(|(place, columns)| Case {
                    place,
                    offset: u64::from_str_radix(&columns[0], 16).expect("hexadecimal offset"),
                    bytes: unhex(&columns[1]),
                    applegpu: squeeze(&columns[2]),
                    mesa: columns.get(3).cloned().unwrap_or_default(),
                })
                .collect()
        })
        .collect()
}

fn rows(path: &Path) -> impl Iterator<Item = (String, Vec<String>)> + use<> {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let text = std::fs::read_to_string(path).expect("readable fixture");
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines
        .into_iter()
        .enumerate()
        .filter(|(_, line)| !line.starts_with('#') && !line.is_empty())
        .map(move |(number, line)| {
            let columns = line.split('\t').map(str::to_owned).collect();
            (format!("{name}:{}", number + 1), columns)
        })
}

/// Hexadecimal digits to bytes.
pub(crate) fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2)
        .map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).expect("hexadecimal digits"))
        .collect()
}

/// Runs of blanks become one.
pub(crate) fn squeeze(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
