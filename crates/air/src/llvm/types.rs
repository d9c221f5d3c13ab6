//! Types of an LLVM module and their layout in memory.
//!
//! Apple's compiler still writes typed pointers. They are read as opaque ones, and what they pointed at
//! is kept aside ([`TypeTable::pointee`]): loads, stores, address computations and calls all name the
//! type they work on, so nothing needs it but the description of arguments.

use std::fmt;

/// A type of a module.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TypeId(pub u32);

/// What a type is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Type {
    /// No value.
    Void,
    /// Integer of so many bits.
    Int(u32),
    /// `half`.
    Half,
    /// `bfloat`.
    BFloat,
    /// `float`.
    Float,
    /// `double`.
    Double,
    /// Any pointer, with LLVM's number of its address space.
    Pointer(u32),
    /// Elements one after the other.
    Array(u64, TypeId),
    /// A short vector.
    Vector(u32, TypeId),
    /// Fields with padding, or without if packed.
    Struct {
        /// The fields.
        fields: Vec<TypeId>,
        /// No padding between fields.
        packed: bool,
    },
    /// A function's type.
    Function {
        /// What it returns.
        result: TypeId,
        /// What it takes.
        params: Vec<TypeId>,
        /// Whether more may follow.
        variadic: bool,
    },
    /// A block's label.
    Label,
    /// Metadata as an argument.
    Metadata,
    /// `token`.
    Token,
    /// A named type without contents.
    Opaque,
    /// Types no Metal kernel has (`x86_fp80`, `ppc_fp128`, target types), by their record number.
    Other(u32),
}

/// Size and alignment in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Bytes one value takes, padding at its end included.
    pub size: u64,
    /// A power of two.
    pub align: u64,
}

/// All types of a module.
#[derive(Clone, Debug, Default)]
pub struct TypeTable {
    types: Vec<Type>,
    names: Vec<(TypeId, String)>,
    /// What typed pointers pointed at.
    pointees: Vec<(TypeId, TypeId)>,
}

/// Nested deeper than this, a type is taken for damage.
const MAX_NESTING: u32 = 64;

impl TypeTable {
    /// The type of an id.
    #[inline]
    pub fn get(&self, id: TypeId) -> Option<&Type> {
        self.types.get(id.0 as usize)
    }

    /// Number of types.
    pub fn len(&self) -> usize {
        self.types.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }

    /// Adds a type.
    pub(crate) fn push(&mut self, ty: Type) -> TypeId {
        self.types.push(ty);
        TypeId(self.types.len() as u32 - 1)
    }

    pub(crate) fn push_name(&mut self, id: TypeId, name: String) {
        self.names.push((id, name));
    }

    pub(crate) fn push_pointee(&mut self, pointer: TypeId, pointee: TypeId) {
        self.pointees.push((pointer, pointee));
    }

    /// The id of a type that may not be in the module's own table.
    pub(crate) fn intern(&mut self, ty: Type) -> TypeId {
        match self.types.iter().position(|known| *known == ty) {
            Some(index) => TypeId(index as u32),
            None => self.push(ty),
        }
    }

    /// The name of a named struct.
    pub fn name(&self, id: TypeId) -> Option<&str> {
        let found = self.names.iter().find(|(named, _)| *named == id);
        found.map(|(_, name)| name.as_str())
    }

    /// What a typed pointer pointed at.
    pub fn pointee(&self, id: TypeId) -> Option<TypeId> {
        let found = self.pointees.iter().find(|(pointer, _)| *pointer == id);
        found.map(|(_, pointee)| *pointee)
    }

    /// Size and alignment, or nothing if the type has none or is damaged.
    ///
    /// Apple's data layout and AArch64's agree: scalars have their natural alignment, vectors that of
    /// their size rounded up to a power of two.
    pub fn layout(&self, id: TypeId) -> Option<Layout> {
        self.layout_at(id, 0)
    }

    fn layout_at(&self, id: TypeId, depth: u32) -> Option<Layout> {
        if depth > MAX_NESTING {
            return None;
        }
        let natural = |bytes: u64| {
            let size = bytes.next_power_of_two();
            Some(Layout { size, align: size })
        };
        match self.get(id)? {
            Type::Int(bits @ 1..=128) => natural(u64::from(bits.div_ceil(8))),
            Type::Half | Type::BFloat => natural(2),
            Type::Float => natural(4),
            Type::Double | Type::Pointer(_) => natural(8),
            Type::Vector(count, element) => {
                let bits = self.bits(*element)?.checked_mul(u64::from(*count))?;
                natural(bits.div_ceil(8).max(1))
            }
            Type::Array(count, element) => {
                let element = self.layout_at(*element, depth + 1)?;
                let size = element.size.checked_mul(*count)?;
                Some(Layout {
                    size,
                    align: element.align,
                })
            }
            Type::Struct { fields, packed } => {
                let (mut size, mut align) = (0u64, 1u64);
                for &field in fields {
                    let field = self.layout_at(field, depth + 1)?;
                    if !packed {
                        size = size.checked_next_multiple_of(field.align)?;
                        align = align.max(field.align);
                    }
                    size = size.checked_add(field.size)?;
                }
                Some(Layout {
                    size: size.checked_next_multiple_of(align)?,
                    align,
                })
            }
            _ => None,
        }
    }

    /// Number of value bits of a scalar or pointer.
    pub fn bits(&self, id: TypeId) -> Option<u64> {
        Some(match self.get(id)? {
            Type::Int(bits) => u64::from(*bits),
            Type::Half | Type::BFloat => 16,
            Type::Float => 32,
            Type::Double | Type::Pointer(_) => 64,
            _ => return None,
        })
    }

    /// Where a field of a struct begins.
    pub fn field_offset(&self, id: TypeId, index: usize) -> Option<u64> {
        let Type::Struct { fields, packed } = self.get(id)? else {
            return None;
        };
        let mut offset = 0u64;
        for (position, &field) in fields.iter().enumerate() {
            let field = self.layout(field)?;
            if !packed {
                offset = offset.checked_next_multiple_of(field.align)?;
            }
            if position == index {
                return Some(offset);
            }
            offset = offset.checked_add(field.size)?;
        }
        None
    }

    /// The element type of an array or vector, or the type of a struct's field.
    pub fn element(&self, id: TypeId, index: u64) -> Option<TypeId> {
        match self.get(id)? {
            Type::Array(_, element) | Type::Vector(_, element) => Some(*element),
            Type::Struct { fields, .. } => fields.get(usize::try_from(index).ok()?).copied(),
            _ => None,
        }
    }

    /// The type itself, or of a vector its elements'.
    pub fn scalar(&self, id: TypeId) -> TypeId {
        match self.get(id) {
            Some(Type::Vector(_, element)) => *element,
            _ => id,
        }
    }

    /// Whether the type is a float or a vector of floats.
    pub fn is_float(&self, id: TypeId) -> bool {
        matches!(
            self.get(self.scalar(id)),
            Some(Type::Half | Type::BFloat | Type::Float | Type::Double)
        )
    }

    /// A type in LLVM's own spelling.
    pub fn display(&self, id: TypeId) -> impl fmt::Display + '_ {
        Spelling { table: self, id }
    }
}

struct Spelling<'a> {
    table: &'a TypeTable,
    id: TypeId,
}

impl Spelling<'_> {
    fn write(&self, f: &mut fmt::Formatter<'_>, id: TypeId, depth: u32) -> fmt::Result {
        if depth > 8 {
            return f.write_str("…");
        }
        let list = |f: &mut fmt::Formatter<'_>, ids: &[TypeId]| -> fmt::Result {
            for (index, &id) in ids.iter().enumerate() {
                f.write_str(if index == 0 { "" } else { ", " })?;
                self.write(f, id, depth + 1)?;
            }
            Ok(())
        };
        match self.table.get(id) {
            None => write!(f, "type {}?", id.0),
            Some(Type::Void) => f.write_str("void"),
            Some(Type::Int(bits)) => write!(f, "i{bits}"),
            Some(Type::Half) => f.write_str("half"),
            Some(Type::BFloat) => f.write_str("bfloat"),
            Some(Type::Float) => f.write_str("float"),
            Some(Type::Double) => f.write_str("double"),
            Some(Type::Pointer(0)) => f.write_str("ptr"),
            Some(Type::Pointer(space)) => write!(f, "ptr addrspace({space})"),
            Some(Type::Array(count, element)) => {
                write!(f, "[{count} x ")?;
                self.write(f, *element, depth + 1)?;
                f.write_str("]")
            }
            Some(Type::Vector(count, element)) => {
                write!(f, "<{count} x ")?;
                self.write(f, *element, depth + 1)?;
                f.write_str(">")
            }
            Some(Type::Struct { fields, packed }) => {
                if let Some(name) = self.table.name(id) {
                    return write!(f, "%{name}");
                }
                f.write_str(if *packed { "<{ " } else { "{ " })?;
                list(f, fields)?;
                f.write_str(if *packed { " }>" } else { " }" })
            }
            Some(Type::Function { result, params, .. }) => {
                self.write(f, *result, depth + 1)?;
                f.write_str(" (")?;
                list(f, params)?;
                f.write_str(")")
            }
            Some(Type::Label) => f.write_str("label"),
            Some(Type::Metadata) => f.write_str("metadata"),
            Some(Type::Token) => f.write_str("token"),
            Some(Type::Opaque) => write!(f, "%{}", self.table.name(id).unwrap_or("opaque")),
            Some(Type::Other(code)) => write!(f, "type code {code}"),
        }
    }
}

impl fmt::Display for Spelling<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, self.id, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_follows_apples_data_layout() {
        let mut table = TypeTable::default();
        let float = table.push(Type::Float);
        let byte = table.push(Type::Int(8));
        let float3 = table.push(Type::Vector(3, float));
        let fields = vec![byte, float3, byte];
        let padded = table.push(Type::Struct {
            fields: fields.clone(),
            packed: false,
        });
        let packed = table.push(Type::Struct {
            fields,
            packed: true,
        });
        let layout = |id| table.layout(id).unwrap();
        assert_eq!(
            layout(float3),
            Layout {
                size: 16,
                align: 16
            }
        );
        assert_eq!(
            layout(padded),
            Layout {
                size: 48,
                align: 16
            }
        );
        assert_eq!(table.field_offset(padded, 2), Some(32));
        assert_eq!(layout(packed), Layout { size: 18, align: 1 });
        assert_eq!(table.display(padded).to_string(), "{ i8, <3 x float>, i8 }");
    }

    #[test]
    fn a_struct_that_contains_itself_has_no_layout() {
        let mut table = TypeTable::default();
        table.push(Type::Struct {
            fields: vec![TypeId(0)],
            packed: false,
        });
        assert_eq!(table.layout(TypeId(0)), None);
    }
}
