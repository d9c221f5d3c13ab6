//! Command queues and command buffers. Each queue has a thread that runs its command buffers in the order of their commits (or of
//! `enqueue`), and then calls their handlers.

use crate::blit;
use crate::clock;
use crate::command::{Command, Edge};
use crate::counters;
use crate::device;
use crate::encoder;
use crate::fork;
use crate::order::{self, Clock, Course};
use crate::plain;
use crate::record;
use crate::report::wrong_use;
use crate::resource::lock;
use crate::run;
use crate::settings::settings;
use crate::sync::{EVENT, Event};
use assay_foundation::string::{string, text};
use assay_foundation::system::nanoseconds;
use assay_objc::block::{Block, Callback};
use assay_objc::declared::Receiver;
use assay_objc::pool::autoreleasepool;
use assay_objc::root::NSOBJECT;
use assay_objc::{Bool, Id, Strong, class};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
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
    /// Counts the queues of the process.
    number: u64,
    line: Arc<Line>,
    label: Mutex<Strong>,
    /// Who sees what kernels log.
    log: Strong,
}

impl Drop for Queue {
    fn drop(&mut self) {
        lock(&self.line.waiting).closed = true;
        self.line.changed.notify_all();
    }
}

/// A new queue as a descriptor wants it; nil in a child that cannot use Metal.
///
/// # Safety
/// The descriptor must be one, or nil.
pub(crate) unsafe fn queue_of(descriptor: Id) -> Strong {
    // SAFETY: the caller's promise.
    queue(unsafe { log_state_of(descriptor) })
}

/// The log state of a descriptor.
pub(crate) unsafe fn log_state_of(descriptor: Id) -> Strong {
    // SAFETY: the caller's descriptor is one, or nil.
    unsafe { Strong::retain(plain::get(descriptor, c"logState").unwrap_or(std::ptr::null_mut())) }
}

/// A new queue with a log state or nil; nil in a child that cannot use Metal.
pub(crate) fn queue(log: Strong) -> Strong {
    if fork::refused("newCommandQueue answers nil") {
        return Strong::default();
    }
    fork::used();
    // SAFETY: `Queue` is the state of the class.
    unsafe {
        QUEUE.make(Queue {
            number: QUEUES.fetch_add(1, Relaxed) + 1,
            line: Arc::default(),
            label: Mutex::default(),
            log,
        })
    }
}

/// Queues that were made.
pub(crate) static QUEUES: AtomicU64 = AtomicU64::new(0);

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
    - "commandBuffer" "@@:" (this) -> Id { command_buffer(&this, true, Strong::nil()).autoreleased() }
    - "commandBufferWithUnretainedReferences" "@@:" (this) -> Id { command_buffer(&this, false, Strong::nil()).autoreleased() }
    - "commandBufferWithDescriptor:" "@@:@" (this, descriptor: Id) -> Id {
        let retains = plain::get::<Bool>(descriptor, c"retainedReferences").is_none_or(Bool::get);
        command_buffer(&this, retains, log_state_of(descriptor)).autoreleased()
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

/// Handlers of a commit of Metal 4, which are called with its feedback.
#[derive(Debug)]
pub(crate) struct Feedback(pub(crate) Callback);

/// A command buffer.
#[derive(Debug, Default)]
pub struct CommandBuffer {
    queue: Strong,
    /// The number of the queue.
    pub(crate) number: u64,
    /// Its own number in recordings, and when it was made.
    pub(crate) record: record::Number,
    pub(crate) created: u64,
    line: Option<Arc<Line>>,
    retains: bool,
    pub(crate) log: Mutex<Strong>,
    /// What the program had seen complete at the commit, and the last pass, for `order`.
    seen: Mutex<Clock>,
    last_pass: AtomicU64,
    groups: AtomicUsize,
    pub(crate) commands: Mutex<Vec<Command>>,
    status: AtomicUsize,
    encoders: AtomicUsize,
    /// Whether the handlers have been called: what waiting waits for.
    ended: Mutex<bool>,
    end: Condvar,
    /// Whether the program was told so, by a wait or by the status.
    is_waited: AtomicBool,
    /// What Metal 4 wants to know when it has ended.
    pub(crate) feedback: Mutex<Vec<Feedback>>,
    scheduled: Mutex<Vec<Callback>>,
    completed: Mutex<Vec<Callback>>,
    error: Mutex<Strong>,
    pub(crate) label: Mutex<Strong>,
    started: AtomicU64,
    finished: AtomicU64,
}

fn command_buffer(queue: &Receiver<'_, Queue>, retains: bool, log: Strong) -> Strong {
    // SAFETY: the queue is alive; `CommandBuffer` is the state of the class.
    unsafe {
        COMMAND_BUFFER.make(CommandBuffer {
            queue: Strong::retain(queue.id),
            number: queue.number,
            line: Some(Arc::clone(&queue.line)),
            retains,
            log: Mutex::new(if log.is_nil() { queue.log.clone() } else { log }),
            created: record::now(),
            ..CommandBuffer::default()
        })
    }
}

/// A command buffer of a queue with what another one has recorded, which then has nothing.
pub(crate) fn moved(queue: &Strong, recorded: &Strong) -> Strong {
    // SAFETY: the references keep both.
    unsafe {
        let made = command_buffer(&Receiver::<Queue>::new(queue.id()), false, Strong::nil());
        if let (Some(made), Some(recorded)) = (
            COMMAND_BUFFER.state::<CommandBuffer>(made.id()),
            COMMAND_BUFFER.state::<CommandBuffer>(recorded.id()),
        ) {
            *lock(&made.commands) = std::mem::take(&mut *lock(&recorded.commands));
            *lock(&made.label) = lock(&recorded.label).clone();
            *lock(&made.log) = lock(&recorded.log).clone();
            made.encoders
                .store(recorded.encoders.load(Relaxed), Relaxed);
        }
        made
    }
}

/// `commit`.
pub(crate) fn commit(buffer: &Strong) {
    // SAFETY: the reference keeps it, and the method has this type.
    unsafe { assay_objc::message::send::<()>(buffer.id(), assay_objc::Sel::new(c"commit")) };
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

    /// Counts an encoder that is made.
    pub(crate) fn open_encoder(&self) {
        if self.status() >= COMMITTED {
            wrong_use("an encoder was made after its command buffer was committed");
        }
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
        let is_checked = settings().check;
        let seen = std::mem::take(&mut *lock(&self.seen));
        let mut course = is_checked.then(|| Course::new(self.number, seen));
        let log = lock(&self.log).clone();
        let work = std::panic::AssertUnwindSafe(|| run::run(&commands, &log, course.as_mut()));
        let outcome = std::panic::catch_unwind(work);
        let host = [self.started.load(Relaxed), nanoseconds()];
        record::completed(self.record.number(), host[0], host[1]);
        let [started, finished] = match clock::is_on() {
            true => clock::completed(self.record.number(), &commands),
            false => host,
        };
        drop(commands);
        self.started.store(started, Relaxed);
        self.finished.store(finished, Relaxed);
        if let Some(mut course) = course {
            course.end();
            self.last_pass.store(course.last(), Relaxed);
            order::ended(own as usize);
        }
        let failed = match outcome {
            Ok(Ok(())) => None,
            Ok(Err(why)) => Some(why),
            Err(_) => Some("the executor has a fault of its own; see the message above".to_owned()),
        };
        let status = if failed.is_some() { FAILED } else { COMPLETED };
        if let Some(why) = failed {
            self.set_error(&why);
        }
        self.finish(own, status);
    }

    fn set_error(&self, why: &str) {
        *lock(&self.error) = assay_foundation::error("MTLCommandBufferErrorDomain", 1, why);
    }

    /// Ends without having run, as one that failed.
    fn fail(&self, own: Id, why: &str) {
        lock(&self.commands).clear();
        self.set_error(why);
        self.finish(own, FAILED);
    }

    /// Sets the last status, calls the handlers, and wakes who waits.
    fn finish(&self, own: Id, status: usize) {
        self.set_status(status);
        let completed = std::mem::take(&mut *lock(&self.completed));
        if !completed.is_empty() {
            self.saw();
        }
        for block in completed {
            // SAFETY: such blocks take the command buffer.
            unsafe { block.call_with(own) };
        }
        for Feedback(block) in std::mem::take(&mut *lock(&self.feedback)) {
            let times = [&self.started, &self.finished].map(seconds);
            let feedback = crate::metal4::feedback(times, lock(&self.error).clone());
            // SAFETY: such blocks take a feedback.
            unsafe { block.call_with(feedback.id()) };
        }
        *lock(&self.ended) = true;
        self.end.notify_all();
    }

    /// The program sees that the command buffer has ended.
    fn saw(&self) {
        if settings().check && self.status() >= COMPLETED {
            order::saw(self.number, self.last_pass.load(Relaxed));
        }
    }

    /// The program goes on because the command buffer has ended, for which it has waited since a time. Recorded once: one that
    /// asks for the status first, and waits only if it must, would else have as many waits as this machine is slow.
    fn waited(&self, from_ns: u64) {
        self.saw();
        if !self.is_waited.swap(true, Relaxed) {
            record::waited(self.record.number(), from_ns);
        }
    }

    fn seen_status(&self) -> usize {
        let status = self.status();
        if status >= COMPLETED {
            self.waited(record::now());
        }
        status
    }

    /// Says so if an encoder is open where none may be.
    fn expect_no_encoder(&self, what: &str) {
        if self.encoders.load(Relaxed) > 0 {
            wrong_use(&format!(
                "{what} while an encoder of the command buffer is not ended"
            ));
        }
    }

    /// A command of an event, between encoders.
    unsafe fn add_event(&self, what: &str, event: Id, command: impl FnOnce(Strong) -> Command) {
        self.expect_no_encoder(what);
        // SAFETY: the caller's event is alive, or nil.
        if unsafe { EVENT.state::<Event>(event) }.is_none() {
            return wrong_use(&format!("{what}: the event is nil or not an event"));
        }
        // SAFETY: as above.
        self.add(command(unsafe { Strong::retain(event) }));
    }

    /// Keeps a handler, unless it is too late.
    unsafe fn add_handler(&self, what: &str, handlers: &Mutex<Vec<Callback>>, block: *const Block) {
        if self.status() >= COMMITTED {
            wrong_use(&format!("{what} after commit"));
        }
        if block.is_null() {
            wrong_use(&format!("{what} the block is nil"));
        }
        // SAFETY: the caller passes a block or null.
        lock(handlers).extend(unsafe { Callback::keep(block) });
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
        let from = record::now();
        let mut ended = lock(&self.ended);
        while !*ended {
            ended = self.end.wait(ended).unwrap_or_else(PoisonError::into_inner);
        }
        drop(ended);
        self.waited(from);
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
    - "status" "Q@:" (this) -> usize { this.seen_status() }
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
        this.expect_no_encoder("commit");
        if fork::refused("commit: the command buffer fails") { this.fail(this.id, fork::ADVICE); return; }
        if settings().check { *lock(&this.seen) = order::committed(this.id as usize); }
        record::committed(&this);
        clock::committed(&this);
        this.enqueue(this.id, COMMITTED);
    }
    - "waitUntilCompleted" "v@:" (this) { this.wait(); }
    - "waitUntilScheduled" "v@:" (this) { if this.status() < COMMITTED { wrong_use("waitUntilScheduled of a command buffer that was not committed"); } }
    - "addScheduledHandler:" "v@:@?" (this, block: *const Block) { this.add_handler("addScheduledHandler:", &this.scheduled, block); }
    - "addCompletedHandler:" "v@:@?" (this, block: *const Block) { this.add_handler("addCompletedHandler:", &this.completed, block); }
    - "computeCommandEncoder" "@@:" (this) -> Id { encoder::compute(this.id, 0, Vec::new()).autoreleased() }
    - "computeCommandEncoderWithDispatchType:" "@@:Q" (this, kind: u64) -> Id { encoder::compute(this.id, kind, Vec::new()).autoreleased() }
    - "computeCommandEncoderWithDescriptor:" "@@:@" (this, descriptor: Id) -> Id {
        let mut ends = Vec::new();
        for (samples, start, end) in counters::of_pass(descriptor) {
            if let Some(start) = start { this.add(Command::Sample(samples.clone(), start, Edge::Start)); }
            ends.extend(end.map(|end| (samples, end)));
        }
        encoder::compute(this.id, plain::get(descriptor, c"dispatchType").unwrap_or(0), ends).autoreleased()
    }
    - "blitCommandEncoder" "@@:" (this) -> Id { blit::blit(this.id).autoreleased() }
    - "blitCommandEncoderWithDescriptor:" "@@:@" (this, _descriptor: Id) -> Id { blit::blit(this.id).autoreleased() }
    - "encodeSignalEvent:value:" "v@:@Q" (this, event: Id, value: u64) {
        this.add_event("encodeSignalEvent:", event, |event| Command::Signal(event, value));
    }
    - "encodeWaitForEvent:value:" "v@:@Q" (this, event: Id, value: u64) {
        this.add_event("encodeWaitForEvent:", event, |event| Command::Wait(event, value));
    }
    - "useResidencySet:" "v@:@" (this, _set: Id) { }
    - "useResidencySets:count:" "v@:r^@Q" (this, _sets: *const Id, _count: usize) { }
    - "pushDebugGroup:" "v@:@" (this, _name: Id) { this.groups.fetch_add(1, Relaxed); }
    - "popDebugGroup" "v@:" (this) {
        let left = this.groups.fetch_update(Relaxed, Relaxed, |open| open.checked_sub(1));
        if left.is_err() { wrong_use("popDebugGroup without a pushDebugGroup:"); }
    }
}

/// The event of a command.
pub(crate) fn event(object: &Strong) -> Option<&Event> {
    // SAFETY: the reference keeps it.
    unsafe { EVENT.state::<Event>(object.id()) }
}

#[cfg(test)]
mod tests;
