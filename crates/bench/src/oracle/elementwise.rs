//! Functions of single elements.

use super::{Answer, Answers, Call, Error, Family, Tensor};

pub(super) const FAMILY: Family = &[
    ("relu", |c| unary(c, relu)),
    ("leaky_relu", |c| {
        let alpha = c.scalar("alpha")?;
        unary(c, |x| if x > 0.0 { x } else { alpha * x })
    }),
    ("sigmoid", |c| unary(c, sigmoid)),
    ("swish", |c| unary(c, silu)),
    ("gelu", |c| unary(c, gelu)),
    ("selu", |c| unary(c, selu)),
    ("logsigmoid", |c| unary(c, |x| -softplus(-x))),
    ("hardsigmoid", |c| {
        unary(c, |x| (x / 6.0 + 0.5).clamp(0.0, 1.0))
    }),
    ("tanh", |c| unary(c, f64::tanh)),
    ("hardswish", |c| {
        unary(c, |x| x * (x + 3.0).clamp(0.0, 6.0) / 6.0)
    }),
    ("exp", |c| unary(c, f64::exp)),
    ("log", |c| unary(c, |x| (x.abs() + 1e-30).ln())),
    ("abs", |c| unary(c, f64::abs)),
    ("rsqrt", |c| unary(c, |x| 1.0 / x.abs().sqrt())),
    ("clip", |c| {
        let (low, high) = (c.scalar("low")?, c.scalar("high")?);
        unary(c, |x| x.max(low).min(high))
    }),
    ("elu", |c| {
        let alpha = c.scalar("alpha")?;
        unary(c, |x| if x > 0.0 { x } else { alpha * x.exp_m1() })
    }),
    ("mish", |c| unary(c, mish)),
    ("softplus", |c| unary(c, softplus)),
    ("softsign", |c| unary(c, |x| x / (1.0 + x.abs()))),
    ("hardtanh", |c| unary(c, |x| x.clamp(-1.0, 1.0))),
    ("matrix_scale", |c| {
        let scale = c.scalar("scale")?;
        unary(c, |x| x * scale)
    }),
    ("hinge_loss", |c| binary(c, |p, t| (1.0 - p * t).max(0.0))),
    ("huber_loss", |c| {
        let delta = c.scalar("delta")?;
        binary(c, |p, t| huber(p - t, delta))
    }),
    ("kl_div_loss", |c| binary(c, kl_term)),
    ("matrix_add", |c| binary(c, |a, b| a + b)),
    ("residual_add", |c| {
        let alpha = c.scalar("alpha")?;
        binary(c, |x, r| x + alpha * r)
    }),
    ("dropout", |c| {
        let p = c.scalar("p")?;
        binary(c, |x, mask| mask * x / (1.0 - p))
    }),
    ("silu_residual", |c| binary(c, |x, a| x + silu(a))),
    ("gelu_residual", |c| binary(c, |x, a| x + gelu_tanh(a))),
    ("add_silu", |c| binary(c, |x, a| silu(x + a))),
    ("mul_silu", |c| binary(c, |x, a| silu(x * a))),
    ("add_gelu", |c| binary(c, |x, a| gelu_tanh(x + a))),
    ("mul_gelu", |c| binary(c, |x, a| gelu_tanh(x * a))),
    ("add_relu", |c| binary(c, |x, a| relu(x + a))),
    ("mul_relu", |c| binary(c, |x, a| relu(x * a))),
    ("add_swish", |c| binary(c, |x, a| silu(x + a))),
    ("residual_tanh", |c| binary(c, |x, a| x + a.tanh())),
    ("where", |c| {
        let (condition, a, b) = (c.input(0)?, c.input(1)?, c.input(2)?);
        let values = condition.values.iter().enumerate();
        let values = values.map(|(i, &c)| if c > 0.5 { a.at(i) } else { b.at(i) });
        Ok(vec![Answer::exact(values.collect())])
    }),
    ("prelu", |c| {
        per_column(c, |x, alpha| if x > 0.0 { x } else { alpha * x })
    }),
    ("bias_add", |c| per_column(c, |x, bias| x + bias)),
    ("bias_gelu", |c| per_column(c, |x, bias| gelu(x + bias))),
    ("outer_product", |c| {
        let (x, y) = (c.input(0)?, c.input(1)?);
        let values = x
            .values
            .iter()
            .flat_map(|a| y.values.iter().map(move |b| a * b));
        Ok(vec![Answer::exact(values.collect())])
    }),
    ("transpose_2d", |c| {
        let x = c.input(0)?;
        let [rows, columns] = x.extents()?;
        let values = (0..columns).flat_map(|j| (0..rows).map(move |i| x.at(i * columns + j)));
        Ok(vec![Answer::exact(values.collect())])
    }),
    ("embedding", embedding),
];

pub(super) fn relu(x: f64) -> f64 {
    x.max(0.0)
}

pub(super) fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

pub(super) fn silu(x: f64) -> f64 {
    x * sigmoid(x)
}

pub(super) fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

pub(super) fn mish(x: f64) -> f64 {
    x * softplus(x).tanh()
}

/// The exact form: x times the cumulative normal distribution.
pub(super) fn gelu(x: f64) -> f64 {
    0.5 * x * (1.0 + libm::erf(x * std::f64::consts::FRAC_1_SQRT_2))
}

/// The approximation with tanh, which is a function of its own.
pub(super) fn gelu_tanh(x: f64) -> f64 {
    let root = (2.0 / std::f64::consts::PI).sqrt();
    0.5 * x * (1.0 + (root * (x + 0.044715 * x * x * x)).tanh())
}

fn selu(x: f64) -> f64 {
    const SCALE: f64 = 1.0507009873554804934193349852946;
    const ALPHA: f64 = 1.6732632423543772848170429916717;
    SCALE * if x > 0.0 { x } else { ALPHA * x.exp_m1() }
}

fn huber(r: f64, delta: f64) -> f64 {
    let r = r.abs();
    if r <= delta {
        0.5 * r * r
    } else {
        delta * (r - 0.5 * delta)
    }
}

fn kl_term(log_prediction: f64, target: f64) -> f64 {
    let t = target.abs() + 1e-6;
    t * (t.ln() + log_prediction.abs())
}

fn unary(call: &Call<'_>, function: impl Fn(f64) -> f64) -> Answers {
    let values = call.input(0)?.values.iter().map(|&x| function(x));
    Ok(vec![Answer::exact(values.collect())])
}

fn binary(call: &Call<'_>, function: impl Fn(f64, f64) -> f64) -> Answers {
    let (x, y) = (call.input(0)?, call.input(1)?);
    if x.shape != y.shape {
        return Err(Error::Shape);
    }
    let values = x
        .values
        .iter()
        .zip(&y.values)
        .map(|(&x, &y)| function(x, y));
    Ok(vec![Answer::exact(values.collect())])
}

/// A matrix, and a vector that every row of it meets.
fn per_column(call: &Call<'_>, function: impl Fn(f64, f64) -> f64) -> Answers {
    let (x, v) = (call.input(0)?, call.input(1)?);
    let columns = x.columns()?;
    let values = x
        .values
        .iter()
        .enumerate()
        .map(|(i, &x)| function(x, v.at(i % columns)));
    Ok(vec![Answer::exact(values.collect())])
}

/// Rows of a table, by their indices; indices outside the table are moved to its ends.
fn embedding(call: &Call<'_>) -> Answers {
    let (indices, table) = (call.input(0)?, call.input(1)?);
    let [count, width] = table.extents()?;
    let row = |index: &f64| {
        let row = index.clamp(0.0, count.saturating_sub(1) as f64) as usize;
        let column = move |j: usize| Tensor::at(table, row * width + j);
        (0..width).map(column)
    };
    Ok(vec![Answer::exact(
        indices.values.iter().flat_map(row).collect(),
    )])
}
