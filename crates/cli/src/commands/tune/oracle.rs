//! An oracle for a file's kernel: what its outputs should be, by an expression, NumPy or any program.

use super::file::FileLaunch;
use crate::failure::Failure;
use assay_bench::oracle::launched::{self, Oracle};
use assay_bench::registry::Tolerance;
use assay_launch::{Inputs, Sizes};

/// How far results may be off, relative to what went into them.
const RELATIVE: f64 = 1e-5;

/// An oracle as the command line writes it: `y[i] = 2 * x[i]`, a Python file, or a command.
pub(super) fn oracle(
    text: &str,
    launch: &FileLaunch,
    tolerance: Option<f64>,
) -> Result<Oracle, Failure> {
    let definition = crate::oracle::parse(text)?;
    let sizes = launch.launched.launch.first_sizes()?;
    if launch.launched.inputs(&sizes)?.outputs().is_empty() {
        return Err(Failure::usage("--oracle: the launch has no output")
            .advice("a buffer that starts as zeros is one: --buffer 0=zeros:f32:N"));
    }
    Ok(Oracle {
        definition,
        tolerance: Tolerance {
            relative: tolerance.unwrap_or(RELATIVE),
            absolute: 0.0,
            reason: String::new(),
        },
    })
}

/// The largest error of what a run left, in units of what is allowed.
pub(super) fn judge(
    oracle: &Oracle,
    launch: &FileLaunch,
    sizes: &Sizes,
    inputs: &Inputs,
    after: &[(u32, Vec<u8>)],
) -> Result<f64, String> {
    let launched = launched::Launched {
        function: "kernel",
        arguments: &launch.launched.arguments,
        inputs,
        sizes,
    };
    let mut worst = 0.0f64;
    for output in oracle.judge(&launched, after)? {
        let found = output.comparison;
        if !found.is_right() {
            return Err(format!("output \"{}\": {found}", output.name));
        }
        if let Some(element) = found.worst.filter(|element| element.allowed > 0.0) {
            worst = worst.max((element.got - element.expected).abs() / element.allowed);
        }
    }
    Ok(worst)
}
