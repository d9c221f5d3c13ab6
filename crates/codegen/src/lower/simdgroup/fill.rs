//! Shuffles whose gap is filled from a second value.

use crate::lower::operand::{Src, imm, used};
use crate::lower::select::{Done, Lowerer};
use crate::lower::simdgroup::shuffle::rotate;
use crate::mir::Slice;
use assay_agx::{Op, Width};
use assay_ssa::{IntCond, Uniformity, Value};

/// Which way values move, and inside what.
#[derive(Clone, Copy)]
pub(in crate::lower) struct Fill {
    pub(in crate::lower) up: bool,
    pub(in crate::lower) quad: bool,
}

/// Where each lane finds its value.
enum Place {
    /// The lanes turn by an immediate or by a register that is the same in all.
    Turn(Src),
    /// The number of a lane, of the simdgroup or of the quad.
    Lane(Slice),
}

impl Lowerer<'_> {
    /// A shuffle over groups of `modulo` lanes: what would come from outside the group
    /// comes from the other end of the filling.
    pub(in crate::lower) fn filled(
        &mut self,
        fill: Fill,
        args: &[Value],
        lane: u32,
        dest: Slice,
    ) -> Done<bool> {
        let most: u64 = if fill.quad { 4 } else { 32 };
        let modulo = match args.get(3) {
            Some(&arg) => self.src_if_known(arg, 0)?,
            None => Some(most),
        };
        let Some(modulo) = modulo else {
            return self.unsupported("a filling shuffle over groups of a varying size");
        };
        let modulo = match modulo & 0xffff_ffff {
            0 => most,
            size => size.min(most),
        };
        if !modulo.is_power_of_two() {
            return self.unsupported(format!("a filling shuffle over groups of {modulo} lanes"));
        }
        let delta = self.scalar(args[2])?;
        let delta = self.word_of(delta);
        let own = self.temp(Width::W32);
        self.special_register(own, 52);
        let inside = self.temp(Width::W32);
        self.mask_into(inside, Src::Reg(own), modulo - 1);
        let same = delta.known().is_some()
            || self.together() && self.info.value(args[2]) <= Uniformity::Simdgroup;
        let place = match same && modulo == 32 && dest.width != Width::W64 {
            true => Place::Turn(self.turn(fill.up, delta)),
            false => Place::Lane(self.lane_in_group(fill, modulo, inside, delta)),
        };
        let mut moved = [dest; 2];
        for (to, &arg) in moved.iter_mut().zip(args) {
            *to = self.temp(dest.width);
            let source = self.src(arg, lane)?;
            self.fetch(fill, &place, source, *to);
        }
        let [value, filling] = moved.map(Src::Reg);
        let test = match fill.up {
            true => self.int_compare(IntCond::Ugt, delta, Src::Reg(inside)),
            false => {
                // Fewer lanes are above than it wants to go.
                let left = self.temp(Width::W32);
                self.sub_into(left, Src::Const(modulo, Width::W32), Src::Reg(inside));
                self.int_compare(IntCond::Uge, delta, Src::Reg(left))
            }
        };
        self.choose_into(dest, test, filling, value);
        Ok(true)
    }

    /// How far up all lanes turn.
    fn turn(&mut self, up: bool, delta: Src) -> Src {
        if let Some(known) = delta.known() {
            let turn = if up {
                known % 32
            } else {
                (32 - known % 32) % 32
            };
            return Src::Const(turn, Width::W32);
        }
        let upwards = match up {
            true => delta,
            false => {
                let negated = self.temp(Width::W32);
                self.sub_into(negated, Src::Const(0, Width::W32), delta);
                Src::Reg(negated)
            }
        };
        let turn = self.temp(Width::W32);
        self.mask_into(turn, upwards, 31);
        Src::Reg(turn)
    }

    /// The lane whose value comes here, `delta` away and inside the group.
    fn lane_in_group(&mut self, fill: Fill, modulo: u64, inside: Slice, delta: Src) -> Slice {
        let all: u64 = if fill.quad { 4 } else { 32 };
        let own = self.temp(Width::W32);
        self.special_register(own, 52);
        let away = self.temp(Width::W32);
        match fill.up {
            true => self.sub_into(away, Src::Reg(inside), delta),
            false => self.add_into(away, Src::Reg(inside), delta),
        }
        let wrapped = self.temp(Width::W32);
        self.mask_into(wrapped, Src::Reg(away), modulo - 1);
        if modulo == all {
            return wrapped;
        }
        let start = self.temp(Width::W32);
        self.mask_into(start, Src::Reg(own), (all - 1) & !(modulo - 1));
        let lane = self.temp(Width::W32);
        self.add_into(lane, Src::Reg(start), Src::Reg(wrapped));
        lane
    }

    /// A value of another lane.
    fn fetch(&mut self, fill: Fill, place: &Place, source: Src, to: Slice) {
        let parts: &[(u8, Width)] = match to.width {
            Width::W64 => &[(0, Width::W32), (2, Width::W32)],
            width => &[(0, width)],
        };
        for &(half, width) in parts {
            let part = Slice {
                half: to.half + half,
                width,
                ..to
            };
            let source = used(self.reg(source.part(half, width)));
            match *place {
                Place::Turn(by) => {
                    let by = match by.known() {
                        Some(known) => imm(known as i64),
                        None => used(self.reg(by.part(0, Width::W16))),
                    };
                    self.cross_inst(Op::Shuffle, Some(rotate(false)), part, &[source, by]);
                }
                Place::Lane(lane) if fill.quad => {
                    let index = used(self.reg(Src::Reg(lane).part(0, Width::W16)));
                    self.cross_inst(Op::Shuffle, Some("quad_shuffle"), part, &[source, index]);
                }
                Place::Lane(lane) => self.gather(source, Src::Reg(lane), part),
            }
        }
    }
}
