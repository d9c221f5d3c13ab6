//! Gives accesses of vectors the alignment of their type, in a program that is to be checked.
//!
//! `*(threadgroup float4 *)(tile + 1)` is misaligned whatever the tile is. But of memory that a function declares itself clang
//! knows where it lies, and emits an access aligned to 4: right for that machine, silent about the mistake. This runs before
//! copies of structs become moves of words, which may lie anywhere.

use assay_ssa::{Access, Function, InstData, Module, Space, Type};

/// Raises the alignment of loads and stores of vectors in thread and threadgroup memory.
pub fn expect_alignment(module: &Module, function: &mut Function) -> bool {
    let mut changed = false;
    for block in function.blocks().to_vec() {
        for at in 0..function.insts(block).len() {
            let Some(&inst) = function.insts(block).get(at) else {
                break;
            };
            let (ptr, ty) = match *function.inst(inst) {
                InstData::Load { ptr, .. } => (ptr, function.result_type(inst)),
                InstData::Store { ptr, value, .. } => (ptr, function.ty(value)),
                _ => continue,
            };
            let own = matches!(
                function.ty(ptr).space(),
                Some(Space::Thread | Space::Threadgroup)
            );
            if !own || !ty.is_vector() {
                continue;
            }
            if let InstData::Load { access, .. } | InstData::Store { access, .. } =
                function.inst_mut(inst)
            {
                changed |= raise(access, module.types.align(ty), ty);
            }
        }
    }
    changed
}

fn raise(access: &mut Access, natural: u32, ty: Type) -> bool {
    let low = access.align() < natural && !ty.is_matrix();
    if low {
        access.align_log2 = natural.max(1).ilog2() as u8;
    }
    low
}
