//! Kernels and their arguments as Apple's compiler describes them in `!air.kernel`.

use super::FoundKernel;
use super::function_constants::name_behind;
use crate::llvm::{Attributes, Metadata, MetadataId, Module, ValueKind};
use assay_ssa::builtin::{Family, Resolved, resolve};
use assay_ssa::{Argument, ArgumentAccess, Binding, FloatMode, Space};

/// The kernels `!air.kernel` lists: function, attributes, arguments, further properties.
pub(super) fn find(module: &Module<'_>) -> Vec<FoundKernel> {
    let nodes = module.metadata.named("air.kernel").iter();
    nodes.filter_map(|&node| kernel(module, node)).collect()
}

fn kernel(module: &Module<'_>, node: MetadataId) -> Option<FoundKernel> {
    let operands = module.metadata.node(node);
    let function = function_of(module, (*operands.first()?)?)?;
    let declared = module.functions.get(function as usize)?;
    let mut max_threads = None;
    for property in operands.iter().skip(3).flatten() {
        let property = module.metadata.node(*property);
        let name = property.first().copied().flatten();
        let name = name.and_then(|name| module.metadata.string(name));
        if name.as_deref() == Some("air.max_work_group_size") {
            let number = property.get(1).copied().flatten();
            let number = number.and_then(|number| module.metadata_int(number));
            max_threads = number.and_then(|number| u32::try_from(number).ok());
        }
    }
    let list = operands.get(2).copied().flatten();
    let list = list.map_or(&[][..], |list| module.metadata.node(list));
    let arguments = list
        .iter()
        .flatten()
        .filter_map(|&node| argument(module, declared.attributes, node));
    Some(FoundKernel {
        name: declared.name.to_string(),
        function,
        arguments: arguments.collect(),
        max_threads,
    })
}

fn function_of(module: &Module<'_>, id: MetadataId) -> Option<u32> {
    match value_of(module, id)? {
        ValueKind::Function(index) => Some(index),
        _ => None,
    }
}

fn value_of(module: &Module<'_>, id: MetadataId) -> Option<ValueKind> {
    match module.metadata.get(id)? {
        Metadata::Value(value) => Some(module.value(*value)?.kind),
        _ => None,
    }
}

/// One argument: its parameter, then a list of words, some followed by values.
fn argument(module: &Module<'_>, attributes: u32, node: MetadataId) -> Option<Argument> {
    let operands = module.metadata.node(node);
    let param = module.metadata_int((*operands.first()?)?)?;
    let param = u32::try_from(param).ok()?;
    let mut argument = Argument::new("", Binding::Other);
    argument.param = Some(param);
    let mut kind = String::new();
    let mut index = None;
    let mut rest = operands.iter().skip(1).copied();
    while let Some(operand) = rest.next() {
        let Some(word) = operand.and_then(|id| module.metadata.string(id)) else {
            continue;
        };
        let mut next = || rest.next().flatten();
        let mut number = || {
            let number = next().and_then(|id| module.metadata_int(id))?;
            u32::try_from(number).ok()
        };
        match &*word {
            "air.location_index" => {
                index = number();
                // How many indices it takes.
                number();
            }
            "air.buffer_size" => argument.buffer_size = number(),
            "air.address_space" => {
                argument.space = match number() {
                    Some(1) => Some(Space::Device),
                    Some(2) => Some(Space::Constant),
                    Some(3) => Some(Space::Threadgroup),
                    _ => None,
                };
            }
            "air.arg_type_size" => argument.size = number().unwrap_or(0),
            "air.arg_type_align_size" => argument.align = number().unwrap_or(0),
            "air.arg_type_name" => argument.type_name = text(module, next()),
            "air.arg_name" => argument.name = text(module, next()),
            "air.struct_type_info" => {
                next();
            }
            "air.function_constant" => {
                let global = next().and_then(|id| value_of(module, id));
                if let Some(ValueKind::Global(global)) = global {
                    argument.condition = name_behind(module, global);
                }
            }
            "air.read" => argument.access = ArgumentAccess::Read,
            "air.write" => argument.access = ArgumentAccess::Write,
            "air.read_write" => argument.access = ArgumentAccess::ReadWrite,
            "air.arg_unused" => argument.unused = true,
            _ if kind.is_empty() => kind = word.into_owned(),
            _ => {}
        }
    }
    argument.binding = binding(&kind, index, argument.space);
    if argument.binding == Binding::Other && argument.type_name.is_empty() {
        argument.type_name = kind;
    }
    let attributes = module.attributes.parameter(attributes, param);
    argument.no_alias = attributes.is_some_and(|attributes| {
        attributes.has(Attributes::NOALIAS) || attributes.string("air-buffer-no-alias").is_some()
    });
    Some(argument)
}

fn text(module: &Module<'_>, id: Option<MetadataId>) -> String {
    let text = id.and_then(|id| module.metadata.string(id));
    text.map_or_else(String::new, |text| text.into_owned())
}

fn binding(kind: &str, index: Option<u32>, space: Option<Space>) -> Binding {
    match (kind, index) {
        ("air.buffer" | "air.indirect_buffer", Some(index)) => match space {
            Some(Space::Threadgroup) => Binding::Threadgroup(index),
            _ => Binding::Buffer(index),
        },
        ("air.texture", Some(index)) => Binding::Texture(index),
        ("air.sampler", Some(index)) => Binding::Sampler(index),
        ("air.stage_in", Some(index)) => Binding::StageIn(index),
        (name, _) => match resolve(name) {
            Resolved::Builtin(call) if call.info().family == Family::Position => {
                Binding::Builtin(call.builtin)
            }
            _ => Binding::Other,
        },
    }
}

/// How floats were compiled: Apple lists compiler options, our headers leave a record.
pub(super) fn float_mode(module: &Module<'_>) -> FloatMode {
    let mut mode = FloatMode::default();
    for &node in module.metadata.named("air.compile_options") {
        for option in module.metadata.node(node).iter().flatten() {
            match module.metadata.string(*option).as_deref() {
                Some("air.compile.fast_math_enable") => mode.fast_math = Some(true),
                Some("air.compile.fast_math_disable") => mode.fast_math = Some(false),
                Some("air.compile.denorms_disable") => mode.flush_denormals = Some(true),
                Some("air.compile.denorms_enable") => mode.flush_denormals = Some(false),
                _ => {}
            }
        }
    }
    if mode.fast_math.is_none() {
        mode.fast_math = super::annotations::fast_math(module);
    }
    mode
}
