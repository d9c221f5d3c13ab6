//! Built-ins declared outside a kernel: `uint gid [[thread_position_in_grid]];` at program scope.
//!
//! Our front end declares such a variable as an external constant whose symbol names the attribute. Every function
//! that touches it gets a copy in thread memory, filled where the function starts: whatever reads the variable, whole
//! or in parts, reads the copy, and scalar replacement removes it.

use super::Lowered;
use super::function::FunctionLowering;
use super::function_constants::number_type;
use assay_ssa::builtin::{Family, Resolved, resolve};
use assay_ssa::{Access, BuiltinCall, Callee, Flags, InstData, Type, Value};

/// Start of the symbol: `assay.program_input.ATTRIBUTE.NUMBER`.
const PREFIX: &str = "assay.program_input.";

impl FunctionLowering<'_, '_, '_> {
    /// The copy of a program-scope built-in; nothing if the variable is none.
    pub(super) fn program_input(&mut self, global: u32) -> Lowered<Option<Value>> {
        let Some((call, ty)) = self.stated_input(global) else {
            return Ok(None);
        };
        if let Some(&(_, copy)) = self.inputs.iter().find(|(known, _)| *known == global) {
            return Ok(Some(copy));
        }
        let copy = self.entry_alloca(ty, 0);
        let args = self.function.list(&[]);
        let read = InstData::Call {
            callee: Callee::Builtin(call),
            args,
            flags: Flags::NONE,
        };
        let read = self.function.make_inst(read, ty, None);
        let align = self.lowering.target.types.align(ty).next_power_of_two();
        if let (Some(value), Some(entry)) = (self.function.result(read), self.function.entry()) {
            let store = InstData::Store {
                ptr: copy,
                value,
                access: Access::aligned(align),
            };
            let store = self.function.make_inst(store, Type::VOID, None);
            self.function.insert_at(entry, self.allocas, read);
            self.function.insert_at(entry, self.allocas + 1, store);
        }
        self.inputs.push((global, copy));
        Ok(Some(copy))
    }

    fn stated_input(&self, global: u32) -> Option<(BuiltinCall, Type)> {
        let source = self.lowering.source;
        let variable = source.globals.get(global as usize)?;
        let attribute = variable.name.strip_prefix(PREFIX)?.split('.').next()?;
        let Resolved::Builtin(call) = resolve(&format!("air.{attribute}")) else {
            return None;
        };
        let ty = number_type(source, variable.ty)?;
        (call.builtin.info().family == Family::Position).then_some((call, ty))
    }
}
