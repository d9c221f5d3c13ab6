//! Textures of a launch: what a kernel declares, and texels that are described. `files` has those of files.

mod files;

pub use files::{of_array, of_picture, split_format, to_array, to_picture};

use crate::fill::mix;
use crate::formula::{Formula, Sizes};
use assay_texture::{Class, Dimension, Format, Layout, Shape};

/// How a texture is written, for advice.
pub const TEXTURE_FORMS: &str = "a texture is FILE.png[:FORMAT], FILE.npy[:FORMAT], or zeros, empty, iota or random with \
                                 :FORMAT:WxHxD[:levels=N][:samples=N][:layers=N], as in 0=zeros:rgba8Unorm:64x64";

/// A texture as a kernel declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declared {
    /// Its axes.
    pub dimension: Dimension,
    /// Whether it has layers.
    pub array: bool,
    /// Whether it has samples.
    pub multisampled: bool,
    /// Whether it is a depth texture.
    pub depth: bool,
    /// What its components are.
    pub class: Class,
}

impl Declared {
    /// Reads a type such as `texture2d_array<half, access::write>`.
    pub fn parse(type_name: &str) -> Option<Declared> {
        let bare: String = type_name.chars().filter(|c| !c.is_whitespace()).collect();
        let bare = bare.strip_prefix("const").unwrap_or(&bare);
        let bare = bare.strip_prefix("metal::").unwrap_or(bare);
        let bare = match bare.strip_prefix("array<") {
            Some(rest) => rest.strip_prefix("metal::").unwrap_or(rest),
            None => bare,
        };
        let (name, rest) = bare.split_once('<')?;
        let element = rest.split([',', '>']).next()?;
        let depth = name.starts_with("depth");
        let shape = name
            .strip_prefix("texture")
            .or(name.strip_prefix("depth"))?;
        let dimension = match shape.split('_').next()? {
            "1d" => Dimension::D1,
            "2d" => Dimension::D2,
            "3d" => Dimension::D3,
            "cube" => Dimension::Cube,
            "" => Dimension::Buffer,
            _ => return None,
        };
        let class = match element.trim_start_matches("metal::") {
            "int" | "short" | "int32_t" | "int16_t" => Class::Signed,
            "uint" | "ushort" | "ulong" | "uint32_t" | "uint16_t" | "uint64_t" => Class::Unsigned,
            _ => Class::Float,
        };
        Some(Declared {
            dimension,
            array: shape.contains("_array"),
            multisampled: shape.contains("_ms"),
            depth,
            class,
        })
    }
}

/// A texture before a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// What the bytes mean.
    pub layout: Layout,
    /// The texels.
    pub data: Vec<u8>,
    /// Nothing has written them.
    pub undefined: bool,
}

fn named(format: &str) -> Result<&'static Format, String> {
    Format::named(format).ok_or_else(|| {
        format!(
            "`{format}` is not a pixel format; the nearest is {}",
            Format::nearest(format)
        )
    })
}

/// A texture that is described: `zeros:rgba8Unorm:64x64:levels=3`, with random texels of this seed unless it says another. `None` if the text is not of this form, so that it names a file.
///
/// ```
/// use assay_launch::{Sizes, texture::{Declared, fill}};
/// let declared = Declared::parse("texture2d<float, access::write>").expect("a texture");
/// let filled = fill("zeros:rgba8Unorm:W x 4", &declared, 1, &Sizes::from([("W".to_owned(), 16)]))?.expect("described");
/// assert_eq!((filled.layout.to_string().as_str(), filled.data.len()), ("16x4 rgba8Unorm", 256));
/// # Ok::<(), String>(())
/// ```
pub fn fill(
    text: &str,
    declared: &Declared,
    seed: u64,
    sizes: &Sizes,
) -> Result<Option<Contents>, String> {
    let (word, rest) = text.split_once(':').unwrap_or((text, ""));
    if !matches!(word, "zeros" | "empty" | "iota" | "random") {
        return Ok(None);
    }
    let mut parts = rest.split(':');
    let format = named(parts.next().unwrap_or(""))?;
    let extents = parts.next().ok_or("it has no extents such as 64x64")?;
    let mut shape = extent(extents, declared, sizes)?;
    let mut seed = seed;
    for option in parts {
        let number = |text: &str| {
            let value = Formula::parse(text)
                .ok()
                .and_then(|formula| formula.number_at(sizes).ok());
            value.ok_or_else(|| format!("`{text}` is not a number"))
        };
        match option.split_once('=') {
            Some(("levels", count)) => shape.levels = number(count)?,
            Some(("samples", count)) => shape.samples = number(count)?,
            Some(("layers", count)) => shape.layers = number(count)?,
            Some(("seed", count)) => seed = number(count)?.into(),
            _ => {
                return Err(format!(
                    "`{option}`: there are levels=N, samples=N, layers=N and seed=N"
                ));
            }
        }
    }
    shape.check()?;
    let layout = Layout { shape, format };
    let mut data = vec![0; layout.bytes() as usize];
    let mut drawn = 0;
    let mut random = || {
        drawn += 1;
        mix(seed, drawn - 1)
    };
    for (number, texel) in (0u32..).zip(data.chunks_exact_mut(format.bytes as usize)) {
        let values = match (word, format.class()) {
            ("iota", Class::Float) if format.is_normalised() => {
                [(number % 256) as f32 / 255.0; 4].map(f32::to_bits)
            }
            ("iota", Class::Float) => [number as f32; 4].map(f32::to_bits),
            ("iota", _) => [number; 4],
            ("random", Class::Float) => {
                std::array::from_fn(|_| ((random() >> 40) as f32 / (1u32 << 24) as f32).to_bits())
            }
            ("random", _) => std::array::from_fn(|_| (random() >> 40) as u32),
            _ => break,
        };
        texel.copy_from_slice(&format.encode(values).to_le_bytes()[..format.bytes as usize]);
    }
    Ok(Some(Contents {
        layout,
        data,
        undefined: word == "empty",
    }))
}

/// Extents such as `64x64x4`: as many as the texture has axes, then its layers.
fn extent(text: &str, declared: &Declared, sizes: &Sizes) -> Result<Shape, String> {
    let mut numbers = Vec::new();
    for part in text.split('x') {
        let formula = Formula::parse(part.trim()).map_err(|error| format!("`{part}`: {error}"))?;
        numbers.push(
            formula
                .number_at(sizes)
                .map_err(|error| error.to_string())?,
        );
    }
    let axes = match declared.dimension {
        Dimension::D1 | Dimension::Buffer => 1,
        Dimension::D2 | Dimension::Cube => 2,
        Dimension::D3 => 3,
    };
    if numbers.len() > axes + 1 || numbers.len() == axes + 1 && !declared.array {
        return Err(format!(
            "{text}: this texture has {axes} extents{}",
            if declared.array {
                " and its layers"
            } else {
                ""
            }
        ));
    }
    let at = |index: usize| numbers.get(index).copied();
    let cube = declared.dimension == Dimension::Cube;
    Ok(Shape {
        dimension: declared.dimension,
        width: at(0).unwrap_or(1),
        height: if axes > 1 {
            at(1).unwrap_or(if cube { at(0).unwrap_or(1) } else { 1 })
        } else {
            1
        },
        depth: if axes > 2 { at(2).unwrap_or(1) } else { 1 },
        layers: at(axes).unwrap_or(1),
        levels: 1,
        samples: 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(text: &str) -> Declared {
        Declared::parse(text).expect("a texture")
    }

    #[test]
    fn types_say_what_a_texture_is() {
        let array = declared("metal::texture2d_array<half, access::write>");
        assert!(array.array && array.class == Class::Float);
        assert_eq!(declared("texturecube<uint>").dimension, Dimension::Cube);
        assert!(declared("depth2d_ms<float>").multisampled);
        assert_eq!(
            declared("texture_buffer<int, access::read>").dimension,
            Dimension::Buffer
        );
        assert_eq!(Declared::parse("sampler"), None);
    }

    #[test]
    fn descriptions_are_checked() {
        let kind = declared("texture2d_array<float>");
        let fill = |text: &str| fill(text, &kind, 1, &Sizes::new());
        let filled = fill("zeros:rgba8Unorm:8x4x3:levels=2")
            .expect("fine")
            .expect("described");
        assert_eq!(
            filled.layout.to_string(),
            "8x4, 3 layers, 2 levels rgba8Unorm"
        );
        assert!(
            fill("empty:r32Float:4x4")
                .expect("fine")
                .expect("described")
                .undefined
        );
        for wrong in [
            "zeros:rgba9:4x4",
            "zeros:r8Unorm:0x4",
            "zeros:r8Unorm:4x4:levels=9",
            "zeros:r8Unorm:4x4x1x1",
            "zeros:r8Unorm",
        ] {
            assert!(fill(wrong).is_err(), "{wrong}");
        }
        assert_eq!(fill("x.png"), Ok(None));
        assert_eq!(
            split_format("x.png:r8Unorm").map(|(file, _)| file),
            Ok("x.png")
        );
    }
}
