//! Taking an instruction over from another function.

use crate::function::Function;
use crate::inst::{InstData, SwitchCases, ValueList};

impl Function {
    /// `data`, an instruction of `from`, with its lists and cases copied into this function.
    ///
    /// Operands and targets still name `from`'s values and blocks: the caller translates them
    /// ([`map_operands`](Self::map_operands), [`map_targets`](Self::map_targets)). Alias sets are
    /// dropped, since the scopes of two functions are numbered independently.
    pub fn import(&mut self, from: &Function, mut data: InstData) -> InstData {
        match &mut data {
            InstData::Construct { args } | InstData::Call { args, .. } => {
                *args = self.import_list(from, *args);
            }
            InstData::Jump { target } => target.args = self.import_list(from, target.args),
            InstData::Branch {
                then, otherwise, ..
            } => {
                then.args = self.import_list(from, then.args);
                otherwise.args = self.import_list(from, otherwise.args);
            }
            InstData::Switch { default, cases, .. } => {
                default.args = self.import_list(from, default.args);
                let mut copied = from.switch_cases(*cases).to_vec();
                for (_, call) in &mut copied {
                    call.args = self.import_list(from, call.args);
                }
                *cases = self.add_switch(SwitchCases { cases: copied });
            }
            InstData::Shuffle { mask, .. } => *mask = self.index_list(from.indices(*mask)),
            InstData::ExtractValue { path, .. } | InstData::InsertValue { path, .. } => {
                *path = self.index_list(from.indices(*path));
            }
            InstData::Load { access, .. }
            | InstData::Store { access, .. }
            | InstData::AtomicRmw { access, .. }
            | InstData::AtomicCompareExchange { access, .. } => access.alias = None,
            InstData::MemCopy { alias, .. } => *alias = None,
            _ => {}
        }
        data
    }

    fn import_list(&mut self, from: &Function, list: ValueList) -> ValueList {
        self.list(from.list_values(list))
    }
}
