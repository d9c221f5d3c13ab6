//! Writes a program as LLVM's text: one function that runs a simdgroup.
//!
//! Registers are variables, of one number where all lanes follow from it, else of 32 lanes; the compiler makes values of
//! them. The mask of active lanes is a 32-bit number. Operations without code of their own are *cold*: their operands are written to
//! the interpreter's registers, the interpreter's function is called, the results are read back.
//!
//! With barriers and several simdgroups to a threadgroup the function is a coroutine that is suspended at barriers.

use super::Source;
use super::arithmetic::Arithmetic;
use super::known::{Known, Registers, lane_offsets};
use super::meaning::Meaning;
use super::memory::Root;
use super::run::field;
use super::text::{Shape, Text, choice, vector};
use crate::code::{Op, Program, Reg};
use crate::collective::{Combine, Shuffle, What};
use crate::matrix::{MatrixOp, Product};
use crate::operands::{Role, for_each_register};
use assay_num::matrix::{element_of_lane, lane_of_element};
use assay_ssa::Scalar;
use assay_ssa::builtin::Builtin;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;

/// Why there is no code for a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refused(pub(super) String);

/// Operations of the largest program that is compiled: clang's time grows with them.
const MOST_OPERATIONS: usize = 20_000;

/// The end of a coroutine, as clang has it from 22 on and as it had it before.
pub(super) const COROUTINE_END: &str = "call void @llvm.coro.end";
pub(super) const OLD_COROUTINE_END: &str = "call i1 @llvm.coro.end";

pub(super) struct Emitter<'a> {
    pub(super) source: &'a Source,
    pub(super) program: &'a Program,
    pub(super) known: &'a Registers,
    pub(super) text: Text,
    pub(super) roots: &'a HashMap<u32, Option<Root>>,
    /// Helper functions that are called, by the type of their cells.
    pub(super) helpers: BTreeSet<&'static str>,
    /// Slots of branches that all active lanes take the same way.
    uniform_slots: HashSet<u32>,
    /// The function is a coroutine.
    suspends: bool,
    threadgroup: [u32; 3],
    targets: HashSet<usize>,
    cold: BTreeSet<String>,
}

/// The text of a program's function.
pub(super) struct Emitted {
    pub(super) text: String,
    pub(super) suspends: bool,
    /// Operations that call the interpreter.
    pub(super) cold: BTreeSet<String>,
}

fn narrow(index: u32) -> Reg {
    Reg { index, wide: false }
}

fn wide(index: u32) -> Reg {
    Reg { index, wide: true }
}

pub(super) fn emit(
    source: &Source,
    known: &Registers,
    roots: &HashMap<u32, Option<Root>>,
    threadgroup: [u32; 3],
) -> Result<Emitted, Refused> {
    let simdgroups = threadgroup.iter().product::<u32>().div_ceil(32);
    let program = &source.program;
    if program.ops.len() > MOST_OPERATIONS {
        return Err(Refused(format!(
            "{} operations are too many",
            program.ops.len()
        )));
    }
    // Not compared with the interpreter yet.
    for op in &program.ops {
        match op {
            Op::Texture { .. } => return Err(Refused("it uses textures".to_owned())),
            Op::BulkCopy { .. } => return Err(Refused("it copies asynchronously".to_owned())),
            _ => {}
        }
    }
    let barriers = program
        .ops
        .iter()
        .any(|op| matches!(op, Op::Barrier { .. }));
    let mut emitter = Emitter {
        source,
        program,
        known,
        text: Text::default(),
        roots,
        helpers: BTreeSet::new(),
        uniform_slots: HashSet::new(),
        suspends: barriers && simdgroups > 1,
        threadgroup,
        targets: HashSet::new(),
        cold: BTreeSet::new(),
    };
    for (position, op) in program.ops.iter().enumerate() {
        match *op {
            Op::If { target, slot, .. } => {
                emitter.targets.insert(target as usize);
                emitter.targets.insert(position + 1);
                if let Op::If { cond, .. } = *op
                    && known.of(narrow(cond)).is_uniform()
                {
                    emitter.uniform_slots.insert(slot);
                }
                // An `else` is gone past by those that took the first arm.
                if matches!(program.ops.get(target as usize), Some(Op::Else { .. })) {
                    emitter.targets.insert(target as usize + 1);
                }
            }
            Op::Else { target, .. } => {
                emitter.targets.insert(target as usize);
                emitter.targets.insert(target as usize + 1);
                emitter.targets.insert(position + 1);
            }
            Op::SkipIfNone { target } | Op::LoopEnd { target, .. } => {
                emitter.targets.insert(target as usize);
                emitter.targets.insert(position + 1);
            }
            _ => {}
        }
    }
    emitter.function()
}

impl Emitter<'_> {
    // ---- registers ----

    pub(super) fn shape(&self, reg: Reg) -> Shape {
        match self.known.of(reg).is_scalar() {
            true => Shape::One,
            false => Shape::Lanes,
        }
    }

    fn variable(reg: Reg) -> String {
        let file = if reg.wide { 'w' } else { 'n' };
        format!("%{file}{}", reg.index)
    }

    fn bits(reg: Reg) -> u32 {
        if reg.wide { 64 } else { 32 }
    }

    /// What a variable holds, in its shape.
    pub(super) fn get(&mut self, reg: Reg) -> String {
        if let Some(bits) = self.known.constant(reg) {
            return Shape::One.number(Self::bits(reg), bits);
        }
        let ty = self.shape(reg).of(&format!("i{}", Self::bits(reg)));
        self.text
            .make(&format!("load {ty}, ptr {}", Self::variable(reg)))
    }

    pub(super) fn set(&mut self, reg: Reg, value: &str) {
        let ty = self.shape(reg).of(&format!("i{}", Self::bits(reg)));
        self.text
            .line(&format!("store {ty} {value}, ptr {}", Self::variable(reg)));
    }

    /// What a register holds, with the number it stands for in place of what the CPU left.
    fn observed(&mut self, reg: Reg) -> String {
        let value = self.get(reg);
        match self.known.of(reg).raw && !reg.wide && self.known.constant(reg).is_none() {
            false => value,
            true => {
                let shape = self.shape(reg);
                let text = &mut self.text;
                Arithmetic { text, shape }.finished(&value)
            }
        }
    }

    /// The number of the first lane.
    pub(super) fn one(&mut self, reg: Reg) -> String {
        let value = self.observed(reg);
        self.first_of(reg, value)
    }

    fn first_of(&mut self, reg: Reg, value: String) -> String {
        match self.shape(reg) {
            Shape::One => value,
            Shape::Lanes => {
                let ty = Shape::Lanes.of(&format!("i{}", Self::bits(reg)));
                self.text
                    .make(&format!("extractelement {ty} {value}, i64 0"))
            }
        }
    }

    /// The number of the first active lane.
    pub(super) fn first_active(&mut self, reg: Reg) -> String {
        if self.known.of(reg).is_uniform() {
            return self.one(reg);
        }
        let lanes = self.lanes(reg);
        let mask = self.mask();
        let first = self
            .text
            .make(&format!("call i32 @llvm.cttz.i32(i32 {mask}, i1 false)"));
        let first = self.text.make(&format!("and i32 {first}, 31"));
        let ty = Shape::Lanes.of(&format!("i{}", Self::bits(reg)));
        self.text
            .make(&format!("extractelement {ty} {lanes}, i32 {first}"))
    }

    /// The numbers of all lanes.
    pub(super) fn lanes(&mut self, reg: Reg) -> String {
        let bits = Self::bits(reg);
        if let Some(number) = self.known.constant(reg) {
            return Shape::Lanes.number(bits, number);
        }
        let value = self.observed(reg);
        self.spread(reg, value)
    }

    /// A register's content in all lanes.
    fn spread(&mut self, reg: Reg, value: String) -> String {
        let bits = Self::bits(reg);
        if let Some(number) = self.known.constant(reg) {
            return Shape::Lanes.number(bits, number);
        }
        match self.known.of(reg).all_strides() {
            None => value,
            Some(strides) => {
                let ty = format!("i{bits}");
                let all = self.text.splat(&ty, &value);
                if strides == [0; 5] {
                    return all;
                }
                let offsets = lane_offsets(strides);
                let offsets = offsets.map(|offset| {
                    if bits == 32 {
                        i64::from(offset as i32)
                    } else {
                        offset
                    }
                });
                self.text
                    .make(&format!("add <32 x {ty}> {all}, {}", vector(&ty, offsets)))
            }
        }
    }

    /// An operand of an operation of a shape.
    pub(super) fn operand(&mut self, reg: Reg, shape: Shape) -> String {
        match shape {
            Shape::One => self.one(reg),
            Shape::Lanes => self.lanes(reg),
        }
    }

    /// An operand as the CPU left it.
    fn raw_operand(&mut self, reg: Reg, shape: Shape) -> String {
        let value = self.get(reg);
        match shape {
            Shape::One => self.first_of(reg, value),
            Shape::Lanes => self.spread(reg, value),
        }
    }

    // ---- masks ----

    /// The active lanes, as a number.
    pub(super) fn mask(&mut self) -> String {
        self.text.make("load i32, ptr %mask")
    }

    /// The active lanes, as truth values.
    pub(super) fn mask_lanes(&mut self) -> String {
        let mask = self.mask();
        self.text.make(&format!("bitcast i32 {mask} to <32 x i1>"))
    }

    fn set_mask(&mut self, mask: &str) {
        self.text.line(&format!("store i32 {mask}, ptr %mask"));
    }

    /// The truth of a register in all lanes, as a number.
    fn truths(&mut self, reg: Reg) -> String {
        let lanes = self.lanes(reg);
        let truths = self
            .text
            .make(&format!("trunc <32 x i32> {lanes} to <32 x i1>"));
        self.text
            .make(&format!("bitcast <32 x i1> {truths} to i32"))
    }

    // ---- the function ----

    fn function(mut self) -> Result<Emitted, Refused> {
        self.prologue();
        for (position, op) in self.program.ops.iter().enumerate() {
            if self.targets.contains(&position) {
                self.text.jump(&format!("P{position}"));
                self.text.start(&format!("P{position}"));
            }
            self.operation(position, op)?;
        }
        self.epilogue();
        let mut text = String::from(
            "target triple = \"x86_64-unknown-linux-gnu\"\n\
             target datalayout = \"e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128\"\n",
        );
        let (result, attribute) = match self.suspends {
            true => ("ptr", "presplitcoroutine"),
            false => ("void", ""),
        };
        let _ = writeln!(
            text,
            "define {result} @simdgroup(ptr noalias %context) {attribute} #0 {{"
        );
        text.push_str(&self.text.body);
        text.push_str("}\n");
        if self.suspends {
            text.push_str(
                "define void @resume(ptr %handle) nounwind {\n  call void @llvm.coro.resume(ptr %handle)\n  ret void\n}\n\
                 define i32 @is_done(ptr %handle) nounwind {\n  %done = call i1 @llvm.coro.done(ptr %handle)\n  %number = zext i1 %done to i32\n  ret i32 %number\n}\n",
            );
        }
        for ty in &self.helpers {
            helper(&mut text, ty);
        }
        text.push_str("attributes #0 = { nounwind \"prefer-vector-width\"=\"512\" \"min-legal-vector-width\"=\"512\" \"no-trapping-math\"=\"true\" \"denormal-fp-math\"=\"ieee,preserve-sign\" }\n");
        text.push_str("attributes #1 = { nounwind noinline \"prefer-vector-width\"=\"512\" }\n");
        text.push_str("!0 = !{!\"branch_weights\", i32 10000, i32 1}\n");
        Ok(Emitted {
            text,
            suspends: self.suspends,
            cold: self.cold,
        })
    }

    fn context_field(&mut self, offset: usize, ty: &str, name: &str) {
        let place = self
            .text
            .make(&format!("getelementptr i8, ptr %context, i64 {offset}"));
        self.text.line(&format!("%{name} = load {ty}, ptr {place}"));
    }

    fn prologue(&mut self) {
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
            let known = self.known.constant(wide(index)).is_some();
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

    fn epilogue(&mut self) {
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

    // ---- operations ----

    /// Runs an operation by the interpreter's function.
    pub(super) fn cold(&mut self, position: usize) -> Result<(), Refused> {
        let Some(op) = self.program.ops.get(position) else {
            return Err(Refused("an operation that does not exist".to_owned()));
        };
        if !matches!(op, Op::Load { .. } | Op::Store { .. }) {
            self.cold.insert(self.name_of(position));
        }
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        let all = for_each_register(self.program, op, &mut |reg, role| match role {
            Role::Reads => reads.push(reg),
            Role::Writes => writes.push(reg),
        });
        all.map_err(|why| Refused(why.to_owned()))?;
        // Where shuffles read other lanes, those that are not active keep what they had.
        let keeps = self.program.reads_inactive;
        let kept = writes
            .iter()
            .copied()
            .filter(|&reg| keeps && self.shape(reg) == Shape::Lanes);
        let given: Vec<Reg> = reads.iter().copied().chain(kept).collect();
        for reg in given {
            if self.known.constant(reg).is_some() {
                continue;
            }
            let lanes = self.lanes(reg);
            let place = self.interpreters(reg);
            let ty = Shape::Lanes.of(&format!("i{}", Self::bits(reg)));
            self.text
                .line(&format!("store {ty} {lanes}, ptr {place}, align 64"));
        }
        let mask = self.mask();
        let place = self.text.make(&format!(
            "getelementptr i8, ptr %context, i64 {}",
            field::MASK
        ));
        self.text.line(&format!("store i32 {mask}, ptr {place}"));
        let failed = self
            .text
            .make(&format!("call i32 %cold(ptr %context, i64 {position})"));
        let failed = self.text.make(&format!("icmp ne i32 {failed}, 0"));
        let go_on = self.text.label();
        let fine = self.text.make(&format!("xor i1 {failed}, true"));
        self.text.expect(&fine, &go_on, "finished");
        self.text.start(&go_on);
        for reg in writes {
            let place = self.interpreters(reg);
            let ty = Shape::Lanes.of(&format!("i{}", Self::bits(reg)));
            let lanes = self.text.make(&format!("load {ty}, ptr {place}, align 64"));
            let value = match self.shape(reg) {
                Shape::Lanes => lanes,
                Shape::One => {
                    // Operations on all lanes have a result in the first, collectives and loads in active ones.
                    let lane = match self.is_of_all_lanes(position) {
                        true => "0".to_owned(),
                        false => {
                            let mask = self.mask();
                            let first = self
                                .text
                                .make(&format!("call i32 @llvm.cttz.i32(i32 {mask}, i1 false)"));
                            self.text.make(&format!("and i32 {first}, 31"))
                        }
                    };
                    self.text
                        .make(&format!("extractelement {ty} {lanes}, i32 {lane}"))
                }
            };
            self.set(reg, &value);
        }
        Ok(())
    }

    fn is_of_all_lanes(&self, position: usize) -> bool {
        !matches!(
            self.program.ops.get(position),
            Some(
                Op::Load { .. }
                    | Op::Collective { .. }
                    | Op::Atomic { .. }
                    | Op::CompareExchange { .. }
                    | Op::Texture { .. }
            )
        )
    }

    /// Where the interpreter has a register.
    fn interpreters(&mut self, reg: Reg) -> String {
        let (file, bytes) = if reg.wide {
            ("%wide", 256)
        } else {
            ("%narrow", 128)
        };
        let offset = u64::from(reg.index) * bytes;
        self.text
            .make(&format!("getelementptr i8, ptr {file}, i64 {offset}"))
    }

    fn name_of(&self, position: usize) -> String {
        let meaning = self.source.meanings.get(position).copied();
        match (self.program.ops.get(position), meaning) {
            (_, Some(Meaning::Builtin(call, scalar))) => format!("{call} of {}", scalar.name()),
            (_, Some(meaning)) if meaning != Meaning::Function => format!("{meaning:?}"),
            (Some(op), _) => {
                let name = format!("{op:?}");
                let end = name.find([' ', '{', '(']).unwrap_or(name.len());
                match *op {
                    Op::Collective { index } => self
                        .program
                        .collectives
                        .get(index as usize)
                        .map_or(String::new(), |c| {
                            format!("{:?} of {}", c.what, c.scalar.name())
                        }),
                    Op::Matrix { index } => {
                        self.program
                            .matrices
                            .get(index as usize)
                            .map_or(String::new(), |m| {
                                let name = format!("{m:?}");
                                name.chars().take(12).collect()
                            })
                    }
                    Op::PerLane { index } => self
                        .program
                        .per_lane
                        .get(index as usize)
                        .map_or(String::new(), |p| format!("{} lane by lane", p.call.call)),
                    _ => name[..end].to_owned(),
                }
            }
            _ => String::new(),
        }
    }

    fn operation(&mut self, position: usize, op: &Op) -> Result<(), Refused> {
        match *op {
            Op::N1 { d, a, .. } => self.lane_function(position, narrow(d), &[narrow(a)]),
            Op::N2 { d, a, b, .. } => {
                self.lane_function(position, narrow(d), &[narrow(a), narrow(b)])
            }
            Op::N3 { d, a, b, c, .. } => {
                self.lane_function(position, narrow(d), &[narrow(a), narrow(b), narrow(c)])
            }
            Op::W1 { d, a, .. } => self.lane_function(position, wide(d), &[wide(a)]),
            Op::W2 { d, a, b, .. } => self.lane_function(position, wide(d), &[wide(a), wide(b)]),
            Op::Widen { d, a, .. } => self.lane_function(position, wide(d), &[narrow(a)]),
            Op::Narrowing { d, a, .. } => self.lane_function(position, narrow(d), &[wide(a)]),
            Op::Compare { d, a, b, .. } => {
                self.lane_function(position, narrow(d), &[wide(a), wide(b)])
            }
            Op::SelectNarrow { d, cond, yes, no } => {
                self.choose(narrow(d), cond, narrow(yes), narrow(no))
            }
            Op::SelectWide { d, cond, yes, no } => self.choose(wide(d), cond, wide(yes), wide(no)),
            Op::PtrAdd {
                d,
                base,
                index,
                kind,
                scale,
                offset,
            } => {
                self.pointer_add(d, base, index, kind, scale, offset);
                Ok(())
            }
            Op::Load { transfer } | Op::Store { transfer } => {
                let Some(transfer) = self.program.transfers.get(transfer as usize).copied() else {
                    return Err(Refused("a transfer that does not exist".to_owned()));
                };
                self.transfer(position, &transfer, matches!(op, Op::Store { .. }))
            }
            Op::MoveNarrow { d, a } => self.move_to(narrow(d), narrow(a)),
            Op::MoveWide { d, a } => self.move_to(wide(d), wide(a)),
            Op::Moves { list, .. } => {
                for pair in self.program.list(list).chunks_exact(2) {
                    self.move_to(pair[0], pair[1])?;
                }
                Ok(())
            }
            Op::Position { which, axis, d } => {
                let at = self.source.position(which, axis);
                let at = at.ok_or_else(|| Refused("an unknown position".to_owned()))?;
                let value = match self.shape(d) {
                    Shape::One => {
                        let place = self
                            .text
                            .make(&format!("getelementptr i32, ptr %bases, i64 {at}"));
                        {
                            let range = self.range_of(which, axis);
                            self.text.make(&format!("load i32, ptr {place}{range}"))
                        }
                    }
                    Shape::Lanes => {
                        let place = self
                            .text
                            .make(&format!("getelementptr <32 x i32>, ptr %lanes, i64 {at}"));
                        self.text
                            .make(&format!("load <32 x i32>, ptr {place}, align 4"))
                    }
                };
                let value = match d.wide {
                    true => {
                        let shape = self.shape(d);
                        self.text.make(&format!(
                            "zext {} {value} to {}",
                            shape.of("i32"),
                            shape.of("i64")
                        ))
                    }
                    false => value,
                };
                self.set(d, &value);
                Ok(())
            }
            Op::Collective { index } => self.collective(position, index),
            Op::Matrix { index } => self.matrix(position, index),
            Op::Order { .. } | Op::Expect { .. } => Ok(()),
            Op::Barrier { .. } => {
                self.barrier();
                Ok(())
            }
            Op::If { .. }
            | Op::Else { .. }
            | Op::EndIf { .. }
            | Op::EndThen { .. }
            | Op::ScopeBegin { .. }
            | Op::ScopeEnd { .. }
            | Op::LoopEnd { .. }
            | Op::Leave { .. }
            | Op::SkipIfNone { .. }
            | Op::Return
            | Op::Unreachable
            | Op::End => {
                self.control(position, op);
                Ok(())
            }
            _ => self.cold(position),
        }
    }

    /// What the first lane's position is less than, for the compiler.
    fn range_of(&self, which: Builtin, axis: u8) -> String {
        let [width, height, depth] = self.threadgroup;
        let threads = width * height * depth;
        let limit = match which {
            Builtin::ThreadPositionInThreadgroup => {
                [width, height, depth].get(usize::from(axis)).copied()
            }
            Builtin::ThreadIndexInThreadgroup => Some(threads),
            Builtin::SimdgroupIndexInThreadgroup => Some(threads.div_ceil(32)),
            _ => None,
        };
        limit.map_or(String::new(), |limit| {
            format!(", !range !{{i32 0, i32 {limit}}}")
        })
    }

    fn lane_function(&mut self, position: usize, d: Reg, operands: &[Reg]) -> Result<(), Refused> {
        let meaning = self
            .source
            .meanings
            .get(position)
            .copied()
            .unwrap_or(Meaning::Function);
        let shape = self.shape(d);
        let all_raw = operands.iter().all(|&reg| self.known.of(reg).raw);
        let takes_raw = Arithmetic::takes_raw(meaning, all_raw);
        let mut given = Vec::with_capacity(operands.len());
        for &reg in operands {
            given.push(match takes_raw {
                true => self.raw_operand(reg, shape),
                false => self.operand(reg, shape),
            });
        }
        let raw = self.known.of(d).raw;
        let text = &mut self.text;
        match (Arithmetic { text, shape }).apply(meaning, &given, raw) {
            Some(result) => {
                self.set(d, &result);
                Ok(())
            }
            None => self.cold(position),
        }
    }

    fn choose(&mut self, d: Reg, cond: u32, yes: Reg, no: Reg) -> Result<(), Refused> {
        let shape = self.shape(d);
        let bits = Self::bits(d);
        let (yes, no) = match self.known.of(d).raw {
            true => (self.raw_operand(yes, shape), self.raw_operand(no, shape)),
            false => (self.operand(yes, shape), self.operand(no, shape)),
        };
        let cond = self.operand(narrow(cond), shape);
        let truth = self.text.make(&format!(
            "trunc {} {cond} to {}",
            shape.of("i32"),
            shape.of("i1")
        ));
        let result = Arithmetic {
            text: &mut self.text,
            shape,
        }
        .select(bits, &truth, &yes, &no);
        self.set(d, &result);
        Ok(())
    }

    /// Gives a register another's numbers, in the active lanes.
    fn move_to(&mut self, d: Reg, a: Reg) -> Result<(), Refused> {
        let value = match self.shape(d) {
            Shape::One => {
                let (from, to): (Known, Known) = (self.known.of(a), self.known.of(d));
                match from.is_scalar() && from.strides == to.strides {
                    true if to.raw => self.raw_operand(a, Shape::One),
                    true => self.one(a),
                    false if to.is_uniform() => self.first_active(a),
                    false => {
                        return Err(Refused(
                            "a move between lanes that differ otherwise".to_owned(),
                        ));
                    }
                }
            }
            Shape::Lanes => {
                let before = self.get(d);
                let after = match self.known.of(d).raw {
                    true => self.raw_operand(a, Shape::Lanes),
                    false => self.lanes(a),
                };
                let mask = self.mask_lanes();
                Arithmetic {
                    text: &mut self.text,
                    shape: Shape::Lanes,
                }
                .select(Self::bits(d), &mask, &after, &before)
            }
        };
        self.set(d, &value);
        Ok(())
    }

    // ---- control ----

    fn barrier(&mut self) {
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

    fn control(&mut self, position: usize, op: &Op) {
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
                    let cond = self.one(narrow(cond));
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
                let (mask, holds) = (self.mask(), self.truths(narrow(cond)));
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

    // ---- collectives ----

    fn collective(&mut self, position: usize, index: u32) -> Result<(), Refused> {
        let Some(collective) = self.program.collectives.get(index as usize).copied() else {
            return Err(Refused("a collective that does not exist".to_owned()));
        };
        let (a, d) = (collective.a, collective.d);
        if a.wide || d.wide {
            return self.cold(position);
        }
        match (collective.what, collective.scalar) {
            (What::Reduce { op, group: 32 }, Scalar::F32) if op != Combine::Product => {
                let value = self.reduce_singles(a, op);
                self.set(d, &value);
                Ok(())
            }
            (
                What::Reduce {
                    op: Combine::Sum,
                    group: 32,
                },
                Scalar::I32,
            ) => {
                let (lanes, mask) = (self.lanes(a), self.mask_lanes());
                let lanes = self.text.make(&format!(
                    "select <32 x i1> {mask}, <32 x i32> {lanes}, <32 x i32> zeroinitializer"
                ));
                let sum = self.text.make(&format!(
                    "call i32 @llvm.vector.reduce.add.v32i32(<32 x i32> {lanes})"
                ));
                self.set(d, &sum);
                Ok(())
            }
            (
                What::Shuffle {
                    how: how @ (Shuffle::Xor | Shuffle::Down | Shuffle::Up | Shuffle::Index),
                    group: 32,
                },
                _,
            ) => {
                let Some(number) = collective
                    .b
                    .and_then(|b| self.known.constant(b))
                    .filter(|&n| n < 32)
                else {
                    return self.cold(position);
                };
                let number = number as usize;
                let source = |lane: usize| match how {
                    Shuffle::Xor => lane ^ number,
                    Shuffle::Down => {
                        if lane + number < 32 {
                            lane + number
                        } else {
                            lane
                        }
                    }
                    Shuffle::Up => {
                        if lane >= number {
                            lane - number
                        } else {
                            lane
                        }
                    }
                    _ => number,
                };
                let places: Vec<usize> = (0..32).map(source).collect();
                let lanes = match self.known.of(d).raw {
                    true => self.raw_operand(a, Shape::Lanes),
                    false => self.lanes(a),
                };
                let moved = self.text.make(&format!(
                    "shufflevector <32 x i32> {lanes}, <32 x i32> poison, {}",
                    choice(&places)
                ));
                if self.shape(d) == Shape::One {
                    return self.cold(position);
                }
                // Lanes that are not active keep what they had.
                let (before, mask) = (self.get(d), self.mask_lanes());
                let value = self.text.make(&format!(
                    "select <32 x i1> {mask}, <32 x i32> {moved}, <32 x i32> {before}"
                ));
                self.set(d, &value);
                Ok(())
            }
            _ => self.cold(position),
        }
    }

    /// Neighbours first, then pairs of pairs: the order of `assay_num::reduce`.
    fn reduce_singles(&mut self, a: Reg, op: Combine) -> String {
        let identity: i64 = match op {
            Combine::Sum => i64::from(assay_num::reduce::SUM_IDENTITY.to_bits() as i32),
            _ => i64::from(assay_num::reduce::MINMAX_IDENTITY.to_bits() as i32),
        };
        let takes_raw = op == Combine::Sum || self.known.of(a).raw;
        let lanes = match takes_raw {
            true => self.raw_operand(a, Shape::Lanes),
            false => self.lanes(a),
        };
        let mask = self.mask_lanes();
        let mut work = self.text.make(&format!(
            "select <32 x i1> {mask}, <32 x i32> {lanes}, <32 x i32> splat (i32 {identity})"
        ));
        // Always 32 lanes wide: the places beyond those that count hold anything.
        let mut width = 32;
        while width > 1 {
            width /= 2;
            let even: Vec<usize> = (0..32)
                .map(|at| if at < width { 2 * at } else { 0 })
                .collect();
            let odd: Vec<usize> = (0..32)
                .map(|at| if at < width { 2 * at + 1 } else { 0 })
                .collect();
            let mut halves = Vec::new();
            for places in [even, odd] {
                halves.push(self.text.make(&format!(
                    "shufflevector <32 x i32> {work}, <32 x i32> poison, {}",
                    choice(&places)
                )));
            }
            let mut arithmetic = Arithmetic {
                text: &mut self.text,
                shape: Shape::Lanes,
            };
            work = match op {
                Combine::Sum => {
                    let meaning = Meaning::Binary(assay_ssa::BinaryOp::FAdd, Scalar::F32);
                    arithmetic.apply(meaning, &halves, true).unwrap_or_default()
                }
                Combine::Min { .. } => arithmetic.choose("olt", &halves[0], &halves[1]),
                _ => arithmetic.choose("ogt", &halves[0], &halves[1]),
            };
        }
        self.text
            .make(&format!("extractelement <32 x i32> {work}, i64 0"))
    }

    // ---- matrices ----

    fn matrix(&mut self, position: usize, index: u32) -> Result<(), Refused> {
        match self.program.matrices.get(index as usize).copied() {
            Some(MatrixOp::Load { d, scalar, at }) => {
                return self.tile(position, d, scalar, at, false);
            }
            Some(MatrixOp::Store { a, scalar, at }) => {
                return self.tile(position, a, scalar, at, true);
            }
            _ => {}
        }
        let Some(of) = product_here(self.program, index) else {
            return self.cold(position);
        };
        let mut operands = Vec::new();
        for (regs, scalar) in [of.a, of.b] {
            let mut pair = Vec::new();
            for reg in regs {
                pair.push(self.single(narrow(reg), scalar));
            }
            operands.push(pair);
        }
        let mut sums = Vec::new();
        for which in 0..2 {
            let sum = match of.c {
                Some((regs, scalar)) => self.single(narrow(regs[which]), scalar),
                None => "zeroinitializer".to_owned(),
            };
            sums.push(sum);
        }
        for inner in 0..8 {
            // Of the left operand the element (row, inner), of the right one (inner, column).
            let left: Vec<usize> = (0..32)
                .map(|lane| lane_of_element(element_of_lane(lane).0, inner).0)
                .collect();
            let [first, second] = [&operands[0][0], &operands[0][1]];
            let a = if inner % 2 == 0 { first } else { second };
            let a = self.text.make(&format!(
                "shufflevector <32 x float> {a}, <32 x float> poison, {}",
                choice(&left)
            ));
            for which in 0..2 {
                let right: Vec<usize> = (0..32)
                    .map(|lane| lane_of_element(inner, element_of_lane(lane).1).0)
                    .collect();
                let b = self.text.make(&format!(
                    "shufflevector <32 x float> {}, <32 x float> poison, {}",
                    operands[1][which],
                    choice(&right)
                ));
                let mut arithmetic = Arithmetic {
                    text: &mut self.text,
                    shape: Shape::Lanes,
                };
                let product = arithmetic.multiply_add(&a, &b, &sums[which]);
                sums[which] = product;
            }
        }
        for (which, sum) in sums.iter().enumerate() {
            let bits = self
                .text
                .make(&format!("bitcast <32 x float> {sum} to <32 x i32>"));
            let d = narrow(of.d[which]);
            self.set(d, &bits);
        }
        Ok(())
    }

    /// A register of a matrix as singles.
    fn single(&mut self, reg: Reg, scalar: Scalar) -> String {
        let bits = match scalar {
            Scalar::F32 => self.raw_operand(reg, Shape::Lanes),
            _ => self.lanes(reg),
        };
        let text = &mut self.text;
        let shape = Shape::Lanes;
        Arithmetic { text, shape }.widen(&bits, scalar)
    }
}

/// The product of matrices that an operation is, if it has code of its own.
pub(super) fn product_here(program: &Program, index: u32) -> Option<Product> {
    let Some(MatrixOp::Product { index }) = program.matrices.get(index as usize) else {
        return None;
    };
    let of = *program.products.get(*index as usize)?;
    let single = |(_, scalar)| scalar == Scalar::F32;
    (of.d_type == Scalar::F32 && of.c.is_none_or(single)).then_some(of)
}

/// Loads and stores of short numbers lane by lane: the CPU has no vector instruction for them.
fn helper(text: &mut String, ty: &str) {
    let _ = write!(
        text,
        "define internal <32 x {ty}> @gather_{ty}(<32 x ptr> %p, i32 %mask) #1 {{
entry:
  %places = alloca <32 x ptr>, align 64
  %result = alloca <32 x {ty}>, align 64
  store <32 x ptr> %p, ptr %places
  store <32 x {ty}> zeroinitializer, ptr %result
  br label %loop
loop:
  %left = phi i32 [ %mask, %entry ], [ %rest, %one ]
  %more = icmp ne i32 %left, 0
  br i1 %more, label %one, label %end
one:
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %less = sub i32 %left, 1
  %rest = and i32 %left, %less
  %at = getelementptr ptr, ptr %places, i32 %lane
  %place = load ptr, ptr %at
  %number = load {ty}, ptr %place, align 1
  %to = getelementptr {ty}, ptr %result, i32 %lane
  store {ty} %number, ptr %to
  br label %loop
end:
  %all = load <32 x {ty}>, ptr %result
  ret <32 x {ty}> %all
}}
define internal void @scatter_{ty}(<32 x {ty}> %numbers, <32 x ptr> %p, i32 %mask) #1 {{
entry:
  %places = alloca <32 x ptr>, align 64
  %given = alloca <32 x {ty}>, align 64
  store <32 x ptr> %p, ptr %places
  store <32 x {ty}> %numbers, ptr %given
  br label %loop
loop:
  %left = phi i32 [ %mask, %entry ], [ %rest, %one ]
  %more = icmp ne i32 %left, 0
  br i1 %more, label %one, label %end
one:
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %less = sub i32 %left, 1
  %rest = and i32 %left, %less
  %at = getelementptr ptr, ptr %places, i32 %lane
  %place = load ptr, ptr %at
  %from = getelementptr {ty}, ptr %given, i32 %lane
  %number = load {ty}, ptr %from
  store {ty} %number, ptr %place, align 1
  br label %loop
end:
  ret void
}}
"
    );
}
