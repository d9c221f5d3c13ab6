//! Arrays of textures that are arguments.
//!
//! `array<texture2d<float>, 8>` is eight arguments whose handles the program keeps in an array of its own, to be indexed.
//! Their state registers follow one another, and an instruction can name one by a 16-bit register: then the array is not
//! needed. An array that holds anything else stays in memory, and its textures are named by their handles.

use super::handle::{TEXTURES, argument_behind};
use assay_ssa::builtin::Family;
use assay_ssa::{Binding, Callee, CastOp, Flags, Function, Inst, InstData, Kernel, Value};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Bytes of a handle.
const HANDLE: i64 = 8;

/// An element of an array of arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lower) struct Element {
    /// What the array is indexed by.
    pub(super) index: Value,
    /// The state register of index 0.
    pub(super) first: u32,
}

/// The handles that are elements of arrays of arguments.
pub(in crate::lower) type Elements = HashMap<Value, Element>;

/// A place in an array: `offset` bytes behind `index` handles.
struct Place {
    array: Inst,
    index: Option<Value>,
    offset: i64,
}

/// The place a pointer into a variable of a thread points to, if the index counts handles.
fn place(function: &Function, pointer: Value) -> Option<Place> {
    let (mut pointer, mut index, mut offset) = (pointer, None, 0i64);
    loop {
        let inst = function.def_inst(pointer)?;
        match *function.inst(inst) {
            InstData::Alloca { .. } => {
                return Some(Place {
                    array: inst,
                    index,
                    offset,
                });
            }
            InstData::PtrAdd {
                base,
                index: more,
                scale,
                offset: bytes,
                ..
            } => {
                if more.is_some() && (index.is_some() || i64::from(scale) != HANDLE) {
                    return None;
                }
                index = index.or(more);
                offset = offset.checked_add(bytes)?;
                pointer = base;
            }
            _ => return None,
        }
    }
}

/// The variable behind a pointer, however its place is computed.
fn variable_behind(function: &Function, mut pointer: Value) -> Option<Inst> {
    loop {
        let inst = function.def_inst(pointer)?;
        match *function.inst(inst) {
            InstData::Alloca { .. } => return Some(inst),
            InstData::PtrAdd { base, .. } => pointer = base,
            _ => return None,
        }
    }
}

/// What is known of a variable.
#[derive(Default)]
struct Array {
    /// Something else is done with it.
    is_other: bool,
    /// The arguments it holds, by place.
    textures: BTreeMap<i64, u32>,
    stores: Vec<Inst>,
    /// Loads of elements, with their index and the place of index 0.
    loads: Vec<(Inst, Value, i64)>,
}

impl Array {
    /// The state register of the first element, if all elements follow one another.
    fn first(&self) -> Option<u32> {
        let (_, &first) = self.textures.first_key_value()?;
        let expected = (0..).map(|n| n * HANDLE).zip(first..);
        let in_order = self
            .textures
            .iter()
            .zip(expected)
            .all(|((place, texture), expected)| (*place, *texture) == expected);
        let last = first as usize + self.textures.len();
        (!self.is_other && in_order && last <= TEXTURES as usize).then_some(first)
    }
}

/// What the function does with every variable that pointers lead to.
fn arrays(kernel: &Kernel, function: &Function) -> HashMap<Inst, Array> {
    let mut arrays: HashMap<Inst, Array> = HashMap::new();
    let handles_only = used_as_handles(function);
    for inst in function.all_insts() {
        let data = function.inst(inst);
        function.for_each_operand(inst, |operand| {
            let Some(variable) = variable_behind(function, operand) else {
                return;
            };
            let array = arrays.entry(variable).or_default();
            let found = place(function, operand).filter(|place| place.array == variable);
            match (data, found) {
                (InstData::PtrAdd { base, index, .. }, _)
                    if *base == operand && *index != Some(operand) => {}
                (
                    InstData::Store { ptr, value, .. },
                    Some(Place {
                        index: None,
                        offset,
                        ..
                    }),
                ) if *ptr == operand => match argument_behind(kernel, function, *value) {
                    Some(Binding::Texture(texture)) => {
                        let before = array.textures.insert(offset, texture);
                        array.is_other |= before.is_some_and(|before| before != texture);
                        array.stores.push(inst);
                    }
                    _ => array.is_other = true,
                },
                (
                    InstData::Load { .. },
                    Some(Place {
                        index: Some(index),
                        offset,
                        ..
                    }),
                ) if offset % HANDLE == 0 && handles_only.contains(&inst) => {
                    array.loads.push((inst, index, offset));
                }
                _ => array.is_other = true,
            }
        });
    }
    arrays
}

/// The loads whose results are used as textures only.
fn used_as_handles(function: &Function) -> HashSet<Inst> {
    let mut handles = HashSet::new();
    let mut others = HashSet::new();
    for inst in function.all_insts() {
        let texture = match function.inst(inst) {
            InstData::Call {
                callee: Callee::Builtin(call),
                args,
                ..
            } if call.info().family == Family::Texture => {
                function.list_values(*args).first().copied()
            }
            _ => None,
        };
        let mut position = 0;
        function.for_each_operand(inst, |operand| {
            position += 1;
            let Some(load) = function.def_inst(operand) else {
                return;
            };
            if position == 1 && texture == Some(operand) {
                handles.insert(load);
            } else {
                others.insert(load);
            }
        });
    }
    handles.retain(|load| {
        matches!(function.inst(*load), InstData::Load { .. }) && !others.contains(load)
    });
    handles
}

/// The function without its arrays of arguments, and what their elements were; nothing if there are none.
pub(in crate::lower) fn index_arrays(
    kernel: &Kernel,
    function: &Function,
) -> Option<(Function, Elements)> {
    let textures = kernel.arguments.iter();
    let textures = textures.filter(|argument| matches!(argument.binding, Binding::Texture(_)));
    if textures.count() < 2 {
        return None;
    }
    let mut rewritten = function.clone();
    let mut elements = Elements::new();
    let mut needless = HashSet::new();
    for array in arrays(kernel, function).values() {
        let Some(first) = array.first().filter(|_| !array.loads.is_empty()) else {
            continue;
        };
        for &(load, index, offset) in &array.loads {
            // A negative offset is undone by the index.
            let first = i64::from(first) + offset / HANDLE;
            let (Some(handle), first) = (function.result(load), first as u32) else {
                continue;
            };
            *rewritten.inst_mut(load) = InstData::Cast {
                op: CastOp::IntToPtr,
                flags: Flags::NONE,
                arg: index,
            };
            elements.insert(handle, Element { index, first });
        }
        needless.extend(array.stores.iter().copied());
    }
    if elements.is_empty() {
        return None;
    }
    for &block in function.blocks() {
        let mut insts = rewritten.take_insts(block);
        insts.retain(|inst| !needless.contains(inst));
        rewritten.set_insts(block, insts);
    }
    Some((rewritten, elements))
}
