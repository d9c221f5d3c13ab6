//! The intervals a page draws, packed: lanes of non-overlapping spans as columns.

use crate::analysis::gaps::{Cause, Gap};
use crate::analysis::labels;
use crate::analysis::stats::union;
use crate::analysis::view::View;
use crate::events::Span;
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::collections::BTreeMap;

/// Everything the page's script needs.
#[derive(Debug, Serialize)]
pub(crate) struct TimelineData {
    /// The runs shown: one, or two that are compared.
    pub(crate) groups: Vec<Group>,
    pub(crate) colours: Colours,
    pub(crate) labels: Vec<String>,
    pub(crate) causes: Vec<&'static str>,
    pub(crate) lanes: Vec<Lane>,
    /// Intervals closer than this were drawn as one; 0 when nothing was merged.
    #[serde(skip)]
    pub(crate) merged_below: u64,
}

/// A run on the timeline.
#[derive(Debug, Serialize)]
pub(crate) struct Group {
    /// `before`, `after`; empty when it is alone.
    pub(crate) name: String,
    /// Start of the window in the recording; times are relative to it.
    pub(crate) origin: u64,
    /// Length of the window.
    pub(crate) length: u64,
    /// Mean length of a step, when runs can be aligned by steps.
    pub(crate) step: Option<f64>,
}

/// What is drawn in which colour. Grey is other processes and nothing else.
#[derive(Debug, Serialize)]
pub(crate) struct Colours {
    /// Hue and lightness of the work of each group.
    target: [(u32, u32); 2],
    /// Gaps, in the order of [`Cause::ALL`].
    pub(crate) gaps: [&'static str; 4],
    pub(crate) other: &'static str,
}

pub(crate) const COLOURS: Colours = Colours {
    target: [(212, 36), (160, 28)],
    gaps: ["#d1495b", "#edae49", "#8f6fc4", "#9c6b4a"],
    other: "#8b949e",
};

impl Colours {
    /// The colour that stands for a group's work in a legend.
    pub(crate) fn of_group(&self, group: usize) -> String {
        let (hue, lightness) = self.target[group % self.target.len()];
        format!("hsl({hue} 58% {}%)", lightness + 4)
    }
}

/// One line of the timeline. Starts are differences to the one before: small numbers
/// make small pages.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Lane {
    name: String,
    /// `target`, `gap`, `other`, or `title` for a line of text.
    kind: &'static str,
    group: usize,
    start: Vec<u64>,
    length: Vec<u64>,
    label: Vec<u32>,
    /// Latency of an execution, host wait of a gap; −1 when unknown.
    detail: Vec<i64>,
}

/// An interval before it is packed.
#[derive(Clone, Copy)]
struct Item {
    span: Span,
    label: u32,
    detail: i64,
}

/// Intervals of one page; a browser stays quick with that many.
const MOST: usize = 250_000;
const MOST_OTHERS: usize = 8;
const MOST_LANES: usize = 8;

#[derive(Default)]
struct Labels {
    ids: FxHashMap<String, u32>,
    names: Vec<String>,
}

impl Labels {
    fn id(&mut self, name: &str) -> u32 {
        if let Some(&id) = self.ids.get(name) {
            return id;
        }
        let id = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.ids.insert(name.to_owned(), id);
        id
    }
}

/// A run to draw.
pub(crate) struct Drawn<'a> {
    pub(crate) view: &'a View<'a>,
    pub(crate) gaps: &'a [Gap<'a>],
    /// Its name and a line about it, when there are several.
    pub(crate) title: Option<(&'a str, String)>,
    /// Mean length of a step in nanoseconds.
    pub(crate) step: Option<f64>,
}

pub(crate) fn collect(runs: &[Drawn<'_>]) -> TimelineData {
    let mut names = Labels::default();
    let mut data = TimelineData {
        groups: Vec::new(),
        colours: COLOURS,
        labels: Vec::new(),
        causes: Cause::ALL.iter().map(|cause| cause.word()).collect(),
        lanes: Vec::new(),
        merged_below: 0,
    };
    let alignable = runs.len() > 1 && runs.iter().all(|run| run.step.is_some());
    for (group, run) in runs.iter().enumerate() {
        let first = data.lanes.len();
        if let Some((_, line)) = &run.title {
            data.lanes.push(Lane {
                name: line.clone(),
                kind: "title",
                ..Lane::default()
            });
        }
        let merged = lanes(run, &mut names, MOST / runs.len().max(1), &mut data.lanes);
        data.merged_below = data.merged_below.max(merged);
        for lane in data.lanes.iter_mut().skip(first) {
            lane.group = group;
        }
        data.groups.push(Group {
            name: run.title.as_ref().map_or("", |(name, _)| name).to_owned(),
            origin: run.view.window.start,
            length: run.view.window.duration(),
            step: run.step.filter(|_| alignable),
        });
    }
    data.labels = names.names;
    data
}

/// Adds the lanes of a run; returns the distance below which intervals were merged.
fn lanes(run: &Drawn<'_>, names: &mut Labels, most: usize, lanes: &mut Vec<Lane>) -> u64 {
    let window = run.view.window;
    let mut merged_below = 0;
    let mut rows = target_rows(run.view, names);
    let count: usize = rows.iter().map(|(_, items)| items.len()).sum();
    if count > most {
        let label = names.id("(several)");
        merged_below = thin_to(&mut rows, label, most);
    }
    let gap = |gap: &Gap<'_>| Item {
        span: gap.span(),
        label: Cause::ALL.iter().position(|&c| c == gap.cause).unwrap_or(3) as u32,
        detail: gap.host_wait().map_or(-1, |wait| wait as i64),
    };
    let gap_items: Vec<Item> = run.gaps.iter().map(gap).collect();
    for (index, (name, items)) in rows.into_iter().enumerate() {
        lanes.push(pack(name, "target", window, &items));
        if index == 0 && !gap_items.is_empty() {
            lanes.push(pack("gaps".to_owned(), "gap", window, &gap_items));
        }
    }
    lanes.extend(other_rows(run.view, names));
    merged_below
}

/// The target's executions on lanes without overlap, per channel.
fn target_rows(view: &View<'_>, names: &mut Labels) -> Vec<(String, Vec<Item>)> {
    let labels = labels::of(view);
    let mut channels: BTreeMap<&str, Vec<(u64, Vec<Item>)>> = BTreeMap::new();
    for (interval, label) in view.target.iter().zip(labels.iter()) {
        let Some(span) = interval.span.clip(view.window) else {
            continue;
        };
        let item = Item {
            span,
            label: names.id(label),
            detail: interval.latency.get().map_or(-1, |latency| latency as i64),
        };
        let lanes = channels.entry(view.text(interval.channel)).or_default();
        let free = lanes.iter().position(|(end, _)| *end <= span.start);
        // Deeper overlap is not drawn; figures do not come from the drawing.
        if free.is_none() && lanes.len() < MOST_LANES {
            lanes.push((span.end, vec![item]));
        } else if let Some((end, items)) = free.and_then(|place| lanes.get_mut(place)) {
            *end = span.end;
            items.push(item);
        }
    }
    let mut rows = Vec::new();
    for (channel, lanes) in channels {
        for (index, (_, items)) in lanes.into_iter().enumerate() {
            let name = match index {
                0 => channel.to_owned(),
                index => format!("{channel} ({})", index + 1),
            };
            rows.push((name, items));
        }
    }
    rows
}

/// Other processes, each as one lane of its union.
fn other_rows(view: &View<'_>, names: &mut Labels) -> Vec<Lane> {
    let mut groups: BTreeMap<Option<u32>, Vec<Span>> = BTreeMap::new();
    for interval in &view.recording.events.gpu {
        if interval.active
            && !view.is_target(interval.pid)
            && let Some(span) = interval.span.clip(view.window)
        {
            groups.entry(interval.pid).or_default().push(span);
        }
    }
    let mut rows: Vec<(Option<u32>, Vec<Span>)> = groups
        .into_iter()
        .map(|(pid, spans)| (pid, union(spans)))
        .collect();
    rows.sort_by_key(|(pid, spans)| {
        (
            std::cmp::Reverse(crate::analysis::stats::total(spans)),
            *pid,
        )
    });
    rows.truncate(MOST_OTHERS);
    let lane = |(pid, spans): (Option<u32>, Vec<Span>)| {
        let name = pid
            .and_then(|pid| view.recording.process_name(pid))
            .unwrap_or("(no process)");
        let label = names.id(name);
        let item = |&span: &Span| Item {
            span,
            label,
            detail: -1,
        };
        let mut items: Vec<Item> = spans.iter().map(item).collect();
        if items.len() > MOST / MOST_OTHERS {
            let mut rows = [(String::new(), items)];
            thin_to(&mut rows, label, MOST / MOST_OTHERS);
            items = std::mem::take(&mut rows[0].1);
        }
        pack(name.to_owned(), "other", view.window, &items)
    };
    rows.into_iter().map(lane).collect()
}

/// Merges neighbours until few enough are left; returns the distance merged.
fn thin_to(rows: &mut [(String, Vec<Item>)], label: u32, most: usize) -> u64 {
    let mut distance = 500;
    while rows.iter().map(|(_, items)| items.len()).sum::<usize>() > most {
        distance *= 2;
        for (_, items) in rows.iter_mut() {
            let mut merged: Vec<Item> = Vec::with_capacity(items.len());
            for &item in items.iter() {
                match merged.last_mut() {
                    Some(last) if item.span.start.saturating_sub(last.span.end) <= distance => {
                        last.span.end = last.span.end.max(item.span.end);
                        if last.label != item.label {
                            last.label = label;
                        }
                        last.detail = -1;
                    }
                    _ => merged.push(item),
                }
            }
            *items = merged;
        }
    }
    distance
}

fn pack(name: String, kind: &'static str, window: Span, items: &[Item]) -> Lane {
    let mut lane = Lane {
        name,
        kind,
        ..Lane::default()
    };
    let mut before = window.start;
    for item in items {
        lane.start.push(item.span.start.saturating_sub(before));
        before = item.span.start;
        lane.length.push(item.span.duration());
        lane.label.push(item.label);
        lane.detail.push(item.detail);
    }
    lane
}
