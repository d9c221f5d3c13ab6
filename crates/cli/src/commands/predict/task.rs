//! A kernel with its launch, executed.

use super::Args;
use super::inputs::Given;
use crate::failure::Failure;
use crate::launch::{self, LaunchArgs};
use crate::{generate, input, load};
use assay_agx::{BoundValue, Isa, Program};
use assay_emu::{EmuError, Fill, LaunchError};
use assay_front::{File, Kind};
use assay_launch::{Extent, Sizes};
use assay_predict::{Argument, Dispatch, Error, Execution, Memory, Sampling, execute};
use std::path::Path;

/// A kernel and what its dispatches executed, or why not.
pub(super) struct Task {
    pub(super) kernel: String,
    /// Whose compiler made the code.
    pub(super) code: &'static str,
    pub(super) executed: Result<Vec<Pass>, Failure>,
}

/// A dispatch and how often it runs in a row.
pub(super) struct Pass {
    pub(super) execution: Execution,
    pub(super) times: u32,
}

/// Bytes that a buffer of unknown size may have.
const UNKNOWN_SIZE: u64 = 1 << 32;

pub(super) fn sampling(args: &Args) -> Sampling {
    let default = Sampling::default();
    Sampling {
        threadgroups: args.sample.unwrap_or(default.threadgroups),
        max_steps: args.max_steps.unwrap_or(default.max_steps),
        ..default
    }
}

/// The kernel of a file with the launch of the command line, at each of its sizes.
pub(super) fn of_file(path: &Path, args: &Args) -> Result<Vec<Task>, Failure> {
    let opened = open(path, args)?;
    let cases = opened.launch.cases()?;
    let several = cases.len() > 1;
    let tasks = cases.iter().map(|sizes| {
        let named = sizes.iter().map(|(name, value)| format!("{name}={value}"));
        let named: Vec<String> = named.collect();
        Task {
            kernel: match several {
                true => format!("{} {}", opened.program.name, named.join(" ")),
                false => opened.program.name.clone(),
            },
            code: opened.code,
            executed: executed(&opened, sizes, args).map(|execution| {
                vec![Pass {
                    execution,
                    times: 1,
                }]
            }),
        }
    });
    Ok(tasks.collect())
}

/// A program and how it is launched.
struct Opened {
    program: Program,
    code: &'static str,
    launch: LaunchArgs,
    tgmem: Vec<String>,
}

fn open(path: &Path, args: &Args) -> Result<Opened, Failure> {
    let bytes = input::open(path)?;
    let file = load::open(path, &bytes)?;
    let function = args.function.as_deref();
    let mut opened = Opened {
        program: Program::default(),
        code: "generated",
        launch: args.launch.clone(),
        tgmem: args.tgmem.clone(),
    };
    if file.needs_code() {
        opened.program = generate::one(path, &file, function, &args.programs, Isa::G13)?.program;
        if let Ok(text) = std::str::from_utf8(&bytes)
            && args.launch.is_open()
            && let Some(described) = launch::described(text, &opened.program.name)?
        {
            opened.launch = args.launch.or(described.launch);
            opened.tgmem.extend(described.tgmem);
        }
    } else {
        opened.code = "machine code of the file";
        opened.program = machine_code(path, &file, function)?;
    }
    if opened.program.name.is_empty() {
        opened.program.name = path.display().to_string();
    }
    Ok(opened)
}

fn executed(opened: &Opened, sizes: &Sizes, args: &Args) -> Result<Execution, Failure> {
    let no_launch = || {
        Failure::usage("a file needs a launch").advice(
            "say --grid (or --groups) and --threadgroup, as in --grid 1024 --threadgroup 256, or in a comment of the \
             source: // assay: launch KERNEL --grid 1024 --threadgroup 256",
        )
    };
    let threadgroup = opened.launch.threadgroup(sizes).ok_or_else(no_launch)??;
    let extent = opened.launch.extent(sizes).ok_or_else(no_launch)??;
    let grid = threads(extent, threadgroup)?;
    let given = Given::new(&opened.launch, &opened.tgmem, sizes)?;
    let sampling = sampling(args);
    // Buffers that were left out: twice with other numbers, to see that these do not matter.
    let run = |seed: u64| {
        let mut memory = Memory::new();
        let launched = (grid, threadgroup);
        let (dispatch, left_out) = dispatch(&opened.program, launched, &given, &mut memory, seed)?;
        let execution = execute(&dispatch, &mut memory, &sampling).map_err(failure)?;
        Ok::<_, Failure>((execution, left_out))
    };
    let (execution, left_out) = run(1)?;
    if !left_out.is_empty() {
        let (other, _) = run(2)?;
        if !same_work(&execution, &other) {
            let list: Vec<String> = left_out.iter().map(u32::to_string).collect();
            return Err(Failure::usage(format!(
                "what the kernel does depends on contents that were not given (buffers left out: {})",
                list.join(", ")
            ))
            .advice(
                "give them with --buffer I=FILE.npy, --buffer I=index:u32:SHAPE:BOUND or --bytes I=TYPE:VALUE",
            ));
        }
    }
    Ok(execution)
}

/// Threads of a grid along each axis.
pub(super) fn threads(extent: Extent, threadgroup: [u32; 3]) -> Result<[u32; 3], Failure> {
    let groups = match extent {
        Extent::Threads(threads) => return Ok(threads),
        Extent::Groups(groups) => groups,
    };
    let mut threads = [0; 3];
    for (axis, place) in threads.iter_mut().enumerate() {
        let product = groups[axis].checked_mul(threadgroup[axis]);
        *place = product
            .ok_or_else(|| Failure::usage("the grid has more than 2^32 threads along an axis"))?;
    }
    Ok(threads)
}

fn same_work(a: &Execution, b: &Execution) -> bool {
    let near = |x: f64, y: f64| (x - y).abs() <= 0.02 * x.max(y);
    near(a.instructions, b.instructions)
        && near(a.lines(), b.lines())
        && a.accesses.len() == b.accesses.len()
}

fn machine_code(path: &Path, file: &File<'_>, function: Option<&str>) -> Result<Program, Failure> {
    let name = path.display().to_string();
    let Kind::Container(contents) = &file.kind else {
        return Err(Failure::input(format!("{name} is no file with kernels")).advice(
            "Metal source, metallibs, bitcode and archives with machine code for M1 or M2 can be predicted",
        ));
    };
    let mut functions = contents.compiled();
    functions.retain(|function| function.gpu.is_decodable());
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

/// The dispatch, and the indices of buffers that were left out.
fn dispatch<'p>(
    program: &'p Program,
    (grid, threadgroup): ([u32; 3], [u32; 3]),
    given: &Given,
    memory: &mut Memory,
    seed: u64,
) -> Result<(Dispatch<'p>, Vec<u32>), Failure> {
    let mut arguments = given.arguments(memory)?;
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
        threadgroup_memory: given.threadgroup_memory(),
    };
    Ok((dispatch, left_out))
}

/// A failure of the library in the words and exit codes of the program.
pub(super) fn failure(error: Error) -> Failure {
    match &error {
        Error::Run(EmuError::Launch(
            LaunchError::Empty(_) | LaunchError::ThreadgroupTooLarge(_),
        ))
        | Error::MissingBuffer { .. }
        | Error::ShortBuffer { .. }
        | Error::MissingThreadgroupMemory { .. }
        | Error::MissingFigure { .. } => Failure::usage(error.to_string()),
        Error::Endless { .. } => Failure::input(error.to_string()).advice(
            "--max-steps N raises the budget; --bytes and --buffer give data that loops depend on",
        ),
        _ => Failure::input(error.to_string()),
    }
}
