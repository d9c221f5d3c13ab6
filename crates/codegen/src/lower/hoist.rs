//! What the constant program computes: values that are the same for every thread of the
//! dispatch and depend on nothing but arguments and sizes.

use assay_ssa::analysis::{Cfg, PostDominators};
use assay_ssa::builtin::{Builtin, Effects, Family, UniformityRule};
use assay_ssa::{
    Block, Callee, Function, IdMap, IdSet, InstData, Kernel, Module, Space, Uniformity, Value,
    ValueDef,
};

/// For each value, whether it can be computed before the dispatch.
pub(super) fn hoistable(
    module: &Module,
    kernel: &Kernel,
    function: &Function,
) -> IdMap<Value, bool> {
    let mut known = IdMap::with_len(false, function.num_values());
    let cfg = Cfg::new(function);
    let always = always_run(function, &cfg);
    let Some(entry) = function.entry() else {
        return known;
    };
    for &block in cfg.order() {
        for &inst in function.insts(block) {
            let Some(result) = function.result(inst) else {
                continue;
            };
            let mut all = true;
            function.for_each_operand(inst, |value| {
                all &= match function.def(value) {
                    ValueDef::Result(_) => known[value],
                    ValueDef::Param(of, _) => of == entry,
                    ValueDef::Global(_) => function.ty(value).space() == Some(Space::Constant),
                    _ => true,
                };
            });
            if !all {
                continue;
            }
            let runs = always.contains(block);
            known[result] = match *function.inst(inst) {
                InstData::Load { ptr, access } => {
                    let fixed = function.ty(ptr).space() == Some(Space::Constant)
                        || access.invariant && function.ty(ptr).space() == Some(Space::Device);
                    let plain = !access.is_atomic() && !access.volatile;
                    let bytes = module.types.store_size(function.ty(result));
                    let small = function.ty(result).lanes() > 0 && !function.ty(result).is_matrix();
                    fixed && plain && small && (runs || is_inside(kernel, function, ptr, bytes))
                }
                InstData::Call {
                    callee: Callee::Builtin(call),
                    ..
                } => {
                    let info = call.info();
                    let fixed = info.uniformity == UniformityRule::Fixed(Uniformity::Dispatch);
                    let of_operands = info.uniformity == UniformityRule::Operands;
                    let is_size = info.family == Family::Position && fixed;
                    info.effects == Effects::Pure
                        && !info.convergent
                        && call.builtin != Builtin::IsUniform
                        && info.family != Family::Texture
                        && (of_operands || is_size)
                }
                InstData::Call { .. }
                | InstData::Alloca { .. }
                | InstData::AtomicRmw { .. }
                | InstData::AtomicCompareExchange { .. } => false,
                InstData::PtrAdd { .. } => {
                    // Threadgroup and thread addresses are cheap where they are used.
                    matches!(
                        function.ty(result).space(),
                        Some(Space::Device | Space::Constant)
                    )
                }
                _ => !function.ty(result).is_aggregate() && !function.ty(result).is_matrix(),
            };
        }
    }
    known
}

/// The blocks that run whatever is decided: those on every way from entry to exit.
fn always_run(function: &Function, cfg: &Cfg) -> IdSet<Block> {
    let postdominators = PostDominators::new(cfg, function);
    let mut set = IdSet::new();
    let mut current = function.entry();
    while let Some(block) = current {
        if !set.insert(block) {
            break;
        }
        current = postdominators.immediate(block);
    }
    set
}

/// Whether a load is of an argument whose size is known to cover it.
fn is_inside(kernel: &Kernel, function: &Function, ptr: Value, bytes: u32) -> bool {
    let (mut ptr, mut offset) = (ptr, 0i64);
    while let Some(InstData::PtrAdd {
        base,
        index: None,
        offset: more,
        ..
    }) = function.def_data(ptr)
    {
        offset = offset.saturating_add(*more);
        ptr = *base;
    }
    let ValueDef::Param(_, index) = function.def(ptr) else {
        return false;
    };
    let size = kernel
        .argument_of_param(index)
        .and_then(|argument| argument.buffer_size);
    size.is_some_and(|size| offset >= 0 && offset + i64::from(bytes) <= i64::from(size))
}
