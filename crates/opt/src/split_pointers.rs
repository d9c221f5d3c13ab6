//! Choices between pointers of different address spaces.
//!
//! In `i < n ? x[i] : c` one address is in a buffer and the other in the thread's own memory; the pointer that is chosen
//! has no address space, and no instruction loads through such a pointer. Here it becomes one pointer for each space it
//! can have, and a tag that says which of them counts. An access through it becomes a branch on the tag:
//!
//! ```text
//! p: ptr = select c, a: ptr.device, b: ptr.thread        t = select c, 1, 0
//! v = load p                                        ──▶  if t == 1 { v1 = load a } else { v2 = load b }
//! ```
//!
//! Only plain and atomic accesses are split: what the threads of a simdgroup do together must not stand in a branch.
//! Pointers whose origin is not seen (loaded from thread memory, for instance) stay as they are.

use assay_ssa::{
    Block, Builder, CastOp, Function, IdMap, Inst, InstData, IntCond, Module, Space, Type, Value,
    ValueDef,
};

/// The spaces a pointer can be in: one bit each, and one for not known.
type Spaces = u8;
const UNKNOWN: Spaces = 1 << 7;
const SPACES: [Space; 4] = [
    Space::Thread,
    Space::Device,
    Space::Constant,
    Space::Threadgroup,
];

/// What a pointer without a space became.
#[derive(Clone, Copy)]
struct Parts {
    tag: Value,
    pointers: [Option<Value>; SPACES.len()],
}

/// Splits accesses through pointers that can be in several spaces.
pub fn split_pointers(_: &Module, function: &mut Function) -> bool {
    if !needed(function) {
        return false;
    }
    let mut splitter = Splitter {
        sets: possible_spaces(function),
        parts: IdMap::with_len(None, function.num_values()),
        added: Vec::new(),
        after: Vec::new(),
    };
    splitter.parameters(function);
    splitter.instructions(function);
    splitter.place(function);
    splitter.arguments(function);
    splitter.accesses(function)
}

/// Whether any access goes through a pointer without a space.
fn needed(function: &Function) -> bool {
    let mut insts = function.all_insts();
    insts.any(|inst| accessed(function, inst).is_some_and(|ptr| is_generic(function, ptr)))
}

fn is_generic(function: &Function, value: Value) -> bool {
    function.ty(value) == Type::pointer(Space::Generic)
}

/// The address of an access that can stand in a branch.
fn accessed(function: &Function, inst: Inst) -> Option<Value> {
    match *function.inst(inst) {
        InstData::Load { ptr, .. }
        | InstData::Store { ptr, .. }
        | InstData::AtomicRmw { ptr, .. }
        | InstData::AtomicCompareExchange { ptr, .. } => Some(ptr),
        _ => None,
    }
}

fn number(space: Space) -> Option<usize> {
    SPACES.iter().position(|known| *known == space)
}

/// For every generic pointer the spaces it can be in.
fn possible_spaces(function: &Function) -> IdMap<Value, Spaces> {
    let mut sets = IdMap::with_len(0, function.num_values());
    if let Some(entry) = function.entry() {
        for &param in function.params(entry) {
            sets[param] = UNKNOWN;
        }
    }
    let mut changed = true;
    while changed {
        changed = false;
        let mut join = |sets: &mut IdMap<Value, Spaces>, value: Value, more: Spaces| {
            changed |= sets[value] | more != sets[value];
            sets[value] |= more;
        };
        for &block in function.blocks() {
            for &inst in function.insts(block) {
                function.for_each_target(inst, |call| {
                    let params = function.params(call.block);
                    for (&param, &arg) in params.iter().zip(function.list_values(call.args)) {
                        let more = set_of(function, &sets, arg);
                        join(&mut sets, param, more);
                    }
                });
                let generic = |value: &Value| is_generic(function, *value);
                let Some(result) = function.result(inst).filter(generic) else {
                    continue;
                };
                let more = match *function.inst(inst) {
                    InstData::Cast {
                        op: CastOp::SpaceCast,
                        arg,
                        ..
                    }
                    | InstData::PtrAdd { base: arg, .. } => set_of(function, &sets, arg),
                    InstData::Select { args: [a, b], .. } => {
                        set_of(function, &sets, a) | set_of(function, &sets, b)
                    }
                    _ => UNKNOWN,
                };
                join(&mut sets, result, more);
            }
        }
    }
    sets
}

fn set_of(function: &Function, sets: &IdMap<Value, Spaces>, value: Value) -> Spaces {
    match function.ty(value).space() {
        None => 0,
        Some(Space::Generic) => match function.def(value) {
            ValueDef::Const(_) | ValueDef::Undef => 0,
            ValueDef::Result(_) | ValueDef::Param(..) => sets[value],
            _ => UNKNOWN,
        },
        Some(space) => number(space).map_or(UNKNOWN, |number| 1 << number),
    }
}

struct Splitter {
    sets: IdMap<Value, Spaces>,
    parts: IdMap<Value, Option<Parts>>,
    /// Blocks with the index of a parameter and what was added for it.
    added: Vec<(Block, usize, Spaces)>,
    /// New instructions and those they follow.
    after: Vec<(Inst, Vec<Inst>)>,
}

impl Splitter {
    /// Whether a value is a generic pointer all of whose origins are seen.
    fn splits(&self, function: &Function, value: Value) -> bool {
        let set = self.sets[value];
        is_generic(function, value) && set & UNKNOWN == 0
    }

    fn parameters(&mut self, function: &mut Function) {
        for block in function.blocks().to_vec() {
            for (index, param) in function.params(block).to_vec().into_iter().enumerate() {
                if !self.splits(function, param) {
                    continue;
                }
                let set = self.sets[param];
                let tag = function.add_param(block, Type::I32);
                let mut pointers = [None; SPACES.len()];
                for (number, slot) in pointers.iter_mut().enumerate() {
                    if set & 1 << number != 0 {
                        *slot = Some(function.add_param(block, Type::pointer(SPACES[number])));
                    }
                }
                self.parts[param] = Some(Parts { tag, pointers });
                self.added.push((block, index, set));
            }
        }
    }

    /// Makes the parts of what selects and address arithmetic give; operands come first, whatever the order of blocks.
    fn instructions(&mut self, function: &mut Function) {
        let mut left: Vec<Inst> = Vec::new();
        for &block in function.blocks() {
            left.extend(function.insts(block).iter().filter(|&&inst| {
                function
                    .result(inst)
                    .is_some_and(|result| self.splits(function, result))
            }));
        }
        loop {
            let before = left.len();
            left.retain(|&inst| !self.instruction(function, inst));
            if left.is_empty() || left.len() == before {
                return;
            }
        }
    }

    fn instruction(&mut self, function: &mut Function, inst: Inst) -> bool {
        let Some(result) = function.result(inst) else {
            return true;
        };
        let loc = function.loc(inst);
        let mut made = Vec::new();
        let mut make = |function: &mut Function, data: InstData, ty: Type| {
            let inst = function.make_inst(data, ty, loc);
            made.push(inst);
            function.result(inst)
        };
        let parts = match *function.inst(inst) {
            InstData::Cast { arg, .. } => self.parts_of(function, arg),
            InstData::PtrAdd { base, .. } => {
                let data = *function.inst(inst);
                self.parts_of(function, base).map(|mut parts| {
                    for (number, slot) in parts.pointers.iter_mut().enumerate() {
                        let Some(pointer) = *slot else { continue };
                        let mut data = data;
                        if let InstData::PtrAdd { base, .. } = &mut data {
                            *base = pointer;
                        }
                        *slot = make(function, data, Type::pointer(SPACES[number]));
                    }
                    parts
                })
            }
            InstData::Select {
                cond,
                args: [a, b],
                flags,
            } => {
                let (a, b) = (self.parts_of(function, a), self.parts_of(function, b));
                a.zip(b).map(|(a, b)| {
                    let select = |args| InstData::Select { flags, cond, args };
                    let tag = make(function, select([a.tag, b.tag]), Type::I32).unwrap_or(a.tag);
                    let mut pointers = [None; SPACES.len()];
                    for (number, slot) in pointers.iter_mut().enumerate() {
                        *slot = match (a.pointers[number], b.pointers[number]) {
                            (Some(a), Some(b)) => {
                                make(function, select([a, b]), Type::pointer(SPACES[number]))
                            }
                            (one, other) => one.or(other),
                        };
                    }
                    Parts { tag, pointers }
                })
            }
            _ => None,
        };
        let Some(parts) = parts else {
            return false;
        };
        self.parts[result] = Some(parts);
        self.after.push((inst, made));
        true
    }

    /// The parts of an operand; nothing when they are not made yet.
    fn parts_of(&self, function: &mut Function, value: Value) -> Option<Parts> {
        let nothing = [None; SPACES.len()];
        match function.ty(value).space()? {
            Space::Generic => match function.def(value) {
                ValueDef::Const(_) | ValueDef::Undef => Some(Parts {
                    tag: function.i32(0),
                    pointers: nothing,
                }),
                _ => self.parts[value],
            },
            space => {
                let number = number(space)?;
                let mut pointers = nothing;
                pointers[number] = Some(value);
                Some(Parts {
                    tag: function.i32(number as i32),
                    pointers,
                })
            }
        }
    }

    /// Puts the new instructions behind those they were made for.
    fn place(&mut self, function: &mut Function) {
        let mut after = std::mem::take(&mut self.after);
        for block in function.blocks().to_vec() {
            let insts = function.take_insts(block);
            let mut placed = Vec::with_capacity(insts.len());
            for inst in insts {
                placed.push(inst);
                if let Some((_, made)) = after.iter_mut().find(|(of, _)| *of == inst) {
                    placed.append(made);
                }
            }
            function.set_insts(block, placed);
        }
    }

    /// Hands the parts to the parameters that were added.
    fn arguments(&mut self, function: &mut Function) {
        for block in function.blocks().to_vec() {
            let Some(last) = function.terminator(block) else {
                continue;
            };
            let mut calls = Vec::new();
            function.for_each_target(last, |call| calls.push(call));
            let mut longer = Vec::new();
            for call in calls {
                let mut args = function.list_values(call.args).to_vec();
                for &(_, index, set) in self.added.iter().filter(|(to, ..)| *to == call.block) {
                    let Some(&arg) = args.get(index) else {
                        continue;
                    };
                    let parts = self.parts_of(function, arg);
                    args.push(parts.map_or_else(|| function.i32(0), |parts| parts.tag));
                    for (number, space) in SPACES.iter().enumerate() {
                        if set & 1 << number != 0 {
                            let pointer = parts.and_then(|parts| parts.pointers[number]);
                            let ty = Type::pointer(*space);
                            args.push(pointer.unwrap_or_else(|| function.undef(ty)));
                        }
                    }
                }
                longer.push(function.block_call(call.block, &args));
            }
            let mut longer = longer.into_iter();
            match function.inst_mut(last) {
                InstData::Jump { target } => *target = longer.next().unwrap_or(*target),
                InstData::Branch {
                    then, otherwise, ..
                } => {
                    *then = longer.next().unwrap_or(*then);
                    *otherwise = longer.next().unwrap_or(*otherwise);
                }
                _ => {}
            }
        }
    }

    /// Splits the accesses; whether there was one.
    fn accesses(&mut self, function: &mut Function) -> bool {
        let mut replaced: Vec<(Value, Value)> = Vec::new();
        let mut changed = false;
        let mut left = function.blocks().to_vec();
        left.reverse();
        while let Some(block) = left.pop() {
            let found = function.insts(block).iter().position(|&inst| {
                accessed(function, inst).is_some_and(|ptr| self.splits(function, ptr))
            });
            let Some(at) = found else { continue };
            let inst = function.insts(block)[at];
            let parts = accessed(function, inst).and_then(|ptr| self.parts_of(function, ptr));
            let Some(parts) = parts else { continue };
            changed = true;
            left.push(branch(function, block, at, parts, &mut replaced));
        }
        let mut by: IdMap<Value, Option<Value>> = IdMap::with_len(None, function.num_values());
        for (old, new) in replaced {
            by[old] = Some(new);
        }
        function.replace_values(&by);
        changed
    }
}

/// Turns the access at `at` into one for each space, and returns the block in which they meet again.
fn branch(
    function: &mut Function,
    block: Block,
    at: usize,
    parts: Parts,
    replaced: &mut Vec<(Value, Value)>,
) -> Block {
    let mut order = function.blocks().to_vec();
    let place = order.iter().position(|&other| other == block);
    let before = order.len();
    let mut insts = function.take_insts(block);
    let rest = insts.split_off(at);
    function.set_insts(block, insts);
    let inst = rest[0];
    let (data, ty) = (*function.inst(inst), function.result_type(inst));
    let loc = function.loc(inst);
    let result = function.result(inst);
    let join = function.add_block();
    if let Some(result) = result {
        let param = function.add_param(join, ty);
        replaced.push((result, param));
    }
    let known = parts.pointers.iter().enumerate();
    let known: Vec<(usize, Value)> = known.filter_map(|(n, &p)| Some((n, p?))).collect();
    let mut current = block;
    for (position, &(number, pointer)) in known.iter().enumerate() {
        let mut arm = current;
        let mut builder = Builder::new(function);
        builder.set_loc(loc);
        builder.switch_to(current);
        if position + 1 < known.len() {
            let wanted = builder.constant(Type::I32, number as u64);
            let cond = builder.icmp(IntCond::Eq, parts.tag, wanted);
            let next = builder.block(&[]);
            arm = builder.block(&[]);
            builder.branch(cond, (arm, &[]), (next, &[]));
            current = next;
        }
        let copy = function.make_inst(through(data, pointer), ty, loc);
        function.append(arm, copy);
        let args: Vec<Value> = function.result(copy).into_iter().collect();
        let mut builder = Builder::new(function);
        builder.set_loc(loc);
        builder.switch_to(arm);
        builder.jump(join, &args);
    }
    if known.is_empty() {
        // Nothing is there to be accessed.
        let args: Vec<Value> = result.map(|_| function.undef(ty)).into_iter().collect();
        let mut builder = Builder::new(function);
        builder.switch_to(block);
        builder.jump(join, &args);
    }
    function.set_insts(join, rest[1..].to_vec());
    let made = function.blocks()[before..].to_vec();
    let made = made.iter().copied().filter(|&it| it != join).chain([join]);
    if let Some(place) = place {
        order.splice(place + 1..place + 1, made);
        function.set_block_order(order);
    }
    join
}

/// The access through another pointer.
fn through(mut data: InstData, pointer: Value) -> InstData {
    match &mut data {
        InstData::Load { ptr, .. }
        | InstData::Store { ptr, .. }
        | InstData::AtomicRmw { ptr, .. }
        | InstData::AtomicCompareExchange { ptr, .. } => *ptr = pointer,
        _ => {}
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_of_one_of_two_spaces_becomes_a_branch() {
        let text = "module \"m\"\nfunction f0 \"k\" -> void {\n\
            b0(v0: ptr.device, v1: i1):\n\
            v2: ptr.thread = alloca i32 align 4\n\
            store v2, i32 7 align 4\n\
            v3: ptr.generic = spacecast v0\n\
            v4: ptr.generic = spacecast v2\n\
            v5: ptr.generic = select v1, v3, v4\n\
            v6: i32 = load v5 align 4\n\
            store v0, v6 align 4\n\
            return\n}\n";
        let mut module = assay_ssa::parse(text).expect("a module");
        let id = module.functions.ids().next().expect("a function");
        let mut function = module.functions[id].clone();
        assert!(split_pointers(&module, &mut function));
        module.functions[id] = function;
        assay_ssa::verify_function(&module, id).expect("a program");
        let function = &module.functions[id];
        assert!(!needed(function));
        assert_eq!(function.blocks().len(), 4);
    }
}
