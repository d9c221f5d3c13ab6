//! Sources to machine code, by the same road as every command.

use crate::case::{Case, Pass, Source};
use crate::digest::sha256;
use crate::{Error, Result};
use assay_agx::Program;
use assay_msl::Compiler;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The folder of checkouts and the compiler that reads them.
#[derive(Debug)]
pub struct Sources {
    folder: PathBuf,
    session: Option<Value>,
    compiler: Compiler,
    cache: PathBuf,
}

impl Sources {
    /// Opens a folder of checkouts named `repository@commit`. `cache` is a folder for
    /// compiled sources.
    pub fn open(folder: &Path, cache: &Path) -> Result<Sources> {
        let path = folder.join("MetalBench@72c6aec/session.json");
        let session = match std::fs::read_to_string(&path) {
            // The publisher writes infinities and NaNs, which JSON does not have.
            Ok(text) => Some(serde_json::from_str(&without_infinities(&text))?),
            Err(_) => None,
        };
        std::fs::create_dir_all(cache)?;
        let chosen = std::env::var_os("ASSAY_CLANG");
        let search = std::env::var_os("PATH").unwrap_or_default();
        let compiler = assay_msl::find::find(chosen.as_deref(), &search)
            .ok_or("no clang 17 or newer passes the probe: `make setup`")?;
        Ok(Sources {
            folder: folder.to_owned(),
            session,
            compiler,
            cache: cache.to_owned(),
        })
    }

    /// The text a case was measured with.
    fn text(&self, source: &Source) -> Result<(PathBuf, String)> {
        match source {
            Source::File { path, replace } => {
                let path = self.folder.join(path);
                let text = std::fs::read_to_string(&path)
                    .map_err(|error| format!("{}: {error}", path.display()))?;
                let text = match replace {
                    Some((from, to)) => text.replace(from, to),
                    None => text,
                };
                Ok((path, text))
            }
            Source::Session {
                name,
                sha256: known,
            } => {
                let session = self.session.as_ref().ok_or("no MetalBench@72c6aec here")?;
                let text = session["apple-m2"][name]["metal_source"].as_str();
                let text = text.ok_or_else(|| format!("no source of {name} in the session"))?;
                if sha256(text.as_bytes()) != *known {
                    return Err(Error::from(format!("the source of {name} is another one")));
                }
                let path = self.folder.join(format!("MetalBench@72c6aec/{name}.metal"));
                Ok((path, text.to_owned()))
            }
        }
    }

    /// Compiles the source of a case; what an earlier run compiled is found in the cache.
    pub fn bitcode(&self, case: &Case) -> Result<Vec<u8>> {
        let (path, text) = self.text(&case.source)?;
        self.compile(&path, &text)
    }

    fn compile(&self, path: &Path, text: &str) -> Result<Vec<u8>> {
        let mut options = assay_msl::Options::new(self.cache.join("headers"));
        options.debug_lines = true;
        // In Metal an assertion does nothing, and its condition is not even looked at.
        options.defines = vec!["assert(condition)=".to_owned()];
        if let Some(folder) = path.parent() {
            options.include_folders = vec![folder.to_owned()];
        }
        let source = assay_msl::Source {
            path,
            text: text.as_bytes(),
        };
        let compiled = assay_msl::compile(source, &self.compiler, &options)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(compiled.code)
    }
}

/// The code of one pass.
pub fn program(bitcode: &[u8], pass: &Pass) -> Result<Program> {
    let modules = assay_air::llvm::read(bitcode)?;
    let named = |module: &&assay_air::llvm::Module<'_>| {
        assay_air::kernel_names(module).contains(&pass.function)
    };
    let module = modules
        .iter()
        .find(named)
        .ok_or_else(|| format!("there is no kernel {}", pass.function))?;
    let options = assay_air::Options {
        kernel: Some(pass.function.clone()),
        ..Default::default()
    };
    let mut lowered = assay_air::lower(module, &options)?;
    assay_opt::pipeline::optimize(&mut lowered)?;
    let options = assay_codegen::Options {
        threadgroup: Some(pass.threadgroup),
        ..Default::default()
    };
    Ok(assay_codegen::generate(&lowered, &pass.function, &options)?)
}

/// JSON with the words `Infinity` and `NaN` replaced by `null` outside of strings.
fn without_infinities(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut inside = false;
    while let Some(first) = rest.chars().next() {
        if inside && first == '\\' {
            let end = 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
            out.push_str(&rest[..end]);
            rest = &rest[end..];
            continue;
        }
        inside ^= first == '"';
        let word = ["-Infinity", "Infinity", "NaN"]
            .into_iter()
            .find(|word| !inside && rest.starts_with(word));
        if let Some(word) = word {
            out.push_str("null");
            rest = &rest[word.len()..];
        } else {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn infinities_outside_of_strings_become_null() {
        let text = r#"{"a": -Infinity, "NaN \" Infinity": NaN}"#;
        let expected = r#"{"a": null, "NaN \" Infinity": null}"#;
        assert_eq!(without_infinities(text), expected);
    }
}
