//! Control: masks, branches where all lanes go the same way, loops, barriers.

use super::emit::Emitter;
use super::run::field;
use crate::code::{Op, Reg};

impl Emitter<'_> {
    pub(super) fn barrier(&mut self) {
        if !self.suspends {
            return;
        }
        let mask = self.mask();
        let some = self.text.make(&format!("icmp ne i32 {mask}, 0"));
        let (wait, go_on) = (self.text.label(), self.text.label());
        self.text.branch(&some, &wait, &go_on);
        self.text.start(&wait);
        let which = self
            .text
            .make("call i8 @llvm.coro.suspend(token none, i1 false)");
        self.text.line(&format!(
            "switch i8 {which}, label %suspended [i8 0, label %{go_on} i8 1, label %destroyed]"
        ));
        self.text.start(&go_on);
    }

    fn slot(&mut self, slot: u32) -> String {
        self.text.make(&format!("load i32, ptr %slot{slot}"))
    }

    fn set_slot(&mut self, slot: u32, value: &str) {
        self.text
            .line(&format!("store i32 {value}, ptr %slot{slot}"));
    }

    fn join(&mut self, slot: u32) {
        let (mask, waiting) = (self.mask(), self.slot(slot));
        let both = self.text.make(&format!("or i32 {mask}, {waiting}"));
        self.set_mask(&both);
    }

    fn go_if_none(&mut self, target: usize, next: usize) {
        let mask = self.mask();
        let some = self.text.make(&format!("icmp ne i32 {mask}, 0"));
        self.text
            .branch(&some, &format!("P{next}"), &format!("P{target}"));
        // What follows is another block, which begins itself.
        let dead = self.text.label();
        self.text.start(&dead);
    }

    pub(super) fn control(&mut self, position: usize, op: &Op) {
        let next = position + 1;
        match *op {
            Op::If {
                cond,
                wanted,
                slot,
                target,
            } => {
                let target = target as usize;
                if self.uniform_slots.contains(&slot) {
                    let cond = self.one(Reg::narrow(cond));
                    let truth = self.text.make(&format!("trunc i32 {cond} to i1"));
                    let truth = match wanted {
                        true => truth,
                        false => self.text.make(&format!("xor i1 {truth}, true")),
                    };
                    // All take the same way: into the second arm, or past it.
                    let is_else = matches!(self.program.ops.get(target), Some(Op::Else { .. }));
                    let other = if is_else { target + 1 } else { target };
                    self.text
                        .branch(&truth, &format!("P{next}"), &format!("P{other}"));
                    let dead = self.text.label();
                    self.text.start(&dead);
                    return;
                }
                let (mask, holds) = (self.mask(), self.truths(Reg::narrow(cond)));
                let holds = match wanted {
                    true => holds,
                    false => self.text.make(&format!("xor i32 {holds}, -1")),
                };
                let go = self.text.make(&format!("and i32 {mask}, {holds}"));
                let wait = self.text.make(&format!("xor i32 {mask}, {go}"));
                self.set_slot(slot, &wait);
                self.set_mask(&go);
                self.go_if_none(target, next);
            }
            Op::Else { slot, target } => {
                let target = target as usize;
                if self.uniform_slots.contains(&slot) {
                    self.text.jump(&format!("P{}", target + 1));
                    let dead = self.text.label();
                    self.text.start(&dead);
                    return;
                }
                let others = self.slot(slot);
                let mask = self.mask();
                let some = self.text.make(&format!("icmp ne i32 {others}, 0"));
                let second = self.text.label();
                self.text
                    .branch(&some, &second, &format!("P{}", target + 1));
                self.text.start(&second);
                self.set_slot(slot + 1, &mask);
                self.set_mask(&others);
            }
            Op::EndIf { slot } => {
                if !self.uniform_slots.contains(&slot) {
                    self.join(slot + 1);
                }
            }
            Op::EndThen { slot } => {
                if !self.uniform_slots.contains(&slot) {
                    self.join(slot);
                }
            }
            Op::ScopeEnd { slot } => self.join(slot),
            Op::ScopeBegin { slot } => self.set_slot(slot, "0"),
            Op::LoopEnd { slot, target } => {
                self.join(slot);
                self.set_slot(slot, "0");
                let mask = self.mask();
                let some = self.text.make(&format!("icmp ne i32 {mask}, 0"));
                let (count, stop) = (self.text.label(), self.text.label());
                self.text.branch(&some, &count, &format!("P{next}"));
                self.text.start(&count);
                let before = self.text.make("load i64, ptr %steps");
                let operations = position - target as usize + 1;
                let steps = self.text.make(&format!("add i64 {before}, {operations}"));
                self.text.line(&format!("store i64 {steps}, ptr %steps"));
                let many = self.text.make(&format!("icmp ugt i64 {steps}, %max_steps"));
                let asked = self
                    .text
                    .make("load atomic i8, ptr %cancel monotonic, align 1");
                let asked = self.text.make(&format!("icmp ne i8 {asked}, 0"));
                let ends = self.text.make(&format!("or i1 {many}, {asked}"));
                let fine = self.text.make(&format!("xor i1 {ends}, true"));
                self.text.expect(&fine, &format!("P{target}"), &stop);
                self.text.start(&stop);
                let place = self.text.make(&format!(
                    "getelementptr i8, ptr %context, i64 {}",
                    field::MASK
                ));
                self.text.line(&format!("store i32 {mask}, ptr {place}"));
                let _ = self.text.make(&format!(
                    "call i32 %stop(ptr %context, i64 {position}, i64 {steps})"
                ));
                self.text.jump("finished");
                let dead = self.text.label();
                self.text.start(&dead);
            }
            Op::Leave { slot } => {
                let (waiting, mask) = (self.slot(slot), self.mask());
                let both = self.text.make(&format!("or i32 {waiting}, {mask}"));
                self.set_slot(slot, &both);
                self.set_mask("0");
            }
            Op::SkipIfNone { target } => self.go_if_none(target as usize, next),
            Op::Return => self.set_mask("0"),
            Op::Unreachable => {
                let mask = self.mask();
                let some = self.text.make(&format!("icmp ne i32 {mask}, 0"));
                let (stop, go_on) = (self.text.label(), self.text.label());
                self.text.branch(&some, &stop, &go_on);
                self.text.start(&stop);
                let place = self.text.make(&format!(
                    "getelementptr i8, ptr %context, i64 {}",
                    field::MASK
                ));
                self.text.line(&format!("store i32 {mask}, ptr {place}"));
                let _ = self
                    .text
                    .make(&format!("call i32 %cold(ptr %context, i64 {position})"));
                self.text.jump("finished");
                self.text.start(&go_on);
            }
            _ => self.text.jump("finished"),
        }
    }
}
