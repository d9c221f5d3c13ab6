//! Memory that is read and written in several types.
//!
//! C++ lets a compiler assume that a `float` and a `uint` access never touch the same memory. A program has no such rule.
//! So pointers that may point into the same object are found (everything they are computed from, and every name they pass
//! through), and where such a group is accessed in several scalar types, all but the most frequent go through a carrier:
//! the main type if it has the same size, else a vector, which may alias anything.

use super::types::{self, Element};
use assay_ssa::{Function, Id, InstData, Scalar, Type, TypeKind, Value};
use std::collections::BTreeMap;

/// Which pointers may point into one object, and in which scalar type such an object is mostly accessed.
pub(super) struct Aliasing {
    groups: Vec<u32>,
    /// The main type of each group that is accessed in several.
    mixed: BTreeMap<u32, Scalar>,
}

impl Aliasing {
    pub(super) fn new(function: &Function) -> Aliasing {
        let mut aliasing = Aliasing {
            groups: (0..function.num_values() as u32).collect(),
            mixed: BTreeMap::new(),
        };
        let mut accesses: Vec<(Value, Scalar)> = Vec::new();
        for &block in function.blocks() {
            for &inst in function.insts(block) {
                aliasing.connect(function, inst);
                let (ptr, ty) = match *function.inst(inst) {
                    InstData::Load { ptr, .. } => (ptr, function.result_type(inst)),
                    InstData::Store { ptr, value, .. } | InstData::AtomicRmw { ptr, value, .. } => {
                        (ptr, function.ty(value))
                    }
                    _ => continue,
                };
                if let Some(scalar) = scalar(ty) {
                    accesses.push((ptr, scalar));
                }
            }
        }
        let mut counts: BTreeMap<u32, BTreeMap<Scalar, u32>> = BTreeMap::new();
        for (ptr, scalar) in accesses {
            let group = aliasing.find(ptr.index() as u32);
            *counts.entry(group).or_default().entry(scalar).or_default() += 1;
        }
        for (group, scalars) in counts {
            let main = scalars.iter().max_by_key(|(_, count)| **count);
            if let Some((&main, _)) = main.filter(|_| scalars.len() > 1) {
                aliasing.mixed.insert(group, main);
            }
        }
        aliasing
    }

    /// Puts pointers that one instruction makes of others into one group.
    fn connect(&mut self, function: &Function, inst: assay_ssa::Inst) {
        match (*function.inst(inst), function.result(inst)) {
            (InstData::PtrAdd { base, .. }, Some(result)) => self.union(base, result),
            (InstData::Select { args, .. }, Some(result)) if function.ty(result).is_pointer() => {
                self.union(args[0], result);
                self.union(args[1], result);
            }
            _ => function.for_each_target(inst, |call| {
                let params = function.params(call.block).iter();
                for (&arg, &param) in function.list_values(call.args).iter().zip(params) {
                    if function.ty(param).is_pointer() {
                        self.union(arg, param);
                    }
                }
            }),
        }
    }

    fn find(&self, mut at: u32) -> u32 {
        while let Some(&up) = self.groups.get(at as usize).filter(|&&up| up != at) {
            at = up;
        }
        at
    }

    fn union(&mut self, a: Value, b: Value) {
        let (a, b) = (self.find(a.index() as u32), self.find(b.index() as u32));
        let (low, high) = (a.min(b), a.max(b));
        if let Some(slot) = self.groups.get_mut(high as usize) {
            *slot = low;
        }
    }

    /// What an access of `ty` through `pointer` is made in, where that is not `ty` itself.
    pub(super) fn carrier(&self, pointer: Value, ty: Type) -> Option<Element> {
        let own = scalar(ty)?;
        let main = *self.mixed.get(&self.find(pointer.index() as u32))?;
        if own == main || own.bytes() == 1 {
            return None;
        }
        let carrier = match own.bytes() {
            bytes if bytes == main.bytes() => Type::scalar(main),
            2 => Type::vector(Scalar::I8, 2),
            4 => Type::vector(Scalar::I8, 4),
            _ => Type::vector(Scalar::I32, 2),
        };
        types::in_memory(carrier, own.bytes()).ok()
    }
}

/// The type an access counts as; vectors may alias anything.
fn scalar(ty: Type) -> Option<Scalar> {
    match ty.kind() {
        TypeKind::Scalar(of) => Some(of),
        _ => None,
    }
}
