//! The one encoder of compute: dispatches with an argument table, copies and fills, barriers by stages.

use super::{TABLE, Table};
use crate::address;
use crate::blit;
use crate::command::{Command, Extent};
use crate::device;
use crate::encoder::{self, Size};
use crate::report::wrong_use;
use crate::resource::lock;
use assay_foundation::string::{Range, text};
use assay_objc::root::NSOBJECT;
use assay_objc::{Id, Strong, class};
use std::sync::Mutex;

/// An encoder: one of the older kind, and the table that its next dispatch takes.
#[derive(Debug, Default)]
pub struct Compute {
    inner: Strong,
    table: Mutex<Strong>,
}

/// `MTLDispatchTypeConcurrent`.
const CONCURRENT: u64 = 1;

/// An encoder of a command buffer that is recorded.
pub(super) fn compute(recorded: &Strong) -> Strong {
    let inner = encoder::compute(recorded.id(), CONCURRENT, Vec::new());
    let table = Mutex::default();
    // SAFETY: `Compute` is the state of the class.
    unsafe { COMPUTE.make(Compute { inner, table }) }
}

impl Compute {
    fn with(&self, act: impl FnOnce(&encoder::Compute)) {
        // SAFETY: the reference keeps it.
        if let Some(inner) = unsafe { encoder::COMPUTE.state::<encoder::Compute>(self.inner.id()) }
        {
            act(inner);
        }
    }

    fn dispatch(&self, extent: Extent, threadgroup: Size) {
        let table = lock(&self.table).clone();
        self.with(|inner| {
            // SAFETY: the reference keeps it.
            if let Some(table) = unsafe { TABLE.state::<Table>(table.id()) } {
                inner.set_table(table);
            }
            inner.dispatch(extent, threadgroup);
        });
    }

    fn dispatch_at(&self, address: u64, threadgroup: Size) {
        match address::find(address) {
            Some((allocation, offset)) => {
                self.dispatch(Extent::At(allocation, offset), threadgroup)
            }
            None => wrong_use(&format!(
                "dispatchThreadgroupsWithIndirectBuffer: {address:#x} is in no buffer; it does not run"
            )),
        }
    }
}

class! {
    /// `id<MTL4ComputeCommandEncoder>`.
    pub COMPUTE = "AssayMTL4ComputeCommandEncoder": NSOBJECT, Compute, ["MTL4ComputeCommandEncoder", "MTL4CommandEncoder"];
    - "label" "@@:" (this) -> Id {
        let mut label = Strong::nil();
        this.with(|inner| label = inner.session.label());
        label.autoreleased()
    }
    - "setLabel:" "v@:@" (this, label: Id) { this.with(|inner| inner.session.set_label(label)); }
    - "device" "@@:" (this) -> Id { device::shared() }
    - "stages" "Q@:" (this) -> u64 { 3 << 27 }
    - "setComputePipelineState:" "v@:@" (this, pipeline: Id) { this.with(|inner| inner.set_pipeline(pipeline)); }
    - "setArgumentTable:" "v@:@" (this, table: Id) {
        if !table.is_null() && TABLE.state::<Table>(table).is_none() { wrong_use("setArgumentTable: what is given is not one"); }
        *lock(&this.table) = Strong::retain(table);
    }
    - "setThreadgroupMemoryLength:atIndex:" "v@:QQ" (this, length: u64, index: u64) { this.with(|inner| inner.set_memory(length, index)); }
    - "dispatchThreads:threadsPerThreadgroup:" "v@:{?=QQQ}{?=QQQ}" (this, threads: Size, threadgroup: Size) {
        this.dispatch(Extent::Threads(threads.counts()), threadgroup);
    }
    - "dispatchThreadgroups:threadsPerThreadgroup:" "v@:{?=QQQ}{?=QQQ}" (this, groups: Size, threadgroup: Size) {
        this.dispatch(Extent::Groups(groups.counts()), threadgroup);
    }
    - "dispatchThreadgroupsWithIndirectBuffer:threadsPerThreadgroup:" "v@:Q{?=QQQ}" (this, address: u64, threadgroup: Size) {
        this.dispatch_at(address, threadgroup);
    }
    - "executeCommandsInBuffer:withRange:" "v@:@{_NSRange=QQ}" (this, commands: Id, range: Range) { this.with(|inner| inner.execute(commands, range)); }
    - "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:" "v@:@Q@QQ" (this, from: Id, at: usize, to: Id, to_at: usize, size: usize) {
        this.with(|inner| blit::copy(&inner.session, (from, at), (to, to_at), size));
    }
    - "fillBuffer:range:value:" "v@:@{_NSRange=QQ}C" (this, buffer: Id, range: Range, value: u8) {
        this.with(|inner| blit::fill(&inner.session, buffer, range, value));
    }
    - "barrierAfterEncoderStages:beforeEncoderStages:visibilityOptions:" "v@:QQQ" (this, _after: u64, _before: u64, _options: u64) {
        this.with(|inner| inner.session.add(Command::Barrier));
    }
    // Encoders of a queue run one after the other here.
    - "barrierAfterQueueStages:beforeStages:visibilityOptions:" "v@:QQQ" (this, _after: u64, _before: u64, _options: u64) {
        this.with(|inner| inner.session.add(Command::Barrier));
    }
    - "barrierAfterStages:beforeQueueStages:visibilityOptions:" "v@:QQQ" (this, _after: u64, _before: u64, _options: u64) { }
    - "updateFence:afterEncoderStages:" "v@:@Q" (this, fence: Id, _stages: u64) { this.with(|inner| inner.session.update_fence(fence)); }
    - "waitForFence:beforeEncoderStages:" "v@:@Q" (this, fence: Id, _stages: u64) { this.with(|inner| inner.session.wait_for_fence(fence)); }
    - "insertDebugSignpost:" "v@:@" (this, _name: Id) { }
    - "pushDebugGroup:" "v@:@" (this, name: Id) { this.with(|inner| inner.session.push_group(text(name))); }
    - "popDebugGroup" "v@:" (this) { this.with(|inner| inner.session.pop_group()); }
    - "endEncoding" "v@:" (this) { this.with(|inner| inner.session.end()); }
}
