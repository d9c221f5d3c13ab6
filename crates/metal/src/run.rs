//! What becomes of the commands of a command buffer, on the thread of its queue.

use crate::counters;
use crate::encoder::{Bound, Command, Dispatch, Extent};
use crate::library::{PIPELINE, Pipeline};
use crate::queue::event;
use crate::report::{dispatched, fault, log, report, wrong_use};
use crate::resource::{BUFFER, Buffer};
use crate::settings::settings;
use assay_exec::{Bindings, Grid, Limits};
use assay_objc::Strong;
use std::time::Instant;

fn buffer(object: &Strong) -> Option<&Buffer> {
    // SAFETY: the reference keeps it.
    unsafe { BUFFER.state::<Buffer>(object.id()) }
}

/// Runs commands in order. An error ends them, and is what the command buffer tells.
pub(crate) fn run(commands: &[Command]) -> Result<(), String> {
    for command in commands {
        match command {
            Command::Dispatch(one) => dispatch(one)?,
            Command::Fill {
                buffer: object,
                from,
                length,
                value,
            } => {
                if let Some(buffer) = buffer(object) {
                    // SAFETY: the encoder has cut the range to the buffer.
                    unsafe { buffer.start().add(*from).write_bytes(*value, *length) };
                }
            }
            Command::Copy {
                from,
                at,
                to,
                to_at,
                length,
            } => {
                if let (Some(from), Some(to)) = (buffer(from), buffer(to)) {
                    // SAFETY: as above; the ranges may overlap.
                    unsafe {
                        std::ptr::copy(from.start().add(*at), to.start().add(*to_at), *length)
                    };
                }
            }
            Command::Sample(samples, index) => counters::sample(samples, *index),
            Command::Signal(object, value) => {
                if let Some(event) = event(object) {
                    event.set(object.id(), *value);
                }
            }
            Command::Wait(object, value) => {
                if let Some(event) = event(object) {
                    event.wait(*value, None);
                }
            }
        }
    }
    Ok(())
}

/// The grid of a dispatch; nothing if it has no threads.
fn grid(dispatch: &Dispatch, name: &str) -> Option<Grid> {
    let threadgroup = dispatch.threadgroup;
    let groups = |counts: [u32; 3]| {
        let grid = Grid::groups(counts, threadgroup);
        if grid.is_none() {
            wrong_use(&format!(
                "{name}: {counts:?} threadgroups of {threadgroup:?} threads are more than 2³² in a direction; it does not run"
            ));
        }
        grid
    };
    let grid = match &dispatch.extent {
        Extent::Threads(threads) => Some(Grid::threads(*threads, threadgroup)),
        Extent::Groups(counts) => groups(*counts),
        Extent::Indirect(object, offset) => {
            let place = buffer(object).filter(|buffer| offset.saturating_add(12) <= buffer.length);
            let Some(buffer) = place else {
                wrong_use(&format!(
                    "{name}: the indirect arguments lie outside their buffer; it does not run"
                ));
                return None;
            };
            // SAFETY: twelve bytes from there on are in the buffer.
            groups(unsafe {
                buffer
                    .start()
                    .add(*offset)
                    .cast::<[u32; 3]>()
                    .read_unaligned()
            })
        }
    };
    grid.filter(|grid| !grid.threads.contains(&0) && !threadgroup.contains(&0))
}

/// Bytes behind those of `setBytes` that a kernel may touch unpunished, as on a GPU.
const SLACK: usize = 64;

fn bind(dispatch: &Dispatch, pipeline: &Pipeline, exact: bool) -> Option<Bindings> {
    let (kernel, _) = pipeline.kernel()?;
    let mut bindings = Bindings::new();
    let mut owners: Vec<(usize, u32)> = Vec::new();
    for (index, bound) in &dispatch.bound {
        match bound {
            Bound::Bytes(bytes) => {
                let mut copy =
                    assay_exec::Buffer::zeroed(bytes.len() + if exact { 0 } else { SLACK });
                copy.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
                bindings.set(*index, copy);
            }
            Bound::Buffer(object, offset) => {
                let known = buffer(object)?;
                let start = known.start() as usize;
                let owner = owners.iter().find(|(known, _)| *known == start);
                let owner = match owner {
                    Some((_, owner)) => *owner,
                    None => {
                        let length = if exact {
                            known.length
                        } else {
                            known.reachable()
                        };
                        // SAFETY: the command keeps the buffer; the program does not touch it while the GPU works.
                        bindings.set(*index, unsafe {
                            assay_exec::Buffer::lent(known.start(), length, true)
                        });
                        owners.push((start, *index));
                        *index
                    }
                };
                bindings.share(*index, owner, *offset as u64);
            }
        }
    }
    for (index, bytes) in &dispatch.memory {
        bindings.set_threadgroup_memory(*index, *bytes);
    }
    for place in kernel.program().required() {
        use assay_device::ArgumentBinding as Place;
        match place {
            Place::Buffer(index) if !dispatch.bound.iter().any(|(known, _)| *known == index) => {
                wrong_use(&format!(
                    "{}: nothing is bound at buffer index {index}",
                    pipeline.name
                ));
                bindings.set(index, assay_exec::Buffer::zeroed(0));
            }
            Place::Threadgroup(index)
                if !dispatch.memory.iter().any(|(known, _)| *known == index) =>
            {
                wrong_use(&format!(
                    "{}: threadgroup memory {index} has no length",
                    pipeline.name
                ));
                bindings.set_threadgroup_memory(index, 0);
            }
            _ => {}
        }
    }
    Some(bindings)
}

fn dispatch(dispatch: &Dispatch) -> Result<(), String> {
    // SAFETY: the command keeps it.
    let Some(pipeline) = (unsafe { PIPELINE.state::<Pipeline>(dispatch.pipeline.id()) }) else {
        return Err("the pipeline is not one of this device".to_owned());
    };
    let Some((kernel, checked)) = pipeline.kernel() else {
        return Ok(());
    };
    let Some(grid) = grid(dispatch, &pipeline.name) else {
        return Ok(());
    };
    let Some(mut bindings) = bind(dispatch, pipeline, checked) else {
        return Ok(());
    };
    let where_ = match dispatch.label.is_empty() {
        true => pipeline.name.clone(),
        false => format!("{} ({})", pipeline.name, dispatch.label),
    };
    let start = Instant::now();
    let limits = Limits::default();
    let outcome = match checked {
        true => kernel
            .program()
            .check(&grid, &mut bindings, &limits)
            .map(|all| {
                for one in &all {
                    report(&where_, &one.to_string());
                }
                all.len()
            }),
        false => kernel
            .program()
            .run(&grid, &mut bindings, &limits)
            .map(|_| 0),
    };
    dispatched(start.elapsed());
    log(2, || {
        format!(
            "{where_}: {grid:?} in {:.3} ms",
            start.elapsed().as_secs_f64() * 1e3
        )
    });
    match outcome {
        Ok(0) => Ok(()),
        Ok(count) if settings().stop => Err(format!("{where_}: {count} reports")),
        Ok(_) => Ok(()),
        Err(why) => {
            fault(&where_, &why.to_string());
            if settings().stop {
                Err(format!("{where_}: {why}"))
            } else {
                Ok(())
            }
        }
    }
}
