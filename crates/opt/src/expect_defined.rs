//! Follows variables that were never set to where they are used.
//!
//! A value that comes from the builtin `uninitialised` (see [`mark_uninitialised`](crate::mark_uninitialised)) may be
//! copied, joined with others at the end of branches, and taken apart: none of that is an error. Arithmetic on it, a
//! decision, an address, a store that others can see are. Most values cannot be undefined at all; for each element of
//! those that can, a truth value is carried along that says whether it is defined, and before each use the program
//! expects it to hold (`expect`). Once reported, the result of a use counts as defined: one mistake, one report.
//!
//! Arithmetic on vectors of which some elements are defined is element by element: `float4 v; v.xyz = p; v *= 2;` is an
//! error only if `v.w` is used.

use crate::expectation::Expectation;
use crate::mark_uninitialised::alloca_of;
use assay_ssa::analysis::Cfg;
use assay_ssa::builtin::Builtin;
use assay_ssa::{
    BinaryOp, Block, BlockCall, Builder, Callee, CastOp, Flags, Function, IdMap, IdSet, Inst,
    InstData, Module, Scalar, Type, TypeKind, UNDEF_LANE, UnaryOp, Value,
};

/// Adds truth values and checks.
pub fn expect_defined(_: &Module, function: &mut Function) -> bool {
    remove_marks_in_memory(function);
    let cfg = Cfg::new(function);
    let doubts = Doubts::find(function, &cfg);
    if !doubts.any {
        return false;
    }
    let mut tracker = Tracker {
        doubts,
        truths: IdMap::new(Vec::new()),
        added: IdMap::new(Vec::new()),
        expected: IdSet::new(),
    };
    for &block in cfg.order() {
        tracker.add_params(function, block);
    }
    for &block in cfg.order() {
        tracker.expected = IdSet::new();
        for inst in function.take_insts(block) {
            tracker.visit(function, block, inst);
        }
    }
    for &block in cfg.order() {
        tracker.pass_truths(function, block);
    }
    true
}

/// What stays in memory is watched there: stores of nothing must not count as stores.
fn remove_marks_in_memory(function: &mut Function) {
    for block in function.blocks().to_vec() {
        let mut insts = function.take_insts(block);
        insts.retain(|&inst| match *function.inst(inst) {
            InstData::Store { ptr, value, .. } => {
                !(is_mark(function, value) && alloca_of(function, ptr).is_some())
            }
            _ => true,
        });
        function.set_insts(block, insts);
    }
}

/// Returns true if a value is that of a variable that was never set.
fn is_mark(function: &Function, value: Value) -> bool {
    let data = function.def_data(value);
    data.is_some_and(|data| callee(data) == Some(Builtin::Uninitialised))
}

fn callee(data: &InstData) -> Option<Builtin> {
    match data {
        InstData::Call {
            callee: Callee::Builtin(call),
            ..
        } => Some(call.builtin),
        _ => None,
    }
}

/// Elements of a type that are defined or not by themselves.
fn width(ty: Type) -> usize {
    match ty.kind() {
        TypeKind::Vector(_, lanes) => usize::from(lanes).min(32),
        TypeKind::Matrix(_) => 2,
        _ => 1,
    }
}

/// The mask of all elements of a type.
fn all(ty: Type) -> u32 {
    u32::MAX >> (32 - width(ty))
}

/// How an instruction treats undefined operands.
enum Flow {
    /// It makes an undefined value.
    Source,
    /// Its result is as undefined as this operand, element by element.
    Copy(Value),
    /// Its elements are those of these operands with the same number.
    Elements(Vec<Value>),
    /// Elements of operands: for each element of the result the operand and its element.
    Picks(Vec<Option<(Value, usize)>>),
    /// One of two, by a condition.
    Choice(Value, [Value; 2]),
    /// The pieces of a number put together: undefined if all are.
    Join([Value; 2]),
    /// It uses its operands.
    Use,
}

fn flow(function: &Function, inst: Inst) -> Flow {
    let result = function.result_type(inst);
    let shifted = |value: Value| {
        let data = function.def_data(value);
        matches!(
            data,
            Some(
                InstData::Binary {
                    op: BinaryOp::Shl,
                    ..
                } | InstData::Cast {
                    op: CastOp::ZExt,
                    ..
                }
            )
        )
    };
    match *function.inst(inst) {
        ref data if callee(data) == Some(Builtin::Uninitialised) => Flow::Source,
        InstData::Unary {
            op: UnaryOp::Freeze,
            arg,
            ..
        } => Flow::Copy(arg),
        InstData::Select { cond, args, .. } => Flow::Choice(cond, args),
        InstData::Extract { vector, index } => match function.const_bits(index) {
            Some(index) if (index as usize) < width(function.ty(vector)) => {
                Flow::Picks(vec![Some((vector, index as usize))])
            }
            _ => Flow::Use,
        },
        InstData::Insert {
            vector,
            element,
            index,
        } => {
            let changed = function.const_bits(index).map(|index| index as usize);
            let pick = |at: usize| match changed == Some(at) {
                true => Some((element, 0)),
                false => Some((vector, at)),
            };
            Flow::Picks((0..width(result)).map(pick).collect())
        }
        InstData::Shuffle { args, mask } => {
            let given = width(function.ty(args[0]));
            let pick = |&at: &u32| match at as usize {
                _ if at == UNDEF_LANE => None,
                at if at < given => Some((args[0], at)),
                at => Some((args[1], at - given)),
            };
            Flow::Picks(function.indices(mask).iter().map(pick).collect())
        }
        InstData::Construct { args } => {
            let args = function.list_values(args);
            match result.is_aggregate() {
                // Parts of aggregates are not told apart.
                true => Flow::Picks(vec![None]),
                false => Flow::Picks(args.iter().map(|&arg| Some((arg, 0))).collect()),
            }
        }
        InstData::ExtractValue { .. } | InstData::InsertValue { .. } => {
            Flow::Picks(vec![None; width(result)])
        }
        InstData::Cast { op, arg, .. } => match op {
            CastOp::Trunc => Flow::Copy(piece(function, arg, bits(result)).unwrap_or(arg)),
            CastOp::ZExt
            | CastOp::SExt
            | CastOp::Bitcast
            | CastOp::SpaceCast
            | CastOp::PtrToInt
            | CastOp::IntToPtr => Flow::Copy(arg),
            _ if result.is_vector() => Flow::Elements(vec![arg]),
            _ => Flow::Use,
        },
        InstData::Binary { op, args, .. } => match op {
            BinaryOp::Shl | BinaryOp::LShr if function.const_bits(args[1]).is_some() => {
                Flow::Copy(args[0])
            }
            BinaryOp::Or if args.iter().any(|&arg| shifted(arg)) => Flow::Join(args),
            _ if result.is_vector() => Flow::Elements(args.to_vec()),
            _ => Flow::Use,
        },
        InstData::Unary { arg, .. } if result.is_vector() => Flow::Elements(vec![arg]),
        InstData::Ternary { args, .. } if result.is_vector() => Flow::Elements(args.to_vec()),
        _ => Flow::Use,
    }
}

fn bits(ty: Type) -> u64 {
    match ty.kind() {
        TypeKind::Scalar(scalar) => scalar.bits().into(),
        _ => 0,
    }
}

/// The value of so many bits that the low end of a number was put together from. Structs travel through calls in whole words.
fn piece(function: &Function, mut value: Value, wanted: u64) -> Option<Value> {
    let mut start = 0;
    for _ in 0..16 {
        match *function.def_data(value)? {
            InstData::Cast {
                op: CastOp::ZExt,
                arg,
                ..
            } if start == 0 && bits(function.ty(arg)) == wanted => return Some(arg),
            InstData::Binary { op, args, .. } => match (op, function.const_bits(args[1])) {
                (BinaryOp::LShr, Some(by)) => {
                    start += by;
                    value = args[0];
                }
                (BinaryOp::Shl, Some(by)) if by <= start => {
                    start -= by;
                    value = args[0];
                }
                (BinaryOp::Or, _) => {
                    value = args.into_iter().find(|&arg| covers(function, arg, start))?;
                }
                _ => return None,
            },
            _ => return None,
        }
    }
    None
}

/// Returns true if bits of a number are not zeros that a shift or an extension put there.
fn covers(function: &Function, value: Value, start: u64) -> bool {
    match function.def_data(value) {
        Some(InstData::Cast {
            op: CastOp::ZExt,
            arg,
            ..
        }) => start < bits(function.ty(*arg)),
        Some(InstData::Binary {
            op: BinaryOp::Shl,
            args,
            ..
        }) => {
            let by = function.const_bits(args[1]);
            by.is_some_and(|by| start >= by && covers(function, args[0], start - by))
        }
        Some(InstData::Binary {
            op: BinaryOp::Or,
            args,
            ..
        }) => args.iter().any(|&arg| covers(function, arg, start)),
        _ => true,
    }
}

/// Which elements of each value may be undefined.
struct Doubts {
    masks: IdMap<Value, u32>,
    /// True if there is any.
    any: bool,
}

impl Doubts {
    fn find(function: &Function, cfg: &Cfg) -> Self {
        let mut doubts = Doubts {
            masks: IdMap::with_len(0, function.num_values()),
            any: false,
        };
        // Masks only grow, and each has at most 32 bits.
        while doubts.sweep(function, cfg) {
            doubts.any = true;
        }
        doubts
    }

    fn of(&self, value: Value) -> u32 {
        self.masks[value]
    }

    fn add(&mut self, value: Value, mask: u32) -> bool {
        let known = self.masks[value];
        self.masks[value] |= mask;
        self.masks[value] != known
    }

    fn sweep(&mut self, function: &Function, cfg: &Cfg) -> bool {
        let mut changed = false;
        for &block in cfg.order() {
            for &inst in function.insts(block) {
                if let Some(result) = function.result(inst) {
                    let mask = self.result(function, inst) & all(function.ty(result));
                    changed |= mask != 0 && self.add(result, mask);
                }
            }
            if let Some(terminator) = function.terminator(block) {
                function.for_each_target(terminator, |call| {
                    let args = function.list_values(call.args);
                    for (&param, &arg) in function.params(call.block).iter().zip(args) {
                        let mask = self.of(arg);
                        changed |= mask != 0 && self.add(param, mask);
                    }
                });
            }
        }
        changed
    }

    fn result(&self, function: &Function, inst: Inst) -> u32 {
        let result = all(function.result_type(inst));
        match flow(function, inst) {
            Flow::Source => result,
            Flow::Copy(arg) => {
                let whole = all(function.ty(arg));
                match (self.of(arg), whole == result) {
                    (mask, true) => mask,
                    (mask, false) if mask == whole => result,
                    // Of bytes of which some are defined, what is used is not known.
                    _ => 0,
                }
            }
            Flow::Elements(args) => {
                let mask = args.iter().fold(0, |mask, &arg| mask | self.of(arg));
                // Nothing of it is defined: that is a use.
                if mask == result { 0 } else { mask }
            }
            Flow::Picks(picks) => {
                let picked = |pick: &Option<(Value, usize)>| {
                    pick.is_some_and(|(value, at)| self.of(value) >> (at & 31) & 1 != 0)
                };
                let masks = (0..32).zip(&picks);
                masks.fold(0, |mask, (at, pick)| mask | u32::from(picked(pick)) << at)
            }
            Flow::Choice(_, args) => self.of(args[0]) | self.of(args[1]),
            Flow::Join(args) => self.of(args[0]) & self.of(args[1]),
            Flow::Use => 0,
        }
    }
}

/// Carries truth values beside the values they are about.
struct Tracker {
    doubts: Doubts,
    /// For each value in doubt: whether each element is defined.
    truths: IdMap<Value, Vec<Value>>,
    /// For each block: parameters and elements that have truth values, in the order of these.
    added: IdMap<Block, Vec<(usize, usize)>>,
    /// Values that the block has checked already.
    expected: IdSet<Value>,
}

impl Tracker {
    fn add_params(&mut self, function: &mut Function, block: Block) {
        for (index, param) in function.params(block).to_vec().into_iter().enumerate() {
            let mask = self.doubts.of(param);
            if mask == 0 {
                continue;
            }
            let sure = function.bool(true);
            let mut truths = vec![sure; width(function.ty(param))];
            for (at, truth) in truths.iter_mut().enumerate() {
                if mask >> at & 1 != 0 {
                    *truth = function.add_param(block, Type::scalar(Scalar::I1));
                    self.added[block].push((index, at));
                }
            }
            self.truths[param] = truths;
        }
    }

    /// Whether an element of a value is defined.
    fn truth(&self, function: &mut Function, value: Value, element: usize) -> Value {
        match self.truths[value].get(element) {
            Some(&truth) if self.doubts.of(value) >> (element & 31) & 1 != 0 => truth,
            _ => function.bool(true),
        }
    }

    fn visit(&mut self, function: &mut Function, block: Block, inst: Inst) {
        for value in self.uses(function, inst) {
            self.expect(function, block, inst, value);
        }
        function.append(block, inst);
        let Some(result) = function.result(inst) else {
            return;
        };
        if self.doubts.of(result) != 0 {
            let truths = self.result(function, block, inst, result);
            self.truths[result] = truths;
        }
    }

    /// The operands of an instruction that must be defined.
    fn uses(&self, function: &Function, inst: Inst) -> Vec<Value> {
        let mut uses = Vec::new();
        match *function.inst(inst) {
            InstData::Store { ptr, value, .. } => {
                uses.push(ptr);
                if alloca_of(function, ptr).is_none() {
                    uses.push(value);
                }
            }
            InstData::Branch { cond, .. } => uses.push(cond),
            InstData::Switch { value, .. } => uses.push(value),
            InstData::Jump { .. } => {}
            InstData::Insert { index, .. } => uses.push(index),
            ref data if callee(data) == Some(Builtin::Expect) => {}
            _ => match flow(function, inst) {
                Flow::Use => function.for_each_operand(inst, |value| uses.push(value)),
                Flow::Choice(cond, _) => uses.push(cond),
                Flow::Elements(args) => {
                    let whole = all(function.result_type(inst));
                    let mask = args.iter().fold(0, |mask, &arg| mask | self.doubts.of(arg));
                    if mask == whole {
                        uses = args;
                    }
                }
                _ => {}
            },
        }
        uses.retain(|&value| self.doubts.of(value) != 0);
        uses
    }

    fn expect(&mut self, function: &mut Function, block: Block, inst: Inst, value: Value) {
        if !self.expected.insert(value) {
            return;
        }
        let mask = self.doubts.of(value);
        let elements = (0..width(function.ty(value))).filter(|at| mask >> at & 1 != 0);
        let mut truths: Vec<Value> = elements.map(|at| self.truth(function, value, at)).collect();
        truths.dedup();
        let mut builder = builder_at(function, block, inst);
        Expectation::Initialised.emit(&mut builder, &truths);
    }

    fn result(
        &self,
        function: &mut Function,
        block: Block,
        inst: Inst,
        result: Value,
    ) -> Vec<Value> {
        let elements = width(function.ty(result));
        match flow(function, inst) {
            Flow::Source => vec![function.bool(false); elements],
            Flow::Copy(arg) if width(function.ty(arg)) == elements => (0..elements)
                .map(|at| self.truth(function, arg, at))
                .collect(),
            Flow::Copy(arg) => {
                let given = width(function.ty(arg));
                let truths: Vec<Value> =
                    (0..given).map(|at| self.truth(function, arg, at)).collect();
                let mut builder = builder_at(function, block, inst);
                vec![both(&mut builder, BinaryOp::And, &truths); elements]
            }
            Flow::Elements(args) => (0..elements)
                .map(|at| {
                    let truths = args.iter().map(|&arg| self.truth(function, arg, at));
                    let truths: Vec<Value> = truths.collect();
                    both(
                        &mut builder_at(function, block, inst),
                        BinaryOp::And,
                        &truths,
                    )
                })
                .collect(),
            Flow::Picks(picks) => picks
                .into_iter()
                .map(|pick| match pick {
                    Some((value, at)) => self.truth(function, value, at),
                    None => function.bool(true),
                })
                .collect(),
            Flow::Choice(cond, args) => (0..elements)
                .map(|at| {
                    let [yes, no] = args.map(|arg| self.truth(function, arg, at));
                    let several = function.ty(cond).is_vector();
                    let mut builder = builder_at(function, block, inst);
                    let cond = match several {
                        true => builder.extract_lane(cond, at as u32),
                        false => cond,
                    };
                    builder.select(cond, yes, no, Flags::NONE)
                })
                .collect(),
            Flow::Join(args) => (0..elements)
                .map(|at| {
                    let truths = args.map(|arg| self.truth(function, arg, at));
                    both(
                        &mut builder_at(function, block, inst),
                        BinaryOp::Or,
                        &truths,
                    )
                })
                .collect(),
            Flow::Use => vec![function.bool(true); elements],
        }
    }

    /// Adds the arguments for the truth values of a block's successors.
    fn pass_truths(&self, function: &mut Function, block: Block) {
        let Some(terminator) = function.terminator(block) else {
            return;
        };
        function.map_targets(terminator, |function, call| {
            let added = &self.added[call.block];
            if added.is_empty() {
                return call;
            }
            let mut args = function.list_values(call.args).to_vec();
            for &(param, element) in added {
                let truth = match args.get(param) {
                    Some(&arg) => self.truth(function, arg, element),
                    None => function.bool(true),
                };
                args.push(truth);
            }
            BlockCall {
                block: call.block,
                args: function.list(&args),
            }
        });
    }
}

fn builder_at(function: &mut Function, block: Block, inst: Inst) -> Builder<'_> {
    let loc = function.loc(inst);
    let mut builder = Builder::new(function);
    builder.switch_to(block);
    builder.set_loc(loc);
    builder
}

fn both(builder: &mut Builder<'_>, op: BinaryOp, truths: &[Value]) -> Value {
    let mut result = None;
    for &truth in truths {
        result = Some(match result {
            None => truth,
            Some(before) if before == truth => before,
            Some(before) => builder.binary(op, before, truth, Flags::NONE),
        });
    }
    match result {
        Some(result) => result,
        None => builder.function().bool(true),
    }
}
