//! An oracle for any launch: what the outputs of a kernel should be, by the kernel's own names.
//!
//! Buffers are arrays with the shapes that the launch writes, values of one number are numbers, sizes have their names. What
//! an output held before, unless it is only written over, is `NAME_before`.

use super::{Definition, Expression, Language, Program, Tensor, answers, expression};
use crate::Dtype;
use crate::gate::Comparison;
use crate::registry::{Case, CaseArgument, CaseRole, SizeUse, Tolerance, Values};
use assay_launch::element::Element;
use assay_launch::{Buffer, Inputs, Sizes, describe};
use assay_ssa::{Argument, Binding};
use std::sync::Arc;

/// What says what a launch should leave in its buffers.
#[derive(Clone, Debug)]
pub struct Oracle {
    /// What says so.
    pub definition: Definition,
    /// How far results may be off.
    pub tolerance: Tolerance,
}

/// A launch that ran, or will.
#[derive(Clone, Copy, Debug)]
pub struct Launched<'a> {
    /// The kernel's name.
    pub function: &'a str,
    /// Its arguments.
    pub arguments: &'a [Argument],
    /// What was bound.
    pub inputs: &'a Inputs,
    /// At which sizes.
    pub sizes: &'a Sizes,
}

/// An output beside what it should be.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The index of its buffer.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// How it compares.
    pub comparison: Comparison,
}

/// What an output should be.
#[derive(Clone, Debug)]
pub struct Expected {
    /// The index of its buffer.
    pub index: u32,
    /// The type of its elements.
    pub dtype: Dtype,
    /// Its name.
    pub name: String,
    /// The numbers.
    pub answer: super::Answer,
}

/// The oracle that a text is: an expression, or the name of a Python file.
pub fn definition<E: From<expression::Error>>(
    text: &str,
    read: impl FnOnce(&str) -> Result<String, E>,
) -> Result<Definition, E> {
    if text.ends_with(".py") {
        let program = Program::new(Language::Python, text, &read(text)?);
        return Ok(Definition::Program(Arc::new(program)));
    }
    let expression = Expression::parse(text)?;
    Ok(Definition::Expression(Arc::new(expression)))
}

impl Oracle {
    /// Whether what a run left in its buffers is right, output by output.
    pub fn judge(
        &self,
        launched: &Launched<'_>,
        after: &[(u32, Vec<u8>)],
    ) -> Result<Vec<Judged>, String> {
        let judged = self.expected(launched)?.into_iter().map(|output| {
            let bytes = after.iter().find(|(known, _)| *known == output.index);
            let bytes = bytes.map_or(&[][..], |(_, bytes)| bytes.as_slice());
            Judged {
                index: output.index,
                comparison: Comparison::new(bytes, output.dtype, &output.answer, &self.tolerance),
                name: output.name,
            }
        });
        Ok(judged.collect())
    }

    /// What the outputs of a launch should be.
    pub fn expected(&self, launched: &Launched<'_>) -> Result<Vec<Expected>, String> {
        let (case, tensors, outputs) = self.case(launched)?;
        let answers = answers(&case, &tensors).map_err(|error| error.to_string())?;
        let expected = outputs.into_iter().zip(answers).map(|(output, answer)| {
            let (index, dtype, name) = output;
            Expected {
                index,
                dtype,
                name,
                answer,
            }
        });
        Ok(expected.collect())
    }

    /// Refuses what the oracle cannot say anything about, without computing anything.
    pub fn check(&self, launched: &Launched<'_>) -> Result<(), String> {
        self.case(launched).map(|_| ())
    }

    /// The outputs of a launch: what an expression defines, or what a launch says is one.
    fn outputs<'i>(&self, launched: &Launched<'i>) -> Result<Vec<&'i Buffer>, String> {
        let Definition::Expression(expression) = &self.definition else {
            let outputs = launched.inputs.outputs();
            return match outputs.is_empty() {
                true => Err("the launch has no output".to_owned()),
                false => Ok(outputs),
            };
        };
        let buffers = launched.inputs.buffers.iter();
        let outputs: Vec<&Buffer> = buffers
            .filter(|buffer| expression.defines(launched.name(buffer.index)))
            .collect();
        if outputs.is_empty() {
            let names = launched.inputs.buffers.iter();
            let names: Vec<&str> = names.map(|it| launched.name(it.index)).collect();
            return Err(format!(
                "it defines none of the buffers {}",
                names.join(", ")
            ));
        }
        Ok(outputs)
    }

    /// The launch as a case of a registry: arguments with names, inputs as numbers, outputs with index and type.
    #[allow(clippy::type_complexity, reason = "three lists that are made together")]
    fn case(
        &self,
        launched: &Launched<'_>,
    ) -> Result<(Case, Vec<Tensor>, Vec<(u32, Dtype, String)>), String> {
        let outputs = self.outputs(launched)?;
        let mut arguments = Vec::new();
        let mut tensors = Vec::new();
        for buffer in &launched.inputs.buffers {
            let is_output = outputs.iter().any(|output| output.index == buffer.index);
            let name = launched.name(buffer.index);
            let Some(dtype) = dtype(buffer.element).filter(|_| !name.is_empty()) else {
                continue;
            };
            if is_output && self.is_only_written(buffer, name) {
                continue;
            }
            let shape = self.shape(buffer, name);
            let tensor = Tensor::new(shape.clone(), dtype.decode(&buffer.data()));
            tensors.push(tensor.map_err(|error| error.to_string())?);
            arguments.push(CaseArgument {
                name: match is_output {
                    true => format!("{name}_before"),
                    false => name.to_owned(),
                },
                dtype,
                role: CaseRole::Input {
                    shape,
                    values: Values::Normal,
                    below: 0,
                    scale: 1.0,
                    extremes: Vec::new(),
                },
            });
        }
        let mut kept = Vec::new();
        for output in &outputs {
            let (name, element) = (launched.name(output.index), output.element);
            let dtype = dtype(element).ok_or_else(|| {
                format!(
                    "{name} holds {}; oracles compare f32, f16, bf16, u32 and i32",
                    element.name
                )
            })?;
            kept.push((output.index, dtype, name.to_owned()));
            arguments.push(CaseArgument {
                name: name.to_owned(),
                dtype,
                role: CaseRole::Output {
                    shape: self.shape(output, name),
                },
            });
        }
        arguments.extend(launched.scalars());
        let case = Case {
            kernel: launched.function.to_owned(),
            oracle: self.definition.clone(),
            size_set: describe(launched.sizes),
            use_: SizeUse::Quick,
            dtype: Dtype::F32,
            sizes: launched.sizes.clone(),
            arguments,
            constants: Vec::new(),
            passes: Vec::new(),
            tolerance: self.tolerance.clone(),
            flops: 0,
            bytes: 0,
        };
        if let Definition::Expression(expression) = &self.definition {
            expression.check(&case).map_err(|error| error.to_string())?;
        }
        Ok((case, tensors, kept))
    }

    /// Returns true if nothing depends on what an output held before: it is zeros that no expression looks at.
    fn is_only_written(&self, buffer: &Buffer, name: &str) -> bool {
        let looked_at = match &self.definition {
            Definition::Expression(expression) => {
                expression.text().contains(&format!("{name}_before"))
            }
            _ => false,
        };
        buffer.starts_as_zeros && !looked_at
    }

    /// The extents of a buffer; flat where an expression gives it one index.
    fn shape(&self, buffer: &Buffer, name: &str) -> Vec<usize> {
        let shape: Vec<usize> = buffer.shape.iter().map(|n| *n as usize).collect();
        let is_flat = match &self.definition {
            Definition::Expression(expression) => {
                let before = format!("{name}_before");
                let rank = expression.rank(name).or_else(|| expression.rank(&before));
                rank == Some(1)
            }
            _ => false,
        };
        match is_flat {
            true => vec![shape.iter().product()],
            false => shape,
        }
    }
}

impl<'a> Launched<'a> {
    /// The name of a buffer; none of one that the kernel does not have.
    fn name(&self, index: u32) -> &'a str {
        let mut arguments = self.arguments.iter();
        let argument = arguments.find(|it| it.binding == Binding::Buffer(index));
        argument.map_or("", |argument| argument.name.as_str())
    }

    /// Values that are one number.
    fn scalars(&self) -> impl Iterator<Item = CaseArgument> + '_ {
        self.inputs.bytes.iter().filter_map(|(index, bytes)| {
            let mut arguments = self.arguments.iter();
            let argument = arguments.find(|it| it.binding == Binding::Buffer(*index))?;
            let dtype = dtype(Element::in_metal(&argument.type_name)?)?;
            let value = dtype.decode(bytes).first().copied()?;
            (bytes.len() == dtype.size()).then(|| CaseArgument {
                name: argument.name.clone(),
                dtype,
                role: CaseRole::Scalar { value },
            })
        })
    }
}

fn dtype(element: &Element) -> Option<Dtype> {
    Dtype::named(element.name)
}
