//! Compute encoders: what they are told becomes commands of their command buffer.

use crate::address::Allocation;
use crate::command::{Bound, Command, Dispatch, Edge, Extent};
use crate::deferred;
use crate::device;
use crate::indirect::{INDIRECT_COMMANDS, IndirectCommands};
use crate::library::{PIPELINE, Pipeline};
use crate::limits::over_limit;
use crate::metal4::Table;
use crate::report::{encoder_made, wrong_use};
use crate::resource::{BUFFER, Buffer, lock};
use crate::sampler::{SAMPLER, SamplerState};
use crate::session::Session;
use crate::texture::{TEXTURE, Texture};
use assay_foundation::string::{Range, text};
use assay_objc::root::NSOBJECT;
use assay_objc::{Id, Strong, class};
use std::collections::BTreeMap;
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

/// What an encoder was told.
#[derive(Clone, Debug, Default)]
struct State {
    pipeline: Strong,
    bound: BTreeMap<u32, Bound>,
    memory: BTreeMap<u32, u32>,
    textures: BTreeMap<u32, Strong>,
    samplers: BTreeMap<u32, Strong>,
    resources: Vec<(u32, Arc<Allocation>)>,
}

/// A compute encoder.
#[derive(Debug, Default)]
pub struct Compute {
    pub(crate) session: Session,
    kind: u64,
    /// Samples that are taken where it ends.
    ends: Mutex<Vec<(Strong, usize)>>,
    state: Mutex<State>,
}

/// Most indices of buffers, and of threadgroup memory.
const BUFFERS: u64 = 31;
/// Most indices of textures, and of samplers.
const TEXTURES: u64 = 128;
/// See above.
const SAMPLERS: u64 = 16;
/// Most bytes of `setBytes`.
const INLINE: usize = 4096;
/// `MTLDispatchTypeConcurrent`.
const CONCURRENT: u64 = 1;

pub(crate) fn compute(commands: Id, kind: u64, ends: Vec<(Strong, usize)>) -> Strong {
    encoder_made();
    // SAFETY: the command buffer is alive; `Compute` is the state of the class.
    unsafe {
        let session = Session::new(commands, kind == CONCURRENT);
        COMPUTE.make(Compute {
            session,
            kind,
            ends: Mutex::new(ends),
            state: Mutex::default(),
        })
    }
}

impl Compute {
    /// Takes what an argument table names in place of what is bound.
    pub(crate) fn set_table(&self, table: &Table) {
        let mut state = lock(&self.state);
        state.bound = table.buffers();
        state.resources = table.resources();
    }

    pub(crate) unsafe fn set_pipeline(&self, pipeline: Id) {
        if pipeline.is_null() {
            wrong_use("setComputePipelineState: the pipeline is nil");
        }
        // SAFETY: the caller's pipeline is alive, or nil.
        lock(&self.state).pipeline = unsafe { Strong::retain(pipeline) };
    }

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
        match known {
            Some(known) if offset >= known.length && offset > 0 => wrong_use(&format!(
                "setBuffer: offset {offset} outside a {} at index {index}",
                known.name()
            )),
            Some(_) => {}
            None => {
                return wrong_use(&format!(
                    "setBuffer: what is given at index {index} is not a buffer"
                ));
            }
        }
        state
            .bound
            .insert(index as u32, Bound::Buffer(kept, offset));
    }

    unsafe fn set_buffers(&self, buffers: *const Id, offsets: *const usize, range: Range) {
        if buffers.is_null() || offsets.is_null() {
            return wrong_use("setBuffers: the arrays of buffers and offsets must not be null");
        }
        for (at, index) in indices(range) {
            // SAFETY: the caller's arrays have as many elements as the range.
            unsafe { self.set_buffer(*buffers.add(at), *offsets.add(at), index) };
        }
    }

    fn set_offset(&self, offset: usize, index: u64) {
        let place = u32::try_from(index).unwrap_or(u32::MAX);
        match lock(&self.state).bound.get_mut(&place) {
            Some(Bound::Buffer(object, known)) => {
                // SAFETY: the reference keeps it.
                let buffer = unsafe { BUFFER.state::<Buffer>(object.id()) };
                if let Some(buffer) = buffer.filter(|buffer| offset >= buffer.length && offset > 0)
                {
                    wrong_use(&format!(
                        "setBufferOffset: offset {offset} outside a {} at index {index}",
                        buffer.name()
                    ));
                }
                *known = offset;
            }
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
        if bytes.is_null() {
            wrong_use(&format!(
                "setBytes: the address given at index {index} is null"
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

    unsafe fn set_texture(&self, texture: Id, index: u64) {
        // SAFETY: the caller's texture is alive, or nil.
        let (known, kept) = unsafe { (TEXTURE.state::<Texture>(texture), Strong::retain(texture)) };
        set_object(
            "setTexture",
            TEXTURES,
            known.is_some(),
            kept,
            index,
            &mut lock(&self.state).textures,
        );
    }

    unsafe fn set_sampler(&self, sampler: Id, index: u64) {
        // SAFETY: the caller's sampler is alive, or nil.
        let (known, kept) = unsafe {
            (
                SAMPLER.state::<SamplerState>(sampler),
                Strong::retain(sampler),
            )
        };
        set_object(
            "setSamplerState",
            SAMPLERS,
            known.is_some(),
            kept,
            index,
            &mut lock(&self.state).samplers,
        );
    }

    pub(crate) fn set_memory(&self, length: u64, index: u64) {
        if !length.is_multiple_of(16) {
            wrong_use(&format!(
                "setThreadgroupMemoryLength: {length} bytes at index {index}: expected a multiple of 16"
            ));
        }
        if index >= BUFFERS {
            return wrong_use(&format!(
                "setThreadgroupMemoryLength: index {index}: expected less than {BUFFERS}"
            ));
        }
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        lock(&self.state).memory.insert(index as u32, length);
    }

    pub(crate) fn dispatch(&self, extent: Extent, threadgroup: Size) {
        self.dispatch_with(&lock(&self.state), extent, threadgroup);
    }

    fn dispatch_with(&self, state: &State, extent: Extent, threadgroup: Size) {
        if state.pipeline.is_nil() {
            wrong_use("a dispatch without a pipeline; it does not run");
            return;
        }
        // SAFETY: the reference keeps it.
        let pipeline = unsafe { PIPELINE.state::<Pipeline>(state.pipeline.id()) };
        let name = pipeline.map_or("", |pipeline| pipeline.name.as_str());
        if let Some(refused) =
            pipeline.and_then(|pipeline| over_limit(pipeline, state.memory.values(), threadgroup))
        {
            wrong_use(&refused);
            self.session.add(Command::Refused(refused));
            return;
        }
        let [x, y, z] = threadgroup.counts();
        let shown = || format!("{extent} in threadgroups of {x}×{y}×{z}");
        let origin = self.session.origin(
            name,
            if crate::settings::settings().check {
                shown()
            } else {
                String::new()
            },
        );
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
            textures: pairs(&state.textures),
            samplers: pairs(&state.samplers),
            resources: state.resources.clone(),
            extent,
            threadgroup: threadgroup.counts(),
            origin,
        };
        self.session.add(Command::Dispatch(Box::new(command)));
    }

    /// Adds the commands of an indirect command buffer.
    pub(crate) unsafe fn execute(&self, commands: Id, range: Range) {
        // SAFETY: the caller's buffer is alive, or nil.
        let Some(indirect) = (unsafe { INDIRECT_COMMANDS.state::<IndirectCommands>(commands) })
        else {
            return wrong_use("executeCommandsInBuffer: there is no indirect command buffer");
        };
        let own = lock(&self.state).clone();
        self.session.add(Command::Overlap(true));
        for command in indirect.commands(range) {
            if command.has_barrier {
                self.session.add(Command::Barrier);
            }
            let Some((extent, threadgroup)) = command.extent else {
                continue;
            };
            let state = State {
                pipeline: match indirect.inherits_pipeline {
                    true => own.pipeline.clone(),
                    false => command.pipeline,
                },
                bound: match indirect.inherits_buffers {
                    true => own.bound.clone(),
                    false => command.bound,
                },
                memory: command.memory,
                ..own.clone()
            };
            self.dispatch_with(&state, extent, threadgroup);
        }
        self.session.add(Command::Overlap(false));
    }

    /// The same for a range that stands in a buffer, as it is now.
    unsafe fn execute_range_in(&self, commands: Id, buffer: Id, offset: usize) {
        // SAFETY: the caller's buffers are alive, or nil.
        unsafe {
            let known = BUFFER.state::<Buffer>(buffer);
            let Some(known) = known.filter(|known| offset.saturating_add(8) <= known.length) else {
                return wrong_use(
                    "executeCommandsInBuffer: the range lies outside its buffer; nothing runs",
                );
            };
            deferred::touch(&known.allocation);
            let [location, length] = known
                .start()
                .add(offset)
                .cast::<[u32; 2]>()
                .read_unaligned()
                .map(|n| n as usize);
            self.execute(commands, Range { location, length });
        }
    }

    unsafe fn dispatch_indirect(&self, buffer: Id, offset: usize, threadgroup: Size) {
        if buffer.is_null() {
            return wrong_use(
                "dispatchThreadgroupsWithIndirectBuffer: the buffer is nil; it does not run",
            );
        }
        if !offset.is_multiple_of(4) {
            wrong_use(&format!(
                "dispatchThreadgroupsWithIndirectBuffer: offset {offset}: expected a multiple of 4"
            ));
        }
        // SAFETY: the caller's buffer is alive.
        let buffer = unsafe { Strong::retain(buffer) };
        self.dispatch(Extent::Indirect(buffer, offset), threadgroup);
    }

    fn barrier(&self, scope: u64) {
        // `MTLBarrierScope`: buffers, textures, render targets.
        if scope == 0 || scope & !7 != 0 {
            wrong_use(&format!(
                "memoryBarrierWithScope: {scope} is not a set of buffers (1) and textures (2)"
            ));
        }
        if scope & 1 != 0 {
            self.session.add(Command::Barrier);
        }
    }

    unsafe fn barrier_for(&self, resources: *const Id, count: usize) {
        if resources.is_null() || count == 0 {
            return wrong_use("memoryBarrierWithResources: there are no resources");
        }
        let mut ranges = Vec::new();
        for at in 0..count {
            // SAFETY: the caller's array has that many resources, which are alive.
            match unsafe { BUFFER.state::<Buffer>(*resources.add(at)) } {
                Some(buffer) => ranges.push(buffer.range()),
                None => wrong_use(&format!(
                    "memoryBarrierWithResources: resource {at} is nil or not a buffer"
                )),
            }
        }
        self.session.add(Command::BarrierFor(ranges));
    }
}

/// The places of an array and the indices of a range that they belong to. An index past the last number is one past every limit, too.
fn indices(range: Range) -> impl Iterator<Item = (usize, u64)> {
    let first = range.location as u64;
    (0..range.length).map(move |at| (at, first.saturating_add(at as u64)))
}

/// Binds a texture or sampler, or nothing for nil.
fn set_object(
    what: &str,
    most: u64,
    is_one: bool,
    object: Strong,
    index: u64,
    all: &mut BTreeMap<u32, Strong>,
) {
    if index >= most {
        return wrong_use(&format!("{what}: index {index}: expected less than {most}"));
    }
    if object.is_nil() {
        all.remove(&(index as u32));
    } else if is_one {
        all.insert(index as u32, object);
    } else {
        wrong_use(&format!(
            "{what}: what is given at index {index} is not one"
        ));
    }
}

fn pairs(objects: &BTreeMap<u32, Strong>) -> Vec<(u32, Strong)> {
    objects
        .iter()
        .map(|(index, object)| (*index, object.clone()))
        .collect()
}

fn resource_is_nil(what: &str, resource: Id) {
    if resource.is_null() {
        wrong_use(&format!("{what}: the resource is nil"));
    }
}

class! {
    /// `id<MTLComputeCommandEncoder>`.
    pub COMPUTE = "AssayMTLComputeCommandEncoder": NSOBJECT, Compute, ["MTLComputeCommandEncoder", "MTLCommandEncoder"];
    - "label" "@@:" (this) -> Id { this.session.label().autoreleased() }
    - "setLabel:" "v@:@" (this, label: Id) { this.session.set_label(label); }
    - "device" "@@:" (this) -> Id { device::shared() }
    - "dispatchType" "Q@:" (this) -> u64 { this.kind }
    - "setComputePipelineState:" "v@:@" (this, pipeline: Id) { this.set_pipeline(pipeline); }
    - "setBytes:length:atIndex:" "v@:r^vQQ" (this, bytes: *const u8, length: usize, index: u64) { this.set_bytes(bytes, length, index); }
    - "setBuffer:offset:atIndex:" "v@:@QQ" (this, buffer: Id, offset: usize, index: u64) { this.set_buffer(buffer, offset, index); }
    - "setBufferOffset:atIndex:" "v@:QQ" (this, offset: usize, index: u64) { this.set_offset(offset, index); }
    - "setBuffers:offsets:withRange:" "v@:r^@r^Q{_NSRange=QQ}" (this, buffers: *const Id, offsets: *const usize, range: Range) {
        this.set_buffers(buffers, offsets, range);
    }
    - "setTexture:atIndex:" "v@:@Q" (this, texture: Id, index: u64) { this.set_texture(texture, index); }
    - "setTextures:withRange:" "v@:r^@{_NSRange=QQ}" (this, textures: *const Id, range: Range) {
        if textures.is_null() { return wrong_use("setTextures: the array must not be null"); }
        for (at, index) in indices(range) { this.set_texture(*textures.add(at), index); }
    }
    - "setSamplerState:atIndex:" "v@:@Q" (this, sampler: Id, index: u64) { this.set_sampler(sampler, index); }
    - "setSamplerStates:withRange:" "v@:r^@{_NSRange=QQ}" (this, samplers: *const Id, range: Range) {
        if samplers.is_null() { return wrong_use("setSamplerStates: the array must not be null"); }
        for (at, index) in indices(range) { this.set_sampler(*samplers.add(at), index); }
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
        this.dispatch_indirect(buffer, offset, threadgroup);
    }
    - "executeCommandsInBuffer:withRange:" "v@:@{_NSRange=QQ}" (this, commands: Id, range: Range) { this.execute(commands, range); }
    - "executeCommandsInBuffer:indirectBuffer:indirectBufferOffset:" "v@:@@Q" (this, commands: Id, buffer: Id, offset: usize) {
        this.execute_range_in(commands, buffer, offset);
    }
    - "memoryBarrierWithScope:" "v@:Q" (this, scope: u64) { this.barrier(scope); }
    - "memoryBarrierWithResources:count:" "v@:r^@Q" (this, resources: *const Id, count: usize) { this.barrier_for(resources, count); }
    - "updateFence:" "v@:@" (this, fence: Id) { this.session.update_fence(fence); }
    - "waitForFence:" "v@:@" (this, fence: Id) { this.session.wait_for_fence(fence); }
    - "useResource:usage:" "v@:@Q" (this, resource: Id, _usage: u64) { resource_is_nil("useResource", resource); }
    - "useResources:count:usage:" "v@:r^@QQ" (this, _resources: *const Id, _count: usize, _usage: u64) { }
    - "useHeap:" "v@:@" (this, heap: Id) { resource_is_nil("useHeap", heap); }
    - "useHeaps:count:" "v@:r^@Q" (this, _heaps: *const Id, _count: usize) { }
    - "endEncoding" "v@:" (this) {
        for (samples, index) in std::mem::take(&mut *lock(&this.ends)) { this.session.add(Command::Sample(samples, index, Edge::End)); }
        this.session.end();
    }
    - "insertDebugSignpost:" "v@:@" (this, _name: Id) { }
    - "pushDebugGroup:" "v@:@" (this, name: Id) { this.session.push_group(text(name)); }
    - "popDebugGroup" "v@:" (this) { this.session.pop_group(); }
}
