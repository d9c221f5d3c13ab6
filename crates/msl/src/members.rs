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
    let at = Place {
        path: "",
        designator: "",
        depth: MOST_NESTED,
        id: 0,
    };
    collect(tokens, name, at, &mut members);
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
        id: 0,
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
    for (id, member) in members.iter_mut().enumerate() {
        member.id = id as u32;
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

/// Where a struct lies in another, and the index that its first member has.
#[derive(Clone, Copy)]
struct Place<'p> {
    path: &'p str,
    designator: &'p str,
    depth: u32,
    id: u32,
}

/// Collects the members of a struct; the index after that of the last. A member without `[[id(n)]]` follows the one before.
fn collect(tokens: &Tokens<'_>, name: &str, place: Place<'_>, members: &mut Vec<Member>) -> u32 {
    let mut next = place.id;
    let Some(body) = body(tokens, name) else {
        return next;
    };
    for (declaration, id) in declarations(tokens, body) {
        if let Some(found) = Declaration::read(tokens, &declaration) {
            let id = id.map_or(next, |id| place.id.saturating_add(id));
            next = found.add(tokens, Place { id, ..place }, members);
        }
        if members.len() > MOST_MEMBERS {
            break;
        }
    }
    next
}

/// The number of `[[id(n)]]`, if a list of attributes has one.
fn id(tokens: &Tokens<'_>, list: &attributes::AttributeList) -> Option<u32> {
    let mut all = list.attributes.iter();
    let found = all.find(|attribute| tokens.get(attribute.name) == "id")?;
    tokens.get(found.arguments.start).parse().ok()
}

/// Runs of tokens between semicolons, with their index if an attribute says it; those with a body are left out.
fn declarations(tokens: &Tokens<'_>, range: Range<usize>) -> Vec<(Vec<usize>, Option<u32>)> {
    let (mut all, mut current, mut own) = (Vec::new(), Vec::new(), None);
    let mut at = range.start;
    while at < range.end {
        if attributes::opens(tokens, at) {
            let list = attributes::read(tokens, at, range.end);
            own = id(tokens, &list).or(own);
            at = list.range.end.max(at + 1);
            continue;
        }
        match tokens.get(at) {
            ";" => all.push((std::mem::take(&mut current), own.take())),
            // A function, or a struct inside: neither is a member.
            "{" => {
                at = tokens.after_group(at, range.end);
                current.clear();
                own = None;
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

    /// Adds its members; the index after theirs.
    fn add(&self, tokens: &Tokens<'_>, at: Place<'_>, members: &mut Vec<Member>) -> u32 {
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
            None => return at.id,
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
        let mut next = at.id;
        for place in places {
            let (path, designator) = (
                here(at.path, "", place),
                here(at.designator, elements, place),
            );
            let before = members.len();
            if kind == MemberKind::Value && at.depth > 0 {
                let inside = Place {
                    path: &path,
                    designator: &designator,
                    depth: at.depth - 1,
                    id: next,
                };
                next = collect(tokens, &type_name, inside, members);
            }
            if members.len() == before {
                members.push(Member {
                    kind,
                    path,
                    designator,
                    type_name: type_name.clone(),
                    offset: None,
                    id: next,
                });
                next = next.saturating_add(1);
            }
        }
        next
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
        let shown = members.iter().map(|member| {
            format!(
                "{} {:?} {} {}",
                member.id, member.kind, member.path, member.type_name
            )
        });
        shown.collect()
    }

    #[test]
    fn pointers_textures_and_samplers_are_found_in_nested_structs() {
        let text = "struct Inner { device float *x [[id(0)]]; int n; };
            struct Args { constant Inner *p [[id(0)]]; Inner in[2]; array<texture2d<float, access::write>, 2> t [[id(7)]];
                sampler s; float scale = 1; float f() const { return scale; } };
            Args";
        assert_eq!(
            found(text, "Args"),
            [
                "0 Pointer p Inner",
                "1 Pointer in[0].x float",
                "2 Value in[0].n int",
                "3 Pointer in[1].x float",
                "4 Value in[1].n int",
                "7 Texture t[0] texture2d<float,access::write>",
                "8 Texture t[1] texture2d<float,access::write>",
                "9 Sampler s sampler",
                "10 Value scale float",
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
