//! Shapes: which texels a texture has, and where each lies.

/// Most texels of one texture.
pub const MAX_TEXELS: u64 = 1 << 32;

/// How many axes a texture has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// A row.
    D1,
    /// A rectangle.
    D2,
    /// A box.
    D3,
    /// Six squares.
    Cube,
    /// A row made of a buffer.
    Buffer,
}

/// The extents of a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Its axes.
    pub dimension: Dimension,
    /// Texels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Slices of a box.
    pub depth: u32,
    /// Elements of an array; a cube counts once.
    pub layers: u32,
    /// Levels of detail, each half as large.
    pub levels: u32,
    /// Samples of each texel.
    pub samples: u32,
}

/// A place in a texture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Texel {
    /// Column.
    pub x: u32,
    /// Row.
    pub y: u32,
    /// Slice of a box, or face of a cube.
    pub z: u32,
    /// Element of an array.
    pub layer: u32,
    /// Level of detail.
    pub level: u32,
    /// Sample of the texel.
    pub sample: u32,
}

impl Shape {
    /// A rectangle without levels.
    pub fn flat(width: u32, height: u32) -> Self {
        Self {
            dimension: Dimension::D2,
            width,
            height,
            depth: 1,
            layers: 1,
            levels: 1,
            samples: 1,
        }
    }

    /// Extents of a level.
    pub fn level(&self, level: u32) -> [u32; 3] {
        let half = |extent: u32| extent.checked_shr(level).unwrap_or(0).max(1);
        let depth = match self.dimension {
            Dimension::D3 => half(self.depth),
            _ => 1,
        };
        [half(self.width), half(self.height), depth]
    }

    /// Slices of a level of one layer: of a box, or faces of a cube.
    pub(crate) fn slices(&self, level: u32) -> u32 {
        match self.dimension {
            Dimension::Cube => 6,
            _ => self.level(level)[2],
        }
    }

    /// Texels of a level, all layers and samples together.
    pub(crate) fn level_texels(&self, level: u32) -> u64 {
        let [width, height, _] = self.level(level);
        [height, self.slices(level), self.layers, self.samples]
            .into_iter()
            .fold(u64::from(width), |all, extent| {
                all.saturating_mul(extent.into())
            })
    }

    /// All texels.
    pub fn texels(&self) -> u64 {
        (0..self.levels.min(32)).fold(0, |all, level| all.saturating_add(self.level_texels(level)))
    }

    /// Most levels a texture of these extents has.
    pub fn most_levels(&self) -> u32 {
        let depth = match self.dimension {
            Dimension::D3 => self.depth,
            _ => 1,
        };
        let largest = self.width.max(self.height).max(depth).max(1);
        32 - largest.leading_zeros()
    }

    /// What is wrong with the extents.
    pub fn check(&self) -> Result<(), String> {
        let extents = [
            self.width,
            self.height,
            self.depth,
            self.layers,
            self.levels,
            self.samples,
        ];
        if extents.contains(&0) {
            return Err("a texture has at least one texel along each axis".to_owned());
        }
        if self.levels > self.most_levels() {
            return Err(format!(
                "{} levels: {}x{} has {}",
                self.levels,
                self.width,
                self.height,
                self.most_levels()
            ));
        }
        if self.dimension == Dimension::Cube && self.width != self.height {
            return Err("the faces of a cube are squares".to_owned());
        }
        if self.texels() > MAX_TEXELS {
            return Err(format!("more than {MAX_TEXELS} texels"));
        }
        Ok(())
    }

    /// The number of a texel in memory: level by level, layer by layer, slice by slice, row by row. None if there is no such texel.
    pub fn index(&self, at: Texel) -> Option<u64> {
        if at.level >= self.levels {
            return None;
        }
        let [width, height, _] = self.level(at.level);
        let slices = self.slices(at.level);
        let inside = at.x < width
            && at.y < height
            && at.z < slices
            && at.layer < self.layers
            && at.sample < self.samples;
        if !inside {
            return None;
        }
        let before: u64 = (0..at.level).map(|level| self.level_texels(level)).sum();
        let steps = [
            (at.layer, slices),
            (at.z, height),
            (at.y, width),
            (at.x, self.samples),
        ];
        let row = steps.into_iter().fold(0u64, |index, (at, next)| {
            (index + u64::from(at)) * u64::from(next)
        });
        Some(before + row + u64::from(at.sample))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_texel_has_a_number_of_its_own() {
        let shape = Shape {
            dimension: Dimension::Cube,
            layers: 2,
            levels: 3,
            ..Shape::flat(4, 4)
        };
        let mut next = 0;
        for level in 0..3 {
            let [width, height, _] = shape.level(level);
            for (layer, z) in (0..2).flat_map(|layer| (0..6).map(move |z| (layer, z))) {
                for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
                    let at = Texel {
                        x,
                        y,
                        z,
                        layer,
                        level,
                        sample: 0,
                    };
                    assert_eq!(shape.index(at), Some(next));
                    next += 1;
                }
            }
        }
        assert_eq!(next, shape.texels());
        assert_eq!(
            shape.index(Texel {
                x: 2,
                level: 1,
                ..Texel::default()
            }),
            None
        );
        assert_eq!(
            shape.index(Texel {
                level: 3,
                ..Texel::default()
            }),
            None
        );
        assert!(shape.check().is_ok());
        assert!(Shape { levels: 4, ..shape }.check().is_err());
    }
}
