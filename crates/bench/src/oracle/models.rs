//! Whole small models and layers.

use super::attention::{Heads, columns, grouped_attention, many_heads, plain};
use super::convolution::{Volume, convolve};
use super::elementwise::{gelu, relu, silu};
use super::pool::{self, Window};
use super::rows::{layer_norm, rms_norm};
use super::{Answer, Answers, Call, Error, Family, Tensor};

pub(super) const FAMILY: Family = &[
    ("alexnet", alexnet),
    ("resnet", resnet),
    ("densenet", densenet),
    ("transformer_block", transformer_block),
    ("llama_decoder_layer", llama_decoder_layer),
];

/// Three times convolution, the largest of each 2 × 2 window, and what is above 0; then two dense layers.
fn alexnet(call: &Call<'_>) -> Answers {
    let mut x = call.input(0)?.clone();
    for place in 1..=3 {
        let pooled = pool::largest(&convolve(&x, call.input(place)?, 0)?, Window::square(2, 2));
        x = map(&flat_image(&pooled)?, relu)?;
    }
    let [batch, height, width, channels] = x.extents()?;
    let x = Tensor::new(vec![batch, height * width * channels], x.values)?;
    let hidden = map(&plain(&x, call.input(4)?)?, relu)?;
    output(&plain(&hidden, call.input(5)?)?)
}

/// A convolution, a residual block of two more, the mean over the image, a dense layer.
fn resnet(call: &Call<'_>) -> Answers {
    let stem = layer(call.input(0)?, call.input(1)?, relu)?;
    let inner = layer(&stem, call.input(2)?, relu)?;
    let block = layer(&inner, call.input(3)?, |x| x)?;
    let block = map(&sum(&block, &stem)?, relu)?;
    output(&plain(&image_mean(&block)?, call.input(4)?)?)
}

/// Convolutions that each see all channels before them, the mean over the image, a dense layer.
fn densenet(call: &Call<'_>) -> Answers {
    let stem = layer(call.input(0)?, call.input(1)?, relu)?;
    let first = layer(&stem, call.input(2)?, relu)?;
    let both = beside(&stem, &first)?;
    let second = layer(&both, call.input(3)?, relu)?;
    let all = beside(&both, &second)?;
    output(&plain(&image_mean(&all)?, call.input(4)?)?)
}

/// x + attention(norm(x)), then the same with a dense layer in place of attention.
fn transformer_block(call: &Call<'_>) -> Answers {
    let (x, eps) = (call.input(0)?, call.scalar("eps")?);
    let [_, width] = x.extents()?;
    let norm = |x: &Tensor| rows(x, |row| layer_norm(row, eps));
    let qkv = plain(&norm(x)?, call.input(1)?)?;
    let part = |i: usize| columns(&qkv, i * width, (i + 1) * width);
    let heads = call.size("heads")?;
    let attended = many_heads(&part(0)?, &part(1)?, &part(2)?, heads, heads)?;
    let x = sum(x, &plain(&attended, call.input(2)?)?)?;
    let hidden = map(&plain(&norm(&x)?, call.input(3)?)?, gelu)?;
    output(&sum(&x, &plain(&hidden, call.input(4)?)?)?)
}

/// The same with rotary positions, grouped heads, root-mean-square norms and a gated dense layer.
fn llama_decoder_layer(call: &Call<'_>) -> Answers {
    let (x, eps, base) = (call.input(0)?, call.scalar("eps")?, call.scalar("base")?);
    let norm = |x: &Tensor| rows(x, |row| rms_norm(row, eps));
    let attended = grouped_attention(
        &norm(x)?,
        call.input(1)?,
        call.input(2)?,
        &Heads::of(call)?,
        base,
    )?;
    let x = sum(x, &attended)?;
    let both = plain(&norm(&x)?, call.input(3)?)?;
    let hidden = call.size("hidden")?;
    let (gate, up) = (
        columns(&both, 0, hidden)?,
        columns(&both, hidden, 2 * hidden)?,
    );
    let gated = gate
        .values
        .iter()
        .zip(&up.values)
        .map(|(g, u)| silu(*g) * u)
        .collect();
    let gated = Tensor::new(gate.shape.clone(), gated)?;
    output(&sum(&x, &plain(&gated, call.input(4)?)?)?)
}

fn output(x: &Tensor) -> Answers {
    Ok(vec![Answer::exact(x.values.clone())])
}

fn map(x: &Tensor, function: impl Fn(f64) -> f64) -> Result<Tensor, Error> {
    Tensor::new(
        x.shape.clone(),
        x.values.iter().map(|&x| function(x)).collect(),
    )
}

fn rows(x: &Tensor, function: impl Fn(&[f64]) -> Vec<f64>) -> Result<Tensor, Error> {
    Tensor::new(x.shape.clone(), x.rows()?.flat_map(function).collect())
}

fn sum(x: &Tensor, y: &Tensor) -> Result<Tensor, Error> {
    let values = x.values.iter().zip(&y.values).map(|(x, y)| x + y);
    Tensor::new(x.shape.clone(), values.collect())
}

/// Batch, height, width, channels of a volume without depth.
fn flat_image(volume: &Volume) -> Result<Tensor, Error> {
    let [batch, _, height, width, channels] = volume.extents;
    Tensor::new(
        vec![batch, height, width, channels],
        volume.tensor()?.values,
    )
}

/// A convolution that keeps the image's size, with zeros around it, and a function. Windows are odd.
fn layer(x: &Tensor, w: &Tensor, function: impl Fn(f64) -> f64) -> Result<Tensor, Error> {
    let [_, window, _, _] = w.extents()?;
    map(&flat_image(&convolve(x, w, window / 2)?)?, function)
}

/// The channels of two images side by side.
fn beside(x: &Tensor, y: &Tensor) -> Result<Tensor, Error> {
    let ([batch, height, width, a], [_, _, _, b]) = (x.extents()?, y.extents()?);
    let pixels = x
        .rows()?
        .zip(y.rows()?)
        .flat_map(|(x, y)| x.iter().chain(y).copied());
    Tensor::new(vec![batch, height, width, a + b], pixels.collect())
}

/// The mean of each channel over the image.
fn image_mean(x: &Tensor) -> Result<Tensor, Error> {
    let [batch, height, width, channels] = x.extents()?;
    let mut values = vec![0.0; batch * channels];
    for (place, value) in x.values.iter().enumerate() {
        let image = place / (height * width * channels);
        if let Some(sum) = values.get_mut(image * channels + place % channels) {
            *sum += value / (height * width) as f64;
        }
    }
    Tensor::new(vec![batch, channels], values)
}
