//! Intrinsics on integers of odd width.
//!
//! clang makes `llvm.bitreverse.i2` of two shifts, `llvm.fshl.i12` of a rotation. The value lies at the
//! bottom of a larger type, zeros above. Moved to the top of it, a carry, an overflow or a saturation
//! happens where it does in the odd width; moved back, the zeros are there again.

use super::function::FunctionLowering;
use assay_ssa::builtin::{Resolved, Sign};
use assay_ssa::{BinaryOp, Builtin, BuiltinCall, CastOp, Flags, InstData, Scalar, Type, Value};

/// The odd widths of a call: of its arguments and of its result.
#[derive(Clone, Copy)]
pub(super) struct Odd {
    pub(super) taken: Option<u32>,
    pub(super) given: Option<u32>,
}

impl FunctionLowering<'_, '_, '_> {
    /// A named operation that takes or gives integers of odd width; nothing if it has no meaning here.
    pub(super) fn odd_call(
        &mut self,
        resolved: Resolved,
        args: &[Value],
        ret: Type,
        odd: Odd,
    ) -> Option<Value> {
        match (resolved, args, odd.taken, odd.given) {
            (Resolved::Identity, &[value, ..], ..) => Some(value),
            (Resolved::Cast(op @ (CastOp::FToS | CastOp::FToU)), &[value], None, Some(width)) => {
                Some(self.odd_saturated(op, value, ret, width))
            }
            // Its result has a type of its own.
            (Resolved::Builtin(call), &[_, _], taken, given)
                if call.builtin == Builtin::Compare3 =>
            {
                let args = match taken {
                    Some(width) if call.sign == Sign::Signed => self.signs(args, width),
                    _ => args.to_vec(),
                };
                let result = self.builder().builtin(call, &args, ret)?;
                Some(given.map_or(result, |width| self.cut(result, width)))
            }
            (Resolved::Builtin(call), _, Some(width), _) => {
                self.odd_builtin(call, args, ret, width)
            }
            _ => None,
        }
    }

    fn odd_builtin(
        &mut self,
        call: BuiltinCall,
        args: &[Value],
        ret: Type,
        width: u32,
    ) -> Option<Value> {
        let &first = args.first()?;
        let ty = self.function.ty(first);
        let room = self.room(ty, width)?;
        let signed = call.sign == Sign::Signed;
        match (call.builtin, args) {
            // Zeros above change nothing.
            (
                Builtin::PopCount | Builtin::ReduceAnd | Builtin::ReduceOr | Builtin::ReduceXor,
                &[_],
            ) => self.builder().builtin(call, args, ret),
            (Builtin::Min | Builtin::Max, &[_, _])
            | (Builtin::ReduceMin | Builtin::ReduceMax, &[_])
                if !signed =>
            {
                self.builder().builtin(call, args, ret)
            }
            (Builtin::SubSat, &[_, _]) if !signed => self.builder().builtin(call, args, ret),
            (Builtin::Min | Builtin::Max, &[_, _])
            | (
                Builtin::ReduceMin | Builtin::ReduceMax | Builtin::ReduceAdd | Builtin::ReduceMul,
                &[_],
            )
            | (Builtin::Abs, &[_, ..]) => {
                // LLVM's `abs` also says whether the most negative number may occur.
                let used = if call.builtin == Builtin::Abs { 1 } else { 2 };
                let args = self.signs(args.get(..used).unwrap_or(args), width);
                let result = self.builder().builtin(call, &args, ret)?;
                Some(self.cut(result, width))
            }
            (Builtin::ReverseBits | Builtin::ByteSwap, &[_]) => {
                let result = self.builder().builtin(call, args, ret)?;
                Some(self.shifted(BinaryOp::LShr, result, room))
            }
            (Builtin::Clz, &[_, ..]) => {
                let zeros = self.builder().builtin(call, args, ret)?;
                Some(self.shifted(BinaryOp::Sub, zeros, room))
            }
            // A bit above stops the count where the odd width ends.
            (Builtin::Ctz, &[value, ref rest @ ..]) => {
                let end = self.splat(ty, 1 << width);
                let mut stopped =
                    vec![self.builder().binary(BinaryOp::Or, value, end, Flags::NONE)];
                stopped.extend_from_slice(rest);
                self.builder().builtin(call, &stopped, ret)
            }
            (Builtin::AddSat | Builtin::SubSat, &[a, b]) => {
                let [a, b] = [a, b].map(|arg| self.shifted(BinaryOp::Shl, arg, room));
                let result = self.builder().builtin(call, &[a, b], ret)?;
                Some(self.shifted(BinaryOp::LShr, result, room))
            }
            (Builtin::AddOverflow | Builtin::SubOverflow | Builtin::MulOverflow, &[a, b]) => {
                let a = self.shifted(BinaryOp::Shl, a, room);
                let b = match (call.builtin, signed) {
                    (Builtin::MulOverflow, true) => self.sign_extended(b, width),
                    (Builtin::MulOverflow, false) => b,
                    _ => self.shifted(BinaryOp::Shl, b, room),
                };
                self.odd_overflow(call, [a, b], ret, room)
            }
            (Builtin::FunnelLeft | Builtin::FunnelRight, &[high, low, amount]) => {
                let left = call.builtin == Builtin::FunnelLeft;
                Some(self.odd_funnel(left, [high, low], amount, width))
            }
            _ => None,
        }
    }

    /// The bits a type has above an odd width.
    fn room(&self, ty: Type, width: u32) -> Option<u32> {
        let bits = ty.lane_type().filter(|scalar| scalar.is_int())?.bits();
        bits.checked_sub(width).filter(|&room| room > 0)
    }

    fn signs(&mut self, args: &[Value], width: u32) -> Vec<Value> {
        let extended = args.iter().map(|&arg| self.sign_extended(arg, width));
        extended.collect()
    }

    fn shifted(&mut self, op: BinaryOp, value: Value, by: u32) -> Value {
        let by = self.splat(self.function.ty(value), u64::from(by));
        self.builder().binary(op, value, by, Flags::NONE)
    }

    /// The exact number at the top, and whether it fitted.
    fn odd_overflow(
        &mut self,
        call: BuiltinCall,
        args: [Value; 2],
        ret: Type,
        room: u32,
    ) -> Option<Value> {
        let both = self.builder().builtin(call, &args, ret)?;
        let number = self.part(both, 0);
        let number = self.shifted(BinaryOp::LShr, number, room);
        let over = self.part(both, 1);
        Some(self.builder().construct(ret, &[number, over]))
    }

    fn part(&mut self, aggregate: Value, index: u32) -> Value {
        let whole = self.function.ty(aggregate);
        let element = self.lowering.target.types.element_at(whole, index);
        let path = self.function.index_list(&[index]);
        let data = InstData::ExtractValue { aggregate, path };
        self.result_of(data, element.map_or(Type::VOID, |(ty, _)| ty))
    }

    /// Two integers side by side, moved by an amount modulo the width. The larger type takes a shift by
    /// the whole width, so that an amount of zero needs no case of its own.
    fn odd_funnel(&mut self, left: bool, pair: [Value; 2], amount: Value, width: u32) -> Value {
        let ty = self.function.ty(amount);
        let whole = self.splat(ty, u64::from(width));
        let mut builder = self.builder();
        let amount = builder.binary(BinaryOp::URem, amount, whole, Flags::NONE);
        let rest = builder.binary(BinaryOp::Sub, whole, amount, Flags::NONE);
        let (up, down) = if left { (amount, rest) } else { (rest, amount) };
        let high = builder.binary(BinaryOp::Shl, pair[0], up, Flags::NONE);
        let low = builder.binary(BinaryOp::LShr, pair[1], down, Flags::NONE);
        let both = builder.binary(BinaryOp::Or, high, low, Flags::NONE);
        self.cut(both, width)
    }

    /// A float as the nearest integer the odd width holds; the conversion saturates at the larger type.
    fn odd_saturated(&mut self, op: CastOp, value: Value, ret: Type, width: u32) -> Value {
        let number = self.builder().cast(op, value, ret, Flags::NONE);
        let most = u64::MAX >> (64 - width.clamp(1, 64));
        if op == CastOp::FToU {
            let most = self.splat(ret, most);
            return self.bounded(Builtin::Min.unsigned(), number, most);
        }
        let (greatest, least) = (most >> 1, !(most >> 1));
        let greatest = self.splat(ret, greatest);
        let least = self.splat(ret, least & lane_mask(ret));
        let number = self.bounded(Builtin::Min.signed(), number, greatest);
        let number = self.bounded(Builtin::Max.signed(), number, least);
        self.cut(number, width)
    }

    fn bounded(&mut self, call: BuiltinCall, value: Value, bound: Value) -> Value {
        let ty = self.function.ty(value);
        let result = self.builder().builtin(call, &[value, bound], ty);
        result.unwrap_or(value)
    }
}

fn lane_mask(ty: Type) -> u64 {
    let bits = ty.lane_type().map_or(64, Scalar::bits);
    u64::MAX >> (64 - bits.clamp(1, 64))
}
