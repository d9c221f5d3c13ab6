//! Operations across lanes, and products of matrices.

use super::arithmetic::Arithmetic;
use super::emit::{Emitter, Refused};
use super::meaning::Meaning;
use super::text::{Shape, choice};
use crate::code::{Program, Reg};
use crate::collective::{Combine, Shuffle, What};
use crate::matrix::{MatrixOp, Product};
use assay_num::matrix::{element_of_lane, lane_of_element};
use assay_ssa::Scalar;

impl Emitter<'_> {
    pub(super) fn collective(&mut self, position: usize, index: u32) -> Result<(), Refused> {
        let Some(collective) = self.program.collectives.get(index as usize).copied() else {
            return Err(Refused("a collective that does not exist".to_owned()));
        };
        let (a, d) = (collective.a, collective.d);
        if a.wide || d.wide {
            return self.cold(position);
        }
        match (collective.what, collective.scalar) {
            (What::Reduce { op, group: 32 }, Scalar::F32) if op != Combine::Product => {
                let value = self.reduce_singles(a, op);
                self.set(d, &value);
                Ok(())
            }
            (
                What::Reduce {
                    op: Combine::Sum,
                    group: 32,
                },
                Scalar::I32,
            ) => {
                let (lanes, mask) = (self.lanes(a), self.mask_lanes());
                let lanes = self.text.make(&format!(
                    "select <32 x i1> {mask}, <32 x i32> {lanes}, <32 x i32> zeroinitializer"
                ));
                let sum = self.text.make(&format!(
                    "call i32 @llvm.vector.reduce.add.v32i32(<32 x i32> {lanes})"
                ));
                self.set(d, &sum);
                Ok(())
            }
            (
                What::Shuffle {
                    how: how @ (Shuffle::Xor | Shuffle::Down | Shuffle::Up | Shuffle::Index),
                    group: 32,
                },
                _,
            ) => {
                let Some(number) = collective
                    .b
                    .and_then(|b| self.known.constant(b))
                    .filter(|&n| n < 32)
                else {
                    return self.cold(position);
                };
                let number = number as usize;
                let source = |lane: usize| match how {
                    Shuffle::Xor => lane ^ number,
                    Shuffle::Down => {
                        if lane + number < 32 {
                            lane + number
                        } else {
                            lane
                        }
                    }
                    Shuffle::Up => {
                        if lane >= number {
                            lane - number
                        } else {
                            lane
                        }
                    }
                    _ => number,
                };
                let places: Vec<usize> = (0..32).map(source).collect();
                let lanes = match self.known.of(d).raw {
                    true => self.raw_operand(a, Shape::Lanes),
                    false => self.lanes(a),
                };
                let moved = self.text.make(&format!(
                    "shufflevector <32 x i32> {lanes}, <32 x i32> poison, {}",
                    choice(&places)
                ));
                if self.shape(d) == Shape::One {
                    return self.cold(position);
                }
                // Lanes that are not active keep what they had.
                let (before, mask) = (self.get(d), self.mask_lanes());
                let value = self.text.make(&format!(
                    "select <32 x i1> {mask}, <32 x i32> {moved}, <32 x i32> {before}"
                ));
                self.set(d, &value);
                Ok(())
            }
            _ => self.cold(position),
        }
    }

    /// Neighbours first, then pairs of pairs: the order of `assay_num::reduce`.
    fn reduce_singles(&mut self, a: Reg, op: Combine) -> String {
        let identity: i64 = match op {
            Combine::Sum => i64::from(assay_num::reduce::SUM_IDENTITY.to_bits() as i32),
            _ => i64::from(assay_num::reduce::MINMAX_IDENTITY.to_bits() as i32),
        };
        let takes_raw = op == Combine::Sum || self.known.of(a).raw;
        let lanes = match takes_raw {
            true => self.raw_operand(a, Shape::Lanes),
            false => self.lanes(a),
        };
        let mask = self.mask_lanes();
        let mut work = self.text.make(&format!(
            "select <32 x i1> {mask}, <32 x i32> {lanes}, <32 x i32> splat (i32 {identity})"
        ));
        // Always 32 lanes wide: the places beyond those that count hold anything.
        let mut width = 32;
        while width > 1 {
            width /= 2;
            let even: Vec<usize> = (0..32)
                .map(|at| if at < width { 2 * at } else { 0 })
                .collect();
            let odd: Vec<usize> = (0..32)
                .map(|at| if at < width { 2 * at + 1 } else { 0 })
                .collect();
            let mut halves = Vec::new();
            for places in [even, odd] {
                halves.push(self.text.make(&format!(
                    "shufflevector <32 x i32> {work}, <32 x i32> poison, {}",
                    choice(&places)
                )));
            }
            let mut arithmetic = Arithmetic {
                text: &mut self.text,
                shape: Shape::Lanes,
            };
            work = match op {
                Combine::Sum => {
                    let meaning = Meaning::Binary(assay_ssa::BinaryOp::FAdd, Scalar::F32);
                    arithmetic.apply(meaning, &halves, true).unwrap_or_default()
                }
                Combine::Min { .. } => arithmetic.choose("olt", &halves[0], &halves[1]),
                _ => arithmetic.choose("ogt", &halves[0], &halves[1]),
            };
        }
        self.text
            .make(&format!("extractelement <32 x i32> {work}, i64 0"))
    }

    pub(super) fn matrix(&mut self, position: usize, index: u32) -> Result<(), Refused> {
        match self.program.matrices.get(index as usize).copied() {
            Some(MatrixOp::Load { d, scalar, at }) => {
                return self.tile(position, d, scalar, at, false);
            }
            Some(MatrixOp::Store { a, scalar, at }) => {
                return self.tile(position, a, scalar, at, true);
            }
            _ => {}
        }
        let Some(of) = product_here(self.program, index) else {
            return self.cold(position);
        };
        let mut operands = Vec::new();
        for (regs, scalar) in [of.a, of.b] {
            let mut pair = Vec::new();
            for reg in regs {
                pair.push(self.single(Reg::narrow(reg), scalar));
            }
            operands.push(pair);
        }
        let mut sums = Vec::new();
        for which in 0..2 {
            let sum = match of.c {
                Some((regs, scalar)) => self.single(Reg::narrow(regs[which]), scalar),
                None => "zeroinitializer".to_owned(),
            };
            sums.push(sum);
        }
        for inner in 0..8 {
            // Of the left operand the element (row, inner), of the right one (inner, column).
            let left: Vec<usize> = (0..32)
                .map(|lane| lane_of_element(element_of_lane(lane).0, inner).0)
                .collect();
            let [first, second] = [&operands[0][0], &operands[0][1]];
            let a = if inner % 2 == 0 { first } else { second };
            let a = self.text.make(&format!(
                "shufflevector <32 x float> {a}, <32 x float> poison, {}",
                choice(&left)
            ));
            for which in 0..2 {
                let right: Vec<usize> = (0..32)
                    .map(|lane| lane_of_element(inner, element_of_lane(lane).1).0)
                    .collect();
                let b = self.text.make(&format!(
                    "shufflevector <32 x float> {}, <32 x float> poison, {}",
                    operands[1][which],
                    choice(&right)
                ));
                let mut arithmetic = Arithmetic {
                    text: &mut self.text,
                    shape: Shape::Lanes,
                };
                let product = arithmetic.multiply_add(&a, &b, &sums[which]);
                sums[which] = product;
            }
        }
        for (which, sum) in sums.iter().enumerate() {
            let bits = self
                .text
                .make(&format!("bitcast <32 x float> {sum} to <32 x i32>"));
            let d = Reg::narrow(of.d[which]);
            self.set(d, &bits);
        }
        Ok(())
    }

    /// A register of a matrix as singles.
    fn single(&mut self, reg: Reg, scalar: Scalar) -> String {
        let bits = match scalar {
            Scalar::F32 => self.raw_operand(reg, Shape::Lanes),
            _ => self.lanes(reg),
        };
        let text = &mut self.text;
        let shape = Shape::Lanes;
        Arithmetic { text, shape }.widen(&bits, scalar)
    }
}

/// The product of matrices that an operation is, if it has code of its own.
pub(super) fn product_here(program: &Program, index: u32) -> Option<Product> {
    let Some(MatrixOp::Product { index }) = program.matrices.get(index as usize) else {
        return None;
    };
    let of = *program.products.get(*index as usize)?;
    let single = |(_, scalar)| scalar == Scalar::F32;
    (of.d_type == Scalar::F32 && of.c.is_none_or(single)).then_some(of)
}
