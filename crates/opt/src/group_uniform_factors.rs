//! Multiplies factors that are the same for the whole dispatch with each other first.
//!
//! `(a · u) · v` becomes `a · (u · v)` where both products may be reassociated, `u` and `v` are uniform and `a` is not:
//! the product of the two leaves loops, and the code generator computes it once per dispatch. Scales of a softmax,
//! `log₂e` in an exponential and the frequencies of rotary embeddings are such factors.

use assay_ssa::analysis::{Cfg, UniformityInfo};
use assay_ssa::{BinaryOp, Builder, Flags, Function, InstData, Module, Uniformity, Value};

/// Groups the factors of all products.
pub fn group_uniform_factors(_: &Module, function: &mut Function) -> bool {
    let uses = function.use_counts();
    let info = UniformityInfo::of_kernel(function);
    let known = function.num_values();
    let is_uniform = |value: Value| {
        let old = assay_ssa::Id::index(value) < known;
        old && info.value(value) == Uniformity::Dispatch
    };
    let mut changed = false;
    for &block in Cfg::new(function).order() {
        for inst in function.take_insts(block) {
            if let Some((flags, a, [u, v])) = grouped(function, inst, &uses, is_uniform) {
                let loc = function.loc(inst);
                let mut builder = Builder::new(function);
                builder.set_loc(loc);
                builder.switch_to(block);
                let factor = builder.binary(BinaryOp::FMul, u, v, flags);
                *function.inst_mut(inst) = InstData::Binary {
                    op: BinaryOp::FMul,
                    flags,
                    args: [a, factor],
                };
                changed = true;
            }
            function.append(block, inst);
        }
    }
    changed
}

/// The flags, the varying factor and the two uniform ones of a product of three.
fn grouped(
    function: &Function,
    inst: assay_ssa::Inst,
    uses: &assay_ssa::IdMap<Value, u32>,
    is_uniform: impl Fn(Value) -> bool,
) -> Option<(Flags, Value, [Value; 2])> {
    let product = |data: Option<&InstData>| match data {
        Some(&InstData::Binary {
            op: BinaryOp::FMul,
            flags,
            args,
        }) if flags.has(Flags::REASSOC) => Some((flags, args)),
        _ => None,
    };
    let (outer, [x, y]) = product(Some(function.inst(inst)))?;
    let (inside, v) = match (is_uniform(x), is_uniform(y)) {
        (false, true) => (x, y),
        (true, false) => (y, x),
        _ => return None,
    };
    if uses[inside] != 1 {
        return None;
    }
    let (inner, [a, b]) = product(function.def_data(inside))?;
    let (a, u) = match (is_uniform(a), is_uniform(b)) {
        (false, true) => (a, b),
        (true, false) => (b, a),
        _ => return None,
    };
    Some((outer.and(inner), a, [u, v]))
}
