//! Compares what a run left with what an oracle of the configuration says.
//!
//! Names in an oracle are those of the kernel's arguments: buffers are arrays with the shapes of the launch, values of
//! `--bytes` are numbers, sizes have their names. What a buffer that is written held before is `NAME_before`.

use super::execute::{Buffer, Ran};
use super::tree::Tree;
use crate::launch::{self, Described};
use assay_bench::Dtype;
use assay_bench::gate::Comparison;
use assay_bench::oracle::expression::Expression;
use assay_bench::oracle::{self, Definition, Language, Program, Tensor};
use assay_bench::registry::{Case, CaseArgument, CaseRole, SizeUse, Tolerance};
use assay_device::ArgumentBinding;
use assay_gate::{Found, Oracle};
use assay_launch::element::Element;
use assay_launch::{Sizes, Values, contents, describe};
use std::path::Path;
use std::sync::Arc;

/// What is wrong with a run's results.
pub(super) fn judge(
    oracle: &Oracle,
    ran: &Ran,
    launch: &Described,
    here: &Tree,
) -> Result<Vec<Found>, String> {
    let (text, relative, absolute) = oracle.parts();
    let is_program = Path::new(text)
        .extension()
        .is_some_and(|extension| extension == "py");
    let definition = match is_program {
        true => {
            let source = here
                .text(text)
                .ok_or_else(|| format!("there is no file {text}"))?;
            Definition::Program(Arc::new(Program::new(Language::Python, text, &source)))
        }
        false => {
            let expression = Expression::parse(text).map_err(|error| error.to_string())?;
            Definition::Expression(Arc::new(expression))
        }
    };
    let outputs: Vec<&Buffer> = ran
        .buffers
        .iter()
        .filter(|buffer| match is_program {
            true => buffer.is_output,
            false => defines(text, &buffer.name),
        })
        .collect();
    if outputs.is_empty() {
        let names: Vec<&str> = ran
            .buffers
            .iter()
            .map(|buffer| buffer.name.as_str())
            .collect();
        return Err(format!(
            "it defines none of the buffers {}",
            names.join(", ")
        ));
    }
    let mut arguments = Vec::new();
    let mut inputs = Vec::new();
    for buffer in &ran.buffers {
        let is_output = outputs.iter().any(|output| output.index == buffer.index);
        let Some(dtype) = dtype(buffer.element) else {
            continue;
        };
        let shape = shape(buffer, launch, &ran.sizes)?;
        inputs.push(
            Tensor::new(shape.clone(), dtype.decode(&buffer.before)).map_err(|e| e.to_string())?,
        );
        arguments.push(CaseArgument {
            name: match is_output {
                true => format!("{}_before", buffer.name),
                false => buffer.name.clone(),
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
    for output in &outputs {
        arguments.push(CaseArgument {
            name: output.name.clone(),
            dtype: dtype(output.element).ok_or_else(|| {
                let (name, element) = (&output.name, output.element.name);
                format!("{name} holds {element}; oracles compare f32, f16, bf16, u32 and i32")
            })?,
            role: CaseRole::Output {
                shape: shape(output, launch, &ran.sizes)?,
            },
        });
    }
    arguments.extend(scalars(ran));
    let tolerance = Tolerance {
        relative,
        absolute,
        reason: "assay.toml".to_owned(),
    };
    let case = Case {
        kernel: ran.facts.function.clone(),
        oracle: definition,
        size_set: describe(&ran.sizes),
        use_: SizeUse::Quick,
        dtype: Dtype::F32,
        sizes: ran.sizes.clone(),
        arguments,
        constants: Vec::new(),
        passes: Vec::new(),
        tolerance: tolerance.clone(),
        flops: 0,
        bytes: 0,
    };
    let answers = oracle::answers(&case, &inputs).map_err(|error| error.to_string())?;
    let pairs = outputs.iter().zip(answers);
    let judged = pairs.filter_map(|(output, answer)| {
        let compared = Comparison::new(&output.after, dtype(output.element)?, &answer, &tolerance);
        (!compared.is_right()).then(|| wrong(output, &compared, &ran.sizes))
    });
    Ok(judged.collect())
}

/// Returns true if a line of an expression defines an array.
fn defines(text: &str, name: &str) -> bool {
    text.lines().any(|line| {
        let rest = line.trim_start().strip_prefix(name);
        rest.is_some_and(|rest| rest.trim_start().starts_with('['))
    })
}

fn dtype(element: &Element) -> Option<Dtype> {
    let all = [Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::U32, Dtype::I32];
    all.into_iter().find(|dtype| dtype.name() == element.name)
}

/// The extents of a buffer, as the launch writes them.
fn shape(buffer: &Buffer, launch: &Described, sizes: &Sizes) -> Result<Vec<usize>, String> {
    let elements = buffer.before.len() / buffer.element.size;
    let texts = launch.launch.buffers.iter();
    let mut texts = texts.filter_map(|text| launch::split("--buffer", text).ok());
    let written = texts.find(|(index, _)| *index == buffer.index);
    let Some((_, value)) = written else {
        return Ok(vec![elements]);
    };
    let extents = match value.split(':').nth(2) {
        Some(shape) => contents::extents(shape, sizes)?,
        None => match launch::array(Path::new(value)) {
            Ok(array) => array.shape,
            Err(failure) => return Err(failure.message),
        },
    };
    let shape: Vec<usize> = extents.into_iter().map(|extent| extent as usize).collect();
    match shape.iter().product::<usize>() == elements {
        true => Ok(shape),
        false => Ok(vec![elements]),
    }
}

/// Values of `--bytes` that are one number.
fn scalars(ran: &Ran) -> impl Iterator<Item = CaseArgument> + '_ {
    ran.bytes.iter().filter_map(|(index, bytes)| {
        let mut arguments = ran.facts.arguments.iter();
        let argument = arguments.find(|a| a.binding == ArgumentBinding::Buffer(*index))?;
        let dtype = dtype(Element::in_metal(&argument.type_name)?)?;
        let value = dtype.decode(bytes).first().copied()?;
        (bytes.len() == dtype.size()).then(|| CaseArgument {
            name: argument.name.clone(),
            dtype,
            role: CaseRole::Scalar { value },
        })
    })
}

fn wrong(output: &Buffer, compared: &Comparison, sizes: &Sizes) -> Found {
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
            "the oracle says otherwise{at}: {} of {} elements of buffer {} (\"{}\") are wrong{worst}",
            compared.wrong, compared.elements, output.index, output.name
        ),
        place: None,
    }
}

#[cfg(test)]
mod tests {
    use super::defines;

    #[test]
    fn an_expression_defines_what_stands_on_its_left() {
        let text = "m[r < rows] = max(k < cols: x[r, k])\n  y [r, c] = x[r, c] - m[r]\n";
        assert!(defines(text, "y") && defines(text, "m"));
        assert!(!defines(text, "x") && !defines(text, "ma"));
    }
}
