//! Constants of the model, measured: probes are executed here, timed by a GPU's clock, and solved for.

mod clock;
mod document;
#[cfg(test)]
mod modelled;
mod registry;

use crate::{Failure, World};
use assay_agx::Isa;
use assay_emu::Fill;
use assay_engine::code::Generator;
use assay_engine::front_error;
use assay_front::{Library, SourceOptions};
use assay_predict::calibrate::{Measured, Plan, Probe, SOURCE};
use assay_predict::{Argument, Dispatch, Execution, Memory, Sampling, execute};
use std::path::Path;

pub use clock::{Clock, Gpu, Simulated, Timed};
pub use document::Document;
pub use registry::{RegistryRow, table as registry_table};

/// What every probe executes, on code generated here.
pub fn executions(plan: &Plan, world: &World<'_>) -> Result<Vec<Execution>, Failure> {
    let path = Path::new("calibrate.metal");
    let text = assay_front::Source {
        path,
        text: SOURCE.as_bytes(),
    };
    let compiler = &*world.workspace.compiler;
    let library = Library::compile(text, compiler, &SourceOptions::default())
        .map_err(|error| front_error(path, error))?;
    let total = plan.probes.len();
    let one = |(done, probe): (usize, &Probe)| {
        let what = format!("executing {}", probe.name);
        world.listener.kernel(&what, done, total);
        let kernel = library
            .kernel(probe.function)
            .map_err(|error| Failure::input(error.to_string()))?;
        let generator = Generator {
            constants: &[],
            isa: Isa::G13,
            threadgroup: Some([probe.threadgroup, 1, 1]),
        };
        let made = generator.generate(kernel, &mut world.phases());
        let made = made.map_err(|refused| refused.error())?;
        let mut memory = Memory::new();
        let data = memory.add_on_touch(probe.bytes, Fill::Zero);
        let value = |number: u32| Argument::Bytes(number.to_le_bytes().to_vec());
        let dispatch = Dispatch {
            program: &made.program,
            grid: [probe.threads, 1, 1],
            threadgroup: [probe.threadgroup, 1, 1],
            arguments: vec![
                (0, Argument::Buffer(data?, 0)),
                (1, value(probe.turns)),
                (2, value(probe.mask)),
            ],
            threadgroup_memory: Vec::new(),
        };
        let sampling = Sampling {
            threadgroups: 6,
            ..Sampling::default()
        };
        execute(&dispatch, &mut memory, &sampling)
            .map_err(|error| Failure::input(format!("{}: {error}", probe.name)))
    };
    plan.probes.iter().enumerate().map(one).collect()
}

/// The times of all probes.
pub fn measured(
    plan: &Plan,
    executions: Vec<Execution>,
    clock: &mut dyn Clock,
    world: &World<'_>,
) -> Result<Vec<Measured>, Failure> {
    let mut measured = Vec::new();
    let total = plan.probes.len();
    for (done, (probe, execution)) in plan.probes.iter().zip(executions).enumerate() {
        let what = format!("measuring {}", probe.name);
        world.listener.kernel(&what, done, total);
        let Timed { time_us, spread } = clock.time(probe)?;
        measured.push(Measured {
            probe: probe.name.clone(),
            execution,
            dispatches: probe.dispatches,
            time_us,
            spread,
        });
    }
    Ok(measured)
}

#[cfg(test)]
mod tests {
    use super::modelled::ModelledGpu;
    use super::*;
    use crate::world::tests::world;
    use assay_chip::Chip;
    use assay_device::{CpuDevice, Settings};
    use assay_predict::calibrate::solve;
    use assay_predict::{Constants, Target};

    fn cpu() -> CpuDevice {
        let settings = Settings {
            compiler: Some(world().workspace.compiler),
            ..Settings::default()
        };
        CpuDevice::new(settings).unwrap()
    }

    #[test]
    fn a_gpu_s_constants_are_found_by_its_clock() {
        let chip = Chip::named("m2").unwrap();
        let plan = Plan::new(&chip);
        let Ok(executed) = executions(&plan, &world()) else {
            // No compiler for Metal source here.
            return;
        };
        let changes = [
            "launch_us=4.1",
            "request_cycles=1.3",
            "l2_latency=160",
            "barrier_cycles=52",
        ];
        let changes = changes.map(str::to_owned);
        let device = ModelledGpu {
            cpu: cpu(),
            clock: Simulated::new(&chip, &changes, &executed).unwrap(),
            probes: plan.probes.clone(),
            runs: 0,
        };
        let mut gpu = Gpu::on(Box::new(device), 4).unwrap();
        let measured = measured(&plan, executed, &mut gpu, &world()).unwrap();
        let solved = solve(&plan, &chip, &Constants::of(&chip), &measured).unwrap();
        let document = Document::new(&chip, &solved, &measured, "a modelled GPU");
        let mut target = Target::of(chip.clone());
        let file = document.file();
        file.apply(&mut target.chip, &mut target.constants);
        for change in changes {
            let (name, value) = change.split_once('=').unwrap();
            let found = target.constants.get(name).unwrap();
            let value: f64 = value.parse().unwrap();
            assert!(
                (found / value).ln().abs() < 0.05,
                "{name}: {found}, not {value}"
            );
        }
    }
}
