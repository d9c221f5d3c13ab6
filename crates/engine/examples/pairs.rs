//! Faulty and cured kernels, and what the findings say of them: `cargo run -p assay-engine --example pairs -- examples/pairs`.
//!
//! A pair is `FAULT/NAME.faulty.metal` and `FAULT/NAME.cured.metal`; the faulty line ends in `// fault: RULE`. The first
//! finding must be the planted one at its line, its weight near the time that the cure saves, and it must be gone afterwards.

use assay_chip::Chip;
use assay_engine::{Settings, Workspace, diagnosis, prediction};
use assay_front::{Bytes, Clang};
use assay_launch::{NoFiles, Written};
use assay_predict::{Cache, Sampling, Target};
use assay_profile::Finding;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is known of a pair.
#[derive(Debug)]
pub(crate) struct Pair {
    /// The faulty file.
    pub(crate) name: String,
    /// The rule that was planted.
    pub(crate) fault: String,
    /// Its line.
    pub(crate) line: u32,
    /// The faulty kernel's predicted time.
    pub(crate) before_us: f64,
    /// The cured one's.
    pub(crate) after_us: f64,
    /// What is found in the faulty kernel.
    pub(crate) found: Vec<Finding>,
    /// What is found in the cured one.
    pub(crate) left: Vec<Finding>,
}

impl Pair {
    /// Returns true if the first finding is the planted one, at its line.
    pub(crate) fn is_named(&self) -> bool {
        let first = self.found.first();
        first.is_some_and(|first| {
            first.rule == self.fault && first.lines.first() == Some(&self.line)
        })
    }

    /// The time that the planted fault's finding claims, by what the cure saves.
    pub(crate) fn ratio(&self) -> f64 {
        let found = self.found.iter().find(|one| one.rule == self.fault);
        let claimed = found
            .and_then(|one| one.weight)
            .map_or(0.0, |weight| weight.us);
        claimed / (self.before_us - self.after_us).max(f64::MIN_POSITIVE)
    }

    /// Returns true if the claim is near what the cure saves.
    pub(crate) fn is_weighed(&self) -> bool {
        (1.0 / 1.5..=1.5).contains(&self.ratio())
    }

    /// Returns true if the cured kernel has no such finding.
    pub(crate) fn is_gone(&self) -> bool {
        self.left.iter().all(|one| one.rule != self.fault)
    }
}

/// The pairs of a folder, so many of each fault, in order of name.
pub(crate) fn pairs(folder: &Path, each: usize) -> Option<Vec<Pair>> {
    let workspace = workspace()?;
    let mut found = Vec::new();
    for faulty in faulty(folder, each) {
        let cured = PathBuf::from(faulty.display().to_string().replace(".faulty.", ".cured."));
        let text = std::fs::read_to_string(&faulty).expect("a file");
        let planted = (1..)
            .zip(text.lines())
            .find_map(|(line, text)| Some((line, text.split_once("// fault: ")?.1)));
        let (line, fault) = planted.unwrap_or((0, "none"));
        let (before_us, found_here) = findings(&workspace, &faulty, false);
        let (after_us, left) = findings(&workspace, &cured, false);
        found.push(Pair {
            name: faulty
                .file_name()
                .map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
            fault: fault.to_owned(),
            line,
            before_us,
            after_us,
            found: found_here,
            left,
        });
    }
    Some(found)
}

fn faulty(folder: &Path, each: usize) -> Vec<PathBuf> {
    let inside = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).expect("a folder");
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let mut paths: Vec<PathBuf> = paths.collect();
        paths.sort();
        paths
    };
    let is_faulty = |path: &PathBuf| path.to_string_lossy().ends_with(".faulty.metal");
    let folders = inside(folder).into_iter().filter(|path| path.is_dir());
    let of_each =
        folders.flat_map(|folder| inside(&folder).into_iter().filter(is_faulty).take(each));
    of_each.collect()
}

/// A workspace, if a clang is there.
pub(crate) fn workspace() -> Option<Workspace> {
    let variable = |name: &str| std::env::var_os(name).unwrap_or_default();
    let compiler = assay_msl::find::find(Some(&variable("ASSAY_CLANG")), &variable("PATH"))?;
    let clang = Clang::new(compiler, std::env::temp_dir().join("assay-pairs-headers"));
    Some(Workspace::new(Arc::new(clang), Arc::new(NoFiles)))
}

/// Predicted time and findings of a file's kernel, as if its launch were a guess if that is said.
pub(crate) fn findings(workspace: &Workspace, path: &Path, guessed: bool) -> (f64, Vec<Finding>) {
    let text = std::fs::read_to_string(path).expect("a file");
    let bytes = Bytes::from(text.clone().into_bytes());
    let settings = Settings::default();
    let fail = |error: assay_engine::Error| panic!("{}: {error:?}", path.display());
    let kernel = workspace
        .open(path, &bytes, None, &settings)
        .unwrap_or_else(fail);
    let launched = kernel
        .launched(Written::default())
        .unwrap_or_else(|error| panic!("{error:?}"));
    let launched = launched.unwrap_or_else(|| panic!("{} has no launch", path.display()));
    let tasks = kernel
        .execute(&launched, Sampling::default())
        .unwrap_or_else(|error| panic!("{error:?}"));
    let task = tasks.into_iter().next().expect("a size");
    let mut passes = task
        .executed
        .unwrap_or_else(|error| panic!("{}: {error:?}", path.display()));
    passes[0].guessed = guessed;
    let target = Target::of(Chip::named("m2").expect("a chip"));
    let predicted =
        prediction::predicted(&task.kernel, task.code, &passes, 1, &target, Cache::Warm);
    let predicted = predicted.unwrap_or_else(|error| panic!("{error:?}"));
    let found = diagnosis::findings(&passes[0], &predicted, (&target, Cache::Warm), Some(&text));
    (
        predicted.time_us,
        found.unwrap_or_else(|error| panic!("{error:?}")),
    )
}

/// A row for each pair, then the counts.
pub(crate) fn table(pairs: &[Pair]) -> String {
    let mut out = String::new();
    for pair in pairs {
        let mark = |yes: bool| if yes { "yes" } else { "NO " };
        let brief = |all: &[Finding]| -> String {
            let named = all.iter().take(3).map(|one| {
                let share = one.weight.map_or(0.0, |weight| 100.0 * weight.share);
                format!(
                    "{}@{:?} {share:.0}%",
                    one.rule,
                    one.lines.first().copied().unwrap_or(0)
                )
            });
            named.collect::<Vec<_>>().join(", ")
        };
        out += &format!(
            "{:20} {:34} {:9.1} → {:8.1} us  named {} weighed {} ({:.2}) gone {} | line {} | {} | {}\n",
            pair.fault,
            pair.name,
            pair.before_us,
            pair.after_us,
            mark(pair.is_named()),
            mark(pair.is_weighed()),
            pair.ratio(),
            mark(pair.is_gone()),
            pair.line,
            brief(&pair.found),
            brief(&pair.left)
        );
    }
    let count = |value: fn(&Pair) -> bool| pairs.iter().filter(|pair| value(pair)).count();
    out + &format!(
        "{} pairs: named {}, weighed {}, gone {}\n",
        pairs.len(),
        count(Pair::is_named),
        count(Pair::is_weighed),
        count(Pair::is_gone)
    )
}

#[allow(clippy::print_stdout, reason = "an example program")]
fn main() {
    let folder = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "examples/pairs".to_owned());
    match pairs(Path::new(&folder), usize::MAX) {
        Some(pairs) => print!("{}", table(&pairs)),
        None => println!("no clang on this machine passes the probe"),
    }
}
