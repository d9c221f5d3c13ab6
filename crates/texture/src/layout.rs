//! Layouts: shape and format together, which is what the bytes of a texture mean.

use crate::format::Format;
use crate::shape::{Dimension, Shape, Texel};
use std::fmt;

/// What the bytes of a texture mean: texels in the order of [`Shape::index`], without gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Which texels there are.
    pub shape: Shape,
    /// What each is.
    pub format: &'static Format,
}

impl Layout {
    /// Bytes of all texels.
    pub fn bytes(&self) -> u64 {
        self.shape.texels().saturating_mul(self.format.bytes.into())
    }

    /// Where a texel lies, in bytes. None if there is no such texel.
    pub fn offset(&self, at: Texel) -> Option<u64> {
        Some(self.shape.index(at)? * u64::from(self.format.bytes))
    }

    /// A texel in words, by the axes the texture has.
    pub fn describe(&self, at: Texel) -> String {
        let Shape {
            dimension,
            layers,
            levels,
            samples,
            ..
        } = self.shape;
        let mut text = match dimension {
            Dimension::D1 | Dimension::Buffer => format!("({})", at.x),
            Dimension::D2 => format!("({}, {})", at.x, at.y),
            Dimension::D3 => format!("({}, {}, {})", at.x, at.y, at.z),
            Dimension::Cube => format!("({}, {}) of face {}", at.x, at.y, at.z),
        };
        for (name, value, count) in [
            ("layer", at.layer, layers),
            ("level", at.level, levels),
            ("sample", at.sample, samples),
        ] {
            if count > 1 || value > 0 {
                text.push_str(&format!(", {name} {value}"));
            }
        }
        text
    }

    /// The texel that begins at an offset in bytes.
    pub fn texel_at(&self, offset: u64) -> Texel {
        let mut left = offset / u64::from(self.format.bytes.max(1));
        let mut at = Texel::default();
        while at.level + 1 < self.shape.levels && left >= self.shape.level_texels(at.level) {
            left -= self.shape.level_texels(at.level);
            at.level += 1;
        }
        let [width, height, _] = self.shape.level(at.level);
        let mut next = |extent: u32| {
            let extent = u64::from(extent.max(1));
            let digit = left % extent;
            left /= extent;
            digit as u32
        };
        at.sample = next(self.shape.samples);
        at.x = next(width);
        at.y = next(height);
        at.z = next(self.shape.slices(at.level));
        at.layer = next(self.shape.layers);
        at
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shape {
            dimension,
            width,
            height,
            depth,
            layers,
            levels,
            samples,
        } = self.shape;
        match dimension {
            Dimension::D1 | Dimension::Buffer => write!(f, "{width}")?,
            Dimension::D2 => write!(f, "{width}x{height}")?,
            Dimension::D3 => write!(f, "{width}x{height}x{depth}")?,
            Dimension::Cube => write!(f, "cube of {width}x{height}")?,
        }
        for (name, count) in [("layers", layers), ("levels", levels), ("samples", samples)] {
            if count > 1 {
                write!(f, ", {count} {name}")?;
            }
        }
        write!(f, " {}", self.format.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_leads_back_to_its_texel() {
        let shape = Shape {
            dimension: Dimension::D3,
            depth: 3,
            layers: 1,
            levels: 2,
            ..Shape::flat(5, 4)
        };
        let format = Format::named("rg16Float").unwrap();
        let layout = Layout { shape, format };
        for index in 0..shape.texels() {
            let at = layout.texel_at(index * 4);
            assert_eq!(layout.offset(at), Some(index * 4));
        }
        assert_eq!(layout.to_string(), "5x4x3, 2 levels rg16Float");
        assert_eq!(
            layout.describe(layout.texel_at(60 * 4)),
            "(0, 0, 0), level 1"
        );
    }
}
