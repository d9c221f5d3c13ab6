//! The kernels there are: `kernels/SET/NAME/kernel.toml` and the Metal source beside it.
//!
//! A [`Registry`] is made from files given as text, so it does not matter where they come from; [`Registry::embedded`]
//! is the one in the repository. A [`Kernel`] is checked completely when it is read: each formula has a value for each
//! size set and each element type. A [`Case`] is a kernel at certain sizes.
//!
//! ```
//! use assay_bench::{Dtype, registry::{Case, Registry}};
//! let registry = Registry::embedded()?;
//! let kernel = registry.kernel("layer_norm")?;
//! let case = Case::new(kernel, "quick", Dtype::F32)?;
//! assert!(case.passes[0].groups() >= 2);
//! let source = registry.source(kernel, Some("m2-max"))?;
//! assert!(source.text.contains("layer_norm_f32"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod case;
mod check;
mod embedded;
mod error;
mod file;
mod include;
mod kernel;
mod source;

pub use case::{Case, CaseArgument, CaseBinding, CaseError, CaseExtent, CasePass, CaseRole};
pub use error::Error;
pub use include::hidden_include;
pub use kernel::{
    Argument, Constant, Grid, Kernel, Pass, PassBinding, Role, Set, SizeSet, SizeUse, Tolerance,
    Values,
};
pub use source::{Extras, Headers, Resolved, Sources, flatten, hash};

use crate::oracle::Definition;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

/// Kernels by name.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    kernels: BTreeMap<String, Kernel>,
    headers: Headers,
    /// `kernel.toml` by the kernel's name.
    descriptions: BTreeMap<String, String>,
    /// Files that are part of a kernel's oracle, by the kernel's name.
    extras: BTreeMap<String, Extras>,
}

/// A kernel that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Its folder's name.
    pub name: String,
    /// Its set.
    pub set: Set,
    /// What is wrong.
    pub error: Error,
}

/// What belongs to a folder of a kernel, before it is put together.
#[derive(Default)]
struct Folder<'a> {
    description: Option<(&'a str, &'a str)>,
    sources: Sources,
    extras: Extras,
}

impl Registry {
    /// The registry of the repository.
    pub fn embedded() -> Result<&'static Self, &'static Error> {
        static REGISTRY: OnceLock<Result<Registry, Error>> = OnceLock::new();
        let read = || Registry::from_files(embedded::FILES.iter().copied());
        REGISTRY.get_or_init(read).as_ref()
    }

    /// A registry from files: path below its folder, with `/`, and text.
    pub fn from_files<'a>(
        files: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, Error> {
        let (registry, broken) = Self::read(files)?;
        match broken.into_iter().next() {
            Some(broken) => Err(broken.error),
            None => Ok(registry),
        }
    }

    /// The same, with the kernels that can be read and those that cannot. A file that belongs to no kernel is an error.
    pub fn read<'a>(
        files: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<(Self, Vec<Broken>), Error> {
        let mut headers = Headers::new();
        let mut folders: BTreeMap<(Set, &str), Folder<'_>> = BTreeMap::new();
        for (path, text) in files {
            let strange = || Error::Path {
                path: path.to_owned(),
            };
            let parts: Vec<&str> = path.split('/').collect();
            if let ["include", header] = parts[..] {
                headers.insert(header.to_owned(), text.to_owned());
                continue;
            }
            let [set, name, file] = parts[..] else {
                return Err(strange());
            };
            let set = Set::ALL
                .into_iter()
                .find(|known| known.name() == set)
                .ok_or_else(strange)?;
            let folder = folders.entry((set, name)).or_default();
            if file == "kernel.toml" {
                folder.description = Some((path, text));
                continue;
            }
            let Some(stem) = file.strip_suffix(".metal") else {
                folder.extras.insert(file.to_owned(), text.to_owned());
                continue;
            };
            let source = (path.to_owned(), text.to_owned());
            match stem.split_once('.') {
                None if stem == name => folder.sources.default = Some(source),
                Some((first, chip)) if first == name => {
                    folder.sources.variants.insert(chip.to_owned(), source);
                }
                // The kernel that says what is right.
                None if stem == "reference" => {
                    folder.extras.insert(file.to_owned(), source.1);
                }
                _ => return Err(strange()),
            }
        }
        let mut kernels: BTreeMap<String, Kernel> = BTreeMap::new();
        let mut descriptions = BTreeMap::new();
        let mut extras = BTreeMap::new();
        let mut broken = Vec::new();
        for ((set, name), folder) in folders {
            let description = folder.description.map_or("", |(_, text)| text);
            let beside = folder.extras.clone();
            let kernel = match kernels.contains_key(name) {
                true => Err(Error::Twice {
                    name: name.to_owned(),
                }),
                false => read(set, name, folder),
            };
            let sound = kernel.and_then(|kernel| {
                kernel.sources.resolve(name, None, &headers)?;
                Ok(kernel)
            });
            match sound {
                Ok(kernel) => {
                    descriptions.insert(name.to_owned(), description.to_owned());
                    if let Definition::Program(program) = &kernel.oracle {
                        let own = beside.into_iter();
                        let own = own.filter(|(file, _)| program.words.contains(file.as_str()));
                        extras.insert(name.to_owned(), own.collect());
                    }
                    kernels.insert(name.to_owned(), kernel);
                }
                Err(error) => broken.push(Broken {
                    name: name.to_owned(),
                    set,
                    error,
                }),
            }
        }
        let registry = Self {
            kernels,
            headers,
            descriptions,
            extras,
        };
        Ok((registry, broken))
    }

    /// All kernels, by name.
    pub fn kernels(&self) -> impl Iterator<Item = &Kernel> {
        self.kernels.values()
    }

    /// The kernels of a set, by name.
    pub fn set(&self, set: Set) -> impl Iterator<Item = &Kernel> {
        self.kernels().filter(move |kernel| kernel.set == set)
    }

    /// A kernel by its name.
    pub fn kernel(&self, name: &str) -> Result<&Kernel, Error> {
        self.kernels.get(name).ok_or_else(|| Error::Unknown {
            name: name.to_owned(),
            nearest: self.near(name),
        })
    }

    /// The source a chip gets.
    pub fn source(&self, kernel: &Kernel, chip: Option<&str>) -> Result<Resolved, Error> {
        kernel.sources.resolve(&kernel.name, chip, &self.headers)
    }

    /// The text of a kernel's `kernel.toml`.
    pub fn description(&self, kernel: &Kernel) -> Option<&str> {
        self.descriptions.get(&kernel.name).map(String::as_str)
    }

    /// Everything that says how a kernel is examined and counted, for whoever must know whether two results are of the
    /// same thing.
    pub fn provenance(&self, kernel: &Kernel) -> String {
        let mut all = self.description(kernel).unwrap_or_default().to_owned();
        for (file, text) in self.extras.get(&kernel.name).into_iter().flatten() {
            all += &format!("\n{file} {}\n", hash(text));
        }
        all
    }

    /// Says which folder the files are from: programs that are oracles run in their kernel's.
    pub fn locate(&self, folder: &Path) {
        for kernel in self.kernels() {
            if let Definition::Program(program) = &kernel.oracle {
                program.locate(folder.join(kernel.set.name()).join(&kernel.name));
            }
        }
    }

    /// The headers that sources include.
    pub fn headers(&self) -> &Headers {
        &self.headers
    }

    /// Names that contain what was asked for, or the other way round, or share its first part.
    fn near(&self, name: &str) -> Vec<String> {
        let first = name.split('_').next().unwrap_or(name);
        let near = |known: &&String| {
            known.contains(name) || name.contains(known.as_str()) || known.starts_with(first)
        };
        self.kernels.keys().filter(near).take(5).cloned().collect()
    }
}

fn read(set: Set, name: &str, folder: Folder<'_>) -> Result<Kernel, Error> {
    let incomplete = |missing: String| Error::Incomplete {
        name: name.to_owned(),
        missing,
    };
    let (path, text) = folder
        .description
        .ok_or_else(|| incomplete("kernel.toml".to_owned()))?;
    if folder.sources.default.is_none() {
        return Err(incomplete(format!("{name}.metal")));
    }
    let file: file::File = toml::from_str(text).map_err(|error| Error::Toml {
        path: path.to_owned(),
        why: error.to_string().trim_end().to_owned(),
    })?;
    check::kernel(path, set, name, &file, folder.sources, &folder.extras)
}
