//! Runs the files under `tests/filetests`.
//!
//! A file is a module in the text form. Its first line names the passes to run, in order:
//! `; test inline_calls simplify_cfg`. After the module, lines starting with `;>` hold what
//! must come out; the word `structurize` prints the control tree instead of the module.
//! `BLESS=1 cargo test -p assay-opt --test filetests` writes them anew.

use assay_opt::{
    inline_calls::inline_calls, pass, structurize::structurize, unfold_recursion::unfold_recursion,
};
use assay_ssa::{Module, VerifyError, parse, print, verify};
use std::path::{Path, PathBuf};

fn complaints(errors: &[VerifyError]) -> String {
    errors.iter().map(|error| format!("{error}\n")).collect()
}

fn run(passes: &str, source: &str) -> Result<String, String> {
    let mut module = parse(source).map_err(|error| format!("error at {error}\n"))?;
    verify(&module).map_err(|errors| complaints(&errors))?;
    for name in passes.split_whitespace() {
        if name == "structurize" {
            return Ok(trees(&module));
        }
        match (name, pass::by_name(name)) {
            ("inline_calls", _) => {
                inline_calls(&mut module).map_err(|error| format!("{error}\n"))?;
            }
            ("unfold_recursion", _) => {
                unfold_recursion(&mut module);
            }
            (_, Some(pass)) => {
                pass::run(&mut module, pass);
            }
            _ => return Err(format!("no pass named {name}\n")),
        }
        verify(&module).map_err(|errors| format!("after {name}:\n{}", complaints(&errors)))?;
    }
    Ok(print(&module))
}

fn trees(module: &Module) -> String {
    let functions = module.functions.iter();
    functions
        .map(|(_, function)| match structurize(function) {
            Ok(tree) => format!("{}:\n{}", function.name, tree.to_text()),
            Err(error) => format!("{}: {error}\n", function.name),
        })
        .collect()
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder of file tests")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ssa"))
        .collect();
    files.sort();
    files
}

fn lines(text: &str, keep: impl Fn(&str) -> bool) -> String {
    text.lines()
        .filter(|line| keep(line))
        .map(|line| format!("{line}\n"))
        .collect()
}

#[test]
fn files_give_what_they_say() {
    let bless = std::env::var_os("BLESS").is_some();
    let mut failures = String::new();
    let files = files();
    assert!(files.len() > 3, "file tests are missing");
    for path in files {
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let passes = text
            .lines()
            .next()
            .and_then(|line| line.strip_prefix("; test "));
        let source = lines(&text, |line| !line.starts_with(";>"));
        let expected = lines(&text, |line| line.starts_with(";>"));
        let out = run(passes.unwrap_or("?"), &source).unwrap_or_else(|error| error);
        let actual: String = out
            .lines()
            .map(|line| format!(";> {line}").trim_end().to_owned() + "\n")
            .collect();
        if actual == expected {
            continue;
        }
        if bless {
            let blessed = format!("{}\n\n{actual}", source.trim_end());
            std::fs::write(&path, blessed).expect("a writable file");
        } else {
            failures += &format!(
                "{}:\n--- expected\n{expected}--- found\n{actual}",
                path.display()
            );
        }
    }
    assert!(failures.is_empty(), "{failures}");
}
