//! Queues under load: what threads, queues and events promise about memory. Run under ThreadSanitizer too (docs/metal.md).

use super::{COMMAND_BUFFER, COMPLETED, CommandBuffer, commit, moved, queue};
use crate::command::{Command, Origin};
use crate::resource::{BUFFER, Buffer, buffer, lock};
use crate::sync;
use assay_objc::Strong;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const THREADS: usize = 4;
const ROUNDS: usize = 100;

fn fill(memory: &Strong, from: usize, value: u8) -> Command {
    Command::Fill {
        buffer: memory.clone(),
        from,
        length: 64,
        value,
        origin: Arc::new(Origin::default()),
    }
}

/// A command buffer of a queue with these commands, committed.
fn committed(queue: &Strong, commands: Vec<Command>) -> Strong {
    let made = moved(queue, &Strong::nil());
    with(&made, |buffer| *lock(&buffer.commands) = commands);
    commit(&made);
    made
}

fn with<T>(commands: &Strong, act: impl FnOnce(&CommandBuffer) -> T) -> T {
    // SAFETY: the reference keeps it.
    let known = unsafe { COMMAND_BUFFER.state::<CommandBuffer>(commands.id()) };
    act(known.expect("a command buffer"))
}

fn byte(memory: &Strong, at: usize) -> u8 {
    // SAFETY: the reference keeps it, and the queues have said that they are done with it.
    unsafe {
        let known = BUFFER.state::<Buffer>(memory.id()).expect("a buffer");
        known.start().add(at).read()
    }
}

/// Each thread fills its own bytes by two queues, of which the second waits for the first, and reads what is there after a wait.
#[test]
fn what_a_command_buffer_wrote_is_seen_by_who_waits_for_it() {
    crate::register();
    let shared = queue(Strong::nil());
    let memory = buffer(64 * THREADS, 0);
    let ended = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (shared, memory, ended) = (&shared, &memory, &ended);
            scope.spawn(move || {
                let own = queue(Strong::nil());
                let event = sync::event();
                for round in 0..ROUNDS {
                    let value = round as u64 + 1;
                    let second = vec![
                        Command::Wait(event.clone(), value),
                        fill(memory, 64 * thread, round as u8),
                    ];
                    let second = committed(&own, second);
                    let first = vec![
                        fill(memory, 64 * thread, 255),
                        Command::Signal(event.clone(), value),
                    ];
                    committed(shared, first);
                    with(&second, CommandBuffer::wait);
                    assert_eq!(with(&second, CommandBuffer::status), COMPLETED);
                    assert_eq!(byte(memory, 64 * thread + 63), round as u8);
                    ended.fetch_add(1, Relaxed);
                }
            });
        }
    });
    assert_eq!(ended.load(Relaxed), THREADS * ROUNDS);
}

/// Buffers of one queue run in the order of their commits, whichever thread commits them, and one that failed ends nothing but itself.
#[test]
fn a_command_buffer_that_fails_stops_no_other() {
    crate::register();
    let line = queue(Strong::nil());
    let memory = buffer(64, 0);
    let event = sync::event();
    let refused = vec![
        Command::Refused("too large".to_owned()),
        fill(&memory, 0, 1),
        Command::Signal(event.clone(), 1),
    ];
    let refused = committed(&line, refused);
    let after = vec![Command::Wait(event, 1), fill(&memory, 0, 7)];
    let after = committed(&line, after);
    with(&after, CommandBuffer::wait);
    with(&refused, CommandBuffer::wait);
    let [failed, completed] = [&refused, &after].map(|one| with(one, CommandBuffer::status));
    assert_eq!((failed, completed), (super::FAILED, COMPLETED));
    assert_eq!(byte(&memory, 0), 7);
}
