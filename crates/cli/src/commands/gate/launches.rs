//! How the kernels of a configuration are launched.
//!
//! A launch is written in `[launch]` of the configuration by the kernel's name, in the kernel's group, or in a comment
//! `// assay: launch` of its source; the first that is there counts.

use super::tree::Tree;
use crate::failure::Failure;
use crate::launch;
use assay_gate::{Config, Group};
use assay_launch::{Size, Written};
use assay_tune::fingerprint::Fingerprint;

/// The launches of a kernel; none if nobody says how.
pub(super) fn of(
    config: &Config,
    group: &Group,
    text: Option<&str>,
    function: &str,
) -> Result<Vec<Written>, Failure> {
    let named = config.launch.get(function);
    if let Some(written) = named.or(group.launch.as_ref()) {
        let all = written.all().iter();
        let place = format!("the launch of {function}");
        return all.map(|words| launch::written(&place, words)).collect();
    }
    let comment = text.map(|text| Written::in_comments(text, function));
    Ok(comment.transpose()?.flatten().into_iter().collect())
}

/// A launch, and the same at the sizes to run at, which need not be those to predict at.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Planned {
    pub(super) predict: Written,
    pub(super) run: Written,
}

impl Planned {
    /// Both changed alike.
    pub(super) fn map(&self, change: impl Fn(&Written) -> Written) -> Planned {
        Planned {
            predict: change(&self.predict),
            run: change(&self.run),
        }
    }
}

/// The launches of a kernel with the sizes that its group runs at.
pub(super) fn planned(
    config: &Config,
    group: &Group,
    text: Option<&str>,
    function: &str,
) -> Result<Vec<Planned>, Failure> {
    let all = of(config, group, text, function)?.into_iter();
    all.map(|predict| {
        let run = at_sizes(&predict, &group.run_sizes)?;
        Ok(Planned { predict, run })
    })
    .collect()
}

/// Returns true if two launches give a kernel the same inputs: then each tree uses its own geometry.
pub(super) fn same_inputs(a: &[Planned], b: &[Planned]) -> bool {
    let inputs = |planned: &Planned| {
        planned.map(|launch| Written {
            grid: None,
            threadgroup: None,
            memory: Vec::new(),
            memory_in_all: None,
            ..launch.clone()
        })
    };
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| inputs(a) == inputs(b))
}

/// The launch with other values of the sizes it names.
pub(super) fn at_sizes(launch: &Written, sizes: &[String]) -> Result<Written, Failure> {
    let sizes = sizes.iter().map(|text| {
        let size = text.parse();
        size.map_err(|why| Failure::input(format!("run_sizes: {text}: {why}")))
    });
    let sizes: Vec<Size> = sizes.collect::<Result<_, _>>()?;
    Ok(launch.with_sizes(&sizes))
}

/// The files among the words of a launch: arrays and images.
pub(super) fn arrays<'w>(words: impl Iterator<Item = &'w str>) -> impl Iterator<Item = &'w str> {
    words.filter_map(|word| {
        let (_, value) = word.split_once('=')?;
        // A format may stand behind the name.
        let mut ends = [".npy", ".png"]
            .iter()
            .filter_map(|extension| Some(value.find(extension)? + extension.len()));
        value.get(..ends.next()?)
    })
}

/// Adds the contents of arrays that launches name to a hash. Words are those of the configuration and of the source's
/// comments.
pub(super) fn add_arrays<'w>(
    hash: &mut Fingerprint,
    words: impl Iterator<Item = &'w str>,
    tree: &Tree,
) {
    for array in arrays(words) {
        if let Some(bytes) = tree.bytes(array) {
            hash.add(array.as_bytes());
            hash.add(&bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_wins_over_the_comment() {
        let text = "// assay: launch k --grid 1 --threadgroup 1\n";
        let launch = |config: &str| {
            let config = Config::parse(&format!("{config}\n[[kernels]]\nfiles = ['*']")).unwrap();
            let group = config.kernels[0].clone();
            let found = planned(&config, &group, Some(text), "k");
            found.unwrap_or_else(|failure| panic!("{}", failure.message))
        };
        let grid = |found: &[Planned]| {
            let extent = found[0].run.extent(&Default::default());
            extent.unwrap().unwrap()
        };
        let (comment, table) = (
            launch(""),
            launch("launch = { k = '--grid 7 --threadgroup 1' }"),
        );
        assert_eq!(grid(&comment), assay_launch::Extent::Threads([1, 1, 1]));
        assert_eq!(grid(&table), assay_launch::Extent::Threads([7, 1, 1]));
        assert!(same_inputs(&comment, &table));
        assert!(launch("launch = { k = [] }").is_empty());
    }
}
