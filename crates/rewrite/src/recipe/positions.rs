//! Which positions and sizes of the grid a kernel reads, axis by axis.

use super::Geometry;
use super::geometry::plain_number;
use assay_launch::template::Grid;
use assay_ssa::builtin::Family;
use assay_ssa::{
    BinaryOp, Block, Builder, Builtin, Callee, CastOp, Flags, Function, IdMap, Inst, InstData,
    Scalar, Type, TypeKind, Value,
};
use std::collections::BTreeSet;

/// The builtin that a value reads, and along which axis.
pub(super) fn position(function: &Function, value: Value) -> Option<(Builtin, usize)> {
    match *function.def_data(value)? {
        InstData::Call {
            callee: Callee::Builtin(call),
            ..
        } if call.info().family == Family::Position => {
            let scalar = matches!(function.ty(value).kind(), TypeKind::Scalar(_));
            scalar.then_some((call.builtin, 0))
        }
        InstData::Extract { vector, index } => {
            let axis = usize::try_from(function.const_int(index)?).ok()?;
            match function.def_data(vector)? {
                InstData::Call {
                    callee: Callee::Builtin(call),
                    ..
                } if call.info().family == Family::Position => Some((call.builtin, axis)),
                _ => None,
            }
        }
        // Positions in a threadgroup and its sizes fit into 16 bits; others lose something there.
        InstData::Cast {
            op: CastOp::ZExt,
            arg,
            ..
        } => position(function, arg).filter(|(builtin, _)| {
            let small = matches!(
                builtin,
                Builtin::ThreadPositionInThreadgroup
                    | Builtin::ThreadsPerThreadgroup
                    | Builtin::DispatchThreadsPerThreadgroup
            );
            small || function.ty(arg).element() == Some(Scalar::I32)
        }),
        _ => None,
    }
}

/// The positions and sizes a kernel reads, each with its axis. A vector that is used as a whole counts for all its axes.
pub(super) fn read(function: &Function) -> BTreeSet<(Builtin, usize)> {
    let mut found = BTreeSet::new();
    let uses = function.use_counts();
    for &block in function.blocks() {
        for &inst in function.insts(block) {
            let Some(value) = function.result(inst).filter(|&value| uses[value] > 0) else {
                continue;
            };
            if let InstData::Extract { .. } = function.inst(inst) {
                found.extend(position(function, value));
                continue;
            }
            let InstData::Call {
                callee: Callee::Builtin(call),
                ..
            } = function.inst(inst)
            else {
                continue;
            };
            if call.info().family != Family::Position {
                continue;
            }
            let lanes = usize::from(function.ty(value).lanes().max(1));
            if lanes == 1 {
                found.insert((call.builtin, 0));
                continue;
            }
            if !only_extracted(function, value) {
                found.extend((0..lanes).map(|axis| (call.builtin, axis)));
            }
        }
    }
    found
}

fn only_extracted(function: &Function, vector: Value) -> bool {
    let mut insts = function.all_insts();
    insts.all(|inst| {
        let mut used = false;
        function.for_each_operand(inst, |operand| used |= operand == vector);
        match *function.inst(inst) {
            InstData::Extract { index, .. } => !used || function.const_int(index).is_some(),
            _ => !used,
        }
    })
}

/// Writes `threadgroup_position * threads_per_threadgroup + thread_position` as the position in the grid, also where the
/// size of a threadgroup is a number that the geometry says it has.
pub(super) fn combine(function: &mut Function, geometry: &Geometry) {
    let shape = Shape::of(geometry);
    let mut found: Vec<(Inst, usize)> = Vec::new();
    for &block in function.blocks() {
        for &inst in function.insts(block) {
            if let Some(axis) = grid_position(function, inst, &shape) {
                found.push((inst, axis));
            }
        }
    }
    let Some(entry) = function.entry().filter(|_| !found.is_empty()) else {
        return;
    };
    let mut replacement = IdMap::with_len(None, function.num_values());
    for (inst, axis) in found {
        let position = read_axis(function, entry, Builtin::ThreadPositionInGrid, axis);
        if let Some(old) = function.result(inst) {
            replacement.set(old, Some(position));
        }
    }
    function.replace_values(&replacement);
}

/// A position or size along an axis, read at the start of a block.
pub(super) fn read_axis(
    function: &mut Function,
    block: Block,
    builtin: Builtin,
    axis: usize,
) -> Value {
    let insts = function.take_insts(block);
    let mut builder = Builder::new(function);
    builder.switch_to(block);
    let vector = Type::vector(Scalar::I32, 3);
    let zero = builder.function().zero(vector);
    let call = builder.builtin(builtin.call(), &[], vector);
    let value = builder.extract_lane(call.unwrap_or(zero), axis as u32);
    insts
        .into_iter()
        .for_each(|inst| function.append(block, inst));
    value
}

/// [`read_axis`] as a number of another width.
pub(super) fn read_axis_as(
    function: &mut Function,
    block: Block,
    builtin: Builtin,
    axis: usize,
    ty: Type,
) -> Value {
    let insts = function.take_insts(block);
    let number = read_axis(function, block, builtin, axis);
    let number = resized(function, block, number, ty);
    insts
        .into_iter()
        .for_each(|inst| function.append(block, inst));
    number
}

/// A position as wide as the program reads it.
pub(super) fn resized(function: &mut Function, block: Block, number: Value, ty: Type) -> Value {
    let mut builder = Builder::new(function);
    builder.switch_to(block);
    match ty.element() {
        Some(Scalar::I8 | Scalar::I16) => builder.cast(CastOp::Trunc, number, ty, Flags::NONE),
        Some(Scalar::I64) => builder.cast(CastOp::ZExt, number, ty, Flags::NONE),
        _ => number,
    }
}

/// Returns true if a position or size of several axes is used other than axis by axis.
pub(super) fn used_as_vector(function: &Function) -> bool {
    let mut insts = function.all_insts();
    insts.any(|inst| {
        let Some(value) = function.result(inst) else {
            return false;
        };
        let is_position = matches!(function.inst(inst), InstData::Call {
            callee: Callee::Builtin(call), ..
        } if call.info().family == Family::Position);
        is_position && function.ty(value).lanes() > 1 && !only_extracted(function, value)
    })
}

/// What is known of the threadgroups of a grid.
struct Shape {
    plain: Option<[u32; 3]>,
    /// Along which axes all threadgroups have the same number of threads.
    whole: [bool; 3],
}

impl Shape {
    fn of(geometry: &Geometry) -> Shape {
        let whole = |axis: usize| match &geometry.grid {
            Grid::Groups(_) => true,
            Grid::Threads(threads) => {
                let threads = plain_number(&threads[axis]);
                let group = plain_number(&geometry.threadgroup[axis]);
                group == Some(1)
                    || threads
                        .zip(group)
                        .is_some_and(|(all, group)| group > 0 && all % group == 0)
            }
        };
        Shape {
            plain: geometry.plain_threadgroup(),
            whole: std::array::from_fn(whole),
        }
    }
}

/// The axis along which an addition makes the position in the grid.
fn grid_position(function: &Function, inst: Inst, shape: &Shape) -> Option<usize> {
    let InstData::Binary {
        op: BinaryOp::Add,
        args: [a, b],
        ..
    } = *function.inst(inst)
    else {
        return None;
    };
    if function.result_type(inst) != Type::I32 {
        return None;
    }
    let sum = |within: Value, before: Value| {
        let (Builtin::ThreadPositionInThreadgroup, axis) = position(function, within)? else {
            return None;
        };
        is_group_start(function, before, axis, shape).then_some(axis)
    };
    sum(a, b).or_else(|| sum(b, a))
}

/// Returns true if a value is the position of the threadgroup along an axis, times its threads.
fn is_group_start(function: &Function, value: Value, axis: usize, shape: &Shape) -> bool {
    let Some(&InstData::Binary { op, args, .. }) = function.def_data(value) else {
        return false;
    };
    let group =
        |value| position(function, value) == Some((Builtin::ThreadgroupPositionInGrid, axis));
    let number = |value| {
        function
            .const_int(value)
            .and_then(|n| u32::try_from(n).ok())
    };
    let threads = |value| match position(function, value) {
        Some((Builtin::DispatchThreadsPerThreadgroup, of)) => of == axis,
        // The last threadgroup of a grid that is not whole has fewer threads, and a start of its own.
        Some((Builtin::ThreadsPerThreadgroup, of)) => of == axis && shape.whole[axis],
        _ => shape
            .plain
            .is_some_and(|plain| number(value) == Some(plain[axis])),
    };
    match op {
        BinaryOp::Mul => {
            (group(args[0]) && threads(args[1])) || (group(args[1]) && threads(args[0]))
        }
        BinaryOp::Shl => {
            let size = number(args[1]).and_then(|shift| 1u32.checked_shl(shift));
            group(args[0]) && shape.plain.is_some_and(|plain| size == Some(plain[axis]))
        }
        _ => false,
    }
}
