//! From a file to the programs in it, for every command that profiles.

use crate::failure::{Failure, Kind};
use crate::input;
use assay_agx::{Isa, Program, assemble};
use assay_chip::{Chip, CostModel, Parameter};
use assay_container::{Contents, Extracted, SelectError, raw_program};
use assay_profile::{Options, Profile, Symbol};
use std::path::Path;

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

    /// Instruction set of raw code: g13 or g14
    #[arg(long, value_name = "NAME", default_value = "g13")]
    pub(crate) isa: Isa,
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

/// A program and the names of its functions.
pub(crate) struct Loaded {
    pub(crate) program: Program,
    symbols: Vec<Symbol>,
}

impl Loaded {
    fn new(extracted: Extracted) -> Loaded {
        Loaded {
            symbols: extracted
                .symbols
                .iter()
                .map(|symbol| Symbol {
                    name: symbol.name.clone(),
                    offset: symbol.range.start,
                })
                .collect(),
            program: extracted.program,
        }
    }

    /// Profiles it.
    pub(crate) fn profile(&self, options: &Options) -> Result<Profile, Failure> {
        let options = Options {
            symbols: self.symbols.clone(),
            ..options.clone()
        };
        Profile::new(&self.program, &options).map_err(|error| match error {
            assay_profile::Error::Chip(error) => Failure::usage(error.to_string())
                .advice("machine code of M1 and M2 has known costs: --chip m1 … m2-ultra"),
            error => Failure::input(error.to_string()),
        })
    }
}

/// The programs of a file: the one named, or all.
pub(crate) fn programs(
    path: &Path,
    function: Option<&str>,
    isa: Isa,
) -> Result<Vec<Loaded>, Failure> {
    let bytes = input::open(path)?;
    let shown = path.display().to_string();
    if bytes.is_empty() {
        return Err(Failure::input(format!(
            "{shown} is empty: there is no code in it"
        )));
    }
    let name = path
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned())
        .filter(|stem| stem != "-")
        .unwrap_or_default();
    let name = function.unwrap_or(&name);
    let raw = |code: &[u8]| {
        vec![Loaded {
            program: raw_program(isa, name, code),
            symbols: Vec::new(),
        }]
    };
    if let Ok(text) = std::str::from_utf8(&bytes) {
        if let Some(code) = listing(text) {
            return Ok(raw(&code));
        }
        let is_assembly = path
            .extension()
            .is_some_and(|extension| extension == "agx" || extension == "s");
        if is_assembly {
            let assembly = assemble(isa, text, 0)
                .map_err(|error| Failure::input(format!("{shown}: {error}")))?;
            return Ok(raw(&assembly.code));
        }
    }
    let fail = |error: assay_container::Error| with_advice(&shown, &error, error.advice());
    let contents = assay_container::open(&bytes).map_err(fail)?;
    if let Contents::Code(code) = contents {
        return Ok(raw(code));
    }
    let labels = labels(&contents, function);
    let mut found = Vec::new();
    for label in labels {
        let mut extracted = contents
            .program(label.as_deref())
            .map_err(|error| select_failure(&shown, &error))?;
        if extracted.program.name.is_empty() {
            extracted.program.name = label.unwrap_or_else(|| name.to_owned());
        }
        found.push(Loaded::new(extracted));
    }
    Ok(found)
}

/// The functions to open: the one asked for, the only one, or each in turn.
fn labels(contents: &Contents<'_>, function: Option<&str>) -> Vec<Option<String>> {
    if let Some(name) = function {
        return vec![Some(name.to_owned())];
    }
    let mut names: Vec<Option<String>> = Vec::new();
    for (index, compiled) in contents.compiled().iter().enumerate() {
        let label = compiled
            .name
            .as_deref()
            .map_or_else(|| format!("#{index}"), str::to_owned);
        if !names.iter().flatten().any(|known| *known == label) {
            names.push(Some(label));
        }
    }
    match names.len() {
        0 | 1 => vec![None],
        _ => names,
    }
}

fn with_advice(shown: &str, error: &dyn std::fmt::Display, advice: Option<&str>) -> Failure {
    let failure = Failure::input(format!("{shown}: {error}"));
    match advice {
        Some(advice) => failure.advice(advice),
        None => failure,
    }
}

fn select_failure(shown: &str, error: &SelectError) -> Failure {
    match error {
        SelectError::NoMachineCode { .. } => Failure::new(
            Kind::Missing,
            format!("{shown}: {error}; only machine code can be profiled so far"),
        )
        .advice(error.advice().unwrap_or_default()),
        _ => with_advice(shown, error, error.advice()),
    }
}

/// The code of a listing with tabs: `offset ⇥ hex ⇥ anything`.
fn listing(text: &str) -> Option<Vec<u8>> {
    let mut code = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        if line.starts_with('#') {
            continue;
        }
        let mut columns = line.split('\t');
        u64::from_str_radix(columns.next()?.trim_start_matches("0x"), 16).ok()?;
        let hex = columns.next()?;
        if hex.is_empty() || hex.len() % 2 != 0 || !hex.is_ascii() {
            return None;
        }
        for at in (0..hex.len()).step_by(2) {
            code.push(u8::from_str_radix(hex.get(at..at + 2)?, 16).ok()?);
        }
    }
    (!code.is_empty()).then_some(code)
}
