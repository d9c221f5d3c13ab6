//! Textures and samplers of a launch, as flags and comments write them.

use crate::failure::Failure;
use crate::input;
use crate::launch::{array, load, split};
use crate::tensors;
use assay_device::{Argument, ArgumentBinding};
use assay_launch::Sizes;
use assay_launch::contents;
use assay_launch::element::Element;
use assay_launch::picture::Picture;
use assay_launch::texture::{self, Contents, Declared, TEXTURE_FORMS};
use assay_ssa::MemberKind;
use assay_texture::{Dimension, Sampler};
use std::path::Path;

/// The flags of textures and samplers.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ResourceArgs {
    /// A texture: I=FILE.png[:FORMAT], I=FILE.npy[:FORMAT], or I=zeros:FORMAT:WxHxD (also iota, random and empty, whose texels
    /// nobody has written), with :levels=N, :layers=N and :samples=N behind; I=same:J is the texture at J. FORMAT is
    /// Metal's, such as rgba8Unorm or r32Float
    #[arg(long = "texture", value_name = "I=CONTENTS")]
    pub(crate) textures: Vec<String>,

    /// A sampler in Metal's words, as in 0=linear,repeat or 0=nearest,coord=pixel,t_address=clamp_to_zero
    #[arg(long = "sampler", value_name = "I=WORDS")]
    pub(crate) samplers: Vec<String>,

    /// A member of an argument buffer, as in 0.weights=FILE.npy, 0.image=FILE.png, 0.smooth=linear, 0.layers[2].scale=f32:0.5 or
    /// 0[3].weights=zeros:f32:64 of an array of structs: contents as for --buffer, --texture, --sampler and --bytes
    #[arg(long = "argument", value_name = "I.MEMBER=CONTENTS")]
    pub(crate) arguments: Vec<String>,

    /// A tensor: I=FILE.npy, or I=zeros:TYPE:SHAPE (also iota, random), as in 0=random:f16:64x32. The last extent, of elements
    /// that are neighbours, is the tensor's first
    #[arg(long = "tensor", value_name = "I=CONTENTS")]
    pub(crate) tensors: Vec<String>,
}

/// A texture that is bound.
#[derive(Debug)]
pub(crate) enum BoundTexture {
    Contents(Contents),
    /// The texture at another index.
    Same(u32),
}

/// The textures and samplers that are bound, by index.
#[derive(Debug, Default)]
pub(crate) struct Resources {
    pub(crate) textures: Vec<(u32, BoundTexture)>,
    pub(crate) samplers: Vec<(u32, Sampler)>,
    pub(crate) members: Vec<Member>,
    /// Argument buffers: their index, and their bytes but for pointers and handles.
    pub(crate) argument_buffers: Vec<(u32, Vec<u8>)>,
}

/// A pointer, texture or sampler in an argument buffer.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) index: u32,
    pub(crate) offset: u64,
    /// As it is written: `0.weights`.
    pub(crate) name: String,
    /// The extents of what it points to, if it is a tensor.
    pub(crate) shape: Option<Vec<u64>>,
    pub(crate) contents: MemberContents,
}

#[derive(Debug)]
pub(crate) enum MemberContents {
    Buffer(&'static Element, Vec<u8>),
    Texture(Contents),
    Sampler(Sampler),
}

impl MemberContents {
    /// The bytes that a device keeps of it.
    pub(crate) fn data(&self) -> Option<&[u8]> {
        match self {
            MemberContents::Buffer(_, data) => Some(data),
            MemberContents::Texture(contents) => Some(&contents.data),
            MemberContents::Sampler(_) => None,
        }
    }
}

impl ResourceArgs {
    /// These flags, and of others what is not among them.
    pub(crate) fn or(&self, other: ResourceArgs) -> ResourceArgs {
        let index = |text: &str| {
            text.split_once('=')
                .map(|(index, _)| index.trim().to_owned())
        };
        let fresh =
            |own: &[String], text: &String| !own.iter().any(|own| index(own) == index(text));
        let mut all = self.clone();
        let textures = other.textures.into_iter();
        all.textures
            .extend(textures.filter(|text| fresh(&self.textures, text)));
        let samplers = other.samplers.into_iter();
        all.samplers
            .extend(samplers.filter(|text| fresh(&self.samplers, text)));
        let arguments = other.arguments.into_iter();
        all.arguments
            .extend(arguments.filter(|text| fresh(&self.arguments, text)));
        let tensors = other.tensors.into_iter();
        all.tensors
            .extend(tensors.filter(|text| fresh(&self.tensors, text)));
        all
    }

    /// Textures and samplers for the arguments of a kernel, at certain sizes.
    pub(crate) fn at(&self, arguments: &[Argument], sizes: &Sizes) -> Result<Resources, Failure> {
        let mut resources = Resources::default();
        for text in &self.textures {
            let (index, value) = split("--texture", text)?;
            let bad = |why: String| {
                Failure::usage(format!("--texture {text}: {why}")).advice(TEXTURE_FORMS)
            };
            if resources.textures.iter().any(|(known, _)| *known == index) {
                return Err(bad(format!("texture {index} is bound twice")));
            }
            let contents = match value.strip_prefix("same:") {
                Some(of) => {
                    BoundTexture::Same(of.parse().map_err(|_| bad(format!("`{of}` is no index")))?)
                }
                None => BoundTexture::Contents(
                    texture_contents(value, &declared(arguments, index), sizes).map_err(|why| {
                        match why {
                            Problem::Usage(why) => bad(why),
                            Problem::Failure(failure) => failure,
                        }
                    })?,
                ),
            };
            resources.textures.push((index, contents));
        }
        for text in &self.samplers {
            let (index, value) = split("--sampler", text)?;
            let sampler = value
                .parse()
                .map_err(|why| Failure::usage(format!("--sampler {text}: {why}")))?;
            resources.samplers.push((index, sampler));
        }
        for text in &self.arguments {
            resources.add_member(text, arguments, sizes)?;
        }
        for text in &self.tensors {
            resources.add_tensor(tensors::read(text, arguments, sizes)?);
        }
        Ok(resources)
    }
}

impl Resources {
    fn add_tensor(&mut self, tensor: tensors::Tensor) {
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
        text: &str,
        arguments: &[Argument],
        sizes: &Sizes,
    ) -> Result<(), Failure> {
        let bad = |why: String| {
            Failure::usage(format!("--argument {text}: {why}")).advice(
                "write INDEX.MEMBER=CONTENTS, as in 0.weights=x.npy, 0.image=x.png, 0.smooth=linear or 0.scale=f32:2",
            )
        };
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| bad("it has no `=`".to_owned()))?;
        let (place, path) = name
            .split_once('.')
            .ok_or_else(|| bad("it names no member".to_owned()))?;
        let (index, element) = match place.split_once('[') {
            Some((index, element)) => (index, element.trim_end_matches(']')),
            None => (place, "0"),
        };
        let numbers = index.trim().parse().ok().zip(element.parse::<u64>().ok());
        let (index, element): (u32, u64) =
            numbers.ok_or_else(|| bad(format!("`{place}` is no index")))?;
        let argument = arguments
            .iter()
            .find(|argument| argument.binding == ArgumentBinding::Buffer(index))
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
                    "buffer {index} (\"{}\") is no argument buffer",
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
        let contents = match member.kind {
            MemberKind::Value => {
                let values = contents::values(value, sizes).map_err(&bad)?;
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
                let found = texture_contents(value, &declared, sizes);
                MemberContents::Texture(found.map_err(|problem| match problem {
                    Problem::Usage(why) => bad(why),
                    Problem::Failure(failure) => failure,
                })?)
            }
            MemberKind::Pointer => {
                let filled = contents::fill(value, sizes).map_err(&bad)?;
                let (element, data) = match filled {
                    Some(filled) => filled,
                    None => load(text, value)?,
                };
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
pub(crate) fn declared(arguments: &[Argument], index: u32) -> Declared {
    let mut arguments = arguments.iter();
    let argument = arguments.find(|argument| argument.binding == ArgumentBinding::Texture(index));
    let declared = argument.and_then(|argument| Declared::parse(&argument.type_name));
    declared.unwrap_or(Declared {
        dimension: Dimension::D2,
        array: false,
        multisampled: false,
        depth: false,
        class: assay_texture::Class::Float,
    })
}

enum Problem {
    Usage(String),
    Failure(Failure),
}

fn texture_contents(value: &str, declared: &Declared, sizes: &Sizes) -> Result<Contents, Problem> {
    if let Some(filled) = texture::fill(value, declared, sizes).map_err(Problem::Usage)? {
        return Ok(filled);
    }
    let (file, format) = texture::split_format(value).map_err(Problem::Usage)?;
    let path = Path::new(file);
    let extension = path.extension().and_then(|extension| extension.to_str());
    let read = |why: String| Problem::Failure(Failure::input(format!("{file}: {why}")));
    match extension {
        Some("npy") => {
            let array = array(path).map_err(Problem::Failure)?;
            texture::of_array(&array, declared, format).map_err(read)
        }
        Some("png") => {
            let bytes = input::open(path).map_err(Problem::Failure)?;
            let picture =
                Picture::parse(&bytes).map_err(|why| read(format!("it is no PNG: {why}")))?;
            texture::of_picture(&picture, declared, format).map_err(read)
        }
        _ => Err(Problem::Usage(format!(
            "`{file}` is neither a .png nor a .npy"
        ))),
    }
}

/// A level of a texture as the bytes of a file, by its extension.
pub(crate) fn file(
    path: &Path,
    layout: &assay_texture::Layout,
    data: &[u8],
    level: u32,
) -> Result<Vec<u8>, Failure> {
    let bad = |why: String| Failure::usage(format!("--out {}: {why}", path.display()));
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
