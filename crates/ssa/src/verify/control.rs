//! Rules about branches, returns and block parameters.

use super::Checker;
use crate::inst::{Block, BlockCall, Inst, InstData};
use crate::ty::{Type, TypeKind};

impl Checker<'_> {
    pub(super) fn check_control(&mut self, block: Block, inst: Inst) {
        let function = self.function;
        if !function.inst(inst).is_terminator() {
            return;
        }
        let mut calls: Vec<BlockCall> = Vec::new();
        function.for_each_target(inst, |call| calls.push(call));
        for call in calls {
            if let Err(message) = self.check_target(call) {
                self.error(block, inst, message);
            }
        }
        match *function.inst(inst) {
            InstData::Branch { cond, .. } if function.ty(cond) != Type::I1 => {
                let message = format!("branches on {}, should be i1", function.ty(cond));
                self.error(block, inst, message);
            }
            InstData::Switch { value, cases, .. } => self.check_switch(block, inst, value, cases),
            InstData::Return { value } => {
                let given = value.map_or(Type::VOID, |value| function.ty(value));
                if given != function.ret {
                    let message = format!("returns {given}, the function returns {}", function.ret);
                    self.error(block, inst, message);
                }
            }
            _ => {}
        }
    }

    fn check_target(&self, call: BlockCall) -> Result<(), String> {
        let function = self.function;
        if !self.in_order[call.block] {
            return Err(format!(
                "goes to {}, which is not a block of the function",
                call.block
            ));
        }
        let name = crate::text::print::block_name(function, call.block);
        if Some(call.block) == function.entry() {
            return Err(format!(
                "goes to the entry block {name}, which nothing may go to"
            ));
        }
        let (params, args) = (function.params(call.block), function.list_values(call.args));
        if params.len() != args.len() {
            return Err(format!(
                "passes {} values to {name}, which has {} parameters",
                args.len(),
                params.len()
            ));
        }
        for (index, (&param, &arg)) in params.iter().zip(args).enumerate() {
            let (wanted, given) = (function.ty(param), function.ty(arg));
            if wanted != given {
                return Err(format!(
                    "passes {given} as parameter {index} of {name}, which is {wanted}"
                ));
            }
        }
        Ok(())
    }

    fn check_switch(
        &mut self,
        block: Block,
        inst: Inst,
        value: crate::Value,
        cases: crate::SwitchId,
    ) {
        let function = self.function;
        let scalar = match function.ty(value).kind() {
            TypeKind::Scalar(scalar) if scalar.is_int() => scalar,
            _ => {
                let message = format!("switches on {}, should be an integer", function.ty(value));
                self.error(block, inst, message);
                return;
            }
        };
        let mut numbers: Vec<u64> = function
            .switch_cases(cases)
            .iter()
            .map(|(n, _)| *n)
            .collect();
        if let Some(number) = numbers.iter().find(|&&n| n & !scalar.mask() != 0) {
            let message = format!("case {number} does not fit {}", scalar.name());
            self.error(block, inst, message);
        }
        numbers.sort_unstable();
        if let Some(pair) = numbers.windows(2).find(|pair| pair[0] == pair[1]) {
            let message = format!("case {} stands twice", pair[0]);
            self.error(block, inst, message);
        }
    }
}
