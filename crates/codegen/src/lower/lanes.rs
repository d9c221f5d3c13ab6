//! Across the threads of a simdgroup or quad: reductions, prefixes, shuffles, votes.

use super::operand::{FloatSrc, Src, choice, float_code, imm, used};
use super::select::{Done, Lowerer};
use crate::mir::{Inst, Opcode, Operand, Slice};
use assay_agx::{Field, List, Op, Width};
use assay_ssa::builtin::{Builtin, BuiltinCall, Sign};
use assay_ssa::{IntCond, Scalar, Uniformity, Value};

/// How lanes are combined.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Combine {
    Sum,
    Product,
    Min,
    Max,
    And,
    Or,
    Xor,
}

/// A reduction or prefix the hardware does not have.
#[derive(Clone, Copy)]
struct Steps {
    combine: Combine,
    scalar: Scalar,
    signed: bool,
    quad: bool,
}

impl Steps {
    const fn lanes(self) -> u64 {
        if self.quad { 4 } else { 32 }
    }
}

/// Which lane is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    Index,
    Up,
    Down,
    Xor,
    RotateUp,
    RotateDown,
}

const fn reduction(builtin: Builtin) -> Option<(Combine, bool)> {
    Some(match builtin {
        Builtin::SimdSum => (Combine::Sum, false),
        Builtin::SimdProduct => (Combine::Product, false),
        Builtin::SimdMin => (Combine::Min, false),
        Builtin::SimdMax => (Combine::Max, false),
        Builtin::SimdAnd => (Combine::And, false),
        Builtin::SimdOr => (Combine::Or, false),
        Builtin::SimdXor => (Combine::Xor, false),
        Builtin::QuadSum => (Combine::Sum, true),
        Builtin::QuadProduct => (Combine::Product, true),
        Builtin::QuadMin => (Combine::Min, true),
        Builtin::QuadMax => (Combine::Max, true),
        Builtin::QuadAnd => (Combine::And, true),
        Builtin::QuadOr => (Combine::Or, true),
        Builtin::QuadXor => (Combine::Xor, true),
        _ => return None,
    })
}

/// Sum or product, over the quad, inclusive.
const fn prefix(builtin: Builtin) -> Option<(Combine, bool, bool)> {
    Some(match builtin {
        Builtin::SimdPrefixInclusiveSum => (Combine::Sum, false, true),
        Builtin::SimdPrefixExclusiveSum => (Combine::Sum, false, false),
        Builtin::SimdPrefixInclusiveProduct => (Combine::Product, false, true),
        Builtin::SimdPrefixExclusiveProduct => (Combine::Product, false, false),
        Builtin::QuadPrefixInclusiveSum => (Combine::Sum, true, true),
        Builtin::QuadPrefixExclusiveSum => (Combine::Sum, true, false),
        Builtin::QuadPrefixInclusiveProduct => (Combine::Product, true, true),
        Builtin::QuadPrefixExclusiveProduct => (Combine::Product, true, false),
        _ => return None,
    })
}

const fn shuffle(builtin: Builtin) -> Option<(From, bool)> {
    Some(match builtin {
        Builtin::SimdShuffle | Builtin::SimdBroadcast => (From::Index, false),
        Builtin::SimdShuffleUp => (From::Up, false),
        Builtin::SimdShuffleDown => (From::Down, false),
        Builtin::SimdShuffleXor => (From::Xor, false),
        Builtin::SimdShuffleRotateUp => (From::RotateUp, false),
        Builtin::SimdShuffleRotateDown => (From::RotateDown, false),
        Builtin::QuadShuffle | Builtin::QuadBroadcast => (From::Index, true),
        Builtin::QuadShuffleUp => (From::Up, true),
        Builtin::QuadShuffleDown => (From::Down, true),
        Builtin::QuadShuffleXor => (From::Xor, true),
        Builtin::QuadShuffleRotateUp => (From::RotateUp, true),
        Builtin::QuadShuffleRotateDown => (From::RotateDown, true),
        _ => return None,
    })
}

/// The mnemonic of a reduction, if the hardware has it.
fn mnemonic(
    combine: Combine,
    quad: bool,
    scans: bool,
    float: bool,
    signed: bool,
) -> Option<&'static str> {
    let pick = |simd: &'static str, of_quad: &'static str| Some(if quad { of_quad } else { simd });
    match (combine, float, scans) {
        (Combine::Sum, true, false) => pick("simd_fadd", "quad_fadd"),
        (Combine::Sum, false, false) => pick("simd_iadd", "quad_iadd"),
        (Combine::Product, true, false) => pick("simd_fmul", "quad_fmul"),
        (Combine::Sum, true, true) => pick("simd_prefix_fadd", "quad_prefix_fadd"),
        (Combine::Sum, false, true) => pick("simd_prefix_iadd", "quad_prefix_iadd"),
        (Combine::Product, true, true) => pick("simd_prefix_fmul", "quad_prefix_fmul"),
        (Combine::Min, true, false) => pick("simd_min.f", "quad_min.f"),
        (Combine::Max, true, false) => pick("simd_max.f", "quad_max.f"),
        (Combine::Min, false, false) if signed => pick("simd_min.s", "quad_min.s"),
        (Combine::Max, false, false) if signed => pick("simd_max.s", "quad_max.s"),
        (Combine::Min, false, false) => pick("simd_min.u", "quad_min.u"),
        (Combine::Max, false, false) => pick("simd_max.u", "quad_max.u"),
        (Combine::And, false, false) => pick("simd_and", "quad_and"),
        (Combine::Or, false, false) => pick("simd_or", "quad_or"),
        (Combine::Xor, false, false) => pick("simd_xor", "quad_xor"),
        _ => None,
    }
}

impl Lowerer<'_> {
    /// A builtin across threads; nothing if there is no code for it.
    pub(super) fn across(
        &mut self,
        call: BuiltinCall,
        args: &[Value],
        result: Value,
    ) -> Done<bool> {
        let scalar = args.first().and_then(|&arg| self.scalar_type(arg));
        for (lane, dest) in self.needed(result) {
            let done = if let Some((combine, quad)) = reduction(call.builtin) {
                self.reduce(call, (combine, quad), args, lane, dest)?
            } else if let Some(kind) = prefix(call.builtin) {
                self.scan(call, kind, args, lane, dest)?
            } else if let Some((from, quad)) = shuffle(call.builtin) {
                self.shuffled(from, quad, args, lane, dest)?
            } else {
                self.vote(call.builtin, scalar, args, lane, dest)?
            };
            if !done {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn cross_inst(&mut self, op: Op, name: Option<&'static str>, dest: Slice, sources: &[Operand]) {
        let mut inst = Inst::new(op).with(Field::Dest, Operand::Def(dest));
        for (field, &source) in [Field::A, Field::B].into_iter().zip(sources) {
            inst = inst.with(field, source);
        }
        inst.opcode = Opcode::Machine {
            op,
            name,
            saturate: false,
        };
        inst.convergent = true;
        self.push(inst);
    }

    fn reduce_inst(&mut self, name: &'static str, dest: Slice, source: Src) {
        let operand = match source {
            Src::Reg(slice) => used(slice),
            other => used(self.reg(other)),
        };
        self.cross_inst(Op::Reduce, Some(name), dest, &[operand]);
    }

    fn reduce(
        &mut self,
        call: BuiltinCall,
        (combine, quad): (Combine, bool),
        args: &[Value],
        lane: u32,
        dest: Slice,
    ) -> Done<bool> {
        let Some(&arg) = args.first() else {
            return Ok(false);
        };
        let scalar = self.scalar_type(arg).unwrap_or(Scalar::I32);
        let signed = call.sign == Sign::Signed;
        let mut source = self.src(arg, lane)?;
        let name = mnemonic(combine, quad, false, scalar.is_float(), signed);
        let name = name.filter(|_| !matches!(scalar, Scalar::I64 | Scalar::BF16));
        let Some(name) = name else {
            let steps = Steps {
                combine,
                scalar,
                signed,
                quad,
            };
            return self.reduce_in_steps(steps, source, dest);
        };
        match scalar {
            Scalar::I8 | Scalar::I1 => {
                if signed {
                    source = self.sign_extended(source, scalar.bits());
                }
                let wide = self.temp(Width::W16);
                self.reduce_inst(name, wide, source);
                self.mask_into(dest, Src::Reg(wide), scalar.mask());
            }
            _ => self.reduce_inst(name, dest, source),
        }
        Ok(true)
    }

    fn scan(
        &mut self,
        call: BuiltinCall,
        (combine, quad, inclusive): (Combine, bool, bool),
        args: &[Value],
        lane: u32,
        dest: Slice,
    ) -> Done<bool> {
        let Some(&arg) = args.first() else {
            return Ok(false);
        };
        let scalar = self.scalar_type(arg).unwrap_or(Scalar::I32);
        let float = scalar.is_float();
        let signed = call.sign == Sign::Signed;
        let source = self.src(arg, lane)?;
        let name = mnemonic(combine, quad, true, float, signed);
        let whole = matches!(
            scalar,
            Scalar::I16 | Scalar::I32 | Scalar::F16 | Scalar::F32
        );
        let Some(name) = name.filter(|_| whole && !(float && quad && inclusive)) else {
            let steps = Steps {
                combine,
                scalar,
                signed,
                quad,
            };
            return self.scan_in_steps(steps, inclusive, source, dest);
        };
        if !inclusive {
            self.reduce_inst(name, dest, source);
            return Ok(true);
        }
        let below = self.temp(dest.width);
        self.reduce_inst(name, below, source);
        if !float {
            self.add_into(dest, Src::Reg(below), source);
            return Ok(true);
        }
        // What is below the next lane includes this one, in the order the hardware adds;
        // the last lane has the sum of all.
        if !self.together() {
            return self.unsupported("a float prefix in divergent control flow");
        }
        let Some(total_name) = mnemonic(combine, quad, false, float, signed) else {
            return Ok(false);
        };
        let next = self.temp(dest.width);
        self.cross_inst(
            Op::Shuffle,
            Some("simd_shuffle_down"),
            next,
            &[used(below), imm(1)],
        );
        let total = self.temp(dest.width);
        self.reduce_inst(total_name, total, source);
        let own = self.temp(Width::W32);
        self.special_register(own, 52);
        let votes = self.temp(Width::W32);
        self.ballot_inst(votes, false, always_operands());
        let highest = self.temp(Width::W32);
        self.op(Op::Ffs, highest, &[used(votes)]);
        let test = self.int_compare(IntCond::Eq, Src::Reg(own), Src::Reg(highest));
        self.select_into(dest, test, Src::Reg(total), Src::Reg(next));
        Ok(true)
    }

    /// Whether all lanes of the simdgroup that started are here.
    fn together(&self) -> bool {
        self.block
            .is_some_and(|block| self.info.block(block) <= Uniformity::Simdgroup)
    }

    // ---- in steps ----

    /// `dest = a ∘ b` for a combination the hardware has no reduction for.
    fn combine_into(&mut self, steps: Steps, a: Src, b: Src, dest: Slice) -> Done<bool> {
        use assay_ssa::BinaryOp;
        let Steps {
            combine,
            scalar,
            signed,
            ..
        } = steps;
        let cond = match (combine, signed) {
            (Combine::Min, true) => Some(IntCond::Slt),
            (Combine::Min, false) => Some(IntCond::Ult),
            (Combine::Max, true) => Some(IntCond::Sge),
            (Combine::Max, false) => Some(IntCond::Uge),
            _ => None,
        };
        match scalar {
            Scalar::BF16 => {
                let (x, y) = (self.widen_brain(a), self.widen_brain(b));
                let (x, y) = (FloatSrc::plain(x), FloatSrc::plain(y));
                let op = match combine {
                    Combine::Sum => Op::Fadd32,
                    Combine::Product => Op::Fmul32,
                    Combine::Min | Combine::Max => {
                        let code = match combine {
                            Combine::Min => float_code::LESS_OR_NAN,
                            _ => float_code::GREATER_OR_NAN,
                        };
                        let test = self.float_compare(code, false, x, y);
                        self.select_into(dest, test, a, b);
                        return Ok(true);
                    }
                    _ => return Ok(false),
                };
                let single = self.temp(Width::W32);
                self.float_op(op, single, &[x, y]);
                self.round_to_brain(dest, Src::Reg(single));
            }
            Scalar::F16 | Scalar::F32 => {
                let half = scalar == Scalar::F16;
                let op = match (combine, half) {
                    (Combine::Sum, true) => Op::Fadd16,
                    (Combine::Sum, false) => Op::Fadd32,
                    (Combine::Product, true) => Op::Fmul16,
                    (Combine::Product, false) => Op::Fmul32,
                    _ => return Ok(false),
                };
                self.float_op(op, dest, &[FloatSrc::plain(a), FloatSrc::plain(b)]);
            }
            Scalar::I64 => match combine {
                Combine::Sum => {
                    self.wide_sum(Op::Iadd, dest, Self::bare(a), Self::bare(b), 0);
                }
                Combine::Product => self.wide_mul_into(dest, a, b),
                Combine::Min | Combine::Max => {
                    let test = self.wide_compare(cond.unwrap_or(IntCond::Ult), a, b);
                    self.choose_into(dest, test, a, b);
                }
                Combine::And => self.wide_logic(BinaryOp::And, dest, a, b),
                Combine::Or => self.wide_logic(BinaryOp::Or, dest, a, b),
                Combine::Xor => self.wide_logic(BinaryOp::Xor, dest, a, b),
            },
            _ => {
                let zero = Src::Const(0, dest.width);
                let whole = self.temp(dest.width);
                match combine {
                    Combine::Product => self.mul_add_into(whole, a, b, zero),
                    Combine::Sum => self.add_into(whole, a, b),
                    _ => return Ok(false),
                }
                match scalar {
                    Scalar::I16 | Scalar::I32 => self.copy(dest, Src::Reg(whole)),
                    _ => self.mask_into(dest, Src::Reg(whole), scalar.mask()),
                }
            }
        }
        Ok(true)
    }

    /// A shuffle by a known distance, of any width.
    fn shuffle_by(&mut self, name: &'static str, source: Src, by: u64) -> Src {
        let dest = self.temp(source.width());
        let parts: &[(u8, Width)] = match source.width() {
            Width::W64 => &[(0, Width::W32), (2, Width::W32)],
            width => &[(0, width)],
        };
        for &(half, width) in parts {
            let to = Slice {
                half: dest.half + half,
                width,
                ..dest
            };
            let from = used(self.reg(source.part(half, width)));
            self.cross_inst(Op::Shuffle, Some(name), to, &[from, imm(by as i64)]);
        }
        Src::Reg(dest)
    }

    /// Neighbours first, then pairs of pairs, towards the first lane of the group; the
    /// lanes that are missing are the last ones.
    fn reduce_in_steps(&mut self, steps: Steps, source: Src, dest: Slice) -> Done<bool> {
        if !self.together() {
            return self.unsupported("this reduction in divergent control flow");
        }
        let quad = steps.quad;
        let active = self.active(quad);
        let own = self.temp(Width::W32);
        self.special_register(own, 52);
        let place = match quad {
            true => {
                let inside = self.temp(Width::W32);
                self.mask_into(inside, Src::Reg(own), 3);
                inside
            }
            false => own,
        };
        let mut value = source;
        let mut distance = 1;
        while distance < steps.lanes() {
            let down = pick(quad, "simd_shuffle_down", "quad_shuffle_down");
            let other = self.shuffle_by(down, value, distance);
            // Only if the other lane takes part: otherwise it has no value.
            let at = self.temp(Width::W32);
            let by = Src::Const(distance, Width::W32);
            self.add_into(at, Src::Reg(place), by);
            let bit = self.temp(Width::W32);
            self.extract_into(bit, Src::Reg(active), Src::Reg(at), 1);
            let test = self.int_compare(IntCond::Ne, Src::Reg(bit), Src::Const(0, Width::W32));
            let real = self.temp(dest.width);
            self.choose_into(real, test, other, value);
            let both = self.temp(dest.width);
            if !self.combine_into(steps, value, Src::Reg(real), both)? {
                return Ok(false);
            }
            let next = self.temp(dest.width);
            self.choose_into(next, test, Src::Reg(both), value);
            value = Src::Reg(next);
            distance *= 2;
        }
        let all = self.shuffle_by(pick(quad, "simd_shuffle", "quad_shuffle"), value, 0);
        self.copy(dest, all);
        Ok(true)
    }

    /// The value 1, 2, 4, … lanes below is added, where there is such a lane.
    fn scan_in_steps(
        &mut self,
        steps: Steps,
        inclusive: bool,
        source: Src,
        dest: Slice,
    ) -> Done<bool> {
        if !self.together() {
            return self.unsupported("this prefix in divergent control flow");
        }
        let quad = steps.quad;
        let own = self.temp(Width::W32);
        self.special_register(own, 52);
        let place = self.temp(Width::W32);
        self.mask_into(place, Src::Reg(own), steps.lanes() - 1);
        let up = pick(quad, "simd_shuffle_up", "quad_shuffle_up");
        let mut value = source;
        let mut distance = 1;
        while distance < steps.lanes() {
            let other = self.shuffle_by(up, value, distance);
            let both = self.temp(dest.width);
            if !self.combine_into(steps, other, value, both)? {
                return Ok(false);
            }
            let by = Src::Const(distance, Width::W32);
            let test = self.int_compare(IntCond::Uge, Src::Reg(place), by);
            let next = self.temp(dest.width);
            self.choose_into(next, test, Src::Reg(both), value);
            value = Src::Reg(next);
            distance *= 2;
        }
        if inclusive {
            self.copy(dest, value);
            return Ok(true);
        }
        let below = self.shuffle_by(up, value, 1);
        let first = match (steps.combine, steps.scalar) {
            (Combine::Product, Scalar::F32) => 0x3f80_0000,
            (Combine::Product, Scalar::F16) => 0x3c00,
            (Combine::Product, Scalar::BF16) => 0x3f80,
            (Combine::Product, _) => 1,
            _ => 0,
        };
        let start = Src::Const(first, dest.width);
        let start = match dest.width {
            Width::W64 => Src::Reg(self.reg(start)),
            _ => start,
        };
        let test = self.int_compare(IntCond::Eq, Src::Reg(place), Src::Const(0, Width::W32));
        self.choose_into(dest, test, start, below);
        Ok(true)
    }

    // ---- shuffles ----

    fn shuffled(
        &mut self,
        from: From,
        quad: bool,
        args: &[Value],
        lane: u32,
        dest: Slice,
    ) -> Done<bool> {
        let (Some(&value), Some(&index)) = (args.first(), args.get(1)) else {
            return Ok(false);
        };
        let source = self.src(value, lane)?;
        let at = self.scalar(index)?;
        let uniform = self.info.value(index) <= Uniformity::Simdgroup;
        if dest.width == Width::W64 {
            for half in [0, 2] {
                let part = Slice {
                    half: dest.half + half,
                    width: Width::W32,
                    ..dest
                };
                let piece = source.part(half, Width::W32);
                self.shuffle_word(from, quad, piece, at, uniform, part)?;
            }
            return Ok(true);
        }
        self.shuffle_word(from, quad, source, at, uniform, dest)?;
        Ok(true)
    }

    fn shuffle_word(
        &mut self,
        from: From,
        quad: bool,
        source: Src,
        at: Src,
        uniform: bool,
        dest: Slice,
    ) -> Done {
        let source = used(self.reg(source));
        let size: u64 = if quad { 4 } else { 32 };
        let at = at.part(0, at.width().min(Width::W32));
        if let Some(known) = at.known() {
            let (name, known) = match from {
                From::Index => (pick(quad, "simd_shuffle", "quad_shuffle"), known),
                From::Up => (pick(quad, "simd_shuffle_up", "quad_shuffle_up"), known),
                From::Down => (pick(quad, "simd_shuffle_down", "quad_shuffle_down"), known),
                From::Xor => (pick(quad, "simd_shuffle_xor", "quad_shuffle_xor"), known),
                From::RotateUp => (rotate(quad), known % size),
                From::RotateDown => (rotate(quad), (size - known % size) % size),
            };
            // Beyond the group everyone reads itself.
            let known = known.min(255);
            self.cross_inst(Op::Shuffle, Some(name), dest, &[source, imm(known as i64)]);
            return Ok(());
        }
        if quad {
            return self.quad_shuffle(from, source, at, dest);
        }
        if !self.together() {
            return self.unsupported("a shuffle by a varying index in divergent control flow");
        }
        let target = self.target_lane(from, at);
        if uniform && from == From::Index {
            let low = target.part(0, Width::W16);
            let low = used(self.reg(low));
            self.cross_inst(Op::Shuffle, Some("simd_shuffle"), dest, &[source, low]);
            return Ok(());
        }
        self.gather(source, target, dest);
        Ok(())
    }

    /// The lane that is read, as an index; outside it is the lane itself.
    fn target_lane(&mut self, from: From, at: Src) -> Src {
        if from == From::Index {
            return at;
        }
        let own = self.temp(Width::W32);
        self.special_register(own, 52);
        let own = Src::Reg(own);
        let at = match at.width() {
            Width::W32 => at,
            _ => {
                let wide = self.temp(Width::W32);
                self.zero_extend_into(wide, at);
                Src::Reg(wide)
            }
        };
        let target = self.temp(Width::W32);
        match from {
            From::Up | From::RotateUp => self.sub_into(target, own, at),
            From::Down | From::RotateDown => self.add_into(target, own, at),
            _ => {
                let (a, b) = (self.operand(own), self.operand(at));
                self.bitop(super::int::XOR, target, a, b);
            }
        }
        let limit = Src::Const(32, Width::W32);
        let inside = self.temp(Width::W32);
        match from {
            From::RotateUp | From::RotateDown => self.mask_into(inside, Src::Reg(target), 31),
            From::Up => {
                // A distance of at most the own number.
                let test = self.int_compare(IntCond::Ule, at, own);
                self.select_into(inside, test, Src::Reg(target), own);
            }
            _ => {
                let near = self.temp(Width::W32);
                let test = self.int_compare(IntCond::Ult, Src::Reg(target), limit);
                self.select_into(near, test, Src::Reg(target), own);
                if from == From::Down {
                    let test = self.int_compare(IntCond::Ult, at, limit);
                    self.select_into(inside, test, Src::Reg(near), own);
                } else {
                    return Src::Reg(near);
                }
            }
        }
        Src::Reg(inside)
    }

    /// A shuffle by an index that differs between lanes. A quad offers one of its values
    /// at a time, the same to all; so each of the four is asked for in turn.
    fn gather(&mut self, source: Operand, target: Src, dest: Slice) {
        let low = target.part(0, Width::W16);
        let low = Src::Reg(self.reg(low));
        let own = self.temp(Width::W16);
        self.mask_into(own, low, 3);
        let quad = self.temp(Width::W16);
        self.mask_into(quad, low, 0xfffc);
        let mut found: Option<Slice> = None;
        for member in 0..4u64 {
            let index = self.temp(Width::W16);
            self.add_into(index, Src::Reg(quad), Src::Const(member, Width::W16));
            let value = self.temp(dest.width);
            self.cross_inst(
                Op::Shuffle,
                Some("simd_shuffle"),
                value,
                &[source, used(index)],
            );
            found = Some(match found {
                None => value,
                Some(before) => {
                    let to = if member == 3 {
                        dest
                    } else {
                        self.temp(dest.width)
                    };
                    let wanted = Src::Const(member, Width::W16);
                    let test = self.int_compare(IntCond::Eq, Src::Reg(own), wanted);
                    self.select_into(to, test, Src::Reg(value), Src::Reg(before));
                    to
                }
            });
        }
    }

    fn quad_shuffle(&mut self, from: From, source: Operand, at: Src, dest: Slice) -> Done {
        let name = match from {
            From::Index => "quad_shuffle",
            From::Up => "quad_shuffle_up",
            From::Down => "quad_shuffle_down",
            From::Xor => "quad_shuffle_xor",
            From::RotateUp | From::RotateDown => rotate(true),
        };
        let mut at = at;
        if from == From::RotateDown {
            let turned = self.temp(Width::W32);
            self.sub_into(turned, Src::Const(4, Width::W32), at);
            let cut = self.temp(Width::W32);
            self.mask_into(cut, Src::Reg(turned), 3);
            at = Src::Reg(cut);
        }
        let index = used(self.reg(at.part(0, Width::W16)));
        self.cross_inst(Op::Shuffle, Some(name), dest, &[source, index]);
        Ok(())
    }

    // ---- votes ----

    /// One bit per lane in which a comparison of integers holds.
    fn ballot_inst(&mut self, dest: Slice, quad: bool, (code, a, b): (u8, Operand, Operand)) {
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
    fn votes(&mut self, value: Value, quad: bool) -> Done<Slice> {
        let src = self.scalar(value)?;
        let slice = self.reg(src);
        let dest = self.temp(Width::W32);
        // Not equal to zero.
        self.ballot_inst(dest, quad, (8, used(slice), imm(0)));
        Ok(dest)
    }

    fn active(&mut self, quad: bool) -> Slice {
        let dest = self.temp(Width::W32);
        self.ballot_inst(dest, quad, always_operands());
        dest
    }

    fn vote(
        &mut self,
        builtin: Builtin,
        scalar: Option<Scalar>,
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
                self.bitop(super::int::AND, both, a, b);
                let all = matches!(builtin, Builtin::SimdVoteAll | Builtin::QuadVoteAll);
                let test = match all {
                    true => self.int_compare(IntCond::Eq, Src::Reg(both), Src::Reg(active)),
                    false => self.int_compare(IntCond::Ne, Src::Reg(both), zero),
                };
                self.truth_into(dest, test);
            }
            (Builtin::SimdIsFirst | Builtin::QuadIsFirst, _) => {
                let first = self.first_active(quad);
                let own = self.temp(Width::W32);
                self.special_register(own, 52);
                if quad {
                    let inside = self.temp(Width::W32);
                    self.mask_into(inside, Src::Reg(own), 3);
                    let test = self.int_compare(IntCond::Eq, Src::Reg(inside), Src::Reg(first));
                    self.truth_into(dest, test);
                } else {
                    let test = self.int_compare(IntCond::Eq, Src::Reg(own), Src::Reg(first));
                    self.truth_into(dest, test);
                }
            }
            (Builtin::SimdBroadcastFirst, &[value]) if scalar != Some(Scalar::I64) => {
                if !self.together() {
                    return self.first_of_divergent(value, lane, dest);
                }
                let source = self.src(value, lane)?;
                let source = used(self.reg(source));
                // Lanes that started together start with lane 0.
                self.cross_inst(Op::Shuffle, Some("simd_shuffle"), dest, &[source, imm(0)]);
            }
            (Builtin::SimdShuffleAndFillUp, &[_, _, _, ..])
            | (Builtin::SimdShuffleAndFillDown, &[_, _, _, ..]) => {
                return self.filled(builtin == Builtin::SimdShuffleAndFillUp, args, lane, dest);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The value of the lowest active lane: the sum over lanes of it, zero elsewhere, as
    /// bits.
    fn first_of_divergent(&mut self, value: Value, lane: u32, dest: Slice) -> Done<bool> {
        let source = self.src(value, lane)?;
        let first = self.first_active(false);
        let own = self.temp(Width::W32);
        self.special_register(own, 52);
        let test = self.int_compare(IntCond::Eq, Src::Reg(own), Src::Reg(first));
        let mine = self.temp(dest.width);
        self.select_into(mine, test, source, Src::Const(0, dest.width));
        self.reduce_inst("simd_or", dest, Src::Reg(mine));
        Ok(true)
    }

    /// The number of the lowest active lane.
    fn first_active(&mut self, quad: bool) -> Slice {
        let active = self.active(quad);
        let negated = self.temp(Width::W32);
        self.sub_into(negated, Src::Const(0, Width::W32), Src::Reg(active));
        let lowest = self.temp(Width::W32);
        let (a, b) = (
            self.operand(Src::Reg(active)),
            self.operand(Src::Reg(negated)),
        );
        self.bitop(super::int::AND, lowest, a, b);
        let first = self.temp(Width::W32);
        self.op(Op::Ffs, first, &[used(lowest)]);
        first
    }

    /// A mask in the width of the result.
    fn resize(&mut self, dest: Slice, src: Src) {
        match dest.width {
            Width::W32 => self.copy(dest, src),
            Width::W16 => self.copy(dest, src.part(0, Width::W16)),
            Width::W64 => self.zero_extend_into(dest, src),
        }
    }

    /// A shuffle whose gap is filled from a second value, over the whole simdgroup by a
    /// known distance.
    fn filled(&mut self, up: bool, args: &[Value], lane: u32, dest: Slice) -> Done<bool> {
        let modulo = match args.get(3) {
            Some(&arg) => self.src_if_known(arg, 0)?,
            None => Some(32),
        };
        let delta = self.src_if_known(args[2], 0)?;
        let (Some(modulo), Some(delta)) = (modulo, delta) else {
            return self.unsupported("a filling shuffle by a varying distance");
        };
        if modulo != 32 || delta >= 32 || dest.width == Width::W64 {
            return self.unsupported("a filling shuffle of part of a simdgroup");
        }
        let (data, fill) = (self.src(args[0], lane)?, self.src(args[1], lane)?);
        let turn = if up { delta } else { (32 - delta) % 32 };
        let mut turned = Vec::new();
        for source in [data, fill] {
            let source = used(self.reg(source));
            let to = self.temp(dest.width);
            self.cross_inst(
                Op::Shuffle,
                Some(rotate(false)),
                to,
                &[source, imm(turn as i64)],
            );
            turned.push(to);
        }
        let own = self.temp(Width::W32);
        self.special_register(own, 52);
        let limit = Src::Const(if up { delta } else { 32 - delta }, Width::W32);
        let test = self.int_compare(IntCond::Ult, Src::Reg(own), limit);
        let (low, high) = (Src::Reg(turned[0]), Src::Reg(turned[1]));
        match up {
            true => self.select_into(dest, test, high, low),
            false => self.select_into(dest, test, low, high),
        }
        Ok(true)
    }
}

/// A comparison of integers that always holds.
fn always_operands() -> (u8, Operand, Operand) {
    (0, imm(0), imm(0))
}

const fn pick(quad: bool, simd: &'static str, of_quad: &'static str) -> &'static str {
    if quad { of_quad } else { simd }
}

const fn rotate(quad: bool) -> &'static str {
    pick(quad, "simd_shuffle_rotate_up", "quad_shuffle_rotate_up")
}
