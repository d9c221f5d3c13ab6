//! Replaces loads from constant data by what lies there.
//!
//! The data of a variable is known once its constructor has run
//! ([`construct_globals`](crate::construct_globals)), which is later than the front end's own folding.

use crate::simplify::constant_index;
use assay_ssa::{
    Function, GlobalData, IdMap, Inst, InstData, Module, Scalar, Space, TypeKind, Value, ValueDef,
};

/// Additions an address is followed back through.
const MOST_STEPS: usize = 16;

/// Folds loads at known places of constant data.
pub fn fold_constant_loads(module: &Module, function: &mut Function) -> bool {
    let mut replacement: IdMap<Value, Option<Value>> = IdMap::new(None);
    let mut changed = false;
    for block in function.blocks().to_vec() {
        let mut insts = function.take_insts(block);
        insts.retain(|&inst| {
            let Some((result, elements)) = loaded(module, function, inst) else {
                return true;
            };
            let ty = function.ty(result);
            replacement[result] = Some(function.constant_vector(ty, &elements));
            changed = true;
            false
        });
        function.set_insts(block, insts);
    }
    if changed {
        function.replace_values(&replacement);
    }
    changed
}

/// The result of a load and the elements it gives, if they are known.
fn loaded(module: &Module, function: &Function, inst: Inst) -> Option<(Value, Vec<u64>)> {
    let InstData::Load { ptr, access } = *function.inst(inst) else {
        return None;
    };
    if access.volatile || access.is_atomic() {
        return None;
    }
    let result = function.result(inst)?;
    let (scalar, lanes) = match function.ty(result).kind() {
        TypeKind::Scalar(scalar) => (scalar, 1),
        TypeKind::Vector(scalar, lanes) if scalar != Scalar::I1 => (scalar, usize::from(lanes)),
        _ => return None,
    };
    let (global, offset) = place(function, ptr)?;
    let global = module.globals.get(global)?;
    if global.space != Space::Constant {
        return None;
    }
    let width = scalar.bytes() as usize;
    let end = offset.checked_add(width * lanes)?;
    let bytes = match &global.data {
        GlobalData::Undefined => return None,
        GlobalData::Zero if end > module.types.store_size(global.ty) as usize => return None,
        GlobalData::Zero => &[][..],
        GlobalData::Bytes(bytes) => bytes.get(offset..end)?,
    };
    let element = |lane: usize| {
        let places = bytes.iter().skip(lane * width).take(width);
        let word = places
            .rev()
            .fold(0, |word, &byte| word << 8 | u64::from(byte));
        word & scalar.mask()
    };
    Some((result, (0..lanes).map(element).collect()))
}

/// The global and the offset in it an address is, if both are known.
fn place(function: &Function, mut pointer: Value) -> Option<(assay_ssa::GlobalId, usize)> {
    let mut offset = 0i64;
    for _ in 0..MOST_STEPS {
        let inst = match function.def(pointer) {
            ValueDef::Global(global) => return Some((global, usize::try_from(offset).ok()?)),
            ValueDef::Result(inst) => inst,
            _ => return None,
        };
        pointer = match *function.inst(inst) {
            InstData::PtrAdd {
                base,
                index,
                scale,
                offset: more,
                extend,
                ..
            } => {
                let steps = match index {
                    None => 0,
                    Some(index) => constant_index(function, index, extend)?,
                };
                let bytes = steps.checked_mul(i64::from(scale))?.checked_add(more)?;
                offset = offset.checked_add(bytes)?;
                base
            }
            InstData::Cast {
                op: assay_ssa::CastOp::SpaceCast,
                arg,
                ..
            } => arg,
            _ => return None,
        };
    }
    None
}
