//! A kernel with its launch, executed: a sample of its threadgroups on the emulator.

use crate::{Error, Launched, Origin};
use assay_agx::{BoundValue, Program};
use assay_emu::Fill;
use assay_front::{File, Kind};
use assay_launch::{Inputs, Sizes};
use assay_predict::{Argument, Dispatch, Execution, Memory, Sampled, Sampling, sample};
use std::path::Path;

/// A kernel and what its dispatches executed, or why not.
pub struct Task {
    /// Its name, with its sizes where there are several.
    pub kernel: String,
    /// Whose compiler made its code.
    pub code: Code,
    /// Its dispatches.
    pub executed: Result<Vec<Pass>, Error>,
}

/// A dispatch and how often it runs in a row.
pub struct Pass {
    /// The code.
    pub program: Program,
    /// What a sample of its threadgroups did.
    pub execution: Execution,
    /// The same, instruction by instruction, where it was kept.
    pub sampled: Option<Sampled>,
    /// How often it runs.
    pub times: u32,
    /// The grid is a guess, of sizes that are quickly executed.
    pub guessed: bool,
}

/// Whose compiler made the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Ours.
    Generated,
    /// That of the file it was read from.
    OfFile,
}

impl Code {
    /// What reports call it.
    pub const fn name(self) -> &'static str {
        match self {
            Code::Generated => "generated",
            Code::OfFile => "machine code of the file",
        }
    }
}

/// Bytes that a buffer of unknown size may have.
const UNKNOWN_SIZE: u64 = 1 << 32;

/// A program with a launch, executed at each of its sizes; what is begun is told.
pub fn tasks(
    program: &Program,
    code: Code,
    launched: &Launched,
    sampling: Sampling,
    begun: fn(&str),
) -> Result<Vec<Task>, Error> {
    let cases = launched.launch.cases()?;
    let several = cases.len() > 1;
    // Code that was made elsewhere runs as it is; generated code is ordered as Apple's compiler would.
    let sampling = Sampling {
        as_written: code == Code::OfFile,
        ..sampling
    };
    let tasks = cases.iter().map(|sizes| {
        let named = sizes.iter().map(|(name, value)| format!("{name}={value}"));
        let named: Vec<String> = named.collect();
        Task {
            kernel: match several {
                true => format!("{} {}", program.name, named.join(" ")),
                false => program.name.clone(),
            },
            code,
            executed: executed(program, launched, sizes, sampling, begun).map(|sampled| {
                vec![Pass {
                    program: program.clone(),
                    execution: sampled.execution.clone(),
                    sampled: Some(sampled),
                    times: 1,
                    guessed: launched.origin == Origin::Guess,
                }]
            }),
        }
    });
    Ok(tasks.collect())
}

/// What to say when a launch is needed and there is none.
pub fn no_launch() -> Error {
    Error::usage("a file needs a launch").advice(
        "say --grid (or --groups) and --threadgroup, as in --grid 1024 --threadgroup 256, or in a comment of the \
         source: // assay: launch KERNEL --grid 1024 --threadgroup 256",
    )
}

fn executed(
    program: &Program,
    launched: &Launched,
    sizes: &Sizes,
    sampling: Sampling,
    begun: fn(&str),
) -> Result<Sampled, Error> {
    let launch = &launched.launch;
    if launch.grid.is_none() || launch.threadgroup.is_none() {
        return Err(no_launch());
    }
    let (extent, threadgroup) = launch.geometry(sizes)?;
    let grid = extent.threads(threadgroup).ok_or_else(too_large)?;
    let inputs = launched.inputs(sizes)?;
    // Buffers that were left out: twice with other numbers, to see that these do not matter.
    begun(&format!("executing a sample of {}", program.name));
    let run = |seed: u64| {
        let mut memory = Memory::new();
        let (dispatch, left_out) =
            dispatch(program, (grid, threadgroup), &inputs, &mut memory, seed)?;
        // A size that is not given is named before made-up numbers lead outside of buffers.
        let mut values = left_out.iter();
        if let Some(missing) = values.find_map(|index| launched.missing(&program.name, *index)) {
            return Err(Error::from(missing));
        }
        let sampled = sample(&dispatch, &mut memory, &sampling)?;
        Ok::<_, Error>((sampled, left_out))
    };
    let (mut sampled, left_out) = run(1)?;
    if launched.origin == Origin::Guess {
        let note = "the launch is a guess from the signature of the kernel";
        sampled.execution.notes.push(note.to_owned());
    }
    if !left_out.is_empty() {
        let (other, _) = run(2)?;
        let list: Vec<String> = left_out.iter().map(u32::to_string).collect();
        let list = list.join(", ");
        if !sampled.execution.does_as_much_as(&other.execution) {
            return Err(Error::usage(format!(
                "what the kernel does depends on contents that were not given (buffers left out: {list})"
            ))
            .advice(
                "give them with --buffer I=FILE.npy, --buffer I=index:u32:SHAPE:BOUND or --bytes I=TYPE:VALUE",
            ));
        }
        sampled.execution.notes.push(format!(
            "buffers left out: {list}; with other contents the kernel does the same"
        ));
    }
    Ok(sampled)
}

/// What to say when a grid does not fit.
pub fn too_large() -> Error {
    Error::usage("the grid has more than 2^32 threads along an axis")
}

/// What the emulator holds before a run, by index.
pub fn starts(program: &Program, launched: &Launched) -> Result<Vec<(u32, Vec<u8>)>, Error> {
    let sizes = launched.launch.first_sizes()?;
    let (extent, threadgroup) = launched.launch.geometry(&sizes)?;
    let grid = extent.threads(threadgroup).ok_or_else(too_large)?;
    let inputs = launched.inputs(&sizes)?;
    let mut memory = Memory::new();
    let (dispatch, _) = dispatch(program, (grid, threadgroup), &inputs, &mut memory, 1)?;
    let held = dispatch.arguments.into_iter().map(|(index, argument)| {
        let held = match argument {
            Argument::Buffer(buffer, _) => memory.contents(buffer),
            Argument::Bytes(bytes) => bytes,
        };
        (index, held)
    });
    Ok(held.collect())
}

/// The dispatch, and the indices of buffers that were left out.
fn dispatch<'p>(
    program: &'p Program,
    (grid, threadgroup): ([u32; 3], [u32; 3]),
    inputs: &Inputs,
    memory: &mut Memory,
    seed: u64,
) -> Result<(Dispatch<'p>, Vec<u32>), Error> {
    let mut arguments = memory.bind(inputs)?;
    let mut left_out = Vec::new();
    for binding in &program.bindings {
        let (BoundValue::BufferAddress { index } | BoundValue::BufferBytes { index, .. }) =
            binding.value
        else {
            continue;
        };
        if arguments.iter().any(|(known, _)| *known == index) {
            continue;
        }
        let fill = Fill::Float32 {
            seed: seed << 32 | u64::from(index),
        };
        let buffer = memory.add_on_touch(UNKNOWN_SIZE, fill)?;
        arguments.push((index, Argument::Buffer(buffer, 0)));
        left_out.push(index);
    }
    let dispatch = Dispatch {
        program,
        grid,
        threadgroup,
        arguments,
        threadgroup_memory: inputs.memory.clone(),
    };
    Ok((dispatch, left_out))
}

/// Machine code of a file whose costs are known.
pub fn machine_code(
    path: &Path,
    file: &File<'_>,
    function: Option<&str>,
) -> Result<Program, Error> {
    let name = path.display().to_string();
    let Kind::Container(contents) = &file.kind else {
        return Err(Error::input(format!("{name} is not a file with kernels")).advice(
            "Metal source, metallibs, bitcode and archives with machine code for M1 or M2 can be predicted",
        ));
    };
    let mut functions = contents.compiled();
    // Times are modelled for code whose costs are known.
    functions.retain(|function| {
        let isa = function.isa();
        isa.is_some_and(|isa| isa.family() == assay_agx::Family::G13)
    });
    let found = match function {
        Some(wanted) => functions
            .iter()
            .find(|function| function.name.as_deref() == Some(wanted)),
        None => functions.first().filter(|_| functions.len() == 1),
    };
    let found = found.ok_or_else(|| {
        let names: Vec<&str> = functions.iter().filter_map(|f| f.name.as_deref()).collect();
        Error::usage(format!("{name} has no such machine code for M1 or M2 GPUs"))
            .advice(format!("choose a function with -f: {}", names.join(", ")))
    })?;
    let extracted = found.to_program();
    let extracted = extracted.map_err(|error| Error::input(format!("{name}: {error}")))?;
    Ok(extracted.program)
}
