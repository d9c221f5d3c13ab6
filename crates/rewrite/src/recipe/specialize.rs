//! Makes a version of the kernel for one value of a number among its arguments.
//!
//! ## What it does
//! Where the number has that value, a copy of the program runs in which it is a constant: products with it are folded,
//! loops that it bounds have a known number of rounds and short ones are unrolled. For all other values the program stays
//! as it was.
//!
//! ## When it applies
//! To 32-bit whole numbers that the kernel reads from constant memory and that bound a loop.
//!
//! ## When it hurts
//! The code is twice as long; registers are those of the version that needs more. It pays where a short loop's bound is
//! an argument: unrolled, its loads are issued together.
//!
//! ## Example
//! `specialize:buffer=5,value=16` makes a version for `K` = 16 of a product whose inner loop has 16 rounds.
//!
//! The result is bit-identical.

use super::geometry::plain_number;
use super::{Applied, Candidate, Class, Parameter, Recipe, Refusal, RefusalKind, Step, copy, jam};
use assay_ssa::analysis::{Cfg, Dominators, Loops, Trips};
use assay_ssa::{
    Access, Binding, Block, Builder, Flags, Function, Inst, InstData, IntCond, Kernel, LoopHint,
    Space, Type, Value, ValueDef,
};

pub(super) const RECIPE: Recipe = Recipe {
    id: "specialize",
    class: Class::Exact,
    usage: "buffer=INDEX,value=NUMBER[,offset=BYTES]",
    parameters: &[
        Parameter::Number("buffer"),
        Parameter::Number("offset"),
        Parameter::Number("value"),
    ],
    file: include_str!("specialize.rs"),
    apply,
    propose,
};

/// Loops of the special version with at most so many rounds, and instructions once unrolled, are unrolled.
const MOST_ROUNDS: u64 = 64;
const MOST_UNROLLED: u64 = 2000;

/// Programs longer than this are not made twice as long.
const MOST_INSTRUCTIONS: usize = 4000;

fn apply(candidate: &Candidate, step: &Step) -> Result<Applied, Refusal> {
    let refuse = |kind, why: &str| Err(Refusal::new(kind, why));
    let (Some(buffer), Some(value)) = (step.number("buffer"), step.number("value")) else {
        return refuse(
            RefusalKind::Parameter,
            "name a buffer and a value, as in specialize:buffer=5,value=16",
        );
    };
    let offset = step.number("offset").unwrap_or(0);
    let kernel = candidate.declaration()?;
    let source = candidate.function()?;
    let size: usize = source.blocks().iter().map(|&b| source.insts(b).len()).sum();
    if size > MOST_INSTRUCTIONS {
        return refuse(
            RefusalKind::Limit,
            "the program is too long to have it twice",
        );
    }
    let Some(pointer) = argument(kernel, source, buffer, offset) else {
        return refuse(
            RefusalKind::Parameter,
            "no argument of constant memory has a number there",
        );
    };
    let places = Places {
        source,
        pointer,
        offset,
    };
    if !places.read().iter().any(|&load| places.guarded_loops(load)) {
        return refuse(RefusalKind::NothingToDo, "the number bounds no loop");
    }
    if places.is_compared_with(value) {
        return refuse(
            RefusalKind::NothingToDo,
            "the program has a version for this value already",
        );
    }
    let mut function = source.clone();
    version(&mut function, &places, value)?;
    jam::tidy(&candidate.module, &mut function);
    hint(&mut function);
    Ok(Applied {
        candidate: candidate.with(function, candidate.geometry.clone())?,
        class: Class::Exact,
    })
}

/// The pointer of an argument in constant memory.
fn argument(kernel: &Kernel, function: &Function, buffer: u32, offset: u32) -> Option<Value> {
    let argument = kernel.arguments.iter().find(|argument| {
        let size = argument.buffer_size.unwrap_or(0);
        argument.binding == Binding::Buffer(buffer)
            && argument.space == Some(Space::Constant)
            && size >= offset.saturating_add(4)
    })?;
    let params = function.params(function.entry()?);
    params.get(argument.param? as usize).copied()
}

/// A number in constant memory.
struct Places<'f> {
    source: &'f Function,
    pointer: Value,
    offset: u32,
}

impl Places<'_> {
    /// Returns true if an instruction reads the number.
    fn is_read(&self, inst: Inst) -> bool {
        let InstData::Load { ptr, .. } = *self.source.inst(inst) else {
            return false;
        };
        let here = match self.source.def_data(ptr) {
            Some(&InstData::PtrAdd {
                base,
                index: None,
                offset,
                ..
            }) => base == self.pointer && offset == i64::from(self.offset),
            _ => ptr == self.pointer && self.offset == 0,
        };
        here && self.source.result_type(inst) == Type::I32
    }

    fn read(&self) -> Vec<Value> {
        let blocks = self.source.blocks().iter();
        let insts = blocks.flat_map(|&block| self.source.insts(block));
        let read = insts.filter(|&&inst| self.is_read(inst));
        read.filter_map(|&inst| self.source.result(inst)).collect()
    }

    /// Returns true if a value bounds a loop, by itself or with something added.
    fn guarded_loops(&self, number: Value) -> bool {
        let cfg = Cfg::new(self.source);
        let dominators = Dominators::new(&cfg, self.source);
        let loops = Loops::new(&cfg, &dominators, self.source);
        loops.iter().any(|(id, _)| {
            let trips = Trips::new(self.source, &loops, &dominators, id);
            trips
                .tests
                .iter()
                .any(|test| test.count.is_none() && self.is_made_of(test.bound, number, 8))
        })
    }

    /// Returns true if a value is computed of a number and constants alone.
    fn is_made_of(&self, value: Value, number: Value, depth: u32) -> bool {
        if value == number {
            return true;
        }
        match self.source.def(value) {
            ValueDef::Const(_) => true,
            ValueDef::Result(inst) if depth > 0 => match *self.source.inst(inst) {
                InstData::Binary { args, .. } => args
                    .iter()
                    .all(|&arg| self.is_made_of(arg, number, depth - 1)),
                InstData::Cast { arg, .. } => self.is_made_of(arg, number, depth - 1),
                _ => false,
            },
            _ => false,
        }
    }

    /// Returns true if a branch asks whether the number has a value.
    fn is_compared_with(&self, value: u32) -> bool {
        let read = self.read();
        let blocks = self.source.blocks().iter();
        let mut insts = blocks.flat_map(|&block| self.source.insts(block));
        insts.any(|&inst| match *self.source.inst(inst) {
            InstData::IntCompare {
                cond: IntCond::Eq,
                args: [a, b],
                ..
            } => read.contains(&a) && self.source.const_bits(b) == Some(u64::from(value)),
            _ => false,
        })
    }
}

/// Puts a copy of the program beside it, in which the number is a constant.
fn version(function: &mut Function, places: &Places<'_>, value: u32) -> Result<(), Refusal> {
    let malformed = || Refusal::new(RefusalKind::Program, "the function has no entry");
    let entry = function.entry().ok_or_else(malformed)?;
    let general = function.add_block();
    // What the two versions share stays: parameters, and arrays of the thread.
    let (arrays, rest): (Vec<Inst>, Vec<Inst>) = function
        .take_insts(entry)
        .into_iter()
        .partition(|&inst| matches!(function.inst(inst), InstData::Alloca { .. }));
    function.set_insts(entry, arrays);
    function.set_insts(general, rest);
    let mut blocks: Vec<Block> = function.blocks().to_vec();
    blocks.retain(|&block| block != entry && block != general);
    blocks.insert(0, general);
    let copied = copy::blocks(function, &blocks);
    let constant = function.constant(Type::I32, u64::from(value));
    for load in places.read() {
        let copy = copied.value(load);
        function_replace(function, &copied.blocks, copy, constant);
    }
    let mut builder = Builder::new(function);
    builder.switch_to(entry);
    let place = match places.offset {
        0 => places.pointer,
        offset => builder.ptr_add(places.pointer, None, 1, i64::from(offset), Flags::INBOUNDS),
    };
    let number = builder.load(Type::I32, place, Access::aligned(4));
    let special = builder.icmp(IntCond::Eq, number, constant);
    let special_block = copied.blocks.first().copied().ok_or_else(malformed)?;
    let then = function.block_call(special_block, &[]);
    let otherwise = function.block_call(general, &[]);
    let branch = InstData::Branch {
        cond: special,
        then,
        otherwise,
    };
    let branch = function.make_inst(branch, Type::VOID, None);
    function.append(entry, branch);
    let order = [entry].into_iter().chain(copied.blocks).chain(blocks);
    let order = order.collect();
    function.set_block_order(order);
    Ok(())
}

fn function_replace(function: &mut Function, blocks: &[Block], old: Value, new: Value) {
    for &block in blocks {
        for inst in function.insts(block).to_vec() {
            function.map_operands(inst, |value| if value == old { new } else { value });
        }
    }
}

/// Asks for the unrolling of short loops with a known number of rounds.
fn hint(function: &mut Function) {
    let cfg = Cfg::new(function);
    let dominators = Dominators::new(&cfg, function);
    let loops = Loops::new(&cfg, &dominators, function);
    let mut short = Vec::new();
    for (id, found) in loops.iter() {
        let Some(rounds) = Trips::new(function, &loops, &dominators, id).exact else {
            continue;
        };
        let size: usize = found.blocks.iter().map(|&b| function.insts(b).len()).sum();
        let unrolled = rounds.saturating_add(1).saturating_mul(size as u64);
        let plain = function.block(found.header).loop_hint == LoopHint::None;
        if plain && rounds < MOST_ROUNDS && unrolled <= MOST_UNROLLED {
            short.push(found.header);
        }
    }
    for header in short {
        function.set_loop_hint(header, LoopHint::UnrollFull);
    }
}

fn propose(candidate: &Candidate) -> Vec<Step> {
    let geometry = &candidate.geometry;
    let steps = geometry.numbers.iter().filter_map(|number| {
        let value =
            plain_number(&number.value).or_else(|| number.value.integer(&geometry.sizes).ok())?;
        let value = u32::try_from(value).ok()?;
        let mut given = vec![("buffer", number.buffer), ("value", value)];
        if number.offset > 0 {
            given.push(("offset", number.offset));
        }
        Step::new(RECIPE.id, &given)
    });
    steps.collect()
}
