//! Members of argument buffers: pointers, textures and samplers in structs that kernels take.
//!
//! A struct is found by its name among the tokens, its declarations are cut at semicolons, and structs inside it are looked
//! into. Where a member lies only the compiler knows: the annotation of the kernel asks for it.

use crate::attributes;
use crate::kernel_info::{Member, MemberKind};
use crate::lexer::Tokens;
use std::ops::Range;

/// How deep structs are looked into.
const MOST_NESTED: u32 = 4;
/// Most members of one argument.
const MOST_MEMBERS: usize = 512;

/// The members of a struct, if a pointer, texture or sampler is among them.
pub(crate) fn of_type(tokens: &Tokens<'_>, type_tokens: &[usize]) -> Vec<Member> {
    let mut members = Vec::new();
    let name = type_tokens.iter().rev().map(|&index| tokens.get(index));
    let Some(name) = name
        .into_iter()
        .find(|word| !matches!(*word, "const" | "constant"))
    else {
        return members;
    };
    collect(tokens, name, ("", ""), MOST_NESTED, &mut members);
    let handle = |member: &Member| member.kind != MemberKind::Value;
    match members.iter().any(handle) {
        true => members,
        false => Vec::new(),
    }
}

/// The members of what the host passes for a tensor: its elements, extents and strides.
pub(crate) fn of_tensor(type_name: &str) -> Vec<Member> {
    let member = |kind, path: String, type_name: &str| Member {
        kind,
        designator: path.clone(),
        path,
        type_name: type_name.to_owned(),
        offset: None,
    };
    let inside = type_name.split_once('<').map_or("", |(_, inside)| inside);
    let (element, extents) = inside.split_once(',').unwrap_or((inside, ""));
    let element = element.trim().trim_start_matches("const ");
    let mut members = vec![member(MemberKind::Pointer, "data".to_owned(), element)];
    for what in ["extents", "strides"] {
        for dimension in 0..rank(extents.trim()) {
            let path = format!("{what}[{dimension}]");
            members.push(member(MemberKind::Value, path, "long"));
        }
    }
    members
}

/// The dimensions of `dextents<int, 3>` or `extents<int, 64, dynamic_extent>`; 0 if the text does not say.
fn rank(extents: &str) -> u32 {
    let bare = extents.trim_start_matches("metal::");
    let (name, rest) = bare.split_once('<').unwrap_or((bare, ""));
    let arguments = rest.split('>').next().unwrap_or("").split(',').skip(1);
    let count = match name {
        "dextents" => arguments.last().and_then(|rank| rank.trim().parse().ok()),
        "extents" => u32::try_from(arguments.count()).ok(),
        _ => None,
    };
    count.filter(|count| *count <= MOST_DIMENSIONS).unwrap_or(0)
}

/// Most dimensions of a tensor.
const MOST_DIMENSIONS: u32 = 16;

/// The body of a struct.
fn body(tokens: &Tokens<'_>, name: &str) -> Option<Range<usize>> {
    let start = tokens.struct_body(name)?;
    let end = tokens.after_group(start, tokens.len());
    Some(start + 1..end.saturating_sub(1))
}

fn collect(
    tokens: &Tokens<'_>,
    name: &str,
    path: (&str, &str),
    depth: u32,
    members: &mut Vec<Member>,
) {
    let Some(body) = body(tokens, name) else {
        return;
    };
    for declaration in declarations(tokens, body) {
        if let Some(found) = Declaration::read(tokens, &declaration) {
            found.add(tokens, path, depth, members);
        }
        if members.len() > MOST_MEMBERS {
            return;
        }
    }
}

/// Runs of tokens between semicolons, without attributes; those with a body are left out.
fn declarations(tokens: &Tokens<'_>, range: Range<usize>) -> Vec<Vec<usize>> {
    let (mut all, mut current) = (Vec::new(), Vec::new());
    let mut at = range.start;
    while at < range.end {
        if attributes::opens(tokens, at) {
            let list = attributes::read(tokens, at, range.end);
            at = list.range.end.max(at + 1);
            continue;
        }
        match tokens.get(at) {
            ";" => all.push(std::mem::take(&mut current)),
            // A function, or a struct inside: neither is a member.
            "{" => {
                at = tokens.after_group(at, range.end);
                current.clear();
                continue;
            }
            _ => current.push(at),
        }
        at += 1;
    }
    all
}

/// A declaration of one member.
struct Declaration<'t> {
    name: &'t str,
    /// Words of the type, without its address space.
    words: Vec<&'t str>,
    pointer: bool,
    count: Option<u32>,
}

impl<'t> Declaration<'t> {
    fn read(tokens: &Tokens<'t>, indices: &[usize]) -> Option<Self> {
        let mut words: Vec<&'t str> = indices.iter().map(|&index| tokens.get(index)).collect();
        let other = ["static", "using", "typedef", "template", "friend", "("];
        if words.iter().any(|word| other.contains(word)) {
            return None;
        }
        let mut count = None;
        if let Some(open) = words.iter().position(|word| *word == "[") {
            count = Some(words.get(open + 1)?.parse().ok()?);
            words.truncate(open);
        }
        if let Some(equals) = words.iter().position(|word| *word == "=") {
            words.truncate(equals);
        }
        let name = words.pop()?;
        let elements = words.first() == Some(&"array") && words.contains(&"*");
        let spaces = [
            "device",
            "constant",
            "threadgroup",
            "const",
            "volatile",
            "struct",
        ];
        let pointer = words.iter().any(|word| matches!(*word, "*" | "&")) && !words.contains(&"<")
            || elements;
        let mut kept: Vec<&str> = Vec::new();
        for word in words {
            match word {
                "*" | "&" => {}
                // `metal::` says nothing; `access::write` does.
                "::" if kept.last() == Some(&"metal") => _ = kept.pop(),
                word if spaces.contains(&word) => {}
                word => kept.push(word),
            }
        }
        let words = kept;
        Some(Self {
            name,
            words,
            pointer,
            count,
        })
    }

    fn add(&self, tokens: &Tokens<'_>, path: (&str, &str), depth: u32, members: &mut Vec<Member>) {
        // `array<T, N>` is as many of what it holds.
        let mut count = self.count;
        let mut words = self.words.as_slice();
        let pointer = self.pointer;
        if let [first, "<", inner @ .., ",", number, ">"] = words
            && *first == "array"
            && let Ok(number) = number.parse()
        {
            count = Some(number);
            words = inner;
        }
        let type_name = words.concat();
        let kind = match words.first() {
            _ if pointer => MemberKind::Pointer,
            Some(word) if word.starts_with("texture") || word.starts_with("depth") => {
                MemberKind::Texture
            }
            Some(&"sampler") => MemberKind::Sampler,
            Some(_) => MemberKind::Value,
            None => return,
        };
        let elements = if words.len() == self.words.len() {
            ""
        } else {
            ".__elements"
        };
        let here = |path: &str, elements: &str, at: Option<u32>| {
            let dot = if path.is_empty() { "" } else { "." };
            match at {
                Some(at) => format!("{path}{dot}{}{elements}[{at}]", self.name),
                None => format!("{path}{dot}{}", self.name),
            }
        };
        let places: Vec<Option<u32>> = match count {
            Some(count) => (0..count.min(MOST_MEMBERS as u32)).map(Some).collect(),
            None => vec![None],
        };
        for place in places {
            let (path, designator) = (here(path.0, "", place), here(path.1, elements, place));
            let before = members.len();
            if kind == MemberKind::Value && depth > 0 {
                collect(tokens, &type_name, (&path, &designator), depth - 1, members);
            }
            if members.len() == before {
                members.push(Member {
                    kind,
                    path,
                    designator,
                    type_name: type_name.clone(),
                    offset: None,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, name: &str) -> Vec<String> {
        let tokens = Tokens::new(text);
        let index = (0..tokens.len())
            .rfind(|index| tokens.is(*index, name))
            .expect("the name");
        let members = of_type(&tokens, &[index]);
        let shown = members
            .iter()
            .map(|member| format!("{:?} {} {}", member.kind, member.path, member.type_name));
        shown.collect()
    }

    #[test]
    fn pointers_textures_and_samplers_are_found_in_nested_structs() {
        let text = "struct Inner { device float *x [[id(0)]]; int n; };
            struct Args { constant Inner *p [[id(0)]]; Inner in[2]; array<texture2d<float, access::write>, 2> t [[id(3)]];
                sampler s; float scale = 1; float f() const { return scale; } };
            Args";
        assert_eq!(
            found(text, "Args"),
            [
                "Pointer p Inner",
                "Pointer in[0].x float",
                "Value in[0].n int",
                "Pointer in[1].x float",
                "Value in[1].n int",
                "Texture t[0] texture2d<float,access::write>",
                "Texture t[1] texture2d<float,access::write>",
                "Sampler s sampler",
                "Value scale float",
            ]
        );
        assert!(found("struct Plain { int a; float b; }; Plain", "Plain").is_empty());
    }

    #[test]
    fn a_tensor_is_a_pointer_with_extents_and_strides() {
        let paths = |text: &str| {
            let members = of_tensor(text);
            let shown = members.iter().map(|member| member.path.clone());
            shown.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            paths("tensor<half, dextents<int32_t, 2>>"),
            "data extents[0] extents[1] strides[0] strides[1]"
        );
        assert_eq!(
            paths("metal::tensor<const float, metal::extents<int, 64>, tensor_handle>"),
            "data extents[0] strides[0]"
        );
        assert_eq!(paths("tensor<T, E>"), "data");
    }
}
