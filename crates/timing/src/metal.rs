//! Metal: command buffers and dispatches timed without waiting for the GPU.
//!
//! A [`Timer`] belongs to a device. It gives out a [`TimedBuffer`] for each command
//! buffer, which labels it, counts or times its dispatches, and records it from a
//! completion handler. Nothing here waits: asynchronous commits stay asynchronous.
//!
//! Times of command buffers are `GPUStartTime` and `GPUEndTime`, in seconds of the host's
//! clock. Dispatches are timed where the device samples at dispatches, or, if the program
//! accepts one encoder per dispatch, where it samples at encoders; otherwise a note in
//! every report says why they are not.

#![allow(unsafe_code)]

use crate::label::LabelId;
use crate::recorder::Recorder;
use crate::sample::{CommandBufferId, CommandBufferSample, Invalid, Sampling, seconds_to_ns};
use crate::sampling::{
    Budget, Capability, EncoderPerDispatch, Permit, Pool, Recycled, SAMPLES_PER_BUFFER,
    SampleChain, SampleSlot, Strategy, timestamps,
};
use crate::sync::lock;
use block2::RcBlock;
use objc2::Message;
use objc2::rc::{Retained, autoreleasepool};
use objc2::runtime::ProtocolObject;
use objc2_foundation::{NSRange, NSString};
use objc2_metal::{
    MTLCommandBuffer, MTLCommandBufferStatus, MTLCommandEncoder, MTLCommonCounterSetTimestamp,
    MTLComputeCommandEncoder, MTLComputePassDescriptor, MTLCounterSampleBuffer,
    MTLCounterSampleBufferDescriptor, MTLCounterSamplingPoint, MTLCounterSet, MTLDevice,
    MTLDispatchType, MTLStorageMode,
};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

/// A Metal device.
pub type Device = ProtocolObject<dyn MTLDevice>;
/// A Metal command buffer.
pub type CommandBuffer = ProtocolObject<dyn MTLCommandBuffer>;
/// A Metal compute encoder.
pub type Encoder = ProtocolObject<dyn MTLComputeCommandEncoder>;

/// Idle sample buffers kept for the next command buffer, 32 KB each.
const IDLE_SAMPLE_BUFFERS: usize = 16;

/// Sample buffers of this process: Metal refuses the 33rd (WebKit 48756, cubecl 1361), and the program may have its own.
static SAMPLE_BUFFERS: Budget = Budget::new(28);

/// A counter sample buffer that may change threads.
struct SampleBuffer {
    samples: Retained<ProtocolObject<dyn MTLCounterSampleBuffer>>,
    _permit: Permit,
}

// SAFETY: Metal's objects may be used from any thread; a sample buffer is used by one
// thread at a time here: by the encoding one, then by the completion handler, then by the
// next that takes it out of the pool, each handed over through a lock or by Metal itself.
unsafe impl Send for SampleBuffer {}

impl SampleBuffer {
    /// The first `count` samples as raw timestamps.
    fn read(&self, count: usize) -> Option<Vec<u64>> {
        let range = NSRange::new(0, count.min(SAMPLES_PER_BUFFER));
        // SAFETY: the range lies inside the buffer, which has SAMPLES_PER_BUFFER samples.
        let data = unsafe { self.samples.resolveCounterRange(range) }?;
        // SAFETY: nobody writes to the data, which is ours, while the slice lives.
        Some(timestamps(unsafe { data.as_bytes_unchecked() }))
    }
}

struct Shared {
    recorder: Recorder,
    device: Retained<Device>,
    strategy: Strategy,
    counters: Option<Retained<ProtocolObject<dyn MTLCounterSet>>>,
    pool: Pool<Recycled<SampleBuffer>>,
}

// SAFETY: devices and counter sets are immutable and documented as usable from any thread;
// the pool has its own lock and the recorder is made to be shared.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

/// Times the command buffers of one device.
#[derive(Clone)]
pub struct Timer {
    shared: Arc<Shared>,
}

impl Timer {
    /// A timer that records into `recorder`. Whether dispatches are timed depends on the
    /// device, on `encoders`, and on [`Recorder::is_dispatch_enabled`] when a command
    /// buffer begins.
    pub fn new(recorder: &Recorder, device: &Device, encoders: EncoderPerDispatch) -> Timer {
        let counters = autoreleasepool(|_| timestamp_counters(device));
        let supports = |point| device.supportsCounterSampling(point);
        let capability = Capability {
            timestamps: counters.is_some(),
            dispatch_boundary: supports(MTLCounterSamplingPoint::AtDispatchBoundary),
            stage_boundary: supports(MTLCounterSamplingPoint::AtStageBoundary),
        };
        let strategy = Strategy::choose(capability, encoders);
        if let Strategy::CommandBuffersOnly(reason) = strategy
            && recorder.is_dispatch_enabled()
        {
            recorder.note(reason);
        }
        Timer {
            shared: Arc::new(Shared {
                recorder: recorder.clone(),
                device: device.retain(),
                strategy,
                counters,
                pool: Pool::new(IDLE_SAMPLE_BUFFERS),
            }),
        }
    }

    /// How dispatches are timed, or why they are not.
    pub fn strategy(&self) -> Strategy {
        self.shared.strategy
    }

    /// Reads both clocks once. The timer does so for every command buffer whose
    /// dispatches are timed; more readings make no harm.
    pub fn sample_clocks(&self) {
        let (mut cpu, mut gpu) = (0, 0);
        // SAFETY: both pointers are valid for the duration of the call.
        unsafe {
            self.shared
                .device
                .sampleTimestamps_gpuTimestamp(NonNull::from(&mut cpu), NonNull::from(&mut gpu));
        }
        self.shared.recorder.record_clock_pair(cpu, gpu);
    }

    /// Begins to time a command buffer: gives it its label, visible in Instruments too.
    /// `queue` is any number that tells command queues apart. While
    /// [`Recorder::is_enabled`] says no, labelling is all that happens.
    pub fn begin(&self, buffer: &CommandBuffer, label: &str, queue: u32) -> TimedBuffer {
        autoreleasepool(|_| buffer.setLabel(Some(&NSString::from_str(label))));
        TimedBuffer {
            buffer: buffer.retain(),
            timing: self
                .shared
                .recorder
                .is_enabled()
                .then(|| self.timing(label, queue)),
        }
    }

    fn timing(&self, label: &str, queue: u32) -> Timing {
        let recorder = &self.shared.recorder;
        let sampled = recorder.is_dispatch_enabled()
            && !matches!(self.shared.strategy, Strategy::CommandBuffersOnly(_));
        if sampled {
            self.sample_clocks();
        }
        let id = recorder.begin_command_buffer();
        let mut sample = CommandBufferSample::new(id, recorder.label(label), 0, 0);
        sample.queue = queue;
        sample.created_ns = host_ns();
        if sampled {
            sample.sampling = self.shared.strategy.sampling();
        }
        Timing {
            timer: self.clone(),
            sample,
            chain: sampled.then(SampleChain::default),
        }
    }

    /// A sample buffer from the pool, or a new one.
    fn sample_buffer(&self) -> Option<Recycled<SampleBuffer>> {
        self.shared
            .pool
            .take()
            .or_else(|| autoreleasepool(|_| self.make_sample_buffer()))
    }

    fn make_sample_buffer(&self) -> Option<Recycled<SampleBuffer>> {
        let Some(permit) = SAMPLE_BUFFERS.take() else {
            self.shared.recorder.note(
                "some dispatches are not timed: too many command buffers at once for the counter sample buffers of a process",
            );
            return None;
        };
        let descriptor = MTLCounterSampleBufferDescriptor::new();
        descriptor.setCounterSet(self.shared.counters.as_deref());
        descriptor.setStorageMode(MTLStorageMode::Shared);
        // SAFETY: the count is the documented maximum.
        unsafe { descriptor.setSampleCount(SAMPLES_PER_BUFFER) };
        let made = self
            .shared
            .device
            .newCounterSampleBufferWithDescriptor_error(&descriptor);
        match made {
            Ok(samples) => Some(Recycled::new(SampleBuffer {
                samples,
                _permit: permit,
            })),
            Err(error) => {
                let reason = error.localizedDescription();
                let note =
                    format!("some dispatches are not timed: no counter sample buffer: {reason}");
                self.shared.recorder.note(&note);
                None
            }
        }
    }
}

/// The device's counter set of timestamps.
fn timestamp_counters(device: &Device) -> Option<Retained<ProtocolObject<dyn MTLCounterSet>>> {
    // SAFETY: a constant string that Metal exports since macOS 10.15.
    let wanted: &NSString = unsafe { MTLCommonCounterSetTimestamp };
    let sets = device.counterSets()?;
    sets.iter().find(|set| &*set.name() == wanted)
}

/// The host clock that `GPUStartTime` counts in, `None` if it cannot be read.
fn host_ns() -> Option<u64> {
    unsafe extern "C" {
        fn clock_gettime_nsec_np(clock: std::ffi::c_uint) -> u64;
    }
    /// `CLOCK_UPTIME_RAW`: mach_absolute_time in nanoseconds.
    const UPTIME_RAW: std::ffi::c_uint = 8;
    // SAFETY: takes a number and returns one; 0 means failure.
    let ns = unsafe { clock_gettime_nsec_np(UPTIME_RAW) };
    (ns != 0).then_some(ns)
}

/// What is known about a command buffer until it completes. It does not hold the command
/// buffer, which holds the completion handler, which holds this.
struct Timing {
    timer: Timer,
    sample: CommandBufferSample,
    /// Only if dispatches are timed.
    chain: Option<SampleChain<SampleBuffer>>,
}

impl Timing {
    /// Records what the completed command buffer says.
    fn completed(self, done: &CommandBuffer) {
        let shared = &self.timer.shared;
        let (id, label) = (self.sample.id, self.sample.label);
        let failed = done.status() == MTLCommandBufferStatus::Error;
        if let Some(chain) = self.chain {
            self.timer.sample_clocks();
            let read = |buffer: &SampleBuffer, count| buffer.read(count).filter(|_| !failed);
            let buffers = chain.resolve(&shared.recorder, id, label, read);
            shared.pool.give(buffers);
        }
        let times = if failed {
            Err(Invalid::Failed)
        } else {
            seconds_to_ns(done.GPUStartTime(), done.GPUEndTime())
        };
        match times {
            Ok((start_ns, end_ns)) => shared.recorder.record_command_buffer(&CommandBufferSample {
                start_ns,
                end_ns,
                completed_ns: host_ns(),
                ..self.sample
            }),
            Err(reason) => shared.recorder.fail_command_buffer(id, label, reason),
        }
    }
}

/// A command buffer being timed. Dropped without a commit it counts as unresolved.
pub struct TimedBuffer {
    buffer: Retained<CommandBuffer>,
    timing: Option<Timing>,
}

impl Drop for TimedBuffer {
    fn drop(&mut self) {
        if let Some(timing) = self.timing.take() {
            let (id, label) = (timing.sample.id, timing.sample.label);
            let recorder = &timing.timer.shared.recorder;
            recorder.fail_command_buffer(id, label, Invalid::Unresolved);
        }
    }
}

impl TimedBuffer {
    /// Its number, for dispatches recorded by other means;
    /// [`CommandBufferId::NONE`] while recording is off.
    pub fn id(&self) -> CommandBufferId {
        let timing = self.timing.as_ref();
        timing.map_or(CommandBufferId::NONE, |timing| timing.sample.id)
    }

    /// Whether dispatches must go through
    /// [`dispatch_in_own_encoder`](Self::dispatch_in_own_encoder) to be timed.
    pub fn wants_own_encoders(&self) -> bool {
        let timing = self.timing.as_ref();
        timing.is_some_and(|timing| timing.sample.sampling == Sampling::EncoderPerDispatch)
    }

    /// A place for the samples of the next dispatch, if it is to be timed in this way.
    fn slot(&mut self, way: Sampling, kernel: LabelId) -> Option<(&SampleBuffer, SampleSlot)> {
        let timing = self.timing.as_mut()?;
        let timer = &timing.timer;
        let chain = timing.chain.as_mut()?;
        if timing.sample.sampling != way {
            return None;
        }
        chain.next(kernel, || timer.sample_buffer())
    }

    /// Encodes one dispatch with `encode` into an open encoder, sampled before and after
    /// where the device can; a barrier then keeps neighbouring dispatches apart, so the
    /// time is an upper bound.
    pub fn dispatch<R>(
        &mut self,
        kernel: LabelId,
        encoder: &Encoder,
        encode: impl FnOnce(&Encoder) -> R,
    ) -> R {
        let Some((buffer, slot)) = self.slot(Sampling::DispatchBoundary, kernel) else {
            return encode(encoder);
        };
        let sample = |index| {
            // SAFETY: the slot lies inside the buffer, and the device samples at dispatches.
            unsafe {
                encoder.sampleCountersInBuffer_atSampleIndex_withBarrier(
                    &buffer.samples,
                    index,
                    true,
                );
            }
        };
        sample(slot.start);
        let result = encode(encoder);
        sample(slot.end);
        result
    }

    /// Encodes one dispatch with `encode` into an encoder of its own, sampled where it
    /// starts and ends. `encode` sets pipeline, buffers and dispatches; the encoder is
    /// ended here. `None` if Metal gave no encoder.
    pub fn dispatch_in_own_encoder<R>(
        &mut self,
        kernel: LabelId,
        encode: impl FnOnce(&Encoder) -> R,
    ) -> Option<R> {
        let encoder = self.own_encoder(kernel)?;
        let result = encode(&encoder);
        encoder.endEncoding();
        Some(result)
    }

    /// A serial encoder, sampled where it starts and ends if there is room for the samples. What Metal hands out on the way
    /// is released here, not when the program next drains a pool: a command-line program may never do so.
    fn own_encoder(&mut self, kernel: LabelId) -> Option<Retained<Encoder>> {
        autoreleasepool(|_| {
            let descriptor = MTLComputePassDescriptor::computePassDescriptor();
            descriptor.setDispatchType(MTLDispatchType::Serial);
            if let Some((buffer, slot)) = self.slot(Sampling::EncoderPerDispatch, kernel) {
                // SAFETY: attachment 0 always exists and the slot lies inside the buffer.
                unsafe {
                    let attachments = descriptor.sampleBufferAttachments();
                    let attachment = attachments.objectAtIndexedSubscript(0);
                    attachment.setSampleBuffer(Some(&buffer.samples));
                    attachment.setStartOfEncoderSampleIndex(slot.start);
                    attachment.setEndOfEncoderSampleIndex(slot.end);
                }
            }
            self.buffer.computeCommandEncoderWithDescriptor(&descriptor)
        })
    }

    /// Commits the command buffer and returns at once; it is recorded when the GPU is
    /// done with it.
    pub fn commit(mut self) {
        self.add_handler();
        self.buffer.commit();
    }

    /// Arranges for the command buffer to be recorded when it completes, for programs
    /// that commit it themselves, right after this.
    pub fn record_on_completion(mut self) {
        self.add_handler();
    }

    fn add_handler(&mut self) {
        let Some(mut timing) = self.timing.take() else {
            return;
        };
        timing.sample.committed_ns = host_ns();
        timing.sample.dispatches = timing.chain.as_ref().map(SampleChain::dispatches);
        // A block may be called more than once as far as its type knows.
        let timing = Mutex::new(Some(timing));
        let handler = RcBlock::new(move |done: NonNull<CommandBuffer>| {
            let timing = lock(&timing).take();
            if let Some(timing) = timing {
                // SAFETY: Metal passes the completed command buffer, alive during the call.
                let done = unsafe { done.as_ref() };
                autoreleasepool(|_| timing.completed(done));
            }
        });
        // SAFETY: the block is valid, Metal copies it and calls it on a thread of its own;
        // everything it captured may change threads.
        unsafe { self.buffer.addCompletedHandler(RcBlock::as_ptr(&handler)) };
    }
}
