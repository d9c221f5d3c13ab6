//! Addresses: what a pointer points at, and how an access through it is written.

use super::expression::{Expr, Level};
use super::types::{self, Element};
use super::{PrintError, Printer};
use assay_ssa::{
    Access, Function, IdMap, IndexExtend, InstData, Scalar, Space, Type, TypeKind, Value, ValueDef,
};
use std::collections::BTreeMap;

/// One term of an address: an index and the bytes of one step.
struct Term {
    index: Value,
    scale: u32,
    extend: IndexExtend,
}

/// A pointer as a variable plus terms.
struct Address {
    root: Value,
    terms: Vec<Term>,
    offset: i64,
}

impl Address {
    fn of(root: Value) -> Self {
        Address {
            root,
            terms: Vec::new(),
            offset: 0,
        }
    }

    /// Replaces the root by the sum it is. Returns false if it is none.
    fn step(&mut self, function: &Function) -> bool {
        let Some(&InstData::PtrAdd {
            base,
            index,
            scale,
            offset,
            extend,
            ..
        }) = function.def_data(self.root)
        else {
            return false;
        };
        self.terms.extend(index.map(|index| Term {
            index,
            scale,
            extend,
        }));
        self.offset = self.offset.wrapping_add(offset);
        self.root = base;
        true
    }
}

/// The element type of every pointer that has a name: what most accesses through it read or write.
pub(super) fn elements(function: &Function) -> IdMap<Value, Option<Element>> {
    let mut votes: BTreeMap<Value, BTreeMap<(u32, Type), u32>> = BTreeMap::new();
    for &block in function.blocks() {
        for &inst in function.insts(block) {
            let (ptr, ty, align) = match *function.inst(inst) {
                InstData::Load { ptr, access } => (ptr, function.result_type(inst), access.align()),
                InstData::Store { ptr, value, access } => (ptr, function.ty(value), access.align()),
                InstData::AtomicRmw {
                    ptr, value, access, ..
                } => (ptr, function.ty(value), access.align()),
                _ => continue,
            };
            if types::in_memory(ty, align).is_err() {
                continue;
            }
            let mut at = ptr;
            loop {
                *votes.entry(at).or_default().entry((align, ty)).or_default() += 1;
                match function.def_data(at) {
                    Some(InstData::PtrAdd { base, .. }) => at = *base,
                    _ => break,
                }
            }
        }
    }
    let mut chosen = IdMap::with_len(None, function.num_values());
    for (pointer, types) in votes {
        let most = types
            .iter()
            .max_by_key(|(key, count)| (**count, std::cmp::Reverse(**key)));
        if let Some((&(align, ty), _)) = most {
            chosen.set(pointer, types::in_memory(ty, align).ok());
        }
    }
    // A pointer that is only handed on points at what its next name points at.
    for &block in function.blocks().iter().rev() {
        let Some(terminator) = function.terminator(block) else {
            continue;
        };
        function.for_each_target(terminator, |call| {
            let params = function.params(call.block).iter();
            for (&arg, &param) in function.list_values(call.args).iter().zip(params) {
                if chosen[arg].is_none() && chosen[param].is_some() {
                    chosen.set(arg, chosen[param].clone());
                }
            }
        });
    }
    chosen
}

/// Pointers into memory the kernel only reads: arguments declared `const`, and what is computed from them.
pub(super) fn read_only(function: &Function, arguments: &[Value]) -> IdMap<Value, bool> {
    let mut read_only = IdMap::with_len(false, function.num_values());
    for &argument in arguments {
        let constant = function.ty(argument).space() == Some(Space::Constant);
        read_only.set(argument, !constant);
    }
    // Pointers flow along edges, so until nothing changes.
    loop {
        let mut changed = false;
        let mut flow = |from: Value, to: Value| {
            if read_only[from] && !read_only[to] {
                read_only.set(to, true);
                changed = true;
            }
        };
        for &block in function.blocks() {
            for &inst in function.insts(block) {
                match (*function.inst(inst), function.result(inst)) {
                    (InstData::PtrAdd { base, .. }, Some(result)) => flow(base, result),
                    (InstData::Select { args, .. }, Some(result)) => {
                        flow(args[0], result);
                        flow(args[1], result);
                    }
                    _ => function.for_each_target(inst, |call| {
                        let params = function.params(call.block).iter();
                        for (&arg, &param) in function.list_values(call.args).iter().zip(params) {
                            flow(arg, param);
                        }
                    }),
                }
            }
        }
        if !changed {
            return read_only;
        }
    }
}

impl Printer<'_> {
    /// What the variable of a pointer points at.
    pub(super) fn element(&self, pointer: Value) -> Element {
        self.elements[pointer].clone().unwrap_or_else(Element::byte)
    }

    /// `device const float*`: the type of a pointer's variable.
    pub(super) fn pointer_type(&self, pointer: Value) -> Result<String, PrintError> {
        self.pointer_to(pointer, &self.element(pointer))
    }

    fn pointer_to(&self, pointer: Value, element: &Element) -> Result<String, PrintError> {
        let space = self.space(pointer)?;
        let constant = if self.read_only[pointer] {
            "const "
        } else {
            ""
        };
        Ok(format!("{space} {constant}{}*", element.name))
    }

    fn space(&self, pointer: Value) -> Result<&'static str, PrintError> {
        match self.function.ty(pointer).kind() {
            TypeKind::Pointer(space) => types::space(space),
            _ => Err(PrintError::GenericPointer),
        }
    }

    /// An address as the variable it starts from and what is added to it.
    fn address(&self, pointer: Value) -> Address {
        let mut address = Address::of(pointer);
        self.follow(&mut address);
        address
    }

    /// Goes back to the first pointer that has a variable.
    fn follow(&self, address: &mut Address) {
        while let ValueDef::Result(inst) = self.function.def(address.root)
            && self.plan.inline[inst]
            && address.step(self.function)
        {}
    }

    /// The memory an access of `ty` through `pointer` touches, as an lvalue.
    pub(super) fn lvalue(
        &self,
        pointer: Value,
        ty: Type,
        access: Access,
    ) -> Result<Expr, PrintError> {
        let element = types::in_memory(ty, access.align())?;
        let address = self.address(pointer);
        if let Some(name) = self.references.get(&address.root)
            && address.terms.is_empty()
            && address.offset == 0
            && name.element == element
        {
            return Ok(Expr::atom(name.name.clone()));
        }
        self.subscript(&address, &element)
    }

    /// The memory at a pointer, seen as elements of this type.
    pub(super) fn place(&self, pointer: Value, element: &Element) -> Result<Expr, PrintError> {
        self.subscript(&self.address(pointer), element)
    }

    /// A pointer to elements of this type.
    pub(super) fn pointer_as(&self, pointer: Value, element: &Element) -> Result<Expr, PrintError> {
        self.address_as(&self.address(pointer), element)
    }

    fn address_as(&self, address: &Address, element: &Element) -> Result<Expr, PrintError> {
        if address.terms.is_empty() && address.offset == 0 {
            return self.root_as(address.root, element);
        }
        let lvalue = self.subscript(address, element)?;
        let text = match lvalue.text.strip_prefix('*') {
            Some(pointer) => pointer.to_owned(),
            None => format!("&{}", lvalue.within(Level::Unary)),
        };
        Ok(Expr::new(Level::Unary, text))
    }

    /// The sum a pointer variable is made of, in the variable's own type.
    pub(super) fn made_pointer(&self, pointer: Value) -> Result<Expr, PrintError> {
        let mut address = Address::of(pointer);
        address.step(self.function);
        self.follow(&mut address);
        self.address_as(&address, &self.element(pointer))
    }

    /// A pointer in the type of its own variable.
    pub(super) fn pointer(&self, pointer: Value) -> Result<Expr, PrintError> {
        self.pointer_as(pointer, &self.element(pointer))
    }

    fn root_as(&self, root: Value, element: &Element) -> Result<Expr, PrintError> {
        let own = self.root_element(root);
        let text = self.root_text(root)?;
        if own == *element {
            return Ok(text);
        }
        let pointer = self.pointer_to(root, element)?;
        Ok(Expr::new(
            Level::Unary,
            format!("({pointer}){}", text.within(Level::Unary)),
        ))
    }

    /// Returns true if an address lies in an array of the thread whose elements have this type.
    pub(super) fn is_array_of(&self, pointer: Value, ty: Type) -> bool {
        let root = self.address(pointer).root;
        match (self.allocas.get(&root), types::in_memory(ty, 8)) {
            (Some(held), Ok(element)) => *held == element,
            _ => false,
        }
    }

    /// What the text of a root points at.
    fn root_element(&self, root: Value) -> Element {
        match self.function.def(root) {
            ValueDef::Global(global) => self.global_element(global),
            ValueDef::Const(_) | ValueDef::Undef | ValueDef::Zero => Element::byte(),
            // A choice or conversion written in place is a pointer to bytes.
            ValueDef::Result(inst) if self.plan.inline[inst] => Element::byte(),
            _ => match self.allocas.get(&root) {
                Some(element) => element.clone(),
                None => match self.references.get(&root) {
                    Some(reference) => reference.element.clone(),
                    None => self.element(root),
                },
            },
        }
    }

    fn root_text(&self, root: Value) -> Result<Expr, PrintError> {
        if let Some(reference) = self.references.get(&root) {
            return Ok(Expr::new(Level::Unary, format!("&{}", reference.name)));
        }
        match self.function.def(root) {
            ValueDef::Const(bits) => {
                let space = self.space(root)?;
                Ok(Expr::new(Level::Unary, format!("({space} uchar*){bits}ul")))
            }
            ValueDef::Undef | ValueDef::Zero => {
                let space = self.space(root)?;
                Ok(Expr::new(Level::Unary, format!("({space} uchar*)0ul")))
            }
            _ => self.value(root),
        }
    }

    /// `root[index]`, in elements where every term is a whole number of them, else through bytes.
    fn subscript(&self, address: &Address, element: &Element) -> Result<Expr, PrintError> {
        let whole = |bytes: u32| {
            address.terms.iter().all(|term| term.scale % bytes == 0)
                && address.offset % i64::from(bytes) == 0
        };
        if whole(element.bytes) {
            let root = self.root_as(address.root, element)?;
            let index = self.index(address, element.bytes)?;
            return Ok(Expr::atom(format!(
                "{}[{}]",
                root.within(Level::Postfix),
                index.text
            )));
        }
        let bytes = self.root_as(address.root, &Element::byte())?;
        let index = self.index(address, 1)?;
        let pointer = self.pointer_to(address.root, element)?;
        Ok(Expr::new(
            Level::Unary,
            format!(
                "*({pointer})({} + {})",
                bytes.within(Level::Add),
                index.within(Level::Multiply)
            ),
        ))
    }

    /// The sum of an address's terms in steps of `bytes`. Sums of several terms are made in 64 bits, as in the program.
    fn index(&self, address: &Address, bytes: u32) -> Result<Expr, PrintError> {
        let offset = address.offset / i64::from(bytes);
        let alone = address.terms.len() == 1 && offset == 0;
        let mut sum: Option<Expr> = None;
        for term in address.terms.iter().rev() {
            let steps = term.scale / bytes;
            let index = self.value(term.index)?;
            let narrow = self.function.ty(term.index) != Type::I64;
            let index = match term.extend {
                IndexExtend::Sign if narrow => Expr::call(
                    types::signed_scalar(
                        self.function
                            .ty(term.index)
                            .element()
                            .unwrap_or(Scalar::I32),
                    ),
                    &[index],
                ),
                _ => index,
            };
            let wide = match term.extend {
                _ if alone && steps == 1 => index,
                _ if !narrow => index,
                IndexExtend::Sign => Expr::call("long", &[index]),
                IndexExtend::Zero => Expr::call("ulong", &[index]),
            };
            let product = if steps == 1 {
                wide
            } else {
                wide.binary(Level::Multiply, "*", &Expr::atom(format!("{steps}")))
            };
            sum = Some(match sum {
                None => product,
                Some(sum) => sum.binary(Level::Add, "+", &product),
            });
        }
        let constant = |offset: u64| Expr::atom(format!("{offset}"));
        Ok(match sum {
            None => Expr::new(Level::Unary, offset.to_string()),
            Some(sum) if offset == 0 => sum,
            Some(sum) if offset < 0 => {
                sum.binary(Level::Add, "-", &constant(offset.unsigned_abs()))
            }
            Some(sum) => sum.binary(Level::Add, "+", &constant(offset.unsigned_abs())),
        })
    }
}
