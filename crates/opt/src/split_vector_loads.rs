//! Loads of a vector only the elements that are used.
//!
//! `v.w` of a vector in memory is read as a load of all four elements and the choice of one. An optimiser makes the one
//! load of it; a program that is checked must not be said to read the three others, which may never have been written
//! or which another thread may write.

use assay_ssa::{Access, Builder, Flags, Function, IdMap, InstData, Module, Type, TypeKind, Value};

/// Splits the loads of which some elements are used and some are not.
pub fn split_vector_loads(_: &Module, function: &mut Function) -> bool {
    let used = used_elements(function);
    let mut replacement: IdMap<Value, Option<Value>> = IdMap::new(None);
    let mut changed = false;
    for block in function.blocks().to_vec() {
        for inst in function.take_insts(block) {
            let split = match *function.inst(inst) {
                InstData::Load { ptr, access } if !access.volatile && !access.is_atomic() => {
                    let loaded = function.result(inst);
                    loaded.and_then(|loaded| {
                        let TypeKind::Vector(scalar, lanes) = function.ty(loaded).kind() else {
                            return None;
                        };
                        if lanes > 32 {
                            return None;
                        }
                        let mask = used[loaded];
                        let some = mask != 0 && mask & !(u32::MAX >> (32 - u32::from(lanes))) == 0;
                        let all = mask == u32::MAX >> (32 - u32::from(lanes));
                        (some && !all && scalar.bits() >= 8)
                            .then_some((loaded, ptr, access, scalar, lanes, mask))
                    })
                }
                _ => None,
            };
            let Some((loaded, ptr, access, scalar, lanes, mask)) = split else {
                function.append(block, inst);
                continue;
            };
            let (ty, loc) = (function.ty(loaded), function.loc(inst));
            let nothing = function.undef(Type::scalar(scalar));
            let mut builder = Builder::new(function);
            builder.switch_to(block);
            builder.set_loc(loc);
            let mut elements = vec![nothing; usize::from(lanes)];
            for (lane, element) in (0u32..).zip(&mut elements) {
                if mask >> lane & 1 == 0 {
                    continue;
                }
                let offset = lane * scalar.bytes();
                let place = match offset {
                    0 => ptr,
                    _ => builder.ptr_add(ptr, None, 1, i64::from(offset), Flags::INBOUNDS),
                };
                let natural = 1 << offset.trailing_zeros().min(12);
                let part = Access {
                    alias: access.alias,
                    ..Access::aligned(access.align().min(natural))
                };
                *element = builder.load(Type::scalar(scalar), place, part);
            }
            replacement[loaded] = Some(builder.construct(ty, &elements));
            changed = true;
        }
    }
    function.replace_values(&replacement);
    changed
}

/// The elements of each vector that something other than a choice of elements reads, as far as one step shows.
fn used_elements(function: &Function) -> IdMap<Value, u32> {
    let mut used = IdMap::with_len(0u32, function.num_values());
    for &block in function.blocks() {
        for &inst in function.insts(block) {
            match *function.inst(inst) {
                InstData::Extract { vector, index } => {
                    used[vector] |= match function.const_bits(index) {
                        Some(lane) if lane < 32 => 1 << lane,
                        _ => u32::MAX,
                    };
                }
                InstData::Shuffle { args, mask } => {
                    let given = u32::from(function.ty(args[0]).lanes());
                    for &lane in function.indices(mask) {
                        match lane {
                            lane if lane < given => used[args[0]] |= 1 << (lane & 31),
                            lane if lane < 2 * given => used[args[1]] |= 1 << ((lane - given) & 31),
                            _ => {}
                        }
                    }
                }
                _ => function.for_each_operand(inst, |value| used[value] = u32::MAX),
            }
        }
    }
    used
}
