//! The calls into Metal, on macOS. Nothing is decided here: that is [`super::MetalDevice`]'s part.
//!
//! Command buffers and dispatches are timed by `assay-timing`, as in any program that uses it.

#![allow(unsafe_code)]

use super::driver::{
    Completed, Copy, Driver, Failure, FailureKind, GpuFacts, OnCompletion, RawArgument, RawBinding,
    RawDispatch, RawKind, RawPipelineFacts, SourceOptions,
};
use crate::{Constant, ConstantKey, Extent, Storage};
use assay_ssa::Scalar;
use assay_timing::metal::{TimedBuffer, Timer};
use assay_timing::sampling::{EncoderPerDispatch, Strategy};
use assay_timing::{Recorder, RecorderOptions, Switches};
use block2::RcBlock;
use dispatch2::DispatchData;
use objc2::ClassType;
use objc2::rc::Retained;
use objc2::runtime::{AnyObject, ProtocolObject};
use objc2_foundation::{NSDictionary, NSError, NSObject, NSString, NSURL};
use objc2_metal::{
    MTLBinaryArchive, MTLBinaryArchiveDescriptor, MTLBinding, MTLBindingAccess, MTLBindingType,
    MTLBlitCommandEncoder, MTLBuffer, MTLBufferBinding, MTLCaptureDescriptor,
    MTLCaptureDestination, MTLCaptureManager, MTLCommandBuffer, MTLCommandBufferError,
    MTLCommandBufferStatus, MTLCommandEncoder, MTLCommandQueue, MTLCompileOptions,
    MTLComputeCommandEncoder, MTLComputePipelineDescriptor, MTLComputePipelineState,
    MTLCreateSystemDefaultDevice, MTLDevice, MTLFunction, MTLFunctionConstantValues,
    MTLLanguageVersion, MTLLibrary, MTLPipelineOption, MTLResourceOptions, MTLSize,
};
use std::ffi::c_void;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Mutex;
use std::time::Duration;

type Device = ProtocolObject<dyn MTLDevice>;
type Function = ProtocolObject<dyn MTLFunction>;
type CommandBuffer = ProtocolObject<dyn MTLCommandBuffer>;
type Encoder = ProtocolObject<dyn MTLComputeCommandEncoder>;
type Library = ProtocolObject<dyn MTLLibrary>;

/// The system's GPU and one queue on it.
pub(crate) struct Objc {
    device: Retained<Device>,
    queue: Retained<ProtocolObject<dyn MTLCommandQueue>>,
    recorder: Recorder,
    timer: Timer,
}

impl std::fmt::Debug for Objc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Objc").finish_non_exhaustive()
    }
}

/// A command buffer being filled.
pub(crate) struct Commands {
    buffer: Retained<CommandBuffer>,
    timed: TimedBuffer,
    dispatches: usize,
}

impl Objc {
    /// The system's default GPU; `None` when there is none or it gives no queue.
    pub(crate) fn system() -> Option<Objc> {
        let device = MTLCreateSystemDefaultDevice()?;
        let queue = device.newCommandQueue()?;
        let recorder = Recorder::with_options(&RecorderOptions {
            switches: Switches::ALL,
            ..RecorderOptions::default()
        });
        let timer = Timer::new(&recorder, &device, EncoderPerDispatch::Accept);
        Some(Objc {
            device,
            queue,
            recorder,
            timer,
        })
    }

    /// A function with its constants, typed as the function declares them.
    fn function(
        &self,
        library: &Library,
        name: &str,
        constants: &[Constant],
    ) -> Result<Retained<Function>, String> {
        let name = NSString::from_str(name);
        let plain = library.newFunctionWithName(&name);
        let plain = plain.ok_or_else(|| "there is no such function".to_owned())?;
        let declared = plain.functionConstantsDictionary().allValues();
        if declared.is_empty() && constants.is_empty() {
            return Ok(plain);
        }
        let values = MTLFunctionConstantValues::new();
        for constant in constants {
            let known = declared.iter().find(|known| match &constant.key {
                ConstantKey::Index(index) => known.index() == *index as usize,
                ConstantKey::Name(name) => known.name().to_string() == *name,
            });
            let known = known.ok_or_else(|| format!("no function constant {}", constant.key))?;
            let bytes = constant_bytes(constant);
            let pointer = NonNull::from(bytes.as_slice()).cast::<c_void>();
            // SAFETY: the bytes live during the call, which copies as many as the type has;
            // `constant_bytes` gives more than any type has.
            unsafe {
                values.setConstantValue_type_atIndex(pointer, known.r#type(), known.index());
            }
        }
        library
            .newFunctionWithName_constantValues_error(&name, &values)
            .map_err(|error| words(&error))
    }
}

/// The value as Metal reads it: little-endian elements side by side, zeros up to 64 bytes, more than the
/// largest type (four 64-bit elements) takes, so that a type wider than the value given reads no stray memory.
fn constant_bytes(constant: &Constant) -> Vec<u8> {
    let width = match constant.ty.element() {
        Some(Scalar::I1 | Scalar::I8) => 1,
        Some(Scalar::I16 | Scalar::F16 | Scalar::BF16) => 2,
        Some(Scalar::I64) => 8,
        _ => 4,
    };
    let mut bytes: Vec<u8> = constant
        .elements
        .iter()
        .flat_map(|bits| bits.to_le_bytes().into_iter().take(width))
        .collect();
    bytes.resize(bytes.len().max(64), 0);
    bytes
}

fn words(error: &NSError) -> String {
    error.localizedDescription().to_string()
}

fn size([x, y, z]: [u32; 3]) -> MTLSize {
    MTLSize {
        width: x as usize,
        height: y as usize,
        depth: z as usize,
    }
}

fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn url(path: &Path) -> Retained<NSURL> {
    NSURL::fileURLWithPath(&NSString::from_str(&path.to_string_lossy()))
}

/// Metal's version number: major in the upper half, minor in the lower.
fn language_version((major, minor): (u32, u32)) -> MTLLanguageVersion {
    MTLLanguageVersion(((major as usize) << 16) + minor as usize)
}

fn argument(binding: &ProtocolObject<dyn MTLBinding>) -> RawArgument {
    let kind = match binding.r#type() {
        MTLBindingType::Buffer => RawKind::Buffer,
        MTLBindingType::ThreadgroupMemory => RawKind::ThreadgroupMemory,
        MTLBindingType::Texture => RawKind::Texture,
        MTLBindingType::Sampler => RawKind::Sampler,
        _ => RawKind::Other,
    };
    let buffer = (kind == RawKind::Buffer)
        // SAFETY: a binding of type Buffer conforms to MTLBufferBinding.
        .then(|| unsafe {
            &*std::ptr::from_ref(binding).cast::<ProtocolObject<dyn MTLBufferBinding>>()
        });
    RawArgument {
        name: binding.name().to_string(),
        kind,
        index: small(binding.index()),
        used: binding.isUsed(),
        writes: binding.access() != MTLBindingAccess::ReadOnly,
        size: buffer.map_or(0, |buffer| small(buffer.bufferDataSize())),
        align: buffer.map_or(0, |buffer| small(buffer.bufferAlignment())),
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
                RawBinding::ThreadgroupMemory(length) => {
                    encoder.setThreadgroupMemoryLength_atIndex(*length as usize, index);
                }
            }
        }
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

fn failure(error: &NSError) -> Failure {
    let kind = match MTLCommandBufferError(error.code().unsigned_abs()) {
        MTLCommandBufferError::Timeout => FailureKind::TimeOut,
        MTLCommandBufferError::PageFault => FailureKind::PageFault,
        MTLCommandBufferError::OutOfMemory => FailureKind::OutOfMemory,
        MTLCommandBufferError::StackOverflow => FailureKind::StackOverflow,
        MTLCommandBufferError::NotPermitted => FailureKind::NotPermitted,
        MTLCommandBufferError::DeviceRemoved => FailureKind::DeviceRemoved,
        _ => FailureKind::Other,
    };
    Failure {
        kind,
        message: words(error),
    }
}

impl Driver for Objc {
    type Library = Retained<Library>;
    type Pipeline = Retained<ProtocolObject<dyn MTLComputePipelineState>>;
    type Buffer = Retained<ProtocolObject<dyn MTLBuffer>>;
    type Commands = Commands;

    fn facts(&self) -> GpuFacts {
        let threads = self.device.maxThreadsPerThreadgroup();
        GpuFacts {
            name: self.device.name().to_string(),
            max_threadgroup: [threads.width, threads.height, threads.depth].map(small),
            max_threadgroup_memory: small(self.device.maxThreadgroupMemoryLength()),
            max_buffer: self.device.maxBufferLength() as u64,
            dispatch_timing: match self.timer.strategy() {
                Strategy::DispatchBoundary => Ok("at dispatches"),
                Strategy::EncoderPerDispatch => Ok("one encoder per dispatch"),
                Strategy::CommandBuffersOnly(reason) => Err(reason.to_owned()),
            },
        }
    }

    fn compile(&self, text: &str, options: &SourceOptions) -> Result<Self::Library, String> {
        let given = MTLCompileOptions::new();
        // `mathMode` replaces this from macOS 15 on; this works before and after.
        #[allow(deprecated, reason = "the replacement needs macOS 15")]
        given.setFastMathEnabled(options.fast_math);
        given.setLanguageVersion(language_version(options.version));
        let (names, values): (Vec<_>, Vec<_>) = options
            .macros
            .iter()
            .map(|(name, value)| (NSString::from_str(name), NSString::from_str(value)))
            .unzip();
        let names: Vec<&NSString> = names.iter().map(|name| &**name).collect();
        let values: Vec<&NSObject> = values.iter().map(|value| value.as_super()).collect();
        let macros = NSDictionary::from_slices(&names, &values);
        // SAFETY: the values are strings, which Metal accepts.
        unsafe { given.setPreprocessorMacros(Some(&macros)) };
        self.device
            .newLibraryWithSource_options_error(&NSString::from_str(text), Some(&given))
            .map_err(|error| words(&error))
    }

    fn load(&self, metallib: &[u8]) -> Result<Self::Library, String> {
        let data = DispatchData::from_bytes(metallib);
        self.device
            .newLibraryWithData_error(&data)
            .map_err(|error| words(&error))
    }

    fn functions(&self, library: &Self::Library) -> Vec<String> {
        let names = library.functionNames();
        names.iter().map(|name| name.to_string()).collect()
    }

    fn pipeline(
        &self,
        library: &Self::Library,
        function: &str,
        constants: &[Constant],
    ) -> Result<(Self::Pipeline, RawPipelineFacts), String> {
        let function = self.function(library, function, constants)?;
        let descriptor = MTLComputePipelineDescriptor::new();
        descriptor.setComputeFunction(Some(&function));
        let mut reflection = None;
        let pipeline = self
            .device
            .newComputePipelineStateWithDescriptor_options_reflection_error(
                &descriptor,
                MTLPipelineOption::BindingInfo | MTLPipelineOption::BufferTypeInfo,
                Some(&mut reflection),
            )
            .map_err(|error| words(&error))?;
        let arguments = reflection.map_or_else(Vec::new, |reflection| {
            let bindings = reflection.bindings();
            bindings.iter().map(|binding| argument(&binding)).collect()
        });
        let facts = RawPipelineFacts {
            max_threads: small(pipeline.maxTotalThreadsPerThreadgroup()),
            threadgroup_memory: small(pipeline.staticThreadgroupMemoryLength()),
            execution_width: small(pipeline.threadExecutionWidth()),
            arguments,
        };
        Ok((pipeline, facts))
    }

    fn buffer(&self, bytes: u64, storage: Storage) -> Option<Self::Buffer> {
        let options = match storage {
            Storage::Shared => MTLResourceOptions::StorageModeShared,
            Storage::Private => MTLResourceOptions::StorageModePrivate,
        };
        let length = usize::try_from(bytes).ok()?;
        self.device.newBufferWithLength_options(length, options)
    }

    fn write(&self, buffer: &mut Self::Buffer, offset: u64, bytes: &[u8]) {
        // SAFETY: the caller has checked that the range lies in this shared buffer, and has waited for the GPU.
        unsafe {
            let start = buffer.contents().cast::<u8>().add(offset as usize);
            start.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len());
        }
    }

    fn read(&self, buffer: &Self::Buffer, offset: u64, bytes: &mut [u8]) {
        // SAFETY: as for `write`.
        unsafe {
            let start = buffer.contents().cast::<u8>().add(offset as usize);
            let length = bytes.len();
            NonNull::from(bytes)
                .cast::<u8>()
                .copy_from_nonoverlapping(start, length);
        }
    }

    fn commands(&self, label: &str) -> Option<Commands> {
        let buffer = self.queue.commandBuffer()?;
        let timed = self.timer.begin(&buffer, label, 0);
        Some(Commands {
            buffer,
            timed,
            dispatches: 0,
        })
    }

    fn encode(
        &self,
        commands: &mut Commands,
        dispatch: &RawDispatch<'_, Self>,
    ) -> Result<(), String> {
        let kernel = self.recorder.label(dispatch.label);
        commands.dispatches += 1;
        let encoded = if commands.timed.wants_own_encoders() {
            commands
                .timed
                .dispatch_in_own_encoder(kernel, |encoder| set(encoder, dispatch))
        } else {
            commands.buffer.computeCommandEncoder().map(|encoder| {
                let label = NSString::from_str(dispatch.label);
                encoder.setLabel(Some(&label));
                commands
                    .timed
                    .dispatch(kernel, &encoder, |encoder| set(encoder, dispatch));
                encoder.endEncoding();
            })
        };
        encoded.ok_or_else(|| "Metal gave no compute encoder".to_owned())
    }

    fn encode_copy(
        &self,
        commands: &mut Commands,
        copy: &Copy<'_, Self::Buffer>,
    ) -> Result<(), String> {
        let encoder = commands.buffer.blitCommandEncoder();
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

    fn commit(&self, commands: Commands, done: OnCompletion) {
        let Commands {
            buffer,
            timed,
            dispatches,
        } = commands;
        let id = timed.id();
        // First, so that what it records is there when our own handler looks.
        timed.record_on_completion();
        let recorder = self.recorder.clone();
        let done = Mutex::new(Some(done));
        let handler = RcBlock::new(move |finished: NonNull<CommandBuffer>| {
            let Some(done) = done.lock().ok().and_then(|mut done| done.take()) else {
                return;
            };
            // SAFETY: Metal passes the completed command buffer, alive during the call.
            let finished = unsafe { finished.as_ref() };
            let failed = finished.status() == MTLCommandBufferStatus::Error;
            let mut sampled: Vec<_> = recorder.snapshot().dispatches;
            sampled.retain(|sample| sample.command_buffer == id);
            sampled.sort_by_key(|sample| sample.index);
            let complete = sampled.len() == dispatches;
            done(Completed {
                times: (finished.GPUStartTime(), finished.GPUEndTime()),
                failure: failed.then(|| {
                    finished.error().map_or_else(
                        || Failure {
                            kind: FailureKind::Other,
                            message: "Metal gave no reason".to_owned(),
                        },
                        |error| failure(&error),
                    )
                }),
                dispatches: sampled
                    .iter()
                    .filter(|_| complete)
                    .map(|sample| Duration::from_nanos(sample.gpu_ns))
                    .collect(),
            });
        });
        // SAFETY: the block is valid, Metal copies it and calls it on a thread of its own; all it captured may
        // change threads.
        unsafe { buffer.addCompletedHandler(RcBlock::as_ptr(&handler)) };
        buffer.commit();
    }

    fn start_capture(&self, path: &Path) -> Result<(), String> {
        // SAFETY: a class method without conditions.
        let manager = unsafe { MTLCaptureManager::sharedCaptureManager() };
        let destination = MTLCaptureDestination::GPUTraceDocument;
        if !manager.supportsDestination(destination) {
            return Err("captures are off; set MTL_CAPTURE_ENABLED=1".to_owned());
        }
        let descriptor = MTLCaptureDescriptor::new();
        let queue: &AnyObject = self.queue.as_ref();
        // SAFETY: a command queue is one of the objects that can be captured.
        unsafe { descriptor.setCaptureObject(Some(queue)) };
        descriptor.setDestination(destination);
        descriptor.setOutputURL(Some(&url(path)));
        manager
            .startCaptureWithDescriptor_error(&descriptor)
            .map_err(|error| words(&error))
    }

    fn stop_capture(&self) {
        // SAFETY: a class method without conditions.
        unsafe { MTLCaptureManager::sharedCaptureManager() }.stopCapture();
    }

    fn archive(
        &self,
        library: &Self::Library,
        function: &str,
        constants: &[Constant],
        path: &Path,
    ) -> Result<(), String> {
        let function = self.function(library, function, constants)?;
        let descriptor = MTLComputePipelineDescriptor::new();
        descriptor.setComputeFunction(Some(&function));
        let archive = self
            .device
            .newBinaryArchiveWithDescriptor_error(&MTLBinaryArchiveDescriptor::new())
            .map_err(|error| words(&error))?;
        archive
            .addComputePipelineFunctionsWithDescriptor_error(&descriptor)
            .map_err(|error| words(&error))?;
        archive
            .serializeToURL_error(&url(path))
            .map_err(|error| words(&error))
    }
}
