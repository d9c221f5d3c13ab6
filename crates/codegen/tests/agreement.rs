//! The generated code of every example kernel, and of kernels that use what is rare,
//! computes what its program computes.

#[allow(dead_code, reason = "an example uses the rest")]
mod judge;

use assay_rewrite::recipe::patch::is_edit;
use assay_rewrite::recipe::{RECIPES, Step};
use judge::recipes::{Fate, Subject};
use judge::{Verdict, load};
use std::collections::BTreeSet;
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

/// Kernels that between them take every recipe.
const REWRITTEN: [&str; 6] = [
    "saxpy",
    "matmul_naive",
    "transpose_naive",
    "conv1d",
    "softmax",
    "histogram_global",
];

/// What recipes make of a kernel computes what the kernel computes: for each recipe its first and its last step, and some
/// steps one after the other. `examples/recipes.rs` runs all steps on all corpora.
#[test]
fn rewritten_metal_agrees_with_the_program() {
    if load::compiler().is_none() {
        assay_fixtures::skip(assay_fixtures::Tool::Clang);
        return;
    }
    let mut wrong = Vec::new();
    let mut applied = BTreeSet::new();
    for name in REWRITTEN {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/kernels");
        let file = folder.join(format!("{name}.metal"));
        let library = load::library(&file, &load::Build::default()).expect("it compiles");
        let kernel = library.kernels().first().expect("a kernel");
        let mut subject = Subject::new(kernel, 0, 1).expect("trials");
        for choice in subject.choices() {
            let steps = choice.steps.unwrap_or_default();
            let last = steps.iter().skip(1).next_back();
            for step in steps.first().into_iter().chain(last) {
                judged(&mut subject, name, std::slice::from_ref(step), &mut wrong);
                applied.insert(choice.recipe.id);
            }
        }
    }
    // Edits of a text need the text; a program has none.
    let programs = RECIPES.iter().filter(|recipe| !is_edit(recipe));
    let all: BTreeSet<&str> = programs.map(|recipe| recipe.id).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Neighbours are there after coarsening only.
    assert_eq!(&all - &applied, BTreeSet::from(["vectorize"]));
}

/// Steps that are applied one after the other, and random kernels with guards, loops and loads that need them.
#[test]
fn chains_of_recipes_and_rewritten_random_kernels_agree() {
    if load::compiler().is_none() {
        assay_fixtures::skip(assay_fixtures::Tool::Clang);
        return;
    }
    let mut wrong = Vec::new();
    let chains = [
        ("saxpy", "coarsen:x=4,block+vectorize"),
        (
            "matmul_naive",
            "coarsen:x=2,strided+coarsen:y=2,block+threadgroup:x=32,y=2",
        ),
        ("matmul_naive", "swap-axes:x,y+coarsen:x=4,block"),
    ];
    for (name, chain) in chains {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/kernels");
        let file = folder.join(format!("{name}.metal"));
        let library = load::library(&file, &load::Build::default()).expect("it compiles");
        let kernel = library.kernels().first().expect("a kernel");
        let mut subject = Subject::new(kernel, 0, 2).expect("trials");
        let steps: Vec<Step> = chain
            .split('+')
            .map(|step| step.parse().expect("a step"))
            .collect();
        judged(&mut subject, name, &steps, &mut wrong);
    }
    for seed in 0..6 {
        let text = judge::random::kernel(seed);
        let source = assay_front::Source {
            path: Path::new("random.metal"),
            text: text.as_bytes(),
        };
        let library = load::compiled(source, &load::Build::default()).expect("it compiles");
        let kernel = library.kernels().first().expect("a kernel");
        let mut subject = Subject::new(kernel, 0, seed).expect("trials");
        for step in [
            "coarsen:x=4,block",
            "coarsen:x=2,strided",
            "persistent:groups=1",
        ] {
            let step: Step = step.parse().expect("a step");
            let judged = subject.judge(std::slice::from_ref(&step));
            if let Fate::Wrong(what) = judged.fate {
                wrong.push(format!("random {seed} {step}: {what}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn judged(subject: &mut Subject, name: &str, steps: &[Step], wrong: &mut Vec<String>) {
    let judged = subject.judge(steps);
    if !matches!(judged.fate, Fate::Right(_)) {
        let steps: Vec<String> = steps.iter().map(ToString::to_string).collect();
        wrong.push(format!("{name} {}: {:?}", steps.join("+"), judged.fate));
    }
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
