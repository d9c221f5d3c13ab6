//! Kernels with their expectations inside, compiled by every clang on the path.
//!
//! A file under `tests/kernels` starts with comments:
//!
//! ```text
//! // options: -fno-fast-math --lines
//! // kernels: a, b            names the host sees, in order
//! // in NAME                  the checks that follow are about this function
//! // has TEXT                 some line of it contains TEXT; * stands for anything
//! // hasnt TEXT
//! // count N TEXT             exactly N lines contain TEXT
//! ```
//!
//! `in module` looks at everything.

mod common;

use assay_msl::{Emit, Options, Source, compile};
use common::{compilers, shared_cache};
use std::path::Path;

struct Check {
    line: usize,
    scope: String,
    rule: Rule,
}

enum Rule {
    Has(String),
    Hasnt(String),
    Count(usize, String),
}

struct Test {
    options: Vec<String>,
    kernels: Option<Vec<String>>,
    checks: Vec<Check>,
}

fn parse(text: &str) -> Test {
    let mut test = Test {
        options: Vec::new(),
        kernels: None,
        checks: Vec::new(),
    };
    let mut scope = "module".to_owned();
    for (number, line) in text.lines().enumerate() {
        let Some(line_text) = line.strip_prefix("// ") else {
            continue;
        };
        let (word, rest) = line_text.split_once(' ').unwrap_or((line_text, ""));
        let mut push = |rule| {
            test.checks.push(Check {
                line: number + 1,
                scope: scope.clone(),
                rule,
            })
        };
        match word {
            "options:" => test.options = rest.split_whitespace().map(str::to_owned).collect(),
            "kernels:" => test.kernels = Some(rest.split(", ").map(str::to_owned).collect()),
            "in" => scope = rest.to_owned(),
            "has" => push(Rule::Has(rest.to_owned())),
            "hasnt" => push(Rule::Hasnt(rest.to_owned())),
            "count" => {
                let (count, pattern) = rest.split_once(' ').expect("count N TEXT");
                push(Rule::Count(
                    count.parse().expect("a number"),
                    pattern.to_owned(),
                ));
            }
            _ => {}
        }
    }
    test
}

/// Whether `line` contains the parts of `pattern` between its `*`, in order.
fn matches(line: &str, pattern: &str) -> bool {
    let mut rest = line;
    pattern.split('*').all(|part| match rest.find(part) {
        Some(at) => {
            rest = &rest[at + part.len()..];
            true
        }
        None => false,
    })
}

/// The text of the function whose symbol contains `name`, or of the whole module.
fn scope<'m>(module: &'m str, name: &str) -> &'m str {
    if name == "module" {
        return module;
    }
    let mangled = format!("{}{name}", name.len());
    let start = module
        .match_indices("\ndefine ")
        .map(|(at, _)| at + 1)
        .find(|at| {
            let head = module[*at..].lines().next().unwrap_or("");
            head.contains(&mangled) || head.contains(&format!("@{name}("))
        })
        .unwrap_or_else(|| panic!("no function {name} in\n{module}"));
    let end = module[start..]
        .find("\n}")
        .map_or(module.len(), |at| start + at);
    &module[start..end]
}

fn check(path: &Path, module: &str, test: &Test) -> Vec<String> {
    let mut failures = Vec::new();
    for check in &test.checks {
        let text = scope(module, &check.scope);
        let count = |pattern: &str| text.lines().filter(|line| matches(line, pattern)).count();
        let (good, found) = match &check.rule {
            Rule::Has(pattern) => (count(pattern) > 0, count(pattern)),
            Rule::Hasnt(pattern) => (count(pattern) == 0, count(pattern)),
            Rule::Count(expected, pattern) => (count(pattern) == *expected, count(pattern)),
        };
        if !good {
            failures.push(format!(
                "{}:{}: found {found}\n{text}",
                path.display(),
                check.line
            ));
        }
    }
    failures
}

#[test]
fn every_kernel_compiles_to_what_it_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels");
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .expect("the folder of kernels")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "metal")
        })
        .collect();
    files.sort();
    assert!(files.len() >= 20, "{} kernels", files.len());
    for compiler in compilers() {
        let mut failures = Vec::new();
        for path in &files {
            let text = std::fs::read_to_string(path).expect("a kernel");
            let test = parse(&text);
            let options = Options {
                fast_math: !test.options.iter().any(|option| option == "-fno-fast-math"),
                debug_lines: test.options.iter().any(|option| option == "--lines"),
                emit: Emit::Text,
                include_folders: vec![folder.join("include")],
                ..Options::new(shared_cache())
            };
            let source = Source {
                path,
                text: text.as_bytes(),
            };
            match compile(source, &compiler, &options) {
                Err(error) => failures.push(format!("{}: {error}", path.display())),
                Ok(compiled) => {
                    let module = String::from_utf8(compiled.code).expect("text");
                    failures.extend(check(path, &module, &test));
                    let names: Vec<_> = compiled.kernels.iter().map(|k| k.name.clone()).collect();
                    if test
                        .kernels
                        .as_ref()
                        .is_some_and(|expected| *expected != names)
                    {
                        failures.push(format!("{}: kernels {names:?}", path.display()));
                    }
                }
            }
        }
        assert!(
            failures.is_empty(),
            "{}\n{}",
            compiler.command_line(),
            failures.join("\n")
        );
    }
}
