//! Textures, samplers, tensors and argument buffers of a launch.

use crate::Sizes;
use crate::contents::{self, Contents as Elements, Values};
use crate::element::Element;
use crate::inputs::{Files, array, element_of, of_buffer, unresolved};
use crate::mistake::{Blame, Mistake};
use crate::picture::Picture;
use crate::texture::{self, Contents, Declared, TEXTURE_FORMS};
use crate::written::{Bound, Written};
use assay_ssa::{Argument, Binding, MemberKind};
use assay_texture::{Dimension, Sampler};
use std::path::Path;

/// A texture that is bound.
#[derive(Debug)]
pub enum BoundTexture {
    /// Texels of its own.
    Contents(Contents),
    /// The texture at another index.
    Same(u32),
}

/// The textures and samplers that are bound, by index.
#[derive(Debug, Default)]
pub struct Resources {
    /// Textures.
    pub textures: Vec<(u32, BoundTexture)>,
    /// Samplers.
    pub samplers: Vec<(u32, Sampler)>,
    /// What argument buffers point to.
    pub members: Vec<Member>,
    /// Argument buffers: their index, and their bytes but for pointers and handles.
    pub argument_buffers: Vec<(u32, Vec<u8>)>,
}

/// A pointer, texture or sampler in an argument buffer.
#[derive(Debug)]
pub struct Member {
    /// The argument buffer.
    pub index: u32,
    /// Where in it, in bytes.
    pub offset: u64,
    /// As it is written: `0.weights`.
    pub name: String,
    /// The extents of what it points to, if it is a tensor.
    pub shape: Option<Vec<u64>>,
    /// What it is.
    pub contents: MemberContents,
}

/// What a member of an argument buffer is.
#[derive(Debug)]
pub enum MemberContents {
    /// A pointer to these elements.
    Buffer(&'static Element, Vec<u8>),
    /// A texture.
    Texture(Contents),
    /// A sampler.
    Sampler(Sampler),
}

impl MemberContents {
    /// The bytes that a device keeps of it.
    pub fn data(&self) -> Option<&[u8]> {
        match self {
            MemberContents::Buffer(_, data) => Some(data),
            MemberContents::Texture(contents) => Some(&contents.data),
            MemberContents::Sampler(_) => None,
        }
    }
}

impl Written {
    /// Textures and samplers for the arguments of a kernel, at certain sizes.
    pub fn resources(
        &self,
        arguments: &[Argument],
        sizes: &Sizes,
        files: &dyn Files,
    ) -> Result<Resources, Mistake> {
        let mut resources = Resources::default();
        for bound in &self.textures {
            let index = unresolved(bound)?;
            let bad = |why: String| {
                Mistake::usage(format!("--texture {bound}: {why}")).advice(TEXTURE_FORMS)
            };
            if resources.textures.iter().any(|(known, _)| *known == index) {
                return Err(bad(format!("texture {index} is bound twice")));
            }
            let contents = match bound.value.strip_prefix("same:") {
                Some(of) => {
                    let of = of.parse();
                    BoundTexture::Same(
                        of.map_err(|_| bad(format!("`{}` is not an index", bound.value)))?,
                    )
                }
                None => {
                    let declared = declared(arguments, index);
                    let seed = contents::seed_of(index);
                    let found = texture_contents(&bound.value, &declared, seed, sizes, files);
                    BoundTexture::Contents(found.map_err(|mistake| of_flag(mistake, bad))?)
                }
            };
            resources.textures.push((index, contents));
        }
        for bound in &self.samplers {
            let sampler = bound.value.parse();
            let sampler =
                sampler.map_err(|why| Mistake::usage(format!("--sampler {bound}: {why}")))?;
            resources.samplers.push((unresolved(bound)?, sampler));
        }
        for (name, value) in &self.members {
            resources.add_member(name, value, arguments, sizes, files)?;
        }
        for bound in &self.tensors {
            resources.add_tensor(tensor(bound, arguments, sizes, files)?);
        }
        Ok(resources)
    }
}

/// A mistake told with the flag it is in, unless a file is to blame.
fn of_flag(mistake: Mistake, bad: impl Fn(String) -> Mistake) -> Mistake {
    match mistake.blame {
        Blame::File => mistake,
        Blame::Usage => bad(mistake.message),
    }
}

impl Resources {
    fn add_tensor(&mut self, tensor: Tensor) {
        self.argument_buffers
            .push((tensor.index, tensor.description));
        self.members.push(Member {
            index: tensor.index,
            offset: tensor.pointer,
            name: format!("tensor:{}", tensor.index),
            shape: Some(tensor.shape),
            contents: MemberContents::Buffer(tensor.element, tensor.data),
        });
    }

    /// Adds what an `--argument` says.
    fn add_member(
        &mut self,
        name: &str,
        value: &str,
        arguments: &[Argument],
        sizes: &Sizes,
        files: &dyn Files,
    ) -> Result<(), Mistake> {
        let bad = |why: String| {
            Mistake::usage(format!("--argument {name}={value}: {why}")).advice(
                "write INDEX.MEMBER=CONTENTS, as in 0.weights=x.npy, 0.image=x.png, 0.smooth=linear or 0.scale=f32:2",
            )
        };
        let (place, path) = name
            .split_once('.')
            .ok_or_else(|| bad("it names no member".to_owned()))?;
        let (index, element) = match place.split_once('[') {
            Some((index, element)) => (index, element.trim_end_matches(']')),
            None => (place, "0"),
        };
        let numbers = index.trim().parse().ok().zip(element.parse::<u64>().ok());
        let (index, element): (u32, u64) =
            numbers.ok_or_else(|| bad(format!("`{place}` is not an index")))?;
        let argument = of_buffer(arguments, index)
            .ok_or_else(|| bad(format!("the kernel has no buffer {index}")))?;
        let mut members = argument.members.iter();
        let Some(member) = members.find(|member| member.path == path.trim()) else {
            let names: Vec<&str> = argument
                .members
                .iter()
                .map(|member| member.path.as_str())
                .collect();
            return Err(bad(match names.is_empty() {
                true => format!(
                    "buffer {index} (\"{}\") is not an argument buffer",
                    argument.name
                ),
                false => format!("there is no `{path}`; there are {}", names.join(", ")),
            }));
        };
        let size = u64::from(argument.size);
        let offset = element
            .saturating_mul(size)
            .saturating_add(member.offset.into());
        let end = usize::try_from((element + 1).saturating_mul(size)).unwrap_or(usize::MAX);
        if end > MOST_BYTES {
            return Err(bad(format!("element {element} is too far")));
        }
        let known = self
            .argument_buffers
            .iter()
            .position(|(known, _)| *known == index);
        let at = known.unwrap_or_else(|| {
            self.argument_buffers.push((index, Vec::new()));
            self.argument_buffers.len() - 1
        });
        let bytes = &mut self.argument_buffers[at].1;
        bytes.resize(bytes.len().max(end), 0);
        // As a buffer of its own would be, so that no two members hold the same numbers.
        let seed = contents::seed_of(index).wrapping_add(offset << 32);
        let contents = match member.kind {
            MemberKind::Value => {
                let values = Values::new(value, None).bytes(sizes).map_err(&bad)?;
                let place = bytes.get_mut(offset as usize..offset as usize + values.len());
                let place = place.ok_or_else(|| bad("the values do not fit".to_owned()))?;
                place.copy_from_slice(&values);
                return Ok(());
            }
            MemberKind::Sampler => MemberContents::Sampler(value.parse().map_err(&bad)?),
            MemberKind::Texture => {
                let declared = Declared::parse(&member.type_name);
                let declared =
                    declared.ok_or_else(|| bad(format!("`{}` is not known", member.type_name)))?;
                let found = texture_contents(value, &declared, seed, sizes, files);
                MemberContents::Texture(found.map_err(|mistake| of_flag(mistake, bad))?)
            }
            MemberKind::Pointer => {
                let own = Element::in_metal(&member.type_name);
                let (element, data, _) = elements(value, own, seed, sizes, files)
                    .map_err(|mistake| of_flag(mistake, bad))?;
                MemberContents::Buffer(element, data)
            }
        };
        self.members.push(Member {
            index,
            offset,
            name: name.trim().to_owned(),
            shape: None,
            contents,
        });
        Ok(())
    }
}

/// Most bytes of an argument buffer.
const MOST_BYTES: usize = 1 << 30;

/// The texture a kernel declares at an index; a plain one if it says nothing.
pub fn declared(arguments: &[Argument], index: u32) -> Declared {
    let mut arguments = arguments.iter();
    let argument = arguments.find(|argument| argument.binding == Binding::Texture(index));
    let declared = argument.and_then(|argument| Declared::parse(&argument.type_name));
    declared.unwrap_or(Declared {
        dimension: Dimension::D2,
        array: false,
        multisampled: false,
        depth: false,
        class: assay_texture::Class::Float,
    })
}

/// Elements of a tensor or of a member, with their extents.
fn elements(
    value: &str,
    own: Option<&'static Element>,
    seed: u64,
    sizes: &Sizes,
    files: &dyn Files,
) -> Result<(&'static Element, Vec<u8>, Vec<u64>), Mistake> {
    let made = match value.parse().map_err(Mistake::usage)? {
        Elements::Made(made) => made,
        Elements::Same(_) => {
            return Err(Mistake::usage(
                "only a buffer can be another's: `same:` means nothing here",
            ));
        }
        Elements::File(name) => {
            let array = array(files, &name)?;
            return Ok((element_of(&name, &array)?, array.data, array.shape));
        }
    };
    let element = made.element.or(own);
    let element = element.ok_or_else(|| Mistake::usage("it names no type"))?;
    let shape = made.shape.as_ref();
    let shape = shape.ok_or_else(|| Mistake::usage("it has no shape"))?;
    let axes = shape.axes(sizes).map_err(Mistake::usage)?;
    let bytes = axes
        .iter()
        .try_fold(element.size as u64, |all, n| all.checked_mul(*n));
    let bytes = bytes.filter(|bytes| *bytes <= contents::MOST_BYTES);
    let bytes = bytes.ok_or_else(|| Mistake::usage(format!("{shape} is more than fits")))?;
    let seeded = contents::Made {
        seed: made.seed.or(Some(seed)),
        ..made.clone()
    };
    let fill = seeded.fill(element, 0, sizes).map_err(Mistake::usage)?;
    Ok((element, fill.bytes(bytes as usize), axes))
}

fn texture_contents(
    value: &str,
    declared: &Declared,
    seed: u64,
    sizes: &Sizes,
    files: &dyn Files,
) -> Result<Contents, Mistake> {
    if let Some(filled) = texture::fill(value, declared, seed, sizes).map_err(Mistake::usage)? {
        return Ok(filled);
    }
    let (file, format) = texture::split_format(value).map_err(Mistake::usage)?;
    let extension = Path::new(file).extension().and_then(|it| it.to_str());
    let read = |why: String| Mistake::file(format!("{file}: {why}"));
    match extension {
        Some("npy") => texture::of_array(&array(files, file)?, declared, format).map_err(read),
        Some("png") => {
            let bytes = files.read(file)?;
            let picture =
                Picture::parse(&bytes).map_err(|why| read(format!("it is not a PNG: {why}")))?;
            texture::of_picture(&picture, declared, format).map_err(read)
        }
        _ => Err(Mistake::usage(format!(
            "`{file}` is neither a .png nor a .npy"
        ))),
    }
}

/// A level of a texture as the bytes of a file, by its extension.
pub fn texture_file(
    path: &Path,
    layout: &assay_texture::Layout,
    data: &[u8],
    level: u32,
) -> Result<Vec<u8>, Mistake> {
    let bad = |why: String| Mistake::usage(format!("--out {}: {why}", path.display()));
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("png") => {
            let picture = texture::to_picture(layout, data, level).map_err(bad)?;
            picture.to_bytes().map_err(bad)
        }
        _ => Ok(texture::to_array(layout, data, level)
            .map_err(bad)?
            .to_bytes()),
    }
}

/// How a tensor is written, for advice.
const TENSOR_FORMS: &str = "write INDEX=FILE.npy, or INDEX=zeros:TYPE:SHAPE (also iota, random), as in 0=zeros:f16:64x32: \
                     the last extent is the tensor's first";

/// A tensor that is bound: its elements, and the bytes that describe it.
#[derive(Debug)]
struct Tensor {
    index: u32,
    element: &'static Element,
    data: Vec<u8>,
    /// The extents as NumPy has them, the last the innermost.
    shape: Vec<u64>,
    /// What the kernel is passed, but for the pointer.
    description: Vec<u8>,
    /// Where in it the pointer is.
    pointer: u64,
}

/// Returns true if an argument is a tensor.
pub fn is_tensor(argument: &Argument) -> bool {
    let bare = argument.type_name.trim_start_matches("const ");
    bare.trim_start_matches("metal::").starts_with("tensor<")
}

/// The dimensions of a tensor argument, from its members.
pub fn rank(argument: &Argument) -> usize {
    let members = argument.members.iter();
    members
        .filter(|member| member.path.starts_with("extents["))
        .count()
}

/// The tensor that a `--tensor` says: its argument is passed as elements, extents and strides (a struct of the three). The
/// last axis of an array, along which elements are neighbours, is the first dimension of the tensor.
fn tensor(
    bound: &Bound<Elements>,
    arguments: &[Argument],
    sizes: &Sizes,
    files: &dyn Files,
) -> Result<Tensor, Mistake> {
    let bad = |why: String| Mistake::usage(format!("--tensor {bound}: {why}")).advice(TENSOR_FORMS);
    let index = unresolved(bound)?;
    let argument = of_buffer(arguments, index)
        .ok_or_else(|| bad(format!("the kernel has no buffer {index}")))?;
    let name = &argument.name;
    if !is_tensor(argument) {
        return Err(bad(format!("buffer {index} (\"{name}\") is not a tensor")));
    }
    let mut members = argument.members.iter();
    let pointer = members.find(|member| member.kind == MemberKind::Pointer);
    let pointer = pointer.ok_or_else(|| bad(format!("\"{name}\" has no elements")))?;
    let wanted = Element::in_metal(&pointer.type_name);
    let seed = contents::seed_of(index);
    let made = elements(&bound.value.to_string(), wanted, seed, sizes, files);
    let (element, data, shape) = made.map_err(|mistake| of_flag(mistake, bad))?;
    if shape.len() != rank(argument) {
        return Err(bad(format!(
            "\"{name}\" has {} dimensions, and this has {}",
            rank(argument),
            shape.len()
        )));
    }
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
