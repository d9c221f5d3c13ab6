//! Predicted GPU times beside the times of this CPU: modelled, never mixed with measured ones.

use crate::World;
use crate::prediction::{library, of_case};
use crate::report::Row;
use assay_bench::registry::{Case, Resolved};
use assay_engine::execution::Code;
use assay_engine::prediction::{predicted, stage};
use assay_predict::{Cache, MODEL, Predicted, Sampling, Target};
use serde::{Deserialize, Serialize};

/// The predicted time on a chip.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Modelled {
    /// The chip.
    pub chip: String,
    /// Always `modelled`: no GPU measured this.
    pub basis: String,
    /// Version of the model.
    pub model: String,
    /// The time; absent when there is a reason why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<ModelledTime>,
    /// Why there is no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// A predicted time.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelledTime {
    /// Microseconds.
    pub time_us: f64,
    /// Four of five kernels of the class lie between this and `high_us`.
    pub low_us: f64,
    /// See `low_us`.
    pub high_us: f64,
    /// What limits it.
    pub limited_by: String,
    /// The code is that of another generation.
    pub stand_in: bool,
}

impl From<Predicted> for ModelledTime {
    fn from(predicted: Predicted) -> ModelledTime {
        ModelledTime {
            time_us: predicted.time_us,
            low_us: predicted.low_us,
            high_us: predicted.high_us,
            stand_in: predicted.is_stand_in(),
            limited_by: predicted.limited_by,
        }
    }
}

/// The predicted times of a case. What cannot be predicted says why; it never makes a kernel wrong.
pub(crate) fn times(
    case: &Case,
    resolved: &Resolved,
    targets: &[Target],
    world: &World<'_>,
) -> Vec<Modelled> {
    if targets.is_empty() {
        return Vec::new();
    }
    let workspace = &world.workspace;
    let executed = library(workspace, resolved)
        .and_then(|library| of_case(workspace, case, &library, &Sampling::default()));
    let one = |target: &Target| {
        let time = match &executed {
            Ok(passes) => {
                (workspace.begun)(&stage("", target));
                predicted("", Code::Generated, passes, 1, target, Cache::Warm)
            }
            Err(failure) => Err(failure.clone()),
        };
        Modelled {
            chip: target.chip.name.to_owned(),
            basis: "modelled".to_owned(),
            model: MODEL.to_owned(),
            refused: time.as_ref().err().map(|failure| failure.message.clone()),
            time: time.ok().map(ModelledTime::from),
        }
    };
    targets.iter().map(one).collect()
}

/// The predicted times as the board keeps them.
pub(crate) fn for_board(row: &Row, case: &Case) -> Vec<assay_board::Modelled> {
    let with_time = row.modelled.iter();
    let with_time = with_time.filter_map(|one| one.time.as_ref().map(|time| (one, time)));
    let kept = with_time.map(|(one, time)| assay_board::Modelled {
        kernel: row.name.clone(),
        dtype: row.dtype.clone(),
        size_set: case.size_set.clone(),
        source_hash: row.source_hash.clone(),
        chip: one.chip.clone(),
        model: one.model.clone(),
        time_ms: time.time_us / 1e3,
        low_ms: time.low_us / 1e3,
        high_ms: time.high_us / 1e3,
        limited_by: time.limited_by.clone(),
        predicted_at: String::new(),
    });
    kept.collect()
}
