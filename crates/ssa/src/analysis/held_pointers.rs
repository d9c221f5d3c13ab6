//! Pointers kept in thread memory: which loads can give which stored pointers.
//!
//! An alloca whose address goes nowhere but into loads, stores and address arithmetic holds only what those stores put there. A
//! pointer loaded from it, at whatever index, is one of the pointers stored.

use crate::function::Function;
use crate::id::IdMap;
use crate::inst::{Inst, InstData, Value};
use crate::ops::CastOp;
use crate::ty::{Scalar, TypeKind};

/// The pointers that one alloca holds.
#[derive(Clone, Debug, Default)]
pub struct Held {
    /// What was stored.
    pub stored: Vec<Value>,
    /// What was loaded.
    pub loaded: Vec<Value>,
}

/// The allocas of a function all of whose accesses are seen.
#[derive(Clone, Debug)]
pub struct HeldPointers {
    held: Vec<Held>,
    /// Loaded pointers of `held`.
    known: IdMap<Value, bool>,
}

impl HeldPointers {
    /// Follows the addresses of allocas.
    pub fn new(function: &Function) -> Self {
        let mut finder = Finder {
            function,
            of: IdMap::with_len(None, function.num_values()),
            held: Vec::new(),
        };
        for inst in function.all_insts() {
            if let (InstData::Alloca { .. }, Some(pointer)) =
                (function.inst(inst), function.result(inst))
            {
                finder.of[pointer] = Some(finder.held.len());
                finder.held.push(Some(Held::default()));
            }
        }
        if !finder.held.is_empty() {
            // An address is computed before it is used, and blocks are listed so; otherwise it counts as gone elsewhere.
            function.all_insts().for_each(|inst| finder.visit(inst));
        }
        let held: Vec<Held> = finder.held.into_iter().flatten().collect();
        let mut known = IdMap::with_len(false, function.num_values());
        for &value in held.iter().flat_map(|held| &held.loaded) {
            known[value] = true;
        }
        HeldPointers { held, known }
    }

    /// Each such alloca.
    pub fn iter(&self) -> impl Iterator<Item = &Held> {
        self.held.iter()
    }

    /// Returns true if a value was loaded from such an alloca.
    pub fn is_loaded(&self, value: Value) -> bool {
        self.known[value]
    }
}

struct Finder<'a> {
    function: &'a Function,
    /// The alloca an address is in.
    of: IdMap<Value, Option<usize>>,
    /// None once an address went elsewhere.
    held: Vec<Option<Held>>,
}

impl Finder<'_> {
    fn visit(&mut self, inst: Inst) {
        match *self.function.inst(inst) {
            InstData::PtrAdd { base, index, .. } => {
                index.into_iter().for_each(|index| self.leaves(index));
                self.same(inst, base);
            }
            InstData::Cast {
                op: CastOp::SpaceCast,
                arg,
                ..
            } => self.same(inst, arg),
            InstData::Load { ptr, access } => {
                let result = self.function.result(inst);
                let whole = result.is_none_or(|result| self.is_whole(result));
                if let (Some(held), Some(value)) = (self.held(ptr), result) {
                    held.loaded.push(value);
                }
                if !whole || access.is_atomic() {
                    self.leaves(ptr);
                }
            }
            InstData::Store { ptr, value, access } => {
                self.leaves(value);
                let is_pointer = self.function.ty(value).is_pointer();
                if let Some(held) = self.held(ptr).filter(|_| is_pointer) {
                    held.stored.push(value);
                }
                if !self.is_whole(value) || access.is_atomic() {
                    self.leaves(ptr);
                }
            }
            _ => {
                let mut operands = Vec::new();
                self.function
                    .for_each_operand(inst, |value| operands.push(value));
                operands.into_iter().for_each(|value| self.leaves(value));
            }
        }
    }

    /// Returns true unless a value can hold a pointer inside or be one in disguise.
    fn is_whole(&self, value: Value) -> bool {
        match self.function.ty(value).kind() {
            TypeKind::Pointer(_) => true,
            TypeKind::Scalar(scalar) => scalar != Scalar::I64,
            _ => false,
        }
    }

    fn held(&mut self, pointer: Value) -> Option<&mut Held> {
        let alloca = self.of[pointer]?;
        self.held.get_mut(alloca)?.as_mut()
    }

    /// The result points where the argument does.
    fn same(&mut self, inst: Inst, argument: Value) {
        if let Some(result) = self.function.result(inst) {
            self.of[result] = self.of[argument];
        }
    }

    fn leaves(&mut self, pointer: Value) {
        if let Some(held) = self.of[pointer].and_then(|alloca| self.held.get_mut(alloca)) {
            *held = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::analysis::spaces::infer;
    use crate::{Space, Value, parse};

    /// A kernel that puts two pointers into an array, does something with it, and loads through an element.
    fn space_of_element(second: &str, more: &str) -> Option<Space> {
        let text = format!(
            "module \"m\"\nkernel \"k\" f0 {{\n}}\nfunction f0 \"k\" -> void {{\n\
             b0(v0: ptr.device, v1: ptr.constant, v2: i32):\n\
             v3: ptr.thread = alloca v4i64 align 8\n\
             v4: ptr.thread = ptr_add v3 + 8\n\
             store v3, v0 align 8\nstore v4, {second} align 8\n{more}\
             v5: ptr.thread = ptr_add v3 + v2 * 8\n\
             v6: ptr.generic = load v5 align 8\n\
             v7: i32 = load v6 align 4\nstore v0, v7 align 4\nreturn\n}}\n"
        );
        let mut module = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        infer(&mut module);
        let (_, function) = module.functions.iter().next().expect("a function");
        function.ty(function_value(6)).space()
    }

    fn function_value(number: usize) -> Value {
        crate::id::Id::from_index(number)
    }

    #[test]
    fn an_element_of_a_thread_array_has_the_space_of_what_was_stored() {
        assert_eq!(space_of_element("v0", ""), Some(Space::Device));
        assert_eq!(space_of_element("v1", ""), Some(Space::Generic));
    }

    #[test]
    fn an_array_whose_address_goes_elsewhere_can_hold_anything() {
        assert_eq!(
            space_of_element("v0", "store v1, v3 align 8\n"),
            Some(Space::Generic)
        );
    }

    #[test]
    fn an_integer_of_64_bits_can_be_a_pointer() {
        assert_eq!(space_of_element("i64 0", ""), Some(Space::Generic));
    }
}
