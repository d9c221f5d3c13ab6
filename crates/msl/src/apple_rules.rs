//! What Apple's compiler refuses and clang would take: `docs/apple-rules.md` has each rule with its source.
//!
//! A source that breaks one of these compiles on Linux and not on a Mac, which is the worst moment to learn of it. Only
//! what is certain from the text is refused; a type that is an alias or depends on a template is left alone.

use crate::attributes;
use crate::kernel_info::{ArgumentKind, Space};
use crate::kernels::definitions;
use crate::lexer::Tokens;
use crate::outline::{Item, Outline};
use crate::parameter::{self, Parameter};
use crate::rewrite::Problem;
use std::ops::Range;

/// Inputs that are scalars, or vectors of one width, in the same kernel.
pub const GRID_INPUTS: [&str; 7] = [
    "dispatch_threads_per_threadgroup",
    "thread_position_in_grid",
    "thread_position_in_threadgroup",
    "threadgroup_position_in_grid",
    "threadgroups_per_grid",
    "threads_per_grid",
    "threads_per_threadgroup",
];

/// Attributes of a kernel that stand before its declaration.
const BEFORE: [&str; 2] = ["host_name", "max_total_threads_per_threadgroup"];

/// Breaches of the rules in the kernels of a source.
pub(crate) fn check(tokens: &Tokens<'_>, outline: &Outline) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (item, name, parameters, body) in definitions(tokens, outline) {
        let read = parameter::read_all(tokens, parameters);
        problems.extend(grid_inputs(tokens, name, &read));
        problems.extend(read.iter().filter_map(|it| input_type(tokens, it)));
        problems.extend(read.iter().filter_map(|it| address_space(tokens, it)));
        problems.extend(result(tokens, item, name));
        problems.extend(behind(tokens, parameters.end..body.start));
    }
    problems
}

fn problem(tokens: &Tokens<'_>, at: usize, message: String) -> Problem {
    Problem {
        offset: tokens.list.get(at).map_or(0, |token| token.start as usize),
        message,
        note: None,
    }
}

/// The attribute of an input, if a parameter is one.
fn input(parameter: &Parameter) -> Option<&str> {
    match &parameter.argument.kind {
        ArgumentKind::Builtin(name) => Some(name),
        _ => None,
    }
}

/// Positions and sizes in the grid have one width.
fn grid_inputs(tokens: &Tokens<'_>, kernel: usize, parameters: &[Parameter]) -> Option<Problem> {
    let inputs = parameters.iter().filter_map(|parameter| {
        let name = input(parameter).filter(|name| GRID_INPUTS.contains(name))?;
        let width = lanes(&parameter.argument.type_name)?;
        Some((parameter, name, width))
    });
    let inputs: Vec<(&Parameter, &str, u32)> = inputs.collect();
    let (first, first_name, width) = inputs.first()?;
    let (other, other_name, _) = inputs.iter().find(|(_, _, other)| other != width)?;
    let message = format!(
        "kernel '{}': {first_name} is {} and {other_name} is {}: Apple's compiler expects all of them as scalars, or all as \
         vectors of one width",
        tokens.get(kernel),
        first.argument.type_name,
        other.argument.type_name
    );
    Some(problem(
        tokens,
        other.name.unwrap_or(other.range.start),
        message,
    ))
}

/// Inputs are unsigned.
fn input_type(tokens: &Tokens<'_>, parameter: &Parameter) -> Option<Problem> {
    let name = input(parameter)?;
    let written = bare(&parameter.argument.type_name);
    let element = written.trim_end_matches(['2', '3', '4']);
    let signed = ["int", "short", "char", "long", "float", "half"];
    signed.contains(&element).then(|| {
        let message = format!(
            "type '{written}' is not valid for attribute '{name}': expected uint or ushort, or a vector of them"
        );
        problem(tokens, parameter.range.start, message)
    })
}

/// Pointers and references say where they point.
fn address_space(tokens: &Tokens<'_>, parameter: &Parameter) -> Option<Problem> {
    let indirection = parameter.indirection?;
    let argument = &parameter.argument;
    let buffer = argument.kind == ArgumentKind::Buffer || argument.kind == ArgumentKind::Other;
    let open = buffer
        && argument.space == Space::None
        && !parameter.tensor
        && parameter.elements.is_none()
        && parameter
            .type_tokens
            .iter()
            .all(|&at| is_plain(tokens.get(at)));
    let what = if tokens.is(indirection, "&") {
        "reference"
    } else {
        "pointer"
    };
    open.then(|| {
        let message = format!(
            "{what} type must have an explicit address space: device, constant or threadgroup"
        );
        problem(tokens, parameter.range.start, message)
    })
}

/// Returns true if a token is of a plain type, and no alias or template that brings an address space along.
fn is_plain(token: &str) -> bool {
    const TYPES: [&str; 11] = [
        "bool", "char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "half", "float",
    ];
    matches!(token, "const" | "unsigned")
        || TYPES.contains(&token.trim_end_matches(['2', '3', '4']))
}

/// A kernel returns nothing.
fn result(tokens: &Tokens<'_>, item: &Item, name: usize) -> Option<Problem> {
    let words = ["int", "uint", "float", "half", "bool", "float4"];
    let found = (item.declaration..name)
        .find(|&at| words.contains(&tokens.get(at)) && !tokens.is(at + 1, "("))?;
    let inside = attributes::find(tokens, item.declaration..name);
    if inside.iter().any(|list| list.range.contains(&found)) {
        return None;
    }
    let message = format!("kernel '{}' must return void", tokens.get(name));
    Some(problem(tokens, found, message))
}

/// Attributes of the kernel do not stand behind its parameters, where they would belong to its type.
fn behind(tokens: &Tokens<'_>, range: Range<usize>) -> Option<Problem> {
    let lists = attributes::find(tokens, range);
    let mut all = lists.iter().flat_map(|list| &list.attributes);
    let found = all.find(|attribute| BEFORE.contains(&tokens.get(attribute.name)))?;
    let message = format!(
        "'{}' attribute cannot be applied to types: write it before the kernel",
        tokens.get(found.name)
    );
    Some(problem(tokens, found.name, message))
}

fn bare(type_name: &str) -> &str {
    let name = type_name
        .trim_start_matches("const ")
        .trim_end_matches(" const");
    name.trim_start_matches("metal::")
}

/// The lanes of an input's type; none of an alias.
///
/// ```
/// use assay_msl::apple_rules::lanes;
/// assert_eq!((lanes("uint"), lanes("const ushort3"), lanes("vec<uint, 2>"), lanes("position_t")), (Some(1), Some(3), Some(2), None));
/// ```
pub fn lanes(type_name: &str) -> Option<u32> {
    let name: String = bare(type_name).split_whitespace().collect();
    if let Some(arguments) = name
        .strip_prefix("vec<")
        .and_then(|rest| rest.strip_suffix('>'))
    {
        return arguments.split(',').nth(1)?.parse().ok();
    }
    let rest = [
        "uint32_t",
        "uint16_t",
        "unsignedint",
        "unsignedshort",
        "unsigned",
        "uint",
        "ushort",
    ]
    .iter()
    .find_map(|scalar| name.strip_prefix(scalar))?;
    match rest {
        "" => Some(1),
        "2" | "3" | "4" => rest.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(text: &str) -> Vec<String> {
        let tokens = Tokens::new(text);
        let outline = Outline::new(&tokens);
        check(&tokens, &outline)
            .into_iter()
            .map(|problem| problem.message)
            .collect()
    }

    fn refused(text: &str, part: &str) {
        let found = messages(text);
        assert!(
            found.iter().any(|message| message.contains(part)),
            "{text}: {found:?}"
        );
    }

    #[test]
    fn grid_inputs_have_one_width() {
        refused(
            "kernel void k(device float *o [[buffer(0)]], uint3 g [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]]) {}",
            "thread_position_in_grid is uint3 and thread_position_in_threadgroup is uint",
        );
        for right in [
            "kernel void k(uint3 g [[threadgroup_position_in_grid]], ushort3 t [[thread_position_in_threadgroup]], uint l [[thread_index_in_simdgroup]]) {}",
            "kernel void k(uint g [[thread_position_in_grid]], ushort t [[thread_position_in_threadgroup]]) {}",
            "kernel void k(position_t g [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]]) {}",
            "template <typename T> kernel void k(T g [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]]) {}",
        ] {
            assert_eq!(messages(right), [""; 0], "{right}");
        }
    }

    #[test]
    fn inputs_are_unsigned_and_pointers_say_where_they_point() {
        refused(
            "kernel void k(int3 g [[thread_position_in_grid]]) {}",
            "type 'int3' is not valid for attribute",
        );
        refused(
            "kernel void k(float *o [[buffer(0)]]) {}",
            "pointer type must have an explicit address space",
        );
        refused(
            "kernel void k(const float4 &o [[buffer(0)]]) {}",
            "reference type must have",
        );
        for right in [
            "kernel void k(device float *o [[buffer(0)]], constant uint &n [[buffer(1)]]) {}",
            "kernel void k(GLOBAL float *o [[buffer(0)]]) {}",
            "kernel void k(texture2d<float> t [[texture(0)]], Pointer<float> o [[buffer(0)]]) {}",
        ] {
            assert_eq!(messages(right), [""; 0], "{right}");
        }
    }

    #[test]
    fn a_kernel_returns_nothing_and_its_attributes_stand_before_it() {
        refused(
            "kernel int k(device float *o [[buffer(0)]]) { return 0; }",
            "must return void",
        );
        refused(
            "kernel void k(device float *o [[buffer(0)]]) [[max_total_threads_per_threadgroup(64)]] {}",
            "cannot be applied to types",
        );
        let right = "[[max_total_threads_per_threadgroup(64)]] kernel void k(device int *o [[buffer(0)]]) { int x = 0; o[0] = x; }";
        assert_eq!(messages(right), [""; 0]);
    }
}
