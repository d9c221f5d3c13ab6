//! Turns copies and fills of thread memory into loads and stores.
//!
//! A `memcpy` or `memset` of a known, moderate size that touches an alloca keeps the
//! alloca in memory. Element by element it does not stand in the way of
//! `promote_memory`. The elements are those of the alloca's own type, so that they fit
//! the accesses the program makes otherwise.

use assay_ssa::{
    Access, Aggregate, Aggregates, Block, Builder, Flags, Function, Inst, InstData, Module, Scalar,
    Type, TypeKind, Value,
};

/// Larger areas are left to a loop at run time.
const LARGEST: u64 = 1024;

/// Expands copies and fills of thread memory.
pub fn expand_copies(module: &Module, function: &mut Function) -> bool {
    let mut changed = false;
    for block in function.blocks().to_vec() {
        let wanted = |function: &Function, inst: Inst| {
            matches!(
                function.inst(inst),
                InstData::MemCopy { .. } | InstData::MemSet { .. }
            )
        };
        if !function
            .insts(block)
            .iter()
            .any(|&inst| wanted(function, inst))
        {
            continue;
        }
        for inst in function.take_insts(block) {
            let expanded = match *function.inst(inst) {
                InstData::MemCopy {
                    dst,
                    src,
                    size,
                    align_log2,
                    overlap: false,
                    ..
                } => copy(
                    module,
                    function,
                    block,
                    inst,
                    Copy {
                        dst,
                        src,
                        size,
                        align_log2,
                    },
                ),
                InstData::MemSet {
                    dst,
                    byte,
                    size,
                    align_log2,
                } => fill(
                    module,
                    function,
                    block,
                    inst,
                    Fill {
                        dst,
                        byte,
                        size,
                        align_log2,
                    },
                ),
                _ => None,
            };
            match expanded {
                Some(()) => changed = true,
                None => function.append(block, inst),
            }
        }
    }
    changed
}

struct Copy {
    dst: Value,
    src: Value,
    size: Value,
    align_log2: u8,
}

struct Fill {
    dst: Value,
    byte: Value,
    size: Value,
    align_log2: u8,
}

fn copy(
    module: &Module,
    function: &mut Function,
    block: Block,
    at: Inst,
    copy: Copy,
) -> Option<()> {
    let size = function
        .const_bits(copy.size)
        .filter(|&size| size <= LARGEST)? as u32;
    let pieces = pieces(module, function, copy.dst, size)
        .or_else(|| pieces(module, function, copy.src, size))?;
    let mut builder = builder_at(function, block, at);
    // All loads first: the areas may be one and the same.
    let values: Vec<Value> = pieces
        .iter()
        .map(|&(offset, ty)| {
            let from = builder.ptr_add(copy.src, None, 1, i64::from(offset), Flags::INBOUNDS);
            builder.load(ty, from, access(offset, copy.align_log2))
        })
        .collect();
    for (&(offset, _), value) in pieces.iter().zip(values) {
        let to = builder.ptr_add(copy.dst, None, 1, i64::from(offset), Flags::INBOUNDS);
        builder.store(to, value, access(offset, copy.align_log2));
    }
    Some(())
}

fn fill(
    module: &Module,
    function: &mut Function,
    block: Block,
    at: Inst,
    fill: Fill,
) -> Option<()> {
    let size = function
        .const_bits(fill.size)
        .filter(|&size| size <= LARGEST)? as u32;
    let byte = function.const_bits(fill.byte)? & 0xff;
    let pieces = pieces(module, function, fill.dst, size)?;
    // A matrix or pointer made of a repeated byte is only known for zero.
    let plain = |ty: Type| matches!(ty.kind(), TypeKind::Scalar(_));
    if byte != 0 && !pieces.iter().all(|&(_, ty)| plain(ty)) {
        return None;
    }
    let pattern = byte * 0x0101_0101_0101_0101;
    let mut builder = builder_at(function, block, at);
    for (offset, ty) in pieces {
        let value = match byte {
            0 => builder.function().zero(ty),
            _ => builder.constant(ty, pattern),
        };
        let to = builder.ptr_add(fill.dst, None, 1, i64::from(offset), Flags::INBOUNDS);
        builder.store(to, value, access(offset, fill.align_log2));
    }
    Some(())
}

fn builder_at(function: &mut Function, block: Block, at: Inst) -> Builder<'_> {
    let loc = function.loc(at);
    let mut builder = Builder::new(function);
    builder.set_loc(loc);
    builder.switch_to(block);
    builder
}

/// The alignment that is left at an offset from an aligned address.
fn access(offset: u32, align_log2: u8) -> Access {
    let natural = if offset == 0 {
        31
    } else {
        offset.trailing_zeros()
    };
    Access::aligned(1 << natural.min(u32::from(align_log2)).min(16))
}

/// The elements of thread memory from `pointer` on, `size` bytes of them, relative to it;
/// nothing when the pointer is to something else or an element would have to be cut.
fn pieces(
    module: &Module,
    function: &Function,
    pointer: Value,
    size: u32,
) -> Option<Vec<(u32, Type)>> {
    let (ty, start) = root(function, pointer)?;
    let end = start.checked_add(size)?;
    let mut found = Vec::new();
    leaves(&module.types, ty, 0, start, end, &mut found)?;
    Some(
        found
            .into_iter()
            .map(|(offset, ty)| (offset - start, ty))
            .collect(),
    )
}

/// The type of the alloca a pointer points into, and the offset.
fn root(function: &Function, mut pointer: Value) -> Option<(Type, u32)> {
    let mut offset = 0i64;
    for _ in 0..16 {
        match *function.def_data(pointer)? {
            InstData::Alloca { ty, .. } => return Some((ty, u32::try_from(offset).ok()?)),
            InstData::PtrAdd {
                base,
                index,
                scale,
                offset: more,
                ..
            } => {
                let steps = index.map_or(Some(0), |index| function.const_int(index))?;
                offset = offset
                    .checked_add(steps.checked_mul(i64::from(scale))?)?
                    .checked_add(more)?;
                pointer = base;
            }
            _ => return None,
        }
    }
    None
}

/// The scalars, pointers and matrices of a type that lie within `start..end`.
fn leaves(
    types: &Aggregates,
    ty: Type,
    at: u32,
    start: u32,
    end: u32,
    out: &mut Vec<(u32, Type)>,
) -> Option<()> {
    let size = types.store_size(ty);
    if at >= end || at.checked_add(size)? <= start {
        return Some(());
    }
    match ty.kind() {
        TypeKind::Vector(Scalar::I1, _) | TypeKind::Void => None,
        TypeKind::Vector(scalar, lanes) => (0..u32::from(lanes)).try_for_each(|lane| {
            leaves(
                types,
                Type::scalar(scalar),
                at + lane * scalar.bytes(),
                start,
                end,
                out,
            )
        }),
        TypeKind::Aggregate(_) => {
            let count = match types.of(ty)? {
                Aggregate::Array { len, .. } => *len,
                Aggregate::Struct { fields, .. } => fields.len() as u32,
            };
            (0..count).try_for_each(|index| {
                let (element, offset) = types.element_at(ty, index)?;
                leaves(types, element, at.checked_add(offset)?, start, end, out)
            })
        }
        _ => {
            let whole = at >= start && at.checked_add(size)? <= end;
            whole.then(|| out.push((at, ty)))
        }
    }
}
