//! Kernels as programs: the document.

use super::statistics::Counts;
use crate::Program;
use assay_ssa::{Argument, Binding};
use serde::Serialize;

#[cfg(feature = "schema")]
use schemars::JsonSchema;

/// Kernels as programs.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Document {
    file: String,
    kernels: Vec<KernelEntry>,
}

/// One kernel.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
struct KernelEntry {
    name: String,
    /// `[[max_total_threads_per_threadgroup]]`, if declared.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_threads: Option<u32>,
    arguments: Vec<ArgumentEntry>,
    function_constants: Vec<ConstantEntry>,
    /// Whether the program was optimised.
    optimised: bool,
    statistics: Counts,
    /// Callees that are neither functions of the module nor known builtins.
    unknown_builtins: Vec<String>,
    /// The program in its text form.
    text: String,
}

/// An argument of a kernel.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
struct ArgumentEntry {
    name: String,
    /// buffer, threadgroup, texture, sampler, stage_in, builtin or other.
    kind: &'static str,
    /// Binding index of buffers, textures and samplers.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<u32>,
    /// Which position or size a builtin argument is.
    #[serde(skip_serializing_if = "Option::is_none")]
    builtin: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    space: Option<&'static str>,
    access: &'static str,
    #[serde(rename = "type")]
    type_name: String,
    /// Bytes of one element; absent when not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    align: Option<u32>,
    no_alias: bool,
    unused: bool,
    /// The function constant that must be true for the argument to exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    condition: Option<String>,
}

/// A function constant.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
struct ConstantEntry {
    index: u32,
    name: String,
    #[serde(rename = "type")]
    ty: String,
    required: bool,
}

impl Document {
    /// The programs of a file's kernels.
    pub fn new(file: &str, programs: &[Program]) -> Self {
        let kernels = programs.iter().flat_map(|program| {
            let kernels = program.module.kernels.iter();
            kernels.map(move |kernel| KernelEntry::new(program, kernel))
        });
        Document {
            file: file.to_owned(),
            kernels: kernels.collect(),
        }
    }
}

impl KernelEntry {
    fn new(program: &Program, kernel: &assay_ssa::Kernel) -> Self {
        let module = &program.module;
        let constants = module.function_constants.as_slice().iter();
        KernelEntry {
            name: kernel.name.clone(),
            max_threads: kernel.max_threads,
            arguments: kernel.arguments.iter().map(ArgumentEntry::new).collect(),
            function_constants: constants
                .map(|constant| ConstantEntry {
                    index: constant.index,
                    name: constant.name.clone(),
                    ty: constant.ty.to_string(),
                    required: constant.required,
                })
                .collect(),
            optimised: program.optimised,
            statistics: Counts::of(module),
            unknown_builtins: module.symbols.as_slice().to_vec(),
            text: assay_ssa::print(module),
        }
    }
}

impl ArgumentEntry {
    fn new(argument: &Argument) -> Self {
        let (kind, index, builtin) = match argument.binding {
            Binding::Buffer(index) => ("buffer", Some(index), None),
            Binding::Threadgroup(index) => ("threadgroup", Some(index), None),
            Binding::Texture(index) => ("texture", Some(index), None),
            Binding::Sampler(index) => ("sampler", Some(index), None),
            Binding::StageIn(index) => ("stage_in", Some(index), None),
            Binding::Builtin(builtin) => ("builtin", None, Some(builtin.info().name)),
            Binding::Other => ("other", None, None),
        };
        let said = |number: u32| (number != 0).then_some(number);
        ArgumentEntry {
            name: argument.name.clone(),
            kind,
            index,
            builtin,
            space: argument.space.map(assay_ssa::Space::name),
            access: argument.access.name(),
            type_name: argument.type_name.clone(),
            size: said(argument.size),
            align: said(argument.align),
            no_alias: argument.no_alias,
            unused: argument.unused,
            condition: argument.condition.clone(),
        }
    }
}
