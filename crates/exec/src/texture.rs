//! Texture operations of a program, and the textures and samplers that a dispatch binds.
//!
//! The texels of a texture are a region of memory like a buffer; its handle is the address of the region. Every texel that an
//! operation reads or writes is an access that observers see, so checking and counting need to know little of textures. What
//! texels mean and which of them a sample is made of is `assay-texture`'s.

use crate::buffer::Buffer;
use crate::code::List;
use assay_ssa::Scalar;
use assay_ssa::builtin::{Sign, TextureKind};
use assay_texture::{Class, Dimension, Layout, Sampler};

/// What a texture operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Read,
    Write,
    Sample,
    SampleCompare,
    Gather,
    GatherCompare,
    Atomic,
    Width,
    Height,
    Depth,
    Layers,
    Levels,
    Samples,
    IsNull,
    /// Orders accesses of a thread to the texture; each thread sees its own in order anyway.
    Fence,
}

/// A texture operation. Arguments are in the order of `metal_texture`, vectors as their elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextureOp {
    pub(crate) what: What,
    pub(crate) kind: TextureKind,
    /// The type of components.
    pub(crate) scalar: Scalar,
    pub(crate) sign: Sign,
    pub(crate) args: List,
    pub(crate) results: List,
}

impl TextureOp {
    /// Returns true if it gets a number from memory.
    pub(crate) fn loads(&self) -> bool {
        use What::{Atomic, Gather, GatherCompare, Read, Sample, SampleCompare};
        matches!(
            self.what,
            Read | Sample | SampleCompare | Gather | GatherCompare | Atomic
        )
    }

    /// What the components are in the program.
    pub(crate) fn class(&self) -> Class {
        match (self.scalar.is_float(), self.sign) {
            (true, _) => Class::Float,
            (false, Sign::Signed) => Class::Signed,
            _ => Class::Unsigned,
        }
    }
}

/// The axes of a kind of texture.
pub(crate) fn dimension(kind: TextureKind) -> Dimension {
    use TextureKind as K;
    match kind {
        K::Texture1d | K::Texture1dArray => Dimension::D1,
        K::Texture3d => Dimension::D3,
        K::TextureCube | K::TextureCubeArray | K::DepthCube | K::DepthCubeArray => Dimension::Cube,
        K::TextureBuffer1d => Dimension::Buffer,
        _ => Dimension::D2,
    }
}

/// A texture that a dispatch binds: its texels and what they mean.
#[derive(Debug)]
pub struct BoundTexture {
    /// What the bytes mean.
    pub layout: Layout,
    /// The texels, in the order of [`assay_texture::Shape::index`].
    pub texels: Buffer,
    /// Nothing has written the texels: reading one before it is written is an error.
    pub undefined: bool,
}

/// What a handle is of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Resource {
    Texture { layout: Layout, undefined: bool },
    Sampler(Sampler),
}

/// What is wrong with an access of a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextureError {
    /// No such texel.
    Outside,
    /// The format, the shape or the sampler does not suit the operation.
    Unsuitable,
}
