//! The device: what it says about itself, and what it makes.

use crate::archive;
use crate::argument_encoder;
use crate::counters;
use crate::encoder::Size;
use crate::indirect;
use crate::library;
use crate::log;
use crate::metal4;
use crate::plain;
use crate::queue;
use crate::report::wrong_use;
use crate::resource::{self, ALLOCATED, MAX_BUFFER};
use crate::sampler;
use crate::settings::settings;
use crate::sync;
use crate::texture;
use assay_foundation::collections::array;
use assay_foundation::string::{string, text};
use assay_foundation::{files, set_error};
use assay_objc::block::{Block, Callback};
use assay_objc::root::NSOBJECT;
use assay_objc::{Bool, Id, NO, Strong, YES, class};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::Relaxed;

/// What a chip's device says: the chip's name here, the device's, the architecture's, the last Apple family it supports.
const CHIPS: [(&str, &str, &str, i64); 6] = [
    ("m1", "Apple M1", "applegpu_g13g", 1007),
    ("m1-pro", "Apple M1 Pro", "applegpu_g13s", 1007),
    ("m2", "Apple M2", "applegpu_g14g", 1008),
    ("m2-pro", "Apple M2 Pro", "applegpu_g14s", 1008),
    ("m3", "Apple M3", "applegpu_g15g", 1009),
    ("m4", "Apple M4", "applegpu_g16g", 1009),
];

fn chip() -> (&'static str, &'static str, &'static str, i64) {
    let wanted = settings().chip.as_deref().unwrap_or("m2");
    let found = CHIPS.iter().find(|(name, ..)| *name == wanted);
    *found.unwrap_or_else(|| {
        let names: Vec<&str> = CHIPS.iter().map(|(name, ..)| *name).collect();
        wrong_use(&format!(
            "ASSAY_METAL_CHIP={wanted} is not a chip: expected one of {}; m2 is taken",
            names.join(", ")
        ));
        &CHIPS[2]
    })
}

/// The chip, and the name of its device.
pub(crate) fn names() -> (&'static str, &'static str) {
    let (chip, device, ..) = chip();
    (chip, device)
}

/// Whether the device belongs to an `MTLGPUFamily`: Apple's up to the chip's, both of Mac's, the common ones, Metal 3.
fn supports_family(family: i64) -> bool {
    match family {
        1001..=1099 => family <= chip().3,
        2001 | 2002 | 3001..=3003 | 5001 => true,
        _ => false,
    }
}

/// `MTLCounterSamplingPointAtStageBoundary`: Apple's GPUs sample where encoders begin and end.
const AT_STAGE_BOUNDARY: u64 = 0;

/// The one device.
pub(crate) fn shared() -> Id {
    static DEVICE_OBJECT: OnceLock<Strong> = OnceLock::new();
    // SAFETY: the class has no state.
    DEVICE_OBJECT
        .get_or_init(|| unsafe { DEVICE.make(()) })
        .id()
}

/// Bytes of the largest working set: three quarters of the machine's memory, as macOS says.
fn working_set() -> u64 {
    assay_foundation::system::memory() / 4 * 3
}

/// Answers nil with an error where something is not there.
unsafe fn missing(error: *mut Id, what: &str) -> Id {
    wrong_use(&format!("{what} are not available; nil is answered"));
    // SAFETY: the caller's place is null or writable.
    unsafe {
        set_error(
            error,
            "MTLDeviceError",
            1,
            &format!("{what} are not available on this device"),
        )
    };
    null_mut()
}

class! {
    /// `id<MTLDevice>`.
    pub DEVICE = "AssayMTLDevice": NSOBJECT, (), ["MTLDevice"];
    - "name" "@@:" (this) -> Id { string(chip().1).autoreleased() }
    - "architecture" "@@:" (this) -> Id { ARCHITECTURE.make(()).autoreleased() }
    - "registryID" "Q@:" (this) -> u64 { 1 }
    - "location" "Q@:" (this) -> u64 { 0 }
    - "locationNumber" "Q@:" (this) -> u64 { 0 }
    - "maxTransferRate" "Q@:" (this) -> u64 { 0 }
    - "maxThreadsPerThreadgroup" "{?=QQQ}@:" (this) -> Size { Size { width: 1024, height: 1024, depth: 1024 } }
    - "maxThreadgroupMemoryLength" "Q@:" (this) -> u64 { 32 << 10 }
    - "maxBufferLength" "Q@:" (this) -> u64 { (MAX_BUFFER as u64).min(working_set()) }
    - "maxArgumentBufferSamplerCount" "Q@:" (this) -> u64 { 1024 }
    - "recommendedMaxWorkingSetSize" "Q@:" (this) -> u64 { working_set() }
    - "currentAllocatedSize" "Q@:" (this) -> u64 { ALLOCATED.load(Relaxed) as u64 }
    - "hasUnifiedMemory" "B@:" (this) -> Bool { YES }
    - "isLowPower" "B@:" (this) -> Bool { NO }
    - "isHeadless" "B@:" (this) -> Bool { YES }
    - "isRemovable" "B@:" (this) -> Bool { NO }
    - "readWriteTextureSupport" "Q@:" (this) -> u64 { 2 }
    - "argumentBuffersSupport" "Q@:" (this) -> u64 { 1 }
    - "supportsFamily:" "B@:q" (this, family: i64) -> Bool { supports_family(family).into() }
    - "supportsFeatureSet:" "B@:Q" (this, _set: u64) -> Bool { NO }
    - "supportsRaytracing" "B@:" (this) -> Bool { NO }
    - "supportsDynamicLibraries" "B@:" (this) -> Bool { NO }
    - "supportsFunctionPointers" "B@:" (this) -> Bool { NO }
    - "supports32BitFloatFiltering" "B@:" (this) -> Bool { YES }
    - "supports32BitMSAA" "B@:" (this) -> Bool { YES }
    - "supportsQueryTextureLOD" "B@:" (this) -> Bool { YES }
    - "supportsShaderBarycentricCoordinates" "B@:" (this) -> Bool { NO }
    - "supportsCounterSampling:" "B@:Q" (this, point: u64) -> Bool { (point == AT_STAGE_BOUNDARY).into() }
    - "supportsVertexAmplificationCount:" "B@:Q" (this, _count: u64) -> Bool { NO }
    - "supportsTextureSampleCount:" "B@:Q" (this, count: u64) -> Bool { (count == 1).into() }
    - "supportsBCTextureCompression" "B@:" (this) -> Bool { NO }
    - "areRasterOrderGroupsSupported" "B@:" (this) -> Bool { NO }
    - "areProgrammableSamplePositionsSupported" "B@:" (this) -> Bool { NO }
    - "isDepth24Stencil8PixelFormatSupported" "B@:" (this) -> Bool { NO }
    - "counterSets" "@@:" (this) -> Id { counters::sets().autoreleased() }
    - "sampleTimestamps:gpuTimestamp:" "v@:^Q^Q" (this, cpu: *mut u64, gpu: *mut u64) {
        let now = assay_foundation::system::nanoseconds();
        if let Some(cpu) = cpu.as_mut() { *cpu = now; }
        if let Some(gpu) = gpu.as_mut() { *gpu = now; }
    }
    - "newCommandQueue" "@@:" (this) -> Id { queue::queue(Strong::nil()).into_owned() }
    - "newCommandQueueWithMaxCommandBufferCount:" "@@:Q" (this, count: u64) -> Id {
        if count == 0 { wrong_use("newCommandQueueWithMaxCommandBufferCount: 0: expected at least 1"); }
        queue::queue(Strong::nil()).into_owned()
    }
    - "newCommandQueueWithDescriptor:" "@@:@" (this, descriptor: Id) -> Id { queue::queue_of(descriptor).into_owned() }
    - "newBufferWithLength:options:" "@@:QQ" (this, length: usize, options: usize) -> Id { resource::buffer(length, options).into_owned() }
    - "newBufferWithBytes:length:options:" "@@:r^vQQ" (this, bytes: *const u8, length: usize, options: usize) -> Id {
        resource::buffer_of(bytes, length, options).into_owned()
    }
    - "newBufferWithBytesNoCopy:length:options:deallocator:" "@@:^vQQ@?"
      (this, start: *mut u8, length: usize, options: usize, deallocator: *const Block) -> Id {
        resource::buffer_over(start, length, options, deallocator).into_owned()
    }
    - "heapBufferSizeAndAlignWithLength:options:" "{?=QQ}@:QQ" (this, length: u64, _options: u64) -> [u64; 2] {
        [length.checked_next_multiple_of(256).unwrap_or(u64::MAX), 256]
    }
    - "newHeapWithDescriptor:" "@@:@" (this, descriptor: Id) -> Id {
        let size: u64 = plain::get(descriptor, c"size").unwrap_or(0);
        let options: u64 = plain::get(descriptor, c"resourceOptions").unwrap_or(0);
        let kind: i64 = plain::get(descriptor, c"type").unwrap_or(0);
        resource::heap(size as usize, options as usize, kind == 1).into_owned()
    }
    - "newResidencySetWithDescriptor:error:" "@@:@^@" (this, descriptor: Id, error: *mut Id) -> Id {
        assay_foundation::no_error(error);
        let label = plain::get::<Id>(descriptor, c"label").unwrap_or(null_mut());
        resource::residency_set(Strong::retain(label)).into_owned()
    }
    - "newEvent" "@@:" (this) -> Id { sync::event().into_owned() }
    - "newSharedEvent" "@@:" (this) -> Id { sync::event().into_owned() }
    - "newFence" "@@:" (this) -> Id { sync::FENCE.make(sync::Fence::default()).into_owned() }
    - "newDefaultLibrary" "@@:" (this) -> Id {
        let beside = std::env::current_exe().unwrap_or_default().with_file_name("default.metallib");
        if beside.is_file() { library::of_file(&beside.to_string_lossy(), null_mut()) } else { null_mut() }
    }
    - "newDefaultLibraryWithBundle:error:" "@@:@^@" (this, bundle: Id, error: *mut Id) -> Id {
        let folder: Id = plain::get(bundle, c"resourcePath").unwrap_or(null_mut());
        library::of_file(&format!("{}/default.metallib", text(folder)), error)
    }
    - "newLibraryWithSource:options:error:" "@@:@@^@" (this, source: Id, options: Id, error: *mut Id) -> Id { library::of_source(source, options, error) }
    - "newLibraryWithSource:options:completionHandler:" "v@:@@@?" (this, source: Id, options: Id, block: *const Block) {
        let mut error = null_mut();
        let made = Strong::owned(library::of_source(source, options, &raw mut error));
        if let Some(block) = Callback::keep(block) { block.call_with_two(made.id(), error); }
    }
    - "newLibraryWithData:error:" "@@:@^@" (this, data: Id, error: *mut Id) -> Id { library::of_bytes(assay_foundation::bytes(data).to_vec(), error) }
    - "newLibraryWithURL:error:" "@@:@^@" (this, url: Id, error: *mut Id) -> Id { library::of_file(files::path(url).unwrap_or(""), error) }
    - "newLibraryWithFile:error:" "@@:@^@" (this, path: Id, error: *mut Id) -> Id { library::of_file(text(path), error) }
    - "newComputePipelineStateWithFunction:error:" "@@:@^@" (this, function: Id, error: *mut Id) -> Id {
        library::pipeline(function, 0, null_mut(), false, error)
    }
    - "newComputePipelineStateWithFunction:options:reflection:error:" "@@:@Q^@^@"
      (this, function: Id, _options: u64, reflection: *mut Id, error: *mut Id) -> Id {
        let made = library::pipeline(function, 0, null_mut(), false, error);
        library::reflect(made, reflection);
        made
    }
    - "newComputePipelineStateWithFunction:completionHandler:" "v@:@@?" (this, function: Id, block: *const Block) {
        let mut error = null_mut();
        let made = Strong::owned(library::pipeline(function, 0, null_mut(), false, &raw mut error));
        if let Some(block) = Callback::keep(block) { block.call_with_two(made.id(), error); }
    }
    - "newComputePipelineStateWithDescriptor:options:reflection:error:" "@@:@Q^@^@"
      (this, descriptor: Id, _options: u64, reflection: *mut Id, error: *mut Id) -> Id {
        let function = plain::get(descriptor, c"computeFunction").unwrap_or(null_mut());
        let threads = plain::get(descriptor, c"maxTotalThreadsPerThreadgroup").unwrap_or(0);
        if threads > 1024 { wrong_use(&format!("maxTotalThreadsPerThreadgroup of a pipeline descriptor is {threads}: expected at most 1024")); }
        let label = plain::get(descriptor, c"label").unwrap_or(null_mut());
        let indirect = plain::get::<Bool>(descriptor, c"supportIndirectCommandBuffers").is_some_and(Bool::get);
        let made = library::pipeline(function, threads, label, indirect, error);
        library::reflect(made, reflection);
        made
    }
    - "newBinaryArchiveWithDescriptor:error:" "@@:@^@" (this, descriptor: Id, error: *mut Id) -> Id { archive::archive(descriptor, error).into_owned() }
    - "newDynamicLibrary:error:" "@@:@^@" (this, _library: Id, error: *mut Id) -> Id { missing(error, "dynamic libraries") }
    - "newDynamicLibraryWithURL:error:" "@@:@^@" (this, _url: Id, error: *mut Id) -> Id { missing(error, "dynamic libraries") }
    - "newLogStateWithDescriptor:error:" "@@:@^@" (this, descriptor: Id, error: *mut Id) -> Id {
        assay_foundation::no_error(error);
        log::log_state(descriptor).into_owned()
    }
    - "newCounterSampleBufferWithDescriptor:error:" "@@:@^@" (this, descriptor: Id, error: *mut Id) -> Id { counters::sample_buffer(descriptor, error) }
    - "newTextureWithDescriptor:" "@@:@" (this, descriptor: Id) -> Id { texture::texture(descriptor).into_owned() }
    - "newSamplerStateWithDescriptor:" "@@:@" (this, descriptor: Id) -> Id { sampler::sampler(descriptor).into_owned() }
    - "minimumLinearTextureAlignmentForPixelFormat:" "Q@:Q" (this, _format: u64) -> u64 { 16 }
    - "minimumTextureBufferAlignmentForPixelFormat:" "Q@:Q" (this, _format: u64) -> u64 { 16 }
    - "heapTextureSizeAndAlignWithDescriptor:" "{?=QQ}@:@" (this, descriptor: Id) -> [u64; 2] { texture::size_and_align(descriptor) }
    - "newIndirectCommandBufferWithDescriptor:maxCommandCount:options:" "@@:@QQ" (this, descriptor: Id, count: usize, options: usize) -> Id {
        indirect::indirect_commands(descriptor, count, options).into_owned()
    }
    - "newArgumentEncoderWithArguments:" "@@:@" (this, arguments: Id) -> Id { argument_encoder::of_descriptors(arguments).into_owned() }
    - "newMTL4CommandQueue" "@@:" (this) -> Id { metal4::queue(null_mut()).into_owned() }
    - "newMTL4CommandQueueWithDescriptor:error:" "@@:@^@" (this, descriptor: Id, error: *mut Id) -> Id {
        assay_foundation::no_error(error);
        metal4::queue(descriptor).into_owned()
    }
    - "newCommandAllocator" "@@:" (this) -> Id { metal4::allocator(null_mut()).into_owned() }
    - "newCommandAllocatorWithDescriptor:error:" "@@:@^@" (this, descriptor: Id, error: *mut Id) -> Id {
        assay_foundation::no_error(error);
        metal4::allocator(descriptor).into_owned()
    }
    - "newCommandBuffer" "@@:" (this) -> Id { metal4::commands().into_owned() }
    - "newArgumentTableWithDescriptor:error:" "@@:@^@" (this, descriptor: Id, error: *mut Id) -> Id {
        assay_foundation::no_error(error);
        metal4::table(descriptor).into_owned()
    }
    - "newCompilerWithDescriptor:error:" "@@:@^@" (this, descriptor: Id, error: *mut Id) -> Id {
        assay_foundation::no_error(error);
        metal4::compiler(descriptor).into_owned()
    }
    - "newRenderPipelineStateWithDescriptor:error:" "@@:@^@" (this, _descriptor: Id, error: *mut Id) -> Id { missing(error, "render pipelines") }
}
class! {
    /// `MTLArchitecture`.
    pub ARCHITECTURE = "MTLArchitecture": NSOBJECT, (), [];
    - "name" "@@:" (this) -> Id { string(chip().2).autoreleased() }
}
class! {
    /// `MTLCaptureManager`: nothing can be captured.
    pub CAPTURE_MANAGER = "MTLCaptureManager": NSOBJECT, (), [];
    + "sharedCaptureManager" "@@:" (this) -> Id {
        static ONE: OnceLock<Strong> = OnceLock::new();
        ONE.get_or_init(|| CAPTURE_MANAGER.make(())).id()
    }
    - "supportsDestination:" "B@:q" (this, _destination: i64) -> Bool { NO }
    - "startCaptureWithDescriptor:error:" "B@:@^@" (this, _descriptor: Id, error: *mut Id) -> Bool {
        set_error(error, "MTLCaptureError", 1, "captures are not available on this device");
        NO
    }
    - "stopCapture" "v@:" (this) { }
    - "isCapturing" "B@:" (this) -> Bool { NO }
    - "newCaptureScopeWithDevice:" "@@:@" (this, _device: Id) -> Id { CAPTURE_SCOPE.make(()).into_owned() }
    - "newCaptureScopeWithCommandQueue:" "@@:@" (this, _queue: Id) -> Id { CAPTURE_SCOPE.make(()).into_owned() }
    - "defaultCaptureScope" "@@:" (this) -> Id { null_mut() }
    - "setDefaultCaptureScope:" "v@:@" (this, _scope: Id) { }
}
class! {
    /// `id<MTLCaptureScope>`.
    pub CAPTURE_SCOPE = "AssayMTLCaptureScope": NSOBJECT, (), ["MTLCaptureScope"];
    - "beginScope" "v@:" (this) { }
    - "endScope" "v@:" (this) { }
    - "label" "@@:" (this) -> Id { null_mut() }
    - "setLabel:" "v@:@" (this, _label: Id) { }
    - "device" "@@:" (this) -> Id { shared() }
}

/// `MTLCreateSystemDefaultDevice`.
#[unsafe(no_mangle)]
pub extern "C" fn MTLCreateSystemDefaultDevice() -> Id {
    // SAFETY: the device is there for ever.
    unsafe { assay_objc::pool::objc_retain(shared()) }
}

/// `MTLCopyAllDevices`.
#[unsafe(no_mangle)]
pub extern "C" fn MTLCopyAllDevices() -> Id {
    // SAFETY: as above.
    array(vec![unsafe { Strong::retain(shared()) }]).into_owned()
}

/// `MTLCopyAllDevicesWithObserver`: devices neither come nor go, so there is nothing to observe.
///
/// # Safety
/// `observer` must be null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MTLCopyAllDevicesWithObserver(
    observer: *mut Id,
    _handler: *const Block,
) -> Id {
    // SAFETY: the caller's promise.
    if let Some(observer) = unsafe { observer.as_mut() } {
        *observer = null_mut();
    }
    MTLCopyAllDevices()
}

/// `MTLRemoveDeviceObserver`.
#[unsafe(no_mangle)]
pub extern "C" fn MTLRemoveDeviceObserver(_observer: Id) {}
