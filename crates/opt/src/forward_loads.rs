//! Reuses what has been read or written before.
//!
//! A load from an address that was loaded or stored before on every way here gives that
//! value, unless something in between may have written there. What may write: a store or
//! copy that may alias (other spaces never do, neither do disjoint alias sets, two different
//! variables, nor two places at different constant distances from one pointer), an atomic
//! operation, a call that writes, and a barrier: behind it other threads' writes to shared
//! memory are seen. Volatile and atomic accesses are never touched.
//!
//! Blocks are visited in an order in which all ways into a block but those back into a loop
//! come first. What is known in front of a loop is known in it unless the loop writes there.

use assay_ssa::analysis::{Cfg, Dominators, LoopId, Loops};
use assay_ssa::builtin::Effects;
use assay_ssa::{
    AliasId, Block, Callee, Function, IdMap, IndexExtend, Inst, InstData, Module, Space, Type,
    Value, ValueDef,
};

/// Remembered accesses; the oldest is forgotten first.
const REMEMBERED: usize = 32;

/// Replaces repeated loads.
pub fn forward_loads(module: &Module, function: &mut Function) -> bool {
    let cfg = Cfg::new(function);
    let dominators = Dominators::new(&cfg, function);
    let loops = Loops::new(&cfg, &dominators, function);
    let mut pass = Pass {
        module,
        replacement: IdMap::new(None),
        at_end: IdMap::with_len(None, function.num_blocks()),
        changed: false,
    };
    for &block in cfg.order() {
        let known = pass.known_at_start(function, &cfg, &loops, block);
        pass.visit_block(function, block, known);
    }
    if pass.changed {
        function.replace_values(&pass.replacement);
    }
    pass.changed
}

struct Pass<'a> {
    module: &'a Module,
    replacement: IdMap<Value, Option<Value>>,
    /// What is known where a block ends; nothing for blocks not visited yet.
    at_end: IdMap<Block, Option<Vec<Known>>>,
    changed: bool,
}

impl Pass<'_> {
    /// What all ways into a block agree on.
    fn known_at_start(
        &self,
        function: &Function,
        cfg: &Cfg,
        loops: &Loops,
        block: Block,
    ) -> Vec<Known> {
        let header_of = loops
            .innermost(block)
            .filter(|&id| loops.get(id).header == block);
        let back = |pred: Block| header_of.is_some_and(|id| loops.contains(id, pred));
        let mut known: Option<Vec<Known>> = None;
        for &pred in cfg.predecessors(block) {
            if back(pred) || !cfg.is_reached(pred) {
                continue;
            }
            // A way in that was not visited: the graph is not made of loops.
            let Some(there) = &self.at_end[pred] else {
                return Vec::new();
            };
            match &mut known {
                None => known = Some(there.clone()),
                Some(known) => known.retain(|one| there.iter().any(|other| one.same(other))),
            }
        }
        let mut known = known.unwrap_or_default();
        if let Some(id) = header_of.filter(|_| !known.is_empty()) {
            self.forget_written(function, loops, id, &mut known);
        }
        known
    }

    /// Forgets what a loop may write.
    fn forget_written(
        &self,
        function: &Function,
        loops: &Loops,
        id: LoopId,
        known: &mut Vec<Known>,
    ) {
        for &block in &loops.get(id).blocks {
            for &inst in function.insts(block) {
                if known.is_empty() {
                    return;
                }
                Write::of(self.module, function, inst).forget(function, known);
            }
        }
    }

    fn visit_block(&mut self, function: &mut Function, block: Block, mut known: Vec<Known>) {
        let mut insts = function.take_insts(block);
        insts.retain(|&inst| {
            if self.changed {
                let replacement = &self.replacement;
                function.map_operands(inst, |value| replacement[value].unwrap_or(value));
            }
            match visit(self.module, function, inst, &mut known) {
                Some((result, value)) => {
                    self.replacement[result] = Some(value);
                    self.changed = true;
                    false
                }
                None => true,
            }
        });
        function.set_insts(block, insts);
        self.at_end[block] = Some(known);
    }
}

/// What is in memory somewhere.
#[derive(Clone, Copy)]
struct Known {
    place: Place,
    value: Value,
}

impl Known {
    fn same(&self, other: &Known) -> bool {
        self.value == other.value && self.place.is(&other.place)
    }
}

/// Some bytes: a pointer without its constant distance, the distance, and how many.
#[derive(Clone, Copy)]
struct Place {
    base: Value,
    index: Option<(Value, u32, IndexExtend)>,
    offset: i64,
    size: u32,
    ty: Type,
    space: Option<Space>,
    alias: Option<AliasId>,
    /// The variable pointed into, if it is a variable of the program's own.
    variable: Option<Value>,
}

/// Additions an address is followed back through.
const MOST_STEPS: usize = 16;

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
            variable: None,
        };
        let mut root = pointer;
        for _ in 0..MOST_STEPS {
            let Some(&InstData::PtrAdd {
                base,
                index,
                scale,
                offset,
                extend,
                ..
            }) = function.def_data(root)
            else {
                break;
            };
            // Up to the first index the place is described exactly; behind it, only the root counts.
            if place.base == root && place.index.is_none() {
                place.base = base;
                place.index = index.map(|index| (index, scale, extend));
                place.offset = place.offset.wrapping_add(offset);
            }
            root = base;
        }
        let is_variable = matches!(function.def(root), ValueDef::Global(_))
            || matches!(function.def_data(root), Some(InstData::Alloca { .. }));
        place.variable = is_variable.then_some(root);
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
        if self.variable != other.variable && self.variable.is_some() && other.variable.is_some() {
            return false;
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

/// What an instruction may write.
enum Write {
    Nothing,
    Place(Place),
    /// Memory that other threads see.
    Shared,
    Anything,
}

impl Write {
    fn of(module: &Module, function: &Function, inst: Inst) -> Self {
        match *function.inst(inst) {
            InstData::Load { access, .. } if !access.volatile && !access.is_atomic() => {
                Write::Nothing
            }
            InstData::Store { ptr, value, access } if !access.volatile && !access.is_atomic() => {
                Write::Place(Place::new(
                    module,
                    function,
                    ptr,
                    function.ty(value),
                    access.alias,
                ))
            }
            InstData::Call {
                callee: Callee::Builtin(call),
                ..
            } => match call.info().effects {
                Effects::Pure | Effects::ReadsArgument | Effects::ReadsTexture => Write::Nothing,
                Effects::Barrier | Effects::WritesTexture => Write::Shared,
                Effects::WritesArgument | Effects::ReadsWritesArguments => Write::Anything,
            },
            _ => {
                let effects = function.effects(inst);
                match effects.writes || effects.convergent {
                    true => Write::Anything,
                    false => Write::Nothing,
                }
            }
        }
    }

    fn forget(&self, function: &Function, known: &mut Vec<Known>) {
        match self {
            Write::Nothing => {}
            Write::Place(place) => {
                known.retain(|known| !known.place.may_overlap(function, place));
            }
            Write::Shared => known.retain(|known| known.place.space == Some(Space::Thread)),
            Write::Anything => known.clear(),
        }
    }
}

/// Notes what an instruction does to memory; a result and the value it equals, if known.
fn visit(
    module: &Module,
    function: &Function,
    inst: Inst,
    known: &mut Vec<Known>,
) -> Option<(Value, Value)> {
    if let InstData::Load { ptr, access } = *function.inst(inst)
        && !access.volatile
        && !access.is_atomic()
    {
        let result = function.result(inst)?;
        let place = Place::new(module, function, ptr, function.ty(result), access.alias);
        if let Some(found) = known.iter().rev().find(|known| known.place.is(&place)) {
            return Some((result, found.value));
        }
        remember(known, place, result);
        return None;
    }
    let write = Write::of(module, function, inst);
    write.forget(function, known);
    if let (Write::Place(place), InstData::Store { value, .. }) = (write, *function.inst(inst)) {
        remember(known, place, value);
    }
    None
}

fn remember(known: &mut Vec<Known>, place: Place, value: Value) {
    if known.len() == REMEMBERED {
        known.remove(0);
    }
    known.push(Known { place, value });
}
