//! Merges accesses of neighbouring elements into vectors of two or four.
//!
//! ## What it does
//! Loads of a block that read neighbouring elements become one load of a vector, and likewise stores. Where neighbours
//! are guarded one by one (the end of a grid after `coarsen:x=4,block`), a version of the program is made for the case
//! that all are inside; the guarded one stays for the rest.
//!
//! ## When it applies
//! To loads and stores of 8 to 32 bits whose addresses differ by constants. Vectors are read at the alignment of their
//! elements (`packed_float4`), so that nothing need be known about buffers.
//!
//! ## When it hurts
//! Hardly; four elements take four registers at once. It pays where the number of memory instructions is the limit.
//!
//! ## Example
//! `vectorize` after `coarsen:x=4,block` on an element-wise kernel: one load and one store of four floats per thread.
//!
//! The result is bit-identical.

use super::address_sum::Sum;
use super::{Applied, Candidate, Class, Recipe, Refusal, RefusalKind, Step, copy, jam};
use assay_ssa::analysis::{Cfg, Dominators};
use assay_ssa::{
    Access, BinaryOp, Block, Builder, Flags, Function, Inst, InstData, IntCond, Space, Type,
    TypeKind, Value,
};
use std::collections::{BTreeMap, HashMap, HashSet};

pub(super) const RECIPE: Recipe = Recipe {
    id: "vectorize",
    class: Class::Exact,
    usage: "",
    parameters: &[],
    file: include_str!("vectorize.rs"),
    apply,
    propose,
};

/// Programs longer than this are not made twice as long.
const MOST_INSTRUCTIONS: usize = 4000;
/// Guards that are versioned one inside the other: the end of the grid and the kernel's own.
const MOST_VERSIONS: usize = 2;

fn apply(candidate: &Candidate, _: &Step) -> Result<Applied, Refusal> {
    let mut function = candidate.function()?.clone();
    let size: usize = function
        .blocks()
        .iter()
        .map(|&b| function.insts(b).len())
        .sum();
    if size <= MOST_INSTRUCTIONS {
        for _ in 0..MOST_VERSIONS {
            if !version(&mut function) {
                break;
            }
            jam::tidy(&candidate.module, &mut function);
        }
    }
    let mut merged = 0;
    for block in function.blocks().to_vec() {
        merged += merge_loads(&mut function, block);
        merged += merge_stores(&mut function, block);
    }
    if merged == 0 {
        let why = "no two accesses of a block are neighbours";
        return Err(Refusal::new(RefusalKind::NothingToDo, why));
    }
    jam::tidy(&candidate.module, &mut function);
    Ok(Applied {
        candidate: candidate.with(function, candidate.geometry.clone())?,
        class: Class::Exact,
    })
}

fn propose(_: &Candidate) -> Vec<Step> {
    Step::new(RECIPE.id, &[]).into_iter().collect()
}

/// `start + 1 < bound`, `start + 2 < bound`, …: if the last holds, all do.
struct Family {
    all: Vec<Value>,
    last: Value,
}

/// Makes a version of what follows guards in which all neighbours are inside. Returns false if there are no such guards.
fn version(function: &mut Function) -> bool {
    let blocks = function.blocks().to_vec();
    let found = blocks
        .iter()
        .find_map(|&block| Some((block, family(function, block)?)));
    let Some((block, family)) = found else {
        return false;
    };
    let cfg = Cfg::new(function);
    let dominators = Dominators::new(&cfg, function);
    let mut behind: Vec<Block> = blocks
        .iter()
        .copied()
        .filter(|&other| other != block && dominators.dominates(block, other))
        .collect();
    // What the conditions are made of stays; everything behind the last of them is there twice.
    let insts = function.take_insts(block);
    let made = |inst: &Inst| {
        let result = function.result(*inst);
        result.is_some_and(|value| family.all.contains(&value))
    };
    let cut = insts
        .iter()
        .rposition(made)
        .map_or(insts.len(), |at| at + 1);
    let general = function.add_block();
    function.set_insts(general, insts[cut..].to_vec());
    function.set_insts(block, insts[..cut].to_vec());
    behind.insert(0, general);
    let copied = copy::blocks(function, &behind);
    let yes = function.bool(true);
    for &copy in &copied.blocks {
        for inst in function.insts(copy).to_vec() {
            function.map_operands(inst, |value| {
                if family.all.contains(&value) {
                    yes
                } else {
                    value
                }
            });
        }
    }
    let special = copied.blocks.first().copied().unwrap_or(general);
    let then = function.block_call(special, &[]);
    let otherwise = function.block_call(general, &[]);
    let branch = InstData::Branch {
        cond: family.last,
        then,
        otherwise,
    };
    let branch = function.make_inst(branch, Type::VOID, None);
    function.append(block, branch);
    true
}

/// The guards of a block that compare neighbours of one value with one bound.
fn family(function: &Function, block: Block) -> Option<Family> {
    let mut families: BTreeMap<(Value, Value), Vec<(i64, Value)>> = BTreeMap::new();
    for &inst in function.insts(block) {
        let &InstData::IntCompare {
            cond: IntCond::Ult,
            args: [a, bound],
            ..
        } = function.inst(inst)
        else {
            continue;
        };
        let (start, place) = neighbour(function, a);
        if let Some(cond) = function.result(inst) {
            families
                .entry((start, bound))
                .or_default()
                .push((place, cond));
        }
    }
    let tested = match function.terminator(block).map(|last| *function.inst(last)) {
        Some(InstData::Branch { cond, .. }) => Some(cond),
        _ => None,
    };
    let mut found = families.into_values().filter_map(|found| {
        let (place, last) = *found.iter().max_by_key(|(place, _)| *place)?;
        let all: Vec<Value> = found.iter().map(|(_, cond)| *cond).collect();
        (place > 0 && tested != Some(last)).then_some(Family { all, last })
    });
    found.next()
}

/// A value as another with a constant added that does not wrap around.
fn neighbour(function: &Function, value: Value) -> (Value, i64) {
    if let Some(&InstData::Binary {
        op,
        args: [start, place],
        flags,
    }) = function.def_data(value)
    {
        let sum = match op {
            BinaryOp::Add => flags.has(Flags::NUW),
            BinaryOp::Or => flags.has(Flags::DISJOINT),
            _ => false,
        };
        let place = function.const_int(place);
        if let Some(place) = place.filter(|&place| sum && place > 0) {
            return (start, place);
        }
    }
    (value, 0)
}

/// An access that may become part of a vector.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Its place in the block.
    at: usize,
    inst: Inst,
    constant: i64,
    pointer: Value,
    access: Access,
}

/// Accesses of elements of one type to one place, by their constants.
type Groups = Vec<(Type, Vec<Part>)>;

/// The accesses of a block, grouped. `load` chooses between loads and stores.
fn groups(function: &Function, block: Block, load: bool) -> Groups {
    let mut order = Vec::new();
    let mut found: HashMap<_, Vec<Part>> = HashMap::new();
    for (at, &inst) in function.insts(block).iter().enumerate() {
        let (pointer, access, ty) = match *function.inst(inst) {
            InstData::Load { ptr, access } if load => (ptr, access, function.result_type(inst)),
            InstData::Store { ptr, value, access } if !load => (ptr, access, function.ty(value)),
            _ => continue,
        };
        let plain = !access.is_atomic() && !access.volatile;
        let shared = matches!(
            function.ty(pointer).space(),
            Some(Space::Device | Space::Threadgroup)
        );
        let scalar = match ty.kind() {
            TypeKind::Scalar(scalar) => matches!(scalar.bits(), 8 | 16 | 32),
            _ => false,
        };
        let Some(sum) = Sum::of(function, pointer).filter(|_| plain && shared && scalar) else {
            continue;
        };
        let key = (ty, sum.place());
        if !found.contains_key(&key) {
            order.push(key.clone());
        }
        found.entry(key).or_default().push(Part {
            at,
            inst,
            constant: sum.constant,
            pointer,
            access,
        });
    }
    let mut groups = Vec::new();
    for key in order {
        if let Some(parts) = found.remove(&key) {
            groups.push((key.0, parts));
        }
    }
    groups
}

/// Runs of four or two neighbours, lowest first.
fn runs(ty: Type, mut parts: Vec<Part>) -> Vec<Vec<Part>> {
    let bytes = i64::from(ty.element().map_or(4, |scalar| scalar.bytes()));
    parts.sort_by_key(|part| part.constant);
    parts.dedup_by_key(|part| part.constant);
    let mut runs = Vec::new();
    let mut left = parts.as_slice();
    while !left.is_empty() {
        let follows = |count: usize| {
            left.len() >= count
                && (1..count).all(|i| left[i].constant == left[0].constant + i as i64 * bytes)
        };
        let count = [4, 2]
            .into_iter()
            .find(|&count| follows(count))
            .unwrap_or(1);
        if count > 1 {
            runs.push(left[..count].to_vec());
        }
        left = &left[count..];
    }
    runs
}

/// Returns true if nothing between two places of a block touches memory that an access might: for loads nothing that
/// writes, for stores nothing at all, but the parts themselves.
fn undisturbed(function: &Function, block: Block, run: &[Part], load: bool) -> bool {
    let places: Vec<usize> = run.iter().map(|part| part.at).collect();
    let (Some(&first), Some(&last)) = (places.iter().min(), places.iter().max()) else {
        return false;
    };
    let own: HashSet<Inst> = run.iter().map(|part| part.inst).collect();
    let insts = function.insts(block);
    insts[first..=last].iter().all(|inst| {
        if own.contains(inst) {
            return true;
        }
        let effects = function.effects(*inst);
        let apart = match *function.inst(*inst) {
            InstData::Load { access, .. } | InstData::Store { access, .. } => {
                let aliases = |part: &Part| function.may_alias(part.access.alias, access.alias);
                !access.is_atomic() && !run.iter().any(aliases)
            }
            _ => false,
        };
        let touches = effects.writes || effects.convergent || (!load && effects.reads);
        apart || !touches
    })
}

fn vector_access(ty: Type, part: &Part) -> Access {
    Access {
        align_log2: part.access.align_log2.min(
            ty.element()
                .map_or(0, |scalar| scalar.bytes().ilog2() as u8),
        ),
        ..part.access
    }
}

/// Merges loads of neighbours; returns how many vectors were made.
fn merge_loads(function: &mut Function, block: Block) -> usize {
    let mut made = 0;
    // Every merge moves places: look again after each.
    while let Some((ty, run)) = run_of(function, block, true) {
        load_vector(function, block, ty, &run);
        made += 1;
    }
    made
}

/// The first run of neighbours that can be merged. A vector is read where its first part was, whose address must be the
/// lowest.
fn run_of(function: &Function, block: Block, load: bool) -> Option<(Type, Vec<Part>)> {
    for (ty, parts) in groups(function, block, load) {
        let found = runs(ty, parts).into_iter().find(|run| {
            let first = run.iter().map(|part| part.at).min();
            let there = !load || first == Some(run[0].at);
            there && undisturbed(function, block, run, load)
        });
        if let Some(run) = found {
            return Some((ty, run));
        }
    }
    None
}

/// Puts a load of a vector in the place of its first part.
fn load_vector(function: &mut Function, block: Block, ty: Type, run: &[Part]) {
    let Some(scalar) = ty.element() else {
        return;
    };
    let vector = Type::vector(scalar, run.len() as u8);
    let access = vector_access(ty, &run[0]);
    let loc = function.loc(run[0].inst);
    let data = InstData::Load {
        ptr: run[0].pointer,
        access,
    };
    let load = function.make_inst(data, vector, loc);
    let Some(whole) = function.result(load) else {
        return;
    };
    for (lane, part) in run.iter().enumerate() {
        let index = function.i32(lane as i32);
        // The part's own instruction becomes the choice of its element: its result keeps its id.
        *function.inst_mut(part.inst) = InstData::Extract {
            vector: whole,
            index,
        };
    }
    // Two instructions in one place: the load goes right before the first part.
    let place = function
        .insts(block)
        .iter()
        .position(|&inst| inst == run[0].inst);
    if let Some(place) = place {
        function.insert_at(block, place, load);
    }
}

/// Merges stores of neighbours; returns how many vectors were made.
fn merge_stores(function: &mut Function, block: Block) -> usize {
    let mut made = 0;
    // Every merge moves places: look again after each.
    while let Some((ty, run)) = run_of(function, block, false) {
        store_vector(function, block, ty, &run);
        made += 1;
    }
    made
}

/// Puts a store of a vector in the place of its last part.
fn store_vector(function: &mut Function, block: Block, ty: Type, run: &[Part]) {
    let Some(scalar) = ty.element() else {
        return;
    };
    let vector = Type::vector(scalar, run.len() as u8);
    let last = run.iter().map(|part| part.at).max().unwrap_or(0);
    let values: Vec<Value> = run
        .iter()
        .filter_map(|part| match *function.inst(part.inst) {
            InstData::Store { value, .. } => Some(value),
            _ => None,
        })
        .collect();
    let access = vector_access(ty, &run[0]);
    let own: HashSet<Inst> = run.iter().map(|part| part.inst).collect();
    let insts = function.take_insts(block);
    for (at, inst) in insts.into_iter().enumerate() {
        if at == last {
            let mut builder = Builder::new(function);
            builder.switch_to(block);
            let whole = builder.construct(vector, &values);
            builder.store(run[0].pointer, whole, access);
        }
        if !own.contains(&inst) {
            function.append(block, inst);
        }
    }
}
