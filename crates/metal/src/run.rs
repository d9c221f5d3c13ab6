//! What becomes of the commands of a command buffer, on the thread of its queue.

use crate::bind::bind;
use crate::clock;
use crate::command::{Bound, Command, Dispatch, Extent, Origin};
use crate::counters;
use crate::deferred;
use crate::library::{PIPELINE, Pipeline};
use crate::order::{Course, Work};
use crate::queue::event;
use crate::report::{self, Told, dispatched, fault, log, wrong_dispatch};
use crate::resource::{BUFFER, Buffer};
use crate::settings::{Skip, settings};
use crate::sync::fence_number;
use assay_exec::{Bindings, Footprint, Forgiven, Grid, Limits};
use assay_objc::Strong;
use std::sync::Arc;
use std::time::Instant;

pub(crate) fn buffer(object: &Strong) -> Option<&Buffer> {
    // SAFETY: the reference keeps it.
    unsafe { BUFFER.state::<Buffer>(object.id()) }
}

/// Runs commands in order. An error ends them, and is what the command buffer tells; events are signalled all the same, so that what
/// waits for one goes on. What is checked follows the course of passes.
pub(crate) fn run(
    commands: &[Command],
    log: &Strong,
    course: Option<&mut Course>,
) -> Result<(), String> {
    let mut done = 0;
    let outcome = run_counting(commands, log, course, &mut done);
    if outcome.is_err() {
        for command in commands.iter().skip(done) {
            if let Command::Signal(object, value) = command
                && let Some(event) = event(object)
            {
                event.set(object.id(), *value);
            }
        }
    }
    outcome
}

/// The same; counts the commands it comes to.
fn run_counting(
    commands: &[Command],
    log: &Strong,
    mut course: Option<&mut Course>,
    done: &mut usize,
) -> Result<(), String> {
    for (at, command) in commands.iter().enumerate() {
        *done = at;
        match command {
            Command::Refused(why) => return Err(why.clone()),
            Command::Begin(is_concurrent) => {
                if let Some(course) = course.as_deref_mut() {
                    begin(*is_concurrent, &commands[at + 1..], course);
                }
            }
            _ if is_put_off(command) => {}
            Command::Dispatch(one) => dispatch(one, log, course.as_deref_mut())?,
            Command::Fill { .. } | Command::Copy { .. } => {
                let footprint = blit(command);
                if let (Some(course), Some((footprint, origin))) =
                    (course.as_deref_mut(), footprint)
                {
                    compare(course, footprint, buffers_of(command), origin);
                }
            }
            Command::Texels(copy) => copy.run(),
            // The modelled clock knows its times when the command buffer has run.
            Command::Sample(samples, index, _) if !clock::is_on() => {
                counters::set(samples, *index, assay_foundation::system::nanoseconds());
            }
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

/// Returns true if a command does not run, or not yet.
fn is_put_off(command: &Command) -> bool {
    let has_work = matches!(
        command,
        Command::Dispatch(_) | Command::Fill { .. } | Command::Copy { .. } | Command::Texels(_)
    );
    match settings().skip {
        Skip::None => false,
        Skip::All => matches!(command, Command::Dispatch(_)),
        Skip::Unread => has_work && deferred::put_off(command),
    }
}

/// Runs a command that was put off.
pub(crate) fn catch_up(command: &Command) {
    if let Command::Dispatch(one) = command {
        // What stops it was told, and the command buffer has ended long ago.
        let _ = dispatch(one, &Strong::nil(), None);
    } else {
        blit(command);
    }
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
        Extent::At(allocation, offset) => {
            let inside = offset.saturating_add(12) <= allocation.length as u64;
            if !inside {
                wrong_dispatch(
                    &dispatch.origin,
                    "the indirect arguments lie outside their buffer; it does not run",
                );
                return None;
            }
            let place = allocation.start as u64 + offset;
            // SAFETY: twelve bytes from there on are in the allocation, which the command keeps.
            groups(unsafe { (place as *const [u32; 3]).read_unaligned() })
        }
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

fn dispatch(
    dispatch: &Dispatch,
    log_state: &Strong,
    course: Option<&mut Course>,
) -> Result<(), String> {
    // SAFETY: the command keeps it.
    let Some(pipeline) = (unsafe { PIPELINE.state::<Pipeline>(dispatch.pipeline.id()) }) else {
        return Err("the pipeline is not one of this device".to_owned());
    };
    let Some((kernel, checked)) = pipeline.kernel() else {
        return Ok(());
    };
    let Some(grid) = grid(dispatch) else {
        return Ok(());
    };
    let Some((mut bindings, _residents)) = bind(dispatch, pipeline, checked) else {
        return Ok(());
    };
    let logged = pipeline
        .logs()
        .then(|| crate::log::bind(log_state, &mut bindings));
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
    if let Some(words) = logged {
        crate::log::deliver(log_state, &words);
    }
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
        Bound::Bytes(_) | Bound::Address(..) => None,
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
