//! Textures: texels in the order of `assay-texture`, which kernels reach through a binding or by `gpuResourceID`.

use crate::address::Allocation;
use crate::deferred;
use crate::device;
use crate::plain;
use crate::report::wrong_use;
use crate::resource::{BUFFER, Buffer, Memory, Pages, lock};
use assay_exec::BoundTexture;
use assay_foundation::string::{Range, string, text};
use assay_objc::root::NSOBJECT;
use assay_objc::{Bool, Id, NO, Strong, class};
use assay_texture::{Dimension, Format, Layout, Shape, Texel};
use std::ptr::null_mut;
use std::sync::Arc;

/// `MTLRegion`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Region {
    pub(crate) origin: [u64; 3],
    pub(crate) size: [u64; 3],
}

/// Numbers of `MTLPixelFormat` and the names of `assay-texture`.
const FORMATS: [(u64, &str); 54] = [
    (1, "a8Unorm"),
    (10, "r8Unorm"),
    (11, "r8Unorm_sRGB"),
    (12, "r8Snorm"),
    (13, "r8Uint"),
    (14, "r8Sint"),
    (20, "r16Unorm"),
    (22, "r16Snorm"),
    (23, "r16Uint"),
    (24, "r16Sint"),
    (25, "r16Float"),
    (30, "rg8Unorm"),
    (31, "rg8Unorm_sRGB"),
    (32, "rg8Snorm"),
    (33, "rg8Uint"),
    (34, "rg8Sint"),
    (40, "b5g6r5Unorm"),
    (41, "a1bgr5Unorm"),
    (42, "abgr4Unorm"),
    (43, "bgr5A1Unorm"),
    (53, "r32Uint"),
    (54, "r32Sint"),
    (55, "r32Float"),
    (60, "rg16Unorm"),
    (62, "rg16Snorm"),
    (63, "rg16Uint"),
    (64, "rg16Sint"),
    (65, "rg16Float"),
    (70, "rgba8Unorm"),
    (71, "rgba8Unorm_sRGB"),
    (72, "rgba8Snorm"),
    (73, "rgba8Uint"),
    (74, "rgba8Sint"),
    (80, "bgra8Unorm"),
    (81, "bgra8Unorm_sRGB"),
    (90, "rgb10a2Unorm"),
    (91, "rgb10a2Uint"),
    (92, "rg11b10Float"),
    (93, "rgb9e5Float"),
    (94, "bgr10a2Unorm"),
    (103, "rg32Uint"),
    (104, "rg32Sint"),
    (105, "rg32Float"),
    (110, "rgba16Unorm"),
    (112, "rgba16Snorm"),
    (113, "rgba16Uint"),
    (114, "rgba16Sint"),
    (115, "rgba16Float"),
    (123, "rgba32Uint"),
    (124, "rgba32Sint"),
    (125, "rgba32Float"),
    (250, "depth16Unorm"),
    (252, "depth32Float"),
    (253, "stencil8"),
];

fn format(number: u64) -> Option<&'static Format> {
    let (_, name) = FORMATS.iter().find(|(known, _)| *known == number)?;
    Format::named(name)
}

/// `MTLTextureType` in its order: axes, and whether layers are counted by `arrayLength`.
const TYPES: [(Dimension, bool); 10] = [
    (Dimension::D1, false),
    (Dimension::D1, true),
    (Dimension::D2, false),
    (Dimension::D2, true),
    (Dimension::D2, false),
    (Dimension::Cube, false),
    (Dimension::Cube, true),
    (Dimension::D3, false),
    (Dimension::D2, true),
    (Dimension::Buffer, false),
];

/// What a texture is, and where its texels are.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    pub(crate) layout: Layout,
    kind: u64,
    format: u64,
}

/// A texture.
#[derive(Debug, Default)]
pub struct Texture {
    pub(crate) image: Option<Image>,
    pub(crate) allocation: Arc<Allocation>,
    options: usize,
    usage: u64,
    /// The buffer its texels lie in, and where; or the texture that it is a view of.
    buffer: Strong,
    buffer_offset: usize,
    parent: Strong,
}

/// The image of a descriptor, or what is wrong with it.
unsafe fn described(descriptor: Id) -> Result<Image, String> {
    // SAFETY: the caller's descriptor is one, or nil.
    let get = |name: &std::ffi::CStr| unsafe { plain::get::<u64>(descriptor, name) }.unwrap_or(0);
    let (kind, number) = (get(c"textureType"), get(c"pixelFormat"));
    let Some(&(dimension, is_array)) = TYPES.get(kind as usize) else {
        return Err(format!("texture type {kind} is not one of Metal's"));
    };
    let format = format(number).ok_or_else(|| {
        format!("pixel format {number} is not available: plain and depth formats are")
    })?;
    let extent = |name| u32::try_from(get(name)).unwrap_or(u32::MAX);
    let shape = Shape {
        dimension,
        width: extent(c"width"),
        height: extent(c"height"),
        depth: extent(c"depth"),
        layers: if is_array { extent(c"arrayLength") } else { 1 },
        levels: extent(c"mipmapLevelCount"),
        samples: extent(c"sampleCount"),
    };
    shape.check()?;
    Ok(Image {
        layout: Layout { shape, format },
        kind,
        format: number,
    })
}

fn refused(what: &str, why: &str) -> Strong {
    wrong_use(&format!("{what}: {why}; nil is answered"));
    Strong::nil()
}

fn make(image: Image, (start, memory): (usize, Memory), rest: Texture) -> Strong {
    let length = image.layout.bytes() as usize;
    let allocation = Allocation::of_texture(start, length, memory, image.layout);
    // SAFETY: `Texture` is the state of the class.
    unsafe {
        TEXTURE.make(Texture {
            image: Some(image),
            allocation,
            ..rest
        })
    }
}

/// A texture with memory of its own; nil if there cannot be one.
///
/// # Safety
/// The descriptor must be one, or nil.
pub(crate) unsafe fn texture(descriptor: Id) -> Strong {
    let what = "newTextureWithDescriptor";
    // SAFETY: the caller's promise.
    let (image, options, usage) = unsafe {
        (
            described(descriptor),
            plain::get::<usize>(descriptor, c"resourceOptions").unwrap_or(0),
            plain::get(descriptor, c"usage").unwrap_or(0),
        )
    };
    match image {
        Err(why) => refused(what, &why),
        Ok(image) => match Pages::new(image.layout.bytes() as usize) {
            None => Strong::nil(),
            Some(pages) => make(
                image,
                (pages.start(), Memory::Own(pages)),
                Texture {
                    options,
                    usage,
                    ..Texture::default()
                },
            ),
        },
    }
}

/// A texture over the bytes of a buffer, whose rows must follow each other without gaps.
///
/// # Safety
/// The buffer must be alive, the descriptor one.
pub(crate) unsafe fn texture_of_buffer(
    buffer: Id,
    descriptor: Id,
    offset: usize,
    row: usize,
) -> Strong {
    let what = "newTextureWithDescriptor:offset:bytesPerRow:";
    // SAFETY: the caller's promise.
    let (image, known, kept) = unsafe {
        (
            described(descriptor),
            BUFFER.state::<Buffer>(buffer),
            Strong::retain(buffer),
        )
    };
    let (Ok(image), Some(known)) = (image, known) else {
        return refused(what, "the descriptor describes no texture of this device");
    };
    let Shape { width, height, .. } = image.layout.shape;
    let packed = width as usize * image.layout.format.bytes as usize;
    if row != packed && height > 1 {
        return refused(
            what,
            &format!(
                "rows of {row} bytes: those of {packed} without gaps between them are available"
            ),
        );
    }
    let end = offset.saturating_add(image.layout.bytes() as usize);
    if end > known.length {
        return refused(
            what,
            &format!("it ends at byte {end} of a {}", known.name()),
        );
    }
    let memory = Memory::Part {
        of: Arc::clone(&known.allocation),
    };
    make(
        image,
        (known.allocation.start + offset, memory),
        Texture {
            buffer: kept,
            buffer_offset: offset,
            ..Texture::default()
        },
    )
}

/// Bytes that a texture takes in a heap, and their alignment; zeros if there cannot be one.
///
/// # Safety
/// The descriptor must be one, or nil.
pub(crate) unsafe fn size_and_align(descriptor: Id) -> [u64; 2] {
    // SAFETY: the caller's promise.
    let image = unsafe { described(descriptor) };
    image.map_or([0; 2], |image| {
        [image.layout.bytes().next_multiple_of(256), 256]
    })
}

impl Texture {
    /// What is bound for a kernel.
    ///
    /// # Safety
    /// The allocation must be kept, and only kernels access it, until the dispatch has run.
    pub(crate) unsafe fn bound(&self) -> Option<BoundTexture> {
        let image = self.image.as_ref()?;
        // SAFETY: the caller's promise.
        Some(unsafe { self.allocation.bound_texture(image.layout) })
    }

    fn shape(&self) -> Option<Shape> {
        Some(self.image.as_ref()?.layout.shape)
    }

    fn extent(&self, read: impl FnOnce(Shape) -> u32) -> u64 {
        self.shape().map_or(0, |shape| read(shape).into())
    }

    /// Copies texels of a region to or from memory of rows and images of so many bytes; `copy` is given both places.
    pub(crate) fn rows(
        &self,
        what: &str,
        region: Region,
        (level, slice): (u64, u64),
        (row, image): (usize, usize),
        mut copy: impl FnMut(*mut u8, usize, usize),
    ) {
        let Some(own) = &self.image else { return };
        deferred::touch(&self.allocation);
        let shape = own.layout.shape;
        let texel = own.layout.format.bytes as usize;
        let level = level.min(u64::from(u32::MAX)) as u32;
        let extents = match level < shape.levels {
            true => shape.level(level),
            false => [0; 3],
        };
        let fits = |axis: usize| {
            let end = region.origin[axis].saturating_add(region.size[axis]);
            end <= u64::from(extents[axis])
        };
        let slices = u64::from(shape.layers)
            * if shape.dimension == Dimension::Cube {
                6
            } else {
                1
            };
        if !(0..3).all(fits) || slice >= slices || level >= shape.levels {
            return wrong_use(&format!(
                "{what}: {:?} texels from {:?} on, level {level}, slice {slice}, of {}; nothing is copied",
                region.size, region.origin, own.layout
            ));
        }
        let (layer, face) = match shape.dimension {
            Dimension::Cube => ((slice / 6) as u32, (slice % 6) as u32),
            _ => (slice as u32, 0),
        };
        let [x, y, z] = region.origin.map(|at| at as u32);
        for deep in 0..region.size[2] as u32 {
            for down in 0..region.size[1] as u32 {
                let at = Texel {
                    x,
                    y: y + down,
                    z: z + deep + face,
                    layer,
                    level,
                    sample: 0,
                };
                let Some(offset) = own.layout.offset(at) else {
                    return;
                };
                let place = (self.allocation.start as *mut u8).wrapping_add(offset as usize);
                let outside = deep as usize * image + down as usize * row;
                copy(place, outside, region.size[0] as usize * texel);
            }
        }
    }

    unsafe fn replace(
        &self,
        region: Region,
        at: (u64, u64),
        from: *const u8,
        gaps: (usize, usize),
    ) {
        if from.is_null() {
            return wrong_use("replaceRegion: the address is null");
        }
        self.rows(
            "replaceRegion",
            region,
            at,
            gaps,
            |place, outside, bytes| {
                // SAFETY: the caller's memory has that many rows; the region was found to be inside the texture.
                unsafe { std::ptr::copy(from.wrapping_add(outside), place, bytes) };
            },
        );
    }

    unsafe fn get(&self, region: Region, at: (u64, u64), to: *mut u8, gaps: (usize, usize)) {
        if to.is_null() {
            return wrong_use("getBytes: the address is null");
        }
        self.rows("getBytes", region, at, gaps, |place, outside, bytes| {
            // SAFETY: as in `replace`.
            unsafe { std::ptr::copy(place.cast_const(), to.wrapping_add(outside), bytes) };
        });
    }

    /// The same texels in another format of the same size.
    unsafe fn view(&self, own: Id, number: u64) -> Strong {
        let what = "newTextureViewWithPixelFormat";
        let Some(image) = &self.image else {
            return Strong::nil();
        };
        let found = format(number).filter(|found| found.bytes == image.layout.format.bytes);
        let Some(format) = found else {
            return refused(
                what,
                &format!("pixel format {number} has not the size of {}", image.layout),
            );
        };
        let layout = Layout {
            format,
            ..image.layout
        };
        let image = Image {
            layout,
            format: number,
            ..image.clone()
        };
        let memory = Memory::Part {
            of: Arc::clone(&self.allocation),
        };
        make(
            image,
            (self.allocation.start, memory),
            Texture {
                options: self.options,
                usage: self.usage,
                // SAFETY: the receiver is alive.
                parent: unsafe { Strong::retain(own) },
                ..Texture::default()
            },
        )
    }
}

class! {
    /// `id<MTLTexture>`.
    pub TEXTURE = "AssayMTLTexture": NSOBJECT, Texture, ["MTLTexture", "MTLResource", "MTLAllocation"];
    - "textureType" "Q@:" (this) -> u64 { this.image.as_ref().map_or(2, |image| image.kind) }
    - "pixelFormat" "Q@:" (this) -> u64 { this.image.as_ref().map_or(0, |image| image.format) }
    - "width" "Q@:" (this) -> u64 { this.extent(|shape| shape.width) }
    - "height" "Q@:" (this) -> u64 { this.extent(|shape| shape.height) }
    - "depth" "Q@:" (this) -> u64 { this.extent(|shape| shape.depth) }
    - "mipmapLevelCount" "Q@:" (this) -> u64 { this.extent(|shape| shape.levels) }
    - "sampleCount" "Q@:" (this) -> u64 { this.extent(|shape| shape.samples) }
    - "arrayLength" "Q@:" (this) -> u64 { this.extent(|shape| shape.layers) }
    - "usage" "Q@:" (this) -> u64 { this.usage }
    - "isFramebufferOnly" "B@:" (this) -> Bool { NO }
    - "isShareable" "B@:" (this) -> Bool { NO }
    - "gpuResourceID" "{MTLResourceID=Q}@:" (this) -> u64 { this.allocation.address() }
    - "buffer" "@@:" (this) -> Id { this.buffer.id() }
    - "bufferOffset" "Q@:" (this) -> usize { this.buffer_offset }
    - "bufferBytesPerRow" "Q@:" (this) -> u64 {
        let texel = this.image.as_ref().map_or(0, |image| u64::from(image.layout.format.bytes));
        if this.buffer.is_nil() { 0 } else { this.extent(|shape| shape.width) * texel }
    }
    - "parentTexture" "@@:" (this) -> Id { this.parent.id() }
    - "replaceRegion:mipmapLevel:withBytes:bytesPerRow:" "v@:{?={?=QQQ}{?=QQQ}}Qr^vQ"
      (this, region: Region, level: u64, from: *const u8, row: usize) {
        this.replace(region, (level, 0), from, (row, 0));
    }
    - "replaceRegion:mipmapLevel:slice:withBytes:bytesPerRow:bytesPerImage:" "v@:{?={?=QQQ}{?=QQQ}}QQr^vQQ"
      (this, region: Region, level: u64, slice: u64, from: *const u8, row: usize, image: usize) {
        this.replace(region, (level, slice), from, (row, image));
    }
    - "getBytes:bytesPerRow:fromRegion:mipmapLevel:" "v@:^vQ{?={?=QQQ}{?=QQQ}}Q" (this, to: *mut u8, row: usize, region: Region, level: u64) {
        this.get(region, (level, 0), to, (row, 0));
    }
    - "getBytes:bytesPerRow:bytesPerImage:fromRegion:mipmapLevel:slice:" "v@:^vQQ{?={?=QQQ}{?=QQQ}}QQ"
      (this, to: *mut u8, row: usize, image: usize, region: Region, level: u64, slice: u64) {
        this.get(region, (level, slice), to, (row, image));
    }
    - "newTextureViewWithPixelFormat:" "@@:Q" (this, number: u64) -> Id { this.view(this.id, number).into_owned() }
    - "newTextureViewWithPixelFormat:textureType:levels:slices:" "@@:QQ{_NSRange=QQ}{_NSRange=QQ}"
      (this, number: u64, kind: u64, levels: Range, slices: Range) -> Id {
        let all = (levels.location, levels.length as u64) == (0, this.extent(|shape| shape.levels)) && slices.location == 0;
        if !all || this.image.as_ref().is_none_or(|image| image.kind != kind) {
            wrong_use("newTextureViewWithPixelFormat: views of part of a texture, or of another type, are not available; nil is answered");
            return null_mut();
        }
        this.view(this.id, number).into_owned()
    }
    - "label" "@@:" (this) -> Id { lock(&this.allocation.label).clone().autoreleased() }
    - "setLabel:" "v@:@" (this, label: Id) { *lock(&this.allocation.label) = string(text(label)); }
    - "device" "@@:" (this) -> Id { device::shared() }
    - "allocatedSize" "Q@:" (this) -> usize { this.allocation.reachable() }
    - "storageMode" "Q@:" (this) -> usize { this.options >> 4 & 15 }
    - "cpuCacheMode" "Q@:" (this) -> usize { this.options & 15 }
    - "hazardTrackingMode" "Q@:" (this) -> usize { if this.options >> 8 & 3 == 1 { 1 } else { 2 } }
    - "resourceOptions" "Q@:" (this) -> usize { this.options }
    - "heap" "@@:" (this) -> Id { null_mut() }
    - "heapOffset" "Q@:" (this) -> usize { 0 }
    - "isAliasable" "B@:" (this) -> Bool { NO }
    - "makeAliasable" "v@:" (this) { }
    - "setPurgeableState:" "Q@:Q" (this, _state: usize) -> usize { 2 }
}
