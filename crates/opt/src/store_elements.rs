//! Stores only the element of a vector that was set.
//!
//! `v[i] = x` on a vector in memory is, before any optimiser, a load of the whole vector, an insertion and a store of the whole. In a
//! program that is checked it must not be said to read elements that were never written, nor to write those of other
//! threads.

use assay_ssa::{Access, Builder, Flags, Function, IndexExtend, InstData, Module, Value};

/// Insertions looked through.
const MOST: usize = 16;

/// Turns load, insertions and store at one address into stores of elements.
pub fn store_elements(_: &Module, function: &mut Function) -> bool {
    let mut changed = false;
    for block in function.blocks().to_vec() {
        for inst in function.take_insts(block) {
            let found = match *function.inst(inst) {
                InstData::Store { ptr, value, access }
                    if !access.volatile
                        && !access.is_atomic()
                        && function.ty(value).is_vector() =>
                {
                    let scalar = function.ty(value).element().filter(|s| s.bits() >= 8);
                    insertions(function, ptr, value)
                        .zip(scalar)
                        .map(|(set, scalar)| (ptr, access, set, scalar))
                }
                _ => None,
            };
            let Some((ptr, access, set, scalar)) = found else {
                function.append(block, inst);
                continue;
            };
            let loc = function.loc(inst);
            for (element, index) in set {
                let (known, size) = (function.const_bits(index), scalar.bytes());
                let mut builder = Builder::new(function);
                builder.switch_to(block);
                builder.set_loc(loc);
                let (place, align) = match known {
                    Some(0) => (ptr, access.align()),
                    Some(index) => {
                        let offset = index as i64 * i64::from(size);
                        (builder.ptr_add(ptr, None, 1, offset, Flags::INBOUNDS), size)
                    }
                    None => {
                        let zero = IndexExtend::Zero;
                        let flags = Flags::INBOUNDS;
                        let place =
                            builder.ptr_add_extended(ptr, Some(index), zero, size, 0, flags);
                        (place, size)
                    }
                };
                let part = Access {
                    alias: access.alias,
                    ..Access::aligned(access.align().min(align))
                };
                builder.store(place, element, part);
            }
            changed = true;
        }
    }
    changed
}

/// The elements and indices that were set in what an address holds, in order; nothing if the value is another.
fn insertions(function: &Function, ptr: Value, mut value: Value) -> Option<Vec<(Value, Value)>> {
    let mut set = Vec::new();
    for _ in 0..MOST {
        match *function.def_data(value)? {
            InstData::Insert {
                vector,
                element,
                index,
            } => {
                set.push((element, index));
                value = vector;
            }
            InstData::Load { ptr: from, access }
                if from == ptr && !set.is_empty() && !access.is_atomic() =>
            {
                set.reverse();
                return Some(set);
            }
            _ => return None,
        }
    }
    None
}
