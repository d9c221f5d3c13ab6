//! Inlines calls of functions of the module.
//!
//! Kernels are small trees of calls and the hardware's calls are costly, so they go.
//! Functions are handled callees first, so each body is copied once per call and already
//! flat. Calls of functions that call themselves stay calls; who cannot run one says so. After
//! [`unfold_recursion`](crate::unfold_recursion) there are hardly any.

use assay_ssa::{
    Block, Callee, Function, FunctionId, IdMap, IdSet, Inst, InstData, Loc, LoopHint, Module,
    Value, ValueDef,
};
use std::collections::HashMap;

/// Bodies grow by inlining; a module whose functions have more instructions than this together is refused.
const LARGEST: usize = 4_000_000;

/// Why calls could not be inlined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InlineError {
    /// The flattened bodies would be unreasonably large.
    TooLarge {
        /// Name of the function it grew in.
        function: String,
    },
}

impl std::fmt::Display for InlineError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooLarge { function } => {
                write!(
                    f,
                    "{function} and what it calls grow beyond {LARGEST} instructions when calls are inlined"
                )
            }
        }
    }
}

impl std::error::Error for InlineError {}

/// Inlines calls in all functions; those of functions that call themselves stay.
pub fn inline_calls(module: &mut Module) -> Result<bool, InlineError> {
    let mut changed = false;
    let (order, recursive) = callees_first(module);
    let mut room = LARGEST;
    for id in order {
        let placeholder = Function::new("", assay_ssa::Type::VOID);
        let mut caller = std::mem::replace(&mut module.functions[id], placeholder);
        let result = inline_into(module, &mut caller, &recursive, room);
        room = room.saturating_sub(caller.num_insts());
        module.functions[id] = caller;
        changed |= result?;
    }
    Ok(changed)
}

/// The functions in an order in which callees come before callers, and those that call
/// themselves, directly or through others. Calls of the others form no cycle.
pub(crate) fn callees_first(module: &Module) -> (Vec<FunctionId>, IdSet<FunctionId>) {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut state: IdMap<FunctionId, State> = IdMap::new(State::New);
    let mut order = Vec::new();
    let mut recursive = IdSet::new();
    for root in module.functions.ids() {
        let mut stack = vec![(root, callees(&module.functions[root]))];
        if state[root] != State::New {
            continue;
        }
        state[root] = State::Open;
        while let Some((function, pending)) = stack.last_mut() {
            let function = *function;
            match pending.pop() {
                None => {
                    state[function] = State::Done;
                    order.push(function);
                    stack.pop();
                }
                Some(callee) if !module.functions.contains(callee) => {}
                Some(callee) => match state[callee] {
                    State::Done => {}
                    State::Open => {
                        // Everything opened since the callee is on the cycle.
                        let mut open = stack.iter().rev().map(|(function, _)| *function);
                        for on_cycle in open.by_ref() {
                            recursive.insert(on_cycle);
                            if on_cycle == callee {
                                break;
                            }
                        }
                    }
                    State::New => {
                        state[callee] = State::Open;
                        stack.push((callee, callees(&module.functions[callee])));
                    }
                },
            }
        }
    }
    (order, recursive)
}

pub(crate) fn callees(function: &Function) -> Vec<FunctionId> {
    function
        .all_insts()
        .filter_map(|inst| callee_of(function, inst))
        .collect()
}

pub(crate) fn callee_of(function: &Function, inst: Inst) -> Option<FunctionId> {
    match *function.inst(inst) {
        InstData::Call {
            callee: Callee::Function(callee),
            ..
        } => Some(callee),
        _ => None,
    }
}

fn inline_into(
    module: &mut Module,
    caller: &mut Function,
    recursive: &IdSet<FunctionId>,
    room: usize,
) -> Result<bool, InlineError> {
    let mut replacement: IdMap<Value, Option<Value>> = IdMap::new(None);
    let mut changed = false;
    let mut order = Vec::with_capacity(caller.blocks().len());
    for block in caller.blocks().to_vec() {
        order.push(block);
        // Instructions behind a call go on in a new block.
        let mut block = block;
        for inst in caller.take_insts(block) {
            let Some(callee) = callee_of(caller, inst)
                .filter(|&id| module.functions.contains(id) && !recursive.contains(id))
            else {
                caller.append(block, inst);
                continue;
            };
            if caller.num_insts() > room {
                return Err(InlineError::TooLarge {
                    function: caller.name.clone(),
                });
            }
            changed = true;
            let placeholder = Function::new("", assay_ssa::Type::VOID);
            let body = std::mem::replace(&mut module.functions[callee], placeholder);
            let behind = add_block_behind(caller, inst, &mut replacement);
            order.extend(Copier::new(module, caller, &body, inst).copy(block, behind));
            order.push(behind);
            module.functions[callee] = body;
            block = behind;
        }
    }
    if changed {
        caller.set_block_order(order);
        caller.replace_values(&replacement);
    }
    Ok(changed)
}

/// A block for what follows a call; its parameter stands for the call's result.
fn add_block_behind(
    caller: &mut Function,
    call: Inst,
    replacement: &mut IdMap<Value, Option<Value>>,
) -> Block {
    let behind = caller.add_block();
    if let Some(result) = caller.result(call) {
        let ty = caller.ty(result);
        replacement[result] = Some(caller.add_param(behind, ty));
    }
    behind
}

/// Splits `block` at the call: what follows goes to a new block whose parameter stands for
/// the call's result.
pub(crate) fn split(
    caller: &mut Function,
    block: Block,
    at: usize,
    call: Inst,
    replacement: &mut IdMap<Value, Option<Value>>,
) -> Block {
    let behind = add_block_behind(caller, call, replacement);
    let mut insts = caller.take_insts(block);
    let rest = insts.split_off(at + 1);
    insts.pop();
    caller.set_insts(block, insts);
    caller.set_insts(behind, rest);
    behind
}

/// Copies a callee's body into the caller.
struct Copier<'a> {
    module: &'a mut Module,
    caller: &'a mut Function,
    body: &'a Function,
    values: IdMap<Value, Option<Value>>,
    blocks: IdMap<Block, Option<Block>>,
    locs: HashMap<Loc, Loc>,
    call_loc: Option<Loc>,
    args: Vec<Value>,
}

impl<'a> Copier<'a> {
    fn new(
        module: &'a mut Module,
        caller: &'a mut Function,
        body: &'a Function,
        call: Inst,
    ) -> Self {
        let args = match *caller.inst(call) {
            InstData::Call { args, .. } => caller.list_values(args).to_vec(),
            _ => Vec::new(),
        };
        let call_loc = caller.loc(call);
        Copier {
            module,
            caller,
            body,
            values: IdMap::with_len(None, body.num_values()),
            blocks: IdMap::with_len(None, body.num_blocks()),
            locs: HashMap::new(),
            call_loc,
            args,
        }
    }

    /// Copies all blocks; `from` jumps to the entry and returns jump to `behind`.
    fn copy(mut self, from: Block, behind: Block) -> Vec<Block> {
        let mut made = Vec::with_capacity(self.body.blocks().len());
        for (position, &block) in self.body.blocks().iter().enumerate() {
            let copy = self.caller.add_block();
            self.blocks[block] = Some(copy);
            made.push(copy);
            let hint = self.body.block(block).loop_hint;
            if hint != LoopHint::None {
                self.caller.set_loop_hint(copy, hint);
            }
            for (index, &param) in self.body.params(block).iter().enumerate() {
                let value = if position == 0 {
                    self.args.get(index).copied()
                } else {
                    Some(self.caller.add_param(copy, self.body.ty(param)))
                };
                self.values[param] = value;
            }
        }
        self.make_instructions();
        self.link(behind);
        self.jump(from, made.first().copied(), &[]);
        made
    }

    /// First every instruction gets its copy and its result; operands are put in later,
    /// since a loop may use a value before its definition is seen.
    fn make_instructions(&mut self) {
        for &block in self.body.blocks() {
            let Some(copy) = self.blocks[block] else {
                continue;
            };
            for &inst in self.body.insts(block) {
                let loc = self.location(self.body.loc(inst));
                let ty = self.body.result_type(inst);
                let made = self.caller.make_inst(InstData::Unreachable, ty, loc);
                if let (Some(old), Some(new)) = (self.body.result(inst), self.caller.result(made)) {
                    self.values[old] = Some(new);
                }
                self.caller.append(copy, made);
            }
        }
    }

    fn location(&mut self, inner: Option<Loc>) -> Option<Loc> {
        let (inner, outer) = match (inner, self.call_loc) {
            (Some(inner), Some(outer)) => (inner, outer),
            (inner, outer) => return inner.or(outer),
        };
        let locations = &mut self.module.locations;
        Some(locations.inline(inner, outer, &mut self.locs))
    }

    /// Gives every copied instruction its operands and targets.
    fn link(&mut self, behind: Block) {
        for &block in self.body.blocks() {
            let Some(copy) = self.blocks[block] else {
                continue;
            };
            for (index, &inst) in self.body.insts(block).iter().enumerate() {
                let Some(&made) = self.caller.insts(copy).get(index) else {
                    break;
                };
                if let InstData::Return { value } = *self.body.inst(inst) {
                    let value = value.map(|value| self.value(value));
                    let target = self.caller.block_call(behind, value.as_slice());
                    *self.caller.inst_mut(made) = InstData::Jump { target };
                    continue;
                }
                let data = self.caller.import(self.body, *self.body.inst(inst));
                *self.caller.inst_mut(made) = data;
                self.translate(made);
            }
        }
    }

    /// Replaces the callee's values and blocks in a copied instruction by the caller's.
    fn translate(&mut self, inst: Inst) {
        let mut operands = Vec::new();
        self.caller
            .for_each_operand(inst, |value| operands.push(value));
        let mapped: Vec<Value> = operands
            .into_iter()
            .map(|value| self.value(value))
            .collect();
        let mut next = mapped.into_iter();
        self.caller
            .map_operands(inst, |old| next.next().unwrap_or(old));
        let blocks = &self.blocks;
        self.caller.map_targets(inst, |_, mut call| {
            call.block = blocks[call.block].unwrap_or(call.block);
            call
        });
    }

    /// The caller's value for one of the callee's; constants are entered on first use.
    fn value(&mut self, value: Value) -> Value {
        if let Some(known) = self.values[value] {
            return known;
        }
        let data = self.body.value(value);
        let made = match data.def {
            ValueDef::Const(bits) => self.caller.constant(data.ty, bits),
            ValueDef::ConstVector(elements) => {
                let elements = self.body.elements(elements).to_vec();
                self.caller.constant_vector(data.ty, &elements)
            }
            ValueDef::Zero => self.caller.zero(data.ty),
            ValueDef::Global(global) => self.caller.global(data.ty, global),
            ValueDef::FunctionConstant(id) => self.caller.function_constant(data.ty, id),
            // A missing argument or definition: the verifier would have said so before.
            ValueDef::Undef | ValueDef::Result(_) | ValueDef::Param(..) => {
                self.caller.undef(data.ty)
            }
        };
        self.values[value] = Some(made);
        made
    }

    fn jump(&mut self, from: Block, to: Option<Block>, args: &[Value]) {
        let data = match to {
            Some(to) => InstData::Jump {
                target: self.caller.block_call(to, args),
            },
            None => InstData::Unreachable,
        };
        let jump = self
            .caller
            .make_inst(data, assay_ssa::Type::VOID, self.call_loc);
        self.caller.append(from, jump);
    }
}
