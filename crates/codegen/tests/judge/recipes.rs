//! The judge of recipes: a kernel's program, and the Metal printed from its rewritten form compiled again, run by the
//! executor on the same buffers. An exact step must leave the same bytes, a reassociating one nearly the same numbers,
//! and the executor's checks must find nothing that they do not find in the original.

use super::inputs::{Inputs, MORE_TRIALS, TRIALS};
use super::run::{self, Ended, execute};
use super::values::scalar_named;
use super::{Buffers, first_difference, load, printed, reason_not_executed};
use assay_exec::Program;
use assay_front::{Form, Kernel};
use assay_launch::template::Grid;
use assay_launch::{Formula, Sizes};
use assay_rewrite::recipe::{
    Candidate, Class, Geometry, Number, RefusalKind, Step, apply, choices,
};
use assay_ssa::{Binding, Module, Scalar, Space};
use std::collections::HashMap;

/// What became of steps applied one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    pub(crate) steps: Vec<Step>,
    pub(crate) fate: Fate,
}

/// What can become of steps.
#[derive(Clone, Debug)]
pub(crate) enum Fate {
    /// In so many trials the result was as promised.
    Right(usize),
    /// A step does not apply.
    Refused(RefusalKind, String),
    /// The printer has no words for the result.
    NotPrinted(String),
    /// No trial says anything: undefined in the kernel, or too long.
    Undecided(String),
    /// The result was not as promised.
    Wrong(String),
}

/// A kernel with the trials that it finished.
pub(crate) struct Subject {
    kept: Module,
    module: Module,
    program: Program,
    name: String,
    seed: u64,
    cases: Vec<Case>,
    /// Trials for steps that the others do not decide, made when the first such step comes.
    more: Option<Vec<Case>>,
    compiled: HashMap<String, Result<Program, String>>,
}

/// A trial.
struct Case {
    inputs: Inputs,
    expected: Buffers,
    geometry: Geometry,
    sizes: Sizes,
}

impl Subject {
    /// A kernel with trials it finishes, function constants set to `number`.
    pub(crate) fn new(kernel: &Kernel, number: u64, seed: u64) -> Result<Subject, String> {
        let module = load::program_with(kernel, number)?;
        let kept = load::program_as(kernel, number, Form::LoopsKept)?;
        let name = kernel.name.clone();
        let found = module
            .kernel(&name)
            .ok_or("the module has no such kernel")?;
        let program = Program::compile(&module, &name, &Default::default())
            .map_err(|error| reason_not_executed(&error))?;
        let mut cases = Vec::new();
        let mut why = String::new();
        for trial in 0..TRIALS + MORE_TRIALS {
            if trial >= TRIALS && !cases.is_empty() {
                break;
            }
            let mut inputs = Inputs::new(&module, found, trial, seed);
            match execute(&program, &mut inputs) {
                Ended::Finished(expected) => {
                    let (geometry, sizes) = geometry(&module, &name, &inputs, cases.is_empty());
                    cases.push(Case {
                        inputs,
                        expected,
                        geometry,
                        sizes,
                    });
                }
                ended => why = ended.why().to_owned(),
            }
        }
        if cases.is_empty() {
            return Err(format!("no trial finished: {why}"));
        }
        Ok(Subject {
            kept,
            module,
            program,
            name,
            seed,
            cases,
            more: None,
            compiled: HashMap::new(),
        })
    }

    /// Trials whose sizes are all the same: there, rows lie beside each other, and threads of kernels that others describe badly
    /// do not write to the same places.
    fn more_cases(&self) -> Vec<Case> {
        let Some(kernel) = self.module.kernel(&self.name) else {
            return Vec::new();
        };
        let mut cases = Vec::new();
        for trial in TRIALS..TRIALS + MORE_TRIALS {
            let mut inputs = Inputs::new(&self.module, kernel, trial, self.seed);
            if let Ended::Finished(expected) = execute(&self.program, &mut inputs) {
                let (geometry, sizes) = geometry(&self.module, &self.name, &inputs, false);
                cases.push(Case {
                    inputs,
                    expected,
                    geometry,
                    sizes,
                });
            }
        }
        cases
    }

    fn candidate(&self, case: &Case) -> Candidate {
        Candidate {
            module: self.kept.clone(),
            kernel: self.name.clone(),
            geometry: case.geometry.clone(),
        }
    }

    /// For each recipe the steps that apply in the first trial, or why none does.
    pub(crate) fn choices(&self) -> Vec<assay_rewrite::recipe::Choice> {
        choices(&self.candidate(&self.cases[0]))
    }

    /// The steps that apply after others in the first trial.
    pub(crate) fn choices_after(&self, steps: &[Step]) -> Vec<Step> {
        let mut candidate = self.candidate(&self.cases[0]);
        for step in steps {
            match apply(&candidate, step) {
                Ok(applied) => candidate = applied.candidate,
                Err(_) => return Vec::new(),
            }
        }
        let offered = choices(&candidate).into_iter();
        offered
            .filter_map(|choice| choice.steps.ok())
            .flatten()
            .collect()
    }

    /// Judges steps applied one after the other; by more trials if the usual ones do not decide.
    pub(crate) fn judge(&mut self, steps: &[Step]) -> Judged {
        let judged = self.judge_by_cases(steps);
        if !matches!(judged.fate, Fate::Undecided(_)) {
            return judged;
        }
        let more = match self.more.take() {
            Some(more) => more,
            None => self.more_cases(),
        };
        let usual = std::mem::replace(&mut self.cases, more);
        let again = self.judge_by_cases(steps);
        self.more = Some(std::mem::replace(&mut self.cases, usual));
        match again.fate {
            Fate::Right(_) | Fate::Wrong(_) => again,
            _ => judged,
        }
    }

    fn judge_by_cases(&mut self, steps: &[Step]) -> Judged {
        let mut right = 0;
        let mut undecided = String::new();
        let mut refused = None;
        for at in 0..self.cases.len() {
            match self.judge_case(at, steps) {
                Fate::Right(_) => right += 1,
                Fate::Undecided(why) => undecided = why,
                fate @ Fate::Refused(..) => refused = Some(fate),
                fate => {
                    return Judged {
                        steps: steps.to_vec(),
                        fate,
                    };
                }
            }
        }
        let fate = match (right, refused) {
            (0, Some(refused)) if undecided.is_empty() => refused,
            (0, _) => Fate::Undecided(undecided),
            (right, _) => Fate::Right(right),
        };
        Judged {
            steps: steps.to_vec(),
            fate,
        }
    }

    fn judge_case(&mut self, at: usize, steps: &[Step]) -> Fate {
        let mut candidate = self.candidate(&self.cases[at]);
        let mut class = Class::Exact;
        for step in steps {
            match apply(&candidate, step) {
                Ok(applied) => {
                    candidate = applied.candidate;
                    class = class.max(applied.class);
                }
                Err(refusal) => return Fate::Refused(refusal.kind, refusal.why),
            }
        }
        let text = match candidate.print() {
            Ok(text) => text,
            Err(error) => return Fate::NotPrinted(error.to_string()),
        };
        let name = &self.name;
        let program = self
            .compiled
            .entry(text.clone())
            .or_insert_with(|| printed::compiled(&text, name));
        let program = match program {
            Ok(program) => program,
            Err(message) => return Fate::Wrong(message.clone()),
        };
        let case = &self.cases[at];
        let inputs = match relaunched(case, &candidate.geometry) {
            Ok(inputs) => inputs,
            Err(why) => return Fate::Wrong(format!("the new geometry: {why}")),
        };
        let wrong = |what: String| match run::undefined(&self.program, &case.inputs) {
            Some(why) => Fate::Undecided(format!("undefined in the kernel: {why}")),
            None => Fate::Wrong(format!("trial {}: {what}\n{text}", at + 1)),
        };
        match run::execute_as_is(program, &inputs) {
            Ended::Finished(got) => {
                if class == Class::Reassociating && extreme(&self.kept, &self.name, &case.inputs) {
                    return Fate::Undecided(
                        "sums of extreme numbers depend on their order".to_owned(),
                    );
                }
                let difference = match class {
                    Class::Exact => {
                        first_difference(&case.expected, &got).map(|d| format!("{d:?}"))
                    }
                    Class::Reassociating => far_apart(&self.kept, &self.name, &case.expected, &got),
                };
                if let Some(difference) = difference {
                    return wrong(difference);
                }
            }
            Ended::TooLong => return Fate::Undecided("too long".to_owned()),
            ended => return wrong(format!("only the result stopped: {}", ended.why())),
        }
        if at == 0
            && let Some(report) = run::reported(program, &inputs)
            && !run::any_report(&self.program, &case.inputs)
        {
            return Fate::Wrong(format!("checks find: {report}\n{text}"));
        }
        Fate::Right(1)
    }
}

/// Returns true if a buffer of floats holds numbers whose sums overflow.
fn extreme(module: &Module, name: &str, inputs: &Inputs) -> bool {
    let arguments = module
        .kernel(name)
        .map_or(&[][..], |kernel| &kernel.arguments);
    inputs.buffers.iter().any(|(index, bytes)| {
        let argument = arguments
            .iter()
            .find(|argument| argument.binding == Binding::Buffer(*index));
        let scalar = argument.and_then(|argument| scalar_named(&argument.type_name));
        let floats = scalar.filter(|scalar| scalar.is_float());
        let most = if floats == Some(Scalar::F16) {
            1e3
        } else {
            1e15
        };
        let mut numbers = floats
            .map_or(Vec::new(), |scalar| numbers(scalar, bytes))
            .into_iter();
        numbers.any(|n| !n.is_finite() || n.abs() > most)
    })
}

/// The first number of a buffer of floats that is not nearly the same, or the first other byte.
fn far_apart(module: &Module, name: &str, expected: &Buffers, got: &Buffers) -> Option<String> {
    let kernel = module.kernel(name)?;
    for ((index, expected), (_, got)) in expected.iter().zip(got) {
        let argument = kernel
            .arguments
            .iter()
            .find(|argument| argument.binding == Binding::Buffer(*index));
        let scalar = argument.and_then(|argument| scalar_named(&argument.type_name));
        let Some(scalar) = scalar.filter(|scalar| scalar.is_float()) else {
            if expected != got {
                return Some(format!("buffer {index} is not the same"));
            }
            continue;
        };
        let (expected, got) = (numbers(scalar, expected), numbers(scalar, got));
        let finite = expected.iter().filter(|n| n.is_finite());
        let largest = finite.fold(0.0f64, |most, n| most.max(n.abs()));
        let near = largest * if scalar == Scalar::F32 { 1e-4 } else { 2e-2 };
        let pairs = expected.iter().zip(&got).enumerate();
        for (at, (a, b)) in pairs {
            let same = a == b || (!a.is_finite() && !b.is_finite());
            if !same && (a - b).abs().partial_cmp(&near) != Some(std::cmp::Ordering::Less) {
                return Some(format!(
                    "buffer {index}, number {at}: {a} expected, {b} found"
                ));
            }
        }
    }
    None
}

fn numbers(scalar: Scalar, bytes: &[u8]) -> Vec<f64> {
    let words = bytes.chunks_exact(scalar.bytes() as usize);
    let number = |word: &[u8]| match scalar {
        Scalar::F32 => word
            .try_into()
            .map_or(0.0, |w| f64::from(f32::from_le_bytes(w))),
        Scalar::BF16 => {
            let word = word.try_into().map_or(0, u16::from_le_bytes);
            f64::from(f32::from_bits(u32::from(word) << 16))
        }
        _ => half(word.try_into().map_or(0, u16::from_le_bytes)),
    };
    words.map(number).collect()
}

/// The number of a half float.
fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let size = match exponent {
        0 => fraction * (-24f64).exp2(),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * f64::from(exponent - 25).exp2(),
    };
    if bits >> 15 == 1 { -size } else { size }
}

/// The geometry of a trial: the grid by names in the first, in plain numbers in others, and the numbers among arguments.
fn geometry(module: &Module, kernel: &str, inputs: &Inputs, named: bool) -> (Geometry, Sizes) {
    let mut geometry = Geometry::plain(inputs.grid, inputs.threadgroup);
    let memory = inputs.threadgroup_memory.iter();
    geometry.threadgroup_memory = memory
        .map(|(_, bytes)| Formula::number(u64::from(*bytes)))
        .collect();
    let mut sizes = Sizes::new();
    if named && let Grid::Threads(threads) = &mut geometry.grid {
        for ((place, name), extent) in threads.iter_mut().zip(["X", "Y", "Z"]).zip(inputs.grid) {
            if extent > 1
                && let Ok(formula) = Formula::parse(name)
            {
                *place = formula;
                sizes.insert(name.to_owned(), u64::from(extent));
            }
        }
    }
    let arguments = module
        .kernel(kernel)
        .map_or(&[][..], |kernel| &kernel.arguments);
    for argument in arguments {
        let (Binding::Buffer(buffer), Some(size)) = (argument.binding, argument.buffer_size) else {
            continue;
        };
        let bytes = inputs.buffers.iter().find(|(index, _)| *index == buffer);
        let (Some((_, bytes)), Some(Space::Constant)) = (bytes, argument.space) else {
            continue;
        };
        for offset in (0..size.min(64)).step_by(4) {
            let word = bytes.get(offset as usize..offset as usize + 4);
            let Some(Ok(word)) = word.map(<[u8; 4]>::try_from) else {
                continue;
            };
            geometry.numbers.push(Number {
                buffer,
                offset,
                value: Formula::number(u64::from(u32::from_le_bytes(word))),
                added: false,
            });
        }
    }
    (geometry, sizes)
}

/// The inputs of a trial in another geometry.
fn relaunched(case: &Case, geometry: &Geometry) -> Result<Inputs, String> {
    let mut inputs = case.inputs.clone();
    let numbers = geometry.at(&case.sizes);
    (inputs.grid, inputs.threadgroup) = numbers.map_err(|error| error.to_string())?;
    inputs.max_steps = inputs.max_steps.saturating_mul(64);
    for number in geometry.numbers.iter().filter(|number| number.added) {
        let value = number.value.number_at(&case.sizes);
        let value = value.map_err(|error| error.to_string())?;
        inputs
            .buffers
            .push((number.buffer, value.to_le_bytes().to_vec()));
    }
    for (place, formula) in geometry.threadgroup_memory.iter().enumerate() {
        let bytes = formula.number_at(&case.sizes);
        let bytes = bytes.map_err(|error| error.to_string())?;
        match inputs.threadgroup_memory.get_mut(place) {
            Some(known) => known.1 = bytes,
            None => inputs.threadgroup_memory.push((place as u32, bytes)),
        }
    }
    Ok(inputs)
}
