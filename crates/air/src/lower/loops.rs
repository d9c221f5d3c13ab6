//! What the source asked for about loops.

use super::function::FunctionLowering;
use crate::llvm::{BlockId, Constant, Metadata, MetadataId};
use assay_ssa::analysis::{Cfg, Dominators};
use assay_ssa::{Block, InstData, LoopHint};

/// A hint on a branch: the header is the target that dominates it.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingHint {
    from: Block,
    hint: LoopHint,
}

impl FunctionLowering<'_, '_, '_> {
    /// Notes the loop hint on the branch that ends a block.
    pub(super) fn note_hint(&mut self, block: BlockId, index: u32) {
        let Some(kind) = self.lowering.kinds.unroll else {
            return;
        };
        let attached = self.body.attachments(index);
        let Some(&(_, _, node)) = attached.iter().find(|entry| entry.1 == kind) else {
            return;
        };
        let hint = self.loop_hint(node);
        let from = self.blocks.get(block.0 as usize).copied().flatten();
        if let (Some(from), true) = (from, hint != LoopHint::None) {
            self.hints.push(PendingHint { from, hint });
        }
    }

    fn loop_hint(&self, node: MetadataId) -> LoopHint {
        let source = self.lowering.source;
        let (pool, local) = self.body.metadata_pool(source, node);
        let mut hint = LoopHint::None;
        // The first operand is the node itself.
        for &property in pool.node(local).iter().skip(1).flatten() {
            let (pool, local) = self.body.metadata_pool(source, property);
            let operands = pool.node(local);
            let Some(Some(name)) = operands.first().copied() else {
                continue;
            };
            let (names, name) = self.body.metadata_pool(source, name);
            let Some(Metadata::String(name)) = names.get(name) else {
                continue;
            };
            match name.as_ref() {
                b"llvm.loop.unroll.disable" => hint = LoopHint::NoUnroll,
                b"llvm.loop.unroll.enable" => hint = LoopHint::Unroll,
                b"llvm.loop.unroll.full" => hint = LoopHint::UnrollFull,
                b"llvm.loop.unroll.count" => {
                    let count = operands.get(1).copied().flatten();
                    if let Some(count) = count.and_then(|id| self.metadata_number(id)) {
                        hint = LoopHint::UnrollCount(count);
                    }
                }
                _ => {}
            }
        }
        hint
    }

    fn metadata_number(&self, id: MetadataId) -> Option<u32> {
        let source = self.lowering.source;
        let (pool, local) = self.body.metadata_pool(source, id);
        let Metadata::Value(value) = pool.get(local)? else {
            return None;
        };
        match self.body.constant(source, *value)?.0 {
            Constant::Int(number) => u32::try_from(*number).ok(),
            _ => None,
        }
    }

    /// Puts the hints on the loops' headers.
    pub(super) fn place_hints(&mut self) {
        if self.hints.is_empty() {
            return;
        }
        let cfg = Cfg::new(&self.function);
        let dominators = Dominators::new(&cfg, &self.function);
        for pending in std::mem::take(&mut self.hints) {
            let Some(branch) = self.function.terminator(pending.from) else {
                continue;
            };
            let targets = match *self.function.inst(branch) {
                InstData::Jump { target } => [Some(target.block), None],
                InstData::Branch {
                    then, otherwise, ..
                } => [Some(then.block), Some(otherwise.block)],
                _ => [None, None],
            };
            let mut targets = targets.into_iter().flatten();
            let header = targets.find(|&target| dominators.dominates(target, pending.from));
            if let Some(header) = header {
                self.function.set_loop_hint(header, pending.hint);
            }
        }
    }
}
