//! Starts a fixed number of threadgroups, each of which does the work of many.
//!
//! ## What it does
//! Puts the whole program into a loop along x: a thread (or, where threads of a threadgroup work together, a threadgroup)
//! does its own part of the grid, then the one a dispatch further, until the grid is done. Threadgroup memory is used
//! again behind a barrier.
//!
//! ## When it applies
//! To every kernel of independent threads, and to others if their grid is made of whole threadgroups along x. The extent
//! of the original grid is read from the argument that holds it, or from a new one.
//!
//! ## When it hurts
//! Where the parts of the grid take different times, threads that are done early wait. It pays where starting threads is
//! most of the work: very large grids of very short threads.
//!
//! ## Example
//! `persistent:groups=64` starts 64 threadgroups along x, eight for each core of an M1.
//!
//! The result is bit-identical.

use super::edit::{branch, jump, system};
use super::geometry::{minimum, plain_number, product};
use super::{
    Applied, Candidate, Class, Geometry, Parameter, Recipe, Refusal, RefusalKind, Step, arguments,
    independent, jam, positions,
};
use assay_launch::Formula;
use assay_launch::template::Grid;
use assay_ssa::{
    BarrierMemory, BinaryOp, Block, Builder, Builtin, Flags, Function, IdMap, Inst, InstData,
    IntCond, Kernel, Space, Type, Value,
};

pub(super) const RECIPE: Recipe = Recipe {
    id: "persistent",
    class: Class::Exact,
    usage: "groups=GROUPS",
    parameters: &[Parameter::Number("groups")],
    file: include_str!("persistent.rs"),
    apply,
    propose,
};

/// What the loop goes along: positions of threads or of threadgroups.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Threads,
    Groups,
}

fn apply(candidate: &Candidate, step: &Step) -> Result<Applied, Refusal> {
    let refuse = |kind, why: &str| Err(Refusal::new(kind, why));
    let groups = step.number("groups").unwrap_or(64);
    if groups == 0 {
        return refuse(RefusalKind::Parameter, "at least one threadgroup is needed");
    }
    let (function, unit) = match independent::threads(candidate) {
        Ok(function) => (function, Unit::Threads),
        Err(_) => (candidate.function()?.clone(), Unit::Groups),
    };
    if positions::used_as_vector(&function) {
        return refuse(RefusalKind::Positions, "a position is used as a vector");
    }
    float_atomics(&function)?;
    let mut made = candidate.clone();
    let wanted = Formula::number(u64::from(groups));
    let (extent, most) = match unit {
        Unit::Threads => {
            let extent = candidate.geometry.grid_threads()[0].clone();
            (extent, product(&wanted, &candidate.geometry.threadgroup[0]))
        }
        Unit::Groups => (whole_groups(&candidate.geometry)?, wanted),
    };
    if plain_number(&extent)
        .zip(plain_number(&most))
        .is_some_and(|(extent, most)| extent <= most)
    {
        return refuse(
            RefusalKind::NothingToDo,
            "the grid has no more threadgroups than that",
        );
    }
    let mut kernel = candidate.declaration()?.clone();
    let function = looped(function, &mut kernel, &mut made.geometry, &extent, unit)?;
    let start = minimum(&extent, &most);
    made.geometry.grid = match (unit, &candidate.geometry.grid) {
        (Unit::Threads, _) => {
            let [_, y, z] = candidate.geometry.grid_threads();
            Grid::Threads([start, y, z])
        }
        (Unit::Groups, Grid::Groups([_, y, z])) => Grid::Groups([start, y.clone(), z.clone()]),
        (Unit::Groups, Grid::Threads([_, y, z])) => {
            let x = product(&start, &candidate.geometry.threadgroup[0]);
            Grid::Threads([x, y.clone(), z.clone()])
        }
    };
    let mut function = function;
    jam::tidy(&candidate.module, &mut function);
    made.replace(kernel, function)?;
    Ok(Applied {
        candidate: made,
        class: Class::Exact,
    })
}

/// Threadgroups along x, if all have the same number of threads.
fn whole_groups(geometry: &Geometry) -> Result<Formula, Refusal> {
    match &geometry.grid {
        Grid::Groups([x, ..]) => Ok(x.clone()),
        Grid::Threads([x, ..]) => {
            let numbers = plain_number(x).zip(plain_number(&geometry.threadgroup[0]));
            let whole = numbers.filter(|(all, group)| *group > 0 && all % group == 0);
            let whole = whole.map(|(all, group)| Formula::number(all / group));
            whole.ok_or_else(|| {
                let why = "threads work together, and the grid may end within a threadgroup";
                Refusal::new(RefusalKind::Geometry, why)
            })
        }
    }
}

fn float_atomics(function: &Function) -> Result<(), Refusal> {
    let mut insts = function.all_insts();
    let float = insts
        .any(|inst| matches!(function.inst(inst), InstData::AtomicRmw { op, .. } if op.is_float()));
    if float {
        let why = "floats are added atomically, in an order that would change";
        return Err(Refusal::new(RefusalKind::Atomics, why));
    }
    Ok(())
}

/// The program inside the loop.
fn looped(
    mut function: Function,
    kernel: &mut Kernel,
    geometry: &mut Geometry,
    extent: &Formula,
    unit: Unit,
) -> Result<Function, Refusal> {
    let malformed = || Refusal::new(RefusalKind::Program, "the function has no entry");
    let entry = function.entry().ok_or_else(malformed)?;
    let shared = uses_threadgroup_memory(kernel, &function);
    // Arrays of the thread stay at the start; everything else goes into the loop.
    let (arrays, rest): (Vec<Inst>, Vec<Inst>) = function
        .take_insts(entry)
        .into_iter()
        .partition(|&inst| matches!(function.inst(inst), InstData::Alloca { .. }));
    function.set_insts(entry, arrays);
    let end = arguments::number(&mut function, kernel, geometry, extent, "grid_x")?;
    let (own, all) = match unit {
        Unit::Threads => (Builtin::ThreadPositionInGrid, Builtin::ThreadsPerGrid),
        Unit::Groups => (
            Builtin::ThreadgroupPositionInGrid,
            Builtin::ThreadgroupsPerGrid,
        ),
    };
    let first = system(&mut function, entry, own);
    let step = system(&mut function, entry, all);
    let [header, body, latch, after] = [(); 4].map(|()| function.add_block());
    let place = function.add_param(header, Type::I32);
    jump(&mut function, entry, header, &[first]);
    let mut builder = Builder::new(&mut function);
    builder.switch_to(header);
    let more = builder.icmp(IntCond::Ult, place, end);
    branch(&mut function, header, more, body, after);
    function.set_insts(body, rest);
    replace(&mut function, entry, body, place, end, unit);
    for block in function.blocks().to_vec() {
        if let Some(terminator) = function.terminator(block)
            && matches!(function.inst(terminator), InstData::Return { .. })
        {
            let target = function.block_call(latch, &[]);
            *function.inst_mut(terminator) = InstData::Jump { target };
        }
    }
    let mut builder = Builder::new(&mut function);
    builder.switch_to(latch);
    if shared {
        let memory = builder.i32(BarrierMemory::THREADGROUP as i32);
        let scope = builder.i32(1);
        builder.builtin(
            Builtin::ThreadgroupBarrier.call(),
            &[memory, scope],
            Type::VOID,
        );
    }
    let next = builder.binary(BinaryOp::Add, place, step, Flags::NONE);
    jump(&mut function, latch, header, &[next]);
    let end = function.make_inst(InstData::Return { value: None }, Type::VOID, None);
    function.append(after, end);
    Ok(function)
}

/// Gives the program its position in the loop, and the extents of the original grid.
fn replace(
    function: &mut Function,
    entry: Block,
    body: Block,
    place: Value,
    end: Value,
    unit: Unit,
) {
    let mut found = Vec::new();
    for &block in function.blocks() {
        for &inst in function.insts(block) {
            if let Some(value) = function.result(inst).filter(|_| block != entry)
                && !matches!(function.inst(inst), InstData::Cast { .. })
                && let Some((builtin, 0)) = positions::position(function, value)
            {
                found.push((value, builtin));
            }
        }
    }
    let insts = function.take_insts(body);
    let mut replacement = IdMap::with_len(None, function.num_values());
    for (value, builtin) in found {
        let now = match (unit, builtin) {
            (Unit::Threads, Builtin::ThreadPositionInGrid)
            | (Unit::Groups, Builtin::ThreadgroupPositionInGrid) => place,
            (Unit::Threads, Builtin::ThreadsPerGrid | Builtin::GridSize)
            | (Unit::Groups, Builtin::ThreadgroupsPerGrid) => end,
            (Unit::Groups, Builtin::ThreadPositionInGrid) => {
                let threads = system(function, body, Builtin::DispatchThreadsPerThreadgroup);
                let own = system(function, body, Builtin::ThreadPositionInThreadgroup);
                let start = binary(function, body, BinaryOp::Mul, place, threads);
                binary(function, body, BinaryOp::Add, start, own)
            }
            (Unit::Groups, Builtin::ThreadsPerGrid | Builtin::GridSize) => {
                let threads = system(function, body, Builtin::DispatchThreadsPerThreadgroup);
                binary(function, body, BinaryOp::Mul, end, threads)
            }
            _ => continue,
        };
        let ty = function.ty(value);
        let now = positions::resized(function, body, now, ty);
        replacement.set(value, Some(now));
    }
    insts
        .into_iter()
        .for_each(|inst| function.append(body, inst));
    function.replace_values(&replacement);
}

fn uses_threadgroup_memory(kernel: &Kernel, function: &Function) -> bool {
    let argument = kernel
        .arguments
        .iter()
        .any(|argument| argument.space == Some(Space::Threadgroup));
    let mut insts = function.all_insts();
    argument
        || insts.any(|inst| {
            let mut found = false;
            function.for_each_operand(inst, |value| {
                found |= function.ty(value).space() == Some(Space::Threadgroup);
            });
            found
        })
}

fn binary(function: &mut Function, block: Block, op: BinaryOp, a: Value, b: Value) -> Value {
    let mut builder = Builder::new(function);
    builder.switch_to(block);
    builder.binary(op, a, b, Flags::NONE)
}

fn propose(candidate: &Candidate) -> Vec<Step> {
    let flat = plain_number(&candidate.geometry.grid_threads()[0]) == Some(1);
    let counts = [1, 32, 64, 128].into_iter().filter(|_| !flat);
    counts
        .filter_map(|groups| Step::new(RECIPE.id, &[("groups", groups)]))
        .collect()
}
