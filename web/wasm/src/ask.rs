//! A question of the page.

use assay_chip::Chip;
use assay_engine::targets::changed;
use assay_engine::{Error, Settings};
use assay_front::{GivenConstant, SourceOptions};
use assay_launch::Written;
use assay_predict::Target;
use assay_profile::Options;
use serde::Deserialize;

/// What every question can say. Everything has the default that the program has.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Ask {
    /// The kernel, where there are several.
    pub(crate) function: Option<String>,
    /// A chip, or several with commas.
    pub(crate) chip: String,
    /// A launch as flags.
    pub(crate) launch: String,
    /// Metal's default arithmetic.
    pub(crate) fast_math: bool,
    /// Macros, `NAME` or `NAME=VALUE`.
    pub(crate) defines: Vec<String>,
    /// Values of function constants, as `--const` has them.
    pub(crate) constants: Vec<String>,
    /// Figures of the chip that are changed, as `--what-if` has them.
    pub(crate) what_if: Vec<String>,
    /// Operations a simdgroup may run in loops.
    pub(crate) max_steps: Option<u64>,
    /// Numbers of a buffer that are shown.
    pub(crate) numbers: Option<usize>,
    /// The program as it was read.
    pub(crate) as_read: bool,
}

impl Default for Ask {
    fn default() -> Self {
        Ask {
            function: None,
            chip: assay_chip::DEFAULT_CHIP.to_owned(),
            launch: String::new(),
            fast_math: true,
            defines: Vec::new(),
            constants: Vec::new(),
            what_if: Vec::new(),
            max_steps: None,
            numbers: None,
            as_read: false,
        }
    }
}

impl Ask {
    /// Reads a question.
    pub(crate) fn parse(text: &str) -> Result<Ask, Error> {
        if text.is_empty() {
            return Ok(Ask::default());
        }
        serde_json::from_str(text).map_err(|error| Error::usage(format!("the question: {error}")))
    }

    /// The launch that its flags describe.
    pub(crate) fn written(&self) -> Result<Written, Error> {
        let (_, written) = Written::parse(&self.launch)?;
        Ok(written)
    }

    /// How source is compiled.
    pub(crate) fn source(&self) -> SourceOptions {
        SourceOptions {
            fast_math: self.fast_math,
            defines: self.defines.clone(),
            ..SourceOptions::default()
        }
    }

    pub(crate) fn constants(&self) -> Result<Vec<GivenConstant>, Error> {
        let each = self.constants.iter().map(|text| {
            text.parse()
                .map_err(|error| Error::usage(format!("--const {text}: {error}")))
        });
        each.collect()
    }

    /// What decides a kernel's code and runs.
    pub(crate) fn settings(&self) -> Result<Settings, Error> {
        Ok(Settings {
            source: self.source(),
            constants: self.constants()?,
            threadgroup: self.threadgroup()?,
            max_steps: self.max_steps,
            ..Settings::default()
        })
    }

    /// Threads of a threadgroup, at the first sizes.
    fn threadgroup(&self) -> Result<Option<[u32; 3]>, Error> {
        let launch = self.written()?;
        Ok(launch.threadgroup(&launch.first_sizes()?)?)
    }

    /// The options of a profile.
    pub(crate) fn options(&self) -> Result<Options, Error> {
        let launch = self.written()?;
        let target = self.target()?;
        Ok(Options {
            threadgroup: self.threadgroup()?,
            threadgroup_bytes: launch.threadgroup_bytes(&launch.first_sizes()?)?,
            ..Options::new(target.chip)
        })
    }

    /// The chips.
    pub(crate) fn targets(&self) -> Result<Vec<Target>, Error> {
        let named: Vec<Chip> = match self.chip.as_str() {
            "all" => assay_chip::chips().to_vec(),
            list => {
                let named = list.split(',').map(|name| Chip::named(name.trim()));
                let named: Result<Vec<Chip>, _> = named.collect();
                named.map_err(|error| Error::usage(error.to_string()))?
            }
        };
        let targets = named.into_iter();
        targets
            .map(|chip| changed(Target::of(chip), &self.what_if))
            .collect()
    }

    /// The only chip.
    pub(crate) fn target(&self) -> Result<Target, Error> {
        let mut targets = self.targets()?;
        match (targets.pop(), targets.is_empty()) {
            (Some(target), true) => Ok(target),
            _ => Err(Error::usage("name one chip")),
        }
    }
}
