//! Products of matrices, and what is fused with them.

use super::elementwise::{gelu, silu};
use super::rows::{dot, rms_norm, softmax};
use super::{Answer, Answers, Call, Error, Family, Tensor};
use rayon::prelude::*;

pub(super) const FAMILY: Family = &[
    ("matmul", |c| Ok(vec![asked(c, c.input(0)?, c.input(1)?)?])),
    ("batch_mm", batch),
    ("matvec", |c| {
        let (a, x) = (c.input(0)?, c.input(1)?);
        Ok(vec![Answer::from_pairs(
            a.rows()?.map(|row| dot(row, &x.values)),
        )])
    }),
    ("matmul_sub_mul_relu", |c| {
        let (subtracted, factor) = (c.scalar("subtracted")?, c.scalar("factor")?);
        let product = asked(c, c.input(0)?, c.input(1)?)?;
        let slope = factor.abs();
        Ok(vec![
            product.then(slope, |_, y| ((y - subtracted) * factor).max(0.0)),
        ])
    }),
    ("silu_linear", |c| {
        Ok(vec![
            asked(c, c.input(0)?, c.input(1)?)?.then(1.1, |_, y| silu(y)),
        ])
    }),
    ("gelu_linear", |c| {
        Ok(vec![
            asked(c, c.input(0)?, c.input(1)?)?.then(1.13, |_, y| gelu(y)),
        ])
    }),
    ("linear_bias", |c| {
        let (bias, columns) = (c.input(2)?, c.input(1)?.columns()?);
        let product = asked(c, c.input(0)?, c.input(1)?)?;
        Ok(vec![
            product.then(1.0, |place, y| y + bias.at(place % columns)),
        ])
    }),
    ("swiglu", |c| {
        let gate = asked(c, c.input(0)?, c.input(1)?)?;
        let up = asked(c, c.input(0)?, c.input(2)?)?;
        let pairs = gate
            .values
            .iter()
            .zip(&gate.scale)
            .zip(up.values.iter().zip(&up.scale));
        Ok(vec![Answer::from_pairs(pairs.map(|((g, gs), (u, us))| {
            (silu(*g) * u, 1.1 * gs * u.abs() + silu(*g).abs() * us)
        }))])
    }),
    ("rms_norm_linear", |c| {
        let (x, w, eps) = (c.input(0)?, c.input(1)?, c.scalar("eps")?);
        let normed: Vec<f64> = x.rows()?.flat_map(|row| rms_norm(row, eps)).collect();
        let normed = Tensor::new(x.shape.clone(), normed)?;
        Ok(vec![asked(c, &normed, &transposed(w)?)?])
    }),
    ("matmul_gelu_softmax", |c| {
        let product = asked(c, c.input(0)?, c.input(1)?)?;
        let logits = product.then(1.13, |_, y| gelu(y)).values;
        let rows = logits.chunks_exact(c.input(1)?.columns()?);
        Ok(vec![Answer::exact(rows.flat_map(softmax).collect())])
    }),
];

/// The product of two matrices, and for each element the sum of magnitudes of its terms.
pub(super) fn product(a: &Tensor, b: &Tensor) -> Result<Answer, Error> {
    let [m, _] = a.extents()?;
    product_rows(a, b, &(0..m).collect::<Vec<_>>())
}

/// The product, only in the rows that are asked for.
fn asked(call: &Call<'_>, a: &Tensor, b: &Tensor) -> Result<Answer, Error> {
    let [m, _] = a.extents()?;
    product_rows(a, b, &call.asked(m))
}

fn product_rows(a: &Tensor, b: &Tensor, rows: &[usize]) -> Result<Answer, Error> {
    let ([m, k], [depth, n]) = (a.extents()?, b.extents()?);
    if k != depth || n == 0 {
        return Err(Error::Shape);
    }
    let computed = rows.par_iter().map(|row| {
        let (mut values, mut scale) = (vec![0.0; n], vec![0.0; n]);
        let row = a.values.get(row * k..(row + 1) * k).unwrap_or_default();
        for (a, b_row) in row.iter().zip(b.values.chunks_exact(n)) {
            for ((value, scale), b) in values.iter_mut().zip(scale.iter_mut()).zip(b_row) {
                *value += a * b;
                *scale += (a * b).abs();
            }
        }
        (values, scale)
    });
    let mut answer = Answer::new(vec![0.0; m * n], vec![0.0; m * n]);
    for (row, (values, scale)) in rows.iter().zip(computed.collect::<Vec<_>>()) {
        let place = row * n..(row + 1) * n;
        if let (Some(v), Some(s)) = (
            answer.values.get_mut(place.clone()),
            answer.scale.get_mut(place),
        ) {
            v.copy_from_slice(&values);
            s.copy_from_slice(&scale);
        }
    }
    Ok(answer)
}

pub(super) fn transposed(x: &Tensor) -> Result<Tensor, Error> {
    let [rows, columns] = x.extents()?;
    let values = (0..columns).flat_map(|j| (0..rows).map(move |i| x.at(i * columns + j)));
    Tensor::new(vec![columns, rows], values.collect())
}

fn batch(call: &Call<'_>) -> Answers {
    let (a, b) = (call.input(0)?, call.input(1)?);
    let ([batch, m, k], [_, _, n]) = (a.extents()?, b.extents()?);
    let m = m.max(1);
    let mut all = Answer::new(Vec::with_capacity(batch * m * n), Vec::new());
    let asked = call.asked(batch * m);
    let pairs = a.values.chunks_exact(m * k);
    for (place, (a, b)) in pairs.zip(b.values.chunks_exact(k * n)).enumerate() {
        let a = Tensor::new(vec![m, k], a.to_vec())?;
        let b = Tensor::new(vec![k, n], b.to_vec())?;
        let own = asked.iter().filter(|row| *row / m == place);
        let own: Vec<usize> = own.map(|row| row % m).collect();
        let one = product_rows(&a, &b, &own)?;
        all.values.extend(one.values);
        all.scale.extend(one.scale);
    }
    Ok(vec![all])
}
