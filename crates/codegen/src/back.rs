//! Virtual registers to machine code.
//!
//! One pass per file, in this order:
//!
//! | pass | what it decides |
//! |---|---|
//! | `liveness`, `ranges` | where every half register is needed |
//! | `allocate` | which half registers |
//! | `assign`, `copies` | instructions over them; parallel copies become moves |
//! | `waits` | where to wait for memory |
//! | `encode` | bytes, jumps, source lines |

mod allocate;
mod assign;
mod bits;
mod coalesce;
mod copies;
mod dag;
mod dead;
mod encode;
mod fit;
mod forward;
mod groups;
mod hints;
mod liveness;
mod machine;
mod peephole;
mod pressure;
mod propagate;
mod ranges;
mod reload;
mod schedule;
mod spill;
mod waits;

use crate::mir::{Function, Kernel};
use crate::{Error, Options};
use assay_agx::{Field, Op, Operand, Program, Reg};
use encode::Encoded;
use machine::Machine;

pub(crate) use bits::BitSet;
pub(crate) use liveness::mask;

/// Schedules, allocates, places waits and encodes.
pub fn finish(kernel: Kernel, options: &Options) -> Result<Program, Error> {
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
    Ok(Program {
        isa: options.isa,
        code: main.encoded.code,
        lines: main.encoded.lines,
        constant_program: constant,
        half_registers: Some(main.halves),
        scratch_bytes: (main.stack_bytes != 0).then_some(main.stack_bytes),
        ..kernel.program
    })
}

/// The code of one function.
struct Part {
    encoded: Encoded,
    halves: u16,
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
    let bounds = allocate::Bounds {
        first: u16::from(function.uses_exec),
        limit,
    };
    schedule::schedule(&mut function, bounds.first, limit);
    let allocation = fit::fit(&mut function, bounds)?;
    let function = &function;
    let mut code = assign::assign(function, &allocation)?;
    let (start, stack_bytes) = prologue(function, function.stack_bytes);
    peephole::clean(&mut code);
    waits::insert_waits(&mut code);
    hints::set_hints(&mut code, function);
    Ok(Part {
        encoded: encode::encode(&start, &code, options.isa, kernel)?,
        halves: allocation.halves,
        stack_bytes,
    })
}

/// What comes before everything: room on the stack, and the nesting counter at zero.
/// Gives the bytes of stack too.
fn prologue(function: &Function, stack_bytes: u32) -> (Vec<Machine>, u32) {
    let mut start = Vec::new();
    let mut bytes = 0;
    if stack_bytes != 0 {
        // Compilers reserve ten words beyond what they use, for what is not known.
        let words = (stack_bytes.div_ceil(4) + 10).next_multiple_of(4);
        bytes = words * 4;
        start.push(
            Machine::new(Op::StackAdjust, None).with(Field::Index, Operand::Imm(i64::from(words))),
        );
    }
    if function.uses_exec {
        start.push(copies::immediate(Reg::half(0), 0, None));
    }
    (start, bytes)
}
