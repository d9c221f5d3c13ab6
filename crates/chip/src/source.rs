//! Where figures come from.

use crate::table;
use std::sync::LazyLock;

/// A publication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Source {
    /// Short name, as in the tables.
    pub id: &'static str,
    /// What it is.
    pub title: &'static str,
    /// Where it is.
    pub address: &'static str,
}

impl Source {
    /// The user's own figure, from an override.
    pub const USER: Source = Source {
        id: "user",
        title: "set by the user",
        address: "",
    };

    pub(crate) fn named(id: &str) -> Option<Source> {
        sources().iter().copied().find(|source| source.id == id)
    }
}

/// Every publication the tables draw on.
pub fn sources() -> &'static [Source] {
    static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(|| {
        table::rows(include_str!("../data/sources.tsv"))
            .map(|[id, title, address]| Source { id, title, address })
            .collect()
    });
    &SOURCES
}
