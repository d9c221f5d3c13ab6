//! Textures and samplers, as Metal has them.

use super::values::small;
use super::{Device, Texture};
use assay_texture::{Address, Border, Compare, Dimension, Filter, Layout, Mip, Reduction, Sampler};
use objc2::rc::Retained;
use objc2::runtime::ProtocolObject;
use objc2_metal::{
    MTLCompareFunction, MTLDevice, MTLPixelFormat, MTLSamplerAddressMode, MTLSamplerBorderColor,
    MTLSamplerDescriptor, MTLSamplerMinMagFilter, MTLSamplerMipFilter, MTLSamplerState,
    MTLStorageMode, MTLTextureDescriptor, MTLTextureType, MTLTextureUsage,
};

/// Pixel formats by the names that `assay-texture` has for them.
const FORMATS: [(&str, MTLPixelFormat); 54] = [
    ("a8Unorm", MTLPixelFormat::A8Unorm),
    ("r8Unorm", MTLPixelFormat::R8Unorm),
    ("r8Unorm_sRGB", MTLPixelFormat::R8Unorm_sRGB),
    ("r8Snorm", MTLPixelFormat::R8Snorm),
    ("r8Uint", MTLPixelFormat::R8Uint),
    ("r8Sint", MTLPixelFormat::R8Sint),
    ("stencil8", MTLPixelFormat::Stencil8),
    ("r16Unorm", MTLPixelFormat::R16Unorm),
    ("r16Snorm", MTLPixelFormat::R16Snorm),
    ("r16Uint", MTLPixelFormat::R16Uint),
    ("r16Sint", MTLPixelFormat::R16Sint),
    ("r16Float", MTLPixelFormat::R16Float),
    ("depth16Unorm", MTLPixelFormat::Depth16Unorm),
    ("rg8Unorm", MTLPixelFormat::RG8Unorm),
    ("rg8Unorm_sRGB", MTLPixelFormat::RG8Unorm_sRGB),
    ("rg8Snorm", MTLPixelFormat::RG8Snorm),
    ("rg8Uint", MTLPixelFormat::RG8Uint),
    ("rg8Sint", MTLPixelFormat::RG8Sint),
    ("b5g6r5Unorm", MTLPixelFormat::B5G6R5Unorm),
    ("a1bgr5Unorm", MTLPixelFormat::A1BGR5Unorm),
    ("abgr4Unorm", MTLPixelFormat::ABGR4Unorm),
    ("bgr5A1Unorm", MTLPixelFormat::BGR5A1Unorm),
    ("r32Uint", MTLPixelFormat::R32Uint),
    ("r32Sint", MTLPixelFormat::R32Sint),
    ("r32Float", MTLPixelFormat::R32Float),
    ("depth32Float", MTLPixelFormat::Depth32Float),
    ("rg16Unorm", MTLPixelFormat::RG16Unorm),
    ("rg16Snorm", MTLPixelFormat::RG16Snorm),
    ("rg16Uint", MTLPixelFormat::RG16Uint),
    ("rg16Sint", MTLPixelFormat::RG16Sint),
    ("rg16Float", MTLPixelFormat::RG16Float),
    ("rgba8Unorm", MTLPixelFormat::RGBA8Unorm),
    ("rgba8Unorm_sRGB", MTLPixelFormat::RGBA8Unorm_sRGB),
    ("rgba8Snorm", MTLPixelFormat::RGBA8Snorm),
    ("rgba8Uint", MTLPixelFormat::RGBA8Uint),
    ("rgba8Sint", MTLPixelFormat::RGBA8Sint),
    ("bgra8Unorm", MTLPixelFormat::BGRA8Unorm),
    ("bgra8Unorm_sRGB", MTLPixelFormat::BGRA8Unorm_sRGB),
    ("rgb10a2Unorm", MTLPixelFormat::RGB10A2Unorm),
    ("rgb10a2Uint", MTLPixelFormat::RGB10A2Uint),
    ("bgr10a2Unorm", MTLPixelFormat::BGR10A2Unorm),
    ("rg11b10Float", MTLPixelFormat::RG11B10Float),
    ("rgb9e5Float", MTLPixelFormat::RGB9E5Float),
    ("rg32Uint", MTLPixelFormat::RG32Uint),
    ("rg32Sint", MTLPixelFormat::RG32Sint),
    ("rg32Float", MTLPixelFormat::RG32Float),
    ("rgba16Unorm", MTLPixelFormat::RGBA16Unorm),
    ("rgba16Snorm", MTLPixelFormat::RGBA16Snorm),
    ("rgba16Uint", MTLPixelFormat::RGBA16Uint),
    ("rgba16Sint", MTLPixelFormat::RGBA16Sint),
    ("rgba16Float", MTLPixelFormat::RGBA16Float),
    ("rgba32Uint", MTLPixelFormat::RGBA32Uint),
    ("rgba32Sint", MTLPixelFormat::RGBA32Sint),
    ("rgba32Float", MTLPixelFormat::RGBA32Float),
];

/// A texture that the GPU alone sees.
pub(super) fn texture(device: &Device, layout: &Layout) -> Result<Retained<Texture>, String> {
    let shape = layout.shape;
    let format = FORMATS.iter().find(|(name, _)| *name == layout.format.name);
    let (_, format) = format.ok_or_else(|| {
        format!(
            "{} is not a format that textures are bound with on Metal",
            layout.format.name
        )
    })?;
    let is_array = shape.layers > 1;
    let kind = match (shape.dimension, is_array) {
        (Dimension::D1, false) => MTLTextureType::Type1D,
        (Dimension::D1, true) => MTLTextureType::Type1DArray,
        (Dimension::D2, false) => MTLTextureType::Type2D,
        (Dimension::D2, true) => MTLTextureType::Type2DArray,
        (Dimension::D3, _) => MTLTextureType::Type3D,
        (Dimension::Cube, false) => MTLTextureType::TypeCube,
        (Dimension::Cube, true) => MTLTextureType::TypeCubeArray,
        (Dimension::Buffer, _) => {
            return Err("a texture buffer has no texture of its own".to_owned());
        }
    };
    let [_, _, depth] = shape.level(0);
    let descriptor = MTLTextureDescriptor::new();
    descriptor.setTextureType(kind);
    descriptor.setPixelFormat(*format);
    // SAFETY: extents are those of a layout that was checked; Metal refuses those that it cannot make.
    unsafe {
        descriptor.setWidth(shape.width as usize);
        descriptor.setHeight(shape.height as usize);
        descriptor.setDepth(depth as usize);
        descriptor.setMipmapLevelCount(shape.levels as usize);
        descriptor.setArrayLength(shape.layers as usize);
    }
    descriptor.setStorageMode(MTLStorageMode::Private);
    descriptor.setUsage(MTLTextureUsage::ShaderRead | MTLTextureUsage::ShaderWrite);
    let made = device.newTextureWithDescriptor(&descriptor);
    made.ok_or_else(|| format!("Metal makes no texture of {layout}"))
}

/// A sampler that may stand in an argument buffer too.
pub(super) fn sampler(
    device: &Device,
    sampler: &Sampler,
) -> Result<Retained<ProtocolObject<dyn MTLSamplerState>>, String> {
    if sampler.reduction != Reduction::WeightedAverage {
        return Err(
            "samplers that take a minimum or maximum are bound on the CPU device only".to_owned(),
        );
    }
    let descriptor = MTLSamplerDescriptor::new();
    descriptor.setMinFilter(filter(sampler.min)?);
    descriptor.setMagFilter(filter(sampler.mag)?);
    descriptor.setMipFilter(match sampler.mip {
        Mip::None => MTLSamplerMipFilter::NotMipmapped,
        Mip::Nearest => MTLSamplerMipFilter::Nearest,
        Mip::Linear => MTLSamplerMipFilter::Linear,
    });
    let [s, t, r] = sampler.address.map(address);
    descriptor.setSAddressMode(s);
    descriptor.setTAddressMode(t);
    descriptor.setRAddressMode(r);
    descriptor.setBorderColor(match sampler.border {
        Border::TransparentBlack => MTLSamplerBorderColor::TransparentBlack,
        Border::OpaqueBlack => MTLSamplerBorderColor::OpaqueBlack,
        Border::OpaqueWhite => MTLSamplerBorderColor::OpaqueWhite,
    });
    descriptor.setNormalizedCoordinates(sampler.normalized);
    descriptor.setMaxAnisotropy(small(sampler.anisotropy as usize).clamp(1, 16) as usize);
    descriptor.setLodMinClamp(sampler.lod_min);
    descriptor.setLodMaxClamp(sampler.lod_max);
    descriptor.setCompareFunction(match sampler.compare {
        Compare::None | Compare::Never => MTLCompareFunction::Never,
        Compare::Less => MTLCompareFunction::Less,
        Compare::LessEqual => MTLCompareFunction::LessEqual,
        Compare::Greater => MTLCompareFunction::Greater,
        Compare::GreaterEqual => MTLCompareFunction::GreaterEqual,
        Compare::Equal => MTLCompareFunction::Equal,
        Compare::NotEqual => MTLCompareFunction::NotEqual,
        Compare::Always => MTLCompareFunction::Always,
    });
    descriptor.setSupportArgumentBuffers(true);
    let made = device.newSamplerStateWithDescriptor(&descriptor);
    made.ok_or_else(|| format!("Metal makes no sampler of {sampler}"))
}

fn filter(filter: Filter) -> Result<MTLSamplerMinMagFilter, String> {
    match filter {
        Filter::Nearest => Ok(MTLSamplerMinMagFilter::Nearest),
        Filter::Linear => Ok(MTLSamplerMinMagFilter::Linear),
        Filter::Bicubic => Err("a sampler that is bound has no bicubic filter".to_owned()),
    }
}

fn address(address: Address) -> MTLSamplerAddressMode {
    match address {
        Address::ClampToZero => MTLSamplerAddressMode::ClampToZero,
        Address::ClampToEdge => MTLSamplerAddressMode::ClampToEdge,
        Address::ClampToBorder => MTLSamplerAddressMode::ClampToBorderColor,
        Address::Repeat => MTLSamplerAddressMode::Repeat,
        Address::MirroredRepeat => MTLSamplerAddressMode::MirrorRepeat,
    }
}
