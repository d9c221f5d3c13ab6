//! Against the world, when it is at hand: a metallib of Apple's compiler named by `ASSAY_METALLIB`, and
//! `llvm-dis`, named by `ASSAY_LLVM_DIS`, to count instructions independently.

use assay_air::{Options, llvm, lower};
use assay_container::mtlb::Metallib;
use std::collections::BTreeMap;

fn metallib() -> Option<Vec<u8>> {
    let Some(path) = std::env::var_os("ASSAY_METALLIB") else {
        assay_fixtures::skip(assay_fixtures::Tool::Variable("ASSAY_METALLIB"));
        return None;
    };
    Some(std::fs::read(path).expect("ASSAY_METALLIB can be read"))
}

#[test]
fn every_kernel_becomes_a_verified_program() {
    let Some(bytes) = metallib() else { return };
    let library = Metallib::parse(&bytes).expect("a metallib");
    for function in library.functions() {
        let Some(bitcode) = function.bitcode else {
            continue;
        };
        for module in llvm::read(bitcode).unwrap_or_else(|e| panic!("{}: {e}", function.name)) {
            let program = lower(&module, &Options::default());
            let program = program.unwrap_or_else(|error| panic!("{}: {error}", function.name));
            if let Err(errors) = assay_ssa::verify(&program) {
                panic!("{}: {}", function.name, errors[0]);
            }
        }
    }
}

/// Every 97th kernel: as many of each instruction in each function as `llvm-dis` prints.
#[test]
fn instructions_are_those_llvm_dis_prints() {
    let Some(bytes) = metallib() else { return };
    let Some(disassembler) = std::env::var_os("ASSAY_LLVM_DIS") else {
        assay_fixtures::skip(assay_fixtures::Tool::Variable("ASSAY_LLVM_DIS"));
        return;
    };
    let library = Metallib::parse(&bytes).expect("a metallib");
    let folder = std::env::temp_dir().join(format!("assay-llvm-dis-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the sample");
    let input = folder.join("kernel.bc");
    for function in library.functions().iter().step_by(97) {
        let Some(bitcode) = function.bitcode else {
            continue;
        };
        std::fs::write(&input, bitcode).expect("the sample can be written");
        let output = std::process::Command::new(&disassembler)
            .arg(&input)
            .args(["-o", "-"])
            .output()
            .expect("llvm-dis runs");
        let theirs = counts_in_text(&String::from_utf8_lossy(&output.stdout));
        let module = llvm::read(bitcode).expect("a module").remove(0);
        let ours: BTreeMap<String, BTreeMap<String, usize>> = module
            .bodies
            .iter()
            .map(|body| {
                let mut counts = BTreeMap::new();
                for instruction in &body.instructions {
                    *counts.entry(instruction.op.name().to_owned()).or_default() += 1;
                }
                (
                    module.functions[body.function as usize].name.to_string(),
                    counts,
                )
            })
            .collect();
        assert_eq!(ours, theirs, "{}", function.name);
    }
    std::fs::remove_dir_all(&folder).expect("the sample can be removed");
}

fn counts_in_text(text: &str) -> BTreeMap<String, BTreeMap<String, usize>> {
    let mut all = BTreeMap::new();
    let mut current: Option<(String, BTreeMap<String, usize>)> = None;
    let mut in_switch = false;
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("define ") {
            let name = rest
                .split('@')
                .nth(1)
                .unwrap_or("")
                .split('(')
                .next()
                .unwrap_or("");
            current = Some((name.trim_matches('"').to_owned(), BTreeMap::new()));
        } else if line == "}" {
            all.extend(current.take());
        } else if let (Some((_, counts)), Some(code)) = (&mut current, line.strip_prefix("  ")) {
            if in_switch {
                in_switch = code != "]";
                continue;
            }
            let code = match code.split_once(" = ") {
                Some((left, right)) if left.starts_with('%') => right,
                _ => code,
            };
            let code = ["tail ", "musttail ", "notail "]
                .iter()
                .find_map(|word| code.strip_prefix(word))
                .unwrap_or(code);
            let word = code.split(' ').next().unwrap_or("");
            in_switch = word == "switch" && !code.ends_with(']');
            *counts.entry(word.to_owned()).or_default() += 1;
        }
    }
    all
}
