//! Function constants: declarations whose value arrives when a pipeline is built.
//!
//! The symbol of a constant has its index. One that is more than a number or a name (a scoped or cast enumerator, a static
//! member) is left to the compiler: a constant of its own holds it, and the symbol names that.

use crate::attributes;
use crate::kernel_info::{FUNCTION_CONSTANT_INDEX_PREFIX, FUNCTION_CONSTANT_PREFIX};
use crate::lexer::Tokens;
use crate::outline::{Outline, Shape};
use crate::parameter::is_number_type;
use crate::patch::Patch;

/// Turns `constant T name [[function_constant(3)]];` into the declaration of an
/// external constant whose symbol says everything. Returns the tokens of constants
/// that have no index.
pub(crate) fn rewrite(tokens: &Tokens<'_>, outline: &Outline, patch: &mut Patch) -> Vec<usize> {
    let mut unknown = Vec::new();
    let mut names = None;
    for item in &outline.items {
        if !matches!(item.shape, Shape::Statement) {
            continue;
        }
        for list in attributes::find(tokens, item.head.clone()) {
            let found = list
                .attributes
                .iter()
                .find(|attribute| tokens.get(attribute.name) == "function_constant");
            let Some(attribute) = found else { continue };
            let name = list.range.start.saturating_sub(1);
            // Parameters of kernels name a constant; only declarations are numbered here.
            if !tokens.is_word(name) || list.range.end < item.head.end {
                continue;
            }
            let class = outline.scopes.get(item.scope);
            let is_member = class.is_some_and(|scope| scope.class.is_some());
            // A member that is in no memory of its own: the constant says whether a stage has it.
            let is_constant = (item.head.start..name).any(|word| tokens.is(word, "constant"));
            if is_member && !is_constant {
                continue;
            }
            let names = names.get_or_insert_with(|| attributes::integer_constants(tokens));
            let arguments = attribute.arguments.clone();
            let is_template = item.declaration > item.head.start;
            let number = attributes::integer_value_with(tokens, arguments.clone(), names);
            let (index, before) = match number {
                Some(index) => (index.to_string(), String::new()),
                None if arguments.is_empty() || is_template => {
                    unknown.push(attribute.name);
                    continue;
                }
                None => computed_index(name, &tokens.join(arguments)),
            };
            let symbol = format!(
                "{FUNCTION_CONSTANT_PREFIX}{index}.{}.{}",
                type_word(tokens, item.declaration, name),
                tokens.get(name)
            );
            for word in item.declaration..name {
                if matches!(tokens.get(word), "static" | "constexpr" | "inline") {
                    patch.remove(word);
                }
            }
            let storage = if is_member { "static" } else { "extern" };
            patch.insert_before(item.declaration, &format!("{before}{storage}"));
            patch.insert_after(name, &format!("__asm(\"{symbol}\")"));
        }
    }
    unknown
}

/// The index of a constant whose expression the compiler has to compute, and the declaration of what holds it.
fn computed_index(name: usize, expression: &str) -> (String, String) {
    let declaration = format!(
        "static inline const unsigned __metal_index_{name} \
         __asm(\"{FUNCTION_CONSTANT_INDEX_PREFIX}{name}\") __attribute__((used)) = (unsigned)({expression}); "
    );
    (format!("?{name}"), declaration)
}

/// The constant's type when it is one of Metal's scalars or vectors, else `?`.
fn type_word<'t>(tokens: &Tokens<'t>, start: usize, name: usize) -> &'t str {
    let mut found = "?";
    for index in start..name {
        let word = tokens.get(index);
        match word {
            "constant" | "const" | "static" | "constexpr" | "inline" | "volatile" | "metal"
            | "::" => {}
            _ => {
                if !is_number_type(word) || found != "?" {
                    return "?";
                }
                found = word;
            }
        }
    }
    found
}
