//! Every distinct launch, executed once.

use crate::key::key;
use crate::recorded::{Given, Launch, Recorded};
use crate::store::Store;
use assay_engine::code::{Generated, Generator};
use assay_engine::{Phases, Workspace};
use assay_front::{Bytes, GivenConstant, Library, Source, SourceOptions};
use assay_launch::fill::Fill;
use assay_predict::{Argument, Dispatch, Execution, Memory, Sampling, sample};
use assay_recording::{Constant, Contents, Extent, Form, LARGEST_LIBRARY, content_hash};
use assay_ssa::ArgumentAccess;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

/// What a launch executes, and what it does with what is bound.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Executed {
    /// What a sample of its threadgroups did.
    pub execution: Execution,
    /// Of each index: whether the kernel reads and writes what is bound there; an index that is missing may be both.
    pub accesses: Vec<(u32, bool, bool)>,
}

/// Executions of a recording's launches.
#[derive(Debug, Default)]
pub struct Kernels {
    /// By launch; why not, in words.
    pub executed: Vec<Result<Executed, String>>,
    /// How many were found in the store.
    pub kept: usize,
}

/// Bytes that a buffer may have: how long one is, is not part of a launch.
const BUFFER: u64 = 1 << 32;

impl Kernels {
    /// Executes a sample of every launch, or takes it from the store. `told` is called with how many are done.
    pub fn execute(
        recorded: &Recorded,
        workspace: &Workspace,
        store: Option<&Store>,
        told: &(dyn Fn(usize, usize) + Sync),
    ) -> Kernels {
        let mut kernels = Kernels::default();
        kernels.extend(recorded, &mut Codes::default(), (workspace, store), told);
        kernels
    }

    /// The same for the launches that have come to a recording since.
    pub(crate) fn extend(
        &mut self,
        recorded: &Recorded,
        codes: &mut Codes,
        (workspace, store): (&Workspace, Option<&Store>),
        told: &(dyn Fn(usize, usize) + Sync),
    ) {
        let first = self.executed.len();
        let launches = recorded.launches.get(first..).unwrap_or_default();
        let keys: Vec<Option<String>> = launches.iter().map(|one| key(recorded, one)).collect();
        let mut executed: Vec<Option<Result<Executed, String>>> = keys
            .iter()
            .map(|key| Some(Ok(store?.get(key.as_ref()?)?)))
            .collect();
        let kept = executed.iter().flatten().count();
        let missing: Vec<usize> = (0..executed.len())
            .filter(|&at| executed[at].is_none())
            .collect();
        codes.generate(recorded, missing.iter().map(|&at| &launches[at]), workspace);
        let done = AtomicUsize::new(kept);
        let one = |&at: &usize| {
            let launch = &launches[at];
            let result = match codes.made.get(&launch.pipeline) {
                _ if is_stopped(workspace) => Err("stopped".to_owned()),
                Some(Ok(code)) => execute(code, launch),
                Some(Err(why)) => Err(why.clone()),
                None => Err("the recording does not have its library".to_owned()),
            };
            if let (Some(store), Some(key), Ok(executed)) = (store, &keys[at], &result) {
                store.keep(key, executed);
            }
            told(done.fetch_add(1, Relaxed) + 1, keys.len());
            (at, result)
        };
        let made: Vec<(usize, Result<Executed, String>)> = missing.par_iter().map(one).collect();
        for (at, result) in made {
            executed[at] = Some(result);
        }
        let unknown = || Err("it was not executed".to_owned());
        let executed = executed.into_iter().map(|one| one.unwrap_or_else(unknown));
        self.executed.extend(executed);
        self.kept += kept;
    }

    /// The execution of a launch.
    pub fn of(&self, launch: u32) -> Option<&Executed> {
        self.executed.get(launch as usize)?.as_ref().ok()
    }
}

fn is_stopped(workspace: &Workspace) -> bool {
    workspace
        .cancel
        .as_ref()
        .is_some_and(|flag| flag.load(Relaxed))
}

/// Libraries that were opened, and machine code of their pipelines.
#[derive(Default)]
pub(crate) struct Codes {
    libraries: FxHashMap<u32, Result<Library, String>>,
    made: FxHashMap<u32, Result<Generated, String>>,
}

impl Codes {
    /// Makes the machine code of some launches, where it is not there.
    fn generate<'a>(
        &mut self,
        recorded: &Recorded,
        launches: impl Iterator<Item = &'a Launch>,
        workspace: &Workspace,
    ) {
        let pipelines = launches.map(|launch| launch.pipeline);
        let mut pipelines: Vec<u32> = pipelines
            .filter(|pipeline| !self.made.contains_key(pipeline))
            .collect();
        pipelines.sort_unstable();
        pipelines.dedup();
        for pipeline in &pipelines {
            if let Some(pipeline) = recorded.pipelines.get(*pipeline as usize) {
                let opened = || open(recorded, pipeline.library, workspace);
                self.libraries
                    .entry(pipeline.library)
                    .or_insert_with(opened);
            }
        }
        let libraries = &self.libraries;
        let one = |&number: &u32| (number, generated(recorded, libraries, number));
        let made: Vec<_> = pipelines.par_iter().map(one).collect();
        self.made.extend(made);
    }
}

/// The machine code of a pipeline.
fn generated(
    recorded: &Recorded,
    libraries: &FxHashMap<u32, Result<Library, String>>,
    number: u32,
) -> Result<Generated, String> {
    let missing = || "the recording does not have its pipeline".to_owned();
    let pipeline = recorded
        .pipelines
        .get(number as usize)
        .ok_or_else(missing)?;
    let library = libraries.get(&pipeline.library).ok_or_else(missing)?;
    let library = library.as_ref().map_err(Clone::clone)?;
    let kernel = library
        .kernel(&pipeline.function)
        .map_err(|error| error.to_string())?;
    let constants = given(&pipeline.constants)?;
    let generator = Generator {
        constants: &constants,
        isa: assay_engine::Settings::default().isa,
        threadgroup: None,
    };
    let made = generator.generate(kernel, &mut Phases::default());
    made.map_err(|refused| refused.message)
}

/// Recorded values of function constants, as they are given to a kernel.
pub(crate) fn given(constants: &[Constant]) -> Result<Vec<GivenConstant>, String> {
    let known: Option<Vec<GivenConstant>> = constants.iter().map(constant).collect();
    known.ok_or_else(|| "a function constant has an unknown type".to_owned())
}

fn constant(one: &Constant) -> Option<GivenConstant> {
    let zeros = vec!["0"; one.elements.len().max(1)].join(",");
    let mut given: GivenConstant = format!("{}={}:{zeros}", one.key, one.kind).parse().ok()?;
    given.elements.clone_from(&one.elements);
    Some(given)
}

/// A library of a recording as it was given to Metal.
#[derive(Clone, Debug)]
pub struct Opened {
    /// A metallib, or Metal source.
    pub bytes: Vec<u8>,
    /// How the source is compiled; none of a metallib.
    pub options: Option<SourceOptions>,
}

/// What a library of a recording consists of; why that is not known, in words.
pub fn opened(recorded: &Recorded, number: u32) -> Result<Opened, String> {
    let missing = || "the recording does not have its library".to_owned();
    let library = recorded
        .libraries
        .get(number as usize)
        .ok_or_else(missing)?;
    let bytes = match &library.contents {
        Contents::Here(bytes) => bytes.to_vec(),
        Contents::File(path) => std::fs::read(&**path).map_err(|why| format!("{path}: {why}"))?,
        Contents::Unknown => {
            return Err(format!(
                "its library, of more than {LARGEST_LIBRARY} bytes, was not kept"
            ));
        }
    };
    if content_hash(&bytes) != library.hash {
        return Err("its library is not the one that was recorded".to_owned());
    }
    let options = match &library.form {
        Form::Compiled => None,
        Form::Source {
            fast_math,
            standard,
            defines,
        } => Some(SourceOptions {
            fast_math: *fast_math,
            standard: standard.parse().unwrap_or_default(),
            defines: defines.iter().map(ToString::to_string).collect(),
            ..SourceOptions::default()
        }),
    };
    Ok(Opened { bytes, options })
}

fn open(recorded: &Recorded, number: u32, workspace: &Workspace) -> Result<Library, String> {
    let Opened { bytes, options } = opened(recorded, number)?;
    let Some(options) = options else {
        return Library::open(&Bytes::from(bytes)).map_err(|error| error.to_string());
    };
    (workspace.begun)("compiling");
    let source = Source {
        path: Path::new("program_source.metal"),
        text: &bytes,
    };
    Library::compile(source, &*workspace.compiler, &options).map_err(|error| error.to_string())
}

/// Runs a sample of a launch. What buffers hold is not recorded: floats are random, everything else is zeros, so that indices
/// are valid; if that fails, all are zeros.
fn execute(code: &Generated, launch: &Launch) -> Result<Executed, String> {
    let executed =
        attempt(code, launch, false).or_else(|why| attempt(code, launch, true).map_err(|_| why));
    let accesses = code.arguments.iter().filter_map(|argument| {
        let assay_ssa::Binding::Buffer(index) = argument.binding else {
            return None;
        };
        let (reads, writes) = match argument.access {
            ArgumentAccess::Read => (true, false),
            ArgumentAccess::Write => (false, true),
            _ if argument.unused => (false, false),
            _ => (true, true),
        };
        Some((index, reads, writes))
    });
    Ok(Executed {
        execution: executed?,
        accesses: accesses.collect(),
    })
}

fn attempt(code: &Generated, launch: &Launch, only_zeros: bool) -> Result<Execution, String> {
    let grid = match launch.extent {
        Extent::Threads(threads) => assay_launch::Extent::Threads(threads),
        Extent::Groups(groups) => assay_launch::Extent::Groups(groups),
        Extent::Indirect { .. } => {
            return Err("a buffer says how many threadgroups it has".to_owned());
        }
    };
    let grid = grid.threads(launch.threadgroup);
    let grid = grid.ok_or("its grid has more than 2^32 threads along an axis")?;
    let mut memory = Memory::new();
    let mut places = FxHashMap::default();
    let mut arguments = Vec::new();
    let is_float = |index: u32| {
        let found = assay_launch::inputs::of_buffer(&code.arguments, index);
        found.is_some_and(|argument| {
            argument.type_name.contains("float") || argument.type_name.contains("half")
        })
    };
    for (index, given) in &launch.arguments {
        let argument = match given {
            Given::Bytes(bytes) => Argument::Bytes(bytes.to_vec()),
            Given::Buffer(place) => {
                let fill = match is_float(*index) && !only_zeros {
                    true => Fill::Float32 {
                        seed: u64::from(*index),
                    },
                    false => Fill::Zero,
                };
                let buffer = match places.get(place) {
                    Some(known) => *known,
                    None => {
                        let made = memory
                            .add_on_touch(BUFFER, fill)
                            .map_err(|error| error.to_string())?;
                        places.insert(*place, made);
                        made
                    }
                };
                Argument::Buffer(buffer, 0)
            }
        };
        arguments.push((*index, argument));
    }
    let dispatch = Dispatch {
        program: &code.program,
        grid,
        threadgroup: launch.threadgroup,
        arguments,
        threadgroup_memory: launch.memory.clone(),
    };
    let sampled = sample(&dispatch, &mut memory, &Sampling::default());
    sampled
        .map(|sampled| sampled.execution)
        .map_err(|error| error.to_string())
}
