//! Command queues and command buffers. Each queue has a thread that runs its command buffers in the order of their commits (or of
//! `enqueue`), and then calls their handlers.

use crate::counters;
use crate::device;
use crate::encoder::{self, Command};
use crate::plain;
use crate::report::wrong_use;
use crate::resource::lock;
use crate::run;
use crate::sync::{EVENT, Event};
use assay_foundation::string::{string, text};
use assay_foundation::system::nanoseconds;
use assay_objc::block::{Block, Callback};
use assay_objc::pool::autoreleasepool;
use assay_objc::root::NSOBJECT;
use assay_objc::{Bool, Id, Strong, class};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// What a queue and its thread share.
#[derive(Debug, Default)]
struct Line {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    buffers: VecDeque<Strong>,
    has_thread: bool,
    closed: bool,
}

/// A command queue.
#[derive(Debug, Default)]
pub struct Queue {
    line: Arc<Line>,
    label: Mutex<Strong>,
}

impl Drop for Queue {
    fn drop(&mut self) {
        lock(&self.line.waiting).closed = true;
        self.line.changed.notify_all();
    }
}

pub(crate) fn queue() -> Strong {
    // SAFETY: `Queue` is the state of the class.
    unsafe { QUEUE.make(Queue::default()) }
}

impl Line {
    /// Puts a command buffer at the end, and starts the thread with the first.
    fn append(self: &Arc<Self>, buffer: Strong) {
        let mut waiting = lock(&self.waiting);
        waiting.buffers.push_back(buffer);
        if !waiting.has_thread {
            waiting.has_thread = true;
            let line = Arc::clone(self);
            let thread = std::thread::Builder::new().name("metal queue".to_owned());
            if thread.spawn(move || line.work()).is_err() {
                assay_objc::diagnostics::fatal("a queue cannot start its thread", &[]);
            }
        }
        drop(waiting);
        self.changed.notify_all();
    }

    /// Runs what is committed until the queue is gone.
    fn work(&self) {
        loop {
            let mut waiting = lock(&self.waiting);
            let next = loop {
                let front = waiting.buffers.front().map(Strong::id);
                // SAFETY: the list keeps its command buffers.
                let ready =
                    front.and_then(|id| unsafe { COMMAND_BUFFER.state::<CommandBuffer>(id) });
                if ready.is_some_and(|buffer| buffer.status() >= COMMITTED) {
                    break waiting.buffers.pop_front();
                }
                if waiting.closed && waiting.buffers.is_empty() {
                    return;
                }
                waiting = self
                    .changed
                    .wait(waiting)
                    .unwrap_or_else(PoisonError::into_inner);
            };
            drop(waiting);
            if let Some(next) = next {
                autoreleasepool(|| {
                    // SAFETY: this reference keeps it.
                    let buffer = unsafe { COMMAND_BUFFER.state::<CommandBuffer>(next.id()) };
                    if let Some(buffer) = buffer {
                        buffer.execute(next.id());
                    }
                    drop(next);
                });
            }
        }
    }
}

class! {
    /// `id<MTLCommandQueue>`.
    pub QUEUE = "AssayMTLCommandQueue": NSOBJECT, Queue, ["MTLCommandQueue"];
    - "label" "@@:" (this) -> Id { lock(&this.label).clone().autoreleased() }
    - "setLabel:" "v@:@" (this, label: Id) { *lock(&this.label) = string(text(label)); }
    - "device" "@@:" (this) -> Id { device::shared() }
    - "commandBuffer" "@@:" (this) -> Id { command_buffer(this.id, &this.line, true).autoreleased() }
    - "commandBufferWithUnretainedReferences" "@@:" (this) -> Id { command_buffer(this.id, &this.line, false).autoreleased() }
    - "commandBufferWithDescriptor:" "@@:@" (this, descriptor: Id) -> Id {
        let retains = plain::get::<Bool>(descriptor, c"retainedReferences").is_none_or(Bool::get);
        command_buffer(this.id, &this.line, retains).autoreleased()
    }
    - "insertDebugCaptureBoundary" "v@:" (this) { }
    - "addResidencySet:" "v@:@" (this, _set: Id) { }
    - "addResidencySets:count:" "v@:r^@Q" (this, _sets: *const Id, _count: usize) { }
    - "removeResidencySet:" "v@:@" (this, _set: Id) { }
    - "removeResidencySets:count:" "v@:r^@Q" (this, _sets: *const Id, _count: usize) { }
}

// `MTLCommandBufferStatus`.
const ENQUEUED: usize = 1;
const COMMITTED: usize = 2;
const SCHEDULED: usize = 3;
const COMPLETED: usize = 4;
const FAILED: usize = 5;

/// A command buffer.
#[derive(Debug, Default)]
pub struct CommandBuffer {
    queue: Strong,
    line: Option<Arc<Line>>,
    retains: bool,
    commands: Mutex<Vec<Command>>,
    status: AtomicUsize,
    encoders: AtomicUsize,
    /// Whether the handlers have been called: what waiting waits for.
    ended: Mutex<bool>,
    end: Condvar,
    scheduled: Mutex<Vec<Callback>>,
    completed: Mutex<Vec<Callback>>,
    error: Mutex<Strong>,
    label: Mutex<Strong>,
    started: AtomicU64,
    finished: AtomicU64,
}

fn command_buffer(queue: Id, line: &Arc<Line>, retains: bool) -> Strong {
    // SAFETY: the queue is alive; `CommandBuffer` is the state of the class.
    unsafe {
        COMMAND_BUFFER.make(CommandBuffer {
            queue: Strong::retain(queue),
            line: Some(Arc::clone(line)),
            retains,
            ..CommandBuffer::default()
        })
    }
}

impl CommandBuffer {
    fn status(&self) -> usize {
        self.status.load(std::sync::atomic::Ordering::Acquire)
    }

    fn set_status(&self, status: usize) {
        self.status
            .store(status, std::sync::atomic::Ordering::Release);
    }

    pub(crate) fn add(&self, command: Command) {
        if self.status() >= COMMITTED {
            wrong_use(
                "a command was encoded after its command buffer was committed; it does not run",
            );
            return;
        }
        lock(&self.commands).push(command);
    }

    pub(crate) fn encoder_ended(&self) {
        self.encoders.fetch_sub(1, Relaxed);
    }

    fn open_encoder(&self) {
        if self.encoders.fetch_add(1, Relaxed) > 0 {
            wrong_use("an encoder was made while another of the command buffer was not ended");
        }
    }

    fn execute(&self, own: Id) {
        self.set_status(SCHEDULED);
        for block in std::mem::take(&mut *lock(&self.scheduled)) {
            // SAFETY: such blocks take the command buffer.
            unsafe { block.call_with(own) };
        }
        self.started.store(nanoseconds(), Relaxed);
        let commands = std::mem::take(&mut *lock(&self.commands));
        let outcome =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run::run(&commands)));
        drop(commands);
        self.finished.store(nanoseconds(), Relaxed);
        let failed = match outcome {
            Ok(Ok(())) => None,
            Ok(Err(why)) => Some(why),
            Err(_) => Some("the executor has a fault of its own; see the message above".to_owned()),
        };
        let status = if failed.is_some() { FAILED } else { COMPLETED };
        if let Some(why) = failed {
            *lock(&self.error) = assay_foundation::error("MTLCommandBufferErrorDomain", 1, &why);
        }
        self.set_status(status);
        for block in std::mem::take(&mut *lock(&self.completed)) {
            // SAFETY: such blocks take the command buffer.
            unsafe { block.call_with(own) };
        }
        *lock(&self.ended) = true;
        self.end.notify_all();
    }

    /// Takes a place in the queue, once.
    fn enqueue(&self, own: Id, status: usize) {
        let first = self.status() == 0;
        self.set_status(status);
        let Some(line) = &self.line else { return };
        if first {
            // SAFETY: the receiver is alive.
            line.append(unsafe { Strong::retain(own) });
        } else {
            // Under the lock, so that the thread does not miss it between its look and its wait.
            drop(lock(&line.waiting));
            line.changed.notify_all();
        }
    }

    fn wait(&self) {
        if self.status() < COMMITTED {
            wrong_use("waitUntilCompleted of a command buffer that was not committed");
            return;
        }
        let mut ended = lock(&self.ended);
        while !*ended {
            ended = self.end.wait(ended).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn seconds(time: &AtomicU64) -> f64 {
    time.load(Relaxed) as f64 * 1e-9
}

class! {
    /// `id<MTLCommandBuffer>`.
    pub COMMAND_BUFFER = "AssayMTLCommandBuffer": NSOBJECT, CommandBuffer, ["MTLCommandBuffer"];
    - "label" "@@:" (this) -> Id { lock(&this.label).clone().autoreleased() }
    - "setLabel:" "v@:@" (this, label: Id) { *lock(&this.label) = string(text(label)); }
    - "device" "@@:" (this) -> Id { device::shared() }
    - "commandQueue" "@@:" (this) -> Id { this.queue.id() }
    - "retainedReferences" "B@:" (this) -> Bool { this.retains.into() }
    - "status" "Q@:" (this) -> usize { this.status() }
    - "error" "@@:" (this) -> Id { lock(&this.error).clone().autoreleased() }
    - "errorOptions" "Q@:" (this) -> usize { 0 }
    - "logs" "@@:" (this) -> Id { std::ptr::null_mut() }
    - "GPUStartTime" "d@:" (this) -> f64 { seconds(&this.started) }
    - "GPUEndTime" "d@:" (this) -> f64 { seconds(&this.finished) }
    - "kernelStartTime" "d@:" (this) -> f64 { seconds(&this.started) }
    - "kernelEndTime" "d@:" (this) -> f64 { seconds(&this.finished) }
    - "enqueue" "v@:" (this) {
        if this.status() == 0 { this.enqueue(this.id, ENQUEUED); } else { wrong_use("enqueue of a command buffer that was enqueued"); }
    }
    - "commit" "v@:" (this) {
        if this.status() >= COMMITTED { wrong_use("commit of a command buffer that was committed"); return; }
        if this.encoders.load(Relaxed) > 0 { wrong_use("commit of a command buffer with an encoder that was not ended"); }
        this.enqueue(this.id, COMMITTED);
    }
    - "waitUntilCompleted" "v@:" (this) { this.wait(); }
    - "waitUntilScheduled" "v@:" (this) { if this.status() < COMMITTED { wrong_use("waitUntilScheduled of a command buffer that was not committed"); } }
    - "addScheduledHandler:" "v@:@?" (this, block: *const Block) {
        if this.status() >= COMMITTED { wrong_use("addScheduledHandler: after commit"); }
        lock(&this.scheduled).extend(Callback::keep(block));
    }
    - "addCompletedHandler:" "v@:@?" (this, block: *const Block) {
        if this.status() >= COMMITTED { wrong_use("addCompletedHandler: after commit"); }
        lock(&this.completed).extend(Callback::keep(block));
    }
    - "computeCommandEncoder" "@@:" (this) -> Id { this.open_encoder(); encoder::compute(this.id, 0, Vec::new()).autoreleased() }
    - "computeCommandEncoderWithDispatchType:" "@@:Q" (this, kind: u64) -> Id { this.open_encoder(); encoder::compute(this.id, kind, Vec::new()).autoreleased() }
    - "computeCommandEncoderWithDescriptor:" "@@:@" (this, descriptor: Id) -> Id {
        this.open_encoder();
        let mut ends = Vec::new();
        for (samples, start, end) in counters::of_pass(descriptor) {
            if let Some(start) = start { this.add(Command::Sample(samples.clone(), start)); }
            ends.extend(end.map(|end| (samples, end)));
        }
        encoder::compute(this.id, plain::get(descriptor, c"dispatchType").unwrap_or(0), ends).autoreleased()
    }
    - "blitCommandEncoder" "@@:" (this) -> Id { this.open_encoder(); encoder::blit(this.id).autoreleased() }
    - "blitCommandEncoderWithDescriptor:" "@@:@" (this, _descriptor: Id) -> Id { this.open_encoder(); encoder::blit(this.id).autoreleased() }
    - "encodeSignalEvent:value:" "v@:@Q" (this, event: Id, value: u64) { this.add(Command::Signal(Strong::retain(event), value)); }
    - "encodeWaitForEvent:value:" "v@:@Q" (this, event: Id, value: u64) { this.add(Command::Wait(Strong::retain(event), value)); }
    - "useResidencySet:" "v@:@" (this, _set: Id) { }
    - "useResidencySets:count:" "v@:r^@Q" (this, _sets: *const Id, _count: usize) { }
    - "pushDebugGroup:" "v@:@" (this, _name: Id) { }
    - "popDebugGroup" "v@:" (this) { }
}

/// The event of a command.
pub(crate) fn event(object: &Strong) -> Option<&Event> {
    // SAFETY: the reference keeps it.
    unsafe { EVENT.state::<Event>(object.id()) }
}
