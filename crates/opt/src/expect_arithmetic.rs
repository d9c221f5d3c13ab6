//! Expects of integer divisions, shifts and conversions what the language does not define.
//!
//! A division by zero or of the least number by -1, a shift by the width of its number or more, and a float that does not fit the integer it becomes
//! all give some result on hardware, and sometimes the one that was wanted: these checks are asked for by name.

use crate::expectation::Expectation;
use assay_ssa::{
    BinaryOp, Builder, CastOp, Flags, FloatCond, Function, InstData, IntCond, Module, Scalar, Type,
    TypeKind, Value,
};

/// Adds the checks before every such operation.
pub fn expect_arithmetic(_: &Module, function: &mut Function) -> bool {
    let mut changed = false;
    for block in function.blocks().to_vec() {
        for inst in function.take_insts(block) {
            let (data, loc) = (*function.inst(inst), function.loc(inst));
            let ty = function.result_type(inst);
            let mut builder = Builder::new(function);
            builder.switch_to(block);
            builder.set_loc(loc);
            changed |= expect(&mut builder, data, ty);
            function.append(block, inst);
        }
    }
    changed
}

fn expect(builder: &mut Builder<'_>, data: InstData, result: Type) -> bool {
    use BinaryOp::{AShr, LShr, SDiv, SRem, Shl, UDiv, URem};
    match data {
        InstData::Binary {
            op: UDiv | SDiv | URem | SRem,
            args,
            ..
        } => {
            let divisors = lanes(builder, args[1]);
            let zero = |builder: &mut Builder<'_>, value: Value| {
                let ty = builder.function().ty(value);
                let zero = builder.function().zero(ty);
                builder.icmp(IntCond::Ne, value, zero)
            };
            let truths: Vec<Value> = divisors.iter().map(|&v| zero(builder, v)).collect();
            Expectation::NonZeroDivisor.emit(builder, &truths);
            if matches!(
                data,
                InstData::Binary {
                    op: SDiv | SRem,
                    ..
                }
            ) {
                quotients_fit(builder, args, &divisors);
            }
            true
        }
        InstData::Binary {
            op: Shl | LShr | AShr,
            args,
            ..
        } => {
            let amounts = lanes(builder, args[1]);
            let width = result.lane_type().map_or(0, Scalar::bits);
            let truths: Vec<Value> = amounts
                .iter()
                .map(|&amount| {
                    let ty = builder.function().ty(amount);
                    let width = builder.constant(ty, u64::from(width));
                    builder.icmp(IntCond::Ult, amount, width)
                })
                .collect();
            Expectation::ShiftInRange.emit(builder, &truths);
            true
        }
        InstData::Cast {
            op: op @ (CastOp::FToS | CastOp::FToU),
            arg,
            ..
        } => {
            let bits = result.lane_type().map_or(0, Scalar::bits);
            let mut truths = Vec::new();
            for value in lanes(builder, arg) {
                fits(builder, value, op == CastOp::FToS, bits, &mut truths);
            }
            Expectation::ConversionInRange.emit(builder, &truths);
            true
        }
        _ => false,
    }
}

/// Expects that the least number is not divided by -1.
fn quotients_fit(builder: &mut Builder<'_>, args: [Value; 2], divisors: &[Value]) {
    let dividends = lanes(builder, args[0]);
    let mut truths = Vec::new();
    for (&dividend, &divisor) in dividends.iter().zip(divisors) {
        let ty = builder.function().ty(dividend);
        let bits = ty.lane_type().map_or(0, Scalar::bits);
        // Narrower numbers are divided as 32 bits.
        if bits < 32
            || builder
                .function()
                .const_bits(divisor)
                .is_some_and(|by| !is_minus_one(by, bits))
        {
            continue;
        }
        let least = builder.constant(ty, 1 << (bits - 1));
        let minus_one = builder.constant(ty, u64::MAX >> (64 - bits));
        let small = builder.icmp(IntCond::Ne, dividend, least);
        let other = builder.icmp(IntCond::Ne, divisor, minus_one);
        truths.push(builder.binary(BinaryOp::Or, small, other, Flags::NONE));
    }
    Expectation::QuotientInRange.emit(builder, &truths);
}

fn is_minus_one(number: u64, bits: u32) -> bool {
    number & (u64::MAX >> (64 - bits)) == u64::MAX >> (64 - bits)
}

/// The numbers of a scalar or vector.
fn lanes(builder: &mut Builder<'_>, value: Value) -> Vec<Value> {
    let ty = builder.function().ty(value);
    match ty.kind() {
        TypeKind::Vector(_, lanes) => (0..u32::from(lanes))
            .map(|lane| builder.extract_lane(value, lane))
            .collect(),
        _ => vec![value],
    }
}

/// The conditions under which a float, cut toward zero, is an integer of so many bits. A NaN meets none.
fn fits(builder: &mut Builder<'_>, value: Value, signed: bool, bits: u32, truths: &mut Vec<Value>) {
    let single = Type::scalar(Scalar::F32);
    let value = match builder.function().ty(value) == single {
        true => value,
        false => builder.cast(CastOp::FConvert, value, single, Flags::NONE),
    };
    let magnitude = 2f32.powi(bits as i32 - i32::from(signed));
    let low = if signed { -magnitude } else { 0.0 };
    // The next float below the least integer of 32 bits or more is smaller by more than one.
    let (cond, low) = match bits >= 32 && signed {
        true => (FloatCond::Oge, low),
        false => (FloatCond::Ogt, low - 1.0),
    };
    let (low, high) = (builder.f32(low), builder.f32(magnitude));
    truths.push(builder.fcmp(cond, value, low, Flags::NONE));
    truths.push(builder.fcmp(FloatCond::Olt, value, high, Flags::NONE));
}
