//! From the name of a callee to what it means.
//!
//! A name has a structure: `air.` base, then type suffixes (`air.simd_min.u.i32`: unsigned, 32 bits). Only the base
//! is looked up; the suffixes say sign and float-or-integer, everything else is in the types of the call. The
//! address space in Apple's atomic and matrix names is in the pointer too, so names with and without it mean the same.

use super::{Builtin, BuiltinCall, Sign, TextureKind};
use crate::memory::AtomicOp;
use crate::ops::{CastOp, TernaryOp};
use crate::ty::Scalar;
use std::sync::OnceLock;

/// What a name means.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Resolved {
    /// A builtin of the table.
    Builtin(BuiltinCall),
    /// A conversion instruction.
    Cast(CastOp),
    /// Whether the operand is not zero.
    NotZero,
    /// A multiply-add instruction.
    Ternary(TernaryOp),
    /// An atomic memory access.
    Atomic(AtomicName),
    /// `memcpy`: destination, source, size.
    MemCopy {
        /// The areas may overlap.
        overlap: bool,
    },
    /// `memset`: destination, byte, size.
    MemSet,
    /// The first argument, unchanged.
    Identity,
    /// Nothing that matters when running.
    Ignored,
    /// Not known.
    Unknown,
}

/// An atomic access, as named.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AtomicName {
    /// `(pointer, order, scope, volatile) -> value`
    Load,
    /// `(pointer, value, order, scope, volatile)`
    Store,
    /// `(pointer, value, order, scope, volatile) -> old value`
    Rmw(AtomicOp),
    /// `(pointer, pointer to expected, desired, order, order, scope, volatile) -> old value`
    CompareExchange,
}

/// Finds out what a callee's name means.
pub fn resolve(name: &str) -> Resolved {
    if let Some(rest) = name.strip_prefix("air.") {
        air(rest)
    } else if let Some(rest) = name.strip_prefix("llvm.") {
        super::llvm::resolve(rest)
    } else {
        Resolved::Unknown
    }
}

/// The builtin with this table name.
pub(super) fn by_name(name: &str) -> Option<Builtin> {
    static SORTED: OnceLock<Vec<(&'static str, Builtin)>> = OnceLock::new();
    let sorted = SORTED.get_or_init(|| {
        let mut all: Vec<_> = Builtin::ALL.iter().map(|&b| (b.info().name, b)).collect();
        all.sort_unstable();
        all
    });
    let at = sorted
        .binary_search_by(|(known, _)| (*known).cmp(name))
        .ok()?;
    sorted.get(at).map(|(_, builtin)| *builtin)
}

/// Other spellings of table names in AIR.
const ALIASES: &[(&str, &str)] = &[
    ("abs_diff", "absdiff"),
    ("add_sat", "addsat"),
    ("active_threads_mask", "simd_active_threads_mask"),
    ("atomic.fence", "atomic_fence"),
    ("cttz", "ctz"),
    ("ctlz", "clz"),
    ("ctpop", "popcount"),
    ("dispatch_execution_width", "threads_per_simdgroup"),
    ("get_active_threads_mask", "simd_active_threads_mask"),
    ("get_quadgroup_size", "quadgroup_size"),
    ("get_simdgroup_size", "threads_per_simdgroup"),
    ("half_divide", "divide"),
    ("mad_hi", "madhi"),
    ("mad_sat", "madsat"),
    ("mul_hi", "mulhi"),
    ("nearbyint", "rint"),
    ("quadgroup.barrier", "quadgroup_barrier"),
    ("rhadd", "rhadd"),
    ("roundeven", "rint"),
    ("simd_ballot_all", "simd_vote_all"),
    ("simd_ballot_any", "simd_vote_any"),
    ("simdgroup.barrier", "simdgroup_barrier"),
    ("sub_sat", "subsat"),
    ("thread_execution_width", "threads_per_simdgroup"),
    ("wg.barrier", "threadgroup_barrier"),
];

/// Integer builtins whose name with a float suffix means a float builtin.
const FLOAT_TWINS: &[(&str, &str)] = &[
    ("abs", "fabs"),
    ("clamp", "fclamp"),
    ("max", "fmax"),
    ("max3", "fmax3"),
    ("median3", "fmedian3"),
    ("min", "fmin"),
    ("min3", "fmin3"),
];

fn air(rest: &str) -> Resolved {
    if let Some(rest) = rest
        .strip_prefix("atomic.")
        .filter(|rest| !rest.starts_with("fence"))
    {
        return atomic(rest);
    }
    if let Some(rest) = rest.strip_prefix("convert.") {
        return convert(rest);
    }
    if let Some(rest) = rest.strip_prefix("pack.") {
        return table_call(&format!("pack_{}", base_of(rest)), "");
    }
    if let Some(rest) = rest.strip_prefix("unpack.") {
        return table_call(&format!("unpack_{}", base_of(rest)), "");
    }
    for dotted in [
        "wg.barrier",
        "simdgroup.barrier",
        "quadgroup.barrier",
        "atomic.fence",
    ] {
        if let Some(suffixes) = rest.strip_prefix(dotted) {
            return table_call(dotted, suffixes);
        }
    }
    let base = base_of(rest);
    let suffixes = rest.get(base.len()..).unwrap_or("");
    if base == "fma" || base == "fast_fma" {
        return Resolved::Ternary(TernaryOp::Fma);
    }
    if let Some(call) = texture(base, suffixes) {
        return Resolved::Builtin(call);
    }
    table_call(base, suffixes)
}

fn base_of(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// Looks a base name up, with `fast_`, `precise_` and `get_` taken off, and reads the sign from the suffixes.
fn table_call(base: &str, suffixes: &str) -> Resolved {
    let mut fast = false;
    let mut name = alias(base);
    if by_name(name).is_none() {
        if let Some(rest) = name.strip_prefix("fast_") {
            (name, fast) = (alias(rest), true);
        } else if let Some(rest) = name
            .strip_prefix("precise_")
            .or_else(|| name.strip_prefix("get_"))
        {
            name = alias(rest);
        }
    }
    let mut sign = Sign::None;
    let mut float = false;
    for suffix in suffixes.split('.') {
        match suffix {
            "s" => sign = Sign::Signed,
            "u" => sign = Sign::Unsigned,
            _ => float |= scalar_suffix(suffix).is_some_and(Scalar::is_float),
        }
    }
    if float && let Some((_, twin)) = FLOAT_TWINS.iter().find(|(integer, _)| *integer == name) {
        name = twin;
    }
    match by_name(name) {
        Some(builtin) => Resolved::Builtin(BuiltinCall {
            builtin,
            sign,
            fast,
            texture: None,
        }),
        None => Resolved::Unknown,
    }
}

fn alias(base: &str) -> &str {
    ALIASES
        .iter()
        .find(|(other, _)| *other == base)
        .map_or(base, |(_, name)| name)
}

/// The element type of a suffix such as `f32`, `v4f16`, `p1i8`.
fn scalar_suffix(suffix: &str) -> Option<Scalar> {
    let digits_off = |prefix: char| {
        suffix
            .strip_prefix(prefix)
            .map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()))
    };
    Scalar::from_name(suffix)
        .or_else(|| Scalar::from_name(digits_off('v')?))
        .or_else(|| Scalar::from_name(digits_off('p')?))
}

fn texture(base: &str, suffixes: &str) -> Option<BuiltinCall> {
    // Longest kind first: `texture_2d_array` also ends with no shorter kind, but `..._ms_array` contains others.
    let (kind, at) = TextureKind::NAMES
        .iter()
        .filter_map(|(kind, name)| {
            let at = base.len().checked_sub(name.len() + 1)?;
            (base.get(at..)?.strip_prefix('_')? == *name).then_some((*kind, at))
        })
        .min_by_key(|(_, at)| *at)?;
    let operation = base.get(..at)?;
    let builtin = if operation == "atomic" || operation.starts_with("atomic_") {
        Builtin::TextureAtomic
    } else {
        let exact = by_name(operation).filter(|b| b.info().family == super::Family::Texture);
        exact.or_else(|| by_name(operation.strip_suffix("_grad")?))?
    };
    let sign = match suffixes.trim_start_matches('.').split('.').next() {
        Some("s") => Sign::Signed,
        Some("u") => Sign::Unsigned,
        _ => Sign::None,
    };
    Some(BuiltinCall {
        texture: Some(kind),
        sign,
        ..builtin.call()
    })
}

fn atomic(rest: &str) -> Resolved {
    let mut parts = rest.split('.').peekable();
    if parts
        .peek()
        .is_some_and(|part| matches!(*part, "global" | "local" | "generic"))
    {
        parts.next();
    }
    let Some(operation) = parts.next() else {
        return Resolved::Unknown;
    };
    let (mut unsigned, mut float) = (false, false);
    for part in parts {
        match part {
            "u" => unsigned = true,
            "s" | "weak" | "strong" => {}
            _ => match scalar_suffix(part) {
                Some(scalar) => float = scalar.is_float(),
                None => return Resolved::Unknown,
            },
        }
    }
    let op = match (operation, float, unsigned) {
        ("load", ..) => return Resolved::Atomic(AtomicName::Load),
        ("store", ..) => return Resolved::Atomic(AtomicName::Store),
        ("cmpxchg", ..) => return Resolved::Atomic(AtomicName::CompareExchange),
        ("xchg" | "exchange", ..) => AtomicOp::Exchange,
        ("add", false, _) => AtomicOp::Add,
        ("add", true, _) => AtomicOp::FAdd,
        ("sub", false, _) => AtomicOp::Sub,
        ("sub", true, _) => AtomicOp::FSub,
        ("min", true, _) => AtomicOp::FMin,
        ("max", true, _) => AtomicOp::FMax,
        ("min", false, true) => AtomicOp::UMin,
        ("max", false, true) => AtomicOp::UMax,
        ("min", false, false) => AtomicOp::SMin,
        ("max", false, false) => AtomicOp::SMax,
        ("and", ..) => AtomicOp::And,
        ("or", ..) => AtomicOp::Or,
        ("xor", ..) => AtomicOp::Xor,
        _ => return Resolved::Unknown,
    };
    Resolved::Atomic(AtomicName::Rmw(op))
}

fn convert(rest: &str) -> Resolved {
    let mut parts = rest.split('.');
    let (Some(to_kind), Some(to), Some(from_kind), Some(from)) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Resolved::Unknown;
    };
    // Rounding other than the usual one would be a further suffix; saturation is what our conversion does anyway.
    if parts.any(|extra| !matches!(extra, "sat" | "rtz" if to_kind != "f")) {
        return Resolved::Unknown;
    }
    let (Some(to), Some(from)) = (scalar_suffix(to), scalar_suffix(from)) else {
        return Resolved::Unknown;
    };
    match (to_kind, from_kind) {
        (_, _) if to == Scalar::I1 && from != Scalar::I1 => Resolved::NotZero,
        ("f", "f") if to == from => Resolved::Identity,
        ("f", "f") => Resolved::Cast(CastOp::FConvert),
        ("f", "s") => Resolved::Cast(CastOp::SToF),
        ("f", "u") => Resolved::Cast(CastOp::UToF),
        ("s", "f") => Resolved::Cast(CastOp::FToS),
        ("u", "f") => Resolved::Cast(CastOp::FToU),
        ("s" | "u", _) if to.bits() == from.bits() => Resolved::Identity,
        ("s" | "u", _) if to.bits() < from.bits() => Resolved::Cast(CastOp::Trunc),
        ("s" | "u", "s") => Resolved::Cast(CastOp::SExt),
        ("s" | "u", "u") => Resolved::Cast(CastOp::ZExt),
        _ => Resolved::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str) -> String {
        match resolve(name) {
            Resolved::Builtin(call) => call.to_string(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn names_from_apples_modules_are_understood() {
        let cases = [
            ("air.wg.barrier", "threadgroup_barrier"),
            ("air.simdgroup.barrier", "simdgroup_barrier"),
            ("air.min.s.i32", "min.s"),
            ("air.fast_exp.f32", "exp.fast"),
            ("air.exp.f16", "exp"),
            ("air.clamp.s.i32", "clamp.s"),
            ("air.clamp.f32", "fclamp"),
            ("air.abs.s.i64", "abs.s"),
            ("air.get_simdgroup_size.i16", "threads_per_simdgroup"),
            (
                "air.get_thread_index_in_simdgroup.i16",
                "thread_index_in_simdgroup",
            ),
            (
                "air.simd_shuffle_and_fill_up.u.v2i32",
                "simd_shuffle_and_fill_up.u",
            ),
            ("air.simd_any", "simd_any"),
            ("air.dot.v4f32", "dot"),
            ("air.is_uniform.i1", "is_uniform"),
            (
                "air.simdgroup_matrix_8x8_multiply_accumulate.v64f32.v64bf16.v64bf16.v64f32",
                "simdgroup_matrix_8x8_multiply_accumulate",
            ),
            (
                "air.simdgroup_matrix_8x8_load.v64f32.p1f32",
                "simdgroup_matrix_8x8_load",
            ),
            ("air.thread_position_in_grid", "thread_position_in_grid"),
            (
                "air.normalize_function_constant_predicate.i8",
                "normalize_function_constant_predicate",
            ),
            (
                "air.is_function_constant_defined",
                "is_function_constant_defined",
            ),
            ("air.atomic.fence", "atomic_fence"),
            (
                "air.sample_texture_2d_array.v4f32",
                "sample.texture_2d_array",
            ),
            (
                "air.get_num_mip_levels_texture_cube",
                "get_num_mip_levels.texture_cube",
            ),
            ("air.write_texture_2d.v4f32", "write.texture_2d"),
            ("air.pack.unorm4x8.v4f32", "pack_unorm4x8"),
            ("air.sample_compare_depth_2d.f32", "sample_compare.depth_2d"),
            ("llvm.smin.i32", "min.s"),
            ("llvm.exp2.v4f32", "exp2"),
            ("llvm.vector.reduce.or.v4i1", "vector_reduce_or"),
        ];
        for (name, expected) in cases {
            assert_eq!(call(name), expected, "{name}");
        }
    }

    #[test]
    fn conversions_atomics_and_copies_become_instructions() {
        use AtomicName as A;
        use CastOp as C;
        let cases = [
            ("air.convert.f.f32.s.i32", Resolved::Cast(C::SToF)),
            ("air.convert.f.v4f32.f.v4bf16", Resolved::Cast(C::FConvert)),
            ("air.convert.f.bf16.f.f16", Resolved::Cast(C::FConvert)),
            ("air.convert.u.i1.f.f32", Resolved::NotZero),
            ("air.convert.s.i64.f.f32", Resolved::Cast(C::FToS)),
            ("air.convert.u.i8.f.f16", Resolved::Cast(C::FToU)),
            ("air.convert.s.v2i64.u.v2i32", Resolved::Cast(C::ZExt)),
            ("air.convert.s.v4i32.s.v4i64", Resolved::Cast(C::Trunc)),
            ("air.convert.f.f32.u.i1", Resolved::Cast(C::UToF)),
            ("air.fma.f32", Resolved::Ternary(TernaryOp::Fma)),
            (
                "air.atomic.global.add.u.i32",
                Resolved::Atomic(A::Rmw(AtomicOp::Add)),
            ),
            (
                "air.atomic.global.add.f32",
                Resolved::Atomic(A::Rmw(AtomicOp::FAdd)),
            ),
            (
                "air.atomic.global.max.u.i64",
                Resolved::Atomic(A::Rmw(AtomicOp::UMax)),
            ),
            (
                "air.atomic.min.s.i32",
                Resolved::Atomic(A::Rmw(AtomicOp::SMin)),
            ),
            ("air.atomic.local.load.i32", Resolved::Atomic(A::Load)),
            (
                "air.atomic.global.cmpxchg.weak.f32",
                Resolved::Atomic(A::CompareExchange),
            ),
            (
                "llvm.memcpy.p3.p1.i64",
                Resolved::MemCopy { overlap: false },
            ),
            ("llvm.lifetime.start.p0", Resolved::Ignored),
            ("llvm.fmuladd.f32", Resolved::Ternary(TernaryOp::MulAdd)),
            ("llvm.dbg.value", Resolved::Ignored),
            ("__tensorops_impl_matmul2d_op_run", Resolved::Unknown),
            ("air.get_descriptor_size_tensor", Resolved::Unknown),
            ("air.convert.f.f32.s.i32.rtp", Resolved::Unknown),
            ("llvm.unheard.of", Resolved::Unknown),
        ];
        for (name, expected) in cases {
            assert_eq!(resolve(name), expected, "{name}");
        }
    }
}
