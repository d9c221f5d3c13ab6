//! `assay.toml`: which kernels, how they are launched, on which chips, and what must hold.

use crate::accept::Accept;
use crate::figure::{Figure, known};
use crate::program::Program;
use crate::right::Right;
use crate::weakened::Part;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The configuration of a repository.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Chips that times are predicted for; the first one with known costs decides occupancy.
    #[serde(default = "default_chips")]
    pub chips: Vec<String>,
    /// Where figures are kept between commits; without it, kernels are compared with a commit.
    pub baseline: Option<String>,
    /// How much worse figures may become.
    #[serde(default)]
    pub tolerance: BTreeMap<String, Tolerance>,
    /// What figures may be at most (occupancy: at least), whatever they were before.
    #[serde(default)]
    pub limits: BTreeMap<String, f64>,
    /// What to do about figures that grew while the predicted time fell.
    #[serde(default)]
    pub when_faster: WhenFaster,
    /// Operations a simdgroup may run in loops before a run counts as endless.
    pub max_steps: Option<u64>,
    /// Seconds that one run may take on this CPU.
    pub max_seconds: Option<f64>,
    /// Kernels; the first group that a kernel is in decides.
    #[serde(default)]
    pub kernels: Vec<Group>,
    /// Launches by kernel.
    #[serde(default)]
    pub launch: BTreeMap<String, OneOrMany>,
    /// Oracles by kernel.
    #[serde(default)]
    pub oracle: BTreeMap<String, Oracle>,
    /// Programs whose GPU time is held, where running them is asked for.
    #[serde(default)]
    pub program: Vec<Program>,
    /// Changes that are meant to be.
    #[serde(default)]
    pub accept: Vec<Accept>,
    /// What a pull request may weaken of this file, by the names of its parts. The base's list counts.
    #[serde(default)]
    pub may_change: Vec<String>,
    /// What a command line asks for.
    #[serde(skip)]
    pub only: Only,
}

/// A part of the kernels; empty lists stand for all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Only {
    /// Files, by path.
    pub files: Vec<String>,
    /// Kernels, as globs.
    pub functions: Vec<String>,
}

impl Only {
    fn has_file(&self, file: &str) -> bool {
        self.files.is_empty() || self.files.iter().any(|only| only == file)
    }

    fn has_function(&self, function: &str) -> bool {
        self.functions.is_empty() || self.functions.iter().any(|glob| matches(glob, function))
    }
}

fn default_chips() -> Vec<String> {
    vec!["m2".to_owned()]
}

/// Kernels that are treated alike.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Files, as globs.
    pub files: Vec<String>,
    /// Files that are left out, as globs.
    #[serde(default)]
    pub exclude: Vec<String>,
    /// Kernels of those files, as globs; all of them when empty.
    #[serde(default)]
    pub functions: Vec<String>,
    /// Macros, `NAME` or `NAME=VALUE`.
    #[serde(default)]
    pub defines: Vec<String>,
    /// Folders for `#include`.
    #[serde(default)]
    pub include: Vec<String>,
    /// Files that a host program puts before the source.
    #[serde(default)]
    pub before: Vec<String>,
    /// Values of function constants, `INDEX|NAME=TYPE:VALUE`.
    #[serde(default)]
    pub constants: Vec<String>,
    /// The version of the language, `metal3.1`.
    pub std: Option<String>,
    /// Metal's default arithmetic.
    #[serde(default = "yes")]
    pub fast_math: bool,
    /// The launch of all kernels of the group.
    pub launch: Option<OneOrMany>,
    /// Sizes to run and check at, in place of those of the launch: `N=1000,33`.
    #[serde(default)]
    pub run_sizes: Vec<String>,
    /// What a checked run looks for.
    #[serde(default)]
    pub check: Check,
    /// What results are compared with.
    #[serde(default, alias = "result")]
    pub right: Right,
    /// Tolerances of this group, before those of all.
    #[serde(default)]
    pub tolerance: BTreeMap<String, Tolerance>,
    /// Limits of this group, before those of all.
    #[serde(default)]
    pub limits: BTreeMap<String, f64>,
}

fn yes() -> bool {
    true
}

/// One text or several.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum OneOrMany {
    /// One.
    One(String),
    /// Several.
    Many(Vec<String>),
}

impl OneOrMany {
    /// All of them.
    pub fn all(&self) -> &[String] {
        match self {
            OneOrMany::One(one) => std::slice::from_ref(one),
            OneOrMany::Many(many) => many,
        }
    }
}

/// Per cent that a figure may become worse by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// So many per cent.
    PerCent(f64),
    /// Any: the figure is shown and decides nothing.
    Off,
}

impl<'de> Deserialize<'de> for Tolerance {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(f64),
            Word(String),
        }
        let wrong = || serde::de::Error::custom("a tolerance is per cent from 0, or \"off\"");
        match Written::deserialize(from).map_err(|_| wrong())? {
            Written::Number(value) if value >= 0.0 && value.is_finite() => {
                Ok(Tolerance::PerCent(value))
            }
            Written::Word(word) if word == "off" => Ok(Tolerance::Off),
            _ => Err(wrong()),
        }
    }
}

impl Serialize for Tolerance {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Tolerance::PerCent(value) => to.serialize_f64(*value),
            Tolerance::Off => to.serialize_str("off"),
        }
    }
}

/// What to do about figures that grew while the predicted time fell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WhenFaster {
    /// Show them: a faster kernel may pay with registers.
    #[default]
    Note,
    /// Fail.
    Fail,
}

/// What a checked run looks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Check {
    /// Memory, variables, races, barriers.
    #[default]
    Memory,
    /// Also divisors, shifts and conversions.
    Arithmetic,
    /// Nothing: the kernel is not run with checks.
    Off,
}

/// What says which results are right.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum Oracle {
    /// Expressions over indices, or the path of a Python file.
    Text(String),
    /// The same with tolerances.
    Table(OracleTable),
}

/// An oracle and how far results may be off: `absolute + relative × what went into the element`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct OracleTable {
    /// Expressions over indices, or the path of a Python file.
    pub is: String,
    /// Relative to what went into the element.
    #[serde(default = "relative")]
    pub relative: f64,
    /// In any case.
    #[serde(default)]
    pub absolute: f64,
}

fn relative() -> f64 {
    1e-5
}

impl Oracle {
    /// The expression or path, the relative and the absolute tolerance.
    pub fn parts(&self) -> (&str, f64, f64) {
        match self {
            Oracle::Text(text) => (text, relative(), 0.0),
            Oracle::Table(table) => (&table.is, table.relative, table.absolute),
        }
    }
}

/// What is wrong with a configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{what}", match .line { Some(line) => format!("line {line}: "), None => String::new() })]
pub struct ConfigError {
    /// The line, from 1.
    pub line: Option<usize>,
    /// What is wrong.
    pub what: String,
}

/// Longest configuration in bytes.
const LONGEST: usize = 4 << 20;

impl Config {
    /// Reads a configuration and checks every name in it.
    pub fn parse(text: &str) -> Result<Config, ConfigError> {
        let error = |line, what: String| ConfigError { line, what };
        if text.len() > LONGEST {
            return Err(error(None, format!("longer than {LONGEST} bytes")));
        }
        let config: Config = toml::from_str(text).map_err(|wrong| {
            let line = wrong.span().map(|span| {
                let before = text.get(..span.start).unwrap_or_default();
                before.matches('\n').count() + 1
            });
            error(line, wrong.message().to_owned())
        })?;
        config.check().map_err(|what| error(None, what))?;
        Ok(config)
    }

    fn check(&self) -> Result<(), String> {
        if self.chips.is_empty() {
            return Err("chips: name at least one, such as \"m2\"".to_owned());
        }
        if self
            .max_seconds
            .is_some_and(|seconds| !(seconds > 0.0 && seconds < 1e6))
        {
            return Err("max_seconds: a number above 0".to_owned());
        }
        let tables = self.kernels.iter();
        let tolerances = tables.clone().map(|group| &group.tolerance);
        for name in tolerances.chain([&self.tolerance]).flat_map(|t| t.keys()) {
            known("tolerance", name)?;
        }
        let limits = tables.map(|group| &group.limits).chain([&self.limits]);
        for (name, value) in limits.flatten() {
            known("limits", name)?;
            if !(*value >= 0.0 && value.is_finite()) {
                return Err(format!("limits.{name}: a limit is a number from 0"));
            }
        }
        self.accept.iter().try_for_each(Accept::check)?;
        self.program.iter().try_for_each(Program::check)?;
        for part in &self.may_change {
            if !Part::ALL.iter().any(|known| known.name() == part) {
                let names: Vec<&str> = Part::ALL.iter().map(|part| part.name()).collect();
                let names = names.join(", ");
                return Err(format!(
                    "may_change: unexpected `{part}`: expected any of {names}"
                ));
            }
        }
        for (number, group) in (1..).zip(&self.kernels) {
            if group.files.is_empty() {
                return Err(format!("kernels, group {number}: files is empty"));
            }
        }
        Ok(())
    }

    /// The group of a kernel.
    pub fn group<'a>(&'a self, file: &'a str, function: &str) -> Option<&'a Group> {
        let mut groups = self.groups_of_file(file);
        groups.find(|group| group.has_function(function) && self.only.has_function(function))
    }

    /// The groups that may have kernels in a file, first come first.
    pub fn groups_of_file<'a>(&'a self, file: &'a str) -> impl Iterator<Item = &'a Group> {
        let groups = self.kernels.iter();
        groups.filter(move |group| self.only.has_file(file) && group.has_file(file))
    }

    /// Leaves out files and kernels that are not asked for; empty lists ask for all.
    pub fn only(&mut self, files: &[String], functions: &[String]) {
        self.only = Only {
            files: files.to_vec(),
            functions: functions.to_vec(),
        };
    }

    /// How much worse a figure of a kernel may become.
    pub(crate) fn tolerance(&self, group: Option<&Group>, figure: &Figure) -> Option<f64> {
        let own = group.and_then(|group| group.tolerance.get(figure.name));
        match own.or_else(|| self.tolerance.get(figure.name)) {
            Some(Tolerance::PerCent(value)) => Some(*value),
            Some(Tolerance::Off) => None,
            None => figure.tolerance,
        }
    }

    /// What a figure of a kernel may be at most.
    pub(crate) fn limit(&self, group: Option<&Group>, name: &str) -> Option<f64> {
        let own = group.and_then(|group| group.limits.get(name));
        own.or_else(|| self.limits.get(name)).copied()
    }

    /// Why a change of a kernel, by what it became, is meant to be.
    pub(crate) fn accepted(&self, function: &str, what: &str, content: &str) -> Option<&str> {
        let mut all = self.accept.iter();
        let found = all.find(|accept| accept.is_about(function, what) && accept.names(content));
        found.map(|accept| accept.reason.as_str())
    }

    /// Returns true if another change of the same kind was accepted: the kernel has changed since.
    pub(crate) fn has_expired(&self, function: &str, what: &str, content: &str) -> bool {
        let mut all = self.accept.iter();
        all.any(|accept| accept.is_about(function, what) && !accept.names(content))
    }
}

impl Group {
    /// Returns true if the group's globs match a file.
    pub fn has_file(&self, file: &str) -> bool {
        let any = |globs: &[String]| globs.iter().any(|glob| matches(glob, file));
        any(&self.files) && !any(&self.exclude)
    }

    /// Returns true if the group wants a kernel of this name.
    pub fn has_function(&self, function: &str) -> bool {
        self.functions.is_empty() || self.functions.iter().any(|glob| matches(glob, function))
    }
}

pub(crate) fn matches(glob: &str, text: &str) -> bool {
    let glob = glob.strip_prefix("./").unwrap_or(glob);
    fast_glob::glob_match(glob, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
chips = ["m1", "m3"]
[tolerance]
time = 3
[[kernels]]
files = ["kernels/**/*.metal"]
exclude = ["**/old/*"]
functions = ["softmax*"]
tolerance = { registers = "off" }
[[kernels]]
files = ["**/*.metal"]
[launch]
softmax = "--grid 64 --threadgroup 32"
[[accept]]
function = "softmax"
what = ["result"]
change = "c0ffee"
reason = "a new exponential"
"#;

    #[test]
    fn the_first_group_that_has_a_kernel_decides() {
        let config = Config::parse(TEXT).unwrap();
        let group = config.group("kernels/a/b.metal", "softmax_row").unwrap();
        let (registers, time) = (
            Figure::named("registers").unwrap(),
            Figure::named("time").unwrap(),
        );
        assert_eq!(config.tolerance(Some(group), registers), None);
        assert_eq!(config.tolerance(Some(group), time), Some(3.0));
        let other = config.group("kernels/old/b.metal", "softmax").unwrap();
        assert_eq!(config.tolerance(Some(other), registers), Some(10.0));
        assert!(config.group("kernels/b.cc", "k").is_none());
        let accepted = |what, content| config.accepted("softmax", what, content);
        assert_eq!(accepted("result", "c0ffee"), Some("a new exponential"));
        assert_eq!(accepted("time", "c0ffee"), None);
        // It was about what the kernel was then.
        assert_eq!(accepted("result", "beef"), None);
        assert!(config.has_expired("softmax", "result", "beef"));
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        let wrong = |text: &str| Config::parse(text).unwrap_err().to_string();
        let text = wrong("chips = ['m2']\n\n[tolerance]\ntime = -3\n");
        assert_eq!(text, "line 4: a tolerance is per cent from 0, or \"off\"");
        let text = wrong("[[kernels]]\nfile = ['a']\n");
        assert!(text.contains("unknown field `file`"), "{text}");
        let text = wrong("[limits]\nregister = 3\n");
        assert!(text.contains("`register` is no figure"), "{text}");
        assert!(wrong("chips = []").contains("at least one"));
        let text = wrong("accept = [{ function = 'k', what = ['time'], reason = 'r' }]");
        assert!(text.contains("`change` is missing"), "{text}");
        let text = wrong("may_change = ['everything']");
        assert!(text.contains("unexpected `everything`"), "{text}");
        let text = wrong("[[kernels]]\nfiles = ['a']\nresult = '2 ulps'\n");
        assert!(text.contains("as in \"2ulp\""), "{text}");
    }
}
