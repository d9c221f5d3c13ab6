//! Kernels whose threads do not work together, and know only their position in the grid.

use super::{Candidate, Refusal, RefusalKind, pointer_walk, positions};
use assay_opt::remove_dead::remove_dead;
use assay_ssa::{Builtin, Function, InstData, Space, ValueDef};

/// The function of a kernel whose threads are independent, positions within threadgroups expressed by those in the grid;
/// or why it is none.
pub(super) fn threads(candidate: &Candidate) -> Result<Function, Refusal> {
    let function = candidate.function()?;
    alone(candidate, function)?;
    let mut function = function.clone();
    positions::combine(&mut function, &candidate.geometry);
    remove_dead(&candidate.module, &mut function);
    for (builtin, axis) in positions::read(&function) {
        match builtin {
            Builtin::ThreadPositionInGrid | Builtin::ThreadsPerGrid | Builtin::GridSize => {}
            Builtin::ThreadsPerSimdgroup | Builtin::GridOrigin => {}
            _ => {
                let (name, axis) = (builtin.info().name, super::AXES[axis.min(2)]);
                let why = format!("the program depends on {name}.{axis}");
                return Err(Refusal::new(RefusalKind::Positions, &why));
            }
        }
    }
    Ok(function)
}

/// The same for recipes that look at loops: pointers that walk are numbers of rounds.
pub(super) fn counting_threads(candidate: &Candidate) -> Result<Function, Refusal> {
    let mut function = threads(candidate)?;
    pointer_walk::as_counters(candidate.declaration()?, &mut function);
    remove_dead(&candidate.module, &mut function);
    Ok(function)
}

/// Refuses operations and memory that threads share.
fn alone(candidate: &Candidate, function: &Function) -> Result<(), Refusal> {
    let refuse = |why: &str| Err(Refusal::new(RefusalKind::Cooperation, why));
    let kernel = candidate.declaration()?;
    for argument in &kernel.arguments {
        if argument.space == Some(Space::Threadgroup) && !argument.unused {
            return refuse("threads share threadgroup memory");
        }
    }
    for &block in function.blocks() {
        for &inst in function.insts(block) {
            if function.effects(inst).convergent {
                let why = match function.inst(inst) {
                    InstData::Call {
                        callee: assay_ssa::Callee::Builtin(call),
                        ..
                    } => format!("threads work together in {}", call.info().name),
                    _ => "threads may work together in a call".to_owned(),
                };
                return refuse(&why);
            }
            let mut shared = false;
            function.for_each_operand(inst, |value| {
                shared |= matches!(function.def(value), ValueDef::Global(id)
                    if candidate.module.globals.get(id).is_none_or(|g| g.space == Space::Threadgroup));
            });
            if shared {
                return refuse("threads share threadgroup memory");
            }
        }
    }
    Ok(())
}
