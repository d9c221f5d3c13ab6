//! Copies of blocks within a function.

use crate::{Block, BlockCall, Function, IdMap, Value};

impl Function {
    /// Copies blocks to the end of the order; values and targets among them become the copies'. What became of each value and
    /// block is added to `values` and `places`, which know nothing of the originals before.
    pub fn copy_blocks(
        &mut self,
        originals: &[Block],
        values: &mut IdMap<Value, Option<Value>>,
        places: &mut IdMap<Block, Option<Block>>,
    ) -> Vec<Block> {
        let mut made = Vec::with_capacity(originals.len());
        for &block in originals {
            let copy = self.add_block();
            places[block] = Some(copy);
            made.push(copy);
            self.set_loop_hint(copy, self.block(block).loop_hint);
            for param in self.params(block).to_vec() {
                let ty = self.ty(param);
                values[param] = Some(self.add_param(copy, ty));
            }
            for inst in self.insts(block).to_vec() {
                let (ty, loc) = (self.result_type(inst), self.loc(inst));
                let data = self.copy_lists(*self.inst(inst));
                let new = self.make_inst(data, ty, loc);
                if let (Some(old), Some(result)) = (self.result(inst), self.result(new)) {
                    values[old] = Some(result);
                }
                self.append(copy, new);
            }
        }
        self.rename(&made, values, places);
        made
    }

    /// Makes the operands and targets of blocks those that `values` and `places` have for them.
    pub fn rename(
        &mut self,
        blocks: &[Block],
        values: &IdMap<Value, Option<Value>>,
        places: &IdMap<Block, Option<Block>>,
    ) {
        for &block in blocks {
            for inst in self.insts(block).to_vec() {
                self.map_operands(inst, |value| values[value].unwrap_or(value));
                self.map_targets(inst, |_, call| BlockCall {
                    block: places[call.block].unwrap_or(call.block),
                    ..call
                });
            }
        }
    }
}
