//! The sources of one state of a repository: the work tree, or a commit's files in a folder of ours.

use super::git::{Base, Entry, Repository};
use super::store;
use crate::failure::Failure;
use crate::launch::{Disk, SharedFiles};
use assay_front::Bytes;
use assay_gate::{Config, Texts};
use assay_msl::beneath::Folders;
use assay_tune::fingerprint::Fingerprint;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Sources below a folder.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    /// The top of the repository, or the folder of the configuration where there is none.
    pub(super) top: PathBuf,
    /// The folder of the configuration; paths are relative to it.
    pub(super) root: PathBuf,
    /// Files below `root`.
    pub(super) files: Vec<String>,
}

/// Names of files that sources include.
const HEADERS: &[&str] = &[
    "metal", "h", "hh", "hpp", "hxx", "inc", "inl", "ipp", "def", "metalh", "cuh", "toml",
];

/// Bytes of one file; larger ones are neither sources nor arrays of tests.
const LARGEST: u64 = 256 << 20;

/// Commits whose files are kept in the cache folder.
const KEPT: usize = 8;

/// Files of a folder without a repository.
const MOST_FILES: usize = 100_000;

impl Tree {
    /// The work tree.
    pub(super) fn here(root: &Path, repository: Option<&Repository>) -> Result<Tree, Failure> {
        let root = root
            .canonicalize()
            .map_err(|error| Failure::input(format!("cannot read {}: {error}", root.display())))?;
        let Some(repository) = repository else {
            let mut files = Vec::new();
            walk(&root, &root, &mut files);
            files.sort();
            return Ok(Tree {
                top: root.clone(),
                root,
                files,
            });
        };
        let prefix = prefix(&repository.root, &root);
        let files = repository.files()?;
        let files = below(&prefix, files.into_iter());
        // A link may lead out of the repository, to what is not the pull request's to show.
        let top = repository.root.canonicalize()?;
        let there = |file: &String| {
            let real = root.join(file).canonicalize();
            real.is_ok_and(|real| real.starts_with(&top) && real.is_file())
        };
        Ok(Tree {
            top: repository.root.clone(),
            files: files.filter(there).collect(),
            root,
        })
    }

    /// The files of a commit, in the cache folder: under the same name every time, so that what is compiled from
    /// them is known the next time.
    pub(super) fn of_commit(
        repository: &Repository,
        base: &Base,
        prefix: &str,
        configs: &[&Config],
    ) -> Result<Tree, Failure> {
        let entries = repository.entries(&base.tree)?;
        let named: Vec<String> = configs.iter().flat_map(|it| named_files(it)).collect();
        let wanted = |path: &str| {
            let inside = below_one(prefix, path);
            is_source(path)
                || inside.is_some_and(|path| {
                    named.iter().any(|name| name == path)
                        || configs
                            .iter()
                            .any(|it| it.groups_of_file(path).next().is_some())
                })
        };
        let top = extracted(repository, base, prefix, &entries, &wanted)?;
        let paths = entries.iter().map(|entry| entry.path.clone());
        let files = below(prefix, paths.filter(|path| wanted(path))).collect();
        Ok(Tree {
            root: top.join(prefix),
            top,
            files,
        })
    }

    /// The files that launches name: they lie below the root.
    pub(super) fn arrays(&self) -> SharedFiles {
        Arc::new(Disk {
            root: Some(self.root.clone()),
            ..Disk::default()
        })
    }

    /// A path of a file below the root as the whole program sees it.
    pub(super) fn path(&self, file: &str) -> PathBuf {
        self.root.join(file)
    }

    /// A path that a compiler or a fault names, relative to the root if it is below it.
    pub(super) fn relative(&self, path: &str) -> String {
        let whole = Path::new(path);
        let inside = whole.strip_prefix(&self.root);
        match inside {
            Ok(inside) => inside.display().to_string(),
            // Headers beside the configuration's folder.
            Err(_) => match whole.strip_prefix(&self.top) {
                Ok(inside) => {
                    let up = self
                        .root
                        .strip_prefix(&self.top)
                        .map_or(0, |p| p.components().count());
                    format!("{}{}", "../".repeat(up), inside.display())
                }
                Err(_) => path.to_owned(),
            },
        }
    }

    /// What may be read: the repository, whatever its texts name.
    fn folders(&self) -> Folders {
        Folders::new([&self.top])
    }

    /// The path of a file or folder that a text of the repository names; none if it leads out of the repository.
    pub(super) fn inside(&self, name: &str) -> Option<PathBuf> {
        let path = self.path(name);
        self.folders().holds(&path).then_some(path)
    }

    /// Opens a source.
    pub(super) fn open(&self, file: &str) -> Result<Bytes, Failure> {
        let bytes = self.folders().read(&self.path(file), LARGEST);
        Ok(Bytes::from(bytes.map_err(|refused| {
            let failure = Failure::input(refused.message);
            match refused.advice {
                Some(advice) => failure.advice(advice),
                None => failure,
            }
        })?))
    }

    /// The bytes of a plain file of the repository.
    pub(super) fn bytes(&self, file: &str) -> Option<Vec<u8>> {
        self.folders().read(&self.path(file), LARGEST).ok()
    }

    /// The bytes of a plain file of the repository, by its path.
    pub(super) fn bytes_at(&self, path: &Path) -> Option<Vec<u8>> {
        self.folders().read(path, LARGEST).ok()
    }

    /// The text of a file.
    pub(super) fn text(&self, file: &str) -> Option<String> {
        let bytes = self.bytes(file)?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The texts of some files.
    pub(super) fn texts<'f>(&self, files: impl Iterator<Item = &'f str>) -> Texts {
        let mut texts = Texts::new();
        for file in files {
            if !texts.contains_key(file)
                && let Some(text) = self.text(file)
            {
                texts.insert(file.to_owned(), text);
            }
        }
        texts
    }

    /// Files that the configuration wants.
    pub(super) fn sources<'t>(&'t self, config: &'t Config) -> impl Iterator<Item = &'t String> {
        let files = self.files.iter();
        files.filter(|file| config.groups_of_file(file).next().is_some())
    }
}

/// Returns true for names of sources and what they include.
pub(super) fn is_source(path: &str) -> bool {
    let (_, extension) = path.rsplit_once('.').unwrap_or_default();
    HEADERS.contains(&extension)
}

/// Files that a configuration names outside its globs: arrays, oracles, what stands before sources.
fn named_files(config: &Config) -> Vec<String> {
    let launches = config.launch.values().flat_map(|launch| launch.all());
    let groups = config.kernels.iter();
    let of_groups = groups.clone().filter_map(|group| group.launch.as_ref());
    let launches = launches.chain(of_groups.flat_map(|launch| launch.all()));
    let words = launches.flat_map(|launch| launch.split_whitespace());
    let arrays = super::launches::arrays(words).map(str::to_owned);
    let oracles = config
        .oracle
        .values()
        .map(|oracle| oracle.parts().0.to_owned());
    let before = groups.flat_map(|group| group.before.iter().cloned());
    arrays.chain(oracles).chain(before).collect()
}

/// The folder of the configuration in its repository; empty at the top.
pub(super) fn prefix(top: &Path, root: &Path) -> String {
    let inside = root.strip_prefix(top).unwrap_or(Path::new(""));
    inside.display().to_string()
}

fn below_one<'p>(prefix: &str, path: &'p str) -> Option<&'p str> {
    match prefix {
        "" => Some(path),
        prefix => path.strip_prefix(prefix)?.strip_prefix('/'),
    }
}

fn below(prefix: &str, files: impl Iterator<Item = String>) -> impl Iterator<Item = String> {
    files.filter_map(move |path| below_one(prefix, &path).map(str::to_owned))
}

/// Files of a folder, hidden ones left out.
fn walk(root: &Path, folder: &Path, files: &mut Vec<String>) {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    for entry in entries.filter_map(Result::ok) {
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if hidden || files.len() >= MOST_FILES {
            continue;
        }
        if kind.is_dir() {
            walk(root, &entry.path(), files);
        } else if kind.is_file()
            && let Ok(inside) = entry.path().strip_prefix(root)
        {
            files.push(inside.display().to_string());
        }
    }
}

/// The folder with a commit's files, made if it is not there.
fn extracted(
    repository: &Repository,
    base: &Base,
    prefix: &str,
    entries: &[Entry],
    wanted: &dyn Fn(&str) -> bool,
) -> Result<PathBuf, Failure> {
    let trees = store::folder().join("trees");
    let fail = |error: std::io::Error| {
        Failure::input(format!("cannot write {}: {error}", trees.display()))
            .advice("let ASSAY_CACHE name a folder that can be written")
    };
    let paths = entries.iter().filter(|entry| wanted(&entry.path));
    let mut hash = Fingerprint::default();
    for entry in paths {
        hash.add(entry.path.as_bytes());
    }
    let folder = trees.join(format!("{}-{}", base.tree, hash.text()));
    if folder.join(".complete").is_file() {
        // The time says when it was last used.
        let _ = std::fs::write(folder.join(".complete"), "");
        return canonical(folder).map_err(fail);
    }
    std::fs::create_dir_all(&trees).map_err(fail)?;
    let temporary = tempfile::Builder::new()
        .prefix(".tree-")
        .tempdir_in(&trees)
        .map_err(fail)?;
    repository.extract(entries, wanted, temporary.path())?;
    let arrays = arrays_of_comments(temporary.path(), entries, wanted);
    let is_array = |path: &str| below_one(prefix, path).is_some_and(|it| arrays.contains(it));
    repository.extract(entries, is_array, temporary.path())?;
    std::fs::write(temporary.path().join(".complete"), "").map_err(fail)?;
    // If another process was first, its files are the same.
    if std::fs::rename(temporary.path(), &folder).is_ok() {
        let _ = temporary.keep();
    }
    store::tidy_folders(&trees, KEPT);
    canonical(folder).map_err(fail)
}

/// Files that launch comments of a commit's sources name.
fn arrays_of_comments(
    folder: &Path,
    entries: &[Entry],
    wanted: &dyn Fn(&str) -> bool,
) -> BTreeSet<String> {
    let folders = Folders::new([folder]);
    let mut arrays = BTreeSet::new();
    for entry in entries.iter().filter(|entry| wanted(&entry.path)) {
        let bytes = folders.read(&folder.join(&entry.path), LARGEST);
        let text = String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned();
        let comments = text.lines().filter(|line| line.contains("assay: launch"));
        let words = comments.flat_map(str::split_whitespace);
        arrays.extend(
            super::launches::arrays(words).map(|it| it.trim_start_matches("./").to_owned()),
        );
    }
    arrays
}

fn canonical(folder: PathBuf) -> std::io::Result<PathBuf> {
    folder.canonicalize()
}
