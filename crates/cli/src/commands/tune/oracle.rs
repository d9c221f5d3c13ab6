//! An oracle for a file's kernel: what its outputs should be, by an expression, NumPy or any program.
//!
//! Buffers are called as the kernel calls them. Those that start as zeros are outputs, the others inputs; a shape `R*C` has
//! two axes.

use crate::failure::Failure;
use crate::input;
use assay_bench::Dtype;
use assay_bench::gate::Comparison;
use assay_bench::oracle::expression::Expression;
use assay_bench::oracle::{self, Definition, Language, Program, Tensor};
use assay_bench::registry::{Case, CaseArgument, CaseRole, SizeUse, Tolerance, Values};
use assay_launch::{Formula, Sizes};
use assay_tune::workbench::Input;
use std::path::Path;
use std::sync::Arc;

/// How far results may be off, relative to what went into them.
const RELATIVE: f64 = 1e-5;

/// What says what is right, and what its arguments are called.
pub(super) struct FileOracle {
    definition: Definition,
    names: Vec<(u32, String)>,
    /// Contents as the launch writes them, by index.
    written: Vec<(u32, String)>,
    relative: f64,
}

impl FileOracle {
    /// An oracle as the command line writes it: `y[i] = 2 * x[i]`, a Python file, or a command.
    pub(super) fn new(
        text: &str,
        names: Vec<(u32, String)>,
        written: Vec<(u32, String)>,
        tolerance: Option<f64>,
    ) -> Result<FileOracle, Failure> {
        let definition = if text.ends_with(".py") {
            let bytes = input::open(Path::new(text))?;
            let program = std::str::from_utf8(&bytes)
                .map_err(|_| Failure::input(format!("{text} is not text")))?;
            Definition::Program(Arc::new(Program::new(Language::Python, text, program)))
        } else if text.contains('=') {
            let expression = Expression::parse(text).map_err(|error| {
                Failure::usage(format!("--oracle: {error}"))
                    .advice("an expression is a line per output: y[r] = sum(k < C: x[r, k])")
            })?;
            Definition::Expression(Arc::new(expression))
        } else {
            Definition::Program(Arc::new(Program::new(Language::Shell, text, "")))
        };
        if !written.iter().any(|(_, contents)| is_output(contents)) {
            return Err(Failure::usage("--oracle: the launch has no output")
                .advice("a buffer that starts as zeros is one: --buffer 0=zeros:f32:N"));
        }
        Ok(FileOracle {
            definition,
            names,
            written,
            relative: tolerance.unwrap_or(RELATIVE),
        })
    }

    /// The largest error of what a run left, in units of what is allowed.
    pub(super) fn judge(
        &self,
        sizes: &Sizes,
        inputs: &[(u32, Input)],
        buffers: &[(u32, Vec<u8>)],
    ) -> Result<f64, String> {
        let (case, tensors, outputs) = self.case(sizes, inputs)?;
        let answers = oracle::answers(&case, &tensors).map_err(|error| error.to_string())?;
        let mut worst = 0.0f64;
        for ((index, dtype, name), answer) in outputs.iter().zip(&answers) {
            let found = buffers.iter().find(|(known, _)| known == index);
            let bytes = found.map_or(&[][..], |(_, bytes)| bytes.as_slice());
            let found = Comparison::new(bytes, *dtype, answer, &case.tolerance);
            if !found.is_right() {
                return Err(format!("output \"{name}\": {found}"));
            }
            if let Some(element) = found.worst.filter(|element| element.allowed > 0.0) {
                worst = worst.max((element.got - element.expected).abs() / element.allowed);
            }
        }
        Ok(worst)
    }

    /// The launch as a case of a registry: arguments with names, inputs as numbers, outputs.
    #[allow(clippy::type_complexity, reason = "three lists that are made together")]
    fn case(
        &self,
        sizes: &Sizes,
        inputs: &[(u32, Input)],
    ) -> Result<(Case, Vec<Tensor>, Vec<(u32, Dtype, String)>), String> {
        let mut arguments = Vec::new();
        let mut tensors = Vec::new();
        let mut outputs = Vec::new();
        for (index, input) in inputs {
            let Some((_, name)) = self.names.iter().find(|(known, _)| known == index) else {
                continue;
            };
            let contents = self.written.iter().find(|(known, _)| known == index);
            let contents = contents.map_or("", |(_, text)| text.as_str());
            let dtype = dtype(input, contents)
                .ok_or_else(|| format!("\"{name}\" has a type that oracles do not know"))?;
            let role = match input {
                Input::Bytes(bytes) => CaseRole::Scalar {
                    value: dtype.decode(bytes).first().copied().unwrap_or(0.0),
                },
                Input::Buffer(_, data) => {
                    let shape = shape(contents, sizes, data.len() / dtype.size());
                    if is_output(contents) {
                        outputs.push((*index, dtype, name.clone()));
                        CaseRole::Output { shape }
                    } else {
                        let tensor = Tensor::new(shape.clone(), dtype.decode(data));
                        tensors.push(tensor.map_err(|error| error.to_string())?);
                        CaseRole::Input {
                            shape,
                            values: Values::Normal,
                            below: 0,
                            scale: 1.0,
                            extremes: Vec::new(),
                        }
                    }
                }
            };
            arguments.push(CaseArgument {
                name: name.clone(),
                dtype,
                role,
            });
        }
        let case = Case {
            kernel: "kernel".to_owned(),
            oracle: self.definition.clone(),
            size_set: String::new(),
            use_: SizeUse::Quick,
            dtype: Dtype::F32,
            sizes: sizes.clone(),
            arguments,
            constants: Vec::new(),
            passes: Vec::new(),
            tolerance: Tolerance {
                relative: self.relative,
                absolute: 0.0,
                reason: String::new(),
            },
            flops: 0,
            bytes: 0,
        };
        if let Definition::Expression(expression) = &self.definition {
            expression.check(&case).map_err(|error| error.to_string())?;
        }
        Ok((case, tensors, outputs))
    }
}

fn is_output(contents: &str) -> bool {
    contents.starts_with("zeros:")
}

fn dtype(input: &Input, contents: &str) -> Option<Dtype> {
    let name = match input {
        Input::Buffer(element, _) => element.name,
        Input::Bytes(_) => contents.split(':').next()?,
    };
    Dtype::named(name)
}

/// The axes of a buffer: factors of its shape, if they multiply to its length.
fn shape(contents: &str, sizes: &Sizes, length: usize) -> Vec<usize> {
    let text = contents.split(':').nth(2).unwrap_or_default();
    let factors = text.split(['*', 'x']).map(|factor| {
        let formula = Formula::parse(factor.trim()).ok()?;
        formula.integer(sizes).ok().map(|value| value as usize)
    });
    let factors: Option<Vec<usize>> = factors.collect();
    factors
        .filter(|factors| factors.iter().product::<usize>() == length)
        .unwrap_or_else(|| vec![length])
}

#[cfg(test)]
mod tests {
    use super::shape;
    use assay_launch::Sizes;

    #[test]
    fn factors_of_a_shape_are_axes() {
        let sizes = Sizes::from([("R".to_owned(), 3), ("C".to_owned(), 4)]);
        assert_eq!(shape("zeros:f32:R*C", &sizes, 12), [3, 4]);
        assert_eq!(shape("zeros:f32:R*(C+1)", &sizes, 15), [3, 5]);
        assert_eq!(shape("zeros:f32:R+C", &sizes, 7), [7]);
        assert_eq!(shape("x.npy", &sizes, 9), [9]);
    }
}
