//! Gives accesses of vectors in arrays of numbers the alignment of their type, in a program that is to be checked.
//!
//! `*(threadgroup float4 *)(tile + 1)` is misaligned whatever the tile is. But of memory that a function declares itself clang
//! knows where it lies, and emits an access aligned to 4: right for that machine, silent about the mistake. An array of numbers
//! has no vectors, so such an access comes from a cast. This runs before copies of structs become moves of words, which may
//! lie anywhere.

use assay_ssa::{Aggregate, Aggregates, Function, Inst, InstData, Module, Type, Value, ValueDef};

/// Raises the alignment of loads, stores and copies of vectors.
pub fn expect_alignment(module: &Module, function: &mut Function) -> bool {
    let mut changed = false;
    let insts: Vec<_> = function.all_insts().collect();
    for inst in insts {
        let wanted = wanted(module, function, inst).max(1).ilog2() as u8;
        let align_log2 = match function.inst_mut(inst) {
            InstData::Load { access, .. } | InstData::Store { access, .. } => {
                &mut access.align_log2
            }
            InstData::MemCopy { align_log2, .. } => align_log2,
            _ => continue,
        };
        if *align_log2 < wanted {
            *align_log2 = wanted;
            changed = true;
        }
    }
    changed
}

/// The alignment that the type of an access of an array of numbers asks for; 1 of any other.
fn wanted(module: &Module, function: &Function, inst: Inst) -> u32 {
    let object = |ptr: Value| object_of(module, function, ptr);
    let is_array = |ptr: Value| object(ptr).is_some_and(|ty| holds_numbers(&module.types, ty));
    match *function.inst(inst) {
        InstData::Load { ptr, .. } if function.result_type(inst).is_vector() && is_array(ptr) => {
            module.types.align(function.result_type(inst))
        }
        InstData::Store { ptr, value, .. } if function.ty(value).is_vector() && is_array(ptr) => {
            module.types.align(function.ty(value))
        }
        // The other side is a variable of the type that is copied.
        InstData::MemCopy { dst, src, size, .. } => {
            let size = function.const_bits(size);
            let of = |array: Value, other: Value| {
                let whole = |ty: &Type| {
                    Some(u64::from(module.types.store_size(*ty))) == size
                        && !holds_numbers(&module.types, *ty)
                };
                let ty = object(other).filter(whole).filter(|_| is_array(array));
                ty.map_or(1, |ty| module.types.align(ty))
            };
            of(src, dst).max(of(dst, src))
        }
        _ => 1,
    }
}

/// The type of the variable that a pointer surely points into.
fn object_of(module: &Module, function: &Function, mut ptr: Value) -> Option<Type> {
    loop {
        if let ValueDef::Global(id) = function.value(ptr).def {
            return module.globals.get(id).map(|global| global.ty);
        }
        ptr = match *function.inst(function.def_inst(ptr)?) {
            InstData::Alloca { ty, .. } => return Some(ty),
            InstData::PtrAdd { base, .. } => base,
            InstData::Cast { arg, .. } if function.ty(arg).is_pointer() => arg,
            _ => return None,
        };
    }
}

/// Returns true if a type is an array of numbers, or of such arrays.
fn holds_numbers(types: &Aggregates, ty: Type) -> bool {
    let mut inner = ty;
    while let Some(Aggregate::Array { element, .. }) = types.of(inner) {
        inner = *element;
    }
    inner != ty && types.of(inner).is_none() && !inner.is_vector() && !inner.is_matrix()
}
