//! The calls into Metal, on macOS. Nothing is decided here: that is [`super::MetalDevice`]'s part.
//!
//! Command buffers and dispatches are timed by `assay-timing`, as in any program that uses it.

#![allow(unsafe_code)]

mod commands;
mod resources;
#[cfg(all(test, metal_runtime))]
mod tests;
mod values;

use super::driver::{
    Copy, Driver, GpuFacts, OnCompletion, RawDispatch, RawPipelineFacts, SourceOptions,
};
use super::first_device;
use super::textures::Piece;
use crate::{Constant, ConstantKey, Storage};
use assay_texture::{Layout, Sampler};
use assay_timing::metal::Timer;
use assay_timing::sampling::{EncoderPerDispatch, Strategy};
use assay_timing::{Recorder, RecorderOptions, Switches};
use commands::Commands;
use dispatch2::DispatchData;
use objc2::ClassType;
use objc2::rc::{Retained, autoreleasepool};
use objc2::runtime::{AnyObject, ProtocolObject};
use objc2_foundation::{NSArray, NSDictionary, NSObject, NSString};
use objc2_metal::{
    MTLBinaryArchive, MTLBinaryArchiveDescriptor, MTLBuffer, MTLCaptureDescriptor,
    MTLCaptureDestination, MTLCaptureManager, MTLCommandBuffer, MTLCommandQueue, MTLCompileOptions,
    MTLComputeCommandEncoder, MTLComputePipelineDescriptor, MTLComputePipelineState,
    MTLCreateSystemDefaultDevice, MTLDevice, MTLFunction, MTLFunctionConstantValues, MTLLibrary,
    MTLPipelineOption, MTLResourceOptions, MTLSamplerState, MTLTexture,
};
use std::cell::Cell;
use std::ffi::c_void;
use std::path::Path;
use std::ptr::NonNull;
use values::{argument, constant_bytes, language_version, small, url, words};

type Device = ProtocolObject<dyn MTLDevice>;
type Function = ProtocolObject<dyn MTLFunction>;
type Buffer = Retained<ProtocolObject<dyn MTLBuffer>>;
type Texture = ProtocolObject<dyn MTLTexture>;
type CommandBuffer = ProtocolObject<dyn MTLCommandBuffer>;
type Encoder = ProtocolObject<dyn MTLComputeCommandEncoder>;
type Library = ProtocolObject<dyn MTLLibrary>;

// `MTLCreateSystemDefaultDevice` returns nil in a program that does not link CoreGraphics, as Apple's page of it says; a
// command-line program has no other reason to.
#[cfg_attr(target_os = "macos", link(name = "CoreGraphics", kind = "framework"))]
unsafe extern "C" {}

/// The system's GPU and one queue on it.
pub(crate) struct Objc {
    device: Retained<Device>,
    queue: Retained<ProtocolObject<dyn MTLCommandQueue>>,
    recorder: Recorder,
    timer: Timer,
    /// Whether a capture is being written.
    capturing: Cell<bool>,
}

impl std::fmt::Debug for Objc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Objc").finish_non_exhaustive()
    }
}

impl Objc {
    /// The system's default GPU, or the first of its list; `None` when there is none or it gives no queue. Dispatches are
    /// timed one by one only if that is asked for: sampling changes how they run.
    pub(crate) fn system(time_dispatches: bool) -> Option<Objc> {
        autoreleasepool(|_| {
            let device = first_device(MTLCreateSystemDefaultDevice(), all_devices)?;
            let queue = device.newCommandQueue()?;
            let recorder = Recorder::with_options(&RecorderOptions {
                switches: match time_dispatches {
                    true => Switches::ALL,
                    false => Switches::default(),
                },
                ..RecorderOptions::default()
            });
            let timer = Timer::new(&recorder, &device, EncoderPerDispatch::Accept);
            Some(Objc {
                device,
                queue,
                recorder,
                timer,
                capturing: Cell::new(false),
            })
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

/// Every GPU, whether or not it is the default one.
fn all_devices() -> Vec<Retained<Device>> {
    unsafe extern "C-unwind" {
        fn MTLCopyAllDevices() -> *mut NSArray<Device>;
    }
    // SAFETY: takes nothing, and gives an array that is ours to release, or nil.
    let devices = unsafe { Retained::from_raw(MTLCopyAllDevices()) };
    devices.map_or_else(Vec::new, |devices| devices.to_vec())
}

impl Driver for Objc {
    type Library = Retained<Library>;
    type Pipeline = Retained<ProtocolObject<dyn MTLComputePipelineState>>;
    type Buffer = Buffer;
    type Commands = Commands;
    type Texture = Retained<Texture>;
    type Sampler = Retained<ProtocolObject<dyn MTLSamplerState>>;

    fn facts(&self) -> GpuFacts {
        autoreleasepool(|_| {
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
        })
    }

    fn compile(&self, text: &str, options: &SourceOptions) -> Result<Self::Library, String> {
        autoreleasepool(|_| {
            let given = MTLCompileOptions::new();
            // `mathMode` replaces this from macOS 15 on; this works before and after.
            #[allow(deprecated, reason = "the replacement needs macOS 15")]
            given.setFastMathEnabled(options.fast_math);
            if let Some(version) = options.version {
                given.setLanguageVersion(language_version(version));
            }
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
        })
    }

    fn load(&self, metallib: &[u8]) -> Result<Self::Library, String> {
        autoreleasepool(|_| {
            let data = DispatchData::from_bytes(metallib);
            self.device
                .newLibraryWithData_error(&data)
                .map_err(|error| words(&error))
        })
    }

    fn functions(&self, library: &Self::Library) -> Vec<String> {
        autoreleasepool(|_| {
            let names = library.functionNames();
            names.iter().map(|name| name.to_string()).collect()
        })
    }

    fn pipeline(
        &self,
        library: &Self::Library,
        function: &str,
        constants: &[Constant],
    ) -> Result<(Self::Pipeline, RawPipelineFacts), String> {
        autoreleasepool(|_| {
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
        })
    }

    fn buffer(&self, bytes: u64, storage: Storage) -> Option<Self::Buffer> {
        autoreleasepool(|_| {
            let options = match storage {
                Storage::Shared => MTLResourceOptions::StorageModeShared,
                Storage::Private => MTLResourceOptions::StorageModePrivate,
            };
            let length = usize::try_from(bytes).ok()?;
            self.device.newBufferWithLength_options(length, options)
        })
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

    fn address(&self, buffer: &Self::Buffer) -> u64 {
        buffer.gpuAddress()
    }

    fn texture(&self, layout: &Layout) -> Result<Self::Texture, String> {
        autoreleasepool(|_| resources::texture(&self.device, layout))
    }

    fn texture_id(&self, texture: &Self::Texture) -> u64 {
        texture.gpuResourceID().to_raw()
    }

    fn sampler(&self, sampler: &Sampler) -> Result<Self::Sampler, String> {
        autoreleasepool(|_| resources::sampler(&self.device, sampler))
    }

    fn sampler_id(&self, sampler: &Self::Sampler) -> u64 {
        sampler.gpuResourceID().to_raw()
    }

    fn encode_texels(
        &self,
        commands: &mut Commands,
        buffer: &Self::Buffer,
        texture: &Self::Texture,
        pieces: &[Piece],
        into_texture: bool,
    ) -> Result<(), String> {
        autoreleasepool(|_| commands.encode_texels(buffer, texture, pieces, into_texture))
    }

    fn commands(&self, label: &str) -> Option<Commands> {
        autoreleasepool(|_| {
            let buffer = self.queue.commandBuffer()?;
            let timed = self.timer.begin(&buffer, label, 0);
            Some(Commands::new(buffer, timed, self.capturing.get()))
        })
    }

    fn encode(
        &self,
        commands: &mut Commands,
        dispatch: &RawDispatch<'_, Self>,
    ) -> Result<(), String> {
        autoreleasepool(|_| commands.encode(&self.recorder, dispatch))
    }

    fn encode_copy(
        &self,
        commands: &mut Commands,
        copy: &Copy<'_, Self::Buffer>,
    ) -> Result<(), String> {
        autoreleasepool(|_| commands.encode_copy(copy))
    }

    fn commit(&self, commands: Commands, done: OnCompletion) {
        autoreleasepool(|_| commands.commit(&self.recorder, done));
    }

    fn start_capture(&self, path: &Path) -> Result<(), String> {
        autoreleasepool(|_| {
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
                .map_err(|error| words(&error))?;
            self.capturing.set(true);
            Ok(())
        })
    }

    fn stop_capture(&self) {
        self.capturing.set(false);
        autoreleasepool(|_| {
            // SAFETY: a class method without conditions.
            unsafe { MTLCaptureManager::sharedCaptureManager() }.stopCapture();
        })
    }

    fn archive(
        &self,
        library: &Self::Library,
        function: &str,
        constants: &[Constant],
        path: &Path,
    ) -> Result<(), String> {
        autoreleasepool(|_| {
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
        })
    }
}
