//! Turns copies and fills into loads and stores.
//!
//! A `memcpy` or `memset` of a known, moderate size that touches an alloca keeps the
//! alloca in memory. Element by element it does not stand in the way of
//! `promote_memory`. The elements are those of the alloca's own type, so that they fit
//! the accesses the program makes otherwise.
//!
//! What is left once memory is settled, such as `out[i] = in[i]` of vectors or structs in
//! buffers, is made of words, four at a time: a thread moves them as it moves any vector.

use assay_ssa::{
    Access, Aggregate, Aggregates, Block, Builder, Flags, Function, Inst, InstData, Module, Scalar,
    Type, TypeKind, Value,
};

/// Larger areas of thread memory are left to a loop at run time.
const LARGEST: u64 = 1024;

/// Larger areas of other memory are: every word of a copy is a register.
const LARGEST_OF_WORDS: u64 = 128;

/// Expands copies and fills of thread memory.
pub fn expand_copies(module: &Module, function: &mut Function) -> bool {
    expand(function, |function, area| {
        if area.size > LARGEST {
            return None;
        }
        let size = area.size as u32;
        let mut places = area.places.into_iter().flatten();
        places.find_map(|place| elements(module, function, place, size))
    })
}

/// Expands the small ones of other memory, whose types are not known.
pub fn expand_copies_by_words(_: &Module, function: &mut Function) -> bool {
    expand(function, |_, area| {
        (area.size <= LARGEST_OF_WORDS).then(|| words(area.size as u32, area.align_log2))
    })
}

/// What is copied or filled: a known number of bytes at these pointers.
struct Area {
    places: [Option<Value>; 2],
    size: u64,
    align_log2: u8,
}

/// Offsets and types of the parts of an area.
type Pieces = Vec<(u32, Type)>;

fn expand(function: &mut Function, pieces: impl Fn(&Function, Area) -> Option<Pieces>) -> bool {
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
                    alias,
                    ..
                } => {
                    let area = area(function, [Some(dst), Some(src)], size, align_log2);
                    let pieces = area.and_then(|area| pieces(function, area));
                    let how = Access {
                        alias,
                        ..Access::aligned(1 << align_log2.min(16))
                    };
                    pieces.map(|pieces| copy(function, block, inst, [dst, src], &pieces, how))
                }
                InstData::MemSet {
                    dst,
                    byte,
                    size,
                    align_log2,
                } => {
                    let area = area(function, [Some(dst), None], size, align_log2);
                    let pieces = area.and_then(|area| pieces(function, area));
                    let how = Access::aligned(1 << align_log2.min(16));
                    pieces.and_then(|pieces| fill(function, block, inst, (dst, byte), &pieces, how))
                }
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

fn area(
    function: &Function,
    places: [Option<Value>; 2],
    size: Value,
    align_log2: u8,
) -> Option<Area> {
    let size = function.const_bits(size)?;
    Some(Area {
        places,
        size,
        align_log2,
    })
}

fn copy(
    function: &mut Function,
    block: Block,
    at: Inst,
    [dst, src]: [Value; 2],
    pieces: &Pieces,
    how: Access,
) {
    let mut builder = builder_at(function, block, at);
    // All loads first: the areas may overlap, or be one and the same.
    let values: Vec<Value> = pieces
        .iter()
        .map(|&(offset, ty)| {
            let from = builder.ptr_add(src, None, 1, i64::from(offset), Flags::INBOUNDS);
            builder.load(ty, from, access(offset, how))
        })
        .collect();
    for (&(offset, _), value) in pieces.iter().zip(values) {
        let to = builder.ptr_add(dst, None, 1, i64::from(offset), Flags::INBOUNDS);
        builder.store(to, value, access(offset, how));
    }
}

fn fill(
    function: &mut Function,
    block: Block,
    at: Inst,
    (dst, byte): (Value, Value),
    pieces: &Pieces,
    how: Access,
) -> Option<()> {
    let byte = function.const_bits(byte)? & 0xff;
    // A matrix or pointer made of a repeated byte is only known for zero.
    let plain = |ty: Type| ty.is_vector() || matches!(ty.kind(), TypeKind::Scalar(_));
    if byte != 0 && !pieces.iter().all(|&(_, ty)| plain(ty)) {
        return None;
    }
    let pattern = byte * 0x0101_0101_0101_0101;
    let mut builder = builder_at(function, block, at);
    for &(offset, ty) in pieces {
        let value = match (byte, ty.kind()) {
            (0, _) => builder.function().zero(ty),
            (_, TypeKind::Vector(scalar, lanes)) => {
                let bits = pattern >> (64 - scalar.bits().clamp(1, 64));
                let lanes = vec![bits; usize::from(lanes)];
                builder.function().constant_vector(ty, &lanes)
            }
            _ => builder.constant(ty, pattern),
        };
        let to = builder.ptr_add(dst, None, 1, i64::from(offset), Flags::INBOUNDS);
        builder.store(to, value, access(offset, how));
    }
    Some(())
}

/// Words of an area, four at a time; smaller numbers where it is not aligned to words, and at the end.
fn words(size: u32, align_log2: u8) -> Pieces {
    let widest = 1 << align_log2.min(2);
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < size {
        let left = size - at;
        let bytes = widest.min(1 << left.ilog2());
        let scalar = Scalar::int(bytes * 8).unwrap_or(Scalar::I8);
        let lanes = (left / bytes).min(4);
        let ty = match lanes {
            0 | 1 => Type::scalar(scalar),
            lanes => Type::vector(scalar, lanes as u8),
        };
        pieces.push((at, ty));
        at += bytes * lanes.max(1);
    }
    pieces
}

fn builder_at(function: &mut Function, block: Block, at: Inst) -> Builder<'_> {
    let loc = function.loc(at);
    let mut builder = Builder::new(function);
    builder.set_loc(loc);
    builder.switch_to(block);
    builder
}

/// An access at an offset: with the alignment that is left there.
fn access(offset: u32, how: Access) -> Access {
    let natural = match offset {
        0 => 31,
        offset => offset.trailing_zeros() as u8,
    };
    Access {
        align_log2: natural.min(how.align_log2),
        ..how
    }
}

/// The elements of thread memory from `pointer` on, `size` bytes of them, relative to it;
/// nothing when the pointer is to something else or an element would have to be cut.
fn elements(module: &Module, function: &Function, pointer: Value, size: u32) -> Option<Pieces> {
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
