//! Counts of samples that carry no time, by label and reason. Rare by nature, so plain
//! shared counters that are allocated when a label first needs them.

use crate::label::LabelId;
use crate::sample::{Invalid, InvalidCounts};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

type Reasons = [AtomicU64; Invalid::ALL.len()];

/// Invalid samples of every label of one table.
pub(crate) struct Tally {
    labels: Box<[OnceLock<Box<Reasons>>]>,
}

impl Tally {
    pub(crate) fn new(labels: usize) -> Tally {
        Tally {
            labels: (0..labels).map(|_| OnceLock::new()).collect(),
        }
    }

    #[cold]
    pub(crate) fn add(&self, label: LabelId, reason: Invalid) {
        let place = self.labels.get(label.0 as usize);
        if let Some(place) = place.or(self.labels.first()) {
            let counts = place.get_or_init(Box::default);
            counts[reason as usize].fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn read(&self, label: LabelId) -> InvalidCounts {
        let counts = self.labels.get(label.0 as usize).and_then(OnceLock::get);
        InvalidCounts(counts.map_or_else(Default::default, |counts| {
            std::array::from_fn(|reason| counts[reason].load(Ordering::Relaxed))
        }))
    }

    pub(crate) fn reset(&self) {
        for counts in self.labels.iter().filter_map(OnceLock::get) {
            for count in counts.iter() {
                count.store(0, Ordering::Relaxed);
            }
        }
    }
}
