//! What competes with what.

use crate::outcome::{Setting, Subject};
use assay_bench::registry::hash;
use assay_device::Origin;

/// Where a result comes from, as far as that decides what it may be compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Provenance<'a> {
    /// The description of the kernel that it was examined by, whole.
    pub description: &'a str,
    /// True if the description is not one that comes with the program: whoever wrote it chose the tolerance and the
    /// number of operations.
    pub foreign: bool,
    /// True if it was examined and timed in a hurry.
    pub quick: bool,
    /// True if whoever ran it chose the seed, and so could know the inputs, and their answers, before.
    pub seeded: bool,
}

/// A kernel as described, in an element type, at certain sizes, on a device, by one clock, measured in one way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub(crate) kernel: String,
    pub(crate) set: &'static str,
    pub(crate) dtype: &'static str,
    pub(crate) size_set: String,
    /// `cols=1024 rows=1024`.
    pub(crate) sizes: String,
    pub(crate) device: String,
    pub(crate) origin: &'static str,
    /// Words of the way of measuring, and the hash of the description.
    pub(crate) mode: String,
}

/// What the hash of a description begins with among the words of a mode.
const DESCRIPTION: &str = "description=";

impl Place {
    /// The place of a run.
    pub fn of(subject: Subject<'_>, setting: &Setting, origin: Origin) -> Self {
        let sizes = subject.case.sizes.iter();
        let sizes: Vec<String> = sizes.map(|(name, size)| format!("{name}={size}")).collect();
        Self {
            kernel: subject.kernel.name.clone(),
            set: subject.kernel.set.name(),
            dtype: subject.case.dtype.name(),
            size_set: subject.case.size_set.clone(),
            sizes: sizes.join(" "),
            device: setting.device.clone(),
            origin: origin.name(),
            mode: mode(&setting.mode, subject.provenance),
        }
    }
}

fn mode(measured: &str, provenance: Provenance<'_>) -> String {
    let description = format!("{DESCRIPTION}{}", hash(provenance.description));
    let words = [
        measured,
        if provenance.quick { "quick" } else { "" },
        if provenance.foreign { "foreign" } else { "" },
        if provenance.seeded { "seeded" } else { "" },
        &description,
    ];
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// The words of a mode for people, and the hash of the description, where there is one.
pub(crate) fn split(mode: &str) -> (String, Option<String>) {
    let description = mode
        .split(' ')
        .find_map(|word| word.strip_prefix(DESCRIPTION));
    let words = mode
        .split(' ')
        .filter(|word| !word.starts_with(DESCRIPTION));
    let words: Vec<&str> = words.collect();
    (words.join(" "), description.map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_result_is_worth_keeps_it_apart() {
        let own = Provenance {
            description: "tolerance 1e-6",
            foreign: false,
            quick: false,
            seeded: false,
        };
        let foreign = Provenance {
            foreign: true,
            ..own
        };
        let tolerant = Provenance {
            description: "tolerance 0.99",
            ..foreign
        };
        let (quick, seeded) = (
            Provenance { quick: true, ..own },
            Provenance {
                seeded: true,
                ..own
            },
        );
        let all = [own, foreign, quick, tolerant, seeded].map(|one| mode("", one));
        for (place, one) in all.iter().enumerate() {
            assert!(!all[..place].contains(one), "{one}");
        }
        assert_eq!(split(&all[0]).0, "");
        assert_eq!(split(&all[2]).0, "quick");
        assert_eq!(split("cold"), ("cold".to_owned(), None));
    }
}
