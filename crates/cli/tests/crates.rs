//! What is promised of the crates: a crate uses only crates above it in ARCHITECTURE.md's code map, and its README is its
//! own documentation (`BLESS=1` writes it).

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The crates in the order of the code map: lines that start with a name in bold code.
fn code_map() -> Vec<String> {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let (_, map) = text.split_once("## Code map").expect("a code map");
    let (map, _) = map.split_once("\n## ").expect("a next section");
    let names = map.lines().filter_map(|line| {
        let (name, _) = line.strip_prefix("**`")?.split_once("`**")?;
        Some(name.to_owned())
    });
    names.collect()
}

/// The crates of ours that a crate is built with, those of its tests left out.
fn dependencies(name: &str) -> Vec<String> {
    let path = root().join("crates").join(name).join("Cargo.toml");
    let text = std::fs::read_to_string(&path).expect("a manifest");
    let mut counts = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.starts_with('[') {
            counts = line.ends_with("dependencies]") && !line.contains("dev-");
            continue;
        }
        if let Some(rest) = line.strip_prefix("assay-").filter(|_| counts) {
            let end = rest.find(['.', ' ', '=']).unwrap_or(rest.len());
            found.push(rest[..end].to_owned());
        }
    }
    found
}

#[test]
fn every_crate_is_in_the_code_map_and_uses_only_crates_above_it() {
    let order = code_map();
    let place = |name: &str| order.iter().position(|known| known == name);
    let folders = std::fs::read_dir(root().join("crates")).expect("crates");
    let mut wrong = Vec::new();
    for folder in folders.filter_map(Result::ok) {
        if !folder.path().join("Cargo.toml").is_file() {
            continue;
        }
        let name = folder.file_name().to_string_lossy().into_owned();
        let Some(own) = place(&name) else {
            wrong.push(format!("{name} is not in the code map"));
            continue;
        };
        for used in dependencies(&name) {
            if place(&used).is_none_or(|used| used >= own) {
                wrong.push(format!("{name} uses {used}, which is not above it"));
            }
        }
    }
    wrong.sort();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for name in &order {
        let there = root().join("crates").join(name).is_dir();
        assert!(there, "{name} is in the code map and not under crates/");
    }
}

/// Rust files below a folder.
fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder)
        .expect("a folder")
        .filter_map(Result::ok)
    {
        let path = entry.path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            found.push(path);
        }
    }
}

/// A packed crate is built without its neighbours.
#[test]
fn crates_embed_only_files_of_their_own() {
    let mut wrong = Vec::new();
    for name in code_map() {
        let source = Path::new("crates").join(&name).join("src");
        let mut files = Vec::new();
        rust_files(&root().join(&source), &mut files);
        files.retain(|path| path.file_name().is_some_and(|file| file != "tests.rs"));
        for path in files {
            let text = std::fs::read_to_string(&path).expect("a source");
            let inside = path
                .strip_prefix(root().join("crates").join(&name))
                .expect("below the crate");
            let depth = inside.components().count() - 1;
            for embedded in text
                .replace("include_bytes!", "include_str!")
                .split("include_str!(\"")
                .skip(1)
            {
                let up = embedded.split('/').take_while(|part| *part == "..").count();
                if up > depth {
                    let line = embedded.lines().next().unwrap_or_default();
                    wrong.push(format!("{name}: {} embeds {line}", inside.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The documentation of a crate as a page outside rustdoc: links to items become code, hidden lines of examples go, and
/// examples are marked as Rust.
fn readme(name: &str, description: &str, source: &str) -> String {
    let mut page = format!(
        "# {name}\n\n{description}.\n\nPart of Assay, a toolkit for people who write Metal compute kernels; the program is `assay-metal`.\n\n"
    );
    let mut in_code = false;
    for line in source.lines().map_while(|line| line.strip_prefix("//!")) {
        let line = line.strip_prefix(' ').unwrap_or(line);
        if let Some(language) = line.strip_prefix("```") {
            let plain = !in_code && matches!(language, "" | "no_run");
            page += if plain { "```rust" } else { line };
            in_code = !in_code;
        } else if in_code && (line == "#" || line.starts_with("# ")) {
            continue;
        } else if in_code {
            page += line;
        } else if let Some(title) = line.strip_prefix("# ") {
            page += &format!("## {title}");
        } else {
            page += &without_item_links(line);
        }
        page.push('\n');
    }
    page
}

/// `` [`Item`] `` and `` [`Item`](path) `` as `` `Item` ``.
fn without_item_links(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, link)) = rest.split_once("[`") {
        text += before;
        let Some((item, after)) = link.split_once("`]") else {
            text += "[`";
            rest = link;
            continue;
        };
        let item = item.strip_prefix("mod@").unwrap_or(item);
        text += &format!("`{item}`");
        let target = after
            .strip_prefix('(')
            .and_then(|path| path.split_once(')'));
        rest = target.map_or(after, |(_, after)| after);
    }
    text + rest
}

#[test]
fn a_crates_readme_is_its_documentation() {
    let mut stale = Vec::new();
    for name in code_map() {
        let folder = root().join("crates").join(&name);
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        let field = |key: &str| {
            let line = manifest.lines().find(|line| line.starts_with(key));
            let value = line.and_then(|line| line.split('"').nth(1));
            value.unwrap_or_default().to_owned()
        };
        let source = std::fs::read_to_string(folder.join("src/lib.rs")).expect("a library");
        // A crate whose documentation is its README has nothing to generate.
        if source.contains("include_str!(\"../README.md\")") {
            continue;
        }
        let page = readme(&field("name = "), &field("description = "), &source);
        let path = folder.join("README.md");
        if std::fs::read_to_string(&path).unwrap_or_default() == page {
            continue;
        }
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, page).expect("a README");
        } else {
            stale.push(name);
        }
    }
    assert!(
        stale.is_empty(),
        "BLESS=1 writes the READMEs of {}",
        stale.join(", ")
    );
}
