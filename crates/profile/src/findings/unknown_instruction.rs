//! Bytes that are no known instruction lie on an executed path.
//!
//! ## What it does
//! Lists the instructions the decoder does not know.
//!
//! ## Why it matters
//! Their registers and costs are unknown. Sums that contain them are lower bounds,
//! marked `≥`, and the verdict is refused rather than guessed.
//!
//! ## What to do
//! Check that the file is G13 or G14 code (M1, M2) and starts at an instruction. On a
//! Mac, `xcrun metal-tt -arch applegpu_g13g` compiles the same kernel for M1.

use super::{Finding, Look, Severity, counted, finding};

pub(super) fn check(look: &Look<'_>, out: &mut Vec<Finding>) {
    let main = look.main();
    let unknown: Vec<_> = main
        .cfg
        .reached()
        .flat_map(|(_, block)| block.ids())
        .filter(|&id| main.code.get(id).is_some_and(|entry| entry.is_unknown()))
        .collect();
    let (Some(&first), Some(&last)) = (unknown.first(), unknown.last()) else {
        return;
    };
    let message = format!(
        "{} of {} {} unknown; totals are lower bounds",
        unknown.len(),
        counted(main.instructions as usize, "instruction"),
        if unknown.len() == 1 { "is" } else { "are" }
    );
    out.push(finding(look, Severity::High, (first, last), message, None));
}
