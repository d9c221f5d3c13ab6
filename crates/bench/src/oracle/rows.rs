//! Operations on rows: sums, norms, softmax, losses, running sums, and the same over columns and groups.

use super::{Answer, Answers, Call, Error, Family, Tensor};

pub(super) const FAMILY: Family = &[
    ("l1_norm", |c| {
        per_row(c, |x| sum(x.iter().map(|x| x.abs())))
    }),
    ("l2_norm", |c| per_row(c, |x| root(sum(squares(x))))),
    ("frobenius_norm", |c| {
        let (value, scale) = root(sum(squares(&c.input(0)?.values)));
        Ok(vec![Answer::new(vec![value], vec![scale])])
    }),
    ("variance", |c| per_row(c, |x| same(variance(x)))),
    ("logsumexp", |c| per_row(c, |x| same(logsumexp(x)))),
    ("argmax", |c| per_row(c, |x| same(argmax(x)))),
    ("layer_norm", |c| {
        let eps = c.scalar("eps")?;
        normed_rows(c.input(0)?, |x| layer_norm_with_scale(x, eps))
    }),
    ("rms_norm", |c| {
        let eps = c.scalar("eps")?;
        map_rows(c.input(0)?, |x| rms_norm(x, eps))
    }),
    ("add_norm", |c| {
        let eps = c.scalar("eps")?;
        normed_rows(&added(c)?, |x| layer_norm_with_scale(x, eps))
    }),
    ("fused_add_rms_norm", |c| {
        let eps = c.scalar("eps")?;
        map_rows(&added(c)?, |x| rms_norm(x, eps))
    }),
    ("softmax", |c| map_rows(c.input(0)?, softmax)),
    ("masked_softmax", |c| map_rows(&added(c)?, softmax)),
    ("log_softmax", |c| {
        normed_rows(c.input(0)?, log_softmax_with_scale)
    }),
    ("dot_product", |c| {
        let (value, scale) = dot(&c.input(0)?.values, &c.input(1)?.values);
        Ok(vec![Answer::new(vec![value], vec![scale])])
    }),
    ("mse_loss", |c| {
        let (p, t) = (&c.input(0)?.values, &c.input(1)?.values);
        let total: f64 = p.iter().zip(t).map(|(p, t)| (p - t).powi(2)).sum();
        Ok(vec![Answer::exact(vec![total / p.len() as f64])])
    }),
    ("cosine_similarity", |c| {
        two_rows(c, |x, y| {
            let ((xy, scale), (xx, _), (yy, _)) = (dot(x, y), dot(x, x), dot(y, y));
            let lengths = xx.sqrt() * yy.sqrt() + 1e-8;
            (xy / lengths, scale / lengths)
        })
    }),
    ("manhattan_similarity", |c| {
        two_rows(c, |x, y| sum(x.iter().zip(y).map(|(x, y)| (x - y).abs())))
    }),
    ("triplet_margin_loss", triplet_margin_loss),
    ("cross_entropy_loss", |c| two_rows(c, cross_entropy)),
    ("log_softmax_cross_entropy", |c| two_rows(c, cross_entropy)),
    ("nll_loss", |c| {
        two_rows(c, |p, t| {
            let (value, scale) = dot(p, t);
            (-value, scale)
        })
    }),
    ("top_k", |c| {
        let k = c.size("k")?;
        map_rows(c.input(0)?, |x| {
            let mut sorted = x.to_vec();
            sorted.sort_by(|a, b| b.total_cmp(a));
            sorted.truncate(k);
            sorted
        })
    }),
    ("cumsum", |c| running(c.input(0)?, |x| x.to_vec())),
    ("cumsum_exclusive", |c| {
        running(c.input(0)?, |x| {
            let mut moved = vec![0.0];
            moved.extend(x.iter().take(x.len().saturating_sub(1)));
            moved
        })
    }),
    ("cumsum_reverse", |c| {
        let mut answers = running(c.input(0)?, |x| x.iter().rev().copied().collect())?;
        let columns = c.input(0)?.columns()?;
        for answer in &mut answers {
            answer
                .values
                .chunks_exact_mut(columns)
                .for_each(<[f64]>::reverse);
            answer
                .scale
                .chunks_exact_mut(columns)
                .for_each(<[f64]>::reverse);
        }
        Ok(answers)
    }),
    ("masked_cumsum", |c| {
        let (x, mask) = (c.input(0)?, c.input(1)?);
        let values = x.values.iter().zip(&mask.values).map(|(x, mask)| x * mask);
        running(&Tensor::new(x.shape.clone(), values.collect())?, |x| {
            x.to_vec()
        })
    }),
    ("cumprod", |c| {
        map_rows(c.input(0)?, |x| {
            let product = |product: &mut f64, x: &f64| {
                *product *= x;
                Some(*product)
            };
            x.iter().scan(1.0, product).collect()
        })
    }),
    ("batch_norm", batch_norm),
    ("instance_norm", |c| {
        let [_, _, height, width] = c.input(0)?.extents()?;
        grouped_norm(c, height * width)
    }),
    ("group_norm", |c| {
        let [_, channels, height, width] = c.input(0)?.extents()?;
        let groups = c.size("groups")?.max(1);
        grouped_norm(c, channels / groups * height * width)
    }),
];

/// A sum and the sum of magnitudes.
pub(super) fn sum(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((0.0, 0.0), |(sum, size), value| {
        (sum + value, size + value.abs())
    })
}

pub(super) fn dot(x: &[f64], y: &[f64]) -> (f64, f64) {
    sum(x.iter().zip(y).map(|(x, y)| x * y))
}

fn squares(x: &[f64]) -> impl Iterator<Item = f64> {
    x.iter().map(|x| x * x)
}

fn root((value, scale): (f64, f64)) -> (f64, f64) {
    (value.sqrt(), scale.sqrt())
}

fn same(value: f64) -> (f64, f64) {
    (value, value.abs())
}

fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

fn variance(x: &[f64]) -> f64 {
    let mean = mean(x);
    x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64
}

fn largest(x: &[f64]) -> f64 {
    x.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

fn logsumexp(x: &[f64]) -> f64 {
    let shift = largest(x);
    shift + x.iter().map(|x| (x - shift).exp()).sum::<f64>().ln()
}

/// The first of several.
fn argmax(x: &[f64]) -> f64 {
    let best = largest(x);
    x.iter()
        .position(|x| *x == best)
        .map_or(f64::NAN, |place| place as f64)
}

pub(super) fn layer_norm(x: &[f64], eps: f64) -> Vec<f64> {
    let (mean, factor) = (mean(x), 1.0 / (variance(x) + eps).sqrt());
    x.iter().map(|x| (x - mean) * factor).collect()
}

/// The difference from the mean loses what number and mean have in common: its rounding errors are relative to them.
fn layer_norm_with_scale(x: &[f64], eps: f64) -> Vec<(f64, f64)> {
    let factor = 1.0 / (variance(x) + eps).sqrt();
    let size = x.iter().map(|x| x.abs()).sum::<f64>() / x.len() as f64;
    let values = layer_norm(x, eps).into_iter().zip(x);
    values
        .map(|(value, x)| (value, (x.abs() + size) * factor))
        .collect()
}

pub(super) fn rms_norm(x: &[f64], eps: f64) -> Vec<f64> {
    let square = squares(x).sum::<f64>() / x.len() as f64;
    x.iter().map(|x| x / (square + eps).sqrt()).collect()
}

pub(super) fn softmax(x: &[f64]) -> Vec<f64> {
    let total = logsumexp(x);
    x.iter().map(|x| (x - total).exp()).collect()
}

/// A difference of the number and of what may be as large.
fn log_softmax_with_scale(x: &[f64]) -> Vec<(f64, f64)> {
    let total = logsumexp(x);
    let pairs = x.iter().map(|x| (x - total, x.abs() + total.abs()));
    pairs.collect()
}

fn log_softmax(x: &[f64]) -> Vec<f64> {
    let total = logsumexp(x);
    x.iter().map(|x| x - total).collect()
}

fn cross_entropy(logits: &[f64], target: &[f64]) -> (f64, f64) {
    let (value, _) = dot(&log_softmax(logits), target);
    let scale = log_softmax_with_scale(logits);
    let scale = scale
        .iter()
        .zip(target)
        .map(|((_, scale), t)| scale * t.abs());
    (-value, scale.sum())
}

/// One number per row, with its scale.
fn per_row(call: &Call<'_>, function: impl Fn(&[f64]) -> (f64, f64)) -> Answers {
    Ok(vec![Answer::from_pairs(
        call.input(0)?.rows()?.map(function),
    )])
}

/// One number per pair of rows, with its scale.
fn two_rows(call: &Call<'_>, function: impl Fn(&[f64], &[f64]) -> (f64, f64)) -> Answers {
    let pairs = call.input(0)?.rows()?.zip(call.input(1)?.rows()?);
    Ok(vec![Answer::from_pairs(pairs.map(|(x, y)| function(x, y)))])
}

/// A row per row.
fn map_rows(x: &Tensor, function: impl Fn(&[f64]) -> Vec<f64>) -> Answers {
    Ok(vec![Answer::exact(x.rows()?.flat_map(function).collect())])
}

/// A row per row, each number with its scale.
fn normed_rows(x: &Tensor, function: impl Fn(&[f64]) -> Vec<(f64, f64)>) -> Answers {
    Ok(vec![Answer::from_pairs(x.rows()?.flat_map(function))])
}

/// The sum of the two inputs.
fn added(call: &Call<'_>) -> Result<Tensor, Error> {
    let (x, y) = (call.input(0)?, call.input(1)?);
    let values = x.values.iter().zip(&y.values).map(|(x, y)| x + y);
    Tensor::new(x.shape.clone(), values.collect())
}

/// Running sums of what `terms` makes of each row; the scale is the running sum of magnitudes.
fn running(x: &Tensor, terms: impl Fn(&[f64]) -> Vec<f64>) -> Answers {
    let mut pairs = Vec::with_capacity(x.values.len());
    for row in x.rows()? {
        let (mut total, mut size) = (0.0, 0.0);
        for term in terms(row) {
            total += term;
            size += term.abs();
            pairs.push((total, size));
        }
    }
    Ok(vec![Answer::from_pairs(pairs)])
}

fn triplet_margin_loss(call: &Call<'_>) -> Answers {
    let margin = call.scalar("margin")?;
    let rows = call.input(0)?.rows()?.zip(call.input(1)?.rows()?);
    let rows = rows.zip(call.input(2)?.rows()?);
    let distance = |x: &[f64], y: &[f64]| {
        let squares = x.iter().zip(y).map(|(x, y)| (x - y).powi(2));
        squares.sum::<f64>().sqrt()
    };
    Ok(vec![Answer::from_pairs(rows.map(
        |((anchor, positive), negative)| {
            let (near, far) = (distance(anchor, positive), distance(anchor, negative));
            ((near - far + margin).max(0.0), near + far + margin)
        },
    ))])
}

/// Every column shifted and scaled to mean 0 and variance 1.
fn batch_norm(call: &Call<'_>) -> Answers {
    let (x, eps) = (call.input(0)?, call.scalar("eps")?);
    let [rows, columns] = x.extents()?;
    let mut pairs = vec![(0.0, 0.0); x.values.len()];
    for j in 0..columns {
        let column: Vec<f64> = (0..rows).map(|i| x.at(i * columns + j)).collect();
        for (i, pair) in layer_norm_with_scale(&column, eps).into_iter().enumerate() {
            if let Some(place) = pairs.get_mut(i * columns + j) {
                *place = pair;
            }
        }
    }
    Ok(vec![Answer::from_pairs(pairs)])
}

/// Stretches of neighbours shifted and scaled to mean 0 and variance 1.
fn grouped_norm(call: &Call<'_>, length: usize) -> Answers {
    let (x, eps) = (call.input(0)?, call.scalar("eps")?);
    if length == 0 || !x.values.len().is_multiple_of(length) {
        return Err(Error::Shape);
    }
    let groups = x.values.chunks_exact(length);
    Ok(vec![Answer::from_pairs(
        groups.flat_map(|x| layer_norm_with_scale(x, eps)),
    )])
}
