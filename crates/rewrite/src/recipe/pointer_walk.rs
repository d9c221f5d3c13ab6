//! Loops whose variable is a pointer count like any other: `*p++` is `x[k]`.
//!
//! A pointer that grows by the same step each time round is where it began and so many steps further. The number of the
//! round takes its place, and a comparison with the end of what it walks over becomes one of rounds.

use super::edit::add_preheaders;
use assay_opt::mark_aliases::mark_aliases;
use assay_ssa::analysis::{Cfg, Dominators, Induction, Loops, Trips};
use assay_ssa::{
    BinaryOp, Block, BlockCall, Builder, CastOp, Flags, Function, IdMap, IndexExtend, Inst,
    InstData, IntCond, Kernel, Type, TypeKind, Value, ValueDef,
};

/// Additions between a pointer and what is passed back.
const MOST_STEPS: usize = 16;

/// Replaces pointers that walk by numbers of rounds, as far as their steps are known.
pub(super) fn as_counters(kernel: &Kernel, function: &mut Function) {
    if walkers(function).is_empty() {
        return;
    }
    add_preheaders(function);
    let mut changed = false;
    for header in walkers(function) {
        if let Some(walk) = Walk::of(function, header) {
            walk.count(function);
            changed = true;
        }
    }
    if changed {
        mark_aliases(kernel, function);
    }
}

fn is_pointer(function: &Function, value: Value) -> bool {
    matches!(function.ty(value).kind(), TypeKind::Pointer(_))
}

/// Headers of loops that pass pointers back to themselves, outer ones first.
fn walkers(function: &Function) -> Vec<Block> {
    let cfg = Cfg::new(function);
    let dominators = Dominators::new(&cfg, function);
    let loops = Loops::new(&cfg, &dominators, function);
    let mut found: Vec<(usize, Block)> = loops
        .iter()
        .map(|(_, found)| (found.blocks.len(), found.header))
        .filter(|&(_, header)| {
            let mut params = function.params(header).iter();
            params.any(|&param| is_pointer(function, param))
        })
        .collect();
    found.sort_by_key(|&(blocks, _)| std::cmp::Reverse(blocks));
    found.into_iter().map(|(_, header)| header).collect()
}

/// How far a pointer goes in a round.
#[derive(Clone, Copy)]
enum Pace {
    /// So many bytes.
    Bytes(u32),
    /// So many elements, a value that does not change, of so many bytes.
    Elements(Value, u32, IndexExtend),
}

/// A pointer that walks.
struct Walker {
    place: usize,
    param: Value,
    init: Value,
    /// What is passed back.
    next: Value,
    pace: Pace,
}

/// A loop with pointers that walk.
struct Walk {
    header: Block,
    preheader: Block,
    latch: Block,
    blocks: Vec<Block>,
    walkers: Vec<Walker>,
    /// A number that counts the rounds up or down, one by one.
    counter: Option<Induction>,
}

impl Walk {
    fn of(function: &Function, header: Block) -> Option<Walk> {
        let cfg = Cfg::new(function);
        let dominators = Dominators::new(&cfg, function);
        let loops = Loops::new(&cfg, &dominators, function);
        let (id, found) = loops.iter().find(|(_, found)| found.header == header)?;
        let &[latch] = found.latches.as_slice() else {
            return None;
        };
        let preheader = found.preheader?;
        let plain = |block: Block| {
            function.terminator(block).is_some_and(|last| {
                matches!(
                    function.inst(last),
                    InstData::Jump { .. } | InstData::Branch { .. }
                )
            })
        };
        if !plain(preheader) || !plain(latch) {
            return None;
        }
        let given = passed(function, preheader, header)?;
        let back = passed(function, latch, header)?;
        let blocks = found.blocks.to_vec();
        let mut walkers = Vec::new();
        for (place, &param) in function.params(header).iter().enumerate() {
            if !is_pointer(function, param) {
                continue;
            }
            if let Some(pace) = pace(function, &blocks, param, back[place]) {
                walkers.push(Walker {
                    place,
                    param,
                    init: given[place],
                    next: back[place],
                    pace,
                });
            }
        }
        if walkers.is_empty() {
            return None;
        }
        let trips = Trips::new(function, &loops, &dominators, id);
        let counts = |induction: &Induction| {
            let by_one = induction.step == 1 || induction.step == -1;
            by_one && matches!(function.ty(induction.param), Type::I32 | Type::I64)
        };
        let tested = trips.tests.iter().map(|test| test.induction).find(counts);
        let counter = tested.or_else(|| trips.inductions.iter().copied().find(counts));
        Some(Walk {
            header,
            preheader,
            latch,
            blocks,
            walkers,
            counter,
        })
    }

    /// Puts numbers in the place of the pointers.
    fn count(self, function: &mut Function) {
        let tests = self.tests(function);
        // What is new comes first in the header, which may be the latch, too.
        let old = function.take_insts(self.header);
        let (round, next) = self.round(function);
        let mut replacement = IdMap::with_len(None, function.num_values());
        for walker in &self.walkers {
            let at = walker.at(function, self.header, round);
            replacement.set(walker.param, Some(at));
        }
        for test in tests {
            test.rewrite(function, self.preheader, self.header, round);
        }
        for inst in old {
            function.append(self.header, inst);
        }
        if let Some(next) = next {
            let zero = function.zero(Type::I32);
            pass_more(function, self.preheader, self.header, zero);
            pass_more(function, self.latch, self.header, next);
        }
        self.drop_pointers(function);
        function.replace_values(&replacement);
    }

    /// The number of the round, at the start of the header. A loop that has no counter is given one, and what that is in
    /// the next round.
    fn round(&self, function: &mut Function) -> (Value, Option<Value>) {
        let Some(Induction {
            param, init, step, ..
        }) = self.counter
        else {
            let round = function.add_param(self.header, Type::I32);
            let mut builder = Builder::new(function);
            builder.switch_to(self.header);
            let one = builder.i32(1);
            let next = builder.binary(BinaryOp::Add, round, one, Flags::NONE);
            return (round, Some(next));
        };
        if step == 1 && function.const_int(init) == Some(0) {
            return (param, None);
        }
        let (a, b) = if step == 1 {
            (param, init)
        } else {
            (init, param)
        };
        let mut builder = Builder::new(function);
        builder.switch_to(self.header);
        let round = builder.binary(BinaryOp::Sub, a, b, Flags::NONE);
        (round, None)
    }

    /// Comparisons of a pointer that walks with where it ends.
    fn tests(&self, function: &Function) -> Vec<Test> {
        let mut found = Vec::new();
        for &block in &self.blocks {
            for &inst in function.insts(block) {
                let InstData::IntCompare { cond, args, .. } = *function.inst(inst) else {
                    continue;
                };
                for (mine, end, cond) in
                    [(args[0], args[1], cond), (args[1], args[0], cond.swapped())]
                {
                    let walker = self.walkers.iter().find_map(|walker| {
                        let ahead = mine == walker.next;
                        (ahead || mine == walker.param).then_some((walker, ahead))
                    });
                    if let Some((walker, ahead)) = walker
                        && let Some(rounds) = walker.rounds(function, end, cond)
                        && !rounds
                            .values()
                            .any(|value| is_made(function, &self.blocks, value))
                        && (!matches!(rounds, Rounds::Steps(..))
                            || self.leaves_by(function, block, inst))
                    {
                        found.push(Test {
                            inst,
                            cond,
                            ahead,
                            rounds,
                        });
                        break;
                    }
                }
            }
        }
        found
    }

    /// Returns true if a comparison does nothing but end the loop, where it says that two pointers are the same.
    fn leaves_by(&self, function: &Function, block: Block, test: Inst) -> bool {
        let Some(value) = function.result(test) else {
            return false;
        };
        let (Some(last), InstData::IntCompare { cond: test, .. }) =
            (function.terminator(block), *function.inst(test))
        else {
            return false;
        };
        let InstData::Branch {
            cond,
            then,
            otherwise,
        } = *function.inst(last)
        else {
            return false;
        };
        let out = match test {
            IntCond::Eq => then,
            _ => otherwise,
        };
        cond == value && function.use_counts()[value] == 1 && !self.blocks.contains(&out.block)
    }

    /// Pointers that are numbers now are passed no more.
    fn drop_pointers(&self, function: &mut Function) {
        let gone = |place: usize| self.walkers.iter().any(|walker| walker.place == place);
        for from in [self.preheader, self.latch] {
            let Some(mut args) = passed(function, from, self.header) else {
                continue;
            };
            let mut place = 0;
            args.retain(|_| {
                place += 1;
                !gone(place - 1)
            });
            pass(function, from, self.header, &args);
        }
        function.retain_params(self.header, |place, _| !gone(place));
    }
}

impl Walker {
    /// Where the pointer is in a round.
    fn at(&self, function: &mut Function, block: Block, round: Value) -> Value {
        let mut builder = Builder::new(function);
        builder.switch_to(block);
        match self.pace {
            Pace::Bytes(bytes) => builder.ptr_add_extended(
                self.init,
                Some(round),
                IndexExtend::Zero,
                bytes,
                0,
                Flags::NONE,
            ),
            Pace::Elements(step, bytes, extend) => {
                // The pointer goes further than a narrow product does.
                let round = as_type(&mut builder, round, Type::I64);
                let step = match (builder.function().ty(step) == Type::I64, extend) {
                    (true, _) => step,
                    (_, IndexExtend::Sign) => {
                        builder.cast(CastOp::SExt, step, Type::I64, Flags::NONE)
                    }
                    _ => builder.cast(CastOp::ZExt, step, Type::I64, Flags::NONE),
                };
                let index = builder.binary(BinaryOp::Mul, round, step, Flags::NONE);
                builder.ptr_add_extended(self.init, Some(index), extend, bytes, 0, Flags::NONE)
            }
        }
    }

    /// After how many rounds the pointer is at an end, if that is known of the two.
    fn rounds(&self, function: &Function, end: Value, cond: IntCond) -> Option<Rounds> {
        let exact = matches!(cond, IntCond::Eq | IntCond::Ne);
        let InstData::PtrAdd {
            base,
            index,
            scale,
            offset,
            extend,
            ..
        } = *function.def_data(end)?
        else {
            return None;
        };
        if offset != 0 {
            return None;
        }
        let index = index?;
        let ty = function.ty(index);
        if !matches!(ty, Type::I32 | Type::I64) {
            return None;
        }
        let signed = extend == IndexExtend::Sign || ty == Type::I64;
        match self.pace {
            Pace::Bytes(bytes) if bytes == scale => {
                if base == self.init {
                    return Some(Rounds::Until(index, signed));
                }
                // Both ends are so many elements behind the same place.
                let InstData::PtrAdd {
                    base: other,
                    index: Some(from),
                    scale,
                    offset: 0,
                    extend: widened,
                    ..
                } = *function.def_data(self.init)?
                else {
                    return None;
                };
                let alike = other == base && scale == bytes && widened == extend;
                let fits = signed && function.ty(from) == function.ty(index);
                (alike && fits).then_some(Rounds::Between(from, index))
            }
            Pace::Elements(step, bytes, widened)
                if exact && base == self.init && bytes == scale && widened == extend =>
            {
                let InstData::Binary {
                    op: BinaryOp::Mul,
                    args: [a, b],
                    ..
                } = *function.def_data(index)?
                else {
                    return None;
                };
                match (a == step, b == step) {
                    (true, _) => Some(Rounds::Steps(b, step)),
                    (_, true) => Some(Rounds::Steps(a, step)),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// After how many rounds a pointer is at an end.
#[derive(Clone, Copy)]
enum Rounds {
    /// So many, which may be negative if signed.
    Until(Value, bool),
    /// From one number to another, both signed.
    Between(Value, Value),
    /// So many steps of a size; at once if that is nothing.
    Steps(Value, Value),
}

impl Rounds {
    /// What they are computed from.
    fn values(self) -> impl Iterator<Item = Value> {
        let (a, b) = match self {
            Rounds::Until(a, _) => (a, a),
            Rounds::Between(a, b) | Rounds::Steps(a, b) => (a, b),
        };
        [a, b].into_iter()
    }
}

/// A comparison of pointers.
struct Test {
    inst: Inst,
    cond: IntCond,
    /// It is of the pointer that the next round has.
    ahead: bool,
    rounds: Rounds,
}

impl Test {
    /// Compares rounds instead. Ends are computed at the end of the preheader, as pointers to them were.
    fn rewrite(&self, function: &mut Function, preheader: Block, header: Block, round: Value) {
        let mut insts = function.take_insts(preheader);
        let last = insts.pop();
        function.set_insts(preheader, insts);
        let mut builder = Builder::new(function);
        builder.switch_to(preheader);
        let (end, signed) = match self.rounds {
            Rounds::Until(rounds, signed) => (rounds, signed),
            Rounds::Between(from, to) => {
                (builder.binary(BinaryOp::Sub, to, from, Flags::NONE), true)
            }
            Rounds::Steps(rounds, step) => {
                let ty = builder.function().ty(rounds);
                let zero = builder.constant(ty, 0);
                let at_once = builder.constant(ty, u64::from(self.ahead));
                let stands = builder.icmp(IntCond::Eq, step, zero);
                (builder.select(stands, at_once, rounds, Flags::NONE), false)
            }
        };
        let ty = builder.function().ty(end);
        builder.switch_to(header);
        let mut round = as_type(&mut builder, round, ty);
        if self.ahead {
            let one = builder.constant(ty, 1);
            round = builder.binary(BinaryOp::Add, round, one, Flags::NONE);
        }
        if let Some(last) = last {
            function.append(preheader, last);
        }
        let cond = if signed {
            with_sign(self.cond)
        } else {
            self.cond
        };
        *function.inst_mut(self.inst) = InstData::IntCompare {
            cond,
            flags: Flags::NONE,
            args: [round, end],
        };
    }
}

const fn with_sign(cond: IntCond) -> IntCond {
    match cond {
        IntCond::Ult => IntCond::Slt,
        IntCond::Ule => IntCond::Sle,
        IntCond::Ugt => IntCond::Sgt,
        IntCond::Uge => IntCond::Sge,
        other => other,
    }
}

/// A number of rounds in another type of whole numbers.
fn as_type(builder: &mut Builder<'_>, round: Value, ty: Type) -> Value {
    let own = builder.function().ty(round);
    match (own == ty, own == Type::I32) {
        (true, _) => round,
        (_, true) => builder.cast(CastOp::ZExt, round, ty, Flags::NONE),
        _ => builder.cast(CastOp::Trunc, round, ty, Flags::NONE),
    }
}

/// By how much a pointer grows from the start of a round to what is passed back.
fn pace(function: &Function, blocks: &[Block], param: Value, next: Value) -> Option<Pace> {
    let mut bytes = 0i64;
    let mut value = next;
    for _ in 0..MOST_STEPS {
        if value == param {
            let bytes = u32::try_from(bytes).ok()?;
            return (bytes > 0).then_some(Pace::Bytes(bytes));
        }
        let InstData::PtrAdd {
            base,
            index,
            scale,
            offset,
            extend,
            ..
        } = *function.def_data(value)?
        else {
            return None;
        };
        if let Some(step) = index {
            let alone = value == next && base == param && offset == 0;
            let of_number = matches!(function.ty(step), Type::I32 | Type::I64);
            let stays = of_number && !is_made(function, blocks, step);
            return (alone && stays).then_some(Pace::Elements(step, scale, extend));
        }
        bytes = bytes.checked_add(offset)?;
        value = base;
    }
    None
}

/// Returns true if a value is made inside a loop.
fn is_made(function: &Function, blocks: &[Block], value: Value) -> bool {
    match function.def(value) {
        ValueDef::Result(inst) => blocks
            .iter()
            .any(|&block| function.insts(block).contains(&inst)),
        ValueDef::Param(block, _) => blocks.contains(&block),
        _ => false,
    }
}

/// What a block passes to another, if it jumps there in one way.
fn passed(function: &Function, from: Block, to: Block) -> Option<Vec<Value>> {
    let mut calls = Vec::new();
    function.for_each_target(function.terminator(from)?, |call| {
        calls.extend((call.block == to).then_some(call));
    });
    match calls.as_slice() {
        [call] => Some(function.list_values(call.args).to_vec()),
        _ => None,
    }
}

/// Passes one value more.
fn pass_more(function: &mut Function, from: Block, to: Block, value: Value) {
    if let Some(mut args) = passed(function, from, to) {
        args.push(value);
        pass(function, from, to, &args);
    }
}

/// Passes other values.
fn pass(function: &mut Function, from: Block, to: Block, args: &[Value]) {
    let Some(last) = function.terminator(from) else {
        return;
    };
    let new = function.block_call(to, args);
    let changed = |call: BlockCall| if call.block == to { new } else { call };
    match *function.inst(last) {
        InstData::Jump { .. } => *function.inst_mut(last) = InstData::Jump { target: new },
        InstData::Branch {
            cond,
            then,
            otherwise,
        } => {
            *function.inst_mut(last) = InstData::Branch {
                cond,
                then: changed(then),
                otherwise: changed(otherwise),
            };
        }
        _ => {}
    }
}
