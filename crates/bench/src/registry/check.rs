//! From what was written to what is meant: everything a file can get wrong is found here, once.

use super::error::Error;
use super::file;
use super::kernel::{
    Argument, Constant, Grid, Kernel, Pass, PassBinding, Role, Set, SizeSet, SizeUse, Tolerance,
    Values,
};
use super::source::{Extras, Sources};
use crate::Dtype;
use crate::formula::Formula;
use crate::oracle::expression::Expression;
use crate::oracle::{Definition, Language, Program};
use std::sync::Arc;

pub(super) struct Reader<'a> {
    path: &'a str,
}

impl Reader<'_> {
    fn wrong(&self, field: impl Into<String>, why: impl Into<String>) -> Error {
        Error::Entry {
            path: self.path.to_owned(),
            field: field.into(),
            why: why.into(),
        }
    }

    fn formula(&self, field: &str, text: &str) -> Result<Formula, Error> {
        Formula::parse(text).map_err(|error| self.wrong(field, format!("\"{text}\": {error}")))
    }

    fn formulas(&self, field: &str, texts: &[String]) -> Result<Vec<Formula>, Error> {
        let formulas = texts.iter().map(|text| self.formula(field, text));
        formulas.collect()
    }

    /// One to three extents; those left out are 1.
    fn extent(&self, field: &str, texts: &[String]) -> Result<[Formula; 3], Error> {
        let mut formulas = self.formulas(field, texts)?;
        if formulas.is_empty() || formulas.len() > 3 {
            return Err(self.wrong(field, "one to three numbers belong here"));
        }
        while formulas.len() < 3 {
            formulas.push(self.formula(field, "1")?);
        }
        <[Formula; 3]>::try_from(formulas)
            .map_err(|_| self.wrong(field, "three numbers belong here"))
    }

    fn argument(&self, given: &file::Argument) -> Result<Argument, Error> {
        let field = format!("arguments.{}", given.name);
        let shape = || self.formulas(&field, &given.shape);
        let optional = |text: &Option<String>| {
            text.as_deref()
                .map(|text| self.formula(&field, text))
                .transpose()
        };
        let scalar = given.role == file::Role::Scalar;
        if scalar != given.value.is_some() {
            return Err(self.wrong(field, "scalars, and nothing else, have a value"));
        }
        if scalar != given.shape.is_empty() {
            return Err(self.wrong(field, "everything but scalars has a shape"));
        }
        let random = given.values.is_some()
            || given.below.is_some()
            || given.scale.is_some()
            || !given.extremes.is_empty();
        if random && given.role != file::Role::Input {
            return Err(self.wrong(field, "values, below, scale and extremes are for inputs"));
        }
        let role = match given.role {
            file::Role::Input => Role::Input {
                shape: shape()?,
                values: given.values.unwrap_or(Values::Normal),
                below: optional(&given.below)?,
                scale: optional(&given.scale)?,
                extremes: given.extremes.clone(),
            },
            file::Role::Output => Role::Output { shape: shape()? },
            file::Role::Scratch => Role::Scratch { shape: shape()? },
            file::Role::Scalar => Role::Scalar {
                value: self.formula(&field, given.value.as_deref().unwrap_or_default())?,
            },
        };
        if let Role::Input { values, below, .. } = &role
            && (*values == Values::Index) != below.is_some()
        {
            return Err(self.wrong(field, "indices, and nothing else, are below something"));
        }
        Ok(Argument {
            name: given.name.clone(),
            dtype: given.dtype,
            role,
        })
    }

    fn oracle(&self, given: &file::Oracle, extras: &Extras) -> Result<Definition, Error> {
        let own = match given {
            // A name that no oracle has is told when it is asked.
            file::Oracle::Named(name) => return Ok(Definition::Function(name.clone())),
            file::Oracle::Own(own) => own,
        };
        let program = |language, words: &str, text: &str| {
            let program = Program::new(language, words, text);
            Ok(Definition::Program(Arc::new(program)))
        };
        match own {
            file::OwnOracle::Expression(text) => match Expression::parse(text) {
                Ok(expression) => Ok(Definition::Expression(Arc::new(expression))),
                Err(error) => Err(self.wrong("oracle.expression", error.to_string())),
            },
            file::OwnOracle::Python(file) => match extras.get(file) {
                Some(text) => program(Language::Python, file, text),
                None => {
                    Err(self.wrong("oracle.python", format!("there is no \"{file}\" beside it")))
                }
            },
            file::OwnOracle::Program(words) if words.trim().is_empty() => {
                Err(self.wrong("oracle.program", "a command belongs here"))
            }
            file::OwnOracle::Program(words) => program(Language::Shell, words, ""),
        }
    }

    fn pass(
        &self,
        given: &file::Pass,
        function: &str,
        arguments: &[Argument],
    ) -> Result<Pass, Error> {
        let binding = |text: &String| {
            if let Some(formula) = text.strip_prefix('=') {
                return Ok(PassBinding::Number(
                    self.formula("passes.arguments", formula)?,
                ));
            }
            let place = arguments.iter().position(|argument| argument.name == *text);
            let unknown = || {
                self.wrong(
                    "passes.arguments",
                    format!("there is no argument \"{text}\""),
                )
            };
            place.map(PassBinding::Argument).ok_or_else(unknown)
        };
        let bindings = match &given.arguments {
            Some(names) => names.iter().map(binding).collect::<Result<_, _>>()?,
            None => (0..arguments.len()).map(PassBinding::Argument).collect(),
        };
        let grid = match (&given.threads, &given.groups) {
            (Some(threads), None) => Grid::Threads(self.extent("passes.threads", threads)?),
            (None, Some(groups)) => Grid::Groups(self.extent("passes.groups", groups)?),
            _ => return Err(self.wrong("passes", "either threads or groups belong here")),
        };
        Ok(Pass {
            function: given
                .function
                .clone()
                .unwrap_or_else(|| function.to_owned()),
            bindings,
            grid,
            threadgroup: self.extent("passes.threadgroup", &given.threadgroup)?,
            threadgroup_memory: self
                .formulas("passes.threadgroup_memory", &given.threadgroup_memory)?,
            repeat: None,
        })
    }

    fn size_sets(&self, file: &file::File) -> Result<Vec<SizeSet>, Error> {
        let mut sets = Vec::new();
        let mut names: Option<Vec<&String>> = None;
        for (name, sizes) in &file.sizes {
            let word = name.split('-').next().unwrap_or_default();
            let field = format!("sizes.{name}");
            let use_ = SizeUse::ALL.into_iter().find(|use_| use_.name() == word);
            let use_ = use_.ok_or_else(|| {
                self.wrong(&field, "names start with reference, quick, odd or held_out")
            })?;
            let here: Vec<&String> = sizes.keys().collect();
            if names.get_or_insert_with(|| here.clone()) != &here {
                return Err(self.wrong(&field, "every size set has the same sizes"));
            }
            sets.push(SizeSet {
                name: name.clone(),
                use_,
                sizes: sizes.clone(),
            });
        }
        sets.sort_by_key(|set| set.use_);
        for needed in SizeUse::ALL {
            if !sets.iter().any(|set| set.use_ == needed) {
                return Err(self.wrong("sizes", format!("there is no set \"{}\"", needed.name())));
            }
        }
        Ok(sets)
    }

    fn tolerances(&self, file: &file::File) -> Result<Vec<(Dtype, Tolerance)>, Error> {
        let mut tolerances = Vec::new();
        for dtype in &file.dtypes {
            let field = format!("tolerance.{dtype}");
            let Some(given) = file.tolerance.get(dtype) else {
                return Err(self.wrong(field, "every element type has a tolerance"));
            };
            let sound = |value: f64| value.is_finite() && (0.0..1.0).contains(&value);
            if !sound(given.relative) || !sound(given.absolute) {
                return Err(self.wrong(field, "tolerances are at least 0 and less than 1"));
            }
            if given.reason.trim().is_empty() {
                return Err(self.wrong(field, "a tolerance has a reason"));
            }
            tolerances.push((
                *dtype,
                Tolerance {
                    relative: given.relative,
                    absolute: given.absolute,
                    reason: given.reason.clone(),
                },
            ));
        }
        Ok(tolerances)
    }
}

/// Knobs and restrictions as text.
fn tune(tune: &file::Tune) -> Vec<String> {
    let knobs = tune.knobs.iter().map(|(name, values)| {
        let values = values.iter().map(|value| match value {
            file::KnobValue::Number(number) => number.to_string(),
            file::KnobValue::Flag(flag) => flag.to_string(),
            file::KnobValue::Text(text) => text.clone(),
        });
        format!("{name} = {}", values.collect::<Vec<_>>().join(","))
    });
    let restrictions = tune.restrict.iter().map(|text| format!("restrict {text}"));
    knobs.chain(restrictions).collect()
}

pub(super) fn kernel(
    path: &str,
    set: Set,
    name: &str,
    file: &file::File,
    sources: Sources,
    extras: &Extras,
) -> Result<Kernel, Error> {
    let reader = Reader { path };
    if file.dtypes.is_empty() || !file.dtypes.iter().all(|dtype| dtype.is_float()) {
        return Err(reader.wrong("dtypes", "at least one floating-point type belongs here"));
    }
    let function = file.function.as_deref().unwrap_or(name);
    let arguments = file.arguments.iter().map(|given| reader.argument(given));
    let arguments: Vec<Argument> = arguments.collect::<Result<_, _>>()?;
    for (place, argument) in arguments.iter().enumerate() {
        if arguments
            .iter()
            .take(place)
            .any(|other| other.name == argument.name)
        {
            return Err(reader.wrong("arguments", format!("\"{}\" is there twice", argument.name)));
        }
    }
    if !arguments
        .iter()
        .any(|argument| matches!(argument.role, Role::Output { .. }))
    {
        return Err(reader.wrong("arguments", "there is no output"));
    }
    let passes = file
        .passes
        .iter()
        .map(|given| reader.pass(given, function, &arguments));
    let passes: Vec<Pass> = passes.collect::<Result<_, _>>()?;
    if passes.is_empty() {
        return Err(reader.wrong("passes", "there is nothing to run"));
    }
    let derived = file.derived.iter().map(|(name, text)| {
        let formula = reader.formula(&format!("derived.{name}"), text)?;
        Ok((name.clone(), formula))
    });
    // A knob is a size too, with the value that the kernel has as it is: geometry follows.
    let own = file.tune.knobs.iter().filter_map(|(name, values)| {
        let Some(file::KnobValue::Number(first)) = values.first() else {
            return None;
        };
        Some(Ok((name.clone(), Formula::number(*first))))
    });
    let derived = own.chain(derived);
    let constants = file.constants.iter().map(|given| {
        Ok(Constant {
            name: given.name.clone(),
            index: given.index,
            value: reader.formula(&format!("constants.{}", given.name), &given.value)?,
        })
    });
    let kernel = Kernel {
        name: name.to_owned(),
        set,
        summary: file.summary.clone(),
        oracle: reader.oracle(&file.oracle, extras)?,
        dtypes: file.dtypes.clone(),
        derived: derived.collect::<Result<_, Error>>()?,
        sizes: reader.size_sets(file)?,
        constants: constants.collect::<Result<_, Error>>()?,
        tune: tune(&file.tune),
        tolerances: reader.tolerances(file)?,
        flops: reader.formula("cost.flops", &file.cost.flops)?,
        bytes: match &file.cost.bytes {
            Some(text) => Some(reader.formula("cost.bytes", text)?),
            None => None,
        },
        arguments,
        passes,
        sources,
    };
    // Every formula must have a value for every size set: found now, not when a benchmark starts.
    for set in &kernel.sizes {
        for dtype in &kernel.dtypes {
            let case = super::case::Case::new(&kernel, &set.name, *dtype)
                .map_err(|error| reader.wrong(format!("sizes.{}", set.name), error.to_string()))?;
            if let Definition::Expression(expression) = &kernel.oracle {
                let checked = expression.check(&case);
                checked.map_err(|error| reader.wrong("oracle.expression", error.to_string()))?;
            }
        }
    }
    Ok(kernel)
}
