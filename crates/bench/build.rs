//! Lists the files of `kernels/`, so that the program carries its registry with it.

use std::fmt::Write;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = Path::new(&std::env::var("CARGO_MANIFEST_DIR")?).join("kernels");
    let folder = folder.canonicalize()?;
    let mut files = Vec::new();
    collect(&folder, &mut files)?;
    files.sort();
    let mut code = String::from("pub(super) const FILES: &[(&str, &str)] = &[\n");
    for file in &files {
        let name = file.strip_prefix(&folder)?.components();
        let name: Vec<_> = name
            .map(|part| part.as_os_str().to_string_lossy())
            .collect();
        writeln!(
            code,
            "    ({:?}, include_str!({:?})),",
            name.join("/"),
            file
        )?;
    }
    code.push_str("];\n");
    std::fs::write(
        Path::new(&std::env::var("OUT_DIR")?).join("kernels.rs"),
        code,
    )?;
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    println!("cargo::rerun-if-changed={}", folder.display());
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let hidden = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with('.'));
        let readme = path.extension().is_some_and(|extension| extension == "md");
        match path.is_dir() {
            _ if hidden || readme => {}
            true => collect(&path, files)?,
            false => files.push(path),
        }
    }
    Ok(())
}
