//! Loads and stores arrays and structs part by part.
//!
//! Code that no optimiser has seen moves small structs through calls as whole values (`[2 x i64]`). Memory that is accessed so
//! cannot become values; part by part it can.

use assay_ssa::{
    Access, Aggregate, Aggregates, Builder, Flags, Function, IdMap, InstData, Module, Type, Value,
};

/// Larger ones stay whole.
const MOST_PARTS: usize = 64;

/// Splits the loads and stores of small aggregates.
pub fn split_aggregates(module: &Module, function: &mut Function) -> bool {
    let types = &module.types;
    let mut replacement: IdMap<Value, Option<Value>> = IdMap::new(None);
    let mut changed = false;
    for block in function.blocks().to_vec() {
        for inst in function.take_insts(block) {
            let (data, loc) = (*function.inst(inst), function.loc(inst));
            let result = function.result(inst);
            let (ptr, access, ty) = match data {
                InstData::Load { ptr, access } => (ptr, access, function.result_type(inst)),
                InstData::Store { ptr, value, access } => (ptr, access, function.ty(value)),
                _ => {
                    function.append(block, inst);
                    continue;
                }
            };
            let small = ty.is_aggregate() && count(types, ty) <= MOST_PARTS;
            if !small || access.volatile || access.is_atomic() {
                function.append(block, inst);
                continue;
            }
            let mut builder = Builder::new(function);
            builder.switch_to(block);
            builder.set_loc(loc);
            let place = Place { ptr, access };
            match (data, result) {
                (InstData::Store { value, .. }, _) => {
                    store(&mut builder, types, place, value, (ty, 0), &mut Vec::new());
                }
                (_, Some(result)) => {
                    let loaded = load(&mut builder, types, place, (ty, 0));
                    replacement[result] = Some(loaded);
                }
                _ => {}
            }
            changed = true;
        }
    }
    function.replace_values(&replacement);
    changed
}

/// Where an aggregate lies.
#[derive(Clone, Copy)]
struct Place {
    ptr: Value,
    access: Access,
}

impl Place {
    fn part(self, builder: &mut Builder<'_>, offset: u32) -> (Value, Access) {
        let ptr = match offset {
            0 => self.ptr,
            _ => builder.ptr_add(self.ptr, None, 1, i64::from(offset), Flags::INBOUNDS),
        };
        let natural = 1 << offset.trailing_zeros().min(12);
        let access = Access {
            alias: self.access.alias,
            ..Access::aligned(self.access.align().min(natural))
        };
        (ptr, access)
    }
}

/// Types and offsets of the parts of an aggregate; none of anything else.
fn parts(types: &Aggregates, ty: Type) -> Vec<(Type, u32)> {
    match types.of(ty) {
        Some(Aggregate::Array {
            element,
            len,
            stride,
        }) => (0..*len)
            .map(|index| (*element, index.saturating_mul(*stride)))
            .collect(),
        Some(Aggregate::Struct { fields, .. }) => fields
            .iter()
            .map(|field| (field.ty, field.offset))
            .collect(),
        None => Vec::new(),
    }
}

fn count(types: &Aggregates, ty: Type) -> usize {
    match types.of(ty) {
        None => 1,
        Some(Aggregate::Array { element, len, .. }) => {
            count(types, *element).saturating_mul(*len as usize)
        }
        Some(Aggregate::Struct { fields, .. }) => {
            fields.iter().map(|field| count(types, field.ty)).sum()
        }
    }
}

fn load(
    builder: &mut Builder<'_>,
    types: &Aggregates,
    place: Place,
    (ty, offset): (Type, u32),
) -> Value {
    if !ty.is_aggregate() {
        let (ptr, access) = place.part(builder, offset);
        return builder.load(ty, ptr, access);
    }
    let loaded = parts(types, ty)
        .into_iter()
        .map(|(part, at)| load(builder, types, place, (part, offset.saturating_add(at))));
    let loaded: Vec<Value> = loaded.collect();
    builder.construct(ty, &loaded)
}

fn store(
    builder: &mut Builder<'_>,
    types: &Aggregates,
    place: Place,
    whole: Value,
    (ty, offset): (Type, u32),
    path: &mut Vec<u32>,
) {
    if !ty.is_aggregate() {
        let value = builder.extract_value(types, whole, path);
        let (ptr, access) = place.part(builder, offset);
        builder.store(ptr, value, access);
        return;
    }
    for (index, (part, at)) in (0u32..).zip(parts(types, ty)) {
        path.push(index);
        let at = offset.saturating_add(at);
        store(builder, types, place, whole, (part, at), path);
        path.pop();
    }
}
