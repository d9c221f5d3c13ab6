//! Writes a program as LLVM's text: one function that runs a simdgroup.
//!
//! Registers are variables, of one number where all lanes follow from it, else of 32 lanes; the compiler makes values of
//! them. The mask of active lanes is a 32-bit number. Operations without code of their own are *cold*: their operands are written to
//! the interpreter's registers, the interpreter's function is called, the results are read back.
//!
//! With barriers and several simdgroups to a threadgroup the function is a coroutine that is suspended at barriers.

mod frame;
mod operation;

use crate::code::{Op, Program, Reg};
use crate::native::Source;
use crate::native::arithmetic::Arithmetic;
use crate::native::helpers::helper;
use crate::native::known::{Registers, lane_offsets};
use crate::native::meaning::Meaning;
use crate::native::memory::Root;
use crate::native::run::field;
use crate::native::text::{Shape, Text, vector};
use crate::operands::{Role, for_each_register};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;

/// Why there is no code for a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::native) struct Refused(pub(super) String);

/// Operations of the largest program that is compiled: clang's time grows with them.
const MOST_OPERATIONS: usize = 20_000;

/// The end of a coroutine, as clang has it from 22 on and as it had it before.
pub(in crate::native) const COROUTINE_END: &str = "call void @llvm.coro.end";
pub(in crate::native) const OLD_COROUTINE_END: &str = "call i1 @llvm.coro.end";

pub(in crate::native) struct Emitter<'a> {
    pub(in crate::native) source: &'a Source,
    pub(in crate::native) program: &'a Program,
    pub(in crate::native) known: &'a Registers,
    pub(in crate::native) text: Text,
    pub(in crate::native) roots: &'a HashMap<u32, Option<Root>>,
    /// Helper functions that are called, by the type of their cells.
    pub(in crate::native) helpers: BTreeSet<&'static str>,
    /// Slots of branches that all active lanes take the same way.
    pub(in crate::native) uniform_slots: HashSet<u32>,
    /// The function is a coroutine.
    pub(in crate::native) suspends: bool,
    threadgroup: [u32; 3],
    targets: HashSet<usize>,
    cold: BTreeSet<String>,
}

/// The text of a program's function.
pub(in crate::native) struct Emitted {
    pub(in crate::native) text: String,
    pub(in crate::native) suspends: bool,
    /// Operations that call the interpreter.
    pub(in crate::native) cold: BTreeSet<String>,
}

pub(in crate::native) fn emit(
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
                    && known.of(Reg::narrow(cond)).is_uniform()
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

    pub(in crate::native) fn shape(&self, reg: Reg) -> Shape {
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
    pub(in crate::native) fn get(&mut self, reg: Reg) -> String {
        if let Some(bits) = self.known.constant(reg) {
            return Shape::One.number(Self::bits(reg), bits);
        }
        let ty = self.shape(reg).of(&format!("i{}", Self::bits(reg)));
        self.text
            .make(&format!("load {ty}, ptr {}", Self::variable(reg)))
    }

    pub(in crate::native) fn set(&mut self, reg: Reg, value: &str) {
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
    pub(in crate::native) fn one(&mut self, reg: Reg) -> String {
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
    pub(in crate::native) fn first_active(&mut self, reg: Reg) -> String {
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
    pub(in crate::native) fn lanes(&mut self, reg: Reg) -> String {
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
    pub(in crate::native) fn operand(&mut self, reg: Reg, shape: Shape) -> String {
        match shape {
            Shape::One => self.one(reg),
            Shape::Lanes => self.lanes(reg),
        }
    }

    /// An operand as the CPU left it.
    pub(in crate::native) fn raw_operand(&mut self, reg: Reg, shape: Shape) -> String {
        let value = self.get(reg);
        match shape {
            Shape::One => self.first_of(reg, value),
            Shape::Lanes => self.spread(reg, value),
        }
    }

    // ---- masks ----

    /// The active lanes, as a number.
    pub(in crate::native) fn mask(&mut self) -> String {
        self.text.make("load i32, ptr %mask")
    }

    /// The active lanes, as truth values.
    pub(in crate::native) fn mask_lanes(&mut self) -> String {
        let mask = self.mask();
        self.text.make(&format!("bitcast i32 {mask} to <32 x i1>"))
    }

    pub(in crate::native) fn set_mask(&mut self, mask: &str) {
        self.text.line(&format!("store i32 {mask}, ptr %mask"));
    }

    /// The truth of a register in all lanes, as a number.
    pub(in crate::native) fn truths(&mut self, reg: Reg) -> String {
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

    // ---- operations ----

    /// Runs an operation by the interpreter's function.
    pub(in crate::native) fn cold(&mut self, position: usize) -> Result<(), Refused> {
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
}
