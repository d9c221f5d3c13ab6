//! Branches that the positions of a jammed thread disagree about.

use super::super::positions;
use super::dependence::in_thread;
use super::emit::{Emitter, Taken};
use super::{Refusal, follow};
use assay_opt::control::{Item, Region};
use assay_ssa::{BinaryOp, Builtin, Flags, InstData, IntCond, Type, Value};

impl Emitter<'_> {
    /// A branch that positions disagree about.
    pub(super) fn part(
        &mut self,
        cond: Value,
        then: &Region,
        otherwise: &Region,
    ) -> Result<(), Refusal> {
        let conditions: Vec<Value> = (0..self.copies()).map(|at| self.value(cond, at)).collect();
        let masked = self
            .arms
            .iter()
            .any(|arm| arm.own.iter().any(Option::is_some));
        let first = self.lowest_leads(cond, true).then_some(0);
        let last = (self.lowest_leads(cond, false) && !masked).then_some(self.copies() - 1);
        if !then.is_empty() {
            self.arm(&conditions, first, then)?;
        }
        if !otherwise.is_empty() {
            let not = |emitter: &mut Self, cond: Value| {
                let mut builder = emitter.builder();
                let yes = builder.constant(Type::I1, 1);
                builder.binary(BinaryOp::Xor, cond, yes, Flags::NONE)
            };
            let conditions: Vec<Value> = conditions.iter().map(|&c| not(self, c)).collect();
            self.arm(&conditions, last, otherwise)?;
        }
        Ok(())
    }

    /// An arm under conditions. `leader` is a position that takes it whenever any does.
    fn arm(
        &mut self,
        conditions: &[Value],
        leader: Option<usize>,
        region: &Region,
    ) -> Result<(), Refusal> {
        let before = self.arms.last().map(|arm| arm.all.clone());
        let mut all = Vec::with_capacity(conditions.len());
        for (position, &cond) in conditions.iter().enumerate() {
            let outer = before.as_ref().and_then(|all| all[position]);
            all.push(Some(match outer {
                Some(outer) => self
                    .builder()
                    .binary(BinaryOp::And, outer, cond, Flags::NONE),
                None => cond,
            }));
        }
        let runs = region.iter().any(|item| !matches!(item, Item::Pass { .. }));
        let taken = Taken {
            own: conditions.iter().copied().map(Some).collect(),
            all,
        };
        self.arms.push(taken);
        if !runs {
            self.region(region)?;
            self.arms.pop();
            return Ok(());
        }
        let any = self.any(conditions, leader);
        let (inside, after) = (self.target.add_block(), self.target.add_block());
        self.branch(any, inside, after);
        self.current = inside;
        let followed = self.follow(conditions, leader, region);
        self.region(region)?;
        for (value, made) in followed {
            self.made[value] = made;
        }
        self.arms.pop();
        self.jump(after);
        self.current = after;
        Ok(())
    }

    fn any(&mut self, conditions: &[Value], leader: Option<usize>) -> Value {
        if let Some(leader) = leader {
            return conditions[leader];
        }
        let mut builder = self.builder();
        let any = conditions
            .iter()
            .copied()
            .reduce(|a, b| builder.binary(BinaryOp::Or, a, b, Flags::NONE));
        any.unwrap_or_else(|| builder.constant(Type::I1, 0))
    }

    /// Gives positions that do not take an arm the values of one that does, as far as what the arm reads depends on them.
    /// Returns what these values were.
    fn follow(
        &mut self,
        conditions: &[Value],
        leader: Option<usize>,
        region: &Region,
    ) -> Vec<(Value, Vec<Value>)> {
        let mut followed = Vec::new();
        for value in follow::needed(self.source, region) {
            let made = self.made[value].clone();
            if made.len() < 2 || in_thread(self.source, value) {
                continue;
            }
            let mut builder = self.builder();
            let lead = match leader {
                Some(leader) => made[leader],
                None => {
                    let others = made.iter().zip(conditions).rev().skip(1);
                    let last = made[made.len() - 1];
                    others.fold(last, |lead, (&own, &cond)| {
                        builder.select(cond, own, lead, Flags::NONE)
                    })
                }
            };
            let own = made.iter().zip(conditions).enumerate();
            let now = own.map(|(position, (&own, &cond))| {
                if Some(position) == leader {
                    return own;
                }
                builder.select(cond, own, lead, Flags::NONE)
            });
            let now = now.collect();
            followed.push((value, made));
            self.made[value] = now;
        }
        followed
    }

    /// Returns true if the lowest position takes an arm whenever any does: the one where a condition holds, or (`holds`
    /// false) if the highest takes the one where it does not.
    fn lowest_leads(&self, cond: Value, holds: bool) -> bool {
        if !self.dependence.depends(cond) {
            return true;
        }
        match self.source.def_data(cond) {
            Some(&InstData::IntCompare {
                cond: compared,
                args: [a, b],
                ..
            }) => match compared {
                IntCond::Ult | IntCond::Ule => self.rises(a) && !self.dependence.depends(b),
                IntCond::Ugt | IntCond::Uge => self.rises(b) && !self.dependence.depends(a),
                _ => false,
            },
            Some(&InstData::Binary {
                op: BinaryOp::And,
                args: [a, b],
                ..
            }) if holds => self.lowest_leads(a, true) && self.lowest_leads(b, true),
            // `a && b`.
            Some(&InstData::Select {
                cond: a,
                args: [b, no],
                ..
            }) if holds && self.source.const_bits(no) == Some(0) => {
                self.lowest_leads(a, true) && self.lowest_leads(b, true)
            }
            _ => false,
        }
    }

    /// Returns true if a value is larger at higher positions.
    fn rises(&self, value: Value) -> bool {
        positions::position(self.source, value)
            == Some((Builtin::ThreadPositionInGrid, self.positions.axis))
            && self.source.ty(value) == Type::I32
    }
}
