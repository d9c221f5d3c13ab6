//! Values that a loop reduces: `acc = acc + …`.

use super::counted::Counted;
use super::simdgroup_rows::LANES;
use assay_ssa::builtin::Sign;
use assay_ssa::{
    BinaryOp, Block, Builder, Builtin, BuiltinCall, Callee, Flags, FloatCond, Function, InstData,
    IntCond, Scalar, TernaryOp, Type, Value,
};

/// A parameter of a loop's header that each round combines with something else.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reduction {
    /// The parameter.
    pub(super) param: Value,
    /// What is passed back.
    pub(super) next: Value,
    op: Op,
    /// How a choice is made, where what is passed back is one.
    choice: Option<Choice>,
}

/// A choice between what is there and something new.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Choice {
    cond: Value,
    /// The new number is taken where the condition is true.
    when_true: bool,
    /// A new number that is equal is taken, too.
    takes_equal: bool,
}

/// The lanes of a simdgroup that share a loop: so many, so far apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sharing {
    /// Lanes of one loop.
    pub(super) lanes: u32,
    /// From one of them to the next.
    pub(super) stride: u32,
}

impl Sharing {
    /// All lanes of a simdgroup.
    pub(super) const SIMDGROUP: Sharing = Sharing {
        lanes: LANES,
        stride: 1,
    };
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Op {
    AddFloats,
    MultiplyFloats,
    Add,
    And,
    Or,
    Xor,
    /// Minimum or maximum, by the builtin of lanes.
    Extreme(BuiltinCall),
    /// The same by comparison and choice, of floats: zeros may have another sign.
    Chosen(BuiltinCall),
}

/// A step from what is reduced to what was reduced before.
struct Link {
    op: Op,
    /// What was reduced before.
    through: Value,
    /// How often the step uses it.
    uses: usize,
    choice: Option<Choice>,
}

impl Reduction {
    /// The reduction of a parameter, if it is one.
    pub(super) fn of(function: &Function, counted: &Counted, param: Value) -> Option<Reduction> {
        let header = counted.found.header;
        let place = function.params(header).iter().position(|&p| p == param)?;
        let next = *counted.passed(function, counted.latch).get(place)?;
        let ty = function.ty(param);
        if next == param || ty.lanes() > 4 || (ty.lanes() > 1 && !ty.is_float()) {
            return None;
        }
        let uses = inner_uses(function, counted);
        let mut op = None;
        let mut choice = None;
        let mut value = next;
        // From what is passed back towards the parameter, along one kind of operation.
        for _ in 0..64 {
            if value == param {
                break;
            }
            let link = combined(function, counted, value, param, CHOICES)?;
            if op.is_some_and(|op| op != link.op) {
                return None;
            }
            // What follows the choice must be the choice alone. Who else looks at the comparison looks at what is reduced.
            choice = link
                .choice
                .filter(|_| value == next && link.through == param);
            if choice.is_none() && link.choice.is_some_and(|inner| uses(inner.cond) != 1) {
                return None;
            }
            op = Some(link.op);
            // Nothing else looks at what is reduced so far.
            if uses(link.through) != link.uses {
                return None;
            }
            value = link.through;
        }
        if value != param {
            return None;
        }
        let only_passed_back = uses(next) == 1;
        only_passed_back.then_some(Reduction {
            param,
            next,
            op: op?,
            choice,
        })
    }

    /// Returns true if a value is chosen together with this one: the place of the largest.
    pub(super) fn leads(&self, function: &Function, next: Value, param: Value) -> bool {
        let Some(choice) = self.choice else {
            return false;
        };
        let Some(&InstData::Select { cond, args, .. }) = function.def_data(next) else {
            return false;
        };
        cond == choice.cond && args[usize::from(choice.when_true)] == param
    }

    /// Returns true if nothing but the choice and so many others that follow it look at its comparison.
    pub(super) fn is_watched_by(
        &self,
        function: &Function,
        counted: &Counted,
        followers: usize,
    ) -> bool {
        let uses = inner_uses(function, counted);
        self.choice
            .is_none_or(|choice| uses(choice.cond) == 1 + followers)
    }

    /// Returns true if the last of equals is taken, and not the first.
    pub(super) fn takes_last(&self) -> bool {
        self.choice.is_some_and(|choice| choice.takes_equal)
    }

    /// The condition at which the new value is taken, and whether it must hold.
    pub(super) fn taken(&self) -> Option<(Value, bool)> {
        self.choice.map(|choice| (choice.cond, choice.when_true))
    }

    /// Returns true if the order does not matter.
    pub(super) fn is_exact(&self) -> bool {
        !matches!(self.op, Op::AddFloats | Op::MultiplyFloats | Op::Chosen(_))
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
        let ty = function.ty(init);
        let neutral = match self.op {
            Op::AddFloats | Op::Add | Op::Xor => function.zero(ty),
            Op::MultiplyFloats => one(function, ty),
            _ => return init,
        };
        if init == neutral {
            return init;
        }
        let lane_ty = function.ty(lane);
        let mut builder = Builder::new(function);
        builder.switch_to(block);
        let none = builder.constant(lane_ty, 0);
        let first = builder.icmp(IntCond::Eq, lane, none);
        builder.select(first, init, neutral, Flags::NONE)
    }

    /// The lanes' parts put together.
    pub(super) fn together(
        &self,
        function: &mut Function,
        block: Block,
        part: Value,
        sharing: Sharing,
    ) -> Value {
        together(self.op, function, block, part, sharing)
    }
}

/// The least or the largest of the lanes' whole numbers without sign.
pub(super) fn extreme(
    function: &mut Function,
    block: Block,
    part: Value,
    largest: bool,
    sharing: Sharing,
) -> Value {
    let call = if largest {
        Builtin::SimdMax
    } else {
        Builtin::SimdMin
    };
    together(Op::Extreme(call.unsigned()), function, block, part, sharing)
}

fn together(op: Op, function: &mut Function, block: Block, part: Value, sharing: Sharing) -> Value {
    let ty = function.ty(part);
    if ty.lanes() > 1 {
        let Some(element) = ty.element() else {
            return part;
        };
        let elements: Vec<Value> = (0..u32::from(ty.lanes()))
            .map(|lane| {
                let mut builder = Builder::new(function);
                builder.switch_to(block);
                let element = builder.extract_lane(part, lane);
                together(op, function, block, element, sharing)
            })
            .collect();
        debug_assert_eq!(Type::vector(element, ty.lanes()), ty);
        let mut builder = Builder::new(function);
        builder.switch_to(block);
        return builder.construct(ty, &elements);
    }
    if sharing != Sharing::SIMDGROUP {
        return exchanged(op, function, block, part, sharing);
    }
    let call = match op {
        Op::AddFloats => Builtin::SimdSum.call(),
        Op::MultiplyFloats => Builtin::SimdProduct.call(),
        Op::Add => Builtin::SimdSum.unsigned(),
        Op::And => Builtin::SimdAnd.unsigned(),
        Op::Or => Builtin::SimdOr.unsigned(),
        Op::Xor => Builtin::SimdXor.unsigned(),
        Op::Extreme(call) | Op::Chosen(call) => call,
    };
    let mut builder = Builder::new(function);
    builder.switch_to(block);
    builder.builtin(call, &[part], ty).unwrap_or(part)
}

/// The parts of some lanes of a simdgroup, put together by exchanging them: every lane has the whole.
fn exchanged(
    op: Op,
    function: &mut Function,
    block: Block,
    part: Value,
    sharing: Sharing,
) -> Value {
    let ty = function.ty(part);
    let mut builder = Builder::new(function);
    builder.switch_to(block);
    let mut whole = part;
    let mut distance = sharing.stride;
    while distance < sharing.lanes * sharing.stride {
        let mask = builder.constant(Type::scalar(Scalar::I16), u64::from(distance));
        let call = Builtin::SimdShuffleXor.call();
        let other = builder.builtin(call, &[whole, mask], ty).unwrap_or(whole);
        let binary = match op {
            Op::AddFloats => Some(BinaryOp::FAdd),
            Op::MultiplyFloats => Some(BinaryOp::FMul),
            Op::Add => Some(BinaryOp::Add),
            Op::And => Some(BinaryOp::And),
            Op::Or => Some(BinaryOp::Or),
            Op::Xor => Some(BinaryOp::Xor),
            Op::Extreme(_) | Op::Chosen(_) => None,
        };
        whole = match (binary, op) {
            (Some(binary), _) => builder.binary(binary, whole, other, Flags::NONE),
            (None, Op::Extreme(call) | Op::Chosen(call)) => {
                let own = of_two(call, ty);
                builder.builtin(own, &[whole, other], ty).unwrap_or(whole)
            }
            (None, _) => whole,
        };
        distance *= 2;
    }
    whole
}

/// The builtin of two numbers that the builtin of lanes applies.
fn of_two(lanes: BuiltinCall, ty: Type) -> BuiltinCall {
    let most = lanes.builtin == Builtin::SimdMax;
    let builtin = match (ty.is_float(), most) {
        (true, true) => return Builtin::Fmax.call(),
        (true, false) => return Builtin::Fmin.call(),
        (false, true) => Builtin::Max,
        (false, false) => Builtin::Min,
    };
    match lanes.sign {
        Sign::Signed => builtin.signed(),
        _ => builtin.unsigned(),
    }
}

/// One, in a type of floats.
fn one(function: &mut Function, ty: Type) -> Value {
    let bits = match ty.element() {
        Some(Scalar::F16) => 0x3c00,
        Some(Scalar::BF16) => 0x3f80,
        _ => u64::from(1.0f32.to_bits()),
    };
    match ty.lanes() {
        1 => function.constant(ty, bits),
        lanes => function.constant_vector(ty, &vec![bits; usize::from(lanes)]),
    }
}

/// How often values are used inside a loop.
pub(super) fn inner_uses<'f>(
    function: &'f Function,
    counted: &'f Counted,
) -> impl Fn(Value) -> usize + 'f {
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

/// Conditions around a step of a reduction, one within the other.
const CHOICES: u32 = 3;

/// How a value combines what was reduced so far with something new, and which operand that is.
fn combined(
    function: &Function,
    counted: &Counted,
    value: Value,
    param: Value,
    choices: u32,
) -> Option<Link> {
    let float = function.ty(value).is_float();
    if !float && function.ty(value) != Type::I32 {
        return None;
    }
    let carries = |operand: Value| leads_to(function, counted, operand, param, 64);
    match *function.def_data(value)? {
        InstData::Binary { op, args, .. } => {
            let op = match op {
                BinaryOp::FAdd if float => Op::AddFloats,
                BinaryOp::FMul if float => Op::MultiplyFloats,
                BinaryOp::Add => Op::Add,
                BinaryOp::And => Op::And,
                BinaryOp::Or => Op::Or,
                BinaryOp::Xor => Op::Xor,
                // What is taken away is added up with the other sign.
                BinaryOp::FSub if float && carries(args[0]) && !carries(args[1]) => {
                    return Some(once(Op::AddFloats, args[0]));
                }
                BinaryOp::Sub if carries(args[0]) && !carries(args[1]) => {
                    return Some(once(Op::Add, args[0]));
                }
                _ => return None,
            };
            one_of(op, args, carries)
        }
        InstData::Ternary {
            op: TernaryOp::Fma,
            args: [a, b, c],
            ..
        } => (carries(c) && !carries(a) && !carries(b)).then(|| once(Op::AddFloats, c)),
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
        InstData::Select { cond, args, .. } if choices > 0 => {
            chosen(function, cond, args, &carries).or_else(|| {
                let guarded = |kept: Value, new: Value| {
                    let link = combined(function, counted, new, param, choices - 1)?;
                    // The guarded step and the other arm both use what is there.
                    let twice = link.through == kept && link.uses == 1 && !carries(cond);
                    twice.then_some(Link { uses: 2, ..link })
                };
                guarded(args[1], args[0]).or_else(|| guarded(args[0], args[1]))
            })
        }
        _ => None,
    }
}

/// A minimum or maximum by comparison and choice: `v > m ? v : m`.
fn chosen(
    function: &Function,
    test: Value,
    arms: [Value; 2],
    carries: &dyn Fn(Value) -> bool,
) -> Option<Link> {
    let through = match arms.map(carries) {
        [true, false] => arms[0],
        [false, true] => arms[1],
        _ => return None,
    };
    let (op, through_when_true, takes_equal) = match *function.def_data(test)? {
        InstData::FloatCompare { cond, args, .. } => {
            // `v <= m or NaN ? m : v` is `v > m ? v : m`.
            let [then, otherwise] = arms;
            let ordered = |cond| match cond {
                FloatCond::Ogt | FloatCond::Oge => Some(true),
                FloatCond::Olt | FloatCond::Ole => Some(false),
                _ => None,
            };
            let (cond, then, otherwise) = match ordered(cond) {
                Some(_) => (cond, then, otherwise),
                None => (cond.inverse(), otherwise, then),
            };
            let greater = ordered(cond)?;
            let takes_equal = matches!(cond, FloatCond::Oge | FloatCond::Ole);
            let most = greater == is_first(args, then, otherwise)?;
            let lanes = if most {
                Builtin::SimdMax
            } else {
                Builtin::SimdMin
            };
            (Op::Chosen(lanes.call()), then == through, takes_equal)
        }
        InstData::IntCompare { cond, args, .. } => {
            let (greater, signed) = match cond {
                IntCond::Ugt | IntCond::Uge => (true, false),
                IntCond::Ult | IntCond::Ule => (false, false),
                IntCond::Sgt | IntCond::Sge => (true, true),
                IntCond::Slt | IntCond::Sle => (false, true),
                _ => return None,
            };
            let most = greater == is_first(args, arms[0], arms[1])?;
            let lanes = if most {
                Builtin::SimdMax
            } else {
                Builtin::SimdMin
            };
            let call = if signed {
                lanes.signed()
            } else {
                lanes.unsigned()
            };
            let equal = matches!(
                cond,
                IntCond::Uge | IntCond::Ule | IntCond::Sge | IntCond::Sle
            );
            // What is equal is taken where the condition is true, or where it is false.
            (Op::Extreme(call), false, equal == (arms[1] == through))
        }
        _ => return None,
    };
    // A new number that is NaN must not be taken: what is there is kept where the comparison is false.
    (!through_when_true).then_some(Link {
        op,
        through,
        uses: 2,
        choice: Some(Choice {
            cond: test,
            when_true: arms[1] == through,
            takes_equal,
        }),
    })
}

/// Returns true if a comparison is of the first of two values with the second, false if it is the other way round.
fn is_first(args: [Value; 2], first: Value, second: Value) -> Option<bool> {
    match args {
        [a, b] if a == first && b == second => Some(true),
        [a, b] if a == second && b == first => Some(false),
        _ => None,
    }
}

fn once(op: Op, through: Value) -> Link {
    Link {
        op,
        through,
        uses: 1,
        choice: None,
    }
}

fn one_of(op: Op, [a, b]: [Value; 2], carries: impl Fn(Value) -> bool) -> Option<Link> {
    match (carries(a), carries(b)) {
        (true, false) => Some(once(op, a)),
        (false, true) => Some(once(op, b)),
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
