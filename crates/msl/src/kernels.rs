//! Kernels: their parameters rewritten, their description attached.
//!
//! A kernel compiles to a function whose parameters are pointers only. Positions
//! leave the parameter list and become local variables read through builtins; so do
//! textures and samplers, which arrive as handles. Passing vectors by value would let
//! the host's calling convention repack them.

use crate::attributes::{self, AttributeList};
use crate::kernel_info::{Access, Argument, ArgumentKind, KernelInfo, host_name_text};
use crate::lexer::{Kind, Tokens};
use crate::outline::{Item, Outline, Shape};
use crate::parameter::{self, Elements, Parameter};
use crate::patch::Patch;
use crate::specification::treatment;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// The kernels of a source, by the names a host program uses.
#[derive(Debug, Default)]
pub(crate) struct Kernels {
    pub(crate) found: Vec<KernelInfo>,
    /// Attributes that a kernel or its parameters cannot have.
    pub(crate) unknown: Vec<usize>,
    /// Parameters of every kernel definition by its bare name, for instantiations.
    definitions: HashMap<String, Vec<Parameter>>,
    infos: HashMap<String, KernelInfo>,
}

/// Rewrites every kernel and every explicit instantiation.
pub(crate) fn rewrite(tokens: &Tokens<'_>, outline: &Outline, patch: &mut Patch) -> Kernels {
    let mut kernels = Kernels::default();
    for (item, name, parameters, body) in definitions(tokens, outline) {
        kernels.definition(tokens, outline, item, name, parameters, body, patch);
    }
    for item in &outline.items {
        if !matches!(item.shape, Shape::Statement) {
            continue;
        }
        if tokens.is(item.head.start, "template") && !tokens.is(item.head.start + 1, "<") {
            kernels.instantiation(tokens, item, patch);
        } else if is_kernel(tokens, item) {
            kernels.declaration(tokens, item, patch);
        }
    }
    kernels
}

/// The kernels that a source defines: each with the place of its name, its parameters and its body.
pub(crate) fn definitions<'o>(
    tokens: &Tokens<'_>,
    outline: &'o Outline,
) -> impl Iterator<Item = (&'o Item, usize, &'o Range<usize>, &'o Range<usize>)> {
    let functions = outline.items.iter().filter_map(|item| match &item.shape {
        Shape::Function {
            name,
            parameters,
            body,
        } => Some((item, *name, parameters, body)),
        _ => None,
    });
    functions.filter(|(item, ..)| is_kernel(tokens, item))
}

/// Whether the head says `kernel` or `[[kernel]]`.
pub(crate) fn is_kernel(tokens: &Tokens<'_>, item: &Item) -> bool {
    let end = match &item.shape {
        Shape::Function { parameters, .. } => parameters.start,
        _ => item.head.end,
    };
    let mut at = item.declaration;
    while at < end {
        if attributes::opens(tokens, at) {
            let list = attributes::read(tokens, at, end);
            let named = |a: &attributes::Attribute| tokens.get(a.name) == "kernel";
            if list.attributes.iter().any(named) {
                return true;
            }
            at = list.range.end.max(at + 1);
            continue;
        }
        match tokens.get(at) {
            "kernel" => return true,
            "(" => at = tokens.after_group(at, end),
            _ => at += 1,
        }
    }
    false
}

impl Kernels {
    #[allow(clippy::too_many_arguments, reason = "the parts of one item")]
    fn definition(
        &mut self,
        tokens: &Tokens<'_>,
        outline: &Outline,
        item: &Item,
        name: usize,
        list: &Range<usize>,
        body: &Range<usize>,
        patch: &mut Patch,
    ) {
        let mut parameters = parameter::read_all(tokens, list);
        self.unknown
            .extend(parameters.iter().filter_map(|p| p.unknown));
        assign_indices(&mut parameters);
        let bare = tokens.get(name).to_owned();
        let path = outline
            .scopes
            .get(item.scope)
            .map_or("", |scope| &scope.path);
        let full = if path.is_empty() {
            bare.clone()
        } else {
            format!("{path}::{bare}")
        };
        let lists = attributes::find(tokens, item.declaration..body.start);
        let head = attributes::find(tokens, item.declaration..list.start);
        let on_kernel = head.iter().filter(|it| !attributes::is_foreign(tokens, it));
        let mut names = on_kernel.flat_map(|it| &it.attributes).map(|it| it.name);
        self.unknown
            .extend(names.find(|name| treatment(tokens.get(*name)).is_none()));
        let max = max_threads(tokens, &lists);
        let info = KernelInfo {
            name: host_name(tokens, &lists).unwrap_or(full),
            max_threads_per_threadgroup: max
                .clone()
                .and_then(|range| attributes::integer_value(tokens, range))
                .unwrap_or(0),
            arguments: parameters.iter().flat_map(arguments_of).collect(),
        };
        let annotation = annotation(tokens, &info, max, &parameters);
        patch.insert_before(item.declaration, &annotation);
        rewrite_parameters(tokens, list, &parameters, patch, true);
        let prologue = prologue(tokens, &parameters);
        // Pragmas about arithmetic must stay the first in their block.
        let is_first = |index: &usize| {
            let text = tokens.get(*index);
            text.starts_with("#pragma METAL fp") || text.starts_with("#pragma clang fp")
        };
        match (body.start + 1..body.end).find(|index| !is_first(index)) {
            Some(first) if first == body.start + 1 => patch.insert_after(body.start, &prologue),
            Some(first) if tokens.kind(first) == Kind::Directive => {
                patch.insert_before(first, &format!("{prologue}\n"));
            }
            Some(first) => patch.insert_before(first, &prologue),
            None => patch.insert_after(body.start, &prologue),
        }
        // `template <>` is a specialisation: a kernel of its own, not a template.
        let is_template =
            item.declaration > item.head.start && !tokens.is(item.head.start + 2, ">");
        if !is_template {
            self.found.push(info.clone());
        }
        self.infos.insert(bare.clone(), info);
        self.definitions.insert(bare, parameters);
    }

    fn declaration(&self, tokens: &Tokens<'_>, item: &Item, patch: &mut Patch) {
        if let Some((_, list)) = parameters_of(tokens, item.declaration, item.head.end) {
            let parameters = parameter::read_all(tokens, &list);
            rewrite_parameters(tokens, &list, &parameters, patch, false);
        }
    }

    fn instantiation(&mut self, tokens: &Tokens<'_>, item: &Item, patch: &mut Patch) {
        let lists = attributes::find(tokens, item.head.clone());
        let host_name = host_name(tokens, &lists);
        let explicit = parameters_of(tokens, item.head.start, item.head.end);
        let name = match &explicit {
            Some((name, _)) => tokens.get(*name),
            None => last_name(tokens, item.head.clone()),
        };
        let Some(known) = self.definitions.get(name) else {
            return;
        };
        if let Some((_, list)) = &explicit {
            let mut parameters = parameter::read_all(tokens, list);
            // Attributes may be given with the definition only.
            for (written, defined) in parameters.iter_mut().zip(known) {
                written.argument.kind = defined.argument.kind.clone();
            }
            rewrite_parameters(tokens, list, &parameters, patch, false);
        } else {
            use_own_type(tokens, item, patch);
        }
        let mut info = self.infos.get(name).cloned().unwrap_or_default();
        if let Some(host_name) = host_name {
            let text = c_string(&host_name_text(&host_name));
            patch.insert_after(
                item.head.start,
                &format!("__attribute__((annotate({text})))"),
            );
            info.name = host_name;
        }
        self.found.push(info);
    }
}

/// Replaces the type of an instantiation, which may be an alias written for the
/// unchanged parameters, by that of the template itself.
fn use_own_type(tokens: &Tokens<'_>, item: &Item, patch: &mut Patch) {
    let Some(name) = last_name_index(tokens, item.head.clone()) else {
        return;
    };
    // The name may be qualified.
    let mut first = name;
    while first > item.head.start + 2 && tokens.is(first - 1, "::") {
        first -= 2;
    }
    for index in item.head.start + 1..first {
        patch.remove(index);
    }
    let own = tokens.join(first..item.head.end);
    patch.insert_before(first, &format!("decltype({own})"));
}

/// The arguments a parameter stands for: an array of pointers or handles is one for each element.
fn arguments_of(parameter: &Parameter) -> Vec<Argument> {
    let Some(elements) = &parameter.elements else {
        return vec![parameter.argument.clone()];
    };
    (0..elements.count)
        .map(|element| Argument {
            index: parameter
                .argument
                .index
                .map(|first| first.saturating_add(element)),
            name: format!("{}[{element}]", parameter.argument.name),
            ..parameter.argument.clone()
        })
        .collect()
}

/// What carries one element of an array into the kernel.
fn element_type(tokens: &Tokens<'_>, parameter: &Parameter, elements: &Elements) -> String {
    if parameter.indirection.is_none() {
        return "void*".to_owned();
    }
    let mut out = String::new();
    for &index in &elements.type_tokens {
        out.push_str(match tokens.get(index) {
            "constant" => "const",
            text => text,
        });
        out.push(' ');
    }
    out + "* __restrict"
}

/// The array a kernel's body knows, made of its elements.
fn array_of(
    tokens: &Tokens<'_>,
    parameter: &Parameter,
    elements: &Elements,
    position: usize,
    name: &str,
) -> String {
    let mut array = String::new();
    for &index in &elements.array_tokens {
        array.push_str(match tokens.get(index) {
            "constant" => "const",
            text => text,
        });
        array.push(' ');
    }
    let handle = parameter.indirection.is_none();
    let mut parts = Vec::new();
    let mut escapes = String::new();
    for element in 0..elements.count {
        let argument = format!("__metal_element_{position}_{element}");
        if handle {
            let mut written = String::new();
            for &index in &elements.type_tokens {
                written.push_str(tokens.get(index));
                written.push(' ');
            }
            parts.push(format!("{written}(::metal::__handle{{{argument}}})"));
        } else {
            if parameter.argument.access == Access::ReadWrite {
                escapes.push_str(&format!("::__metal_escape({argument}); "));
            }
            parts.push(argument);
        }
    }
    format!("{array} {name} = {{ {} }}; {escapes}", parts.join(", "))
}

/// Gives every parameter without an index the next free one of its kind.
fn assign_indices(parameters: &mut [Parameter]) {
    let kinds = [
        ArgumentKind::Buffer,
        ArgumentKind::Threadgroup,
        ArgumentKind::Texture,
        ArgumentKind::Sampler,
    ];
    for kind in kinds {
        let mut taken: HashSet<u32> = parameters
            .iter()
            .filter(|p| p.argument.kind == kind)
            .filter_map(|p| p.argument.index)
            .collect();
        let mut next = 0u32;
        for parameter in parameters.iter_mut() {
            let open = parameter.argument.index.is_none() && parameter.index.is_none();
            if parameter.argument.kind == kind && open {
                while taken.contains(&next) {
                    next += 1;
                }
                taken.insert(next);
                parameter.argument.index = Some(next);
            }
        }
    }
}

fn max_threads(tokens: &Tokens<'_>, lists: &[AttributeList]) -> Option<Range<usize>> {
    lists
        .iter()
        .flat_map(|list| &list.attributes)
        .find(|attribute| tokens.get(attribute.name) == "max_total_threads_per_threadgroup")
        .map(|attribute| attribute.arguments.clone())
}

/// The name `[[host_name("…")]]` gives.
fn host_name(tokens: &Tokens<'_>, lists: &[AttributeList]) -> Option<String> {
    let mut all = lists.iter().flat_map(|list| &list.attributes);
    let attribute = all.find(|attribute| tokens.get(attribute.name) == "host_name")?;
    attributes::string_value(tokens, attribute.arguments.clone())
}

/// The attribute that carries a kernel's description into the bitcode.
fn annotation(
    tokens: &Tokens<'_>,
    info: &KernelInfo,
    max: Option<Range<usize>>,
    parameters: &[Parameter],
) -> String {
    let mut numbers = vec![match max {
        Some(range) => format!("(uint)({})", tokens.join(range)),
        None => "0u".to_owned(),
    }];
    for parameter in parameters.iter().filter(|p| p.argument.is_parameter()) {
        let index = match (&parameter.index, parameter.argument.index) {
            (_, Some(index)) => format!("{index}u"),
            (Some(range), None) => format!("(uint)({})", tokens.join(range.clone())),
            (None, None) => "0u".to_owned(),
        };
        let handle = matches!(
            parameter.argument.kind,
            ArgumentKind::Texture | ArgumentKind::Sampler
        );
        let count = parameter.elements.as_ref().map_or(1, |it| it.count);
        let layout = if handle {
            "8u, 8u, 0u".to_owned()
        } else {
            let written = type_text(tokens, parameter);
            format!(
                "::metal::__layout<{written}>::size, ::metal::__layout<{written}>::align, ::metal::__type_code<{written}>::value"
            )
        };
        for element in 0..count {
            let place = if element == 0 {
                index.clone()
            } else {
                format!("({index} + {element}u)")
            };
            numbers.push(format!("{place}, {layout}"));
        }
    }
    for parameter in parameters.iter().filter(|p| p.argument.is_parameter()) {
        let written = type_text(tokens, parameter);
        let written = written.replace("const ", "");
        let members = parameter.argument.members.iter();
        numbers.extend(
            members.map(|member| {
                format!("(uint)__builtin_offsetof({written}, {})", member.designator)
            }),
        );
    }
    let text = c_string(&info.to_text());
    format!("__attribute__((annotate({text}, {})))", numbers.join(", "))
}

/// The type of a value, or of what is pointed to, for the compiler.
fn type_text(tokens: &Tokens<'_>, parameter: &Parameter) -> String {
    let written = written_type(tokens, parameter);
    match parameter.tensor {
        true => tensor_argument(&written),
        false => written,
    }
}

/// What the host passes for a tensor of this type.
fn tensor_argument(tensor: &str) -> String {
    format!("typename ::metal::remove_cv_t<{tensor}>::__argument ")
}

/// The type of a value, or of what is pointed to, as the source has it.
fn written_type(tokens: &Tokens<'_>, parameter: &Parameter) -> String {
    let mut out = String::new();
    for &index in &parameter.type_tokens {
        let text = match tokens.get(index) {
            "constant" => "const",
            text => text,
        };
        out.push_str(text);
        out.push(' ');
    }
    out
}

/// Removes builtins from the list, turns textures into handles, and marks buffers as
/// not overlapping, as Metal defines them.
fn rewrite_parameters(
    tokens: &Tokens<'_>,
    list: &Range<usize>,
    parameters: &[Parameter],
    patch: &mut Patch,
    restrict: bool,
) {
    let mut first = true;
    for (position, parameter) in parameters.iter().enumerate() {
        let after = parameter.range.end;
        if tokens.is(after, ",") && after < list.end {
            patch.remove(after);
        }
        if !parameter.argument.is_parameter() {
            parameter
                .range
                .clone()
                .for_each(|index| patch.remove(index));
            continue;
        }
        if !first {
            patch.insert_before(parameter.range.start, ",");
        }
        first = false;
        if let Some(elements) = &parameter.elements {
            parameter
                .range
                .clone()
                .for_each(|index| patch.remove(index));
            let written = element_type(tokens, parameter, elements);
            let parts = (0..elements.count)
                .map(|element| format!("{written} __metal_element_{position}_{element}"));
            let parts: Vec<String> = parts.collect();
            patch.insert_before(parameter.range.start, &parts.join(", "));
            continue;
        }
        if parameter.tensor {
            parameter
                .range
                .clone()
                .for_each(|index| patch.remove(index));
            let written = type_text(tokens, parameter);
            patch.insert_before(
                parameter.range.start,
                &format!("const {written}* __restrict __metal_tensor_{position}"),
            );
            continue;
        }
        match parameter.argument.kind {
            ArgumentKind::Texture | ArgumentKind::Sampler => {
                parameter
                    .range
                    .clone()
                    .for_each(|index| patch.remove(index));
                patch.insert_before(
                    parameter.range.start,
                    &format!("void* __metal_handle_{position}"),
                );
            }
            ArgumentKind::Buffer if restrict => {
                let (Some(star), Some(name)) = (parameter.indirection, parameter.name) else {
                    continue;
                };
                patch.insert_after(star, "__restrict");
                if !parameter.argument.reference {
                    patch.replace(name, format!("__metal_buffer_{position}"));
                }
            }
            _ => {}
        }
    }
}

/// The first statements of a kernel: builtins and handles become variables.
fn prologue(tokens: &Tokens<'_>, parameters: &[Parameter]) -> String {
    let mut out = String::new();
    for (position, parameter) in parameters.iter().enumerate() {
        let Some(name) = parameter.name.map(|index| tokens.get(index)) else {
            continue;
        };
        let written = written_type(tokens, parameter);
        if parameter.tensor {
            out.push_str(&format!("{written} {name}(*__metal_tensor_{position}); "));
            continue;
        }
        if let Some(elements) = &parameter.elements {
            out.push_str(&array_of(tokens, parameter, elements, position, name));
            continue;
        }
        match &parameter.argument.kind {
            ArgumentKind::Builtin(builtin) => {
                out.push_str(&format!(
                    "{written} {name} = ::__metal_{builtin}<::metal::remove_cv_t<{written}>>(); "
                ));
            }
            ArgumentKind::Texture | ArgumentKind::Sampler => {
                out.push_str(&format!(
                    "{written} {name}(::metal::__handle{{__metal_handle_{position}}}); "
                ));
            }
            ArgumentKind::Buffer if parameter.indirection.is_some() => {
                let reference = parameter.argument.reference;
                if !reference {
                    // A restricted pointer would not bind to `T*&`; its copy does.
                    out.push_str(&format!("auto {name} = __metal_buffer_{position}; "));
                }
                if parameter.argument.access == Access::ReadWrite {
                    let address = if reference { "&" } else { "" };
                    out.push_str(&format!("::__metal_escape({address}{name}); "));
                }
            }
            _ => {}
        }
    }
    out
}

/// The name and parameter list of a declaration that ends with a semicolon.
fn parameters_of(tokens: &Tokens<'_>, start: usize, end: usize) -> Option<(usize, Range<usize>)> {
    let mut at = start;
    while at < end {
        if attributes::opens(tokens, at) {
            at = tokens.after_group(at, end);
            continue;
        }
        if tokens.is(at, "<")
            && let Some(after) = tokens.after_angles(at, end)
        {
            at = after;
            continue;
        }
        if tokens.is(at, "(") {
            let after = tokens.after_group(at, end);
            let before = at.checked_sub(1)?;
            let skipped = matches!(
                tokens.get(before),
                "decltype" | "__attribute__" | "alignas" | "noexcept"
            );
            if !skipped {
                let name = last_name_index(tokens, start..at)?;
                return Some((name, at..after));
            }
            at = after;
            continue;
        }
        at += 1;
    }
    None
}

/// The last name in `range` that is not inside template arguments.
fn last_name_index(tokens: &Tokens<'_>, range: Range<usize>) -> Option<usize> {
    let mut depth = 0usize;
    for index in range.rev() {
        match tokens.get(index) {
            ">" => depth += 1,
            "<" => depth = depth.saturating_sub(1),
            _ if depth == 0 && tokens.is_word(index) => return Some(index),
            _ => {}
        }
    }
    None
}

fn last_name<'t>(tokens: &Tokens<'t>, range: Range<usize>) -> &'t str {
    last_name_index(tokens, range).map_or("", |index| tokens.get(index))
}

/// `text` as a C string literal.
pub(crate) fn c_string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}
