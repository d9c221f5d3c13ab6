//! One candidate of a search, evaluated for somebody else: what `assay tune --fleet` asks of workers.
//!
//! Every answer of a workbench is a function of the genome, so it does not matter which machine gives it.

use super::args::{LevelName, SearchArgs};
use crate::failure::Failure;
use assay_tune::attempts::{self, Genome, Geometry, Outcome, Verified};
use assay_tune::session::{Level, Workbench};
use serde::{Deserialize, Serialize};

/// What became of a candidate.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Document {
    /// What makes it of the original.
    pub(super) genome: Genome,
    /// What was made, if it could be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) made: Option<Made>,
    /// Its predicted time, or why it has none; where it was not proven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) outcome: Option<Outcome>,
    /// What was proven, where that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) proof: Option<Proof>,
}

/// A candidate that was made.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Made {
    /// The fingerprint of program and geometry.
    pub(super) program: String,
    /// `E` if it computes the same bytes, `R` if floats are added in another order.
    pub(super) class: String,
    /// How it is dispatched.
    pub(super) geometry: Geometry,
    /// Its source.
    pub(super) source: String,
}

/// What was proven.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(super) enum Proof {
    /// It computes what it should.
    Verified(Verified),
    /// It does not.
    Failed(attempts::Failure),
}

impl From<LevelName> for Level {
    fn from(name: LevelName) -> Self {
        match name {
            LevelName::Quick => Self::Quick,
            LevelName::Full => Self::Full,
            LevelName::HeldOut => Self::HeldOut,
        }
    }
}

/// Evaluates the candidate that the command line names.
pub(super) fn evaluate<W: Workbench>(args: &SearchArgs, bench: &W) -> Result<Document, Failure> {
    let text = args.candidate.as_deref().unwrap_or_default();
    let genome: Genome = serde_json::from_str(text)
        .map_err(|error| Failure::usage(format!("--candidate: {error}")))?;
    let mut document = Document {
        genome,
        made: None,
        outcome: None,
        proof: None,
    };
    if let Some(level) = args.prove {
        document.proof = Some(match bench.verify(&document.genome, level.into()) {
            Ok(verified) => Proof::Verified(verified),
            Err(failure) => Proof::Failed(failure),
        });
        return Ok(document);
    }
    let outcome = match bench.prepare(&document.genome) {
        Err(failure) => Err(failure),
        Ok(prepared) => {
            let predicted = bench.predict(&prepared);
            document.made = Some(Made {
                program: prepared.program,
                class: prepared.class,
                geometry: prepared.geometry,
                source: prepared.source,
            });
            predicted
        }
    };
    document.outcome = Some(match outcome {
        Ok(prediction) => Outcome::Timed(prediction),
        Err(failure) => Outcome::Failed(failure),
    });
    Ok(document)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_current() {
        crate::schema::check::<super::Document>("assay.tune-candidate", 1);
    }
}
