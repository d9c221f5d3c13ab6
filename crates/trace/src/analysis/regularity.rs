//! Whether gaps are alike.
//!
//! A program that pays the same price at every launch has gaps of one length; one whose host
//! reads files, allocates or is scheduled away has gaps of any length. In between are
//! programs with several places to wait, each with a length of its own: their gaps differ,
//! but not those between the same two labels.

use super::document::Regularity;
use super::gaps::Gap;
use super::stats::{Summary, rounded};
use crate::xml::text::TextId;
use rustc_hash::FxHashMap;

/// Fewer gaps say nothing.
const FEWEST: usize = 16;
/// Fewer gaps between two labels say nothing about that place.
const FEWEST_AT_PLACE: usize = 8;
/// Quartiles closer than this fraction of the median: alike.
const ALIKE: f64 = 0.35;
/// Farther apart than this: of any length.
const ANY: f64 = 1.0;

pub(crate) fn of(gaps: &[Gap<'_>]) -> Option<Regularity> {
    let mean = gaps.iter().map(Gap::duration).sum::<u64>() / (gaps.len() as u64).max(1);
    let matter: Vec<&Gap<'_>> = gaps
        .iter()
        .filter(|gap| gap.duration() >= mean / 10)
        .collect();
    if matter.len() < FEWEST {
        return None;
    }
    let spread = spread(matter.iter().map(|gap| gap.duration()).collect())?;
    let by_place = by_place(&matter);
    let kind = match (spread, by_place) {
        (spread, _) if spread < ALIKE => "regular",
        (_, Some(place)) if place < ALIKE => "regular by place",
        (spread, place) if spread >= ANY && place.is_none_or(|place| place >= ANY / 2.0) => {
            "irregular"
        }
        _ => "mixed",
    };
    Some(Regularity {
        kind: kind.to_owned(),
        gaps: matter.len() as u64,
        spread: rounded(spread),
        spread_by_place: by_place.map(rounded),
    })
}

/// Distance of the quartiles as a fraction of the median.
fn spread(durations: Vec<u64>) -> Option<f64> {
    let summary = Summary::new(durations);
    let median = summary.median().filter(|&median| median > 0.0)?;
    Some((summary.percentile(0.75)? - summary.percentile(0.25)?) / median)
}

/// The spread within gaps between the same labels, weighted by their time; `None` unless
/// there are several such places that make up most of the time.
fn by_place(gaps: &[&Gap<'_>]) -> Option<f64> {
    let mut places: FxHashMap<(TextId, TextId), Vec<u64>> = FxHashMap::default();
    for gap in gaps {
        let place = (gap.before.label, gap.after.label);
        places.entry(place).or_default().push(gap.duration());
    }
    let whole: u64 = gaps.iter().map(|gap| gap.duration()).sum();
    let (mut weighted, mut covered) = (0.0, 0u64);
    let mut counted = 0;
    let mut groups: Vec<_> = places.into_iter().collect();
    // Sums of fractions depend on their order.
    groups.sort_unstable_by_key(|&(place, _)| place);
    for (_, durations) in groups {
        if durations.len() < FEWEST_AT_PLACE {
            continue;
        }
        let time: u64 = durations.iter().sum();
        if let Some(spread) = spread(durations) {
            weighted += spread * time as f64;
            covered += time;
            counted += 1;
        }
    }
    (counted > 1 && covered * 2 >= whole).then(|| weighted / covered as f64)
}
