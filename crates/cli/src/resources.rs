//! Textures and samplers of a launch, as flags and comments write them.

use crate::failure::Failure;
use crate::input;
use crate::launch::{array, split};
use assay_device::{Argument, ArgumentBinding};
use assay_launch::Sizes;
use assay_launch::picture::Picture;
use assay_launch::texture::{self, Contents, Declared, TEXTURE_FORMS};
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
                    contents(value, &declared(arguments, index), sizes).map_err(
                        |why| match why {
                            Problem::Usage(why) => bad(why),
                            Problem::Failure(failure) => failure,
                        },
                    )?,
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
        Ok(resources)
    }
}

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

fn contents(value: &str, declared: &Declared, sizes: &Sizes) -> Result<Contents, Problem> {
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
