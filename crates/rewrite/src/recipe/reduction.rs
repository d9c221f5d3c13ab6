//! Values that a loop reduces: `acc = acc + …`.

use super::counted::Counted;
use assay_ssa::builtin::Sign;
use assay_ssa::{
    BinaryOp, Block, Builder, Builtin, BuiltinCall, Callee, Flags, Function, InstData, IntCond,
    TernaryOp, Type, Value,
};

/// A parameter of a loop's header that each round combines with something else.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reduction {
    /// The parameter.
    pub(super) param: Value,
    /// What is passed back.
    pub(super) next: Value,
    op: Op,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Op {
    AddFloats,
    Add,
    And,
    Or,
    Xor,
    /// Minimum or maximum, by the builtin of lanes.
    Extreme(BuiltinCall),
}

impl Reduction {
    /// The reduction of a parameter, if it is one.
    pub(super) fn of(function: &Function, counted: &Counted, param: Value) -> Option<Reduction> {
        let header = counted.found.header;
        let place = function.params(header).iter().position(|&p| p == param)?;
        let next = *counted.passed(function, counted.latch).get(place)?;
        if next == param || function.ty(param).lanes() > 1 {
            return None;
        }
        let uses = inner_uses(function, counted);
        let mut op = None;
        let mut value = next;
        // From what is passed back towards the parameter, along one kind of operation.
        for _ in 0..64 {
            if value == param {
                break;
            }
            let (found, through) = combined(function, counted, value, param)?;
            if op.is_some_and(|op| op != found) {
                return None;
            }
            op = Some(found);
            // Nothing else looks at what is reduced so far.
            let looked_at = uses(through);
            if looked_at != 1 {
                return None;
            }
            value = through;
        }
        if value != param {
            return None;
        }
        let only_passed_back = uses(next) == 1;
        only_passed_back.then_some(Reduction {
            param,
            next,
            op: op?,
        })
    }

    /// Returns true if the order does not matter.
    pub(super) fn is_exact(&self) -> bool {
        self.op != Op::AddFloats
    }

    /// The value that is used behind the loop.
    pub(super) fn leaves_as(&self, counted: &Counted) -> Value {
        if counted.tested_behind {
            self.next
        } else {
            self.param
        }
    }

    /// What a lane starts with.
    pub(super) fn start(
        &self,
        function: &mut Function,
        block: Block,
        init: Value,
        lane: Value,
    ) -> Value {
        if !matches!(self.op, Op::AddFloats | Op::Add | Op::Xor) {
            return init;
        }
        let (ty, lane_ty) = (function.ty(init), function.ty(lane));
        let zero = function.zero(ty);
        if init == zero {
            return init;
        }
        let mut builder = Builder::new(function);
        builder.switch_to(block);
        let none = builder.constant(lane_ty, 0);
        let first = builder.icmp(IntCond::Eq, lane, none);
        builder.select(first, init, zero, Flags::NONE)
    }

    /// The lanes' parts put together.
    pub(super) fn together(&self, function: &mut Function, block: Block, part: Value) -> Value {
        let ty = function.ty(part);
        let call = match self.op {
            Op::AddFloats => Builtin::SimdSum.call(),
            Op::Add => Builtin::SimdSum.unsigned(),
            Op::And => Builtin::SimdAnd.unsigned(),
            Op::Or => Builtin::SimdOr.unsigned(),
            Op::Xor => Builtin::SimdXor.unsigned(),
            Op::Extreme(call) => call,
        };
        let mut builder = Builder::new(function);
        builder.switch_to(block);
        builder.builtin(call, &[part], ty).unwrap_or(part)
    }
}

/// How often values are used inside a loop.
fn inner_uses<'f>(function: &'f Function, counted: &'f Counted) -> impl Fn(Value) -> usize + 'f {
    move |value: Value| {
        let mut count = 0;
        for &block in &counted.found.blocks {
            let last = function.terminator(block);
            for &inst in function.insts(block) {
                if Some(inst) == last {
                    // What leaves the loop is no use inside it.
                    function.for_each_target(inst, |call| {
                        if counted.found.blocks.contains(&call.block) {
                            let args = function.list_values(call.args).iter();
                            count += args.filter(|&&arg| arg == value).count();
                        }
                    });
                    if let InstData::Branch { cond, .. } = function.inst(inst) {
                        count += usize::from(*cond == value);
                    }
                    continue;
                }
                function.for_each_operand(inst, |operand| count += usize::from(operand == value));
            }
        }
        count
    }
}

/// How a value combines what was reduced so far with something new, and which operand that is.
fn combined(
    function: &Function,
    counted: &Counted,
    value: Value,
    param: Value,
) -> Option<(Op, Value)> {
    let float = function.ty(value).is_float();
    if !float && function.ty(value) != Type::I32 {
        return None;
    }
    let carries = |operand: Value| leads_to(function, counted, operand, param, 64);
    match *function.def_data(value)? {
        InstData::Binary { op, args, .. } => {
            let op = match op {
                BinaryOp::FAdd if float => Op::AddFloats,
                BinaryOp::Add => Op::Add,
                BinaryOp::And => Op::And,
                BinaryOp::Or => Op::Or,
                BinaryOp::Xor => Op::Xor,
                _ => return None,
            };
            one_of(op, args, carries)
        }
        InstData::Ternary {
            op: TernaryOp::Fma,
            args: [a, b, c],
            ..
        } => (carries(c) && !carries(a) && !carries(b)).then_some((Op::AddFloats, c)),
        InstData::Call {
            callee: Callee::Builtin(call),
            args,
            ..
        } => {
            let lanes = match call.builtin {
                Builtin::Fmax => Builtin::SimdMax.call(),
                Builtin::Fmin => Builtin::SimdMin.call(),
                Builtin::Max if call.sign == Sign::Signed => Builtin::SimdMax.signed(),
                Builtin::Max => Builtin::SimdMax.unsigned(),
                Builtin::Min if call.sign == Sign::Signed => Builtin::SimdMin.signed(),
                Builtin::Min => Builtin::SimdMin.unsigned(),
                _ => return None,
            };
            let &[a, b] = function.list_values(args) else {
                return None;
            };
            one_of(Op::Extreme(lanes), [a, b], carries)
        }
        _ => None,
    }
}

fn one_of(op: Op, [a, b]: [Value; 2], carries: impl Fn(Value) -> bool) -> Option<(Op, Value)> {
    match (carries(a), carries(b)) {
        (true, false) => Some((op, a)),
        (false, true) => Some((op, b)),
        _ => None,
    }
}

/// Returns true if a value made in a loop is computed from a parameter of its header in the same round.
fn leads_to(
    function: &Function,
    counted: &Counted,
    value: Value,
    param: Value,
    budget: usize,
) -> bool {
    let mut left = vec![value];
    let mut seen = std::collections::HashSet::new();
    while let Some(value) = left.pop() {
        if value == param {
            return true;
        }
        if seen.len() > budget.max(1) * 64 {
            return true;
        }
        if !seen.insert(value) || !counted.makes(function, value) {
            continue;
        }
        match function.def_inst(value) {
            Some(inst) => function.for_each_operand(inst, |operand| left.push(operand)),
            // A parameter of a block inside the body may be anything.
            None => {
                let header = counted.found.header;
                if !function.params(header).contains(&value) {
                    return true;
                }
            }
        }
    }
    false
}
