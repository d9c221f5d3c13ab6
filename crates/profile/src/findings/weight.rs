//! What a finding of an executed launch knows beyond its message: numbers seen, the time its removal brings, the cure.

use serde::Serialize;

/// The predicted time that goes away with a finding's effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeGain {
    /// Microseconds of the kernel, always `modelled`.
    pub us: f64,
    /// The same as a share of the kernel's time.
    pub share: f64,
    /// Four of five lie between this and `high_us`.
    pub low_us: f64,
    /// See `low_us`.
    pub high_us: f64,
}

impl TimeGain {
    /// In words: `1.4 ms (79 %; 1.3 ms to 1.6 ms), predicted`.
    pub fn words(&self) -> String {
        let time = |us: f64| assay_report::number::nanoseconds(us * 1e3);
        format!(
            "{} ({:.0} %; {} to {}), predicted",
            time(self.us),
            100.0 * self.share,
            time(self.low_us),
            time(self.high_us)
        )
    }
}

/// A figure that was seen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Seen {
    /// What was counted: `lines per access`.
    pub name: &'static str,
    /// How many.
    pub value: f64,
    /// How many would do, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub would_do: Option<f64>,
}

/// What to do about a finding.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cure {
    /// In a sentence.
    pub advice: String,
    /// The line as it is, and as it could be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// See `before`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// A command that applies it, to copy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// What it was predicted to bring when it was applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gain: Option<TimeGain>,
    /// Recipes that were tried and not taken, with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
}
