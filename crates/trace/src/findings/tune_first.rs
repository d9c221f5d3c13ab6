//! `tune-first`.

use super::{Facts, finding, part_of, rule, with_gain};
use crate::analysis::document::{Finding, Severity};

rule! {
    /// ## What it does
    /// Names the kernel of a recorded program whose distance from its roof costs the program most: bytes it touches at the chip's
    /// bandwidth, or float operations at its peak, against its predicted time.
    ///
    /// ## Why it matters
    /// What a faster kernel brings is bounded by its share of the program (Amdahl's law). A kernel far from its roof that takes 2 % of the
    /// time is not worth a day; one at its roof cannot become faster.
    ///
    /// ## What to do
    /// `assay predict` and `assay profile` say what holds the kernel up, `assay tune` searches for a faster one. `--full` ranks all
    /// kernels.
    ///
    /// ## Gain
    /// The report gives the program's time with this kernel at its roof, which no kernel quite reaches: an upper bound.
    "tune-first",
    check
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let program = facts.analysis.program.as_ref()?;
    let far = program.kernels.iter().filter(|kernel| kernel.share >= 0.05);
    let far = far.filter(|kernel| kernel.of_roof.is_some_and(|part| part < 0.7));
    let gain = |kernel: &crate::document::KernelTime| kernel.program_gain.unwrap_or(0.0);
    let first = far.max_by(|a, b| gain(a).total_cmp(&gain(b)))?;
    let severity = match gain(first) {
        much if much >= 0.2 => Severity::High,
        some if some >= 0.05 => Severity::Medium,
        _ => return None,
    };
    with_gain(
        finding(
            &RULE,
            severity,
            format!(
                "{} takes {:.0} % of the GPU time (modelled) in {} dispatches and reaches {:.0} % of its roof, limited by {}",
                first.kernel,
                100.0 * first.share,
                first.dispatches,
                100.0 * first.of_roof.unwrap_or(0.0),
                first.limited_by
            ),
            "tune this kernel first, on the launches of this recording: assay tune --program RECORDING -f KERNEL",
            "high",
        ),
        format!(
            "at its roof the program takes {} less",
            part_of(gain(first) * program.gpu_ms, program.gpu_ms)
        ),
    )
}
