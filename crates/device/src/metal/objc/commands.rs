//! Command buffers: filled through one encoder, timed, and answered.

use super::super::driver::{Completed, Copy, OnCompletion, RawBinding, RawDispatch, Resident};
use super::super::failure::{Failure, FailureKind};
use super::super::textures::Piece;
use super::values::{failure, size};
use super::{Buffer, CommandBuffer, Encoder, Objc, Texture};
use crate::Extent;
use assay_timing::Recorder;
use assay_timing::metal::TimedBuffer;
use block2::RcBlock;
use objc2::rc::{Retained, autoreleasepool};
use objc2::runtime::ProtocolObject;
use objc2_foundation::NSString;
use objc2_metal::{
    MTLBlitCommandEncoder, MTLCommandBuffer, MTLCommandBufferStatus, MTLCommandEncoder,
    MTLComputeCommandEncoder, MTLOrigin, MTLResourceUsage,
};
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Mutex;
use std::time::Duration;

/// A command buffer being filled.
pub(crate) struct Commands {
    /// Before the command buffer, so that it ends first: Metal aborts the process over an encoder that did not.
    encoder: Option<OpenEncoder>,
    buffer: Retained<CommandBuffer>,
    timed: TimedBuffer,
    dispatches: usize,
    /// Whether each dispatch is named for a capture.
    named: bool,
}

/// An encoder that ends whatever happens.
struct OpenEncoder(Retained<Encoder>);

impl Drop for OpenEncoder {
    fn drop(&mut self) {
        self.0.endEncoding();
    }
}

impl Commands {
    pub(super) fn new(
        buffer: Retained<CommandBuffer>,
        timed: TimedBuffer,
        named: bool,
    ) -> Commands {
        Commands {
            encoder: None,
            buffer,
            timed,
            dispatches: 0,
            named,
        }
    }

    /// Encodes a dispatch. All of them share one serial encoder, where each sees what the one before wrote, unless the GPU
    /// samples its counters at encoders only and dispatches are to be timed.
    pub(super) fn encode(
        &mut self,
        recorder: &Recorder,
        dispatch: &RawDispatch<'_, Objc>,
    ) -> Result<(), String> {
        let none = || "Metal gave no compute encoder".to_owned();
        self.dispatches += 1;
        if self.timed.wants_own_encoders() {
            let kernel = recorder.label(dispatch.label);
            return self
                .timed
                .dispatch_in_own_encoder(kernel, |encoder| set(encoder, dispatch))
                .ok_or_else(none);
        }
        if self.encoder.is_none() {
            let encoder = self.buffer.computeCommandEncoder().ok_or_else(none)?;
            encoder.setLabel(Some(&NSString::from_str(dispatch.label)));
            self.encoder = Some(OpenEncoder(encoder));
        }
        let Some(OpenEncoder(encoder)) = &self.encoder else {
            return Err(none());
        };
        if self.named {
            encoder.pushDebugGroup(&NSString::from_str(dispatch.label));
        }
        if recorder.is_dispatch_enabled() {
            let kernel = recorder.label(dispatch.label);
            self.timed
                .dispatch(kernel, encoder, |encoder| set(encoder, dispatch));
        } else {
            set(encoder, dispatch);
        }
        if self.named {
            encoder.popDebugGroup();
        }
        Ok(())
    }

    pub(super) fn encode_copy(&mut self, copy: &Copy<'_, Buffer>) -> Result<(), String> {
        self.encoder = None;
        let encoder = self.buffer.blitCommandEncoder();
        let encoder = encoder.ok_or_else(|| "Metal gave no blit encoder".to_owned())?;
        // SAFETY: the caller has checked both ranges.
        unsafe {
            encoder.copyFromBuffer_sourceOffset_toBuffer_destinationOffset_size(
                copy.from,
                copy.from_offset as usize,
                copy.to,
                copy.to_offset as usize,
                copy.length as usize,
            );
        }
        encoder.endEncoding();
        Ok(())
    }

    pub(super) fn encode_texels(
        &mut self,
        buffer: &Buffer,
        texture: &Texture,
        pieces: &[Piece],
        into_texture: bool,
    ) -> Result<(), String> {
        self.encoder = None;
        let encoder = self.buffer.blitCommandEncoder();
        let encoder = encoder.ok_or_else(|| "Metal gave no blit encoder".to_owned())?;
        let origin = MTLOrigin { x: 0, y: 0, z: 0 };
        for piece in pieces {
            let (row, image) = (piece.bytes_per_row as usize, piece.bytes_per_image as usize);
            let (slice, level) = (piece.slice as usize, piece.level as usize);
            let (offset, extent) = (piece.offset as usize, size(piece.size));
            // SAFETY: the pieces are those of the texture's own layout, and the buffer has all its bytes.
            unsafe {
                if into_texture {
                    encoder.copyFromBuffer_sourceOffset_sourceBytesPerRow_sourceBytesPerImage_sourceSize_toTexture_destinationSlice_destinationLevel_destinationOrigin(
                        buffer, offset, row, image, extent, texture, slice, level, origin,
                    );
                } else {
                    encoder.copyFromTexture_sourceSlice_sourceLevel_sourceOrigin_sourceSize_toBuffer_destinationOffset_destinationBytesPerRow_destinationBytesPerImage(
                        texture, slice, level, origin, extent, buffer, offset, row, image,
                    );
                }
            }
        }
        encoder.endEncoding();
        Ok(())
    }

    /// Hands the commands to the GPU; `done` is called from a thread of Metal's.
    pub(super) fn commit(self, recorder: &Recorder, done: OnCompletion) {
        let Commands {
            encoder,
            buffer,
            timed,
            dispatches,
            named: _,
        } = self;
        drop(encoder);
        // Only then are there samples to look for.
        let sampled = recorder
            .is_dispatch_enabled()
            .then(|| (recorder.clone(), timed.id()));
        // First, so that what it records is there when our own handler looks.
        timed.record_on_completion();
        let done = Mutex::new(Some(done));
        let handler = RcBlock::new(move |finished: NonNull<CommandBuffer>| {
            let Some(done) = done.lock().ok().and_then(|mut done| done.take()) else {
                return;
            };
            // SAFETY: Metal passes the completed command buffer, alive during the call.
            let finished = unsafe { finished.as_ref() };
            let mut completed = autoreleasepool(|_| completed(finished));
            if let Some((recorder, id)) = &sampled {
                let samples = recorder.dispatches_of(*id);
                if samples.len() == dispatches {
                    let lengths = samples.iter().map(|sample| sample.end_ns - sample.start_ns);
                    completed.dispatches = lengths.map(Duration::from_nanos).collect();
                }
            }
            done(completed);
        });
        // SAFETY: the block is valid, Metal copies it and calls it on a thread of its own; all it captured may
        // change threads.
        unsafe { buffer.addCompletedHandler(RcBlock::as_ptr(&handler)) };
        buffer.commit();
    }
}

/// What the command buffer says of itself.
fn completed(finished: &CommandBuffer) -> Completed {
    let failed = finished.status() == MTLCommandBufferStatus::Error;
    let no_reason = || Failure {
        kind: FailureKind::Other,
        message: "Metal gave no reason".to_owned(),
    };
    Completed {
        times: (finished.GPUStartTime(), finished.GPUEndTime()),
        failure: failed.then(|| {
            finished
                .error()
                .map_or_else(no_reason, |error| failure(&error))
        }),
        dispatches: Vec::new(),
    }
}

fn set(encoder: &Encoder, dispatch: &RawDispatch<'_, Objc>) {
    encoder.setComputePipelineState(dispatch.pipeline);
    for (index, binding) in &dispatch.bindings {
        let index = *index as usize;
        // SAFETY: indices, offsets and sizes were checked against the pipeline and the buffers; Metal keeps
        // the buffers alive while the command buffer needs them and copies the bytes.
        unsafe {
            match binding {
                RawBinding::Buffer { buffer, offset } => {
                    encoder.setBuffer_offset_atIndex(Some(buffer), *offset as usize, index);
                }
                RawBinding::Bytes(bytes) => {
                    let pointer = NonNull::from(*bytes).cast::<c_void>();
                    encoder.setBytes_length_atIndex(pointer, bytes.len(), index);
                }
                RawBinding::Texture(texture) => {
                    encoder.setTexture_atIndex(Some(texture), index);
                }
                RawBinding::Sampler(sampler) => {
                    encoder.setSamplerState_atIndex(Some(sampler), index);
                }
                RawBinding::ThreadgroupMemory(length) => {
                    encoder.setThreadgroupMemoryLength_atIndex(*length as usize, index);
                }
            }
        }
    }
    let usage = MTLResourceUsage::Read | MTLResourceUsage::Write;
    for resident in &dispatch.resident {
        let resource = match resident {
            Resident::Buffer(buffer) => ProtocolObject::from_ref(&***buffer),
            Resident::Texture(texture) => ProtocolObject::from_ref(&***texture),
        };
        encoder.useResource_usage(resource, usage);
    }
    let threadgroup = size(dispatch.threadgroup);
    match dispatch.extent {
        Extent::Threads(threads) => {
            encoder.dispatchThreads_threadsPerThreadgroup(size(threads), threadgroup);
        }
        Extent::Groups(groups) => {
            encoder.dispatchThreadgroups_threadsPerThreadgroup(size(groups), threadgroup);
        }
    }
}
