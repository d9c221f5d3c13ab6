//! Keeps addresses in the shape the hardware has: `base + extend(i32) * size + constant`.
//!
//! Front ends widen an index before they use it, so an address is three instructions of
//! which two are 64 bits wide. Here the address takes the narrow index itself, with the way
//! it is widened, and constants move out of the index into the offset, so that neighbours
//! differ in the offset alone.
//!
//! * `ptr + zext(i)` and `ptr + sext(i)` take `i`.
//! * `i + c` becomes `i` and an offset, where the addition is 64 bits wide or does not wrap
//!   (by its flags, or because the numbers are known to be small).
//! * A 64-bit `i << k` or `i * c` becomes a larger step.
//! * A 64-bit sum of which one half is a widened `i32` is added in two steps, the other half
//!   first: it often stays the same for a whole loop, and the rest is one access.
//! * 64-bit sums and products that are known to stay below 2³² are computed in 32 bits, and
//!   so is the choice between two widened values.

use crate::bounds::upper_bound;
use assay_ssa::analysis::Cfg;
use assay_ssa::{
    BinaryOp, Block, CastOp, Flags, Function, IndexExtend, Inst, InstData, Module, Scalar, Type,
    Value,
};

/// Steps taken on one address.
const MOST_STEPS: usize = 16;

/// Times one address is split.
const DEEPEST: u32 = 4;

/// Where new instructions go: in front of the user.
struct New<'a> {
    user: Inst,
    added: &'a mut Vec<(Inst, Inst)>,
    /// How often the address may still be split.
    depth: u32,
}

impl New<'_> {
    fn push(&mut self, inst: Inst) {
        self.added.push((self.user, inst));
    }
}

/// Rewrites the addresses of a function.
pub fn narrow_indices(_: &Module, function: &mut Function) -> bool {
    let mut changed = false;
    let mut added: Vec<(Inst, Inst)> = Vec::new();
    let order = Cfg::new(function).order().to_vec();
    for block in order {
        added.clear();
        for at in 0..function.insts(block).len() {
            let inst = function.insts(block)[at];
            let mut new = New {
                user: inst,
                added: &mut added,
                depth: DEEPEST,
            };
            changed |= narrow(function, inst, &mut new);
        }
        insert_before(function, block, &added);
    }
    changed
}

/// Puts each new instruction in front of the one it was made for.
fn insert_before(function: &mut Function, block: Block, added: &[(Inst, Inst)]) {
    if added.is_empty() {
        return;
    }
    let old = function.take_insts(block);
    let mut new = Vec::with_capacity(old.len() + added.len());
    let mut next = added.iter().peekable();
    for inst in old {
        while let Some((_, made)) = next.next_if(|(user, _)| *user == inst) {
            new.push(*made);
        }
        new.push(inst);
    }
    function.set_insts(block, new);
}

/// An address taken apart.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Address {
    base: Value,
    index: Option<Value>,
    scale: u32,
    offset: i64,
    extend: IndexExtend,
    /// The index is known not to be negative, so both ways of widening give the same.
    not_negative: bool,
}

fn narrow(function: &mut Function, inst: Inst, new: &mut New<'_>) -> bool {
    let InstData::PtrAdd {
        base,
        index,
        scale,
        offset,
        extend,
        flags,
    } = *function.inst(inst)
    else {
        return false;
    };
    let start = Address {
        base,
        index,
        scale,
        offset,
        extend,
        not_negative: false,
    };
    let mut address = start;
    for _ in 0..MOST_STEPS {
        let next = step(function, &address)
            .or_else(|| in_32_bits(function, &address, new))
            .or_else(|| chosen_in_32_bits(function, &address, new))
            .or_else(|| split(function, &address, new));
        match next {
            Some(next) => address = next,
            None => break,
        }
    }
    if address.offset == start.offset
        && (address.base, address.index) == (start.base, start.index)
        && address.scale == start.scale
    {
        return false;
    }
    let keeps_nuw = address.extend == IndexExtend::Zero && address.offset >= 0;
    *function.inst_mut(inst) = InstData::PtrAdd {
        base: address.base,
        index: address.index,
        scale: address.scale,
        offset: address.offset,
        extend: address.extend,
        flags: if keeps_nuw {
            flags
        } else {
            flags.without(Flags::NUW)
        },
    };
    true
}

/// One simplification that needs no new instruction.
fn step(function: &Function, address: &Address) -> Option<Address> {
    let Some(index) = address.index else {
        return onto_indexed(function, address);
    };
    match function.int_type(index)? {
        Scalar::I64 => wide_step(function, address, index),
        Scalar::I32 => narrow_step(function, address, index),
        _ => None,
    }
}

/// A constant distance from an indexed address is part of that address.
fn onto_indexed(function: &Function, address: &Address) -> Option<Address> {
    let &InstData::PtrAdd {
        base,
        index: Some(index),
        scale,
        offset,
        extend,
        ..
    } = function.def_data(address.base)?
    else {
        return None;
    };
    // Steps larger than an element are kept apart: their product is worth sharing.
    if scale > 16 || !scale.is_power_of_two() || function.int_type(index) != Some(Scalar::I32) {
        return None;
    }
    Some(Address {
        base,
        index: Some(index),
        scale,
        offset: offset.checked_add(address.offset)?,
        extend,
        not_negative: false,
    })
}

fn wide_step(function: &Function, address: &Address, index: Value) -> Option<Address> {
    match *function.def_data(index)? {
        InstData::Cast { op, flags, arg } if function.int_type(arg) == Some(Scalar::I32) => {
            let extend = match op {
                CastOp::ZExt => IndexExtend::Zero,
                CastOp::SExt => IndexExtend::Sign,
                _ => return None,
            };
            Some(Address {
                index: Some(arg),
                extend,
                not_negative: flags.has(Flags::NNEG),
                ..*address
            })
        }
        InstData::Binary {
            op, flags, args, ..
        } => {
            let constant = function.const_int(args[1])?;
            match op {
                BinaryOp::Add => address.with_offset(args[0], constant),
                BinaryOp::Sub => address.with_offset(args[0], constant.checked_neg()?),
                BinaryOp::Or if flags.has(Flags::DISJOINT) => {
                    address.with_offset(args[0], constant)
                }
                BinaryOp::Shl => address.with_step(args[0], 1u32.checked_shl(constant as u32)?),
                BinaryOp::Mul => address.with_step(args[0], u32::try_from(constant).ok()?),
                _ => None,
            }
        }
        _ => None,
    }
}

/// `i + c` of 32 bits, where it does not wrap.
fn narrow_step(function: &Function, address: &Address, index: Value) -> Option<Address> {
    let InstData::Binary { op, flags, args } = *function.def_data(index)? else {
        return None;
    };
    let constant = function.const_int(args[1])?;
    match op {
        BinaryOp::Or if flags.has(Flags::DISJOINT) => {
            address.with_offset(args[0], as_extended(constant, address.extend))
        }
        BinaryOp::Add => {
            let unsigned = flags.has(Flags::NUW)
                || upper_bound(function, args[0])
                    .checked_add(constant as u32 as u64)
                    .is_some_and(|sum| sum <= u64::from(u32::MAX));
            let zero = address.extend == IndexExtend::Zero;
            if zero && unsigned {
                return address.with_offset(args[0], as_extended(constant, IndexExtend::Zero));
            }
            let signed = flags.has(Flags::NSW);
            if signed && (!zero || address.not_negative) {
                let signed = Address {
                    extend: IndexExtend::Sign,
                    not_negative: false,
                    ..*address
                };
                return signed.with_offset(args[0], constant);
            }
            None
        }
        _ => None,
    }
}

/// A 32-bit constant widened.
fn as_extended(constant: i64, extend: IndexExtend) -> i64 {
    match extend {
        IndexExtend::Sign => constant,
        IndexExtend::Zero => i64::from(constant as u32),
    }
}

impl Address {
    /// The same address with a constant moved from the index to the offset.
    fn with_offset(&self, index: Value, steps: i64) -> Option<Self> {
        let bytes = steps.checked_mul(i64::from(self.scale))?;
        Some(Address {
            index: Some(index),
            offset: self.offset.checked_add(bytes)?,
            not_negative: false,
            ..*self
        })
    }

    /// The same address with a factor moved from the index to the scale.
    fn with_step(&self, index: Value, factor: u32) -> Option<Self> {
        Some(Address {
            index: Some(index),
            scale: self.scale.checked_mul(factor).filter(|&scale| scale > 0)?,
            ..*self
        })
    }
}

/// A 64-bit sum or product below 2³² as a 32-bit one.
fn in_32_bits(function: &mut Function, address: &Address, new: &mut New<'_>) -> Option<Address> {
    let index = address
        .index
        .filter(|&index| function.int_type(index) == Some(Scalar::I64))?;
    let &InstData::Binary {
        op: op @ (BinaryOp::Add | BinaryOp::Mul),
        args,
        ..
    } = function.def_data(index)?
    else {
        return None;
    };
    if upper_bound(function, index) > u64::from(u32::MAX) {
        return None;
    }
    let narrow = [narrowed(function, args[0])?, narrowed(function, args[1])?];
    let made = function.make_inst(
        InstData::Binary {
            op,
            flags: Flags::NUW,
            args: narrow,
        },
        Type::I32,
        function.loc(new.user),
    );
    new.push(made);
    Some(Address {
        index: function.result(made),
        extend: IndexExtend::Zero,
        not_negative: false,
        ..*address
    })
}

/// A choice between two values that are widened the same way, widened after it.
fn chosen_in_32_bits(
    function: &mut Function,
    address: &Address,
    new: &mut New<'_>,
) -> Option<Address> {
    let index = address
        .index
        .filter(|&index| function.int_type(index) == Some(Scalar::I64))?;
    let &InstData::Select { cond, args, flags } = function.def_data(index)? else {
        return None;
    };
    let widened = |extend: IndexExtend| {
        let [a, b] = args.map(|arg| widened_from(function, arg, extend));
        Some((extend, [a?, b?]))
    };
    let (extend, narrow) = widened(IndexExtend::Zero).or_else(|| widened(IndexExtend::Sign))?;
    let args = narrow.map(|narrow| match narrow {
        Narrow::Value(value) => value,
        Narrow::Constant(bits) => function.constant(Type::I32, u64::from(bits)),
    });
    let select = InstData::Select { cond, args, flags };
    let made = function.make_inst(select, Type::I32, function.loc(new.user));
    new.push(made);
    Some(Address {
        index: function.result(made),
        extend,
        not_negative: false,
        ..*address
    })
}

/// What gives a 64-bit value when it is widened.
enum Narrow {
    Value(Value),
    Constant(u32),
}

fn widened_from(function: &Function, wide: Value, extend: IndexExtend) -> Option<Narrow> {
    if let Some(bits) = function.const_bits(wide) {
        let same = match extend {
            IndexExtend::Zero => u32::try_from(bits).is_ok(),
            IndexExtend::Sign => i32::try_from(bits as i64).is_ok(),
        };
        return same.then_some(Narrow::Constant(bits as u32));
    }
    let &InstData::Cast { op, arg, .. } = function.def_data(wide)? else {
        return None;
    };
    let same = match extend {
        IndexExtend::Zero => op == CastOp::ZExt,
        IndexExtend::Sign => op == CastOp::SExt,
    };
    (same && function.int_type(arg) == Some(Scalar::I32)).then_some(Narrow::Value(arg))
}

/// The 32-bit value a 64-bit one was widened from without sign.
fn narrowed(function: &mut Function, wide: Value) -> Option<Value> {
    if let Some(bits) = function.const_bits(wide) {
        let bits = u32::try_from(bits).ok()?;
        return Some(function.constant(Type::I32, u64::from(bits)));
    }
    match *function.def_data(wide)? {
        InstData::Cast {
            op: CastOp::ZExt,
            arg,
            ..
        } if function.int_type(arg) == Some(Scalar::I32) => Some(arg),
        _ => None,
    }
}

/// `base + (a + extend(b)) * scale` as `(base + a * scale) + extend(b) * scale`.
fn split(function: &mut Function, address: &Address, new: &mut New<'_>) -> Option<Address> {
    new.depth = new.depth.checked_sub(1)?;
    let index = address
        .index
        .filter(|&index| function.int_type(index) == Some(Scalar::I64))?;
    let &InstData::Binary {
        op: BinaryOp::Add,
        args: [a, b],
        ..
    } = function.def_data(index)?
    else {
        return None;
    };
    let widened = |value: Value| match function.def_data(value) {
        Some(&InstData::Cast {
            op: CastOp::ZExt | CastOp::SExt,
            arg,
            ..
        }) => function.int_type(arg) == Some(Scalar::I32),
        _ => false,
    };
    // Of two, what was made later varies more often.
    let (first, last) = match (widened(a), widened(b)) {
        (true, true) => (a.min(b), a.max(b)),
        (true, false) => (b, a),
        (false, true) => (a, b),
        (false, false) => return None,
    };
    let inner = InstData::PtrAdd {
        base: address.base,
        index: Some(first),
        scale: address.scale,
        offset: 0,
        extend: IndexExtend::Sign,
        flags: Flags::NONE,
    };
    let ty = function.ty(address.base);
    let made = function.make_inst(inner, ty, function.loc(new.user));
    // The inner address may be narrowed in its turn.
    narrow(function, made, new);
    new.push(made);
    Some(Address {
        base: function.result(made)?,
        index: Some(last),
        ..*address
    })
}
