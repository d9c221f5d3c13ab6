//! Integers of odd width in memory.

use super::function::FunctionLowering;
use super::{LowerError, Lowered};
use assay_ssa::{Access, BinaryOp, CastOp, Flags, Scalar, Type, Value};

impl FunctionLowering<'_, '_, '_> {
    /// An integer of odd width lies in as many bytes as it needs; it is read in pieces.
    pub(super) fn load_odd(
        &mut self,
        pointer: Value,
        ty: Type,
        width: u32,
        access: Access,
    ) -> Lowered<Value> {
        if ty.is_vector() {
            return Err(LowerError::new("a load of a vector of odd width"));
        }
        let mut whole = self.function.zero(ty);
        for (offset, piece) in pieces(width) {
            let place = self.piece(pointer, offset);
            let amount = self.function.constant(ty, u64::from(offset) * 8);
            let access = piece_access(access, offset);
            let mut builder = self.builder();
            let part = builder.load(Type::scalar(piece), place, access);
            let part = match Type::scalar(piece) == ty {
                true => part,
                false => builder.cast(CastOp::ZExt, part, ty, Flags::NONE),
            };
            let part = builder.binary(BinaryOp::Shl, part, amount, Flags::NONE);
            whole = builder.binary(BinaryOp::Or, whole, part, Flags::NONE);
        }
        Ok(whole)
    }

    pub(super) fn store_odd(
        &mut self,
        pointer: Value,
        value: Value,
        width: u32,
        access: Access,
    ) -> Lowered<()> {
        let ty = self.function.ty(value);
        if ty.is_vector() {
            return Err(LowerError::new("a store of a vector of odd width"));
        }
        for (offset, piece) in pieces(width) {
            let place = self.piece(pointer, offset);
            let amount = self.function.constant(ty, u64::from(offset) * 8);
            let access = piece_access(access, offset);
            let mut builder = self.builder();
            let part = builder.binary(BinaryOp::LShr, value, amount, Flags::NONE);
            let part = match Type::scalar(piece) == ty {
                true => part,
                false => builder.cast(CastOp::Trunc, part, Type::scalar(piece), Flags::NONE),
            };
            builder.store(place, part, access);
        }
        Ok(())
    }

    fn piece(&mut self, pointer: Value, offset: u32) -> Value {
        match offset {
            0 => pointer,
            offset => self
                .builder()
                .ptr_add(pointer, None, 1, i64::from(offset), Flags::INBOUNDS),
        }
    }
}

/// The bytes of an integer of odd width as integers the form has: offset and type of each.
fn pieces(width: u32) -> Vec<(u32, Scalar)> {
    let mut left = width.div_ceil(8);
    let mut offset = 0;
    let mut pieces = Vec::new();
    while left > 0 {
        let bytes = 1 << left.ilog2().min(3);
        pieces.push((offset, Scalar::int(bytes * 8).unwrap_or(Scalar::I8)));
        offset += bytes;
        left -= bytes;
    }
    pieces
}

fn piece_access(access: Access, offset: u32) -> Access {
    let align_log2 = match offset {
        0 => access.align_log2,
        offset => access.align_log2.min(offset.trailing_zeros() as u8),
    };
    Access {
        align_log2,
        ..access
    }
}
