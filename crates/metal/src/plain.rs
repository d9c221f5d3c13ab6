//! Descriptors: classes that only keep what they were given. Each is a table of properties.

use crate::counters::{ATTACHMENT_LIST, Attachments};
use crate::resource::lock;
use assay_objc::message::send;
use assay_objc::root::NSOBJECT;
use assay_objc::{Bool, Declaration, Id, MethodRow, Sel, Strong};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What a descriptor keeps: numbers, as the difference to their defaults, and objects.
#[derive(Debug, Default)]
pub struct Fields {
    words: [AtomicU64; 24],
    objects: Mutex<[Strong; 12]>,
}

impl Fields {
    fn word(&self, index: usize, default: u64) -> u64 {
        self.words.get(index).map_or(0, |word| word.load(Relaxed)) ^ default
    }

    fn set_word(&self, index: usize, default: u64, value: u64) {
        if let Some(word) = self.words.get(index) {
            word.store(value ^ default, Relaxed);
        }
    }

    fn object(&self, index: usize) -> Strong {
        lock(&self.objects).get(index).cloned().unwrap_or_default()
    }

    /// An object that is made when it is first asked for.
    fn object_or(&self, index: usize, make: impl FnOnce() -> Strong) -> Strong {
        let mut all = lock(&self.objects);
        let Some(place) = all.get_mut(index) else {
            return Strong::nil();
        };
        if place.is_nil() {
            *place = make();
        }
        place.clone()
    }

    fn set_object(&self, index: usize, value: Strong) {
        if let Some(place) = lock(&self.objects).get_mut(index) {
            *place = value;
        }
    }
}

/// Whether a property keeps the object or a copy.
fn kept(object: Id, copies: bool) -> Strong {
    match copies && !object.is_null() {
        // SAFETY: the caller's object is alive and answers `copy`.
        true => unsafe { Strong::owned(send(object, Sel::new(c"copy"))) },
        // SAFETY: the caller's object is alive, or nil.
        false => unsafe { Strong::retain(object) },
    }
}

/// A number of Rust's as the word it is kept in.
trait Word: Copy {
    fn to_word(self) -> u64;
    fn from_word(word: u64) -> Self;
}

macro_rules! words {
    ($($type:ty)*) => {$(
        impl Word for $type {
            fn to_word(self) -> u64 {
                self as u64
            }
            fn from_word(word: u64) -> Self {
                word as $type
            }
        }
    )*};
}
words!(u64 i64 u32);

impl Word for f32 {
    fn to_word(self) -> u64 {
        self.to_bits().into()
    }
    fn from_word(word: u64) -> Self {
        Self::from_bits(word as u32)
    }
}

impl Word for Bool {
    fn to_word(self) -> u64 {
        self.get().into()
    }
    fn from_word(word: u64) -> Self {
        (word != 0).into()
    }
}

/// Getter and setter of one property.
macro_rules! property {
    ($at:literal $getter:literal $setter:literal copy) => {
        property!(@object $at $getter $setter true)
    };
    ($at:literal $getter:literal $setter:literal retain) => {
        property!(@object $at $getter $setter false)
    };
    (@object $at:literal $getter:literal $setter:literal $copies:literal) => {
        assay_objc::methods! { Fields;
            - $getter "@@:" (this) -> Id { this.object($at).autoreleased() }
            - $setter "v@:@" (this, value: Id) { this.set_object($at, kept(value, $copies)); }
        }
    };
    ($at:literal $getter:literal $setter:literal bool $default:literal) => {
        assay_objc::methods! { Fields;
            - $getter "B@:" (this) -> Bool { Bool::from_word(this.word($at, $default)) }
            - $setter "v@:B" (this, value: Bool) { this.set_word($at, $default, value.to_word()); }
        }
    };
    ($at:literal $getter:literal $setter:literal unsigned $default:literal) => {
        assay_objc::methods! { Fields;
            - $getter "Q@:" (this) -> u64 { this.word($at, $default) }
            - $setter "v@:Q" (this, value: u64) { this.set_word($at, $default, value); }
        }
    };
    ($at:literal $getter:literal $setter:literal signed $default:literal) => {
        assay_objc::methods! { Fields;
            - $getter "q@:" (this) -> i64 { i64::from_word(this.word($at, $default)) }
            - $setter "v@:q" (this, value: i64) { this.set_word($at, $default, value.to_word()); }
        }
    };
    // The default is the number's bits.
    ($at:literal $getter:literal $setter:literal float $default:literal) => {
        assay_objc::methods! { Fields;
            - $getter "f@:" (this) -> f32 { f32::from_word(this.word($at, $default)) }
            - $setter "v@:f" (this, value: f32) { this.set_word($at, $default, value.to_word()); }
        }
    };
    ($at:literal $getter:literal $setter:literal word $default:literal) => {
        assay_objc::methods! { Fields;
            - $getter "I@:" (this) -> u32 { u32::from_word(this.word($at, $default)) }
            - $setter "v@:I" (this, value: u32) { this.set_word($at, $default, value.to_word()); }
        }
    };
}

/// Declares descriptors, and one list of all.
macro_rules! descriptors {
    ($($declaration:ident $name:literal { $($at:literal $getter:literal $setter:literal $kind:ident $($default:literal)?;)* })*) => {
        $(
            assay_objc::class! {
                #[doc = concat!("`", $name, "`.")]
                pub $declaration = $name: NSOBJECT, Fields, ["NSCopying"];
                - "copyWithZone:" "@@:^v" (this, _zone: *mut std::ffi::c_void) -> Id {
                    let copy = Fields::default();
                    for (to, from) in copy.words.iter().zip(&this.words) { to.store(from.load(Relaxed), Relaxed); }
                    *lock(&copy.objects) = lock(&this.objects).clone();
                    $declaration.make(copy).into_owned()
                }
                - "reset" "v@:" (this) {
                    for word in &this.words { word.store(0, Relaxed); }
                    *lock(&this.objects) = Default::default();
                }
            }
        )*
        /// All descriptors.
        pub static CLASSES: &[&Declaration] = &[$(&$declaration),*];

        fn properties() -> Vec<(&'static Declaration, &'static [MethodRow])> {
            let mut all: Vec<(&'static Declaration, &'static [MethodRow])> = Vec::new();
            $($({
                const ROWS: &[MethodRow] = property!($at $getter $setter $kind $($default)?);
                all.push((&$declaration, ROWS));
            })*)*
            all
        }
    };
}

// Numbers of words and of objects are counted apart; the last column is a number's default.
descriptors! {
    COMPILE_OPTIONS "MTLCompileOptions" {
        0 "preprocessorMacros" "setPreprocessorMacros:" copy;
        1 "libraries" "setLibraries:" copy;
        2 "installName" "setInstallName:" copy;
        0 "fastMathEnabled" "setFastMathEnabled:" bool 1;
        1 "languageVersion" "setLanguageVersion:" unsigned 0x30002;
        2 "mathMode" "setMathMode:" signed 2;
        3 "mathFloatingPointFunctions" "setMathFloatingPointFunctions:" signed 0;
        4 "libraryType" "setLibraryType:" signed 0;
        5 "optimizationLevel" "setOptimizationLevel:" signed 0;
        6 "preserveInvariance" "setPreserveInvariance:" bool 0;
        7 "enableLogging" "setEnableLogging:" bool 0;
        8 "maxTotalThreadsPerThreadgroup" "setMaxTotalThreadsPerThreadgroup:" unsigned 0;
        9 "allowReferencingUndefinedSymbols" "setAllowReferencingUndefinedSymbols:" bool 0;
        10 "compileSymbolVisibility" "setCompileSymbolVisibility:" signed 0;
    }
    FUNCTION_DESCRIPTOR "MTLFunctionDescriptor" {
        0 "name" "setName:" copy;
        1 "specializedName" "setSpecializedName:" copy;
        2 "constantValues" "setConstantValues:" copy;
        3 "binaryArchives" "setBinaryArchives:" copy;
        0 "options" "setOptions:" unsigned 0;
    }
    LINKED_FUNCTIONS "MTLLinkedFunctions" {
        0 "functions" "setFunctions:" copy;
        1 "privateFunctions" "setPrivateFunctions:" copy;
        2 "groups" "setGroups:" copy;
        3 "binaryFunctions" "setBinaryFunctions:" copy;
    }
    PIPELINE_DESCRIPTOR "MTLComputePipelineDescriptor" {
        0 "label" "setLabel:" copy;
        1 "computeFunction" "setComputeFunction:" retain;
        2 "linkedFunctions" "setLinkedFunctions:" copy;
        3 "binaryArchives" "setBinaryArchives:" copy;
        4 "insertLibraries" "setInsertLibraries:" copy;
        5 "preloadedLibraries" "setPreloadedLibraries:" copy;
        0 "threadGroupSizeIsMultipleOfThreadExecutionWidth" "setThreadGroupSizeIsMultipleOfThreadExecutionWidth:" bool 0;
        1 "maxTotalThreadsPerThreadgroup" "setMaxTotalThreadsPerThreadgroup:" unsigned 0;
        2 "supportIndirectCommandBuffers" "setSupportIndirectCommandBuffers:" bool 0;
        3 "maxCallStackDepth" "setMaxCallStackDepth:" unsigned 1;
        4 "supportAddingBinaryFunctions" "setSupportAddingBinaryFunctions:" bool 0;
        5 "shaderValidation" "setShaderValidation:" signed 0;
    }
    HEAP_DESCRIPTOR "MTLHeapDescriptor" {
        0 "size" "setSize:" unsigned 0;
        1 "storageMode" "setStorageMode:" unsigned 2;
        2 "cpuCacheMode" "setCpuCacheMode:" unsigned 0;
        3 "hazardTrackingMode" "setHazardTrackingMode:" unsigned 0;
        4 "resourceOptions" "setResourceOptions:" unsigned 0x20;
        5 "type" "setType:" signed 0;
    }
    RESIDENCY_DESCRIPTOR "MTLResidencySetDescriptor" {
        0 "label" "setLabel:" copy;
        0 "initialCapacity" "setInitialCapacity:" unsigned 0;
    }
    COMMAND_BUFFER_DESCRIPTOR "MTLCommandBufferDescriptor" {
        0 "retainedReferences" "setRetainedReferences:" bool 1;
        1 "errorOptions" "setErrorOptions:" unsigned 0;
        0 "logState" "setLogState:" retain;
    }
    QUEUE_DESCRIPTOR "MTLCommandQueueDescriptor" {
        0 "maxCommandBufferCount" "setMaxCommandBufferCount:" unsigned 64;
        0 "logState" "setLogState:" retain;
    }
    PASS_DESCRIPTOR "MTLComputePassDescriptor" {
        0 "dispatchType" "setDispatchType:" unsigned 0;
        0 "sampleBufferAttachments" "setSampleBufferAttachments:" retain;
    }
    ATTACHMENT_DESCRIPTOR "MTLComputePassSampleBufferAttachmentDescriptor" {
        0 "sampleBuffer" "setSampleBuffer:" retain;
        0 "startOfEncoderSampleIndex" "setStartOfEncoderSampleIndex:" unsigned 0xffff_ffff_ffff_ffff;
        1 "endOfEncoderSampleIndex" "setEndOfEncoderSampleIndex:" unsigned 0xffff_ffff_ffff_ffff;
    }
    SAMPLE_BUFFER_DESCRIPTOR "MTLCounterSampleBufferDescriptor" {
        0 "counterSet" "setCounterSet:" retain;
        1 "label" "setLabel:" copy;
        0 "storageMode" "setStorageMode:" unsigned 0;
        1 "sampleCount" "setSampleCount:" unsigned 0;
    }
    BLIT_PASS_DESCRIPTOR "MTLBlitPassDescriptor" {
        0 "sampleBufferAttachments" "setSampleBufferAttachments:" retain;
    }
    CAPTURE_DESCRIPTOR "MTLCaptureDescriptor" {
        0 "captureObject" "setCaptureObject:" retain;
        1 "outputURL" "setOutputURL:" copy;
        0 "destination" "setDestination:" signed 1;
    }
    INDIRECT_DESCRIPTOR "MTLIndirectCommandBufferDescriptor" {
        0 "commandTypes" "setCommandTypes:" unsigned 0;
        1 "inheritBuffers" "setInheritBuffers:" bool 1;
        2 "inheritPipelineState" "setInheritPipelineState:" bool 1;
        3 "maxKernelBufferBindCount" "setMaxKernelBufferBindCount:" unsigned 31;
    }
    BINARY_ARCHIVE_DESCRIPTOR "MTLBinaryArchiveDescriptor" {
        0 "url" "setUrl:" copy;
    }
    ARGUMENT_DESCRIPTOR "MTLArgumentDescriptor" {
        0 "dataType" "setDataType:" unsigned 0;
        1 "index" "setIndex:" unsigned 0;
        2 "arrayLength" "setArrayLength:" unsigned 0;
        3 "access" "setAccess:" unsigned 0;
        4 "textureType" "setTextureType:" unsigned 2;
        5 "constantBlockAlignment" "setConstantBlockAlignment:" unsigned 0;
    }
    TEXTURE_DESCRIPTOR "MTLTextureDescriptor" {
        0 "textureType" "setTextureType:" unsigned 2;
        1 "pixelFormat" "setPixelFormat:" unsigned 70;
        2 "width" "setWidth:" unsigned 1;
        3 "height" "setHeight:" unsigned 1;
        4 "depth" "setDepth:" unsigned 1;
        5 "mipmapLevelCount" "setMipmapLevelCount:" unsigned 1;
        6 "arrayLength" "setArrayLength:" unsigned 1;
        7 "resourceOptions" "setResourceOptions:" unsigned 0;
        8 "storageMode" "setStorageMode:" unsigned 0;
        9 "usage" "setUsage:" unsigned 1;
        10 "sampleCount" "setSampleCount:" unsigned 1;
        11 "cpuCacheMode" "setCpuCacheMode:" unsigned 0;
        12 "hazardTrackingMode" "setHazardTrackingMode:" unsigned 0;
        13 "allowGPUOptimizedContents" "setAllowGPUOptimizedContents:" bool 1;
    }
    SAMPLER_DESCRIPTOR "MTLSamplerDescriptor" {
        0 "label" "setLabel:" copy;
        0 "minFilter" "setMinFilter:" unsigned 0;
        1 "magFilter" "setMagFilter:" unsigned 0;
        2 "mipFilter" "setMipFilter:" unsigned 0;
        3 "maxAnisotropy" "setMaxAnisotropy:" unsigned 1;
        4 "sAddressMode" "setSAddressMode:" unsigned 0;
        5 "tAddressMode" "setTAddressMode:" unsigned 0;
        6 "rAddressMode" "setRAddressMode:" unsigned 0;
        7 "borderColor" "setBorderColor:" unsigned 0;
        8 "normalizedCoordinates" "setNormalizedCoordinates:" bool 1;
        9 "lodMinClamp" "setLodMinClamp:" float 0;
        10 "lodMaxClamp" "setLodMaxClamp:" float 0x7f7f_ffff;
        11 "lodAverage" "setLodAverage:" bool 0;
        12 "compareFunction" "setCompareFunction:" unsigned 0;
        13 "supportArgumentBuffers" "setSupportArgumentBuffers:" bool 0;
    }
    LOG_STATE_DESCRIPTOR "MTLLogStateDescriptor" {
        0 "level" "setLevel:" signed 0;
        1 "bufferSize" "setBufferSize:" signed 0;
    }
    QUEUE_4_DESCRIPTOR "MTL4CommandQueueDescriptor" {
        0 "label" "setLabel:" copy;
        1 "feedbackQueue" "setFeedbackQueue:" retain;
    }
    ALLOCATOR_DESCRIPTOR "MTL4CommandAllocatorDescriptor" {
        0 "label" "setLabel:" copy;
    }
    COMMAND_BUFFER_4_OPTIONS "MTL4CommandBufferOptions" {
        0 "logState" "setLogState:" retain;
    }
    TABLE_DESCRIPTOR "MTL4ArgumentTableDescriptor" {
        0 "label" "setLabel:" copy;
        0 "maxBufferBindCount" "setMaxBufferBindCount:" unsigned 0;
        1 "maxTextureBindCount" "setMaxTextureBindCount:" unsigned 0;
        2 "maxSamplerStateBindCount" "setMaxSamplerStateBindCount:" unsigned 0;
        3 "initializeBindings" "setInitializeBindings:" bool 0;
        4 "supportAttributeStrides" "setSupportAttributeStrides:" bool 0;
    }
    COMPILER_DESCRIPTOR "MTL4CompilerDescriptor" {
        0 "label" "setLabel:" copy;
        1 "pipelineDataSetSerializer" "setPipelineDataSetSerializer:" retain;
    }
    COMPILER_TASK_OPTIONS "MTL4CompilerTaskOptions" {
        0 "lookupArchives" "setLookupArchives:" copy;
    }
    LIBRARY_DESCRIPTOR "MTL4LibraryDescriptor" {
        0 "source" "setSource:" copy;
        1 "options" "setOptions:" copy;
        2 "name" "setName:" copy;
    }
    LIBRARY_FUNCTION_DESCRIPTOR "MTL4LibraryFunctionDescriptor" {
        0 "name" "setName:" copy;
        1 "library" "setLibrary:" retain;
    }
    SPECIALIZED_FUNCTION_DESCRIPTOR "MTL4SpecializedFunctionDescriptor" {
        0 "functionDescriptor" "setFunctionDescriptor:" copy;
        1 "specializedName" "setSpecializedName:" copy;
        2 "constantValues" "setConstantValues:" copy;
    }
    PIPELINE_4_DESCRIPTOR "MTL4ComputePipelineDescriptor" {
        0 "label" "setLabel:" copy;
        1 "computeFunctionDescriptor" "setComputeFunctionDescriptor:" copy;
        2 "options" "setOptions:" copy;
        3 "staticLinkingDescriptor" "setStaticLinkingDescriptor:" copy;
        0 "maxTotalThreadsPerThreadgroup" "setMaxTotalThreadsPerThreadgroup:" unsigned 0;
        1 "threadGroupSizeIsMultipleOfThreadExecutionWidth" "setThreadGroupSizeIsMultipleOfThreadExecutionWidth:" bool 0;
        2 "supportIndirectCommandBuffers" "setSupportIndirectCommandBuffers:" signed 0;
        3 "supportBinaryLinking" "setSupportBinaryLinking:" bool 0;
    }
}

const CONVENIENCE: &[(&Declaration, &[MethodRow])] = &[
    (
        &FUNCTION_DESCRIPTOR,
        assay_objc::methods! { Fields; + "functionDescriptor" "@@:" (this) -> Id { new(this) } },
    ),
    (
        &LINKED_FUNCTIONS,
        assay_objc::methods! { Fields; + "linkedFunctions" "@@:" (this) -> Id { new(this) } },
    ),
    (
        &PASS_DESCRIPTOR,
        assay_objc::methods! { Fields;
            + "computePassDescriptor" "@@:" (this) -> Id { new(this) }
            // There from the start, since programs index it.
            - "sampleBufferAttachments" "@@:" (this) -> Id { this.object_or(0, || ATTACHMENT_LIST.make(Attachments::default())).autoreleased() }
        },
    ),
    (
        &BLIT_PASS_DESCRIPTOR,
        assay_objc::methods! { Fields; + "blitPassDescriptor" "@@:" (this) -> Id { new(this) } },
    ),
    (
        &ARGUMENT_DESCRIPTOR,
        assay_objc::methods! { Fields; + "argumentDescriptor" "@@:" (this) -> Id { new(this) } },
    ),
    (
        &TEXTURE_DESCRIPTOR,
        assay_objc::methods! { Fields;
            + "texture2DDescriptorWithPixelFormat:width:height:mipmapped:" "@@:QQQB" (this, format: u64, width: u64, height: u64, has_levels: Bool) -> Id {
                let levels = if has_levels.get() { u64::from(64 - width.max(height).max(1).leading_zeros()) } else { 1 };
                texture_of(this, [2, format, width, height, levels])
            }
            + "textureCubeDescriptorWithPixelFormat:size:mipmapped:" "@@:QQB" (this, format: u64, size: u64, has_levels: Bool) -> Id {
                let levels = if has_levels.get() { u64::from(64 - size.max(1).leading_zeros()) } else { 1 };
                texture_of(this, [5, format, size, size, levels])
            }
            + "textureBufferDescriptorWithPixelFormat:width:resourceOptions:usage:" "@@:QQQQ" (this, format: u64, width: u64, options: u64, usage: u64) -> Id {
                let made = texture_of(this, [9, format, width, 1, 1]);
                if let Some(fields) = TEXTURE_DESCRIPTOR.state::<Fields>(made) {
                    fields.set_word(7, 0, options);
                    fields.set_word(9, 1, usage);
                }
                made
            }
        },
    ),
    // The math mode decides; the older switch is the same as its fast mode.
    (
        &COMPILE_OPTIONS,
        assay_objc::methods! { Fields;
            - "setMathMode:" "v@:q" (this, mode: i64) { this.set_word(2, 2, mode.to_word()); this.set_word(0, 1, u64::from(mode == 2)); }
            - "setFastMathEnabled:" "v@:B" (this, fast: Bool) { this.set_word(0, 1, fast.to_word()); this.set_word(2, 2, if fast.get() { 2 } else { 0 }); }
        },
    ),
    (
        &HEAP_DESCRIPTOR,
        assay_objc::methods! { Fields;
            - "setStorageMode:" "v@:Q" (this, mode: u64) { this.set_word(1, 2, mode); this.set_word(4, 0x20, this.word(4, 0x20) & !0xf0 | mode << 4); }
            - "setHazardTrackingMode:" "v@:Q" (this, mode: u64) { this.set_word(3, 0, mode); this.set_word(4, 0x20, this.word(4, 0x20) & !0x300 | mode << 8); }
        },
    ),
];

/// A new object of a class, for a method that does not give its reference away.
unsafe fn new(class: Id) -> Id {
    // SAFETY: the receiver of a class method is a class.
    unsafe { Strong::owned(assay_objc::pool::objc_opt_new(class.cast())).autoreleased() }
}

/// A descriptor of a texture with type, format, width, height and levels.
unsafe fn texture_of(class: Id, [kind, format, width, height, levels]: [u64; 5]) -> Id {
    // SAFETY: the receiver of a class method is a class.
    unsafe {
        let made = new(class);
        if let Some(fields) = TEXTURE_DESCRIPTOR.state::<Fields>(made) {
            for (at, default, value) in [
                (0, 2, kind),
                (1, 70, format),
                (2, 1, width),
                (3, 1, height),
                (5, 1, levels),
            ] {
                fields.set_word(at, default, value);
            }
        }
        made
    }
}

/// Adds the methods of properties to their classes.
pub(crate) fn register() {
    for (class, rows) in properties() {
        class.class.add_rows(rows);
    }
    for (class, rows) in CONVENIENCE {
        class.class.add_rows(rows);
    }
}

/// A descriptor's property, by its getter; nothing for nil.
///
/// # Safety
/// The object must be nil or alive, and the property of that type.
pub(crate) unsafe fn get<T>(descriptor: Id, getter: &std::ffi::CStr) -> Option<T> {
    // SAFETY: the caller's promise.
    (!descriptor.is_null()).then(|| unsafe { send(descriptor, Sel::new(getter)) })
}
