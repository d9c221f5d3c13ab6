//! Functions that differ only in address spaces.
//!
//! Once the keywords are gone such functions collide. When their bodies are the same
//! too, all but the first are dropped. When they differ, the first asks for the space
//! of its arguments and calls the others, which get names of their own; the question is
//! answered once pointers have been traced to their objects ([`crate::dispatch`]).
//! Constructors cannot be renamed: two that do different things are an error.

use crate::dispatch;
use crate::lexer::{Kind, Tokens};
use crate::outline::{Item, Outline, Shape};
use crate::patch::Patch;
use crate::spaces::{Fate, is_space};
use std::collections::HashMap;
use std::ops::Range;

/// Two functions that cannot be told apart without address spaces.
#[derive(Debug)]
pub(crate) struct Conflict {
    /// First token of the earlier one.
    pub(crate) first: usize,
    /// First token of the later one.
    pub(crate) second: usize,
}

/// Drops duplicates, lets the first of several functions call the others, and returns the pairs for which neither is
/// possible.
pub(crate) fn merge(
    tokens: &Tokens<'_>,
    outline: &Outline,
    fates: &[Option<Fate>],
    patch: &mut Patch,
) -> Vec<Conflict> {
    let writer = Writer { tokens, fates };
    let mut groups: HashMap<(usize, String), Vec<&Item>> = HashMap::new();
    let mut order = Vec::new();
    for item in &outline.items {
        if let Some(signature) = signature(&writer, outline, item) {
            let key = (item.scope, signature);
            let group = groups.entry(key.clone()).or_default();
            if group.is_empty() {
                order.push(key);
            }
            group.push(item);
        }
    }
    let mut conflicts = Vec::new();
    for key in order {
        let Some(group) = groups.get(&key).filter(|group| group.len() > 1) else {
            continue;
        };
        if !group.iter().any(|item| mentions_space(tokens, item)) {
            continue;
        }
        let class = outline.scopes.get(key.0).and_then(|s| s.class.as_deref());
        conflicts.extend(merge_group(&writer, class, group, patch));
    }
    conflicts
}

/// Merges declarations of one signature; the conflict if that is not possible.
fn merge_group(
    writer: &Writer<'_, '_>,
    class: Option<&str>,
    group: &[&Item],
    patch: &mut Patch,
) -> Option<Conflict> {
    let mut distinct: Vec<(String, Vec<&Item>)> = Vec::new();
    for item in group {
        let whole = writer.whole(item);
        match distinct.iter_mut().find(|(known, _)| *known == whole) {
            Some((_, same)) => same.push(item),
            None => distinct.push((whole, vec![item])),
        }
    }
    for (_, same) in &distinct {
        for item in same.iter().skip(1) {
            remove(writer.tokens, item, patch);
        }
    }
    let variants: Vec<Vec<&Item>> = distinct.into_iter().map(|(_, items)| items).collect();
    let [first, second, ..] = variants.as_slice() else {
        return None;
    };
    let conflict = Conflict {
        first: first.first()?.declaration,
        second: second.first()?.declaration,
    };
    let done = dispatch::dispatch(writer, class, &variants, patch);
    done.is_none().then_some(conflict)
}

/// What distinguishes a declaration in its scope, or `None` when it may be repeated.
fn signature(writer: &Writer<'_, '_>, outline: &Outline, item: &Item) -> Option<String> {
    let tokens = writer.tokens;
    match &item.shape {
        Shape::Function {
            parameters, body, ..
        } => {
            // An initialiser list is part of the definition, not of the signature.
            let end = (parameters.end..body.start)
                .find(|index| tokens.is(*index, ":"))
                .unwrap_or(body.start);
            Some(writer.head(item.head.start..end, parameters))
        }
        Shape::Class { .. } => {
            let specialises = item.declaration > item.head.start;
            specialises.then(|| writer.text(item.head.clone(), &HashMap::new()))
        }
        Shape::Statement => {
            let in_class = outline.scopes.get(item.scope)?.class.is_some();
            let template = tokens.is(item.head.start, "template");
            let matters = in_class || (template && mentions_space(tokens, item));
            matters.then(|| writer.text(item.head.clone(), &HashMap::new()))
        }
    }
}

fn mentions_space(tokens: &Tokens<'_>, item: &Item) -> bool {
    item.head.clone().any(|index| is_space(tokens.get(index)))
}

fn end_of(item: &Item) -> usize {
    match &item.shape {
        Shape::Function { body, .. } | Shape::Class { body } => body.end,
        Shape::Statement => item.head.end,
    }
}

fn remove(tokens: &Tokens<'_>, item: &Item, patch: &mut Patch) {
    for index in item.head.start..end_of(item) {
        let marker =
            tokens.kind(index) == Kind::Directive && !tokens.get(index).starts_with("#pragma");
        if !marker {
            patch.erase(index);
        }
    }
}

/// Writes tokens in a form in which address spaces and parameter names do not matter.
pub(crate) struct Writer<'a, 't> {
    pub(crate) tokens: &'a Tokens<'t>,
    fates: &'a [Option<Fate>],
}

impl<'t> Writer<'_, 't> {
    /// A declaration; a parameter that is an array is the pointer that C++ makes of it.
    fn head(&self, range: Range<usize>, parameters: &Range<usize>) -> String {
        let names = self.names(parameters);
        let (mut out, mut from) = (String::new(), range.start);
        for parameter in crate::parameter::read_all(self.tokens, parameters) {
            let (Some(name), None) = (parameter.name, parameter.indirection) else {
                continue;
            };
            let end = parameter.range.end;
            let is_array =
                self.tokens.is(name + 1, "[") && self.tokens.after_group(name + 1, end) == end;
            if is_array {
                out.push_str(&self.text(from..name, &names));
                out.push_str("* ");
                out.push_str(&self.text(name..name + 1, &names));
                from = end;
            }
        }
        out + &self.text(from..range.end, &names)
    }

    /// The complete definition.
    fn whole(&self, item: &Item) -> String {
        let names = match &item.shape {
            Shape::Function { parameters, .. } => self.names(parameters),
            _ => HashMap::new(),
        };
        self.text(item.head.start..end_of(item), &names)
    }

    /// Numbers for the names of parameters.
    fn names(&self, parameters: &Range<usize>) -> HashMap<&'t str, usize> {
        crate::parameter::read_all(self.tokens, parameters)
            .iter()
            .enumerate()
            .filter_map(|(number, parameter)| Some((self.tokens.get(parameter.name?), number)))
            .collect()
    }

    /// Tokens without address spaces, parameters as numbers.
    pub(crate) fn text(&self, range: Range<usize>, names: &HashMap<&'t str, usize>) -> String {
        let mut out = String::new();
        let mut last = "";
        for index in range {
            if self.tokens.kind(index) == Kind::Directive {
                continue;
            }
            let mut text = self.tokens.get(index);
            match self.fates.get(index).copied().flatten() {
                Some(Fate::Remove) => continue,
                Some(Fate::Const) => text = "const",
                _ => {}
            }
            if text == "const" && last == "const" {
                continue;
            }
            last = text;
            match names.get(text) {
                Some(number) => out.push_str(&format!("${number}")),
                None => out.push_str(text),
            }
            out.push(' ');
        }
        out
    }
}
