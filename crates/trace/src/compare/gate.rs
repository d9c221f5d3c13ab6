//! Limits on a comparison: `slower:5%`.

use super::document::{GateResult, Metric};

/// A limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// As written.
    pub text: String,
    /// The metric it looks at.
    pub metric: &'static str,
    /// The largest change allowed, as a fraction.
    pub limit: f64,
}

/// Names of gates, and the metrics they look at. All of these are better when lower.
const GATES: [(&str, &str); 9] = [
    ("slower", "time"),
    // As the gate's configuration names it.
    ("time", "time"),
    ("busy", "busy"),
    ("idle", "idle"),
    ("executions", "executions"),
    ("dispatches", "dispatches"),
    ("bytes", "bytes"),
    ("buffers", "command-buffers"),
    ("latency", "latency"),
];

impl std::str::FromStr for Gate {
    type Err = String;

    /// ```
    /// let gate: assay_trace::Gate = "slower:5%".parse()?;
    /// assert_eq!((gate.metric, gate.limit), ("time", 0.05));
    /// # Ok::<(), String>(())
    /// ```
    fn from_str(text: &str) -> Result<Self, String> {
        let names = GATES.map(|(name, _)| name);
        let (at, limit) = assay_report::limit::parse(text, &names)?;
        Ok(Gate {
            text: text.to_owned(),
            metric: GATES[at].1,
            limit,
        })
    }
}

/// A gate fails when the change exceeds the limit and is not called noise; a `strict`
/// one fails on noise, too.
pub(crate) fn check(gate: &Gate, metrics: &[Metric], strict: bool) -> GateResult {
    let metric = metrics.iter().find(|metric| metric.metric == gate.metric);
    let change = metric.and_then(|metric| metric.change);
    let noisy = metric.and_then(|metric| metric.significant) == Some(false);
    let noise = metric.and_then(|metric| metric.noise).unwrap_or(0.0) * 100.0;
    let limit = gate.limit * 100.0;
    let (failed, explanation) = match change {
        None => (
            true,
            format!(
                "{} is not known of both runs, so the limit cannot be checked",
                gate.metric
            ),
        ),
        Some(change) => {
            let exceeded = change > gate.limit;
            let relation = if exceeded { "more than" } else { "within" };
            let mut text = format!(
                "{} changed by {:+.2} %, {relation} {limit} %",
                gate.metric,
                change * 100.0
            );
            if exceeded && noisy {
                text.push_str(&format!(
                    ", but not more than its noise of {noise:.1} %: record longer to be sure"
                ));
            }
            (exceeded && (strict || !noisy), text)
        }
    };
    GateResult {
        gate: gate.text.clone(),
        metric: gate.metric.to_owned(),
        limit: gate.limit,
        change,
        failed,
        explanation,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metric(change: f64, noise: Option<f64>) -> Metric {
        Metric {
            metric: "time".to_owned(),
            description: String::new(),
            unit: String::new(),
            before: Some(1.0),
            after: Some(1.0 + change),
            change: Some(change),
            noise,
            significant: noise.map(|noise| change.abs() > noise),
            lower_is_better: Some(true),
        }
    }

    #[test]
    fn a_change_called_noise_fails_strict_gates_only() {
        let gate: Gate = "slower:5%".parse().expect("a gate");
        for (change, noise, strict, failed) in [
            (0.08, Some(0.10), false, false),
            (0.08, Some(0.10), true, true),
            (0.08, Some(0.02), false, true),
            (0.04, Some(0.02), true, false),
            // Nothing says that it is noise.
            (0.08, None, false, true),
        ] {
            let result = check(&gate, &[metric(change, noise)], strict);
            assert_eq!(result.failed, failed, "{change} {noise:?} {strict}");
        }
    }

    #[test]
    fn gates_are_named_and_have_a_percentage() {
        for bad in [
            "slower",
            "slower:",
            "slower:x",
            "slower:-5%",
            "faster:5%",
            "slower:inf",
        ] {
            assert!(bad.parse::<Gate>().is_err(), "{bad}");
        }
        assert_eq!(
            "idle: 2.5".parse::<Gate>().map(|gate| gate.limit),
            Ok(0.025)
        );
    }
}
