//! Inputs that separate right from nearly right.
//!
//! Numbers around zero are kind: a variance from the mean of squares, an exponential without shift, a mean that lost half
//! of its bits all look right. What an operation is most often wrong about is written here once, by operation, as data.

use crate::formula::Sizes;
use crate::inputs::{self, Kind};
use crate::oracle::Tensor;
use crate::random::Random;
use crate::registry::{Case, CaseRole, Kernel, SizeUse, Values};

/// Operations of rows, or of columns, whose mean must not matter, with a mean that makes the usual short cuts fail.
///
/// The variance as a difference of two large numbers loses `mean² / variance` units of the last place, which is
/// everything at 4000 standard deviations; the difference from the mean loses `mean / deviation` of them.
const SHIFTED: &[(&str, f64)] = &[
    ("layer_norm", 4000.0),
    ("add_norm", 4000.0),
    ("batch_norm", 4000.0),
    ("instance_norm", 4000.0),
    ("group_norm", 4000.0),
    ("variance", 4000.0),
    // Beyond 88.7 an exponential is infinite.
    ("softmax", 300.0),
    ("masked_softmax", 300.0),
    ("log_softmax", 300.0),
    ("logsumexp", 300.0),
    ("cross_entropy_loss", 300.0),
    ("log_softmax_cross_entropy", 300.0),
];

/// Scalars below this are there to keep a divisor from zero.
const SMALL: f64 = 1e-3;

/// Types of 16 bits have no room for a large mean and a deviation.
const SHIFT_OF_16_BITS: f64 = 64.0;

/// Operations that take exponentials of products of the rows of their first two inputs. All of a row's products are
/// moved by this much.
const SHIFTED_PRODUCTS: &[(&str, f64)] = &[
    ("attention_scores", 120.0),
    ("scaled_dot_product", 120.0),
    ("softmax_attention", 120.0),
];

/// How a few numbers of a row stand out.
#[derive(Clone, Copy, Debug)]
enum Peak {
    /// So many times as large.
    Times(f64),
    /// So much larger: for exponentials.
    Plus(f64),
}

/// Operations that add up a row, and peaks that then carry the sum. Each thread adds up a few terms only; a sum it keeps
/// in half precision is lost among hundreds of others, unless its terms are most of the result.
const PEAKED: &[(&str, Peak)] = &[
    ("dot_product", Peak::Times(1000.0)),
    ("cosine_similarity", Peak::Times(1000.0)),
    ("manhattan_similarity", Peak::Times(1000.0)),
    ("triplet_margin_loss", Peak::Times(1000.0)),
    ("mse_loss", Peak::Times(1000.0)),
    ("l1_norm", Peak::Times(1000.0)),
    ("l2_norm", Peak::Times(1000.0)),
    ("frobenius_norm", Peak::Times(1000.0)),
    ("layer_norm", Peak::Times(1000.0)),
    ("rms_norm", Peak::Times(1000.0)),
    ("variance", Peak::Times(1000.0)),
    ("softmax", Peak::Plus(6.0)),
    ("log_softmax", Peak::Plus(6.0)),
    ("logsumexp", Peak::Plus(6.0)),
    ("cross_entropy_loss", Peak::Plus(6.0)),
    ("log_softmax_cross_entropy", Peak::Plus(6.0)),
];

/// One number in so many is a peak.
const PEAK_IN: u64 = 32;

/// The kinds of inputs, besides usual ones, that a case must be tried with.
pub fn kinds(case: &Case) -> Vec<Kind> {
    let mut kinds = vec![Kind::Ties];
    if shift(case).is_some() || product_shift(case).is_some() {
        kinds.push(Kind::Shifted);
    }
    if peak(case).is_some() {
        kinds.push(Kind::Peaked);
    }
    if inputs::has_extremes(case) {
        kinds.push(Kind::Extreme);
    }
    kinds
}

/// By how much the numbers of every input are moved.
fn shift(case: &Case) -> Option<f64> {
    let (_, shift) = SHIFTED.iter().find(|(oracle, _)| case.oracle.is(oracle))?;
    Some(match case.dtype.size() {
        2 => shift.min(SHIFT_OF_16_BITS),
        _ => *shift,
    })
}

fn product_shift(case: &Case) -> Option<f64> {
    let mut known = SHIFTED_PRODUCTS.iter();
    known
        .find(|(oracle, _)| case.oracle.is(oracle))
        .map(|(_, shift)| *shift)
}

fn peak(case: &Case) -> Option<Peak> {
    let mut known = PEAKED.iter();
    known
        .find(|(oracle, _)| case.oracle.is(oracle))
        .map(|(_, peak)| *peak)
}

/// Turns usual inputs into those of a kind. Numbers are not rounded to their types yet.
pub(crate) fn change(case: &Case, kind: Kind, tensors: &mut [Tensor], random: &mut Random) {
    match kind {
        Kind::Usual | Kind::Extreme => {}
        Kind::Ties => ties(case, tensors, random),
        Kind::Shifted => shifted(case, tensors, random),
        Kind::Peaked => peaked(case, tensors, random),
    }
}

fn peaked(case: &Case, tensors: &mut [Tensor], random: &mut Random) {
    let Some(peak) = peak(case) else { return };
    for ((values, _), tensor) in kinds_of_values(case).zip(tensors) {
        if values != Values::Normal {
            continue;
        }
        for number in &mut tensor.values {
            if random.below(PEAK_IN) == 0 {
                *number = match peak {
                    Peak::Times(factor) => *number * factor,
                    Peak::Plus(more) => *number + more,
                };
            }
        }
    }
}

/// A few multiples of the scale, so that every row holds each of them several times. The one of a row of zeros is where
/// loops end and begin.
fn ties(case: &Case, tensors: &mut [Tensor], random: &mut Random) {
    for ((values, scale), tensor) in kinds_of_values(case).zip(tensors) {
        if matches!(values, Values::Normal | Values::Uniform | Values::Distinct) {
            for number in &mut tensor.values {
                *number = (random.below(4) as f64 - 2.0) * scale;
            }
        }
        if values == Values::OneHot {
            let columns = tensor.shape.last().copied().unwrap_or(1).max(1);
            for (row, numbers) in tensor.values.chunks_exact_mut(columns).enumerate() {
                let hot = if row % 2 == 0 { columns - 1 } else { 0 };
                numbers.fill(0.0);
                numbers.get_mut(hot).into_iter().for_each(|one| *one = 1.0);
            }
        }
    }
}

fn shifted(case: &Case, tensors: &mut [Tensor], random: &mut Random) {
    if let Some(by) = shift(case) {
        // One sign for all: the sum of two inputs must be far from zero too.
        let by = if random.below(2) == 0 { by } else { -by };
        for ((values, _), tensor) in kinds_of_values(case).zip(&mut *tensors) {
            if values == Values::Normal {
                tensor.values.iter_mut().for_each(|number| *number += by);
            }
        }
    }
    if let Some(by) = product_shift(case) {
        for tensor in tensors.iter_mut().take(2) {
            let columns = tensor.shape.last().copied().unwrap_or(1).max(1);
            let first = (by * (columns as f64).sqrt()).sqrt();
            for row in tensor.values.chunks_exact_mut(columns) {
                row.first_mut().into_iter().for_each(|it| *it = first);
            }
        }
    }
}

/// What the numbers of each input are like, and their scale.
fn kinds_of_values(case: &Case) -> impl Iterator<Item = (Values, f64)> {
    case.arguments
        .iter()
        .filter_map(|argument| match argument.role {
            CaseRole::Input { values, scale, .. } => Some((values, scale)),
            _ => None,
        })
}

/// The same case with other values for its floating-point scalars: whoever wrote the usual ones into a kernel is found
/// out. `None` if it has none.
pub fn vary_scalars(case: &Case, random: &mut Random) -> Option<Case> {
    let mut varied = case.clone();
    let mut any = false;
    for argument in &mut varied.arguments {
        if let CaseRole::Scalar { value } = &mut argument.role
            && argument.dtype.is_float()
        {
            // Never nearer than a quarter to what it was. What only keeps a divisor from zero must be larger to matter.
            let factor = 1.25 + 0.5 * random.unit();
            let factor = match random.below(2) {
                _ if value.abs() < SMALL => factor * 1e4,
                0 => factor,
                _ => 1.0 / factor,
            };
            *value = argument.dtype.round(*value * factor);
            any = true;
        }
    }
    any.then_some(varied)
}

/// Names of extents that may be anything. Others (windows, heads, groups) must fit each other in ways that formulas do
/// not say.
const FREE: &[&str] = &[
    "rows",
    "cols",
    "n",
    "m",
    "k",
    "batch",
    "length",
    "depth",
    "height",
    "width",
    "count",
    "vocabulary",
    "classes",
];

/// Sizes of a kernel drawn at random, between the smallest and the largest of its size sets that are not for times.
/// Sizes that divide, or are divided, and others that must fit each other stay those of one set.
pub fn random_sizes(kernel: &Kernel, random: &mut Random) -> Option<Sizes> {
    let sets: Vec<&Sizes> = kernel
        .sizes
        .iter()
        .filter(|set| set.use_ != SizeUse::Reference)
        .map(|set| &set.sizes)
        .collect();
    let start = *sets.get(random.below(sets.len().max(1) as u64) as usize)?;
    let mut sizes = start.clone();
    for (name, size) in &mut sizes {
        let all = || sets.iter().filter_map(|set| set.get(name).copied());
        let (Some(low), Some(high)) = (all().min(), all().max()) else {
            continue;
        };
        if high > low && FREE.contains(&name.as_str()) && !is_divided(kernel, name) {
            *size = low + random.below(high - low + 1);
        }
    }
    Some(sizes)
}

/// Returns true if a size is part of a formula with a quotient among the derived sizes or the shapes.
fn is_divided(kernel: &Kernel, name: &str) -> bool {
    let words = |text: &str| {
        text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
            .any(|word| word == name)
    };
    let divides = |text: &str| text.contains(['/', '%']) && words(text);
    let derived = kernel.derived.iter().map(|(_, formula)| formula.text());
    let shapes = kernel.arguments.iter().flat_map(|argument| {
        use crate::registry::Role;
        match &argument.role {
            Role::Input { shape, .. } | Role::Output { shape } | Role::Scratch { shape } => {
                shape.as_slice()
            }
            Role::Scalar { .. } => &[],
        }
    });
    derived
        .chain(shapes.map(|formula| formula.text()))
        .any(divides)
}
