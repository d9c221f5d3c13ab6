//! Votes: ballots, and what is decided by them.

use crate::lower::operand::{Condition, Src, choice, imm, used};
use crate::lower::select::{Done, Lowerer};
use crate::lower::simdgroup::fill::Fill;
use crate::mir::{Inst, Operand, Slice};
use assay_agx::{Field, List, Op, Width};
use assay_ssa::builtin::Builtin;
use assay_ssa::{IntCond, Value};

impl Lowerer<'_> {
    /// One bit per lane in which a comparison of integers holds.
    pub(in crate::lower) fn ballot_inst(
        &mut self,
        dest: Slice,
        quad: bool,
        (code, a, b): (u8, Operand, Operand),
    ) {
        let op = match quad {
            true => Op::IcmpQuadBallot,
            false => Op::IcmpBallot,
        };
        let mut inst = Inst::new(op)
            .with(Field::Dest, Operand::Def(dest))
            .with(Field::Condition, choice(List::IntegerCondition, code))
            .with(Field::A, a)
            .with(Field::B, b);
        inst.convergent = true;
        self.push(inst);
    }

    /// The votes of the active lanes whose truth value is set.
    pub(in crate::lower) fn votes(&mut self, value: Value, quad: bool) -> Done<Slice> {
        let src = self.scalar(value)?;
        let slice = self.reg(src);
        let dest = self.temp(Width::W32);
        // Not equal to zero.
        self.ballot_inst(dest, quad, (8, used(slice), imm(0)));
        Ok(dest)
    }

    pub(in crate::lower) fn active(&mut self, quad: bool) -> Slice {
        let dest = self.temp(Width::W32);
        self.ballot_inst(dest, quad, always());
        dest
    }

    pub(in crate::lower) fn vote(
        &mut self,
        builtin: Builtin,
        args: &[Value],
        lane: u32,
        dest: Slice,
    ) -> Done<bool> {
        let quad = builtin.info().family == assay_ssa::builtin::Family::Quad;
        let zero = Src::Const(0, Width::W32);
        match (builtin, args) {
            (Builtin::SimdBallot | Builtin::QuadBallot, &[value]) => {
                let votes = self.votes(value, quad)?;
                self.resize(dest, Src::Reg(votes));
            }
            (Builtin::SimdActiveThreadsMask | Builtin::QuadActiveThreadsMask, _) => {
                let votes = self.active(quad);
                self.resize(dest, Src::Reg(votes));
            }
            (Builtin::SimdAny | Builtin::QuadAny, &[value]) => {
                let votes = self.votes(value, quad)?;
                let test = self.int_compare(IntCond::Ne, Src::Reg(votes), zero);
                self.truth_into(dest, test);
            }
            (Builtin::SimdAll | Builtin::QuadAll, &[value]) => {
                // Nobody votes against.
                let src = self.scalar(value)?;
                let slice = self.reg(src);
                let against = self.temp(Width::W32);
                self.ballot_inst(against, quad, (0, used(slice), imm(0)));
                let test = self.int_compare(IntCond::Eq, Src::Reg(against), zero);
                self.truth_into(dest, test);
            }
            (Builtin::SimdVoteAny | Builtin::QuadVoteAny, &[value])
            | (Builtin::SimdVoteAll | Builtin::QuadVoteAll, &[value]) => {
                let given = self.scalar(value)?;
                let given = given.part(0, given.width().min(Width::W32));
                let active = self.active(quad);
                let both = self.temp(Width::W32);
                let (a, b) = (self.operand(given), self.operand(Src::Reg(active)));
                self.bitop(crate::lower::integer::arithmetic::AND, both, a, b);
                let all = matches!(builtin, Builtin::SimdVoteAll | Builtin::QuadVoteAll);
                let test = match all {
                    true => self.int_compare(IntCond::Eq, Src::Reg(both), Src::Reg(active)),
                    false => self.int_compare(IntCond::Ne, Src::Reg(both), zero),
                };
                self.truth_into(dest, test);
            }
            (Builtin::SimdIsFirst | Builtin::QuadIsFirst, _) => {
                let test = self.is_first_active(quad);
                self.truth_into(dest, test);
            }
            // Metal has none of 64 bits.
            (Builtin::SimdBroadcastFirst | Builtin::QuadBroadcastFirst, &[value])
                if dest.width != Width::W64 =>
            {
                let source = self.src(value, lane)?;
                self.broadcast_first(quad, source, dest);
            }
            (
                Builtin::SimdShuffleAndFillUp
                | Builtin::SimdShuffleAndFillDown
                | Builtin::QuadShuffleAndFillUp
                | Builtin::QuadShuffleAndFillDown,
                &[_, _, _, ..],
            ) => {
                let fill = Fill {
                    up: matches!(
                        builtin,
                        Builtin::SimdShuffleAndFillUp | Builtin::QuadShuffleAndFillUp
                    ),
                    quad,
                };
                return self.filled(fill, args, lane, dest);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// What the lowest active lane has.
    fn broadcast_first(&mut self, quad: bool, source: Src, dest: Slice) {
        if self.together() {
            // Lanes that started together start with lane 0.
            let source = used(self.reg(source));
            let shuffle = if quad { "quad_shuffle" } else { "simd_shuffle" };
            self.cross_inst(Op::Shuffle, Some(shuffle), dest, &[source, imm(0)]);
            return;
        }
        // The sum over lanes of it, zero elsewhere, as bits.
        let test = self.is_first_active(quad);
        let mine = self.temp(dest.width);
        self.select_into(mine, test, source, Src::Const(0, dest.width));
        let or = if quad { "quad_or" } else { "simd_or" };
        self.reduce_inst(or, dest, Src::Reg(mine));
    }

    /// Whether a lane is the lowest active one.
    fn is_first_active(&mut self, quad: bool) -> Condition {
        let first = self.first_active(quad);
        let lane = self.temp(Width::W32);
        self.special_register(lane, 52);
        let own = match quad {
            true => {
                let inside = self.temp(Width::W32);
                self.mask_into(inside, Src::Reg(lane), 3);
                inside
            }
            false => lane,
        };
        self.int_compare(IntCond::Eq, Src::Reg(own), Src::Reg(first))
    }

    /// Which lane is the lowest active one.
    pub(in crate::lower) fn first_active(&mut self, quad: bool) -> Slice {
        let active = self.active(quad);
        let negated = self.temp(Width::W32);
        self.sub_into(negated, Src::Const(0, Width::W32), Src::Reg(active));
        let lowest = self.temp(Width::W32);
        let (a, b) = (
            self.operand(Src::Reg(active)),
            self.operand(Src::Reg(negated)),
        );
        self.bitop(crate::lower::integer::arithmetic::AND, lowest, a, b);
        let first = self.temp(Width::W32);
        self.op(Op::Ffs, first, &[used(lowest)]);
        first
    }

    /// A mask in the width of the result.
    pub(in crate::lower) fn resize(&mut self, dest: Slice, src: Src) {
        match dest.width {
            Width::W32 => self.copy(dest, src),
            Width::W16 => self.copy(dest, src.part(0, Width::W16)),
            Width::W64 => self.zero_extend_into(dest, src),
        }
    }
}

/// A comparison of integers that always holds.
pub(in crate::lower) fn always() -> (u8, Operand, Operand) {
    (0, imm(0), imm(0))
}
