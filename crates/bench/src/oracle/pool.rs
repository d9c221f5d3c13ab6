//! Pools: the largest or the mean of each window, channels last.

use super::convolution::{Volume, places};
use super::{Answers, Call, Family};

pub(super) const FAMILY: Family = &[
    ("max_pool1d", |c| pool(c, Window::line, largest)),
    ("max_pool2d", |c| pool(c, Window::square, largest)),
    ("max_pool3d", |c| pool(c, Window::cubic, largest)),
    ("avg_pool1d", |c| pool(c, Window::line, mean)),
    ("avg_pool2d", |c| pool(c, Window::square, mean)),
    ("avg_pool3d", |c| pool(c, Window::cubic, mean)),
];

/// A window and how far it moves, in depth, height and width.
pub(super) struct Window {
    size: [usize; 3],
    stride: [usize; 3],
}

impl Window {
    fn line(size: usize, stride: usize) -> Self {
        Self {
            size: [1, 1, size],
            stride: [1, 1, stride],
        }
    }

    pub(super) fn square(size: usize, stride: usize) -> Self {
        Self {
            size: [1, size, size],
            stride: [1, stride, stride],
        }
    }

    fn cubic(size: usize, stride: usize) -> Self {
        Self {
            size: [size; 3],
            stride: [stride; 3],
        }
    }

    /// A cube that moves by its own size.
    pub(super) fn cube(size: usize) -> Self {
        Self::cubic(size, size)
    }
}

fn pool(
    call: &Call<'_>,
    window: fn(usize, usize) -> Window,
    function: fn(&Volume, Window) -> Volume,
) -> Answers {
    let window = window(call.size("window")?, call.size("stride")?);
    Ok(vec![function(&Volume::of(call.input(0)?)?, window).answer])
}

pub(super) fn largest(volume: &Volume, window: Window) -> Volume {
    reduce(volume, &window, |values| {
        let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (largest, largest.abs())
    })
}

pub(super) fn mean(volume: &Volume, window: Window) -> Volume {
    reduce(volume, &window, |values| {
        let (sum, size) = super::rows::sum(values.iter().copied());
        (sum / values.len() as f64, size / values.len() as f64)
    })
}

fn reduce(volume: &Volume, window: &Window, function: impl Fn(&[f64]) -> (f64, f64)) -> Volume {
    let [batch, depth, height, width, channels] = volume.extents;
    let fits = |extent: usize, axis: usize| {
        let (size, stride) = (window.size[axis], window.stride[axis].max(1));
        extent.checked_sub(size).map_or(0, |room| room / stride + 1)
    };
    let extents = [
        batch,
        fits(depth, 0),
        fits(height, 1),
        fits(width, 2),
        channels,
    ];
    let mut out = Volume::new(extents);
    let mut values = Vec::new();
    for n in 0..batch {
        for (z, y, x) in places([extents[1], extents[2], extents[3]]) {
            for c in 0..channels {
                values.clear();
                let [sz, sy, sx] = window.stride;
                values.extend(places(window.size).map(|(i, j, k)| {
                    let place = volume.place([n, z * sz + i, y * sy + j, x * sx + k, c]);
                    volume.answer.values.get(place).copied().unwrap_or(f64::NAN)
                }));
                let (value, scale) = function(&values);
                let place = out.place([n, z, y, x, c]);
                if let (Some(v), Some(s)) = (
                    out.answer.values.get_mut(place),
                    out.answer.scale.get_mut(place),
                ) {
                    (*v, *s) = (value, scale);
                }
            }
        }
    }
    out
}
