//! Whether the results of timed runs are right.
//!
//! Timed runs give the bytes that untimed runs over the same inputs gave ([`super::rotation`] sees to that), so it is
//! enough to compare those. Two variants of the inputs are compared with the oracle, in every element where the oracle is
//! quick enough; of all others every element must be written, and finite.

use super::rotation::Rotation;
use crate::gate::{Comparison, Coverage};
use crate::oracle;
use crate::random::Random;
use crate::registry::{Case, CaseRole};

/// Variants of the inputs that are compared with the oracle.
const COMPARED: usize = 2;
/// Above so many operations one variant is enough: then the oracle takes as long as the times.
const MANY_OPERATIONS: u64 = 50_000_000;

/// What was found about the results of timed runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Examined {
    /// Elements that were compared with the oracle.
    pub compared: u64,
    /// Elements that timed runs wrote, of all variants of the inputs.
    pub elements: u64,
    /// The largest error, relative to the size of what went into the element.
    pub max_relative: f64,
    /// What is wrong; nothing, if all is right.
    pub wrong: Option<String>,
}

impl Examined {
    /// Returns true if elements were compared and nothing is wrong.
    pub fn is_right(&self) -> bool {
        self.compared > 0 && self.wrong.is_none()
    }

    /// The part of all elements that was compared.
    pub fn coverage(&self) -> f64 {
        self.compared as f64 / self.elements.max(1) as f64
    }
}

/// Compares results, by variant of the inputs, with what is right.
pub(super) fn examine(
    case: &Case,
    rotation: &Rotation<'_>,
    results: &[Vec<Vec<u8>>],
    random: &mut Random,
) -> Examined {
    let mut examined = Examined::default();
    let mut order: Vec<usize> = (0..results.len()).collect();
    random.shuffle(&mut order);
    let compared = match case.flops > MANY_OPERATIONS {
        true => 1,
        false => COMPARED,
    };
    for (number, variant) in order.into_iter().enumerate() {
        let coverage = match number < compared {
            true => Coverage::draw(case, random),
            false => Coverage::NONE,
        };
        let Some(outputs) = results.get(variant) else {
            continue;
        };
        let answers = match coverage.is_none() {
            true => Ok(empty(case)),
            false => {
                let inputs = rotation.inputs(variant);
                oracle::answers_at(case, &inputs, coverage.rows())
            }
        };
        match answers {
            Ok(answers) => examined.add(case, outputs, &answers, &coverage),
            Err(error) => examined.wrong = Some(error.to_string()),
        }
    }
    examined
}

/// Answers that say nothing, of the right lengths.
fn empty(case: &Case) -> Vec<oracle::Answer> {
    let outputs = case
        .arguments
        .iter()
        .filter(|argument| matches!(argument.role, CaseRole::Output { .. }));
    let nothing = outputs.map(|argument| oracle::Answer {
        values: vec![0.0; argument.elements()],
        scale: vec![0.0; argument.elements()],
    });
    nothing.collect()
}

impl Examined {
    fn add(
        &mut self,
        case: &Case,
        outputs: &[Vec<u8>],
        answers: &[oracle::Answer],
        coverage: &Coverage,
    ) {
        let arguments = case
            .arguments
            .iter()
            .filter(|argument| matches!(argument.role, CaseRole::Output { .. }));
        for ((argument, bytes), answer) in arguments.zip(outputs).zip(answers) {
            let comparison =
                Comparison::covering(bytes, argument.dtype, answer, &case.tolerance, coverage);
            self.elements += comparison.elements as u64;
            self.compared += comparison.compared as u64;
            self.max_relative = self.max_relative.max(comparison.max_relative);
            if !comparison.is_right() {
                self.wrong = Some(format!("\"{}\": {comparison}", argument.name));
            }
        }
    }
}
