//! The JSON document of `assay rewrite`.

use assay_predict::Compared;
use assay_rewrite::recipe::{Class, Step};
use serde::Serialize;

#[cfg(test)]
use schemars::JsonSchema;

/// A kernel rewritten, or what could be done with it.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Document {
    /// The file.
    pub(super) file: String,
    /// The kernel.
    pub(super) kernel: String,
    /// The recipes that were applied, in order.
    pub(super) recipes: Vec<String>,
    /// `E`: the rewritten kernel leaves the same bytes; `R`: it adds floats in another order.
    pub(super) class: char,
    /// Grid and threadgroup of the original, as flags.
    pub(super) before: String,
    /// Grid and threadgroup of the rewritten kernel, as flags.
    pub(super) after: String,
    /// The whole launch of the rewritten kernel, as a comment in source says it.
    pub(super) launch: String,
    /// The rewritten kernel as Metal source, its launch in a comment; not there with `--list`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) source: Option<String>,
    /// With `--patch`: the change, as `git apply` reads it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) patch: Option<String>,
    /// Predicted times before and after: modelled; not there with `--list` or `--no-predict`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) predicted: Option<Compared>,
    /// Why nothing was predicted, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) not_predicted: Option<String>,
    /// With `--list`: what could be applied next.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) choices: Vec<Choice>,
}

/// A recipe that applies or not.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Choice {
    /// Its name; `assay explain` has its page.
    recipe: &'static str,
    /// As `class` of the document.
    class: char,
    /// The steps worth trying, as `--recipe` takes them.
    steps: Vec<String>,
    /// Why it does not apply, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
}

impl From<(&'static str, Class, Result<Vec<Step>, String>)> for Choice {
    fn from((recipe, class, steps): (&'static str, Class, Result<Vec<Step>, String>)) -> Choice {
        let (steps, refused) = match &steps {
            Ok(steps) => (steps.iter().map(ToString::to_string).collect(), None),
            Err(why) => (Vec::new(), Some(why.clone())),
        };
        Choice {
            recipe,
            class: class.letter(),
            steps,
            refused,
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_current() {
        crate::schema::check::<super::Document>("assay.rewrite", 1);
    }
}
