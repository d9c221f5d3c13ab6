//! Types in Metal's spelling. Integers are unsigned everywhere: their arithmetic wraps, and an operation that needs a
//! sign converts.

use super::PrintError;
use assay_ssa::{Scalar, Space, Type, TypeKind};

/// The unsigned (or float) spelling of a scalar.
pub(super) fn scalar(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::I1 => "bool",
        Scalar::I8 => "uchar",
        Scalar::I16 => "ushort",
        Scalar::I32 => "uint",
        Scalar::I64 => "ulong",
        Scalar::F16 => "half",
        Scalar::BF16 => "bfloat",
        Scalar::F32 => "float",
    }
}

/// The signed spelling of an integer.
pub(super) fn signed_scalar(of: Scalar) -> &'static str {
    match of {
        Scalar::I8 => "char",
        Scalar::I16 => "short",
        Scalar::I32 => "int",
        Scalar::I64 => "long",
        other => scalar(other),
    }
}

pub(super) fn space(space: Space) -> Result<&'static str, PrintError> {
    match space {
        Space::Thread => Ok("thread"),
        Space::Device => Ok("device"),
        Space::Constant => Ok("constant"),
        Space::Threadgroup => Ok("threadgroup"),
        Space::Generic => Err(PrintError::GenericPointer),
    }
}

/// A scalar, vector or matrix type.
pub(super) fn value(ty: Type) -> Result<String, PrintError> {
    named(ty, scalar)
}

/// The same with signed integers.
pub(super) fn signed(ty: Type) -> Result<String, PrintError> {
    named(ty, signed_scalar)
}

fn named(ty: Type, name: fn(Scalar) -> &'static str) -> Result<String, PrintError> {
    match ty.kind() {
        TypeKind::Scalar(of) => Ok(name(of).to_owned()),
        TypeKind::Vector(of, lanes @ 2..=4) => Ok(format!("{}{lanes}", name(of))),
        TypeKind::Vector(..) => Err(PrintError::WideVector(ty)),
        TypeKind::Matrix(of) => Ok(format!("simdgroup_matrix<{}, 8, 8>", scalar(of))),
        TypeKind::Pointer(_) | TypeKind::Void | TypeKind::Aggregate(_) => {
            Err(PrintError::Aggregate(ty))
        }
    }
}

/// How a type is spelled where it lies in memory: three-vectors without padding, and vectors that are aligned to less
/// than their size, are packed.
pub(super) fn in_memory(ty: Type, align: u32) -> Result<Element, PrintError> {
    let plain = value(ty);
    match ty.kind() {
        TypeKind::Vector(of, lanes) => {
            let plain = plain?;
            let bytes = of.bytes() * u32::from(lanes);
            let packed = lanes == 3 || align < bytes;
            if packed && of == Scalar::I1 {
                return Err(PrintError::WideVector(ty));
            }
            Ok(Element {
                name: if packed {
                    format!("packed_{plain}")
                } else {
                    plain
                },
                bytes,
                packed,
            })
        }
        TypeKind::Scalar(of) => Ok(Element {
            name: plain?,
            bytes: of.bytes(),
            packed: false,
        }),
        TypeKind::Pointer(of) => Ok(Element {
            name: format!("{} uchar*", space(of)?),
            bytes: 8,
            packed: false,
        }),
        _ => Err(PrintError::Aggregate(ty)),
    }
}

/// What a pointer points at, as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Element {
    pub(super) name: String,
    pub(super) bytes: u32,
    /// The element is a packed vector, which converts to and from the plain one.
    pub(super) packed: bool,
}

impl Element {
    pub(super) fn byte() -> Self {
        Element {
            name: "uchar".to_owned(),
            bytes: 1,
            packed: false,
        }
    }
}
