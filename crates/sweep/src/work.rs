//! From kernels through the device to a report.

use crate::engine::Engine;
use crate::references::References;
use crate::report::{OnBoard, Report, Row, Time};
use crate::resume::Sweep;
use crate::saver::Extras;
use crate::score::Scores;
use crate::{Failure, Kind, Question, Saver, World};
use crate::{challenge, includes, modelled, profile, select, turn};
use assay_bench::Dtype;
use assay_bench::gate;
use assay_bench::lock::Lock;
use assay_bench::measure::{self, Cache, Measurement, WarmUp};
use assay_bench::reference::Clock;
use assay_bench::registry::{Case, Kernel, Registry, Resolved};
use assay_bench::runner::Loaded;
use assay_bench::score::Peaks;
use assay_bench::stats::StopRule;
use assay_board::{Place, Provenance, Raced, Setting, Subject, Timed};
use assay_chip::Chip;
use assay_device::{Device, Error, Origin};
use std::time::Duration;

/// Samples that nobody limited.
const MOST_SAMPLES: usize = 1_000_000;
/// How long times may take to become stable.
const WARM_UP: Duration = Duration::from_secs(3);
const QUICK_WARM_UP: Duration = Duration::from_millis(100);

/// Examines kernels, times those that are right, and saves what was measured.
pub fn run(
    asked: &Question,
    chosen: &select::Kernels<'_>,
    saver: Saver,
    world: &World<'_>,
) -> Result<Report, Failure> {
    if asked.source.is_some() && chosen.sound.len() != 1 {
        return Err(
            Failure::usage("--source is for one kernel").advice("name the kernel it stands for")
        );
    }
    let engine = Engine::on(asked.device, asked.quick, asked.timeout, world)?;
    let name = engine.device.facts().name.clone();
    let environment = (world.environment)(asked.device, &name, engine.compiler.as_ref());
    let references = References::start(asked, world)?;
    if asked.reference_only && references.all.is_empty() {
        return Err(Failure::usage("--reference-only without a reference")
            .advice("name one: --reference mlx, oracle, torch or cmd:COMMAND"));
    }
    let mut sweep = Sweep::open(asked, chosen, &references, world)?;
    let chip = match (&asked.chip, environment.chip()) {
        (None, Some(chip)) => Ok(chip),
        (None, None) => Chip::named(assay_chip::DEFAULT_CHIP),
        (Some(name), _) => Chip::named(name),
    };
    let chip = chip.map_err(|error| Failure::usage(error.to_string()))?;
    let mut work = Work {
        asked,
        engine,
        references,
        peaks: environment.chip().as_ref().and_then(Peaks::of),
        chip,
        seed: sweep.seed,
        goes_on: sweep.goes_on,
        saver,
        world,
    };
    let mut rows: Vec<Row> = chosen
        .broken
        .iter()
        .map(|broken| Row::refused(&broken.name, broken.set.name(), broken.error.to_string()))
        .collect();
    for (number, kernel) in chosen.sound.iter().enumerate() {
        world
            .listener
            .kernel(&kernel.name, number, chosen.sound.len());
        rows.extend(work.kernel(chosen.registry, kernel, &mut sweep)?);
    }
    sweep.finish();
    let (seed, saved) = (work.seed, work.saver.told());
    let target = asked.target.name();
    Ok(Report::new(seed, environment, target, rows, saved))
}

struct Work<'a> {
    asked: &'a Question,
    engine: Engine,
    references: References,
    /// Of the chip that is measured, if it is one.
    peaks: Option<Peaks>,
    /// For profiles.
    chip: Chip,
    seed: u64,
    /// True if an interrupted sweep goes on.
    goes_on: bool,
    saver: Saver,
    world: &'a World<'a>,
}

/// Why there is no row: the kernel's own failure, or one that ends everything.
enum Refusal {
    Kernel(String),
    All(Failure),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        match error {
            Error::Cancelled => Self::All(
                Failure::new(Kind::Interrupted, "stopped on request")
                    .advice("the same command with --resume goes on from here"),
            ),
            Error::NoDevice(_) => Self::All(Failure::new(Kind::Missing, error.to_string())),
            Error::Source(diagnostics) => {
                let all: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
                let all = all.join("\n");
                // What is wrong with a source has a place in it.
                let placed = diagnostics.iter().any(|one| one.place.is_some());
                Self::Kernel(match placed {
                    true => format!("does not compile: {all}"),
                    false => format!("the compiler failed: {all}"),
                })
            }
            Error::Compiler(why) => Self::Kernel(format!("the compiler failed: {why}")),
            other => Self::Kernel(other.to_string()),
        }
    }
}

impl Work<'_> {
    /// The rows of a kernel, one per element type.
    fn kernel(
        &mut self,
        registry: &Registry,
        kernel: &Kernel,
        sweep: &mut Sweep,
    ) -> Result<Vec<Row>, Failure> {
        let source = match self.source(registry, kernel) {
            Ok(source) => source,
            Err(why) => {
                return Ok(vec![Row::refused(&kernel.name, kernel.set.name(), why)]);
            }
        };
        let dtypes = kernel.dtypes.iter().copied();
        let dtypes: Vec<Dtype> = dtypes.filter(|dtype| self.asked.wants(*dtype)).collect();
        let mut loaded = None;
        let mut rows = Vec::new();
        for dtype in dtypes {
            if self.asked.reference_only {
                let _lock = self.lock(&kernel.name)?;
                rows.push(self.references_alone(kernel, &source, dtype)?);
                continue;
            }
            if let Some(row) = sweep.known(&kernel.name, dtype, &source.hash) {
                rows.push(row);
                continue;
            }
            let _lock = self.lock(&kernel.name)?;
            // While this one waited, another sweep may have finished it.
            if let Some(row) = sweep.known(&kernel.name, dtype, &source.hash) {
                rows.push(row);
                continue;
            }
            (self.world.workspace.begun)(&format!("examining {} in {}", kernel.name, dtype.name()));
            let description = registry.provenance(kernel);
            let row = match self.row(kernel, &description, &source, dtype, &mut loaded) {
                Ok(row) => row,
                Err(Refusal::All(failure)) => return Err(failure),
                Err(Refusal::Kernel(why)) => {
                    Row::refused_source(kernel, &source, dtype.name(), why)
                }
            };
            sweep.finished(dtype, &row);
            rows.push(row);
        }
        Ok(rows)
    }

    fn row(
        &mut self,
        kernel: &Kernel,
        description: &str,
        source: &Resolved,
        dtype: Dtype,
        loaded: &mut Option<Loaded>,
    ) -> Result<Row, Refusal> {
        let case = Case::new(kernel, &self.asked.sizes, dtype);
        let case = case
            .map_err(|error| Refusal::All(Failure::usage(format!("{}: {error}", kernel.name))))?;
        let device = &mut *self.engine.device;
        let loaded = match loaded {
            Some(loaded) => loaded,
            None => {
                let compiled = Loaded::compile(device, &source.path, &source.text)?;
                if self.asked.source.is_some() {
                    has_functions(device, &compiled, &case, source)?;
                }
                loaded.insert(compiled)
            }
        };
        let seed = self.seed;
        let verdict = self.engine.examine(loaded, kernel, source, &case, seed);
        let verdict = verdict.map_err(|error| match error {
            gate::Error::Device(error) => error.into(),
            other => Refusal::Kernel(other.to_string()),
        })?;
        let subject = Subject {
            kernel,
            source,
            case: &case,
            provenance: Provenance {
                description,
                foreign: self.asked.kernels.is_some(),
                quick: self.asked.quick,
                seeded: self.asked.seed.is_some(),
            },
        };
        let (measured, raced) = match verdict.is_right() && !self.asked.no_time {
            true => self.measure(loaded, subject)?,
            false => (None, None),
        };
        let time = measured.as_ref().and_then(|measured| {
            let scores = Scores::new(&case, measured, self.asked.target, self.peaks.as_ref())?;
            Some(Time::new(&case, measured, scores))
        });
        let mut row = Row::new(kernel, source, &case, &verdict, time);
        row.first_launch_ms = loaded.first_launch().map(|time| time.as_secs_f64() * 1e3);
        if let Some(wrong) = measured.as_ref().and_then(wrong_when_timed) {
            row.right = false;
            row.findings.push(wrong);
        }
        if let Some(measured) = &measured {
            row.board = self.save(subject, &verdict, measured, &row, raced)?;
        }
        row.modelled = modelled::times(&case, source, &self.asked.targets, self.world);
        if row.right {
            let kept = modelled::for_board(&row, &case);
            self.saver
                .keep_modelled(&kept, (self.world.now)())
                .map_err(Refusal::All)?;
        }
        if self.asked.profile {
            row.profile =
                profile::passes(&case, source, &self.chip, self.world).map_err(Refusal::All)?;
        }
        Ok(row)
    }

    /// What references take, without the kernel.
    fn references_alone(
        &mut self,
        kernel: &Kernel,
        source: &Resolved,
        dtype: Dtype,
    ) -> Result<Row, Failure> {
        let case = Case::new(kernel, &self.asked.sizes, dtype);
        let case = case.map_err(|error| Failure::usage(format!("{}: {error}", kernel.name)))?;
        let plan = plan(self.asked, self.seed);
        let rivals = measure::references(&case, &plan, &mut self.references.all);
        if self.world.is_stopped() {
            return Err(Failure::new(Kind::Interrupted, "stopped on request"));
        }
        Ok(Row::of_references(kernel, source, &case, &rivals))
    }

    fn source(&self, registry: &Registry, kernel: &Kernel) -> Result<Resolved, String> {
        let Some(own) = &self.asked.source else {
            let source = registry.source(kernel, self.asked.chip.as_deref());
            return source.map_err(|error| error.to_string());
        };
        let text = own.text.as_ref().map_err(Clone::clone)?;
        includes::whole(&own.path, text, registry.headers(), self.world.read)
    }

    /// Times a kernel, in turns with references and with whoever holds the record at its place.
    fn measure(
        &mut self,
        loaded: &mut Loaded,
        subject: Subject<'_>,
    ) -> Result<(Option<Measurement>, Option<Raced>), Refusal> {
        let plan = plan(self.asked, self.seed);
        let place = Place::of(subject, &self.setting(plan.cache), self.origin());
        let holder = self.saver.holder(&place).map_err(Refusal::All)?;
        let holder = holder.filter(|held| held.hash != subject.source.hash);
        let device = &mut *self.engine.device;
        let references = &mut self.references.all;
        let case = subject.case;
        let Some(held) = holder else {
            let measured = measure::measure(device, loaded, case, &plan, references)?;
            return Ok((measured, None));
        };
        let source = subject.source;
        challenge::run(device, loaded, source, &held, case, &plan, references)
            .map_err(Refusal::from)
    }

    fn origin(&self) -> Origin {
        self.engine.device.facts().origin
    }

    /// Where runs of this command are taken.
    fn setting(&self, cache: Cache) -> Setting {
        let mut setting = (self.world.setting)(self.origin(), self.engine.compiler.as_ref());
        if cache == Cache::Cold {
            setting.mode = cache.name().to_owned();
        }
        setting
    }

    /// Puts a run on the board.
    fn save(
        &mut self,
        subject: Subject<'_>,
        verdict: &gate::Verdict,
        measured: &Measurement,
        row: &Row,
        raced: Option<Raced>,
    ) -> Result<Option<OnBoard>, Refusal> {
        let extras = Extras {
            remarks: row
                .time
                .as_ref()
                .map_or_else(Vec::new, |time| time.remarks.clone()),
            reference: by_the_same_clock(measured),
            raced,
        };
        let setting = self.setting(measured.cache);
        if self.goes_on {
            let place = Place::of(subject, &setting, self.origin());
            let known = self.saver.known(&place, &subject.source.hash, self.seed);
            if let Some(run) = known.map_err(Refusal::All)? {
                return Ok(Some(OnBoard::known(run)));
            }
        }
        let saved = self.saver.save(subject, verdict, measured, setting, extras);
        let saved = saved.map_err(Refusal::All)?;
        Ok(saved.map(|saved| OnBoard::new(&saved)))
    }

    /// One benchmark at a time: waits until nobody else has the device.
    fn lock(&self, kernel: &str) -> Result<Option<Lock>, Failure> {
        if self.asked.no_time {
            return Ok(None);
        }
        turn::wait(self.asked.device, kernel, self.world).map(Some)
    }
}

/// What the timed runs themselves say against a kernel.
fn wrong_when_timed(measured: &Measurement) -> Option<String> {
    match (&measured.examined.wrong, measured.steady_results) {
        (Some(wrong), _) => Some(format!("while it was timed: {wrong}")),
        (None, false) => Some(
            "while it was timed: results were others than for the same inputs before, or something else changed"
                .to_owned(),
        ),
        (None, true) => None,
    }
}

/// The first reference whose times are by the clock of the kernel's: others say nothing beside them.
fn by_the_same_clock(measured: &Measurement) -> Option<Timed> {
    let same = |clock| {
        matches!(
            (clock, measured.origin),
            (Clock::Host, Origin::Host) | (Clock::Gpu, Origin::Measured)
        )
    };
    let mut rivals = measured.rivals.iter().filter(|rival| same(rival.clock));
    rivals.find_map(|rival| {
        Some(Timed {
            name: rival.name.clone(),
            samples: rival.times.as_ref().ok()?.samples.clone(),
        })
    })
}

/// How to measure.
fn plan(asked: &Question, seed: u64) -> measure::Plan {
    let usual = usual_plan(asked.quick, seed);
    let stop = match asked.iters.map(|samples| samples as usize) {
        Some(samples) => StopRule {
            least: samples,
            most: samples.min(MOST_SAMPLES),
            time: Duration::MAX,
            ..usual.stop
        },
        None => usual.stop,
    };
    measure::Plan {
        warm_up: asked.warmup.map_or(usual.warm_up, WarmUp::Runs),
        stop,
        cache: match asked.cold_start {
            true => Cache::Cold,
            false => Cache::Rotating,
        },
        ..usual
    }
}

/// How to measure when nothing else is said.
pub(crate) fn usual_plan(quick: bool, seed: u64) -> measure::Plan {
    let stop = match quick {
        true => StopRule {
            least: 5,
            most: 50,
            precision: 0.02,
            time: Duration::from_millis(300),
        },
        false => StopRule::default(),
    };
    let until = if quick { QUICK_WARM_UP } else { WARM_UP };
    measure::Plan {
        seed,
        warm_up: WarmUp::UntilStable(until),
        stop,
        cache: Cache::Rotating,
    }
}

/// Refuses a source of the user's that has other functions than the kernel it stands for.
fn has_functions(
    device: &mut dyn Device,
    loaded: &Loaded,
    case: &Case,
    source: &Resolved,
) -> Result<(), Refusal> {
    let names = loaded.functions(device)?;
    let wanted = case.passes.iter().map(|pass| &pass.function);
    let Some(missing) = wanted.into_iter().find(|name| !names.contains(name)) else {
        return Ok(());
    };
    let (path, held, kernel) = (&source.path, names.join(", "), &case.kernel);
    let message =
        format!("{path} has no kernel named {missing}, which {kernel} calls; it has {held}");
    Err(Refusal::All(Failure::usage(message).advice(format!(
        "rename it to {missing}, with the arguments of assay bench {kernel} --describe; or judge it by itself: assay run {path} --oracle 'y[i] = 2 * x[i]'"
    ))))
}
