//! What a dispatch binds, as the executor takes it.

use crate::address::{self, Allocation};
use crate::command::{Bound, Dispatch};
use crate::library::Pipeline;
use crate::report::wrong_dispatch;
use crate::run::buffer;
use crate::sampler::{SAMPLER, SamplerState};
use crate::texture::{TEXTURE, Texture};
use assay_exec::Bindings;
use std::sync::Arc;

/// Bytes behind those of `setBytes` that a kernel may touch unpunished, as on a GPU.
const SLACK: usize = 64;

/// Most bytes of threadgroup memory that a dispatch gets, whatever was set: more than a GPU has is reported, and gibibytes take half a minute.
const MOST_THREADGROUP_MEMORY: u32 = 1 << 20;

/// Bytes behind the last threadgroup memory that a kernel may touch unpunished: a GPU has 32 KiB for a threadgroup whatever its kernel
/// asks for. A checked run has none of them.
fn threadgroup_slack(pipeline: &Pipeline, given: u32) -> u32 {
    const ALL: u64 = 32 << 10;
    const MOST: u64 = 1 << 10;
    let used = pipeline.threadgroup_memory() + u64::from(given);
    ALL.saturating_sub(used).min(MOST) as u32
}

/// Makes all that has an address reachable for a kernel that follows addresses. What is given back keeps it.
fn make_resident(bindings: &mut Bindings, exact: bool) -> Vec<Arc<Allocation>> {
    let all = address::all();
    for allocation in &all {
        // SAFETY: the allocation is kept until the dispatch has run; the program does not touch it while the GPU works.
        unsafe { allocation.make_resident(bindings, exact) };
    }
    all
}

/// The bindings of a dispatch, and what they keep. Nothing if it cannot run.
pub(crate) fn bind(
    dispatch: &Dispatch,
    pipeline: &Pipeline,
    exact: bool,
) -> Option<(Bindings, Vec<Arc<Allocation>>)> {
    let (kernel, _) = pipeline.kernel()?;
    let mut bindings = Bindings::new();
    let residents = match kernel.program().follows_pointers() {
        true => make_resident(&mut bindings, exact),
        false => Vec::new(),
    };
    let mut owners: Vec<(usize, u32)> = Vec::new();
    for (index, bound) in &dispatch.bound {
        match bound {
            Bound::Bytes(bytes) => {
                let mut copy =
                    assay_exec::Buffer::zeroed(bytes.len() + if exact { 0 } else { SLACK });
                copy.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
                bindings.set(*index, copy);
            }
            Bound::Address(allocation, offset) => {
                if !residents.is_empty() {
                    bindings.share_resident(*index, allocation.number(), *offset);
                    continue;
                }
                let length = if exact {
                    allocation.length
                } else {
                    allocation.reachable()
                };
                let owner = owners.iter().find(|(known, _)| *known == allocation.start);
                let owner = owner.map_or(*index, |(_, owner)| *owner);
                if owner == *index {
                    // SAFETY: the command keeps the memory; the program does not touch it while the GPU works.
                    bindings.set(*index, unsafe {
                        assay_exec::Buffer::lent(allocation.start as *mut u8, length, true)
                    });
                    owners.push((allocation.start, *index));
                }
                bindings.share(*index, owner, *offset);
            }
            Bound::Buffer(object, offset) => {
                let known = buffer(object)?;
                if known.is_purged() {
                    wrong_dispatch(
                        &dispatch.origin,
                        &format!(
                            "buffer index {index} has a {} that is purged: its purgeable state is empty",
                            known.name()
                        ),
                    );
                }
                if !residents.is_empty() && known.allocation.number() > 0 {
                    bindings.share_resident(*index, known.allocation.number(), *offset as u64);
                    continue;
                }
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
    bind_textures(dispatch, &mut bindings);
    let given: u32 = dispatch
        .memory
        .iter()
        .fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes));
    for (at, (index, bytes)) in dispatch.memory.iter().enumerate() {
        let is_last = at + 1 == dispatch.memory.len();
        let more = if is_last && !exact {
            threadgroup_slack(pipeline, given)
        } else {
            0
        };
        let bytes = bytes.saturating_add(more).min(MOST_THREADGROUP_MEMORY);
        bindings.set_threadgroup_memory(*index, bytes);
    }
    for place in kernel.program().required() {
        use assay_device::ArgumentBinding as Place;
        match place {
            Place::Buffer(index) if !dispatch.bound.iter().any(|(known, _)| *known == index) => {
                wrong_dispatch(
                    &dispatch.origin,
                    &format!("nothing is bound at buffer index {index}"),
                );
                bindings.set(index, assay_exec::Buffer::zeroed(0));
            }
            Place::Threadgroup(index)
                if !dispatch.memory.iter().any(|(known, _)| *known == index) =>
            {
                wrong_dispatch(
                    &dispatch.origin,
                    &format!("threadgroup memory {index} has no length"),
                );
                bindings.set_threadgroup_memory(index, 0);
            }
            Place::Texture(index)
                if !dispatch.textures.iter().any(|(known, _)| *known == index)
                    && !named(dispatch, index, Allocation::is_texture) =>
            {
                wrong_dispatch(
                    &dispatch.origin,
                    &format!("nothing is bound at texture index {index}; it does not run"),
                );
                return None;
            }
            Place::Sampler(index)
                if !dispatch.samplers.iter().any(|(known, _)| *known == index)
                    && !named(dispatch, index, Allocation::is_sampler) =>
            {
                wrong_dispatch(
                    &dispatch.origin,
                    &format!(
                        "nothing is bound at sampler index {index}; a sampler by default is taken"
                    ),
                );
                bindings.set_sampler(index, assay_texture::Sampler::default());
            }
            _ => {}
        }
    }
    Some((bindings, residents))
}

/// Whether an argument table names something of a kind at an index.
fn named(dispatch: &Dispatch, index: u32, is_one: impl Fn(&Allocation) -> bool) -> bool {
    let mut all = dispatch.resources.iter();
    all.any(|(known, allocation)| *known == index && is_one(allocation))
}

fn bind_textures(dispatch: &Dispatch, bindings: &mut Bindings) {
    let mut owners: Vec<(usize, u32)> = Vec::new();
    for (index, object) in &dispatch.textures {
        // SAFETY: the command keeps the texture; the program does not touch it while the GPU works.
        let bound = unsafe {
            TEXTURE
                .state::<Texture>(object.id())
                .and_then(|texture| texture.bound())
        };
        let Some(bound) = bound else { continue };
        match owners
            .iter()
            .find(|(known, _)| *known == object.id() as usize)
        {
            Some((_, owner)) => bindings.share_texture(*index, *owner),
            None => {
                bindings.set_texture(*index, bound);
                owners.push((object.id() as usize, *index));
            }
        }
    }
    for (index, allocation) in &dispatch.resources {
        // SAFETY: the command keeps the memory; the program does not touch it while the GPU works.
        unsafe { allocation.bind(*index, bindings) };
    }
    for (index, object) in &dispatch.samplers {
        // SAFETY: the command keeps the sampler.
        if let Some(state) = unsafe { SAMPLER.state::<SamplerState>(object.id()) } {
            bindings.set_sampler(*index, state.sampler);
        }
    }
}
