//! Which registry, which kernels.

use crate::Failure;
use assay_bench::Dtype;
use assay_bench::registry::{Broken, Kernel, Registry, Set};
use std::path::Path;

/// The registry that was asked for.
pub enum Chosen {
    BuiltIn,
    Folder(Registry, Vec<Broken>),
}

/// Kernels of a registry: those that can be read and those that cannot.
pub struct Kernels<'a> {
    pub registry: &'a Registry,
    pub sound: Vec<&'a Kernel>,
    pub broken: Vec<&'a Broken>,
}

impl Chosen {
    fn get(&self) -> Result<(&Registry, &[Broken]), Failure> {
        match self {
            Self::BuiltIn => match Registry::embedded() {
                Ok(registry) => Ok((registry, &[])),
                Err(error) => Err(Failure::input(error.to_string())),
            },
            Self::Folder(registry, broken) => Ok((registry, broken)),
        }
    }
}

/// Most files of a folder of kernels; more is another folder.
const MOST_FILES: usize = 10_000;

/// What kernels are asked for by.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    pub names: &'a [String],
    /// Where no name is given.
    pub sets: &'a [Set],
    /// Where neither is given.
    pub all: bool,
    /// Only kernels with one of these; none is all.
    pub dtypes: &'a [Dtype],
}

/// The registry, or the kernels of a folder.
pub fn registry(folder: Option<&Path>) -> Result<Chosen, Failure> {
    let Some(folder) = folder else {
        return Ok(Chosen::BuiltIn);
    };
    let (registry, broken) = of_folder(folder)?;
    Ok(Chosen::Folder(registry, broken))
}

/// The kernels of a folder.
pub fn of_folder(folder: &Path) -> Result<(Registry, Vec<Broken>), Failure> {
    let mut files = Vec::new();
    collect(folder, "", &mut files)?;
    let files = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()));
    let read = Registry::read(files);
    let (registry, broken) =
        read.map_err(|error| Failure::input(format!("{}: {error}", folder.display())))?;
    registry.locate(folder);
    Ok((registry, broken))
}

/// Largest file of a kernel's folder that is read; oracles are smaller.
const LARGEST: u64 = 16 << 20;

/// The `.toml`, `.metal` and `.h` files below a folder, three levels deep, and whatever else lies in a kernel's own: its
/// oracle may be a program.
fn collect(folder: &Path, below: &str, files: &mut Vec<(String, String)>) -> Result<(), Failure> {
    let unreadable =
        |error: std::io::Error| Failure::input(format!("{}: {error}", folder.display()));
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            continue;
        };
        let below = match below {
            "" => name.to_owned(),
            _ => format!("{below}/{name}"),
        };
        let extension = path.extension().and_then(|extension| extension.to_str());
        if path.is_dir() && below.matches('/').count() < 2 && !name.starts_with('.') {
            collect(&path, &below, files)?;
        } else if !path.is_file() {
            // A FIFO would be waited for, a device has no end, a link may lead nowhere.
        } else if matches!(extension, Some("toml" | "metal" | "h")) {
            let text = std::fs::read_to_string(&path);
            let text =
                text.map_err(|error| Failure::input(format!("{}: {error}", path.display())))?;
            files.push((below, text));
        } else if below.matches('/').count() == 2 && !name.starts_with('.') {
            // A program need not be text; what is not only changes its hash.
            let size = path.metadata().map_err(unreadable)?.len();
            if size <= LARGEST {
                let bytes = std::fs::read(&path).map_err(unreadable)?;
                files.push((below, String::from_utf8_lossy(&bytes).into_owned()));
            }
        }
        if files.len() > MOST_FILES {
            return Err(Failure::input(format!(
                "{}: more than {MOST_FILES} files",
                folder.display()
            )));
        }
    }
    Ok(())
}

/// The kernels that were named, those of sets, or all.
pub fn kernels<'a>(wanted: Wanted<'_>, chosen: &'a Chosen) -> Result<Kernels<'a>, Failure> {
    let kernels = of_names_and_sets(wanted, chosen)?;
    let has = |kernel: &&&Kernel| {
        kernel
            .dtypes
            .iter()
            .any(|dtype| wanted.dtypes.contains(dtype))
    };
    if !wanted.dtypes.is_empty()
        && !kernels.sound.is_empty()
        && !kernels.sound.iter().any(|kernel| has(&kernel))
    {
        let asked: Vec<&str> = wanted.dtypes.iter().map(|dtype| dtype.name()).collect();
        let there = kernels.sound.iter().flat_map(|kernel| &kernel.dtypes);
        let there: std::collections::BTreeSet<&str> = there.map(|dtype| dtype.name()).collect();
        let there: Vec<&str> = there.into_iter().collect();
        return Err(Failure::usage(format!(
            "there is no {} variant of what was asked for; there are {}",
            asked.join(" or "),
            there.join(", ")
        )));
    }
    Ok(kernels)
}

fn of_names_and_sets<'a>(wanted: Wanted<'_>, chosen: &'a Chosen) -> Result<Kernels<'a>, Failure> {
    let (registry, broken) = chosen.get()?;
    if !wanted.names.is_empty() {
        return named(wanted.names, registry, broken);
    }
    let sets = wanted.sets;
    if sets.is_empty() && !wanted.all {
        return Err(Failure::usage("no kernel is named")
            .advice("name some, or say --set SET or --all; assay bench --list shows all kernels"));
    }
    let wanted = |set: Set| sets.is_empty() || sets.contains(&set);
    Ok(Kernels {
        registry,
        sound: registry.kernels().filter(|one| wanted(one.set)).collect(),
        broken: broken.iter().filter(|one| wanted(one.set)).collect(),
    })
}

/// The kernels of these names.
pub fn named<'a>(
    names: &[String],
    registry: &'a Registry,
    broken: &'a [Broken],
) -> Result<Kernels<'a>, Failure> {
    let mut kernels = Kernels {
        registry,
        sound: Vec::new(),
        broken: Vec::new(),
    };
    for name in names {
        match (
            registry.kernel(name),
            broken.iter().find(|one| one.name == *name),
        ) {
            (Ok(kernel), _) => kernels.sound.push(kernel),
            (Err(_), Some(broken)) => kernels.broken.push(broken),
            (Err(error), None) => {
                return Err(Failure::usage(error.to_string())
                    .advice("assay bench --list shows all kernels"));
            }
        }
    }
    Ok(kernels)
}

/// An element type by its name.
pub fn dtype(text: &str) -> Result<Dtype, String> {
    let known = [Dtype::F32, Dtype::F16, Dtype::Bf16];
    let found = known.into_iter().find(|dtype| dtype.name() == text);
    found.ok_or_else(|| "element types are f32, f16 and bf16".to_owned())
}
