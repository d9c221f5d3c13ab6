//! Functions overloaded by address space that do different things.
//!
//! ```text
//! void put(device float* p) { A }            void put__1(float* p);
//! void put(threadgroup float* p) { B }  ──▶  void put(float* p) { if (!(space(p) == 1)) return put__1(p); A }
//!                                            void put__1(float* p) { B }
//! ```
//!
//! Every definition stays where it is, so that its lines stay the user's.

use crate::attributes;
use crate::lexer::{Kind, Tokens};
use crate::outline::{Item, Shape};
use crate::overloads::Writer;
use crate::parameter::{self, Parameter};
use crate::patch::Patch;
use crate::spaces::is_space;
use std::collections::HashMap;
use std::ops::Range;

/// A definition that takes part.
struct Variant<'g> {
    item: &'g Item,
    name: usize,
    parameters: &'g Range<usize>,
    body: &'g Range<usize>,
    /// Spaces of the object and of the parameters, for each declaration with this body.
    spaces: Vec<Vec<&'static str>>,
}

/// Lets the first of `variants` call the others, each a list of definitions with one body. Nothing is changed and
/// `None` returned for what cannot be renamed or called.
pub(crate) fn dispatch(
    writer: &Writer<'_, '_>,
    class: Option<&str>,
    variants: &[Vec<&Item>],
    patch: &mut Patch,
) -> Option<()> {
    let tokens = writer.tokens;
    let variants: Option<Vec<Variant<'_>>> = variants
        .iter()
        .map(|items| variant(tokens, class, items))
        .collect();
    let variants = variants?;
    let first = variants.first()?;
    let read = parameter::read_all(tokens, first.parameters);
    let questions = questions(tokens, &variants, &read)?;
    let arguments = arguments(tokens, &read)?;
    let template = template_arguments(tokens, first.item)?;
    let call = |number: usize| {
        let name = variant_name(first.name, number);
        format!("return {name}{template}({arguments});")
    };
    let mut text = format!("if (!({})) {{ ", condition(first, &questions));
    for (number, other) in variants.iter().enumerate().skip(1) {
        if number + 1 < variants.len() {
            let test = condition(other, &questions);
            text.push_str(&format!("if ({test}) {} ", call(number)));
        } else {
            text.push_str(&call(number));
        }
    }
    text.push_str(" } ");
    let mut forward = String::new();
    for (number, other) in variants.iter().enumerate().skip(1) {
        let name = variant_name(first.name, number);
        if class.is_none() {
            forward.push_str(&declaration(writer, other, &name));
        }
        rename(tokens, other, &name, patch);
    }
    patch.insert_before(first.item.head.start, &forward);
    patch.insert_after(first.body.start, &text);
    Some(())
}

fn variant_name(name: usize, number: usize) -> String {
    format!("__metal_variant_{name}_{number}")
}

fn variant<'g>(
    tokens: &Tokens<'_>,
    class: Option<&str>,
    items: &[&'g Item],
) -> Option<Variant<'g>> {
    let item = *items.first()?;
    let Shape::Function {
        name,
        parameters,
        body,
    } = &item.shape
    else {
        return None;
    };
    let special = class == Some(tokens.get(*name))
        || tokens.is(name.wrapping_sub(1), "~")
        || tokens.is(name + 1, "<")
        || tokens.is(item.head.start, "template") && tokens.is(item.head.start + 2, ">");
    // `operator float()` has no name to replace.
    let converts = tokens.is(name.wrapping_sub(1), "operator") && tokens.kind(*name) == Kind::Word;
    if special || converts {
        return None;
    }
    let spaces = items.iter().filter_map(|item| spaces_of(tokens, item));
    Some(Variant {
        item,
        name: *name,
        parameters,
        body,
        spaces: spaces.collect(),
    })
}

/// The spaces a definition is for: of its object first, then of each parameter.
fn spaces_of(tokens: &Tokens<'_>, item: &Item) -> Option<Vec<&'static str>> {
    let Shape::Function {
        parameters, body, ..
    } = &item.shape
    else {
        return None;
    };
    let behind = (parameters.end..body.start).take_while(|index| !tokens.is(*index, ":"));
    let mut found = vec![first_space(tokens, behind)];
    for parameter in parameter::read_all(tokens, parameters) {
        found.push(first_space(tokens, parameter.range));
    }
    Some(found)
}

fn first_space(tokens: &Tokens<'_>, mut range: impl Iterator<Item = usize>) -> &'static str {
    let word = range.find(|index| is_space(tokens.get(*index)));
    match word.map(|index| tokens.get(index)) {
        Some("device") => "1u",
        Some("constant") => "2u",
        Some("threadgroup") => "3u",
        _ => "0u",
    }
}

/// For the object and every parameter: the question for its space, where the variants differ in it.
fn questions(
    tokens: &Tokens<'_>,
    variants: &[Variant<'_>],
    read: &[Parameter],
) -> Option<Vec<Option<String>>> {
    let mut all = variants.iter().flat_map(|variant| &variant.spaces);
    let first = all.next()?;
    let rest: Vec<&Vec<&str>> = all.collect();
    let differs = |at: usize| rest.iter().any(|spaces| spaces.get(at) != first.get(at));
    let mut questions = Vec::new();
    for at in 0..first.len() {
        if !differs(at) {
            questions.push(None);
            continue;
        }
        let pointer = match at.checked_sub(1).and_then(|index| read.get(index)) {
            None => "this".to_owned(),
            Some(parameter) => {
                let name = tokens.get(parameter.name?);
                let reference = parameter.argument.reference;
                if reference {
                    format!("&{name}")
                } else {
                    name.to_owned()
                }
            }
        };
        questions.push(Some(format!("::__metal_space({pointer})")));
    }
    Some(questions)
}

/// True where the arguments have the spaces of one of a variant's declarations.
fn condition(variant: &Variant<'_>, questions: &[Option<String>]) -> String {
    let one = |spaces: &Vec<&str>| {
        let tests = spaces
            .iter()
            .zip(questions)
            .filter_map(|(space, question)| {
                let question = question.as_ref()?;
                Some(format!("{question} == {space}"))
            });
        format!("({})", tests.collect::<Vec<_>>().join(" && "))
    };
    let alternatives: Vec<String> = variant.spaces.iter().map(one).collect();
    alternatives.join(" || ")
}

/// The names of the parameters, to hand them on.
fn arguments(tokens: &Tokens<'_>, read: &[Parameter]) -> Option<String> {
    let mut names = Vec::new();
    for parameter in read {
        if parameter.range.clone().any(|index| tokens.is(index, "...")) {
            return None;
        }
        // `void f(void)`
        let empty = read.len() == 1 && tokens.join(parameter.range.clone()) == "void";
        if !empty {
            names.push(tokens.get(parameter.name?));
        }
    }
    Some(names.join(", "))
}

/// `<T, N>` of `template <typename T, int N = 2>`; empty for what is no template.
fn template_arguments(tokens: &Tokens<'_>, item: &Item) -> Option<String> {
    let parameters = template_parameters(tokens, item);
    if parameters.is_empty() {
        return Some(String::new());
    }
    let mut names = Vec::new();
    for range in parameters {
        let plain = before_default(tokens, range);
        let pack = plain.clone().any(|index| tokens.is(index, "..."));
        let name = plain.last().filter(|index| tokens.is_word(*index))?;
        let suffix = if pack { "..." } else { "" };
        names.push(format!("{}{suffix}", tokens.get(name)));
    }
    Some(format!("<{}>", names.join(", ")))
}

/// The parameters of the one `template <…>` in front of a declaration.
fn template_parameters(tokens: &Tokens<'_>, item: &Item) -> Vec<Range<usize>> {
    let open = item.head.start + 1;
    if item.declaration == item.head.start || !tokens.is(open, "<") {
        return Vec::new();
    }
    match tokens.after_angles(open, item.head.end) {
        Some(after) => parameter::split(tokens, open + 1..after.saturating_sub(1)),
        None => Vec::new(),
    }
}

fn before_default(tokens: &Tokens<'_>, range: Range<usize>) -> Range<usize> {
    let end = range.clone().find(|index| tokens.is(*index, "="));
    range.start..end.unwrap_or(range.end)
}

/// The declaration of a renamed function, without default arguments.
fn declaration(writer: &Writer<'_, '_>, variant: &Variant<'_>, name: &str) -> String {
    let tokens = writer.tokens;
    let none = HashMap::new();
    let mut out = String::new();
    let template = template_parameters(tokens, variant.item);
    if !template.is_empty() {
        let parts = template
            .into_iter()
            .map(|range| writer.text(before_default(tokens, range), &none));
        out.push_str(&format!(
            "template <{}> ",
            parts.collect::<Vec<_>>().join(", ")
        ));
    }
    let mut at = variant.item.declaration;
    let name_start = name_tokens(tokens, variant).start;
    while at < name_start {
        if attributes::opens(tokens, at) {
            at = tokens.after_group(at, name_start);
        } else {
            out.push_str(&writer.text(at..at + 1, &none));
            at += 1;
        }
    }
    let parameters = parameter::read_all(tokens, variant.parameters);
    let parts = parameters
        .into_iter()
        .map(|parameter| writer.text(before_default(tokens, parameter.range), &none));
    let parts: Vec<String> = parts.collect();
    out.push_str(&format!("{name}({}); ", parts.join(", ")));
    out
}

/// All tokens of the name: one word, or `operator` with what it is.
fn name_tokens(tokens: &Tokens<'_>, variant: &Variant<'_>) -> Range<usize> {
    let from = variant.item.declaration;
    let operator = (from..variant.parameters.start).find(|index| tokens.is(*index, "operator"));
    operator.unwrap_or(variant.name)..variant.parameters.start
}

fn rename(tokens: &Tokens<'_>, variant: &Variant<'_>, name: &str, patch: &mut Patch) {
    let range = name_tokens(tokens, variant);
    patch.replace(range.start, name);
    range.skip(1).for_each(|index| patch.remove(index));
}
