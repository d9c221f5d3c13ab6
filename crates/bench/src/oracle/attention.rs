//! Attention: rotary positions, scores, single, many and grouped heads.

use super::matmul::{product, transposed};
use super::rows::softmax;
use super::{Answer, Call, Error, Family, Tensor};

pub(super) const FAMILY: Family = &[
    ("rope_embedding", |c| {
        let base = c.scalar("base")?;
        Ok(vec![rotary_scaled(c.input(0)?, base)?])
    }),
    ("attention_scores", |c| {
        let scores = scores(c.input(0)?, c.input(1)?)?;
        Ok(vec![Answer::exact(scores.values)])
    }),
    ("attention", |c| {
        let out = attend(c.input(0)?, c.input(1)?, c.input(2)?)?;
        Ok(vec![Answer::exact(out.values)])
    }),
    ("llama_attention", |c| {
        let heads = Heads::of(c)?;
        let out = grouped_attention(
            c.input(0)?,
            c.input(1)?,
            c.input(2)?,
            &heads,
            c.scalar("base")?,
        )?;
        Ok(vec![Answer::exact(out.values)])
    }),
    ("mha_attention", |c| {
        let x = c.input(0)?;
        let project = |place: usize| plain(x, c.input(place)?);
        let (q, k, v) = (project(1)?, project(2)?, project(3)?);
        let heads = c.size("heads")?;
        let out = many_heads(&q, &k, &v, heads, heads)?;
        Ok(vec![Answer::exact(plain(&out, c.input(4)?)?.values)])
    }),
];

/// How many heads queries, and keys and values, have.
pub(super) struct Heads {
    pub(super) queries: usize,
    pub(super) keys: usize,
}

impl Heads {
    pub(super) fn of(call: &Call<'_>) -> Result<Self, Error> {
        Ok(Self {
            queries: call.size("heads")?,
            keys: call.size("kv_heads")?,
        })
    }
}

pub(super) fn plain(a: &Tensor, b: &Tensor) -> Result<Tensor, Error> {
    let ([m, _], [_, n]) = (a.extents()?, b.extents()?);
    Tensor::new(vec![m, n], product(a, b)?.values)
}

/// Columns `start..end` of a matrix.
pub(super) fn columns(x: &Tensor, start: usize, end: usize) -> Result<Tensor, Error> {
    let [rows, _] = x.extents()?;
    let mut values = Vec::with_capacity(rows * end.saturating_sub(start));
    for row in x.rows()? {
        values.extend_from_slice(row.get(start..end).ok_or(Error::Shape)?);
    }
    Tensor::new(vec![rows, end - start], values)
}

/// Rotates pairs of neighbours by an angle that grows with the row and shrinks with the column.
pub(super) fn rotary(x: &Tensor, base: f64) -> Result<Tensor, Error> {
    Tensor::new(x.shape.clone(), rotary_scaled(x, base)?.values)
}

fn rotary_scaled(x: &Tensor, base: f64) -> Result<Answer, Error> {
    let width = x.columns()?;
    let mut pairs = Vec::with_capacity(x.values.len());
    for (position, row) in x.rows()?.enumerate() {
        for (i, pair) in row.as_chunks().0.iter().enumerate() {
            let [a, b] = *pair;
            let angle = position as f64 / base.powf(2.0 * i as f64 / width as f64);
            let (sin, cos) = angle.sin_cos();
            // An angle is computed in single precision, so its error grows with it.
            let size = (a.abs() + b.abs()) * (1.0 + angle);
            pairs.push((a * cos - b * sin, size));
            pairs.push((a * sin + b * cos, size));
        }
    }
    Ok(Answer::from_pairs(pairs))
}

/// softmax(q kᵀ / √d), row by row.
fn scores(q: &Tensor, k: &Tensor) -> Result<Tensor, Error> {
    let [rows, depth] = q.extents()?;
    let [keys, _] = k.extents()?;
    let logits = product(q, &transposed(k)?)?.values;
    let root = (depth as f64).sqrt();
    let weights = logits.chunks_exact(keys).flat_map(|row| {
        let scaled: Vec<f64> = row.iter().map(|x| x / root).collect();
        softmax(&scaled)
    });
    Tensor::new(vec![rows, keys], weights.collect())
}

fn attend(q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor, Error> {
    plain(&scores(q, k)?, v)
}

/// Attention of each head; heads lie side by side in the columns, and several heads of queries share one of keys.
pub(super) fn many_heads(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    heads: usize,
    shared: usize,
) -> Result<Tensor, Error> {
    let [rows, width] = q.extents()?;
    if heads == 0 || shared == 0 || !heads.is_multiple_of(shared) || !width.is_multiple_of(heads) {
        return Err(Error::Shape);
    }
    let depth = width / heads;
    let mut values = vec![0.0; rows * width];
    for head in 0..heads {
        let own = head * depth;
        let theirs = head / (heads / shared) * depth;
        let q = columns(q, own, own + depth)?;
        let (k, v) = (
            columns(k, theirs, theirs + depth)?,
            columns(v, theirs, theirs + depth)?,
        );
        let out = attend(&q, &k, &v)?;
        for (row, part) in values.chunks_exact_mut(width).zip(out.rows()?) {
            if let Some(place) = row.get_mut(own..own + depth) {
                place.copy_from_slice(part);
            }
        }
    }
    Tensor::new(vec![rows, width], values)
}

/// Rotates each head by itself.
fn rotary_heads(x: &Tensor, heads: usize, base: f64) -> Result<Tensor, Error> {
    let [rows, width] = x.extents()?;
    let depth = width / heads.max(1);
    let mut values = vec![0.0; rows * width];
    for head in 0..heads {
        let start = head * depth;
        let turned = rotary(&columns(x, start, start + depth)?, base)?;
        for (row, part) in values.chunks_exact_mut(width).zip(turned.rows()?) {
            if let Some(place) = row.get_mut(start..start + depth) {
                place.copy_from_slice(part);
            }
        }
    }
    Tensor::new(vec![rows, width], values)
}

/// Queries, keys and values by one projection, rotary positions, grouped heads, an output projection.
pub(super) fn grouped_attention(
    x: &Tensor,
    qkv: &Tensor,
    out: &Tensor,
    heads: &Heads,
    base: f64,
) -> Result<Tensor, Error> {
    let [_, width] = x.extents()?;
    let shared = width / heads.queries.max(1) * heads.keys;
    let all = plain(x, qkv)?;
    let q = rotary_heads(&columns(&all, 0, width)?, heads.queries, base)?;
    let k = rotary_heads(&columns(&all, width, width + shared)?, heads.keys, base)?;
    let v = columns(&all, width + shared, width + 2 * shared)?;
    plain(&many_heads(&q, &k, &v, heads.queries, heads.keys)?, out)
}
