//! Indirect command buffers: dispatches that a program encodes once and executes often. Their commands are taken as they are when
//! `executeCommandsInBuffer:withRange:` is encoded; kernels cannot encode them.

use crate::command::{Bound, Extent};
use crate::device;
use crate::encoder::Size;
use crate::library::{PIPELINE, Pipeline};
use crate::plain;
use crate::report::wrong_use;
use crate::resource::{BUFFER, Buffer, lock};
use assay_foundation::string::{Range, string, text};
use assay_objc::root::NSOBJECT;
use assay_objc::{Bool, Id, Strong, class};
use std::collections::BTreeMap;
use std::ptr::null_mut;
use std::sync::Mutex;

/// One command, as far as it is encoded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Encoded {
    pub(crate) pipeline: Strong,
    pub(crate) bound: BTreeMap<u32, Bound>,
    pub(crate) memory: BTreeMap<u32, u32>,
    /// How many threads it has; nothing if it dispatches nothing.
    pub(crate) extent: Option<(Extent, Size)>,
    /// It waits for the commands before it.
    pub(crate) has_barrier: bool,
}

/// An indirect command buffer.
#[derive(Debug, Default)]
pub struct IndirectCommands {
    commands: Vec<Mutex<Encoded>>,
    /// Commands use the encoder's buffers, or its pipeline.
    pub(crate) inherits_buffers: bool,
    pub(crate) inherits_pipeline: bool,
    most_buffers: u64,
    options: usize,
    label: Mutex<Strong>,
}

/// A command of an indirect command buffer.
#[derive(Debug, Default)]
pub struct IndirectCommand {
    owner: Strong,
    index: usize,
}

/// `MTLIndirectCommandTypeConcurrentDispatch` and `…Threads`.
const DISPATCHES: u64 = 0x20 | 0x40;
/// Most commands of a buffer.
const MOST_COMMANDS: usize = 16_384;

/// An indirect command buffer; nil if it is to have commands that are not there.
///
/// # Safety
/// The descriptor must be one, or nil.
pub(crate) unsafe fn indirect_commands(descriptor: Id, count: usize, options: usize) -> Strong {
    // SAFETY: the caller's promise.
    let (types, most_buffers, buffers, pipeline) = unsafe {
        (
            plain::get::<u64>(descriptor, c"commandTypes").unwrap_or(0),
            plain::get::<u64>(descriptor, c"maxKernelBufferBindCount").unwrap_or(31),
            plain::get::<Bool>(descriptor, c"inheritBuffers").is_some_and(Bool::get),
            plain::get::<Bool>(descriptor, c"inheritPipelineState").is_some_and(Bool::get),
        )
    };
    if types & DISPATCHES == 0 || types & !DISPATCHES != 0 {
        wrong_use(&format!(
            "newIndirectCommandBufferWithDescriptor: command types {types:#x}: expected dispatches (0x20, 0x40); nil is answered"
        ));
        return Strong::nil();
    }
    if count == 0 || count > MOST_COMMANDS {
        wrong_use(&format!(
            "newIndirectCommandBufferWithDescriptor: {count} commands: expected 1 to {MOST_COMMANDS}; nil is answered"
        ));
        return Strong::nil();
    }
    // SAFETY: `IndirectCommands` is the state of the class.
    unsafe {
        INDIRECT_COMMANDS.make(IndirectCommands {
            commands: std::iter::repeat_with(Mutex::default).take(count).collect(),
            inherits_buffers: buffers,
            inherits_pipeline: pipeline,
            most_buffers,
            options,
            ..IndirectCommands::default()
        })
    }
}

impl IndirectCommands {
    /// The commands of a range, as they are now. Those outside are reported and left out.
    pub(crate) fn commands(&self, range: Range) -> Vec<Encoded> {
        self.range("executeCommandsInBuffer", range)
            .iter()
            .map(|command| lock(command).clone())
            .collect()
    }

    fn range(&self, what: &str, range: Range) -> &[Mutex<Encoded>] {
        let Range { location, length } = range;
        let all = &self.commands;
        let end = location.saturating_add(length).min(all.len());
        let found = all.get(location.min(end)..end).unwrap_or_default();
        if found.len() < length {
            wrong_use(&format!(
                "{what}: commands {location} to {}: the indirect command buffer has {}",
                location.saturating_add(length),
                all.len()
            ));
        }
        found
    }

    pub(crate) fn reset(&self, range: Range) {
        for command in self.range("resetWithRange", range) {
            *lock(command) = Encoded::default();
        }
    }

    unsafe fn command(&self, own: Id, index: usize) -> Id {
        if index >= self.commands.len() {
            wrong_use(&format!(
                "indirectComputeCommandAtIndex: {index}: the indirect command buffer has {} commands; nil is answered",
                self.commands.len()
            ));
            return null_mut();
        }
        // SAFETY: the receiver is alive; `IndirectCommand` is the state of the class.
        unsafe {
            let owner = Strong::retain(own);
            INDIRECT_COMMAND
                .make(IndirectCommand { owner, index })
                .autoreleased()
        }
    }
}

class! {
    /// `id<MTLIndirectCommandBuffer>`.
    pub INDIRECT_COMMANDS = "AssayMTLIndirectCommandBuffer": NSOBJECT, IndirectCommands, ["MTLIndirectCommandBuffer", "MTLResource", "MTLAllocation"];
    - "size" "Q@:" (this) -> usize { this.commands.len() }
    - "gpuResourceID" "{MTLResourceID=Q}@:" (this) -> u64 { 0 }
    - "indirectComputeCommandAtIndex:" "@@:Q" (this, index: usize) -> Id { this.command(this.id, index) }
    - "indirectRenderCommandAtIndex:" "@@:Q" (this, _index: usize) -> Id {
        wrong_use("indirectRenderCommandAtIndex: render commands are not available; nil is answered");
        null_mut()
    }
    - "resetWithRange:" "v@:{_NSRange=QQ}" (this, range: Range) { this.reset(range); }
    - "label" "@@:" (this) -> Id { lock(&this.label).clone().autoreleased() }
    - "setLabel:" "v@:@" (this, label: Id) { *lock(&this.label) = string(text(label)); }
    - "device" "@@:" (this) -> Id { device::shared() }
    - "allocatedSize" "Q@:" (this) -> usize { this.commands.len() * std::mem::size_of::<Encoded>() }
    - "storageMode" "Q@:" (this) -> usize { this.options >> 4 & 15 }
    - "cpuCacheMode" "Q@:" (this) -> usize { this.options & 15 }
    - "hazardTrackingMode" "Q@:" (this) -> usize { 2 }
    - "resourceOptions" "Q@:" (this) -> usize { this.options }
    - "setPurgeableState:" "Q@:Q" (this, _state: usize) -> usize { 2 }
    - "heap" "@@:" (this) -> Id { null_mut() }
}

impl IndirectCommand {
    /// Changes the command.
    fn encode(&self, change: impl FnOnce(&IndirectCommands, &mut Encoded)) {
        // SAFETY: the reference keeps the buffer.
        let owner = unsafe { INDIRECT_COMMANDS.state::<IndirectCommands>(self.owner.id()) };
        if let Some(owner) = owner
            && let Some(command) = owner.commands.get(self.index)
        {
            change(owner, &mut lock(command));
        }
    }

    unsafe fn set_pipeline(&self, pipeline: Id) {
        // SAFETY: the caller's pipeline is alive, or nil.
        let (known, kept) = unsafe {
            (
                PIPELINE.state::<Pipeline>(pipeline),
                Strong::retain(pipeline),
            )
        };
        match known {
            None => {
                wrong_use("setComputePipelineState: of an indirect command: there is no pipeline")
            }
            Some(known) if !known.is_indirect() => wrong_use(&format!(
                "{}: the pipeline of an indirect command needs supportIndirectCommandBuffers in its descriptor",
                known.name
            )),
            Some(_) => {}
        }
        self.encode(|_, command| command.pipeline = kept);
    }

    unsafe fn set_buffer(&self, buffer: Id, offset: usize, index: u64) {
        // SAFETY: the caller's buffer is alive, or nil.
        let (known, kept) = unsafe { (BUFFER.state::<Buffer>(buffer), Strong::retain(buffer)) };
        let Some(known) = known else {
            return wrong_use(&format!(
                "setKernelBuffer: what is given at index {index} is not a buffer"
            ));
        };
        if offset >= known.length && offset > 0 {
            wrong_use(&format!(
                "setKernelBuffer: offset {offset} outside a {} at index {index}",
                known.name()
            ));
        }
        self.encode(|owner, command| {
            if index >= owner.most_buffers {
                return wrong_use(&format!(
                    "setKernelBuffer: index {index}: the descriptor's maxKernelBufferBindCount is {}",
                    owner.most_buffers
                ));
            }
            let bound = Bound::Buffer(kept, offset);
            command.bound.insert(index as u32, bound);
        });
    }

    fn set_memory(&self, length: u64, index: u64) {
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        self.encode(|_, command| _ = command.memory.insert(index as u32, length));
    }

    fn dispatch(&self, extent: Extent, threadgroup: Size) {
        self.encode(|_, command| command.extent = Some((extent, threadgroup)));
    }
}

class! {
    /// `id<MTLIndirectComputeCommand>`.
    pub INDIRECT_COMMAND = "AssayMTLIndirectComputeCommand": NSOBJECT, IndirectCommand, ["MTLIndirectComputeCommand"];
    - "setComputePipelineState:" "v@:@" (this, pipeline: Id) { this.set_pipeline(pipeline); }
    - "setKernelBuffer:offset:atIndex:" "v@:@QQ" (this, buffer: Id, offset: usize, index: u64) { this.set_buffer(buffer, offset, index); }
    - "setThreadgroupMemoryLength:atIndex:" "v@:QQ" (this, length: u64, index: u64) { this.set_memory(length, index); }
    - "concurrentDispatchThreadgroups:threadsPerThreadgroup:" "v@:{?=QQQ}{?=QQQ}" (this, groups: Size, threadgroup: Size) {
        this.dispatch(Extent::Groups(groups.counts()), threadgroup);
    }
    - "concurrentDispatchThreads:threadsPerThreadgroup:" "v@:{?=QQQ}{?=QQQ}" (this, threads: Size, threadgroup: Size) {
        this.dispatch(Extent::Threads(threads.counts()), threadgroup);
    }
    - "setBarrier" "v@:" (this) { this.encode(|_, command| command.has_barrier = true); }
    - "clearBarrier" "v@:" (this) { this.encode(|_, command| command.has_barrier = false); }
    - "reset" "v@:" (this) { this.encode(|_, command| *command = Encoded::default()); }
}
