//! The control tree as jumps over masks.

use super::{Compiler, Done};
use crate::code::{Op, Reg};
use assay_opt::control::{Arm, Item, Label, Tree, edge};
use assay_ssa::Block;

/// A scope or loop around what is being compiled.
pub(crate) struct Frame {
    label: Label,
    is_loop: bool,
    slot: u32,
}

impl Compiler<'_> {
    pub(super) fn tree(&mut self, tree: &Tree) -> Done {
        self.region(&tree.body)
    }

    fn slots(&mut self, count: u32) -> u32 {
        self.program.slots += count;
        self.program.slots - count
    }

    /// Items in order; once no lane is left the rest is skipped.
    fn region(&mut self, items: &[Item]) -> Done {
        let mut skips = Vec::new();
        for (index, item) in items.iter().enumerate() {
            self.item(item)?;
            let parts = !matches!(item, Item::Run(_) | Item::Pass { .. });
            if parts && index + 1 < items.len() {
                skips.push(self.emit(Op::SkipIfNone { target: 0 }));
            }
        }
        let end = self.here();
        for skip in skips {
            self.patch(skip, end);
        }
        Ok(())
    }

    fn patch(&mut self, at: usize, to: u32) {
        if let Some(Op::SkipIfNone { target } | Op::If { target, .. } | Op::Else { target, .. }) =
            self.program.ops.get_mut(at)
        {
            *target = to;
        }
    }

    fn item(&mut self, item: &Item) -> Done {
        self.current = None;
        match item {
            Item::Run(block) => self.block(*block),
            Item::Pass { from, arm } => self.pass(*from, *arm),
            Item::If {
                cond,
                then,
                otherwise,
            } => {
                let cond = self.reg(*cond)?.index;
                let slot = self.slots(2);
                let start = self.emit(Op::If {
                    cond,
                    slot,
                    target: 0,
                });
                self.region(then)?;
                let middle = self.here();
                self.patch(start, middle);
                if otherwise.is_empty() {
                    self.emit(Op::EndThen { slot });
                    return Ok(());
                }
                let turn = self.emit(Op::Else { slot, target: 0 });
                self.region(otherwise)?;
                let end = self.here();
                self.patch(turn, end);
                self.emit(Op::EndIf { slot });
                Ok(())
            }
            Item::Scope { label, body } => {
                let slot = self.slots(1);
                self.emit(Op::ScopeBegin { slot });
                self.inside(*label, false, slot, body)?;
                self.emit(Op::ScopeEnd { slot });
                Ok(())
            }
            Item::Loop { label, body } => {
                let slot = self.slots(1);
                self.emit(Op::ScopeBegin { slot });
                let target = self.here();
                self.inside(*label, true, slot, body)?;
                self.emit(Op::LoopEnd { slot, target });
                Ok(())
            }
            Item::Leave(label) => self.leave(*label, false),
            Item::Repeat(label) => self.leave(*label, true),
            Item::Return(_) => {
                self.emit(Op::Return);
                Ok(())
            }
            Item::Unreachable => {
                self.emit(Op::Unreachable);
                Ok(())
            }
        }
    }

    fn inside(&mut self, label: Label, is_loop: bool, slot: u32, body: &[Item]) -> Done {
        self.scopes.push(Frame {
            label,
            is_loop,
            slot,
        });
        self.region(body)?;
        self.scopes.pop();
        Ok(())
    }

    fn leave(&mut self, label: Label, is_loop: bool) -> Done {
        let wanted = |frame: &&Frame| frame.label == label && frame.is_loop == is_loop;
        match self.scopes.iter().rev().find(wanted) {
            Some(frame) => {
                let slot = frame.slot;
                self.emit(Op::Leave { slot });
                Ok(())
            }
            None => self.malformed(format!("nothing around has the label {}", label.0)),
        }
    }

    fn block(&mut self, block: Block) -> Done {
        for &inst in self.function.insts(block) {
            if !self.function.inst(inst).is_terminator() {
                self.current = Some(inst);
                self.instruction(inst)?;
            }
        }
        Ok(())
    }

    /// All parameters get their values at once: a source that is also written is saved first.
    fn pass(&mut self, from: Block, arm: Arm) -> Done {
        let Some(call) = edge(self.function, from, arm) else {
            return self.malformed(format!("{from} has no such edge"));
        };
        let params = self.function.params(call.block);
        let args = self.function.list_values(call.args);
        if params.len() != args.len() {
            return self.malformed(format!(
                "{from} passes {} values of {}",
                args.len(),
                params.len()
            ));
        }
        let mut moves: Vec<(Reg, Reg)> = Vec::new();
        for (&param, &arg) in params.iter().zip(args) {
            let (to, from) = (self.regs(param)?, self.regs(arg)?);
            moves.extend(to.into_iter().zip(from).filter(|(to, from)| to != from));
        }
        let written: Vec<Reg> = moves.iter().map(|(to, _)| *to).collect();
        for index in 0..moves.len() {
            let (_, source) = moves[index];
            if written[..index].contains(&source) {
                let saved = self.register(source.wide);
                moves[index].1 = saved;
                self.shift(saved, source);
            }
        }
        // Narrow and wide registers do not get in each other's way.
        for wide in [false, true] {
            let of_kind = moves.iter().filter(|(to, _)| to.wide == wide);
            let pairs: Vec<Reg> = of_kind.flat_map(|&(to, from)| [to, from]).collect();
            match pairs[..] {
                [] => {}
                [to, from] => self.shift(to, from),
                _ => {
                    let list = self.list(&pairs);
                    self.emit(Op::Moves { list, wide });
                }
            }
        }
        Ok(())
    }

    fn shift(&mut self, to: Reg, from: Reg) {
        let (d, a) = (to.index, from.index);
        self.emit(if to.wide {
            Op::MoveWide { d, a }
        } else {
            Op::MoveNarrow { d, a }
        });
    }
}
