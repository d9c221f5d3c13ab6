//! Accesses of neighbouring addresses made together.

use super::select::{Done, Lowerer};
use assay_ssa::{Access, Block, Inst, Value};

/// What is made together.
#[derive(Debug, Default)]
pub(super) struct Plans {}

impl Lowerer<'_> {
    /// Plans the accesses of a block.
    pub(super) fn plan_block(&mut self, _block: Block) -> Done {
        Ok(())
    }

    pub(super) fn load_planned(
        &mut self,
        _inst: Inst,
        ptr: Value,
        access: Access,
        result: Value,
    ) -> Done {
        self.load(ptr, access, result)
    }

    pub(super) fn store_planned(
        &mut self,
        _inst: Inst,
        ptr: Value,
        value: Value,
        access: Access,
    ) -> Done {
        self.store(ptr, value, access)
    }
}
