//! A kernel with its launch, executed.

use crate::failure::Failure;
use crate::generate::CodeArgs;
use crate::launch::{LaunchArgs, Launched};
use crate::{generate, input, load};
use assay_agx::{BoundValue, Isa, Program};
use assay_emu::{EmuError, Fill, LaunchError};
use assay_front::{File, Kind};
use assay_launch::{Inputs, Sizes};
use assay_predict::{Argument, Dispatch, Error, Execution, Memory, Sampling, execute};
use std::path::Path;

/// A kernel and what its dispatches executed, or why not.
pub(crate) struct Task {
    pub(crate) kernel: String,
    pub(crate) code: Code,
    pub(crate) executed: Result<Vec<Pass>, Failure>,
}

/// A dispatch and how often it runs in a row.
pub(crate) struct Pass {
    pub(crate) program: Program,
    pub(crate) execution: Execution,
    pub(crate) times: u32,
}

/// Whose compiler made the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// Ours.
    Generated,
    /// That of the file it was read from.
    OfFile,
}

impl Code {
    /// What reports call it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Code::Generated => "generated",
            Code::OfFile => "machine code of the file",
        }
    }
}

/// Bytes that a buffer of unknown size may have.
const UNKNOWN_SIZE: u64 = 1 << 32;

/// What decides the execution of a file's kernel.
pub(crate) struct Ask<'a> {
    pub(crate) function: Option<&'a str>,
    pub(crate) launch: &'a LaunchArgs,
    pub(crate) code: &'a CodeArgs,
    pub(crate) sampling: Sampling,
}

/// The kernel of a file with the launch of the command line, at each of its sizes.
pub(crate) fn of_file(path: &Path, ask: &Ask<'_>) -> Result<Vec<Task>, Failure> {
    let bytes = input::open(path)?;
    let file = load::open(path, &bytes)?;
    let (mut program, arguments, code) = match file.needs_code() {
        true => {
            let made = generate::one(path, &file, ask.function, ask.code, Isa::G13)?;
            (made.program, made.arguments, Code::Generated)
        }
        false => {
            let program = machine_code(path, &file, ask.function)?;
            (program, Vec::new(), Code::OfFile)
        }
    };
    let text = std::str::from_utf8(&bytes)
        .ok()
        .filter(|_| file.needs_code());
    let flags = ask.launch.written()?;
    let launched = Launched::find(text, &program.name, &arguments, flags)?;
    if program.name.is_empty() {
        program.name = path.display().to_string();
    }
    let launched = launched.ok_or_else(no_launch)?;
    tasks(&program, code, &launched, ask.sampling)
}

/// A program with a launch, executed at each of its sizes.
pub(crate) fn tasks(
    program: &Program,
    code: Code,
    launched: &Launched,
    sampling: Sampling,
) -> Result<Vec<Task>, Failure> {
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
            executed: executed(program, launched, sizes, sampling).map(|execution| {
                vec![Pass {
                    program: program.clone(),
                    execution,
                    times: 1,
                }]
            }),
        }
    });
    Ok(tasks.collect())
}

/// What to say when a launch is needed and there is none.
pub(crate) fn no_launch() -> Failure {
    Failure::usage("a file needs a launch").advice(
        "say --grid (or --groups) and --threadgroup, as in --grid 1024 --threadgroup 256, or in a comment of the \
         source: // assay: launch KERNEL --grid 1024 --threadgroup 256",
    )
}

fn executed(
    program: &Program,
    launched: &Launched,
    sizes: &Sizes,
    sampling: Sampling,
) -> Result<Execution, Failure> {
    let launch = &launched.launch;
    if launch.grid.is_none() || launch.threadgroup.is_none() {
        return Err(no_launch());
    }
    let (extent, threadgroup) = launch.geometry(sizes)?;
    let grid = extent.threads(threadgroup).ok_or_else(too_large)?;
    let inputs = launched.inputs(sizes)?;
    // Buffers that were left out: twice with other numbers, to see that these do not matter.
    crate::progress::stage(&format!("executing a sample of {}", program.name));
    let run = |seed: u64| {
        let mut memory = Memory::new();
        let (dispatch, left_out) =
            dispatch(program, (grid, threadgroup), &inputs, &mut memory, seed)?;
        let execution = execute(&dispatch, &mut memory, &sampling).map_err(failure)?;
        Ok::<_, Failure>((execution, left_out))
    };
    let (mut execution, left_out) = run(1)?;
    if !left_out.is_empty() {
        let (other, _) = run(2)?;
        let list: Vec<String> = left_out.iter().map(u32::to_string).collect();
        let list = list.join(", ");
        if !execution.does_as_much_as(&other) {
            return Err(Failure::usage(format!(
                "what the kernel does depends on contents that were not given (buffers left out: {list})"
            ))
            .advice(
                "give them with --buffer I=FILE.npy, --buffer I=index:u32:SHAPE:BOUND or --bytes I=TYPE:VALUE",
            ));
        }
        execution.notes.push(format!(
            "buffers left out: {list}; with other contents the kernel does the same"
        ));
    }
    Ok(execution)
}

/// What to say when a grid does not fit.
pub(crate) fn too_large() -> Failure {
    Failure::usage("the grid has more than 2^32 threads along an axis")
}

fn machine_code(path: &Path, file: &File<'_>, function: Option<&str>) -> Result<Program, Failure> {
    let name = path.display().to_string();
    let Kind::Container(contents) = &file.kind else {
        return Err(Failure::input(format!("{name} is no file with kernels")).advice(
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
        Failure::usage(format!("{name} has no such machine code for M1 or M2 GPUs"))
            .advice(format!("choose a function with -f: {}", names.join(", ")))
    })?;
    let extracted = found.to_program();
    let extracted = extracted.map_err(|error| Failure::input(format!("{name}: {error}")))?;
    Ok(extracted.program)
}

/// What the emulator holds before a run, by index.
#[cfg(test)]
pub(crate) fn starts(
    program: &Program,
    launched: &Launched,
) -> Result<Vec<(u32, Vec<u8>)>, Failure> {
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
) -> Result<(Dispatch<'p>, Vec<u32>), Failure> {
    let mut arguments = memory.bind(inputs).map_err(failure)?;
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
        let buffer = memory.add_on_touch(UNKNOWN_SIZE, fill).map_err(failure)?;
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

/// A failure of the library in the words and exit codes of the program.
pub(crate) fn failure(error: Error) -> Failure {
    match &error {
        Error::Run(EmuError::Launch(
            LaunchError::Empty(_)
            | LaunchError::ThreadgroupTooLarge(_)
            | LaunchError::GridTooLarge(_),
        ))
        | Error::MissingBuffer { .. }
        | Error::ShortBuffer { .. }
        | Error::MissingThreadgroupMemory { .. }
        | Error::MissingFigure { .. } => Failure::usage(error.to_string()),
        Error::Endless { .. } => Failure::input(error.to_string()).advice(
            "--bytes and --buffer give data that loops depend on; --max-steps N of assay predict raises the budget",
        ),
        _ => Failure::input(error.to_string()),
    }
}
