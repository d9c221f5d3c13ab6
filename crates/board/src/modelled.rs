//! Predicted times: a class of their own. No GPU took them, so no query ranks them with results.

use crate::clock::utc;
use crate::error::Error;
use crate::query::Filter;
use crate::sql::{self, Failed, Row, values};
use crate::store::Board;
use serde::Serialize;

/// The predicted time of a source on a chip, by one version of the model.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Modelled {
    /// The kernel.
    pub kernel: String,
    /// Its element type.
    pub dtype: String,
    /// The name of its sizes.
    pub size_set: String,
    /// The hash of its source.
    pub source_hash: String,
    /// The chip.
    pub chip: String,
    /// Version of the model.
    pub model: String,
    /// Predicted milliseconds.
    pub time_ms: f64,
    /// Four of five kernels of the class lie between this and `high_ms`.
    pub low_ms: f64,
    /// See `low_ms`.
    pub high_ms: f64,
    /// What limits it.
    pub limited_by: String,
    /// When it was predicted, in UTC; set by the board.
    pub predicted_at: String,
}

impl Board {
    /// Keeps predicted times; a newer one of the same source, chip and model replaces the older.
    pub fn keep_modelled(&mut self, times: &[Modelled], now: i64) -> Result<(), Error> {
        self.write(|session| {
            for time in times {
                session.execute(
                    "INSERT INTO modelled (kernel, dtype, size_set, source, chip, model, time, low, high,
                        limited_by, predicted_at)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
                     ON CONFLICT (kernel, dtype, size_set, source, chip, model) DO UPDATE
                     SET time = excluded.time, low = excluded.low, high = excluded.high,
                         limited_by = excluded.limited_by, predicted_at = excluded.predicted_at",
                    &values![
                        &time.kernel,
                        &time.dtype,
                        &time.size_set,
                        &time.source_hash,
                        &time.chip,
                        &time.model,
                        time.time_ms / 1e3,
                        time.low_ms / 1e3,
                        time.high_ms / 1e3,
                        &time.limited_by,
                        now,
                    ],
                )?;
            }
            Ok(())
        })
    }

    /// Predicted times, by kernel and chip, the fastest first.
    pub fn modelled(&self, filter: &Filter) -> Result<Vec<Modelled>, Error> {
        let query = "SELECT kernel, dtype, size_set, source, chip, model, time, low, high, limited_by, predicted_at
                     FROM modelled ORDER BY kernel, dtype, size_set, chip, model, time";
        let mut found = self.read(|session| sql::rows(session, query, &[], modelled))?;
        let takes = |wanted: &[String], name: &String| wanted.is_empty() || wanted.contains(name);
        found.retain(|time| {
            filter.takes_kernel(&time.kernel)
                && filter.takes_device(&time.chip, Some(&time.chip))
                && takes(&filter.dtypes, &time.dtype)
                && takes(&filter.sizes, &time.size_set)
        });
        Ok(found)
    }
}

fn modelled(row: &Row) -> Result<Modelled, Failed> {
    let milliseconds = |name: &str| row.get::<f64>(name).map(|seconds| seconds * 1e3);
    Ok(Modelled {
        kernel: row.get("kernel")?,
        dtype: row.get("dtype")?,
        size_set: row.get("size_set")?,
        source_hash: row.get("source")?,
        chip: row.get("chip")?,
        model: row.get("model")?,
        time_ms: milliseconds("time")?,
        low_ms: milliseconds("low")?,
        high_ms: milliseconds("high")?,
        limited_by: row.get("limited_by")?,
        predicted_at: utc(row.get("predicted_at")?),
    })
}
