//! Where declarations begin and end, found without understanding them.
//!
//! Namespaces and classes are entered, function bodies are only delimited. That is
//! enough to find kernels, explicit instantiations, function constants, and pairs of
//! functions that differ only in address spaces.

use crate::lexer::{Kind, Tokens};
use std::ops::Range;

/// A namespace, class or the file itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    /// Namespaces around, joined by `::`.
    pub(crate) path: String,
    /// The class, when the scope is a class body.
    pub(crate) class: Option<String>,
}

/// One declaration.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// Index of its scope in [`Outline::scopes`].
    pub(crate) scope: usize,
    /// All tokens before the body or the final semicolon, template prefix included.
    pub(crate) head: Range<usize>,
    /// The first token of `head` behind `template <…>` prefixes.
    pub(crate) declaration: usize,
    pub(crate) shape: Shape,
}

/// What a declaration looks like.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    /// A function with a body: parameters with their parentheses, body with its braces.
    Function {
        name: usize,
        parameters: Range<usize>,
        body: Range<usize>,
    },
    /// A class with its body.
    Class { body: Range<usize> },
    /// Anything that ends with a semicolon.
    Statement,
}

/// What a brace turned out to open.
enum Entered {
    /// A namespace or linkage block: the declaration ends with it.
    Whole,
    /// A class: a semicolon follows, perhaps after declarators.
    Class,
    /// Neither.
    No,
}

/// All declarations of a text.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    pub(crate) scopes: Vec<Scope>,
    pub(crate) items: Vec<Item>,
}

/// Deeper nesting of namespaces and classes is not looked into.
const MAX_DEPTH: usize = 64;

impl Outline {
    pub(crate) fn new(tokens: &Tokens<'_>) -> Self {
        let mut outline = Outline::default();
        outline.scopes.push(Scope::default());
        outline.scan(tokens, 0..tokens.len(), 0, 0);
        outline
    }

    fn scan(&mut self, tokens: &Tokens<'_>, range: Range<usize>, scope: usize, depth: usize) {
        let mut at = range.start;
        while at < range.end {
            let skip = tokens.kind(at) == Kind::Directive
                || matches!(tokens.get(at), ";" | "}" | ":")
                || (matches!(tokens.get(at), "public" | "private" | "protected")
                    && tokens.is(at + 1, ":"));
            at = if skip {
                at + 1
            } else {
                self.item(tokens, at, range.end, scope, depth)
            };
        }
    }

    /// Reads the declaration at `start` and returns the index behind it.
    fn item(
        &mut self,
        tokens: &Tokens<'_>,
        start: usize,
        end: usize,
        scope: usize,
        depth: usize,
    ) -> usize {
        let declaration = skip_template_prefix(tokens, start, end);
        let mut at = declaration;
        let mut initialiser = false;
        let mut parameters: Option<(usize, Range<usize>)> = None;
        let mut member_list = false;
        let mut entered = false;
        while at < end {
            match tokens.get(at) {
                ";" => {
                    if !entered {
                        self.push(scope, start..at, declaration, Shape::Statement);
                    }
                    return at + 1;
                }
                "(" => {
                    let after = tokens.after_group(at, end);
                    if parameters.is_none() && !initialiser {
                        parameters = parameter_list(tokens, declaration, at, after);
                    }
                    at = after;
                    continue;
                }
                "[" => {
                    at = tokens.after_group(at, end);
                    continue;
                }
                "=" if !tokens.is(at.wrapping_sub(1), "operator") => initialiser = true,
                ":" if parameters.is_some() => member_list = true,
                "}" => return at + 1,
                "{" => {
                    let after = tokens.after_group(at, end);
                    let body = at..after;
                    if initialiser {
                        at = after;
                        continue;
                    }
                    if let Some((name, list)) = &parameters {
                        // `: member{…}` is part of the head; the body follows a `)` or `}`.
                        let member = member_list && !matches!(tokens.get(at - 1), ")" | "}");
                        if member {
                            at = after;
                            continue;
                        }
                        let shape = Shape::Function {
                            name: *name,
                            parameters: list.clone(),
                            body,
                        };
                        self.push(scope, start..at, declaration, shape);
                        return after;
                    }
                    match self.enter(tokens, start..at, declaration, body, scope, depth) {
                        Entered::Whole => return after,
                        Entered::Class => entered = true,
                        Entered::No => {}
                    }
                    at = after;
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
        end
    }

    /// Enters a namespace, a linkage block or a class.
    fn enter(
        &mut self,
        tokens: &Tokens<'_>,
        head: Range<usize>,
        declaration: usize,
        body: Range<usize>,
        scope: usize,
        depth: usize,
    ) -> Entered {
        let inside = body.start + 1..body.end.saturating_sub(1);
        let keyword = (declaration..head.end).find(|&index| match tokens.get(index) {
            // `extern "C" {`; without the brace it belongs to the one declaration that follows.
            "extern" => index + 2 >= head.end,
            word => matches!(word, "namespace" | "struct" | "class" | "union" | "enum"),
        });
        let Some(keyword) = keyword.filter(|_| depth < MAX_DEPTH) else {
            return Entered::No;
        };
        let parent = self.scopes.get(scope).cloned().unwrap_or_default();
        match tokens.get(keyword) {
            "extern" => {
                self.scan(tokens, inside, scope, depth + 1);
                Entered::Whole
            }
            "namespace" => {
                let name = tokens.join(keyword + 1..head.end).replace(' ', "");
                let path = match (parent.path.as_str(), name.as_str()) {
                    (path, "") => path.to_owned(),
                    ("", name) => name.to_owned(),
                    (path, name) => format!("{path}::{name}"),
                };
                self.scopes.push(Scope { path, class: None });
                self.scan(tokens, inside, self.scopes.len() - 1, depth + 1);
                Entered::Whole
            }
            "enum" => Entered::No,
            _ => {
                let class = class_name(tokens, keyword + 1, head.end);
                self.push(scope, head, declaration, Shape::Class { body });
                self.scopes.push(Scope {
                    path: parent.path,
                    // A class without a name is one all the same.
                    class: Some(class.unwrap_or_default()),
                });
                self.scan(tokens, inside, self.scopes.len() - 1, depth + 1);
                Entered::Class
            }
        }
    }

    fn push(&mut self, scope: usize, head: Range<usize>, declaration: usize, shape: Shape) {
        self.items.push(Item {
            scope,
            head,
            declaration,
            shape,
        });
    }
}

/// The index behind every `template <…>` at `start`.
fn skip_template_prefix(tokens: &Tokens<'_>, start: usize, end: usize) -> usize {
    let mut at = start;
    while tokens.is(at, "template") && tokens.is(at + 1, "<") {
        match tokens.after_angles(at + 1, end) {
            Some(after) => at = after,
            None => break,
        }
    }
    at
}

/// Words whose parentheses are not a parameter list.
const NOT_A_FUNCTION: [&str; 9] = [
    "alignas",
    "__attribute__",
    "__attribute",
    "__declspec",
    "decltype",
    "noexcept",
    "explicit",
    "requires",
    "__asm",
];

/// The name and the parentheses of the function whose parameters open at `open`, if
/// these are parameters.
fn parameter_list(
    tokens: &Tokens<'_>,
    declaration: usize,
    open: usize,
    after: usize,
) -> Option<(usize, Range<usize>)> {
    if let Some(name) = subscript_operator(tokens, declaration, open) {
        return Some((name, open..after));
    }
    let before = before_attributes(tokens, declaration, open)?;
    if NOT_A_FUNCTION.contains(&tokens.get(before)) {
        return None;
    }
    // `operator()(…)`: the first pair of parentheses is the name.
    if tokens.is(before, "operator") {
        return None;
    }
    if tokens.is(before, ")") {
        let call_operator =
            tokens.is(before.wrapping_sub(1), "(") && tokens.is(before.wrapping_sub(2), "operator");
        return call_operator.then(|| (before - 2, open..after));
    }
    let mut name = before;
    if tokens.is(before, ">") {
        // `f<float>(…)`: the name stands before the template arguments.
        let mut depth = 0usize;
        while name > declaration {
            match tokens.get(name) {
                ">" => depth += 1,
                "<" => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                break;
            }
            name -= 1;
        }
        name = name.checked_sub(1)?;
    }
    let is_operator = (declaration..open).any(|index| tokens.is(index, "operator"));
    (tokens.is_word(name) || is_operator).then_some((name, open..after))
}

/// The word `operator` of `operator[](…)`, whose brackets are a name and not an attribute.
fn subscript_operator(tokens: &Tokens<'_>, declaration: usize, open: usize) -> Option<usize> {
    let name = open.checked_sub(3)?;
    let spelled =
        tokens.is(name, "operator") && tokens.is(name + 1, "[") && tokens.is(name + 2, "]");
    (spelled && name >= declaration).then_some(name)
}

/// The last token before `open` and the attributes in front of it: `k` of `k [[…]] (`.
fn before_attributes(tokens: &Tokens<'_>, declaration: usize, open: usize) -> Option<usize> {
    let mut at = open.checked_sub(1)?;
    while tokens.is(at, "]") {
        at = tokens.group_start(at)?;
        at = at.checked_sub(1)?;
    }
    (at >= declaration).then_some(at)
}

fn class_name(tokens: &Tokens<'_>, start: usize, end: usize) -> Option<String> {
    let mut at = start;
    while at < end {
        if NOT_A_FUNCTION.contains(&tokens.get(at)) && tokens.is(at + 1, "(") {
            at = tokens.after_group(at + 1, end);
        } else if tokens.is(at, "[") {
            at = tokens.after_group(at, end);
        } else if tokens.is_word(at) {
            return Some(tokens.get(at).to_owned());
        } else {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes(text: &str) -> Vec<String> {
        let tokens = Tokens::new(text);
        let outline = Outline::new(&tokens);
        outline
            .items
            .iter()
            .map(|item| {
                let scope = &outline.scopes[item.scope];
                let place = match &scope.class {
                    Some(class) => format!("{}/{class}", scope.path),
                    None => scope.path.clone(),
                };
                match &item.shape {
                    Shape::Function { name, .. } => format!("{place} fn {}", tokens.get(*name)),
                    Shape::Class { .. } => format!("{place} class"),
                    Shape::Statement => format!("{place} {}", tokens.join(item.head.clone())),
                }
            })
            .collect()
    }

    #[test]
    fn functions_are_found_in_namespaces_and_classes() {
        let found = shapes(
            "namespace a { namespace b { int x = 1; } template <typename T, int N = (3 > 2)> void f(T t) { if (t) { } } }\n\
             struct S { int m{0}; S(int i) : m{i}, k(2) { } int operator()(int) const { return 1; } operator float() { return 1; } int& operator [](int i) { return m; } };\n\
             template <> void g<float, 8>(float);\n\
             kernel void k(device float* a [[buffer(0)]]) {}",
        );
        assert_eq!(
            found,
            [
                "a::b int x = 1",
                "a fn f",
                " class",
                "/S int m { 0 }",
                "/S fn S",
                "/S fn operator",
                "/S fn float",
                "/S fn operator",
                " template < > void g < float , 8 > ( float )",
                " fn k"
            ]
        );
    }

    #[test]
    fn linkage_of_a_class_is_no_block() {
        assert_eq!(
            shapes(
                "extern \"C\" struct S { int m; }; extern \"C\" { struct T { int n; }; void f(int i) { } }"
            ),
            [" class", "/S int m", " class", "/T int n", " fn f"]
        );
    }

    #[test]
    fn initialisers_and_enums_do_not_end_a_declaration() {
        assert_eq!(
            shapes("constant int t[] = {1, 2}; enum class E : int { A, B }; auto f = [](int x) { return x; };").len(),
            3
        );
    }
}
