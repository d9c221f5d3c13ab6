//! What stands around a kernel's statements: its arguments, and data outside it.

use super::names::Names;
use super::types::{self, Element};
use super::{PrintError, Printer, literal};
use assay_ssa::builtin::Family;
use assay_ssa::{
    ArgumentAccess, Binding, Builtin, Callee, Function, Global, GlobalData, GlobalId, Id, IdMap,
    InstData, Kernel, Module, Scalar, Space, Type, TypeKind, Value, ValueDef,
};
use std::collections::{BTreeMap, HashMap};

/// A position or size as an argument.
pub(super) struct Position {
    pub(super) name: String,
    pub(super) ty: Type,
}

/// An argument of constant memory written as a reference.
pub(super) struct Reference {
    pub(super) name: String,
    pub(super) element: Element,
}

/// What every printed text starts with: arithmetic is exactly what the text says.
pub const PREAMBLE: &str = "#include <metal_stdlib>
using namespace metal;

#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)

";

fn parameter(kernel: &Kernel, function: &Function, at: usize) -> Option<Value> {
    let entry = function.entry()?;
    let param = kernel.arguments.get(at)?.param?;
    function.params(entry).get(param as usize).copied()
}

/// Arguments of constant memory that only ever give one number at their start.
pub(super) fn references(kernel: &Kernel, function: &Function) -> HashMap<Value, Element> {
    let mut found = HashMap::new();
    for at in 0..kernel.arguments.len() {
        let argument = &kernel.arguments[at];
        let Some(value) = parameter(kernel, function, at) else {
            continue;
        };
        let whole = argument
            .buffer_size
            .is_some_and(|size| size == argument.size);
        if argument.space == Some(Space::Constant)
            && whole
            && let Some(element) = only_load(function, value)
            && element.bytes == argument.size
        {
            found.insert(value, element);
        }
    }
    found
}

/// The type every use of a pointer loads, if all are loads of one type.
fn only_load(function: &Function, pointer: Value) -> Option<Element> {
    let mut only: Option<Element> = None;
    for &block in function.blocks() {
        for &inst in function.insts(block) {
            let mut uses = false;
            function.for_each_operand(inst, |value| uses |= value == pointer);
            if !uses {
                continue;
            }
            let &InstData::Load { ptr, access } = function.inst(inst) else {
                return None;
            };
            if ptr != pointer || access.is_atomic() || access.volatile {
                return None;
            }
            let element = types::in_memory(function.result_type(inst), access.align()).ok()?;
            match &only {
                None => only = Some(element),
                Some(known) if *known == element => {}
                Some(_) => return None,
            }
        }
    }
    only
}

/// Arguments that are declared `const`.
pub(super) fn read_arguments(kernel: &Kernel, function: &Function) -> Vec<Value> {
    let read = |at: &usize| kernel.arguments[*at].access == ArgumentAccess::Read;
    (0..kernel.arguments.len())
        .filter(read)
        .filter_map(|at| parameter(kernel, function, at))
        .collect()
}

/// The positions a kernel reads, with the names of its own arguments where it has them.
pub(super) fn positions(
    kernel: &Kernel,
    function: &Function,
    names: &mut Names,
) -> BTreeMap<Builtin, Position> {
    // Lanes and width of what is read: `x` alone of a vector counts as one number.
    let mut read: BTreeMap<Builtin, (u8, Scalar)> = BTreeMap::new();
    for &block in function.blocks() {
        for &inst in function.insts(block) {
            let position = |value: Value| match function.def_data(value) {
                Some(InstData::Call {
                    callee: Callee::Builtin(call),
                    ..
                }) if call.info().family == Family::Position => {
                    Some((call.builtin, function.ty(value)))
                }
                _ => None,
            };
            let extracted = match *function.inst(inst) {
                InstData::Extract { vector, index } => match function.def(index) {
                    ValueDef::Const(at) => position(vector).map(|found| (found, at as u8 + 1)),
                    _ => None,
                },
                _ => None,
            };
            let mut note = |builtin: Builtin, lanes: u8, ty: Type| {
                let entry = read.entry(builtin).or_insert((1, Scalar::I16));
                entry.0 = entry.0.max(lanes);
                entry.1 = entry.1.max(ty.element().unwrap_or(Scalar::I32));
            };
            if let Some(((builtin, ty), lanes)) = extracted {
                note(builtin, lanes, ty);
                continue;
            }
            function.for_each_operand(inst, |value| {
                if let Some((builtin, ty)) = position(value) {
                    note(builtin, ty.lanes(), ty);
                }
            });
        }
    }
    let mut made = BTreeMap::new();
    for (builtin, (lanes, width)) in read {
        let own = kernel
            .arguments
            .iter()
            .find(|argument| argument.binding == Binding::Builtin(builtin));
        let name = names.fresh(own.map_or(builtin.info().name, |argument| &argument.name));
        let width = if width == Scalar::I64 {
            Scalar::I32
        } else {
            width
        };
        let ty = Type::vector(width, lanes);
        made.insert(builtin, Position { name, ty });
    }
    let widest = made.iter().filter(|(builtin, _)| is_of_grid(**builtin));
    let widest = widest.map(|(_, position)| position.ty.lanes()).max();
    for (_, position) in made.iter_mut().filter(|(builtin, _)| is_of_grid(**builtin)) {
        let element = position.ty.element().unwrap_or(Scalar::I32);
        position.ty = Type::vector(element, widest.unwrap_or(1));
    }
    made
}

/// Returns true for inputs that Apple's compiler takes as scalars, or as vectors of one width, in the same kernel.
fn is_of_grid(builtin: Builtin) -> bool {
    matches!(
        builtin,
        Builtin::ThreadPositionInGrid
            | Builtin::ThreadPositionInThreadgroup
            | Builtin::ThreadgroupPositionInGrid
            | Builtin::ThreadsPerThreadgroup
            | Builtin::DispatchThreadsPerThreadgroup
            | Builtin::ThreadsPerGrid
            | Builtin::ThreadgroupsPerGrid
            | Builtin::GridOrigin
            | Builtin::GridSize
    )
}

/// What arrays of the thread hold.
pub(super) fn allocas(
    module: &Module,
    function: &Function,
    elements: &IdMap<Value, Option<Element>>,
) -> HashMap<Value, Element> {
    let mut found = HashMap::new();
    for &block in function.blocks() {
        for &inst in function.insts(block) {
            if let (InstData::Alloca { ty, .. }, Some(value)) =
                (function.inst(inst), function.result(inst))
            {
                let bytes = module.types.stride(*ty);
                found.insert(value, fitting(elements[value].clone(), bytes));
            }
        }
    }
    found
}

/// What data outside the kernel holds.
pub(super) fn global_elements(
    module: &Module,
    function: &Function,
    elements: &IdMap<Value, Option<Element>>,
) -> BTreeMap<GlobalId, Element> {
    let mut found = BTreeMap::new();
    for index in 0..function.num_values() {
        let value = Value::from_index(index);
        if let ValueDef::Global(id) = function.def(value)
            && let Some(global) = module.globals.get(id)
        {
            let bytes = module.types.stride(global.ty);
            let element = match global.data {
                // Its contents are written as numbers of their own type, or as words.
                GlobalData::Bytes(_) => data_element(module, global),
                _ => elements[value].clone(),
            };
            found.entry(id).or_insert(fitting(element, bytes));
        }
    }
    found
}

fn fitting(element: Option<Element>, bytes: u32) -> Element {
    match element {
        Some(element) if bytes.is_multiple_of(element.bytes) => element,
        _ => Element::byte(),
    }
}

/// The number type of a table.
fn data_scalar(module: &Module, ty: Type) -> Option<Scalar> {
    match ty.kind() {
        TypeKind::Scalar(of) => Some(of),
        TypeKind::Vector(of, lanes) if lanes != 3 => Some(of),
        TypeKind::Aggregate(_) => match module.types.of(ty)? {
            assay_ssa::Aggregate::Array { element, .. } => data_scalar(module, *element),
            assay_ssa::Aggregate::Struct { .. } => None,
        },
        _ => None,
    }
}

fn data_element(module: &Module, global: &Global) -> Option<Element> {
    let scalar = data_scalar(module, global.ty).filter(|of| *of != Scalar::I1)?;
    types::in_memory(Type::scalar(scalar), scalar.bytes()).ok()
}

impl Printer<'_> {
    /// Everything before the first statement.
    pub(super) fn head(&self) -> Result<String, PrintError> {
        let mut text = PREAMBLE.to_owned();
        for (id, constant) in self.module.function_constants.iter() {
            let name = self.names.function_constant(id);
            let ty = types::value(constant.ty)?;
            text += &format!(
                "constant {ty} {name} [[function_constant({})]];\n",
                constant.index
            );
        }
        for (&id, element) in &self.globals {
            if let Some(global) = self.module.globals.get(id)
                && global.space == Space::Constant
            {
                text += &self.table(id, global, element)?;
            }
        }
        if !text.ends_with("\n\n") {
            text.push('\n');
        }
        text += &self.declaration_line()?;
        for (&id, element) in &self.globals {
            if let Some(global) = self.module.globals.get(id)
                && global.space == Space::Threadgroup
            {
                let count = self.module.types.stride(global.ty) / element.bytes.max(1);
                let align = aligned(global.align, element);
                let name = self.names.global(id);
                text += &format!(
                    "    {align}threadgroup {} {name}[{}];\n",
                    element.name,
                    count.max(1)
                );
            }
        }
        Ok(text)
    }

    /// `kernel void name(arguments) {`.
    fn declaration_line(&self) -> Result<String, PrintError> {
        let mut attributes = String::new();
        if let Some(most) = self.kernel.max_threads {
            attributes += &format!("[[max_total_threads_per_threadgroup({most})]]\n");
        }
        let identifier = is_identifier(&self.kernel.name);
        let name = if identifier {
            self.kernel.name.clone()
        } else {
            "kernel_function".to_owned()
        };
        if !identifier {
            attributes += &format!("[[host_name(\"{}\")]]\n", self.kernel.name.escape_default());
        }
        let mut arguments = Vec::new();
        for (at, argument) in self.kernel.arguments.iter().enumerate() {
            let attribute = match argument.binding {
                Binding::Buffer(index) => format!("buffer({index})"),
                Binding::Threadgroup(index) => format!("threadgroup({index})"),
                Binding::Builtin(_) => continue,
                Binding::Texture(_) | Binding::Sampler(_) => return Err(PrintError::Texture),
                Binding::StageIn(_) | Binding::Other => {
                    return Err(PrintError::Operation(
                        "an argument Metal has no attribute for",
                    ));
                }
            };
            let condition = match &argument.condition {
                Some(condition) => format!(", function_constant({condition})"),
                None => String::new(),
            };
            let declared = match parameter(self.kernel, self.function, at) {
                Some(value) => match self.references.get(&value) {
                    Some(reference) => {
                        format!("constant {}& {}", reference.element.name, reference.name)
                    }
                    None => format!("{} {}", self.pointer_type(value)?, self.names.of(value)),
                },
                None => format!("device uchar* unused{at}"),
            };
            arguments.push(format!("{declared} [[{attribute}{condition}]]"));
        }
        for (builtin, position) in &self.positions {
            let ty = types::value(position.ty)?;
            arguments.push(format!(
                "{ty} {} [[{}]]",
                position.name,
                builtin.info().name
            ));
        }
        let list = arguments.join(",\n    ");
        Ok(format!("{attributes}kernel void {name}(\n    {list}) {{\n"))
    }

    /// An array of the thread.
    pub(super) fn array(&self, value: Value) -> Result<String, PrintError> {
        let Some(InstData::Alloca { ty, align }) = self.function.def_data(value) else {
            return Err(PrintError::Operation("an array"));
        };
        let element = self
            .allocas
            .get(&value)
            .cloned()
            .unwrap_or_else(Element::byte);
        let count = self.module.types.stride(*ty) / element.bytes.max(1);
        let align = aligned(*align, &element);
        let name = self.names.of(value);
        Ok(format!("{align}{} {name}[{}];", element.name, count.max(1)))
    }

    /// A constant table with its contents.
    fn table(
        &self,
        id: GlobalId,
        global: &Global,
        element: &Element,
    ) -> Result<String, PrintError> {
        let scalar = data_scalar(self.module, global.ty)
            .filter(|of| *of != Scalar::I1 && types::scalar(*of) == element.name)
            .unwrap_or(Scalar::I8);
        let bytes = self.module.types.stride(global.ty);
        let count = bytes / scalar.bytes();
        let zeros = vec![0u8; bytes as usize];
        let data = match &global.data {
            GlobalData::Bytes(data) => data,
            GlobalData::Zero | GlobalData::Undefined => &zeros,
        };
        let numbers: Vec<String> = data
            .chunks(scalar.bytes() as usize)
            .map(|chunk| {
                let mut word = [0u8; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                literal::scalar(scalar, u64::from_le_bytes(word))
            })
            .collect();
        let align = aligned(global.align, element);
        Ok(format!(
            "{align}constant {} {}[{count}] = {{{}}};\n",
            types::scalar(scalar),
            self.names.global(id),
            numbers.join(", ")
        ))
    }
}

fn aligned(align: u32, element: &Element) -> String {
    if align > element.bytes {
        return format!("alignas({align}) ");
    }
    String::new()
}

fn is_identifier(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
