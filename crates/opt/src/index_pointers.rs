//! Turns pointers that walk through thread memory into numbers.
//!
//! `for (p = a; p != a + 4; ++p) *p = 0;` keeps its array in memory, for two reasons: the
//! address of the array flows into a block parameter, and the loop's counter is a pointer,
//! so nobody knows how often it runs. Where every value a pointer parameter or `select` can
//! have points into *one* alloca, the pointer is that alloca plus a number of bytes: the
//! number takes the place of the parameter, and comparisons of such pointers compare the
//! numbers. After that the loop counts like any other.
//!
//! Pointers into one object are ordered as their distances from its start; the comparison
//! becomes a signed one, since a distance may be negative before the object starts.

use assay_ssa::analysis::Cfg;
use assay_ssa::{
    BinaryOp, Block, BlockCall, CastOp, Flags, Function, IdMap, IndexExtend, Inst, InstData,
    IntCond, Module, Scalar, Space, Type, TypeKind, Value, ValueDef,
};

/// Replaces pointers into one alloca that meet or are compared by distances.
pub fn index_pointers(_: &Module, function: &mut Function) -> bool {
    if !may_apply(function) {
        return false;
    }
    let cfg = Cfg::new(function);
    let roots = Roots::new(function, &cfg);
    let mut rewriter = Rewriter {
        roots,
        distance: IdMap::new(None),
        replacement: IdMap::new(None),
        changed: false,
    };
    let params = rewriter.add_params(function, &cfg);
    for &block in cfg.order() {
        rewriter.rewrite(function, block);
    }
    for &block in cfg.order() {
        rewriter.pass_distances(function, block, &params);
    }
    if rewriter.changed {
        function.replace_values(&rewriter.replacement);
    }
    rewriter.changed
}

/// Whether there is an alloca, and a thread pointer that meets another or is compared.
fn may_apply(function: &Function) -> bool {
    let is_thread = |value: Value| function.ty(value).space() == Some(Space::Thread);
    let mut found = (false, false);
    for (position, &block) in function.blocks().iter().enumerate() {
        found.1 |= position > 0 && function.params(block).iter().any(|&param| is_thread(param));
        for &inst in function.insts(block) {
            match *function.inst(inst) {
                InstData::Alloca { .. } => found.0 = true,
                InstData::Select { args: [a, _], .. }
                | InstData::IntCompare { args: [a, _], .. } => {
                    found.1 |= is_thread(a);
                }
                _ => {}
            }
        }
    }
    found.0 && found.1
}

/// What is known about the object a pointer points into.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Root {
    /// Nothing yet.
    Unseen,
    /// This alloca.
    Alloca(Value),
    /// Something else, or one of several.
    Other,
}

impl Root {
    fn meet(self, other: Root) -> Root {
        match (self, other) {
            (Root::Unseen, known) | (known, Root::Unseen) => known,
            (a, b) if a == b => a,
            _ => Root::Other,
        }
    }
}

/// The object of every pointer into thread memory.
struct Roots {
    of: IdMap<Value, Root>,
}

impl Roots {
    /// Assumes the best and lowers it until nothing contradicts. Every value is lowered at
    /// most twice, so a few walks are enough.
    fn new(function: &Function, cfg: &Cfg) -> Self {
        let mut roots = Roots {
            of: IdMap::with_len(Root::Unseen, function.num_values()),
        };
        if let Some(entry) = function.entry() {
            for &param in function.params(entry) {
                roots.of[param] = Root::Other;
            }
        }
        while roots.walk(function, cfg) {}
        roots
    }

    fn walk(&mut self, function: &Function, cfg: &Cfg) -> bool {
        let mut changed = false;
        for &block in cfg.order() {
            for &inst in function.insts(block) {
                let known = match *function.inst(inst) {
                    InstData::Alloca { .. } => {
                        function.result(inst).map_or(Root::Other, Root::Alloca)
                    }
                    InstData::PtrAdd { base, .. } => self.get(function, base),
                    InstData::Select { args: [a, b], .. } => {
                        self.get(function, a).meet(self.get(function, b))
                    }
                    _ => Root::Other,
                };
                if let Some(result) = function.result(inst).filter(|&v| is_pointer(function, v)) {
                    changed |= self.lower(result, known);
                }
            }
            let Some(terminator) = function.terminator(block) else {
                continue;
            };
            function.for_each_target(terminator, |call| {
                let args = function.list_values(call.args);
                for (&arg, &param) in args.iter().zip(function.params(call.block)) {
                    if is_pointer(function, param) {
                        let known = self.get(function, arg);
                        changed |= self.lower(param, known);
                    }
                }
            });
        }
        changed
    }

    fn get(&self, function: &Function, value: Value) -> Root {
        match function.def(value) {
            ValueDef::Result(_) | ValueDef::Param(..) => self.of[value],
            _ => Root::Other,
        }
    }

    fn lower(&mut self, value: Value, known: Root) -> bool {
        let met = self.of[value].meet(known);
        let changed = met != self.of[value];
        self.of[value] = met;
        changed
    }

    fn alloca(&self, function: &Function, value: Value) -> Option<Value> {
        match self.get(function, value) {
            Root::Alloca(alloca) if function.ty(alloca) == function.ty(value) => Some(alloca),
            _ => None,
        }
    }
}

fn is_pointer(function: &Function, value: Value) -> bool {
    matches!(function.ty(value).kind(), TypeKind::Pointer(_))
}

struct Rewriter {
    roots: Roots,
    /// How many bytes a pointer is behind the start of its alloca, where that was computed.
    distance: IdMap<Value, Option<Value>>,
    replacement: IdMap<Value, Option<Value>>,
    changed: bool,
}

const DISTANCE: Type = Type::I64;

impl Rewriter {
    /// Gives every pointer parameter with one alloca a sibling for the distance.
    fn add_params(&mut self, function: &mut Function, cfg: &Cfg) -> IdMap<Block, Vec<usize>> {
        let mut added: IdMap<Block, Vec<usize>> = IdMap::new(Vec::new());
        let entry = function.entry();
        for &block in cfg.order() {
            if Some(block) == entry {
                continue;
            }
            let mut at = 0;
            for (position, param) in function.params(block).to_vec().into_iter().enumerate() {
                let Some(alloca) = self.roots.alloca(function, param) else {
                    continue;
                };
                let distance = function.add_param(block, DISTANCE);
                let pointer = address(function, alloca, distance);
                function.insert_at(block, at, pointer);
                at += 1;
                self.distance[param] = Some(distance);
                self.replacement[param] = function.result(pointer);
                if let Some(result) = function.result(pointer) {
                    self.distance[result] = Some(distance);
                }
                added[block].push(position);
                self.changed = true;
            }
        }
        added
    }

    fn rewrite(&mut self, function: &mut Function, block: Block) {
        for inst in function.take_insts(block) {
            match *function.inst(inst) {
                InstData::IntCompare { cond, args, .. } => {
                    self.compare(function, block, inst, cond, args);
                }
                InstData::Select { cond, args, flags } => {
                    let result = function.result(inst);
                    let alloca = result.and_then(|value| self.roots.alloca(function, value));
                    if let (Some(result), Some(alloca)) = (result, alloca) {
                        self.select(function, block, inst, result, alloca, (cond, args, flags));
                        continue;
                    }
                }
                _ => {}
            }
            function.append(block, inst);
        }
    }

    /// Compares distances instead of pointers.
    fn compare(
        &mut self,
        function: &mut Function,
        block: Block,
        inst: Inst,
        cond: IntCond,
        [a, b]: [Value; 2],
    ) {
        let Some(alloca) = self.roots.alloca(function, a) else {
            return;
        };
        if self.roots.alloca(function, b) != Some(alloca) {
            return;
        }
        let args = [
            self.distance_of(function, block, a),
            self.distance_of(function, block, b),
        ];
        *function.inst_mut(inst) = InstData::IntCompare {
            cond: signed(cond),
            flags: Flags::NONE,
            args,
        };
        self.changed = true;
    }

    fn select(
        &mut self,
        function: &mut Function,
        block: Block,
        inst: Inst,
        result: Value,
        alloca: Value,
        (cond, [a, b], flags): (Value, [Value; 2], Flags),
    ) {
        let args = [
            self.distance_of(function, block, a),
            self.distance_of(function, block, b),
        ];
        let loc = function.loc(inst);
        let chosen = function.make_inst(InstData::Select { cond, args, flags }, DISTANCE, loc);
        function.append(block, chosen);
        let Some(distance) = function.result(chosen) else {
            return;
        };
        let pointer = address(function, alloca, distance);
        function.append(block, pointer);
        self.replacement[result] = function.result(pointer);
        self.distance[result] = Some(distance);
        self.changed = true;
    }

    /// The distance of a pointer from the start of its alloca; what has to be computed for
    /// it is put at the end of a block (before its terminator, if it has one by now).
    fn distance_of(&mut self, function: &mut Function, block: Block, pointer: Value) -> Value {
        // Additions from the pointer back to one whose distance is known.
        let mut chain = Vec::new();
        let mut base = pointer;
        let mut known = None;
        while known.is_none() {
            known = self.distance[base];
            match function
                .def_inst(base)
                .map(|inst| (inst, *function.inst(inst)))
            {
                Some((inst, InstData::PtrAdd { base: next, .. })) if known.is_none() => {
                    chain.push(inst);
                    base = next;
                }
                _ => break,
            }
        }
        let mut sum = known.unwrap_or_else(|| function.zero(DISTANCE));
        for inst in chain.into_iter().rev() {
            if let InstData::PtrAdd {
                index,
                scale,
                offset,
                extend,
                ..
            } = *function.inst(inst)
            {
                if let Some(index) = index {
                    let bytes = scaled(function, block, index, scale, extend);
                    sum = binary(function, block, BinaryOp::Add, sum, bytes);
                }
                let offset = function.i64(offset);
                sum = binary(function, block, BinaryOp::Add, sum, offset);
            }
        }
        sum
    }

    /// Adds the distances as arguments; the pointers themselves are passed no more.
    fn pass_distances(
        &mut self,
        function: &mut Function,
        block: Block,
        params: &IdMap<Block, Vec<usize>>,
    ) {
        let Some(terminator) = function.terminator(block) else {
            return;
        };
        let mut targets: Vec<BlockCall> = Vec::new();
        function.for_each_target(terminator, |call| targets.push(call));
        let mut insts = function.take_insts(block);
        insts.pop();
        function.set_insts(block, insts);
        let mut new_args = Vec::with_capacity(targets.len());
        for call in targets {
            let mut args = function.list_values(call.args).to_vec();
            for &position in &params[call.block] {
                let Some(&pointer) = args.get(position) else {
                    continue;
                };
                let distance = self.distance_of(function, block, pointer);
                args.push(distance);
                args[position] = function.undef(function.ty(pointer));
            }
            new_args.push(args);
        }
        function.append(block, terminator);
        let mut new_args = new_args.into_iter();
        function.map_targets(terminator, |function, call| BlockCall {
            block: call.block,
            args: function.list(&new_args.next().unwrap_or_default()),
        });
    }
}

const fn signed(cond: IntCond) -> IntCond {
    match cond {
        IntCond::Ult => IntCond::Slt,
        IntCond::Ule => IntCond::Sle,
        IntCond::Ugt => IntCond::Sgt,
        IntCond::Uge => IntCond::Sge,
        same => same,
    }
}

/// `alloca + distance`.
fn address(function: &mut Function, alloca: Value, distance: Value) -> Inst {
    let data = InstData::PtrAdd {
        base: alloca,
        index: Some(distance),
        scale: 1,
        offset: 0,
        extend: IndexExtend::Sign,
        flags: Flags::NONE,
    };
    function.make_inst(data, function.ty(alloca), None)
}

/// An index in bytes.
fn scaled(
    function: &mut Function,
    block: Block,
    index: Value,
    scale: u32,
    extend: IndexExtend,
) -> Value {
    let mut wide = index;
    if function.int_type(index) != Some(Scalar::I64) {
        let op = match extend {
            IndexExtend::Sign => CastOp::SExt,
            IndexExtend::Zero => CastOp::ZExt,
        };
        let flags = Flags::NONE;
        let cast = function.make_inst(
            InstData::Cast {
                op,
                arg: index,
                flags,
            },
            DISTANCE,
            None,
        );
        function.append(block, cast);
        wide = function.result(cast).unwrap_or(index);
    }
    let scale = function.i64(i64::from(scale));
    binary(function, block, BinaryOp::Mul, wide, scale)
}

/// `a op b` at the end of a block, computed now if both are constants.
fn binary(function: &mut Function, block: Block, op: BinaryOp, a: Value, b: Value) -> Value {
    if let (Some(x), Some(y)) = (function.const_bits(a), function.const_bits(b))
        && let Some(bits) = crate::evaluate::binary(op, Scalar::I64, x, y)
    {
        return function.constant(DISTANCE, bits);
    }
    if (op == BinaryOp::Add && function.const_bits(b) == Some(0))
        || (op == BinaryOp::Mul && function.const_bits(b) == Some(1))
    {
        return a;
    }
    let inst = function.make_binary(op, Flags::NONE, [a, b]);
    function.append(block, inst);
    function.result(inst).unwrap_or(a)
}
