//! Random inputs of a case: indices are indices, masks are masks.

use crate::Dtype;
use crate::oracle::Tensor;
use crate::random::Random;
use crate::registry::{Case, CaseRole, Values};

/// Which numbers inputs are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// As the registry describes them.
    Usual,
    /// With the registry's extreme numbers among them.
    Extreme,
    /// Far from zero, where the operation must not care.
    Shifted,
    /// Few different numbers, so that many are equal.
    Ties,
    /// A few numbers that outweigh all others.
    Peaked,
}

impl Kind {
    /// The word in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Usual => "usual",
            Self::Extreme => "extreme",
            Self::Shifted => "shifted",
            Self::Ties => "tied",
            Self::Peaked => "peaked",
        }
    }
}

/// The inputs of a case, in order, rounded to their types. The same seed gives the same numbers.
///
/// ```
/// use assay_bench::{Dtype, inputs::{self, Kind}, registry::{Case, Registry}};
/// let case = Case::new(Registry::embedded()?.kernel("embedding")?, "quick", Dtype::F32)?;
/// let inputs = inputs::random(&case, 1, Kind::Usual);
/// let rows = inputs[1].shape[0] as f64;
/// assert!(inputs[0].values.iter().all(|index| index.fract() == 0.0 && *index < rows));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn random(case: &Case, seed: u64, kind: Kind) -> Vec<Tensor> {
    let mut tensors = Vec::new();
    for argument in &case.arguments {
        let CaseRole::Input {
            shape,
            values,
            below,
            scale,
            extremes,
        } = &argument.role
        else {
            continue;
        };
        let mut random = Random::of(seed, tensors.len() as u64);
        let columns = shape.last().copied().unwrap_or(1).max(1);
        let elements = argument.elements();
        let mut numbers = Vec::with_capacity(elements);
        while numbers.len() < elements {
            row(*values, columns, *below, *scale, &mut random, &mut numbers);
        }
        if kind == Kind::Extreme && !extremes.is_empty() {
            sprinkle(&mut numbers, extremes, &mut random);
        }
        tensors.push(Tensor {
            shape: shape.clone(),
            values: numbers,
        });
    }
    let mut random = Random::of(seed, u64::from(u16::MAX));
    crate::adversary::change(case, kind, &mut tensors, &mut random);
    let inputs = case
        .arguments
        .iter()
        .filter(|argument| matches!(argument.role, CaseRole::Input { .. }));
    for (argument, tensor) in inputs.zip(&mut tensors) {
        for number in &mut tensor.values {
            *number = argument.dtype.round(*number);
        }
    }
    tensors
}

/// Whether any input of a case has extreme numbers.
pub fn has_extremes(case: &Case) -> bool {
    case.arguments.iter().any(|argument| {
        matches!(&argument.role, CaseRole::Input { extremes, .. } if !extremes.is_empty())
    })
}

/// The bytes of inputs, as a device gets them.
pub fn encode(tensor: &Tensor, dtype: Dtype) -> Vec<u8> {
    dtype.encode(&tensor.values)
}

/// Replaces every third number or so.
fn sprinkle(numbers: &mut [f64], extremes: &[f64], random: &mut Random) {
    for number in numbers {
        if random.below(3) == 0 {
            let place = random.below(extremes.len() as u64) as usize;
            *number = extremes.get(place).copied().unwrap_or(*number);
        }
    }
}

/// Appends one row.
fn row(
    values: Values,
    columns: usize,
    below: u64,
    scale: f64,
    random: &mut Random,
    out: &mut Vec<f64>,
) {
    let start = out.len();
    match values {
        Values::Normal => out.extend((0..columns).map(|_| random.normal() * scale)),
        Values::Uniform => out.extend((0..columns).map(|_| (2.0 * random.unit() - 1.0) * scale)),
        Values::Positive => {
            let least = 1.0 / 1024.0;
            out.extend((0..columns).map(|_| (random.normal().abs() * scale).max(least)));
        }
        Values::NearOne => out.extend((0..columns).map(|_| {
            let sign = if random.below(16) == 0 { -1.0 } else { 1.0 };
            sign * (1.0 + 0.02 * random.normal())
        })),
        Values::Index => out.extend((0..columns).map(|_| random.below(below) as f64)),
        Values::Mask => out.extend((0..columns).map(|_| random.below(2) as f64)),
        Values::AdditiveMask => {
            let masked = [0.0, f64::NEG_INFINITY];
            out.extend((0..columns).map(|_| masked[(random.bits() >> 63) as usize]));
            let open = start + random.below(columns as u64) as usize;
            out.get_mut(open).into_iter().for_each(|place| *place = 0.0);
        }
        Values::OneHot => {
            let hot = random.below(columns as u64) as usize;
            out.extend((0..columns).map(|column| if column == hot { 1.0 } else { 0.0 }));
        }
        Values::Sign => {
            out.extend((0..columns).map(|_| if random.below(2) == 0 { -1.0 } else { 1.0 }))
        }
        Values::Probability | Values::LogProbability => {
            let weights: Vec<f64> = (0..columns)
                .map(|_| (random.normal() * scale).exp())
                .collect();
            let total: f64 = weights.iter().sum();
            let log = values == Values::LogProbability;
            out.extend(weights.iter().map(|weight| {
                let probability = weight / total;
                if log { probability.ln() } else { probability }
            }));
        }
        Values::Distinct => {
            let mut places: Vec<usize> = (0..columns).collect();
            random.shuffle(&mut places);
            let middle = columns as f64 / 2.0;
            out.extend(
                places
                    .into_iter()
                    .map(|place| (place as f64 - middle) * scale),
            );
        }
    }
}
