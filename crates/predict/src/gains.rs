//! What a resource twice as large would bring: the same executions, predicted again.

use crate::constants::Constants;
use crate::error::Error;
use crate::execution::{Execution, Stop};
use crate::predict::{Cache, CommandBuffer, Repeated, predict};
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
const RESOURCES: [(&str, Double); 10] = [
    ("cores", |chip, _| double(chip, Parameter::Cores)),
    ("arithmetic rate", |_, constants| {
        constants.issue_efficiency *= 2.0;
    }),
    ("load/store rate", |chip, constants| {
        on_core(chip, 2.0);
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
    ("speed of answers from memory", |_, constants| {
        for latency in latencies(constants) {
            *latency /= 2.0;
        }
    }),
    ("launch rate of threadgroups", |_, constants| {
        constants.group_cycles /= 2.0;
        constants.simdgroup_cycles /= 2.0;
    }),
];

/// As good as without limit.
const ENDLESS: f64 = 1e6;

/// Terms of the time, and the chip that does not have them. What only the code can change (dependences, the complex unit) is
/// not among them.
const TERMS: [(&str, Double); 10] = [
    ("launch", |_, constants| {
        (constants.launch_us, constants.between_us) = (0.0, 0.0)
    }),
    ("arithmetic", |_, constants| {
        constants.issue_efficiency *= ENDLESS
    }),
    ("instruction cache", |_, constants| {
        constants.fetch_latency = 0.0
    }),
    ("load/store unit", |chip, constants| {
        on_core(chip, ENDLESS);
        (
            constants.access_cycles,
            constants.request_cycles,
            constants.line_cycles,
        ) = (0.0, 0.0, 0.0);
    }),
    ("threadgroup memory", |_, constants| {
        (constants.local_row_cycles, constants.local_conflict_cycles) = (0.0, 0.0);
        constants.local_latency = 0.0;
    }),
    ("L2 bandwidth", |_, constants| {
        constants.l2_bytes_per_cycle *= ENDLESS
    }),
    ("SLC bandwidth", |_, constants| {
        constants.slc_bytes_per_cycle *= ENDLESS;
        constants.slc_ratio *= ENDLESS;
    }),
    ("DRAM bandwidth", |_, constants| {
        constants.dram_efficiency *= ENDLESS
    }),
    ("memory latency", |_, constants| {
        for latency in latencies(constants) {
            *latency = 0.0;
        }
    }),
    ("threadgroup launch", |_, constants| {
        (constants.group_cycles, constants.simdgroup_cycles) = (0.0, 0.0);
    }),
];

/// The term that is waiting for each other: the chip that does not have it runs programs without barriers.
const BARRIERS: &str = "barriers";

/// The same execution in which no simdgroup waits for another.
fn without_barriers(execution: &Execution) -> Execution {
    let mut execution = execution.clone();
    for run in &mut execution.runs {
        if run.stop == Stop::Barrier {
            run.stop = Stop::End;
        }
    }
    execution
}

/// Cycles and nanoseconds until memory answers.
fn latencies(constants: &mut Constants) -> [&mut f64; 4] {
    [
        &mut constants.l1_latency,
        &mut constants.l2_latency,
        &mut constants.slc_latency_ns,
        &mut constants.dram_latency_ns,
    ]
}

/// Multiplies the bytes per cycle between L1 and registers, which few chips publish.
fn on_core(chip: &mut Chip, times: f64) {
    let parameter = Parameter::OnCoreBytesPerCycle;
    let value = chip.get(parameter).unwrap_or(ON_CORE);
    chip.set(parameter, times * value);
}

/// Bytes per cycle between L1 and registers where a chip's are not published.
const ON_CORE: f64 = 64.0;

fn double(chip: &mut Chip, parameter: Parameter) {
    if let Some(value) = chip.get(parameter) {
        chip.set(parameter, 2.0 * value);
    }
}

/// The time without each term that a chip could do without.
pub(crate) fn removals(
    buffer: &CommandBuffer<'_>,
    chip: &Chip,
    constants: &Constants,
    state: Cache,
) -> Result<Vec<Gain>, Error> {
    let mut gains = Vec::new();
    for (resource, change) in TERMS {
        let (mut chip, mut constants) = (chip.clone(), *constants);
        change(&mut chip, &mut constants);
        gains.push(Gain {
            resource,
            time_us: predict(buffer, &chip, &constants, state)?.time_us,
        });
    }
    let dispatches = buffer.dispatches.iter();
    let open: Vec<Execution> = dispatches
        .map(|one| without_barriers(one.execution))
        .collect();
    let dispatches = open.iter().zip(&buffer.dispatches);
    let open = CommandBuffer {
        dispatches: dispatches
            .map(|(execution, one)| Repeated {
                execution,
                times: one.times,
            })
            .collect(),
        times: buffer.times,
    };
    gains.push(Gain {
        resource: BARRIERS,
        time_us: predict(&open, chip, constants, state)?.time_us,
    });
    Ok(gains)
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
