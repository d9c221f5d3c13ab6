//! Convolutions with channels last, and what is fused with them.
//!
//! One, two and three dimensions are one function of three, with extents of 1 where there is no dimension.

use super::elementwise::{gelu, mish, relu, sigmoid};
use super::pool::{self, Window};
use super::rows::{layer_norm, softmax};
use super::{Answer, Answers, Call, Error, Family, Tensor};
use rayon::prelude::*;

pub(super) const FAMILY: Family = &[
    ("conv1d", |c| Ok(vec![forward(c)?.answer])),
    ("conv2d", |c| Ok(vec![forward(c)?.answer])),
    ("conv3d", |c| Ok(vec![forward(c)?.answer])),
    ("depthwise_conv2d", depthwise),
    ("conv_transpose2d", |c| {
        Ok(vec![transposed(c, c.size("stride")?)?.answer])
    }),
    ("conv2d_relu_bias", |c| {
        let (volume, bias) = (forward(c)?, c.input(2)?);
        let channels = volume.channels();
        Ok(vec![
            volume
                .answer
                .then(1.0, |i, y| relu(y + bias.at(i % channels))),
        ])
    }),
    ("conv2d_mish_mish", |c| {
        Ok(vec![forward(c)?.answer.then(1.2, |_, y| mish(mish(y)))])
    }),
    ("conv3d_multi_act_bias", |c| {
        let (volume, bias) = (forward(c)?, c.input(2)?);
        let channels = volume.channels();
        let activate = |y: f64| sigmoid(gelu(leaky(relu(y))));
        Ok(vec![
            volume
                .answer
                .then(0.3, |i, y| activate(y) + bias.at(i % channels)),
        ])
    }),
    ("conv3d_softmax_pool", |c| {
        let mut volume = whole(c)?;
        volume.answer = Answer::exact(volume.pixels().flat_map(softmax).collect());
        let once = pool::largest(&volume, Window::cube(2));
        Ok(vec![pool::largest(&once, Window::cube(2)).answer])
    }),
    ("conv3d_div_pool_sum", conv3d_div_pool_sum),
    ("conv_transpose2d_sub_tanh", |c| {
        let subtracted = c.scalar("subtracted")?;
        let volume = transposed(c, c.size("stride")?)?;
        Ok(vec![
            volume.answer.then(1.0, |_, y| (y - subtracted).tanh()),
        ])
    }),
    ("conv_transpose2d_clamp_scale_div", |c| {
        let (volume, bias) = (transposed(c, c.size("stride")?)?, c.input(2)?);
        let (scale, divisor) = (c.scalar("scale")?, c.scalar("divisor")?);
        let channels = volume.channels();
        let slope = (scale / divisor).abs();
        let limit = |y: f64| y.clamp(-1.0, 1.0);
        Ok(vec![volume.answer.then(slope, |i, y| {
            limit(limit(y + bias.at(i % channels)) * scale) / divisor
        })])
    }),
    ("conv_transpose3d_norm_pool_gelu", |c| {
        let (mut volume, added, eps) = (transposed(c, 1)?, c.input(2)?, c.scalar("eps")?);
        let normed = volume.pixels().flat_map(|pixel| {
            let shifted: Vec<f64> = pixel
                .iter()
                .zip(&added.values)
                .map(|(y, b)| y + b)
                .collect();
            layer_norm(&shifted, eps)
        });
        volume.answer = Answer::exact(normed.collect());
        let pooled = pool::mean(&volume, Window::cube(2)).answer;
        Ok(vec![pooled.then(1.13, |_, y| gelu(y))])
    }),
];

/// Batch, depth, height, width, channels.
pub(super) struct Volume {
    pub(super) extents: [usize; 5],
    pub(super) answer: Answer,
}

impl Volume {
    pub(super) fn new(extents: [usize; 5]) -> Self {
        let elements = extents.iter().product();
        Self {
            extents,
            answer: Answer::new(vec![0.0; elements], vec![0.0; elements]),
        }
    }

    pub(super) fn of(tensor: &Tensor) -> Result<Self, Error> {
        let extents = spatial(tensor)?;
        Ok(Self {
            extents,
            answer: Answer::exact(tensor.values.clone()),
        })
    }

    pub(super) fn channels(&self) -> usize {
        self.extents[4].max(1)
    }

    pub(super) fn place(&self, [n, z, y, x, c]: [usize; 5]) -> usize {
        let [_, depth, height, width, channels] = self.extents;
        (((n * depth + z) * height + y) * width + x) * channels + c
    }

    /// The channels of each place.
    pub(super) fn pixels(&self) -> std::slice::ChunksExact<'_, f64> {
        self.answer.values.chunks_exact(self.channels())
    }

    pub(super) fn tensor(&self) -> Result<Tensor, Error> {
        Tensor::new(self.extents.to_vec(), self.answer.values.clone())
    }
}

/// Extents of (batch, space…, channels), with the dimensions that are not there filled with 1.
fn spatial(tensor: &Tensor) -> Result<[usize; 5], Error> {
    match *tensor.shape.as_slice() {
        [n, x, c] => Ok([n, 1, 1, x, c]),
        [n, y, x, c] => Ok([n, 1, y, x, c]),
        [n, z, y, x, c] => Ok([n, z, y, x, c]),
        _ => Err(Error::Shape),
    }
}

/// The convolution of the first two inputs, everywhere.
fn whole(call: &Call<'_>) -> Result<Volume, Error> {
    convolve(call.input(0)?, call.input(1)?, 0)
}

/// The convolution of the first two inputs, at the places that are asked for: a row of the output are the channels of a
/// place.
fn forward(call: &Call<'_>) -> Result<Volume, Error> {
    let shape = Shape::new(call.input(0)?, call.input(1)?, 0)?;
    let [batch, z, y, x, _] = shape.out;
    shape.at(
        call.input(0)?,
        call.input(1)?,
        &call.asked(batch * z * y * x),
    )
}

/// Stride 1: out[p, o] is the sum over k and c of x[p + k - padding, c] w[o, k, c].
pub(super) fn convolve(x: &Tensor, w: &Tensor, padding: usize) -> Result<Volume, Error> {
    let shape = Shape::new(x, w, padding)?;
    let [batch, depth, height, width, _] = shape.out;
    let all: Vec<usize> = (0..batch * depth * height * width).collect();
    shape.at(x, w, &all)
}

/// Extents of a convolution.
struct Shape {
    input: [usize; 5],
    window: [usize; 3],
    pad: [usize; 3],
    out: [usize; 5],
}

impl Shape {
    fn new(x: &Tensor, w: &Tensor, padding: usize) -> Result<Self, Error> {
        let input = spatial(x)?;
        let [batch, depth, height, width, channels] = input;
        let [filters, kz, ky, kx, per_filter] = spatial(w)?;
        // No padding along a dimension that is not there.
        let pad = |extent: usize, k: usize| if extent == 1 && k == 1 { 0 } else { padding };
        let pad = [pad(depth, kz), pad(height, ky), pad(width, kx)];
        let shrunk = |extent: usize, k: usize, p: usize| {
            (extent + 2 * p + 1).checked_sub(k).ok_or(Error::Shape)
        };
        if channels != per_filter || filters == 0 {
            return Err(Error::Shape);
        }
        Ok(Self {
            input,
            window: [kz, ky, kx],
            out: [
                batch,
                shrunk(depth, kz, pad[0])?,
                shrunk(height, ky, pad[1])?,
                shrunk(width, kx, pad[2])?,
                filters,
            ],
            pad,
        })
    }

    /// All filters at some places.
    fn at(&self, x: &Tensor, w: &Tensor, asked: &[usize]) -> Result<Volume, Error> {
        let [.., channels] = self.input;
        let [kz, ky, kx] = self.window;
        let filters = self.out[4];
        let taps = kz * ky * kx * channels;
        // Filters side by side, so that all of them take the same step through the taps.
        let turned: Vec<f64> = (0..taps)
            .flat_map(|tap| (0..filters).map(move |o| w.at(o * taps + tap)))
            .collect();
        let mut out = Volume::new(self.out);
        let computed: Vec<Vec<(f64, f64)>> = asked
            .par_iter()
            .map(|place| self.place(x, &turned, *place))
            .collect();
        for (place, pairs) in asked.iter().zip(computed) {
            for (o, (value, scale)) in pairs.into_iter().enumerate() {
                put(&mut out.answer, place * filters + o, value, scale);
            }
        }
        Ok(out)
    }

    /// Value and scale of every filter at a place.
    fn place(&self, x: &Tensor, turned: &[f64], place: usize) -> Vec<(f64, f64)> {
        let [_, depth, height, width, channels] = self.input;
        let [_, rows, lines, columns, filters] = self.out;
        let [kz, ky, kx] = self.window;
        let (n, z) = (
            place / (columns * lines * rows),
            place / (columns * lines) % rows,
        );
        let (y, x0) = (place / columns % lines, place % columns);
        let mut pairs = vec![(0.0, 0.0); filters];
        for (i, j, l) in places([kz, ky, kx]) {
            let inside = |p: usize, k: usize, pad: usize, extent: usize| {
                (p + k).checked_sub(pad).filter(|&at| at < extent)
            };
            let (Some(sz), Some(sy), Some(sx)) = (
                inside(z, i, self.pad[0], depth),
                inside(y, j, self.pad[1], height),
                inside(x0, l, self.pad[2], width),
            ) else {
                continue;
            };
            let from = (((n * depth + sz) * height + sy) * width + sx) * channels;
            let tap = ((i * ky + j) * kx + l) * channels;
            for c in 0..channels {
                let x = x.at(from + c);
                let row = turned.get((tap + c) * filters..).unwrap_or_default();
                for ((value, scale), w) in pairs.iter_mut().zip(row) {
                    *value += x * w;
                    *scale += (x * w).abs();
                }
            }
        }
        pairs
    }
}

/// out[stride p + k, o] gathers x[p, c] w[o, k, c].
fn transposed(call: &Call<'_>, stride: usize) -> Result<Volume, Error> {
    let (x, w) = (call.input(0)?, call.input(1)?);
    let [batch, depth, height, width, channels] = spatial(x)?;
    let [filters, kz, ky, kx, per_filter] = spatial(w)?;
    if channels != per_filter {
        return Err(Error::Shape);
    }
    let grown = |extent: usize, k: usize| (extent - 1) * stride + k;
    let mut out = Volume::new([
        batch,
        grown(depth, kz),
        grown(height, ky),
        grown(width, kx),
        filters,
    ]);
    for n in 0..batch {
        for (z, y, x0) in places([depth, height, width]) {
            let from = (((n * depth + z) * height + y) * width + x0) * channels;
            for o in 0..filters {
                for (i, j, l) in places([kz, ky, kx]) {
                    let filter = (((o * kz + i) * ky + j) * kx + l) * channels;
                    let place = out.place([n, z * stride + i, y * stride + j, x0 * stride + l, o]);
                    for c in 0..channels {
                        let term = x.at(from + c) * w.at(filter + c);
                        if let Some(value) = out.answer.values.get_mut(place) {
                            *value += term;
                        }
                        if let Some(scale) = out.answer.scale.get_mut(place) {
                            *scale += term.abs();
                        }
                    }
                }
            }
        }
    }
    Ok(out)
}

/// Every channel with its own filter.
fn depthwise(call: &Call<'_>) -> Answers {
    let (x, w) = (call.input(0)?, call.input(1)?);
    let ([batch, height, width, channels], [_, ky, kx, _]) = (x.extents()?, w.extents()?);
    let shrunk = |extent: usize, k: usize| (extent + 1).checked_sub(k).ok_or(Error::Shape);
    let mut out = Volume::new([batch, 1, shrunk(height, ky)?, shrunk(width, kx)?, channels]);
    let [_, _, rows, columns, _] = out.extents;
    for n in 0..batch {
        for (y, x0, c) in places([rows, columns, channels]) {
            let terms = (0..ky).flat_map(|i| (0..kx).map(move |j| (i, j)));
            let terms = terms.map(|(i, j)| {
                let from = ((n * height + y + i) * width + x0 + j) * channels + c;
                x.at(from) * w.at((c * ky + i) * kx + j)
            });
            let (value, scale) = super::rows::sum(terms);
            let place = out.place([n, 0, y, x0, c]);
            put(&mut out.answer, place, value, scale);
        }
    }
    Ok(vec![out.answer])
}

/// Divided, the largest channel of each place, averaged over places, plus a number, summed over the batch.
fn conv3d_div_pool_sum(call: &Call<'_>) -> Answers {
    let volume = whole(call)?;
    let (divisor, bias) = (call.scalar("divisor")?, call.scalar("bias")?);
    let [batch, z, y, x, _] = volume.extents;
    let places = (z * y * x).max(1);
    let largest = |pixel: &[f64]| pixel.iter().copied().fold(f64::NEG_INFINITY, f64::max) / divisor;
    let pixels: Vec<f64> = volume.pixels().map(largest).collect();
    let means = pixels
        .chunks_exact(places)
        .map(|one| one.iter().sum::<f64>() / places as f64 + bias);
    let total: f64 = means.sum();
    let size = pixels.iter().map(|pixel| pixel.abs()).sum::<f64>() / places as f64;
    Ok(vec![Answer::new(
        vec![total],
        vec![size + bias.abs() * batch as f64],
    )])
}

fn leaky(x: f64) -> f64 {
    if x > 0.0 { x } else { 0.01 * x }
}

fn put(answer: &mut Answer, place: usize, value: f64, scale: f64) {
    if let (Some(v), Some(s)) = (answer.values.get_mut(place), answer.scale.get_mut(place)) {
        (*v, *s) = (value, scale);
    }
}

/// All places of three extents, the last one first.
pub(super) fn places([a, b, c]: [usize; 3]) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..a).flat_map(move |i| (0..b).flat_map(move |j| (0..c).map(move |k| (i, j, k))))
}
