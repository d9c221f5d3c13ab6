//! Function constants: values a program gives when it specialises a kernel.
//!
//! In both dialects a function constant is a variable that only the loader writes, and a constructor function
//! copies it, or something computed from it, into the variables the kernel reads. A load of the function constant
//! itself becomes its value or, if none was given, the open function constant; running the constructors is the work of
//! [`construct_globals`](assay_opt::construct_globals).

use super::function::FunctionLowering;
use super::{LowerError, Lowered, Options};
use crate::llvm::{self, Body, Constant, Instruction, Module, Op, TypeId, ValueId, ValueKind};
use assay_ssa::{Access, CastOp, Flags, FunctionConstant, FunctionConstantId, Scalar, Type, Value};

/// Prefix of the variables our headers use: `assay.function_constant.INDEX.TYPE.NAME`.
const PREFIX: &str = "assay.function_constant.";

/// Prefix of the constants that hold an index which the compiler computed.
const INDEX_PREFIX: &str = "assay.function_constant_index.";

/// Structs around a vector.
const MAX_WRAPPED: usize = 4;

/// Constructors that read each other's variables are followed this deep.
const MAX_DEPTH: u32 = 32;

/// The function constants of a module and the variables constructors write.
pub(crate) struct FunctionConstants {
    entries: Vec<Entry>,
    derived: Vec<Derived>,
    open_is_zero: bool,
}

struct Entry {
    global: u32,
    id: FunctionConstantId,
    ty: Type,
    given: Option<Vec<u64>>,
}

/// A variable a constructor writes.
#[derive(Clone, Copy)]
struct Derived {
    global: u32,
    /// Index of the constructor's body.
    body: u32,
    /// What it stores; nothing when that depends on control flow.
    value: Option<ValueId>,
}

/// A function constant as the module states it.
struct Stated {
    global: u32,
    index: u32,
    name: String,
    required: bool,
}

impl FunctionConstants {
    pub(super) fn find(
        module: &Module<'_>,
        options: &Options,
        target: &mut assay_ssa::Module,
    ) -> Lowered<Self> {
        let mut entries = Vec::new();
        for stated in stated(module) {
            let global = module.globals.get(stated.global as usize);
            let Some(ty) = global.and_then(|global| number_type(module, global.ty)) else {
                continue;
            };
            let mut given = options.constants.iter().rev();
            let given = given.find(|given| given.key.is(stated.index, &stated.name));
            if let Some(given) = given.filter(|given| given.ty != ty) {
                let (name, index) = (&stated.name, stated.index);
                let message = format!(
                    "function constant {index} \"{name}\" is {ty}, the value given is {}",
                    given.ty
                );
                return Err(LowerError {
                    of_given_constant: true,
                    ..LowerError::new(message)
                });
            }
            let id = target.function_constants.push(FunctionConstant {
                index: stated.index,
                name: stated.name,
                ty,
                default: None,
                required: stated.required,
            });
            entries.push(Entry {
                global: stated.global,
                id,
                ty,
                given: given.map(|given| given.elements.clone()),
            });
        }
        Ok(FunctionConstants {
            entries,
            derived: derived(module),
            open_is_zero: options.open_is_zero,
        })
    }

    /// Whether a constructor writes a variable.
    pub(super) fn is_derived(&self, global: u32) -> bool {
        self.derived.iter().any(|derived| derived.global == global)
    }

    /// Whether the function constant in a variable was given a value.
    pub(super) fn is_given(&self, global: u32) -> bool {
        let mut entries = self.entries.iter();
        entries.any(|entry| entry.global == global && entry.given.is_some())
    }
}

fn stated(module: &Module<'_>) -> Vec<Stated> {
    let mut all = Vec::new();
    // Apple: variable, type, name, index, required.
    for &node in module.metadata.named("air.function_constants") {
        let operands = module.metadata.node(node);
        let operand = |index: usize| operands.get(index).copied().flatten();
        let global = operand(0).and_then(|id| match module.metadata.get(id)? {
            llvm::Metadata::Value(value) => match module.value(*value)?.kind {
                ValueKind::Global(index) => Some(index),
                _ => None,
            },
            _ => None,
        });
        let index = operand(3).and_then(|id| module.metadata_int(id));
        if let (Some(global), Some(index)) = (global, index) {
            let name = operand(2).and_then(|id| module.metadata.string(id));
            all.push(Stated {
                global,
                index: index as u32,
                name: name.map_or_else(String::new, |name| name.into_owned()),
                required: operand(4).and_then(|id| module.metadata_int(id)) != Some(0),
            });
        }
    }
    for (global, variable) in module.globals.iter().enumerate() {
        let mut parts = variable
            .name
            .strip_prefix(PREFIX)
            .unwrap_or("")
            .splitn(3, '.');
        let (index, _type_name, name) = (parts.next(), parts.next(), parts.next());
        let index = index.and_then(|index| stated_index(module, index));
        if let (Some(index), Some(name)) = (index, name) {
            all.push(Stated {
                global: global as u32,
                index,
                name: name.to_owned(),
                required: true,
            });
        }
    }
    all
}

/// The index in a symbol: a number, or the name of a constant that holds it.
fn stated_index(module: &Module<'_>, text: &str) -> Option<u32> {
    let Some(number) = text.strip_prefix('?') else {
        return text.parse().ok();
    };
    let holds = |name: &str| name.strip_prefix(INDEX_PREFIX) == Some(number);
    let mut globals = module.globals.iter();
    let initializer = globals.find(|global| holds(&global.name))?.initializer?;
    match module.constant(initializer)? {
        Constant::Int(index) => u32::try_from(*index).ok(),
        Constant::Null => Some(0),
        _ => None,
    }
}

/// Scalars and short vectors; function constants are nothing else. Our headers have vectors as structs around one.
pub(super) fn number_type(module: &Module<'_>, mut id: TypeId) -> Option<Type> {
    for _ in 0..MAX_WRAPPED {
        match module.types.get(id)? {
            llvm::Type::Struct { fields, .. } if fields.len() == 1 => id = *fields.first()?,
            _ => break,
        }
    }
    let scalar = |id: TypeId| {
        Some(match module.types.get(id)? {
            llvm::Type::Int(bits) => Scalar::int(*bits)?,
            llvm::Type::Half => Scalar::F16,
            llvm::Type::BFloat => Scalar::BF16,
            llvm::Type::Float => Scalar::F32,
            _ => return None,
        })
    };
    match module.types.get(id)? {
        llvm::Type::Vector(lanes @ 1..=16, element) => {
            Some(Type::vector(scalar(*element)?, *lanes as u8))
        }
        _ => Some(Type::scalar(scalar(id)?)),
    }
}

/// The constructors `@llvm.global_ctors` lists.
pub(super) fn constructors(module: &Module<'_>) -> Vec<u32> {
    let list = module
        .globals
        .iter()
        .find(|global| global.name == "llvm.global_ctors");
    let Some(Constant::Aggregate(entries)) =
        list.and_then(|list| module.constant(list.initializer?))
    else {
        return Vec::new();
    };
    let entries = module.constants.operands(*entries).iter();
    let function = |&entry: &ValueId| {
        let Constant::Aggregate(parts) = module.constant(entry)? else {
            return None;
        };
        let function = *module.constants.operands(*parts).get(1)?;
        let ValueKind::Function(function) = module.value(function)?.kind else {
            return None;
        };
        Some(function)
    };
    entries.filter_map(function).collect()
}

fn derived(module: &Module<'_>) -> Vec<Derived> {
    let mut all: Vec<Derived> = Vec::new();
    for function in constructors(module) {
        let function = module.functions.get(function as usize);
        let Some(index) = function.and_then(|function| function.body) else {
            continue;
        };
        let Some(body) = module.bodies.get(index as usize) else {
            continue;
        };
        for instruction in &body.instructions {
            let Op::Store { pointer, value, .. } = instruction.op else {
                continue;
            };
            let Some(global) = global_behind(module, body, pointer) else {
                continue;
            };
            all.retain(|known| known.global != global);
            all.push(Derived {
                global,
                body: index,
                value: (body.blocks.len() == 1).then_some(value),
            });
        }
    }
    all
}

/// The variable a pointer is the address of, exactly.
pub(super) fn global_behind(module: &Module<'_>, body: &Body<'_>, pointer: ValueId) -> Option<u32> {
    let mut id = pointer;
    for _ in 0..8 {
        // A body only ever borrows its module's values, so the lookup may be done by hand.
        let local = id.0.checked_sub(body.first_local);
        let kind = match local {
            Some(local) => body.values.get(local as usize)?.kind,
            None => module.value(id)?.kind,
        };
        let constant = match kind {
            ValueKind::Global(index) => return Some(index),
            ValueKind::ModuleConstant(index) => module.constants.get(index)?,
            ValueKind::LocalConstant(index) => body.constants.get(index)?,
            _ => return None,
        };
        match constant {
            Constant::Cast { operand, .. } => id = *operand,
            _ => return None,
        }
    }
    None
}

/// The values an instruction of a constructor computes with.
fn operands_of(body: &Body<'_>, instruction: &Instruction) -> Vec<ValueId> {
    match instruction.op {
        Op::Binary { operands, .. } | Op::Compare { operands, .. } => operands.to_vec(),
        Op::Cast { operand, .. } | Op::FNeg { operand, .. } | Op::Freeze { operand } => {
            vec![operand]
        }
        Op::Select {
            condition,
            operands: [a, b],
            ..
        } => vec![condition, a, b],
        Op::ExtractElement { vector, index } => vec![vector, index],
        Op::InsertElement {
            vector,
            element,
            index,
        } => vec![vector, element, index],
        Op::ShuffleVector { operands, .. } => operands.to_vec(),
        Op::ExtractValue { aggregate, .. } => vec![aggregate],
        Op::InsertValue {
            aggregate, element, ..
        } => vec![aggregate, element],
        Op::Call { arguments, .. } => body.list(arguments).iter().map(|&id| ValueId(id)).collect(),
        _ => Vec::new(),
    }
}

/// Which instructions of a straight-line body a value depends on.
fn needed(body: &Body<'_>, value: ValueId) -> Vec<bool> {
    let mut needed = vec![false; body.instructions.len()];
    let mut wanted = vec![value];
    while let Some(id) = wanted.pop() {
        let local = id.0.checked_sub(body.first_local);
        let kind = local
            .and_then(|local| body.values.get(local as usize))
            .map(|value| value.kind);
        let Some(ValueKind::Instruction(index)) = kind else {
            continue;
        };
        let slot = needed.get_mut(index as usize);
        let seen = slot.is_none_or(|slot| std::mem::replace(slot, true));
        if let (false, Some(instruction)) = (seen, body.instructions.get(index as usize)) {
            wanted.extend(operands_of(body, instruction));
        }
    }
    needed
}

/// The name of the function constant a variable holds or is computed from.
pub(super) fn name_behind(module: &Module<'_>, global: u32) -> Option<String> {
    let all = stated(module);
    let derived = derived(module);
    let mut next = global;
    for _ in 0..MAX_DEPTH {
        if let Some(found) = all.iter().find(|constant| constant.global == next) {
            return Some(found.name.clone());
        }
        let source = derived.iter().find(|derived| derived.global == next)?;
        let body = module.bodies.get(source.body as usize)?;
        let needed = needed(body, source.value?);
        let mut loads = body
            .instructions
            .iter()
            .zip(needed)
            .filter(|(_, needed)| *needed);
        next = loads.find_map(|(instruction, _)| match instruction.op {
            Op::Load { pointer, .. } => global_behind(module, body, pointer),
            _ => None,
        })?;
    }
    None
}

impl FunctionLowering<'_, '_, '_> {
    /// The value of a variable that holds a function constant.
    pub(super) fn function_constant_load(
        &mut self,
        pointer: ValueId,
        ty: TypeId,
    ) -> Lowered<Option<Value>> {
        let constants = &self.lowering.constants;
        if constants.entries.is_empty() {
            return Ok(None);
        }
        let Some(global) = global_behind(self.lowering.source, self.body, pointer) else {
            return Ok(None);
        };
        let Some(value) = self.function_constant(global)? else {
            return Ok(None);
        };
        let (given, wanted) = (self.function.ty(value), self.lowering.ty(ty)?);
        let size = |ty: Type| self.lowering.target.types.store_size(ty);
        if given == wanted {
            return Ok(Some(value));
        }
        if size(given) != size(wanted) {
            // A part of it.
            return Ok(None);
        }
        let mut builder = self.builder();
        Ok(Some(builder.cast(
            CastOp::Bitcast,
            value,
            wanted,
            Flags::NONE,
        )))
    }

    /// A copy in thread memory of what a variable holds if that comes from a function constant, for those that read it in
    /// parts.
    pub(super) fn function_constant_copy(&mut self, global: u32) -> Lowered<Option<Value>> {
        let Some(value) = self.function_constant(global)? else {
            return Ok(None);
        };
        let ty = self.function.ty(value);
        let copy = self.entry_alloca(ty, 0);
        let align = self.lowering.target.types.align(ty).next_power_of_two();
        self.builder().store(copy, value, Access::aligned(align));
        Ok(Some(copy))
    }

    /// What a variable holds that is a function constant.
    fn function_constant(&mut self, global: u32) -> Lowered<Option<Value>> {
        let constants = &self.lowering.constants;
        let mut entries = constants.entries.iter();
        if let Some(entry) = entries.find(|entry| entry.global == global) {
            let (id, ty) = (entry.id, entry.ty);
            let zero = || vec![0; usize::from(ty.lanes()).max(1)];
            let given = entry.given.clone();
            let given = given.or_else(|| constants.open_is_zero.then(zero));
            return Ok(Some(match given {
                Some(elements) => self.function.constant_vector(ty, &elements),
                None => self.function.function_constant(ty, id),
            }));
        }
        Ok(None)
    }
}
