//! Plain values to Metal's, and back.

use super::super::driver::{RawArgument, RawKind};
use super::super::failure::Failure;
use crate::Constant;
use assay_ssa::Scalar;
use objc2::rc::Retained;
use objc2::runtime::ProtocolObject;
use objc2_foundation::{NSError, NSString, NSURL};
use objc2_metal::{
    MTLBinding, MTLBindingAccess, MTLBindingType, MTLBufferBinding, MTLLanguageVersion, MTLSize,
};
use std::path::Path;

/// The value as Metal reads it: little-endian elements side by side, zeros up to 64 bytes, more than the
/// largest type (four 64-bit elements) takes, so that a type wider than the value given reads no stray memory.
pub(super) fn constant_bytes(constant: &Constant) -> Vec<u8> {
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

pub(super) fn words(error: &NSError) -> String {
    error.localizedDescription().to_string()
}

pub(super) fn size([x, y, z]: [u32; 3]) -> MTLSize {
    MTLSize {
        width: x as usize,
        height: y as usize,
        depth: z as usize,
    }
}

pub(super) fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

pub(super) fn url(path: &Path) -> Retained<NSURL> {
    NSURL::fileURLWithPath(&NSString::from_str(&path.to_string_lossy()))
}

/// Metal's version number: major in the upper half, minor in the lower.
pub(super) fn language_version((major, minor): (u32, u32)) -> MTLLanguageVersion {
    MTLLanguageVersion(((major as usize) << 16) + minor as usize)
}

pub(super) fn argument(binding: &ProtocolObject<dyn MTLBinding>) -> RawArgument {
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

pub(super) fn failure(error: &NSError) -> Failure {
    Failure::new(error.code() as i64, words(error))
}
