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

/// The work of passes must grow with the program, not with its square.
#[cfg(debug_assertions)]
mod growth {
    use assay_opt::pass;
    use assay_ssa::id::lookups;
    use assay_ssa::{Module, parse};
    use std::fmt::Write;

    /// A kernel of `count` pieces: loads and stores of device and thread memory, a condition and a loop each.
    fn program(count: usize) -> Module {
        let mut text = "module \"m\"\nkernel \"k\" f0 {\n}\nfunction f0 \"k\" -> void {\n\
            b0(v0: ptr.device, v1: i32, v2: i1):\n\
            v3: ptr.thread = alloca i32 align 4\n"
            .to_owned();
        let (mut value, mut block) = (4, 1);
        for piece in 0..count {
            let v = |more: usize| format!("v{}", value + more);
            let b = |more: usize| format!("b{}", block + more);
            let _ = write!(
                text,
                "{}: i32 = add v1, i32 {piece}\n{}: ptr.device = ptr_add v0 + {} * 4\n\
                 {}: i32 = load {} align 4\n{}: i32 = mul {}, v1\nstore v3, {} align 4\n\
                 branch v2, {}, {}\n{}:\nstore {}, {} align 4\njump {}\n{}:\n\
                 {}: i32 = load v3 align 4\njump {}(i32 0)\n",
                v(0),
                v(1),
                v(0),
                v(2),
                v(1),
                v(3),
                v(2),
                v(3),
                b(0),
                b(1),
                b(0),
                v(1),
                v(3),
                b(1),
                b(1),
                v(4),
                b(2)
            );
            let _ = write!(
                text,
                "{}({}: i32):\n{}: i32 = add {}, i32 1\n{}: ptr.device = ptr_add v0 + {} * 4\n\
                 store {}, {} align 4\n{}: i1 = icmp ult {}, v1\nbranch {}, {}({}), {}\n{}:\n",
                b(2),
                v(5),
                v(6),
                v(5),
                v(7),
                v(5),
                v(7),
                v(4),
                v(8),
                v(6),
                v(8),
                b(2),
                v(6),
                b(3),
                b(3)
            );
            value += 9;
            block += 4;
        }
        text += "return\n}\n";
        parse(&text).unwrap_or_else(|error| panic!("{error}"))
    }

    fn work(count: usize, run: &dyn Fn(&mut Module)) -> f64 {
        let mut module = program(count);
        let before = lookups();
        run(&mut module);
        (lookups() - before) as f64
    }

    #[test]
    fn passes_do_no_more_than_n_log_n() {
        const COUNT: usize = 150;
        let mut wrong = Vec::new();
        for (name, one) in pass::PASSES {
            let run = |module: &mut Module| {
                pass::run(module, *one);
            };
            let growth = work(2 * COUNT, &run) / work(COUNT, &run).max(1.0);
            // Twice the size times the growth of the logarithm, and a little.
            if growth > 2.3 {
                wrong.push(format!(
                    "{name}: {growth:.2} times the lookups for twice the program"
                ));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
