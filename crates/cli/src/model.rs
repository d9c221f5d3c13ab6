//! The options that decide what a profile says.

use crate::api::Question;
use crate::failure::Failure;
use crate::generate::{CodeArgs, Generator};
use crate::launch::LaunchArgs;
use assay_agx::Isa;
use assay_chip::{Chip, CostModel, Parameter};
use assay_engine::Settings;
use assay_profile::Options;
use std::path::{Path, PathBuf};

/// Choices that decide what a profile says.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Model {
    /// The function; needed when there are several
    #[arg(short, long, value_name = "NAME")]
    pub(crate) function: Option<String>,

    /// The chip: m1, m1-pro, …, m2-ultra (see `assay chips`)
    #[arg(long, value_name = "NAME", default_value = assay_chip::DEFAULT_CHIP)]
    pub(crate) chip: String,

    /// Replace a figure of the chip; may be repeated
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) overrides: Vec<String>,

    /// Instruction costs: measured, or mesa to reproduce its compiler's statistics
    #[arg(long, value_name = "TABLE", default_value = "measured")]
    pub(crate) costs: CostModel,

    #[command(flatten)]
    pub(crate) launch: LaunchArgs,

    /// Latency of a device load: a number of cycles, or l1, l2, slc, dram
    #[arg(long, value_name = "CYCLES")]
    pub(crate) latency: Option<String>,

    /// Constants that assay calibrate measured, for the predicted time
    #[arg(long, value_name = "FILE")]
    pub(crate) chip_file: Option<PathBuf>,

    /// Instruction set of raw code (g13, g14, g15 for M3, M4 and A18) or of the code to generate
    /// (g13 or g14)
    #[arg(long, value_name = "NAME", default_value = "g13")]
    pub(crate) isa: Isa,

    #[command(flatten)]
    pub(crate) code: CodeArgs,
}

impl From<Question> for Model {
    fn from(question: Question) -> Self {
        Self {
            function: question.function,
            chip: question.chip,
            overrides: Vec::new(),
            costs: CostModel::default(),
            launch: question.launch.into(),
            latency: None,
            chip_file: None,
            isa: Isa::G13,
            code: CodeArgs::new(question.source, question.constants),
        }
    }
}

impl Model {
    /// The options, checked.
    pub(crate) fn options(&self) -> Result<Options, Failure> {
        let fail = |error: assay_chip::Error| Failure::usage(error.to_string());
        let mut chip = Chip::named(&self.chip).map_err(fail)?;
        for assignment in &self.overrides {
            chip = chip.with(assignment).map_err(fail)?;
        }
        Ok(Options {
            memory_latency: self.cycles(&chip)?,
            costs: self.costs,
            threadgroup: self.threadgroup()?,
            threadgroup_bytes: self.threadgroup_bytes()?,
            ..Options::new(chip)
        })
    }

    /// Threads of a threadgroup, at the first sizes.
    fn threadgroup(&self) -> Result<Option<[u32; 3]>, Failure> {
        let launch = self.launch.written()?;
        let Some(size) = launch.threadgroup(&launch.first_sizes()?)? else {
            return Ok(None);
        };
        let threads: u64 = size.iter().map(|&axis| u64::from(axis)).product();
        match threads {
            0 => Err(Failure::usage("--threadgroup: a threadgroup has threads")),
            1..=1024 => Ok(Some(size)),
            _ => Err(Failure::usage(format!(
                "--threadgroup: {threads} threads are more than a threadgroup may have (1024)"
            ))),
        }
    }

    /// Threadgroup memory: that of all arguments.
    fn threadgroup_bytes(&self) -> Result<Option<u32>, Failure> {
        let launch = self.launch.written()?;
        Ok(launch.threadgroup_bytes(&launch.first_sizes()?)?)
    }

    /// What makes the code of kernels that come without.
    pub(crate) fn generator(&self) -> Result<Generator<'_>, Failure> {
        Ok(Generator {
            constants: &self.code.values.constants,
            isa: self.isa,
            threadgroup: self.threadgroup()?,
        })
    }

    /// How kernels that come without machine code get some.
    pub(crate) fn settings(&self, path: &Path) -> Result<Settings, Failure> {
        Ok(Settings {
            threadgroup: self.threadgroup()?,
            ..self.code.settings(path, self.isa)
        })
    }

    fn cycles(&self, chip: &Chip) -> Result<Option<f64>, Failure> {
        let Some(asked) = self.latency.as_deref() else {
            return Ok(None);
        };
        let parameter = match asked {
            "l1" => Parameter::L1LatencyNs,
            "l2" => Parameter::L2LatencyNs,
            "slc" => Parameter::SlcLatencyNs,
            "dram" => Parameter::DramLatencyNs,
            _ => {
                let cycles = asked.parse::<f64>().ok();
                let fine = cycles.filter(|value| *value > 0.0 && *value < 1e6);
                return fine.map(Some).ok_or_else(|| {
                    Failure::usage(format!(
                        "--latency: `{asked}` is neither a number of cycles nor l1, l2, slc or dram"
                    ))
                });
            }
        };
        let known = chip
            .get(parameter)
            .zip(chip.get(Parameter::ClockGhz))
            .map(|(ns, ghz)| ns * ghz);
        known.map(Some).ok_or_else(|| {
            Failure::usage(format!(
                "--latency {asked}: nobody has published it for {}",
                chip.title
            ))
            .advice("give a number of cycles, or --chip m1, for which it is known")
        })
    }
}
