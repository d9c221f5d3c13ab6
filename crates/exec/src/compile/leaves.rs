//! Leaves of types: the scalars that a value is made of, each in a register of its own.

use super::{Compiler, Done};
use crate::code::Cell;
use assay_ssa::{Aggregate, Scalar, Type, TypeKind};

/// One number of a value, and where it lies in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf {
    /// Its type; nothing for a pointer.
    pub(super) scalar: Option<Scalar>,
    pub(super) offset: u32,
}

impl Leaf {
    pub(super) fn wide(self) -> bool {
        matches!(self.scalar, None | Some(Scalar::I64))
    }

    pub(super) fn cell(self) -> Cell {
        self.scalar.map_or(Cell::Long, Cell::of)
    }
}

/// Most numbers of a value.
const MAX_LEAVES: usize = 4096;

impl Compiler<'_> {
    /// The numbers a value of a type is made of.
    pub(super) fn leaves(&mut self, ty: Type) -> Done<Vec<Leaf>> {
        let mut leaves = Vec::new();
        self.collect(ty, 0, &mut leaves)?;
        Ok(leaves)
    }

    fn collect(&mut self, ty: Type, offset: u32, leaves: &mut Vec<Leaf>) -> Done {
        if leaves.len() > MAX_LEAVES {
            return self.unsupported(format!("a value of more than {MAX_LEAVES} numbers"));
        }
        match ty.kind() {
            TypeKind::Void => {}
            TypeKind::Pointer(_) => leaves.push(Leaf {
                scalar: None,
                offset,
            }),
            TypeKind::Scalar(_) | TypeKind::Vector(..) | TypeKind::Matrix(_) => {
                let scalar = ty.element();
                let bytes = scalar.map_or(0, Scalar::bytes);
                leaves.extend((0..u32::from(ty.lanes())).map(|index| Leaf {
                    scalar,
                    offset: offset + index * bytes,
                }));
            }
            TypeKind::Aggregate(id) => {
                let module = self.module;
                match module.types.get(id) {
                    Some(Aggregate::Array {
                        element,
                        len,
                        stride,
                    }) => {
                        for index in 0..*len {
                            self.collect(
                                *element,
                                offset.saturating_add(index.saturating_mul(*stride)),
                                leaves,
                            )?;
                        }
                    }
                    Some(Aggregate::Struct { fields, .. }) => {
                        for field in fields {
                            self.collect(field.ty, offset.saturating_add(field.offset), leaves)?;
                        }
                    }
                    None => return self.malformed("unknown type"),
                }
            }
        }
        Ok(())
    }
}
