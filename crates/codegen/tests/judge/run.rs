//! One dispatch, by the executor and by the emulator.

use super::inputs::Inputs;
use assay_agx::{BoundValue, Program, SystemValue};
use assay_emu::{DeviceMemory, EmuError, FaultKind, Launch};
use assay_exec::{Bindings, Buffer, Grid, Limits, ReportKind, RunError};

/// How a run ended.
pub(super) enum Ended {
    /// With these buffers.
    Finished(Vec<(u32, Vec<u8>)>),
    /// The kernel did what it must not, for instance beyond a buffer's end.
    Stopped(String),
    /// It went beyond the end of a buffer, which would have to have so many bytes.
    Beyond {
        buffer: u32,
        bytes: u64,
        why: String,
    },
    /// It went beyond the end of a variable of a thread or threadgroup. The hardware does
    /// not notice while there is other memory behind it.
    Overrun { threadgroup: bool, why: String },
    /// It reads a register that was never written.
    Unwritten(String),
    /// Metal does not say what comes out: a matrix operation or a shuffle that needs
    /// threads which are not there.
    Undefined(String),
    /// The limit on steps.
    TooLong,
    /// The code, not the kernel, is at fault.
    Faulty(String),
}

impl Ended {
    /// What stopped the run.
    pub(super) fn why(&self) -> &str {
        match self {
            Ended::Finished(_) => "finished",
            Ended::TooLong => "too long",
            Ended::Beyond { why, .. } | Ended::Overrun { why, .. } => why,
            Ended::Stopped(why)
            | Ended::Unwritten(why)
            | Ended::Undefined(why)
            | Ended::Faulty(why) => why,
        }
    }
}

/// How often a buffer is made longer.
const MOST_GROWTH: usize = 40;

fn bindings(inputs: &Inputs) -> Bindings {
    let mut bindings = Bindings::new();
    for (index, bytes) in &inputs.buffers {
        bindings.set(*index, Buffer::from_bytes(bytes));
    }
    for &(index, bytes) in &inputs.threadgroup_memory {
        bindings.set_threadgroup_memory(index, bytes);
    }
    bindings
}

/// What the executor's checks find whose outcome Metal does not define.
pub(super) fn undefined(program: &assay_exec::Program, inputs: &Inputs) -> Option<String> {
    first_report(program, inputs, |kind| {
        let harmless = matches!(kind, ReportKind::OutOfBounds | ReportKind::Uninitialised);
        !harmless && !kind.is_warning()
    })
}

/// What the executor's checks find that is no mere warning. Two threads that store the same value to one place by one
/// store of the original do so by different stores of a rewritten program: such a race is not counted, its bytes are
/// compared anyway.
pub(super) fn reported(program: &assay_exec::Program, inputs: &Inputs) -> Option<String> {
    let reports = reports(program, inputs)?;
    let counts = |report: &&assay_exec::Report| {
        let both_write = report
            .location
            .as_ref()
            .is_some_and(|l| l.action == "write")
            && report
                .other
                .as_ref()
                .is_some_and(|other| other.action == "write");
        !report.kind.is_warning() && !both_write
    };
    reports.iter().find(counts).map(ToString::to_string)
}

/// Returns true if the executor's checks find anything.
pub(super) fn any_report(program: &assay_exec::Program, inputs: &Inputs) -> bool {
    first_report(program, inputs, |_| true).is_some()
}

/// A read of memory that nobody has written, as the executor's checks find it.
pub(super) fn uninitialised(program: &assay_exec::Program, inputs: &Inputs) -> Option<String> {
    first_report(program, inputs, |kind| kind == ReportKind::Uninitialised)
}

fn first_report(
    program: &assay_exec::Program,
    inputs: &Inputs,
    wanted: impl Fn(ReportKind) -> bool,
) -> Option<String> {
    let reports = reports(program, inputs)?;
    let first = reports.iter().find(|report| wanted(report.kind))?;
    Some(first.to_string())
}

/// All that the executor's checks find.
fn reports(program: &assay_exec::Program, inputs: &Inputs) -> Option<Vec<assay_exec::Report>> {
    let limits = Limits {
        max_steps: inputs.max_steps,
        ..Limits::default()
    };
    let grid = Grid::threads(inputs.grid, inputs.threadgroup);
    program.check(&grid, &mut bindings(inputs), &limits).ok()
}

/// Runs a kernel; a buffer that is too short for it is made longer, if that is possible.
pub(super) fn execute(program: &assay_exec::Program, inputs: &mut Inputs) -> Ended {
    for _ in 0..MOST_GROWTH {
        match execute_once(program, inputs) {
            Ended::Beyond { buffer, bytes, .. } if inputs.grow(buffer, bytes) => {}
            Ended::Beyond { why, .. } => return Ended::Stopped(why),
            Ended::Overrun { threadgroup, .. }
                if threadgroup && inputs.grow_threadgroup_memory() => {}
            ended => return ended,
        }
    }
    execute_once(program, inputs)
}

/// Runs a kernel on inputs as they are.
pub(super) fn execute_as_is(program: &assay_exec::Program, inputs: &Inputs) -> Ended {
    execute_once(program, inputs)
}

fn execute_once(program: &assay_exec::Program, inputs: &Inputs) -> Ended {
    let mut bindings = bindings(inputs);
    let limits = Limits {
        max_steps: inputs.max_steps,
        ..Limits::default()
    };
    let grid = Grid::threads(inputs.grid, inputs.threadgroup);
    match program.run(&grid, &mut bindings, &limits) {
        Ok(_) => Ended::Finished(
            inputs
                .buffers
                .iter()
                .map(|(index, _)| {
                    let bytes = bindings.get(*index).map(|buffer| buffer.bytes().to_vec());
                    (*index, bytes.unwrap_or_default())
                })
                .collect(),
        ),
        Err(RunError::Fault(fault))
            if matches!(fault.kind, assay_exec::FaultKind::TooManySteps { .. }) =>
        {
            Ended::TooLong
        }
        Err(RunError::Fault(fault)) if fault.kind == assay_exec::FaultKind::Unreachable => {
            Ended::Undefined(RunError::Fault(fault).to_string())
        }
        Err(RunError::Fault(fault)) => {
            let why = RunError::Fault(fault.clone()).to_string();
            beyond(&fault.kind, &why).unwrap_or(Ended::Stopped(why))
        }
        Err(error) => Ended::Faulty(error.to_string()),
    }
}

/// An access outside of something: what would have to be longer.
fn beyond(kind: &assay_exec::FaultKind, why: &str) -> Option<Ended> {
    let assay_exec::FaultKind::OutOfBounds {
        target,
        offset,
        size,
        ..
    } = kind
    else {
        return None;
    };
    let why = why.to_owned();
    if let Some(rest) = target.strip_prefix("buffer ") {
        return Some(Ended::Beyond {
            buffer: rest.split(' ').next()?.parse().ok()?,
            bytes: u64::try_from(*offset).ok()?.checked_add((*size).into())?,
            why,
        });
    }
    let threadgroup = target == "threadgroup memory";
    (threadgroup || target == "thread memory").then_some(Ended::Overrun { threadgroup, why })
}

pub(super) fn emulate(code: &Program, inputs: &Inputs, strict: bool) -> Ended {
    let mut memory = DeviceMemory::new();
    let mut launch = Launch::new(inputs.grid, inputs.threadgroup);
    launch.lenient = !strict;
    launch.max_steps = inputs.max_steps * 16;
    let mut placed = Vec::new();
    for (index, bytes) in &inputs.buffers {
        match memory.add(bytes) {
            Ok(id) => placed.push((*index, id)),
            Err(error) => return Ended::Faulty(error.to_string()),
        }
    }
    if let Err(error) = launch.place_data(code, &mut memory) {
        return Ended::Faulty(error.to_string());
    }
    // Dynamic threadgroup memory comes after what the program declares, in order.
    let fixed = code.threadgroup_bytes.unwrap_or(0).next_multiple_of(16);
    let mut end = 0;
    let mut offsets = Vec::new();
    for &(index, bytes) in &inputs.threadgroup_memory {
        offsets.push((index, end));
        end += bytes.next_multiple_of(16);
    }
    launch.threadgroup_bytes = Some(fixed + end);
    for binding in &code.bindings {
        let bytes = match binding.value {
            BoundValue::BufferAddress { index } => {
                let found = placed.iter().find(|(known, _)| *known == index);
                found.map(|(_, id)| memory.address(*id).to_le_bytes().to_vec())
            }
            BoundValue::BufferBytes { index, offset } => {
                let found = inputs.buffers.iter().find(|(known, _)| *known == index);
                let start = offset as usize;
                let end = start + usize::from(binding.halves) * 2;
                found.and_then(|(_, bytes)| bytes.get(start..end).map(<[u8]>::to_vec))
            }
            BoundValue::System(SystemValue::ThreadgroupOffset(index), _) => {
                let found = offsets.iter().find(|(known, _)| *known == index);
                found.map(|(_, offset)| {
                    let bytes = u64::from(*offset).to_le_bytes();
                    bytes[..usize::from(binding.halves.min(4)) * 2].to_vec()
                })
            }
            _ => continue,
        };
        let Some(bytes) = bytes else {
            return Ended::Faulty(format!("nothing is bound for {:?}", binding.value));
        };
        if let Err(error) = launch.uniforms.set_bytes(binding.first_half, &bytes) {
            return Ended::Faulty(error.to_string());
        }
    }
    match assay_emu::run(code, &launch, &memory) {
        Ok(_) => Ended::Finished(
            placed
                .iter()
                .map(|(index, id)| (*index, memory.bytes(*id)))
                .collect(),
        ),
        Err(EmuError::Fault(fault)) => {
            let line = code.line_at(fault.at.offset).filter(|line| line.line > 0);
            let place = line.map_or(String::new(), |line| {
                let file = code.files.get(line.file as usize);
                format!(" [{}:{}]", file.map_or("?", String::as_str), line.line)
            });
            let message = format!("{fault}{place}");
            match fault.kind {
                FaultKind::TooManySteps { .. } => Ended::TooLong,
                FaultKind::OutOfBounds { .. } => Ended::Stopped(message),
                FaultKind::ReadUnwritten { .. } => Ended::Unwritten(message),
                FaultKind::PartialMatrix { .. } | FaultKind::ReadOfUndefinedShuffle { .. } => {
                    Ended::Undefined(message)
                }
                _ => Ended::Faulty(message),
            }
        }
        Err(error) => Ended::Faulty(error.to_string()),
    }
}
