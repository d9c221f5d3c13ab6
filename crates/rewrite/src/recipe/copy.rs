//! Copies of blocks within a function.

use assay_ssa::{Block, Function, IdMap, Value};

/// Copied blocks, and what became of the values they make.
pub(super) struct Copied {
    /// The copies, in the order of the originals.
    pub(super) blocks: Vec<Block>,
    values: IdMap<Value, Option<Value>>,
}

impl Copied {
    /// The copy of a value, or the value itself if it is made elsewhere.
    pub(super) fn value(&self, value: Value) -> Value {
        self.values[value].unwrap_or(value)
    }
}

/// Copies blocks; values and targets among them become the copies'. The copies are at the end of the function's order.
pub(super) fn blocks(function: &mut Function, originals: &[Block]) -> Copied {
    let mut values: IdMap<Value, Option<Value>> = IdMap::with_len(None, function.num_values());
    let mut places: IdMap<Block, Option<Block>> = IdMap::with_len(None, function.num_blocks());
    let made = function.copy_blocks(originals, &mut values, &mut places);
    Copied {
        blocks: made,
        values,
    }
}

/// Blocks taken over from another function, of which this one is a copy without them.
pub(super) struct Taken {
    /// The copies, in the order of the originals.
    pub(super) blocks: Vec<Block>,
    values: IdMap<Value, Option<Value>>,
    places: IdMap<Block, Option<Block>>,
}

impl Taken {
    /// What became of a value.
    pub(super) fn value(&self, value: Value) -> Value {
        self.values[value].unwrap_or(value)
    }

    /// What became of a block.
    pub(super) fn block(&self, block: Block) -> Block {
        self.places[block].unwrap_or(block)
    }
}

/// Copies blocks of a function into one that was cloned of it. `entry` is the original's entry, whose parameters stay, and
/// the empty block that gets its instructions.
pub(super) fn from(
    source: &Function,
    target: &mut Function,
    originals: &[Block],
    entry: (Block, Block),
) -> Taken {
    let mut values: IdMap<Value, Option<Value>> = IdMap::with_len(None, source.num_values());
    let mut places: IdMap<Block, Option<Block>> = IdMap::with_len(None, source.num_blocks());
    let mut made = Vec::with_capacity(originals.len());
    for &block in originals {
        let copy = if block == entry.0 {
            entry.1
        } else {
            let copy = target.add_block();
            for &param in source.params(block) {
                let ty = source.ty(param);
                values.set(param, Some(target.add_param(copy, ty)));
            }
            copy
        };
        places.set(block, Some(copy));
        made.push(copy);
        target.set_loop_hint(copy, source.block(block).loop_hint);
        for &inst in source.insts(block) {
            let data = target.copy_lists(*source.inst(inst));
            let new = target.make_inst(data, source.result_type(inst), source.loc(inst));
            if let (Some(old), Some(result)) = (source.result(inst), target.result(new)) {
                values.set(old, Some(result));
            }
            target.append(copy, new);
        }
    }
    target.rename(&made, &values, &places);
    Taken {
        blocks: made,
        values,
        places,
    }
}
