//! Times of probes: by a GPU's clock, or by the model of a chip that is not there.

use crate::{Failure, Kind};
use assay_chip::Chip;
use assay_device::{
    Binding, CompileOptions, Device, Dispatch, Error, Extent, LibraryId, MetalSettings, Origin,
    Source, Storage,
};
use assay_engine::targets::changed;
use assay_predict::calibrate::{Measured, Plan, Probe, SOURCE};
use assay_predict::{Execution, Target};
use std::path::Path;
use std::time::{Duration, Instant};

/// A measured time.
pub struct Timed {
    /// Microseconds.
    pub(crate) time_us: f64,
    /// Half the distance of the runs' quartiles, as a share of the time.
    pub(crate) spread: f64,
}

/// Whatever tells the time of a probe.
pub trait Clock {
    fn time(&mut self, probe: &Probe) -> Result<Timed, Failure>;
}

/// The GPU of this machine.
pub struct Gpu {
    pub(crate) device: Box<dyn Device>,
    library: LibraryId,
    pub(crate) runs: u32,
}

/// A GPU that idles lowers its clock: so long it is kept busy before times count.
const WARM_UP: Duration = Duration::from_millis(60);

/// Seconds that one command buffer may take.
const SECONDS: u64 = 20;

impl Gpu {
    /// Opens it; each kernel is timed so many times.
    pub fn open(runs: u32) -> Result<Gpu, Failure> {
        let settings = MetalSettings {
            timeout: Some(Duration::from_secs(SECONDS)),
            ..MetalSettings::default()
        };
        let device = assay_device::open_metal(settings).map_err(|error| {
            Failure::new(Kind::Missing, error.to_string()).advice(
                "calibration needs a Mac's GPU: run it there, bring the file here and give it with --chip-file; \
                 --simulate FIGURE=VALUE tries it on a simulated GPU",
            )
        })?;
        Gpu::on(device, runs)
    }

    pub(crate) fn on(mut device: Box<dyn Device>, runs: u32) -> Result<Gpu, Failure> {
        let source = Source {
            path: Path::new("calibrate.metal"),
            text: SOURCE,
        };
        let library = device.compile(source, &CompileOptions::default());
        Ok(Gpu {
            library: library.map_err(refused)?,
            device,
            runs,
        })
    }

    /// The fastest of so many runs of dispatches, once the GPU is warm.
    pub(crate) fn best(&mut self, dispatches: &[Dispatch]) -> Result<Timed, Failure> {
        let begun = Instant::now();
        let mut warm = 0;
        while warm < 2 || (begun.elapsed() < WARM_UP && warm < 1000) {
            self.once(dispatches)?;
            warm += 1;
        }
        let times: Result<Vec<f64>, Failure> =
            (0..self.runs).map(|_| self.once(dispatches)).collect();
        Ok(Timed::of(times?))
    }

    /// Microseconds of one run.
    fn once(&mut self, dispatches: &[Dispatch]) -> Result<f64, Failure> {
        let finished = self.device.run(dispatches.to_vec()).map_err(refused)?;
        let total = finished.time().map_err(refused)?;
        match total.origin {
            Origin::Measured => Ok(total.length.as_secs_f64() * 1e6),
            Origin::Host => Err(Failure::new(
                Kind::Missing,
                "the device has no GPU clock: times of this CPU say nothing about a GPU",
            )),
        }
    }
}

impl Timed {
    fn of(mut times: Vec<f64>) -> Timed {
        times.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let place = share * times.len().saturating_sub(1) as f64;
            times.get(place as usize).copied().unwrap_or(0.0)
        };
        let least = at(0.0);
        Timed {
            time_us: least,
            spread: (at(0.75) - at(0.25)) / 2.0 / least.max(f64::MIN_POSITIVE),
        }
    }
}

impl Clock for Gpu {
    fn time(&mut self, probe: &Probe) -> Result<Timed, Failure> {
        let pipeline = self.device.pipeline(self.library, probe.function, &[]);
        let pipeline = pipeline.map_err(refused)?;
        let buffer = self.device.buffer(probe.bytes, Storage::Private);
        let buffer = buffer.map_err(refused)?;
        let value = |number: u32| Binding::Bytes(number.to_le_bytes().to_vec());
        let dispatch = Dispatch::new(
            pipeline,
            Extent::Threads([probe.threads, 1, 1]),
            [probe.threadgroup, 1, 1],
        )
        .bind(0, Binding::Buffer { buffer, offset: 0 })
        .bind(1, value(probe.turns))
        .bind(2, value(probe.mask));
        let dispatches = vec![dispatch; probe.dispatches as usize];
        let timed = self.best(&dispatches);
        self.device.release(buffer).map_err(refused)?;
        timed
    }
}

pub(super) fn refused(error: Error) -> Failure {
    Failure::input(error.to_string())
}

/// The model of a chip whose constants were changed.
#[derive(Debug)]
pub struct Simulated {
    target: Target,
    probes: Vec<Measured>,
}

impl Simulated {
    /// Of a chip with figures changed.
    pub fn new(
        chip: &Chip,
        changes: &[String],
        executions: &[Execution],
    ) -> Result<Simulated, Failure> {
        let target = changed(Target::of(chip.clone()), changes)?;
        let probes = Plan::new(chip).probes.into_iter().zip(executions);
        let probes = probes.map(|(probe, execution)| Measured {
            probe: probe.name,
            execution: execution.clone(),
            dispatches: probe.dispatches,
            time_us: 0.0,
            spread: 0.0,
        });
        Ok(Simulated {
            target,
            probes: probes.collect(),
        })
    }
}

impl Clock for Simulated {
    fn time(&mut self, probe: &Probe) -> Result<Timed, Failure> {
        let found = self.probes.iter().find(|known| known.probe == probe.name);
        let found = found.ok_or_else(|| Failure::input(format!("no probe {}", probe.name)))?;
        let Target {
            chip, constants, ..
        } = &self.target;
        Ok(Timed {
            time_us: found.predicted(chip, constants)?,
            spread: 0.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Timed;

    #[test]
    fn the_fastest_run_counts_and_the_quartiles_say_how_steady_it_was() {
        let timed = Timed::of(vec![14.0, 10.0, 11.0, 30.0, 12.0]);
        assert_eq!(timed.time_us, 10.0);
        assert!((timed.spread - 0.15).abs() < 1e-9, "{}", timed.spread);
    }
}
