//! What a resource twice as large would bring: the same executions, predicted again.

use crate::constants::Constants;
use crate::error::Error;
use crate::predict::{Cache, CommandBuffer, predict};
use assay_chip::{Chip, Parameter};
use serde::Serialize;

/// A resource and the time if the chip had twice as much of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Gain {
    /// The resource.
    pub resource: &'static str,
    /// Predicted microseconds with twice of it.
    pub time_us: f64,
}

/// The names of resources that can be doubled.
pub fn resources() -> impl Iterator<Item = &'static str> {
    RESOURCES.iter().map(|(name, _)| *name)
}

/// Changes a chip and the constants.
type Double = fn(&mut Chip, &mut Constants);

/// Resources that can be doubled.
const RESOURCES: [(&str, Double); 9] = [
    ("cores", |chip, _| double(chip, Parameter::Cores)),
    ("arithmetic rate", |_, constants| {
        constants.issue_efficiency *= 2.0;
    }),
    ("load/store rate", |_, constants| {
        constants.access_cycles /= 2.0;
        constants.request_cycles /= 2.0;
        constants.line_cycles /= 2.0;
    }),
    ("threadgroup memory rate", |_, constants| {
        constants.local_row_cycles /= 2.0;
        constants.local_conflict_cycles /= 2.0;
    }),
    ("L2 bandwidth", |_, constants| {
        constants.l2_bytes_per_cycle *= 2.0;
    }),
    ("SLC and DRAM bandwidth", |chip, constants| {
        double(chip, Parameter::DramGbs);
        constants.slc_bytes_per_cycle *= 2.0;
    }),
    ("cache sizes", |_, constants| {
        constants.l1_share *= 2.0;
        constants.l2_share *= 2.0;
        constants.slc_share *= 2.0;
    }),
    (
        "registers and threadgroup memory size",
        |chip, constants| {
            double(chip, Parameter::RegisterFileKib);
            double(chip, Parameter::ThreadgroupMemoryKib);
            double(chip, Parameter::MaxResidentThreads);
            constants.resident_threads *= 2.0;
        },
    ),
    ("launch rate of threadgroups", |_, constants| {
        constants.group_cycles /= 2.0;
        constants.simdgroup_cycles /= 2.0;
    }),
];

fn double(chip: &mut Chip, parameter: Parameter) {
    if let Some(value) = chip.get(parameter) {
        chip.set(parameter, 2.0 * value);
    }
}

/// The time with each resource doubled, the most useful first.
pub fn gains(
    buffer: &CommandBuffer<'_>,
    chip: &Chip,
    constants: &Constants,
    state: Cache,
) -> Result<Vec<Gain>, Error> {
    let mut gains = Vec::new();
    for (resource, change) in RESOURCES {
        let (mut chip, mut constants) = (chip.clone(), *constants);
        change(&mut chip, &mut constants);
        gains.push(Gain {
            resource,
            time_us: predict(buffer, &chip, &constants, state)?.time_us,
        });
    }
    gains.sort_by(|a, b| a.time_us.total_cmp(&b.time_us));
    Ok(gains)
}
