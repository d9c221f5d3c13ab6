//! The chip that was recorded: what its memory and its lanes could do.

use super::document::ChipInfo;
use super::stats::rounded;
use assay_chip::{Chip, Parameter};

/// What is known of a GPU by its name in a recording: `M1`, `Apple M2 Pro`.
pub(crate) fn of(gpu: &str) -> Option<Chip> {
    Chip::named(gpu.trim()).ok()
}

pub(crate) fn describe(chip: &Chip) -> ChipInfo {
    let peak = [
        Parameter::LanesPerCore,
        Parameter::Cores,
        Parameter::ClockGhz,
    ]
    .iter()
    .map(|&parameter| chip.get(parameter))
    .product::<Option<f64>>()
    .map(|lanes| rounded(lanes * 2.0));
    let bandwidth = chip.figure(Parameter::DramGbs);
    let mut note = format!("{} as the table of chips has it", chip.title);
    if let (Some(cores), true) = (chip.get(Parameter::Cores), chip.variants.len() > 1) {
        note.push_str(&format!(
            ", with {cores:.0} cores, the most it is sold with"
        ));
    }
    if let Some(figure) = bandwidth.filter(|figure| !figure.note.is_empty()) {
        note.push_str(&format!("; bandwidth {}", figure.note));
    }
    ChipInfo {
        name: chip.name.to_owned(),
        bandwidth_gbs: bandwidth.map(|figure| figure.value),
        peak_gflops: peak,
        note,
    }
}
