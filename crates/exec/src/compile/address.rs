//! Address folding: addresses as part of the loads and stores that use them.
//!
//! Most addresses are a buffer and a 32-bit index. Widened to 64 bits lane by lane they cost more than
//! the access itself; kept as base and index, a look at the indices gives the range of addresses. A value that only serves such an
//! address is *folded*: it gets no register and no operation of its own.

use super::{Compiler, Done};
use crate::code::{Index, Scaled};
use assay_ssa::{CastOp, Function, IdMap, IdSet, IndexExtend, InstData, Scalar, Value, ValueDef};

/// Constant additions looked through.
const DEEPEST: usize = 16;

/// Where a load or store goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Address {
    pub(super) base: u32,
    pub(super) index: Option<Scaled>,
    pub(super) offset: u64,
}

/// The values that become part of every operation that uses them.
pub(super) fn folded(function: &Function, uses: &IdMap<Value, u32>) -> IdSet<Value> {
    let mut folded: IdSet<Value> = IdSet::new();
    for_each_result(function, |result, data| {
        let candidate = match *data {
            InstData::PtrAdd { index: None, .. } => true,
            InstData::PtrAdd {
                index: Some(index),
                base,
                extend,
                ..
            } => is_fixed(function, base) && narrow_index(function, index, extend).is_some(),
            InstData::Cast { .. } => widened(function, result).is_some(),
            _ => false,
        };
        if candidate {
            folded.insert(result);
        }
    });
    loop {
        let served = served_uses(function, &folded);
        let kept: Vec<Value> = folded
            .iter()
            .filter(|&value| served[value] != uses[value])
            .collect();
        if kept.is_empty() {
            return folded;
        }
        for value in kept {
            folded.remove(value);
        }
    }
}

fn for_each_result(function: &Function, mut visit: impl FnMut(Value, &InstData)) {
    for &block in function.blocks() {
        for &inst in function.insts(block) {
            if let Some(result) = function.result(inst) {
                visit(result, function.inst(inst));
            }
        }
    }
}

/// How many uses of each value can take it in.
fn served_uses(function: &Function, folded: &IdSet<Value>) -> IdMap<Value, u32> {
    let mut served: IdMap<Value, u32> = IdMap::with_len(0, function.num_values());
    for &block in function.blocks() {
        for &inst in function.insts(block) {
            match *function.inst(inst) {
                InstData::Load { ptr, .. } | InstData::Store { ptr, .. } => served[ptr] += 1,
                InstData::PtrAdd { base, index, .. } => {
                    if let Some(index) = index {
                        served[index] += 1;
                    }
                    let result = function.result(inst);
                    if index.is_none() && result.is_some_and(|result| folded.contains(result)) {
                        served[base] += 1;
                    }
                }
                _ => {}
            }
        }
    }
    served
}

fn definition(function: &Function, value: Value) -> Option<&InstData> {
    match function.def(value) {
        ValueDef::Result(inst) => Some(function.inst(inst)),
        _ => None,
    }
}

/// Returns true if a pointer is the same in all lanes from the start: a parameter or global, perhaps with a constant distance.
fn is_fixed(function: &Function, mut pointer: Value) -> bool {
    for _ in 0..DEEPEST {
        match function.def(pointer) {
            ValueDef::Param(block, _) => return Some(block) == function.entry(),
            ValueDef::Global(_) => return true,
            _ => {}
        }
        match definition(function, pointer) {
            Some(InstData::PtrAdd {
                base, index: None, ..
            }) => pointer = *base,
            _ => return false,
        }
    }
    false
}

/// The number of up to 32 bits that was extended to a 64-bit one; true if by its sign.
fn widened(function: &Function, value: Value) -> Option<(Value, bool)> {
    let Some(InstData::Cast { op, arg, .. }) = definition(function, value) else {
        return None;
    };
    let scalar = |value: Value| {
        let ty = function.ty(value);
        ty.element().filter(|_| ty.lanes() == 1)
    };
    match (op, scalar(*arg)?, scalar(value)?) {
        (CastOp::ZExt, Scalar::I8 | Scalar::I16 | Scalar::I32, Scalar::I64) => Some((*arg, false)),
        (CastOp::SExt, Scalar::I32, Scalar::I64) => Some((*arg, true)),
        _ => None,
    }
}

/// An index as a 32-bit number; true if it is signed.
fn narrow_index(function: &Function, index: Value, extend: IndexExtend) -> Option<(Value, bool)> {
    let signed = extend == IndexExtend::Sign;
    match function.ty(index).element() {
        Some(Scalar::I64) => widened(function, index),
        Some(Scalar::I32) => Some((index, signed)),
        Some(Scalar::I8 | Scalar::I16) if !signed => Some((index, false)),
        _ => None,
    }
}

impl Compiler<'_> {
    /// The register of an index and how it is read.
    pub(super) fn index(&mut self, value: Value, extend: IndexExtend) -> Done<(u32, Index)> {
        if let Some((narrow, signed)) = narrow_index(self.function, value, extend)
            && (narrow == value || self.folded.contains(value))
        {
            return Ok((self.reg(narrow)?.index, Index::Narrow { bits: 32, signed }));
        }
        let reg = self.reg(value)?;
        let bits = self
            .element(self.function.ty(value))
            .map_or(32, Scalar::bits) as u8;
        let signed = extend == IndexExtend::Sign;
        let kind = if reg.wide {
            Index::Wide
        } else {
            Index::Narrow { bits, signed }
        };
        Ok((reg.index, kind))
    }

    /// Where a load or store through a pointer goes.
    pub(super) fn address(&mut self, pointer: Value) -> Done<Address> {
        let (mut pointer, mut sum, mut scaled) = (pointer, 0u64, None);
        while self.folded.contains(pointer)
            && let Some(&InstData::PtrAdd {
                base,
                index,
                scale,
                offset,
                extend,
                ..
            }) = definition(self.function, pointer)
        {
            sum = sum.wrapping_add_signed(offset);
            pointer = base;
            if let Some(index) = index {
                let narrow = narrow_index(self.function, index, extend);
                let Some((narrow, signed)) = narrow else {
                    return self.malformed("an address folded without an index");
                };
                let reg = self.reg(narrow)?.index;
                scaled = Some(Scaled { reg, signed, scale });
            }
        }
        // Indices are added to a pointer that is there from the start, not to one that is a distance away from it.
        while scaled.is_some()
            && let Some(&InstData::PtrAdd {
                base,
                index: None,
                offset,
                ..
            }) = definition(self.function, pointer)
        {
            sum = sum.wrapping_add_signed(offset);
            pointer = base;
        }
        Ok(Address {
            base: self.reg(pointer)?.index,
            index: scaled,
            offset: sum,
        })
    }
}
