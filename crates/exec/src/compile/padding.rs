//! Bytes of an object that belong to none of its numbers: the fourth quarter of a `float3`, the gap behind a `char`.
//!
//! Compilers read and write them with their neighbours and nothing depends on what is in them, so that a read of one that was never
//! written is no mistake.

use assay_ssa::{Aggregate, Aggregates, Type, TypeKind};
use std::ops::Range;

/// The largest object looked into, and the most parts; threadgroup memory is smaller by far.
const MAX_BYTES: u32 = 1 << 20;
const MAX_PARTS: u32 = 1 << 20;

/// The bytes of padding of an object of a type at an offset, in order. One too large to look into has none.
pub(super) fn padding(types: &Aggregates, ty: Type, offset: u32) -> Vec<Range<u32>> {
    let size = types.stride(ty);
    if size > MAX_BYTES {
        return Vec::new();
    }
    let mut object = Object {
        types,
        own: vec![false; size as usize],
        parts: 0,
    };
    object.mark(ty, 0);
    if object.parts > MAX_PARTS {
        return Vec::new();
    }
    let mut end = offset;
    let runs = object.own.chunk_by(|a, b| a == b).map(|run| {
        let start = end;
        end = end.saturating_add(run.len() as u32);
        (run.first() == Some(&false)).then_some(start..end)
    });
    runs.flatten().collect()
}

struct Object<'a> {
    types: &'a Aggregates,
    /// For each byte: true if it belongs to a number.
    own: Vec<bool>,
    parts: u32,
}

impl Object<'_> {
    fn mark(&mut self, ty: Type, offset: u32) {
        self.parts += 1;
        if self.parts > MAX_PARTS {
            return;
        }
        let TypeKind::Aggregate(id) = ty.kind() else {
            let end = offset.saturating_add(self.types.store_size(ty)) as usize;
            let end = end.min(self.own.len());
            let bytes = self.own.get_mut(offset as usize..end);
            bytes.unwrap_or_default().fill(true);
            return;
        };
        match self.types.get(id) {
            Some(Aggregate::Array {
                element,
                len,
                stride,
            }) => {
                for index in 0..*len {
                    if self.parts > MAX_PARTS {
                        return;
                    }
                    self.mark(
                        *element,
                        offset.saturating_add(index.saturating_mul(*stride)),
                    );
                }
            }
            Some(Aggregate::Struct { fields, .. }) => {
                for field in fields {
                    self.mark(field.ty, offset.saturating_add(field.offset));
                }
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_ssa::Scalar;

    #[test]
    fn padding_lies_between_and_behind_numbers() {
        let mut types = Aggregates::default();
        let float3 = Type::vector(Scalar::F32, 3);
        let wrapped = types.structure(&[float3], false);
        let pair = types.array(wrapped, 2);
        assert_eq!(padding(&types, pair, 32), [44..48, 60..64]);
        let [byte, word] = [Scalar::I8, Scalar::I32].map(Type::scalar);
        let mixed = types.structure(&[byte, word, byte], false);
        assert_eq!(padding(&types, mixed, 0), [1..4, 9..12]);
        assert_eq!(padding(&types, Type::vector(Scalar::F32, 4), 0), []);
    }

    #[test]
    fn huge_objects_are_not_looked_into() {
        let mut types = Aggregates::default();
        let float3 = Type::vector(Scalar::F32, 3);
        let many = types.array(float3, u32::MAX);
        assert_eq!(padding(&types, many, 0), []);
    }
}
