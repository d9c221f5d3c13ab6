//! From an instruction to the row it is charged as.

use crate::Key;
use assay_agx::{Instruction, Op, Operand, ReduceOp, Reduction, Scope, ShuffleKind, Width};

impl Key {
    /// The row for an instruction. One whose meaning is unknown gets [`Key::Unknown`],
    /// which has no cost.
    pub fn of(instruction: &Instruction) -> Key {
        match instruction.op() {
            Op::Iadd | Op::Isub => {
                by_width(widest(instruction), [Key::Iadd16, Key::Iadd32, Key::Iadd64])
            }
            Op::Imadd | Op::Imsub => {
                by_width(widest(instruction), [Key::Imad16, Key::Imad32, Key::Imad64])
            }
            Op::Icmpsel | Op::Fcmpsel => by_width(
                widest(instruction),
                [Key::Cmpsel16, Key::Cmpsel32, Key::Cmpsel32],
            ),
            Op::Rsqrt => by_dest(instruction, Key::Rsqrt16, Key::Rsqrt32),
            Op::Log2 => by_dest(instruction, Key::Log216, Key::Log232),
            Op::Exp2 => by_dest(instruction, Key::Exp216, Key::Exp232),
            Op::Shuffle => shuffle(instruction),
            Op::Reduce => match instruction.reduction() {
                Some(reduction) => reduce(reduction, is_half(instruction.dest())),
                None => Key::Unknown,
            },
            op => fixed(op),
        }
    }

    /// A row for an operation, whatever its operands: for listings and checks.
    pub fn of_op(op: Op) -> Key {
        match op {
            Op::Iadd | Op::Isub => Key::Iadd32,
            Op::Imadd | Op::Imsub => Key::Imad32,
            Op::Icmpsel | Op::Fcmpsel => Key::Cmpsel32,
            Op::Rsqrt => Key::Rsqrt32,
            Op::Log2 => Key::Log232,
            Op::Exp2 => Key::Exp232,
            Op::Shuffle => Key::SimdShuffle,
            Op::Reduce => Key::SimdReduceAddF32,
            op => fixed(op),
        }
    }
}

/// Operations whose row does not depend on their operands.
fn fixed(op: Op) -> Key {
    BY_OP.get(op as usize).copied().unwrap_or(Key::Unknown)
}

/// [`FIXED`] by number of the operation: looked up for every instruction.
const BY_OP: [Key; 256] = {
    let mut keys = [Key::Unknown; 256];
    let mut at = 0;
    while at < FIXED.len() {
        keys[FIXED[at].0 as usize] = FIXED[at].1;
        at += 1;
    }
    keys
};

const FIXED: &[(Op, Key)] = &[
    (Op::Fmadd32, Key::Fmadd32),
    (Op::Fadd32, Key::Fadd32),
    (Op::Fmul32, Key::Fmul32),
    (Op::Fmadd16, Key::Fmadd16),
    (Op::Fadd16, Key::Fadd16),
    (Op::Fmul16, Key::Fmul16),
    (Op::Bitop, Key::Bitop),
    (Op::MovImm, Key::MovImm),
    (Op::DeviceLoad, Key::DeviceLoad),
    (Op::DeviceStore, Key::DeviceStore),
    (Op::Wait, Key::Wait),
    (Op::Convert, Key::Convert),
    (Op::GetSr, Key::GetSr),
    (Op::GetSrUnknown, Key::GetSr),
    (Op::Bfi, Key::Bfi),
    (Op::Bfeil, Key::Bfeil),
    (Op::Extr, Key::Extr),
    (Op::Shlhi, Key::Shlhi),
    (Op::Shrhi, Key::Shrhi),
    (Op::Asr, Key::Asr),
    (Op::Asrh, Key::Asrh),
    (Op::Bitrev, Key::Bitrev),
    (Op::Popcount, Key::Popcount),
    (Op::Intl, Key::Intl),
    (Op::Ffs, Key::Ffs),
    (Op::Floor, Key::Floor),
    (Op::Ceil, Key::Ceil),
    (Op::Trunc, Key::Trunc),
    (Op::Rint, Key::Rint),
    (Op::Rcp, Key::Rcp),
    (Op::RsqrtSpecial, Key::RsqrtSpecial),
    (Op::SinPt1, Key::SinPt1),
    (Op::SinPt2, Key::SinPt2),
    (Op::Dfdx, Key::Derivative),
    (Op::Dfdy, Key::Derivative),
    (Op::IcmpBallot, Key::SimdBallot),
    (Op::FcmpBallot, Key::SimdBallot),
    (Op::IcmpQuadBallot, Key::QuadBallot),
    (Op::FcmpQuadBallot, Key::QuadBallot),
    (Op::SimdMatrixFmadd16, Key::SimdMatrixFmadd16),
    (Op::SimdMatrixFmadd32, Key::SimdMatrixFmadd32),
    (Op::Stop, Key::Stop),
    (Op::Trap, Key::Trap),
    (Op::Ret, Key::Call),
    (Op::Call, Key::Call),
    (Op::CallReg, Key::Call),
    (Op::JmpIncomplete, Key::Jump),
    (Op::JmpExecAny, Key::Jump),
    (Op::JmpExecNone, Key::Jump),
    (Op::JmpIfSkippingDoorbell, Key::Jump),
    (Op::PopExec, Key::ExecMask),
    (Op::PopExecUnknown, Key::ExecMask),
    (Op::IfIcmp, Key::ExecMask),
    (Op::IfFcmp, Key::ExecMask),
    (Op::ElseIcmp, Key::ExecMask),
    (Op::ElseFcmp, Key::ExecMask),
    (Op::WhileIcmp, Key::ExecMask),
    (Op::WhileFcmp, Key::ExecMask),
    (Op::ThreadgroupBarrier, Key::ThreadgroupBarrier),
    (Op::MemoryBarrier, Key::MemoryBarrier),
    (Op::ThreadgroupLoad, Key::ThreadgroupLoad),
    (Op::ThreadgroupStore, Key::ThreadgroupStore),
    (Op::StackLoad, Key::StackLoad),
    (Op::StackStore, Key::StackStore),
    (Op::StackAdjust, Key::StackAdjust),
    (Op::StackGetPtr, Key::StackGetPtr),
    (Op::UniformStore, Key::UniformStore),
    (Op::Atomic, Key::DeviceAtomic),
    (Op::ThreadgroupAtomic, Key::ThreadgroupAtomic),
    (Op::AsyncLoad, Key::AsyncCopy),
    (Op::AsyncStore, Key::AsyncCopy),
    (Op::TextureSample, Key::TextureSample),
    (Op::TextureLoad, Key::TextureLoad),
    (Op::ImageWrite, Key::ImageWrite),
    (Op::ImageWriteBlock, Key::ImageWrite),
    (Op::TexStateStore, Key::StateStore),
    (Op::SamplerStateStore, Key::StateStore),
    (Op::LdTile, Key::Tile),
    (Op::StTile, Key::Tile),
    (Op::Iter, Key::Varying),
    (Op::IterProj, Key::Varying),
    (Op::Ldcf, Key::Varying),
    (Op::StVar, Key::Varying),
    (Op::StVarFinal, Key::Varying),
    (Op::NoVar, Key::Varying),
    (Op::WaitPix, Key::FragmentControl),
    (Op::SignalPix, Key::FragmentControl),
    (Op::SampleMask, Key::FragmentControl),
    (Op::ZsEmit, Key::FragmentControl),
    (Op::Doorbell, Key::FragmentControl),
    (Op::Map, Key::FragmentControl),
    (Op::Unmap, Key::FragmentControl),
];

/// Operations whose row depends on their operands.
const VARYING: &[Op] = &[
    Op::Iadd,
    Op::Isub,
    Op::Imadd,
    Op::Imsub,
    Op::Icmpsel,
    Op::Fcmpsel,
    Op::Rsqrt,
    Op::Log2,
    Op::Exp2,
    Op::Shuffle,
    Op::Reduce,
];

/// Operations that have no cost, and why.
pub const NO_COST: &[(Op, &str)] = &[
    (Op::IntegerUnaryUnknown, "an operation no decoder knows"),
    (Op::FloatUnaryUnknown, "an operation no decoder knows"),
    (Op::Unknown, "an instruction of unknown meaning"),
];

/// Every operation of the instruction set that the tables answer for.
pub const OPS: &[Op] = &{
    let mut ops = [Op::Unknown; FIXED.len() + VARYING.len() + NO_COST.len()];
    let mut at = 0;
    while at < FIXED.len() {
        ops[at] = FIXED[at].0;
        at += 1;
    }
    let mut from = 0;
    while from < VARYING.len() {
        ops[at] = VARYING[from];
        at += 1;
        from += 1;
    }
    let mut from = 0;
    while from < NO_COST.len() {
        ops[at] = NO_COST[from].0;
        at += 1;
        from += 1;
    }
    ops
};

fn width(operand: Operand) -> Option<Width> {
    match operand {
        Operand::Reg(reg) => Some(reg.width),
        Operand::Uniform(uniform) => Some(uniform.width),
        _ => None,
    }
}

/// The widest register or uniform among result and sources.
fn widest(instruction: &Instruction) -> Width {
    instruction
        .dest()
        .into_iter()
        .chain(instruction.sources())
        .filter_map(width)
        .max()
        .unwrap_or(Width::W32)
}

fn is_half(operand: Option<Operand>) -> bool {
    operand.and_then(width) == Some(Width::W16)
}

fn by_width(width: Width, [half, word, double]: [Key; 3]) -> Key {
    match width {
        Width::W16 => half,
        Width::W32 => word,
        Width::W64 => double,
    }
}

fn by_dest(instruction: &Instruction, half: Key, word: Key) -> Key {
    match is_half(instruction.dest()) {
        true => half,
        false => word,
    }
}

fn shuffle(instruction: &Instruction) -> Key {
    let Some(shuffle) = instruction.shuffle() else {
        return Key::Unknown;
    };
    match (shuffle.scope, shuffle.kind) {
        (Some(Scope::Simd), ShuffleKind::Index) => Key::SimdShuffle,
        (Some(Scope::Simd), _) => Key::SimdShuffleBy,
        (Some(Scope::Quad), ShuffleKind::Index) => Key::QuadShuffle,
        (Some(Scope::Quad), _) => Key::QuadShuffleBy,
        (None, _) => Key::Unknown,
    }
}

fn reduce(reduction: Reduction, half: bool) -> Key {
    use ReduceOp as R;
    let simd = reduction.scope == Scope::Simd;
    let [simd_key, quad_key] = match (reduction.prefix, reduction.op, half) {
        (false, R::FloatAdd, true) => [Key::SimdReduceAddF16, Key::QuadReduceAddF16],
        (false, R::FloatAdd, false) => [Key::SimdReduceAddF32, Key::QuadReduceAddF32],
        (false, R::IntegerAdd, true) => [Key::SimdReduceAddI16, Key::QuadReduceAddI16],
        (false, R::IntegerAdd, false) => [Key::SimdReduceAddI32, Key::QuadReduceAddI32],
        (false, R::FloatMul, true) => [Key::SimdReduceMulF16, Key::QuadReduceMulF16],
        (false, R::FloatMul, false) => [Key::SimdReduceMulF32, Key::QuadReduceMulF32],
        (false, R::And | R::Or | R::Xor, true) => [Key::SimdReduceBit16, Key::QuadReduceBit16],
        (false, R::And | R::Or | R::Xor, false) => [Key::SimdReduceBit32, Key::QuadReduceBit32],
        (false, R::FloatMin | R::FloatMax, true) => {
            [Key::SimdReduceMinmaxF16, Key::QuadReduceMinmaxF16]
        }
        (false, R::FloatMin | R::FloatMax, false) => {
            [Key::SimdReduceMinmaxF32, Key::QuadReduceMinmaxF32]
        }
        (false, _, true) => [Key::SimdReduceMinmaxI16, Key::QuadReduceMinmaxI16],
        (false, _, false) => [Key::SimdReduceMinmaxI32, Key::QuadReduceMinmaxI32],
        (true, R::FloatAdd | R::FloatMul, true) => [Key::SimdPrefixF16, Key::QuadPrefixF16],
        (true, R::FloatAdd | R::FloatMul, false) => [Key::SimdPrefixF32, Key::QuadPrefixF32],
        (true, R::IntegerAdd, true) => [Key::SimdPrefixI16, Key::QuadPrefixI16],
        (true, R::IntegerAdd, false) => [Key::SimdPrefixI32, Key::QuadPrefixI32],
        (true, _, _) => [Key::SimdPrefixOther, Key::QuadPrefixOther],
    };
    match simd {
        true => simd_key,
        false => quad_key,
    }
}
