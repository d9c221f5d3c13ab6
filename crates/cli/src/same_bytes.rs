//! Whatever looks at a launch sees the same bytes in the same buffers: for every launch of the examples, every guess that
//! `gate init` may write, and every kernel of the registry.

use crate::commands::tune::file::FileLaunch;
use crate::commands::tune::registry::RegistryLaunch;
use crate::commands::{gate, run};
use crate::generate::Generator;
use crate::launch;
use crate::phases;
use crate::source::{self, ThisMachine};
use crate::toolchain;
use assay_agx::Isa;
use assay_bench::inputs::{self, Kind, USUAL_SEED};
use assay_bench::registry::{CaseBinding, Registry};
use assay_bench::runner::{Buffers, Guards};
use assay_device::{Binding, CpuDevice, Device as _, Settings};
use assay_front::{Kernel, Library, Source, SourceOptions};
use assay_launch::guess::{Guess, guess};
use assay_launch::{Inputs, Size, Written, comments};
use assay_sweep::prediction as registry;
use assay_tune::fingerprint;
use assay_tune::workbench::{AS_WRITTEN, Launch as _};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Hashes of what is bound, by index.
type Hashes = BTreeMap<u32, String>;

fn hashes(starts: Vec<(u32, Vec<u8>)>) -> Hashes {
    let hashed = starts.into_iter();
    hashed
        .map(|(index, bytes)| (index, fingerprint::of_bytes(&bytes)))
        .collect()
}

fn of_inputs(inputs: &Inputs) -> Hashes {
    let buffers = inputs.buffers.iter();
    let buffers = buffers.map(|buffer| (buffer.index, buffer.data().into_owned()));
    hashes(buffers.chain(inputs.bytes.iter().cloned()).collect())
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns true for the kernels to tune that have the launch of the plain spelling of their pattern.
fn has_the_launch_of_another(path: &Path) -> bool {
    let spelled = path.parent().is_some_and(|it| it.ends_with("tuning/naive"));
    let plain = path.to_string_lossy().ends_with(".plain.metal");
    path.ends_with("tuning/expert") || (spelled && !plain)
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().filter_map(Result::ok) {
        let path = entry.path();
        if has_the_launch_of_another(&path) {
            continue;
        }
        if path.is_dir() {
            sources(&path, found);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "metal")
        {
            found.push(path);
        }
    }
}

/// The launch at sizes that take little memory.
fn small(launch: &Written) -> Written {
    let sizes = launch.sizes.iter().map(|size| Size {
        name: size.name.clone(),
        values: size.values.iter().map(|value| (*value).min(96)).collect(),
    });
    let sizes: Vec<Size> = sizes.collect();
    launch.with_sizes(&sizes)
}

/// What each command sees of a launch of a file's kernel.
fn seen(
    path: &Path,
    library: &Library,
    kernel: &Kernel,
    launch: &Written,
) -> Vec<(&'static str, Hashes)> {
    let name = kernel.name.as_str();
    let mut line = vec!["run".to_owned(), path.display().to_string()];
    line.push(format!("--function={name}"));
    line.extend(launch.to_string().split_whitespace().map(str::to_owned));
    let ran = run::starts(&line);
    let ran = ran.unwrap_or_else(|failure| panic!("{name}: {}", failure.message));
    let mut all = vec![("run", hashes(ran))];
    let gated = gate::starts(library, name, launch, &root());
    all.push((
        "gate",
        hashes(gated.unwrap_or_else(|why| panic!("{name}: {why}"))),
    ));
    let generator = Generator {
        constants: &[],
        isa: Isa::G13,
        threadgroup: None,
    };
    if let Ok(made) = generator.generate(kernel, &mut phases::told()) {
        let launched = launch::launched(launch.clone(), name, &made.arguments).unwrap();
        let predicted = assay_engine::execution::starts(&made.program, &launched);
        let predicted = predicted.unwrap_or_else(|failure| panic!("{name}: {}", failure.message));
        let known = hashes(predicted);
        // Buffers that are left out hold numbers of the prediction's own.
        let bound = of_inputs(
            &launched
                .inputs(&launched.launch.first_sizes().unwrap())
                .unwrap(),
        );
        let known = known
            .into_iter()
            .filter(|(index, _)| bound.contains_key(index));
        all.push(("predict", known.collect()));
        let tuned = FileLaunch::new(launched, None).unwrap();
        let inputs = tuned.inputs(tuned.timed(), AS_WRITTEN).unwrap();
        all.push(("tune", of_inputs(&inputs)));
    }
    all
}

#[test]
fn every_command_sees_the_same_bytes_in_the_launches_of_the_examples_and_in_guessed_ones() {
    if toolchain::find().is_err() {
        assay_fixtures::skip(assay_fixtures::Tool::Clang);
        return;
    }
    let mut files = Vec::new();
    sources(&root().join("examples"), &mut files);
    let compared: Vec<usize> = files
        .par_iter()
        .map(|path| {
            let text = std::fs::read_to_string(path).unwrap();
            let source = Source {
                path,
                text: text.as_bytes(),
            };
            let library = Library::compile(source, &ThisMachine, &SourceOptions::default());
            let Ok(library) = library else { return 0 };
            let mut compared = 0;
            for kernel in library.kernels() {
                let facts = assay_device::CpuKernel::new(&library, &kernel.name, &[], None);
                let arguments = facts.map(|kernel| kernel.facts().arguments.clone());
                let guessed = guess(&arguments.unwrap_or_default(), 1024);
                let comment = Written::in_comments(&text, &kernel.name).unwrap();
                // Argument buffers and tensors are for `run` alone.
                let comment = comment.filter(|it| it.members.is_empty() && it.tensors.is_empty());
                let guessed = guessed.map(|Guess(launch)| launch);
                let both = comment.into_iter().chain(guessed);
                for launch in both.map(|launch| small(&launch)) {
                    let all = seen(path, &library, kernel, &launch);
                    for (command, hashes) in &all {
                        assert_eq!(hashes, &all[0].1, "{}: {command}: {launch}", kernel.name);
                    }
                    compared += 1;
                }
            }
            compared
        })
        .collect();
    let commented = files.iter().filter(|path| {
        let text = std::fs::read_to_string(path).unwrap();
        comments(&text).next().is_some()
    });
    let compared: usize = compared.iter().sum();
    assert!(compared > commented.count() && compared > 100, "{compared}");
}

#[test]
fn every_command_sees_the_same_bytes_in_kernels_of_the_registry() {
    if toolchain::find().is_err() {
        assay_fixtures::skip(assay_fixtures::Tool::Clang);
        return;
    }
    let registry = Registry::embedded().unwrap();
    let kernels: Vec<_> = registry.kernels().collect();
    kernels.par_iter().for_each(|kernel| {
        let (case, resolved) = registry::case(registry, kernel, "quick").unwrap();
        let library = registry::library(&source::workspace(), &resolved).unwrap();
        let pass = &case.passes[0];
        let mut device = CpuDevice::new(Settings::default()).unwrap();
        let tensors = inputs::random(&case, USUAL_SEED, Kind::Usual);
        let buffers = Buffers::new(&mut device, &case, &tensors, Guards::None).unwrap();
        let mut loaded = assay_bench::runner::Loaded::of(device.add(library.clone()).unwrap());
        let dispatches = loaded.dispatches(&mut device, &case, &buffers).unwrap();
        let benched = dispatches[0]
            .bindings
            .iter()
            .filter_map(|(index, binding)| match binding {
                Binding::Buffer { buffer, .. } => Some((*index, device.contents(*buffer).unwrap())),
                Binding::Bytes(bytes) => Some((*index, bytes.clone())),
                _ => None,
            });
        let benched = hashes(benched.collect());
        let bound = inputs::bound(&case, pass, USUAL_SEED);
        assert_eq!(of_inputs(&bound), benched, "{}: what is bound", kernel.name);
        let predicted = registry::starts(&case).unwrap_or_else(|failure| {
            panic!("{}: {}", kernel.name, failure.message);
        });
        for (index, hash) in hashes(predicted) {
            // Between passes, predictions have contents of their own where nobody wrote yet.
            let place = match pass.bindings.get(index as usize) {
                Some(CaseBinding::Argument(place)) => Some(*place),
                _ => None,
            };
            let is_input = place.is_none_or(|place| {
                let role = &case.arguments[place].role;
                matches!(
                    role,
                    assay_launch::Role::Input { .. } | assay_launch::Role::Scalar { .. }
                )
            });
            if is_input || case.passes.len() == 1 {
                assert_eq!(
                    Some(&hash),
                    benched.get(&index),
                    "{} {index}: predict",
                    kernel.name
                );
            }
        }
        if let Ok(launch) = RegistryLaunch::new(kernel) {
            let tuned = launch.inputs(&case.sizes, AS_WRITTEN);
            if let Ok(tuned) = tuned {
                assert_eq!(of_inputs(&tuned), benched, "{}: tune", kernel.name);
            }
        }
    });
}
