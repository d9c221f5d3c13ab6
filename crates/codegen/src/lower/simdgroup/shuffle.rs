//! Shuffles over a simdgroup or quad.

use crate::lower::operand::{Src, imm, used};
use crate::lower::select::{Done, Lowerer};
use crate::mir::{Inst, Operand, Slice};
use assay_agx::{Field, Op, Operand as Fixed, Width};
use assay_ssa::builtin::Builtin;
use assay_ssa::{IntCond, Uniformity, Value};

/// Which lane is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::lower) enum From {
    Index,
    Up,
    Down,
    Xor,
    RotateUp,
    RotateDown,
}

/// Which lane a builtin reads, and whether it stays in the quad.
pub(in crate::lower) const fn shuffle(builtin: Builtin) -> Option<(From, bool)> {
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

impl Lowerer<'_> {
    pub(in crate::lower) fn shuffled(
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

    pub(in crate::lower) fn shuffle_word(
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
        let target = self.target_lane(from, at);
        if uniform && from == From::Index {
            let low = target.part(0, Width::W16);
            let low = self.reg(low);
            self.ask(source, low, 0, dest);
            self.end_asking();
            return Ok(());
        }
        self.gather(source, target, dest);
        Ok(())
    }

    /// A distance or index as 32 bits.
    pub(in crate::lower) fn word_of(&mut self, at: Src) -> Src {
        match (at, at.width()) {
            (Src::Const(bits, _), _) => Src::Const(bits & 0xffff_ffff, Width::W32),
            (_, Width::W16) => {
                let wide = self.temp(Width::W32);
                self.zero_extend_into(wide, at);
                Src::Reg(wide)
            }
            _ => at.part(0, Width::W32),
        }
    }

    /// The lane that is read, as an index; outside it is the lane itself.
    pub(in crate::lower) fn target_lane(&mut self, from: From, at: Src) -> Src {
        if from == From::Index {
            return at;
        }
        let own = self.temp(Width::W32);
        self.special_register(own, 52);
        let own = Src::Reg(own);
        let at = self.word_of(at);
        let target = self.temp(Width::W32);
        match from {
            From::Up | From::RotateUp => self.sub_into(target, own, at),
            From::Down | From::RotateDown => self.add_into(target, own, at),
            _ => {
                let (a, b) = (self.operand(own), self.operand(at));
                self.bitop(crate::lower::integer::arithmetic::XOR, target, a, b);
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
    pub(in crate::lower) fn gather(&mut self, source: Operand, target: Src, dest: Slice) {
        let low = target.part(0, Width::W16);
        let low = Src::Reg(self.reg(low));
        let own = self.temp(Width::W16);
        self.mask_into(own, low, 3);
        let quad = self.temp(Width::W16);
        self.mask_into(quad, low, 0xfffc);
        let mut found: Option<Slice> = None;
        for member in 0..4u64 {
            let value = self.temp(dest.width);
            self.ask(source, quad, member, value);
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
        self.end_asking();
    }

    /// Asks for the value of lane `quad + member`, where `quad` has no bits of `member`.
    /// Lanes that are masked off ask too, with whatever is in the register: so it is one
    /// that holds zero there.
    fn ask(&mut self, source: Operand, quad: Slice, member: u64, dest: Slice) {
        let index = if self.together() {
            match member {
                0 => used(quad),
                _ => {
                    let index = self.temp(Width::W16);
                    self.add_into(index, Src::Reg(quad), Src::Const(member, Width::W16));
                    used(index)
                }
            }
        } else {
            self.uses_selector = true;
            let mut set = Inst::new(Op::Bitop)
                .with(
                    Field::TruthTable,
                    Operand::Fixed(Fixed::TruthTable(crate::lower::integer::arithmetic::OR)),
                )
                .with(Field::Dest, Operand::SELECTOR)
                .with(Field::A, used(quad))
                .with(Field::B, imm(member as i64));
            set.convergent = true;
            self.push(set);
            Operand::SELECTOR
        };
        self.cross_inst(Op::Shuffle, Some("simd_shuffle"), dest, &[source, index]);
    }

    /// Leaves zero where lanes that are masked off later are asked for numbers.
    fn end_asking(&mut self) {
        if self.together() {
            return;
        }
        let mut clear = Inst::new(Op::MovImm)
            .with(Field::Dest, Operand::SELECTOR)
            .with(Field::Imm, imm(0));
        clear.convergent = true;
        self.push(clear);
    }

    pub(in crate::lower) fn quad_shuffle(
        &mut self,
        from: From,
        source: Operand,
        at: Src,
        dest: Slice,
    ) -> Done {
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
}

pub(in crate::lower) const fn pick(
    quad: bool,
    simd: &'static str,
    of_quad: &'static str,
) -> &'static str {
    if quad { of_quad } else { simd }
}

pub(in crate::lower) const fn rotate(quad: bool) -> &'static str {
    pick(quad, "simd_shuffle_rotate_up", "quad_shuffle_rotate_up")
}
