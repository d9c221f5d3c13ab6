//! How large an unsigned integer can be, from how it is computed.
//!
//! Enough to see that an index does not wrap: positions have limits the hardware sets,
//! masks and shifts cut, widened values keep the limits of their narrow types. What is not
//! understood is as large as its type allows.

use assay_ssa::builtin::Builtin;
use assay_ssa::{BinaryOp, Callee, CastOp, Function, InstData, Value};

/// Links of a computation that are followed; what is behind is not looked at.
const DEEPEST: u32 = 6;

/// Most threads of a threadgroup on any Apple GPU (Metal's feature set tables).
const THREADGROUP: u64 = 1024;
/// Threads of a simdgroup.
const SIMDGROUP: u64 = 32;
/// Threads of a quadgroup.
const QUADGROUP: u64 = 4;

/// The largest number an integer value can be, read without sign.
pub(crate) fn upper_bound(function: &Function, value: Value) -> u64 {
    bound(function, value, DEEPEST)
}

fn bound(function: &Function, value: Value, depth: u32) -> u64 {
    if let Some(bits) = function.const_bits(value) {
        return bits;
    }
    let widest = function
        .ty(value)
        .lane_type()
        .map_or(u64::MAX, |scalar| scalar.mask());
    if depth == 0 {
        return widest;
    }
    let Some(data) = function.def_data(value) else {
        return widest;
    };
    let of = |value: Value| bound(function, value, depth - 1);
    let found = match *data {
        InstData::Cast {
            op: CastOp::ZExt | CastOp::Trunc,
            arg,
            ..
        } => of(arg),
        InstData::Select { args: [a, b], .. } => of(a).max(of(b)),
        InstData::Binary {
            op, args: [a, b], ..
        } => binary(function, op, [a, b], of).unwrap_or(widest),
        InstData::Extract { vector, .. } => position(function, vector).unwrap_or(widest),
        InstData::Call { .. } => position(function, value).unwrap_or(widest),
        _ => widest,
    };
    // A result beyond the type has wrapped and may be anything.
    if found <= widest { found } else { widest }
}

fn binary(
    function: &Function,
    op: BinaryOp,
    [a, b]: [Value; 2],
    of: impl Fn(Value) -> u64,
) -> Option<u64> {
    let constant = function.const_bits(b);
    match op {
        BinaryOp::Add => of(a).checked_add(of(b)),
        BinaryOp::Mul => of(a).checked_mul(of(b)),
        BinaryOp::And => Some(of(a).min(of(b))),
        BinaryOp::Or | BinaryOp::Xor => {
            let bits = 64 - (of(a) | of(b)).leading_zeros();
            Some(1u64.checked_shl(bits)?.wrapping_sub(1))
        }
        BinaryOp::Shl => {
            let amount = u32::try_from(constant?).ok().filter(|&n| n < 32)?;
            of(a).checked_mul(1 << amount)
        }
        BinaryOp::LShr => {
            let amount = u32::try_from(constant?).ok().filter(|&n| n < 32)?;
            Some(of(a) >> amount)
        }
        BinaryOp::UDiv => of(a).checked_div(constant?),
        BinaryOp::URem => Some(of(a).min(constant?.checked_sub(1)?)),
        _ => None,
    }
}

/// The limit of a position or size, or of each of its components.
fn position(function: &Function, value: Value) -> Option<u64> {
    let InstData::Call {
        callee: Callee::Builtin(call),
        ..
    } = *function.def_data(value)?
    else {
        return None;
    };
    Some(match call.builtin {
        Builtin::ThreadPositionInThreadgroup | Builtin::ThreadIndexInThreadgroup => THREADGROUP - 1,
        Builtin::ThreadsPerThreadgroup | Builtin::DispatchThreadsPerThreadgroup => THREADGROUP,
        Builtin::ThreadIndexInSimdgroup => SIMDGROUP - 1,
        Builtin::ThreadIndexInQuadgroup => QUADGROUP - 1,
        Builtin::SimdgroupIndexInThreadgroup => THREADGROUP / SIMDGROUP - 1,
        Builtin::SimdgroupsPerThreadgroup | Builtin::DispatchSimdgroupsPerThreadgroup => {
            THREADGROUP / SIMDGROUP
        }
        Builtin::QuadgroupIndexInThreadgroup => THREADGROUP / QUADGROUP - 1,
        Builtin::QuadgroupsPerThreadgroup | Builtin::DispatchQuadgroupsPerThreadgroup => {
            THREADGROUP / QUADGROUP
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::upper_bound;
    use assay_ssa::InstData;

    /// The bound of what the only function returns.
    fn check(body: &str, expected: u64) {
        let text = format!("module \"m\"\nfunction f0 \"f\" -> i32 {{\nb0(v0: i32):\n{body}}}\n");
        let module = assay_ssa::parse(&text).expect("a module");
        let function = &module.functions.as_slice()[0];
        let last = function.insts(function.blocks()[0]).last().copied();
        let Some(InstData::Return { value: Some(value) }) = last.map(|inst| *function.inst(inst))
        else {
            panic!("no return");
        };
        assert_eq!(upper_bound(function, value), expected, "{body}");
    }

    #[test]
    fn bounds_follow_the_computation() {
        check("return v0\n", 0xffff_ffff);
        check("v1: i32 = and v0, i32 15\nreturn v1\n", 15);
        check("v1: i32 = lshr v0, i32 28\nreturn v1\n", 15);
        check("v1: i32 = urem v0, i32 10\nreturn v1\n", 9);
        check(
            "v1: i32 = call thread_index_in_simdgroup()\nv2: i32 = mul v1, i32 4\nreturn v2\n",
            124,
        );
        check("v1: i32 = or v0, i32 1\nreturn v1\n", 0xffff_ffff);
    }

    #[test]
    fn what_may_wrap_has_no_bound() {
        check("v1: i32 = add v0, i32 1\nreturn v1\n", 0xffff_ffff);
        check(
            "v1: i32 = and v0, i32 65537\nv2: i32 = mul v1, v1\nreturn v2\n",
            0xffff_ffff,
        );
    }
}
