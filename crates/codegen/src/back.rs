//! Virtual registers to machine code.
//!
//! One pass per file, in this order:
//!
//! | pass | what it decides |
//! |---|---|
//! | `propagate`, `forward`, `dead` | which copies and results nobody needs |
//! | `schedule`, on a `region` with its `dag`, with `counts` and `time` | which of several orders: `narrow` ones need few registers, `overlap` asks memory early |
//! | `liveness`, `ranges`, `pressure` | where every half register is needed |
//! | `groups`, `coalesce` | which registers become one, or neighbours |
//! | `allocate` | which half registers |
//! | `spill`, `reload`, under `fit` | what is made again or kept on the stack |
//! | `assign`, `copies` | instructions over half registers; parallel copies become moves |
//! | `peephole` | jumps and mask levels that do nothing |
//! | `waits` | slots, and where to wait for memory |
//! | `hints` | what the register cache keeps and drops |
//! | `encode` | bytes, jumps, source lines |
//!
//! What is not done: a register is in one place or on the stack for all of its life (no
//! splitting between), and blocks are scheduled one by one.

mod allocate;
mod assign;
mod coalesce;
mod copies;
mod counts;
mod dag;
mod dead;
mod encode;
mod fit;
mod forward;
mod groups;
mod hints;
mod liveness;
mod machine;
mod narrow;
mod overlap;
mod peephole;
mod pressure;
mod propagate;
mod ranges;
mod ready;
mod region;
mod reload;
mod remake;
mod schedule;
mod spill;
mod time;
mod waits;

use crate::mir::{Function, Kernel};
use crate::{Error, ErrorKind, Options};
use allocate::{Allocation, Bounds};
use assay_agx::{Field, Op, Operand, Program, Reg};
use encode::Encoded;
use machine::{Code, Machine};

pub(crate) use liveness::mask;

/// What a thread of the main program keeps in memory of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Bytes of arrays that stayed in memory.
    pub array_bytes: u32,
    /// Bytes of registers that found no place.
    pub spilled_bytes: u32,
}

/// Schedules, allocates, places waits and encodes.
pub fn finish(kernel: Kernel, options: &Options) -> Result<Program, Error> {
    finish_with_frame(kernel, options).map(|(program, _)| program)
}

/// The same, and what is in the scratch memory that the program asks for.
pub fn finish_with_frame(kernel: Kernel, options: &Options) -> Result<(Program, Frame), Error> {
    let limit = kernel.register_limit.min(allocate::FILE);
    let main = part(kernel.main.clone(), limit, &kernel, options)?;
    let constant = match &kernel.constant {
        Some(function) => {
            part(function.clone(), allocate::FILE, &kernel, options)?
                .encoded
                .code
        }
        None => Vec::new(),
    };
    let frame = Frame {
        array_bytes: kernel.main.stack_bytes,
        spilled_bytes: main.used_bytes.saturating_sub(kernel.main.stack_bytes),
    };
    let program = Program {
        isa: options.isa,
        code: main.encoded.code,
        lines: main.encoded.lines,
        placeholders: main.encoded.placeholders,
        constant_program: constant,
        half_registers: Some(main.halves),
        scratch_bytes: (main.stack_bytes != 0).then_some(main.stack_bytes),
        ..kernel.program
    };
    Ok((program, frame))
}

/// The code of one function.
struct Part {
    encoded: Encoded,
    halves: u16,
    /// Bytes of arrays and spills.
    used_bytes: u32,
    /// Bytes of the stack, with what compilers reserve.
    stack_bytes: u32,
}

fn part(
    mut function: Function,
    limit: u16,
    kernel: &Kernel,
    options: &Options,
) -> Result<Part, Error> {
    debug_assert_eq!(function.verify(), Ok(()));
    propagate::propagate(&mut function);
    forward::forward_copies(&mut function);
    dead::remove_dead(&mut function);
    let bounds = Bounds {
        first: match function.uses_selector {
            true => 2,
            false => u16::from(function.uses_exec),
        },
        limit,
    };
    let (function, allocation) = &place(function, bounds)?;
    let mut code = assign::assign(function, allocation)?;
    peephole::clean(&mut code);
    let (start, stack_bytes) = prologue(&code, function);
    waits::insert_waits(&mut code);
    hints::set_hints(&mut code, function);
    Ok(Part {
        encoded: encode::encode(&start, &code, options.isa, kernel)?,
        halves: allocation.halves.max(bounds.first),
        used_bytes: function.stack_bytes,
        stack_bytes,
    })
}

/// Schedules and allocates. Of several tries the best is the one that keeps least on the
/// stack, then the one in the best row of the occupancy table, then the first.
fn place(function: Function, bounds: Bounds) -> Result<(Function, Allocation), ErrorKind> {
    let mut best: Option<((u32, usize), Function, Allocation)> = None;
    let mut schedules = schedule::Schedules::new(&function, bounds);
    for aim in schedule::Aim::ALL {
        let Some((mut tried, needed)) = schedules.schedule(aim) else {
            continue;
        };
        // What keeps more on the stack than the best is no better.
        let most_stack = best.as_ref().map_or(u32::MAX, |((stack, _), ..)| *stack);
        let allocation = match fit::fit(&mut tried, bounds, most_stack) {
            Ok(allocation) => allocation,
            Err(_) if aim != schedule::Aim::AsIs || best.is_some() => continue,
            Err(error) => return Err(error),
        };
        let score = (tried.stack_bytes, allocate::row(allocation.halves));
        let hoped = (function.stack_bytes, allocate::row(needed));
        if best.as_ref().is_none_or(|(best, _, _)| score < *best) {
            best = Some((score, tried, allocation));
        }
        if score <= hoped {
            break;
        }
    }
    let none = || ErrorKind::Internal("no schedule was tried".to_owned());
    best.map(|(_, function, allocation)| (function, allocation))
        .ok_or_else(none)
}

/// What comes before everything: room on the stack, the nesting counter and the selector
/// of shuffles at zero. Gives the bytes of stack too.
fn prologue(code: &Code, function: &Function) -> (Vec<Machine>, u32) {
    let mut start = Vec::new();
    let mut bytes = 0;
    let stack_bytes = function.stack_bytes;
    if stack_bytes != 0 {
        // Compilers reserve ten words beyond what they use, for what is not known.
        let words = (stack_bytes.div_ceil(4) + 10).next_multiple_of(4);
        bytes = words * 4;
        start.push(
            Machine::new(Op::StackAdjust, None).with(Field::Index, Operand::Imm(i64::from(words))),
        );
    }
    if function.uses_exec && code.iter().flatten().any(Machine::uses_counter) {
        start.push(copies::immediate(Reg::half(0), 0, None));
    }
    if function.uses_selector {
        start.push(copies::immediate(Reg::half(1), 0, None));
    }
    (start, bytes)
}
