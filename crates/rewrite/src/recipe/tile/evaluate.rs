//! Values of the original function, computed again for another position and round.

use super::super::{Refusal, RefusalKind, positions};
use super::site::Site;
use assay_ssa::{Block, Builtin, Function, InstData, Space, Value, ValueDef};
use std::collections::HashMap;

/// Where values are computed: a thread of the original, and perhaps a round of its loop.
#[derive(Clone, Default)]
pub(in super::super) struct Place {
    /// The position in the grid.
    pub(in super::super) position: [Option<Value>; 3],
    /// The extents of the original grid.
    pub(in super::super) extent: [Option<Value>; 3],
    /// Loads from device memory are legal here.
    pub(in super::super) loads: bool,
    /// What is known already, for instance variables of the loop.
    pub(in super::super) known: HashMap<Value, Value>,
}

/// Computes values in a block.
pub(in super::super) struct Evaluator<'a> {
    pub(in super::super) site: &'a Site,
    pub(in super::super) place: Place,
}

impl Evaluator<'_> {
    /// A value at the place, computed at the end of what a block has.
    pub(in super::super) fn value(
        &mut self,
        target: &mut Function,
        block: Block,
        value: Value,
    ) -> Result<Value, Refusal> {
        self.within(target, block, value, 200)
    }

    fn within(
        &mut self,
        target: &mut Function,
        block: Block,
        value: Value,
        depth: u32,
    ) -> Result<Value, Refusal> {
        let source = &self.site.function;
        let refuse = |kind, why: &str| Err(Refusal::new(kind, why));
        if source.is_constant(value) {
            return Ok(value);
        }
        if let Some(&known) = self.place.known.get(&value) {
            return Ok(known);
        }
        if depth == 0 {
            return refuse(RefusalKind::Limit, "an expression is too deep");
        }
        let made = match source.def(value) {
            ValueDef::Param(of, _) if Some(of) == source.entry() => value,
            ValueDef::Result(inst) => {
                if let Some(found) = self.position(target, block, value)? {
                    self.place.known.insert(value, found);
                    return Ok(found);
                }
                let effects = source.effects(inst);
                let legal = match *source.inst(inst) {
                    InstData::Load { ptr, .. } => {
                        self.place.loads || source.ty(ptr).space() == Some(Space::Constant)
                    }
                    _ => effects.is_pure(),
                };
                if !legal || effects.writes || effects.convergent {
                    let why = "what the loop reads depends on memory that is read before it";
                    return refuse(RefusalKind::Access, why);
                }
                let mut operands = Vec::new();
                source.for_each_operand(inst, |operand| operands.push(operand));
                let mut now = HashMap::new();
                for operand in operands {
                    now.insert(operand, self.within(target, block, operand, depth - 1)?);
                }
                let source = &self.site.function;
                let data = target.copy_lists(*source.inst(inst));
                let new = target.make_inst(data, source.result_type(inst), source.loc(inst));
                target.map_operands(new, |operand| now.get(&operand).copied().unwrap_or(operand));
                target.append(block, new);
                target.result(new).unwrap_or(value)
            }
            _ => {
                let why = "what the loop reads depends on what was decided before it";
                return refuse(RefusalKind::Control, why);
            }
        };
        self.place.known.insert(value, made);
        Ok(made)
    }

    /// A position or an extent of the grid, if a value is one.
    fn position(
        &self,
        target: &mut Function,
        block: Block,
        value: Value,
    ) -> Result<Option<Value>, Refusal> {
        let source = &self.site.function;
        let is_cast = matches!(source.def_data(value), Some(InstData::Cast { .. }));
        let Some((builtin, axis)) = positions::position(source, value).filter(|_| !is_cast) else {
            return Ok(None);
        };
        let found = match builtin {
            Builtin::ThreadPositionInGrid => self.place.position.get(axis).copied().flatten(),
            Builtin::ThreadsPerGrid | Builtin::GridSize => {
                self.place.extent.get(axis).copied().flatten()
            }
            _ => return Ok(None),
        };
        let why = "the program reads a position or size that is not known here";
        let found = found.ok_or_else(|| Refusal::new(RefusalKind::Positions, why))?;
        Ok(Some(positions::resized(
            target,
            block,
            found,
            source.ty(value),
        )))
    }
}
