//! Reads every kernel of the files given, verifies, optimises, verifies again and structures
//! it, and prints a table.
//!
//! ```text
//! cargo run --release -p assay-opt --example corpus -- mlx.metallib
//! ```

#![allow(clippy::print_stdout, reason = "a program")]

use assay_air::{Options, llvm, lower};
use assay_container::{Contents, open};
use assay_opt::structurize::structurize;
use assay_ssa::{InstData, Module};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::time::Instant;

#[derive(Default)]
struct Tally {
    kernels: usize,
    read: usize,
    lowered: usize,
    verified: usize,
    optimised: usize,
    structured: usize,
    arrays: usize,
    instructions: usize,
    before: usize,
    matrix_operations: usize,
    unknown: BTreeMap<String, usize>,
    failures: Vec<String>,
}

impl Tally {
    fn join(mut self, other: Tally) -> Tally {
        self.kernels += other.kernels;
        self.read += other.read;
        self.lowered += other.lowered;
        self.verified += other.verified;
        self.optimised += other.optimised;
        self.structured += other.structured;
        self.before += other.before;
        self.arrays += other.arrays;
        self.instructions += other.instructions;
        self.matrix_operations += other.matrix_operations;
        for (name, count) in other.unknown {
            *self.unknown.entry(name).or_default() += count;
        }
        self.failures.extend(other.failures);
        self
    }

    fn of(name: &str, bitcode: &[u8]) -> Tally {
        let mut tally = Tally {
            kernels: 1,
            ..Tally::default()
        };
        let modules = match llvm::read(bitcode) {
            Ok(modules) => modules,
            Err(error) => {
                tally.failures.push(format!("{name}: {error}"));
                return tally;
            }
        };
        tally.read = 1;
        for module in &modules {
            match lower(module, &Options::default()) {
                Ok(program) => {
                    tally.lowered = 1;
                    if let Err(reason) = tally.run(program) {
                        tally.failures.push(format!("{name}: {reason}"));
                    }
                }
                Err(error) => tally.failures.push(format!("{name}: {error}")),
            }
        }
        tally
    }

    fn run(&mut self, mut program: Module) -> Result<(), String> {
        checked(&program)?;
        self.verified = 1;
        self.before += instructions(&program);
        assay_opt::pipeline::optimize(&mut program).map_err(|error| error.to_string())?;
        checked(&program).map_err(|error| format!("after optimising: {error}"))?;
        self.optimised = 1;
        self.look(&program);
        for kernel in &program.kernels {
            let function = program
                .functions
                .get(kernel.function)
                .ok_or("no function")?;
            structurize(function).map_err(|error| error.to_string())?;
        }
        self.structured = 1;
        Ok(())
    }

    fn look(&mut self, program: &Module) {
        let mut has_array = false;
        for kernel in &program.kernels {
            let Some(function) = program.functions.get(kernel.function) else {
                continue;
            };
            for &block in function.blocks() {
                for &inst in function.insts(block) {
                    self.instructions += 1;
                    match function.inst(inst) {
                        InstData::Alloca { .. } => has_array = true,
                        InstData::Call {
                            callee: assay_ssa::Callee::Builtin(call),
                            ..
                        } if call.info().family == assay_ssa::builtin::Family::Matrix => {
                            self.matrix_operations += 1;
                        }
                        _ => {}
                    }
                }
            }
        }
        self.arrays += usize::from(has_array);
        for (_, name) in program.symbols.iter() {
            *self.unknown.entry(name.clone()).or_default() += 1;
        }
    }
}

fn checked(program: &Module) -> Result<(), String> {
    assay_ssa::verify(program).map_err(|errors| {
        let first = errors.first().map(ToString::to_string);
        first.unwrap_or_default()
    })
}

fn instructions(program: &Module) -> usize {
    let count = |function: &assay_ssa::Function| -> usize {
        function
            .blocks()
            .iter()
            .map(|&block| function.insts(block).len())
            .sum()
    };
    program
        .functions
        .iter()
        .map(|(_, function)| count(function))
        .sum()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut failed = false;
    for path in std::env::args_os().skip(1) {
        let file = std::fs::File::open(&path)?;
        // SAFETY: the file is only read, and not changed by this program.
        let bytes = unsafe { memmap2::Mmap::map(&file)? };
        let start = Instant::now();
        let contents = open(&bytes)?;
        let mut kernels: Vec<(&str, &[u8])> = Vec::new();
        for library in contents.metallibs() {
            for function in library.functions() {
                if let Some(bitcode) = function.bitcode {
                    kernels.push((&function.name, bitcode));
                }
            }
        }
        if let Contents::Bitcode(_) = contents {
            kernels.push(("module", &bytes));
        }
        let tally = kernels
            .par_iter()
            .map(|(name, bitcode)| Tally::of(name, bitcode))
            .reduce(Tally::default, Tally::join);
        let elapsed = start.elapsed();
        println!("{}", path.display());
        println!("  kernels                     {:>10}", tally.kernels);
        println!("  read                        {:>10}", tally.read);
        println!("  lowered                     {:>10}", tally.lowered);
        println!("  verified                    {:>10}", tally.verified);
        println!("  optimised and verified      {:>10}", tally.optimised);
        println!("  structured                  {:>10}", tally.structured);
        println!("  arrays left in memory       {:>10}", tally.arrays);
        println!("  instructions before         {:>10}", tally.before);
        println!("  instructions after          {:>10}", tally.instructions);
        println!(
            "  matrix operations           {:>10}",
            tally.matrix_operations
        );
        println!(
            "  time                        {:>9.2}s",
            elapsed.as_secs_f64()
        );
        println!("  peak memory                 {:>9}M", peak_memory() >> 20);
        println!("  unknown builtins            {:>10}", tally.unknown.len());
        for (name, count) in &tally.unknown {
            println!("    {count:>6} {name}");
        }
        let mut reasons = BTreeMap::<String, (usize, &str)>::new();
        for failure in &tally.failures {
            let reason = failure
                .split_once(": ")
                .map_or(failure.as_str(), |(_, reason)| reason);
            let reason: String = reason.chars().filter(|c| !c.is_ascii_digit()).collect();
            reasons.entry(reason).or_insert((0, failure)).0 += 1;
        }
        let mut reasons: Vec<_> = reasons.into_values().collect();
        reasons.sort_unstable_by(|a, b| b.cmp(a));
        for (count, example) in reasons.iter().take(20) {
            println!("  FAILED {count}: {example}");
        }
        failed |= !tally.failures.is_empty();
    }
    match failed {
        true => Err("not every kernel was read and verified".into()),
        false => Ok(()),
    }
}

/// The largest resident size of this process so far, in bytes; 0 where the system does not say.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) << 10
}
