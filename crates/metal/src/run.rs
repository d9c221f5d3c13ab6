//! What becomes of the commands of a command buffer, on the thread of its queue.

use crate::address::{self, Allocation};
use crate::command::{Bound, Command, Dispatch, Extent, Origin};
use crate::counters;
use crate::library::{PIPELINE, Pipeline};
use crate::order::{Course, Work};
use crate::queue::event;
use crate::report::{self, Told, dispatched, fault, log, wrong_dispatch};
use crate::resource::{BUFFER, Buffer};
use crate::sampler::{SAMPLER, SamplerState};
use crate::settings::settings;
use crate::sync::fence_number;
use crate::texture::{TEXTURE, Texture};
use assay_exec::{Bindings, Footprint, Forgiven, Grid, Limits};
use assay_objc::Strong;
use std::sync::Arc;
use std::time::Instant;

fn buffer(object: &Strong) -> Option<&Buffer> {
    // SAFETY: the reference keeps it.
    unsafe { BUFFER.state::<Buffer>(object.id()) }
}

/// Runs commands in order. An error ends them, and is what the command buffer tells. What is checked follows the course of passes.
pub(crate) fn run(commands: &[Command], mut course: Option<&mut Course>) -> Result<(), String> {
    for (at, command) in commands.iter().enumerate() {
        match command {
            Command::Begin(is_concurrent) => {
                if let Some(course) = course.as_deref_mut() {
                    begin(*is_concurrent, &commands[at + 1..], course);
                }
            }
            Command::Dispatch(one) => dispatch(one, course.as_deref_mut())?,
            Command::Fill { .. } | Command::Copy { .. } => {
                let footprint = blit(command);
                if let (Some(course), Some((footprint, origin))) =
                    (course.as_deref_mut(), footprint)
                {
                    compare(course, footprint, buffers_of(command), origin);
                }
            }
            Command::Texels(copy) => copy.run(),
            Command::Sample(samples, index) => counters::sample(samples, *index),
            Command::Signal(object, value) => {
                let Some(event) = event(object) else { continue };
                if let Some(course) = course.as_deref_mut() {
                    course.signal(event.number(), *value);
                }
                event.set(object.id(), *value);
            }
            Command::Wait(object, value) => {
                let Some(event) = event(object) else { continue };
                event.wait(*value, None);
                if let Some(course) = course.as_deref_mut() {
                    course.wait(event.number(), *value);
                }
            }
            order => {
                if let Some(course) = course.as_deref_mut() {
                    follow(order, course);
                }
            }
        }
    }
    Ok(())
}

/// An encoder begins. It waits for its fences here, wherever in it the program encodes the wait: so do drivers, and programs that learn
/// only at the end what they depend on rely on it.
fn begin(is_concurrent: bool, rest: &[Command], course: &mut Course) {
    course.begin(is_concurrent);
    let own = rest
        .iter()
        .take_while(|command| !matches!(command, Command::Begin(_)));
    for command in own {
        if let Command::WaitForFence(fence) = command
            && let Some(fence) = fence_number(fence)
        {
            course.wait_fence(fence);
        }
    }
}

/// What only orders work.
fn follow(command: &Command, course: &mut Course) {
    match command {
        Command::Overlap(does) => course.overlap(*does),
        Command::Barrier => course.barrier(),
        Command::BarrierFor(ranges) => course.barrier_for(ranges),
        Command::UpdateFence(fence) => fence_number(fence)
            .into_iter()
            .for_each(|fence| course.update_fence(fence)),
        _ => {}
    }
}

/// Copies or fills, and says which bytes that accessed.
fn blit(command: &Command) -> Option<(Footprint, &Arc<Origin>)> {
    let mut footprint = Footprint::default();
    // An offset that lies outside has a length of zero: the encoder has cut the range to the buffer.
    let range = |buffer: &Buffer, at: usize, length: usize| {
        let start = buffer.range().start.saturating_add(at as u64);
        start..start.saturating_add(length as u64)
    };
    match command {
        Command::Fill {
            buffer: object,
            from,
            length,
            value,
            origin,
        } => {
            let known = buffer(object)?;
            // SAFETY: the encoder has cut the range to the buffer.
            unsafe {
                known
                    .start()
                    .wrapping_add(*from)
                    .write_bytes(*value, *length)
            };
            if settings().check {
                footprint.writes.insert(range(known, *from, *length));
            }
            Some((footprint, origin))
        }
        Command::Copy {
            from,
            at,
            to,
            to_at,
            length,
            origin,
        } => {
            let (from, to) = (buffer(from)?, buffer(to)?);
            // SAFETY: as above; the ranges may overlap.
            unsafe {
                std::ptr::copy(
                    from.start().wrapping_add(*at),
                    to.start().wrapping_add(*to_at),
                    *length,
                )
            };
            if settings().check {
                footprint.reads.insert(range(from, *at, *length));
                footprint.writes.insert(range(to, *to_at, *length));
            }
            Some((footprint, origin))
        }
        _ => None,
    }
}

/// The buffers that a command of a blit encoder names.
fn buffers_of(command: &Command) -> Vec<&Buffer> {
    match command {
        Command::Fill { buffer: object, .. } => buffer(object).into_iter().collect(),
        Command::Copy { from, to, .. } => buffer(from).into_iter().chain(buffer(to)).collect(),
        _ => Vec::new(),
    }
}

/// Compares what a command accessed with what nothing orders before it.
fn compare(course: &mut Course, all: Footprint, buffers: Vec<&Buffer>, origin: &Arc<Origin>) {
    let mut untracked = Footprint::default();
    if buffers.iter().any(|buffer| !buffer.is_tracked()) {
        untracked = all.clone();
        for tracked in buffers.iter().filter(|buffer| buffer.is_tracked()) {
            untracked.forget(tracked.range());
        }
    }
    let races = course.ran(Work {
        all,
        untracked,
        origin: Arc::clone(origin),
    });
    for race in races {
        let found = buffers
            .iter()
            .find(|buffer| buffer.range().contains(&race.address));
        let place = match found {
            Some(buffer) => format!(
                "offset {} of a {}",
                race.address - buffer.range().start,
                buffer.name()
            ),
            None => "memory without a name".to_owned(),
        };
        let advice = match race.rule {
            "missing-barrier" => {
                "memoryBarrierWithScope: or memoryBarrierWithResources: between them orders them"
            }
            "missing-fence" => {
                "the buffer is not tracked: updateFence: in the first encoder and waitForFence: in the second orders them"
            }
            _ => {
                "they are of two queues: an event, or waitUntilCompleted before the second commit, orders them"
            }
        };
        let [first, second] = race.actions;
        report::report(&Told {
            kind: report::Kind::Race,
            rule: race.rule,
            text: format!(
                "nothing orders dispatches {} and {}: {first} by the one and {second} by the other of {} bytes, from {place} on; {advice}",
                race.first.number, race.second.number, race.bytes
            ),
            same: format!(
                "{} {} {:?} {} {:?}",
                race.rule,
                race.first.kernel,
                race.first.labels,
                race.second.kernel,
                race.second.labels
            ),
            source: None,
            origins: vec![&race.first, &race.second],
            stack: None,
        });
    }
}

/// The grid of a dispatch; nothing if it has no threads.
fn grid(dispatch: &Dispatch) -> Option<Grid> {
    let threadgroup = dispatch.threadgroup;
    let groups = |counts: [u32; 3]| {
        let grid = Grid::groups(counts, threadgroup);
        if grid.is_none() {
            wrong_dispatch(
                &dispatch.origin,
                &format!(
                    "{counts:?} threadgroups of {threadgroup:?} threads are more than 2³² in a direction; it does not run"
                ),
            );
        }
        grid
    };
    let grid = match &dispatch.extent {
        Extent::Threads(threads) => Some(Grid::threads(*threads, threadgroup)),
        Extent::Groups(counts) => groups(*counts),
        Extent::Indirect(object, offset) => {
            let place = buffer(object).filter(|buffer| offset.saturating_add(12) <= buffer.length);
            let Some(buffer) = place else {
                wrong_dispatch(
                    &dispatch.origin,
                    "the indirect arguments lie outside their buffer; it does not run",
                );
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

fn bind(
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
                if !dispatch.textures.iter().any(|(known, _)| *known == index) =>
            {
                wrong_dispatch(
                    &dispatch.origin,
                    &format!("nothing is bound at texture index {index}; it does not run"),
                );
                return None;
            }
            Place::Sampler(index)
                if !dispatch.samplers.iter().any(|(known, _)| *known == index) =>
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
    for (index, object) in &dispatch.samplers {
        // SAFETY: the command keeps the sampler.
        if let Some(state) = unsafe { SAMPLER.state::<SamplerState>(object.id()) } {
            bindings.set_sampler(*index, state.sampler);
        }
    }
}

fn dispatch(dispatch: &Dispatch, course: Option<&mut Course>) -> Result<(), String> {
    // SAFETY: the command keeps it.
    let Some(pipeline) = (unsafe { PIPELINE.state::<Pipeline>(dispatch.pipeline.id()) }) else {
        return Err("the pipeline is not one of this device".to_owned());
    };
    let Some((kernel, checked)) = pipeline.kernel() else {
        return Ok(());
    };
    if settings().no_execute {
        return Ok(());
    }
    let Some(grid) = grid(dispatch) else {
        return Ok(());
    };
    let Some((mut bindings, _residents)) = bind(dispatch, pipeline, checked) else {
        return Ok(());
    };
    let start = Instant::now();
    let program = kernel.program();
    let forgiven = Forgiven::default();
    let limits = Limits {
        forgiven: Some(&forgiven),
        ..Limits::default()
    };
    let outcome =
        match course.filter(|course| checked && course.is_wanted(|| has_untracked(dispatch))) {
            Some(course) => {
                let mut footprint = Footprint::default();
                let outcome = program.check_watching(&grid, &mut bindings, &limits, &mut footprint);
                forget_copies(dispatch, &mut bindings, &mut footprint);
                compare(course, footprint, bound_buffers(dispatch), &dispatch.origin);
                outcome
            }
            None if checked => program.check(&grid, &mut bindings, &limits),
            None => program
                .run(&grid, &mut bindings, &limits)
                .map(|_| Vec::new()),
        };
    dispatched(start.elapsed());
    log(2, || {
        format!(
            "{}: {grid:?} in {:.3} ms",
            dispatch.origin,
            start.elapsed().as_secs_f64() * 1e3
        )
    });
    match outcome {
        Ok(reports) => reports
            .iter()
            .for_each(|one| tell_report(one, dispatch, pipeline)),
        Err(why) => fault(&dispatch.origin, why.to_string()),
    }
    for one in forgiven.into_faults() {
        fault(&dispatch.origin, one.to_string());
    }
    Ok(())
}

fn bound_buffers(dispatch: &Dispatch) -> Vec<&Buffer> {
    let bound = dispatch.bound.iter().filter_map(|(_, bound)| match bound {
        Bound::Buffer(object, _) => buffer(object),
        Bound::Bytes(_) => None,
    });
    bound.collect()
}

fn has_untracked(dispatch: &Dispatch) -> bool {
    bound_buffers(dispatch)
        .iter()
        .any(|buffer| !buffer.is_tracked())
}

/// Forgets accesses to copies of `setBytes`, whose memory is no other dispatch's.
fn forget_copies(dispatch: &Dispatch, bindings: &mut Bindings, footprint: &mut Footprint) {
    for (index, bound) in &dispatch.bound {
        if let (Bound::Bytes(_), Some(mut copy)) = (bound, bindings.take(*index)) {
            let range = copy.bytes_mut().as_ptr_range();
            footprint.forget(range.start as u64..range.end as u64);
        }
    }
}

/// Tells a report of the checker with its source line and what was bound.
fn tell_report(one: &assay_exec::Report, dispatch: &Dispatch, pipeline: &Pipeline) {
    let mut text = one.to_string();
    if let Some(index) = one.location.as_ref().and_then(|location| location.buffer) {
        let bound = dispatch.bound.iter().find(|(known, _)| *known == index);
        if let Some((_, Bound::Buffer(object, offset))) = bound
            && let Some(buffer) = buffer(object)
        {
            text.push_str(&format!(
                "; bound is a {} at offset {offset}",
                buffer.name()
            ));
        }
    }
    let other = one.other.as_ref().and_then(|other| other.place.as_deref());
    report::report(&Told {
        kind: report::Kind::Check,
        rule: one.kind.name(),
        text,
        same: format!(
            "{} {} {:?} {other:?}",
            one.kind.name(),
            pipeline.name,
            one.place
        ),
        source: one
            .place
            .as_deref()
            .and_then(|place| pipeline.source_line(place)),
        origins: vec![&dispatch.origin],
        stack: None,
    });
}
