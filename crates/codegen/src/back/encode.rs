//! Physical instructions to bytes.

use super::machine::{Code, Machine};
use crate::mir::Kernel;
use crate::{Error, ErrorKind};
use assay_agx::{Builder, Field, Instruction, Isa, Line, Op, Operand, Placeholder};
use assay_ssa::id::Id;

/// After `stop` come this many traps, so that fetching ahead meets nothing strange.
const TRAPS: usize = 8;

/// Machine code with its source lines.
#[derive(Debug, Default)]
pub(crate) struct Encoded {
    pub(crate) code: Vec<u8>,
    pub(crate) lines: Vec<Line>,
    pub(crate) placeholders: Vec<Placeholder>,
}

/// Encodes the start and all blocks in order, then fills in the jumps.
pub(crate) fn encode(
    start: &[Machine],
    code: &Code,
    isa: Isa,
    kernel: &Kernel,
) -> Result<Encoded, Error> {
    let mut out = Encoded::default();
    let mut starts = Vec::with_capacity(code.len());
    let mut jumps = Vec::new();
    let mut last = None;
    for inst in start {
        let encoded = build(inst, 0, isa).map_err(|error| at(error, inst, kernel))?;
        out.code.extend_from_slice(&encoded.bytes());
    }
    for block in code {
        starts.push(out.code.len());
        for inst in block {
            let offset = out.code.len();
            if let Some(target) = inst.target {
                jumps.push((offset, inst, target));
            }
            if let Some(operation) = inst.placeholder {
                out.code
                    .extend_from_slice(&Placeholder::PARCEL.to_le_bytes());
                out.placeholders.push(Placeholder {
                    offset: offset as u32,
                    operation,
                    reads: inst.reads.iter().collect(),
                    writes: inst.writes.iter().collect(),
                });
            } else {
                let encoded = build(inst, 0, isa).map_err(|error| at(error, inst, kernel))?;
                out.code.extend_from_slice(&encoded.bytes());
            }
            let line = inst.loc.and_then(|loc| kernel.lines.get(loc)).copied();
            if let Some(line) = line.filter(|line| Some(*line) != last) {
                last = Some(line);
                out.lines.push(Line {
                    offset: offset as u32,
                    ..line
                });
            }
        }
    }
    for (offset, inst, target) in jumps {
        let start = starts
            .get(target.index())
            .copied()
            .unwrap_or(out.code.len());
        let distance = start as i64 - offset as i64;
        let distance = i32::try_from(distance).map_err(|_| ErrorKind::TooLarge {
            what: "bytes between a jump and its target",
            needed: distance.unsigned_abs(),
            available: i32::MAX as u64,
        })?;
        let encoded = build(inst, distance, isa).map_err(|error| at(error, inst, kernel))?;
        let bytes = encoded.bytes();
        if let Some(place) = out.code.get_mut(offset..offset + bytes.len()) {
            place.copy_from_slice(&bytes);
        }
    }
    finish(&mut out, code, isa, kernel)?;
    Ok(out)
}

/// Ends the program, if it does not end itself, and pads it.
fn finish(out: &mut Encoded, code: &Code, isa: Isa, kernel: &Kernel) -> Result<(), Error> {
    let stops = code.iter().rev().find_map(|block| block.last());
    let mut end = Vec::new();
    if stops.is_none_or(|inst| inst.op != Op::Stop) {
        end.push(Machine::new(Op::Stop, None));
    }
    end.resize(end.len() + TRAPS, Machine::new(Op::Trap, None));
    for inst in &end {
        let encoded = build(inst, 0, isa).map_err(|error| at(error, inst, kernel))?;
        out.code.extend_from_slice(&encoded.bytes());
    }
    Ok(())
}

fn build(inst: &Machine, distance: i32, isa: Isa) -> Result<Instruction, ErrorKind> {
    let mut builder = Builder::new(isa, inst.op).saturate(inst.saturate);
    if let Some(name) = inst.name {
        builder = builder.named(name);
    }
    for &(field, operand) in &inst.operands {
        builder = builder.set(field, operand);
    }
    if inst.target.is_some() {
        builder = builder.set(Field::Target, Operand::Target(distance));
    }
    builder
        .build()
        .map_err(|error| ErrorKind::Internal(error.to_string()))
}

/// An error with the source line of the instruction that caused it.
fn at(kind: ErrorKind, inst: &Machine, kernel: &Kernel) -> Error {
    let line = inst.loc.and_then(|loc| kernel.lines.get(loc));
    Error {
        kind,
        file: line.and_then(|line| kernel.program.files.get(line.file as usize).cloned()),
        line: line.map_or(0, |line| line.line),
    }
}
