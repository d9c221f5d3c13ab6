//! The generated code of every example kernel, and of kernels that use what is rare,
//! computes what its program computes.

#[allow(dead_code, reason = "an example uses the rest")]
mod judge;

use judge::{Verdict, load};
use std::path::{Path, PathBuf};

/// Kernels whose code cannot be generated yet, and why. A kernel that can be generated
/// must not be listed.
const NOT_YET: [(&str, &str); 1] = [(
    "greatest_of_64_bits",
    "a 64-bit atomic operation (M1 GPUs have none; M2 GPUs and the family Apple9 have minima and \
     maxima, by instructions that are not publicly known)",
)];

/// What Metal has no function for: single classes of floats (its functions test sets of them), neighbours of brain floats.
const NOT_PRINTED: [&str; 2] = [
    "is_fpclass, for which Metal has no function",
    "nextafter of brain floats, for which Metal has no function",
];

/// The example kernels, and those of the tests.
fn kernel_files() -> Vec<PathBuf> {
    let mut files: Vec<_> = ["../../examples/kernels", "tests/kernels"]
        .iter()
        .map(|folder| Path::new(env!("CARGO_MANIFEST_DIR")).join(folder))
        .flat_map(|folder| std::fs::read_dir(folder).expect("kernels"))
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "metal")
        })
        .collect();
    files.sort();
    files
}

#[test]
fn generated_code_agrees_with_the_program() {
    if load::compiler().is_none() {
        assay_fixtures::skip(assay_fixtures::Tool::Clang);
        return;
    }
    let files = kernel_files();
    let mut wrong = Vec::new();
    for file in &files {
        let library = load::library(file, &load::Build::default()).expect("it compiles");
        for kernel in library.kernels() {
            let module = load::program(kernel).expect("a program");
            let kernel = &kernel.name;
            let known = NOT_YET.iter().find(|(name, _)| name == kernel);
            match (judge::judge(&module, kernel, 1), known) {
                (Verdict::Same { finished, .. }, None) if finished > 0 => {}
                (Verdict::Unsupported(what), Some((_, reason))) if what == *reason => {}
                (verdict, _) => wrong.push(format!("{kernel}: {verdict:?}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Metal printed from a program, compiled again, computes what the program computes. One file of four, chosen by their
/// order; `judge --printed` runs all of them and the corpora.
#[test]
fn printed_metal_agrees_with_the_program() {
    if load::compiler().is_none() {
        assay_fixtures::skip(assay_fixtures::Tool::Clang);
        return;
    }
    let mut wrong = Vec::new();
    for file in kernel_files().iter().step_by(4) {
        let library = load::library(file, &load::Build::default()).expect("it compiles");
        for kernel in library.kernels() {
            match judge::printed::judge(kernel, 0, 1) {
                Verdict::Same { finished, .. } if finished > 0 => {}
                Verdict::Unsupported(reason) if NOT_PRINTED.contains(&reason.as_str()) => {}
                verdict => wrong.push(format!("{}: {verdict:?}", kernel.name)),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Threads that fit a core with the registers of a kernel's code.
fn threads(kernel: &str) -> (u32, Option<u32>) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels/pressure.metal");
    let library = load::library(&file, &load::Build::default()).expect("it compiles");
    let module = load::program(library.kernel(kernel).expect("a kernel")).expect("a program");
    let code = assay_codegen::generate(&module, kernel, &Default::default()).expect("code");
    let halves = code.half_registers.map_or(0, u32::from);
    let most = assay_chip::occupancy::threads_for_half_registers(halves);
    (most.expect("a row of the table"), code.declared_threads)
}

#[test]
fn registers_are_allocated_for_the_declared_maximum() {
    if load::compiler().is_none() {
        assay_fixtures::skip(assay_fixtures::Tool::Clang);
        return;
    }
    let (free, declared) = threads("pressure_free");
    assert!(free < 1024 && declared.is_none(), "{free} threads");
    assert_eq!(threads("pressure_1024"), (1024, Some(1024)));
    let (most, declared) = threads("pressure_512");
    assert!((512..=free.max(512)).contains(&most), "{most} threads");
    assert_eq!(declared, Some(512));
}
