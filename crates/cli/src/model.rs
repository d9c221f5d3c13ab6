//! The options that decide what a profile says.

use crate::failure::Failure;
use crate::generate::{CodeArgs, Generator};
use assay_agx::Isa;
use assay_chip::{Chip, CostModel, Parameter};
use assay_profile::Options;

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

    /// Threads per threadgroup, for occupancy: 256 or 16,16,1
    #[arg(long, value_name = "X,Y,Z", value_parser = threadgroup)]
    pub(crate) threadgroup: Option<[u32; 3]>,

    /// Threadgroup memory in bytes, for occupancy
    #[arg(long, value_name = "BYTES")]
    pub(crate) tgmem: Option<u32>,

    /// Latency of a device load: a number of cycles, or l1, l2, slc, dram
    #[arg(long, value_name = "CYCLES")]
    pub(crate) latency: Option<String>,

    /// Instruction set of raw code, or of the code to generate: g13 or g14
    #[arg(long, value_name = "NAME", default_value = "g13")]
    pub(crate) isa: Isa,

    #[command(flatten)]
    pub(crate) code: CodeArgs,
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
            threadgroup: self.threadgroup,
            threadgroup_bytes: self.tgmem,
            ..Options::new(chip)
        })
    }

    /// How kernels that come without machine code get some.
    pub(crate) fn generator(&self) -> Generator<'_> {
        Generator {
            constants: &self.code.constants,
            isa: self.isa,
            threadgroup: self.threadgroup,
        }
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

fn threadgroup(text: &str) -> Result<[u32; 3], String> {
    let mut size = [1; 3];
    let mut parts = text.split([',', 'x']);
    for slot in &mut size {
        let Some(part) = parts.next() else {
            break;
        };
        *slot = part
            .trim()
            .parse()
            .ok()
            .filter(|&threads| threads > 0)
            .ok_or_else(|| format!("`{part}` is not a number of threads"))?;
    }
    if parts.next().is_some() {
        return Err("there are three axes at most".to_owned());
    }
    let threads: u64 = size.iter().map(|&axis| u64::from(axis)).product();
    if threads > 1024 {
        return Err(format!(
            "{threads} threads are more than a threadgroup may have (1024)"
        ));
    }
    Ok(size)
}
