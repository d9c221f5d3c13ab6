//! Kernels and their arguments as our headers describe them.
//!
//! clang keeps `annotate` attributes in `@llvm.global.annotations`: for each annotated function its address, a
//! text, the file and line, and further constants. The text of a kernel starts with `assay.kernel 1` and names
//! every source parameter; the constants give sizes, which only the compiler knows. `assay.host_name 1` gives
//! an instantiation its name. `@assay.module` holds what is true for the whole module.

use super::{FoundKernel, Lowering};
use crate::llvm::{Attributes, Constant, Module, ValueId, ValueKind};
use assay_ssa::builtin::{Resolved, resolve};
use assay_ssa::{Argument, ArgumentAccess, Binding, Member, MemberKind, Space};
use std::collections::{BTreeMap, HashMap};

/// One entry of the list.
struct Annotation {
    function: u32,
    text: String,
    numbers: Vec<u32>,
}

pub(super) fn find(module: &Module<'_>) -> Vec<FoundKernel> {
    let annotations = annotations(module);
    let mut host_names: HashMap<u32, &str> = HashMap::new();
    for annotation in &annotations {
        let text = annotation.text.strip_prefix("assay.host_name 1\n");
        let mut lines = text.unwrap_or("").lines();
        if let Some(name) = lines.find_map(|line| line.strip_prefix("name\t")) {
            host_names.entry(annotation.function).or_insert(name);
        }
    }
    let mut kernels = BTreeMap::new();
    for annotation in &annotations {
        let Some(text) = annotation.text.strip_prefix("assay.kernel 1\n") else {
            continue;
        };
        let function = module.functions.get(annotation.function as usize);
        let Some(function) = function.filter(|function| function.body.is_some()) else {
            continue;
        };
        let mut kernel = kernel(text, annotation);
        if let Some(name) = host_names.get(&annotation.function) {
            kernel.name = (*name).to_owned();
        }
        for argument in &mut kernel.arguments {
            let attributes = argument
                .param
                .and_then(|param| module.attributes.parameter(function.attributes, param));
            argument.no_alias =
                attributes.is_some_and(|attributes| attributes.has(Attributes::NOALIAS));
        }
        kernels.entry(annotation.function).or_insert(kernel);
    }
    // The list's order differs between versions of clang; that of the functions is the source's.
    kernels.into_values().collect()
}

fn kernel(text: &str, annotation: &Annotation) -> FoundKernel {
    let mut kernel = FoundKernel {
        name: String::new(),
        function: annotation.function,
        arguments: Vec::new(),
        max_threads: annotation
            .numbers
            .first()
            .copied()
            .filter(|&number| number != 0),
    };
    let mut next_param = 0;
    for line in text.lines() {
        match line.split_once('\t') {
            Some(("name", name)) => kernel.name = name.to_owned(),
            Some(("arg", fields)) => {
                let mut argument = argument(fields);
                if !matches!(argument.binding, Binding::Builtin(_)) {
                    argument.param = Some(next_param);
                    // Binding index, size, alignment and type code of each parameter.
                    let number = |field: u32| {
                        let index = 1 + 4 * next_param + field;
                        annotation.numbers.get(index as usize).copied().unwrap_or(0)
                    };
                    argument.binding = numbered(argument.binding, number(0));
                    (argument.size, argument.align) = (number(1), number(2));
                    if argument.buffer_size.is_some() {
                        argument.buffer_size = Some(argument.size);
                    }
                    next_param += 1;
                }
                kernel.arguments.push(argument);
            }
            Some(("member", fields)) => {
                if let (Some(member), Some(argument)) =
                    (member(fields), kernel.arguments.last_mut())
                {
                    argument.members.push(member);
                }
            }
            _ => {}
        }
    }
    // Behind the numbers of parameters stand the offsets of members.
    let offsets = annotation.numbers.iter().skip(1 + 4 * next_param as usize);
    let members = kernel
        .arguments
        .iter_mut()
        .flat_map(|argument| &mut argument.members);
    for (member, offset) in members.zip(offsets) {
        member.offset = *offset;
    }
    kernel
}

/// `KIND PATH TYPE ID`, separated by tabs.
fn member(fields: &str) -> Option<Member> {
    let mut fields = fields.split('\t');
    let kind = match fields.next()? {
        "pointer" => MemberKind::Pointer,
        "texture" => MemberKind::Texture,
        "sampler" => MemberKind::Sampler,
        _ => MemberKind::Value,
    };
    Some(Member {
        kind,
        path: fields.next()?.to_owned(),
        type_name: fields.next()?.to_owned(),
        offset: 0,
        id: fields.next().and_then(|id| id.parse().ok()).unwrap_or(0),
    })
}

/// The binding with the index the compiler computed: the text only has the source's words,
/// which may name an enumerator or a template parameter.
fn numbered(binding: Binding, index: u32) -> Binding {
    match binding {
        Binding::Buffer(_) => Binding::Buffer(index),
        Binding::Threadgroup(_) => Binding::Threadgroup(index),
        Binding::Texture(_) => Binding::Texture(index),
        Binding::Sampler(_) => Binding::Sampler(index),
        other => other,
    }
}

/// `KIND INDEX SPACE ACCESS NAME TYPE FLAGS`, separated by tabs.
fn argument(fields: &str) -> Argument {
    let mut fields = fields.split('\t');
    let mut next = || fields.next().unwrap_or("");
    let (kind, index, space, access, name, type_name, flags) =
        (next(), next(), next(), next(), next(), next(), next());
    let number = index.parse().unwrap_or(0);
    let binding = match kind {
        "buffer" => Binding::Buffer(number),
        "threadgroup" => Binding::Threadgroup(number),
        "texture" => Binding::Texture(number),
        "sampler" => Binding::Sampler(number),
        "builtin" => match resolve(&format!("air.{index}")) {
            Resolved::Builtin(call) => Binding::Builtin(call.builtin),
            _ => Binding::Other,
        },
        _ => Binding::Other,
    };
    let mut argument = Argument::new(name, binding);
    argument.type_name = type_name.to_owned();
    argument.space = Space::from_name(space);
    let mut accesses = ArgumentAccess::ALL.into_iter();
    let access = accesses.find(|known| known.name() == access);
    argument.access = access.unwrap_or_default();
    for flag in flags.split(',') {
        match flag.split_once('=') {
            // Its size is known once the compiler's numbers are.
            None if flag == "reference" => argument.buffer_size = Some(0),
            Some(("function_constant", name)) => argument.condition = Some(name.to_owned()),
            _ => {}
        }
    }
    argument
}

fn annotations(module: &Module<'_>) -> Vec<Annotation> {
    let list = module
        .globals
        .iter()
        .find(|global| global.name == "llvm.global.annotations");
    let Some(initializer) = list.and_then(|list| list.initializer) else {
        return Vec::new();
    };
    let entries = parts(module, initializer).iter();
    entries
        .filter_map(|&entry| annotation(module, entry))
        .collect()
}

fn annotation(module: &Module<'_>, entry: ValueId) -> Option<Annotation> {
    let parts = parts(module, entry);
    let ValueKind::Function(function) = module.value(*parts.first()?)?.kind else {
        return None;
    };
    let text = Lowering::string_at(module, *parts.get(1)?)?;
    let numbers = parts
        .get(4)
        .map_or_else(Vec::new, |&pointer| numbers(module, pointer));
    Some(Annotation {
        function,
        text,
        numbers,
    })
}

fn parts<'m>(module: &'m Module<'_>, id: ValueId) -> &'m [ValueId] {
    match module.constant(id) {
        Some(Constant::Aggregate(span)) => module.constants.operands(*span),
        _ => &[],
    }
}

/// The numbers of a constant struct or array, reached by its address.
fn numbers(module: &Module<'_>, pointer: ValueId) -> Vec<u32> {
    let Some(ValueKind::Global(index)) = module.value(pointer).map(|value| value.kind) else {
        return Vec::new();
    };
    let initializer = module
        .globals
        .get(index as usize)
        .and_then(|global| global.initializer);
    let Some(initializer) = initializer else {
        return Vec::new();
    };
    match module.constant(initializer) {
        Some(Constant::Data(span)) => module
            .constants
            .data(*span)
            .iter()
            .map(|&number| number as u32)
            .collect(),
        Some(Constant::Aggregate(_)) => {
            let number = |&id: &ValueId| match module.constant(id) {
                Some(Constant::Int(number)) => *number as u32,
                _ => 0,
            };
            parts(module, initializer).iter().map(number).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether `@assay.module` says that fast math was on.
pub(super) fn fast_math(module: &Module<'_>) -> Option<bool> {
    let index = module
        .globals
        .iter()
        .position(|global| global.name == "assay.module")?;
    let kind = ValueKind::Global(index as u32);
    let value = module.values.iter().position(|value| value.kind == kind)?;
    let text = Lowering::string_at(module, ValueId(value as u32))?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("fast_math\t"))?;
    Some(line.trim() == "1")
}
