//! Moves thread memory into values.
//!
//! Every cell of every suitable alloca (see `thread_cells`) becomes a variable: stores
//! set it, loads read it, and where different stores meet a block parameter joins them.
//! Parameters are placed on the iterated dominance frontier of the stores; the ones
//! nobody needs are left to `remove_dead` and `simplify_cfg`.

use crate::thread_cells::{Cell, Slot, Slots};
use assay_ssa::analysis::{Cfg, Dominators};
use assay_ssa::{
    BinaryOp, Block, BlockCall, Builder, CastOp, Flags, Function, Id, IdMap, IdSet, Inst, InstData,
    Loc, Module, Scalar, Type, TypeKind, Value,
};

/// Promotes what can be promoted.
pub fn promote_memory(module: &Module, function: &mut Function) -> bool {
    crate::simplify_cfg::remove_unreached(function);
    let slots = Slots::new(function, &module.types);
    if slots.slots.is_empty() {
        return false;
    }
    let cfg = Cfg::new(function);
    let dominators = Dominators::new(&cfg, function);
    let frontier = Frontier::new(function, &cfg, &dominators);
    let cells: Vec<Cell> = slots
        .slots
        .iter()
        .flat_map(|slot| slot.cells.iter().copied())
        .collect();
    let mut renamer = Renamer {
        types: &module.types,
        slots: &slots,
        values: Values::new(cells.len()),
        cells,
        params: IdMap::with_len(Vec::new(), function.num_blocks()),
        replacement: IdMap::new(None),
    };
    renamer.place_params(function, &frontier);
    renamer.walk(function, &cfg, &dominators);
    remove_pointers(function, &slots);
    function.replace_values(&renamer.replacement);
    true
}

/// The dominance frontier of each block: where what it defines meets something else.
struct Frontier {
    of: IdMap<Block, Vec<Block>>,
}

impl Frontier {
    fn new(function: &Function, cfg: &Cfg, dominators: &Dominators) -> Self {
        let mut of: IdMap<Block, Vec<Block>> = IdMap::with_len(Vec::new(), function.num_blocks());
        for &join in cfg.order() {
            let preds = cfg.predecessors(join);
            if preds.len() < 2 {
                continue;
            }
            let stop = dominators.immediate(join);
            for &pred in preds.iter().filter(|&&pred| cfg.is_reached(pred)) {
                let mut runner = Some(pred);
                while let Some(block) = runner.filter(|_| runner != stop) {
                    if of[block].last() != Some(&join) {
                        of[block].push(join);
                    }
                    runner = dominators.immediate(block);
                }
            }
        }
        Frontier { of }
    }
}

/// The value of every cell (unset: undefined) at a place in the program, and what it was before.
///
/// A block starts with the values at the end of its dominator. The walk goes down the dominator tree and takes changes back on
/// its way up, so that its work is that of the stores, whatever the number of cells and blocks.
struct Values {
    now: Vec<Option<Value>>,
    changes: Vec<(u32, Option<Value>)>,
}

impl Values {
    fn new(cells: usize) -> Values {
        Values {
            now: vec![None; cells],
            changes: Vec::new(),
        }
    }

    fn get(&self, cell: usize) -> Option<Value> {
        self.now.get(cell).copied().flatten()
    }

    fn set(&mut self, cell: usize, value: Value) {
        if let Some(now) = self.now.get_mut(cell) {
            self.changes.push((cell as u32, *now));
            *now = Some(value);
        }
    }

    /// Takes back all changes but the first so many.
    fn back_to(&mut self, count: usize) {
        while self.changes.len() > count {
            let Some((cell, before)) = self.changes.pop() else {
                return;
            };
            if let Some(now) = self.now.get_mut(cell as usize) {
                *now = before;
            }
        }
    }
}

/// A step of the walk over the dominator tree.
enum Step {
    Enter(Block),
    /// All that a block dominates is done: so many changes stay.
    Leave(usize),
}

struct Renamer<'a> {
    types: &'a assay_ssa::Aggregates,
    slots: &'a Slots,
    /// All cells by number.
    cells: Vec<Cell>,
    /// For each block, which cells have a parameter there, and the parameter.
    params: IdMap<Block, Vec<(u32, Value)>>,
    values: Values,
    replacement: IdMap<Value, Option<Value>>,
}

impl Renamer<'_> {
    fn place_params(&mut self, function: &mut Function, frontier: &Frontier) {
        let mut stored_in: Vec<Vec<Block>> = vec![Vec::new(); self.cells.len()];
        for &block in function.blocks() {
            for &inst in function.insts(block) {
                let InstData::Store { ptr, value, .. } = *function.inst(inst) else {
                    continue;
                };
                let Some((slot, offset)) = self.slots.place(function, ptr) else {
                    continue;
                };
                let size = self.types.store_size(function.ty(value));
                for cell in slot.covered(offset, size) {
                    let blocks = &mut stored_in[slot.first + cell];
                    if blocks.last() != Some(&block) {
                        blocks.push(block);
                    }
                }
            }
        }
        for (cell, mut work) in stored_in.into_iter().enumerate() {
            let mut placed: IdSet<Block> = IdSet::new();
            while let Some(block) = work.pop() {
                for &join in &frontier.of[block] {
                    if placed.insert(join) {
                        let param = function.add_param(join, self.cells[cell].ty);
                        self.params[join].push((cell as u32, param));
                        work.push(join);
                    }
                }
            }
        }
    }

    /// Renames block by block, each after its dominator.
    fn walk(&mut self, function: &mut Function, cfg: &Cfg, dominators: &Dominators) {
        let mut below: IdMap<Block, Vec<Block>> =
            IdMap::with_len(Vec::new(), function.num_blocks());
        let mut steps = Vec::new();
        for &block in cfg.order().iter().rev() {
            match dominators.immediate(block) {
                Some(dominator) => below[dominator].push(block),
                None => steps.push(Step::Enter(block)),
            }
        }
        while let Some(step) = steps.pop() {
            let block = match step {
                Step::Enter(block) => block,
                Step::Leave(count) => {
                    self.values.back_to(count);
                    continue;
                }
            };
            steps.push(Step::Leave(self.values.changes.len()));
            for &(cell, param) in &self.params[block] {
                self.values.set(cell as usize, param);
            }
            self.rewrite(function, block);
            self.pass_values(function, block);
            steps.extend(below[block].iter().map(|&block| Step::Enter(block)));
        }
    }

    /// Replaces the loads and stores of a block by values.
    fn rewrite(&mut self, function: &mut Function, block: Block) {
        let insts = function.take_insts(block);
        for inst in insts {
            match *function.inst(inst) {
                InstData::Load { ptr, .. } => {
                    if let Some((slot, offset)) = self.slots.place(function, ptr) {
                        let mut maker = Maker::new(function, block, inst);
                        let value = maker.load(self.types, slot, offset, inst, &self.values);
                        if let Some(result) = function.result(inst) {
                            self.replacement[result] = Some(value);
                        }
                        continue;
                    }
                }
                InstData::Store { ptr, value, .. } => {
                    if let Some((slot, offset)) = self.slots.place(function, ptr) {
                        let mut maker = Maker::new(function, block, inst);
                        maker.store(self.types, slot, offset, value, &mut self.values);
                        continue;
                    }
                }
                _ => {}
            }
            function.append(block, inst);
        }
    }

    /// Adds the arguments for the parameters placed in a block's successors.
    fn pass_values(&mut self, function: &mut Function, block: Block) {
        let Some(terminator) = function.terminator(block) else {
            return;
        };
        let (params, cells, values) = (&self.params, &self.cells, &self.values);
        function.map_targets(terminator, |function, call| {
            let added = &params[call.block];
            if added.is_empty() {
                return call;
            }
            let mut args = function.list_values(call.args).to_vec();
            for &(cell, _) in added {
                let value = values.get(cell as usize);
                args.push(value.unwrap_or_else(|| function.undef(cells[cell as usize].ty)));
            }
            BlockCall {
                block: call.block,
                args: function.list(&args),
            }
        });
    }
}

/// Makes the instructions that stand for one load or store.
struct Maker<'a> {
    builder: Builder<'a>,
}

impl<'a> Maker<'a> {
    fn new(function: &'a mut Function, block: Block, inst: Inst) -> Self {
        let loc: Option<Loc> = function.loc(inst);
        let mut builder = Builder::new(function);
        builder.set_loc(loc);
        builder.switch_to(block);
        Maker { builder }
    }

    fn load(
        &mut self,
        types: &assay_ssa::Aggregates,
        slot: &Slot,
        offset: u32,
        inst: Inst,
        values: &Values,
    ) -> Value {
        let ty = self.builder.function().result_type(inst);
        let TypeKind::Vector(scalar, lanes) = ty.kind() else {
            return self.load_part(slot, offset, types.store_size(ty), ty, values);
        };
        let element = Type::scalar(scalar);
        let step = scalar.bytes();
        let parts: Vec<Value> = (0..u32::from(lanes))
            .map(|lane| self.load_part(slot, offset + lane * step, step, element, values))
            .collect();
        self.builder.construct(ty, &parts)
    }

    fn load_part(
        &mut self,
        slot: &Slot,
        offset: u32,
        size: u32,
        ty: Type,
        values: &Values,
    ) -> Value {
        let covered = slot.covered(offset, size);
        if covered.len() == 1 {
            let (cell, number) = (slot.cells[covered.start], slot.first + covered.start);
            return match values.get(number) {
                Some(value) => self.reinterpret(value, cell.ty, ty, size),
                None => self.builder.function().undef(ty),
            };
        }
        let whole = int_type(size);
        let mut sum: Option<Value> = None;
        for index in covered {
            let cell = slot.cells[index];
            let Some(value) = values.get(slot.first + index) else {
                continue;
            };
            let piece = self.reinterpret(value, cell.ty, int_type(cell.size), cell.size);
            let wide = self.builder.cast(CastOp::ZExt, piece, whole, Flags::NONE);
            let placed = self.shifted(BinaryOp::Shl, wide, whole, cell.offset - offset);
            sum = Some(match sum {
                Some(sum) => self.builder.binary(BinaryOp::Or, sum, placed, Flags::NONE),
                None => placed,
            });
        }
        match sum {
            Some(sum) => self.reinterpret(sum, whole, ty, size),
            None => self.builder.function().undef(ty),
        }
    }

    fn store(
        &mut self,
        types: &assay_ssa::Aggregates,
        slot: &Slot,
        offset: u32,
        value: Value,
        values: &mut Values,
    ) {
        let ty = self.builder.function().ty(value);
        let TypeKind::Vector(scalar, lanes) = ty.kind() else {
            return self.store_part(slot, offset, types.store_size(ty), value, ty, values);
        };
        let step = scalar.bytes();
        for lane in 0..u32::from(lanes) {
            let part = self.builder.extract_lane(value, lane);
            self.store_part(
                slot,
                offset + lane * step,
                step,
                part,
                Type::scalar(scalar),
                values,
            );
        }
    }

    fn store_part(
        &mut self,
        slot: &Slot,
        offset: u32,
        size: u32,
        value: Value,
        ty: Type,
        values: &mut Values,
    ) {
        let covered = slot.covered(offset, size);
        if covered.len() == 1 {
            let cell = slot.cells[covered.start];
            let held = self.reinterpret(value, ty, cell.ty, size);
            values.set(slot.first + covered.start, held);
            return;
        }
        let whole = int_type(size);
        let bits = self.reinterpret(value, ty, whole, size);
        for index in covered {
            let cell = slot.cells[index];
            let moved = self.shifted(BinaryOp::LShr, bits, whole, cell.offset - offset);
            let narrow = int_type(cell.size);
            let piece = self.builder.cast(CastOp::Trunc, moved, narrow, Flags::NONE);
            let held = self.reinterpret(piece, narrow, cell.ty, cell.size);
            values.set(slot.first + index, held);
        }
    }

    fn shifted(&mut self, op: BinaryOp, value: Value, ty: Type, bytes: u32) -> Value {
        if bytes == 0 {
            return value;
        }
        let amount = self.builder.constant(ty, u64::from(bytes) * 8);
        self.builder.binary(op, value, amount, Flags::NONE)
    }

    /// The same `size` bytes as another type; a truth value takes a byte in memory.
    fn reinterpret(&mut self, value: Value, from: Type, to: Type, size: u32) -> Value {
        if from == to {
            return value;
        }
        let bits = int_type(size);
        let as_int = match from.kind() {
            _ if from == bits => value,
            TypeKind::Scalar(Scalar::I1) => {
                self.builder.cast(CastOp::ZExt, value, bits, Flags::NONE)
            }
            TypeKind::Pointer(_) => self
                .builder
                .cast(CastOp::PtrToInt, value, bits, Flags::NONE),
            _ => self.builder.cast(CastOp::Bitcast, value, bits, Flags::NONE),
        };
        match to.kind() {
            _ if to == bits => as_int,
            TypeKind::Scalar(Scalar::I1) => {
                self.builder.cast(CastOp::Trunc, as_int, to, Flags::NONE)
            }
            TypeKind::Pointer(_) => self.builder.cast(CastOp::IntToPtr, as_int, to, Flags::NONE),
            _ => self.builder.cast(CastOp::Bitcast, as_int, to, Flags::NONE),
        }
    }
}

/// The integer of a number of bytes. Cells and scalars have 1, 2, 4 or 8.
fn int_type(bytes: u32) -> Type {
    Type::scalar(Scalar::int(bytes * 8).unwrap_or(Scalar::I64))
}

/// Takes out the allocas and the address computations into them.
fn remove_pointers(function: &mut Function, slots: &Slots) {
    let gone: IdSet<Inst> = {
        let mut set = IdSet::new();
        for slot in &slots.slots {
            set.insert(slot.alloca);
        }
        for index in 0..function.num_insts() {
            let inst = Inst::from_index(index);
            let pointer = function.result(inst);
            if pointer.is_some_and(|pointer| slots.place(function, pointer).is_some()) {
                set.insert(inst);
            }
        }
        set
    };
    for block in function.blocks().to_vec() {
        let mut insts = function.take_insts(block);
        insts.retain(|&inst| !gone.contains(inst));
        function.set_insts(block, insts);
    }
}
