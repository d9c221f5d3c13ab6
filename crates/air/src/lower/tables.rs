//! Tables of addresses.
//!
//! Constant data may hold addresses: `constant float* constant t[2] = {a, b}`, an array of structs with pointers in them, or
//! an array of threadgroup pointers that nobody writes to. Addresses have no number before a kernel runs; so a load
//! from such data becomes a choice among its entries.

use super::Lowered;
use super::function::FunctionLowering;
use crate::llvm::{Constant, Type as LlvmType, TypeId, ValueId, ValueKind};
use assay_ssa::{
    CastOp as To, Flags, GlobalData, GlobalId, InstData, IntCond, Space, Type, Value, ValueDef,
};

/// Larger tables stay in memory.
const MOST_ENTRIES: usize = 64;

/// How many steps of address arithmetic are followed.
const MOST_STEPS: usize = 8;

/// Aggregates nested deeper than this hold nothing.
const MOST_NESTED: usize = 64;

/// A place in a table, in bytes.
struct Entry {
    table: GlobalId,
    /// What counts entries and the bytes between them, if the place is not known.
    index: Option<(Value, u32)>,
    offset: i64,
}

/// A part of constant data that is no aggregate.
enum Leaf {
    /// A constant of its own.
    Whole(ValueId),
    /// An element of packed data.
    Bits(u64),
}

impl FunctionLowering<'_, '_, '_> {
    /// What a load from data with addresses gives; nothing if the pointer leads to something else.
    pub(super) fn table_load(&mut self, pointer: Value, ty: Type) -> Lowered<Option<Value>> {
        let Some(entry) = self.table_entry(pointer) else {
            return Ok(None);
        };
        let Some((table, initializer, size)) = self.addresses(entry.table) else {
            return Ok(None);
        };
        let leaf = |at: i64| self.leaf(table, initializer, u64::try_from(at).ok()?);
        let Some((index, stride)) = entry.index else {
            return match leaf(entry.offset) {
                Some(leaf) => self.table_value(&leaf, ty),
                None => Ok(None),
            };
        };
        let stride = i64::from(stride.max(1));
        let first = -entry.offset.div_euclid(stride);
        let places = (first..).map(|number| (number, number * stride + entry.offset));
        let places = places.take_while(|&(_, at)| at < size as i64);
        let leaves: Vec<(i64, Option<Leaf>)> = places
            .take(MOST_ENTRIES + 1)
            .map(|(number, at)| (number, leaf(at)))
            .collect();
        if leaves.len() > MOST_ENTRIES {
            return Ok(None);
        }
        self.choice(index, &leaves, ty)
    }

    /// The leaf whose number an index has; the last one for any other number.
    fn choice(
        &mut self,
        index: Value,
        leaves: &[(i64, Option<Leaf>)],
        ty: Type,
    ) -> Lowered<Option<Value>> {
        let mut chosen: Option<Value> = None;
        for (number, leaf) in leaves.iter().rev() {
            let Some(leaf) = leaf else { return Ok(None) };
            let Some(value) = self.table_value(leaf, ty)? else {
                return Ok(None);
            };
            chosen = Some(match chosen {
                None => value,
                Some(other) => {
                    let index_type = self.function.ty(index);
                    let mask = index_type
                        .element()
                        .map_or(u64::MAX, |scalar| scalar.mask());
                    let number = self.function.constant(index_type, *number as u64 & mask);
                    let is_it = self.builder().icmp(IntCond::Eq, index, number);
                    self.builder().select(is_it, value, other, Flags::NONE)
                }
            });
        }
        Ok(chosen)
    }

    /// A leaf as a value of a type; nothing if it is of another.
    fn table_value(&mut self, leaf: &Leaf, ty: Type) -> Lowered<Option<Value>> {
        let value = match leaf {
            Leaf::Bits(bits) if ty.space().is_none() && !ty.is_vector() => {
                self.function.constant(ty, *bits)
            }
            Leaf::Bits(_) => return Ok(None),
            Leaf::Whole(id) => self.value(*id)?,
        };
        let found = self.function.ty(value);
        if found == ty {
            return Ok(Some(value));
        }
        let pointers = found.space().is_some() && ty.space().is_some();
        Ok(pointers.then(|| self.builder().cast(To::SpaceCast, value, ty, Flags::NONE)))
    }

    /// Takes the address of an entry apart.
    fn table_entry(&self, pointer: Value) -> Option<Entry> {
        let (mut pointer, mut index, mut bytes) = (pointer, None, 0i64);
        for _ in 0..MOST_STEPS {
            match self.function.def(pointer) {
                ValueDef::Global(table) => {
                    return Some(Entry {
                        table,
                        index,
                        offset: bytes,
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
                            if index.is_some() {
                                return None;
                            }
                            index = Some((more, scale));
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

    /// Type, initializer and size of a global whose data holds addresses: known, but not as bytes.
    fn addresses(&self, table: GlobalId) -> Option<(TypeId, ValueId, u64)> {
        let known = self.lowering.target.globals.get(table)?;
        if known.data != GlobalData::Undefined || known.space != Space::Constant {
            return None;
        }
        let source = self.lowering.source;
        let at = self.lowering.global_number(table)?;
        let global = source.globals.get(at)?;
        let initializer = global.initializer?;
        let size = source.types.layout(global.ty)?.size;
        matches!(source.constant(initializer), Some(Constant::Aggregate(_))).then_some((
            global.ty,
            initializer,
            size,
        ))
    }

    /// What lies at a byte of a constant.
    fn leaf(&self, ty: TypeId, id: ValueId, at: u64) -> Option<Leaf> {
        let source = self.lowering.source;
        let types = &source.types;
        let (mut ty, mut id, mut at) = (ty, id, at);
        for _ in 0..MOST_NESTED {
            let ValueKind::ModuleConstant(_) = source.value(id)?.kind else {
                return (at == 0).then_some(Leaf::Whole(id));
            };
            let constant = source.constant(id)?;
            let (Constant::Aggregate(span) | Constant::Data(span) | Constant::String(span)) =
                constant
            else {
                let whole = at == 0
                    && !matches!(
                        types.get(ty)?,
                        LlvmType::Struct { .. } | LlvmType::Array(..)
                    );
                return whole.then_some(Leaf::Whole(id));
            };
            let (position, offset) = match types.get(ty)? {
                LlvmType::Struct { .. } => {
                    let operands = source.constants.operands(*span).len();
                    let starts = (0..operands).filter_map(|field| types.field_offset(ty, field));
                    let starts: Vec<u64> = starts.take_while(|&start| start <= at).collect();
                    (starts.len().checked_sub(1)?, *starts.last()?)
                }
                LlvmType::Array(..) => {
                    let stride = types.layout(types.element(ty, 0)?)?.size;
                    let position = at.checked_div(stride)?;
                    (usize::try_from(position).ok()?, position * stride)
                }
                _ => return (at == 0).then_some(Leaf::Whole(id)),
            };
            at -= offset;
            if let Constant::Data(span) | Constant::String(span) = constant {
                let bits = source.constants.data(*span).get(position).copied();
                return bits.filter(|_| at == 0).map(Leaf::Bits);
            }
            ty = types.element(ty, position as u64)?;
            id = source.constants.operands(*span).get(position).copied()?;
        }
        None
    }
}
