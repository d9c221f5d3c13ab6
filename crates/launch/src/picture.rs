//! Pictures: PNG files as texels, and the other way.

use std::io::Cursor;

/// Most bytes a picture may take when decoded.
const MOST_BYTES: usize = 1 << 30;

/// A picture: rows from the top, channels side by side, each 8 or 16 bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Pixels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// One (grey) or four (red, green, blue, alpha).
    pub channels: u32,
    /// Bits of a channel: 8 or 16.
    pub bits: u32,
    /// All channels; those of 8 bits as they are, not scaled.
    pub values: Vec<u16>,
}

impl Picture {
    /// Reads a PNG. Palettes are looked up; what is neither grey nor has four channels gets an alpha of one.
    pub fn parse(bytes: &[u8]) -> Result<Picture, String> {
        let limits = png::Limits { bytes: MOST_BYTES };
        let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), limits);
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().map_err(|error| error.to_string())?;
        let size = reader.output_buffer_size();
        let size = size
            .filter(|size| *size <= MOST_BYTES)
            .ok_or("it is too large")?;
        let mut data = vec![0; size];
        let info = reader
            .next_frame(&mut data)
            .map_err(|error| error.to_string())?;
        let bits = match info.bit_depth {
            png::BitDepth::Sixteen => 16,
            _ => 8,
        };
        data.truncate(info.buffer_size());
        let values: Vec<u16> = match bits {
            16 => data
                .chunks_exact(2)
                .map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
                .collect(),
            _ => data.into_iter().map(u16::from).collect(),
        };
        let one = if bits == 16 { u16::MAX } else { 255 };
        let (channels, values) = match info.color_type {
            png::ColorType::Grayscale => (1, values),
            png::ColorType::Rgba => (4, values),
            png::ColorType::GrayscaleAlpha => {
                let pixels = values.chunks_exact(2);
                (4, pixels.flat_map(|p| [p[0], p[0], p[0], p[1]]).collect())
            }
            _ => {
                let pixels = values.chunks_exact(3);
                (4, pixels.flat_map(|p| [p[0], p[1], p[2], one]).collect())
            }
        };
        Ok(Picture {
            width: info.width,
            height: info.height,
            channels,
            bits,
            values,
        })
    }

    /// The bytes of a PNG.
    pub fn to_bytes(&self) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.width, self.height);
        encoder.set_color(match self.channels {
            1 => png::ColorType::Grayscale,
            _ => png::ColorType::Rgba,
        });
        encoder.set_depth(match self.bits {
            16 => png::BitDepth::Sixteen,
            _ => png::BitDepth::Eight,
        });
        let data: Vec<u8> = match self.bits {
            16 => self
                .values
                .iter()
                .flat_map(|value| value.to_be_bytes())
                .collect(),
            _ => self
                .values
                .iter()
                .map(|&value| value.min(255) as u8)
                .collect(),
        };
        let written = encoder
            .write_header()
            .and_then(|mut writer| writer.write_image_data(&data));
        written.map_err(|error| error.to_string())?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::Picture;

    #[test]
    fn a_picture_is_written_and_read_again() {
        for (channels, bits) in [(1, 8), (4, 8), (1, 16), (4, 16)] {
            let count = 6 * channels as u16;
            let scale = if bits == 8 { 7 } else { 2003 };
            let picture = Picture {
                width: 3,
                height: 2,
                channels,
                bits,
                values: (0..count).map(|n| n * scale).collect(),
            };
            let bytes = picture.to_bytes().expect("a file");
            assert_eq!(Picture::parse(&bytes), Ok(picture));
        }
        assert!(Picture::parse(b"\x89PNG\r\n\x1a\n").is_err());
    }
}
