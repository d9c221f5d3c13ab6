//! Which operation is written how.

use super::{Emitter, Refused};
use crate::code::{Op, Reg};
use crate::native::arithmetic::Arithmetic;
use crate::native::meaning::Meaning;
use crate::native::text::Shape;
use assay_ssa::builtin::Builtin;

impl Emitter<'_> {
    pub(super) fn operation(&mut self, position: usize, op: &Op) -> Result<(), Refused> {
        match *op {
            Op::N1 { d, a, .. } => self.lane_function(position, Reg::narrow(d), &[Reg::narrow(a)]),
            Op::N2 { d, a, b, .. } => {
                self.lane_function(position, Reg::narrow(d), &[Reg::narrow(a), Reg::narrow(b)])
            }
            Op::N3 { d, a, b, c, .. } => self.lane_function(
                position,
                Reg::narrow(d),
                &[Reg::narrow(a), Reg::narrow(b), Reg::narrow(c)],
            ),
            Op::W1 { d, a, .. } => self.lane_function(position, Reg::wide(d), &[Reg::wide(a)]),
            Op::W2 { d, a, b, .. } => {
                self.lane_function(position, Reg::wide(d), &[Reg::wide(a), Reg::wide(b)])
            }
            Op::Widen { d, a, .. } => self.lane_function(position, Reg::wide(d), &[Reg::narrow(a)]),
            Op::Narrowing { d, a, .. } => {
                self.lane_function(position, Reg::narrow(d), &[Reg::wide(a)])
            }
            Op::Compare { d, a, b, .. } => {
                self.lane_function(position, Reg::narrow(d), &[Reg::wide(a), Reg::wide(b)])
            }
            Op::SelectNarrow { d, cond, yes, no } => {
                self.choose(Reg::narrow(d), cond, Reg::narrow(yes), Reg::narrow(no))
            }
            Op::SelectWide { d, cond, yes, no } => {
                self.choose(Reg::wide(d), cond, Reg::wide(yes), Reg::wide(no))
            }
            Op::PtrAdd {
                d,
                base,
                index,
                kind,
                scale,
                offset,
            } => {
                self.pointer_add(d, base, index, kind, scale, offset);
                Ok(())
            }
            Op::Load { transfer } | Op::Store { transfer } => {
                let Some(transfer) = self.program.transfers.get(transfer as usize).copied() else {
                    return Err(Refused("a transfer that does not exist".to_owned()));
                };
                self.transfer(position, &transfer, matches!(op, Op::Store { .. }))
            }
            Op::MoveNarrow { d, a } => self.move_to(Reg::narrow(d), Reg::narrow(a)),
            Op::MoveWide { d, a } => self.move_to(Reg::wide(d), Reg::wide(a)),
            Op::Moves { list, .. } => {
                for pair in self.program.list(list).chunks_exact(2) {
                    self.move_to(pair[0], pair[1])?;
                }
                Ok(())
            }
            Op::Position { which, axis, d } => {
                let at = self.source.position(which, axis);
                let at = at.ok_or_else(|| Refused("an unknown position".to_owned()))?;
                let value = match self.shape(d) {
                    Shape::One => {
                        let place = self
                            .text
                            .make(&format!("getelementptr i32, ptr %bases, i64 {at}"));
                        {
                            let range = self.range_of(which, axis);
                            self.text.make(&format!("load i32, ptr {place}{range}"))
                        }
                    }
                    Shape::Lanes => {
                        let place = self
                            .text
                            .make(&format!("getelementptr <32 x i32>, ptr %lanes, i64 {at}"));
                        self.text
                            .make(&format!("load <32 x i32>, ptr {place}, align 4"))
                    }
                };
                let value = match d.wide {
                    true => {
                        let shape = self.shape(d);
                        self.text.make(&format!(
                            "zext {} {value} to {}",
                            shape.of("i32"),
                            shape.of("i64")
                        ))
                    }
                    false => value,
                };
                self.set(d, &value);
                Ok(())
            }
            Op::Collective { index } => self.collective(position, index),
            Op::Matrix { index } => self.matrix(position, index),
            Op::Order { .. } | Op::Expect { .. } => Ok(()),
            Op::Barrier { .. } => {
                self.barrier();
                Ok(())
            }
            Op::If { .. }
            | Op::Else { .. }
            | Op::EndIf { .. }
            | Op::EndThen { .. }
            | Op::ScopeBegin { .. }
            | Op::ScopeEnd { .. }
            | Op::LoopEnd { .. }
            | Op::Leave { .. }
            | Op::SkipIfNone { .. }
            | Op::Return
            | Op::Unreachable
            | Op::End => {
                self.control(position, op);
                Ok(())
            }
            _ => self.cold(position),
        }
    }

    /// What the first lane's position is less than, for the compiler.
    fn range_of(&self, which: Builtin, axis: u8) -> String {
        let [width, height, depth] = self.threadgroup;
        let threads = width * height * depth;
        let limit = match which {
            Builtin::ThreadPositionInThreadgroup => {
                [width, height, depth].get(usize::from(axis)).copied()
            }
            Builtin::ThreadIndexInThreadgroup => Some(threads),
            Builtin::SimdgroupIndexInThreadgroup => Some(threads.div_ceil(32)),
            _ => None,
        };
        limit.map_or(String::new(), |limit| {
            format!(", !range !{{i32 0, i32 {limit}}}")
        })
    }

    fn lane_function(&mut self, position: usize, d: Reg, operands: &[Reg]) -> Result<(), Refused> {
        let meaning = self
            .source
            .meanings
            .get(position)
            .copied()
            .unwrap_or(Meaning::Function);
        let shape = self.shape(d);
        let all_raw = operands.iter().all(|&reg| self.known.of(reg).raw);
        let takes_raw = Arithmetic::takes_raw(meaning, all_raw);
        let mut given = Vec::with_capacity(operands.len());
        for &reg in operands {
            given.push(match takes_raw {
                true => self.raw_operand(reg, shape),
                false => self.operand(reg, shape),
            });
        }
        let raw = self.known.of(d).raw;
        let text = &mut self.text;
        match (Arithmetic { text, shape }).apply(meaning, &given, raw) {
            Some(result) => {
                self.set(d, &result);
                Ok(())
            }
            None => self.cold(position),
        }
    }

    fn choose(&mut self, d: Reg, cond: u32, yes: Reg, no: Reg) -> Result<(), Refused> {
        let shape = self.shape(d);
        let bits = Self::bits(d);
        let (yes, no) = match self.known.of(d).raw {
            true => (self.raw_operand(yes, shape), self.raw_operand(no, shape)),
            false => (self.operand(yes, shape), self.operand(no, shape)),
        };
        let cond = self.operand(Reg::narrow(cond), shape);
        let truth = self.text.make(&format!(
            "trunc {} {cond} to {}",
            shape.of("i32"),
            shape.of("i1")
        ));
        let result = Arithmetic {
            text: &mut self.text,
            shape,
        }
        .select(bits, &truth, &yes, &no);
        self.set(d, &result);
        Ok(())
    }

    /// Gives a register another's numbers, in the active lanes.
    fn move_to(&mut self, d: Reg, a: Reg) -> Result<(), Refused> {
        let value = match self.shape(d) {
            Shape::One => {
                let (from, to) = (self.known.of(a), self.known.of(d));
                match from.is_scalar() && from.strides == to.strides {
                    true if to.raw => self.raw_operand(a, Shape::One),
                    true => self.one(a),
                    false if to.is_uniform() => self.first_active(a),
                    false => {
                        return Err(Refused(
                            "a move between lanes that differ otherwise".to_owned(),
                        ));
                    }
                }
            }
            Shape::Lanes => {
                let before = self.get(d);
                let after = match self.known.of(d).raw {
                    true => self.raw_operand(a, Shape::Lanes),
                    false => self.lanes(a),
                };
                let mask = self.mask_lanes();
                Arithmetic {
                    text: &mut self.text,
                    shape: Shape::Lanes,
                }
                .select(Self::bits(d), &mask, &after, &before)
            }
        };
        self.set(d, &value);
        Ok(())
    }
}
