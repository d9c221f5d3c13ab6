//! Compiles the control tree to operations on masks, and jumps over code that no lane runs.

use super::{Compiler, Done};
use crate::class::float_operations;
use crate::code::{Op, Reg};
use assay_opt::control::{Arm, Item, Label, Tree, edge};
use assay_ssa::{Block, Inst};

/// Where lanes go that do not come to the end of an item: the outermost scope or loop (by its place among those
/// around) they leave or repeat, 0 if they return. Nothing if all lanes come to the end.
type Lost = Option<usize>;

fn outermost(a: Lost, b: Lost) -> Lost {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// A scope or loop around what is being compiled.
pub(crate) struct Frame {
    label: Label,
    is_loop: bool,
    slot: u32,
}

impl Compiler<'_> {
    pub(super) fn tree(&mut self, tree: &Tree) -> Done {
        self.region(&tree.body)?;
        Ok(())
    }

    fn slots(&mut self, count: u32) -> u32 {
        self.program.slots += count;
        self.program.slots - count
    }

    /// Items in order; once no lane is left the rest is skipped.
    fn region(&mut self, items: &[Item]) -> Done<Lost> {
        let mut skips = Vec::new();
        let mut lost = None;
        for (index, item) in items.iter().enumerate() {
            let gone = self.item(item)?;
            lost = outermost(lost, gone);
            if gone.is_some() && index + 1 < items.len() {
                skips.push(self.emit(Op::SkipIfNone { target: 0 }));
            }
        }
        let end = self.here();
        for skip in skips {
            self.patch(skip, end);
        }
        Ok(lost)
    }

    fn patch(&mut self, at: usize, to: u32) {
        if let Some(Op::SkipIfNone { target } | Op::If { target, .. } | Op::Else { target, .. }) =
            self.program.ops.get_mut(at)
        {
            *target = to;
        }
    }

    fn item(&mut self, item: &Item) -> Done<Lost> {
        self.current = None;
        match item {
            Item::Run(block) => {
                self.block(*block)?;
                Ok(None)
            }
            Item::Pass { from, arm } => {
                self.pass(*from, *arm)?;
                Ok(None)
            }
            Item::If {
                cond,
                then,
                otherwise,
            } => {
                let cond = self.reg(*cond)?.index;
                let slot = self.slots(2);
                let start = self.emit(Op::If {
                    cond,
                    wanted: true,
                    slot,
                    target: 0,
                });
                let near = self.near;
                let lost = self.region(then)?;
                let middle = self.here();
                self.patch(start, middle);
                if otherwise.is_empty() {
                    self.emit(Op::EndThen { slot });
                    return Ok(lost);
                }
                if middle as usize == start + 1 {
                    // Nothing to do in the first arm: the second is the only one.
                    if let Some(Op::If { wanted, .. }) = self.program.ops.get_mut(start) {
                        *wanted = false;
                    }
                    let lost = outermost(lost, self.region(otherwise)?);
                    let end = self.here();
                    self.patch(start, end);
                    self.emit(Op::EndThen { slot });
                    return Ok(lost);
                }
                let turn = self.emit(Op::Else { slot, target: 0 });
                self.near = near;
                let lost = outermost(lost, self.region(otherwise)?);
                let end = self.here();
                self.patch(turn, end);
                self.emit(Op::EndIf { slot });
                Ok(lost)
            }
            Item::Scope { label, body } => {
                let slot = self.slots(1);
                self.emit(Op::ScopeBegin { slot });
                let lost = self.inside(*label, false, slot, body)?;
                self.emit(Op::ScopeEnd { slot });
                Ok(lost)
            }
            Item::Loop { label, body } => {
                let slot = self.slots(1);
                self.emit(Op::ScopeBegin { slot });
                let target = self.here();
                let lost = self.inside(*label, true, slot, body)?;
                self.emit(Op::LoopEnd { slot, target });
                // Lanes get out of a loop only by leaving something around it.
                Ok(Some(lost.unwrap_or(0)))
            }
            Item::Leave(label) => self.leave(*label, false),
            Item::Repeat(label) => self.leave(*label, true),
            Item::Return(_) => {
                self.emit(Op::Return);
                Ok(Some(0))
            }
            Item::Unreachable => {
                // It has no place of its own: what led here is what is wrong.
                let at = self.emit(Op::Unreachable);
                if let Some(origin) = self.program.origins.get_mut(at) {
                    *origin = self.near;
                }
                Ok(Some(0))
            }
        }
    }

    /// The body of a scope or loop. Lanes that leave or repeat just that are not lost to what is around.
    fn inside(&mut self, label: Label, is_loop: bool, slot: u32, body: &[Item]) -> Done<Lost> {
        self.scopes.push(Frame {
            label,
            is_loop,
            slot,
        });
        let lost = self.region(body)?;
        self.scopes.pop();
        Ok(lost.filter(|&outermost| outermost < self.scopes.len()))
    }

    fn leave(&mut self, label: Label, is_loop: bool) -> Done<Lost> {
        let wanted = |frame: &Frame| frame.label == label && frame.is_loop == is_loop;
        match self.scopes.iter().rposition(wanted) {
            Some(place) => {
                let slot = self.scopes[place].slot;
                self.emit(Op::Leave { slot });
                Ok(Some(place))
            }
            None => self.malformed(format!("nothing around has the label {}", label.0)),
        }
    }

    fn block(&mut self, block: Block) -> Done {
        for &inst in self.function.insts(block) {
            if !self.function.inst(inst).is_terminator() {
                self.current = Some(inst);
                let first = self.program.ops.len();
                self.instruction(inst)?;
                if let Some(flops) = self.program.flops.get_mut(first) {
                    *flops = float_operations(self.function, inst);
                }
                self.keep(inst)?;
            }
        }
        Ok(())
    }

    /// Copies a value that outlives its loop under the mask, so that later iterations do not spoil it for lanes that left.
    fn keep(&mut self, inst: Inst) -> Done {
        let result = self.function.result(inst);
        let Some(result) = result.filter(|&result| self.escaping.contains(result)) else {
            return Ok(());
        };
        if self.folded.contains(result) {
            return Ok(());
        }
        let mut kept = Vec::new();
        for made in self.regs(result)? {
            let reg = self.register(made.wide);
            self.shift(reg, made);
            kept.push(reg);
        }
        self.name(result, &kept);
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
