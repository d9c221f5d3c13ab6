//! Encoders: what they are told becomes commands of their command buffer.

use crate::device;
use crate::library::{PIPELINE, Pipeline};
use crate::queue::{COMMAND_BUFFER, CommandBuffer};
use crate::report::{encoder_made, wrong_use};
use crate::resource::{BUFFER, Buffer, lock};
use assay_foundation::string::{Range, string, text};
use assay_objc::root::NSOBJECT;
use assay_objc::{Id, Strong, class};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// `MTLSize`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Size {
    /// In x.
    pub width: u64,
    /// In y.
    pub height: u64,
    /// In z.
    pub depth: u64,
}

impl Size {
    /// As the executor counts; a number that is too large is the largest.
    pub(crate) fn counts(self) -> [u32; 3] {
        [self.width, self.height, self.depth].map(|n| u32::try_from(n).unwrap_or(u32::MAX))
    }
}

/// What an index of buffers is given.
#[derive(Clone, Debug)]
pub(crate) enum Bound {
    Buffer(Strong, usize),
    Bytes(Arc<[u8]>),
}

/// How many threads a dispatch has.
#[derive(Debug)]
pub(crate) enum Extent {
    Threads([u32; 3]),
    Groups([u32; 3]),
    /// Threadgroups that three numbers in a buffer say.
    Indirect(Strong, usize),
}

/// A dispatch.
#[derive(Debug)]
pub(crate) struct Dispatch {
    pub(crate) pipeline: Strong,
    pub(crate) bound: Vec<(u32, Bound)>,
    pub(crate) memory: Vec<(u32, u32)>,
    pub(crate) extent: Extent,
    pub(crate) threadgroup: [u32; 3],
    pub(crate) label: String,
}

/// What a command buffer does.
#[derive(Debug)]
pub(crate) enum Command {
    Dispatch(Box<Dispatch>),
    Fill {
        buffer: Strong,
        from: usize,
        length: usize,
        value: u8,
    },
    Copy {
        from: Strong,
        at: usize,
        to: Strong,
        to_at: usize,
        length: usize,
    },
    /// A timestamp, into a place of a sample buffer.
    Sample(Strong, usize),
    Signal(Strong, u64),
    Wait(Strong, u64),
}

/// What an encoder was told.
#[derive(Debug, Default)]
struct State {
    pipeline: Strong,
    bound: BTreeMap<u32, Bound>,
    memory: BTreeMap<u32, u32>,
    groups: Vec<String>,
}

/// A compute encoder.
#[derive(Debug, Default)]
pub struct Compute {
    commands: Strong,
    kind: u64,
    /// Samples that are taken where it ends.
    ends: Mutex<Vec<(Strong, usize)>>,
    state: Mutex<State>,
    ended: AtomicBool,
    label: Mutex<Strong>,
}

/// Most indices of buffers.
const BUFFERS: u64 = 31;
/// Most bytes of `setBytes`.
const INLINE: usize = 4096;

pub(crate) fn compute(commands: Id, kind: u64, ends: Vec<(Strong, usize)>) -> Strong {
    encoder_made();
    // SAFETY: the command buffer is alive; `Compute` is the state of the class.
    unsafe {
        COMPUTE.make(Compute {
            commands: Strong::retain(commands),
            kind,
            ends: Mutex::new(ends),
            ..Compute::default()
        })
    }
}

/// Ends an encoder that was not.
fn end(commands: &Strong, ended: &AtomicBool) {
    if ended.swap(true, Relaxed) {
        wrong_use("endEncoding of an encoder that was ended");
        return;
    }
    // SAFETY: the reference keeps it.
    if let Some(buffer) = unsafe { COMMAND_BUFFER.state::<CommandBuffer>(commands.id()) } {
        buffer.encoder_ended();
    }
}

/// Adds a command, unless the encoder was ended.
fn add(commands: &Strong, ended: &AtomicBool, command: Command) {
    if ended.load(Relaxed) {
        wrong_use("a command was encoded after endEncoding; it does not run");
        return;
    }
    // SAFETY: as above.
    if let Some(buffer) = unsafe { COMMAND_BUFFER.state::<CommandBuffer>(commands.id()) } {
        buffer.add(command);
    }
}

impl Compute {
    unsafe fn set_buffer(&self, buffer: Id, offset: usize, index: u64) {
        if index >= BUFFERS {
            wrong_use(&format!(
                "setBuffer: index {index}: expected less than {BUFFERS}"
            ));
            return;
        }
        let mut state = lock(&self.state);
        if buffer.is_null() {
            state.bound.remove(&(index as u32));
            return;
        }
        // SAFETY: the caller's buffer is alive.
        let (known, kept) = unsafe { (BUFFER.state::<Buffer>(buffer), Strong::retain(buffer)) };
        if let Some(known) = known.filter(|known| offset > known.length) {
            wrong_use(&format!(
                "setBuffer: offset {offset} outside a {} at index {index}",
                known.name()
            ));
        }
        state
            .bound
            .insert(index as u32, Bound::Buffer(kept, offset));
    }

    fn set_offset(&self, offset: usize, index: u64) {
        match lock(&self.state).bound.get_mut(&(index as u32)) {
            Some(Bound::Buffer(_, known)) => *known = offset,
            _ => wrong_use(&format!(
                "setBufferOffset: there is no buffer at index {index}"
            )),
        }
    }

    unsafe fn set_bytes(&self, bytes: *const u8, length: usize, index: u64) {
        if length > INLINE || length == 0 || index >= BUFFERS {
            wrong_use(&format!(
                "setBytes: {length} bytes at index {index}: expected 1 to {INLINE} at an index below {BUFFERS}"
            ));
        }
        if bytes.is_null() || index >= BUFFERS {
            return;
        }
        // SAFETY: the caller passes that many bytes.
        let kept: Arc<[u8]> = unsafe { std::slice::from_raw_parts(bytes, length) }.into();
        lock(&self.state)
            .bound
            .insert(index as u32, Bound::Bytes(kept));
    }

    fn set_memory(&self, length: u64, index: u64) {
        if !length.is_multiple_of(16) {
            wrong_use(&format!(
                "setThreadgroupMemoryLength: {length} bytes at index {index}: expected a multiple of 16"
            ));
        }
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        lock(&self.state).memory.insert(index as u32, length);
    }

    fn dispatch(&self, extent: Extent, threadgroup: Size) {
        let state = lock(&self.state);
        if state.pipeline.is_nil() {
            wrong_use("a dispatch without a pipeline; it does not run");
            return;
        }
        // SAFETY: the reference keeps it.
        if let Some(pipeline) = unsafe { PIPELINE.state::<Pipeline>(state.pipeline.id()) } {
            let [x, y, z] = threadgroup.counts().map(u64::from);
            let threads = x.saturating_mul(y).saturating_mul(z);
            if threads > pipeline.most_threads() || threads == 0 {
                wrong_use(&format!(
                    "{}: a threadgroup of {x}×{y}×{z} threads: expected 1 to {}",
                    pipeline.name,
                    pipeline.most_threads()
                ));
            }
        }
        let command = Dispatch {
            pipeline: state.pipeline.clone(),
            bound: state
                .bound
                .iter()
                .map(|(index, bound)| (*index, bound.clone()))
                .collect(),
            memory: state
                .memory
                .iter()
                .map(|(index, bytes)| (*index, *bytes))
                .collect(),
            extent,
            threadgroup: threadgroup.counts(),
            label: state.groups.join(" > "),
        };
        drop(state);
        add(
            &self.commands,
            &self.ended,
            Command::Dispatch(Box::new(command)),
        );
    }
}

class! {
    /// `id<MTLComputeCommandEncoder>`.
    pub COMPUTE = "AssayMTLComputeCommandEncoder": NSOBJECT, Compute, ["MTLComputeCommandEncoder", "MTLCommandEncoder"];
    - "label" "@@:" (this) -> Id { lock(&this.label).clone().autoreleased() }
    - "setLabel:" "v@:@" (this, label: Id) { *lock(&this.label) = string(text(label)); }
    - "device" "@@:" (this) -> Id { device::shared() }
    - "dispatchType" "Q@:" (this) -> u64 { this.kind }
    - "setComputePipelineState:" "v@:@" (this, pipeline: Id) { lock(&this.state).pipeline = Strong::retain(pipeline); }
    - "setBytes:length:atIndex:" "v@:r^vQQ" (this, bytes: *const u8, length: usize, index: u64) { this.set_bytes(bytes, length, index); }
    - "setBuffer:offset:atIndex:" "v@:@QQ" (this, buffer: Id, offset: usize, index: u64) { this.set_buffer(buffer, offset, index); }
    - "setBufferOffset:atIndex:" "v@:QQ" (this, offset: usize, index: u64) { this.set_offset(offset, index); }
    - "setBuffers:offsets:withRange:" "v@:r^@r^Q{_NSRange=QQ}" (this, buffers: *const Id, offsets: *const usize, range: Range) {
        for at in 0..range.length { this.set_buffer(*buffers.add(at), *offsets.add(at), (range.location + at) as u64); }
    }
    - "setThreadgroupMemoryLength:atIndex:" "v@:QQ" (this, length: u64, index: u64) { this.set_memory(length, index); }
    - "dispatchThreadgroups:threadsPerThreadgroup:" "v@:{?=QQQ}{?=QQQ}" (this, groups: Size, threadgroup: Size) {
        this.dispatch(Extent::Groups(groups.counts()), threadgroup);
    }
    - "dispatchThreads:threadsPerThreadgroup:" "v@:{?=QQQ}{?=QQQ}" (this, threads: Size, threadgroup: Size) {
        this.dispatch(Extent::Threads(threads.counts()), threadgroup);
    }
    - "dispatchThreadgroupsWithIndirectBuffer:indirectBufferOffset:threadsPerThreadgroup:" "v@:@Q{?=QQQ}"
      (this, buffer: Id, offset: usize, threadgroup: Size) {
        this.dispatch(Extent::Indirect(Strong::retain(buffer), offset), threadgroup);
    }
    - "memoryBarrierWithScope:" "v@:Q" (this, _scope: u64) { }
    - "memoryBarrierWithResources:count:" "v@:r^@Q" (this, _resources: *const Id, _count: usize) { }
    - "updateFence:" "v@:@" (this, _fence: Id) { }
    - "waitForFence:" "v@:@" (this, _fence: Id) { }
    - "useResource:usage:" "v@:@Q" (this, _resource: Id, _usage: u64) { }
    - "useResources:count:usage:" "v@:r^@QQ" (this, _resources: *const Id, _count: usize, _usage: u64) { }
    - "useHeap:" "v@:@" (this, _heap: Id) { }
    - "useHeaps:count:" "v@:r^@Q" (this, _heaps: *const Id, _count: usize) { }
    - "endEncoding" "v@:" (this) {
        for (samples, index) in std::mem::take(&mut *lock(&this.ends)) { add(&this.commands, &this.ended, Command::Sample(samples, index)); }
        end(&this.commands, &this.ended);
    }
    - "insertDebugSignpost:" "v@:@" (this, _name: Id) { }
    - "pushDebugGroup:" "v@:@" (this, name: Id) { lock(&this.state).groups.push(text(name).to_owned()); }
    - "popDebugGroup" "v@:" (this) { lock(&this.state).groups.pop(); }
}

/// A blit encoder.
#[derive(Debug, Default)]
pub struct Blit {
    commands: Strong,
    ended: AtomicBool,
    label: Mutex<Strong>,
}

pub(crate) fn blit(commands: Id) -> Strong {
    // SAFETY: as in `compute`.
    unsafe {
        BLIT.make(Blit {
            commands: Strong::retain(commands),
            ..Blit::default()
        })
    }
}

/// The bytes of a range that lie in a buffer, and a report of the rest.
unsafe fn inside(what: &str, buffer: Id, from: usize, length: usize) -> usize {
    // SAFETY: the caller's buffer is alive.
    let Some(known) = (unsafe { BUFFER.state::<Buffer>(buffer) }) else {
        wrong_use(&format!("{what}: there is no buffer"));
        return 0;
    };
    let fits = known.length.saturating_sub(from).min(length);
    if fits < length {
        wrong_use(&format!(
            "{what}: {length} bytes at offset {from} of a {}; {fits} of them are accessed",
            known.name()
        ));
    }
    fits
}

class! {
    /// `id<MTLBlitCommandEncoder>`.
    pub BLIT = "AssayMTLBlitCommandEncoder": NSOBJECT, Blit, ["MTLBlitCommandEncoder", "MTLCommandEncoder"];
    - "label" "@@:" (this) -> Id { lock(&this.label).clone().autoreleased() }
    - "setLabel:" "v@:@" (this, label: Id) { *lock(&this.label) = string(text(label)); }
    - "device" "@@:" (this) -> Id { device::shared() }
    - "fillBuffer:range:value:" "v@:@{_NSRange=QQ}C" (this, buffer: Id, range: Range, value: u8) {
        let length = inside("fillBuffer", buffer, range.location, range.length);
        add(&this.commands, &this.ended, Command::Fill { buffer: Strong::retain(buffer), from: range.location, length, value });
    }
    - "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:" "v@:@Q@QQ" (this, from: Id, at: usize, to: Id, to_at: usize, size: usize) {
        let length = inside("copyFromBuffer, source", from, at, size).min(inside("copyFromBuffer, destination", to, to_at, size));
        let (from, to) = (Strong::retain(from), Strong::retain(to));
        add(&this.commands, &this.ended, Command::Copy { from, at, to, to_at, length });
    }
    - "synchronizeResource:" "v@:@" (this, _resource: Id) { }
    - "optimizeContentsForGPUAccess:" "v@:@" (this, _resource: Id) { }
    - "optimizeContentsForCPUAccess:" "v@:@" (this, _resource: Id) { }
    - "updateFence:" "v@:@" (this, _fence: Id) { }
    - "waitForFence:" "v@:@" (this, _fence: Id) { }
    - "endEncoding" "v@:" (this) { end(&this.commands, &this.ended); }
    - "insertDebugSignpost:" "v@:@" (this, _name: Id) { }
    - "pushDebugGroup:" "v@:@" (this, _name: Id) { }
    - "popDebugGroup" "v@:" (this) { }
}
