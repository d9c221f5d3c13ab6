//! Runs the files under `tests/filetests`.
//!
//! A file is a module in the text form. Its first line says what is done with it, in a comment:
//! `; test roundtrip`, `; test verify`, `; test uniformity`, `; test loops`, `; test spaces`. After the module, lines
//! starting with `;>` hold what must come out. `BLESS=1 cargo test -p assay-ssa --test filetests` writes them anew.

use assay_ssa::analysis::{Cfg, Dominators, Loops, PostDominators, Trips, UniformityInfo, spaces};
use assay_ssa::{FunctionId, Module, Uniformity, parse, print, verify};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn run(kind: &str, source: &str) -> String {
    let mut module = match parse(source) {
        Ok(module) => module,
        Err(error) => return format!("error at {error}\n"),
    };
    if kind == "verify" {
        return match verify(&module) {
            Ok(()) => "verified\n".to_owned(),
            Err(errors) => errors.iter().map(|error| format!("{error}\n")).collect(),
        };
    }
    if let Err(errors) = verify(&module) {
        return errors.iter().map(|error| format!("{error}\n")).collect();
    }
    match kind {
        "roundtrip" => print(&module),
        "uniformity" => each_function(&module, uniformity),
        "loops" => each_function(&module, loops),
        "spaces" => {
            let report = spaces::infer(&mut module);
            if let Err(errors) = verify(&module) {
                return errors.iter().map(|error| format!("{error}\n")).collect();
            }
            format!(
                "resolved {} generic {}\n{}",
                report.resolved,
                report.generic,
                print(&module)
            )
        }
        other => format!("unknown kind of test: {other}\n"),
    }
}

fn each_function(module: &Module, show: impl Fn(&Module, FunctionId, &mut String)) -> String {
    let mut out = String::new();
    for id in module.functions.ids() {
        show(module, id, &mut out);
    }
    out
}

/// The function's text with the uniformity of each result and block beside it.
fn uniformity(module: &Module, id: FunctionId, out: &mut String) {
    let function = &module.functions[id];
    let is_kernel = module.kernels.iter().any(|kernel| kernel.function == id);
    let params = if is_kernel {
        Uniformity::Dispatch
    } else {
        Uniformity::Varying
    };
    let info = UniformityInfo::with_params(function, params);
    for (position, &block) in function.blocks().iter().enumerate() {
        let _ = write!(out, "b{position}: run by {}", info.block(block).name());
        for &param in function.params(block) {
            let _ = write!(out, ", parameter {}", info.value(param).name());
        }
        out.push('\n');
        for &inst in function.insts(block) {
            let text = assay_ssa::print_inst(module, function, inst);
            let level = function.result(inst).map(|value| info.value(value).name());
            let _ = writeln!(out, "    {:<12}{text}", level.unwrap_or(""));
        }
    }
}

fn loops(module: &Module, id: FunctionId, out: &mut String) {
    let function = &module.functions[id];
    let cfg = Cfg::new(function);
    let dominators = Dominators::new(&cfg, function);
    let postdominators = PostDominators::new(&cfg, function);
    let loops = Loops::new(&cfg, &dominators, function);
    let name = |block| {
        let position = function.blocks().iter().position(|&other| other == block);
        position.map_or_else(|| "?".to_owned(), |position| format!("b{position}"))
    };
    for &block in function.blocks() {
        let _ = writeln!(
            out,
            "{} idom {} ipdom {} depth {}",
            name(block),
            dominators.immediate(block).map_or("-".to_owned(), name),
            postdominators
                .immediate(block)
                .map_or("end".to_owned(), name),
            loops.depth(block)
        );
    }
    for (loop_id, the_loop) in loops.iter() {
        let trips = Trips::new(function, &loops, &dominators, loop_id);
        let blocks: Vec<String> = the_loop.blocks.iter().map(|&block| name(block)).collect();
        let _ = writeln!(
            out,
            "loop at {} depth {} blocks {} hint {:?} preheader {} inductions {} exact {:?} at most {:?}",
            name(the_loop.header),
            the_loop.depth,
            blocks.join(" "),
            function.block(the_loop.header).loop_hint,
            the_loop.preheader.map_or("-".to_owned(), name),
            trips.inductions.len(),
            trips.exact,
            trips.at_most
        );
    }
    if loops.is_irreducible() {
        out.push_str("irreducible\n");
    }
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

#[test]
fn files_give_what_they_say() {
    let bless = std::env::var_os("BLESS").is_some();
    let mut failures = Vec::new();
    let files = files();
    assert!(files.len() > 5, "file tests are missing");
    for path in files {
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let kind = text
            .lines()
            .next()
            .and_then(|line| line.strip_prefix("; test "))
            .unwrap_or("?");
        let is_expectation = |line: &&str| line.starts_with(";>");
        let source: String = text
            .lines()
            .filter(|line| !is_expectation(line))
            .map(|line| format!("{line}\n"))
            .collect();
        let expected: String = text
            .lines()
            .filter(is_expectation)
            .map(|line| format!("{}\n", line.strip_prefix(";> ").unwrap_or("").trim_end()))
            .collect();
        let actual: String = run(kind.trim(), &source)
            .lines()
            .map(|line| format!("{}\n", line.trim_end()))
            .collect();
        if actual == expected {
            continue;
        }
        if bless {
            let expectation: String = actual
                .lines()
                .map(|line| format!(";> {line}").trim_end().to_owned() + "\n")
                .collect();
            let blessed = format!(
                "{}\n{expectation}",
                source.trim_end_matches('\n').to_owned() + "\n"
            );
            std::fs::write(&path, blessed).expect("a writable file");
        } else {
            failures.push(format!(
                "{}:\n--- expected\n{expected}--- found\n{actual}",
                path.display()
            ));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
