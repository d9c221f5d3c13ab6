//! `assay.toml` for every command: include folders, macros, launches and expressions that say what is right, of the
//! repository that a source lies in.
//!
//! The file is found from the source's folder upward, within its repository. What it names is data and lies in the
//! repository: programs, Python files and command lines in it are not run by any command but the gate, whose base decides.

use crate::{confine, input};
use assay_front::SourceOptions;
use assay_gate::{Config, Group, Oracle};
use assay_launch::{Mistake, Size, Written};
use assay_msl::Standard;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Its name.
pub(crate) const NAME: &str = "assay.toml";
/// Longest file that is read, in bytes.
const LONGEST: u64 = 4 << 20;

/// The configuration of the repository that a source lies in.
#[derive(Clone, Debug)]
pub(crate) struct Configured {
    /// The file.
    path: PathBuf,
    /// Its folder, a real path.
    root: PathBuf,
    /// The source, from there.
    file: String,
    config: Config,
}

/// A launch of a configuration, and the files that it names, which lie below a folder.
#[derive(Clone, Debug)]
pub(crate) struct ConfiguredLaunch {
    pub(crate) written: Written,
    pub(crate) root: PathBuf,
    pub(crate) names: BTreeSet<String>,
}

/// Set where a person reads the error stream.
static IS_HEARD: AtomicBool = AtomicBool::new(false);
/// What was told already.
static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Says that remarks about configurations go to the error stream.
pub(crate) fn announce() {
    IS_HEARD.store(true, Ordering::Relaxed);
}

/// Tells something once.
fn tell(text: String) {
    if !IS_HEARD.load(Ordering::Relaxed) {
        return;
    }
    let is_new = TOLD.lock().is_ok_and(|mut told| told.insert(text.clone()));
    if is_new {
        anstream::eprintln!("{}", crate::terminal::visible(&text));
    }
}

/// The configuration for a source; none if there is none, or it cannot be read, which is told.
pub(crate) fn of(source: &Path) -> Option<Configured> {
    if input::lent(source).is_some() || source.as_os_str() == "-" {
        return None;
    }
    let real = source.canonicalize().ok()?;
    let path = find(real.parent()?)?;
    let root = path.parent()?.to_owned();
    let file = real.strip_prefix(&root).ok()?.to_str()?.replace('\\', "/");
    let text = confine::read_to_string(&path)?;
    match Config::parse(&text) {
        Ok(config) => Some(Configured {
            path,
            root,
            file,
            config,
        }),
        Err(why) => {
            tell(format!("warning: {} is not used: {why}", shown(&path)));
            None
        }
    }
}

/// The file, from a folder upward, not beyond the repository; outside repositories in the folder alone.
fn find(folder: &Path) -> Option<PathBuf> {
    let top = folder.ancestors().find(|it| it.join(".git").exists());
    let top = top.unwrap_or(folder);
    let within = folder.ancestors().take_while(|it| it.starts_with(top));
    let is_read = |path: &PathBuf| {
        let metadata = std::fs::symlink_metadata(path);
        metadata.is_ok_and(|it| it.is_file() && it.len() <= LONGEST)
    };
    within.map(|it| it.join(NAME)).find(is_read)
}

/// A path as short as it can be told from here.
fn shown(path: &Path) -> String {
    let here = std::env::current_dir().ok();
    let near = here.and_then(|here| path.strip_prefix(here).ok().map(Path::to_owned));
    near.unwrap_or_else(|| path.to_owned())
        .display()
        .to_string()
}

impl Configured {
    fn group(&self, kernel: Option<&str>) -> Option<&Group> {
        match kernel {
            Some(kernel) => self.config.group(&self.file, kernel),
            None => self.config.groups_of_file(&self.file).next(),
        }
    }

    /// A file or folder that the configuration names, if it lies in the repository.
    fn inside(&self, name: &str) -> Option<PathBuf> {
        let found = inside(&self.root, name);
        if found.is_none() {
            let path = shown(&self.path);
            tell(format!(
                "warning: {path}: `{name}` is not in its folder: it is not used"
            ));
        }
        found
    }

    /// Adds include folders and macros to the options of a compiler; those of the command line count first.
    fn add_to(&self, options: &mut SourceOptions) {
        let Some(group) = self.group(None) else {
            return;
        };
        let name = |define: &str| define.split('=').next().unwrap_or_default().to_owned();
        let given: BTreeSet<String> = options.defines.iter().map(|it| name(it)).collect();
        let fresh = group.defines.iter().filter(|it| !given.contains(&name(it)));
        options.defines.extend(fresh.cloned());
        let folders = group.include.iter().filter_map(|name| self.inside(name));
        options.include_folders.extend(folders);
        let before: Vec<PathBuf> = group
            .before
            .iter()
            .filter_map(|it| self.inside(it))
            .collect();
        options.include_files.splice(0..0, before);
        options.fast_math &= group.fast_math;
        let standard = group.std.as_deref().map(str::parse::<Standard>);
        if let (Some(Ok(standard)), true) = (standard, options.standard == Standard::default()) {
            options.standard = standard;
        }
        let is_used =
            !group.defines.is_empty() || !group.include.is_empty() || !group.before.is_empty();
        if is_used {
            self.told("how to compile");
        }
    }

    /// Says what the file is used for.
    fn told(&self, what: &str) {
        tell(format!("note: {} says {what}", shown(&self.path)));
    }

    /// The first launch of a kernel.
    pub(crate) fn launch(&self, kernel: &str) -> Result<Option<ConfiguredLaunch>, Mistake> {
        let named = self.config.launch.get(kernel);
        let group = || {
            self.group(Some(kernel))
                .and_then(|group| group.launch.as_ref())
        };
        let words = named
            .or_else(group)
            .and_then(|written| written.all().first());
        let Some(words) = words else {
            return Ok(None);
        };
        let (_, written) = Written::parse(words).map_err(|mistake| {
            let place = format!("{}: the launch of {kernel}", shown(&self.path));
            mistake
                .at(place)
                .advice("write it as flags: --size N=1024 --grid N --threadgroup 256")
        })?;
        self.told(&format!("how {kernel} is launched"));
        let values = words
            .split_whitespace()
            .filter_map(|word| word.rsplit_once('='));
        Ok(Some(ConfiguredLaunch {
            written,
            root: self.root.clone(),
            names: values.map(|(_, value)| value.to_owned()).collect(),
        }))
    }

    /// Sizes to run at on a CPU, in place of those to predict at.
    pub(crate) fn run_sizes(&self, kernel: &str) -> Vec<Size> {
        let group = self.group(Some(kernel));
        let sizes = group.into_iter().flat_map(|group| &group.run_sizes);
        sizes.filter_map(|text| text.parse().ok()).collect()
    }

    /// The expression that says what is right of a kernel, with its tolerances.
    pub(crate) fn oracle(&self, kernel: &str) -> Option<&Oracle> {
        let oracle = self.config.oracle.get(kernel)?;
        let (text, ..) = oracle.parts();
        if text.ends_with(".py") {
            let path = shown(&self.path);
            tell(format!(
                "note: {path} names a program as the oracle of {kernel}, which runs only when it is asked for: --oracle {text}"
            ));
            return None;
        }
        self.told(&format!("what {kernel} should compute"));
        Some(oracle)
    }
}

/// The real path of what is named below a folder, unless a link or `..` leads out of it.
pub(crate) fn inside(root: &Path, name: &str) -> Option<PathBuf> {
    let real = root.join(name).canonicalize().ok()?;
    let here = std::env::current_dir().ok();
    let near = here.and_then(|here| real.strip_prefix(here).ok().map(Path::to_owned));
    let near = near.filter(|near| !near.as_os_str().is_empty());
    real.starts_with(root).then(|| near.unwrap_or(real))
}

/// The options of a command line for a source, with what its repository's configuration adds.
pub(crate) fn complete(mut options: SourceOptions, source: &Path) -> SourceOptions {
    if let Some(configured) = of(source) {
        configured.add_to(&mut options);
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository(config: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("kernels/k.metal");
        std::fs::create_dir_all(folder.path().join(".git")).unwrap();
        std::fs::create_dir_all(folder.path().join("include")).unwrap();
        std::fs::create_dir_all(source.parent().unwrap()).unwrap();
        std::fs::write(&source, "").unwrap();
        std::fs::write(folder.path().join(NAME), config).unwrap();
        (folder, source)
    }

    #[test]
    fn a_configuration_above_the_source_says_how_it_is_compiled_and_launched() {
        let (_folder, source) = repository(
            "[[kernels]]\nfiles = ['kernels/*.metal']\ndefines = ['A=1', 'B=2']\ninclude = ['include', '../..', '/etc']\n\
             [launch]\nk = '--grid 7 --threadgroup 1 --buffer 0=x.npy'\n[oracle]\nk = 'y[i] = x[i]'\nl = 'oracle.py'\n",
        );
        let given = SourceOptions {
            defines: vec!["A=3".to_owned()],
            ..SourceOptions::default()
        };
        let options = complete(given, &source);
        assert_eq!(options.defines, ["A=3", "B=2"]);
        assert_eq!(options.include_folders.len(), 1, "{options:?}");
        let configured = of(&source).unwrap();
        let launch = configured.launch("k").unwrap().unwrap();
        assert!(launch.names.contains("x.npy"), "{launch:?}");
        assert!(configured.oracle("k").is_some());
        assert!(configured.oracle("l").is_none(), "a program is not data");
        assert!(configured.launch("l").unwrap().is_none());
    }

    #[test]
    fn nothing_is_read_beyond_the_repository_or_through_a_broken_file() {
        let (folder, _) = repository("[launch]\nk = '--grid 7 --threadgroup 1'\n");
        let inner = folder.path().join("inner");
        std::fs::create_dir_all(inner.join(".git")).unwrap();
        let source = inner.join("k.metal");
        std::fs::write(&source, "").unwrap();
        assert!(of(&source).is_none());
        std::fs::write(inner.join(NAME), "[launch\n").unwrap();
        assert!(of(&source).is_none());
    }
}
