//! The verifier: whether a module keeps the rules of the form.
//!
//! Passes run it after every change in tests, readers on everything they read. A message names function, block and
//! instruction in the numbering of the text form, so that it can be looked up in what `assay ir` prints.

mod control;
mod kernels;
mod types;

use crate::analysis::{Cfg, Dominators};
use crate::function::{Function, ValueDef};
use crate::id::{Id, IdMap};
use crate::inst::{Block, FunctionId, Inst, Value};
use crate::module::Module;
use std::fmt;

/// One broken rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifyError {
    /// The function's name, if the error is in one.
    pub function: Option<String>,
    /// Block and instruction as the text form shows them.
    pub place: Option<String>,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(function) = &self.function {
            write!(f, "in function \"{function}\": ")?;
        }
        f.write_str(&self.message)?;
        if let Some(place) = &self.place {
            write!(f, "\n  at {place}")?;
        }
        Ok(())
    }
}

impl std::error::Error for VerifyError {}

/// Stop after this many errors: the first ones say what went wrong.
const MAX_ERRORS: usize = 20;

/// Checks a whole module.
pub fn verify(module: &Module) -> Result<(), Vec<VerifyError>> {
    let mut errors = Vec::new();
    for id in module.functions.ids() {
        if let Err(mut found) = verify_function(module, id) {
            errors.append(&mut found);
        }
        if errors.len() >= MAX_ERRORS {
            return Err(errors);
        }
    }
    kernels::check(module, &mut errors);
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors)
    }
}

/// Checks one function of a module.
pub fn verify_function(module: &Module, id: FunctionId) -> Result<(), Vec<VerifyError>> {
    let Some(function) = module.functions.get(id) else {
        return Err(vec![VerifyError {
            function: None,
            place: None,
            message: format!("there is no function {id}"),
        }]);
    };
    let mut checker = Checker {
        module,
        function,
        places: IdMap::with_len(None, function.num_insts()),
        in_order: IdMap::with_len(false, function.num_blocks()),
        errors: Vec::new(),
    };
    checker.run();
    if checker.errors.is_empty() {
        Ok(())
    } else {
        Err(checker.errors)
    }
}

struct Checker<'a> {
    module: &'a Module,
    function: &'a Function,
    /// Block and position of every instruction.
    places: IdMap<Inst, Option<(Block, u32)>>,
    /// Whether a block is part of the function.
    in_order: IdMap<Block, bool>,
    errors: Vec<VerifyError>,
}

impl Checker<'_> {
    fn run(&mut self) {
        if !self.place_instructions() {
            return;
        }
        let cfg = Cfg::new(self.function);
        let dominators = Dominators::new(&cfg, self.function);
        let function = self.function;
        for &block in function.blocks() {
            let reached = cfg.is_reached(block);
            for (position, &inst) in function.insts(block).iter().enumerate() {
                let known =
                    self.check_operands(block, position, inst, reached.then_some(&dominators));
                // Types of values that do not exist cannot be looked at.
                if known {
                    if let Err(message) = types::check(self.module, function, inst) {
                        self.error(block, inst, message);
                    }
                    self.check_control(block, inst);
                }
                if self.errors.len() >= MAX_ERRORS {
                    return;
                }
            }
        }
    }

    /// Checks that blocks exist, end with their only terminator and share no instruction.
    fn place_instructions(&mut self) -> bool {
        let function = self.function;
        if function.blocks().is_empty() {
            self.plain("has no blocks".to_owned());
            return false;
        }
        for &block in function.blocks() {
            if block.index() >= function.num_blocks() {
                self.plain(format!(
                    "its order names a block {block} that does not exist"
                ));
                return false;
            }
            if std::mem::replace(&mut self.in_order[block], true) {
                self.plain(format!("its order names block {block} twice"));
                return false;
            }
            let insts = function.insts(block);
            for (position, &inst) in insts.iter().enumerate() {
                if inst.index() >= function.num_insts() {
                    self.plain(format!("block {block} holds {inst}, which does not exist"));
                    return false;
                }
                if self.places[inst].is_some() {
                    self.error(
                        block,
                        inst,
                        "the instruction is in the function twice".to_owned(),
                    );
                    return false;
                }
                self.places[inst] = Some((block, position as u32));
                let last = position + 1 == insts.len();
                match (function.inst(inst).is_terminator(), last) {
                    (true, false) => {
                        self.error(
                            block,
                            inst,
                            "a terminator before the end of its block".to_owned(),
                        );
                    }
                    (false, true) => {
                        let message = "the block does not end with a terminator".to_owned();
                        self.error(block, inst, message);
                    }
                    _ => {}
                }
            }
            if insts.is_empty() {
                let name = crate::text::print::block_name(function, block);
                self.plain(format!("block {name} is empty"));
            }
        }
        self.errors.is_empty()
    }

    /// Checks that operands exist and are defined before the instruction; false when one does not exist.
    fn check_operands(
        &mut self,
        block: Block,
        position: usize,
        inst: Inst,
        dominators: Option<&Dominators>,
    ) -> bool {
        let function = self.function;
        let mut unknown = None;
        let mut late = None;
        function.for_each_operand(inst, |value| {
            let Some(data) = function.try_value(value) else {
                unknown = Some(value);
                return;
            };
            let defined = match data.def {
                ValueDef::Result(by) => match self.places[by] {
                    Some((there, at)) if there == block => (at as usize) < position,
                    Some((there, _)) => dominators.is_none_or(|tree| tree.dominates(there, block)),
                    None => false,
                },
                ValueDef::Param(there, _) => {
                    there == block || dominators.is_none_or(|tree| tree.dominates(there, block))
                }
                _ => true,
            };
            if !defined && late.is_none() {
                late = Some(value);
            }
        });
        if let Some(value) = unknown {
            self.error(block, inst, format!("uses {value}, which does not exist"));
            return false;
        }
        if let Some(value) = late {
            let message = self.late_message(value);
            self.error(block, inst, message);
        }
        true
    }

    fn late_message(&self, value: Value) -> String {
        let name = crate::text::print::value_name(self.function, value);
        match self.function.def(value) {
            ValueDef::Result(by) if self.places[by].is_none() => {
                format!("uses {name}, the result of an instruction that is in no block")
            }
            ValueDef::Result(by) => format!(
                "uses {name}, which is not defined on every way here\n  defined by {}",
                crate::text::print::print_inst(self.module, self.function, by)
            ),
            _ => format!("uses {name}, a parameter of a block that not every way here passes"),
        }
    }

    fn error(&mut self, block: Block, inst: Inst, message: String) {
        let place = format!(
            "{}: {}",
            crate::text::print::block_name(self.function, block),
            crate::text::print::print_inst(self.module, self.function, inst)
        );
        self.errors.push(VerifyError {
            function: Some(self.function.name.clone()),
            place: Some(place),
            message,
        });
    }

    fn plain(&mut self, message: String) {
        self.errors.push(VerifyError {
            function: Some(self.function.name.clone()),
            place: None,
            message,
        });
    }
}
