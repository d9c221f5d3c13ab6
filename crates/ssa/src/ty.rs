//! Types: scalars, short vectors, simdgroup matrices, pointers, and aggregates for memory layout.
//!
//! A [`Type`] is four bytes and comparable by value. Everything but an aggregate is encoded in it;
//! an aggregate (array or struct) is an index into the [`Aggregates`] of its module, where equal
//! aggregates share one entry, so `==` on types is equality of types.

use crate::id::{IdVec, define_ids};
use std::fmt;

/// A number type of one lane.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Scalar {
    /// A truth value; one byte in memory.
    I1,
    /// 8-bit integer.
    I8,
    /// 16-bit integer.
    I16,
    /// 32-bit integer.
    I32,
    /// 64-bit integer.
    I64,
    /// IEEE binary16.
    F16,
    /// The upper half of a binary32.
    BF16,
    /// IEEE binary32.
    F32,
}

impl Scalar {
    /// All scalars, in order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::I1,
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::F16,
        Self::BF16,
        Self::F32,
    ];

    /// Number of value bits.
    #[inline]
    pub const fn bits(self) -> u32 {
        match self {
            Self::I1 => 1,
            Self::I8 => 8,
            Self::I16 | Self::F16 | Self::BF16 => 16,
            Self::I32 | Self::F32 => 32,
            Self::I64 => 64,
        }
    }

    /// Size in memory.
    #[inline]
    pub const fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// Whether this is a floating-point type.
    #[inline]
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::BF16 | Self::F32)
    }

    /// Whether this is an integer type (truth values included).
    #[inline]
    pub const fn is_int(self) -> bool {
        !self.is_float()
    }

    /// The bits that are part of the value.
    #[inline]
    pub const fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// The name in the text form.
    pub const fn name(self) -> &'static str {
        match self {
            Self::I1 => "i1",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::F16 => "f16",
            Self::BF16 => "bf16",
            Self::F32 => "f32",
        }
    }

    /// The scalar of a name in the text form (and in AIR's names).
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scalar| scalar.name() == name)
    }

    /// The integer type with this number of bits, if there is one.
    pub const fn int(bits: u32) -> Option<Self> {
        match bits {
            1 => Some(Self::I1),
            8 => Some(Self::I8),
            16 => Some(Self::I16),
            32 => Some(Self::I32),
            64 => Some(Self::I64),
            _ => None,
        }
    }
}

/// Where a pointer points.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Space {
    /// Private to a thread (AIR address space 0 after inference; allocas).
    Thread,
    /// Device memory (AIR 1).
    Device,
    /// Constant memory, read-only during a dispatch (AIR 2).
    Constant,
    /// Memory of a threadgroup (AIR 3).
    Threadgroup,
    /// Not known: any of the others. [`analysis::spaces`](crate::analysis::spaces) removes most of these.
    Generic,
}

impl Space {
    /// All spaces, in order of their numbers.
    pub const ALL: [Self; 5] = [
        Self::Thread,
        Self::Device,
        Self::Constant,
        Self::Threadgroup,
        Self::Generic,
    ];

    /// The name in the text form.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Thread => "thread",
            Self::Device => "device",
            Self::Constant => "constant",
            Self::Threadgroup => "threadgroup",
            Self::Generic => "generic",
        }
    }

    /// The space of a name in the text form.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|space| space.name() == name)
    }
}

define_ids! {
    /// An array or struct type of a module.
    AggregateId = "%";
}

/// What a [`Type`] is, to match on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TypeKind {
    /// No value.
    Void,
    /// One number.
    Scalar(Scalar),
    /// Two to sixteen numbers.
    Vector(Scalar, u8),
    /// An 8×8 matrix spread over a simdgroup, two elements a lane.
    Matrix(Scalar),
    /// A pointer; what it points at is said by the loads and stores.
    Pointer(Space),
    /// An array or struct.
    Aggregate(AggregateId),
}

/// The type of a value; four bytes, compared by value.
///
/// ```
/// use assay_ssa::{Scalar, Space, Type};
/// assert_eq!(Type::vector(Scalar::F32, 4).to_string(), "v4f32");
/// assert_eq!(Type::pointer(Space::Device).to_string(), "ptr.device");
/// assert_eq!(Type::matrix(Scalar::F16).to_string(), "matrix.f16");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Type(u32);

const TAG_VOID: u32 = 0;
const TAG_SCALAR: u32 = 1;
const TAG_VECTOR: u32 = 2;
const TAG_MATRIX: u32 = 3;
const TAG_POINTER: u32 = 4;
const TAG_AGGREGATE: u32 = 5;

/// Most elements a vector may have.
pub const MAX_VECTOR_LANES: u8 = 16;

impl Type {
    /// No value.
    pub const VOID: Self = Self(TAG_VOID);
    /// Truth value.
    pub const I1: Self = Self::scalar(Scalar::I1);
    /// 8-bit integer.
    pub const I8: Self = Self::scalar(Scalar::I8);
    /// 16-bit integer.
    pub const I16: Self = Self::scalar(Scalar::I16);
    /// 32-bit integer.
    pub const I32: Self = Self::scalar(Scalar::I32);
    /// 64-bit integer.
    pub const I64: Self = Self::scalar(Scalar::I64);
    /// Half precision.
    pub const F16: Self = Self::scalar(Scalar::F16);
    /// Brain float.
    pub const BF16: Self = Self::scalar(Scalar::BF16);
    /// Single precision.
    pub const F32: Self = Self::scalar(Scalar::F32);

    /// A scalar type.
    #[inline]
    pub const fn scalar(scalar: Scalar) -> Self {
        Self(TAG_SCALAR | (scalar as u32) << 8)
    }

    /// A vector type; one lane gives the scalar, more than sixteen are cut to sixteen.
    #[inline]
    pub const fn vector(scalar: Scalar, lanes: u8) -> Self {
        match lanes {
            0 | 1 => Self::scalar(scalar),
            2..=MAX_VECTOR_LANES => Self(TAG_VECTOR | (scalar as u32) << 8 | (lanes as u32) << 16),
            _ => Self(TAG_VECTOR | (scalar as u32) << 8 | (MAX_VECTOR_LANES as u32) << 16),
        }
    }

    /// An 8×8 simdgroup matrix type.
    #[inline]
    pub const fn matrix(scalar: Scalar) -> Self {
        Self(TAG_MATRIX | (scalar as u32) << 8)
    }

    /// A pointer type.
    #[inline]
    pub const fn pointer(space: Space) -> Self {
        Self(TAG_POINTER | (space as u32) << 8)
    }

    /// An array or struct type.
    #[inline]
    pub fn aggregate(id: AggregateId) -> Self {
        Self(TAG_AGGREGATE | (crate::id::Id::index(id) as u32) << 8)
    }

    /// The one word a type is, for hashing.
    pub(crate) const fn raw(self) -> u64 {
        self.0 as u64
    }

    /// What the type is.
    #[inline]
    pub fn kind(self) -> TypeKind {
        let scalar = Scalar::ALL[(self.0 >> 8 & 7) as usize];
        match self.0 & 0xff {
            TAG_SCALAR => TypeKind::Scalar(scalar),
            TAG_VECTOR => TypeKind::Vector(scalar, (self.0 >> 16) as u8),
            TAG_MATRIX => TypeKind::Matrix(scalar),
            TAG_POINTER => TypeKind::Pointer(
                Space::ALL[((self.0 >> 8 & 7) as usize).min(Space::ALL.len() - 1)],
            ),
            TAG_AGGREGATE => TypeKind::Aggregate(crate::id::Id::from_index((self.0 >> 8) as usize)),
            _ => TypeKind::Void,
        }
    }

    /// Whether this is [`Type::VOID`].
    #[inline]
    pub fn is_void(self) -> bool {
        self.0 == TAG_VOID
    }

    /// The element type of a scalar, vector or matrix.
    #[inline]
    pub fn element(self) -> Option<Scalar> {
        match self.kind() {
            TypeKind::Scalar(s) | TypeKind::Vector(s, _) | TypeKind::Matrix(s) => Some(s),
            _ => None,
        }
    }

    /// The element type of a scalar or vector.
    #[inline]
    pub fn lane_type(self) -> Option<Scalar> {
        match self.kind() {
            TypeKind::Scalar(s) | TypeKind::Vector(s, _) => Some(s),
            _ => None,
        }
    }

    /// Number of elements a thread holds: 1 for scalars and pointers, 2 for matrices, 0 for void and aggregates.
    #[inline]
    pub fn lanes(self) -> u8 {
        match self.kind() {
            TypeKind::Scalar(_) | TypeKind::Pointer(_) => 1,
            TypeKind::Vector(_, lanes) => lanes,
            TypeKind::Matrix(_) => 2,
            TypeKind::Void | TypeKind::Aggregate(_) => 0,
        }
    }

    /// The same shape with another element type (scalars, vectors and matrices; others are unchanged).
    #[inline]
    pub fn with_element(self, scalar: Scalar) -> Self {
        match self.kind() {
            TypeKind::Scalar(_) => Self::scalar(scalar),
            TypeKind::Vector(_, lanes) => Self::vector(scalar, lanes),
            TypeKind::Matrix(_) => Self::matrix(scalar),
            _ => self,
        }
    }

    /// The address space of a pointer type.
    #[inline]
    pub fn space(self) -> Option<Space> {
        match self.kind() {
            TypeKind::Pointer(space) => Some(space),
            _ => None,
        }
    }

    /// Whether this is a pointer.
    #[inline]
    pub fn is_pointer(self) -> bool {
        self.0 & 0xff == TAG_POINTER
    }

    /// Whether this is a float scalar or vector.
    #[inline]
    pub fn is_float(self) -> bool {
        self.lane_type().is_some_and(Scalar::is_float)
    }

    /// Whether this is an integer scalar or vector (truth values included).
    #[inline]
    pub fn is_int(self) -> bool {
        self.lane_type().is_some_and(Scalar::is_int)
    }

    /// Whether this is a vector.
    #[inline]
    pub fn is_vector(self) -> bool {
        self.0 & 0xff == TAG_VECTOR
    }

    /// Whether this is a simdgroup matrix.
    #[inline]
    pub fn is_matrix(self) -> bool {
        self.0 & 0xff == TAG_MATRIX
    }

    /// Whether this is an array or struct.
    #[inline]
    pub fn is_aggregate(self) -> bool {
        self.0 & 0xff == TAG_AGGREGATE
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            TypeKind::Void => f.write_str("void"),
            TypeKind::Scalar(s) => f.write_str(s.name()),
            TypeKind::Vector(s, lanes) => write!(f, "v{lanes}{}", s.name()),
            TypeKind::Matrix(s) => write!(f, "matrix.{}", s.name()),
            TypeKind::Pointer(space) => write!(f, "ptr.{}", space.name()),
            TypeKind::Aggregate(id) => write!(f, "{id}"),
        }
    }
}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

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
            TypeKind::Aggregate(id) => self
                .aligns
                .get(crate::id::Id::index(id))
                .copied()
                .unwrap_or(1),
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
    fn a_type_says_what_it_was_made_of() {
        for scalar in Scalar::ALL {
            assert_eq!(Type::scalar(scalar).kind(), TypeKind::Scalar(scalar));
            assert_eq!(Type::vector(scalar, 3).kind(), TypeKind::Vector(scalar, 3));
            assert_eq!(Type::matrix(scalar).kind(), TypeKind::Matrix(scalar));
        }
        for space in Space::ALL {
            assert_eq!(Type::pointer(space).kind(), TypeKind::Pointer(space));
        }
        assert_eq!(std::mem::size_of::<Type>(), 4);
    }

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
