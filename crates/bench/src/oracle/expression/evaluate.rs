//! Names become places, and every element its number and its scale.

use super::super::{Answer, Tensor};
use super::arithmetic::{Number, apply};
use super::{At, Error, Expression, Function, Kind, Node, Reduction};
use crate::registry::{Case, CaseRole};

/// Elements of the arrays that an oracle may have of its own.
const MOST_ELEMENTS: usize = 1 << 27;
/// Operations of one question.
const MOST_STEPS: u64 = 1 << 36;

/// An expression in which every name is a place.
enum Term {
    Number(f64),
    Index(usize),
    Element(At, usize, Vec<Term>),
    Apply(Function, Vec<Term>),
    Reduce {
        at: At,
        reduction: Reduction,
        index: usize,
        limit: Box<Term>,
        body: Box<Term>,
        /// Its place among all reductions.
        memo: usize,
        /// Outer indices that it depends on: while these stay, so does its value.
        outer: Vec<usize>,
    },
}

impl Term {
    /// Adds the indices that a term depends on.
    fn add_indices(&self, found: &mut Vec<usize>) {
        match self {
            Term::Number(_) => {}
            Term::Index(place) => {
                if !found.contains(place) {
                    found.push(*place);
                }
            }
            Term::Element(_, _, terms) | Term::Apply(_, terms) => {
                terms.iter().for_each(|term| term.add_indices(found));
            }
            Term::Reduce { limit, body, .. } => {
                limit.add_indices(found);
                body.add_indices(found);
            }
        }
    }
}

/// A definition in which every name is a place.
struct Filled {
    at: At,
    array: usize,
    value: Term,
}

/// An oracle at certain sizes.
pub(super) struct Bound {
    /// Inputs first, then what is defined, by name.
    arrays: Vec<(String, Vec<usize>)>,
    inputs: usize,
    definitions: Vec<Filled>,
    /// Indices that exist at once.
    indices: usize,
    /// Reductions.
    memos: usize,
}

/// Looks names up.
struct Names<'a> {
    case: &'a Case,
    arrays: Vec<(String, Vec<usize>)>,
    /// Indices that are in force, the innermost last.
    indices: Vec<String>,
    deepest: usize,
    /// Reductions so far.
    memos: usize,
}

impl Bound {
    pub(super) fn new(expression: &Expression, case: &Case) -> Result<Self, Error> {
        let inputs = case.arguments.iter().filter_map(|one| match &one.role {
            CaseRole::Input { shape, .. } => Some((one.name.clone(), shape.clone())),
            _ => None,
        });
        let mut names = Names {
            case,
            arrays: inputs.collect(),
            indices: Vec::new(),
            deepest: 0,
            memos: 0,
        };
        let inputs = names.arrays.len();
        let mut definitions = Vec::new();
        for definition in &expression.definitions {
            definitions.push(names.define(definition)?);
        }
        for name in outputs(case).map(|(name, _)| name) {
            if !names
                .arrays
                .iter()
                .skip(inputs)
                .any(|(known, _)| known == name)
            {
                let what = format!("the output \"{name}\" is not defined");
                return Err(At { line: 1, column: 1 }.wrong(what));
            }
        }
        Ok(Self {
            arrays: names.arrays,
            inputs,
            definitions,
            indices: names.deepest,
            memos: names.memos,
        })
    }
}

fn outputs(case: &Case) -> impl Iterator<Item = (&String, &Vec<usize>)> {
    case.arguments.iter().filter_map(|one| match &one.role {
        CaseRole::Output { shape } => Some((&one.name, shape)),
        _ => None,
    })
}

impl Names<'_> {
    fn define(&mut self, given: &super::Definition) -> Result<Filled, Error> {
        let at = given.at;
        let name = &given.array;
        if self.arrays.iter().any(|(known, _)| known == name) {
            return Err(at.wrong(format!("\"{name}\" is there already")));
        }
        let shape = outputs(self.case).find(|(output, _)| *output == name);
        let shape = shape.map(|(_, shape)| shape.clone());
        let mut extents = Vec::new();
        for (place, (index, limit)) in given.indices.iter().enumerate() {
            let extent = match (&shape, limit) {
                (Some(shape), None) => shape.get(place).copied().unwrap_or(0),
                (Some(_), Some(_)) => {
                    return Err(at.wrong("an output has the extents of its shape, not others"));
                }
                (None, None) => {
                    let what =
                        format!("\"{name}\" is no output: its indices need limits, {index} < …");
                    return Err(at.wrong(what));
                }
                (None, Some(limit)) => self.constant(limit)?,
            };
            extents.push(extent);
            self.indices.push(index.clone());
        }
        if shape.is_some_and(|shape| shape.len() != extents.len()) {
            return Err(at.wrong(format!("\"{name}\" has another number of extents")));
        }
        let elements = extents
            .iter()
            .try_fold(1usize, |all, &one| all.checked_mul(one));
        if elements.is_none_or(|elements| elements > MOST_ELEMENTS) {
            return Err(at.wrong(format!("\"{name}\" has too many elements")));
        }
        // It may read what it has computed already.
        self.arrays.push((name.clone(), extents));
        let array = self.arrays.len() - 1;
        let value = self.term(&given.value)?;
        self.indices.clear();
        Ok(Filled { at, array, value })
    }

    /// A limit of an array: whole, and known before anything is computed.
    fn constant(&mut self, node: &Node) -> Result<usize, Error> {
        let before = std::mem::take(&mut self.indices);
        let term = self.term(node);
        self.indices = before;
        let value = fold(&term?).filter(|value| value.fract() == 0.0 && *value >= 0.0);
        let value =
            value.ok_or_else(|| node.at.wrong("a limit is a whole number made of sizes"))?;
        Ok(value as usize)
    }

    fn term(&mut self, node: &Node) -> Result<Term, Error> {
        self.deepest = self.deepest.max(self.indices.len());
        Ok(match &node.kind {
            Kind::Number(value) => Term::Number(*value),
            Kind::Name(name) => self.named(node.at, name)?,
            Kind::Element(name, indices) => {
                let known = self.arrays.iter().position(|(known, _)| known == name);
                let array = known.ok_or_else(|| self.unknown(node.at, name))?;
                let extents = self.arrays.get(array).map_or(0, |(_, shape)| shape.len());
                if extents != indices.len() {
                    let what = format!("\"{name}\" has {extents} extents, not {}", indices.len());
                    return Err(node.at.wrong(what));
                }
                Term::Element(node.at, array, self.terms(indices)?)
            }
            Kind::Apply(function, nodes) => Term::Apply(*function, self.terms(nodes)?),
            Kind::Reduce {
                reduction,
                index,
                limit,
                body,
            } => {
                let limit = Box::new(self.term(limit)?);
                self.indices.push(index.clone());
                let body = self.term(body);
                self.indices.pop();
                let (own, body) = (self.indices.len(), Box::new(body?));
                let mut outer = Vec::new();
                limit.add_indices(&mut outer);
                body.add_indices(&mut outer);
                outer.retain(|place| *place < own);
                self.memos += 1;
                Term::Reduce {
                    at: node.at,
                    reduction: *reduction,
                    index: own,
                    limit,
                    body,
                    memo: self.memos - 1,
                    outer,
                }
            }
        })
    }

    fn terms(&mut self, nodes: &[Node]) -> Result<Vec<Term>, Error> {
        nodes.iter().map(|node| self.term(node)).collect()
    }

    fn named(&self, at: At, name: &str) -> Result<Term, Error> {
        if let Some(place) = self.indices.iter().rposition(|known| known == name) {
            return Ok(Term::Index(place));
        }
        let scalar = self.case.arguments.iter().find(|one| one.name == name);
        if let Some(CaseRole::Scalar { value }) = scalar.map(|one| &one.role) {
            return Ok(Term::Number(*value));
        }
        let size = self.case.sizes.get(name);
        size.map(|size| Term::Number(*size as f64))
            .ok_or_else(|| self.unknown(at, name))
    }

    fn unknown(&self, at: At, name: &str) -> Error {
        let arrays = self.arrays.iter().map(|(name, _)| name.as_str());
        let known: Vec<&str> = arrays
            .chain(self.indices.iter().map(String::as_str))
            .chain(self.case.sizes.keys().map(String::as_str))
            .collect();
        at.wrong(format!(
            "there is no \"{name}\" before this; there are {}",
            known.join(", ")
        ))
    }
}

/// The value of a term without indices and elements.
fn fold(term: &Term) -> Option<f64> {
    match term {
        Term::Number(value) => Some(*value),
        Term::Apply(function, terms) if *function != Function::If => {
            let numbers: Option<Vec<Number>> = terms
                .iter()
                .map(|term| fold(term).map(Number::exact))
                .collect();
            Some(apply(*function, &numbers?).value)
        }
        _ => None,
    }
}

/// What is right for a case; of the outputs, only rows that are asked for.
pub(crate) fn answers(
    expression: &Expression,
    case: &Case,
    inputs: &[Tensor],
    rows: Option<&[usize]>,
) -> Result<Vec<Answer>, Error> {
    let bound = Bound::new(expression, case)?;
    let mut evaluation = Evaluation {
        bound: &bound,
        inputs,
        made: Vec::new(),
        indices: vec![0.0; bound.indices],
        steps: MOST_STEPS,
        memos: vec![None; bound.memos],
    };
    for definition in &bound.definitions {
        let name = bound.arrays.get(definition.array).map(|(name, _)| name);
        let is_output = outputs(case).any(|(output, _)| Some(output) == name);
        evaluation.fill(definition, rows.filter(|_| is_output))?;
    }
    let mut made: Vec<Option<Answer>> = evaluation.made.into_iter().map(Some).collect();
    let named = outputs(case).map(|(name, _)| {
        let place = bound
            .arrays
            .iter()
            .skip(bound.inputs)
            .position(|(known, _)| known == name);
        let answer = place.and_then(|place| made.get_mut(place)?.take());
        answer.ok_or_else(|| At::default().wrong(format!("\"{name}\" is not defined")))
    });
    named.collect()
}

struct Evaluation<'a> {
    bound: &'a Bound,
    inputs: &'a [Tensor],
    /// What has been defined so far; not yet computed elements are absent.
    made: Vec<Answer>,
    indices: Vec<f64>,
    steps: u64,
    /// The last value of each reduction, with the outer indices it was computed at: the sum of a row is the same for all
    /// its elements.
    memos: Vec<Option<(Vec<f64>, Number)>>,
}

impl Evaluation<'_> {
    fn fill(&mut self, definition: &Filled, rows: Option<&[usize]>) -> Result<(), Error> {
        let Some((_, shape)) = self.bound.arrays.get(definition.array) else {
            return Ok(());
        };
        let elements: usize = shape.iter().product();
        let columns = shape.last().copied().unwrap_or(1).max(1);
        self.made.push(Answer::new(Vec::new(), Vec::new()));
        let mut asked = rows.map(|rows| rows.iter().copied().peekable());
        for element in 0..elements {
            // Rows come in rising order.
            let wanted = asked.as_mut().is_none_or(|rows| {
                while rows.next_if(|row| *row < element / columns).is_some() {}
                rows.peek() == Some(&(element / columns))
            });
            let mut number = Number::exact(f64::NAN);
            if wanted {
                let mut rest = element;
                let own = self.indices.iter_mut().zip(shape);
                for (index, extent) in own.collect::<Vec<_>>().into_iter().rev() {
                    *index = (rest % extent) as f64;
                    rest /= extent;
                }
                number = self.number(&definition.value)?;
                if number.value.is_nan() {
                    let what = format!("element {element} is not a number");
                    return Err(definition.at.wrong(what));
                }
            }
            if let Some(answer) = self.made.last_mut() {
                answer.values.push(number.value);
                answer.scale.push(number.scale);
            }
        }
        Ok(())
    }

    fn number(&mut self, term: &Term) -> Result<Number, Error> {
        match term {
            Term::Number(value) => Ok(Number::exact(*value)),
            Term::Index(place) => Ok(Number::exact(
                self.indices.get(*place).copied().unwrap_or(f64::NAN),
            )),
            Term::Element(at, array, indices) => self.element(*at, *array, indices),
            Term::Apply(Function::If, terms) => {
                let [condition, then, otherwise] = terms.as_slice() else {
                    return Ok(Number::exact(f64::NAN));
                };
                match self.number(condition)?.value != 0.0 {
                    true => self.number(then),
                    false => self.number(otherwise),
                }
            }
            Term::Apply(function, terms) => {
                let mut numbers = [Number::exact(f64::NAN); 2];
                for (number, term) in numbers.iter_mut().zip(terms) {
                    *number = self.number(term)?;
                }
                let numbers = numbers.get(..terms.len()).unwrap_or_default();
                Ok(apply(*function, numbers))
            }
            Term::Reduce {
                at,
                reduction,
                index,
                limit,
                body,
                memo,
                outer,
            } => {
                let at_outer = outer.iter().map(|place| self.indices.get(*place).copied());
                let at_outer: Vec<f64> = at_outer.flatten().collect();
                if let Some(Some((known, value))) = self.memos.get(*memo)
                    && *known == at_outer
                {
                    return Ok(*value);
                }
                let limit = self.number(limit)?.value;
                let value = self.reduce(*at, *reduction, *index, limit, body)?;
                if let Some(slot) = self.memos.get_mut(*memo) {
                    *slot = Some((at_outer, value));
                }
                Ok(value)
            }
        }
    }

    fn element(&mut self, at: At, array: usize, indices: &[Term]) -> Result<Number, Error> {
        let mut place = 0;
        for (dimension, index) in indices.iter().enumerate() {
            let index = self.number(index)?.value;
            let (name, shape) = self
                .bound
                .arrays
                .get(array)
                .ok_or_else(|| at.wrong("no array"))?;
            let extent = shape.get(dimension).copied().unwrap_or(0);
            if index.fract() != 0.0 || !(0.0..extent as f64).contains(&index) {
                return Err(at.wrong(format!(
                    "index {index} of \"{name}\" is outside of 0..{extent}"
                )));
            }
            place = place * extent + index as usize;
        }
        let found = match array.checked_sub(self.bound.inputs) {
            None => self
                .inputs
                .get(array)
                .map(|tensor| Number::exact(tensor.at(place))),
            Some(own) => self.made.get(own).and_then(|answer| {
                let (value, scale) = (*answer.values.get(place)?, *answer.scale.get(place)?);
                Some(Number { value, scale })
            }),
        };
        found.ok_or_else(|| at.wrong("this element is not computed yet: they come in order"))
    }

    fn reduce(
        &mut self,
        at: At,
        reduction: Reduction,
        index: usize,
        limit: f64,
        body: &Term,
    ) -> Result<Number, Error> {
        if limit.fract() != 0.0 || !(0.0..MOST_STEPS as f64).contains(&limit) {
            return Err(at.wrong(format!("the limit {limit} is no whole number from 0 on")));
        }
        let limit = limit as u64;
        self.steps = self
            .steps
            .checked_sub(limit)
            .ok_or_else(|| at.wrong("this takes too long"))?;
        let (start, worst) = match reduction {
            Reduction::Sum => (0.0, 0.0),
            Reduction::Product => (1.0, 1.0),
            Reduction::Min | Reduction::Argmin => (f64::INFINITY, 0.0),
            Reduction::Max | Reduction::Argmax => (f64::NEG_INFINITY, 0.0),
        };
        let mut all = Number {
            value: start,
            scale: worst,
        };
        let mut first = 0;
        for value in 0..limit {
            self.indices
                .get_mut(index)
                .into_iter()
                .for_each(|slot| *slot = value as f64);
            let one = self.number(body)?;
            match reduction {
                Reduction::Sum => {
                    all.value += one.value;
                    all.scale += one.scale;
                }
                Reduction::Product => all = apply(Function::Multiply, &[all, one]),
                Reduction::Min | Reduction::Argmin if one.value < all.value => {
                    (all, first) = (one, value)
                }
                Reduction::Max | Reduction::Argmax if one.value > all.value => {
                    (all, first) = (one, value)
                }
                _ => {}
            }
        }
        Ok(match reduction {
            Reduction::Argmin | Reduction::Argmax => Number::exact(first as f64),
            _ => all,
        })
    }
}
