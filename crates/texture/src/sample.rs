//! Samples: the texels a sample is made of, and their weights.

use crate::address::{Around, address};
use crate::cube;
use crate::sampler::{Filter, Mip, Sampler};
use crate::shape::{Dimension, Shape, Texel};

/// How the level of detail of a sample is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Lod {
    /// Not at all: level 0.
    #[default]
    Base,
    /// This one.
    Level(f32),
    /// This much above level 0.
    Bias(f32),
    /// By how coordinates change from a pixel to the next along two axes.
    Gradient([[f32; 3]; 2]),
}

/// What is asked of a sampler.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Query {
    /// Coordinates; a direction for a cube.
    pub at: [f32; 3],
    /// Element of an array.
    pub layer: u32,
    /// The level of detail.
    pub lod: Lod,
    /// The level is not below this.
    pub min_lod: f32,
    /// Texels to go further along each axis.
    pub offset: [i32; 3],
}

impl Query {
    /// A sample of level 0.
    pub fn at(at: [f32; 3]) -> Self {
        Self {
            at,
            ..Self::default()
        }
    }
}

/// A part of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tap {
    /// The texel; none stands for the border.
    pub texel: Option<Texel>,
    /// Its weight; those of a sample add up to 1, but for rounding.
    pub weight: f32,
}

/// The parts of a sample, in the order they are added up.
pub type Taps = Vec<Tap>;

/// The parts of a sample.
pub fn taps(shape: &Shape, sampler: &Sampler, query: &Query) -> Taps {
    let footprint = Footprint::of(shape, sampler, query);
    let lod = footprint
        .lod
        .max(query.min_lod)
        .clamp(sampler.lod_min, sampler.lod_max.max(sampler.lod_min));
    let filter = if lod > 0.0 { sampler.min } else { sampler.mag };
    let mut taps = Taps::new();
    for (level, share) in levels(shape, sampler, lod) {
        for step in 0..footprint.samples {
            let at = footprint.place(query.at, step);
            let weight = share / footprint.samples as f32;
            add_level(
                shape,
                sampler,
                &Query { at, ..*query },
                filter,
                level,
                weight,
                &mut taps,
            );
        }
    }
    taps
}

/// The four texels around a coordinate, of level 0, in Metal's order: lower left, lower right, upper right, upper left.
pub fn gather(shape: &Shape, sampler: &Sampler, query: &Query) -> [Option<Texel>; 4] {
    let (at, face) = place_on_face(shape, query.at);
    let size = shape.level(0);
    let around = |axis: usize| {
        let first = Around::new(sampler, axis, Filter::Linear, at[axis], size[axis]).first;
        first + i64::from(query.offset[axis])
    };
    let (x, y) = (around(0), around(1));
    [(x, y + 1), (x + 1, y + 1), (x + 1, y), (x, y)].map(|(x, y)| {
        if let Some(face) = face {
            let clamp = |at: i64| at.clamp(0, i64::from(size[0]) - 1);
            let (face, x, y) = cube::across(face, x, y, size[0]).unwrap_or((
                face,
                clamp(x) as u32,
                clamp(y) as u32,
            ));
            return Some(texel(shape, query, [x, y, face], 0));
        }
        let x = address(sampler.address[0], x, size[0])?;
        let y = address(sampler.address[1], y, size[1])?;
        Some(texel(shape, query, [x, y, 0], 0))
    })
}

fn texel(shape: &Shape, query: &Query, [x, y, z]: [u32; 3], level: u32) -> Texel {
    Texel {
        x,
        y,
        z,
        layer: query.layer.min(shape.layers.saturating_sub(1)),
        level,
        sample: 0,
    }
}

/// Coordinates on a face, and the face, if it is a cube.
fn place_on_face(shape: &Shape, at: [f32; 3]) -> ([f32; 3], Option<u32>) {
    match shape.dimension {
        Dimension::Cube => {
            let met = cube::on_face(at);
            ([met.s, met.t, 0.0], Some(met.face))
        }
        _ => (at, None),
    }
}

/// Levels of a sample with their weights.
fn levels(shape: &Shape, sampler: &Sampler, lod: f32) -> impl Iterator<Item = (u32, f32)> {
    let last = shape.levels.saturating_sub(1);
    let lod = lod.clamp(0.0, last as f32);
    let (level, weight) = match sampler.mip {
        Mip::None => (0, 0.0),
        // Half way belongs to the lower one.
        Mip::Nearest => (((lod + 0.5).ceil() - 1.0).max(0.0) as u32, 0.0),
        Mip::Linear => (lod.floor() as u32, lod - lod.floor()),
    };
    [
        (level.min(last), 1.0 - weight),
        ((level + 1).min(last), weight),
    ]
    .into_iter()
    .filter(|(_, weight)| *weight != 0.0)
}

/// Adds the texels of one level.
fn add_level(
    shape: &Shape,
    sampler: &Sampler,
    query: &Query,
    filter: Filter,
    level: u32,
    share: f32,
    taps: &mut Taps,
) {
    let (at, face) = place_on_face(shape, query.at);
    let size = shape.level(level);
    let axes = match shape.dimension {
        Dimension::D1 | Dimension::Buffer => 1,
        Dimension::D2 | Dimension::Cube => 2,
        Dimension::D3 => 3,
    };
    let around = |axis: usize| match axis < axes {
        true => Around::new(sampler, axis, filter, at[axis], size[axis]),
        false => Around::default(),
    };
    let parts = |axis: usize| around(axis).parts(if axis < axes { query.offset[axis] } else { 0 });
    for (z, wz) in parts(2) {
        for (y, wy) in parts(1) {
            for (x, wx) in parts(0) {
                let weight = wx * wy * wz * share;
                if let Some(face) = face {
                    add_cube(shape, query, (face, x, y, level), weight, taps);
                    continue;
                }
                let place = |axis: usize, at: i64| match axis < axes {
                    true => address(sampler.address[axis], at, size[axis]),
                    false => Some(0),
                };
                let found = place(0, x).zip(place(1, y)).zip(place(2, z));
                let texel = found.map(|((x, y), z)| texel(shape, query, [x, y, z], level));
                taps.push(Tap { texel, weight });
            }
        }
    }
}

/// Adds a texel of a cube's face, or of the face beside it. At a corner there is none: its weight goes to the three that meet there.
fn add_cube(
    shape: &Shape,
    query: &Query,
    (face, x, y, level): (u32, i64, i64, u32),
    weight: f32,
    taps: &mut Taps,
) {
    let size = shape.level(level)[0];
    let last = i64::from(size) - 1;
    let mut add = |(face, x, y): (u32, u32, u32), weight: f32| {
        let texel = texel(shape, query, [x, y, face], level);
        taps.push(Tap {
            texel: Some(texel),
            weight,
        });
    };
    match cube::across(face, x, y, size) {
        Some(found) => add(found, weight),
        None => {
            let (inner_x, inner_y) = (x.clamp(0, last), y.clamp(0, last));
            for (x, y) in [(inner_x, inner_y), (x, inner_y), (inner_x, y)] {
                if let Some(found) = cube::across(face, x, y, size) {
                    add(found, weight / 3.0);
                }
            }
        }
    }
}

/// The level of a sample, and the line of places along which it is taken.
struct Footprint {
    lod: f32,
    samples: u32,
    /// From the first place to the last.
    line: [f32; 3],
}

impl Footprint {
    fn of(shape: &Shape, sampler: &Sampler, query: &Query) -> Self {
        let plain = |lod: f32| Self {
            lod,
            samples: 1,
            line: [0.0; 3],
        };
        match query.lod {
            Lod::Base => plain(0.0),
            Lod::Level(lod) | Lod::Bias(lod) => plain(lod),
            Lod::Gradient(changes) => Self::of_gradient(shape, sampler, query, changes),
        }
    }

    fn of_gradient(
        shape: &Shape,
        sampler: &Sampler,
        query: &Query,
        changes: [[f32; 3]; 2],
    ) -> Self {
        let size = shape.level(0).map(|extent| extent as f32);
        let lengths = changes.map(|change| {
            let change = match shape.dimension {
                Dimension::Cube => {
                    let [s, t] = cube::gradient(query.at, change);
                    [s, t, 0.0]
                }
                Dimension::D3 => change,
                Dimension::D2 => [change[0], change[1], 0.0],
                Dimension::D1 | Dimension::Buffer => [change[0], 0.0, 0.0],
            };
            let scale = |axis: usize| {
                if sampler.normalized {
                    change[axis] * size[axis]
                } else {
                    change[axis]
                }
            };
            let squares = (0..3).map(|axis| scale(axis) * scale(axis));
            squares.sum::<f32>().sqrt()
        });
        let (longer, shorter) = (lengths[0].max(lengths[1]), lengths[0].min(lengths[1]));
        let long_axis = if lengths[0] >= lengths[1] { 0 } else { 1 };
        let ratio = if shorter > 0.0 {
            longer / shorter
        } else {
            f32::INFINITY
        };
        let samples = match sampler.anisotropy {
            0 | 1 => 1,
            most if longer > 1.0 => (ratio.ceil().min(most as f32) as u32).max(1),
            _ => 1,
        };
        let lod = (longer / samples as f32).log2();
        Self {
            lod: if lod.is_nan() { 0.0 } else { lod },
            samples,
            line: changes[long_axis],
        }
    }

    /// The place of one of the samples: they are spread evenly over the line, around the coordinates.
    fn place(&self, at: [f32; 3], step: u32) -> [f32; 3] {
        if self.samples == 1 {
            return at;
        }
        let along = (step as f32 + 0.5) / self.samples as f32 - 0.5;
        std::array::from_fn(|axis| at[axis] + self.line[axis] * along)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(taps: &[Tap]) -> f32 {
        taps.iter().map(|tap| tap.weight).sum()
    }

    #[test]
    fn weights_add_up_to_one_everywhere() {
        let shapes = [
            Shape {
                dimension: Dimension::D1,
                levels: 3,
                ..Shape::flat(5, 1)
            },
            Shape {
                levels: 3,
                ..Shape::flat(5, 7)
            },
            Shape {
                dimension: Dimension::D3,
                depth: 3,
                levels: 2,
                ..Shape::flat(5, 7)
            },
            Shape {
                dimension: Dimension::Cube,
                levels: 2,
                ..Shape::flat(4, 4)
            },
        ];
        for words in [
            "nearest",
            "linear,repeat,mip_filter=linear",
            "linear,clamp_to_zero,mip_filter=nearest",
            "linear,mirrored_repeat,max_anisotropy=8",
        ] {
            let sampler: Sampler = words.parse().unwrap();
            for shape in &shapes {
                for step in 0..200u32 {
                    let along = |n: u32| (step.wrapping_mul(n) % 97) as f32 / 31.0 - 1.2;
                    let lod = match step % 3 {
                        0 => Lod::Base,
                        1 => Lod::Level(along(5)),
                        _ => Lod::Gradient([[along(3), along(7), 0.1], [0.01, along(11), 0.0]]),
                    };
                    let query = Query {
                        lod,
                        ..Query::at([along(1), along(13), along(29)])
                    };
                    let taps = taps(shape, &sampler, &query);
                    assert!(
                        (sum(&taps) - 1.0).abs() < 1e-5,
                        "{words} {shape:?} {query:?}"
                    );
                    let there =
                        |tap: &Tap| tap.texel.is_none_or(|texel| shape.index(texel).is_some());
                    assert!(taps.iter().all(there), "{words} {shape:?} {query:?}");
                }
            }
        }
    }

    #[test]
    fn a_corner_of_a_cube_is_made_of_three_texels() {
        let shape = Shape {
            dimension: Dimension::Cube,
            ..Shape::flat(4, 4)
        };
        let sampler: Sampler = "linear".parse().unwrap();
        let mut corner = taps(&shape, &sampler, &Query::at([1.0, 1.0, 1.0]));
        corner.retain(|tap| tap.weight > 0.01);
        let mut faces: Vec<u32> = corner.iter().filter_map(|tap| Some(tap.texel?.z)).collect();
        faces.sort_unstable();
        faces.dedup();
        assert_eq!(faces, [0, 2, 4]);
        assert!((sum(&corner) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn gathering_goes_round_from_the_lower_left() {
        let sampler = Sampler::default();
        let found = gather(&Shape::flat(4, 4), &sampler, &Query::at([0.5, 0.5, 0.0]));
        let places = found.map(|texel| texel.map(|texel| (texel.x, texel.y)));
        assert_eq!(
            places,
            [Some((1, 2)), Some((2, 2)), Some((2, 1)), Some((1, 1))]
        );
    }

    #[test]
    fn levels_are_weighed_by_the_mip_filter() {
        let shape = Shape {
            levels: 4,
            ..Shape::flat(8, 8)
        };
        let at = |words: &str, lod: f32| -> Vec<(u32, f32)> {
            let sampler: Sampler = words.parse().unwrap();
            let query = Query {
                lod: Lod::Level(lod),
                ..Query::at([0.3, 0.3, 0.0])
            };
            taps(&shape, &sampler, &query)
                .iter()
                .filter_map(|tap| Some((tap.texel?.level, tap.weight)))
                .collect()
        };
        assert_eq!(at("nearest", 2.0), [(0, 1.0)]);
        assert_eq!(at("mip_filter=nearest", 1.5), [(1, 1.0)]);
        assert_eq!(at("mip_filter=nearest", 1.6), [(2, 1.0)]);
        assert_eq!(at("mip_filter=linear", 1.25), [(1, 0.75), (2, 0.25)]);
        assert_eq!(at("mip_filter=linear,lod_clamp=0:1", 9.0), [(1, 1.0)]);
        assert_eq!(at("mip_filter=linear", 9.0), [(3, 1.0)]);
    }
}
