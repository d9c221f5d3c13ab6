//! Predictions of stored cases, and where each set was measured.

use crate::Result;
use crate::case::Set;
use crate::store::Stored;
use assay_chip::{Chip, Parameter};
use assay_predict::{Cache, CommandBuffer, Constants, Prediction, Repeated, predict};
use rayon::prelude::*;

/// The chip of a set and the numbers of cores it may have had.
pub fn chip(set: Set) -> Result<(Chip, &'static [u32])> {
    let (name, cores): (&str, &[u32]) = match set {
        Set::MetalBench => ("m2", &[8]),
        Set::MetalSci => ("m1-pro", &[14, 16]),
        Set::GemmMetal => ("m3", &[10]),
        Set::Bkvogel => ("m1-max", &[24, 32]),
        Set::AppleNumerical => ("m1", &[8]),
        Set::Crynux => ("m1-max", &[32]),
    };
    Ok((with_cores(&Chip::named(name)?, cores[0]), cores))
}

/// The chip with another number of cores.
pub fn with_cores(chip: &Chip, cores: u32) -> Chip {
    let mut chip = chip.clone();
    chip.set(Parameter::Cores, f64::from(cores));
    chip
}

/// The prediction of one case, as measured: warm.
pub fn prediction(case: &Stored, chip: &Chip, constants: &Constants) -> Result<Prediction> {
    let buffer = CommandBuffer {
        dispatches: case
            .executions
            .iter()
            .map(|execution| Repeated {
                execution,
                times: 1,
            })
            .collect(),
        times: case.repeat,
    };
    Ok(predict(&buffer, chip, constants, Cache::Warm)?)
}

/// Predicted over measured times; not a number where there is no prediction.
pub fn ratios(cases: &[&Stored], chip: &Chip, constants: &Constants) -> Vec<f64> {
    cases
        .par_iter()
        .map(|case| match prediction(case, chip, constants) {
            Ok(prediction) => prediction.time_us / case.measured_us,
            Err(_) => f64::NAN,
        })
        .collect()
}

/// Roofline and five microseconds: what people do without a model.
pub fn roofline(case: &Stored, chip: &Chip) -> Option<f64> {
    let (operations, bytes) = case.work?;
    let peak = chip.peak_flops()?;
    let bandwidth = chip.get(Parameter::DramGbs)? * 1e9;
    let seconds = (operations / peak).max(bytes / bandwidth);
    Some((seconds * 1e6 + 5.0) / case.measured_us)
}
