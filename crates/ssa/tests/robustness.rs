//! No text makes the reader, the verifier, the printer or an analysis panic.

use assay_ssa::analysis::{UniformityInfo, spaces};
use assay_ssa::{parse, print, verify};

/// Everything that is done with a module, on a text that may be anything.
fn exercise(text: &str) {
    let Ok(mut module) = parse(text) else { return };
    let first = print(&module);
    if verify(&module).is_err() {
        return;
    }
    // What verifies can be written and read again.
    let again = parse(&first).expect("the printer's own text");
    assert_eq!(print(&again), first);
    for (_, function) in module.functions.iter() {
        let _ = UniformityInfo::of_kernel(function);
    }
    spaces::infer(&mut module);
    assert!(verify(&module).is_ok(), "inference broke\n{first}");
}

fn sources() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/filetests");
    let entries = std::fs::read_dir(folder).expect("the folder of file tests");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut texts: Vec<String> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "ssa"))
        .map(|path| std::fs::read_to_string(path).expect("a readable file"))
        .map(|text| {
            text.lines()
                .filter(|line| !line.starts_with(';'))
                .map(|line| format!("{line}\n"))
                .collect()
        })
        .collect();
    texts.sort();
    texts
}

#[test]
fn texts_cut_anywhere() {
    for text in sources() {
        for (end, _) in text.char_indices() {
            exercise(&text[..end]);
        }
    }
}

#[test]
fn texts_with_one_word_changed() {
    let replacements = [
        "0",
        "1",
        "-1",
        "4294967295",
        "99999999999999999999",
        "v0",
        "v1",
        "v99",
        "b0",
        "b1",
        "i1",
        "i32",
        "f32",
        "v4f32",
        "ptr.device",
        "ptr.generic",
        "matrix.f16",
        "%0",
        "%7",
        "void",
        "undef",
        "zero",
        "null",
        "add",
        "load",
        "(",
        ")",
        "[",
        "]",
        ",",
        ":",
        "=",
        "{",
        "}",
        "\n",
        "!9",
        "g9",
        "c9",
        "a9",
        "f0",
        "f9",
        "\"",
    ];
    for text in sources() {
        let words: Vec<(usize, &str)> = text
            .split_inclusive(|c: char| c.is_whitespace())
            .scan(0, |at, word| {
                let start = *at;
                *at += word.len();
                Some((start, word.trim_end()))
            })
            .collect();
        for (index, (start, word)) in words.iter().enumerate() {
            for step in 0..6 {
                let replacement = replacements[(index * 7 + step * 5) % replacements.len()];
                let changed = format!(
                    "{}{replacement}{}",
                    &text[..*start],
                    &text[start + word.len()..]
                );
                exercise(&changed);
            }
        }
    }
}

#[test]
fn lines_dropped_repeated_and_exchanged() {
    for text in sources() {
        let lines: Vec<&str> = text.lines().collect();
        for index in 0..lines.len() {
            let mut dropped = lines.clone();
            dropped.remove(index);
            exercise(&dropped.join("\n"));
            let mut repeated = lines.clone();
            repeated.insert(index, lines[index]);
            exercise(&repeated.join("\n"));
            let mut exchanged = lines.clone();
            exchanged.swap(index, (index * 5 + 3) % lines.len());
            exercise(&exchanged.join("\n"));
        }
    }
}
