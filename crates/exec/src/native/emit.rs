//! Writes a program as LLVM's text: one function that runs a simdgroup.
//!
//! Registers are variables, of one number where all lanes follow from it, else of 32 lanes; the compiler makes values of
//! them. The mask of active lanes is a 32-bit number. Operations without code of their own are *cold*: their operands are written to
//! the interpreter's registers, the interpreter's function is called, the results are read back.
//!
//! With barriers and several simdgroups to a threadgroup the function is a coroutine that is suspended at barriers.

use super::Source;
use super::arithmetic::Arithmetic;
use super::helpers::helper;
use super::known::{Known, Registers, lane_offsets};
use super::meaning::Meaning;
use super::memory::Root;
use super::run::field;
use super::text::{Shape, Text, vector};
use crate::code::{Op, Program, Reg};
use crate::operands::{Role, for_each_register};
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
    pub(super) uniform_slots: HashSet<u32>,
    /// The function is a coroutine.
    pub(super) suspends: bool,
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
    pub(super) fn raw_operand(&mut self, reg: Reg, shape: Shape) -> String {
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

    pub(super) fn set_mask(&mut self, mask: &str) {
        self.text.line(&format!("store i32 {mask}, ptr %mask"));
    }

    /// The truth of a register in all lanes, as a number.
    pub(super) fn truths(&mut self, reg: Reg) -> String {
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
}
