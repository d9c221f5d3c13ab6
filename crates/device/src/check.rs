//! What is checked before anything runs, the same for every device.

use crate::error::Error;
use crate::facts::{DeviceFacts, PipelineFacts};
use assay_launch::Extent;
use assay_ssa::{Argument, Binding as Place};

/// Checks the geometry and gives the number of threads in each direction.
pub(crate) fn threads(
    extent: Extent,
    group: [u32; 3],
    device: &DeviceFacts,
    kernel: &PipelineFacts,
) -> Result<[u32; 3], Error> {
    let counts = match extent {
        Extent::Threads(counts) | Extent::Groups(counts) => counts,
    };
    if group.contains(&0) || counts.contains(&0) {
        let message = "a grid and its threadgroup have at least one thread in each direction";
        return Err(Error::Grid(message.to_owned()));
    }
    let size: u64 = group.iter().map(|&n| u64::from(n)).product();
    let axes = group.iter().zip(device.max_threadgroup);
    if size > u64::from(kernel.max_threads) || axes.into_iter().any(|(&n, most)| n > most) {
        return Err(Error::ThreadgroupTooLarge {
            function: kernel.function.clone(),
            threadgroup: group,
            limit: kernel.max_threads,
        });
    }
    let Extent::Groups(groups) = extent else {
        return Ok(counts);
    };
    let mut threads = [0; 3];
    for (axis, threads) in threads.iter_mut().enumerate() {
        *threads = groups[axis].checked_mul(group[axis]).ok_or_else(|| {
            Error::Grid(format!(
                "{} threadgroups of {} are more threads than 2³² in one direction",
                groups[axis], group[axis]
            ))
        })?;
    }
    Ok(threads)
}

/// Checks that the kernel's own threadgroup memory and what is bound, in bytes each, fit.
pub(crate) fn threadgroup_memory(
    bound: impl Iterator<Item = u32>,
    device: &DeviceFacts,
    kernel: &PipelineFacts,
) -> Result<(), Error> {
    let bound = bound.map(|bytes| u64::from(bytes).next_multiple_of(16));
    let needed = u64::from(kernel.threadgroup_memory) + bound.sum::<u64>();
    if needed > u64::from(device.max_threadgroup_memory) {
        return Err(Error::ThreadgroupMemory {
            function: kernel.function.clone(),
            needed,
            limit: device.max_threadgroup_memory,
        });
    }
    Ok(())
}

/// Checks that what the kernel needs is bound. What it declares and does not use may be left out.
pub(crate) fn required(
    is_bound: impl Fn(Place) -> bool,
    kernel: &PipelineFacts,
    required: impl Iterator<Item = Place>,
) -> Result<(), Error> {
    for place in required {
        let (what, index) = match place {
            Place::Buffer(index) => ("buffer", index),
            Place::Threadgroup(index) => ("threadgroup memory", index),
            Place::Texture(index) => ("texture", index),
            Place::Sampler(index) => ("sampler", index),
            _ => continue,
        };
        if !is_bound(place) {
            return Err(Error::Unbound {
                function: kernel.function.clone(),
                what,
                index,
                name: argument(kernel, place).map_or(String::new(), |found| found.name.clone()),
            });
        }
    }
    Ok(())
}

/// Checks a buffer or bytes against the argument of its index: `size` bytes from `offset` on.
pub(crate) fn binding(
    kernel: &PipelineFacts,
    index: u32,
    offset: u64,
    size: u64,
) -> Result<(), Error> {
    let fail = |why: String| Error::Binding {
        function: kernel.function.clone(),
        index,
        why,
    };
    if offset > size {
        return Err(fail(format!(
            "an offset of {offset} is outside a buffer of {size} bytes"
        )));
    }
    let Some(argument) = argument(kernel, Place::Buffer(index)) else {
        return Ok(());
    };
    let align = u64::from(argument.align.max(1));
    if !offset.is_multiple_of(align) {
        return Err(fail(format!(
            "an offset of {offset} is no multiple of {align}, the alignment of {} \"{}\"",
            argument.type_name, argument.name
        )));
    }
    let needed = argument.buffer_size.map_or(0, u64::from);
    let left = size - offset;
    if left < needed {
        return Err(fail(format!(
            "{} \"{}\" has {needed} bytes, {left} are bound",
            argument.type_name, argument.name
        )));
    }
    Ok(())
}

fn argument(kernel: &PipelineFacts, place: Place) -> Option<&Argument> {
    kernel
        .arguments
        .iter()
        .find(|argument| argument.binding == place)
}
