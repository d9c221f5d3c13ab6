//! Reuses what a block has already read or written.
//!
//! A load from an address that was loaded or stored before in the same block gives that
//! value, unless something in between may have written there. What may write: a store or
//! copy that may alias (other spaces never do, neither do disjoint alias sets, nor two
//! places at different constant distances from one pointer), an atomic operation, a call
//! that writes, and a barrier: behind it other threads' writes are seen. Volatile and atomic
//! accesses are never touched.
//!
//! Values are forwarded within a block only. Loops are unrolled and small blocks joined by
//! now, and a value kept across blocks would often cost more registers than the load.

use assay_ssa::{AliasId, Function, IdMap, Inst, InstData, Module, Space, Type, Value};

/// Remembered accesses; the oldest is forgotten first.
const REMEMBERED: usize = 32;

/// Replaces repeated loads.
pub fn forward_loads(module: &Module, function: &mut Function) -> bool {
    let mut replacement: IdMap<Value, Option<Value>> = IdMap::new(None);
    let mut known: Vec<Known> = Vec::with_capacity(REMEMBERED);
    let mut changed = false;
    for position in 0..function.blocks().len() {
        let block = function.blocks()[position];
        known.clear();
        let mut insts = function.take_insts(block);
        insts.retain(|&inst| {
            function.map_operands(inst, |value| replacement[value].unwrap_or(value));
            match visit(module, function, inst, &mut known) {
                Some((result, value)) => {
                    replacement[result] = Some(value);
                    changed = true;
                    false
                }
                None => true,
            }
        });
        function.set_insts(block, insts);
    }
    if changed {
        function.replace_values(&replacement);
    }
    changed
}

/// What is in memory somewhere.
#[derive(Clone, Copy)]
struct Known {
    place: Place,
    value: Value,
}

/// Some bytes: a pointer without its constant distance, the distance, and how many.
#[derive(Clone, Copy)]
struct Place {
    base: Value,
    index: Option<(Value, u32, assay_ssa::IndexExtend)>,
    offset: i64,
    size: u32,
    ty: Type,
    space: Option<Space>,
    alias: Option<AliasId>,
}

impl Place {
    fn new(
        module: &Module,
        function: &Function,
        pointer: Value,
        ty: Type,
        alias: Option<AliasId>,
    ) -> Self {
        let mut place = Place {
            base: pointer,
            index: None,
            offset: 0,
            size: module.types.store_size(ty),
            ty,
            space: function.ty(pointer).space(),
            alias,
        };
        if let Some(&InstData::PtrAdd {
            base,
            index,
            scale,
            offset,
            extend,
            ..
        }) = function.def_data(pointer)
        {
            place.base = base;
            place.index = index.map(|index| (index, scale, extend));
            place.offset = offset;
        }
        place
    }

    fn same_start(&self, other: &Place) -> bool {
        self.base == other.base && self.index == other.index
    }

    fn is(&self, other: &Place) -> bool {
        self.same_start(other) && self.offset == other.offset && self.ty == other.ty
    }

    fn may_overlap(&self, function: &Function, other: &Place) -> bool {
        if self.space != other.space && self.space.is_some() && other.space.is_some() {
            // A generic pointer may point anywhere.
            let is_generic = |place: &Place| place.space == Some(Space::Generic);
            if !is_generic(self) && !is_generic(other) {
                return false;
            }
        }
        if self.same_start(other) {
            let apart = |a: &Place, b: &Place| {
                a.offset
                    .checked_add(i64::from(a.size))
                    .is_some_and(|end| end <= b.offset)
            };
            return !apart(self, other) && !apart(other, self);
        }
        function.may_alias(self.alias, other.alias)
    }
}

/// Notes what an instruction does to memory; a result and the value it equals, if known.
fn visit(
    module: &Module,
    function: &Function,
    inst: Inst,
    known: &mut Vec<Known>,
) -> Option<(Value, Value)> {
    match *function.inst(inst) {
        InstData::Load { ptr, access } if !access.volatile && !access.is_atomic() => {
            let result = function.result(inst)?;
            let place = Place::new(module, function, ptr, function.ty(result), access.alias);
            if let Some(found) = known.iter().rev().find(|known| known.place.is(&place)) {
                return Some((result, found.value));
            }
            remember(known, place, result);
        }
        InstData::Store { ptr, value, access } if !access.volatile && !access.is_atomic() => {
            let place = Place::new(module, function, ptr, function.ty(value), access.alias);
            known.retain(|known| !known.place.may_overlap(function, &place));
            remember(known, place, value);
        }
        _ => {
            let effects = function.effects(inst);
            if effects.writes || effects.convergent {
                known.clear();
            }
        }
    }
    None
}

fn remember(known: &mut Vec<Known>, place: Place, value: Value) {
    if known.len() == REMEMBERED {
        known.remove(0);
    }
    known.push(Known { place, value });
}
