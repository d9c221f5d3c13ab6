//! A recipe with its parameters, as text: `coarsen:x=4,block`.

use super::{RECIPES, Recipe};
use std::fmt;
use std::str::FromStr;

/// A parameter a recipe takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parameter {
    /// `name=NUMBER`.
    Number(&'static str),
    /// A word alone.
    Word(&'static str),
}

impl Parameter {
    const fn name(self) -> &'static str {
        match self {
            Parameter::Number(name) | Parameter::Word(name) => name,
        }
    }
}

/// A recipe with its parameters.
#[derive(Clone, Debug)]
pub struct Step {
    recipe: &'static Recipe,
    /// For each parameter of the recipe its number; a word that is there has 1.
    given: Vec<Option<u32>>,
}

/// What is wrong with the text of a step.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StepError {
    /// No recipe of that name.
    #[error("there is no recipe \"{0}\"; there are {list}", list = names())]
    Recipe(String),
    /// The recipe does not take that parameter.
    #[error("{recipe} takes no \"{given}\"; write {form}", form = form(.recipe, .usage))]
    Parameter {
        /// The recipe.
        recipe: &'static str,
        /// What was written.
        given: String,
        /// What may be written.
        usage: &'static str,
    },
    /// A parameter is there twice.
    #[error("{recipe}: \"{given}\" is there twice")]
    Twice {
        /// The recipe.
        recipe: &'static str,
        /// The parameter.
        given: String,
    },
}

/// A recipe with what it takes.
fn form(recipe: &str, usage: &str) -> String {
    match usage.is_empty() {
        true => recipe.to_owned(),
        false => format!("{recipe}:{usage}"),
    }
}

fn names() -> String {
    let names: Vec<&str> = RECIPES.iter().map(|recipe| recipe.id).collect();
    names.join(", ")
}

impl Step {
    pub(super) fn new(recipe: &'static str, given: &[(&str, u32)]) -> Option<Step> {
        let recipe = Recipe::named(recipe)?;
        let find = |parameter: &Parameter| {
            let found = given.iter().find(|(name, _)| *name == parameter.name());
            found.map(|(_, number)| *number)
        };
        Some(Step {
            recipe,
            given: recipe.parameters.iter().map(find).collect(),
        })
    }

    /// The recipe.
    pub fn recipe(&self) -> &'static Recipe {
        self.recipe
    }

    /// The number of a parameter; 1 for a word that is there.
    pub fn number(&self, name: &str) -> Option<u32> {
        let mut all = self.recipe.parameters.iter().zip(&self.given);
        all.find(|(parameter, _)| parameter.name() == name)?
            .1
            .to_owned()
    }

    /// Returns true if a word is there.
    pub fn has(&self, word: &str) -> bool {
        self.number(word).is_some()
    }
}

impl PartialEq for Step {
    fn eq(&self, other: &Step) -> bool {
        self.recipe.id == other.recipe.id && self.given == other.given
    }
}

impl Eq for Step {}

impl std::hash::Hash for Step {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.recipe.id.hash(state);
        self.given.hash(state);
    }
}

impl FromStr for Step {
    type Err = StepError;

    fn from_str(text: &str) -> Result<Step, StepError> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let name = name.trim();
        let recipe = Recipe::named(name).ok_or_else(|| StepError::Recipe(name.to_owned()))?;
        let mut given = vec![None; recipe.parameters.len()];
        for part in rest.split(',').map(str::trim) {
            if part.is_empty() && rest.trim().is_empty() {
                continue;
            }
            let wrong = || StepError::Parameter {
                recipe: recipe.id,
                given: part.to_owned(),
                usage: recipe.usage,
            };
            let (name, number) = match part.split_once('=') {
                Some((name, number)) => (name.trim(), number.trim().parse().ok()),
                None => (part, None),
            };
            let takes = |parameter: &Parameter| match parameter {
                Parameter::Number(known) => *known == name && number.is_some(),
                Parameter::Word(known) => *known == part,
            };
            let place = recipe.parameters.iter().position(takes);
            let place = place.ok_or_else(wrong)?;
            let number = number.unwrap_or(1);
            if given[place].replace(number).is_some() {
                return Err(StepError::Twice {
                    recipe: recipe.id,
                    given: part.to_owned(),
                });
            }
        }
        Ok(Step { recipe, given })
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.recipe.id)?;
        let mut separator = ':';
        for (parameter, given) in self.recipe.parameters.iter().zip(&self.given) {
            let Some(number) = given else {
                continue;
            };
            match parameter {
                Parameter::Number(name) => write!(f, "{separator}{name}={number}")?,
                Parameter::Word(name) => write!(f, "{separator}{name}")?,
            }
            separator = ',';
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_reads_back_from_its_text() {
        for text in ["threadgroup:x=32,y=8", "threadgroup:x=256", "threadgroup"] {
            let step: Step = text.parse().expect("a step");
            assert_eq!(step.to_string(), text);
        }
        let step: Step = "threadgroup: y=8, x=32".parse().expect("a step");
        assert_eq!(step.to_string(), "threadgroup:x=32,y=8");
    }

    #[test]
    fn what_is_wrong_with_a_step_is_told_with_what_may_be_written() {
        let error = |text: &str| text.parse::<Step>().map(|_| ()).unwrap_err().to_string();
        assert!(error("threadgruop:x=1").starts_with("there is no recipe \"threadgruop\""));
        let usage = "write threadgroup:x=THREADS[,y=THREADS][,z=THREADS]";
        assert_eq!(
            error("threadgroup:w=1"),
            format!("threadgroup takes no \"w=1\"; {usage}")
        );
        assert_eq!(
            error("threadgroup:x=many"),
            format!("threadgroup takes no \"x=many\"; {usage}")
        );
        assert_eq!(
            error("threadgroup:x=1,x=2"),
            "threadgroup: \"x=2\" is there twice"
        );
    }
}
