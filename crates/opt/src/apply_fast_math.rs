//! Decides what fast-math flags mean: the one place that turns a permission into other arithmetic.
//!
//! Later passes, the executor and the code generator look at no flag but `contract`
//! ([`fuse_multiply_add`](crate::fuse_multiply_add)); they see the operations this pass leaves. The rule:
//!
//! | what | with | becomes |
//! |---|---|---|
//! | `a / b`, and `divide.fast` | `arcp` | `a · recip(b)`; `recip(b)` for 1, `−recip(b)` for −1 |
//! | the same of halves or brain floats | `arcp` | widened, the same in single precision, rounded once |
//! | `recip(b)` as above, `b` a fast square root | `arcp` `reassoc` | `rsqrt` of what is under the root |
//! | `frem a, b` | `arcp` or `afn` | `fmod.fast` |
//! | a function of halves or brain floats | `afn` on the call | its fast version: widened, computed, rounded once |
//! | a function of singles | – | what its name says, whatever the flags |
//! | `pow.fast`, `powr.fast` of singles | – | `exp2(y · log2(x))`, Metal's definition, so that its parts can be shared |
//! | `fract.fast` | – | `fmin(x − floor(x), the largest number below 1)`, Metal's definition |
//!
//! Functions of singles have two names in AIR (`air.exp.f32`, `air.fast_exp.f32`), chosen by the front end from the
//! mode and from `precise::` and `fast::`; Apple's compiler puts `fast` flags on calls of both, so the name decides.
//! Functions of halves have one name, so the flags decide. Attributes of functions and of the module
//! (`air.compile.fast_math_enable`) say nothing that the flags of its instructions do not say.
//!
//! `nnan`, `ninf` and `nsz` permit more than is used here: no result changes because of them. A division whose quotient
//! over- or underflows only as `recip(b)` (`|b|` above 2¹²⁶) gives a zero or infinity, as in Apple's code.

use assay_ssa::analysis::Cfg;
use assay_ssa::builtin::{Builtin, Family};
use assay_ssa::{
    BinaryOp, Block, Builder, Callee, CastOp, Flags, Function, Inst, InstData, Module, Scalar,
    Type, TypeKind, UnaryOp, Value,
};

/// Replaces what flags permit to compute otherwise.
pub fn apply_fast_math(_: &Module, function: &mut Function) -> bool {
    let mut changed = false;
    for &block in Cfg::new(function).order() {
        for inst in function.take_insts(block) {
            if let Some(data) = replaced(function, block, inst) {
                *function.inst_mut(inst) = data;
                changed = true;
            }
            function.append(block, inst);
        }
    }
    changed
}

/// What an instruction becomes; what that needs is appended to the block.
fn replaced(function: &mut Function, block: Block, inst: Inst) -> Option<InstData> {
    match *function.inst(inst) {
        InstData::Binary {
            op: BinaryOp::FDiv,
            flags,
            args,
        } if flags.has(Flags::ARCP) => quotient(function, block, inst, flags, args),
        InstData::Binary {
            op: BinaryOp::FRem,
            flags,
            args,
        } if flags.any(Flags::ARCP | Flags::AFN) => Some(InstData::Call {
            callee: Callee::Builtin(Builtin::Fmod.fast()),
            args: function.list(&args),
            flags,
        }),
        InstData::Call {
            callee: Callee::Builtin(mut call),
            args,
            flags,
        } => {
            let &arg = function.list_values(args).first()?;
            let scalar = function.ty(arg).element()?;
            if call.builtin == Builtin::Fract && (call.fast || is_fast(flags, scalar)) {
                return fraction(function, block, inst, arg);
            }
            if call.builtin == Builtin::Divide
                && (call.fast || is_fast(flags, scalar))
                && let &[a, b] = function.list_values(args)
            {
                return quotient(function, block, inst, flags, [a, b]);
            }
            if matches!(call.builtin, Builtin::Pow | Builtin::Powr)
                && call.fast
                && scalar == Scalar::F32
                && let &[x, y] = function.list_values(args)
            {
                return power(function, block, inst, flags, [x, y]);
            }
            let has_versions = matches!(call.info().family, Family::Math | Family::Geometric);
            if call.fast || !has_versions || !is_fast(flags, scalar) {
                return None;
            }
            call.fast = true;
            let callee = Callee::Builtin(call);
            Some(InstData::Call {
                callee,
                args,
                flags,
            })
        }
        _ => None,
    }
}

/// Returns true if a call that has no fast name of its own is of the fast version.
fn is_fast(flags: Flags, scalar: Scalar) -> bool {
    flags.has(Flags::AFN) && matches!(scalar, Scalar::F16 | Scalar::BF16)
}

/// A builder that appends to a block in the name of an instruction.
fn builder(function: &mut Function, block: Block, inst: Inst) -> Builder<'_> {
    let loc = function.loc(inst);
    let mut builder = Builder::new(function);
    builder.set_loc(loc);
    builder.switch_to(block);
    builder
}

/// The same shape with other elements.
fn with_elements(ty: Type, scalar: Scalar) -> Type {
    match ty.kind() {
        TypeKind::Vector(_, lanes) => Type::vector(scalar, lanes),
        _ => Type::scalar(scalar),
    }
}

fn quotient(
    function: &mut Function,
    block: Block,
    inst: Inst,
    flags: Flags,
    [a, b]: [Value; 2],
) -> Option<InstData> {
    let ty = function.result_type(inst);
    let scalar = match ty.kind() {
        TypeKind::Scalar(scalar) | TypeKind::Vector(scalar, _) if scalar.is_float() => scalar,
        _ => return None,
    };
    let one = match scalar {
        Scalar::F16 => 0x3c00,
        Scalar::BF16 => 0x3f80,
        _ => u64::from(1f32.to_bits()),
    };
    let sign = scalar.mask() ^ (scalar.mask() >> 1);
    let numerator = function.const_splat(a);
    if numerator == Some(one) {
        return Some(reciprocal(function, flags, b));
    }
    let single = with_elements(ty, Scalar::F32);
    if numerator == Some(one | sign) {
        let data = reciprocal(function, flags, b);
        let mut builder = builder(function, block, inst);
        let made = builder.inst(data, ty);
        let arg = function.result(made)?;
        let op = UnaryOp::FNeg;
        return Some(InstData::Unary { op, flags, arg });
    }
    if scalar == Scalar::F32 {
        let data = reciprocal(function, flags, b);
        let made = builder(function, block, inst).inst(data, ty);
        let args = [a, function.result(made)?];
        let op = BinaryOp::FMul;
        return Some(InstData::Binary { op, flags, args });
    }
    let mut builder = builder(function, block, inst);
    let [a, b] = [a, b].map(|arg| builder.cast(CastOp::FConvert, arg, single, Flags::NONE));
    let inverse = builder.builtin(Builtin::Recip.call(), &[b], single)?;
    let arg = builder.binary(BinaryOp::FMul, a, inverse, Flags::NONE);
    Some(InstData::Cast {
        op: CastOp::FConvert,
        arg,
        flags: Flags::NONE,
    })
}

/// `1 / b`; of a fast square root, the reciprocal square root.
fn reciprocal(function: &mut Function, flags: Flags, b: Value) -> InstData {
    let mut call = (Builtin::Recip, b);
    if let Some(&InstData::Call {
        callee: Callee::Builtin(root),
        args,
        flags: of_root,
    }) = function.def_data(b)
        && root.builtin == Builtin::Sqrt
        && root.fast
        && flags.and(of_root).has(Flags::REASSOC)
        && let Some(&under) = function.list_values(args).first()
    {
        call = (Builtin::Rsqrt, under);
    }
    InstData::Call {
        callee: Callee::Builtin(call.0.call()),
        args: function.list(&[call.1]),
        flags,
    }
}

fn power(
    function: &mut Function,
    block: Block,
    inst: Inst,
    flags: Flags,
    [x, y]: [Value; 2],
) -> Option<InstData> {
    let ty = function.ty(x);
    let mut builder = builder(function, block, inst);
    let logarithm = builder.builtin(Builtin::Log2.fast(), &[x], ty)?;
    let product = builder.binary(BinaryOp::FMul, y, logarithm, flags);
    Some(InstData::Call {
        callee: Callee::Builtin(Builtin::Exp2.fast()),
        args: function.list(&[product]),
        flags,
    })
}

fn fraction(function: &mut Function, block: Block, inst: Inst, x: Value) -> Option<InstData> {
    let ty = function.ty(x);
    let below_one = match ty.element()? {
        Scalar::F16 => 0x3bff,
        Scalar::BF16 => 0x3f7f,
        _ => 0x3f7f_ffff,
    };
    let most = match ty.kind() {
        TypeKind::Vector(_, lanes) => {
            let elements = vec![below_one; usize::from(lanes)];
            function.constant_vector(ty, &elements)
        }
        _ => function.constant(ty, below_one),
    };
    let mut builder = builder(function, block, inst);
    let floor = builder.builtin(Builtin::Floor.call(), &[x], ty)?;
    let part = builder.binary(BinaryOp::FSub, x, floor, Flags::NONE);
    let args = function.list(&[part, most]);
    Some(InstData::Call {
        callee: Callee::Builtin(Builtin::Fmin.call()),
        args,
        flags: Flags::NONE,
    })
}
