//! Turns copies and fills of a varying or large size into loops.
//!
//! The hardware has no instruction for them. A step moves a word if both addresses are aligned to words and the size is known
//! to be a whole number of them, else two bytes or one. Where the areas may overlap, the loop goes backwards if the target
//! lies behind the source.

use assay_ssa::{
    Access, BinaryOp, Block, Builder, CastOp, Flags, Function, Inst, InstData, IntCond, Module,
    Scalar, Type, Value,
};

/// More bytes than this are moved by a loop; fewer, if they are known, one after the other.
const LARGEST: u64 = 256;

/// Replaces every copy and fill whose size is large or no constant.
pub fn loop_copies(_: &Module, function: &mut Function) -> bool {
    let mut changed = false;
    let mut waiting = function.blocks().to_vec();
    while let Some(block) = waiting.pop() {
        let varying = |&inst: &Inst| match *function.inst(inst) {
            InstData::MemCopy { size, .. } | InstData::MemSet { size, .. } => {
                function.const_bits(size).is_none_or(|size| size > LARGEST)
            }
            _ => false,
        };
        if let Some(at) = function.insts(block).iter().position(varying) {
            // What is behind the loop may hold another.
            waiting.push(replace(function, block, at));
            changed = true;
        }
    }
    changed
}

/// What a loop moves.
#[derive(Clone, Copy)]
struct Move {
    dst: Value,
    from: From,
    size: Value,
    how: Access,
}

#[derive(Clone, Copy)]
enum From {
    Memory { src: Value, overlap: bool },
    Byte(Value),
}

/// Cuts a block at a copy or fill and puts a loop there. Returns the block behind it.
fn replace(function: &mut Function, block: Block, at: usize) -> Block {
    let mut insts = function.take_insts(block);
    let rest = insts.split_off(at + 1);
    let inst = insts.pop();
    function.set_insts(block, insts);
    let behind = function.add_block();
    function.set_insts(behind, rest);
    let body = function.add_block();
    let moved = inst.and_then(|inst| Some((inst, moved(function.inst(inst))?)));
    let loc = inst.and_then(|inst| function.loc(inst));
    let mut builder = Builder::new(function);
    builder.set_loc(loc);
    builder.switch_to(block);
    match moved {
        Some((_, moved)) => build(&mut builder, moved, body, behind),
        None => {
            builder.jump(behind, &[]);
        }
    }
    let mut order: Vec<Block> = function.blocks().to_vec();
    order.retain(|&other| other != body && other != behind);
    let place = order.iter().position(|&other| other == block);
    let place = place.map_or(order.len(), |place| place + 1);
    order.splice(place..place, [body, behind]);
    function.set_block_order(order);
    behind
}

fn moved(data: &InstData) -> Option<Move> {
    match *data {
        InstData::MemCopy {
            dst,
            src,
            size,
            align_log2,
            overlap,
            alias,
        } => Some(Move {
            dst,
            from: From::Memory { src, overlap },
            size,
            how: Access {
                alias,
                ..Access::aligned(1 << align_log2.min(16))
            },
        }),
        InstData::MemSet {
            dst,
            byte,
            size,
            align_log2,
        } => Some(Move {
            dst,
            from: From::Byte(byte),
            size,
            how: Access::aligned(1 << align_log2.min(16)),
        }),
        _ => None,
    }
}

fn build(builder: &mut Builder<'_>, moved: Move, body: Block, behind: Block) {
    let Move {
        dst,
        from,
        size,
        how,
    } = moved;
    let unit = zeros(builder.function(), size, 0)
        .min(u32::from(how.align_log2))
        .min(2);
    let number = builder.function().ty(size);
    let constant = |builder: &mut Builder<'_>, value: u64| builder.constant(number, value);
    let zero = constant(builder, 0);
    let steps = match unit {
        0 => size,
        _ => {
            let by = constant(builder, u64::from(unit));
            builder.binary(BinaryOp::LShr, size, by, Flags::NONE)
        }
    };
    let scalar = Scalar::int(8 << unit).unwrap_or(Scalar::I8);
    let ty = Type::scalar(scalar);
    let backwards = match from {
        From::Memory { src, overlap: true } => {
            let wide = Type::scalar(Scalar::I64);
            let [to, from] =
                [dst, src].map(|ptr| builder.cast(CastOp::PtrToInt, ptr, wide, Flags::NONE));
            Some(builder.icmp(IntCond::Ult, from, to))
        }
        _ => None,
    };
    let pattern = match from {
        From::Byte(byte) => Some(repeated(builder, byte, unit, ty)),
        From::Memory { .. } => None,
    };
    let any = builder.icmp(IntCond::Ne, steps, zero);
    let index = builder.function().add_param(body, number);
    builder.branch(any, (body, &[zero]), (behind, &[]));
    builder.switch_to(body);
    let one = constant(builder, 1);
    let next = builder.binary(BinaryOp::Add, index, one, Flags::NONE);
    let place = match backwards {
        Some(backwards) => {
            let mirrored = builder.binary(BinaryOp::Sub, steps, next, Flags::NONE);
            builder.select(backwards, mirrored, index, Flags::NONE)
        }
        None => index,
    };
    let how = Access {
        align_log2: how.align_log2.min(unit as u8),
        ..how
    };
    let value = match (pattern, from) {
        (None, From::Memory { src, .. }) => {
            let from = builder.ptr_add(src, Some(place), 1 << unit, 0, Flags::INBOUNDS);
            builder.load(ty, from, how)
        }
        (Some(pattern), _) => pattern,
        (None, From::Byte(byte)) => byte,
    };
    let to = builder.ptr_add(dst, Some(place), 1 << unit, 0, Flags::INBOUNDS);
    builder.store(to, value, how);
    let more = builder.icmp(IntCond::Ult, next, steps);
    builder.branch(more, (body, &[next]), (behind, &[]));
}

/// A byte in every byte of a number.
fn repeated(builder: &mut Builder<'_>, byte: Value, unit: u32, ty: Type) -> Value {
    if unit == 0 {
        return byte;
    }
    let wide = builder.cast(CastOp::ZExt, byte, ty, Flags::NONE);
    let factor = builder.constant(ty, 0x0101_0101 & ((1 << (8 << unit)) - 1));
    builder.binary(BinaryOp::Mul, wide, factor, Flags::NONE)
}

/// Operations looked through for the low bits of a size.
const DEEPEST: u32 = 8;

/// How many low bits of a number are known to be zero.
fn zeros(function: &Function, value: Value, depth: u32) -> u32 {
    if let Some(bits) = function.const_bits(value) {
        return bits.trailing_zeros();
    }
    if depth > DEEPEST {
        return 0;
    }
    let of = |value| zeros(function, value, depth + 1);
    match function.def_data(value) {
        Some(&InstData::Binary { op, args, .. }) => {
            let [a, b] = args;
            match op {
                BinaryOp::Mul => of(a).saturating_add(of(b)).min(64),
                BinaryOp::Add | BinaryOp::Sub | BinaryOp::Or => of(a).min(of(b)),
                BinaryOp::And => of(a).max(of(b)),
                BinaryOp::Shl => {
                    let by = function.const_bits(b).unwrap_or(0);
                    of(a).saturating_add(u32::try_from(by).unwrap_or(0)).min(64)
                }
                _ => 0,
            }
        }
        Some(&InstData::Cast {
            op: CastOp::Trunc | CastOp::ZExt | CastOp::SExt,
            arg,
            ..
        }) => of(arg),
        _ => 0,
    }
}
