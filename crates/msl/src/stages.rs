//! Functions of other stages: vertex, fragment, object, mesh and intersection functions.
//!
//! A kernel cannot call them, so they are not compiled: what they use of the graphics library does no harm to the
//! kernels beside them. Their names are kept, for a file that holds nothing else. The same becomes of functions that use
//! what belongs to rendering, such as imageblocks, indirect commands and tables of functions.

use crate::attributes;
use crate::lexer::{Kind, Tokens};
use crate::outline::{Item, Outline, Shape};
use crate::patch::Patch;
use std::ops::Range;

/// A function of a source that is no kernel but an entry of another stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageFunction {
    /// `vertex`, `fragment`, `object`, `mesh` or `intersection`; of other functions, what they use, as in `with imageblocks`.
    pub stage: &'static str,
    /// Its name.
    pub name: String,
}

const STAGES: [&str; 5] = ["vertex", "fragment", "object", "mesh", "intersection"];

/// Types of which our headers have the name alone, and how functions that use them are called.
pub(crate) const LEFT_OUT: [(&str, &str); 9] = [
    ("imageblock", "with imageblocks"),
    ("imageblock_slice", "with imageblocks"),
    ("render_command", "with indirect commands"),
    ("compute_command", "with indirect commands"),
    ("visible_function_table", "with tables of functions"),
    ("intersection_function_table", "with tables of functions"),
    ("intersector", "with ray tracing"),
    ("acceleration_structure", "with ray tracing"),
    ("mesh_grid_properties", "object"),
];

/// What was erased.
#[derive(Debug, Default)]
pub(crate) struct Erased {
    pub(crate) functions: Vec<StageFunction>,
    ranges: Vec<Range<usize>>,
}

impl Erased {
    /// Whether a token is gone.
    pub(crate) fn contains(&self, token: usize) -> bool {
        self.ranges.iter().any(|range| range.contains(&token))
    }
}

/// Erases every function of another stage.
pub(crate) fn erase(tokens: &Tokens<'_>, outline: &Outline, patch: &mut Patch) -> Erased {
    let mut found = Vec::new();
    let mut ranges = Vec::new();
    let left_out: Vec<_> = LEFT_OUT
        .iter()
        .filter(|(word, _)| tokens.text.contains(word) && !is_declared(tokens, word))
        .collect();
    for item in &outline.items {
        let uses = || match &item.shape {
            Shape::Function { body, .. } if !left_out.is_empty() => {
                let mut words = (item.head.start..body.end).map(|index| tokens.get(index));
                words.find_map(|word| left_out.iter().find(|(known, _)| *known == word))
            }
            _ => None,
        };
        let Some(stage) = stage(tokens, item).or_else(|| uses().map(|(_, stage)| *stage)) else {
            continue;
        };
        let whole = match &item.shape {
            Shape::Function { name, body, .. } => {
                found.push(StageFunction {
                    stage,
                    name: tokens.get(*name).to_owned(),
                });
                item.head.start..body.end
            }
            Shape::Statement => item.head.clone(),
            Shape::Class { .. } => continue,
        };
        clear(tokens, whole.clone(), patch);
        ranges.push(whole);
    }
    Erased {
        functions: found,
        ranges,
    }
}

/// Whether a source declares a type of this name itself.
fn is_declared(tokens: &Tokens<'_>, name: &str) -> bool {
    (1..tokens.len()).any(|index| {
        tokens.is(index, name) && matches!(tokens.get(index - 1), "struct" | "class" | "using")
    })
}

fn clear(tokens: &Tokens<'_>, range: Range<usize>, patch: &mut Patch) {
    for index in range {
        let marker =
            tokens.kind(index) == Kind::Directive && !tokens.get(index).starts_with("#pragma");
        if !marker {
            patch.erase(index);
        }
    }
}

/// The stage a declaration names, by keyword or attribute.
fn stage(tokens: &Tokens<'_>, item: &Item) -> Option<&'static str> {
    let end = match &item.shape {
        Shape::Function { parameters, .. } => parameters.start,
        Shape::Statement => item.head.end,
        Shape::Class { .. } => return None,
    };
    let mut at = item.declaration;
    while at < end {
        let word = tokens.get(at);
        if attributes::opens(tokens, at) {
            let list = attributes::read(tokens, at, end);
            let mut names = list.attributes.iter().map(|it| tokens.get(it.name));
            let stage = names.find_map(|name| STAGES.into_iter().find(|stage| *stage == name));
            if stage.is_some() {
                return stage;
            }
            at = list.range.end.max(at + 1);
        } else if word == "(" {
            at = tokens.after_group(at, end);
        } else if matches!(word, "=" | "struct" | "class" | "using" | "typedef") {
            return None;
        } else if at == item.declaration && matches!(word, "vertex" | "fragment") {
            return STAGES.into_iter().find(|stage| *stage == word);
        } else {
            let keyword = matches!(word, "vertex" | "fragment")
                && matches!(
                    tokens.get(at - 1),
                    "static" | "inline" | "template" | "]" | ")" | "}" | ";"
                );
            if keyword {
                return STAGES.into_iter().find(|stage| *stage == word);
            }
            at += 1;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_other_stages_go_and_their_names_stay() {
        let text = "struct V { float4 p [[position]]; }; vertex V v(uint i [[vertex_id]]) { return V(); } \
                    [[fragment]] float4 f(V in [[stage_in]]) { return dfdx(in.p); } float vertex_count = 1; \
                    kernel void k() {}";
        let tokens = Tokens::new(text);
        let outline = Outline::new(&tokens);
        let mut patch = Patch::default();
        let found = erase(&tokens, &outline, &mut patch).functions;
        let named = |stage, name: &str| StageFunction {
            stage,
            name: name.to_owned(),
        };
        assert_eq!(found, [named("vertex", "v"), named("fragment", "f")]);
        let left = patch.apply(&tokens).text;
        let left: Vec<_> = left.split_whitespace().collect();
        assert_eq!(
            left.join(" "),
            "struct V { float4 p [[position]]; }; float vertex_count = 1; kernel void k() {}"
        );
    }
}
