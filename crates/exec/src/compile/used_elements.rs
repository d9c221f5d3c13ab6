//! Used elements of vectors: of a position in three dimensions, mostly one.

use assay_ssa::{Function, IdMap, InstData, Value};

/// For each value a bit per element that is used; all bits when it is used as a whole.
pub(super) fn used(function: &Function) -> IdMap<Value, u32> {
    let mut used = IdMap::with_len(0, function.num_values());
    for &block in function.blocks() {
        for &inst in function.insts(block) {
            match *function.inst(inst) {
                InstData::Extract { vector, index } => {
                    used[vector] |= match function.const_bits(index) {
                        Some(known @ 0..32) => 1 << known,
                        _ => !0,
                    };
                    used[index] = !0;
                }
                _ => function.for_each_operand(inst, |value| used[value] = !0),
            }
        }
    }
    used
}
