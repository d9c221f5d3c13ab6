//! The beginning and the end of a simdgroup's function: what it reads of its context, and how a coroutine suspends and ends.

use super::{COROUTINE_END, Emitter};
use crate::code::Reg;
use crate::native::run::field;
use crate::native::text::Shape;
use crate::operands::for_each_register;
use std::collections::HashSet;

impl Emitter<'_> {
    fn context_field(&mut self, offset: usize, ty: &str, name: &str) {
        let place = self
            .text
            .make(&format!("getelementptr i8, ptr %context, i64 {offset}"));
        self.text.line(&format!("%{name} = load {ty}, ptr {place}"));
    }

    pub(super) fn prologue(&mut self) {
        self.text.start("entry");
        if self.suspends {
            self.context_field(field::ALLOCATE, "ptr", "allocate");
            self.text
                .line("%id = call token @llvm.coro.id(i32 64, ptr null, ptr null, ptr null)");
            self.text.line("%size = call i64 @llvm.coro.size.i64()");
            self.text
                .line("%memory = call ptr %allocate(ptr %context, i64 %size)");
            self.text
                .line("%handle = call ptr @llvm.coro.begin(token %id, ptr %memory)");
        }
        self.text.line("%mask = alloca i32");
        self.text.line("%steps = alloca i64");
        for slot in 0..self.program.slots {
            self.text.line(&format!("%slot{slot} = alloca i32"));
        }
        let mut seen = HashSet::new();
        let mut variables = Vec::new();
        for op in &self.program.ops {
            let _ = for_each_register(self.program, op, &mut |reg, _| {
                if seen.insert((reg.wide, reg.index)) {
                    variables.push(reg);
                }
            });
        }
        for &reg in &variables {
            if self.known.constant(reg).is_some() {
                continue;
            }
            let ty = self.shape(reg).of(&format!("i{}", Self::bits(reg)));
            self.text
                .line(&format!("{} = alloca {ty}, align 128", Self::variable(reg)));
            let zero = if self.shape(reg) == Shape::One {
                "0"
            } else {
                "zeroinitializer"
            };
            self.text
                .line(&format!("store {ty} {zero}, ptr {}", Self::variable(reg)));
        }
        self.context_field(field::TABLE, "ptr", "table");
        self.context_field(field::REGIONS, "i64", "regions");
        self.context_field(field::POINTERS, "ptr", "pointers");
        self.context_field(field::FRAME, "ptr", "frame");
        self.context_field(field::NARROW, "ptr", "narrow");
        self.context_field(field::WIDE, "ptr", "wide");
        self.context_field(field::BASES, "ptr", "bases");
        self.context_field(field::LANES, "ptr", "lanes");
        self.context_field(field::CANCEL, "ptr", "cancel");
        self.context_field(field::MAX_STEPS, "i64", "max_steps");
        self.context_field(field::MASK, "i32", "present");
        self.context_field(field::COLD, "ptr", "cold");
        self.context_field(field::STOP, "ptr", "stop");
        let pointers: Vec<(usize, u32)> = self
            .program
            .pointers
            .iter()
            .map(|&(index, _)| index)
            .enumerate()
            .collect();
        for (at, index) in pointers {
            for (word, (name, ty)) in [
                ("address", "i64"),
                ("start", "i64"),
                ("base", "ptr"),
                ("len", "i64"),
                ("is_writable", "i64"),
            ]
            .into_iter()
            .enumerate()
            {
                let place = self.text.make(&format!(
                    "getelementptr [5 x i64], ptr %pointers, i64 {at}, i64 {word}"
                ));
                self.text
                    .line(&format!("%p{at}.{name} = load {ty}, ptr {place}"));
            }
            self.text.line(&format!(
                "%p{at}.writable = icmp ne i64 %p{at}.is_writable, 0"
            ));
            let known = self.known.constant(Reg::wide(index)).is_some();
            if seen.contains(&(true, index)) && !known {
                self.text
                    .line(&format!("store i64 %p{at}.address, ptr %w{index}"));
            }
        }
        self.set_mask("%present");
        let first = self.program.ops.len();
        self.text.line(&format!("store i64 {first}, ptr %steps"));
        for slot in 0..self.program.slots {
            self.text.line(&format!("store i32 0, ptr %slot{slot}"));
        }
    }

    pub(super) fn epilogue(&mut self) {
        self.text.start("finished");
        if self.suspends {
            self.text
                .line("%last = call i8 @llvm.coro.suspend(token none, i1 true)");
            self.text.line(
                "switch i8 %last, label %suspended [i8 0, label %never i8 1, label %destroyed]",
            );
            self.text.start("never");
            self.text.line("unreachable");
            self.text.start("destroyed");
            self.text
                .line("%freed = call ptr @llvm.coro.free(token %id, ptr %handle)");
            self.text.jump("suspended");
            self.text.start("suspended");
            self.text.line(&format!(
                "{COROUTINE_END}(ptr %handle, i1 false, token none)"
            ));
            self.text.line("ret ptr %handle");
        } else {
            self.text.line("ret void");
        }
    }
}
