//! Rows of `--reference-only`: references without the kernel.

use crate::report::{Reference, Row};
use assay_bench::measure::Rival;
use assay_bench::registry::{Case, Kernel, Resolved};

impl Row {
    /// References alone: right if one of them has a time and none is off; refused if none has a time.
    pub(crate) fn of_references(
        kernel: &Kernel,
        source: &Resolved,
        case: &Case,
        rivals: &[Rival],
    ) -> Self {
        let references: Vec<Reference> = rivals.iter().map(Reference::new).collect();
        let off = references.iter().filter(|one| one.right == Some(false));
        let findings: Vec<String> = off
            .map(|one| format!("{} is not right by the kernel's tolerance", one.name))
            .collect();
        let timed = references.iter().any(|one| one.figures.is_some());
        let failures = references.iter().filter_map(|one| one.failure.clone());
        Self {
            dtype: case.dtype.name().to_owned(),
            right: timed && findings.is_empty(),
            refused: (!timed).then(|| failures.collect::<Vec<_>>().join("; ")),
            findings,
            references,
            ..Self::of_source(kernel, source)
        }
    }
}
