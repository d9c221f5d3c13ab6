//! Recipes: rewritings of a kernel that keep what it computes.
//!
//! A [`Candidate`] is a kernel with its geometry, a [`Step`] a recipe with its parameters. [`apply`] makes another
//! candidate of one, or says why not; [`choices`] says which steps are worth trying. [`RECIPES`] is the list of all of
//! them: one file each, whose comment is the manual page.
//!
//! ```
//! use assay_rewrite::recipe::{Candidate, Geometry, Step, apply};
//!
//! let module = assay_ssa::parse(
//!     "module \"m\"\n\
//!      kernel \"k\" f0 {\n\
//!          \"out\" buffer 0 param 0 space device write type \"float\" size 4 align 4\n\
//!          \"i\" builtin thread_position_in_grid type \"uint\"\n}\n\
//!      function f0 \"k\" -> void {\n\
//!      b0(v0: ptr.device):\n\
//!          v1: i32 = call thread_position_in_grid()\n\
//!          v2: ptr.device = ptr_add v0 + zext v1 * 4\n\
//!          store v2, f32 0.5 align 4\n\
//!          return\n}\n",
//! )?;
//! let geometry = Geometry::threads("N", "64")?;
//! let candidate = Candidate { module, kernel: "k".to_owned(), geometry };
//! let step: Step = "threadgroup:x=256".parse()?;
//! let applied = apply(&candidate, &step)?;
//! assert_eq!(applied.candidate.geometry.threadgroup[0].text(), "256");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod address_sum;
mod arguments;
mod block;
mod candidate;
mod coarsen;
mod copy;
mod counted;
mod edit;
mod geometry;
mod imply;
mod independent;
mod jam;
mod landmarks;
mod matrices;
pub mod patch;
mod persistent;
mod pointer_walk;
mod positions;
mod reduction;
mod refusal;
mod simdgroup_rows;
mod specialize;
mod split_loop;
mod spread_loop;
mod stage;
mod step;
mod swap_axes;
mod threadgroup;
mod tile;
mod vectorize;

#[cfg(test)]
#[path = "tests.rs"]
mod programs;

pub use candidate::{Applied, Candidate, Class};
pub use geometry::{AXES, Geometry, Number};
pub use landmarks::Landmarks;
pub use refusal::{Refusal, RefusalKind};
pub use step::{Parameter, Step, StepError};

use assay_report::rule::Rule;

/// A recipe: what it is called, what it promises, how it is applied.
#[derive(Debug)]
pub struct Recipe {
    /// Its name in steps: `coarsen`.
    pub id: &'static str,
    /// What its result is like at worst; [`Applied::class`] says it of one application.
    pub class: Class,
    /// How its parameters are written: `x=FACTOR[,block|strided]`.
    pub usage: &'static str,
    /// The parameters it takes.
    pub parameters: &'static [Parameter],
    file: &'static str,
    apply: fn(&Candidate, &Step) -> Result<Applied, Refusal>,
    propose: fn(&Candidate) -> Vec<Step>,
}

impl Recipe {
    /// Its manual page.
    pub fn rule(&self) -> Rule {
        Rule::new(self.id, self.file)
    }

    /// The recipe of a name.
    pub fn named(id: &str) -> Option<&'static Recipe> {
        RECIPES.iter().find(|recipe| recipe.id == id)
    }
}

/// All recipes, in the order they are worth trying.
pub const RECIPES: &[Recipe] = &[
    threadgroup::RECIPE,
    swap_axes::RECIPE,
    coarsen::RECIPE,
    specialize::RECIPE,
    simdgroup_rows::RECIPE,
    split_loop::RECIPE,
    vectorize::RECIPE,
    stage::RECIPE,
    block::RECIPE,
    matrices::RECIPE,
    persistent::RECIPE,
    patch::INTERLEAVE,
    patch::PAD,
    patch::COMBINE_ATOMICS,
    patch::SHARE_BRANCH,
    patch::RELAX_BARRIER,
];

/// The manual pages of all recipes.
pub fn rules() -> Vec<Rule> {
    RECIPES.iter().map(Recipe::rule).collect()
}

/// Applies a step.
pub fn apply(candidate: &Candidate, step: &Step) -> Result<Applied, Refusal> {
    let recipe = step.recipe();
    let applied = (recipe.apply)(candidate, step)?;
    applied.candidate.verified()?;
    Ok(applied)
}

/// What a recipe offers a candidate.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The recipe.
    pub recipe: &'static Recipe,
    /// The steps that apply, or why none does.
    pub steps: Result<Vec<Step>, Refusal>,
}

/// For each recipe the steps that are worth trying and apply, or why it does not.
pub fn choices(candidate: &Candidate) -> Vec<Choice> {
    let choice = |recipe: &'static Recipe| {
        let mut steps = Vec::new();
        let mut refused = None;
        for step in (recipe.propose)(candidate) {
            match apply(candidate, &step) {
                Ok(_) => steps.push(step),
                Err(refusal) => refused = refused.or(Some(refusal)),
            }
        }
        let nothing = || Refusal::new(RefusalKind::NothingToDo, "nothing here is of its kind");
        let steps = if steps.is_empty() {
            Err(refused.unwrap_or_else(nothing))
        } else {
            Ok(steps)
        };
        Choice { recipe, steps }
    };
    RECIPES.iter().map(choice).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recipe_has_a_page_with_the_headings() {
        for recipe in RECIPES {
            let page = recipe.rule().page();
            for heading in [
                "## What it does",
                "## When it applies",
                "## When it hurts",
                "## Example",
            ] {
                assert!(page.contains(heading), "{} lacks {heading}", recipe.id);
            }
            assert!(recipe.rule().title().ends_with('.'), "{}", recipe.id);
        }
    }
}
