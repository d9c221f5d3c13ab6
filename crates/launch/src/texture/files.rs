//! Textures of files: arrays and pictures as texels, and the other way.

use super::{Contents, Declared, named};
use crate::npy::Array;
use crate::picture::Picture;
use assay_num::pack;
use assay_texture::{Class, Dimension, Format, Layout, PlainChannel, Shape, Texel};

/// The name of a file and the format behind it: `x.npy:rgba16Float`.
pub fn split_format(text: &str) -> Result<(&str, Option<&'static Format>), String> {
    for extension in [".png", ".npy"] {
        if let Some((file, format)) = text.rsplit_once(&format!("{extension}:")) {
            let file = &text[..file.len() + extension.len()];
            return Ok((file, Some(named(format)?)));
        }
    }
    Ok((text, None))
}

/// A texture of an array: layers (of an array), faces (of a cube), slices, rows, columns, samples (of a multisampled one) and, if
/// there is one more axis, components.
pub fn of_array(
    array: &Array,
    declared: &Declared,
    format: Option<&'static Format>,
) -> Result<Contents, String> {
    let kind = array.descr.trim_start_matches(['<', '|', '=', '>']);
    let mut axes: Vec<u32> = Vec::new();
    for &length in &array.shape {
        axes.push(u32::try_from(length).map_err(|_| "it is too long")?);
    }
    let plain = match declared.dimension {
        Dimension::D1 | Dimension::Buffer => 1,
        Dimension::D2 => 2,
        Dimension::D3 | Dimension::Cube => 3,
    };
    let wanted = plain + usize::from(declared.array) + usize::from(declared.multisampled);
    let channels = match axes.len() {
        n if n == wanted => 1,
        n if n == wanted + 1 => axes.pop().unwrap_or(1),
        n => {
            return Err(format!(
                "it has {n} axes; this texture has {wanted}, and one more for components"
            ));
        }
    };
    let mut shape = Shape {
        dimension: declared.dimension,
        ..Shape::flat(1, 1)
    };
    if declared.multisampled {
        shape.samples = axes.pop().unwrap_or(1);
    }
    shape.width = axes.pop().unwrap_or(1);
    if !matches!(declared.dimension, Dimension::D1 | Dimension::Buffer) {
        shape.height = axes.pop().unwrap_or(1);
    }
    match declared.dimension {
        Dimension::D3 => shape.depth = axes.pop().unwrap_or(1),
        Dimension::Cube if axes.pop() != Some(6) => {
            return Err("a cube has six faces: the axis before rows is 6 long".to_owned());
        }
        _ => {}
    }
    shape.layers = axes.pop().unwrap_or(1);
    shape.check()?;
    let format = match format {
        Some(format) => format,
        None => format_of(kind, channels, declared)?,
    };
    let layout = Layout { shape, format };
    let data = texels(array, kind, channels as usize, &layout)?;
    Ok(Contents {
        layout,
        data,
        undefined: false,
    })
}

/// The format for numbers of a type.
fn format_of(kind: &str, channels: u32, declared: &Declared) -> Result<&'static Format, String> {
    let letters = match channels {
        1 => "r",
        2 => "rg",
        3 | 4 => "rgba",
        n => return Err(format!("{n} components: a texel has one, two or four")),
    };
    if declared.depth {
        return named(if kind == "u2" {
            "depth16Unorm"
        } else {
            "depth32Float"
        });
    }
    let bits = match kind.get(1..) {
        Some("1") => 8,
        Some("2") => 16,
        _ => 32,
    };
    let float = declared.class == Class::Float;
    let coding = match (kind.get(..1), float && bits < 32) {
        (Some("f"), _) => "Float",
        (Some("u" | "b"), true) => "Unorm",
        (Some("i"), true) => "Snorm",
        (Some("u" | "b"), false) => "Uint",
        _ => "Sint",
    };
    named(&format!("{letters}{bits}{coding}"))
}

/// The texels of an array: as they lie, if components are those of the format, else converted.
fn texels(array: &Array, kind: &str, channels: usize, layout: &Layout) -> Result<Vec<u8>, String> {
    let format = layout.format;
    let matches_format = format.plain_channel().is_some_and(|(bytes, plain)| {
        let letter = match plain {
            PlainChannel::Float => "f",
            PlainChannel::Signed => "i",
            PlainChannel::Unsigned => "u",
        };
        kind == format!("{letter}{bytes}") && channels == format.channels()
    });
    if matches_format {
        return Ok(array.data.clone());
    }
    let size = match kind.get(1..) {
        Some("1") => 1,
        Some("2") => 2,
        Some("8") => 8,
        _ => 4,
    };
    let one = |class: Class| {
        if class == Class::Float {
            1f32.to_bits()
        } else {
            1
        }
    };
    let mut data = Vec::with_capacity(layout.bytes() as usize);
    for texel in array.data.chunks_exact(size * channels.max(1)) {
        let mut values = [0, 0, 0, one(format.class())];
        for (value, bytes) in values.iter_mut().zip(texel.chunks_exact(size)) {
            *value = component(kind, bytes, format).ok_or_else(|| {
                format!(
                    "numbers of type {} do not become {}",
                    array.descr, format.name
                )
            })?;
        }
        data.extend_from_slice(&format.encode(values).to_le_bytes()[..format.bytes as usize]);
    }
    Ok(data)
}

/// A component of an array as a format wants it: integers of 8 and 16 bits stand for normalised numbers.
fn component(kind: &str, bytes: &[u8], format: &Format) -> Option<u32> {
    let word = |len: usize| {
        let mut word = [0; 8];
        word.get_mut(..len)?.copy_from_slice(bytes.get(..len)?);
        Some(u64::from_le_bytes(word))
    };
    let float = format.class() == Class::Float;
    match (kind, float) {
        ("f4", true) => Some(word(4)? as u32),
        ("f2", true) => Some(assay_num::f16_to_f32(word(2)? as u16).to_bits()),
        ("f8", true) => Some((f64::from_bits(word(8)?) as f32).to_bits()),
        ("u1", true) => Some(pack::from_unorm(word(1)? as u32, 8).to_bits()),
        ("u2", true) => Some(pack::from_unorm(word(2)? as u32, 16).to_bits()),
        ("i1", true) => Some(pack::from_snorm(word(1)? as u32, 8).to_bits()),
        ("i2", true) => Some(pack::from_snorm(word(2)? as u32, 16).to_bits()),
        ("u1" | "b1", false) => Some(word(1)? as u32),
        ("u2", false) => Some(word(2)? as u32),
        ("i1", false) => Some(i32::from(word(1)? as i8) as u32),
        ("i2", false) => Some(i32::from(word(2)? as i16) as u32),
        ("u4" | "i4", false) => Some(word(4)? as u32),
        _ => None,
    }
}

/// A texture of a picture. Its numbers are kept as they are in formats of as many bits: `rgba8Unorm_sRGB` says that they are on the
/// curve of sRGB.
pub fn of_picture(
    picture: &Picture,
    declared: &Declared,
    format: Option<&'static Format>,
) -> Result<Contents, String> {
    if declared.dimension != Dimension::D2 || declared.array || declared.multisampled {
        return Err("a picture is a texture of two axes".to_owned());
    }
    let letters = if picture.channels == 1 { "r" } else { "rgba" };
    let coding = match declared.class {
        Class::Float => "Unorm",
        Class::Unsigned => "Uint",
        Class::Signed => "Sint",
    };
    let format = match format {
        Some(format) => format,
        None => named(&format!("{letters}{}{coding}", picture.bits))?,
    };
    let layout = Layout {
        shape: Shape::flat(picture.width, picture.height),
        format,
    };
    layout.shape.check()?;
    let mut data = Vec::with_capacity(layout.bytes() as usize);
    for pixel in picture
        .values
        .chunks_exact(picture.channels.max(1) as usize)
    {
        let mut values = [0, 0, 0, if picture.bits == 16 { u16::MAX } else { 255 }];
        for (value, channel) in values.iter_mut().zip(pixel) {
            *value = *channel;
        }
        let texel = format.encode(pixel_values(values, picture.bits, format));
        data.extend_from_slice(&texel.to_le_bytes()[..format.bytes as usize]);
    }
    Ok(Contents {
        layout,
        data,
        undefined: false,
    })
}

fn pixel_values(values: [u16; 4], bits: u32, format: &Format) -> [u32; 4] {
    if format.class() != Class::Float {
        return values.map(u32::from);
    }
    let mut numbers = values.map(|value| pack::from_unorm(value.into(), bits));
    if format.is_srgb() {
        for colour in &mut numbers[..3] {
            *colour = pack::from_srgb(*colour);
        }
    }
    numbers.map(f32::to_bits)
}

/// One level of a texture as an array: as its components lie, or as four floats or integers in formats that no array holds.
pub fn to_array(layout: &Layout, data: &[u8], level: u32) -> Result<Array, String> {
    let Layout { shape, format } = *layout;
    if level >= shape.levels {
        return Err(format!(
            "there is no level {level}: the texture is {layout}"
        ));
    }
    let first = Texel {
        level,
        ..Texel::default()
    };
    let start = layout.offset(first).unwrap_or(0) as usize;
    let next = Texel {
        level: level + 1,
        ..first
    };
    let end = layout.offset(next).unwrap_or(layout.bytes()) as usize;
    let bytes = data
        .get(start..end)
        .ok_or("the texture is shorter than it says")?;
    let [width, height, depth] = shape.level(level);
    let mut axes = Vec::new();
    if shape.layers > 1 {
        axes.push(shape.layers);
    }
    match shape.dimension {
        Dimension::D1 | Dimension::Buffer => axes.push(width),
        Dimension::D2 => axes.extend([height, width]),
        Dimension::Cube => axes.extend([6, height, width]),
        Dimension::D3 => axes.extend([depth, height, width]),
    }
    if shape.samples > 1 {
        axes.push(shape.samples);
    }
    let (descr, channels, data) = match format.plain_channel() {
        Some((size, plain)) => {
            let letter = match plain {
                PlainChannel::Float => "f",
                PlainChannel::Signed => "i",
                PlainChannel::Unsigned => "u",
            };
            let order = if size == 1 { "|" } else { "<" };
            (
                format!("{order}{letter}{size}"),
                format.channels(),
                bytes.to_vec(),
            )
        }
        None => {
            let texels = bytes.chunks_exact(format.bytes as usize).flat_map(|texel| {
                let mut word = [0; 16];
                word[..texel.len()].copy_from_slice(texel);
                format.decode(u128::from_le_bytes(word))
            });
            let descr = match format.class() {
                Class::Float => "<f4",
                Class::Signed => "<i4",
                Class::Unsigned => "<u4",
            };
            let data: Vec<u8> = texels.flat_map(u32::to_le_bytes).collect();
            (descr.to_owned(), 4, data)
        }
    };
    if channels > 1 {
        axes.push(channels as u32);
    }
    Ok(Array {
        descr,
        shape: axes.into_iter().map(u64::from).collect(),
        data,
    })
}

/// One level of a texture as a picture: grey if it has one component. Floats are clamped to 0 … 1; colours of sRGB formats stay on
/// their curve.
pub fn to_picture(layout: &Layout, data: &[u8], level: u32) -> Result<Picture, String> {
    let Layout { shape, format } = *layout;
    if shape.dimension != Dimension::D2
        || shape.layers > 1
        || shape.samples > 1
        || level >= shape.levels
    {
        return Err(format!(
            "the texture is {layout}, which is no picture: write a .npy"
        ));
    }
    let [width, height, _] = shape.level(level);
    let channels = if format.channels() == 1 { 1 } else { 4 };
    let bits = match (
        format.bytes as usize / format.channels().max(1),
        format.class(),
    ) {
        (1, _) | (_, Class::Signed) => 8,
        _ => 16,
    };
    let mut values = Vec::new();
    for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
        let at = Texel {
            x,
            y,
            level,
            ..Texel::default()
        };
        let offset = layout.offset(at).unwrap_or(0) as usize;
        let texel = data.get(offset..offset + format.bytes as usize);
        let mut word = [0; 16];
        if let Some(texel) = texel {
            word[..texel.len()].copy_from_slice(texel);
        }
        let decoded = format.decode(u128::from_le_bytes(word));
        let most = if bits == 16 { u32::from(u16::MAX) } else { 255 };
        for (component, value) in decoded.into_iter().enumerate().take(channels) {
            let number = match format.class() {
                Class::Float => {
                    let mut number = f32::from_bits(value);
                    if format.is_srgb() && component < 3 {
                        number = pack::to_srgb(number);
                    }
                    pack::to_unorm(number, bits)
                }
                Class::Signed => (value as i32).clamp(0, most as i32) as u32,
                Class::Unsigned => value.min(most),
            };
            values.push(number as u16);
        }
    }
    Ok(Picture {
        width,
        height,
        channels: channels as u32,
        bits,
        values,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(text: &str) -> Declared {
        Declared::parse(text).expect("a texture")
    }

    #[test]
    fn arrays_become_texels_and_come_back() {
        let kinds = [
            ("texture2d<float>", "<f4", vec![3, 5, 4]),
            ("texture2d<half>", "<f2", vec![3, 5]),
            ("texture2d_array<uint>", "|u1", vec![2, 3, 5, 2]),
            ("texture3d<float>", "<u2", vec![2, 3, 5, 4]),
            ("texturecube<int>", "<i4", vec![6, 4, 4]),
            ("texture1d<float>", "|i1", vec![7, 4]),
        ];
        for (kind, descr, shape) in kinds {
            let size: u64 = descr[2..].parse().expect("a size");
            let count: u64 = shape.iter().product::<u64>() * size;
            let array = Array {
                descr: descr.to_owned(),
                shape,
                data: (0..count).map(|n| n as u8).collect(),
            };
            let texture = of_array(&array, &declared(kind), None).expect(kind);
            assert_eq!(
                to_array(&texture.layout, &texture.data, 0),
                Ok(array),
                "{kind}"
            );
        }
    }

    #[test]
    fn numbers_are_converted_to_a_format_that_is_asked_for() {
        let array = Array {
            descr: "<f4".to_owned(),
            shape: vec![1, 1, 4],
            data: [1.0f32, 0.5, 0.0, 2.0]
                .iter()
                .flat_map(|x| x.to_le_bytes())
                .collect(),
        };
        let format = Format::named("bgra8Unorm");
        let texture = of_array(&array, &declared("texture2d<float>"), format).expect("a texture");
        assert_eq!(texture.data, [0, 128, 255, 255]);
        let picture = to_picture(&texture.layout, &texture.data, 0).expect("a picture");
        assert_eq!(picture.values, [255, 128, 0, 255]);
        let again = of_picture(&picture, &declared("texture2d<float>"), format).expect("a texture");
        assert_eq!(again, texture);
    }
}
