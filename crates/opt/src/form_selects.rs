//! Turns small conditions into choices of values.
//!
//! `if (c) x = a; else x = b;` is a branch, two blocks and a join. Where the arms only
//! compute, and little, both are computed and a `select` chooses: cheaper than parting and
//! meeting again, and the code around becomes one block.
//!
//! Only instructions without effects move, and those cannot fail: loads stay under their
//! condition, since the address may be bad when it does not hold, and operations that
//! involve other threads stay too. Pointers are not chosen: an address is worth more when
//! one sees what it points into.

use assay_ssa::analysis::Cfg;
use assay_ssa::builtin::{Builtin, Family};
use assay_ssa::{
    BinaryOp, Block, BlockCall, Callee, Flags, Function, Inst, InstData, LoopHint, Module, Scalar,
    Type, TypeKind, Value,
};

/// What both arms and the choices may cost together, in units of one scalar operation.
const MOST_COST: u32 = 10;
/// Costs more than any condition is worth.
const TOO_MUCH: u32 = MOST_COST + 1;

/// Replaces small conditions, inner ones first.
pub fn form_selects(_: &Module, function: &mut Function) -> bool {
    let cfg = Cfg::new(function);
    let mut changed = false;
    for &block in cfg.order().iter().rev() {
        if let Some(found) = Condition::find(function, &cfg, block) {
            found.replace(function, block);
            changed = true;
        }
    }
    if changed {
        crate::simplify_cfg::remove_unreached(function);
    }
    changed
}

/// A branch whose arms only compute and end in one block.
struct Condition {
    cond: Value,
    /// Blocks whose instructions move up.
    arms: [Option<Block>; 2],
    /// Where both arms end, with what each passes.
    ends: [BlockCall; 2],
}

impl Condition {
    fn find(function: &Function, cfg: &Cfg, block: Block) -> Option<Self> {
        let InstData::Branch {
            cond,
            then,
            otherwise,
        } = *function.inst(function.terminator(block)?)
        else {
            return None;
        };
        let [yes, no] = [then, otherwise].map(|call| end_of_arm(function, cfg, block, call));
        let candidates = [
            (Some(then.block), yes, Some(otherwise.block), no),
            (Some(then.block), yes, None, Some(otherwise)),
            (None, Some(then), Some(otherwise.block), no),
            (None, Some(then), None, Some(otherwise)),
        ];
        for (first, a, second, b) in candidates {
            let (Some(a), Some(b)) = (a, b) else { continue };
            if a.block != b.block || a.block == block || first.is_some() && first == second {
                continue;
            }
            let found = Condition {
                cond,
                arms: [first, second],
                ends: [a, b],
            };
            return (found.cost(function) <= MOST_COST).then_some(found);
        }
        None
    }

    fn cost(&self, function: &Function) -> u32 {
        let mut cost = 0;
        for arm in self.arms.into_iter().flatten() {
            let insts = function.insts(arm);
            for &inst in &insts[..insts.len().saturating_sub(1)] {
                cost += cost_of(function, inst);
                if cost > MOST_COST {
                    return TOO_MUCH;
                }
            }
        }
        for (a, b) in self.choices(function) {
            if a != b {
                cost += match function.ty(a).kind() {
                    TypeKind::Scalar(_) | TypeKind::Vector(..) => width(function.ty(a)),
                    _ => return TOO_MUCH,
                };
            }
        }
        cost
    }

    /// What the two ends pass, in pairs.
    fn choices<'a>(
        &self,
        function: &'a Function,
    ) -> impl Iterator<Item = (Value, Value)> + use<'a> {
        let [yes, no] = self.ends.map(|call| function.list_values(call.args));
        yes.iter().copied().zip(no.iter().copied())
    }

    fn replace(&self, function: &mut Function, block: Block) {
        let mut insts = function.take_insts(block);
        let Some(branch) = insts.pop() else { return };
        for arm in self.arms.into_iter().flatten() {
            let mut moving = function.take_insts(arm);
            // The arm keeps its jump until it is removed as unreached.
            let jump = moving.pop();
            function.set_insts(arm, jump.into_iter().collect());
            insts.extend(moving);
        }
        let pairs: Vec<(Value, Value)> = self.choices(function).collect();
        let mut args = Vec::with_capacity(pairs.len());
        for (a, b) in pairs {
            if a == b {
                args.push(a);
                continue;
            }
            let data = InstData::Select {
                flags: Flags::NONE,
                cond: self.cond,
                args: [a, b],
            };
            let made = function.make_inst(data, function.ty(a), function.loc(branch));
            insts.push(made);
            args.push(function.result(made).unwrap_or(a));
        }
        let target = function.block_call(self.ends[0].block, &args);
        *function.inst_mut(branch) = InstData::Jump { target };
        insts.push(branch);
        function.set_insts(block, insts);
    }
}

/// Where an arm that can be moved up goes on.
fn end_of_arm(function: &Function, cfg: &Cfg, from: Block, call: BlockCall) -> Option<BlockCall> {
    let arm = call.block;
    let alone = cfg.predecessors(arm) == [from];
    if !alone || !function.params(arm).is_empty() {
        return None;
    }
    if function.block(arm).loop_hint != LoopHint::None {
        return None;
    }
    match *function.inst(function.terminator(arm)?) {
        InstData::Jump { target } if target.block != arm => Some(target),
        _ => None,
    }
}

/// 32-bit registers' worth of work for a value of a type.
fn width(ty: Type) -> u32 {
    let wide = if ty.element() == Some(Scalar::I64) {
        2
    } else {
        1
    };
    wide * u32::from(ty.lanes()).max(1)
}

fn cost_of(function: &Function, inst: Inst) -> u32 {
    if !function.effects(inst).is_pure() {
        return TOO_MUCH;
    }
    let size = width(function.result_type(inst));
    match *function.inst(inst) {
        // Only names for parts of registers.
        InstData::Extract { index, .. } | InstData::Insert { index, .. }
            if function.is_constant(index) =>
        {
            0
        }
        InstData::Construct { .. }
        | InstData::Shuffle { .. }
        | InstData::ExtractValue { .. }
        | InstData::InsertValue { .. } => 1,
        InstData::Binary { op, .. } => match op {
            BinaryOp::UDiv
            | BinaryOp::SDiv
            | BinaryOp::URem
            | BinaryOp::SRem
            | BinaryOp::FDiv
            | BinaryOp::FRem => TOO_MUCH,
            BinaryOp::Mul => 2 * size,
            _ => size,
        },
        InstData::Call {
            callee: Callee::Builtin(call),
            ..
        } => match call.info().family {
            Family::Integer | Family::Relational => 2 * size,
            Family::Math if is_one_operation(call.builtin) => size,
            _ => TOO_MUCH,
        },
        InstData::Call { .. } => TOO_MUCH,
        _ => size,
    }
}

/// Float functions that are one instruction.
const fn is_one_operation(builtin: Builtin) -> bool {
    matches!(
        builtin,
        Builtin::Fabs
            | Builtin::Fmin
            | Builtin::Fmax
            | Builtin::Fclamp
            | Builtin::Saturate
            | Builtin::Floor
            | Builtin::Ceil
            | Builtin::Trunc
            | Builtin::Rint
            | Builtin::Copysign
    )
}
