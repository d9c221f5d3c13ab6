//! One parameter of a kernel: what it is bound to, and its type.

use crate::attributes::{self, Attribute};
use crate::kernel_info::{Access, Argument, ArgumentKind, Space};
use crate::lexer::{Kind, Tokens};
use crate::members;
use crate::spaces::{is_space, takes_group};
use crate::specification::{Treatment, treatment};
use std::ops::Range;

/// Attributes whose value the body reads through a builtin of the same name.
pub(crate) const BUILTINS: [&str; 20] = [
    "thread_position_in_grid",
    "threadgroup_position_in_grid",
    "thread_position_in_threadgroup",
    "thread_index_in_threadgroup",
    "threads_per_threadgroup",
    "threads_per_grid",
    "threadgroups_per_grid",
    "thread_index_in_simdgroup",
    "simdgroup_index_in_threadgroup",
    "simdgroups_per_threadgroup",
    "threads_per_simdgroup",
    "thread_execution_width",
    "thread_index_in_quadgroup",
    "quadgroup_index_in_threadgroup",
    "quadgroups_per_threadgroup",
    "dispatch_threads_per_threadgroup",
    "dispatch_simdgroups_per_threadgroup",
    "dispatch_quadgroups_per_threadgroup",
    "grid_origin",
    "grid_size",
];

/// A parameter as written.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    /// All its tokens, without the comma.
    pub(crate) range: Range<usize>,
    /// The token that is its name.
    pub(crate) name: Option<usize>,
    /// Tokens of the value type or of what is pointed to, qualifiers of spaces removed.
    pub(crate) type_tokens: Vec<usize>,
    /// `*` or `&`, when there is one.
    pub(crate) indirection: Option<usize>,
    /// The expression inside `[[buffer(…)]]` and its like.
    pub(crate) index: Option<Range<usize>>,
    /// An attribute that kernels cannot have.
    pub(crate) unknown: Option<usize>,
    /// What `array<device T*, 4>` or `array<texture2d<float>, 4>` holds.
    pub(crate) elements: Option<Elements>,
    /// Returns true if it is a tensor that the host makes.
    pub(crate) tensor: bool,
    /// What is known about it.
    pub(crate) argument: Argument,
}

/// The elements of an array of pointers or handles that is passed by value.
#[derive(Clone, Debug)]
pub(crate) struct Elements {
    /// The type of an element, or of what it points to.
    pub(crate) type_tokens: Vec<usize>,
    /// All tokens of the array's type.
    pub(crate) array_tokens: Vec<usize>,
    /// How many.
    pub(crate) count: u32,
}

/// Splits a parenthesised parameter list and reads each parameter.
pub(crate) fn read_all(tokens: &Tokens<'_>, list: &Range<usize>) -> Vec<Parameter> {
    split(tokens, list.start + 1..list.end.saturating_sub(1))
        .into_iter()
        .map(|range| read(tokens, range))
        .collect()
}

/// Cuts at commas outside brackets and template arguments.
pub(crate) fn split(tokens: &Tokens<'_>, range: Range<usize>) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut start = range.start;
    let mut at = range.start;
    while at < range.end {
        match tokens.get(at) {
            "(" | "[" | "{" => {
                at = tokens.after_group(at, range.end);
                continue;
            }
            "<" => {
                if let Some(after) = tokens.after_angles(at, range.end) {
                    at = after;
                    continue;
                }
            }
            "," => {
                parts.push(start..at);
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    if start < range.end {
        parts.push(start..range.end);
    }
    parts
}

fn read(tokens: &Tokens<'_>, range: Range<usize>) -> Parameter {
    let lists = attributes::find(tokens, range.clone());
    let others = range
        .clone()
        .filter(|&index| takes_group(tokens.get(index)) && tokens.is(index + 1, "("))
        .map(|index| index..tokens.after_group(index + 1, range.end));
    let groups: Vec<Range<usize>> = lists
        .iter()
        .map(|list| list.range.clone())
        .chain(others)
        .collect();
    let in_attribute = |index: usize| groups.iter().any(|group| group.contains(&index));
    let plain: Vec<usize> = range
        .clone()
        .filter(|index| !in_attribute(*index) && tokens.kind(*index) != Kind::Directive)
        .filter(|index| !is_coherence(tokens, *index, range.start))
        .collect();
    let elements = Elements::read(tokens, &plain);
    let declarator = match &elements {
        Some((declarator, _)) => declarator.clone(),
        None => Declarator::read(tokens, &plain),
    };
    let space = plain
        .iter()
        .find_map(|index| match tokens.get(*index) {
            "device" => Some(Space::Device),
            "constant" => Some(Space::Constant),
            "threadgroup" => Some(Space::Threadgroup),
            _ => None,
        })
        .unwrap_or(Space::None);
    let attributes: Vec<&Attribute> = lists.iter().flat_map(|list| &list.attributes).collect();
    let find = |name: &str| attributes.iter().find(|a| tokens.get(a.name) == name);
    let builtin = attributes
        .iter()
        .map(|attribute| tokens.get(attribute.name))
        .find(|name| BUILTINS.contains(name));
    let type_name = pretty(tokens, &declarator.type_tokens);
    let tensor = !declarator.indirect && is_tensor(&type_name);
    let (kind, bound) = match builtin {
        Some(name) => (ArgumentKind::Builtin(name.to_owned()), None),
        None => kind_of(&type_name, space, declarator.indirect || tensor, &find),
    };
    let refused = |name: usize| match treatment(tokens.get(name)) {
        Some(Treatment::Refused(_) | Treatment::OtherStage) => true,
        Some(_) => false,
        None => kind == ArgumentKind::Other,
    };
    let mut names = attributes.iter().map(|attribute| attribute.name);
    let unknown = names.find(|&name| refused(name));
    let constant = declarator
        .type_tokens
        .iter()
        .any(|index| matches!(tokens.get(*index), "const" | "constant"));
    let index = bound.filter(|range: &Range<usize>| !range.is_empty());
    let pointed = kind == ArgumentKind::Buffer && declarator.indirect && elements.is_none();
    let (space, access) = match &kind {
        ArgumentKind::Texture => (Space::Handle, texture_access(&type_name)),
        ArgumentKind::Sampler => (Space::Handle, Access::Read),
        ArgumentKind::Builtin(_) => (Space::None, Access::None),
        // The host's description of the tensor, which points to its elements.
        _ if tensor => (Space::Constant, Access::Read),
        _ if constant || space == Space::Constant => (space, Access::Read),
        _ if space == Space::None => (space, Access::None),
        _ => (space, Access::ReadWrite),
    };
    Parameter {
        name: declarator.name,
        indirection: declarator.indirection,
        index: index.clone(),
        unknown,
        elements: elements.map(|(_, elements)| elements),
        tensor,
        argument: Argument {
            kind,
            index: index.and_then(|range| attributes::integer_value(tokens, range)),
            space,
            access,
            name: declarator
                .name
                .map_or(String::new(), |i| tokens.get(i).to_owned()),
            reference: tensor || declarator.indirection.is_some_and(|i| tokens.is(i, "&")),
            function_constant: find("function_constant")
                .map(|attribute| tokens.join(attribute.arguments.clone())),
            layout: None,
            members: if tensor {
                members::of_tensor(&type_name)
            } else if pointed {
                members::of_type(tokens, &declarator.type_tokens)
            } else {
                Vec::new()
            },
            type_name,
        },
        type_tokens: declarator.type_tokens,
        range,
    }
}

/// Returns true if a type is a tensor: `tensor<half, dextents<int, 2>>`.
fn is_tensor(type_name: &str) -> bool {
    let bare = type_name.trim_start_matches("const ");
    bare.trim_start_matches("metal::").starts_with("tensor<")
}

/// The builtin most like a word: the one with which it shares the longest beginning.
pub(crate) fn nearest_builtin(word: &str) -> &'static str {
    let shared = |name: &&&str| {
        name.bytes()
            .zip(word.bytes())
            .take_while(|(a, b)| a == b)
            .count()
    };
    BUILTINS
        .iter()
        .max_by_key(shared)
        .copied()
        .unwrap_or_default()
}

/// Whether a token belongs to `coherent(…)`, which says nothing about the type.
fn is_coherence(tokens: &Tokens<'_>, index: usize, start: usize) -> bool {
    (0..4)
        .filter_map(|back| index.checked_sub(back))
        .filter(|at| *at >= start && tokens.is(*at, "coherent"))
        .any(|at| at == index || tokens.is(at + 1, "("))
}

/// The kind of a parameter that is no builtin, and the tokens of its index.
fn kind_of<'a>(
    type_name: &str,
    space: Space,
    indirect: bool,
    find: &dyn Fn(&str) -> Option<&'a &'a Attribute>,
) -> (ArgumentKind, Option<Range<usize>>) {
    let explicit = [
        ("buffer", ArgumentKind::Buffer),
        ("threadgroup", ArgumentKind::Threadgroup),
        ("texture", ArgumentKind::Texture),
        ("sampler", ArgumentKind::Sampler),
    ];
    for (name, kind) in explicit {
        if let Some(attribute) = find(name) {
            return (kind, Some(attribute.arguments.clone()));
        }
    }
    let bare = type_name.trim_start_matches("metal::");
    let kind = if bare.starts_with("texture") || bare.starts_with("depth") {
        ArgumentKind::Texture
    } else if bare == "sampler" {
        ArgumentKind::Sampler
    } else if indirect && space == Space::Threadgroup {
        ArgumentKind::Threadgroup
    } else if indirect && space != Space::None {
        ArgumentKind::Buffer
    } else {
        ArgumentKind::Other
    };
    (kind, None)
}

fn texture_access(type_name: &str) -> Access {
    if type_name.contains("access::read_write") {
        Access::ReadWrite
    } else if type_name.contains("access::write") {
        Access::Write
    } else {
        Access::Read
    }
}

impl Elements {
    /// `array<T*, n> name` or `array<texture…, n> name`, passed by value.
    fn read(tokens: &Tokens<'_>, plain: &[usize]) -> Option<(Declarator, Elements)> {
        let skipped = |index: &&usize| {
            let word = tokens.get(**index);
            matches!(word, "const" | "metal" | "::") || is_space(word)
        };
        let start = plain.iter().take_while(skipped).count();
        let array = *plain.get(start)?;
        let open = *plain.get(start + 1)?;
        if !tokens.is(array, "array") || !tokens.is(open, "<") {
            return None;
        }
        let after = tokens.after_angles(open, plain.last()? + 1)?;
        let &[name] = plain.get(plain.iter().position(|index| *index >= after)?..)? else {
            return None;
        };
        let parts = split(tokens, open + 1..after - 1);
        let [element, count] = parts.as_slice() else {
            return None;
        };
        let count = attributes::integer_value(tokens, count.clone())?;
        let plain_type =
            |index: &usize| !is_space(tokens.get(*index)) || tokens.is(*index, "constant");
        let mut type_tokens: Vec<usize> = element.clone().filter(plain_type).collect();
        let star = type_tokens
            .last()
            .copied()
            .filter(|last| tokens.is(*last, "*"));
        if star.is_some() {
            type_tokens.pop();
        }
        let declarator = Declarator {
            name: Some(name).filter(|name| tokens.is_word(*name)),
            type_tokens: type_tokens.clone(),
            indirection: star,
            indirect: star.is_some(),
        };
        let elements = Elements {
            type_tokens,
            array_tokens: (array..after)
                .filter(|index| !is_space(tokens.get(*index)))
                .collect(),
            count: count.clamp(1, MAX_ELEMENTS),
        };
        Some((declarator, elements))
    }
}

/// More arguments than this no kernel can have.
const MAX_ELEMENTS: u32 = 1024;

#[derive(Clone)]
struct Declarator {
    name: Option<usize>,
    type_tokens: Vec<usize>,
    indirection: Option<usize>,
    indirect: bool,
}

impl Declarator {
    fn read(tokens: &Tokens<'_>, plain: &[usize]) -> Declarator {
        if let Some(declarator) = Declarator::of_array(tokens, plain) {
            return declarator;
        }
        let cut = |stop: &str| {
            plain
                .iter()
                .position(|index| tokens.is(*index, stop))
                .unwrap_or(plain.len())
        };
        let array = cut("[");
        let head = plain.get(..array.min(cut("="))).unwrap_or(&[]);
        let has_name = head.len() > 1
            && head.last().is_some_and(|last| {
                tokens.is_word(*last)
                    && !is_type_word(tokens.get(*last))
                    && !head
                        .get(head.len() - 2)
                        .is_some_and(|b| tokens.is(*b, "::"))
            });
        let name = head.last().copied().filter(|_| has_name);
        let typed = head
            .get(..head.len() - usize::from(has_name))
            .unwrap_or(&[]);
        let star = typed
            .iter()
            .rposition(|index| matches!(tokens.get(*index), "*" | "&"));
        let pointee = typed.get(..star.unwrap_or(typed.len())).unwrap_or(&[]);
        Declarator {
            name,
            type_tokens: pointee
                .iter()
                .copied()
                .filter(|index| !is_space(tokens.get(*index)) || tokens.is(*index, "constant"))
                .collect(),
            indirection: star.and_then(|at| typed.get(at).copied()),
            indirect: star.is_some() || array < plain.len(),
        }
    }
}

impl Declarator {
    /// `T (&name)[n]` or `T (*name)[n]`: the type is that of the array.
    fn of_array(tokens: &Tokens<'_>, plain: &[usize]) -> Option<Declarator> {
        let open = plain.iter().position(|&index| tokens.is(index, "("))?;
        let close = plain.iter().position(|&index| tokens.is(index, ")"))?;
        let inside = plain.get(open + 1..close)?;
        let indirection = *inside.first()?;
        if !matches!(tokens.get(indirection), "*" | "&") {
            return None;
        }
        let outside = plain.iter().take(open).chain(plain.iter().skip(close + 1));
        let of_type =
            |index: &usize| !is_space(tokens.get(*index)) || tokens.is(*index, "constant");
        Some(Declarator {
            name: inside.last().copied().filter(|&last| tokens.is_word(last)),
            type_tokens: outside.copied().filter(of_type).collect(),
            indirection: Some(indirection),
            indirect: true,
        })
    }
}

/// Whether a word can only be a type, so that a parameter ending with it has no name.
fn is_type_word(word: &str) -> bool {
    is_number_type(word)
        || matches!(
            word,
            "const"
                | "volatile"
                | "unsigned"
                | "size_t"
                | "device"
                | "constant"
                | "threadgroup"
                | "thread"
        )
}

/// Whether a word is one of Metal's scalar types, or a vector of one.
pub(crate) fn is_number_type(word: &str) -> bool {
    matches!(
        word.trim_end_matches(['2', '3', '4']),
        "bool"
            | "char"
            | "uchar"
            | "short"
            | "ushort"
            | "int"
            | "uint"
            | "long"
            | "ulong"
            | "half"
            | "float"
            | "bfloat"
    )
}

/// Tokens as a person would write them, `constant` as `const`.
pub(crate) fn pretty(tokens: &Tokens<'_>, indices: &[usize]) -> String {
    let mut out = String::new();
    for &index in indices {
        let text = match tokens.get(index) {
            "constant" => continue,
            text => text,
        };
        let needs_space = out
            .chars()
            .next_back()
            .is_some_and(|last| last == ',' || is_word_character(last))
            && text.chars().next().is_some_and(is_word_character);
        if needs_space || out.ends_with(',') {
            out.push(' ');
        }
        out.push_str(text);
    }
    out
}

fn is_word_character(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}
