//! The order of crates that ARCHITECTURE.md claims: a crate uses only crates listed above it.

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
