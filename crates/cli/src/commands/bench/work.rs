//! From kernels through the device to a report.

use super::Args;
use super::report::{Report, Row};
use crate::commands::board::save::{self, Extras, Saver};
use crate::context::Context;
use crate::failure::{Failure, Kind};
use crate::{interrupt, toolchain};
use assay_bench::Dtype;
use assay_bench::gate;
use assay_bench::measure::{self, Measurement};
use assay_bench::registry::{Case, Kernel, Registry, Resolved};
use assay_bench::runner::Loaded;
use assay_bench::stats::StopRule;
use assay_board::Subject;
use assay_device::{CpuDevice, Error, Settings};
use assay_msl::Compiler;
use indicatif::{ProgressBar, ProgressStyle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Time that one kernel may take for one submission.
const TIMEOUT: Duration = Duration::from_secs(600);

pub(super) fn run(
    args: &Args,
    registry: &Registry,
    kernels: &[&Kernel],
    context: &Context,
) -> Result<Report, Failure> {
    if args.source.is_some() && kernels.len() != 1 {
        return Err(
            Failure::usage("--source is for one kernel").advice("name the kernel it stands for")
        );
    }
    let saver = match args.no_save || args.no_time {
        true => Saver::nowhere(),
        false => Saver::open(args.board.as_deref(), context)?,
    };
    interrupt::cooperate();
    let compiler = toolchain::find()?;
    let settings = Settings {
        compiler: Some(compiler.clone()),
        cache: toolchain::cache_folder(),
        timeout: Some(TIMEOUT),
        cancel: Some(interrupt::flag()),
        ..Settings::default()
    };
    let device = CpuDevice::new(settings);
    let device = device.map_err(|error| Failure::new(Kind::Missing, error.to_string()))?;
    let mut work = Work {
        args,
        device,
        seed: args.seed.unwrap_or_else(fresh_seed),
        compiler,
        saver,
    };
    let bar = progress(kernels.len(), context);
    let mut rows = Vec::new();
    for kernel in kernels {
        bar.set_message(kernel.name.clone());
        rows.extend(work.kernel(registry, kernel)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(Report::new(work.seed, rows, work.saver.told()))
}

struct Work<'a> {
    args: &'a Args,
    device: CpuDevice,
    seed: u64,
    compiler: Compiler,
    saver: Saver,
}

impl Work<'_> {
    /// The rows of a kernel, one per element type.
    fn kernel(&mut self, registry: &Registry, kernel: &Kernel) -> Result<Vec<Row>, Failure> {
        let source = self.source(registry, kernel)?;
        let loaded = Loaded::compile(&mut self.device, &source.path, &source.text);
        let mut loaded = loaded.map_err(|error| failure(&kernel.name, &error))?;
        let wanted = |dtype: &&Dtype| self.args.dtype.is_empty() || self.args.dtype.contains(dtype);
        let dtypes: Vec<Dtype> = kernel.dtypes.iter().filter(wanted).copied().collect();
        let mut rows = Vec::new();
        for dtype in dtypes {
            let plan = match self.args.quick {
                true => gate::Plan::quick(self.seed),
                false => gate::Plan::full(self.seed),
            };
            let plan = gate::Plan {
                dtypes: vec![dtype],
                ..plan
            };
            let verdict = gate::examine(&mut self.device, &mut loaded, kernel, &plan);
            let verdict = verdict.map_err(|error| match error {
                gate::Error::Device(error) => failure(&kernel.name, &error),
                other => Failure::input(other.to_string()),
            })?;
            let case = Case::new(kernel, &self.args.sizes, dtype);
            let case = case.map_err(|error| Failure::usage(format!("{}: {error}", kernel.name)))?;
            let time = match verdict.is_right() && !self.args.no_time {
                true => self.time(&mut loaded, &case)?,
                false => None,
            };
            let mut row = Row::new(kernel, &source, &case, &verdict, time.as_ref());
            if let Some(measured) = &time {
                let subject = Subject {
                    kernel,
                    source: &source,
                    case: &case,
                };
                let extras = Extras {
                    remarks: row.remarks(),
                    reference: None,
                };
                let setting = save::here(measured, Some(&self.compiler));
                let saved = self
                    .saver
                    .save(subject, &verdict, measured, setting, extras)?;
                row.set_saved(saved);
            }
            rows.push(row);
        }
        Ok(rows)
    }

    fn source(&self, registry: &Registry, kernel: &Kernel) -> Result<Resolved, Failure> {
        let Some(path) = &self.args.source else {
            let source = registry.source(kernel, self.args.chip.as_deref());
            return source.map_err(|error| Failure::input(error.to_string()));
        };
        let shown = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| Failure::input(format!("{shown}: {error}")))?;
        let own = |text: &str| assay_bench::registry::flatten(&shown, text, registry.headers());
        // Headers of the registry may be used; others are looked for beside the file by the compiler.
        let text = own(&text).unwrap_or(text);
        Ok(Resolved {
            hash: assay_bench::registry::hash(&text),
            path: shown,
            text,
        })
    }

    fn time(&mut self, loaded: &mut Loaded, case: &Case) -> Result<Option<Measurement>, Failure> {
        let stop = match self.args.quick {
            true => StopRule {
                least: 5,
                most: 50,
                precision: 0.02,
                time: Duration::from_millis(300),
            },
            false => StopRule::default(),
        };
        let plan = measure::Plan {
            seed: self.seed,
            warm_up: 3,
            stop,
        };
        let measured = measure::measure(&mut self.device, loaded, case, &plan);
        measured.map_err(|error| failure(&case.kernel, &error))
    }
}

/// A seed that nobody knows before.
fn fresh_seed() -> u64 {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    assay_bench::random::Random::new(now.as_nanos() as u64 ^ u64::from(std::process::id())).bits()
}

fn progress(kernels: usize, context: &Context) -> ProgressBar {
    if !context.progress || kernels < 2 {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(kernels as u64);
    let style = ProgressStyle::with_template("{pos} of {len} kernels, {msg}");
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn failure(kernel: &str, error: &Error) -> Failure {
    let kind = match error {
        Error::Compiler(_) => Kind::Missing,
        _ => Kind::Input,
    };
    Failure::new(kind, format!("{kernel}: {error}"))
}
