//! Tables of addresses.
//!
//! clang makes a constant of an array such as `threadgroup float* t[2] = {a, b}` that
//! nobody writes to. Addresses of threadgroup memory have no number before a kernel
//! runs; so a load from such a table becomes a choice among its entries.

use super::Lowered;
use super::function::FunctionLowering;
use crate::llvm::{Constant, Type as LlvmType, ValueId};
use assay_ssa::{CastOp as To, Flags, GlobalId, InstData, IntCond, Type, Value, ValueDef};

/// Larger tables stay in memory.
const MOST_ENTRIES: usize = 64;

/// Bytes of an address.
const ADDRESS: u32 = 8;

/// How many steps of address arithmetic are followed.
const MOST_STEPS: usize = 8;

/// A place in a table.
struct Entry {
    table: GlobalId,
    /// What counts entries, if it is not known.
    index: Option<Value>,
    /// Entries to add.
    offset: i64,
}

impl FunctionLowering<'_, '_, '_> {
    /// What a load of a pointer from a table of addresses gives; nothing if it is none.
    pub(super) fn table_load(&mut self, pointer: Value, ty: Type) -> Lowered<Option<Value>> {
        if ty.space().is_none() {
            return Ok(None);
        }
        let Some(entry) = self.table_entry(pointer) else {
            return Ok(None);
        };
        let Some(entries) = self.addresses(entry.table) else {
            return Ok(None);
        };
        let Some(index) = entry.index else {
            let known = usize::try_from(entry.offset).ok();
            let known = known.and_then(|known| entries.get(known).copied());
            return match known {
                Some(known) => Ok(Some(self.table_value(known, ty)?)),
                None => Ok(None),
            };
        };
        let mut chosen: Option<Value> = None;
        for (number, &id) in entries.iter().enumerate().rev() {
            let value = self.table_value(id, ty)?;
            chosen = Some(match chosen {
                None => value,
                Some(other) => {
                    let number = (number as i64).wrapping_sub(entry.offset) as u64;
                    let index_type = self.function.ty(index);
                    let mask = index_type
                        .element()
                        .map_or(u64::MAX, |scalar| scalar.mask());
                    let number = self.function.constant(index_type, number & mask);
                    let is_it = self.builder().icmp(IntCond::Eq, index, number);
                    self.builder().select(is_it, value, other, Flags::NONE)
                }
            });
        }
        Ok(chosen)
    }

    fn table_value(&mut self, id: ValueId, ty: Type) -> Lowered<Value> {
        let value = self.value(id)?;
        if self.function.ty(value) == ty {
            return Ok(value);
        }
        Ok(self.builder().cast(To::SpaceCast, value, ty, Flags::NONE))
    }

    /// Takes the address of an entry apart.
    fn table_entry(&self, pointer: Value) -> Option<Entry> {
        let (mut pointer, mut index, mut bytes) = (pointer, None, 0i64);
        for _ in 0..MOST_STEPS {
            match self.function.def(pointer) {
                ValueDef::Global(table) => {
                    let whole = bytes % i64::from(ADDRESS) == 0;
                    return whole.then_some(Entry {
                        table,
                        index,
                        offset: bytes / i64::from(ADDRESS),
                    });
                }
                ValueDef::Result(inst) => match *self.function.inst(inst) {
                    InstData::PtrAdd {
                        base,
                        index: more,
                        scale,
                        offset,
                        ..
                    } => {
                        if let Some(more) = more {
                            if index.is_some() || scale != ADDRESS {
                                return None;
                            }
                            index = Some(more);
                        }
                        bytes = bytes.checked_add(offset)?;
                        pointer = base;
                    }
                    InstData::Cast {
                        op: To::SpaceCast | To::Bitcast,
                        arg,
                        ..
                    } => pointer = arg,
                    _ => return None,
                },
                _ => return None,
            }
        }
        None
    }

    /// The entries of a global that is an array of addresses.
    fn addresses(&self, table: GlobalId) -> Option<Vec<ValueId>> {
        let source = self.lowering.source;
        let at = self.lowering.global_number(table)?;
        let global = source.globals.get(at)?;
        let Some(Constant::Aggregate(span)) = source.constant(global.initializer?) else {
            return None;
        };
        let entries = source.constants.operands(*span);
        let first = source.types.element(global.ty, 0)?;
        let of_pointers = matches!(source.types.get(first), Some(LlvmType::Pointer(..)));
        (of_pointers && entries.len() <= MOST_ENTRIES).then(|| entries.to_vec())
    }
}
