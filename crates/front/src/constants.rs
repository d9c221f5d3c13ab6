//! Function constants: which there are, and whether those given exist.

use crate::Error;
use assay_air::GivenConstant;
use assay_ssa::{FunctionConstantId, Module, ValueDef};
use std::collections::BTreeSet;

/// Number and name of the function constants of a program.
pub fn constants(module: &Module) -> impl Iterator<Item = (u32, &str)> + Clone {
    let constants = module.function_constants.as_slice().iter();
    constants.map(|constant| (constant.index, constant.name.as_str()))
}

/// A value given to a function constant that no kernel has is a mistake.
pub fn check_constants<'a>(
    given: &[GivenConstant],
    known: impl Iterator<Item = (u32, &'a str)> + Clone,
) -> Result<(), Error> {
    let is_known =
        |value: &&GivenConstant| known.clone().any(|(index, name)| value.key.is(index, name));
    let Some(value) = given.iter().find(|value| !is_known(value)) else {
        return Ok(());
    };
    let known: BTreeSet<(u32, &str)> = known.collect();
    let known = known.into_iter();
    Err(Error::NoConstant {
        key: value.key.to_string(),
        known: known
            .map(|(index, name)| format!("{index} {name}"))
            .collect(),
    })
}

/// Returns true if a program reads a function constant.
pub(crate) fn is_used(module: &Module, id: FunctionConstantId) -> bool {
    module.functions.as_slice().iter().any(|function| {
        function.all_insts().any(|inst| {
            let mut reads = false;
            function.for_each_operand(inst, |value| {
                reads |= function.def(value) == ValueDef::FunctionConstant(id);
            });
            reads
        })
    })
}
