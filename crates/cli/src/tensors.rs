//! Tensors of a launch, as flags and comments write them: `--tensor 0=FILE.npy`.
//!
//! A tensor argument is passed as its elements, extents and strides (`assay_msl` makes a struct of the three). The last axis of
//! an array, along which elements are neighbours, is the first dimension of the tensor.

use crate::failure::Failure;
use crate::launch::{array, load, split};
use assay_device::{Argument, ArgumentBinding};
use assay_launch::element::Element;
use assay_launch::{Sizes, contents};
use assay_ssa::MemberKind;
use std::path::Path;

/// How a tensor is written, for advice.
const FORMS: &str = "write INDEX=FILE.npy, or INDEX=zeros:TYPE:SHAPE (also iota, random), as in 0=zeros:f16:64x32: \
                     the last extent is the tensor's first";

/// A tensor that is bound: its elements, and the bytes that describe it.
#[derive(Debug)]
pub(crate) struct Tensor {
    pub(crate) index: u32,
    pub(crate) element: &'static Element,
    pub(crate) data: Vec<u8>,
    /// The extents as NumPy has them, the last the innermost.
    pub(crate) shape: Vec<u64>,
    /// What the kernel is passed, but for the pointer.
    pub(crate) description: Vec<u8>,
    /// Where in it the pointer is.
    pub(crate) pointer: u64,
}

/// Returns true if an argument is a tensor.
pub(crate) fn is_tensor(argument: &Argument) -> bool {
    let bare = argument.type_name.trim_start_matches("const ");
    bare.trim_start_matches("metal::").starts_with("tensor<")
}

/// The dimensions of a tensor argument, from its members.
pub(crate) fn rank(argument: &Argument) -> usize {
    let members = argument.members.iter();
    members
        .filter(|member| member.path.starts_with("extents["))
        .count()
}

/// The tensor that a `--tensor` says.
pub(crate) fn read(text: &str, arguments: &[Argument], sizes: &Sizes) -> Result<Tensor, Failure> {
    let bad = |why: String| Failure::usage(format!("--tensor {text}: {why}")).advice(FORMS);
    let (index, value) = split("--tensor", text)?;
    let argument = arguments
        .iter()
        .find(|argument| argument.binding == ArgumentBinding::Buffer(index))
        .ok_or_else(|| bad(format!("the kernel has no buffer {index}")))?;
    let name = &argument.name;
    if !is_tensor(argument) {
        return Err(bad(format!("buffer {index} (\"{name}\") is no tensor")));
    }
    let (element, data, shape) = elements(text, value, sizes).map_err(|problem| match problem {
        Problem::Usage(why) => bad(why),
        Problem::Failure(failure) => failure,
    })?;
    if shape.len() != rank(argument) {
        return Err(bad(format!(
            "\"{name}\" has {} dimensions, and this has {}",
            rank(argument),
            shape.len()
        )));
    }
    let mut members = argument.members.iter();
    let pointer = members.find(|member| member.kind == MemberKind::Pointer);
    let pointer = pointer.ok_or_else(|| bad(format!("\"{name}\" has no elements")))?;
    let wanted = Element::in_metal(&pointer.type_name);
    if wanted.is_some_and(|wanted| !element.suits(wanted)) {
        return Err(bad(format!(
            "\"{name}\" is a tensor of {}, and this is {}",
            pointer.type_name, element.name
        )));
    }
    Ok(Tensor {
        index,
        element,
        data,
        description: description(argument, &shape),
        pointer: pointer.offset.into(),
        shape,
    })
}

/// Extents and strides where the kernel looks for them.
fn description(argument: &Argument, shape: &[u64]) -> Vec<u8> {
    let mut bytes = vec![0; argument.size as usize];
    let mut stride = 1u64;
    for (dimension, &extent) in shape.iter().rev().enumerate() {
        for (what, value) in [("extents", extent), ("strides", stride)] {
            let path = format!("{what}[{dimension}]");
            let mut members = argument.members.iter();
            let member = members.find(|member| member.path == path);
            let place = member.and_then(|member| {
                let start = member.offset as usize;
                bytes.get_mut(start..start + size_of::<u64>())
            });
            if let Some(place) = place {
                place.copy_from_slice(&value.to_le_bytes());
            }
        }
        stride = stride.saturating_mul(extent);
    }
    bytes
}

enum Problem {
    Usage(String),
    Failure(Failure),
}

type Elements = (&'static Element, Vec<u8>, Vec<u64>);

fn elements(text: &str, value: &str, sizes: &Sizes) -> Result<Elements, Problem> {
    if let Some((element, data)) = contents::fill(value, sizes).map_err(Problem::Usage)? {
        let shape = value.split(':').nth(2).unwrap_or_default();
        let shape = contents::extents(shape, sizes).map_err(Problem::Usage)?;
        return Ok((element, data, shape));
    }
    let (element, data) = load(text, value).map_err(Problem::Failure)?;
    let shape = array(Path::new(value)).map_err(Problem::Failure)?.shape;
    Ok((element, data, shape))
}
