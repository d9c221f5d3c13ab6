//! Random inputs of a case: indices are indices, masks are masks.

use crate::Dtype;
use crate::buffers;
use crate::oracle::Tensor;
use crate::random::Random;
use crate::registry::{Case, CaseBinding, CasePass, CaseRole};
use assay_launch::element::Element;
use assay_launch::fill::Fill;
use assay_launch::series::Series;
use assay_launch::{Buffer, Inputs, Start};

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
            shape, extremes, ..
        } = &argument.role
        else {
            continue;
        };
        let place = tensors.len() as u64;
        let Some(series) = Series::of(argument, seed, place) else {
            continue;
        };
        let mut numbers = series.numbers(0..argument.elements() as u64);
        let mut random = Random::of(seed, place);
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

/// What a dispatch of a case binds before anything ran, with usual inputs of a seed; buffers are made where they are touched.
pub fn bound(case: &Case, pass: &CasePass, seed: u64) -> Inputs {
    let mut inputs = Inputs::default();
    for (index, binding) in (0..).zip(&pass.bindings) {
        let place = match binding {
            CaseBinding::Number(number) => {
                inputs.bytes.push((index, number.to_le_bytes().to_vec()));
                continue;
            }
            CaseBinding::Argument(place) => *place,
        };
        let Some(argument) = case.arguments.get(place) else {
            continue;
        };
        let (CaseRole::Input { shape, .. }
        | CaseRole::Output { shape }
        | CaseRole::Scratch { shape }) = &argument.role
        else {
            if let CaseRole::Scalar { value } = argument.role {
                inputs.bytes.push((index, argument.dtype.encode(&[value])));
            }
            continue;
        };
        let earlier = case.arguments.iter().take(place);
        let earlier = earlier.filter(|it| matches!(it.role, CaseRole::Input { .. }));
        let series = Series::of(argument, seed, earlier.count() as u64);
        inputs.buffers.push(Buffer {
            index,
            element: Element::of(argument.dtype),
            shape: shape.iter().map(|extent| *extent as u64).collect(),
            start: Start::Fill(series.map_or(buffers::UNWRITTEN_FILL, Fill::Series)),
            is_output: series.is_none(),
            starts_as_zeros: false,
            is_unwritten: false,
        });
    }
    inputs.memory = (0..).zip(pass.threadgroup_memory.iter().copied()).collect();
    inputs
}

/// The seed of inputs that nobody asked for another of.
pub const USUAL_SEED: u64 = 1;

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
