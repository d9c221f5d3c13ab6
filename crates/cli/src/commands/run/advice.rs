//! What a kernel wants, told to someone who left something out.

use assay_device::{Argument, ArgumentBinding, PipelineFacts};
use assay_launch::element::Element;
use assay_launch::resources;
use assay_launch::texture::Declared;
use assay_ssa::{Member, MemberKind};
use assay_texture::{Class, Dimension};
use std::fmt::Write as _;

/// The arguments of a kernel, and a command line to start from.
pub(super) fn arguments(file: &str, facts: &PipelineFacts, needs_name: bool) -> String {
    let mut text = format!("{} has these arguments:\n", facts.function);
    let mut line = format!("assay run {file}");
    if needs_name {
        let _ = write!(line, " -f {}", facts.function);
    }
    line.push_str(" --size N=1024 --grid N --threadgroup ");
    line.push_str(&facts.max_threads.min(256).to_string());
    for argument in &facts.arguments {
        let (word, index) = match argument.binding {
            ArgumentBinding::Buffer(index) => ("buffer", index),
            ArgumentBinding::Threadgroup(index) => ("threadgroup", index),
            ArgumentBinding::Texture(index) => ("texture", index),
            ArgumentBinding::Sampler(index) => ("sampler", index),
            _ => continue,
        };
        let Argument {
            name, type_name, ..
        } = argument;
        let access = argument.space.map_or("", |space| space.name());
        let _ = writeln!(text, "  {word} {index}  {access} {type_name}  {name}");
        if resources::is_tensor(argument) {
            let _ = write!(line, " --tensor {index}={}", tensor(argument));
            continue;
        }
        if argument.members.is_empty() {
            let _ = write!(line, " {}", option(argument, index));
        }
        for member in argument.members.iter().take(MOST_MEMBERS) {
            let (path, type_name) = (&member.path, &member.type_name);
            let (star, contents) = member_contents(member);
            let _ = writeln!(text, "    {index}.{path}  {type_name}{star}");
            let _ = write!(line, " --argument {index}.{path}={contents}");
        }
    }
    let _ = write!(
        text,
        "for example:\n  {line}\n`assay launch {file}` guesses the whole launch"
    );
    text
}

/// Members of an argument buffer that are shown.
const MOST_MEMBERS: usize = 12;

/// What a member's type ends with, and contents to start from.
fn member_contents(member: &Member) -> (&'static str, String) {
    let element = Element::in_metal(&member.type_name).map_or("f32", |element| element.name);
    match member.kind {
        MemberKind::Pointer => ("*", format!("zeros:{element}:N")),
        MemberKind::Sampler => ("", "linear".to_owned()),
        MemberKind::Value => ("", format!("{element}:1")),
        MemberKind::Texture => ("", "FILE.png".to_owned()),
    }
}

fn option(argument: &Argument, index: u32) -> String {
    let element = Element::in_metal(&argument.type_name);
    match (argument.binding, argument.buffer_size, element) {
        (ArgumentBinding::Threadgroup(_), ..) => format!("--tgmem {index}=BYTES"),
        (ArgumentBinding::Sampler(_), ..) => format!("--sampler {index}=linear"),
        (ArgumentBinding::Texture(_), ..) => format!("--texture {index}={}", texture(argument)),
        (_, Some(size), Some(element)) => {
            let count = (size as usize / element.size).clamp(1, 64);
            let values = vec!["1"; count].join(",");
            format!("--bytes {index}={}:{values}", element.name)
        }
        (_, Some(size), None) => format!("--bytes {index}=u8:…({size} bytes)"),
        (_, None, element) => {
            let name = element.map_or("f32", |element| element.name);
            let kind = match argument.access {
                assay_ssa::ArgumentAccess::Read => "random",
                _ => "zeros",
            };
            format!("--buffer {index}={kind}:{name}:N")
        }
    }
}

/// A tensor such as an argument declares.
fn tensor(argument: &Argument) -> String {
    let elements = argument.members.first();
    let element = elements.and_then(|member| Element::in_metal(&member.type_name));
    let shape = vec!["64"; resources::rank(argument).max(1)].join("x");
    format!(
        "zeros:{}:{shape}",
        element.map_or("f32", |element| element.name)
    )
}

/// A texture such as an argument declares.
fn texture(argument: &Argument) -> String {
    let declared = Declared::parse(&argument.type_name);
    let dimension = declared.map_or(Dimension::D2, |declared| declared.dimension);
    let extents = match dimension {
        Dimension::D1 | Dimension::Buffer => "W",
        Dimension::D2 => "WxH",
        Dimension::D3 => "WxHxD",
        Dimension::Cube => "WxW",
    };
    let layers = if declared.is_some_and(|declared| declared.array) {
        "xLAYERS"
    } else {
        ""
    };
    let format = match declared.map(|declared| (declared.depth, declared.class)) {
        Some((true, _)) => "depth32Float",
        Some((_, Class::Unsigned)) => "rgba8Uint",
        Some((_, Class::Signed)) => "rgba8Sint",
        _ => "rgba8Unorm",
    };
    match argument.access {
        assay_ssa::ArgumentAccess::Read if dimension == Dimension::D2 && layers.is_empty() => {
            "FILE.png".to_owned()
        }
        _ => format!("zeros:{format}:{extents}{layers}"),
    }
}
