//! Writes the function of a thread that does the work of several.
//!
//! Block parameters become variables in memory of the thread, which `promote_memory` turns into values again.

use super::super::positions;
use super::dependence::{Dependence, in_thread};
use super::{Positions, Refusal, RefusalKind};
use assay_opt::control::{Arm, Item, Label, Region, edge};
use assay_ssa::{
    Access, BinaryOp, Block, Builder, Builtin, Callee, Flags, Function, IdMap, Inst, InstData,
    Type, TypeKind, Value,
};

/// An arm that some positions take: for each the condition, and the same with those of the arms around it. A condition
/// that is not there always holds.
pub(super) struct Taken {
    pub(super) own: Vec<Option<Value>>,
    pub(super) all: Vec<Option<Value>>,
}

pub(super) struct Emitter<'a> {
    pub(super) source: &'a Function,
    pub(super) target: Function,
    pub(super) current: Block,
    pub(super) dependence: &'a Dependence,
    pub(super) positions: &'a Positions,
    /// What values have become: one value, or one for each position.
    pub(super) made: IdMap<Value, Vec<Value>>,
    /// The variables of block parameters.
    slots: IdMap<Value, Vec<Value>>,
    /// Where leaving a scope or repeating a loop leads.
    labels: Vec<(Label, Block)>,
    pub(super) arms: Vec<Taken>,
}

/// Writes the body into `target`, behind what its entry block has.
pub(super) fn emit(
    source: &Function,
    target: Function,
    body: &Region,
    dependence: &Dependence,
    positions: &Positions,
) -> Result<Function, Refusal> {
    let malformed = || Refusal::new(RefusalKind::Program, "the function has no entry");
    let entry = source.entry().ok_or_else(malformed)?;
    let mut emitter = Emitter {
        source,
        target,
        current: entry,
        dependence,
        positions,
        made: IdMap::with_len(Vec::new(), source.num_values()),
        slots: IdMap::with_len(Vec::new(), source.num_values()),
        labels: Vec::new(),
        arms: Vec::new(),
    };
    for &param in source.params(entry) {
        emitter.made[param] = vec![param];
    }
    emitter.make_slots(entry);
    if positions.in_grid.iter().any(Option::is_some) {
        emitter.arms.push(Taken {
            own: positions.in_grid.clone(),
            all: positions.in_grid.clone(),
        });
    }
    emitter.region(body)?;
    emitter.terminate(InstData::Return { value: None });
    Ok(emitter.target)
}

impl Emitter<'_> {
    pub(super) fn copies(&self) -> usize {
        self.positions.each.len()
    }

    pub(super) fn builder(&mut self) -> Builder<'_> {
        let current = self.current;
        let mut builder = Builder::new(&mut self.target);
        builder.switch_to(current);
        builder
    }

    /// Ends the current block.
    fn terminate(&mut self, data: InstData) {
        let inst = self.target.make_inst(data, Type::VOID, None);
        self.target.append(self.current, inst);
    }

    pub(super) fn jump(&mut self, block: Block) {
        let target = self.target.block_call(block, &[]);
        self.terminate(InstData::Jump { target });
    }

    pub(super) fn branch(&mut self, cond: Value, then: Block, otherwise: Block) {
        let then = self.target.block_call(then, &[]);
        let otherwise = self.target.block_call(otherwise, &[]);
        self.terminate(InstData::Branch {
            cond,
            then,
            otherwise,
        });
    }

    /// What a value of the source is at a position.
    pub(super) fn value(&self, value: Value, position: usize) -> Value {
        let made = &self.made[value];
        made.get(position).or(made.last()).copied().unwrap_or(value)
    }

    fn make_slots(&mut self, entry: Block) {
        for &block in self.source.blocks() {
            if block == entry {
                continue;
            }
            for &param in self.source.params(block) {
                let count = if self.dependence.depends(param) {
                    self.copies()
                } else {
                    1
                };
                let ty = self.source.ty(param);
                let slots = (0..count).map(|_| self.builder().alloca(ty, align(ty)));
                let slots: Vec<Value> = slots.collect();
                self.slots[param] = slots;
            }
        }
    }

    pub(super) fn region(&mut self, region: &Region) -> Result<(), Refusal> {
        for item in region {
            match item {
                Item::Run(block) => self.run(*block),
                Item::Pass { from, arm } => self.pass(*from, *arm),
                Item::If {
                    cond,
                    then,
                    otherwise,
                } if self.dependence.depends(*cond) => self.part(*cond, then, otherwise)?,
                Item::If {
                    cond,
                    then,
                    otherwise,
                } => {
                    let cond = self.value(*cond, 0);
                    let blocks = [(); 3].map(|()| self.target.add_block());
                    self.branch(cond, blocks[0], blocks[1]);
                    for (arm, block) in [(then, blocks[0]), (otherwise, blocks[1])] {
                        self.current = block;
                        self.region(arm)?;
                        self.jump(blocks[2]);
                    }
                    self.current = blocks[2];
                }
                Item::Scope { label, body } => {
                    let after = self.target.add_block();
                    self.labels.push((*label, after));
                    self.region(body)?;
                    self.labels.pop();
                    self.jump(after);
                    self.current = after;
                }
                Item::Loop { label, body } => {
                    let header = self.target.add_block();
                    let hint = self.source.block(label.0).loop_hint;
                    self.target.set_loop_hint(header, hint);
                    self.jump(header);
                    self.current = header;
                    self.labels.push((*label, header));
                    self.region(body)?;
                    self.labels.pop();
                    self.jump(header);
                    self.unreached();
                }
                Item::Leave(label) | Item::Repeat(label) => {
                    let known = self.labels.iter().rev().find(|(known, _)| known == label);
                    let Some(&(_, block)) = known else {
                        let why = "control goes where no region ends";
                        return Err(Refusal::new(RefusalKind::Control, why));
                    };
                    self.jump(block);
                    self.unreached();
                }
                Item::Return(_) => {
                    self.terminate(InstData::Return { value: None });
                    self.unreached();
                }
                Item::Unreachable => {
                    self.terminate(InstData::Unreachable);
                    self.unreached();
                }
            }
        }
        Ok(())
    }

    /// What comes next is not reached.
    fn unreached(&mut self) {
        self.current = self.target.add_block();
    }

    fn run(&mut self, block: Block) {
        for &param in self.source.params(block) {
            if Some(block) == self.source.entry() {
                break;
            }
            let ty = self.source.ty(param);
            let slots = self.slots[param].clone();
            let access = Access::aligned(align(ty));
            let read = slots
                .iter()
                .map(|&slot| self.builder().load(ty, slot, access));
            self.made[param] = read.collect();
        }
        for &inst in self.source.insts(block) {
            if !self.source.inst(inst).is_terminator() {
                self.instruction(inst);
            }
        }
    }

    fn instruction(&mut self, inst: Inst) {
        let source = self.source;
        let data = *source.inst(inst);
        if let Some(result) = source.result(inst)
            && let Some(made) = self.position(result)
        {
            self.made[result] = made;
            return;
        }
        match data {
            InstData::Store { ptr, value, .. } => {
                let depends = self.dependence.depends(ptr) || self.dependence.depends(value);
                // All positions store the same number to the same place.
                let count = if depends { self.copies() } else { 1 };
                for position in 0..count {
                    let guarded = depends && !in_thread(source, ptr);
                    self.guarded(inst, position, guarded);
                }
            }
            InstData::AtomicRmw { .. } => {
                for position in 0..self.copies() {
                    self.guarded(inst, position, true);
                }
            }
            _ => {
                let mut depends = source
                    .result(inst)
                    .is_some_and(|v| self.dependence.depends(v));
                source.for_each_operand(inst, |value| depends |= self.dependence.depends(value));
                let count = if depends { self.copies() } else { 1 };
                let made: Vec<Value> = (0..count).filter_map(|at| self.copy(inst, at)).collect();
                if let Some(result) = source.result(inst) {
                    self.made[result] = made;
                }
            }
        }
    }

    /// A copy of an instruction for a position.
    fn copy(&mut self, inst: Inst, position: usize) -> Option<Value> {
        let (ty, loc) = (self.source.result_type(inst), self.source.loc(inst));
        let data = self.target.copy_lists(*self.source.inst(inst));
        let new = self.target.make_inst(data, ty, loc);
        let made = &self.made;
        self.target.map_operands(new, |value| {
            let made = &made[value];
            made.get(position).or(made.last()).copied().unwrap_or(value)
        });
        self.target.append(self.current, new);
        self.target.result(new)
    }

    /// A copy of an instruction that writes memory, done only where its position takes all arms it is in.
    fn guarded(&mut self, inst: Inst, position: usize, guarded: bool) {
        let mask = self.arms.last().and_then(|arm| arm.all[position]);
        let Some(mask) = mask.filter(|_| guarded) else {
            self.copy(inst, position);
            return;
        };
        let (then, after) = (self.target.add_block(), self.target.add_block());
        self.branch(mask, then, after);
        self.current = then;
        self.copy(inst, position);
        self.jump(after);
        self.current = after;
    }

    /// Positions and sizes along the axis, if a value is one.
    fn position(&mut self, value: Value) -> Option<Vec<Value>> {
        let axis = self.positions.axis;
        let ty = self.source.ty(value);
        let (builtin, lane) = match self.source.def_data(value)? {
            InstData::Extract { .. } => positions::position(self.source, value)?,
            InstData::Call {
                callee: Callee::Builtin(call),
                ..
            } if ty.lanes() <= 1 => (call.builtin, 0),
            InstData::Call {
                callee: Callee::Builtin(call),
                ..
            } => return self.position_vector(call.builtin, ty),
            _ => return None,
        };
        let numbers = match builtin {
            Builtin::ThreadPositionInGrid if lane == axis => self.positions.each.clone(),
            Builtin::ThreadsPerGrid | Builtin::GridSize if lane == axis => {
                vec![self.positions.extent?]
            }
            Builtin::ThreadPositionInGrid => {
                let entry = self.source.entry()?;
                let read = positions::read_axis(&mut self.target, entry, builtin, lane);
                vec![read]
            }
            _ => return None,
        };
        Some(numbers.into_iter().map(|n| self.resized(n, ty)).collect())
    }

    /// A position or size that is used as a vector.
    fn position_vector(&mut self, builtin: Builtin, ty: Type) -> Option<Vec<Value>> {
        let numbers = match builtin {
            Builtin::ThreadPositionInGrid => self.positions.each.clone(),
            Builtin::ThreadsPerGrid | Builtin::GridSize => vec![self.positions.extent?],
            _ => return None,
        };
        let lane = self.positions.axis as u32;
        let scalar = Type::scalar(ty.element()?);
        let mut made = Vec::with_capacity(numbers.len());
        for number in numbers {
            let number = self.resized(number, scalar);
            let mut builder = self.builder();
            let vector = builder.builtin(builtin.call(), &[], ty)?;
            if lane >= u32::from(ty.lanes()) {
                made.push(vector);
                continue;
            }
            let index = builder.i32(lane as i32);
            made.push(builder.insert(vector, number, index));
        }
        Some(made)
    }

    fn resized(&mut self, number: Value, ty: Type) -> Value {
        positions::resized(&mut self.target, self.current, number, ty)
    }

    /// Gives the parameters of an edge's target their values; of positions that take the arms between the two only.
    fn pass(&mut self, from: Block, arm: Arm) {
        let source = self.source;
        let Some(call) = edge(source, from, arm) else {
            return;
        };
        let grid = usize::from(self.positions.in_grid.iter().any(Option::is_some));
        let outside = self.dependence.depth(call.block) + grid;
        let args = source.list_values(call.args).to_vec();
        let params = source.params(call.block);
        // All at once: an argument may be a parameter that changes too.
        let mut stores = Vec::new();
        for (&param, &arg) in params.iter().zip(&args) {
            for (position, &slot) in self.slots[param].iter().enumerate() {
                stores.push((slot, self.value(arg, position), position));
            }
        }
        for (slot, value, position) in stores {
            let ty = self.target.ty(value);
            let access = Access::aligned(align(ty));
            let conditions: Vec<Value> = self.arms[outside.min(self.arms.len())..]
                .iter()
                .filter_map(|arm| arm.own[position])
                .collect();
            let mut builder = self.builder();
            let taken = conditions
                .into_iter()
                .reduce(|a, b| builder.binary(BinaryOp::And, a, b, Flags::NONE));
            let value = match taken {
                Some(taken) => {
                    let old = builder.load(ty, slot, access);
                    builder.select(taken, value, old, Flags::NONE)
                }
                None => value,
            };
            builder.store(slot, value, access);
        }
    }
}

fn align(ty: Type) -> u32 {
    match ty.kind() {
        TypeKind::Pointer(_) => 8,
        TypeKind::Scalar(scalar) => scalar.bytes().max(1),
        TypeKind::Vector(scalar, lanes) => {
            (scalar.bytes().max(1) * u32::from(lanes.next_power_of_two())).min(16)
        }
        _ => 16,
    }
}
