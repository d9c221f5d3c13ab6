//! The chips to predict for: named, with figures changed by the user, with constants that were
//! measured on this machine.

use crate::failure::Failure;
use crate::folders;
use assay_chip::{Chip, chips};
use assay_engine::targets::changed;
use assay_predict::Target;
use assay_predict::calibrate::ChipFile;
use std::path::{Path, PathBuf};

/// Which chips, and what is changed about them.
#[derive(Clone, Debug)]
pub(crate) struct Choice<'a> {
    /// Names, separated by commas, or `all`.
    pub(crate) chips: &'a str,
    /// `FIGURE=VALUE`.
    pub(crate) what_if: &'a [String],
    /// A file of `assay calibrate`.
    pub(crate) chip_file: Option<&'a Path>,
}

impl Choice<'_> {
    /// The chips.
    pub(crate) fn targets(&self) -> Result<Vec<Target>, Failure> {
        let file = self.chip_file.map(read).transpose()?;
        let named: Vec<Chip> = match self.chips {
            "all" => chips().to_vec(),
            list => {
                let named = list.split(',').map(|name| Chip::named(name.trim()));
                let named: Result<Vec<Chip>, _> = named.collect();
                named.map_err(|error| Failure::usage(error.to_string()))?
            }
        };
        let known = |file: &ChipFile| named.iter().any(|named| named.name == file.chip);
        if let Some((path, file)) = file.as_ref().filter(|(_, file)| !known(file)) {
            return Err(Failure::usage(format!(
                "{} is about {}, which is not among the chips asked for",
                path.display(),
                file.chip
            ))
            .advice(format!("--chip {} asks for it", file.chip)));
        }
        let with = |chip: Chip| changed(target(chip, file.as_ref())?, self.what_if);
        named.into_iter().map(with).collect()
    }

    /// The chip of commands that take one.
    pub(crate) fn one(chip: &str) -> Result<Target, Failure> {
        let choice = Choice {
            chips: chip,
            what_if: &[],
            chip_file: None,
        };
        let mut targets = choice.targets()?;
        match (targets.pop(), targets.is_empty()) {
            (Some(target), true) => Ok(target),
            _ => Err(Failure::usage("--chip names one chip")),
        }
    }
}

/// A chip with its constants: of the tables, or as measured on this machine.
pub(crate) fn target(chip: Chip, given: Option<&(PathBuf, ChipFile)>) -> Result<Target, Failure> {
    let mut target = Target::of(chip);
    let own;
    let file = match given {
        Some(given) => Some(given),
        None => {
            own = place(target.chip.name)
                .filter(|path| path.is_file())
                .map(|path| read(&path))
                .transpose()?;
            own.as_ref()
        }
    };
    if let Some((path, file)) = file.filter(|(_, file)| file.chip == target.chip.name) {
        file.apply(&mut target.chip, &mut target.constants);
        target.chip_file = Some(path.display().to_string());
    }
    Ok(target)
}

/// Where `assay calibrate` leaves its file, and predictions look for it.
pub(crate) fn place(chip: &str) -> Option<PathBuf> {
    if let Some(folder) = folders::variable("ASSAY_CHIPS") {
        return Some(folder.join(format!("{chip}.tsv")));
    }
    folders::data().map(|base| base.join("assay/chips").join(format!("{chip}.tsv")))
}

/// Reads a file of `assay calibrate`.
pub(crate) fn read(path: &Path) -> Result<(PathBuf, ChipFile), Failure> {
    let bytes = crate::input::open(path)?;
    let text = std::str::from_utf8(&bytes);
    let text = text.map_err(|_| Failure::input(format!("{} is not text", path.display())))?;
    let file = ChipFile::parse(text).map_err(|error| {
        Failure::input(format!("{}: {error}", path.display()))
            .advice("assay calibrate writes such files; each row is scope, name, value, low, high, basis, source, note")
    })?;
    Ok((path.to_owned(), file))
}
