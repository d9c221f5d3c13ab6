//! Integers of 128 bits.
//!
//! Metal has none, but LLVM makes them where it looks at 16 bytes of a vector as one number, to shift an element out of them.
//! They are held as four words, the lowest first. What moves bits is done word by word; arithmetic is refused by name.

use super::function::FunctionLowering;
use super::{LowerError, Lowered, Lowering};
use crate::llvm::{
    BinaryOp as From, CastOp as FromCast, Constant, Type as Source, TypeId, ValueId,
};
use assay_ssa::{BinaryOp, CastOp, Flags, IntCond, Scalar, Type, Value};

const WORDS: usize = 4;
const WORD_BITS: u32 = 32;

/// What holds 128 bits.
pub(crate) const HELD: Type = Type::vector(Scalar::I32, WORDS as u8);

impl Lowering<'_, '_> {
    /// Returns true for the type of 128-bit integers.
    pub(crate) fn is_wide(&self, id: TypeId) -> bool {
        self.source.types.get(id) == Some(&Source::Int(128))
    }
}

/// What is not done with 128-bit integers.
pub(super) fn refused(what: &str) -> LowerError {
    LowerError::new(format!("{what} of 128-bit integers: not supported"))
}

impl FunctionLowering<'_, '_, '_> {
    pub(super) fn is_wide(&self, id: ValueId) -> bool {
        let value = self.llvm_value(id);
        value.is_ok_and(|value| self.lowering.is_wide(value.ty))
    }

    /// The amount of a shift, if it is constant and less than 128.
    fn shift_amount(&self, id: ValueId) -> Option<u32> {
        let (constant, pool) = self.body.constant(self.lowering.source, id)?;
        let amount = match *constant {
            Constant::Null => 0,
            Constant::WideInt(words) => match pool.data(words) {
                [low, rest @ ..] if rest.iter().all(|word| *word == 0) => *low,
                _ => return None,
            },
            _ => return None,
        };
        u32::try_from(amount).ok().filter(|bits| *bits < 128)
    }

    fn words(&mut self, value: Value) -> [Value; WORDS] {
        std::array::from_fn(|word| self.builder().extract_lane(value, word as u32))
    }

    /// A 128-bit constant from its words of 64 bits, the lowest first; those that are missing are zero.
    pub(super) fn wide_constant(&mut self, words: &[u64]) -> Value {
        let halves = words
            .iter()
            .flat_map(|word| [word & 0xffff_ffff, word >> 32]);
        let mut halves = halves.chain(std::iter::repeat(0));
        let words: [u64; WORDS] = std::array::from_fn(|_| halves.next().unwrap_or(0));
        self.function.constant_vector(HELD, &words)
    }

    pub(super) fn wide_binary(&mut self, op: From, operands: [ValueId; 2]) -> Lowered<Value> {
        let value = self.value(operands[0])?;
        let logic = match op {
            From::And => BinaryOp::And,
            From::Or => BinaryOp::Or,
            From::Xor => BinaryOp::Xor,
            From::Shl | From::LShr | From::AShr => {
                let amount = self.shift_amount(operands[1]);
                let amount = amount.ok_or_else(|| refused("a shift by a varying amount"))?;
                return Ok(self.wide_shift(op, value, amount));
            }
            _ => return Err(refused("arithmetic")),
        };
        let other = self.value(operands[1])?;
        Ok(self.builder().binary(logic, value, other, Flags::NONE))
    }

    fn wide_shift(&mut self, op: From, value: Value, amount: u32) -> Value {
        let words = self.words(value);
        let (skip, bits) = ((amount / WORD_BITS) as usize, amount % WORD_BITS);
        let left = op == From::Shl;
        let zero = self.function.i32(0);
        let fill = match op {
            From::AShr => self.word_shift(BinaryOp::AShr, words[WORDS - 1], WORD_BITS - 1),
            _ => zero,
        };
        // Words in the direction they come from: the one so many places away.
        let from = |place: usize, away: usize| match left {
            true => place.checked_sub(away).map_or(zero, |at| words[at]),
            false => words.get(place + away).copied().unwrap_or(fill),
        };
        let (near, far) = match left {
            true => (BinaryOp::Shl, BinaryOp::LShr),
            false => (BinaryOp::LShr, BinaryOp::Shl),
        };
        let shifted: Vec<Value> = (0..WORDS)
            .map(|place| {
                let (a, b) = (from(place, skip), from(place, skip + 1));
                if bits == 0 {
                    return a;
                }
                let (a, b) = (
                    self.word_shift(near, a, bits),
                    self.word_shift(far, b, WORD_BITS - bits),
                );
                self.builder().binary(BinaryOp::Or, a, b, Flags::NONE)
            })
            .collect();
        self.builder().construct(HELD, &shifted)
    }

    fn word_shift(&mut self, op: BinaryOp, word: Value, bits: u32) -> Value {
        let amount = self.function.i32(bits as i32);
        self.builder().binary(op, word, amount, Flags::NONE)
    }

    /// Equality; an order of 128-bit integers is refused.
    pub(super) fn wide_compare(&mut self, cond: IntCond, operands: [ValueId; 2]) -> Lowered<Value> {
        if !matches!(cond, IntCond::Eq | IntCond::Ne) {
            return Err(refused("an order"));
        }
        let [a, b] = [self.value(operands[0])?, self.value(operands[1])?];
        let differs = self.builder().binary(BinaryOp::Xor, a, b, Flags::NONE);
        let [first, rest @ ..] = self.words(differs);
        let any = rest.into_iter().fold(first, |any, word| {
            self.builder().binary(BinaryOp::Or, any, word, Flags::NONE)
        });
        let zero = self.function.i32(0);
        let data = assay_ssa::InstData::IntCompare {
            cond,
            flags: Flags::NONE,
            args: [any, zero],
        };
        Ok(self.result_of(data, Type::I1))
    }

    /// To fewer bits, without what lies above.
    pub(super) fn narrowed(&mut self, value: Value, to: Type, odd: Option<u32>) -> Value {
        let [first, second, ..] = self.words(value);
        let pair = Type::vector(Scalar::I32, 2);
        let mut builder = self.builder();
        let pair = builder.construct(pair, &[first, second]);
        let low = builder.cast(CastOp::Bitcast, pair, Type::I64, Flags::NONE);
        let cut = match to == Type::I64 {
            true => low,
            false => builder.cast(CastOp::Trunc, low, to, Flags::NONE),
        };
        match odd {
            Some(width) => self.cut(cut, width),
            None => cut,
        }
    }

    /// To 128 bits, with zeros or the sign above.
    pub(super) fn widened(
        &mut self,
        value: Value,
        op: FromCast,
        odd: Option<u32>,
    ) -> Lowered<Value> {
        let signed = match op {
            FromCast::ZExt => false,
            FromCast::SExt => true,
            _ => return Err(refused("a conversion")),
        };
        let mut value = value;
        if let (Some(width), true) = (odd, signed) {
            value = self.sign_extended(value, width);
        }
        if self.function.ty(value) != Type::I64 {
            let cast = if signed { CastOp::SExt } else { CastOp::ZExt };
            value = self.builder().cast(cast, value, Type::I64, Flags::NONE);
        }
        let pair = Type::vector(Scalar::I32, 2);
        let pair = self
            .builder()
            .cast(CastOp::Bitcast, value, pair, Flags::NONE);
        let mut builder = self.builder();
        let (low, high) = (builder.extract_lane(pair, 0), builder.extract_lane(pair, 1));
        let fill = match signed {
            true => self.word_shift(BinaryOp::AShr, high, WORD_BITS - 1),
            false => self.function.i32(0),
        };
        Ok(self.builder().construct(HELD, &[low, high, fill, fill]))
    }
}
