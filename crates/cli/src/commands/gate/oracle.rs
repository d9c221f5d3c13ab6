//! Compares what a run left with what an oracle of the configuration says.
//!
//! Names in an oracle are those of the kernel's arguments: buffers are arrays with the shapes of the launch, values of
//! `--bytes` are numbers, sizes have their names. What a buffer that is written held before is `NAME_before`.

use super::execute::Ran;
use super::tree::Tree;
use assay_bench::gate::Comparison;
use assay_bench::oracle::expression;
use assay_bench::oracle::launched::{Launched, Oracle as Judge, definition};
use assay_bench::registry::Tolerance;
use assay_gate::{Found, Oracle};
use assay_launch::{Sizes, describe};

/// Why an oracle has no answer.
struct Why(String);

impl From<expression::Error> for Why {
    fn from(error: expression::Error) -> Why {
        Why(error.to_string())
    }
}

/// An oracle that can be asked.
pub(super) struct Ready(Judge);

impl Ready {
    /// The oracle of a configuration, whose program is a file of a tree.
    pub(super) fn new(oracle: &Oracle, programs: &Tree) -> Result<Ready, String> {
        let (text, relative, absolute) = oracle.parts();
        let read = |name: &str| {
            let text = programs.text(name);
            text.ok_or_else(|| Why(format!("there is no file {name}")))
        };
        Ok(Ready(Judge {
            definition: definition(text, read).map_err(|Why(why)| why)?,
            tolerance: Tolerance {
                relative,
                absolute,
                reason: "assay.toml".to_owned(),
            },
        }))
    }

    /// What is wrong with a run's results.
    pub(super) fn judge(&self, ran: &Ran) -> Result<Vec<Found>, String> {
        let launched = Launched {
            function: &ran.facts.function,
            arguments: &ran.facts.arguments,
            inputs: &ran.inputs,
            sizes: &ran.sizes,
        };
        let judged = self.0.judge(&launched, &ran.after)?.into_iter();
        let wrong = judged.filter(|output| !output.comparison.is_right());
        Ok(wrong
            .map(|output| {
                let name = format!("buffer {} (\"{}\")", output.index, output.name);
                wrong_in(&name, &output.comparison, &ran.sizes)
            })
            .collect())
    }
}

/// Returns true if an oracle is the name of a program, whose text a repository has.
pub(super) fn is_program(oracle: &Oracle) -> bool {
    let (text, ..) = oracle.parts();
    text.ends_with(".py")
}

fn wrong_in(output: &str, compared: &Comparison, sizes: &Sizes) -> Found {
    let at = match sizes.is_empty() {
        true => String::new(),
        false => format!(" at {}", describe(sizes)),
    };
    let worst = compared.worst.as_ref().map_or(String::new(), |worst| {
        format!(
            "; element {} is {} and should be {} (allowed to be off by {:.2e})",
            worst.place, worst.got, worst.expected, worst.allowed
        )
    });
    Found {
        kind: "wrong".to_owned(),
        warning: false,
        message: format!(
            "the oracle says otherwise{at}: {} of {} elements of {output} are wrong{worst}",
            compared.wrong, compared.elements
        ),
        place: None,
    }
}
