//! Operations, comparisons and conversions.
//!
//! Integers whose width is none of the form's (clang makes `i33` and the like when it rewrites loops) are
//! held in the next larger type with their upper bits zero; [`FunctionLowering::sign_extended`] and
//! [`FunctionLowering::cut`] move between that and what an operation needs. Operations on whole matrices
//! work on the two elements a thread holds.

use super::function::FunctionLowering;
use super::{LowerError, Lowered};
use crate::llvm::{BinaryOp as From, CastOp as FromCast, FastMath, TypeId, ValueId};
use assay_ssa::{
    BinaryOp, CastOp, Flags, FloatCond, IntCond, Scalar, Type, TypeKind, UnaryOp, Value,
};

/// The form's flags for fast-math bits.
pub(super) fn fast_math(bits: FastMath) -> Flags {
    const MAP: [(u8, Flags); 7] = [
        (FastMath::NNAN, Flags::NNAN),
        (FastMath::NINF, Flags::NINF),
        (FastMath::NSZ, Flags::NSZ),
        (FastMath::ARCP, Flags::ARCP),
        (FastMath::CONTRACT, Flags::CONTRACT),
        (FastMath::AFN, Flags::AFN),
        (FastMath::REASSOC, Flags::REASSOC),
    ];
    if bits.0 == 0 {
        return Flags::NONE;
    }
    let set = MAP.iter().filter(|(bit, _)| bits.has(*bit));
    set.fold(Flags::NONE, |flags, (_, flag)| flags | *flag)
}

fn operation(op: From) -> BinaryOp {
    match op {
        From::Add => BinaryOp::Add,
        From::Sub => BinaryOp::Sub,
        From::Mul => BinaryOp::Mul,
        From::UDiv => BinaryOp::UDiv,
        From::SDiv => BinaryOp::SDiv,
        From::URem => BinaryOp::URem,
        From::SRem => BinaryOp::SRem,
        From::Shl => BinaryOp::Shl,
        From::LShr => BinaryOp::LShr,
        From::AShr => BinaryOp::AShr,
        From::And => BinaryOp::And,
        From::Or => BinaryOp::Or,
        From::Xor => BinaryOp::Xor,
        From::FAdd => BinaryOp::FAdd,
        From::FSub => BinaryOp::FSub,
        From::FMul => BinaryOp::FMul,
        From::FDiv => BinaryOp::FDiv,
        From::FRem => BinaryOp::FRem,
    }
}

/// What the flag bits of an operation's record mean.
fn operation_flags(op: BinaryOp, bits: u8) -> Flags {
    if op.is_float() {
        return fast_math(FastMath(bits));
    }
    let allowed = op.allowed_flags();
    let flag = |bit: u8, flag: Flags| if bits & bit != 0 { flag } else { Flags::NONE };
    let all = flag(1, Flags::NUW)
        | flag(2, Flags::NSW)
        | flag(1, Flags::EXACT)
        | flag(1, Flags::DISJOINT);
    all.and(allowed)
}

const INT_CONDITIONS: [IntCond; 10] = [
    IntCond::Eq,
    IntCond::Ne,
    IntCond::Ugt,
    IntCond::Uge,
    IntCond::Ult,
    IntCond::Ule,
    IntCond::Sgt,
    IntCond::Sge,
    IntCond::Slt,
    IntCond::Sle,
];

const FLOAT_CONDITIONS: [FloatCond; 16] = [
    FloatCond::False,
    FloatCond::Oeq,
    FloatCond::Ogt,
    FloatCond::Oge,
    FloatCond::Olt,
    FloatCond::Ole,
    FloatCond::One,
    FloatCond::Ord,
    FloatCond::Uno,
    FloatCond::Ueq,
    FloatCond::Ugt,
    FloatCond::Uge,
    FloatCond::Ult,
    FloatCond::Ule,
    FloatCond::Une,
    FloatCond::True,
];

impl FunctionLowering<'_, '_, '_> {
    /// A value as something arithmetic works on: a matrix as its two elements.
    fn plain(&mut self, value: Value) -> Value {
        match self.function.ty(value).kind() {
            TypeKind::Matrix(scalar) => {
                let pair = Type::vector(scalar, 2);
                self.builder()
                    .cast(CastOp::Bitcast, value, pair, Flags::NONE)
            }
            _ => value,
        }
    }

    /// Back from [`plain`](Self::plain).
    fn shaped(&mut self, value: Value, ty: Type) -> Value {
        if ty.is_matrix() && !self.function.ty(value).is_matrix() {
            return self.builder().cast(CastOp::Bitcast, value, ty, Flags::NONE);
        }
        value
    }

    /// The odd width of a value's integers, if it has one.
    fn odd(&self, id: ValueId) -> Lowered<Option<u32>> {
        let ty = self.llvm_value(id)?.ty;
        Ok(self.lowering.odd_width(ty))
    }

    pub(super) fn splat(&mut self, ty: Type, bits: u64) -> Value {
        match ty.kind() {
            TypeKind::Vector(_, lanes) => {
                let elements = vec![bits; usize::from(lanes)];
                self.function.constant_vector(ty, &elements)
            }
            _ => self.function.constant(ty, bits),
        }
    }

    /// Clears what an operation left above an odd width.
    pub(super) fn cut(&mut self, value: Value, width: u32) -> Value {
        let ty = self.function.ty(value);
        let mask = self.splat(ty, u64::MAX >> (64 - width.clamp(1, 64)));
        self.builder()
            .binary(BinaryOp::And, value, mask, Flags::NONE)
    }

    /// Copies the sign bit of an odd width upward.
    pub(super) fn sign_extended(&mut self, value: Value, width: u32) -> Value {
        let ty = self.function.ty(value);
        let room = ty.lane_type().map_or(0, Scalar::bits).saturating_sub(width);
        let amount = self.splat(ty, u64::from(room));
        let mut builder = self.builder();
        let up = builder.binary(BinaryOp::Shl, value, amount, Flags::NONE);
        builder.binary(BinaryOp::AShr, up, amount, Flags::NONE)
    }

    pub(super) fn binary(&mut self, op: From, flags: u8, operands: [ValueId; 2]) -> Lowered<Value> {
        if self.is_wide(operands[0]) {
            return self.wide_binary(op, operands);
        }
        let odd = self.odd(operands[0])?;
        let [a, b] = [self.value(operands[0])?, self.value(operands[1])?];
        let ty = self.function.ty(a);
        let op = operation(op);
        if let Some(width) = odd {
            return Ok(self.odd_binary(op, a, b, width));
        }
        let (a, b) = (self.plain(a), self.plain(b));
        let flags = operation_flags(op, flags);
        let result = self.builder().binary(op, a, b, flags);
        Ok(self.shaped(result, ty))
    }

    fn odd_binary(&mut self, op: BinaryOp, a: Value, b: Value, width: u32) -> Value {
        let signed = matches!(op, BinaryOp::SDiv | BinaryOp::SRem | BinaryOp::AShr);
        let (a, b) = match signed {
            true => {
                let a = self.sign_extended(a, width);
                // A shift's amount is a plain number.
                let b = if op == BinaryOp::AShr {
                    b
                } else {
                    self.sign_extended(b, width)
                };
                (a, b)
            }
            false => (a, b),
        };
        let result = self.builder().binary(op, a, b, Flags::NONE);
        let clean = matches!(
            op,
            BinaryOp::And
                | BinaryOp::Or
                | BinaryOp::Xor
                | BinaryOp::UDiv
                | BinaryOp::URem
                | BinaryOp::LShr
        );
        if clean {
            result
        } else {
            self.cut(result, width)
        }
    }

    pub(super) fn negate(&mut self, flags: FastMath, operand: ValueId) -> Lowered<Value> {
        let operand = self.value(operand)?;
        let ty = self.function.ty(operand);
        let operand = self.plain(operand);
        let result = self
            .builder()
            .unary(UnaryOp::FNeg, operand, fast_math(flags));
        Ok(self.shaped(result, ty))
    }

    pub(super) fn freeze(&mut self, operand: ValueId) -> Lowered<Value> {
        let operand = self.value(operand)?;
        Ok(self.builder().unary(UnaryOp::Freeze, operand, Flags::NONE))
    }

    pub(super) fn compare(
        &mut self,
        predicate: u8,
        flags: u8,
        operands: [ValueId; 2],
    ) -> Lowered<Value> {
        let odd = self.odd(operands[0])?;
        let [mut a, mut b] = [self.value(operands[0])?, self.value(operands[1])?];
        if let Some(&cond) = FLOAT_CONDITIONS.get(usize::from(predicate)) {
            let (a, b) = (self.plain(a), self.plain(b));
            return Ok(self.builder().fcmp(cond, a, b, fast_math(FastMath(flags))));
        }
        let cond = usize::from(predicate)
            .checked_sub(32)
            .and_then(|index| INT_CONDITIONS.get(index));
        let &cond = cond.ok_or_else(|| LowerError::new("an unknown comparison"))?;
        if self.is_wide(operands[0]) {
            return self.wide_compare(cond, operands);
        }
        if let (Some(width), true) = (odd, cond.is_signed()) {
            a = self.sign_extended(a, width);
            b = self.sign_extended(b, width);
        }
        let samesign = if flags & 1 != 0 {
            Flags::SAMESIGN
        } else {
            Flags::NONE
        };
        let ty = match self.function.ty(a) {
            ty if ty.is_pointer() => Type::I1,
            ty => ty.with_element(Scalar::I1),
        };
        let data = assay_ssa::InstData::IntCompare {
            cond,
            flags: samesign,
            args: [a, b],
        };
        Ok(self.result_of(data, ty))
    }

    /// Adds an instruction that has a result.
    pub(super) fn result_of(&mut self, data: assay_ssa::InstData, ty: Type) -> Value {
        let inst = self.builder().inst(data, ty);
        match self.function.result(inst) {
            Some(value) => value,
            None => self.function.undef(ty),
        }
    }

    pub(super) fn select(
        &mut self,
        flags: FastMath,
        condition: ValueId,
        operands: [ValueId; 2],
    ) -> Lowered<Value> {
        let condition = self.value(condition)?;
        let [a, b] = [self.value(operands[0])?, self.value(operands[1])?];
        let flags = match self.function.ty(a).is_float() {
            true => fast_math(flags),
            false => Flags::NONE,
        };
        Ok(self.builder().select(condition, a, b, flags))
    }

    pub(super) fn cast(
        &mut self,
        op: FromCast,
        flags: u8,
        operand: ValueId,
        to_id: TypeId,
    ) -> Lowered<Value> {
        let (from_odd, to_odd) = (self.odd(operand)?, self.lowering.odd_width(to_id));
        let value = self.value(operand)?;
        let to = self.lowering.ty(to_id)?;
        match op {
            FromCast::Bitcast => return self.bitcast(value, from_odd, to, to_odd),
            FromCast::Trunc if self.is_wide(operand) => {
                return Ok(self.narrowed(value, to, to_odd));
            }
            _ if self.is_wide(operand) || self.lowering.is_wide(to_id) => {
                return self.widened(value, op, from_odd);
            }
            FromCast::PtrToInt | FromCast::PtrToAddr => {
                return Ok(self
                    .builder()
                    .cast(CastOp::PtrToInt, value, to, Flags::NONE));
            }
            FromCast::IntToPtr => {
                return Ok(self
                    .builder()
                    .cast(CastOp::IntToPtr, value, to, Flags::NONE));
            }
            FromCast::AddrSpaceCast => {
                if self.function.ty(value) == to {
                    return Ok(value);
                }
                return Ok(self
                    .builder()
                    .cast(CastOp::SpaceCast, value, to, Flags::NONE));
            }
            _ => {}
        }
        let plain_to = match to.kind() {
            TypeKind::Matrix(scalar) => Type::vector(scalar, 2),
            _ => to,
        };
        let mut value = self.plain(value);
        let signed = matches!(op, FromCast::SExt | FromCast::SiToFp);
        if let (Some(width), true) = (from_odd, signed) {
            value = self.sign_extended(value, width);
        }
        let (cast, flags) = self.cast_operation(op, flags, from_odd.is_some() || to_odd.is_some());
        let from_bits = self.function.ty(value).lane_type().map_or(0, Scalar::bits);
        let to_bits = plain_to.lane_type().map_or(0, Scalar::bits);
        let integer = matches!(cast, CastOp::Trunc | CastOp::ZExt | CastOp::SExt);
        // Between odd widths held in the same type there is nothing to convert.
        let result = match integer && from_bits == to_bits {
            true => value,
            false => self.builder().cast(cast, value, plain_to, flags),
        };
        let result = match (to_odd, op) {
            (Some(_), FromCast::ZExt) | (None, _) => result,
            (Some(width), _) => self.cut(result, width),
        };
        Ok(self.shaped(result, to))
    }

    fn cast_operation(&self, op: FromCast, bits: u8, odd: bool) -> (CastOp, Flags) {
        let flag = |bit: u8, flag: Flags| {
            if bits & bit != 0 && !odd {
                flag
            } else {
                Flags::NONE
            }
        };
        match op {
            FromCast::Trunc => (CastOp::Trunc, flag(1, Flags::NUW) | flag(2, Flags::NSW)),
            FromCast::ZExt => (CastOp::ZExt, flag(1, Flags::NNEG)),
            FromCast::SExt => (CastOp::SExt, Flags::NONE),
            FromCast::FpToUi => (CastOp::FToU, Flags::NONE),
            FromCast::FpToSi => (CastOp::FToS, Flags::NONE),
            FromCast::UiToFp => (CastOp::UToF, flag(1, Flags::NNEG)),
            FromCast::SiToFp => (CastOp::SToF, Flags::NONE),
            _ => (CastOp::FConvert, fast_math(FastMath(bits))),
        }
    }

    fn bitcast(
        &mut self,
        value: Value,
        from_odd: Option<u32>,
        to: Type,
        to_odd: Option<u32>,
    ) -> Lowered<Value> {
        let from = self.function.ty(value);
        if from == to && from_odd == to_odd {
            return Ok(value);
        }
        match (from.kind(), to.kind(), from_odd, to_odd) {
            (TypeKind::Pointer(_), TypeKind::Pointer(_), ..) => {
                Ok(self
                    .builder()
                    .cast(CastOp::SpaceCast, value, to, Flags::NONE))
            }
            (TypeKind::Matrix(_), TypeKind::Matrix(scalar), ..) => {
                let pair = self.plain(value);
                let seen = Type::vector(scalar, 2);
                let pair = self
                    .builder()
                    .cast(CastOp::Bitcast, pair, seen, Flags::NONE);
                Ok(self.shaped(pair, to))
            }
            // An integer of odd width is made of a vector's elements, or falls apart into them.
            (TypeKind::Vector(scalar, lanes), TypeKind::Scalar(_), None, Some(_))
                if scalar.is_int() =>
            {
                Ok(self.pack(value, scalar, lanes, to))
            }
            (TypeKind::Scalar(_), TypeKind::Vector(scalar, lanes), Some(_), None)
                if scalar.is_int() =>
            {
                Ok(self.unpack(value, scalar, lanes, to))
            }
            (_, _, None, None) => Ok(self.builder().cast(CastOp::Bitcast, value, to, Flags::NONE)),
            _ => Err(LowerError::new(format!("{from} seen as {to} of odd width"))),
        }
    }

    fn pack(&mut self, value: Value, scalar: Scalar, lanes: u8, to: Type) -> Value {
        let mut whole = self.function.zero(to);
        let same = to.lane_type() == Some(scalar);
        for lane in 0..lanes {
            let amount = self
                .function
                .constant(to, u64::from(lane) * u64::from(scalar.bits()));
            let mut builder = self.builder();
            let element = builder.extract_lane(value, u32::from(lane));
            let wide = match same {
                true => element,
                false => builder.cast(CastOp::ZExt, element, to, Flags::NONE),
            };
            let placed = builder.binary(BinaryOp::Shl, wide, amount, Flags::NONE);
            whole = builder.binary(BinaryOp::Or, whole, placed, Flags::NONE);
        }
        whole
    }

    fn unpack(&mut self, value: Value, scalar: Scalar, lanes: u8, to: Type) -> Value {
        let from = self.function.ty(value);
        let mut elements = Vec::with_capacity(usize::from(lanes));
        for lane in 0..lanes {
            let amount = self
                .function
                .constant(from, u64::from(lane) * u64::from(scalar.bits()));
            let mut builder = self.builder();
            let shifted = builder.binary(BinaryOp::LShr, value, amount, Flags::NONE);
            let element = match from.lane_type() == Some(scalar) {
                true => shifted,
                false => builder.cast(CastOp::Trunc, shifted, Type::scalar(scalar), Flags::NONE),
            };
            elements.push(element);
        }
        self.builder().construct(to, &elements)
    }
}
