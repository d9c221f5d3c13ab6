//! Arrays and structs, and the layout of every type in memory.

use crate::id::{Id, IdVec};
use crate::ty::{AggregateId, Scalar, Type, TypeKind};

/// An array or struct, with its layout in memory.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Aggregate {
    /// `len` elements, one every `stride` bytes.
    Array {
        /// Element type.
        element: Type,
        /// Number of elements.
        len: u32,
        /// Bytes from one element to the next.
        stride: u32,
    },
    /// Fields at given offsets.
    Struct {
        /// Each field with its byte offset.
        fields: Vec<Field>,
        /// Size with trailing padding.
        size: u32,
        /// Alignment in bytes.
        align: u32,
    },
}

/// A field of a struct.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Field {
    /// Type of the field.
    pub ty: Type,
    /// Byte offset from the start of the struct.
    pub offset: u32,
}

/// The array and struct types of a module. Equal types get the same id.
#[derive(Clone, Default, Debug)]
pub struct Aggregates {
    types: IdVec<AggregateId, Aggregate>,
    /// Alignment of each type: kept, because an array's is its element's, however deep that is.
    aligns: Vec<u32>,
}

impl Aggregates {
    /// The type of an aggregate, entered if it is new.
    pub fn intern(&mut self, aggregate: Aggregate) -> Type {
        // Modules have a few dozen aggregates at most; a scan beats hashing whole field lists.
        if let Some((id, _)) = self.types.iter().find(|(_, known)| **known == aggregate) {
            return Type::aggregate(id);
        }
        let align = match &aggregate {
            Aggregate::Array { element, .. } => self.align(*element),
            Aggregate::Struct { align, .. } => (*align).max(1),
        };
        self.aligns.push(align);
        Type::aggregate(self.types.push(aggregate))
    }

    /// An array type with the natural stride.
    pub fn array(&mut self, element: Type, len: u32) -> Type {
        let stride = self.stride(element);
        self.intern(Aggregate::Array {
            element,
            len,
            stride,
        })
    }

    /// A struct type laid out by the C rule (or without padding when `packed`).
    pub fn structure(&mut self, field_types: &[Type], packed: bool) -> Type {
        let (mut offset, mut align) = (0u32, 1u32);
        let mut fields = Vec::with_capacity(field_types.len());
        for &ty in field_types {
            let field_align = if packed { 1 } else { self.align(ty) };
            offset = round_up(offset, field_align);
            fields.push(Field { ty, offset });
            offset = offset.saturating_add(self.stride(ty));
            align = align.max(field_align);
        }
        self.intern(Aggregate::Struct {
            fields,
            size: round_up(offset, align),
            align,
        })
    }

    /// The aggregate of an id.
    pub fn get(&self, id: AggregateId) -> Option<&Aggregate> {
        self.types.get(id)
    }

    /// The aggregate a type names, if it is one.
    pub fn of(&self, ty: Type) -> Option<&Aggregate> {
        match ty.kind() {
            TypeKind::Aggregate(id) => self.types.get(id),
            _ => None,
        }
    }

    /// Whether an aggregate is made only of types entered already, so that no type contains itself.
    pub(crate) fn refers_back(&self, aggregate: &Aggregate) -> bool {
        let entered = |ty: Type| match ty.kind() {
            TypeKind::Aggregate(id) => self.types.contains(id),
            _ => true,
        };
        match aggregate {
            Aggregate::Array { element, .. } => entered(*element),
            Aggregate::Struct { fields, .. } => fields.iter().all(|field| entered(field.ty)),
        }
    }

    /// All aggregates in order of their ids.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (AggregateId, &Aggregate)> {
        self.types.iter()
    }

    /// Bytes a load or store of this type touches (12 for a three-float vector).
    pub fn store_size(&self, ty: Type) -> u32 {
        match ty.kind() {
            TypeKind::Void => 0,
            TypeKind::Scalar(s) => s.bytes(),
            TypeKind::Vector(Scalar::I1, lanes) => u32::from(lanes).div_ceil(8),
            TypeKind::Vector(s, lanes) => s.bytes() * u32::from(lanes),
            TypeKind::Matrix(s) => s.bytes() * 64,
            TypeKind::Pointer(_) => 8,
            TypeKind::Aggregate(id) => match self.types.get(id) {
                Some(Aggregate::Array { len, stride, .. }) => len.saturating_mul(*stride),
                Some(Aggregate::Struct { size, .. }) => *size,
                None => 0,
            },
        }
    }

    /// Bytes from one element of this type to the next in an array (16 for a three-float vector).
    ///
    /// A matrix takes the 64 elements AIR gives it, of which a thread uses the first two.
    pub fn stride(&self, ty: Type) -> u32 {
        round_up(self.store_size(ty), self.align(ty))
    }

    /// Natural alignment of a type, as AIR's data layout has it (a vector of three aligns like four).
    pub fn align(&self, ty: Type) -> u32 {
        match ty.kind() {
            TypeKind::Void => 1,
            TypeKind::Scalar(s) => s.bytes(),
            TypeKind::Vector(..) => self.store_size(ty).next_power_of_two(),
            TypeKind::Matrix(s) => s.bytes() * 64,
            TypeKind::Pointer(_) => 8,
            TypeKind::Aggregate(id) => self.aligns.get(id.index()).copied().unwrap_or(1),
        }
    }

    /// The type and byte offset of the element an index names inside an aggregate, vector or matrix.
    pub fn element_at(&self, ty: Type, index: u32) -> Option<(Type, u32)> {
        match ty.kind() {
            TypeKind::Vector(s, lanes) if index < u32::from(lanes) => {
                Some((Type::scalar(s), index * s.bytes()))
            }
            TypeKind::Aggregate(id) => match self.types.get(id)? {
                Aggregate::Array {
                    element,
                    len,
                    stride,
                } if index < *len => Some((*element, index.saturating_mul(*stride))),
                Aggregate::Struct { fields, .. } => fields
                    .get(index as usize)
                    .map(|field| (field.ty, field.offset)),
                Aggregate::Array { .. } => None,
            },
            _ => None,
        }
    }
}

fn round_up(size: u32, align: u32) -> u32 {
    let align = align.max(1);
    size.div_ceil(align).saturating_mul(align)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_floats_store_twelve_bytes_and_stride_sixteen() {
        let types = Aggregates::default();
        let float3 = Type::vector(Scalar::F32, 3);
        assert_eq!(
            (
                types.store_size(float3),
                types.stride(float3),
                types.align(float3)
            ),
            (12, 16, 16)
        );
    }

    #[test]
    fn struct_fields_are_padded_like_c() {
        let mut types = Aggregates::default();
        let ty = types.structure(&[Type::I8, Type::F32, Type::F16], false);
        assert_eq!(types.element_at(ty, 1), Some((Type::F32, 4)));
        assert_eq!(types.element_at(ty, 2), Some((Type::F16, 8)));
        assert_eq!(types.stride(ty), 12);
        assert_eq!(
            types.structure(&[Type::I8, Type::F32, Type::F16], false),
            ty
        );
    }
}
