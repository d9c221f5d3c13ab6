//! Prints how often each instruction occurs in each function of a bitcode file, to be compared with
//! what `llvm-dis` prints for the same file.

#![allow(clippy::print_stdout, reason = "a program")]

use std::collections::BTreeMap;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args_os().skip(1) {
        let bytes = std::fs::read(&path)?;
        for module in assay_air::llvm::read(&bytes)? {
            for body in &module.bodies {
                let mut counts = BTreeMap::<&str, usize>::new();
                for instruction in &body.instructions {
                    *counts.entry(instruction.op.name()).or_default() += 1;
                }
                let name = &module.functions[body.function as usize].name;
                println!("{} {name} {counts:?}", path.display());
            }
        }
    }
    Ok(())
}
