//! Metal 4's command model, as far as compute uses it: command buffers that are recorded by themselves and committed to a queue in lists,
//! argument tables of addresses and ids, one encoder for dispatches and copies, a compiler.
//!
//! Queues are those of before: a commit moves what was recorded into a command buffer of the queue. Nothing is retained but what is
//! recorded. Dispatches of an encoder are concurrent up to a barrier.

pub mod compiler;
pub mod encoder;

use crate::address::{self, Allocation};
use crate::command::{Bound, Command};
use crate::device;
use crate::plain;
use crate::queue::{self, COMMAND_BUFFER, CommandBuffer, Feedback};
use crate::report::wrong_use;
use crate::resource::lock;
use crate::sync::{EVENT, Event};
use assay_foundation::string::{string, text};
use assay_objc::block::{Block, Callback};
use assay_objc::root::NSOBJECT;
use assay_objc::{Declaration, Id, Strong, class};
pub(crate) use compiler::compiler;
use std::collections::BTreeMap;
use std::ptr::null_mut;
use std::sync::{Arc, Mutex};

/// All classes.
pub static CLASSES: [&Declaration; 9] = [
    &QUEUE,
    &ALLOCATOR,
    &COMMANDS,
    &COMMIT_OPTIONS,
    &FEEDBACK,
    &TABLE,
    &encoder::COMPUTE,
    &compiler::COMPILER,
    &compiler::TASK,
];

/// A label that anyone may set.
#[derive(Debug, Default)]
pub struct Label(Mutex<Strong>);

impl Label {
    fn get(&self) -> Id {
        lock(&self.0).clone().autoreleased()
    }

    unsafe fn set(&self, label: Id) {
        // SAFETY: the caller's label is a string or nil.
        *lock(&self.0) = string(unsafe { text(label) });
    }

    unsafe fn of(descriptor: Id) -> Self {
        // SAFETY: the caller's descriptor is one, or nil.
        let label: Option<Id> = unsafe { plain::get(descriptor, c"label") };
        // SAFETY: as above.
        Self(Mutex::new(unsafe {
            Strong::retain(label.unwrap_or(null_mut()))
        }))
    }
}

/// A command queue: one of the older kind, whose thread runs what is committed.
#[derive(Debug, Default)]
pub struct Queue {
    inner: Strong,
    label: Label,
}

/// # Safety
/// The descriptor must be one, or nil.
pub(crate) unsafe fn queue(descriptor: Id) -> Strong {
    let inner = queue::queue(Strong::nil());
    if inner.is_nil() {
        return inner;
    }
    // SAFETY: the caller's promise; `Queue` is the state of the class.
    unsafe {
        let label = Label::of(descriptor);
        QUEUE.make(Queue { inner, label })
    }
}

impl Queue {
    unsafe fn commit(&self, buffers: *const Id, count: usize, options: Id) {
        if buffers.is_null() || count == 0 {
            return wrong_use("commit:count: there are no command buffers");
        }
        let mut last = Strong::nil();
        for at in 0..count {
            // SAFETY: the caller's array has that many command buffers.
            let Some(commands) = (unsafe { COMMANDS.state::<Commands>(*buffers.add(at)) }) else {
                wrong_use(&format!(
                    "commit:count: element {at} is not a command buffer of Metal 4"
                ));
                continue;
            };
            let Some(recorded) = commands.take() else {
                continue;
            };
            if !last.is_nil() {
                queue::commit(&last);
            }
            last = queue::moved(&self.inner, &recorded);
        }
        // SAFETY: the options are some, or nil; the reference keeps the command buffer.
        unsafe {
            if let (Some(options), Some(last)) = (
                COMMIT_OPTIONS.state::<CommitOptions>(options),
                COMMAND_BUFFER.state::<CommandBuffer>(last.id()),
            ) {
                let handlers = std::mem::take(&mut *lock(&options.0));
                *lock(&last.feedback) = handlers.into_iter().map(Feedback).collect();
            }
        }
        if !last.is_nil() {
            queue::commit(&last);
        }
    }

    /// A command buffer of its own for a signal or a wait.
    unsafe fn order(&self, what: &str, event: Id, command: impl FnOnce(Strong) -> Command) {
        // SAFETY: the caller's event is alive, or nil.
        unsafe {
            if EVENT.state::<Event>(event).is_none() {
                return wrong_use(&format!("{what}: the event is nil or not an event"));
            }
            let buffer = queue::moved(&self.inner, &Strong::nil());
            if let Some(commands) = COMMAND_BUFFER.state::<CommandBuffer>(buffer.id()) {
                lock(&commands.commands).push(command(Strong::retain(event)));
            }
            queue::commit(&buffer);
        }
    }
}

class! {
    /// `id<MTL4CommandQueue>`.
    pub QUEUE = "AssayMTL4CommandQueue": NSOBJECT, Queue, ["MTL4CommandQueue"];
    - "label" "@@:" (this) -> Id { this.label.get() }
    - "device" "@@:" (this) -> Id { device::shared() }
    - "commit:count:" "v@:r^@Q" (this, buffers: *const Id, count: usize) { this.commit(buffers, count, null_mut()); }
    - "commit:count:options:" "v@:r^@Q@" (this, buffers: *const Id, count: usize, options: Id) { this.commit(buffers, count, options); }
    - "signalEvent:value:" "v@:@Q" (this, event: Id, value: u64) { this.order("signalEvent:", event, |event| Command::Signal(event, value)); }
    - "waitForEvent:value:" "v@:@Q" (this, event: Id, value: u64) { this.order("waitForEvent:", event, |event| Command::Wait(event, value)); }
    - "addResidencySet:" "v@:@" (this, _set: Id) { }
    - "addResidencySets:count:" "v@:r^@Q" (this, _sets: *const Id, _count: usize) { }
    - "removeResidencySet:" "v@:@" (this, _set: Id) { }
    - "removeResidencySets:count:" "v@:r^@Q" (this, _sets: *const Id, _count: usize) { }
}

class! {
    /// `id<MTL4CommandAllocator>`: memory of commands, which is the process's here.
    pub ALLOCATOR = "AssayMTL4CommandAllocator": NSOBJECT, Label, ["MTL4CommandAllocator"];
    - "label" "@@:" (this) -> Id { this.get() }
    - "device" "@@:" (this) -> Id { device::shared() }
    - "allocatedSize" "Q@:" (this) -> u64 { 0 }
    - "reset" "v@:" (this) { }
}

/// # Safety
/// The descriptor must be one, or nil.
pub(crate) unsafe fn allocator(descriptor: Id) -> Strong {
    // SAFETY: the caller's promise; `Label` is the state of the class.
    unsafe { ALLOCATOR.make(Label::of(descriptor)) }
}

/// A command buffer, which may be recorded again and again.
#[derive(Debug, Default)]
pub struct Commands {
    /// What it records, and whether that has ended.
    recorded: Mutex<(Strong, bool)>,
    label: Label,
}

pub(crate) fn commands() -> Strong {
    // SAFETY: `Commands` is the state of the class.
    unsafe { COMMANDS.make(Commands::default()) }
}

impl Commands {
    fn begin(&self, allocator: Id) {
        if allocator.is_null() {
            wrong_use("beginCommandBufferWithAllocator: the allocator is nil");
        }
        let mut recorded = lock(&self.recorded);
        if !recorded.0.is_nil() && !recorded.1 {
            wrong_use("beginCommandBufferWithAllocator: the command buffer is being recorded");
        }
        // SAFETY: `CommandBuffer` is the state of the class.
        *recorded = (
            unsafe { COMMAND_BUFFER.make(CommandBuffer::default()) },
            false,
        );
    }

    fn end(&self) {
        let mut recorded = lock(&self.recorded);
        if recorded.0.is_nil() || recorded.1 {
            return wrong_use("endCommandBuffer without a beginCommandBufferWithAllocator:");
        }
        recorded.1 = true;
    }

    /// What was recorded, with its label; nothing, with a report, if that has not ended.
    fn take(&self) -> Option<Strong> {
        let mut recorded = lock(&self.recorded);
        if recorded.0.is_nil() || !recorded.1 {
            wrong_use(
                "commit:count: a command buffer was not begun and ended since its last commit",
            );
            return None;
        }
        let taken = std::mem::take(&mut *recorded).0;
        // SAFETY: the reference keeps it.
        if let Some(buffer) = unsafe { COMMAND_BUFFER.state::<CommandBuffer>(taken.id()) } {
            *lock(&buffer.label) = lock(&self.label.0).clone();
        }
        Some(taken)
    }

    fn compute(&self) -> Strong {
        let recorded = lock(&self.recorded);
        if recorded.0.is_nil() || recorded.1 {
            wrong_use(
                "computeCommandEncoder of a command buffer that is not being recorded; nil is answered",
            );
            return Strong::nil();
        }
        encoder::compute(&recorded.0)
    }
}

class! {
    /// `id<MTL4CommandBuffer>`.
    pub COMMANDS = "AssayMTL4CommandBuffer": NSOBJECT, Commands, ["MTL4CommandBuffer"];
    - "label" "@@:" (this) -> Id { this.label.get() }
    - "setLabel:" "v@:@" (this, label: Id) { this.label.set(label); }
    - "device" "@@:" (this) -> Id { device::shared() }
    - "beginCommandBufferWithAllocator:" "v@:@" (this, allocator: Id) { this.begin(allocator); }
    - "beginCommandBufferWithAllocator:options:" "v@:@@" (this, allocator: Id, options: Id) {
        this.begin(allocator);
        let recorded = lock(&this.recorded);
        if let Some(buffer) = COMMAND_BUFFER.state::<CommandBuffer>(recorded.0.id()) {
            *lock(&buffer.log) = queue::log_state_of(options);
        }
    }
    - "endCommandBuffer" "v@:" (this) { this.end(); }
    - "computeCommandEncoder" "@@:" (this) -> Id { this.compute().autoreleased() }
    - "useResidencySet:" "v@:@" (this, _set: Id) { }
    - "useResidencySets:count:" "v@:r^@Q" (this, _sets: *const Id, _count: usize) { }
    - "pushDebugGroup:" "v@:@" (this, _name: Id) { }
    - "popDebugGroup" "v@:" (this) { }
}

/// Handlers of a commit.
#[derive(Debug, Default)]
pub struct CommitOptions(Mutex<Vec<Callback>>);

class! {
    /// `MTL4CommitOptions`.
    pub COMMIT_OPTIONS = "MTL4CommitOptions": NSOBJECT, CommitOptions, [];
    - "addFeedbackHandler:" "v@:@?" (this, block: *const Block) { lock(&this.0).extend(Callback::keep(block)); }
}

/// What a commit's handlers are told: when its last command buffer started and ended, and its error.
#[derive(Debug, Default)]
pub struct CommitFeedback([f64; 2], Strong);

/// A feedback.
pub(crate) fn feedback(times: [f64; 2], error: Strong) -> Strong {
    // SAFETY: `CommitFeedback` is the state of the class.
    unsafe { FEEDBACK.make(CommitFeedback(times, error)) }
}

class! {
    /// `id<MTL4CommitFeedback>`.
    pub FEEDBACK = "AssayMTL4CommitFeedback": NSOBJECT, CommitFeedback, ["MTL4CommitFeedback"];
    - "GPUStartTime" "d@:" (this) -> f64 { this.0[0] }
    - "GPUEndTime" "d@:" (this) -> f64 { this.0[1] }
    - "error" "@@:" (this) -> Id { this.1.id() }
}

/// An argument table: addresses and ids by index.
#[derive(Debug, Default)]
pub struct Table {
    /// Of buffers, textures, samplers.
    entries: Mutex<[BTreeMap<u32, u64>; 3]>,
    most: [u64; 3],
    label: Label,
}

const KINDS: [&str; 3] = ["buffer", "texture", "sampler"];

/// # Safety
/// The descriptor must be one, or nil.
pub(crate) unsafe fn table(descriptor: Id) -> Strong {
    let most = [
        c"maxBufferBindCount",
        c"maxTextureBindCount",
        c"maxSamplerStateBindCount",
    ];
    // SAFETY: the caller's promise; `Table` is the state of the class.
    unsafe {
        TABLE.make(Table {
            entries: Mutex::default(),
            most: most.map(|name| plain::get(descriptor, name).unwrap_or(0)),
            label: Label::of(descriptor),
        })
    }
}

impl Table {
    fn set(&self, kind: usize, index: u64, handle: u64) {
        let most = self.most[kind];
        if index >= most {
            let kind = KINDS[kind];
            return wrong_use(&format!(
                "an argument table has room for {most} {kind}s; {kind} index {index} is left out"
            ));
        }
        lock(&self.entries)[kind].insert(index as u32, handle);
    }

    /// What it names now. An address that leads nowhere binds nothing.
    pub(crate) fn buffers(&self) -> BTreeMap<u32, Bound> {
        let entries = lock(&self.entries);
        let all = entries[0].iter().filter_map(|(index, address)| {
            let (allocation, offset) = address::find(*address)?;
            Some((*index, Bound::Address(allocation, offset)))
        });
        all.collect()
    }

    /// Textures and samplers.
    pub(crate) fn resources(&self) -> Vec<(u32, Arc<Allocation>)> {
        let entries = lock(&self.entries);
        let all = entries[1].iter().chain(&entries[2]);
        all.filter_map(|(index, handle)| Some((*index, address::find(*handle)?.0)))
            .collect()
    }
}

class! {
    /// `id<MTL4ArgumentTable>`.
    pub TABLE = "AssayMTL4ArgumentTable": NSOBJECT, Table, ["MTL4ArgumentTable"];
    - "label" "@@:" (this) -> Id { this.label.get() }
    - "device" "@@:" (this) -> Id { device::shared() }
    - "setAddress:atIndex:" "v@:QQ" (this, address: u64, index: u64) { this.set(0, index, address); }
    - "setAddress:attributeStride:atIndex:" "v@:QQQ" (this, address: u64, _stride: u64, index: u64) { this.set(0, index, address); }
    - "setResource:atBufferIndex:" "v@:{MTLResourceID=Q}Q" (this, resource: u64, index: u64) { this.set(0, index, resource); }
    - "setTexture:atIndex:" "v@:{MTLResourceID=Q}Q" (this, texture: u64, index: u64) { this.set(1, index, texture); }
    - "setSamplerState:atIndex:" "v@:{MTLResourceID=Q}Q" (this, sampler: u64, index: u64) { this.set(2, index, sampler); }
}
