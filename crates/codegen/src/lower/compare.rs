//! Comparisons, truth values and selects.
//!
//! A truth value is a comparison taken into whatever asks for it, or a half register
//! that holds 0 or 1.

use super::operand::{Condition, FloatSrc, IntSrc, Src, float_code, imm, int_code};
use super::select::{Done, Lowerer};
use crate::mir::{Operand, Slice};
use assay_agx::Width;
use assay_ssa::{BinaryOp, CastOp, FloatCond, InstData, IntCond, Scalar, Value};

/// How a float comparison is made of the hardware's.
enum FloatTest {
    /// One comparison, or its opposite.
    One(u8, bool),
    /// No operand is NaN, or some is.
    Ordered(bool),
    /// Less or greater, or neither.
    Different(bool),
    Always(bool),
}

fn float_test(cond: FloatCond) -> FloatTest {
    use float_code::{EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL};
    match cond {
        FloatCond::False => FloatTest::Always(false),
        FloatCond::True => FloatTest::Always(true),
        FloatCond::Oeq => FloatTest::One(EQUAL, false),
        FloatCond::Une => FloatTest::One(EQUAL, true),
        FloatCond::Olt => FloatTest::One(LESS, false),
        FloatCond::Uge => FloatTest::One(LESS, true),
        FloatCond::Ogt => FloatTest::One(GREATER, false),
        FloatCond::Ule => FloatTest::One(GREATER, true),
        FloatCond::Ole => FloatTest::One(LESS_EQUAL, false),
        FloatCond::Ugt => FloatTest::One(LESS_EQUAL, true),
        FloatCond::Oge => FloatTest::One(GREATER_EQUAL, false),
        FloatCond::Ult => FloatTest::One(GREATER_EQUAL, true),
        FloatCond::Ord => FloatTest::Ordered(true),
        FloatCond::Uno => FloatTest::Ordered(false),
        FloatCond::One => FloatTest::Different(true),
        FloatCond::Ueq => FloatTest::Different(false),
    }
}

/// The condition that a half register is not zero.
fn is_set(operand: Operand) -> Condition {
    Condition {
        float: false,
        code: 0,
        negate: true,
        a: operand,
        b: imm(0),
    }
}

impl Lowerer<'_> {
    /// A truth value as a condition.
    pub(super) fn condition(&mut self, value: Value, lane: u32) -> Done<Condition> {
        if let Some((data, at)) = self.behind(value, lane)? {
            match data {
                InstData::IntCompare { cond, args, .. } => {
                    if let Some(condition) = self.int_condition(cond, args, at)? {
                        return Ok(condition);
                    }
                }
                InstData::FloatCompare { cond, args, .. } => {
                    if let Some(condition) = self.float_condition(cond, args, at)? {
                        return Ok(condition);
                    }
                }
                InstData::Binary {
                    op: BinaryOp::Xor,
                    args: [a, b],
                    ..
                } if self.src_if_known(b, at)? == Some(1) => {
                    return Ok(self.condition(a, at)?.inverted_if(true));
                }
                InstData::Cast {
                    op: CastOp::Trunc,
                    arg,
                    ..
                } => {
                    // The low bit of a number.
                    let src = self.src(arg, at)?.part(0, Width::W16);
                    let bit = self.temp(Width::W16);
                    self.mask_into(bit, src, 1);
                    return Ok(is_set(Operand::Use(bit, assay_agx::Modifiers::NONE)));
                }
                _ => {}
            }
        }
        let src = self.src(value, lane)?;
        let operand = self.operand(src);
        Ok(is_set(operand))
    }

    fn int_condition(
        &mut self,
        cond: IntCond,
        args: [Value; 2],
        lane: u32,
    ) -> Done<Option<Condition>> {
        let signed = cond.is_signed();
        let scalar = self.scalar_type(args[0]);
        let width = self.width(args[0], lane)?;
        if width == Width::W64 {
            return self.wide_condition(cond, args, lane).map(Some);
        }
        let (code, negate) = int_code(cond);
        let (a, b) = match scalar {
            Some(scalar @ (Scalar::I8 | Scalar::I1)) if signed => {
                let (a, b) = (self.src(args[0], lane)?, self.src(args[1], lane)?);
                let a = self.sign_extended(a, scalar.bits());
                (a, self.sign_extended(b, scalar.bits()))
            }
            _ => (
                self.compared(args[0], lane, signed)?,
                self.compared(args[1], lane, signed)?,
            ),
        };
        let (a, b) = (
            self.compare_operand(a, signed),
            self.compare_operand(b, signed),
        );
        Ok(Some(Condition {
            float: false,
            code,
            negate,
            a,
            b,
        }))
    }

    /// A side of a comparison; halves are extended as the comparison says.
    fn compared(&mut self, value: Value, lane: u32, signed: bool) -> Done<Src> {
        if let Some((InstData::Cast { op, arg, .. }, at)) = self.behind(value, lane)? {
            let from = self.scalar_type(arg);
            let same = match op {
                CastOp::ZExt => !signed,
                CastOp::SExt => signed && from == Some(Scalar::I16),
                _ => false,
            };
            if same && from != Some(Scalar::I64) {
                return self.src(arg, at);
            }
        }
        self.src(value, lane)
    }

    /// Small constants must not be read with the sign of a half.
    fn compare_operand(&mut self, src: Src, signed: bool) -> Operand {
        match src {
            Src::Const(bits, Width::W32) if signed && (0x8000..=0xffff).contains(&bits) => {
                match self.layout.constant(bits, Width::W32) {
                    Some(half) => super::operand::uniform(half, Width::W32, Default::default()),
                    None => super::operand::used(self.reg(src)),
                }
            }
            _ => self.operand(src),
        }
    }

    fn float_condition(
        &mut self,
        cond: FloatCond,
        args: [Value; 2],
        lane: u32,
    ) -> Done<Option<Condition>> {
        let test = float_test(cond);
        let brain = self.scalar_type(args[0]) == Some(Scalar::BF16);
        let nan_free = |lowerer: &mut Self, value: Value| -> Done<bool> {
            let known = lowerer.src_if_known(value, lane)?;
            Ok(known.is_some())
        };
        let (code, negate, pair) = match test {
            FloatTest::One(code, negate) => (code, negate, args),
            // One operand is the other, or a constant (which no front end makes NaN).
            FloatTest::Ordered(yes) if args[0] == args[1] || nan_free(self, args[1])? => {
                (float_code::EQUAL, !yes, [args[0], args[0]])
            }
            _ => return Ok(None),
        };
        let (a, b) = if brain {
            let a = self.brain_single(pair[0], lane)?;
            (a, self.brain_single(pair[1], lane)?)
        } else {
            (self.float(pair[0], lane)?, self.float(pair[1], lane)?)
        };
        Ok(Some(self.float_compare(code, negate, a, b)))
    }

    pub(super) fn float_compare(
        &mut self,
        code: u8,
        negate: bool,
        a: FloatSrc,
        b: FloatSrc,
    ) -> Condition {
        let (a, b) = (self.float_operand(a), self.float_operand(b));
        Condition {
            float: true,
            code,
            negate,
            a,
            b,
        }
    }

    pub(super) fn int_compare(&mut self, cond: IntCond, a: Src, b: Src) -> Condition {
        let (code, negate) = int_code(cond);
        let signed = cond.is_signed();
        let (a, b) = (
            self.compare_operand(a, signed),
            self.compare_operand(b, signed),
        );
        Condition {
            float: false,
            code,
            negate,
            a,
            b,
        }
    }

    /// The condition that a truth value in registers holds.
    pub(super) fn truth(&mut self, src: Src) -> Condition {
        let operand = self.operand(src);
        is_set(operand)
    }

    /// `dest = condition ? yes : no`, up to 32 bits.
    pub(super) fn select_into(&mut self, dest: Slice, condition: Condition, yes: Src, no: Src) {
        let (yes, no) = (self.select_operand(yes), self.select_operand(no));
        let inst = condition.select(Operand::Def(dest), yes, no);
        self.push(inst);
    }

    /// A truth value in a half register.
    pub(super) fn truth_into(&mut self, dest: Slice, condition: Condition) {
        let one = Src::Const(1, Width::W16);
        self.select_into(dest, condition, one, Src::Const(0, Width::W16));
    }

    /// One number of a comparison, as a truth value.
    pub(super) fn compare_into(&mut self, data: &InstData, lane: u32, dest: Slice) -> Done {
        let found = match *data {
            InstData::IntCompare { cond, args, .. } => self.int_condition(cond, args, lane)?,
            InstData::FloatCompare { cond, args, .. } => {
                match self.float_condition(cond, args, lane)? {
                    Some(found) => Some(found),
                    None => return self.odd_float_compare(cond, args, lane, dest),
                }
            }
            _ => None,
        };
        match found {
            Some(condition) => {
                self.truth_into(dest, condition);
                Ok(())
            }
            None => self.malformed("a comparison of nothing"),
        }
    }

    /// Comparisons that take two of the hardware's.
    fn odd_float_compare(
        &mut self,
        cond: FloatCond,
        args: [Value; 2],
        lane: u32,
        dest: Slice,
    ) -> Done {
        let brain = self.scalar_type(args[0]) == Some(Scalar::BF16);
        let (a, b) = if brain {
            let a = self.brain_single(args[0], lane)?;
            (a, self.brain_single(args[1], lane)?)
        } else {
            (self.float(args[0], lane)?, self.float(args[1], lane)?)
        };
        let truth = |holds: bool| Src::Const(u64::from(holds), Width::W16);
        let first = self.temp(Width::W16);
        match float_test(cond) {
            FloatTest::Always(holds) => self.copy(dest, truth(holds)),
            FloatTest::Ordered(yes) => {
                let test = self.float_compare(float_code::EQUAL, false, b, b);
                self.select_into(first, test, truth(yes), truth(!yes));
                let test = self.float_compare(float_code::EQUAL, false, a, a);
                self.select_into(dest, test, Src::Reg(first), truth(!yes));
            }
            FloatTest::Different(yes) => {
                let test = self.float_compare(float_code::GREATER, false, a, b);
                self.select_into(first, test, truth(yes), truth(!yes));
                let test = self.float_compare(float_code::LESS, false, a, b);
                self.select_into(dest, test, truth(yes), Src::Reg(first));
            }
            FloatTest::One(code, negate) => {
                let test = self.float_compare(code, negate, a, b);
                self.truth_into(dest, test);
            }
        }
        Ok(())
    }

    /// One number of a select.
    pub(super) fn select(&mut self, cond: Value, args: [Value; 2], lane: u32, dest: Slice) -> Done {
        let at = if self.function.ty(cond).is_vector() {
            lane
        } else {
            0
        };
        let (yes, no) = (self.src(args[0], lane)?, self.src(args[1], lane)?);
        let condition = self.condition(cond, at)?;
        self.choose_into(dest, condition, yes, no);
        Ok(())
    }

    /// `dest = condition ? yes : no` of any width.
    pub(super) fn choose_into(&mut self, dest: Slice, condition: Condition, yes: Src, no: Src) {
        if dest.width != Width::W64 {
            return self.select_into(dest, condition, yes, no);
        }
        for half in [0, 2] {
            let part = Slice {
                half: dest.half + half,
                width: Width::W32,
                ..dest
            };
            let (yes, no) = (yes.part(half, Width::W32), no.part(half, Width::W32));
            self.select_into(part, condition, yes, no);
        }
    }

    /// Logic on truth values: a select whose condition is one of them.
    pub(super) fn truth_binary(
        &mut self,
        op: BinaryOp,
        args: [Value; 2],
        lane: u32,
        dest: Slice,
    ) -> Done {
        let truth = |holds: bool| Src::Const(u64::from(holds), Width::W16);
        // The side that is a comparison becomes the condition.
        let first = self.is_comparison(args[0], lane)?;
        let [a, b] = if first { args } else { [args[1], args[0]] };
        match op {
            BinaryOp::And | BinaryOp::Mul => {
                let b = self.src(b, lane)?;
                let condition = self.condition(a, lane)?;
                self.select_into(dest, condition, b, truth(false));
            }
            BinaryOp::Or => {
                let b = self.src(b, lane)?;
                let condition = self.condition(a, lane)?;
                self.select_into(dest, condition, truth(true), b);
            }
            BinaryOp::Xor | BinaryOp::Add | BinaryOp::Sub => {
                let known = self.src_if_known(b, lane)?;
                if known == Some(1) {
                    let condition = self.condition(a, lane)?.inverted_if(true);
                    self.truth_into(dest, condition);
                } else {
                    let (a, b) = (self.src(a, lane)?, self.src(b, lane)?);
                    let (a, b) = (self.operand(a), self.operand(b));
                    self.bitop(super::integer::arithmetic::XOR, dest, a, b);
                }
            }
            // A shift by 0, the only one there is, or a division by 1.
            _ => {
                let a = self.src(args[0], lane)?;
                self.copy(dest, a);
            }
        }
        Ok(())
    }

    fn is_comparison(&mut self, value: Value, lane: u32) -> Done<bool> {
        Ok(matches!(
            self.behind(value, lane)?,
            Some((
                InstData::IntCompare { .. } | InstData::FloatCompare { .. },
                _
            ))
        ))
    }

    /// An integer source without extension.
    pub(super) const fn bare(src: Src) -> IntSrc {
        IntSrc { src, sx: false }
    }
}
